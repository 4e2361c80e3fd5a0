/* Results that no cache holds, stored past the caches. A processor reads a line before it stores into it, but for a line that is
 * stored whole, by streaming stores: so a block of the result at a time is computed in a scratch buffer, which the first
 * cache holds, and is copied from there.
 *
 *   for e in 0..1000000                             for e in 0..62500
 *     for c in 0..64                                  for e1 in e*16..(e*16 + 16)
 *       y[e*64 + c] = x[int(ids[e])*64 + c]   ->        for c in 0..64
 *                                                         y_block[e1*64 + c - e*1024] = x[int(ids[e1])*64 + c]
 *                                                     for i in 0..1024
 *                                                       stream y[e*1024 + i] = y_block[i]
 *
 * A step of the loop stores neighbours, each once and all of those between the first and the last, and the next step
 * those behind them. No kernel of the routine reads the result. Where its size is not known, both loops stand under
 * conditions. The copy takes one that begins at any address: lines that two blocks share are stored as usual.
 */
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/stream.h"

/* Bytes of a block that a schedule may ask for. */
enum { BLOCK_MOST = 1 << 20 };

/* ---- does it pay? ---- */

/* What stands in a loop: does it set a local, or store what integers choose? */
typedef struct Moves {
	bool computes, chosen;
} Moves;

static void see_load(void *of, const Value *value)
{
	((Moves *)of)->chosen |= value->kind == VALUE_LOAD && value->ix->reads;
}

static void see_move(void *of, const Stmt *stmt)
{
	Moves *moves = of;
	moves->computes |= stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET;
	if (stmt->kind == LOOP_STORE)
		value_each(stmt->value, see_load, moves);
}

/* Where sizes are known at run time alone, there are two loops: for rows that integers choose, as they are moved. */
static bool moves_chosen_rows(const StreamLoop *l, int64_t bytes)
{
	Moves moves = {0};
	block_each(l->loop->body, see_move, &moves);
	return moves.chosen && !moves.computes && bytes >= l->s->target->stream_row_symbolic;
}

static bool may_choose(const StreamLoop *l, BufferId unknown)
{
	const Stream *s = l->s;
	return l->nresults > 0 && s->target->stream_bytes > 0 &&
	       (unknown == BUFFER_NONE || (l->loop == s->root && !s->disjoint));
}

/* The steps that a schedule asks for; 0: none, or more than there may be. */
static int64_t asked_steps(const StreamLoop *l, int64_t steps, int64_t bytes)
{
	const Stream *s = l->s;
	const ScheduleItem *item = clause_item(s->asked, s->kernel->iters[l->loop->iter].name);
	int64_t asked = item && item->n ? item->numbers[0] : steps;
	return item && constant_trips(s->program, l->loop) != 1 && asked > 0 &&
			       asked <= BLOCK_MOST / bytes
		       ? asked
		       : 0;
}

/* The steps of a block of results of that many bytes a step, which are `unknown`'s perhaps; 0: it does not pay. */
static int64_t steps_that_pay(const StreamLoop *l, BufferId unknown, int64_t steps, int64_t bytes)
{
	bool pays = unknown == BUFFER_NONE ? constant_trips(l->s->program, l->loop) > 2 * steps
					   : moves_chosen_rows(l, bytes);
	return pays && bytes <= l->s->target->stream_block && !asks_off(l->s->asked) ? steps : 0;
}

/* The steps of a block; 0: there is none. Of a result of a size that is not known, which it is. */
static int64_t choose(const StreamLoop *l, BufferId *unknown)
{
	const Stream *s = l->s;
	int64_t n, bytes = 0;
	*unknown = BUFFER_NONE;
	for (uint32_t i = 0; i < l->nresults; i++) {
		bytes += l->results[i].n * stream_element_bytes(s, l->results[i].buffer);
		if (!stream_is_known(s, l->results[i].buffer, &n))
			*unknown = l->results[i].buffer;
	}
	if (!may_choose(l, *unknown))
		return 0;
	int64_t steps = 1; /* a power of 2: blocks begin as lines do */
	while (2 * steps * bytes <= s->target->stream_block)
		steps *= 2;
	return asks_on(s->asked) ? asked_steps(l, steps, bytes)
				 : steps_that_pay(l, *unknown, steps, bytes);
}

