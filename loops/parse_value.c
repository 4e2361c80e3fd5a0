/* Values and indices of a text of loops, by recursive descent; built by the constructors of build.h,
 * which keep indices as sums in one form and fold constants.
 *
 *   ix      := term { ("+" | "-") term }           term := unit { ("*" | "/" | "%") unit }
 *   unit    := N | "-" unit | NAME | "(" ix ")" | ("min" | "max") "(" ix "," ix ")" | "int" "(" value ")"
 *            | "floor" "(" unit { "*" unit } "/" unit ")"
 *   value   := atom [INFIX atom]
 *   atom    := ["-"] NUMBER | "(" value ")" | NAME ["[" ix , ... "]"] | OP "(" value , ... ")"
 *            | DTYPE "(" (value | ix) ")" | "uniform" "(" value ")" | "key" "(" value ")"
 *
 * "/" of sizes is exact, else it rounds down.
 */
#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "loops/parse_text.h"

const ScopeName *parse_scope(const LoopsParser *p, Sym name)
{
	for (size_t i = p->scope.n; i-- > 0;)
		if (p->scope.at[i].name == name)
			return &p->scope.at[i];
	return NULL;
}

BufferId buffer_find(const LoopsParser *p, Sym name)
{
	NameIndex *buffers = p->buffers;
	ptrdiff_t found = hmgeti(buffers, name);
	for (uint32_t i = found < 0 ? 0 : buffers[found].value; i; i = p->next_buffer.at[i - 1]) {
		const Buffer *buffer = &p->program->buffers.at[i - 1];
		bool own = buffer->kind != BUFFER_PARAM && buffer->kind != BUFFER_CONST &&
			   buffer->kind != BUFFER_PACKED;
		if (!own || p->routine == ROUTINE_NONE || buffer->routine == p->routine)
			return i - 1;
	}
	return BUFFER_NONE;
}

/* ---- indices ---- */

static const Ix *ix_nothing(const LoopsParser *p) { return ix_const(p->program, 0); }

static const Ix *checked(LoopsParser *p, const Ix *ix)
{
	if (ix->kind != IX_SIZE || !size_is_bad(ix->size))
		return ix;
	lex_fail(p, "a size that is too large or has too many terms");
	return ix_nothing(p);
}

static const Ix *parse_unit(LoopsParser *p);

static const Ix *quotient(LoopsParser *p, const Ix *a, const Ix *b)
{
	if (a->kind == IX_SIZE && b->kind == IX_SIZE)
		return checked(p, ix_size(p->arena, size_div(p->program->sizes, a->size, b->size)));
	return checked(p, ix_binary(p->program, IX_DIV, a, b));
}

static const Ix *parse_term(LoopsParser *p)
{
	const Ix *ix = parse_unit(p);
	for (;;) {
		if (lex_take(p, "*"))
			ix = checked(p, ix_mul(p->program, ix, parse_unit(p)));
		else if (lex_take(p, "/"))
			ix = quotient(p, ix, parse_unit(p));
		else if (lex_take(p, "%"))
			ix = checked(p, ix_binary(p->program, IX_MOD, ix, parse_unit(p)));
		else
			return ix;
	}
}

const Ix *parse_ix(LoopsParser *p)
{
	const Ix *ix = parse_term(p), *minus = ix_const(p->program, -1);
	for (;;) {
		if (lex_take(p, "+"))
			ix = checked(p, ix_add(p->program, ix, parse_term(p)));
		else if (lex_take(p, "-"))
			ix = checked(p, ix_add(p->program, ix,
					       ix_mul(p->program, parse_term(p), minus)));
		else
			return ix;
	}
}

Size parse_size(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	const Ix *ix = parse_ix(p);
	if (ix->kind == IX_SIZE)
		return ix->size;
	lex_fail_at(p, lex_span(p, lex), "a size is expected here, of numbers and dims");
	return size_const(p->program->sizes, 0);
}

/* floor(a/b), the sum a in parentheses. */
static const Ix *parse_floor(LoopsParser *p)
{
	Program *program = p->program;
	int64_t by = 0;
	lex_want(p, "(");
	const Ix *a = parse_unit(p);
	while (lex_take(p, "*"))
		a = checked(p, ix_mul(program, a, parse_unit(p)));
	lex_want(p, "/");
	const Ix *b = parse_unit(p);
	bool sizes = a->kind == IX_SIZE && b->kind == IX_SIZE;
	if (!p->failed && sizes && size_is_const(program->sizes, b->size, &by) && by <= 0)
		lex_fail(p, "a division by nothing, or by less");
	lex_want(p, ")");
	if (p->failed)
		return ix_nothing(p);
	if (sizes && by > 0)
		return checked(p,
			       ix_size(p->arena, size_floor_written(program->sizes, a->size, by)));
	return checked(p, ix_binary(program, IX_DIV, a, b));
}

