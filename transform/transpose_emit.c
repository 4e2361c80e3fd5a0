/* The loops over the tiles that transpose.c chose: whole tiles, what is left beside them, what is left
 * of the loop around. Every element is stored once.
 */
#include "base/diag.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "transform/transpose.h"

/* u or v with the loop over its tiles, of n each. */
typedef struct TileLoop {
	const Stmt *loop;
	IterVar tiles;
	int64_t n;
} TileLoop;

static const Ix *iter_ix(const Transpose *t, IterVar iter) { return ix_iter(t->arena, iter); }

/* block*n + within */
static const Ix *in_block(const Transpose *t, IterVar block, int64_t n, const Ix *within)
{
	return ix_times_plus(t->program, iter_ix(t, block), n, within);
}

/* Statements in terms of other iterators: u and v as given, the rest as they are. */
static Rewrite rewrite_at(const Transpose *t, const Ix *u, const Ix *v)
{
	const Ix **iters = kernel_iters(t->arena, t->kernel, 0);
	iters[t->u->iter] = u;
	iters[t->v->iter] = v;
	return (Rewrite){.program = t->program, .iters = iters, .span = t->kernel->span};
}

static const Ix *const *place(const Transpose *t, IterVar a, IterVar b)
{
	const Ix **ixs = ARENA_ARRAY(t->arena, const Ix *, 2);
	ixs[0] = iter_ix(t, a);
	ixs[1] = iter_ix(t, b);
	return ixs;
}

static const Stmt *over_tile(const Transpose *t, int64_t rows, int64_t lanes, LoopKind outer,
			     LoopKind inner, Block body)
{
	const Stmt *loop = stmt_loop(t->program, inner, t->lane, lanes, body);
	return stmt_loop(t->program, outer, t->row, rows, block_one(t->arena, loop));
}

static void declare(const Transpose *t, LocalId tile, Dtype dtype, Body *to)
{
	const Value *zero = value_number(t->arena, dtype, 0);
	PUSH(t->arena, to->stmts, stmt_local(t->arena, tile, zero));
}

/* tile[row, lane] = the operand */
static void read_tile(const Transpose *t, const TransposedLoad *load, Body *to)
{
	Dtype dtype = load->load->dtype;
	Rewrite r = rewrite_at(t, in_block(t, t->us, t->nu, iter_ix(t, t->lane)),
			       in_block(t, t->vs, t->nv, iter_ix(t, t->row)));
	const Value *element =
		value_local(t->arena, t->kernel, load->tile, place(t, t->row, t->lane), 2);
	const Stmt *set = stmt_set_at(t->arena, element, OP_NONE, load->load);
	declare(t, load->tile, dtype, to);
	Block body = rewrite_block(&r, block_one(t->arena, set));
	PUSH(t->arena, to->stmts, over_tile(t, t->nv, t->nu, LOOP_UNROLL, LOOP_VECTOR, body));
}

/* wide[row, lane] = tile[lane, row] */
static void transpose_tile(const Transpose *t, const TransposedLoad *load, Body *to)
{
	const Value *from =
		value_local(t->arena, t->kernel, load->tile, place(t, t->lane, t->row), 2);
	const Value *element =
		value_local(t->arena, t->kernel, load->wide, place(t, t->row, t->lane), 2);
	declare(t, load->wide, load->load->dtype, to);
	Block set = block_one(t->arena, stmt_set_at(t->arena, element, OP_NONE, from));
	PUSH(t->arena, to->stmts, over_tile(t, t->nu, t->nv, LOOP_UNROLL, LOOP_VECTOR, set));
}

/* The statements of the nest, operands from their tiles. */
static void write_tile(const Transpose *t, Body *to)
{
	Rewrite r = rewrite_at(t, in_block(t, t->us, t->nu, iter_ix(t, t->row)),
			       in_block(t, t->vs, t->nv, iter_ix(t, t->lane)));
	ValueTwin twins[LOADS_MAX];
	for (uint32_t i = 0; i < t->nloads; i++) {
		const TransposedLoad *load = &t->loads[i];
		const Ix *const *at =
			t->direct ? place(t, t->lane, t->row) : place(t, t->row, t->lane);
		LocalId tile = t->direct ? load->tile : load->wide;
		twins[i] = (ValueTwin){load->load, value_local(t->arena, t->kernel, tile, at, 2)};
	}
	r.values = twins;
	r.nvalues = t->nloads;
	Block body = rewrite_block(&r, t->body);
	PUSH(t->arena, to->stmts,
	     over_tile(t, t->nu, t->nv, t->direct ? LOOP_UNROLL : LOOP_SERIAL,
		       t->direct ? LOOP_VECTOR : LOOP_SERIAL, body));
}

