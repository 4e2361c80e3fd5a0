/* The rules of the grammar of loops.h for statements: what may stand in which loop. */
#include "base/size_order.h"
#include "loops/group.h"
#include "loops/matrix.h"
#include "loops/multiple.h"
#include "loops/verify_walk.h"
#include "loops/walk.h"

enum {
	UNROLL_LIMIT = 1024,
	WAIT_MOST = 16,
	BOX_MOST = 256,	     /* elements of an axis, of TMA */
	BYTES_MOST = 1 << 20 /* of a completion */
};

static void check_block(Verify *v, const Block *block);

/* Does the block hold the loop, in no other? */
static bool is_at_top(const Block *top, const Stmt *loop)
{
	bool found = false;
	for (uint32_t i = 0; i < top->n && !found; i++)
		found = top->stmts[i] == loop ||
			(top->stmts[i]->kind == LOOP_IF && is_at_top(&top->stmts[i]->body, loop));
	return found;
}

/* At the top, or under conditions there; locals in front of it are out of sight. */
static void check_parallel(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, is_at_top(&v->kernel->body, stmt), "a parallel loop inside another one");
	for (uint32_t i = 0; i < v->kernel->nlocals; i++)
		v->outside[i] = v->local_open[i];
	int64_t lo;
	bool zero = stmt->lo->kind == IX_SIZE &&
		    size_is_const(v->program->sizes, stmt->lo->size, &lo) && lo == 0;
	FAIL_UNLESS(v, zero && stmt->step == 1, "a parallel loop that does not count from 0");
	FAIL_UNLESS(v, stmt->nslots >= 0 && stmt->nslots <= SLOTS_MAX, "too many slots");
	v->parallel = true;
	if (stmt->nslots == 0)
		return;
	FAIL_UNLESS(v, stmt->slot < v->kernel->niters, "an unknown iterator");
	FAIL_UNLESS(v, !v->iter_open[stmt->slot] && stmt->slot != stmt->iter,
		    "a slot that is a loop");
	v->iter_open[stmt->slot] = true;
}

static void check_grid(const Verify *v, const Stmt *stmt)
{
	const Sizes *sizes = v->program->sizes;
	FAIL_UNLESS(v, !v->not_alone, "a loop of a grid beside or inside another statement");
	bool counts = stmt->lo->kind == IX_SIZE && size_is(sizes, stmt->lo->size, 0) &&
		      stmt->hi->kind == IX_SIZE && stmt->step == 1;
	FAIL_UNLESS(v, counts, "a loop of a grid that does not count from 0 to a size");
	FAIL_UNLESS(v, stmt->threads > 0, "a block without threads");
}

/* `around`: the statement that holds the loop, and nothing else. */
static void check_threads(Verify *v, const Stmt *stmt)
{
	const Sizes *sizes = v->program->sizes;
	const Stmt *around = v->nblocks ? v->blocks[v->nblocks - 1] : NULL;
	int64_t n;
	FAIL_UNLESS(v,
		    !around || (around->body.n == 1 && around->body.stmts[0] == stmt &&
				v->nblocks < BLOCK_AXES),
		    "a loop of a block inside one, beside or inside another statement");
	bool counts = stmt->lo->kind == IX_SIZE && size_is(sizes, stmt->lo->size, 0) &&
		      stmt->hi->kind == IX_SIZE && size_is_const(sizes, stmt->hi->size, &n) &&
		      n > 0 && stmt->step == 1;
	FAIL_UNLESS(v, counts, "a loop of a block that does not count from 0 to a constant");
	FAIL_UNLESS(v,
		    stmt->threads >= 0 && stmt->threads < INT16_MAX &&
			    (!around || (!stmt->threads && !around->threads)),
		    "a loop of a block behind threads that there are not");
	v->blocks[v->nblocks++] = stmt;
}

