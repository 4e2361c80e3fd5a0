/* Is every index inside its buffer, whatever the sizes are?
 *
 *   for b in 0..n                                       b: a symbol with n - 1 - b >= 0
 *     for c in max(0, 1 - b)..min(3, (n + 1) - b)       c: max(0, 1 - b) + a symbol with ...
 *       ... y[b*3 + c*4 - 3]                            to show: b*3 + c*4 - 3 >= 0
 *                                                       and 3*n - 1 - (b*3 + c*4 - 3) >= 0
 *
 * A kernel is walked once for each routine that runs it, with facts about its iterators in scope
 * (bounds_prove.h): bounds of loops, conditions, checks. A local that is set once to an index is
 * that index. A statement that is like one whose indices are all shown, in a scope of which the
 * same is known, is passed over: hashes say so (bounds_key.c, prover_state).
 */
#include "loops/bounds.h"

#include <stb/stb_ds.h>
#include <string.h>

#include "base/hash.h"
#include "base/size_order.h"
#include "loops/bounds_walk.h"
#include "loops/walk.h"

/* How many indices a statement has, all shown, by the hash of it and its scope. */
typedef struct ShownStmt {
	uint64_t key;
	size_t value;
} ShownStmt;

typedef struct Bounds {
	Walk walk;
	KernelId id;
	const Stmt *stmt;
	uint32_t cond;
	StmtKeys keys;
	size_t at;		       /* of the next statement in keys */
	ShownStmt *shown;	       /* stb_ds */
	bool failed;		       /* an index was not shown since this was set to false */
	VEC(BufferId) stored, checked; /* the true and known ones of walk.known */
	Arena *arena;
	Arena *list;
	IndexUses *unshown;
} Bounds;

static Size number(Bounds *b, int64_t value) { return prover_number(b->walk.prover, value); }

/* ---- what is read and written ---- */

static bool is_known(const IndexUses *uses, const IndexUse *use)
{
	for (size_t i = 0; i < uses->n; i++) {
		const IndexUse *u = &uses->at[i];
		if (u->kernel == use->kernel && u->stmt == use->stmt && u->cond == use->cond &&
		    u->ix == use->ix && u->buffer == use->buffer && u->local == use->local)
			return true;
	}
	return false;
}

static void see_index(Bounds *b, IndexUse use)
{
	use.kernel = b->id;
	use.stmt = b->stmt;
	use.cond = b->cond;
	b->unshown->total++;
	if (walk_inside(&b->walk, use.ix, use.extent))
		return;
	b->failed = true;
	if (!is_known(b->unshown, &use))
		PUSH(b->list, *b->unshown, use);
}

static void see_buffer(Bounds *b, BufferId buffer, const Ix *ix)
{
	Size elements = b->walk.program->buffers.at[buffer].elements;
	see_index(b,
		  (IndexUse){.buffer = buffer, .local = LOCAL_NONE, .ix = ix, .extent = elements});
}

static void see_element(Bounds *b, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const KernelLocal *l = &b->walk.kernel->locals[local];
	for (uint32_t i = 0; i < nixs; i++) {
		Size extent = size_const(b->walk.program->sizes, l->extent[i]);
		see_index(b, (IndexUse){.local = local, .ix = ixs[i], .extent = extent});
	}
}

static void see_value(void *of, const Value *value)
{
	Bounds *b = of;
	if (value->kind == VALUE_LOAD)
		see_buffer(b, value->buffer, value->ix);
	if (value->kind == VALUE_LOCAL)
		see_element(b, value->local, value->ixs, value->nixs);
}

static void see_ix(Bounds *b, const Ix *ix) { ix_each_value(ix, see_value, b); }

/* ---- statements ---- */

static void walk_block(Bounds *b, Block block);

static void set_iter(Bounds *b, IterVar iter, Size size, Range range)
{
	b->walk.iters[iter] = size;
	b->walk.ranges[iter] = range;
	prover_note(b->walk.prover, (uint64_t)iter << 32 | size.id);
	prover_note(b->walk.prover, range.known ? (uint64_t)range.least : 0);
	prover_note(b->walk.prover, range.known ? (uint64_t)range.most : 1);
}

/* What is known of an iterator, lo + step * turn, beside that it is below hi: how often it runs,
 * and numbers that these never exceed. */
