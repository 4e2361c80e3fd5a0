/* What a nest tells of its reduction to those who decide in which order it adds (sums/sums.h). */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/gen/lane_values.h"
#include "lower/nest/forms.h"

enum { FEW_ELEMENTS = 64 };

typedef struct Facts {
	const Nest *nest;
	Arena *arena;
	VEC(const Value *) loads;
	SumFacts of;
	const Value *first; /* that is read; NULL: nothing yet */
} Facts;

/* Do vector instructions compute it from what is read? */
static bool is_vector(const Value *value)
{
	if (value->kind == VALUE_CAST)
		return value_casts_in_lanes(value);
	if (value->kind == VALUE_INDEX || (value->kind == VALUE_OP && !op_is_simple(value->op)) ||
	    (value->kind == VALUE_LOCAL && value->nixs))
		return false;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (!is_vector(value->args[i]))
			return false;
	return dtype_is_float(value->dtype);
}

static void see_value(Facts *f, const Value *value)
{
	f->of.counts |= value->kind == VALUE_INDEX;
	f->of.words |= value->dtype == DTYPE_U4X32;
	if (value->kind == VALUE_LOAD) {
		f->of.reads_one &= !f->first || (f->first->buffer == value->buffer &&
						 ix_same(f->first->ix, value->ix));
		f->first = value;
		PUSH(f->arena, f->loads, value);
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		see_value(f, value->args[i]);
}

/* Different elements from a load on, as far as a few can be told from more. */
static uint32_t count_elements(const Facts *f, size_t from)
{
	const Value *seen[FEW_ELEMENTS];
	uint32_t n = 0;
	for (size_t i = from; i < f->loads.n && n < FEW_ELEMENTS; i++) {
		const Value *load = f->loads.at[i];
		bool is = false;
		for (uint32_t k = 0; k < n && !is; k++)
			is = seen[k]->buffer == load->buffer && ix_same(seen[k]->ix, load->ix);
		if (!is)
			seen[n++] = load;
	}
	return n;
}

/* A step of several elements goes on to the next where it moves an index by as many. */
static SumRead read_of(const Facts *f, const Ix *ix)
{
	const Nest *nest = f->nest;
	Size *by = ARENA_ARRAY(f->arena, Size, nest->nloops + 1);
	for (uint32_t i = 0; i < nest->nloops; i++) {
		by[i] = ix_stride(nest->gen->program, ix, nest->loops[i].var);
		if (nest->phases && !size_is_bad(by[i]) &&
		    size_is(f->of.sizes, by[i], nest->phases[nest->loops[i].iter]))
			by[i] = size_const(f->of.sizes, 1);
	}
	return (SumRead){by};
}

/* Without a reduction there is no order, and extents are as they are. */
static const SumLoop *loops_of(Facts *f, bool reduces)
{
	const Nest *nest = f->nest;
	SumLoop *loops = ARENA_ARRAY(f->arena, SumLoop, nest->nloops + 1);
	int64_t n;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Loop *loop = &nest->loops[i];
		bool whole = !reduces && size_is_const(f->of.sizes, loop->extent, &n);
		loops[i] = (SumLoop){.extent = whole ? loop->extent : loop->own,
				     .reduced = loop->reduced,
				     .guarded = nest_is_guarded(nest, loop)};
	}
	f->of.guards_stay = true;
	for (size_t g = 0; g < nest->guards.n; g++) {
		int last = nest_guard_position(nest, &nest->guards.at[g]);
		f->of.guards_stay &= nest_bounds_loop(nest, &nest->guards.at[g], nest->nresult);
		if (last >= 0)
			loops[last].bounded = true;
	}
	return loops;
}

/* Terms of a sum that is one expression, at most: as are asked for, or as pay. */
static int64_t most_terms(const Nest *nest)
{
	const ScheduleClause *asked = gen_asked(nest->gen, CHOICE_UNROLL);
	if (!asked || nest->nloops == nest->nresult)
		return nest_target(nest)->short_steps;
	return asks_on(asked) ? FEW_ELEMENTS : 0;
}

SumFacts nest_facts(const Nest *nest, Op reduce)
{
	Facts f = {.nest = nest, .arena = nest->gen->lower->scratch};
	Dtype dtype = nest->value->dtype;
	f.of = (SumFacts){.sizes = nest->gen->program->sizes,
			  .target = nest_target(nest),
			  .reduce = reduce,
			  .dtype = dtype,
			  .batched = nest->batched,
			  .nloops = nest->nloops,
			  .nresult = nest->nresult,
			  .nguards = (uint32_t)nest->guards.n,
			  .shares = nest->inner.n > 0,
			  .in_vectors = is_vector(nest->value),
			  .has_lanes = op_has_lanes(reduce, dtype),
			  .reads_one = true,
			  .row_block = nest->gen->lower->row_block != NULL,
			  .short_most = most_terms(nest),
			  .asked = lower_replays(nest->gen->lower),
			  .independent = nest->independent};
	for (size_t i = 0; i < nest->inner.n; i++) {
		const Value *shared = nest->inner.at[i].value;
		f.of.in_vectors &= is_vector(shared);
		see_value(&f, shared);
	}
	size_t nshared = f.loads.n;
	see_value(&f, nest->value);
	f.of.loops = loops_of(&f, nest->nloops > nest->nresult);
	SumRead *reads = ARENA_ARRAY(f.arena, SumRead, f.loads.n + 1);
	for (size_t i = 0; i < f.loads.n; i++)
		reads[i] = read_of(&f, f.loads.at[i]->ix);
	f.of.reads = reads;
	f.of.nreads = (uint32_t)f.loads.n;
	f.of.store = read_of(&f, nest->at);
	f.of.nelements = count_elements(&f, nshared);
	return f.of;
}

