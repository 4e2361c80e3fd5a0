/* Numbers of what decides, beside the facts of its scope, whether the indices of a statement stay
 * inside: its loops, its indices, the extents of what they are of. Layers of a model have
 * statements that differ in their buffers alone; one of them is looked at. Which buffer it is
 * counts where an index reads it.
 */
#include "base/hash.h"
#include "loops/bounds.h"

typedef struct Hasher {
	const Program *program;
	const Kernel *kernel;
	const BoundsReads *reads;
	Arena *arena;
	StmtKeys keys;
} Hasher;

static uint64_t of_read(const Hasher *h, const Value *value);

static uint64_t of_ix(const Hasher *h, const Ix *ix)
{
	uint64_t kind = (uint64_t)ix->kind << 32;
	switch (ix->kind) {
	case IX_SIZE: return hash_mix(kind, ix->size.id);
	case IX_ITER: return hash_mix(kind, ix->iter);
	case IX_VALUE: return hash_mix(kind, of_read(h, ix->value));
	default: return hash_mix(hash_mix(kind, of_ix(h, ix->a)), of_ix(h, ix->b));
	}
}

static uint64_t of_ixs(const Hasher *h, uint64_t key, const Ix *const *ixs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		key = hash_mix(key, of_ix(h, ixs[i]));
	return key;
}

static uint64_t of_buffer(const Hasher *h, BufferId buffer, const Ix *ix)
{
	return hash_mix(h->program->buffers.at[buffer].elements.id, of_ix(h, ix));
}

static uint64_t of_local(const Hasher *h, LocalId local, const Ix *const *ixs, uint32_t n)
{
	uint64_t key = n;
	for (uint32_t i = 0; i < n; i++)
		key = hash_mix(key, h->kernel->locals[local].extent[i]);
	return of_ixs(h, key, ixs, n);
}

/* The whole of a value that an index reads. */
static uint64_t of_read(const Hasher *h, const Value *value)
{
	uint64_t key = hash_mix((uint64_t)value->kind << 32 | value->dtype, value->op);
	if (value->kind == VALUE_LOAD) {
		key = hash_mix(hash_mix(key, value->buffer), h->reads->checked[value->buffer].id);
		key = hash_mix(key, h->reads->stored[value->buffer]);
	}
	if (value->kind == VALUE_LOCAL) {
		key = hash_mix(hash_mix(key, value->local), h->reads->set[value->local]);
		key = hash_mix(key, of_local(h, value->local, value->ixs, value->nixs));
	}
	if (value->kind == VALUE_SCALAR)
		key = hash_mix(hash_mix(key, value->scalar), h->reads->scalars[value->scalar].id);
	if (value->kind == VALUE_CONST)
		key = hash_mix(key, (uint64_t)value->constant.i);
	if (value->ix)
		key = hash_mix(key, of_ix(h, value->ix));
	for (uint32_t i = 0; i < value->nargs; i++)
		key = hash_mix(key, of_read(h, value->args[i]));
	return key;
}

/* The indices in a value. */
static uint64_t of_value(const Hasher *h, uint64_t key, const Value *value)
{
	if (value->kind == VALUE_LOAD)
		return hash_mix(key, of_buffer(h, value->buffer, value->ix));
	if (value->kind == VALUE_LOCAL)
		return hash_mix(key, of_local(h, value->local, value->ixs, value->nixs));
	if (value->kind == VALUE_INDEX)
		return hash_mix(key, of_ix(h, value->ix));
	for (uint32_t i = 0; i < value->nargs; i++)
		key = of_value(h, key, value->args[i]);
	return key;
}

static uint64_t of_block(Hasher *h, Block block);

static uint64_t of_loop(Hasher *h, uint64_t key, const Stmt *loop)
{
	key = hash_mix(hash_mix(key, loop->iter), (uint64_t)loop->step);
	key = hash_mix(hash_mix(key, loop->slot), (uint64_t)loop->nslots);
	key = hash_mix(hash_mix(key, of_ix(h, loop->lo)), of_ix(h, loop->hi));
	return hash_mix(key, of_block(h, loop->body));
}

static uint64_t of_conds(Hasher *h, uint64_t key, const Stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		const Cond *cond = &stmt->conds[i];
		key = hash_mix(hash_mix(key, cond->kind), of_ix(h, cond->a));
		key = hash_mix(key, of_ix(h, cond->b));
	}
	return key;
}

static uint64_t of_check(const Hasher *h, uint64_t key, const Stmt *stmt)
{
	key = hash_mix(hash_mix(key, of_ix(h, stmt->lo)), of_ix(h, stmt->hi));
	return hash_mix(key, of_ix(h, stmt->ix));
}

static uint64_t of_stmt(Hasher *h, const Stmt *stmt)
{
	uint64_t key = (uint64_t)stmt->kind << 32;
	switch (stmt->kind) {
	case LOOP_FOR: return of_loop(h, key, stmt);
	case LOOP_IF: return hash_mix(of_conds(h, key, stmt), of_block(h, stmt->body));
	case LOOP_LOCAL: return of_value(h, hash_mix(key, stmt->local), stmt->value);
	case LOOP_SET:
		key = hash_mix(key, of_local(h, stmt->local, stmt->ixs, stmt->nixs));
		return of_value(h, key, stmt->value);
	case LOOP_STORE:
		key = hash_mix(of_conds(h, key, stmt), of_buffer(h, stmt->buffer, stmt->ix));
		return of_value(h, key, stmt->value);
	case LOOP_CHECK: return of_check(h, key, stmt);
	case LOOP_BARRIER:
	case LOOP_COMMIT:
	case LOOP_WAIT:
	case LOOP_ARRIVE:
	case LOOP_AWAIT: return key;
	case LOOP_COPY:
		for (uint32_t i = 0; i < stmt->naxes; i++)
			key = hash_mix(
				hash_mix(key, stmt->axes[i].extent.id),
				hash_mix(stmt->axes[i].stride.id, of_ix(h, stmt->axes[i].at)));
		if (stmt->window)
			key = hash_mix(key, of_ix(h, stmt->window));
		return hash_mix(key, of_buffer(h, stmt->buffer, stmt->ix));
	default: return hash_mix(key, of_ix(h, stmt->ix));
	}
}

static uint64_t of_block(Hasher *h, Block block)
{
	uint64_t key = block.n;
	for (uint32_t i = 0; i < block.n; i++) {
		size_t at = h->keys.n;
		PUSH(h->arena, h->keys, ((StmtKey){0}));
		uint64_t own = of_stmt(h, block.stmts[i]);
		h->keys.at[at] = (StmtKey){own, (uint32_t)(h->keys.n - at)};
		key = hash_mix(key, own);
	}
	return key;
}

StmtKeys bounds_keys(Arena *arena, const Program *program, const Kernel *kernel,
		     const BoundsReads *reads)
{
	Hasher h = {.program = program, .kernel = kernel, .reads = reads, .arena = arena};
	of_block(&h, kernel->body);
	return h.keys;
}

uint64_t bounds_read_key(const Program *program, const Kernel *kernel, const BoundsReads *reads,
			 const Value *value)
{
	Hasher h = {.program = program, .kernel = kernel, .reads = reads};
	return of_read(&h, value);
}
