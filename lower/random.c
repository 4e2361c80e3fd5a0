/* Random numbers, four of a hash: what each iteration makes of its words it stores as neighbours.
 *
 *   numbers of words    for e in 0..n: y[4*e], .. y[4*e + 3] = uniform(word 0), .. of words[e]
 *   a stream            for b in 0..n/4: the same of threefry4x32(key, b), and what is left of n
 *                       of normal numbers STRIP blocks at a time: each word's in a row of its
 *                       own, then four rows are stored as neighbours, which compilers do in vectors
 *   normal              words 0 and 1 are a pair, 2 and 3 another (Box-Muller):
 *                       r = sqrt(-2 log(1 - u0)), a = 2 pi u1: r cos a, r sin a
 *
 * Element i of a stream is made of word i mod 4 of block i div 4 under the key (seed, name), as
 * base/threefry.h says: the same whatever the shape around it.
 */
#include <string.h>
#include <xxhash.h>

#include "base/size_order.h"
#include "lower/kernel.h"

enum { WORDS = 4, STRIP = 64 };

static const Ix *number_ix(Gen *gen, int64_t value)
{
	return ix_const(gen->arena, gen->program->sizes, value);
}

static const Value *transposed(Gen *gen, const Value *words)
{
	return value_op(gen->arena, OP_TURN, DTYPE_U4X32, &words, 1);
}

static const Value *zipped(Gen *gen, const Value *a, const Value *b)
{
	return value_op(gen->arena, OP_ZIP, DTYPE_U4X32, (const Value *[]){a, b}, 2);
}

static const Value *local_of(Gen *gen, SharedLocals *shared, const char *name, const Value *value)
{
	LocalId local = gen_local(gen, name, value->dtype);
	PUSH(gen->arena, *shared, ((SharedLocal){local, value, SPAN_NONE}));
	return gen_local_value(gen, local);
}

/* Of words in a local: one number a word. */
static void uniforms_of(Gen *gen, const Value *words, const Value *numbers[WORDS])
{
	for (int i = 0; i < WORDS; i++) {
		numbers[i] = value_cast(gen->arena, DTYPE_F32, words);
		words = transposed(gen, words);
	}
}

static const Stmt *store_number(Gen *gen, StoreTarget to, const Ix *first, int i,
				const Value *number)
{
	const Ix *at = ix_add(gen->program, first, number_ix(gen, i));
	return stmt_store(gen->arena, to.buffer, at, to.acc, number);
}

void random_emit_numbers(Gen *gen, NodeId id, StoreTarget to)
{
	NodeId from = lower_node(gen->lower, id)->args[0];
	const Shape *shape = lower_shape(gen->lower, from);
	IterVar *vars = ARENA_ARRAY(gen->arena, IterVar, shape_naxes(shape) + 1);
	Body body = {0};
	const Ix **axes = shape_indices(gen, shape, vars);
	const Value *numbers[WORDS];
	SharedLocals shared = {0};
	gen_enter(gen, &shared);
	uniforms_of(gen, local_of(gen, &shared, "words", node_value(gen, from, axes)), numbers);
	gen_set_shared(gen, &body, &shared);
	const Ix *first = ix_mul(gen->program, flat_index(gen, from, axes), number_ix(gen, WORDS));
	for (int i = 0; i < WORDS; i++)
		PUSH(gen->arena, body.stmts, store_number(gen, to, first, i, numbers[i]));
	wrap_shape(gen, shape, vars, &body);
}

/* ---- streams ---- */

static const Value *f32(Gen *gen, double number)
{
	return value_const(gen->arena, DTYPE_F32, scalar_of(DTYPE_F32, number));
}

static const Value *apply(Gen *gen, Op op, const Value *a, const Value *b)
{
	const Value *args[] = {a, b};
	return value_op(gen->arena, op, DTYPE_F32, args, (uint32_t)op_arity(op));
}

static void normals_of(Gen *gen, SharedLocals *shared, const Value *numbers[WORDS])
{
	const Value *transpose = f32(gen, 6.28318530717958647692);
	for (int i = 0; i < WORDS; i += 2) {
		const Value *rest = apply(gen, OP_SUB, f32(gen, 1), numbers[i]);
		const Value *square =
			apply(gen, OP_MUL, apply(gen, OP_LOG, rest, NULL), f32(gen, -2));
		const Value *radius =
			local_of(gen, shared, "radius", apply(gen, OP_SQRT, square, NULL));
		/* no local: that it is in range is seen at the functions (loops/vector/fast_path.c) */
		const Value *angle = apply(gen, OP_MUL, numbers[i + 1], transpose);
		numbers[i] = apply(gen, OP_MUL, radius, apply(gen, OP_COS, angle, NULL));
		numbers[i + 1] = apply(gen, OP_MUL, radius, apply(gen, OP_SIN, angle, NULL));
	}
}

/* (seed low, seed high, name low, name high) */
static const Value *stream_key(Gen *gen, const Node *node)
{
	Scalar hash = {.i = (int64_t)XXH64(node->place, strlen(node->place), 0)};
	hash = scalar_convert(hash, DTYPE_I64, DTYPE_U4X32);
	const Value *name = value_const(gen->arena, DTYPE_U4X32, hash);
	const Ix *none = NULL;
	const Value *seed = node_value(gen, node->args[0], &none);
	const Value *low = zipped(gen, seed, name);
	return zipped(gen, low, zipped(gen, transposed(gen, seed), transposed(gen, name)));
}

static const Stmt *where_below(Gen *gen, const Stmt *store, Size n)
{
	Body body = {0};
	PUSH(gen->arena, body.stmts, store);
	return stmt_below(gen, store->ix, n, &body);
}

