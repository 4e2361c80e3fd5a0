/* An inferred graph to a program: its tables, then every routine (routine.c).
 *
 * In this order: sizes of tensors are checked to be addressable, parameters get their places in
 * the state, one after the other in the order of the graph, and guards become checks. Constants,
 * copies of parameters and kernels are added while routines are lowered; the routine that packs
 * the state comes last, as it does what they asked for. Names of kernels and buffers are C
 * identifiers, unique within the program, and depend on the program alone.
 */
#include "base/size_fits.h"
#include "lower/lower.h"

#include <inttypes.h>
#include <stb/stb_ds.h>
#include <string.h>
#include <xxhash.h>

#include "lower/lowering.h"

enum { BYTES_BITS = 46 }; /* a tensor holds less than 2^46 bytes */

Size node_elements(const Lower *lower, NodeId node)
{
	return shape_elements(lower->sizes, lower_shape(lower, node));
}

/* ---- names ---- */

/* Letters, digits and _, with a letter or _ in front. */
static char *as_identifier(Arena *arena, const char *text)
{
	bool digit = text[0] >= '0' && text[0] <= '9';
	char *name = arena_printf(arena, "%s%s", digit || !text[0] ? "t" : "", text);
	for (char *c = name; *c; c++) {
		bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
		if (!letter && !(*c >= '0' && *c <= '9'))
			*c = '_';
	}
	return name;
}

Sym lower_identifier(const Lower *lower, const char *text)
{
	return sym_cstr(lower->program->symbols, as_identifier(lower->arena, text));
}

/* NAME, NAME_2, NAME_3 ...: `taken` holds the last number that a name got, so many equal names
 * stay cheap. */
Sym lower_unique(Lower *lower, const char *text)
{
	Symbols *symbols = lower->program->symbols;
	const char *base = as_identifier(lower->arena, text);
	Sym name = sym_cstr(symbols, base);
	for (uint32_t n = (uint32_t)shget(lower->taken, name); shgeti(lower->taken, name) >= 0;) {
		n = n < 2 ? 2 : n + 1;
		shput(lower->taken, sym_cstr(symbols, base), n);
		name = sym_printf(symbols, "%s_%" PRIu32, base, n);
	}
	shputs(lower->taken, ((NameCount){.key = (char *)name}));
	return name;
}

/* What a tensor without a name is called. */
static const char *op_text(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	if (node->target != NODE_NONE && lower_node(lower, node->target)->name)
		return arena_printf(lower->scratch, "set_%s",
				    lower_node(lower, node->target)->name);
	if (node->kind == NODE_POINTWISE)
		return op_name(node->op);
	if (node->kind == NODE_SPEC && proj && proj_reduces(proj))
		return node->reduce == OP_ADD || node->reduce == OP_NONE ? "sum"
									 : op_name(node->reduce);
	return node_kind_name(node->kind);
}

Sym lower_name(Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const NodePlan *plan = &lower->plan[id];
	if (lower->names[id])
		return lower->names[id];
	Sym name = node->name;
	if (!name && plan->reduction != NODE_NONE)
		name = lower_node(lower, plan->reduction)->name;
	lower->names[id] = lower_unique(lower, name ? name : op_text(lower, id));
	shgetp(lower->taken, lower->names[id])->site = node->site;
	return lower->names[id];
}

uint32_t lower_site(const Lower *lower, Sym name)
{
	NameCount *taken = lower->taken;
	ptrdiff_t i = shgeti(taken, name);
	return i < 0 ? 0 : taken[i].site;
}

/* ---- buffers and types ---- */

static void tell_large(Lower *lower, NodeId id, const char *before, const char *unit)
{
	const Node *node = lower_node(lower, id);
	diag(lower->diags, E0508, node->span,
	     "the tensor%s%s is too large: %s has %s2^%d%s or more", node->name ? " " : "",
	     node->name ? node->name : "",
	     shape_text(lower->arena, lower->sizes, lower_shape(lower, id)), before, BYTES_BITS,
	     unit);
}

/* "the number of bytes of the tensor x, f32 [n, n]" */
static const char *bytes_text(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	return arena_printf(lower->arena, "the number of bytes of the tensor%s%s, %s,",
			    node->name ? " " : "", node->name ? node->name : "",
			    shape_text(lower->arena, lower->sizes, lower_shape(lower, id)));
}

