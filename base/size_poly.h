/* The inside of sizes, private to base/size*.c.
 *
 * A size is a polynomial: terms in descending lexicographic order of their monomials (dims in
 * the order of declaration, then quotients, then floors; the constant last). Atoms, monomials
 * and polynomials are interned in three tables, so an id stands for a structure. Order is
 * structural, never that of ids, so that what is printed does not depend on the order of
 * construction.
 *
 * Quotients by constants make a size a polynomial with rational coefficients, and the normal
 * form is that polynomial's: the terms with integer coefficients, and at most one term +-(P/m),
 * in which P holds the others over their least common denominator, its leading coefficient
 * positive.
 *
 * Bounds, so that hostile input costs little: TERM_CAP terms, DEGREE_CAP, DEPTH_CAP nested
 * quotients, WEIGHT_CAP nodes when everything shared is written out, and ALL_TERMS_CAP terms in all
 * sizes together; beyond any of them a size is SIZE_BAD, and Sizes.limit says which it was.
 */
#ifndef TSR_BASE_SIZE_POLY_H
#define TSR_BASE_SIZE_POLY_H

#include <string.h>

#include "base/size.h"

enum {
	TERM_CAP = 1 << 14,
	ALL_TERMS_CAP = 1 << 23,
	WORK_CAP = 2 * TERM_CAP,
	WORK_FEW = 64,
	LONG_TOTAL = 16,
	LONG_SUM = 64, /* terms: shorter sums are printed whole, and emitted as they are printed */
	FEW_CONSTANTS = 128,
	DEGREE_CAP = 16,
	DEPTH_CAP = 32,
	WEIGHT_CAP = 1 << 18,
};
#define COEF_CAP ((int64_t)1 << 62)

typedef enum AtomKind { ATOM_DIM, ATOM_QUOTIENT, ATOM_FLOOR } AtomKind;

typedef struct Atom {
	AtomKind kind;
	DimId dim;     /* of ATOM_DIM */
	Size num, den; /* of the others; a floor's den is a constant > 1 */
	uint32_t weight, depth;
} Atom;

typedef struct Factor {
	uint32_t atom, power;
} Factor;

/* Monomial 0 is the constant 1. */
typedef struct Mono {
	const Factor *factors;
	uint32_t n, degree, weight, depth;
	bool quotient;	 /* a factor is a quotient */
	bool fractional; /* a factor is a quotient by a constant */
} Mono;

typedef struct Term {
	int64_t coef; /* not 0, at most COEF_CAP either way */
	uint32_t mono;
	uint32_t zero; /* no padding, so that terms can be hashed as bytes */
} Term;

typedef struct Poly {
	const Term *terms;
	uint32_t n, weight, depth;
	Size before, added; /* of a long sum that size_total made; else SIZE_BAD */
} Poly;

/* Which ids have a hash: chains, one a bucket, through links that stand in the order of ids. */
typedef struct Link {
	uint64_t hash;
	uint32_t next; /* an id + 1; 0: none */
} Link;

typedef struct Table {
	uint32_t *buckets; /* the first of the chain, as an id + 1 */
	size_t nbuckets;   /* a power of two, or 0; at least links.n */
	VEC(Link) links;
} Table;

/* LIMIT_EARLIER: the one that an operand passed. */
typedef enum SizeLimit {
	LIMIT_NUMBER,
	LIMIT_TERMS,
	LIMIT_ALL_TERMS,
	LIMIT_DEGREE,
	LIMIT_DEPTH,
	LIMIT_WEIGHT,
	LIMIT_EARLIER
} SizeLimit;

struct Sizes {
	Arena *arena;
	SizeLimit limit; /* that the last bad size passed */
	size_t nbeyond;	 /* how many did */
	size_t nterms;	 /* of all sizes */
	VEC(Dim) dims;
	VEC(Atom) atoms;
	VEC(Mono) monos;
	VEC(Poly) polys; /* polys.at[0] is SIZE_BAD */
	Table atom_table, mono_table, poly_table;
	Size constants[FEW_CONSTANTS]; /* those that are most often asked for; SIZE_BAD: not yet */
};

/* A polynomial under construction: sorted, without zero terms, not interned, its quotients not in
 * normal form. bad: the bound `limit` was passed. Terms beyond the first few lie on the heap: declare
 * one with WORK(name), which starts at 0 and is freed at the end of its scope. */
typedef struct Work {
	uint32_t n, cap;
	bool bad;
	SizeLimit limit;
	Term *at; /* few, or cap terms */
	Term few[WORK_FEW];
} Work;

#define WORK(name)                                                                                 \
	__attribute__((cleanup(work_free))) Work name;                                             \
	work_init(&name)

static inline void work_init(Work *work)
{
	work->n = 0;
	work->cap = WORK_FEW;
	work->bad = false;
	work->limit = LIMIT_NUMBER;
	work->at = work->few;
}

/* Frees the terms that lie on the heap; WORK calls it. */
void work_free(Work *work);
/* Room for so many terms. */
void work_reserve(Work *work, uint32_t n);

static inline void work_clear(Work *work)
{
	work->n = 0;
	work->bad = false;
	work->limit = LIMIT_NUMBER;
}

/* Of the terms that there are alone: most have few. */
static inline void work_copy(Work *to, const Work *from)
{
	work_reserve(to, from->n);
	to->n = from->n;
	to->bad = from->bad;
	to->limit = from->limit;
	memcpy(to->at, from->at, from->n * sizeof *to->at);
}

/* work += coef * mono */
void work_add(const Sizes *sizes, Work *work, int64_t coef, uint32_t mono);
/* work += factor * mono * a */
void work_add_size(Sizes *sizes, Work *work, Size a, Term factor);
/* work = a */
void work_set(const Sizes *sizes, Work *work, Size a);
/* work += factor * a: needs no new monomials */
void work_add_scaled(const Sizes *sizes, Work *work, Size a, int64_t factor);
/* The size in normal form: work, and work / k for k > 0. */
Size work_intern(Sizes *sizes, Work *work);
Size work_intern_over(Sizes *sizes, Work *work, int64_t k);
/* Terms that are in normal form already. */
Size size_intern(Sizes *sizes, const Term *terms, uint32_t n);

/* SIZE_BAD, for the reason. */
Size size_beyond(Sizes *sizes, SizeLimit limit);

/* UINT32_MAX where the degree is beyond its cap. */
uint32_t mono_mul(Sizes *sizes, uint32_t a, uint32_t b);
/* a / b; false when b does not divide a. */
bool mono_div(Sizes *sizes, uint32_t a, uint32_t b, uint32_t *quotient);
uint32_t mono_of_atom(Sizes *sizes, uint32_t atom);
/* The atom num/den or floor(num/den) as a size. */
Size size_of_quotient(Sizes *sizes, AtomKind kind, Size num, Size den);
/* Is the atom a quotient or floor by a constant? Then *den is it. */
bool atom_divisor(const Sizes *sizes, const Atom *atom, int64_t *den);
/* A value that a never falls below; false where none is known. */
bool size_least(const Sizes *sizes, Size a, int64_t *least);
/* a = q * b as polynomials with integer coefficients. */
bool size_div_exact(Sizes *sizes, Size a, Size b, Size *q);

static inline const Poly *poly_at(const Sizes *sizes, Size a)
{
	return &sizes->polys.at[a.id];
}

static inline const Mono *mono_at(const Sizes *sizes, uint32_t mono)
{
	return &sizes->monos.at[mono];
}

static inline const Atom *atom_at(const Sizes *sizes, uint32_t atom)
{
	return &sizes->atoms.at[atom];
}

#endif