static const Ix *parse_extreme(LoopsParser *p, IxKind kind)
{
	lex_want(p, "(");
	const Ix *a = parse_ix(p);
	lex_want(p, ",");
	const Ix *b = parse_ix(p);
	lex_want(p, ")");
	return ix_binary(p->program, kind, a, b);
}

static const Ix *ix_named(LoopsParser *p, Sym name, Span span)
{
	NameIndex *dims = p->dims;
	const ScopeName *scope = parse_scope(p, name);
	if (scope && !scope->local)
		return ix_iter(p->arena, scope->id);
	ptrdiff_t dim = scope ? -1 : hmgeti(dims, name);
	if (dim >= 0)
		return ix_size(p->arena, size_dim(p->program->sizes, dims[dim].value));
	lex_fail_at(p, span,
		    arena_printf(p->arena, "no loop around this and no dim is named '%s'", name));
	return ix_nothing(p);
}

static Dtype dtype_ahead(const LoopsParser *p, bool *index);

static const Ix *parse_read(LoopsParser *p)
{
	bool index = false;
	lex_want(p, "(");
	const Lex *lex = lex_now(p);
	Dtype dtype = dtype_ahead(p, &index);
	if (!p->failed && (dtype == DTYPE_NONE || !dtype_is_integer(dtype)))
		lex_fail(p, "an integer is expected here");
	const Value *value = p->failed ? NULL : parse_value(p, dtype);
	lex_want(p, ")");
	(void)lex;
	return p->failed ? ix_nothing(p) : ix_value(p->arena, value);
}

static const Ix *unit(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	if (lex->kind == LEX_NUMBER)
		return checked(p, ix_const(p->program, lex_number(p)));
	if (lex_take(p, "-"))
		return checked(p, ix_times(p->program, parse_unit(p), -1));
	if (lex_take(p, "(")) {
		const Ix *ix = parse_ix(p);
		lex_want(p, ")");
		return ix;
	}
	Sym name = lex_name(p, "an index");
	if (!lex_calls(p, lex))
		return p->failed ? ix_nothing(p) : ix_named(p, name, lex_span(p, lex));
	if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
		return parse_extreme(p, name[1] == 'i' ? IX_MIN : IX_MAX);
	if (strcmp(name, "floor") == 0)
		return parse_floor(p);
	if (strcmp(name, "int") == 0)
		return parse_read(p);
	lex_fail_at(p, lex_span(p, lex), "no function of indices is named so");
	return ix_nothing(p);
}

static const Ix *parse_unit(LoopsParser *p)
{
	const Ix *ix = lex_deeper(p) ? unit(p) : ix_nothing(p);
	p->depth--;
	return ix;
}

const Ix **parse_ixs(LoopsParser *p, uint32_t rank)
{
	const Ix **ixs = ARENA_ARRAY(p->arena, const Ix *, rank + 1);
	for (uint32_t i = 0; i < rank; i++) {
		lex_want(p, i ? "," : "[");
		ixs[i] = parse_ix(p);
	}
	if (rank)
		lex_want(p, "]");
	return ixs;
}

/* ---- numbers ---- */

static const Value *nothing(const LoopsParser *p, Dtype dtype)
{
	return value_const(p->arena, dtype, (Scalar){0});
}

/* inf, nan or digits. */
static double parse_double(LoopsParser *p)
{
	bool minus = lex_take(p, "-");
	const Lex *lex = lex_now(p);
	bool word = lex_is(p, lex, "inf") || lex_is(p, lex, "nan");
	if (lex->kind != LEX_NUMBER && !word) {
		lex_fail(p, "a number is expected here");
		return 0;
	}
	double value = strtod(p->source->text + lex->start, NULL);
	p->at++;
	return minus ? -value : value;
}

Scalar parse_scalar(LoopsParser *p, Dtype dtype)
{
	if (dtype_is_float(dtype))
		return scalar_of(dtype, parse_double(p));
	const Lex *lex = lex_now(p);
	Scalar scalar = {0};
	scalar.i = lex_number(p);
	bool words = dtype == DTYPE_U4X32 || dtype == DTYPE_I64;
	if (!words && scalar_convert(scalar, DTYPE_I64, dtype).i != scalar.i)
		lex_fail_at(p, lex_span(p, lex),
			    arena_printf(p->arena, "a number that is no %s", dtype_name(dtype)));
	return scalar;
}

