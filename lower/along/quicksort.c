/* Long lines of floats in order: quicksort, of which instructions store those lanes of a vector that a mask has.
 *
 * A segment of the line that a network holds is sorted by that. Of a longer one a sample is, which has three pivots
 * a <= b <= c, and the segment is parted into four that are sorted in turn: below a, from a on below b, from b to c, and
 * above c. The elements move from one half of `items` to the other and keep their order; how many each part has is
 * counted before. Segments that are left stand on a stack, which the next round of the loop takes one from:
 *
 *   for t in 0..n: items[t] = x[R, t], as it is compared (network.c)
 *   push (0, n)
 *   for round, while there is a segment:
 *     pop (first, n)
 *     sort all of it, or `SAMPLE` of its elements, by the network
 *     if it was all: y[R, first..] = these
 *     else: count the parts, move the elements, push the parts; of a part from b to b, store b
 *   where rounds or levels were not enough: sort the line by digits
 *
 * Pivots are taken where as few parts as can be hold what the network sorts. No part has all elements: neither c nor a is
 * in the last and the first, b is not in the second, and the greatest of the sample is not in the third unless b is the
 * greatest. An order of elements that samples do not show ends at the last level, so that no line takes long.
 */
#include <math.h>

#include "lower/along/network.h"
#include "lower/along/radix.h"

enum { PARTS = SORT_PARTS, MIDDLE = PARTS / 2, PIVOTS = PARTS - 1, FIELDS = SORT_FIELDS };

typedef struct Quicksort {
	const Lines *l;
	const SortWay *way;
	Network network;
	LocalId depth, failed;
	/* of the segment at hand: where it begins in the line and in the items, and its parts there; how long it is, and how
	 * often it was parted */
	const Ix *first, *from, *to, *n, *level;
	const Value *pivot[PIVOTS];
	LocalId count[PARTS];
} Quicksort;

/* ---- small things ---- */

static const Ix *ix(const Quicksort *q, int64_t value) { return lines_const(q->l, value); }

static const Ix *read(const Quicksort *q, LocalId local)
{
	return ix_value(q->l->arena, lines_read(q->l, local));
}

static LocalId new_index(const Quicksort *q, const char *name, const Ix *value, Body *body)
{
	return lines_local(q->l, body, name, value_index(q->l->arena, DTYPE_I64, value));
}

static void set(const Quicksort *q, LocalId local, const Ix *value, Body *body)
{
	lines_push(
		q->l, body,
		stmt_set(q->l->arena, local, OP_NONE, value_index(q->l->arena, DTYPE_I64, value)));
}

static void add(const Quicksort *q, LocalId local, int64_t value, Body *body)
{
	lines_push(q->l, body,
		   stmt_set(q->l->arena, local, OP_ADD,
			    value_index(q->l->arena, DTYPE_I64, ix(q, value))));
}

/* An index that is in [0, most], for the bounds. */
static const Ix *inside(const Quicksort *q, const Ix *at, const Ix *most)
{
	return lines_min(q->l, ix_binary(q->l->program, IX_MAX, at, ix(q, 0)), most);
}

static const Ix *line_size(const Quicksort *q) { return lines_size(q->l, q->l->extent); }

static const Value *item(const Quicksort *q, const Ix *at)
{
	return value_load(q->l->program, q->way->items, at);
}

/* The body for t in 0..n. */
static void each(const Quicksort *q, Body *into, IterVar t, const Ix *n, const Body *body)
{
	lines_push(q->l, into, lines_loop(q->l, t, ix(q, 0), n, 1, body));
}

static void where(const Quicksort *q, Body *into, CondKind kind, const Ix *a, const Ix *b,
		  const Body *body)
{
	lines_push(q->l, into, lines_if(q->l, kind, a, b, body));
}

/* ---- the stack ---- */

static const Ix *field_at(const Quicksort *q, int64_t field)
{
	const Ix *at = inside(q, read(q, q->depth), ix(q, q->way->stack_room - 1));
	return lines_add(q->l, lines_scale(q->l, at, FIELDS), ix(q, field));
}

