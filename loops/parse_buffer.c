/* Lines of buffers in a text of loops (parse.c): their types, what they hold and whose they are. */
#include <inttypes.h>
#include <stb/stb_ds.h>
#include <string.h>
#include <xxhash.h>

#include "base/element.h"
#include "loops/dump.h"
#include "loops/parse_text.h"

enum { ARRIVALS_MOST = (1 << 20) - 1 }; /* as an mbarrier counts them */

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

TensorType parse_type(LoopsParser *p, Dtype dtype)
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

/* Has the buffer as many elements as the tensor, and its type, or the bytes of two each? */
void fit_type(LoopsParser *p, const Buffer *buffer, const TensorType *type, Span span)
{
	Sizes *sizes = p->program->sizes;
	Size elements = size_const(sizes, 1);
	for (uint32_t i = 0; i < type->nbatch + type->noutput + type->ninput; i++)
		elements = size_mul(sizes, elements, type->sizes[i]);
	Dtype dtype = type->dtype;
	if (dtype_is_packed(dtype) && buffer->dtype == DTYPE_U8) {
		dtype = DTYPE_U8;
		elements = size_ceil(sizes, elements, 2);
	}
	if (!p->failed && (dtype != buffer->dtype || !size_same(elements, buffer->elements)))
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
	if (r == program->routines.n && buffer->kind == BUFFER_TEMP && strcmp(name, "init") == 0)
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

static int64_t parse_arrivals(LoopsParser *p)
{
	int64_t n = lex_number(p);
	if (!p->failed && (n < 1 || n > ARRIVALS_MOST))
		lex_fail(p, "an mbarrier awaits 1 to %d arrivals", ARRIVALS_MOST);
	return n;
}

/* How many blocks of a cluster have a part each, all of the same size. */
static int64_t parse_blocks(LoopsParser *p, Size elements)
{
	int64_t n = lex_number(p), all;
	bool parts = n >= 2 && n <= CLUSTER_MOST &&
		     size_is_const(p->program->sizes, elements, &all) && all > 0 && all % n == 0;
	if (!p->failed && !parts)
		lex_fail(p, "2 to %d blocks of a cluster have equal parts of a buffer",
			 CLUSTER_MOST);
	return n;
}

void parse_buffer(LoopsParser *p)
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
	buffer.shared = lex_take(p, "shared");
	buffer.swizzled = lex_take(p, "swizzled");
	buffer.padded = lex_take(p, "padded");
	buffer.panels = lex_take(p, "panels");
	buffer.cluster = lex_take(p, "cluster") ? parse_blocks(p, buffer.elements) : 0;
	buffer.arrivals = lex_take(p, "arrivals") ? parse_arrivals(p) : 0;
	if (!buffer.shared && (buffer.swizzled || buffer.arrivals || buffer.cluster))
		lex_fail(p, "what is swizzled, of a cluster or a ring of mbarriers is shared");
	if (buffer.shared && (buffer.kind != BUFFER_TEMP || !buffer.scratch))
		lex_fail(p, "what is shared is temp and scratch");
	if (p->failed)
		return;
	index_buffer(p, buffer.name, id);
	PUSH(p->arena, program->buffers, buffer);
}
