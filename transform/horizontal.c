/* Horizontal fusion: neighbouring kernels that are small for threads as one loop, so that threads
 * meet once.
 *
 *   for d in 0..768 step 64: q[d, ...] = ...        for piece in 0..12
 *   for d in 0..768 step 64: k[d, ...] = ...   ->     d = piece*64: q[d, ...] = ...
 *   for h in 0..12: y[h] = f(q[h*64, ...])            d = piece*64: k[d, ...] = ...
 *                                                     h = piece: y[h] = f(q[h*64, ...])
 *
 * Two kernels join where each is one loop, both of the same number of iterations, and no piece of
 * the joint loop touches an element that another one stores (independent.c): what a piece reads of the
 * first kernel it has stored itself, and what it stores no later piece of the first has to read. A
 * kernel that has nothing to do with those that are open may stand between; it goes before them.
 * parallel.c cuts the joint loop by the work of all.
 */
#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/transform.h"

#include <string.h>

/* Statements of a loop's body that GCC sees as a whole; kernels between two that are joined. */
enum { MOST_STMTS = 512, BETWEEN_MOST = 2 };

typedef struct Horizontal {
	const Transform *transform;
	Program *program;
	Kernel *all; /* the routine's, as they were */
	bool *done;
	uint32_t n;
	Kernel *made;
	uint32_t nmade;
} Horizontal;

/* ---- one kernel ---- */

static uint32_t count_stmts(const Block *block)
{
	uint32_t n = block->n;
	for (uint32_t i = 0; i < block->n; i++)
		n += count_stmts(&block->stmts[i]->body);
	return n;
}

/* With checks a kernel ends early; scratch buffers have slots of the loop that they are in. */
static bool may_be_part(const Horizontal *r, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		bool scratch = stmt->kind == LOOP_STORE &&
			       r->program->buffers.at[stmt->buffer].scratch;
		if (stmt->kind == LOOP_CHECK || scratch || !may_be_part(r, &stmt->body))
			return false;
	}
	return true;
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
	const Stmt *loop = kernel->body.n == 1 ? kernel->body.stmts[0] : NULL;
	bool fits = loop && loop->kind == LOOP_FOR && loop->loop == LOOP_SERIAL &&
		    loop->lo->kind == IX_SIZE && loop->hi->kind == IX_SIZE &&
		    holds_loop(&loop->body) && may_be_part(r, &kernel->body);
	return fits ? loop : NULL;
}

static Size pieces_of(const Horizontal *r, const Stmt *loop)
{
	Sizes *sizes = r->program->sizes;
	Size span = size_sub(sizes, loop->hi->size, loop->lo->size);
	return size_ceil(sizes, span, loop->step);
}

/* ---- two ---- */

/* Does neither store what the other touches? */
static bool are_strangers(const Horizontal *r, const Kernel *a, const Kernel *b)
{
	BufferUses mine = kernel_buffers(r->transform->scratch, a),
		   theirs = kernel_buffers(r->transform->scratch, b);
	for (size_t i = 0; i < mine.n; i++)
		for (size_t k = 0; k < theirs.n; k++)
			if (mine.at[i].buffer == theirs.at[k].buffer &&
			    (mine.at[i].stored || theirs.at[k].stored))
				return false;
	return true;
}

/* Are the pieces as many as the parts that the kernel alone would have, or enough? Where its work
 * is open there must be no second loop to cut. */
