/* Places of temporaries in one workspace, by lifetime.
 *
 * A temporary lives from the first kernel that touches it to the last; one that is touched inside a loop
 * and outside of it, or ends the loop, through all of the loop. Kernels are walked in order:
 * those that begin take the tightest gap that is free, those that end give theirs back. Constant
 * sizes share one area of bytes; a symbolic size shares a slot with others where it is provably no
 * greater. A kernel may write over an operand that dies in it when it reads each element where it stores that or in
 * a loop before that runs over the same, and not behind its store.
 *
 *   workspace := constant area | slot | slot | ...      all multiples of 64 bytes
 */
#include <stdlib.h>

#include "base/size_fits.h"
#include "base/size_order.h"
#include "loops/dependence.h"
#include "transform/entry.h"
#include "transform/memory.h"
#include "loops/steps.h"
#include "loops/walk.h"

typedef struct Gap {
	int64_t at, bytes;
} Gap;

typedef struct Slot {
	Size bytes;
	bool busy;
	uint32_t id;
} Slot;

typedef VEC(uint32_t) LifeIds;

typedef struct Plan {
	Program *program;
	Sizes *sizes;
	Arena *arena;
	BufferUses *uses; /* by kernel of the routine */
	Lives lives;
	uint32_t *life_of; /* by BufferId: its life + 1 */
	VEC(Gap) gaps;     /* by place; the last reaches to infinity */
	int64_t top;       /* bytes of the constant area */
	VEC(Slot) slots;
	uint32_t *slot_of; /* by life: its slot + 1, or 0 for a constant one */
	int64_t *place_of; /* by life: bytes in the constant area */
} Plan;

/* ---- lifetimes ---- */

static void find_lives(Plan *p, const KernelId *kernels, uint32_t nkernels)
{
	for (uint32_t k = 0; k < nkernels; k++) {
		BufferUses uses = kernel_buffers(p->arena, &p->program->kernels.at[kernels[k]]);
		p->uses[k] = uses;
		for (size_t i = 0; i < uses.n; i++) {
			const Buffer *buffer = &p->program->buffers.at[uses.at[i].buffer];
			if (buffer->kind != BUFFER_TEMP || buffer->shared)
				continue;
			uint32_t *life = &p->life_of[uses.at[i].buffer];
			if (*life == 0) {
				PUSH(p->arena, p->lives,
				     ((Life){.buffer = uses.at[i].buffer,
					     .first = k,
					     .over = BUFFER_NONE,
					     .bytes = bytes_aligned(p->sizes,
								    buffer->elements,
								    buffer->dtype)}));
				*life = (uint32_t)p->lives.n;
			}
			p->lives.at[*life - 1].last = k;
		}
	}
}

/* ---- loops ---- */

typedef struct LoopSpan {
	uint32_t first, last; /* kernels of the routine */
	bool any;
} LoopSpan;

static bool is_in(const Plan *p, const KernelId *kernels, uint32_t k, uint32_t loop)
{
	return program_loop_in(p->program, p->program->kernels.at[kernels[k]].loop, loop);
}

static LoopSpan span_of(const Plan *p, const KernelId *kernels, uint32_t nkernels, uint32_t loop)
{
	LoopSpan span = {0};
	for (uint32_t k = 0; k < nkernels; k++) {
		if (!is_in(p, kernels, k, loop))
			continue;
		span.first = span.any ? span.first : k;
		span.last = k;
		span.any = true;
	}
	return span;
}

static bool is_carried(const ProgramLoop *loop, BufferId buffer)
{
	bool carried = loop->until == buffer;
	for (uint32_t i = 0; i < loop->nexchanges; i++)
		carried |= loop->exchanges[i].a == buffer || loop->exchanges[i].b == buffer;
	return carried;
}

/* What says how many steps a loop makes is read right before the first. */
static void live_before(Plan *p, LoopSpan span, const ProgramLoop *loop)
{
	uint32_t life = loop->made == BUFFER_NONE ? 0 : p->life_of[loop->made];
	if (life && p->lives.at[life - 1].last < span.first)
		p->lives.at[life - 1].last = span.first;
}

/* What a loop does not make and use up in each step keeps its place through all of them. */
static void live_through(Plan *p, LoopSpan span, const ProgramLoop *loop)
{
	for (size_t i = 0; i < p->lives.n; i++) {
		Life *life = &p->lives.at[i];
		bool meets = life->first <= span.last && life->last >= span.first;
		bool inside = life->first >= span.first && life->last <= span.last;
		if (!meets || (inside && !is_carried(loop, life->buffer)))
			continue;
		life->first = life->first < span.first ? life->first : span.first;
		life->last = life->last > span.last ? life->last : span.last;
	}
}

