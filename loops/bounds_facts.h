/* What is known where bounds.c stands, for bounds_facts.c, which keeps it, bounds_symbols.c and
 * bounds_prove.c.
 */
#ifndef TSR_LOOPS_BOUNDS_FACTS_H
#define TSR_LOOPS_BOUNDS_FACTS_H

#include "loops/bounds_prove.h"

/* POSITIVE: max(0, a); QUOTIENT: floor(a / b); REST: a less b times that. */
typedef enum SymbolKind { PLAIN, POSITIVE, QUOTIENT, REST } SymbolKind;

typedef struct Symbol {
	SymbolKind kind;
	Size a, b;
} Symbol;

/* A size as a sum of which one part is a multiple of an atom, a dim or floor. */
typedef struct Sum {
	Size atom, coef, rest;
} Sum;

/* A size that is never below 0. */
typedef struct Fact {
	Size size;
	DimId last; /* of its dims and symbols */
	Sum sum;    /* of the last; an atom that is SIZE_BAD: it is no such sum */
} Fact;

/* By the hash of what is known and the goal. */
typedef struct Answer {
	uint64_t key;
	bool value;
} Answer;

struct Prover {
	Arena *arena;
	const Program *program;
	Sizes *sizes;
	DimId first;	 /* of the symbols */
	Size *dims;	 /* by DimId of the program */
	VEC(Size) known; /* by id of a size of the program; SIZE_BAD: not yet */
	VEC(Symbol) symbols;
	VEC(Fact) facts;
	uint64_t state;	  /* a hash of what is known */
	uint64_t of_dims; /* of the facts about dims of the program alone */
	int64_t *values;  /* of dims, where goals are tried first: first of each sample */
	uint32_t samples; /* those at which the facts about dims hold: bits */
	bool empty;	  /* facts exclude each other: nothing runs here */
	int steps, depth; /* that a proof may still take */
	VEC(Size) failed; /* goals, with the facts at hand */
	Answer *answers;  /* stb_ds */
};

/* Is it at least 0 without any fact? */
bool prover_at_least_0(Prover *prover, Size a);
bool prover_is_fact(const Prover *prover, Size a);
/* Is a such a sum, and which? */
bool prover_sum(Prover *prover, Size a, Size atom, Sum *sum);
/* The samples of a set at which a size of dims alone is below 0; the first of them, or all. */
uint32_t prover_below_0(const Prover *prover, Size a, uint32_t set, bool first);
/* The size with another for the dim; SIZE_BAD: it is no sum with the dim in one part. */
Size prover_replaced(Prover *prover, Size a, DimId dim, Size by);
Size prover_new_symbol(Prover *prover, Symbol symbol);
/* SIZE_BAD: there is none. */
Size prover_same_symbol(Prover *prover, Symbol symbol);

#endif
