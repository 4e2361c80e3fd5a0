/* One routine: which buffers its nodes live in, and its kernels in order.
 *
 * Nothing that the caller can see is written before every gathered index is checked: what indices
 * are computed from comes first (into temporaries), each check right behind its indices, then
 * everything else in the order of the graph, then copies of results that have another home.
 */
#include <string.h>

#include "lower/band.h"
#include "lower/region.h"
#include "lower/rows.h"

enum { ROUTINE_ARGS = 1000 };

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

static void note_dims(const Lower *lower, Size size, bool *dims)
{
	size_note_dims(lower->sizes, size, dims);
}

static void note_type_dims(const Lower *lower, const TensorArg *args, uint32_t n, bool *dims)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t axis = 0;
		     axis < args[i].type.nbatch + args[i].type.noutput + args[i].type.ninput;
		     axis++)
			note_dims(lower, args[i].type.sizes[axis], dims);
}

static void note_kernel_dims(const Lower *lower, const Kernel *kernel, bool *dims)
{
	const Program *program = lower->program;
	SizeList sizes = kernel_sizes(lower->scratch, kernel);
	for (size_t i = 0; i < sizes.n; i++)
		note_dims(lower, sizes.at[i], dims);
	BufferUses uses = kernel_buffers(lower->scratch, kernel);
	for (size_t i = 0; i < uses.n; i++) {
		const Buffer *buffer = &program->buffers.at[uses.at[i].buffer];
		note_dims(lower, buffer->elements, dims);
		if (buffer->kind == BUFFER_PARAM)
			note_dims(lower, program->params.at[buffer->arg].offset, dims);
		if (buffer->kind == BUFFER_PACKED)
			note_dims(lower, buffer->offset, dims);
	}
}

/* Sizes that lowering made and that passed a bound on the way: none of them reaches a back end. */
static bool kernel_sizes_fit(Lower *lower, const Kernel *kernel)
{
	SizeList sizes = kernel_sizes(lower->scratch, kernel);
	bool fit = true;
	for (size_t i = 0; i < sizes.n && fit; i++)
		fit = lower_size_fits(lower, sizes.at[i], kernel->span,
				      arena_printf(lower->arena, "an index of the kernel %s",
						   kernel->name));
	return fit;
}

static void check_sizes(Lower *lower, const ProgramRoutine *routine)
{
	bool fit = lower_size_fits(
		lower, routine->workspace, routine->span,
		arena_printf(lower->arena,
			     "the number of bytes of the workspace of %s, all its temporaries,",
			     routine->name));
	for (uint32_t i = 0; i < routine->nkernels && fit; i++)
		fit = kernel_sizes_fit(lower, &lower->program->kernels.at[routine->kernels[i]]);
}

static void list_dims(Lower *lower, ProgramRoutine *routine)
{
	bool *dims = ARENA_ARRAY(lower->scratch, bool, sizes_ndims(lower->sizes) + 1);
	note_type_dims(lower, routine->inputs, routine->ninputs, dims);
	note_type_dims(lower, routine->outputs, routine->noutputs, dims);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		note_kernel_dims(lower, &lower->program->kernels.at[routine->kernels[i]], dims);
	note_dims(lower, routine->workspace, dims);
	routine->dims = ARENA_ARRAY(lower->arena, DimId, sizes_ndims(lower->sizes) + 1);
	for (DimId d = 0; d < sizes_ndims(lower->sizes); d++)
		if (dims[d])
			routine->dims[routine->ndims++] = d;
}

/* The guards of sizes whose dims the routine has. They are the program's first checks. */
static void list_guards(Lower *lower, ProgramRoutine *routine)
{
	uint32_t nguards = (uint32_t)lower->inference->guards.n, ndims = sizes_ndims(lower->sizes);
	bool *has = ARENA_ARRAY(lower->scratch, bool, ndims + 1);
	bool *uses = ARENA_ARRAY(lower->scratch, bool, ndims + 1);
	for (uint32_t i = 0; i < routine->ndims; i++)
		has[routine->dims[i]] = true;
	routine->guards = ARENA_ARRAY(lower->arena, CheckId, nguards + 2);
	for (CheckId i = 0; i < nguards; i++) {
		const Check *check = &lower->program->checks.at[i];
		bool knows = true;
		memset(uses, 0, ndims);
		note_dims(lower, check->a, uses);
		note_dims(lower, check->b, uses);
		for (DimId d = 0; d < ndims; d++)
			knows = knows && (has[d] || !uses[d]);
		if (knows)
			routine->guards[routine->nguards++] = i;
	}
	if (lower->workspace_check != CHECK_NONE)
		routine->guards[routine->nguards++] = lower->workspace_check;
}