/* Either place of a pair may hold what either buffer does; and what the ones that these are exchanged for do. */
static void live_together(Plan *p, const ProgramLoop *loop)
{
	for (uint32_t i = 0; i < loop->nexchanges * loop->nexchanges; i++) {
		const BufferPair *pair = &loop->exchanges[i % loop->nexchanges];
		uint32_t x = p->life_of[pair->a], y = p->life_of[pair->b];
		if (!x || !y)
			continue;
		Life *a = &p->lives.at[x - 1], *b = &p->lives.at[y - 1];
		a->first = b->first = a->first < b->first ? a->first : b->first;
		a->last = b->last = a->last > b->last ? a->last : b->last;
	}
}

static int by_first(const void *a, const void *b)
{
	const Life *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->buffer < y->buffer ? -1 : 1;
}

/* Inner loops stand behind outer ones. */
static void live_through_loops(Plan *p, const KernelId *kernels, uint32_t nkernels)
{
	bool any = false;
	for (uint32_t loop = (uint32_t)p->program->loops.n; loop-- > 1;) {
		LoopSpan span = span_of(p, kernels, nkernels, loop);
		if (span.any) {
			live_before(p, span, &p->program->loops.at[loop]);
			live_through(p, span, &p->program->loops.at[loop]);
			live_together(p, &p->program->loops.at[loop]);
		}
		any |= span.any;
	}
	if (!any || p->lives.n == 0)
		return;
	qsort(p->lives.at, p->lives.n, sizeof *p->lives.at, by_first);
	for (size_t i = 0; i < p->lives.n; i++)
		p->life_of[p->lives.at[i].buffer] = (uint32_t)i + 1;
}

/* ---- operands that are written over ---- */

static const Stmt *only_store(const Block *block, BufferId buffer, uint32_t *n)
{
	const Stmt *found = NULL;
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (stmt->kind == LOOP_STORE && stmt->buffer == buffer) {
			(*n)++;
			found = stmt;
		}
		const Stmt *inside = only_store(&stmt->body, buffer, n);
		found = inside ? inside : found;
	}
	return found;
}

/* Does the store, which is in the block, meet an element once at most? Every loop around it moves its
 * index; chunks of a parallel loop share out one that does. */
static bool is_once(const Block *block, const Stmt *store)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (stmt == store)
			return true;
		if (is_once(&stmt->body, store))
			return stmt->kind != LOOP_FOR || stmt->loop == LOOP_PARALLEL ||
			       ix_uses(store->ix, stmt->iter);
	}
	return false;
}

/* May the buffer be written over the operand `from`, both in one place? There is one store, no
 * accumulation, each element once; every load of the operand is of an element that is stored in the same iteration, and
 * none comes behind the store. */
static bool may_overwrite(const Plan *p, const Kernel *kernel, BufferId to, BufferId from)
{
	const Buffer *a = &p->program->buffers.at[to], *b = &p->program->buffers.at[from];
	if (!size_same(a->elements, b->elements) || dtype_bytes(a->dtype) != dtype_bytes(b->dtype) ||
	    dtype_is_packed(a->dtype) != dtype_is_packed(b->dtype))
		return false;
	uint32_t nstores = 0;
	const Stmt *store = only_store(&kernel->body, to, &nstores);
	if (nstores != 1 || store->acc != OP_NONE || !is_once(&kernel->body, store))
		return false;
	return kernel_reads_at_store(p->program, kernel, store, from);
}

static void find_overwrites(Plan *p, const KernelId *kernels)
{
	for (size_t i = 0; i < p->lives.n; i++) {
		Life *life = &p->lives.at[i];
		const Kernel *kernel = &p->program->kernels.at[kernels[life->first]];
		BufferUses uses = p->uses[life->first];
		for (size_t u = 0; u < uses.n && life->over == BUFFER_NONE; u++) {
			uint32_t other = p->life_of[uses.at[u].buffer];
			if (other == 0 || other - 1 == i || uses.at[u].stored)
				continue;
			const Life *dying = &p->lives.at[other - 1];
			if (dying->last == life->first && dying->first < life->first &&
			    may_overwrite(p, kernel, life->buffer, dying->buffer))
				life->over = dying->buffer;
		}
	}
}

/* ---- the constant area ---- */

