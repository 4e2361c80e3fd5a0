/* Lines in order by a bitonic network: which elements are compared does not depend on them, so that vectors do it.
 *
 * The line stands in rows of as many elements as a vector has lanes, with infinity behind it, a power of two of rows. Each
 * lane is sorted along the rows, without a step between lanes; then lanes are merged with their neighbours, pairs of lanes,
 * fours, ... Element [row, lane] is number lane*rows + row of the result then, so that squares of vectors are transposed.
 * With tiles of 16 rows, half the registers:
 *
 *   sort the lanes of each 16 rows, in registers
 *   stride = 1, and in each step twice as much, up to rows/16
 *     merge runs of 16*stride rows, or where the rows of a lane are sorted, neighbouring lanes:
 *       order the first elements of one run and the last of the other
 *       order elements 8*stride, 4*stride, ... and 16 rows from each other, up to four of these distances at once in registers
 *       order elements 8, 4, 2 and 1 rows from each other, in registers
 *   y[lane*rows + row] = items[row*lanes + lane]
 *
 * What is compared are the numbers, with changed signs where the greatest come first. NaN goes as infinity, and of zeros the
 * order is lost: where the line has NaN or -0, its zeros and NaN are stored again, in the order in which they stand. Where
 * places are wanted, it is a key (radix.c) and the place in one number.
 */
#include "lower/along/network.h"
#include "lower/along/radix.h"

#include <math.h>

/* ---- what all of it is built of ---- */

const Ix *network_ix(const Network *n, int64_t value) { return lines_const(n->l, value); }

const Ix *network_lane(const Network *n) { return lines_at(n->l, n->lane); }

/* What stands behind all elements, or in front of them. */
const Value *network_end(const Network *n, bool last)
{
	if (dtype_is_float(n->dtype))
		return network_number(n, last ? INFINITY : -INFINITY);
	bool wide = n->dtype == DTYPE_I64;
	Scalar end = {.i = last ? (wide ? INT64_MAX : INT32_MAX) : (wide ? INT64_MIN : INT32_MIN)};
	return value_const(n->l->arena, n->dtype, end);
}

const Value *network_number(const Network *n, double value)
{
	return lines_number(n->l, n->dtype, value);
}

static LocalId new_local(const Network *n, Body *body, const char *name, const int64_t *extents,
			 uint32_t rank)
{
	LocalId id = frame_local(n->l->frame, name, n->dtype, extents, rank);
	lines_push(n->l, body, stmt_local(n->l->arena, id, network_number(n, 0)));
	return id;
}

LocalId network_vector(const Network *n, Body *body, const char *name)
{
	return new_local(n, body, name, &n->way->lanes, 1);
}

LocalId network_vectors(const Network *n, Body *body, const char *name, int64_t vectors)
{
	return new_local(n, body, name, (int64_t[]){vectors, n->way->lanes}, 2);
}

const Value *network_at(const Network *n, LocalId vector, const Ix *at)
{
	return frame_element(n->l->frame, vector, at);
}

const Value *network_of_row(const Network *n, LocalId rows, const Ix *row, const Ix *lane)
{
	return frame_value(n->l->frame, rows, (const Ix *[]){row, lane});
}

void network_set(const Network *n, Body *body, const Value *element, const Value *value)
{
	lines_push(n->l, body, stmt_set_at(n->l->arena, element, OP_NONE, value));
}

static const Ix *row_at(const Network *n, const Ix *row)
{
	return lines_add(n->l, lines_scale(n->l, row, n->way->lanes), network_lane(n));
}

const Value *network_row(const Network *n, const Ix *row)
{
	return value_load(n->l->program, n->way->items, row_at(n, row));
}

const Stmt *network_store(const Network *n, const Ix *row, const Value *value)
{
	return stmt_store(n->l->arena, n->way->items, row_at(n, row), OP_NONE, value);
}

void network_each_lane(const Network *n, Body *into, const Body *body)
{
	lines_push(n->l, into,
		   stmt_loop(n->l->program, LOOP_VECTOR, n->lane, n->way->lanes, body_block(body)));
}

void network_each_register(const Network *n, Body *into, int64_t trips, const Body *body)
{
	lines_push(n->l, into,
		   stmt_loop(n->l->program, LOOP_UNROLL, n->q, trips, body_block(body)));
}

/* ---- all merges ---- */

/* One merge of rows, which stand `stride` apart in registers, or from `merges` on of lanes. */
static void merge(const Network *n, const Ix *step, const Ix *stride, Body *into)
{
	Body rows = {0};
	const Ix *merges = network_ix(n, n->merges);
	for (uint32_t i = 0; i < n->merges; i++) {
		Body body = {0};
		network_order_runs(n, n->way->tile << i, &body);
		lines_if(n->l, &rows, COND_EQ, stride, network_ix(n, INT64_C(1) << i), &body);
	}
	lines_if(n->l, into, COND_LT, step, merges, &rows);
	for (uint32_t i = 0; i < n->lane_merges; i++) {
		Body body = {0};
		network_merge_lanes(n, i, &body);
		lines_if(n->l, into, COND_EQ, step, network_ix(n, n->merges + i), &body);
	}
}

