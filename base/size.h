/* Sizes: integer expressions over the symbolic dims of a program, in a normal form, interned, so
 * that two sizes are equal as expressions exactly when their ids are equal.
 *
 *   size    := sum of terms                      at least the constant 0
 *   term    := integer * atom^power * ...        sorted; the constant term last
 *   atom    := dim                                a symbolic dim, numbered in the order of declaration
 *            | size / size                        exact quotient: a guard says that it divides
 *            | floor(size / integer)              the floor of a quotient, integer > 1
 *
 * A quotient that divides term by term is carried out ((2*n + 4)/2 is n + 2); so is a floor
 * whose numerator has divisible terms (floor((2*n + 3)/2) is n + 1), and sums and products of
 * quotients by constants come over one denominator (n/2 + n/4 is 3*n/4). All arithmetic is
 * checked: a coefficient beyond 2^62 gives SIZE_BAD, and SIZE_BAD absorbs.
 */
#ifndef TSR_BASE_SIZE_H
#define TSR_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/source.h"
#include "base/symbol.h"

typedef struct Size {
	uint32_t id; /* 0: SIZE_BAD */
} Size;

typedef uint32_t DimId;

/* The greatest value of a dim when a program runs. */
#define DIM_MOST ((int64_t)1 << 31)

typedef enum DimKind {
	DIM_ARGUMENT, /* what the caller of a routine passes */
	DIM_SCALAR, /* the value of an integer scalar of one routine, which is set from it at the entry */
	DIM_STEP /* the number of a loop's step, from 0 */
} DimKind;

/* A declared symbolic dim. (Dims with a value are constants and have no DimId.) */
typedef struct Dim {
	Sym name;
	Span span;
	int64_t at_least; /* 0 unless declared */
	DimKind kind;
} Dim;

#define DIM_NONE UINT32_MAX

typedef struct Sizes Sizes;

#define SIZE_BAD ((Size){0})

/* An empty table, in the arena; sizes of one table mean nothing in another. */
Sizes *sizes_new(Arena *arena);
/* Why the last size that became SIZE_BAD did, for a message: "it has more than 16384 terms". */
const char *sizes_limit_text(const Sizes *sizes);
/* Was it a number that was too large, and not the form of the size? */
bool sizes_limit_is_number(const Sizes *sizes);
/* How many sizes have become SIZE_BAD so far because they passed a bound. */
size_t sizes_nbeyond(const Sizes *sizes);
/* Appends a dim (names are not compared); the number of dims. */
DimId sizes_add_dim(Sizes *sizes, Dim dim);
uint32_t sizes_ndims(const Sizes *sizes);
/* How many are arguments: they stand before the others. */
uint32_t sizes_nargs(const Sizes *sizes);
/* NULL where there is no such dim; it may move when one is added. */
const Dim *sizes_dim(const Sizes *sizes, DimId dim);

/* A number and a dim of the table as sizes, and sums. SIZE_BAD: a number is beyond 2^62, the table has
 * no such dim, a bound of the form is passed, or an argument is SIZE_BAD. */
Size size_const(Sizes *sizes, int64_t value);
Size size_dim(Sizes *sizes, DimId dim);
Size size_add(Sizes *sizes, Size a, Size b);
Size size_sub(Sizes *sizes, Size a, Size b);
/* before + added, one of many running totals: what emits it may take it from `before`, so that n
 * totals take n additions. */
Size size_total(Sizes *sizes, Size before, Size added);
/* Is a such a total, and long? */
bool size_is_total(const Sizes *sizes, Size a, Size *before, Size *added);
/* a * b, factor * a and a + value; SIZE_BAD as above. */
Size size_mul(Sizes *sizes, Size a, Size b);
Size size_scale(Sizes *sizes, Size a, int64_t factor);
Size size_plus(Sizes *sizes, Size a, int64_t value);
/* a + factor * b */
Size size_add_scaled(Sizes *sizes, Size a, Size b, int64_t factor);
/* Exact: the caller collects the guard that b divides a (unless size_divides says so). b may be
 * symbolic. */
Size size_div(Sizes *sizes, Size a, Size b);
/* floor(a / b) and ceil(a / b) for b > 0, else SIZE_BAD. */
Size size_floor(Sizes *sizes, Size a, int64_t b);
Size size_ceil(Sizes *sizes, Size a, int64_t b);

static inline bool size_same(Size a, Size b) { return a.id == b.id; }
static inline bool size_is_bad(Size a) { return a.id == 0; }
/* Is a a constant (then *value is set), and is it this one? SIZE_BAD is none. */
bool size_is_const(const Sizes *sizes, Size a, int64_t *value);
bool size_is(const Sizes *sizes, Size a, int64_t value);
/* Is a a quotient of numbers, and no whole one? */
bool size_is_fraction(const Sizes *sizes, Size a);
/* Is a a single symbolic dim? */
bool size_is_dim(const Sizes *sizes, Size a, DimId *dim);
/* Is the dim in it, within quotients and floors too? */
bool size_uses_dim(const Sizes *sizes, Size a, DimId dim);
/* Sets uses[d] for every dim that a uses. */
void size_note_dims(const Sizes *sizes, Size a, bool *uses);
/* a as coef * atom + rest, neither of them with the atom, which is a dim or a floor; false: it is no
 * such sum. */
bool size_split(Sizes *sizes, Size a, Size atom, Size *coef, Size *rest);
/* The floors in a, each once, at most so many. */
size_t size_floors(Sizes *sizes, Size a, Size *floors, size_t most);

/* The greatest number that divides all coefficients; 0 of 0. */
int64_t size_content(const Sizes *sizes, Size a);

/* Printed form: terms in the order of declaration, constant last: "2*n + 1", "(n - 1)/2",
 * "floor(n/2)". */
void size_print(FILE *out, const Sizes *sizes, Size a);
/* The same as a string of the arena. */
const char *size_text(Arena *arena, const Sizes *sizes, Size a);

#endif
