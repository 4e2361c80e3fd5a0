/* Lines in order by the digits of keys, the least first: radix sort.
 *
 * A key is an integer in the order of its element (loops.h), so that equal elements have equal keys.
 * Of each digit it is counted how many elements have it; what stands in front of those of a digit
 * follows, and with that each element is moved to its place, in the order in which they stand. After
 * the greatest digit they are in order, equal ones as they were.
 *
 *   for R
 *     clear counts; for t in 0..n: items[t] = x[R, t]; for each digit: counts[digit, its value] += 1
 *     local source : i64 = 0                       items has room for 2n: they move to the other half
 *     for each digit, where not all elements have the same:
 *       counts[digit, v] = counts[digit, 0] + ... + counts[digit, v - 1]
 *       for t in 0..n: items[n - source + counts[digit, its value]++] = items[source + t]
 *       source = n - source
 *     for t in 0..k: y[R, t] = items[source + t]
 *
 * Where the first k are asked for, the items may be those alone that select.c found among the elements.
 *
 * What moves are the elements or, for their places, words of 64 bits of which the upper half is the
 * key and the lower one the place; where keys fill 64 bits, the places alone.
 *
 * Indices that are read are held inside by minima and maxima, which change nothing.
 */
#include "lower/along/radix.h"

enum { HALF = 8 * sizeof(uint32_t) };

/* ---- keys ---- */

/* Of floats in the order that is asked for, of integers ascending. */
static const Value *key_value(const Lines *l, const Value *element)
{
	if (!dtype_is_float(element->dtype))
		return element;
	const Value *wide = value_cast(l->arena, dtype_wide(element->dtype), element);
	if (l->descending) /* NaN stays */
		wide = value_op(l->arena, OP_NEG, wide->dtype, &wide, 1);
	return value_key(l->arena, wide);
}

static const Ix *key_of(const Lines *l, const Value *element)
{
	return ix_value(l->arena, key_value(l, element));
}

/* An element of u32 with a sign, so that it fits. */
static const Value *with_sign(const Lines *l, const Value *element)
{
	const Value *middle = lines_number(l, DTYPE_U32, -(double)INT32_MIN);
	if (element->dtype != DTYPE_U32)
		return element;
	return value_cast(l->arena, DTYPE_I32, value_binary(l->arena, OP_SUB, element, middle));
}

const Value *sort_key(const Lines *l, const Value *element)
{
	Dtype dtype = sort_key_dtype(l);
	const Value *key = value_cast(l->arena, dtype, key_value(l, with_sign(l, element)));
	if (dtype_is_float(l->from) || !l->descending)
		return key;
	return value_binary(l->arena, OP_SUB, lines_number(l, dtype, -1), key);
}

/* A pair: key * 2^32 + place. */
static const Value *pair_of(const Lines *l, const Value *element, const Ix *at)
{
	const Ix *key = key_of(l, with_sign(l, element));
	return value_index(l->arena, DTYPE_I64,
			   lines_add(l, lines_scale(l, key, INT64_C(1) << HALF), at));
}

/* The key of what moves, in pairs above HALF bits. */
static const Ix *key_of_item(const Radix *r, const Value *item, Body *body)
{
	const Lines *l = r->l;
	if (r->way->pairs)
		return ix_value(l->arena, item);
	if (!l->ids)
		return key_of(l, item);
	const Ix *at = lines_inside(l, ix_value(l->arena, item), lines_last(l, l->extent));
	return key_of(l, l->element(l, at, body));
}

/* Where the digit of a key is counted. */
static const Ix *count_at(const Radix *r, const Digit *d, const Ix *key)
{
	const Lines *l = r->l;
	int64_t shift = d->shift + (r->way->pairs ? HALF : 0), n = INT64_C(1) << d->width;
	if (shift)
		key = lines_div(l, key, INT64_C(1) << shift);
	if (d->top && r->way->has_sign)
		key = lines_add(l, key, lines_const(l, n / 2));
	const Ix *digit = lines_mod(l, key, n);
	if (r->way->counts_down)
		digit = lines_sub(l, lines_const(l, n - 1), digit);
	return lines_add(l, lines_const(l, d->first), digit);
}

/* ---- items ---- */

static const Value *count_read(const Radix *r, const Ix *at)
{
	return value_load(r->l->program, r->way->counts, at);
}

static const Stmt *count_store(const Radix *r, const Ix *at, Op acc, const Value *value)
{
	return stmt_store(r->l->arena, r->way->counts, at, acc, value);
}

/* Where the half begins that holds the items, or the other. */
static const Ix *half(const Radix *r, bool other)
{
	const Lines *l = r->l;
	const Ix *n = lines_size(l, l->extent);
	const Ix *at = lines_read_ix(l, r->source);
	at = lines_inside(l, at, n);
	return other ? lines_sub(l, n, at) : at;
}

static const Value *item_read(const Radix *r, const Ix *at)
{
	return value_load(r->l->program, r->way->items, lines_add(r->l, half(r, false), at));
}

/* ---- the steps ---- */

static void clear(const Radix *r, Body *line)
{
	const Lines *l = r->l;
	Body body = {0};
	IterVar v = lines_iter(l, "digit");
	lines_push(l, &body,
		   count_store(r, lines_at(l, v), OP_NONE, lines_number(l, DTYPE_U32, 0)));
	lines_times(l, line, v, lines_const(l, r->way->ncounts), &body);
}

