/* Which loops of a nest become lanes, rows and columns of a register tile, and how large it is.
 *
 * Strides decide. Lanes run across the result where a loop of it moves the store and at least one
 * operand by one element and no operand by more; else along a sum that moves every operand by one
 * element or none. Rows and columns are loops of the result that leave an operand where it is: its
 * elements, once loaded, serve the whole tile.
 */
#include "lower/tile.h"

#include "base/diag.h"

enum {
	LEAST_LANES = 4,
	LEAST_ROWS = 4,
	LEAST_WORK = 512,
	CACHE_LINE = 64,
	QUAD = 4,
	QUAD_STEPS = 64,
	WORD_USES = 8,
	PAIR_USES = 16,
	WINDOW_STEPS = 64
};
enum { ROWS, COLUMNS }; /* items of `tile` */

/* What packing asks for: rows that use a panel, its columns, steps of the sum; bytes of an operand
 * that is spread. */
enum { PACK_USES = 48, PACK_COLUMNS = 4, PACK_STEPS = 8, PACK_SPREAD = 2 << 20 };

/* ---- what is read ---- */

static bool has_lanes(Op op, Dtype dtype)
{
	if (dtype_is_float(dtype))
		return op_is_simple(op);
	return op == OP_ADD || op == OP_SUB || op == OP_MUL;
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
		PUSH(arena, loads->from, value->buffer);
		loads->plain &= ix_is_plain(value->ix);
	}
	if (value->kind == VALUE_INDEX)
		loads->plain &= ix_is_plain(value->ix);
	for (uint32_t i = 0; i < value->nargs; i++)
		collect_loads(arena, loads, value->args[i]);
}

bool tile_is_widening(const Value *value)
{
	return value->kind == VALUE_CAST && value->args[0]->kind == VALUE_LOAD &&
	       dtype_wide(value->args[0]->dtype) == value->dtype;
}

static bool is_arithmetic(const Value *value, Dtype dtype)
{
	if (value->dtype == dtype && tile_is_widening(value))
		return true;
	if (value->dtype != dtype || value->kind == VALUE_CAST || value->kind == VALUE_INDEX ||
	    value->kind == VALUE_LOCAL || (value->kind == VALUE_OP && !has_lanes(value->op, dtype)))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_arithmetic(value->args[i], dtype))
			return false;
	return true;
}

/* ---- loops ---- */

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
	if (!tile_is_const(p, guard->size, &size) ||
	    !tile_is_const(p, guard->index->offset, &offset))
		return false;
	for (uint32_t t = 0; t < guard->index->nterms; t++) {
		const IndexTerm *term = &guard->index->terms[t];
		int64_t extent;
		if (term->iter == row->iter) {
			coef = term->coef;
			continue;
		}
		const Iter *iter = &nest->proj->iters[term->iter];
		if (!iter->reduced || !tile_is_const(p, iter->extent, &extent))
			return false;
		int64_t reach = term->coef * (extent - 1);
		*(reach < 0 ? &least : &most) += reach;
	}
	int64_t first = coef > 0 ? (coef - 1 - offset - least) / coef : 0;
	int64_t beyond = coef > 0 ? (size - offset - most + coef - 1) / coef : 0;
	int64_t lo, hi;
	REQUIRE(tile_is_const(p, inside->lo, &lo) && tile_is_const(p, inside->hi, &hi));
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
	if (!tile_is_const(p, row->extent, &hi))
		return !is_guarded(nest, row) || tile_find_inside(p, row, inside);
	for (size_t g = 0; g < nest->guards.n; g++)
		if (moves_guard(&nest->guards.at[g], row) &&
		    !inside_of(p, &nest->guards.at[g], row, inside))
			return false;
	return tile_is_const(p, inside->lo, &lo) && tile_is_const(p, inside->hi, &hi) && lo < hi;
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
	return tile_extent(p, loop, TILE_ASSUMED) >= LEAST_LANES && !is_guarded(nest, loop) &&
	       stride(p, nest->at, loop) == 1 && moves_by_one(p, &p->sum, loop, true) &&
	       moves_by_one(p, &p->store, loop, false);
}

static bool runs_along(const Planner *p, const Loop *loop)
{
	return tile_extent(p, loop, TILE_ASSUMED) >= LEAST_LANES &&
	       !is_guarded(p->tile->nest, loop) && moves_by_one(p, &p->sum, loop, true);
}

