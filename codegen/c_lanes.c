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

enum { LEAST_BYTES = 16, FILL_MOST = 64, BYTES_MOST = 8 };

/* ---- what fits ---- */

bool c_lanes_vary(const LanesText *l, const Value *value)
{
	return value_varies(value, l->loop->iter, l->own);
}

/* What is read and written of one vector at once, alone where others are masked. */
static bool place_fits(const LanesText *l, LanesPlace place)
{
	return place == PLACE_NEIGHBOURS || (place != PLACE_NOWHERE && !l->loop->lanes);
}

static bool buffer_fits(const LanesText *l, BufferId buffer, const Ix *ix)
{
	return place_fits(l, c_lanes_of_buffer(l, buffer, ix));
}

static bool store_fits(const LanesText *l, const Stmt *stmt)
{
	LanesPlace place = c_lanes_of_buffer(l, stmt->buffer, stmt->ix);
	return place_fits(l, place) && (place == PLACE_NEIGHBOURS || stmt->acc == OP_NONE);
}

/* What is set is one vector of registers. */
static bool target_fits(const LanesText *l, const Stmt *stmt)
{
	if (stmt->nixs == 0)
		return l->own[stmt->local];
	return c_lanes_of_local(l, stmt->local, stmt->ixs, stmt->nixs) == PLACE_NEIGHBOURS;
}

/* Those of c_lanes_choice() and the operators of C. C has no square root of vectors of f64. */
static bool op_fits(Op op, Dtype dtype)
{
	bool root = op == OP_SQRT || op == OP_RSQRT;
	return op_is_simple(op) && (dtype == DTYPE_F32 || (!root && dtype == DTYPE_F64));
}

/* The less or the greater of two integers, or one that integers choose. */
static bool chooses_integers(const LanesText *l, const Value *value)
{
	bool least;
	return value->kind == VALUE_OP && value->op == OP_WHERE &&
	       (l->dtype == DTYPE_I32 || l->dtype == DTYPE_I64) &&
	       (value_is_extreme(value, &least) || value->args[0]->kind == VALUE_LOCAL);
}

/* Of neighbours in a buffer or a local. */
static bool cast_fits(const LanesText *l, const Value *cast)
{
	const Value *from = cast->args[0];
	if (l->loop->lanes || !c_vector_casts(from->dtype, cast->dtype))
		return false;
	if (from->kind == VALUE_LOCAL)
		return from->nixs > 0 &&
		       c_lanes_of_local(l, from->local, from->ixs, from->nixs) == PLACE_NEIGHBOURS;
	return from->kind == VALUE_LOAD &&
	       c_lanes_of_buffer(l, from->buffer, from->ix) == PLACE_NEIGHBOURS;
}

static bool value_fits(const LanesText *l, const Value *value)
{
	if (value->dtype != l->dtype)
		return false;
	if (!c_lanes_vary(l, value) || c_lanes_packed_fits(l, value))
		return true;
	if (value->kind == VALUE_CAST)
		return cast_fits(l, value) || c_lanes_integers_fit(l, value);
	bool least, chooses = chooses_integers(l, value);
	for (uint32_t i = chooses && value_is_extreme(value, &least); i < value->nargs; i++)
		if (!value_fits(l, value->args[i]))
			return false;
	switch (value->kind) {
	case VALUE_LOAD: return buffer_fits(l, value->buffer, value->ix);
	case VALUE_LOCAL:
		return value->nixs == 0 ||
		       place_fits(l, c_lanes_of_local(l, value->local, value->ixs, value->nixs));
	case VALUE_OP:
		return op_fits(value->op, value->dtype) || chooses || c_lanes_call_fits(l, value);
	default: return false;
	}
}

/* Integers are moved; their operations wrap, which those of C's vectors need not. */
static bool acc_fits(const LanesText *l, Op acc)
{
	return acc == OP_NONE || op_fits(acc, l->dtype);
}

