/* Operands that are computed where they are copied, instead of in a buffer that the copy reads:
 *
 *   exp[e] = exp(w[e]); packed[k*64 + lane] = exp[(j + lane)*768 + k]
 *   becomes packed[k*64 + lane] = exp(w[(j + lane)*768 + k])
 *
 * A copy reads each element once, so nothing is computed twice, and the numbers are the same: the
 * buffer would have held them in the type that the copy casts from. What is copied several times is
 * computed so where it is cheap. The operand's own kernel, if then nothing reads it, is dropped by pass
 * `unread` (transform/unread.c).
 */
#include "base/diag.h"
#include "loops/walk.h"
#include "lower/gen/node_facts.h"
#include "lower/nest/nest.h"
#include "lower/nest/row_block.h"

enum { INLINED_LIMIT = 64 };

/* Has the value few operations, those that are read several times counted as often? */
static bool is_small(const Value *value, uint32_t *left)
{
	bool small = *left > 0;
	*left -= small;
	for (uint32_t i = 0; i < value->nargs && small; i++)
		small = is_small(value->args[i], left);
	return small;
}

static bool is_by_elements(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return proj_is_plain(proj) && !proj_reduces(proj) && !proj_is_guarded(proj);
}

/* As far as the plan says, whatever the schedule does. `asked`: even where it costs. */
static bool can_inline(const Lower *lower, NodeId id, bool again, bool asked)
{
	const NodePlan *plan = &lower->plan[id];
	if (plan->reduction != NODE_NONE)
		return false;
	if (plan->hoisted)
		return !again && lower->tables.shared[id] == plan->buffer &&
		       is_by_elements(lower, id);
	return plan->sinkable && plan->own && !plan->pre_check && !plan->halo &&
	       !lower->row_block && (asked || !(again && plan->cost > COST_CHEAP));
}

static bool asks_inline(const Gen *gen, NodeId id)
{
	return gen_asks_operand(gen, CHOICE_INLINE, gen->lower->plan[id].buffer);
}

static bool may_inline(const Gen *gen, NodeId id, bool again)
{
	bool asked = gen_asked(gen, CHOICE_INLINE);
	return (!asked || asks_inline(gen, id)) && can_inline(gen->lower, id, again, asked);
}

/* Where the nest's value reads the buffer: the node that is there, and its index. */
static const Seen *find_read(Gen *gen, const SeenList *seen, const Value *load)
{
	for (size_t i = 0; i < seen->n; i++) {
		const Seen *read = &seen->at[i];
		if (gen->lower->plan[read->node].buffer == load->buffer &&
		    ix_same(flat_index(gen, read->node, read->axes), load->ix))
			return read;
	}
	return NULL;
}

static SeenList reads_of(Nest *nest)
{
	Gen *gen = nest->gen;
	SeenList seen = {0}, *outer = gen->seen;
	gen->seen = &seen;
	gen_enter(gen, gen->locals_of);
	piece_value(gen, nest->node, nest->piece, row_block_whole(nest));
	gen->seen = outer;
	return seen;
}

/* What computes a read, by its number, where an iterator is so much further. */
static const Value *computed_behind(Nest *nest, size_t read, IterId iter, const Ix *by)
{
	const Ix **at = &nest->by_iter[iter], *here = *at;
	*at = ix_add(nest->gen->program, here, by);
	SeenList seen = reads_of(nest);
	*at = here;
	return node_compute(nest->gen, seen.at[read].node, seen.at[read].axes);
}

/* Is what computes a read the same an inner round further as one step of the outer loop further? */
static bool walks_alike(Nest *nest, size_t read, const Merged *merged)
{
	const Ix *one = ix_const(nest->gen->program, 1);
	return value_same(computed_behind(nest, read, merged->outer, one),
			  computed_behind(nest, read, merged->inner,
					  ix_size(nest->gen->arena, merged->step)));
}

/* Do loops that are one for the buffer (collapse.c) go past what computes it as one too? */
static bool walks_all_alike(Nest *nest, size_t read)
{
	for (size_t i = 0; i < nest->merged.n; i++)
		if (!walks_alike(nest, read, &nest->merged.at[i]))
			return false;
	return true;
}

static bool is_gathered(const Value *value)
{
	bool gathered = value->kind == VALUE_LOAD && value->ix->reads;
	for (uint32_t i = 0; i < value->nargs && !gathered; i++)
		gathered = is_gathered(value->args[i]);
	return gathered;
}

/* Of what is not inlined after all too: the loops are the same with the schedule that says so. */
bool nest_gathers_otherwise(Nest *nest, const Loop *outer, const Loop *inner)
{
	Gen *gen = nest->gen;
	const Merged merged = {outer->iter, inner->iter, inner->extent};
	bool in_line = gen->in_line, differs = false;
	gen->in_line = true;
	SeenList seen = reads_of(nest);
	for (size_t i = 0; i < seen.n && !differs; i++) {
		const Seen *read = &seen.at[i];
		differs = can_inline(gen->lower, read->node, true, asks_inline(gen, read->node)) &&
			  is_gathered(node_compute(gen, read->node, read->axes)) &&
			  !walks_alike(nest, i, &merged);
	}
	gen->in_line = in_line;
	return differs;
}

const Value *nest_inlined_producer_at(Nest *nest, const Value *load, const Ix *const *axes,
				      bool again)
{
	Gen *gen = nest->gen;
	bool in_line = gen->in_line;
	gen->in_line = true;
	SeenList seen = reads_of(nest);
	const Seen *read = find_read(gen, &seen, load);
	uint32_t left = INLINED_LIMIT;
	const Value *value = read && may_inline(gen, read->node, again)
				     ? node_compute(gen, read->node, axes ? axes : read->axes)
				     : load;
	if (!is_small(value, &left) ||
	    (value != load && !walks_all_alike(nest, (size_t)(read - seen.at))))
		value = load;
	gen->in_line = in_line;
	return value;
}

const Value *nest_inlined_producer(Nest *nest, const Value *load, bool again)
{
	return nest_inlined_producer_at(nest, load, NULL, again);
}

const Value *nest_producer(Nest *nest, const Value *load)
{
	Gen *gen = nest->gen;
	bool in_line = gen->in_line;
	gen->in_line = true;
	SeenList seen = reads_of(nest);
	const Seen *read = find_read(gen, &seen, load);
	REQUIRE(read);
	const Value *value = node_compute(gen, read->node, read->axes);
	gen->in_line = in_line;
	return value;
}

void nest_note_inlined_producer(Nest *nest, const Value *load, const Value *value)
{
	if (value != load)
		gen_make_operand(nest->gen, CHOICE_INLINE, load->buffer);
}

void nest_inline_producer(Nest *nest, const Value *load)
{
	gen_make_operand(nest->gen, CHOICE_INLINE, load->buffer);
	SeenList seen = reads_of(nest);
	nest->gen->inside = find_read(nest->gen, &seen, load)->node;
	nest->in_line = true;
	nest_values(nest);
}
