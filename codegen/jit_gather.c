/* Lanes of a local that each have an index of their own.
 *
 *   vector lane in 0..16: half[lane] = acc[lane/8, lane%8] + acc[lane/8, lane%8 + 8]
 *     vshuff32x4 $0x44, acc_1, acc_0     16-byte parts 0 and 1 of both
 *     vshuff32x4 $0xee, acc_1, acc_0     parts 2 and 3
 *
 * Sums of lanes are added up so, several elements at a time (lower/tile_lane_tree.c). One instruction has
 * them where the first half of what it makes comes from one vector and the other from another:
 * whole parts, or within all parts elements at the same places of each. Any others, and those of a
 * local in memory, are read one by one.
 */
#include <stdio.h>

#include "codegen/jit_function.h"
#include "codegen/jit_lanes.h"

enum { PART = 16, LANES_MOST = 1 << VECTOR_LOGS };

typedef struct Gather {
	Lanes *l;
	Dtype dtype;
	int n, part; /* lanes; those of a part */
	RegisterLane from[LANES_MOST];
	Lvalue *a, *b; /* that both halves come from */
} Gather;

static void find_lanes(Gather *g, const Value *value)
{
	Lanes *l = g->l;
	for (int i = 0; i < g->n; i++) {
		l->k->at[l->loop->iter] = l->at + i;
		g->from[i] = jit_register_lane(l->k, value);
	}
	l->k->at[l->loop->iter] = l->at;
}

/* Is lane i the first or the second vector's, whole vectors both? */
static bool comes_from(const Gather *g, int i, bool second)
{
	return g->from[i].segment == (second ? g->b : g->a) && g->from[i].log == g->l->log;
}

/* The four bits (two where there are two parts) of vshuff32x4 that name a part of each vector;
 * -1: these are no parts. */
static int parts_code(const Gather *g)
{
	int nparts = g->n / g->part, code = 0;
	for (int i = 0; i < g->n; i++) {
		int64_t first = g->from[i - i % g->part].lane;
		if (!comes_from(g, i, i >= g->n / 2) || first % g->part != 0 ||
		    g->from[i].lane != first + i % g->part)
			return -1;
		/* vperm2f128 counts the parts of both vectors */
		int64_t part = first / g->part + (nparts == 2 && i >= g->n / 2 ? 2 : 0);
		int bits = nparts == 2 ? 4 : 2;
		if (i % g->part == 0)
			code |= (int)part << (i / g->part * bits);
	}
	return nparts == 2 || nparts == 4 ? code : -1;
}

/* The bits of shufps or shufpd: in each part the first half of its lanes from the first vector; -1:
 * the lanes are others. */
static int within_code(const Gather *g)
{
	int code = 0, bits = g->part == 4 ? 2 : 1;
	for (int i = 0; i < g->n; i++) {
		int at = i % g->part;
		int64_t place = g->from[i].lane - (i - at);
		if (!comes_from(g, i, at >= g->part / 2) || place < 0 || place >= g->part ||
		    (bits == 2 && place != g->from[at].lane))
			return -1;
		if (bits == 1 || i < g->part)
			code |= (int)place << (bits == 1 ? i : at * bits);
	}
	return code;
}

/* code %2, %1, %0: AT&T order. */
static Rvalue *shuffle(const Gather *g, const char *name, int code, bool few)
{
	JitFunction *f = &g->l->k->f;
	bool wide = f->jit->vector_bytes > PART;
	const char *text = arena_printf(f->jit->arena, "%s%s $%d, %%2, %s%%0", wide ? "v" : "",
					name, code, wide ? "%1, " : "");
	Lvalue *result = jit_temp(f, jit_vector_type(f->jit, g->dtype, g->l->log));
	gcc_jit_extended_asm *line = gcc_jit_block_add_extended_asm(f->block, f->location, text);
	gcc_jit_extended_asm_add_output_operand(line, NULL, few ? "=x" : "=v", result);
	gcc_jit_extended_asm_add_input_operand(line, NULL, !wide ? "0" : few ? "x" : "v",
					       gcc_jit_lvalue_as_rvalue(g->a));
	gcc_jit_extended_asm_add_input_operand(line, NULL, few ? "x" : "v",
					       gcc_jit_lvalue_as_rvalue(g->b));
	return gcc_jit_lvalue_as_rvalue(result);
}

/* NULL: no instruction has them. */
static Rvalue *shuffled(Gather *g, const Value *value)
{
	if (g->l->log == 0 || g->n < g->part)
		return NULL;
	find_lanes(g, value);
	g->a = g->from[0].segment;
	int parts, within;
	g->b = g->from[g->n - 1].segment;
	parts = parts_code(g);
	if (parts >= 0) /* vperm2f128 knows 16 registers */
		return shuffle(g, g->n / g->part == 2 ? "perm2f128" : "shuff32x4", parts,
			       g->n / g->part == 2);
	within = within_code(g);
	return within >= 0 ? shuffle(g, g->part == 4 ? "shufps" : "shufpd", within, false) : NULL;
}

Rvalue *jit_gathered_lanes(Lanes *l, const Value *value)
{
	KernelJit *k = l->k;
	Gather g = {.l = l,
		    .dtype = value->dtype,
		    .n = 1 << l->log,
		    .part = PART / dtype_bytes(value->dtype)};
	bool registers = k->registers[value->local].used;
	Rvalue *elements[LANES_MOST], *vector = registers ? shuffled(&g, value) : NULL;
	if (vector)
		return vector;
	for (int i = 0; i < g.n; i++) {
		k->at[l->loop->iter] = l->at + i;
		elements[i] = registers ? jit_vector_element(k, value)
					: gcc_jit_lvalue_as_rvalue(jit_kernel_element(
						  k, value->local, value->ixs, value->nixs));
		elements[i] = jit_keep(&k->f, elements[i]);
	}
	k->at[l->loop->iter] = l->at;
	return jit_lanes_of(k, value->dtype, l->log, elements);
}
