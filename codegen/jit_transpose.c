/* A square of vectors transposed in registers: row r of the result is lane r of every row.
 *
 * n = 2^log vectors of n elements, k of them in 16 bytes. First log2(k) rounds of unpack, inside
 * every 16 bytes: with groups of 2^s rows behind us, position p of two neighbouring groups becomes
 * 2p and 2p + 1 of the joined one,
 *
 *   joined[2p] = low halves of a[p], b[p] interleaved, joined[2p + 1] = the high ones, in units of 2^s elements
 *
 * so that position p of a group of k rows holds columns p, k + p, 2k + p, ... of these rows, 16
 * bytes each. What is left is to transpose squares of 16-byte parts: none, two by two, or four by four
 * in two rounds. libgccjit has no shuffles: the instructions are written out.
 */
#include <stdio.h>

#include "codegen/jit_function.h"
#include "codegen/jit_kernel.h"

enum { ROWS_MAX = 16, PART = 16 };

typedef struct Square {
	KernelJit *k;
	Type *type;
	uint32_t n;
	int bytes; /* of an element */
	bool wide; /* three-operand instructions */
	Rvalue *rows[ROWS_MAX];
} Square;

bool jit_transpose_fits(const Jit *jit, Dtype dtype, uint32_t rows, uint32_t lanes)
{
	bool square = rows == lanes && rows > 1 && rows <= ROWS_MAX && (rows & (rows - 1)) == 0;
	/* a row is one segment, whose lanes are those of the wide type */
	bool one = (int)dtype_bytes(dtype_wide(dtype)) * (int)rows <= jit->vector_bytes;
	return square && one && dtype_bytes(dtype) * (int)rows >= PART;
}

/* code %2, %1, %0: AT&T order; two-operand instructions start from the first. */
static Rvalue *shuffle(Square *s, const char *code, Rvalue *a, Rvalue *b)
{
	JitFunction *f = &s->k->f;
	char text[64];
	snprintf(text, sizeof text, s->wide ? "%s%%2, %%1, %%0" : "%s%%2, %%0", code);
	Lvalue *result = jit_temp(f, s->type);
	gcc_jit_extended_asm *line = gcc_jit_block_add_extended_asm(f->block, f->location, text);
	/* vperm2f128 and the narrow unpacks know 16 registers where the others know 32 */
	bool all = (int)s->n * s->bytes != 2 * PART && s->bytes >= 4;
	gcc_jit_extended_asm_add_output_operand(line, NULL, all ? "=v" : "=x", result);
	gcc_jit_extended_asm_add_input_operand(line, NULL, s->wide ? (all ? "v" : "x") : "0", a);
	gcc_jit_extended_asm_add_input_operand(line, NULL, all ? "v" : "x", b);
	return gcc_jit_lvalue_as_rvalue(result);
}

/* One round over groups of `group` rows. */
static void unpack(Square *s, uint32_t group)
{
	static const char *const low[] = {"punpcklbw ", "punpcklwd ", "unpcklps ", "unpcklpd "};
	static const char *const high[] = {"punpckhbw ", "punpckhwd ", "unpckhps ", "unpckhpd "};
	Rvalue *joined[ROWS_MAX];
	char lo[16], hi[16];
	int unit = 0;
	while (1 << unit < s->bytes * (int)group)
		unit++;
	snprintf(lo, sizeof lo, "%s%s", s->wide ? "v" : "", low[unit]);
	snprintf(hi, sizeof hi, "%s%s", s->wide ? "v" : "", high[unit]);
	for (uint32_t base = 0; base < s->n; base += 2 * group)
		for (uint32_t p = 0; p < group; p++) {
			Rvalue *a = s->rows[base + p], *b = s->rows[base + group + p];
			joined[base + 2 * p] = shuffle(s, lo, a, b);
			joined[base + 2 * p + 1] = shuffle(s, hi, a, b);
		}
	for (uint32_t i = 0; i < s->n; i++)
		s->rows[i] = joined[i];
}

static void transpose_two(Square *s, uint32_t p, uint32_t k)
{
	Rvalue *a = s->rows[p], *b = s->rows[k + p];
	s->rows[p] = shuffle(s, "vperm2f128 $0x20, ", a, b);
	s->rows[k + p] = shuffle(s, "vperm2f128 $0x31, ", a, b);
}

static void transpose_four(Square *s, uint32_t p, uint32_t k)
{
	static const char even[] = "vshuff32x4 $0x88, ", odd[] = "vshuff32x4 $0xdd, ";
	Rvalue **r = s->rows;
	Rvalue *a = shuffle(s, even, r[p], r[k + p]), *b = shuffle(s, odd, r[p], r[k + p]);
	Rvalue *c = shuffle(s, even, r[2 * k + p], r[3 * k + p]);
	Rvalue *d = shuffle(s, odd, r[2 * k + p], r[3 * k + p]);
	r[p] = shuffle(s, even, a, c);
	r[k + p] = shuffle(s, even, b, d);
	r[2 * k + p] = shuffle(s, odd, a, c);
	r[3 * k + p] = shuffle(s, odd, b, d);
}

static void transpose_square(Square *s)
{
	uint32_t k = (uint32_t)(PART / s->bytes), parts = s->n / k;
	for (uint32_t group = 1; group < k; group *= 2)
		unpack(s, group);
	for (uint32_t p = 0; p < k && parts > 1; p++)
		parts == 2 ? transpose_two(s, p, k) : transpose_four(s, p, k);
}

Rvalue *jit_transposed_row(KernelJit *k, LocalId local, int64_t row)
{
	Registers *r = &k->registers[local];
	const KernelLocal *l = &k->kernel->locals[local];
	REQUIRE(r->used && r->nsegments == 1 && row >= 0 && row < l->extent[0]);
	if (r->transposed)
		return r->transposed[row];
	Square s = {.k = k, .n = l->extent[0], .bytes = dtype_bytes(l->dtype)};
	s.type = jit_vector_type(k->f.jit, l->dtype, __builtin_ctz(l->extent[0]));
	s.wide = k->f.jit->vector_bytes > PART;
	for (uint32_t i = 0; i < s.n; i++)
		s.rows[i] = gcc_jit_lvalue_as_rvalue(r->segments[i]);
	transpose_square(&s);
	r->transposed = ARENA_ARRAY(k->f.jit->arena, Rvalue *, s.n);
	for (uint32_t i = 0; i < s.n; i++)
		r->transposed[i] = s.rows[i];
	return r->transposed[row];
}
