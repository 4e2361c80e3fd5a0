/* Sizes as people read them, and as postfix programs for emitters.
 *
 * The normal form keeps residues in a floor, so floor((n - 1)/2) is held as floor((n + 1)/2) -
 * 1. Where a sum has one floor, negative terms that also stand in its numerator are printed back
 * under the bar.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/held.h"
#include "base/size_poly.h"
#include "base/size_program.h"

static void print_terms(FILE *out, const Sizes *sizes, const Term *terms, uint32_t n);

/* In parentheses when it is a sum, and in a denominator also when it is a product or negative. */
static void print_operand(FILE *out, const Sizes *sizes, Poly poly, bool denominator)
{
	const Term *terms = poly.terms;
	uint32_t n = poly.n;
	bool product = n == 1 && terms[0].mono != 0 &&
	               (terms[0].coef != 1 || mono_at(sizes, terms[0].mono)->degree > 1 ||
	                mono_at(sizes, terms[0].mono)->depth > 0);
	bool enclosed = n > 1 || (denominator && (product || (n == 1 && terms[0].coef < 0)));
	fputs(enclosed ? "(" : "", out);
	print_terms(out, sizes, terms, n);
	fputs(enclosed ? ")" : "", out);
}

/* num stands for the atom's own numerator. */
static void print_fraction(FILE *out, const Sizes *sizes, const Atom *atom, Poly num)
{
	fputs(atom->kind == ATOM_FLOOR ? "floor(" : "", out);
	print_operand(out, sizes, num, false);
	fputc('/', out);
	print_operand(out, sizes, *poly_at(sizes, atom->den), true);
	fputs(atom->kind == ATOM_FLOOR ? ")" : "", out);
}

