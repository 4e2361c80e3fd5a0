/* One tile whose lanes run along a sum.
 *
 *   for k in 0..96 step 16
 *     unroll r, c: vector lane in 0..16: acc[r, c, lane] += a[.., k + lane] * b[.., k + lane]
 *   unroll r, c: vector lane in 0..8: rest8[r, c, lane] += ... of the 8 steps from 96 on
 *   for k in 104..107: unroll r, c: rest[r, c] += ...
 *   unroll r, c
 *     half8[lane] = (acc[r, c, lane] + acc[r, c, lane + 8]) + rest8[r, c, lane]
 *     half4[lane] = half8[lane] + half8[lane + 4]
 *     sum[r, c] = ((half4[0] + half4[1]) + (half4[2] + half4[3])) + rest[r, c]
 *   for r: vector c: y[..] = relu(sum[r, c])
 *
 * Products of i8 and u8 come first in groups of four neighbours a lane, which are one instruction:
 *
 *   for k in 0..192 step 64
 *     unroll r, c: vector lane in 0..16: acc[r, c, lane] += a[.., k + 4*lane]*b[..] + ... + a[.., k + 4*lane + 3]*b[..]
 *
 * Lanes are those of sums_order, whatever the machine's vectors are, so the order of additions
 * depends on the extent of the sum alone.
 */
#include "lower/tile_emit.h"

#include "base/diag.h"

enum { HALVES_MAX = 6, QUAD = 4, STEPS_FEW = 4 };

typedef struct Dot {
	Tile *tile;
	int64_t rows, cols;
	bool prefetches; /* in each step */
	LocalId acc, rest;
	bool has_acc, has_rest;
	LocalId part[HALVES_MAX]; /* by the logarithm of its lanes: steps that are left of a known
				     extent */
	bool has_part[HALVES_MAX];
	Size grouped;	  /* steps in `acc` in groups of four a lane */
	Size whole;	  /* steps in `acc` */
	Size left;	  /* where single steps begin */
	const Ix *column; /* of an element; NULL: c */
	Body loops;	  /* over the steps, inside other sums */
	Body top;
} Dot;

static int64_t least_lanes(const Dot *dot) { return dot->tile->order.least; }

static Block over_elements(const Dot *dot, LoopKind kind, Block body)
{
	body = tile_unroll(dot->tile, kind, dot->tile->c, dot->cols, body);
	return tile_unroll(dot->tile, kind, dot->tile->r, dot->rows, body);
}

static const Value *dot_value(const Dot *dot, LocalId local, const Ix *lane)
{
	Arena *arena = dot->tile->nest->gen->arena;
	const Ix *column = dot->column ? dot->column : ix_iter(arena, dot->tile->c);
	const Ix *place[] = {ix_iter(arena, dot->tile->r), column, lane};
	return tile_local(dot->tile, local, place, lane ? 3 : 2);
}

static LocalId declare(Dot *dot, const char *name, int64_t lanes)
{
	Gen *gen = dot->tile->nest->gen;
	LocalId id = tile_declare(dot->tile, name, (int64_t[]){dot->rows, dot->cols, lanes},
				  lanes ? 3 : 2);
	PUSH(gen->arena, dot->top.stmts, stmt_local(gen->arena, id, nest_neutral(dot->tile->nest)));
	return id;
}

/* `lanes` steps from `first` on, added to the lanes of a local. */
static Block add_lanes(Dot *dot, const Ix *first, LocalId to, int64_t lanes)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	const Ix *lane = ix_iter(gen->arena, tile->lane);
	tile->nest->by_iter[tile->along->iter] = ix_add(gen->program, first, lane);
	Block add = tile_unroll(tile, LOOP_VECTOR, tile->lane, lanes,
				tile_add(tile, dot_value(dot, to, lane)));
	return over_elements(dot, LOOP_UNROLL, add);
}

