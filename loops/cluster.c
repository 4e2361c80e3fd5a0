/* Clusters of blocks: that each of their loops has its barrier behind it, that what one block stores no other touches
 * before, and that a block stores into its own part alone. */
#include "loops/cluster.h"

#include "base/size_order.h"
#include "loops/dependence.h"
#include "loops/digits.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "loops/work.h"

static bool is_cluster_loop(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_CLUSTER;
}

static bool is_of_cluster(const void *of, const Stmt *stmt)
{
	(void)of;
	return is_cluster_loop(stmt) || (stmt->kind == LOOP_BARRIER && stmt->cluster);
}

/* The innermost loop of the grid; NULL: there is none. */
static const Stmt *innermost(const Kernel *kernel)
{
	const Stmt *inner = NULL;
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		inner = s;
	return inner;
}

int64_t cluster_blocks(const Sizes *sizes, const Kernel *kernel)
{
	const Stmt *grid = innermost(kernel),
		   *first = grid && grid->body.n ? grid->body.stmts[0] : NULL;
	int64_t n = 0;
	return first && is_cluster_loop(first) && size_is_const(sizes, first->hi->size, &n) ? n : 0;
}

int64_t cluster_part(const Program *program, const Buffer *buffer)
{
	int64_t n = 0;
	size_is_const(program->sizes, buffer->elements, &n);
	return n / buffer->cluster;
}

/* What a part's elements divide is the block, the rest the place there. */
ClusterPlace cluster_place(Program *program, BufferId buffer, const Ix *ix)
{
	Sizes *sizes = program->sizes;
	Arena *arena = program->arena;
	int64_t part = cluster_part(program, &program->buffers.at[buffer]), n;
	Linear linear = ix_linear(program, ix);
	bool known = size_is_const(sizes, linear.offset, &n);
	ClusterPlace place = {ix_const(program, known ? n / part : 0),
			      known ? ix_const(program, n % part) : ix_size(arena, linear.offset)};
	for (size_t i = 0; i < linear.terms.n; i++) {
		const LinearTerm *term = &linear.terms.at[i];
		bool whole = size_is_const(sizes, term->coef, &n) && n % part == 0;
		const Ix **to = whole ? &place.block : &place.element;
		const Ix *times = whole ? ix_const(program, n / part) : ix_size(arena, term->coef);
		*to = ix_add(program, *to, ix_mul(program, term->atom, times));
	}
	return place;
}

/* ---- the checker ---- */

typedef struct ClusterWalk {
	Program *program;
	const Kernel *kernel;
	IterRange *ranges;
	const Stmt *loop; /* of the cluster, around */
	const Stmt *stmt; /* at hand */
	LoopsFault fault;
} ClusterWalk;

/* Is the index from 0 to less than n, in the loops around? */
static bool is_below(const ClusterWalk *w, const Ix *ix, int64_t n)
{
	Linear linear = ix_linear(w->program, ix);
	return linear_is_below(w->program->sizes, w->ranges, &linear, SIZE_MAX,
			       size_const(w->program->sizes, n));
}

static void touch(ClusterWalk *w, BufferId id, const Ix *ix, bool stores)
{
	const Buffer *buffer = &w->program->buffers.at[id];
	int64_t n = cluster_blocks(w->program->sizes, w->kernel);
	if (!buffer->cluster)
		return;
	if (buffer->cluster != n) {
		fault_note(&w->fault, w->stmt, "a buffer of other blocks than a cluster has");
		return;
	}
	ClusterPlace place = cluster_place(w->program, id, ix);
	if (!is_below(w, place.element, cluster_part(w->program, buffer)) ||
	    !is_below(w, place.block, n))
		fault_note(&w->fault, w->stmt,
			   "an index of a cluster's buffer that does not say whose part it is in");
	if (stores && (place.block->kind != IX_ITER || place.block->iter != w->loop->iter))
		fault_note(&w->fault, w->stmt, "a store into the part of another block");
}

static void see_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		touch(of, value->buffer, value->ix, false);
}

static void walk(ClusterWalk *w, const Block *block)
{
	for (uint32_t i = 0; i < block->n && !w->fault.rule; i++) {
		const Stmt *stmt = w->stmt = block->stmts[i];
		if (stmt->kind == LOOP_FOR)
			w->ranges[stmt->iter] = iter_range(w->program, stmt);
		stmt_each_value(stmt, see_value, w);
		if (stmt->kind == LOOP_STORE)
			touch(w, stmt->buffer, stmt->ix, true);
		if (is_of_cluster(NULL, stmt))
			fault_note(&w->fault, stmt, "a cluster inside a block");
		walk(w, &stmt->body);
	}
}

/* A loop of the cluster's blocks, and what stands behind it. */
static void see_loop(ClusterWalk *w, const Stmt *loop, const Stmt *behind, int64_t n)
{
	if (!is_cluster_loop(loop) || n < 2 || n > CLUSTER_MOST ||
	    trips_from_zero(w->program, loop) != n)
		fault_note(&w->fault, loop,
			   "beside a cluster's loop another statement, or one of other blocks");
	else if (!behind || behind->kind != LOOP_BARRIER || !behind->cluster)
		fault_note(&w->fault, loop,
			   "a loop of a cluster's blocks without their barrier behind it");
	else if (!loop_is_of_cluster(w->program, w->kernel, loop))
		fault_note(&w->fault, loop, "blocks of a cluster that may meet");
	if (w->fault.rule)
		return;
	w->loop = loop;
	w->ranges[loop->iter] = iter_range(w->program, loop);
	walk(w, &loop->body);
}

LoopsFault cluster_fault(Program *program, const Kernel *kernel)
{
	const Stmt *grid = innermost(kernel), *any = block_find(kernel->body, is_of_cluster, NULL);
	int64_t n = cluster_blocks(program->sizes, kernel);
	ClusterWalk w = {.program = program, .kernel = kernel, .fault = {.kernel = kernel}};
	w.ranges = ARENA_ARRAY(program->arena, IterRange, kernel->niters + 1);
	if (!any)
		return w.fault;
	if (!n || grid->threads != 1 || grid->nslots || kernel_has_mbarriers(program, kernel) ||
	    grid_ahead(&kernel->body))
		fault_note(
			&w.fault, any,
			"a cluster outside of a grid, of blocks that take turns, or beside mbarriers or prefetches");
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		w.ranges[s->iter] = iter_range(program, s);
	for (uint32_t i = 0; !w.fault.rule && i < grid->body.n; i += 2)
		see_loop(&w, grid->body.stmts[i],
			 i + 1 < grid->body.n ? grid->body.stmts[i + 1] : NULL, n);
	return w.fault;
}