static const Ix *field(const Quicksort *q, const char *name, int64_t field, Body *body)
{
	const Value *value = value_load(q->l->program, q->way->stack, field_at(q, field));
	return read(q, lines_local(q->l, body, name, value));
}

static void push(const Quicksort *q, const Ix *first, const Ix *n, const Ix *level, Body *body)
{
	const Ix *fields[FIELDS] = {first, n, level};
	for (int64_t i = 0; i < FIELDS; i++)
		lines_push(q->l, body,
			   stmt_store(q->l->arena, q->way->stack, field_at(q, i), OP_NONE,
				      value_index(q->l->arena, DTYPE_I64, fields[i])));
	add(q, q->depth, 1, body);
}

static void pop(Quicksort *q, Body *body)
{
	const Lines *l = q->l;
	const Ix *size = line_size(q);
	add(q, q->depth, -1, body);
	q->first = inside(q, field(q, "first", 0, body), size);
	q->n = lines_min(l, field(q, "n", 1, body), lines_sub(l, size, q->first));
	q->level = inside(q, field(q, "level", 2, body), ix(q, q->way->levels));
	const Ix *half = ix_binary(l->program, IX_MOD, q->level, ix(q, 2));
	q->from = lines_add(l, ix_mul(l->program, half, size), q->first);
	half = lines_sub(l, ix(q, 1), half);
	q->to = lines_add(l, ix_mul(l->program, half, size), q->first);
}

/* ---- what the network sorts ---- */

static void copy_items(const Quicksort *q, const Ix *n, const Ix *stride, Body *into)
{
	const Lines *l = q->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_add(l, q->from, ix_mul(l->program, lines_at(l, t), stride));
	if (stride->kind != IX_SIZE) /* so that it is seen to be inside */
		at = inside(
			q, at,
			lines_size(l, size_plus(l->sizes, size_scale(l->sizes, l->extent, 2), -1)));
	lines_push(
		l, &body,
		stmt_store(l->arena, q->network.way->items, lines_at(l, t), OP_NONE, item(q, at)));
	each(q, into, t, n, &body);
}

static const Ix *room(const Quicksort *q)
{
	return ix(q, q->network.way->rows * q->network.way->lanes);
}

/* The segment, or a sample of it, in order. */
static void sort_items_of(Quicksort *q, Body *body)
{
	const Lines *l = q->l;
	Body sample = {0}, all = {0};
	const Ix *many = ix(q, q->way->sample);
	LocalId count = new_index(q, "count", q->n, body);
	set(q, count, many, &sample);
	copy_items(q, many, ix_binary(l->program, IX_DIV, q->n, many), &sample);
	copy_items(q, q->n, ix(q, 1), &all);
	where(q, body, COND_LE, q->n, room(q), &all);
	where(q, body, COND_LT, room(q), q->n, &sample);
	network_begin(&q->network, inside(q, read(q, count), room(q)), body);
	network_sort(&q->network, body);
}

static void keep(const Quicksort *q, Body *into)
{
	const Lines *l = q->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Value *value = network_ordered(&q->network, lines_at(l, t));
	lines_push(l, &body,
		   network_keep(&q->network, lines_add(l, q->first, lines_at(l, t)), value));
	each(q, into, t, q->n, &body);
}

/* ---- pivots ---- */

/* The sample's element in front of which a number of all parts that the network sorts stand; -infinity: none do. */
static const Value *quantile(const Quicksort *q, const Ix *leaves, int64_t quarter, Body *body)
{
	const Lines *l = q->l;
	const Ix *before =
		ix_binary(l->program, IX_DIV, lines_scale(l, leaves, quarter), ix(q, PARTS));
	const Ix *at = lines_scale(l, before, q->way->sample);
	at = read(q, new_index(q, "at", ix_binary(l->program, IX_DIV, at, leaves), body));
	at = inside(q, at, ix(q, q->way->sample - 1));
	const Value *some =
		value_binary(l->arena, OP_LT, value_index(l->arena, DTYPE_I64, ix(q, 0)),
			     value_index(l->arena, DTYPE_I64, before));
	return value_where(l->arena, some, network_ordered(&q->network, at),
			   network_number(&q->network, -INFINITY));
}

