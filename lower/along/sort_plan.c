/* In which ways lines are sorted, each with the sizes that it is for (sort.c). */
#include "lower/along/lines_plan.h"

#include "loops/linear.h"

/* ---- sizes ---- */

/* Elements of a line at most that a network sorts; 0: none. */
static int64_t network_most(const Lines *l)
{
	const Target *target = l->program->options.target;
	bool fits = !l->program->options.gpu && sort_network_dtype(l) != DTYPE_NONE &&
		    target->vector_bytes >= target->sort_network_vector;
	return fits ? target->sort_network / (int64_t)dtype_bytes(sort_network_dtype(l)) : 0;
}

/* Elements of a line at most that is sorted by counting. A network sorts all of a longer one sooner than it counts. */
static int64_t ranks_most(const Lines *l)
{
	const Target *target = l->program->options.target;
	bool sooner = network_most(l) > 0 && size_same(l->results, l->extent) &&
		      target->sort_ranks_vector < target->sort_ranks;
	return sooner ? target->sort_ranks_vector : target->sort_ranks;
}

/* Are longer lines than these parted? */
static bool has_parts(const Lines *l)
{
	const Target *target = l->program->options.target;
	return network_most(l) > 0 && sort_network_dtype(l) == l->from &&
	       size_same(l->results, l->extent) &&
	       target->vector_bytes >= target->sort_parts_vector;
}

/* Elements of a group of lines from which few are selected: fewer where more are kept, so that there are
 * several groups for each. */
static int64_t group_size(const Lines *l)
{
	const Target *target = l->program->options.target;
	int64_t n, k, size = target->select_group;
	if (!size_is_const(l->sizes, l->extent, &n) || !size_is_const(l->sizes, l->results, &k))
		return size;
	while (size > target->select_group_least && 4 * size * k > n)
		size /= 2;
	return size;
}

/* A condition on sizes under which lines are sorted so, if it does not always hold. */
static void require(const Lines *l, SortWay *way, CondKind kind, Size a, Size b)
{
	int64_t difference;
	if (!size_is_const(l->sizes, size_sub(l->sizes, b, a), &difference))
		way->conds[way->nconds++] = (Cond){kind, lines_size(l, a), lines_size(l, b)};
	else if (difference < (kind == COND_LT))
		way->never = true;
}

/* above < n <= most; 0: of any length */
static void require_length(const Lines *l, SortWay *way, int64_t above, int64_t most)
{
	require(l, way, COND_LT, size_const(l->sizes, above), l->extent);
	if (most)
		require(l, way, COND_LE, l->extent, size_const(l->sizes, most));
}

/* Few are kept of a line, or not; twice as many groups as those are enough. */
static void require_few(const Lines *l, SortWay *way, bool few)
{
	Size groups = size_scale(l->sizes, l->results, 2 * group_size(l));
	if (size_same(l->results, l->extent)) {
		way->never |= few;
		return;
	}
	if (few) {
		require(l, way, COND_LT, size_const(l->sizes, 0), l->results);
		require(l, way, COND_LE, groups, l->extent);
	} else {
		require(l, way, COND_LT, l->extent, groups);
	}
}

static void find_conditions(const Lines *l, SortBy by, SortWay *way)
{
	const Target *target = l->program->options.target;
	way->conds = ARENA_ARRAY(l->arena, Cond, 4);
	int64_t network = network_most(l), ranks = ranks_most(l);
	int64_t above = network > ranks ? network : ranks;
	int64_t digits = above > target->sort_digits ? above : target->sort_digits;
	switch (by) {
	case BY_RANKS: require_length(l, way, 0, ranks); break;
	case BY_SELECTION: require_length(l, way, ranks, 0); break;
	case BY_NETWORK:
		way->never = network == 0;
		require_length(l, way, ranks, network);
		break;
	case BY_PARTS:
		way->never = !has_parts(l);
		require_length(l, way, above, 0);
		break;
	case BY_SHORT_DIGITS:
		way->never = above >= target->sort_digits;
		require_length(l, way, above, target->sort_digits);
		break;
	case BY_LONG_DIGITS:
		way->never = has_parts(l);
		require_length(l, way, digits, 0);
		break;
	case BY_EXCHANGES: /* whole lines: below */
	case SORT_WAYS: BUG("no way of sorting");
	}
	if (by != BY_RANKS)
		require_few(l, way, by == BY_SELECTION);
}

