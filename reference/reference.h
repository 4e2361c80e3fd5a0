/* What a program means, straight from what inference found: every node whole, one point of its
 * product space after another, in the widest floating type. It shares nothing with lower/ and
 * codegen/, which are compared with it.
 *
 *   element := a value and how far a back end may be from it
 *
 * A back end may add in any order, round a*b + c once or twice, and compute functions within the
 * errors of docs/language.md. The error of an element follows from the types, the number of terms and
 * the errors of what it is made from; 0 where the arithmetic is exact in every order, as in sums of
 * small multiples of one power of two. Where rounding decides (a comparison of what is nearly
 * equal) or an overflow may happen on the way, the error covers what may come of it, and is
 * infinite where anything may.
 */
#ifndef TSR_REFERENCE_REFERENCE_H
#define TSR_REFERENCE_REFERENCE_H

#include "base/ops.h"
#include "base/size.h"
#include "frontend/graph.h"
#include "sums/sums.h"

typedef struct Inference Inference;

typedef struct RefElement {
	union {
		long double x; /* a number of any type; integers are whole */
		uint32_t w[4]; /* of u4x32 */
	};
	double error; /* INFINITY: anything */
	bool jumps;   /* rounding has decided: back ends may differ by much */
} RefElement;

typedef struct RefTensor {
	RefElement *elements; /* in storage order; NULL: no routine uses the parameter */
	int64_t n;
	Dtype dtype;
} RefTensor;

typedef struct RefCall {
	const Inference *inference;
	const int64_t *dims;	   /* by DimId */
	const DimId *routine_dims; /* that the routine takes: guards of these alone are checked */
	uint32_t nroutine_dims;
	const Scalar *scalars;	   /* in the routine's order */
	const void *const *inputs; /* likewise: elements in storage order, in their own types */
	const void *const *params; /* by place in graph->params; NULL: not used */
	int64_t most_elements;	   /* that it may hold at a time */
	bool fast;		   /* --fp=fast: functions may have larger errors */
	bool pairs;		   /* products of bf16 may take subnormal numbers for 0 */
	/* what products of f32 may be off by, relative to them, where tensor cores take factors of
	 * fewer bits; 0: they do not */
	double product_error;
	/* by NodeId: the order in which an operation adds, where its elements are to have exactly the
	 * bits that follow from it; NULL entries, and NULL: any order. Products are added with one
	 * rounding where `fused`. */
	const SumMade *const *sums;
	bool fused;
} RefCall;

typedef enum RefOutcome {
	REF_DONE,
	REF_GUARD,     /* a guard does not hold: nothing is written */
	REF_OUTSIDE,   /* an index that is read is outside its axis: nothing is written */
	REF_UNDECIDED, /* rounding decides where something is read */
	REF_TOO_MUCH   /* more elements than the call allows */
} RefOutcome;

typedef struct RefResult {
	RefOutcome outcome;
	Span span;	    /* OUTSIDE: of the operation that reads */
	uint32_t guard;	    /* GUARD: the first one, by place in inference->guards */
	RefTensor *outputs; /* DONE: in the routine's order */
	uint32_t noutputs;
	RefTensor *params; /* DONE: what they are then, by place in graph->params */
	uint32_t nparams;
	RefTensor *nodes; /* of a part, DONE: what was computed, by NodeId; else NULL */
	uint32_t nnodes;
	int64_t steps; /* of a part: points and elements that it visits */
} RefResult;

/* A part of a routine. */
typedef struct RefPart {
	uint32_t routine;
	/* by NodeId, with elements: what a node holds, whatever makes it; the others are computed. Tensors that
	 * `init` or the caller set are all given. */
	const RefTensor *given;
	NodeId last; /* operations of the routine up to this one run; NODE_NONE: none but those of `wanted` */
	const NodeId *wanted; /* nodes that are computed with what they need */
	uint32_t nwanted;
	int64_t most_steps; /* of more nothing is computed: TOO_MUCH */
} RefPart;

/* Points and elements that the routine of a number visits; past the last routine: `init`. Requires
 * that its guards hold. */
int64_t reference_steps(const RefCall *call, uint32_t routine);
/* The routine of a number. The result belongs to the caller. Requires: a routine of the graph. */
RefResult *reference_run(const RefCall *call, uint32_t routine);
/* What parameters start with under a seed. Of the call, inputs, params and scalars are not read. */
RefResult *reference_init(const RefCall *call, uint64_t seed);
/* A part of it, with `nodes` for outputs and params; what an operation makes is taken for exact, whatever back ends
 * may make of it, and NAN where that is unknown. Of the call, inputs and params are not read. Requires: nothing
 * that is given is written where `last` is NODE_NONE. */
RefResult *reference_part(const RefCall *call, const RefPart *part);
void reference_free(RefResult *result);

/* May a back end give that number? `got` is of the type. */
bool ref_allows(const RefElement *element, Dtype dtype, Scalar got);
/* Is there a number that it may not give? */
bool ref_says_something(const RefElement *element, Dtype dtype);

#endif
