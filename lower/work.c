/* How much work loops are, in operations: a size where it fits, else an index that is capped. An
 * extent that is not known counts as what bounds it.
 */
#include "lower/parallel.h"

enum { TRIPS_GUESS = 8, DIM_GUESS = 32 };
#define WORK_CAP ((int64_t)1 << 30)

static int64_t op_cost(Op op, Dtype dtype)
{
	enum { SIMPLE = 1, QUOTIENT = 4, FUNCTION = 16, HASH = 150 };
	if (op == OP_THREEFRY)
		return HASH;
	bool quotient =
		op == OP_DIV || op == OP_MOD || op == OP_SQRT || op == OP_RSQRT || op == OP_RECIP;
	if (quotient)
		return QUOTIENT;
	bool function = op == OP_POW || (op >= OP_EXP && op <= OP_GELU);
	return function && dtype_is_float(dtype) ? FUNCTION : SIMPLE;
}

static int64_t value_cost(const Value *value)
{
	int64_t cost = value->kind == VALUE_OP ? op_cost(value->op, value->dtype)
					       : value->kind == VALUE_LOAD;
	for (uint32_t i = 0; i < value->nargs && cost < WORK_CAP; i++)
		cost += value_cost(value->args[i]);
	return cost;
}

bool ix_known_size(const Ix *ix, Size *size)
{
	if (ix->kind == IX_SIZE) {
		*size = ix->size;
		return true;
	}
	return (ix->kind == IX_MIN || ix->kind == IX_MAX) &&
	       (ix_known_size(ix->a, size) || ix_known_size(ix->b, size));
}

Size loop_trips(Program *program, const Stmt *loop)
{
	Sizes *sizes = program->sizes;
	Size lo, hi;
	bool bounded = ix_bounding_size(sizes, loop->lo, IX_MAX, &lo) &&
		       ix_bounding_size(sizes, loop->hi, IX_MIN, &hi);
	if (!bounded && (!ix_known_size(loop->lo, &lo) || !ix_known_size(loop->hi, &hi)))
		return size_const(sizes, TRIPS_GUESS);
	Size n = size_ceil(sizes, size_sub(sizes, hi, lo), loop->step);
	return size_is_bad(n) ? size_const(sizes, TRIPS_GUESS) : n;
}

Size block_size(Program *program, Block block)
{
	Sizes *sizes = program->sizes;
	Size work = size_const(sizes, 0);
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		Size inside = size_const(sizes, stmt->value ? 1 + value_cost(stmt->value) : 0);
		if (stmt->body.n)
			inside = block_size(program, stmt->body);
		if (stmt->kind == LOOP_FOR)
			inside = size_mul(sizes, inside, loop_trips(program, stmt));
		work = size_add(sizes, work, inside);
	}
	return work;
}

int64_t typical_work(Program *program, const Kernel *kernel)
{
	uint32_t n = sizes_ndims(program->sizes);
	int64_t *dims = ARENA_ARRAY(program->arena, int64_t, n + 1), work;
	for (uint32_t i = 0; i < n; i++)
		dims[i] = DIM_GUESS;
	Size size = block_size(program, kernel->body);
	bool known = !size_is_bad(size) && size_eval(program->sizes, size, dims, &work);
	return known && work < WORK_CAP ? work : WORK_CAP;
}

bool work_is_known(Program *program, const Kernel *kernel)
{
	int64_t work;
	return size_is_const(program->sizes, block_size(program, kernel->body), &work);
}

/* Does the size fit whatever the dims are? */
static bool always_fits(Program *program, Size size)
{
	uint32_t n = sizes_ndims(program->sizes);
	int64_t *dims = ARENA_ARRAY(program->arena, int64_t, n + 1), value;
	for (uint32_t i = 0; i < n; i++)
		dims[i] = DIM_MOST;
	return !size_is_bad(size) && size_eval(program->sizes, size, dims, &value);
}

const Ix *ix_least(Program *program, const Ix *a, const Ix *b)
{
	bool bounded = a->kind == IX_MIN && a->b->kind == IX_SIZE && b->kind == IX_SIZE;
	if (bounded && size_ge(program->sizes, b->size, a->b->size))
		return a;
	return ix_binary(program, IX_MIN, a, b);
}

static const Ix *capped(Program *program, const Ix *ix)
{
	return ix_least(program, ix, ix_const(program->arena, program->sizes, WORK_CAP));
}

static const Ix *capped_product(Program *program, const Ix *a, const Ix *b)
{
	if (b->kind == IX_SIZE && size_is(program->sizes, b->size, 1))
		return a;
	return capped(program, ix_mul(program, a, capped(program, b)));
}

static const Ix *capped_work(Program *program, Block block)
{
	const Ix *work = ix_const(program->arena, program->sizes, 0);
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		const Ix *inside = ix_const(program->arena, program->sizes,
					    stmt->value ? 1 + value_cost(stmt->value) : 0);
		if (stmt->body.n)
			inside = capped_work(program, stmt->body);
		if (stmt->kind == LOOP_FOR)
			inside = capped_product(program, inside,
						ix_size(program->arena, loop_trips(program, stmt)));
		work = ix_add(program, work, inside);
	}
	return capped(program, work);
}

const Ix *block_work(Program *program, Block block)
{
	Size size = block_size(program, block);
	return always_fits(program, size) ? ix_size(program->arena, size)
					  : capped_work(program, block);
}
