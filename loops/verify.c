/* The checker of the loop IR: every rule of the grammar in loops.h, in all builds. A violation is a
 * bug of a pass, reported with the kernel's name.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/bounds.h"
#include "loops/linear.h"
#include "loops/steps.h"
#include "loops/walk.h"

enum { UNROLL_LIMIT = 1024 };
enum { BLOCK_AXES = 3 };
enum { DEPTH_LIMIT = 1000 }; /* of a value or an index: back ends walk them recursively */

typedef struct Verify {
	const Program *program;
	LoopsFault *fault; /* the first that was found */
	const Kernel *kernel;
	const Stmt *stmt; /* at hand */
	const ProgramRoutine *routine;
	bool *iter_open;  /* by IterVar: inside its loop */
	const Stmt *vector; /* the LOOP_VECTOR around; NULL: none */
	bool parallel;      /* inside a LOOP_PARALLEL */
	bool *outside;      /* by LocalId: declared in front of it */
	uint32_t unrolled;  /* loops around that are written out */
	bool outlined;	    /* inside a loop that is a function */
	const Stmt *blocks[BLOCK_AXES]; /* loops of a block around, the outermost first */
	uint32_t nblocks;
	bool apart;	    /* the statement at hand is no GRID loop's, nor its kernel's, alone */
	bool *around;	    /* by LocalId: declared in front of it */
	bool *local_open; /* by LocalId: after its declaration, in its block */
	int depth;
} Verify;

static void note_fault(const Verify *v, const char *rule)
{
	if (!v->fault->rule)
		*v->fault = (LoopsFault){v->kernel, v->stmt, rule};
}

