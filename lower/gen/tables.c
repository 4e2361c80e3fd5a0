/* What any loops need around them: names, buffers, types, parameters, guards.
 *
 * In this order: sizes of tensors are checked to be addressable, parameters get their places in
 * the state, one after the other in the order of the graph, and guards become checks. Constants are
 * added as routines ask for them.
 */
#include "lower/gen/tables.h"

#include <inttypes.h>
#include <stb/stb_ds.h>
#include <string.h>
#include <xxhash.h>

#include "base/room.h"
#include "base/size_fits.h"
#include "loops/build.h"
#include "schedule/schedule.h"

int compare_nodes(const void *a, const void *b)
{
	NodeId x = *(const NodeId *)a, y = *(const NodeId *)b;
	return (x > y) - (x < y);
}

enum { BYTES_BITS = 46 }; /* a tensor holds less than 2^46 bytes */

Size tables_elements(const Tables *t, NodeId node)
{
	return shape_elements(t->sizes, tables_shape(t, node));
}

/* ---- names ---- */

Sym tables_identifier(const Tables *t, const char *text)
{
	return sym_identifier(t->program->symbols, t->arena, text);
}

/* NAME, NAME_2, NAME_3 ...: `taken` holds the last number that a name got, so many equal names
 * stay cheap. */
static Sym find_free(const Tables *t, NameCount **taken, Sym base, uint32_t *number)
{
	Sym name = base;
	uint32_t n = (uint32_t)shget(*taken, name);
	while (shgeti(*taken, name) >= 0) { /* falls: names that are taken */
		n = n < 2 ? 2 : n + 1;
		name = sym_printf(t->program->symbols, "%s_%" PRIu32, base, n);
	}
	*number = n;
	return name;
}

Sym tables_free_name(const Tables *t, const char *text)
{
	NameCount *taken = t->taken;
	uint32_t number;
	return find_free(t, &taken, tables_identifier(t, text), &number);
}

Sym tables_unique(Tables *t, const char *text)
{
	uint32_t number;
	Sym base = tables_identifier(t, text), name = find_free(t, &t->taken, base, &number);
	if (name != base)
		shput(t->taken, base, number);
	shputs(t->taken, ((NameCount){.key = (char *)name}));
	return name;
}

/* What a tensor without a name is called. */
const char *tables_op_text(const Tables *t, NodeId id)
{
	const Node *node = tables_node(t, id);
	const Proj *proj = tables_proj(t, id);
	if (node->target != NODE_NONE && tables_node(t, node->target)->name)
		return arena_printf(t->scratch, "set_%s", tables_node(t, node->target)->name);
	if (node->kind == NODE_POINTWISE)
		return op_name(node->op);
	if (node->kind == NODE_SPEC && proj && proj_reduces(proj))
		return node->reduce == OP_ADD || node->reduce == OP_NONE ? "sum"
									 : op_name(node->reduce);
	return node_kind_name(node);
}

Sym tables_name_as(Tables *t, NodeId id, const char *text)
{
	if (!t->names[id]) {
		t->names[id] = tables_unique(t, text);
		shgetp(t->taken, t->names[id])->site = tables_node(t, id)->site;
	}
	return t->names[id];
}

Sym tables_name(Tables *t, NodeId id)
{
	const Node *node = tables_node(t, id);
	return t->names[id]
		       ? t->names[id]
		       : tables_name_as(t, id, node->name ? node->name : tables_op_text(t, id));
}

uint32_t tables_site(const Tables *t, Sym name)
{
	NameCount *taken = t->taken;
	ptrdiff_t i = shgeti(taken, name);
	return i < 0 ? 0 : taken[i].site;
}

/* ---- buffers and types ---- */

static void tell_large(Tables *t, NodeId id, const char *before, const char *unit)
{
	const Node *node = tables_node(t, id);
	diag(t->diags, E0508, node->span, "the tensor%s%s is too large: %s has %s2^%d%s or more",
	     node->name ? " " : "", node->name ? node->name : "",
	     shape_text(t->arena, t->sizes, tables_shape(t, id)), before, BYTES_BITS, unit);
}

