/* Loops that move elements to the ends of lists, in C: whole vectors by instructions of AVX-512, where the compiler of the C
 * may use them, and the loop itself from there on.
 *
 *   int64_t tsr_t0 = 0;
 *   #ifdef TSR_COMPACT
 *   {
 *           const int64_t t = 0, tsr_n = n - t;
 *           const float *const tsr_from = &items[from + t];
 *           float *const tsr_to = items;
 *           const __m512 tsr_b0 = _mm512_set1_ps(pivot);
 *           for (; place >= 0 && tsr_t0 + 16 <= tsr_n; tsr_t0 += 16) {
 *                   const __m512 tsr_item = _mm512_loadu_ps(tsr_from + tsr_t0);
 *                   const __mmask16 tsr_c0 = _mm512_cmp_ps_mask(tsr_item, tsr_b0, _CMP_LT_OQ);
 *                   const __mmask16 tsr_m0 = tsr_c0, tsr_m1 = (__mmask16)~tsr_c0;
 *                   const int64_t tsr_e0 = place + _mm_popcnt_u32(tsr_m0), tsr_e1 = ...;
 *                   if (tsr_e0 > place_2 || ...)
 *                           break;
 *                   _mm512_mask_compressstoreu_ps(tsr_to + place, tsr_m0, tsr_item);
 *                   place = tsr_e0;
 *                   ...
 *           }
 *   }
 *   #endif
 *   for (int64_t t = tsr_t0; t < n; t++) {
 *
 * The break is where a list would reach into the next one, the last one behind its last place, or any into the items of the vector:
 * where nothing overlaps, memory is as the loop leaves it. codegen/jit_compaction.c makes the same instructions.
 */
#include "codegen/c_compaction.h"

#include "codegen/compaction.h"
#include "loops/walk.h"

typedef struct CompactText {
	KernelText *k;
	Compaction is;
	const char *done;
	const char *type, *vector, *suffix; /* "float", "__m512", "ps" */
	int lanes;
} CompactText;

static const char *end_of(const CompactText *c, uint32_t list)
{
	return c->k->locals[c->is.lists[list].n];
}

#define PUT(c, ...) (c_kernel_indent((c)->k), fprintf((c)->k->out, __VA_ARGS__))

/* ---- in front of the vectors ---- */

static void put_places(const CompactText *c, const Stmt *loop)
{
	KernelText *k = c->k;
	const char *i = k->iters[loop->iter];
	PUT(c, "const int64_t %s = %s, tsr_n = %s - %s;\n", i, c_kernel_ix(k, loop->lo),
	    c_kernel_ix(k, loop->hi), i);
	PUT(c, "const %s *const tsr_from = &%s;\n", c->type,
	    c_buffer_element(k, c->is.load->buffer, c->is.load->ix));
	if (!c->is.stores)
		return;
	PUT(c, "%s *const tsr_to = %s;\n", c->type,
	    k->buffers[kernel_use_buffer(k->use, c->is.to)]);
	if (c->is.load->buffer == c->is.to)
		PUT(c, "const int64_t tsr_at = %s;\n", c_kernel_ix(k, c->is.load->ix));
}

static void put_bounds(const CompactText *c)
{
	for (uint32_t i = 0; i < c->is.ncompared; i++)
		PUT(c, "const %s tsr_b%u = _mm512_set1_%s(%s);\n", c->vector, i, c->suffix,
		    c_kernel_value(c->k, c->is.compared[i].bound));
}

/* ---- one vector ---- */

/* What is `ahead` bytes behind; 0: nothing. It may be outside the array: the address is no pointer of C. */
static void put_prefetch(const CompactText *c, const char *array, const char *at, int64_t ahead)
{
	if (ahead)
		PUT(c, "_mm_prefetch((const char *)((uintptr_t)(%s + %s) + %lld), _MM_HINT_T0);\n",
		    array, at, (long long)ahead);
}

static void put_comparisons(const CompactText *c)
{
	static const char *const names[OP_COUNT] = {
		[OP_LT] = "LT", [OP_LE] = "LE", [OP_GT] = "GT", [OP_GE] = "GE", [OP_EQ] = "EQ"};
	const char *item = "tsr_item";
	for (uint32_t i = 0; i < c->is.ncompared; i++) {
		const char *bound = arena_printf(c->k->arena, "tsr_b%u", i);
		bool first = c->is.compared[i].item_first;
		PUT(c, "const __mmask%d tsr_c%u = _mm512_cmp_%s_mask(%s, %s, _CMP_%s_OQ);\n",
		    c->lanes, i, c->suffix, first ? item : bound, first ? bound : item,
		    names[c->is.compared[i].value->op]);
	}
}

