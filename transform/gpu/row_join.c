/* Kernels over the same rows as one: a block goes through a row again and again, and only the first time through memory.
 *
 *   grid i in 0..n: m[i] = max of x[i, ...]            grid i in 0..n of 1
 *   grid i in 0..n                                       local m = max of x[i, ...]
 *     grid j in 0..c                               ->    local s = sum of exp(x[i, ...] - m)
 *       e[i*c + j] = exp(x[i*c + j] - m[i])              for j in 0..c
 *   grid i in 0..n: s[i] = sum of e[i, ...]                y[i*c + j] = exp(x[i*c + j] - m)/s
 *   grid i in 0..n
 *     grid j in 0..c
 *       y[i*c + j] = e[i*c + j]/s[i]
 *
 * Two kernels are joined whose first loops of the grid have the same extents, with the other loops
 * of each in the thread, where they share what one of them stores, no two rows meet, and threads of
 * a block can share out what is left (rows.c). An elementwise row that no other kernel touches is
 * not stored: what reads an element of it computes it again, of no more values than a kernel has statements, from what lies in the first cache by
 * then. So long as rows are fewer than processors they are joined only where they are short. Where one of two kernels
 * has no loop of the grid, both are one row, if the program says that it is short: the norms of a single vector.
 */
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/join.h"

enum { NEST_LOOPS = 8 };

/* ---- joined ---- */

static uint32_t grid_rank(const Kernel *kernel)
{
	uint32_t n = 0;
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		n++;
	return n;
}

/* The loops of the grid behind the first n ones as the thread's own. */
static Block rows_block(Arena *arena, const Block *body, uint32_t n)
{
	const Stmt *s = grid_loop(body);
	if (!s)
		return *body;
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = *s;
	loop->loop = n ? LOOP_GRID : LOOP_SERIAL;
	loop->threads = n ? 1 : 0;
	loop->body = rows_block(arena, &s->body, n ? n - 1 : 0);
	return block_one(arena, loop);
}

/* Of the extents of loops inside each other; one that is not known counts as the GPU's row says. */
static int64_t iterations(const Joins *j, const Stmt *loop, bool grid)
{
	int64_t all = 1, unknown = j->t->options->gpu->unknown;
	for (; loop && loop->kind == LOOP_FOR && (loop->loop == LOOP_GRID) == grid;
	     loop = loop->body.n == 1 ? loop->body.stmts[0] : NULL) {
		int64_t n = loop->hi->kind == IX_SIZE
				    ? size_at_dims(j->program, loop->hi->size, unknown)
				    : unknown;
		if (__builtin_mul_overflow(all, n, &all))
			return INT64_MAX;
	}
	return all;
}

/* Are there blocks for all processors, or is there little to do in each? */
static bool enough_rows(const Joins *j, const Kernel *kernel)
{
	const GpuTarget *gpu = j->t->options->gpu;
	Block body = grid_body(kernel);
	bool enough = iterations(j, grid_loop(&kernel->body), true) >= gpu->processors;
	for (uint32_t i = 0; i < body.n && !enough; i++)
		if (iterations(j, body.stmts[i], false) > gpu->row_short)
			return false;
	return true;
}

static bool rows_are_independent(const Joins *j, const Kernel *kernel)
{
	const Stmt *root = grid_loop(&kernel->body);
	bool independent = true;
	for (const Stmt *s = root; s && independent; s = grid_loop(&s->body))
		independent = size_is(j->program->sizes, s->hi->size, 1) ||
			      gpu_independent(j->program, kernel, root, s);
	return independent;
}

/* ---- one element, one thread ---- */

/* Loops inside each other, and what is in the innermost. */
typedef struct Nest {
	const Stmt *loops[NEST_LOOPS];
	uint32_t n;
	Block body;
} Nest;

