/* Recognizes nests of loops of a warp: see fragment.h. */
#include "loops/fragment.h"

#include "loops/build.h"
#include "loops/linear.h"
#include "loops/walk.h"

enum { ROW_ELEMENTS = 8 }; /* that a load takes side by side */

typedef struct Recognize {
	Program *program;
	const Kernel *kernel;
	WarpNest *nest;
	const char *rule;
} Recognize;

static bool runs_in_warp(const void *of, const Stmt *stmt)
{
	(void)of;
	return is_warp_loop(stmt);
}

bool block_has_warp_loops(const Block *block) { return block_find(*block, runs_in_warp, NULL); }

bool fragment_is_paired(const KernelLocal *local)
{
	return (local->role == ROLE_A || local->role == ROLE_B) &&
	       matrix_row(local->matrix)->format != FORMAT_TF32;
}

static int64_t trips(const Recognize *r, const Stmt *loop)
{
	int64_t n = 0;
	bool whole = loop->step == 1 && loop->lo->kind == IX_SIZE && loop->hi->kind == IX_SIZE &&
		     size_is(r->program->sizes, loop->lo->size, 0) &&
		     size_is_const(r->program->sizes, loop->hi->size, &n);
	return whole ? n : 0;
}

static const KernelLocal *local_of(const Recognize *r, LocalId local)
{
	return &r->kernel->locals[local];
}

static bool is_iter(const Ix *ix, const Stmt *loop)
{
	return ix->kind == IX_ITER && ix->iter == loop->iter;
}

/* Are the last two indices the iterators of the loops, and the others made of other ones? */
static bool is_at(const Ix *const *ixs, uint32_t nixs, const Stmt *row, const Stmt *column)
{
	bool at = nixs >= 2 && is_iter(ixs[nixs - 2], row) && is_iter(ixs[nixs - 1], column);
	for (uint32_t i = 0; at && i + 2 < nixs; i++)
		at = !ix_uses(ixs[i], row->iter) && !ix_uses(ixs[i], column->iter);
	return at;
}

static bool covers(const Recognize *r, const KernelLocal *local, const Stmt *row,
		   const Stmt *column)
{
	return trips(r, row) == matrix_rows(local->matrix, local->role) &&
	       trips(r, column) == matrix_columns(local->matrix, local->role);
}

/* ---- elements ---- */

/* Where a thread's elements are is the same for sums of all instructions, as for equal operands. */
static bool is_alike(const WarpNest *nest, const KernelLocal *local)
{
	return nest->role == local->role &&
	       (nest->role == ROLE_ACCUMULATOR || nest->op == local->matrix);
}

static void see_fragment(Recognize *r, LocalId id, const Ix *const *ixs, uint32_t nixs)
{
	const KernelLocal *local = local_of(r, id);
	WarpNest *nest = r->nest;
	if (local->role == ROLE_NONE)
		return;
	if (nest->role == ROLE_NONE) {
		nest->role = local->role;
		nest->op = local->matrix;
	}
	bool fits = is_alike(nest, local) && !fragment_is_paired(local) &&
		    covers(r, local, nest->row, nest->column) &&
		    is_at(ixs, nixs, nest->row, nest->column);
	r->rule = fits ? r->rule : "threads of a warp at elements that they do not hold";
}

static void see_value(void *of, const Value *value)
{
	if (value->kind == VALUE_LOCAL)
		see_fragment(of, value->local, value->ixs, value->nixs);
}

static void see_stmt(void *of, const Stmt *stmt)
{
	Recognize *r = of;
	bool loop = stmt->kind == LOOP_FOR && stmt->loop != LOOP_SERIAL &&
		    stmt->loop != LOOP_UNROLL;
	if (r->rule)
		return;
	if (loop || stmt->kind == LOOP_CHECK || stmt->kind == LOOP_BARRIER ||
	    (stmt->kind == LOOP_STORE && stmt->async))
		r->rule = "a loop, a check or a barrier in what a thread of a warp does";
	if (stmt->kind == LOOP_SET)
		see_fragment(r, stmt->local, stmt->ixs, stmt->nixs);
	if (stmt->value)
		value_each(stmt->value, see_value, r);
}

static void find_elements(Recognize *r)
{
	r->nest->kind = NEST_ELEMENTS;
	block_each(r->nest->column->body, see_stmt, r);
	if (!r->rule && r->nest->role == ROLE_NONE)
		r->rule = "loops of a warp over no matrix";
}

/* ---- loads ---- */

static const Stmt *only_set(const Stmt *loop)
{
	return loop->body.n == 1 && loop->body.stmts[0]->kind == LOOP_SET ? loop->body.stmts[0]
									  : NULL;
}

