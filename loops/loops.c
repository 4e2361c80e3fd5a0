/* Constructors of values and statements. Constants are folded by op_eval, which is the meaning of
 * every operation, so that folding never changes a result; only small powers are products, whose
 * last bit may be another.
 */
#include "base/diag.h"
#include "base/room.h"
#include "base/size_eval.h"
#include "loops/rewrite.h"
#include "loops/build_group.h"
#include "loops/walk.h"

#include <string.h>

static Value *value_new(Arena *arena, ValueKind kind, Dtype dtype)
{
	Value *value = ARENA_NEW(arena, Value);
	value->kind = kind;
	value->dtype = dtype;
	return value;
}

Size bytes_aligned(Sizes *sizes, Size elements, Dtype dtype)
{
	Size bytes = size_room(sizes, elements, dtype);
	return size_scale(sizes, size_ceil(sizes, bytes, BUFFER_ALIGNMENT), BUFFER_ALIGNMENT);
}

bool buffer_stays(const Program *program, const Buffer *buffer)
{
	return buffer->kind == BUFFER_CONST || buffer->kind == BUFFER_PACKED ||
	       (buffer->kind == BUFFER_PARAM && !program->params.at[buffer->arg].changes);
}

void buffer_forget(Program *program, BufferId buffer)
{
	Buffer *b = &program->buffers.at[buffer];
	b->elements = b->offset = size_const(program->sizes, 0);
}

const ProgramRoutine *program_routine(const Program *program, uint32_t index)
{
	if (index < program->routines.n)
		return &program->routines.at[index];
	return index == program->routines.n ? &program->pack : &program->init;
}

void program_list_state_dims(Program *program)
{
	uint32_t ndims = sizes_ndims(program->sizes);
	bool *uses = ARENA_ARRAY(program->arena, bool, ndims + 1);
	for (uint32_t i = 0; i < program->init.ndims; i++)
		uses[program->init.dims[i]] = true;
	for (size_t i = 0; i < program->params.n; i++) {
		const TensorType *type = &program->params.at[i].type;
		for (uint32_t axis = 0; axis < type->nbatch + type->noutput + type->ninput; axis++)
			size_note_dims(program->sizes, type->sizes[axis], uses);
	}
	program->state_dims = ARENA_ARRAY(program->arena, DimId, ndims + 1);
	program->nstate_dims = 0;
	for (DimId d = 0; d < ndims; d++)
		if (uses[d])
			program->state_dims[program->nstate_dims++] = d;
}

const Value *value_load(Program *program, BufferId buffer, const Ix *ix)
{
	REQUIRE(buffer < program->buffers.n);
	Dtype dtype = dtype_alone(program->buffers.at[buffer].dtype);
	Value *value = value_new(program->arena, VALUE_LOAD, dtype);
	value->buffer = buffer;
	value->ix = ix;
	return value;
}

const Value *value_const(Arena *arena, Dtype dtype, Scalar constant)
{
	Value *value = value_new(arena, VALUE_CONST, dtype_alone(dtype));
	value->constant = constant;
	if (dtype == DTYPE_U4X32)
		value->constant.w[2] = value->constant.w[3] = 0;
	return value;
}

static bool is_number(const Value *value, double number)
{
	if (value->kind != VALUE_CONST)
		return false;
	return dtype_is_float(value->dtype) ? value->constant.f == number
					    : (double)value->constant.i == number;
}

bool value_is_zero(const Value *value)
{
	return value->dtype != DTYPE_U4X32 && is_number(value, 0);
}

/* The argument that x op 1 or 1 op x comes down to, exactly; NULL otherwise. */
static const Value *without_unit(Op op, const Value *const *args)
{
	if (op == OP_ID)
		return args[0];
	if ((op == OP_MUL || op == OP_DIV) && is_number(args[1], 1))
		return args[0];
	if (op == OP_MUL && is_number(args[0], 1))
		return args[1];
	return NULL;
}

/* x to the power 1, 2, 3 or, of floats, -1 by products, which are as exact as pow but for the cube,
 * which is rounded twice; NULL otherwise. */
static const Value *small_power(Arena *arena, Dtype dtype, const Value *const *args)
{
	const Value *x = args[0], *one = value_const(arena, dtype, scalar_of(dtype, 1));
	if (is_number(args[1], 1))
		return x;
	if (dtype_is_float(dtype) && is_number(args[1], -1))
		return value_op(arena, OP_DIV, dtype, (const Value *[]){one, x}, 2);
	if (!is_number(args[1], 2) && !is_number(args[1], 3))
		return NULL;
	const Value *square = value_op(arena, OP_MUL, dtype, (const Value *[]){x, x}, 2);
	if (is_number(args[1], 2))
		return square;
	return value_op(arena, OP_MUL, dtype, (const Value *[]){square, x}, 2);
}

