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
#include <stdlib.h>

#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/transform.h"

/* Loops inside of a loop, results of a block, and its bytes, at most; elements of a result with which nothing overflows. */
enum { INNER_MOST = 16, RESULTS_MOST = 8, BLOCK_MOST = 1 << 20, ELEMENTS_MOST = 1 << 30 };

/* Neighbours that a statement stores in a step. */
typedef struct StoredPart {
	const Ix *start;  /* of the first */
	int64_t first, n; /* from where on, behind that of the first part */
} StoredPart;

/* What a loop stores of a result. */
typedef struct StreamedResult {
	BufferId buffer;
	VEC(StoredPart) parts; /* of a step */
	bool wrong;
	const Ix *start; /* of what the step stores */
	int64_t n;	 /* elements of it */
	BufferId block;	 /* what it is computed in */
} StreamedResult;

typedef struct Stream {
	Program *program;
	Arena *arena;
	const Target *target;
	uint32_t routine;
	const bool *read; /* by buffer: by a kernel of the routine */
	Kernel *kernel;
	const Stmt *root;	     /* the statement of the kernel at hand */
	bool disjoint;		     /* it is disjoint from the one before or behind it */
	BufferId unknown;	     /* a result that may be large; NONE: all are */
	const ScheduleClause *asked; /* NULL: nothing */
	ScheduleEntry *entry;
	bool changed;
} Stream;

/* A loop, and what is inside of it. */
typedef struct StreamLoop {
	const Stream *s;
	const Stmt *loop;
	const Stmt *inner[INNER_MOST]; /* loops around the statement at hand, inside of `loop` */
	uint32_t ninner;
	uint32_t nconds; /* conditions around it, and loops of other kinds */
	StreamedResult results[RESULTS_MOST];
	uint32_t nresults;
	bool wrong;
} StreamLoop;

/* ---- what a step stores ---- */

static int64_t bytes_of(const Stream *s, BufferId buffer)
{
	return (int64_t)dtype_bytes(s->program->buffers.at[buffer].dtype);
}

/* A result of that many elements no cache holds. */
static int64_t large_elements(const Stream *s, BufferId buffer)
{
	return (s->target->stream_bytes - 1) / bytes_of(s, buffer) + 1;
}

static bool is_known(const Stream *s, BufferId buffer, int64_t *n)
{
	return size_is_const(s->program->sizes, s->program->buffers.at[buffer].elements, n);
}

/* Does no cache hold it, or is that not known? */
static bool may_be_large(const Stream *s, BufferId buffer)
{
	int64_t n;
	return !is_known(s, buffer, &n) || n >= large_elements(s, buffer);
}

static bool may_stream(const Stream *s, BufferId buffer)
{
	const Buffer *b = &s->program->buffers.at[buffer];
	return b->kind == BUFFER_OUTPUT && !dtype_is_packed(b->dtype) && !s->read[buffer] &&
	       (asks_on(s->asked) || may_be_large(s, buffer));
}

static StreamedResult *result_of(StreamLoop *l, BufferId buffer)
{
	for (uint32_t i = 0; i < l->nresults; i++)
		if (l->results[i].buffer == buffer)
			return &l->results[i];
	if (l->nresults == RESULTS_MOST) {
		l->wrong = true;
		return &l->results[0];
	}
	l->results[l->nresults] = (StreamedResult){.buffer = buffer};
	return &l->results[l->nresults++];
}

typedef struct StoredAxis {
	int64_t stride, n;
} StoredAxis;

static int by_stride(const void *a, const void *b)
{
	const StoredAxis *x = a, *y = b;
	return (x->stride > y->stride) - (x->stride < y->stride);
}

/* How many neighbours the axes go through; 0: they leave some out, or come to one twice. */
static int64_t dense_elements(StoredAxis *axes, uint32_t n)
{
	int64_t elements = 1;
	qsort(axes, n, sizeof *axes, by_stride);
	for (uint32_t i = 0; i < n; i++) {
		if (axes[i].stride != elements || axes[i].n > ELEMENTS_MOST / elements)
			return 0;
		elements *= axes[i].n;
	}
	return elements;
}