static void assume_turns(Bounds *b, const Stmt *loop, Size hi, Size extent, Size turn)
{
	Prover *p = b->walk.prover;
	Sizes *sizes = prover_sizes(p);
	int64_t most;
	if (loop->step == 1 && size_is_const(sizes, hi, &most) &&
	    size_is_const(sizes, extent, &most))
		return;
	Size times = size_ceil(sizes, extent, loop->step);
	bool whole = size_divides(sizes, number(b, loop->step), extent);
	Size last = size_plus(sizes, hi, whole ? -loop->step : -1);
	if (loop->step > 1)
		prover_assume(p, size_plus(sizes, size_sub(sizes, times, turn), -1));
	if (!size_is_const(sizes, last, &most) && size_most(sizes, last, &most))
		prover_assume(p, size_sub(sizes, number(b, most), b->walk.iters[loop->iter]));
	if (!size_is_const(sizes, times, &most) && size_most(sizes, times, &most))
		prover_assume(p, size_sub(sizes, number(b, most - 1), turn));
}

/* Of i < floor((n + 15)/16), 16*i < n, too: no tile of a grid is empty. */
static void assume_no_empty_tile(Bounds *b, Size left)
{
	Prover *p = b->walk.prover;
	Sizes *sizes = prover_sizes(p);
	Size floor, less, minus = size_scale(sizes, left, -1);
	if (size_floors(sizes, left, &floor, 1) == 1 &&
	    size_without_floor(sizes, minus, floor, FLOOR_MOST, &less))
		prover_assume(p, size_scale(sizes, less, -1));
}

/* How many turns a block has taken is not known. */
static void open_slot(Bounds *b, const Stmt *loop)
{
	Prover *p = b->walk.prover;
	if (loop->loop == LOOP_GRID) {
		set_iter(b, loop->slot, prover_symbol(p), (Range){0});
		return;
	}
	Size slot = prover_symbol(p), last = number(b, loop->nslots - 1);
	set_iter(b, loop->slot, slot, (Range){true, 0, loop->nslots - 1});
	prover_assume(p, size_sub(prover_sizes(p), last, slot));
}

/* The body runs, so lo is below hi; with one iteration at most there is no symbol. */
static void open_loop(Bounds *b, const Stmt *loop)
{
	Walk *w = &b->walk;
	Prover *p = w->prover;
	Sizes *sizes = prover_sizes(p);
	Size lo = walk_size(w, loop->lo), hi = walk_size(w, loop->hi);
	Size extent = size_sub(sizes, hi, lo);
	Range from = walk_range(w, loop->lo), to = walk_range(w, loop->hi);
	bool once =
		loop->step > 1 && prover_shows(p, size_sub(sizes, number(b, loop->step), extent));
	Size turn = once ? number(b, 0) : prover_symbol(p);
	Size iter = size_add(sizes, lo, size_scale(sizes, turn, loop->step));
	set_iter(b, loop->iter, iter, (Range){from.known && to.known, from.least, to.most - 1});
	prover_assume_above(p, size_plus(sizes, extent, -1));
	prover_assume(p, size_plus(sizes, size_sub(sizes, hi, iter), -1));
	assume_turns(b, loop, hi, extent, turn);
	if (loop->loop == LOOP_GRID) {
		assume_no_empty_tile(b, size_plus(sizes, hi, -1));
		assume_no_empty_tile(b, size_plus(sizes, size_sub(sizes, hi, iter), -1));
	}
	if (loop->nslots)
		open_slot(b, loop);
}

static void walk_loop(Bounds *b, const Stmt *stmt)
{
	WalkScope scope = walk_open(&b->walk);
	see_ix(b, stmt->lo);
	see_ix(b, stmt->hi);
	open_loop(b, stmt);
	walk_block(b, stmt->body);
	walk_close(&b->walk, scope);
}

static void assume_cond(Bounds *b, const Cond *cond)
{
	Prover *p = b->walk.prover;
	Sizes *sizes = prover_sizes(p);
	Size over = size_sub(sizes, walk_size(&b->walk, cond->b), walk_size(&b->walk, cond->a));
	prover_assume(p, cond->kind == COND_LT ? size_plus(sizes, over, -1) : over);
	if (cond->kind == COND_EQ)
		prover_assume(p, size_scale(sizes, over, -1));
}

static void assume_conds(Bounds *b, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		b->cond = i;
		see_ix(b, stmt->conds[i].a);
		see_ix(b, stmt->conds[i].b);
		assume_cond(b, &stmt->conds[i]);
	}
	b->cond = 0;
}

