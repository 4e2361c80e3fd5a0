/* Scalar operations as C. The four arithmetic operators of floats stand in the expression; every
 * other operation is a call of a small function whose body is base/ops_real.def's own text, or the
 * integer table below (T: the type, U: its unsigned twin). Only the functions in use are written.
 */
#include "codegen/c_text.h"

#include <math.h>
#include <string.h>

static const char *const real_text[OP_COUNT + 1] = {
#define REAL(name, expression) [OP_##name] = #expression,
#include "base/ops_real.def"
#undef REAL
};

/* Signed types; where unsigned ones differ, the second column. */
static const struct {
	const char *body, *unsigned_body;
} int_text[OP_COUNT + 1] = {
	[OP_ADD] = {"return (T)((U)x + (U)y);", NULL},
	[OP_SUB] = {"return (T)((U)x - (U)y);", NULL},
	[OP_MUL] = {"return (T)((U)x * (U)y);", NULL},
	[OP_FMA] = {"return (T)((U)x * (U)y + (U)z);", NULL},
	[OP_NEG] = {"return (T)(0 - (U)x);", NULL},
	[OP_DIV] = {"return y == 0 ? 0 : y == -1 ? (T)(0 - (U)x) : (T)(x / y);",
		    "if (y > 0 && (y & (y - 1)) == 0)\n\t\treturn (T)(x >> __builtin_ctzll(y));\n"
		    "\treturn y == 0 ? 0 : (T)(x / y);"},
	[OP_MOD] = {"if (y > 0 && (y & (y - 1)) == 0)\n\t\treturn (T)(x & (y - 1));\n"
		    "\tif (y == 0 || y == -1)\n\t\treturn 0;\n\tx = (T)(x % y);\n"
		    "\treturn (T)(x != 0 && (x < 0) != (y < 0) ? x + y : x);",
		    "return y == 0 ? 0 : (T)(x % y);"},
	[OP_POW] = {"uint64_t power = (uint64_t)x, result = 1;\n\tif (y < 0)\n"
		    "\t\treturn x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;\n"
		    "\tfor (; y > 0; y = (T)(y / 2), power *= power)\n"
		    "\t\tif (y % 2)\n\t\t\tresult *= power;\n\treturn (T)result;",
		    "uint64_t power = (uint64_t)x, result = 1;\n"
		    "\tfor (; y > 0; y = (T)(y / 2), power *= power)\n"
		    "\t\tif (y % 2)\n\t\t\tresult *= power;\n\treturn (T)result;"},
	[OP_LT] = {"return x < y;", NULL},
	[OP_LE] = {"return x <= y;", NULL},
	[OP_GT] = {"return x > y;", NULL},
	[OP_GE] = {"return x >= y;", NULL},
	[OP_EQ] = {"return x == y;", NULL},
	[OP_NE] = {"return x != y;", NULL},
	[OP_AND] = {"return x != 0 && y != 0;", NULL},
	[OP_OR] = {"return x != 0 || y != 0;", NULL},
	[OP_NOT] = {"return x == 0;", NULL},
	[OP_MAX] = {"return x > y ? x : y;", NULL},
	[OP_MIN] = {"return x < y ? x : y;", NULL},
	[OP_RELU_GATE] = {"return x > 0 ? y : 0;", NULL},
	[OP_RELU] = {"return x > 0 ? x : 0;", NULL},
	[OP_SAT01] = {"return x > 0;", NULL},
	[OP_ABS] = {"return x < 0 ? (T)(0 - (U)x) : x;", "return x;"},
	[OP_SIGN] = {"return (T)((x > 0) - (x < 0));", "return x > 0;"},
	[OP_WHERE] = {"return x != 0 ? y : z;", NULL},
	[OP_ID] = {"return x;", NULL},
	[OP_FLOOR] = {"return x;", NULL},
	[OP_CEIL] = {"return x;", NULL},
	[OP_ROUND] = {"return x;", NULL},
	[OP_TRUNC] = {"return x;", NULL},
};

static const char *unsigned_type(Dtype dtype)
{
	switch (dtype_bytes(dtype)) {
	case 1: return "uint8_t";
	case 2: return "uint16_t";
	case 4: return "uint32_t";
	default: return "uint64_t";
	}
}

/* T and U stand alone in the texts above. */
static void put_int_body(FILE *out, const char *body, Dtype dtype)
{
	for (const char *p = body; *p; p++)
		if (*p == 'T' && p[1] == ')')
			fputs(c_type(dtype), out);
		else if (*p == 'U' && p[1] == ')')
			fputs(unsigned_type(dtype), out);
		else
			putc(*p, out);
}

