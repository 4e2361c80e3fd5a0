/* What can be asked of a size, its value under given dims, and substitution. Recursion goes through
 * quotients only, whose nesting is bounded (base/size_poly.h). */
#include "base/size_eval.h"
#include "base/size_dims.h"
#include "base/size_poly.h"

bool size_is_const(const Sizes *sizes, Size a, int64_t *value)
{
	const Poly *poly = poly_at(sizes, a);
	if (size_is_bad(a) || poly->n > 1 || (poly->n == 1 && poly->terms[0].mono != 0))
		return false;
	*value = poly->n ? poly->terms[0].coef : 0;
	return true;
}

bool size_is(const Sizes *sizes, Size a, int64_t value)
{
	int64_t constant;
	return size_is_const(sizes, a, &constant) && constant == value;
}

bool size_is_dim(const Sizes *sizes, Size a, DimId *dim)
{
	const Poly *poly = poly_at(sizes, a);
	if (poly->n != 1 || poly->terms[0].coef != 1)
		return false;
	const Mono *mono = mono_at(sizes, poly->terms[0].mono);
	if (mono->degree != 1 || atom_at(sizes, mono->factors[0].atom)->kind != ATOM_DIM)
		return false;
	*dim = atom_at(sizes, mono->factors[0].atom)->dim;
	return true;
}

bool size_uses_dim(const Sizes *sizes, Size a, DimId dim)
{
	const Poly *poly = poly_at(sizes, a);
	for (uint32_t i = 0; i < poly->n; i++) {
		const Mono *mono = mono_at(sizes, poly->terms[i].mono);
		for (uint32_t k = 0; k < mono->n; k++) {
			const Atom *atom = atom_at(sizes, mono->factors[k].atom);
			if (atom->kind == ATOM_DIM ? atom->dim == dim
			                           : size_uses_dim(sizes, atom->num, dim) ||
			                                     size_uses_dim(sizes, atom->den, dim))
				return true;
		}
	}
	return false;
}

void size_note_dims(const Sizes *sizes, Size a, bool *uses)
{
	const Poly *poly = poly_at(sizes, a);
	for (uint32_t i = 0; i < poly->n; i++) {
		const Mono *mono = mono_at(sizes, poly->terms[i].mono);
		for (uint32_t k = 0; k < mono->n; k++) {
			const Atom *atom = atom_at(sizes, mono->factors[k].atom);
			if (atom->kind == ATOM_DIM) {
				uses[atom->dim] = true;
				continue;
			}
			size_note_dims(sizes, atom->num, uses);
			size_note_dims(sizes, atom->den, uses);
		}
	}
}

bool size_is_total(const Sizes *sizes, Size a, Size *before, Size *added)
{
	*before = poly_at(sizes, a)->before;
	*added = poly_at(sizes, a)->added;
	return !size_is_bad(*before);
}

bool size_last_dim(const Sizes *sizes, Size a, DimId *dim)
{
	const Poly *poly = poly_at(sizes, a);
	bool found = false;
	for (uint32_t i = 0; i < poly->n; i++) {
		const Mono *mono = mono_at(sizes, poly->terms[i].mono);
		for (uint32_t k = 0; k < mono->n; k++) {
			const Atom *atom = atom_at(sizes, mono->factors[k].atom);
			DimId last = atom->dim, den;
			bool has = atom->kind == ATOM_DIM || size_last_dim(sizes, atom->num, &last);
			if (atom->kind != ATOM_DIM && size_last_dim(sizes, atom->den, &den)) {
				last = has && last > den ? last : den;
				has = true;
			}
			if (has && (!found || last > *dim))
				*dim = last;
			found |= has;
		}
	}
	return found;
}

bool size_is_of_args(const Sizes *sizes, Size a)
{
	DimId last;
	return !size_last_dim(sizes, a, &last) || sizes_dim(sizes, last)->kind == DIM_ARGUMENT;
}

typedef enum Evaluated { EVAL_VALUE, EVAL_REST, EVAL_OVERFLOW } Evaluated;

