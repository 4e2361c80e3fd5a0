/* Tensors that are made of indices alone, or of elements of four bits, are computed where they are read.
 *
 *   kernel seen  for i, k: seen[i*n + k] = f32(i32(i) >= i32(k))        (gone)
 *   kernel y     ... where(seen[row*n + key], ..., -inf)           ->   ... where(f32(i32(row) >= i32(key)), ..., -inf)
 *
 * Where one kernel stores every element of the temporary, in a few operations, and every load moves with one iterator for each of that
 * kernel's loops, of as many iterations. Operations load nothing, or what no kernel stores, elements of four bits among it: then few
 * iterations of the loops around a load have the same element, but where these are cast alone.
 */
#include <string.h>

#include "loops/dependence.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/gpu/indices.h"

enum { OPERATIONS_MOST = 6, LOADS_MOST = 8 };

/* The kernel that stores a tensor: its loops, and what it stores. */
typedef struct Maker {
	const Kernel *kernel;
	LoopNest nest;
	const Stmt *store;
	int64_t most; /* iterations that may read an element */
} Maker;

/* ---- who makes it ---- */

typedef struct Work {
	const RoutineKernels *x;
	uint32_t operations;	   /* by their cost: a function is no few */
	bool loads, packed, wrong; /* packed: loads of four bits */
} Work;

static bool is_stored(const RoutineKernels *x, BufferId buffer)
{
	bool stored = x->program->buffers.at[buffer].kind == BUFFER_TEMP;
	for (uint32_t i = 0; i < x->n && !stored; i++) {
		const BufferUse *use = routine_use(x, i, buffer);
		stored = use && use->stored;
	}
	return stored;
}

static void see_work(void *of, const Value *value)
{
	Work *work = of;
	work->operations += value->kind == VALUE_OP	? op_cost(value->op)
			    : value->kind == VALUE_CAST ? 1
							: 0;
	work->wrong |= value->kind == VALUE_LOCAL || (value->ix && value->ix->reads);
	if (value->kind != VALUE_LOAD)
		return;
	work->loads = true;
	work->packed |= dtype_is_packed(work->x->program->buffers.at[value->buffer].dtype);
	work->wrong |= is_stored(work->x, value->buffer);
}

/* What may be computed where it is read; *most: of several operations on loads by so many iterations each element. */
static bool is_computed_again(const RoutineKernels *x, const Value *value, int64_t *most)
{
	Work work = {.x = x};
	value_each(value, see_work, &work);
	*most = !work.loads || work.operations == 1 ? INT64_MAX : *most;
	return !work.wrong && (work.packed || !work.loads) && work.operations <= OPERATIONS_MOST;
}

/* Is every element stored, at the place that the loops' numbers say? */
static bool is_whole(const RoutineKernels *x, const Maker *maker)
{
	Sizes *sizes = x->program->sizes;
	Size inside = size_const(sizes, 1);
	for (uint32_t i = maker->nest.n; i-- > 0;) {
		Size stride = ix_stride(x->program, maker->store->ix, maker->nest.loops[i]->iter);
		if (size_is_bad(stride) || !size_same(stride, inside))
			return false;
		inside = size_mul(sizes, inside, maker->nest.loops[i]->hi->size);
	}
	Linear linear = ix_linear(x->program, maker->store->ix);
	const Buffer *buffer = &x->program->buffers.at[maker->store->buffer];
	return linear.terms.n == maker->nest.n && size_is(sizes, linear.offset, 0) &&
	       size_same(inside, buffer->elements) && buffer->kind == BUFFER_TEMP &&
	       dtype_wide(buffer->dtype) == buffer->dtype;
}

/* With the GPU's `most`, which holds for some. */
static bool maker_of(const RoutineKernels *x, const Kernel *kernel, int64_t most, Maker *maker)
{
	*maker = (Maker){.kernel = kernel, .nest = block_nest(kernel->body), .most = most};
	maker->store = block_only(maker->nest.body);
	return maker->store && maker->store->kind == LOOP_STORE && maker->store->acc == OP_NONE &&
	       nest_counts_from_zero(x->program->sizes, &maker->nest) && is_whole(x, maker) &&
	       is_computed_again(x, maker->store->value, &maker->most);
}

/* ---- who reads it ---- */

static void list_loop(void *of, const Stmt *stmt)
{
	const Stmt **loops = of;
	if (stmt->kind == LOOP_FOR)
		loops[stmt->iter] = stmt;
}

const Stmt *const *loops_by_iter(Arena *arena, const Kernel *kernel)
{
	const Stmt **loops = ARENA_ARRAY(arena, const Stmt *, kernel->niters + 1);
	memset(loops, 0, (kernel->niters + 1) * sizeof *loops);
	block_each(kernel->body, list_loop, loops);
	return loops;
}

typedef struct Reader {
	const RoutineKernels *x;
	const Maker *maker;
	Kernel *kernel;
	const Stmt *const *loops;
	ValueTwin twins[LOADS_MOST]; /* loads, and what is stored there */
	uint32_t n;
	bool wrong;
} Reader;