/* Leaves the function at a fault, or after one: what comes behind may not be there. */
#define FAIL_UNLESS(v, cond, text)                                                                 \
	do {                                                                                       \
		if ((v)->fault->rule)                                                              \
			return;                                                                    \
		if (!(cond)) {                                                                     \
			note_fault(v, text);                                                       \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static void check_value(Verify *v, const Value *value);

static void check_ix(Verify *v, const Ix *ix)
{
	FAIL_UNLESS(v, ix, "an index is missing");
	FAIL_UNLESS(v, ++v->depth < DEPTH_LIMIT, "an expression is too deep");
	switch (ix->kind) {
	case IX_SIZE: FAIL_UNLESS(v, !size_is_bad(ix->size), "a bad size"); break;
	case IX_ITER:
		FAIL_UNLESS(v, ix->iter < v->kernel->niters, "an unknown iterator");
		FAIL_UNLESS(v, v->iter_open[ix->iter], "an iterator outside its loop");
		break;
	case IX_VALUE:
		check_value(v, ix->value);
		FAIL_UNLESS(v, dtype_is_integer(ix->value->dtype), "an index that is no integer");
		FAIL_UNLESS(v, ix->reads, "an index that hides what it reads");
		break;
	default:
		check_ix(v, ix->a);
		check_ix(v, ix->b);
		FAIL_UNLESS(v, ix->reads == (ix->a->reads || ix->b->reads),
			    "an index that hides what it reads");
	}
	v->depth--;
}

/* Inside a LOOP_VECTOR bytes may be read in groups of four, bf16 in groups of two. */
static bool is_group_step(const Verify *v, const Value *load)
{
	Program *program = (Program *)v->program;
	int64_t group = load->dtype == DTYPE_BF16 ? 2 : 4;
	Dtype stored = program->buffers.at[load->buffer].dtype;
	return v->vector && (stored == DTYPE_BF16 || dtype_is_byte(stored)) &&
	       size_is(program->sizes, ix_stride(program, load->ix, v->vector->iter), group);
}

/* Inside a LOOP_VECTOR an index moves by 0 or 1 a lane, of buffers by up to LANES_APART. */
static void check_lanes(const Verify *v, const Ix *ix, int64_t most)
{
	Program *program = (Program *)v->program;
	int64_t step = 0;
	if (v->fault->rule || !v->vector || !ix_uses(ix, v->vector->iter))
		return;
	Size stride = ix_stride(program, ix, v->vector->iter);
	bool known = size_is_const(program->sizes, stride, &step);
	FAIL_UNLESS(v, known && step >= 1 && step <= most, "an index that is no step of a lane");
}

/* Is the local read by lanes that each have an index of their own: acc[lane/8, lane%8]? */
static bool is_gathered(const Verify *v, const Ix *const *ixs, uint32_t nixs)
{
	for (uint32_t i = 0; i < nixs; i++)
		if (v->vector && ix_uses(ixs[i], v->vector->iter) && ix_divides(ixs[i]))
			return true;
	return false;
}

/* Of each thread of a block: the first indices are those of the loops around. */
static void check_private(const Verify *v, LocalId id, const Ix *const *ixs)
{
	const KernelLocal *local = &v->kernel->locals[id];
	bool own = local->nthreads == 0 || local->nthreads == v->nblocks;
	for (uint32_t i = 0; own && i < local->nthreads; i++)
		own = ixs[i]->kind == IX_ITER && ixs[i]->iter == v->blocks[i]->iter &&
		      size_is(v->program->sizes, v->blocks[i]->hi->size, local->extent[i]);
	FAIL_UNLESS(v, own, "a local of another thread of the block");
}

/* Lanes run along the last axis; along the first of a local that is read turned. */
static void check_local_use(Verify *v, LocalId local, const Ix *const *ixs, uint32_t nixs,
			    bool read)
{
	bool turned = read && v->vector && nixs == 2 && !ix_uses(ixs[1], v->vector->iter);
	bool gathered = read && is_gathered(v, ixs, nixs);
	FAIL_UNLESS(v, local < v->kernel->nlocals, "an unknown local");
	FAIL_UNLESS(v, v->local_open[local], "a local outside its block");
	FAIL_UNLESS(v, !v->parallel || !v->outside[local], "a local of another thread");
	FAIL_UNLESS(v, !v->outlined || !v->around[local], "a local of another function");
	FAIL_UNLESS(v, v->kernel->locals[local].rank == nixs, "a local with a wrong rank");
	check_private(v, local, ixs);
	for (uint32_t i = 0; i < nixs; i++) {
		check_ix(v, ixs[i]);
		if (!gathered)
			check_lanes(v, ixs[i], i + 1 == nixs || turned);
	}
}

static bool is_own(const Buffer *buffer)
{
	return buffer->kind != BUFFER_PARAM && buffer->kind != BUFFER_CONST &&
	       buffer->kind != BUFFER_PACKED;
}

/* Does the routine see the buffer? */
static bool check_buffer(const Verify *v, BufferId id)
{
	bool known = id < v->program->buffers.n;
	const Buffer *buffer = known ? &v->program->buffers.at[id] : NULL;
	bool other = known && v->routine && is_own(buffer) &&
		     program_routine(v->program, buffer->routine) != v->routine;
	if (!known || other)
		note_fault(v, known ? "a buffer of another routine" : "an unknown buffer");
	return known && !other;
}

static void check_op(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->op < OP_NONE && (int)value->nargs == op_arity(value->op),
		    "an operation with a wrong number of arguments");
	FAIL_UNLESS(v, value->dtype == dtype_wide(value->dtype), "an operation in a type of storage");
	bool words = value->op == OP_THREEFRY || value->op == OP_ZIP || value->op == OP_TURN;
	FAIL_UNLESS(v, words == (value->dtype == DTYPE_U4X32), "arithmetic on words");
	for (uint32_t i = 0; i < value->nargs; i++)
		FAIL_UNLESS(v, value->args[i] && value->args[i]->dtype == value->dtype,
			    "an operation over mixed types");
}

static void check_far(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->op < OP_NONE && (int)value->nargs == op_arity(value->op),
		    "an operation with a wrong number of arguments");
	FAIL_UNLESS(v, value->dtype == DTYPE_I32, "an answer of another type");
	for (uint32_t i = 0; i < value->nargs; i++)
		FAIL_UNLESS(v,
			    value->args[i] && dtype_is_float(value->args[i]->dtype) &&
				    value->args[i]->dtype == value->args[0]->dtype,
			    "far arguments of no float");
}

/* Words are made of integers, and become f32. */
static void check_cast(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->nargs == 1, "a cast of nothing");
	Dtype from = value->args[0]->dtype, to = value->dtype;
	FAIL_UNLESS(v, to != DTYPE_U4X32 || dtype_is_integer(from), "words of no integer");
	FAIL_UNLESS(v, from != DTYPE_U4X32 || to == DTYPE_F32, "words that become no f32");
}