const Value *value_op(Arena *arena, Op op, Dtype dtype, const Value *const *args, uint32_t nargs)
{
	REQUIRE(nargs >= 1 && nargs <= 3 && (int)nargs == op_arity(op));
	Scalar scalars[3];
	uint32_t nconsts = 0;
	for (uint32_t i = 0; i < nargs; i++) {
		REQUIRE(args[i]->dtype == dtype);
		scalars[i] = args[i]->constant;
		nconsts += args[i]->kind == VALUE_CONST;
	}
	if (nconsts == nargs && dtype != DTYPE_U4X32)
		return value_const(arena, dtype, op_eval(op, dtype, scalars));
	const Value *plain = without_unit(op, args);
	if (!plain && op == OP_POW)
		plain = small_power(arena, dtype, args);
	if (plain)
		return plain;
	Value *value = value_new(arena, VALUE_OP, dtype);
	value->op = op;
	value->nargs = nargs;
	memcpy(value->args, args, nargs * sizeof *args);
	return value;
}

const Value *value_far(Arena *arena, const Value *call)
{
	REQUIRE(call->kind == VALUE_OP);
	Value *value = value_new(arena, VALUE_FAR, DTYPE_I32);
	value->op = call->op;
	value->nargs = call->nargs;
	memcpy(value->args, call->args, call->nargs * sizeof *call->args);
	return value;
}

/* Of floats the nearest end where they lie outside, of integers their last four bits. */
static const Value *cast_to_packed(Arena *arena, Dtype dtype, const Value *from)
{
	bool clamps = dtype_is_float(from->dtype);
	int64_t least = op_neutral(OP_MAX, dtype).i, greatest = op_neutral(OP_MIN, dtype).i;
	const struct {
		Op op;
		int64_t by;
	} steps[] = {{clamps ? OP_MAX : OP_SUB, least},
		     {clamps ? OP_MIN : OP_MOD, clamps ? greatest : greatest - least + 1},
		     {OP_ADD, clamps ? 0 : least}};
	const Value *value = value_cast(arena, DTYPE_I32, from);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		const Value *by = value_const(arena, DTYPE_I32, (Scalar){.i = steps[i].by});
		if (!value_is_zero(by) || steps[i].op == OP_MAX)
			value = value_op(arena, steps[i].op, DTYPE_I32,
					 (const Value *[]){value, by}, 2);
	}
	return value_cast(arena, dtype_alone(dtype), value);
}

const Value *value_truth(const Value *value)
{
	while (value->kind == VALUE_CAST)
		value = value->args[0];
	return value->kind == VALUE_OP && value->op >= OP_LT && value->op <= OP_OR ? value : NULL;
}

const Value *value_cast(Arena *arena, Dtype dtype, const Value *from)
{
	if (from->dtype == dtype)
		return from;
	if (from->kind == VALUE_CONST)
		return value_const(arena, dtype,
				   scalar_convert(from->constant, from->dtype, dtype));
	if (dtype_is_packed(dtype))
		return cast_to_packed(arena, dtype, from);
	const Value *exact = value_exact_float(arena, dtype, from);
	if (exact)
		return exact;
	Value *value = value_new(arena, VALUE_CAST, dtype);
	value->args[0] = from;
	value->nargs = 1;
	return value;
}

Dtype buffer_stored(const Buffer *buffer)
{
	return dtype_is_packed(buffer->dtype) ? DTYPE_U8 : buffer->dtype;
}

const Value *value_key(Arena *arena, const Value *from)
{
	REQUIRE(from->dtype == DTYPE_F32 || from->dtype == DTYPE_F64);
	Dtype dtype = dtype_of_key(from->dtype);
	if (from->kind == VALUE_CONST)
		return value_const(arena, dtype, scalar_key(from->constant, from->dtype));
	Value *value = value_new(arena, VALUE_KEY, dtype);
	value->args[0] = from;
	value->nargs = 1;
	return value;
}

const Value *value_local(Arena *arena, const Kernel *kernel, LocalId local, const Ix *const *ixs,
			 uint32_t nixs)
{
	REQUIRE(local < kernel->nlocals && kernel->locals[local].rank == nixs);
	Value *value = value_new(arena, VALUE_LOCAL, kernel->locals[local].dtype);
	value->local = local;
	value->ixs = ixs;
	value->nixs = nixs;
	return value;
}

const Value *value_index(Arena *arena, Dtype dtype, const Ix *ix)
{
	REQUIRE(!dtype_is_packed(dtype));
	Value *value = value_new(arena, VALUE_INDEX, dtype);
	value->ix = ix;
	return value;
}

