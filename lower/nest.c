/* Loops around a value.
 *
 *   elementwise      for R: result[R] = value
 *   sum in a local   for R: acc = 0; for K: acc += value; result[R] = acc        innermost is reduced
 *   sum in place     for R': { for v: result = 0; for K: for v: result += value }  innermost is v of R
 *                    (in lanes where it is long: lanes.c)
 *   scattered        (filled before) for R, K: result += value                   cells repeat
 *
 * R are the iterators of the result, K the reduced ones. A root that finishes a reduction
 * computes itself from the sum where that is complete. Guarded indices bound loops
 * (nest_bounds.c); a schedule may ask for an order of the loops (nest_order.c).
 *
 * A nest is built for each piece of a projection: loops and values (nest_set_up.c), then one of
 * these forms, or tiles (tile.c) where they fit. The loops are chosen before anything is emitted,
 * so values are built again (nest_rebuild) when a decision changes what they read or which loops
 * there are.
 */
#include "lower/nest.h"

/* Are parts of an axis, which run one after another, reduced? Then several pieces write the same
 * cells, unless each has its own. */
static bool reduces_parts(const Proj *proj)
{
	for (uint32_t f = 0; f < proj->nfactors && !proj->apart; f++) {
		const Factor *factor = &proj->factors[f];
		if (factor->niters > 1 && proj->iters[factor->iters[0]].reduced)
			return true;
	}
	return false;
}

/* Is a cell of the result written from several places of a window? */
static bool writes_windows(const Proj *proj)
{
	for (uint32_t p = 0; p < proj->npieces; p++)
		for (uint32_t i = 0; i < proj->pieces[p].result.naxes; i++)
			if (proj->pieces[p].result.axes[i].nterms > 1)
				return true;
	return proj_writes_guarded(proj);
}

/* Does the operation define its result by adding to cells? Else pieces of a block write their
 * own. */
static bool accumulates(const Lower *lower, NodeId node)
{
	NodeKind kind = lower_node(lower, node)->kind;
	const Proj *proj = lower_proj(lower, node);
	return kind == NODE_SPEC || kind == NODE_COMPOSE ||
	       (kind == NODE_BLOCK && (reduces_parts(proj) || writes_windows(proj)));
}

/* Are cells of the result written more than once, other than by a reduction whose cells are
 * plain? */
static bool scatters(const Lower *lower, NodeId node)
{
	const Proj *proj = lower_proj(lower, node);
	if (!accumulates(lower, node) || proj->apart)
		return false;
	return proj_reduces(proj) ? !proj_is_plain(proj) : !proj->injective;
}

bool nest_needs_fill(const Lower *lower, NodeId node)
{
	const Proj *proj = lower_proj(lower, node);
	if (proj->apart)
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

static Scalar neutral(const Nest *nest)
{
	const Node *node = lower_node(nest->gen->lower, nest->node);
	return op_neutral(node_reduce_op(node), node->dtype);
}

const Value *nest_neutral(const Nest *nest)
{
	return value_const(nest->gen->arena, lower_node(nest->gen->lower, nest->node)->dtype,
			   neutral(nest));
}

/* Moves loop `from` to position `to`, keeping the order of the others. */
static void move_loop(Nest *nest, uint32_t from, uint32_t to)
{
	Loop moved = nest->loops[from];
	for (; from < to; from++)
		nest->loops[from] = nest->loops[from + 1];
	nest->loops[to] = moved;
}

void gen_append(Gen *gen, Body *body, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		PUSH(gen->arena, body->stmts, block.stmts[i]);
}

Block nest_step(Nest *nest, const Stmt *stmt)
{
	Body body = {0};
	gen_set_shared(nest->gen, &body, &nest->inner);
	PUSH(nest->gen->arena, body.stmts, stmt);
	return body_block(&body);
}

/* ---- the forms ---- */

static bool finishes(const Nest *nest) { return nest->root != nest->node; }

/* Elementwise or scattered: one store a cell of the loops. */
static void emit_stores(Nest *nest, Op acc)
{
	Gen *gen = nest->gen;
	StoreTarget to = {nest->target.buffer, acc};
	Block store = nest_step(nest, gen_store(gen, to, nest->at, nest->value));
	Block body = nest_guarded_block(nest, 0, store);
	gen_append(gen, &gen->top, nest_wrap(nest, 0, nest->nloops, 0, body));
}

/* The loops of the result around a local that the reduced loops add to. Guards may cut reduced
 * loops only: a cell whose sum is empty is stored all the same. */
static void emit_local_sum(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	uint32_t n = nest->nresult;
	LocalId acc = gen_local(gen, "acc", nest->value->dtype);
	Block add = nest_step(nest, stmt_set(gen->arena, acc, reduce, nest->value));
	Block inner = nest_guarded_block(nest, n, add);
	Body cell = {0};
	PUSH(gen->arena, cell.stmts, stmt_local(gen->arena, acc, nest_neutral(nest)));
	gen_append(gen, &cell, nest_wrap(nest, n, nest->nloops, n, inner));
	const Value *value = nest_finish(nest, gen_local_value(gen, acc), &cell);
	PUSH(gen->arena, cell.stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, nest->target.acc, value));
	gen_append(gen, &gen->top, nest_wrap(nest, 0, n, nest->nloops, body_block(&cell)));
}

