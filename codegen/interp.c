/* The oracle: runs the loops of a routine directly, one element at a time, exactly as loops/loops.h
 * defines them. Every temporary has memory of its own: places in the workspace are the compiler's
 * claim, which is tested. Every other back end is compared with this one; read it to learn the loop
 * IR.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/held.h"
#include "codegen/interp_race.h"
#include "loops/fragment.h"
#include "loops/steps.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"

static void run_block(Interp *in, const Block *block);

/* One thread of a block after another; of loops that hold each other the inner one is faster. */
static void run_threads(Interp *in, const Stmt *stmt)
{
	int64_t n = interp_ix(in, stmt->hi);
	int32_t around = race_thread(in->race, 0);
	for (int64_t i = 0; i < n && !in->code; i++) {
		in->iters[stmt->iter] = i;
		race_thread(in->race, (int32_t)((around ? around - 1 : 0) * n + i + 1));
		run_block(in, &stmt->body);
	}
	race_thread(in->race, around);
}

static float element_of(Interp *in, const Value *value) { return (float)interp_value(in, value).f; }

/* Tensor cores add the terms of one instruction at once. */
static void run_product(Interp *in, const Stmt *loop)
{
	WarpNest nest;
	const char *rule = warp_nest((Program *)in->program, in->kernel, NULL, loop, &nest);
	if (rule)
		BUG("kernel %s: %s", in->kernel->name, rule);
	const Value *const *factors = nest.set->value->args;
	const MatrixRow *matrix = matrix_row(nest.op);
	for (int64_t i = 0; i < matrix->m; i++)
		for (int64_t j = 0; j < matrix->n; j++) {
			double products[MATRIX_K_MOST];
			in->iters[nest.row->iter] = i;
			in->iters[nest.column->iter] = j;
			for (int64_t k = 0; k < matrix->k; k++) {
				in->iters[nest.step->iter] = k;
				products[k] = (double)element_of(in, factors[0]) *
					      (double)element_of(in, factors[1]);
			}
			Scalar *sum =
				interp_local(in, nest.set->local, nest.set->ixs, nest.set->nixs);
			sum->f = (double)matrix_sum((float)sum->f, products, (int)matrix->k);
		}
	in->steps -= (int64_t)matrix->m * matrix->n * matrix->k;
}

static void run_for(Interp *in, const Stmt *stmt)
{
	int64_t lo = interp_ix(in, stmt->lo), hi = interp_ix(in, stmt->hi);
	bool grid = stmt->loop == LOOP_GRID, parallel = stmt->loop == LOOP_PARALLEL || grid;
	bool first = parallel && !in->race; /* a grid may have several loops */
	if (first)
		in->race = race_start(in, in->kernel);
	for (int64_t i = lo; i < hi && !in->code; i += stmt->step) {
		in->iters[stmt->iter] = i;
		if (parallel)
			race_iteration(in->race);
		if (stmt->loop == LOOP_CLUSTER)
			race_block(in->race, (int32_t)i + 1);
		/* as if as many threads as there are slots took turns; as if one block did */
		if (stmt->nslots)
			in->iters[stmt->slot] = grid ? in->turn++ : i % stmt->nslots;
		run_block(in, &stmt->body);
	}
	if (stmt->loop == LOOP_CLUSTER)
		race_block(in->race, 0);
	if (first) {
		race_end(in->race);
		in->race = NULL;
	}
}

static bool holds(Interp *in, const Cond *cond)
{
	int64_t a = interp_ix(in, cond->a), b = interp_ix(in, cond->b);
	switch (cond->kind) {
	case COND_LT: return a < b;
	case COND_LE: return a <= b;
	case COND_EQ: return a == b;
	}
	BUG("a condition of kind %d", (int)cond->kind);
}

static bool conds_hold(Interp *in, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++)
		if (!holds(in, &stmt->conds[i]))
			return false;
	return true;
}

static void run_if(Interp *in, const Stmt *stmt)
{
	if (conds_hold(in, stmt))
		run_block(in, &stmt->body);
}

