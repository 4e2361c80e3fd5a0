/* The rules of the grammar of loops.h for statements: what may stand in which loop. */
#include "loops/group.h"
#include "loops/linear.h"
#include "loops/multiple.h"
#include "loops/verify_gpu.h"
#include "loops/verify_walk.h"
#include "loops/walk.h"

static void check_block(Verify *v, const Block *block);

static void check_counting(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->iter < v->kernel->niters, "a loop over an unknown iterator");
	FAIL_UNLESS(v, !v->iter_open[stmt->iter], "a loop inside itself");
	FAIL_UNLESS(v, stmt->step > 0, "a loop that does not advance");
	verify_ix(v, stmt->lo);
	verify_ix(v, stmt->hi);
	FAIL_UNLESS(v, !v->vector, "a loop inside lanes");
}

static void check_body(Verify *v, const Stmt *stmt)
{
	bool before = v->not_alone;
	uint32_t nconds = v->nconds;
	const Stmt *around = v->loop;
	v->loop = stmt;
	v->nconds = stmt->loop == LOOP_SERIAL ? 0 : nconds;
	v->unrolled += stmt->loop == LOOP_UNROLL;
	v->nwarps += stmt->loop == LOOP_WARP;
	v->iter_open[stmt->iter] = true;
	v->vector = stmt->loop == LOOP_VECTOR ? stmt : NULL;
	v->not_alone = before || stmt->loop != LOOP_GRID || stmt->body.n != 1;
	check_block(v, &stmt->body);
	v->not_alone = before;
	v->vector = NULL;
	v->iter_open[stmt->iter] = false;
	v->nwarps -= stmt->loop == LOOP_WARP;
	v->unrolled -= stmt->loop == LOOP_UNROLL;
	v->nconds = nconds;
	v->loop = around;
}

static void check_for(Verify *v, const Stmt *stmt)
{
	check_counting(v, stmt);
	if (is_box_loop(stmt) && !v->fault->rule)
		verify_boxes(v, stmt);
	if (v->fault->rule)
		return;
	verify_loop_kind(v, stmt);
	if (v->fault->rule)
		return;
	check_body(v, stmt);
	v->nblocks -= stmt->loop == LOOP_BLOCK && v->nblocks > 0;
	v->outlined = v->outlined && !stmt->outlined;
	v->parallel = v->parallel && stmt->loop != LOOP_PARALLEL;
	if (stmt->loop == LOOP_MATRIX && !v->fault->rule)
		verify_matrix_loop(v, stmt);
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

/* Is the loop around one copy from neighbours to neighbours? */
static bool is_streamed(const Verify *v, const Stmt *stmt)
{
	Program *program = (Program *)v->program;
	const Stmt *loop = v->loop;
	return loop && loop->loop == LOOP_SERIAL && loop->step == 1 && loop->body.n == 1 &&
	       loop->body.stmts[0] == stmt && !v->nblocks && stmt->acc == OP_NONE &&
	       stmt->value->kind == VALUE_LOAD && stmt->value->buffer != stmt->buffer &&
	       ix_moves_by(program, stmt->ix, loop->iter, 1) &&
	       ix_moves_by(program, stmt->value->ix, loop->iter, 1);
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
	FAIL_UNLESS(v, !stmt->stream || is_streamed(v, stmt),
		    "a streaming store that is no copy in a loop of its own");
	FAIL_UNLESS(v, stmt->acc == OP_NONE || buffer->dtype == dtype_wide(buffer->dtype),
		    "an accumulation in a type of storage");
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
	case LOOP_WAIT: verify_wait(v, stmt); break;
	case LOOP_COPY: verify_copy(v, stmt); break;
	case LOOP_ARRIVE:
	case LOOP_AWAIT: verify_completion(v, stmt); break;
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
	v.not_alone = kernel->body.n != 1 && !grid_ahead(&kernel->body);
	check_block(&v, &kernel->body);
	arena_reset(arena);
}
