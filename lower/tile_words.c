/* A parameter of i4 or u4 in panels: a lane has eight steps of the sum beside each other, one word of 32 bits,
 * so that lanes take a step's elements by a shift.
 *
 *   for panel: for k in 0..512 step 8: for lane in 0..64
 *     packed[panel*64*512 + k*64 + lane*8 + q] = w[panel*64 + lane, k + q]         for q = 0, 1 .. 7
 *   for k in 0..512 step 8: for each q: unroll r: vector lane in 0..64
 *     acc[r, lane] += f32(packed[j*512 + k*64 + lane*8 + q])*x[i + r, k + q]
 *
 * Elements add their products one after another, as in panels of other types. The copy has the
 * parameter's type: two elements a byte, stored together.
 */
#include "lower/tile_emit.h"
#include "lower/tile_plan.h"

bool tile_fits_words(const Planner *p, int load)
{
	const Tile *tile = p->tile;
	const Nest *nest = tile->nest;
	const Buffer *buffer = &p->program->buffers.at[p->sum.from.at[load]];
	int64_t steps;
	return dtype_is_packed(buffer->dtype) && buffer->kind == BUFFER_PARAM &&
	       nest->nloops > nest->nresult && nest->guards.n == 0 && tile->reduce == OP_ADD &&
	       tile_is_const(p, tile_last_sum(tile->nest)->extent, &steps) && steps % TILE_WORD == 0 &&
	       tile_stride(p, p->sum.at.at[load], tile_last_sum(tile->nest)) == 1;
}

/* The last loop at a step of the word at hand. */
static void set_step(Tile *tile, int64_t q)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Ix *first = ix_iter(gen->arena, tile_last_sum(tile->nest)->var);
	nest->by_iter[tile_last_sum(tile->nest)->iter] = ix_plus(gen->program, first, q);
	nest_values(nest);
}

/* All sums, the last one a word at a time. */
static Block over_words(Tile *tile, Block body)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *last = tile_last_sum(tile->nest);
	set_step(tile, 0);
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nloops,
			 gen_steps(gen, last->var, tile_const(tile, 0),
				   ix_size(gen->arena, last->extent), TILE_WORD, body));
}

/* ---- the copy ---- */

/* The byte of the steps q and q + 1. */
static const Value *byte_of(Tile *tile, int64_t q)
{
	Arena *arena = tile->nest->gen->arena;
	enum { BITS = 4 }; /* of an element */
	set_step(tile, q);
	const Value *low = value_cast(arena, DTYPE_I32, tile_packed_load(tile));
	set_step(tile, q + 1);
	const Value *high = value_cast(arena, DTYPE_I32, tile_packed_load(tile));
	const Value *bits = value_number(arena, DTYPE_I32, 1 << BITS);
	low = value_binary(arena, OP_MOD, low, bits);
	high = value_binary(arena, OP_MUL, high, bits);
	return value_cast(arena, DTYPE_U8, value_binary(arena, OP_ADD, low, high));
}

/* Words of lanes from lo on; `filled`: zeros behind the last column. */
static Block words_of(Tile *tile, const TilePart *part, int64_t lo, int64_t hi, bool filled)
{
	Gen *gen = tile->nest->gen;
	Body body = {0};
	const Value *zero = value_number(gen->arena, DTYPE_U8, 0);
	set_step(tile, 0);
	const Ix *word = tile_pack_to(tile, part);
	for (int64_t q = 0; q < TILE_WORD; q += 2)
		PUSH(gen->arena, body.stmts,
		     stmt_store(gen->arena, tile->packed, ix_plus(gen->program, word, q), OP_NONE,
				filled ? zero : byte_of(tile, q)));
	return block_of(gen, stmt_for(gen->arena, tile->lane, tile_const(tile, lo),
				      tile_const(tile, hi), body_block(&body)));
}

Block tile_word_fill(Tile *tile, const TilePart *part)
{
	Body body = {0};
	int64_t width = tile_width(tile, part->step);
	gen_append(tile->nest->gen, &body, words_of(tile, part, 0, part->step, false));
	if (width > part->step)
		gen_append(tile->nest->gen, &body, words_of(tile, part, part->step, width, true));
	return over_words(tile, body_block(&body));
}

/* ---- what is added ---- */

Block tile_word_steps(Tile *tile, const Value *element, Block prefetch)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Body body = {0};
	set_step(tile, 0);
	const Ix *word = tile_pack_ix(tile, tile->now.col);
	for (int64_t q = 0; q < TILE_WORD; q++) {
		set_step(tile, q);
		const Value *load =
			value_load(gen->program, tile->packed, ix_plus(gen->program, word, q));
		const Value *value =
			tile_replaced(gen->arena, nest->value, tile_packed_load(tile), load);
		const Stmt *add = stmt_set_at(gen->arena, element, tile->reduce, value);
		gen_append(gen, &body, tile_over_elements(tile, block_of(gen, add)));
	}
	gen_append(gen, &body, prefetch);
	return over_words(tile, body_block(&body));
}
