/* A text of loops to a program: the lines around the kernels. parse_lex.c makes tokens, parse_kernel.c
 * reads kernels, parse_value.c what stands in their statements; parse.h has the grammar.
 *
 * What a line means may stand below it: kernels need their routines, whose scalars and buffers they see,
 * and buffers the names of routines. So lines are read in this order: dims and all names; buffers
 * and checks; routines; kernels. The first error ends it.
 */
#include <inttypes.h>
#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/element.h"
#include "loops/dump.h"
#include "loops/parse_text.h"
#include "loops/verify.h"

typedef VEC(uint32_t) TokenList;

/* Where the things of the text begin, behind their first words. */
typedef struct Lines {
	TokenList tables, kernels, routines; /* tables: from the word itself */
	uint32_t pack, init;		     /* tokens of routines; 0: there is none */
} Lines;

/* ---- buffers ---- */

/* "[batch | input -> output]", of which any may be missing, into storage order. */
static void parse_row(LoopsParser *p, TensorType *type, uint32_t *n)
{
	VEC(Size) sizes = {0};
	VEC(Sym) labels = {0};
	while (!p->failed && !lex_is(p, lex_now(p), "]") && !lex_is(p, lex_now(p), "|") &&
	       !lex_is(p, lex_now(p), "->")) {
		bool label = lex_is(p, lex_next(p), ":");
		Sym name = label ? lex_name(p, "a label") : NULL;
		if (label)
			lex_want(p, ":");
		PUSH(p->arena, labels, name);
		PUSH(p->arena, sizes, parse_size(p));
		if (!lex_take(p, ","))
			break;
	}
	type->sizes = sizes.at;
	type->labels = labels.at;
	*n = (uint32_t)sizes.n;
}

static TensorType parse_type(LoopsParser *p, Dtype dtype)
{
	uint32_t first = p->at, start = lex_now(p)->start, n = 0, nbatch = 0, ninput = 0, noutput = 0;
	TensorType batch = {0}, input = {0}, output = {0};
	lex_want(p, "[");
	parse_row(p, &output, &noutput);
	if (lex_take(p, "|")) {
		batch = output;
		nbatch = noutput;
		parse_row(p, &output, &noutput);
	}
	if (lex_take(p, "->")) {
		input = output;
		ninput = noutput;
		parse_row(p, &output, &noutput);
	}
	uint32_t end = lex_now(p)->start + 1;
	lex_want(p, "]");
	for (uint32_t i = first; i < p->at && !p->failed; i++)
		if (lex_first(&p->tokens.at[i]))
			lex_fail_at(p, lex_span(p, &p->tokens.at[i]), "axes stand in one line");
	TensorType type = {dtype, nbatch, noutput, ninput, NULL, NULL, ""};
	const TensorType *rows[] = {&batch, &output, &input};
	const uint32_t counts[] = {nbatch, noutput, ninput};
	type.sizes = ARENA_ARRAY(p->arena, Size, nbatch + noutput + ninput + 1);
	type.labels = ARENA_ARRAY(p->arena, Sym, nbatch + noutput + ninput + 1);
	for (int row = 0; row < 3; row++)
		for (uint32_t i = 0; i < counts[row]; i++, n++) {
			type.sizes[n] = rows[row]->sizes[i];
			type.labels[n] = rows[row]->labels[i];
		}
	if (!p->failed)
		type.text = arena_printf(p->arena, "%s %.*s", dtype_name(dtype), (int)(end - start),
					 p->source->text + start);
	return type;
}

/* Has the buffer as many elements as the tensor, and its type? */
static void fit_type(LoopsParser *p, const Buffer *buffer, const TensorType *type, Span span)
{
	Sizes *sizes = p->program->sizes;
	Size elements = size_const(sizes, 1);
	for (uint32_t i = 0; i < type->nbatch + type->noutput + type->ninput; i++)
		elements = size_mul(sizes, elements, type->sizes[i]);
	if (!p->failed && (type->dtype != buffer->dtype || !size_same(elements, buffer->elements)))
		lex_fail_at(p, span,
			    arena_printf(p->arena, "the buffer of this is %s with %s elements",
					 dtype_name(buffer->dtype),
					 size_text(p->arena, sizes, buffer->elements)));
}

