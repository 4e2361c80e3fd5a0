/* Hand-written graphs: a reader for shapes and specifications that trusts its input. */
#include "test/unit/small_graph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "infer/dump.h"

void small_init(Small *s)
{
	*s = (Small){0};
	s->arena = arena_new();
	s->symbols = symbols_new();
	sources_init(&s->sources, s->arena);
	diags_init(&s->diags, s->arena, &s->sources);
	s->graph.arena = s->arena;
	s->graph.symbols = s->symbols;
	s->graph.sizes = sizes_new(s->arena);
	s->inference.graph = &s->graph;
	s->inference.sizes = s->graph.sizes;
	s->inference.shapes = s->shapes;
	s->inference.projs = s->projs;
	s->inference.margins = s->margins;
	s->inference.letters = s->letters;
}

void small_free(Small *s)
{
	symbols_free(s->symbols);
	arena_free(s->arena);
}

int small_setup(void **state)
{
	static Small s;
	small_init(&s);
	*state = &s;
	return 0;
}

int small_teardown(void **state)
{
	small_free(*state);
	return 0;
}

/* ---- reading ---- */

typedef struct Reader {
	Small *s;
	const char *at;
} Reader;

static bool accept(Reader *r, const char *text)
{
	while (*r->at == ' ')
		r->at++;
	if (strncmp(r->at, text, strlen(text)) != 0)
		return false;
	r->at += strlen(text);
	return true;
}

static bool at_number(Reader *r)
{
	accept(r, "");
	return isdigit((unsigned char)*r->at);
}

static int64_t number(Reader *r)
{
	char *end;
	int64_t value = strtoll(r->at, &end, 10);
	r->at = end;
	return value;
}

static Sym name(Reader *r)
{
	accept(r, "");
	size_t n = 0;
	while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')
		n++;
	Sym sym = sym_intern(r->s->symbols, r->at, n);
	r->at += n;
	return sym;
}

static Size read_size(Reader *r)
{
	Sizes *sizes = r->s->graph.sizes;
	int64_t coef = 1;
	if (at_number(r)) {
		coef = number(r);
		if (!accept(r, "*"))
			return size_const(sizes, coef);
	}
	Sym sym = name(r);
	DimId dim = 0;
	while (dim < sizes_ndims(sizes) && sizes_dim(sizes, dim)->name != sym)
		dim++;
	if (dim == sizes_ndims(sizes))
		sizes_add_dim(sizes, (Dim){.name = sym});
	Size size = size_scale(sizes, size_dim(sizes, dim), coef);
	if (accept(r, "+"))
		return at_number(r) ? size_plus(sizes, size, number(r)) : size_add(sizes, size, read_size(r));
	return size;
}

Size small_size(Small *s, const char *text)
{
	Reader r = {s, text};
	return read_size(&r);
}

static Axis read_axis(Reader *r)
{
	Axis axis = {.stretch = accept(r, "~")};
	const char *start = r->at;
	accept(r, "");
	if (!at_number(r)) {
		Sym label = name(r);
		if (accept(r, ":"))
			axis.label = label;
		else
			r->at = start;
	}
	axis.size = read_size(r);
	return axis;
}

static Row read_row(Reader *r)
{
	VEC(Axis) axes = {0};
	accept(r, "");
	while (*r->at && *r->at != '|' && *r->at != '-') {
		PUSH(r->s->arena, axes, read_axis(r));
		accept(r, ",");
		accept(r, "");
	}
	return (Row){.axes = axes.at, .n = (uint32_t)axes.n};
}

Shape small_shape(Small *s, const char *text)
{
	Reader r = {s, text};
	Shape shape = {0};
	Row row = read_row(&r);
	if (accept(&r, "|")) {
		shape.rows[ROW_BATCH] = row;
		row = read_row(&r);
	}
	if (accept(&r, "->")) {
		shape.rows[ROW_INPUT] = row;
		row = read_row(&r);
	}
	shape.rows[ROW_OUTPUT] = row;
	return shape;
}