static void print_atom(FILE *out, const Sizes *sizes, const Atom *atom, bool alone)
{
	bool enclosed = atom->kind == ATOM_QUOTIENT && !alone;
	if (atom->kind == ATOM_DIM) {
		fputs(sizes_dim(sizes, atom->dim)->name, out);
		return;
	}
	fputs(enclosed ? "(" : "", out);
	print_fraction(out, sizes, atom, *poly_at(sizes, atom->num));
	fputs(enclosed ? ")" : "", out);
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* The absolute value of a term. */
static void print_term(FILE *out, const Sizes *sizes, Term term)
{
	const Mono *mono = mono_at(sizes, term.mono);
	bool one = magnitude(term.coef) == 1, first = true;
	if (!one || mono->n == 0) {
		fprintf(out, "%" PRIu64, magnitude(term.coef));
		first = false;
	}
	for (uint32_t i = 0; i < mono->n; i++) {
		const Atom *atom = atom_at(sizes, mono->factors[i].atom);
		for (uint32_t power = 0; power < mono->factors[i].power; power++) {
			fputs(first ? "" : "*", out);
			print_atom(out, sizes, atom, one && mono->degree == 1);
			first = false;
		}
	}
}

static void print_sign(FILE *out, bool negative, bool first)
{
	if (first)
		fputs(negative ? "-" : "", out);
	else
		fputs(negative ? " - " : " + ", out);
}

/* The one floor of the sum, if its coefficient is 1; n where there is none or another. */
static uint32_t find_floor(const Sizes *sizes, const Term *terms, uint32_t n, int64_t *m)
{
	uint32_t found = n;
	for (uint32_t i = 0; i < n; i++) {
		const Mono *mono = mono_at(sizes, terms[i].mono);
		const Atom *last = mono->n ? atom_at(sizes, mono->factors[mono->n - 1].atom) : NULL;
		if (!last || last->kind != ATOM_FLOOR)
			continue;
		if (found != n || mono->degree != 1 || terms[i].coef != 1 ||
		    !atom_divisor(sizes, last, m))
			return n;
		found = i;
	}
	return found;
}

static bool has_mono(const Poly *poly, uint32_t mono)
{
	for (uint32_t i = 0; i < poly->n; i++)
		if (poly->terms[i].mono == mono)
			return true;
	return false;
}

/* Moves the terms of the sum that go under the bar of a floor by m into its numerator; the others
 * go to kept. */
static bool fold(const Sizes *sizes, Poly sum, const Poly *numerator, int64_t m, Work *num,
		 Work *kept)
{
	for (uint32_t i = 0; i < numerator->n; i++)
		work_add(sizes, num, numerator->terms[i].coef, numerator->terms[i].mono);
	for (uint32_t i = 0; i < sum.n; i++) {
		Term term = sum.terms[i];
		int64_t coef;
		if (term.coef < 0 && has_mono(numerator, term.mono) &&
		    !__builtin_mul_overflow(term.coef, m, &coef))
			work_add(sizes, num, coef, term.mono);
		else
			work_add(sizes, kept, term.coef, term.mono);
	}
	return !num->bad && !kept->bad && num->n > 0;
}

/* "d0 + d1 + ... + d31 + (936 terms) + d968 + ... + d999" */
static void print_long(FILE *out, const Sizes *sizes, const Term *terms, uint32_t n)
{
	const uint32_t shown = LONG_SUM / 2;
	for (uint32_t i = 0; i < n; i++) {
		if (i == shown) {
			fprintf(out, " + (%" PRIu32 " terms)", n - 2 * shown);
			i = n - shown;
		}
		print_sign(out, terms[i].coef < 0, i == 0);
		print_term(out, sizes, terms[i]);
	}
}

static void print_terms(FILE *out, const Sizes *sizes, const Term *terms, uint32_t n)
{
	int64_t m = 1;
	if (n > 2 * LONG_SUM) {
		print_long(out, sizes, terms, n);
		return;
	}
	uint32_t at = find_floor(sizes, terms, n, &m);
	const Atom *atom = NULL;
	WORK(num);
	WORK(kept);
	if (at < n) {
		const Poly sum = {.terms = terms, .n = n};
		atom = atom_at(sizes, mono_at(sizes, terms[at].mono)->factors[0].atom);
		if (!fold(sizes, sum, poly_at(sizes, atom->num), m, &num, &kept))
			atom = NULL;
	}
	const Term *shown = atom ? kept.at : terms;
	uint32_t nshown = atom ? kept.n : n;
	for (uint32_t i = 0; i < nshown; i++) {
		print_sign(out, shown[i].coef < 0, i == 0);
		if (atom && shown[i].mono == terms[at].mono)
			print_fraction(out, sizes, atom,
				       (Poly){.terms = num.at, .n = num.n});
		else
			print_term(out, sizes, shown[i]);
	}
	if (n == 0)
		fputc('0', out);
}

void size_print(FILE *out, const Sizes *sizes, Size a)
{
	if (size_is_bad(a))
		fputs("?", out);
	else
		print_terms(out, sizes, poly_at(sizes, a)->terms, poly_at(sizes, a)->n);
}

const char *size_text(Arena *arena, const Sizes *sizes, Size a)
{
	Text text = text_new();
	size_print(text.out, sizes, a);
	return text_take(text, arena, NULL);
}

typedef struct Program {
	Arena *arena;
	const Sizes *sizes;
	VEC(SizeOp) ops;
} Program;

static void emit(Program *p, SizeCode code, int64_t arg)
{
	PUSH(p->arena, p->ops, ((SizeOp){code, arg}));
}

static void emit_size(Program *p, Size a);

static void emit_atom(Program *p, const Atom *atom)
{
	if (atom->kind == ATOM_DIM) {
		emit(p, SIZE_DIM, atom->dim);
		return;
	}
	emit_size(p, atom->num);
	emit_size(p, atom->den);
	emit(p, atom->kind == ATOM_FLOOR ? SIZE_FLOOR : SIZE_DIV, 0);
}

/* coef * mono, without a factor 1. */
static void emit_term(Program *p, int64_t coef, const Mono *mono)
{
	bool first = coef == 1 && mono->n > 0;
	if (!first)
		emit(p, SIZE_CONST, coef);
	for (uint32_t i = 0; i < mono->n; i++) {
		for (uint32_t power = 0; power < mono->factors[i].power; power++) {
			emit_atom(p, atom_at(p->sizes, mono->factors[i].atom));
			if (!first)
				emit(p, SIZE_MUL, 0);
			first = false;
		}
	}
}

/* Long sums as balanced trees, so that no emitter's operands nest as deep as the sum is long. */
static void emit_terms(Program *p, const Term *terms, uint32_t n)
{
	if (n > LONG_SUM) {
		emit_terms(p, terms, n / 2);
		emit_terms(p, terms + n / 2, n - n / 2);
		emit(p, SIZE_ADD, 0);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		int64_t coef = terms[i].coef;
		bool subtract = i > 0 && coef < 0;
		emit_term(p, subtract ? -coef : coef, mono_at(p->sizes, terms[i].mono));
		if (i > 0)
			emit(p, subtract ? SIZE_SUB : SIZE_ADD, 0);
	}
}

static void emit_size(Program *p, Size a)
{
	const Poly *poly = poly_at(p->sizes, a);
	if (poly->n == 0)
		emit(p, SIZE_CONST, 0);
	emit_terms(p, poly->terms, poly->n);
}

size_t size_program(Arena *arena, const Sizes *sizes, Size a, SizeOp **ops)
{
	Program program = {.arena = arena, .sizes = sizes};
	if (!size_is_bad(a))
		emit_size(&program, a);
	*ops = program.ops.at;
	return program.ops.n;
}