static void check_key(const Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value->nargs == 1, "a key of nothing");
	Dtype from = value->args[0]->dtype;
	FAIL_UNLESS(v, from == DTYPE_F32 || from == DTYPE_F64, "a key of neither f32 nor f64");
	FAIL_UNLESS(v, value->dtype == dtype_of_key(from), "a key of another type");
}

static void check_value(Verify *v, const Value *value)
{
	FAIL_UNLESS(v, value, "a value is missing");
	FAIL_UNLESS(v, value->dtype < DTYPE_COUNT && !dtype_is_packed(value->dtype),
		    "a value without a type");
	FAIL_UNLESS(v, ++v->depth < DEPTH_LIMIT, "an expression is too deep");
	switch (value->kind) {
	case VALUE_LOAD:
		if (!check_buffer(v, value->buffer))
			return;
		FAIL_UNLESS(v,
			    dtype_alone(v->program->buffers.at[value->buffer].dtype) == value->dtype,
			    "a load of another type");
		check_ix(v, value->ix);
		if (!v->fault->rule && !is_group_step(v, value))
			check_lanes(v, value->ix, LANES_APART);
		break;
	case VALUE_LOCAL:
		check_local_use(v, value->local, value->ixs, value->nixs, true);
		FAIL_UNLESS(v, v->kernel->locals[value->local].dtype == value->dtype,
			    "a local of another type");
		break;
	case VALUE_CONST: break;
	case VALUE_OP: check_op(v, value); break;
	case VALUE_FAR: check_far(v, value); break;
	case VALUE_CAST: check_cast(v, value); break;
	case VALUE_KEY: check_key(v, value); break;
	case VALUE_INDEX: check_ix(v, value->ix); break;
	case VALUE_SCALAR:
		if (v->routine) {
			FAIL_UNLESS(v, value->scalar < v->routine->nscalars, "an unknown scalar");
			FAIL_UNLESS(v, v->routine->scalars[value->scalar].dtype == value->dtype,
				    "a scalar of another type");
		}
		break;
	}
	for (uint32_t i = 0; i < value->nargs && !v->fault->rule; i++)
		check_value(v, value->args[i]);
	v->depth--;
}

static void check_block(Verify *v, const Block *block);

/* Does the block hold the loop, in no other? */
static bool is_at_top(const Block *top, const Stmt *loop)
{
	bool found = false;
	for (uint32_t i = 0; i < top->n && !found; i++)
		found = top->stmts[i] == loop || (top->stmts[i]->kind == LOOP_IF &&
						  is_at_top(&top->stmts[i]->body, loop));
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
	FAIL_UNLESS(v, !v->apart, "a loop of a grid beside or inside another statement");
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
	v->blocks[v->nblocks++] = stmt;
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
	check_ix(v, stmt->lo);
	check_ix(v, stmt->hi);
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
	v->iter_open[stmt->iter] = true;
	v->vector = stmt->loop == LOOP_VECTOR ? stmt : NULL;
	bool apart = v->apart;
	v->apart = apart || stmt->loop != LOOP_GRID || stmt->body.n != 1;
	check_block(v, &stmt->body);
	v->nblocks -= stmt->loop == LOOP_BLOCK && v->nblocks > 0;
	v->apart = apart;
	v->vector = NULL;
	v->unrolled -= stmt->loop == LOOP_UNROLL;
	v->outlined = v->outlined && !stmt->outlined;
	v->parallel = v->parallel && stmt->loop != LOOP_PARALLEL;
	v->iter_open[stmt->iter] = false;
	if (stmt->nslots)
		v->iter_open[stmt->slot] = false;
}

static void check_if(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, !v->vector, "a condition inside lanes");
	FAIL_UNLESS(v, stmt->nconds > 0, "a condition is missing");
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		check_ix(v, stmt->conds[i].a);
		check_ix(v, stmt->conds[i].b);
	}
	bool apart = v->apart;
	v->apart = true;
	check_block(v, &stmt->body);
	v->apart = apart;
}

