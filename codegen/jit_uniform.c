/* void PREFIX__uniform_DTYPE(T *to, int64_t n, uint64_t seed, uint64_t key, WIDE bound): the random
 * numbers that parameters begin with, uniform in +-bound.
 *
 *   for b in 0..n/4: to[4*b], .. to[4*b + 3] = (2 (word >> 8) 2^-24 - 1) bound, of threefry4x32(key, b)
 *   then what is left of n
 *
 * Threefry-4x32-20 (Salmon et al., SC 2011); base/threefry.h has the definition that the numbers
 * must equal. It stands in a unit like the kernels', where GCC makes vectors of the loop. The text
 * of that unit depends on the options alone, so the cache has it for every program.
 */
#include "codegen/jit_uniform.h"

#include "codegen/jit_function.h"
#include "codegen/jit_value.h"
#include "codegen/jit_words.h"

enum { WORDS = 4 };

typedef struct Uniform {
	JitFunction f;
	Dtype dtype;
	Rvalue *to, *n, *bound;
	Rvalue *key[WORDS];
} Uniform;

static Rvalue *low_word(JitFunction *f, Rvalue *value)
{
	return jit_keep(f, jit_cast(f->jit, value, f->jit->u32));
}

static Rvalue *high_word(JitFunction *f, Rvalue *value)
{
	Jit *jit = f->jit;
	return low_word(
		f, jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, value, jit_long(jit, jit->u64, 32)));
}

/* By way of a signed integer: every processor converts vectors of those. */
static Rvalue *scaled(Uniform *u, Rvalue *word)
{
	JitFunction *f = &u->f;
	Jit *jit = f->jit;
	Type *type = jit->types[dtype_wide(u->dtype)];
	Rvalue *top = jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, word, jit_long(jit, jit->u32, 8));
	top = jit_keep(f, jit_cast(jit, top, jit->types[DTYPE_I32]));
	Rvalue *x = jit_binary(f, GCC_JIT_BINARY_OP_MULT, jit_cast(jit, top, type),
			       jit_double(jit, type, 0x1p-23));
	x = jit_binary(f, GCC_JIT_BINARY_OP_MINUS, x, jit_double(jit, type, 1));
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MULT, x, u->bound));
}

static void words_of(Uniform *u, Rvalue *block, Rvalue *x[WORDS])
{
	JitFunction *f = &u->f;
	Rvalue *zero = jit_long(f->jit, f->jit->u32, 0);
	Rvalue *counter = jit_keep(f, jit_cast(f->jit, block, f->jit->u64));
	x[0] = low_word(f, counter);
	x[1] = high_word(f, counter);
	x[2] = x[3] = zero;
	jit_threefry(f, u->key, x);
}

static Rvalue *place(Uniform *u, Rvalue *first, int j)
{
	Jit *jit = u->f.jit;
	return jit_keep(&u->f, jit_binary(&u->f, GCC_JIT_BINARY_OP_PLUS, first,
					  jit_long(jit, jit->i64, j)));
}

static void store(Uniform *u, Rvalue *at, Rvalue *word)
{
	Jit *jit = u->f.jit;
	Rvalue *value = jit_convert(&u->f, scaled(u, word), dtype_wide(u->dtype), u->dtype);
	jit_set(&u->f, gcc_jit_context_new_array_access(jit->ctxt, NULL, u->to, at), value);
}

static Rvalue *first_of(Uniform *u, Rvalue *block)
{
	Jit *jit = u->f.jit;
	return jit_keep(&u->f, jit_binary(&u->f, GCC_JIT_BINARY_OP_MULT, block,
					  jit_long(jit, jit->i64, WORDS)));
}

static void whole_blocks(Uniform *u, Rvalue *blocks)
{
	JitFunction *f = &u->f;
	Lvalue *b = jit_local(f, f->jit->i64, "b");
	JitLoop loop = jit_loop(f, b, jit_long(f->jit, f->jit->i64, 0), blocks, 1);
	Rvalue *x[WORDS], *block = gcc_jit_lvalue_as_rvalue(b), *first = first_of(u, block);
	words_of(u, block, x);
	for (int j = 0; j < WORDS; j++)
		store(u, place(u, first, j), x[j]);
	jit_end_loop(f, &loop);
}

static void last_block(Uniform *u, Rvalue *block)
{
	JitFunction *f = &u->f;
	Rvalue *x[WORDS], *first = first_of(u, block);
	words_of(u, block, x);
	for (int j = 0; j < WORDS - 1; j++) {
		Rvalue *at = place(u, first, j);
		JitBlock *after = jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_LT, at, u->n));
		store(u, at, x[j]);
		jit_end_if(f, after);
	}
}

static const char *parameters(Jit *jit, Dtype dtype, JitParam params[5])
{
	params[0] = (JitParam){gcc_jit_type_get_pointer(jit->types[dtype]), "to"};
	params[1] = (JitParam){jit->i64, "n"};
	params[2] = (JitParam){jit->u64, "seed"};
	params[3] = (JitParam){jit->u64, "key"};
	params[4] = (JitParam){jit->types[dtype_wide(dtype)], "bound"};
	return module_uniform_function(jit->module, dtype);
}

gcc_jit_function *jit_uniform_declare(Jit *jit, Dtype dtype)
{
	JitParam params[5];
	const char *name = parameters(jit, dtype, params);
	return jit_import(jit, jit->void_, name, params, 5);
}

void jit_uniform(Jit *jit, Dtype dtype)
{
	JitParam params[5];
	const char *name = parameters(jit, dtype, params);
	Uniform u = {.dtype = dtype};
	JitFunction *f = &u.f;
	u.f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->void_, name, params, 5);
	u.to = jit_param(f, 0);
	u.n = jit_param(f, 1);
	u.bound = jit_param(f, 4);
	for (int i = 0; i < 2; i++) {
		u.key[2 * i] = low_word(f, jit_param(f, 2 + i));
		u.key[2 * i + 1] = high_word(f, jit_param(f, 2 + i));
	}
	Rvalue *blocks = jit_keep(
		f, jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, u.n, jit_long(jit, jit->i64, 2)));
	whole_blocks(&u, blocks);
	last_block(&u, blocks);
	jit_return(f, NULL);
}
