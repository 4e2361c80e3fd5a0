/* Tables of wrong projections: each row makes one operation, derives its projection, which the
 * checker accepts, breaks one thing, and says what the checker must answer. */
#ifndef TSR_TEST_WRONG_PROJ_H
#define TSR_TEST_WRONG_PROJ_H

#include "infer/check.h"
#include "test/unit/small_graph.h"

/* Rows without letters end before them. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

typedef struct Wrong {
	const char *name;
	NodeKind kind;
	const char *spec;    /* NULL: none */
	const char *args[3]; /* shapes; the first NULL ends them */
	const char *result;
	void (*damage)(Small *s, NodeId id);
	const char *why;     /* part of the answer; NULL: it is still right */
	const char *letters; /* NULL, or sizes of letters: "a=2 b=n" */
} Wrong;

/* How many of the rows are not answered as they should be; says which. */
int wrong_answers(const Wrong *rows, size_t n);

/* What the checker answers to a specification of `from`, and of [3] where it has two operands,
 * under a guard; a: NULL for none. Holds until the next call. */
const char *check_guarded(const char *spec, const char *from, const char *to, GuardKind kind,
			  const char *a, const char *b);

static inline Index *result_index(Small *s, NodeId id, uint32_t axis)
{
	return &s->projs[id]->pieces[0].result.axes[axis];
}

static inline Index *arg_index(Small *s, NodeId id, uint32_t arg, uint32_t axis)
{
	return &s->projs[id]->pieces[0].args[arg].axes[axis];
}

static inline Size number(Small *s, int64_t value) { return size_const(s->graph.sizes, value); }

static inline void swap_terms(Index *a, Index *b)
{
	IndexTerm *terms = a->terms;
	a->terms = b->terms;
	b->terms = terms;
}

#endif