static void parse_param(LoopsParser *p, Buffer *buffer)
{
	ProgramParam param = {.name = buffer->name, .fan_in = size_const(p->program->sizes, 1)};
	lex_want(p, "at");
	param.offset = parse_size(p);
	lex_want(p, "as");
	Span span = lex_span(p, lex_now(p));
	param.type = parse_type(p, buffer->dtype);
	fit_type(p, buffer, &param.type, span);
	lex_want(p, ",");
	param.init = PARAM_COMPUTED;
	if (lex_take(p, "uniform")) {
		param.init = PARAM_UNIFORM;
		param.fan_in = parse_size(p);
	} else if (lex_take(p, "constant")) {
		param.init = PARAM_CONSTANT;
		param.value = parse_scalar(p, DTYPE_F64).f;
	} else {
		lex_want(p, "computed");
	}
	if (lex_take(p, ",")) {
		lex_want(p, "assigned");
		param.changes = true;
	}
	param.key = XXH64(param.name, strlen(param.name), 0);
	param.buffer = (BufferId)p->program->buffers.n;
	buffer->arg = (uint32_t)p->program->params.n;
	PUSH(p->arena, p->program->params, param);
}

static void parse_elements(LoopsParser *p, ProgramConst *of)
{
	char *bytes = NULL;
	size_t size = dtype_bytes(of->type.dtype), room = 0;
	int64_t n = 0;
	if (lex_take(p, "..")) {
		lex_want(p, ".");
		return;
	}
	while (!p->failed && n < of->count) {
		if (n && !lex_take(p, ","))
			break;
		if ((size_t)n == room) {
			char *more = arena_alloc(p->arena, size * (2 * room + 16));
			if (room)
				memcpy(more, bytes, size * room);
			room = 2 * room + 16;
			bytes = more;
		}
		scalar_write(of->type.dtype, bytes, n++, parse_scalar(p, of->type.dtype));
	}
	if (!p->failed && n < of->count)
		lex_fail(p, "the constant has %" PRId64 " elements", of->count);
	of->bytes = bytes;
}

static void parse_const(LoopsParser *p, Buffer *buffer)
{
	ProgramConst constant = {.name = buffer->name,
				 .buffer = (BufferId)p->program->buffers.n};
	lex_want(p, "as");
	Span span = lex_span(p, lex_now(p));
	constant.type = parse_type(p, buffer->dtype);
	fit_type(p, buffer, &constant.type, span);
	if (!p->failed && !size_is_const(p->program->sizes, buffer->elements, &constant.count))
		lex_fail_at(p, span, "a constant has as many elements as a number says");
	lex_want(p, "=");
	if (constant.count)
		parse_elements(p, &constant);
	buffer->arg = (uint32_t)p->program->consts.n;
	PUSH(p->arena, p->program->consts, constant);
}

/* "of NAME", a parameter. */
static void parse_packed(LoopsParser *p, Buffer *buffer)
{
	Program *program = p->program;
	lex_want(p, "of");
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a parameter");
	size_t i = 0;
	while (i < program->params.n && program->params.at[i].name != name)
		i++;
	if (!p->failed && i == program->params.n)
		lex_fail_at(p, lex_span(p, lex), "no parameter of this name stands above");
	else if (!p->failed && program->params.at[i].changes)
		lex_fail_at(p, lex_span(p, lex), "a parameter that is assigned has no copies");
	buffer->arg = (uint32_t)i;
	if (lex_take(p, "at"))
		buffer->offset = parse_size(p);
}

/* "of NAME", a routine. */
static void parse_owner(LoopsParser *p, Buffer *buffer)
{
	Program *program = p->program;
	if (buffer->kind == BUFFER_TEMP && lex_take(p, "at"))
		buffer->offset = parse_size(p);
	lex_want(p, "of");
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a routine");
	uint32_t r = 0;
	while (r < program->routines.n && program->routines.at[r].name != name)
		r++;
	if (!p->failed && r == program->routines.n)
		lex_fail_at(p, lex_span(p, lex), "there is no routine of this name");
	buffer->routine = r;
	for (size_t i = 0; i < program->buffers.n; i++)
		buffer->arg += program->buffers.at[i].kind == buffer->kind &&
			       program->buffers.at[i].routine == r;
}

