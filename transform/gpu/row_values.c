/* Rows that are not stored: an elementwise row of a joined kernel (row_join.c) that no other kernel touches. What reads
 * an element of it computes it again, of no more values than a kernel has statements, from what lies in the first cache
 * by then.
 */
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/join.h"

bool nests_are_same(const LoopNest *a, const LoopNest *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; same && i < a->n; i++)
		same = ix_same(a->loops[i]->lo, b->loops[i]->lo) &&
		       ix_same(a->loops[i]->hi, b->loops[i]->hi) &&
		       a->loops[i]->step == b->loops[i]->step;
	return same;
}

const Value *nest_value(Program *program, const Kernel *kernel, const LoopNest *from,
			const LoopNest *to, const Value *value)
{
	const Ix **iters = kernel_iters(program->arena, kernel, 0);
	for (uint32_t i = 0; i < from->n; i++)
		iters[from->loops[i]->iter] = ix_iter(program->arena, to->loops[i]->iter);
	Rewrite rewrite = {.program = program, .iters = iters};
	return rewrite_alone(&rewrite, value);
}

/* A row that is computed element by element. */
typedef struct Row {
	const Joins *j;
	Kernel *kernel;
	LoopNest nest;
	uint32_t at; /* of the store in the nest */
	const Stmt *store;
	const Value *value; /* that is stored, of nothing that the nest declares or stores */
} Row;

static bool is_row(const Kernel *kernel, const LoopNest *nest)
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

static const Value *at_nest(const Row *r, const LoopNest *nest, const Value *value)
{
	return nest_value(r->j->program, r->kernel, &r->nest, nest, value);
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
	LoopNest nest = block_nest(alone.body);
	Loads loads = {NULL, r->store->buffer, 0, false};
	const BufferUse *use = buffer_use(&uses, r->store->buffer);
	if ((!own && use && use->stored) || changes(r, stmt, &uses))
		return false;
	if (nests_are_same(&r->nest, &nest))
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
		Row row = {
			.j = j, .kernel = kernel, .nest = block_nest((Block){&body.stmts[*at], 1})};
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
	LoopNest nest = block_nest((Block){block.stmts, 1});
	ValueTwin twin = {0};
	if (nests_are_same(&r->nest, &nest))
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
