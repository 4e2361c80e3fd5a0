#include "base/digest.h"

#include <xxhash.h>

uint64_t text_digest(const void *bytes, size_t n) { return XXH3_64bits(bytes, n); }
