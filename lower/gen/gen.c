/* A kernel under construction: its iterators and locals, what is asked of it and what was chosen,
 * and statements that all kernels are made of.
 */
#include <string.h>

#include "loops/rewrite.h"
#include "lower/gen/row_block_place.h"

/* In a row block the first iterators are those that its kernels share, so that they have one number
 * in all of them. */
Gen gen_new_in(Lower *lower, Program *program, Sym name, Span span)
{
	Gen gen = {.lower = lower,
		   .program = program,
		   .arena = program->arena,
		   .frame = frame_new(program),
		   .asked = lower->asked,
		   .root = NODE_NONE,
		   .bound = NODE_NONE,
		   .inside = NODE_NONE};
	gen.name = name;
	gen.span = span;
	PUSH(gen.arena, gen.made, ((ScheduleEntry){.name = name, .span = span}));
	const RowBlock *row_block = lower->row_block;
	for (uint32_t dim = 0; row_block && dim < row_block->ndims; dim++)
		gen_iter(&gen,
			 dim == row_block->rows ? "first" : row_block->dims[dim].name);
	return gen;
}

Gen gen_new(Lower *lower, Sym name, Span span)
{
	return gen_new_in(lower, lower->program, name, span);
}

Gen gen_look(const Gen *gen)
{
	Gen look = *gen;
	look.frame = frame_copy(&gen->frame, false);
	memset(&look.shared, 0, sizeof look.shared);
	memset(&look.borders, 0, sizeof look.borders);
	return look;
}

Gen gen_emit(const Gen *planned)
{
	Gen gen = gen_look(planned);
	gen.emits = true;
	memset(&gen.frame.locals, 0, sizeof gen.frame.locals);
	memset(&gen.made, 0, sizeof gen.made);
	for (size_t i = 0; i < planned->made.n; i++)
		PUSH(gen.arena, gen.made, planned->made.at[i]);
	return gen;
}

/* A kernel of several nests has an entry of the schedule for each that chose something: NAME,
 * NAME.2, ... */
void gen_nest(Gen *gen)
{
	if (gen_entry(gen)->clauses.n == 0)
		return;
	Sym name = sym_printf(gen->program->symbols, "%s.%zu", gen->name, gen->made.n + 1);
	PUSH(gen->arena, gen->made, ((ScheduleEntry){.name = name, .span = gen->span}));
	gen->entry = (uint32_t)gen->made.n - 1;
}

ScheduleClause *gen_asked(const Gen *gen, Choice choice)
{
	const ScheduleEntry *entry = gen_entry(gen);
	return schedule_asked(gen->asked, gen->program, entry->name, entry->span, choice);
}

ScheduleClause *gen_make(Gen *gen, Choice choice, bool off)
{
	return entry_make(gen->arena, gen_entry(gen), choice, off);
}

static Sym operand_name(const Gen *gen, BufferId operand)
{
	return lower_identifier(gen->lower, gen->program->buffers.at[operand].name);
}

void gen_make_operand(Gen *gen, Choice choice, BufferId operand)
{
	ScheduleClause *made = entry_clause(gen_entry(gen), choice);
	Sym name = operand_name(gen, operand);
	if (!made)
		made = gen_make(gen, choice, false);
	if (!clause_item(made, name))
		clause_add(gen->arena, made, name, NULL, 0);
}

bool gen_asks_operand(const Gen *gen, Choice choice, BufferId operand)
{
	const ScheduleClause *asked = gen_asked(gen, choice);
	return asks_on(asked) && asks_any(asked, operand_name(gen, operand));
}

Kernel kernel_finish(Gen *gen)
{
	Program *program = gen->program;
	Kernel kernel = {.name = gen->name,
			 .span = gen->span,
			 .site = tables_site(&gen->lower->tables, gen->name),
			 .loop = gen->lower->loop};
	frame_end(&gen->frame, &kernel);
	kernel.body = body_block(&gen->top);
	for (size_t i = 0; i < gen->made.n; i++)
		PUSH(gen->arena, program->made->entries, gen->made.at[i]);
	return kernel;
}

void gen_owns(Gen *gen, BufferId buffer) { PUSH(gen->arena, gen->buffers, buffer); }

BufferId gen_temporary(Gen *gen, const char *prefix, const char *of, Buffer buffer)
{
	Sym name = sym_printf(gen->program->symbols, "%s_%s", prefix, of);
	REQUIRE(!gen->emits);
	buffer.kind = BUFFER_TEMP;
	if (gen->looks) {
		buffer.name = tables_free_name(&gen->lower->tables, name);
		buffer.dtype = dtype_alone(buffer.dtype);
		PUSH(gen->arena, gen->program->buffers, buffer);
		return (BufferId)gen->program->buffers.n - 1;
	}
	buffer.name = lower_unique(gen->lower, name);
	BufferId id = lower_buffer(gen->lower, buffer);
	gen_owns(gen, id);
	return id;
}

