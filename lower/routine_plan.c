/* The plan of each routine, made before any kernel: what is decided about its nodes, kept until the
 * routine is lowered; its dump, and its verifier, which reads the graph alone.
 *
 * Planning writes nothing but the plan: no name, buffer or kernel comes of it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "lower/node_plan.h"
#include "lower/routine_plan.h"

/* ---- a routine's own tensors ---- */

/* Does the assignment set all elements of its target, or clear them first? */
static bool sets_whole(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	return node->clear ||
	       (node->acc == OP_NONE && (!proj || proj->surjective) &&
		size_same(node_elements(lower, id), node_elements(lower, node->target)));
}

/* Are there elements of a routine's own tensor that something reads, or adds to, before an assignment sets
 * them? These begin with 0. */
static bool is_cleared(const Lower *lower, NodeId own)
{
	if (lower_node(lower, own)->kind != NODE_ZEROS || graph_sets_whole(lower->graph, own))
		return false;
	for (uint32_t k = needed_from(lower, own + 1); k < lower->nneeded; k++) {
		const Node *node = lower_node(lower, lower->needed[k]);
		if (node_reads(node, own))
			return true;
		if (node->target == own) /* of a loop there may be no step */
			return node->loop != lower_node(lower, own)->loop ||
			       !sets_whole(lower, lower->needed[k]);
	}
	return true;
}

/* ---- made, and taken up again ---- */

/* False after an error (in diags). */
static bool decide(Lower *lower)
{
	fuse_plan(lower);
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		lower->plan[id].own_check = lower->tables.own_check[id] = scatter_checks(lower, id);
		lower->plan[id].cleared = is_cleared(lower, id);
	}
	if (!tables_find_pre_checks(&lower->tables, lower->needed, lower->nneeded))
		return false;
	for (uint32_t k = 0; k < lower->nneeded; k++)
		lower->plan[lower->needed[k]].pre_check = lower->tables.pre_check[lower->needed[k]];
	return true;
}

RoutinePlan routine_plan(Lower *lower)
{
	RoutinePlan plan = {.initial = NODE_NONE};
	if (!decide(lower))
		return plan;
	uint32_t nuses = 0;
	plan.n = lower->nneeded;
	plan.ids = ARENA_ARRAY(lower->arena, NodeId, plan.n + 1);
	plan.nodes = ARENA_ARRAY(lower->arena, NodePlan, plan.n + 1);
	plan.names = ARENA_ARRAY(lower->arena, Sym, plan.n + 1);
	plan.first_use = ARENA_ARRAY(lower->arena, uint32_t, plan.n + 1);
	for (uint32_t k = 0; k < plan.n; k++) {
		plan.ids[k] = lower->needed[k];
		plan.first_use[k] = lower->first_use[plan.ids[k]];
		nuses += lower->plan[plan.ids[k]].nuses;
	}
	plan.uses = ARENA_ARRAY(lower->arena, Use, nuses + 1);
	memcpy(plan.uses, lower->uses, nuses * sizeof *plan.uses);
	routine_plan_end(lower, &plan);
	return plan;
}

void routine_plan_end(const Lower *lower, RoutinePlan *plan)
{
	for (uint32_t k = 0; k < plan->n; k++) {
		plan->nodes[k] = lower->plan[plan->ids[k]];
		plan->names[k] = lower->tables.names[plan->ids[k]];
	}
}

void routine_plan_begin(Lower *lower, const RoutinePlan *plan)
{
	plans_clear(lower);
	for (uint32_t k = 0; k < plan->n; k++) {
		NodeId id = lower->needed[k] = plan->ids[k];
		lower->plan[id] = plan->nodes[k];
		lower->first_use[id] = plan->first_use[k];
		lower->tables.names[id] = plan->names[k];
	}
	lower->nneeded = plan->n;
	lower->uses = plan->uses;
}

/* ---- verified ---- */

const NodePlan *routine_plan_node(const RoutinePlan *plan, NodeId id)
{
	uint32_t at = ids_from(plan->ids, plan->n, id);
	return at < plan->n && plan->ids[at] == id ? &plan->nodes[at] : NULL;
}

/* A node that is computed inside another kernel: that one has the root's name, comes later and is
 * inside no other. */
static void verify_fused(const RoutinePlan *plan, NodeId id, const NodePlan *node)
{
	if (!node->fused || node->root == NODE_NONE)
		return;
	const NodePlan *root = routine_plan_node(plan, node->root);
	if (!root || root->fused || root->root != node->root || node->root <= id)
		BUG("node %" PRIu32 " is computed inside %" PRIu32 ", which has no kernel", id,
		    node->root);
	if (node->mutated || node->output)
		BUG("node %" PRIu32 " has no kernel, and is a result or assigned to", id);
}

static void verify_operands(const Lower *lower, const RoutinePlan *plan, uint32_t k)
{
	const Node *node = lower_node(lower, plan->ids[k]);
	for (uint32_t i = 0; i < node->nargs; i++) {
		const NodePlan *arg = routine_plan_node(plan, node->args[i]);
		if (!arg)
			BUG("node %" PRIu32 " reads %" PRIu32 ", which is not planned",
			    plan->ids[k], node->args[i]);
		if (plan->nodes[k].pre_check && !arg->pre_check)
			BUG("node %" PRIu32 " comes before all checks, its operand does not",
			    plan->ids[k]);
	}
}

