/* Products of bytes with lanes across the result: four steps of the sum at a time, one instruction a vector.
 *
 *   for panel: for k in 0..512 step 4: for lane in 0..64
 *     packed[panel*64*512 + k*64 + lane*4 + q] = b[k + q, panel*64 + lane]       for q = 0, 1, 2, 3
 *   for k in 0..512 step 4: unroll r: vector lane in 0..64
 *     acc[r, lane] += a[i + r, k]*packed[j*512 + k*64 + lane*4] + ... + a[i + r, k + 3]*packed[.. + 3]
 *
 * A lane's operand is a word of four neighbours of the copy; the rows' operand is a word that all lanes share.
 */
#include "lower/tile.h"

#include "base/diag.h"

enum { QUAD = 4 };

static const Ix *along_at(const Tile *tile, int64_t step)
{
	Gen *gen = tile->nest->gen;
	return ix_add(gen->program, ix_iter(gen->arena, tile->along->var), tile_const(tile, step));
}

static Size all_steps(const Tile *tile)
{
	const Nest *nest = tile->nest;
	Size steps = size_const(nest->gen->program->sizes, 1);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
		steps = size_mul(nest->gen->program->sizes, steps, nest->loops[i].extent);
	return steps;
}

/* Byte 0 of the word of the lane, in the panel of `width` columns from `first` on, at the steps that the
 * sum's loops are at. */
static const Ix *word_at(const Tile *tile, const Ix *first, int64_t width)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Ix *step = tile_const(tile, 0);
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		step = ix_mul(program, step, ix_size(program->arena, nest->loops[i].extent));
		step = ix_add(program, step, ix_iter(program->arena, nest->loops[i].var));
	}
	const Ix *at = ix_mul(program, first, ix_size(program->arena, all_steps(tile)));
	at = ix_add(program, at, ix_mul(program, step, tile_const(tile, width)));
	return ix_add(program, at, ix_mul(program, ix_iter(program->arena, tile->lane), tile_const(tile, QUAD)));
}

/* The operand that is copied, unwidened. */
static const Value *source(const Tile *tile)
{
	const Value *widened = tile->nest->value->args[tile->pack];
	REQUIRE(tile_is_widening(widened));
	return widened->args[0];
}

void tile_quads_declare(Tile *tile)
{
	Gen *gen = tile->nest->gen;
	Sizes *sizes = gen->program->sizes;
	const TilePart *last = &tile->cols.at[tile->cols.n - 1];
	Size columns = size_plus(sizes, last->hi, tile_width(tile, last->step) - last->step);
	const Value *load = source(tile);
	const char *name = gen->program->buffers.at[load->buffer].name;
	tile->packed = lower_buffer(gen->lower, (Buffer){
		.kind = BUFFER_TEMP,
		.name = lower_unique(gen->lower, sym_printf(gen->program->symbols, "packed_%s", name)),
		.dtype = load->dtype,
		.elements = size_mul(sizes, columns, all_steps(tile)),
	});
}

/* Words of lanes [from, to) of a panel: columns, or zeros. */
static Block fill_words(Tile *tile, const Ix *word, int64_t from, int64_t to, bool zeros)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body body = {0};
	for (int64_t q = 0; q < QUAD; q++) {
		nest->by_iter[tile->along->iter] = along_at(tile, q);
		nest_values(nest);
		const Value *value = source(tile);
		if (zeros)
			value = value_const(gen->arena, value->dtype, scalar_of(value->dtype, 0));
		const Ix *at = ix_add(gen->program, word, tile_const(tile, q));
		PUSH(gen->arena, body.stmts, stmt_store(gen->arena, tile->packed, at, OP_NONE, value));
	}
	return block_of(gen, stmt_for(gen->arena, tile->lane, tile_const(tile, from), tile_const(tile, to),
				      body_block(&body)));
}

/* The loops of the sum around a body, the last in steps of a word. */
Block tile_quads_steps(const Tile *tile, Block body)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Stmt *loop = stmt_for(gen->arena, tile->along->var, tile_const(tile, 0),
				    ix_size(gen->arena, tile->along->extent), body);
	body = block_of(gen, stmt_step(gen->arena, loop, QUAD));
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nloops, body);
}

static Block fill_part(Tile *tile, const TilePart *part)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Sizes *sizes = gen->program->sizes;
	int64_t width = tile_width(tile, part->step);
	const Ix *first = ix_size(gen->arena, part->lo);
	if (!part->single)
		first = ix_add(gen->program, first, ix_mul(gen->program, ix_iter(gen->arena, tile->panel),
							    tile_const(tile, part->step)));
	nest->by_iter[tile->col->iter] = ix_add(gen->program, first, ix_iter(gen->arena, tile->lane));
	const Ix *word = word_at(tile, first, width);
	Body body = {0};
	gen_append(gen, &body, fill_words(tile, word, 0, part->step, false));
	if (width > part->step)
		gen_append(gen, &body, fill_words(tile, word, part->step, width, true));
	Block panel = tile_quads_steps(tile, body_block(&body));
	if (part->single)
		return panel;
	Size panels = size_floor(sizes, size_sub(sizes, part->hi, part->lo), part->step);
	return block_of(gen, stmt_for(gen->arena, tile->panel, tile_const(tile, 0), ix_size(gen->arena, panels), panel));
}

Block tile_quads_fill(Tile *tile)
{
	Body all = {0};
	for (uint32_t i = 0; i < tile->cols.n; i++)
		gen_append(tile->nest->gen, &all, fill_part(tile, &tile->cols.at[i]));
	return body_block(&all);
}

Block tile_quads_add(Tile *tile, const Value *cell)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Arena *arena = gen->arena;
	const Value *sum = NULL;
	const Ix *word = word_at(tile, tile_first(tile, tile->col, tile->at_col), tile_width(tile, tile->at_col->step));
	for (int64_t q = 0; q < QUAD; q++) {
		nest->by_iter[tile->along->iter] = along_at(tile, q);
		nest_values(nest);
		const Ix *at = ix_add(gen->program, word, tile_const(tile, q));
		const Value *args[] = {nest->value->args[0], nest->value->args[1]};
		args[tile->pack] = value_cast(arena, DTYPE_I32, value_load(gen->program, tile->packed, at));
		const Value *product = value_op(arena, OP_MUL, DTYPE_I32, args, 2);
		sum = sum ? value_op(arena, OP_ADD, DTYPE_I32, (const Value *[]){sum, product}, 2) : product;
	}
	nest->by_iter[tile->along->iter] = along_at(tile, 0);
	return block_of(gen, stmt_set_at(arena, cell, OP_ADD, sum));
}
