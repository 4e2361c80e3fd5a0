/* What the compiler is told of a loop in C. */
#include "codegen/c_kernel.h"

#include "codegen/gaps.h"
#include "loops/dependence.h"
#include "loops/walk.h"

/* Pairs of arrays that GCC compares at most where a loop begins, to see that they do not overlap. A loop over
 * more of them stays one of single elements. */
enum { COMPARED_MOST = 10 };

/* Does the loop hold no other, and store to no buffer of which each iteration has its part? */
static bool is_plain(const KernelText *k, const Stmt *loop)
{
	for (uint32_t i = 0; i < loop->body.n; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		bool stores = stmt->kind == LOOP_STORE;
		if ((!stores && stmt->kind != LOOP_LOCAL) ||
		    (stores && k->m->program->buffers.at[stmt->buffer].scratch))
			return false;
	}
	return true;
}

/* Of which one is stored to at least. */
static size_t pairs_of_arrays(const KernelText *k, const Stmt *loop)
{
	Kernel inner = *k->kernel;
	inner.body = loop->body;
	BufferUses uses = kernel_buffers(k->arena, &inner);
	size_t loaded = 0;
	for (size_t i = 0; i < uses.n; i++)
		loaded += !uses.at[i].stored;
	size_t stored = uses.n - loaded;
	return stored * loaded + stored * (stored - 1) / 2;
}

bool c_loop_is_independent(const KernelText *k, const Stmt *loop)
{
	return loop->loop == LOOP_SERIAL && is_plain(k, loop) &&
	       pairs_of_arrays(k, loop) > COMPARED_MOST &&
	       loop_is_independent((Program *)k->m->program, k->kernel, loop, loop);
}

static bool holds_unrolled(Block block)
{
	bool any = false;
	for (uint32_t i = 0; i < block.n && !any; i++)
		any = (block.stmts[i]->kind == LOOP_FOR && block.stmts[i]->loop == LOOP_UNROLL) ||
		      holds_unrolled(block.stmts[i]->body);
	return any;
}

bool c_has_tiles(const Module *m)
{
	bool has = false;
	for (KernelId k = 0; k < m->program->kernels.n && !has; k++)
		has = holds_unrolled(m->kernels[k].kernel.body);
	return has;
}

/* Steps of a tile, of which each takes all registers: side by side they read their operands anew. */
bool c_loop_stays_loop(const KernelText *k, const Stmt *loop)
{
	int64_t trips = constant_trips(k->m->program, loop);
	return trips > 1 && trips <= UNROLLED_O3 && holds_unrolled(loop->body);
}

/* GCC may get any options: it writes out what it does at -O3. */
bool c_loop_stays_scalar(const KernelText *k, const Stmt *loop)
{
	GapsRule rule = {.program = (Program *)k->m->program,
			 .kernel = k->kernel,
			 .use = k->use,
			 .arena = k->arena,
			 .unrolled = UNROLLED_O3};
	return gaps_are_read(&rule, loop);
}
