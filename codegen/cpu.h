/* The processors that code can be made for. A processor is a set of features and a tuning; the
 * compiler is given exactly these features (-mNAME each), so that what a module checks when it is
 * loaded is all that its code can contain. */
#ifndef TSR_CODEGEN_CPU_H
#define TSR_CODEGEN_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

typedef struct Cpu {
	uint64_t features; /* bits by position in the table of features */
	const char *tune;  /* what -mtune takes */
	/* is vdpbf16ps as fast as one multiply-add of f32? On Sapphire Rapids it takes as long as
	 * two */
	bool pairs;
} Cpu;

/* How vector instructions are encoded: AVX-512 has masks a lane for vectors of every width. */
typedef enum CpuSimd { CPU_SSE2, CPU_AVX, CPU_AVX512 } CpuSimd;
CpuSimd cpu_simd(const Cpu *cpu);
/* Instructions that not every processor of an encoding has: what widens vectors of integers, what
 * widens f16, what adds products of small integers, of bf16. */
enum { CPU_WIDENS = 1, CPU_F16C = 2, CPU_VNNI = 4, CPU_FMA = 8, CPU_BF16 = 16 };
unsigned cpu_extras(const Cpu *cpu);

/* The widest vectors, as -mprefer-vector-width takes it. They follow from the features alone: GCC
 * prefers 256 bits before Sapphire Rapids, where few wide instructions among many slow the clock,
 * but a tile is nothing else, and two units of 512 bits do twice as much. */
int cpu_vector_bits(const Cpu *cpu);

/* march: "native", a name of target_list, or either with "+feature" behind it. False when unknown.
 */
bool cpu_find(const char *march, Cpu *cpu);
/* "sse3 ssse3 ..." in the order of the table; "" for the baseline. */
const char *cpu_feature_names(Arena *arena, const Cpu *cpu);
/* The words of the compiler's command line; returns their number. */
size_t cpu_flags(Arena *arena, const Cpu *cpu, const char ***flags);
/* Assembly of the function `symbol`: int (void), 1 where the machine has all features, else 0. */
void cpu_check_asm(FILE *out, const Cpu *cpu, const char *symbol);

#endif