static void find_pivots(Quicksort *q, Body *body)
{
	const Lines *l = q->l;
	const Ix *leaves = lines_add(l, q->n, ix(q, q->way->leaf - 1));
	leaves = ix_binary(l->program, IX_DIV, leaves, ix(q, q->way->leaf));
	leaves = read(q, new_index(q, "leaves", leaves, body));
	for (int64_t i = 0; i < PIVOTS; i++) {
		const Value *value = quantile(q, leaves, i + 1, body);
		if (i == MIDDLE) {
			value = lines_read(l, lines_local(l, body, "middle", value));
			const Value *last = network_ordered(&q->network, ix(q, q->way->sample - 1));
			value = value_where(l->arena, value_binary(l->arena, OP_LT, value, last),
					    value, q->pivot[MIDDLE - 1]);
		}
		q->pivot[i] = lines_read(l, lines_local(l, body, "pivot", value));
	}
}

/* ---- parts ---- */

/* Which elements a part has, of those that are below pivots, up to the middle, and above them. */
static const Cond *part_conds(const Quicksort *q, const Ix *const *is, int part, uint32_t *n)
{
	Cond *conds = ARENA_ARRAY(q->l->arena, Cond, 2);
	*n = 0;
	if (part > 0)
		conds[(*n)++] = (Cond){COND_EQ, is[part - 1], ix(q, part - 1 >= MIDDLE)};
	if (part < PIVOTS)
		conds[(*n)++] = (Cond){COND_EQ, is[part], ix(q, part < MIDDLE)};
	return conds;
}

/* Counts the element at t in its part and, of places, stores it at that of its part. */
static void each_item(const Quicksort *q, const LocalId *parts, bool places, Body *into)
{
	const Lines *l = q->l;
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	const Value *own = lines_read(
		l, lines_local(l, &step, "item", item(q, lines_add(l, q->from, lines_at(l, t)))));
	const Ix *is[PIVOTS];
	const Ix *last = lines_size(l, size_plus(l->sizes, size_scale(l->sizes, l->extent, 2), -1));
	for (int i = 0; i < PIVOTS; i++) {
		bool below = i < MIDDLE;
		const Value *truth = value_binary(l->arena, OP_LT, below ? own : q->pivot[i],
						  below ? q->pivot[i] : own);
		is[i] = ix_value(l->arena, value_cast(l->arena, DTYPE_I32, truth));
	}
	for (int i = 0; i < PARTS; i++) {
		Body body = {0};
		uint32_t nconds;
		const Cond *conds = part_conds(q, is, i, &nconds);
		if (places)
			lines_push(l, &body,
				   stmt_store(l->arena, q->way->items,
					      inside(q, read(q, parts[i]), last), OP_NONE, own));
		add(q, parts[i], 1, &body);
		lines_push(l, &step, stmt_if(l->arena, conds, nconds, body_block(&body)));
	}
	each(q, into, t, q->n, &step);
}

/* Where each part begins, in the line. */
static void move_items(Quicksort *q, const Ix *begins[PARTS], Body *body)
{
	const Lines *l = q->l;
	LocalId places[PARTS];
	for (int i = 0; i < PARTS; i++)
		q->count[i] = new_index(q, "part", ix(q, 0), body);
	each_item(q, q->count, false, body);
	const Ix *before = ix(q, 0);
	for (int i = 0; i < PARTS; i++) {
		before = read(q, new_index(q, "before", before, body));
		places[i] = new_index(q, "place", lines_add(l, q->to, before), body);
		begins[i] = lines_add(l, q->first, before);
		before = lines_add(l, before, read(q, q->count[i]));
	}
	each_item(q, places, true, body);
}

