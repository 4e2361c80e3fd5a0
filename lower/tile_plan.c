/* Which loops of a nest become lanes, rows and columns of a register tile, and how large it is.
 *
 * Strides decide. Lanes run across the result where a loop of it moves the store and at least one
 * operand by one element and no operand by more; else along a sum that moves every operand by one
 * element or none. Rows and columns are loops of the result that leave an operand where it is: its
 * elements, once loaded, serve the whole tile. Of the sizes that fit the registers the cheapest is
 * taken, in cycles of
 *
 *   one step of the sum = max(vectors * rows / 2 multiply-adds a cycle, loads / 2 a cycle, latency
 * 4)
 *
 * Remainders: exact smaller tiles where an extent is known, else halves down to 1. A cell's order
 * of additions is the same in all of them, so a row alone and a row in a batch give the same bits.
 */
#include "lower/tile.h"

#include "base/diag.h"

/* Bytes, loops, half cycles. MOVE: a line from the second cache. */
enum { LEAST_LANES = 4, LEAST_WORK = 512, ROWS_MAX = 14, ASSUMED = 32 };
enum { CACHE_LINE = 64, FIRST_CACHE = 32768, LATENCY = 4, MOVE = 4 };

typedef struct Loads {
	VEC(const Ix *) at;
	bool plain; /* multiplications and additions of loads and constants */
} Loads;

typedef struct Planner {
	Tile *tile;
	const Machine *machine;
	Program *program;
	Loads sum, store; /* what is read in a step of the sum, and where it is finished */
	int64_t native;	  /* lanes of a vector of the machine */
} Planner;

/* ---- what is read ---- */

static bool is_float_op(Op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV;
}

static bool ix_is_plain(const Ix *ix)
{
	if (ix->kind == IX_VALUE)
		return false;
	return (!ix->a || ix_is_plain(ix->a)) && (!ix->b || ix_is_plain(ix->b));
}

static void collect_loads(Arena *arena, Loads *loads, const Value *value)
{
	if (value->kind == VALUE_LOAD) {
		PUSH(arena, loads->at, value->ix);
		loads->plain &= ix_is_plain(value->ix);
	}
	if (value->kind == VALUE_INDEX)
		loads->plain &= ix_is_plain(value->ix);
	for (uint32_t i = 0; i < value->nargs; i++)
		collect_loads(arena, loads, value->args[i]);
}

static bool is_arithmetic(const Value *value, Dtype dtype)
{
	if (value->dtype != dtype || value->kind == VALUE_CAST || value->kind == VALUE_INDEX ||
	    value->kind == VALUE_LOCAL || (value->kind == VALUE_OP && !is_float_op(value->op)))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_arithmetic(value->args[i], dtype))
			return false;
	return true;
}

/* ---- loops ---- */

static bool is_const(const Planner *p, Size size, int64_t *n)
{
	return size_is_const(p->program->sizes, size, n);
}

static int64_t extent_or(const Planner *p, const Loop *loop, int64_t otherwise)
{
	int64_t n;
	return !loop ? 1 : is_const(p, loop->extent, &n) ? n : otherwise;
}

static bool moves_guard(const Guarded *guard, const Loop *loop)
{
	for (uint32_t t = 0; t < guard->index->nterms; t++)
		if (guard->index->terms[t].iter == loop->iter)
			return true;
	return false;
}

static bool is_guarded(const Nest *nest, const Loop *loop)
{
	for (size_t g = 0; g < nest->guards.n; g++)
		if (moves_guard(&nest->guards.at[g], loop))
			return true;
	return false;
}

/* The rows lo.. < hi for which a guarded index is inside whatever the sum's loops are at; false:
 * unknown. */
