/* A number that tells a text from what becomes of it by accident. */
#ifndef TSR_BASE_DIGEST_H
#define TSR_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* XXH3 of xxHash, 64 bits, without a seed: the same on any machine. */
uint64_t text_digest(const void *bytes, size_t n);

/* Puts a line with the digest of all of a file behind it. False, with errno: that failed. */
bool digest_append(const char *path);
/* Is the digest behind the file, which is open for reading, that of what stands before? Yes, where there is none. */
bool digest_holds(FILE *in);

#endif