/* Is the loop what a schedule asks for, where it asks? */
static bool is_asked(const Planner *p, const ScheduleClause *asked, uint32_t item, const Loop *loop)
{
	return asks_name(asked, item, p->tile->nest->gen->iters.at[loop->var].name);
}

/* A loop whose extent is known is better: its tiles are exact; then the longest. */
static bool is_better(const Planner *p, const Loop *loop, const Loop *than)
{
	int64_t a = tile_extent(p, loop, 1), b = tile_extent(p, than, 1);
	return !than || a >= b;
}

/* The best loop of the result that leaves some operand in place, other than those in `but`, for the
 * rows or the columns. */
static Loop *reusing_loop(const Planner *p, const Loop * not, uint64_t but, uint32_t item)
{
	Nest *nest = p->tile->nest;
	Loop *best = NULL;
	for (uint32_t i = 0; i < nest->nresult; i++) {
		Loop *loop = &nest->loops[i];
		TilePart inside;
		bool whole = !is_guarded(nest, loop);
		if (loop == not || (stays(p, loop) & ~but) == 0 || !is_asked(p, p->tiles, item, loop))
			continue;
		if (!whole && !(item == ROWS && find_inside(p, loop, &inside)))
			continue;
		if (is_better(p, loop, best))
			best = loop;
	}
	return best;
}

/* Rows that share the vectors of a column where their loop is long enough; else those that share elements. */
static Loop *rows_across(const Planner *p)
{
	Loop *sharing = reusing_loop(p, p->tile->col, stays(p, p->tile->col), ROWS);
	bool enough = sharing && tile_extent(p, sharing, TILE_ASSUMED) >= LEAST_ROWS;
	return enough ? sharing : reusing_loop(p, p->tile->col, 0, ROWS);
}

static bool find_loops(Planner *p)
{
	Tile *tile = p->tile;
	Nest *nest = tile->nest;
	for (uint32_t i = nest->nresult; i-- > 0 && !tile->col;)
		if (is_asked(p, p->lanes, 0, &nest->loops[i]) && is_asked(p, p->tiles, COLUMNS, &nest->loops[i]) &&
		    runs_across(p, &nest->loops[i]))
			tile->col = &nest->loops[i];
	if (tile->col) {
		tile->form = TILE_ACROSS;
		tile->row = rows_across(p);
		return true;
	}
	tile->form = TILE_ALONG;
	for (uint32_t i = nest->nloops; i-- > nest->nresult && !tile->along;)
		if ((asks_on(p->packs) || is_asked(p, p->lanes, 0, &nest->loops[i])) &&
		    runs_along(p, &nest->loops[i]))
			tile->along = &nest->loops[i];
	if (!tile->along)
		return false;
	tile->col = reusing_loop(p, NULL, 0, COLUMNS);
	if (tile->col)
		tile->row = reusing_loop(p, tile->col, stays(p, tile->col), ROWS);
	return true;
}

/* ---- the whole ---- */

/* Little work, or none: no extent that is known is zero in what follows. */
static bool is_small(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t work = 1, n;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		if (!tile_is_const(p, nest->loops[i].extent, &n))
			n = TILE_ASSUMED;
		work *= n < LEAST_WORK ? n : LEAST_WORK;
		work = work < LEAST_WORK ? work : LEAST_WORK;
	}
	return work < LEAST_WORK;
}

/* Few steps: the cells' sums stay in registers while a window is read. */
static bool is_window(const Planner *p)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = 1, extent;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		if (!tile_is_const(p, nest->loops[i].extent, &extent) || extent > WINDOW_STEPS / steps)
			return false;
		steps *= extent;
	}
	return p->sum.at.n == 1;
}

/* Other sums than of products: lanes run across the result only. */
static bool is_semiring(Op reduce)
{
	return reduce == OP_MAX || reduce == OP_MIN || reduce == OP_MUL;
}

