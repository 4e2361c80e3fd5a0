/* A sum that another sum reads, computed in the steps of that one: what is between stays in registers.
 *
 *   for g: for o step 64: for b                     for o step 64: for b
 *     local acc = 0                                   local all = 0
 *     for k: acc[lane] += w[.., k]*x[.., k]           for g
 *     p[b*c + g*n + o + lane] = acc[lane]      ->       local acc = 0
 *   for o step 64: for b                                for k: acc[lane] += w[.., k]*x[.., k]
 *     local all = 0                                     all[lane] += acc[lane]*s[g*n + o + lane]
 *     for g: all[lane] += p[..]*s[g*n + o + lane]     y[b*n + o + lane] = all[lane]
 *     y[b*n + o + lane] = all[lane]
 *
 * Each tile of the first kernel is what one tile of the second reads in one step of its sum: both have the same loops, in
 * whatever order, and lanes, by which both move through the temporary alike. So it is made once, where it is read, and every
 * element adds the same terms in the same order. What the first kernel fills before its tiles (sums of rows of bytes, a copy of an
 * operand) is filled before those of the second. Nothing else touches the temporary, and nothing between stores what the
 * first kernel reads. Tiles are chosen so that they match (lower/compute_at.c).
 */
#include "base/diag.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/compute_at.h"

/* The statement of a tile that touches the temporary. */
typedef struct TilePlace {
	const Stmt *loops[NEST_LOOPS]; /* around the tile, outermost first, each in turn */
	uint32_t nloops;
	Block tile;	   /* of the block behind what other tiles are in */
	uint32_t at;	   /* the statement's place in it */
	LoopNest lanes;	   /* the statement */
	const Value *load; /* of the temporary; NULL: it stores to it */
} TilePlace;

typedef struct ComputeAt {
	const Transform *t;
	Program *program;
	const Kernel *inner, *outer;
	BufferId buffer; /* that the inner one stores and the outer one reads */
	VEC(TilePlace) stores, loads;
	const Value *load;  /* the last one that was seen in a statement */
	uint32_t nloads;    /* at different indices */
	IterVar first_iter; /* of the inner kernel's, in the outer one */
	LocalId first_local;
	uint32_t nbefore; /* the inner kernel's first statements, which fill what it alone reads */
	const char *why; /* it cannot be; NULL: it can */
} ComputeAt;

/* ---- where the temporary is touched ---- */

static void see_load(void *of, const Value *value)
{
	ComputeAt *c = of;
	if (value->kind != VALUE_LOAD || value->buffer != c->buffer)
		return;
	c->nloads += !c->load || !value_same(c->load, value);
	c->load = value;
}

static void see_stmt(void *of, const Stmt *stmt)
{
	ComputeAt *c = of;
	c->nloads += stmt->kind == LOOP_STORE && stmt->buffer == c->buffer;
	stmt_each_value(stmt, see_load, c);
}

static uint32_t touches(ComputeAt *c, const Stmt *stmt)
{
	c->load = NULL;
	c->nloads = 0;
	block_each(block_one(c->t->scratch, stmt), see_stmt, c);
	return c->nloads;
}

static bool is_in_turn(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && !stmt->mask &&
	       stmt->nconds == 0;
}

/* Adds the places in a block inside of the loops around; false: it is touched otherwise. */
static bool find_places(ComputeAt *c, Block block, TilePlace around, bool stores)
{
	uint32_t ntiles = 0, begin = 0; /* of the tile at hand */
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		uint32_t n = touches(c, stmt);
		if (n == 0)
			continue;
		if (is_in_turn(stmt) && around.nloops < NEST_LOOPS) {
			TilePlace inside = around;
			inside.loops[inside.nloops++] = stmt;
			if (!find_places(c, stmt->body, inside, stores))
				return false;
			begin = i + 1;
			continue;
		}
		if (!stores && begin > 0)
			return false;
		TilePlace place = around;
		place.tile = (Block){block.stmts + begin, block.n - begin};
		place.at = i - begin;
		place.lanes = block_nest(block_one(c->program->arena, stmt));
		place.load = stores ? NULL : c->load;
		const Stmt *only = block_only(place.lanes.body);
		bool last = i + 1 == block.n,
		     stored = only && only->kind == LOOP_STORE && only->buffer == c->buffer;
		if (n != 1 || !only || ++ntiles > 1 || stored != stores ||
		    (stores && (!last || only->acc != OP_NONE)))
			return false;
		if (stores)
			PUSH(c->t->scratch, c->stores, place);
		else
			PUSH(c->t->scratch, c->loads, place);
	}
	return true;
}

/* ---- which tile is which ---- */