static bool fits(Lower *lower, Size size, Span span, const char *what)
{
	return size_fits(lower->diags, lower->sizes, size, span, what);
}

/* Refuses sizes that are known to be too large; symbolic ones are checked when a routine is
 * called. */
static void check_bytes(Lower *lower, Size elements, Dtype dtype, NodeId node)
{
	int64_t n;
	Size bytes = size_scale(lower->sizes, elements, (int64_t)dtype_bytes(dtype));
	if (size_is_bad(bytes) && !sizes_limit_is_number(lower->sizes))
		fits(lower, bytes, lower_node(lower, node)->span,
				bytes_text(lower, node));
	else if (size_is_bad(bytes) ||
		 (size_is_const(lower->sizes, bytes, &n) && n >= (int64_t)1 << BYTES_BITS))
		tell_large(lower, node, "", " bytes");
}

BufferId lower_buffer(Lower *lower, Buffer buffer)
{
	buffer.routine = lower->routine_id;
	buffer.home = (BufferId)lower->program->buffers.n;
	PUSH(lower->arena, lower->program->buffers, buffer);
	return (BufferId)lower->program->buffers.n - 1;
}

/* Copies of parameters in the state have kernels elsewhere. */
void lower_forget_from(Lower *lower, BufferId first)
{
	for (BufferId b = first; b < lower->program->buffers.n; b++)
		if (lower->program->buffers.at[b].kind == BUFFER_TEMP)
			buffer_forget(lower->program, b);
	for (uint32_t k = 0; k < lower->nneeded; k++)
		if (lower->plan[lower->needed[k]].padded >= first)
			lower->plan[lower->needed[k]].padded = BUFFER_NONE;
}

TensorType lower_type(Lower *lower, NodeId id)
{
	const Shape *shape = lower_shape(lower, id);
	uint32_t naxes = shape_naxes(shape), at = 0;
	TensorType type = {.dtype = lower_node(lower, id)->dtype};
	type.nbatch = shape->rows[ROW_BATCH].n;
	type.noutput = shape->rows[ROW_OUTPUT].n;
	type.ninput = shape->rows[ROW_INPUT].n;
	type.sizes = ARENA_ARRAY(lower->arena, Size, naxes + 1);
	type.labels = ARENA_ARRAY(lower->arena, Sym, naxes + 1);
	for (int k = 0; k < ROW_KINDS; k++)
		for (uint32_t i = 0; i < shape->rows[stored_rows[k]].n; i++, at++) {
			type.sizes[at] = shape->rows[stored_rows[k]].axes[i].size;
			type.labels[at] = shape->rows[stored_rows[k]].axes[i].label;
		}
	type.text = arena_printf(lower->arena, "%s %s", dtype_name(type.dtype),
				 shape_text(lower->arena, lower->sizes, shape));
	return type;
}

BufferId lower_param_buffer(Lower *lower, NodeId node)
{
	REQUIRE(lower->shared[node] != BUFFER_NONE);
	return lower->shared[node];
}

BufferId lower_const_buffer(Lower *lower, NodeId id)
{
	Program *program = lower->program;
	const Node *node = lower_node(lower, id);
	if (lower->shared[id] != BUFFER_NONE)
		return lower->shared[id];
	Sym name = node->name ? node->name : lower_name(lower, id);
	uint32_t arg = (uint32_t)program->consts.n;
	BufferId buffer = lower_buffer(lower, (Buffer){.kind = BUFFER_CONST,
						       .name = name,
						       .dtype = node->dtype,
						       .elements = node_elements(lower, id),
						       .arg = arg});
	PUSH(program->arena, program->consts,
	     ((ProgramConst){name, lower_type(lower, id), node->data->bytes, node->data->count,
			     buffer}));
	return lower->shared[id] = buffer;
}

/* Constants that only copies were made of, in panels, are no part of the program. */
static void drop_constants(Lower *lower)
{
	Program *program = lower->program;
	bool *read = ARENA_ARRAY(lower->scratch, bool, program->buffers.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < program->kernels.n; i++) {
		BufferUses uses = kernel_buffers(lower->scratch, &program->kernels.at[i]);
		for (size_t k = 0; k < uses.n; k++)
			read[uses.at[k].buffer] = true;
	}
	for (size_t i = 0; i < program->consts.n; i++) {
		ProgramConst *from = &program->consts.at[i];
		Buffer *buffer = &program->buffers.at[from->buffer];
		buffer->arg = (uint32_t)n;
		if (read[from->buffer]) {
			program->consts.at[n++] = *from;
		} else {
			buffer->kind = BUFFER_TEMP;
			buffer_forget(lower->program, from->buffer);
		}
	}
	program->consts.n = n;
}

