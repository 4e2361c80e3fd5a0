/* The order of the transformations: loops of a heavy kernel become functions by what they weigh as
 * they are; then every loop is offered to the others in turn, the outer one first, and the first that
 * is legal takes it.
 */
#include "loops/dump.h"
#include "loops/vector/vector.h"

#include <string.h>

static Block vector_block(Vectoring *t, Block block, bool *changed);

typedef void LoopRewrite(Vectoring *t, const Stmt *loop, Body *to);

/* The first that is legal; NULL: none is. */
static LoopRewrite *rewrite_of(const Vectoring *t, const Stmt *stmt)
{
	if (stmt->kind != LOOP_FOR)
		return NULL;
	if (!checks_refused(t, stmt))
		return checks;
	if (!fast_path_strips_refused(t, stmt))
		return fast_path_strips;
	return math_lanes_refused(t, stmt) ? NULL : math_lanes;
}

static void vector_stmt(Vectoring *t, const Stmt *stmt, Body *to, bool *changed)
{
	LoopRewrite *rewrite = rewrite_of(t, stmt);
	if (rewrite) {
		rewrite(t, stmt, to);
		*changed = true;
		return;
	}
	bool inside = false;
	const Stmt *shorter = fast_path_values(t, stmt);
	*changed |= shorter != stmt;
	stmt = shorter;
	Block body = vector_block(t, stmt->body, &inside);
	if (inside) {
		stmt = stmt_with(t->program->arena, stmt, body);
		*changed = true;
	}
	PUSH(t->program->arena, to->stmts, stmt);
}

static Block vector_block(Vectoring *t, Block block, bool *changed)
{
	Body body = {0};
	bool inside = false;
	for (uint32_t i = 0; i < block.n; i++)
		vector_stmt(t, block.stmts[i], &body, &inside);
	*changed |= inside;
	return inside ? body_block(&body) : block;
}

Program *vector_program(const Program *program, const VectorTarget *target)
{
	Arena *arena = program->arena;
	Program *copy = ARENA_NEW(arena, Program);
	*copy = *program;
	copy->kernels.at = ARENA_ARRAY(arena, Kernel, program->kernels.n + 1);
	copy->kernels.cap = program->kernels.n + 1;
	for (size_t i = 0; i < program->kernels.n; i++) {
		Kernel *kernel = &copy->kernels.at[i];
		bool changed = false;
		*kernel = program->kernels.at[i];
		Vectoring t = {.program = copy, .kernel = kernel, .target = target};
		kernel->body = outline_loops(&t);
		kernel->body = vector_block(&t, kernel->body, &changed);
	}
	return copy;
}

void vector_dump(FILE *out, const Program *before, const Program *after)
{
	bool changed = false;
	for (size_t i = 0; i < after->kernels.n; i++) {
		if (after->kernels.at[i].body.stmts == before->kernels.at[i].body.stmts)
			continue;
		kernel_dump(out, after, (KernelId)i);
		changed = true;
	}
	if (!changed)
		fprintf(out, "(unchanged)\n");
}
