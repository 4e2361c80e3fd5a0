/* Loops of lanes in C, with the vectors of GCC and Clang, which take any width and make of it what
 * the processor has:
 *
 *   vector lane in 0..36: acc[r, lane] += a[i] * b[k*36 + lane]
 *
 *   #pragma GCC unroll 2
 *   for (int64_t lane = 0; lane < 32; lane += 16)
 *           *(tsr_f32x16 *)&acc[r][lane] += a[i] * *(const tsr_f32x16 *)&b[k * 36 + lane];
 *   for (int64_t lane = 32; lane < 36; lane += 4)
 *           *(tsr_f32x4 *)&acc[r][lane] += a[i] * *(const tsr_f32x4 *)&b[k * 36 + lane];
 *
 * Both compilers keep an array of vectors in registers once the loops around them are written out.
 * A value that is the same in all lanes stays a scalar, which operators of C spread. C has no choice
 * between vectors: a comparison gives lanes of all bits or none, which choose bits.
 */
#include "codegen/c_lanes.h"

#include "loops/linear.h"
#include "loops/walk.h"

enum { LEAST_BYTES = 16, FILL_MOST = 64 };

/* ---- what fits ---- */

bool c_lanes_vary(const LanesText *l, const Value *value)
{
	if (value->kind == VALUE_LOCAL && value->nixs == 0)
		return l->own[value->local];
	bool differs = value->ix && ix_uses(value->ix, l->loop->iter);
	for (uint32_t i = 0; i < value->nixs && !differs; i++)
		differs = ix_uses(value->ixs[i], l->loop->iter);
	for (uint32_t i = 0; i < value->nargs && !differs; i++)
		differs = c_lanes_vary(l, value->args[i]);
	return differs;
}

static bool moves_by_one(const LanesText *l, const Ix *ix)
{
	Program *program = (Program *)l->k->m->program;
	return size_is(program->sizes, ix_stride(program, ix, l->loop->iter), 1);
}

/* Lanes along the last axis. */
static bool local_fits(const LanesText *l, const Ix *const *ixs, uint32_t nixs)
{
	for (uint32_t i = 0; i + 1 < nixs; i++)
		if (ix_uses(ixs[i], l->loop->iter))
			return false;
	return nixs > 0 && moves_by_one(l, ixs[nixs - 1]);
}

/* Those of choice() and the operators of C. C has no square root of vectors of f64. */
static bool op_fits(Op op, Dtype dtype)
{
	bool root = op == OP_SQRT || op == OP_RSQRT;
	return op_is_simple(op) && (!root || dtype == DTYPE_F32);
}

static bool value_fits(const LanesText *l, const Value *value)
{
	if (value->dtype != l->dtype)
		return false;
	if (!c_lanes_vary(l, value) || c_lanes_packed_fits(l, value))
		return true;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!value_fits(l, value->args[i]))
			return false;
	switch (value->kind) {
	case VALUE_LOAD: return moves_by_one(l, value->ix);
	case VALUE_LOCAL: return value->nixs == 0 || local_fits(l, value->ixs, value->nixs);
	case VALUE_OP:
		return dtype_is_float(l->dtype) &&
		       (op_fits(value->op, value->dtype) || c_lanes_call_fits(l, value));
	default: return false;
	}
}

/* Integers are moved; their operations wrap, which those of C's vectors need not. */
static bool acc_fits(const LanesText *l, Op acc)
{
	return acc == OP_NONE || (dtype_is_float(l->dtype) && op_fits(acc, l->dtype));
}

static bool stmt_fits(LanesText *l, const Stmt *stmt)
{
	if (stmt->kind == LOOP_LOCAL)
		l->own[stmt->local] = true;
	bool fits = value_fits(l, stmt->value);
	if (stmt->kind == LOOP_STORE)
		return fits && moves_by_one(l, stmt->ix) &&
		       acc_fits(l, stmt->acc);
	if (stmt->kind == LOOP_SET)
		return fits && acc_fits(l, stmt->acc) &&
		       (stmt->nixs ? local_fits(l, stmt->ixs, stmt->nixs) : l->own[stmt->local]);
	return fits && stmt->kind == LOOP_LOCAL;
}

static LanesText lanes_new(const KernelText *k, const Stmt *loop)
{
	LanesText l = {.k = (KernelText *)k, .loop = loop};
	l.dtype = loop->body.stmts[0]->value->dtype;
	l.own = ARENA_ARRAY(k->arena, bool, k->kernel->nlocals + 1);
	return l;
}

