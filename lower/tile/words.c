/* A parameter of i4 or u4 in panels: a lane has eight steps of the sum beside each other, one word of 32 bits,
 * so that lanes take a step's elements by a shift.
 *
 *   packed[panel*64*512 + k*64 + lane*8 + q] = w[panel*64 + lane, k + q]          (tile/pack.c)
 *   for k in 0..512 step 8: for each q: unroll r: vector lane in 0..64
 *     acc[r, lane] += f32(packed[j*512 + k*64 + lane*8 + q])*x[i + r, k + q]
 *
 * Elements add their products one after another, as in panels of other types. The copy has the
 * parameter's type: two elements a byte, stored together. Products of whole numbers with bytes are added eight at a
 * time, as their order is none that counts:
 *
 *     acc[r, lane] += i32(x[i + r, k])*i32(packed[.. + lane*8]) + ... + i32(x[i + r, k + 7])*i32(packed[.. + lane*8 + 7])
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/tile/emit.h"
#include "lower/tile/plan.h"

bool tile_fits_words(const Planner *p, int load)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	const Buffer *buffer = &p->program->buffers.at[p->sum.from.at[load]];
	const Loop *last = tile_last_sum(nest);
	int64_t steps;
	return dtype_is_packed(buffer->dtype) && buffer->kind == BUFFER_PARAM && last &&
	       nest->guards.n == 0 && tile->reduce == OP_ADD &&
	       tile_is_const(p, last->extent, &steps) && steps % PACKED_WORD == 0 &&
	       tile_stride(p, p->sum.at.at[load], last) == 1;
}

/* The last loop at a step of the word at hand. */
static void set_step(Tile *tile, int64_t q)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *last = tile_last_sum(nest);
	nest->by_iter[last->iter] = ix_plus(gen->program, ix_iter(gen->arena, last->var), q);
	nest_values(nest);
}

/* The value at a step of the word at hand, whose elements begin at `word` of the copy. */
static const Value *step_value(Tile *tile, const Ix *word, int64_t q)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	set_step(tile, q);
	const Value *load = value_load(gen->program, tile->packed, ix_plus(gen->program, word, q));
	return tile_replaced(gen->arena, nest->value, tile_packed_load(tile), load);
}

/* Is the value a product of an element and of bytes that are neighbours along the sum? */
static bool adds_words(const Tile *tile)
{
	const Nest *nest = tile->nest;
	const Value *value = nest->value;
	if (value->dtype != DTYPE_I32 || value->kind != VALUE_OP || value->op != OP_MUL ||
	    !value_widens(value->args[0]) || !value_widens(value->args[1]))
		return false;
	const Value *packed = tile_packed_load(tile);
	const Value *bytes = value->args[value_same(value->args[0]->args[0], packed)]->args[0];
	return dtype_is_byte(bytes->dtype) && bytes->dtype != DTYPE_BOOL &&
	       !dtype_is_packed(nest->gen->program->buffers.at[bytes->buffer].dtype) &&
	       ix_moves_by(nest->gen->program, bytes->ix, tile_last_sum(nest)->var, 1);
}

static Block add_steps(Tile *tile, const Value *element, const Value *value)
{
	Gen *gen = tile->nest->gen;
	return tile_over_elements(
		tile, block_of(gen, stmt_set_at(gen->arena, element, tile->reduce, value)));
}

/* All steps of a word in one sum. */
static const Value *word_value(Tile *tile, const Ix *word)
{
	Arena *arena = tile->nest->gen->arena;
	const Value *sum = step_value(tile, word, 0);
	for (int64_t q = 1; q < PACKED_WORD; q++)
		sum = value_binary(arena, OP_ADD, sum, step_value(tile, word, q));
	return sum;
}

Block tile_word_steps(Tile *tile, const Value *element, Block prefetch)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *last = tile_last_sum(nest);
	Body body = {0};
	set_step(tile, 0);
	const Ix *word = tile_pack_ix(tile, tile->now.col);
	if (adds_words(tile))
		gen_append(gen, &body, add_steps(tile, element, word_value(tile, word)));
	else
		for (int64_t q = 0; q < PACKED_WORD; q++)
			gen_append(gen, &body, add_steps(tile, element, step_value(tile, word, q)));
	gen_append(gen, &body, prefetch);
	set_step(tile, 0);
	Block words = gen_steps(gen, last->var, tile_const(tile, 0),
				ix_size(gen->arena, last->extent), PACKED_WORD, body_block(&body));
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nloops, words);
}
