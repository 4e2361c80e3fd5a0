/* Elementwise kernels in accesses of 16 bytes: a thread computes four neighbours.
 *
 *   grid i in 0..n of 8                        grid i in 0..n of 8
 *     grid j in 0..c of 32                       grid four in 0..ceil(c/4) of 32
 *       y[i*c + j] = x[i*c + j] + b[j]    ->       if c % 4 == 0 && 4*four + 3 < c
 *                                                    vector j in 0..4
 *                                                      y[i*c + 4*four + j] = x[i*c + 4*four + j] + b[4*four + j]
 *                                                  if 0 < c % 4
 *                                                    unroll j in 0..4
 *                                                      if 4*four + j < c
 *                                                        y[i*c + 4*four + j] = x[...] + b[...]
 *
 * Neighbouring loops that every access goes through as through one are one loop first: then fours begin at multiples
 * of four whatever the sizes are, and only the last elements are left. Else rows begin there where the length of a row
 * is a multiple of four, which the kernel asks where the program does not say. Chosen where each access moves by one
 * element, or by none, along the innermost loop; what moves by more keeps a thread for each element. Kernels with sums
 * in them: wide_sums.c.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/verify_block.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/wide.h"

/* ---- decided ---- */

static const Stmt *innermost(const Wide *w) { return w->loops[w->n - 1]; }

static void see_index(void *of, const Ix *ix) { one_loop_ix(of, ix); }

static void see_indices(void *of, const Stmt *stmt)
{
	stmt_each_ix(stmt, see_index, of);
	if (stmt->value)
		one_loop_value(of, stmt->value);
}

static void merge_loops(Wide *w, const Block *body)
{
	OneLoop one = {w->program, w->loops, w->n, w->each ? w->n - 1 : w->first};
	block_each(*body, see_indices, &one);
	w->first = one.first;
	w->extent = loops_extent(w->program->sizes, w->loops + w->first, w->n - w->first);
}

/* The index less what the loops that are one move it by. */
static const Ix *row_of(const Wide *w, const Ix *ix)
{
	for (uint32_t i = w->first; i < w->n; i++) {
		Size by = ix_stride(w->program, ix, w->loops[i]->iter);
		Size back = size_scale(w->program->sizes, by, -1);
		ix = ix_add(w->program, ix,
			    ix_mul(w->program, ix_iter(w->program->arena, w->loops[i]->iter),
				   ix_size(w->program->arena, back)));
	}
	return ix;
}

static WideBegin begin_of(Wide *w, const Ix *row)
{
	w->multiples.nwholes = 0;
	if (ix_multiple(&w->multiples, row) % w->width == 0)
		return BEGIN_EVERYWHERE;
	multiples_add(&w->multiples, w->extent, w->width);
	return ix_multiple(&w->multiples, row) % w->width == 0 ? BEGIN_WHOLE_ROWS : BEGIN_NOWHERE;
}

static void see_access(Wide *w, BufferId buffer, const Ix *ix)
{
	Dtype dtype = w->program->buffers.at[buffer].dtype;
	IterVar next = innermost(w)->iter;
	WideBegin begin = BEGIN_NOWHERE;
	if (ix_moves_by(w->program, ix, next, 0))
		return;
	if (ix_moves_by(w->program, ix, next, 1) && lanes_are_wide(dtype, w->width))
		begin = begin_of(w, row_of(w, ix));
	w->begin = begin < w->begin ? begin : w->begin;
}

static void see_load(void *of, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		see_access(of, value->buffer, value->ix);
}

static void see_accesses(void *of, const Stmt *stmt)
{
	if (stmt->kind == LOOP_STORE)
		see_access(of, stmt->buffer, stmt->ix);
	if (stmt->value)
		value_each(stmt->value, see_load, of);
}

bool wide_fits(Wide *w)
{
	int64_t n;
	merge_loops(w, &w->body);
	bool known = size_is_const(w->program->sizes, w->extent, &n);
	if (size_is_bad(w->extent) || (known && n < w->width))
		return false;
	w->multiples = multiples_unknown(w->program->arena, w->program, w->kernel);
	w->begin = BEGIN_EVERYWHERE;
	block_each(w->body, see_accesses, w);
	return w->begin == BEGIN_EVERYWHERE || (w->begin == BEGIN_WHOLE_ROWS && !known);
}

static bool pays(Wide *w)
{
	w->body = grid_body(w->kernel);
	w->n = grid_loops(w->kernel, w->loops);
	w->sums = !is_elementwise(w->kernel, &w->body);
	return w->n > 0 && (!w->sums || wide_sums_may(w)) && wide_fits(w) &&
	       (!w->sums || wide_sums_pay(w));
}

/* ---- made ---- */

typedef struct Quads {
	IterVar lane;
	const Ix *first, *at; /* of the four; the element at hand */
} Quads;

/* The locals of a body, and others for them. */
typedef struct NewLocals {
	const Wide *w;
	LocalId *ids;
} NewLocals;

static void rename_local(void *of, const Stmt *stmt)
{
	NewLocals *locals = of;
	const Wide *w = locals->w;
	if (stmt->kind == LOOP_LOCAL)
		locals->ids[stmt->local] =
			bind_local(w->program, w->kernel, w->kernel->locals[stmt->local]);
}

