/* Attention of few rows: a block has the keys of a slice, all rows, and one head.
 *
 *   grid slice in 0..ceil(keys/64), grid head                       NAME_slices
 *     local keys : f32 [16, 16 | 4, 4], values : ... = 0            all that a thread reads is on its way at once
 *     block group in 0..16, lane in 0..16
 *       keys = k of the keys group, group + 16, ..., values = v of them
 *     block group, lane: parts[row, key, lane] = sum over 4 of query*key
 *     block row, key in 0..64: seen[row, key] = what the row sees of the sum of parts; behind the last key -inf
 *     block row, key: top = max of 64 of seen; weights = exp(seen - top)
 *     block group, lane: parts[row, group, column] = sum over 4 keys of weights*values
 *     block column: sums[slice, head, row, column] = sum over 16 groups; likewise total of the weights
 *
 *   grid head, row, column                                          NAME
 *     top = max over slices of tops
 *     total = sum over slices of exp(tops - top)*totals, and sum = ... *sums
 *     y = what the program makes of these
 *
 * Of a cluster's blocks both are one kernel (decode_cluster.c).
 *
 * A slice whose keys are all hidden has the top -inf, from which 0 is subtracted instead. Slices are as many as keys take,
 * so the order of additions follows from how many there are, and is the same in every run; so is what a row's slices have
 * in common with the slices of fewer keys.
 */
#include <math.h>

#include "base/integer.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/multiple.h"
#include "loops/verify_block.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/decode_slice.h"

/* ---- sizes ---- */

typedef struct Widths {
	const Program *program;
	int64_t least; /* bytes of the narrowest element that is loaded */
} Widths;

static void see_width(void *of, const Value *value)
{
	Widths *widths = of;
	if (value->kind != VALUE_LOAD)
		return;
	int64_t bytes = (int64_t)dtype_bytes(widths->program->buffers.at[value->buffer].dtype);
	widths->least = bytes < widths->least ? bytes : widths->least;
}

/* Of so many elements in accesses of 16 bytes, or of 8; lanes 0: there are none. */
static Lanes lanes_of(const Slices *p, const Value *value, int64_t elements)
{
	Widths widths = {p->g.program, (int64_t)dtype_bytes(DTYPE_F32)};
	value_each(value, see_width, &widths);
	Lanes l = {.width = widths.least == 2 && elements % (2 * QUAD) == 0 ? 2 * QUAD : QUAD};
	if (elements < l.width || elements % l.width || elements / l.width > p->gpu->threads)
		return l;
	l.lanes = elements / l.width;
	l.groups = power_below(p->gpu->threads / l.lanes);
	l.groups = l.groups < p->cut.keys ? l.groups : p->cut.keys;
	l.times = p->cut.keys / l.groups;
	return l;
}

static int64_t parts_elements(const Slices *p)
{
	int64_t scores = p->rows * p->cut.keys * (p->of_keys.lanes + 1);
	int64_t sums = p->rows * p->of_values.groups * p->d->columns;
	return scores > sums ? scores : sums;
}

static int64_t shared_bytes(const Slices *p)
{
	int64_t elements = parts_elements(p) + 2 * p->rows * p->cut.keys +
			   p->rows * p->of_values.groups;
	if (p->cut.blocks)
		elements += p->rows + 2 * block_elements(p, 1) + block_elements(p, p->d->columns);
	return elements * (int64_t)dtype_bytes(DTYPE_F32);
}

/* ---- wide accesses ---- */

typedef struct WideLoads {
	const Slices *p;
	const Multiples *multiples;
	IterVar element;
	int64_t width;
	bool wrong;
} WideLoads;

static void see_load(void *of, const Value *value)
{
	WideLoads *w = of;
	Program *program = w->p->g.program;
	w->wrong |= value->kind == VALUE_INDEX && ix_uses(value->ix, w->element);
	if (value->kind != VALUE_LOAD || !ix_uses(value->ix, w->element))
		return;
	w->wrong |= !ix_moves_by(program, value->ix, w->element, 1) ||
		    !lanes_are_wide(program->buffers.at[value->buffer].dtype, w->width) ||
		    ix_multiple(w->multiples, ix_of_first_lane(program, value->ix, w->element)) %
				    w->width != 0;
}

