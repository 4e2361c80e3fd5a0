/* Whether folds are attention of a few rows:
 *
 *   score = sum over d of query*key         for each of one or more segments of keys
 *   top   = max over t of seen              made of the score
 *   total = sum over t of exp(seen - max)   where max is that of all segments, top among them
 *   sum   = sum over t of exp(seen - max)*value, or of that times or divided by something of the row
 *
 * and what is stored is made of these, of other folds of the row, and of what else the kernel loads.
 */
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/decode.h"

typedef struct Find {
	const Joins *j;
	Decode *d;
} Find;

static Fold *fold_at(const Find *f, size_t i) { return &f->d->folds.at[i]; }

/* ---- segments ---- */

/* Is it the maximum, or the greatest of it and others? */
static bool is_maximum_of(const Value *value, LocalId top)
{
	if (value->kind == VALUE_LOCAL)
		return value->local == top;
	bool is = false;
	if (value->kind == VALUE_OP && value->op == OP_MAX)
		is = is_maximum_of(value->args[0], top) || is_maximum_of(value->args[1], top);
	return is;
}

/* exp(seen - max) of which segment; SEGMENTS_MOST: of none. All weights of one have the same max. */
static uint32_t weight_of(const Find *f, const Value *value)
{
	const Value *minus = value->kind == VALUE_OP && value->op == OP_EXP ? value->args[0] : NULL;
	if (!minus || minus->kind != VALUE_OP || minus->op != OP_SUB)
		return SEGMENTS_MOST;
	for (uint32_t i = 0; i < f->d->nsegments; i++) {
		Segment *s = &f->d->segments[i];
		if (!value_same(minus->args[0], s->seen) ||
		    !is_maximum_of(minus->args[1], s->top_local) ||
		    (s->top && !value_same(s->top, minus->args[1])))
			continue;
		s->top = minus->args[1];
		return i;
	}
	return SEGMENTS_MOST;
}

/* What is rounded to a narrower type and is f32 again; what it is then. */
static const Value *unrounded(const Value *value, Dtype *dtype)
{
	bool rounded = value->kind == VALUE_CAST && value->dtype == DTYPE_F32 &&
		       value->args[0]->kind == VALUE_CAST &&
		       value->args[0]->args[0]->dtype == DTYPE_F32 &&
		       dtype_is_float(value->args[0]->dtype);
	*dtype = rounded ? value->args[0]->dtype : DTYPE_F32;
	return rounded ? value->args[0]->args[0] : value;
}

/* A weight, or one times or divided by something, which goes to the fold. */
static uint32_t scaled_weight_of(const Find *f, const Value *value, Fold *fold)
{
	uint32_t segment = weight_of(f, value);
	bool scaled = value->kind == VALUE_OP && (value->op == OP_MUL || value->op == OP_DIV);
	for (uint32_t i = 0; i < 2 && scaled && segment == SEGMENTS_MOST; i++) {
		if (i == 1 && value->op == OP_DIV)
			break;
		segment = weight_of(f, value->args[i]);
		fold->factor = value->args[!i];
		fold->divides = value->op == OP_DIV;
	}
	if (segment == SEGMENTS_MOST || !scaled)
		fold->factor = NULL;
	return segment;
}

static bool note_total(const Find *f, Fold *fold)
{
	uint32_t segment = weight_of(f, fold->value);
	if (segment == SEGMENTS_MOST)
		return false;
	fold->use = FOLD_TOTAL;
	fold->segment = segment;
	return true;
}

static bool note_sum(const Find *f, Fold *fold)
{
	const Value *value = fold->value;
	if (value->kind != VALUE_OP || value->op != OP_MUL)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		Dtype dtype;
		const Value *weight = unrounded(value->args[i], &dtype);
		uint32_t segment = scaled_weight_of(f, weight, fold);
		if (segment == SEGMENTS_MOST || f->d->segments[segment].value)
			continue;
		f->d->segments[segment].weights = dtype;
		fold->use = FOLD_SUM;
		fold->segment = segment;
		f->d->segments[segment].value = value->args[!i];
		f->d->segments[segment].sum_local = fold->local;
		return true;
	}
	return false;
}

