/* Plain loops of functions such as exp as explicit vectors, four side by side:
 *
 *   for i in lo..hi: y[i] = exp(x[i])     for i in lo..hi-63 step 64: 16 lanes at i, i+16, i+32, i+48
 *                                         for i ..hi step 16: 16 lanes, those behind hi masked away
 *
 * The vectors that GCC makes of such a loop are one chain of steps after another, without the
 * instruction for a 2^n. Cells are read at their own place or where nothing is written, and each is
 * computed as it is alone, so the bits are the same wherever it stands. Only with masks: AVX-512.
 */
#include "codegen/jit_segments.h"
#include "codegen/gaps.h"
#include "codegen/jit_lanes.h"
#include "loops/build.h"

/* ---- which loops ---- */

typedef struct Wide {
	Lanes lanes;
	Block body;
	bool found; /* a function */
} Wide;

static bool moves_by_one(const Ix *ix, IterVar iter)
{
	if (ix->kind == IX_ITER)
		return ix->iter == iter;
	if (ix->kind != IX_ADD || ix_uses(ix->a, iter) == ix_uses(ix->b, iter))
		return false;
	return moves_by_one(ix_uses(ix->a, iter) ? ix->a : ix->b, iter);
}

/* Is what the body stores to the buffer, if it does, stored at this index? */
static bool is_own_cell(const Wide *w, BufferId buffer, const Ix *ix)
{
	for (uint32_t i = 0; i < w->body.n; i++) {
		const Stmt *stmt = w->body.stmts[i];
		if (stmt->kind == LOOP_STORE && stmt->buffer == buffer && !ix_same(stmt->ix, ix))
			return false;
	}
	return true;
}

static bool value_fits(Wide *w, const Value *value)
{
	const Lanes *l = &w->lanes;
	if ((value->ix && value->ix->reads) ||
	    (value->kind == VALUE_LOAD && !is_own_cell(w, value->buffer, value->ix)))
		return false;
	bool same = !jit_lanes_vary(l, value), call = !same && jit_is_lanes_call(l->k, value);
	bool fits = true;
	w->found |= call;
	for (uint32_t i = 0; i < value->nargs && fits; i++)
		fits = value_fits(w, value->args[i]);
	if (same || !fits)
		return fits;
	switch (value->kind) {
	case VALUE_LOAD: fits = moves_by_one(value->ix, l->loop->iter); break;
	case VALUE_LOCAL: fits = value->nixs == 0; break;
	case VALUE_OP: fits = call || op_is_simple(value->op); break;
	default: return false;
	}
	return fits && value->dtype == DTYPE_F32;
}

static bool stmt_fits(Wide *w, const Stmt *stmt)
{
	const KernelJit *k = w->lanes.k;
	if (stmt->kind == LOOP_LOCAL) {
		bool plain =
			k->kernel->locals[stmt->local].rank == 0 && !k->registers[stmt->local].used;
		if (!plain || stmt->value->dtype != DTYPE_F32 || !value_fits(w, stmt->value))
			return false;
		w->lanes.own[stmt->local] = true;
		return true;
	}
	return stmt->kind == LOOP_STORE && stmt->value->dtype == DTYPE_F32 && !stmt->ix->reads &&
	       (stmt->acc == OP_NONE || op_is_simple(stmt->acc)) &&
	       is_own_cell(w, stmt->buffer, stmt->ix) &&
	       moves_by_one(stmt->ix, w->lanes.loop->iter) && value_fits(w, stmt->value);
}

static bool body_fits(Wide *w)
{
	for (uint32_t i = 0; i < w->body.n; i++)
		if (!stmt_fits(w, w->body.stmts[i]))
			return false;
	return w->found;
}

/* ---- their code ---- */

static void stmt_code(Lanes *l, const Stmt *stmt, uint32_t n)
{
	jit_place(l->k, span_is_none(stmt->span) ? l->k->kernel->span : stmt->span);
	jit_lanes_begin(l);
	jit_lanes_calls(l, stmt->value, n);
	for (uint32_t i = 0; i < n; i++) {
		jit_lanes_enter(l, i);
		if (stmt->kind == LOOP_LOCAL)
			l->part->locals[stmt->local] = jit_lanes_value(l, stmt->value);
		else
			jit_lanes_stmt(l, stmt);
	}
}

/* n vectors, the first one `at` lanes behind the iterator. */
static void vectors(Lanes *l, int64_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		l->parts[i].at = at + ((int64_t)i << l->log);
	for (uint32_t i = 0; i < l->loop->body.n; i++)
		stmt_code(l, l->loop->body.stmts[i], n);
}

