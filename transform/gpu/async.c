/* Products whose operands are copied to shared memory as they are, 16, 8 or 4 bytes at a time, while threads add up.
 *
 *   for round in 0..ceil(s/32) + 3         a ring of 4 stages
 *     wait 2                                 round - 3 has come
 *     barrier                                for all threads; and stage round % 4 is read no more
 *     if round*32 < s
 *       block thread in 0..32, lane in 0..4
 *         vector element in 0..8
 *           async rows[round % 4, ...] = x[...] if round*32 + lane*8 + element < s
 *     commit
 *     if 2 < round
 *       ... sums += rows[(round + 1) % 4] * columns[(round + 1) % 4]
 *
 * Where both operands have elements of the shared type that lie side by side, as many bytes of them at multiples of
 * as many. Steps behind the last one, and what conditions of an operand leave out, are 0. The last rounds copy nothing, so
 * that nothing is on its way behind them.
 */
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/multiple.h"
#include "loops/walk.h"
#include "transform/gpu/places.h"

enum { RING_MOST = 4, COPY_LEAST = 4 }; /* stages; bytes of a copy */

static int64_t element_bytes(const Tiling *g, const Side *side)
{
	return (int64_t)dtype_bytes(g->program->buffers.at[side->shared].dtype);
}

/* Threads along what is not side by side and along chunks, and how many chunks each copies; 0: they have none. */
typedef struct Chunks {
	int64_t elements, outer, inner, times;
} Chunks;

static Chunks chunks_of(const Tiling *g, const Side *side)
{
	Chunks c = {.elements = side->chunk};
	int64_t contiguous = side->steps_contiguous ? g->tile->steps : side->width;
	int64_t lines = side->steps_contiguous ? side->width : g->tile->steps;
	int64_t threads = side->threads[0] * side->threads[1];
	c.inner = contiguous / c.elements;
	c.outer = threads / c.inner < lines ? threads / c.inner : lines;
	c.times = c.outer ? lines / c.outer : 0;
	return c;
}

/* In a stage; `along` is where the chunk begins where neighbours are along the side. */
static TilePlace place_of(const Tiling *g, const Side *side, const Chunks *c, const CopyIters *i)
{
	const Ix *line = plus(g, times(g, iter(g, i->time), c->outer), iter(g, i->outer));
	const Ix *chunk = times(g, iter(g, i->inner), c->elements), *none = number(g, 0);
	bool steps = side->steps_contiguous;
	return (TilePlace){.along = steps ? line : chunk,
			   .along_element = steps ? none : iter(g, i->lane),
			   .round = none,
			   .step = steps ? chunk : line,
			   .step_element = steps ? iter(g, i->lane) : none,
			   .unit = c->elements,
			   .thread = {iter(g, i->outer), iter(g, i->inner), iter(g, i->time)}};
}

/* Behind the last place is the last one, or the last chunk, or it is not read at all. */
static TilePlace source_of(const Tiling *g, const Side *side, const Chunks *c, const CopyIters *i,
			   const Ix *k)
{
	TilePlace place = place_of(g, side, c, i);
	Sizes *sizes = g->program->sizes;
	int64_t back = side->steps_contiguous ? 1 : c->elements;
	const Ix *last = sized(g, size_plus(sizes, side->group->extent, -back));
	place.along = tiling_side_at(g, side, place.along);
	place.open = !size_divides(sizes, size_const(sizes, back), side->group->extent);
	if (tiling_is_held(g, side) && !place.open)
		place.along = ix_binary(g->program, IX_MIN, place.along, last);
	place.round = k;
	return place;
}

static Taken taken_at(const Tiling *g, const Side *side, const CopyIters *i, const Ix *k)
{
	Chunks c = chunks_of(g, side);
	TilePlace place = source_of(g, side, &c, i, k);
	return tiling_take(g, side, &place, !tiling_is_whole(g));
}

static const Ix *first_step(const Tiling *g) { return times(g, iter(g, g->round), g->tile->steps); }

/* Is what conditions leave of a chunk its first elements? */
static bool reads_first(const Tiling *g, const Taken *taken, IterVar lane)
{
	for (uint32_t i = 0; i < taken->nconds; i++) {
		const Cond *cond = &taken->conds[i];
		bool same = !ix_uses(cond->a, lane) && !ix_uses(cond->b, lane);
		if (!same && (cond->kind == COND_EQ || ix_uses(cond->b, lane) ||
			      !ix_moves_by(g->program, cond->a, lane, 1)))
			return false;
	}
	return true;
}

