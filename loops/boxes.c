/* Boxes of a result: that each iteration stores one, whole as far as it is inside of the tensor, and that no two warps have
 * places in common where boxes are on their way. See group.h. */
#include "loops/group.h"

#include "base/size_order.h"
#include "loops/build.h"
#include "loops/interval.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

enum { LOOPS_MOST = 8 };

typedef struct Boxes {
	Program *program;
	const Kernel *kernel;
	Arena *arena;
	const Stmt *blocks[LOOPS_MOST]; /* the loops of a block around */
	uint32_t nblocks;
	bool *seen; /* by buffer: a loop has boxes there */
	LoopsFault fault;
} Boxes;

/* ---- places ---- */

int64_t box_elements(const Stmt *stmt)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < stmt->naxes; i++)
		n *= stmt->axes[i].box;
	return n;
}

static bool is_row(const void *of, const Stmt *stmt)
{
	(void)of;
	return is_warp_loop(stmt);
}

/* The loop over the rows of a box: the first one of a warp. */
static const Stmt *row_loop(Block block) { return block_find(block, is_row, NULL); }

/* Along the first axis where the first box begins, or the box at hand. */
static const Ix *along_at(Program *program, const Stmt *loop)
{
	const Ix *box = ix_iter(program->arena, loop->iter);
	return ix_add(program, loop->axes[0].at, ix_times(program, box, loop->axes[0].box));
}

/* Of a place in the tensor, how far it is behind the start of its row in the box. */
static const Ix *in_row(Program *program, const Stmt *loop, const Ix *ix)
{
	const Ix *row = ix_iter(program->arena, row_loop(loop->body)->iter);
	ix = ix_minus(program, ix, along_at(program, loop));
	for (uint32_t i = 1; i < loop->naxes; i++) {
		const Ix *at = i == 1 ? ix_add(program, loop->axes[i].at, row) : loop->axes[i].at;
		Size stride = loop->axes[i].stride;
		ix = ix_minus(program, ix, ix_mul(program, at, ix_size(program->arena, stride)));
	}
	return ix;
}

const Ix *box_place(Program *program, const Stmt *loop, const Ix *ix)
{
	const Ix *row = ix_iter(program->arena, row_loop(loop->body)->iter);
	return ix_times_plus(program, row, loop->axes[0].box, in_row(program, loop, ix));
}

/* ---- what an iteration stores ---- */

/* The loops and conditions around the one store, from the outermost on; lanes: the loop of lanes among them. */
typedef struct Path {
	VEC(const Stmt *) around;
	const Stmt *store, *lanes;
	int64_t iterations;
	bool wrong; /* there are other statements than locals, or several stores */
} Path;

static void follow(Boxes *b, Path *path, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind == LOOP_LOCAL)
			continue;
		bool store = stmt->kind == LOOP_STORE, loop = stmt->kind == LOOP_FOR;
		path->wrong |= path->store || (!store && !loop && stmt->kind != LOOP_IF) ||
			       (store && (stmt->acc != OP_NONE || stmt->async));
		if (path->wrong)
			return;
		if (store) {
			path->store = stmt;
			continue;
		}
		PUSH(b->arena, path->around, stmt);
		path->iterations *= loop ? trips_from_zero(b->program, stmt) : 1;
		path->lanes = loop && stmt->loop == LOOP_VECTOR ? stmt : path->lanes;
		follow(b, path, stmt->body);
	}
}

/* Are all iterators of the index those of loops on the path? Then `at` is where it lies. */
static bool is_inside(Boxes *b, const Path *path, const Ix *ix, Interval *at)
{
	Interval *iters = ARENA_ARRAY(b->arena, Interval, b->kernel->niters + 1);
	bool *own = ARENA_ARRAY(b->arena, bool, b->kernel->niters + 1);
	for (size_t i = 0; i < path->around.n; i++) {
		const Stmt *loop = path->around.at[i];
		if (loop->kind != LOOP_FOR)
			continue;
		own[loop->iter] = true;
		iters[loop->iter] = (Interval){0, trips_from_zero(b->program, loop) - 1};
	}
	for (IterVar i = 0; i < b->kernel->niters; i++)
		if (!own[i] && ix_uses(ix, i))
			return false;
	return ix_interval(b->program, ix, iters, at);
}

/* Does the condition fail only where the element, or both of two lanes, are outside of the tensor along the axis? */
static bool is_edge(Boxes *b, const Stmt *loop, const Path *path, const Cond *cond, uint32_t axis)
{
	Program *program = b->program;
	const Stmt *row = row_loop(loop->body);
	Size extent = loop->axes[axis].extent;
	if (cond->kind != COND_LT || cond->b->kind != IX_SIZE || !size_same(cond->b->size, extent))
		return false;
	const Ix *rest;
	int64_t lanes = trips_from_zero(b->program, path->lanes), by = 0;
	if (axis > 0) {
		rest = ix_minus(program, ix_minus(program, cond->a, loop->axes[axis].at),
				ix_iter(program->arena, row->iter));
	} else {
		const Ix *ix = ix_of_first_lane(program, path->store->ix, path->lanes->iter);
		rest = ix_minus(program, ix_minus(program, cond->a, along_at(program, loop)),
				in_row(program, loop, ix));
	}
	bool known = rest->kind == IX_SIZE && size_is_const(program->sizes, rest->size, &by);
	bool whole = size_divides(program->sizes, size_const(program->sizes, lanes), extent);
	return known && (by == 0 || (axis == 0 && by > 0 && by < lanes && whole));
}