static bool may_be_tiled(Planner *p)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	Arena *arena = nest->gen->arena;
	Dtype dtype = nest->value->dtype;
	bool reduces = tile->reduce == OP_ADD || (is_semiring(tile->reduce) && dtype_is_float(dtype));
	if (!reduces || !(dtype_is_float(dtype) || dtype == DTYPE_I32) || nest->inner.stmts.n > 0 ||
	    is_small(p))
		return false;
	if (nest->target.acc != OP_NONE && !has_lanes(nest->target.acc, dtype))
		return false;
	for (size_t g = 0; g < nest->guards.n; g++)
		if (!nest_bounds_loop(nest, &nest->guards.at[g], nest->nresult))
			return false;
	p->sum.plain = p->store.plain = true;
	collect_loads(arena, &p->sum, nest->value);
	for (size_t i = 0; i < nest->epilogue.stmts.n; i++)
		collect_loads(arena, &p->store, nest->epilogue.stmts.at[i]->value);
	collect_loads(arena, &p->store, nest->finished);
	return (p->sum.at.n >= 2 || is_window(p)) && p->sum.plain && p->store.plain &&
	       is_arithmetic(nest->value, dtype) && ix_is_plain(nest->at);
}

/* ---- packing ---- */

/* The one operand that a loop moves; -1: there are more, or none. */
static int only_moved(const Planner *p, const Loop *loop)
{
	int moved = -1;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		if (stride(p, p->sum.at.at[i], loop) == 0)
			continue;
		if (moved >= 0 || !ix_uses(p->sum.at.at[i], loop->var))
			return -1;
		moved = (int)i;
	}
	return moved;
}

/* How often a panel is used at least: the extents of the result that do not move the operand, and
 * that are no batch axes where the order of additions depends on the choice. */
static int64_t uses_of(const Planner *p, int load, bool any, int64_t assumed)
{
	const Nest *nest = p->tile->nest;
	int64_t uses = 1;
	for (uint32_t i = 0; i < nest->nresult && uses < PACK_USES; i++) {
		const Loop *loop = &nest->loops[i];
		int64_t n = assumed;
		if (stride(p, p->sum.at.at[load], loop) != 0)
			continue;
		if (!(any && tile_is_const(p, loop->extent, &n)))
			tile_is_const(p, loop->own, &n);
		uses *= n;
	}
	return uses;
}

/* Steps of the sum; 0: not known. A padded read of the operand itself cannot be packed. */
static int64_t pack_steps(const Planner *p, int load)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = 1, extent;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		if (!tile_is_const(p, nest->loops[i].extent, &extent) || extent > INT32_MAX / steps)
			return 0;
		steps *= extent;
	}
	for (uint32_t i = 0; i < nest->nloops; i++)
		if (is_guarded(nest, &nest->loops[i]) && !nest->loops[i].reduced &&
		    stride(p, p->sum.at.at[load], &nest->loops[i]) != 0)
			return 0;
	return steps;
}

static bool asks_pack(const Planner *p, int load)
{
	Sym name = p->program->buffers.at[p->sum.from.at[load]].name;
	return !asks_off(p->packs) && asks_name(p->packs, 0, lower_identifier(p->tile->nest->gen->lower, name));
}

/* Does a copy at every call pay, or is it asked for? */
static bool pays_packed(const Planner *p, int load, bool any)
{
	return asks_pack(p, load) &&
	       (asks_on(p->packs) || uses_of(p, load, any, TILE_ASSUMED) >= PACK_USES);
}

static void pack(Planner *p, Loop *col, int load, LoopKind kind)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	tile->form = TILE_ACROSS;
	tile->pack = load;
	tile->pack_kind = kind;
	tile->col = col;
	tile->along = NULL;
	tile->group = 1;
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (stride(p, p->sum.at.at[load], &nest->loops[i]) != 0)
			tile->movers |= (uint64_t)1 << nest->loops[i].iter;
	tile->row = reusing_loop(p, col, ~((uint64_t)1 << load), ROWS);
}

/* Is the value a product of bytes, both neighbours along the sum that lanes run along? */
static bool has_quads(const Planner *p)
{
	const Value *value = p->tile->nest->value;
	const Loop *along = p->tile->along;
	if (p->tile->form != TILE_ALONG || value->kind != VALUE_OP || value->op != OP_MUL ||
	    tile_extent(p, along, QUAD_STEPS) < QUAD_STEPS)
		return false;
	for (int i = 0; i < 2; i++)
		if (!tile_is_widening(value->args[i]) || dtype_bytes(value->args[i]->args[0]->dtype) != 1 ||
		    stride(p, value->args[i]->args[0]->ix, along) != 1)
			return false;
	return true;
}

