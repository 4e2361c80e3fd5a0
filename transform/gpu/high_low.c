/* Factors of f32 as sums of two numbers of tf32 each, which warpgroups multiply: kernels in front of the product store
 * what a factor is rounded to, and what the rest is rounded to, side by side along the sum.
 *
 *   grid i, j                          grid i, k
 *     local acc = 0                      local factor = x[i, k]
 *     for k in 0..s             ->       high[i*p + k] = tf32(factor)              and the same of w; p = ceil(s/4)*4
 *       acc += x[i, k]*w[k, j]           low[i*p + k] = tf32(factor - tf32(factor))
 *     y[i*m + j] = relu(acc)           grid i, j
 *                                        local acc = 0
 *                                        for k in 0..s
 *                                          acc += (high[i*p + k] + low[i*p + k])*(...)
 *                                        y[i*m + j] = relu(acc)
 *
 * So TMA takes operands however they lie, and stages have what products read: no thread computes between copies and
 * products. An operand of several products is stored once, where nothing stores to what it is made of meanwhile. The rests' own product, which f32 would round off, is not computed (mma.h).
 */
#include "base/diag.h"
#include "loops/dependence.h"
#include "loops/group.h"
#include "loops/verify_gpu.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/gpu/tile.h"

typedef struct HighLow {
	const Transform *t;
	Program *program;
	Arena *arena;
	const Product *product;
	const ProductOperand *operand;
	const LoopGroup *side;
	const char *name;
	BufferId high, low;
} HighLow;

/* The loops of the batch that the operand goes through. */
static LoopGroup batch_of(const Product *product, const ProductOperand *operand)
{
	LoopGroup own = {0};
	for (uint32_t i = 0; i < product->batch.n; i++)
		if (value_uses_iter(operand->value, product->batch.loops[i]->iter))
			own.loops[own.n++] = product->batch.loops[i];
	return own;
}

/* Elements of an operand's line along the sum. */
static Size line_of(const Program *program, const Product *product)
{
	int64_t by = GROUP_ALIGNED / (int64_t)dtype_bytes(DTYPE_F32);
	return size_scale(program->sizes, size_ceil(program->sizes, product->sum.extent, by), by);
}

Size high_low_elements(const Program *program, const Product *product, bool rows)
{
	const ProductOperand *operand = rows ? &product->row_operand : &product->column_operand;
	LoopGroup batch = batch_of(product, operand);
	Size n = size_mul(program->sizes, loops_extent(program->sizes, batch.loops, batch.n),
			  rows ? product->rows.extent : product->columns.extent);
	return size_mul(program->sizes, n, line_of(program, product));
}

/* ---- places ---- */

/* The number of the iteration of all loops of the group. */
static const Ix *iteration_of(const HighLow *h, const LoopGroup *group)
{
	const Ix *at = ix_const(h->program, 0);
	for (uint32_t i = 0; i < group->n; i++)
		at = ix_add(h->program,
			    ix_mul(h->program, at, ix_size(h->arena, group->loops[i]->hi->size)),
			    ix_iter(h->arena, group->loops[i]->iter));
	return at;
}

static const Ix *behind(const HighLow *h, const Ix *outer, Size extent, const Ix *inner)
{
	return ix_add(h->program, ix_mul(h->program, outer, ix_size(h->arena, extent)), inner);
}

static const Ix *place_of(const HighLow *h, const Ix *along, const Ix *step)
{
	LoopGroup batch = batch_of(h->product, h->operand);
	const Ix *line = behind(h, iteration_of(h, &batch), h->side->extent, along);
	return behind(h, line, line_of(h->program, h->product), step);
}

/* ---- the kernel in front ---- */

/* The factor where the innermost loops of both groups stand for all of them. */
static const Value *factor_of(const HighLow *h, const Kernel *kernel)
{
	const Ix **iters = kernel_iters(h->arena, kernel, 0);
	const LoopGroup *groups[] = {h->side, &h->product->sum};
	for (int g = 0; g < 2; g++)
		for (uint32_t i = 0; i + 1 < groups[g]->n; i++)
			iters[groups[g]->loops[i]->iter] = ix_const(h->program, 0);
	Rewrite rewrite = {.program = h->program, .iters = iters, .span = kernel->span};
	return rewrite_alone(&rewrite, h->operand->value);
}

