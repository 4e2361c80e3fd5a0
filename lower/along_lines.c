/* The lines of a node that goes along an axis, as along/ reads and stores them: from the node's
 * index maps, a kernel under construction and the buffer that it is stored in. */
#include "lower/along/lines_emit.h"
#include "lower/along/lines_plan.h"
#include "lower/kernel.h"
#include "lower/nest/collapse.h"

typedef struct LineSource {
	Gen *gen;
	NodeId node;
	const Proj *proj;
	AlongIters along;
	const Ix **by_iter;
	IterId *outer; /* which iterators Lines.outer are */
	bool many;     /* Are there outer axes? */
} LineSource;

static const Ix **line_indices(const Lines *lines, IterId along, const Ix *at, const Access *access)
{
	const LineSource *from = lines->of;
	for (uint32_t i = 0; i < lines->nouter; i++)
		from->by_iter[from->outer[i]] = lines->outer[i];
	if (along != UINT32_MAX)
		from->by_iter[along] = at;
	return access_indices(from->gen, from->node, &from->proj->pieces[0], access, from->by_iter);
}

static const Value *line_value(const Lines *lines, const Ix *at, SharedLocals *shared)
{
	const LineSource *from = lines->of;
	const Access *access = &from->proj->pieces[0].args[0];
	gen_enter(from->gen, shared);
	const Ix **axes = line_indices(lines, from->along.from, at, access);
	return node_value(from->gen, lower_node(from->gen->lower, from->node)->args[0], axes);
}

static const Value *line_element(const Lines *lines, const Ix *at, Body *body)
{
	const LineSource *from = lines->of;
	SharedLocals shared = {0};
	const Value *value = line_value(lines, at, &shared);
	gen_set_shared(from->gen, body, &shared);
	return value;
}

static const Ix *line_result_index(const Lines *lines, const Ix *at)
{
	const LineSource *from = lines->of;
	const Access *access = &from->proj->pieces[0].result;
	return flat_index(from->gen, from->node, line_indices(lines, from->along.to, at, access));
}

static BufferId line_temporary(void *of, const char *name, Dtype dtype, Size elements, bool all)
{
	const LineSource *from = of;
	return gen_temporary(
		from->gen, name, from->gen->name,
		(Buffer){.dtype = dtype, .elements = elements, .scratch = from->many && !all});
}

static Size line_extent(const LineSource *from, IterId iter)
{
	return iter == UINT32_MAX ? size_const(from->gen->program->sizes, 1)
				  : from->proj->iters[iter].extent;
}

static void find_outer(LineSource *from, Lines *lines)
{
	Gen *gen = from->gen;
	const Piece *piece = &from->proj->pieces[0];
	from->outer = ARENA_ARRAY(gen->arena, IterId, piece->niters + 1);
	lines->outer = ARENA_ARRAY(gen->arena, const Ix *, piece->niters + 1);
	lines->extents = ARENA_ARRAY(gen->arena, Size, piece->niters + 1);
	for (uint32_t i = 0; i < piece->niters; i++) {
		IterId iter = piece->iters[i];
		if (iter == from->along.from || iter == from->along.to)
			continue;
		from->outer[lines->nouter] = iter;
		lines->outer[lines->nouter] =
			ix_iter(gen->arena, gen_iter(gen, from->proj->iters[iter].name));
		lines->extents[lines->nouter++] = from->proj->iters[iter].extent;
	}
}

/* ---- neighbouring outer axes that are one loop (collapse.c) ---- */

/* Do the operand and the result go on from the end of a round of axis i + 1 as from one element of it to the next?
 * Indices of windows that may be outside ask for both axes. */
static bool goes_on(const Lines *lines, uint32_t i)
{
	LineSource *from = lines->of;
	SharedLocals shared = {0};
	const Ix *at = lines_at(lines, lines_iter(lines, "t"));
	LoopPair pair = {lines->program, lines->outer[i]->iter, lines->outer[i + 1]->iter,
			 lines->extents[i + 1], false};
	size_t borders = from->gen->borders.n;
	const Value *value = line_value(lines, at, &shared);
	loop_pair_see_index(&pair, line_result_index(lines, at));
	loop_pair_see_value(&pair, value);
	loop_pair_see_shared(&pair, &shared);
	return !pair.separate && from->gen->borders.n == borders;
}

