/* Row kernels: neighbouring kernels that walk over the same rows become one, a row at a time.
 *
 *   for i: for j: e[i*v + j] = exp(x[i*v + j] - m[i])        for i
 *   for i: { acc = 0                                           for j: y[i*v + j] = exp(x[i*v + j] - m)
 *            for j: acc += e[i*v + j]                 ->       acc = 0
 *            s[i] = acc }                                      for j: acc += y[i*v + j]
 *   for i: for j: y[i*v + j] = e[i*v + j] / s[i]               for j: y[i*v + j] = y[i*v + j] / acc
 *
 * Two kernels join where each is one loop over the same rows, they touch a common buffer, and every
 * buffer that one of them writes is touched by both in the cells [i*c, i*c + c) of the present row
 * i only. A flat loop over rows*c cells is taken as rows of c. A row holds vectors only (one loop
 * deep, not counting short constant loops): matrices that every row reads would push each other out
 * of the cache. Then a temporary with one cell a row becomes a local, and one that has the place of
 * a result, which is written where the temporary is read last, becomes the result.
 */
#include "lower/rows.h"

#include "lower/rewrite.h"

enum { SHORT_LOOP = 64, LEAST_SPLIT = 64, MOST_STMTS = 128, MOST_BUFFERS = 16 };

/* The loops around a statement, innermost first. */
typedef struct Around {
	const Stmt *loop;
	const struct Around *outer;
} Around;

/* One access to a buffer, in the order of the text. */
typedef struct Touch {
	BufferId buffer;
	const Ix *ix;
	const Stmt *stmt;
	const Around *around; /* inside the row; NULL: the statement is the row's own */
	uint32_t top;	      /* position of the statement of the row that it is in */
	bool stored;
} Touch;

typedef struct RowKernel {
	Kernel kernel;
	const Stmt *loop; /* the only statement of the kernel; NULL: it is no row kernel */
	VEC(Touch) touches;
	uint32_t nstmts, depth;
	bool plain;	      /* nothing stands in the way of joining */
	bool joined;	      /* from several kernels */
	const Stmt *declared; /* a local to stand in front of the row's body */
} RowKernel;

typedef struct Rows {
	Lower *lower;
	Program *program;
	Arena *arena;
	RowKernel *all; /* the routine's kernels as they were */
	BufferUses *uses; /* the buffers that each of them touches */
	uint32_t n;
	uint32_t nshared; /* iterators from outside, which have one number in all kernels */
	uint32_t top; /* of the statement at hand */
	const Around *around;
} Rows;

/* ---- what a kernel touches ---- */

static void see_value(Rows *rows, RowKernel *row, const Stmt *stmt, const Value *value);

static void see_ix(Rows *rows, RowKernel *row, const Stmt *stmt, const Ix *ix)
{
	if (ix->kind == IX_VALUE)
		see_value(rows, row, stmt, ix->value);
	if (ix->a)
		see_ix(rows, row, stmt, ix->a);
	if (ix->b)
		see_ix(rows, row, stmt, ix->b);
}

static void see_value(Rows *rows, RowKernel *row, const Stmt *stmt, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		PUSH(rows->arena, row->touches,
		     ((Touch){value->buffer, value->ix, stmt, rows->around, rows->top, false}));
	if (value->ix)
		see_ix(rows, row, stmt, value->ix);
	for (uint32_t i = 0; i < value->nargs; i++)
		see_value(rows, row, stmt, value->args[i]);
}

static bool is_short(const Rows *rows, const Stmt *loop)
{
	int64_t hi;
	return loop->hi->kind == IX_SIZE &&
	       size_is_const(rows->program->sizes, loop->hi->size, &hi) && hi <= SHORT_LOOP;
}

/* depth: long loops around the block, in the row */
static void see_block(Rows *rows, RowKernel *row, Block block, uint32_t depth)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (!rows->around)
			rows->top = i;
		row->nstmts++;
		row->plain = row->plain && stmt->kind != LOOP_IF && stmt->kind != LOOP_CHECK;
		if (stmt->value)
			see_value(rows, row, stmt, stmt->value);
		if (stmt->kind == LOOP_STORE)
			PUSH(rows->arena, row->touches,
			     ((Touch){stmt->buffer, stmt->ix, stmt, rows->around, rows->top,
				      true}));
		if (stmt->kind != LOOP_FOR)
			continue;
		uint32_t inside = depth + !is_short(rows, stmt);
		if (row->depth < inside)
			row->depth = inside;
		Around *around = ARENA_NEW(rows->arena, Around);
		*around = (Around){stmt, rows->around};
		rows->around = around;
		see_block(rows, row, stmt->body, inside);
		rows->around = around->outer;
	}
}

