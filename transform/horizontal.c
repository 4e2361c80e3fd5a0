/* Horizontal fusion: neighbouring kernels that are small for threads as one loop, so that threads
 * meet once.
 *
 *   for d in 0..768 step 64: q[d, ...] = ...        for piece in 0..12
 *   for d in 0..768 step 64: k[d, ...] = ...   ->     d = piece*64: q[d, ...] = ...
 *   for h in 0..12: y[h] = f(q[h*64, ...])            d = piece*64: k[d, ...] = ...
 *                                                     h = piece: y[h] = f(q[h*64, ...])
 *
 * Legal is a group of kernels that are one loop each, all of as many iterations, where no iteration of the one loop
 * touches an element that another one stores (independent.c): what a piece reads of the first kernel it has stored
 * itself, and what it stores no later piece of the first has to read. A kernel that has nothing to do with those that
 * are open may stand between; it goes before them. All groups are chosen before any loop is made, and written into
 * the schedule. parallel.c cuts the joint loop by the work of all.
 */
#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/transform.h"

#include <string.h>

/* Statements of a loop's body that GCC sees as a whole; kernels between two that are joined. */
enum { MOST_STMTS = 512, BETWEEN_MOST = 2 };

/* Kernels that go piece by piece together, in their order. */
typedef struct Group {
	VEC(uint32_t) members; /* numbers among `all` */
	int64_t work;
	uint32_t nstmts;
	bool suffices; /* has the first enough pieces? */
} Group;

typedef struct Horizontal {
	const Transform *transform;
	Program *program;
	Arena *arena;
	const Kernel *all; /* the routine's, as they were */
	int64_t *work;	   /* of each */
	bool *done;
	uint32_t n;
	VEC(Group) groups; /* in the order in which they run */
} Horizontal;

/* ---- one kernel ---- */

static void count_stmt(void *of, const Stmt *stmt)
{
	(void)stmt;
	++*(uint32_t *)of;
}

static uint32_t count_stmts(Block block)
{
	uint32_t n = 0;
	block_each(block, count_stmt, &n);
	return n;
}

/* With checks a kernel ends early; scratch buffers have slots of the loop that they are in. */
static bool stays_alone(const void *of, const Stmt *stmt)
{
	const Horizontal *r = of;
	bool scratch = stmt->kind == LOOP_STORE && r->program->buffers.at[stmt->buffer].scratch;
	return stmt->kind == LOOP_CHECK || scratch;
}

static bool holds_loop(const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++)
		if (block->stmts[i]->kind == LOOP_FOR)
			return true;
	return false;
}

/* The only statement of the kernel, a loop around others; NULL: it is another form. */
static const Stmt *piece_loop(const Horizontal *r, const Kernel *kernel)
{
	const Stmt *loop = block_only(kernel->body);
	bool fits = loop && loop->kind == LOOP_FOR && loop->loop == LOOP_SERIAL &&
		    loop->lo->kind == IX_SIZE && loop->hi->kind == IX_SIZE &&
		    holds_loop(&loop->body) && !block_find(kernel->body, stays_alone, r);
	return fits ? loop : NULL;
}

static Size pieces_of(const Horizontal *r, const Stmt *loop)
{
	Sizes *sizes = r->program->sizes;
	Size span = size_sub(sizes, loop->hi->size, loop->lo->size);
	return size_ceil(sizes, span, loop->step);
}

/* ---- a group and one more ---- */

static const Kernel *member(const Horizontal *r, const Group *group, size_t i)
{
	return &r->all[group->members.at[i]];
}

static const Kernel *last_of(const Horizontal *r, const Group *group)
{
	return member(r, group, group->members.n - 1);
}

/* Does neither store what the other touches? */
static bool are_strangers(const Horizontal *r, const Kernel *a, const Kernel *b)
{
	BufferUses mine = kernel_buffers(r->arena, a), theirs = kernel_buffers(r->arena, b);
	return !buffer_uses_meet(&mine, &theirs);
}

