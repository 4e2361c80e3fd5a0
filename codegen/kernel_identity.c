/* A digest of a kernel's structure: XXH3-128 over a serialisation in which buffers, scalars and
 * dims stand as their positions in the kernel's lists. Equal digests: one function serves both
 * kernels, of one program or of two.
 */
#include <xxhash.h>

#include "codegen/kernel_use.h"
#include "loops/group.h"

#include "base/diag.h"
#include "base/pointer_map.h"
#include "base/size_program.h"

typedef struct Writer {
	const Program *program;
	const KernelUse *use;
	Arena *arena;
	PointerMap values; /* numbered from 1 */
	uint64_t nvalues;
	VEC(uint64_t) words;
} Writer;

/* Words that say what follows, so that no two structures give one list of words. */
enum { MARK_IX = 0x100, MARK_VALUE = 0x200, MARK_SEEN = 0x280, MARK_STMT = 0x300 };

static void put_value(Writer *w, const Value *value);
static void put_block(Writer *w, Block block);

static void put(Writer *w, uint64_t value)
{
	PUSH(w->arena, w->words, value);
}

static uint64_t dim_position(const Writer *w, DimId dim)
{
	for (size_t i = 0; i < w->use->dims.n; i++)
		if (w->use->dims.at[i] == dim)
			return i;
	BUG("dim %u is not in the kernel's list", dim);
}

/* The postfix program of the size over the positions of its dims: what a dim is called, and how the
 * caller numbers it, is no part of the structure. */
static void put_size(Writer *w, Size size)
{
	int64_t constant;
	if (size_is_const(w->program->sizes, size, &constant)) {
		put(w, SIZE_CONST);
		put(w, (uint64_t)constant);
		return;
	}
	SizeOp *ops;
	size_t n = size_program(w->arena, w->program->sizes, size, &ops);
	put(w, MARK_IX + n);
	for (size_t i = 0; i < n; i++) {
		put(w, (uint64_t)ops[i].code);
		put(w, ops[i].code == SIZE_DIM ? dim_position(w, (DimId)ops[i].arg)
					       : (uint64_t)ops[i].arg);
	}
}

static void put_ix(Writer *w, const Ix *ix)
{
	put(w, ix ? MARK_IX + (uint64_t)ix->kind : 0);
	if (!ix)
		return;
	switch (ix->kind) {
	case IX_SIZE: put_size(w, ix->size); break;
	case IX_ITER: put(w, ix->iter); break;
	case IX_VALUE: put_value(w, ix->value); break;
	default:
		put_ix(w, ix->a);
		put_ix(w, ix->b);
	}
}

static void put_ixs(Writer *w, const Ix *const *ixs, uint32_t n)
{
	put(w, n);
	for (uint32_t i = 0; i < n; i++)
		put_ix(w, ixs[i]);
}

/* Which of the caller's pointers it is, and what the code must know of it; neither its name nor
 * where it lies. */
static void put_buffer(Writer *w, BufferId buffer)
{
	put(w, kernel_use_buffer(w->use, buffer));
	const Buffer *b = &w->program->buffers.at[buffer];
	put(w, (uint64_t)b->dtype | (uint64_t)b->swizzled << 8 | (uint64_t)b->cluster << 9 |
		       (uint64_t)b->arrivals << 16);
	if (b->arrivals) /* the code knows how long the ring is */
		put_size(w, b->elements);
}

static uint64_t value_detail(const Writer *w, const Value *value)
{
	switch (value->kind) {
	case VALUE_LOCAL: return value->local;
	case VALUE_CONST: return (uint64_t)value->constant.i;
	case VALUE_OP:
	case VALUE_FAR: return (uint64_t)value->op | (uint64_t)value->fast_path << 32;
	case VALUE_SCALAR: return kernel_use_scalar(w->use, value->scalar);
	default: return 0;
	}
}

/* A value that was written already is written as its number. */
static void put_value(Writer *w, const Value *value)
{
	uint64_t *known = pointer_map_at(&w->values, value);
	if (*known) {
		put(w, MARK_SEEN);
		put(w, *known);
		return;
	}
	*known = ++w->nvalues;
	put(w, MARK_VALUE + (uint64_t)value->kind);
	put(w, (uint64_t)value->dtype);
	put(w, value_detail(w, value));
	if (value->kind == VALUE_LOAD)
		put_buffer(w, value->buffer);
	put_ix(w, value->ix);
	put_ixs(w, value->ixs, value->nixs);
	put(w, value->nargs);
	for (uint32_t i = 0; i < value->nargs; i++)
		put_value(w, value->args[i]);
}

