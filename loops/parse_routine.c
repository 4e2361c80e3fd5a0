/* Lines of checks and of routines in a text of loops (parse.c): what is checked where a routine begins,
 * what it takes and gives, and which kernels it runs. */
#include <stb/stb_ds.h>
#include <string.h>

#include "loops/dump.h"
#include "loops/parse_text.h"

/* ---- checks ---- */

static bool on_line(const LoopsParser *p)
{
	return !lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END;
}

static void take_line(LoopsParser *p)
{
	while (on_line(p))
		p->at++;
}

/* "[0, SIZE)" */
static void parse_index_claim(LoopsParser *p, Check *check)
{
	check->kind = CHECK_INDEX;
	check->a = check->b = size_const(p->program->sizes, 0);
	while (on_line(p))
		if (lex_take(p, "[") && lex_take(p, "0") && lex_take(p, ",")) {
			check->a = check->b = parse_size(p);
			return;
		} else if (on_line(p)) {
			p->at++;
		}
}

/* Which of two sizes came first where one of them is a number, infer/guard.c says. */
static void parse_relation(LoopsParser *p, Check *check)
{
	static const char *const multiple[] = {"a", "multiple", "of"};
	int64_t number;
	Size a = parse_size(p);
	lex_want(p, "must");
	bool equal = lex_take(p, "equal"), least = false, most = false;
	if (!equal) {
		lex_want(p, "be");
		bool at = lex_take(p, "at");
		least = at && lex_take(p, "least");
		most = at && !least;
		if (most)
			lex_want(p, "most");
		for (int i = 0; i < 3 && !at; i++)
			lex_want(p, multiple[i]);
	}
	Size b = parse_size(p);
	check->kind = equal ? CHECK_EQ : least || most ? CHECK_GE : CHECK_DIVIDES;
	bool swapped = most || (equal && size_is_const(p->program->sizes, b, &number));
	check->a = swapped ? b : a;
	check->b = swapped ? a : b;
}

static void parse_claim(LoopsParser *p, Check *check)
{
	bool workspace = lex_is(p, lex_now(p), "the") && lex_is(p, lex_next(p), "workspace");
	if (lex_is(p, lex_now(p), "an") && lex_is(p, lex_next(p), "index")) {
		parse_index_claim(p, check);
	} else if (workspace) {
		p->at += 2;
		lex_want(p, ",");
		check->kind = CHECK_GE;
		check->b = parse_size(p);
		lex_want(p, "bytes");
		lex_want(p, ",");
		lex_want(p, "must");
		lex_want(p, "be");
		lex_want(p, "at");
		lex_want(p, "most");
		check->a = parse_size(p);
	} else {
		parse_relation(p, check);
	}
}

void parse_check_line(LoopsParser *p)
{
	Program *program = p->program;
	const Lex *lex = lex_now(p);
	int64_t number = lex_number(p);
	if (!p->failed && number != (int64_t)program->checks.n)
		lex_fail_at(p, lex_span(p, lex), "checks are numbered from 0, in order");
	lex_want(p, ":");
	Span span = lex_span(p, lex_now(p));
	Check check = {.kind = CHECK_INDEX, .span = span};
	parse_claim(p, &check);
	take_line(p);
	if (p->failed)
		return;
	const Lex *last = &p->tokens.at[p->at - 1];
	span.end = last->start + last->len;
	const char *text = p->source->text + span.start;
	check.text = arena_strndup(p->arena, text, span.end - span.start);
	if (strlen(check.text) < span.end - span.start)
		lex_fail_at(p, span, "the text of a check has a byte 0");
	PUSH(p->arena, program->checks, check);
}

/* ---- routines ---- */

static void parse_tensor_arg(LoopsParser *p, TensorArg *arg, BufferKind kind, uint32_t r, uint32_t i)
{
	Program *program = p->program;
	for (BufferId b = 0; b < program->buffers.n; b++) {
		const Buffer *buffer = &program->buffers.at[b];
		if (buffer->kind != kind || buffer->routine != r || buffer->arg != i)
			continue;
		arg->buffer = b;
		return;
	}
	lex_fail(p, "the routine has fewer buffers that are '%s'", buffer_kind_names[kind]);
}

typedef VEC(TensorArg) ArgList;

