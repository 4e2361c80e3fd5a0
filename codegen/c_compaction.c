/* Loops that move elements to the ends of lists, in C: whole vectors by instructions of AVX-512, where the compiler of the C
 * may use them, and the loop itself from there on.
 *
 *   int64_t tsr_t0 = 0;
 *   #ifdef TSR_COMPACT
 *   {
 *           const int64_t t = 0, tsr_n = n - t;
 *           const float *const tsr_from = &items[from + t];
 *           float *const tsr_to = items;
 *           const int64_t tsr_at = from + t;
 *           const __m512 tsr_b0 = _mm512_set1_ps(pivot);
 *           const int tsr_free = low + tsr_n <= tsr_at && ...;
 *           for (; tsr_t0 + 16 <= tsr_n; tsr_t0 += 16) {
 *                   const __m512 tsr_item = _mm512_loadu_ps(tsr_from + tsr_t0);
 *                   const __m512 tsr_down = _mm512_permutexvar_ps(tsr_order, tsr_item);
 *                   const __mmask16 tsr_m0 = (__mmask16)(_mm512_cmp_ps_mask(tsr_item, tsr_b0, _CMP_LT_OQ));
 *                   const __mmask16 tsr_m1 = (__mmask16)(~_mm512_cmp_ps_mask(tsr_down, tsr_b0, _CMP_LT_OQ));
 *                   const int64_t tsr_e0 = low + _mm_popcnt_u32(tsr_m0), tsr_e1 = high - ...;
 *                   if (!tsr_free && !(tsr_e0 <= tsr_e1 && ...))
 *                           break;
 *                   _mm512_mask_compressstoreu_ps(tsr_to + low, tsr_m0, tsr_item);
 *                   _mm512_mask_compressstoreu_ps(tsr_to + tsr_e1, tsr_m1, tsr_down);
 *                   low = tsr_e0;
 *                   high = tsr_e1;
 *           }
 *   }
 *   #endif
 *   for (int64_t t = tsr_t0; t < n; t++) {
 *
 * The break is where a list would reach into the next one, the last one behind its last place, or any into the items of the vector:
 * where nothing overlaps, memory is as the loop leaves it. They are free where that holds even if all items went to each list.
 * codegen/jit_compaction.c makes the same instructions.
 */
#include <stdlib.h>

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

static const char *list_of(const CompactText *c, uint32_t list)
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

/* ---- masks ---- */

/* What is `ahead` bytes behind; 0: nothing. It may be outside the array: the address is no pointer of C. */
static void put_prefetch(const CompactText *c, const char *array, const char *at, int64_t ahead)
{
	if (ahead)
		PUT(c, "_mm_prefetch((const char *)((uintptr_t)(%s + %s) %c %lld), _MM_HINT_T0);\n",
		    array, at, ahead < 0 ? '-' : '+', (long long)llabs(ahead));
}

/* A comparison of the items as they stand, or the other way round. */
static void put_comparison(const CompactText *c, uint32_t i, bool down)
{
	static const char *const names[OP_COUNT] = {
		[OP_LT] = "LT", [OP_LE] = "LE", [OP_GT] = "GT", [OP_GE] = "GE", [OP_EQ] = "EQ"};
	static const char *const whole[OP_COUNT] = {
		[OP_LT] = "LT", [OP_LE] = "LE", [OP_GT] = "NLE", [OP_GE] = "NLT", [OP_EQ] = "EQ"};
	const CompactComparison *is = &c->is.compared[i];
	const char *item = down ? "tsr_down" : "tsr_item",
		   *bound = arena_printf(c->k->arena, "tsr_b%u", i);
	bool real = dtype_is_float(c->is.load->dtype);
	fprintf(c->k->out, "_mm512_cmp_%s_mask(%s, %s, %s%s%s)", c->suffix,
		is->item_first ? item : bound, is->item_first ? bound : item,
		real ? "_CMP_" : "_MM_CMPINT_", (real ? names : whole)[is->value->op],
		real ? "_OQ" : "");
}

static void put_mask(const CompactText *c, uint32_t i)
{
	const CompactList *list = &c->is.lists[i];
	PUT(c, "const __mmask%d tsr_m%u = (__mmask%d)(", c->lanes, i, c->lanes);
	for (uint32_t n = 0; n < list->nconds; n++) {
		fprintf(c->k->out, "%s%s", n ? " & " : "", list->holds[n] ? "" : "~");
		put_comparison(c, list->is[n], list->down);
	}
	fprintf(c->k->out, list->nconds ? ");\n" : "-1);\n");
	PUT(c, "const int64_t tsr_e%u = %s %c _mm_popcnt_u32(tsr_m%u);\n", i, list_of(c, i),
	    list->down ? '-' : '+', i);
}

