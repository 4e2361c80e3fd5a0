/* Lanes of a network that are merged: of the first row with the last one, and so on, so that runs which go up stand against
 * runs the other way round.
 *
 *   first, last = rows i and rows - 1 - i
 *   moved = last, each 2, 4, 8, ... lanes the other way round
 *   first = upper ? the greater of first and moved : the less;  the same of last and what first was
 *   the same of each row and itself with halves of 4, 2, ... lanes in each other's place
 */
#include "lower/along/network.h"

enum { SHUFFLED = 16 };

/* The lane in the place of this one where each `n` groups of `size` lanes stand the other way round. */
static const Ix *flipped(const Network *n, int64_t size, int64_t groups)
{
	const Lines *l = n->l;
	const Ix *lane = network_lane(n);
	const Ix *first = lines_scale(l, lines_div(l, lane, size * groups), size * groups);
	const Ix *group = lines_sub(l, network_ix(n, groups - 1),
				    lines_mod(l, lines_div(l, lane, size), groups));
	const Ix *at = lines_add(l, first, lines_scale(l, group, size));
	return size > 1 ? lines_add(l, at, lines_mod(l, lane, size)) : at;
}

/* to = from with groups of lanes the other way round */
static void gather_lanes(const Network *n, LocalId to, LocalId from, int64_t size, int64_t groups,
			 Body *into)
{
	Body body = {0};
	network_set(n, &body, network_at(n, to, network_lane(n)),
		    network_at(n, from, flipped(n, size, groups)));
	network_each_lane(n, into, &body);
}

/* to = from with each `lanes` of them the other way round, in parts, which have instructions, and in between */
static void reverse(const Network *n, LocalId to, LocalId from, int64_t lanes, Body *into)
{
	int64_t part = SHUFFLED / (int64_t)dtype_bytes(n->dtype);
	gather_lanes(n, lanes > part ? n->low : to, from, 1, lanes < part ? lanes : part, into);
	if (lanes > part)
		gather_lanes(n, to, n->low, part, lanes / part, into);
}

/* x = the first of x and other, or where `upper` what is left over of other and x */
static void order_lanes(const Network *n, LocalId x, LocalId other, LocalId upper, Body *into)
{
	Body body = {0};
	const Lines *l = n->l;
	const Value *a = network_at(n, x, network_lane(n)),
		    *b = network_at(n, other, network_lane(n));
	const Value *is = network_at(n, upper, network_lane(n)),
		    *low = network_at(n, n->low, network_lane(n));
	network_set(n, &body, low, network_first(n, b, a, true));
	network_set(n, &body, a, network_first(n, a, b, false));
	network_set(n, &body, a, value_where(l->arena, is, low, a));
	network_each_lane(n, into, &body);
}

/* For each power of two of lanes a vector that is 1 in the upper half of as many. */
void network_set_uppers(Network *n, Body *into)
{
	Body body = {0};
	Arena *arena = n->l->arena;
	const Value *rest = network_at(n, n->low, network_lane(n));
	network_set(n, &body, rest, value_index(arena, n->dtype, network_lane(n)));
	for (uint32_t i = n->lane_merges; i-- > 0;) {
		n->upper[i] = network_vector(n, into, "upper");
		const Value *upper = network_at(n, n->upper[i], network_lane(n)),
			    *half = network_number(n, (double)(1 << i));
		network_set(n, &body, upper, value_binary(arena, OP_GE, rest, half));
		network_set(n, &body, rest,
			    value_binary(arena, OP_SUB, rest,
					 value_binary(arena, OP_MUL, half, upper)));
	}
	network_each_lane(n, into, &body);
}

typedef struct LanePair {
	LocalId x[2],
		other[2]; /* rows, the first and the last; with lanes in the places of others */
	const Ix *rows[2];
} LanePair;

static void move_pair(const Network *n, const LanePair *p, bool back, Body *into)
{
	for (int i = 0; i < 2; i++) {
		Body body = {0};
		const Value *x = network_at(n, p->x[i], network_lane(n));
		if (back)
			lines_push(n->l, &body, network_store(n, p->rows[i], x));
		else
			network_set(n, &body, x, network_row(n, p->rows[i]));
		network_each_lane(n, into, &body);
	}
}

/* Two rows of runs of 2^log lanes that are merged to runs of twice as many. */
static void merge_pair(const Network *n, const LanePair *p, uint32_t log, Body *into)
{
	move_pair(n, p, false, into);
	for (int i = 0; i < 2; i++)
		reverse(n, p->other[i], p->x[i], INT64_C(2) << log, into);
	for (int i = 0; i < 2; i++)
		order_lanes(n, p->x[i], p->other[1 - i], n->upper[log], into);
	while (log-- > 0)
		for (int i = 0; i < 2; i++) {
			gather_lanes(n, p->other[i], p->x[i], INT64_C(1) << log, 2, into);
			order_lanes(n, p->x[i], p->other[i], n->upper[log], into);
		}
	move_pair(n, p, true, into);
}

/* Runs that are 2^log lanes to those of twice as many, but for what is less than a lane apart. */
void network_merge_lanes(const Network *n, uint32_t log, Body *into)
{
	Body body = {0};
	const Lines *l = n->l;
	IterVar row = lines_iter(l, "row");
	const Ix *last = lines_sub(l, lines_sub(l, n->rows, network_ix(n, 1)), lines_at(l, row));
	if (n->rows->kind != IX_SIZE) /* so that it is seen to be inside */
		last = lines_max(l, last, network_ix(n, 0));
	LanePair p = {.rows = {lines_at(l, row), last}};
	for (int i = 0; i < 2; i++) {
		p.x[i] = network_vector(n, into, i ? "last" : "first");
		p.other[i] = network_vector(n, into, "moved");
	}
	merge_pair(n, &p, log, &body);
	lines_times(l, into, row, lines_div(l, n->rows, 2), &body);
}
