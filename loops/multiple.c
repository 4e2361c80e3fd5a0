/* Divisors of indices: see multiple.h. All are powers of two, so the divisor of a sum is the least of those of
 * its terms. */
#include "loops/multiple.h"

static int64_t divisor(int64_t n)
{
	n |= MULTIPLE_MOST;
	return n & -n;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t ix_multiple(const Multiples *m, const Ix *ix)
{
	switch (ix->kind) {
	case IX_SIZE: return divisor(size_content(m->sizes, ix->size));
	case IX_ITER: return m->iters[ix->iter];
	case IX_MUL: return divisor(ix_multiple(m, ix->a) * ix_multiple(m, ix->b));
	case IX_ADD:
	case IX_MIN:
	case IX_MAX:
	case IX_MOD: return least(ix_multiple(m, ix->a), ix_multiple(m, ix->b));
	default: return 1;
	}
}

static void walk_block(const Multiples *m, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind == LOOP_FOR) {
			int64_t own = least(ix_multiple(m, stmt->lo), divisor(stmt->step));
			m->iters[stmt->iter] = least(m->iters[stmt->iter], own);
		}
		walk_block(m, stmt->body);
	}
}

/* The second walk sees iterators that a later loop over the same one has made less. */
Multiples multiples_new(Arena *arena, const Program *program, const Kernel *kernel)
{
	Multiples m = {program->sizes, ARENA_ARRAY(arena, int64_t, kernel->niters + 1)};
	for (uint32_t i = 0; i < kernel->niters; i++)
		m.iters[i] = MULTIPLE_MOST;
	walk_block(&m, kernel->body);
	walk_block(&m, kernel->body);
	return m;
}
