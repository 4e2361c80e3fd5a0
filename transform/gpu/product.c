/* Whether a kernel is a product: sums of terms of two factors, of which one moves along some loops of the grid
 * and the other along others.
 *
 *   grid b, i, j                     batch b, rows i, columns j
 *     local acc = 0
 *     for k
 *       acc += x[b, i, k] * w[k, j]
 *     y[b, i, j] = relu(acc + c[j])
 *
 * The columns are the loops along which the result lies. Several loops of rows, or columns, are one loop where
 * all indices of what is stored, and of what that is made of, walk through them so; else the innermost ones are,
 * and the others are loops of the batch. Loops of the sum are always one. Where a term has conditions, as in a
 * convolution with margins, the factor that they concern is 0 elsewhere.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/dependence.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/tile.h"

typedef struct Look {
	Program *program;
	const Kernel *kernel;
	Product *product;
	LoopGroup grid;
} Look;

/* ---- the form ---- */

/* Serial loops around one addition of a product, with a condition around it perhaps: `sum`, `guard` and `set`. */
static bool is_sum(const Stmt *stmt, Product *p)
{
	p->sum.n = 0;
	for (; stmt->kind == LOOP_FOR && stmt->body.n == 1; stmt = stmt->body.stmts[0]) {
		if (stmt->loop != LOOP_SERIAL || stmt->step != 1 || stmt->lo->kind != IX_SIZE ||
		    stmt->hi->kind != IX_SIZE || p->sum.n == PRODUCT_LOOPS)
			return false;
		p->sum.loops[p->sum.n++] = stmt;
	}
	p->guard = stmt->kind == LOOP_IF && stmt->body.n == 1 ? stmt : NULL;
	p->set = p->guard ? stmt->body.stmts[0] : stmt;
	const Value *value = p->set->value;
	return p->sum.n > 0 && p->set->kind == LOOP_SET && p->set->nixs == 0 &&
	       p->set->acc == OP_ADD && value->kind == VALUE_OP && value->op == OP_MUL &&
	       (value->dtype == DTYPE_F32 || value->dtype == DTYPE_F64);
}

static bool counts_from_zero(const Look *look, const LoopGroup *loops)
{
	for (uint32_t i = 0; i < loops->n; i++)
		if (!size_is(look->program->sizes, loops->loops[i]->lo->size, 0))
			return false;
	return true;
}

static bool is_plain(const Look *look, const Stmt *stmt)
{
	return stmt->kind == LOOP_STORE ||
	       (stmt->kind == LOOP_LOCAL && look->kernel->locals[stmt->local].rank == 0);
}

/* Does a statement in front of the sum read what it is added to? */
static bool reads_before(const Product *p, const Block *body)
{
	for (uint32_t i = 0; i < body->n && body->stmts[i]->kind != LOOP_FOR; i++)
		if (value_uses_local(body->stmts[i]->value, p->set->local))
			return true;
	return false;
}

/* One sum, and around it locals and stores alone. */
static bool has_form(const Look *look, const Block *body)
{
	Product *p = look->product;
	Arena *arena = look->program->arena;
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		if (stmt->kind == LOOP_FOR) {
			if (p->set || !is_sum(stmt, p))
				return false;
		} else if (!is_plain(look, stmt)) {
			return false;
		}
	}
	for (uint32_t i = 0; p->set && i < body->n; i++) {
		const Stmt *stmt = body->stmts[i];
		if (stmt->kind == LOOP_LOCAL && stmt->local == p->set->local)
			p->declared = stmt;
		else if (stmt->kind != LOOP_FOR)
			PUSH(arena, p->rest.stmts, stmt);
		else if (
			!p->declared) /* what stands in front of the sum may be computed behind it */
			return false;
	}
	return p->set && p->declared && p->declared->value->kind == VALUE_CONST &&
	       !reads_before(p, body) && counts_from_zero(look, &p->sum);
}

/* ---- the factors ---- */

typedef struct Factor {
	const Look *look;
	bool uses[PRODUCT_LOOPS]; /* by loop of the grid */
	bool wrong;
	const Value *load;
} Factor;

static void see_factor(void *of, const Value *value)
{
	Factor *factor = of;
	const Look *look = factor->look;
	const Body *rest = &look->product->rest;
	const LoopGroup *grid = &look->grid;
	factor->wrong |= value->kind == VALUE_LOCAL;
	if (value->kind != VALUE_LOAD && value->kind != VALUE_INDEX)
		return;
	for (uint32_t i = 0; i < grid->n; i++)
		factor->uses[i] |= ix_uses(value->ix, grid->loops[i]->iter);
	if (value->kind != VALUE_LOAD)
		return;
	factor->load = factor->load ? factor->load : value;
	for (size_t i = 0; i < rest->stmts.n; i++)
		factor->wrong |= rest->stmts.at[i]->kind == LOOP_STORE &&
				 rest->stmts.at[i]->buffer == value->buffer;
}

static Factor factor_of(const Look *look, const Value *value)
{
	Factor factor = {.look = look};
	value_each(value, see_factor, &factor);
	factor.wrong |= !factor.load;
	return factor;
}

/* ---- loops as one ---- */

static void measure(const Look *look, LoopGroup *group)
{
	group->extent = loops_extent(look->program->sizes, group->loops, group->n);
}