static void check_warp(const Verify *v, const Stmt *stmt)
{
	const Sizes *sizes = v->program->sizes;
	int64_t n;
	bool counts = stmt->lo->kind == IX_SIZE && size_is(sizes, stmt->lo->size, 0) &&
		      stmt->hi->kind == IX_SIZE && size_is_const(sizes, stmt->hi->size, &n) &&
		      n > 0 && stmt->step == 1;
	FAIL_UNLESS(v, counts, "a loop of a warp that does not count from 0 to a constant");
	FAIL_UNLESS(v, v->nblocks > 0, "a loop of a warp outside of the threads of a block");
}

/* Lanes of which some are masked: what they compute is seen in memory alone. */
static void check_masked(const Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->loop == LOOP_VECTOR && stmt->lanes > 0 && stmt->lanes <= LANES_OF,
		    "masked lanes of another loop");
	FAIL_UNLESS(v,
		    stmt->lo->kind == IX_SIZE && size_is(v->program->sizes, stmt->lo->size, 0) &&
			    stmt->step == 1,
		    "masked lanes that do not count from 0");
	for (uint32_t i = 0; i < stmt->body.n; i++) {
		const Stmt *inner = stmt->body.stmts[i];
		FAIL_UNLESS(v, inner->kind == LOOP_LOCAL || inner->kind == LOOP_STORE,
			    "masked lanes that change a local");
		FAIL_UNLESS(v,
			    dtype_is_float(inner->value->dtype) &&
				    dtype_wide(inner->value->dtype) == inner->value->dtype,
			    "masked lanes of no wide float");
	}
}

static void check_matrix(const Verify *v, const Stmt *stmt)
{
	MatrixProduct product;
	FAIL_UNLESS(v, matrix_product((Program *)v->program, stmt, &product),
		    "a matrix that is no product of rows and columns");
}

static void check_outlined(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->loop == LOOP_SERIAL, "a function of another loop");
	FAIL_UNLESS(v, !v->outlined && v->unrolled == 0, "a function that would be written out");
	for (uint32_t i = 0; i < v->kernel->nlocals; i++)
		v->around[i] = v->local_open[i];
	v->outlined = true;
}

static void check_for(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->iter < v->kernel->niters, "a loop over an unknown iterator");
	FAIL_UNLESS(v, !v->iter_open[stmt->iter], "a loop inside itself");
	FAIL_UNLESS(v, stmt->step > 0, "a loop that does not advance");
	verify_ix(v, stmt->lo);
	verify_ix(v, stmt->hi);
	FAIL_UNLESS(v, !v->vector, "a loop inside lanes");
	int64_t lo, hi;
	bool constant = stmt->lo->kind == IX_SIZE && stmt->hi->kind == IX_SIZE && stmt->step == 1 &&
			size_is_const(v->program->sizes, stmt->lo->size, &lo) &&
			size_is_const(v->program->sizes, stmt->hi->size, &hi) &&
			hi - lo <= UNROLL_LIMIT;
	bool lanes = stmt->loop == LOOP_UNROLL || stmt->loop == LOOP_VECTOR;
	if (stmt->lanes)
		check_masked(v, stmt);
	if (stmt->outlined)
		check_outlined(v, stmt);
	v->unrolled += stmt->loop == LOOP_UNROLL;
	FAIL_UNLESS(v, !lanes || constant || stmt->lanes, "lanes that are no small constant");
	if (stmt->loop == LOOP_PARALLEL)
		check_parallel(v, stmt);
	if (stmt->loop == LOOP_GRID)
		check_grid(v, stmt);
	if (stmt->loop == LOOP_BLOCK)
		check_threads(v, stmt);
	if (stmt->loop == LOOP_WARP)
		check_warp(v, stmt);
	v->nwarps += stmt->loop == LOOP_WARP;
	v->iter_open[stmt->iter] = true;
	v->vector = stmt->loop == LOOP_VECTOR ? stmt : NULL;
	bool before = v->not_alone;
	v->not_alone = before || stmt->loop != LOOP_GRID || stmt->body.n != 1;
	check_block(v, &stmt->body);
	v->nblocks -= stmt->loop == LOOP_BLOCK && v->nblocks > 0;
	v->nwarps -= stmt->loop == LOOP_WARP;
	v->not_alone = before;
	v->vector = NULL;
	v->unrolled -= stmt->loop == LOOP_UNROLL;
	v->outlined = v->outlined && !stmt->outlined;
	v->parallel = v->parallel && stmt->loop != LOOP_PARALLEL;
	v->iter_open[stmt->iter] = false;
	if (stmt->loop == LOOP_MATRIX && !v->fault->rule)
		check_matrix(v, stmt);
	if (stmt->nslots)
		v->iter_open[stmt->slot] = false;
}