static void merge_all(const Network *n, Body *into)
{
	Body body = {0};
	const Lines *l = n->l;
	IterVar step = lines_iter(l, "step");
	LocalId spacing = lines_local_ix(l, into, "stride", network_ix(n, 1));
	const Ix *stride = lines_read_ix(l, spacing);
	merge(n, lines_at(l, step), stride, &body);
	for (uint32_t i = n->merges; i > 0; i--) {
		Body strides = {0};
		network_order_strides(n, n->way->tile << i, n->way->tile, &strides);
		lines_if(l, &body, COND_EQ, stride, network_ix(n, INT64_C(1) << i), &strides);
	}
	network_order_strides(n, n->way->tile, 1, &body);
	const Ix *next =
		lines_min(l, lines_scale(l, stride, 2), lines_div(l, n->rows, n->way->tile));
	lines_set_ix(l, &body, spacing, OP_NONE, next);
	lines_for(l, into, step, n->first, network_ix(n, n->merges + n->lane_merges), 1, &body);
}

/* ---- the line ---- */

/* As many rows as a line of any length fills, and one merge less for each time that they are fewer by half. */
static void count_rows(Network *n, Body *into)
{
	const Lines *l = n->l;
	Body body = {0}, round = {0};
	LocalId rows = lines_local_ix(l, into, "rows", network_ix(n, n->way->tile));
	LocalId first = lines_local_ix(l, into, "first", network_ix(n, n->merges));
	const Value *twice =
		value_binary(l->arena, OP_ADD, lines_read(l, rows), lines_read(l, rows));
	lines_set(l, &body, rows, OP_NONE, twice);
	lines_set_ix(l, &body, first, OP_ADD, network_ix(n, -1));
	const Ix *room = lines_scale(l, lines_read_ix(l, rows), n->way->lanes);
	lines_if(l, &round, COND_LT, room, n->count, &body);
	lines_times(l, into, lines_iter(l, "round"), network_ix(n, n->merges), &round);
	n->rows = lines_min(l, lines_max(l, lines_read_ix(l, rows), network_ix(n, n->way->tile)),
			    n->rows);
	n->first = lines_max(l, lines_read_ix(l, first), network_ix(n, 0));
}

static void find_rows(Network *n, Body *into)
{
	int64_t count;
	bool known =
		n->count->kind == IX_SIZE && size_is_const(n->l->sizes, n->count->size, &count);
	n->rows = network_ix(n, n->way->rows);
	n->first = network_ix(n, 0);
	while (n->way->tile << n->merges < n->way->rows)
		n->merges++;
	while (INT64_C(1) << n->lane_merges < n->way->lanes)
		n->lane_merges++;
	if (!known && n->merges > 0)
		count_rows(n, into);
}

/* The other way round: the negative, of integers one less, which each of them has. */
static const Value *in_direction(const Network *n, const Value *value)
{
	Arena *arena = n->l->arena;
	if (!n->l->descending)
		return value;
	if (dtype_is_float(n->dtype))
		return value_op(arena, OP_NEG, n->dtype, &value, 1);
	return value_binary(arena, OP_SUB, network_number(n, -1), value);
}

/* The element as it is compared, but for NaN. */
static const Value *compared(const Network *n, const Value *element)
{
	return in_direction(n, value_cast(n->l->arena, n->dtype, element));
}

/* 1 of NaN and of zeros; of these, 1 of NaN and -0, which takes a division. */
static const Value *is_zero_or_nan(const Network *n, const Value *element)
{
	Arena *arena = n->l->arena;
	const Value *zero = network_number(n, 0);
	const Value *value = value_binary(arena, OP_OR, value_binary(arena, OP_LT, element, zero),
					  value_binary(arena, OP_LT, zero, element));
	return value_op(arena, OP_NOT, n->dtype, &value, 1);
}

static const Value *is_special(const Network *n, const Value *element)
{
	Arena *arena = n->l->arena;
	const Value *value = value_op(arena, OP_RECIP, n->dtype, &element, 1);
	value = value_binary(arena, OP_GT, value, network_number(n, -INFINITY));
	return value_op(arena, OP_NOT, n->dtype, &value, 1);
}

static const Value *is_number(const Network *n, const Value *value)
{
	return value_binary(n->l->arena, OP_EQ, value, value);
}

