/* What a kernel stores, in terms of what several kernels compute.
 *
 *   kernel sum  grid h, t: acc = sum over d of q[h*64 + d]*k[...]; sum[h*n + t] = acc
 *   kernel top  grid h: m = max over t of sum[h*n + t];  for t: e[h*n + t] = exp(sum[h*n + t] - m)
 *   kernel y    grid h, d: acc = sum over t of e[h*n + t]*v[...]; y[...] = acc
 *
 * as folds of values, where a fold stands for its local:
 *
 *   score = sum over d of q[h*64 + d]*k[...],  m = max over t of score,  acc = sum over t of exp(score - m)*v[...]
 *
 * A load of a temporary becomes what its maker stores there, if that takes maxima or exponents, or is a product in the
 * fold of one that does; what a product multiplies stays as it is loaded. Folds over as many iterations that are equally
 * deep have one iterator, so that what is the same in two of them has the same form.
 */
#include <math.h>

#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/decode.h"

enum { NONE = UINT32_MAX };

/* ---- what kernels do ---- */

typedef struct Look {
	const DecodeFacts *facts;
	bool exponents, maxima, of_weights, computes;
	uint32_t loops;
} Look;

static void see_exponent(void *of, const Value *value)
{
	Look *look = of;
	look->exponents |= value->kind == VALUE_OP && value->op == OP_EXP;
}

/* The buffer that is loaded, as it is or in a wider type; BUFFER_NONE: it is computed. */
static BufferId loaded(const Value *value)
{
	value = value->kind == VALUE_CAST ? value->args[0] : value;
	return value->kind == VALUE_LOAD ? value->buffer : BUFFER_NONE;
}

static bool is_of_weights(const DecodeFacts *facts, const Value *value)
{
	bool is = value->kind == VALUE_LOAD && facts->makers[value->buffer] != NONE &&
		  facts->levels[facts->makers[value->buffer]] == 1;
	if (value->kind == VALUE_OP && value->op == OP_MUL)
		for (uint32_t i = 0; i < 2 && !is; i++) {
			BufferId buffer = loaded(value->args[i]);
			is = buffer != BUFFER_NONE && facts->makers[buffer] != NONE &&
			     facts->levels[facts->makers[buffer]] == 1;
		}
	return is;
}

static void see_stmt(void *of, const Stmt *stmt)
{
	Look *look = of;
	if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL)
		look->loops++;
	if (stmt->value)
		value_each(stmt->value, see_exponent, look);
	if (stmt->kind != LOOP_SET)
		return;
	look->maxima |= stmt->acc == OP_MAX;
	look->of_weights |= stmt->acc == OP_ADD && is_of_weights(look->facts, stmt->value);
	look->computes |= stmt->acc == OP_ADD && stmt->value->kind == VALUE_OP &&
			  stmt->value->op == OP_MUL;
}

static void note_makers(const Joins *j, uint32_t number, uint32_t *makers)
{
	const BufferUses *uses = &kernel_uses(j->uses, &j->made[number])->uses;
	for (size_t i = 0; i < uses->n; i++) {
		BufferId buffer = uses->at[i].buffer;
		const Buffer *b = &j->program->buffers.at[buffer];
		if (!uses->at[i].stored)
			continue;
		bool first = makers[buffer] == NONE && b->kind == BUFFER_TEMP && !b->shared &&
			     !program_loops_use(j->program, buffer);
		makers[buffer] = first ? number : NONE - 1;
	}
}

DecodeFacts decode_facts(const Joins *j)
{
	size_t nbuffers = j->program->buffers.n;
	uint32_t *makers = ARENA_ARRAY(j->scratch, uint32_t, nbuffers + 1);
	uint8_t *levels = ARENA_ARRAY(j->scratch, uint8_t, j->n + 1);
	bool *products = ARENA_ARRAY(j->scratch, bool, j->n + 1);
	DecodeFacts facts = {makers, levels, products};
	for (size_t i = 0; i < nbuffers; i++)
		makers[i] = NONE;
	for (uint32_t i = 0; i < j->n; i++)
		note_makers(j, i, makers);
	for (size_t i = 0; i < nbuffers; i++)
		makers[i] = makers[i] == NONE - 1 ? NONE : makers[i];
	for (uint32_t i = 0; i < j->n; i++) {
		Look look = {.facts = &facts};
		block_each(j->made[i].body, see_stmt, &look);
		levels[i] = look.exponents || look.maxima ? 1 : look.of_weights ? 2 : 0;
		products[i] = look.computes && look.loops == 1 && levels[i] == 0;
	}
	return facts;
}

/* ---- a kernel in terms of the last ---- */

