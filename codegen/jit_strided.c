/* Lanes that are no neighbours: strided elements of a buffer, as the elements of a transposed convolution
 * are: y[o*4096 + 2*(x + lane)]; and of a local, where each has an index of its own (below).
 *
 * Elements are loaded and stored one by one. AVX-512 stores those of strides up to four as vectors of which
 * every second (third, fourth) lane is written:
 *
 *   stride 2: lanes 0 0 1 1 .. 7 7 at y, lanes 8 8 9 9 .. 15 15 at y + 16, masked by 0x5555
 */
#include "codegen/jit_function.h"
#include "codegen/jit_lanes.h"
#include "codegen/jit_simd.h"
#include "loops/linear.h"
#include "loops/walk.h"

enum { LANES_MOST = 1 << VECTOR_LOGS };

int64_t jit_lanes_strided(const Lanes *l, const Ix *ix)
{
	int64_t stride = 1;
	Program *program = (Program *)l->k->program;
	if (l->loop->loop == LOOP_VECTOR && ix_uses(ix, l->loop->iter)) {
		Size by = ix_stride(program, ix, l->loop->iter);
		REQUIRE(size_is_const(program->sizes, by, &stride));
	}
	return stride;
}

static int lanes_there(const Lanes *l) { return l->mask ? (int)l->count : 1 << l->log; }

static Lvalue *lvalue_of_lane(Lanes *l, BufferId buffer, const Ix *ix, int lane)
{
	KernelJit *k = l->k;
	k->at[l->loop->iter] = l->at + lane;
	Lvalue *element = jit_buffer_element(k, buffer, ix);
	k->at[l->loop->iter] = l->at;
	return element;
}

static Rvalue *element_of_lane(Lanes *l, const Value *load, int lane)
{
	KernelJit *k = l->k;
	if (!jit_is_packed(k, load))
		return jit_keep(&k->f, gcc_jit_lvalue_as_rvalue(
					       lvalue_of_lane(l, load->buffer, load->ix, lane)));
	k->at[l->loop->iter] = l->at + lane;
	Rvalue *element = jit_packed_element(k, load);
	k->at[l->loop->iter] = l->at;
	return element;
}

Rvalue *jit_load_strided(Lanes *l, const Value *load)
{
	KernelJit *k = l->k;
	Rvalue *elements[LANES_MOST];
	for (int i = 0; i < 1 << l->log; i++)
		elements[i] = i < lanes_there(l) ? element_of_lane(l, load, i) : elements[0];
	return jit_lanes_of(k, load->dtype, l->log, elements);
}

static void store_each(Lanes *l, const Stmt *stmt, Rvalue *value)
{
	KernelJit *k = l->k;
	Dtype dtype = stmt->value->dtype;
	Lvalue *lanes = jit_lane_array(k, dtype, 1 << l->log);
	Lvalue *first = jit_lane_element(k, lanes, jit_lane_number(k, 0));
	jit_set(&k->f, jit_lanes_at(k, first, dtype, l->log), value);
	for (int i = 0; i < lanes_there(l); i++)
		jit_set(&k->f, lvalue_of_lane(l, stmt->buffer, stmt->ix, i),
			gcc_jit_lvalue_as_rvalue(
				jit_lane_element(k, lanes, jit_lane_number(k, i))));
}

/* Which lane is at each place of the vector that is stored `block` vectors behind the first. */
static Rvalue *lanes_of_block(Lanes *l, Dtype dtype, int64_t stride, int block)
{
	Jit *jit = l->k->f.jit;
	Dtype index = dtype == DTYPE_F32 ? DTYPE_I32 : DTYPE_I64;
	Rvalue *lanes[LANES_MOST];
	for (int i = 0; i < 1 << l->log; i++)
		lanes[i] =
			jit_long(jit, jit->types[index], (i + ((int64_t)block << l->log)) / stride);
	return gcc_jit_context_new_rvalue_from_vector(jit->ctxt, l->k->f.location,
						      jit_vector_type(jit, index, l->log),
						      (size_t)1 << l->log, lanes);
}

static int64_t mask_of_block(const Lanes *l, int64_t stride, int block)
{
	int64_t mask = 0, end = lanes_there(l) * stride;
	for (int i = 0; i < 1 << l->log; i++) {
		int64_t at = i + ((int64_t)block << l->log);
		mask |= (int64_t)(at % stride == 0 && at < end) << i;
	}
	return mask;
}

static void store_masked(Lanes *l, const Stmt *stmt, int64_t stride, Rvalue *value)
{
	KernelJit *k = l->k;
	JitFunction *f = &k->f;
	SimdType type = {stmt->value->dtype, l->log};
	Rvalue *first = gcc_jit_lvalue_get_address(lvalue_of_lane(l, stmt->buffer, stmt->ix, 0),
						   f->location);
	for (int block = 0; block << l->log < lanes_there(l) * stride; block++) {
		Rvalue *lanes = jit_keep(f, lanes_of_block(l, type.dtype, stride, block));
		Rvalue *mask =
			jit_keep(f, jit_long(f->jit, f->jit->u32, mask_of_block(l, stride, block)));
		Lvalue *element = gcc_jit_context_new_array_access(
			f->jit->ctxt, f->location, first,
			jit_lane_number(k, (int64_t)block << l->log));
		simd_store_some(f, type, mask, jit_lanes_at(k, element, type.dtype, l->log),
				simd_permuted(f, type, lanes, value));
	}
}

