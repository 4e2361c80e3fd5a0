/* Kernels of one grid as one: what a thread has stored it reads again at once.
 *
 * Two kernels are fused where their loops of the grid have the same extents and threads, there is a
 * buffer that one of them stores and the other touches, and every such buffer is touched by both at
 * one index of the grid's iterators alone: each thread has that element for itself. A kernel goes
 * to an earlier one past those between that share no stored buffer with it; those between that it
 * has to follow, a few without a maximum, go before the earlier one, where they do not have to follow
 * that. None goes past a check, or into one. Then a temporary that no other kernel touches, and that its thread stores before
 * all else, becomes a local.
 *
 * Kernels of one number each, that have no loops, are one thread's together in the end.
 */
#include "transform/gpu/join.h"

#include <string.h>

#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"

enum { FOLLOWED_MOST = 4 };

/* ---- what a kernel does ---- */

static uint32_t count_stmts(const Joins *j, const Kernel *kernel)
{
	return kernel_uses(j->uses, kernel)->statements;
}

/* ---- joining two ---- */

/* Has it locals and stores alone, of one thread? */
static bool is_scalar(const Kernel *kernel)
{
	bool scalar = true;
	for (uint32_t i = 0; i < kernel->body.n && scalar; i++)
		scalar = kernel->body.stmts[i]->kind == LOOP_LOCAL ||
			 kernel->body.stmts[i]->kind == LOOP_STORE;
	return scalar;
}

static bool same_grid(const Kernel *a, const Kernel *b)
{
	const Stmt *s = grid_loop(&a->body), *t = grid_loop(&b->body);
	if (!s && !t)
		return is_scalar(a) && is_scalar(b);
	for (; s && t; s = grid_loop(&s->body), t = grid_loop(&t->body))
		if (!size_same(s->hi->size, t->hi->size) || s->threads != t->threads)
			return false;
	return !s && !t;
}

/* b's statements with the iterators of a's grid; a's tables have b's behind them. */
static Block rewritten(const Joins *j, Kernel *a, const Kernel *b)
{
	Arena *arena = j->program->arena;
	const Ix **iters = kernel_iters(arena, b, a->niters);
	const Stmt *s = grid_loop(&a->body), *t = grid_loop(&b->body);
	for (; t; s = grid_loop(&s->body), t = grid_loop(&t->body))
		iters[t->iter] = ix_iter(arena, s->iter);
	return kernel_append(j->program, a, b, grid_body(b), iters);
}

static Block both(const Joins *j, Block a, Block b)
{
	Body body = {0};
	body_append(j->program->arena, &body, a);
	body_append(j->program->arena, &body, b);
	return body_block(&body);
}

/* The index of the first store, or else load, of the buffer. */
typedef struct ElementPlace {
	BufferId buffer;
	const Ix *stored, *loaded;
} ElementPlace;

static void see_load(void *of, const Value *value)
{
	ElementPlace *place = of;
	if (value->kind == VALUE_LOAD && value->buffer == place->buffer && !place->loaded)
		place->loaded = value->ix;
}

static void find_place(void *of, const Stmt *stmt)
{
	ElementPlace *place = of;
	if (stmt->kind == LOOP_STORE && stmt->buffer == place->buffer && !place->stored)
		place->stored = stmt->ix;
	if (stmt->value)
		value_each(stmt->value, see_load, place);
}

/* Is the index made of the grid's iterators alone? */
static bool of_grid(const Kernel *kernel, const Ix *ix)
{
	if (!ix)
		return true;
	bool among = ix->kind != IX_ITER;
	for (const Stmt *s = grid_loop(&kernel->body); s && !among; s = grid_loop(&s->body))
		among = s->iter == ix->iter;
	return among && ix->kind != IX_VALUE && of_grid(kernel, ix->a) && of_grid(kernel, ix->b);
}

const Ix *join_own_element(const Kernel *kernel, const Block *block, BufferId buffer)
{
	ElementPlace place = {.buffer = buffer};
	block_each(*block, find_place, &place);
	const Ix *at = place.stored ? place.stored : place.loaded;
	bool own = at && of_grid(kernel, at) && block_touches_only_at(block, buffer, at);
	return own ? at : NULL;
}

