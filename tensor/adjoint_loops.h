/* Gradients and tangents through loops, private to tensor/. */
#ifndef TSR_TENSOR_ADJOINT_LOOPS_H
#define TSR_TENSOR_ADJOINT_LOOPS_H

#include "tensor/adjoint.h"
#include "tensor/loop_tensors.h"

/* What a tensor outside of a loop is given by its steps, until the loop is over: a tensor, or an operation over all steps. */
typedef struct Waiting {
	NodeId to, reader; /* old numbers */
	NodeId given;	   /* NODE_NONE: the operation */
	Node node;
	Proj *proj;
	NodeId *args;
	uint32_t nargs;
} Waiting;

/* The nodes of a loop, those of loops in it, the tensors that they set and what is assigned to these before; others stand
 * between. */
typedef struct LoopRange {
	NodeId first, last;
} LoopRange;

/* A loop of the steps that are gone through. */
typedef struct Steps {
	uint32_t loop;	/* an old number; 0: none */
	uint32_t now;	/* the one that goes through them, a new number */
	size_t carried; /* what loops carry by then: what comes behind changes from step to step */
	VEC(Waiting) waiting;
	struct Steps *outer;
	NodeId *value, *stored; /* what nodes of the loop, and those between, held before */
} Steps;

/* ---- adjoint_give.c ---- */

/* What waited for the end of the loop is given, outside of it. */
void adjoint_give_waiting(Adjoint *a, const Steps *over);

/* ---- adjoint_waiting.c ---- */

/* Does what a tensor outside of the steps is given wait for their end? It stands in a->steps then. */
bool adjoint_waits(const Adjoint *a, NodeId to, const Part *part);

/* ---- adjoint_values.c ---- */

/* The value of a node in all steps of the loop that computes it is better stored than computed again. */
bool adjoint_is_stored(const TensorProgram *program, NodeId id);
/* Stores what a loop, an old number, carries at the start of each step, in its copy `now` in the new program: `stored` by tensor.
 * `value` has what each tensor is there. */
void adjoint_store_carried(Rebuild *g, uint32_t loop, uint32_t now, const NodeId *value,
			   NodeId *stored);
/* Counts the steps of a loop, an old number, in its copy `now`, if it ends early; NODE_NONE: it does
 * not. Requires: a loop of the graph. */
NodeId adjoint_count_steps(Rebuild *g, uint32_t loop, uint32_t now);
/* The values of all nodes of the loop in the step that is gone through, in a->value; loops in it run again, and their values
 * are stored. */
void adjoint_values_of_step(const Adjoint *a);
/* A node again, in the loop that is gone through, of operands that have values there; what it assigns to is the caller's to say. */
NodeId adjoint_copy(const Adjoint *a, NodeId id);
/* The loop runs again where operations are made. Requires: what it reads has values there. */
void adjoint_run_again(const Adjoint *a, uint32_t loop);

/* The node again, of what `operand` says stands for its operands. */
NodeId adjoint_copy_of(const Adjoint *a, NodeId id,
		       NodeId (*operand)(const Adjoint *a, NodeId id));
/* A loop of the reader's rule again: `nodes` has what stands for what it reads, or NODE_NONE, and gets what is made. */
void adjoint_copy_loop(const Adjoint *a, uint32_t loop, NodeId *nodes);

/* ---- adjoint_written.c ---- */

/* What the reader, a written rule, gives to its tensors. */
void adjoint_written(const Adjoint *a);
/* Can what a rule gives be compared with differences, each of its tensors moved alone? */
bool adjoint_rule_is_seen(const Graph *graph, const Node *rule);
bool adjoint_has_rules(const Graph *graph);
/* By node: is it behind the results of a rule, up to the rule? The table belongs to the arena. */
const bool *adjoint_ruled(const Graph *graph, Arena *arena);
/* What functions with a rule give is what their bodies give. Requires: all gradients are made. */
void adjoint_drop_rules(TensorProgram *program);

/* ---- adjoint_loops.c ---- */

/* By loop. The table belongs to the arena. */
const LoopRange *adjoint_ranges(const Graph *graph, Arena *arena);
/* The loop right in `outer` that `inner` is, or is in. Requires: inner is in outer, and another. */
uint32_t adjoint_loop_right_in(const Graph *graph, uint32_t inner, uint32_t outer);
/* The outermost loop around `loop` that `around` is not in, which gradients of a tensor there go through step by step; 0: there is
 * none. Requires: loops of the graph. */
uint32_t adjoint_loop_of_steps(const Graph *graph, uint32_t loop, uint32_t around);
/* Does a gradient go through the node, or does a loop set by it what one goes through? */
bool adjoint_concerns(const Graph *graph, const bool *path, NodeId id);
/* Node `id` is the reader. */
void adjoint_read(Adjoint *a, NodeId id);
/* What is made for nodes of the loop, and of loops in it, runs in the loop `now`, a new number. */
void adjoint_runs_in(const Adjoint *a, uint32_t loop, uint32_t now);
/* From here on operations are made in `now`, where no node of the loop has a value yet; until it is left, when what they had is
 * there again, and none has an adjoint. What is made for them runs in `parent` then. */
void adjoint_enter(Adjoint *a, Steps *steps, uint32_t now);
void adjoint_leave(Adjoint *a, const Steps *steps, uint32_t parent);
/* tensor =: value, both of new numbers, where the reader's operations are made. */
NodeId adjoint_assign(const Adjoint *a, NodeId tensor, NodeId value);
/* The value as it is here, also where it is a tensor that a loop sets again. */
NodeId adjoint_held(const Adjoint *a, NodeId value);

/* ---- functionalize.c ---- */

/* Where gradients go through a loop, its steps write nothing in place. */
void functionalize_writes(TensorProgram *program);

/* ---- adjoint_tangents.c ---- */

/* The tangent of a node of the loop `around`, or of those that it is in, or of what a loop within sets, at its last node. */
void adjoint_tangent_at(Adjoint *a, NodeId id, uint32_t around);

/* ---- adjoint_steps.c ---- */

/* Gives what the nodes up to the last one, and the loops in them, give to their operands, or what they are given. */
void adjoint_walk(Adjoint *a, NodeId last);

#endif