static size_t local_elements(const KernelLocal *local)
{
	size_t n = 1;
	for (uint32_t i = 0; i < local->rank; i++)
		n *= local->extent[i];
	return n;
}

static void run_local(Interp *in, const Stmt *stmt)
{
	Scalar value = interp_value(in, stmt->value);
	size_t n = local_elements(&in->kernel->locals[stmt->local]);
	for (size_t i = 0; i < n; i++)
		in->locals[stmt->local][i] = value;
}

/* What a statement stores where `before` was. */
static Scalar accumulated(Interp *in, const Stmt *stmt, Scalar before)
{
	Scalar sum;
	if (stmt->acc == OP_NONE)
		return interp_value(in, stmt->value);
	if (in->exact && interp_exact_sum(in, stmt->acc, NULL, stmt->value, before, &sum))
		return sum;
	return interp_op(stmt->acc, stmt->value->dtype,
			 (Scalar[]){before, interp_value(in, stmt->value)});
}

static void run_set(Interp *in, const Stmt *stmt)
{
	Scalar *place = interp_local(in, stmt->local, stmt->ixs, stmt->nixs);
	*place = accumulated(in, stmt, *place);
	const KernelLocal *local = &in->kernel->locals[stmt->local];
	bool operand = local->role == ROLE_A || local->role == ROLE_B;
	if (operand && matrix_row(local->matrix)->format == FORMAT_TF32)
		place->f = (double)matrix_tf32((float)place->f);
}

/* ---- copies that come when they are waited for ---- */

typedef struct Copy {
	BufferId buffer;
	int64_t at, group;
	Scalar value;
	BufferId mbarrier; /* of a box: comes when this completion is awaited; BUFFER_NONE */
	int64_t visit;
} Copy;

typedef struct InterpCopies {
	VEC(Copy) pending; /* in order */
	int64_t group;	   /* that copies are of; those before are committed */
} InterpCopies;

static Scalar nothing(Dtype dtype)
{
	return dtype_is_float(dtype) ? (Scalar){.f = (double)NAN} : (Scalar){.i = -1};
}

/* Until then there is nothing in the place. */
static void start_copy(Interp *in, const Stmt *stmt, int64_t at, Scalar value)
{
	InterpCopies *copies = in->copies;
	Copy copy = {stmt->buffer, at, copies->group, value, BUFFER_NONE, 0};
	if (stmt->kind == LOOP_COPY) {
		copy.mbarrier = stmt->mbarrier;
		copy.visit = interp_ix(in, stmt->visit);
	}
	PUSH(in->arena, copies->pending, copy);
	interp_store(in, stmt->buffer, at, nothing(stmt->value->dtype));
}

/* Where the window at hand begins along the axis; `window`: its number, then that of the axes behind. */
static int64_t window_begin(Interp *in, const Stmt *stmt, uint32_t i, int64_t *window)
{
	const TensorAxis *axis = &stmt->axes[i];
	int64_t windows = interp_size(in, axis->windows), place = *window;
	if (i + 1 < stmt->naxes && windows > 0) {
		place %= windows;
		*window /= windows;
	}
	return axis->low + place * axis->step;
}

/* The element of the tensor at a number of the box, or 0. */
static Scalar box_element(Interp *in, const Stmt *stmt, int64_t number)
{
	int64_t from = 0, window = 0;
	if (stmt->window)
		window = interp_ix(in, stmt->window) + number / stmt->axes[0].box;
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		const TensorAxis *axis = &stmt->axes[i];
		int64_t at = interp_ix(in, axis->at);
		at += axis->step ? window_begin(in, stmt, i, &window) : number % axis->box;
		if (at < 0 || at >= interp_size(in, axis->extent))
			return (Scalar){.f = 0};
		from += at * interp_size(in, axis->stride);
		number /= axis->box;
	}
	race_touch(in->race, stmt->value->buffer, from, false);
	return interp_load(in, stmt->value->buffer, from);
}