static Evaluated evaluate(const Sizes *sizes, Size a, const int64_t *values, int64_t *out);

static Evaluated eval_atom(const Sizes *sizes, const Atom *atom, const int64_t *values,
			   int64_t *out)
{
	int64_t num, den;
	if (atom->kind == ATOM_DIM) {
		*out = values[atom->dim];
		return EVAL_VALUE;
	}
	Evaluated found = evaluate(sizes, atom->num, values, &num);
	if (found == EVAL_VALUE)
		found = evaluate(sizes, atom->den, values, &den);
	if (found != EVAL_VALUE)
		return found;
	if (den == 0 || (den == -1 && num == INT64_MIN))
		return EVAL_REST;
	*out = num / den;
	if (num % den == 0)
		return EVAL_VALUE;
	*out -= (num < 0) != (den < 0);
	return atom->kind == ATOM_FLOOR ? EVAL_VALUE : EVAL_REST;
}

static Evaluated eval_term(const Sizes *sizes, Term term, const int64_t *values, int64_t *out)
{
	const Mono *mono = mono_at(sizes, term.mono);
	*out = term.coef;
	for (uint32_t i = 0; i < mono->n; i++) {
		int64_t value;
		Evaluated found =
			eval_atom(sizes, atom_at(sizes, mono->factors[i].atom), values, &value);
		if (found != EVAL_VALUE)
			return found;
		for (uint32_t power = 0; power < mono->factors[i].power; power++)
			if (__builtin_mul_overflow(*out, value, out))
				return EVAL_OVERFLOW;
	}
	return EVAL_VALUE;
}

static Evaluated evaluate(const Sizes *sizes, Size a, const int64_t *values, int64_t *out)
{
	const Poly *poly = poly_at(sizes, a);
	*out = 0;
	for (uint32_t i = 0; i < poly->n; i++) {
		int64_t value;
		Evaluated found = eval_term(sizes, poly->terms[i], values, &value);
		if (found != EVAL_VALUE)
			return found;
		if (__builtin_add_overflow(*out, value, out))
			return EVAL_OVERFLOW;
	}
	return EVAL_VALUE;
}

bool size_eval(const Sizes *sizes, Size a, const int64_t *values, int64_t *out)
{
	int64_t value;
	if (size_is_bad(a) || evaluate(sizes, a, values, &value) != EVAL_VALUE)
		return false;
	*out = value;
	return true;
}

bool size_overflows(const Sizes *sizes, Size a, const int64_t *values)
{
	int64_t value;
	return !size_is_bad(a) && evaluate(sizes, a, values, &value) == EVAL_OVERFLOW;
}

static Size substitute_atom(Sizes *sizes, Atom atom, const Size *by_dim)
{
	int64_t divisor;
	if (atom.kind == ATOM_DIM)
		return by_dim[atom.dim];
	Size num = size_substitute(sizes, atom.num, by_dim);
	if (atom.kind == ATOM_FLOOR && atom_divisor(sizes, &atom, &divisor))
		return size_floor(sizes, num, divisor);
	return size_div(sizes, num, size_substitute(sizes, atom.den, by_dim));
}

Size size_substitute(Sizes *sizes, Size a, const Size *by_dim)
{
	Poly poly = *poly_at(sizes, a);
	WORK(sum);
	if (size_is_bad(a))
		return SIZE_BAD;
	for (uint32_t i = 0; i < poly.n; i++) {
		Mono mono = *mono_at(sizes, poly.terms[i].mono);
		Size product = size_const(sizes, poly.terms[i].coef);
		for (uint32_t k = 0; k < mono.n; k++) {
			Size by = substitute_atom(sizes, *atom_at(sizes, mono.factors[k].atom),
						  by_dim);
			for (uint32_t power = 0; power < mono.factors[k].power; power++)
				product = size_mul(sizes, product, by);
		}
		work_add_scaled(sizes, &sum, product, 1);
	}
	return work_intern(sizes, &sum);
}
