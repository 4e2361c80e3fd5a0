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
 * (cluster.c). Slices are equal parts of the outermost loop of the sum where there are such; else of all its loops as one, in whole
 * rounds of the tile, of which the last slices may have fewer steps, or none:
 *
 *   for n, h, w                            for p in 0..each
 *     acc += x[n, h, w]*...          ->      if slice*each + p < all: acc += x[(slice*each + p)/(hs*ws), ...]*...
 *
 * How many there are says the program and the GPU's row in target/gpu.c alone, so the order of additions follows from these and
 * the sizes.
 */
#include "transform/gpu/tile.h"

#include "base/diag.h"
#include "base/size_order.h"
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"

typedef struct Split {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	const Product *product;
	int64_t n; /* slices */
	SliceSteps steps;
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

SliceSteps slice_steps(Sizes *sizes, const LoopGroup *sum, int64_t slices, int64_t steps)
{
	Size outer = sum->loops[0]->hi->size, n = size_const(sizes, slices);
	if (size_divides(sizes, n, outer))
		return (SliceSteps){true, size_div(sizes, outer, n)};
	return (SliceSteps){
		false, size_scale(sizes, size_ceil(sizes, sum->extent, slices * steps), steps)};
}

/* The loops of the sum, the outermost one as far as it is of the slice. */
static const Stmt *whole_loop(const Split *s, IterVar slice)
{
	const Stmt *loop = s->product->sum.loops[0];
	Size each = s->steps.each;
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0);
	const Ix *first = ix_mul(s->program, ix_iter(s->arena, slice), ix_size(s->arena, each));
	iters[loop->iter] = ix_add(s->program, first, ix_iter(s->arena, loop->iter));
	Rewrite rewrite = {.program = s->program, .iters = iters, .span = s->kernel->span};
	Stmt *own = stmt_with(s->arena, loop, rewrite_block(&rewrite, loop->body));
	own->hi = ix_size(s->arena, each);
	own->independent = false;
	return own;
}

/* A factor at a step of all of the sum, where it goes through the loops as through one; else at each loop's iteration. */
static const Value *factor_at(const Split *s, const Value *factor, const Ix *step)
{
	const ProductOperand operand = {.value = factor};
	const LoopGroup *sum = &s->product->sum;
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0);
	if (operand_goes_as_one(s->program, &operand, sum))
		group_put(s->program, iters, sum, step);
	else
		group_put_each(s->program, iters, sum, step, 1);
	Rewrite rewrite = {.program = s->program, .iters = iters, .span = s->kernel->span};
	return rewrite_alone(&rewrite, factor);
}

/* Is there such a step, and do the product's conditions hold there? */
static const Stmt *if_step(const Split *s, const Ix *step, Block body)
{
	const Product *p = s->product;
	const Ix **iters = kernel_iters(s->arena, s->kernel, 0);
	uint32_t n = p->guard ? p->guard->nconds : 0;
	Cond *conds = ARENA_ARRAY(s->arena, Cond, n + 1);
	group_put_each(s->program, iters, &p->sum, step, 1);
	Rewrite rewrite = {.program = s->program, .iters = iters, .span = s->kernel->span};
	conds[0] = (Cond){COND_LT, step, ix_size(s->arena, p->sum.extent)};
	for (uint32_t i = 0; i < n; i++)
		conds[i + 1] =
			(Cond){p->guard->conds[i].kind, rewrite_ix(&rewrite, p->guard->conds[i].a),
			       rewrite_ix(&rewrite, p->guard->conds[i].b)};
	return stmt_if(s->arena, conds, n + 1, body);
}

/* One loop over the steps of the slice, of those of the sum. */
static const Stmt *rounds_loop(const Split *s, IterVar slice)
{
	const LoopGroup *sum = &s->product->sum;
	const Stmt *inner = sum->loops[sum->n - 1], *set = s->product->set;
	const Ix *each = ix_size(s->arena, s->steps.each), *p = ix_iter(s->arena, inner->iter);
	const Ix *step = ix_add(s->program, ix_mul(s->program, ix_iter(s->arena, slice), each), p);
	const Value *factors[] = {factor_at(s, set->value->args[0], step),
				  factor_at(s, set->value->args[1], step)};
	const Value *term = value_op(s->arena, OP_MUL, set->value->dtype, factors, 2);
	Block body = block_one(s->arena, stmt_set(s->arena, set->local, OP_ADD, term));
	Stmt *own = stmt_with(s->arena, inner, block_one(s->arena, if_step(s, step, body)));
	own->hi = each;
	own->independent = false;
	return own;
}

/* The sums of a slice, and what is done with each, in the kernel of `s`. */
static void make_slices(const Split *s, IterVar slice, Block behind)
{
	Kernel *made = s->kernel;
	Body body = {0};
	PUSH(s->arena, body.stmts, s->product->declared);
	PUSH(s->arena, body.stmts, (s->steps.whole ? whole_loop : rounds_loop)(s, slice));
	body_append(s->arena, &body, behind);
	Stmt *loop = stmt_with(s->arena, grid_loop(&made->body),
			       grid_around(s->arena, &made->body, body_block(&body), 0));
	loop->iter = slice;
	loop->hi = ix_const(s->program, s->n);
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
		const Ix *slice = ix_const(s->program, i);
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
		       .n = wanted->slices,
		       .steps = slice_steps(t->program->sizes, &wanted->product->sum,
					    wanted->slices, wanted->tile->steps)};
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
			     (Buffer){.dtype = s.product->set->value->dtype,
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