/* "the number of bytes of the tensor x, f32 [n, n]" */
static const char *bytes_text(const Tables *t, NodeId id)
{
	const Node *node = tables_node(t, id);
	return arena_printf(t->arena, "the number of bytes of the tensor%s%s, %s,",
			    node->name ? " " : "", node->name ? node->name : "",
			    shape_text(t->arena, t->sizes, tables_shape(t, id)));
}

static bool fits(Tables *t, Size size, Span span, const char *what)
{
	return size_fits(t->diags, t->sizes, size, span, what);
}

/* Refuses sizes that are known to be too large; symbolic ones are checked when a routine is
 * called. */
static void check_bytes(Tables *t, Size elements, Dtype dtype, NodeId node)
{
	int64_t n;
	Size bytes = size_room(t->sizes, elements, dtype);
	if (size_is_bad(bytes) && !sizes_limit_is_number(t->sizes))
		fits(t, bytes, tables_node(t, node)->span, bytes_text(t, node));
	else if (size_is_bad(bytes) ||
		 (size_is_const(t->sizes, bytes, &n) && n >= (int64_t)1 << BYTES_BITS))
		tell_large(t, node, "", " bytes");
}

BufferId tables_buffer(Tables *t, Buffer buffer)
{
	if (buffer.kind == BUFFER_TEMP) {
		buffer.dtype = dtype_alone(buffer.dtype);
		buffer.offset = size_const(t->sizes, 0); /* where no kernel touches it */
	}
	buffer.routine = t->routine_id;
	buffer.home = (BufferId)t->program->buffers.n;
	PUSH(t->arena, t->program->buffers, buffer);
	return (BufferId)t->program->buffers.n - 1;
}

TensorType tables_type(Tables *t, NodeId id)
{
	const Shape *shape = tables_shape(t, id);
	uint32_t naxes = shape_naxes(shape), at = 0;
	TensorType type = {.dtype = tables_node(t, id)->dtype};
	type.nbatch = shape->rows[ROW_BATCH].n;
	type.noutput = shape->rows[ROW_OUTPUT].n;
	type.ninput = shape->rows[ROW_INPUT].n;
	type.sizes = ARENA_ARRAY(t->arena, Size, naxes + 1);
	type.labels = ARENA_ARRAY(t->arena, Sym, naxes + 1);
	for (int k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < shape->rows[stored_rows[k]].n; i++, at++) {
			type.sizes[at] = shape->rows[stored_rows[k]].axes[i].size;
			type.labels[at] = shape->rows[stored_rows[k]].axes[i].label;
		}
	type.text = arena_printf(t->arena, "%s %s", dtype_name(type.dtype),
				 shape_text(t->arena, t->sizes, shape));
	return type;
}

BufferId tables_param(Tables *t, NodeId node)
{
	REQUIRE(t->shared[node] != BUFFER_NONE);
	return t->shared[node];
}

BufferId tables_const(Tables *t, NodeId id)
{
	Program *program = t->program;
	const Node *node = tables_node(t, id);
	if (t->shared[id] != BUFFER_NONE)
		return t->shared[id];
	Sym name = node->name ? node->name : tables_name(t, id);
	uint32_t arg = (uint32_t)program->consts.n;
	BufferId buffer = tables_buffer(t, (Buffer){.kind = BUFFER_CONST,
						    .name = name,
						    .dtype = node->dtype,
						    .elements = tables_elements(t, id),
						    .arg = arg});
	PUSH(program->arena, program->consts,
	     ((ProgramConst){name, tables_type(t, id), node->data->bytes, node->data->count,
			     buffer}));
	return t->shared[id] = buffer;
}

/* ---- parameters ---- */

/* The product of the input axes, from which a uniform initialiser takes its bound. */
static Size fan_in(const Tables *t, NodeId id)
{
	const Row *row = &tables_shape(t, id)->rows[ROW_INPUT];
	Size product = size_const(t->sizes, 1);
	for (uint32_t i = 0; i < row->n; i++)
		product = size_mul(t->sizes, product, row->axes[i].size);
	return product;
}

