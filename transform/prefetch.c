/* Rows that integers choose, fetched some steps before they are read or added to. A processor sees no order in such rows, and as
 * much as it starts by itself ends with the instructions that wait: of a row of several lines, few rows.
 *
 *   for e in 0..n                                   for e in 0..n
 *     for c in 0..64                                  unroll line in 0..4
 *       y[e*64 + c] = x[int(ids[e])*64 + c]   ->        prefetch near x[int(ids[min(e + 16, n - 1)])*64 + line*16]
 *                                                     for c in 0..64
 *                                                       y[e*64 + c] = x[int(ids[e])*64 + c]
 *
 * A row is what the loops inside of `e` read or store at one value of the integer: its first element is where they begin.
 * What is read under a condition, at an integer that is read outside of it, is fetched where the condition holds.
 * Where the size of `x` is not known, that stands under the condition that it is more than the last cache holds.
 * The integers are read ahead in memory, so a short loop fetches for the next one. They are elements that nothing in
 * the kernel stores, and what they choose is a hint, which may lie outside.
 */
#include "base/pointer_map.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/transform.h"

/* Loops inside of a loop, elements of a row, steps ahead and lines that are asked for, at most. */
enum { INNER_MOST = 16, ROW_MOST = 1 << 30, STEPS_MOST = 1 << 12, LINES_MOST = 64 };

/* A row that a loop reads, by where it starts. */
typedef struct PrefetchedRow {
	BufferId buffer;
	const Ix *start;
	int64_t elements;
	const Stmt *condition; /* that it is read under; NULL: none */
} PrefetchedRow;

/* What stands first under a condition. */
typedef struct ConditionalPrefetch {
	const Stmt *condition, *prefetch;
} ConditionalPrefetch;

typedef struct Prefetch {
	Program *program;
	Arena *arena;
	const Target *target;
	Kernel *kernel;
	BufferUses uses;
	const ScheduleClause *asked; /* NULL: nothing */
	ScheduleEntry *entry;
	VEC(ConditionalPrefetch) conditional;
	bool changed;
} Prefetch;

/* What is read and stored inside of a loop. */
typedef struct LoopReads {
	Prefetch *p;
	const Stmt *loop;
	const Stmt *inner[INNER_MOST]; /* loops around the statement at hand, inside of `loop` */
	uint32_t ninner;
	VEC(ValueTwin) locals; /* what each is all the time, of those of `loop` that are set once */
	const Stmt *condition; /* the innermost around the statement at hand; NULL: none */
	VEC(PrefetchedRow) rows;
} LoopReads;

/* ---- the integer ---- */

typedef struct Chooser {
	const LoopReads *reads;
	bool moves, wrong; /* does it move with the loop? is it one that cannot be read ahead? */
} Chooser;

static bool uses_inner(const LoopReads *s, const Ix *ix)
{
	bool found = false;
	for (uint32_t i = 0; i < s->ninner; i++)
		found |= ix_uses(ix, s->inner[i]->iter);
	return found;
}

/* How far the loop moves what is read; 0: not at all. */
static bool steps_forward(const LoopReads *s, const Ix *ix, int64_t *by)
{
	const Prefetch *p = s->p;
	*by = 0;
	if (!ix_uses(ix, s->loop->iter))
		return true;
	return size_is_const(p->program->sizes, ix_stride(p->program, ix, s->loop->iter), by) &&
	       *by > 0;
}

static void see_chooser(void *of, const Value *value)
{
	Chooser *c = of;
	const Prefetch *p = c->reads->p;
	int64_t by = 0;
	if (value->kind == VALUE_LOCAL || value->kind == VALUE_INDEX)
		c->wrong = true;
	if (value->kind != VALUE_LOAD)
		return;
	c->wrong |= value->ix->reads || uses_inner(c->reads, value->ix) ||
		    buffer_use(&p->uses, value->buffer)->stored ||
		    !steps_forward(c->reads, value->ix, &by);
	c->moves |= by > 0;
}

