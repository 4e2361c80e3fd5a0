/* Streams of random numbers, each element for itself.
 *
 *   words of element i   threefry4x32(key, i/4) with the key (seed, name), as in base/threefry.h
 *   uniform              word i%4, in [0, 1)
 *   normal               words 0 and 1 are a pair, 2 and 3 another (Box-Muller):
 *                        r = sqrt(-2 log(1 - u0)), a = 2 pi u1: r cos a, r sin a
 */
#include <string.h>
#include <xxhash.h>

#include "lower/naive/builder.h"

enum { WORDS = 4 };

static const Value *rotated(const Builder *b, const Value *words)
{
	return value_op(b->arena, OP_TURN, DTYPE_U4X32, &words, 1);
}

static const Value *zipped(const Builder *b, const Value *first, const Value *second)
{
	return value_op(b->arena, OP_ZIP, DTYPE_U4X32, (const Value *[]){first, second}, 2);
}

/* (seed low, seed high, name low, name high) */
static const Value *stream_key(Builder *b, const Node *node)
{
	Scalar hash = {.i = (int64_t)XXH64(node->place, strlen(node->place), 0)};
	hash = scalar_convert(hash, DTYPE_I64, DTYPE_U4X32);
	const Value *name = value_const(b->arena, DTYPE_U4X32, hash);
	const Ix *none = NULL;
	const Value *seed = element_at(b, node->args[0], &none);
	return zipped(b, zipped(b, seed, name), zipped(b, rotated(b, seed), rotated(b, name)));
}

/* The number of each word; words are a local's. */
static void uniforms_of(const Builder *b, const Value *words, const Value *numbers[WORDS])
{
	for (int i = 0; i < WORDS; i++) {
		numbers[i] = value_cast(b->arena, DTYPE_F32, words);
		words = rotated(b, words);
	}
}

static const Value *f32(const Builder *b, double number)
{
	return value_number(b->arena, DTYPE_F32, number);
}

static const Value *apply(const Builder *b, Op op, const Value *x, const Value *y)
{
	return value_op(b->arena, op, DTYPE_F32, (const Value *[]){x, y}, (uint32_t)op_arity(op));
}

static void normals_of(const Builder *b, const Value *numbers[WORDS])
{
	for (int i = 0; i < WORDS; i += 2) {
		const Value *rest = apply(b, OP_SUB, f32(b, 1), numbers[i]);
		const Value *square = apply(b, OP_MUL, apply(b, OP_LOG, rest, NULL), f32(b, -2));
		const Value *radius = apply(b, OP_SQRT, square, NULL);
		const Value *angle =
			apply(b, OP_MUL, numbers[i + 1], f32(b, 6.28318530717958647692));
		numbers[i] = apply(b, OP_MUL, radius, apply(b, OP_COS, angle, NULL));
		numbers[i + 1] = apply(b, OP_MUL, radius, apply(b, OP_SIN, angle, NULL));
	}
}

static const Value *in_local(Builder *b, Body *body, const char *name, const Value *value)
{
	LocalId local = build_local(b, name, value->dtype);
	build_add(b, body, stmt_local(b->arena, local, value));
	return build_read(b, local);
}

const Value *stream_number(Builder *b, NodeId id, const Ix *at, Body *body)
{
	const Node *node = tables_node(b->t, id);
	const Ix *four = build_const(b, WORDS);
	const Ix *block = ix_binary(b->program, IX_DIV, at, four);
	const Value *args[] = {stream_key(b, node), value_index(b->arena, DTYPE_U4X32, block)};
	const Value *words = value_op(b->arena, OP_THREEFRY, DTYPE_U4X32, args, 2);
	const Value *numbers[WORDS];
	uniforms_of(b, in_local(b, body, "words", words), numbers);
	if (node->normal)
		normals_of(b, numbers);
	const Ix *which = ix_binary(b->program, IX_MOD, at, four);
	const Value *value = numbers[0];
	for (int i = 1; i < WORDS; i++) {
		const Value *is =
			apply(b, OP_EQ, value_index(b->arena, DTYPE_F32, which), f32(b, i));
		const Value *pick[] = {is, numbers[i], value};
		value = value_op(b->arena, OP_WHERE, DTYPE_F32, pick, 3);
	}
	return value;
}

void uniforms_emit(Builder *b, NodeId id, BufferId to)
{
	NodeId from = tables_node(b->t, id)->args[0];
	IterVar e;
	Body body = {0};
	const Ix *at = build_flat(b, &e);
	const Value *numbers[WORDS];
	uniforms_of(b, in_local(b, &body, "words", element_flat(b, from, at)), numbers);
	for (int i = 0; i < WORDS; i++) {
		const Ix *first = ix_mul(b->program, at, build_const(b, WORDS));
		build_add(b, &body,
			  build_store(b, to, ix_add(b->program, first, build_const(b, i)), OP_NONE,
				      numbers[i]));
	}
	build_wrap_flat(b, e, tables_elements(b->t, from), &body);
}
