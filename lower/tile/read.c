/* Operands that tiles compute where they read them, instead of in a buffer before.
 *
 *   acc[r, lane] += a[i + r, k] * relu(b[k*50257 + j + lane])
 *
 * A tile reads an element once, however many elements use it, so the operation is done as often as
 * tiles go past the element: once where rows are no more than a tile's. That pays for cheap
 * operations and few tiles, more of them where the buffer would leave the second cache. Only
 * factors of a product are computed so, whose rounding nothing behind them changes; the tiles are
 * those of the operand from a buffer, and so is the order of the sum.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/plan.h"

static uint32_t count(const Value *value, bool loads)
{
	uint32_t n = value->kind == (loads ? VALUE_LOAD : VALUE_OP);
	for (uint32_t i = 0; i < value->nargs; i++)
		n += count(value->args[i], loads);
	return n;
}

/* Tiles along a loop of the result; the loop's iterations where it has none. 0: unknown. */
static int64_t tiles_along(const Tile *tile, const Loop *loop)
{
	int64_t extent, step = loop == tile->row   ? tile->rows.at[0].step
			       : loop == tile->col ? tile->cols.at[0].step
						   : 1;
	bool known = size_is_const(tile->nest->gen->program->sizes, loop->extent, &extent);
	return known ? (extent + step - 1) / step : 0;
}

bool tile_reads_again(const Tile *tile, BufferId buffer, uint64_t movers)
{
	const Nest *nest = tile->nest;
	const Program *program = nest->gen->program;
	Size steps = size_const(program->sizes, 1);
	for (uint32_t i = 0; i < nest->nloops; i++)
		if (nest->loops[i].reduced || movers >> nest->loops[i].iter & 1)
			steps = size_mul(program->sizes, steps, nest->loops[i].extent);
	return !size_ge(program->sizes, program->buffers.at[buffer].elements, steps);
}

/* How many tiles read an element of the load; more than `most`: as good as any, or unknown. */
static int64_t reads_of(const Tile *tile, const Value *load, int64_t most)
{
	const Nest *nest = tile->nest;
	uint64_t movers = 0;
	int64_t n = 1;
	for (uint32_t i = 0; i < nest->nloops; i++)
		if (ix_uses(load->ix, nest->loops[i].var))
			movers |= UINT64_C(1) << nest->loops[i].iter;
	if (tile_reads_again(tile, load->buffer, movers))
		return most + 1;
	for (uint32_t i = 0; i < nest->nresult && n <= most; i++) {
		const Loop *loop = &nest->loops[i];
		int64_t tiles = ix_uses(load->ix, loop->var) ? 1 : tiles_along(tile, loop);
		n = tiles > 0 && tiles <= most ? n * tiles : most + 1;
	}
	return n;
}

static bool pays(const Tile *tile, const Value *load, uint32_t operations)
{
	const Gen *gen = tile->nest->gen;
	if (gen_asked(gen, CHOICE_INLINE))
		return gen_asks_operand(gen, CHOICE_INLINE, load->buffer);
	Program *program = tile->nest->gen->program;
	const Buffer *buffer = &program->buffers.at[load->buffer];
	int64_t elements;
	bool known = size_is_const(program->sizes, buffer->elements, &elements);
	bool large = known &&
		     elements >= tile_target(tile)->l2_bytes / (int64_t)dtype_bytes(buffer->dtype);
	int64_t most = (large ? tile_target(tile)->read_cost_large : tile_target(tile)->read_cost) /
		       (operations ? operations : 1);
	return reads_of(tile, load, most) <= most;
}

/* Does every loop that a tile goes along move it by a known step? Around a tile its place may be an integer that is read,
 * of rows that are gathered. */
static bool is_affine(const Tile *tile, const Value *load)
{
	const Nest *nest = tile->nest;
	bool affine = true;
	for (uint32_t i = 0; i < nest->nloops && affine; i++) {
		const Loop *loop = &nest->loops[i];
		bool around = !loop->reduced && loop != tile->row && loop != tile->col;
		affine = around || !size_is_bad(ix_stride(nest->gen->program, load->ix, loop->var));
	}
	return affine;
}

/* Do lanes read it as they would the operand? Those that go past its columns, or along the rows,
 * count on its steps as well. */
static bool moves_alike(const Tile *tile, const Value *value, const Value *load)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Loop *lanes = tile->form == TILE_ACROSS ? tile->col : tile->along;
	const Loop *sum = &nest->loops[nest->nloops - 1];
	bool by_steps = tile->over_read >= 0 || tile->remainder.n > 0, alike = true;
	if (value->kind == VALUE_LOAD) {
		Size by = ix_stride(program, value->ix, lanes->var);
		alike = is_affine(tile, value) &&
			(size_same(by, ix_stride(program, load->ix, lanes->var)) ||
			 size_is(program->sizes, by, 0)) &&
			(!by_steps || size_same(ix_stride(program, value->ix, sum->var),
						ix_stride(program, load->ix, sum->var)));
	}
	for (uint32_t i = 0; i < value->nargs && alike; i++)
		alike = moves_alike(tile, value->args[i], load);
	return alike;
}

/* Is an operand found by its place among the loads? */
static bool has_places(const Tile *tile)
{
	const Nest *nest = tile->nest;
	return tile->pack >= 0 || tile->over_read >= 0 || tile->prefetched >= 0 ||
	       tile->remainder.n > 0 || nest->packed_operand[0].strides ||
	       nest->packed_operand[1].strides;
}

static const Value *first_load(const Value *value)
{
	const Value *found = value->kind == VALUE_LOAD ? value : NULL;
	for (uint32_t i = 0; i < value->nargs && !found; i++)
		found = first_load(value->args[i]);
	return found;
}

BufferId tile_read_buffer(Tile *tile, BufferId operand)
{
	const Value *value = tile->nest->value;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (value->args[i]->kind == VALUE_LOAD && value->args[i]->buffer == operand) {
			const Value *from =
				first_load(nest_inlined_producer(tile->nest, value->args[i], true));
			return from ? from->buffer : operand;
		}
	return operand;
}

static bool computes(Tile *tile, const Value *load)
{
	const Value *value = nest_inlined_producer(tile->nest, load, true);
	uint32_t loads = count(value, true);
	return value != load && value->dtype == tile->nest->value->dtype &&
	       tile_in_vectors(value) && (loads == 1 || !has_places(tile)) &&
	       moves_alike(tile, value, load) && pays(tile, load, count(value, false));
}

bool tile_choose_read(Tile *tile)
{
	const Value *value = tile->nest->value;
	if (tile->group > 1 || tile->window || value->kind != VALUE_OP || value->op != OP_MUL ||
	    tile->reduce != OP_ADD || (tile->form == TILE_ACROSS ? !tile->col : !tile->along))
		return false;
	const Value *packed = tile->pack >= 0 ? tile_load(value, (uint32_t)tile->pack) : NULL;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (value->args[i]->kind == VALUE_LOAD && value->args[i] != packed &&
		    computes(tile, value->args[i])) {
			nest_inline_producer(tile->nest, value->args[i]);
			return true;
		}
	return false;
}
