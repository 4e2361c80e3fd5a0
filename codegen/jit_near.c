/* Loops of functions with a short form for most arguments (math_near.c), which has no branches
 * where the long one looks into tables or calls the C library.
 *
 *   for i in lo..hi: y[i] = sin(x[i])           for strip in lo..hi step 512
 *                                                 far = 0
 *                                                 for i in strip..min(strip + 512, hi): far |= is_far(x[i])
 *                                                 if (!far) for i in strip..: y[i] = near_sin(x[i])
 *                                                 if (far) for i in strip..: y[i] = sin(x[i])
 *
 * Both forms give the same bits, so it does not matter which other arguments an argument meets in
 * its strip.
 */
#include <math.h>

#include "codegen/gaps.h"
#include "codegen/jit_kernel.h"
#include "codegen/jit_math.h"
#include "loops/build.h"

typedef struct Near {
	KernelJit *k;
	const Stmt *store; /* of the body; NULL: not met yet */
	bool *late;	   /* by LocalId: of the body, and computed from such functions */
	bool found, fits;
} Near;

static bool is_call(const Value *value)
{
	return value->kind == VALUE_OP && math_has_near(value->op, value->dtype);
}

/* A number of random words, which is below 1, times a constant. */
bool jit_is_near(const Value *value)
{
	if (!is_call(value) || value->nargs != 1 || value->args[0]->kind != VALUE_OP)
		return false;
	const Value *product = value->args[0], *number = product->args[0];
	return product->op == OP_MUL && number->kind == VALUE_CAST &&
	       number->args[0]->dtype == DTYPE_U4X32 && product->args[1]->kind == VALUE_CONST &&
	       fabs(product->args[1]->constant.f) < 1024;
}

/* Looks for calls; may their arguments be computed before the body runs? */
static void see(Near *n, const Value *value, bool argument)
{
	bool call = is_call(value);
	if (argument) {
		bool moved = value->kind == VALUE_LOAD && value->buffer == n->store->buffer &&
			     !ix_same(value->ix, n->store->ix);
		bool late = value->kind == VALUE_LOCAL && n->late[value->local];
		n->fits &= !call && !moved && !late && !value->nixs;
	}
	n->found |= call;
	for (uint32_t i = 0; i < value->nargs; i++)
		see(n, value->args[i], argument || call);
}

static bool has_call(const Value *value)
{
	bool has = is_call(value);
	for (uint32_t i = 0; i < value->nargs && !has; i++)
		has = has_call(value->args[i]);
	return has;
}

/* Locals of one element, then one store. */
static bool fits(KernelJit *k, const Stmt *loop)
{
	Block body = loop->body;
	Near n = {.k = k, .fits = true};
	int64_t trips = constant_trips(k->program, loop);
	if (loop->step != 1 || (trips >= 0 && trips < k->f.jit->target->near_trips) ||
	    body.stmts[body.n - 1]->kind != LOOP_STORE)
		return false;
	n.store = body.stmts[body.n - 1];
	n.late = ARENA_ARRAY(k->f.jit->arena, bool, k->kernel->nlocals + 1);
	for (uint32_t i = 0; i < body.n; i++) {
		const Stmt *stmt = body.stmts[i];
		bool local = stmt->kind == LOOP_LOCAL && k->kernel->locals[stmt->local].rank == 0 &&
			     !k->registers[stmt->local].used;
		if (!local && stmt != n.store)
			return false;
		see(&n, stmt->value, false);
		if (local)
			n.late[stmt->local] = has_call(stmt->value);
	}
	return n.found && n.fits;
}

/* far |= whether an argument of a call in the value is */
static void scan_value(KernelJit *k, Lvalue *far, const Value *value)
{
	JitFunction *f = &k->f;
	for (uint32_t i = 0; i < value->nargs; i++)
		scan_value(k, far, value->args[i]);
	if (!is_call(value))
		return;
	Rvalue *args[2];
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = jit_kernel_value(k, value->args[i]);
	MathFunction fn = math_is_far(f->jit->arena, value->op, value->dtype);
	Rvalue *is_far = jit_math_steps(f, &fn, args);
	jit_set(f, far,
		jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_OR, gcc_jit_lvalue_as_rvalue(far), is_far));
}

static void scan_body(KernelJit *k, Lvalue *far, Block body)
{
	for (uint32_t i = 0; i < body.n; i++) {
		bool calls = has_call(body.stmts[i]->value);
		pointer_map_clear(&k->values);
		if (calls)
			scan_value(k, far, body.stmts[i]->value);
		else if (body.stmts[i]->kind == LOOP_LOCAL)
			jit_kernel_block(k, (Block){body.stmts + i, 1});
	}
	pointer_map_clear(&k->values);
}

typedef struct Strip {
	const Stmt *loop;
	Rvalue *first, *last;
	Lvalue *far; /* to be found out; NULL: known */
} Strip;

static void strip_loop(KernelJit *k, const Strip *strip)
{
	JitLoop loop = jit_loop(&k->f, k->iters[strip->loop->iter], strip->first, strip->last, 1);
	jit_kernel_forget(k);
	if (strip->far)
		scan_body(k, strip->far, strip->loop->body);
	else
		jit_kernel_block(k, strip->loop->body);
	jit_kernel_forget(k);
	jit_end_loop(&k->f, &loop);
}

static void strip_code(KernelJit *k, Strip strip)
{
	JitFunction *f = &k->f;
	Type *type = f->jit->types[DTYPE_I32];
	Rvalue *zero = jit_long(f->jit, type, 0);
	strip.far = jit_local(f, type, "far");
	jit_set(f, strip.far, zero);
	strip_loop(k, &strip);
	Rvalue *far = jit_keep(f, gcc_jit_lvalue_as_rvalue(strip.far));
	strip.far = NULL;
	for (int near = 1; near >= 0; near--) {
		enum gcc_jit_comparison op = near ? GCC_JIT_COMPARISON_EQ : GCC_JIT_COMPARISON_NE;
		JitBlock *after = jit_if(f, jit_compare(f, op, far, zero));
		f->near = near;
		strip_loop(k, &strip);
		f->near = false;
		jit_end_if(f, after);
	}
}

bool jit_near_loop(KernelJit *k, const Stmt *loop)
{
	JitFunction *f = &k->f;
	Jit *jit = f->jit;
	if (jit->module->emit->options->strict_fp || loop->body.n == 0 || !fits(k, loop))
		return false;
	Rvalue *lo = jit_keep(f, jit_kernel_ix(k, loop->lo)),
	       *hi = jit_keep(f, jit_kernel_ix(k, loop->hi));
	Lvalue *at = jit_local(f, jit->i64, "strip");
	int64_t step = jit->target->near_strip;
	JitLoop strips = jit_loop(f, at, lo, hi, step);
	Rvalue *first = jit_keep(f, gcc_jit_lvalue_as_rvalue(at));
	Rvalue *last = jit_keep(
		f, jit_binary(f, GCC_JIT_BINARY_OP_PLUS, first, jit_long(jit, jit->i64, step)));
	last = jit_select(f, jit_compare(f, GCC_JIT_COMPARISON_LT, last, hi), last, hi);
	strip_code(k, (Strip){.loop = loop, .first = first, .last = last});
	jit_end_loop(f, &strips);
	return true;
}