static Nest nest_of(const Stmt *stmt)
{
	Nest nest = {.body = {0}};
	for (; stmt->kind == LOOP_FOR && nest.n < NEST_LOOPS; stmt = stmt->body.stmts[0]) {
		nest.loops[nest.n++] = stmt;
		nest.body = stmt->body;
		if (stmt->body.n != 1)
			break;
	}
	return nest;
}

static bool loops_are_same(const Nest *a, const Nest *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; same && i < a->n; i++)
		same = ix_same(a->loops[i]->lo, b->loops[i]->lo) &&
		       ix_same(a->loops[i]->hi, b->loops[i]->hi) &&
		       a->loops[i]->step == b->loops[i]->step;
	return same;
}

/* A value of one nest in the terms of another. */
typedef struct Carry {
	const Joins *j;
	const Kernel *kernel;
	const Nest *from, *to;
} Carry;

static const Value *carried(const Carry *c, const Value *value)
{
	const Ix **iters = kernel_iters(c->j->program->arena, c->kernel, 0);
	for (uint32_t i = 0; i < c->from->n; i++)
		iters[c->from->loops[i]->iter] =
			ix_iter(c->j->program->arena, c->to->loops[i]->iter);
	Rewrite rewrite = {.program = c->j->program, .iters = iters};
	return rewrite_alone(&rewrite, value);
}

/* The first access to a buffer that the kernel stores, and whether all others are at the same place of the same
 * loops. */
typedef struct Places {
	const Joins *j;
	const Kernel *kernel;
	BufferId buffer;
	Nest nest, first_nest;
	const Value *first;
	bool differ;
} Places;

static void see_place(void *of, const Value *value)
{
	Places *p = of;
	if (value->kind != VALUE_LOAD || value->buffer != p->buffer)
		return;
	if (!p->first) {
		p->first = value;
		p->first_nest = p->nest;
		return;
	}
	if (value_same(p->first, value))
		return;
	const Carry carry = {p->j, p->kernel, &p->first_nest, &p->nest};
	p->differ = p->differ || !loops_are_same(&p->first_nest, &p->nest) ||
		    !value_same(carried(&carry, p->first), value);
}

static void see_places(void *of, const Stmt *stmt)
{
	Places *p = of;
	if (stmt->kind == LOOP_STORE && stmt->buffer == p->buffer)
		see_place(p, value_load(p->j->program, stmt->buffer, stmt->ix));
	if (stmt->value)
		value_each(stmt->value, see_place, p);
}

/* Does one thread of a row touch each element that is stored, in whatever loop? */
static bool elements_are_own(const Joins *j, const Kernel *kernel)
{
	Block body = grid_body(kernel);
	const BufferUses *uses = &kernel_uses(j->uses, kernel)->uses;
	Places p = {.j = j, .kernel = kernel};
	for (size_t u = 0; u < uses->n && !p.differ; u++) {
		p.buffer = uses->at[u].buffer;
		p.first = NULL;
		for (uint32_t i = 0; i < body.n && uses->at[u].stored; i++) {
			p.nest = nest_of(body.stmts[i]);
			block_each((Block){&body.stmts[i], 1}, see_places, &p);
		}
	}
	return !p.differ;
}

/* ---- one row ---- */

static bool is_one_row(const Joins *j, const Kernel *kernel)
{
	const Stmt *loop = grid_loop(&kernel->body);
	return loop && size_is(j->program->sizes, loop->hi->size, 1);
}

/* Are there few iterations in all, as far as the program says? */
static bool is_short(const Joins *j, const Stmt *loop)
{
	int64_t all = 1, n = 1;
	for (; loop && loop->kind == LOOP_FOR;
	     loop = loop->body.n == 1 ? loop->body.stmts[0] : NULL)
		if (loop->hi->kind != IX_SIZE ||
		    !size_is_const(j->program->sizes, loop->hi->size, &n) ||
		    __builtin_mul_overflow(all, n, &all))
			return false;
	return all <= j->t->options->gpu->row_short;
}

