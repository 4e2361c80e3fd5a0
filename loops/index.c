/* Constructors of indices. Sums are kept in one form, so that equal indices look equal: terms
 * coefficient * atom in the order of first mention, the offset last; products with a size are
 * distributed over sums. An atom is an iterator, a product of non-sizes, a quotient, a remainder, a
 * minimum, a maximum or a value.
 */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/build.h"
#include "loops/linear.h"
#include "loops/walk.h"

static Ix *ix_new(Arena *arena, IxKind kind)
{
	Ix *ix = ARENA_NEW(arena, Ix);
	ix->kind = kind;
	return ix;
}

const Ix *ix_size(Arena *arena, Size size)
{
	Ix *ix = ix_new(arena, IX_SIZE);
	ix->size = size;
	return ix;
}

const Ix *ix_const(const Program *program, int64_t value)
{
	return ix_size(program->arena, size_const(program->sizes, value));
}

const Ix *ix_iter(Arena *arena, IterVar iter)
{
	Ix *ix = ix_new(arena, IX_ITER);
	ix->iter = iter;
	return ix;
}

const Ix *ix_value(Arena *arena, const Value *value)
{
	if (value->kind == VALUE_INDEX)
		return value->ix;
	Ix *ix = ix_new(arena, IX_VALUE);
	ix->reads = true;
	ix->value = value;
	return ix;
}

static const Ix *ix_pair(Arena *arena, IxKind kind, const Ix *a, const Ix *b)
{
	Ix *ix = ix_new(arena, kind);
	ix->reads = a->reads || b->reads;
	ix->a = a;
	ix->b = b;
	return ix;
}

/* ---- comparison ---- */

bool ix_same(const Ix *a, const Ix *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind)
		return false;
	switch (a->kind) {
	case IX_SIZE: return size_same(a->size, b->size);
	case IX_ITER: return a->iter == b->iter;
	case IX_VALUE: return value_same(a->value, b->value);
	default: return ix_same(a->a, b->a) && ix_same(a->b, b->b);
	}
}

bool value_uses_iter(const Value *value, IterVar iter)
{
	bool uses = value->ix && ix_uses(value->ix, iter);
	for (uint32_t i = 0; i < value->nargs && !uses; i++)
		uses = value_uses_iter(value->args[i], iter);
	for (uint32_t i = 0; i < value->nixs && !uses; i++)
		uses = ix_uses(value->ixs[i], iter);
	return uses;
}

bool ix_divides(const Ix *ix)
{
	if (ix->kind == IX_DIV || ix->kind == IX_MOD)
		return true;
	return (ix->kind == IX_ADD || ix->kind == IX_MUL) &&
	       (ix_divides(ix->a) || ix_divides(ix->b));
}

bool ix_uses(const Ix *ix, IterVar iter)
{
	switch (ix->kind) {
	case IX_SIZE: return false;
	case IX_ITER: return ix->iter == iter;
	case IX_VALUE: return value_uses_iter(ix->value, iter);
	default: return ix_uses(ix->a, iter) || ix_uses(ix->b, iter);
	}
}

/* ---- sums ---- */

/* Terms of a sum that ends with the function: an array of the arena only where there are more. */
enum { FEW_TERMS = 16 };

static void linear_add_term(Program *program, Linear *sum, const Ix *atom, Size coef)
{
	for (size_t i = 0; i < sum->terms.n; i++) {
		LinearTerm *term = &sum->terms.at[i];
		if (ix_same(term->atom, atom)) {
			term->coef = size_add(program->sizes, term->coef, coef);
			return;
		}
	}
	PUSH(program->arena, sum->terms, ((LinearTerm){atom, coef}));
}

/* sum += factor * ix */
static void linear_add(Program *program, Linear *sum, const Ix *ix, Size factor)
{
	if (ix->kind == IX_SIZE) {
		Size part = size_mul(program->sizes, ix->size, factor);
		sum->offset = size_add(program->sizes, sum->offset, part);
	} else if (ix->kind == IX_ADD) {
		linear_add(program, sum, ix->a, factor);
		linear_add(program, sum, ix->b, factor);
	} else if (ix->kind == IX_MUL && ix->b->kind == IX_SIZE) {
		linear_add(program, sum, ix->a, size_mul(program->sizes, ix->b->size, factor));
	} else {
		linear_add_term(program, sum, ix, factor);
	}
}

