/* Sums down columns, by more threads than there are columns.
 *
 *   grid j in 0..c of 256            grid columns in 0..ceil(c/32)
 *     local acc = 0                    block thread in 0..8
 *     for k in 0..n                      block lane in 0..32
 *       acc += x[k*c + j]      ->          local part = 0
 *     y[j] = acc                           if 32*columns + lane < c
 *                                            for k in thread..n step 8
 *                                              part += x[k*c + 32*columns + lane]
 *                                          parts[32*thread + lane] = part
 *                                      barrier
 *                                      block lane1 in 0..32
 *                                        if 32*columns + lane1 < c
 *                                          local acc = 0
 *                                          for row in 0..8
 *                                            acc += parts[32*row + lane1]
 *                                          y[32*columns + lane1] = acc
 *
 * Where these are few blocks, of a known number of columns, the sum goes in slices before, each a sum of the same form,
 * which another kernel adds up:
 *
 *   grid j                             grid slice in 0..s               grid j
 *     local acc = 0                      grid j                           local acc = 0
 *     for k in 0..n           ->           local acc = 0          and     for slice in 0..s
 *       acc += x[k*c + j]                  for k in of the slice            acc += slices[slice*c + j]
 *     y[j] = acc                             acc += x[k*c + j]            y[j] = acc
 *                                          slices[slice*c + j] = acc
 *
 * parts is shared. The order of additions follows from the sizes and from what the GPU's row in
 * target/gpu.c says, and is one in every run. Chosen for sums that move all they read by one
 * element or by none along the innermost loop of the grid: columns of a matrix, and products with
 * few rows, whose columns lie side by side.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/columns.h"
#include "transform/gpu/one_sum.h"

typedef struct Columns {
	Program *program;
	Arena *arena;
	const GpuTarget *gpu;
	Kernel *kernel;
	const Stmt *loops[GRID_LOOPS]; /* of the grid, outermost first */
	uint32_t n;
	OneSum sum;
	const Stmt *rows; /* the loop of the sum that is shared out */
	ScheduleClause *asked;
	int64_t threads, slices; /* of a column; 1: one thread, or no slices */
	bool contiguous, wrong;
} Columns;

static const Stmt *column_loop(const Columns *c) { return c->loops[c->n - 1]; }

/* ---- decided ---- */

static int64_t size_of(const Columns *c, const Ix *ix)
{
	int64_t unknown = c->gpu->unknown;
	return ix->kind == IX_SIZE ? size_at_dims(c->program, ix->size, unknown) : unknown;
}

/* The loop of the sum that is longest, the outermost of several. */
static void find_rows(Columns *c, const Stmt *stmt)
{
	for (; stmt->kind == LOOP_FOR; stmt = stmt->body.stmts[0])
		if (!c->rows || size_of(c, stmt->hi) > size_of(c, c->rows->hi))
			c->rows = stmt;
}

static void see_read(void *of, const Value *value)
{
	Columns *c = of;
	c->wrong |= value->kind == VALUE_LOCAL && value->local == c->sum.set->local;
	if (value->kind != VALUE_LOAD)
		return;
	IterVar column = column_loop(c)->iter;
	bool next = ix_moves_by(c->program, value->ix, column, 1);
	c->contiguous |= next;
	c->wrong |= !next && !ix_moves_by(c->program, value->ix, column, 0);
}

static int64_t columns_of(const Columns *c)
{
	int64_t all = 1;
	for (uint32_t i = 0; i < c->n; i++)
		if (__builtin_mul_overflow(all, size_of(c, c->loops[i]->hi), &all))
			return INT64_MAX;
	return all;
}

/* Lanes of the blocks, of which those behind the last column do nothing. */
static int64_t lanes_of(const Columns *c)
{
	int64_t warp = c->gpu->warp, last = size_of(c, column_loop(c)->hi), lanes;
	int64_t others = last ? columns_of(c) / last : 0;
	bool many = __builtin_mul_overflow(others, (last + warp - 1) / warp * warp, &lanes);
	return many ? INT64_MAX : lanes;
}

/* Sums down columns that lie side by side. */
static bool fits(Columns *c)
{
	c->n = grid_loops(c->kernel, c->loops);
	if (c->n == 0 || !one_sum_of(c->kernel, &c->sum))
		return false;
	find_rows(c, c->sum.body.stmts[c->sum.at]);
	value_each(c->sum.set->value, see_read, c);
	Dtype dtype = c->sum.set->value->dtype;
	return c->contiguous && !c->wrong && dtype == dtype_wide(dtype) && dtype != DTYPE_U4X32;
}

