/* What a nest is computed as, decided before anything is emitted.
 *
 * The loops and the value are looked at as they are; operands are copied where that pays, which
 * makes other loops and another value; then the first form that fits is taken: lanes and parts for
 * few elements, tiles, plain loops in the cheapest order. What was chosen goes into the schedule, and
 * nest.c emits it.
 */
#include "lower/nest_plan.h"

#include "lower/nest/mask.h"
#include "lower/node_plan.h"

#include "lower/tile/plan.h"

/* Are parts of an axis, which run one after another, reduced? Then several pieces write the same
 * elements, unless each has its own. */
static bool reduces_parts(const Proj *proj)
{
	for (uint32_t f = 0; f < proj->nfactors && !proj->disjoint; f++) {
		const Factor *factor = &proj->factors[f];
		if (factor->niters > 1 && proj->iters[factor->iters[0]].reduced)
			return true;
	}
	return false;
}

/* Is an element of the result written from several places of a window? */
static bool writes_windows(const Proj *proj)
{
	for (uint32_t p = 0; p < proj->npieces; p++)
		for (uint32_t i = 0; i < proj->pieces[p].result.naxes; i++)
			if (proj->pieces[p].result.axes[i].nterms > 1)
				return true;
	return proj_writes_guarded(proj);
}

/* Does the operation define its result by adding to elements? Else pieces of a block write their
 * own. */
static bool accumulates(const Lower *lower, NodeId node)
{
	NodeKind kind = lower_node(lower, node)->kind;
	const Proj *proj = lower_proj(lower, node);
	return kind == NODE_SPEC || kind == NODE_COMPOSE ||
	       (kind == NODE_BLOCK && (reduces_parts(proj) || writes_windows(proj)));
}

/* Are elements of the result written more than once, other than by a reduction whose elements are
 * plain? */
static bool scatters(const Lower *lower, NodeId node)
{
	const Proj *proj = lower_proj(lower, node);
	if (!accumulates(lower, node) || proj->disjoint)
		return false;
	return proj_reduces(proj) ? !proj_is_plain(proj) : !proj->injective;
}

bool nest_needs_fill(const Lower *lower, NodeId node)
{
	const Proj *proj = lower_proj(lower, node);
	if (proj->disjoint)
		return !proj->surjective;
	if (proj_reduces(proj) && proj_is_plain(proj))
		return false;
	return proj->clear || !proj->surjective || scatters(lower, node) || proj_is_guarded(proj);
}

bool nest_is_direct(const Lower *lower, NodeId node)
{
	const Proj *proj = lower_proj(lower, node);
	if (proj_reduces(proj))
		return proj_is_plain(proj);
	return proj->injective && !proj_is_guarded(proj);
}

/* Moves loop `from` to position `to`, keeping the order of the others. */
static void move_loop(Nest *nest, uint32_t from, uint32_t to)
{
	Loop moved = nest->loops[from];
	for (; from < to; from++)
		nest->loops[from] = nest->loops[from + 1];
	nest->loops[to] = moved;
}

/* Loops that are asked for, in an order or as one expression, mean lanes and tiles only where these are asked
 * for, too. */
static bool asks_loops(const Gen *gen)
{
	return asks_on(gen_asked(gen, CHOICE_ORDER)) || asks_on(gen_asked(gen, CHOICE_UNROLL));
}

static bool takes_lanes(Nest *nest, SumOrder order)
{
	Gen *gen = nest->gen;
	const ScheduleClause *asked = gen_asked(gen, CHOICE_VECTOR);
	bool off = asks_off(asked) || (!asked && asks_loops(gen));
	if (off || order.form == SUM_NONE)
		return false;
	Sym along = gen->frame.iters.at[nest->loops[nest->nloops - 1].var].name;
	if (!asks_name(asked, 0, along))
		return false;
	clause_add(gen->arena, gen_make(gen, CHOICE_VECTOR, false), along, NULL, 0);
	return true;
}

static void describe_unrolled(const Nest *nest)
{
	Gen *gen = nest->gen;
	ScheduleClause *made =
		nest->nloops > nest->nresult ? gen_make(gen, CHOICE_UNROLL, false) : NULL;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
		clause_add(gen->arena, made, gen->frame.iters.at[nest->loops[i].var].name, NULL, 0);
}

/* Sums of which each is complete before the next begins: in lanes, written out or in turn. */
static void plan_elements(Nest *nest, NestPlan *plan)
{
	SumFacts facts = nest_facts(nest, plan->reduce);
	plan->order = sums_order(&facts, SUM_WAY_LANES, 0);
	if (!nest->carries && takes_lanes(nest, plan->order)) {
		plan->form = NEST_LANES;
		return;
	}
	plan->form = NEST_SHORT;
	plan->order = sums_order(&facts, SUM_WAY_SHORT, 0);
	plan->steps = sums_short_steps(&facts);
	if (!nest->carries && plan->order.form != SUM_NONE) {
		describe_unrolled(nest);
		return;
	}
	plan->form = NEST_LOCAL;
	plan->order = sums_order(&facts, SUM_WAY_LOOPS, 0);
}

