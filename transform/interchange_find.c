/* Whether the steps of each element depend on nothing that those of others make (interchange.c).
 *
 * The kernels of the loop are nests over the same elements: of the same loops, or of one in the place of several. Put
 * together, with the steps inside, each loop over elements has independent iterations (loop_is_independent): then an
 * element's steps may run before those of the next.
 */
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/interchange.h"

/* ---- nests ---- */

static bool is_element_loop(const StepLoop *s, const Stmt *stmt)
{
	const Sizes *sizes = s->program->sizes;
	return loop_is_plain(stmt) && !stmt->mask && size_is(sizes, stmt->lo->size, 0) &&
	       !size_uses_dim(sizes, stmt->hi->size, interchange_loop(s)->step);
}

static bool is_element_stmt(const Stmt *stmt)
{
	return (stmt->kind == LOOP_STORE && !stmt->stream && !stmt->nconds) ||
	       stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET;
}

/* Is it loops over elements, around statements of one? */
static bool is_over_elements(const StepLoop *s, const LoopNest *nest)
{
	bool plain = true;
	for (uint32_t i = 0; i < nest->n; i++)
		plain = plain && is_element_loop(s, nest->loops[i]);
	for (uint32_t i = 0; i < nest->body.n; i++)
		plain = plain && is_element_stmt(nest->body.stmts[i]);
	return plain;
}

bool interchange_is_linear(const StepLoop *s, const Kernel *kernel)
{
	Sizes *sizes = s->program->sizes;
	Size step = size_dim(sizes, interchange_loop(s)->step), coef, rest;
	SizeList list = kernel_sizes(s->t->scratch, kernel);
	bool linear = true;
	for (size_t i = 0; i < list.n; i++)
		linear = linear && (!size_uses_dim(sizes, list.at[i], interchange_loop(s)->step) ||
				    size_split(sizes, list.at[i], step, &coef, &rest));
	return linear;
}

/* The loops of the kernel that has the most. */
static bool find_loops(StepLoop *s)
{
	for (uint32_t k = s->from; k < s->to; k++) {
		const Kernel *kernel = &s->kernels[k];
		LoopNest nest = block_nest(kernel->body);
		if (kernel->loop != s->kernels[s->from].loop || !is_over_elements(s, &nest) ||
		    !interchange_is_linear(s, kernel))
			return false;
		if (k > s->from && nest.n <= s->nloops)
			continue;
		s->nloops = nest.n;
		for (uint32_t i = 0; i < nest.n; i++) {
			s->loops[i] = nest.loops[i];
			s->iters[i] = nest.loops[i]->iter;
		}
		s->kernel.iters = kernel->iters;
		s->kernel.niters = kernel->niters;
	}
	return true;
}

/* ---- one kernel of all ---- */

/* The iterators of a nest in terms of the loops: one that goes through several of them is their sum. */
static const Ix *const *iters_of(const StepLoop *s, const Kernel *kernel, const LoopNest *nest)
{
	Program *program = s->program;
	const Ix **iters = kernel_iters(program->arena, kernel, 0);
	uint32_t at = 0;
	for (uint32_t i = 0; i < nest->n; i++) {
		Size extent = size_const(program->sizes, 1), whole = nest->loops[i]->hi->size;
		const Ix *ix = NULL;
		while (at < s->nloops && (!ix || !size_same(extent, whole))) {
			const Ix *iter = ix_iter(program->arena, s->iters[at]);
			const Ix *hi = s->loops[at]->hi;
			ix = ix ? ix_add(program, ix_mul(program, ix, hi), iter) : iter;
			extent = size_mul(program->sizes, extent, hi->size);
			at++;
		}
		if (!ix || !size_same(extent, whole))
			return NULL;
		iters[nest->loops[i]->iter] = ix;
	}
	return at == s->nloops ? iters : NULL;
}

/* The number of a step: iterations count from 0 up. */
const Ix *interchange_step(const StepLoop *s)
{
	Program *program = s->program;
	const Ix *step = ix_iter(program->arena, s->step);
	Size last = size_plus(program->sizes, interchange_loop(s)->count, -1);
	return interchange_loop(s)->down ? ix_minus(program, ix_size(program->arena, last), step)
					 : step;
}

static void append(StepLoop *s, const Kernel *kernel, Body *body)
{
	LoopNest nest = block_nest(kernel->body);
	Rewrite rewrite = {.program = s->program,
			   .iters = iters_of(s, kernel, &nest),
			   .first_local = s->kernel.nlocals,
			   .dim = interchange_loop(s)->step,
			   .dim_ix = interchange_step(s),
			   .span = kernel->span};
	Kernel locals = {.locals = kernel->locals, .nlocals = kernel->nlocals};
	kernel_append_tables(s->program->arena, &s->kernel, &locals);
	body_append(s->program->arena, body, rewrite_block(&rewrite, nest.body));
}