static const Value *plus(const Dot *dot, const Value *a, const Value *b)
{
	if (!a || !b)
		return a ? a : b;
	return value_binary(dot->tile->nest->gen->arena, OP_ADD, a, b);
}

/* The value at four steps from `first` on for every lane, added up. */
static const Value *quad_value(Dot *dot, const Ix *first)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	const Ix *lanes =
		ix_mul(gen->program, ix_iter(gen->arena, tile->lane), tile_const(tile, QUAD));
	const Value *sum = NULL;
	for (int64_t q = 0; q < QUAD; q++) {
		const Ix *step = ix_add(gen->program, lanes, tile_const(tile, q));
		tile->nest->by_iter[tile->along->iter] = ix_add(gen->program, first, step);
		nest_values(tile->nest);
		sum = plus(dot, sum, tile->nest->value);
	}
	return sum;
}

static void add_quads(Dot *dot)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	int64_t steps = QUAD * tile->lanes;
	Sizes *sizes = gen->program->sizes;
	dot->grouped = size_scale(sizes, size_floor(sizes, tile->along->extent, steps), steps);
	const Value *value = quad_value(dot, ix_iter(gen->arena, tile->along->var));
	const Value *element = dot_value(dot, dot->acc, ix_iter(gen->arena, tile->lane));
	Block add = block_of(gen, stmt_set_at(gen->arena, element, OP_ADD, value));
	add = over_elements(dot, LOOP_UNROLL,
			    tile_unroll(tile, LOOP_VECTOR, tile->lane, tile->lanes, add));
	const Stmt *loop = stmt_for(gen->arena, tile->along->var, tile_const(tile, 0),
				    ix_size(gen->arena, dot->grouped), add);
	PUSH(gen->arena, dot->loops.stmts, stmt_step(gen->arena, loop, steps));
}

/* Are there a few whole vectors, inside another sum? A loop's counting would cost as much as they do. */
static bool has_short_sum(const Dot *dot)
{
	const Tile *tile = dot->tile;
	const Nest *nest = tile->nest;
	int64_t steps;
	return tile->group == 1 && nest->nloops - nest->nresult >= 2 &&
	       size_is_const(nest->gen->program->sizes, dot->whole, &steps) &&
	       steps <= STEPS_FEW * tile->lanes;
}

static void add_short_sum(Dot *dot)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	int64_t steps;
	REQUIRE(size_is_const(gen->program->sizes, dot->whole, &steps));
	for (int64_t at = 0; at < steps; at += tile->lanes)
		gen_append(gen, &dot->loops,
			   add_lanes(dot, tile_const(tile, at), dot->acc, tile->lanes));
	tile->nest->by_iter[tile->along->iter] = tile_const(tile, 0);
	if (dot->prefetches)
		gen_append(gen, &dot->loops, tile_prefetch_along(tile, dot->cols));
}

static void add_whole(Dot *dot)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	dot->has_acc = true;
	dot->acc = declare(dot, "acc", tile->lanes);
	if (tile->group > 1)
		add_quads(dot);
	if (size_same(dot->grouped, dot->whole))
		return;
	if (has_short_sum(dot)) {
		add_short_sum(dot);
		return;
	}
	Body add = {0};
	const Ix *first = ix_iter(gen->arena, tile->along->var);
	gen_append(gen, &add, add_lanes(dot, first, dot->acc, tile->lanes));
	tile->nest->by_iter[tile->along->iter] = first;
	if (dot->prefetches)
		gen_append(gen, &add, tile_prefetch_along(tile, dot->cols));
	const Stmt *loop = stmt_for(gen->arena, tile->along->var, ix_size(gen->arena, dot->grouped),
				    ix_size(gen->arena, dot->whole), body_block(&add));
	PUSH(gen->arena, dot->loops.stmts, stmt_step(gen->arena, loop, tile->lanes));
}

