/* How much work loops are, in operations: a size where it fits, else an index that is capped. An
 * extent that is not known counts as what bounds it.
 */
#include "loops/work.h"

#include "base/diag.h"
#include "base/size_eval.h"
#include "base/size_order.h"
#include "base/size_program.h"
#include "loops/linear.h"
#include "loops/walk.h"

/* SHORT: numbers, dims and operations of a formula. */
enum { TRIPS_GUESS = 8, DIM_GUESS = 32, SHORT = 16 };

/* The table's costs are those of floats. A power of integers counts as one operation. */
static int64_t cost_of_op(const Value *value)
{
	int64_t cost = op_cost(value->op);
	return value->dtype == DTYPE_U4X32 || cost < OP_COST_FUNCTION || dtype_is_float(value->dtype)
		       ? cost
		       : 1;
}

static int64_t value_cost(const Value *value)
{
	int64_t cost = value->kind == VALUE_OP ? cost_of_op(value) : value->kind == VALUE_LOAD;
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

bool loop_bounds(Program *program, const Stmt *loop, Size *lo, Size *hi)
{
	const Sizes *sizes = program->sizes;
	bool bounded = ix_bounding_size(sizes, loop->lo, IX_MAX, lo) &&
		       ix_bounding_size(sizes, loop->hi, IX_MIN, hi);
	return bounded || (ix_known_size(loop->lo, lo) && ix_known_size(loop->hi, hi));
}

bool loop_of_rest(Program *program, const Stmt *loop, Size *lo, Size *hi)
{
	Sizes *sizes = program->sizes;
	return loop->step > 1 && loop_bounds(program, loop, lo, hi) && !size_is(sizes, *lo, 0) &&
	       size_same(*lo, size_scale(sizes, size_floor(sizes, *hi, loop->step), loop->step));
}

/* ---- loads that wait for memory ---- */

/* Loads of large buffers whose places follow from what is read in the innermost loop around. */
typedef struct Anywhere {
	Program *program;
	IterVar inner;
	int64_t n;
} Anywhere;

static void count_load(void *of, const Value *value)
{
	Anywhere *a = of;
	int64_t elements;
	if (value->kind != VALUE_LOAD)
		return;
	const Buffer *buffer = &a->program->buffers.at[value->buffer];
	if (!size_is_const(a->program->sizes, buffer->elements, &elements) ||
	    elements * (int64_t)dtype_bytes(buffer->dtype) < a->program->options.target->l2_bytes)
		return;
	a->n += size_is_bad(ix_stride(a->program, value->ix, a->inner));
}

/* What such loads of the statement, in the loop, cost more than others. */
static int64_t cost_anywhere(Program *program, const Stmt *stmt, const Stmt *loop)
{
	Anywhere a = {program, loop ? loop->iter : 0, 0};
	if (loop && stmt->value)
		value_each(stmt->value, count_load, &a);
	return a.n * (program->options.target->load_anywhere - 1);
}

int64_t stmt_cost(const Stmt *stmt) { return stmt->value ? 1 + value_cost(stmt->value) : 0; }

Size loop_trips(Program *program, const Stmt *loop)
{
	Sizes *sizes = program->sizes;
	Size lo, hi;
	if (!loop_bounds(program, loop, &lo, &hi))
		return size_const(sizes, TRIPS_GUESS);
	Size n = size_ceil(sizes, size_sub(sizes, hi, lo), loop->step);
	return size_is_bad(n) ? size_const(sizes, TRIPS_GUESS) : n;
}

static Size size_in_loop(Program *program, Block block, const Stmt *loop)
{
	Sizes *sizes = program->sizes;
	Size work = size_const(sizes, 0);
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		const Stmt *inner = stmt->kind == LOOP_FOR ? stmt : loop;
		Size inside = size_const(sizes, stmt_cost(stmt) + cost_anywhere(program, stmt, loop));
		if (stmt->body.n)
			inside = size_in_loop(program, stmt->body, inner);
		if (stmt->kind == LOOP_FOR)
			inside = size_mul(sizes, inside, loop_trips(program, stmt));
		work = size_add(sizes, work, inside);
	}
	return work;
}

Size block_size(Program *program, Block block) { return size_in_loop(program, block, NULL); }

int64_t size_at_dims(Program *program, Size size, int64_t value)
{
	uint32_t n = sizes_ndims(program->sizes);
	int64_t at;
	if (size_is_const(program->sizes, size, &at))
		return at;
	int64_t *values = ARENA_ARRAY(program->arena, int64_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		values[i] = value;
	if (!size_eval(program->sizes, size, values, &at))
		return value;
	return at < 0 ? 0 : at;
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

/* Is the size told in few words? */
static bool is_short_text(Program *program, Size size)
{
	SizeOp *ops;
	return size_program(program->arena, program->sizes, size, &ops) <= SHORT;
}

const Ix *block_work(Program *program, Block block)
{
	Size size = block_size(program, block);
	bool fits = always_fits(program, size);
	if (fits && is_short_text(program, size))
		return ix_size(program->arena, size);
	const Ix *rough = rough_work(program, block);
	if (rough)
		return rough;
	return fits ? ix_size(program->arena, size) : ix_const(program, WORK_CAP);
}

static bool is_constant(const Program *program, const Ix *ix, int64_t *value)
{
	return ix->kind == IX_SIZE && size_is_const(program->sizes, ix->size, value);
}

int64_t constant_trips(const Program *program, const Stmt *loop)
{
	int64_t lo, hi;
	if (!is_constant(program, loop->lo, &lo) || !is_constant(program, loop->hi, &hi))
		return -1;
	return hi > lo ? (hi - lo + loop->step - 1) / loop->step : 0;
}

int64_t trips_from_zero(const Program *program, const Stmt *loop)
{
	int64_t n = 0;
	bool counts = loop->step == 1 && loop->lo->kind == IX_SIZE &&
		      size_is(program->sizes, loop->lo->size, 0) &&
		      is_constant(program, loop->hi, &n);
	return counts && n > 0 ? n : 0;
}

int64_t vector_lanes(const Program *program, const Stmt *loop)
{
	int64_t lanes = loop->lanes ? loop->lanes : constant_trips(program, loop);
	REQUIRE(loop->loop == LOOP_VECTOR && lanes >= 0);
	return lanes;
}