static void check_local(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->local < v->kernel->nlocals, "an unknown local");
	FAIL_UNLESS(v, !v->local_open[stmt->local], "a local declared twice");
	const KernelLocal *local = &v->kernel->locals[stmt->local];
	FAIL_UNLESS(v, local->rank <= 4, "a local with too many axes");
	FAIL_UNLESS(v, !v->vector || local->rank == 0, "a local with axes inside lanes");
	for (uint32_t i = 0; i < local->rank; i++)
		FAIL_UNLESS(v, local->extent[i] > 0, "an empty local");
	FAIL_UNLESS(v, local->nthreads <= local->rank && (!local->nthreads || !v->nblocks),
		    "a local of each thread inside a loop of a block");
	check_value(v, stmt->value);
	FAIL_UNLESS(v, stmt->value->dtype == local->dtype, "a local set to another type");
	v->local_open[stmt->local] = true;
}

static void check_acc(Verify *v, Op acc)
{
	FAIL_UNLESS(v, acc == OP_NONE || (acc < OP_NONE && op_arity(acc) == 2),
		    "an accumulation by an operation without two arguments");
}

static void check_store(Verify *v, const Stmt *stmt)
{
	if (!check_buffer(v, stmt->buffer))
		return;
	const Buffer *buffer = &v->program->buffers.at[stmt->buffer];
	FAIL_UNLESS(v, buffer->kind != BUFFER_INPUT && buffer->kind != BUFFER_CONST,
		    "a store into what is read only");
	FAIL_UNLESS(v,
		    buffer->kind != BUFFER_PACKED || !v->routine || v->routine == &v->program->pack,
		    "a store into a copy of a parameter");
	FAIL_UNLESS(v, !dtype_is_packed(buffer->dtype), "a store of half a byte");
	bool first = !v->routine || v->routine == &v->program->init;
	FAIL_UNLESS(v,
		    buffer->kind != BUFFER_PARAM || v->program->params.at[buffer->arg].changes ||
			    (first && v->program->params.at[buffer->arg].init == PARAM_COMPUTED),
		    "a store into a parameter that does not change");
	check_acc(v, stmt->acc);
	check_ix(v, stmt->ix);
	FAIL_UNLESS(v, !v->vector || ix_uses(stmt->ix, v->vector->iter),
		    "one cell stored by all lanes");
	check_lanes(v, stmt->ix, stmt->acc == OP_NONE ? LANES_APART : 1);
	check_value(v, stmt->value);
	FAIL_UNLESS(v, stmt->value->dtype == buffer->dtype, "a store of another type");
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
		check_local_use(v, stmt->local, stmt->ixs, stmt->nixs, false);
		check_acc(v, stmt->acc);
		check_value(v, stmt->value);
		FAIL_UNLESS(v, stmt->value->dtype == v->kernel->locals[stmt->local].dtype,
			    "a local set to another type");
		break;
	case LOOP_STORE: check_store(v, stmt); break;
	case LOOP_CHECK:
		FAIL_UNLESS(v, !v->vector && !v->parallel && !v->outlined,
			    "a check inside lanes, chunks or a function");
		FAIL_UNLESS(v, stmt->check < v->program->checks.n, "an unknown check");
		check_ix(v, stmt->lo);
		check_ix(v, stmt->ix);
		check_ix(v, stmt->hi);
		break;
	case LOOP_PREFETCH:
		FAIL_UNLESS(v, !v->vector, "a prefetch inside lanes");
		check_buffer(v, stmt->buffer);
		check_ix(v, stmt->ix);
		break;
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

static void check_kernel(Arena *arena, const Program *program, const ProgramRoutine *routine,
			 const Kernel *kernel, LoopsFault *fault)
{
	Verify v = {.program = program, .fault = fault, .kernel = kernel, .routine = routine};
	v.iter_open = ARENA_ARRAY(arena, bool, kernel->niters + 1);
	v.local_open = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	v.around = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	v.outside = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	if (!kernel->name)
		note_fault(&v, "no name");
	v.apart = kernel->body.n != 1;
	check_block(&v, &kernel->body);
	arena_reset(arena);
}

static void check_args(const Program *program, const TensorArg *args, uint32_t n, BufferKind kind)
{
	for (uint32_t i = 0; i < n; i++) {
		REQUIRE(args[i].buffer < program->buffers.n);
		const Buffer *buffer = &program->buffers.at[args[i].buffer];
		REQUIRE(buffer->kind == kind && buffer->arg == i);
		REQUIRE(buffer->dtype == args[i].type.dtype);
	}
}

/* A temporary that a kernel loads is stored by a kernel before it, or by itself, but for one
 * without elements. */
static void check_order(Arena *arena, const Program *program, const ProgramRoutine *routine,
			LoopsFault *fault)
{
	bool *stored = ARENA_ARRAY(arena, bool, program->buffers.n + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		BufferUses uses = kernel_buffers(arena, kernel);
		for (size_t u = 0; u < uses.n; u++)
			stored[uses.at[u].buffer] |= uses.at[u].stored;
		for (size_t u = 0; u < uses.n; u++) {
			const Buffer *buffer = &program->buffers.at[uses.at[u].buffer];
			if (buffer->kind == BUFFER_TEMP && !stored[uses.at[u].buffer] &&
			    !size_is(program->sizes, buffer->elements, 0) && !fault->rule)
				*fault = (LoopsFault){
					kernel, NULL,
					"a temporary is read that no kernel has stored yet"};
		}
	}
	arena_reset(arena);
}

static bool is_temporary_of(const Program *program, const ProgramRoutine *routine, BufferId buffer)
{
	const Buffer *b = &program->buffers.at[buffer];
	return b->kind == BUFFER_TEMP && !b->shared &&
	       program_routine(program, b->routine) == routine;
}

static void check_loop(const Program *program, const ProgramRoutine *routine, const Kernel *kernel,
		       uint32_t number, LoopsFault *fault)
{
	const ProgramLoop *loop = &program->loops.at[number];
	const char *rule = NULL;
	REQUIRE(loop->parent < number && sizes_dim(program->sizes, loop->step)->counts);
	if (size_is_bad(loop->count) && (loop->scalar >= routine->nscalars ||
					 !dtype_is_integer(routine->scalars[loop->scalar].dtype)))
		rule = "the steps of a loop are counted by what is no integer scalar";
	for (uint32_t k = 0; k < loop->nexchanges; k++) {
		const BufferPair *pair = &loop->exchanges[k];
		const Buffer *a = &program->buffers.at[pair->a], *b = &program->buffers.at[pair->b];
		if (!is_temporary_of(program, routine, pair->a) ||
		    !is_temporary_of(program, routine, pair->b) || a == b || a->dtype != b->dtype ||
		    !size_same(a->elements, b->elements))
			rule = "what changes places is no pair of temporaries of one size and type";
	}
	if (loop->until != BUFFER_NONE &&
	    (!is_temporary_of(program, routine, loop->until) ||
	     program->buffers.at[loop->until].dtype != DTYPE_I32 ||
	     !size_is(program->sizes, program->buffers.at[loop->until].elements, 1)))
		rule = "what ends a loop is no temporary of one i32";
	if (rule)
		*fault = (LoopsFault){kernel, NULL, rule};
}

/* Kernels of a loop are neighbours, and no others are between; what ends it is one i32 of the routine. */
static void check_loops(Arena *arena, const Program *program, const ProgramRoutine *routine,
			LoopsFault *fault)
{
	bool *left = ARENA_ARRAY(arena, bool, program->loops.n + 1);
	uint32_t before = 0;
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		REQUIRE(kernel->loop == 0 || kernel->loop < program->loops.n);
		for (uint32_t loop = before; loop; loop = program->loops.at[loop].parent)
			left[loop] |= !program_loop_in(program, kernel->loop, loop);
		for (uint32_t loop = kernel->loop; loop; loop = program->loops.at[loop].parent)
			if (left[loop] && !fault->rule)
				*fault = (LoopsFault){kernel, NULL,
						      "a kernel is in a loop that has ended"};
		before = kernel->loop;
	}
	for (uint32_t i = 0; i < routine->nkernels && !fault->rule; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		for (uint32_t loop = kernel->loop; loop && !fault->rule;
		     loop = program->loops.at[loop].parent)
			check_loop(program, routine, kernel, loop, fault);
	}
}

