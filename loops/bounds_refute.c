/* Indices that leave their buffers, found by running loops.
 *
 * What is not shown to be inside may be outside: the kernel's loops are run at some sizes that the
 * guards let through, each at its first and last iterations alone, and the indices compared with
 * their extents. What depends on elements that are read is left out. One that is outside is a fault of
 * who made the loops.
 */
#include <inttypes.h>

#include "base/diag.h"
#include "base/size_eval.h"
#include "loops/bounds.h"
#include "loops/walk.h"

enum { STEPS = 10000, TRIES = 48, EQUAL_TRIES = 12 };

static const int64_t numbers[] = {1,   2, 3, 5,	 7,  8,	 16, 17, 33,   64, 100,
				  129, 4, 9, 15, 31, 32, 48, 65, 1000, 0,  12};
enum { NNUMBERS = sizeof numbers / sizeof numbers[0] };

typedef struct Run {
	const Program *program;
	const Kernel *kernel;
	KernelId id;
	const IndexUses *uses;	   /* NULL: whether a check fails is asked */
	VEC(const Stmt *) entered; /* loops and conditions in which there is one of the uses */
	Arena *arena;
	const int64_t *dims;
	int64_t *iters, *locals;
	bool *known; /* by LocalId: its value is */
	bool *set;   /* by LocalId: a statement changes it, so that it is never known */
	int steps;
	bool refused;	   /* a check has failed, or an index is outside */
	LoopsFault *fault; /* where, and how */
} Run;

static bool value_of(const Run *r, const Ix *ix, int64_t *out);

static bool scalar_value(const Run *r, const Value *value, int64_t *out)
{
	switch (value->kind) {
	case VALUE_CAST:
		return dtype_is_integer(value->args[0]->dtype) &&
		       dtype_bytes(value->dtype) > dtype_bytes(value->args[0]->dtype) &&
		       scalar_value(r, value->args[0], out);
	case VALUE_CONST: *out = value->constant.i; return dtype_is_integer(value->dtype);
	case VALUE_INDEX: return value->dtype == DTYPE_I64 && value_of(r, value->ix, out);
	case VALUE_LOCAL:
		*out = r->locals[value->local];
		return value->nixs == 0 && r->known[value->local];
	default: return false;
	}
}

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* false: it depends on what is read, or is beyond 64 bits. */
static bool value_of(const Run *r, const Ix *ix, int64_t *out)
{
	int64_t a, b;
	if (ix->kind == IX_SIZE)
		return size_eval(r->program->sizes, ix->size, r->dims, out);
	if (ix->kind == IX_ITER) {
		*out = r->iters[ix->iter];
		return true;
	}
	if (ix->kind == IX_VALUE)
		return scalar_value(r, ix->value, out);
	if (!value_of(r, ix->a, &a) || !value_of(r, ix->b, &b))
		return false;
	switch (ix->kind) {
	case IX_ADD: return !__builtin_add_overflow(a, b, out);
	case IX_MUL: return !__builtin_mul_overflow(a, b, out);
	case IX_MIN: *out = a < b ? a : b; return true;
	case IX_MAX: *out = a > b ? a : b; return true;
	default: break;
	}
	if (b <= 0)
		return false;
	*out = ix->kind == IX_DIV ? floor_of(a, b) : a - b * floor_of(a, b);
	return true;
}

static void tell(Run *r, const IndexUse *use, int64_t at, int64_t extent)
{
	Arena *arena = r->program->arena;
	const Sizes *sizes = r->program->sizes;
	const char *where = "", *name = r->program->buffers.at[use->buffer].name;
	if (use->local != LOCAL_NONE)
		name = r->kernel->locals[use->local].name;
	for (DimId d = 0; d < sizes_ndims(sizes); d++)
		where = arena_printf(arena, "%s, %s = %" PRId64, where, sizes_dim(sizes, d)->name,
				     r->dims[d]);
	const char *rule = arena_printf(arena,
					"an index of %s is %" PRId64 ", outside [0, %" PRId64 ")%s",
					name, at, extent, where);
	if (!r->fault->rule)
		*r->fault = (LoopsFault){r->kernel, use->stmt, rule};
	r->refused = true;
}

static bool conds_hold(Run *r, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		const Cond *cond = &stmt->conds[i];
		int64_t a, b;
		if (!value_of(r, cond->a, &a) || !value_of(r, cond->b, &b) ||
		    !(cond->kind == COND_LT   ? a < b
		      : cond->kind == COND_LE ? a <= b
					      : a == b))
			return false;
	}
	return true;
}

static void see_stmt(Run *r, const Stmt *stmt)
{
	for (size_t i = 0; i < r->uses->n; i++) {
		const IndexUse *use = &r->uses->at[i];
		int64_t at, extent;
		if (use->kernel != r->id || use->stmt != stmt || !value_of(r, use->ix, &at) ||
		    !size_eval(r->program->sizes, use->extent, r->dims, &extent))
			continue;
		if (at < 0 || at >= extent)
			tell(r, use, at, extent);
	}
}

static void run_block(Run *r, Block block);

static void run_loop(Run *r, const Stmt *loop)
{
	int64_t lo, hi;
	if (!value_of(r, loop->lo, &lo) || !value_of(r, loop->hi, &hi) || lo >= hi)
		return;
	int64_t last = lo + (hi - lo - 1) / loop->step * loop->step;
	r->iters[loop->iter] = lo;
	if (loop->nslots)
		r->iters[loop->slot] = 0;
	run_block(r, loop->body);
	r->iters[loop->iter] = last;
	if (loop->nslots)
		r->iters[loop->slot] = last < loop->nslots ? last : loop->nslots - 1;
	if (last > lo)
		run_block(r, loop->body);
}

