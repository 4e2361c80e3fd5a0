/* The code of a row block (row_block.h): its kernels over a block of rows, one after another.
 *
 *   for h                                              the dims but the rows
 *     transposed[d, t] = k[h, t, d]                          operands with another order of axes
 *     for first in 0..S/64*64 step 64                    whole blocks, a kernel
 *       scores; max, exp, sum, product row by row; y
 *   for h ... for first in S/64*64..S step 64          the rows that are left, another kernel
 *
 * Each kernel is emitted as always, over fewer loops: dims are iterators from outside, rows run to
 * the height of the block, and tensors of the row block are found at their places. Every access
 * stays in the row at hand, as row_block.c has seen. What is left has code of its own with the order
 * of additions of whole blocks: contractions have the same form in both.
 */
#include "base/diag.h"
#include "loops/rewrite.h"
#include "lower/kernel.h"
#include "lower/row_block.h"

/* More blocks than there are. */
enum { BLOCKS_MOST = 1 << 30 };

typedef struct Emit {
	Lower *lower;
	Program *program;
	RowBlock *row_block;
	const RowBlockPart *part; /* at hand */
} Emit;

static Sym name_of(const Emit *e) { return e->part->names[e->row_block->nroots - 1]; }

/* ---- putting together ---- */

/* Appends the kernel's text to a body, in terms of the whole. */
static void append_kernel(Emit *e, Kernel *whole, const Kernel *part, Body *body)
{
	Arena *arena = e->program->arena;
	const Ix **iters = kernel_iters(arena, part, whole->niters);
	for (IterVar i = 0; i < e->row_block->ndims && i < part->niters; i++)
		iters[i] = ix_iter(arena, i);
	body_append(arena, body, kernel_append(e->program, whole, part, part->body, iters));
}

/* Rounds of a dim store elements of their own: the last kernel's, and those of scratch buffers. */
static const Stmt *independent(Arena *arena, const Stmt *loop)
{
	Stmt *copy = ARENA_NEW(arena, Stmt);
	*copy = *loop;
	copy->independent = true;
	return copy;
}

static Block over_dims(Emit *e, Block body)
{
	Arena *arena = e->program->arena;
	const Ix *zero = ix_const(e->program, 0);
	for (uint32_t dim = e->row_block->ndims; dim-- > 0;)
		if (dim != e->row_block->rows) {
			Body one = {0};
			PUSH(arena, one.stmts,
			     independent(arena,
					 stmt_for(arena, dim, zero,
						  ix_size(arena, e->row_block->dims[dim].extent),
						  body)));
			body = body_block(&one);
		}
	return body;
}

static void describe(Emit *e)
{
	RowBlock *row_block = e->row_block;
	Arena *arena = e->program->arena;
	ScheduleEntry *entry = schedule_entry(e->program->made, name_of(e));
	ScheduleClause *clause = entry_make(arena, entry, CHOICE_ROW_BLOCK, false);
	clause_add(arena, clause, row_block->dims[row_block->rows].name, &row_block->block, 1);
	row_block_describe_transposed(e->lower, row_block, entry);
}

/* 1 where there are blocks, else 0. */
static Size any_blocks(const Emit *e)
{
	Sizes *sizes = e->lower->sizes;
	int64_t block = e->row_block->block;
	bool whole = size_is(sizes, e->part->height, block);
	return whole ? size_ceil(sizes, size_floor(sizes, e->part->hi, block), BLOCKS_MOST)
		     : size_ceil(sizes, size_sub(sizes, e->part->hi, e->part->lo), block);
}

/* Copies that blocks read, where there are blocks: `for once in 0..floor(..)`. */
static Block where_needed(Emit *e, Kernel *whole, Block copies)
{
	Arena *arena = e->program->arena;
	Size once = any_blocks(e);
	if (copies.n == 0 || e->row_block->ndims == 1 || size_is(e->lower->sizes, once, 1))
		return copies;
	KernelIter iter = {sym_cstr(e->program->symbols, "once")};
	Kernel more = {.iters = &iter, .niters = 1};
	kernel_append_tables(arena, whole, &more);
	Body body = {0};
	PUSH(arena, body.stmts,
	     stmt_for(arena, whole->niters - 1, ix_const(e->program, 0), ix_size(arena, once),
		      copies));
	return body_block(&body);
}

