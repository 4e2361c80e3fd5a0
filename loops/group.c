/* Recognizes products of a warpgroup: see group.h. */
#include "loops/group.h"

#include "base/size_order.h"
#include "loops/build.h"
#include "loops/interval.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

static const Stmt *only(const Stmt *loop, bool (*is)(const Stmt *))
{
	return loop->body.n == 1 && is(loop->body.stmts[0]) ? loop->body.stmts[0] : NULL;
}

/* An operand's element: along its side, and along k, with the loops that go there. */
typedef struct Side {
	const Ix *ix;
	const Stmt *outer; /* of the side: warps of 16 rows, matrices of 8 columns */
	const Stmt *inner, *k;
	int64_t width; /* of inner */
} Side;

/* Where element `at` of the side, and k of all steps, is to be. */
static int64_t place_of(const GroupNest *g, bool transposed, int64_t at, int64_t k, int64_t k_all)
{
	int64_t line = group_line(g->dtype);
	return transposed ? at / line * line * k_all + k * line + at % line : at * line + k;
}

/* Does the index lie there wherever these loops are, and begin a whole number of 1024 bytes from the start? */
static bool lies_so(Program *program, const Kernel *kernel, const GroupNest *g, const Side *side,
		    bool transposed)
{
	Arena *arena = arena_new();
	Interval *iters = ARENA_ARRAY(arena, Interval, kernel->niters + 1), at, first;
	int64_t outer = trips_from_zero(program, side->outer),
		k = trips_from_zero(program, side->k), k_all = k * g->steps;
	bool fits = ix_interval(program, side->ix, iters, &first) &&
		    first.lo % group_swizzle(g->dtype) == 0;
	for (int64_t n = 0; fits && n < outer * side->width * k_all; n++) {
		int64_t in_side = n / k_all, in_k = n % k_all;
		iters[side->outer->iter].lo = in_side / side->width;
		iters[side->inner->iter].lo = in_side % side->width;
		iters[g->step->iter].lo = in_k / k;
		iters[side->k->iter].lo = in_k % k;
		const IterVar set[] = {side->outer->iter, side->inner->iter, g->step->iter,
				       side->k->iter};
		for (size_t i = 0; i < sizeof set / sizeof *set; i++)
			iters[set[i]].hi = iters[set[i]].lo;
		fits = ix_interval(program, side->ix, iters, &at) &&
		       at.lo - first.lo == place_of(g, transposed, in_side, in_k, k_all);
	}
	arena_free(arena);
	return fits;
}

/* Terms of other iterators than these of the operand are whole numbers of 1024 bytes. */
static bool others_are_whole(Program *program, const GroupNest *g, const Side *side)
{
	Linear linear = ix_linear(program, side->ix);
	const IterVar own[] = {side->outer->iter, side->inner->iter, g->step->iter, side->k->iter};
	for (size_t i = 0; i < linear.terms.n; i++) {
		bool is_own = false;
		for (size_t k = 0; k < sizeof own / sizeof *own; k++)
			is_own |= ix_uses(linear.terms.at[i].atom, own[k]);
		int64_t coef;
		if (!is_own && (!size_is_const(program->sizes, linear.terms.at[i].coef, &coef) ||
				coef % group_swizzle(g->dtype) != 0))
			return false;
	}
	return true;
}

static const char *check_places(Program *program, const Kernel *kernel, const Stmt *row,
				const GroupNest *g)
{
	const Value *const *args = g->nest.set->value->args;
	Side a = {group_load(args[0])->ix, row, g->nest.row, g->nest.step,
		  matrix_row(g->nest.op)->m};
	Side b = {group_load(args[1])->ix, g->matrix, g->nest.column, g->nest.step,
		  matrix_row(g->nest.op)->n};
	if (row->threads % (GROUP_WARPS * WARP) != 0 ||
	    trips_from_zero(program, row) % GROUP_WARPS != 0)
		return "a warpgroup of threads that are not four warps, from a multiple of four on";
	if (ix_uses(b.ix, row->iter))
		return "columns that are not the same for all warps of a warpgroup";
	bool there = lies_so(program, kernel, g, &a, g->a_transposed) &&
		     others_are_whole(program, g, &a) &&
		     lies_so(program, kernel, g, &b, g->b_transposed) &&
		     others_are_whole(program, g, &b);
	return there ? NULL
		     : "operands of a warpgroup that are not where the instruction reads them";
}

/* The index where the loops of the matrix are 0. */
static const Ix *from_of(Program *program, const Ix *ix, const Stmt *const *loops, Size *strides)
{
	for (int i = 0; i < 2; i++) {
		strides[i] = ix_stride(program, ix, loops[i]->iter);
		ix = ix_without(program, ix, loops[i]->iter);
		if (!ix)
			return NULL;
	}
	return ix;
}

static bool find_operands(Program *program, GroupNest *g)
{
	const Value *a = group_load(g->nest.set->value->args[0]),
		    *b = group_load(g->nest.set->value->args[1]);
	const Stmt *of_a[] = {g->nest.row, g->nest.step}, *of_b[] = {g->nest.column, g->nest.step};
	Size as[2], bs[2];
	g->a = a->buffer;
	g->b = b->buffer;
	g->a_from = from_of(program, a->ix, of_a, as);
	g->b_from = from_of(program, b->ix, of_b, bs);
	if (!g->a_from || !g->b_from)
		return false;
	g->a_transposed = size_is(program->sizes, as[0], 1);
	g->b_transposed = size_is(program->sizes, bs[0], 1);
	return g->dtype != DTYPE_F32 || (!g->a_transposed && !g->b_transposed);
}

const char *group_nest(Program *program, const Kernel *kernel, const Stmt *row, const Stmt *loop,
		       GroupNest *g)
{
	*g = (GroupNest){.step = loop, .matrix = only(loop, is_group_loop)};
	const Stmt *warp = g->matrix ? only(g->matrix, is_warp_loop) : NULL;
	if (!warp || warp_nest(program, kernel, NULL, warp, &g->nest) ||
	    g->nest.kind != NEST_PRODUCT || !g->nest.loaded)
		return "a loop of a warpgroup that is no product of matrices in shared memory";
	const Stmt *set = g->nest.set;
	const KernelLocal *sums = &kernel->locals[set->local];
	g->steps = trips_from_zero(program, loop);
	g->dtype = group_load(set->value->args[0])->dtype;
	if (g->steps > group_line(g->dtype) / matrix_row(g->nest.op)->k)
		return "more steps of a warpgroup than a line has";
	int64_t matrices = trips_from_zero(program, g->matrix);
	bool few = matrices <= GROUP_COLUMNS / matrix_row(g->nest.op)->n;
	g->columns = few ? matrices * matrix_row(g->nest.op)->n : 0;
	const Ix *number = set->nixs >= 3 ? set->ixs[set->nixs - 3] : NULL;
	if (!g->steps || g->columns == 0 || !number || number->kind != IX_ITER ||
	    number->iter != g->matrix->iter || sums->extent[sums->rank - 3] != matrices)
		return "sums of a warpgroup that are not all of a warp's matrices";
	for (uint32_t i = 0; i + 3 < set->nixs; i++)
		if (ix_uses(set->ixs[i], g->step->iter) || ix_uses(set->ixs[i], g->matrix->iter))
			return "sums of a warpgroup that are not the same at each step";
	if (!find_operands(program, g))
		return "operands of a warpgroup that are not where the instruction reads them";
	return row ? check_places(program, kernel, row, g) : NULL;
}
