/* Rows that are added up at indices, such as the gradient of an embedding: a block has some rows of the target, and looks for those that
 * are added to them.
 *
 *   grid c in 0..768 of 256                      grid range in 0..ceil(v/96)
 *     for i in 0..n                                for round in 0..ceil(n/2048)
 *       y[int(ids[i])*768 + c] += x[i*768 + c]  ->   block slot in 0..256: found[slot] = how many of the next 8 steps are of the range
 *                                                    barrier
 *                                                    block column in 0..192
 *                                                      for slot in 0..256
 *                                                        if 1 <= int(found[slot])
 *                                                          for step in 0..8
 *                                                            if range*96 <= int(ids[...]) && int(ids[...]) < range*96 + 96
 *                                                              y[(range*96 + row)*768 + ...] += x[...]
 *                                                    barrier
 *
 * where `row` is int(ids[...]) - range*96, held between 0 and 95: so no two blocks meet, whatever the indices are. An element adds
 * what it adds in the order of the steps, as one thread does. All steps are one loop, and so are all columns.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/scatter.h"
#include "transform/gpu/wide.h"

typedef struct Scatter {
	Program *program;
	Arena *arena;
	const GpuTarget *gpu;
	Kernel *kernel;
	const Stmt *columns[GRID_LOOPS];
	uint32_t ncolumns;
	LoopNest steps;
	const Stmt *guard, *store; /* guard: around the store; NULL: none is */
	const Ix *row;		   /* that is read */
	Size width, rows;	   /* elements of a row of the target, and how many there are */
	Size extent, n;		   /* of the columns; of the steps */
} Scatter;

/* ---- found ---- */

static bool is_of_steps(const Scatter *s, IterVar iter)
{
	bool among = false;
	for (uint32_t i = 0; i < s->steps.n; i++)
		among |= s->steps.loops[i]->iter == iter;
	return among;
}

/* Does the index use steps in what it reads alone? */
static bool steps_are_read(const Scatter *s, const Ix *ix)
{
	if (!ix || ix->kind == IX_VALUE)
		return true;
	return !(ix->kind == IX_ITER && is_of_steps(s, ix->iter)) && steps_are_read(s, ix->a) &&
	       steps_are_read(s, ix->b);
}

/* Loads go through the steps, and the columns, as through one loop. */
typedef struct Through {
	OneLoop steps, columns;
} Through;

static void see_value(void *of, const Value *value)
{
	Through *through = of;
	if (value->kind != VALUE_LOAD && value->kind != VALUE_INDEX)
		return;
	one_loop_ix(&through->steps, value->ix);
	one_loop_ix(&through->columns, value->ix);
}

static void see_stmt(void *of, const Stmt *stmt) { stmt_each_value(stmt, see_value, of); }

static bool goes_through_one(const Scatter *s)
{
	Through through = {{s->program, s->steps.loops, s->steps.n, 0},
			   {s->program, s->columns, s->ncolumns, 0}};
	bool read = steps_are_read(s, s->row);
	block_each((Block){s->guard ? &s->guard : &s->store, 1}, see_stmt, &through);
	for (uint32_t i = 0; s->guard && i < s->guard->nconds; i++)
		read = read && steps_are_read(s, s->guard->conds[i].a) &&
		       steps_are_read(s, s->guard->conds[i].b);
	return read && through.steps.first == 0 && through.columns.first == 0;
}

/* Has the target rows of the columns, one of which is read? */
static bool has_rows(Scatter *s)
{
	Sizes *sizes = s->program->sizes;
	Linear at = ix_linear(s->program, s->store->ix);
	const Size elements = s->program->buffers.at[s->store->buffer].elements;
	s->extent = loops_extent(sizes, s->columns, s->ncolumns);
	for (size_t i = 0; i < at.terms.n; i++) {
		const LinearTerm *term = &at.terms.at[i];
		if (!term->atom->reads)
			continue;
		if (s->row)
			return false;
		s->row = term->atom;
		s->width = term->coef;
	}
	for (uint32_t i = 0; s->row && i < s->ncolumns; i++)
		if (ix_uses(s->row, s->columns[i]->iter))
			return false;
	if (!s->row || !size_is(sizes, at.offset, 0) || at.terms.n != s->ncolumns + 1 ||
	    !size_same(s->width, s->extent) || !size_divides(sizes, s->width, elements))
		return false;
	s->rows = size_div(sizes, elements, s->width);
	return true;
}

