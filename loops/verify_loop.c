/* The rules of the grammar of loops.h for the kinds of loops. */
#include "base/size_order.h"
#include "loops/matrix.h"
#include "loops/verify_gpu.h"
#include "loops/verify_walk.h"
#include "loops/work.h"

enum { UNROLL_LIMIT = 1024 };

/* Does the block hold the loop, in no other? */
static bool is_at_top(const Block *top, const Stmt *loop)
{
	bool found = false;
	for (uint32_t i = 0; i < top->n && !found; i++)
		found = top->stmts[i] == loop ||
			(top->stmts[i]->kind == LOOP_IF && is_at_top(&top->stmts[i]->body, loop));
	return found;
}

/* At the top, or under conditions there; locals in front of it are out of sight. */
static void check_parallel(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, is_at_top(&v->kernel->body, stmt), "a parallel loop inside another one");
	for (uint32_t i = 0; i < v->kernel->nlocals; i++)
		v->outside[i] = v->local_open[i];
	int64_t lo;
	bool zero = stmt->lo->kind == IX_SIZE &&
		    size_is_const(v->program->sizes, stmt->lo->size, &lo) && lo == 0;
	FAIL_UNLESS(v, zero && stmt->step == 1, "a parallel loop that does not count from 0");
	FAIL_UNLESS(v, stmt->nslots >= 0 && stmt->nslots <= SLOTS_MAX, "too many slots");
	v->parallel = true;
	if (stmt->nslots == 0)
		return;
	FAIL_UNLESS(v, stmt->slot < v->kernel->niters, "an unknown iterator");
	FAIL_UNLESS(v, !v->iter_open[stmt->slot] && stmt->slot != stmt->iter,
		    "a slot that is a loop");
	v->iter_open[stmt->slot] = true;
}

/* Blocks that take turns have an iteration of all loops of the grid at a time. */
static void check_turns(Verify *v, const Stmt *stmt)
{
	const Stmt *inner = grid_loop(&stmt->body);
	FAIL_UNLESS(v,
		    stmt->raster == 0 || (stmt->raster > 0 && stmt->threads == 1 && inner &&
					  inner->threads == 1 && !grid_loop(&inner->body)),
		    "an order of loops of a grid that are not the innermost two");
	if (stmt->nslots == 0)
		return;
	FAIL_UNLESS(v, stmt->nslots > 0 && stmt->threads == 1 && !inner,
		    "turns of blocks in a loop that is not the innermost of a grid");
	FAIL_UNLESS(v,
		    stmt->slot < v->kernel->niters && !v->iter_open[stmt->slot] &&
			    stmt->slot != stmt->iter,
		    "a turn that is a loop");
	v->iter_open[stmt->slot] = true;
}

static void check_grid(Verify *v, const Stmt *stmt)
{
	const Sizes *sizes = v->program->sizes;
	FAIL_UNLESS(v, !v->not_alone, "a loop of a grid beside or inside another statement");
	bool counts = stmt->lo->kind == IX_SIZE && size_is(sizes, stmt->lo->size, 0) &&
		      stmt->hi->kind == IX_SIZE && stmt->step == 1;
	FAIL_UNLESS(v, counts, "a loop of a grid that does not count from 0 to a size");
	FAIL_UNLESS(v, stmt->threads > 0, "a block without threads");
	check_turns(v, stmt);
}

/* `around`: the statement that holds the loop, and nothing else. */
static void check_threads(Verify *v, const Stmt *stmt)
{
	const Stmt *around = v->nblocks ? v->blocks[v->nblocks - 1] : NULL;
	FAIL_UNLESS(v,
		    !around || (around->body.n == 1 && around->body.stmts[0] == stmt &&
				v->nblocks < BLOCK_AXES),
		    "a loop of a block inside one, beside or inside another statement");
	FAIL_UNLESS(v, trips_from_zero(v->program, stmt) > 0,
		    "a loop of a block that does not count from 0 to a constant");
	FAIL_UNLESS(v,
		    stmt->threads >= 0 && stmt->threads < INT16_MAX &&
			    (!around || (!stmt->threads && !around->threads)),
		    "a loop of a block behind threads that there are not");
	v->blocks[v->nblocks++] = stmt;
}

static void check_warp(const Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, trips_from_zero(v->program, stmt) > 0,
		    "a loop of a warp that does not count from 0 to a constant");
	FAIL_UNLESS(v, v->nblocks > 0, "a loop of a warp outside of the threads of a block");
}

/* Lanes of which some are masked: what they compute is seen in memory alone. */
static void check_masked(const Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->loop == LOOP_VECTOR && stmt->lanes > 0 && stmt->lanes <= LANES_OF,
		    "masked lanes of another loop");
	FAIL_UNLESS(v,
		    stmt->lo->kind == IX_SIZE && size_is(v->program->sizes, stmt->lo->size, 0) &&
			    stmt->step == 1,
		    "masked lanes that do not count from 0");
	for (uint32_t i = 0; i < stmt->body.n; i++) {
		const Stmt *inner = stmt->body.stmts[i];
		FAIL_UNLESS(v, inner->kind == LOOP_LOCAL || inner->kind == LOOP_STORE,
			    "masked lanes that change a local");
		FAIL_UNLESS(v,
			    dtype_is_float(inner->value->dtype) &&
				    dtype_wide(inner->value->dtype) == inner->value->dtype,
			    "masked lanes of no wide float");
	}
}

void verify_matrix_loop(const Verify *v, const Stmt *stmt)
{
	MatrixProduct product;
	FAIL_UNLESS(v, matrix_product((Program *)v->program, stmt, &product),
		    "a matrix that is no product of rows and columns");
}

static void check_outlined(Verify *v, const Stmt *stmt)
{
	FAIL_UNLESS(v, stmt->loop == LOOP_SERIAL, "a function of another loop");
	FAIL_UNLESS(v, !v->outlined && v->unrolled == 0, "a function that would be written out");
	for (uint32_t i = 0; i < v->kernel->nlocals; i++)
		v->around[i] = v->local_open[i];
	v->outlined = true;
}

/* Does it have a known, small number of iterations, or lanes that are masked behind it? */
static bool is_written_out(const Verify *v, const Stmt *stmt)
{
	int64_t lo, hi;
	return stmt->lanes || (stmt->lo->kind == IX_SIZE && stmt->hi->kind == IX_SIZE && stmt->step == 1 &&
			       size_is_const(v->program->sizes, stmt->lo->size, &lo) &&
			       size_is_const(v->program->sizes, stmt->hi->size, &hi) &&
			       hi - lo <= UNROLL_LIMIT);
}

/* What its kind asks of it and of where it stands. */
void verify_loop_kind(Verify *v, const Stmt *stmt)
{
	if (stmt->lanes)
		check_masked(v, stmt);
	if (stmt->outlined)
		check_outlined(v, stmt);
	switch (stmt->loop) {
	case LOOP_UNROLL:
	case LOOP_VECTOR:
		FAIL_UNLESS(v, is_written_out(v, stmt), "lanes that are no small constant");
		break;
	case LOOP_PARALLEL: check_parallel(v, stmt); break;
	case LOOP_GRID: check_grid(v, stmt); break;
	case LOOP_BLOCK: check_threads(v, stmt); break;
	case LOOP_WARP: check_warp(v, stmt); break;
	default: break;
	}
}