/* NAME ":" DTYPE axes, whose first two are taken. */
static void add_tensor(LoopsParser *p, ArgList *args, Sym name, Dtype dtype, BufferKind kind, uint32_t r)
{
	TensorArg arg = {.name = name};
	Span span = lex_span(p, lex_now(p));
	arg.type = parse_type(p, dtype);
	if (r >= p->program->routines.n && !p->failed)
		lex_fail_at(p, span, "a routine of the state takes no tensors");
	if (p->failed)
		return;
	parse_tensor_arg(p, &arg, kind, r, (uint32_t)args->n);
	if (!p->failed)
		fit_type(p, &p->program->buffers.at[arg.buffer], &arg.type, span);
	PUSH(p->arena, *args, arg);
}

/* "as DIM" behind the type of a scalar */
static DimId parse_scalar_dim(LoopsParser *p)
{
	if (!lex_take(p, "as"))
		return DIM_NONE;
	const Lex *lex = lex_now(p);
	ptrdiff_t dim = hmgeti(p->dims, lex_name(p, "a dim of a scalar"));
	if (dim >= 0 && sizes_dim(p->program->sizes, p->dims[dim].value)->kind == DIM_SCALAR)
		return p->dims[dim].value;
	lex_fail_at(p, lex_span(p, lex), "no dim of a scalar is named so");
	return DIM_NONE;
}

/* Dims, scalars and inputs. */
static void parse_takes(LoopsParser *p, ProgramRoutine *routine, uint32_t r)
{
	VEC(DimId) dims = {0};
	VEC(ScalarParam) scalars = {0};
	ArgList inputs = {0};
	lex_want(p, "(");
	while (!p->failed && !lex_is(p, lex_now(p), ")")) {
		const Lex *lex = lex_now(p);
		Sym name = lex_name(p, "an argument");
		if (!lex_take(p, ":")) {
			ptrdiff_t dim = hmgeti(p->dims, name);
			if (!p->failed && dim < 0)
				lex_fail_at(p, lex_span(p, lex), "no dim is named so");
			else if (!p->failed)
				PUSH(p->arena, dims, p->dims[dim].value);
		} else {
			Dtype dtype = lex_dtype(p);
			bool tensor = lex_is(p, lex_now(p), "[");
			ScalarParam scalar = {name, dtype, tensor ? DIM_NONE : parse_scalar_dim(p)};
			if (tensor)
				add_tensor(p, &inputs, name, dtype, BUFFER_INPUT, r);
			else
				PUSH(p->arena, scalars, scalar);
		}
		if (!lex_take(p, ","))
			break;
	}
	lex_want(p, ")");
	routine->dims = dims.at;
	routine->ndims = (uint32_t)dims.n;
	routine->scalars = scalars.at;
	routine->nscalars = (uint32_t)scalars.n;
	routine->inputs = inputs.at;
	routine->ninputs = (uint32_t)inputs.n;
}

static void parse_gives(LoopsParser *p, ProgramRoutine *routine, uint32_t r)
{
	ArgList outputs = {0};
	if (lex_take(p, "->"))
		do {
			Sym name = lex_name(p, "a result");
			lex_want(p, ":");
			Dtype dtype = lex_dtype(p);
			add_tensor(p, &outputs, name, dtype, BUFFER_OUTPUT, r);
		} while (!p->failed && lex_take(p, ","));
	routine->outputs = outputs.at;
	routine->noutputs = (uint32_t)outputs.n;
}

/* Are all its inputs and results listed? */
static void fit_buffers(LoopsParser *p, const ProgramRoutine *routine, uint32_t r)
{
	uint32_t n = 0;
	for (size_t i = 0; i < p->program->buffers.n; i++) {
		const Buffer *buffer = &p->program->buffers.at[i];
		n += buffer->routine == r &&
		     (buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_OUTPUT);
	}
	if (!p->failed && n != routine->ninputs + routine->noutputs)
		lex_fail_at(p, routine->span, "the routine has buffers that it neither takes nor gives");
}

static BufferId parse_temporary(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	BufferId buffer = buffer_find(p, lex_name(p, "a buffer"));
	if (!p->failed &&
	    (buffer == BUFFER_NONE || p->program->buffers.at[buffer].kind != BUFFER_TEMP))
		lex_fail_at(p, lex_span(p, lex), "no temporary is named so");
	return buffer;
}