/* ---- the loop in blocks ---- */

static BufferId new_block(const Stream *s, const StreamedResult *result, int64_t steps)
{
	Program *program = s->program;
	const Buffer *of = &program->buffers.at[result->buffer];
	Buffer block = {.kind = BUFFER_TEMP,
			.name = sym_printf(program->symbols, "%s_block", of->name),
			.span = of->span,
			.site = of->site,
			.home = (BufferId)program->buffers.n,
			.dtype = of->dtype,
			.elements = size_const(program->sizes, result->n * steps),
			.routine = s->routine,
			.offset = size_const(program->sizes, 0),
			.scratch = true};
	PUSH(program->arena, program->buffers, block);
	return block.home;
}

/* An index of a step at that of the loop that begins there. */
static const Ix *at_step(const StreamLoop *l, const Ix *ix, const Ix *step)
{
	const Ix **iters = kernel_iters(l->s->arena, l->s->kernel, 0);
	iters[l->loop->iter] = step;
	Rewrite rewrite = {.program = l->s->program, .iters = iters};
	return rewrite_ix(&rewrite, ix);
}

/* The steps from `first` on, whose results go to blocks. */
static const Stmt *steps_of(StreamLoop *l, const Ix *first, const Ix *end)
{
	const Stream *s = l->s;
	Program *program = s->program;
	BufferTwin twins[STREAM_RESULTS_MOST];
	BufferOffset offsets[STREAM_RESULTS_MOST];
	for (uint32_t i = 0; i < l->nresults; i++) {
		const StreamedResult *result = &l->results[i];
		twins[i] = (BufferTwin){
			.kind = TWIN_BUFFER, .buffer = result->buffer, .id = result->block};
		offsets[i] = (BufferOffset){
			result->buffer, ix_times(program, at_step(l, result->start, first), -1)};
	}
	Rewrite rewrite = {.program = program,
			   .iters = kernel_iters(s->arena, s->kernel, 0),
			   .renames = true,
			   .twins = twins,
			   .ntwins = l->nresults,
			   .offsets = offsets,
			   .noffsets = l->nresults,
			   .span = s->kernel->span};
	Stmt *loop = stmt_with(s->arena, l->loop, rewrite_block(&rewrite, l->loop->body));
	loop->lo = first;
	loop->hi = end;
	return loop;
}

static const Stmt *copy_of(Stream *s, const StreamLoop *l, const StreamedResult *result,
			   const Ix *first, const Ix *end)
{
	Program *program = s->program;
	IterVar iter = kernel_add_iter(program, s->kernel, "i");
	const Ix *i = ix_iter(s->arena, iter);
	const Ix *at = ix_add(program, at_step(l, result->start, first), i);
	Stmt *store = stmt_store(s->arena, result->buffer, at, OP_NONE,
				 value_load(program, result->block, i));
	store->stream = true;
	const Ix *n = ix_times(program, ix_minus(program, end, first), result->n);
	return stmt_for(s->arena, iter, ix_const(program, 0), n, block_one(s->arena, store));
}

static const Stmt *in_blocks(Stream *s, StreamLoop *l, int64_t steps)
{
	Program *program = s->program;
	const Stmt *loop = l->loop;
	Body body = {0};
	/* a schedule names both loops alike */
	IterVar block = kernel_add_iter(program, s->kernel, s->kernel->iters[loop->iter].name);
	Size trips = size_sub(program->sizes, loop->hi->size, loop->lo->size);
	const Ix *first =
		ix_add(program, loop->lo, ix_times(program, ix_iter(s->arena, block), steps));
	int64_t n;
	bool whole = size_is_const(program->sizes, trips, &n) && n % steps == 0;
	const Ix *end = ix_plus(program, first, steps);
	if (!whole)
		end = ix_binary(program, IX_MIN, loop->hi, end);
	for (uint32_t i = 0; i < l->nresults; i++)
		l->results[i].block = new_block(s, &l->results[i], steps);
	PUSH(s->arena, body.stmts, steps_of(l, first, end));
	for (uint32_t i = 0; i < l->nresults; i++)
		PUSH(s->arena, body.stmts, copy_of(s, l, &l->results[i], first, end));
	Stmt *blocks = stmt_for(s->arena, block, ix_const(program, 0),
				ix_size(s->arena, size_ceil(program->sizes, trips, steps)),
				body_block(&body));
	blocks->span = loop->span;
	blocks->disjoint = loop->disjoint;
	return blocks;
}