static void verify_conds(Verify *v, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		verify_ix(v, stmt->conds[i].a);
		verify_ix(v, stmt->conds[i].b);
	}
}

static void check_if(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, !v->vector, "a condition inside lanes");
	FAIL_UNLESS(v, stmt->nconds > 0, "a condition is missing");
	verify_conds(v, stmt);
	bool before = v->not_alone;
	v->not_alone = true;
	v->nconds++;
	check_block(v, &stmt->body);
	v->nconds--;
	v->not_alone = before;
}

static bool is_of_matrices(const KernelLocal *local)
{
	return local->dtype == DTYPE_F32 && local->rank >= 2 &&
	       local->nthreads + 2 <= local->rank &&
	       local->extent[local->rank - 2] == matrix_rows(local->matrix, local->role) &&
	       local->extent[local->rank - 1] == matrix_columns(local->matrix, local->role);
}

static void check_local(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->local < v->kernel->nlocals, "an unknown local");
	FAIL_UNLESS(v, !v->local_open[stmt->local], "a local declared twice");
	const KernelLocal *local = &v->kernel->locals[stmt->local];
	FAIL_UNLESS(v, local->rank <= LOCAL_AXES, "a local with too many axes");
	FAIL_UNLESS(v, local->role == ROLE_NONE || is_of_matrices(local),
		    "a local of matrices that are not its instruction's");
	FAIL_UNLESS(v, !v->vector || local->rank == 0, "a local with axes inside lanes");
	for (uint32_t i = 0; i < local->rank; i++)
		FAIL_UNLESS(v, local->extent[i] > 0, "an empty local");
	FAIL_UNLESS(v, local->nthreads <= local->rank && (!local->nthreads || !v->nblocks),
		    "a local of each thread inside a loop of a block");
	verify_value(v, stmt->value);
	FAIL_UNLESS(v, stmt->value->dtype == local->dtype, "a local set to another type");
	v->local_open[stmt->local] = true;
}

static void check_acc(Verify *v, Op acc)
{
	FAIL_UNLESS(v, acc == OP_NONE || (acc < OP_NONE && op_arity(acc) == 2),
		    "an accumulation by an operation without two arguments");
}

/* Is it set to both elements of a byte, by no lane? */
static bool stores_byte(const Verify *v, const Stmt *stmt)
{
	Multiples multiples = multiples_new(v->program->arena, v->program, v->kernel);
	return !v->vector && !stmt->async && stmt->acc == OP_NONE &&
	       ix_multiple(&multiples, stmt->ix) % 2 == 0;
}

