/* One routine: which buffers its nodes live in, and its kernels in order.
 *
 * Nothing that the caller can see is written before every gathered index is checked: what indices
 * are computed from comes first (into temporaries), each check right behind its indices, then
 * everything else in the order of the graph, then copies of results that have another home.
 */
#include <string.h>

#include "lower/band.h"

/* Does it read where indices say that only the run knows? (That a size lies inside is a guard.) */
static bool gathers(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (node->kind == NODE_GATHER)
		return true;
	return node->kind == NODE_SLICE && node->nargs > 1 &&
	       lower_node(lower, node->args[1])->kind != NODE_SIZE;
}

/* ---- what comes first ---- */

/* Backwards, as operands come before what reads them: one pass finds everything that an index
 * depends on. */
static void mark_early(Lower *lower)
{
	for (uint32_t k = lower->nneeded; k-- > 0;) {
		NodeId id = lower->needed[k];
		const Node *node = lower_node(lower, id);
		if (gathers(lower, id))
			lower->plan[node->args[1]].early = true;
		for (uint32_t i = 0; lower->plan[id].early && i < node->nargs; i++)
			lower->plan[node->args[i]].early = true;
	}
}

static bool check_early(Lower *lower)
{
	bool good = true;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		const NodePlan *plan = &lower->plan[id];
		if (!plan->early || !plan->mutated)
			continue;
		diag(lower->diags, E0922, lower_node(lower, id)->span,
		     "an index depends on this tensor, which the routine '%s' assigns to: not supported yet",
		     lower->routine->name);
		good = false;
	}
	return good;
}

/* ---- buffers ---- */

static bool is_caller_data(const Node *node)
{
	return node->kind == NODE_INPUT || node->kind == NODE_PARAM || node->kind == NODE_CONST;
}

/* May a reshaped node be the same buffer as its operand? */
static bool is_alias(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	const NodePlan *plan = &lower->plan[id];
	if (!proj || !proj->linear || node->target != NODE_NONE || plan->mutated)
		return false;
	const NodePlan *arg = &lower->plan[node->args[0]];
	return !arg->fused && !arg->mutated &&
	       node->dtype == lower_node(lower, node->args[0])->dtype && !plan->output;
}

static BufferId input_buffer(const Lower *lower, NodeId id)
{
	const ProgramRoutine *routine = &lower->program->routines.at[lower->routine_id];
	for (uint32_t i = 0; i < routine->ninputs; i++)
		if (lower->routine->inputs[i] == id)
			return routine->inputs[i].buffer;
	BUG("routine %s reads an input that it does not take", lower->routine->name);
}

/* The first output that is this node, where the node can be computed right into it. */
static BufferId output_buffer(const Lower *lower, NodeId id)
{
	const ProgramRoutine *routine = &lower->program->routines.at[lower->routine_id];
	if (!lower->plan[id].output || lower->plan[id].early)
		return BUFFER_NONE;
	for (uint32_t i = 0; i < routine->noutputs; i++)
		if (lower->routine->outputs[i] == id)
			return routine->outputs[i].buffer;
	return BUFFER_NONE;
}

/* An assignment has the place of its target, a reshape that of its operand; what is a result is
 * computed where the caller wants it, if nothing stands against that. */
static void bind_buffer(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	if (node->kind == NODE_INPUT) {
		plan->buffer = input_buffer(lower, id);
	} else if (node->kind == NODE_PARAM) {
		plan->buffer = lower_param_buffer(lower, id);
	} else if (node->kind == NODE_CONST) {
		plan->buffer = lower_const_buffer(lower, id);
	} else if (node->target != NODE_NONE) {
		plan->buffer = lower->plan[node->target].buffer;
	} else if (is_alias(lower, id)) {
		plan->buffer = lower->plan[node->args[0]].buffer;
	} else if (plan->ahead) {
		plan->buffer = prepack_value_buffer(lower, id);
	} else {
		plan->buffer = output_buffer(lower, id);
		if (plan->buffer == BUFFER_NONE)
			plan->buffer =
				lower_buffer(lower, (Buffer){.kind = BUFFER_TEMP,
							     .name = lower_name(lower, id),
							     .span = node->span,
							     .site = node->site,
							     .dtype = node->dtype,
							     .elements = node_elements(lower, id)});
	}
}

bool lower_has_kernel(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->needed && !plan->fused && !plan->ahead &&
	       !is_caller_data(lower_node(lower, id)) && !is_alias(lower, id);
}

/* ---- the kernels ---- */

/* Is all of a routine's own tensor set, or cleared by an assignment, before anything reads it? Then
 * it need not be cleared where it begins. */
static bool is_set_first(const Lower *lower, NodeId own)
{
	for (uint32_t k = needed_from(lower, own + 1); k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		const Node *node = lower_node(lower, id);
		bool reads = false;
		for (uint32_t i = 0; i < node->nargs; i++)
			reads |= node->args[i] == own;
		if (reads)
			return false;
		if (node->target != own)
			continue;
		const Proj *proj = lower_proj(lower, id);
		bool whole = node->acc == OP_NONE && (!proj || proj->surjective) &&
			     size_same(node_elements(lower, id), node_elements(lower, own));
		return whole || node->clear;
	}
	return false;
}

void lower_emit_node(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (!lower_has_kernel(lower, id))
		return;
	if (node->kind != NODE_ZEROS)
		kernel_emit(lower, id);
	else if (!is_set_first(lower, id))
		kernel_emit_fill(lower, lower->plan[id].buffer, scalar_of(node->dtype, 0),
				 node->span);
	halo_emit_frame(lower, id);
}

