/* Integer arithmetic in the narrowest type that holds it, so that a vector has as many lanes as that type allows:
 *
 *   y[i] = u8(where(f32(i32(a[i]) > 128), 255, 0))    ->    y[i] = where(a[i] > 128, 255, 0)
 *   y[i] = u8(min(i32(a[i]) + 40, 255))               ->    y[i] = u8(min(i16(a[i]) + 40, 255))
 *
 * Of each value it is found between which whole numbers it lies, from elements of a byte on (Interval). Where all of an
 * expression are numbers of u8, i8, i16 or u16, operations in that type neither wrap nor round, so the numbers are the same; also those
 * of floats, which are whole up to 2^24. A zero has no sign then, so floats are replaced below what sees none alone: a
 * conversion to an integer, or a comparison.
 *
 * An integer that becomes a byte wraps, so sums and differences that it is made from may wrap too:
 *
 *   y[i] = u8(max(i32(a[i]), i32(b[i])) - min(i32(a[i]), i32(b[i])))    ->    y[i] = max(a[i], b[i]) - min(a[i], b[i])
 *
 * Quotients are whole where they are cut off: for 0 <= x and c > 0, both small, x / c as a float is not rounded up to a
 * whole number, from which x / c differs by 1 / c at least.
 *
 * Bodies of vector loops stay: their lanes are those of floats.
 */
#include "loops/interval.h"
#include "loops/walk.h"
#include "loops/vector/vector.h"

enum { VALUES_MOST = 256 }; /* of an expression that is looked at */

/* A local of one number that is set once. */
typedef struct LocalRange {
	uint32_t times; /* that it is declared or set */
	bool known;
	Interval range;
} LocalRange;

/* What an expression asks of the type of its operations. */
typedef struct Section {
	const LocalRange *locals; /* by LocalId */
	Interval all;		  /* of every value in it */
	uint32_t ops, values;
	bool products,
		quotients; /* no vectors of bytes have these; quotients are fewer steps without a sign */
} Section;

static bool section_of(Section *s, const Value *value, Interval *range);

