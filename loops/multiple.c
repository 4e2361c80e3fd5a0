/* Divisors of indices: see multiple.h. All are powers of two, so the divisor of a sum is the least of those of
 * its terms. */
#include "loops/multiple.h"

#include "base/size_order.h"

static int64_t divisor(int64_t n)
{
	n |= MULTIPLE_MOST;
	return n & -n;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Of a multiple of what is known to be whole. */
static int64_t size_multiple(const Multiples *m, Size size)
{
	int64_t own = divisor(size_content(m->sizes, size));
	bool whole = !size_is_bad(m->whole) && size_divides(m->sizes, m->whole, size);
	return whole && m->by > own ? m->by : own;
}

int64_t ix_multiple(const Multiples *m, const Ix *ix)
{
	switch (ix->kind) {
	case IX_SIZE: return size_multiple(m, ix->size);
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
	Multiples m = {.sizes = program->sizes,
		       .iters = ARENA_ARRAY(arena, int64_t, kernel->niters + 1)};
	for (uint32_t i = 0; i < kernel->niters; i++)
		m.iters[i] = MULTIPLE_MOST;
	walk_block(&m, kernel->body);
	walk_block(&m, kernel->body);
	return m;
}

Multiples multiples_unknown(Arena *arena, const Program *program, const Kernel *kernel)
{
	Multiples m = {.sizes = program->sizes,
		       .iters = ARENA_ARRAY(arena, int64_t, kernel->niters + 1)};
	for (IterVar i = 0; i < kernel->niters; i++)
		m.iters[i] = 1;
	return m;
}

void multiples_suppose(Multiples *m, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		const Cond *cond = &stmt->conds[i];
		const Ix *a = cond->a;
		int64_t by;
		bool whole = cond->kind == COND_EQ && a->kind == IX_MOD && a->a->kind == IX_SIZE &&
			     a->b->kind == IX_SIZE && cond->b->kind == IX_SIZE &&
			     size_is(m->sizes, cond->b->size, 0);
		if (!whole || !size_is_const(m->sizes, a->b->size, &by) || by < 1)
			continue;
		m->whole = a->a->size;
		m->by = divisor(by);
	}
}
