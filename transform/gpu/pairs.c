/* Products of three factors, whose sums were made in pairs: the inner one is no kernel of its own where it reads elements of four bits
 * that few others read, since its sums would take more memory than what they are made of.
 *
 *   kernel pair_y  for g, o: acc = 0; for k: acc += w[o*n + g*32 + k]*x[g*32 + k]; pair_y[g*m + o] = acc     (gone)
 *   kernel y       for o: acc = 0; for g: acc += pair_y[g*m + o]*d[o*n/32 + g]; y[o] = acc
 *            ->    for o: acc = 0; for g, k: acc += w[o*n + g*32 + k]*x[g*32 + k]*d[o*n/32 + g]; y[o] = acc
 *
 * Terms are in another order and each is multiplied, so not under --fp=strict; what threads make of it adds up a group first
 * again (row_warps.c).
 */
#include "loops/dependence.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "transform/gpu/attention.h"
#include "transform/gpu/indices.h"

/* A kernel of one sum for each element: its loops, that of the sum and what it adds. */
typedef struct Pair {
	const Kernel *kernel;
	LoopNest nest;
	const Stmt *sum, *set, *store;
} Pair;

/* The one place that loads what it stores. */
typedef struct Site {
	BufferId buffer;
	const Stmt *set; /* adds a product with it; NULL: something else */
	const Value *load;
	uint32_t loads;
} Site;

typedef struct Pairs {
	RoutineKernels x;
	int64_t most; /* iterations that may read an element of four bits */
} Pairs;

/* ---- the inner sum ---- */

static bool is_sum(const Stmt *stmt) { return is_fold(stmt) && stmt->acc == OP_ADD && stmt->value->dtype == DTYPE_F32; }

static bool pair_of(const Pairs *p, const Kernel *kernel, Pair *pair)
{
	const Sizes *sizes = p->x.program->sizes;
	*pair = (Pair){.kernel = kernel, .nest = block_nest(kernel->body)};
	Block body = pair->nest.body;
	if (body.n != 3 || !nest_counts_from_zero(sizes, &pair->nest))
		return false;
	const Stmt *local = body.stmts[0];
	pair->sum = body.stmts[1];
	pair->store = body.stmts[2];
	pair->set = pair->sum->kind == LOOP_FOR ? block_only(pair->sum->body) : NULL;
	return local->kind == LOOP_LOCAL && pair->set && is_sum(pair->set) && pair->set->local == local->local &&
	       value_same(local->value, fold_neutral(p->x.program->arena, pair->set)) &&
	       loop_counts_from_zero(sizes, pair->sum) && pair->store->kind == LOOP_STORE &&
	       pair->store->acc == OP_NONE && pair->store->value->kind == VALUE_LOCAL &&
	       pair->store->value->local == local->local;
}

typedef struct Terms {
	const Pairs *p;
	const Pair *pair;
	bool packed, wrong;
} Terms;

static void see_term(void *of, const Value *value)
{
	Terms *t = of;
	t->wrong |= value->kind == VALUE_LOCAL || (value->ix && value->ix->reads);
	if (value->kind != VALUE_LOAD || !dtype_is_packed(t->p->x.program->buffers.at[value->buffer].dtype))
		return;
	t->packed = true;
	t->wrong |= loops_readers(t->p->x.program->sizes, t->pair->nest.loops, t->pair->nest.n,
				  value->ix) > t->p->most;
}

static bool is_of_four_bits(const Pairs *p, const Pair *pair)
{
	Terms terms = {p, pair, false, false};
	value_each(pair->set->value, see_term, &terms);
	return terms.packed && !terms.wrong;
}

/* ---- the outer one ---- */

/* The load, if the value is a product with it. */
static const Value *factor(const Value *value, BufferId buffer)
{
	if (value->kind == VALUE_LOAD && value->buffer == buffer)
		return value;
	if (value->kind != VALUE_OP || value->op != OP_MUL)
		return NULL;
	const Value *found = factor(value->args[0], buffer);
	return found ? found : factor(value->args[1], buffer);
}

static void see_load(void *of, const Value *value)
{
	Site *site = of;
	site->loads += value->kind == VALUE_LOAD && value->buffer == site->buffer;
}

static void see_ix(void *of, const Ix *ix) { ix_each_value(ix, see_load, of); }

static void see_site(void *of, const Stmt *stmt)
{
	Site *site = of;
	stmt_each_value(stmt, see_load, site);
	stmt_each_ix(stmt, see_ix, site);
	const Value *load = stmt->kind == LOOP_SET && is_sum(stmt) ? factor(stmt->value, site->buffer) : NULL;
	site->set = load ? stmt : site->set;
	site->load = load ? load : site->load;
}

/* Two kernels of a routine that become one, and how: the iterators of the one that goes in those of the other. */
typedef struct Both {
	Pair pair;
	uint32_t reader;
	Site site;
	const Ix **iters;
} Both;

