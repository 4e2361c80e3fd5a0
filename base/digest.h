/* A number that tells a text from what becomes of it by accident. */
#ifndef TSR_BASE_DIGEST_H
#define TSR_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 of xxHash, 64 bits, without a seed: the same on any machine. */
uint64_t text_digest(const void *bytes, size_t n);

#endif