static const Ix *index_of(const TilePlace *place)
{
	return place->load ? place->load->ix : block_only(place->lanes.body)->ix;
}

static bool is_like(const Stmt *a, const Stmt *b)
{
	return a->loop == b->loop && a->step == b->step && a->lanes == b->lanes &&
	       ix_same(a->lo, b->lo) && ix_same(a->hi, b->hi);
}

/* The reader's loop that is a loop of the sum, by how far both move through the temporary; NULL: there is none. */
static const Stmt *loop_like(const ComputeAt *c, const Stmt *loop, const TilePlace *store,
			     const TilePlace *load)
{
	Size by = ix_stride(c->program, index_of(store), loop->iter);
	for (uint32_t i = 0; i < load->nloops; i++) {
		Size other = ix_stride(c->program, index_of(load), load->loops[i]->iter);
		if (!size_is_bad(by) && !size_is_bad(other) && size_same(by, other) &&
		    !size_is(c->program->sizes, by, 0) && is_like(loop, load->loops[i]))
			return load->loops[i];
	}
	return NULL;
}

/* Iterators of the outer kernel for those of the inner one, by IterVar; `lanes`: for the lanes too, which in the tile itself
 * are others. NULL: the two are no such tiles. */
static const Ix **matched(const ComputeAt *c, const TilePlace *store, const TilePlace *load,
			  bool lanes)
{
	Program *program = c->program;
	const Ix **iters = kernel_iters(program->arena, c->inner, c->first_iter);
	if (store->nloops != load->nloops || store->lanes.n != load->lanes.n)
		return NULL;
	for (uint32_t i = 0; i < store->nloops; i++) {
		const Stmt *loop = loop_like(c, store->loops[i], store, load);
		if (!loop)
			return NULL;
		iters[store->loops[i]->iter] = ix_iter(program->arena, loop->iter);
	}
	for (uint32_t i = 0; lanes && i < store->lanes.n; i++) {
		if (!is_like(store->lanes.loops[i], load->lanes.loops[i]))
			return NULL;
		iters[store->lanes.loops[i]->iter] =
			ix_iter(program->arena, load->lanes.loops[i]->iter);
	}
	return iters;
}

/* Does the tile store just what the other reads in a step? */
static bool is_same_tile(const ComputeAt *c, const TilePlace *store, const TilePlace *load)
{
	const Ix **iters = matched(c, store, load, true);
	Rewrite rewrite = {.program = c->program, .iters = iters};
	return iters && ix_same(rewrite_ix(&rewrite, index_of(store)), index_of(load));
}

static const TilePlace *tile_of(const ComputeAt *c, const TilePlace *load)
{
	for (size_t i = 0; i < c->stores.n; i++)
		if (is_same_tile(c, &c->stores.at[i], load))
			return &c->stores.at[i];
	return NULL;
}

/* ---- legal? ---- */

static bool is_plain_temporary(const ComputeAt *c)
{
	const Buffer *b = &c->program->buffers.at[c->buffer];
	return b->kind == BUFFER_TEMP && !b->scratch && !b->shared && !b->padded &&
	       dtype_wide(b->dtype) == b->dtype && !program_loops_use(c->program, c->buffer);
}

/* Do all tiles of the sum stand in the kernel's last statement? */
static bool ends_with_tiles(ComputeAt *c)
{
	Block body = c->inner->body;
	c->nbefore = body.n - 1;
	bool last = body.n > 0;
	for (uint32_t i = 0; last && i < c->nbefore; i++)
		last = touches(c, body.stmts[i]) == 0;
	return last;
}

/* Is the temporary read in each step of a sum, by what adds to a local? */
static bool is_in_sum(const TilePlace *load)
{
	const Stmt *adds = block_only(load->lanes.body);
	return adds->kind == LOOP_SET && adds->acc != OP_NONE && load->nloops > 0 &&
	       !load->loops[load->nloops - 1]->independent;
}

/* Why the sum cannot go into the steps of the other; NULL: it can. */
static const char *illegal(ComputeAt *c)
{
	if (!is_plain_temporary(c) || c->inner->loop != c->outer->loop ||
	    block_find(c->inner->body, stmt_is_check, NULL))
		return "its result is more than a temporary of the kernel that reads it";
	if (!ends_with_tiles(c) || !find_places(c, c->inner->body, (TilePlace){0}, true) ||
	    !find_places(c, c->outer->body, (TilePlace){0}, false) || c->stores.n != c->loads.n)
		return "it is not read tile by tile";
	for (size_t i = 0; i < c->loads.n; i++)
		if (!is_in_sum(&c->loads.at[i]))
			return "it is not read in the steps of a sum";
	for (size_t i = 0; i < c->loads.n; i++)
		if (!tile_of(c, &c->loads.at[i]))
			return "the kernel that reads it has other loops or tiles";
	return NULL;
}

