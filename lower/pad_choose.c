/* Whether a picture is copied: the cycles of tiles with lanes along its rows, past the copy, and of
 * tiles with lanes across another loop of the result, past the picture where it is (tile_result.c).
 * Both are estimated on nests that are built for that alone. Neither depends on how many members a
 * batch has, as sums with zeros and without them differ where a weight is no number.
 */
#include "lower/pad.h"

static int64_t known(const Pad *p, Size size)
{
	int64_t n;
	return size_is_const(p->program->sizes, size, &n) ? n : 1;
}

/* Cycles of the copy for one member of a batch; one with the picture's own margins is shared, or
 * there is none. */
static uint64_t copy_cycles(const Pad *p)
{
	int64_t elements = 1;
	bool dense = true;
	for (uint32_t d = 0; d < p->ndims; d++) {
		const IndexTerm *term = p->dims[d].term;
		const Loop *loop = term ? pad_loop(p->nest, term->iter) : NULL;
		elements *= known(p, loop ? loop->own : p->dims[d].extent);
		dense &= !term || term->coef == 1;
	}
	return p->margins ? 0
			  : (uint64_t)elements *
				    (dense ? nest_target(p->nest)->copy_cost
					   : nest_target(p->nest)->copy_cost_apart) /
				    8;
}

/* The same nest once more, for what is tried only; nothing of it stays. Its loops have the names
 * that they have there, behind those of other nests. */
static Nest nest_again(const Nest *nest, Gen *gen)
{
	*gen = gen_new(nest->gen->lower, nest->gen->name, nest->gen->span);
	gen->made = nest->gen->made;
	for (size_t i = gen->iters.n; i < nest->loops[0].var; i++)
		PUSH(gen->arena, gen->iters, nest->gen->iters.at[i]);
	Nest again = {.gen = gen,
		      .node = nest->node,
		      .root = nest->root,
		      .target = nest->target,
		      .proj = nest->proj,
		      .piece = nest->piece};
	nest_set_up(&again);
	return again;
}

static bool is_better_in_place(const Pad *p)
{
	Gen gen;
	Nest nest = nest_again(p->nest, &gen);
	uint64_t in_place = tile_estimate(&nest, true);
	Pad copy = {.nest = &nest, .program = p->program};
	if (in_place == 0)
		return false;
	REQUIRE(pad_find_axes(&copy));
	PackedOperandLoad *packed_operand = &nest.packed_operand[copy.arg];
	packed_operand->buffer = copy.load->buffer;
	pad_lay_out(&copy, packed_operand);
	pad_drop_guards(&copy);
	nest_rebuild(&nest);
	uint64_t copied = tile_estimate(&nest, false);
	return copied == 0 || in_place < copied + copy_cycles(&copy);
}

/* The loop that lanes are asked to run along decides: a sum's is one of the picture where it is, as
 * is one of the result in panels of it; a name that no loop has here is one behind a copy, of the
 * picture or of what else is staged where nothing is asked for. */
bool pad_is_better_in_place(const Pad *p)
{
	Lower *lower = p->nest->gen->lower;
	const Schedule *asked = lower->asked;
	const ScheduleClause *lanes = gen_asked(p->nest->gen, CHOICE_VECTOR);
	if (!asks_on(lanes) || lanes->items.n == 0)
		return is_better_in_place(p);
	const Loop *loop = nest_loop_named(p->nest, lanes->items.at[0].name);
	if (loop && loop->reduced)
		return true;
	Gen gen;
	Nest nest = nest_again(p->nest, &gen);
	if (loop)
		return tile_estimate(&nest, true) > 0 ||
		       (asks_on(gen_asked(&gen, CHOICE_PACK)) && tile_estimate(&nest, false) > 0);
	lower->asked = NULL;
	bool packed_operand = nest_may_pack_operands(&nest) && is_better_in_place(p);
	lower->asked = asked;
	return packed_operand;
}