/* ---- specifications ---- */

static SpecMark read_mark(Reader *r)
{
	return accept(r, "<+?") ? MARK_VALID_FLOOR
	       : accept(r, "=+?") ? MARK_PADDED_CEIL
	       : accept(r, "<+")  ? MARK_VALID
	       : accept(r, "=+")  ? MARK_PADDED
	                          : MARK_NONE;
}

static void read_kernel(Reader *r, SpecAxis *axis)
{
	if (at_number(r)) {
		int64_t value = number(r);
		if (accept(r, "+")) { /* offset before the kernel */
			axis->offset = value;
			read_kernel(r, axis);
			return;
		}
		axis->dilation = value;
		accept(r, "*");
	} else {
		axis->dilation = 1;
	}
	axis->kernel = name(r);
}

static SpecAxis read_concat(Reader *r, SpecPart first)
{
	SpecAxis axis = {.kind = SPEC_CONCAT};
	VEC(SpecPart) parts = {0};
	PUSH(r->s->arena, parts, first);
	while (accept(r, "^")) {
		SpecPart part = {0};
		if (at_number(r))
			part.size = number(r);
		else
			part.letter = name(r);
		PUSH(r->s->arena, parts, part);
	}
	axis.parts = parts.at;
	axis.nparts = (uint32_t)parts.n;
	return axis;
}

static SpecAxis read_letter(Reader *r, int64_t stride)
{
	SpecAxis axis = {.kind = SPEC_AFFINE, .stride = stride, .letter = name(r)};
	if (*r->at == '^')
		return read_concat(r, (SpecPart){.letter = axis.letter});
	axis.mark = read_mark(r);
	if (axis.mark != MARK_NONE)
		read_kernel(r, &axis);
	else if (accept(r, "+"))
		axis.offset = number(r);
	else if (stride == 1)
		axis.kind = SPEC_LETTER;
	return axis;
}

static SpecAxis read_spec_axis(Reader *r)
{
	if (accept(r, "_"))
		return (SpecAxis){.kind = SPEC_PLACEHOLDER};
	if (!at_number(r))
		return read_letter(r, 1);
	int64_t value = number(r);
	if (accept(r, "*"))
		return read_letter(r, value);
	if (*r->at == '^')
		return read_concat(r, (SpecPart){.size = value});
	return (SpecAxis){.kind = SPEC_INDEX, .index = value};
}

static SpecRow read_spec_row(Reader *r)
{
	SpecRow row = {.var_at = -1};
	VEC(SpecAxis) axes = {0};
	accept(r, "");
	while (*r->at && *r->at != '|' && *r->at != '-' && *r->at != ';' && strncmp(r->at, "=>", 2) != 0) {
		if (accept(r, "...")) {
			row.var_at = (int32_t)axes.n;
		} else if (accept(r, "..")) {
			row.var_at = (int32_t)axes.n;
			row.var = name(r);
			accept(r, "..");
		} else {
			PUSH(r->s->arena, axes, read_spec_axis(r));
		}
		accept(r, ",");
		accept(r, "");
	}
	row.axes = axes.at;
	row.naxes = (uint32_t)axes.n;
	return row;
}

static SpecTensor read_spec_tensor(Reader *r)
{
	static const char *const vars[ROW_KINDS] = {"batch", "input", "output"};
	SpecTensor tensor = {.rows = {{.var_at = -1}, {.var_at = -1}, {.var_at = -1}}};
	SpecRow row = read_spec_row(r);
	if (accept(r, "|")) {
		tensor.rows[ROW_BATCH] = row;
		row = read_spec_row(r);
	}
	if (accept(r, "->")) {
		tensor.rows[ROW_INPUT] = row;
		row = read_spec_row(r);
	}
	tensor.rows[ROW_OUTPUT] = row;
	for (int k = 0; k < ROW_KINDS; k++)
		if (tensor.rows[k].var_at >= 0 && !tensor.rows[k].var)
			tensor.rows[k].var = sym_cstr(r->s->symbols, vars[k]);
	return tensor;
}

