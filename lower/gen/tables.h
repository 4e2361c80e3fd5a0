/* The tables of a program under construction: what any way of making loops fills in, whatever the
 * loops are.
 *
 *   tables.c           names, buffers and types; sizes that are addressable, parameters with their
 *                      places in the state, guards as checks
 *   tables_routine.c   what a routine takes, and what it must compute before it writes
 *   tables_loops.c     its loops, and kernels in an order in which each loop's are neighbours
 *
 * Names of kernels and buffers are C identifiers, unique within the program, and depend on the
 * program alone.
 */
#ifndef TSR_LOWER_TABLES_H
#define TSR_LOWER_TABLES_H

#include "base/diag.h"
#include "loops/loops.h"
#include "tensor/tensor.h"

typedef struct NameCount {
	char *key;
	uint32_t value;
	uint32_t site; /* of the tensor that has the name */
} NameCount;

typedef struct Tables {
	const Inference *inference;
	const Graph *graph;
	Sizes *sizes;
	Program *program;
	Arena *arena;	/* lives as long as the program */
	Arena *scratch; /* as long as one routine */
	Diags *diags;
	BufferId *shared; /* by NodeId: parameters, constants, functions of parameters */
	CheckId *checks;  /* by NodeId: of operand 1, then of the next ones; CHECK_NONE */
	/* by NodeId: a gathered index depends on it, so that it is computed before anything is
	 * written that the caller can see */
	bool *pre_check;
	/* by NodeId: of the routine at hand, a scatter that checks its indices in its own loop, and so
	 * stores a temporary before anything else is written */
	bool *own_check;
	Sym *names;	  /* by NodeId: NULL: it has none yet; cleared where a routine begins */
	NameCount *taken; /* stb_ds table of the C identifiers in use, with the last suffix given */
	uint32_t *loops; /* by number among the graph's: that of the program, in the routine at hand; 0: none */
	/* the routine at hand */
	const Routine *routine;
	uint32_t routine_id;
} Tables;

/* Does every number stay as it is that meets the operation's neutral element, in every type? 3 && 1 is 1, and the least
 * integer is more than -inf. */
static inline bool op_keeps_numbers(Op acc)
{
	return acc == OP_ADD || acc == OP_SUB || acc == OP_MUL || acc == OP_DIV || acc == OP_POW;
}
/* Is it in memory that the caller has? */
static inline bool node_is_caller_data(const Node *node)
{
	return node->kind == NODE_INPUT || node->kind == NODE_PARAM || node->kind == NODE_CONST;
}
/* For qsort, of NodeIds. */
int compare_nodes(const void *a, const void *b);
static inline const Node *tables_node(const Tables *t, NodeId id)
{
	return &t->graph->nodes.at[id];
}
static inline const Shape *tables_shape(const Tables *t, NodeId id)
{
	return &t->inference->shapes[id];
}
static inline const Proj *tables_proj(const Tables *t, NodeId id)
{
	return t->inference->projs[id];
}

/* The element's place in storage order, of its index an axis; ... and the index an axis of its place. */
const Ix *tables_flatten(Program *program, const Shape *shape, const Ix *const *axes);
const Ix **tables_unflatten(Program *program, const Shape *shape, const Ix *at);

/* An empty program, in `perm`; ended by tables_free, which leaves the program. */
Tables tables_new(const TensorProgram *tensors, const Sources *sources, Arena *perm, Diags *diags,
		  const LowerOptions *options);
void tables_free(Tables *t);
/* Parameters, guards and a row for each routine; false after errors (in diags). */
bool tables_fill(Tables *t);

/* The elements of the node's tensor; SIZE_BAD where that passes a bound. */
Size tables_elements(const Tables *t, NodeId node);
/* As it is, or _ for what C does not know; ... and that nothing else has: NAME, NAME_2, ... */
Sym tables_identifier(const Tables *t, const char *text);
Sym tables_unique(Tables *t, const char *text);
/* The name that it would be, which stays free. */
Sym tables_free_name(const Tables *t, const char *text);
/* What a tensor without a name is called. */
const char *tables_op_text(const Tables *t, NodeId id);
/* The name of a node in the routine at hand, for kernels and buffers; ... which it has from a text
 * if it has none yet. */
Sym tables_name(Tables *t, NodeId id);
Sym tables_name_as(Tables *t, NodeId id, const char *text);
/* The application that the node of this name comes from, among Program.sites; 0: none. */
uint32_t tables_site(const Tables *t, Sym name);
/* Of the routine at hand. */
BufferId tables_buffer(Tables *t, Buffer buffer);
/* Buffers of the whole program; of constants made on first use.
 * Requires: of tables_param, a node that has one. */
BufferId tables_param(Tables *t, NodeId node);
BufferId tables_const(Tables *t, NodeId node);
TensorType tables_type(Tables *t, NodeId node);
/* An index that was read, as the mode takes it into an axis of so many elements; checks and conditions
 * are elsewhere. */
const Ix *index_in_axis(Program *program, const Ix *index, IndexMode mode, Size size);
/* The check that the node's index that operand `arg` holds is inside its axis, made on first use.
 * Requires that it has one (node_checks); `size`: that of the axis. */
CheckId tables_index_check(Tables *t, NodeId node, uint32_t arg, Size *size);

/* ---- one routine (tables_routine.c) ---- */

/* Does operand `arg` hold indices that only the run knows, and that are to be inside? (That a size lies
 * inside is a guard, and what checks them itself needs no check elsewhere.) */
bool node_checks(const Tables *t, NodeId node, uint32_t arg);
/* Finds which of the nodes, ascending and all that the routine needs, a gathered index depends on.
 * False after an error: the routine assigns to one. */
bool tables_find_pre_checks(Tables *t, const NodeId *nodes, uint32_t n);
/* Begins the routine of a number; then, its row has arguments, and they have buffers; ends it, with
 * its kernels in order. Memory, dims and guards are a pass of transform/.
 * Requires: a routine of the graph. */
void tables_begin(Tables *t, uint32_t routine);
void tables_open(Tables *t);
void tables_close(Tables *t, const KernelId *kernels, uint32_t nkernels);
BufferId tables_input(const Tables *t, NodeId node);
/* The number among the program's of the innermost loop that computes the node in the routine at hand. */
uint32_t tables_loop(Tables *t, NodeId node);
/* Says where the tensors are that end a loop of the graph and that say how many steps it makes, or BUFFER_NONE, which leaves what
 * was said; nothing of a loop that the routine has not. Requires: a loop of the graph. */
void tables_end_loop(Tables *t, uint32_t loop, BufferId until, BufferId made);
/* Puts the routine's kernels into an order in which a loop's are neighbours: what stands between them and
 * is not the loop's depends on nothing in it, and goes before. */
void tables_order_loops(const Tables *t, KernelId *kernels, uint32_t n);
/* The first output that is this node; BUFFER_NONE: none is. */
BufferId tables_output(const Tables *t, NodeId node);
/* The same for the routine that sets the parameters that start with an expression; without kernels
 * there is none. */
void tables_begin_init(Tables *t);
/* Of that routine: does it set a parameter? Other assignments are steps of loops. */
bool tables_is_initial(const Tables *t, NodeId id);
/* Of that routine, what one of its assignments needs, in order: the assignment is the last. */
Routine tables_initial(Tables *t, NodeId assignment);
void tables_close_init(Tables *t, const KernelId *kernels, uint32_t nkernels);

#endif
