/* Finished loops to chunks of work that threads may share.
 *
 *   for i in 0..m { for j in 0..n { ... } }
 *   what is left behind these tiles
 * becomes, where i and j are independent (independent.c),
 *   parallel chunk in 0..I*J
 *     for i in m*(chunk / J) / I .. m*(chunk / J + 1) / I
 *       for j in n*(chunk % J) / J .. n*(chunk % J + 1) / J { ... }
 *     if chunk == I*J - 1: what is left
 *
 * Of loops that are nested in each other, at the top of a kernel or under conditions there, at most
 * two are cut; what they contain is as it was, so every element is computed by the same code in the same
 * order. How many chunks there are follows from the work (work.c): never from threads.
 * An even number is wanted, for two threads; work for less than two chunks stays one loop. An
 * innermost loop of constant length is cut at multiples of BLOCK only. A schedule may say into
 * how many parts each loop is cut. Elements that a kernel copies beside its other loops count COPY
 * times: they wait for memory, and threads find near what they have copied.
 *
 * What stands behind a loop and stores other elements (`followed`) goes with its parts: a loop is cut as
 * often, the rest is a part's, the last one's or, where it is as long as some, one of its own.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/transform.h"

/* Loops, chunks, and parts that are asked for, at most. */
enum { DEPTH_MAX = 8, CHUNKS_MAX = 64, PARTS_MAX = 1024 };

typedef struct Chunks {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	int64_t grain;
	ScheduleClause *asked; /* NULL: nothing */
	ScheduleClause *made;  /* NULL: nothing was cut yet */
	bool own;	       /* what is left behind the loops is a chunk behind their parts */
	uint32_t nroots;       /* loops of the kernel that stand in no other, and beside none */
} Chunks;

/* A loop that is cut. */
typedef struct Cut {
	const Stmt *loop; /* NULL: none */
	int64_t block;
	const Ix *blocks; /* how many there are to share out */
	bool followed;	  /* by what stores other elements, in the same loop */
	bool shares;	  /* inside a loop over blocks of a sum, whose iterations depend on each other */
	const Ix *parts, *part;
} Cut;

static const Ix *most(const Chunks *p, const Ix *a, const Ix *b)
{
	return ix_binary(p->program, IX_MAX, a, b);
}

/* ---- which loops ---- */

static bool depends(const Stmt *loop, const Stmt *const *outer, uint32_t n)
{
	Size size;
	if (loop->lo->kind != IX_SIZE || !ix_known_size(loop->hi, &size))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (ix_uses(loop->hi, outer[i]->iter))
			return true;
	return false;
}

/* How many statements from the first on store other elements than what stands before them. */
static uint32_t count_behind(const Stmt *const *stmts, uint32_t n)
{
	uint32_t i = 0;
	while (i < n && stmts[i]->disjoint)
		i++;
	return i;
}

static bool is_first_of_tiles(const Block *block)
{
	return block->stmts[0]->independent &&
	       count_behind(block->stmts + 1, block->n - 1) == block->n - 1;
}

/* The loops that hold nothing but the next one, and what stands beside it. */
static uint32_t nested_loops(const Stmt *stmt, const Stmt **loops)
{
	uint32_t n = 0;
	while (n < DEPTH_MAX && stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL &&
	       !depends(stmt, loops, n)) {
		loops[n++] = stmt;
		if (stmt->body.n == 0 || (stmt->body.n > 1 && !is_first_of_tiles(&stmt->body)))
			break;
		stmt = stmt->body.stmts[0];
	}
	return n;
}

static bool holds_loops(const Stmt *loop)
{
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (loop->body.stmts[i]->kind == LOOP_FOR || loop->body.stmts[i]->kind == LOOP_IF)
			return true;
	return false;
}

static Cut cut_of(const Chunks *p, const Stmt *loop)
{
	int64_t constant;
	const Ix *n = ix_size(p->arena, loop_trips(p->program, loop));
	bool fixed = size_is_const(p->program->sizes, n->size, &constant);
	bool in_blocks = fixed && loop->step == 1 && !holds_loops(loop);
	Cut cut = {.loop = loop, .block = in_blocks ? p->program->options.target->thread_block : 1};
	cut.blocks = ix_binary(p->program, IX_DIV, ix_plus(p->program, n, cut.block - 1),
			       ix_const(p->program, cut.block));
	return cut;
}