/* Are elements from a multiple of `width` on read at once? */
static bool is_wide(const Slices *p, const Value *value, IterVar element, int64_t width)
{
	Multiples multiples =
		multiples_unknown(p->g.arena, p->g.program, &p->d->kernel);
	WideLoads w = {p, &multiples, element, width, false};
	value_each(value, see_load, &w);
	return !w.wrong;
}

/* ---- the kernel of the slices ---- */

static Block in_grid(const Slices *p, Block body)
{
	Arena *arena = p->g.arena;
	for (uint32_t i = p->d->nbatch + 1; i-- > 0;) {
		Stmt *loop = stmt_with(arena, i ? p->d->batch[i - 1] : p->d->column, body);
		loop->threads = 1;
		if (i == 0) {
			loop->iter = p->slice;
			loop->hi = ix_size(arena, size_ceil(p->g.program->sizes, p->s->keys, p->cut.keys));
		}
		body = block_one(arena, loop);
	}
	return body;
}

/* Segments of one kernel have numbers. */
static const char *name_of(const Slices *p, const char *name)
{
	long long number = p->s - p->d->segments + 1;
	return p->cut.blocks && number > 1 ? arena_printf(p->g.arena, "%s_%lld", name, number) : name;
}

static BufferId shared(const Slices *p, const char *name, int64_t n)
{
	return bind_shared(p->g.program, p->g.kernel, p->g.routine,
			   (Buffer){.dtype = DTYPE_F32}, n, name_of(p, name));
}

/* Of all rows and slices, or blocks of the cluster, so many elements. */
static BufferId temporary(const Slices *p, const char *name, int64_t each)
{
	Sizes *sizes = p->g.program->sizes;
	int64_t blocks = p->cut.blocks;
	if (blocks)
		return bind_shared(p->g.program, p->g.kernel, p->g.routine,
				   (Buffer){.dtype = DTYPE_F32, .cluster = blocks},
				   blocks * block_elements(p, each), name_of(p, name));
	Size n = size_scale(sizes, size_ceil(sizes, p->s->keys, p->cut.keys), p->rows * each);
	for (uint32_t i = 0; i < p->d->nbatch; i++)
		n = size_mul(sizes, n, p->d->batch[i]->hi->size);
	return bind_temp(p->g.program, p->g.kernel, p->g.routine,
			 (Buffer){.dtype = DTYPE_F32, .elements = n}, name);
}

static void set_up(Slices *p)
{
	p->slice = tiling_iter(&p->g, "slice");
	p->parts = shared(p, "parts", parts_elements(p));
	p->totals_parts = shared(p, "totals_parts", p->rows * p->of_values.groups);
	p->seen = shared(p, "seen", p->rows * p->cut.keys);
	p->weights = shared(p, "weights", p->rows * p->cut.keys);
	p->tops = temporary(p, "tops", 1);
	p->totals = temporary(p, "totals", 1);
	p->sums = temporary(p, "sums", p->d->columns);
	if (p->cut.blocks)
		p->top = shared(p, "top", p->rows);
}

static Slices slices_of(const Transform *t, const Decode *d, uint32_t segment, DecodeCut cut)
{
	const Segment *s = &d->segments[segment];
	Slices p = {.gpu = t->options->gpu, .d = d, .s = s, .cut = cut, .rows = d->nqueries};
	p.g.program = t->program;
	p.g.arena = t->program->arena;
	p.of_keys = lanes_of(&p, s->key_value, s->steps);
	p.of_values = lanes_of(&p, s->value, d->columns);
	return p;
}