bool c_lanes_fit(const KernelText *k, const Stmt *loop)
{
	if (loop->body.n == 0 || !loop->body.stmts[0]->value)
		return false;
	LanesText l = lanes_new(k, loop);
	bool whole = l.dtype == DTYPE_F64 || l.dtype == DTYPE_I32;
	if (l.dtype != DTYPE_F32 && (!whole || loop->lanes))
		return false;
	int64_t bytes = vector_lanes(k->m->program, loop) * dtype_bytes(l.dtype);
	if (bytes < LEAST_BYTES || k->m->program->options.target->vector_bytes < LEAST_BYTES)
		return false;
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (!stmt_fits(&l, loop->body.stmts[i]))
			return false;
	return true;
}

/* ---- masked lanes ---- */

/* How many lanes there are, as the last argument of what loads or stores some. */
static const char *masked_load(LanesText *l, const char *element)
{
	KernelText *k = l->k;
	const char *name = c_kernel_temp(k);
	c_kernel_indent(k);
	fprintf(k->out, "%s %s;\n", l->type, name);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_load_%d(&%s, &%s, %s);\n", l->lanes, name, element,
		c_kernel_ix(k, l->loop->hi));
	return name;
}

static void masked_store(LanesText *l, const char *element, const char *value)
{
	KernelText *k = l->k;
	const char *name = c_kernel_temp(k);
	c_kernel_indent(k);
	fprintf(k->out, "const %s %s = %s;\n", l->type, name, value);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_store_%d(&%s, &%s, %s);\n", l->lanes, element, name,
		c_kernel_ix(k, l->loop->hi));
}

/* ---- values ---- */

static const char *vector_type(const KernelText *k, Dtype dtype, int lanes)
{
	return arena_printf(k->arena, "tsr_%s%dx%d", dtype_is_float(dtype) ? "f" : "i",
			    8 * (int)dtype_bytes(dtype), lanes);
}

/* A constant of its own, which may be read several times. */
static const char *named(LanesText *l, const char *text)
{
	KernelText *k = l->k;
	const char *name = c_kernel_temp(k);
	c_kernel_indent(k);
	fprintf(k->out, "const %s %s = %s;\n", l->type, name, text);
	return name;
}

/* What is the same in all lanes as a vector: x - 0 is x, of either sign. */
static const char *spread(LanesText *l, const char *text)
{
	return arena_printf(l->k->arena, "%s - (%s){0}", text, l->type);
}

static const char *vector_text(LanesText *l, const Value *value)
{
	const char *text = c_lanes_value(l, value);
	return c_lanes_vary(l, value) ? text : spread(l, text);
}

/* A vector that an operation reads several times. */
static const char *named_value(LanesText *l, const Value *value)
{
	uint64_t known = *pointer_map_at(&l->k->names, value);
	if (known && c_lanes_vary(l, value))
		return (const char *)(uintptr_t)known;
	return named(l, vector_text(l, value));
}

static const char *chosen(LanesText *l, const char *condition, const char *yes, const char *no)
{
	return arena_printf(l->k->arena, "TSR_CHOOSE(%s, %s, %s, %s, %s)", l->type, l->integer,
			    condition, yes, no);
}

/* x where the condition holds, else 0. */
static const char *gated(LanesText *l, const char *condition, const char *x)
{
	return arena_printf(l->k->arena, "(%s)((%s) & (%s)%s)", l->type, condition, l->integer, x);
}

/* 1 where the condition holds, else 0. */
static const char *truth(LanesText *l, const char *condition)
{
	return gated(l, condition, named(l, spread(l, "1")));
}

static const char *root(LanesText *l, const char *x)
{
	l->k->m->c_vectors->helped |= (uint64_t)1 << l->lanes;
	return arena_printf(l->k->arena, "TSR_ROOT_%d(%s)", l->lanes, x);
}

/* max(x, y), min(x, y): x where that is no number. */
static const char *either(LanesText *l, Op op, const char *x, const char *y)
{
	Arena *arena = l->k->arena;
	if (l->dtype != DTYPE_F32)
		return chosen(l,
			      arena_printf(arena, "(%s %s %s) | (%s != %s)", x,
					   op == OP_MAX ? ">" : "<", y, x, x),
			      x, y);
	l->k->m->c_vectors->helped |= (uint64_t)1 << l->lanes;
	return arena_printf(arena, "TSR_%s_%d(%s, %s)", op == OP_MAX ? "MOST" : "LEAST", l->lanes,
			    x, y);
}

