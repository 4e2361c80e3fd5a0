/* Recognizes nests of loops of a warp: see fragment.h. */
#include "loops/fragment.h"

#include "loops/build.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

enum { ROW_BYTES = 16, MATRICES = 2 }; /* that a load takes side by side; of a pair */

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

static bool is_of_warps(const void *of, const Stmt *stmt)
{
	return runs_in_warp(of, stmt) || (stmt->kind == LOOP_WAIT && stmt->products);
}

bool block_is_of_warps(const Block *block) { return block_find(*block, is_of_warps, NULL); }

bool fragment_is_paired(const KernelLocal *local)
{
	return (local->role == ROLE_A || local->role == ROLE_B) &&
	       matrix_row(local->matrix)->format != FORMAT_TF32;
}

static const KernelLocal *local_of(const Recognize *r, LocalId local)
{
	return &r->kernel->locals[local];
}

static bool is_iter(const Ix *ix, const Stmt *loop)
{
	return ix->kind == IX_ITER && ix->iter == loop->iter;
}

const Ix *fragment_lane(const Ix *ix)
{
	return ix->kind == IX_ADD && ix->b->kind == IX_ITER ? ix->b : NULL;
}

/* j*2 + lane */
static bool is_lane(const Recognize *r, const Ix *ix)
{
	const WarpNest *nest = r->nest;
	const Ix *lane = fragment_lane(ix), *pair = lane ? ix->a : NULL;
	return nest->lanes && pair && is_iter(lane, nest->lanes) && pair->kind == IX_MUL &&
	       is_iter(pair->a, nest->column) && pair->b->kind == IX_SIZE &&
	       size_is(r->program->sizes, pair->b->size, FRAGMENT_LANES);
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
	return trips_from_zero(r->program, row) == matrix_rows(local->matrix, local->role) &&
	       trips_from_zero(r->program, column) == matrix_columns(local->matrix, local->role);
}

/* ---- elements ---- */

/* Each element at the iterators, or each two of sums with a lane. */
static bool is_own(const Recognize *r, const KernelLocal *local, const Ix *const *ixs,
		   uint32_t nixs)
{
	const WarpNest *nest = r->nest;
	if (!nest->lanes)
		return covers(r, local, nest->row, nest->column) &&
		       is_at(ixs, nixs, nest->row, nest->column);
	bool at =
		local->role == ROLE_ACCUMULATOR && nixs >= 2 && is_iter(ixs[nixs - 2], nest->row) &&
		is_lane(r, ixs[nixs - 1]) &&
		trips_from_zero(r->program, nest->row) == matrix_rows(local->matrix, local->role) &&
		trips_from_zero(r->program, nest->column) * FRAGMENT_LANES ==
			matrix_columns(local->matrix, local->role);
	const IterVar own[] = {nest->row->iter, nest->column->iter, nest->lanes->iter};
	for (uint32_t i = 0; at && i + 2 < nixs; i++)
		for (int n = 0; n < 3; n++)
			at &= !ix_uses(ixs[i], own[n]);
	return at;
}

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
	bool fits =
		is_alike(nest, local) && !fragment_is_paired(local) && is_own(r, local, ixs, nixs);
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
		    stmt->loop != LOOP_UNROLL && stmt != r->nest->lanes;
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

static bool is_of_lanes(const void *of, const Stmt *stmt)
{
	const Recognize *r = of;
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_VECTOR &&
	       trips_from_zero(r->program, stmt) == FRAGMENT_LANES;
}