/* ---- values ---- */

/* The function whose name begins so many bytes behind the token's start. */
static Op op_called(const LoopsParser *p, const Lex *lex, uint32_t skip)
{
	const char *text = p->source->text + lex->start + skip;
	for (int op = 0; op < OP_COUNT && lex->kind == LEX_NAME && lex->len > skip; op++)
		if (strlen(op_name((Op)op)) == lex->len - skip &&
		    memcmp(op_name((Op)op), text, lex->len - skip) == 0)
			return (Op)op;
	return OP_NONE;
}

static bool begins(const LoopsParser *p, const Lex *lex, const char *prefix)
{
	return lex->len > strlen(prefix) &&
	       strncmp(p->source->text + lex->start, prefix, strlen(prefix)) == 0;
}

Op parse_infix(LoopsParser *p)
{
	if (lex_now(p)->kind != LEX_SYMBOL)
		return OP_NONE;
	for (int op = 0; op < OP_COUNT; op++) {
		const char *symbol = op == OP_MUL ? "*" : op_symbol((Op)op);
		if (symbol && op_arity((Op)op) == 2 && lex_take(p, symbol))
			return (Op)op;
	}
	return OP_NONE;
}

/* What a name says: the type of a value; an index; or nothing, as of functions of both. */
static Dtype dtype_of_name(const LoopsParser *p, const Lex *lex, const Lex *next, bool *index)
{
	const char *text = p->source->text + lex->start;
	Sym name = sym_intern(p->program->symbols, text, lex->len);
	const ScopeName *scope = parse_scope(p, name);
	NameIndex *dims = p->dims;
	if (lex_calls(p, lex)) {
		*index = lex_is(p, lex, "int");
		return lex_is(p, lex, "uniform") ? DTYPE_F32
		       : begins(p, lex, "far_")	 ? DTYPE_I32
						 : dtype_in_loops(text, lex->len);
	}
	bool axes = lex_is(p, next, "[");
	if (scope && scope->local && axes == (p->kernel.locals[scope->id].rank > 0))
		return p->kernel.locals[scope->id].dtype;
	BufferId buffer = axes ? buffer_find(p, name) : BUFFER_NONE;
	if (buffer != BUFFER_NONE)
		return dtype_alone(p->program->buffers.at[buffer].dtype);
	const ProgramRoutine *routine =
		p->routine == ROUTINE_NONE ? NULL : program_routine(p->program, p->routine);
	for (uint32_t i = 0; routine && i < routine->nscalars && !scope; i++)
		if (routine->scalars[i].name == name) /* a dim of its name has its value */
			return routine->scalars[i].dtype;
	*index = scope || hmgeti(dims, name) >= 0;
	return DTYPE_NONE;
}

static bool is_key(const LoopsParser *p, const Lex *lex)
{
	return lex->kind == LEX_NAME && lex_is(p, lex, "key") && lex_calls(p, lex);
}

/* The type of the value that begins here and ends with its parenthesis; *index: it is an index, as is
 * what has no names. */
static Dtype dtype_ahead(const LoopsParser *p, bool *index)
{
	int depth = 0, key = -1; /* the depth of the key that this is inside of, or -1 */
	for (uint32_t i = p->at; i + 1 < p->tokens.n && depth >= 0; i++) {
		const Lex *lex = &p->tokens.at[i];
		depth += lex_is(p, lex, "(");
		depth -= lex_is(p, lex, ")");
		key = depth > key ? key : -1;
		if (lex->kind != LEX_NAME)
			continue;
		key = key < 0 && is_key(p, lex) ? depth : key;
		Dtype dtype = dtype_of_name(p, lex, lex + 1, index);
		if (dtype != DTYPE_NONE || *index)
			return key >= 0 && !*index ? dtype_of_key(dtype) : dtype;
	}
	*index = true;
	return DTYPE_NONE;
}

static const Value *typed(LoopsParser *p, const Value *value, Dtype dtype, const Lex *lex)
{
	if (p->failed || value->dtype == dtype)
		return p->failed ? nothing(p, dtype) : value;
	lex_fail_at(p, lex_span(p, lex),
		    arena_printf(p->arena, "this is %s, and what is around it %s",
				 dtype_name(value->dtype), dtype_name(dtype)));
	return nothing(p, dtype);
}

