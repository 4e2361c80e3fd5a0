/* The rules of loops of a warp: each nest is one of those that fragment.h has, no two threads meet, and what the
 * threads of a warp store in one nest no other one in the loop of a block touches, as other threads run it. */
#include "loops/dependence.h"
#include "loops/group.h"
#include "loops/walk.h"

typedef struct WarpCheck {
	Program *program;
	const Kernel *kernel;
	Arena *arena;
	const Multiples *multiples;
	const Stmt *block;    /* the outermost loop of a block around; NULL: none */
	const Stmt **touched; /* by buffer: the nest that touched it in the loop of a block */
	bool *stored;	      /* ... and stored to it? */
	const Stmt *nest;
	bool group; /* inside a loop of a warpgroup */
	LoopsFault fault;
} WarpCheck;

/* ---- one nest beside others ---- */

static void touch(WarpCheck *c, BufferId buffer, bool stores)
{
	const Stmt *before = c->touched[buffer];
	if (before && before != c->nest && (stores || c->stored[buffer]))
		fault_note(&c->fault, c->nest, "threads of a warp that may meet in two nests");
	c->touched[buffer] = c->nest;
	c->stored[buffer] |= stores;
}

static void see_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		touch(of, value->buffer, false);
}

static void see_touched(void *of, const Stmt *stmt)
{
	stmt_each_value(stmt, see_value, of);
	if (stmt->kind == LOOP_STORE)
		touch(of, stmt->buffer, true);
}

static void check_nest_of(WarpCheck *c, const Stmt *loop)
{
	WarpNest nest;
	const char *rule = warp_nest(c->program, c->kernel, c->multiples, loop, &nest);
	if (rule) {
		fault_note(&c->fault, loop, rule);
		return;
	}
	if (nest.kind == NEST_PRODUCT && nest.loaded && !c->group)
		fault_note(&c->fault, loop,
			   "a product of what is in shared memory outside of a warpgroup");
	bool disjoint = nest.kind != NEST_ELEMENTS ||
			(loop_is_of_threads(c->program, c->kernel, loop, nest.row) &&
			 loop_is_of_threads(c->program, c->kernel, loop, nest.column));
	if (!disjoint)
		fault_note(&c->fault, loop, "threads of a warp that may meet");
	c->nest = loop;
	block_each(loop->body, see_touched, c);
}

/* ---- what is around ---- */

static void walk(WarpCheck *c, const Block *block);

/* Of a loop of a block that holds loops of a warp: what is not in one of them all its threads do. */
static void walk_warps(WarpCheck *c, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !c->fault.rule; i++) {
		const Stmt *stmt = block->stmts[i];
		bool before = c->group;
		c->group |= is_group_loop(stmt);
		if (is_warp_loop(stmt))
			check_nest_of(c, stmt);
		else if (stmt->kind == LOOP_STORE || stmt->kind == LOOP_CHECK ||
			 stmt->kind == LOOP_SET)
			fault_note(&c->fault, stmt, "a statement of all threads of a warp");
		else
			walk_warps(c, &stmt->body);
		c->group = before;
	}
}

static void enter(WarpCheck *c, const Stmt *stmt)
{
	size_t n = c->program->buffers.n + 1;
	c->block = stmt;
	c->touched = ARENA_ARRAY(c->arena, const Stmt *, n);
	c->stored = ARENA_ARRAY(c->arena, bool, n);
	walk_warps(c, &stmt->body);
	c->block = NULL;
}

static void walk(WarpCheck *c, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !c->fault.rule; i++) {
		const Stmt *stmt = block->stmts[i];
		bool threads = stmt->kind == LOOP_FOR && stmt->loop == LOOP_BLOCK;
		if (is_warp_loop(stmt))
			fault_note(&c->fault, stmt,
				   "a loop of a warp outside of the threads of a block");
		else if (threads && block_has_warp_loops(&stmt->body))
			enter(c, stmt);
		else
			walk(c, &stmt->body);
	}
}

LoopsFault warp_fault(Program *program, const Kernel *kernel)
{
	Arena *arena = arena_new();
	Multiples multiples = multiples_new(arena, program, kernel);
	WarpCheck c = {.program = program,
		       .kernel = kernel,
		       .arena = arena,
		       .multiples = &multiples,
		       .fault = {.kernel = kernel}};
	walk(&c, &kernel->body);
	arena_free(arena);
	return c.fault;
}