static Interval hull(Interval a, Interval b)
{
	return (Interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static Interval whole_range(Dtype dtype)
{
	return (Interval){op_neutral(OP_MAX, dtype).i, op_neutral(OP_MIN, dtype).i};
}

static bool is_inside(Interval a, Dtype dtype)
{
	Interval all = whole_range(dtype);
	return a.lo >= all.lo && a.hi <= all.hi;
}

static bool is_in_16_bits(Interval a) { return is_inside(a, DTYPE_I16) || is_inside(a, DTYPE_U16); }

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

static Interval product(Interval a, Interval b)
{
	int64_t p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
	return (Interval){least_of(least_of(p, q), least_of(r, s)),
			  most_of(most_of(p, q), most_of(r, s))};
}

/* Is it a whole number of its type? */
static bool find_constant(const Value *value, int64_t *number)
{
	if (!dtype_is_float(value->dtype)) {
		*number = value->constant.i;
		return value->dtype != DTYPE_U4X32;
	}
	double f = value->constant.f;
	*number = f >= INT16_MIN && f <= UINT16_MAX ? (int64_t)f : INT64_MAX;
	return (double)*number == f;
}

/* Is it x / c of floats, c a whole number above 0? */
static bool is_quotient(const Value *value)
{
	int64_t by;
	return value->kind == VALUE_OP && value->op == OP_DIV && dtype_is_float(value->dtype) &&
	       value->args[1]->kind == VALUE_CONST && find_constant(value->args[1], &by) && by >= 1;
}

/* A quotient, of which the value is the whole part; else NULL. */
static const Value *cut_off(const Value *value)
{
	bool floor = value->kind == VALUE_OP && (value->op == OP_FLOOR || value->op == OP_TRUNC);
	bool cast = value->kind == VALUE_CAST && value->dtype != DTYPE_BOOL &&
		    dtype_is_integer(value->dtype);
	return (floor || cast) && is_quotient(value->args[0]) ? value->args[0] : NULL;
}

/* Cut off towards zero, which is down where x is not below 0. */
static bool find_quotient(Section *s, const Value *quotient, bool down, Interval *range)
{
	Interval x, by;
	if (!section_of(s, quotient->args[0], &x) || !section_of(s, quotient->args[1], &by) ||
	    (down && x.lo < 0))
		return false;
	s->quotients = true;
	s->ops++;
	*range = (Interval){x.lo / by.lo, x.hi / by.lo};
	return true;
}

static bool find_op(Section *s, const Value *value, const Interval *x, Interval *range)
{
	Interval a = x[0], b = x[1];
	switch (value->op) {
	case OP_ADD: *range = (Interval){a.lo + b.lo, a.hi + b.hi}; return true;
	case OP_SUB: *range = (Interval){a.lo - b.hi, a.hi - b.lo}; return true;
	case OP_MUL:
		s->products = true;
		*range = product(a, b);
		return true;
	case OP_MOD: /* by a constant above 0 */
		s->quotients = true;
		*range = (Interval){0, b.hi - 1};
		return b.lo == b.hi && b.lo > 0;
	case OP_MIN: *range = (Interval){least_of(a.lo, b.lo), least_of(a.hi, b.hi)}; return true;
	case OP_MAX: *range = (Interval){most_of(a.lo, b.lo), most_of(a.hi, b.hi)}; return true;
	case OP_NEG: *range = (Interval){-a.hi, -a.lo}; return true;
	case OP_ABS:
		*range = (Interval){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, most_of(-a.lo, a.hi)};
		return true;
	case OP_RELU: *range = (Interval){most_of(a.lo, 0), most_of(a.hi, 0)}; return true;
	case OP_ID:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: *range = a; return true;
	case OP_WHERE: *range = hull(b, x[2]); return true;
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
	case OP_EQ:
	case OP_NE:
	case OP_AND:
	case OP_OR:
	case OP_NOT: *range = (Interval){0, 1}; return true;
	default: return false;
	}
}

/* Is it read as it is: an element of a byte, converted or not? */
static const Value *leaf_of(const Value *value)
{
	const Value *from = value->kind == VALUE_CAST ? value->args[0] : value;
	Dtype dtype = from->dtype;
	bool byte = dtype_is_byte(dtype) || dtype == DTYPE_BOOL;
	return byte && from->kind != VALUE_CONST && from->kind != VALUE_OP ? from : NULL;
}

static bool find_cast(Section *s, const Value *value, Interval *range)
{
	const Value *from = value->args[0];
	return (from->dtype == DTYPE_I32 || dtype_is_float(from->dtype)) &&
	       section_of(s, from, range);
}

static bool find_range(Section *s, const Value *value, Interval *range)
{
	const Value *leaf = leaf_of(value), *quotient = cut_off(value);
	if (leaf) {
		*range = whole_range(leaf->dtype);
		return true;
	}
	if (value->kind == VALUE_LOCAL) {
		*range = s->locals[value->local].range;
		return s->locals[value->local].known;
	}
	if (value->dtype != DTYPE_I32 && value->dtype != DTYPE_F32 && value->dtype != DTYPE_F64)
		return false;
	if (quotient)
		return find_quotient(s, quotient, value->op == OP_FLOOR, range);
	if (value->kind == VALUE_CAST)
		return find_cast(s, value, range);
	if (value->kind == VALUE_CONST) {
		bool whole = find_constant(value, &range->lo);
		range->hi = range->lo;
		return whole;
	}
	if (value->kind != VALUE_OP)
		return false;
	Interval x[3] = {{0, 0}, {0, 0}, {0, 0}};
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!section_of(s, value->args[i], &x[i]))
			return false;
	s->ops++;
	return find_op(s, value, x, range);
}

/* Between which whole numbers of 16 bits is it, and all that it is made from? false: that is not known. */
static bool section_of(Section *s, const Value *value, Interval *range)
{
	if (++s->values > VALUES_MOST || !find_range(s, value, range) || !is_in_16_bits(*range))
		return false;
	s->all = hull(s->all, *range);
	return true;
}

/* ---- the same in a narrow type ---- */

static const Value *made(Arena *arena, Dtype dtype, const Value *value)
{
	const Value *leaf = leaf_of(value), *quotient = cut_off(value), *args[3];
	int64_t number;
	if (leaf || value->kind == VALUE_LOCAL)
		return value_cast(arena, dtype, leaf ? leaf : value);
	if (quotient)
		value = quotient;
	if (value->kind == VALUE_CONST && find_constant(value, &number))
		return value_const(arena, dtype, (Scalar){.i = number});
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = made(arena, dtype, value->args[i]);
	if (value->kind == VALUE_CAST)
		return args[0];
	Value *result = value_copy(arena, value_op(arena, value->op, dtype, args, value->nargs));
	result->span = value->span;
	return result;
}

/* DTYPE_NONE: there is none. */
static Dtype narrowest(const Section *s)
{
	static const Dtype types[] = {DTYPE_U8, DTYPE_I8, DTYPE_I16, DTYPE_U16, DTYPE_I16};
	size_t first = s->quotients ? 3 : s->products ? 2 : 0;
	for (size_t i = first; i < sizeof types / sizeof *types; i++)
		if (is_inside(s->all, types[i]))
			return types[i];
	return DTYPE_NONE;
}

/* From a float a cast to a byte takes its nearest number. */
static const Value *clamped(Arena *arena, const Value *value, Dtype to)
{
	const Value *least = value_const(arena, value->dtype, op_neutral(OP_MAX, to)),
		    *most = value_const(arena, value->dtype, op_neutral(OP_MIN, to));
	return value_binary(arena, OP_MAX, value_binary(arena, OP_MIN, value, most), least);
}

typedef struct Narrow {
	Arena *arena;
	LocalRange *locals;
} Narrow;

static bool is_sum(const Value *value)
{
	return value->kind == VALUE_OP && value->dtype == DTYPE_I32 &&
	       (value->op == OP_ADD || value->op == OP_SUB || value->op == OP_NEG);
}

/* The integer modulo 256, of which all but sums, differences and locals are numbers of a byte; NULL: they are not. */
static const Value *wrapped(const Narrow *n, const Value *value)
{
	Section s = {.locals = n->locals, .all = {0, 0}};
	Interval range;
	const Value *args[2] = {NULL, NULL};
	if (is_sum(value)) {
		for (uint32_t i = 0; i < value->nargs; i++)
			if (!(args[i] = wrapped(n, value->args[i])))
				return NULL;
		Value *sum = value_copy(
			n->arena, value_op(n->arena, value->op, DTYPE_U8, args, value->nargs));
		sum->span = value->span;
		return sum;
	}
	if (value->kind == VALUE_CONST && value->dtype == DTYPE_I32)
		return value_const(n->arena, DTYPE_U8, (Scalar){.i = (uint8_t)value->constant.i});
	if (value->kind == VALUE_LOCAL && value->dtype == DTYPE_I32)
		return value_cast(n->arena, DTYPE_U8, value);
	Dtype dtype = section_of(&s, value, &range) ? narrowest(&s) : DTYPE_NONE;
	return dtype_is_byte(dtype) ? value_cast(n->arena, DTYPE_U8, made(n->arena, dtype, value))
				    : NULL;
}

/* NULL: it is no such expression. */
static const Value *section(const Narrow *n, const Value *value)
{
	bool cast = value->kind == VALUE_CAST, cut = cut_off(value) != NULL;
	const Value *from = cast ? value->args[0] : value;
	Section s = {.locals = n->locals, .all = {0, 0}};
	Interval range;
	bool found = cut ? find_quotient(&s, from, false, &range) : section_of(&s, from, &range);
	if (cast && dtype_is_byte(value->dtype) && is_sum(from) &&
	    !(found && dtype_is_byte(narrowest(&s)))) {
		const Value *byte = wrapped(n, from);
		if (byte)
			return value_cast(n->arena, value->dtype, byte);
	}
	if (!found || s.ops == 0)
		return NULL;
	bool clamps = cast && dtype_is_float(from->dtype) && dtype_is_byte(value->dtype) &&
		      !is_inside(range, value->dtype);
	if (clamps)
		s.all = hull(s.all, whole_range(value->dtype));
	Dtype dtype = narrowest(&s);
	if (dtype == DTYPE_NONE)
		return NULL;
	const Value *narrow = made(n->arena, dtype, from);
	return value_cast(n->arena, value->dtype,
			  clamps ? clamped(n->arena, narrow, value->dtype) : narrow);
}

/* What an integer is made of, up to floats that are no whole numbers; the same where nothing changes. */
static const Value *narrowed(const Narrow *n, const Value *value)
{
	bool small = dtype_is_byte(value->dtype) || value->dtype == DTYPE_BOOL;
	if ((value->kind != VALUE_CAST && value->kind != VALUE_OP) ||
	    (value->dtype != DTYPE_I32 && !small))
		return value;
	const Value *whole = section(n, value);
	if (whole)
		return whole;
	Value *copy = value_copy(n->arena, value);
	bool changed = false;
	for (uint32_t i = 0; i < value->nargs; i++) {
		copy->args[i] = narrowed(n, value->args[i]);
		changed |= copy->args[i] != value->args[i];
	}
	return changed ? copy : value;
}

/* ---- the statements of a kernel ---- */

static void count_settings(void *of, const Stmt *stmt)
{
	if (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET)
		((LocalRange *)of)[stmt->local].times++;
}

static Block narrowed_block(const Narrow *n, Block block);

static const Stmt *narrowed_stmt(const Narrow *n, const Stmt *stmt)
{
	bool lanes =
		stmt->kind == LOOP_FOR && (stmt->loop == LOOP_VECTOR || stmt->loop == LOOP_MATRIX ||
					   stmt->loop == LOOP_GROUP);
	bool sets = stmt->kind == LOOP_STORE || stmt->kind == LOOP_SET || stmt->kind == LOOP_LOCAL;
	Block body = lanes ? stmt->body : narrowed_block(n, stmt->body);
	const Value *value = sets && stmt->value ? narrowed(n, stmt->value) : stmt->value;
	if (body.stmts == stmt->body.stmts && value == stmt->value)
		return stmt;
	Stmt *copy = ARENA_NEW(n->arena, Stmt);
	*copy = *stmt;
	copy->body = body;
	copy->value = value;
	return copy;
}

static Block narrowed_block(const Narrow *n, Block block)
{
	Body body = {0};
	bool same = true;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind == LOOP_LOCAL && stmt->value && n->locals[stmt->local].times == 1) {
			LocalRange *local = &n->locals[stmt->local];
			Section s = {.locals = n->locals};
			local->known = section_of(&s, stmt->value, &local->range);
		}
		const Stmt *made = narrowed_stmt(n, stmt);
		same = same && made == stmt;
		PUSH(n->arena, body.stmts, made);
	}
	return same ? block : body_block(&body);
}

Block narrow_loops(const Vectoring *t)
{
	Arena *arena = t->program->arena;
	Narrow n = {arena, ARENA_ARRAY(arena, LocalRange, t->kernel->nlocals + 1)};
	block_each(t->kernel->body, count_settings, n.locals);
	return narrowed_block(&n, t->kernel->body);
}
