/* The passes over finished loops, in order: loops of a heavy kernel become functions by what they weigh
 * as they are; then loops of checks, of functions with a fast path and of functions in lanes are
 * rewritten, each by a pass of its own, the outer ones first. What a pass has made of a loop it does
 * not look at again.
 */
#include "loops/dump.h"
#include "loops/vector/vector.h"

#include <string.h>

/* A rewrite of a loop that is legal there. */
typedef struct LoopRewrite {
	const char *(*refused)(const Vectoring *t, const Stmt *loop);
	void (*make)(Vectoring *t, const Stmt *loop, Body *to);
	/* a statement of any other kind or place, the same where nothing is to be changed; or NULL */
	const Stmt *(*other)(const Vectoring *t, const Stmt *stmt);
} LoopRewrite;

static Block rewritten_block(Vectoring *t, const LoopRewrite *with, Block block);

static void rewrite_stmt(Vectoring *t, const LoopRewrite *with, const Stmt *stmt, Body *to)
{
	if (stmt->kind == LOOP_FOR && !with->refused(t, stmt)) {
		with->make(t, stmt, to);
		return;
	}
	if (with->other)
		stmt = with->other(t, stmt);
	Block body = rewritten_block(t, with, stmt->body);
	if (body.stmts != stmt->body.stmts)
		stmt = stmt_with(t->program->arena, stmt, body);
	PUSH(t->program->arena, to->stmts, stmt);
}

static Block rewritten_block(Vectoring *t, const LoopRewrite *with, Block block)
{
	Body body = {0};
	bool same = true;
	for (uint32_t i = 0; i < block.n; i++) {
		size_t before = body.stmts.n;
		rewrite_stmt(t, with, block.stmts[i], &body);
		same = same && body.stmts.n == before + 1 &&
		       body.stmts.at[before] == block.stmts[i];
	}
	return same ? block : body_block(&body);
}

static Block outline_pass(Vectoring *t) { return outline_loops(t); }

static Block checks_pass(Vectoring *t)
{
	static const LoopRewrite rewrite = {checks_refused, checks, NULL};
	return rewritten_block(t, &rewrite, t->kernel->body);
}

static Block fast_path_pass(Vectoring *t)
{
	static const LoopRewrite rewrite = {fast_path_strips_refused, fast_path_strips,
					    fast_path_values};
	return rewritten_block(t, &rewrite, t->kernel->body);
}

static Block row_lanes_pass(Vectoring *t)
{
	static const LoopRewrite lanes = {row_lanes_refused, row_lanes, NULL};
	static const LoopRewrite loads = {row_loads_refused, row_loads, NULL};
	return rewritten_block(t, &loads, rewritten_block(t, &lanes, t->kernel->body));
}

static Block lanes_pass(Vectoring *t)
{
	static const LoopRewrite rewrite = {math_lanes_refused, math_lanes, NULL};
	return rewritten_block(t, &rewrite, t->kernel->body);
}

static Block narrow_pass(Vectoring *t) { return narrow_loops(t); }

const VectorPass vector_passes[VECTOR_PASSES] = {
	[VECTOR_OUTLINE] = {"outline", outline_pass},
	[VECTOR_CHECKS] = {"checks", checks_pass},
	[VECTOR_FAST_PATH] = {"fast_path", fast_path_pass},
	[VECTOR_ROW_LANES] = {"row_lanes", row_lanes_pass},
	[VECTOR_LANES] = {"lanes", lanes_pass},
	[VECTOR_NARROW] = {"narrow", narrow_pass},
};

static bool run_on_kernel(uint32_t pass, Program *program, Kernel *kernel,
			  const VectorTarget *target)
{
	Vectoring t = {.program = program, .kernel = kernel, .target = target};
	const Stmt *const *before = kernel->body.stmts;
	kernel->body = vector_passes[pass].run(&t);
	return kernel->body.stmts != before;
}

Program *vector_run(uint32_t pass, const Program *program, const VectorTarget *target)
{
	Arena *arena = program->arena;
	Program *copy = ARENA_NEW(arena, Program);
	*copy = *program;
	copy->changed = false;
	copy->kernels.at = ARENA_ARRAY(arena, Kernel, program->kernels.n + 1);
	copy->kernels.cap = program->kernels.n + 1;
	for (size_t i = 0; i < program->kernels.n; i++) {
		copy->kernels.at[i] = program->kernels.at[i];
		copy->changed |= run_on_kernel(pass, copy, &copy->kernels.at[i], target);
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
