/* The index of the greatest element of each line, or of the least.
 *
 * The first of the greatest is one index, in whatever order it is looked for: numbers here are no part
 * of what sums/ decides.
 *
 * The search starts from the least value at index 0 and takes a later index only where its value is
 * greater: the first of equals, and NaN (which compares false) is never taken. A long axis whose
 * elements are neighbours is searched in 16 lanes, each the first of its own; among lanes the
 * greatest wins, then the least index. For the least, 'less' takes the place of 'greater'. Where columns are neighbours instead, 64 are searched side
 * by side:
 *
 *   for v in 0..cols step 64
 *     local best : f32 [64] = -inf, at : i32 [64] = 0
 *     for a in 0..rows: for lane in 0..64: best[lane], at[lane] = x[a, v + lane], a where that is greater
 *     for lane in 0..64: y[v + lane] = at[lane]
 *
 * A long axis that is all there is goes in parts, which threads share: the greatest of each, then
 * the first part that has the greatest of all, then the search in that part alone.
 *
 *   for part in 0..P
 *     vector lane in 0..64: acc[lane] = x[part*65536 + a + lane] where that is greater, for all a
 *     parts_y[part] = the greatest of acc and of the elements behind the last 64
 *   for part in 0..P: which, greatest = part, parts_y[part] where that is greater
 *   the search of x[which*65536 ...]
 */
#include "lower/along/lines_emit.h"

enum { LANES = 16, COLUMNS = 64, WIDE = 64 };

typedef struct Search {
	const Lines *l;
	const Ix *from,
		*extent; /* of what is searched along the line, and of a multiple of lanes */
	const Ix *whole;
	uint32_t lanes; /* of the locals; 0: they are single elements */
	LocalId best, at;
} Search;

/* local = value where `is` */
static void take_where(const Lines *l, Body *body, const Value *local, const Value *is,
		       const Value *value)
{
	lines_push(l, body,
		   stmt_set_at(l->arena, local, OP_NONE, value_where(l->arena, is, value, local)));
}

/* Is the value greater than the best so far, or less than it? */
static const Value *is_better(const Lines *l, const Value *value, const Value *best)
{
	return value_binary(l->arena, l->reduce == OP_MIN ? OP_LT : OP_GT, value, best);
}

static void take_better(const Lines *l, Body *body, const Value *best, const Value *value)
{
	take_where(l, body, best, is_better(l, value, best), value);
}

/* best, at = value, along where the value is better, at one place of both. */
static Body step(const Search *s, const Ix *along, const Ix *lane)
{
	const Lines *l = s->l;
	Body body = {0};
	const Value *value = lines_wide_element(l, along, &body);
	const Value *best = frame_element(l->frame, s->best, lane),
		    *at = frame_element(l->frame, s->at, lane);
	const Value *better = is_better(l, value, best);
	take_where(l, &body, at, better, value_index(l->arena, at->dtype, along));
	take_where(l, &body, best, better, value);
	return body;
}

static LocalId local(const Lines *l, Body *body, const char *name, int64_t n, const Value *start)
{
	LocalId id = frame_local(l->frame, name, start->dtype, &n, n > 0);
	lines_push(l, body, stmt_local(l->arena, id, start));
	return id;
}

/* What no element is worse than. */
static const Value *worst(const Lines *l)
{
	Dtype dtype = dtype_wide(l->from);
	return value_const(l->arena, dtype, op_neutral(l->reduce, dtype));
}

static void declare(Search *s, Body *body)
{
	s->best = local(s->l, body, "best", s->lanes, worst(s->l));
	s->at = local(s->l, body, "at", s->lanes, lines_number(s->l, s->l->dtype, 0));
}

static void each_lane(const Lines *l, Body *into, IterVar lane, int64_t lo, int64_t hi,
		      const Body *body)
{
	lines_for(l, into, lane, lines_const(l, lo), lines_const(l, hi), 1, body);
}

/* ---- lanes ---- */