/* The factors of a score: that of the query is the one without keys. */
static bool note_score(const Find *f, Fold *fold, Segment *s)
{
	const Value *value = fold->value;
	bool product = fold->inside && fold->acc == OP_ADD && value->kind == VALUE_OP &&
		       value->op == OP_MUL &&
		       size_is_const(f->j->program->sizes, fold->extent, &s->steps);
	if (!product || s->query)
		return false;
	uint32_t key = value_uses_iter(value->args[0], s->key) ? 0 : 1;
	s->query = value->args[!key];
	s->key_value = value->args[key];
	s->step = fold->iter;
	s->score = fold->local;
	fold->use = FOLD_SCORE;
	return true;
}

static bool find_score(const Find *f, Segment *s)
{
	for (size_t i = 0; i < f->d->folds.n; i++)
		if (value_uses_local(s->seen, fold_at(f, i)->local) &&
		    fold_at(f, i)->use != FOLD_TOP && fold_at(f, i)->inside &&
		    !note_score(f, fold_at(f, i), s))
			return false;
	return s->query != NULL;
}

static bool note_top(const Find *f, Fold *fold)
{
	Decode *d = f->d;
	if (d->nsegments == SEGMENTS_MOST)
		return false;
	fold->use = FOLD_TOP;
	fold->segment = d->nsegments;
	d->segments[d->nsegments++] = (Segment){.key = fold->iter,
						.name = fold->name,
						.keys = fold->extent,
						.seen = fold->value,
						.top_local = fold->local};
	return find_score(f, &d->segments[fold->segment]);
}

/* Maxima over keys first, then what is made of them. */
static bool find_segments(const Find *f)
{
	bool good = true;
	for (size_t i = 0; i < f->d->folds.n && good; i++)
		if (fold_at(f, i)->acc == OP_MAX && !fold_at(f, i)->inside)
			good = note_top(f, fold_at(f, i));
	for (size_t i = 0; i < f->d->folds.n && good; i++) {
		Fold *fold = fold_at(f, i);
		if (fold->acc == OP_ADD && !fold->inside && !note_total(f, fold))
			note_sum(f, fold);
		good = fold->use != FOLD_OTHER || !fold->inside;
	}
	for (uint32_t i = 0; i < f->d->nsegments && good; i++)
		good = f->d->segments[i].value && f->d->segments[i].top;
	return good && f->d->nsegments > 0;
}

/* ---- what is made of what ---- */

static bool uses_score(const Find *f, const Value *value)
{
	bool uses = false;
	for (size_t i = 0; i < f->d->folds.n; i++)
		uses |= fold_at(f, i)->inside && value_uses_local(value, fold_at(f, i)->local);
	return uses;
}

/* Of the row, or of an element of it: of no key and no score. */
static bool is_of_row(const Find *f, const Value *value)
{
	bool is = !uses_score(f, value);
	for (uint32_t i = 0; i < f->d->nsegments; i++)
		is &= !value_uses_iter(value, f->d->segments[i].key) &&
		      !value_uses_iter(value, f->d->segments[i].step);
	return is;
}

/* What the kernel of slices computes is made of loads, and what is seen of the score. */
static bool uses_folds(const Find *f, const Segment *s)
{
	bool uses = false;
	for (size_t i = 0; i < f->d->folds.n; i++) {
		LocalId local = fold_at(f, i)->local;
		uses |= value_uses_local(s->query, local) || value_uses_local(s->key_value, local) ||
			value_uses_local(s->value, local) ||
			(local != s->score && value_uses_local(s->seen, local));
	}
	return uses;
}

static bool segment_is_sound(const Find *f, const Segment *s)
{
	IterVar column = f->d->column->iter;
	return !uses_folds(f, s) && !value_uses_iter(s->query, s->key) &&
	       !value_uses_iter(s->query, column) && value_uses_iter(s->key_value, s->key) &&
	       !value_uses_iter(s->key_value, column) && !value_uses_iter(s->seen, column) &&
	       !value_uses_iter(s->seen, s->step) && is_of_row(f, s->top) &&
	       !value_uses_iter(s->top, column) && value_uses_iter(s->value, s->key) &&
	       value_uses_iter(s->value, column) && !value_uses_iter(s->value, s->step);
}

static bool fold_is_sound(const Find *f, const Fold *fold)
{
	if (fold->use == FOLD_SUM && fold->factor)
		return is_of_row(f, fold->factor);
	return fold->use != FOLD_OTHER || !uses_score(f, fold->value);
}

typedef struct Loads {
	const Decode *d;
	bool any;
} Loads;

static void see_load(void *of, const Value *value)
{
	Loads *loads = of;
	for (uint32_t i = 0; i < loads->d->nbuffers && value->kind == VALUE_LOAD; i++)
		loads->any |= value->buffer == loads->d->buffers[i];
}

