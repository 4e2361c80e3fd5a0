/* The copy of an operand that lies along the sum into panels of columns, in squares that are transposed
 * in registers:
 *
 *   for c in 0..64 step 16
 *     for k in 0..512 step 16
 *       unroll r, vector lane: transposed[r, lane] = w[(o + c + r)*512 + k + lane]
 *       unroll r, vector lane: packed[(k + r)*64 + c + lane] = transposed[lane, r]
 *
 * What is left of either goes element by element. An operand that is computed where it is copied
 * (inline_producer.c) is computed as it is read: exp(w[(o + c + r)*512 + k + lane]), in loops where
 * that takes many instructions.
 */
#include "lower/tile_emit.h"

#include "base/diag.h"
#include "loops/linear.h"

typedef struct Transposing {
	Tile *tile;
	Program *program;
	IterVar lane;	    /* a column of the operand */
	const Loop *along;  /* the sum that moves the operand by one */
	const Value *value; /* at that loop's step, of the column `lane` */
	const Ix *to;
	bool vectors; /* compute what is copied */
	int64_t side; /* of a square */
	Size step;    /* how far a step moves the copy */
} Transposing;

static const Ix *iter(const Transposing *t, IterVar var) { return ix_iter(t->program->arena, var); }

static const Ix *scaled(const Transposing *t, const Ix *ix, Size by)
{
	return ix_mul(t->program, ix, ix_size(t->program->arena, by));
}

