/* Hand-made graphs through lowering, for test_lower.c: the text of the loops, and the interpreter
 * against the reference on small integers, where sums are exact in any order. */
#ifndef TSR_TEST_LOWER_FIXTURE_H
#define TSR_TEST_LOWER_FIXTURE_H

#include "codegen/codegen.h"
#include "lower/lower.h"
#include "reference/reference.h"
#include "test/unit/small_graph.h"

enum { MAX_ARGS = 16 };

NodeId small_pointwise(Small *s, Op op, const char *shape, uint32_t nargs, const NodeId *args);
/* An einsum; of one operand without an operation. */
NodeId small_einsum(Small *s, const char *text, const char *shape, uint32_t nargs,
		    const NodeId *args);
NodeId small_number(Small *s, double value);
NodeId small_param(Small *s, const char *name, const char *shape);
/* The same node with a name. */
NodeId small_named(Small *s, NodeId id, const char *text);
/* The same node as a step that assigns to the target. */
NodeId small_assign(Small *s, NodeId id, NodeId target, Op acc, bool clear);
/* The graph's routine: `forward` with every input leaf, these outputs, and every node in order. */
void small_routine(Small *s, uint32_t noutputs, const NodeId *outputs);
/* `forward` with every input leaf, these outputs, and every node in order; NULL after an error. */
const Program *small_lower(Small *s, uint32_t noutputs, const NodeId *outputs);
/* The same as unscheduled loops. */
const Program *small_naive(Small *s, uint32_t noutputs, const NodeId *outputs);

/* What the verifier says of a plan, in a child: 0 where it is accepted, 3 where it is refused as a bug. */
int plan_verdict(const LowerPlan *plan, void (*verify)(const LowerPlan *));

/* What small_lower lowers for: 32 registers of 64 bytes. */
const Target *small_target(Small *s);
const char *lowered_dump(Small *s, const Program *program);
/* The text of one kernel, from its head. */
void expect_kernel(Small *s, const Program *program, const char *text);
/* Interprets and compares with all symbolic dims 0, 1, 3 and 5. */
void expect_right(Small *s, const Program *program);

/* One run of the first routine; its first fields are the caller's. */
typedef struct Run {
	Small *s;
	const Program *program;
	const void *inputs[MAX_ARGS], *params[MAX_ARGS];
	void *outputs[MAX_ARGS];
	char *state;
	int64_t dims[8];
	Scalar scalars[4];
} Run;

/* Draws inputs and parameters and makes room for the outputs. */
void run_set_up(Run *run);
/* What the interpreter returns. */
int run_interpret(Run *run);
/* What the reference has, of the arguments before the routine runs; the caller frees it. */
RefResult *run_reference(Run *run);

#endif