/* Compilers of C, GCC behind us among them, take long over many. */
static void limit_arguments(Lower *lower, const ProgramRoutine *routine)
{
	uint32_t n = routine->ndims + routine->nscalars + routine->ninputs + routine->noutputs;
	if (n > ROUTINE_ARGS)
		diag(lower->diags, E0236, routine->span,
		     "a routine has at most %d arguments, and %s has %u: %u dims, %u scalars, %u inputs and %u results",
		     ROUTINE_ARGS, routine->name, n, routine->ndims, routine->nscalars,
		     routine->ninputs, routine->noutputs);
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

void lower_routine(Lower *lower, uint32_t id)
{
	lower->routine = &lower->graph->routines.at[id];
	lower->routine_id = id;
	memset(&lower->kernels, 0, sizeof lower->kernels);
	memset(&lower->produced, 0, sizeof lower->produced);
	memset(&lower->passed, 0, sizeof lower->passed);
	lower->workspace_check = CHECK_NONE;
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
	rows_fuse(lower, 0, 0);
	for (size_t i = 0; i < lower->kernels.n; i++)
		kernel_turn(lower->program, &lower->program->kernels.at[lower->kernels.at[i]],
			    lower->asked, lower->machine);
	regions_join(lower);
	ProgramRoutine *routine = &lower->program->routines.at[id];
	routine->nkernels = (uint32_t)lower->kernels.n;
	routine->kernels = ARENA_ARRAY(lower->arena, KernelId, routine->nkernels + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		routine->kernels[i] = lower->kernels.at[i];
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		Kernel *kernel = &lower->program->kernels.at[routine->kernels[i]];
		kernel_parallel(lower->program, kernel, lower->asked, lower->machine->grain);
	}
	routine->workspace = plan_workspace(lower, routine->kernels, routine->nkernels);
	check_sizes(lower, routine);
	list_dims(lower, routine);
	limit_arguments(lower, routine);
	list_guards(lower, routine);
}

/* Kernels in the order of the parameters, each for itself: none reads what another stores. */
void lower_init(Lower *lower)
{
	const Routine *from = &lower->graph->init;
	ProgramRoutine *init = &lower->program->init;
	lower->routine = from;
	lower->routine_id = (uint32_t)lower->program->routines.n + 1;
	memset(&lower->kernels, 0, sizeof lower->kernels);
	lower->workspace_check = CHECK_NONE;
	init->name = from->name;
	init->workspace = size_const(lower->sizes, 0);
	initial_emit(lower);
	init->nkernels = (uint32_t)lower->kernels.n;
	if (!init->nkernels)
		return;
	init->nscalars = from->nscalars;
	init->scalars = ARENA_NEW(lower->arena, ScalarParam);
	*init->scalars = (ScalarParam){from->scalars->name, from->scalars->dtype};
	init->kernels = ARENA_ARRAY(lower->arena, KernelId, init->nkernels);
	memcpy(init->kernels, lower->kernels.at, init->nkernels * sizeof *init->kernels);
	list_dims(lower, init);
	list_guards(lower, init);
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
		Kernel *kernel = &lower->packs.at[i];
		if (!schedule_entry(program->made, kernel->name))
			PUSH(lower->arena, program->made->entries,
			     ((ScheduleEntry){.name = kernel->name, .span = kernel->span}));
		kernel_parallel(program, kernel, lower->asked, lower->machine->grain);
		pack->kernels[i] = (KernelId)program->kernels.n;
		PUSH(lower->arena, program->kernels, *kernel);
	}
	prepack_place(lower);
	list_dims(lower, pack);
}