/* Are there as many blocks for them as there are for the columns? */
static bool has_enough_rows(const Scatter *s)
{
	int64_t rows, columns;
	if (!size_is_const(s->program->sizes, s->extent, &columns))
		columns = s->gpu->unknown;
	return !size_is_const(s->program->sizes, s->rows, &rows) ||
	       rows >= columns / s->gpu->threads;
}

static bool find(Scatter *s)
{
	int64_t n;
	s->steps = block_nest(grid_body(s->kernel));
	s->ncolumns = grid_loops(s->kernel, s->columns);
	s->guard = block_only(s->steps.body);
	s->guard = s->guard && s->guard->kind == LOOP_IF ? s->guard : NULL;
	s->store = block_only(s->guard ? s->guard->body : s->steps.body);
	if (!s->store || s->store->kind != LOOP_STORE || s->store->acc == OP_NONE ||
	    s->steps.n == 0 || !nest_counts_from_zero(s->program->sizes, &s->steps) ||
	    (grid_loop(&s->kernel->body) && s->ncolumns == 0))
		return false;
	s->n = loops_extent(s->program->sizes, s->steps.loops, s->steps.n);
	bool many = !size_is_const(s->program->sizes, s->n, &n) || n >= s->gpu->row_least;
	return many && !size_is_bad(s->n) && has_rows(s) && has_enough_rows(s) &&
	       goes_through_one(s);
}

/* ---- made ---- */

typedef struct Made {
	Scatter *s;
	BufferId found;
	IterVar range, round;
	int64_t slots, each, rows; /* of a round; steps of a slot; rows of a range */
	int64_t threads, width;	   /* that have columns; elements that each has at a time */
} Made;

static const Ix *iter_times(const Scatter *s, IterVar iter, int64_t n)
{
	return ix_times(s->program, ix_iter(s->arena, iter), n);
}

static IterVar new_iter(const Scatter *s, const char *name)
{
	return bind_iter(s->program, s->kernel, name);
}

/* A step of a slot, among all, and what stands there for the loops' own steps. */
typedef struct Step {
	IterVar slot, step;
	const Ix *at;
	Rewrite rewrite;
	const Ix *row; /* that is read */
} Step;

static Step step_of(const Made *m)
{
	const Scatter *s = m->s;
	Step step = {.slot = new_iter(s, "slot"), .step = new_iter(s, "step")};
	step.at = ix_add(s->program, iter_times(s, m->round, m->slots * m->each),
			 ix_add(s->program, iter_times(s, step.slot, m->each),
				ix_iter(s->arena, step.step)));
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0);
	for (uint32_t i = 0; i < s->steps.n; i++)
		iters[s->steps.loops[i]->iter] =
			i + 1 < s->steps.n ? ix_const(s->program, 0) : step.at;
	step.rewrite = (Rewrite){.program = s->program, .iters = iters, .span = s->kernel->span};
	step.row = rewrite_ix(&step.rewrite, s->row);
	return step;
}

/* For each step of the slot that there is and that is of the range, the body. */
static Block if_of_range(const Made *m, const Step *step, Block body)
{
	const Scatter *s = m->s;
	const Ix *first = iter_times(s, m->range, m->rows),
		 *end = ix_plus(s->program, first, m->rows);
	Cond is_step = {COND_LT, step->at, ix_size(s->arena, s->n)};
	Cond *of_range = ARENA_ARRAY(s->arena, Cond, 2);
	of_range[0] = (Cond){COND_LE, first, step->row};
	of_range[1] = (Cond){COND_LT, step->row, end};
	body = block_one(s->arena, stmt_if(s->arena, of_range, 2, body));
	body = block_one(s->arena, stmt_if_one(s->arena, is_step, body));
	return block_one(s->arena, stmt_loop(s->program, LOOP_SERIAL, step->step, m->each, body));
}

