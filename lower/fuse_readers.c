/* How a node is read, as far as its users are decided. */
#include "lower/fuse_readers.h"

#include "base/size_order.h"
#include "lower/kernel.h"
#include "lower/node_plan.h"

static Frame owner_frame(const Lower *lower, Use use)
{
	const Proj *proj = lower_proj(lower, use.user);
	if (proj->npieces != 1)
		return (Frame){use.user, use.arg};
	const Piece *piece = &proj->pieces[0];
	for (uint32_t j = 0; j < use.arg; j++)
		if (proj_same_access(&piece->args[j], &piece->args[use.arg]))
			return (Frame){use.user, j};
	return (Frame){use.user, use.arg};
}

Reader fuse_reader(const Lower *lower, Use use)
{
	const Node *user = lower_node(lower, use.user);
	const NodePlan *plan = &lower->plan[use.user];
	const Proj *proj = lower_proj(lower, use.user);
	Reader reader = {.root = plan->root, .frame = {.owner = NODE_NONE}};
	reader.never = !proj || (proj->linear && proj->width == 1);
	if (reader.never)
		return reader;
	if (proj->linear) { /* each element is read once, in the loops over the operand */
		reader.frame = (Frame){use.user, use.arg};
		reader.space = node_elements(lower, user->args[use.arg]);
		return reader;
	}
	bool index = node_kind_indexes(user->kind) && use.arg > 0;
	reader.only_free = index || plan->root == NODE_NONE || user->kind == NODE_SORT;
	bool owner = !plan->fused || proj_reduces(proj) || !proj->surjective;
	reader.space = owner ? node_steps(lower, use.user, use.arg) : plan->space;
	if (owner)
		reader.frame = owner_frame(lower, use);
	else if (proj_is_identity(&proj->pieces[0], use.arg))
		reader.frame = plan->frame;
	return reader;
}

Reader fuse_readers(const Lower *lower, NodeId id)
{
	uint32_t from = lower->first_use[id], to = uses_end(lower, id);
	Size elements = node_elements(lower, id);
	Reader all = {.never = from == to};
	for (uint32_t i = from; i < to; i++) {
		Reader reader = fuse_reader(lower, lower->uses[i]);
		reader.often = !reader.never && (!size_ge(lower->sizes, elements, reader.space) ||
						 fuse_is_shared(lower, id, reader.root));
		if (i == from) {
			all = reader;
			continue;
		}
		all.never |= reader.never;
		all.often |= reader.often;
		all.only_free |= reader.only_free;
		if (reader.root != all.root)
			all.root = NODE_NONE;
		if (reader.frame.owner != all.frame.owner || reader.frame.arg != all.frame.arg)
			all.frame.owner = NODE_NONE;
	}
	return all;
}

uint32_t fuse_evaluations(const Lower *lower, NodeId id, const Reader *reader)
{
	const Use *uses = &lower->uses[lower->first_use[id]];
	uint32_t n = lower->plan[id].nuses, most = 1;
	for (uint32_t i = 0; i < n && reader->frame.owner == NODE_NONE; i++) {
		const NodePlan *user = &lower->plan[uses[i].user];
		NodeId kernel = user->root == NODE_NONE ? uses[i].user : user->root;
		uint32_t *sum = &lower->plan[kernel].nevaluated;
		*sum += user->fused ? user->evaluated : 1;
		most = *sum > most ? *sum : most;
	}
	for (uint32_t i = 0; i < n; i++) {
		NodeId root = lower->plan[uses[i].user].root;
		lower->plan[root == NODE_NONE ? uses[i].user : root].nevaluated = 0;
	}
	return most;
}