/* Conditions on vectors x and y that are names; NULL: the operation is none. */
static const char *condition(LanesText *l, Op op, const char *x, const char *y)
{
	Arena *arena = l->k->arena;
	switch (op) {
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
	case OP_EQ:
	case OP_NE: return arena_printf(arena, "%s %s %s", x, op_symbol(op), y);
	case OP_AND: return arena_printf(arena, "(%s != 0) & (%s != 0)", x, y);
	case OP_OR: return arena_printf(arena, "(%s != 0) | (%s != 0)", x, y);
	case OP_NOT: return arena_printf(arena, "%s == 0", x);
	case OP_ISNAN: return arena_printf(arena, "%s != %s", x, x);
	case OP_ISINF: return arena_printf(arena, "(%s == %s) & (%s - %s != 0)", x, x, x, x);
	default: return NULL;
	}
}

/* Operations of vectors x, y, z that are names. */
static const char *choice(LanesText *l, Op op, const char *x, const char *y, const char *z)
{
	Arena *arena = l->k->arena;
	const char *holds = condition(l, op, x, y);
	if (holds)
		return truth(l, holds);
	switch (op) {
	case OP_MAX:
	case OP_MIN: return either(l, op, x, y);
	case OP_RELU: return gated(l, arena_printf(arena, "~(%s < 0)", x), x);
	case OP_SAT01:
		return chosen(l, arena_printf(arena, "%s > 1", x), named(l, spread(l, "1")),
			      gated(l, arena_printf(arena, "~(%s < 0)", x), x));
	case OP_RELU_GATE: return gated(l, arena_printf(arena, "%s > 0", x), y);
	case OP_SAT01_GATE: return gated(l, arena_printf(arena, "(%s > 0) & (%s < 1)", x, x), y);
	case OP_WHERE: return chosen(l, arena_printf(arena, "%s != 0", x), y, z);
	case OP_ABS:
		return arena_printf(arena, "(%s)((%s)%s & %s)", l->type, l->integer, x,
				    l->dtype == DTYPE_F32 ? "INT32_MAX" : "INT64_MAX");
	case OP_SIGN:
		return arena_printf(arena, "(%s - %s)", truth(l, arena_printf(arena, "%s > 0", x)),
				    truth(l, arena_printf(arena, "%s < 0", x)));
	case OP_SQRT: return root(l, x);
	case OP_RSQRT: return arena_printf(arena, "(1 / %s)", root(l, x));
	default: BUG("vectors of C for %s", op_name(op));
	}
}

/* x < y where both are numbers is one comparison. */
static bool is_number(const Value *value)
{
	return value->kind == VALUE_CONST && value->constant.f == value->constant.f;
}

static const char *extreme(LanesText *l, Op op, const char *x, const char *y, const Value *second)
{
	if (!is_number(second))
		return choice(l, op, x, y, NULL);
	const char *symbol = op == OP_MAX ? "<=" : ">=";
	return chosen(l, arena_printf(l->k->arena, "%s %s %s", x, symbol, y), y, x);
}

static const char *op_text(LanesText *l, const Value *value)
{
	const char *args[3] = {NULL};
	Op op = value->op;
	bool infix = c_is_infix(op, value->dtype);
	if (!op_fits(op, value->dtype))
		return c_lanes_call(l, value);
	if (op == OP_RECIP)
		return arena_printf(l->k->arena, "(1 / %s)", c_lanes_value(l, value->args[0]));
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = infix ? c_lanes_value(l, value->args[i]) : named_value(l, value->args[i]);
	if (infix)
		return c_op(l->k->arena, op, value->dtype, args);
	if (op == OP_MAX || op == OP_MIN)
		return extreme(l, op, args[0], args[1], value->args[1]);
	return choice(l, op, args[0], args[1], args[2]);
}

static const char *at(LanesText *l, const char *place, bool constant)
{
	return arena_printf(l->k->arena, "*(%s%s *)&%s", constant ? "const " : "", l->type, place);
}

static const char *fresh_text(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	const char *packed = c_lanes_packed(l, value);
	if (packed)
		return packed;
	switch (value->kind) {
	case VALUE_LOAD: {
		const char *element = c_buffer_element(k, value->buffer, value->ix);
		return l->loop->lanes ? masked_load(l, element) : at(l, element, true);
	}
	case VALUE_LOCAL: {
		const char *place = c_kernel_local(k, value->local, value->ixs, value->nixs);
		return value->nixs ? at(l, place, false) : place;
	}
	default: return op_text(l, value);
	}
}