static void walk_if(Bounds *b, const Stmt *stmt)
{
	WalkScope scope = walk_open(&b->walk);
	assume_conds(b, stmt);
	walk_block(b, stmt->body);
	walk_close(&b->walk, scope);
}

/* What is stored to is there whether the conditions hold or not. */
static void walk_store(Bounds *b, const Stmt *stmt)
{
	see_buffer(b, stmt->buffer, stmt->ix);
	see_ix(b, stmt->ix);
	WalkScope scope = walk_open(&b->walk);
	assume_conds(b, stmt);
	value_each(stmt->value, see_value, b);
	walk_close(&b->walk, scope);
}

/* Behind it the index is inside. */
static void walk_check(Bounds *b, const Stmt *stmt)
{
	Prover *p = b->walk.prover;
	Sizes *sizes = prover_sizes(p);
	see_ix(b, stmt->lo);
	see_ix(b, stmt->ix);
	see_ix(b, stmt->hi);
	Size ix = walk_size(&b->walk, stmt->ix), lo = walk_size(&b->walk, stmt->lo);
	Size hi = walk_size(&b->walk, stmt->hi);
	prover_assume(p, size_sub(sizes, ix, lo));
	prover_assume(p, size_plus(sizes, size_sub(sizes, hi, ix), -1));
}

static void walk_local(Bounds *b, const Stmt *stmt)
{
	Walk *w = &b->walk;
	const Value *value = stmt->value;
	value_each(value, see_value, b);
	bool index = value->kind == VALUE_INDEX && value->dtype == DTYPE_I64;
	Size size = index && !w->known.set[stmt->local] ? walk_size(w, value->ix) : SIZE_BAD;
	w->locals[stmt->local] = size;
	prover_note(w->prover, (uint64_t)stmt->local << 32 | size.id);
}

static void walk_one(Bounds *b, const Stmt *stmt)
{
	b->stmt = stmt;
	switch (stmt->kind) {
	case LOOP_FOR: walk_loop(b, stmt); break;
	case LOOP_IF: walk_if(b, stmt); break;
	case LOOP_LOCAL: walk_local(b, stmt); break;
	case LOOP_SET:
		see_element(b, stmt->local, stmt->ixs, stmt->nixs);
		for (uint32_t i = 0; i < stmt->nixs; i++)
			see_ix(b, stmt->ixs[i]);
		value_each(stmt->value, see_value, b);
		break;
	case LOOP_STORE: walk_store(b, stmt); break;
	case LOOP_CHECK: walk_check(b, stmt); break;
	case LOOP_PREFETCH: see_ix(b, stmt->ix); break;
	case LOOP_BARRIER:
	case LOOP_COMMIT:
	case LOOP_WAIT:
	case LOOP_ARRIVE:
	case LOOP_AWAIT:
	case LOOP_COPY: break; /* its places are looked at with its threads (mbarriers.h) */
	}
}

/* Locals and checks say something to what stands behind them. */
static bool stands_alone(const Stmt *stmt)
{
	return stmt->kind != LOOP_LOCAL && stmt->kind != LOOP_CHECK;
}

static void walk_stmt(Bounds *b, const Stmt *stmt)
{
	StmtKey own = b->keys.at[b->at++];
	uint64_t key = hash_mix(prover_state(b->walk.prover), own.key);
	ptrdiff_t like = stands_alone(stmt) ? hmgeti(b->shown, key) : -1;
	size_t total = b->unshown->total;
	bool failed = b->failed;
	if (like >= 0) {
		b->unshown->total += b->shown[like].value;
		b->at += own.n - 1;
		return;
	}
	b->failed = false;
	walk_one(b, stmt);
	if (!b->failed && stands_alone(stmt))
		hmput(b->shown, key, b->unshown->total - total);
	b->failed |= failed;
}

static void walk_block(Bounds *b, Block block)
{
	WalkScope scope = walk_open(&b->walk);
	for (uint32_t i = 0; i < block.n; i++)
		walk_stmt(b, block.stmts[i]);
	walk_close(&b->walk, scope);
}

/* ---- kernels ---- */

static void find_sets(void *of, const Stmt *stmt)
{
	Bounds *b = of;
	BoundsReads *known = &b->walk.known;
	if (stmt->kind == LOOP_SET)
		known->set[stmt->local] = true;
	if (stmt->kind == LOOP_STORE && !known->stored[stmt->buffer]) {
		known->stored[stmt->buffer] = true;
		PUSH(b->arena, b->stored, stmt->buffer);
	}
}

