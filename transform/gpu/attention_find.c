/* Whether three kernels are attention: products of which rows go through a softmax, and then are the factors of others.
 *
 * The softmax is the kernel that row_join.c makes of it. Its weights and the scores are temporaries that no other
 * kernel touches, each read at the places where it is stored: the loops of the three are told apart by how far they
 * move an index.
 */
#include <math.h>

#include "loops/dependence.h"
#include "loops/linear.h"
#include "loops/steps.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/attention.h"

typedef struct Find {
	const Joins *j;
	Program *program;
	Arena *arena;
	Attention *found;
	AttentionParts *parts;
	const Kernel *last;
} Find;

/* ---- the softmax ---- */

static const Value *in_first_loop(const Find *f, const Value *value, const Stmt *loop)
{
	const Softmax *s = &f->parts->softmax;
	const Ix **iters = kernel_iters(f->arena, s->kernel, 0);
	iters[loop->iter] = ix_iter(f->arena, s->loops[0]->iter);
	Rewrite rewrite = {.program = f->program,
			   .iters = iters,
			   .values = s->twins,
			   .nvalues = s->ntwins};
	return rewrite_alone(&rewrite, value);
}

static bool note_local(Find *f, const Stmt *stmt, const Stmt *loop)
{
	Softmax *s = &f->parts->softmax;
	if (s->kernel->locals[stmt->local].rank > 0 || s->ntwins == s->kernel->nlocals)
		return false;
	const Value *local = value_local(f->arena, s->kernel, stmt->local, NULL, 0);
	const Value *value = stmt->value;
	if (loop || s->nloops > 0)
		value = in_first_loop(f, value, loop ? loop : s->loops[0]);
	s->twins[s->ntwins++] = (ValueTwin){local, value};
	return true;
}

static bool is_exp_below(const Find *f, const Value *value)
{
	const Softmax *s = &f->parts->softmax;
	const Value *minus = value->kind == VALUE_OP && value->op == OP_EXP ? value->args[0] : NULL;
	return minus && minus->kind == VALUE_OP && minus->op == OP_SUB &&
	       value_same(minus->args[0], s->seen) && minus->args[1]->kind == VALUE_LOCAL &&
	       minus->args[1]->local == s->top;
}

/* What the weights of a row have in common: no index or maximum is in it. */
static bool is_factor(const Find *f, const Value *value)
{
	const Softmax *s = &f->parts->softmax;
	return !value_uses_iter(value, s->loops[0]->iter) && !value_uses_local(value, s->top);
}

/* exp(seen - top) times or divided by something. */
static bool note_store(Find *f, const Stmt *stmt, const Stmt *loop)
{
	Softmax *s = &f->parts->softmax;
	const Value *value = in_first_loop(f, stmt->value, loop);
	value = value->kind == VALUE_CAST ? value->args[0]
					  : value; /* rounded to what it is stored as */
	bool two = value->kind == VALUE_OP && (value->op == OP_MUL || value->op == OP_DIV);
	int weight = two && is_exp_below(f, value->args[0]) ? 0 : 1;
	if (s->nloops != 2 || s->store || stmt->acc != OP_NONE || !two ||
	    !is_exp_below(f, value->args[weight]) || (value->op == OP_DIV && weight == 1) ||
	    !is_factor(f, value->args[!weight]))
		return false;
	s->store = stmt;
	s->factor = value->args[!weight];
	s->divides = value->op == OP_DIV;
	return true;
}

/* The maximum, then the sum. */
static bool note_fold(Find *f, const Stmt *set, const Stmt *loop)
{
	Softmax *s = &f->parts->softmax;
	if (set->nixs > 0 || set->acc != (s->nloops ? OP_ADD : OP_MAX) || s->nloops > 1 ||
	    set->value->dtype != DTYPE_F32)
		return false;
	if (s->nloops == 0) {
		s->loops[0] = loop;
		s->top = set->local;
		s->seen = in_first_loop(f, set->value, loop);
		return true;
	}
	s->total = set->local;
	return is_exp_below(f, in_first_loop(f, set->value, loop));
}

