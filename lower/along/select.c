/* The first k elements of a line in order, or their places, where k is far below its length.
 *
 * The line is cut into groups. The k-th of the groups' first keys is a bound: k elements at least are
 * not behind it, so none that is behind it is among the first k. Those that are not behind it are
 * collected from the groups that have some, and these are sorted (radix.c). Of keys equal to the
 * bound, the first k are enough. Elements in no particular order leave few more than k; whatever
 * their order is, at most a group's for each of k, and of a line already in order no more either.
 *
 *   for R
 *     for g in 0..n/SIZE: least[g] = min of the keys of x[R, g*SIZE..(g + 1)*SIZE]
 *     the rest of the line likewise
 *     bound = 0 where fewer than k of least are below 0, else the least integer
 *     for step = half of the range, and halves of it down to 1:
 *       if fewer than k of least are below bound + step: bound += step
 *     n = 0, equal = 0
 *     for g where least[g] <= bound: for t in the group
 *       items[n] = x[R, t]; n += x[R, t] before the bound, or at it and equal < k; equal += at it
 *     sort items[0..n], store the first k
 *
 * Places of the bound are found by halving the integers, since counting runs in lanes.
 */
#include "lower/along/radix.h"

typedef struct Select {
	const Lines *l;
	Radix radix;
	BufferId least; /* the first key of each group */
	Dtype dtype;	/* of keys */
	int64_t size;	/* elements of a group */
	Size groups;	/* whole ones */
	LocalId bound, n, equal;
} Select;

static const Value *whole(const Select *s, Dtype dtype, int64_t number)
{
	return value_const(s->l->arena, dtype, (Scalar){.i = number});
}

static const Value *key_at(const Select *s, const Ix *at, Body *body)
{
	return sort_key(s->l, s->l->element(s->l, at, body));
}

/* ---- groups ---- */

/* least[group] = the first key of [lo, hi) */
static void group_least(const Select *s, const Ix *group, const Ix *lo, const Ix *hi, Body *body)
{
	const Lines *l = s->l;
	Body step = {0};
	IterVar t = lines_iter(l, "t");
	LocalId first = lines_local(l, body, "first",
				    value_const(l->arena, s->dtype, op_neutral(OP_MIN, s->dtype)));
	lines_set(l, &step, first, OP_MIN, key_at(s, lines_at(l, t), &step));
	lines_for(l, body, t, lo, hi, 1, &step);
	lines_put(l, body, s->least, group, lines_read(l, first));
}

typedef void EachGroup(const Select *s, const Ix *group, const Ix *lo, const Ix *hi, Body *body);

/* Each group that is whole, and what is behind them. */
static void each_group(const Select *s, EachGroup *each, Body *line)
{
	const Lines *l = s->l;
	Body body = {0};
	IterVar g = lines_iter(l, "group");
	const Ix *lo = lines_scale(l, lines_at(l, g), s->size), *groups = lines_size(l, s->groups);
	each(s, lines_at(l, g), lo, lines_add(l, lo, lines_const(l, s->size)), &body);
	lines_each(l, line, g, s->groups, &body);
	each(s, groups, lines_scale(l, groups, s->size), lines_size(l, l->extent), line);
}

/* ---- the bound ---- */

/* A local: how many groups begin before the key. */
static const Value *count_below(const Select *s, const Value *key, Body *body)
{
	const Lines *l = s->l;
	Body step = {0};
	IterVar g = lines_iter(l, "group");
	LocalId count = lines_local(l, body, "count", whole(s, s->dtype, 0));
	const Value *least = value_load(l->program, s->least, lines_at(l, g));
	lines_set(l, &step, count, OP_ADD, value_binary(l->arena, OP_LT, least, key));
	lines_times(l, body, g, lines_size(l, size_plus(l->sizes, s->groups, 1)), &step);
	return lines_read(l, count);
}

