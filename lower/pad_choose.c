/* Whether a picture is copied: the cycles of tiles with lanes along its rows, past the copy, and of
 * tiles with lanes across another loop of the result, past the picture where it is (tile/result.c).
 * Both are estimated on the nest as it began (NestLook). Neither depends on how many members a
 * batch has, as sums with zeros and without them differ where a weight is no number.
 */
#include "lower/pad.h"
#include "lower/tile/plan.h"

/* Cycles of the copy for one member of a batch; one with the picture's own margins is shared, or
 * there is none. */
static uint64_t copy_cycles(const Pad *p)
{
	int64_t elements = 1;
	bool dense = true;
	for (uint32_t d = 0; d < p->ndims; d++) {
		const IndexTerm *term = p->dims[d].term;
		const Loop *loop = term ? pad_loop(p->nest, term->iter) : NULL;
		elements *= nest_known(p->nest, loop ? loop->own : p->dims[d].extent, 1);
		dense &= !term || term->coef == 1;
	}
	return p->margins ? 0
			  : (uint64_t)elements *
				    (dense ? nest_target(p->nest)->copy_cost
					   : nest_target(p->nest)->copy_cost_strided) /
				    8;
}

static bool is_better_in_place(const Pad *p)
{
	NestLook look;
	nest_look_again(&look, p->nest);
	Nest *nest = &look.nest;
	uint64_t in_place = tile_estimate(nest, true);
	Pad copy = {.nest = nest, .program = nest->gen->program};
	if (in_place == 0)
		return false;
	REQUIRE(pad_find_axes(&copy));
	PackedOperandLoad *packed_operand = &nest->packed_operand[copy.arg];
	packed_operand->buffer = copy.load->buffer;
	pad_lay_out(&copy, packed_operand);
	pad_drop_guards(&copy);
	nest_rebuild(nest);
	uint64_t copied = tile_estimate(nest, false);
	return copied == 0 || in_place < copied + copy_cycles(&copy);
}

/* The loop that lanes are asked to run along decides: a sum's is one of the picture where it is, as
 * is one of the result in panels of it; a name that no loop has here is one behind a copy, of the
 * picture or of what else is staged where nothing is asked for. */
bool pad_is_better_in_place(const Pad *p)
{
	const ScheduleClause *lanes = gen_asked(p->nest->gen, CHOICE_VECTOR);
	if (!asks_on(lanes) || lanes->items.n == 0)
		return is_better_in_place(p);
	const Loop *loop = nest_loop_named(p->nest, lanes->items.at[0].name);
	if (loop && loop->reduced)
		return true;
	NestLook look;
	nest_look_again(&look, p->nest);
	if (loop)
		return tile_estimate(&look.nest, true) > 0 ||
		       (asks_on(gen_asked(&look.gen, CHOICE_PACK)) &&
			tile_estimate(&look.nest, false) > 0);
	look.gen.asked = NULL;
	const Pad unasked = {.nest = &look.nest, .program = &look.program};
	return nest_may_pack_operands(&look.nest) && is_better_in_place(&unasked);
}
