/* The builder: tables of one program filled in as the calls come. */
#include "test/unit/small_program.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

static Arena *arena(SmallProgram *s)
{
	return s->program.arena;
}

static ProgramRoutine *routine(SmallProgram *s)
{
	return &s->program.routines.at[0];
}

void sp_target(SmallProgram *s, const char *march)
{
	Target *target = ARENA_NEW(arena(s), Target);
	REQUIRE(target_find(march, target));
	s->program.options.target = target;
}

void sp_init(SmallProgram *s)
{
	*s = (SmallProgram){.options = {.opt_level = 2, .strict_fp = true}};
	s->program.arena = arena_new();
	s->program.symbols = symbols_new();
	s->program.sizes = sizes_new(arena(s));
	sources_init(&s->sources, arena(s));
	s->program.sources = &s->sources;
	diags_init(&s->diags, arena(s), &s->sources);
	s->program.state = sp_const(s, 0);
	sp_target(s, "native");
	ProgramRoutine r = {.name = sym_cstr(s->program.symbols, "forward"),
			    .workspace = sp_const(s, 0)};
	PUSH(arena(s), s->program.routines, r);
}

void sp_free(SmallProgram *s)
{
	Arena *a = arena(s);
	symbols_free(s->program.symbols);
	arena_free(a);
}

int sp_setup(void **state)
{
	static SmallProgram s;
	sp_init(&s);
	*state = &s;
	return 0;
}

int sp_teardown(void **state)
{
	sp_free(*state);
	return 0;
}

Size sp_dim(SmallProgram *s, const char *name, int64_t at_least)
{
	ProgramRoutine *r = routine(s);
	DimId id = sizes_add_dim(s->program.sizes, (Dim){sym_cstr(s->program.symbols, name),
							 SPAN_NONE, at_least, false});
	DimId *dims = ARENA_ARRAY(arena(s), DimId, r->ndims + 1);
	if (r->ndims)
		memcpy(dims, r->dims, r->ndims * sizeof *dims);
	dims[r->ndims++] = id;
	r->dims = dims;
	return size_dim(s->program.sizes, id);
}

Size sp_const(SmallProgram *s, int64_t value)
{
	return size_const(s->program.sizes, value);
}

const Ix *sp_ix(SmallProgram *s, int64_t value) { return ix_const(&s->program, value); }

static TensorType tensor_type(SmallProgram *s, Dtype dtype, Size n)
{
	TensorType type = {.dtype = dtype, .noutput = 1};
	type.sizes = ARENA_ARRAY(arena(s), Size, 1);
	type.labels = ARENA_ARRAY(arena(s), Sym, 1);
	type.sizes[0] = n;
	type.text = arena_printf(arena(s), "%s [%s]", dtype_name(dtype),
				 size_text(arena(s), s->program.sizes, n));
	return type;
}

static BufferId add_buffer(SmallProgram *s, BufferKind kind, const char *name, TensorType type)
{
	Buffer buffer = {.kind = kind,
			 .name = sym_cstr(s->program.symbols, name),
			 .dtype = type.dtype,
			 .elements = type.sizes[0]};
	PUSH(arena(s), s->program.buffers, buffer);
	return (BufferId)s->program.buffers.n - 1;
}

static Buffer *buffer_at(SmallProgram *s, BufferId id)
{
	return &s->program.buffers.at[id];
}

static void add_arg(SmallProgram *s, TensorArg **args, uint32_t *n, TensorArg arg)
{
	TensorArg *more = ARENA_ARRAY(arena(s), TensorArg, *n + 1);
	if (*n)
		memcpy(more, *args, *n * sizeof *more);
	buffer_at(s, arg.buffer)->arg = *n;
	more[(*n)++] = arg;
	*args = more;
}