Rewrite wide_element(const Wide *w, const Ix *first, const Ix *at)
{
	const Ix **iters = kernel_iters(w->program->arena, w->kernel, 0);
	LocalId *ids = ARENA_ARRAY(w->program->arena, LocalId, w->kernel->nlocals + 1);
	for (LocalId i = 0; i < w->kernel->nlocals; i++)
		ids[i] = i;
	block_each(w->body, rename_local, &(NewLocals){w, ids});
	for (uint32_t i = w->first; i < w->n; i++)
		iters[w->loops[i]->iter] = ix_const(w->program, 0);
	iters[innermost(w)->iter] = at;
	if (w->each)
		iters[w->group] =
			ix_binary(w->program, IX_DIV, first, ix_const(w->program, w->each));
	return (Rewrite){
		.program = w->program, .iters = iters, .locals = ids, .span = w->kernel->span};
}

/* The statements for one element, with locals of their own. */
static Block element(const Wide *w, const Quads *q)
{
	Rewrite rewrite = wide_element(w, q->first, q->at);
	return rewrite_block(&rewrite, w->body);
}

/* Where there are conditions, only if they hold. */
static Block when(const Wide *w, const Cond *conds, uint32_t n, Block body)
{
	Cond *own = ARENA_ARRAY(w->program->arena, Cond, n + 1);
	for (uint32_t i = 0; i < n; i++)
		own[i] = conds[i];
	return n ? block_one(w->program->arena, stmt_if(w->program->arena, own, n, body)) : body;
}

static Block lanes(const Wide *w, const Quads *q, LoopKind kind, Block body)
{
	return block_one(w->program->arena, stmt_loop(w->program, kind, q->lane, w->width, body));
}

static const Ix *left_over(const Wide *w)
{
	return ix_binary(w->program, IX_MOD, ix_size(w->program->arena, w->extent),
			 ix_const(w->program, w->width));
}

static Block whole_four(const Wide *w, const Quads *q)
{
	Sizes *sizes = w->program->sizes;
	Cond conds[2];
	uint32_t n = 0;
	if (w->begin == BEGIN_WHOLE_ROWS)
		conds[n++] = (Cond){COND_EQ, left_over(w), ix_const(w->program, 0)};
	if (!size_divides(sizes, size_const(sizes, w->steps), w->extent))
		conds[n++] = (Cond){COND_LT, ix_plus(w->program, q->first, w->width - 1),
				    ix_size(w->program->arena, w->extent)};
	return when(w, conds, n,
		    w->sums ? wide_sums(w, q->at, q->lane)
			    : lanes(w, q, LOOP_VECTOR, element(w, q)));
}

/* Those behind the last whole four or, where rows begin anywhere, all of them. */
static Block single_elements(const Wide *w, const Quads *q)
{
	const Ix *end = ix_size(w->program->arena, w->extent);
	const Cond any = {COND_LT, ix_const(w->program, 0), left_over(w)},
		   inside = {COND_LT, q->at, end},
		   last = {COND_LT, end, ix_plus(w->program, q->first, w->width)};
	Block body = lanes(w, q, LOOP_UNROLL, when(w, &inside, 1, element(w, q)));
	return when(w, w->begin == BEGIN_WHOLE_ROWS ? &any : &last, 1, body);
}

/* The loops of the grid, that over fours innermost, around the body. */
static Block in_grid(const Wide *w, IterVar four, Block body)
{
	Size extents[GRID_LOOPS];
	int64_t threads[GRID_LOOPS];
	for (uint32_t i = 0; i < w->first; i++)
		extents[i] = w->loops[i]->hi->size;
	extents[w->first] = size_ceil(w->program->sizes, w->extent, w->width);
	grid_shape(w->program->sizes, w->gpu, extents, w->first + 1, threads);
	for (uint32_t i = w->first + 1; i-- > 0;) {
		Stmt *loop = stmt_with(w->program->arena, innermost(w), body);
		loop->iter = i == w->first ? four : w->loops[i]->iter;
		loop->hi = ix_size(w->program->arena, extents[i]);
		loop->threads = threads[i];
		body = block_one(w->program->arena, loop);
	}
	return body;
}

Block wide_elements(const Wide *w, const Ix *first, IterVar lane)
{
	Sizes *sizes = w->program->sizes;
	const Ix *at = ix_add(w->program, first, ix_iter(w->program->arena, lane));
	Quads q = {lane, first, at};
	Body body = {0};
	body_append(w->program->arena, &body, whole_four(w, &q));
	if (!size_divides(sizes, size_const(sizes, w->width), w->extent))
		body_append(w->program->arena, &body, single_elements(w, &q));
	return body_block(&body);
}

static void make(Wide *w)
{
	Sym name = w->kernel->iters[innermost(w)->iter].name;
	IterVar four = bind_iter(w->program, w->kernel, "four");
	IterVar lane = bind_iter(w->program, w->kernel, name);
	const Ix *first = ix_times(w->program, ix_iter(w->program->arena, four), w->width);
	w->kernel->body = in_grid(w, four, wide_elements(w, first, lane));
}

static Wide wide_of(const Transform *t, Kernel *kernel)
{
	return (Wide){.program = t->program,
		      .gpu = t->options->gpu,
		      .kernel = kernel,
		      .width = QUAD,
		      .steps = QUAD};
}

bool wide_pays(const Transform *t, Kernel *kernel)
{
	Wide w = wide_of(t, kernel);
	return pays(&w);
}

void bind_wide(const Transform *t, Kernel *kernel)
{
	Wide w = wide_of(t, kernel);
	REQUIRE(pays(&w));
	make(&w);
}
