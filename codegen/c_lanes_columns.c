/* Squares of vectors transposed, in C: what is read along the first axis of a local is read from a
 * second array, its transpose, which is made where it is read first after the local was set.
 *
 *   local square : f32 [16, 16]
 *   unroll r in 0..16 / vector lane in 0..16: square[r, lane] = x[..]
 *   unroll r in 0..16 / vector lane in 0..16: y[..] = square[lane, r]
 *
 *   float square[16][16], square_columns[16][16];
 *   ...
 *   tsr_transpose_f32x16(&square_columns[0][0], &square[0][0]);
 *   ... *(tsr_f32x16 *)&y[..] = *(tsr_f32x16 *)&square_columns[r][lane];
 *
 * Once the loops are written out both are in registers.
 */
#include "codegen/c_lanes.h"
#include "loops/walk.h"
#include "loops/work.h"

/* ---- which locals ---- */

bool c_lanes_is_column(const KernelText *k, const Stmt *loop, LocalId local, const Ix *const *ixs,
		       uint32_t nixs)
{
	const KernelLocal *of = &k->kernel->locals[local];
	if (nixs != 2 || ixs[0]->kind != IX_ITER || ixs[0]->iter != loop->iter ||
	    ix_uses(ixs[1], loop->iter))
		return false;
	uint32_t n = of->extent[0];
	int64_t bytes = (int64_t)n * (int64_t)dtype_bytes(of->dtype),
		wide = (int64_t)n * (int64_t)dtype_bytes(dtype_wide(of->dtype));
	return !loop->lanes && n == of->extent[1] && n > 1 && (n & (n - 1)) == 0 &&
	       bytes >= C_PART_BYTES && n <= C_LANES_MOST &&
	       wide <= k->m->program->options.target->vector_bytes &&
	       vector_lanes(k->m->program, loop) == n;
}

typedef struct Columns {
	KernelText *k;
	const Stmt *loop; /* of lanes, that is open; NULL: none */
	bool *read;	  /* by LocalId */
} Columns;

static void see_value(void *of, const Value *value)
{
	Columns *c = of;
	if (value->kind == VALUE_LOCAL && c->loop &&
	    c_lanes_is_column(c->k, c->loop, value->local, value->ixs, value->nixs))
		c->read[value->local] = true;
}

static void see_stmt(Columns *c, const Stmt *stmt)
{
	bool lanes = stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR;
	if (lanes)
		c->loop = stmt;
	if (stmt->value)
		value_each(stmt->value, see_value, c);
	for (uint32_t i = 0; i < stmt->body.n; i++)
		see_stmt(c, stmt->body.stmts[i]);
	if (lanes)
		c->loop = NULL;
}

bool *c_columns_read(KernelText *k, Block block)
{
	Columns c = {.k = k, .read = ARENA_ARRAY(k->arena, bool, k->kernel->nlocals + 1)};
	for (uint32_t i = 0; i < block.n; i++)
		see_stmt(&c, block.stmts[i]);
	return c.read;
}

/* ---- where transposes are made ---- */

static void put_transpose(KernelText *k, LocalId id)
{
	const KernelLocal *local = &k->kernel->locals[id];
	const char *type = c_vector_type(k->arena, local->dtype, (int)local->extent[0]);
	c_vector_use(k->m, local->dtype, (int)local->extent[0]);
	k->m->c_vectors->squares[c_vector_dtype(local->dtype)] |= (uint64_t)1 << local->extent[0];
	c_kernel_indent(k);
	fprintf(k->out, "%s((%s *)%s, (const %s *)%s);\n", c_transpose_function(k->arena, type),
		type, k->columns[id], type, k->locals[id]);
	k->transposed[id] = true;
}

void c_columns_before(KernelText *k, const Stmt *stmt)
{
	const Block one = {.stmts = &stmt, .n = 1};
	const bool *read = k->has_columns ? c_columns_read(k, one) : NULL;
	for (LocalId id = 0; read && id < k->kernel->nlocals; id++)
		if (block_sets_local(one, id))
			k->transposed[id] = false;
		else if (read[id] && !k->transposed[id])
			put_transpose(k, id);
}

bool *c_columns_enter(KernelText *k)
{
	bool *before = ARENA_ARRAY(k->arena, bool, k->kernel->nlocals + 1);
	for (LocalId id = 0; k->has_columns && id < k->kernel->nlocals; id++)
		before[id] = k->transposed[id];
	return before;
}

void c_columns_leave(KernelText *k, const bool *before)
{
	for (LocalId id = 0; k->has_columns && id < k->kernel->nlocals; id++)
		k->transposed[id] = before[id];
}