/* Halves, quarters, ... of the lanes that are left of a known extent. */
static void add_parts(Dot *dot, int64_t extent)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	int64_t at = extent / tile->lanes * tile->lanes;
	for (int64_t lanes = tile->lanes / 2; lanes >= least_lanes(dot); lanes /= 2) {
		if (!((extent - at) & lanes))
			continue;
		int log = __builtin_ctzll((unsigned long long)lanes);
		dot->has_part[log] = true;
		dot->part[log] =
			declare(dot, arena_printf(gen->arena, "rest%d", (int)lanes), lanes);
		gen_append(gen, &dot->loops,
			   add_lanes(dot, tile_const(tile, at), dot->part[log], lanes));
		at += lanes;
	}
	dot->left = size_const(gen->program->sizes, at);
}

/* Single steps. Few that are known are straight lines: a loop over them might be compiled to
 * products in lanes that are rounded before they are added, in one tile and not in another. */
static void add_rest(Dot *dot)
{
	Tile *tile = dot->tile;
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	dot->has_rest = true;
	dot->rest = declare(dot, "rest", 0);
	nest->by_iter[tile->along->iter] = ix_iter(gen->arena, tile->along->var);
	Block add =
		over_elements(dot, LOOP_UNROLL, tile_add(tile, dot_value(dot, dot->rest, NULL)));
	int64_t extent;
	Stmt *loop = stmt_for(gen->arena, tile->along->var, ix_size(gen->arena, dot->left),
			      ix_size(gen->arena, tile->along->extent), add);
	bool known = size_is_const(gen->program->sizes, tile->along->extent, &extent);
	loop->loop = known ? LOOP_UNROLL : LOOP_SERIAL;
	PUSH(gen->arena, dot->loops.stmts, loop);
}

/* ---- adding up ---- */

/* Two halves of the lanes at hand, and the part of that many lanes: a new local of half the lanes.
 */
static LocalId lane_tree(Dot *dot, Body *element, const LocalId *from, int64_t lanes, bool elements)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	const Ix *low = ix_iter(gen->arena, tile->lane);
	const Ix *high = ix_add(gen->program, low, tile_const(tile, lanes));
	const Value *sum = NULL;
	int log = __builtin_ctzll((unsigned long long)lanes);
	if (from && elements)
		sum = plus(dot, dot_value(dot, *from, low), dot_value(dot, *from, high));
	else if (from)
		sum = plus(dot, tile_local(tile, *from, &low, 1),
			   tile_local(tile, *from, &high, 1));
	if (dot->has_part[log])
		sum = plus(dot, sum, dot_value(dot, dot->part[log], low));
	LocalId half =
		tile_declare(tile, arena_printf(gen->arena, "half%d", (int)lanes), &lanes, 1);
	PUSH(gen->arena, element->stmts, stmt_local(gen->arena, half, nest_neutral(tile->nest)));
	Block set = block_of(
		gen, stmt_set_at(gen->arena, tile_local(tile, half, &low, 1), OP_NONE, sum));
	gen_append(gen, element, tile_unroll(tile, LOOP_VECTOR, tile->lane, lanes, set));
	return half;
}

/* Elements 0 to n of a local, in pairs, in pairs of pairs: all of its only axis, or of the last
 * one, lane by lane of the first. */
static const Value *pairs(const Dot *dot, LocalId local, int64_t from, int64_t n, const Ix *lane)
{
	if (n > 1)
		return plus(dot, pairs(dot, local, from, n / 2, lane),
			    pairs(dot, local, from + n / 2, n / 2, lane));
	const Ix *at[] = {lane, tile_const(dot->tile, from)};
	return lane ? tile_local(dot->tile, local, at, 2) : tile_local(dot->tile, local, at + 1, 1);
}

static bool has_parts(const Dot *dot)
{
	bool parts = false;
	for (int log = 0; log < HALVES_MAX; log++)
		parts |= dot->has_part[log];
	return parts;
}

