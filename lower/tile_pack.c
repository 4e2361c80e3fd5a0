/* One operand of a tile copied to where a panel of columns lies together, step after step of the
 * sum:
 *
 *   for j in 0..1024 step 48
 *     for k in 0..1024: vector lane in 0..48: packed[k*48 + lane] = b[k*1024 + j + lane]
 *     tiles of rows, which read packed[k*48 + lane]
 *
 * It pays where many rows use the panel: where it would be spread over more cache lines than stay,
 * and where lanes would run along the sum only because the operand is stored along it. Loops of the
 * result that do not move the operand run inside. A panel of a type of storage is widened.
 */
#include "base/diag.h"
#include "lower/tile.h"

/* The n-th load of a value, in the order of tile_plan's list; widened where it is. */
static const Value *nth_load(const Value *value, uint32_t *n)
{
	if (value->kind == VALUE_LOAD || tile_is_widening(value))
		return (*n)-- == 0 ? value : NULL;
	for (uint32_t i = 0; i < value->nargs; i++) {
		const Value *found = nth_load(value->args[i], n);
		if (found)
			return found;
	}
	return NULL;
}

static const Value *replaced(Arena *arena, const Value *value, const Value *old, const Value *new)
{
	if (value == old)
		return new;
	if (value->nargs == 0)
		return value;
	Value *copy = ARENA_NEW(arena, Value);
	*copy = *value;
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = replaced(arena, value->args[i], old, new);
	return copy;
}

static const Value *packed_load(const Tile *tile)
{
	uint32_t n = (uint32_t)tile->pack;
	const Value *load = nth_load(tile->nest->value, &n);
	REQUIRE(load);
	return load;
}

/* packed[step*cols + lane], the steps of all sums counted through. */
static const Ix *packed_ix(const Tile *tile, int64_t cols)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Ix *at = tile_const(tile, 0);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		const Loop *loop = &nest->loops[i];
		at = ix_mul(program, at, ix_size(program->arena, loop->extent));
		at = ix_add(program, at, nest->by_iter[loop->iter]);
	}
	at = ix_mul(program, at, tile_const(tile, cols));
	return ix_add(program, at, ix_iter(program->arena, tile->lane));
}

void tile_pack_declare(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	Sizes *sizes = gen->program->sizes;
	const Nest *nest = tile->nest;
	int64_t most = 0;
	for (uint32_t i = 0; i < tile->cols.n; i++)
		most = tile->cols.at[i].step > most ? tile->cols.at[i].step : most;
	Size elements = size_const(sizes, most);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
		elements = size_mul(sizes, elements, nest->loops[i].extent);
	const Value *packed = packed_load(tile), *load = packed->nargs ? packed->args[0] : packed;
	const Buffer *from = &gen->program->buffers.at[load->buffer];
	Sym name = lower_unique(gen->lower,
				sym_printf(gen->program->symbols, "packed_%s", from->name));
	tile->packed = lower_buffer(gen->lower, (Buffer){.kind = BUFFER_TEMP,
							 .name = name,
							 .dtype = packed->dtype,
							 .elements = elements});
}

Block tile_pack_fill(Tile *tile, int64_t cols)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	nest_values(nest);
	const Value *load = packed_load(tile);
	const Ix *to = packed_ix(tile, cols);
	Block copy;
	if (tile->pack_kind == LOOP_UNROLL && tile_turn_copy(tile, load, to, cols, &copy))
		return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nloops, copy);
	copy = block_of(gen, stmt_store(gen->arena, tile->packed, to, OP_NONE, load));
	copy = tile_unroll(tile, tile->pack_kind, tile->lane, cols, copy);
	return nest_wrap(nest, nest->nresult, nest->nloops, nest->nloops, copy);
}

const Value *tile_pack_value(const Tile *tile, int64_t cols)
{
	Gen *gen = tile->nest->gen;
	const Value *load = value_load(gen->program, tile->packed, packed_ix(tile, cols));
	return replaced(gen->arena, tile->nest->value, packed_load(tile), load);
}
