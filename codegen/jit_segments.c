/* Which locals of a kernel live in registers, and in which segments of lanes.
 *
 * The kernel is walked once: a local is in registers where every access names its row by unrolled
 * iterators and constants, and its last index is the lane of a vector loop or is fixed likewise, or
 * where lanes are gathered (jit_strided.c).
 * Such a local gets a variable for each row and segment; any other is an array in memory.
 */
#include "codegen/jit_segments.h"
#include "codegen/jit_function.h"
#include "loops/linear.h"
#include "loops/walk.h"

enum { SEGMENTS_MAX = 1024 };

/* ---- segments ---- */

int jit_segment_log(const KernelJit *k, Dtype dtype, int64_t at, int64_t extent)
{
	int bytes = dtype_bytes(dtype_wide(dtype)), log = 0;
	while ((2 << log) * bytes <= k->f.jit->vector_bytes && at + (2 << log) <= extent)
		log++;
	return (1 << log) * bytes < 16 ? 0 : log;
}

static uint32_t count_segments(const KernelJit *k, Dtype dtype, int64_t extent)
{
	uint32_t n = 0;
	for (int64_t at = 0; at < extent; n++)
		at += 1 << jit_segment_log(k, dtype, at, extent);
	return n;
}

Type *jit_segment_type(const KernelJit *k, Dtype dtype, int log)
{
	return log ? jit_vector_type(k->f.jit, dtype, log) : k->f.jit->types[dtype];
}

/* ---- which locals live in registers ---- */

typedef struct Plan {
	KernelJit *k;
	LoopKind *kinds;    /* by IterVar: of the loops that are open */
	const Stmt *vector; /* the open loop of lanes; NULL: none */
	bool *never;	    /* by LocalId: indexed by what is no constant */
	bool *alone;	    /* by LocalId: one element is set outside of lanes */
} Plan;

int64_t jit_constant_ix(const KernelJit *k, const Ix *ix)
{
	int64_t constant;
	REQUIRE(ix->kind == IX_SIZE && size_is_const(k->program->sizes, ix->size, &constant));
	return constant;
}

/* Is the index a constant once loops are unrolled and lanes cut? */
static bool is_fixed(const Plan *p, const Ix *ix)
{
	int64_t constant;
	switch (ix->kind) {
	case IX_SIZE: return size_is_const(p->k->program->sizes, ix->size, &constant);
	case IX_ITER: return p->kinds[ix->iter] != LOOP_SERIAL;
	case IX_ADD:
	case IX_MUL:
	case IX_DIV:
	case IX_MOD: return is_fixed(p, ix->a) && is_fixed(p, ix->b);
	default: return false;
	}
}

static bool in_lanes(const Plan *p, const Ix *const *ixs, uint32_t nixs)
{
	return p->vector && nixs && ix_uses(ixs[nixs - 1], p->vector->iter);
}

bool jit_is_transposed(const Stmt *vector, const Ix *const *ixs, uint32_t nixs)
{
	return vector && nixs == 2 && ix_uses(ixs[0], vector->iter) &&
	       !ix_uses(ixs[1], vector->iter);
}

/* Does a term of the sum have the iterator times a number? */
static bool is_strided(const Ix *ix, IterVar iter)
{
	if (ix->kind == IX_ADD)
		return is_strided(ix->a, iter) || is_strided(ix->b, iter);
	return ix->kind == IX_MUL && ix_uses(ix, iter);
}

bool jit_is_gathered(const Stmt *vector, const Ix *const *ixs, uint32_t nixs)
{
	bool gathered = false;
	if (!vector || jit_is_transposed(vector, ixs, nixs))
		return false;
	for (uint32_t i = 0; i < nixs; i++)
		gathered |= ix_uses(ixs[i], vector->iter) && (i + 1 < nixs || ix_divides(ixs[i]) ||
							      is_strided(ixs[i], vector->iter));
	return gathered;
}

static bool transposes_whole(const Plan *p, LocalId id, const Ix *const *ixs)
{
	const KernelLocal *local = &p->k->kernel->locals[id];
	int64_t lanes = vector_lanes(p->k->program, p->vector);
	return ixs[0]->kind == IX_ITER && lanes == local->extent[0] &&
	       jit_transpose_fits(p->k->f.jit, local->dtype, local->extent[0], local->extent[1]);
}