static Rvalue *number(Lanes *l, int64_t value)
{
	return jit_long(l->k->f.jit, l->k->f.jit->i64, value);
}

/* for (; i < hi - (step - 1); i += step) n vectors */
static void whole_loop(Lanes *l, Rvalue *lo, Rvalue *hi, uint32_t n)
{
	JitFunction *f = &l->k->f;
	int64_t step = (int64_t)n << l->log;
	Rvalue *last = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, hi, number(l, step - 1)));
	JitLoop loop = jit_loop(f, l->k->iters[l->loop->iter], lo, last, step);
	jit_kernel_forget(l->k);
	vectors(l, 0, n);
	jit_kernel_forget(l->k);
	jit_end_loop(f, &loop);
}

/* Bits for as many lanes as there are before hi. */
static Rvalue *mask_before(Lanes *l, Rvalue *at, Rvalue *hi)
{
	JitFunction *f = &l->k->f;
	Type *u32 = f->jit->u32;
	Rvalue *lanes = number(l, (int64_t)1 << l->log);
	Rvalue *rest = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, hi, at));
	rest = jit_select(f, jit_compare(f, GCC_JIT_COMPARISON_LT, rest, lanes), rest, lanes);
	Rvalue *one = jit_long(f->jit, u32, 1);
	Rvalue *bit = jit_binary(f, GCC_JIT_BINARY_OP_LSHIFT, one, jit_cast(f->jit, rest, u32));
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, bit, one));
}

static void masked_loop(Lanes *l, Rvalue *hi)
{
	JitFunction *f = &l->k->f;
	Lvalue *i = l->k->iters[l->loop->iter];
	JitLoop loop = jit_loop(f, i, gcc_jit_lvalue_as_rvalue(i), hi, (int64_t)1 << l->log);
	jit_kernel_forget(l->k);
	l->mask = mask_before(l, gcc_jit_lvalue_as_rvalue(i), hi);
	vectors(l, 0, 1);
	jit_kernel_forget(l->k);
	jit_end_loop(f, &loop);
}

/* What fills no four vectors. */
static void known_rest(Lanes *l, int64_t rest)
{
	JitFunction *f = &l->k->f;
	int64_t lanes = (int64_t)1 << l->log, whole = rest / lanes;
	jit_kernel_forget(l->k);
	vectors(l, 0, (uint32_t)whole);
	if (rest % lanes) {
		l->mask = jit_keep(f,
				   jit_long(f->jit, f->jit->u32, ((int64_t)1 << rest % lanes) - 1));
		vectors(l, whole * lanes, 1);
	}
	jit_kernel_forget(l->k);
}

static void loop_code(Lanes *l, int64_t trips)
{
	KernelJit *k = l->k;
	JitFunction *f = &k->f;
	Rvalue *lo = jit_keep(f, jit_kernel_ix(k, l->loop->lo)),
	       *hi = jit_keep(f, jit_kernel_ix(k, l->loop->hi));
	int64_t step = (int64_t)PARTS_MAX << l->log;
	k->fixed[l->loop->iter] = k->moves[l->loop->iter] = true;
	if (trips < 0 || trips >= step)
		whole_loop(l, lo, hi, PARTS_MAX);
	else
		jit_set(f, k->iters[l->loop->iter], lo);
	if (trips < 0)
		masked_loop(l, hi);
	else
		known_rest(l, trips % step);
	k->fixed[l->loop->iter] = k->moves[l->loop->iter] = false;
}

bool jit_wide_loop(KernelJit *k, const Stmt *loop)
{
	Arena *arena = k->f.jit->arena;
	Wide w = {.lanes = jit_lanes_new(k, loop), .body = loop->body};
	int64_t trips = constant_trips(k->program, loop);
	if (k->f.jit->simd != CPU_AVX512 || loop->step != 1 ||
	    (trips >= 0 && trips < k->f.jit->target->wide_trips))
		return false;
	w.lanes.own = ARENA_ARRAY(arena, bool, k->kernel->nlocals + 1);
	if (!body_fits(&w))
		return false;
	for (int i = 0; i < PARTS_MAX; i++)
		w.lanes.parts[i].locals = ARENA_ARRAY(arena, Rvalue *, k->kernel->nlocals + 1);
	w.lanes.log = jit_segment_log(k, DTYPE_F32, 0, 1 << VECTOR_LOGS);
	loop_code(&w.lanes, trips);
	return true;
}
