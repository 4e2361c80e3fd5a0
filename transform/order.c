/* Assignments to the state, run as soon as they may: what they read need not wait for them any longer.
 *
 *   run grad_a        run grad_a
 *   run grad_b   ->   run set_a       a's gradient ends here, and its place in memory is b's
 *   run set_a         run grad_b
 *   run set_b         run set_b
 *
 * A kernel that stores parameters alone, and one of a single number that such kernels read, runs right
 * behind the last one that it has to follow: one that stores what it touches, or touches what it stores;
 * or that checks, as a routine whose check fails has written nothing. Where that is in a loop of steps, it
 * runs behind the loop. All other kernels keep their order, and each computes the same.
 */
#include <stdlib.h>

#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/transform.h"

/* Kernels between two that store the same, at most, where the first one waits for the other. */
enum { WAIT_MOST = 12 };

/* Kernels go by `behind`, those of one number by their own. */
typedef struct Placed {
	int64_t behind; /* the kernel that it runs right behind, itself where it stays; -1: it is the first */
	uint32_t number;
} Placed;

typedef struct Order {
	const Transform *transform;
	Program *program;
	const KernelId *kernels; /* the routine's, as they were */
	uint32_t n;
	BufferUses *uses;     /* by kernel */
	bool *checks, *moves; /* likewise: is there a check in it? */
	Placed *placed;	      /* likewise */
	int64_t *stored, *touched; /* by buffer: behind which kernel what is left of it is stored, touched */
} Order;

static const Kernel *kernel_at(const Order *o, int64_t k)
{
	return &o->program->kernels.at[o->kernels[k]];
}

/* ---- which ---- */

static bool is_number(const Order *o, const Buffer *buffer)
{
	return buffer->kind == BUFFER_TEMP && !buffer->shared &&
	       size_is(o->program->sizes, buffer->elements, 1);
}

/* Does the kernel store parameters, and beside them, or instead, single numbers that are `wanted`? */
static bool may_move(const Order *o, uint32_t k, const bool *wanted)
{
	bool any = false;
	if (kernel_at(o, k)->loop || o->checks[k])
		return false;
	for (size_t i = 0; i < o->uses[k].n; i++) {
		BufferId id = o->uses[k].at[i].buffer;
		const Buffer *buffer = &o->program->buffers.at[id];
		if (!o->uses[k].at[i].stored)
			continue;
		if (buffer->kind != BUFFER_PARAM && !is_number(o, buffer))
			return false;
		any |= buffer->kind == BUFFER_PARAM || wanted[id];
	}
	return any;
}

/* From the last kernel on, so that what moved ones read is known. */
static void find_moves(Order *o)
{
	bool *wanted = ARENA_ARRAY(o->transform->scratch, bool, o->program->buffers.n + 1);
	for (uint32_t k = o->n; k-- > 0;) {
		o->moves[k] = may_move(o, k, wanted);
		for (size_t i = 0; i < o->uses[k].n && o->moves[k]; i++)
			wanted[o->uses[k].at[i].buffer] = true;
	}
}

/* ---- where ---- */

static void behind(int64_t *place, int64_t other)
{
	if (*place < other)
		*place = other;
}

/* The last kernel of the outermost loop that kernel k is in; k, where it is in none. */
static int64_t loop_last(const Order *o, int64_t k)
{
	if (k < 0 || !kernel_at(o, k)->loop)
		return k;
	uint32_t loop = program_loop_right_in(o->program, kernel_at(o, k)->loop, 0);
	while (k + 1 < o->n && program_loop_in(o->program, kernel_at(o, k + 1)->loop, loop))
		k++;
	return k;
}

static int64_t place_of(const Order *o, uint32_t k, int64_t checked)
{
	int64_t place = checked;
	for (size_t i = 0; i < o->uses[k].n; i++) {
		const BufferUse *use = &o->uses[k].at[i];
		behind(&place, use->stored ? o->touched[use->buffer] : o->stored[use->buffer]);
	}
	return loop_last(o, place);
}