/* The lanes of one element added up to the fewest. Requires that there are any. */
static LocalId lane_tree_element(Dot *dot, Body *element)
{
	const LocalId *from = dot->has_acc ? &dot->acc : NULL;
	LocalId lane_sum = dot->acc;
	bool elements = true;
	for (int64_t lanes = dot->tile->lanes / 2; lanes >= least_lanes(dot); lanes /= 2) {
		if (!from && !dot->has_part[__builtin_ctzll((unsigned long long)lanes)])
			continue;
		lane_sum = lane_tree(dot, element, from, lanes, elements);
		from = &lane_sum;
		elements = false;
	}
	return lane_sum;
}

static const Value *with_rest(const Dot *dot, const Value *sum)
{
	return dot->has_rest ? plus(dot, sum, dot_value(dot, dot->rest, NULL)) : sum;
}

/* sum[r, c] of the columns from `first` on, each element by itself. */
static Block sum_elements(Dot *dot, const Value *sum)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	Body element = {0};
	const Value *value = NULL;
	if (dot->has_acc || has_parts(dot))
		value = pairs(dot, lane_tree_element(dot, &element), 0, least_lanes(dot), NULL);
	PUSH(gen->arena, element.stmts,
	     stmt_set_at(gen->arena, sum, OP_NONE, with_rest(dot, value)));
	return over_elements(dot, LOOP_UNROLL, body_block(&element));
}

/* As many columns at a time as lanes are left: these lie beside each other, transposed they are added.
 *
 *   unroll q in 0..4: folded[q, lane] = half4[lane] of column c + q
 *   vector q in 0..4: sum[r, c + q] = (folded[q, 0] + folded[q, 1]) + (folded[q, 2] + folded[q, 3])
 */
static Block sum_squares(Dot *dot, LocalId sums)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	int64_t n = least_lanes(dot);
	Body columns = {0}, element = {0};
	const Ix *lane = ix_iter(gen->arena, tile->lane), *q = ix_iter(gen->arena, tile->q);
	LocalId square = tile_declare(tile, "square", (int64_t[]){n, n}, 2), lane_sum;
	PUSH(gen->arena, columns.stmts, stmt_local(gen->arena, square, nest_neutral(tile->nest)));
	dot->column =
		ix_add(gen->program,
		       ix_mul(gen->program, ix_iter(gen->arena, tile->c), tile_const(tile, n)), q);
	lane_sum = lane_tree_element(dot, &element);
	const Value *to = tile_local(tile, square, (const Ix *[]){q, lane}, 2);
	const Value *from = tile_local(tile, lane_sum, &lane, 1);
	Block set = block_of(gen, stmt_set_at(gen->arena, to, OP_NONE, from));
	gen_append(gen, &element, tile_unroll(tile, LOOP_VECTOR, tile->lane, n, set));
	gen_append(gen, &columns, tile_unroll(tile, LOOP_UNROLL, tile->q, n, body_block(&element)));
	const Value *value = with_rest(dot, pairs(dot, square, 0, n, q));
	set = block_of(gen, stmt_set_at(gen->arena, dot_value(dot, sums, NULL), OP_NONE, value));
	gen_append(gen, &columns, tile_unroll(tile, LOOP_VECTOR, tile->q, n, set));
	dot->column = NULL;
	Block body = tile_unroll(tile, LOOP_UNROLL, tile->c, dot->cols / n, body_block(&columns));
	return tile_unroll(tile, LOOP_UNROLL, tile->r, dot->rows, body);
}

/* As many elements at a time as a vector of the machine has lanes.
 *
 *   vector q in 0..4: sum[0, q] = folded1[0, q]       and of further parts of 16 bytes
 */
