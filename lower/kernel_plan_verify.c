/* The verifier of how kernels are computed: what holds of every plan, whatever chose it.
 *
 * Loops suit the form of their nest; the parts of a tile's rows and columns follow each other from 0 to the
 * extent of their loop; the sums of a tile fit the target's registers beside an operand; what a row
 * block computes has no kernel elsewhere, and its parts go over all rows. Copies have room, which is
 * declared for the one kernel that fills them, and what is computed where a kernel reads it is in no
 * memory.
 */
#include <inttypes.h>

#include "base/diag.h"
#include "base/integer.h"
#include "base/size_order.h"
#include "lower/kernel_plan.h"
#include "lower/lower.h"
#include "lower/routine_plan.h"
#include "lower/row_block.h"
#include "lower/tile/copies.h"

/* ---- nests ---- */

static bool is_of(const Nest *nest, const Loop *loop, bool reduced)
{
	return loop >= nest->loops && loop < nest->loops + nest->nloops && loop->reduced == reduced;
}

static bool ends_reduced(const Nest *nest)
{
	return nest->nloops > 0 && nest->loops[nest->nloops - 1].reduced;
}

static bool suits_form(const Nest *nest, const NestPlan *plan)
{
	bool sums = nest->nloops > nest->nresult;
	switch (plan->form) {
	case NEST_STORES: return !sums || nest->scattered;
	case NEST_LOCAL: return !nest->scattered;
	case NEST_ROWS: return sums && !ends_reduced(nest) && nest->target.acc == OP_NONE;
	case NEST_ROW_LOCAL: return sums && !ends_reduced(nest) && plan->lanes > 0;
	case NEST_SHORT:
		return plan->order.form == SUM_IN_TURN && (plan->steps > 0) != (plan->cuts != NULL);
	case NEST_LANES: return ends_reduced(nest) && plan->order.form == SUM_IN_LANES;
	case NEST_PARTS: return ends_reduced(nest) && plan->order.form == SUM_IN_PARTS;
	case NEST_TILES: return sums && plan->tile->order.form != SUM_NONE;
	}
	return false;
}

/* Parts of a loop follow each other, around one where no window leaves its axis. */
static void verify_cut(const Nest *nest, const Loop *loop, const LoopCut *cut)
{
	Sizes *sizes = nest->gen->program->sizes;
	Size end = size_const(sizes, 0);
	for (size_t i = 0; i < cut->parts.n; i++) {
		if (!size_same(cut->parts.at[i].first, end))
			BUG("parts of a loop of %s leave a gap", nest->gen->name);
		end = cut->parts.at[i].end;
	}
	if (!size_same(end, loop->extent))
		BUG("parts of a loop of %s end before it, or behind it", nest->gen->name);
	if (cut->inside >= cut->parts.n)
		BUG("a loop of %s has no part where windows are inside", nest->gen->name);
}

/* A value that reads windows beyond their axis is another one in each part. */
static void verify_cuts(const Nest *nest, const NestPlan *plan)
{
	bool windows = nest->nborders > 0 && (plan->form == NEST_STORES || plan->form == NEST_SHORT);
	if ((plan->cuts != NULL) != windows)
		BUG("the loops of %s are cut, and it reads no windows, or the other way round",
		    nest->gen->name);
	for (uint32_t i = 0; plan->cuts && i < nest->nresult; i++)
		verify_cut(nest, &nest->loops[i], &plan->cuts[i]);
}

/* ---- tiles ---- */

/* Rows whose reads are inside between bounds that are found at run time go one by one beside these. */
static bool is_bounded(const TileParts *parts)
{
	bool bounded = false;
	for (uint32_t i = 0; i < parts->n; i++)
		bounded |= parts->at[i].from != NULL;
	return bounded;
}

