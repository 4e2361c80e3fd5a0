/* Steps that have sums in them, or other loops, go inside of a loop over lines, where each line has steps of its own
 * (interchange.c has those of single elements):
 *
 *   for k in 0..steps                                  for l in 0..n/16
 *     run h: for e in 0..n*m: h[e] = f(h[e])      ->     for k in 0..steps
 *     run y: for i in 0..n step 4: sums over m             for e in 0..16*m: h[l*16*m + e] = f(h[l*16*m + e])
 *                                                          for i in 0..16 step 4: sums over m
 *
 * The outermost loop of each kernel goes through all lines, some elements or rows of each one at a time: those of a block of
 * lines take all steps before the next ones do, in the loops that they had, and so with sums in the same order. Legal are
 * such loops whose blocks are independent, put together with the steps inside (loop_is_independent).
 */
#include "base/size_order.h"
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/interchange.h"

/* ---- which loops ---- */

static const Stmt *root_of(const StepLoop *s, uint32_t k) { return s->kernels[k].body.stmts[0]; }

static bool is_through_lines(const StepLoop *s, const Kernel *kernel)
{
	const Stmt *root = block_only(kernel->body);
	return kernel->loop == s->kernels[s->from].loop && root && root->kind == LOOP_FOR &&
	       root->loop == LOOP_SERIAL && !root->mask && root->lo->kind == IX_SIZE &&
	       root->hi->kind == IX_SIZE && size_is(s->program->sizes, root->lo->size, 0) &&
	       !size_uses_dim(s->program->sizes, root->hi->size, interchange_loop(s)->step) &&
	       interchange_is_linear(s, kernel);
}

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* So many lines are the least that the loop of a kernel goes through in whole steps; 0: not known. */
static int64_t lines_of_step(const StepLoop *s, const Lines *lines, const Stmt *root)
{
	Sizes *sizes = s->program->sizes;
	int64_t each;
	Size per = size_div(sizes, root->hi->size, lines->n);
	if (root->step == 1)
		return 1;
	return size_is_const(sizes, per, &each) && each > 0 ? root->step / gcd(root->step, each)
							    : 0;
}

/* Does the number divide those of all other kernels? */
static bool divides_all(const StepLoop *s, Size n)
{
	bool divides = true;
	for (uint32_t k = s->from; k < s->to && divides; k++)
		divides = size_divides(s->program->sizes, n, root_of(s, k)->hi->size);
	return divides;
}

/* The number of lines, and how many are the least that go together. */
static bool find_lines(StepLoop *s, Lines *lines)
{
	uint32_t k = s->from;
	int64_t whole;
	while (k < s->to && !divides_all(s, root_of(s, k)->hi->size))
		k++;
	if (k == s->to || size_is(s->program->sizes, root_of(s, k)->hi->size, 1))
		return false;
	lines->n = root_of(s, k)->hi->size;
	lines->unit = 1;
	for (k = s->from; k < s->to && lines->unit; k++) {
		int64_t unit = lines_of_step(s, lines, root_of(s, k));
		lines->unit = unit ? lines->unit / gcd(lines->unit, unit) * unit : 0;
	}
	bool counts = size_is_const(s->program->sizes, lines->n, &whole);
	return lines->unit == 1 || (lines->unit > 0 && counts && whole % lines->unit == 0);
}

/* ---- what is copied for the next step ---- */

/* A kernel that copies a temporary of the step whole, for the next one. */
typedef struct NextStep {
	uint32_t k;
	BufferId from, to;
} NextStep;

static bool find_copy(const StepLoop *s, uint32_t k, NextStep *copy)
{
	const Program *program = s->program;
	LoopNest nest = block_nest(s->kernels[k].body);
	const Stmt *stmt = block_only(nest.body);
	if (!stmt || stmt->kind != LOOP_STORE || stmt->acc != OP_NONE || stmt->nconds > 0 ||
	    stmt->value->kind != VALUE_LOAD || !ix_same(stmt->ix, stmt->value->ix))
		return false;
	*copy = (NextStep){.k = k, .from = stmt->value->buffer, .to = stmt->buffer};
	const Buffer *from = &program->buffers.at[copy->from], *to = &program->buffers.at[copy->to];
	Size all = size_const(program->sizes, 1);
	for (uint32_t i = 0; i < nest.n; i++)
		all = size_mul(program->sizes, all, nest.loops[i]->hi->size);
	return copy->from != copy->to && from->kind == BUFFER_TEMP && from->dtype == to->dtype &&
	       size_same(from->elements, to->elements) && size_same(all, to->elements) &&
	       !interchange_is_seen_elsewhere(s, copy->from);
}