/* Those of integers would overflow. */
bool c_is_infix(Op op, Dtype dtype)
{
	return dtype_is_float(dtype) && (op == OP_ADD || op == OP_SUB || op == OP_MUL ||
					 op == OP_DIV || op == OP_NEG || op == OP_ID);
}

static void put_real_body(FILE *out, Op op, Dtype dtype)
{
	if (op == OP_GELU)
		fprintf(out, "const %s half_root = 0.70710678118654752440%s;\n\t", c_type(dtype),
			dtype == DTYPE_F32 ? "f" : "");
	if (op == OP_MOD)
		fprintf(out, "x = fmod(x, y);\n\treturn x != 0 && (x < 0) != (y < 0) ? x + y : x;");
	else if (op == OP_MAX || op == OP_MIN) /* here and below, one choice after the other */
		fprintf(out, "y = x %s y ? x : y;\n\treturn x != x ? x : y;",
			op == OP_MAX ? ">" : "<");
	else if (op == OP_SAT01) /* each is an instruction of vectors */
		fprintf(out, "x = x > 1 ? 1 : x;\n\treturn x < 0 ? 0 : x;");
	else if (op == OP_ISINF) /* one comparison */
		fprintf(out, "return fabs(x) == (%s)INFINITY;", c_type(dtype));
	else
		fprintf(out, "return %s;", real_text[op]);
}

/* Is the function written out, or libm's? */
static bool is_inline(const Module *m, Op op, Dtype dtype)
{
	bool strict = m->emit->options->strict_fp && !math_is_exact(op);
	return math_has(op, dtype) && !strict &&
	       (module_has_fused(m) || !math_wants_fma(op, dtype));
}

/* Is it the fast path, and the library's where an argument is far? */
static bool ends_in_library(const Module *m, Op op, Dtype dtype)
{
	return math_ends_in_library(op, dtype) && !m->emit->options->strict_fp;
}

static bool is_written_out(const Module *m, Op op, Dtype dtype)
{
	return is_inline(m, op, dtype) || ends_in_library(m, op, dtype);
}

/* Of functions that have sums with products. */
static const char *inline_text(const Module *m)
{
	bool many = module_fuses(m, DTYPE_F32) && !m->program->options.gpu;
	return many ? "TSR_INLINE" : "inline";
}

/* A function of one form, `fn`, in place of the whole operation. */
static void put_form(FILE *out, const Module *m, const char *form, Op op, Dtype dtype)
{
	bool far = strcmp(form, "far_") == 0;
	MathFunction fn =
		far ? math_is_far(m->arena, op, dtype) : math_fast_path(m->arena, op, dtype);
	fprintf(out, "static %s %s tsr_%s%s_%s(%s x", inline_text(m),
		far ? "int32_t" : c_type(dtype), form, op_name(op), dtype_name(dtype),
		c_type(dtype));
	fprintf(out, op_arity(op) > 1 ? ", %s y)\n{\n\t" : ")\n{\n\t", c_type(dtype));
	c_put_math(out, m, &fn);
	fprintf(out, "\n}\n\n");
}

static void put_fast_path(FILE *out, const Module *m, Op op, Dtype dtype)
{
	MathFunction fast = math_fast_path(m->arena, op, dtype);
	fprintf(out, "if (tsr_far_%s_%s(x))\n\t\treturn %s;\n\t", op_name(op), dtype_name(dtype),
		real_text[op]);
	c_put_math(out, m, &fast);
}

static void put_op(FILE *out, const Module *m, Op op, Dtype dtype)
{
	static const char *const names[] = {"x", "y", "z"};
	const char *type = c_type(dtype);
	fprintf(out, "static %s %s tsr_%s_%s(",
		is_written_out(m, op, dtype) ? inline_text(m) : "inline", type, op_name(op),
		dtype_name(dtype));
	for (int i = 0; i < op_arity(op); i++)
		fprintf(out, "%s%s %s", i ? ", " : "", type, names[i]);
	fprintf(out, ")\n{\n\t");
	const char *body = int_text[op].body;
	if (dtype_is_unsigned(dtype) && int_text[op].unsigned_body)
		body = int_text[op].unsigned_body;
	if (is_inline(m, op, dtype)) {
		c_put_math_forms(out, m, op, dtype);
	} else if (ends_in_library(m, op, dtype)) {
		put_fast_path(out, m, op, dtype);
	} else if (dtype_is_float(dtype)) {
		put_real_body(out, op, dtype);
	} else if (body) {
		put_int_body(out, body, dtype);
	} else { /* a fractional result: these operations belong to floats */
		fprintf(out, "%s%s%sreturn 0;", "(void)x;\n\t",
			op_arity(op) > 1 ? "(void)y;\n\t" : "",
			op_arity(op) > 2 ? "(void)z;\n\t" : "");
	}
	fprintf(out, "\n}\n\n");
}