/* The index where both iterators are 0. */
static const Ix *origin(const Recognize *r, const Ix *ix, const Size *strides)
{
	Program *program = r->program;
	const Stmt *loops[] = {r->nest->row, r->nest->column};
	for (int i = 0; i < 2; i++) {
		Size minus = size_scale(program->sizes, strides[i], -1);
		ix = ix_add(program, ix,
			    ix_mul(program, ix_iter(program->arena, loops[i]->iter),
				   ix_size(program->arena, minus)));
	}
	return ix;
}

static bool is_16_bits(const Recognize *r, const Value *load, MatrixOp op)
{
	const Buffer *buffer = &r->program->buffers.at[load->buffer];
	Dtype dtype = matrix_row(op)->format == FORMAT_BF16 ? DTYPE_BF16 : DTYPE_F16;
	return buffer->shared && buffer->dtype == dtype;
}

static bool load_fits(const Recognize *r, const Multiples *multiples, const Value *load)
{
	WarpNest *nest = r->nest;
	const Sizes *sizes = r->program->sizes;
	Size strides[] = {ix_stride(r->program, load->ix, nest->row->iter),
			  ix_stride(r->program, load->ix, nest->column->iter)};
	int64_t n[2];
	for (int i = 0; i < 2; i++)
		if (size_is_bad(strides[i]) || !size_is_const(sizes, strides[i], &n[i]))
			return false;
	int contiguous = n[1] == 1 ? 1 : 0;
	nest->pitch = n[!contiguous];
	nest->along_k = (contiguous == 1) == (nest->role == ROLE_A);
	nest->buffer = load->buffer;
	nest->from = origin(r, load->ix, strides);
	bool rows = n[contiguous] == 1 && nest->pitch > 0 && nest->pitch % ROW_ELEMENTS == 0;
	return rows && (!multiples || ix_multiple(multiples, nest->from) % ROW_ELEMENTS == 0);
}

static void find_load(Recognize *r, const Multiples *multiples, const Stmt *set)
{
	const KernelLocal *local = local_of(r, set->local);
	const Value *load = set->value->kind == VALUE_CAST ? set->value->args[0] : NULL;
	WarpNest *nest = r->nest;
	nest->kind = NEST_LOAD;
	nest->set = set;
	nest->op = local->matrix;
	nest->role = local->role;
	bool fits = set->acc == OP_NONE && load && load->kind == VALUE_LOAD &&
		    is_16_bits(r, load, nest->op) && covers(r, local, nest->row, nest->column) &&
		    is_at(set->ixs, set->nixs, nest->row, nest->column) &&
		    load_fits(r, multiples, load);
	r->rule = fits ? NULL : "a matrix that one instruction cannot load";
}

/* ---- products ---- */

static bool is_factor(const Recognize *r, const Value *value, MatrixRole role)
{
	const WarpNest *nest = r->nest;
	const Stmt *row = role == ROLE_A ? nest->row : nest->step;
	const Stmt *column = role == ROLE_A ? nest->step : nest->column;
	if (value->kind != VALUE_LOCAL)
		return false;
	const KernelLocal *local = local_of(r, value->local);
	return local->role == role && local->matrix == nest->op && covers(r, local, row, column) &&
	       is_at(value->ixs, value->nixs, row, column);
}

static void find_product(Recognize *r)
{
	WarpNest *nest = r->nest;
	const Stmt *set = only_set(nest->step);
	nest->kind = NEST_PRODUCT;
	nest->set = set;
	r->rule = "a product of matrices that is no instruction";
	if (!set || set->acc != OP_ADD || set->value->kind != VALUE_OP || set->value->op != OP_MUL)
		return;
	const KernelLocal *local = local_of(r, set->local);
	nest->op = local->matrix;
	nest->role = local->role;
	bool fits = local->role == ROLE_ACCUMULATOR && covers(r, local, nest->row, nest->column) &&
		    is_at(set->ixs, set->nixs, nest->row, nest->column) &&
		    is_factor(r, set->value->args[0], ROLE_A) &&
		    is_factor(r, set->value->args[1], ROLE_B);
	r->rule = fits ? NULL : r->rule;
}

const char *warp_nest(Program *program, const Kernel *kernel, const Multiples *multiples,
		      const Stmt *loop, WarpNest *nest)
{
	*nest = (WarpNest){.row = loop, .column = warp_loop_in(loop)};
	Recognize r = {.program = program, .kernel = kernel, .nest = nest};
	if (!nest->column)
		return "a loop of a warp that is no nest of two or three";
	nest->step = warp_loop_in(nest->column);
	const Stmt *set = only_set(nest->column);
	if (nest->step)
		find_product(&r);
	else if (set && fragment_is_paired(local_of(&r, set->local)))
		find_load(&r, multiples, set);
	else
		find_elements(&r);
	return r.rule;
}