/* The greatest of the lanes, of equals the one with the least index, into lane 0. */
static void join_lanes(const Search *s, IterVar lane, Body *into)
{
	const Lines *l = s->l;
	Body body = {0};
	const Ix *zero = lines_const(l, 0), *other = lines_at(l, lane);
	const Value *best = frame_element(l->frame, s->best, zero),
		    *at = frame_element(l->frame, s->at, zero);
	const Value *value = frame_element(l->frame, s->best, other);
	const Value *index = frame_element(l->frame, s->at, other);
	const Value *same =
		value_cast(l->arena, at->dtype, value_binary(l->arena, OP_EQ, value, best));
	const Value *tie =
		value_binary(l->arena, OP_AND, same, value_binary(l->arena, OP_LT, index, at));
	const Value *better = value_cast(l->arena, at->dtype, is_better(l, value, best));
	take_where(l, &body, at, value_binary(l->arena, OP_OR, better, tie), index);
	take_better(l, &body, best, value);
	each_lane(l, into, lane, 1, LANES, &body);
}

static void search_lanes(const Search *s, Body *into)
{
	const Lines *l = s->l;
	Body steps = {0};
	IterVar lane = lines_iter(l, "lane"), var = l->argmax.var;
	const Ix *i = lines_add(l, s->from, lines_at(l, var)), *at = lines_at(l, lane);
	Body inner = step(s, lines_add(l, i, at), at), rest = step(s, i, lines_const(l, 0));
	each_lane(l, &steps, lane, 0, LANES, &inner);
	lines_for(l, into, var, lines_const(l, 0), s->whole, LANES, &steps);
	lines_for(l, into, var, s->whole, s->extent, 1, &rest);
	join_lanes(s, lane, into);
}

/* ---- all of it ---- */

static void store(const Search *s, Body *body, const Ix *lane)
{
	const Lines *l = s->l;
	const Value *at = frame_element(l->frame, s->at, lane);
	lines_push(l, body, stmt_store(l->arena, l->to, l->result_index(l, NULL), l->acc, at));
}

static Size whole_lanes(const Lines *l, Size extent, int64_t lanes)
{
	return size_scale(l->sizes, size_floor(l->sizes, extent, lanes), lanes);
}

/* One line. */
static void search(const Lines *l, Body *into)
{
	Search s = {.l = l,
		    .from = lines_const(l, 0),
		    .extent = lines_size(l, l->extent),
		    .whole = lines_size(l, whole_lanes(l, l->extent, LANES)),
		    .lanes = l->argmax.in_lanes ? LANES : 0};
	declare(&s, into);
	if (s.lanes) {
		search_lanes(&s, into);
	} else if (!l->axis) {
		Body one = step(&s, s.from, NULL);
		body_append(l->arena, into, body_block(&one));
	} else {
		Body each = step(&s, lines_at(l, l->argmax.var), NULL);
		lines_each(l, into, l->argmax.var, l->extent, &each);
	}
	store(&s, into, s.from);
}

/* COLUMNS lines side by side, and those that are left one by one. */
static void search_columns(const Lines *l, Body *into)
{
	Search s = {.l = l, .lanes = COLUMNS};
	Body block = {0}, steps = {0}, done = {0}, one = {0};
	Size extent = l->extents[l->nouter - 1], whole = whole_lanes(l, extent, COLUMNS);
	IterVar lane = lines_iter(l, "lane");
	const Ix **last = &l->outer[l->nouter - 1], *first = *last, *at = lines_at(l, lane);
	*last = lines_add(l, first, at);
	declare(&s, &block);
	Body inner = step(&s, lines_at(l, l->argmax.var), at);
	each_lane(l, &steps, lane, 0, COLUMNS, &inner);
	lines_each(l, &block, l->argmax.var, l->extent, &steps);
	store(&s, &done, at);
	each_lane(l, &block, lane, 0, COLUMNS, &done);
	lines_for(l, into, first->iter, lines_const(l, 0), lines_size(l, whole), COLUMNS, &block);
	*last = first;
	if (size_same(whole, extent))
		return;
	search(l, &one);
	lines_for(l, into, first->iter, lines_size(l, whole), lines_size(l, extent), 1, &one);
}

