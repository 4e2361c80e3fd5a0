/* Divisors of indices: see multiple.h. All are powers of two, so the divisor of a sum is the least of those of
 * its terms. An iterator is a multiple where it starts at one and its step is one. */
#include "loops/multiple.h"

#include "base/size_order.h"
#include "loops/walk.h"

static int64_t divisor(int64_t n)
{
	n |= MULTIPLE_MOST;
	return n & -n;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Of a multiple of what is known to be whole. */
static int64_t size_multiple(const Multiples *m, Size size, int64_t *constant)
{
	if (size_is_const(m->sizes, size, constant))
		return MULTIPLE_MOST;
	*constant = 0;
	int64_t own = divisor(size_content(m->sizes, size));
	for (uint32_t i = 0; i < m->nwholes; i++)
		if (m->by[i] > own && size_divides(m->sizes, m->whole[i], size))
			own = m->by[i];
	return own;
}

static int64_t iter_multiple(const Multiples *m, IterVar iter, int64_t *constant)
{
	bool fixed = m->fixed && m->fixed[iter];
	*constant = fixed ? m->at[iter] : 0;
	return fixed ? MULTIPLE_MOST : m->iters[iter];
}

static int64_t product_multiple(const Multiples *m, const Ix *ix, int64_t *constant)
{
	int64_t by, rest;
	if (ix->b->kind != IX_SIZE || !size_is_const(m->sizes, ix->b->size, &by)) {
		*constant = 0;
		return divisor(ix_multiple(m, ix->a) * ix_multiple(m, ix->b));
	}
	rest = ix_multiple_rest(m, ix->a, constant);
	*constant = (int64_t)((uint64_t)*constant * (uint64_t)by);
	return divisor(rest * divisor(by));
}

int64_t ix_multiple_rest(const Multiples *m, const Ix *ix, int64_t *constant)
{
	int64_t more, rest;
	*constant = 0;
	switch (ix->kind) {
	case IX_SIZE: return size_multiple(m, ix->size, constant);
	case IX_ITER: return iter_multiple(m, ix->iter, constant);
	case IX_MUL: return product_multiple(m, ix, constant);
	case IX_ADD:
		rest = ix_multiple_rest(m, ix->a, constant);
		rest = least(rest, ix_multiple_rest(m, ix->b, &more));
		*constant = (int64_t)((uint64_t)*constant + (uint64_t)more);
		return rest;
	case IX_MIN:
	case IX_MAX:
	case IX_MOD: return least(ix_multiple(m, ix->a), ix_multiple(m, ix->b));
	default: return 1;
	}
}

int64_t ix_multiple(const Multiples *m, const Ix *ix)
{
	int64_t constant, rest = ix_multiple_rest(m, ix, &constant);
	return least(rest, divisor(constant));
}

typedef struct Finding {
	Multiples *m;
	bool changed;
} Finding;

static void see_loop(void *of, const Stmt *stmt)
{
	Finding *f = of;
	if (stmt->kind != LOOP_FOR)
		return;
	int64_t own = least(ix_multiple(f->m, stmt->lo), divisor(stmt->step));
	f->changed |= own < f->m->iters[stmt->iter];
	f->m->iters[stmt->iter] = least(f->m->iters[stmt->iter], own);
}

static void see_iterator(void *of, const Stmt *stmt)
{
	if (stmt->kind == LOOP_FOR)
		((Multiples *)of)->iters[stmt->iter] = MULTIPLE_MOST;
}

/* Further walks see iterators that a later loop over the same one has made less. */
Multiples multiples_new(Arena *arena, const Program *program, const Kernel *kernel)
{
	Multiples m = multiples_unknown(arena, program, kernel);
	block_each(kernel->body, see_iterator, &m);
	Finding finding = {&m, true};
	while (finding.changed) { /* at most once for each factor of each iterator */
		finding.changed = false;
		block_each(kernel->body, see_loop, &finding);
	}
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

void multiples_add(Multiples *m, Size size, int64_t by)
{
	if (m->nwholes == WHOLES_MOST)
		return;
	m->whole[m->nwholes] = size;
	m->by[m->nwholes++] = divisor(by);
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
		multiples_add(m, a->a->size, by);
	}
}
