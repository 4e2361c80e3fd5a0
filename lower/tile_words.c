/* A parameter of i4 or u4 in panels: a lane has eight steps of the sum beside each other, one word of 32 bits,
 * so that lanes take a step's elements by a shift.
 *
 *   packed[panel*64*512 + k*64 + lane*8 + q] = w[panel*64 + lane, k + q]          (tile_pack.c)
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
	const Loop *last = tile_last_sum(nest);
	int64_t steps;
	return dtype_is_packed(buffer->dtype) && buffer->kind == BUFFER_PARAM && last &&
	       nest->guards.n == 0 && tile->reduce == OP_ADD &&
	       tile_is_const(p, last->extent, &steps) && steps % TILE_WORD == 0 &&
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

Block tile_word_steps(Tile *tile, const Value *element, Block prefetch)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	const Loop *last = tile_last_sum(nest);
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
	set_step(tile, 0);
	Block words = gen_steps(gen, last->var, tile_const(tile, 0),
				ix_size(gen->arena, last->extent), TILE_WORD, body_block(&body));
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nloops, words);
}