/* Constants of an integer type; the least 64-bit one is no literal of C. */
static const char *int_constant(Arena *arena, Dtype dtype, int64_t value)
{
	if (dtype == DTYPE_I64)
		return value == INT64_MIN ? "INT64_MIN"
					  : arena_printf(arena, "INT64_C(%lld)", (long long)value);
	if (dtype == DTYPE_I32 && value == INT32_MIN)
		return "INT32_MIN";
	return arena_printf(arena, "%lld%s", (long long)value, dtype == DTYPE_U32 ? "u" : "");
}

static bool saturates(Dtype from, Dtype to)
{
	return dtype_is_float(from) && dtype_is_integer(to) && to != DTYPE_BOOL;
}

/* One choice after the other, each an instruction of vectors. The greatest number may be rounded up to one
 * that does not fit. */
static void put_saturating(FILE *out, const Module *m, Dtype from, Dtype to)
{
	const char *least = int_constant(m->arena, to, op_neutral(OP_MAX, to).i);
	const char *greatest = int_constant(m->arena, to, op_neutral(OP_MIN, to).i);
	const char *real = c_type(from), *type = c_type(to);
	fprintf(out,
		"static inline %s tsr_%s_from_%s(%s x)\n{\n"
		"\tx = x != x ? 0 : x;\n\tx = x < (%s)%s ? (%s)%s : x;\n",
		type, dtype_name(to), dtype_name(from), real, real, least, real, least);
	if (dtype_is_byte(to))
		fprintf(out, "\tx = x > %s ? %s : x;\n\treturn (%s)(int32_t)x;\n}\n\n", greatest,
			greatest, type);
	else
		fprintf(out,
			"\tconst %s whole = (%s)(x >= (%s)%s ? 0 : x);\n"
			"\treturn x >= (%s)%s ? %s : whole;\n}\n\n",
			type, type, real, greatest, real, greatest, greatest);
}

static void put_index_helpers(FILE *out)
{
	fprintf(out, "/* Arithmetic of indices: division rounds down. */\n"
		     "static inline int64_t tsr_floor_div(int64_t a, int64_t b)\n{\n"
		     "\treturn b == 0 ? 0 : a / b - (a %% b != 0 && (a < 0) != (b < 0));\n}\n\n"
		     "static inline int64_t tsr_floor_mod(int64_t a, int64_t b)\n{\n"
		     "\treturn a - b * tsr_floor_div(a, b);\n}\n\n"
		     "static inline int64_t tsr_least(int64_t a, int64_t b)\n{\n"
		     "\treturn a < b ? a : b;\n}\n\n"
		     "static inline int64_t tsr_most(int64_t a, int64_t b)\n{\n"
		     "\treturn a > b ? a : b;\n}\n\n");
}

/* What conversions by way of f32 call, as conversions of their own; false: there are none. */
static bool use_halves(const Module *m, KernelUse *all)
{
	static const Dtype halves[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F8E4M3, DTYPE_F8E5M2};
	bool used = false;
	for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
		Dtype half = halves[i];
		for (Dtype d = 0; d < DTYPE_COUNT; d++) {
			used |= all->casts[half][d] || all->casts[d][half];
			all->casts[half][DTYPE_F32] |= all->casts[half][d];
			all->casts[DTYPE_F32][d] |= all->casts[half][d];
			all->casts[DTYPE_F32][half] |= all->casts[d][half];
		}
		all->casts[DTYPE_F32][half] |= module_has_uniform(m, half);
		used |= all->casts[DTYPE_F32][half];
	}
	return used;
}

/* The body of the conversion in one instruction of a GPU, whose NaN may have other bits; NULL: there is none. */
static const char *cuda_half(Dtype from, Dtype to)
{
	if (from == DTYPE_F32 && to == DTYPE_BF16)
		return "\ttsr_bf16 y;\n\tasm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n\treturn y;";
	if (from == DTYPE_F32 && to == DTYPE_F16)
		return "\ttsr_f16 y;\n\tasm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n\treturn y;";
	if (from == DTYPE_F16 && to == DTYPE_F32)
		return "\tfloat y;\n\tasm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n\treturn y;";
	return NULL;
}

