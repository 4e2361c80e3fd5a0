/* A gradient against differences of what it is the gradient of: private to verify/. */
#ifndef TSR_VERIFY_SLOPE_H
#define TSR_VERIFY_SLOPE_H

#include "infer/infer.h"
#include "verify/call.h"
#include "verify/verify.h"

enum { GRADIENT_STEPS = 1 << 21 }; /* points of the reference, of one run */

/* Gradients of one call of a routine, while they are looked at. */
typedef struct Differences {
	const GradientTask *task;
	const Graph *graph; /* of `wide` */
	Inference wide;	    /* the program with f64 for all floats */
	VerifyCall *call;
	const char *head; /* "forward(n = 3)" */
	RefCall ref;
	RefPart part;
	RefTensor *given;      /* by NodeId: inputs, parameters and constants */
	const RefResult *base; /* what all hold */
	bool *said;	       /* by place in graph->gradients: an error was said of it */
} Differences;

typedef enum Verdict { AGREES, UNKNOWN, WRONG } Verdict;

typedef struct Slopes {
	long double of, by_gradient;
} Slopes;

/* Of one gradient: in how many directions it was looked at, in how many of these nothing is known; WRONG: an element,
 * and the slopes there. */
typedef struct Found {
	Verdict verdict;
	int64_t looked, unknown, element;
	Slopes slopes;
} Found;

/* Were they made together, of one tensor in one direction? */
bool slope_like(const GradientMade *a, const GradientMade *b);
/* What a node holds. */
const RefTensor *slope_held(const Differences *check, NodeId id);
Found slope_look_at(const Differences *check, const GradientMade *of);
/* Are sum(c .* tangent) and sum(gradient .* t) one number, of a gradient of y in the direction c and a tangent of it along t, with
 * respect to one tensor? `found` has both. What is no number is UNKNOWN. Requires: all of it is held. */
Verdict slope_transposed(const Differences *check, const GradientMade *gradient,
			 const GradientMade *tangent, Slopes *found);

#endif