/* ---- worth it? ---- */

static bool has_lanes(const TilePlace *place)
{
	bool lanes = false;
	for (uint32_t i = 0; i < place->lanes.n; i++)
		lanes |= place->lanes.loops[i]->loop == LOOP_VECTOR;
	return lanes;
}

/* Are there vectors, and work for threads outside of the sum? */
static bool pays(const ComputeAt *c)
{
	const TilePlace *load = &c->loads.at[0];
	int64_t parts = 1, most = c->program->options.target->thread_parts;
	for (uint32_t i = 0; i < load->nloops; i++) {
		int64_t trips = constant_trips(c->program, load->loops[i]);
		if (load->loops[i]->independent)
			parts *= trips > 0 && trips < most ? trips : most;
	}
	return has_lanes(load) && (parts >= most || c->program->options.grain == 0);
}

/* ---- the loops ---- */

static Rewrite rewrite_with(const ComputeAt *c, const Ix *const *iters)
{
	return (Rewrite){.program = c->program,
			 .iters = iters,
			 .renames = true,
			 .first_local = c->first_local,
			 .span = c->inner->span};
}

/* The statement with what is stored in the place of what it read. */
static Block with_value(const ComputeAt *c, const TilePlace *load, const Value *value)
{
	ValueTwin twin = {load->load, value};
	Rewrite rewrite = {.program = c->program,
			   .iters = kernel_iters(c->program->arena, c->outer, 0),
			   .renames = true,
			   .values = &twin,
			   .nvalues = 1,
			   .span = c->outer->span};
	return rewrite_block(&rewrite, block_one(c->program->arena, load->tile.stmts[load->at]));
}

/* The same statements, which follow others now. */
static void append_following(Arena *arena, Body *body, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		Stmt *copy = ARENA_NEW(arena, Stmt);
		*copy = *block.stmts[i];
		copy->disjoint = false;
		PUSH(arena, body->stmts, copy);
	}
}

/* The tile of the sum, and what the reader makes of it. */
static Block one_step(const ComputeAt *c, const TilePlace *load)
{
	Arena *arena = c->program->arena;
	const TilePlace *store = tile_of(c, load);
	Block tile = {store->tile.stmts, store->tile.n - 1};
	Rewrite inner = rewrite_with(c, matched(c, store, load, false));
	Rewrite lanes = rewrite_with(c, matched(c, store, load, true));
	const Value *stored = block_only(store->lanes.body)->value;
	Body body = {0};
	for (uint32_t i = 0; i < load->at; i++)
		PUSH(arena, body.stmts, load->tile.stmts[i]);
	append_following(arena, &body, rewrite_block(&inner, tile));
	body_append(arena, &body, with_value(c, load, rewrite_alone(&lanes, stored)));
	for (uint32_t i = load->at + 1; i < load->tile.n; i++)
		PUSH(arena, body.stmts, load->tile.stmts[i]);
	return body_block(&body);
}

/* The place whose tile the block is; NULL: it is none. */
static const TilePlace *place_of(const ComputeAt *c, Block block)
{
	for (size_t i = 0; i < c->loads.n; i++)
		if (c->loads.at[i].tile.stmts == block.stmts)
			return &c->loads.at[i];
	return NULL;
}

static Block in_block(const ComputeAt *c, Block block)
{
	Arena *arena = c->program->arena;
	const TilePlace *load = place_of(c, block);
	Body body = {0};
	if (load)
		return one_step(c, load);
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		PUSH(arena, body.stmts,
		     is_in_turn(stmt) ? stmt_with(arena, stmt, in_block(c, stmt->body)) : stmt);
	}
	return body_block(&body);
}

static Kernel computed_at(ComputeAt *c)
{
	Kernel kernel = *c->outer;
	c->first_iter = kernel.niters;
	c->first_local = kernel.nlocals;
	kernel_append_tables(c->program->arena, &kernel, c->inner);
	Rewrite rewrite = rewrite_with(c, kernel_iters(c->program->arena, c->inner, c->first_iter));
	Body body = {0};
	body_append(c->program->arena, &body,
		    rewrite_block(&rewrite, (Block){c->inner->body.stmts, c->nbefore}));
	body_append(c->program->arena, &body, in_block(c, c->outer->body));
	kernel.body = body_block(&body);
	return kernel;
}

/* ---- all kernels ---- */

typedef struct Kernels {
	const Transform *t;
	Kernel *at;
	BufferUses *uses;
	uint32_t n;
	bool *gone;
} Kernels;