/* Enough rows to share, and few columns beside the threads that a GPU has. */
static bool pays(const Columns *c)
{
	return size_of(c, c->rows->hi) >= c->gpu->column_least &&
	       lanes_of(c) < c->gpu->processors * c->gpu->threads * c->gpu->column_threads;
}

/* ---- made ---- */

static const Ix *iter(const Columns *c, IterVar i) { return ix_iter(c->arena, i); }

/* The sum's loops, that of the rows in these bounds, around `set`. */
static Block sum_of_rows(const Columns *c, const Stmt *stmt, const Stmt *bounds, const Stmt *set)
{
	if (stmt == c->sum.set)
		return block_one(c->arena, set);
	Block body = sum_of_rows(c, stmt->body.stmts[0], bounds, set);
	Stmt *loop = stmt_with(c->arena, stmt, body);
	loop->independent = false;
	if (stmt == c->rows) {
		loop->lo = bounds->lo;
		loop->hi = bounds->hi;
		loop->step = bounds->step;
	}
	return block_one(c->arena, loop);
}

/* Locals in front of the sum, then the sum in these bounds, in `local`. */
static Block before_and_sum(const Columns *c, const Stmt *bounds, LocalId local)
{
	Body body = {0};
	one_sum_before(c->arena, &c->sum, &body);
	body_append(c->arena, &body,
		    sum_of_rows(c, c->sum.body.stmts[c->sum.at], bounds,
				stmt_set(c->arena, local, c->sum.set->acc, c->sum.set->value)));
	return body_block(&body);
}

/* The kernel's statements, where the sum is over n values of `from`, at `at` with the iterator `i`. */
static Block with_sum_of(const Columns *c, IterVar i, int64_t n, const Value *from)
{
	const Stmt *set = stmt_set(c->arena, c->sum.set->local, c->sum.set->acc, from);
	return one_sum_with(c->arena, &c->sum,
			    stmt_loop(c->program, LOOP_SERIAL, i, n, block_one(c->arena, set)));
}

/* With fresh locals, at a column. */
static Block at_column(const Columns *c, const Ix *column, Block body)
{
	const Ix **iters = kernel_iters(c->arena, c->kernel, 0);
	iters[column_loop(c)->iter] = column;
	Cond inside = {COND_LT, column, column_loop(c)->hi};
	return block_one(c->arena, stmt_if_one(c->arena, inside,
					       one_sum_own(c->program, c->kernel, iters, body)));
}

static Block threads(const Columns *c, IterVar i, int64_t n, Block body)
{
	return block_one(c->arena, stmt_loop(c->program, LOOP_BLOCK, i, n, body));
}

static const Ix *column_of(const Columns *c, IterVar columns, IterVar lane)
{
	return ix_times_plus(c->program, iter(c, columns), c->gpu->warp, iter(c, lane));
}

/* parts[32*thread + lane] = the sum of every eighth row */
static Block add_rows(Columns *c, IterVar columns, BufferId parts)
{
	IterVar thread = bind_iter(c->program, c->kernel, "thread");
	IterVar lane = bind_iter(c->program, c->kernel, "lane");
	Dtype dtype = c->sum.set->value->dtype;
	LocalId part = bind_local(c->program, c->kernel,
				  (KernelLocal){.name = "part", .dtype = dtype});
	const Stmt bounds = {.lo = ix_add(c->program, c->rows->lo, iter(c, thread)),
			     .hi = c->rows->hi,
			     .step = c->threads};
	Body body = {0};
	PUSH(c->arena, body.stmts, stmt_local(c->arena, part, fold_neutral(c->arena, c->sum.set)));
	body_append(c->arena, &body, before_and_sum(c, &bounds, part));
	PUSH(c->arena, body.stmts,
	     stmt_store(c->arena, parts,
			ix_times_plus(c->program, iter(c, thread), c->gpu->warp, iter(c, lane)),
			OP_NONE, value_local(c->arena, c->kernel, part, NULL, 0)));
	Block own = at_column(c, column_of(c, columns, lane), body_block(&body));
	return threads(c, thread, c->threads, threads(c, lane, c->gpu->warp, own));
}

static Block add_parts(Columns *c, IterVar columns, BufferId parts)
{
	IterVar lane = bind_iter(c->program, c->kernel, "lane");
	IterVar row = bind_iter(c->program, c->kernel, "row");
	const Value *part =
		value_load(c->program, parts,
			   ix_times_plus(c->program, iter(c, row), c->gpu->warp, iter(c, lane)));
	return threads(
		c, lane, c->gpu->warp,
		at_column(c, column_of(c, columns, lane), with_sum_of(c, row, c->threads, part)));
}