static bool stmt_fits(LanesText *l, const Stmt *stmt)
{
	if (stmt->kind == LOOP_LOCAL)
		l->own[stmt->local] = true;
	bool fits = value_fits(l, stmt->value);
	if (stmt->kind == LOOP_STORE)
		return fits && store_fits(l, stmt) && acc_fits(l, stmt->acc);
	if (stmt->kind == LOOP_SET)
		return fits && target_fits(l, stmt) && acc_fits(l, stmt->acc);
	return fits && stmt->kind == LOOP_LOCAL;
}

static bool has_vectors(Dtype dtype)
{
	return !dtype_is_packed(dtype) && dtype_bytes(dtype) <= BYTES_MOST;
}

/* Lanes of what is stored are as many as those of what it is widened to. */
static int64_t lane_bytes(Dtype dtype) { return (int64_t)dtype_bytes(dtype_wide(dtype)); }

/* Of a whole vector of the processor. */
static int lanes_most(const KernelText *k, Dtype dtype)
{
	return (int)(k->m->program->options.target->vector_bytes / lane_bytes(dtype));
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
	if (!has_vectors(l.dtype) || (l.dtype != DTYPE_F32 && loop->lanes))
		return false;
	int64_t bytes = vector_lanes(k->m->program, loop) * lane_bytes(l.dtype);
	if (bytes < LEAST_BYTES || k->m->program->options.target->vector_bytes < LEAST_BYTES)
		return false;
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (!stmt_fits(&l, loop->body.stmts[i]))
			return false;
	return true;
}

bool c_lanes_written_out(const KernelText *k, const Stmt *loop)
{
	bool found = false;
	for (uint32_t i = 0; i < loop->body.n && !found; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR && c_lanes_fit(k, stmt)) {
			LanesText l = lanes_new(k, stmt);
			found = c_lanes_anywhere(&l, loop->iter);
		} else {
			found = c_lanes_written_out(k, stmt);
		}
	}
	return found;
}

/* ---- masked lanes ---- */

/* How many lanes there are, as the last argument of what loads or stores some. */
static const char *masked_load(LanesText *l, const char *element)
{
	KernelText *k = l->k;
	const char *name = c_lanes_declared(l, l->type);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_load_%d(&%s, &%s, %s);\n", l->lanes, name, element,
		c_kernel_ix(k, l->loop->hi));
	return name;
}

static void masked_store(LanesText *l, const char *element, const char *value)
{
	KernelText *k = l->k;
	const char *name = c_lanes_named(l, value);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_store_%d(&%s, &%s, %s);\n", l->lanes, element, name,
		c_kernel_ix(k, l->loop->hi));
}

/* ---- values ---- */

static const char *vector_text(LanesText *l, const Value *value)
{
	const char *text = c_lanes_value(l, value);
	return c_lanes_vary(l, value) ? text : c_lanes_spread(l, text);
}

/* A vector that an operation reads several times. */
static const char *named_value(LanesText *l, const Value *value)
{
	uint64_t known = *pointer_map_at(&l->k->names, value);
	if (known && c_lanes_vary(l, value))
		return (const char *)(uintptr_t)known;
	return c_lanes_named(l, vector_text(l, value));
}

static const char *fused_text(LanesText *l, const Fused *fused, const char *target)
{
	const char *args[] = {c_lanes_value(l, fused->a), c_lanes_value(l, fused->b),
			      fused->rest ? c_lanes_value(l, fused->rest) : target};
	return c_vector_fused(l->k->m, l->dtype, l->lanes, fused->signs, args);
}

static const char *op_text(LanesText *l, const Value *value)
{
	const char *args[3] = {NULL};
	Op op = value->op;
	bool infix = c_is_infix(op, value->dtype), less;
	Fused fused;
	if (value->nargs == 2 && find_fused(l->k->m, op, value->args[0], value->args[1], &fused))
		return fused_text(l, &fused, NULL);
	if (!op_fits(op, value->dtype) && !chooses_integers(l, value))
		return c_lanes_call(l, value);
	if (op == OP_RECIP)
		return arena_printf(l->k->arena, "(1 / %s)", c_lanes_value(l, value->args[0]));
	if (value_is_extreme(value, &less))
		return c_lanes_less_or_greater(l, less, named_value(l, value->args[1]),
					       named_value(l, value->args[2]));
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = infix ? c_lanes_value(l, value->args[i]) : named_value(l, value->args[i]);
	if (infix)
		return c_op(l->k->arena, op, value->dtype, args);
	if (op == OP_MAX || op == OP_MIN)
		return c_lanes_extreme(l, op, args[0], args[1], value->args[1]);
	return c_lanes_choice(l, op, args[0], args[1], args[2]);
}

