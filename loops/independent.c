/* Which loops have independent iterations: a proof over the indices of all elements that are stored. Here is what an
 * iteration touches, and under which conditions; independent_buffer.c shows of each buffer that is stored to that no
 * two iterations meet in it. A part of a buffer that is read only does not count. What cannot be shown is taken for
 * dependent.
 *
 * Loops of several kernels are looked at as one, whose k-th iteration is that of each.
 */
#include <string.h>

#include "base/diag.h"
#include "base/size_order.h"
#include "loops/independent.h"
#include "loops/walk.h"
#include "loops/work.h"

/* ---- what the statement does ---- */

/* Two loops may share an iterator: the access keeps the ranges of its own. */
static void see_element(Proof *p, BufferId buffer, const Ix *ix, bool stores)
{
	size_t n = p->kernel->niters + 1;
	if (!p->snapshot)
		p->snapshot = memcpy(ARENA_ARRAY(p->arena, IterRange, n), p->ranges,
				     n * sizeof *p->ranges);
	const Cond **conds = ARENA_ARRAY(p->arena, const Cond *, p->conds.n + 1);
	for (size_t i = 0; i < p->conds.n; i++)
		conds[i] = p->conds.at[i];
	PUSH(p->arena, p->accesses,
	     ((ElementAccess){buffer, stores, ix, p->snapshot, conds, (uint32_t)p->conds.n,
			      p->part}));
}

static void see_local(Proof *p, LocalId local, bool sets)
{
	const KernelLocal *own = &p->kernel->locals[local];
	bool private = p->threads && (own->nthreads > 0 || own->role != ROLE_NONE);
	p->privates |= sets && private && !p->declared[local];
	p->failed = p->failed || (!p->declared[local] && !private && (sets || !p->threads));
}

static void see_value(void *of, const Value *value)
{
	Proof *p = of;
	if (value->kind == VALUE_LOAD)
		see_element(p, value->buffer, value->ix, false);
	if (value->kind == VALUE_LOCAL)
		see_local(p, value->local, false);
}

bool ix_bounding_size(const Sizes *sizes, const Ix *ix, IxKind extreme, Size *size)
{
	Size a, b;
	*size = ix->size;
	if (ix->kind != IX_MIN && ix->kind != IX_MAX)
		return ix->kind == IX_SIZE;
	if (ix->kind == extreme)
		return ix_bounding_size(sizes, ix->a, extreme, size) ||
		       ix_bounding_size(sizes, ix->b, extreme, size);
	if (!ix_bounding_size(sizes, ix->a, extreme, &a) ||
	    !ix_bounding_size(sizes, ix->b, extreme, &b))
		return false;
	bool less = size_ge(sizes, b, a);
	*size = less == (extreme == IX_MAX) ? a : b;
	return less || size_ge(sizes, a, b);
}

/* A loop from where another iterator is on runs over no more than from where that begins. */
static IterRange range_of(const Proof *p, const Stmt *loop)
{
	IterRange range = iter_range(p->program, loop);
	const IterRange *from = loop->lo->kind == IX_ITER ? &p->ranges[loop->lo->iter] : NULL;
	Size end;
	if (range.known || !from || !from->known ||
	    !ix_bounding_size(p->program->sizes, loop->hi, IX_MIN, &end))
		return range;
	range.first = from->first;
	range.span =
		size_plus(p->program->sizes, size_sub(p->program->sizes, end, from->first), -1);
	range.known = !size_is_bad(range.span);
	return range;
}

/* May iterations meet in the buffer? */
static bool counts(const Proof *p, const Buffer *buffer)
{
	return p->threads || !buffer->scratch || (p->cluster && buffer->cluster);
}