static void run_copy(Interp *in, const Stmt *stmt)
{
	int64_t first = interp_ix(in, stmt->ix), n = 1;
	for (uint32_t i = 0; i < stmt->naxes; i++)
		n *= stmt->axes[i].box;
	bool rounds = stmt->value->dtype == DTYPE_F32; /* as TMA does, to tf32 */
	for (int64_t k = 0; k < n; k++) {
		Scalar element = box_element(in, stmt, k);
		if (rounds)
			element.f = (double)matrix_tf32((float)element.f);
		start_copy(in, stmt, first + k, element);
	}
	in->steps -= n;
}

static void run_await(Interp *in, const Stmt *stmt)
{
	InterpCopies *copies = in->copies;
	int64_t visit = interp_ix(in, stmt->visit);
	size_t left = 0;
	for (size_t i = 0; i < copies->pending.n; i++) {
		Copy *copy = &copies->pending.at[i];
		if (copy->mbarrier == stmt->mbarrier && copy->visit == visit)
			interp_store(in, copy->buffer, copy->at, copy->value);
		else
			copies->pending.at[left++] = *copy;
	}
	copies->pending.n = left;
}

static void run_wait(Interp *in, int64_t but)
{
	InterpCopies *copies = in->copies;
	size_t left = 0;
	for (size_t i = 0; i < copies->pending.n; i++) {
		Copy *copy = &copies->pending.at[i];
		if (copy->mbarrier == BUFFER_NONE && copy->group < copies->group - but)
			interp_store(in, copy->buffer, copy->at, copy->value);
		else
			copies->pending.at[left++] = *copy;
	}
	copies->pending.n = left;
}

static void run_store(Interp *in, const Stmt *stmt)
{
	int64_t at = interp_ix(in, stmt->ix);
	Scalar value = {.i = 0}, before = {.i = 0};
	if (stmt->acc != OP_NONE)
		before = interp_load(in, stmt->buffer, at);
	if (conds_hold(in, stmt))
		value = accumulated(in, stmt, before);
	if (stmt->async)
		start_copy(in, stmt, at, value);
	else
		interp_store(in, stmt->buffer, at, value);
	race_touch(in->race, stmt->buffer, at, true);
}

static void run_check(Interp *in, const Stmt *stmt)
{
	int64_t index = interp_ix(in, stmt->ix);
	if (index < interp_ix(in, stmt->lo) || index >= interp_ix(in, stmt->hi))
		in->code = INTERP_CHECK_FIRST + (int)stmt->check;
}

static void run_block(Interp *in, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !in->code; i++) {
		const Stmt *stmt = block->stmts[i];
		if (in->steps-- <= 0) {
			in->code = INTERP_TOO_MUCH;
			return;
		}
		switch (stmt->kind) {
		case LOOP_FOR:
			if (stmt->loop == LOOP_BLOCK)
				run_threads(in, stmt);
			else if (is_warp_product(stmt))
				run_product(in, stmt);
			else
				run_for(in, stmt);
			break;
		case LOOP_IF: run_if(in, stmt); break;
		case LOOP_LOCAL: run_local(in, stmt); break;
		case LOOP_SET: run_set(in, stmt); break;
		case LOOP_STORE: run_store(in, stmt); break;
		case LOOP_CHECK: run_check(in, stmt); break;
		case LOOP_PREFETCH: break;
		case LOOP_BARRIER: race_barrier(in->race, stmt->cluster); break;
		case LOOP_COMMIT: in->copies->group++; break;
		case LOOP_WAIT:
			if (!stmt->products)
				run_wait(in, stmt->pending);
			break;
		case LOOP_COPY: run_copy(in, stmt); break;
		case LOOP_ARRIVE: break;
		case LOOP_AWAIT: run_await(in, stmt); break;
		}
	}
}

static void run_kernel(Interp *in, const Kernel *kernel)
{
	in->kernel = kernel;
	in->iters = ARENA_ARRAY(in->arena, int64_t, kernel->niters + 1);
	in->locals = ARENA_ARRAY(in->arena, Scalar *, kernel->nlocals + 1);
	for (uint32_t i = 0; i < kernel->nlocals; i++)
		in->locals[i] = ARENA_ARRAY(in->arena, Scalar, local_elements(&kernel->locals[i]));
	in->copies = ARENA_NEW(in->arena, InterpCopies);
	in->turn = 0;
	bool alone = !grid_loop(&kernel->body) && block_threads(in->program->sizes, kernel);
	in->race = alone ? race_start(in, kernel) : NULL;
	race_iteration(in->race);
	run_block(in, &kernel->body);
	race_end(in->race);
	in->race = NULL;
}