/* How many blocks there are to share out; 0: not known. */
static int64_t known_blocks(const Chunks *p, const Cut *cut)
{
	int64_t n;
	bool known = cut->blocks->kind == IX_SIZE &&
		     size_is_const(p->program->sizes, cut->blocks->size, &n);
	return known ? n : 0;
}

static bool is_one_block(const Chunks *p, const Cut *cut)
{
	Size lo, hi;
	return (cut->blocks->kind == IX_SIZE &&
		size_ge(p->program->sizes, size_const(p->program->sizes, 1), cut->blocks->size)) ||
	       loop_of_rest(p->program, cut->loop, &lo, &hi);
}

/* Is what was cut enough, and the next loop better left as it is? One that tiles traverse
 * step by step, or that goes past what a block of a sum left in a cache, reads again where it is cut. */
static bool suffices(const Chunks *p, const Cut *cut, const Cut *next)
{
	int64_t n = known_blocks(p, cut), least = p->program->options.target->thread_parts;
	if (next->shares && n > 0 && n % 2 == 0)
		return true;
	if (n % 2 && next->loop->step > 1)
		least *= 2;
	bool tiles = n == 0 || n >= least || known_blocks(p, next) == 0;
	return next->followed ? tiles : n >= CHUNKS_MAX;
}

static uint32_t choose(const Chunks *p, const Stmt *root, Cut *cuts)
{
	const Stmt *loops[DEPTH_MAX];
	uint32_t nloops = nested_loops(root, loops), n = 0;
	bool in_blocks = false;
	for (uint32_t i = 0; i < nloops && n < 2; i++) {
		Cut cut = cut_of(p, loops[i]);
		cut.followed = i > 0 && loops[i - 1]->body.n > 1;
		cut.shares = in_blocks;
		if (n == 1 && suffices(p, &cuts[0], &cut))
			break;
		bool independent = loop_is_independent(p->program, p->kernel, root, loops[i]);
		in_blocks |= !independent;
		if (independent && !is_one_block(p, &cut) &&
		    asks_any(p->asked, p->kernel->iters[loops[i]->iter].name))
			cuts[n++] = cut;
	}
	return n;
}

uint32_t loops_to_cut(Program *program, Kernel *kernel, const Stmt *root)
{
	Chunks p = {.program = program, .arena = program->arena, .kernel = kernel};
	Cut cuts[2];
	return choose(&p, root, cuts);
}

/* ---- cutting ---- */

/* The iterator's value at the start of a part. */
static const Ix *start_of(const Chunks *p, const Cut *cut, const Ix *part)
{
	Program *program = p->program;
	const Ix *block =
		ix_binary(program, IX_DIV, ix_mul(program, part, cut->blocks), cut->parts);
	return ix_add(program, cut->loop->lo,
		      ix_mul(program, block, ix_const(p->program, cut->block * cut->loop->step)));
}

static const Stmt *cut_loop(const Chunks *p, const Stmt *loop, const Cut *cut)
{
	Stmt *copy = ARENA_NEW(p->arena, Stmt);
	const Ix *end = start_of(p, cut, ix_plus(p->program, cut->part, 1));
	bool beyond = cut->block > 1 || p->own || loop->hi->kind != IX_SIZE;
	*copy = *loop;
	copy->lo = start_of(p, cut, cut->part);
	copy->hi = beyond ? ix_least(p->program, loop->hi, end) : end;
	return copy;
}

static bool is_rest_loop(const Chunks *p, const Stmt *stmt)
{
	if (stmt->kind != LOOP_FOR || stmt->loop != LOOP_SERIAL || !stmt->independent ||
	    depends(stmt, NULL, 0))
		return false;
	Cut cut = cut_of(p, stmt);
	return known_blocks(p, &cut) > 1;
}

