/* Sums of few elements: one expression a cell, so that the loops around it have neither inner loop
 * nor branch.
 *
 *   for n: for i in 0..2: for k in 0..2
 *     y[n*4 + i*2 + k] = a[n*4 + i*2]*b[n*4 + k] + a[n*4 + i*2 + 1]*b[n*4 + k + 2]
 */
#include "lower/nest.h"

/* The value of a step, counted through the loops of the sum as they are nested. */
static const Value *value_of_step(Nest *nest, int64_t step)
{
	Sizes *sizes = nest->gen->program->sizes;
	for (uint32_t i = nest->nloops; i-- > nest->nresult;) {
		int64_t extent = 1;
		size_is_const(sizes, nest->loops[i].extent, &extent);
		nest->by_iter[nest->loops[i].iter] =
			ix_const(nest->gen->arena, sizes, step % extent);
		step /= extent;
	}
	nest_values(nest);
	return nest->value;
}

void nest_emit_short(Nest *nest, Op reduce, int64_t steps)
{
	Gen *gen = nest->gen;
	Body cell = {0};
	const Value *sum = value_of_step(nest, 0);
	for (int64_t i = 1; i < steps; i++) {
		const Value *args[] = {sum, value_of_step(nest, i)};
		sum = value_op(gen->arena, reduce, nest->value->dtype, args, 2);
	}
	const Value *value = nest_finish(nest, sum, &cell);
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, nest->nresult, nest->nloops, body_block(&cell)));
}