/* ---- digits ---- */

/* The bits of a key, without those that are 0 of all elements but NaN. */
static void key_bits(Dtype dtype, int64_t *low, int64_t *high)
{
	static const int64_t lows[DTYPE_COUNT] = {
		[DTYPE_BF16] = 16, [DTYPE_F16] = 13, [DTYPE_F8E4M3] = 20, [DTYPE_F8E5M2] = 21};
	*low = lows[dtype];
	*high = dtype_is_float(dtype) && dtype != DTYPE_F64 ? 32 : 8 * (int64_t)dtype_bytes(dtype);
}

/* Digits of at most so many bits, as equal as can be. */
static void find_digits(const Lines *l, SortWay *way, int64_t most)
{
	int64_t low, high;
	key_bits(l->from, &low, &high);
	int64_t n = (high - low + most - 1) / most, width = (high - low + n - 1) / n;
	for (int64_t i = 0; i < n; i++) {
		int64_t shift = low + i * width, bits = high - shift < width ? high - shift : width;
		way->digits[way->ndigits++] = (Digit){shift, bits, way->ncounts, i + 1 == n};
		way->ncounts += INT64_C(1) << bits;
	}
}

static void plan_digits(const Lines *l, SortWay *way, int64_t bits)
{
	way->counts_down = l->descending && !dtype_is_float(l->from);
	way->pairs = l->ids && dtype_bytes(l->from) < 8;
	/* a pair of u32 has its key with a sign */
	way->has_sign = !dtype_is_unsigned(l->from) || (way->pairs && l->from == DTYPE_U32);
	find_digits(l, way, bits);
	Dtype dtype = way->pairs ? DTYPE_I64 : l->ids ? DTYPE_I32 : l->from;
	way->items = l->temporary(l->of, "items", dtype, size_scale(l->sizes, l->extent, 2), false);
	way->counts =
		l->temporary(l->of, "counts", DTYPE_U32, size_const(l->sizes, way->ncounts), false);
}

/* ---- a network ---- */

/* Rows of vectors that hold the line, a power of two, and as much again for what is in order. */
static void plan_network(const Lines *l, SortWay *way)
{
	int64_t n = network_most(l), extent;
	if (size_is_const(l->sizes, l->extent, &extent) && extent < n)
		n = extent;
	Dtype dtype = sort_network_dtype(l);
	way->lanes = l->program->options.target->vector_bytes / (int64_t)dtype_bytes(dtype);
	way->tile = l->program->options.target->registers / 2;
	for (way->rows = way->tile; way->rows * way->lanes < n;)
		way->rows *= 2;
	way->items = l->temporary(l->of, "items", dtype,
				  size_const(l->sizes, 2 * way->rows * way->lanes), false);
}

/* ---- exchanges ---- */

/* Are elements of neighbouring lines so near that lanes read or store them? */
static bool is_near(const Lines *l, const Ix *at)
{
	int64_t stride;
	Size by = ix_stride(l->program, at, l->outer[l->nouter - 1]->iter);
	return size_is_const(l->sizes, by, &stride) && stride >= 1 && stride <= LANES_STRIDE;
}

/* Do vectors have an element of each of several lines? */
static bool is_in_lanes(const Lines *l)
{
	Body body = {0};
	const Ix *first = lines_const(l, 0);
	const Value *element = l->element(l, first, &body);
	return body.stmts.n == 0 && element->kind == VALUE_LOAD &&
	       element->dtype == dtype_wide(element->dtype) && is_near(l, element->ix) &&
	       is_near(l, l->result_index(l, first)) &&
	       (!l->ids || dtype_bytes(l->from) == dtype_bytes(l->dtype));
}