/* ---- what was made ---- */

typedef struct Iters {
	const Nest *nest;
	uint32_t *at;
	Sym *names;
	uint32_t n;
} Iters;

static void push_made(Gen *gen, const Iters *iters, SumMade made)
{
	made.iters = iters->at;
	made.names = iters->names;
	made.niters = iters->n;
	if (iters->n)
		PUSH(gen->arena, gen_entry(gen)->sums, made);
}

/* The iterators that are one in the loop of this one, outermost first. */
static void add_iter(Iters *iters, IterId iter)
{
	const Nest *nest = iters->nest;
	for (size_t i = nest->merged.n; i-- > 0;)
		if (nest->merged.at[i].inner == iter)
			add_iter(iters, nest->merged.at[i].outer);
	iters->names[iters->n] = nest->proj->iters[iter].name;
	iters->at[iters->n++] = iter;
}

void nest_note_sum(const Nest *nest, Op reduce, SumOrder order)
{
	Gen *gen = nest->gen;
	Iters iters = {.nest = nest};
	const Node *node = lower_node(gen->lower, nest->node);
	iters.at = ARENA_ARRAY(gen->arena, uint32_t, nest->proj->niters + 1);
	iters.names = ARENA_ARRAY(gen->arena, Sym, nest->proj->niters + 1);
	SumMade made = {.node = nest->node,
			.piece = (uint32_t)(nest->piece - nest->proj->pieces),
			.name = node->name ? node->name : gen->name,
			.reduce = reduce,
			.order = order};
	made.order.scattered = nest->scattered;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		uint32_t before = iters.n;
		if (!nest->loops[i].reduced)
			continue;
		add_iter(&iters, nest->loops[i].iter);
		made.last = iters.n - before;
		made.extent = nest->loops[i].extent;
	}
	push_made(gen, &iters, made);
}

static void note_window(const Nest *nest, NodeId id)
{
	Gen *gen = nest->gen;
	const Node *node = lower_node(gen->lower, id);
	const Proj *proj = lower_proj(gen->lower, id);
	Iters iters = {.at = ARENA_ARRAY(gen->arena, uint32_t, proj->niters + 1),
		       .names = ARENA_ARRAY(gen->arena, Sym, proj->niters + 1)};
	SumMade made = {.node = id,
			.name = node->name ? node->name : gen->name,
			.reduce = node_reduce_op(node),
			.order = sums_window(),
			.last = 1};
	for (IterId i = 0; i < proj->niters; i++) {
		if (!proj->iters[i].reduced)
			continue;
		iters.names[iters.n] = proj->iters[i].name;
		iters.at[iters.n++] = i;
		made.extent = proj->iters[i].extent;
	}
	push_made(gen, &iters, made);
}

void nest_note_windows(const Nest *nest)
{
	const Lower *lower = nest->gen->lower;
	for (uint32_t k = 0; lower->plan[nest->root].nwindows && k < lower->nneeded; k++) {
		const NodePlan *plan = &lower->plan[lower->needed[k]];
		if (plan->window && plan->root == nest->root)
			note_window(nest, lower->needed[k]);
	}
}

/* ---- reads of the target ---- */

static void see_reads(const Nest *nest, const Value *value, ReadPlace *place)
{
	ReadPlace here = value_reads(value, nest->target.buffer, nest->at);
	*place = here > *place ? here : *place;
}

ReadPlace nest_reads_target(const Nest *nest)
{
	ReadPlace place = READ_NOWHERE;
	for (size_t i = 0; i < nest->inner.n; i++)
		see_reads(nest, nest->inner.at[i].value, &place);
	see_reads(nest, nest->value, &place);
	for (size_t i = 0; i < nest->epilogue.n; i++)
		see_reads(nest, nest->epilogue.at[i].value, &place);
	see_reads(nest, nest->finished, &place);
	return place;
}

bool nest_sums_in_place(const Nest *nest)
{
	const Program *program = nest->gen->program;
	return nest->target.acc == OP_NONE && nest->nresult > 0 &&
	       program->buffers.at[nest->target.buffer].dtype == nest->value->dtype;
}
