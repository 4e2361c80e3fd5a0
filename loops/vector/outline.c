/* Loops of a heavy kernel as functions of their own:
 *
 *   for first in 0..s step 64              for first in 0..s step 64
 *     for t in 0..s step 32                  for t in 0..s step 32 outlined
 *       scores                        ->       scores
 *     for row in 0..64                       for row in 0..64 outlined
 *       softmax                                softmax
 *
 * GCC's time grows faster than a function does: it shares registers out among all that lives in it,
 * and looks at every pair of addresses. The largest loops that are not too heavy for a function are
 * taken, where they hold loops, so that a call is little beside what it does. Such a function does
 * what would be in its place: the same operations in the same order.
 *
 * Legal where the loop needs nothing but iterators, sizes, scalars and buffers from around it, and is
 * not written out several times; no function returns from the middle of another.
 */
#include "loops/vector/vector.h"
#include "loops/walk.h"

enum { LEAST_WEIGHT = 40, MOST_WEIGHT = 400, LANES = 8 };

static uint64_t stmt_weight(const Program *program, const Stmt *stmt)
{
	uint64_t inside = block_weight(program, stmt->body);
	if (stmt->kind != LOOP_FOR)
		return 1 + inside;
	if (stmt->loop == LOOP_UNROLL)
		return (uint64_t)constant_trips(program, stmt) * inside;
	if (stmt->loop == LOOP_VECTOR)
		return ((uint64_t)vector_lanes(program, stmt) + LANES - 1) / LANES * inside;
	return 2 + inside;
}

uint64_t block_weight(const Program *program, Block block)
{
	uint64_t weight = 0;
	for (uint32_t i = 0; i < block.n; i++)
		weight += stmt_weight(program, block.stmts[i]);
	return weight;
}

/* ---- which loops ---- */

static bool is_serial_loop(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL;
}

typedef struct Needs {
	bool *declared; /* by LocalId: in the loop */
	bool locals, checks;
} Needs;

static void see_local(Needs *n, LocalId local) { n->locals |= !n->declared[local]; }

static void see_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOCAL)
		see_local(of, value->local);
}

static void see_stmt(void *of, const Stmt *stmt)
{
	Needs *n = of;
	stmt_each_value(stmt, see_value, n);
	if (stmt->kind == LOOP_LOCAL)
		n->declared[stmt->local] = true;
	if (stmt->kind == LOOP_SET)
		see_local(n, stmt->local);
	n->checks |= stmt->kind == LOOP_CHECK;
}

const char *outline_refused(const Vectoring *t, const Stmt *loop)
{
	Block alone = {&loop, 1};
	uint64_t weight = block_weight(t->program, alone);
	if (loop->kind != LOOP_FOR || loop->loop != LOOP_SERIAL)
		return "it is no plain loop";
	if (weight < LEAST_WEIGHT || !block_find(loop->body, is_serial_loop, NULL))
		return "a call would take as long";
	if (weight > MOST_WEIGHT)
		return "it is too heavy for a function";
	Needs n = {.declared = ARENA_ARRAY(t->program->arena, bool, t->kernel->nlocals + 1)};
	block_each(alone, see_stmt, &n);
	return n.locals	  ? "it needs a local from outside"
	       : n.checks ? "it may return from the kernel"
			  : NULL;
}

/* ---- marks ---- */

static Block outline_block(const Vectoring *t, Block block, bool *changed);

static const Stmt *outline_stmt(const Vectoring *t, const Stmt *stmt)
{
	bool here = !outline_refused(t, stmt), inside = false;
	bool copied = stmt->kind == LOOP_FOR && stmt->loop == LOOP_UNROLL;
	Block body = here || copied ? stmt->body : outline_block(t, stmt->body, &inside);
	if (!here && !inside)
		return stmt;
	Stmt *copy = stmt_with(t->program->arena, stmt, body);
	copy->outlined = here;
	return copy;
}

static Block outline_block(const Vectoring *t, Block block, bool *changed)
{
	Body body = {0};
	bool here = false;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = outline_stmt(t, block.stmts[i]);
		here |= stmt != block.stmts[i];
		PUSH(t->program->arena, body.stmts, stmt);
	}
	*changed |= here;
	return here ? body_block(&body) : block;
}

Block outline_loops(const Vectoring *t)
{
	Block body = t->kernel->body;
	bool changed = false;
	if (block_weight(t->program, body) <= MOST_WEIGHT)
		return body;
	return outline_block(t, body, &changed);
}