static void describe(const Stream *s, const Stmt *loop, int64_t steps)
{
	Sym name = s->kernel->iters[loop->iter].name;
	ScheduleClause *made = entry_clause(s->entry, CHOICE_STREAM);
	if (!made)
		made = entry_make(s->arena, s->entry, CHOICE_STREAM, false);
	if (!clause_item(made, name))
		clause_add(s->arena, made, name, &steps, 1);
}

/* The outermost loop inside of the statement, or itself, that goes in blocks does. */
static const Stmt *in_stmt(Stream *s, const Stmt *stmt)
{
	StreamLoop l = {.s = s, .loop = stmt};
	if (!loop_is_plain(stmt) || !stream_find(&l))
		return stmt;
	BufferId unknown;
	int64_t steps = choose(&l, &unknown);
	bool independent = loop_is_independent(s->program, s->kernel, s->root, stmt);
	Stmt *copy;
	if (steps) {
		describe(s, stmt, steps);
		s->unknown = unknown;
		copy = (Stmt *)in_blocks(s, &l, steps);
		s->changed = true;
	} else {
		Body body = {0};
		for (uint32_t i = 0; i < stmt->body.n; i++)
			PUSH(s->arena, body.stmts, in_stmt(s, stmt->body.stmts[i]));
		copy = stmt_with(s->arena, stmt, body_block(&body));
	}
	copy->independent = independent;
	return copy;
}

/* What becomes of a statement of the kernel: where a size is not known, both. */
static void push_root(Stream *s, Body *body)
{
	s->unknown = BUFFER_NONE;
	const Stmt *made = in_stmt(s, s->root);
	if (s->unknown == BUFFER_NONE) {
		PUSH(s->arena, body->stmts, made);
		return;
	}
	const Ix *least = ix_const(s->program, stream_large_elements(s, s->unknown));
	const Ix *n = ix_size(s->arena, s->program->buffers.at[s->unknown].elements);
	Cond large = {COND_LE, least, n}, small = {COND_LT, n, least};
	PUSH(s->arena, body->stmts, stmt_if_one(s->arena, large, block_one(s->arena, made)));
	PUSH(s->arena, body->stmts, stmt_if_one(s->arena, small, block_one(s->arena, s->root)));
}

static void in_kernel(Stream *s, const Transform *t)
{
	Kernel *kernel = s->kernel;
	Body body = {0};
	s->entry = schedule_entry(s->program->made, kernel->name);
	if (!s->entry || kernel->loop)
		return;
	s->asked = kernel_asked(t, kernel, CHOICE_STREAM);
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		s->root = kernel->body.stmts[i];
		s->disjoint = s->root->disjoint ||
			      (i + 1 < kernel->body.n && kernel->body.stmts[i + 1]->disjoint);
		push_root(s, &body);
	}
	if (s->changed)
		kernel->body = body_block(&body);
	else if (says_off(s->asked))
		entry_make(s->arena, s->entry, CHOICE_STREAM, true);
}

/* By buffer: does a kernel of the routine read it? */
static bool *buffers_read(const Transform *t, const ProgramRoutine *routine)
{
	const Program *program = t->program;
	bool *read = ARENA_ARRAY(t->scratch, bool, program->buffers.n + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		BufferUses uses =
			kernel_buffers(t->scratch, &program->kernels.at[routine->kernels[i]]);
		for (size_t u = 0; u < uses.n; u++)
			read[uses.at[u].buffer] |= uses.at[u].loaded;
	}
	return read;
}

void transform_stream(Transform *t)
{
	Program *program = t->program;
	if (t->options->gpu)
		return;
	for (uint32_t r = 0; r < program->routines.n; r++) {
		const ProgramRoutine *routine = &program->routines.at[r];
		const bool *read = buffers_read(t, routine);
		for (uint32_t i = 0; i < routine->nkernels; i++) {
			Stream s = {.program = program,
				    .arena = program->arena,
				    .target = t->options->target,
				    .routine = r,
				    .read = read,
				    .kernel = &program->kernels.at[routine->kernels[i]]};
			in_kernel(&s, t);
			t->changed |= s.changed;
		}
	}
}
