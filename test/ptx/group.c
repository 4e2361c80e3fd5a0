/* wgmma: products of matrices in shared memory, by the four warps of a warpgroup.
 *
 * The products are made when it is said so, or as late as they may be: when a thread waits for their group, from what
 * shared memory holds by then. Thread i of the warpgroup has of the sums rows i/32*16 + i%32/4 and 8 further down, and of
 * each 8 columns two, i%4*2 and the next.
 */
#include <inttypes.h>
#include <string.h>

#include "test/ptx/matrix.h"
#include "test/ptx/number.h"
#include "test/ptx/run.h"

enum { ROWS = 64, MOST_COLUMNS = 256, MOST_K = 32, LINE = 128, GROUP = 4 * WARP };

/* An operand as its descriptor says. */
typedef struct Matrix {
	uint64_t start, leading, stride; /* bytes */
	bool transposed;		 /* neighbours lie along the rows of a, the columns of b */
} Matrix;

static const int32_t *operands(const PtxThread *t, const PtxInstr *in)
{
	return t->function->operands.at + in->more;
}

static bool read_matrix(PtxThread *t, uint64_t bits, bool transposed, Matrix *m)
{
	*m = (Matrix){(bits & 0x3fff) << 4, (bits >> 16 & 0x3fff) << 4, (bits >> 32 & 0x3fff) << 4,
		      transposed};
	if (bits >> 62 == 1 && (bits >> 49 & 7) == 0)
		return true;
	ptx_fault(t, FAULT_ILLEGAL, "describes a matrix by 0x%" PRIx64 ", which has no swizzle of 128 bytes", bits);
	return false;
}

/* Element `at` along the side of the result, and k. */
static bool element(PtxThread *t, PtxInstr *in, const Matrix *m, int at, int k, double *value)
{
	int bytes = ptx_type_bytes(in->type);
	int line = m->transposed ? k : at, in_line = (m->transposed ? at : k) * bytes;
	uint64_t place = m->start + (uint64_t)(line / 8) * m->stride + (uint64_t)(line % 8) * LINE +
			 (uint64_t)(in_line / LINE) * m->leading + (uint64_t)(in_line % LINE);
	const unsigned char *from =
		ptx_touch(t, in, SPACE_SHARED, ptx_swizzled(place), (uint32_t)bytes, ACCESS_ATOMIC);
	uint64_t bits = 0;
	if (from == NULL)
		return false;
	memcpy(&bits, from, (size_t)bytes);
	*value = ptx_tensor_element(in->type, bits);
	return true;
}

typedef struct Factors {
	double a[ROWS][MOST_K], b[MOST_COLUMNS][MOST_K];
} Factors;

static bool gather(const PtxProducts *p, PtxInstr *in, Factors *f)
{
	Matrix a, b;
	PtxThread *t = p->threads;
	if (!read_matrix(t, p->a, in->flags & FLAG_TRANS, &a) ||
	    !read_matrix(t, p->b, in->flags & FLAG_TRANS_B, &b))
		return false;
	for (int k = 0; k < in->width; k++) {
		for (int i = 0; i < ROWS; i++)
			if (!element(t, in, &a, i, k, &f->a[i][k]))
				return false;
		for (int j = 0; j < in->n; j++)
			if (!element(t, in, &b, j, k, &f->b[j][k]))
				return false;
	}
	return true;
}

static void multiply(const PtxProducts *p)
{
	PtxInstr *in = p->in;
	static _Thread_local Factors f;
	if (!gather(p, in, &f))
		return;
	for (int i = 0; i < GROUP; i++)
		for (int r = 0; r < in->n / 2; r++) {
			int row = i / WARP * 16 + i % WARP / 4 + r / 2 % 2 * 8, column = r / 4 * 8 + i % 4 * 2 + r % 2;
			double products[MOST_K];
			for (int k = 0; k < in->width; k++)
				products[k] = f.a[row][k] * f.b[column][k];
			uint64_t *d = &p->threads[i].regs[operands(&p->threads[i], in)[r]];
			float c = p->adds ? ptx_f32(*d) : 0;
			*d = ptx_f32_bits(ptx_tensor_sum(products, in->width, c));
		}
}

/* Are all threads of the warpgroup at the instruction, with the same matrices? */
static bool all_there(PtxThread *t, const PtxInstr *in, PtxThread *first)
{
	for (int i = 0; i < GROUP; i++) {
		PtxThread *one = &first[i];
		if (one->wait == WAIT_ENDED)
			ptx_fault(t, FAULT_SYNC, "waits for thread %u of its warpgroup, which has ended", one->index);
		else if (one->wait == WAIT_COLLECTIVE && ptx_thread_at(one) != in &&
			 ptx_thread_at(one)->kind == KIND_GROUP_MULTIPLY)
			ptx_fault(t, FAULT_SYNC, "and thread %u of its warpgroup are at different instructions: line %u",
				  one->index, ptx_thread_at(one)->line);
		if (one->wait != WAIT_COLLECTIVE || ptx_thread_at(one) != in || t->block->run->failed)
			return false;
	}
	for (int i = 1; i < GROUP; i++)
		if (ptx_value(&first[i], in->a) != ptx_value(first, in->a) ||
		    ptx_value(&first[i], in->b) != ptx_value(first, in->b)) {
			ptx_fault(t, FAULT_ILLEGAL, "and thread %u of its warpgroup multiply other matrices",
				  first[i].index);
			return false;
		}
	return true;
}

static bool is_of(const PtxThread *t, const PtxProducts *p)
{
	return p->threads == &t->block->threads[t->index / GROUP * GROUP];
}

/* Those of groups before this one, in their order: sums are added to by one product after the other. */
static void multiply_before(PtxThread *t, int64_t group)
{
	PtxRun *run = t->block->run;
	size_t kept = 0;
	for (size_t i = 0; i < run->products.n && !run->failed; i++) {
		PtxProducts p = run->products.at[i];
		if (is_of(t, &p) && (int64_t)p.group < group)
			multiply(&p);
		else
			run->products.at[kept++] = p;
	}
	run->products.n = kept;
}

void ptx_group_wait(PtxThread *t, int64_t under_way)
{
	multiply_before(t, (int64_t)t->products - under_way);
}

void ptx_group_multiply(PtxThread *t, PtxInstr *in)
{
	PtxRun *run = t->block->run;
	uint32_t from = t->index / GROUP * GROUP;
	if (t->block->nthreads - from < GROUP) {
		ptx_fault(t, FAULT_SYNC, "works with its whole warpgroup, which has fewer threads");
		return;
	}
	PtxThread *first = &t->block->threads[from];
	t->wait = WAIT_COLLECTIVE;
	if (!all_there(t, in, first))
		return;
	bool negated = in->flags & FLAG_NEGATED;
	PtxProducts p = {.threads = first,
			 .in = in,
			 .a = ptx_value(first, in->a),
			 .b = ptx_value(first, in->b),
			 .adds = (ptx_value(first, in->c) != 0) != negated,
			 .group = first->products};
	for (int i = 0; i < GROUP; i++) {
		first[i].wait = WAIT_NONE;
		first[i].pc++;
	}
	if (ptx_late(run)) {
		PUSH(run->arena, run->products, p);
		return;
	}
	multiply_before(t, INT64_MAX);
	multiply(&p);
}

bool ptx_group_works(const PtxThread *t)
{
	const PtxRun *run = t->block->run;
	for (size_t i = 0; i < run->products.n; i++)
		if (is_of(t, &run->products.at[i]))
			return true;
	return false;
}