static void put_axes(Writer *w, const Stmt *stmt)
{
	put(w, stmt->naxes);
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		put_ix(w, stmt->axes[i].at);
		put_size(w, stmt->axes[i].extent);
		put_size(w, stmt->axes[i].stride);
		put(w, (uint64_t)stmt->axes[i].box);
		put(w, (uint64_t)stmt->axes[i].low);
		put(w, (uint64_t)stmt->axes[i].step);
		if (stmt->axes[i].step)
			put_size(w, stmt->axes[i].windows);
	}
	put_ix(w, stmt->window);
}

static void put_completion(Writer *w, const Stmt *stmt)
{
	put_buffer(w, stmt->mbarrier);
	put_ix(w, stmt->visit);
	put(w, (uint64_t)stmt->bytes);
	put_axes(w, stmt);
}

static void put_boxes(Writer *w, const Stmt *stmt)
{
	put_buffer(w, stmt->buffer);
	put_buffer(w, stmt->tensor);
	put_axes(w, stmt);
}

static void put_stmt(Writer *w, const Stmt *stmt)
{
	put(w, MARK_STMT + (uint64_t)stmt->kind);
	if (stmt->kind == LOOP_FOR) {
		put(w, stmt->iter);
		put(w, (uint64_t)stmt->loop | (uint64_t)stmt->lanes << 8 |
			       (uint64_t)stmt->outlined << 32);
		put(w, (uint64_t)stmt->step);
		put(w, stmt->independent);
		put(w, (uint64_t)stmt->nslots);
		put(w, (uint64_t)stmt->raster);
		put(w, stmt->nslots ? stmt->slot : 0);
		put(w, (uint64_t)stmt->threads);
	}
	put_ix(w, stmt->lo);
	put_ix(w, stmt->hi);
	put(w, stmt->nconds);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		put(w, (uint64_t)stmt->conds[i].kind);
		put_ix(w, stmt->conds[i].a);
		put_ix(w, stmt->conds[i].b);
	}
	if (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET)
		put(w, stmt->local);
	put(w, (uint64_t)stmt->acc);
	put_ixs(w, stmt->ixs, stmt->nixs);
	put_ix(w, stmt->ix);
	if (stmt->kind == LOOP_CHECK)
		put(w, stmt->check);
	if (stmt->kind == LOOP_PREFETCH)
		put(w, stmt->near);
	if (stmt->kind == LOOP_STORE)
		put(w, (uint64_t)stmt->stream << 1 | stmt->async);
	if (stmt->kind == LOOP_BARRIER)
		put(w, stmt->cluster);
	if (stmt->kind == LOOP_WAIT)
		put(w, (uint64_t)stmt->pending << 1 | stmt->products);
	if (stmt->visit)
		put_completion(w, stmt);
	if (is_box_loop(stmt))
		put_boxes(w, stmt);
	if (stmt->value)
		put_value(w, stmt->value);
	if (stmt->kind == LOOP_STORE || stmt->kind == LOOP_PREFETCH || stmt->kind == LOOP_COPY)
		put_buffer(w, stmt->buffer);
	put_block(w, stmt->body);
}

static void put_block(Writer *w, Block block)
{
	put(w, block.n);
	for (uint32_t i = 0; i < block.n; i++)
		put_stmt(w, block.stmts[i]);
}

/* Iterators and locals are their numbers: their names are for readers. */
Digest kernel_identity(const Program *program, const Kernel *kernel, const KernelUse *use)
{
	Writer w = {.program = program, .use = use, .arena = arena_new()};
	w.values.arena = w.arena;
	put(&w, kernel->niters);
	for (uint32_t i = 0; i < kernel->nlocals; i++) {
		put(&w, (uint64_t)kernel->locals[i].dtype);
		put(&w, kernel->locals[i].rank);
		put(&w, kernel->locals[i].nthreads);
		put(&w, (uint64_t)kernel->locals[i].role);
		put(&w, (uint64_t)kernel->locals[i].matrix);
		for (uint32_t axis = 0; axis < kernel->locals[i].rank; axis++)
			put(&w, kernel->locals[i].extent[axis]);
	}
	for (size_t i = 0; i < use->buffers.n; i++) {
		const Buffer *buffer = &program->buffers.at[use->buffers.at[i].buffer];
		if (buffer->shared) /* it is the function's own */
			put_size(&w, buffer->elements);
	}
	put_block(&w, kernel->body);
	XXH128_hash_t hash = XXH3_128bits(w.words.at, w.words.n * sizeof *w.words.at);
	arena_free(w.arena);
	return (Digest){hash.low64, hash.high64};
}