static bool is_row_loop(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step == 1 &&
	       stmt->lo->kind == IX_SIZE && stmt->hi->kind == IX_SIZE;
}

static RowKernel row_of(Rows *rows, const Kernel *kernel)
{
	RowKernel row = {.kernel = *kernel, .plain = true};
	const Stmt *only = kernel->body.n == 1 ? kernel->body.stmts[0] : NULL;
	if (!only || !is_row_loop(only) || !size_is(rows->program->sizes, only->lo->size, 0) ||
	    kernel_turns(rows->program, kernel, rows->lower->asked))
		return row;
	row.loop = only;
	see_block(rows, &row, only->body, 0);
	return row;
}

/* ---- whether a buffer's rows are apart ---- */

/* The greatest value of an iterator whose loop runs; SIZE_BAD: not known. */
static Size greatest(const Rows *rows, const Around *around, IterVar iter)
{
	Sizes *sizes = rows->program->sizes;
	while (around && around->loop->iter != iter)
		around = around->outer;
	const Stmt *loop = around ? around->loop : NULL;
	if (!loop || loop->lo->kind != IX_SIZE || loop->hi->kind != IX_SIZE ||
	    !size_ge(sizes, loop->lo->size, size_const(sizes, 0)))
		return SIZE_BAD;
	Size extent = size_sub(sizes, loop->hi->size, loop->lo->size);
	Size whole = size_scale(sizes, size_floor(sizes, extent, loop->step), loop->step);
	return size_plus(sizes, loop->hi->size, size_same(whole, extent) ? -loop->step : -1);
}

/* ix = i*c + rest with 0 <= rest < c, over all rounds of the loops inside. */
static bool stays_in_row(const Rows *rows, const RowKernel *row, const Touch *touch, Size c)
{
	Sizes *sizes = rows->program->sizes;
	Linear linear = ix_linear(rows->program, touch->ix);
	Size zero = size_const(sizes, 0), most = linear.offset;
	bool has_row = false;
	for (size_t t = 0; t < linear.terms.n; t++) {
		const LinearTerm *term = &linear.terms.at[t];
		if (term->atom->kind != IX_ITER)
			return false;
		if (term->atom->iter == row->loop->iter) {
			has_row = size_same(term->coef, c);
			continue;
		}
		Size top = greatest(rows, touch->around, term->atom->iter);
		if (size_is_bad(top) || !size_ge(sizes, term->coef, zero))
			return false;
		most = size_add(sizes, most, size_mul(sizes, term->coef, top));
	}
	return has_row && size_ge(sizes, linear.offset, zero) &&
	       size_ge(sizes, size_plus(sizes, c, -1), most);
}

/* Cells a row of a buffer, by its first access; SIZE_BAD: it does not move with the row. */
static Size cells_a_row(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	for (size_t i = 0; i < row->touches.n; i++)
		if (row->touches.at[i].buffer == buffer) {
			Size c = ix_stride(rows->program, row->touches.at[i].ix, row->loop->iter);
			return size_is(rows->program->sizes, c, 0) ? SIZE_BAD : c;
		}
	return SIZE_BAD;
}

static bool buffer_stays(const Rows *rows, const RowKernel *row, BufferId buffer, Size c)
{
	for (size_t i = 0; i < row->touches.n; i++)
		if (row->touches.at[i].buffer == buffer &&
		    !stays_in_row(rows, row, &row->touches.at[i], c))
			return false;
	return true;
}

static bool touches_buffer(const RowKernel *row, BufferId buffer, bool stored)
{
	for (size_t i = 0; i < row->touches.n; i++)
		if (row->touches.at[i].buffer == buffer && row->touches.at[i].stored >= stored)
			return true;
	return false;
}

/* ---- joining two ---- */

static uint32_t count_buffers(const Rows *rows, const RowKernel *row)
{
	return (uint32_t)kernel_buffers(rows->arena, &row->kernel).n;
}

static bool rows_are_same(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	return a->loop && b->loop && a->plain && b->plain && a->depth <= 1 && b->depth <= 1 &&
	       size_same(a->loop->hi->size, b->loop->hi->size) && (a->depth > 0 || b->depth > 0) &&
	       a->nstmts + b->nstmts <= MOST_STMTS &&
	       count_buffers(rows, a) + count_buffers(rows, b) <= MOST_BUFFERS;
}