static void check_routine(Arena *arena, const Program *program, const ProgramRoutine *routine,
			  LoopsFault *fault)
{
	check_args(program, routine->inputs, routine->ninputs, BUFFER_INPUT);
	check_args(program, routine->outputs, routine->noutputs, BUFFER_OUTPUT);
	for (uint32_t i = 0; i < routine->nguards; i++)
		REQUIRE(routine->guards[i] < program->checks.n);
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		REQUIRE(routine->kernels[i] < program->kernels.n);
		check_kernel(arena, program, routine, &program->kernels.at[routine->kernels[i]],
			     fault);
	}
	if (!fault->rule)
		check_order(arena, program, routine, fault);
	if (!fault->rule)
		check_loops(arena, program, routine, fault);
	REQUIRE(!program->placed || !size_is_bad(routine->workspace));
}

static void check_tables(const Program *program)
{
	for (size_t i = 0; i < program->buffers.n; i++) {
		const Buffer *buffer = &program->buffers.at[i];
		REQUIRE(buffer->name && buffer->dtype < DTYPE_COUNT &&
			!size_is_bad(buffer->elements));
		bool shared = buffer->kind == BUFFER_PARAM || buffer->kind == BUFFER_CONST ||
			      buffer->kind == BUFFER_PACKED;
		REQUIRE(shared || buffer->routine < program->routines.n + 2);
		bool placed = buffer->kind == BUFFER_TEMP || buffer->kind == BUFFER_PACKED;
		REQUIRE(!program->placed || !placed || !size_is_bad(buffer->offset));
		REQUIRE(buffer->kind != BUFFER_PACKED ||
			(buffer->arg < program->params.n &&
			 !program->params.at[buffer->arg].changes));
	}
	for (size_t i = 0; i < program->params.n; i++) {
		REQUIRE(program->params.at[i].buffer < program->buffers.n);
		REQUIRE(program->buffers.at[program->params.at[i].buffer].arg == i);
	}
	for (size_t i = 0; i < program->consts.n; i++) {
		REQUIRE(program->consts.at[i].buffer < program->buffers.n);
		REQUIRE(program->buffers.at[program->consts.at[i].buffer].arg == i);
	}
}