/* The only kernel that touches the buffer behind the one that stores it; n: there are several, or none. */
static uint32_t only_reader(const Kernels *k, uint32_t inner, BufferId buffer)
{
	uint32_t reader = k->n;
	for (uint32_t i = 0; i < k->n; i++) {
		const BufferUse *use =
			i == inner || k->gone[i] ? NULL : buffer_use(&k->uses[i], buffer);
		if (use && (i < inner || use->stored || reader != k->n))
			return k->n;
		reader = use ? i : reader;
	}
	return reader;
}

/* Does a kernel up to the reader store what the sum reads, or check? */
static bool is_in_the_way(const Kernels *k, uint32_t inner, uint32_t reader)
{
	bool meets = false;
	for (uint32_t i = inner + 1; i <= reader; i++)
		for (size_t u = 0; u < k->uses[i].n && !k->gone[i]; u++)
			meets |= k->uses[i].at[u].stored &&
				 buffer_use(&k->uses[inner], k->uses[i].at[u].buffer);
	return meets;
}

/* Does no other kernel touch it? */
static bool is_own(const Kernels *k, uint32_t inner, BufferId buffer)
{
	bool own = k->t->program->buffers.at[buffer].kind == BUFFER_TEMP;
	for (uint32_t i = 0; i < k->n && own; i++)
		own = i == inner || k->gone[i] || !buffer_use(&k->uses[i], buffer);
	return own;
}

/* The one buffer that the kernel stores for others; NONE: there are none, or several. */
static BufferId stored_by(const Kernels *k, uint32_t inner)
{
	BufferId buffer = BUFFER_NONE;
	for (size_t i = 0; i < k->uses[inner].n; i++) {
		const BufferUse *use = &k->uses[inner].at[i];
		if (!use->stored || is_own(k, inner, use->buffer))
			continue;
		if (buffer != BUFFER_NONE || use->loaded)
			return BUFFER_NONE;
		buffer = use->buffer;
	}
	return buffer;
}

static void describe(const Kernels *k, uint32_t inner, Sym reader)
{
	Arena *arena = k->t->program->arena;
	ScheduleEntry *entry = schedule_entry(k->t->program->made, k->at[inner].name);
	ScheduleClause *made = entry_make(arena, entry, CHOICE_COMPUTE_AT, reader == NULL);
	if (reader)
		clause_add(arena, made, reader, NULL, 0);
}

/* Why it is not computed where it is read; NULL: it is. */
static const char *compute(Kernels *k, uint32_t inner, const ScheduleClause *asked)
{
	BufferId buffer = stored_by(k, inner);
	uint32_t reader = buffer == BUFFER_NONE ? k->n : only_reader(k, inner, buffer);
	if (reader == k->n || is_in_the_way(k, inner, reader))
		return "no kernel alone reads what it stores, before what it reads is stored";
	if (!asks_name(asked, 0, k->at[reader].name))
		return arena_printf(k->t->program->arena, "the kernel that reads it is %s",
				    k->at[reader].name);
	ComputeAt c = {.t = k->t,
		       .program = k->t->program,
		       .inner = &k->at[inner],
		       .outer = &k->at[reader],
		       .buffer = buffer};
	const char *why = illegal(&c);
	if (why || (!asked && !pays(&c)))
		return why ? why : "it has no vectors, or threads would have no work";
	describe(k, inner, k->at[reader].name);
	k->at[reader] = computed_at(&c);
	k->uses[reader] = kernel_buffers(k->t->scratch, &k->at[reader]);
	k->gone[inner] = true;
	buffer_forget(k->t->program, buffer);
	return NULL;
}

uint32_t kernels_compute_at(const Transform *t, Kernel *kernels, uint32_t n)
{
	Kernels k = {.t = t, .at = kernels, .n = n};
	uint32_t left = 0;
	if (t->options->gpu)
		return n;
	k.uses = ARENA_ARRAY(t->scratch, BufferUses, n + 1);
	k.gone = ARENA_ARRAY(t->scratch, bool, n + 1);
	for (uint32_t i = 0; i < n; i++)
		k.uses[i] = kernel_buffers(t->scratch, &kernels[i]);
	for (uint32_t i = 0; i < n; i++) {
		ScheduleClause *asked = kernel_asked(t, &kernels[i], CHOICE_COMPUTE_AT);
		const char *why = asks_off(asked) ? NULL : compute(&k, i, asked);
		if (says_off(asked))
			describe(&k, i, NULL);
		if (why && asked)
			asked->refused = why;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!k.gone[i])
			kernels[left++] = kernels[i];
	return left;
}
