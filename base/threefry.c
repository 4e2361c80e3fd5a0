#include "base/threefry.h"

const int threefry_rotations[THREEFRY_TURNS][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
						   {6, 20},  {17, 11}, {25, 10}, {18, 20}};

static uint32_t rotate(uint32_t x, int bits)
{
	return x << bits | x >> (32 - bits);
}

/* Words a and b meet, the second rotated by `bits`. */
static void mix(uint32_t *a, uint32_t *b, int bits)
{
	*a += *b;
	*b = rotate(*b, bits) ^ *a;
}

void threefry4x32(const uint32_t key[4], const uint32_t counter[4], uint32_t out[4])
{
	uint32_t keys[5] = {key[0], key[1], key[2], key[3],
			    0x1BD11BDA ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
	uint32_t x[4];
	for (int i = 0; i < 4; i++)
		x[i] = counter[i] + keys[i];
#pragma GCC unroll 20 /* so that words, keys and rotations are registers and numbers */
	for (uint32_t round = 0; round < THREEFRY_ROUNDS; round++) {
		const int *bits = threefry_rotations[round % THREEFRY_TURNS];
		int other = round % 2 ? 3 : 1;
		mix(&x[0], &x[other], bits[0]);
		mix(&x[2], &x[4 - other], bits[1]);
		if (round % 4 != 3)
			continue;
		uint32_t turn = round / 4 + 1;
		for (uint32_t i = 0; i < 4; i++)
			x[i] += keys[(turn + i) % 5];
		x[3] += turn;
	}
	for (int i = 0; i < 4; i++)
		out[i] = x[i];
}

uint32_t threefry_word(uint64_t seed, uint64_t name_key, uint64_t index)
{
	uint64_t block = index / 4;
	uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)name_key,
			   (uint32_t)(name_key >> 32)};
	uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, out[4];
	threefry4x32(key, counter, out);
	return out[index % 4];
}

float threefry_uniform(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}
