/* Which nodes get a kernel of their own (roots), and which are computed inside another's.
 *
 * Nodes are visited from users to operands. A node is fused into the one root that reads it when
 *   - it is plain: elementwise, a cast, a transposition, a slice, a permutation, a gather;
 *   - it is not evaluated more often than it has elements, or is nearly free (fuse_worth.c);
 *   - uses agree on the index, or it is free: a shared value is computed once (value.c);
 *   - the root's kernel stays small (FUSED_LIMIT), so that a long chain becomes many kernels, and so does what it computes
 *     for an element (WINDOW_FEW): tables that are read at what they hold themselves (t[t[i]]) double it each time;
 *   - nothing assigns to what it reads before the root runs.
 * A free node (only indices change) may be fused into many roots, and so may one cheap operation on
 * one buffer of its size (x - mean), or on smaller ones alone (x_i - x_j): computed again wherever it is
 * read, it needs no buffer. So does a mask that is told by indices (key <= row), also where heads repeat it behind
 * their sums. A reduction is fused into an elementwise root that reads each of its elements once, at the same index:
 * the root is its epilogue, but for sums of rows that an assignment adds to its target; so is a function that would
 * else be fused into a small window. What a sum of few terms reads beyond an axis is computed there. A cast that widens
 * an operand of a product is free, and yet stands alone where
 * conversions.c says so; so does what tensor/materialize.c writes out.
 */
#include "lower/fuse_worth.h"
#include "lower/kernel.h"
#include "lower/node_plan.h"

enum { FUSED_LIMIT = 64 };

/* Before which assignment a root has to run that computes the node. In a loop nor may any to what its operands are made of
 * come before: sums that a step carries have buffers of their own, which change places instead of being copied
 * (transform/exchange.c), and end blocks of rows. */
static NodeId last_of(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return lower_node(lower, id)->loop ? plan->last_of_all : plan->last;
}

/* Runs every root that reads the node before anything assigns to what it reads? The assignment
 * itself may: it takes care of reading its own target (kernel.c), unless it is cleared first. */
static bool is_in_time(const Lower *lower, NodeId id, NodeId last)
{
	if (last == NODE_NONE)
		return true;
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodeId root = lower->plan[lower->uses[i].user].root;
		bool at_once = root == last && !lower_node(lower, root)->clear;
		if (root == NODE_NONE || (root >= last && !at_once))
			return false;
	}
	return true;
}

/* Does every reader run as often: is it in the same loop, or may what is free be computed in it? */
static bool is_as_often(const Lower *lower, NodeId id)
{
	bool free = lower->plan[id].cost == COST_FREE || lower->plan[id].index_only;
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id) && !free; i++)
		if (lower_node(lower, lower->uses[i].user)->loop != lower_node(lower, id)->loop)
			return false;
	return true;
}

static bool has_room(const Lower *lower, NodeId id)
{
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodeId root = lower->plan[lower->uses[i].user].root;
		if (root != NODE_NONE && lower->plan[root].nfused >= FUSED_LIMIT)
			return false;
		if (root == NODE_NONE && lower->plan[lower->uses[i].user].nfused >= FUSED_LIMIT / 4)
			return false;
	}
	return true;
}

/* Does the root, which reduces nothing itself, read every element once, at its own index? */
static bool reads_each_element(const Lower *lower, NodeId id, const Reader *reader)
{
	NodeId root = reader->root;
	if (root == NODE_NONE || reader->only_free || reader->frame.owner != root)
		return false;
	const Proj *to = lower_proj(lower, root);
	return proj_is_plain(to) && !proj_reduces(to) && !proj_is_guarded(to) &&
	       lower_node(lower, root)->kind != NODE_ARGMAX &&
	       !lower_node(lower, root)->along.letter &&
	       lower_node(lower, root)->kind != NODE_RANDOM &&
	       proj_is_identity(&to->pieces[0], reader->frame.arg) &&
	       size_same(node_elements(lower, id), node_elements(lower, root));
}

/* Does it add up whole rows, which grow where the result is: of one operand, whose last axis stays? */
static bool adds_rows(const Lower *lower, NodeId id)
{
	const Proj *proj = lower_proj(lower, id);
	const Access *from = &proj->pieces[0].args[0];
	const Index *last = from->naxes ? &from->axes[from->naxes - 1] : NULL;
	if (lower_node(lower, id)->nargs != 1 || !last || last->nterms != 1)
		return false;
	return !proj->iters[last->terms[0].iter].reduced;
}

/* A reduction that the root finishes. */
static bool is_epilogue(const Lower *lower, NodeId id, const Reader *reader)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj || proj->linear || node->target != NODE_NONE || node->kind == NODE_ARGMAX ||
	    node->along.letter)
		return false;
	return proj_computes_elements(proj) && proj_reduces(proj) &&
	       reads_each_element(lower, id, reader) &&
	       (lower_node(lower, reader->root)->acc == OP_NONE || !adds_rows(lower, id)) &&
	       lower->plan[reader->root].reduction == NODE_NONE &&
	       lower->plan[reader->root].nwindows == 0 &&
	       lower->plan[reader->root].phases == NODE_NONE;
}