bool decode_fits(const Transform *t, const Decode *d, DecodeCut cut)
{
	bool fit = true;
	int64_t bytes = 0;
	for (uint32_t i = 0; i < d->nsegments && fit; i++) {
		Slices p = slices_of(t, d, i, cut);
		bytes = (cut.blocks ? bytes : 0) + shared_bytes(&p);
		fit = p.of_keys.lanes && p.of_values.lanes &&
		      bytes <= t->options->gpu->shared_most &&
		      is_wide(&p, p.s->query, p.s->step, p.of_keys.width) &&
		      is_wide(&p, p.s->key_value, p.s->step, p.of_keys.width) &&
		      is_wide(&p, p.s->value, d->column->iter, p.of_values.width);
	}
	return fit;
}

/* ---- what slices come to ---- */

/* What slices have of a fold, some of them at a time, all read before the first is added. */
typedef struct EachSlice {
	int64_t n; /* at a time; of a cluster all blocks */
	IterVar round, slice;
	LocalId tops, parts; /* of a round; without a slice they add nothing */
} EachSlice;

static LocalId in_flight(Slices *p, const EachSlice *e, const char *name)
{
	return tiling_local(&p->g, (KernelLocal){.name = name, .rank = 1, .extent = {(uint32_t)e->n}});
}

static const Value *of_slice(const Slices *p, const EachSlice *e, LocalId local)
{
	const Ix *at[] = {iter(&p->g, e->slice)};
	return tiling_element(&p->g, local, at);
}

static Block each_slice(const Slices *p, const EachSlice *e, Block body)
{
	return loop_of(&p->g, LOOP_UNROLL, e->slice, e->n, body);
}

/* tops, parts = those of the slices of the round, as far as there are any */
static Block read_slices(const Slices *p, const Fold *fold, const EachSlice *e)
{
	const Tiling *g = &p->g;
	const Ix *slice = iter(g, e->slice);
	slice = p->cut.blocks ? slice : at_line(p, iter(g, e->round), e->n, slice);
	const Ix *row = place_of(p, slice, 1, number(g, 0));
	const Ix *column = place_of(p, slice, p->d->columns, iter(g, p->d->column->iter));
	Body body = {0};
	push(p, &body, stmt_set_at(g->arena, of_slice(p, e, e->tops), OP_NONE,
				   loaded(p, p->tops, row)));
	if (fold->use != FOLD_TOP)
		push(p, &body, stmt_set_at(g->arena, of_slice(p, e, e->parts), OP_NONE,
					   fold->use == FOLD_TOTAL ? loaded(p, p->totals, row)
								   : loaded(p, p->sums, column)));
	Block reads = body_block(&body);
	const Ix *n = sized(g, size_ceil(g->program->sizes, p->s->keys, p->cut.keys));
	return each_slice(p, e, p->cut.blocks ? reads : if_below(g, slice, n, reads));
}

/* The fold op= each slice's part, made less by what the greatest of all is above its own. */
static Block fold_slices(const Slices *p, const Fold *fold, const EachSlice *e)
{
	const Value *part = of_slice(p, e, e->tops);
	if (fold->use != FOLD_TOP)
		part = binary(p, OP_MUL, exponent(p, binary(p, OP_SUB, part, p->s->top)),
			      of_slice(p, e, e->parts));
	return each_slice(p, e, block_one(p->g.arena,
					  stmt_set(p->g.arena, fold->local, fold->acc, part)));
}

static Block in_rounds(Slices *p, const Fold *fold)
{
	Tiling *g = &p->g;
	EachSlice e = {p->cut.blocks ? p->cut.blocks : p->gpu->decode_slices, tiling_iter(g, "round"),
		       tiling_iter(g, "slice"), 0, 0};
	Size rounds = size_ceil(g->program->sizes, p->s->keys, p->cut.keys * e.n);
	Body body = {0};
	e.tops = in_flight(p, &e, "tops");
	push(p, &body, stmt_local(g->arena, e.tops, constant(p, -INFINITY)));
	if (fold->use != FOLD_TOP) {
		e.parts = in_flight(p, &e, "parts");
		push(p, &body, stmt_local(g->arena, e.parts, constant(p, 0)));
	}
	add(g, &body, read_slices(p, fold, &e));
	add(g, &body, fold_slices(p, fold, &e));
	if (p->cut.blocks)
		return if_below(g, number(g, 0), sized(g, p->s->keys), body_block(&body));
	return block_one(g->arena, stmt_for(g->arena, e.round, number(g, 0), sized(g, rounds),
					    body_block(&body)));
}