/* ---- in parts ---- */

/* Where the part of a number ends, counted from where it begins: at most ARGMAX_PART. */
static const Ix *part_end(const Lines *l, const Ix *first, Size end)
{
	return lines_min(l, lines_const(l, ARGMAX_PART), lines_sub(l, lines_size(l, end), first));
}

/* The greatest element of the part that begins at `first`, as a local of its body. */
static const Value *part_greatest(const Lines *l, const Ix *first, Body *body)
{
	Body steps = {0}, lanes = {0}, rest = {0}, all = {0};
	IterVar lane = lines_iter(l, "lane"), var = l->argmax.var;
	const Ix *at = lines_at(l, lane), *i = lines_add(l, first, lines_at(l, var));
	const Ix *wide = part_end(l, first, whole_lanes(l, l->extent, WIDE));
	const Value *acc = frame_element(l->frame, local(l, body, "acc", WIDE, worst(l)), at);
	const Value *last = lines_read(l, local(l, body, "last", 0, worst(l)));
	const Value *value = lines_wide_element(l, lines_add(l, i, at), &lanes);
	LoopKind kind = l->argmax.in_vectors ? LOOP_VECTOR : LOOP_SERIAL;
	take_better(l, &lanes, acc, value);
	lines_push(l, &steps, stmt_loop(l->program, kind, lane, WIDE, body_block(&lanes)));
	lines_for(l, body, var, lines_const(l, 0), wide, WIDE, &steps);
	take_better(l, &rest, last, lines_wide_element(l, i, &rest));
	lines_for(l, body, var, wide, part_end(l, first, l->extent), 1, &rest);
	take_better(l, &all, last, acc);
	each_lane(l, body, lane, 0, WIDE, &all);
	return last;
}

/* The first part that has the greatest of all is what is searched. */
static Search choose_part(const Lines *l, const Value *greatest, IterVar part, Size parts,
			  Body *into)
{
	Search s = {.l = l, .lanes = LANES};
	Body each = {0};
	const Value *top = lines_read(l, local(l, into, "top", 0, worst(l)));
	const Value *which =
		lines_read(l, local(l, into, "which", 0, lines_number(l, DTYPE_I32, 0)));
	const Value *here = value_index(l->arena, DTYPE_I32, lines_at(l, part));
	take_where(l, &each, which, is_better(l, greatest, top), here);
	take_better(l, &each, top, greatest);
	lines_each(l, into, part, parts, &each);
	s.from = lines_scale(l, ix_value(l->arena, which), ARGMAX_PART);
	s.extent = part_end(l, s.from, l->extent);
	s.whole = lines_scale(l, lines_div(l, s.extent, LANES), LANES);
	return s;
}

static void search_parts(const Lines *l, Body *into)
{
	Body body = {0};
	Size parts = size_ceil(l->sizes, l->extent, ARGMAX_PART);
	BufferId buffer = l->argmax.parts;
	IterVar part = lines_iter(l, "part");
	const Ix *number = lines_at(l, part);
	const Value *greatest = part_greatest(l, lines_scale(l, number, ARGMAX_PART), &body);
	lines_put(l, &body, buffer, number, greatest);
	lines_each(l, into, part, parts, &body);
	Search s = choose_part(l, value_load(l->program, buffer, number), part, parts, into);
	declare(&s, into);
	search_lanes(&s, into);
	store(&s, into, lines_const(l, 0));
}

/* ---- as it is planned ---- */

void argmax_lines(const Lines *l)
{
	Body all = {0};
	uint32_t n = l->nouter - l->argmax.columns;
	if (l->argmax.in_parts)
		search_parts(l, &all);
	else if (l->argmax.columns)
		search_columns(l, &all);
	else
		search(l, &all);
	while (n-- > 0) {
		Body inner = all;
		all = (Body){0};
		lines_each(l, &all, l->outer[n]->iter, l->extents[n], &inner);
	}
	lines_finish(l, &all);
}