/* ---- parameters ---- */

/* The product of the input axes, from which a uniform initialiser takes its bound. */
static Size fan_in(const Lower *lower, NodeId id)
{
	const Row *row = &lower_shape(lower, id)->rows[ROW_INPUT];
	Size product = size_const(lower->sizes, 1);
	for (uint32_t i = 0; i < row->n; i++)
		product = size_mul(lower->sizes, product, row->axes[i].size);
	return product;
}

static void add_param(Lower *lower, NodeId id)
{
	Program *program = lower->program;
	const Node *node = lower_node(lower, id);
	bool uniform = node->init == INIT_UNIFORM && lower_shape(lower, id)->rows[ROW_INPUT].n > 0;
	ProgramParam param = {
		.name = node->name, .type = lower_type(lower, id), .offset = program->state};
	param.init = node->init == INIT_EXPRESSION ? PARAM_COMPUTED
		     : uniform			   ? PARAM_UNIFORM
						   : PARAM_CONSTANT;
	param.value = node->init == INIT_CONSTANT ? node->init_value : 0;
	param.fan_in = fan_in(lower, id);
	param.key = XXH64(node->name, strlen(node->name), 0);
	uint32_t arg = (uint32_t)program->params.n;
	Size elements = node_elements(lower, id);
	param.buffer = lower_buffer(lower, (Buffer){.kind = BUFFER_PARAM,
						    .name = node->name,
						    .dtype = node->dtype,
						    .elements = elements,
						    .arg = arg});
	lower->shared[id] = param.buffer;
	Size bytes = bytes_aligned(lower->sizes, elements, node->dtype);
	if (size_is_bad(program->state))
		return; /* which has been told */
	program->state = size_total(lower->sizes, program->state, bytes);
	if (size_is_bad(program->state) && !sizes_limit_is_number(lower->sizes))
		fits(lower, program->state, node->span,
				arena_printf(lower->arena,
					     "the number of bytes of all parameters up to %s",
					     node->name));
	else
		check_bytes(lower, program->state, DTYPE_U8, id);
	PUSH(program->arena, program->params, param);
}

static void note_change(Lower *lower, NodeId target)
{
	Program *program = lower->program;
	if (target != NODE_NONE && lower_node(lower, target)->kind == NODE_PARAM)
		program->params.at[program->buffers.at[lower->shared[target]].arg].changes = true;
}

/* Parameters that some routine assigns to: copies of them have to be made again. */
static void mark_changes(Lower *lower)
{
	const Graph *graph = lower->graph;
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].norder; i++)
			note_change(lower,
				    lower_node(lower, graph->routines.at[r].order[i])->target);
}

/* ---- the program ---- */

static void add_guards(Lower *lower)
{
	lower->program->nguards = (uint32_t)lower->inference->guards.n;
	static const CheckKind kinds[] = {
		[GUARD_EQ] = CHECK_EQ, [GUARD_GE] = CHECK_GE, [GUARD_DIVIDES] = CHECK_DIVIDES};
	const Inference *inference = lower->inference;
	for (size_t i = 0; i < inference->guards.n; i++) {
		const Guard *guard = &inference->guards.at[i];
		PUSH(lower->arena, lower->program->checks,
		     ((Check){kinds[guard->kind], guard->a, guard->b, guard->span, guard->text}));
	}
}