static void put_half(FILE *out, const Module *m, Dtype from, Dtype to)
{
	MathFunction fn =
		dtype_is_small_float(from) ? math_widen(m->arena, from) : math_narrow(m->arena, to);
	const char *instruction = m->program->options.gpu ? cuda_half(from, to) : NULL;
	fprintf(out, "static inline %s tsr_%s_from_%s(%s x)\n{\n", c_type(to), dtype_name(to),
		dtype_name(from), c_type(from));
	if (instruction)
		fprintf(out, "#ifdef __CUDACC__\n%s\n#else\n", instruction);
	fprintf(out, "\t");
	c_put_math(out, m, &fn);
	fprintf(out, "\n%s}\n\n", instruction ? "#endif\n" : "");
}

static void put_math_helpers(FILE *out, const Module *m, const KernelUse *all, bool needed)
{
	for (Op op = 0; op < OP_COUNT; op++)
		needed |= all->fast_path[op][DTYPE_F32] || all->fast_path[op][DTYPE_F64] ||
			  (all->ops[op][DTYPE_F32] && is_written_out(m, op, DTYPE_F32)) ||
			  (all->ops[op][DTYPE_F64] && is_written_out(m, op, DTYPE_F64));
	if (needed)
		c_put_math_helpers(out);
	bool turns = all->ops[OP_SIN][DTYPE_F32] || all->ops[OP_COS][DTYPE_F32];
	if (turns && is_inline(m, OP_SIN, DTYPE_F32)) /* both have the same tables */
		c_put_math_tables(out, m->arena, OP_SIN, DTYPE_F32);
}

/* The operation's own function calls what tells far arguments, too. */
static void put_forms(FILE *out, const Module *m, const KernelUse *all, Op op, Dtype d)
{
	if (all->far[op][d] || (all->ops[op][d] && ends_in_library(m, op, d)))
		put_form(out, m, "far_", op, d);
	if (all->fast_path[op][d])
		put_form(out, m, "fast_", op, d);
}

static void put_key(FILE *out, const Module *m, Dtype from)
{
	MathFunction fn = math_key(m->arena, from);
	fprintf(out, "static inline %s tsr_key_%s(%s x)\n{\n\t", c_type(dtype_of_key(from)),
		dtype_name(from), c_type(from));
	c_put_math(out, m, &fn);
	fprintf(out, "\n}\n\n");
}

/* Element i of two a byte. */
static void put_packed_load(FILE *out, Dtype dtype)
{
	bool is_signed = !dtype_is_unsigned(dtype);
	fprintf(out,
		"static inline %s tsr_%s(const uint8_t *p, int64_t i)\n{\n"
		"\tconst int x = p[i >> 1] >> (i & 1) * 4 & 15;\n"
		"\treturn (%s)%s;\n}\n\n",
		c_type(dtype_alone(dtype)), dtype_name(dtype), c_type(dtype_alone(dtype)),
		is_signed ? "((x ^ 8) - 8)" : "x");
}

void c_put_helpers(FILE *out, const Module *m)
{
	KernelUse *all = ARENA_NEW(m->arena, KernelUse);
	for (KernelId k = 0; k < m->program->kernels.n; k++) {
		const KernelUse *use = m->kernels[k].use;
		for (Op op = 0; op < OP_COUNT; op++)
			for (Dtype d = 0; d < DTYPE_COUNT; d++) {
				all->ops[op][d] |= use->ops[op][d];
				all->fast_path[op][d] |= use->fast_path[op][d];
				all->far[op][d] |= use->far[op][d];
			}
		for (Dtype from = 0; from < DTYPE_COUNT; from++) {
			all->keys[from] |= use->keys[from];
			all->halves[from] |= use->halves[from];
		}
		for (Dtype from = 0; from < DTYPE_COUNT; from++)
			for (Dtype to = 0; to < DTYPE_COUNT; to++)
				all->casts[from][to] |= use->casts[from][to];
	}
	bool halves = use_halves(m, all);
	put_index_helpers(out);
	for (Dtype d = 0; d < DTYPE_COUNT; d++)
		if (all->halves[d] && dtype_is_packed(d))
			put_packed_load(out, d);
	put_math_helpers(out, m, all, halves || all->keys[DTYPE_F32] || all->keys[DTYPE_F64]);
	c_put_words(out, m, all);
	for (Op op = 0; op < OP_COUNT; op++)
		for (Dtype d = 0; d < DTYPE_COUNT; d++)
			put_forms(out, m, all, op, d);
	for (Op op = 0; op < OP_COUNT; op++)
		for (Dtype d = 0; d < DTYPE_COUNT; d++)
			if (all->ops[op][d] && !c_is_infix(op, d) && d != DTYPE_U4X32)
				put_op(out, m, op, d);
	for (Dtype from = 0; from < DTYPE_COUNT; from++)
		if (all->keys[from])
			put_key(out, m, from);
	for (Dtype from = 0; from < DTYPE_COUNT; from++)
		for (Dtype to = 0; to < DTYPE_COUNT; to++)
			if (all->casts[from][to] && saturates(from, to) &&
			    !dtype_is_small_float(from))
				put_saturating(out, m, from, to);
			else if (all->casts[from][to] &&
				 dtype_is_small_float(from) != dtype_is_small_float(to) &&
				 (from == DTYPE_F32 || to == DTYPE_F32))
				put_half(out, m, from, to);
}