/* of: the token that says it. */
static const Value *operation(LoopsParser *p, Op op, Dtype dtype, const Value *const *args,
			      const Lex *of)
{
	bool words = op == OP_THREEFRY || op == OP_ZIP || op == OP_ROTATE;
	if (!p->failed && words != (dtype == DTYPE_U4X32))
		lex_fail_at(p, lex_span(p, of),
			    arena_printf(p->arena, "no operation on %s", dtype_name(dtype)));
	if (p->failed)
		return nothing(p, dtype);
	const Value *made = value_op(p->arena, op, dtype, args, (uint32_t)op_arity(op));
	if (made->kind != VALUE_OP)
		return made;
	Value *value = value_copy(p->arena, made);
	value->span = p->line;
	return value;
}

/* fast_OP(...), far_OP(...) */
static const Value *ranged(LoopsParser *p, const Value *call, bool far, const Lex *of)
{
	if (!p->failed && call->kind != VALUE_OP)
		lex_fail_at(p, lex_span(p, of), "an operation on numbers alone, which is a number");
	if (p->failed)
		return call;
	if (far)
		return value_far(p->arena, call);
	Value *fast = ARENA_NEW(p->arena, Value);
	*fast = *call;
	fast->fast_path = true;
	return fast;
}

/* OP(value, ...) */
static const Value *parse_call(LoopsParser *p, Dtype dtype)
{
	const Lex *lex = lex_now(p);
	bool far = begins(p, lex, "far_"), fast = begins(p, lex, "fast_");
	Op op = op_called(p, lex, far ? 4 : fast ? 5 : 0);
	const Value *args[3] = {NULL};
	if (op == OP_NONE) {
		lex_fail(p, "no operation is named so");
		return nothing(p, dtype);
	}
	p->at++;
	lex_want(p, "(");
	bool index = false;
	Dtype inner = far ? dtype_ahead(p, &index) : dtype;
	if (far && !p->failed && (inner == DTYPE_NONE || !dtype_is_float(inner)))
		lex_fail(p, "a float is expected here");
	inner = p->failed ? DTYPE_F32 : inner;
	for (int i = 0; i < op_arity(op); i++) {
		if (i)
			lex_want(p, ",");
		args[i] = parse_value(p, inner);
	}
	lex_want(p, ")");
	const Value *value = operation(p, op, inner, args, lex);
	return far || fast ? ranged(p, value, far, lex) : value;
}

/* Is the first name ahead, of no function, that of a dim? */
static bool names_dim_first(const LoopsParser *p)
{
	NameIndex *dims = p->dims;
	uint32_t i = p->at;
	while (i + 1 < p->tokens.n &&
	       (p->tokens.at[i].kind != LEX_NAME || lex_calls(p, &p->tokens.at[i])))
		i++;
	const Lex *lex = &p->tokens.at[i];
	return lex->kind == LEX_NAME &&
	       hmgeti(dims,
		      sym_intern(p->program->symbols, p->source->text + lex->start, lex->len)) >= 0;
}

static bool is_arithmetic(const LoopsParser *p, const Lex *lex)
{
	return lex_is(p, lex, "+") || lex_is(p, lex, "-") || lex_is(p, lex, "*") ||
	       lex_is(p, lex, "/") || lex_is(p, lex, "%");
}

/* Are two operations ahead without parentheses around one of them, which values have and indices have not? */
static bool is_sum_ahead(const LoopsParser *p)
{
	int depth = 0, brackets = 0, operations = 0;
	for (uint32_t i = p->at; i + 1 < p->tokens.n && depth >= 0 && operations < 2; i++) {
		const Lex *lex = &p->tokens.at[i];
		bool opens = lex_is(p, lex, "("), closes = lex_is(p, lex, ")");
		bool infix = is_arithmetic(p, lex) && !is_arithmetic(p, lex - 1);
		depth += opens - closes;
		brackets += lex_is(p, lex, "[") - lex_is(p, lex, "]");
		if (opens || closes || lex_is(p, lex, ","))
			operations = 0;
		else if (brackets == 0 && infix && !lex_is(p, lex - 1, "(") &&
			 !lex_is(p, lex - 1, ","))
			operations++;
	}
	return operations > 1;
}

/* DTYPE(value), DTYPE(ix), uniform(value). What has the name of a scalar and of a dim is the dim in a sum, and where it would
 * be cast to its own type, which nothing is. */