static bool may_join(const Rows *rows, const RowKernel *a, const RowKernel *b)
{
	bool common = false;
	if (!rows_are_same(rows, a, b))
		return false;
	for (size_t i = 0; i < b->touches.n; i++) {
		BufferId buffer = b->touches.at[i].buffer;
		if (!touches_buffer(a, buffer, false))
			continue;
		common = true;
		if (!touches_buffer(a, buffer, true) && !touches_buffer(b, buffer, true))
			continue;
		Size c = cells_a_row(rows, a, buffer);
		if (size_is_bad(c) || !buffer_stays(rows, a, buffer, c) ||
		    !buffer_stays(rows, b, buffer, c))
			return false;
	}
	return common;
}

static const Ix **same_iters(const Rows *rows, const Kernel *kernel, IterVar first)
{
	const Ix **iters = ARENA_ARRAY(rows->program->arena, const Ix *, kernel->niters + 1);
	for (IterVar i = 0; i < kernel->niters; i++)
		iters[i] = ix_iter(rows->program->arena, first + i);
	return iters;
}

static Stmt *loop_over(const Rows *rows, const Stmt *like, Block body)
{
	Stmt *loop = ARENA_NEW(rows->program->arena, Stmt);
	*loop = *like;
	loop->body = body;
	return loop;
}

static Block one_stmt(const Rows *rows, const Stmt *stmt)
{
	const Stmt **stmts = ARENA_ARRAY(rows->program->arena, const Stmt *, 1);
	stmts[0] = stmt;
	return (Block){stmts, 1};
}

static Block both(const Rows *rows, Block a, Block b)
{
	const Stmt **stmts = ARENA_ARRAY(rows->program->arena, const Stmt *, a.n + b.n + 1);
	for (uint32_t i = 0; i < a.n + b.n; i++)
		stmts[i] = i < a.n ? a.stmts[i] : b.stmts[i - a.n];
	return (Block){stmts, a.n + b.n};
}

/* a, then b, in every row; under b's name, whose result is the last. */
static RowKernel join(Rows *rows, const RowKernel *a, const RowKernel *b)
{
	Kernel kernel = a->kernel;
	const Ix **iters = same_iters(rows, &b->kernel, a->kernel.niters);
	for (IterVar i = 0; i < rows->nshared; i++)
		iters[i] = ix_iter(rows->program->arena, i);
	iters[b->loop->iter] = ix_iter(rows->program->arena, a->loop->iter);
	Rewrite rewrite = {.program = rows->program,
			   .iters = iters,
			   .first_local = a->kernel.nlocals,
			   .span = b->kernel.span};
	kernel_append_tables(rows->program->arena, &kernel, &b->kernel);
	Block body = both(rows, a->loop->body, rewrite_block(&rewrite, b->loop->body));
	ScheduleEntry *entry = schedule_entry(rows->program->made, b->kernel.name);
	clause_add(rows->program->arena, entry_make(rows->program->arena, entry, CHOICE_JOIN, false),
		   a->kernel.name, NULL, 0);
	kernel.name = b->kernel.name;
	kernel.span = b->kernel.span;
	Stmt *loop = loop_over(rows, a->loop, body);
	loop->apart = a->loop->apart && b->loop->apart;
	kernel.body = one_stmt(rows, loop);
	RowKernel row = row_of(rows, &kernel);
	row.joined = true;
	return row;
}

/* A flat loop as rows of c cells, if its extent is that of `rows_like` times c: what it is then. */
static RowKernel split(Rows *rows, const RowKernel *flat, const RowKernel *like)
{
	Sizes *sizes = rows->program->sizes;
	RowKernel no = {.kernel = flat->kernel};
	int64_t cells;
	if (!flat->loop || !like->loop || flat->joined || flat->depth > 0 || !flat->plain)
		return no;
	for (size_t i = 0; i < flat->touches.n; i++) {
		Size c = cells_a_row(rows, like, flat->touches.at[i].buffer);
		if (size_is_bad(c) || (size_is_const(sizes, c, &cells) && cells < LEAST_SPLIT) ||
		    !size_same(size_mul(sizes, like->loop->hi->size, c), flat->loop->hi->size))
			continue;
		Arena *arena = rows->program->arena;
		Kernel kernel = flat->kernel,
		       more = {.iters = flat->kernel.iters + flat->loop->iter, .niters = 1};
		kernel_append_tables(rows->program->arena, &kernel, &more);
		const Ix **iters = same_iters(rows, &flat->kernel, 0);
		IterVar inner = flat->kernel.niters;
		const Ix *start =
			ix_mul(rows->program, ix_iter(arena, flat->loop->iter), ix_size(arena, c));
		iters[flat->loop->iter] = ix_add(rows->program, start, ix_iter(arena, inner));
		Rewrite rewrite = {
			.program = rows->program, .iters = iters, .span = flat->kernel.span};
		Block body = rewrite_block(&rewrite, flat->loop->body);
		const Ix *zero = ix_const(arena, sizes, 0);
		const Stmt *loop = stmt_for(arena, inner, zero, ix_size(arena, c), body);
		loop = stmt_for(arena, flat->loop->iter, zero, like->loop->hi,
				one_stmt(rows, loop));
		kernel.body = one_stmt(rows, loop);
		return row_of(rows, &kernel);
	}
	return no;
}

