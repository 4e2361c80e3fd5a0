/* Copies across memory through squares of shared memory.
 *
 *   grid i in 0..m of 8              grid i_square in 0..ceil(m/32)
 *     grid j in 0..n of 32             grid j_square in 0..ceil(n/32)
 *       y[i*n + j] = x[j*m + i]   ->     block thread in 0..8
 *                                          block lane in 0..32
 *                                            unroll part in 0..4
 *                                              if 32*j_square + 8*part + thread < n
 *                                                if 32*i_square + lane < m
 *                                                  square[33*(8*part + thread) + lane] = x[(32*j_square + 8*part + thread)*m + 32*i_square + lane]
 *                                        barrier
 *                                        block thread1 in 0..8
 *                                          block lane1 in 0..32
 *                                            unroll part1 in 0..4
 *                                              if 32*i_square + 8*part1 + thread1 < m
 *                                                if 32*j_square + lane1 < n
 *                                                  y[(32*i_square + 8*part1 + thread1)*n + 32*j_square + lane1] = square[33*lane1 + 8*part1 + thread1]
 *
 * So the threads of a warp read neighbours, and store neighbours; rows of a square lie 33 elements apart, in another
 * bank each. Chosen for elementwise kernels whose result lies along the innermost loop and of which an operand moves by
 * one element along another loop, and by more along that one. Any other operands are read where the result is stored.
 */
#include "base/diag.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/bind.h"

enum { PARTS = 4, SQUARES_MOST = 4 };

/* An operand that is read across, and where it is kept. */
typedef struct Across {
	const Value *load;
	BufferId square;
} Across;

typedef struct Square {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	uint32_t routine;
	int64_t side;
	const Stmt *loops[GRID_LOOPS]; /* of the grid, outermost first */
	uint32_t n, row;	       /* row: the loop that operands lie along */
	Across across[SQUARES_MOST];
	uint32_t nacross;
	bool wrong;
	IterVar row_square, column_square; /* of the grid */
} Square;

/* ---- decided ---- */

static const Stmt *row_loop(const Square *q) { return q->loops[q->row]; }
static const Stmt *column_loop(const Square *q) { return q->loops[q->n - 1]; }

static bool moves_by(const Square *q, const Ix *ix, const Stmt *loop, int64_t by)
{
	return ix_moves_by(q->program, ix, loop->iter, by);
}

/* The loop other than the innermost that moves the index by one; q->n: there is none. */
static uint32_t lies_along(const Square *q, const Ix *ix)
{
	uint32_t i = 0;
	while (i + 1 < q->n && !moves_by(q, ix, q->loops[i], 1))
		i++;
	return i + 1 < q->n ? i : q->n;
}

static void see_load(void *of, const Value *value)
{
	Square *q = of;
	if (value->kind != VALUE_LOAD || moves_by(q, value->ix, column_loop(q), 0) ||
	    moves_by(q, value->ix, column_loop(q), 1))
		return;
	for (uint32_t i = 0; i < q->nacross; i++)
		if (value_same(q->across[i].load, value))
			return;
	uint32_t row = lies_along(q, value->ix);
	q->wrong |= row == q->n || (q->nacross && row != q->row) || q->nacross == SQUARES_MOST ||
		    size_is_bad(ix_stride(q->program, value->ix, column_loop(q)->iter)) ||
		    dtype_is_packed(q->program->buffers.at[value->buffer].dtype);
	if (q->wrong)
		return;
	q->row = row;
	q->across[q->nacross++].load = value;
}

static bool is_long(const Square *q, const Stmt *loop)
{
	int64_t n;
	return !size_is_const(q->program->sizes, loop->hi->size, &n) || n >= q->side / 2;
}

