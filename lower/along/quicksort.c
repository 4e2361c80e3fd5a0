/* Long lines of floats in order: quicksort, of which instructions store those lanes of a vector that a mask has.
 *
 * A segment of the line that a network holds is sorted by that. Of a longer one a sample is, which has three pivots
 * a <= b <= c, and the segment is parted into four that are sorted in turn: below a, from a on below b, from b to c, and
 * above c. That is one partition of the segment and one of each half, which are made in place, in blocks (partition). The
 * first one of a line reads the line itself. Segments that are left stand on a stack, which the next round of the loop takes
 * one from:
 *
 *   push (0, n)
 *   for round, while there is a segment:
 *     pop (first, n)
 *     sort all of it, or `SAMPLE` of its elements, by the network
 *     if it was all: y[R, first..] = these
 *     else: part it, push the parts; of a part from b to b, store b
 *   where rounds or levels were not enough: sort the line by digits
 *
 * Elements are those that are compared (network.c). Pivots are taken where as few parts as can be hold what the network sorts.
 * No part has all elements: neither c nor a is in the last and the first, b is not in the second, and the greatest of the
 * sample is not in the third unless b is the greatest. An order of elements that samples do not show ends at the last level,
 * so that no line takes long.
 */
#include "lower/along/network.h"
#include "lower/along/radix.h"

enum { PARTS = SORT_PARTS, MIDDLE = PARTS / 2, PIVOTS = PARTS - 1, FIELDS = SORT_FIELDS };

/* Elements that stand one behind the other: of a segment, or a part of it. */
typedef struct Range {
	const Ix *first, *n;
} Range;

typedef struct Quicksort {
	const Lines *l;
	const SortWay *way;
	Network network;
	LocalId depth, failed;
	LocalId special; /* zeros and NaN of the line */
	/* of the segment at hand: where it is; how often it was parted */
	Range segment;
	const Ix *level;
	const Value *pivot[PIVOTS];
	Range parts[PARTS];
} Quicksort;

/* ---- small things ---- */

static const Ix *ix(const Quicksort *q, int64_t value) { return lines_const(q->l, value); }

static const Ix *read(const Quicksort *q, LocalId local) { return lines_read_ix(q->l, local); }

/* A number that stays as it is. */
static const Ix *let(const Quicksort *q, const char *name, const Ix *value, Body *body)
{
	return read(q, lines_local_ix(q->l, body, name, value));
}

static void set(const Quicksort *q, LocalId local, const Ix *value, Body *body)
{
	lines_set_ix(q->l, body, local, OP_NONE, value);
}

static void add(const Quicksort *q, LocalId local, int64_t value, Body *body)
{
	lines_set_ix(q->l, body, local, OP_ADD, ix(q, value));
}

static const Ix *line_size(const Quicksort *q) { return lines_size(q->l, q->l->extent); }

/* `n` elements from a place on that is in the line, or as many as there are; from any place. */
static Range range_from(const Quicksort *q, const Ix *first, const Ix *n)
{
	return (Range){first, lines_min(q->l, n, lines_sub(q->l, line_size(q), first))};
}

static Range range(const Quicksort *q, const Ix *first, const Ix *n)
{
	return range_from(q, lines_inside(q->l, first, line_size(q)), n);
}

static const Value *item(const Quicksort *q, const Ix *at)
{
	return value_load(q->l->program, q->way->items, at);
}

/* ---- the stack ---- */

static const Ix *field_at(const Quicksort *q, int64_t field)
{
	const Ix *at = lines_inside(q->l, read(q, q->depth), ix(q, q->way->stack_room - 1));
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
		lines_put(q->l, body, q->way->stack, field_at(q, i),
			  value_index(q->l->arena, DTYPE_I64, fields[i]));
	add(q, q->depth, 1, body);
}

static void pop(Quicksort *q, Body *body)
{
	add(q, q->depth, -1, body);
	const Ix *first = lines_inside(q->l, field(q, "first", 0, body), line_size(q));
	q->segment = range(q, first, field(q, "n", 1, body));
	q->level = lines_inside(q->l, field(q, "level", 2, body), ix(q, q->way->levels));
}

/* ---- what the network sorts ---- */

/* What elements are copied to: items of the network, which has none while parts are made. */
static const Stmt *store_copy(const Quicksort *q, const Ix *to, const Ix *from)
{
	return stmt_store(q->l->arena, q->network.way->items, to, OP_NONE, item(q, from));
}

static void copy_items(const Quicksort *q, Range from, const Ix *to, Body *into)
{
	const Lines *l = q->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t);
	lines_push(l, &body, store_copy(q, lines_add(l, to, at), lines_add(l, from.first, at)));
	lines_times(l, into, t, from.n, &body);
}