/* Products that a lane can add at once, by what both operands are stored as; 1: one. */
static int64_t group_of(const Planner *p)
{
	const Value *value = p->tile->nest->value;
	if (p->tile->reduce != OP_ADD || value->kind != VALUE_OP || value->op != OP_MUL ||
	    !tile_is_widening(value->args[0]) || !tile_is_widening(value->args[1]))
		return 1;
	Dtype a = value->args[0]->args[0]->dtype, b = value->args[1]->args[0]->dtype;
	if (dtype_bytes(a) == 1 && dtype_bytes(b) == 1)
		return QUAD;
	return a == DTYPE_BF16 && b == DTYPE_BF16 && p->machine->pairs ? 2 : 1;
}

/* A loop of the sum along which the rows' operand has groups; NULL: there is none. */
static Loop *group_loop(const Planner *p, int rows, int64_t group)
{
	Nest *nest = p->tile->nest;
	for (uint32_t i = nest->nloops; i-- > nest->nresult;)
		if (tile_extent(p, &nest->loops[i], 0) >= group &&
		    stride(p, p->sum.at.at[rows], &nest->loops[i]) == 1)
			return &nest->loops[i];
	return NULL;
}

/* Does copying the operand in groups pay? Bytes that are neighbours along the sum need no copy for few rows. Sums of
 * floats depend on the choice, and few rows of them are as fast without. */
static bool groups_pay(const Planner *p, int load, const Loop *along)
{
	bool exact = !dtype_is_float(p->tile->nest->value->dtype);
	bool turns = stride(p, p->sum.at.at[load], along) == 1;
	int64_t least = turns ? PACK_USES : exact ? WORD_USES : PAIR_USES;
	return asks_pack(p, load) &&
	       (asks_on(p->packs) || uses_of(p, load, exact, exact ? TILE_ASSUMED : 1) >= least);
}

/* Products with lanes across the result, a group of steps at a time, where one operand can be packed for it. */
static bool pack_groups(Planner *p)
{
	Nest *nest = p->tile->nest;
	int64_t group = group_of(p);
	if (group == 1 || nest->guards.n > 0 || nest->nresult == 0)
		return false;
	Loop *col = &nest->loops[nest->nresult - 1];
	int load = only_moved(p, col);
	Loop *along = load < 0 ? NULL : group_loop(p, !load, group);
	if (!along || !is_asked(p, p->tiles, COLUMNS, col) || !is_asked(p, p->lanes, 0, col) ||
	    stride(p, nest->at, col) != 1 || !moves_by_one(p, &p->store, col, false) ||
	    tile_extent(p, col, 0) < p->native || pack_steps(p, load) == 0)
		return false;
	bool ahead = tile_may_prepack(p, load);
	if (!ahead && !groups_pay(p, load, along))
		return false;
	pack(p, col, load, LOOP_SERIAL);
	p->tile->prepacked = ahead;
	p->tile->along = along;
	p->tile->group = group;
	return true;
}

/* Lanes along a sum become lanes across the result where its operand can be turned once for many
 * rows. */
static void pack_turned(Planner *p)
{
	const Nest *nest = p->tile->nest;
	for (uint32_t i = nest->nresult; i-- > 0;) {
		Loop *col = &nest->loops[i];
		int load = only_moved(p, col);
		if (load < 0 || !is_asked(p, p->tiles, COLUMNS, col) || stride(p, nest->at, col) != 1 ||
		    is_guarded(nest, col) || !moves_by_one(p, &p->store, col, false) ||
		    tile_extent(p, col, 0) < PACK_COLUMNS || pack_steps(p, load) < PACK_STEPS)
			continue;
		p->tile->prepacked = tile_may_prepack(p, load);
		if (!p->tile->prepacked && !pays_packed(p, load, false))
			continue;
		pack(p, col, load, LOOP_UNROLL);
		return;
	}
}

/* Would filling up the last vector of the columns leave a fifth of them? */
static bool is_ragged(const Planner *p, int64_t cols)
{
	const Tile ragged = {.nest = p->tile->nest, .lanes = p->native, .group = 1};
	int64_t vectors = (cols + p->native - 1) / p->native;
	return cols > 0 && tile_vectors(&ragged, cols) * 4 >= vectors * 5;
}