/* Why kernel k cannot go piece by piece with the group; NULL: it can. */
static const char *horizontal_illegal(const Horizontal *r, const Group *group, uint32_t k)
{
	if (member(r, group, 0)->loop != r->all[k].loop)
		return "one of them runs in another loop of steps";
	const Stmt *mine = piece_loop(r, member(r, group, 0)), *theirs = piece_loop(r, &r->all[k]);
	if (!mine || !theirs || !size_same(pieces_of(r, mine), pieces_of(r, theirs)))
		return "they are not two loops of as many iterations";
	uint32_t n = (uint32_t)group->members.n;
	WholeLoop *loops = ARENA_ARRAY(r->arena, WholeLoop, n + 1);
	for (uint32_t i = 0; i <= n; i++) {
		const Kernel *kernel = i < n ? member(r, group, i) : &r->all[k];
		loops[i] = (WholeLoop){kernel, kernel->body.stmts[0]};
	}
	return loops_are_independent(r->program, loops, n + 1)
		       ? NULL
		       : "a piece of it touches what another stores";
}

/* Are the pieces as many as the parts that the kernel alone would have, or enough? Where its work
 * is open there must be no second loop to cut. */
static bool pieces_suffice(const Horizontal *r, uint32_t k)
{
	Kernel *kernel = (Kernel *)&r->all[k];
	const Stmt *loop = piece_loop(r, kernel);
	int64_t pieces, wanted = r->work[k] / r->transform->options->grain;
	if (!loop)
		return false;
	if (!size_is_const(r->program->sizes, pieces_of(r, loop), &pieces))
		return loops_to_cut(r->program, kernel, loop) < 2;
	return pieces >= (wanted < r->program->options.target->thread_parts
				  ? wanted
				  : r->program->options.target->thread_parts) &&
	       (work_is_known(r->program, kernel) || loops_to_cut(r->program, kernel, loop) < 2);
}

/* Is one loop better than two? Large ones gain nothing, and what is less than two parts together
 * stays serial. */
static bool is_worth(const Horizontal *r, const Group *group, uint32_t k)
{
	int64_t grain = r->transform->options->grain;
	int64_t meet = r->program->options.target->thread_meet;
	return group->work / grain < meet && r->work[k] / grain < meet &&
	       (group->work + r->work[k]) / grain >= 2 &&
	       group->nstmts + count_stmts(r->all[k].body) <= MOST_STMTS && pieces_suffice(r, k);
}

static ScheduleClause *asked_of(const Horizontal *r, const Kernel *kernel, Choice choice)
{
	return kernel_asked(r->transform, kernel, choice);
}

/* Does kernel k join the group? Where that is asked for in vain the schedule is told why. */
static bool joins(const Horizontal *r, const Group *group, uint32_t k)
{
	const Kernel *kernel = &r->all[k], *open = last_of(r, group);
	ScheduleClause *asked = asked_of(r, kernel, CHOICE_HORIZONTAL);
	bool cut = asked_of(r, open, CHOICE_PARALLEL) || asked_of(r, kernel, CHOICE_PARALLEL);
	if (asks_off(asked) || (!asked && (cut || !group->suffices || !is_worth(r, group, k))))
		return false;
	const char *why = asks_name(asked, 0, open->name)
				  ? horizontal_illegal(r, group, k)
				  : arena_printf(r->program->arena,
						 "the kernel right before it is %s", open->name);
	if (asked && why)
		asked->refused = why;
	return !why;
}

static void describe(const Horizontal *r, const Kernel *kernel, const Kernel *before)
{
	Arena *arena = r->program->arena;
	ScheduleEntry *entry = schedule_entry(r->program->made, kernel->name);
	ScheduleClause *made = entry_make(arena, entry, CHOICE_HORIZONTAL, before == NULL);
	if (before)
		clause_add(arena, made, before->name, NULL, 0);
}

/* ---- the routine ---- */

static void add_member(Horizontal *r, Group *group, uint32_t k)
{
	group->work += r->work[k];
	/* the loop over pieces is one */
	group->nstmts += count_stmts(r->all[k].body) - (group->members.n > 0);
	PUSH(r->arena, group->members, k);
	r->done[k] = true;
}

static void add_alone(Horizontal *r, uint32_t k)
{
	Group group = {0};
	add_member(r, &group, k);
	PUSH(r->arena, r->groups, group);
}

/* May the kernel stand before the group, which was before it? */
static bool may_go_before(const Horizontal *r, uint32_t k, const Group *group)
{
	bool may = !block_find(r->all[k].body, stays_alone, r) && r->work[k] / r->transform->options->grain < 2;
	for (size_t i = 0; may && i < group->members.n; i++)
		may = are_strangers(r, &r->all[k], member(r, group, i));
	return may;
}

