/* Checks of the indices that are not shown to stay inside:
 *
 *   for i in 0..n                            for i in 0..n
 *     y[i] = x[int(ids[i])]          ->        check 0 <= int(ids[i]) < m, CHECK
 *                                              y[i] = x[int(ids[i])]
 *
 * A check stands right before its statement; before a loop of lanes for the first and the last of
 * them, between which the index moves in equal steps. Conditions are evaluated one after another,
 * so each is parted from those whose indices are checked behind it.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/bounds.h"
#include "loops/build.h"
#include "loops/walk.h"

typedef struct Inserter {
	Program *program;
	const IndexUses *uses;
	KernelId kernel;
} Inserter;

/* One for all indices of one buffer or local in a kernel. */
static CheckId check_of(Inserter *in, const IndexUse *use)
{
	Program *program = in->program;
	const Kernel *kernel = &program->kernels.at[in->kernel];
	const char *name = use->local == LOCAL_NONE ? program->buffers.at[use->buffer].name
						    : kernel->locals[use->local].name;
	const char *text = arena_printf(
		program->arena, "an index of '%s' in kernel '%s' is outside [0, %s)", name,
		kernel->name, size_text(program->arena, program->sizes, use->extent));
	for (size_t i = 0; i < program->checks.n; i++)
		if (strcmp(program->checks.at[i].text, text) == 0)
			return (CheckId)i;
	PUSH(program->arena, program->checks,
	     ((Check){CHECK_INDEX, use->extent, use->extent, kernel->span, text}));
	return (CheckId)program->checks.n - 1;
}

/* The index with a number for an iterator. */
static const Ix *at_number(Program *program, const Ix *ix, IterVar iter, const Ix *number)
{
	if (ix->kind == IX_ITER)
		return ix->iter == iter ? number : ix;
	if (ix->kind == IX_SIZE || ix->kind == IX_VALUE)
		return ix;
	return ix_binary(program, ix->kind, at_number(program, ix->a, iter, number),
			 at_number(program, ix->b, iter, number));
}

static void add_check(Inserter *in, Body *to, const IndexUse *use, const Ix *ix)
{
	Program *program = in->program;
	const Ix *extent = ix_size(program->arena, use->extent);
	PUSH(program->arena, to->stmts, stmt_check(program, ix, extent, check_of(in, use)));
}

/* Of the statement, which is inside `lanes` (NULL: in none), or of one of its conditions. */
static void add_checks(Inserter *in, Body *to, const Stmt *stmt, const Stmt *lanes, uint32_t cond)
{
	Program *program = in->program;
	for (size_t i = 0; i < in->uses->n; i++) {
		const IndexUse *use = &in->uses->at[i];
		if (use->kernel != in->kernel || use->stmt != stmt || use->cond != cond)
			continue;
		if (!lanes || !ix_uses(use->ix, lanes->iter)) {
			add_check(in, to, use, use->ix);
			continue;
		}
		const Ix *less = ix_const(program, -1);
		const Ix *ends[] = {lanes->lo, ix_add(program, lanes->hi, less)};
		for (int k = 0; k < 2; k++)
			add_check(in, to, use, at_number(program, use->ix, lanes->iter, ends[k]));
	}
}

static Block checked_block(Inserter *in, Block block);

/* if a && b: ...  ->  if a: (checks of b) if b: ... */
static Block checked_if(Inserter *in, const Stmt *stmt)
{
	Arena *arena = in->program->arena;
	Block inside = checked_block(in, stmt->body);
	for (uint32_t i = stmt->nconds; i-- > 0;) {
		Body body = {0};
		Stmt *copy = stmt_with(arena, stmt, inside);
		copy->conds = stmt->conds + i;
		copy->nconds = 1;
		add_checks(in, &body, stmt, NULL, i);
		PUSH(arena, body.stmts, copy);
		inside = body_block(&body);
	}
	return inside;
}

static void add_stmt(Inserter *in, Body *to, const Stmt *stmt)
{
	Arena *arena = in->program->arena;
	if (stmt->kind == LOOP_IF) {
		body_append(arena, to, checked_if(in, stmt));
		return;
	}
	add_checks(in, to, stmt, NULL, 0);
	bool lanes = stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR;
	for (uint32_t i = 0; lanes && i < stmt->body.n; i++)
		add_checks(in, to, stmt->body.stmts[i], stmt, 0);
	REQUIRE(stmt->kind != LOOP_FOR || stmt->loop != LOOP_PARALLEL);
	Block body = lanes ? stmt->body : checked_block(in, stmt->body);
	PUSH(arena, to->stmts, stmt_with(arena, stmt, body));
}

static Block checked_block(Inserter *in, Block block)
{
	Body body = {0};
	for (uint32_t i = 0; i < block.n; i++)
		add_stmt(in, &body, block.stmts[i]);
	return body_block(&body);
}

void bounds_insert_checks(Program *program)
{
	Arena *arena = arena_new();
	IndexUses uses = bounds_unshown(arena, program, NULL);
	Inserter in = {.program = program, .uses = &uses};
	for (size_t i = 0; i < uses.n; i++) {
		if (i && uses.at[i].kernel == uses.at[i - 1].kernel)
			continue;
		in.kernel = uses.at[i].kernel;
		Kernel *kernel = &program->kernels.at[in.kernel];
		kernel->body = checked_block(&in, kernel->body);
	}
	arena_free(arena);
}
