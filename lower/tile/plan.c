/* Whether a nest is computed in register tiles, and in which: its loops (tile/loops.c), packing
 * (tile/choose_pack.c), sizes (tile/size.c) and blocks (tile/cache.c), by their cost with lanes
 * across the result as it lies and with lanes across packed columns.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/walk.h"
#include "lower/nest/forms.h"
#include "lower/tile/plan.h"

#define CYCLES_MOST ((uint64_t)1 << 62)

/* ---- what is read ---- */

static void collect_loads(Arena *arena, Loads *loads, const Value *value)
{
	if (value->kind == VALUE_LOAD) {
		PUSH(arena, loads->at, value->ix);
		PUSH(arena, loads->from, value->buffer);
		loads->plain &= !value->ix->reads;
	}
	if (value->kind == VALUE_INDEX)
		loads->plain &= !value->ix->reads;
	for (uint32_t i = 0; i < value->nargs; i++)
		collect_loads(arena, loads, value->args[i]);
}

static bool is_arithmetic(const Value *value, Dtype dtype)
{
	if (value->dtype == dtype && value_casts_in_lanes(value))
		return true;
	if (value->dtype != dtype || value->kind == VALUE_CAST || value->kind == VALUE_INDEX ||
	    value->kind == VALUE_LOCAL ||
	    (value->kind == VALUE_OP && !op_has_lanes(value->op, dtype)))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_arithmetic(value->args[i], dtype))
			return false;
	return true;
}

/* ---- the whole ---- */

/* Little work, or none, of one member of a batch and TILE_ASSUMED of them? No extent that is known
 * is zero in what follows. */
static bool is_small(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t work = nest->batched ? TILE_ASSUMED : 1, n;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Loop *loop = &nest->loops[i];
		bool known = tile_is_const(p, loop->extent, &n);
		if (known && n == 0)
			return true;
		if (!tile_is_const(p, loop->own, &n))
			n = TILE_ASSUMED;
		work *= n < p->target->tile_work ? n : p->target->tile_work;
		work = work < p->target->tile_work ? work : p->target->tile_work;
	}
	return !p->replays && work < p->target->tile_work;
}

/* Few steps: the elements' sums stay in registers while a window is read. */
static bool is_window(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = 1, extent;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		if (!tile_is_const(p, nest->loops[i].extent, &extent) ||
		    extent > p->target->tile_window / steps)
			return false;
		steps *= extent;
	}
	return true;
}

/* Sums of what is read once: is a row of columns in registers while rows go by, in the order in
 * which they lie? Longer rows are added where the sums are, in the first cache, and so is a row
 * alone, whose columns are work for threads. */
static bool keeps_row(const Planner *p)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	bool rows = nest->batched;
	for (uint32_t i = 0; i < nest->nresult; i++)
		rows |= &nest->loops[i] != tile->col &&
			tile_extent(p, &nest->loops[i], p->target->least_rows) >=
				p->target->least_rows;
	return rows && tile->form == TILE_ACROSS && tile->pack < 0 &&
	       tile_extent(p, tile->col, INT32_MAX) <= p->target->tile_row_vectors * p->native;
}

/* Other sums than of products: lanes run across the result only. */
static bool is_semiring(Op reduce)
{
	return reduce == OP_MAX || reduce == OP_MIN || reduce == OP_MUL;
}

bool tile_sums_dtype(Dtype dtype) { return dtype_is_float(dtype) || dtype == DTYPE_I32; }

static bool may_be_tiled(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	Arena *arena = nest->gen->arena;
	Dtype dtype = nest->value->dtype;
	bool reduces =
		tile->reduce == OP_ADD || (is_semiring(tile->reduce) && dtype_is_float(dtype));
	if (!reduces || !tile_sums_dtype(dtype) || nest->inner.n > 0 || is_small(p))
		return false;
	Dtype stored = p->program->buffers.at[nest->target.buffer].dtype;
	if (nest->target.acc != OP_NONE && !op_has_lanes(nest->target.acc, stored))
		return false;
	for (size_t g = 0; g < nest->guards.n; g++)
		if (!nest_bounds_loop(nest, &nest->guards.at[g], nest->nresult))
			return false;
	p->sum.plain = p->store.plain = true;
	collect_loads(arena, &p->sum, nest->value);
	for (size_t i = 0; i < nest->epilogue.n; i++)
		collect_loads(arena, &p->store, nest->epilogue.at[i].value);
	collect_loads(arena, &p->store, nest->finished);
	if (p->sum.at.n == 0 || !p->sum.plain || !p->store.plain ||
	    !is_arithmetic(nest->value, dtype) || nest->at->reads)
		return false;
	p->facts = nest_facts(nest, tile->reduce);
	tile->independent = tile_stores_once(p);
	p->facts.independent = tile_sets(tile);
	return true;
}

static Tile nothing_chosen(Nest *nest, Op reduce)
{
	return (Tile){.nest = nest,
		      .reduce = reduce,
		      .group = 1,
		      .word = 1,
		      .pack = -1,
		      .square_operand = -1,
		      .over_read = -1,
		      .prefetched = -1,
		      .sums = BUFFER_NONE};
}