/* Of no keys there are no slices, and the sum is 0, whatever its factor. */
static void add_slices(Slices *p, const Fold *fold, Body *body)
{
	Tiling *g = &p->g;
	push(p, body,
	     stmt_local(g->arena, fold->local, constant(p, fold->acc == OP_ADD ? 0 : -INFINITY)));
	add(g, body, in_rounds(p, fold));
	if (!fold->factor)
		return;
	const Value *scaled = binary(p, fold->divides ? OP_DIV : OP_MUL, read(p, fold->local),
				     fold->factor);
	Block scale = block_one(g->arena, stmt_set(g->arena, fold->local, OP_NONE, scaled));
	add(g, body, if_below(g, number(g, 0), sized(g, p->s->keys), scale));
}

/* A fold that is no part of attention, as the program has it; short ones with all that they read on its way at once. */
static void add_fold(const Slices *p, const Fold *fold, Body *body)
{
	const Tiling *g = &p->g;
	int64_t n = 0;
	bool is_short = size_is_const(g->program->sizes, fold->extent, &n) && n <= p->gpu->threads;
	Block one = block_one(g->arena,
			      stmt_set(g->arena, fold->local, fold->acc, fold->value));
	push(p, body,
	     stmt_local(g->arena, fold->local, constant(p, fold->acc == OP_ADD ? 0 : -INFINITY)));
	if (is_short)
		add(g, body, loop_of(g, LOOP_UNROLL, fold->iter, n, one));
	else
		push(p, body, stmt_for(g->arena, fold->iter, number(g, 0),
				       sized(g, fold->extent), one));
}

/* What is done with an element of the result, in the grid of the last kernel. */
static Block last_of(Slices *all)
{
	const Decode *d = all[0].d;
	Body body = {0};
	for (size_t i = 0; i < d->folds.n; i++) {
		const Fold *fold = &d->folds.at[i];
		if (fold->use == FOLD_OTHER)
			add_fold(&all[0], fold, &body);
		else if (fold->use != FOLD_SCORE)
			add_slices(&all[fold->segment], fold, &body);
	}
	for (uint32_t i = 0; i < d->nstores; i++) {
		Stmt *store = stmt_with(all[0].g.arena, d->stores[i], (Block){0});
		store->value = d->stored[i];
		push(&all[0], &body, store);
	}
	return body_block(&body);
}

/* The kernel of the slices of a segment. */
static void make_slices(const Transform *t, Slices *p, const Kernel *kernel, Kernel *slices)
{
	long long number = p->s - p->d->segments + 1;
	*slices = p->d->kernel;
	slices->name = number > 1 ? sym_printf(t->program->symbols, "%s_slices_%lld", kernel->name, number)
				  : sym_printf(t->program->symbols, "%s_slices", kernel->name);
	p->g.kernel = slices;
	set_up(p);
	slices->body = in_grid(p, decode_slice(p));
}

void bind_decode(const Transform *t, Kernel *kernel, const DecodeWanted *wanted, Kernel *slices)
{
	const Decode *d = wanted->decode;
	bool cluster = wanted->cut.blocks > 0;
	Slices all[SEGMENTS_MOST];
	for (uint32_t i = 0; i < d->nsegments; i++) {
		all[i] = slices_of(t, d, i, wanted->cut);
		all[i].g.routine = wanted->routine;
		if (!cluster)
			make_slices(t, &all[i], kernel, &slices[i]);
	}
	*kernel = d->kernel;
	for (uint32_t i = 0; i < d->nsegments; i++) {
		all[i].g.kernel = kernel;
		if (cluster)
			set_up(&all[i]);
	}
	Block last = last_of(all);
	kernel->body = cluster ? decode_cluster(all, last)
			       : grid_around(t->program->arena, &d->kernel.body, last, 0);
}