void random_numbers(Gen *gen, NodeId stream, const Ix *block, SharedLocals *shared,
		    const Value *numbers[WORDS])
{
	const Node *node = lower_node(gen->lower, stream);
	const Value *args[] = {stream_key(gen, node), value_index(gen->arena, DTYPE_U4X32, block)};
	const Value *words = value_op(gen->arena, OP_THREEFRY, DTYPE_U4X32, args, 2);
	uniforms_of(gen, local_of(gen, shared, "words", words), numbers);
	if (node->normal)
		normals_of(gen, shared, numbers);
}

const Value *random_value(Gen *gen, NodeId stream, const Ix *at)
{
	const Ix *four = number_ix(gen, WORDS);
	const Value *numbers[WORDS], *value;
	random_numbers(gen, stream, ix_binary(gen->program, IX_DIV, at, four), gen->locals_of,
		       numbers);
	value = numbers[0];
	at = ix_binary(gen->program, IX_MOD, at, four);
	for (int i = 1; i < WORDS; i++) {
		const Value *is[] = {value_index(gen->arena, DTYPE_F32, at), f32(gen, i)};
		const Value *pick[] = {value_op(gen->arena, OP_EQ, DTYPE_F32, is, 2), numbers[i],
				       value};
		value = value_op(gen->arena, OP_WHERE, DTYPE_F32, pick, 3);
	}
	return value;
}

/* Blocks [lo, hi) of the stream; `n`: how many elements there are, where the last block has
 * more. */
static void emit_blocks(Gen *gen, NodeId id, StoreTarget to, Size lo, Size hi, const Size *n)
{
	IterVar block = gen_iter(gen, "block");
	const Ix *at = ix_iter(gen->arena, block);
	const Value *numbers[WORDS];
	SharedLocals shared = {0};
	Body body = {0};
	gen_enter(gen, &shared);
	random_numbers(gen, id, at, &shared, numbers);
	gen_set_shared(gen, &body, &shared);
	const Ix *first = ix_mul(gen->program, at, number_ix(gen, WORDS));
	for (int i = 0; i < WORDS; i++) {
		const Stmt *store = store_number(gen, to, first, i, numbers[i]);
		PUSH(gen->arena, body.stmts, n && i > 0 ? where_below(gen, store, *n) : store);
	}
	const Ix *from = ix_size(gen->arena, lo), *end = ix_size(gen->arena, hi);
	PUSH(gen->arena, gen->top.stmts, stmt_for(gen->arena, block, from, end, body_block(&body)));
}

/* ---- strips of it ---- */

static void rows_of(Gen *gen, Body *strip, LocalId rows[WORDS])
{
	for (int i = 0; i < WORDS; i++) {
		rows[i] = gen_lanes(gen, "row", DTYPE_F32, STRIP);
		PUSH(gen->arena, strip->stmts, stmt_local(gen->arena, rows[i], f32(gen, 0)));
	}
}

/* for block in 0..STRIP: the body */
static void over_strip(Gen *gen, Body *strip, IterVar block, Body *body)
{
	PUSH(gen->arena, strip->stmts,
	     stmt_for(gen->arena, block, number_ix(gen, 0), number_ix(gen, STRIP),
		      body_block(body)));
}

static void emit_strips(Gen *gen, NodeId id, StoreTarget to, Size n)
{
	IterVar at = gen_iter(gen, "strip");
	IterVar block = gen_iter(gen, "block");
	const Ix *b = ix_iter(gen->arena, block);
	const Ix *whole = ix_mul(gen->program, ix_iter(gen->arena, at), number_ix(gen, STRIP));
	whole = ix_add(gen->program, whole, b);
	const Ix *first = ix_mul(gen->program, whole, number_ix(gen, WORDS));
	const Value *numbers[WORDS];
	LocalId rows[WORDS];
	SharedLocals outside = {0}, shared = {0};
	Body strip = {0}, compute = {0}, store = {0};
	gen_enter(gen, &outside);
	rows_of(gen, &strip, rows);
	random_numbers(gen, id, whole, &shared, numbers);
	gen_set_shared(gen, &strip, &outside);
	gen_set_shared(gen, &compute, &shared);
	for (int i = 0; i < WORDS; i++) {
		const Value *element = frame_element(&gen->frame, rows[i], b);
		PUSH(gen->arena, compute.stmts,
		     stmt_set_at(gen->arena, element, OP_NONE, numbers[i]));
		PUSH(gen->arena, store.stmts, store_number(gen, to, first, i, element));
	}
	over_strip(gen, &strip, block, &compute);
	over_strip(gen, &strip, block, &store);
	PUSH(gen->arena, gen->top.stmts,
	     stmt_for(gen->arena, at, number_ix(gen, 0), ix_size(gen->arena, n),
		      body_block(&strip)));
}

void random_emit(Gen *gen, NodeId id, StoreTarget to)
{
	Sizes *sizes = gen->program->sizes;
	Size n = node_elements(gen->lower, id), whole = size_floor(sizes, n, WORDS);
	Size strips = size_const(sizes, 0);
	if (lower_node(gen->lower, id)->normal)
		strips = size_floor(sizes, n, WORDS * STRIP);
	if (!size_is(sizes, strips, 0))
		emit_strips(gen, id, to, strips);
	Size done = size_scale(sizes, strips, STRIP);
	if (!size_same(done, whole))
		emit_blocks(gen, id, to, done, whole, NULL);
	if (!size_divides(sizes, size_const(sizes, WORDS), n))
		emit_blocks(gen, id, to, whole, size_ceil(sizes, n, WORDS), &n);
}
