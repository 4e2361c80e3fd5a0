/* Loops of a nest, and the guards that bound them.
 *
 * A guarded index 0 <= c*k + rest < size, with k the iterator of the innermost loop that it
 * mentions and c > 0, bounds that loop, so that no branch remains inside:
 *
 *   for k in max(0, ceil(-rest / c)) .. min(extent, ceil((size - rest) / c))
 *
 * `rest` mentions loops further out only, so the bounds are known where the loop begins. Where
 * that loop must not be cut, because it also writes elements that are stored whether the sum is
 * empty or not, or where c is negative, the guard is a condition around the body. Each guard is
 * one of the two: nest_bounds_loop says which, for both.
 */
#include "lower/nest/emit.h"

const IndexTerm *nest_term_of(const Index *index, IterId iter)
{
	for (uint32_t t = 0; t < index->nterms; t++)
		if (index->terms[t].iter == iter)
			return &index->terms[t];
	return NULL;
}

bool nest_guard_mentions(const Nest *nest, const Guarded *guard, IterId iter)
{
	if (guard->index->gather < 0)
		return nest_term_of(guard->index, iter) != NULL;
	return access_mentions(&nest->piece->args[guard->index->gather], iter);
}

int nest_guard_position(const Nest *nest, const Guarded *guard)
{
	int last = (int)nest->nloops - 1;
	while (last >= 0 && !nest_term_of(guard->index, nest->loops[last].iter))
		last--;
	return last;
}

/* The coefficient of the loop's iterator in the guarded index; 0: it is not there. */
static int64_t guard_coef(const Nest *nest, const Guarded *guard, uint32_t position)
{
	const IndexTerm *term = nest_term_of(guard->index, nest->loops[position].iter);
	return term ? term->coef : 0;
}

/* The guarded index without the term of one iterator (NULL: whole). One that is read has no terms: it
 * bounds no loop. */
static const Ix *guard_rest(const Nest *nest, const Guarded *guard, const Loop *without)
{
	Program *program = nest->gen->program;
	if (guard->index->gather >= 0)
		return access_index(nest->gen, nest->node, nest->piece, guard->index,
				    nest->by_iter);
	const Ix *sum = ix_size(program->arena, guard->index->offset);
	for (uint32_t t = guard->index->nterms; t-- > 0;) {
		const IndexTerm *term = &guard->index->terms[t];
		if (without && term->iter == without->iter)
			continue;
		sum = ix_times_plus(program, nest->by_iter[term->iter], term->coef, sum);
	}
	return sum;
}

/* ceil((size - rest) / coef) */
static const Ix *first_over_read(const Nest *nest, Size size, const Ix *rest, int64_t coef)
{
	Program *program = nest->gen->program;
	const Ix *top = ix_size(program->arena, size_plus(program->sizes, size, coef - 1));
	return ix_binary(program, IX_DIV, ix_minus(program, top, rest), ix_const(program, coef));
}

bool nest_bounds_loop(const Nest *nest, const Guarded *guard, uint32_t first_cut)
{
	int position = nest_guard_position(nest, guard);
	return position >= (int)first_cut && guard_coef(nest, guard, (uint32_t)position) > 0;
}

/* The loop at a position, from the greatest of its lower bounds, of which one is `lo`, to the least of its upper ones. */
static const Stmt *loop_stmt(const Nest *nest, uint32_t position, uint32_t first_cut, const Ix *lo,
			     const Ix *hi, Block body)
{
	Program *program = nest->gen->program;
	const Loop *loop = &nest->loops[position];
	for (size_t g = 0; g < nest->guards.n; g++) {
		const Guarded *guard = &nest->guards.at[g];
		if (nest_guard_position(nest, guard) != (int)position ||
		    !nest_bounds_loop(nest, guard, first_cut))
			continue;
		int64_t coef = guard_coef(nest, guard, position);
		const Ix *rest = guard_rest(nest, guard, loop);
		Size zero = size_const(program->sizes, 0);
		lo = ix_binary(program, IX_MAX, lo, first_over_read(nest, zero, rest, coef));
		hi = ix_binary(program, IX_MIN, hi, first_over_read(nest, guard->size, rest, coef));
	}
	Stmt *stmt = stmt_for(program->arena, loop->var, lo, hi, body);
	stmt->independent = nest->independent && !loop->reduced;
	return stmt;
}

Block nest_wrap(const Nest *nest, uint32_t from, uint32_t to, uint32_t first_cut, Block body)
{
	for (uint32_t i = to; i-- > from;)
		body = nest_wrap_range(nest, i, first_cut, zero_ix(nest->gen),
				       ix_size(nest->gen->arena, nest->loops[i].extent), body);
	return body;
}

Block nest_wrap_range(const Nest *nest, uint32_t at, uint32_t first_cut, const Ix *lo, const Ix *hi,
		      Block body)
{
	return block_of(nest->gen, loop_stmt(nest, at, first_cut, lo, hi, body));
}

Block nest_guarded_block(const Nest *nest, uint32_t first_cut, Block body)
{
	Program *program = nest->gen->program;
	VEC(Cond) conds = {0};
	for (size_t g = 0; g < nest->guards.n; g++) {
		const Guarded *guard = &nest->guards.at[g];
		if (nest_bounds_loop(nest, guard, first_cut))
			continue;
		const Ix *index = guard_rest(nest, guard, NULL);
		PUSH(program->arena, conds, ((Cond){COND_LE, zero_ix(nest->gen), index}));
		PUSH(program->arena, conds,
		     ((Cond){COND_LT, index, ix_size(program->arena, guard->size)}));
	}
	if (conds.n == 0)
		return body;
	return block_of(nest->gen, stmt_if(program->arena, conds.at, (uint32_t)conds.n, body));
}

Block nest_step(Nest *nest, const Stmt *stmt)
{
	Body body = {0};
	gen_set_shared(nest->gen, &body, &nest->inner);
	PUSH(nest->gen->arena, body.stmts, stmt);
	return body_block(&body);
}

const Value *nest_finish(Nest *nest, const Value *sum, Body *body)
{
	SharedLocals shared = {0};
	const Value *value = nest_finished(nest, sum, &shared);
	gen_set_shared(nest->gen, body, &shared);
	return value;
}