/* The lanes of each part, of each member of a batch. */
static BufferId declare_parts(const Nest *nest, SumOrder order)
{
	Gen *gen = nest->gen;
	Sizes *sizes = gen->program->sizes;
	if (size_is_bad(order.nparts))
		return BUFFER_NONE;
	Size elements = size_scale(sizes, order.nparts, order.lanes);
	for (uint32_t i = 0; nest->batched && i < nest->nresult; i++)
		elements = size_mul(sizes, elements, nest->loops[i].extent);
	return gen_temporary(gen, "parts", gen->name,
			     (Buffer){.dtype = nest->value->dtype, .elements = elements});
}

/* A long sum of few elements runs in lanes and parts, rather than in tiles that reuse nothing. */
static bool plan_parts(Nest *nest, NestPlan *plan)
{
	Gen *gen = nest->gen;
	const ScheduleClause *asked = gen_asked(gen, CHOICE_VECTOR);
	bool off = asks_off(asked) || asks_on(gen_asked(gen, CHOICE_TILE)) ||
		   (!asked && asks_loops(gen));
	SumFacts facts = nest_facts(nest, plan->reduce);
	SumOrder order = sums_order(&facts, SUM_WAY_PARTS, 0);
	if (off || order.form == SUM_NONE)
		return false;
	Sym along = gen->frame.iters.at[nest->loops[nest->nloops - 1].var].name;
	if (!asks_name(asked, 0, along))
		return false;
	nest_describe_order(nest);
	clause_add(gen->arena, gen_make(gen, CHOICE_VECTOR, false), along, NULL, 0);
	plan->form = NEST_PARTS;
	plan->order = order;
	plan->parts = declare_parts(nest, order);
	return true;
}

/* In tiles, operands copied before where that makes fewer and better loops. Where several places
 * meet an element, every tile adds its sums to it. */
static bool plan_tiles(Nest *nest, NestPlan *plan)
{
	Op acc = nest->target.acc, reduce = plan->reduce;
	bool chooses = !lower_replays(nest->gen->lower) && reduce == OP_ADD;
	plan->tile = ARENA_NEW(nest->gen->arena, Tile);
	if (nest->scattered)
		nest->target.acc = reduce;
	bool copied = chooses && (nest_pad(nest) || nest_pack_operands(nest, false));
	bool tiled = tile_choose(nest, reduce, plan->tile);
	if (!tiled && chooses && !copied && nest_pack_operands(nest, true))
		tiled = tile_choose(nest, reduce, plan->tile);
	if (!tiled)
		nest->target.acc = acc;
	else
		plan->form = NEST_TILES;
	return tiled;
}

/* Does the row move what is read by a few elements, or not at all? */
static bool moves_by_few(const SumFacts *facts, uint32_t row)
{
	int64_t by;
	for (uint32_t i = 0; i < facts->nreads; i++)
		if (size_is_bad(facts->reads[i].by[row]) ||
		    !size_is_const(facts->sizes, facts->reads[i].by[row], &by) || by < 0 ||
		    by > facts->target->row_columns)
			return false;
	return true;
}

/* A sum of few terms into each of few elements of a row is one expression, and the rows are unrolled (transform/unroll.c):
 * lanes of a tile would go along the few. */
static bool fills_few_columns(const Nest *nest, const NestPlan *plan)
{
	const Target *target = nest_target(nest);
	SumFacts facts = nest_facts(nest, plan->reduce);
	uint32_t column = facts.nresult - 1;
	int64_t columns, rows, lanes = target->vector_bytes / (int64_t)dtype_bytes(DTYPE_F32);
	if (facts.nresult < 2 || nest->gen->lower->options->gpu || nest->scattered ||
	    lower_replays(nest->gen->lower) || gen_asked(nest->gen, CHOICE_TILE) ||
	    nest->value->dtype != DTYPE_F32 || sums_short_steps(&facts) == 0)
		return false;
	bool alone = size_is_const(facts.sizes, facts.loops[column - 1].extent, &rows) && rows != 1;
	return size_is_const(facts.sizes, nest->loops[column].extent, &columns) &&
	       columns <= target->row_columns && !(alone && rows < lanes) &&
	       size_is(facts.sizes, facts.store.by[column], 1) &&
	       size_is(facts.sizes, facts.store.by[column - 1], columns) &&
	       moves_by_few(&facts, column - 1);
}

/* In tiles, behind the copies of operands that are asked for or that pay. False: there are none; an
 * order that is asked for may name the loops behind copies. */
static bool plan_contraction(Nest *nest, NestPlan *plan)
{
	bool replays = lower_replays(nest->gen->lower), adds = plan->reduce == OP_ADD;
	bool tiled = !asks_loops(nest->gen) && !proj_writes_guarded(nest->proj);
	if (tiled && fills_few_columns(nest, plan))
		return false;
	if (adds && replays && !nest_pad(nest))
		nest_pack_operands(nest, false);
	if (tiled && plan_tiles(nest, plan))
		return true;
	if (adds && !replays && !nest->scattered)
		nest_copy_for_order(nest);
	return false;
}