/* Adds what stands beside the loops as the part at hand of `of` has it. `own`: all but loops are a
 * chunk behind the others. */
static void add_rest(const Chunks *p, Body *body, Block rest, const Cut *of, bool own)
{
	Body last = {0};
	for (uint32_t i = 0; i < rest.n; i++) {
		if (!is_rest_loop(p, rest.stmts[i])) {
			PUSH(p->arena, last.stmts, rest.stmts[i]);
			continue;
		}
		Cut cut = cut_of(p, rest.stmts[i]);
		cut.parts = of->parts;
		cut.part = of->part;
		PUSH(p->arena, body->stmts, cut_loop(p, rest.stmts[i], &cut));
	}
	if (last.stmts.n == 0)
		return;
	Cond cond = {COND_EQ, of->part, ix_plus(p->program, of->parts, own ? 0 : -1)};
	PUSH(p->arena, body->stmts, stmt_if_one(p->arena, cond, body_block(&last)));
}

/* The loops, `whole` as one that is cut like all of them. */
static Block cut_loops(const Chunks *p, Block block, const Cut *cuts, uint32_t ncuts,
		       const Cut *whole)
{
	if (ncuts == 0)
		return block;
	const Stmt *stmt = block.stmts[0];
	bool cut = stmt == cuts->loop;
	const Stmt *loop = cut ? cut_loop(p, stmt, cuts) : stmt;
	const Cut *inner = cut ? cuts + 1 : whole;
	Block inside = cut_loops(p, stmt->body, cuts + cut, ncuts - cut, inner);
	Body all = {0};
	PUSH(p->arena, all.stmts, stmt_with(p->arena, loop, inside));
	Block rest = {block.stmts + 1, block.n - 1};
	add_rest(p, &all, rest, whole, p->own && whole->loop == NULL);
	return body_block(&all);
}

/* The part of each loop that a chunk is. */
static void name_parts(Chunks *p, Cut *cuts, uint32_t n, const Ix *chunk, Body *body)
{
	cuts[0].parts = kernel_short_ix(p->program, p->kernel, "parts", cuts[0].parts, body);
	cuts[0].part = chunk;
	if (n == 1)
		return;
	cuts[1].parts = kernel_short_ix(p->program, p->kernel, "inner_parts", cuts[1].parts, body);
	cuts[0].part = ix_binary(p->program, IX_DIV, chunk, cuts[1].parts);
	cuts[1].part = ix_binary(p->program, IX_MOD, chunk, cuts[1].parts);
}

/* The number of parts asked for; 0: none is, or more than PARTS_MAX. */
static int64_t asked_parts(const Chunks *p, const Stmt *loop)
{
	int64_t parts = asks_number(p->asked, p->kernel->iters[loop->iter].name);
	return parts <= PARTS_MAX ? parts : 0;
}

/* min(blocks, wanted, or what is asked for), at least 1 */
static const Ix *parts_of(const Chunks *p, const Cut *cut, const Ix *wanted)
{
	int64_t asked = asked_parts(p, cut->loop);
	return most(
		p, ix_const(p->program, 1),
		ix_least(p->program, cut->blocks, asked ? ix_const(p->program, asked) : wanted));
}

/* I = min(blocks, wanted), J = min(blocks, ceil(wanted / I)), unless numbers are asked for. */
static const Ix *share_out(Chunks *p, Cut *cuts, uint32_t n, const Ix *wanted)
{
	Program *program = p->program;
	cuts[0].parts = parts_of(p, &cuts[0], wanted);
	if (n == 1)
		return cuts[0].parts;
	if (cuts[1].followed)
		wanted = ix_least(
			program, wanted,
			ix_const(p->program, 2 * p->program->options.target->thread_parts));
	const Ix *rest = ix_add(program, wanted, ix_plus(p->program, cuts[0].parts, -1));
	rest = ix_binary(program, IX_DIV, rest, cuts[0].parts);
	cuts[1].parts = parts_of(p, &cuts[1], rest);
	return ix_mul(program, cuts[0].parts, cuts[1].parts);
}