static bool inside_of(const Planner *p, const Guarded *guard, const Loop *row, TilePart *inside)
{
	const Nest *nest = p->tile->nest;
	int64_t size, offset, coef = 0, least = 0, most = 0;
	if (!is_const(p, guard->size, &size) || !is_const(p, guard->index->offset, &offset))
		return false;
	for (uint32_t t = 0; t < guard->index->nterms; t++) {
		const IndexTerm *term = &guard->index->terms[t];
		int64_t extent;
		if (term->iter == row->iter) {
			coef = term->coef;
			continue;
		}
		const Iter *iter = &nest->proj->iters[term->iter];
		if (!iter->reduced || !is_const(p, iter->extent, &extent))
			return false;
		int64_t reach = term->coef * (extent - 1);
		*(reach < 0 ? &least : &most) += reach;
	}
	int64_t first = coef > 0 ? (coef - 1 - offset - least) / coef : 0;
	int64_t beyond = coef > 0 ? (size - offset - most + coef - 1) / coef : 0;
	int64_t lo, hi;
	REQUIRE(is_const(p, inside->lo, &lo) && is_const(p, inside->hi, &hi));
	inside->lo = size_const(p->program->sizes, first > lo ? first : lo);
	inside->hi = size_const(p->program->sizes, beyond < hi ? beyond : hi);
	return coef > 0 && size - offset - most > 0;
}

/* The part of a loop of the result in which padded reads stay inside; its extent is known. */
static bool find_inside(const Planner *p, const Loop *row, TilePart *inside)
{
	const Nest *nest = p->tile->nest;
	*inside = (TilePart){.lo = size_const(p->program->sizes, 0), .hi = row->extent};
	int64_t lo, hi;
	if (!is_const(p, row->extent, &hi))
		return !is_guarded(nest, row);
	for (size_t g = 0; g < nest->guards.n; g++)
		if (moves_guard(&nest->guards.at[g], row) &&
		    !inside_of(p, &nest->guards.at[g], row, inside))
			return false;
	return is_const(p, inside->lo, &lo) && is_const(p, inside->hi, &hi) && lo < hi;
}

/* 0 and 1; -1: any other. */
static int stride(const Planner *p, const Ix *ix, const Loop *loop)
{
	Size size = ix_stride(p->program, ix, loop->var);
	if (size_is_bad(size))
		return -1;
	return size_is(p->program->sizes, size, 0)   ? 0
	       : size_is(p->program->sizes, size, 1) ? 1
						     : -1;
}

/* Does the loop move each by one element or not at all, and at least one? */
static bool moves_by_one(const Planner *p, const Loads *loads, const Loop *loop, bool some)
{
	bool moves = false;
	for (size_t i = 0; i < loads->at.n; i++) {
		int s = stride(p, loads->at.at[i], loop);
		if (s < 0)
			return false;
		moves |= s == 1;
	}
	return moves || !some;
}

/* The operands that a loop leaves where they are, as a set of bits. */
static uint64_t stays(const Planner *p, const Loop *loop)
{
	uint64_t set = 0;
	for (size_t i = 0; i < p->sum.at.n && i < 64; i++)
		if (stride(p, p->sum.at.at[i], loop) == 0)
			set |= (uint64_t)1 << i;
	return set;
}

static bool runs_across(const Planner *p, const Loop *loop)
{
	const Nest *nest = p->tile->nest;
	return extent_or(p, loop, ASSUMED) >= LEAST_LANES && !is_guarded(nest, loop) &&
	       stride(p, nest->at, loop) == 1 && moves_by_one(p, &p->sum, loop, true) &&
	       moves_by_one(p, &p->store, loop, false);
}

static bool runs_along(const Planner *p, const Loop *loop)
{
	return extent_or(p, loop, ASSUMED) >= LEAST_LANES && !is_guarded(p->tile->nest, loop) &&
	       moves_by_one(p, &p->sum, loop, true);
}

/* A loop whose extent is known is better: its tiles are exact; then the longest. */
static bool is_better(const Planner *p, const Loop *loop, const Loop *than)
{
	int64_t a = extent_or(p, loop, 1), b = extent_or(p, than, 1);
	return !than || a >= b;
}

/* The best loop of the result that leaves some operand in place, other than those in `but`. */
static Loop *reusing_loop(const Planner *p, const Loop * not, uint64_t but, bool split)
{
	Nest *nest = p->tile->nest;
	Loop *best = NULL;
	for (uint32_t i = 0; i < nest->nresult; i++) {
		Loop *loop = &nest->loops[i];
		TilePart inside;
		bool whole = !is_guarded(nest, loop);
		if (loop == not || (stays(p, loop) & ~but) == 0)
			continue;
		if (!whole && !(split && find_inside(p, loop, &inside)))
			continue;
		if (is_better(p, loop, best))
			best = loop;
	}
	return best;
}

