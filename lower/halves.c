/* A step that changes some elements of a parameter of i4 or u4, whose elements share bytes.
 *
 *   all = bytes of w          w: i4, all: i8
 *   all[...] ACC= value       the step
 *   w = halves of all
 *
 * The first and the last go through what the step reaches, and what shares a byte with that: loops over runs of
 * elements that follow each other. Where two runs share a byte both copy it, and it is the same.
 */
#include "loops/linear.h"
#include "loops/pack_halves.h"
#include "lower/kernel.h"
#include "lower/nest/nest.h"

/* ---- the step ---- */

/* The cast of the parameter that `all` is like. */
static bool unpacks(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	if (node->target == NODE_NONE || node->kind != NODE_POINTWISE || node->op != OP_ID ||
	    node->acc != OP_NONE || node->clear)
		return false;
	const Node *cast = lower_node(lower, node->args[0]);
	NodeId like = lower_node(lower, node->target)->like;
	return like != NODE_NONE && cast->kind == NODE_CAST && cast->args[0] == like;
}

static bool assigns_to(const Lower *lower, NodeId id, NodeId all)
{
	return lower_node(lower, id)->target == all;
}

/* Is it known when compiling which elements it reaches, and are they a part? */
static bool reaches_part(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (!proj || proj->linear || proj->surjective || node->along.letter ||
	    node->kind == NODE_SCATTER || node->kind == NODE_ARGMAX)
		return false;
	for (uint32_t i = 0; i < proj->npieces; i++) {
		const Access *result = &proj->pieces[i].result;
		for (uint32_t axis = 0; axis < result->naxes; axis++)
			if (result->axes[axis].guarded || result->axes[axis].gather >= 0)
				return false;
	}
	return true;
}

NodeId halves_step(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	NodeId all = unpacks(lower, id) ? node->target : node->args[0], step = NODE_NONE;
	uint32_t nsteps = 0, ncopies = 0;
	for (uint32_t k = needed_from(lower, all); k < lower->nneeded; k++) {
		NodeId at = lower->needed[k];
		if (!assigns_to(lower, at, all))
			continue;
		bool copies = unpacks(lower, at);
		ncopies += copies;
		nsteps += !copies;
		step = copies ? step : at;
	}
	return ncopies == 1 && nsteps == 1 && reaches_part(lower, step) ? step : NODE_NONE;
}

/* ---- its runs ---- */

typedef struct Runs {
	Nest nest;
	bool *inside; /* by loop: is it part of the runs? */
	HalvesRun run; /* over the other loops */
} Runs;

static Size grow_run(Runs *r, Size run)
{
	Nest *nest = &r->nest;
	Program *program = nest->gen->program;
	for (uint32_t i = nest->nloops; i-- > 0;) {
		Size stride = ix_stride(program, nest->at, nest->loops[i].var);
		if (r->inside[i] || size_is_bad(stride) || !size_same(stride, run))
			continue;
		r->inside[i] = true;
		nest->by_iter[nest->loops[i].iter] = zero_ix(nest->gen);
		return size_mul(program->sizes, run, nest->loops[i].extent);
	}
	return run;
}

static void set_up(Runs *r, Gen *gen, NodeId step, uint32_t piece)
{
	const Proj *proj = lower_proj(gen->lower, step);
	Nest *nest = &r->nest;
	Size one = size_const(gen->program->sizes, 1), run = one, before = SIZE_BAD;
	*r = (Runs){.nest = {.gen = gen, .node = step, .root = step, .proj = proj,
			     .piece = &proj->pieces[piece]}};
	nest_set_up_result(nest);
	r->inside = ARENA_ARRAY(gen->arena, bool, nest->nloops + 1);
	while (size_is_bad(before) || !size_same(run, before)) {
		before = run;
		run = grow_run(r, run);
	}
	const Ix **element =
		access_indices(gen, step, nest->piece, &nest->piece->result, nest->by_iter);
	r->run.first = flat_index(gen, step, element);
	r->run.end = ix_add(gen->program, r->run.first, ix_size(gen->arena, run));
}

static void wrap(const Runs *r, const Body *body)
{
	Gen *gen = r->nest.gen;
	Block block = body_block(body);
	for (uint32_t i = r->nest.nloops; i-- > 0;) {
		const Loop *loop = &r->nest.loops[i];
		if (!r->inside[i])
			block = gen_over(gen, loop->var, loop->extent, block);
	}
	gen_append(gen, &gen->top, block);
}

static uint32_t count_pieces(const Gen *gen, NodeId step)
{
	return lower_proj(gen->lower, step)->npieces;
}

void halves_pack(Gen *gen, NodeId step, BufferId from, BufferId to)
{
	if (step == NODE_NONE) {
		const IterVar iters[2] = {gen_iter(gen, "byte"), gen_iter(gen, "byte")};
		body_pack_halves(gen->program, from, to, NULL, iters, &gen->top);
	}
	for (uint32_t i = 0; step != NODE_NONE && i < count_pieces(gen, step); i++) {
		Runs r;
		Body body = {0};
		set_up(&r, gen, step, i);
		const IterVar iters[2] = {gen_iter(gen, "byte"), gen_iter(gen, "byte")};
		body_pack_halves(gen->program, from, to, &r.run, iters, &body);
		wrap(&r, &body);
	}
}

void halves_unpack(Gen *gen, NodeId step, BufferId from, BufferId to)
{
	for (uint32_t i = 0; i < count_pieces(gen, step); i++) {
		Runs r;
		Body body = {0};
		set_up(&r, gen, step, i);
		body_unpack_halves(gen->program, from, to, &r.run, gen_iter(gen, "e"), &body);
		wrap(&r, &body);
	}
}