static void verify_parts(const Nest *nest, const TileParts *parts, const Loop *loop)
{
	Sizes *sizes = nest->gen->program->sizes;
	Size end = size_const(sizes, 0), extent = loop ? loop->extent : size_const(sizes, 1);
	for (uint32_t i = 0; i < parts->n; i++) {
		if (parts->at[i].step < 1)
			BUG("a tile of %s has %" PRId64 " rows or columns", nest->gen->name,
			    parts->at[i].step);
		if (!is_bounded(parts) && !size_same(parts->at[i].lo, end))
			BUG("tiles of %s leave a gap", nest->gen->name);
		end = parts->at[i].hi;
	}
	if (!is_bounded(parts) && !size_same(end, extent))
		BUG("tiles of %s end before their loop, or behind it", nest->gen->name);
}

/* Vectors of sums of so many rows and columns, the least that they can be. */
static int64_t sum_vectors(const Tile *tile, int64_t rows, int64_t cols)
{
	return tile->form == TILE_ACROSS ? rows * divide_up(cols, tile_native(tile))
					 : rows * cols * (tile->lanes / tile_native(tile));
}

/* Sums in matrix tiles, which leave as many for the operands. */
static void verify_matrix(const Tile *tile, const TileParts *rows, const TilePart *col)
{
	const Target *t = tile_target(tile);
	for (uint32_t i = 0; i < rows->n; i++)
		if (2 * divide_up(rows->at[i].step, t->matrix_rows) *
			    divide_up(col->step, tile_native(tile)) >
		    t->matrix_tiles)
			BUG("a tile of %s, %" PRId64 " by %" PRId64 ", does not fit %" PRId64
			    " matrix tiles",
			    tile->nest->gen->name, rows->at[i].step, col->step, t->matrix_tiles);
}

static void verify_registers(const Tile *tile, const TileParts *rows, const TilePart *col)
{
	if (tile->matrix) {
		verify_matrix(tile, rows, col);
		return;
	}
	int64_t registers = tile_target(tile)->registers;
	for (uint32_t i = 0; i < rows->n; i++)
		if (!rows->at[i].transposed &&
		    sum_vectors(tile, rows->at[i].step, col->step) >= registers)
			BUG("a tile of %s, %" PRId64 " by %" PRId64 ", does not fit %" PRId64
			    " registers",
			    tile->nest->gen->name, rows->at[i].step, col->step, registers);
}

/* Has the value a function of many instructions? Comparisons of indices are cast from whole numbers. */
static bool has_function(const Value *value)
{
	bool found =
		value->kind == VALUE_OP && dtype_is_float(value->dtype) && !op_is_simple(value->op);
	if (value->kind == VALUE_CAST && dtype_is_integer(value->args[0]->dtype))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		found |= has_function(value->args[i]);
	return found;
}

/* What follows from the sums: vectors compute it, or loops of its own, as far as it is known where each sum is the
 * neutral element. */
static void verify_finish(const Nest *nest, const Tile *tile)
{
	bool function = has_function(nest->finished);
	for (size_t i = 0; i < nest->epilogue.n; i++)
		function |= has_function(nest->epilogue.at[i].value);
	if ((tile->finish.masked || tile->finish.fission) && nest->root == nest->node)
		BUG("%s looks at what follows from its sums, and nothing does", nest->gen->name);
	if (tile->finish.fission && (tile->form != TILE_ACROSS || tile->collapse.round > 0))
		BUG("%s has loops for functions of its sums, and no lanes there", nest->gen->name);
	if (tile->finish.vectors && (tile->form != TILE_ALONG || !tile->col || function))
		BUG("%s stores columns in vectors, and lanes do not compute them", nest->gen->name);
	if (function && !tile->finish.fission && tile->form == TILE_ACROSS &&
	    tile->collapse.round == 0)
		BUG("lanes of %s have functions of many instructions", nest->gen->name);
}

