/* Products of bytes with lanes across the result: four steps of the sum at a time, one instruction a vector.
 *
 *   for panel: for k in 0..512 step 4: for lane in 0..64
 *     packed[panel*64*512 + k*64 + lane*4 + q] = b[k + q, panel*64 + lane]       for q = 0, 1, 2, 3
 *   for k in 0..512 step 4: unroll r: vector lane in 0..64
 *     acc[r, lane] += a[i + r, k]*packed[j*512 + k*64 + lane*4] + ... + a[i + r, k + 3]*packed[.. + 3]
 *
 * A lane's operand is a word of four neighbours of the copy; the rows' operand is a word that all lanes share.
 * The instruction is one of unsigned and signed bytes: where both are of one type, the copy is of the other,
 *
 *   packed = b + 128 for i8, b - 128 for u8
 *   sums_a[i] = -128 * sum of a[i, k], or 128 *     where acc[r, lane] begins, instead of 0
 *
 * which is exact, since integers wrap.
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

static const Value *rows_load(const Tile *tile)
{
	return tile->nest->value->args[!tile->pack]->args[0];
}

/* What is added to the bytes that are copied; 0: they keep their type. */
static int64_t moved_by(const Tile *tile)
{
	Dtype dtype = source(tile)->dtype;
	return dtype != rows_load(tile)->dtype ? 0 : dtype == DTYPE_I8 ? 128 : -128;
}

static const Value *integer(const Tile *tile, int64_t n)
{
	return value_const(tile->nest->gen->arena, DTYPE_I32, scalar_of(DTYPE_I32, (double)n));
}

static const Value *in_i32(const Tile *tile, Op op, const Value *a, const Value *b)
{
	return value_op(tile->nest->gen->arena, op, DTYPE_I32, (const Value *[]){a, b}, 2);
}

/* The byte as it stands in the copy. */
static const Value *copied(const Tile *tile, const Value *byte)
{
	Arena *arena = tile->nest->gen->arena;
	if (moved_by(tile) == 0)
		return byte;
	const Value *moved = in_i32(tile, OP_ADD, value_cast(arena, DTYPE_I32, byte), integer(tile, moved_by(tile)));
	return value_cast(arena, byte->dtype == DTYPE_I8 ? DTYPE_U8 : DTYPE_I8, moved);
}

static void declare_sums(Tile *tile)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Size elements = size_const(gen->program->sizes, 1);
	for (uint32_t i = 0; i < nest->nresult; i++)
		if (&nest->loops[i] != tile->col)
			elements = size_mul(gen->program->sizes, elements, nest->loops[i].extent);
	const char *name = gen->program->buffers.at[rows_load(tile)->buffer].name;
	tile->has_sums = true;
	tile->sums = lower_buffer(gen->lower, (Buffer){
		.kind = BUFFER_TEMP,
		.name = lower_unique(gen->lower, sym_printf(gen->program->symbols, "sums_%s", name)),
		.dtype = DTYPE_I32,
		.elements = elements,
	});
}

/* The row's place among the sums. */
static const Ix *sums_ix(const Tile *tile)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	const Ix *at = tile_const(tile, 0);
	for (uint32_t i = 0; i < nest->nresult; i++) {
		const Loop *loop = &nest->loops[i];
		if (loop == tile->col)
			continue;
		at = ix_mul(program, at, ix_size(program->arena, loop->extent));
		at = ix_add(program, at, nest->by_iter[loop->iter]);
	}
	return at;
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
		.dtype = copied(tile, load)->dtype,
		.elements = size_mul(sizes, columns, all_steps(tile)),
	});
	if (moved_by(tile) != 0)
		declare_sums(tile);
}

/* sums = what the rows' bytes add up to, times what the copy is too large by. */
static Block fill_sums(Tile *tile)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	for (uint32_t i = 0; i < nest->nloops; i++)
		nest->by_iter[nest->loops[i].iter] = ix_iter(gen->arena, nest->loops[i].var);
	nest_values(nest);
	LocalId sum = gen_local(gen, "sum", DTYPE_I32);
	const Value *byte = value_cast(gen->arena, DTYPE_I32, rows_load(tile));
	Block add = block_of(gen, stmt_set(gen->arena, sum, OP_ADD, byte));
	Body row = {0};
	PUSH(gen->arena, row.stmts, stmt_local(gen->arena, sum, integer(tile, 0)));
	gen_append(gen, &row, nest_wrap(nest, nest->nresult, nest->nloops, nest->nloops, add));
	const Value *all = in_i32(tile, OP_MUL, gen_local_value(gen, sum), integer(tile, -moved_by(tile)));
	PUSH(gen->arena, row.stmts, stmt_store(gen->arena, tile->sums, sums_ix(tile), OP_NONE, all));
	Block rows = body_block(&row);
	for (uint32_t i = nest->nresult; i-- > 0;)
		if (&nest->loops[i] != tile->col)
			rows = nest_wrap(nest, i, i + 1, nest->nloops, rows);
	return rows;
}

const Value *tile_quads_begin(const Tile *tile)
{
	return value_load(tile->nest->gen->program, tile->sums, sums_ix(tile));
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
		const Value *value = copied(tile, source(tile));
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
	if (tile->has_sums)
		gen_append(tile->nest->gen, &all, fill_sums(tile));
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
		sum = sum ? in_i32(tile, OP_ADD, sum, product) : product;
	}
	nest->by_iter[tile->along->iter] = along_at(tile, 0);
	return block_of(gen, stmt_set_at(arena, cell, OP_ADD, sum));
}
