/* Multiples of small powers of two: see even.h.
 *
 * An iterator is a multiple where it starts at one and its step is one. Sums and products follow;
 * quotients, remainders, extremes and what is read may be anything.
 */
#include "loops/even.h"

static int least(int a, int b) { return a < b ? a : b; }

static int log_of(int64_t n)
{
	int log = 0;
	while (log < EVEN_LOG_MOST && n % 2 == 0) {
		n /= 2;
		log++;
	}
	return n == 0 ? EVEN_LOG_MOST : log;
}

static int log_of_index(const Even *e, const Ix *ix, int64_t *constant);

static int log_of_size(const Even *e, Size size, int64_t *constant)
{
	if (size_is_const(e->sizes, size, constant))
		return EVEN_LOG_MOST;
	return log_of(size_content(e->sizes, size));
}

static int log_of_iter(const Even *e, IterVar iter, int64_t *constant)
{
	bool fixed = e->fixed && e->fixed[iter];
	*constant = fixed ? e->at[iter] : 0;
	return fixed ? EVEN_LOG_MOST : e->iters[iter];
}

static int log_of_product(const Even *e, const Ix *ix, int64_t *constant)
{
	int64_t by = 0;
	int log = log_of_index(e, ix->a, constant);
	if (ix->b->kind != IX_SIZE) {
		*constant = 0;
		return 0;
	}
	if (size_is_const(e->sizes, ix->b->size, &by)) {
		*constant *= by;
		return least(log + log_of(by), EVEN_LOG_MOST);
	}
	log = least(log, log_of(*constant)) + log_of(size_content(e->sizes, ix->b->size));
	*constant = 0;
	return least(log, EVEN_LOG_MOST);
}

/* The rest is a multiple of two to the power of what is returned. */
static int log_of_index(const Even *e, const Ix *ix, int64_t *constant)
{
	int64_t more = 0;
	*constant = 0;
	switch (ix->kind) {
	case IX_SIZE: return log_of_size(e, ix->size, constant);
	case IX_ITER: return log_of_iter(e, ix->iter, constant);
	case IX_MUL: return log_of_product(e, ix, constant);
	case IX_ADD: {
		int log = log_of_index(e, ix->a, constant);
		log = least(log, log_of_index(e, ix->b, &more));
		*constant += more;
		return log;
	}
	default: return 0;
	}
}

bool even_rest(const Even *e, const Ix *ix, int log, int64_t *constant)
{
	return log_of_index(e, ix, constant) >= log;
}

static void walk_block(const Even *e, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		int64_t lo;
		if (stmt->kind == LOOP_FOR) {
			int log = log_of_index(e, stmt->lo, &lo);
			log = least(log, least(log_of(lo), log_of(stmt->step)));
			e->iters[stmt->iter] = (uint8_t)least(log, e->iters[stmt->iter]);
		}
		if (stmt->kind == LOOP_FOR || stmt->kind == LOOP_IF)
			walk_block(e, stmt->body);
	}
}

/* Loops come before what is inside of them, so that where one starts is known. The further walks see
 * what a later loop of the same iterator has taken away, a factor of two at least each. */
Even even_new(Arena *arena, const Program *program, const Kernel *kernel)
{
	Even e = {.sizes = program->sizes,
		  .iters = ARENA_ARRAY(arena, uint8_t, kernel->niters + 1)};
	for (uint32_t i = 0; i < kernel->niters; i++)
		e.iters[i] = EVEN_LOG_MOST;
	for (int walk = 0; walk <= EVEN_LOG_MOST; walk++)
		walk_block(&e, kernel->body);
	return e;
}