/* bound = key where fewer than k groups begin before it */
static void raise_bound(const Select *s, const Value *key, Body *body)
{
	const Lines *l = s->l;
	Body raised = {0};
	const Ix *count = ix_value(l->arena, count_below(s, key, body));
	lines_set(l, &raised, s->bound, OP_NONE, key);
	lines_if(l, body, COND_LT, count, lines_size(l, l->results), &raised);
}

static void find_bound(Select *s, Body *line)
{
	const Lines *l = s->l;
	Body round = {0};
	bool wide = s->dtype == DTYPE_I64;
	int64_t bits = wide ? 63 : 31;
	s->bound = lines_local(l, line, "bound", whole(s, s->dtype, wide ? INT64_MIN : INT32_MIN));
	raise_bound(s, whole(s, s->dtype, 0), line);
	LocalId step = lines_local(l, line, "step", whole(s, s->dtype, INT64_C(1) << (bits - 1)));
	const Value *key =
		value_binary(l->arena, OP_ADD, lines_read(l, s->bound), lines_read(l, step));
	key = lines_read(l, lines_local(l, &round, "key", key));
	raise_bound(s, key, &round);
	const Ix *half = lines_div(l, lines_read_ix(l, step), 2);
	lines_set(l, &round, step, OP_NONE, value_index(l->arena, s->dtype, half));
	lines_times(l, line, lines_iter(l, "bit"), lines_const(l, bits), &round);
}

/* ---- items ---- */

/* The value of a local in [0, most], for the bounds. */
static const Ix *inside(const Select *s, LocalId id, const Ix *most)
{
	return lines_inside(s->l, lines_read_ix(s->l, id), most);
}

/* n += 1 where the key is before the bound, or is at it and one of the first k of those. */
static void count_item(const Select *s, const Value *key, Body *body)
{
	const Lines *l = s->l;
	const Value *bound = lines_read(l, s->bound);
	const Value *results = value_index(l->arena, s->dtype, lines_size(l, l->results));
	LocalId at = lines_local(l, body, "at", value_binary(l->arena, OP_EQ, key, bound));
	const Value *more = value_binary(l->arena, OP_LT, lines_read(l, s->equal), results);
	const Value *taken =
		value_binary(l->arena, OP_ADD, value_binary(l->arena, OP_LT, key, bound),
			     value_binary(l->arena, OP_MUL, lines_read(l, at), more));
	lines_set(l, body, s->n, OP_ADD, value_cast(l->arena, DTYPE_I64, taken));
	lines_set(l, body, s->equal, OP_ADD, lines_read(l, at));
}

static void collect(const Select *s, const Ix *group, const Ix *lo, const Ix *hi, Body *body)
{
	const Lines *l = s->l;
	Body step = {0}, some = {0};
	IterVar t = lines_iter(l, "t");
	const Ix *at = lines_at(l, t);
	const Ix *last = lines_last(l, l->extent);
	const Value *element = l->element(l, at, &step);
	const Value *item = radix_item(&s->radix, element, at);
	lines_put(l, &step, s->radix.way->items, inside(s, s->n, last), item);
	LocalId key = lines_local(l, &step, "key", sort_key(l, element));
	count_item(s, lines_read(l, key), &step);
	lines_for(l, &some, t, lo, hi, 1, &step);
	const Ix *least = ix_value(l->arena, value_load(l->program, s->least, group));
	lines_if(l, body, COND_LE, least, lines_read_ix(l, s->bound), &some);
}

void select_first(const Lines *l, const SortWay *way, Body *line)
{
	Select s = {.l = l, .size = way->group, .dtype = sort_key_dtype(l), .least = way->least};
	s.groups = sort_groups(l, way);
	s.radix = radix_new(l, way);
	each_group(&s, group_least, line);
	find_bound(&s, line);
	s.n = lines_local(l, line, "n", whole(&s, DTYPE_I64, 0));
	s.equal = lines_local(l, line, "equal", whole(&s, s.dtype, 0));
	each_group(&s, collect, line);
	s.radix.n = inside(&s, s.n, lines_size(l, l->extent));
	sort_items(&s.radix, line);
}
