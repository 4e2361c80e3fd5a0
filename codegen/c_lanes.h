/* A loop of lanes in C on its way, shared by c_lanes*.c. */
#ifndef TSR_CODEGEN_C_LANES_H
#define TSR_CODEGEN_C_LANES_H

#include "codegen/c_kernel.h"

typedef struct LanesText {
	KernelText *k;
	const Stmt *loop;
	Dtype dtype;
	int lanes;	     /* of the vectors at hand */
	const char *type;    /* "tsr_f32x16" */
	const char *integer; /* of the same width: "tsr_i32x16" */
	bool *own;	     /* by LocalId: declared in the loop */
	/* Vectors side by side, and the one at hand; what differs between them: names of values and
	 * locals, and the lane. */
	uint32_t vectors, at;
	PointerMap names[C_TOGETHER];
	const char **locals[C_TOGETHER];
	const char *lane[C_TOGETHER];
} LanesText;

/* Where the elements of lanes are. */
typedef enum LanesPlace {
	PLACE_NOWHERE,	  /* where vectors of C do not reach */
	PLACE_NEIGHBOURS, /* one behind the other */
	PLACE_STRIDED,	  /* equally far apart */
	PLACE_COLUMN,	  /* of a square local, along its first axis */
	PLACE_ANYWHERE,	  /* of a local, at indices of their own */
} LanesPlace;

/* Does it differ between lanes? */
bool c_lanes_vary(const LanesText *lanes, const Value *value);
/* A vector, or an expression that is the same in all lanes, where the value does not vary. */
const char *c_lanes_value(LanesText *lanes, const Value *value);

/* c_lanes_packed.c: is it a cast of elements of four bits that vectors do, to any type; to f32? */
bool c_lanes_is_packed(const LanesText *lanes, const Value *value);
bool c_lanes_packed_fits(const LanesText *lanes, const Value *value);
/* The elements that a load is of as a vector of int32_t. Requires: c_lanes_is_packed of a cast of it. */
const char *c_lanes_packed_integers(LanesText *lanes, const Value *load);
/* The vector of such a cast, or of a function of one such element; NULL: it is neither. */
const char *c_lanes_packed(LanesText *lanes, const Value *value);

/* c_lanes_words.c: is the index, where the first lane of a vector is, a multiple of `by`, a power of two, and that
 * rest, whatever the iterators around it are? Vectors begin an even number of lanes apart. */
bool c_lanes_find_rest(const LanesText *lanes, const Ix *ix, int64_t by, int64_t *rest);
/* Are lanes the same element of four bits, by its place, of words that lie one after another; the first byte of the
 * first. */
bool c_lanes_find_words(const LanesText *lanes, const Value *load, int64_t *place);
const char *c_lanes_word(const LanesText *lanes, const Value *load, int64_t place);

/* c_lanes_packed.c: is it a cast to f32 of whole numbers that vectors compute? Its vector. */
bool c_lanes_integers_fit(const LanesText *lanes, const Value *cast);
const char *c_lanes_integers(LanesText *lanes, const Value *cast);

/* c_lanes_choice.c. A variable of its own, of that type, that is still to be filled. */
const char *c_lanes_declared(LanesText *lanes, const char *type);
/* A constant of its own, of that text, which may be read several times. */
const char *c_lanes_named(LanesText *lanes, const char *text);
/* What is the same in all lanes as a vector. */
const char *c_lanes_spread(LanesText *lanes, const char *text);
/* Operations of vectors x, y, z that are names, and of extremes the value that y is. */
const char *c_lanes_choice(LanesText *lanes, Op op, const char *x, const char *y, const char *z);
const char *c_lanes_extreme(LanesText *lanes, Op op, const char *x, const char *y,
			    const Value *second);
/* x < y ? x : y, or of the greater one x > y ? x : y, of names. */
const char *c_lanes_less_or_greater(LanesText *lanes, bool less, const char *x, const char *y);

/* c_lanes_strided.c */
LanesPlace c_lanes_of_buffer(const LanesText *lanes, BufferId buffer, const Ix *ix);
LanesPlace c_lanes_of_local(const LanesText *lanes, LocalId local, const Ix *const *ixs,
			    uint32_t nixs);
/* Are there lanes at indices of their own that use the iterator, that of lanes too? */
bool c_lanes_anywhere(const LanesText *lanes, IterVar iter);
/* A vector from elsewhere than neighbours.
 * Requires: lanes a constant stride from each other. */
const char *c_lanes_load(LanesText *lanes, const Value *value);
const char *c_lanes_local(LanesText *lanes, const Value *value);
/* Writes element after element. */
void c_lanes_store(LanesText *lanes, const Stmt *stmt, const char *value);

/* c_lanes_calls.c */
/* Is it a function that has a form for vectors? */
bool c_lanes_call_fits(const LanesText *lanes, const Value *value);
bool c_lanes_has_calls(const LanesText *lanes);
/* The function of one vector. */
const char *c_lanes_call(LanesText *lanes, const Value *value);
/* Begins with so many vectors side by side, the first one at hand; ends with one. */
void c_lanes_begin(LanesText *lanes, uint32_t vectors);
void c_lanes_end(LanesText *lanes);
/* Takes that vector in hand. Requires: vector < that of c_lanes_begin. */
void c_lanes_enter(LanesText *lanes, uint32_t vector);
/* Begins a statement: the functions in its value, of all vectors. */
void c_lanes_calls(LanesText *lanes, const Value *value);

#endif
