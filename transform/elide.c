/* Copies of whole temporaries that are spared: what is copied into a part of another buffer is stored
 * there in the first place.
 *
 *   kernel a    a[i] = ...                        kernel a    all[i] = ...
 *   kernel b    b[i] = ... a[i] ...          ->   kernel b    all[i + n] = ... all[i] ...
 *   kernel all  for i in 0..n: all[i] = a[i]
 *               for i in 0..n: all[i + n] = b[i]
 *
 * The nests of the kernel that copies store parts of `all` that lie one behind the other, and no other
 * kernel stores into `all`, nor touches it before. A temporary is not stored any more behind the copy. Where
 * `all` is a result, no check of indices stands between: a routine whose check fails has written nothing.
 */
#include "base/size_order.h"
#include "loops/dependence.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/transform.h"

typedef struct PartCopy {
	BufferId to, from;
	Size first; /* where in `to` it begins */
} PartCopy;

/* What the routine's kernels do with a buffer, by their places in it. */
typedef struct Touched {
	uint32_t first, last_store;
	bool any, stored, loaded_first, many_store;
} Touched;

typedef struct Elide {
	const Transform *transform;
	Program *program;
	Kernel *kernels; /* the routine's */
	uint32_t n;
	BufferUses *uses;   /* by kernel */
	uint32_t *checks;   /* how many of the kernels before have checks */
	Touched *touched;   /* by buffer */
	bool *gone;	    /* by kernel */
	BufferTwin *twin;   /* by buffer; kind NONE: it stays */
	const Ix **offsets; /* likewise */
	bool any;
} Elide;

/* ---- what kernels touch ---- */

static void see_use(Touched *touched, const BufferUse *use, uint32_t k)
{
	if (!touched->any) {
		touched->any = true;
		touched->first = k;
		touched->loaded_first = use->loaded && !use->stored;
	}
	if (use->stored) {
		touched->many_store = touched->stored;
		touched->stored = true;
		touched->last_store = k;
	}
}

static void see_kernels(Elide *e)
{
	Arena *scratch = e->transform->scratch;
	for (uint32_t k = 0; k < e->n; k++) {
		e->uses[k] = kernel_buffers(scratch, &e->kernels[k]);
		e->checks[k + 1] = e->checks[k] + (block_find(e->kernels[k].body, stmt_is_check, NULL) != NULL);
		for (size_t u = 0; u < e->uses[k].n; u++)
			see_use(&e->touched[e->uses[k].at[u].buffer], &e->uses[k].at[u], k);
	}
}

/* ---- copies ---- */

/* to[first + i] = from[i] for each i of `from`. */
static bool is_part_copy(const Elide *e, const Stmt *loop, PartCopy *copy)
{
	Program *program = e->program;
	const Stmt *store = block_only(loop->body);
	if (!store || store->kind != LOOP_STORE || store->acc != OP_NONE ||
	    store->value->kind != VALUE_LOAD || loop->step != 1 || loop->lo->kind != IX_SIZE ||
	    loop->hi->kind != IX_SIZE || !size_is(program->sizes, loop->lo->size, 0))
		return false;
	const Ix *read = store->value->ix;
	Linear at = ix_linear(program, store->ix);
	bool plain = at.terms.n == 1 && at.terms.at[0].atom->kind == IX_ITER &&
		     at.terms.at[0].atom->iter == loop->iter &&
		     size_is(program->sizes, at.terms.at[0].coef, 1);
	*copy = (PartCopy){store->buffer, store->value->buffer, at.offset};
	return plain && read->kind == IX_ITER && read->iter == loop->iter &&
	       size_same(loop->hi->size, program->buffers.at[copy->from].elements);
}

/* The only store in the nest; NULL: there are others, or other loops than from 0 to a size. */
static const Stmt *store_of(const Elide *e, const Stmt *nest, Linear *at, Size *most)
{
	Sizes *sizes = e->program->sizes;
	if (nest->kind == LOOP_STORE) {
		*at = ix_linear(e->program, nest->ix);
		*most = at->offset;
		return nest;
	}
	if (nest->kind != LOOP_FOR || nest->body.n != 1 || nest->step != 1 ||
	    nest->lo->kind != IX_SIZE || nest->hi->kind != IX_SIZE ||
	    !size_is(sizes, nest->lo->size, 0))
		return NULL;
	const Stmt *store = store_of(e, nest->body.stmts[0], at, most);
	for (size_t i = 0; store && i < at->terms.n; i++) {
		const LinearTerm *term = &at->terms.at[i];
		if (term->atom->kind != IX_ITER)
			return NULL;
		if (term->atom->iter != nest->iter)
			continue;
		if (!size_ge(sizes, term->coef, size_const(sizes, 0)))
			return NULL;
		*most = size_add(sizes, *most,
				 size_mul(sizes, term->coef, size_plus(sizes, nest->hi->size, -1)));
	}
	return store;
}

/* Do the kernel's nests store into one buffer, each behind what the one before it reaches? */
static bool stores_in_order(const Elide *e, const Kernel *kernel, BufferId *to)
{
	Sizes *sizes = e->program->sizes;
	Size end = size_const(sizes, 0);
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		Linear at;
		Size most;
		const Stmt *store = store_of(e, kernel->body.stmts[i], &at, &most);
		if (!store || (i > 0 && store->buffer != *to) || size_is_bad(most) ||
		    !size_ge(sizes, at.offset, end))
			return false;
		*to = store->buffer;
		end = size_plus(sizes, most, 1);
	}
	return kernel->body.n > 0;
}

