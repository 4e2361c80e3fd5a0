/* Streams of random numbers, four of a hash.
 *
 *   words of block b   threefry4x32(key, b) with the key (seed, name), as in base/threefry.h
 *   uniform            word i of a block, in [0, 1)
 *   normal             words 0 and 1 are a pair, 2 and 3 another (Box-Muller):
 *                      r = sqrt(-2 log(1 - u0)), a = 2 pi u1: r cos a, r sin a
 *
 * Element i of a stream is made of word i mod 4 of block i div 4: the same whatever the shape around it.
 */
#include <string.h>
#include <xxhash.h>

#include "loops/build.h"
#include "lower/gen/expression.h"

static const Value *rotated(Arena *arena, const Value *words)
{
	return value_op(arena, OP_ROTATE, DTYPE_U4X32, &words, 1);
}

/* (seed low, seed high, name low, name high) */
static const Value *stream_key(const NodeReader *r, const Node *node)
{
	Arena *arena = r->program->arena;
	Scalar hash = {.i = (int64_t)XXH64(node->place, strlen(node->place), 0)};
	hash = scalar_convert(hash, DTYPE_I64, DTYPE_U4X32);
	const Value *name = value_const(arena, DTYPE_U4X32, hash);
	const Ix *none = NULL;
	const Value *seed = r->read(r->of, node->args[0], &none);
	return value_binary(
		arena, OP_ZIP, value_binary(arena, OP_ZIP, seed, name),
		value_binary(arena, OP_ZIP, rotated(arena, seed), rotated(arena, name)));
}

void words_uniform(Arena *arena, const Value *words, const Value *numbers[RANDOM_WORDS])
{
	for (int i = 0; i < RANDOM_WORDS; i++) {
		numbers[i] = value_cast(arena, DTYPE_F32, words);
		words = rotated(arena, words);
	}
}

static const Value *f32(Arena *arena, double number)
{
	return value_number(arena, DTYPE_F32, number);
}

static const Value *apply(Arena *arena, Op op, const Value *a, const Value *b)
{
	const Value *args[] = {a, b};
	return value_op(arena, op, DTYPE_F32, args, (uint32_t)op_arity(op));
}

static void normals_of(const NodeReader *r, const Value *numbers[RANDOM_WORDS])
{
	Arena *arena = r->program->arena;
	for (int i = 0; i < RANDOM_WORDS; i += 2) {
		const Value *rest = apply(arena, OP_SUB, f32(arena, 1), numbers[i]);
		const Value *square =
			apply(arena, OP_MUL, apply(arena, OP_LOG, rest, NULL), f32(arena, -2));
		const Value *radius = r->hold(r->of, r->locals, "radius",
					      apply(arena, OP_SQRT, square, NULL));
		/* no local: that it is in range is seen at the functions (loops/vector/fast_path.c) */
		const Value *angle =
			apply(arena, OP_MUL, numbers[i + 1], f32(arena, 6.28318530717958647692));
		numbers[i] = apply(arena, OP_MUL, radius, apply(arena, OP_COS, angle, NULL));
		numbers[i + 1] = apply(arena, OP_MUL, radius, apply(arena, OP_SIN, angle, NULL));
	}
}

void expression_of_block(const NodeReader *r, NodeId stream, const Ix *block,
			 const Value *numbers[RANDOM_WORDS])
{
	const Node *node = tables_node(r->tables, stream);
	Arena *arena = r->program->arena;
	const Value *args[] = {stream_key(r, node), value_index(arena, DTYPE_U4X32, block)};
	const Value *words = value_op(arena, OP_THREEFRY, DTYPE_U4X32, args, 2);
	words_uniform(arena, r->hold(r->of, r->locals, "words", words), numbers);
	if (node->normal)
		normals_of(r, numbers);
}

const Value *expression_of_stream(const NodeReader *r, NodeId stream, const Ix *at)
{
	Program *program = r->program;
	Arena *arena = program->arena;
	const Ix *four = ix_const(program, RANDOM_WORDS);
	const Value *numbers[RANDOM_WORDS], *value;
	expression_of_block(r, stream, ix_binary(program, IX_DIV, at, four), numbers);
	value = numbers[0];
	at = ix_binary(program, IX_MOD, at, four);
	for (int i = 1; i < RANDOM_WORDS; i++) {
		const Value *is =
			apply(arena, OP_EQ, value_index(arena, DTYPE_F32, at), f32(arena, i));
		value = value_where(arena, is, numbers[i], value);
	}
	return value;
}