static const Value *parse_cast(LoopsParser *p)
{
	bool index = false, uniform = lex_is(p, lex_now(p), "uniform");
	Dtype to = uniform ? DTYPE_F32 : lex_value_dtype(p), from = DTYPE_U4X32;
	p->at += uniform;
	lex_want(p, "(");
	if (!uniform)
		from = dtype_ahead(p, &index);
	const Value *value;
	index |= names_dim_first(p) && (from == to || is_sum_ahead(p));
	if (index) {
		value = value_index(p->arena, to, parse_ix(p));
	} else {
		if (!p->failed && from == DTYPE_NONE)
			lex_fail(p, "no local, buffer or scalar is named so");
		value = parse_value(p, p->failed ? to : from);
		if (!p->failed && !uniform && to == DTYPE_U4X32 && !dtype_is_integer(from))
			lex_fail(p, "words are made of integers");
		if (!p->failed && !uniform && from == DTYPE_U4X32)
			lex_fail(p, "words become f32, by uniform(...)");
		value = value_cast(p->arena, to, p->failed ? nothing(p, to) : value);
	}
	lex_want(p, ")");
	return value;
}

static const Value *parse_key(LoopsParser *p)
{
	bool index = false;
	p->at++;
	lex_want(p, "(");
	const Lex *lex = lex_now(p);
	Dtype from = dtype_ahead(p, &index);
	if (!p->failed && from != DTYPE_F32 && from != DTYPE_F64)
		lex_fail_at(p, lex_span(p, lex), "keys are of f32 and f64");
	const Value *value = parse_value(p, p->failed ? DTYPE_F32 : from);
	lex_want(p, ")");
	return p->failed ? nothing(p, DTYPE_I32) : value_key(p->arena, value);
}

static const Value *value_scalar_named(LoopsParser *p, Sym name, Span span, Dtype dtype)
{
	const ProgramRoutine *routine =
		p->routine == ROUTINE_NONE ? NULL : program_routine(p->program, p->routine);
	for (uint32_t i = 0; routine && i < routine->nscalars; i++)
		if (routine->scalars[i].name == name)
			return value_scalar(p->arena, routine->scalars[i].dtype, i);
	lex_fail_at(p, span,
		    arena_printf(p->arena, "no local and no scalar is named '%s' here", name));
	return nothing(p, dtype);
}

static const Value *parse_named(LoopsParser *p, Dtype dtype)
{
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a value");
	const ScopeName *scope = parse_scope(p, name);
	bool axes = lex_is(p, lex_now(p), "[");
	if (scope && scope->local && axes == (p->kernel.locals[scope->id].rank > 0)) {
		uint32_t rank = p->kernel.locals[scope->id].rank;
		return value_local(p->arena, &p->kernel, scope->id, parse_ixs(p, rank), rank);
	}
	if (!axes && (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0) && !scope) {
		p->at--;
		return value_const(p->arena, dtype, parse_scalar(p, dtype));
	}
	if (!axes)
		return value_scalar_named(p, name, lex_span(p, lex), dtype);
	BufferId buffer = buffer_find(p, name);
	const Ix *ix = buffer == BUFFER_NONE ? NULL : parse_ixs(p, 1)[0];
	if (!ix)
		lex_fail_at(p, lex_span(p, lex),
			    arena_printf(p->arena, "no buffer is named '%s' here", name));
	return ix ? value_load(p->program, buffer, ix) : nothing(p, dtype);
}

static const Value *parse_atom(LoopsParser *p, Dtype dtype)
{
	const Lex *lex = lex_now(p);
	if (lex->kind == LEX_NUMBER || lex_is(p, lex, "-"))
		return value_const(p->arena, dtype, parse_scalar(p, dtype));
	if (lex_take(p, "(")) {
		const Value *value = parse_value(p, dtype);
		lex_want(p, ")");
		return value;
	}
	bool call = lex->kind == LEX_NAME && lex_calls(p, lex);
	bool cast = call && (lex_is(p, lex, "uniform") ||
			     dtype_in_loops(p->source->text + lex->start, lex->len) != DTYPE_NONE);
	if (is_key(p, lex))
		return parse_key(p);
	return cast ? parse_cast(p) : call ? parse_call(p, dtype) : parse_named(p, dtype);
}

static const Value *value_of(LoopsParser *p, Dtype dtype)
{
	const Lex *lex = lex_now(p);
	const Value *args[2] = {typed(p, parse_atom(p, dtype), dtype, lex)};
	Op op = parse_infix(p);
	if (op == OP_NONE)
		return args[0];
	const Lex *infix = lex_now(p) - 1;
	lex = lex_now(p);
	args[1] = typed(p, parse_atom(p, dtype), dtype, lex);
	return operation(p, op, dtype, args, infix);
}

const Value *parse_value(LoopsParser *p, Dtype dtype)
{
	const Value *value = lex_deeper(p) ? value_of(p, dtype) : nothing(p, dtype);
	p->depth--;
	return value;
}