/* The elements that are equal to b. */
static void keep_equal(const Quicksort *q, const Ix *first, const Ix *n, Body *into)
{
	const Lines *l = q->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *size = line_size(q);
	first = inside(q, first, size);
	lines_push(
		l, &body,
		network_keep(&q->network, lines_add(l, first, lines_at(l, t)), q->pivot[MIDDLE]));
	each(q, into, t, lines_min(l, n, lines_sub(l, size, first)), &body);
}

static void push_parts(Quicksort *q, Body *body)
{
	const Lines *l = q->l;
	const Ix *begins[PARTS], *level = lines_add(l, q->level, ix(q, 1));
	move_items(q, begins, body);
	const Value *same = value_binary(l->arena, OP_EQ, q->pivot[MIDDLE - 1], q->pivot[MIDDLE]);
	const Ix *equal =
		read(q, lines_local(l, body, "equal", value_cast(l->arena, DTYPE_I32, same)));
	for (int i = PARTS; i-- > 0;) {
		Body one = {0}, equals = {0};
		const Ix *n = read(q, q->count[i]);
		push(q, begins[i], n, level, &one);
		Cond *conds = ARENA_ARRAY(l->arena, Cond, 2);
		conds[0] = (Cond){COND_LT, ix(q, 0), n};
		conds[1] = (Cond){COND_EQ, equal, ix(q, 0)};
		lines_push(l, body,
			   stmt_if(l->arena, conds, i == MIDDLE ? 2 : 1, body_block(&one)));
		if (i != MIDDLE)
			continue;
		keep_equal(q, begins[i], n, &equals);
		where(q, body, COND_EQ, equal, ix(q, 1), &equals);
	}
}

/* ---- all of it ---- */

static void part(Quicksort *q, Body *into)
{
	Body body = {0}, last = {0};
	const Ix *levels = ix(q, q->way->levels);
	find_pivots(q, &body);
	push_parts(q, &body);
	where(q, into, COND_LT, q->level, levels, &body);
	set(q, q->failed, ix(q, 1), &last);
	set(q, q->depth, ix(q, 0), &last);
	where(q, into, COND_EQ, q->level, levels, &last);
}

static void next_segment(Quicksort *q, Body *into)
{
	Body body = {0}, whole = {0}, parts = {0};
	pop(q, &body);
	sort_items_of(q, &body);
	keep(q, &whole);
	where(q, &body, COND_LE, q->n, room(q), &whole);
	part(q, &parts);
	where(q, &body, COND_LT, room(q), q->n, &parts);
	where(q, into, COND_LT, ix(q, 0), read(q, q->depth), &body);
}

/* Twice the segments that there are if each is half of what the network sorts, and their parents. */
static Size rounds(const Quicksort *q)
{
	Sizes *sizes = q->l->sizes;
	return size_plus(sizes, size_scale(sizes, size_ceil(sizes, q->l->extent, q->way->leaf), 8),
			 64);
}

void sort_by_parts(const Lines *l, const SortWay *way, Body *line)
{
	Body round = {0}, digits = {0}, good = {0};
	Quicksort q = {.l = l, .way = way, .network = network_new(l, &l->sort[BY_NETWORK])};
	LocalId special = network_copy_line(&q.network, way->items, line);
	q.depth = new_index(&q, "depth", ix(&q, 0), line);
	q.failed = new_index(&q, "failed", ix(&q, 0), line);
	push(&q, ix(&q, 0), line_size(&q), ix(&q, 0), line);
	next_segment(&q, &round);
	each(&q, line, lines_iter(l, "round"), lines_size(l, rounds(&q)), &round);
	Body left = {0};
	set(&q, q.failed, ix(&q, 1), &left);
	where(&q, line, COND_LT, ix(&q, 0), read(&q, q.depth), &left);
	sort_by_digits(l, way, &digits);
	network_restore(&q.network, special, &good);
	where(&q, line, COND_EQ, read(&q, q.failed), ix(&q, 1), &digits);
	where(&q, line, COND_EQ, read(&q, q.failed), ix(&q, 0), &good);
}
