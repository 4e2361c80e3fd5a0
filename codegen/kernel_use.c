/* One walk over a kernel's statements, in their order. Expressions may share sub-trees: a value
 * that was seen already is not walked again, so the walk takes time linear in the size of the
 * graph. */
#include "codegen/kernel_use.h"
#include "loops/group.h"
#include "loops/walk.h"

#include "base/diag.h"
#include "base/pointer_map.h"
#include "base/size_program.h"

typedef struct Walk {
	const Program *program;
	Arena *arena;
	KernelUse *use;
	PointerMap seen;
	bool *used, *opened; /* by IterVar */
	bool *declared;	     /* by LocalId */
} Walk;

static void walk_value(Walk *w, const Value *value);
static void walk_block(Walk *w, Block block);

static bool seen_before(Walk *w, const void *item)
{
	return (*pointer_map_at(&w->seen, item))++ > 0;
}

/* Constants are in the code; other sizes are arguments or are computed from the dims. */
static void use_size(Walk *w, Size size)
{
	int64_t constant;
	if (size_is_const(w->program->sizes, size, &constant))
		return;
	KernelUse *use = w->use;
	for (size_t i = 0; i < use->sizes.n; i++)
		if (size_same(use->sizes.at[i], size))
			return;
	PUSH(w->arena, use->sizes, size);
}

static void use_buffer(Walk *w, BufferId buffer, bool written)
{
	KernelUse *use = w->use;
	for (size_t i = 0; i < use->buffers.n; i++)
		if (use->buffers.at[i].buffer == buffer) {
			use->buffers.at[i].written |= written;
			return;
		}
	PUSH(w->arena, use->buffers, ((KernelBuffer){.buffer = buffer, .written = written}));
}

static void use_scalar(Walk *w, const Value *value)
{
	KernelUse *use = w->use;
	for (size_t i = 0; i < use->scalars.n; i++)
		if (use->scalars.at[i].scalar == value->scalar)
			return;
	PUSH(w->arena, use->scalars, ((ScalarUse){value->scalar, value->dtype}));
}

static void walk_ix(Walk *w, const Ix *ix)
{
	if (!ix || seen_before(w, ix))
		return;
	if (ix->kind == IX_SIZE)
		use_size(w, ix->size);
	else if (ix->kind == IX_ITER)
		w->used[ix->iter] = true;
	else if (ix->kind == IX_VALUE)
		walk_value(w, ix->value);
	w->use->indices[ix->kind] = true;
	walk_ix(w, ix->a);
	walk_ix(w, ix->b);
}

static void walk_ixs(Walk *w, const Ix *const *ixs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		walk_ix(w, ixs[i]);
}

static void walk_value(Walk *w, const Value *value)
{
	if (!value || seen_before(w, value))
		return;
	for (uint32_t i = 0; i < value->nargs; i++)
		walk_value(w, value->args[i]);
	switch (value->kind) {
	case VALUE_LOAD:
		walk_ix(w, value->ix);
		use_buffer(w, value->buffer, false);
		w->use->halves[w->program->buffers.at[value->buffer].dtype] = true;
		break;
	case VALUE_LOCAL:
		walk_ixs(w, value->ixs, value->nixs);
		w->use->needs_locals |= !w->declared[value->local];
		break;
	case VALUE_INDEX:
		walk_ix(w, value->ix);
		w->use->casts[DTYPE_I64][value->dtype] = true;
		break;
	case VALUE_SCALAR: use_scalar(w, value); break;
	case VALUE_OP:
		(value->fast_path ? w->use->fast_path : w->use->ops)[value->op][value->dtype] =
			true;
		break;
	case VALUE_FAR: w->use->far[value->op][value->args[0]->dtype] = true; break;
	case VALUE_CAST: w->use->casts[value->args[0]->dtype][value->dtype] = true; break;
	case VALUE_KEY: w->use->keys[value->args[0]->dtype] = true; break;
	case VALUE_CONST: break;
	}
}

/* A statement that writes: its value, its place, and the operation it accumulates with. */
static void walk_target(Walk *w, const Stmt *stmt)
{
	walk_value(w, stmt->value);
	walk_ixs(w, stmt->ixs, stmt->nixs);
	walk_ix(w, stmt->ix);
	w->use->streams |= stmt_is_stream(NULL, stmt);
	if (stmt->kind == LOOP_STORE)
		use_buffer(w, stmt->buffer, true);
	else if (stmt->kind == LOOP_LOCAL)
		w->declared[stmt->local] = true;
	else
		w->use->needs_locals |= !w->declared[stmt->local];
	if (stmt->kind != LOOP_LOCAL && stmt->acc != OP_NONE)
		w->use->ops[stmt->acc][stmt->value->dtype] = true;
}

static void use_check(Walk *w, const Stmt *stmt)
{
	walk_ix(w, stmt->lo);
	walk_ix(w, stmt->ix);
	walk_ix(w, stmt->hi);
	for (size_t i = 0; i < w->use->checks.n; i++)
		if (w->use->checks.at[i] == stmt->check)
			return;
	PUSH(w->arena, w->use->checks, stmt->check);
}