/* The number of a loop's parts as a schedule asks for it; 0: sizes decide. */
static int64_t told_parts(const Chunks *p, const Cut *cut)
{
	int64_t parts = 0;
	bool constant = cut->parts->kind == IX_SIZE &&
			size_is_const(p->program->sizes, cut->parts->size, &parts);
	return constant ? parts : asked_parts(p, cut->loop);
}

/* Loops of one name that have different numbers of parts are told without. */
static void describe(Chunks *p, const Cut *cuts, uint32_t n)
{
	ScheduleEntry *entry = schedule_entry(p->program->made, p->kernel->name);
	if (!p->made)
		p->made = entry_make(p->arena, entry, CHOICE_PARALLEL, false);
	for (uint32_t i = 0; i < n; i++) {
		Sym name = p->kernel->iters[cuts[i].loop->iter].name;
		int64_t parts = told_parts(p, &cuts[i]);
		ScheduleItem *item = clause_item(p->made, name);
		if (!item)
			clause_add(p->arena, p->made, name, &parts, parts > 0);
		else if (item->numbers[0] != parts)
			item->n = 0;
	}
}

/* Does it only move elements? */
static bool is_copy(Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool store =
			stmt->kind == LOOP_STORE && stmt->acc == OP_NONE && stmt->value->nargs == 0;
		if (stmt->kind == LOOP_FOR ? !is_copy(stmt->body) : !store)
			return false;
	}
	return true;
}

/* The operations of a chunk of the loops. */
static int64_t grain_of(const Chunks *p, Block root)
{
	bool copies = p->nroots > 1 && p->grain >= p->program->options.target->grain_copies &&
		      is_copy(root);
	return copies ? p->grain / p->program->options.target->grain_copies : p->grain;
}

/* Does the schedule ask for a number of parts of some loop? */
static bool asks_parts(const Chunks *p)
{
	for (size_t i = 0; p->asked && i < p->asked->items.n; i++)
		if (p->asked->items.at[i].n)
			return true;
	return false;
}

/* Is what is left behind the loops, cut ones not counted, worth a chunk of its own? */
static bool is_own_chunk(const Chunks *p, Block root, const Ix *count)
{
	Sizes *sizes = p->program->sizes;
	int64_t parts, all, work, rest = 0;
	if (count->kind != IX_SIZE || !size_is_const(sizes, count->size, &parts) ||
	    !size_is_const(sizes, block_size(p->program, (Block){root.stmts, 1}), &all))
		return false;
	for (uint32_t i = 1; i < root.n; i++)
		if (!is_rest_loop(p, root.stmts[i])) {
			Block one = {root.stmts + i, 1};
			if (!size_is_const(sizes, block_size(p->program, one), &work))
				return false;
			rest += work;
		}
	return rest > all / parts / p->program->options.target->thread_rest;
}

/* A loop that begins here, with what stands beside it, and how it is cut. */
typedef struct ChunkPlan {
	Block root;
	const Ix *wanted; /* chunks */
	Cut cuts[2];
	uint32_t n; /* of cuts; 0: it stays as it is */
} ChunkPlan;

/* `stmts`: the rest of the kernel's statements. */
static ChunkPlan plan_chunks(const Chunks *p, const Stmt *const *stmts, uint32_t n)
{
	ChunkPlan plan = {.root = {stmts, 1}};
	if (stmts[0]->kind != LOOP_FOR || p->grain <= 0)
		return plan;
	plan.root.n += stmts[0]->independent ? count_behind(stmts + 1, n - 1) : 0;
	const Ix *wanted = ix_binary(p->program, IX_DIV, block_work(p->program, plan.root),
				     ix_const(p->program, grain_of(p, plan.root)));
	wanted = ix_mul(p->program, ix_binary(p->program, IX_DIV, wanted, ix_const(p->program, 2)),
			ix_const(p->program, 2));
	plan.wanted = ix_least(p->program, wanted, ix_const(p->program, CHUNKS_MAX));
	bool sure = p->nroots == 1 && asks_parts(p); /* of several, those that are worth it */
	bool few = plan.wanted->kind == IX_SIZE &&
		   size_ge(p->program->sizes, size_const(p->program->sizes, 1), plan.wanted->size);
	plan.n = sure || !few ? choose(p, stmts[0], plan.cuts) : 0;
	if (plan.n == 0)
		plan.root.n = 1;
	return plan;
}