/* ---- what no other kernel sees ---- */

static bool is_private(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	const Buffer *b = &rows->program->buffers.at[buffer];
	uint32_t users = 0, inside = 0;
	if (b->kind != BUFFER_TEMP)
		return false;
	for (uint32_t k = 0; k < rows->n; k++) {
		const BufferUses *uses = &rows->uses[k];
		for (size_t u = 0; u < uses->n; u++)
			if (uses->at[u].buffer == buffer) {
				users++;
				inside += rows->all[k].joined;
			}
	}
	return users == inside && touches_buffer(row, buffer, true);
}

/* Does the statement run exactly once a row? */
static bool is_once(const Rows *rows, const Touch *touch)
{
	for (const Around *around = touch->around; around; around = around->outer) {
		const Stmt *loop = around->loop;
		if (loop->lo->kind != IX_SIZE || loop->hi->kind != IX_SIZE ||
		    !size_is(rows->program->sizes, loop->lo->size, 0) ||
		    !size_is(rows->program->sizes, loop->hi->size, 1))
			return false;
	}
	return true;
}

/* The access that sets the buffer's one cell a row before it is read; NULL: it is not so. */
static const Touch *cell_store(const Rows *rows, const RowKernel *row, BufferId buffer)
{
	const Touch *first = NULL;
	for (size_t i = 0; i < row->touches.n && !first; i++)
		if (row->touches.at[i].buffer == buffer)
			first = &row->touches.at[i];
	if (!first || !first->stored || first->stmt->acc != OP_NONE || !is_once(rows, first))
		return NULL;
	return buffer_stays(rows, row, buffer, size_const(rows->program->sizes, 1)) ? first : NULL;
}

/* Is every cell of `to` written once, by one statement, which reads `from` at that cell for the
 * last time? */
static bool may_share(const Rows *rows, const RowKernel *row, BufferId from, BufferId to)
{
	const Buffer *a = &rows->program->buffers.at[from], *b = &rows->program->buffers.at[to];
	const Touch *store = NULL;
	if (from == to || a->dtype != b->dtype || !size_same(a->elements, b->elements))
		return false;
	for (size_t i = 0; i < row->touches.n; i++)
		if (row->touches.at[i].buffer == to) {
			if (store || !row->touches.at[i].stored ||
			    row->touches.at[i].stmt->acc != OP_NONE)
				return false;
			store = &row->touches.at[i];
		}
	if (!store)
		return false;
	bool read = false;
	for (size_t i = 0; i < row->touches.n; i++) {
		const Touch *touch = &row->touches.at[i];
		if (touch->buffer != from ||
		    (touch->top < store->top && touch->stmt != store->stmt))
			continue;
		if (touch->stmt != store->stmt || !ix_same(touch->ix, store->ix))
			return false;
		read = true;
	}
	Size c = cells_a_row(rows, row, to);
	return read && !size_is_bad(c) && buffer_stays(rows, row, to, c) &&
	       buffer_stays(rows, row, from, c);
}

/* A local of the row, declared by its first store, or in front where that is inside loops of one
 * round. */
static void become_local(Rows *rows, RowKernel *row, const Touch *store, BufferTwin *twin)
{
	Arena *arena = rows->program->arena;
	const Buffer *b = &rows->program->buffers.at[store->buffer];
	KernelLocal local = {.name = b->name, .dtype = b->dtype};
	Kernel more = {.locals = &local, .nlocals = 1};
	*twin = (BufferTwin){
		.kind = TWIN_LOCAL, .id = row->kernel.nlocals, .declared = store->around};
	kernel_append_tables(rows->program->arena, &row->kernel, &more);
	row->declared = store->around
				? stmt_local(arena, twin->id,
					     value_const(arena, b->dtype, scalar_of(b->dtype, 0)))
				: NULL;
}