/* Does it write every s-th element of what an elementwise root computes, as all that do in that root? */
static bool is_phase(const Lower *lower, NodeId id, const Reader *reader)
{
	if (!fuse_has_phases(lower, id) || !reads_each_element(lower, id, reader) ||
	    lower_node(lower, reader->root)->kind != NODE_POINTWISE ||
	    lower_node(lower, reader->root)->target != NODE_NONE)
		return false;
	const NodePlan *root = &lower->plan[reader->root];
	return root->reduction == NODE_NONE && root->nwindows == 0 &&
	       (root->phases == NODE_NONE || fuse_same_phases(lower, id, root->phases));
}

/* Is it, beside other such sums, written out where an elementwise root reads it? A kernel finishes one sum
 * only, and each of the others would go through memory, as would a copy. */
static bool is_window(const Lower *lower, NodeId id, const Reader *reader)
{
	uint32_t terms = lower->plan[id].terms;
	if (terms == 0 || !reads_each_element(lower, id, reader))
		return false;
	NodeKind kind = lower_node(lower, reader->root)->kind;
	if (kind != NODE_POINTWISE && kind != NODE_CAST)
		return false;
	const NodePlan *root = &lower->plan[reader->root];
	uint32_t others =
		root->reduction != NODE_NONE ? lower->plan[root->reduction].terms : root->nwindows;
	return (others > 0 || !proj_reduces(lower_proj(lower, id))) && terms + others <= WINDOW_FEW;
}

/* Terms of a sum over a window that may be written out; 0: it may not. */
static uint32_t window_terms(const Lower *lower, NodeId id)
{
	return fuse_is_small_window(lower, id)
		       ? fuse_window_terms(lower, id, &lower_proj(lower, id)->pieces[0])
		       : 0;
}

/* Is it read at indices that may leave their axes, by a sum of few terms that reads each element once? The sum is one
 * expression then, in loops that are cut where they do (nest_plan.c), and a copy would have as many elements as windows. */
static bool is_read_outside(const Lower *lower, NodeId id, const Reader *reader)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (node->kind != NODE_SPEC || node->nargs != 1 || node->target != NODE_NONE || !proj ||
	    !node_suits_nest(node) || !proj_is_plain(proj) || proj_reduces(proj) ||
	    !proj_is_guarded(proj) || lower->options->gpu || reader->root == NODE_NONE)
		return false;
	return reader->frame.owner == reader->root && !reader->only_free && !reader->often &&
	       window_terms(lower, reader->root) > 0;
}

static void fuse_into(Lower *lower, NodeId id, const Reader *reader)
{
	NodePlan *plan = &lower->plan[id];
	plan->fused = true;
	plan->root = reader->root;
	plan->frame = reader->frame;
	plan->space = reader->space;
	for (uint32_t i = lower->first_use[id]; i < uses_end(lower, id); i++) {
		NodePlan *user = &lower->plan[lower->uses[i].user];
		if (user->root != NODE_NONE)
			lower->plan[user->root].nfused++;
		else if (plan->nfused < user->nfused + 1)
			plan->nfused = user->nfused + 1;
	}
}

static void write_out(Lower *lower, NodeId id)
{
	NodePlan *plan = &lower->plan[id];
	plan->window = true;
	plan->cost = plan->terms;
	lower->plan[plan->root].nwindows += plan->terms;
}

/* The sum that the root would finish is written out as well. */
static void fuse_window(Lower *lower, NodeId id, const Reader *reader)
{
	NodePlan *root = &lower->plan[reader->root];
	if (root->reduction != NODE_NONE)
		write_out(lower, root->reduction);
	root->reduction = NODE_NONE;
	fuse_into(lower, id, reader);
	write_out(lower, id);
}

/* Has a complete schedule the node inside others? One without a name of its own is where no kernel
 * is its. */
static bool is_asked_inside(const Lower *lower, NodeId id, const ScheduleClause *asked)
{
	return fuse_has_name(lower, id)
		       ? asks_on(asked)
		       : !schedule_node(lower->asked, lower->tables.routine_id + 1, id);
}

/* Is it computed inside its readers, as is asked for or as it pays? */
static bool is_chosen(const Lower *lower, NodeId id, const Reader *reader,
		      const ScheduleClause *asked)
{
	Size elements = node_elements(lower, id);
	bool free = lower->plan[id].cost == COST_FREE || lower->plan[id].index_only;
	if (lower_replays(lower))
		return (free || !reader->only_free) && is_asked_inside(lower, id, asked);
	bool may = reader->root != NODE_NONE && !reader->only_free && asks_on(asked);
	return !conversion_first(lower, id, elements, reader->space) &&
	       !conversion_gathered(lower, id, elements, reader->space) &&
	       (may || fuse_pays(lower, id, reader));
}