static void verify_tile(const Nest *nest, const Tile *tile)
{
	if (tile->nest != nest || (tile->row && !is_of(nest, tile->row, false)) ||
	    (tile->col && (!is_of(nest, tile->col, false) || tile->col == tile->row)) ||
	    (tile->along && !is_of(nest, tile->along, true)))
		BUG("the rows, columns or lanes of %s are none of its loops", nest->gen->name);
	verify_finish(nest, tile);
	if (tile->zeros.n > 0 && (tile->form != TILE_ACROSS || nest->nloops != nest->nresult + 1))
		BUG("%s leaves products out, and has no lanes across, or several loops of its sum",
		    nest->gen->name);
	if (tile->unused.n > 0 && (tile->form != TILE_ALONG || nest->root != nest->node))
		BUG("%s leaves sums out, and has no lanes along, or something follows from them",
		    nest->gen->name);
	verify_parts(nest, &tile->rows, tile->row);
	verify_parts(nest, &tile->cols, tile->col);
	for (uint32_t i = 0; i < tile->cols.n; i++) {
		bool last = i + 1 == tile->cols.n;
		verify_registers(tile, last && tile->remainder.n ? &tile->remainder : &tile->rows,
				 &tile->cols.at[i]);
	}
}

/* ---- buffers ---- */

static bool owns(const Gen *gen, BufferId buffer)
{
	bool found = false;
	for (size_t i = 0; i < gen->buffers.n; i++)
		found |= gen->buffers.at[i] == buffer;
	return found;
}

static void verify_room(const Gen *gen, BufferId buffer, Size elements)
{
	if (buffer >= gen->program->buffers.n)
		BUG("%s has no room for a copy", gen->name);
	const Buffer *room = &gen->program->buffers.at[buffer];
	if (!size_ge(gen->program->sizes, room->elements, elements))
		BUG("%s has too little room in %s", gen->name, room->name);
}

/* Copies and sums are planned where the code fills them. */
static void verify_tile_buffers(const Gen *gen, const Tile *tile)
{
	if (tile->pack >= 0)
		verify_room(gen, tile->packed, tile_packed_elements(tile));
	if ((tile->pack >= 0 && tile->fills && !owns(gen, tile->packed)) ||
	    (tile->sums != BUFFER_NONE && !owns(gen, tile->sums)))
		BUG("%s fills a copy that is not planned with it", gen->name);
}

/* Of each member of a batch. */
static void verify_parts_buffer(const Gen *gen, const PlannedNest *planned)
{
	const NestPlan *plan = &planned->plan;
	const Nest *nest = &planned->nest;
	Sizes *sizes = gen->program->sizes;
	if (size_is_bad(plan->order.nparts))
		return;
	if (!owns(gen, plan->parts))
		BUG("%s has parts, and no room for them is planned", gen->name);
	Size all = size_scale(sizes, plan->order.nparts, plan->order.lanes);
	for (uint32_t i = 0; nest->batched && i < nest->nresult; i++)
		all = size_mul(sizes, all, nest->loops[i].extent);
	verify_room(gen, plan->parts, all);
}

/* ---- lines of an axis ---- */

static void verify_temporary(const Gen *gen, BufferId buffer, Size elements)
{
	verify_room(gen, buffer, elements);
	if (!owns(gen, buffer))
		BUG("%s stores what is not planned with it", gen->name);
}

static void verify_argmax(const Gen *gen, const Lines *lines)
{
	const ArgmaxPlan *plan = &lines->argmax;
	if ((plan->in_parts && (!plan->in_lanes || lines->nouter > 0)) ||
	    (plan->columns && (plan->in_lanes || lines->nouter == 0)) ||
	    ((plan->in_lanes || plan->columns) && !lines->axis))
		BUG("%s looks for the greatest where its lines do not lie", gen->name);
	if (plan->in_parts)
		verify_temporary(gen, plan->parts,
				 size_ceil(lines->sizes, lines->extent, ARGMAX_PART));
}

static void verify_cumulate(const Gen *gen, const Lines *lines)
{
	const CumulatePlan *plan = &lines->cumulate;
	if ((plan->form == CUMULATE_IN_TURN) != (lines->order.form == SUM_IN_TURN) ||
	    (plan->runs_columns && !plan->columns) || (plan->columns && lines->nouter == 0))
		BUG("%s does not add up its lines in their order", gen->name);
	if (plan->form != CUMULATE_IN_TURN)
		verify_temporary(gen, plan->sums, cumulate_sums_room(lines));
}