/* ---- the frame of a routine ---- */

static void run_guards(Interp *in, const ProgramRoutine *routine)
{
	for (uint32_t i = 0; i < routine->ndims && !in->code; i++) {
		DimId dim = routine->dims[i];
		if (in->dims[dim] < 0 ||
		    in->dims[dim] < sizes_dim(in->program->sizes, dim)->at_least)
			in->code = INTERP_BAD_DIM;
	}
	for (uint32_t i = 0; i < routine->nguards && !in->code; i++)
		if (!program_guard_holds(in->program, routine->guards[i], in->dims))
			in->code = INTERP_CHECK_FIRST + (int)routine->guards[i];
}

static void *buffer_bytes(Interp *in, const Buffer *buffer, const InterpArgs *args)
{
	const Program *program = in->program;
	switch (buffer->kind) {
	case BUFFER_INPUT: return (void *)args->inputs[buffer->arg];
	case BUFFER_OUTPUT: return args->outputs[buffer->arg];
	case BUFFER_CONST: return (void *)program->consts.at[buffer->arg].bytes;
	case BUFFER_PACKED:
		return args->state ? (char *)args->state + interp_size(in, buffer->offset) : NULL;
	case BUFFER_PARAM:
		return args->state ? (char *)args->state +
					     interp_size(in, program->params.at[buffer->arg].offset)
				   : NULL;
	case BUFFER_TEMP: break;
	}
	BUG("a buffer of kind %d", (int)buffer->kind);
}

/* Memory for a temporary that nothing else uses, whatever its place in the workspace is; NULL:
 * there is none. */
static void *temp_bytes(Interp *in, const Buffer *buffer)
{
	REQUIRE(!dtype_is_packed(buffer->dtype));
	size_t bytes =
		(size_t)interp_size(in, buffer->elements) * (size_t)dtype_bytes(buffer->dtype);
	void *memory = bytes <= (size_t)in->bytes ? held_alloc(bytes + 1, 1) : NULL;
	in->bytes -= memory ? (int64_t)bytes : 0;
	if (!memory)
		in->code = bytes > (size_t)in->bytes ? INTERP_TOO_MUCH : INTERP_NO_MEMORY;
	else
		memset(memory, 0xa5, bytes); /* what is not written first shows */
	return memory;
}

/* Fills in the buffers that the routine's kernels touch: other routines may have dims that are not
 * given. */
static void place_buffers(Interp *in, const ProgramRoutine *routine, const InterpArgs *args)
{
	const Program *program = in->program;
	for (uint32_t k = 0; k < routine->nkernels; k++) {
		BufferUses uses =
			kernel_buffers(in->arena, &program->kernels.at[routine->kernels[k]]);
		for (size_t i = 0; i < uses.n; i++) {
			BufferId id = uses.at[i].buffer;
			const Buffer *buffer = &program->buffers.at[id];
			in->buffers[id].elements = interp_size(in, buffer->elements);
			if (buffer->kind != BUFFER_TEMP)
				in->buffers[id].bytes = buffer_bytes(in, buffer, args);
			else if (!in->buffers[id].bytes)
				in->buffers[id].bytes = temp_bytes(in, buffer);
		}
	}
}

static void free_temps(Interp *in)
{
	for (size_t i = 0; i < in->program->buffers.n; i++)
		if (in->program->buffers.at[i].kind == BUFFER_TEMP)
			held_free(in->buffers[i].bytes);
}

static const char *code_text(const Program *program, int code)
{
	if (code >= INTERP_CHECK_FIRST)
		return program->checks.at[code - INTERP_CHECK_FIRST].text;
	return code == INTERP_BAD_DIM ? "a dim is negative or below its declared minimum" : NULL;
}

