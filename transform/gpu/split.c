/* Products of few tiles, whose sum goes in slices: the tiles of all slices are blocks, and another kernel adds up what
 * they come to, in the order of the slices.
 *
 *   grid i, j                          grid slice in 0..4, i, j                    grid i, j
 *     local acc = 0                      local acc = 0                               local acc = 0
 *     for k in 0..s             ->       for k in 0..s/4                      and    acc += slices[0*n + i*m + j]
 *       acc += x[i, k]*w[k, j]             acc += x[i, slice*s/4 + k]*...           ... and those of the other slices
 *     y[i*m + j] = relu(acc)             slices[slice*n + i*m + j] = acc             y[i*m + j] = relu(acc)
 *
 * The first kernel is a product again, of which the slices are a batch, or in the place of these blocks of a cluster
 * (cluster.c). Sizes are known, and no
 * slice is shorter than another: the order of additions follows from them and the GPU's row in
 * target/gpu.c.
 */
#include "transform/gpu/tile.h"

#include "base/diag.h"
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"

typedef struct Split {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	const Product *product;
	int64_t n; /* slices */
	BufferId slices;
	Size elements; /* of the result, and of each slice */
} Split;

const Stmt *product_store(const Product *product)
{
	for (size_t i = 0; i < product->rest.stmts.n; i++)
		if (product->rest.stmts.at[i]->kind == LOOP_STORE)
			return product->rest.stmts.at[i];
	return NULL;
}

static const Ix *element_of(const Split *s, const Ix *slice)
{
	const Ix *first = ix_mul(s->program, slice, ix_size(s->arena, s->elements));
	return ix_add(s->program, first, product_store(s->product)->ix);
}

static const Value *acc_of(const Split *s)
{
	return value_local(s->arena, s->kernel, s->product->set->local, NULL, 0);
}

/* The loops of the sum, the outermost one as far as it is of the slice. */
static const Stmt *slice_loop(const Split *s, IterVar slice)
{
	const Stmt *loop = s->product->sum.loops[0];
	Size each = size_div(s->program->sizes, loop->hi->size, size_const(s->program->sizes, s->n));
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0);
	const Ix *first = ix_mul(s->program, ix_iter(s->arena, slice), ix_size(s->arena, each));
	iters[loop->iter] = ix_add(s->program, first, ix_iter(s->arena, loop->iter));
	Rewrite rewrite = {.program = s->program, .iters = iters, .span = s->kernel->span};
	Stmt *own = stmt_with(s->arena, loop, rewrite_block(&rewrite, loop->body));
	own->hi = ix_size(s->arena, each);
	own->independent = false;
	return own;
}

/* The sums of a slice, and what is done with each, in the kernel of `s`. */
static void make_slices(const Split *s, IterVar slice, Block behind)
{
	Kernel *made = s->kernel;
	Body body = {0};
	PUSH(s->arena, body.stmts, s->product->declared);
	PUSH(s->arena, body.stmts, slice_loop(s, slice));
	body_append(s->arena, &body, behind);
	Stmt *loop = stmt_with(s->arena, grid_loop(&made->body),
			       grid_around(s->arena, &made->body, body_block(&body), 0));
	loop->iter = slice;
	loop->hi = ix_const(s->arena, s->program->sizes, s->n);
	loop->threads = 1;
	made->body = block_one(s->arena, loop);
}

static void store_slices(const Split *s, Kernel *made)
{
	Split own = *s;
	own.kernel = made;
	IterVar slice = bind_iter(s->program, made, "slice");
	const Ix *at = element_of(s, ix_iter(s->arena, slice));
	const Stmt *store = stmt_store(s->arena, s->slices, at, OP_NONE, acc_of(&own));
	make_slices(&own, slice, block_one(s->arena, store));
}

/* acc += what each slice comes to, and what is done with an element. */
static void make_sum(const Split *s)
{
	Body body = {0};
	PUSH(s->arena, body.stmts, s->product->declared);
	for (int64_t i = 0; i < s->n; i++) {
		const Ix *slice = ix_const(s->arena, s->program->sizes, i);
		const Value *part = value_load(s->program, s->slices, element_of(s, slice));
		PUSH(s->arena, body.stmts,
		     stmt_set(s->arena, s->product->set->local, OP_ADD, part));
	}
	body_append(s->arena, &body, body_block(&s->product->rest));
	s->kernel->body = grid_around(s->arena, &s->kernel->body, body_block(&body), 0);
}

static Split split_of(const Transform *t, Kernel *kernel, const TileWanted *wanted)
{
	return (Split){.program = t->program,
		       .arena = t->program->arena,
		       .kernel = kernel,
		       .product = wanted->product,
		       .n = wanted->slices};
}

static Product product_of_slice(const Split *s, const Kernel *kernel)
{
	Product product;
	if (!product_of(s->program, kernel, &product))
		BUG("slices of a product that are none");
	product.tensor = s->product->tensor;
	return product;
}

Product bind_split(const Transform *t, Kernel *kernel, const TileWanted *wanted, Kernel *before)
{
	Split s = split_of(t, kernel, wanted);
	s.elements = s.program->buffers.at[product_store(s.product)->buffer].elements;
	s.slices = bind_temp(s.program, kernel, wanted->routine,
			     (Buffer){.dtype = DTYPE_F32,
				      .elements = size_scale(s.program->sizes, s.elements, s.n)},
			     "slices");
	*before = *kernel;
	store_slices(&s, before);
	make_sum(&s);
	return product_of_slice(&s, before);
}

Product bind_cluster(const Transform *t, Kernel *kernel, TileWanted *wanted)
{
	Split s = split_of(t, kernel, wanted);
	wanted->slice = bind_iter(s.program, kernel, "slice");
	make_slices(&s, wanted->slice, body_block(&s.product->rest));
	Product product = product_of_slice(&s, kernel);
	LoopGroup *batch =
		&product.batch; /* without the slices, which are the grid's outermost loop */
	if (!batch->n || batch->loops[0]->iter != wanted->slice)
		BUG("a factor that slices have in common");
	for (uint32_t i = 1; i < batch->n; i++)
		batch->loops[i - 1] = batch->loops[i];
	batch->n--;
	return product;
}