static void index_buffer(LoopsParser *p, Sym name, BufferId id)
{
	ptrdiff_t found = hmgeti(p->buffers, name);
	PUSH(p->arena, p->next_buffer, 0);
	if (found < 0) {
		hmput(p->buffers, name, id + 1);
		return;
	}
	uint32_t last = p->buffers[found].value - 1;
	while (p->next_buffer.at[last])
		last = p->next_buffer.at[last] - 1;
	p->next_buffer.at[last] = id + 1;
}

static BufferKind parse_kind(LoopsParser *p)
{
	for (int kind = BUFFER_INPUT; kind <= BUFFER_PACKED; kind++)
		if (lex_take(p, buffer_kind_names[kind]))
			return (BufferKind)kind;
	lex_fail(p, "in, out, param, const, temp or packed is expected here");
	return BUFFER_TEMP;
}

static void parse_buffer(LoopsParser *p)
{
	Program *program = p->program;
	BufferId id = (BufferId)program->buffers.n;
	Buffer buffer = {.home = id, .span = lex_span(p, lex_now(p))};
	buffer.offset = size_const(program->sizes, 0);
	buffer.name = lex_name(p, "a buffer");
	lex_want(p, ":");
	buffer.dtype = lex_dtype(p);
	lex_want(p, "[");
	buffer.elements = parse_size(p);
	lex_want(p, "]");
	buffer.kind = parse_kind(p);
	switch (buffer.kind) {
	case BUFFER_PARAM: parse_param(p, &buffer); break;
	case BUFFER_CONST: parse_const(p, &buffer); break;
	case BUFFER_PACKED: parse_packed(p, &buffer); break;
	default: parse_owner(p, &buffer);
	}
	buffer.scratch = lex_take(p, "scratch");
	buffer.padded = lex_take(p, "padded");
	if (p->failed)
		return;
	index_buffer(p, buffer.name, id);
	PUSH(p->arena, program->buffers, buffer);
}

/* ---- checks ---- */

static void take_line(LoopsParser *p)
{
	while (!lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END)
		p->at++;
}

/* "[0, SIZE)" */
static void parse_index_claim(LoopsParser *p, Check *check)
{
	check->kind = CHECK_INDEX;
	check->a = check->b = size_const(p->program->sizes, 0);
	while (!lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END)
		if (lex_take(p, "[") && lex_take(p, "0") && lex_take(p, ",")) {
			check->a = check->b = parse_size(p);
			return;
		} else if (!p->failed) {
			p->at += lex_now(p)->kind != LEX_END;
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

static void parse_check_line(LoopsParser *p)
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
	uint32_t end = last->start + last->len;
	check.text = arena_strndup(p->arena, p->source->text + span.start, end - span.start);
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
			if (lex_is(p, lex_now(p), "["))
				add_tensor(p, &inputs, name, dtype, BUFFER_INPUT, r);
			else
				PUSH(p->arena, scalars, ((ScalarParam){name, dtype}));
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

static void parse_routine(LoopsParser *p, ProgramRoutine *routine, uint32_t r)
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
			lex_want(p, "run");
			parse_run(p, r, &runs);
		}
	}
	routine->guards = guards.at;
	routine->nguards = (uint32_t)guards.n;
	routine->kernels = runs.at;
	routine->nkernels = (uint32_t)runs.n;
	if (r < p->program->routines.n)
		fit_buffers(p, routine, r);
}

/* ---- the text ---- */