const char *c_lanes_value(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	uint64_t known = *pointer_map_at(&k->names, value);
	if (known)
		return (const char *)(uintptr_t)known;
	if (!c_lanes_vary(l, value)) {
		c_kernel_shared(k, value);
		return c_kernel_value(k, value);
	}
	const char *text = fresh_text(l, value);
	if (*pointer_map_at(&k->uses, value) > 1) {
		text = named(l, text);
		*pointer_map_at(&k->names, value) = (uint64_t)(uintptr_t)text;
	}
	return text;
}

/* ---- statements ---- */

static const char *target_text(LanesText *l, const Stmt *stmt)
{
	if (stmt->kind == LOOP_STORE)
		return at(l, c_buffer_element(l->k, stmt->buffer, stmt->ix), false);
	const char *place = c_kernel_local(l->k, stmt->local, stmt->ixs, stmt->nixs);
	return stmt->nixs ? at(l, place, false) : place;
}

static const char *accumulated(LanesText *l, const char *target, const Stmt *stmt)
{
	if (c_is_infix(stmt->acc, l->dtype)) {
		const char *args[] = {target, c_lanes_value(l, stmt->value)};
		return c_op(l->k->arena, stmt->acc, l->dtype, args);
	}
	const char *value = named_value(l, stmt->value), *before = named(l, target);
	if (stmt->acc == OP_MAX || stmt->acc == OP_MIN)
		return extreme(l, stmt->acc, before, value, stmt->value);
	return choice(l, stmt->acc, before, value, NULL);
}

static void put_stmt(LanesText *l, const Stmt *stmt)
{
	KernelText *k = l->k;
	if (stmt->kind == LOOP_LOCAL) {
		const char *value = vector_text(l, stmt->value);
		c_kernel_indent(k);
		fprintf(k->out, "%s %s = %s;\n", l->type, k->locals[stmt->local], value);
		return;
	}
	if (l->loop->lanes) {
		const char *element = c_buffer_element(k, stmt->buffer, stmt->ix);
		const char *value = stmt->acc == OP_NONE
					    ? vector_text(l, stmt->value)
					    : accumulated(l, masked_load(l, element), stmt);
		masked_store(l, element, value);
		return;
	}
	const char *target = target_text(l, stmt), *sign = stmt->acc == OP_ADD ? "+=" : "=";
	const char *value = stmt->acc == OP_NONE  ? vector_text(l, stmt->value)
			    : stmt->acc == OP_ADD ? c_lanes_value(l, stmt->value)
						  : accumulated(l, target, stmt);
	c_kernel_indent(k);
	fprintf(k->out, "%s %s %s;\n", target, sign, value);
}

void c_put_unroll(KernelText *k, int64_t times)
{
	if (k->device)
		fprintf(k->out, "TSR_UNROLL\n");
	else if (times > 1)
		fprintf(k->out, "#pragma GCC unroll %lld\n", (long long)times);
}

static void set_width(LanesText *l, int lanes)
{
	KernelText *k = l->k;
	l->lanes = lanes;
	l->type = vector_type(k, l->dtype, lanes);
	bool wide = dtype_bytes(l->dtype) == dtype_bytes(DTYPE_F64);
	l->integer = vector_type(k, wide ? DTYPE_I64 : DTYPE_I32, lanes);
	k->m->c_vectors->used[wide] |= (uint64_t)1 << lanes;
}

static void put_body(LanesText *l)
{
	for (uint32_t i = 0; i < l->loop->body.n; i++) {
		c_lanes_calls(l, l->loop->body.stmts[i]->value);
		for (uint32_t v = 0; v < l->vectors; v++) {
			c_lanes_enter(l, v);
			put_stmt(l, l->loop->body.stmts[i]);
		}
	}
}

/* Lanes from `lo` on, as many times so many vectors as there are before `hi`; returns where the next
 * lane is. */
static int64_t put_vectors(LanesText *l, int64_t lo, int64_t hi, uint32_t vectors)
{
	KernelText *k = l->k;
	const char *lane = k->iters[l->loop->iter];
	int64_t step = (int64_t)vectors * l->lanes, n = (hi - lo) / step, end = lo + n * step;
	if (n == 0)
		return lo;
	c_put_unroll(k, n);
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = %lld; %s < %lld; %s += %lld) {\n", lane, (long long)lo,
		lane, (long long)end, lane, (long long)step);
	k->indent++;
	c_lanes_begin(l, vectors);
	put_body(l);
	c_lanes_end(l);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
	return end;
}