/* Neighbours change places until the first ones are in front, one after another: n - 1 comparisons for the first of n
 * elements, and one less for each behind it. */
static bool are_few_exchanges(const Lines *l)
{
	int64_t n, k, most = l->program->options.target->sort_exchanges;
	return size_is_const(l->sizes, l->extent, &n) && size_is_const(l->sizes, l->results, &k) &&
	       n > 1 && k > 0 && k <= n && n <= most + 1 && k * (2 * n - k - 1) / 2 <= most;
}

static SortWay plan_exchanges(const Lines *l)
{
	const Target *target = l->program->options.target;
	int64_t lanes = target->vector_bytes / (int64_t)dtype_bytes(l->from), lines;
	bool vectors =
		!l->program->options.gpu && target->vector_bytes >= target->sort_network_vector;
	bool fits = vectors && l->nouter > 0 && are_few_exchanges(l) && is_in_lanes(l);
	if (fits && size_is_const(l->sizes, l->extents[l->nouter - 1], &lines))
		fits = lines >= lanes;
	return (SortWay){.never = !fits,
			 .lanes = lanes,
			 .items = BUFFER_NONE,
			 .counts = BUFFER_NONE,
			 .least = BUFFER_NONE,
			 .stack = BUFFER_NONE};
}

/* ---- all of it ---- */

static void plan_parts(const Lines *l, SortWay *way)
{
	const Target *target = l->program->options.target;
	int64_t most = network_most(l);
	way->leaf = most - most / target->sort_parts_margin;
	way->sample = target->sort_parts_sample < most ? target->sort_parts_sample : most;
	way->levels = target->sort_parts_levels;
	way->block = target->sort_parts_block / (int64_t)dtype_bytes(l->from);
	way->stack_room = way->levels * (SORT_PARTS - 1) + SORT_PARTS;
	way->stack = l->temporary(l->of, "stack", DTYPE_I64,
				  size_const(l->sizes, SORT_FIELDS * way->stack_room), false);
}

static void plan_way(const Lines *l, SortBy by, SortWay *way)
{
	const Target *target = l->program->options.target;
	*way = (SortWay){.items = BUFFER_NONE,
			 .counts = BUFFER_NONE,
			 .least = BUFFER_NONE,
			 .stack = BUFFER_NONE};
	find_conditions(l, by, way);
	way->group = group_size(l);
	if (by == BY_NETWORK && (!way->never || has_parts(l)))
		plan_network(l, way);
	if (way->never || by == BY_RANKS || by == BY_NETWORK)
		return;
	if (by == BY_PARTS)
		plan_parts(l, way);
	bool wide = by == BY_LONG_DIGITS || by == BY_PARTS;
	plan_digits(l, way, wide ? target->sort_bits_long : target->sort_bits);
	if (by == BY_SELECTION)
		way->least = l->temporary(l->of, "least", sort_key_dtype(l),
					  size_plus(l->sizes, sort_groups(l, way), 1), false);
}

void sort_plan(const Lines *l, SortWay ways[SORT_WAYS])
{
	SortWay none = {.never = true,
			.items = BUFFER_NONE,
			.counts = BUFFER_NONE,
			.least = BUFFER_NONE,
			.stack = BUFFER_NONE};
	ways[BY_EXCHANGES] = plan_exchanges(l);
	for (SortBy by = BY_RANKS; by < BY_EXCHANGES; by++) {
		ways[by] = none;
		if (ways[BY_EXCHANGES].never)
			plan_way(l, by, &ways[by]);
	}
	if (!ways[BY_EXCHANGES].never)
		ways[BY_RANKS].never = false; /* of lines that are left over */
}
