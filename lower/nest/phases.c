/* Loops of elementwise kernels whose steps are several elements: of those that read tensors of which every s-th element
 * is written (fuse_phases.c), and of one that writes such a tensor.
 *
 *   y[e] = (e % 2 == 0 ? a[e/2] : 0) + (e % 2 == 1 ? b[e/2] : 0)
 *
 *   for i in 0..n                           for i in 0..n
 *     y[i*2] = a[i] + 0                       y[i*2] = a[i]
 *     y[i*2 + 1] = 0 + b[i]                   y[i*2 + 1] = 0
 *
 * What is at which phase is known as the values are made, and a line of the result is written once. As the nest is
 * planned its value is what all phases read, so that loops become one only where they may in each.
 */
#include <string.h>

#include "lower/gen/node_facts.h"
#include "lower/nest/emit.h"

void nest_find_phases(Nest *nest)
{
	const Lower *lower = nest->gen->lower;
	Sizes *sizes = nest->gen->program->sizes;
	const Access *result = &nest->piece->result;
	NodeId writes = lower->plan[nest->root].phases;
	if (writes == NODE_NONE)
		return;
	nest->phases = ARENA_ARRAY(nest->gen->arena, int64_t, nest->proj->niters + 1);
	for (uint32_t axis = 0; axis < result->naxes; axis++)
		if (result->axes[axis].nterms)
			nest->phases[result->axes[axis].terms[0].iter] =
				phases_of_axis(lower_proj(lower, writes), axis);
	for (uint32_t i = 0; i < nest->nloops; i++) {
		Loop *loop = &nest->loops[i];
		Size step = size_const(sizes, nest->phases[loop->iter]);
		bool batch = !size_same(loop->own, loop->extent);
		loop->extent = size_div(sizes, loop->extent, step);
		loop->own = batch ? loop->own : loop->extent;
	}
}

static int64_t all_phases(const Nest *nest)
{
	int64_t all = 1;
	for (uint32_t i = 0; i < nest->nloops; i++)
		all *= nest->phases[nest->loops[i].iter];
	return all;
}

/* The values at one phase of each loop, the last loop's fastest. */
static void set_phase(Nest *nest, int64_t number)
{
	Program *program = nest->gen->program;
	for (uint32_t i = nest->nloops; i-- > 0;) {
		const Loop *loop = &nest->loops[i];
		int64_t step = nest->phases[loop->iter];
		const Ix *first = ix_times(program, ix_iter(program->arena, loop->var), step);
		nest->by_iter[loop->iter] = ix_plus(program, first, number % step);
		number /= step;
	}
	nest_values(nest);
}

const Value *nest_phases_value(Nest *nest)
{
	Gen *gen = nest->gen;
	const Value *all = NULL;
	SharedLocals inner = {0};
	for (int64_t number = all_phases(nest); number-- > 0;) {
		set_phase(nest, number);
		all = all ? value_binary(gen->arena, OP_ADD, nest->value, all) : nest->value;
		for (size_t i = 0; i < nest->inner.n; i++)
			PUSH(gen->arena, inner, nest->inner.at[i]);
	}
	nest->inner = inner;
	return all;
}

void nest_emit_phases(Nest *nest)
{
	Gen *gen = nest->gen;
	Body body = {0};
	for (int64_t number = 0; number < all_phases(nest); number++) {
		set_phase(nest, number);
		gen_append(gen, &body,
			   nest_step(nest, gen_store(gen, nest->target, nest->at, nest->value)));
	}
	gen_append(gen, &gen->top, nest_wrap(nest, 0, nest->nloops, 0, body_block(&body)));
}

/* ---- what writes every s-th element ---- */

bool nest_stores_between(const Lower *lower, NodeId root)
{
	return !lower->row_block && lower->plan[root].reduction == NODE_NONE &&
	       fuse_has_phases(lower, root);
}

/* Adds the element at a phase of each axis, the last one's fastest: the value, or the neutral element. */
static void add_between(Nest *nest, int64_t number, Body *body)
{
	Gen *gen = nest->gen;
	const Access *result = &nest->piece->result;
	const Ix **axes = ARENA_ARRAY(gen->arena, const Ix *, result->naxes + 1);
	bool own = true;
	for (uint32_t axis = result->naxes; axis-- > 0;) {
		int64_t step = phases_of_axis(nest->proj, axis), offset = 0;
		size_is_const(gen->program->sizes, result->axes[axis].offset, &offset);
		axes[axis] = ix_plus(gen->program, nest->element[axis], number % step - offset);
		own &= number % step == offset;
		number /= step;
	}
	const Ix *at = flat_index(gen, nest->root, axes);
	PUSH(gen->arena, body->stmts,
	     gen_store(gen, nest->target, at, own ? nest->value : nest_neutral(nest)));
}

void nest_emit_between(Nest *nest)
{
	Gen *gen = nest->gen;
	Body body = {0};
	int64_t all = 1;
	for (uint32_t axis = 0; axis < nest->piece->result.naxes; axis++)
		all *= phases_of_axis(nest->proj, axis);
	gen_set_shared(gen, &body, &nest->inner);
	for (int64_t number = 0; number < all; number++)
		add_between(nest, number, &body);
	gen_append(gen, &gen->top, nest_wrap(nest, 0, nest->nloops, 0, body_block(&body)));
}