static void parse_dims(LoopsParser *p)
{
	do {
		Dim dim = {.span = lex_span(p, lex_now(p))};
		dim.name = lex_name(p, "a dim");
		if (lex_take(p, ">="))
			dim.at_least = lex_number(p);
		if (p->failed)
			return;
		if (hmgeti(p->dims, dim.name) >= 0)
			lex_fail_at(p, dim.span, "a dim of this name stands above");
		else if (dim.at_least < 0 || dim.at_least > DIM_MOST)
			lex_fail_at(p, dim.span, "a dim is from 0 to 2^31");
		else
			hmput(p->dims, dim.name, sizes_add_dim(p->program->sizes, dim));
	} while (!p->failed && lex_take(p, ","));
}

/* Kernels that come again have no routine of their own. */
static void note_kernel(LoopsParser *p, Lines *lines)
{
	Sym name = lex_name(p, "a kernel");
	if (p->failed)
		return;
	PUSH(p->arena, lines->kernels, p->at - 1);
	if (hmgeti(p->kernels, name) >= 0)
		return;
	hmput(p->kernels, name, (uint32_t)p->routine_of.n);
	PUSH(p->arena, p->routine_of, ROUTINE_NONE);
}

static void note_routine(LoopsParser *p, Lines *lines)
{
	uint32_t at = p->at, end = at;
	Sym name = lex_name(p, "a routine");
	while (!lex_first(&p->tokens.at[end]) && p->tokens.at[end].kind != LEX_END)
		end++;
	bool of_state = end > at + 2 && lex_is(p, &p->tokens.at[end - 1], "state") &&
			lex_is(p, &p->tokens.at[end - 2], "of");
	bool pack = of_state && strcmp(name, "pack") == 0;
	if (of_state && (pack ? lines->pack : lines->init))
		lex_fail(p, "a routine of the state for the second time");
	if (p->failed)
		return;
	if (of_state)
		*(pack ? &lines->pack : &lines->init) = at;
	else
		PUSH(p->arena, lines->routines, at);
	Size none = size_const(p->program->sizes, 0);
	if (!of_state)
		PUSH(p->arena, p->program->routines,
		     ((ProgramRoutine){.name = name, .workspace = none}));
}

static void find_lines(LoopsParser *p, Lines *lines)
{
	while (!p->failed && lex_now(p)->kind != LEX_END) {
		if (lex_now(p)->indent != 0) {
			p->at++;
		} else if (lex_take(p, "dims")) {
			parse_dims(p);
		} else if (lex_take(p, "kernel")) {
			note_kernel(p, lines);
		} else if (lex_take(p, "routine")) {
			note_routine(p, lines);
		} else if (lex_is(p, lex_now(p), "state") || lex_is(p, lex_now(p), "buffer") ||
			   lex_is(p, lex_now(p), "check")) {
			PUSH(p->arena, lines->tables, p->at++);
		} else {
			if (lex_is(p, lex_now(p), "(") && lines->routines.n == 0)
				lex_fail(p, "the loops are in the dump of the stage that changed them last");
			lex_want(p, "(");
			lex_want(p, "unchanged");
			lex_want(p, ")");
		}
	}
}

static void end_line(LoopsParser *p)
{
	if (!p->failed && !lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END)
		lex_fail(p, "the end of the line is expected here");
}

static void parse_table(LoopsParser *p, uint32_t at)
{
	p->at = at;
	if (lex_take(p, "buffer")) {
		parse_buffer(p);
	} else if (lex_take(p, "check")) {
		parse_check_line(p);
	} else {
		lex_want(p, "state");
		p->program->state = parse_size(p);
		lex_want(p, "bytes");
	}
	end_line(p);
}

static void parse_routines(LoopsParser *p, const Lines *lines)
{
	Program *program = p->program;
	uint32_t n = (uint32_t)lines->routines.n;
	Size none = size_const(program->sizes, 0);
	program->pack.workspace = program->init.workspace = none;
	for (uint32_t r = 0; r < n && !p->failed; r++) {
		p->at = lines->routines.at[r];
		parse_routine(p, &program->routines.at[r], r);
	}
	if (lines->pack && !p->failed) {
		p->at = lines->pack;
		parse_routine(p, &program->pack, n);
	}
	if (lines->init && !p->failed) {
		p->at = lines->init;
		parse_routine(p, &program->init, n + 1);
	}
}