/* The sizes are those of the map that the launch makes. */
static void use_boxes(Walk *w, const Stmt *stmt)
{
	walk_ix(w, stmt->ix);
	use_buffer(w, stmt->buffer, true);
	use_buffer(w, box_tensor(stmt), is_box_loop(stmt));
	for (uint32_t i = 0; i < stmt->naxes; i++) {
		walk_ix(w, stmt->axes[i].at);
		use_size(w, stmt->axes[i].extent);
		use_size(w, stmt->axes[i].stride);
		if (stmt->axes[i].step)
			use_size(w, stmt->axes[i].windows);
	}
	walk_ix(w, stmt->window);
	PUSH(w->arena, w->use->copies, stmt);
}

static void use_copy(Walk *w, const Stmt *stmt)
{
	use_boxes(w, stmt);
	walk_ix(w, stmt->visit);
	use_buffer(w, stmt->mbarrier, true);
}

static void walk_conds(Walk *w, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		walk_ix(w, stmt->conds[i].a);
		walk_ix(w, stmt->conds[i].b);
	}
}

static void walk_stmt(Walk *w, const Stmt *stmt)
{
	switch (stmt->kind) {
	case LOOP_FOR:
		w->opened[stmt->iter] = true;
		w->use->parallel |= stmt->loop == LOOP_PARALLEL || stmt->loop == LOOP_GRID;
		w->use->slots |= stmt->nslots > 0;
		if (stmt->loop == LOOP_PARALLEL)
			PUSH(w->arena, w->use->chunks, stmt);
		walk_ix(w, stmt->lo);
		walk_ix(w, stmt->hi);
		if (is_box_loop(stmt))
			use_boxes(w, stmt);
		break;
	case LOOP_IF: walk_conds(w, stmt); break;
	case LOOP_LOCAL:
	case LOOP_SET:
	case LOOP_STORE:
		walk_conds(w, stmt);
		walk_target(w, stmt);
		break;
	case LOOP_CHECK: use_check(w, stmt); break;
	/* the address is a parameter as for a load, though nothing is read */
	case LOOP_PREFETCH:
		walk_ix(w, stmt->ix);
		use_buffer(w, stmt->buffer, false);
		w->use->prefetches = true;
		break;
	case LOOP_COPY: use_copy(w, stmt); break;
	case LOOP_ARRIVE:
	case LOOP_AWAIT:
		walk_ix(w, stmt->visit);
		use_buffer(w, stmt->mbarrier, true);
		break;
	case LOOP_BARRIER:
	case LOOP_COMMIT:
	case LOOP_WAIT: break;
	}
	if (stmt->kind == LOOP_FOR || stmt->kind == LOOP_IF)
		walk_block(w, stmt->body);
}

static void walk_block(Walk *w, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		walk_stmt(w, block.stmts[i]);
}

static bool uses_dim(const KernelUse *use, DimId dim)
{
	for (size_t i = 0; i < use->dims.n; i++)
		if (use->dims.at[i] == dim)
			return true;
	return false;
}

/* A size is computed at the entry from its dims, which are parameters of the function. */
static void collect_dims(Walk *w, Size size)
{
	SizeOp *ops;
	size_t n = size_program(w->arena, w->program->sizes, size, &ops);
	for (size_t i = 0; i < n; i++)
		if (ops[i].code == SIZE_DIM && !uses_dim(w->use, (DimId)ops[i].arg))
			PUSH(w->arena, w->use->dims, (DimId)ops[i].arg);
}

/* The elements whose addresses the caller passes, beside the buffers. */
static void set_bases(KernelUse *use, KernelBases bases)
{
	for (size_t i = 0; i < bases.n; i++)
		use->buffers.at[kernel_use_buffer(use, bases.at[i].buffer)].base = bases.at[i].base;
}

KernelUse *kernel_use(const Program *program, const Kernel *kernel, KernelBases bases, Arena *arena)
{
	Walk w = {.program = program, .arena = arena, .use = ARENA_NEW(arena, KernelUse)};
	w.seen.arena = arena;
	w.used = ARENA_ARRAY(arena, bool, kernel->niters + 1);
	w.opened = ARENA_ARRAY(arena, bool, kernel->niters + 1);
	w.declared = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	walk_block(&w, kernel->body);
	for (IterVar i = 0; i < kernel->niters; i++)
		if (w.used[i] && !w.opened[i])
			PUSH(arena, w.use->iters, i);
	for (size_t i = 0; i < w.use->sizes.n; i++)
		collect_dims(&w, w.use->sizes.at[i]);
	set_bases(w.use, bases);
	return w.use;
}

uint32_t kernel_use_buffer(const KernelUse *use, BufferId buffer)
{
	for (uint32_t i = 0; i < use->buffers.n; i++)
		if (use->buffers.at[i].buffer == buffer)
			return i;
	BUG("buffer %u is not in the kernel's list", buffer);
}

uint32_t kernel_use_scalar(const KernelUse *use, uint32_t scalar)
{
	for (uint32_t i = 0; i < use->scalars.n; i++)
		if (use->scalars.at[i].scalar == scalar)
			return i;
	BUG("scalar %u is not in the kernel's list", scalar);
}

uint32_t kernel_use_chunks(const KernelUse *use, const Stmt *loop)
{
	for (uint32_t i = 0; i < use->chunks.n; i++)
		if (use->chunks.at[i] == loop)
			return i;
	BUG("a parallel loop is not in the kernel's list");
}
