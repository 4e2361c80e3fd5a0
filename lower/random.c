/* Random numbers, four of a hash (expression_random.c): what each iteration makes of its words it stores
 * as neighbours.
 *
 *   numbers of words    for e in 0..n: y[4*e], .. y[4*e + 3] = uniform(word 0), .. of words[e]
 *   a stream            for b in 0..n/4: the same of block b, and what is left of n; of normal
 *                       numbers STRIP blocks at a time: each word's in a row of its own, then four
 *                       rows are stored as neighbours, which compilers do in vectors
 */
#include "base/size_order.h"
#include "lower/kernel.h"

enum { STRIP = 64 };

static const Stmt *store_number(Gen *gen, StoreTarget to, const Ix *first, int i,
				const Value *number)
{
	const Ix *at = ix_plus(gen->program, first, i);
	return stmt_store(gen->arena, to.buffer, at, to.acc, number);
}

void random_emit_numbers(Gen *gen, NodeId id, StoreTarget to)
{
	NodeId from = lower_node(gen->lower, id)->args[0];
	const Shape *shape = lower_shape(gen->lower, from);
	IterVar *vars = ARENA_ARRAY(gen->arena, IterVar, shape_naxes(shape) + 1);
	Body body = {0};
	const Ix **axes = shape_indices(gen, shape, vars);
	const Value *numbers[RANDOM_WORDS];
	SharedLocals shared = {0};
	gen_enter(gen, &shared);
	NodeReader r = gen_reader(gen);
	const Value *words = node_value(gen, from, axes);
	words_uniform(gen->arena, r.hold(gen, &shared, "words", words), numbers);
	gen_set_shared(gen, &body, &shared);
	const Ix *first = ix_times(gen->program, flat_index(gen, from, axes), RANDOM_WORDS);
	for (int i = 0; i < RANDOM_WORDS; i++)
		PUSH(gen->arena, body.stmts, store_number(gen, to, first, i, numbers[i]));
	wrap_shape(gen, shape, vars, &body);
}

/* ---- streams ---- */

static const Stmt *where_below(Gen *gen, const Stmt *store, Size n)
{
	Body body = {0};
	PUSH(gen->arena, body.stmts, store);
	return stmt_below(gen, store->ix, n, &body);
}

/* Blocks [lo, hi) of the stream; `n`: how many elements there are, where the last block has
 * more. */
static void emit_blocks(Gen *gen, NodeId id, StoreTarget to, Size lo, Size hi, const Size *n)
{
	IterVar block = gen_iter(gen, "block");
	const Ix *at = ix_iter(gen->arena, block);
	const Value *numbers[RANDOM_WORDS];
	SharedLocals shared = {0};
	Body body = {0};
	gen_enter(gen, &shared);
	NodeReader r = gen_reader(gen);
	expression_of_block(&r, id, at, numbers);
	gen_set_shared(gen, &body, &shared);
	const Ix *first = ix_times(gen->program, at, RANDOM_WORDS);
	for (int i = 0; i < RANDOM_WORDS; i++) {
		const Stmt *store = store_number(gen, to, first, i, numbers[i]);
		PUSH(gen->arena, body.stmts, n && i > 0 ? where_below(gen, store, *n) : store);
	}
	const Ix *from = ix_size(gen->arena, lo), *end = ix_size(gen->arena, hi);
	PUSH(gen->arena, gen->top.stmts, stmt_for(gen->arena, block, from, end, body_block(&body)));
}

/* ---- strips of it ---- */

static void rows_of(Gen *gen, Body *strip, LocalId rows[RANDOM_WORDS])
{
	for (int i = 0; i < RANDOM_WORDS; i++) {
		rows[i] = gen_lanes(gen, "row", DTYPE_F32, STRIP);
		PUSH(gen->arena, strip->stmts,
		     stmt_local(gen->arena, rows[i], value_number(gen->arena, DTYPE_F32, 0)));
	}
}

static void emit_strips(Gen *gen, NodeId id, StoreTarget to, Size n)
{
	IterVar at = gen_iter(gen, "strip");
	IterVar block = gen_iter(gen, "block");
	const Ix *b = ix_iter(gen->arena, block);
	const Ix *whole = ix_times_plus(gen->program, ix_iter(gen->arena, at), STRIP, b);
	const Ix *first = ix_times(gen->program, whole, RANDOM_WORDS);
	const Value *numbers[RANDOM_WORDS];
	LocalId rows[RANDOM_WORDS];
	SharedLocals outside = {0}, shared = {0};
	Body strip = {0}, compute = {0}, store = {0};
	gen_enter(gen, &outside);
	rows_of(gen, &strip, rows);
	NodeReader r = gen_reader(gen);
	r.locals = &shared;
	expression_of_block(&r, id, whole, numbers);
	gen_set_shared(gen, &strip, &outside);
	gen_set_shared(gen, &compute, &shared);
	for (int i = 0; i < RANDOM_WORDS; i++) {
		const Value *element = frame_element(&gen->frame, rows[i], b);
		PUSH(gen->arena, compute.stmts,
		     stmt_set_at(gen->arena, element, OP_NONE, numbers[i]));
		PUSH(gen->arena, store.stmts, store_number(gen, to, first, i, element));
	}
	gen_append(gen, &strip, gen_loop(gen, LOOP_SERIAL, block, STRIP, body_block(&compute)));
	gen_append(gen, &strip, gen_loop(gen, LOOP_SERIAL, block, STRIP, body_block(&store)));
	gen_append(gen, &gen->top, gen_over(gen, at, n, body_block(&strip)));
}

void random_emit(Gen *gen, NodeId id, StoreTarget to)
{
	Sizes *sizes = gen->program->sizes;
	Size n = node_elements(gen->lower, id), whole = size_floor(sizes, n, RANDOM_WORDS);
	Size strips = size_const(sizes, 0);
	if (lower_node(gen->lower, id)->normal)
		strips = size_floor(sizes, n, RANDOM_WORDS * STRIP);
	if (!size_is(sizes, strips, 0))
		emit_strips(gen, id, to, strips);
	Size done = size_scale(sizes, strips, STRIP);
	if (!size_same(done, whole))
		emit_blocks(gen, id, to, done, whole, NULL);
	if (!size_divides(sizes, size_const(sizes, RANDOM_WORDS), n))
		emit_blocks(gen, id, to, whole, size_ceil(sizes, n, RANDOM_WORDS), &n);
}