static void add_param(Tables *t, NodeId id)
{
	Program *program = t->program;
	const Node *node = tables_node(t, id);
	bool uniform = node->init == INIT_UNIFORM && tables_shape(t, id)->rows[ROW_INPUT].n > 0;
	ProgramParam param = {
		.name = node->name, .type = tables_type(t, id), .offset = program->state};
	param.init = node->init == INIT_EXPRESSION ? PARAM_COMPUTED
		     : uniform			   ? PARAM_UNIFORM
						   : PARAM_CONSTANT;
	param.value = node->init == INIT_CONSTANT ? node->init_value : 0;
	param.fan_in = fan_in(t, id);
	param.key = XXH64(node->name, strlen(node->name), 0);
	uint32_t arg = (uint32_t)program->params.n;
	Size elements = tables_elements(t, id);
	param.buffer = tables_buffer(t, (Buffer){.kind = BUFFER_PARAM,
						 .name = node->name,
						 .dtype = node->dtype,
						 .elements = elements,
						 .arg = arg});
	t->shared[id] = param.buffer;
	Size bytes = bytes_aligned(t->sizes, elements, node->dtype);
	if (size_is_bad(program->state))
		return; /* which has been told */
	program->state = size_total(t->sizes, program->state, bytes);
	if (size_is_bad(program->state) && !sizes_limit_is_number(t->sizes))
		fits(t, program->state, node->span,
		     arena_printf(t->arena, "the number of bytes of all parameters up to %s",
				  node->name));
	else
		check_bytes(t, program->state, DTYPE_U8, id);
	PUSH(program->arena, program->params, param);
}

static void note_change(Tables *t, NodeId target)
{
	Program *program = t->program;
	if (target != NODE_NONE && tables_node(t, target)->kind == NODE_PARAM)
		program->params.at[program->buffers.at[t->shared[target]].arg].changes = true;
}

/* Parameters that some routine assigns to: copies of them have to be made again. */
static void mark_changes(Tables *t)
{
	const Graph *graph = t->graph;
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].norder; i++)
			note_change(t, tables_node(t, graph->routines.at[r].order[i])->target);
}

static void add_guards(Tables *t)
{
	static const CheckKind kinds[] = {
		[GUARD_EQ] = CHECK_EQ, [GUARD_GE] = CHECK_GE, [GUARD_DIVIDES] = CHECK_DIVIDES};
	const Inference *inference = t->inference;
	for (size_t i = 0; i < inference->guards.n; i++) {
		const Guard *guard = &inference->guards.at[i];
		if (guard->given)
			break; /* they are the last */
		PUSH(t->arena, t->program->checks,
		     ((Check){kinds[guard->kind], guard->a, guard->b, guard->span, guard->text}));
	}
	t->program->nguards = (uint32_t)t->program->checks.n;
}

static void tell_product(Tables *t, NodeId id)
{
	if (sizes_limit_is_number(t->sizes))
		tell_large(t, id, "numbers of ", "");
	else
		fits(t, SIZE_BAD, tables_node(t, id)->span, bytes_text(t, id));
}

/* Do the numbers in products of axes that are neighbours in memory, strides among them, leave room
 * for steps, elements' bytes and what a kernel adds? */
static bool products_have_room(Sizes *sizes, const Shape *shape)
{
	const int64_t room = (int64_t)1 << (63 - BYTES_BITS);
	uint32_t n = shape_naxes(shape);
	for (uint32_t first = 0; first < n; first++) {
		Size product = size_const(sizes, 1);
		for (uint32_t i = first; i < n; i++) {
			product = size_mul(sizes, product, shape_axis(shape, i)->size);
			if (size_is_bad(size_scale(sizes, product, room)))
				return false;
		}
	}
	return true;
}