static void fuse(Lower *lower, NodeId id)
{
	NodePlan *plan = &lower->plan[id];
	Reader reader = fuse_readers(lower, id);
	const ScheduleClause *asked = fuse_asked(lower, id, CHOICE_FUSE);
	plan->separate = says_off(asked);
	plan->index_only = fuse_is_index_only(lower, id);
	plan->evaluated = fuse_evaluations(lower, id, &reader);
	if (reader.never || !is_as_often(lower, id) || !has_room(lower, id) ||
	    plan->evaluated > WINDOW_FEW || !is_in_time(lower, id, last_of(lower, id)) ||
	    plan->separate)
		return;
	if (fuse_may_inside(lower, id) && is_chosen(lower, id, &reader, asked)) {
		fuse_into(lower, id, &reader);
		if (plan->index_only)
			plan->cost = COST_FREE; /* in line, wherever it is read */
	} else if (!lower_replays(lower) || is_asked_inside(lower, id, asked)) {
		plan->terms = window_terms(lower, id);
		if (is_phase(lower, id, &reader)) {
			NodePlan *root = &lower->plan[reader.root];
			root->phases = root->phases == NODE_NONE ? id : root->phases;
			plan->cost = COST_CHEAP; /* once, where it is read several times */
			fuse_into(lower, id, &reader);
		} else if (is_epilogue(lower, id, &reader)) {
			lower->plan[reader.root].reduction = id;
			fuse_into(lower, id, &reader);
		} else if (is_window(lower, id, &reader)) {
			fuse_window(lower, id, &reader);
		} else if (is_read_outside(lower, id, &reader)) {
			fuse_into(lower, id, &reader);
			plan->window = true;
			plan->cost = COST_CHEAP; /* once, where it is read several times */
		}
	}
	plan->sinkable =
		!plan->fused && fuse_may_inside(lower, id) && !plan->mutated && plan->nuses == 1 &&
		reader.root != NODE_NONE && is_in_time(lower, id, plan->last_of_all) &&
		reader.root != plan->last_of_all && !reader.only_free && is_as_often(lower, id);
	plan->optional = !plan->fused && fuse_may_inside(lower, id);
}

/* What is computed before any call reads it. */
static void hoist_too(Lower *lower, NodeId id)
{
	ScheduleClause *asked = fuse_asked(lower, id, CHOICE_PREPACK);
	lower->plan[id].hoisted = true;
	if (says_off(asked))
		asked->refused = "what is computed when the state is packed reads it";
}

static void decide(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodePlan *plan = &lower->plan[id];
	plan->root = id;
	bool leaf = fuse_is_leaf(node) || node->kind == NODE_ZEROS;
	if (leaf && !plan->mutated && node->target == NODE_NONE) {
		plan->fused = true;
		plan->root = NODE_NONE;
		return;
	}
	if (plan->output || node->target != NODE_NONE)
		return;
	if (!lower_proj(lower, id))
		return; /* a buffer of the caller's, of the state or of constants */
	plan->hoisted = prepack_computes(lower, id);
	if (!plan->hoisted)
		fuse(lower, id);
	if (!plan->fused && prepack_is_read(lower, id))
		hoist_too(lower, id);
}

void fuse_describe_node(Gen *gen, NodeId id)
{
	const Lower *lower = gen->lower;
	const NodePlan *plan = &lower->plan[id];
	if ((!plan->optional && !plan->hoisted) || fuse_has_name(lower, id))
		return;
	bool any = plan->hoisted || lower->graph->routines.n == 1;
	int64_t numbers[] = {id, lower->tables.routine_id + 1};
	ScheduleClause *made = entry_make(gen->arena, &gen->made.at[0], CHOICE_NODE, false);
	clause_add(gen->arena, made, NULL, numbers, any ? 1 : 2);
}

void fuse_describe(Lower *lower)
{
	Program *program = lower->program;
	bool only = lower->graph->routines.n == 1;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		const NodePlan *plan = &lower->plan[id];
		if (!plan->first || !(plan->separate || plan->fused) || !lower_proj(lower, id))
			continue;
		Sym name = lower_identifier(lower, lower_node(lower, id)->name);
		if (!only)
			name = sym_printf(program->symbols, "%s.%s", lower->tables.routine->name,
					  name);
		ScheduleEntry entry = {.name = name, .span = lower_node(lower, id)->span};
		ScheduleClause *made =
			entry_make(program->arena, &entry, CHOICE_FUSE, plan->separate);
		if (plan->fused && plan->root != NODE_NONE)
			clause_add(program->arena, made, lower_name(lower, plan->root), NULL, 0);
		PUSH(program->arena, program->made->entries, entry);
	}
}

void fuse_plan(Lower *lower)
{
	uses_find(lower);
	prepack_find(lower);
	conversion_find_panels(lower);
	for (uint32_t k = 0; k < lower->nneeded; k++)
		lower->plan[lower->needed[k]].cost = fuse_cost(lower, lower->needed[k]);
	for (uint32_t k = lower->nneeded; k-- > 0;) {
		conversion_find_products(lower, lower->needed[k]);
		decide(lower, lower->needed[k]);
	}
}