static bool counts_keys(const Find *f, const Stmt *loop)
{
	const Softmax *s = &f->parts->softmax;
	return loop_counts_from_zero(f->program->sizes, loop) &&
	       (s->nloops == 0 || size_same(loop->hi->size, s->loops[0]->hi->size));
}

/* Locals, and behind them one sum, maximum or store. */
static bool note_loop(Find *f, const Stmt *loop)
{
	Softmax *s = &f->parts->softmax;
	bool good = counts_keys(f, loop) && s->nloops < 3;
	if (good && s->nloops == 0)
		s->loops[0] = loop;
	for (uint32_t i = 0; good && i < loop->body.n; i++) {
		const Stmt *stmt = loop->body.stmts[i];
		bool last = i + 1 == loop->body.n;
		good = stmt->kind == LOOP_LOCAL   ? !last && note_local(f, stmt, loop)
		       : stmt->kind == LOOP_SET   ? last && note_fold(f, stmt, loop)
		       : stmt->kind == LOOP_STORE ? last && note_store(f, stmt, loop)
						  : false;
	}
	s->loops[s->nloops < 3 ? s->nloops : 0] = loop;
	s->nloops++;
	return good;
}

/* Is the local one that a loop behind it sets? */
static bool is_set(const Block *body, LocalId local)
{
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		if ((stmt->kind == LOOP_SET && stmt->local == local) || is_set(&stmt->body, local))
			return true;
	}
	return false;
}

/* What the maximum, or the sum behind it, begins with. */
static bool is_neutral(const Find *f, const Value *value)
{
	return value->kind == VALUE_CONST && value->dtype == DTYPE_F32 &&
	       value->constant.f == (f->parts->softmax.nloops ? 0 : -(double)INFINITY);
}

static bool find_softmax(Find *f, const Kernel *kernel)
{
	Block body = grid_body(kernel);
	bool good = grid_loop(&kernel->body) != NULL;
	f->parts->softmax = (Softmax){.kernel = kernel};
	f->parts->softmax.twins = ARENA_ARRAY(f->arena, ValueTwin, kernel->nlocals + 1);
	for (uint32_t i = 0; i < body.n && good; i++) {
		const Stmt *stmt = body.stmts[i];
		if (stmt->kind == LOOP_LOCAL && is_set(&body, stmt->local))
			good = is_neutral(f, stmt->value);
		else if (stmt->kind == LOOP_LOCAL)
			good = note_local(f, stmt, NULL);
		else
			good = stmt->kind == LOOP_FOR && note_loop(f, stmt);
	}
	return good && f->parts->softmax.nloops == 3 && f->parts->softmax.store;
}

/* ---- iterators of two kernels ---- */

/* Indices of two kernels at the same place: the iterators that move both by as much. */
bool same_iters(Program *program, const Ix *of, const Ix *to, SameIters *same)
{
	Linear a = ix_linear(program, of), b = ix_linear(program, to);
	same->n = 0;
	if (a.terms.n != b.terms.n || a.terms.n > SAME_MOST || !size_same(a.offset, b.offset))
		return false;
	for (size_t i = 0; i < a.terms.n; i++) {
		uint32_t matches = 0;
		for (size_t k = 0; k < b.terms.n; k++) {
			if (!size_same(a.terms.at[i].coef, b.terms.at[k].coef))
				continue;
			same->to[i] = b.terms.at[k].atom->iter;
			matches += b.terms.at[k].atom->kind == IX_ITER ? 1 : 2;
		}
		if (matches != 1 || a.terms.at[i].atom->kind != IX_ITER)
			return false;
		same->of[i] = a.terms.at[i].atom->iter;
	}
	same->n = (uint32_t)a.terms.n;
	return true;
}

IterVar same_iter(const SameIters *same, IterVar of)
{
	for (uint32_t i = 0; i < same->n; i++)
		if (same->of[i] == of)
			return same->to[i];
	return UINT32_MAX;
}