/* Is a sum of few terms one expression, as is asked for or since its row has no better form? */
static bool writes_out(const Nest *nest, const SumFacts *facts)
{
	const ScheduleClause *asked = gen_asked(nest->gen, CHOICE_UNROLL);
	int64_t lanes;
	if (sums_short_steps(facts) == 0)
		return false;
	if (asks_on(asked) || lower_replays(nest->gen->lower))
		return asks_on(asked);
	return nest->nresult == 0 ||
	       !nest_row_fits(nest, facts, &nest->loops[nest->nresult - 1], &lanes);
}

/* Puts the loops in the order that is asked for, or the cheapest; is the sum kept in a local? */
static bool choose_order(Nest *nest, const SumFacts *facts, bool reduces)
{
	bool local = reduces && !nest->scattered &&
		     (!nest_sums_in_place(nest) || writes_out(nest, facts));
	if (nest->nloops == 0)
		return local;
	uint32_t last =
		lower_replays(nest->gen->lower) ? nest->nloops - 1 : sums_innermost(facts, local);
	local = local || (reduces && nest->loops[last].reduced);
	move_loop(nest, last, nest->nloops - 1);
	local = nest_take_order(nest, nest->scattered, local);
	nest_describe_order(nest);
	return local;
}

/* Shared locals of a sum of few terms are in line: the one expression has no loop to set them in. */
static void share_short(Nest *nest, Op reduce)
{
	if (nest->inner.n == 0 || nest->inner.n > NEST_SHARED_FEW)
		return;
	nest_share_in_line(nest, true);
	SumFacts facts = nest_facts(nest, reduce);
	if (sums_short_steps(&facts) == 0)
		nest_share_in_line(nest, false);
}

/* A padded sum of few terms of one operand is written out where loops can be cut at its borders; so is one whose value
 * itself reads beyond an axis (fuse.c), whatever is asked. */
static bool plan_window(Nest *nest, NestPlan *plan)
{
	const Lower *lower = nest->gen->lower;
	ScheduleClause *asked = gen_asked(nest->gen, CHOICE_UNROLL);
	uint32_t terms = fuse_window_terms(lower, nest->node, nest->piece);
	bool chosen = lower_replays(lower) ? asks_on(asked) : !asks_off(asked);
	bool may = chosen && terms > 0 && nest->guards.n > 0 && nest->inner.n <= NEST_SHARED_FEW &&
		   !lower->options->gpu && !lower->row_block;
	if (!may && nest->nborders == 0)
		return false;
	if (asks_off(asked))
		asked->refused = "what it adds up is read beyond its axis";
	nest_written_out(nest);
	plan->cuts = nest_plan_borders(nest);
	if (!plan->cuts)
		return false;
	plan->form = NEST_SHORT;
	plan->order = sums_window();
	nest_describe_order(nest);
	describe_unrolled(nest);
	return true;
}

static void plan_loops(Nest *nest, NestPlan *plan, bool reduces)
{
	bool sums = reduces && !nest->scattered;
	if (sums && plan_window(nest, plan))
		return;
	if (sums)
		share_short(nest, plan->reduce);
	SumFacts facts = nest_facts(nest, plan->reduce);
	bool local = choose_order(nest, &facts, reduces);
	plan->order = sums_order(&facts, SUM_WAY_LOOPS, 0);
	if (nest->scattered)
		nest->target.acc = plan->reduce;
	else if (proj_reduces(nest->proj) && (!reduces || local))
		plan_elements(nest, plan);
	else if (reduces &&
		 nest_row_fits(nest, &facts, &nest->loops[nest->nloops - 1], &plan->lanes))
		plan->form = NEST_ROW_LOCAL;
	else if (reduces)
		plan->form = NEST_ROWS;
}

bool nest_stores_once(const NestPlan *plan)
{
	return plan->form != NEST_ROWS && plan->form != NEST_TILES;
}

void nest_plan(Nest *nest, NestPlan *plan)
{
	const Lower *lower = nest->gen->lower;
	bool reduces = nest->nloops > nest->nresult, beyond = reduces && nest->nborders > 0;
	*plan = (NestPlan){.form = NEST_STORES,
			   .reduce = node_reduce_op(lower_node(lower, nest->node)),
			   .sums = reduces};
	nest->scattered = scatters(lower, nest->node);
	gen_nest(nest->gen);
	if (reduces && !beyond && !nest->scattered && !nest->carries && plan_parts(nest, plan))
		return;
	if (!reduces || beyond || !plan_contraction(nest, plan))
		plan_loops(nest, plan, reduces);
	if (plan->form == NEST_STORES)
		plan->cuts = nest_plan_borders(nest);
	nest_find_mask(nest, plan);
}