static int64_t gap_take(Plan *p, int64_t bytes)
{
	size_t best = p->gaps.n - 1;
	for (size_t i = 0; i + 1 < p->gaps.n; i++)
		if (p->gaps.at[i].bytes >= bytes &&
		    (best == p->gaps.n - 1 || p->gaps.at[i].bytes < p->gaps.at[best].bytes))
			best = i;
	Gap *gap = &p->gaps.at[best];
	int64_t at = gap->at;
	gap->at += bytes;
	gap->bytes -= bytes;
	if (at + bytes > p->top)
		p->top = at + bytes;
	return at;
}

static void gap_give(Plan *p, int64_t at, int64_t bytes)
{
	size_t i = 0;
	while (p->gaps.at[i].at < at)
		i++;
	PUSH(p->arena, p->gaps, (Gap){0});
	for (size_t k = p->gaps.n - 1; k > i; k--)
		p->gaps.at[k] = p->gaps.at[k - 1];
	p->gaps.at[i] = (Gap){at, bytes};
	size_t out = 0;
	for (size_t k = 1; k < p->gaps.n; k++) { /* joins neighbours, drops empty ones */
		Gap *last = &p->gaps.at[out], next = p->gaps.at[k];
		if (last->bytes == 0 || last->at + last->bytes == next.at) {
			int64_t start = last->bytes == 0 ? next.at : last->at;
			*last = (Gap){start, next.at + next.bytes - start};
		} else {
			p->gaps.at[++out] = next;
		}
	}
	p->gaps.n = out + 1;
}

/* ---- slots of symbolic sizes ---- */

static uint32_t slot_take(Plan *p, Size bytes)
{
	uint32_t best = UINT32_MAX;
	for (uint32_t i = 0; i < p->slots.n; i++) {
		if (p->slots.at[i].busy || !size_ge(p->sizes, p->slots.at[i].bytes, bytes))
			continue;
		if (best == UINT32_MAX ||
		    !size_ge(p->sizes, p->slots.at[i].bytes, p->slots.at[best].bytes))
			best = i;
	}
	for (uint32_t i = 0; i < p->slots.n && best == UINT32_MAX; i++)
		if (!p->slots.at[i].busy && size_ge(p->sizes, bytes, p->slots.at[i].bytes)) {
			best = i; /* it grows: its place is only fixed at the end */
			p->slots.at[i].bytes = bytes;
		}
	if (best == UINT32_MAX) {
		best = (uint32_t)p->slots.n;
		PUSH(p->arena, p->slots, ((Slot){.bytes = bytes}));
	}
	p->slots.at[best].busy = true;
	return best;
}

/* ---- in order ---- */

static void begin(Plan *p, uint32_t life)
{
	const Life *l = &p->lives.at[life];
	int64_t bytes;
	if (l->over != BUFFER_NONE) {
		uint32_t other = p->life_of[l->over] - 1;
		p->slot_of[life] = p->slot_of[other];
		p->place_of[life] = p->place_of[other];
	} else if (size_is_const(p->sizes, l->bytes, &bytes)) {
		p->place_of[life] = gap_take(p, bytes);
	} else {
		p->slot_of[life] = slot_take(p, l->bytes) + 1;
	}
}

static void end(Plan *p, uint32_t life)
{
	const Life *l = &p->lives.at[life];
	int64_t bytes;
	if (p->slot_of[life])
		p->slots.at[p->slot_of[life] - 1].busy = false;
	else if (size_is_const(p->sizes, l->bytes, &bytes) && bytes > 0)
		gap_give(p, p->place_of[life], bytes);
}

/* Begins what begins at each kernel, then ends what ends, except where it was written over. */
static void walk(Plan *p, uint32_t nkernels)
{
	size_t next = 0; /* lives are in the order of their first kernels */
	LifeIds *ending = ARENA_ARRAY(p->arena, LifeIds, nkernels + 1);
	bool *taken = ARENA_ARRAY(p->arena, bool, p->lives.n + 1);
	for (uint32_t i = 0; i < p->lives.n; i++) {
		PUSH(p->arena, ending[p->lives.at[i].last], i);
		if (p->lives.at[i].over != BUFFER_NONE) {
			uint32_t other = p->life_of[p->lives.at[i].over] - 1;
			if (taken[other])
				p->lives.at[i].over = BUFFER_NONE; /* another has taken its place */
			taken[other] = true;
		}
	}
	for (uint32_t k = 0; k < nkernels; k++) {
		for (; next < p->lives.n && p->lives.at[next].first == k; next++)
			begin(p, (uint32_t)next);
		for (size_t i = 0; i < ending[k].n; i++)
			if (!taken[ending[k].at[i]])
				end(p, ending[k].at[i]);
	}
}

