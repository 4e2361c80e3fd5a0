/* Which operand of a tile is copied into panels, and how:
 *
 *   groups   two or four steps of the sum beside each other in a lane, for vdpbf16ps and VNNI
 *   transposed   an operand that lies along the sum, so that lanes run across the result
 *   spread   one whose panel would be spread over more lines than stay in a cache, or that ends in
 *            the middle of a vector
 *
 * A copy in the state, made once, is always worth it; one that is made at every call where enough
 * rows use it. Sums of floats are added in the order that the choice gives, so for them it depends
 * on the extents of one member of a batch alone.
 */
#include "base/integer.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/plan.h"

/* Products of bytes in a lane. */
enum { QUAD = 4 };
/* Lanes of a vector whose squares are transposed. */
enum { LEAST_SIDE = 4 };

/* The one operand that a loop moves, however often the value reads the same of it; -1: there are
 * more, or none. */
static int only_moved(const Planner *p, const Loop *loop)
{
	int moved = -1;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		if (tile_stride(p, p->sum.at.at[i], loop) == 0)
			continue;
		if (moved >= 0 && tile_reads_same(&p->sum, (size_t)moved, i))
			continue;
		if (moved >= 0 || !ix_uses(p->sum.at.at[i], loop->var))
			return -1;
		moved = (int)i;
	}
	return moved;
}

/* How often a panel is used at least: the extents of the result that do not move the operand;
 * `any`: those of batch axes too, where the order of additions does not depend on the choice. */