bool join_bodies(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made)
{
	uint32_t na = count_stmts(j, a), nb = count_stmts(j, b);
	if (a->loop != b->loop || !same_grid(a, b) || na == UINT32_MAX || nb == UINT32_MAX ||
	    na + nb > j->most)
		return false;
	Kernel kernel = *a;
	Block first = grid_body(a), second = rewritten(j, &kernel, b);
	Block all = both(j, first, second);
	kernel.body = grid_around(j->program->arena, &a->body, all, 0);
	kernel.name = b->name;
	kernel.span = b->span;
	kernel.site = b->site;
	*made = kernel;
	return true;
}

/* Does each thread have what they share for itself? The result is the last one's. Requires: they share something. */
static bool join_own(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made)
{
	if (!join_bodies(j, a, b, made))
		return false;
	Block all = grid_body(made);
	const BufferUses *uses = &kernel_uses(j->uses, a)->uses,
			 *others = &kernel_uses(j->uses, b)->uses;
	for (size_t i = 0; i < others->n; i++) {
		const BufferUse *use = buffer_use(uses, others->at[i].buffer);
		bool shared = use && (use->stored || others->at[i].stored);
		if (shared && !join_own_element(made, &all, others->at[i].buffer))
			return false;
	}
	return true;
}

/* ... where one of them has no loop. Two sums that what is between them has gone from stay apart: each may be in tiles. */
static bool join_own_elements(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made)
{
	bool loops = kernel_uses(j->uses, a)->loops && kernel_uses(j->uses, b)->loops;
	return !loops && join_own(j, a, b, made);
}

/* Has one thread all that both do? Those that have nothing to do with each other, too: a launch less. */
static bool join_scalars(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made)
{
	return is_scalar(a) && join_bodies(j, a, b, made);
}

/* ---- one kernel and those before it ---- */

/* Kernels so far, by number, the last one first, which another one has to follow. */
typedef struct Followed {
	uint32_t at[FOLLOWED_MOST], n;
} Followed;

/* The kernels of a routine, each joined to one before it. */
typedef struct Pass {
	Joins *j;
	JoinTwo join;
	bool strangers;		   /* also to one that it has nothing to do with */
	const KernelFacts **facts; /* by number */
} Pass;

/* Are both of one loop, without a check? */
static bool may_pass(const Pass *p, uint32_t i, const Kernel *kernel, const KernelFacts *facts)
{
	return p->j->made[i].loop == kernel->loop && p->facts[i]->statements != UINT32_MAX &&
	       facts->statements != UINT32_MAX;
}

static bool one_depends(const Pass *p, const Followed *followed, uint32_t on)
{
	for (uint32_t i = 0; i < followed->n; i++) {
		uint32_t k = followed->at[i];
		if (!may_pass(p, on, &p->j->made[k], p->facts[k]) ||
		    buffer_uses_meet(&p->facts[on]->uses, &p->facts[k]->uses))
			return true;
	}
	return false;
}

/* A softmax is not moved: what attention is made of stays in its order. An IsStmt. */
static bool is_maximum(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_SET && stmt->acc == OP_MAX;
}

/* The followed ones go before kernel number i, in their order. Requires: none of them depends on it, nor on one behind it
 * that is not among them. */
static void move_before(const Pass *p, const Followed *followed, uint32_t i)
{
	Kernel *made = p->j->made;
	for (uint32_t k = followed->n; k-- > 0; i++) {
		uint32_t from = followed->at[k];
		Kernel moved = made[from];
		const KernelFacts *facts = p->facts[from];
		memmove(&made[i + 1], &made[i], (from - i) * sizeof moved);
		memmove(&p->facts[i + 1], &p->facts[i], (from - i) * sizeof facts);
		made[i] = moved;
		p->facts[i] = facts;
	}
}

static void set_made(const Pass *p, uint32_t i, const Kernel *kernel)
{
	p->j->made[i] = *kernel;
	p->facts[i] = kernel_uses(p->j->uses, kernel);
}

static void join_with_made(const Pass *p, const Kernel *kernel)
{
	Joins *j = p->j;
	const KernelFacts *facts = kernel_uses(j->uses, kernel);
	Followed followed = {.n = 0};
	for (uint32_t i = j->n; i-- > 0 && followed.n < FOLLOWED_MOST;) {
		Kernel made;
		bool free = !one_depends(p, &followed, i),
		     meet = free && buffer_uses_meet(&p->facts[i]->uses, &facts->uses);
		if (free && (meet || p->strangers) && p->join(j, &j->made[i], kernel, &made)) {
			set_made(p, i, &made);
			move_before(p, &followed, i);
			return;
		}
		if (free && !meet && may_pass(p, i, kernel, facts))
			continue;
		if (block_find(j->made[i].body, is_maximum, NULL))
			break;
		followed.at[followed.n++] = i;
	}
	set_made(p, j->n++, kernel);
}