static Planner planner_new(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	return (Planner){
		.tile = tile,
		.target = tile_target(tile),
		.program = gen->program,
		.native = tile_native(tile),
		.tiles = gen_asked(gen, CHOICE_TILE),
		.lanes = gen_asked(gen, CHOICE_VECTOR),
		.packs = gen_asked(gen, CHOICE_PACK),
		.prepacks = gen_asked(gen, CHOICE_PREPACK),
		.blocks = gen_asked(gen, CHOICE_BLOCK),
		.prefetches = gen_asked(gen, CHOICE_PREFETCH),
		.windows = gen_asked(gen, CHOICE_WINDOW),
		.remainders = gen_asked(gen, CHOICE_REMAINDER),
		.traversals = gen_asked(gen, CHOICE_TRAVERSE),
		.groups = gen_asked(gen, CHOICE_GROUP),
		.stores = gen_asked(gen, CHOICE_STORE_ALONG),
		.collapses = gen_asked(gen, CHOICE_COLLAPSE),
		.matrices = gen_asked(gen, CHOICE_MATRIX),
		.replays = lower_replays(gen->lower),
	};
}

/* Do elements of one member share what they read? Else a sum of a value with shared parts has wider
 * lanes. */
static bool reuses(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	bool shares = p->tile->form == TILE_ACROSS;
	for (uint32_t i = 0; i < nest->nresult && p->tile->col && !shares; i++)
		shares = !size_is(p->program->sizes, nest->loops[i].own, 1) &&
			 tile_stays(p, &nest->loops[i]) != 0;
	return shares;
}

/* The order of additions of the tiles at hand; false: there is none. */
static bool takes_order(Planner *p)
{
	Tile *tile = p->tile;
	bool along = tile->form == TILE_ALONG;
	tile->order = sums_order(&p->facts, along ? SUM_WAY_ALONG : SUM_WAY_ACROSS,
				 along ? tile_place(p, tile->along) : 0);
	tile->order.group = tile->group;
	tile->order.matrix = tile->matrix ? tile_matrix_steps(tile) : 0;
	return (!tile->nest->carries || tile->order.form == SUM_IN_TURN) &&
	       tile->order.form != SUM_NONE;
}

/* The sizes and what else is chosen for loops that are found; false: no tiles fit. */
static bool choose_rest(Planner *p)
{
	Tile *tile = p->tile;
	if (!takes_order(p))
		return false;
	tile->lanes = tile->form == TILE_ALONG ? tile->order.lanes : p->native;
	tile_find_guards(p);
	tile->finish.vectors = tile->form == TILE_ALONG && tile->col &&
			       tile_stride(p, tile->nest->at, tile->col) == 1 &&
			       tile_moves_by_one(p, tile->col);
	p->streams = tile_streams(p);
	p->transposes_rows = tile_may_transpose_rows(p);
	tile_choose_sizes(p);
	if (tile->rows.n == 0)
		return false;
	tile_choose_blocks(p);
	tile_choose_prefetch(p);
	tile_choose_window(p);
	tile_choose_remainder(p);
	return true;
}

/* Is it a sum of a few bytes? As one expression it is computed in 16 bits (loops/vector/narrow.c), of which a vector has twice as
 * many lanes as a tile's sums of i32. */
static bool adds_few_bytes(const Planner *p)
{
	const Value *value = p->tile->nest->value;
	bool cast = value->kind == VALUE_CAST && value->dtype == DTYPE_I32;
	Dtype from = cast ? value->args[0]->dtype : DTYPE_NONE;
	return cast && (dtype_is_byte(from) || from == DTYPE_BOOL) &&
	       value->args[0]->kind == VALUE_LOAD && sums_short_steps(&p->facts) > 0;
}

/* Do tiles serve the sum, other than that of few steps or of what is read once? */
static bool suits(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	return !adds_few_bytes(p) &&
	       (reuses(p) || (!nest->in_line && sums_short_steps(&p->facts) == 0)) &&
	       (p->sum.at.n >= 2 || is_window(p) || keeps_row(p));
}

/* Lanes along the last loop of the result, or along a sum. */
static bool choose_straight(Planner *p)
{
	Tile *tile = p->tile;
	bool found = tile_find_loops(p);
	tile_choose_pack(p, found);
	if (!found && tile->pack < 0)
		return false;
	return (p->replays || suits(p)) && choose_rest(p);
}

static bool choose_transposed(Planner *p) { return tile_choose_transposed(p) && choose_rest(p); }

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) || product > CYCLES_MOST ? CYCLES_MOST
									       : product;
}

/* The cycles of all tiles of all loops, with TILE_ASSUMED for each that is not known, of one member
 * of a batch, and of columns that are packed one by one at every call, one an element. */