static bool find_loops(Planner *p)
{
	Tile *tile = p->tile;
	Nest *nest = tile->nest;
	for (uint32_t i = nest->nresult; i-- > 0 && !tile->col;)
		if (runs_across(p, &nest->loops[i]))
			tile->col = &nest->loops[i];
	if (tile->col) {
		tile->form = TILE_ACROSS;
		tile->row = reusing_loop(p, tile->col, 0, true);
		return true;
	}
	tile->form = TILE_ALONG;
	for (uint32_t i = nest->nloops; i-- > nest->nresult && !tile->along;)
		if (runs_along(p, &nest->loops[i]))
			tile->along = &nest->loops[i];
	if (!tile->along)
		return false;
	tile->col = reusing_loop(p, NULL, 0, false);
	if (tile->col)
		tile->row = reusing_loop(p, tile->col, stays(p, tile->col), true);
	return true;
}

/* ---- sizes ---- */

static TilePart part_of(const Planner *p, Size lo, Size hi, int64_t step)
{
	int64_t a, b;
	bool single = is_const(p, lo, &a) && is_const(p, hi, &b) && b - a == step;
	return (TilePart){lo, hi, step, single, false};
}

static int64_t vectors_of(const Planner *p, int64_t lanes)
{
	int64_t n = lanes / p->native;
	for (int64_t rest = lanes % p->native, width = p->native; rest > 0 && width > 0; width /= 2)
		for (; rest >= width; rest -= width)
			n++;
	return n;
}

static void add_part(const Planner *p, TileParts *parts, int64_t lo, int64_t hi, int64_t step)
{
	Sizes *sizes = p->program->sizes;
	if (lo < hi)
		parts->at[parts->n++] =
			part_of(p, size_const(sizes, lo), size_const(sizes, hi), step);
}

/* Exact tiles of a known range: whole ones, then what is left. `join`: what is left is added to the
 * last whole one. */
static void add_exact(const Planner *p, TileParts *parts, int64_t lo, int64_t hi, int64_t step,
		      bool join)
{
	step = step < hi - lo ? step : hi - lo;
	int64_t whole = lo + (hi - lo) / step * step;
	if (join && hi > whole)
		whole -= step;
	add_part(p, parts, lo, whole, step);
	add_part(p, parts, whole, hi, hi - whole);
}

/* Rows where padded reads may fall outside, one by one, around tiles of the others. */
static TileParts padded_parts(const Planner *p, int64_t extent, int64_t step)
{
	TileParts parts = {0};
	int64_t lo, hi;
	REQUIRE(is_const(p, p->tile->inside.lo, &lo) && is_const(p, p->tile->inside.hi, &hi));
	add_part(p, &parts, 0, lo, 1);
	uint32_t first = parts.n;
	add_exact(p, &parts, lo, hi, step, false);
	uint32_t end = parts.n;
	add_part(p, &parts, hi, extent, 1);
	for (uint32_t i = 0; i < parts.n; i++)
		parts.at[i].edge = i < first || i >= end;
	return parts;
}

/* Tiles of a symbolic extent: `step`, then ever smaller ones, each a divisor of the one before. */
static TileParts halved_parts(const Planner *p, Size extent, int64_t step, bool lanes)
{
	Sizes *sizes = p->program->sizes;
	TileParts parts = {0};
	Size done = size_const(sizes, 0);
	while (step > 0) {
		Size hi = step == 1 ? extent
				    : size_scale(sizes, size_floor(sizes, extent, step), step);
		parts.at[parts.n++] = (TilePart){done, hi, step, false, false};
		done = hi;
		if (lanes)
			step = step > p->native	    ? p->native
			       : step > LEAST_LANES ? LEAST_LANES
						    : step > 1;
		else
			step = step % 2 == 0 && step > 4 ? (step == 6 ? 2 : 4) : step / 2;
	}
	return parts;
}

