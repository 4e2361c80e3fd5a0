/* Short lines in order, of which vectors have an element each.
 *
 * Neighbouring elements of a line change places where the latter comes before the former, from the last pair to the
 * first, which brings the first element to the front; then of the elements behind it, as often as elements are kept.
 * Which elements are compared does not depend on them, so that vectors compare those of neighbouring lines. Equal
 * elements never change places, and so stay in the order that they have.
 *
 *   for first in 0..lines - 15 step 16
 *     vector lane in 0..16
 *       local item_t = x[first + lane, t]                         for each t
 *       local former = item_(t + 1) before item_t ? item_(t + 1) : item_t,
 *             latter = item_(t + 1) before item_t ? item_t : item_(t + 1)    for each exchange
 *       y[first + lane, t] = item_t                               for each that is kept
 */
#include "lower/along/exchange.h"

typedef struct Items {
	const Value **elements;
	const Value **places; /* NULL: they are not wanted */
} Items;

/* The value as a local, which is computed once. */
static const Value *local_of(const Lines *l, Body *body, const char *name, const Value *value)
{
	return lines_read(l, lines_local(l, body, name, value));
}

static Items load_items(const Lines *l, int64_t n, Body *body)
{
	Items items = {ARENA_ARRAY(l->arena, const Value *, n), NULL};
	if (l->ids)
		items.places = ARENA_ARRAY(l->arena, const Value *, n);
	for (int64_t t = 0; t < n; t++) {
		const Ix *at = lines_const(l, t);
		items.elements[t] = local_of(l, body, "item", l->element(l, at, body));
		if (l->ids)
			items.places[t] = value_index(l->arena, l->dtype, at);
	}
	return items;
}

/* Of the pair after the exchange: what is read later. */
typedef struct PairReads {
	bool former, latter;
} PairReads;

static void exchange_values(const Lines *l, const Value *later, const Value **pair,
			    const char *name, PairReads reads, Body *body)
{
	const Value *former = value_where(l->arena, later, pair[1], pair[0]);
	const Value *latter = value_where(l->arena, later, pair[0], pair[1]);
	if (reads.former)
		pair[0] = local_of(l, body, name, former);
	if (reads.latter)
		pair[1] = local_of(l, body, name, latter);
}

/* Of elements `t` and t + 1 on the way of the `i`-th of the k of n that are kept to the front. */
static void exchange(const Lines *l, const Items *items, int64_t t, int64_t i, int64_t k, int64_t n,
		     Body *body)
{
	const Value *later = sort_comes_before(l, items->elements[t + 1], items->elements[t]);
	PairReads result = {true, k == n || i + 1 < k};
	PairReads compared = {t > i, i + 1 < k && i + 2 < n};
	if (items->places)
		exchange_values(l, later, &items->places[t], "place", result, body);
	exchange_values(l, later, &items->elements[t], "item", items->places ? compared : result,
			body);
}

/* The lines of which the last outer axis is at one lane. */
static void sort_lanes(const Lines *l, Body *body)
{
	int64_t n, k;
	REQUIRE(size_is_const(l->sizes, l->extent, &n) && size_is_const(l->sizes, l->results, &k));
	Items items = load_items(l, n, body);
	for (int64_t i = 0; i < k; i++)
		for (int64_t t = n - 1; t-- > i;)
			exchange(l, &items, t, i, k, n, body);
	const Value **values = l->ids ? items.places : items.elements;
	for (int64_t i = 0; i < k; i++)
		lines_push(l, body, lines_store(l, lines_const(l, i), values[i]));
}

void sort_by_exchanges(const Lines *l, const SortWay *way, Body *into)
{
	Body lanes = {0}, block = {0};
	IterVar lane = lines_iter(l, "lane");
	const Ix **last = &l->outer[l->nouter - 1], *first = *last;
	*last = lines_add(l, first, lines_at(l, lane));
	sort_lanes(l, &lanes);
	*last = first;
	lines_push(l, &block,
		   stmt_loop(l->program, LOOP_VECTOR, lane, way->lanes, body_block(&lanes)));
	lines_push(l, into, lines_whole_blocks(l, way->lanes, &block));
}
