/* Grids of kernels, and what their threads do: what bind.c and its parts ask. */
#include "base/integer.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/bind.h"

/* ---- how many threads along each loop ---- */

/* Of `left` threads. An extent that is not known may be short: where there is another loop to share with, it gets
 * a warp. */
static int64_t threads_along(const Sizes *sizes, const GpuTarget *gpu, Size size, int64_t left)
{
	int64_t extent;
	if (size_is_const(sizes, size, &extent))
		return extent < 1 ? 1 : extent <= left ? extent : power_below(left);
	int64_t power = power_below(left);
	return power < gpu->warp ? power : gpu->warp;
}

/* The outermost of which the extent is not known takes all. */
void grid_shape(const Sizes *sizes, const GpuTarget *gpu, const Size *extents, uint32_t n,
		int64_t *threads)
{
	int64_t left = gpu->threads, known;
	for (uint32_t i = n; i-- > 0; left /= threads[i]) {
		bool all = i == 0 && !size_is_const(sizes, extents[i], &known);
		threads[i] = all ? power_below(left) : threads_along(sizes, gpu, extents[i], left);
	}
}

/* ---- grids ---- */

Block grid_body(const Kernel *kernel)
{
	Block body = kernel->body;
	for (const Stmt *s = grid_loop(&body); s; s = grid_loop(&body))
		body = s->body;
	return body;
}

uint32_t grid_loops(const Kernel *kernel, const Stmt **loops)
{
	uint32_t n = 0;
	const Stmt *s = grid_loop(&kernel->body);
	for (; s && n < GRID_LOOPS; s = grid_loop(&s->body))
		loops[n++] = s;
	return s ? 0 : n;
}

Block grid_around(Arena *arena, const Block *grid, Block body, int64_t threads)
{
	const Stmt *like = grid_loop(grid);
	if (!like)
		return body;
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = *like;
	loop->threads = threads ? threads : like->threads;
	loop->body = grid_around(arena, &like->body, body, threads);
	return block_one(arena, loop);
}

/* ---- loops as one ---- */

bool loop_counts_from_zero(const Sizes *sizes, const Stmt *loop)
{
	return loop->loop == LOOP_SERIAL && loop->step == 1 && loop->lo->kind == IX_SIZE &&
	       size_is(sizes, loop->lo->size, 0) && loop->hi->kind == IX_SIZE;
}

bool nest_counts_from_zero(const Sizes *sizes, const LoopNest *nest)
{
	for (uint32_t i = 0; i < nest->n; i++)
		if (!loop_counts_from_zero(sizes, nest->loops[i]))
			return false;
	return true;
}

int64_t loops_readers(const Sizes *sizes, const Stmt *const *loops, uint32_t n, const Ix *ix)
{
	int64_t all = 1, extent;
	for (uint32_t i = 0; i < n; i++) {
		if (!loops[i] || ix_uses(ix, loops[i]->iter))
			continue;
		const Ix *hi = loops[i]->hi;
		bool known = hi->kind == IX_SIZE && size_is_const(sizes, hi->size, &extent);
		if (!known || __builtin_mul_overflow(all, extent, &all))
			return INT64_MAX;
	}
	return all;
}

Size loops_extent(Sizes *sizes, const Stmt *const *loops, uint32_t n)
{
	Size extent = size_const(sizes, 1);
	for (uint32_t i = 0; i < n; i++)
		extent = size_mul(sizes, extent, loops[i]->hi->size);
	return extent;
}

void one_loop_ix(OneLoop *one, const Ix *ix)
{
	for (uint32_t i = one->n; i-- > one->first + 1;)
		if (!ix_goes_on(one->program, ix, one->loops[i - 1], one->loops[i]))
			one->first = i;
}

static void see_read(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD || value->kind == VALUE_INDEX)
		one_loop_ix(of, value->ix);
}

void one_loop_value(OneLoop *one, const Value *value) { value_each(value, see_read, one); }

/* ---- what kernels do ---- */

const BufferUse *routine_use(const RoutineKernels *kernels, uint32_t i, BufferId buffer)
{
	return buffer_use(&kernel_uses(kernels->uses, &kernels->at[i])->uses, buffer);
}

/* Does one of the first n statements begin the local anew? */
static bool declares(const Block *body, uint32_t n, LocalId local)
{
	bool found = false;
	for (uint32_t i = 0; i < n; i++)
		found |= body->stmts[i]->kind == LOOP_LOCAL && body->stmts[i]->local == local;
	return found;
}

bool is_elementwise(const Kernel *kernel, const Block *body)
{
	bool stores = false;
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		bool local = (stmt->kind == LOOP_LOCAL ||
			      (stmt->kind == LOOP_SET && declares(body, i, stmt->local))) &&
			     kernel->locals[stmt->local].rank == 0;
		bool store = stmt->kind == LOOP_STORE && stmt->acc == OP_NONE;
		if (!local && !store)
			return false;
		stores |= store;
	}
	return stores;
}

bool is_fold(const Stmt *stmt)
{
	return stmt->kind == LOOP_SET && stmt->nixs == 0 &&
	       (stmt->acc == OP_ADD || stmt->acc == OP_MUL || stmt->acc == OP_MAX ||
		stmt->acc == OP_MIN);
}

const Value *fold_neutral(Arena *arena, const Stmt *fold)
{
	Dtype dtype = fold->value->dtype;
	return value_const(arena, dtype, op_neutral(fold->acc, dtype));
}
