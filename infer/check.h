/* Internal to the checker (infer/check*.c). It shares no code with the solver or the derivation of
 * projections: what an operation means is read off the graph again, as the expectation that each
 * axis raises, and the result is held against it.
 *
 *   expect := INDEX n | KEY k | AFFINE over, kernel | CONCAT keys | STACK | GATHER arg
 *
 * A key is one axis of the operation's own coordinates: a letter, or an axis of the result. All
 * axes with a key have one size, and in the projection one iterator.
 */
#ifndef TSR_INFER_CHECK_H
#define TSR_INFER_CHECK_H

#include "infer/infer.h"

#define KEY_NONE UINT32_MAX

typedef enum ExpectKind {
	EXPECT_INDEX, EXPECT_KEY, EXPECT_AFFINE, EXPECT_CONCAT, EXPECT_STACK, EXPECT_GATHER
} ExpectKind;

typedef struct Expect {
	ExpectKind kind;
	const Axis *axis;
	int64_t index;        /* INDEX */
	Size place;	      /* INDEX: of a slice at a size; SIZE_BAD: others */
	bool stretched;       /* INDEX: a broadcasting 1, so the axis must be one */
	uint32_t key, kernel; /* KEY; AFFINE: kernel may be KEY_NONE */
	const SpecAxis *spec; /* AFFINE, CONCAT */
	uint32_t *parts;      /* CONCAT: a key a part, KEY_NONE: skipped */
	int32_t gather;
} Expect;

typedef struct ExpectTensor {
	Expect *axes; /* in storage order */
	uint32_t n;
} ExpectTensor;

typedef struct Key {
	Sym letter;    /* NULL: none */
	Sym label;     /* of its axes; NULL: none */
	Size size;     /* SIZE_BAD: no axis says */
	bool met, wide; /* operands' axes meet it; one of them is not the broadcasting 1 */
	bool bound;
	IterId iter;   /* once bound; UINT32_MAX: always at 0 */
} Key;

typedef struct Checker {
	const Inference *inference;
	Sizes *sizes;
	Arena *arena;
	const char *why;      /* the first thing that does not hold */
	int64_t **samples;    /* admissible values of the dims, made when first needed */
	uint32_t nsamples;
	bool sampled;
	uint64_t nproved, ntested;
	size_t nbeyond; /* sizes that were too large before this check */
	/* of the node that is being checked */
	NodeId id;
	const Node *node;
	const Proj *proj;
	ExpectTensor result, *args;
	VEC(Key) keys;
	uint32_t nbrackets; /* axes of its specification in brackets, so far */
	uint32_t *owner; /* by iterator: the key that runs on it */
} Checker;

/* Borrows the inference; samples and messages stand in the arena. */
void checker_init(Checker *c, const Inference *inference, Arena *arena);
/* NULL: the node's shape and projection hold; else what does not (in the arena). */
const char *check_node(Checker *c, NodeId id);
/* The same of the projection alone, whatever operation it belongs to. */
const char *check_projection(Checker *c, NodeId id);
/* The same for the `with` clauses, captures and requirements of the whole program. */
const char *check_program(Checker *c);

/* Notes the first violation; false, so that checks read `return check_fail(...)`. */
bool check_fail(Checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* check_size.c: false when an admissible choice of dims contradicts it. */
bool holds_equal(Checker *c, Size a, Size b);
/* Is a >= b? */
bool holds_ge(Checker *c, Size a, Size b);
/* Is there such a size: not bad, at least 0, and do its quotients divide? */
bool holds_size(Checker *c, Size a);
/* Does b divide a? */
bool holds_divides(Checker *c, Size b, Size a);
/* a >= b wherever all of the sizes in `positive` are at least 1. */
bool holds_ge_where(Checker *c, Size a, Size b, const Size *positive, uint32_t n);
/* How far a key runs: its iterator's extent, else its known size, else 1.
 * Requires: a key of the node at hand. */
Size check_extent(const Checker *c, uint32_t key);
/* The size of a part of a concatenated axis that is skipped. Requires: a part of the axis. */
Size check_skipped(Checker *c, const Expect *expect, uint32_t part);
/* The size of any part. Requires: a part of the axis. */
Size check_part(Checker *c, const Expect *expect, uint32_t part);
/* The value of a size as written. */
Size check_size_expr(Checker *c, const SizeExpr *expr);

/* Each of these returns false after check_fail. */
bool check_leaf(Checker *c);
/* NODE_JOINED: is each axis that joins the product of those that it joins, and each other one the
 * same on both sides? Others hold. */
bool check_joined(Checker *c);
/* Has the shape the rows of the declaration? */
bool check_declared(Checker *c, const ShapeDecl *decl,
		    const Shape *shape); /* check_leaf.c: a leaf against its declaration */
bool check_expect(Checker *c);    /* check_expect.c: what the operation asks of each axis; ranks */
bool check_structure(Checker *c); /* check_struct.c: ids, factors, pieces and their iterators */
void check_learn_sizes(Checker *c); /* check_relate.c: what is known of each key's size beforehand */
bool check_maps(Checker *c);      /* check_map.c: every index is the one that the operation asks for */
bool check_pieces(Checker *c);    /* check_pieces.c: one for each choice of parts, and once */
bool check_sizes(Checker *c);     /* check_relate.c: the size relations of the operation */
bool check_bounds(Checker *c);    /* check_bounds.c: every index is within its axis */
bool check_writes(Checker *c);    /* check_write.c: each cell once, or accumulated after one clearing */

#endif