static void run_if(Run *r, const Stmt *stmt)
{
	if (conds_hold(r, stmt))
		run_block(r, stmt->body);
}

static bool is_looked_for(const Run *r, const Stmt *stmt)
{
	for (size_t i = 0; r->uses && i < r->uses->n; i++)
		if (r->uses->at[i].kernel == r->id && r->uses->at[i].stmt == stmt)
			return true;
	return stmt->kind == LOOP_CHECK;
}

static bool find_entered(Run *r, Block block)
{
	bool found = false;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool inside = find_entered(r, stmt->body);
		if (stmt->kind == LOOP_SET)
			r->set[stmt->local] = true;
		if (inside || is_looked_for(r, stmt))
			PUSH(r->arena, r->entered, stmt);
		found |= inside || is_looked_for(r, stmt);
	}
	return found;
}

static bool is_entered(const Run *r, const Stmt *stmt)
{
	for (size_t i = 0; i < r->entered.n; i++)
		if (r->entered.at[i] == stmt)
			return true;
	return false;
}

static bool fails(const Run *r, const Stmt *check)
{
	int64_t lo, hi, at;
	return value_of(r, check->lo, &lo) && value_of(r, check->hi, &hi) &&
	       value_of(r, check->ix, &at) && (at < lo || at >= hi);
}

static void run_block(Run *r, Block block)
{
	for (uint32_t i = 0; i < block.n && --r->steps > 0; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind != LOOP_IF && r->uses && conds_hold(r, stmt))
			see_stmt(r, stmt);
		if (stmt->kind == LOOP_CHECK)
			r->refused |= fails(r, stmt);
		if (r->refused)
			return;
		if (stmt->kind == LOOP_FOR && is_entered(r, stmt))
			run_loop(r, stmt);
		if (stmt->kind == LOOP_IF && is_entered(r, stmt))
			run_if(r, stmt);
		if (stmt->kind == LOOP_LOCAL)
			r->known[stmt->local] =
				!r->set[stmt->local] &&
				scalar_value(r, stmt->value, &r->locals[stmt->local]);
	}
}

/* All alike first, then mixed. */
static bool choose_dims(const Program *program, const ProgramRoutine *routine, int trial,
			int64_t *dims)
{
	uint32_t seed = (uint32_t)trial;
	for (DimId d = 0; d < sizes_ndims(program->sizes); d++) {
		int64_t least = sizes_dim(program->sizes, d)->at_least;
		seed = seed * 1664525 + 1013904223;
		dims[d] = numbers[trial < EQUAL_TRIES ? (uint32_t)trial : (seed >> 8) % NNUMBERS];
		if (dims[d] < least)
			dims[d] = least;
	}
	for (size_t i = 1; i < program->loops.n; i++) { /* outer ones first */
		const ProgramLoop *loop = &program->loops.at[i];
		int64_t count = 1;
		if (!size_eval(program->sizes, loop->count, dims, &count) || count <= 0)
			return false; /* it has no step */
		dims[loop->step] %= count;
	}
	for (uint32_t i = 0; i < routine->nguards; i++)
		if (!program_guard_holds(program, routine->guards[i], dims))
			return false;
	return true;
}

/* uses: NULL: to see whether a check fails. */
static void run_kernel(Run *r, KernelId id, const IndexUses *uses)
{
	Arena *arena = arena_new();
	r->kernel = &r->program->kernels.at[id];
	r->id = id;
	r->uses = uses;
	r->iters = ARENA_ARRAY(arena, int64_t, r->kernel->niters + 1);
	r->locals = ARENA_ARRAY(arena, int64_t, r->kernel->nlocals + 1);
	r->known = ARENA_ARRAY(arena, bool, r->kernel->nlocals + 1);
	r->set = ARENA_ARRAY(arena, bool, r->kernel->nlocals + 1);
	r->arena = arena;
	r->entered.at = NULL;
	r->entered.n = r->entered.cap = 0;
	r->steps = STEPS;
	find_entered(r, r->kernel->body);
	run_block(r, r->kernel->body);
	arena_free(arena);
}

void bounds_refute(const Program *program, const ProgramRoutine *routine, const IndexUses *uses,
		   KernelId id, LoopsFault *fault)
{
	Arena *arena = arena_new();
	int64_t *dims = ARENA_ARRAY(arena, int64_t, sizes_ndims(program->sizes) + 1);
	int tries = sizes_ndims(program->sizes) ? TRIES : 1;
	VEC(KernelId) checking = {0}; /* before it, which may end the routine */
	for (uint32_t i = 0; routine->kernels[i] != id; i++)
		if (block_find(program->kernels.at[routine->kernels[i]].body, stmt_is_check, NULL))
			PUSH(arena, checking, routine->kernels[i]);
	for (int trial = 0; trial < tries && !fault->rule; trial++) {
		Run r = {.program = program, .dims = dims, .fault = fault};
		if (!choose_dims(program, routine, trial, dims))
			continue;
		for (size_t i = 0; i < checking.n && !r.refused; i++)
			run_kernel(&r, checking.at[i], NULL);
		if (!r.refused)
			run_kernel(&r, id, uses);
	}
	arena_free(arena);
}
