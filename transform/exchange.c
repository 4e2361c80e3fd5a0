/* Tensors of a loop that take turns: what each step computes becomes the next one's by an exchange of two
 * places in memory instead of a copy.
 *
 *   for step in 0..n                      for step in 0..n exchange h, value
 *     value[..] = ... h[..] ...     ->      value[..] = ... h[..] ...
 *     h[e] = value[e]
 *
 * The copy is whole, and nothing else touches `value` but kernels of the loop before it, of which the first
 * stores it: what it holds is not looked at in the next step. Kernels of the loop behind the copy, which
 * read h, read `value` instead; some other kernel reads or sets h, which is more than a step's own.
 *
 * What a step began with may be carried too, as the step before the last: then three places take turns.
 *
 *   for step in 0..n exchange h, value, g, held      for step in 0..n exchange h, value, value, g
 *     held[e] = h[e]                                   value[..] = ... h[..] ... g[..] ...
 *     value[..] = ... h[..] ... g[..] ...       ->
 *
 * Behind the pairs before it, `value` is the place that h had, and what g had is free, as what `value` had was.
 */
#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/transform.h"

typedef struct Exchange {
	const Transform *transform;
	Program *program;
	Kernel *kernels; /* the routine's */
	uint32_t n;
	bool *gone; /* by kernel */
	bool *free; /* by buffer: what a place holds behind a step, before any exchange, is not looked at */
} Exchange;

/* ---- copies ---- */

typedef struct WholeCopy {
	BufferId to, from;
} WholeCopy;

static bool is_temporary(const Program *program, BufferId buffer)
{
	return program->buffers.at[buffer].kind == BUFFER_TEMP;
}

/* Is the kernel to[e] = from[e] for each e, of temporaries of one type and size? */
static bool is_whole_copy(const Program *program, const Kernel *kernel, WholeCopy *copy)
{
	const Stmt *loop = block_only(kernel->body);
	const Stmt *store = loop && loop->kind == LOOP_FOR ? block_only(loop->body) : NULL;
	if (!store || store->kind != LOOP_STORE || store->acc != OP_NONE ||
	    store->value->kind != VALUE_LOAD)
		return false;
	*copy = (WholeCopy){store->buffer, store->value->buffer};
	const Buffer *to = &program->buffers.at[copy->to], *from = &program->buffers.at[copy->from];
	const Ix *at[] = {store->ix, store->value->ix};
	bool plain = true;
	for (int i = 0; i < 2; i++)
		plain = plain && at[i]->kind == IX_ITER && at[i]->iter == loop->iter;
	return plain && loop->step == 1 && loop->lo->kind == IX_SIZE && loop->hi->kind == IX_SIZE &&
	       size_is(program->sizes, loop->lo->size, 0) &&
	       size_same(loop->hi->size, to->elements) && size_same(to->elements, from->elements) &&
	       to->dtype == from->dtype && copy->to != copy->from &&
	       is_temporary(program, copy->to) && is_temporary(program, copy->from);
}

/* ---- what else touches them ---- */

static bool may_exchange(const Exchange *x, uint32_t at, WholeCopy copy)
{
	uint32_t loop = x->kernels[at].loop;
	bool stored = false, read = false, carried = false;
	for (uint32_t k = 0; k < x->n; k++) {
		BufferUses uses = kernel_buffers(x->transform->scratch, &x->kernels[k]);
		const BufferUse *to = buffer_use(&uses, copy.to),
				*from = buffer_use(&uses, copy.from);
		bool inside = program_loop_in(x->program, x->kernels[k].loop, loop);
		if (k == at || x->gone[k])
			continue;
		if (from && (!inside || k > at))
			return false;
		if (from && !stored && !from->stored)
			return false;
		stored |= from && from->stored;
		if (to && inside && to->stored)
			return false;
		read |= to && inside && k > at;
		carried |= to && (!inside || k < at);
	}
	/* what is behind reads another buffer: in kernels of the loop itself alone */
	for (uint32_t k = at + 1; k < x->n && read; k++) {
		BufferUses uses = kernel_buffers(x->transform->scratch, &x->kernels[k]);
		if (x->kernels[k].loop != loop &&
		    program_loop_in(x->program, x->kernels[k].loop, loop) &&
		    buffer_use(&uses, copy.to))
			return false;
	}
	return stored && carried && !program_loops_use(x->program, copy.to) &&
	       !program_loops_use(x->program, copy.from);
}

/* ---- the change ---- */

