/* Lanes of a GPU: accesses of 16 bytes, or one of 8, or one of 4 of two lanes, or an asynchronous copy of 4, 8 or 16, which begin at multiples of
 * as many. Of elements of four bits they are loads, of 4 bytes too. */
#include "loops/linear.h"
#include "loops/multiple.h"
#include "loops/verify_block.h"

#include "loops/build.h"
#include "loops/walk.h"

enum { ACCESS_BYTES = 16 };

typedef struct Lanes {
	Program *program;
	Multiples *multiples;
	const Stmt *loop;
	int64_t n;
	bool async; /* the statement at hand */
	bool wrong;
} Lanes;

bool lanes_are_wide(Dtype dtype, int64_t n)
{
	int64_t each = (int64_t)dtype_bytes(dtype), bytes = n * each;
	if (dtype_is_packed(dtype))
		return n == PACKED_WORD || n == 2 * PACKED_WORD || (n > 0 && n % (4 * PACKED_WORD) == 0);
	return bytes == 8 || bytes == ACCESS_BYTES || (n == 2 && bytes == 4) ||
	       (each <= 8 && bytes > 0 && bytes % ACCESS_BYTES == 0);
}

int64_t lanes_of_access(Dtype dtype, int64_t n)
{
	int64_t most = dtype_is_packed(dtype) ? 2 * ACCESS_BYTES
					      : ACCESS_BYTES / (int64_t)dtype_bytes(dtype);
	return n > most ? most : n;
}

/* Are the lanes one asynchronous copy? */
static bool lanes_are_copied(Dtype dtype, int64_t n)
{
	int64_t bytes = dtype_is_packed(dtype) ? 0 : n * (int64_t)dtype_bytes(dtype);
	return bytes == 4 || bytes == 8 || bytes == ACCESS_BYTES;
}

static void see_access(Lanes *l, BufferId buffer, const Ix *ix)
{
	Dtype dtype = l->program->buffers.at[buffer].dtype;
	if (!ix_uses(ix, l->loop->iter))
		return;
	bool contiguous = ix_moves_by(l->program, ix, l->loop->iter, 1);
	const Ix *first = ix_of_first_lane(l->program, ix, l->loop->iter);
	bool fits = l->async ? lanes_are_copied(dtype, l->n) : lanes_are_wide(dtype, l->n);
	l->wrong |= !contiguous || !fits || ix_multiple(l->multiples, first) % l->n != 0;
}

/* Do the lanes for which the condition holds come first, or is it the same for all? */
static bool holds_first(const Lanes *l, const Cond *cond)
{
	IterVar lane = l->loop->iter;
	bool same = !ix_uses(cond->a, lane) && !ix_uses(cond->b, lane);
	return same || (cond->kind != COND_EQ && !ix_uses(cond->b, lane) &&
			ix_moves_by(l->program, cond->a, lane, 1));
}

static void see_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		see_access(of, value->buffer, value->ix);
}

static bool fits(Lanes *l)
{
	const Sizes *sizes = l->program->sizes;
	bool whole = l->loop->lanes == 0 && size_is(sizes, l->loop->lo->size, 0) &&
		     size_is_const(sizes, l->loop->hi->size, &l->n) && l->n > 0;
	for (uint32_t i = 0; whole && i < l->loop->body.n; i++) {
		const Stmt *stmt = l->loop->body.stmts[i];
		l->async = stmt->kind == LOOP_STORE && stmt->async;
		l->wrong |= stmt->kind == LOOP_STORE &&
			    (stmt->acc != OP_NONE ||
			     dtype_is_packed(l->program->buffers.at[stmt->buffer].dtype));
		for (uint32_t c = 0; c < stmt->nconds; c++)
			l->wrong |= !holds_first(l, &stmt->conds[c]);
		if (stmt->kind == LOOP_STORE)
			see_access(l, stmt->buffer, stmt->ix);
		value_each(stmt->value, see_value, l);
	}
	return whole && !l->wrong;
}

static const Stmt *search(Lanes *l, const Block *block)
{
	const Stmt *found = NULL;
	for (uint32_t i = 0; i < block->n && !found; i++) {
		const Stmt *stmt = block->stmts[i];
		bool lanes = stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR;
		Multiples before = *l->multiples;
		l->loop = stmt;
		multiples_suppose(l->multiples, stmt);
		found = lanes && !fits(l) ? stmt : search(l, &stmt->body);
		*l->multiples = before;
	}
	return found;
}

const Stmt *lanes_strided(Program *program, const Kernel *kernel)
{
	Arena *arena = arena_new();
	Multiples multiples = multiples_new(arena, program, kernel);
	Lanes lanes = {.program = program, .multiples = &multiples};
	const Stmt *found = search(&lanes, &kernel->body);
	arena_free(arena);
	return found;
}