static void tell_product(Lower *lower, NodeId id)
{
	if (sizes_limit_is_number(lower->sizes))
		tell_large(lower, id, "numbers of ", "");
	else
		fits(lower, SIZE_BAD, lower_node(lower, id)->span,
				bytes_text(lower, id));
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

static void check_all_sizes(Lower *lower)
{
	for (NodeId id = 0; id < lower->graph->nodes.n; id++) {
		const Node *node = lower_node(lower, id);
		int before = lower->diags->nerrors;
		if (!node->used || node->dtype >= DTYPE_COUNT)
			continue;
		check_bytes(lower, node_elements(lower, id), node->dtype, id);
		if (lower->diags->nerrors == before &&
		    !products_have_room(lower->sizes, lower_shape(lower, id)))
			tell_product(lower, id);
	}
}

static const ProgramSite *program_sites(const Graph *graph, Arena *arena)
{
	ProgramSite *sites = ARENA_ARRAY(arena, ProgramSite, graph->sites.n + 1);
	for (size_t i = 0; i < graph->sites.n; i++)
		sites[i] = (ProgramSite){graph->sites.at[i].span, graph->sites.at[i].parent};
	return sites;
}

static Lower lower_new(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags)
{
	Lower lower = {.inference = tensors->inference,
		       .graph = tensors->graph,
		       .sizes = tensors->sizes,
		       .arena = perm,
		       .diags = diags,
		       .scratch = arena_new()};
	lower.program = ARENA_NEW(perm, Program);
	*lower.program = (Program){.arena = perm,
				   .symbols = tensors->graph->symbols,
				   .sizes = tensors->sizes,
				   .sources = sources,
				   .state = size_const(tensors->sizes, 0),
				   .path = tensors->graph->files.at[0],
				   .sites = program_sites(tensors->graph, perm)};
	return lower;
}

/* What is known of each node, once there are no more of them. */
static void make_tables(Lower *lower)
{
	size_t n = lower->graph->nodes.n + 1;
	lower->shared = ARENA_ARRAY(lower->arena, BufferId, n);
	lower->checks = ARENA_ARRAY(lower->arena, CheckId, n);
	plans_new(lower);
	for (size_t i = 0; i < n; i++) {
		lower->shared[i] = BUFFER_NONE;
		lower->checks[i] = CHECK_NONE;
	}
}

static void lower_all(Lower *lower)
{
	const Graph *graph = lower->graph;
	check_all_sizes(lower);
	for (size_t i = 0; i < graph->params.n; i++)
		if (lower_node(lower, graph->params.at[i])->used)
			add_param(lower, graph->params.at[i]);
	if (lower->diags->nerrors)
		return;
	add_guards(lower);
	mark_changes(lower);
	lower->kept = prepack_kept(lower);
	for (uint32_t i = 0; i < graph->routines.n; i++)
		PUSH(lower->arena, lower->program->routines, (ProgramRoutine){0});
	for (uint32_t i = 0; i < graph->routines.n; i++) {
		plans_clear(lower);
		lower_routine(lower, i);
		arena_reset(lower->scratch);
	}
	lower_pack(lower);
	plans_clear(lower);
	lower_init(lower);
	if (lower->packed_consts.n)
		drop_constants(lower);
}

/* For messages: a schedule may name what is not computed. */
static void note_equals(Lower *lower, const TensorProgram *tensors)
{
	for (size_t i = 0; i < tensors->equals.n; i++) {
		const TensorEqual *equal = &tensors->equals.at[i];
		ScheduleEqual note = {
			lower_identifier(lower, equal->name),
			equal->instead ? lower_identifier(lower, equal->instead) : NULL,
			equal->span};
		PUSH(lower->arena, lower->program->made->equals, note);
	}
}

Program *lower_kernels(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const Machine *machine, const Schedule *asked)
{
	Lower lower = lower_new(tensors, sources, perm, diags);
	lower.machine = machine;
	lower.asked = asked;
	lower.program->machine = *machine;
	lower.program->made = ARENA_NEW(perm, Schedule);
	lower.program->made->arena = perm;
	int before = diags->nerrors;
	note_equals(&lower, tensors);
	make_tables(&lower);
	lower_all(&lower);
	shfree(lower.taken);
	arena_free(lower.scratch);
	if (diags->nerrors == before)
		return lower.program;
	schedule_free(lower.program->made);
	return NULL;
}

void lower_finish(Program *program, const Schedule *asked, Diags *diags)
{
	schedule_compare(asked, program, diags);
	schedule_free(program->made);
}

Program *lower_program(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const Machine *machine, const Schedule *asked)
{
	int before = diags->nerrors;
	Program *program = lower_kernels(tensors, sources, perm, diags, machine, asked);
	if (!program)
		return NULL;
	for (uint32_t i = 0; i + 1 < TRANSFORM_PASSES; i++)
		program = transform_run(i, program, asked, diags);
	lower_finish(program, asked, diags);
	if (diags->nerrors == before)
		program = transform_run(TRANSFORM_PASSES - 1, program, asked, diags);
	return diags->nerrors > before ? NULL : program;
}