static TileParts parts_of(const Planner *p, const Loop *loop, int64_t step, bool join)
{
	int64_t extent;
	TileParts parts = {0};
	if (loop && loop == p->tile->row && is_const(p, loop->extent, &extent))
		return padded_parts(p, extent, step);
	if (!loop || is_const(p, loop->extent, &extent)) {
		add_exact(p, &parts, 0, loop ? extent : 1, step, join);
		return parts;
	}
	bool lanes = p->tile->form == TILE_ACROSS && loop == p->tile->col;
	return halved_parts(p, loop->extent, step, lanes);
}

/* How many tiles; of a symbolic extent only the first part counts. */
static int64_t part_count(const Planner *p, const TileParts *parts, uint32_t i)
{
	const TilePart *part = &parts->at[i];
	int64_t lo, hi;
	if (is_const(p, part->lo, &lo) && is_const(p, part->hi, &hi))
		return (hi - lo) / part->step;
	return i == 0 ? (ASSUMED + part->step - 1) / part->step : 0;
}

/* Vectors that one column of a tile takes in each row. */
static int64_t column_vectors(const Planner *p, int64_t cols)
{
	return p->tile->form == TILE_ACROSS ? vectors_of(p, cols)
					    : cols * (p->tile->lanes / p->native);
}

static int64_t tile_loads(const Planner *p, int64_t rows, int64_t cols)
{
	bool across = p->tile->form == TILE_ACROSS;
	return column_vectors(p, cols) + (across ? rows : rows * (p->tile->lanes / p->native));
}

static bool fits_registers(const Planner *p, int64_t rows, int64_t cols)
{
	int64_t vectors = column_vectors(p, cols);
	int64_t operands = p->tile->form == TILE_ACROSS ? vectors + 1
			   : rows < cols		? rows + 1
							: cols + 1;
	if (p->tile->form == TILE_ALONG && p->tile->lanes > p->native)
		operands = 2; /* one part of the lanes after the other */
	return rows * vectors + operands <= p->machine->registers;
}

/* Steps of the sum, as many as are known. */
static uint64_t steps_of(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	uint64_t n = 1;
	for (uint32_t i = nest->nresult; i < nest->nloops && n < (1 << 24); i++)
		n *= (uint64_t)extent_or(p, &nest->loops[i], ASSUMED);
	return p->tile->form == TILE_ALONG
		       ? (n + (uint64_t)p->tile->lanes - 1) / (uint64_t)p->tile->lanes
		       : n;
}

/* Eighths of a cycle of one step of the sum in one tile; each load costs a little, or tiles of
 * equal work would be equal. What the columns read stays in the first cache, where it fits, while
 * the rows go by; the rest comes from the second one. */
static uint64_t step_cycles(const Planner *p, int64_t rows, int64_t cols, uint64_t steps)
{
	bool across = p->tile->form == TILE_ACROSS;
	uint64_t col_vectors = (uint64_t)column_vectors(p, cols);
	uint64_t row_vectors = (uint64_t)(tile_loads(p, rows, cols)) - col_vectors;
	uint64_t adds = (uint64_t)rows * col_vectors, loads = row_vectors + col_vectors;
	uint64_t bytes = (uint64_t)p->machine->vector_bytes;
	uint64_t moved = across ? 0 : row_vectors * bytes;
	if (col_vectors * bytes * steps > FIRST_CACHE)
		moved += col_vectors * bytes;
	uint64_t most = adds > loads ? adds : loads;
	if (moved * MOVE > most * CACHE_LINE)
		most = moved * MOVE / CACHE_LINE;
	return 4 * (most > 2 * LATENCY ? most : 2 * LATENCY) + loads;
}

static uint64_t cycles_of(const Planner *p, const TileParts *rows, const TileParts *cols)
{
	uint64_t total = 0, steps = steps_of(p);
	bool along = p->tile->form == TILE_ALONG;
	for (uint32_t i = 0; i < rows->n; i++)
		for (uint32_t j = 0; j < cols->n; j++) {
			int64_t nr = rows->at[i].step, nc = cols->at[j].step;
			uint64_t finish = along ? 48 * (uint64_t)(nr * nc)

						: 12 * (uint64_t)(nr * column_vectors(p, nc));
			uint64_t count =
				(uint64_t)(part_count(p, rows, i) * part_count(p, cols, j));
			total += count * (steps * step_cycles(p, nr, nc, steps) + finish + 64);
		}
	return total / 8;
}

