/* A hash of 64-bit words that is made one word after another. Not for hostile input. */
#ifndef TSR_BASE_HASH_H
#define TSR_BASE_HASH_H

#include <stdint.h>

/* The hash of what `hash` stands for, followed by a word: the two halves of a product with an odd
 * constant (2^64 over the golden ratio) are folded, which spreads every bit of both over all. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product =
		(unsigned __int128)((hash << 23 | hash >> 41) ^ word ^ 0x2545F4914F6CDD1Du) *
		0x9E3779B97F4A7C15u;
	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

#endif