/* What a kernel computes with iterators of the last in the place of its grid's. */
typedef struct Instance {
	uint32_t kernel;
	const Ix **iters;
	const Value **locals; /* NULL: not known */
	uint32_t depth;	      /* of folds that the iterators are of, inside each other */
	bool loads;	      /* stay as they are */
} Instance;

/* An iterator of the last kernel, or of a fold. */
typedef struct FoldIter {
	IterVar iter;
	Size extent;
	uint32_t depth; /* of what is in such a fold; 0: of the grid */
} FoldIter;

typedef struct Expand {
	const Joins *j;
	const DecodeFacts *facts;
	Program *program;
	Arena *arena;
	Decode *d;
	uint32_t last;
	VEC(const Instance *) instances;
	VEC(FoldIter) iters;
	int64_t left; /* values that are made at most */
	bool wrong;
} Expand;

static const Value *expand(Expand *e, const Instance *in, const Value *value);

static const Value *wrong(Expand *e)
{
	e->wrong = true;
	return value_number(e->arena, DTYPE_F32, 0);
}

static const Kernel *kernel_of(const Expand *e, const Instance *in)
{
	return &e->j->made[in->kernel];
}

static const FoldIter *find_iter(const Expand *e, IterVar iter)
{
	for (size_t i = 0; i < e->iters.n; i++)
		if (e->iters.at[i].iter == iter)
			return &e->iters.at[i];
	return NULL;
}

/* Does the loop run as often as the iterator that stands for its own? */
static bool has_extent(const Expand *e, const Stmt *loop, IterVar iter)
{
	const FoldIter *known = iter == NONE ? NULL : find_iter(e, iter);
	return known && (loop->loop == LOOP_GRID || loop_counts_from_zero(e->program->sizes, loop)) &&
	       size_same(known->extent, loop->hi->size);
}

/* The iterator of folds over so many iterations, so deep. */
static IterVar fold_iter(Expand *e, Size extent, uint32_t depth, Sym name)
{
	for (size_t i = 0; i < e->iters.n; i++)
		if (e->iters.at[i].depth == depth && size_same(e->iters.at[i].extent, extent))
			return e->iters.at[i].iter;
	FoldIter made = {bind_iter(e->program, &e->d->kernel, name), extent, depth};
	PUSH(e->arena, e->iters, made);
	return made.iter;
}

/* The same with iterators and locals of its own, which a loop adds to. */
static Instance scope_of(const Expand *e, const Instance *in)
{
	const Kernel *kernel = kernel_of(e, in);
	Instance own = *in;
	own.iters = ARENA_ARRAY(e->arena, const Ix *, kernel->niters + 1);
	own.locals = ARENA_ARRAY(e->arena, const Value *, kernel->nlocals + 1);
	for (IterVar i = 0; i < kernel->niters; i++)
		own.iters[i] = in->iters[i];
	for (LocalId i = 0; i < kernel->nlocals; i++)
		own.locals[i] = in->locals[i];
	return own;
}

/* ---- folds ---- */

static bool is_neutral(const Value *value, Op acc)
{
	return value && value->kind == VALUE_CONST && value->dtype == DTYPE_F32 &&
	       value->constant.f == (acc == OP_ADD ? 0 : -(double)INFINITY);
}

static bool takes_exponents(const Value *value)
{
	Look look = {0};
	value_each(value, see_exponent, &look);
	return look.exponents;
}

/* Locals, and behind them one statement: that one; NULL: something else. */
static const Stmt *only_behind_locals(Expand *e, Instance *scope, const Stmt *loop)
{
	for (uint32_t i = 0; i < loop->body.n; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		if (i + 1 == loop->body.n)
			return stmt;
		if (stmt->kind != LOOP_LOCAL)
			break;
		scope->locals[stmt->local] = expand(e, scope, stmt->value);
	}
	return NULL;
}

static const Stmt *innermost(const Stmt *loop)
{
	return loop->body.n ? loop->body.stmts[loop->body.n - 1] : NULL;
}

/* What a sum of products multiplies stays as it is loaded, but for weights. */
static bool keeps_loads(const Expand *e, const Stmt *set)
{
	return set->acc == OP_ADD && !is_of_weights(e->facts, set->value) &&
	       !takes_exponents(set->value);
}