static bool all_is_short(const Joins *j, const Kernel *kernel)
{
	bool all = true;
	for (uint32_t i = 0; i < kernel->body.n && all; i++)
		all = is_short(j, kernel->body.stmts[i]);
	return all;
}

/* All of the kernel as one row, which a loop of the grid stands for. */
static void put_in_row(const Joins *j, Kernel *kernel)
{
	Arena *arena = j->program->arena;
	if (is_one_row(j, kernel))
		return;
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = (Stmt){.kind = LOOP_FOR,
		       .acc = OP_NONE,
		       .iter = bind_iter(j->program, kernel, "row"),
		       .loop = LOOP_GRID,
		       .lo = ix_const(j->program, 0),
		       .hi = ix_const(j->program, 1),
		       .step = 1,
		       .threads = 1,
		       .body = rows_block(arena, &kernel->body, 0)};
	kernel->body = block_one(arena, loop);
}

static bool join_asked_rows(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made,
			    bool asked)
{
	Arena *arena = j->program->arena;
	Kernel rows[] = {*a, *b};
	bool one = !grid_rank(a) || !grid_rank(b) || is_one_row(j, a) != is_one_row(j, b);
	if (one && (!all_is_short(j, a) || !all_is_short(j, b)))
		return false;
	for (uint32_t i = 0; i < 2 && one; i++)
		put_in_row(j, &rows[i]);
	uint32_t first = grid_rank(&rows[0]), second = grid_rank(&rows[1]),
		 n = first < second ? first : second;
	rows[0].body = rows_block(arena, &rows[0].body, n);
	rows[1].body = rows_block(arena, &rows[1].body, n);
	return join_bodies(j, &rows[0], &rows[1], made) && rows_pay(j->t, made) &&
	       (asked || enough_rows(j, made)) && elements_are_own(j, made) &&
	       rows_are_independent(j, made);
}

/* Writes it into the schedule. */
static void note_joined(const Joins *j, const Kernel *a, const Kernel *b)
{
	Arena *arena = j->program->arena;
	ScheduleEntry entry = {.name = b->name, .span = b->span};
	clause_add(arena, entry_make(arena, &entry, CHOICE_FUSE_ROWS, false), a->name, NULL, 0);
	PUSH(arena, j->program->made->entries, entry);
}

bool join_rows(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made)
{
	ScheduleClause *asked = kernel_asked(j->t, b, CHOICE_FUSE_ROWS);
	if (asks_off(asked) || !asks_any(asked, a->name))
		return false;
	if (!join_asked_rows(j, a, b, made, asks_on(asked)))
		return false;
	note_joined(j, a, b);
	return true;
}

/* ---- rows that are not stored ---- */

/* A row that is computed element by element. */
typedef struct Row {
	const Joins *j;
	Kernel *kernel;
	Nest nest;
	uint32_t at; /* of the store in the nest */
	const Stmt *store;
	const Value *value; /* that is stored, of nothing that the nest declares or stores */
} Row;

static bool is_row(const Kernel *kernel, const Nest *nest)
{
	bool row = nest->n > 0 && is_elementwise(kernel, &nest->body);
	for (uint32_t i = 0; i < nest->body.n && row; i++)
		row = nest->body.stmts[i]->kind != LOOP_SET;
	return row;
}

static const Value *load_of(const Row *r, const Stmt *store)
{
	return value_load(r->j->program, store->buffer, store->ix);
}

/* With what the nest has declared and stored as what that is set to. */
static void find_value(Row *r)
{
	Arena *arena = r->j->program->arena;
	ValueTwin *twins = ARENA_ARRAY(arena, ValueTwin, r->nest.body.n + 1);
	Rewrite rewrite = {.program = r->j->program,
			   .iters = kernel_iters(arena, r->kernel, 0),
			   .values = twins};
	for (uint32_t i = 0; i <= r->at; i++) {
		const Stmt *stmt = r->nest.body.stmts[i];
		bool local = stmt->kind == LOOP_LOCAL;
		r->value = rewrite_alone(&rewrite, stmt->value);
		twins[rewrite.nvalues++] =
			(ValueTwin){local ? value_local(arena, r->kernel, stmt->local, NULL, 0)
					  : load_of(r, stmt),
				    r->value};
	}
}