/* The kernels' texts, one after another. */
static Block texts_of(Emit *e, Kernel *whole, const Kernel *kernels, uint32_t n)
{
	Body body = {0};
	for (uint32_t i = 0; i < n; i++)
		append_kernel(e, whole, &kernels[i], &body);
	return body_block(&body);
}

/* What sums over all rows begin with, in the first part. */
static void append_zeros(Emit *e, Kernel *whole, Body *body)
{
	for (uint32_t i = 0; i < e->row_block->nroots; i++)
		if (e->part == &e->row_block->parts[0] &&
		    row_block_carries(e->row_block, &e->row_block->roots[i])) {
			Kernel zeros = row_block_zeros(e->lower, &e->row_block->roots[i]);
			append_kernel(e, whole, &zeros, body);
		}
}

/* One kernel of those that fill copies and those of a block, row by row. */
static Kernel put_together(Emit *e, const Kernel *copies, const Kernel *kernels, uint32_t n)
{
	Lower *lower = e->lower;
	RowBlock *row_block = e->row_block;
	Arena *arena = e->program->arena;
	const Node *node = lower_node(lower, row_block->roots[row_block->nroots - 1].root);
	Kernel whole = {
		.name = name_of(e), .span = node->span, .site = node->site, .loop = lower->loop};
	Block transposed = texts_of(e, &whole, copies, row_block->ntransposed);
	const Stmt *blocks = stmt_for(arena, row_block->rows, ix_size(arena, e->part->lo),
				      ix_size(arena, e->part->hi), texts_of(e, &whole, kernels, n));
	Body all = {0};
	const Stmt *steps = stmt_step(arena, blocks, row_block->block);
	append_zeros(e, &whole, &all);
	body_append(arena, &all, where_needed(e, &whole, transposed));
	PUSH(arena, all.stmts, row_block->summed < 0 ? independent(arena, steps) : steps);
	whole.body = over_dims(e, body_block(&all));
	return whole;
}

/* All blocks of one height. */
static Kernel part_kernel(Emit *e)
{
	Lower *lower = e->lower;
	const RowBlock *row_block = e->row_block;
	Transform t = lower_transform(lower);
	Kernel copies[ROW_BLOCK_ENDS], kernels[ROW_BLOCK_ROOTS];
	for (uint32_t i = 0; i < row_block->ntransposed; i++)
		copies[i] = row_block_transposing(lower, &row_block->transposed[i],
						  &e->part->places[i]);
	for (uint32_t i = 0; i < row_block->nroots; i++)
		kernels[i] = kernel_of_tensor(lower, e->part->kernels[i]);
	uint32_t n = kernels_fuse(&t, kernels, row_block->nroots, row_block->ndims);
	for (uint32_t i = 0; i < n; i++)
		kernels[i].body = row_block_cut_masked(e->program, kernels[i].body);
	return put_together(e, copies, kernels, n);
}

void row_block_emit(Lower *lower, RowBlock *row_block)
{
	Emit e = {.lower = lower, .program = lower->program, .row_block = row_block};
	for (uint32_t i = 0; i < row_block->nbefore; i++)
		lower_emit_node(lower, row_block->before[i]);
	lower->row_block = row_block;
	for (uint32_t i = 0; i < row_block->nparts; i++) {
		e.part = row_block->part = &row_block->parts[i];
		lower_add_kernel(lower, part_kernel(&e));
		describe(&e);
	}
	lower->row_block = NULL;
	for (uint32_t i = 0; i < row_block->nroots; i++)
		if (!row_block_stores(row_block, i))
			buffer_forget(lower->program, lower->plan[row_block->roots[i].root].buffer);
	row_block_describe_passed(lower, row_block);
	for (uint32_t i = 0; i < row_block->nafter; i++)
		lower_emit_node(lower, row_block->after[i]);
}