/* Is the operand read once where it is not copied: do all loops but the rows' move it? */
static bool streams_once(const Planner *p, int load)
{
	const Nest *nest = p->tile->nest;
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (&nest->loops[i] != p->tile->row &&
		    stride(p, p->sum.at.at[load], &nest->loops[i]) == 0)
			return false;
	return p->program->buffers.at[p->sum.from.at[load]].dtype == nest->value->dtype &&
	       tile_streams(p);
}

/* A panel that would be spread over too many lines is gathered, unless the operand goes by once. Where elements are left behind its last vector, that
 * one is read whole, or the panel is gathered and filled up. */
static void pack_spread(Planner *p)
{
	Tile *tile = p->tile;
	int load = only_moved(p, tile->col);
	if (load < 0)
		return;
	bool ahead = tile_may_prepack(p, load), packs = ahead || pays_packed(p, load, true);
	int64_t steps = pack_steps(p, load), cols = tile_extent(p, tile->col, 0);
	int bytes = dtype_bytes(tile->nest->value->dtype);
	bool spread = cols > 0 && steps * bytes >= PACK_SPREAD / cols, ragged = is_ragged(p, cols);
	bool asked = asks_on(ahead ? p->prepacks : p->packs);
	if (ragged && !ahead && !asked && !(packs && spread) && !tile_streams(p))
		tile->step_apart = tile_step_apart(p, load);
	if (tile->step_apart > 0)
		tile->beyond = load;
	else if (packs && steps > 0 &&
		 (ragged || asked || (spread && (ahead || !streams_once(p, load))))) {
		tile->prepacked = ahead;
		pack(p, tile->col, load, LOOP_VECTOR);
	}
}

bool tile_plan(Tile *tile, const Machine *machine)
{
	Planner p = {.tile = tile, .machine = machine, .program = tile->nest->gen->program};
	int bytes = dtype_bytes(tile->nest->value->dtype);
	p.native = machine->vector_bytes / bytes;
	const Nest *nest = tile->nest;
	p.tiles = gen_asked(nest->gen, CHOICE_TILE);
	p.lanes = gen_asked(nest->gen, CHOICE_VECTOR);
	p.packs = gen_asked(nest->gen, CHOICE_PACK);
	p.prepacks = gen_asked(nest->gen, CHOICE_PREPACK);
	p.blocks = gen_asked(nest->gen, CHOICE_BLOCK);
	p.fetches = gen_asked(nest->gen, CHOICE_FETCH);
	if (!may_be_tiled(&p))
		return false;
	if (asks_off(p.tiles)) {
		gen_make(nest->gen, CHOICE_TILE, true);
		return false;
	}
	tile->apart = tile_stores_apart(&p);
	bool found = find_loops(&p), groups = nest->proj->niters < 64 && pack_groups(&p);
	if (!groups && found && has_quads(&p))
		tile->group = QUAD;
	if (p.sum.at.n >= 2 && nest->proj->niters < 64 && !groups &&
	    (tile->group == 1 || asks_on(p.packs)))
		tile->form == TILE_ALONG ? pack_turned(&p) : pack_spread(&p);
	if ((!found && tile->pack < 0) ||
	    (tile->form == TILE_ALONG && (tile->reduce != OP_ADD || p.sum.at.n < 2)))
		return false;
	tile->lanes = tile->form == TILE_ALONG ? CACHE_LINE / bytes : p.native;
	if (tile->row && !find_inside(&p, tile->row, &tile->inside))
		BUG("rows of a tile without an inside");
	tile_find_cut(&p);
	tile->guards = nest->guards;
	for (size_t g = 0; g < nest->guards.n; g++)
		if (!tile->row || !moves_guard(&nest->guards.at[g], tile->row))
			PUSH(nest->gen->arena, tile->inner, nest->guards.at[g]);
	tile->beside = tile->form == TILE_ALONG && tile->col && stride(&p, nest->at, tile->col) == 1 &&
		       moves_by_one(&p, &p.store, tile->col, false);
	p.streams = tile_streams(&p);
	tile_choose_sizes(&p);
	if (tile->rows.n == 0)
		return false;
	tile_choose_blocks(&p);
	tile_choose_fetch(&p);
	tile_describe(&p);
	return true;
}