/* The grid's loops, the innermost one over blocks of columns. */
static Block in_grid(const Columns *c, IterVar columns, Block body)
{
	for (uint32_t i = c->n; i-- > 0;) {
		Stmt *loop = stmt_with(c->arena, c->loops[i], body);
		loop->threads = 1;
		if (i + 1 == c->n) {
			loop->iter = columns;
			loop->hi = ix_size(c->arena, size_ceil(c->program->sizes, loop->hi->size,
							       c->gpu->warp));
		}
		body = block_one(c->arena, loop);
	}
	return body;
}

/* The number that is asked for; 0: none is. */
static int64_t asked_number(const Columns *c, uint32_t i)
{
	const ScheduleItem *item =
		asks_on(c->asked) && c->asked->items.n ? &c->asked->items.at[0] : NULL;
	return item && item->n > i ? item->numbers[i] : 0;
}

static Sym rows_name(const Columns *c) { return c->kernel->iters[c->rows->iter].name; }

/* `own`: what is asked of the kernel counts, which is not one that adds up slices. */
static Columns columns_in(const Transform *t, Kernel *kernel, bool own)
{
	Columns c = {.program = t->program,
		     .arena = t->program->arena,
		     .gpu = t->options->gpu,
		     .kernel = kernel,
		     .slices = 1};
	if (own)
		c.asked = kernel_asked(t, kernel, CHOICE_BLOCK);
	return c;
}

/* Are they such sums, which are asked for or pay? */
static bool are_wanted(Columns *c)
{
	if (asks_off(c->asked) || !fits(c))
		return false;
	return asks_on(c->asked) ? asks_name(c->asked, 0, rows_name(c)) : pays(c);
}

static bool shares_columns(Columns *c)
{
	int64_t asked = asked_number(c, 0), most = c->gpu->threads_most / c->gpu->warp;
	c->threads = asked ? asked : c->gpu->column_threads;
	return are_wanted(c) && c->threads > 1 && c->threads <= most &&
	       (c->threads & (c->threads - 1)) == 0;
}

bool columns_pay(const Transform *t, Kernel *kernel, bool own)
{
	Columns c = columns_in(t, kernel, own);
	return shares_columns(&c);
}

void bind_columns(const Transform *t, Kernel *kernel, uint32_t routine, bool own)
{
	Columns c = columns_in(t, kernel, own);
	REQUIRE(shares_columns(&c));
	Body body = {0};
	IterVar columns = bind_iter(c.program, kernel, "columns");
	BufferId parts =
		bind_shared(c.program, kernel, routine, (Buffer){.dtype = c.sum.set->value->dtype},
			    c.gpu->warp * c.threads, "parts");
	body_append(c.arena, &body, add_rows(&c, columns, parts));
	PUSH(c.arena, body.stmts, stmt_barrier(c.arena, false));
	body_append(c.arena, &body, add_parts(&c, columns, parts));
	kernel->body = in_grid(&c, columns, body_block(&body));
}

/* ---- slices ---- */

/* So many that blocks are `waves` for each processor; 1: there are enough, too few rows, or no columns. */
static int64_t slices_of(const Columns *c)
{
	int64_t blocks = (columns_of(c) + c->gpu->warp - 1) / c->gpu->warp,
		rows = size_of(c, c->rows->hi);
	int64_t wanted = blocks ? c->gpu->processors * c->gpu->waves / blocks : 1,
		most = rows / c->gpu->column_least;
	int64_t slices = wanted < most ? wanted : most;
	return slices < 1 ? 1 : slices > c->gpu->slices_most ? c->gpu->slices_most : slices;
}

/* The number of the grid's iteration among all. */
static const Ix *element_of(const Columns *c, Size *all)
{
	const Ix *element = ix_const(c->program, 0);
	*all = size_const(c->program->sizes, 1);
	for (uint32_t i = c->n; i-- > 0;) {
		const Ix *at = ix_mul(c->program, iter(c, c->loops[i]->iter),
				      ix_size(c->arena, *all));
		element = ix_add(c->program, element, at);
		*all = size_mul(c->program->sizes, *all, c->loops[i]->hi->size);
	}
	return element;
}

static const Ix *slice_element(const Columns *c, IterVar slice)
{
	Size all;
	const Ix *element = element_of(c, &all);
	return ix_add(c->program, ix_mul(c->program, iter(c, slice), ix_size(c->arena, all)),
		      element);
}

