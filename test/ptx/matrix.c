/* Matrices that the threads of a warp hold together: ldmatrix, stmatrix, mma.sync.
 *
 * Of a matrix in registers, lane L holds rows L/4 and columns (L%4)*e + i, where a register has e elements; further
 * registers go 8 rows down (A, C) and 4*e columns on (A), or 4*e rows down (B, whose columns are L/4).
 */
#include "test/ptx/matrix.h"

#include <string.h>

#include "test/ptx/number.h"
#include "test/ptx/run.h"

enum { ROWS = 16, COLUMNS = 8, MOST_K = 32, ROW_BYTES = 16 };

static const int32_t *operands(const PtxThread *t, const PtxInstr *in)
{
	return t->function->operands.at + in->more;
}

/* The row of 8 elements whose address lane gives, of a matrix of 16-bit elements in memory. */
static unsigned char *row_at(PtxThread *t, PtxInstr *in, PtxAccess access)
{
	return ptx_touch(t, in, in->space, ptx_value(t, in->a) + (uint64_t)in->offset, ROW_BYTES, access);
}

/* Where lane's element i of a matrix stands: its row, and its place there. */
static void place(const PtxInstr *in, int lane, int i, int *row, int *column)
{
	int major = lane / 4, minor = lane % 4 * 2 + i;
	*row = in->flags & FLAG_TRANS ? minor : major;
	*column = in->flags & FLAG_TRANS ? major : minor;
}

static bool load_matrices(PtxThread *const *lanes, PtxInstr *in)
{
	for (int m = 0; m < in->n; m++) {
		uint16_t rows[8][8];
		for (int r = 0; r < 8; r++) {
			const unsigned char *row = row_at(lanes[8 * m + r], in, ACCESS_READ);
			if (row == NULL)
				return false;
			memcpy(rows[r], row, ROW_BYTES);
		}
		for (int lane = 0; lane < WARP; lane++) {
			uint64_t value = 0;
			for (int i = 0; i < 2; i++) {
				int row, column;
				place(in, lane, i, &row, &column);
				value |= (uint64_t)rows[row][column] << 16 * i;
			}
			lanes[lane]->regs[operands(lanes[lane], in)[m]] = value;
		}
	}
	return true;
}

static bool store_matrices(PtxThread *const *lanes, PtxInstr *in)
{
	for (int m = 0; m < in->n; m++) {
		uint16_t rows[8][8];
		for (int lane = 0; lane < WARP; lane++)
			for (int i = 0; i < 2; i++) {
				int row, column;
				place(in, lane, i, &row, &column);
				uint64_t value = ptx_value(lanes[lane], operands(lanes[lane], in)[m]);
				rows[row][column] = (uint16_t)(value >> 16 * i);
			}
		for (int r = 0; r < 8; r++) {
			unsigned char *row = row_at(lanes[8 * m + r], in, ACCESS_WRITE);
			if (row == NULL)
				return false;
			memcpy(row, rows[r], ROW_BYTES);
		}
	}
	return true;
}

typedef struct Product {
	double a[ROWS][MOST_K], b[MOST_K][COLUMNS];
	uint32_t c[ROWS][COLUMNS];
} Product;

static double element(PtxType type, uint64_t bits, int i)
{
	return ptx_tensor_element(type, bits >> 8 * ptx_type_bytes(type) * i);
}

/* Registers of all lanes as matrices. regs: of d, a, b and c in this order. */
static void gather(PtxThread *const *lanes, const PtxInstr *in, Product *p)
{
	int each = 4 / ptx_type_bytes(in->type), halves = in->n / (4 * each);
	for (int lane = 0; lane < WARP; lane++) {
		const PtxThread *t = lanes[lane];
		const int32_t *a = operands(t, in) + 4, *b = a + 2 * halves, *c = b + halves;
		int major = lane / 4, minor = lane % 4;
		for (int r = 0; r < 2 * halves; r++)
			for (int i = 0; i < each; i++)
				p->a[major + 8 * (r & 1)][minor * each + i + (r >> 1) * 4 * each] =
					element(in->type, ptx_value(t, a[r]), i);
		for (int r = 0; r < halves; r++)
			for (int i = 0; i < each; i++)
				p->b[minor * each + i + r * 4 * each][major] =
					element(in->from, ptx_value(t, b[r]), i);
		for (int i = 0; i < 4; i++)
			p->c[major + 8 * (i >> 1)][minor * 2 + (i & 1)] = (uint32_t)ptx_value(t, c[i]);
	}
}

static uint32_t whole_sum(const double *products, int n, uint32_t c, bool saturates)
{
	int64_t sum = (int32_t)c;
	for (int i = 0; i < n; i++)
		sum += (int64_t)products[i];
	if (saturates)
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	return (uint32_t)sum;
}

static bool multiply(PtxThread *const *lanes, const PtxInstr *in)
{
	Product p;
	gather(lanes, in, &p);
	bool floats = in->sub == COLLECTIVE_MMA && (in->type != TYPE_u8 && in->type != TYPE_s8);
	for (int row = 0; row < ROWS; row++)
		for (int column = 0; column < COLUMNS; column++) {
			double products[MOST_K];
			for (int k = 0; k < in->n; k++)
				products[k] = p.a[row][k] * p.b[k][column];
			uint32_t *c = &p.c[row][column];
			*c = floats ? (uint32_t)ptx_f32_bits(ptx_tensor_sum(products, in->n, ptx_f32(*c)))
				    : whole_sum(products, in->n, *c, in->flags & FLAG_FINITE);
		}
	for (int lane = 0; lane < WARP; lane++)
		for (int i = 0; i < 4; i++)
			lanes[lane]->regs[operands(lanes[lane], in)[i]] =
				p.c[lane / 4 + 8 * (i >> 1)][lane % 4 * 2 + (i & 1)];
	return true;
}

bool ptx_matrix(PtxThread *const *lanes, PtxInstr *in)
{
	for (int lane = 0; lane < WARP; lane++)
		if (lanes[lane] == NULL) {
			ptx_fault(lanes[0], FAULT_SYNC, "works with its whole warp, which has fewer threads");
			return false;
		}
	if (in->sub == COLLECTIVE_LDMATRIX)
		return load_matrices(lanes, in);
	return in->sub == COLLECTIVE_STMATRIX ? store_matrices(lanes, in) : multiply(lanes, in);
}