static int64_t uses_of(const Planner *p, int load, bool any, int64_t assumed)
{
	const Nest *nest = p->tile->nest;
	int64_t uses = 1;
	if (!any)
		return sums_uses(&p->facts, (uint32_t)load, assumed);
	for (uint32_t i = 0; i < nest->nresult && uses < p->target->pack_uses; i++) {
		const Loop *loop = &nest->loops[i];
		int64_t n = assumed;
		if (tile_stride(p, p->sum.at.at[load], loop) != 0)
			continue;
		if (!tile_is_const(p, loop->extent, &n))
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
		if (nest_is_guarded(nest, &nest->loops[i]) && !nest->loops[i].reduced &&
		    tile_stride(p, p->sum.at.at[load], &nest->loops[i]) != 0)
			return 0;
	return steps;
}

static bool asks_pack(const Planner *p, int load)
{
	Sym name = p->program->buffers.at[p->sum.from.at[load]].name;
	return (p->replays ? asks_on(p->packs) : !asks_off(p->packs)) &&
	       nest_is_of_args(p->tile->nest) &&
	       asks_name(p->packs, 0, lower_identifier(p->tile->nest->gen->lower, name));
}

/* Does a copy at every call pay, or is it asked for? */
static bool pays_packed(const Planner *p, int load, bool any)
{
	return asks_pack(p, load) &&
	       (asks_on(p->packs) || uses_of(p, load, any, TILE_ASSUMED) >= p->target->pack_uses);
}

/* Is the copy best made at every call, though it could stay? In the state elements are as they are stored, which each
 * tile widens again: of eight bits, that takes several instructions. */
static bool widens_often(const Planner *p, int load)
{
	Dtype dtype = p->program->buffers.at[p->sum.from.at[load]].dtype;
	bool once = !p->tile->nest->gen->lower->row_block; /* each block has a copy */
	return dtype_is_small_float(dtype) && dtype_bytes(dtype) == 1 && asks_pack(p, load) &&
	       once && !asks_on(p->prepacks) && uses_of(p, load, true, 1) >= p->target->conversion_copy;
}

static void pack(Planner *p, Loop *col, int load, bool along)
{
	Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	tile->form = TILE_ACROSS;
	tile->pack = load;
	tile->pack_along = along;
	tile->col = col;
	tile->along = NULL;
	tile->group = 1;
	tile->word = 1;
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (tile_stride(p, p->sum.at.at[load], &nest->loops[i]) != 0)
			tile->movers |= (uint64_t)1 << nest->loops[i].iter;
	tile->row = tile_reusing_loop(p, col, ~((uint64_t)1 << load), TILE_ROWS);
}

static bool is_packed(const Planner *p, const Value *load)
{
	return dtype_is_packed(p->program->buffers.at[load->buffer].dtype);
}

/* Is the value a product of bytes, both neighbours along the sum that lanes run along? */
static bool has_quads(const Planner *p)
{
	const Value *value = p->tile->nest->value;
	const Loop *along = p->tile->along;
	if (p->tile->form != TILE_ALONG || value->kind != VALUE_OP || value->op != OP_MUL ||
	    (!p->replays && tile_extent(p, along, p->target->group_steps) < p->target->group_steps))
		return false;
	for (int i = 0; i < 2; i++)
		if (!value_widens(value->args[i]) ||
		    dtype_bytes(value->args[i]->args[0]->dtype) != 1 ||
		    is_packed(p, value->args[i]->args[0]) ||
		    tile_stride(p, value->args[i]->args[0]->ix, along) != 1)
			return false;
	return true;
}

/* A schedule that is read back names the groups that there are. */
static bool may_group(const Planner *p)
{
	return p->replays ? asks_on(p->groups) : !asks_off(p->groups);
}

/* Products that a lane can add at once, by what both operands are stored as; 1: one. */
static int64_t group_of(const Planner *p)
{
	const Value *value = p->tile->nest->value;
	if (p->tile->reduce != OP_ADD || value->kind != VALUE_OP || value->op != OP_MUL ||
	    !value_widens(value->args[0]) || !value_widens(value->args[1]))
		return 1;
	Dtype a = value->args[0]->args[0]->dtype, b = value->args[1]->args[0]->dtype;
	if (dtype_is_byte(a) && dtype_is_byte(b))
		return QUAD;
	return a == DTYPE_BF16 && b == DTYPE_BF16 && p->program->options.pairs ? 2 : 1;
}

/* The innermost loop, where the rows' operand has groups of whole bytes along it, and no read of a group is partly
 * outside; NULL: there is none. */
static Loop *group_loop(const Planner *p, int rows, int64_t group)
{
	Nest *nest = p->tile->nest;
	Loop *last = &nest->loops[nest->nloops - 1];
	bool fits = nest->nloops > nest->nresult && tile_extent(p, last, TILE_ASSUMED) >= group &&
		    !dtype_is_packed(p->program->buffers.at[p->sum.from.at[rows]].dtype) &&
		    tile_stride(p, p->sum.at.at[rows], last) == 1 && !nest_is_guarded(nest, last);
	return fits ? last : NULL;
}

/* Does copying the operand in groups pay? Bytes that are neighbours along the sum need no copy for
 * few rows. Sums of floats depend on the choice, and few rows of them are as fast without. */
static bool groups_pay(const Planner *p, int load, const Loop *along)
{
	bool exact = !dtype_is_float(p->tile->nest->value->dtype);
	bool transposes = tile_stride(p, p->sum.at.at[load], along) == 1;
	int64_t least = transposes ? p->target->pack_uses
			: exact	   ? p->target->group_uses
				   : p->target->pair_uses;
	return asks_pack(p, load) && (asks_on(p->packs) || asks_on(p->groups) ||
				      uses_of(p, load, exact, exact ? TILE_ASSUMED : 1) >= least);
}

/* Are the steps of the sum known, or those alone that groups go along? */
static bool has_steps(const Planner *p, int load, const Loop *along)
{
	const Nest *nest = p->tile->nest;
	int64_t extent;
	if (tile_is_const(p, along->extent, &extent))
		return pack_steps(p, load) > 0;
	return nest->nloops == nest->nresult + 1 && nest->guards.n == 0;
}

/* Are there vectors of columns? Of a dim, some columns go one by one, whose sums of floats are
 * rounded otherwise: they are no members of a batch. */
static bool has_columns(const Planner *p, const Loop *col)
{
	int64_t n;
	if (tile_is_const(p, col->extent, &n))
		return sums_extent(&p->facts, tile_place(p, col), 1) >= p->native;
	return !dtype_is_float(p->tile->nest->value->dtype) || !tile_is_const(p, col->own, &n);
}

/* Products with lanes across the result, a group of steps at a time, where one operand can be
 * packed for it. */
static bool pack_groups(Planner *p)
{
	Nest *nest = p->tile->nest;
	int64_t group = group_of(p);
	if (group == 1 || nest->carries || nest->nresult == 0 || !may_group(p))
		return false;
	Loop *col = &nest->loops[nest->nresult - 1];
	int load = only_moved(p, col);
	bool squares = tile_reads_same(&p->sum, 0, 1);
	Loop *along = load < 0 || squares ? NULL : group_loop(p, !load, group);
	if (!along || !tile_is_asked(p, p->tiles, TILE_COLUMNS, col) ||
	    !tile_is_asked(p, p->lanes, 0, col) || tile_stride(p, nest->at, col) != 1 ||
	    !tile_moves_by_one(p, col) || !has_columns(p, col) || !has_steps(p, load, along))
		return false;
	/* of four bits panels are words, unless groups of bytes are asked for */
	bool words = dtype_is_packed(p->program->buffers.at[p->sum.from.at[load]].dtype);
	bool hoisted = tile_may_prepack(p, load) && (!words || asks_on(p->groups));
	if (!hoisted && !groups_pay(p, load, along))
		return false;
	pack(p, col, load, false);
	p->tile->prepacked = hoisted;
	p->tile->along = along;
	p->tile->group = group;
	p->tile->matrix = tile_may_be_matrix(p);
	return true;
}

/* Can a copy of it be made when the state is packed, in words or not? */
static bool may_hoist(const Planner *p, int load)
{
	return tile_may_prepack_words(p, load) || tile_may_prepack(p, load);
}

/* The one operand that does not lie along a loop of those that it moves, where a copy stays and vectors of
 * the others need no filling up; -1: there are more, or none. */
static int only_strided(const Planner *p, const Loop *loop)
{
	int strided = -1;
	if (tile_extent(p, loop, 1) % p->native != 0)
		return -1;
	for (size_t i = 0; i < p->sum.at.n; i++) {
		int64_t by = tile_stride(p, p->sum.at.at[i], loop);
		bool moved = ix_uses(p->sum.at.at[i], loop->var);
		if ((moved && by == 0) || (by > 1 && strided >= 0))
			return -1;
		if (by != 0 && by != 1)
			strided = (int)i;
	}
	return strided >= 0 && may_hoist(p, strided) ? strided : -1;
}

/* Lanes along a sum become lanes across the result where its operand can be transposed once for many
 * rows. */
static void pack_transposed(Planner *p)
{
	const Nest *nest = p->tile->nest;
	for (uint32_t i = nest->nresult; i-- > 0;) {
		Loop *col = &nest->loops[i];
		int load = only_moved(p, col);
		load = load < 0 ? only_strided(p, col) : load;
		if (load < 0 || !tile_is_asked(p, p->tiles, TILE_COLUMNS, col) ||
		    !tile_is_asked(p, p->lanes, 0, col) || tile_stride(p, nest->at, col) != 1 ||
		    nest_is_guarded(nest, col) || !tile_moves_by_one(p, col) ||
		    tile_extent(p, col, 0) == 0)
			continue;
		bool words = tile_may_prepack_words(p, load),
		     hoisted = words || tile_may_prepack(p, load);
		if (!sums_transposes(&p->facts, tile_place(p, col), pack_steps(p, load),
				     !hoisted) ||
		    (!hoisted && !pays_packed(p, load, false)))
			continue;
		pack(p, col, load, true);
		p->tile->prepacked = hoisted && !widens_often(p, load);
		p->tile->word = words ? PACKED_WORD : 1;
		return;
	}
}

/* The columns that rows are transposed for: the longest loop that moves one operand alone, which can be
 * packed and which the rows leave in place; no batch's. */
static Loop *transposed_columns(const Planner *p, const Loop *row)
{
	Nest *nest = p->tile->nest;
	Loop *best = NULL;
	for (uint32_t i = 0; i < nest->nresult; i++) {
		Loop *col = &nest->loops[i];
		int load = col == row ? -1 : only_moved(p, col);
		if (load < 0 || !size_same(col->own, col->extent) ||
		    ix_uses(p->sum.at.at[load], row->var) ||
		    !tile_is_asked(p, p->tiles, TILE_COLUMNS, col) ||
		    !tile_is_asked(p, p->lanes, 0, col) || nest_is_guarded(nest, col) ||
		    tile_extent(p, col, 0) == 0 ||
		    sums_extent(&p->facts, tile_place(p, col), 1) < p->native ||
		    pack_steps(p, load) < (p->replays ? 1 : p->target->pack_steps) ||
		    size_is_bad(ix_stride(p->program, nest->at, col->var)))
			continue;
		if (!best || tile_extent(p, col, 0) > tile_extent(p, best, 0))
			best = col;
	}
	return best;
}

bool tile_choose_transposed(Planner *p)
{
	Tile *tile = p->tile;
	Nest *nest = tile->nest;
	if (nest->gen->lower->row_block || nest->nresult < 2 || nest->proj->niters >= 64 ||
	    !tile_sets(tile) || tile->reduce != OP_ADD || !dtype_is_float(nest->value->dtype) ||
	    group_of(p) > 1 || p->native < LEAST_SIDE || p->sum.at.n != 2)
		return false;
	Loop *row = &nest->loops[nest->nresult - 1];
	Loop *col = transposed_columns(p, row);
	if (!col || tile_extent(p, row, 0) < 2 || !tile_may_be_rows(p, row) ||
	    !tile_is_asked(p, p->tiles, TILE_ROWS, row) || !tile_stores_along(p, row))
		return false;
	int load = only_moved(p, col);
	bool hoisted = tile_may_prepack(p, load),
	     along = tile_stride(p, p->sum.at.at[load], col) != 1;
	if ((!hoisted && !pays_packed(p, load, false)) ||
	    tile_near_stride(p, p->sum.at.at[!load], row) <= 0)
		return false;
	pack(p, col, load, along);
	tile->row = row;
	tile->prepacked = hoisted && !widens_often(p, load);
	tile->stores_rows = true;
	return true;
}

/* Vectors that the columns take as they are, those in the middle of which they end too; and filled
 * up. */
static int64_t cut_vectors(const Planner *p, int64_t cols)
{
	const Tile cut = {.nest = p->tile->nest, .lanes = p->native, .group = 1};
	return tile_vectors(&cut, cols);
}

static int64_t whole_vectors(const Planner *p, int64_t cols) { return divide_up(cols, p->native); }

/* Is the operand read once where it is not copied: do all loops but the rows' move it? */
static bool streams_once(const Planner *p, int load)
{
	const Nest *nest = p->tile->nest;
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (&nest->loops[i] != p->tile->row &&
		    tile_stride(p, p->sum.at.at[load], &nest->loops[i]) == 0)
			return false;
	return p->program->buffers.at[p->sum.from.at[load]].dtype == nest->value->dtype &&
	       tile_streams(p);
}

/* Vectors that are shorter than a line read each line of what lies outside the first cache several
 * times. */
static bool is_narrow(const Target *target) { return target->vector_bytes < target->line_bytes; }

/* Sixteenths of a cycle that tiles wait for the ends of vectors in the next line, on average of a line
 * of the operand: its columns begin anywhere in a line that its steps are no multiple of apart, so
 * many bytes from its beginning as both have as a factor. */
static int64_t crossing_wait(const Planner *p, int load)
{
	const Nest *nest = p->tile->nest;
	int64_t line = p->target->line_bytes, step, part = 1;
	Size by = ix_stride(p->program, p->sum.at.at[load], nest->loops[nest->nloops - 1].var);
	if (nest->nloops == nest->nresult || size_is_bad(by) || !tile_is_const(p, by, &step))
		return 0;
	step *= dtype_bytes(p->program->buffers.at[p->sum.from.at[load]].dtype);
	while (part < line && step % (2 * part) == 0)
		part *= 2;
	return p->target->stream_line_cross * (line - part) / line;
}

/* Would tiles wait longer for the lines of an operand where it lies, `wait` sixteenths of a cycle
 * each time that rows go by, than its copy takes? A quarter of the registers stands for the rows
 * of a tile, if one may not hold all. */
static bool waits_longer(const Planner *p, int64_t wait)
{
	const Target *target = p->target;
	int64_t rows = tile_extent(p, p->tile->row, TILE_ASSUMED),
		tiles = rows <= target->tile_rows ? 1 : divide_up(rows, target->registers / 4);
	return tiles * (is_narrow(target) ? 2 : 1) * wait > target->copy_cost_stream * p->native;
}

static bool stream_waits_longer(const Planner *p, int load)
{
	int64_t line = tile_steps_meet(p) ? p->target->stream_line_sets : p->target->stream_line;
	return waits_longer(p, line + crossing_wait(p, load));
}

/* Bytes of an operand from which on a panel is copied; each block of rows has a copy. */
static int64_t spread_bytes(const Planner *p)
{
	const Target *target = p->target;
	return is_narrow(target) && !p->tile->nest->gen->lower->row_block ? 4 * target->l1_bytes
									  : target->spread_bytes;
}

/* A panel that would be spread over too many lines, or whose vectors cross lines often enough, is
 * gathered, unless the operand goes by once.
 * Where elements are left behind its last vector, that one is read whole, or the panel is gathered
 * and filled up. */
static void pack_spread(Planner *p)
{
	Tile *tile = p->tile;
	int load = only_moved(p, tile->col);
	if (load < 0)
		return;
	bool hoisted = tile_may_prepack(p, load), once = streams_once(p, load),
	     waits = once && asks_pack(p, load) && stream_waits_longer(p, load),
	     packs = hoisted || waits || pays_packed(p, load, true);
	int64_t steps = pack_steps(p, load), cols = tile_extent(p, tile->col, 0);
	int bytes = dtype_bytes(tile->nest->value->dtype);
	int64_t cut = cut_vectors(p, cols), whole = whole_vectors(p, cols);
	bool spread = cols > 0 && (steps * bytes >= spread_bytes(p) / cols ||
				   (tile->row && waits_longer(p, crossing_wait(p, load)))),
	     ragged = cut * 4 >= whole * 5;
	bool asked = asks_on(hoisted ? p->prepacks : p->packs);
	if (gen_asked(tile->nest->gen, CHOICE_OVER_READ))
		tile->step_strided = tile_asks_over_read(p, load) ? tile_step_strided(p, load) : 0;
	else if (cut > whole && !hoisted && !asked && !(packs && spread) && !tile_streams(p))
		tile->step_strided = tile_step_strided(p, load);
	if (tile->step_strided > 0)
		tile->over_read = load;
	else if (packs && steps > 0 &&
		 (asked || (!p->replays && ragged) || (spread && (hoisted || !once || waits)))) {
		tile->prepacked = hoisted && !widens_often(p, load);
		pack(p, tile->col, load, false);
	}
}

/* Does the value read more than one thing? Else a copy serves nothing twice. */
static bool has_operands(const Loads *loads)
{
	for (size_t i = 1; i < loads->at.n; i++)
		if (!tile_reads_same(loads, 0, i))
			return true;
	return false;
}

void tile_choose_pack(Planner *p, bool found)
{
	Tile *tile = p->tile;
	bool few = tile->nest->proj->niters < 64;
	if (few && pack_groups(p))
		return;
	if (found && may_group(p) && has_quads(p))
		tile->group = QUAD;
	if (few && has_operands(&p->sum) && (tile->group == 1 || asks_on(p->packs)))
		tile->form == TILE_ALONG ? pack_transposed(p) : pack_spread(p);
}