/* The innermost loop, whole, around one store. */
static Block whole_row(Nest *nest, Body *body, const Value *value)
{
	Gen *gen = nest->gen;
	uint32_t last = nest->nloops - 1;
	PUSH(gen->arena, body->stmts,
	     stmt_store(gen->arena, nest->target.buffer, nest->at, OP_NONE, value));
	return nest_wrap(nest, last, last + 1, nest->nloops, body_block(body));
}

/* Rows of the last result loop: cleared, added to by each step of the sum, and finished, all
 * while they are near. */
static void emit_row_sum(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	uint32_t outer = nest->nresult - 1;
	Body clear = {0}, rows = {0}, finish = {0};
	Block add = nest_step(
		nest, stmt_store(gen->arena, nest->target.buffer, nest->at, reduce, nest->value));
	Block inner = nest_guarded_block(nest, outer, add);
	gen_append(gen, &rows, whole_row(nest, &clear, nest_neutral(nest)));
	gen_append(gen, &rows, nest_wrap(nest, outer, nest->nloops, outer, inner));
	if (finishes(nest)) {
		const Value *sum = value_load(gen->program, nest->target.buffer, nest->at);
		const Value *value = nest_finish(nest, sum, &finish);
		gen_append(gen, &rows, whole_row(nest, &finish, value));
	}
	gen_append(gen, &gen->top, nest_wrap(nest, 0, outer, nest->nloops, body_block(&rows)));
}

/* ---- which form ---- */

/* An order that is asked for means lanes only where it says so. */
static bool runs_in_lanes(Nest *nest, SumOrder order)
{
	Gen *gen = nest->gen;
	const ScheduleClause *asked = gen_asked(gen, CHOICE_VECTOR);
	bool off = asks_off(asked) || (!asked && asks_on(gen_asked(gen, CHOICE_ORDER)));
	if (off || order.form == SUM_NONE)
		return false;
	Sym along = gen->iters.at[nest->loops[nest->nloops - 1].var].name;
	if (!asks_name(asked, 0, along))
		return false;
	clause_add(gen->arena, gen_make(gen, CHOICE_VECTOR, false), along, NULL, 0);
	return true;
}

/* Sums of which each is complete before the next begins: in lanes, written out or in turn. */
static void emit_cells(Nest *nest, Op reduce)
{
	SumFacts facts = nest_facts(nest, reduce);
	SumOrder order = sums_order(&facts, SUM_WAY_LANES, 0);
	bool in_lanes = runs_in_lanes(nest, order);
	if (!in_lanes)
		order = sums_order(&facts, SUM_WAY_SHORT, 0);
	bool is_short = !in_lanes && order.form != SUM_NONE;
	if (!in_lanes && !is_short)
		order = sums_order(&facts, SUM_WAY_LOOPS, 0);
	nest_note_sum(nest, reduce, order);
	if (in_lanes)
		lanes_emit(nest, reduce, order);
	else if (is_short)
		nest_emit_short(nest, reduce, sums_short_steps(&facts));
	else
		emit_local_sum(nest, reduce);
}

/* A long sum of few cells runs in lanes and parts, rather than in tiles that reuse nothing. */
static bool emit_few(Nest *nest, Op reduce)
{
	Gen *gen = nest->gen;
	const ScheduleClause *asked = gen_asked(gen, CHOICE_VECTOR);
	bool off = asks_off(asked) || asks_on(gen_asked(gen, CHOICE_TILE)) ||
		   (!asked && asks_on(gen_asked(gen, CHOICE_ORDER)));
	SumFacts facts = nest_facts(nest, reduce);
	SumOrder order = sums_order(&facts, SUM_WAY_PARTS, 0);
	if (off || order.form == SUM_NONE)
		return false;
	Sym along = gen->iters.at[nest->loops[nest->nloops - 1].var].name;
	if (!asks_name(asked, 0, along))
		return false;
	nest_describe_order(nest);
	clause_add(gen->arena, gen_make(gen, CHOICE_VECTOR, false), along, NULL, 0);
	nest_note_sum(nest, reduce, order);
	lanes_parts_emit(nest, reduce, order);
	return true;
}

/* In tiles, operands copied before where that makes fewer and better loops. Where several places
 * meet a cell, every tile adds its sums to it. */
static bool emit_tiles(Nest *nest, Op reduce)
{
	Op acc = nest->target.acc;
	bool chooses = !lower_replays(nest->gen->lower) && reduce == OP_ADD;
	if (nest->scattered)
		nest->target.acc = reduce;
	bool copied = chooses && (nest_pad(nest) || nest_pack_operands(nest, false));
	bool done = tile_emit(nest, reduce);
	if (!done && chooses && !copied && nest_pack_operands(nest, true))
		done = tile_emit(nest, reduce);
	if (!done)
		nest->target.acc = acc;
	return done;
}