/* ---- loops of a routine ---- */

static void run_kernels(Interp *in, const ProgramRoutine *routine, uint32_t from, uint32_t to,
			uint32_t outer);

/* What was computed of sizes may be another in the next step. */
static void set_step(Interp *in, DimId step, int64_t value)
{
	in->dims[step] = value;
	memset(in->known, 0, in->nsizes * sizeof *in->known);
	interp_indexes_forget(in->indexes);
}

static bool ends(const Interp *in, const ProgramLoop *loop)
{
	return loop->until != BUFFER_NONE && interp_load(in, loop->until, 0).i != 0;
}

static int64_t count_steps(Interp *in, const ProgramLoop *loop)
{
	int64_t most = interp_size(in, loop->count);
	int64_t made = loop->made == BUFFER_NONE ? most : interp_load(in, loop->made, 0).i;
	return made < most ? made : most;
}

static void run_loop(Interp *in, const ProgramRoutine *routine, uint32_t from, uint32_t to,
		     uint32_t number)
{
	const ProgramLoop *loop = &in->program->loops.at[number];
	int64_t n = count_steps(in, loop);
	for (int64_t step = 0; step < n && !in->code; step++) {
		set_step(in, loop->step, loop->down ? n - 1 - step : step);
		run_kernels(in, routine, from, to, number);
		for (uint32_t i = 0; i < loop->nexchanges; i++) {
			InterpBuffer *a = &in->buffers[loop->exchanges[i].a];
			InterpBuffer *b = &in->buffers[loop->exchanges[i].b], held = *a;
			*a = *b;
			*b = held;
		}
		if (!in->code && ends(in, loop))
			break;
	}
}

static void run_kernels(Interp *in, const ProgramRoutine *routine, uint32_t from, uint32_t to,
			uint32_t outer)
{
	const Program *program = in->program;
	for (uint32_t i = from; i < to && !in->code; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		uint32_t loop = program_loop_right_in(program, kernel->loop, outer);
		if (!loop) {
			run_kernel(in, kernel);
			continue;
		}
		uint32_t end = program_loop_end(program, routine, i, loop);
		run_loop(in, routine, i, end, loop);
		i = end - 1;
	}
}

static void run_routine(Interp *in, const ProgramRoutine *routine, const InterpArgs *args)
{
	run_guards(in, routine);
	if (in->code)
		return;
	place_buffers(in, routine, args);
	run_kernels(in, routine, 0, routine->nkernels, 0);
	free_temps(in);
}

int interp_run(const Program *program, uint32_t routine, const InterpArgs *args)
{
	enum { SIZES_CACHED = 1 << 16 };
	Interp in = {.program = program, .scalars = args->scalars};
	in.steps = args->most_steps ? args->most_steps : INT64_MAX;
	in.bytes = args->most_bytes ? args->most_bytes : INT64_MAX;
	in.arena = arena_new();
	in.exact = args->exact ? interp_exact_new(in.arena, program, args->exact) : NULL;
	in.dims = ARENA_ARRAY(in.arena, int64_t, sizes_ndims(program->sizes) + 1);
	if (args->dims)
		memcpy(in.dims, args->dims, sizes_nargs(program->sizes) * sizeof *in.dims);
	const ProgramRoutine *of = program_routine(program, routine);
	for (uint32_t i = 0; i < of->nscalars; i++)
		if (of->scalars[i].dim != DIM_NONE)
			in.dims[of->scalars[i].dim] = args->scalars[i].i;
	in.nsizes = SIZES_CACHED;
	in.sizes = ARENA_ARRAY(in.arena, int64_t, in.nsizes);
	in.known = ARENA_ARRAY(in.arena, bool, in.nsizes);
	in.indexes = interp_indexes_new(in.arena);
	in.buffers = ARENA_ARRAY(in.arena, InterpBuffer, program->buffers.n + 1);
	run_routine(&in, of, args);
	if (in.code > 0 && args->message)
		*args->message = code_text(program, in.code);
	arena_free(in.arena);
	return in.code;
}