static void check_all_sizes(Tables *t)
{
	for (NodeId id = 0; id < t->graph->nodes.n; id++) {
		const Node *node = tables_node(t, id);
		int before = t->diags->nerrors;
		if (!node->used || node->dtype >= DTYPE_COUNT)
			continue;
		check_bytes(t, tables_elements(t, id), node->dtype, id);
		if (t->diags->nerrors == before &&
		    !products_have_room(t->sizes, tables_shape(t, id)))
			tell_product(t, id);
	}
}

static const ProgramSite *program_sites(const Graph *graph, Arena *arena)
{
	ProgramSite *sites = ARENA_ARRAY(arena, ProgramSite, graph->sites.n + 1);
	for (size_t i = 0; i < graph->sites.n; i++)
		sites[i] = (ProgramSite){graph->sites.at[i].span, graph->sites.at[i].parent};
	return sites;
}

/* ---- the program ---- */

Tables tables_new(const TensorProgram *tensors, const Sources *sources, Arena *perm, Diags *diags,
		  const LowerOptions *options)
{
	size_t n = tensors->graph->nodes.n + 1;
	Tables t = {.inference = tensors->inference,
		    .graph = tensors->graph,
		    .sizes = tensors->sizes,
		    .arena = perm,
		    .scratch = arena_new(),
		    .diags = diags,
		    .shared = ARENA_ARRAY(perm, BufferId, n),
		    .checks = ARENA_ARRAY(perm, CheckId, n),
		    .pre_check = ARENA_ARRAY(perm, bool, n),
		    .own_check = ARENA_ARRAY(perm, bool, n),
		    .loops = ARENA_ARRAY(perm, uint32_t, tensors->graph->loops.n + 1),
		    .names = ARENA_ARRAY(perm, Sym, n)};
	t.program = ARENA_NEW(perm, Program);
	*t.program = (Program){.arena = perm,
			       .symbols = tensors->graph->symbols,
			       .sizes = tensors->sizes,
			       .sources = sources,
			       .state = size_const(tensors->sizes, 0),
			       .path = tensors->graph->files.at[0],
			       .sites = program_sites(tensors->graph, perm),
			       .options = *options};
	PUSH(perm, t.program->loops, ((ProgramLoop){.until = BUFFER_NONE, .made = BUFFER_NONE}));
	t.program->made = ARENA_NEW(perm, Schedule); /* nothing yet */
	t.program->made->arena = perm;
	for (size_t i = 0; i < n; i++) {
		t.shared[i] = BUFFER_NONE;
		t.checks[i] = CHECK_NONE;
	}
	return t;
}

void tables_free(Tables *t)
{
	shfree(t->taken);
	arena_free(t->scratch);
}

bool tables_fill(Tables *t)
{
	const Graph *graph = t->graph;
	check_all_sizes(t);
	for (size_t i = 0; i < graph->params.n; i++)
		if (tables_node(t, graph->params.at[i])->used)
			add_param(t, graph->params.at[i]);
	if (t->diags->nerrors)
		return false;
	add_guards(t);
	mark_changes(t);
	for (uint32_t i = 0; i < graph->routines.n; i++)
		PUSH(t->arena, t->program->routines, (ProgramRoutine){0});
	return true;
}

const Ix **tables_unflatten(Program *program, const Shape *shape, const Ix *at)
{
	uint32_t naxes = shape_naxes(shape);
	const Ix **axes = ARENA_ARRAY(program->arena, const Ix *, naxes + 1);
	for (uint32_t i = naxes; i-- > 0;) {
		const Ix *size = ix_size(program->arena, shape_axis(shape, i)->size);
		axes[i] = i > 0 ? ix_binary(program, IX_MOD, at, size) : at;
		at = ix_binary(program, IX_DIV, at, size);
	}
	return axes;
}

const Ix *tables_flatten(Program *program, const Shape *shape, const Ix *const *axes)
{
	const Ix *at = ix_const(program, 0);
	Size stride = size_const(program->sizes, 1);
	for (uint32_t i = shape_naxes(shape); i-- > 0;) {
		const Ix *step = ix_mul(program, axes[i], ix_size(program->arena, stride));
		at = ix_add(program, step, at);
		stride = size_mul(program->sizes, stride, shape_axis(shape, i)->size);
	}
	return at;
}