static const Value *rounded(const HighLow *h, const Value *value)
{
	return value_op(h->arena, OP_TF32, DTYPE_F32, &value, 1);
}

static Block stores(const HighLow *h, Kernel *made)
{
	Body body = {0};
	LocalId local =
		bind_local(h->program, made, (KernelLocal){.name = "factor", .dtype = DTYPE_F32});
	const Value *factor = value_local(h->arena, made, local, NULL, 0);
	const Value *left[] = {factor, rounded(h, factor)};
	const Value *low = rounded(h, value_op(h->arena, OP_SUB, DTYPE_F32, left, 2));
	const Ix *at = place_of(h, ix_iter(h->arena, group_iter(h->side)),
				ix_iter(h->arena, group_iter(&h->product->sum)));
	PUSH(h->arena, body.stmts, stmt_local(h->arena, local, factor_of(h, made)));
	PUSH(h->arena, body.stmts, stmt_store(h->arena, h->high, at, OP_NONE, left[1]));
	PUSH(h->arena, body.stmts, stmt_store(h->arena, h->low, at, OP_NONE, low));
	return body_block(&body);
}

/* The batch, the side and the sum, a loop each. */
static Block in_grid(const HighLow *h, Block body)
{
	LoopGroup batch = batch_of(h->product, h->operand);
	const LoopGroup *sum = &h->product->sum;
	IterVar iters[GRID_LOOPS];
	Size extents[GRID_LOOPS];
	int64_t threads[GRID_LOOPS];
	uint32_t n = batch.n + 2;
	for (uint32_t i = 0; i < batch.n; i++) {
		iters[i] = batch.loops[i]->iter;
		extents[i] = batch.loops[i]->hi->size;
	}
	iters[n - 2] = group_iter(h->side);
	extents[n - 2] = h->side->extent;
	iters[n - 1] = group_iter(sum);
	extents[n - 1] = sum->extent;
	grid_shape(h->program->sizes, h->t->options->gpu, extents, n, threads);
	for (uint32_t i = n; i-- > 0;) {
		Stmt *loop = stmt_for(h->arena, iters[i], ix_const(h->program, 0),
				      ix_size(h->arena, extents[i]), body);
		loop->loop = LOOP_GRID;
		loop->threads = threads[i];
		body = block_one(h->arena, loop);
	}
	return body;
}

static BufferId new_buffer(const HighLow *h, const Kernel *kernel, uint32_t routine,
			   const char *part)
{
	Size elements = high_low_elements(h->program, h->product, h->side == &h->product->rows);
	return bind_temp(h->program, kernel, routine,
			 (Buffer){.dtype = DTYPE_F32, .elements = elements},
			 arena_printf(h->arena, "%s_%s", h->name, part));
}

/* ---- one that is there ---- */

/* Do both store the same of each element? */
static bool same_split(Program *program, const Kernel *a, const Kernel *b)
{
	const Stmt *loops[2][GRID_LOOPS];
	const Ix **iters = kernel_iters(program->arena, b, 0);
	uint32_t n = grid_loops(a, loops[0]);
	if (grid_loops(b, loops[1]) != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!size_same(loops[0][i]->hi->size, loops[1][i]->hi->size))
			return false;
		iters[loops[1][i]->iter] = ix_iter(program->arena, loops[0][i]->iter);
	}
	Rewrite rewrite = {.program = program, .iters = iters};
	Block of_a = grid_body(a), of_b = grid_body(b);
	return value_same(of_a.stmts[0]->value, rewrite_alone(&rewrite, of_b.stmts[0]->value)) &&
	       ix_same(of_a.stmts[1]->ix, rewrite_ix(&rewrite, of_b.stmts[1]->ix));
}