/* slices[slice*c + j] = the sum of a slice of the rows */
static void make_slices(Columns *c, BufferId slices, int64_t n)
{
	Sizes *sizes = c->program->sizes;
	IterVar slice = bind_iter(c->program, c->kernel, "slice");
	LocalId part = bind_local(c->program, c->kernel,
				  (KernelLocal){.name = "part", .dtype = c->sum.set->value->dtype});
	Size rows = c->rows->hi->size, each = size_ceil(sizes, rows, n);
	const Ix *lo = ix_mul(c->program, iter(c, slice), ix_size(c->arena, each));
	const Ix *end = ix_add(c->program, lo, ix_size(c->arena, each));
	const Stmt bounds = {.lo = lo,
			     .hi = size_divides(sizes, size_const(sizes, n), rows)
					   ? end
					   : ix_binary(c->program, IX_MIN, end, c->rows->hi),
			     .step = 1};
	Body body = {0};
	PUSH(c->arena, body.stmts, stmt_local(c->arena, part, fold_neutral(c->arena, c->sum.set)));
	body_append(c->arena, &body, before_and_sum(c, &bounds, part));
	PUSH(c->arena, body.stmts,
	     stmt_store(c->arena, slices, slice_element(c, slice), OP_NONE,
			value_local(c->arena, c->kernel, part, NULL, 0)));
	Block grid = grid_around(c->arena, &c->kernel->body, body_block(&body), 0);
	Stmt *loop = stmt_with(c->arena, c->loops[0], grid);
	loop->iter = slice;
	loop->hi = ix_const(c->program, n);
	loop->threads = 1;
	c->kernel->body = block_one(c->arena, loop);
}

/* The kernel adds up the slices. */
static void make_sum_of_slices(Columns *c, BufferId slices, int64_t n)
{
	IterVar slice = bind_iter(c->program, c->kernel, "slice");
	const Value *part = value_load(c->program, slices, slice_element(c, slice));
	c->kernel->body = grid_around(c->arena, &c->kernel->body, with_sum_of(c, slice, n, part), 0);
}

/* Of a known number of columns: their sums by slices are temporaries, of at most `slices_most` times the result. */
static bool slices_fit(Columns *c)
{
	Size all = SIZE_BAD;
	bool whole = are_wanted(c) && c->rows->lo->kind == IX_SIZE &&
		     c->rows->hi->kind == IX_SIZE &&
		     size_is(c->program->sizes, c->rows->lo->size, 0);
	int64_t known;
	if (!whole)
		return false;
	c->slices = asked_number(c, 1) ? asked_number(c, 1) : asked_number(c, 0) ? 1 : slices_of(c);
	element_of(c, &all);
	return c->slices > 1 && c->slices <= c->gpu->slices_most &&
	       size_is_const(c->program->sizes, all, &known);
}

bool slices_pay(const Transform *t, Kernel *kernel)
{
	Columns c = columns_in(t, kernel, true);
	return slices_fit(&c);
}

static const char lacking[] =
	"on a GPU a sum down columns has 1, 2, 4, 8, 16 or 32 threads a column and up "
	"to 64 slices, of a known number of columns: `block n 8 16`";

/* Writes them into the schedule. */
static void note(const Columns *c, ScheduleEntry *entry, bool shared)
{
	const int64_t numbers[] = {shared ? c->threads : 1, c->slices};
	PUSH(c->arena, entry->loops, rows_name(c));
	clause_add(c->arena, entry_make(c->arena, entry, CHOICE_BLOCK, false), rows_name(c),
		   numbers, c->slices > 1 || asked_number(c, 1) ? 2 : 1);
}

void columns_note(const Transform *t, Kernel *kernel, ColumnsMade made)
{
	Columns c = columns_in(t, kernel, true);
	ScheduleEntry *entry = schedule_entry(t->program->made, kernel->name);
	c.slices = made.slices && slices_fit(&c) ? c.slices : 1;
	shares_columns(&c);
	note(&c, entry, made.columns);
	if (asks_on(c.asked))
		c.asked->refused = lacking;
}

void columns_note_none(const Transform *t, const Kernel *kernel)
{
	ScheduleEntry *entry = schedule_entry(t->program->made, kernel->name);
	ScheduleClause *asked = kernel_asked(t, kernel, CHOICE_BLOCK);
	if (entry_clause(entry, CHOICE_BLOCK))
		return;
	if (says_off(asked))
		entry_make(t->program->arena, entry, CHOICE_BLOCK, true);
	else if (asks_on(asked) && !asked->refused)
		asked->refused = lacking;
}

void bind_slices(const Transform *t, Kernel *kernel, uint32_t routine, Kernel *before)
{
	Columns c = columns_in(t, kernel, true);
	REQUIRE(slices_fit(&c));
	int64_t n = c.slices;
	Size all;
	element_of(&c, &all);
	Buffer buffer = {.dtype = c.sum.set->value->dtype,
			 .elements = size_scale(c.program->sizes, all, n)};
	BufferId slices = bind_temp(c.program, kernel, routine, buffer, "slices");
	Columns first = c;
	*before = *kernel;
	first.kernel = before;
	make_slices(&first, slices, n);
	make_sum_of_slices(&c, slices, n);
}