static bool is_chosen(const LoopReads *s, const Value *load)
{
	Chooser c = {.reads = s};
	if (!load->ix->reads || load->ix->kind == IX_VALUE)
		return false;
	ix_each_value(load->ix, see_chooser, &c);
	return c.moves && !c.wrong;
}

/* ---- the row ---- */

/* The first and how many elements the loops inside go through; false: not known. */
static bool row_of(const LoopReads *s, const Value *load, PrefetchedRow *row)
{
	const Prefetch *p = s->p;
	Program *program = p->program;
	const Ix **iters = kernel_iters(p->arena, p->kernel, 0);
	*row = (PrefetchedRow){.buffer = load->buffer, .elements = 1, .condition = s->condition};
	for (uint32_t i = 0; i < s->ninner; i++) {
		const Stmt *inner = s->inner[i];
		int64_t stride, more;
		int64_t trips = inner->loop == LOOP_VECTOR ? vector_lanes(program, inner)
							   : constant_trips(program, inner);
		if (!ix_uses(load->ix, inner->iter))
			continue;
		if (trips < 1 || inner->lo->kind != IX_SIZE ||
		    !size_is_const(program->sizes, ix_stride(program, load->ix, inner->iter),
				   &stride) ||
		    stride < 0 || __builtin_mul_overflow(trips - 1, inner->step, &more) ||
		    __builtin_mul_overflow(more, stride, &more) || more > ROW_MOST)
			return false;
		row->elements += more;
		iters[inner->iter] = inner->lo;
	}
	Rewrite rewrite = {.program = program, .iters = iters};
	row->start = rewrite_ix(&rewrite, load->ix);
	return true;
}

/* How far b begins behind a, where both have the same integer. */
static bool distance(const Prefetch *p, const PrefetchedRow *a, const PrefetchedRow *b, int64_t *by)
{
	Program *program = p->program;
	Linear from = ix_linear(program, a->start), to = ix_linear(program, b->start);
	if (a->buffer != b->buffer || from.terms.n != to.terms.n)
		return false;
	for (size_t i = 0; i < from.terms.n; i++)
		if (!size_same(from.terms.at[i].coef, to.terms.at[i].coef) ||
		    !ix_same(from.terms.at[i].atom, to.terms.at[i].atom))
			return false;
	return size_is_const(program->sizes, size_sub(program->sizes, to.offset, from.offset),
			     by) &&
	       *by <= ROW_MOST && *by >= -ROW_MOST;
}

/* Parts of one row are one. */
static void add_row(LoopReads *s, PrefetchedRow row)
{
	for (size_t i = 0; i < s->rows.n; i++) {
		PrefetchedRow *other = &s->rows.at[i];
		int64_t by;
		if (other->condition != row.condition || !distance(s->p, other, &row, &by))
			continue;
		int64_t end =
			by + row.elements > other->elements ? by + row.elements : other->elements;
		if (by < 0)
			other->start = row.start;
		other->elements = by < 0 ? end - by : end;
		return;
	}
	PUSH(s->p->arena, s->rows, row);
}

static void see_load(void *of, const Value *value)
{
	LoopReads *s = of;
	PrefetchedRow row;
	if (value->kind == VALUE_LOAD && is_chosen(s, value) && row_of(s, value, &row))
		add_row(s, row);
}

static bool is_set_again(const void *local, const Stmt *stmt)
{
	return stmt->kind == LOOP_SET && stmt->local == *(const LocalId *)local;
}

static void see_local(LoopReads *s, const Stmt *stmt)
{
	const Prefetch *p = s->p;
	if (p->kernel->locals[stmt->local].rank > 0 ||
	    block_find(s->loop->body, is_set_again, &stmt->local))
		return;
	const Value *local = value_local(p->arena, p->kernel, stmt->local, NULL, 0);
	PUSH(p->arena, s->locals, ((ValueTwin){local, stmt->value}));
}