/* The steps of an element, inside of the loops. */
static const Stmt *whole_nest(const StepLoop *s)
{
	Arena *arena = s->program->arena;
	const Stmt *nest = stmt_for(arena, s->step, ix_const(s->program, 0),
				    ix_size(arena, interchange_loop(s)->count), s->body);
	for (uint32_t i = s->nloops; i-- > 0;)
		nest = stmt_for(arena, s->iters[i], s->loops[i]->lo, s->loops[i]->hi,
				block_one(arena, nest));
	return nest;
}

bool interchange_uses_scratch(const StepLoop *s)
{
	BufferUses uses = kernel_buffers(s->t->scratch, &s->kernel);
	bool scratch = false;
	for (size_t i = 0; i < uses.n; i++)
		scratch |= s->program->buffers.at[uses.at[i].buffer].scratch;
	return scratch;
}

static bool is_independent(const StepLoop *s)
{
	const Stmt *nest = s->kernel.body.stmts[0], *loop = nest;
	if (interchange_uses_scratch(s))
		return false;
	for (uint32_t i = 0; i < s->nloops; i++, loop = loop->body.stmts[0])
		if (!loop_is_independent(s->program, &s->kernel, nest, loop))
			return false;
	return true;
}

/* ---- temporaries of a step ---- */

typedef struct Element {
	BufferId buffer;
	const Ix *ix; /* of its store, the first access; NULL: not yet */
	bool other;   /* another access */
} Element;

void interchange_values(const Stmt *stmt, SeeValue see, void *of)
{
	value_each(stmt->value, see, of);
	if (stmt->ix)
		ix_each_value(stmt->ix, see, of);
	for (uint32_t i = 0; i < stmt->nixs; i++)
		ix_each_value(stmt->ixs[i], see, of);
}

static void see_load(void *of, const Value *value)
{
	Element *e = of;
	if (value->kind == VALUE_LOAD && value->buffer == e->buffer)
		e->other |= !e->ix || !ix_same(e->ix, value->ix);
}

/* Is one element of the buffer stored, and then read, in a step? */
static bool is_of_step(const StepLoop *s, BufferId buffer)
{
	Element e = {.buffer = buffer};
	for (uint32_t i = 0; i < s->body.n; i++) {
		const Stmt *stmt = s->body.stmts[i];
		interchange_values(stmt, see_load, &e);
		if (stmt->kind != LOOP_STORE || stmt->buffer != buffer)
			continue;
		e.other |= e.ix ? !ix_same(e.ix, stmt->ix) : stmt->acc != OP_NONE;
		e.ix = stmt->ix;
	}
	return e.ix && !e.other;
}

bool interchange_is_seen_elsewhere(const StepLoop *s, BufferId buffer)
{
	for (uint32_t k = 0; k < s->n; k++) {
		BufferUses uses = kernel_buffers(s->t->scratch, &s->kernels[k]);
		if ((k < s->from || k >= s->to) && buffer_use(&uses, buffer))
			return true;
	}
	return program_loops_use(s->program, buffer);
}

static void become_local(StepLoop *s, BufferId buffer)
{
	const Buffer *b = &s->program->buffers.at[buffer];
	BufferTwin twin = {.kind = TWIN_LOCAL, .buffer = buffer};
	twin.id = kernel_add_local(s->program, &s->kernel,
				   (KernelLocal){.name = b->name, .dtype = b->dtype});
	s->body = rewrite_twins(s->program, &s->kernel, s->body, &twin, 1);
	buffer_forget(s->program, buffer);
}

void interchange_locals(StepLoop *s)
{
	BufferUses uses = kernel_buffers(s->t->scratch, &s->kernel);
	for (size_t i = 0; i < uses.n; i++) {
		const Buffer *b = &s->program->buffers.at[uses.at[i].buffer];
		if (b->kind == BUFFER_TEMP && !dtype_is_packed(b->dtype) &&
		    is_of_step(s, uses.at[i].buffer) &&
		    !interchange_is_seen_elsewhere(s, uses.at[i].buffer))
			become_local(s, uses.at[i].buffer);
	}
}

/* ---- the loop ---- */

/* Is its number of steps known before the first, and are its kernels nests over the same elements? */
static bool may_be_one(StepLoop *s)
{
	const ProgramLoop *loop = interchange_loop(s);
	if (loop->until != BUFFER_NONE || loop->made != BUFFER_NONE || loop->nexchanges > 0 ||
	    !find_loops(s))
		return false;
	for (uint32_t k = s->from; k < s->to; k++) {
		LoopNest nest = block_nest(s->kernels[k].body);
		if (!iters_of(s, &s->kernels[k], &nest))
			return false;
	}
	return true;
}

void interchange_find(StepLoop *s)
{
	Body body = {0};
	if (!may_be_one(s))
		return;
	s->step = kernel_add_iter(s->program, &s->kernel,
				  sizes_dim(s->program->sizes, interchange_loop(s)->step)->name);
	for (uint32_t k = s->from; k < s->to; k++)
		append(s, &s->kernels[k], &body);
	s->body = body_block(&body);
	s->kernel.body = block_one(s->program->arena, whole_nest(s));
	s->independent = is_independent(s);
}