const char *c_op(Arena *arena, Op op, Dtype dtype, const char *const *args)
{
	if (op == OP_ID && dtype_is_float(dtype))
		return args[0];
	if (op == OP_NEG && dtype_is_float(dtype))
		return arena_printf(arena, "(-%s)", args[0]);
	if (c_is_infix(op, dtype)) {
		const char *symbol = op == OP_MUL ? "*" : op_symbol(op);
		return arena_printf(arena, "(%s %s %s)", args[0], symbol, args[1]);
	}
	return c_call(arena, "", op, dtype, args);
}

const char *c_call(Arena *arena, const char *form, Op op, Dtype dtype, const char *const *args)
{
	const char *text = arena_printf(arena, "tsr_%s%s_%s(%s", form, op_name(op),
					dtype_name(dtype), args[0]);
	for (int i = 1; i < op_arity(op); i++)
		text = arena_printf(arena, "%s, %s", text, args[i]);
	return arena_printf(arena, "%s)", text);
}

const char *c_cast(Arena *arena, Dtype from, Dtype to, const char *value)
{
	if (from == to)
		return value;
	if (to == DTYPE_U4X32)
		return arena_printf(arena, "tsr_u4x32_from_i64(%s)", value);
	if (from == DTYPE_U4X32)
		return arena_printf(arena, "tsr_f32_from_u4x32(%s)", value);
	if (dtype_is_small_float(from) && to != DTYPE_F32)
		return c_cast(arena, DTYPE_F32, to, c_cast(arena, from, DTYPE_F32, value));
	if (dtype_is_small_float(to) && from != DTYPE_F32)
		return c_cast(arena, DTYPE_F32, to, c_cast(arena, from, DTYPE_F32, value));
	if (dtype_is_small_float(from) || dtype_is_small_float(to))
		return arena_printf(arena, "tsr_%s_from_%s(%s)", dtype_name(to), dtype_name(from),
				    value);
	if (from == DTYPE_BOOL || to == DTYPE_BOOL)
		return arena_printf(arena, "(%s)(%s != 0)", c_type(to), value);
	if (saturates(from, to))
		return arena_printf(arena, "tsr_%s_from_%s(%s)", dtype_name(to), dtype_name(from),
				    value);
	return arena_printf(arena, "(%s)(%s)", c_type(to), value);
}

const char *c_constant(Arena *arena, Dtype dtype, Scalar constant)
{
	if (dtype == DTYPE_U4X32)
		return c_cast(arena, DTYPE_I64, dtype, int_constant(arena, DTYPE_I64, constant.i));
	if (!dtype_is_float(dtype)) {
		const char *text = int_constant(arena, dtype, constant.i);
		return *text == '-' ? arena_printf(arena, "(%s)", text) : text;
	}
	if (dtype_is_small_float(dtype))
		return arena_printf(arena, "0x%04x", half_bits(dtype, constant));
	double x = constant.f;
	if (isnan(x))
		return dtype == DTYPE_F32 ? "NAN" : "(double)NAN";
	if (isinf(x))
		return arena_printf(arena, "%s%sINFINITY%s", x < 0 ? "(-" : "",
				    dtype == DTYPE_F32 ? "" : "(double)", x < 0 ? ")" : "");
	const char *text = arena_printf(arena, dtype == DTYPE_F32 ? "%.9g" : "%.17g", x);
	const char *point = strpbrk(text, ".e") ? "" : ".0",
		   *suffix = dtype == DTYPE_F32 ? "f" : "";
	return arena_printf(arena, signbit(x) ? "(%s%s%s)" : "%s%s%s", text, point, suffix);
}
