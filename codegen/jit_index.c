/* Sizes, indices and the elements that they name, as expressions of a kernel's function.
 *
 * In a kernel with unrolled loops the address of an element is parted into what changes when the
 * program runs and a constant:
 *
 *   x[(i + 2)*s + j*4 + 3], j unrolled, now 1     ->    (&x[(i + 2)*s])[7]
 *
 * The changing part is made once in a run of straight code and shared by all elements that differ in
 * the constant only: the processor adds that for nothing, while the compiler, left with whole sums,
 * makes an addition for each. What `fixed` and `at` of the KernelJit say decides which iterators
 * are constants.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_kernel.h"

static Rvalue *size_value(KernelJit *k, Size size)
{
	int64_t constant;
	if (size_is_const(k->program->sizes, size, &constant))
		return jit_long(k->f.jit, k->f.jit->i64, constant);
	for (size_t i = 0; i < k->use->sizes.n; i++)
		if (size_same(k->use->sizes.at[i], size))
			return k->sizes[i];
	BUG("a size is not in the kernel's list");
}

static bool is_constant(const KernelJit *k, const Ix *ix, int64_t *value)
{
	return ix->kind == IX_SIZE && size_is_const(k->program->sizes, ix->size, value);
}

/* ... by a power of two: a shift rounds down. */
static Rvalue *power_divide(KernelJit *k, IxKind kind, Rvalue *a, int64_t by)
{
	Type *i64 = k->f.jit->i64;
	bool rest = kind == IX_MOD;
	return jit_keep(&k->f, jit_binary(&k->f,
					  rest ? GCC_JIT_BINARY_OP_BITWISE_AND
					       : GCC_JIT_BINARY_OP_RSHIFT,
					  a,
					  jit_long(k->f.jit, i64,
						   rest ? by - 1 : __builtin_ctzll((uint64_t)by))));
}

/* Floor division or its remainder. A divisor that is no constant is kept from trapping: loops over
 * empty extents never use the result. */
static Rvalue *divide(KernelJit *k, const Ix *ix, Rvalue *a, Rvalue *b)
{
	JitFunction *f = &k->f;
	Rvalue *zero = jit_long(f->jit, f->jit->i64, 0), *one = jit_long(f->jit, f->jit->i64, 1);
	int64_t by = 0;
	bool constant = is_constant(k, ix->b, &by) && by > 0;
	if (constant && (by & (by - 1)) == 0)
		return power_divide(k, ix->kind, a, by);
	if (!constant)
		b = jit_select(f, jit_compare(f, GCC_JIT_COMPARISON_EQ, b, zero), one, b);
	Rvalue *rest = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MODULO, a, b));
	Rvalue *below = jit_compare(f, GCC_JIT_COMPARISON_LT, rest, zero);
	if (!constant) {
		Rvalue *negative = jit_compare(f, GCC_JIT_COMPARISON_LT, b, zero);
		Rvalue *some = jit_compare(f, GCC_JIT_COMPARISON_NE, rest, zero);
		below = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_XOR, below, negative);
		below = jit_binary(f, GCC_JIT_BINARY_OP_BITWISE_AND, below, some);
	}
	if (ix->kind == IX_MOD) {
		Rvalue *up = jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_PLUS, rest, b));
		return jit_select(f, below, up, rest);
	}
	Rvalue *down = jit_cast(f->jit, below, f->jit->i64);
	Rvalue *quotient = jit_binary(f, GCC_JIT_BINARY_OP_DIVIDE, a, b);
	return jit_keep(f, jit_binary(f, GCC_JIT_BINARY_OP_MINUS, quotient, down));
}

Rvalue *jit_kernel_ix(KernelJit *k, const Ix *ix)
{
	JitFunction *f = &k->f;
	switch (ix->kind) {
	case IX_SIZE: return size_value(k, ix->size);
	case IX_ITER:
		if (k->fixed[ix->iter])
			return jit_long(f->jit, f->jit->i64, k->at[ix->iter]);
		return gcc_jit_lvalue_as_rvalue(k->iters[ix->iter]);
	case IX_VALUE:
		return jit_convert(f, jit_kernel_value(k, ix->value), ix->value->dtype, DTYPE_I64);
	case IX_ADD:
	case IX_MUL: {
		Rvalue *a = jit_kernel_ix(k, ix->a);
		return jit_binary(
			f, ix->kind == IX_ADD ? GCC_JIT_BINARY_OP_PLUS : GCC_JIT_BINARY_OP_MULT, a,
			jit_kernel_ix(k, ix->b));
	}
	default: break;
	}
	Rvalue *a = jit_keep(f, jit_kernel_ix(k, ix->a)), *b = jit_keep(f, jit_kernel_ix(k, ix->b));
	if (ix->kind == IX_DIV || ix->kind == IX_MOD)
		return divide(k, ix, a, b);
	enum gcc_jit_comparison less =
		ix->kind == IX_MIN ? GCC_JIT_COMPARISON_LT : GCC_JIT_COMPARISON_GT;
	return jit_select(f, jit_compare(f, less, a, b), a, b);
}