static void put_mask(const CompactText *c, uint32_t i)
{
	const CompactList *list = &c->is.lists[i];
	PUT(c, "const __mmask%d tsr_m%u = (__mmask%d)(", c->lanes, i, c->lanes);
	for (uint32_t n = 0; n < list->nconds; n++)
		fprintf(c->k->out, "%s%stsr_c%u", n ? " & " : "", list->holds[n] ? "" : "~",
			list->is[n]);
	fprintf(c->k->out, list->nconds ? ");\n" : "-1);\n");
	PUT(c, "const int64_t tsr_e%u = %s + _mm_popcnt_u32(tsr_m%u);\n", i, end_of(c, i), i);
}

static void put_break(const CompactText *c)
{
	FILE *out = c->k->out;
	uint32_t last = c->is.nlists - 1;
	PUT(c, "if (");
	for (uint32_t i = 0; i < last; i++)
		fprintf(out, "tsr_e%u > %s || ", i, end_of(c, i + 1));
	fprintf(out, "tsr_e%u > %s + 1", last, c_kernel_ix(c->k, c->is.last));
	if (c->is.load->buffer == c->is.to) {
		fprintf(out, " ||\n");
		PUT(c, "    (tsr_e%u > tsr_at + %s && tsr_at + %s + %d > %s)", last, c->done,
		    c->done, c->lanes, end_of(c, 0));
	}
	fprintf(out, ")\n");
	PUT(c, "\tbreak;\n");
}

static void put_vector(const CompactText *c)
{
	const Target *target = c->k->m->program->options.target;
	put_prefetch(c, "tsr_from", c->done, target->compact_read);
	PUT(c, "const %s tsr_item = _mm512_loadu_%s(tsr_from + %s);\n", c->vector, c->suffix,
	    c->done);
	put_comparisons(c);
	for (uint32_t i = 0; i < c->is.nlists; i++)
		put_mask(c, i);
	if (c->is.stores)
		put_break(c);
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		if (c->is.stores) {
			put_prefetch(c, "tsr_to", end_of(c, i), target->compact_store);
			PUT(c, "_mm512_mask_compressstoreu_%s(tsr_to + %s, tsr_m%u, tsr_item);\n",
			    c->suffix, end_of(c, i), i);
		}
		PUT(c, "%s = tsr_e%u;\n", end_of(c, i), i);
	}
}

static void open_brace(const CompactText *c)
{
	fprintf(c->k->out, "{\n");
	c->k->indent++;
}

static void close_brace(const CompactText *c)
{
	c->k->indent--;
	PUT(c, "}\n");
}

const char *c_compact_vectors(KernelText *k, const Stmt *loop)
{
	CompactText c = {.k = k};
	if (k->device || !loop_compacts((Program *)k->m->program, k->kernel, loop, &c.is))
		return NULL;
	Dtype dtype = c.is.load->dtype;
	c.done = c_kernel_temp(k);
	c.type = c_type(dtype);
	c.vector = dtype == DTYPE_F32 ? "__m512" : "__m512d";
	c.suffix = dtype == DTYPE_F32 ? "ps" : "pd";
	c.lanes = dtype == DTYPE_F32 ? 16 : 8;
	PUT(&c, "int64_t %s = 0;\n", c.done);
	fprintf(k->out, "#ifdef TSR_COMPACT\n");
	c_kernel_indent(k);
	open_brace(&c);
	put_places(&c, loop);
	put_bounds(&c);
	PUT(&c, "for (; ");
	if (c.is.stores) /* the loop stores at 0 what would be before */
		fprintf(k->out, "%s >= 0 && ", end_of(&c, 0));
	fprintf(k->out, "%s + %d <= tsr_n; %s += %d) ", c.done, c.lanes, c.done, c.lanes);
	open_brace(&c);
	put_vector(&c);
	close_brace(&c);
	close_brace(&c);
	fprintf(k->out, "#endif\n");
	return c.done;
}

/* ---- the module ---- */

static bool has_compaction(const Module *m, const Kernel *kernel, Block block)
{
	Compaction is;
	for (uint32_t i = 0; i < block.n; i++)
		if (loop_compacts((Program *)m->program, kernel, block.stmts[i], &is) ||
		    has_compaction(m, kernel, block.stmts[i]->body))
			return true;
	return false;
}

void c_put_compaction(FILE *out, const Module *m)
{
	bool has = false;
	for (KernelId k = 0; k < m->program->kernels.n && !has; k++)
		has = has_compaction(m, &m->kernels[k].kernel, m->kernels[k].kernel.body);
	if (has)
		fputs("/* Instructions that store those elements of a vector next to each other which a mask has. */\n"
		      "#if defined __AVX512F__ && defined __POPCNT__\n#include <immintrin.h>\n"
		      "#define TSR_COMPACT\n#endif\n\n",
		      out);
}