/* What is read or stored at an integer that is a local. */
static void see_at_local(LoopReads *s, BufferId buffer, const Ix *ix)
{
	const Prefetch *p = s->p;
	Rewrite rewrite = {.program = p->program,
			   .iters = kernel_iters(p->arena, p->kernel, 0),
			   .values = s->locals.at,
			   .nvalues = (uint32_t)s->locals.n};
	see_load(s, value_load(p->program, buffer, rewrite_ix(&rewrite, ix)));
}

static void see_integer(void *of, const Value *value) { *(bool *)of |= value->kind == VALUE_LOAD; }

/* Under a condition, which may guard what stands there: a load whose integers are read outside of it. */
static void see_guarded_load(void *of, const Value *value)
{
	bool reads = false;
	if (value->kind != VALUE_LOAD || !value->ix->reads)
		return;
	ix_each_value(value->ix, see_integer, &reads);
	if (!reads)
		see_at_local(of, value->buffer, value->ix);
}

static void see_block(LoopReads *s, Block block);

/* Those inside of further loops would be made in each of their iterations. */
static void see_condition(LoopReads *s, const Stmt *stmt)
{
	const Stmt *before = s->condition;
	if (s->ninner > 0)
		return;
	s->condition = stmt;
	see_block(s, stmt->body);
	s->condition = before;
}

/* Under a condition only loads are looked at. */
static void see_block(LoopReads *s, Block block)
{
	bool plain = !s->condition;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->value)
			value_each(stmt->value, plain ? see_load : see_guarded_load, s);
		if (stmt->kind == LOOP_LOCAL && s->ninner == 0 && plain)
			see_local(s, stmt);
		if (stmt->kind == LOOP_STORE && stmt->ix->reads && plain)
			see_at_local(s, stmt->buffer, stmt->ix);
		if (stmt->kind == LOOP_IF)
			see_condition(s, stmt);
		if (stmt->kind != LOOP_FOR || s->ninner == INNER_MOST)
			continue;
		s->inner[s->ninner++] = stmt;
		see_block(s, stmt->body);
		s->ninner--;
	}
}

/* ---- does it pay? ---- */

/* The elements of a line. */
static int64_t row_line(const Prefetch *p, const PrefetchedRow *row)
{
	Dtype dtype = p->program->buffers.at[row->buffer].dtype;
	return dtype_is_packed(dtype) ? 2 * p->target->line_bytes
				      : p->target->line_bytes / (int64_t)dtype_bytes(dtype);
}

/* Of its buffer, as many as the last cache holds. */
static int64_t cached_elements(const Prefetch *p, const PrefetchedRow *row)
{
	return p->target->l3_bytes / p->target->line_bytes * row_line(p, row);
}

static bool pays(const Prefetch *p, const PrefetchedRow *row)
{
	Size elements = p->program->buffers.at[row->buffer].elements;
	int64_t all, bytes = row->elements * p->target->line_bytes / row_line(p, row);
	bool known = size_is_const(p->program->sizes, elements, &all);
	int64_t least = known ? p->target->gather_row_least : p->target->gather_row_symbolic;
	return (!known || all > cached_elements(p, row)) && bytes >= least &&
	       bytes <= p->target->gather_row_most;
}

/* As schedules have it. */
static Sym operand_name(const Prefetch *p, BufferId buffer)
{
	return sym_identifier(p->program->symbols, p->arena, p->program->buffers.at[buffer].name);
}

/* How it is fetched: so many steps ahead, so many lines. Is it? */
static bool choose(const Prefetch *p, const PrefetchedRow *row, int64_t numbers[2])
{
	Sym name = operand_name(p, row->buffer);
	const ScheduleItem *item = asks_on(p->asked) ? clause_item(p->asked, name) : NULL;
	int64_t elements = row_line(p, row);
	numbers[0] = p->target->gather_ahead;
	numbers[1] = (row->elements + elements - 1) / elements;
	if (numbers[1] > p->target->gather_lines)
		numbers[1] = p->target->gather_lines;
	for (uint32_t i = 0; item && i < item->n && i < 2; i++)
		numbers[i] = item->numbers[i];
	bool sane = numbers[0] <= STEPS_MOST && numbers[1] <= LINES_MOST;
	return asks_on(p->asked) ? item && sane : !asks_off(p->asked) && pays(p, row);
}