/* The value so many columns and steps further. */
static const Value *moved(const Transposing *t, const Value *value, const Ix *columns,
			  const Ix *steps)
{
	Program *program = t->program;
	if (value->kind == VALUE_LOAD) {
		Size column = ix_stride(program, value->ix, t->tile->lane);
		Size step = ix_stride(program, value->ix, t->along->var);
		const Ix *at = ix_add(program, value->ix, scaled(t, columns, column));
		return value_load(program, value->buffer,
				  ix_add(program, at, scaled(t, steps, step)));
	}
	if (value->nargs == 0)
		return value;
	Value *copy = value_copy(program->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = moved(t, value->args[i], columns, steps);
	return copy;
}

/* One element of every column from `from` on. */
static Block plain_copy(const Transposing *t, int64_t from, int64_t to)
{
	Program *program = t->program;
	const Ix *more = tile_const(t->tile, from);
	const Value *value = moved(t, t->value, more, tile_const(t->tile, 0));
	const Stmt *store = stmt_store(program->arena, t->tile->packed,
				       ix_add(program, t->to, more), OP_NONE, value);
	return tile_unroll(t->tile, t->vectors ? LOOP_UNROLL : LOOP_SERIAL, t->tile->lane,
			   to - from, block_of(t->tile->nest->gen, store));
}

static Block over_square(const Transposing *t, bool vectors, const Stmt *stmt)
{
	Tile *tile = t->tile;
	Block body = tile_unroll(tile, vectors ? LOOP_VECTOR : LOOP_SERIAL, tile->lane, t->side,
				 block_of(tile->nest->gen, stmt));
	return tile_unroll(tile, vectors ? LOOP_UNROLL : LOOP_SERIAL, tile->r, t->side, body);
}

static Block square(const Transposing *t)
{
	Tile *tile = t->tile;
	Program *program = t->program;
	Gen *gen = tile->nest->gen;
	Body body = {0};
	LocalId transposed = tile_declare(tile, "transposed", (int64_t[]){t->side, t->side}, 2);
	gen->frame.locals.at[transposed].dtype = t->value->dtype;
	const Ix *r = iter(t, tile->r), *c = iter(t, tile->c), *lane = iter(t, tile->lane);
	const Ix *column = ix_add(program, c, r);
	const Ix *back = ix_times(program, lane, -1);
	const Value *value = moved(t, t->value, ix_add(program, column, back), lane);
	const Ix *to = ix_add(program, ix_add(program, t->to, c), scaled(t, r, t->step));
	const Ix *row[] = {r, lane}, *transpose[] = {lane, r};
	const Value *zero = value_number(program->arena, t->value->dtype, 0);
	PUSH(gen->arena, body.stmts, stmt_local(gen->arena, transposed, zero));
	const Stmt *set =
		stmt_set_at(gen->arena, tile_local(tile, transposed, row, 2), OP_NONE, value);
	gen_append(gen, &body, over_square(t, t->vectors, set));
	const Stmt *store = stmt_store(gen->arena, tile->packed, to, OP_NONE,
				       tile_local(tile, transposed, transpose, 2));
	gen_append(gen, &body, over_square(t, true, store));
	return body_block(&body);
}

static Block along_loop(const Transposing *t, int64_t lo, int64_t hi, int64_t step, Block body)
{
	Gen *gen = t->tile->nest->gen;
	const Stmt *loop = stmt_for(gen->arena, t->along->var, tile_const(t->tile, lo),
				    tile_const(t->tile, hi), body);
	return block_of(gen, stmt_step(gen->arena, loop, step));
}

/* Does the sum move everything that is read by one element, or (*moves: not all of it) leave it
 * where it is, and columns by a number that is known? */
static bool is_along(const Transposing *t, const Value *value, bool *moves)
{
	Sizes *sizes = t->program->sizes;
	bool along = value->kind != VALUE_INDEX;
	if (value->kind == VALUE_LOAD) {
		Size column = ix_stride(t->program, value->ix, t->lane);
		Size step = ix_stride(t->program, value->ix, t->along->var);
		if (size_is_bad(column) || size_is_bad(step))
			return false;
		along = size_is(sizes, step, 0) || size_is(sizes, step, 1);
		*moves |= size_is(sizes, step, 1);
	}
	for (uint32_t i = 0; i < value->nargs && along; i++)
		along = is_along(t, value->args[i], moves);
	return along;
}

bool tile_transposes(Tile *tile, const Value *value, IterVar lane)
{
	const Nest *nest = tile->nest;
	Transposing t = {.tile = tile, .program = nest->gen->program, .lane = lane};
	bool moves = false;
	t.along = nest->nloops > nest->nresult ? &nest->loops[nest->nloops - 1] : NULL;
	return t.along && is_along(&t, value, &moves) && moves;
}

bool tile_fits_squares(Tile *tile, const Value *value, int64_t cols)
{
	const Nest *nest = tile->nest;
	const Sizes *sizes = nest->gen->program->sizes;
	int64_t side = tile->lanes, extent;
	if (!tile_transposes(tile, value, tile->col->var))
		return false;
	const Loop *along = &nest->loops[nest->nloops - 1];
	return size_is_const(sizes, along->extent, &extent) && extent >= side && cols >= side &&
	       side > 1;
}

Block tile_transpose_copy(Tile *tile, const Value *value, const Ix *to, const TilePart *part)
{
	const Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	Transposing t = {.tile = tile,
			 .program = gen->program,
			 .along = &nest->loops[nest->nloops - 1],
			 .value = value,
			 .to = to,
			 .vectors = part->copy == TILE_COPY_SQUARES,
			 .side = tile->lanes};
	int64_t extent, cols = part->step;
	t.step = ix_stride(t.program, to, t.along->var);
	REQUIRE(!size_is_bad(t.step));
	REQUIRE(size_is_const(t.program->sizes, t.along->extent, &extent));
	int64_t steps = extent / t.side * t.side, whole = cols / t.side * t.side;
	Body body = {0}, left = {0};
	const Stmt *squares = stmt_loop(gen->program, LOOP_SERIAL, tile->c, whole,
					along_loop(&t, 0, steps, t.side, square(&t)));
	PUSH(gen->arena, body.stmts, stmt_step(gen->arena, squares, t.side));
	if (whole < cols)
		gen_append(gen, &left, along_loop(&t, 0, steps, 1, plain_copy(&t, whole, cols)));
	if (steps < extent)
		gen_append(gen, &left, along_loop(&t, steps, extent, 1, plain_copy(&t, 0, cols)));
	gen_append(gen, &body, body_block(&left));
	return body_block(&body);
}