static void find_places(Order *o)
{
	int64_t checked = -1;
	for (size_t b = 0; b < o->program->buffers.n; b++)
		o->stored[b] = o->touched[b] = -1;
	for (uint32_t k = 0; k < o->n; k++) {
		int64_t place = o->moves[k] ? place_of(o, k, checked) : k;
		o->placed[k] = (Placed){place, k};
		for (size_t i = 0; i < o->uses[k].n; i++) {
			const BufferUse *use = &o->uses[k].at[i];
			behind(&o->touched[use->buffer], place);
			if (use->stored)
				behind(&o->stored[use->buffer], place);
		}
		if (o->checks[k])
			checked = k;
	}
}

static void before(int64_t *place, int64_t other)
{
	if (*place > other)
		*place = other;
}

static bool stores_params(const Order *o, uint32_t k)
{
	bool any = false;
	for (size_t i = 0; i < o->uses[k].n; i++)
		any |= o->uses[k].at[i].stored &&
		       o->program->buffers.at[o->uses[k].at[i].buffer].kind == BUFFER_PARAM;
	return any;
}

/* Would kernel k run between the kernels of a loop of steps, right in front of `next`? */
static bool is_inside_loop(const Order *o, int64_t k, int64_t next)
{
	return k < next && kernel_at(o, next)->loop;
}

/* Kernels that store the same wait for each other where that is not for long: they are neighbours then, which may become
 * one (fusion.c). Nothing that moved in front of others minds to run behind them. */
static void wait_for_readers(Order *o)
{
	for (size_t b = 0; b < o->program->buffers.n; b++)
		o->stored[b] = o->touched[b] = INT64_MAX;
	for (uint32_t k = o->n; k-- > 0;) {
		int64_t *place = &o->placed[k].behind, next = INT64_MAX;
		for (size_t i = 0; i < o->uses[k].n && o->moves[k]; i++) {
			const BufferUse *use = &o->uses[k].at[i];
			before(&next, use->stored ? o->touched[use->buffer] : o->stored[use->buffer]);
		}
		if (next != INT64_MAX && next - *place <= WAIT_MOST && stores_params(o, k) &&
		    !is_inside_loop(o, k, next))
			*place = next;
		for (size_t i = 0; i < o->uses[k].n; i++) {
			const BufferUse *use = &o->uses[k].at[i];
			before(&o->touched[use->buffer], *place);
			if (use->stored)
				before(&o->stored[use->buffer], *place);
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const Placed *x = a, *y = b;
	if (x->behind != y->behind)
		return x->behind < y->behind ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Is the order of the routine's kernels another one now? */
static bool order_routine(const Transform *t, ProgramRoutine *routine)
{
	Arena *scratch = t->scratch;
	uint32_t n = routine->nkernels;
	Order o = {.transform = t, .program = t->program, .kernels = routine->kernels, .n = n};
	o.uses = ARENA_ARRAY(scratch, BufferUses, n + 1);
	o.checks = ARENA_ARRAY(scratch, bool, n + 1);
	o.moves = ARENA_ARRAY(scratch, bool, n + 1);
	o.placed = ARENA_ARRAY(scratch, Placed, n + 1);
	o.stored = ARENA_ARRAY(scratch, int64_t, t->program->buffers.n + 1);
	o.touched = ARENA_ARRAY(scratch, int64_t, t->program->buffers.n + 1);
	for (uint32_t k = 0; k < n; k++) {
		o.uses[k] = kernel_buffers(scratch, kernel_at(&o, k));
		o.checks[k] = block_find(kernel_at(&o, k)->body, stmt_is_check, NULL) != NULL;
	}
	find_moves(&o);
	find_places(&o);
	wait_for_readers(&o);
	qsort(o.placed, n, sizeof *o.placed, by_place);
	bool changed = false;
	routine->kernels = ARENA_ARRAY(t->program->arena, KernelId, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		routine->kernels[k] = o.kernels[o.placed[k].number];
		changed |= o.placed[k].number != k;
	}
	return changed;
}

void transform_order(Transform *t)
{
	for (size_t r = 0; r < t->program->routines.n; r++)
		t->changed |= order_routine(t, &t->program->routines.at[r]);
}