static const Ix *blocks(const Transpose *t, const Stmt *loop, int64_t n)
{
	return ix_size(t->arena, size_floor(t->program->sizes, loop->hi->size, n));
}

/* loop in whole blocks .. its end */
static void add_rest(const Transpose *t, Body *to, const TileLoop *tiled, Block body)
{
	Sizes *sizes = t->program->sizes;
	const Stmt *loop = tiled->loop;
	Size whole = size_scale(sizes, size_floor(sizes, loop->hi->size, tiled->n), tiled->n);
	if (!size_same(whole, loop->hi->size))
		PUSH(t->arena, to->stmts,
		     stmt_for(t->arena, loop->iter, ix_size(t->arena, whole), loop->hi, body));
}

static Block tile_block(const Transpose *t)
{
	Body tile = {0};
	for (uint32_t i = 0; i < t->nloads; i++) {
		read_tile(t, &t->loads[i], &tile);
		if (!t->direct)
			transpose_tile(t, &t->loads[i], &tile);
	}
	write_tile(t, &tile);
	return body_block(&tile);
}

/* For the tiles of `outer`: those along `inner`, then what is left of that. */
static Block whole_blocks(const Transpose *t, const TileLoop *outer, const TileLoop *inner)
{
	Body body = {0};
	const Ix *element = in_block(t, outer->tiles, outer->n, iter_ix(t, t->lane));
	const Ix *along = iter_ix(t, inner->loop->iter);
	PUSH(t->arena, body.stmts,
	     stmt_for(t->arena, inner->tiles, ix_const(t->program, 0),
		      blocks(t, inner->loop, inner->n), tile_block(t)));
	Rewrite r = t->along ? rewrite_at(t, element, along) : rewrite_at(t, along, element);
	const Stmt *lanes =
		stmt_loop(t->program, LOOP_SERIAL, t->lane, outer->n, rewrite_block(&r, t->body));
	add_rest(t, &body, inner, block_one(t->arena, lanes));
	return body_block(&body);
}

/* How far the loop moves either side at least; 0: not known. */
static int64_t least_step(const Transpose *t, const Stmt *loop)
{
	Sizes *sizes = t->program->sizes;
	int64_t read, stored;
	if (!size_is_const(sizes,
			   ix_stride(t->program, transposed_load(t->loads[0].load)->ix, loop->iter),
			   &read) ||
	    !size_is_const(sizes, ix_stride(t->program, t->store->ix, loop->iter), &stored))
		return 0;
	return read > 0 && read < stored ? read : stored;
}

/* The loops around the tiles, outermost first: those that move by little inside, so that the lines
 * next to those of a tile come next. */
static uint32_t order_outer(const Transpose *t, const Stmt **outer)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->nloops; i++) {
		const Stmt *loop = t->loops[i];
		if (loop == t->u || loop == t->v)
			continue;
		int64_t step = least_step(t, loop);
		uint32_t at = n++;
		for (; at > 0 && step > 0 && least_step(t, outer[at - 1]) < step; at--)
			outer[at] = outer[at - 1];
		outer[at] = loop;
	}
	return n;
}

Block transpose_emit(const Transpose *t)
{
	Body body = {0};
	const Stmt *around[NEST_MAX];
	TileLoop u = {t->u, t->us, t->nu}, v = {t->v, t->vs, t->nv};
	const TileLoop *outer = t->along ? &u : &v, *inner = t->along ? &v : &u;
	PUSH(t->arena, body.stmts,
	     stmt_for(t->arena, outer->tiles, ix_const(t->program, 0),
		      blocks(t, outer->loop, outer->n), whole_blocks(t, outer, inner)));
	const Stmt *whole = inner->loop;
	const Stmt *along = stmt_for(t->arena, whole->iter, whole->lo, whole->hi, t->body);
	add_rest(t, &body, outer, block_one(t->arena, along));
	Block block = body_block(&body);
	for (uint32_t i = order_outer(t, around); i-- > 0;)
		block = block_one(t->arena, stmt_for(t->arena, around[i]->iter, around[i]->lo,
						     around[i]->hi, block));
	return block;
}
