/* Copies whose sides run along different axes, in tiles that are transposed in registers.
 *
 *   for j in 0..V { for i in 0..U: y[i + U*j] = x[j + V*i] }
 * becomes, with tiles of n by n,
 *   for vs in 0..V/n
 *     for us in 0..U/n
 *       unroll row, vector lane: transposed[row, lane] = x at v = vs*n + row, u = us*n + lane
 *       unroll row, vector lane: y at u = us*n + row, v = vs*n + lane  = transposed[lane, row]
 *     what is left of u, for these v
 *   what is left of v
 *
 * v is the loop that moves the store by one element, u the one that moves operands by one which v
 * moves by more: both sides are read and written in whole vectors, and a cache line is used up
 * while it is near. Where the stored lines of a tile would lie in a few sets of the cache, the
 * loops over tiles change places (vs inside us), so that stores run along rows. Other operands and
 * any arithmetic may take part; what is more than a few simple float operations reads the transposed
 * tile from memory in plain loops. Every element is computed once from the same values as before.
 *
 * Copies may stand inside other loops and conditions, as those do that fill panels of an operand (lower/tile/pack.c).
 * A clause says the sides of a tile, but not of panels, which `pack` and `prepack` say.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/transpose.h"

enum { TILE_MOST = 16, TILE_LEAST = 4 };

/* ---- whether ---- */

static bool is_zero(const Transpose *t, const Ix *ix)
{
	return ix->kind == IX_SIZE && size_is(t->program->sizes, ix->size, 0);
}

/* The two loops in the place of the outermost one. */
static bool split_outermost(Transpose *t)
{
	if (t->nloops == 0 || t->nloops == NEST_MAX)
		return false;
	memmove(t->loops + 2, t->loops + 1, (t->nloops - 1) * sizeof *t->loops);
	t->loops[0] = t->split->outer;
	t->loops[1] = t->split->inner;
	t->nloops++;
	return true;
}

static bool find_nest(Transpose *t, const Stmt *stmt)
{
	for (t->nloops = 0; stmt->kind == LOOP_FOR; stmt = stmt->body.stmts[0]) {
		bool whole = stmt->loop == LOOP_SERIAL && stmt->step == 1 && is_zero(t, stmt->lo) &&
			     stmt->hi->kind == IX_SIZE && stmt->body.n > 0;
		if (!whole || t->nloops == NEST_MAX)
			return false;
		t->loops[t->nloops++] = stmt;
		t->body = stmt->body;
		if (stmt->body.n > 1 && stmt->body.stmts[0]->kind == LOOP_FOR)
			return false;
	}
	if ((t->split && !split_outermost(t)) || t->nloops < 2)
		return false;
	for (uint32_t i = 0; i + 1 < t->body.n; i++)
		if (t->body.stmts[i]->kind != LOOP_LOCAL)
			return false;
	t->store = t->body.stmts[t->body.n - 1];
	return t->store->kind == LOOP_STORE && t->store->acc == OP_NONE &&
	       block_touches_only_at(&t->body, t->store->buffer, t->store->ix);
}

typedef enum Step { STEP_NONE, STEP_ONE, STEP_FAR, STEP_UNKNOWN } Step;

static Step step_of(const Transpose *t, const Ix *ix, const Stmt *loop)
{
	Rewrite rewrite = {.program = t->program, .iters = t->split ? t->split->iters : NULL};
	const Ix *now = t->split ? rewrite_ix(&rewrite, ix) : ix;
	Size size = ix_stride(t->program, now, loop->iter);
	if (size_is_bad(size))
		return STEP_UNKNOWN;
	if (size_is(t->program->sizes, size, 0))
		return STEP_NONE;
	return size_is(t->program->sizes, size, 1) ? STEP_ONE : STEP_FAR;
}

/* The extent, or `guess` where it is symbolic. */
static int64_t extent_of(const Transpose *t, const Stmt *loop, int64_t guess)
{
	int64_t extent;
	return size_is_const(t->program->sizes, loop->hi->size, &extent) ? extent : guess;
}

static bool is_small(const Transpose *t)
{
	int64_t elements = 1;
	for (uint32_t i = 0; i < t->nloops && elements < transpose_target(t)->transpose_elements;
	     i++)
		elements *= extent_of(t, t->loops[i], transpose_target(t)->transpose_elements);
	return elements < transpose_target(t)->transpose_elements;
}