static void find_elements(Recognize *r)
{
	r->nest->kind = NEST_ELEMENTS;
	r->nest->lanes = block_find(r->nest->column->body, is_of_lanes, r);
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

/* The index with the iterator of a loop at `n`; bad: it moves by no constant. */
static const Ix *ix_at(Program *program, const Ix *ix, const Stmt *loop, int64_t n)
{
	Size stride = ix_stride(program, ix, loop->iter);
	Sizes *sizes = program->sizes;
	ix = ix_add(program, ix,
		    ix_mul(program, ix_iter(program->arena, loop->iter),
			   ix_size(program->arena, size_scale(sizes, stride, -1))));
	return ix_add(program, ix, ix_size(program->arena, size_scale(sizes, stride, n)));
}

const Ix *warp_load_index(Program *program, const WarpNest *nest, const Ix *ix, int64_t of)
{
	return nest->pair ? ix_at(program, ix, nest->pair, of) : ix;
}

Dtype fragment_dtype(MatrixOp op)
{
	static const Dtype dtypes[] = {
		[FORMAT_BF16] = DTYPE_BF16, [FORMAT_F16] = DTYPE_F16, [FORMAT_TF32] = DTYPE_F32};
	return dtypes[matrix_row(op)->format];
}

/* What a matrix is loaded from, in shared memory; NULL: it is something else. */
static const Value *loaded_value(const Recognize *r, const Stmt *set)
{
	const KernelLocal *local = local_of(r, set->local);
	const Value *value = set->value;
	if (local->role != ROLE_A && local->role != ROLE_B)
		return NULL;
	if (fragment_is_paired(local))
		value = value->kind == VALUE_CAST ? value->args[0] : NULL;
	if (!value || value->kind != VALUE_LOAD || set->acc != OP_NONE)
		return NULL;
	const Buffer *buffer = &r->program->buffers.at[value->buffer];
	return buffer->shared && buffer->dtype == fragment_dtype(local->matrix) ? value : NULL;
}

/* How far a constant number of elements the loop moves the index; -1: it is none. */
static int64_t moves(const Recognize *r, const Ix *ix, const Stmt *loop)
{
	int64_t n;
	Size stride = ix_stride(r->program, ix, loop->iter);
	return size_is_const(r->program->sizes, stride, &n) ? n : -1;
}

/* Elements of a row that a load takes. */
static int64_t row_elements(const WarpNest *nest)
{
	return ROW_BYTES / (int64_t)dtype_bytes(fragment_dtype(nest->op));
}

static bool has_rows(Recognize *r, const Value *load)
{
	WarpNest *nest = r->nest;
	int64_t n[] = {moves(r, load->ix, nest->row), moves(r, load->ix, nest->column)};
	int contiguous = n[1] == 1 ? 1 : 0;
	nest->pitch = n[!contiguous];
	nest->along_k = (contiguous == 1) == (nest->role == ROLE_A);
	nest->buffer = load->buffer;
	return n[contiguous] == 1 && nest->pitch > 0 && nest->pitch % row_elements(nest) == 0 &&
	       (nest->along_k || fragment_dtype(nest->op) != DTYPE_F32);
}

/* Where the matrix begins, and the second one. */
static bool has_places(Recognize *r, const Multiples *multiples, const Value *load)
{
	WarpNest *nest = r->nest;
	Program *program = r->program;
	nest->next = nest->pair ? moves(r, load->ix, nest->pair) : 0;
	if (nest->next < 0 || nest->next % row_elements(nest) != 0)
		return false;
	nest->from = ix_at(program, ix_at(program, load->ix, nest->row, 0), nest->column, 0);
	nest->from = warp_load_index(program, nest, nest->from, 0);
	return !multiples || ix_multiple(multiples, nest->from) % row_elements(nest) == 0;
}

/* Does one index say which of the local's matrices it is, the loop of a pair each the next one? */
static bool sets_pair(const Recognize *r, const Stmt *set)
{
	const Stmt *pair = r->nest->pair;
	if (!pair || set->nixs < 3 || trips_from_zero(r->program, pair) != MATRICES)
		return !pair;
	for (uint32_t i = 0; i + 3 < set->nixs; i++)
		if (ix_uses(set->ixs[i], pair->iter))
			return false;
	return moves(r, set->ixs[set->nixs - 3], pair) == 1;
}

static bool sets_matrix(const Recognize *r, const Stmt *set)
{
	const WarpNest *nest = r->nest;
	const KernelLocal *local = local_of(r, set->local);
	return local->role == nest->role && local->matrix == nest->op &&
	       covers(r, local, nest->row, nest->column) &&
	       is_at(set->ixs, set->nixs, nest->row, nest->column) && sets_pair(r, set);
}

static bool same_indices(const Ix *const *a, const Ix *const *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!ix_same(a[i], b[i]))
			return false;
	return true;
}