static Size fix_places(Plan *p)
{
	Sizes *sizes = p->sizes;
	Size total = size_const(sizes, p->top);
	Size *starts = ARENA_ARRAY(p->arena, Size, p->slots.n + 1);
	for (size_t i = 0; i < p->slots.n; i++) {
		starts[i] = total;
		total = size_total(sizes, total, p->slots.at[i].bytes);
	}
	for (size_t i = 0; i < p->lives.n; i++)
		p->program->buffers.at[p->lives.at[i].buffer].offset =
			p->slot_of[i] ? starts[p->slot_of[i] - 1]
				      : size_const(sizes, p->place_of[i]);
	return total;
}

/* Gives every temporary of the routine its place; its workspace. */
static Lives plan_memory(const Transform *t, ProgramRoutine *routine)
{
	Plan p = {.program = t->program, .sizes = t->program->sizes, .arena = t->scratch};
	p.life_of = ARENA_ARRAY(p.arena, uint32_t, p.program->buffers.n + 1);
	p.uses = ARENA_ARRAY(p.arena, BufferUses, routine->nkernels + 1);
	find_lives(&p, routine->kernels, routine->nkernels);
	live_through_loops(&p, routine->kernels, routine->nkernels);
	p.slot_of = ARENA_ARRAY(p.arena, uint32_t, p.lives.n + 1);
	p.place_of = ARENA_ARRAY(p.arena, int64_t, p.lives.n + 1);
	PUSH(p.arena, p.gaps, ((Gap){0, INT64_MAX / 2}));
	find_overwrites(&p, routine->kernels);
	walk(&p, routine->nkernels);
	routine->workspace = fix_places(&p);
	return p.lives;
}

static void plan_routine(const Transform *t, ProgramRoutine *routine)
{
	Lives lives = plan_memory(t, routine);
	CheckId check = t->options->max_workspace ? memory_check(t, &lives, routine) : CHECK_NONE;
	entry_check_sizes(t, routine);
	entry_list_dims(t, routine);
	entry_check_arguments(t, routine);
	entry_list_guards(t, routine, check);
}

/* Copies and functions of parameters stand behind these in the state, behind a line for the stamp. */
static void place_copies(const Transform *t)
{
	Program *program = t->program;
	Sizes *sizes = program->sizes;
	if (program->pack.nkernels == 0)
		return;
	program->stamp = program->state;
	program->state = size_total(sizes, program->state, size_const(sizes, BUFFER_ALIGNMENT));
	for (size_t i = 0; i < program->buffers.n; i++) {
		Buffer *buffer = &program->buffers.at[i];
		if (buffer->kind != BUFFER_PACKED)
			continue;
		buffer->offset = program->state;
		program->state = size_total(sizes, program->state,
					    bytes_aligned(sizes, buffer->elements, buffer->dtype));
	}
	size_fits(t->diags, sizes, program->state, SPAN_NONE,
		  "the number of bytes of the state, parameters and their packed copies,");
}

/* Temporaries of `init` lie in the state, behind the parameters: copies are made of these later. For a GPU it
 * has a workspace. */
static void plan_init(const Transform *t, Size behind)
{
	Program *program = t->program;
	Sizes *sizes = program->sizes;
	Lives lives = plan_memory(t, &program->init);
	if (t->options->gpu) {
		entry_check_sizes(t, &program->init);
		return;
	}
	Size end = size_total(sizes, behind, program->init.workspace);
	for (size_t i = 0; i < lives.n; i++) {
		Buffer *buffer = &program->buffers.at[lives.at[i].buffer];
		buffer->offset = size_total(sizes, behind, buffer->offset);
	}
	if (!size_ge(sizes, program->state, end))
		program->state =
			size_ge(sizes, end, program->state)
				? end
				: size_total(sizes, program->state, program->init.workspace);
	size_fits(t->diags, sizes, program->state, SPAN_NONE,
		  "the number of bytes of the state, parameters and what they start from,");
	program->init.workspace = size_const(sizes, 0);
	entry_check_sizes(t, &program->init);
}

void transform_memory(Transform *t)
{
	Program *program = t->program;
	for (size_t r = 0; r < program->routines.n; r++)
		plan_routine(t, &program->routines.at[r]);
	Size behind = program->state;
	place_copies(t);
	if (program->pack.nkernels)
		behind = size_total(program->sizes, behind,
				    size_const(program->sizes, BUFFER_ALIGNMENT));
	if (program->init.nkernels)
		plan_init(t, behind);
	entry_list_dims(t, &program->pack);
	entry_list_dims(t, &program->init);
	entry_list_guards(t, &program->init, CHECK_NONE);
	program_list_state_dims(program);
	program->placed = true;
	t->changed = true;
}