static bool pays(Square *q)
{
	Block body = grid_body(q->kernel);
	q->n = grid_loops(q->kernel, q->loops);
	if (q->n < 2 || !is_elementwise(q->kernel, &body))
		return false;
	for (uint32_t i = 0; i < body.n && !q->wrong; i++) {
		const Stmt *stmt = body.stmts[i];
		q->wrong |= stmt->kind == LOOP_STORE && !moves_by(q, stmt->ix, column_loop(q), 1);
		value_each(stmt->value, see_load, q);
	}
	return !q->wrong && q->nacross > 0 && is_long(q, row_loop(q)) && is_long(q, column_loop(q));
}

/* ---- made ---- */

typedef struct SquareIters {
	IterVar thread, lane, part;
} SquareIters;

/* From one row of a square to the next. */
static int64_t pitch(const Square *q) { return q->side + 1; }

static const Ix *iter(const Square *q, IterVar i) { return ix_iter(q->arena, i); }

static SquareIters new_iters(const Square *q)
{
	return (SquareIters){bind_iter(q->program, q->kernel, "thread"),
			     bind_iter(q->program, q->kernel, "lane"),
			     bind_iter(q->program, q->kernel, "part")};
}

/* In the square, along the side that a thread goes through in parts. */
static const Ix *across_at(const Square *q, const SquareIters *i)
{
	return ix_times_plus(q->program, iter(q, i->part), q->side / PARTS, iter(q, i->thread));
}

/* With these places of the row and column loops. */
static Rewrite rewrite_at(const Square *q, const Ix *row, const Ix *column)
{
	const Ix **iters = kernel_iters(q->arena, q->kernel, 0);
	iters[row_loop(q)->iter] = row;
	iters[column_loop(q)->iter] = column;
	return (Rewrite){.program = q->program, .iters = iters, .span = q->kernel->span};
}

static Block if_below(const Square *q, const Ix *at, const Stmt *loop, Block body)
{
	Cond inside = {COND_LT, at, loop->hi};
	return block_one(q->arena, stmt_if_one(q->arena, inside, body));
}

static const Stmt *in_threads(const Square *q, const SquareIters *i, Block body)
{
	const Stmt *loop = stmt_loop(q->program, LOOP_UNROLL, i->part, PARTS, body);
	loop = stmt_loop(q->program, LOOP_BLOCK, i->lane, q->side, block_one(q->arena, loop));
	return stmt_loop(q->program, LOOP_BLOCK, i->thread, q->side / PARTS,
			 block_one(q->arena, loop));
}

/* Threads of a warp go along the row loop, as the operands lie. */
static const Stmt *read_squares(const Square *q)
{
	SquareIters i = new_iters(q);
	const Ix *column =
		ix_times_plus(q->program, iter(q, q->column_square), q->side, across_at(q, &i));
	const Ix *row = ix_times_plus(q->program, iter(q, q->row_square), q->side, iter(q, i.lane));
	Rewrite rewrite = rewrite_at(q, row, column);
	Body body = {0};
	for (uint32_t k = 0; k < q->nacross; k++)
		PUSH(q->arena, body.stmts,
		     stmt_store(
			     q->arena, q->across[k].square,
			     ix_times_plus(q->program, across_at(q, &i), pitch(q), iter(q, i.lane)),
			     OP_NONE, rewrite_alone(&rewrite, q->across[k].load)));
	Block inside = if_below(q, row, row_loop(q), body_block(&body));
	return in_threads(q, &i, if_below(q, column, column_loop(q), inside));
}

/* They go along the column loop, as the result lies. */
static const Stmt *store_elements(const Square *q)
{
	SquareIters i = new_iters(q);
	const Ix *row =
		ix_times_plus(q->program, iter(q, q->row_square), q->side, across_at(q, &i));
	const Ix *column =
		ix_times_plus(q->program, iter(q, q->column_square), q->side, iter(q, i.lane));
	Rewrite rewrite = rewrite_at(q, row, column);
	ValueTwin *twins = ARENA_ARRAY(q->arena, ValueTwin, q->nacross + 1);
	for (uint32_t k = 0; k < q->nacross; k++)
		twins[k] = (ValueTwin){q->across[k].load,
				       value_load(q->program, q->across[k].square,
						  ix_times_plus(q->program, iter(q, i.lane),
								pitch(q), across_at(q, &i)))};
	rewrite.values = twins;
	rewrite.nvalues = q->nacross;
	Block inside = rewrite_block(&rewrite, grid_body(q->kernel));
	inside = if_below(q, column, column_loop(q), inside);
	return in_threads(q, &i, if_below(q, row, row_loop(q), inside));
}