/* The sample, of the items or at first of the line. */
static void copy_sample(const Quicksort *q, Body *into)
{
	const Lines *l = q->l;
	Body line = {0}, items = {0};
	IterVar t = lines_iter(l, "t"), again = lines_iter(l, "t");
	const Ix *many = ix(q, q->way->sample), *none = ix(q, 0);
	const Ix *last = lines_last(l, l->extent);
	const Ix *stride = lines_div(l, q->segment.n, q->way->sample);
	const Ix *at = lines_add(l, q->segment.first, ix_mul(l->program, lines_at(l, t), stride));
	const Ix *whole = lines_div(l, line_size(q), q->way->sample);
	whole = ix_mul(l->program, lines_at(l, again), whole);
	lines_push(l, &items, store_copy(q, lines_at(l, t), lines_inside(l, at, last)));
	network_copy_element(&q->network, lines_inside(l, whole, last), lines_at(l, again), NULL,
			     &line);
	Body first = {0}, others = {0};
	lines_times(l, &others, t, many, &items);
	lines_times(l, &first, again, many, &line);
	lines_if(l, into, COND_EQ, q->level, none, &first);
	lines_if(l, into, COND_LT, none, q->level, &others);
}

static const Ix *room(const Quicksort *q)
{
	return ix(q, q->network.way->rows * q->network.way->lanes);
}

/* The segment, or a sample of it, in order. */
static void sort_items_of(Quicksort *q, Body *body)
{
	Body sample = {0}, all = {0};
	const Ix *n = q->segment.n;
	LocalId count = lines_local_ix(q->l, body, "count", n);
	set(q, count, ix(q, q->way->sample), &sample);
	copy_sample(q, &sample);
	copy_items(q, q->segment, ix(q, 0), &all);
	lines_if(q->l, body, COND_LE, n, room(q), &all);
	lines_if(q->l, body, COND_LT, room(q), n, &sample);
	network_begin(&q->network, lines_inside(q->l, read(q, count), room(q)), body);
	network_sort(&q->network, body);
}

static void keep(const Quicksort *q, Body *into)
{
	const Lines *l = q->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Value *value = network_ordered(&q->network, lines_at(l, t));
	lines_push(
		l, &body,
		network_keep(&q->network, lines_add(l, q->segment.first, lines_at(l, t)), value));
	lines_times(l, into, t, q->segment.n, &body);
}

/* ---- pivots ---- */

/* The sample's element in front of which a number of all parts that the network sorts stand; -infinity: none do. */
static const Value *quantile(const Quicksort *q, const Ix *leaves, int64_t quarter, Body *body)
{
	const Lines *l = q->l;
	const Ix *before = lines_div(l, lines_scale(l, leaves, quarter), PARTS);
	const Ix *at = lines_scale(l, before, q->way->sample);
	at = let(q, "at", ix_binary(l->program, IX_DIV, at, leaves), body);
	at = lines_inside(l, at, ix(q, q->way->sample - 1));
	const Value *some =
		value_binary(l->arena, OP_LT, value_index(l->arena, DTYPE_I64, ix(q, 0)),
			     value_index(l->arena, DTYPE_I64, before));
	return value_where(l->arena, some, network_ordered(&q->network, at),
			   network_end(&q->network, false));
}