static uint64_t all_cycles(const Planner *p)
{
	const Tile *tile = p->tile;
	bool strided = tile->stores_rows || (tile->pack >= 0 && tile->pack_along);
	uint64_t cycles = tile->cycles, copied = strided && !tile->prepacked;
	for (uint32_t i = 0; i < tile->nest->nloops; i++) {
		const Loop *loop = &tile->nest->loops[i];
		int64_t own = TILE_ASSUMED;
		tile_is_const(p, loop->own, &own);
		if (!loop->reduced && loop != tile->row && loop != tile->col)
			cycles = times(cycles, (uint64_t)own);
		if (loop->reduced || loop == tile->col || (tile->movers >> loop->iter & 1))
			copied = times(copied, (uint64_t)own);
	}
	return cycles + copied;
}

uint64_t tile_estimate(Nest *nest, bool transposed)
{
	Tile tile = nothing_chosen(nest, OP_ADD);
	Planner p = planner_new(&tile);
	if (!may_be_tiled(&p) || asks_off(p.tiles))
		return 0;
	return (transposed ? choose_transposed(&p) : choose_straight(&p)) ? all_cycles(&p) : 0;
}

/* Do transposed rows take fewer cycles? Past lanes along a sum they always do, which add in another
 * order: it must not depend on how many members a batch has. */
static bool is_better_transposed(const Planner *straight, const Planner *transposed)
{
	uint64_t cycles = all_cycles(straight);
	return straight->tile->form == TILE_ALONG || all_cycles(transposed) < cycles - cycles / 16;
}

/* Columns of two loops, in a nest of their own. */
static bool choose_collapsed(Planner *p)
{
	Nest *nest = p->tile->nest;
	if (!tile_collapse(p, nest))
		return false;
	memset(&p->sum, 0, sizeof p->sum);
	memset(&p->store, 0, sizeof p->store);
	return may_be_tiled(p) && choose_straight(p) && p->tile->form == TILE_ACROSS &&
	       p->tile->col == &nest->loops[nest->nresult - 1] && p->tile->group == 1 &&
	       !p->tile->prepacked;
}

/* The same elements in the same order, in fewer cycles? */
static bool is_better_collapsed(const Planner *straight, const Planner *collapsed)
{
	const Tile *tile = straight->tile;
	return tile->form == TILE_ACROSS && tile->group == 1 && !tile->prepacked &&
	       all_cycles(collapsed) < all_cycles(straight);
}

/* Do rows move all that columns do, as in a filter of a gray picture? */
static bool goes_by_rows(const Planner *p)
{
	const Tile *tile = p->tile;
	bool by_rows = tile->form == TILE_ACROSS && tile->row && tile->col && tile->pack < 0 &&
		       !tile->remainder.n && !tile->blocks.rows && !tile->blocks.cols &&
		       !tile->blocks.steps;
	for (size_t i = 0; by_rows && i < p->sum.at.n; i++)
		by_rows = !ix_uses(p->sum.at.at[i], tile->col->var) ||
			  ix_uses(p->sum.at.at[i], tile->row->var);
	return by_rows;
}

static bool tile_plan(Tile *tile)
{
	Planner p = planner_new(tile);
	const Nest *nest = tile->nest;
	if (!may_be_tiled(&p))
		return false;
	if (asks_off(p.tiles)) {
		if (says_off(p.tiles))
			gen_make(nest->gen, CHOICE_TILE, true);
		return false;
	}
	Tile transposed = *tile, collapsed = *tile;
	Nest both = *nest;
	Planner other = p, third = p;
	other.tile = &transposed;
	third.tile = &collapsed;
	collapsed.nest = &both;
	bool copied = nest->packed_operand[0].strides || nest->packed_operand[1].strides;
	bool transposes =
		!copied && !nest->carries && !asks_off(p.stores) && choose_transposed(&other);
	bool straight = !asks_on(p.stores) && !asks_on(p.collapses) && choose_straight(&p);
	bool collapses = !asks_off(p.collapses) && !asks_on(p.stores) && choose_collapsed(&third) &&
			 (!straight || is_better_collapsed(&p, &third));
	if (!transposes && !straight && !collapses)
		return false;
	if (transposes &&
	    (!(straight || collapses) || is_better_transposed(collapses ? &third : &p, &other))) {
		*tile = transposed;
	} else if (collapses) {
		*tile->nest = both;
		collapsed.nest = tile->nest;
		*tile = collapsed;
		p = third;
		p.tile = tile;
	}
	tile_choose_traversal(&p);
	tile->by_rows = goes_by_rows(&p);
	if (tile_choose_read(tile)) {
		memset(&p.sum, 0, sizeof p.sum);
		collect_loads(nest->gen->arena, &p.sum, nest->value);
	}
	tile_describe(&p);
	return true;
}

/* Where shared locals are few they are in line in tiles, which compute them once all the same. */
static bool plan_in_line(Tile *tile)
{
	Nest *nest = tile->nest;
	size_t shared = nest->inner.n;
	if (shared > NEST_SHARED_FEW)
		return false;
	if (shared > 0)
		nest_share_in_line(nest, true);
	bool planned = tile_plan(tile);
	if (shared > 0 && !planned)
		nest_share_in_line(nest, false);
	return planned;
}

bool tile_choose(Nest *nest, Op reduce, Tile *tile)
{
	*tile = nothing_chosen(nest, reduce);
	return plan_in_line(tile);
}