static void check_store(Verify *v, const Stmt *stmt)
{
	if (!verify_buffer(v, stmt->buffer))
		return;
	const Buffer *buffer = &v->program->buffers.at[stmt->buffer];
	FAIL_UNLESS(v, buffer->kind != BUFFER_INPUT && buffer->kind != BUFFER_CONST,
		    "a store into what is read only");
	FAIL_UNLESS(v,
		    buffer->kind != BUFFER_PACKED || !v->routine || v->routine == &v->program->pack,
		    "a store into a copy of a parameter");
	FAIL_UNLESS(v, !dtype_is_packed(buffer->dtype) || stores_byte(v, stmt),
		    "a store of half a byte");
	bool first = !v->routine || v->routine == &v->program->init;
	FAIL_UNLESS(v,
		    buffer->kind != BUFFER_PARAM || v->program->params.at[buffer->arg].changes ||
			    (first && v->program->params.at[buffer->arg].init == PARAM_COMPUTED),
		    "a store into a parameter that does not change");
	check_acc(v, stmt->acc);
	FAIL_UNLESS(v,
		    !stmt->async || (buffer->shared && v->vector && v->nblocks > 0 &&
				     stmt->acc == OP_NONE && stmt->value->kind == VALUE_LOAD),
		    "a copy that no instruction makes");
	FAIL_UNLESS(v, stmt->async || !stmt->nconds, "a store with a condition");
	verify_conds(v, stmt);
	verify_ix(v, stmt->ix);
	FAIL_UNLESS(v, !v->vector || ix_uses(stmt->ix, v->vector->iter),
		    "one element stored by all lanes");
	verify_lanes(v, stmt->ix, stmt->acc == OP_NONE ? LANES_STRIDE : 1);
	verify_value(v, stmt->value);
	FAIL_UNLESS(v, stmt->value->dtype == buffer_stored(buffer), "a store of another type");
	FAIL_UNLESS(v, stmt->acc == OP_NONE || buffer->dtype == dtype_wide(buffer->dtype),
		    "an accumulation in a type of storage");
}

static void check_completion(Verify *v, const Stmt *stmt)
{
	if (!verify_buffer(v, stmt->mbarrier))
		return;
	FAIL_UNLESS(v, v->program->buffers.at[stmt->mbarrier].arrivals > 0, "no mbarrier");
	FAIL_UNLESS(v, v->nblocks > 0 && !v->vector,
		    "an mbarrier outside of the threads of a block");
	FAIL_UNLESS(v, stmt->bytes >= 0 && stmt->bytes < BYTES_MOST,
		    "more bytes than an mbarrier counts");
	verify_ix(v, stmt->visit);
}

/* Of the tensor: what lies at the axes is in the buffer. */
static void check_axes(Verify *v, const Stmt *stmt)
{
	Sizes *sizes = v->program->sizes;
	Size last = size_const(sizes, 0), eight = size_const(sizes, 8);
	FAIL_UNLESS(v, stmt->naxes > 0 && stmt->naxes <= TENSOR_AXES_MOST, "a box without axes");
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		const TensorAxis *axis = &stmt->axes[i];
		bool fits = !size_is_bad(axis->extent) && !size_is_bad(axis->stride) &&
			    axis->box > 0 && axis->box <= BOX_MOST;
		bool stride = i ? size_divides(sizes, eight, axis->stride)
				: size_is(sizes, axis->stride, 1);
		FAIL_UNLESS(v, fits && (i || axis->box == GROUP_LINE),
			    "a box that no instruction copies");
		FAIL_UNLESS(v, stride,
			    "a box of elements that do not lie at multiples of 16 bytes");
		verify_ix(v, axis->at);
		last = size_add(sizes, last,
				size_mul(sizes, axis->stride, size_plus(sizes, axis->extent, -1)));
	}
	Size elements = v->program->buffers.at[stmt->value->buffer].elements;
	FAIL_UNLESS(v, !size_is_bad(last) && size_ge(sizes, size_plus(sizes, elements, -1), last),
		    "a box of a tensor that is larger than its buffer");
}