static void see_block(Proof *p, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (stmt->kind == LOOP_LOCAL)
			p->declared[stmt->local] = true;
		if (stmt->kind == LOOP_SET)
			see_local(p, stmt->local, true);
		if (stmt->kind == LOOP_CHECK)
			p->failed = true;
		if (stmt->kind == LOOP_FOR) {
			p->ranges[stmt->iter] = range_of(p, stmt);
			p->ranges[stmt->iter].open = true;
			p->snapshot = NULL;
		}
		if (stmt->kind == LOOP_STORE) {
			see_element(p, stmt->buffer, stmt->ix, true);
			if (counts(p, &p->program->buffers.at[stmt->buffer]))
				PUSH(p->arena, p->stored, stmt->buffer);
		}
		stmt_each_value(stmt, see_value, p);
		size_t outside = p->conds.n;
		for (uint32_t c = 0; c < stmt->nconds; c++)
			PUSH(p->arena, p->conds, &stmt->conds[c]);
		see_block(p, &stmt->body);
		p->conds.n = outside;
		if (stmt->kind == LOOP_FOR) {
			p->ranges[stmt->iter].open = false;
			p->snapshot = NULL;
		}
	}
}

/* Threads of a block run with all iterators of the loops around at one value: any of their ranges. */
static void range_around(void *of, const Stmt *stmt)
{
	Proof *p = of;
	if (stmt->kind == LOOP_FOR)
		p->ranges[stmt->iter] = iter_range(p->program, stmt);
}

static void begin_kernel(Proof *p, const Kernel *kernel)
{
	p->kernel = kernel;
	p->ranges = ARENA_ARRAY(p->arena, IterRange, kernel->niters + 1);
	p->declared = ARENA_ARRAY(p->arena, bool, kernel->nlocals + 1);
	p->snapshot = NULL;
}

static bool all_are_independent(const Proof *p)
{
	/* threads of a block may only wait */
	bool good = !p->failed && (p->stored.n > 0 || p->privates || p->threads);
	for (size_t i = 0; good && i < p->stored.n; i++)
		good = independent_in_buffer(p, p->stored.at[i]);
	return good;
}

static bool prove(Proof *p, const Stmt *root)
{
	p->arena = arena_new();
	p->step = p->loop->step;
	begin_kernel(p, p->kernel);
	if (p->threads || p->cluster)
		block_each(p->kernel->body, range_around, p);
	see_block(p, &(Block){&root, 1});
	p->range = p->ranges[p->loop->iter];
	bool good = all_are_independent(p);
	arena_free(p->arena);
	return good;
}

bool loop_is_independent(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Proof p = {.program = program, .kernel = kernel, .loop = loop};
	return loop->independent || prove(&p, root);
}

/* All loops go from 0 to `last` as one. */
static void see_part(Proof *p, uint32_t part)
{
	const Stmt *loop = p->parts[part].loop;
	p->part = part;
	begin_kernel(p, p->parts[part].kernel);
	p->ranges[loop->iter] = p->range;
	see_block(p, &loop->body);
}

bool loops_are_independent(Program *program, const WholeLoop *loops, uint32_t n)
{
	Sizes *sizes = program->sizes;
	const Stmt *loop = loops[0].loop;
	Size span = size_sub(sizes, loop->hi->size, loop->lo->size);
	Size last = size_plus(sizes, size_ceil(sizes, span, loop->step), -1);
	Proof p = {.program = program,
		   .arena = arena_new(),
		   .parts = loops,
		   .range = {!size_is_bad(last), true, size_const(sizes, 0), last},
		   .step = 1};
	for (uint32_t part = 0; part < n; part++)
		see_part(&p, part);
	bool good = all_are_independent(&p);
	arena_free(p.arena);
	return good;
}

bool loop_is_of_grid(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Proof p = {.program = program, .kernel = kernel, .loop = loop, .gpu = true};
	return prove(&p, root);
}

bool loop_is_of_threads(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Proof p = {
		.program = program, .kernel = kernel, .loop = loop, .gpu = true, .threads = true};
	return constant_trips(program, loop) == 1 || prove(&p, root);
}

bool loop_is_of_cluster(Program *program, const Kernel *kernel, const Stmt *loop)
{
	Proof p = {
		.program = program, .kernel = kernel, .loop = loop, .gpu = true, .cluster = true};
	return prove(&p, loop);
}
