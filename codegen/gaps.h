/* Loops that GCC's vectoriser must not get, since it would read behind a buffer: see gaps.c. */
#ifndef TSR_CODEGEN_GAPS_H
#define TSR_CODEGEN_GAPS_H

#include "codegen/kernel_use.h"

/* Iterations of the loops that GCC writes out at -O2 and at -O3, at most. */
enum { UNROLLED_O2 = 4, UNROLLED_O3 = 16 };

typedef struct GapsRule {
	Program *program;
	const Kernel *kernel;
	const KernelUse *use;
	Arena *arena;
	int64_t unrolled; /* UNROLLED_... */
	/* Loops of lanes are vectors, those to unroll are no loops; else all are loops. */
	bool written_out;
} GapsRule;

/* May GCC make vectors of this serial loop that read what no iteration reads? */
bool gaps_are_read(const GapsRule *rule, const Stmt *loop);

#endif