static const Value *is_zero(const Network *n, const Value *value)
{
	return value_binary(n->l->arena, OP_EQ, value, network_number(n, 0));
}

static void add_truth(const Network *n, LocalId count, const Value *truth, Body *body)
{
	lines_set(n->l, body, count, OP_ADD, value_cast(n->l->arena, DTYPE_I32, truth));
}

LocalId network_new_count(const Network *n, const char *name, Body *body)
{
	return lines_local(n->l, body, name, lines_number(n->l, DTYPE_I32, 0));
}

void network_copy_element(const Network *n, const Ix *from, const Ix *to, const LocalId *special,
			  Body *into)
{
	const Lines *l = n->l;
	const Value *element = l->element(l, from, into);
	element = lines_read(l,
			     lines_local(l, into, "item", value_cast(l->arena, n->dtype, element)));
	const Value *value = compared(n, element);
	if (dtype_is_float(n->dtype))
		value = value_where(l->arena, is_number(n, value), value, network_end(n, true));
	lines_put(l, into, n->way->items, to, value);
	if (special)
		add_truth(n, *special, is_zero_or_nan(n, element), into);
}

/* What is behind all elements, behind the items. */
static void pad(const Network *n, Body *into)
{
	const Lines *l = n->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	lines_put(l, &body, n->way->items, lines_at(l, t), network_end(n, true));
	lines_for(l, into, t, n->count, lines_scale(l, n->rows, n->way->lanes), 1, &body);
}

/* Where the lanes stand one behind the other, behind the rows. */
static const Ix *ordered_at(const Network *n, const Ix *at)
{
	return lines_add(n->l, network_ix(n, n->way->rows * n->way->lanes), at);
}

const Value *network_ordered(const Network *n, const Ix *at)
{
	return value_load(n->l->program, n->way->items, ordered_at(n, at));
}

/* Squares of the rows, transposed. */
static void put_in_order(const Network *n, Body *into)
{
	const Lines *l = n->l;
	int64_t lanes = n->way->lanes;
	Body body = {0}, column = {0}, columns = {0};
	IterVar square = lines_iter(l, "square");
	LocalId squares = network_vectors(n, &body, "square", lanes);
	const Ix *first = lines_scale(l, lines_at(l, square), lanes), *q = lines_at(l, n->q);
	Body row = {0}, rows = {0};
	network_set(n, &row, network_of_row(n, squares, q, network_lane(n)),
		    network_row(n, lines_add(l, first, q)));
	network_each_lane(n, &rows, &row);
	network_each_register(n, &body, lanes, &rows);
	const Ix *at =
		lines_add(l, ix_mul(l->program, q, n->rows), lines_add(l, first, network_lane(n)));
	lines_put(l, &column, n->way->items, ordered_at(n, at),
		  network_of_row(n, squares, network_lane(n), q));
	network_each_lane(n, &columns, &column);
	network_each_register(n, &body, lanes, &columns);
	lines_times(l, into, square, lines_div(l, n->rows, lanes), &body);
}

const Stmt *network_keep(const Network *n, const Ix *at, const Value *value)
{
	return lines_store(n->l, at, in_direction(n, value));
}

/* ---- zeros and NaN ---- */

/* Stores the element at the count's place, if that is stored, and counts it, where it is one of those. */
static void put_back(const Network *n, LocalId count, const Value *is, const Value *element,
		     Body *into)
{
	const Lines *l = n->l;
	Body stored = {0}, body = {0};
	const Ix *at = lines_max(l, lines_read_ix(l, count), network_ix(n, 0));
	const Ix *last = lines_last(l, l->results);
	lines_push(l, &stored, lines_store(l, lines_min(l, at, last), element));
	lines_if(l, &body, COND_LT, lines_read_ix(l, count), lines_size(l, l->results), &stored);
	add_truth(n, count, lines_number(l, DTYPE_I32, 1), &body);
	const Ix *truth = ix_value(l->arena, value_cast(l->arena, DTYPE_I32, is));
	lines_if(l, into, COND_EQ, truth, network_ix(n, 1), &body);
}

static void put_all_back(const Network *n, Body *into)
{
	const Lines *l = n->l;
	Body body = {0}, count = {0}, store = {0};
	IterVar t = lines_iter(l, "t");
	LocalId zero = network_new_count(n, "zero", &body),
		nan = network_new_count(n, "nan", &body);
	const Value *value = compared(n, l->element(l, lines_at(l, t), &count));
	add_truth(n, zero, value_binary(l->arena, OP_LT, value, network_number(n, 0)), &count);
	add_truth(n, nan, is_number(n, value), &count);
	lines_each(l, &body, t, l->extent, &count);
	IterVar again = lines_iter(l, "t");
	const Value *element = l->element(l, lines_at(l, again), &store);
	value = value_cast(l->arena, n->dtype, element);
	put_back(n, zero, is_zero(n, value), element, &store);
	put_back(n, nan, value_op(l->arena, OP_ISNAN, n->dtype, &value, 1), element, &store);
	lines_each(l, &body, again, l->extent, &store);
	body_append(l->arena, into, body_block(&body));
}