BufferId sp_input(SmallProgram *s, const char *name, Dtype dtype, Size n)
{
	TensorType type = tensor_type(s, dtype, n);
	BufferId id = add_buffer(s, BUFFER_INPUT, name, type);
	ProgramRoutine *r = routine(s);
	add_arg(s, &r->inputs, &r->ninputs, (TensorArg){.name = buffer_at(s, id)->name, .type = type, .buffer = id});
	return id;
}

BufferId sp_output(SmallProgram *s, const char *name, Dtype dtype, Size n)
{
	TensorType type = tensor_type(s, dtype, n);
	BufferId id = add_buffer(s, BUFFER_OUTPUT, name, type);
	ProgramRoutine *r = routine(s);
	add_arg(s, &r->outputs, &r->noutputs, (TensorArg){.name = buffer_at(s, id)->name, .type = type, .buffer = id});
	return id;
}

/* bytes rounded up to 64 */
static Size room(SmallProgram *s, Dtype dtype, Size n)
{
	Sizes *sizes = s->program.sizes;
	Size bytes = size_scale(sizes, n, (int64_t)dtype_bytes(dtype));
	return size_scale(sizes, size_ceil(sizes, bytes, 64), 64);
}

BufferId sp_temp(SmallProgram *s, const char *name, Dtype dtype, Size n)
{
	BufferId id = add_buffer(s, BUFFER_TEMP, name, tensor_type(s, dtype, n));
	ProgramRoutine *r = routine(s);
	buffer_at(s, id)->offset = r->workspace;
	r->workspace = size_add(s->program.sizes, r->workspace, room(s, dtype, n));
	return id;
}

BufferId sp_param(SmallProgram *s, const char *name, Size n, Size fan_in)
{
	TensorType type = tensor_type(s, DTYPE_F32, n);
	BufferId id = add_buffer(s, BUFFER_PARAM, name, type);
	buffer_at(s, id)->arg = (uint32_t)s->program.params.n;
	ProgramParam param = {.name = buffer_at(s, id)->name,
			      .type = type,
			      .offset = s->program.state,
			      .init = size_is(s->program.sizes, fan_in, 0) ? PARAM_CONSTANT
									   : PARAM_UNIFORM,
			      .value = 0.5,
			      .fan_in = fan_in,
			      .key = XXH64(name, strlen(name), 0),
			      .changes = true,
			      .buffer = id};
	PUSH(arena(s), s->program.params, param);
	s->program.state = size_add(s->program.sizes, s->program.state, room(s, DTYPE_F32, n));
	return id;
}

BufferId sp_blob(SmallProgram *s, const char *name, Dtype dtype, const void *bytes, int64_t n)
{
	TensorType type = tensor_type(s, dtype, sp_const(s, n));
	BufferId id = add_buffer(s, BUFFER_CONST, name, type);
	buffer_at(s, id)->arg = (uint32_t)s->program.consts.n;
	PUSH(arena(s), s->program.consts,
	     ((ProgramConst){buffer_at(s, id)->name, type, bytes, n, id}));
	return id;
}

uint32_t sp_scalar(SmallProgram *s, const char *name, Dtype dtype)
{
	ProgramRoutine *r = routine(s);
	ScalarParam *more = ARENA_ARRAY(arena(s), ScalarParam, r->nscalars + 1);
	if (r->nscalars)
		memcpy(more, r->scalars, r->nscalars * sizeof *more);
	more[r->nscalars] = (ScalarParam){sym_cstr(s->program.symbols, name), dtype, DIM_NONE};
	r->scalars = more;
	return r->nscalars++;
}

CheckId sp_check(SmallProgram *s, Check check, bool guard)
{
	ProgramRoutine *r = routine(s);
	CheckId id = (CheckId)s->program.checks.n;
	PUSH(arena(s), s->program.checks, check);
	if (!guard)
		return id;
	CheckId *more = ARENA_ARRAY(arena(s), CheckId, r->nguards + 1);
	if (r->nguards)
		memcpy(more, r->guards, r->nguards * sizeof *more);
	more[r->nguards++] = id;
	r->guards = more;
	return id;
}