/* Kernels of the loop behind kernel `at`, which is left out, read what it copied in place of the copy. */
static void read_instead(Exchange *x, uint32_t at, BufferId copy, BufferId original)
{
	BufferTwin twin = {.kind = TWIN_BUFFER, .buffer = copy, .id = original};
	for (uint32_t k = at + 1; k < x->n; k++) {
		Kernel *kernel = &x->kernels[k];
		BufferUses uses = kernel_buffers(x->transform->scratch, kernel);
		if (kernel->loop == x->kernels[at].loop && buffer_use(&uses, copy))
			kernel->body = rewrite_twins(x->program, kernel, kernel->body, &twin, 1);
	}
	x->gone[at] = true;
}

/* One more pair behind the others of a loop, less one of them: `without` is its number, or how many there are. */
static void set_pairs(const Exchange *x, ProgramLoop *loop, uint32_t without, BufferPair pair)
{
	BufferPair *pairs = ARENA_ARRAY(x->program->arena, BufferPair, loop->nexchanges + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < loop->nexchanges; i++)
		if (i != without)
			pairs[n++] = loop->exchanges[i];
	pairs[n++] = pair;
	loop->exchanges = pairs;
	loop->nexchanges = n;
}

static void exchange(Exchange *x, uint32_t at, WholeCopy copy)
{
	ProgramLoop *loop = &x->program->loops.at[x->kernels[at].loop];
	set_pairs(x, loop, loop->nexchanges, (BufferPair){copy.to, copy.from});
	read_instead(x, at, copy.to, copy.from);
	x->free[copy.from] = true;
}

/* ---- what a step began with ---- */

/* The one pair of a loop that a buffer is in; how many there are: it is in none, or in several. */
static uint32_t only_pair_of(const ProgramLoop *loop, BufferId buffer)
{
	uint32_t found = loop->nexchanges;
	for (uint32_t i = 0; i < loop->nexchanges; i++) {
		if (loop->exchanges[i].a != buffer && loop->exchanges[i].b != buffer)
			continue;
		if (found < loop->nexchanges)
			return loop->nexchanges;
		found = i;
	}
	return found;
}

/* Behind all pairs but one, which buffer has the place that `buffer` had before. */
static BufferId holder(const ProgramLoop *loop, uint32_t without, BufferId buffer)
{
	for (uint32_t i = 0; i < loop->nexchanges; i++) {
		const BufferPair *pair = &loop->exchanges[i];
		if (i != without && (pair->a == buffer || pair->b == buffer))
			buffer = pair->a == buffer ? pair->b : pair->a;
	}
	return buffer;
}

/* Do the kernels of the loop only read the original, and is the copy read by those behind it alone? */
static bool stays_in_steps(const Exchange *x, uint32_t at, WholeCopy copy)
{
	uint32_t loop = x->kernels[at].loop;
	for (uint32_t k = 0; k < x->n; k++) {
		BufferUses uses = kernel_buffers(x->transform->scratch, &x->kernels[k]);
		const BufferUse *to = buffer_use(&uses, copy.to),
				*from = buffer_use(&uses, copy.from);
		if (k == at || x->gone[k])
			continue;
		if (to && (to->stored || x->kernels[k].loop != loop || k < at))
			return false;
		if (from && from->stored && program_loop_in(x->program, x->kernels[k].loop, loop))
			return false;
	}
	return true;
}

/* A copy of what the step began with, exchanged for what the step before it began with. */
static void rotate(Exchange *x, uint32_t at, WholeCopy copy)
{
	ProgramLoop *loop = &x->program->loops.at[x->kernels[at].loop];
	uint32_t n = loop->nexchanges, pair = only_pair_of(loop, copy.to);
	if (pair == n || !stays_in_steps(x, at, copy))
		return;
	BufferId held = holder(loop, pair, copy.from);
	BufferId next = loop->exchanges[pair].a;
	if (next == copy.to || held == next || !x->free[held])
		return;
	set_pairs(x, loop, pair, (BufferPair){held, next});
	read_instead(x, at, copy.to, copy.from);
}

static uint32_t exchange_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Exchange x = {.transform = t, .program = t->program, .kernels = kernels, .n = n};
	WholeCopy copy;
	uint32_t left = 0;
	x.gone = ARENA_ARRAY(t->scratch, bool, n + 1);
	x.free = ARENA_ARRAY(t->scratch, bool, t->program->buffers.n + 1);
	for (uint32_t k = 0; k < n; k++)
		if (kernels[k].loop && is_whole_copy(t->program, &kernels[k], &copy) &&
		    may_exchange(&x, k, copy))
			exchange(&x, k, copy);
	for (uint32_t k = 0; k < n; k++)
		if (!x.gone[k] && kernels[k].loop && is_whole_copy(t->program, &kernels[k], &copy))
			rotate(&x, k, copy);
	for (uint32_t k = 0; k < n; k++)
		if (!x.gone[k])
			kernels[left++] = kernels[k];
	return left;
}

void transform_exchange(Transform *t) { t->changed = routines_change(t, exchange_routine); }