Linear ix_linear(Program *program, const Ix *ix)
{
	Linear sum = {.offset = size_const(program->sizes, 0)};
	linear_add(program, &sum, ix, size_const(program->sizes, 1));
	return sum;
}

static const Ix *linear_ix(Program *program, const Linear *sum)
{
	const Ix *ix = NULL;
	for (size_t i = 0; i < sum->terms.n; i++) {
		const LinearTerm *term = &sum->terms.at[i];
		if (size_is(program->sizes, term->coef, 0))
			continue;
		const Ix *part = term->atom;
		if (!size_is(program->sizes, term->coef, 1))
			part = ix_pair(program->arena, IX_MUL, part,
				       ix_size(program->arena, term->coef));
		ix = ix ? ix_pair(program->arena, IX_ADD, ix, part) : part;
	}
	if (!ix)
		return ix_size(program->arena, sum->offset);
	if (size_is(program->sizes, sum->offset, 0))
		return ix;
	return ix_pair(program->arena, IX_ADD, ix, ix_size(program->arena, sum->offset));
}

const Ix *ix_add(Program *program, const Ix *a, const Ix *b)
{
	LinearTerm few[FEW_TERMS];
	Size one = size_const(program->sizes, 1);
	Linear sum = {.terms = {few, 0, FEW_TERMS}, .offset = size_const(program->sizes, 0)};
	linear_add(program, &sum, a, one);
	linear_add(program, &sum, b, one);
	return linear_ix(program, &sum);
}

const Ix *ix_mul(Program *program, const Ix *a, const Ix *b)
{
	if (a->kind == IX_SIZE && b->kind != IX_SIZE)
		return ix_mul(program, b, a);
	if (b->kind != IX_SIZE)
		return ix_pair(program->arena, IX_MUL, a, b);
	LinearTerm few[FEW_TERMS];
	Linear sum = {.terms = {few, 0, FEW_TERMS}, .offset = size_const(program->sizes, 0)};
	linear_add(program, &sum, a, b->size);
	return linear_ix(program, &sum);
}

Size ix_stride(Program *program, const Ix *ix, IterVar iter)
{
	LinearTerm few[FEW_TERMS];
	Linear linear = {.terms = {few, 0, FEW_TERMS}, .offset = size_const(program->sizes, 0)};
	linear_add(program, &linear, ix, size_const(program->sizes, 1));
	Size stride = size_const(program->sizes, 0);
	for (size_t i = 0; i < linear.terms.n; i++) {
		const LinearTerm *term = &linear.terms.at[i];
		if (!ix_uses(term->atom, iter))
			continue;
		if (term->atom->kind != IX_ITER)
			return SIZE_BAD;
		stride = term->coef;
	}
	return stride;
}

bool ix_moves_by(Program *program, const Ix *ix, IterVar iter, int64_t by)
{
	Size stride = ix_stride(program, ix, iter);
	return size_is(program->sizes, stride, by);
}

bool value_goes_on(Program *program, const Value *value, IterVar iter, uint32_t *n)
{
	bool next = value->kind == VALUE_LOAD && ix_moves_by(program, value->ix, iter, 1);
	bool goes_on =
		value->kind != VALUE_LOAD || next || ix_moves_by(program, value->ix, iter, 0);
	*n += next;
	for (uint32_t i = 0; i < value->nargs && goes_on; i++)
		goes_on = value_goes_on(program, value->args[i], iter, n);
	return goes_on;
}

const Ix *ix_of_first_lane(Program *program, const Ix *ix, IterVar lane)
{
	return ix_minus(program, ix, ix_iter(program->arena, lane));
}

