/* What a kernel of checks says behind itself:
 *
 *   for i in 0..n: check 0 <= int(x[i]) < hi      all elements of x are in [0, hi)
 *   check 0 <= int(scalar) < hi                   so is the scalar
 *   for i in 0..n: check 0 <= i < hi              n is at most hi
 */
#include "base/size_order.h"
#include "loops/bounds.h"
#include "loops/linear.h"
#include "loops/walk.h"

/* Does the nest go over all indices in order, `for i in 0..a: for j in 0..b: i*b + j`? */
static bool covers(Program *program, const Stmt *nest, const Ix *ix, Size elements)
{
	Linear linear = ix_linear(program, ix);
	Size inner = elements;
	for (const Stmt *loop = nest; loop->kind == LOOP_FOR; loop = loop->body.stmts[0]) {
		bool plain = loop->step == 1 && loop->lo->kind == IX_SIZE &&
			     loop->hi->kind == IX_SIZE &&
			     size_is(program->sizes, loop->lo->size, 0);
		if (!plain || !size_divides(program->sizes, loop->hi->size, inner))
			return false;
		inner = size_div(program->sizes, inner, loop->hi->size);
		if (!size_same(ix_stride(program, ix, loop->iter), inner))
			return false;
	}
	for (size_t i = 0; i < linear.terms.n; i++)
		if (linear.terms.at[i].atom->kind != IX_ITER)
			return false;
	return size_is(program->sizes, linear.offset, 0) && size_is(program->sizes, inner, 1);
}

static const Value *without_casts(const Value *value)
{
	while (value->kind == VALUE_CAST && dtype_is_integer(value->args[0]->dtype))
		value = value->args[0];
	return value;
}

bool check_nest(const Program *const_program, const Stmt *nest, CheckNest *found)
{
	Program *program = (Program *)const_program;
	const Stmt *check = block_only(block_nest((Block){&nest, 1}).body);
	if (!check || check->kind != LOOP_CHECK || check->hi->kind != IX_SIZE ||
	    check->lo->kind != IX_SIZE || !size_is(program->sizes, check->lo->size, 0))
		return false;
	*found = (CheckNest){.hi = check->hi->size};
	if (check->ix->kind == IX_VALUE) {
		const Value *value = found->value = without_casts(check->ix->value);
		if (value->kind == VALUE_SCALAR)
			return check == nest;
		return value->kind == VALUE_LOAD &&
		       covers(program, nest, value->ix,
			      program->buffers.at[value->buffer].elements);
	}
	if (check == nest || nest->hi->kind != IX_SIZE)
		return false;
	found->extent = nest->hi->size;
	return covers(program, nest, check->ix, found->extent);
}