/* The kernel and those after it that join it. */
static void choose_group(Horizontal *r, uint32_t first)
{
	Group group = {.suffices = pieces_suffice(r, first)};
	uint32_t between = 0;
	add_member(r, &group, first);
	for (uint32_t k = first + 1; k < r->n && between <= BETWEEN_MOST; k++) {
		if (!joins(r, &group, k)) {
			if (r->all[k].loop != r->all[first].loop || !may_go_before(r, k, &group))
				break;
			between++;
			continue;
		}
		describe(r, &r->all[k], last_of(r, &group));
		for (uint32_t i = first + 1; i < k; i++)
			if (!r->done[i])
				add_alone(r, i);
		add_member(r, &group, k);
		between = 0;
	}
	PUSH(r->arena, r->groups, group);
}

static void choose(Horizontal *r)
{
	for (uint32_t k = 0; k < r->n; k++)
		if (says_off(asked_of(r, &r->all[k], CHOICE_HORIZONTAL)))
			describe(r, &r->all[k], NULL);
	for (uint32_t k = 0; k < r->n; k++)
		if (!r->done[k])
			choose_group(r, k);
}

/* ---- the joint loop ---- */

/* The body of the kernel's loop in the terms of `joint`, which has its iterators and locals from
 * those numbers on. */
static Block piece_body(const Horizontal *r, const Kernel *kernel, IterVar first_iter,
			LocalId first_local, IterVar piece)
{
	Program *program = r->program;
	const Stmt *loop = kernel->body.stmts[0];
	const Ix **iters = kernel_iters(program->arena, kernel, first_iter);
	const Ix *step = ix_const(program, loop->step);
	iters[loop->iter] =
		ix_add(program, loop->lo, ix_mul(program, ix_iter(program->arena, piece), step));
	Rewrite rewrite = {.program = program,
			   .iters = iters,
			   .first_local = first_local,
			   .span = kernel->span};
	return rewrite_block(&rewrite, loop->body);
}

static Kernel joint_kernel(const Horizontal *r, const Group *group)
{
	Arena *arena = r->program->arena;
	KernelIter iter = {sym_cstr(r->program->symbols, "piece")};
	Kernel joint = *member(r, group, 0), more = {.iters = &iter, .niters = 1};
	const Kernel *last = last_of(r, group);
	const Stmt *like = last->body.stmts[0];
	IterVar piece = 0, first_iter = 0;
	LocalId first_local = 0;
	Body body = {0};
	for (size_t i = 0; i < group->members.n; i++)
		piece += member(r, group, i)->niters;
	for (size_t i = 0; i < group->members.n; i++) {
		const Kernel *kernel = member(r, group, i);
		Block part = piece_body(r, kernel, first_iter, first_local, piece);
		body_append(arena, &body, part);
		if (i > 0)
			kernel_append_tables(arena, &joint, kernel);
		first_iter += kernel->niters;
		first_local += kernel->nlocals;
	}
	kernel_append_tables(arena, &joint, &more);
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = *stmt_for(arena, piece, ix_const(r->program, 0), ix_size(arena, pieces_of(r, like)),
			  body_block(&body));
	loop->span = like->span;
	joint.name = last->name;
	joint.span = last->span;
	joint.site = last->site;
	joint.body = block_one(arena, loop);
	return joint;
}

static uint32_t join_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Horizontal r = {.transform = t, .program = t->program, .arena = t->scratch, .n = n};
	if (n < 2)
		return n;
	Kernel *all = ARENA_ARRAY(t->scratch, Kernel, n);
	memcpy(all, kernels, n * sizeof *all);
	r.all = all;
	r.work = ARENA_ARRAY(t->scratch, int64_t, n);
	r.done = ARENA_ARRAY(t->scratch, bool, n);
	for (uint32_t k = 0; k < n; k++)
		r.work[k] = typical_work(t->program, &all[k]);
	choose(&r);
	for (size_t i = 0; i < r.groups.n; i++)
		kernels[i] = r.groups.at[i].members.n > 1 ? joint_kernel(&r, &r.groups.at[i])
							  : *member(&r, &r.groups.at[i], 0);
	return (uint32_t)r.groups.n;
}

void transform_horizontal(Transform *t)
{
	t->changed = t->options->grain > 0 && routines_change(t, join_routine);
}