const Spec *small_parse_spec(Small *s, const char *text)
{
	Reader r = {s, text};
	Spec *spec = ARENA_NEW(s->arena, Spec);
	VEC(SpecTensor) operands = {0};
	do
		PUSH(s->arena, operands, read_spec_tensor(&r));
	while (accept(&r, ";"));
	accept(&r, "=>");
	spec->operands = operands.at;
	spec->noperands = (uint32_t)operands.n;
	spec->result = read_spec_tensor(&r);
	return spec;
}

/* ---- nodes ---- */

static NodeId add(Small *s, Node node, const char *shape)
{
	NodeId id = (NodeId)s->graph.nodes.n;
	REQUIRE(id < SMALL_NODES);
	s->shapes[id] = small_shape(s, shape);
	node.like = node.target = node.packs = NODE_NONE;
	node.used = true;
	PUSH(s->arena, s->graph.nodes, node);
	return id;
}

NodeId small_leaf(Small *s, const char *shape)
{
	Sym sym = sym_printf(s->symbols, "t%zu", s->graph.nodes.n);
	return add(s, (Node){.kind = NODE_INPUT, .dtype = DTYPE_F32, .name = sym}, shape);
}

NodeId small_op(Small *s, NodeKind kind, const char *shape, uint32_t nargs, const NodeId *args)
{
	/* indices are integers */
	for (uint32_t arg = 1; arg < nargs && (kind == NODE_GATHER || kind == NODE_SLICE); arg++)
		graph_node(&s->graph, args[arg])->dtype = DTYPE_I32;
	Node node = {.kind = kind,
		     .op = OP_MUL,
		     .reduce = kind == NODE_ARGMAX ? OP_MAX : OP_ADD,
		     .dtype = DTYPE_F32,
		     .nargs = nargs};
	node.args = ARENA_ARRAY(s->arena, NodeId, nargs);
	node.arg_spans = ARENA_ARRAY(s->arena, Span, nargs);
	for (uint32_t i = 0; i < nargs; i++)
		node.args[i] = args[i];
	return add(s, node, shape);
}

NodeId small_spec(Small *s, NodeKind kind, const char *spec, const char *shape, uint32_t nargs,
                  const NodeId *args)
{
	const Spec *parsed = small_parse_spec(s, spec);
	NodeId id = small_op(s, kind, shape, nargs, args);
	graph_node(&s->graph, id)->spec = parsed;
	return id;
}

void small_letter(Small *s, NodeId id, const char *letter, const char *size)
{
	LetterSizes *letters = &s->letters[id];
	LetterSize *at = ARENA_ARRAY(s->arena, LetterSize, letters->n + 1);
	if (letters->n)
		memcpy(at, letters->at, letters->n * sizeof *at);
	at[letters->n] = (LetterSize){sym_cstr(s->symbols, letter), small_size(s, size)};
	*letters = (LetterSizes){at, letters->n + 1};
}

void small_guard(Small *s, GuardKind kind, const char *a, const char *b)
{
	Guard guard = {.kind = kind, .a = small_size(s, a), .b = small_size(s, b)};
	PUSH(s->arena, s->inference.guards, guard);
}

Proj *small_derive(Small *s, NodeId id)
{
	s->projs[id] = proj_derive(&s->inference, id, s->arena, &s->diags);
	margins_add(&s->inference, id, s->arena);
	return s->projs[id];
}

const char *small_dump(Small *s)
{
	char *buffer = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&buffer, &len);
	infer_dump_proj(out, &s->inference);
	fclose(out);
	const char *text = arena_strndup(s->arena, buffer, len);
	free(buffer);
	return text;
}