static const Value *at_nest(const Row *r, const Nest *nest, const Value *value)
{
	return carried(&(Carry){r->j, r->kernel, &r->nest, nest}, value);
}

typedef struct Loads {
	const Value *at; /* the one element */
	BufferId buffer;
	uint32_t n;
	bool elsewhere;
} Loads;

static void see_load(void *of, const Value *value)
{
	Loads *loads = of;
	if (value->kind != VALUE_LOAD || value->buffer != loads->buffer)
		return;
	loads->n++;
	loads->elsewhere |= !loads->at || !value_same(value, loads->at);
}

static void see_loads(void *of, const Stmt *stmt) { stmt_each_value(stmt, see_load, of); }

/* What a value is made of, and whether a statement changes any of it. */
typedef struct Changes {
	const Stmt *stmt;
	const BufferUses *uses;
	bool any;
} Changes;

static void see_change(void *of, const Value *value)
{
	Changes *c = of;
	const BufferUse *use =
		value->kind == VALUE_LOAD ? buffer_use(c->uses, value->buffer) : NULL;
	c->any |= use && use->stored;
	if (value->kind == VALUE_LOCAL)
		c->any |= block_sets_local((Block){&c->stmt, 1}, value->local);
}

static bool changes(const Row *r, const Stmt *stmt, const BufferUses *uses)
{
	Changes c = {stmt, uses, false};
	value_each(r->value, see_change, &c);
	return c.any;
}

/* Values of a tree, or what is more than `most`: one that several are made of counts for each of them. */
static int64_t values_in(const Value *value, int64_t most)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < value->nargs && n <= most; i++)
		n += values_in(value->args[i], most - n);
	return n;
}

/* Can the statement, the row's own or one behind it, do without the row in memory? */
static bool does_without(const Row *r, const Stmt *stmt, bool own)
{
	Kernel alone = {.body = {&stmt, 1}};
	BufferUses uses = kernel_buffers(r->j->scratch, &alone);
	Nest nest = nest_of(stmt);
	Loads loads = {NULL, r->store->buffer, 0, false};
	const BufferUse *use = buffer_use(&uses, r->store->buffer);
	if ((!own && use && use->stored) || changes(r, stmt, &uses))
		return false;
	if (loops_are_same(&r->nest, &nest))
		loads.at = at_nest(r, &nest, load_of(r, r->store));
	block_each(alone.body, see_loads, &loads);
	return !loads.elsewhere && loads.n <= r->j->most / values_in(r->value, r->j->most);
}

static bool touches(const Row *r, const Stmt *stmt)
{
	Kernel alone = {.body = {&stmt, 1}};
	BufferUses uses = kernel_buffers(r->j->scratch, &alone);
	return buffer_use(&uses, r->store->buffer) != NULL;
}

/* Is the row stored there, once, and needed nowhere in memory? */
static bool is_unneeded(const Row *r, uint32_t number, const Block *body, uint32_t at)
{
	BufferId buffer = r->store->buffer;
	bool without = r->j->program->buffers.at[buffer].kind == BUFFER_TEMP &&
		       values_in(r->value, r->j->most) <= r->j->most &&
		       !join_touched_elsewhere(r->j, number, buffer);
	for (uint32_t i = 0; i < r->nest.body.n && without; i++)
		without = i < r->at ? !touches(r, r->nest.body.stmts[i])
				    : i == r->at || r->nest.body.stmts[i]->kind != LOOP_STORE ||
					      r->nest.body.stmts[i]->buffer != buffer;
	for (uint32_t i = 0; i < body->n && without; i++)
		without = i < at ? !touches(r, body->stmts[i])
				 : does_without(r, body->stmts[i], i == at);
	return without;
}