static void verify_network(const Gen *gen, const Lines *lines, const SortWay *way)
{
	int64_t n, room = way->rows * way->lanes;
	bool whole = !way->never;
	if (room == 0 || (way->rows & (way->rows - 1)) != 0)
		BUG("%s has no network", gen->name);
	if (lines->ids && (dtype_bytes(lines->from) > 4 || room > INT64_C(1) << 20))
		BUG("%s has keys and places that f64 has not", gen->name);
	if (whole && size_is_const(lines->sizes, lines->extent, &n) && n > room)
		BUG("%s has a network for fewer elements", gen->name);
	verify_temporary(gen, way->items, size_const(lines->sizes, 2 * room));
}

static void verify_digits(const Gen *gen, const Lines *lines, const SortWay *way)
{
	if (way->ndigits == 0)
		BUG("%s sorts by no digits", gen->name);
	verify_temporary(gen, way->items, size_scale(lines->sizes, lines->extent, 2));
	verify_temporary(gen, way->counts, size_const(lines->sizes, way->ncounts));
}

/* Lines that are left over have another way. */
static void verify_exchanges(const Gen *gen, const Lines *lines, const SortWay *way)
{
	int64_t n, k, rows;
	bool known = size_is_const(lines->sizes, lines->extent, &n) &&
		     size_is_const(lines->sizes, lines->results, &k) && k <= n;
	if (!known || lines->nouter == 0 || way->lanes == 0 || way->nconds)
		BUG("%s has no lines to exchange elements of", gen->name);
	bool whole = size_is_const(lines->sizes, lines->extents[lines->nouter - 1], &rows) &&
		     rows % way->lanes == 0;
	if (!whole && (lines->sort[BY_RANKS].never || lines->sort[BY_RANKS].nconds))
		BUG("%s has no way of sorting the last lines", gen->name);
}

static void verify_sort(const Gen *gen, const Lines *lines)
{
	uint32_t n = 0;
	for (SortBy by = BY_RANKS; by < SORT_WAYS; by++) {
		const SortWay *way = &lines->sort[by];
		if (way->never)
			continue;
		n++;
		if (by == BY_NETWORK)
			verify_network(gen, lines, way);
		else if (by == BY_EXCHANGES)
			verify_exchanges(gen, lines, way);
		else if (by != BY_RANKS)
			verify_digits(gen, lines, way);
		if (by == BY_PARTS) {
			verify_network(gen, lines, &lines->sort[BY_NETWORK]);
			verify_temporary(gen, way->stack,
					 size_const(lines->sizes, SORT_FIELDS * way->stack_room));
		}
		if (by == BY_SELECTION)
			verify_temporary(gen, way->least,
					 size_plus(lines->sizes, sort_groups(lines, way), 1));
	}
	if (n == 0 && !size_is(lines->sizes, lines->extent, 0))
		BUG("%s has no way of sorting", gen->name);
}

static void verify_lines(const KernelPlan *plan)
{
	switch (plan->kind) {
	case KERNEL_ARGMAX: verify_argmax(&plan->gen, plan->lines); break;
	case KERNEL_SORT: verify_sort(&plan->gen, plan->lines); break;
	case KERNEL_CUMULATE: verify_cumulate(&plan->gen, plan->lines); break;
	default: break;
	}
}

/* Each is declared for one kernel. */
static void verify_owner(const Program *program, BufferId buffer, bool *owned)
{
	if (owned[buffer])
		BUG("%s is declared for two kernels", program->buffers.at[buffer].name);
	owned[buffer] = true;
}

static void verify_kernel(const KernelPlan *plan, bool *owned)
{
	for (size_t i = 0; i < plan->gen.buffers.n; i++)
		verify_owner(plan->gen.program, plan->gen.buffers.at[i], owned);
	verify_lines(plan);
	for (uint32_t i = 0; i < plan->nnests; i++) {
		const Nest *nest = &plan->nests[i].nest;
		const NestPlan *form = &plan->nests[i].plan;
		if (!suits_form(nest, form))
			BUG("the loops of %s are not those of its form", plan->gen.name);
		verify_cuts(nest, form);
		if (form->form == NEST_TILES) {
			verify_tile(nest, form->tile);
			verify_tile_buffers(&plan->gen, form->tile);
		}
		if (form->form == NEST_PARTS)
			verify_parts_buffer(&plan->gen, &plan->nests[i]);
	}
}