/* Does it divide the size, whatever that is, or is it supposed so? */
static bool divides(const Tiling *g, int64_t n, Size size)
{
	const Sizes *sizes = g->program->sizes;
	bool is = size_divides(sizes, size_const(g->program->sizes, n), size);
	for (uint32_t i = 0; i < g->nwholes; i++)
		is |= g->by[i] % n == 0 && size_divides(sizes, g->whole[i], size);
	return is;
}

static Multiples supposed(const Tiling *g)
{
	Multiples multiples = multiples_unknown(g->arena, g->program, g->kernel);
	for (uint32_t i = 0; i < g->nwholes; i++)
		multiples_add(&multiples, g->whole[i], g->by[i]);
	return multiples;
}

/* Do chunks of so many elements begin at multiples of as many, the first of them read, or none? */
static bool has_chunks(Tiling *g, const Side *side)
{
	CopyIters i = tiling_copy_iters(g);
	Chunks c = chunks_of(g, side);
	if (c.times == 0 ||
	    (!side->steps_contiguous && !divides(g, c.elements, side->group->extent)))
		return false;
	Taken taken = taken_at(g, side, &i, first_step(g));
	const Value *load = tiling_element_as_it_is(g, side, taken.value);
	if (!load || load->ix->reads || !reads_first(g, &taken, i.lane))
		return false;
	Multiples multiples = supposed(g);
	const Ix *first = ix_of_first_lane(g->program, load->ix, i.lane);
	return ix_moves_by(g->program, load->ix, i.lane, 1) &&
	       ix_multiple(&multiples, first) % c.elements == 0;
}

/* Finds the largest chunks that a copy takes. */
static bool find_chunks(Tiling *g, Side *side)
{
	int64_t each = element_bytes(g, side);
	bool found = false;
	for (int64_t bytes = QUAD * COPY_LEAST; bytes >= COPY_LEAST && !found; bytes /= 2) {
		side->chunk = bytes / each;
		found = side->chunk > 0 && has_chunks(g, side);
	}
	return found;
}

static int64_t stage_bytes(const Tiling *g, const Side *side)
{
	return tiling_stage_elements(g, side) * element_bytes(g, side);
}

static void set_stages(const Tiling *g, const Side *side)
{
	g->program->buffers.at[side->shared].elements =
		size_const(g->program->sizes, g->stages * tiling_stage_elements(g, side));
}

/* The sizes, of which 16 bytes of elements are to be a part, of what each side is contiguous along. */
static void suppose(Tiling *g)
{
	const Side *sides[] = {&g->rows, &g->columns};
	for (int i = 0; i < 2; i++) {
		const LoopGroup *along =
			sides[i]->steps_contiguous ? &g->product->sum : sides[i]->group;
		Size extent = along->loops[along->n - 1]->hi->size;
		int64_t by = QUAD * COPY_LEAST / element_bytes(g, sides[i]);
		if (divides(g, by, extent))
			continue;
		g->whole[g->nwholes] = extent;
		g->by[g->nwholes++] = by;
	}
}

static bool find_both(Tiling *g) { return find_chunks(g, &g->rows) && find_chunks(g, &g->columns); }

/* With sizes that are known at run time only, where those let it be. */
static bool find_supposed(Tiling *g)
{
	int64_t n;
	suppose(g);
	for (uint32_t i = 0; i < g->nwholes; i++)
		if (size_is_const(g->program->sizes, g->whole[i], &n))
			return false;
	return find_both(g);
}

void async_set_up(Tiling *g)
{
	int64_t most = g->shared_most / (stage_bytes(g, &g->rows) + stage_bytes(g, &g->columns));
	if (most < 2 || (!find_both(g) && !(g->has_registers && find_supposed(g)))) {
		g->nwholes = 0;
		return;
	}
	g->async = true;
	g->round = tiling_iter(g, "round");
	g->stages = most < RING_MOST ? most : RING_MOST;
	int64_t n, enough = RING_MOST;
	if (size_is_const(g->program->sizes, g->product->sum.extent, &n))
		enough = n / g->tile->steps + (n % g->tile->steps != 0) + 1;
	g->stages = enough < 2 ? 2 : enough < g->stages ? enough : g->stages;
	set_stages(g, &g->rows);
	set_stages(g, &g->columns);
}