static void verify_uses(const Lower *lower, const RoutinePlan *plan, uint32_t k)
{
	for (uint32_t i = 0; i < plan->nodes[k].nuses; i++) {
		const Use *use = &plan->uses[plan->first_use[k] + i];
		if (!routine_plan_node(plan, use->user) ||
		    lower_node(lower, use->user)->args[use->arg] != plan->ids[k])
			BUG("node %" PRIu32 " has a use that does not read it", plan->ids[k]);
	}
}

/* What begins with no zeros is not read and not added to before an assignment that sets it. */
static void verify_cleared(const Lower *lower, const RoutinePlan *plan, uint32_t k)
{
	NodeId own = plan->ids[k];
	bool set = plan->nodes[k].cleared || graph_sets_whole(lower->graph, own);
	if (lower_node(lower, own)->kind != NODE_ZEROS) {
		if (plan->nodes[k].cleared)
			BUG("node %" PRIu32 " is cleared, and no tensor of the routine's own", own);
		return;
	}
	for (uint32_t i = k + 1; i < plan->n && !set; i++) {
		const Node *node = lower_node(lower, plan->ids[i]);
		if (node_reads(node, own))
			BUG("node %" PRIu32 " reads %" PRIu32 ", which nothing has set",
			    plan->ids[i], own);
		set = node->target == own && node->loop == lower_node(lower, own)->loop;
		if (node->target == own && (!set || !sets_whole(lower, plan->ids[i])))
			BUG("node %" PRIu32 " goes on with %" PRIu32 ", which nothing has set",
			    plan->ids[i], own);
	}
}

static void verify_routine(const Lower *lower, const RoutinePlan *plan)
{
	for (uint32_t k = 0; k < plan->n; k++) {
		const NodePlan *node = &plan->nodes[k];
		verify_fused(plan, plan->ids[k], node);
		verify_operands(lower, plan, k);
		verify_uses(lower, plan, k);
		verify_cleared(lower, plan, k);
		const NodePlan *sum = node->reduction == NODE_NONE
					      ? NULL
					      : routine_plan_node(plan, node->reduction);
		if (node->reduction != NODE_NONE && (!sum || sum->root != plan->ids[k]))
			BUG("node %" PRIu32 " finishes a sum that is elsewhere", plan->ids[k]);
		if (node->hoisted && !node->constant)
			BUG("node %" PRIu32 " is in the state, and depends on a call",
			    plan->ids[k]);
	}
}

void lower_plan_verify(const LowerPlan *lower)
{
	for (uint32_t i = 0; i < lower->nroutines; i++)
		verify_routine(lower, &lower->routines[i]);
}

/* ---- printed ---- */

static void dump_place(FILE *out, const Node *of, const NodePlan *node)
{
	if (node->hoisted)
		fputs("when the state is packed", out);
	else if (node->fused && node->root == NODE_NONE)
		fputs("inside all that read it", out);
	else if (node->fused)
		fprintf(out, "inside %%%" PRIu32, node->root);
	else if (of->kind == NODE_ZEROS)
		fputs(node->cleared ? "kernel of zeros" : "set before it is read", out);
	else
		fputs("kernel", out);
}

static void dump_node(FILE *out, const Lower *lower, NodeId id, const NodePlan *plan)
{
	const Node *node = lower_node(lower, id);
	fprintf(out, "  %%%" PRIu32 " %s: ", id, lower_text(lower, id));
	dump_place(out, node, plan);
	if (plan->reduction != NODE_NONE)
		fprintf(out, ", finishes %%%" PRIu32, plan->reduction);
	if (node->target != NODE_NONE)
		fprintf(out, ", assigned to %%%" PRIu32, node->target);
	if (plan->pre_check)
		fputs(", before all that is stored", out);
	if (plan->sinkable)
		fputs(", or inside copies of it", out);
	fputc('\n', out);
}

void routine_plan_dump_name(FILE *out, const Lower *lower, const char *stage, uint32_t i)
{
	NodeId initial = lower->routines[i].initial;
	if (initial == NODE_NONE)
		fprintf(out, "%s %s\n", stage, lower->graph->routines.at[i].name);
	else
		fprintf(out, "%s init %s\n", stage,
			lower_text(lower, lower_node(lower, initial)->target));
	if (initial != NODE_NONE && lower_node(lower, initial)->elementwise)
		fputs("  each element where it is set\n", out);
}

/* Operations, and what steps of the routine assign to. */
static bool is_listed(const Lower *lower, NodeId id, const NodePlan *plan)
{
	return lower_proj(lower, id) || (lower_node(lower, id)->kind == NODE_ZEROS && !plan->fused);
}

void lower_plan_dump(FILE *out, const LowerPlan *lower)
{
	for (uint32_t i = 0; i < lower->nroutines; i++) {
		const RoutinePlan *plan = &lower->routines[i];
		routine_plan_dump_name(out, lower, "plan", i);
		for (uint32_t k = 0; k < plan->n; k++)
			if (is_listed(lower, plan->ids[k], &plan->nodes[k]))
				dump_node(out, lower, plan->ids[k], &plan->nodes[k]);
	}
}