static const char *at(LanesText *l, const char *place, bool constant)
{
	return arena_printf(l->k->arena, "*(%s%s *)&%s", constant ? "const " : "", l->type, place);
}

static const char *cast_text(LanesText *l, const Value *cast)
{
	KernelText *k = l->k;
	const Value *from = cast->args[0];
	if (from->kind == VALUE_OP)
		return c_lanes_integers(l, cast);
	const char *first = from->kind == VALUE_LOCAL
				    ? c_kernel_local(k, from->local, from->ixs, from->nixs)
				    : c_buffer_element(k, from->buffer, from->ix);
	return c_vector_cast(k->m, from->dtype, l->dtype, l->lanes, first);
}

static const char *fresh_text(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	const char *packed = c_lanes_packed(l, value);
	if (packed)
		return packed;
	switch (value->kind) {
	case VALUE_LOAD: {
		if (c_lanes_of_buffer(l, value->buffer, value->ix) != PLACE_NEIGHBOURS)
			return c_lanes_load(l, value);
		const char *element = c_buffer_element(k, value->buffer, value->ix);
		return l->loop->lanes ? masked_load(l, element) : at(l, element, true);
	}
	case VALUE_LOCAL: {
		if (value->nixs &&
		    c_lanes_of_local(l, value->local, value->ixs, value->nixs) != PLACE_NEIGHBOURS)
			return c_lanes_local(l, value);
		const char *place = c_kernel_local(k, value->local, value->ixs, value->nixs);
		return value->nixs ? at(l, place, false) : place;
	}
	case VALUE_CAST: return cast_text(l, value);
	default: return op_text(l, value);
	}
}

static const char *alone_text(KernelText *k, const Value *value)
{
	k->alone = true;
	c_kernel_shared(k, value);
	const char *text = c_kernel_value(k, value);
	k->alone = false;
	return text;
}

const char *c_lanes_value(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	uint64_t known = *pointer_map_at(&k->names, value);
	if (known)
		return (const char *)(uintptr_t)known;
	if (!c_lanes_vary(l, value))
		return alone_text(k, value);
	const char *text = fresh_text(l, value);
	if (*pointer_map_at(&k->uses, value) > 1) {
		text = c_lanes_named(l, text);
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
	Fused fused;
	if (find_fused(l->k->m, stmt->acc, NULL, stmt->value, &fused))
		return fused_text(l, &fused, target);
	if (c_is_infix(stmt->acc, l->dtype)) {
		const char *args[] = {target, c_lanes_value(l, stmt->value)};
		return c_op(l->k->arena, stmt->acc, l->dtype, args);
	}
	const char *value = named_value(l, stmt->value), *before = c_lanes_named(l, target);
	if (stmt->acc == OP_MAX || stmt->acc == OP_MIN)
		return c_lanes_extreme(l, stmt->acc, before, value, stmt->value);
	return c_lanes_choice(l, stmt->acc, before, value, NULL);
}

/* To strided elements. */
static void put_strided(LanesText *l, const Stmt *stmt)
{
	REQUIRE(stmt->acc == OP_NONE);
	c_lanes_store(l, stmt, c_lanes_named(l, vector_text(l, stmt->value)));
}

static void put_masked(LanesText *l, const Stmt *stmt)
{
	const char *element = c_buffer_element(l->k, stmt->buffer, stmt->ix);
	const char *value = stmt->acc == OP_NONE ? vector_text(l, stmt->value)
						 : accumulated(l, masked_load(l, element), stmt);
	masked_store(l, element, value);
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
		put_masked(l, stmt);
		return;
	}
	if (stmt->kind == LOOP_STORE &&
	    c_lanes_of_buffer(l, stmt->buffer, stmt->ix) != PLACE_NEIGHBOURS) {
		put_strided(l, stmt);
		return;
	}
	Fused fused;
	bool adds = stmt->acc == OP_ADD && !find_fused(k->m, stmt->acc, NULL, stmt->value, &fused);
	const char *target = target_text(l, stmt);
	const char *value = stmt->acc == OP_NONE ? vector_text(l, stmt->value)
			    : adds		 ? c_lanes_value(l, stmt->value)
						 : accumulated(l, target, stmt);
	c_kernel_indent(k);
	fprintf(k->out, "%s %s %s;\n", target, adds ? "+=" : "=", value);
}