static void check_copy(Verify *v, const Stmt *stmt)
{
	if (!verify_buffer(v, stmt->buffer))
		return;
	const Buffer *to = &v->program->buffers.at[stmt->buffer];
	FAIL_UNLESS(v,
		    to->swizzled && to->shared &&
			    (to->dtype == DTYPE_BF16 || to->dtype == DTYPE_F16),
		    "a box that is not copied to a swizzled buffer");
	verify_ix(v, stmt->ix);
	FAIL_UNLESS(v, stmt->value && stmt->value->kind == VALUE_LOAD, "a box of no tensor");
	verify_value(v, stmt->value);
	FAIL_UNLESS(v,
		    stmt->value->dtype == to->dtype &&
			    !v->program->buffers.at[stmt->value->buffer].shared,
		    "a box of another type");
	check_axes(v, stmt);
	check_completion(v, stmt);
}

/* Products are awaited by the threads of a loop of a block, copies by all threads. */
static void check_wait(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->pending >= 0 && stmt->pending < WAIT_MOST, "a wait for no groups");
	FAIL_UNLESS(v, !stmt->products || v->nblocks > 0,
		    "a wait for products outside of the threads of a block");
	FAIL_UNLESS(v, stmt->products || v->nconds == 0,
		    "a group of copies that not all threads end");
	FAIL_UNLESS(v,
		    !v->vector && !v->parallel && !v->outlined && (stmt->products || !v->nblocks),
		    "a barrier that some threads may not come to");
}

static void check_stmt(Verify *v, const Stmt *stmt)
{
	v->stmt = stmt;
	switch (stmt->kind) {
	case LOOP_FOR: check_for(v, stmt); break;
	case LOOP_IF: check_if(v, stmt); break;
	case LOOP_LOCAL: check_local(v, stmt); break;
	case LOOP_SET:
		verify_local_use(v, stmt->local, stmt->ixs, stmt->nixs, false);
		check_acc(v, stmt->acc);
		verify_value(v, stmt->value);
		FAIL_UNLESS(v, stmt->value->dtype == v->kernel->locals[stmt->local].dtype,
			    "a local set to another type");
		break;
	case LOOP_STORE: check_store(v, stmt); break;
	case LOOP_CHECK:
		FAIL_UNLESS(v, !v->vector && !v->parallel && !v->outlined,
			    "a check inside lanes, chunks or a function");
		FAIL_UNLESS(v, stmt->check < v->program->checks.n, "an unknown check");
		verify_ix(v, stmt->lo);
		verify_ix(v, stmt->ix);
		verify_ix(v, stmt->hi);
		break;
	case LOOP_PREFETCH:
		FAIL_UNLESS(v, !v->vector, "a prefetch inside lanes");
		verify_buffer(v, stmt->buffer);
		verify_ix(v, stmt->ix);
		break;
	case LOOP_COMMIT:
	case LOOP_WAIT: check_wait(v, stmt); break;
	case LOOP_COPY: check_copy(v, stmt); break;
	case LOOP_ARRIVE:
	case LOOP_AWAIT: check_completion(v, stmt); break;
	case LOOP_BARRIER:
		FAIL_UNLESS(v, !v->nblocks && !v->vector && !v->parallel && !v->outlined,
			    "a barrier that some threads may not come to");
		break;
	}
}

static void check_block(Verify *v, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		FAIL_UNLESS(v, block->stmts[i], "a statement is missing");
		check_stmt(v, block->stmts[i]);
	}
	for (uint32_t i = 0; i < block->n && !v->fault->rule; i++)
		if (block->stmts[i]->kind == LOOP_LOCAL)
			v->local_open[block->stmts[i]->local] = false;
}

void verify_kernel(Arena *arena, const Program *program, const ProgramRoutine *routine,
		   const Kernel *kernel, LoopsFault *fault)
{
	Verify v = {.program = program, .fault = fault, .kernel = kernel, .routine = routine};
	v.iter_open = ARENA_ARRAY(arena, bool, kernel->niters + 1);
	v.local_open = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	v.around = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	v.outside = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	if (!kernel->name)
		verify_note(&v, "no name");
	v.not_alone = kernel->body.n != 1;
	check_block(&v, &kernel->body);
	arena_reset(arena);
}