static Block in_grid(const Square *q, Block body)
{
	for (uint32_t i = q->n; i-- > 0;) {
		bool row = i == q->row, column = i + 1 == q->n;
		Stmt *loop = stmt_with(q->arena, q->loops[i], body);
		loop->threads = 1;
		if (row || column) {
			loop->iter = row ? q->row_square : q->column_square;
			loop->hi = ix_size(q->arena,
					   size_ceil(q->program->sizes, loop->hi->size, q->side));
		}
		body = block_one(q->arena, loop);
	}
	return body;
}

static void make(Square *q)
{
	Body body = {0};
	for (uint32_t k = 0; k < q->nacross; k++) {
		Buffer square = {.dtype = q->program->buffers.at[q->across[k].load->buffer].dtype};
		q->across[k].square = bind_shared(q->program, q->kernel, q->routine, square,
						  q->side * pitch(q), "square");
	}
	q->row_square = bind_iter(q->program, q->kernel, "square");
	q->column_square = bind_iter(q->program, q->kernel, "square");
	PUSH(q->arena, body.stmts, read_squares(q));
	PUSH(q->arena, body.stmts, stmt_barrier(q->arena, false));
	PUSH(q->arena, body.stmts, store_elements(q));
	q->kernel->body = in_grid(q, body_block(&body));
}

static Square square_of(const Transform *t, Kernel *kernel)
{
	return (Square){.program = t->program,
			.arena = t->program->arena,
			.kernel = kernel,
			.side = t->options->gpu->warp};
}

static Sym name_of(const Square *q, const Stmt *loop) { return q->kernel->iters[loop->iter].name; }

/* May it be, by what is asked of the kernel: the loop that is stored along, then that of the rows? */
static bool is_asked(const Square *q, const ScheduleClause *asked)
{
	return asks_name(asked, 0, name_of(q, column_loop(q))) &&
	       asks_numbers(asked, 0, &q->side, 1) &&
	       asks_name(asked, 1, name_of(q, row_loop(q))) && asks_numbers(asked, 1, &q->side, 1);
}

bool squares_pay(const Transform *t, Kernel *kernel)
{
	Square q = square_of(t, kernel);
	ScheduleClause *asked = kernel_asked(t, kernel, CHOICE_TRANSPOSE_TILE);
	bool copies = pays(&q), made = copies && !asks_off(asked) && is_asked(&q, asked);
	if (!made && asks_on(asked))
		asked->refused =
			copies ? arena_printf(q.arena, "a GPU copies squares of %lld by %lld",
					      (long long)q.side, (long long)q.side)
			       : "nothing is read across memory in it, along another loop "
				 "than is stored";
	return made;
}

static void note(const Square *q)
{
	ScheduleEntry *entry = schedule_entry(q->program->made, q->kernel->name);
	Sym names[] = {name_of(q, column_loop(q)), name_of(q, row_loop(q))};
	ScheduleClause *made = entry_make(q->arena, entry, CHOICE_TRANSPOSE_TILE, false);
	for (int i = 0; i < 2; i++) {
		PUSH(q->arena, entry->loops, names[i]);
		clause_add(q->arena, made, names[i], &q->side, 1);
	}
}

void bind_squares(const Transform *t, Kernel *kernel, uint32_t routine)
{
	Square q = square_of(t, kernel);
	REQUIRE(pays(&q));
	note(&q);
	q.routine = routine;
	make(&q);
}