static void set_width(LanesText *l, int lanes)
{
	KernelText *k = l->k;
	l->lanes = lanes;
	l->type = c_vector_type(k->arena, l->dtype, lanes);
	bool wide = dtype_bytes(l->dtype) == dtype_bytes(DTYPE_F64);
	l->integer = c_vector_type(k->arena, wide ? DTYPE_I64 : DTYPE_I32, lanes);
	c_vector_use(k->m, l->dtype, lanes);
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

/* The same with lanes that are numbers. */
static int64_t put_written_out(LanesText *l, int64_t lo, int64_t hi)
{
	KernelText *k = l->k;
	const char *lane = k->iters[l->loop->iter];
	for (; lo + l->lanes <= hi; lo += l->lanes) {
		c_kernel_fix(k, l->loop->iter, lo);
		c_kernel_open(k, l->loop->body);
		c_lanes_begin(l, 1);
		put_body(l);
		c_kernel_close(k, l->loop->body);
	}
	c_kernel_release(k, l->loop->iter, lane);
	return lo;
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
static void put_rest(KernelText *k, const Stmt *loop, int64_t lo, int64_t hi)
{
	const char *lane = k->iters[loop->iter];
	if (lo >= hi)
		return;
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = %lld; %s < %lld; %s++) {\n", lane, (long long)lo, lane,
		(long long)hi, lane);
	k->indent++;
	c_kernel_block(k, loop->body);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_lanes(KernelText *k, const Stmt *loop)
{
	LanesText l = lanes_new(k, loop);
	int64_t lo = 0, hi;
	REQUIRE(c_lanes_fit(k, loop) && size_is_const(k->m->program->sizes, loop->lo->size, &lo));
	hi = lo + vector_lanes(k->m->program, loop);
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (loop->body.stmts[i]->kind == LOOP_LOCAL)
			l.own[loop->body.stmts[i]->local] = true;
	if (loop->lanes) {
		masked_lanes(&l);
		return;
	}
	bool anywhere = c_lanes_anywhere(&l, loop->iter);
	for (int lanes = lanes_most(k, l.dtype); lanes * lane_bytes(l.dtype) >= LEAST_BYTES;
	     lanes /= 2) {
		set_width(&l, lanes);
		if (anywhere)
			lo = put_written_out(&l, lo, hi);
		if (c_lanes_has_calls(&l))
			lo = put_vectors(&l, lo, hi, C_TOGETHER);
		lo = put_vectors(&l, lo, hi, 1);
	}
	put_rest(k, loop, lo, hi);
}

void c_lanes_loop(KernelText *k, const Stmt *loop)
{
	k->unrolled[loop->iter] = true;
	put_lanes(k, loop);
	k->unrolled[loop->iter] = false;
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
	int lanes = has_vectors(l.dtype) ? lanes_most(k, l.dtype) : 0;
	while (lanes && last % lanes)
		lanes /= 2;
	bool vectors = lanes * lane_bytes(l.dtype) >= LEAST_BYTES;
	if (vectors)
		set_width(&l, lanes);
	if (vectors && n / lanes <= FILL_MOST)
		c_put_unroll(k, n / lanes);
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t tsr_i = 0; tsr_i < %lld; tsr_i += %d)\n", (long long)n,
		vectors ? lanes : 1);
	c_kernel_indent(k);
	if (vectors)
		fprintf(k->out, "\t*(%s *)&(&%s)[tsr_i] = %s;\n", l.type, first,
			c_lanes_spread(&l, value));
	else
		fprintf(k->out, "\t(&%s)[tsr_i] = %s;\n", first, value);
}