/* Joins each kernel to the last one before it that it can be joined to, past those that it does not depend on. */
static void join_all(Joins *j, JoinTwo join, bool strangers)
{
	uint32_t n = j->n;
	Pass p = {j, join, strangers, ARENA_ARRAY(j->scratch, const KernelFacts *, n + 1)};
	j->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		Kernel kernel = j->made[i];
		join_with_made(&p, &kernel);
	}
}

/* ---- locals ---- */

/* Does the thread store the buffer before it touches it otherwise, in a statement of its own? */
static bool stored_first(const Joins *j, const Block *body, BufferId buffer)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		ElementPlace place = {.buffer = buffer};
		if (stmt->kind == LOOP_STORE && stmt->buffer == buffer && stmt->acc == OP_NONE) {
			value_each(stmt->value, see_load, &place);
			return !place.loaded;
		}
		Kernel part = {.body = {&stmt, 1}};
		BufferUses uses = kernel_buffers(j->scratch, &part);
		if (buffer_use(&uses, buffer))
			return false;
	}
	return false;
}

bool join_touched_elsewhere(const Joins *j, uint32_t kernel, BufferId buffer)
{
	if (program_loops_use(j->program, buffer))
		return true;
	for (uint32_t i = 0; i < j->n; i++)
		if (i != kernel && buffer_use(&kernel_uses(j->uses, &j->made[i])->uses, buffer))
			return true;
	return false;
}

static void make_local(const Joins *j, Kernel *kernel, BufferId buffer)
{
	const Buffer *b = &j->program->buffers.at[buffer];
	LocalId local =
		bind_local(j->program, kernel, (KernelLocal){.name = b->name, .dtype = b->dtype});
	BufferTwin twin = {.kind = TWIN_LOCAL, .buffer = buffer, .id = local};
	Block body = rewrite_twins(j->program, kernel, grid_body(kernel), &twin, 1);
	kernel->body = grid_around(j->program->arena, &kernel->body, body, 0);
	buffer_forget(j->program, buffer);
}

/* Temporaries of one element of the grid's own, which no other kernel touches, become locals. */
static void make_locals(const Joins *j, uint32_t number)
{
	Kernel *kernel = &j->made[number];
	if (!grid_loop(&kernel->body) && !is_scalar(kernel))
		return;
	const BufferUses *uses = &kernel_uses(j->uses, kernel)->uses; /* before any is a local */
	for (size_t i = 0; i < uses->n; i++) {
		BufferId buffer = uses->at[i].buffer;
		Block body = grid_body(kernel);
		if (j->program->buffers.at[buffer].kind == BUFFER_TEMP &&
		    stored_first(j, &body, buffer) && join_own_element(kernel, &body, buffer) &&
		    !join_touched_elsewhere(j, number, buffer))
			make_local(j, kernel, buffer);
	}
}

static uint32_t join_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Joins j = {.t = t, .program = t->program, .scratch = t->scratch, .made = kernels, .n = n};
	j.most = t->options->gpu->statements;
	j.uses = kernel_uses_new(t->scratch);
	join_all(&j, join_own, false);
	for (uint32_t before = UINT32_MAX; j.n < before;) { /* falls: kernels */
		before = j.n;
		join_all(&j, join_own_elements, false);
	}
	for (uint32_t i = 0; i < j.n; i++)
		make_locals(&j, i);
	join_all(&j, join_rows, false);
	join_all(&j, join_scalars, true);
	for (uint32_t i = 0; i < j.n; i++) {
		make_locals(&j, i);
		join_row_values(&j, i);
		join_store_once(&j, &j.made[i]);
	}
	return j.n;
}

void transform_join(Transform *t)
{
	const Kernel *before = t->program->kernels.at;
	size_t n = t->program->kernels.n;
	if (!t->options->gpu)
		return;
	routines_change(t, join_routine);
	t->changed = kernels_differ(before, n, t->program->kernels.at, t->program->kernels.n);
}