static void note_fold(Expand *e, const Instance *in, const Stmt *loop)
{
	const Stmt *set = innermost(loop);
	const Kernel *kernel = kernel_of(e, in);
	bool fold = loop_counts_from_zero(e->program->sizes, loop) && set->kind == LOOP_SET &&
		    set->nixs == 0 && (set->acc == OP_ADD || set->acc == OP_MAX) &&
		    set->value->dtype == DTYPE_F32 && is_neutral(in->locals[set->local], set->acc);
	if (!fold) {
		e->wrong = true;
		return;
	}
	Instance scope = scope_of(e, in);
	Fold made = {.acc = set->acc,
		     .name = kernel->iters[loop->iter].name,
		     .extent = loop->hi->size,
		     .inside = in->depth > 0};
	made.iter = fold_iter(e, made.extent, in->depth + 1, made.name);
	scope.iters[loop->iter] = ix_iter(e->arena, made.iter);
	scope.depth = in->depth + 1;
	scope.loads = in->loads || keeps_loads(e, set);
	if (!only_behind_locals(e, &scope, loop))
		e->wrong = true;
	made.value = expand(e, &scope, set->value);
	made.local = bind_local(
		e->program, &e->d->kernel,
		(KernelLocal){.name = kernel->locals[set->local].name, .dtype = DTYPE_F32});
	PUSH(e->arena, e->d->folds, made);
	in->locals[set->local] = value_local(e->arena, &e->d->kernel, made.local, NULL, 0);
}

/* Locals and folds, in their order; stores are looked at where something loads them. */
static void compute(Expand *e, const Instance *in)
{
	Block body = grid_body(kernel_of(e, in));
	for (uint32_t i = 0; i < body.n && !e->wrong; i++) {
		const Stmt *stmt = body.stmts[i];
		const Stmt *inner = stmt->kind == LOOP_FOR ? innermost(stmt) : NULL;
		if (stmt->kind == LOOP_LOCAL && kernel_of(e, in)->locals[stmt->local].rank == 0)
			in->locals[stmt->local] = expand(e, in, stmt->value);
		else if (inner && inner->kind == LOOP_SET)
			note_fold(e, in, stmt);
		else if (stmt->kind != LOOP_STORE && !(inner && inner->kind == LOOP_STORE))
			e->wrong = true;
	}
}

/* ---- loads ---- */

/* The one store to the buffer, and the loop around it in a thread, if there is one. */
static const Stmt *find_store(const Kernel *kernel, BufferId buffer, const Stmt **loop)
{
	Block body = grid_body(kernel);
	const Stmt *found = NULL;
	*loop = NULL;
	for (uint32_t i = 0; i < body.n; i++) {
		const Stmt *stmt = body.stmts[i], *store = stmt;
		if (stmt->kind == LOOP_FOR)
			store = innermost(stmt);
		if (!store || store->kind != LOOP_STORE || store->buffer != buffer)
			continue;
		if (found || store->acc != OP_NONE)
			return NULL;
		found = store;
		*loop = stmt->kind == LOOP_FOR ? stmt : NULL;
	}
	return found;
}

static void note_member(Expand *e, uint32_t kernel, BufferId buffer)
{
	Decode *d = e->d;
	bool known = kernel == e->last, stored = false;
	for (uint32_t i = 0; i < d->nmembers; i++)
		known |= d->members[i] == kernel;
	for (uint32_t i = 0; i < d->nbuffers; i++)
		stored |= d->buffers[i] == buffer;
	if ((!known && d->nmembers == MEMBERS_MOST) || (!stored && d->nbuffers == MEMBERS_MOST)) {
		e->wrong = true;
		return;
	}
	if (!known)
		d->members[d->nmembers++] = kernel;
	if (!stored)
		d->buffers[d->nbuffers++] = buffer;
}

/* Is it the kernel at these iterators? */
static bool is_at(const Expand *e, const Instance *in, uint32_t kernel, const SameIters *same)
{
	const Stmt *loops[GRID_LOOPS];
	bool is = in->kernel == kernel;
	uint32_t n = is ? grid_loops(&e->j->made[kernel], loops) : 0;
	for (uint32_t i = 0; i < n && is; i++)
		is = in->iters[loops[i]->iter]->iter == same_iter(same, loops[i]->iter);
	return is;
}

/* The kernel with these iterators for its grid's; NULL: some have none, or run otherwise. */
static const Instance *instance_at(Expand *e, uint32_t kernel, const SameIters *same)
{
	const Stmt *loops[GRID_LOOPS];
	uint32_t n = grid_loops(&e->j->made[kernel], loops);
	for (size_t i = 0; i < e->instances.n; i++)
		if (is_at(e, e->instances.at[i], kernel, same))
			return e->instances.at[i];
	Instance *in = ARENA_NEW(e->arena, Instance);
	*in = (Instance){.kernel = kernel};
	in->iters = kernel_iters(e->arena, &e->j->made[kernel], 0);
	in->locals = ARENA_ARRAY(e->arena, const Value *, e->j->made[kernel].nlocals + 1);
	for (LocalId i = 0; i < e->j->made[kernel].nlocals; i++)
		in->locals[i] = NULL;
	for (uint32_t i = 0; i < n; i++) {
		IterVar iter = same_iter(same, loops[i]->iter);
		if (!has_extent(e, loops[i], iter))
			return NULL;
		in->iters[loops[i]->iter] = ix_iter(e->arena, iter);
		uint32_t depth = find_iter(e, iter)->depth;
		in->depth = depth > in->depth ? depth : in->depth;
	}
	PUSH(e->arena, e->instances, in);
	compute(e, in);
	return in;
}