void gen_enter(Gen *gen, SharedLocals *shared)
{
	gen->locals_of = shared;
	gen->shared.n = 0;
}

void gen_set_shared(Gen *gen, Body *body, const SharedLocals *shared)
{
	for (size_t i = 0; i < shared->n; i++) {
		Stmt *stmt = stmt_local(gen->arena, shared->at[i].local, shared->at[i].value);
		stmt->span = shared->at[i].span;
		PUSH(gen->arena, body->stmts, stmt);
	}
}

const Ix *gen_const(const Gen *gen, int64_t value) { return ix_const(gen->program, value); }

const Ix *zero_ix(Gen *gen) { return gen_const(gen, 0); }

void gen_append(Gen *gen, Body *body, Block block) { body_append(gen->arena, body, block); }

Block block_of(Gen *gen, const Stmt *stmt) { return block_one(gen->arena, stmt); }

LocalId gen_declare(Gen *gen, Body *body, const char *name, const Value *start,
		    const int64_t *extents, uint32_t rank)
{
	LocalId id = frame_local(&gen->frame, name, start->dtype, extents, rank);
	PUSH(gen->arena, body->stmts, stmt_local(gen->arena, id, start));
	return id;
}

const Value *gen_let(Gen *gen, Body *body, const char *name, const Value *value)
{
	return gen_local_value(gen, gen_declare(gen, body, name, value, NULL, 0));
}

Block gen_loop(Gen *gen, LoopKind kind, IterVar iter, int64_t extent, Block body)
{
	return block_of(gen, stmt_loop(gen->program, kind, iter, extent, body));
}

Block gen_over(Gen *gen, IterVar iter, Size extent, Block body)
{
	return gen_steps(gen, iter, zero_ix(gen), ix_size(gen->arena, extent), 1, body);
}

Block gen_steps(Gen *gen, IterVar iter, const Ix *lo, const Ix *hi, int64_t step, Block body)
{
	return block_of(gen, stmt_step(gen->arena, stmt_for(gen->arena, iter, lo, hi, body), step));
}

const Stmt *stmt_below(Gen *gen, const Ix *ix, Size n, Body *body)
{
	return stmt_if_one(gen->arena, (Cond){COND_LT, ix, ix_size(gen->arena, n)}, body_block(body));
}

Sym lower_name(Lower *lower, NodeId id)
{
	NodeId reduction = lower->plan[id].reduction;
	Sym sum = reduction == NODE_NONE ? NULL : lower_node(lower, reduction)->name;
	return !lower_node(lower, id)->name && sum ? tables_name_as(&lower->tables, id, sum)
						   : tables_name(&lower->tables, id);
}

const Ix **shape_indices(Gen *gen, const Shape *shape, IterVar *vars)
{
	uint32_t naxes = shape_naxes(shape);
	const Ix **axes = ARENA_ARRAY(gen->arena, const Ix *, naxes + 1);
	for (uint32_t i = 0; i < naxes; i++) {
		vars[i] = UINT32_MAX;
		axes[i] = zero_ix(gen);
		if (size_is(gen->program->sizes, shape_axis(shape, i)->size, 1))
			continue;
		vars[i] = gen_iter(gen, "i");
		axes[i] = ix_iter(gen->arena, vars[i]);
	}
	return axes;
}

void wrap_shape(Gen *gen, const Shape *shape, const IterVar *vars, Body *body)
{
	Block block = body_block(body);
	for (uint32_t i = shape_naxes(shape); i-- > 0;)
		if (vars[i] != UINT32_MAX)
			block = gen_over(gen, vars[i], shape_axis(shape, i)->size, block);
	gen_append(gen, &gen->top, block);
}

Sym kernel_name(Lower *lower, NodeId id)
{
	const Buffer *buffer = &lower->program->buffers.at[lower->plan[id].buffer];
	return buffer->kind == BUFFER_TEMP ? buffer->name : lower_name(lower, id);
}

BufferId lower_output_buffer(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->output && !plan->pre_check && !graph_is_carried(lower->graph, id)
		       ? tables_output(&lower->tables, id)
		       : BUFFER_NONE;
}

/* May a reshaped node be the same buffer as its operand? */
bool lower_is_alias(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	const NodePlan *plan = &lower->plan[id];
	if (!proj || !proj->linear || node->target != NODE_NONE || plan->mutated)
		return false;
	const NodePlan *arg = &lower->plan[node->args[0]];
	return !arg->fused && !arg->mutated &&
	       node->dtype == lower_node(lower, node->args[0])->dtype &&
	       (!plan->output || arg->buffer == lower_output_buffer(lower, id));
}

bool lower_has_kernel(const Lower *lower, NodeId id)
{
	const NodePlan *plan = &lower->plan[id];
	return plan->needed && !plan->fused && !plan->hoisted &&
	       !node_is_caller_data(lower_node(lower, id)) && !lower_is_alias(lower, id);
}