/* Counts those that lose their place, where there are zeros or NaN at all. */
void network_restore(const Network *n, LocalId special, Body *into)
{
	const Lines *l = n->l;
	Body body = {0}, count = {0}, all = {0};
	IterVar t = lines_iter(l, "t");
	LocalId lost = network_new_count(n, "lost", &body);
	const Value *element = l->element(l, lines_at(l, t), &count);
	add_truth(n, lost, is_special(n, value_cast(l->arena, n->dtype, element)), &count);
	lines_each(l, &body, t, l->extent, &count);
	put_all_back(n, &all);
	lines_if(l, &body, COND_LT, network_ix(n, 0), lines_read_ix(l, lost), &all);
	Cond *conds = ARENA_ARRAY(l->arena, Cond, 2);
	conds[0] = (Cond){COND_LT, network_ix(n, 0), lines_size(l, l->results)};
	conds[1] = (Cond){COND_LT, network_ix(n, 0), lines_read_ix(l, special)};
	lines_push(l, into, stmt_if(l->arena, conds, 2, body_block(&body)));
}

Network network_new(const Lines *l, const SortWay *way)
{
	return (Network){.l = l,
			 .way = way,
			 .dtype = sort_network_dtype(l),
			 .lane = lines_iter(l, "lane"),
			 .q = lines_iter(l, "q")};
}

void network_begin(Network *n, const Ix *count, Body *into)
{
	n->count = count;
	find_rows(n, into);
}

void network_sort(Network *n, Body *into)
{
	pad(n, into);
	n->low = network_vector(n, into, "low");
	network_set_uppers(n, into);
	n->tile = network_vectors(n, into, "tile", n->way->tile);
	network_sort_tiles(n, into);
	merge_all(n, into);
	put_in_order(n, into);
}

/* ---- places ---- */

/* Places that a key has room for, a power of two: with keys of 32 bits, items are whole numbers that f64 has. */
static const Value *room(const Network *n)
{
	return network_number(n, (double)(n->way->rows * n->way->lanes));
}

/* items[t] = key * room + t: elements of one key stay in their order. */
static void copy_keys(const Network *n, Body *into)
{
	const Lines *l = n->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Value *key = sort_key(l, l->element(l, lines_at(l, t), &body));
	const Value *place = value_index(l->arena, DTYPE_I32, lines_at(l, t));
	const Value *item = value_binary(
		l->arena, OP_ADD,
		value_binary(l->arena, OP_MUL, value_cast(l->arena, n->dtype, key), room(n)),
		value_cast(l->arena, n->dtype, place));
	lines_put(l, &body, n->way->items, lines_at(l, t), item);
	lines_each(l, into, t, l->extent, &body);
}

/* The place of an item, by operations that are exact. */
static const Value *place_of(const Network *n, const Value *item)
{
	Arena *arena = n->l->arena;
	const Value *key = value_binary(arena, OP_DIV, item, room(n));
	key = value_op(arena, OP_FLOOR, n->dtype, &key, 1);
	const Value *place =
		value_binary(arena, OP_SUB, item, value_binary(arena, OP_MUL, key, room(n)));
	return value_cast(arena, DTYPE_I32, place);
}

static void sort_places(Network *n, Body *line)
{
	const Lines *l = n->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	copy_keys(n, line);
	network_sort(n, line);
	const Value *item = network_ordered(n, lines_at(l, t));
	lines_push(l, &body, lines_store(l, lines_at(l, t), place_of(n, item)));
	lines_each(l, line, t, l->results, &body);
}

void sort_by_network(const Lines *l, const SortWay *way, Body *line)
{
	Body body = {0}, copy = {0};
	IterVar t = lines_iter(l, "t");
	Network n = network_new(l, way);
	network_begin(&n, lines_size(l, l->extent), line);
	if (l->ids) {
		sort_places(&n, line);
		return;
	}
	IterVar at = lines_iter(l, "t");
	bool floats = dtype_is_float(l->from);
	LocalId special = floats ? network_new_count(&n, "special", line) : 0;
	network_copy_element(&n, lines_at(l, at), lines_at(l, at), floats ? &special : NULL, &copy);
	lines_each(l, line, at, l->extent, &copy);
	network_sort(&n, line);
	lines_push(l, &body, network_keep(&n, lines_at(l, t), network_ordered(&n, lines_at(l, t))));
	lines_each(l, line, t, l->results, &body);
	if (floats)
		network_restore(&n, special, line);
}