static Program *with_kernels(const LoopsParser *p, const Kernel *again, const uint32_t *ids, size_t n)
{
	Program *copy = ARENA_NEW(p->arena, Program);
	*copy = *p->program;
	memset(&copy->kernels, 0, sizeof copy->kernels);
	for (size_t k = 0; k < p->program->kernels.n; k++)
		PUSH(p->arena, copy->kernels, p->program->kernels.at[k]);
	for (size_t i = 0; i < n; i++)
		copy->kernels.at[ids[i]] = again[i];
	return copy;
}

/* The program with kernels that come again. */
static Program *parse_kernels(LoopsParser *p, const Lines *lines)
{
	VEC(Kernel) again = {0};
	TokenList ids = {0};
	for (size_t i = 0; i < lines->kernels.n && !p->failed; i++) {
		p->at = lines->kernels.at[i];
		Sym name = lex_name(p, "a kernel");
		p->at--;
		uint32_t id = hmget(p->kernels, name);
		Kernel kernel = parse_kernel(p, p->routine_of.at[id]);
		if (id == p->program->kernels.n) {
			PUSH(p->arena, p->program->kernels, kernel);
		} else {
			PUSH(p->arena, again, kernel);
			PUSH(p->arena, ids, id);
		}
	}
	return again.n && !p->failed ? with_kernels(p, again.at, ids.at, again.n) : p->program;
}

/* What follows from the rest. */
static void finish(LoopsParser *p)
{
	Program *program = p->program;
	while (program->nguards < program->checks.n &&
	       program->checks.at[program->nguards].kind != CHECK_INDEX)
		program->nguards++;
	program->stamp = size_const(program->sizes, 0);
	if (!program->placed)
		return;
	for (size_t i = program->buffers.n; i-- > 0 && program->pack.nkernels;)
		if (program->buffers.at[i].kind == BUFFER_PACKED)
			program->stamp = size_plus(program->sizes, program->buffers.at[i].offset,
						   -CACHE_LINE);
	program_list_state_dims(program);
}

bool loops_tell_fault(Diags *diags, const Program *program)
{
	LoopsFault fault = program->placed ? loops_fault(program) : loops_grammar_fault(program);
	if (fault.rule)
		diag(diags, E0611, fault.stmt ? fault.stmt->span : fault.kernel->span,
		     "kernel %s: %s", fault.kernel->name, fault.rule);
	return fault.rule;
}

LoopsText loops_parse(Arena *arena, Symbols *symbols, const Sources *sources, uint32_t file,
		      Diags *diags, const LowerOptions *options)
{
	LoopsParser p = {.arena = arena,
			 .diags = diags,
			 .source = source_at(sources, file),
			 .file = file,
			 .routine = ROUTINE_NONE};
	Lines lines = {0};
	p.program = ARENA_NEW(arena, Program);
	*p.program = (Program){.arena = arena,
			       .symbols = symbols,
			       .sizes = sizes_new(arena),
			       .sources = sources,
			       .path = p.source->path,
			       .sites = ARENA_ARRAY(arena, ProgramSite, 1),
			       .changed = true,
			       .options = *options};
	p.program->state = size_const(p.program->sizes, 0);
	p.tokens = loops_lex(arena, p.source);
	find_lines(&p, &lines);
	for (size_t i = 0; i < lines.tables.n && !p.failed; i++)
		parse_table(&p, lines.tables.at[i]);
	if (!p.failed)
		parse_routines(&p, &lines);
	Program *vectors = parse_kernels(&p, &lines);
	if (!p.failed) {
		finish(&p);
		p.failed = loops_tell_fault(diags, p.program);
	}
	if (!p.failed && vectors != p.program)
		p.failed = loops_tell_fault(diags, vectors);
	hmfree(p.dims);
	hmfree(p.buffers);
	hmfree(p.kernels);
	return p.failed ? (LoopsText){NULL, NULL} : (LoopsText){p.program, vectors};
}

bool program_is_whole(const Program *program)
{
	for (size_t i = 0; i < program->consts.n; i++)
		if (program->consts.at[i].count > 0 && !program->consts.at[i].bytes)
			return false;
	return true;
}