static bool is_store_of(const void *of, const Stmt *stmt)
{
	return stmt->kind == LOOP_STORE && stmt->buffer == *(const BufferId *)of;
}

/* May the temporary be what it is copied to? A step reads that in front of the kernel that stores the temporary, or there at the
 * same elements. */
static bool is_in_place(const StepLoop *s, const NextStep *copy)
{
	const BufferUse none = {0};
	const Stmt *store = NULL;
	for (uint32_t k = s->from; k < s->to; k++) {
		BufferUses uses = kernel_buffers(s->t->scratch, &s->kernels[k]);
		const BufferUse *from = buffer_use(&uses, copy->from),
				*to = buffer_use(&uses, copy->to);
		from = from ? from : &none;
		to = to ? to : &none;
		if (k != copy->k &&
		    (to->stored || (store && to->loaded) || (!store && from->loaded)))
			return false;
		if (k == copy->k || !from->stored)
			continue;
		if (store)
			return false;
		store = block_find(s->kernels[k].body, is_store_of, &copy->from);
		if (k > copy->k || store->acc != OP_NONE ||
		    !kernel_reads_at_store(s->program, &s->kernels[k], store, copy->to))
			return false;
	}
	return store;
}

/* The routine's kernels without the copy. */
static void leave_out(StepLoop *s, const NextStep *copy)
{
	Program *program = s->program;
	Kernel *kernels = ARENA_ARRAY(program->arena, Kernel, s->n);
	uint32_t n = 0;
	for (uint32_t k = 0; k < s->n; k++) {
		BufferTwin twin = {.kind = TWIN_BUFFER, .buffer = copy->from, .id = copy->to};
		if (k == copy->k)
			continue;
		kernels[n] = s->kernels[k];
		if (k >= s->from && k < s->to)
			kernels[n].body =
				rewrite_twins(program, &kernels[n], kernels[n].body, &twin, 1);
		n++;
	}
	s->kernels = kernels;
	s->n--;
	s->to--;
}

/* What is copied for the next step is computed there. */
static void compute_in_place(StepLoop *s, Lines *lines)
{
	NextStep copy;
	for (uint32_t k = s->from; k < s->to; k++) {
		if (!find_copy(s, k, &copy) || !is_in_place(s, &copy))
			continue;
		leave_out(s, &copy);
		PUSH(s->program->arena, lines->gone, copy.from);
		k = s->from - 1;
	}
}

/* ---- one kernel of all ---- */

/* The number of a step: iterations count from 0 up. */
/* What a kernel does for `n` lines, of which the iterator is the number. */
static Block of_block(StepLoop *s, const Lines *lines, uint32_t k, int64_t n)
{
	Program *program = s->program;
	const Kernel *kernel = &s->kernels[k];
	const Stmt *root = root_of(s, k);
	IterVar at = s->kernel.niters;
	const Ix **iters = kernel_iters(program->arena, kernel, at);
	Rewrite rewrite = {.program = program,
			   .iters = iters,
			   .first_local = s->kernel.nlocals,
			   .dim = interchange_loop(s)->step,
			   .dim_ix = interchange_step(s),
			   .span = kernel->span};
	kernel_append_tables(program->arena, &s->kernel, kernel);
	Size per =
		size_scale(program->sizes, size_div(program->sizes, root->hi->size, lines->n), n);
	const Ix *first = ix_mul(program, ix_iter(program->arena, lines->block),
				 ix_size(program->arena, per));
	const Ix *end = ix_size(program->arena, per);
	if (!lines->fits)
		end = ix_binary(program, IX_MIN, end, ix_minus(program, root->hi, first));
	at += root->iter;
	iters[root->iter] = ix_add(program, first, ix_iter(program->arena, at));
	Stmt *loop = stmt_for(program->arena, at, ix_const(program, 0), end,
			      rewrite_block(&rewrite, root->body));
	loop->step = root->step;
	loop->span = root->span;
	return block_one(program->arena, loop);
}