/* Axis i + 1 takes the place of both. */
static void join_next(Lines *lines, uint32_t i)
{
	LineSource *from = lines->of;
	from->by_iter[from->outer[i]] = zero_ix(from->gen);
	lines->extents[i + 1] = size_mul(lines->sizes, lines->extents[i], lines->extents[i + 1]);
	lines->nouter--;
	for (uint32_t k = i; k < lines->nouter; k++) {
		from->outer[k] = from->outer[k + 1];
		lines->outer[k] = lines->outer[k + 1];
		lines->extents[k] = lines->extents[k + 1];
	}
}

/* From the last pair on, so that an axis has all behind it that are one loop when it is looked at. */
static void collapse_outer(Lines *lines)
{
	LineSource *from = lines->of;
	Gen look = gen_look(from->gen), *gen = from->gen;
	KernelFrame *frame = lines->frame;
	from->gen = &look;
	lines->frame = &look.frame;
	for (uint32_t i = lines->nouter; i-- > 1;)
		if (goes_on(lines, i - 1))
			join_next(lines, i - 1);
	from->gen = gen;
	lines->frame = frame;
}

/* The order in which it adds, written down for the dump. */
static SumOrder cumulate_order(const LineSource *from, Size extent)
{
	Gen *gen = from->gen;
	const Node *node = lower_node(gen->lower, from->node);
	SumMade made = {.node = from->node,
			.name = node->name ? node->name : gen->name,
			.reduce = node->reduce,
			.order = sums_cumulate(gen->program->sizes, extent),
			.niters = 1,
			.last = 1,
			.extent = extent};
	uint32_t *iters = ARENA_ARRAY(gen->arena, uint32_t, 1);
	Sym *names = ARENA_ARRAY(gen->arena, Sym, 1);
	iters[0] = from->along.from;
	made.iters = iters;
	made.names = names;
	if (from->along.from != UINT32_MAX) {
		names[0] = node->along.letter;
		PUSH(gen->arena, gen_entry(gen)->sums, made);
	}
	return made.order;
}

static Lines along_lines(Gen *gen, NodeId id, StoreTarget to)
{
	const Node *node = lower_node(gen->lower, id);
	LineSource *from = ARENA_NEW(gen->arena, LineSource);
	REQUIRE(to.acc == OP_NONE || node->kind == NODE_ARGMAX);
	*from = (LineSource){.gen = gen, .node = id, .proj = lower_proj(gen->lower, id)};
	from->along = proj_along(from->proj);
	if (node->kind == NODE_ARGMAX)
		from->along.to = UINT32_MAX; /* all axes of the result are outer ones */
	from->by_iter = ARENA_ARRAY(gen->arena, const Ix *, from->proj->niters + 1);
	Lines lines = {.program = gen->program,
		       .arena = gen->arena,
		       .sizes = gen->program->sizes,
		       .of = from,
		       .element = line_element,
		       .result_index = line_result_index,
		       .frame = &gen->frame,
		       .temporary = line_temporary};
	lines.extent = line_extent(from, from->along.from);
	lines.results = line_extent(from, from->along.to);
	lines.from = lower_node(gen->lower, node->args[0])->dtype;
	lines.dtype = node->dtype;
	lines.to = to.buffer;
	lines.acc = to.acc;
	if (from->along.from != UINT32_MAX)
		lines.axis = from->proj->iters[from->along.from].name;
	lines.reduce = node->reduce;
	if (node->kind == NODE_CUMULATE)
		lines.order = cumulate_order(from, lines.extent);
	lines.exclusive = node->along.exclusive;
	lines.reverse = node->along.reverse;
	lines.descending = node->along.descending;
	lines.ids = node->along.ids;
	find_outer(from, &lines);
	collapse_outer(&lines);
	from->many = lines.nouter > 0;
	return lines;
}

Lines *along_plan(Gen *gen, NodeId id, StoreTarget to)
{
	Lines *lines = ARENA_NEW(gen->arena, Lines);
	*lines = along_lines(gen, id, to);
	switch (lower_node(gen->lower, id)->kind) {
	case NODE_SORT: sort_plan(lines, lines->sort); break;
	case NODE_ARGMAX: lines->argmax = argmax_plan(lines); break;
	default: lines->cumulate = cumulate_plan(lines);
	}
	return lines;
}

void along_emit(Gen *gen, NodeId id, const Lines *plan)
{
	LineSource from = *(const LineSource *)plan->of;
	Lines lines = *plan;
	from.gen = gen;
	lines.of = &from;
	lines.frame = &gen->frame;
	lines.top = &gen->top;
	switch (lower_node(gen->lower, id)->kind) {
	case NODE_SORT: sort_lines(&lines); break;
	case NODE_ARGMAX: argmax_lines(&lines); break;
	default: cumulate_lines(&lines);
	}
}