const Value *value_scalar(Arena *arena, Dtype dtype, uint32_t scalar)
{
	Value *value = value_new(arena, VALUE_SCALAR, dtype);
	value->scalar = scalar;
	return value;
}

static bool value_same_parts(const Value *a, const Value *b)
{
	if (a->nargs != b->nargs || a->nixs != b->nixs)
		return false;
	for (uint32_t i = 0; i < a->nargs; i++)
		if (!value_same(a->args[i], b->args[i]))
			return false;
	for (uint32_t i = 0; i < a->nixs; i++)
		if (!ix_same(a->ixs[i], b->ixs[i]))
			return false;
	return (!a->ix && !b->ix) || ix_same(a->ix, b->ix);
}

bool value_is_extreme(const Value *value, bool *least)
{
	if (value->kind != VALUE_OP || value->op != OP_WHERE)
		return false;
	const Value *is = value->args[0];
	if (is->kind != VALUE_OP || (is->op != OP_LT && is->op != OP_GT))
		return false;
	const Value *a = is->args[0], *b = is->args[1], *yes = value->args[1], *no = value->args[2];
	bool first = value_same(a, yes) && value_same(b, no);
	*least = (is->op == OP_LT) == first;
	return first || (value_same(a, no) && value_same(b, yes));
}

bool value_same(const Value *a, const Value *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || a->dtype != b->dtype || !value_same_parts(a, b))
		return false;
	switch (a->kind) {
	case VALUE_LOAD: return a->buffer == b->buffer;
	case VALUE_LOCAL: return a->local == b->local;
	case VALUE_CONST: return a->constant.i == b->constant.i;
	case VALUE_OP:
	case VALUE_FAR: return a->op == b->op && a->fast_path == b->fast_path;
	case VALUE_SCALAR: return a->scalar == b->scalar;
	default: return true;
	}
}

/* ---- statements ---- */

Block block_one(Arena *arena, const Stmt *stmt)
{
	const Stmt **stmts = ARENA_ARRAY(arena, const Stmt *, 1);
	stmts[0] = stmt;
	return (Block){stmts, 1};
}

Block body_block(const Body *body)
{
	return (Block){body->stmts.at, (uint32_t)body->stmts.n};
}

void body_append(Arena *arena, Body *body, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		PUSH(arena, body->stmts, block.stmts[i]);
}

Stmt *stmt_new(Arena *arena, LoopStmtKind kind)
{
	Stmt *stmt = ARENA_NEW(arena, Stmt);
	stmt->kind = kind;
	stmt->acc = OP_NONE;
	return stmt;
}

Stmt *stmt_for(Arena *arena, IterVar iter, const Ix *lo, const Ix *hi, Block body)
{
	Stmt *stmt = stmt_new(arena, LOOP_FOR);
	stmt->iter = iter;
	stmt->lo = lo;
	stmt->hi = hi;
	stmt->step = 1;
	stmt->body = body;
	return stmt;
}

Stmt *stmt_loop(Program *program, LoopKind kind, IterVar iter, int64_t extent, Block body)
{
	Arena *arena = program->arena;
	const Ix *lo = ix_const(program, 0), *hi = ix_const(program, extent);
	Stmt *stmt = stmt_for(arena, iter, lo, hi, body);
	stmt->loop = kind;
	return stmt;
}

Stmt *stmt_with(Arena *arena, const Stmt *stmt, Block body)
{
	Stmt *copy = ARENA_NEW(arena, Stmt);
	*copy = *stmt;
	copy->body = body;
	return copy;
}

Stmt *stmt_step(Arena *arena, const Stmt *loop, int64_t step)
{
	Stmt *stmt = stmt_with(arena, loop, loop->body);
	stmt->step = step;
	return stmt;
}

const Stmt *stmt_if(Arena *arena, const Cond *conds, uint32_t nconds, Block body)
{
	Stmt *stmt = stmt_new(arena, LOOP_IF);
	stmt->conds = conds;
	stmt->nconds = nconds;
	stmt->body = body;
	return stmt;
}

const Stmt *stmt_if_one(Arena *arena, Cond cond, Block body)
{
	Cond *copy = ARENA_NEW(arena, Cond);
	*copy = cond;
	return stmt_if(arena, copy, 1, body);
}

Stmt *stmt_local(Arena *arena, LocalId local, const Value *value)
{
	Stmt *stmt = stmt_new(arena, LOOP_LOCAL);
	stmt->local = local;
	stmt->value = value;
	return stmt;
}

Stmt *stmt_set(Arena *arena, LocalId local, Op acc, const Value *value)
{
	Stmt *stmt = stmt_new(arena, LOOP_SET);
	stmt->local = local;
	stmt->acc = acc;
	stmt->value = value;
	return stmt;
}

