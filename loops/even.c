/* Even indices: see even.h.
 *
 * An iterator is even where it starts at an even index and its step is even. Sums and products follow;
 * quotients, remainders, extremes and what is read may be anything.
 */
#include "loops/even.h"

static bool size_is_even(const Sizes *sizes, Size size) { return size_content(sizes, size) % 2 == 0; }

static bool even_size(const Even *e, Size size, int64_t *constant)
{
	if (size_is_const(e->sizes, size, constant))
		return true;
	*constant = 0;
	return size_is_even(e->sizes, size);
}

static bool even_iter(const Even *e, IterVar iter, int64_t *constant)
{
	bool fixed = e->fixed && e->fixed[iter];
	*constant = fixed ? e->at[iter] : 0;
	return fixed || e->iters[iter];
}

static bool even_product(const Even *e, const Ix *ix, int64_t *constant)
{
	int64_t by = 0;
	bool even = even_rest(e, ix->a, constant), size = ix->b->kind == IX_SIZE;
	if (size && size_is_const(e->sizes, ix->b->size, &by)) {
		*constant *= by;
		return even || by % 2 == 0;
	}
	even = even && *constant % 2 == 0;
	*constant = 0;
	return even || (size && size_is_even(e->sizes, ix->b->size));
}

bool even_rest(const Even *e, const Ix *ix, int64_t *constant)
{
	int64_t more;
	*constant = 0;
	switch (ix->kind) {
	case IX_SIZE: return even_size(e, ix->size, constant);
	case IX_ITER: return even_iter(e, ix->iter, constant);
	case IX_MUL: return even_product(e, ix, constant);
	case IX_ADD: {
		bool a = even_rest(e, ix->a, constant), b = even_rest(e, ix->b, &more);
		*constant += more;
		return a && b;
	}
	default: return false;
	}
}

static void walk_block(const Even *e, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		int64_t lo;
		if (stmt->kind == LOOP_FOR && (!even_rest(e, stmt->lo, &lo) || (lo | stmt->step) & 1))
			e->iters[stmt->iter] = false;
		if (stmt->kind == LOOP_FOR || stmt->kind == LOOP_IF)
			walk_block(e, stmt->body);
	}
}

/* Loops come before what is inside of them, so that where one starts is known. The
 * second walk sees those that a later loop of the same iterator has made odd. */
Even even_new(Arena *arena, const Program *program, const Kernel *kernel)
{
	Even e = {.sizes = program->sizes, .iters = ARENA_ARRAY(arena, bool, kernel->niters + 1)};
	for (uint32_t i = 0; i < kernel->niters; i++)
		e.iters[i] = true;
	walk_block(&e, kernel->body);
	walk_block(&e, kernel->body);
	return e;
}