static bool pieces_suffice(const Horizontal *r, Kernel *kernel)
{
	const Stmt *loop = piece_loop(r, kernel);
	int64_t pieces, wanted = typical_work(r->program, kernel) / r->transform->options->grain;
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
static bool is_worth(const Horizontal *r, const Kernel *a, Kernel *b)
{
	int64_t grain = r->transform->options->grain;
	int64_t mine = typical_work(r->program, a), theirs = typical_work(r->program, b);
	return mine / grain < r->program->options.target->thread_meet &&
	       theirs / grain < r->program->options.target->thread_meet &&
	       (mine + theirs) / grain >= 2 &&
	       count_stmts(&a->body) + count_stmts(&b->body) <= MOST_STMTS && pieces_suffice(r, b);
}

/* The body of the kernel's loop in the terms of `joint`, which has its iterators and locals from
 * those numbers on. */
static Block piece_body(const Horizontal *r, const Kernel *kernel, IterVar first_iter,
			LocalId first_local, IterVar piece)
{
	Program *program = r->program;
	const Stmt *loop = kernel->body.stmts[0];
	const Ix **iters = ARENA_ARRAY(program->arena, const Ix *, kernel->niters + 1);
	for (IterVar i = 0; i < kernel->niters; i++)
		iters[i] = ix_iter(program->arena, first_iter + i);
	const Ix *step = ix_const(program->arena, program->sizes, loop->step);
	iters[loop->iter] = ix_add(program, loop->lo,
				   ix_mul(program, ix_iter(program->arena, piece), step));
	Rewrite rewrite = {.program = program,
			   .iters = iters,
			   .first_local = first_local,
			   .span = kernel->span};
	return rewrite_block(&rewrite, loop->body);
}

static Kernel joint_kernel(const Horizontal *r, const Kernel *a, const Kernel *b)
{
	Arena *arena = r->program->arena;
	KernelIter iter = {sym_cstr(r->program->symbols, "piece")};
	Kernel joint = *a, more = {.iters = &iter, .niters = 1};
	kernel_append_tables(arena, &joint, b);
	kernel_append_tables(arena, &joint, &more);
	IterVar piece = joint.niters - 1;
	Block first = piece_body(r, a, 0, 0, piece),
	      second = piece_body(r, b, a->niters, a->nlocals, piece);
	Body body = {0};
	for (uint32_t i = 0; i < first.n; i++)
		PUSH(arena, body.stmts, first.stmts[i]);
	for (uint32_t i = 0; i < second.n; i++)
		PUSH(arena, body.stmts, second.stmts[i]);
	const Ix *pieces = ix_size(arena, pieces_of(r, b->body.stmts[0]));
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = *stmt_for(arena, piece, ix_const(arena, r->program->sizes, 0), pieces,
			  body_block(&body));
	loop->span = b->body.stmts[0]->span;
	const Stmt **only = ARENA_ARRAY(arena, const Stmt *, 1);
	only[0] = loop;
	joint.name = b->name;
	joint.span = b->span;
	joint.site = b->site;
	joint.body = (Block){only, 1};
	return joint;
}

static ScheduleClause *asked_of(const Horizontal *r, const Kernel *kernel, Choice choice)
{
	return schedule_asked(r->transform->asked, r->program, kernel->name, kernel->span, choice);
}

static bool refuse(ScheduleClause *asked, const char *why)
{
	if (asked)
		asked->refused = why;
	return false;
}

/* Are the two to be joined, if their joint loop is legal? */
static bool is_wanted(const Horizontal *r, const Kernel *open, Kernel *b, bool suffice)
{
	ScheduleClause *asked = asked_of(r, b, CHOICE_HORIZONTAL);
	const Stmt *mine = piece_loop(r, open), *theirs = piece_loop(r, b);
	if (asks_off(asked))
		return false;
	if (!mine || !theirs || !size_same(pieces_of(r, mine), pieces_of(r, theirs)))
		return refuse(asked, "they are not two loops of as many iterations");
	bool cut = asked_of(r, open, CHOICE_PARALLEL) || asked_of(r, b, CHOICE_PARALLEL);
	return asked ? asks_name(asked, 0, open->name) : !cut && suffice && is_worth(r, open, b);
}

/* Does no piece of the joint kernel touch what another one stores? */
static bool is_legal(const Horizontal *r, const Kernel *joint)
{
	const Stmt *loop = joint->body.stmts[0];
	return loop_is_independent(r->program, joint, loop, loop) ||
	       refuse(asked_of(r, joint, CHOICE_HORIZONTAL), "a piece of it touches what another stores");
}

static void describe(const Horizontal *r, const Kernel *open, const Kernel *b)
{
	Arena *arena = r->program->arena;
	ScheduleEntry *entry = schedule_entry(r->program->made, b->name);
	clause_add(arena, entry_make(arena, entry, CHOICE_HORIZONTAL, false), open->name, NULL, 0);
}

/* ---- the routine ---- */

static void emit(Horizontal *r, const Kernel *kernel) { r->made[r->nmade++] = *kernel; }

/* May the kernel stand before `open`, which was before it? */
static bool may_go_before(const Horizontal *r, const Kernel *kernel, const Kernel *open)
{
	return may_be_part(r, &kernel->body) && are_strangers(r, kernel, open) &&
	       typical_work(r->program, kernel) / r->transform->options->grain < 2;
}

/* The kernel and those after it that join it. */
static void emit_horizontal(Horizontal *r, uint32_t first)
{
	Kernel open = r->all[first], joint;
	uint32_t between = 0;
	bool suffice = pieces_suffice(r, &open);
	for (uint32_t k = first + 1; k < r->n && between <= BETWEEN_MOST; k++) {
		if (r->all[k].loop != open.loop)
			break;
		bool wanted = is_wanted(r, &open, &r->all[k], suffice);
		if (wanted)
			joint = joint_kernel(r, &open, &r->all[k]);
		if (!wanted || !is_legal(r, &joint)) {
			if (!may_go_before(r, &r->all[k], &open))
				break;
			between++;
			continue;
		}
		describe(r, &open, &r->all[k]);
		open = joint;
		for (uint32_t i = first + 1; i < k; i++)
			if (!r->done[i])
				emit(r, &r->all[i]);
		for (uint32_t i = first + 1; i <= k; i++)
			r->done[i] = true;
		between = 0;
	}
	emit(r, &open);
}

static void describe_off(const Horizontal *r, const Kernel *kernel)
{
	if (says_off(asked_of(r, kernel, CHOICE_HORIZONTAL)))
		entry_make(r->program->arena, schedule_entry(r->program->made, kernel->name),
			   CHOICE_HORIZONTAL, true);
}

static uint32_t join_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Horizontal r = {.transform = t, .program = t->program, .n = n, .made = kernels};
	if (n < 2)
		return n;
	Kernel *all = ARENA_ARRAY(t->scratch, Kernel, n);
	memcpy(all, kernels, n * sizeof *all);
	r.all = all;
	r.done = ARENA_ARRAY(t->scratch, bool, n);
	for (uint32_t i = 0; i < n; i++)
		describe_off(&r, &all[i]);
	for (uint32_t i = 0; i < n; i++)
		if (!r.done[i])
			emit_horizontal(&r, i);
	return r.nmade;
}

void transform_horizontal(Transform *t)
{
	t->changed = t->options->grain > 0 && routines_change(t, join_routine);
}