/* Leaves the innermost loops, as far as what is done with elements goes through them as through one; the others
 * are of the batch. */
static void merge(const Look *look, LoopGroup *group)
{
	OneLoop one = {look->program, group->loops, group->n, 0};
	const Body *rest = &look->product->rest;
	LoopGroup *others = &look->product->batch;
	for (size_t i = 0; i < rest->stmts.n; i++) {
		const Stmt *stmt = rest->stmts.at[i];
		one_loop_value(&one, stmt->value);
		if (stmt->ix)
			one_loop_ix(&one, stmt->ix);
	}
	for (uint32_t i = 0; i < one.first; i++)
		others->loops[others->n++] = group->loops[i];
	group->n -= one.first;
	memmove(group->loops, group->loops + one.first, group->n * sizeof *group->loops);
	measure(look, group);
}

/* ---- conditions ---- */

static bool cond_uses(const Cond *cond, const LoopGroup *group)
{
	for (uint32_t i = 0; i < group->n; i++)
		if (ix_uses(cond->a, group->loops[i]->iter) ||
		    ix_uses(cond->b, group->loops[i]->iter))
			return true;
	return false;
}

/* Each condition is of the rows' factor or of the columns', or, without rows and columns, of both; false: it is of a row and a column.
 * Requires that none reads. */
static bool sort_conds(const Look *look)
{
	Product *p = look->product;
	ProductOperand *operands[] = {&p->row_operand, &p->column_operand};
	Cond *conds[2] = {0};
	for (uint32_t i = 0; p->guard && i < p->guard->nconds; i++) {
		const Cond *cond = &p->guard->conds[i];
		bool row = cond_uses(cond, &p->rows), column = cond_uses(cond, &p->columns);
		if (cond->a->reads || cond->b->reads || (column && row))
			return false;
		for (int k = 0; k < 2; k++) {
			if (k ? row : column)
				continue;
			if (!conds[k])
				conds[k] =
					ARENA_ARRAY(look->program->arena, Cond, p->guard->nconds);
			conds[k][operands[k]->nconds++] = *cond;
		}
	}
	for (int k = 0; k < 2; k++)
		operands[k]->conds = conds[k];
	return true;
}

/* ---- the product ---- */

static bool moves_by_one(const Look *look, const Ix *ix, const LoopGroup *group)
{
	return ix_moves_by(look->program, ix, group_iter(group), 1);
}

/* Does what is stored, or some of it, lie along the group? */
static bool is_stored_along(const Look *look, const LoopGroup *group)
{
	const Body *rest = &look->product->rest;
	bool along = false;
	for (size_t i = 0; i < rest->stmts.n && !along; i++)
		along = rest->stmts.at[i]->kind == LOOP_STORE &&
			moves_by_one(look, rest->stmts.at[i]->ix, group);
	return along;
}

/* Rows move the first factor alone, columns the second alone. */
static void sort_loops(const Look *look, const Factor *first, const Factor *second)
{
	Product *p = look->product;
	const LoopGroup *grid = &look->grid;
	for (uint32_t i = 0; i < grid->n; i++) {
		LoopGroup *to = first->uses[i] == second->uses[i] ? &p->batch
				: first->uses[i]		  ? &p->rows
								  : &p->columns;
		to->loops[to->n++] = grid->loops[i];
	}
}

static ProductOperand operand_of(const Look *look, const Value *value, const Value *load)
{
	const LoopGroup *sum = &look->product->sum;
	return (ProductOperand){.value = value,
				.sum_first = moves_by_one(look, load->ix, sum),
				.name = look->program->buffers.at[load->buffer].name};
}

static bool groups_fit(const Product *p)
{
	return p->rows.n > 0 && p->columns.n > 0 && !size_is_bad(p->rows.extent) &&
	       !size_is_bad(p->columns.extent) && !size_is_bad(p->sum.extent);
}

/* With `swapped` the second factor is that of the rows. */
static bool sort_factors(const Look *look, const Factor *factors, const Value *const *values,
			 bool swapped)
{
	Product *p = look->product;
	p->rows.n = p->columns.n = p->batch.n = 0;
	sort_loops(look, &factors[swapped], &factors[!swapped]);
	if (!p->rows.n || !p->columns.n || !is_stored_along(look, &p->columns))
		return false;
	p->columns_first = swapped;
	p->row_operand = operand_of(look, values[swapped], factors[swapped].load);
	p->column_operand = operand_of(look, values[!swapped], factors[!swapped].load);
	return true;
}

bool product_of(Program *program, const Kernel *kernel, Product *product)
{
	Look look = {.program = program, .kernel = kernel, .product = product};
	Block body = grid_body(kernel);
	memset(product, 0, sizeof *product);
	look.grid.n = grid_loops(kernel, look.grid.loops);
	if (!look.grid.n || !has_form(&look, &body))
		return false;
	const Value *const *args = product->set->value->args;
	Factor factors[] = {factor_of(&look, args[0]), factor_of(&look, args[1])};
	if (factors[0].wrong || factors[1].wrong)
		return false;
	if (!sort_factors(&look, factors, args, false) && !sort_factors(&look, factors, args, true))
		return false;
	if (!sort_conds(&look))
		return false;
	merge(&look, &product->rows);
	merge(&look, &product->columns);
	measure(&look, &product->sum);
	return groups_fit(product);
}