/* What the maker stores where it is loaded; NULL: not known. */
static const Value *stored_at(Expand *e, uint32_t maker, const Value *load)
{
	SameIters same;
	const Stmt *loop, *store = find_store(&e->j->made[maker], load->buffer, &loop);
	if (!store || !same_iters(e->program, store->ix, load->ix, &same))
		return NULL;
	const Instance *in = instance_at(e, maker, &same);
	if (!in || (loop && !has_extent(e, loop, same_iter(&same, loop->iter))))
		return NULL;
	Instance scope = scope_of(e, in);
	note_member(e, maker, load->buffer);
	if (loop) {
		scope.iters[loop->iter] = ix_iter(e->arena, same_iter(&same, loop->iter));
		scope.depth = find_iter(e, same_iter(&same, loop->iter))->depth;
		if (!only_behind_locals(e, &scope, loop))
			e->wrong = true;
	}
	return expand(e, &scope, store->value);
}

static bool is_expanded(const Expand *e, const Instance *in, const Value *load)
{
	uint32_t maker = e->facts->makers[load->buffer];
	if (in->loads || maker == NONE || maker > e->last)
		return false;
	bool inner = in->depth > 0 && !ix_uses(load->ix, e->d->column->iter);
	return e->facts->levels[maker] > 0 || (e->facts->products[maker] && inner);
}

static const Ix *index_of(Expand *e, const Instance *in, const Ix *ix)
{
	Rewrite rewrite = {.program = e->program, .iters = in->iters};
	e->wrong |= ix->reads;
	return ix->reads ? ix : rewrite_ix(&rewrite, ix);
}

static const Value *expand_load(Expand *e, const Instance *in, const Value *value)
{
	const Value *load = value_load(e->program, value->buffer, index_of(e, in, value->ix));
	const Value *made = NULL;
	if (!e->wrong && is_expanded(e, in, load))
		made = stored_at(e, e->facts->makers[load->buffer], load);
	return made ? made : load;
}

static const Value *expand(Expand *e, const Instance *in, const Value *value)
{
	if (e->wrong || e->left-- == 0)
		return wrong(e);
	if (value->kind == VALUE_LOAD)
		return expand_load(e, in, value);
	if (value->kind == VALUE_LOCAL) {
		const Value *known = value->nixs == 0 ? in->locals[value->local] : NULL;
		return known ? known : wrong(e);
	}
	Value *copy = value_copy(e->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = expand(e, in, value->args[i]);
	if (value->ix)
		copy->ix = index_of(e, in, value->ix);
	return copy;
}

/* ---- all ---- */

static void expand_stores(Expand *e, const Instance *in)
{
	Block body = grid_body(kernel_of(e, in));
	for (uint32_t i = 0; i < body.n && !e->wrong; i++) {
		const Stmt *stmt = body.stmts[i];
		if (stmt->kind == LOOP_FOR && innermost(stmt)->kind == LOOP_STORE)
			e->wrong = true;
		if (stmt->kind != LOOP_STORE)
			continue;
		if (stmt->acc != OP_NONE || stmt->ix->reads || e->d->nstores == STORES_MOST) {
			e->wrong = true;
			return;
		}
		e->d->stores[e->d->nstores] = stmt;
		e->d->stored[e->d->nstores++] = expand(e, in, stmt->value);
	}
}

bool decode_expand(const Joins *j, const DecodeFacts *facts, uint32_t number, Decode *d)
{
	Expand e = {.j = j,
		    .facts = facts,
		    .program = j->program,
		    .arena = j->program->arena,
		    .d = d,
		    .last = number,
		    .left = INT16_MAX};
	const Stmt *loops[GRID_LOOPS];
	SameIters same = {0};
	uint32_t n = grid_loops(&j->made[number], loops);
	d->kernel = j->made[number];
	if (n == 0 || n > SAME_MOST)
		return false;
	d->column = loops[n - 1];
	for (uint32_t i = 0; i < n; i++) {
		PUSH(e.arena, e.iters, ((FoldIter){loops[i]->iter, loops[i]->hi->size, 0}));
		same.of[i] = same.to[i] = loops[i]->iter;
		same.n++;
	}
	const Instance *last = instance_at(&e, number, &same);
	if (!last || e.wrong)
		return false;
	expand_stores(&e, last);
	return !e.wrong && d->nstores > 0;
}