/* found[slot] = how many of its steps are of the range */
static Block count_steps(const Made *m)
{
	const Scatter *s = m->s;
	Step step = step_of(m);
	KernelLocal of = {.name = sym_cstr(s->program->symbols, "count"), .dtype = DTYPE_I32};
	LocalId count = bind_local(s->program, s->kernel, of);
	const Value *one = value_const(s->arena, DTYPE_I32, (Scalar){.i = 1}),
		    *none = value_const(s->arena, DTYPE_I32, (Scalar){.i = 0});
	Body body = {0};
	PUSH(s->arena, body.stmts, stmt_local(s->arena, count, none));
	body_append(
		s->arena, &body,
		if_of_range(m, &step, block_one(s->arena, stmt_set(s->arena, count, OP_ADD, one))));
	PUSH(s->arena, body.stmts,
	     stmt_store(s->arena, m->found, ix_iter(s->arena, step.slot), OP_NONE,
			value_local(s->arena, s->kernel, count, NULL, 0)));
	return block_one(s->arena,
			 stmt_loop(s->program, LOOP_BLOCK, step.slot, m->slots, body_block(&body)));
}

/* The row of the target, one of the range's whatever is read. */
static const Ix *row_held(const Made *m, const Ix *row)
{
	const Scatter *s = m->s;
	const Ix *first = iter_times(s, m->range, m->rows);
	const Ix *own = ix_binary(s->program, IX_MAX, ix_minus(s->program, row, first),
				  ix_const(s->program, 0));
	return ix_add(s->program, first,
		      ix_binary(s->program, IX_MIN, own, ix_const(s->program, m->rows - 1)));
}

/* The store of a column, plain, under the conditions that it has. */
static Block element_of(const Made *m, Step *step, const Ix *row)
{
	const Scatter *s = m->s;
	const Stmt *store = rewrite_block(&step->rewrite, (Block){&s->store, 1}).stmts[0];
	const Ix *move = ix_mul(s->program, ix_minus(s->program, row, step->row),
				ix_size(s->arena, s->width));
	const Ix *at = ix_add(s->program, store->ix, move);
	const Value *sum = value_binary(s->arena, store->acc,
					value_load(s->program, store->buffer, at), store->value);
	return block_one(s->arena, stmt_store(s->arena, store->buffer, at, OP_NONE, sum));
}

static Wide wide_of(const Made *m, Block element)
{
	const Scatter *s = m->s;
	Wide wide = {.program = s->program,
		     .gpu = s->gpu,
		     .kernel = s->kernel,
		     .n = s->ncolumns,
		     .body = element,
		     .width = QUAD,
		     .steps = m->threads * QUAD};
	for (uint32_t i = 0; i < s->ncolumns; i++)
		wide.loops[i] = s->columns[i];
	return wide;
}

/* The element for all columns that a thread has at `first`. */
static Block columns_at(const Made *m, Block element, const Ix *first)
{
	const Scatter *s = m->s;
	if (m->width > 1) {
		Wide wide = wide_of(m, element);
		REQUIRE(wide_fits(&wide));
		return wide_elements(&wide, first, new_iter(s, "lane"));
	}
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0);
	for (uint32_t i = 0; i < s->ncolumns; i++)
		iters[s->columns[i]->iter] = i + 1 < s->ncolumns ? ix_const(s->program, 0) : first;
	Rewrite rewrite = {.program = s->program, .iters = iters, .span = s->kernel->span};
	return block_one(s->arena,
			 stmt_if_one(s->arena, (Cond){COND_LT, first, ix_size(s->arena, s->extent)},
				     rewrite_block(&rewrite, element)));
}