/* Counts each digit of an item. */
static void count_digits(const Radix *r, const Value *item, Body *body)
{
	const Ix *key = key_of_item(r, item, body);
	for (uint32_t i = 0; i < r->way->ndigits; i++)
		lines_push(r->l, body,
			   count_store(r, count_at(r, &r->way->digits[i], key), OP_ADD,
				       lines_number(r->l, DTYPE_U32, 1)));
}

const Value *radix_item(const Radix *r, const Value *element, const Ix *at)
{
	if (r->way->pairs)
		return pair_of(r->l, element, at);
	return r->l->ids ? value_index(r->l->arena, DTYPE_I32, at) : element;
}

/* The items as they stand in the operand, and all counts. */
static void fill(const Radix *r, Body *line)
{
	const Lines *l = r->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t);
	const Value *item = NULL;
	if (!l->ids || r->way->pairs)
		item = l->element(l, at, &body);
	item = lines_read(l, lines_local(l, &body, "item", radix_item(r, item, at)));
	lines_put(l, &body, r->way->items, at, item);
	count_digits(r, item, &body);
	lines_each(l, line, t, l->extent, &body);
}

/* The counts of items that are there. */
static void count_all(const Radix *r, Body *line)
{
	const Lines *l = r->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Value *item = value_load(l->program, r->way->items, lines_at(l, t));
	count_digits(r, lines_read(l, lines_local(l, &body, "item", item)), &body);
	lines_times(l, line, t, r->n, &body);
}

/* What stands in front of the items of each value. */
static void add_up(const Radix *r, const Digit *d, Body *body)
{
	const Lines *l = r->l;
	Body step = {0};
	IterVar v = lines_iter(l, "digit");
	const Ix *at = lines_at(l, v), *first = lines_const(l, d->first);
	LocalId before = lines_local(l, body, "before", lines_number(l, DTYPE_U32, 0));
	LocalId count = lines_local(l, &step, "count", count_read(r, at));
	lines_push(l, &step, count_store(r, at, OP_NONE, lines_read(l, before)));
	lines_set(l, &step, before, OP_ADD, lines_read(l, count));
	lines_for(l, body, v, first, lines_add(l, first, lines_const(l, INT64_C(1) << d->width)), 1,
		  &step);
}

static void move(const Radix *r, const Digit *d, Body *body)
{
	const Lines *l = r->l;
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *last = lines_last(l, l->extent);
	const Value *item =
		lines_read(l, lines_local(l, &step, "item", item_read(r, lines_at(l, t))));
	const Ix *at = count_at(r, d, key_of_item(r, item, &step));
	at = lines_read_ix(l, lines_local_ix(l, &step, "at", at));
	const Value *place = lines_read(l, lines_local(l, &step, "place", count_read(r, at)));
	const Ix *to = lines_min(l, ix_value(l->arena, place), last);
	lines_put(l, &step, r->way->items, lines_add(l, half(r, true), to), item);
	lines_push(
		l, &step,
		count_store(r, at, OP_NONE,
			    value_binary(l->arena, OP_ADD, place, lines_number(l, DTYPE_U32, 1))));
	lines_times(l, body, t, r->n, &step);
}

/* By one digit, where the first item does not have that of all. */
static void by_digit(const Radix *r, const Digit *d, Body *line)
{
	const Lines *l = r->l;
	Body body = {0};
	const Value *first =
		lines_read(l, lines_local(l, line, "item", item_read(r, lines_const(l, 0))));
	const Ix *at = count_at(r, d, key_of_item(r, first, line));
	const Ix *same = ix_value(l->arena, count_read(r, at));
	add_up(r, d, &body);
	move(r, d, &body);
	lines_set_ix(l, &body, r->source, OP_NONE, half(r, true));
	lines_if(l, line, COND_LT, same, r->n, &body);
}

static void keep(const Radix *r, Body *line)
{
	const Lines *l = r->l;
	Body body = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t);
	const Value *value = item_read(r, lines_inside(l, at, lines_last(l, l->extent)));
	if (r->way->pairs)
		value = value_index(l->arena, DTYPE_I32,
				    lines_mod(l, ix_value(l->arena, value), INT64_C(1) << HALF));
	lines_push(l, &body, lines_store(l, at, value));
	lines_each(l, line, t, l->results, &body);
}

Radix radix_new(const Lines *l, const SortWay *way)
{
	return (Radix){.l = l, .way = way, .n = lines_size(l, l->extent)};
}

/* By all digits, which are counted. */
static void sort_counted(Radix *r, Body *line)
{
	const Lines *l = r->l;
	r->source = lines_local_ix(l, line, "source", lines_const(l, 0));
	for (uint32_t i = 0; i < r->way->ndigits; i++)
		by_digit(r, &r->way->digits[i], line);
	keep(r, line);
}

void sort_items(Radix *r, Body *line)
{
	clear(r, line);
	count_all(r, line);
	sort_counted(r, line);
}

void sort_by_digits(const Lines *l, const SortWay *way, Body *line)
{
	Radix r = radix_new(l, way);
	clear(&r, line);
	fill(&r, line);
	sort_counted(&r, line);
}