/* In tiles, behind the copies of operands that are asked for or that pay. False: there are none; an
 * order that is asked for may name the loops behind copies. */
static bool emit_contraction(Nest *nest, Op reduce)
{
	bool replays = lower_replays(nest->gen->lower), adds = reduce == OP_ADD;
	bool tiled =
		!asks_on(gen_asked(nest->gen, CHOICE_ORDER)) && !proj_writes_guarded(nest->proj);
	if (adds && replays && !nest_pad(nest))
		nest_pack_operands(nest, false);
	if (tiled && emit_tiles(nest, reduce))
		return true;
	if (adds && !replays && !nest->scattered)
		nest_copy_for_order(nest);
	return false;
}

/* Puts the loops in the order that is asked for, or the cheapest; is the sum kept in a local? */
static bool choose_order(Nest *nest, const SumFacts *facts, bool reduces)
{
	bool local = !nest->scattered && reduces &&
		     (!nest_sums_in_place(nest) || sums_short_rows(facts));
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

/* The first form that fits: lanes for few cells, tiles, then plain loops in the cheapest order. */
static void emit_piece(Nest *nest)
{
	Lower *lower = nest->gen->lower;
	nest->gen->inside = NODE_NONE;
	nest_set_up(nest);
	nest->scattered = scatters(lower, nest->node);
	bool reduces = nest->nloops > nest->nresult;
	Op reduce = node_reduce_op(lower_node(lower, nest->node));
	gen_nest(nest->gen);
	if (reduces && !nest->scattered && emit_few(nest, reduce))
		return;
	if (reduces && emit_contraction(nest, reduce))
		return;
	SumFacts facts = nest_facts(nest, reduce);
	int64_t lanes;
	bool local = choose_order(nest, &facts, reduces);
	if (reduces && (nest->scattered || !local))
		nest_note_sum(nest, reduce, sums_order(&facts, SUM_WAY_LOOPS, 0));
	if (nest->scattered)
		emit_stores(nest, reduce);
	else if (proj_reduces(nest->proj) && (!reduces || local))
		emit_cells(nest, reduce);
	else if (reduces && nest_row_fits(nest, &facts, &lanes))
		nest_emit_row(nest, reduce, lanes);
	else if (reduces)
		emit_row_sum(nest, reduce);
	else
		emit_stores(nest, nest->target.acc);
}

/* Sums have the reduction's place, all else that of the operation that the kernel ends with. */
static void place_block(Block block, Span sum, Span rest)
{
	for (uint32_t i = 0; i < block.n; i++) {
		Stmt *stmt = (Stmt *)block.stmts[i]; /* of this nest alone, and not finished */
		bool adds = stmt->acc != OP_NONE;
		place_block(stmt->body, sum, rest);
		bool holds = stmt->body.n > 0 && stmt->body.stmts[0]->span.start == sum.start;
		if (span_is_none(stmt->span))
			stmt->span = adds || holds ? sum : rest;
	}
}

void nest_emit(Gen *gen, NodeId root, StoreTarget target)
{
	NodeId reduction = gen->lower->plan[root].reduction;
	NodeId node = reduction != NODE_NONE ? reduction : root;
	const Proj *proj = lower_proj(gen->lower, node);
	for (uint32_t i = 0; i < proj->npieces; i++) {
		Nest nest = {
			.gen = gen, .node = node, .root = root, .target = target, .proj = proj};
		nest.piece = &proj->pieces[i];
		size_t first = gen->top.stmts.n;
		emit_piece(&nest);
		if (gen->lower->asked)
			nest_note_names(&nest);
		Block block = {gen->top.stmts.at + first, (uint32_t)(gen->top.stmts.n - first)};
		place_block(block, lower_node(gen->lower, node)->span,
			    lower_node(gen->lower, root)->span);
	}
}

void nest_emit_reached(Gen *gen, NodeId node, BufferId from, StoreTarget to)
{
	const Proj *proj = lower_proj(gen->lower, node);
	for (uint32_t i = 0; i < proj->npieces; i++) {
		Nest nest = {.gen = gen, .node = node, .root = node, .target = to, .proj = proj};
		nest.piece = &proj->pieces[i];
		nest_set_up_result(&nest);
		nest.value = value_load(gen->program, from, nest.at);
		emit_stores(&nest, to.acc);
	}
}

void nest_fill(Gen *gen, BufferId buffer, Scalar value)
{
	Program *program = gen->program;
	const Buffer *to = &program->buffers.at[buffer];
	IterVar e = gen_iter(gen, sym_cstr(program->symbols, "e"));
	const Value *constant = value_const(gen->arena, to->dtype, value);
	const Stmt *store =
		stmt_store(gen->arena, buffer, ix_iter(gen->arena, e), OP_NONE, constant);
	PUSH(gen->arena, gen->top.stmts,
	     stmt_for(gen->arena, e, zero_ix(gen), ix_size(gen->arena, to->elements),
		      block_of(gen, store)));
}