/* The loop as a parallel one. */
static const Stmt *in_chunks(Chunks *p, const ChunkPlan *plan)
{
	Block root = plan->root;
	Cut cuts[2] = {plan->cuts[0], plan->cuts[1]};
	uint32_t n = plan->n;
	IterVar iter = kernel_add_iter(p->program, p->kernel, "chunk");
	const Ix *count = share_out(p, cuts, n, plan->wanted);
	describe(p, cuts, n);
	p->own = is_own_chunk(p, root, count);
	Body body = {0};
	Cut whole = {.part = ix_iter(p->arena, iter), .parts = count};
	name_parts(p, cuts, n, whole.part, &body);
	if (root.n > 1)
		whole.parts = n == 1 ? cuts[0].parts : kernel_short_ix(p->program, p->kernel, "chunks", count, &body);
	Block cut = cut_loops(p, root, cuts, n, &whole);
	body_append(p->arena, &body, cut);
	Stmt *loop = ARENA_NEW(p->arena, Stmt);
	*loop = *stmt_for(p->arena, iter, ix_const(p->program, 0),
			  ix_plus(p->program, count, p->own), body_block(&body));
	loop->span = root.stmts[0]->span;
	loop->loop = LOOP_PARALLEL;
	kernel_scratch(p->program, p->kernel, loop);
	return loop;
}

static uint32_t count_roots(Block block)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		n += stmt->kind == LOOP_FOR && !stmt->disjoint;
		n += stmt->kind == LOOP_IF ? count_roots(stmt->body) : 0;
	}
	return n;
}

static Block cut_block(Chunks *p, Block block);

/* What is done where the conditions hold; the same statement where nothing of it is cut. */
static const Stmt *cut_if(Chunks *p, const Stmt *stmt)
{
	Block body = cut_block(p, stmt->body);
	return body.stmts == stmt->body.stmts ? stmt : stmt_with(p->arena, stmt, body);
}

/* The block at the top of a kernel, or under conditions there; the same where nothing is cut. */
static Block cut_block(Chunks *p, Block block)
{
	Body body = {0};
	bool cuts = false;
	for (uint32_t i = 0, n; i < block.n; i += n) {
		ChunkPlan plan = plan_chunks(p, block.stmts + i, block.n - i);
		const Stmt *made = plan.root.stmts[0];
		if (plan.n)
			made = in_chunks(p, &plan);
		else if (made->kind == LOOP_IF)
			made = cut_if(p, made);
		n = plan.root.n;
		cuts |= made != block.stmts[i];
		PUSH(p->arena, body.stmts, made);
	}
	return cuts ? body_block(&body) : block;
}

void kernel_parallel(const Transform *t, Kernel *kernel)
{
	Program *program = t->program;
	int64_t grain = t->options->grain;
	Chunks p = {.program = program, .arena = program->arena, .kernel = kernel, .grain = grain};
	p.asked = kernel_asked(t, kernel, CHOICE_PARALLEL);
	if (says_off(p.asked))
		entry_make(p.arena, schedule_entry(program->made, kernel->name), CHOICE_PARALLEL,
			   true);
	if (asks_off(p.asked))
		return;
	p.nroots = count_roots(kernel->body);
	kernel->body = cut_block(&p, kernel->body);
}

void transform_parallel(Transform *t)
{
	Program *program = t->program;
	for (uint32_t r = 0; r < program->routines.n + 1; r++) { /* the last is `pack` */
		const ProgramRoutine *routine = program_routine(program, r);
		for (uint32_t i = 0; i < routine->nkernels; i++) {
			Kernel *kernel = &program->kernels.at[routine->kernels[i]];
			const Stmt *const *before = kernel->body.stmts;
			kernel_parallel(t, kernel);
			t->changed |= kernel->body.stmts != before;
		}
	}
	if (!t->options->gpu)
		t->changed |= kernels_cut(t);
}
