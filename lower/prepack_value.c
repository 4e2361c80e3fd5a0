/* Functions of parameters alone, computed once, when the state is packed.
 *
 *   y = exp(w) * x        exp[i] = exp(w[i])           in the state, by Program.pack
 *                         packed_exp[..] = exp(w[..])  ... in panels, where a product reads these: then
 *                                                      nothing else is stored
 *
 * Such a function has parameters that no routine assigns to, constants, ranges and numbers for
 * operands, and known sizes; of constants alone it is one where the program has such a parameter,
 * and so a state. It pays where a product reads it, which would compute it again for each tile or
 * wait for a copy at every call, and where it is more than a cheap operation wherever it is read. A
 * parameter that is stored narrower, or that others read too, stays as it is under one or two cheap
 * operations: these are computed as its panels are loaded (conversions.c).
 *
 * What the kernel of such a function reads is a parameter, a constant, another one, or what it
 * stored on its way.
 */
#include "base/diag.h"
#include "lower/lowering.h"

/* TABLE_MOST: elements of a function of constants, for which the state would not be expected to
 * grow. */
enum { TABLE_MOST = 1 << 22 };

/* ---- which ---- */

static bool is_known_size(const Lower *lower, const Node *node)
{
	int64_t n;
	return size_is_const(lower->sizes, tensor_size(lower->inference, node->size_expr), &n);
}

/* Is it computed from operands at known places, or are its cells those of its operand? */
static bool is_computed(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	return proj && node->target == NODE_NONE && node->nargs > 0 && proj->width <= 1 &&
	       node->kind != NODE_ARGMAX && !node->along.letter && node->kind != NODE_RANDOM && node->kind != NODE_GATHER &&
	       node->kind != NODE_SCATTER;
}

/* Is it a sum, padded or made of pieces, which nothing computes where it reads it? */
static bool stands_alone(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return proj && !proj->linear &&
	       (proj_reduces(proj) || !proj_is_plain(proj) || proj_is_guarded(proj));
}

static bool is_constant(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	int64_t n;
	if (plan->mutated || plan->output ||
	    !size_is_const(lower->sizes, node_elements(lower, id), &n))
		return false;
	switch (node->kind) {
	case NODE_PARAM:
		return !lower->program->params
				.at[lower->program->buffers.at[lower->tables.shared[id]].arg]
				.changes;
	case NODE_CONST:
	case NODE_NUMBER:
	case NODE_OFFSETS:
	case NODE_RANGE: return true;
	case NODE_SIZE: return is_known_size(lower, node);
	default: break;
	}
	for (uint32_t i = 0; i < node->nargs; i++)
		if (!lower->plan[node->args[i]].constant)
			return false;
	return is_computed(lower, id);
}

/* Does it sum, in as many steps as are worth a copy? */
static bool sums_up(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	return proj && !proj->linear && proj_reduces(proj) &&
	       prepack_suits_size(lower, proj_arg_space(lower->sizes, proj, 0));
}

static void find(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	plan->constant = is_constant(lower, id);
	plan->param = node->kind == NODE_PARAM ? id : NODE_NONE;
	plan->summed = plan->constant && sums_up(lower, id);
	for (uint32_t i = 0; plan->constant && i < node->nargs; i++) {
		NodeId param = lower->plan[node->args[i]].param;
		plan->summed |= lower->plan[node->args[i]].summed;
		bool whole = param != NODE_NONE &&
			     size_same(node_elements(lower, param), node_elements(lower, id));
		if (plan->param == NODE_NONE || whole)
			plan->param = param;
	}
}

/* A parameter that the node is a function of, else any that no routine assigns to. It has elements:
 * guards of the state ask for these. */
static NodeId owner_of(const Lower *lower, NodeId id)
{
	NodeId param = lower->plan[id].param;
	bool none = param == NODE_NONE || size_is(lower->sizes, node_elements(lower, param), 0);
	return none ? lower->kept : param;
}

/* May the state have room for it? */
static bool has_state(const Lower *lower, NodeId id)
{
	int64_t n;
	bool few = size_is_const(lower->sizes, node_elements(lower, id), &n) && n <= TABLE_MOST;
	return (lower->plan[id].param != NODE_NONE || few) && lower->kept != NODE_NONE &&
	       lower_node(lower, id)->dtype != DTYPE_U4X32;
}

void prepack_find(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++)
		find(lower, lower->needed[k]);
}

NodeId prepack_kept(const Lower *lower)
{
	const Graph *graph = lower->graph;
	for (size_t i = 0; i < graph->params.n; i++) {
		BufferId id = lower->tables.shared[graph->params.at[i]];
		const Buffer *buffer = id == BUFFER_NONE ? NULL : &lower->program->buffers.at[id];
		int64_t n;
		if (buffer && !lower->program->params.at[buffer->arg].changes &&
		    size_is_const(lower->sizes, buffer->elements, &n) && n > 0)
			return graph->params.at[i];
	}
	return NODE_NONE;
}

/* Does the node compute, rather than read its operand at other places or as a wider type? */
static bool computes(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (node->kind == NODE_CAST)
		return !widen_in_lanes(lower_node(lower, node->args[0])->dtype, node->dtype);
	return stands_alone(lower, id) || node_cost(node) > 0;
}

/* Is it large, or small behind a large sum? */
static bool saves_much(const Lower *lower, NodeId id)
{
	return prepack_suits_size(lower, node_elements(lower, id)) || lower->plan[id].summed;
}

bool prepack_may_compute(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->constant && plan->param != id && has_state(lower, id) && computes(lower, id) &&
	       saves_much(lower, id);
}