const Ix *ix_without(Program *program, const Ix *ix, IterVar iter)
{
	Size stride = ix_stride(program, ix, iter);
	if (size_is_bad(stride))
		return NULL;
	const Ix *back = ix_size(program->arena, size_scale(program->sizes, stride, -1));
	return ix_add(program, ix, ix_mul(program, ix_iter(program->arena, iter), back));
}

bool ix_goes_on(Program *program, const Ix *ix, const Stmt *outer, const Stmt *inner)
{
	Size near = ix_stride(program, ix, inner->iter);
	Size far = ix_stride(program, ix, outer->iter);
	return !size_is_bad(near) && !size_is_bad(far) &&
	       size_same(far, size_mul(program->sizes, near, inner->hi->size));
}

/* ---- quotients and extremes ---- */

/* a / b where the constant b > 1 divides every coefficient; the offset takes the floor. NULL: it
 * does not. */
static const Ix *divide_terms(Program *program, const Ix *a, int64_t b)
{
	Sizes *sizes = program->sizes;
	LinearTerm few[FEW_TERMS];
	Linear sum = {.terms = {few, 0, FEW_TERMS}, .offset = size_const(sizes, 0)};
	linear_add(program, &sum, a, size_const(sizes, 1));
	for (size_t i = 0; i < sum.terms.n; i++) {
		int64_t coef;
		if (!size_is_const(sizes, sum.terms.at[i].coef, &coef) || coef % b)
			return NULL;
		sum.terms.at[i].coef = size_const(sizes, coef / b);
	}
	sum.offset = size_floor(sizes, sum.offset, b);
	return linear_ix(program, &sum);
}

/* What a constant b > 0 leaves of a, where it divides every coefficient; NULL: it does not. */
static const Ix *remaining_terms(Program *program, const Ix *a, int64_t b)
{
	LinearTerm few[FEW_TERMS];
	Linear sum = {.terms = {few, 0, FEW_TERMS}, .offset = size_const(program->sizes, 0)};
	int64_t coef;
	linear_add(program, &sum, a, size_const(program->sizes, 1));
	for (size_t i = 0; i < sum.terms.n; i++)
		if (!size_is_const(program->sizes, sum.terms.at[i].coef, &coef) || coef % b)
			return NULL;
	if (!size_is_const(program->sizes, sum.offset, &coef))
		return NULL;
	return ix_const(program, coef % b < 0 ? coef % b + b : coef % b);
}

static const Ix *ix_quotient(Program *program, const Ix *a, const Ix *b)
{
	int64_t divisor;
	if (b->kind == IX_SIZE && size_is_const(program->sizes, b->size, &divisor) && divisor > 0) {
		if (divisor == 1)
			return a;
		const Ix *divided = divide_terms(program, a, divisor);
		if (divided)
			return divided;
	}
	return ix_pair(program->arena, IX_DIV, a, b);
}

static const Ix *ix_remainder(Program *program, const Ix *a, const Ix *b)
{
	int64_t divisor;
	if (b->kind == IX_SIZE && size_is_const(program->sizes, b->size, &divisor) && divisor > 0) {
		const Ix *rest = remaining_terms(program, a, divisor);
		if (rest)
			return rest;
	}
	return ix_pair(program->arena, IX_MOD, a, b);
}

const Ix *ix_binary(Program *program, IxKind kind, const Ix *a, const Ix *b)
{
	switch (kind) {
	case IX_ADD: return ix_add(program, a, b);
	case IX_MUL: return ix_mul(program, a, b);
	case IX_DIV: return ix_quotient(program, a, b);
	case IX_MOD: return ix_remainder(program, a, b);
	default: break;
	}
	REQUIRE(kind == IX_MIN || kind == IX_MAX);
	if (ix_same(a, b))
		return a;
	if (a->kind == IX_SIZE && b->kind == IX_SIZE) {
		if (size_ge(program->sizes, a->size, b->size))
			return kind == IX_MAX ? a : b;
		if (size_ge(program->sizes, b->size, a->size))
			return kind == IX_MAX ? b : a;
	}
	return ix_pair(program->arena, kind, a, b);
}