/* ---- routines ---- */

/* What of a root stays in the block has room there for a block of rows. */
static void verify_root(const RowBlock *row_block, const RowBlockPart *part, uint32_t i)
{
	const KernelPlan *kernel = part->kernels[i];
	if (!kernel || kernel->node != row_block->roots[i].root)
		BUG("a block of rows has no kernel for node %" PRIu32, row_block->roots[i].root);
	const RowBlockPlace *place = NULL;
	for (uint32_t k = 0; k < part->nplaces; k++)
		if (part->places[k].node == kernel->node && !part->places[k].fixed)
			place = &part->places[k];
	if ((place != NULL) == row_block_stores(row_block, i))
		BUG("%s is in a block of rows, and elsewhere", kernel->gen.name);
	if (!place)
		return;
	if (kernel->to.buffer != place->buffer)
		BUG("%s is not stored in its block of rows", kernel->gen.name);
	verify_room(&kernel->gen, place->buffer, place->elements);
}

static void verify_part(const Lower *lower, const RowBlock *row_block, const RowBlockPart *part,
			bool *owned)
{
	if (row_block->ntransposed > part->nplaces)
		BUG("a block of rows has no room for the operands that it transposes");
	for (uint32_t i = 0; i < part->nplaces; i++)
		verify_owner(lower->program, part->places[i].buffer, owned);
	for (uint32_t i = 0; i < row_block->nroots; i++) {
		verify_root(row_block, part, i);
		verify_kernel(part->kernels[i], owned);
	}
}

/* Its parts follow each other from the first row to the last. */
static void verify_parts_of(const Lower *lower, const RowBlock *row_block, bool *owned)
{
	Size end = size_const(lower->sizes, 0);
	for (uint32_t i = 0; i < row_block->nparts; i++) {
		if (!size_same(row_block->parts[i].lo, end))
			BUG("blocks of rows leave a gap");
		end = row_block->parts[i].hi;
		verify_part(lower, row_block, &row_block->parts[i], owned);
	}
	if (!size_same(end, row_block->dims[row_block->rows].extent))
		BUG("blocks of rows end before the rows, or behind them");
}

static void verify_row_block(const Lower *lower, const RoutinePlan *plan, const RowBlock *row_block,
			     bool *owned)
{
	if (row_block->nroots < 2 || row_block->rows >= row_block->ndims || row_block->block < 1)
		BUG("a block of rows has no rows, or one kernel");
	for (uint32_t i = 0; i < row_block->nroots; i++) {
		const NodePlan *root = routine_plan_node(plan, row_block->roots[i].root);
		if (!root || root->fused || root->kernel)
			BUG("node %" PRIu32 " is in a block of rows, and elsewhere",
			    row_block->roots[i].root);
	}
	verify_parts_of(lower, row_block, owned);
}

static void verify_node(const Lower *lower, const RoutinePlan *plan, uint32_t k, bool *owned)
{
	const NodePlan *node = &plan->nodes[k];
	if (node->row_block)
		verify_row_block(lower, plan, node->row_block, owned);
	if (!node->kernel)
		return;
	if (node->fused || node->kernel->node != plan->ids[k])
		BUG("node %" PRIu32 " has another one's kernel, or is inside another",
		    plan->ids[k]);
	verify_kernel(node->kernel, owned);
}

void lower_nests_verify(const LowerPlan *lower)
{
	bool *owned =
		ARENA_ARRAY(lower->scratch, bool, lower->program->buffers.n + 1); /* by BufferId */
	for (uint32_t i = 0; i < lower->nroutines; i++)
		for (uint32_t k = 0; k < lower->routines[i].n; k++)
			verify_node(lower, &lower->routines[i], k, owned);
}