/* ---- kernels ---- */

void sp_begin(SmallProgram *s, const char *name)
{
	s->kernel = (Kernel){.name = sym_cstr(s->program.symbols, name)};
	s->kernel.iters = ARENA_ARRAY(arena(s), KernelIter, 16);
	s->kernel.locals = ARENA_ARRAY(arena(s), KernelLocal, 16);
	memset(s->bodies, 0, sizeof s->bodies);
	s->depth = 0;
}

const Ix *sp_for(SmallProgram *s, const char *name, const Ix *hi)
{
	IterVar iter = s->kernel.niters++;
	s->kernel.iters[iter].name = sym_cstr(s->program.symbols, name);
	s->depth++;
	s->bodies[s->depth] = (Body){0};
	s->loops[s->depth].iter = iter;
	s->loops[s->depth].lo = sp_ix(s, 0);
	s->loops[s->depth].hi = hi;
	return ix_iter(arena(s), iter);
}

void sp_stmt(SmallProgram *s, const Stmt *stmt)
{
	PUSH(arena(s), s->bodies[s->depth].stmts, stmt);
}

void sp_close(SmallProgram *s)
{
	int d = s->depth--;
	sp_stmt(s, stmt_for(arena(s), s->loops[d].iter, s->loops[d].lo, s->loops[d].hi,
			    body_block(&s->bodies[d])));
}

LocalId sp_local(SmallProgram *s, const char *name, const Value *value)
{
	LocalId id = s->kernel.nlocals++;
	s->kernel.locals[id].name = sym_cstr(s->program.symbols, name);
	s->kernel.locals[id].dtype = value->dtype;
	sp_stmt(s, stmt_local(arena(s), id, value));
	return id;
}

void sp_end(SmallProgram *s)
{
	while (s->depth)
		sp_close(s);
	ProgramRoutine *r = routine(s);
	s->kernel.body = body_block(&s->bodies[0]);
	PUSH(arena(s), s->program.kernels, s->kernel);
	KernelId *more = ARENA_ARRAY(arena(s), KernelId, r->nkernels + 1);
	if (r->nkernels)
		memcpy(more, r->kernels, r->nkernels * sizeof *more);
	more[r->nkernels++] = (KernelId)s->program.kernels.n - 1;
	r->kernels = more;
}

const Ix *sp_add(SmallProgram *s, const Ix *a, const Ix *b)
{
	return ix_add(&s->program, a, b);
}

const Ix *sp_mul(SmallProgram *s, const Ix *a, const Ix *b)
{
	return ix_mul(&s->program, a, b);
}

const Value *sp_load(SmallProgram *s, BufferId buffer, const Ix *ix)
{
	return value_load(&s->program, buffer, ix);
}

const Value *sp_get(SmallProgram *s, LocalId local)
{
	return value_local(arena(s), &s->kernel, local, NULL, 0);
}

const Value *sp_op(SmallProgram *s, Op op, const Value *a, const Value *b, const Value *c)
{
	const Value *args[] = {a, b, c};
	return value_op(arena(s), op, a->dtype, args, (uint32_t)op_arity(op));
}

const Value *sp_number(SmallProgram *s, Dtype dtype, double value)
{
	return value_const(arena(s), dtype, scalar_of(dtype, value));
}

void sp_store(SmallProgram *s, BufferId buffer, const Ix *ix, Op acc, const Value *value)
{
	sp_stmt(s, stmt_store(arena(s), buffer, ix, acc, value));
}

Emit sp_emit(SmallProgram *s, const char *output)
{
	return (Emit){.program = &s->program,
		      .arena = arena(s),
		      .diags = &s->diags,
		      .options = &s->options,
		      .prefix = "small",
		      .source = "small.tsr",
		      .output = output,
		      .name = "small.so"};
}

int status_in_child(int (*check)(const Program *program), const Program *program)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(check(program));
	}
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
