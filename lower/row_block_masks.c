/* Loops along a mask, cut where it begins or ends (nest/mask.c): the last that is done to the kernels of a row block, when
 * those of the same rows are one and have what is between in one place.
 *
 *   for t in 0..n, seen up to first + i + 1       for t in 0..h: x[t] = ...      h = min(n, (max(0, first + i + 1) + 15)/16*16)
 *     x[t] = ...; masked: x[t] = masked           for t in h..n: x[t] = masked
 */
#include "loops/rewrite.h"
#include "lower/row_block.h"

typedef struct Cut {
	Program *program;
	const Stmt *loop;
	int64_t run;
} Cut;

/* The iteration, `more` iterations on, at which a run begins, but for none outside of the loop. */
static const Ix *whole_runs(const Cut *cut, const Ix *from, int64_t more)
{
	Program *program = cut->program;
	const Stmt *loop = cut->loop;
	const Ix *run = ix_const(program, cut->run);
	const Ix *first =
		ix_binary(program, IX_MAX, ix_minus(program, from, loop->lo), ix_const(program, 0));
	const Ix *runs = ix_binary(program, IX_DIV, ix_plus(program, first, more), run);
	return ix_binary(program, IX_MIN, ix_add(program, loop->lo, ix_mul(program, runs, run)),
			 loop->hi);
}

static const Stmt *part(const Cut *cut, const Ix *lo, const Ix *hi, Block body)
{
	Stmt *loop = stmt_with(cut->program->arena, cut->loop, body);
	loop->lo = lo;
	loop->hi = hi;
	loop->mask = NULL;
	return loop;
}

static void cut_loop(Program *program, const Stmt *loop, Body *body)
{
	const LoopMask *mask = loop->mask;
	Cut cut = {program, loop, loop->step > 1 ? loop->step : mask->run};
	const Ix *lo = mask->lo ? whole_runs(&cut, mask->lo, 0) : loop->lo,
		 *hi = mask->hi ? whole_runs(&cut, mask->hi, cut.run - 1) : loop->hi;
	if (mask->lo && mask->hi)
		hi = ix_binary(program, IX_MAX, lo, hi);
	if (mask->lo && mask->masked.n > 0)
		PUSH(program->arena, body->stmts, part(&cut, loop->lo, lo, mask->masked));
	PUSH(program->arena, body->stmts, part(&cut, lo, hi, loop->body));
	if (mask->hi && mask->masked.n > 0)
		PUSH(program->arena, body->stmts, part(&cut, hi, loop->hi, mask->masked));
}

Block row_block_cut_masked(Program *program, Block block)
{
	Body body = {0};
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind == LOOP_FOR && stmt->mask)
			cut_loop(program, stmt, &body);
		else if (stmt->body.n > 0)
			PUSH(program->arena, body.stmts,
			     stmt_with(program->arena, stmt,
				       row_block_cut_masked(program, stmt->body)));
		else
			PUSH(program->arena, body.stmts, stmt);
	}
	return body_block(&body);
}