static Block sum_lane_sum(Dot *dot, LocalId sums)
{
	Tile *tile = dot->tile;
	Gen *gen = tile->nest->gen;
	int64_t n = least_lanes(dot);
	Body all = {0};
	for (int64_t base = 0; base < dot->rows * dot->cols; base += tile->native) {
		LocalId lane_sum = tile_lane_tree(tile, &all, dot->acc, dot->cols, base);
		for (int64_t at = 0; at < tile->native; at += n) {
			const Ix *q = ix_iter(gen->arena, tile->q);
			const Ix *from[] = {tile_const(tile, 0),
					    tile_plus(tile, tile_const(tile, at), tile->q)};
			const Ix *to[] = {
				tile_const(tile, (base + at) / dot->cols),
				ix_add(gen->program, q, tile_const(tile, (base + at) % dot->cols))};
			const Value *value = tile_local(tile, lane_sum, from, 2);
			if (dot->has_rest)
				value = plus(dot, value, tile_local(tile, dot->rest, to, 2));
			const Stmt *set = stmt_set_at(gen->arena, tile_local(tile, sums, to, 2),
						      OP_NONE, value);
			gen_append(gen, &all,
				   tile_unroll(tile, LOOP_VECTOR, tile->q, n, block_of(gen, set)));
		}
	}
	return body_block(&all);
}

/* The tile with its columns as lanes, as they are where sums are stored. */
static Tile with_columns(const Dot *dot)
{
	Tile across = *dot->tile;
	across.lane = across.c;
	across.height = dot->rows;
	across.width = dot->cols;
	return across;
}

/* Are whole vectors of a row's sums made? */
static bool has_squares(const Dot *dot)
{
	return (dot->has_acc || has_parts(dot)) && dot->cols % least_lanes(dot) == 0;
}

static Block add_up(Dot *dot, LocalId sums)
{
	if (tile_may_lane_tree(dot->tile, dot->rows, dot->cols))
		return sum_lane_sum(dot, sums);
	return has_squares(dot) ? sum_squares(dot, sums)
				: sum_elements(dot, dot_value(dot, sums, NULL));
}

/* What follows from the sums, in vectors along the columns or one piece of code for all elements:
 * copies of it would be most of a kernel's text. */
static Block finish(const Dot *dot, LocalId sums)
{
	Tile *tile = dot->tile;
	Tile across = with_columns(dot);
	Block store = tile_store(&across, dot_value(dot, sums, NULL));
	bool vectors = tile->vectors && dot->cols > 1;
	bool registers = vectors && has_squares(dot) && dot->cols == least_lanes(dot);
	store = tile_unroll(tile, vectors ? LOOP_VECTOR : LOOP_SERIAL, tile->c, dot->cols, store);
	return tile_unroll(tile, registers ? LOOP_UNROLL : LOOP_SERIAL, tile->r, dot->rows, store);
}

Block tile_along(Tile *tile, const TilePart *row, const TilePart *col)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Sizes *sizes = gen->program->sizes;
	Dot dot = {.tile = tile,
		   .rows = row->step,
		   .cols = col->step,
		   .prefetches = col->prefetches && row->prefetch == TILE_PREFETCH_ALONG};
	int64_t extent;
	bool known = size_is_const(sizes, tile->along->extent, &extent);
	dot.whole = tile->order.whole;
	dot.left = dot.whole;
	dot.grouped = size_const(sizes, 0);
	if (!known || extent >= tile->lanes)
		add_whole(&dot);
	if (known && tile->order.halves)
		add_parts(&dot, extent);
	if (!known || !size_same(dot.left, tile->along->extent))
		add_rest(&dot);
	Block steps = nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nresult,
				body_block(&dot.loops));
	Tile across = with_columns(&dot);
	LocalId sums = declare(&dot, "sum", 0);
	Body inner = {0};
	gen_append(gen, &inner, steps);
	gen_append(gen, &inner, add_up(&dot, sums));
	gen_append(gen, &dot.top, tile_unless_masked(&across, body_block(&inner)));
	gen_append(gen, &dot.top, finish(&dot, sums));
	return body_block(&dot.top);
}
