/* The meaning of a tensor graph straight from its projections: every node whole, in doubles, one
 * point of the product space after another. What lowering is compared with: it shares nothing with
 * lower/. */
#ifndef TSR_TEST_GRAPH_EVAL_H
#define TSR_TEST_GRAPH_EVAL_H

#include "infer/infer.h"

typedef struct GraphEval {
	const Inference *inference;
	Arena *arena;
	const int64_t *dims;
	const Scalar *scalars;
	double **values; /* by NodeId; inputs and parameters are given, assigned ones are overwritten */
} GraphEval;

int64_t graph_eval_elements(const GraphEval *e, NodeId node);
int64_t graph_eval_size(const GraphEval *e, Size size);
/* Evaluates nodes [0, n); false: a gathered index is out of range. */
bool graph_eval(GraphEval *e, NodeId n);

#endif