/* value - what `set` has made of it */
static bool is_rest(const Recognize *r, const Stmt *stmt, const Stmt *set)
{
	if (stmt->kind != LOOP_SET || stmt->acc != OP_NONE || stmt->value->kind != VALUE_OP ||
	    stmt->value->op != OP_SUB || !sets_matrix(r, stmt))
		return false;
	const Value *whole = stmt->value->args[0], *near = stmt->value->args[1];
	return whole->kind == VALUE_LOAD && whole->buffer == set->value->buffer &&
	       ix_same(whole->ix, set->value->ix) && near->kind == VALUE_LOCAL &&
	       near->local == set->local && near->nixs == set->nixs &&
	       same_indices(near->ixs, set->ixs, set->nixs);
}

/* Is the nest's statement, or the first of two, a load of a matrix, as far as its form goes? */
static bool is_load(Recognize *r)
{
	WarpNest *nest = r->nest;
	const Block *body = &nest->column->body;
	if (body->n == 0 || body->n > 2 || body->stmts[0]->kind != LOOP_SET)
		return false;
	const Stmt *set = body->stmts[0];
	const Value *load = loaded_value(r, set);
	nest->set = set;
	nest->rest = body->n == 2 ? body->stmts[1] : NULL;
	nest->op = local_of(r, set->local)->matrix;
	nest->role = local_of(r, set->local)->role;
	return load && has_rows(r, load) && sets_matrix(r, set) &&
	       (!nest->rest || (load == set->value && is_rest(r, nest->rest, set)));
}

static void find_load(Recognize *r, const Multiples *multiples)
{
	bool fits = is_load(r) && has_places(r, multiples, loaded_value(r, r->nest->set));
	r->nest->kind = NEST_LOAD;
	r->rule = fits ? NULL : "a matrix that one instruction cannot load";
}

/* Are operands set that cannot be set otherwise, or could they be loaded? */
static bool is_of_load(Recognize *r)
{
	const Block *body = &r->nest->column->body;
	const Stmt *set = body->n ? body->stmts[0] : NULL;
	bool paired = set && set->kind == LOOP_SET && fragment_is_paired(local_of(r, set->local));
	if (r->nest->pair || paired || is_load(r))
		return true;
	*r->nest = (WarpNest){.row = r->nest->row, .column = r->nest->column};
	return false;
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

/* An element in shared memory that is swizzled, of the format. */
static bool is_loaded(const Recognize *r, const Value *value)
{
	bool cast = matrix_row(r->nest->op)->format != FORMAT_TF32;
	const Value *load = !cast ? value : value->kind == VALUE_CAST ? value->args[0] : NULL;
	if (!load || load->kind != VALUE_LOAD)
		return false;
	const Buffer *buffer = &r->program->buffers.at[load->buffer];
	return buffer->swizzled && buffer->dtype == fragment_dtype(r->nest->op);
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
	const Value *const *args = set->value->args;
	nest->loaded = is_loaded(r, args[0]) && is_loaded(r, args[1]) &&
		       trips_from_zero(r->program, nest->step) == matrix_row(nest->op)->k;
	bool fits =
		local->role == ROLE_ACCUMULATOR && covers(r, local, nest->row, nest->column) &&
		is_at(set->ixs, set->nixs, nest->row, nest->column) &&
		(nest->loaded || (is_factor(r, args[0], ROLE_A) && is_factor(r, args[1], ROLE_B)));
	r->rule = fits ? NULL : r->rule;
}

bool is_warp_product(const Stmt *stmt)
{
	const Stmt *step = is_warp_loop(stmt) ? warp_loop_in(warp_loop_in(stmt)) : NULL;
	const Stmt *set = step ? only_set(step) : NULL;
	return set && set->acc == OP_ADD;
}

const char *warp_nest(Program *program, const Kernel *kernel, const Multiples *multiples,
		      const Stmt *loop, WarpNest *nest)
{
	const Stmt *second = warp_loop_in(loop), *third = warp_loop_in(second);
	*nest = (WarpNest){.row = loop, .column = second};
	Recognize r = {.program = program, .kernel = kernel, .nest = nest};
	if (!second)
		return "a loop of a warp that is no nest of two or three";
	if (is_warp_product(loop)) {
		nest->step = third;
		find_product(&r);
		return r.rule;
	}
	if (third)
		*nest = (WarpNest){.pair = loop, .row = second, .column = third};
	if (is_of_load(&r))
		find_load(&r, multiples);
	else
		find_elements(&r);
	return r.rule;
}