static void parse_exchanges(LoopsParser *p, ProgramLoop *loop)
{
	VEC(BufferPair) pairs = {0};
	if (!lex_take(p, "exchange"))
		return;
	do {
		BufferPair pair = {.a = parse_temporary(p)};
		lex_want(p, ",");
		pair.b = parse_temporary(p);
		PUSH(p->arena, pairs, pair);
	} while (!p->failed && lex_take(p, ","));
	loop->exchanges = pairs.at;
	loop->nexchanges = (uint32_t)pairs.n;
}

/* "for STEP in 0..COUNT [made BUFFER] [down] [until BUFFER] [exchange A, B, ...]": opens a loop of the program. */
static uint32_t parse_loop(LoopsParser *p, uint32_t outer)
{
	ProgramLoop loop = {
		.parent = outer, .until = BUFFER_NONE, .made = BUFFER_NONE, .span = lex_line(p)};
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a dim that counts");
	ptrdiff_t dim = p->failed ? -1 : hmgeti(p->dims, name);
	if (dim < 0 || sizes_dim(p->program->sizes, p->dims[dim].value)->kind != DIM_STEP) {
		lex_fail_at(p, lex_span(p, lex), "no dim that counts is named so");
		return 0;
	}
	loop.step = p->dims[dim].value;
	lex_want(p, "in");
	if (lex_number(p) != 0)
		lex_fail(p, "steps count from 0");
	lex_want(p, "..");
	loop.count = parse_size(p);
	if (lex_take(p, "made"))
		loop.made = parse_temporary(p);
	loop.down = lex_take(p, "down");
	if (lex_take(p, "until"))
		loop.until = parse_temporary(p);
	parse_exchanges(p, &loop);
	PUSH(p->arena, p->program->loops, loop);
	return (uint32_t)p->program->loops.n - 1;
}

static void parse_run(LoopsParser *p, uint32_t r, TokenList *runs)
{
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a kernel");
	ptrdiff_t found = p->failed ? -1 : hmgeti(p->kernels, name);
	if (found < 0) {
		lex_fail_at(p, lex_span(p, lex), "no kernel is named so");
		return;
	}
	uint32_t kernel = p->kernels[found].value;
	if (p->routine_of.at[kernel] == ROUTINE_NONE)
		p->routine_of.at[kernel] = r;
	PUSH(p->arena, *runs, kernel);
}

/* Kernels, and loops of them, further right than `indent`. */
static void parse_runs(LoopsParser *p, uint32_t r, int32_t indent, uint32_t loop, TokenList *runs)
{
	while (lex_inside(p, indent)) {
		int32_t at = lex_now(p)->indent;
		if (lex_take(p, "for")) {
			uint32_t inner = parse_loop(p, loop);
			if (!p->failed && lex_deeper(p)) {
				parse_runs(p, r, at, inner, runs);
				p->depth--;
			}
			continue;
		}
		lex_want(p, "run");
		parse_run(p, r, runs);
		if (!p->failed)
			PUSH(p->arena, p->loop_of, ((KernelLoop){runs->at[runs->n - 1], loop}));
	}
}

void parse_routine(LoopsParser *p, ProgramRoutine *routine, uint32_t r)
{
	TokenList guards = {0}, runs = {0};
	routine->span = lex_span(p, lex_now(p));
	routine->name = lex_name(p, "a routine");
	parse_takes(p, routine, r);
	parse_gives(p, routine, r);
	if (lex_take(p, "of"))
		lex_want(p, "state");
	while (lex_inside(p, 0)) {
		if (lex_take(p, "workspace")) {
			routine->workspace = parse_size(p);
			p->program->placed = true;
			lex_want(p, "bytes");
		} else if (lex_take(p, "guard")) {
			const Lex *lex = lex_now(p);
			int64_t guard = lex_number(p);
			if (!p->failed && (guard < 0 || (size_t)guard >= p->program->checks.n ||
					   p->program->checks.at[guard].kind == CHECK_INDEX))
				lex_fail_at(p, lex_span(p, lex), "no check of sizes has this number");
			PUSH(p->arena, guards, (uint32_t)guard);
		} else {
			parse_runs(p, r, 0, 0, &runs);
		}
	}
	routine->guards = guards.at;
	routine->nguards = (uint32_t)guards.n;
	routine->kernels = runs.at;
	routine->nkernels = (uint32_t)runs.n;
	if (r < p->program->routines.n)
		fit_buffers(p, routine, r);
}
