/* Operands that are computed where they are copied, instead of in a buffer that the copy reads:
 *
 *   exp[e] = exp(w[e]); packed[k*64 + lane] = exp[(j + lane)*768 + k]
 *   becomes packed[k*64 + lane] = exp(w[(j + lane)*768 + k])
 *
 * A copy reads each element once, so nothing is computed twice, and the numbers are the same: the
 * buffer would have held them in the type that the copy casts from. What is copied several times is
 * computed so where it is cheap. An operand of a routine has its kernel before, which is dropped
 * once all that reads it are such copies; one of the state is dropped in prepack_value.c.
 */
#include <string.h>

#include "lower/band.h"

enum { PRODUCED_LIMIT = 64, CHEAP = 2 };

/* Has the value few operations, those that are read several times counted as often? */
static bool is_small(const Value *value, uint32_t *left)
{
	bool small = *left > 0;
	*left -= small;
	for (uint32_t i = 0; i < value->nargs && small; i++)
		small = is_small(value->args[i], left);
	return small;
}

static bool may_produce(const Lower *lower, NodeId id, bool again)
{
	const NodePlan *plan = &lower->plan[id];
	if (plan->reduction != NODE_NONE)
		return false;
	if (plan->ahead)
		return !again && lower->shared[id] == plan->buffer;
	return plan->late && plan->own && !plan->early && !plan->halo && !lower->band &&
	       !(again && plan->cost > CHEAP);
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
	gen_enter(gen, gen->body);
	piece_value(gen, nest->node, nest->piece, band_whole(nest));
	gen->seen = outer;
	return seen;
}

const Value *nest_produced(Nest *nest, const Value *load, bool again)
{
	Gen *gen = nest->gen;
	bool in_line = gen->in_line;
	gen->in_line = true;
	SeenList seen = reads_of(nest);
	const Seen *read = find_read(gen, &seen, load);
	uint32_t left = PRODUCED_LIMIT;
	const Value *value = read && may_produce(gen->lower, read->node, again)
				     ? node_compute(gen, read->node, read->axes)
				     : load;
	gen->in_line = in_line;
	if (!is_small(value, &left))
		return load;
	if (value != load && gen->lower->plan[read->node].late)
		PUSH(gen->lower->scratch, gen->lower->produced, read->node);
	return value;
}

void nest_produce_inside(Nest *nest, const Value *load)
{
	SeenList seen = reads_of(nest);
	NodeId id = find_read(nest->gen, &seen, load)->node;
	nest->gen->inside = id;
	nest->gen->lower->plan[id].inside = true;
	nest->in_line = true;
	nest_values(nest);
}

/* ---- kernels that are dropped ---- */

static bool is_read(const Lower *lower, BufferId buffer)
{
	for (size_t i = 0; i < lower->kernels.n; i++) {
		const Kernel *kernel = &lower->program->kernels.at[lower->kernels.at[i]];
		BufferUses uses = kernel_buffers(lower->scratch, kernel);
		for (size_t k = 0; k < uses.n; k++)
			if (uses.at[k].buffer == buffer && uses.at[k].loaded)
				return true;
	}
	return false;
}

/* The routine's kernels are the program's last ones. */
static void drop_kernel(Lower *lower, Sym name)
{
	Program *program = lower->program;
	size_t n = program->kernels.n - lower->kernels.n;
	for (size_t i = n; i < program->kernels.n; i++)
		if (program->kernels.at[i].name != name)
			program->kernels.at[n++] = program->kernels.at[i];
	lower->kernels.n -= program->kernels.n - n;
	program->kernels.n = n;
}

/* What is computed where it is read is a part of the reader's kernel like any other (fuse_describe);
 * the line of what is copied says so. */
static void describe(Lower *lower, NodeId id, Sym name)
{
	NodePlan *plan = &lower->plan[id];
	Schedule *made = lower->program->made;
	ScheduleEntry *entry = schedule_entry(made, name);
	entry->clauses.n = 0;
	if (!plan->inside) {
		entry_make(lower->program->arena, entry, CHOICE_PACK, false);
		return;
	}
	plan->fused = true;
	plan->root = lower->plan[lower->uses[lower->first_use[id]].user].root;
	size_t at = (size_t)(entry - made->entries.at);
	made->entries.n--;
	memmove(entry, entry + 1, (made->entries.n - at) * sizeof *entry);
}

void produce_drop(Lower *lower)
{
	for (size_t i = 0; i < lower->produced.n; i++) {
		NodeId id = lower->produced.at[i];
		if (!lower->plan[id].own || is_read(lower, lower->plan[id].buffer))
			continue;
		Sym name = kernel_name(lower, id);
		lower->plan[id].own = false;
		drop_kernel(lower, name);
		describe(lower, id, name);
		lower_forget(lower, lower->plan[id].buffer);
	}
	lower->produced.n = 0;
}