/* Does a kernel of such a function read the node, or do all its readers? Falls: users stand behind
 * what they read. */
static bool is_read_ahead(const Lower *lower, NodeId id, bool all)
{
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodeId user = lower->uses[i].user, root = lower->plan[user].root;
		bool hoisted = root == NODE_NONE ? is_read_ahead(lower, user, all)
						 : lower->plan[root].hoisted;
		if (hoisted != all)
			return hoisted;
	}
	return all;
}

bool prepack_computes(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	if (lower_replays(lower))
		return plan->constant && plan->param != id && has_state(lower, id) &&
		       asks_on(fuse_asked(lower, id, CHOICE_PREPACK));
	if (!prepack_may_compute(lower, id) || is_read_ahead(lower, id, true) ||
	    asks_off(fuse_asked(lower, id, CHOICE_PREPACK)))
		return false;
	bool narrow =
		plan->param == NODE_NONE || dtype_bytes(lower_node(lower, plan->param)->dtype) <
						    dtype_bytes(lower_node(lower, id)->dtype);
	bool stays = (narrow || lower->plan[plan->param].nuses > 1) && widen_from_panels(lower, id);
	bool small = !prepack_suits_size(lower, node_elements(lower, id));
	return !stays &&
	       (small || plan->in_product || plan->cost > COST_CHEAP || stands_alone(lower, id));
}

bool prepack_is_read(const Lower *lower, NodeId id)
{
	return !lower_replays(lower) && lower->plan[id].constant && is_read_ahead(lower, id, false);
}

/* ---- their kernels ---- */

BufferId prepack_value_buffer(Lower *lower, NodeId id)
{
	Program *program = lower->program;
	if (lower->tables.shared[id] != BUFFER_NONE)
		return lower->tables.shared[id];
	const Buffer *param = &program->buffers.at[lower->tables.shared[owner_of(lower, id)]];
	Buffer buffer = {.kind = BUFFER_PACKED,
			 .name = lower_name(lower, id),
			 .span = lower_node(lower, id)->span,
			 .dtype = lower_node(lower, id)->dtype,
			 .elements = node_elements(lower, id),
			 .arg = param->arg,
			 .offset = program->state};
	lower->tables.shared[id] = lower_buffer(lower, buffer);
	PUSH(lower->arena, lower->values, lower->tables.shared[id]);
	return lower->tables.shared[id];
}

/* Packing has no workspace: what a kernel stores on its way is in the state as well. */
static void keep_temporaries(Lower *lower, BufferId first, uint32_t param)
{
	for (BufferId b = first; b < lower->program->buffers.n; b++) {
		Buffer *buffer = &lower->program->buffers.at[b];
		if (buffer->kind != BUFFER_TEMP)
			continue;
		buffer->kind = BUFFER_PACKED;
		buffer->arg = param;
	}
}

void prepack_emit_values(Lower *lower)
{
	Program *program = lower->program;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		BufferId buffer = lower->plan[id].hoisted ? lower->tables.shared[id] : BUFFER_NONE;
		if (buffer == BUFFER_NONE ||
		    program->buffers.at[buffer].routine != lower->tables.routine_id)
			continue;
		BufferId first = (BufferId)program->buffers.n;
		lower->packing = true;
		kernel_emit(lower, id);
		lower->packing = false;
		keep_temporaries(lower, first, program->buffers.at[buffer].arg);
		ScheduleEntry *made = schedule_entry(
			program->made, program->kernels.at[program->kernels.n - 1].name);
		entry_make(program->arena, made, CHOICE_PREPACK, false);
		PUSH(lower->arena, lower->packs, program->kernels.at[--program->kernels.n]);
		lower->kernels.n--;
	}
}

/* ---- their places ---- */

/* Buffers that are no function, functions that nothing reads so far, and others. */
typedef enum { OTHER, UNREAD, READ } Reading;

/* Does the kernel make a function that nothing reads? Else what it reads is read. */
static bool is_unread(Lower *lower, const Kernel *kernel, Reading *of)
{
	BufferUses uses = kernel_buffers(lower->scratch, kernel);
	for (size_t i = 0; i < uses.n; i++)
		if (uses.at[i].stored && of[uses.at[i].buffer] == UNREAD)
			return true;
	for (size_t i = 0; i < uses.n; i++)
		if (uses.at[i].loaded && of[uses.at[i].buffer] == UNREAD)
			of[uses.at[i].buffer] = READ;
	return false;
}

void prepack_drop_unread(Lower *lower)
{
	Program *program = lower->program;
	Reading *of = ARENA_ARRAY(lower->scratch, Reading, program->buffers.n + 1);
	size_t n = lower->packs.n;
	for (size_t i = 0; i < program->buffers.n; i++)
		of[i] = OTHER;
	for (size_t v = 0; v < lower->values.n; v++)
		of[lower->values.at[v]] = UNREAD;
	for (size_t i = 0; i < program->kernels.n; i++)
		is_unread(lower, &program->kernels.at[i], of);
	for (size_t i = n; i-- > 0;) /* what reads a function stands behind it */
		if (!is_unread(lower, &lower->packs.at[i], of))
			lower->packs.at[--n] = lower->packs.at[i];
	lower->packs.n -= n;
	for (size_t i = 0; i < lower->packs.n; i++)
		lower->packs.at[i] = lower->packs.at[i + n];
	for (size_t v = 0; v < lower->values.n; v++) {
		BufferId buffer = lower->values.at[v];
		if (of[buffer] != UNREAD)
			continue;
		program->buffers.at[buffer].kind = BUFFER_TEMP;
		buffer_forget(lower->program, buffer);
	}
}