Stmt *stmt_set_at(Arena *arena, const Value *element, Op acc, const Value *value)
{
	Stmt *stmt = stmt_set(arena, element->local, acc, value);
	stmt->ixs = element->ixs;
	stmt->nixs = element->nixs;
	return stmt;
}

Stmt *stmt_store(Arena *arena, BufferId buffer, const Ix *ix, Op acc, const Value *value)
{
	Stmt *stmt = stmt_new(arena, LOOP_STORE);
	stmt->buffer = buffer;
	stmt->ix = ix;
	stmt->acc = acc;
	stmt->value = value;
	return stmt;
}

Stmt *stmt_store_as(Program *program, BufferId buffer, const Ix *ix, Op acc, const Value *value)
{
	Arena *arena = program->arena;
	Dtype dtype = program->buffers.at[buffer].dtype, wide = dtype_wide(dtype);
	if (acc != OP_NONE && dtype != wide) {
		const Value *old = value_cast(arena, wide, value_load(program, buffer, ix));
		value = value_binary(arena, acc, old, value_cast(arena, wide, value));
		acc = OP_NONE;
	}
	return stmt_store(arena, buffer, ix, acc, value_cast(arena, dtype, value));
}

Stmt *stmt_async(Arena *arena, BufferId buffer, const Ix *ix, const Value *load)
{
	Stmt *stmt = stmt_store(arena, buffer, ix, OP_NONE, load);
	stmt->async = true;
	return stmt;
}

const Stmt *stmt_commit(Arena *arena) { return stmt_new(arena, LOOP_COMMIT); }

const Stmt *stmt_wait(Arena *arena, int64_t pending)
{
	Stmt *stmt = stmt_new(arena, LOOP_WAIT);
	stmt->pending = pending;
	return stmt;
}

const Stmt *stmt_barrier(Arena *arena, bool cluster)
{
	Stmt *stmt = stmt_new(arena, LOOP_BARRIER);
	stmt->cluster = cluster;
	return stmt;
}

const Stmt *stmt_prefetch(Arena *arena, BufferId buffer, const Ix *ix, bool near)
{
	Stmt *stmt = stmt_new(arena, LOOP_PREFETCH);
	stmt->buffer = buffer;
	stmt->ix = ix;
	stmt->near = near;
	return stmt;
}

const Stmt *stmt_check(Program *program, const Ix *ix, const Ix *hi, CheckId check)
{
	Stmt *stmt = stmt_new(program->arena, LOOP_CHECK);
	stmt->lo = ix_const(program, 0);
	stmt->ix = ix;
	stmt->hi = hi;
	stmt->check = check;
	return stmt;
}

bool program_guard_holds(const Program *program, CheckId guard, const int64_t *dims)
{
	const Check *check = &program->checks.at[guard];
	int64_t a, b;
	if (!size_eval(program->sizes, check->a, dims, &a) ||
	    !size_eval(program->sizes, check->b, dims, &b))
		return false;
	switch (check->kind) {
	case CHECK_EQ: return a == b;
	case CHECK_GE: return a >= b;
	case CHECK_DIVIDES: return b != 0 && a % b == 0;
	case CHECK_INDEX: break;
	}
	BUG("a guard that is no relation of sizes");
}

/* ---- names ---- */

static bool iter_is_taken(const Program *program, const KernelIter *iters, size_t n, Sym name)
{
	for (size_t i = 0; i < n; i++)
		if (iters[i].name == name)
			return true;
	for (DimId d = 0; d < sizes_ndims(program->sizes); d++)
		if (sizes_dim(program->sizes, d)->name == name)
			return true;
	return false;
}

static Sym numbered(const Program *program, Sym name, uint64_t number)
{
	return number ? sym_printf(program->symbols, "%s%llu", name, (unsigned long long)number)
		      : name;
}

Sym iter_unique(const Program *program, const KernelIter *iters, size_t n, Sym name,
		uint64_t *taken)
{
	uint64_t none = 0;
	taken = taken ? taken : &none;
	while (iter_is_taken(program, iters, n, numbered(program, name, *taken)))
		(*taken)++;
	return numbered(program, name, *taken);
}

static bool local_is_taken(const KernelLocal *locals, size_t n, Sym name)
{
	for (size_t i = 0; i < n; i++)
		if (locals[i].name == name)
			return true;
	return false;
}

Sym local_unique(const Program *program, const KernelLocal *locals, size_t n, const char *name)
{
	Sym unique = sym_cstr(program->symbols, name);
	for (uint32_t same = 1; local_is_taken(locals, n, unique); same++)
		unique = sym_printf(program->symbols, "%s%u", name, same);
	return unique;
}
