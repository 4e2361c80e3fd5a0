/* Sums of few elements: one expression an element, so that the loops around it have neither inner loop
 * nor branch.
 *
 *   for n: for i in 0..2: for k in 0..2
 *     y[n*4 + i*2 + k] = a[n*4 + i*2]*b[n*4 + k] + a[n*4 + i*2 + 1]*b[n*4 + k + 2]
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/nest/emit.h"
#include "lower/nest/forms.h"

/* Rows of the last result loop in registers, where rows that are read at indices go by:
 *
 *   for d in 0..64 step 64                 bag sums: a row stays in four vectors
 *     local acc : f32 [64] = 0
 *     for t in 0..k: vector lane in 0..64: acc[lane] += table[int(ids[b*k + t])*64 + d + lane]
 *     vector lane in 0..64: y[b*64 + d + lane] = acc[lane]
 *
 * The steps of an element are those of the loops in memory, in their order. */
static bool reads_at_indices(const Value *value)
{
	bool reads = value->kind == VALUE_LOAD && value->ix->reads;
	for (uint32_t i = 0; i < value->nargs; i++)
		reads |= reads_at_indices(value->args[i]);
	return reads;
}

bool nest_row_fits(const Nest *nest, const SumFacts *facts, const Loop *row, int64_t *lanes)
{
	Program *program = nest->gen->program;
	int64_t line = nest_target(nest)->line_bytes / (int64_t)dtype_bytes(nest->value->dtype), n;
	uint32_t any = 0;
	bool known = size_is_const(program->sizes, row->extent, &n) && n > 0 && n % line == 0;
	*lanes = known && n % (4 * line) == 0 ? 4 * line : line;
	return known && !row->reduced && facts->in_vectors && facts->has_lanes &&
	       nest->inner.n == 0 && nest->guards.n == 0 && nest->root == nest->node &&
	       !nest->gen->lower->row_block && nest_sums_in_place(nest) &&
	       reads_at_indices(nest->value) &&
	       value_goes_on(program, nest->value, row->var, &any) &&
	       size_is(program->sizes, ix_stride(program, nest->at, row->var), 1);
}

void nest_emit_row(Nest *nest, Op reduce, int64_t lanes)
{
	Gen *gen = nest->gen;
	Program *program = gen->program;
	uint32_t last = nest->nloops - 1;
	Loop *row = &nest->loops[last];
	IterVar lane = gen_iter(gen, "lane");
	Body body = {0};
	LocalId acc = gen_declare(gen, &body, "acc", nest_neutral(nest), &lanes, 1);
	const Value *element = frame_element(&gen->frame, acc, ix_iter(gen->arena, lane));
	nest->by_iter[row->iter] =
		ix_add(program, ix_iter(gen->arena, row->var), ix_iter(gen->arena, lane));
	nest_values(nest);
	const Stmt *add = stmt_set_at(gen->arena, element, reduce, nest->value);
	const Stmt *store = stmt_store(gen->arena, nest->target.buffer, nest->at, OP_NONE, element);
	Block steps = gen_loop(gen, LOOP_VECTOR, lane, lanes, block_of(gen, add));
	gen_append(gen, &body, nest_wrap(nest, nest->nresult - 1, last, last, steps));
	gen_append(gen, &body, gen_loop(gen, LOOP_VECTOR, lane, lanes, block_of(gen, store)));
	Block rows = gen_steps(gen, row->var, zero_ix(gen), ix_size(gen->arena, row->extent), lanes,
			       body_block(&body));
	gen_append(gen, &gen->top, nest_wrap(nest, 0, nest->nresult - 1, nest->nloops, rows));
}

/* The value of a step, counted through the loops of the sum as they are nested. */
static const Value *value_of_step(Nest *nest, int64_t step)
{
	Sizes *sizes = nest->gen->program->sizes;
	for (uint32_t i = nest->nloops; i-- > nest->nresult;) {
		int64_t extent = 1;
		size_is_const(sizes, nest->loops[i].extent, &extent);
		nest->by_iter[nest->loops[i].iter] = ix_const(nest->gen->program, step % extent);
		step /= extent;
	}
	nest_values(nest);
	return nest->value;
}

void nest_emit_short(Nest *nest, Op reduce, int64_t steps)
{
	Gen *gen = nest->gen;
	Body element = {0};
	const Value *sum = value_of_step(nest, 0);
	for (int64_t i = 1; i < steps; i++) {
		sum = value_binary(gen->arena, reduce, sum, value_of_step(nest, i));
	}
	nest_store_finished(nest, sum, &element);
	gen_append(gen, &gen->top,
		   nest_wrap(nest, 0, nest->nresult, nest->nloops, body_block(&element)));
}