/* Has no kernel from that one on stored what it loads? */
static bool stays(const NewKernels *to, const Splitter *s)
{
	Arena *arena = to->t->program->arena;
	BufferUses uses = kernel_buffers(arena, &s->kernel);
	for (size_t i = s->at; i < to->made.n; i++) {
		BufferUses own = kernel_buffers(arena, &to->made.at[i]);
		for (size_t k = 0; k < uses.n; k++) {
			const BufferUse *use =
				uses.at[k].loaded ? buffer_use(&own, uses.at[k].buffer) : NULL;
			if (use && use->stored)
				return false;
		}
	}
	return true;
}

static const Splitter *earlier(const NewKernels *to, const Splitter *wanted)
{
	for (size_t i = 0; i < to->splitters.n; i++) {
		const Splitter *s = &to->splitters.at[i];
		if (s->routine == wanted->routine && s->kernel.loop == wanted->kernel.loop &&
		    same_split(to->t->program, &s->kernel, &wanted->kernel) && stays(to, s))
			return s;
	}
	return NULL;
}

/* Lets the side read what an earlier kernel stores, if there is such a one, which then is all. */
static void read_earlier(const NewKernels *to, HighLow *h, Splitter *made)
{
	const Splitter *same = earlier(to, made);
	if (!same)
		return;
	buffer_forget(h->program, h->high);
	buffer_forget(h->program, h->low);
	h->high = same->high;
	h->low = same->low;
	made->kernel.body = (Block){0};
}

static HighLow make_side(const NewKernels *to, const Kernel *kernel, const TileWanted *wanted,
			 bool rows, Splitter *made)
{
	const Transform *t = to->t;
	const Product *product = wanted->product;
	HighLow h = {.t = t,
		     .program = t->program,
		     .arena = t->program->arena,
		     .product = product,
		     .operand = rows ? &product->row_operand : &product->column_operand,
		     .side = rows ? &product->rows : &product->columns,
		     .name = rows ? "rows" : "columns"};
	h.high = new_buffer(&h, kernel, wanted->routine, "high");
	h.low = new_buffer(&h, kernel, wanted->routine, "low");
	*made = (Splitter){.kernel = *kernel, .routine = to->routine, .high = h.high, .low = h.low};
	made->kernel.name = sym_printf(t->program->symbols, "%s_%s", kernel->name, h.name);
	made->kernel.body = in_grid(&h, stores(&h, &made->kernel));
	read_earlier(to, &h, made);
	return h;
}

/* ---- the product ---- */

static const Value *sum_of(const HighLow *h)
{
	const Ix *at = place_of(h, iteration_of(h, h->side), iteration_of(h, &h->product->sum));
	const Value *parts[] = {value_load(h->program, h->high, at),
				value_load(h->program, h->low, at)};
	return value_op(h->arena, OP_ADD, DTYPE_F32, parts, 2);
}

static void multiply(Kernel *kernel, const HighLow *sides)
{
	const HighLow *h = &sides[0];
	const Product *product = h->product;
	bool swapped = product->columns_first;
	const Value *factors[] = {sum_of(&sides[swapped]), sum_of(&sides[!swapped])};
	Block sum =
		block_one(h->arena, stmt_set(h->arena, product->set->local, OP_ADD,
					     value_op(h->arena, OP_MUL, DTYPE_F32, factors, 2)));
	for (uint32_t i = product->sum.n; i-- > 0;)
		sum = block_one(h->arena, stmt_with(h->arena, product->sum.loops[i], sum));
	Body body = {0};
	PUSH(h->arena, body.stmts, product->declared);
	body_append(h->arena, &body, sum);
	body_append(h->arena, &body, body_block(&product->rest));
	kernel->body = grid_around(h->arena, &kernel->body, body_block(&body), 0);
}

Product bind_high_low(const NewKernels *to, Kernel *kernel, const TileWanted *wanted,
		      Splitter *before)
{
	const Transform *t = to->t;
	HighLow sides[2];
	Product product;
	for (int i = 0; i < 2; i++)
		sides[i] = make_side(to, kernel, wanted, i == 0, &before[i]);
	multiply(kernel, sides);
	if (!product_of(t->program, kernel, &product))
		BUG("a product of sums of two numbers that is none");
	product.tensor = wanted->product->tensor;
	return product;
}