static void consider(Planner *p, int64_t rows, int64_t cols, bool join)
{
	Tile *tile = p->tile;
	TileParts r = parts_of(p, tile->row, rows, false), c = parts_of(p, tile->col, cols, join);
	for (uint32_t i = 0; i < r.n; i++)
		for (uint32_t j = 0; j < c.n; j++)
			if (!fits_registers(p, r.at[i].step, c.at[j].step))
				return;
	uint64_t cycles = cycles_of(p, &r, &c);
	if (tile->rows.n && cycles >= tile->cycles)
		return;
	tile->rows = r;
	tile->cols = c;
	tile->cycles = cycles;
}

static bool is_step(const Planner *p, const Loop *loop, int64_t step)
{
	int64_t extent;
	if (!loop)
		return step == 1;
	if (is_const(p, loop->extent, &extent))
		return step <= extent;
	return step == 1 || step == 2 || step == 4 || step == 6 || step == 8 || step == 12;
}

static void choose_sizes(Planner *p)
{
	Tile *tile = p->tile;
	for (int64_t rows = 1; rows <= ROWS_MAX; rows++) {
		if (!is_step(p, tile->row, rows))
			continue;
		if (tile->form == TILE_ACROSS) {
			int64_t extent = extent_or(p, tile->col, p->machine->registers * p->native);
			for (int64_t cols = p->native; fits_registers(p, rows, cols);
			     cols += p->native) {
				consider(p, rows, cols, false);
				consider(p, rows, cols, true);
			}
			if (extent < p->native)
				consider(p, rows, extent, false);
			continue;
		}
		for (int64_t cols = 1; fits_registers(p, rows, cols); cols++)
			if (is_step(p, tile->col, cols))
				consider(p, rows, cols, false);
	}
}

/* ---- the whole ---- */

static bool is_small(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t work = 1;
	for (uint32_t i = 0; i < nest->nloops && work < LEAST_WORK; i++) {
		int64_t n;
		work *= is_const(p, nest->loops[i].extent, &n) ? n : ASSUMED;
	}
	return work < LEAST_WORK;
}

static bool may_be_tiled(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	Arena *arena = nest->gen->arena;
	Dtype dtype = nest->value->dtype;
	if (tile->reduce != OP_ADD || !dtype_is_float(dtype) || nest->inner.stmts.n > 0 ||
	    is_small(p))
		return false;
	if (nest->target.acc != OP_NONE && !is_float_op(nest->target.acc))
		return false;
	for (size_t g = 0; g < nest->guards.n; g++)
		if (!nest_bounds_loop(nest, &nest->guards.at[g], nest->nresult))
			return false;
	p->sum.plain = p->store.plain = true;
	collect_loads(arena, &p->sum, nest->value);
	for (size_t i = 0; i < nest->epilogue.stmts.n; i++)
		collect_loads(arena, &p->store, nest->epilogue.stmts.at[i]->value);
	collect_loads(arena, &p->store, nest->finished);
	return p->sum.at.n >= 2 && p->sum.plain && p->store.plain &&
	       is_arithmetic(nest->value, dtype) && ix_is_plain(nest->at);
}

bool tile_plan(Tile *tile, const Machine *machine)
{
	Planner p = {.tile = tile, .machine = machine, .program = tile->nest->gen->program};
	int bytes = dtype_bytes(tile->nest->value->dtype);
	p.native = machine->vector_bytes / bytes;
	if (!may_be_tiled(&p) || !find_loops(&p))
		return false;
	tile->lanes = tile->form == TILE_ALONG ? CACHE_LINE / bytes : p.native;
	const Nest *nest = tile->nest;
	if (tile->row && !find_inside(&p, tile->row, &tile->inside))
		BUG("rows of a tile without an inside");
	tile->guards = nest->guards;
	for (size_t g = 0; g < nest->guards.n; g++)
		if (!tile->row || !moves_guard(&nest->guards.at[g], tile->row))
			PUSH(nest->gen->arena, tile->inner, nest->guards.at[g]);
	choose_sizes(&p);
	return tile->rows.n > 0;
}