/* Where loops that count as far stand for each other. */
static bool loops_agree(const SameIters *same, const Stmt *const *of, uint32_t nof,
			const Stmt *const *to, uint32_t nto)
{
	if (nof != nto || nof != same->n)
		return false;
	for (uint32_t i = 0; i < nof; i++) {
		IterVar iter = same_iter(same, of[i]->iter);
		uint32_t k = 0;
		while (k < nto && to[k]->iter != iter)
			k++;
		if (k == nto || !size_same(of[i]->hi->size, to[k]->hi->size))
			return false;
	}
	return true;
}

/* A kernel's loops of the grid, and one behind them. */
static uint32_t loops_with(const Kernel *kernel, const Stmt *inner, const Stmt **loops)
{
	uint32_t n = grid_loops(kernel, loops);
	if (n && inner)
		loops[n++] = inner;
	return n;
}

/* ---- kernels ---- */

/* The kernel before that alone stores the buffer, which `reader` alone loads; UINT32_MAX: there is none. */
static uint32_t maker_of(const Find *f, BufferId buffer, uint32_t reader)
{
	uint32_t maker = UINT32_MAX;
	if (f->program->buffers.at[buffer].kind != BUFFER_TEMP ||
	    program_loops_use(f->program, buffer))
		return UINT32_MAX;
	for (uint32_t i = 0; i < f->j->n; i++) {
		const BufferUse *use =
			buffer_use(&kernel_uses(f->j->uses, &f->j->made[i])->uses, buffer);
		if (!use || i == reader)
			continue;
		if (maker != UINT32_MAX || use->loaded || i > reader)
			return UINT32_MAX;
		maker = i;
	}
	return maker;
}

/* ---- the scores ---- */

static bool is_f32(const Product *product) { return product->set->value->dtype == DTYPE_F32; }

/* The one element that is loaded of a buffer which a product stores for this kernel alone. */
typedef struct Scores {
	const Find *f;
	uint32_t softmax, number;
	const Value *load;
	bool several;
} Scores;

static void see_score(void *of, const Value *value)
{
	Scores *s = of;
	if (value->kind != VALUE_LOAD)
		return;
	if (s->load && value->buffer == s->load->buffer) {
		s->several |= !value_same(value, s->load);
		return;
	}
	Product product;
	uint32_t maker = maker_of(s->f, value->buffer, s->softmax);
	if (maker == UINT32_MAX || !product_of(s->f->program, &s->f->j->made[maker], &product) ||
	    !is_f32(&product))
		return;
	s->several |= s->load != NULL;
	s->load = value;
	s->number = maker;
}

static const Stmt *only_store(const Product *product)
{
	const Stmt *store = NULL;
	for (size_t i = 0; i < product->rest.stmts.n; i++) {
		const Stmt *stmt = product->rest.stmts.at[i];
		if (stmt->kind != LOOP_STORE)
			continue;
		if (store || stmt->acc != OP_NONE)
			return NULL;
		store = stmt;
	}
	return store;
}

/* Are its rows and columns those of the weights, and the keys, by themselves? */
static bool scores_fit(const Find *f, const Product *p)
{
	const SameIters *same = &f->parts->of_scores;
	return !p->guard && p->rows.n == 1 && p->columns.n == 1 && p->sum.n == 1 &&
	       same_iter(same, p->rows.loops[0]->iter) == f->found->row &&
	       same_iter(same, p->columns.loops[0]->iter) == f->found->key;
}

static bool find_scores(Find *f, uint32_t number)
{
	AttentionParts *parts = f->parts;
	Scores scores = {.f = f, .softmax = f->found->numbers[1]};
	Product product;
	SameIters same;
	const Stmt *own[SAME_MOST], *others[SAME_MOST];
	value_each(parts->softmax.seen, see_score, &scores);
	if (!scores.load || scores.several ||
	    !kernel_may_wait(f->j->uses, f->j->made, scores.number, number))
		return false;
	parts->scores = &f->j->made[scores.number];
	product_of(f->program, parts->scores, &product);
	const Stmt *store = only_store(&product);
	uint32_t n = loops_with(parts->scores, NULL, own);
	uint32_t m = loops_with(parts->softmax.kernel, parts->softmax.loops[0], others);
	if (!store || !same_iters(f->program, store->ix, scores.load->ix, &same) ||
	    !loops_agree(&same, own, n, others, m))
		return false;
	parts->of_scores = same;
	for (uint32_t i = 0; i < same.n; i++)
		parts->of_scores.to[i] = same_iter(&parts->of_softmax, same.to[i]);
	f->found->scores = product;
	f->found->numbers[0] = scores.number;
	f->found->buffers[0] = scores.load->buffer;
	return scores_fit(f, &product);
}