/* The steps of `n` lines, for all of them; are those of different lines known to be independent? */
static void put_together(StepLoop *s, Lines *lines, int64_t n, bool independent)
{
	Program *program = s->program;
	Body body = {0};
	int64_t whole;
	s->kernel = (Kernel){0};
	lines->fits = n == 1 || (size_is_const(program->sizes, lines->n, &whole) && whole % n == 0);
	lines->block = kernel_add_iter(program, &s->kernel, lines->name);
	s->step = kernel_add_iter(program, &s->kernel,
				  sizes_dim(program->sizes, interchange_loop(s)->step)->name);
	for (uint32_t k = s->from; k < s->to; k++)
		body_append(program->arena, &body, of_block(s, lines, k, n));
	Block steps = block_one(program->arena, interchange_steps(s, body_block(&body)));
	const Ix *blocks = ix_size(program->arena, size_ceil(program->sizes, lines->n, n));
	Stmt *loop = stmt_for(program->arena, lines->block, ix_const(program, 0), blocks, steps);
	loop->span = lines->span;
	loop->independent = independent;
	s->kernel.body = block_one(program->arena, loop);
}

void interchange_find_lines(StepLoop *s, Lines *lines)
{
	const ProgramLoop *loop = interchange_loop(s);
	bool may = loop->until == BUFFER_NONE && loop->made == BUFFER_NONE && loop->nexchanges == 0;
	for (uint32_t k = s->from; k < s->to && may; k++)
		may = is_through_lines(s, &s->kernels[k]);
	if (!may)
		return;
	const Kernel *last = &s->kernels[s->to - 1];
	lines->name = last->iters[root_of(s, s->to - 1)->iter].name;
	lines->span = root_of(s, s->to - 1)->span;
	compute_in_place(s, lines);
	if (!find_lines(s, lines))
		return;
	put_together(s, lines, lines->unit, false);
	const Stmt *nest = s->kernel.body.stmts[0];
	s->independent = !interchange_uses_scratch(s) &&
			 loop_is_independent(s->program, &s->kernel, nest, nest);
}

/* ---- how many lines ---- */

typedef struct Shared {
	const StepLoop *s;
	const Lines *lines;
	VEC(const Stmt *) loops; /* open, inside of the steps */
	int64_t line, shared; /* the most elements of one access: that a line has, that all have */
} Shared;

/* The product, WORK_CAP where it is no less or one is not known. */
static int64_t times(int64_t a, int64_t b)
{
	return b < 0 || a > WORK_CAP / (b + 1) ? WORK_CAP : a * b;
}

/* Of what is read or stored in a step of a block. */
static void see_access(Shared *f, const Ix *ix)
{
	int64_t elements = 1;
	for (size_t i = 0; i < f->loops.n; i++) {
		const Stmt *loop = f->loops.at[i];
		int64_t trips = constant_trips(f->s->program, loop);
		if (ix_uses(ix, loop->iter))
			elements = times(elements, trips);
	}
	int64_t *most = ix_uses(ix, f->lines->block) ? &f->line : &f->shared;
	*most = *most > elements ? *most : elements;
}

static void see_load(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		see_access(of, value->ix);
}

static void see_block(Shared *f, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		size_t n = f->loops.n;
		stmt_each_value(stmt, see_load, f);
		if (stmt->kind == LOOP_STORE)
			see_access(f, stmt->ix);
		if (stmt->kind == LOOP_FOR && stmt->iter != f->lines->block &&
		    stmt->iter != f->s->step)
			PUSH(f->s->t->scratch, f->loops, stmt);
		see_block(f, stmt->body);
		f->loops.n = n;
	}
}

int64_t interchange_lines(const StepLoop *s, const Lines *lines)
{
	const Target *target = s->t->options->target;
	Shared f = {.s = s, .lines = lines, .line = 1};
	see_block(&f, s->kernel.body);
	int64_t line = (f.line + lines->unit - 1) / lines->unit;
	if (f.shared > target->interchange_rows || f.line > target->interchange_whole)
		return 0;
	int64_t n = target->interchange_lines / line / lines->unit * lines->unit;
	return n > lines->unit ? n : lines->unit;
}

void interchange_in_lines(StepLoop *s, Lines *lines, int64_t n)
{
	int64_t all;
	n = (n + lines->unit - 1) / lines->unit * lines->unit;
	if (size_is_const(s->program->sizes, lines->n, &all) && all > 0 && all < n)
		n = all;
	put_together(s, lines, n, true);
	for (size_t i = 0; i < lines->gone.n; i++)
		buffer_forget(s->program, lines->gone.at[i]);
}
