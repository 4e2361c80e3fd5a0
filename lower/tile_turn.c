/* The copy of an operand that lies along the sum into panels of columns, in squares that are turned
 * in registers:
 *
 *   for c in 0..64 step 16
 *     for k in 0..512 step 16
 *       unroll r, vector lane: turned[r, lane] = w[(o + c + r)*512 + k + lane]
 *       unroll r, vector lane: packed[(k + r)*64 + c + lane] = turned[lane, r]
 *
 * What is left of either goes element by element.
 */
#include "lower/tile.h"

#include "base/diag.h"

typedef struct Turning {
	Tile *tile;
	Program *program;
	const Loop *along; /* the sum that moves the operand by one */
	const Value *value; /* a load at that loop's step, of the column `lane`, or a cast of one */
	const Value *load;
	const Ix *to;
	int64_t side; /* of a square */
	Size column, step; /* how far a column moves the load, and a step the copy */
} Turning;

static const Ix *iter(const Turning *t, IterVar var)
{
	return ix_iter(t->program->arena, var);
}

static const Ix *scaled(const Turning *t, const Ix *ix, Size by)
{
	return ix_mul(t->program, ix, ix_size(t->program->arena, by));
}

/* The value with the load at another index. */
static const Value *load_at(const Turning *t, const Ix *ix)
{
	const Value *load = value_load(t->program, t->load->buffer, ix);
	return t->value == t->load ? load : value_cast(t->program->arena, t->value->dtype, load);
}

/* One element of every column from `from` on. */
static Block plain_copy(const Turning *t, int64_t from, int64_t to)
{
	Program *program = t->program;
	const Ix *more = tile_const(t->tile, from);
	const Value *value = load_at(t, ix_add(program, t->load->ix, scaled(t, more, t->column)));
	const Stmt *store = stmt_store(program->arena, t->tile->packed,
				       ix_add(program, t->to, more), OP_NONE, value);
	return tile_unroll(t->tile, LOOP_UNROLL, t->tile->lane, to - from,
			   block_of(t->tile->nest->gen, store));
}

static Block over_square(const Turning *t, const Stmt *stmt)
{
	Tile *tile = t->tile;
	Block body = tile_unroll(tile, LOOP_VECTOR, tile->lane, t->side,
				 block_of(tile->nest->gen, stmt));
	return tile_unroll(tile, LOOP_UNROLL, tile->r, t->side, body);
}

static Block square(const Turning *t)
{
	Tile *tile = t->tile;
	Program *program = t->program;
	Gen *gen = tile->nest->gen;
	Body body = {0};
	LocalId turned = tile_declare(tile, "turned", (int64_t[]){t->side, t->side}, 2);
	gen->locals.at[turned].dtype = t->value->dtype;
	const Ix *r = iter(t, tile->r), *c = iter(t, tile->c), *lane = iter(t, tile->lane);
	const Ix *column = ix_add(program, c, r);
	const Ix *back = ix_mul(program, lane, tile_const(tile, -1));
	const Ix *from =
		ix_add(program, t->load->ix, scaled(t, ix_add(program, column, back), t->column));
	from = ix_add(program, from, lane);
	const Ix *to = ix_add(program, ix_add(program, t->to, c), scaled(t, r, t->step));
	const Ix *row[] = {r, lane}, *turn[] = {lane, r};
	const Value *zero =
		value_const(program->arena, t->value->dtype, scalar_of(t->value->dtype, 0));
	PUSH(gen->arena, body.stmts, stmt_local(gen->arena, turned, zero));
	const Stmt *set = stmt_set_at(gen->arena, tile_local(tile, turned, row, 2), OP_NONE,
				      load_at(t, from));
	gen_append(gen, &body, over_square(t, set));
	const Stmt *store = stmt_store(gen->arena, tile->packed, to, OP_NONE,
				       tile_local(tile, turned, turn, 2));
	gen_append(gen, &body, over_square(t, store));
	return body_block(&body);
}

static Block along_loop(const Turning *t, int64_t lo, int64_t hi, int64_t step, Block body)
{
	Gen *gen = t->tile->nest->gen;
	const Stmt *loop = stmt_for(gen->arena, t->along->var, tile_const(t->tile, lo),
				    tile_const(t->tile, hi), body);
	return block_of(gen, stmt_step(gen->arena, loop, step));
}

static bool set_up(Turning *t, int64_t *extent, int64_t cols)
{
	const Nest *nest = t->tile->nest;
	Sizes *sizes = t->program->sizes;
	t->load = t->value->kind == VALUE_CAST ? t->value->args[0] : t->value;
	if (nest->nloops == nest->nresult || t->load->kind != VALUE_LOAD)
		return false;
	t->along = &nest->loops[nest->nloops - 1];
	t->side = t->tile->lanes;
	t->column = ix_stride(t->program, t->load->ix, t->tile->lane);
	t->step = ix_stride(t->program, t->to, t->along->var);
	Size one = ix_stride(t->program, t->load->ix, t->along->var);
	return !size_is_bad(t->column) && !size_is_bad(t->step) && !size_is_bad(one) &&
	       size_is(sizes, one, 1) && size_is_const(sizes, t->along->extent, extent) &&
	       *extent >= t->side && cols >= t->side && t->side > 1;
}

bool tile_turn_copy(Tile *tile, const Value *value, const Ix *to, int64_t cols, Block *copy)
{
	Gen *gen = tile->nest->gen;
	Turning t = {.tile = tile, .program = gen->program, .value = value, .to = to};
	int64_t extent;
	if (!set_up(&t, &extent, cols))
		return false;
	int64_t steps = extent / t.side * t.side, whole = cols / t.side * t.side;
	Body body = {0}, left = {0};
	const Stmt *squares =
		stmt_for(gen->arena, tile->c, tile_const(tile, 0), tile_const(tile, whole),
			 along_loop(&t, 0, steps, t.side, square(&t)));
	PUSH(gen->arena, body.stmts, stmt_step(gen->arena, squares, t.side));
	if (whole < cols)
		gen_append(gen, &left, along_loop(&t, 0, steps, 1, plain_copy(&t, whole, cols)));
	if (steps < extent)
		gen_append(gen, &left, along_loop(&t, steps, extent, 1, plain_copy(&t, 0, cols)));
	gen_append(gen, &body, body_block(&left));
	*copy = body_block(&body);
	return true;
}
