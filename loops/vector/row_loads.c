/* Columns of short rows that a loop of lanes loads: the rows are loaded as whole vectors, of which each column is
 * taken (here 16 lanes).
 *
 *   vector lane in 0..16                       vector lane1 in 0..48: rows[lane1] = x[i*3 + lane1]
 *     acc[lane] += x[(i + lane)*3]         ->  vector lane in 0..16
 *     acc[lane + 16] += x[(i + lane)*3 + 2]      acc[lane] += rows[lane*3]
 *                                                acc[lane + 16] += rows[lane*3 + 2]
 *
 * Sums of products of neighbours stay, which are instructions of their own (loops/matrix.h). Legal where nothing is
 * stored that the rows hold; the first and the last column are loaded, so all that is loaded stands between elements
 * that the lanes load.
 */
#include "base/diag.h"
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/matrix.h"
#include "loops/rewrite.h"
#include "loops/vector/row_lanes.h"
#include "loops/walk.h"

enum { ROW_ELEMENTS_MOST = 128 }; /* of rows that are loaded together */

typedef struct RowLoads {
	RowLanes rows;
	const char *refused;
	VEC(ValueTwin) loads;
	Body before;
} RowLoads;

/* ---- legal? ---- */

/* The load of a column, and its stride; false: it is none. */
static bool is_column(const RowLanes *r, const Value *value, int64_t *stride)
{
	const Value *load = row_lanes_load(value);
	if (!load || value->dtype != DTYPE_F32 || dtype_is_packed(load->dtype) || load->ix->reads)
		return false;
	*stride = row_lanes_stride(r, load->ix);
	return *stride > 1 && *stride <= COLUMNS_MOST;
}

static void find_columns(RowLoads *f, const Value *value)
{
	int64_t stride;
	if (is_column(&f->rows, value, &stride)) {
		const Value *load = row_lanes_load(value);
		if (!row_lanes_note(&f->rows, load->buffer, load->ix, stride, DTYPE_F32, false))
			f->refused = "a row is loaded in several ways";
		return;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		find_columns(f, value->args[i]);
}

static void find_in_stmt(RowLoads *f, const Stmt *stmt)
{
	LaneProducts products;
	if (stmt->value && lane_products(f->rows.t->program, stmt, f->rows.loop->iter, &products))
		f->refused = "products of neighbours are added up by instructions";
	else if (stmt->value)
		find_columns(f, stmt->value);
}

/* Are the rows whole, few, and loaded alone? */
static bool is_taken(const RowLoads *f, const Columns *c)
{
	const Stmt *loop = f->rows.loop;
	const Vectoring *t = f->rows.t;
	bool stored = false;
	for (uint32_t i = 0; i < loop->body.n; i++)
		stored |= loop->body.stmts[i]->kind == LOOP_STORE &&
			  loop->body.stmts[i]->buffer == c->buffer;
	return !stored && row_lanes_ends(c) &&
	       constant_trips(t->program, loop) * c->stride <= ROW_ELEMENTS_MOST;
}

static const char *find(RowLoads *f)
{
	const Stmt *loop = f->rows.loop;
	const Vectoring *t = f->rows.t;
	bool any = false;
	if (t->target->row_lanes == 0)
		return "the target does not permute lanes";
	if (loop->loop != LOOP_VECTOR || loop->lanes > 0 || loop->step != 1)
		return "the loop is no plain one of lanes";
	int64_t trips = constant_trips(t->program, loop);
	if (trips < 1 || trips % t->target->row_lanes != 0)
		return "lanes are no whole vectors";
	for (uint32_t i = 0; i < loop->body.n; i++)
		find_in_stmt(f, loop->body.stmts[i]);
	for (uint32_t i = 0; i < f->rows.n; i++)
		any |= is_taken(f, &f->rows.groups[i]);
	return f->refused ? f->refused : any ? NULL : "no row is loaded as a whole";
}

const char *row_loads_refused(const Vectoring *t, const Stmt *loop)
{
	RowLoads f = {.rows = {.t = t, .loop = loop}};
	return find(&f);
}

/* ---- the change ---- */

static const Value *element(const RowLoads *f, const Columns *c, const Ix *at)
{
	Arena *arena = f->rows.t->program->arena;
	const Ix **ixs = ARENA_ARRAY(arena, const Ix *, 1);
	ixs[0] = at;
	return value_local(arena, f->rows.t->kernel, (LocalId)c->local, ixs, 1);
}

/* rows[lane] = x[first + lane] */
static void load_rows(RowLoads *f, Columns *c)
{
	const Vectoring *t = f->rows.t;
	Program *program = t->program;
	Arena *arena = program->arena;
	int64_t n = constant_trips(program, f->rows.loop) * c->stride;
	c->local = kernel_add_local(program, t->kernel,
				    (KernelLocal){.name = sym_cstr(program->symbols, "rows"),
						  .dtype = DTYPE_F32,
						  .rank = 1,
						  .extent = {(uint32_t)n}});
	IterVar lane = kernel_add_iter(program, t->kernel, "lane");
	const Ix *at = ix_iter(arena, lane),
		 *first = ix_without(program, c->first, f->rows.loop->iter);
	const Value *row = value_load(program, c->buffer, ix_add(program, first, at));
	row = value_cast(arena, DTYPE_F32, row);
	const Stmt *set = stmt_set_at(arena, element(f, c, at), OP_NONE, row);
	Stmt *loop = stmt_loop(program, LOOP_VECTOR, lane, n, block_one(arena, set));
	loop->span = f->rows.loop->span;
	PUSH(arena, f->before.stmts,
	     stmt_local(arena, (LocalId)c->local, value_number(arena, DTYPE_F32, 0)));
	PUSH(arena, f->before.stmts, loop);
}

static void take_loads(RowLoads *f, const Value *value)
{
	Program *program = f->rows.t->program;
	int64_t stride, at = 0;
	if (!is_column(&f->rows, value, &stride)) {
		for (uint32_t i = 0; i < value->nargs; i++)
			take_loads(f, value->args[i]);
		return;
	}
	const Value *load = row_lanes_load(value);
	Columns *c = row_lanes_columns(&f->rows, load->buffer, load->ix, stride, &at);
	if (!is_taken(f, c))
		return;
	if (c->local == NO_LOCAL)
		load_rows(f, c);
	const Ix *lane = ix_iter(program->arena, f->rows.loop->iter);
	const Value *column = element(f, c, ix_plus(program, ix_times(program, lane, stride), at));
	PUSH(program->arena, f->loads, ((ValueTwin){value, column}));
}

void row_loads(Vectoring *t, const Stmt *loop, Body *to)
{
	Program *program = t->program;
	RowLoads f = {.rows = {.t = t, .loop = loop}};
	REQUIRE(!find(&f));
	for (uint32_t i = 0; i < f.rows.n; i++)
		f.rows.groups[i].local = NO_LOCAL;
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (loop->body.stmts[i]->value)
			take_loads(&f, loop->body.stmts[i]->value);
	Rewrite rewrite = {.program = program,
			   .iters = kernel_iters(program->arena, t->kernel, 0),
			   .renames = true,
			   .values = f.loads.at,
			   .nvalues = (uint32_t)f.loads.n};
	body_append(program->arena, to, body_block(&f.before));
	PUSH(program->arena, to->stmts,
	     stmt_with(program->arena, loop, rewrite_block(&rewrite, loop->body)));
}