/* ---- all ---- */

/* What is loaded of the rows, as it is or in a wider type; NULL: they are computed. */
static const Value *weight_of(const Product *p)
{
	const Value *weight = p->row_operand.value;
	weight = weight->kind == VALUE_CAST ? weight->args[0] : weight;
	return weight->kind == VALUE_LOAD && dtype_is_float(weight->dtype) ? weight : NULL;
}

/* A product of rows that are loaded, one loop each for rows, columns and the sum. */
static bool is_last(const Find *f)
{
	const Product *p = &f->found->result;
	if (!product_of(f->program, f->last, &f->found->result) || !is_f32(p) || p->guard ||
	    p->rows.n != 1 || p->columns.n != 1 || p->sum.n != 1)
		return false;
	return weight_of(p) != NULL;
}

/* The last kernel's loops of rows and of the batch, and that of the keys. */
static uint32_t row_loops(const Find *f, const Stmt **loops)
{
	const Stmt *grid[GRID_LOOPS];
	uint32_t ngrid = grid_loops(f->last, grid), n = 0;
	for (uint32_t i = 0; i < ngrid; i++)
		if (grid[i]->iter != f->found->result.columns.loops[0]->iter)
			loops[n++] = grid[i];
	loops[n++] = f->found->result.sum.loops[0];
	return n;
}

/* Are weights loaded where they are stored? The loops of the maximum and of what is stored have the same keys. */
static bool find_weights(const Find *f, const Value *weight)
{
	const Softmax *s = &f->parts->softmax;
	SameIters *same = &f->parts->of_softmax;
	const Stmt *own[SAME_MOST], *others[SAME_MOST];
	uint32_t n = loops_with(s->kernel, s->loops[2], own), m = row_loops(f, others);
	if (s->store->buffer != weight->buffer ||
	    !same_iters(f->program, s->store->ix, weight->ix, same) ||
	    !loops_agree(same, own, n, others, m))
		return false;
	for (uint32_t i = 0; i < same->n; i++)
		if (same->of[i] == s->loops[2]->iter)
			same->of[i] = s->loops[0]->iter;
	return true;
}

/* Are weights the product's rows alone, and scores in what is seen alone? Neither is in memory then. */
static bool nothing_else_reads(const Find *f)
{
	const Product *p = &f->found->result;
	BufferId weights = f->found->buffers[1];
	bool reads = value_loads(p->column_operand.value, weights) ||
		     value_loads(f->parts->softmax.factor, f->found->buffers[0]);
	for (size_t i = 0; i < p->rest.stmts.n && !reads; i++)
		reads = value_loads(p->rest.stmts.at[i]->value, weights);
	return !reads;
}

bool attention_find(const Joins *j, uint32_t number, Attention *a)
{
	Arena *arena = j->program->arena;
	Find f = {.j = j,
		  .program = j->program,
		  .arena = arena,
		  .found = a,
		  .last = &j->made[number]};
	a->parts = f.parts = ARENA_NEW(arena, AttentionParts);
	a->kernel = *f.last;
	if (!is_last(&f))
		return false;
	const Value *weight = weight_of(&a->result);
	uint32_t softmax = maker_of(&f, weight->buffer, number);
	if (softmax == UINT32_MAX || !find_softmax(&f, &j->made[softmax]) ||
	    !kernel_may_wait(j->uses, j->made, softmax, number))
		return false;
	a->row = a->result.rows.loops[0]->iter;
	a->key = a->result.sum.loops[0]->iter;
	a->numbers[1] = softmax;
	a->buffers[1] = weight->buffer;
	return find_weights(&f, weight) && find_scores(&f, number) && nothing_else_reads(&f);
}