void jit_store_strided(Lanes *l, const Stmt *stmt, int64_t stride, Rvalue *value)
{
	const Jit *jit = l->k->f.jit;
	Dtype dtype = stmt->value->dtype;
	bool whole = (dtype == DTYPE_F32 || dtype == DTYPE_F64) &&
		     (int)dtype_bytes(dtype) << l->log == (int)jit->vector_bytes;
	if (l->log == 0)
		jit_set(&l->k->f, lvalue_of_lane(l, stmt->buffer, stmt->ix, 0), value);
	else if (jit->simd == CPU_AVX512 && whole && stride <= LANES_MASKED)
		store_masked(l, stmt, stride, value);
	else
		store_each(l, stmt, value);
}

/* ---- lanes of a local ----
 *
 * Each has an index of its own:
 *
 *   vector lane in 0..16: half[lane] = acc[lane/8, lane%8] + acc[lane/8, lane%8 + 8]
 *     vshuff32x4 $0x44, acc_1, acc_0     16-byte parts 0 and 1 of both
 *     vshuff32x4 $0xee, acc_1, acc_0     parts 2 and 3
 *
 * Sums of lanes are added up so, several elements at a time (lower/tile/lane_tree.c). One instruction has
 * them where the first half of what it makes comes from one vector and the other from another:
 * whole parts, or within all parts elements at the same places of each. Any others, and those of a
 * local in memory, are read one by one. */

enum { PART = 16, SOURCES_MOST = 8 };

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
	gcc_jit_extended_asm_add_input_operand(line, NULL,
					       !wide ? "0"
					       : few ? "x"
						     : "v",
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

/* Lanes of several whole vectors: those of the first one, then with those of each further one. */
typedef struct LaneSources {
	SimdType type;
	Lvalue *vectors[SOURCES_MOST];
	int n, of[LANES_MOST]; /* which one a lane is of */
} LaneSources;

/* false: there are too many, or one is no whole vector. */
static bool find_sources(const Gather *g, LaneSources *s)
{
	for (int i = 0; i < g->n; i++) {
		for (s->of[i] = 0; s->of[i] < s->n && s->vectors[s->of[i]] != g->from[i].segment;)
			s->of[i]++;
		if (g->from[i].log != g->l->log || s->of[i] == SOURCES_MOST)
			return false;
		s->vectors[s->of[i]] = g->from[i].segment;
		s->n += s->of[i] == s->n;
	}
	return true;
}

/* Lane numbers as a vector: where the lane is of source v its place there, `distance` behind; of another one, its own or, of
 * the first two sources, its place there. */
static Rvalue *lane_choice(const Gather *g, const LaneSources *s, int v, int distance)
{
	Jit *jit = g->l->k->f.jit;
	Dtype index = g->dtype == DTYPE_F32 ? DTYPE_I32 : DTYPE_I64;
	Rvalue *lanes[LANES_MOST];
	for (int i = 0; i < g->n; i++) {
		int64_t place = g->from[i].lane;
		lanes[i] = jit_long(jit, jit->types[index],
				    s->of[i] == v ? place + distance
				    : v > 1	  ? i
						  : place);
	}
	return jit_keep(&g->l->k->f,
			gcc_jit_context_new_rvalue_from_vector(
				jit->ctxt, g->l->k->f.location,
				jit_vector_type(jit, index, g->l->log), (size_t)g->n, lanes));
}

/* Source v's lanes in the place of those of `made`. */
static Rvalue *with_source(const Gather *g, const LaneSources *s, int v, Rvalue *made)
{
	JitFunction *f = &g->l->k->f;
	Rvalue *next = gcc_jit_lvalue_as_rvalue(s->vectors[v]);
	int from = 0;
	if (f->jit->simd == CPU_AVX512)
		return simd_permuted_two(f, s->type, lane_choice(g, s, v, g->n), made, next);
	for (int i = 0; i < g->n; i++)
		from |= (s->of[i] == v) << i;
	return simd_blended(f, s->type, from, made,
			    simd_permuted(f, s->type, lane_choice(g, s, v, 0), next));
}

static Rvalue *permuted(const Gather *g)
{
	JitFunction *f = &g->l->k->f;
	LaneSources s = {.type = {g->dtype, g->l->log}};
	bool wide = f->jit->simd == CPU_AVX512;
	bool has = wide ? g->dtype == DTYPE_F32 || g->dtype == DTYPE_F64
			: g->dtype == DTYPE_F32 && f->jit->simd == CPU_AVX &&
				   f->jit->extras & CPU_WIDENS;
	if (!has || (int)dtype_bytes(g->dtype) << g->l->log != (int)f->jit->vector_bytes ||
	    !find_sources(g, &s))
		return NULL;
	Rvalue *made = gcc_jit_lvalue_as_rvalue(s.vectors[0]);
	if (s.n == 1 || !wide)
		made = simd_permuted(f, s.type, lane_choice(g, &s, 0, 0), made);
	for (int v = 1; v < s.n; v++)
		made = with_source(g, &s, v, made);
	return made;
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
	if (!vector && registers && l->log > 0 && g.n >= g.part)
		vector = permuted(&g);
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