/* By the pair's iterators those of the other kernel that run as often; false: some have none. */
static bool iters_at(const Pairs *p, const Both *both)
{
	const Pair *pair = &both->pair;
	const Kernel *kernel = &p->x.at[both->reader];
	const Stmt *const *loops = loops_by_iter(p->x.scratch, kernel);
	SameIters same;
	if (!same_iters(p->x.program, pair->store->ix, both->site.load->ix, &same) ||
	    same.n != pair->nest.n)
		return false;
	for (uint32_t i = 0; i < pair->nest.n; i++) {
		IterVar to = same_iter(&same, pair->nest.loops[i]->iter);
		const Stmt *loop = to == UINT32_MAX ? NULL : loops[to];
		if (!loop || !loop_counts_from_zero(p->x.program->sizes, loop) ||
		    !size_same(loop->hi->size, pair->nest.loops[i]->hi->size))
			return false;
		both->iters[pair->nest.loops[i]->iter] = ix_iter(p->x.program->arena, to);
	}
	return true;
}

/* The body with another statement, a loop over the inner sum, for the outer one's. */
static Block with(const Pairs *p, Block block, const Stmt *set, const Stmt *instead)
{
	Arena *arena = p->x.program->arena;
	Body body = {0};
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		PUSH(arena, body.stmts,
		     stmt == set ? instead
				 : stmt->body.n ? stmt_with(arena, stmt, with(p, stmt->body, set, instead)) : stmt);
	}
	return body_block(&body);
}

static void put_in(const Pairs *p, const Both *both)
{
	const Pair *pair = &both->pair;
	const Site *site = &both->site;
	Kernel *kernel = &p->x.at[both->reader];
	Program *program = p->x.program;
	Arena *arena = program->arena;
	IterVar k = bind_iter(program, kernel, pair->kernel->iters[pair->sum->iter].name);
	both->iters[pair->sum->iter] = ix_iter(arena, k);
	Rewrite inner = {.program = program, .iters = both->iters, .span = kernel->span};
	ValueTwin twin = {site->load, rewrite_alone(&inner, pair->set->value)};
	Rewrite outer = {.program = program,
			 .iters = kernel_iters(arena, kernel, 0),
			 .values = &twin,
			 .nvalues = 1,
			 .span = kernel->span};
	Stmt *set = stmt_with(arena, site->set, (Block){0});
	set->value = rewrite_alone(&outer, site->set->value);
	const Stmt *loop = stmt_for(arena, k, pair->sum->lo, pair->sum->hi, block_one(arena, set));
	kernel->body = with(p, kernel->body, site->set, loop);
}

/* ---- two kernels ---- */

/* The one kernel behind number `at` that touches what it stores, as late as which that may run; UINT32_MAX: there is none. */
static uint32_t reader_of(const Pairs *p, uint32_t at, const Pair *pair)
{
	uint32_t reader = UINT32_MAX;
	for (uint32_t i = 0; i < p->x.n; i++) {
		if (i == at || !routine_use(&p->x, i, pair->store->buffer))
			continue;
		if (reader != UINT32_MAX || i < at)
			return UINT32_MAX;
		reader = i;
	}
	bool may = reader != UINT32_MAX && kernel_may_wait(p->x.uses, p->x.at, at, reader);
	return may ? reader : UINT32_MAX;
}

static bool find_both(const Pairs *p, uint32_t at, Both *both)
{
	if (!pair_of(p, &p->x.at[at], &both->pair) || !is_of_four_bits(p, &both->pair))
		return false;
	BufferId between = both->pair.store->buffer;
	const Buffer *buffer = &p->x.program->buffers.at[between];
	both->reader = reader_of(p, at, &both->pair);
	if (both->reader == UINT32_MAX || buffer->kind != BUFFER_TEMP || buffer->dtype != DTYPE_F32 ||
	    program_loops_use(p->x.program, between))
		return false;
	both->site = (Site){.buffer = between};
	both->iters = kernel_iters(p->x.program->arena, both->pair.kernel, 0);
	block_each(p->x.at[both->reader].body, see_site, &both->site);
	return both->site.set && both->site.loads == 1 && iters_at(p, both);
}

uint32_t pairs_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Pairs p = {{t->program, t->scratch, kernels, n, kernel_uses_new(t->scratch)}, t->options->gpu->row_vectors};
	uint32_t left = 0;
	for (uint32_t i = 0; i < n && t->options->tensor_cores; i++) {
		Both both;
		if (!find_both(&p, i, &both))
			continue;
		put_in(&p, &both);
		buffer_forget(t->program, both.site.buffer);
		kernels[i].body.n = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (kernels[i].body.n)
			kernels[left++] = kernels[i];
	return left;
}
