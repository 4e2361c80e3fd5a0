/* Results of warpgroups that TMA stores: a warp has its 16 rows of one line of columns at a time in shared memory, of two of
 * which one is being stored (loops/group.h). Rows of the result begin at multiples of 16 bytes, and it is stored alone.
 * Other results are stored by threads, two neighbours at a time. */
#include "loops/group.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/group.h"
#include "transform/gpu/tensor.h"

/* The only store behind the sum; NULL: there are others. */
static const Stmt *only_store(const Product *product)
{
	uint32_t n = 0;
	for (size_t i = 0; i < product->rest.stmts.n; i++)
		n += product->rest.stmts.at[i]->kind == LOOP_STORE;
	const Stmt *store = product_store(product);
	return n == 1 && store->acc == OP_NONE && !store->ix->reads ? store : NULL;
}

static bool result_of(const Tiling *g, TmaTensor *t)
{
	const Product *product = g->product;
	const LoopGroup *groups[] = {&product->columns, &product->rows};
	const Stmt *store = only_store(product);
	if (!store)
		return false;
	Dtype dtype = g->program->buffers.at[store->buffer].dtype;
	TmaElement element = {store->buffer, dtype, store->ix};
	TmaBatch batch = tma_batch(&product->batch);
	return (dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16) &&
	       tma_tensor(g->program, &element, groups, &batch, t) && t->along_first;
}

static int64_t line_of(const Tiling *g)
{
	return group_line(g->program->buffers.at[product_store(g->product)->buffer].dtype);
}

/* Elements of all warps. */
static int64_t elements_of(const Tiling *g)
{
	return g->tile->rows * GROUP_BOXES * line_of(g);
}

void group_boxes(Tiling *g, bool has_lanes)
{
	TmaTensor t;
	g->has_boxes = has_lanes && result_of(g, &t);
	if (!g->has_boxes)
		return;
	Buffer buffer = {.dtype = g->program->buffers.at[t.buffer].dtype, .swizzled = true};
	g->boxes = bind_shared(g->program, g->kernel, g->routine, buffer, elements_of(g), "boxes");
}

int64_t group_boxes_bytes(const Tiling *g)
{
	return g->has_boxes ? buffer_shared_bytes(g->program, &g->program->buffers.at[g->boxes]) : 0;
}

int64_t group_box_matrices(const Tiling *g)
{
	return line_of(g) / matrix_row(g->product->tensor.op)->n;
}

Block group_box_loop(Tiling *g, IterVar box, const Ix *row, const Ix *row_at, const Ix *column_at,
		     Block body)
{
	TmaTensor t;
	int64_t line = line_of(g), rows = matrix_row(g->product->tensor.op)->m;
	result_of(g, &t);
	t.axes[0].at = column_at;
	t.axes[0].box = line;
	t.axes[1].at = row_at;
	t.axes[1].box = rows;
	Stmt *loop = stmt_loop(g->program, LOOP_UNROLL, box, g->tile->columns / line, body);
	TensorAxis *axes = ARENA_ARRAY(g->arena, TensorAxis, t.n + 1);
	for (uint32_t i = 0; i < t.n; i++)
		axes[i] = t.axes[i];
	loop->axes = axes;
	loop->naxes = t.n;
	loop->tensor = t.buffer;
	loop->buffer = g->boxes;
	loop->ix = times(g, row, GROUP_BOXES * rows * line);
	return block_one(g->arena, loop);
}