static void plan_access(Plan *p, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	for (uint32_t i = 0; i < nixs; i++)
		p->never[local] |= !is_fixed(p, ixs[i]);
	if (jit_is_transposed(p->vector, ixs, nixs))
		p->never[local] |= !transposes_whole(p, local, ixs);
	p->k->registers[local].lanes |= in_lanes(p, ixs, nixs);
}

static void plan_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOCAL)
		plan_access(of, value->local, value->ixs, value->nixs);
}

static void plan_block(Plan *p, Block block);

static void plan_for(Plan *p, const Stmt *stmt)
{
	bool constant = stmt->loop == LOOP_UNROLL || stmt->loop == LOOP_VECTOR;
	p->kinds[stmt->iter] = constant ? stmt->loop : LOOP_SERIAL;
	p->k->scheduled |= constant;
	p->vector = stmt->loop == LOOP_VECTOR ? stmt : NULL;
	plan_block(p, stmt->body);
	p->vector = NULL;
	p->kinds[stmt->iter] = LOOP_SERIAL;
}

/* A local of one element, declared inside lanes, is one element a lane. */
static void plan_local(Plan *p, const Stmt *stmt)
{
	Registers *r = &p->k->registers[stmt->local];
	const KernelLocal *local = &p->k->kernel->locals[stmt->local];
	r->extent = local->rank ? local->extent[local->rank - 1] : 1;
	if (p->vector) {
		r->lanes = true;
		r->extent = (uint32_t)vector_lanes(p->k->program, p->vector);
	}
}

static void plan_block(Plan *p, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind == LOOP_LOCAL)
			plan_local(p, stmt);
		if (stmt->kind == LOOP_SET) {
			plan_access(p, stmt->local, stmt->ixs, stmt->nixs);
			p->alone[stmt->local] |= stmt->nixs && !in_lanes(p, stmt->ixs, stmt->nixs);
		}
		if (stmt->value)
			value_each(stmt->value, plan_value, p);
		if (stmt->ix)
			ix_each_value(stmt->ix, plan_value, p);
		if (stmt->kind == LOOP_FOR)
			plan_for(p, stmt);
		else
			plan_block(p, stmt->body);
	}
}

uint32_t jit_local_rows(const KernelLocal *local)
{
	uint32_t rows = 1;
	for (uint32_t i = 0; i + 1 < local->rank; i++)
		rows *= local->extent[i];
	return rows;
}

static void declare_segments(KernelJit *k, LocalId id)
{
	const KernelLocal *local = &k->kernel->locals[id];
	Registers *r = &k->registers[id];
	uint32_t rows = jit_local_rows(local);
	r->nsegments = r->lanes ? count_segments(k, local->dtype, r->extent) : r->extent;
	r->segments = ARENA_ARRAY(k->f.jit->arena, Lvalue *, rows * r->nsegments);
	for (uint32_t row = 0; row < rows; row++)
		for (int64_t at = 0, i = 0; at < r->extent; i++) {
			int log = r->lanes ? jit_segment_log(k, local->dtype, at, r->extent) : 0;
			const char *name =
				arena_printf(k->f.jit->arena, "%s_%u_%d", local->name, row, (int)i);
			r->segments[row * r->nsegments + i] =
				jit_local(&k->f, jit_segment_type(k, local->dtype, log), name);
			at += 1 << log;
		}
}

void jit_segments_plan(KernelJit *k)
{
	const Kernel *kernel = k->kernel;
	Arena *arena = k->f.jit->arena;
	Plan p = {.k = k, .kinds = ARENA_ARRAY(arena, LoopKind, kernel->niters + 1)};
	p.never = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	p.alone = ARENA_ARRAY(arena, bool, kernel->nlocals + 1);
	k->registers = ARENA_ARRAY(arena, Registers, kernel->nlocals + 1);
	plan_block(&p, kernel->body);
	for (LocalId id = 0; k->scheduled && id < kernel->nlocals; id++) {
		Registers *r = &k->registers[id];
		bool array = kernel->locals[id].rank > 0;
		r->used = (array || r->lanes) && !p.never[id] && !(r->lanes && p.alone[id]) &&
			  r->extent * jit_local_rows(&kernel->locals[id]) <= SEGMENTS_MAX;
		if (r->used)
			declare_segments(k, id);
	}
}