/* ---- the loop with it ---- */

typedef struct Ahead {
	const Prefetch *p;
	IterVar iter;	  /* of the loop */
	const Ix **iters; /* by IterVar: what stands for it */
} Ahead;

/* What is read ahead stays inside of its buffer. */
static const Value *read_ahead(const Ahead *a, const Value *value)
{
	Program *program = a->p->program;
	Value *copy = value_copy(program->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = read_ahead(a, value->args[i]);
	if (value->kind == VALUE_LOAD && ix_uses(value->ix, a->iter)) {
		Rewrite rewrite = {.program = program, .iters = a->iters};
		Size all = program->buffers.at[value->buffer].elements;
		copy->ix = ix_binary(program, IX_MIN, rewrite_ix(&rewrite, value->ix),
				     ix_size(program->arena, size_plus(program->sizes, all, -1)));
	}
	return copy;
}

/* The element at the integers some steps later. */
static const Ix *ix_ahead(const Ahead *a, const Ix *ix)
{
	switch (ix->kind) {
	case IX_SIZE:
	case IX_ITER: return ix;
	case IX_VALUE: return ix_value(a->p->arena, read_ahead(a, ix->value));
	default: break;
	}
	return ix_binary(a->p->program, ix->kind, ix_ahead(a, ix->a), ix_ahead(a, ix->b));
}

static IterVar new_iter(Prefetch *p)
{
	Kernel one = {.iters = ARENA_ARRAY(p->arena, KernelIter, 1), .niters = 1};
	one.iters[0].name = iter_unique(p->program, p->kernel->iters, p->kernel->niters,
					sym_cstr(p->program->symbols, "line"), NULL);
	kernel_append_tables(p->arena, p->kernel, &one);
	return p->kernel->niters - 1;
}

/* Only where its buffer is more than the last cache holds, if that is not known. */
static const Stmt *if_not_cached(const Prefetch *p, const PrefetchedRow *row, const Stmt *stmt)
{
	Program *program = p->program;
	Size elements = program->buffers.at[row->buffer].elements;
	int64_t all;
	if (size_is_const(program->sizes, elements, &all))
		return stmt;
	Cond more = {COND_LT, ix_const(program, cached_elements(p, row)),
		     ix_size(p->arena, elements)};
	return stmt_if_one(p->arena, more, block_one(p->arena, stmt));
}

static const Stmt *prefetch_row(Prefetch *p, const Stmt *loop, const PrefetchedRow *row,
				const int64_t numbers[2])
{
	Program *program = p->program;
	Ahead ahead = {p, loop->iter, kernel_iters(p->arena, p->kernel, 0)};
	IterVar iter = new_iter(p);
	ahead.iters[loop->iter] =
		ix_plus(program, ahead.iters[loop->iter], numbers[0] * loop->step);
	const Ix *line = ix_times(program, ix_iter(p->arena, iter), row_line(p, row));
	const Ix *at = ix_add(program, ix_ahead(&ahead, row->start), line);
	const Stmt *prefetch = stmt_prefetch(p->arena, row->buffer, at, true);
	const Stmt *lines =
		stmt_loop(program, LOOP_UNROLL, iter, numbers[1], block_one(p->arena, prefetch));
	return if_not_cached(p, row, lines);
}

static void describe(Prefetch *p, const PrefetchedRow *row, const int64_t numbers[2])
{
	Sym name = operand_name(p, row->buffer);
	ScheduleClause *made = entry_clause(p->entry, CHOICE_PREFETCH);
	if (!made)
		made = entry_make(p->arena, p->entry, CHOICE_PREFETCH, false);
	if (!clause_item(made, name))
		clause_add(p->arena, made, name, numbers, 2);
}

/* By a statement of the loop that is there already. */
static bool is_prefetched(const Stmt *loop, BufferId buffer)
{
	for (uint32_t i = 0; i < loop->body.n; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		while (stmt->body.n == 1 && (stmt->kind == LOOP_IF || stmt->loop == LOOP_UNROLL))
			stmt = stmt->body.stmts[0];
		if (stmt->kind == LOOP_PREFETCH && stmt->buffer == buffer)
			return true;
	}
	return false;
}

static void push_prefetches(Prefetch *p, const Stmt *loop, Body *body)
{
	LoopReads s = {.p = p, .loop = loop};
	see_block(&s, loop->body);
	for (size_t i = 0; i < s.rows.n; i++) {
		const PrefetchedRow *row = &s.rows.at[i];
		int64_t numbers[2];
		if (is_prefetched(loop, row->buffer) || !choose(p, row, numbers))
			continue;
		const Stmt *prefetch = prefetch_row(p, loop, row, numbers);
		if (row->condition)
			PUSH(p->arena, p->conditional,
			     ((ConditionalPrefetch){row->condition, prefetch}));
		else
			PUSH(p->arena, body->stmts, prefetch);
		describe(p, row, numbers);
		p->changed = true;
	}
}

static const Stmt *in_stmt(Prefetch *p, const Stmt *stmt)
{
	Body body = {0};
	bool rows = stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step <= ROW_MOST;
	if (!rows && stmt->kind != LOOP_IF)
		return stmt;
	if (rows)
		push_prefetches(p, stmt, &body);
	for (size_t i = 0; i < p->conditional.n; i++)
		if (p->conditional.at[i].condition == stmt)
			PUSH(p->arena, body.stmts, p->conditional.at[i].prefetch);
	for (uint32_t i = 0; i < stmt->body.n; i++)
		PUSH(p->arena, body.stmts, in_stmt(p, stmt->body.stmts[i]));
	return stmt_with(p->arena, stmt, body_block(&body));
}

/* What indices hold: integers that are read, and that the kernel checks itself. */
typedef struct Reads {
	bool any, checked;
} Reads;

static void see_reads(void *of, const Value *value)
{
	Reads *reads = of;
	reads->any |= value->kind == VALUE_LOAD && value->ix->reads;
}

static void note_reads(Reads *reads, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		if (block.stmts[i]->value)
			value_each(block.stmts[i]->value, see_reads, reads);
		reads->any |= block.stmts[i]->kind == LOOP_STORE && block.stmts[i]->ix->reads;
		reads->checked |= block.stmts[i]->kind == LOOP_CHECK;
		note_reads(reads, block.stmts[i]->body);
	}
}