/* The loops inside as axes of what the statement stores. */
static bool part_of(const StreamLoop *l, const Stmt *store, StoredPart *part)
{
	Program *program = l->s->program;
	const Ix **iters = kernel_iters(l->s->arena, l->s->kernel, 0);
	StoredAxis axes[INNER_MOST];
	uint32_t naxes = 0;
	for (uint32_t i = 0; i < l->ninner; i++) {
		const Stmt *inner = l->inner[i];
		int64_t n = inner->loop == LOOP_VECTOR ? trips_from_zero(program, inner)
						       : constant_trips(program, inner);
		StoredAxis *axis = &axes[naxes];
		if (n < 1 || n > ELEMENTS_MOST || inner->lo->kind != IX_SIZE ||
		    !size_is_const(program->sizes, ix_stride(program, store->ix, inner->iter),
				   &axis->stride) ||
		    axis->stride < 0 || axis->stride > ELEMENTS_MOST || inner->step > ELEMENTS_MOST)
			return false;
		axis->stride *= inner->step;
		axis->n = n;
		naxes += n > 1;
		iters[inner->iter] = inner->lo;
	}
	Rewrite rewrite = {.program = program, .iters = iters};
	*part = (StoredPart){.start = rewrite_ix(&rewrite, store->ix),
			     .n = dense_elements(axes, naxes)};
	return part->n > 0;
}

/* How far b begins behind a. */
static bool distance(const StreamLoop *l, const Ix *a, const Ix *b, int64_t *by)
{
	Program *program = l->s->program;
	Linear to = ix_linear(program, ix_minus(program, b, a));
	return to.terms.n == 0 && size_is_const(program->sizes, to.offset, by) &&
	       *by > -ELEMENTS_MOST && *by < ELEMENTS_MOST;
}

static void see_store(StreamLoop *l, const Stmt *store)
{
	if (!may_stream(l->s, store->buffer))
		return;
	StreamedResult *result = result_of(l, store->buffer);
	StoredPart part;
	result->wrong |= l->nconds > 0 || store->acc != OP_NONE || store->stream ||
			 !part_of(l, store, &part);
	if (result->wrong)
		return;
	if (result->parts.n > 0)
		result->wrong |= !distance(l, result->parts.at[0].start, part.start, &part.first);
	PUSH(l->s->arena, result->parts, part);
}

static void see_block(StreamLoop *l, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool other = stmt->kind == LOOP_IF ||
			     (stmt->kind == LOOP_FOR && stmt->loop > LOOP_VECTOR);
		l->wrong |= stmt->kind == LOOP_CHECK || l->ninner == INNER_MOST;
		if (stmt->kind == LOOP_STORE)
			see_store(l, stmt);
		if (l->wrong || (stmt->kind != LOOP_FOR && stmt->kind != LOOP_IF))
			continue;
		l->nconds += other;
		if (stmt->kind == LOOP_FOR)
			l->inner[l->ninner++] = stmt;
		see_block(l, stmt->body);
		l->ninner -= stmt->kind == LOOP_FOR;
		l->nconds -= other;
	}
}

static int by_first(const void *a, const void *b)
{
	const StoredPart *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

/* Do the parts lie end to end, and what the next step stores behind them? */
static bool is_gapless(const StreamLoop *l, StreamedResult *result)
{
	Program *program = l->s->program;
	StoredPart *parts = result->parts.at;
	int64_t stride;
	if (result->wrong || result->parts.n == 0)
		return false;
	qsort(parts, result->parts.n, sizeof *parts, by_first);
	for (size_t i = 0; i < result->parts.n; i++) {
		if (parts[i].first != parts[0].first + result->n)
			return false;
		result->n += parts[i].n;
	}
	result->start = parts[0].start;
	return size_is_const(program->sizes, ix_stride(program, result->start, l->loop->iter),
			     &stride) &&
	       stride == result->n;
}

/* Keeps those that can be streamed from a block of steps. */
static void keep_results(StreamLoop *l)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->nresults && !l->wrong; i++)
		if (is_gapless(l, &l->results[i]))
			l->results[n++] = l->results[i];
	l->nresults = n;
}

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
		bytes += l->results[i].n * bytes_of(s, l->results[i].buffer);
		if (!is_known(s, l->results[i].buffer, &n))
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
	BufferTwin twins[RESULTS_MOST];
	BufferOffset offsets[RESULTS_MOST];
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

static bool is_plain(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step == 1 &&
	       stmt->lo->kind == IX_SIZE && stmt->hi->kind == IX_SIZE;
}

/* The outermost loop inside of the statement, or itself, that goes in blocks does. */
static const Stmt *in_stmt(Stream *s, const Stmt *stmt)
{
	StreamLoop l = {.s = s, .loop = stmt};
	if (!is_plain(stmt))
		return stmt;
	see_block(&l, stmt->body);
	bool wanted = l.nresults > 0 && !l.wrong;
	keep_results(&l);
	BufferId unknown;
	int64_t steps = choose(&l, &unknown);
	if (!wanted)
		return stmt;
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
	const Ix *least = ix_const(s->program, large_elements(s, s->unknown));
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