/* The iterator of as many iterations that moves the index as far as the maker's loop does; UINT32_MAX: none does. */
static IterVar iter_like(const Reader *r, const Ix *ix, uint32_t loop)
{
	Program *program = r->x->program;
	const Stmt *like = r->maker->nest.loops[loop];
	Size stride = ix_stride(program, r->maker->store->ix, like->iter);
	Linear linear = ix_linear(program, ix);
	for (size_t i = 0; i < linear.terms.n; i++) {
		const LinearTerm *term = &linear.terms.at[i];
		const Stmt *own = term->atom->kind == IX_ITER ? r->loops[term->atom->iter] : NULL;
		if (own && size_same(term->coef, stride) &&
		    loop_counts_from_zero(r->x->program->sizes, own) &&
		    size_same(own->hi->size, like->hi->size))
			return own->iter;
	}
	return UINT32_MAX;
}

static const Value *value_at(const Reader *r, const Ix *ix)
{
	Arena *arena = r->x->program->arena;
	const Ix **iters = kernel_iters(arena, r->maker->kernel, 0);
	Linear linear = ix_linear(r->x->program, ix);
	if (linear.terms.n != r->maker->nest.n || !size_is(r->x->program->sizes, linear.offset, 0))
		return NULL;
	for (uint32_t i = 0; i < r->maker->nest.n; i++) {
		IterVar iter = iter_like(r, ix, i);
		if (iter == UINT32_MAX)
			return NULL;
		iters[r->maker->nest.loops[i]->iter] = ix_iter(arena, iter);
	}
	Rewrite rewrite = {.program = r->x->program, .iters = iters};
	return rewrite_alone(&rewrite, r->maker->store->value);
}

/* Do no more iterations of the kernel's loops than may have one element at such an index? */
static bool is_read_seldom(const Reader *r, const Ix *ix)
{
	return loops_readers(r->x->program->sizes, r->loops, r->kernel->niters, ix) <= r->maker->most;
}

static void see_load(void *of, const Value *value)
{
	Reader *r = of;
	if (value->kind != VALUE_LOAD || value->buffer != r->maker->store->buffer)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		if (value_same(r->twins[i].value, value))
			return;
	bool may = r->n < LOADS_MOST && is_read_seldom(r, value->ix);
	const Value *twin = may ? value_at(r, value->ix) : NULL;
	r->wrong |= !twin;
	if (twin)
		r->twins[r->n++] = (ValueTwin){value, twin};
}

static void see_index(void *of, const Ix *ix) { ((Reader *)of)->wrong |= ix->reads; }

static void see_loads(void *of, const Stmt *stmt)
{
	stmt_each_ix(stmt, see_index, of);
	if (stmt->value)
		value_each(stmt->value, see_load, of);
}

static Reader reader_of(const RoutineKernels *x, const Maker *maker, uint32_t i)
{
	Kernel *kernel = &x->at[i];
	Reader r = {.x = x, .maker = maker, .kernel = kernel};
	r.loops = loops_by_iter(x->scratch, kernel);
	block_each(kernel->body, see_loads, &r);
	return r;
}

/* Do all other kernels that touch it load it where it can be computed, in the same steps? */
static bool may_go(const RoutineKernels *x, uint32_t at, const Maker *maker)
{
	bool may = !program_loops_use(x->program, maker->store->buffer);
	for (uint32_t i = 0; i < x->n && may; i++) {
		const BufferUse *use = i == at ? NULL : routine_use(x, i, maker->store->buffer);
		may = !use || (i > at && !use->stored && x->at[i].loop == maker->kernel->loop &&
			       !reader_of(x, maker, i).wrong);
	}
	return may;
}

static void compute_in(const RoutineKernels *x, const Maker *maker, uint32_t i)
{
	Reader r = reader_of(x, maker, i);
	Rewrite rewrite = {.program = x->program,
			   .iters = kernel_iters(x->program->arena, r.kernel, 0),
			   .values = r.twins,
			   .nvalues = r.n,
			   .span = r.kernel->span};
	r.kernel->body = rewrite_block(&rewrite, r.kernel->body);
}

static uint32_t indices_routine(const Transform *t, Kernel *kernels, uint32_t nkernels)
{
	RoutineKernels x = {t->program, t->scratch, kernels, nkernels, kernel_uses_new(t->scratch)};
	Kernel *left = ARENA_ARRAY(t->scratch, Kernel, nkernels + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < nkernels; i++) {
		Maker maker;
		if (!maker_of(&x, &x.at[i], t->options->gpu->row_vectors, &maker) || !may_go(&x, i, &maker)) {
			left[n++] = kernels[i];
			continue;
		}
		for (uint32_t k = i + 1; k < nkernels; k++)
			if (routine_use(&x, k, maker.store->buffer))
				compute_in(&x, &maker, k);
		buffer_forget(t->program, maker.store->buffer);
	}
	memcpy(kernels, left, n * sizeof *left);
	return pairs_routine(t, kernels, n);
}

void transform_indices(Transform *t)
{
	t->changed = t->options->gpu && routines_change(t, indices_routine);
}