static void in_kernel(const Transform *t, Kernel *kernel, bool *changed)
{
	Prefetch p = {.program = t->program,
		      .arena = t->program->arena,
		      .target = t->options->target,
		      .kernel = kernel,
		      .entry = schedule_entry(t->program->made, kernel->name)};
	Body body = {0};
	Reads reads = {0};
	note_reads(&reads, kernel->body);
	if (!p.entry || !reads.any || reads.checked)
		return;
	p.uses = kernel_buffers(t->scratch, kernel);
	p.asked = kernel_asked(t, kernel, CHOICE_PREFETCH);
	for (uint32_t i = 0; i < kernel->body.n; i++)
		PUSH(p.arena, body.stmts, in_stmt(&p, kernel->body.stmts[i]));
	if (p.changed)
		kernel->body = body_block(&body);
	else if (says_off(p.asked) && !entry_clause(p.entry, CHOICE_PREFETCH))
		entry_make(p.arena, p.entry, CHOICE_PREFETCH, true);
	*changed |= p.changed;
}

void transform_prefetch(Transform *t)
{
	Program *program = t->program;
	if (t->options->gpu)
		return;
	for (uint32_t r = 0; r < program->routines.n; r++) {
		const ProgramRoutine *routine = &program->routines.at[r];
		for (uint32_t i = 0; i < routine->nkernels; i++)
			in_kernel(t, &program->kernels.at[routine->kernels[i]], &t->changed);
	}
}