static bool find_v(Transpose *t)
{
	for (uint32_t i = 0; i < t->nloops; i++) {
		Step step = step_of(t, t->store->ix, t->loops[i]);
		if (step == STEP_NONE || step == STEP_UNKNOWN)
			return false;
		if (step == STEP_ONE && extent_of(t, t->loops[i], TILE_MOST) >= TILE_LEAST)
			t->v = t->loops[i];
	}
	return t->v != NULL;
}

static bool is_known(const Transpose *t, const Value *value)
{
	for (uint32_t i = 0; i < t->nloads; i++)
		if (value_same(t->loads[i].load, value))
			return true;
	return false;
}

/* Adds the loads that u moves by one and v by more. */
static void find_loads(Transpose *t, const Value *value)
{
	const Value *load = transposed_load(value);
	if (load && step_of(t, load->ix, t->u) == STEP_ONE &&
	    step_of(t, load->ix, t->v) == STEP_FAR && load->buffer != t->store->buffer &&
	    block_has_one_index(&t->body, load->buffer)) {
		if (t->nloads < LOADS_MAX && !is_known(t, value))
			t->loads[t->nloads++].load = value;
		return;
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		find_loads(t, value->args[i]);
}

/* The loop that serves most loads. */
static bool find_u(Transpose *t)
{
	const Stmt *best = NULL;
	uint32_t most = 0;
	for (uint32_t i = 0; i <= t->nloops; i++) {
		t->u = i < t->nloops ? t->loops[i] : best;
		if (!t->u || t->u == t->v || extent_of(t, t->u, TILE_MOST) < TILE_LEAST)
			continue;
		t->nloads = 0;
		for (uint32_t s = 0; s < t->body.n; s++)
			find_loads(t, t->body.stmts[s]->value);
		if (t->nloads > most) {
			most = t->nloads;
			best = t->u;
		}
	}
	return most > 0;
}

/* Nodes of a value that lanes compute at once; more than transpose_nodes: they cannot. */
static uint32_t count_nodes(const Transpose *t, const Value *value)
{
	bool arithmetic =
		value->kind == VALUE_OP && dtype_is_float(value->dtype) && op_is_simple(value->op);
	bool plain = value->kind == VALUE_LOAD && (step_of(t, value->ix, t->v) <= STEP_ONE);
	if (is_known(t, value))
		return 1;
	uint32_t n = arithmetic || plain || value->kind == VALUE_CONST
			     ? 1
			     : transpose_target(t)->transpose_nodes + 1;
	for (uint32_t i = 0; i < value->nargs && n <= transpose_target(t)->transpose_nodes; i++)
		n += count_nodes(t, value->args[i]);
	return n;
}

static Sym loop_name(const Transpose *t, const Stmt *loop)
{
	return t->kernel->iters[loop->iter].name;
}

/* Do no two steps of the loops store the same element, so that any order of them is right? */
static bool stores_once(const Transpose *t, const Stmt *root)
{
	bool once = true;
	for (uint32_t i = 0; i < t->nloops && once && !t->split; i++)
		once = loop_is_of_threads(t->program, t->kernel, root, t->loops[i]);
	return once;
}

/* The sides that squares can have. */
static void find_sides(Transpose *t)
{
	t->least = TILE_LEAST;
	t->most = TILE_MOST;
	for (uint32_t i = 0; i < t->nloads; i++) {
		/* the lanes of a vector: types of storage have as many as the types they widen
		 * to; a row of TILE_MOST bytes or more, since shuffles move as many */
		Dtype dtype = t->loads[i].load->dtype;
		int64_t fits = transpose_target(t)->vector_bytes / dtype_bytes(dtype_wide(dtype));
		int64_t fills = TILE_MOST / (int64_t)dtype_bytes(dtype);
		t->most = fits < t->most ? fits : t->most;
		t->least = fills > t->least ? fills : t->least;
	}
	t->least = t->least < t->most ? t->least : t->most;
}

/* Why the statement is no copy that is transposed; NULL: it is one. */
static const char *why_not(Transpose *t, const Stmt *stmt)
{
	if (!find_nest(t, stmt))
		return "it has no loops of which all that they do is one store";
	if (!find_v(t))
		return "no loop moves what is stored by one element";
	if (!find_u(t))
		return "no loop moves an operand by one element that moves what is stored by more";
	find_sides(t);
	t->named = !t->program->buffers.at[t->store->buffer].panels;
	if (extent_of(t, t->u, TILE_MOST) < t->least || extent_of(t, t->v, TILE_MOST) < t->least)
		return "a loop has fewer steps than a square";
	if (!stores_once(t, stmt))
		return "steps of its loops may store the same element";
	if (t->named && asks_off(t->asked))
		return "it is off";
	return t->named && !t->replays && is_small(t) ? "it has few elements" : NULL;
}

static bool is_transposed(Transpose *t, const Stmt *stmt) { return why_not(t, stmt) == NULL; }

/* The cost of an extent in tiles of n, in tenths of an element: small tiles move fewer bytes at once,
 * and what is left goes element by element. */
static int64_t cost_of(const Transpose *t, const Stmt *loop, int64_t n)
{
	int64_t extent = extent_of(t, loop, TILE_MOST), whole = extent / n * n;
	return whole * (transpose_target(t)->transpose_cost + 2 * (TILE_MOST / n - 1)) +
	       (extent - whole) * transpose_target(t)->transpose_cost_element;
}

/* The side of the largest square that fits. */
static int64_t largest_side(const Transpose *t)
{
	int64_t n = t->most;
	while (n > t->least && (extent_of(t, t->u, n) < n || extent_of(t, t->v, n) < n))
		n /= 2;
	return n;
}

/* The side of the square of least cost for both extents together. */
static int64_t cheapest_side(const Transpose *t)
{
	int64_t best = t->most;
	for (int64_t n = t->most / 2; n >= t->least; n /= 2) {
		int64_t u = extent_of(t, t->u, TILE_MOST), v = extent_of(t, t->v, TILE_MOST);
		int64_t now = cost_of(t, t->u, best) * v + cost_of(t, t->v, best) * u;
		if (cost_of(t, t->u, n) * v + cost_of(t, t->v, n) * u < now)
			best = n;
	}
	return best;
}

/* The items of a clause that are about the copy: those with both its loops, or else all. */
static ScheduleClause items_of(const Transpose *t, const ScheduleClause *clause)
{
	Sym u = loop_name(t, t->u), v = loop_name(t, t->v);
	ScheduleClause own = *clause;
	for (size_t i = 0; i + 1 < clause->items.n; i += 2) {
		Sym first = clause->items.at[i].name, second = clause->items.at[i + 1].name;
		if (!(first == u && second == v) && !(first == v && second == u))
			continue;
		own.items.at = clause->items.at + i;
		own.items.n = 2;
		break;
	}
	return own;
}

/* What is asked of the loop's side, where it fits; else n. */
static int64_t side_of(const Transpose *t, const ScheduleClause *clause, const Stmt *loop,
		       int64_t n)
{
	int64_t extent = extent_of(t, loop, t->most);
	int64_t asked = asks_number(clause, loop_name(t, loop));
	if (asked && asked <= t->most && asked <= extent)
		return asked;
	return extent < n ? extent : n;
}

/* Do the lines that a tile stores meet in an eighth of the first cache's sets, or in fewer? A store
 * waits for its line alone, where several loads wait at once. */
static bool stores_collide(const Transpose *t)
{
	int64_t stride, part = transpose_target(t)->l1_way_bytes / 8;
	int bytes = dtype_bytes(t->program->buffers.at[t->store->buffer].dtype);
	return size_is_const(t->program->sizes, ix_stride(t->program, t->store->ix, t->u->iter),
			     &stride) &&
	       stride * bytes % part == 0;
}

/* The loop that is named first runs inside. */
static bool runs_along(const Transpose *t, const ScheduleClause *clause)
{
	Sym u = loop_name(t, t->u), v = loop_name(t, t->v);
	for (size_t i = 0; u != v && i < clause->items.n; i++)
		if (clause->items.at[i].name == u || clause->items.at[i].name == v)
			return clause->items.at[i].name == v;
	return stores_collide(t);
}

static void choose_tile(Transpose *t, const ScheduleClause *asked)
{
	ScheduleClause clause = items_of(t, asked ? asked : &(ScheduleClause){0});
	/* of panels, which no clause says, whatever costs are */
	int64_t n = t->named ? cheapest_side(t) : largest_side(t);
	t->nu = side_of(t, &clause, t->u, n);
	t->nv = side_of(t, &clause, t->v, n);
	t->along = t->named && runs_along(t, &clause);
	t->direct = t->body.n == 1 &&
		    count_nodes(t, t->store->value) <= transpose_target(t)->transpose_nodes;
}

static IterVar add_iter(Transpose *t, const char *name)
{
	return kernel_add_iter(t->program, t->kernel, name);
}

static LocalId add_tile(Transpose *t, const char *name, Dtype dtype, int64_t rows, int64_t lanes)
{
	KernelLocal tile = {.name = name,
			    .dtype = dtype,
			    .rank = 2,
			    .extent = {(uint32_t)rows, (uint32_t)lanes}};
	return kernel_add_local(t->program, t->kernel, tile);
}

static void add_names(Transpose *t)
{
	t->us = add_iter(t, "us");
	t->vs = add_iter(t, "vs");
	t->row = add_iter(t, "row");
	t->lane = add_iter(t, "lane");
	for (uint32_t i = 0; i < t->nloads; i++) {
		TransposedLoad *load = &t->loads[i];
		load->tile = add_tile(t, "transposed", load->load->dtype, t->nv, t->nu);
		if (!t->direct)
			load->wide = add_tile(t, "wide", load->load->dtype, t->nu, t->nv);
	}
}

/* Does the clause name both loops, and would it have the copy transposed so? */
static bool says_all(const Transpose *t, const ScheduleClause *clause)
{
	Transpose again = *t;
	ScheduleClause own = items_of(t, clause);
	Sym u = loop_name(t, t->u), v = loop_name(t, t->v);
	choose_tile(&again, clause);
	return clause_item(&own, u) && clause_item(&own, v) && again.nu == t->nu &&
	       again.nv == t->nv && again.along == t->along;
}

static void describe(const Transpose *t)
{
	ScheduleEntry *entry = schedule_entry(t->program->made, t->kernel->name);
	ScheduleClause *made = entry_clause(entry, CHOICE_TRANSPOSE_TILE);
	if (made && says_all(t, made))
		return;
	if (!made)
		made = entry_make(t->arena, entry, CHOICE_TRANSPOSE_TILE, false);
	for (int i = 0; i < 2; i++) {
		bool u = t->along == (i == 1);
		clause_add(t->arena, made, loop_name(t, u ? t->u : t->v), u ? &t->nu : &t->nv, 1);
	}
}

static Block transpose_stmt(Transpose *t)
{
	choose_tile(t, t->named ? t->asked : NULL);
	add_names(t);
	if (t->named)
		describe(t);
	return transpose_emit(t);
}

static Transpose transpose_of(const Transform *t, const Kernel *kernel)
{
	ScheduleClause *asked = kernel_asked(t, kernel, CHOICE_TRANSPOSE_TILE);
	return (Transpose){.program = t->program,
			   .arena = t->program->arena,
			   .kernel = (Kernel *)kernel,
			   .asked = asked,
			   .replays = schedule_is_complete(t->asked)};
}

bool kernel_transposes(const Transform *transform, const Kernel *kernel, const LoopSplit *split)
{
	bool transposes = false;
	for (uint32_t i = 0; i < kernel->body.n && !transposes; i++) {
		Transpose t = transpose_of(transform, kernel);
		t.split = split;
		transposes = is_transposed(&t, kernel->body.stmts[i]);
	}
	return transposes;
}

/* The copies of a block, and of what is inside its other statements. */
static Block transpose_block(const Transpose *of, Block block)
{
	Body body = {0};
	bool changed = false;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		Transpose t = *of;
		Block one = {&stmt, 1};
		if (is_transposed(&t, stmt)) {
			one = transpose_stmt(&t);
		} else {
			Block inner = transpose_block(of, stmt->body);
			one = inner.stmts != stmt->body.stmts
				      ? block_one(of->arena, stmt_with(of->arena, stmt, inner))
				      : transpose_lines(of, stmt);
		}
		changed |= one.n != 1 || one.stmts[0] != stmt;
		body_append(of->arena, &body, one);
	}
	return changed ? body_block(&body) : block;
}

void kernel_transpose(const Transform *transform, Kernel *kernel)
{
	Program *program = transform->program;
	Transpose t = transpose_of(transform, kernel);
	if (says_off(t.asked))
		entry_make(program->arena, schedule_entry(program->made, kernel->name),
			   CHOICE_TRANSPOSE_TILE, true);
	Block before = kernel->body;
	kernel->body = transpose_block(&t, before);
	if (asks_on(t.asked) && kernel->body.stmts == before.stmts && before.n > 0)
		t.asked->refused = why_not(&t, before.stmts[before.n - 1]);
}

void transform_transpose(Transform *t)
{
	Program *program = t->program;
	for (size_t r = 0; r <= program->routines.n; r++) {
		const ProgramRoutine *routine =
			r < program->routines.n ? &program->routines.at[r] : &program->pack;
		for (uint32_t i = 0; i < routine->nkernels; i++) {
			Kernel *kernel = &program->kernels.at[routine->kernels[i]];
			const Stmt *const *before = kernel->body.stmts;
			kernel_transpose(t, kernel);
			t->changed |= kernel->body.stmts != before;
		}
	}
}