void async_places(Tiling *g, Side *side)
{
	CopyIters i = tiling_copy_iters(g);
	Chunks c = chunks_of(g, side);
	TilePlace place = source_of(g, side, &c, &i, number(g, 0));
	tiling_find_places(g, side, &place, (int64_t[]){c.outer, c.inner, c.times});
}

static Block copy(Tiling *g, const Side *side, const Ix *stage)
{
	CopyIters i = tiling_copy_iters(g);
	Chunks c = chunks_of(g, side);
	TilePlace place = place_of(g, side, &c, &i);
	Taken taken = taken_at(g, side, &i, first_step(g));
	const Ix *stage_step[] = {stage, plus(g, place.step, place.step_element)};
	const Ix *at =
		tiling_shared(g, side, stage_step, plus(g, place.along, place.along_element));
	Stmt *store = stmt_async(g->arena, side->shared, at,
				 tiling_element_as_it_is(g, side, taken.value));
	store->conds = taken.nconds ? taken.conds : NULL;
	store->nconds = taken.nconds;
	Block body = loop_of(g, LOOP_VECTOR, i.lane, c.elements, block_one(g->arena, store));
	body = loop_of(g, LOOP_UNROLL, i.time, c.times, body);
	body = loop_of(g, LOOP_BLOCK, i.inner, c.inner, body);
	return loop_of(g, LOOP_BLOCK, i.outer, c.outer, body);
}

static const Ix *stage_at(const Tiling *g, int64_t behind)
{
	return ix_binary(g->program, IX_MOD, plus(g, iter(g, g->round), number(g, behind)),
			 number(g, g->stages));
}

/* Where there are steps in the round. */
static Block if_steps(const Tiling *g, Block body)
{
	Size all = g->product->sum.extent;
	if (!tiling_is_whole(g))
		return if_below(g, first_step(g), sized(g, all), body);
	Size rounds =
		size_div(g->program->sizes, all, size_const(g->program->sizes, g->tile->steps));
	return if_below(g, iter(g, g->round), sized(g, rounds), body);
}

static Block rounds_of(Tiling *g)
{
	int64_t ahead = g->stages - 1;
	Sizes *sizes = g->program->sizes;
	const Ix *round = iter(g, g->round);
	Body loop = {0}, copies = {0}, adds = {0};
	PUSH(g->arena, loop.stmts, stmt_wait(g->arena, ahead - 1));
	add_barrier(g, &loop);
	add(g, &copies, copy(g, &g->rows, stage_at(g, 0)));
	add(g, &copies, copy(g, &g->columns, stage_at(g, 0)));
	add(g, &loop, if_steps(g, body_block(&copies)));
	PUSH(g->arena, loop.stmts, stmt_commit(g->arena));
	add(g, &adds, mma_steps(g, stage_at(g, 1)));
	if (g->parts != g->sums)
		add(g, &adds, mma_promote(g, plus(g, round, number(g, -ahead))));
	add(g, &loop, if_below(g, number(g, ahead - 1), round, body_block(&adds)));
	Size rounds =
		size_plus(sizes, size_ceil(sizes, g->product->sum.extent, g->tile->steps), ahead);
	return block_one(g->arena, stmt_for(g->arena, g->round, number(g, 0), sized(g, rounds),
					    body_block(&loop)));
}

/* What is left over of a supposed size. */
static const Ix *left_over(const Tiling *g, uint32_t i)
{
	return ix_binary(g->program, IX_MOD, sized(g, g->whole[i]), number(g, g->by[i]));
}

/* Are the sizes as is supposed? */
static Block if_supposed(const Tiling *g, Block body)
{
	Cond *conds = ARENA_ARRAY(g->arena, Cond, g->nwholes);
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->nwholes; i++)
		conds[n++] = (Cond){COND_EQ, left_over(g, i), number(g, 0)};
	return block_one(g->arena, stmt_if(g->arena, conds, n, body));
}

static Block if_not_supposed(const Tiling *g, Block body)
{
	const Ix *left = number(g, 0);
	for (uint32_t i = 0; i < g->nwholes; i++)
		left = plus(g, left, left_over(g, i));
	return if_below(g, number(g, 0), left, body);
}

void async_rounds(Tiling *g, Body *body, Block others)
{
	if (!g->nwholes) {
		add(g, body, rounds_of(g));
		return;
	}
	add(g, body, if_not_supposed(g, others));
	add(g, body, if_supposed(g, rounds_of(g)));
}
