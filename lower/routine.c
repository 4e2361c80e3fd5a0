/* One routine: which buffers its nodes live in, and its kernels in order.
 *
 * Nothing that the caller can see is written before every gathered index is checked: what indices
 * are computed from comes first (into temporaries), each check right behind its indices, then
 * everything else in the order of the graph, then copies of results that have another home.
 */
#include <string.h>

#include "base/diag.h"
#include "lower/kernel.h"
#include "lower/node_plan.h"
#include "lower/routine_plan.h"
#include "lower/row_block.h"

/* ---- buffers ---- */

/* What a reshape that is a result has its elements from, through others, if it can be computed in
 * the place of that result; NODE_NONE otherwise. */
static NodeId made_for(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	NodeId from = id;
	const Proj *proj = lower_proj(lower, id);
	if (!plan->output || plan->pre_check || plan->mutated ||
	    tables_output(&lower->tables, id) == BUFFER_NONE)
		return NODE_NONE;
	/* falls: nodes before this one */
	while (proj && proj->linear && lower_node(lower, from)->target == NODE_NONE) {
		from = lower_node(lower, from)->args[0];
		const NodePlan *at = &lower->plan[from];
		proj = lower_proj(lower, from);
		if (!at->needed || at->fused || at->mutated || at->output || at->hoisted ||
		    at->pre_check || lower_node(lower, from)->dtype != lower_node(lower, id)->dtype)
			return NODE_NONE;
	}
	return from != id && proj && lower_node(lower, from)->target == NODE_NONE ? from
										  : NODE_NONE;
}

/* Results that are reshapes take no copy: what they are made of is computed in their place. */
static void find_homes(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k], from = made_for(lower, id);
		if (from == NODE_NONE)
			continue;
		lower->plan[from].home = id;
		lower->plan[from].output = true;
	}
}

/* An assignment has the place of its target, a reshape that of its operand; what is a result is
 * computed where the caller wants it, if nothing stands against that. */
static void bind_buffer(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	if (node->kind == NODE_INPUT) {
		plan->buffer = tables_input(&lower->tables, id);
	} else if (node->kind == NODE_PARAM) {
		plan->buffer = tables_param(&lower->tables, id);
	} else if (node->kind == NODE_CONST) {
		plan->buffer = tables_const(&lower->tables, id);
	} else if (node->target != NODE_NONE) {
		plan->buffer = lower->plan[node->target].buffer;
	} else if (lower_is_alias(lower, id)) {
		plan->buffer = lower->plan[node->args[0]].buffer;
	} else if (plan->hoisted) {
		plan->buffer = prepack_value_buffer(lower, id);
	} else {
		plan->buffer = lower_output_buffer(lower, plan->home ? plan->home : id);
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

/* ---- the kernels ---- */

static void emit_row_block(Lower *lower, RowBlock *row_block)
{
	row_block_emit(lower, row_block);
	for (uint32_t i = 0; i < row_block->nroots; i++)
		if (row_block_stores(row_block, i))
			kernel_emit_frame(lower, row_block->roots[i].root);
}

/* The node's kernel, or that of the row block that it begins; the last node that is done then. */
static NodeId emit_next(Lower *lower, NodeId id)
{
	RowBlock *row_block = lower->plan[id].row_block;
	if (row_block) {
		emit_row_block(lower, row_block);
		return row_block->roots[row_block->nroots - 1].root;
	}
	size_t nmade = lower->program->made->entries.n, nkernels = lower->kernels.n;
	lower_emit_node(lower, id);
	REQUIRE(!lower->plan[id].own || lower->kernels.n == nkernels + 1);
	if (lower->program->made->entries.n > nmade)
		row_block_describe_off(lower, id);
	return id;
}

static void emit_all(Lower *lower)
{
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		lower->loop = tables_loop(&lower->tables, id);
		lower->tables.own_check[id] = lower->plan[id].own_check;
		for (uint32_t arg = 1; arg < lower_node(lower, id)->nargs; arg++)
			if (node_checks(&lower->tables, id, arg))
				kernel_emit_check(lower, id, arg);
		if (lower->plan[id].pre_check)
			lower_emit_node(lower, id);
	}
	NodeId done = 0; /* those before it are */
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		lower->loop = tables_loop(&lower->tables, id);
		if (id >= done && !lower->plan[id].pre_check)
			done = emit_next(lower, id) + 1;
	}
	lower->loop = 0;
	const ProgramRoutine *routine = program_routine(lower->program, lower->tables.routine_id);
	for (uint32_t i = 0; i < routine->noutputs; i++) {
		NodeId id = lower->tables.routine->outputs[i];
		if (lower->plan[id].buffer != routine->outputs[i].buffer)
			kernel_emit_copy(lower, id, routine->outputs[i].buffer,
					 lower_unique(lower, routine->outputs[i].name));
	}
}

static BufferId number_of(const Lower *lower, NodeId id)
{
	return id != NODE_NONE && lower->plan[id].needed ? lower->plan[id].buffer : BUFFER_NONE;
}

