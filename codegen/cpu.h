/* A target as the compiler takes it: exactly its features (-mNAME each), so that what a module
 * checks when it is loaded is all that its code can contain. Tiles of AMX are apart: code asks each time
 * whether it may use them, and does without. */
#ifndef TSR_CODEGEN_CPU_H
#define TSR_CODEGEN_CPU_H

#include "target/target.h"

/* How vector instructions are encoded: AVX-512 has masks a lane for vectors of every width. */
typedef enum CpuSimd { CPU_SSE2, CPU_AVX, CPU_AVX512 } CpuSimd;
CpuSimd cpu_simd(const Target *target);
/* Instructions that not every processor of an encoding has: what widens vectors of integers, what
 * widens f16, what adds products of small integers, of bf16, what moves bits to any byte, what multiplies
 * matrices of bf16 and of bytes in tiles. */
enum {
	CPU_WIDENS = 1,
	CPU_F16C = 2,
	CPU_VNNI = 4,
	CPU_FMA = 8,
	CPU_BF16 = 16,
	CPU_VBMI = 32,
	CPU_TILES_BF16 = 64,
	CPU_TILES_INT8 = 128
};
unsigned cpu_extras(const Target *target);

/* The widest vectors, as -mprefer-vector-width takes it. */
int cpu_vector_bits(const Target *target);
/* "sse3 ssse3 ..." in the order of the table, without those of tiles; "" for the baseline. */
const char *cpu_feature_names(Arena *arena, const Target *target);
/* The words of the compiler's command line; returns their number. */
size_t cpu_flags(Arena *arena, const Target *target, const char ***flags);
/* Assembly of the function `symbol`: int (void), 1 where the machine has all features but those of tiles,
 * else 0. */
void cpu_check_asm(FILE *out, const Target *target, const char *symbol);
/* The same of tiles, where the system has permitted them to the process: it is asked at each call, by the C
 * library's syscall. */
void cpu_tiles_asm(FILE *out, const Target *target, const char *symbol);
/* ... and the function `ask`, exported with the weak name tsr_use_tiles: int (void), asks the system for that
 * and returns what `symbol` does. */
void cpu_ask_tiles_asm(FILE *out, const char *ask, const char *symbol);

#endif