/* One vector, of which some lanes are loaded and stored. */
static void masked_lanes(LanesText *l)
{
	KernelText *k = l->k;
	set_width(l, (int)l->loop->lanes);
	k->m->c_vectors->masked |= (uint64_t)1 << l->lanes;
	c_kernel_indent(k);
	fprintf(k->out, "{\n");
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t %s = 0;\n", k->iters[l->loop->iter]);
	c_lanes_begin(l, 1);
	put_body(l);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

/* Lanes that fill no vector stay a loop. */
void c_lanes_loop(KernelText *k, const Stmt *loop)
{
	LanesText l = lanes_new(k, loop);
	int64_t lo = 0, hi;
	REQUIRE(c_lanes_fit(k, loop) && size_is_const(k->m->program->sizes, loop->lo->size, &lo));
	hi = lo + vector_lanes(k->m->program, loop);
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (loop->body.stmts[i]->kind == LOOP_LOCAL)
			l.own[loop->body.stmts[i]->local] = true;
	int most = (int)k->m->program->options.target->vector_bytes / dtype_bytes(l.dtype);
	if (loop->lanes) {
		masked_lanes(&l);
		return;
	}
	for (int lanes = most; lanes * dtype_bytes(l.dtype) >= LEAST_BYTES; lanes /= 2) {
		set_width(&l, lanes);
		if (c_lanes_has_calls(&l))
			lo = put_vectors(&l, lo, hi, C_TOGETHER);
		lo = put_vectors(&l, lo, hi, 1);
	}
	if (lo < hi) {
		c_kernel_indent(k);
		fprintf(k->out, "for (int64_t %s = %lld; %s < %lld; %s++) {\n", k->iters[loop->iter],
			(long long)lo, k->iters[loop->iter], (long long)hi, k->iters[loop->iter]);
		k->indent++;
		c_kernel_block(k, loop->body);
		k->indent--;
		c_kernel_indent(k);
		fprintf(k->out, "}\n");
	}
}

void c_lanes_fill(KernelText *k, LocalId id, const char *value)
{
	const KernelLocal *local = &k->kernel->locals[id];
	LanesText l = {.k = k, .dtype = local->dtype};
	int64_t n = 1, last = local->extent[local->rank - 1];
	const char *first = k->locals[id];
	for (uint32_t i = 0; i < local->rank; i++) {
		n *= local->extent[i];
		first = arena_printf(k->arena, "%s[0]", first);
	}
	bool vector = l.dtype == DTYPE_F32 || l.dtype == DTYPE_F64 || l.dtype == DTYPE_I32;
	int lanes = vector ? (int)k->m->program->options.target->vector_bytes / dtype_bytes(l.dtype)
			   : 0;
	while (lanes && last % lanes)
		lanes /= 2;
	bool vectors = lanes * dtype_bytes(l.dtype) >= LEAST_BYTES;
	if (vectors)
		set_width(&l, lanes);
	if (vectors && n / lanes <= FILL_MOST)
		c_put_unroll(k, n / lanes);
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t tsr_i = 0; tsr_i < %lld; tsr_i += %d)\n", (long long)n,
		vectors ? lanes : 1);
	c_kernel_indent(k);
	if (vectors)
		fprintf(k->out, "\t*(%s *)&(&%s)[tsr_i] = %s;\n", l.type, first, spread(&l, value));
	else
		fprintf(k->out, "\t(&%s)[tsr_i] = %s;\n", first, value);
}

/* ---- types ---- */

/* Elements are aligned as such, and are read and written as what they are, too. */
void c_put_vectors(FILE *out, const Module *m)
{
	const struct CVectors *v = m->c_vectors;
	if (!v->used[0] && !v->used[1])
		return;
	fprintf(out, "/* Vectors, of GCC and Clang: a number in a name is that of the elements. */\n");
	for (int wide = 0, bits = 32; wide < 2; wide++, bits = 64)
		for (int lanes = 2; lanes < 64; lanes *= 2)
			if (v->used[wide] >> lanes & 1)
				fprintf(out,
					"typedef %s tsr_f%dx%d __attribute__((vector_size(%d), aligned(%d), may_alias));\n"
					"typedef int%d_t tsr_i%dx%d __attribute__((vector_size(%d), aligned(%d), may_alias));\n"
					"typedef uint%d_t tsr_u%dx%d __attribute__((vector_size(%d)));\n",
					wide ? "double" : "float", bits, lanes, lanes * bits / 8,
					bits / 8, bits, bits, lanes, lanes * bits / 8, bits / 8,
					bits, bits, lanes, lanes * bits / 8);
	fprintf(out, "/* Of each lane a where the condition has all bits, b where it has none. */\n"
		     "#define TSR_CHOOSE(type, integer, condition, a, b) \\\n"
		     "\t((type)(((condition) & (integer)(a)) | (~(condition) & (integer)(b))))\n\n");
	c_put_lanes_math(out, m);
}