Lvalue *jit_kernel_element(KernelJit *k, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	const KernelLocal *l = &k->kernel->locals[local];
	if (k->registers[local].used)
		return jit_vector_scalar(k, local, ixs, nixs);
	if (l->rank == 0)
		return k->locals[local];
	JitFunction *f = &k->f;
	Rvalue *at = jit_kernel_ix(k, ixs[0]);
	for (uint32_t i = 1; i < nixs; i++) {
		Rvalue *extent = jit_long(f->jit, f->jit->i64, l->extent[i]);
		at = jit_binary(f, GCC_JIT_BINARY_OP_MULT, at, extent);
		at = jit_binary(f, GCC_JIT_BINARY_OP_PLUS, at, jit_kernel_ix(k, ixs[i]));
	}
	return gcc_jit_context_new_array_access(f->jit->ctxt, f->location,
						gcc_jit_lvalue_as_rvalue(k->locals[local]), at);
}

/* An index as a part that changes (NULL: none) and a constant: elements whose indices differ in
 * iterators that are unrolled share an address. */
typedef struct Address {
	Rvalue *base;
	int64_t offset;
} Address;

static Address address_of(KernelJit *k, const Ix *ix);

static Rvalue *plus(KernelJit *k, Rvalue *a, Rvalue *b)
{
	return a && b ? jit_binary(&k->f, GCC_JIT_BINARY_OP_PLUS, a, b) : a ? a : b;
}

static Address scaled_address(KernelJit *k, const Ix *ix)
{
	Address a = address_of(k, ix->a);
	int64_t by;
	if (is_constant(k, ix->b, &by)) {
		Rvalue *factor = jit_long(k->f.jit, k->f.jit->i64, by);
		Rvalue *base =
			a.base ? jit_binary(&k->f, GCC_JIT_BINARY_OP_MULT, a.base, factor) : NULL;
		return (Address){base, a.offset * by};
	}
	if (!a.base && a.offset == 0)
		return a;
	Rvalue *offset = a.offset || !a.base ? jit_long(k->f.jit, k->f.jit->i64, a.offset) : NULL;
	Rvalue *all = plus(k, a.base, offset);
	return (Address){jit_binary(&k->f, GCC_JIT_BINARY_OP_MULT, all, jit_kernel_ix(k, ix->b)),
			 0};
}

static Address address_of(KernelJit *k, const Ix *ix)
{
	int64_t constant;
	if (is_constant(k, ix, &constant))
		return (Address){NULL, constant};
	if (ix->kind == IX_ITER && k->fixed[ix->iter])
		return (Address){NULL, k->at[ix->iter]};
	if (ix->kind == IX_MUL)
		return scaled_address(k, ix);
	if (ix->kind != IX_ADD)
		return (Address){jit_kernel_ix(k, ix), 0};
	Address a = address_of(k, ix->a), b = address_of(k, ix->b);
	return (Address){plus(k, a.base, b.base), a.offset + b.offset};
}

/* The constant part of address_of. */
static int64_t offset_of(const KernelJit *k, const Ix *ix)
{
	int64_t constant;
	if (is_constant(k, ix, &constant))
		return constant;
	if (ix->kind == IX_ITER && k->fixed[ix->iter])
		return k->at[ix->iter];
	if (ix->kind == IX_MUL)
		return is_constant(k, ix->b, &constant) ? offset_of(k, ix->a) * constant : 0;
	return ix->kind == IX_ADD ? offset_of(k, ix->a) + offset_of(k, ix->b) : 0;
}

static bool mentions_fixed(const KernelJit *k, const Ix *ix)
{
	if (ix->kind == IX_ITER)
		return k->fixed[ix->iter];
	return ix->kind == IX_VALUE || (ix->a && mentions_fixed(k, ix->a)) ||
	       (ix->b && mentions_fixed(k, ix->b));
}