/* ---- which may go ---- */

static bool has_plain_memory(const Elide *e, BufferId buffer)
{
	const Buffer *b = &e->program->buffers.at[buffer];
	return (b->kind == BUFFER_TEMP || b->kind == BUFFER_OUTPUT) && !b->scratch && !b->shared &&
	       !b->padded && !program_loops_use(e->program, buffer);
}

static bool may_elide(const Elide *e, uint32_t k, const PartCopy *copy)
{
	const Program *program = e->program;
	const Buffer *to = &program->buffers.at[copy->to], *from = &program->buffers.at[copy->from];
	const Touched *source = &e->touched[copy->from];
	if (from->kind != BUFFER_TEMP || from->dtype != to->dtype || !has_plain_memory(e, copy->from) ||
	    e->twin[copy->from].kind != TWIN_NONE || !source->stored || source->loaded_first ||
	    source->last_store >= k)
		return false;
	return to->kind == BUFFER_TEMP || e->checks[k + 1] == e->checks[source->first];
}

/* The nests of the kernel that are needed. */
static void elide_in(Elide *e, uint32_t k)
{
	Arena *arena = e->program->arena;
	Kernel *kernel = &e->kernels[k];
	BufferId target;
	if (kernel->loop || !stores_in_order(e, kernel, &target) || !has_plain_memory(e, target) ||
	    e->touched[target].first < k || e->touched[target].many_store)
		return;
	Body body = {0};
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		PartCopy copy;
		const Stmt *nest = kernel->body.stmts[i];
		if (nest->kind != LOOP_FOR || !is_part_copy(e, nest, &copy) ||
		    !may_elide(e, k, &copy)) {
			PUSH(arena, body.stmts, nest);
			continue;
		}
		e->any = true;
		e->twin[copy.from] = (BufferTwin){
			.kind = TWIN_BUFFER, .buffer = copy.from, .id = copy.to};
		e->offsets[copy.from] = ix_size(arena, copy.first);
	}
	kernel->body = body_block(&body);
	e->gone[k] = body.stmts.n == 0;
}

/* ---- the change ---- */

/* Where what stands in a temporary is another's part too, it is the last one's. */
static void follow(Elide *e)
{
	for (BufferId b = 0; b < e->program->buffers.n; b++)
		while (e->twin[b].kind && e->twin[e->twin[b].id].kind) { /* falls: parts of wholes */
			BufferId over = e->twin[b].id;
			e->offsets[b] = ix_add(e->program, e->offsets[b], e->offsets[over]);
			e->twin[b].id = e->twin[over].id;
		}
}

static void move_kernel(const Elide *e, uint32_t k)
{
	Kernel *kernel = &e->kernels[k];
	const BufferUses *uses = &e->uses[k];
	Arena *scratch = e->transform->scratch;
	BufferTwin *twins = ARENA_ARRAY(scratch, BufferTwin, uses->n + 1);
	BufferOffset *offsets = ARENA_ARRAY(scratch, BufferOffset, uses->n + 1);
	uint32_t n = 0;
	for (size_t u = 0; u < uses->n; u++) {
		BufferId buffer = uses->at[u].buffer;
		if (e->twin[buffer].kind == TWIN_NONE)
			continue;
		offsets[n] = (BufferOffset){buffer, e->offsets[buffer]};
		twins[n++] = e->twin[buffer];
	}
	if (n == 0)
		return;
	Rewrite rewrite = {.program = e->program,
			   .iters = kernel_iters(e->program->arena, kernel, 0),
			   .renames = true,
			   .twins = twins,
			   .ntwins = n,
			   .offsets = offsets,
			   .noffsets = n,
			   .span = kernel->span};
	kernel->body = rewrite_block(&rewrite, kernel->body);
}

static uint32_t elide_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	size_t nbuffers = t->program->buffers.n + 1;
	Elide e = {.transform = t, .program = t->program, .kernels = kernels, .n = n};
	e.uses = ARENA_ARRAY(t->scratch, BufferUses, n + 1);
	e.checks = ARENA_ARRAY(t->scratch, uint32_t, n + 1);
	e.gone = ARENA_ARRAY(t->scratch, bool, n + 1);
	e.touched = ARENA_ARRAY(t->scratch, Touched, nbuffers);
	e.twin = ARENA_ARRAY(t->scratch, BufferTwin, nbuffers);
	e.offsets = ARENA_ARRAY(t->scratch, const Ix *, nbuffers);
	see_kernels(&e);
	for (uint32_t k = 0; k < n; k++)
		elide_in(&e, k);
	if (!e.any)
		return n;
	follow(&e);
	uint32_t left = 0;
	for (uint32_t k = 0; k < n; k++) {
		move_kernel(&e, k);
		if (!e.gone[k])
			kernels[left++] = kernels[k];
	}
	for (BufferId b = 0; b + 1 < nbuffers; b++)
		if (e.twin[b].kind != TWIN_NONE) {
			t->program->buffers.at[b].home = e.twin[b].id;
			buffer_forget(t->program, b);
		}
	return left;
}

static uint32_t count_homes(const Program *program)
{
	uint32_t n = 0;
	for (BufferId b = 0; b < program->buffers.n; b++)
		n += program->buffers.at[b].home == b;
	return n;
}

void transform_elide(Transform *t)
{
	uint32_t before = count_homes(t->program);
	routines_change(t, elide_routine);
	t->changed = count_homes(t->program) < before;
}