/* The node's kernel, or that of the band that it begins; the last node that is done then. */
static NodeId emit_band(Lower *lower, NodeId id)
{
	Band band;
	if (lower_has_kernel(lower, id) && band_find(lower, id, &band) && band_emit(lower, &band)) {
		for (uint32_t i = 0; i < band.nroots; i++)
			if (band.roots[i].kept || i + 1 == band.nroots)
				halo_emit_frame(lower, band.roots[i].root);
		produce_drop(lower);
		return band.roots[band.nroots - 1].root;
	}
	size_t nmade = lower->program->made->entries.n, nkernels = lower->kernels.n;
	lower_emit_node(lower, id);
	lower->plan[id].own = lower->kernels.n == nkernels + 1;
	if (lower->program->made->entries.n > nmade)
		band_describe_off(lower, id);
	produce_drop(lower);
	return id;
}

static void emit_all(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		if (gathers(lower, id))
			kernel_emit_check(lower, id);
		if (lower->plan[id].early)
			lower_emit_node(lower, id);
	}
	NodeId done = 0; /* those before it are */
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		if (id >= done && !lower->plan[id].early)
			done = emit_band(lower, id) + 1;
	}
	const ProgramRoutine *routine = &lower->program->routines.at[lower->routine_id];
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		NodeId id = lower->routine->outputs[i];
		if (lower->plan[id].buffer != routine->outputs[i].buffer)
			kernel_emit_copy(lower, id, routine->outputs[i].buffer,
					 lower_unique(lower, routine->outputs[i].name));
	}
}

/* ---- the routine's row ---- */

static TensorArg *make_args(Lower *lower, const NodeId *nodes, const Sym *names, uint32_t n,
			    BufferKind kind)
{
	TensorArg *args = ARENA_ARRAY(lower->arena, TensorArg, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const Node *node = lower_node(lower, nodes[i]);
		args[i].name = names ? names[i] : node->name;
		args[i].type = lower_type(lower, nodes[i]);
		args[i].buffer =
			lower_buffer(lower, (Buffer){.kind = kind,
						     .name = args[i].name,
						     .dtype = node->dtype,
						     .arg = i,
						     .elements = node_elements(lower, nodes[i])});
	}
	return args;
}

static void open_routine(Lower *lower, uint32_t id)
{
	const Routine *from = lower->routine;
	ProgramRoutine routine = {
		.name = from->name, .span = from->span, .nscalars = from->nscalars};
	routine.scalars = ARENA_ARRAY(lower->arena, ScalarParam, from->nscalars + 1);
	for (uint32_t i = 0; i < from->nscalars; i++)
		routine.scalars[i] = (ScalarParam){from->scalars[i].name, from->scalars[i].dtype};
	routine.ninputs = from->ninputs;
	routine.noutputs = from->noutputs;
	routine.inputs = make_args(lower, from->inputs, NULL, from->ninputs, BUFFER_INPUT);
	routine.outputs =
		make_args(lower, from->outputs, from->output_names, from->noutputs, BUFFER_OUTPUT);
	lower->program->routines.at[id] = routine;
}

static void list_kernels(Lower *lower, ProgramRoutine *routine)
{
	routine->nkernels = (uint32_t)lower->kernels.n;
	routine->kernels = ARENA_ARRAY(lower->arena, KernelId, routine->nkernels + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		routine->kernels[i] = lower->kernels.at[i];
}

void lower_routine(Lower *lower, uint32_t id)
{
	lower->routine = &lower->graph->routines.at[id];
	lower->routine_id = id;
	memset(&lower->kernels, 0, sizeof lower->kernels);
	memset(&lower->produced, 0, sizeof lower->produced);
	memset(&lower->passed, 0, sizeof lower->passed);
	fuse_plan(lower);
	mark_early(lower);
	if (!check_early(lower))
		return;
	open_routine(lower, id);
	for (uint32_t k = 0; k < lower->nneeded; k++)
		if (!lower->plan[lower->needed[k]].fused)
			bind_buffer(lower, lower->needed[k]);
	halo_plan(lower);
	prepack_emit_values(lower);
	emit_all(lower);
	fuse_describe(lower);
	list_kernels(lower, &lower->program->routines.at[id]);
}

/* Kernels in the order of the parameters, each for itself: none reads what another stores. */
void lower_init(Lower *lower)
{
	const Routine *from = &lower->graph->init;
	ProgramRoutine *init = &lower->program->init;
	lower->routine = from;
	lower->routine_id = (uint32_t)lower->program->routines.n + 1;
	memset(&lower->kernels, 0, sizeof lower->kernels);
	init->name = from->name;
	init->workspace = size_const(lower->sizes, 0);
	initial_emit(lower);
	list_kernels(lower, init);
	if (!init->nkernels)
		return;
	init->nscalars = from->nscalars;
	init->scalars = ARENA_NEW(lower->arena, ScalarParam);
	*init->scalars = (ScalarParam){from->scalars->name, from->scalars->dtype};
}

void lower_pack(Lower *lower)
{
	Program *program = lower->program;
	ProgramRoutine *pack = &program->pack;
	prepack_drop_unread(lower);
	pack->name = sym_cstr(lower->program->symbols, "pack");
	pack->nkernels = (uint32_t)lower->packs.n;
	pack->kernels = ARENA_ARRAY(lower->arena, KernelId, pack->nkernels + 1);
	pack->workspace = size_const(lower->sizes, 0);
	for (uint32_t i = 0; i < pack->nkernels; i++) {
		const Kernel *kernel = &lower->packs.at[i];
		if (!schedule_entry(program->made, kernel->name))
			PUSH(lower->arena, program->made->entries,
			     ((ScheduleEntry){.name = kernel->name, .span = kernel->span}));
		pack->kernels[i] = (KernelId)program->kernels.n;
		PUSH(lower->arena, program->kernels, *kernel);
	}
}