/* Those of the routine at hand: what a parameter starts with needs none. */
static void end_loops(Lower *lower)
{
	for (uint32_t i = 1; i < lower->graph->loops.n; i++)
		tables_end_loop(&lower->tables, i,
				number_of(lower, lower->graph->loops.at[i].until),
				number_of(lower, lower->graph->loops.at[i].made));
}

static void begin_kernels(Lower *lower) { memset(&lower->kernels, 0, sizeof lower->kernels); }

/* Buffers of the routine at hand, which is planned and has those of arguments, and how its kernels are
 * computed. */
static void plan_kernels(Lower *lower)
{
	memset(&lower->passed, 0, sizeof lower->passed);
	find_homes(lower);
	for (uint32_t k = 0; k < lower->nneeded; k++)
		if (!lower->plan[lower->needed[k]].fused)
			bind_buffer(lower, lower->needed[k]);
	halo_plan(lower);
	routine_plan_kernels(lower);
}

/* The kernels, as they are planned. */
static void emit_kernels(Lower *lower)
{
	prepack_emit_values(lower);
	emit_all(lower);
	end_loops(lower);
	fuse_describe(lower);
}

/* ---- routines of the graph ---- */

/* The plan of what was decided, behind those that are there. */
static void add_plan(Lower *lower, RoutinePlan plan)
{
	lower->routines[lower->nroutines++] = plan;
	arena_reset(lower->scratch);
}

void lower_decide_routine(Lower *lower, uint32_t id)
{
	plans_clear(lower);
	tables_begin(&lower->tables, id);
	add_plan(lower, routine_plan(lower));
}

void lower_plan_routine(Lower *lower, uint32_t id)
{
	tables_begin(&lower->tables, id);
	routine_plan_begin(lower, &lower->routines[id]);
	tables_open(&lower->tables);
	plan_kernels(lower);
	routine_plan_end(lower, &lower->routines[id]);
}

void lower_routine(Lower *lower, uint32_t id)
{
	begin_kernels(lower);
	tables_begin(&lower->tables, id);
	routine_plan_begin(lower, &lower->routines[id]);
	emit_kernels(lower);
	tables_close(&lower->tables, lower->kernels.at, (uint32_t)lower->kernels.n);
}

/* ---- what parameters start with ---- */

/* Of the n-th assignment of `init`. */
typedef void EachInitial(Lower *lower, NodeId assignment, uint32_t n);

/* Parameters in their order, each for itself; what is copied out of the state is not there yet. */
static void each_initial(Lower *lower, EachInitial *each)
{
	const Routine *init = &lower->graph->init;
	const LowerOptions *options = lower->options;
	LowerOptions own = *options;
	NodeId read_only = lower->read_only;
	uint32_t n = 0;
	own.prepack = lower->program->options.prepack = false;
	lower->options = &own;
	lower->read_only = NODE_NONE;
	tables_begin_init(&lower->tables);
	for (uint32_t i = 0; i < init->norder; i++) {
		if (!tables_is_initial(&lower->tables, init->order[i]))
			continue;
		Routine one = tables_initial(&lower->tables, init->order[i]);
		lower->tables.routine = &one;
		plans_clear(lower);
		each(lower, init->order[i], n++);
	}
	lower->tables.routine = init;
	lower->options = options;
	lower->read_only = read_only;
	lower->program->options.prepack = options->prepack;
}

static RoutinePlan *plan_of_initial(const Lower *lower, uint32_t n)
{
	return &lower->routines[lower->graph->routines.n + n];
}

static void decide_initial(Lower *lower, NodeId id, uint32_t n)
{
	(void)n; /* plans are added in this order */
	RoutinePlan plan = {0};
	if (!lower_node(lower, id)->elementwise)
		plan = routine_plan(lower);
	plan.initial = id;
	add_plan(lower, plan);
}

static void plan_initial(Lower *lower, NodeId id, uint32_t n)
{
	if (lower_node(lower, id)->elementwise)
		return;
	routine_plan_begin(lower, plan_of_initial(lower, n));
	plan_kernels(lower);
	routine_plan_end(lower, plan_of_initial(lower, n));
}

static void emit_initial(Lower *lower, NodeId id, uint32_t n)
{
	if (lower_node(lower, id)->elementwise) {
		initial_emit(lower, id);
		return;
	}
	routine_plan_begin(lower, plan_of_initial(lower, n));
	emit_kernels(lower);
}

void lower_decide_init(Lower *lower) { each_initial(lower, decide_initial); }

void lower_plan_init(Lower *lower) { each_initial(lower, plan_initial); }

void lower_init(Lower *lower)
{
	begin_kernels(lower);
	each_initial(lower, emit_initial);
	tables_close_init(&lower->tables, lower->kernels.at, (uint32_t)lower->kernels.n);
}

void lower_pack(Lower *lower)
{
	Program *program = lower->program;
	ProgramRoutine *pack = &program->pack;
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