/* ---- which lists meet ---- */

/* Where a list's next elements begin, or end: of one vector, or if all items go there. */
static const char *side_of(const CompactText *c, uint32_t i, bool end, bool all)
{
	bool down = c->is.lists[i].down;
	if (down == end)
		return list_of(c, i);
	if (all)
		return arena_printf(c->k->arena, "%s %c tsr_n", list_of(c, i), down ? '-' : '+');
	return arena_printf(c->k->arena, "tsr_e%u", i);
}

/* The items are behind the first `before` lists and in front of the others. */
static void put_between(const CompactText *c, uint32_t before, bool all)
{
	FILE *out = c->k->out;
	const char *at = all ? "tsr_at" : arena_printf(c->k->arena, "tsr_at + %s", c->done);
	fprintf(out, "(");
	if (before > 0)
		fprintf(out, "%s <= %s%s", side_of(c, before - 1, true, all), at,
			before < c->is.nlists ? " && " : "");
	if (before < c->is.nlists) {
		const char *n = all ? "tsr_n" : arena_printf(c->k->arena, "%d", c->lanes);
		fprintf(out, "%s + %s <= %s", at, n, side_of(c, before, false, all));
	}
	fprintf(out, ")");
}

static void put_disjoint(const CompactText *c, bool all)
{
	FILE *out = c->k->out;
	uint32_t lists = c->is.nlists;
	fprintf(out, "%s >= 0",
		side_of(c, 0, false, all)); /* the loop stores at 0 what would be before */
	for (uint32_t i = 0; i + 1 < lists; i++)
		fprintf(out, " && %s <= %s", side_of(c, i, true, all),
			side_of(c, i + 1, false, all));
	fprintf(out, " && %s <= %s + 1", side_of(c, lists - 1, true, all),
		c_kernel_ix(c->k, c->is.last));
	if (c->is.load->buffer != c->is.to)
		return;
	fprintf(out, " &&\n");
	PUT(c, "    (");
	for (uint32_t i = 0; i <= lists; i++) {
		fprintf(out, i ? " || " : "");
		put_between(c, i, all);
	}
	fprintf(out, ")");
}

static void put_free(const CompactText *c)
{
	PUT(c, "const int tsr_free = ");
	put_disjoint(c, true);
	fprintf(c->k->out, ";\n");
	if (c->is.has_down)
		PUT(c, "const __m512i tsr_order = _mm512_set_epi%d(%s);\n", 512 / c->lanes,
		    c->lanes == 16 ? "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15"
				   : "0, 1, 2, 3, 4, 5, 6, 7");
}

/* ---- one vector ---- */

static void put_store(const CompactText *c, uint32_t i)
{
	bool down = c->is.lists[i].down;
	int64_t ahead = c->k->m->program->options.target->compact_store;
	put_prefetch(c, "tsr_to", list_of(c, i), down ? -ahead : ahead);
	PUT(c, "_mm512_mask_compressstoreu_%s(tsr_to + %s, tsr_m%u, %s);\n", c->suffix,
	    side_of(c, i, false, false), i, down ? "tsr_down" : "tsr_item");
}

static void put_vector(const CompactText *c)
{
	const Target *target = c->k->m->program->options.target;
	put_prefetch(c, "tsr_from", c->done, target->compact_read);
	PUT(c, "const %s tsr_item = _mm512_loadu_%s(tsr_from + %s);\n", c->vector, c->suffix,
	    c->done);
	if (c->is.has_down)
		PUT(c, "const %s tsr_down = _mm512_permutexvar_%s(tsr_order, tsr_item);\n",
		    c->vector, c->suffix);
	for (uint32_t i = 0; i < c->is.nlists; i++)
		put_mask(c, i);
	PUT(c, "if (!tsr_free && !(");
	put_disjoint(c, false);
	fprintf(c->k->out, "))\n");
	PUT(c, "\tbreak;\n");
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		put_store(c, i);
		PUT(c, "%s = tsr_e%u;\n", list_of(c, i), i);
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
	bool wide = dtype_bytes(dtype) == dtype_bytes(DTYPE_F64), real = dtype_is_float(dtype);
	c.vector = !real ? "__m512i" : wide ? "__m512d" : "__m512";
	c.suffix = real ? (wide ? "pd" : "ps") : wide ? "epi64" : "epi32";
	c.lanes = wide ? 8 : 16;
	PUT(&c, "int64_t %s = 0;\n", c.done);
	fprintf(k->out, "#ifdef TSR_COMPACT\n");
	c_kernel_indent(k);
	open_brace(&c);
	put_places(&c, loop);
	put_bounds(&c);
	put_free(&c);
	PUT(&c, "for (; %s + %d <= tsr_n; %s += %d) ", c.done, c.lanes, c.done, c.lanes);
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