static void note_check(Bounds *b, const Stmt *nest)
{
	Prover *p = b->walk.prover;
	BoundsReads *known = &b->walk.known;
	CheckNest check;
	if (!check_nest(b->walk.program, nest, &check))
		return;
	Size hi = prover_size(p, check.hi);
	if (!check.value) {
		prover_assume(p, size_sub(prover_sizes(p), hi, prover_size(p, check.extent)));
	} else if (check.value->kind == VALUE_SCALAR) {
		known->scalars[check.value->scalar] = hi;
	} else if (!known->stored[check.value->buffer]) {
		known->checked[check.value->buffer] = hi;
		PUSH(b->arena, b->checked, check.value->buffer);
	}
}

/* What holds behind the kernel. */
static void note_kernel(Bounds *b)
{
	BoundsReads *known = &b->walk.known;
	for (uint32_t i = 0; i < b->walk.kernel->body.n; i++)
		note_check(b, b->walk.kernel->body.stmts[i]);
	for (size_t i = 0; i < b->stored.n; i++) {
		known->checked[b->stored.at[i]] = SIZE_BAD;
		known->stored[b->stored.at[i]] = false;
	}
	b->stored.n = 0;
}

static void walk_kernel(Bounds *b, KernelId id)
{
	Walk *w = &b->walk;
	const Kernel *kernel = &w->program->kernels.at[id];
	Arena *arena = w->arena;
	arena_reset(arena);
	b->id = id;
	w->kernel = kernel;
	w->iters = ARENA_ARRAY(arena, Size, kernel->niters + 1);
	w->ranges = ARENA_ARRAY(arena, Range, kernel->niters + 1);
	w->locals = ARENA_ARRAY(arena, Size, kernel->nlocals + 1);
	w->known.set = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	memset(&w->reads, 0, sizeof w->reads);
	block_each(kernel->body, find_sets, b);
	b->keys = bounds_keys(arena, w->program, kernel, &w->known);
	b->at = 0;
	walk_block(b, kernel->body);
	note_kernel(b);
}

static void walk_routine(Bounds *b, const ProgramRoutine *routine, LoopsFault *fault)
{
	Walk *w = &b->walk;
	for (size_t i = 0; i < b->checked.n; i++)
		w->known.checked[b->checked.at[i]] = SIZE_BAD;
	b->checked.n = 0;
	w->known.scalars = ARENA_ARRAY(b->arena, Size, routine->nscalars + 1);
	prover_enter(w->prover, routine);
	for (uint32_t i = 0; i < routine->nkernels && !fault->rule; i++) {
		size_t before = b->unshown->n;
		walk_kernel(b, routine->kernels[i]);
		if (b->unshown->n > before)
			bounds_refute(w->program, routine, b->unshown, routine->kernels[i], fault);
	}
}

IndexUses bounds_unshown(Arena *list, const Program *program, LoopsFault *fault)
{
	IndexUses unshown = {0};
	LoopsFault none = {0}, *found = fault ? fault : &none;
	Arena *arena = arena_new(), *of_kernel = arena_new();
	Bounds b = {.arena = arena, .list = list, .unshown = &unshown};
	b.walk = (Walk){
		.program = program, .arena = of_kernel, .prover = prover_new(arena, program)};
	b.walk.known.stored = ARENA_ARRAY(arena, bool, program->buffers.n + 1);
	b.walk.known.checked = ARENA_ARRAY(arena, Size, program->buffers.n + 1);
	for (uint32_t r = 0; r < program->routines.n + 2; r++)
		walk_routine(&b, program_routine(program, r), found);
	hmfree(b.shown);
	prover_free(b.walk.prover);
	arena_free(of_kernel);
	arena_free(arena);
	if (none.rule)
		BUG("kernel %s: %s", none.kernel->name, none.rule);
	return unshown;
}

void bounds_print(FILE *out, const Program *program, const IndexUse *use)
{
	const Kernel *kernel = &program->kernels.at[use->kernel];
	bool local = use->local != LOCAL_NONE;
	fprintf(out, "tsrc: kernel %s: %s[", kernel->name,
		local ? kernel->locals[use->local].name : program->buffers.at[use->buffer].name);
	ix_print(out, program, kernel, use->ix);
	fprintf(out, "] of %s\n", size_text(program->arena, program->sizes, use->extent));
}
