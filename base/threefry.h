/* Threefry-4x32-20 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011): a
 * function of a key and a counter, both four 32-bit words. */
#ifndef TSR_BASE_THREEFRY_H
#define TSR_BASE_THREEFRY_H

#include <stdint.h>

enum { THREEFRY_ROUNDS = 20, THREEFRY_TURNS = 8 };
/* By how many bits the two second words of a round are rotated, by its number modulo THREEFRY_TURNS. */
extern const int threefry_rotations[THREEFRY_TURNS][2];

/* The four words of a block, after THREEFRY_ROUNDS rounds; `out` may be the key or the counter. */
void threefry4x32(const uint32_t key[4], const uint32_t counter[4], uint32_t out[4]);
/* Element `index` of the stream of a parameter: word index mod 4 of the block with counter
 * (index div 4 low, high, 0, 0) under the key (seed low, high, name key low, high). */
uint32_t threefry_word(uint64_t seed, uint64_t name_key, uint64_t index);
/* In [0, 1): (word >> 8) * 2^-24. */
float threefry_uniform(uint32_t word);

#endif