static bool are_edges(Boxes *b, const Stmt *loop, const Path *path)
{
	for (size_t i = 0; i < path->around.n; i++) {
		const Stmt *stmt = path->around.at[i];
		for (uint32_t k = 0; stmt->kind == LOOP_IF && k < stmt->nconds; k++)
			if (!is_edge(b, loop, path, &stmt->conds[k], 0) &&
			    !is_edge(b, loop, path, &stmt->conds[k], 1))
				return false;
	}
	return true;
}

/* That no two iterations store one element is shown with those of the grid. */
static void check_elements(Boxes *b, const Stmt *loop)
{
	Path path = {.iterations = 1};
	Interval at = {0, -1};
	const Stmt *row = row_loop(loop->body);
	follow(b, &path, loop->body);
	bool one = !path.wrong && path.store && path.lanes && path.store->buffer == loop->tensor;
	bool rows = row && loop->naxes > 1 && trips_from_zero(b->program, row) == loop->axes[1].box;
	for (uint32_t i = 2; i < loop->naxes; i++)
		rows &= loop->axes[i].box == 1;
	if (!one || !rows)
		fault_note(&b->fault, loop,
			   "iterations of boxes that do not store rows of one tensor");
	else if (!is_inside(b, &path, in_row(b->program, loop, path.store->ix), &at) || at.lo < 0 ||
		 at.hi >= loop->axes[0].box || path.iterations != box_elements(loop))
		fault_note(&b->fault, loop,
			   "iterations that do not store all of their box, and nothing else");
	else if (!are_edges(b, loop, &path))
		fault_note(&b->fault, loop,
			   "a box of which elements inside of the tensor may not be stored");
}

/* ---- where they are on their way ---- */

static int64_t warps_around(const Boxes *b)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < b->nblocks; i++)
		n *= trips_from_zero(b->program, b->blocks[i]);
	return n;
}

/* The place of warp number n, in the order of its loops, behind those of the ones before. */
static bool is_own_place(const Boxes *b, const Stmt *loop, Interval *iters, int64_t n)
{
	Interval at;
	int64_t rest = n;
	for (uint32_t i = b->nblocks; i-- > 0;) {
		int64_t own = rest % trips_from_zero(b->program, b->blocks[i]);
		iters[b->blocks[i]->iter] = (Interval){own, own};
		rest /= trips_from_zero(b->program, b->blocks[i]);
	}
	return ix_interval(b->program, loop->ix, iters, &at) && at.lo == at.hi &&
	       at.lo == n * GROUP_BOXES * box_elements(loop);
}

static void check_places(Boxes *b, const Stmt *loop)
{
	Program *program = b->program;
	const Buffer *buffer = &program->buffers.at[loop->buffer];
	int64_t warps = warps_around(b), most = 0, box = box_elements(loop);
	Interval *iters = ARENA_ARRAY(b->arena, Interval, b->kernel->niters + 1);
	bool own = !b->seen[loop->buffer] && box % group_swizzle(buffer->dtype) == 0 &&
		   size_is_const(program->sizes, buffer->elements, &most) &&
		   most / GROUP_BOXES / box >= warps && most < INT32_MAX;
	for (IterVar i = 0; i < b->kernel->niters && own; i++) {
		bool block = false;
		for (uint32_t k = 0; k < b->nblocks; k++)
			block |= b->blocks[k]->iter == i;
		own = block || !ix_uses(loop->ix, i);
	}
	for (int64_t n = 0; n < warps && own; n++)
		own = is_own_place(b, loop, iters, n);
	b->seen[loop->buffer] = true;
	if (!own)
		fault_note(&b->fault, loop, "boxes of warps in places that are not theirs alone");
}

static void walk(Boxes *b, Block block)
{
	for (uint32_t i = 0; i < block.n && !b->fault.rule; i++) {
		const Stmt *stmt = block.stmts[i];
		uint32_t before = b->nblocks;
		if (is_box_loop(stmt)) {
			if (!block_is_of_warps(&stmt->body) || !b->nblocks)
				fault_note(&b->fault, stmt, "boxes that no warps store");
			check_elements(b, stmt);
			check_places(b, stmt);
		}
		if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_BLOCK && b->nblocks < LOOPS_MOST)
			b->blocks[b->nblocks++] = stmt;
		walk(b, stmt->body);
		b->nblocks = before;
	}
}

LoopsFault box_fault(Program *program, const Kernel *kernel)
{
	Boxes b = {.program = program,
		   .kernel = kernel,
		   .arena = arena_new(),
		   .fault = {.kernel = kernel}};
	b.seen = ARENA_ARRAY(b.arena, bool, program->buffers.n + 1);
	walk(&b, kernel->body);
	arena_free(b.arena);
	return b.fault;
}