static void find_pivots(Quicksort *q, Body *body)
{
	const Lines *l = q->l;
	const Ix *leaves = lines_add(l, q->segment.n, ix(q, q->way->leaf - 1));
	leaves = let(q, "leaves", lines_div(l, leaves, q->way->leaf), body);
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

/* ---- partitions ---- */

/* A partition: what is on the low side of the pivot comes first, in the order of the elements, the others from the end on
 * downwards. */
typedef struct Partition {
	const Value *pivot;
	bool up_to; /* elements that are equal to the pivot are on the low side */
	Range range;
	LocalId low, high; /* behind the former, and where the others begin */
} Partition;

static const Ix *block(const Quicksort *q, int64_t blocks) { return ix(q, blocks * q->way->block); }

static Partition begin_partition(const Quicksort *q, const Value *pivot, bool up_to, Range of,
				 Body *body)
{
	const Ix *end = lines_add(q->l, of.first, of.n);
	return (Partition){pivot, up_to, of, lines_local_ix(q->l, body, "low", of.first),
			   lines_local_ix(q->l, body, "high", end)};
}

/* Moves the element, as it is loaded, to its side. */
static void part_item(const Quicksort *q, const Partition *p, const Value *load, Body *step)
{
	const Lines *l = q->l;
	const Value *own = lines_read(l, lines_local(l, step, "item", load));
	const Ix *last = lines_last(l, l->extent);
	const Value *truth =
		value_binary(l->arena, OP_LT, p->up_to ? p->pivot : own, p->up_to ? own : p->pivot);
	const Ix *is = ix_value(l->arena, value_cast(l->arena, DTYPE_I32, truth));
	LocalId sides[] = {p->low, p->high};
	for (int high = 0; high < 2; high++) {
		Body body = {0};
		const Ix *at = lines_inside(l, read(q, sides[high]), last);
		if (high)
			add(q, p->high, -1, &body);
		lines_put(l, &body, q->way->items, at, own);
		if (!high)
			add(q, p->low, 1, &body);
		lines_if(l, step, COND_EQ, is, ix(q, (high == 1) == p->up_to), &body);
	}
}

static void part_items(const Quicksort *q, const Partition *p, BufferId from, Range of, Body *into)
{
	Body step = {0};
	IterVar t = lines_iter(q->l, "t");
	const Ix *at = lines_add(q->l, of.first, lines_at(q->l, t));
	part_item(q, p, value_load(q->l->program, from, at), &step);
	lines_times(q->l, into, t, of.n, &step);
}

static void part_copies(const Quicksort *q, const Partition *p, const Ix *n, Body *into)
{
	part_items(q, p, q->network.way->items, (Range){ix(q, 0), n}, into);
}

/* The line, by way of copies in blocks. */
static void part_line(const Quicksort *q, const Partition *p, Body *into)
{
	const Lines *l = q->l;
	Body body = {0}, copy = {0};
	IterVar blocks = lines_iter(l, "block"), t = lines_iter(l, "t");
	const Ix *first = lines_scale(l, lines_at(l, blocks), q->way->block);
	const Ix *n = lines_min(l, block(q, 1), lines_sub(l, line_size(q), first));
	network_copy_element(&q->network, lines_add(l, first, lines_at(l, t)), lines_at(l, t),
			     dtype_is_float(l->from) ? &q->special : NULL, &copy);
	lines_times(l, &body, t, n, &copy);
	part_copies(q, p, n, &body);
	lines_times(l, into, blocks, lines_size(l, size_ceil(l->sizes, l->extent, q->way->block)),
		    &body);
}

/* In place. Two blocks of each end, and what is no whole block, are copied, so that the low side and the high one have
 * room for two blocks together with all others; these are taken from that end which has less room, so that each side has one
 * for the next. The copies come last.
 */
static void part_in_place(const Quicksort *q, const Partition *p, Body *into)
{
	const Lines *l = q->l;
	Body round = {0}, front = {0}, back = {0};
	Range of = p->range;
	const Ix *blocks = lines_sub(l, of.n, block(q, 4)), *end = lines_add(l, of.first, of.n);
	blocks = lines_div(l, lines_max(l, blocks, ix(q, 0)), q->way->block);
	blocks = let(q, "blocks", blocks, into);
	const Ix *copied = lines_sub(l, of.n, lines_scale(l, blocks, q->way->block));
	copied = lines_inside(l, let(q, "copied", copied, into), block(q, 5));
	const Ix *ahead = lines_min(l, copied, block(q, 2));
	const Ix *behind = lines_inside(l, lines_sub(l, copied, ahead), block(q, 3));
	LocalId begins = lines_local_ix(l, into, "begin", lines_add(l, of.first, ahead));
	LocalId ends = lines_local_ix(l, into, "end", lines_sub(l, end, behind));
	copy_items(q, (Range){of.first, ahead}, ix(q, 0), into);
	copy_items(q, (Range){lines_inside(l, read(q, ends), line_size(q)), behind}, ahead, into);
	LocalId from = lines_local_ix(l, &round, "from", read(q, begins));
	const Ix *room[] = {lines_sub(l, read(q, begins), read(q, p->low)),
			    lines_sub(l, read(q, p->high), read(q, ends))};
	LocalId less = lines_local_ix(l, &round, "less", lines_sub(l, room[1], room[0]));
	add(q, begins, q->way->block, &front);
	add(q, ends, -q->way->block, &back);
	set(q, from, read(q, ends), &back);
	lines_if(l, &round, COND_LE, ix(q, 0), read(q, less), &front);
	lines_if(l, &round, COND_LT, read(q, less), ix(q, 0), &back);
	part_items(q, p, q->way->items,
		   (Range){lines_inside(l, read(q, from), line_size(q)), block(q, 1)}, &round);
	lines_times(l, into, lines_iter(l, "block"), blocks, &round);
	part_copies(q, p, copied, into);
}

/* Both sides. */
static void end_partition(const Quicksort *q, const Partition *p, Range sides[2], Body *body)
{
	const Ix *middle = let(q, "middle", read(q, p->low), body);
	const Ix *end = lines_add(q->l, p->range.first, p->range.n);
	LocalId n = lines_local_ix(q->l, body, "part", lines_sub(q->l, middle, p->range.first));
	sides[0] = range_from(q, p->range.first, read(q, n));
	n = lines_local_ix(q->l, body, "part", lines_sub(q->l, end, middle));
	sides[1] = range(q, middle, read(q, n));
}

static void part_segment(Quicksort *q, Body *body)
{
	Body line = {0}, items = {0};
	Range halves[2];
	Partition all = begin_partition(q, q->pivot[MIDDLE - 1], false, q->segment, body);
	part_line(q, &all, &line);
	part_in_place(q, &all, &items);
	lines_if(q->l, body, COND_EQ, q->level, ix(q, 0), &line);
	lines_if(q->l, body, COND_LT, ix(q, 0), q->level, &items);
	end_partition(q, &all, halves, body);
	for (int i = 0; i < 2; i++) {
		Partition half = begin_partition(q, q->pivot[2 * i], i == 1, halves[i], body);
		part_in_place(q, &half, body);
		end_partition(q, &half, &q->parts[2 * i], body);
	}
}

/* ---- parts ---- */

/* The elements that are equal to b. */
static void keep_equal(const Quicksort *q, Range of, Body *into)
{
	const Lines *l = q->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	lines_push(l, &body,
		   network_keep(&q->network, lines_add(l, of.first, lines_at(l, t)),
				q->pivot[MIDDLE]));
	lines_times(l, into, t, of.n, &body);
}

static void push_parts(Quicksort *q, Body *body)
{
	const Lines *l = q->l;
	const Ix *level = lines_add(l, q->level, ix(q, 1));
	part_segment(q, body);
	const Value *same = value_binary(l->arena, OP_EQ, q->pivot[MIDDLE - 1], q->pivot[MIDDLE]);
	const Ix *equal =
		read(q, lines_local(l, body, "equal", value_cast(l->arena, DTYPE_I32, same)));
	for (int i = PARTS; i-- > 0;) {
		Body one = {0}, equals = {0};
		Range part = q->parts[i];
		push(q, part.first, part.n, level, &one);
		Cond *conds = ARENA_ARRAY(l->arena, Cond, 2);
		conds[0] = (Cond){COND_LT, ix(q, 0), part.n};
		conds[1] = (Cond){COND_EQ, equal, ix(q, 0)};
		lines_push(l, body,
			   stmt_if(l->arena, conds, i == MIDDLE ? 2 : 1, body_block(&one)));
		if (i != MIDDLE)
			continue;
		keep_equal(q, part, &equals);
		lines_if(l, body, COND_EQ, equal, ix(q, 1), &equals);
	}
}

/* ---- all of it ---- */

static void part(Quicksort *q, Body *into)
{
	Body body = {0}, last = {0};
	const Ix *levels = ix(q, q->way->levels);
	find_pivots(q, &body);
	push_parts(q, &body);
	lines_if(q->l, into, COND_LT, q->level, levels, &body);
	set(q, q->failed, ix(q, 1), &last);
	set(q, q->depth, ix(q, 0), &last);
	lines_if(q->l, into, COND_EQ, q->level, levels, &last);
}

static void next_segment(Quicksort *q, Body *into)
{
	Body body = {0}, whole = {0}, parts = {0};
	pop(q, &body);
	sort_items_of(q, &body);
	keep(q, &whole);
	lines_if(q->l, &body, COND_LE, q->segment.n, room(q), &whole);
	part(q, &parts);
	lines_if(q->l, &body, COND_LT, room(q), q->segment.n, &parts);
	lines_if(q->l, into, COND_LT, ix(q, 0), read(q, q->depth), &body);
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
	if (dtype_is_float(l->from))
		q.special = network_new_count(&q.network, "special", line);
	q.depth = lines_local_ix(l, line, "depth", ix(&q, 0));
	q.failed = lines_local_ix(l, line, "failed", ix(&q, 0));
	push(&q, ix(&q, 0), line_size(&q), ix(&q, 0), line);
	next_segment(&q, &round);
	lines_times(l, line, lines_iter(l, "round"), lines_size(l, rounds(&q)), &round);
	Body left = {0};
	set(&q, q.failed, ix(&q, 1), &left);
	lines_if(l, line, COND_LT, ix(&q, 0), read(&q, q.depth), &left);
	sort_by_digits(l, way, &digits);
	lines_if(l, line, COND_EQ, read(&q, q.failed), ix(&q, 1), &digits);
	if (!dtype_is_float(l->from))
		return;
	network_restore(&q.network, q.special, &good);
	lines_if(l, line, COND_EQ, read(&q, q.failed), ix(&q, 0), &good);
}
