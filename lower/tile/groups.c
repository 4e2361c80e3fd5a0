/* Products with lanes across the result where a lane adds a group of steps of the sum at once, one
 * instruction a vector: four of bytes, two of bf16.
 *
 *   packed[panel*64*512 + k*64 + lane*4 + q] = b[k + q, panel*64 + lane]          (tile/pack.c)
 *   for k in 0..512 step 4: unroll r: vector lane in 0..64
 *     acc[r, lane] += a[i + r, k]*packed[j*512 + k*64 + lane*4] + ... + a[i + r, k + 3]*packed[.. + 3]
 *
 * A lane's operand is a word of neighbours of the copy; the rows' operand is a word that all lanes
 * share. The copy ends with a whole group, filled up with zeros; the steps there are fewer
 * products, behind conditions where their number is a size that is not known. The instruction for
 * bytes is one of unsigned and signed ones: where both are of one type, the copy is of the other,
 *
 *   packed = b + 128 for i8, b - 128 for u8
 *   sums_a[i] = -128 * sum of a[i, k], or 128 *     where acc[r, lane] begins, instead of 0
 *
 * which is exact, since integers wrap.
 */
#include "lower/tile/emit.h"

#include "base/diag.h"
#include "loops/linear.h"

/* The step at which the loop that groups go along is. */
static const Ix *step_of(const Tile *tile)
{
	return ix_iter(tile->nest->gen->arena, tile->along->var);
}

/* Steps along which groups go: the largest multiple of `by` that is no more than `steps`. */
static Size whole_steps(const Tile *tile, Size steps, int64_t by)
{
	Sizes *sizes = tile->nest->gen->program->sizes;
	return size_scale(sizes, size_floor(sizes, steps, by), by);
}

static Size whole_end(const Tile *tile)
{
	return whole_steps(tile, tile->along->extent, tile->group);
}

Size tile_group_extent(const Tile *tile, const Loop *loop)
{
	if (tile->group == 1 || loop != tile->along)
		return loop->extent;
	Sizes *sizes = tile->nest->gen->program->sizes;
	return whole_steps(tile, size_plus(sizes, loop->extent, tile->group - 1), tile->group);
}

/* Steps behind the whole groups; false: a size that is not known. */
static bool steps_left(const Tile *tile, int64_t *left)
{
	Sizes *sizes = tile->nest->gen->program->sizes;
	return size_is_const(sizes, size_sub(sizes, tile->along->extent, whole_end(tile)), left);
}

static const Ix *size_ix(const Tile *tile, Size size)
{
	return ix_size(tile->nest->gen->arena, size);
}

/* The operand that is copied, unwidened. */
static const Value *source(const Tile *tile)
{
	const Value *widened = tile->nest->value->args[tile->pack];
	REQUIRE(value_widens(widened));
	return widened->args[0];
}

const Value *tile_group_rows(const Tile *tile)
{
	return tile->nest->value->args[!tile->pack]->args[0];
}

int64_t tile_group_moved(const Tile *tile)
{
	Dtype dtype = source(tile)->dtype;
	if (dtype_is_float(dtype))
		return 0;
	return dtype != tile_group_rows(tile)->dtype ? 0 : dtype == DTYPE_I8 ? 128 : -128;
}

static const Value *integer(const Tile *tile, int64_t n)
{
	return value_number(tile->nest->gen->arena, DTYPE_I32, (double)n);
}

const Value *tile_group_copied(const Tile *tile, const Value *element)
{
	Arena *arena = tile->nest->gen->arena;
	if (tile_group_moved(tile) == 0)
		return element;
	const Value *moved =
		value_binary(tile->nest->gen->arena, OP_ADD, value_cast(arena, DTYPE_I32, element),
			     integer(tile, tile_group_moved(tile)));
	return value_cast(arena, element->dtype == DTYPE_I8 ? DTYPE_U8 : DTYPE_I8, moved);
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

/* sums = what the rows' bytes add up to, times what the copy is too large by. */
Block tile_group_fill_sums(Tile *tile)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	for (uint32_t i = 0; i < nest->nloops; i++)
		nest->by_iter[nest->loops[i].iter] = ix_iter(gen->arena, nest->loops[i].var);
	nest_values(nest);
	Body row = {0};
	const Value *sum = gen_let(gen, &row, "sum", integer(tile, 0));
	const Value *byte = value_cast(gen->arena, DTYPE_I32, tile_group_rows(tile));
	Block add = block_of(gen, stmt_set_at(gen->arena, sum, OP_ADD, byte));
	gen_append(gen, &row, nest_wrap(nest, nest->nresult, nest->nloops, nest->nresult, add));
	const Value *all = value_binary(tile->nest->gen->arena, OP_MUL, sum,
					integer(tile, -tile_group_moved(tile)));
	PUSH(gen->arena, row.stmts,
	     stmt_store(gen->arena, tile->sums, sums_ix(tile), OP_NONE, all));
	Block rows = body_block(&row);
	for (uint32_t i = nest->nresult; i-- > 0;)
		if (&nest->loops[i] != tile->col)
			rows = nest_wrap(nest, i, i + 1, nest->nloops, rows);
	return rows;
}