/* Does the changing part of address_of depend on where unrolled iterators stand? */
static bool moves_with_fixed(const KernelJit *k, const Ix *ix)
{
	int64_t constant;
	if (ix->kind == IX_SIZE || ix->kind == IX_ITER)
		return false;
	if (ix->kind == IX_ADD)
		return moves_with_fixed(k, ix->a) || moves_with_fixed(k, ix->b);
	if (ix->kind == IX_MUL && is_constant(k, ix->b, &constant))
		return moves_with_fixed(k, ix->a);
	return mentions_fixed(k, ix);
}

/* Where the changing part of an index points: at the element, or at the byte of two of them. */
static Rvalue *base_address(KernelJit *k, BufferId buffer, const Ix *ix, bool packed)
{
	uint32_t buffer_at = kernel_use_buffer(k->use, buffer);
	Rvalue *base = k->buffers[buffer_at];
	uint64_t *known =
		moves_with_fixed(k, ix) ? NULL : pointer_map_at(&k->addresses[buffer_at], ix);
	if (known && *known)
		return (Rvalue *)(uintptr_t)*known;
	Rvalue *at = address_of(k, ix).base;
	if (at && packed)
		at = jit_binary(&k->f, GCC_JIT_BINARY_OP_RSHIFT, at,
				jit_long(k->f.jit, k->f.jit->i64, 1));
	if (at)
		base = jit_keep(&k->f, gcc_jit_lvalue_get_address(
					       gcc_jit_context_new_array_access(
						       k->f.jit->ctxt, k->f.location, base, at),
					       NULL));
	if (known)
		*known = (uint64_t)(uintptr_t)base;
	return base;
}

static Lvalue *element_at(KernelJit *k, Rvalue *base, int64_t offset)
{
	return gcc_jit_context_new_array_access(k->f.jit->ctxt, k->f.location, base,
						jit_long(k->f.jit, k->f.jit->i64, offset));
}

Lvalue *jit_buffer_element(KernelJit *k, BufferId buffer, const Ix *ix)
{
	if (k->scheduled)
		return element_at(k, base_address(k, buffer, ix, false), offset_of(k, ix));
	Rvalue *base = k->buffers[kernel_use_buffer(k->use, buffer)];
	return gcc_jit_context_new_array_access(k->f.jit->ctxt, k->f.location, base,
						jit_kernel_ix(k, ix));
}

static Dtype stored(const KernelJit *k, const Value *load)
{
	return k->program->buffers.at[load->buffer].dtype;
}

bool jit_is_packed(const KernelJit *k, const Value *value)
{
	return value->kind == VALUE_LOAD && dtype_is_packed(stored(k, value));
}

Rvalue *jit_packed_element(KernelJit *k, const Value *load)
{
	JitHalf half = jit_packed_byte(k, load->buffer, load->ix, 0);
	return packed_element(&k->f, stored(k, load), &half);
}

bool jit_packed_word(KernelJit *k, const Value *load, JitWord *word)
{
	const Sizes *sizes = k->program->sizes;
	int64_t constant;
	if (!k->scheduled || ix_multiple_rest(&k->multiples, load->ix, &constant) % PACKED_WORD != 0 ||
	    size_content(sizes, k->program->buffers.at[load->buffer].elements) % PACKED_WORD != 0)
		return false;
	Rvalue *base = base_address(k, load->buffer, load->ix, true);
	word->place = (int)(constant & (PACKED_WORD - 1));
	word->first = element_at(k, base, (constant - word->place) >> 1);
	return true;
}

JitHalf jit_packed_byte(KernelJit *k, BufferId buffer, const Ix *ix, int64_t more)
{
	JitFunction *f = &k->f;
	Jit *jit = f->jit;
	int64_t constant;
	if (k->scheduled && ix_multiple_rest(&k->multiples, ix, &constant) % 2 == 0) {
		constant += more;
		Rvalue *base = base_address(k, buffer, ix, true);
		return (JitHalf){.byte = element_at(k, base, constant >> 1), .odd = constant & 1};
	}
	Rvalue *at = jit_binary(f, GCC_JIT_BINARY_OP_PLUS, jit_kernel_ix(k, ix),
				jit_long(jit, jit->i64, more));
	JitHalf half = {.at = jit_keep(f, at)};
	Rvalue *byte =
		jit_binary(f, GCC_JIT_BINARY_OP_RSHIFT, half.at, jit_long(jit, jit->i64, 1));
	half.byte = gcc_jit_context_new_array_access(
		jit->ctxt, f->location, k->buffers[kernel_use_buffer(k->use, buffer)], byte);
	return half;
}