/* The names of all kernels in one table: a repetition would clash in the object file. */
static void check_names(Arena *arena, const Program *program)
{
	Symbols *names = symbols_new();
	size_t n = 0, cap = 64;
	while (cap < 2 * program->kernels.n)
		cap *= 2;
	Sym *table = ARENA_ARRAY(arena, Sym, cap);
	for (; n < program->kernels.n; n++) {
		Sym name = sym_cstr(names, program->kernels.at[n].name);
		size_t slot = ((uintptr_t)name >> 4) & (cap - 1);
		while (table[slot] && table[slot] != name)
			slot = (slot + 1) & (cap - 1);
		if (table[slot])
			BUG("two kernels named %s", program->kernels.at[n].name);
		table[slot] = name;
	}
	symbols_free(names);
}

/* Every kernel as one of each routine that runs it; those that none does for themselves. */
static void check_kernels(Arena *arena, const Program *program, LoopsFault *fault)
{
	bool *seen = ARENA_ARRAY(arena, bool, program->kernels.n + 1);
	Arena *scratch = arena_new();
	for (uint32_t r = 0; r < program->routines.n + 2; r++) {
		const ProgramRoutine *routine = program_routine(program, r);
		if (r >= program->routines.n && routine->nkernels == 0)
			continue;
		check_routine(scratch, program, routine, fault);
		for (uint32_t i = 0; i < routine->nkernels; i++)
			seen[routine->kernels[i]] = true;
	}
	for (size_t i = 0; i < program->kernels.n; i++)
		if (!seen[i])
			check_kernel(scratch, program, NULL, &program->kernels.at[i], fault);
	arena_free(scratch);
}

LoopsFault loops_grammar_fault(const Program *program)
{
	LoopsFault fault = {0};
	Arena *arena = arena_new();
	check_tables(program);
	check_kernels(arena, program, &fault);
	check_names(arena, program);
	arena_free(arena);
	return fault;
}

LoopsFault loops_fault(const Program *program)
{
	LoopsFault fault = loops_grammar_fault(program);
	Arena *arena = arena_new();
	if (!fault.rule)
		bounds_unshown(arena, program, &fault);
	arena_free(arena);
	return fault;
}

static void fail_at(LoopsFault fault)
{
	if (fault.rule)
		BUG("kernel %s: %s", fault.kernel->name, fault.rule);
}

void loops_verify_grammar(const Program *program) { fail_at(loops_grammar_fault(program)); }
void loops_verify(const Program *program) { fail_at(loops_fault(program)); }