static bool find_twin(Rows *rows, RowKernel *row, BufferId buffer, BufferTwin *twin)
{
	if (!is_private(rows, row, buffer))
		return false;
	const Touch *store = cell_store(rows, row, buffer);
	if (store) {
		become_local(rows, row, store, twin);
		return true;
	}
	for (size_t i = 0; i < row->touches.n; i++) {
		BufferId to = row->touches.at[i].buffer;
		if (!may_share(rows, row, buffer, to))
			continue;
		*twin = (BufferTwin){.kind = TWIN_BUFFER, .id = to};
		return true;
	}
	return false;
}

/* A buffer that nothing touches any more. */
static void forget(Rows *rows, BufferId buffer)
{
	Buffer *b = &rows->program->buffers.at[buffer];
	b->elements = b->offset = size_const(rows->program->sizes, 0);
}

/* Replaces temporaries one at a time, since each changes what is true of the others. */
static void make_private(Rows *rows, RowKernel *row)
{
	for (size_t i = 0; i < row->touches.n; i++) {
		BufferId buffer = row->touches.at[i].buffer;
		BufferTwin twin = {.kind = TWIN_NONE};
		if (!find_twin(rows, row, buffer, &twin))
			continue;
		BufferTwin *twins = ARENA_ARRAY(rows->arena, BufferTwin, rows->program->buffers.n);
		twins[buffer] = twin;
		Rewrite rewrite = {
			.program = rows->program, .twins = twins, .span = row->kernel.span};
		rewrite.iters = same_iters(rows, &row->kernel, 0);
		Block body = rewrite_block(&rewrite, row->loop->body);
		if (row->declared)
			body = both(rows, one_stmt(rows, row->declared), body);
		row->kernel.body = one_stmt(rows, loop_over(rows, row->loop, body));
		forget(rows, buffer);
		*row = row_of(rows, &row->kernel);
		i = (size_t)-1;
	}
}

/* ---- the routine ---- */

static void finish(Rows *rows, RowKernel *row, uint32_t from, uint32_t to)
{
	if (to - from > 1) {
		for (uint32_t k = 0; k < rows->n; k++)
			rows->all[k].joined = k >= from && k < to;
		make_private(rows, row);
	}
	PUSH(rows->program->arena, rows->program->kernels, row->kernel);
	PUSH(rows->lower->scratch, rows->lower->kernels, (KernelId)rows->program->kernels.n - 1);
}

/* Joins `next` to `open`, one of them split into rows where that helps; false: they stay apart. */
static bool take(Rows *rows, RowKernel *open, const RowKernel *next)
{
	RowKernel left = *open, right = *next;
	const Kernel *kernel = &next->kernel;
	if (asks_off(schedule_asked(rows->lower->asked, rows->program, kernel->name, kernel->span,
				    CHOICE_JOIN))) {
		entry_make(rows->program->arena, schedule_entry(rows->program->made, kernel->name),
			   CHOICE_JOIN, true);
		return false;
	}
	if (!may_join(rows, &left, &right)) {
		right = split(rows, next, open);
		if (!may_join(rows, &left, &right)) {
			right = *next;
			left = split(rows, open, next);
			if (!may_join(rows, &left, &right))
				return false;
		}
	}
	*open = join(rows, &left, &right);
	return true;
}

void rows_fuse(Lower *lower, size_t first, uint32_t nshared)
{
	Program *program = lower->program;
	Rows rows = {.lower = lower,
		     .program = program,
		     .arena = lower->scratch,
		     .n = (uint32_t)(lower->kernels.n - first),
		     .nshared = nshared};
	if (rows.n < 2)
		return;
	rows.all = ARENA_ARRAY(lower->scratch, RowKernel, rows.n);
	rows.uses = ARENA_ARRAY(lower->scratch, BufferUses, rows.n);
	for (uint32_t k = 0; k < rows.n; k++) {
		KernelId id = lower->kernels.at[first + k];
		REQUIRE(id == program->kernels.n - rows.n + k);
		rows.all[k] = row_of(&rows, &program->kernels.at[id]);
		rows.uses[k] = kernel_buffers(lower->scratch, &rows.all[k].kernel);
	}
	program->kernels.n -= rows.n;
	lower->kernels.n = first;
	RowKernel open = rows.all[0];
	uint32_t from = 0;
	for (uint32_t k = 1; k < rows.n; k++)
		if (!take(&rows, &open, &rows.all[k])) {
			finish(&rows, &open, from, k);
			open = rows.all[k];
			open.joined = false;
			from = k;
		}
	finish(&rows, &open, from, rows.n);
}