/* What is found is added, in its order, by threads that have some columns each. */
static Block add_steps(const Made *m)
{
	const Scatter *s = m->s;
	Step step = step_of(m);
	IterVar column = new_iter(s, "column"), part = new_iter(s, "part");
	Size parts = size_ceil(s->program->sizes, s->extent, m->threads * m->width);
	bool one = size_is(s->program->sizes, parts, 1);
	const Ix *row = row_held(m, step.row);
	const Ix *first =
		ix_add(s->program,
		       one ? ix_const(s->program, 0) : iter_times(s, part, m->threads * m->width),
		       iter_times(s, column, m->width));
	Block body = columns_at(m, element_of(m, &step, row), first);
	Cond inside = {COND_LT, row, ix_size(s->arena, s->rows)};
	body = block_one(s->arena, stmt_if_one(s->arena, inside, body));
	if (s->guard)
		body = block_one(
			s->arena,
			stmt_with(s->arena,
				  rewrite_block(&step.rewrite, (Block){&s->guard, 1}).stmts[0],
				  body));
	body = if_of_range(m, &step, body);
	const Ix *found =
		ix_value(s->arena, value_load(s->program, m->found, ix_iter(s->arena, step.slot)));
	body = block_one(
		s->arena,
		stmt_if_one(s->arena, (Cond){COND_LE, ix_const(s->program, 1), found}, body));
	body = block_one(s->arena, stmt_loop(s->program, LOOP_SERIAL, step.slot, m->slots, body));
	if (!one)
		body = block_one(s->arena, stmt_for(s->arena, part, ix_const(s->program, 0),
						    ix_size(s->arena, parts), body));
	return block_one(s->arena, stmt_loop(s->program, LOOP_BLOCK, column, m->threads, body));
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t ceil_of(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* Ranges for as many blocks as there are to be; of a number of rows that is not known as many as a slice of columns has at least. */
static int64_t rows_of_range(const Scatter *s)
{
	int64_t rows;
	if (!size_is_const(s->program->sizes, s->rows, &rows))
		return s->gpu->column_least;
	int64_t each = ceil_of(rows, s->gpu->waves * s->gpu->processors);
	return each < 1 ? 1 : each;
}

static Made made_of(Scatter *s)
{
	Made m = {.s = s,
		  .slots = s->gpu->threads,
		  .each = s->gpu->row_loads,
		  .rows = rows_of_range(s),
		  .threads = s->gpu->threads,
		  .width = QUAD};
	int64_t n;
	Wide wide = wide_of(&m, block_one(s->arena, s->store));
	if (s->ncolumns == 0 || !wide_fits(&wide))
		m.width = 1;
	if (size_is_const(s->program->sizes, s->extent, &n))
		m.threads = least(m.threads, ceil_of(n, m.width));
	if (size_is_const(s->program->sizes, s->n, &n))
		m.slots = least(m.slots, ceil_of(n, m.each));
	return m;
}

static Block in_ranges(const Made *m, Block body)
{
	const Scatter *s = m->s;
	Stmt *loop =
		stmt_for(s->arena, m->range, ix_const(s->program, 0),
			 ix_size(s->arena, size_ceil(s->program->sizes, s->rows, m->rows)), body);
	loop->loop = LOOP_GRID;
	loop->threads = 1;
	return block_one(s->arena, loop);
}

static Scatter scatter_of(const Transform *t, Kernel *kernel)
{
	return (Scatter){.program = t->program,
			 .arena = t->program->arena,
			 .gpu = t->options->gpu,
			 .kernel = kernel};
}

bool scatter_pays(const Transform *t, Kernel *kernel)
{
	Scatter s = scatter_of(t, kernel);
	return find(&s);
}

void bind_scatter(const Transform *t, Kernel *kernel, uint32_t routine)
{
	Scatter s = scatter_of(t, kernel);
	REQUIRE(find(&s));
	Made m = made_of(&s);
	m.range = new_iter(&s, "range");
	m.round = new_iter(&s, "round");
	m.found = bind_shared(s.program, kernel, routine, (Buffer){.dtype = DTYPE_I32}, m.slots,
			      "found");
	Body body = {0};
	body_append(s.arena, &body, count_steps(&m));
	PUSH(s.arena, body.stmts, stmt_barrier(s.arena, false));
	body_append(s.arena, &body, add_steps(&m));
	PUSH(s.arena, body.stmts, stmt_barrier(s.arena, false));
	const Ix *rounds = ix_size(s.arena, size_ceil(s.program->sizes, s.n, m.slots * m.each));
	kernel->body =
		in_ranges(&m, block_one(s.arena, stmt_for(s.arena, m.round, ix_const(s.program, 0),
							  rounds, body_block(&body))));
}