static bool is_sound(const Find *f)
{
	Decode *d = f->d;
	Loads loads = {d, false};
	bool sound = true;
	for (uint32_t i = 0; i < d->nsegments && sound; i++)
		sound = segment_is_sound(f, &d->segments[i]);
	for (size_t i = 0; i < d->folds.n && sound; i++) {
		sound = fold_is_sound(f, fold_at(f, i));
		value_each(fold_at(f, i)->value, see_load, &loads);
	}
	for (uint32_t i = 0; i < d->nstores && sound; i++) {
		sound = is_of_row(f, d->stored[i]);
		value_each(d->stored[i], see_load, &loads);
	}
	return sound && !loads.any;
}

/* ---- rows ---- */

/* Does some segment have keys or values of its own for each iteration? */
static bool has_own_keys(const Find *f, IterVar iter)
{
	bool has = false;
	for (uint32_t i = 0; i < f->d->nsegments; i++)
		has |= value_uses_iter(f->d->segments[i].key_value, iter) ||
		       value_uses_iter(f->d->segments[i].value, iter);
	return has;
}

static bool find_rows(const Find *f)
{
	Decode *d = f->d;
	const Sizes *sizes = f->j->program->sizes;
	const Stmt *loops[GRID_LOOPS];
	uint32_t n = grid_loops(&d->kernel, loops);
	int64_t extent;
	d->nqueries = 1;
	for (uint32_t i = 0; i + 1 < n; i++) {
		bool own = has_own_keys(f, loops[i]->iter);
		if (own)
			d->batch[d->nbatch++] = loops[i];
		else
			d->rows[d->nrows++] = loops[i];
		if (!own && (!size_is_const(sizes, loops[i]->hi->size, &extent) || extent < 1 ||
			     __builtin_mul_overflow(d->nqueries, extent, &d->nqueries)))
			return false;
	}
	return size_is_const(sizes, d->column->hi->size, &d->columns);
}

/* ---- the other kernels ---- */

bool decode_has_member(const Decode *d, uint32_t kernel)
{
	bool is = false;
	for (uint32_t i = 0; i < d->nmembers; i++)
		is |= d->members[i] == kernel;
	return is;
}

static bool is_forgotten(const Decode *d, BufferId buffer)
{
	bool is = false;
	for (uint32_t i = 0; i < d->nbuffers; i++)
		is |= d->buffers[i] == buffer;
	return is;
}

/* Do members store nothing else, and does no other kernel touch that, nor store what they load, up to the last? */
static bool members_may_go(const Find *f, uint32_t last)
{
	const Decode *d = f->d;
	const Kernel *made = f->j->made;
	for (uint32_t m = 0; m < d->nmembers; m++) {
		const BufferUses *own = &kernel_uses(f->j->uses, &made[d->members[m]])->uses;
		if (made[d->members[m]].loop != made[last].loop)
			return false;
		for (size_t i = 0; i < own->n; i++)
			if (own->at[i].stored && !is_forgotten(d, own->at[i].buffer))
				return false;
		for (uint32_t k = 0; k < f->j->n; k++) {
			if (k == last || decode_has_member(d, k))
				continue;
			const BufferUses *uses = &kernel_uses(f->j->uses, &made[k])->uses;
			for (size_t i = 0; i < own->n; i++) {
				const BufferUse *use = buffer_use(uses, own->at[i].buffer);
				bool behind = k > d->members[m] && k < last;
				if (use && (own->at[i].stored || (behind && use->stored)))
					return false;
			}
		}
	}
	return true;
}

/* Is one of the loads of what a kernel with weights stores? */
static bool reads_weights(const Find *f, const DecodeFacts *facts, uint32_t number)
{
	const BufferUses *uses = &kernel_uses(f->j->uses, &f->j->made[number])->uses;
	bool reads = facts->levels[number] > 0;
	for (size_t i = 0; i < uses->n && !reads; i++) {
		uint32_t maker = uses->at[i].loaded ? facts->makers[uses->at[i].buffer] : UINT32_MAX;
		reads = maker != UINT32_MAX && facts->levels[maker] > 0;
	}
	return reads;
}

bool decode_find(const Joins *j, const DecodeFacts *facts, uint32_t number, Decode *d)
{
	Find f = {j, d};
	return reads_weights(&f, facts, number) && decode_expand(j, facts, number, d) &&
	       find_segments(&f) && d->nmembers > d->nsegments &&
	       is_sound(&f) && find_rows(&f) && members_may_go(&f, number);
}
