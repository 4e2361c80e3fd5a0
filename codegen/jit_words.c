/* Random words: Threefry-4x32-20 (base/threefry.h has the definition) as straight code over four
 * unsigned words, without memory or branches, so that a loop over independent counters becomes one
 * over vectors of them.
 */
#include "codegen/jit_words.h"

#include "base/threefry.h"
#include "codegen/jit_function.h"

static Rvalue *plus(JitFunction *f, Rvalue *a, Rvalue *b)
{
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_PLUS, a, b));
}

/* a += b; b = rotate(b, bits) ^ a */
static void mix(JitFunction *f, Rvalue **a, Rvalue **b, int bits)
{
	Jit *jit = f->jit;
	*a = plus(f, *a, *b);
	Rvalue *left = jit_binary(f, GCC_JIT_BINARY_OP_LSHIFT, *b, jit_long(jit, jit->u32, bits));
	Rvalue *right =
		jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, *b, jit_long(jit, jit->u32, 32 - bits));
	Rvalue *rotated = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_OR, left, right);
	*b = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, rotated, *a));
}

/* x[0] and x[2] are mixed with x[1] and x[3] in one round, with x[3] and x[1] in the next; behind
 * every fourth round another key is added. */
void jit_threefry(JitFunction *f, Rvalue *const key[4], Rvalue *x[4])
{
	Jit *jit = f->jit;
	Rvalue *parity = jit_long(jit, jit->u32, 0x1BD11BDA);
	for (int i = 0; i < 4; i++) {
		parity = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, parity, key[i]));
		x[i] = plus(f, x[i], key[i]);
	}
	Rvalue *keys[5] = {key[0], key[1], key[2], key[3], parity};
	for (int round = 0; round < THREEFRY_ROUNDS; round++) {
		const int *bits = threefry_rotations[round % THREEFRY_TURNS];
		int other = round % 2 ? 3 : 1;
		mix(f, &x[0], &x[other], bits[0]);
		mix(f, &x[2], &x[4 - other], bits[1]);
		if (round % 4 != 3)
			continue;
		int turn = round / 4 + 1;
		for (int i = 0; i < 4; i++)
			x[i] = plus(f, x[i], keys[(turn + i) % 5]);
		x[3] = plus(f, x[3], jit_long(jit, jit->u32, turn));
	}
}

static Rvalue *word(JitFunction *f, Rvalue *words, int i)
{
	return jit_keep(f, gcc_jit_rvalue_access_field(words, f->location, f->jit->words[i]));
}

/* Set word by word: the variable is no memory then. */
static Rvalue *together(JitFunction *f, Rvalue *const x[4])
{
	Jit *jit = f->jit;
	char name[16];
	snprintf(name, sizeof name, "words%u", f->ntemps++);
	Lvalue *to = jit_local(f, jit->types[DTYPE_U4X32], name);
	for (int i = 0; i < 4; i++)
		jit_set(f, gcc_jit_lvalue_access_field(to, f->location, jit->words[i]), x[i]);
	return gcc_jit_lvalue_as_rvalue(to);
}

Rvalue *jit_words_op(JitFunction *f, Op op, Rvalue *const *args)
{
	Rvalue *x[4], *y[4];
	for (int i = 0; i < 4; i++) {
		x[i] = word(f, args[0], i);
		y[i] = op_arity(op) > 1 ? word(f, args[1], i) : NULL;
	}
	if (op == OP_ROTATE)
		return together(f, (Rvalue *[]){x[1], x[2], x[3], x[0]});
	if (op == OP_ZIP)
		return together(f, (Rvalue *[]){x[0], y[0], x[1], y[1]});
	REQUIRE(op == OP_THREEFRY);
	jit_threefry(f, x, y);
	return together(f, y);
}

Rvalue *jit_words_of_i32(JitFunction *f, Rvalue *integer)
{
	Jit *jit = f->jit;
	Rvalue *sign = jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, integer,
				  jit_long(jit, jit->types[DTYPE_I32], 31));
	Rvalue *none = jit_long(jit, jit->u32, 0);
	return together(f, (Rvalue *[]){jit_keep(f, jit_cast(jit, integer, jit->u32)),
					jit_keep(f, jit_cast(jit, jit_keep(f, sign), jit->u32)),
					none, none});
}

Rvalue *jit_words_of(JitFunction *f, Rvalue *integer)
{
	Jit *jit = f->jit;
	Rvalue *bits = jit_keep(f, jit_cast(jit, integer, jit->u64));
	Rvalue *high = jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, bits, jit_long(jit, jit->u64, 32));
	Rvalue *none = jit_long(jit, jit->u32, 0);
	return together(f, (Rvalue *[]){jit_keep(f, jit_cast(jit, bits, jit->u32)),
					jit_keep(f, jit_cast(jit, high, jit->u32)), none, none});
}

/* By way of a signed integer: every processor converts vectors of those. */
Rvalue *jit_words_uniform(JitFunction *f, Rvalue *words)
{
	Jit *jit = f->jit;
	Rvalue *top = jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, word(f, words, 0),
				 jit_long(jit, jit->u32, 8));
	Rvalue *number = jit_cast(jit, jit_keep(f, jit_cast(jit, top, jit->types[DTYPE_I32])),
				  jit->types[DTYPE_F32]);
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MULT, number,
				      jit_double(jit, jit->types[DTYPE_F32], 0x1p-24)));
}

Rvalue *jit_words_constant(Jit *jit, Scalar constant)
{
	Rvalue *words[4];
	for (int i = 0; i < 4; i++)
		words[i] = jit_long(jit, jit->u32, (int64_t)constant.w[i]);
	return gcc_jit_context_new_struct_constructor(jit->ctxt, NULL, jit->types[DTYPE_U4X32], 4,
						      jit->words, words);
}