static bool find_unneeded(const Joins *j, uint32_t number, Row *found, uint32_t *at)
{
	Kernel *kernel = &j->made[number];
	Block body = grid_body(kernel);
	for (*at = 0; *at < body.n; ++*at) {
		Row row = {.j = j, .kernel = kernel, .nest = nest_of(body.stmts[*at])};
		bool is = is_row(kernel, &row.nest);
		for (row.at = 0; is && row.at < row.nest.body.n; row.at++) {
			row.store = row.nest.body.stmts[row.at];
			if (row.store->kind != LOOP_STORE)
				continue;
			find_value(&row);
			*found = row;
			if (is_unneeded(&row, number, &body, *at))
				return true;
		}
	}
	return false;
}

/* Does the nest need the statement without the store? A local, where one behind it that is needed reads it. */
static bool is_needed(const Row *r, uint32_t at, const bool *needed)
{
	const Stmt *const *stmts = r->nest.body.stmts;
	LocalId local = stmts[at]->local;
	bool reads = false;
	if (stmts[at]->kind != LOOP_LOCAL)
		return at != r->at;
	for (uint32_t i = at + 1; i < r->nest.body.n && !reads; i++)
		reads = needed[i] && (value_uses_local(stmts[i]->value, local) ||
				      (stmts[i]->kind == LOOP_STORE &&
				       value_uses_local(load_of(r, stmts[i]), local)));
	return reads;
}

/* The nest without the store, and without what was declared for it alone. */
static Block without_store(const Row *r)
{
	Arena *arena = r->j->program->arena;
	uint32_t n = r->nest.body.n, first = n;
	bool *needed = ARENA_ARRAY(r->j->scratch, bool, n);
	const Stmt **stmts = ARENA_ARRAY(arena, const Stmt *, n);
	for (uint32_t i = n; i-- > 0;) {
		needed[i] = is_needed(r, i, needed);
		if (needed[i])
			stmts[--first] = r->nest.body.stmts[i];
	}
	Block body = {stmts + first, n - first};
	for (uint32_t i = r->nest.n; i-- > 0 && body.n;)
		body = block_one(arena, stmt_with(arena, r->nest.loops[i], body));
	return body;
}

/* What reads the row computes it. */
static Block without_row(const Row *r, Block block)
{
	Nest nest = nest_of(block.stmts[0]);
	ValueTwin twin = {0};
	if (loops_are_same(&r->nest, &nest))
		twin = (ValueTwin){at_nest(r, &nest, load_of(r, r->store)),
				   at_nest(r, &nest, r->value)};
	Rewrite rewrite = {.program = r->j->program,
			   .iters = kernel_iters(r->j->program->arena, r->kernel, 0),
			   .values = &twin,
			   .nvalues = twin.value != NULL,
			   .span = r->kernel->span};
	return rewrite_block(&rewrite, block);
}

static void remove_row(const Row *r, uint32_t at)
{
	Arena *arena = r->j->program->arena;
	Block body = grid_body(r->kernel);
	Body rest = {0};
	for (uint32_t i = 0; i < body.n; i++) {
		Block block = i == at ? without_store(r) : (Block){&body.stmts[i], 1};
		if (i >= at && block.n)
			block = without_row(r, block);
		body_append(arena, &rest, block);
	}
	buffer_forget(r->j->program, r->store->buffer);
	r->kernel->body = grid_around(arena, &r->kernel->body, body_block(&rest), 0);
}

void join_row_values(const Joins *j, uint32_t number)
{
	Row row;
	uint32_t at;
	while (grid_loop(&j->made[number].body) && find_unneeded(j, number, &row, &at))
		remove_row(&row, at);
}