const Value *tile_group_begin(const Tile *tile)
{
	return value_load(tile->nest->gen->program, tile->sums, sums_ix(tile));
}

/* ---- the loops over the sum ---- */

/* The loop over steps of the sum, inside the other sums. */
static Block over_steps(const Tile *tile, Size lo, Size hi, int64_t step, Block body)
{
	if (size_same(lo, hi) || body.n == 0)
		return (Block){0};
	return gen_steps(tile->nest->gen, tile->along->var, size_ix(tile, lo), size_ix(tile, hi),
			 step, body);
}

/* ---- what is added ---- */

/* The first `steps` products of the group from `along` on, added to the elements of a row. */
static Block add_lanes(Tile *tile, const Value *element, const Ix *along, int64_t steps)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Dtype dtype = nest->value->dtype;
	nest->by_iter[tile->along->iter] = along;
	const Ix *word = tile_pack_ix(tile, tile->now.col);
	const Value *sum = NULL;
	for (int64_t q = 0; q < steps; q++) {
		nest->by_iter[tile->along->iter] = ix_plus(gen->program, along, q);
		nest_values(nest);
		const Ix *at = ix_plus(gen->program, word, q);
		const Value *args[] = {nest->value->args[0], nest->value->args[1]};
		args[tile->pack] =
			value_cast(gen->arena, dtype, value_load(gen->program, tile->packed, at));
		const Value *product = value_binary(gen->arena, OP_MUL, args[0], args[1]);
		sum = sum ? value_binary(gen->arena, OP_ADD, sum, product) : product;
	}
	Block add = block_of(gen, stmt_set_at(gen->arena, element, OP_ADD, sum));
	int64_t width = tile_width(tile, tile->now.col->step);
	return gen_loop(gen, LOOP_VECTOR, tile->lane, width, add);
}

/* The same of some rows. */
static Block add_group(Tile *tile, const Value *element, int64_t rows, const Ix *along,
		       int64_t steps)
{
	return gen_loop(tile->nest->gen, tile_rows_kind(tile), tile->r, rows,
			add_lanes(tile, element, along, steps));
}

/* As many groups from `along` on as a product of matrices takes. */
static Block add_matrix(Tile *tile, const Value *element, int64_t rows)
{
	Gen *gen = tile->nest->gen;
	const Ix *word = ix_times(gen->program, ix_iter(gen->arena, tile->q), tile->group);
	const Ix *along = ix_add(gen->program, step_of(tile), word);
	Block words = gen_loop(gen, LOOP_UNROLL, tile->q, tile_matrix_steps(tile) / tile->group,
			       add_lanes(tile, element, along, tile->group));
	return gen_loop(gen, LOOP_MATRIX, tile->r, rows, words);
}

/* What is left behind the whole groups. */
static Block add_left(Tile *tile, const Value *element, int64_t rows)
{
	Gen *gen = tile->nest->gen;
	const Ix *end = size_ix(tile, whole_end(tile));
	int64_t left;
	if (steps_left(tile, &left))
		return left ? add_group(tile, element, rows, end, left) : (Block){0};
	Body body = {0};
	for (left = 1; left < tile->group; left++)
		gen_append(gen, &body,
			   tile_only_if(tile, COND_EQ, ix_plus(gen->program, end, left),
					size_ix(tile, tile->along->extent),
					add_group(tile, element, rows, end, left)));
	return body_block(&body);
}

Block tile_group_along(Tile *tile, const Value *element, int64_t rows, Block prefetch)
{
	Gen *gen = tile->nest->gen;
	Body whole = {0}, all = {0};
	Size first = size_const(gen->program->sizes, 0), end = whole_end(tile);
	Block rest = add_left(tile, element, rows);
	if (tile_is_matrix(tile, tile->now.col->step)) {
		int64_t steps = tile_matrix_steps(tile);
		first = whole_steps(tile, tile->along->extent, steps);
		gen_append(gen, &all,
			   over_steps(tile, size_const(gen->program->sizes, 0), first, steps,
				      add_matrix(tile, element, rows)));
	}
	gen_append(gen, &whole, add_group(tile, element, rows, step_of(tile), tile->group));
	tile->nest->by_iter[tile->along->iter] = step_of(tile);
	gen_append(gen, &whole, prefetch);
	gen_append(gen, &all, over_steps(tile, first, end, tile->group, body_block(&whole)));
	gen_append(gen, &all, rest);
	return body_block(&all);
}

Block tile_group_steps(Tile *tile, const Value *element, Block prefetch)
{
	const Nest *nest = tile->nest;
	return nest_wrap(nest, nest->nresult, nest->nloops - 1, nest->nresult,
			 tile_group_along(tile, element, tile->now.height, prefetch));
}
