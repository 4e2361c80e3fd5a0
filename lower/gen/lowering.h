/* The private parts of lower/, in four folders, of which each rests on those before it: what is known and decided
 * about each node of a routine, here, and
 *
 *   gen/      tables.h buffers and loops of routines; uses.c what a routine needs, and who uses it; fuse_window.c
 *             which sums can be written out inside others, fuse_phases.c which write every s-th element; gen.c a
 *             kernel's iterators, locals and choices; value.c a node's value at given indices, through all that is
 *             fused into it (expression.c, expression_random.c), window_value.c of sums over windows; lane_values.c
 *             what lanes compute of values; row_block_place.c where tensors of a row block are
 *   nest/     set_up.c a nest's loops and values, collapse.c neighbouring loops that are one, facts.c what sums/
 *             decides from, inline_producer.c operands that are computed where they are read; its code in forms
 *             without tiles: bounds.c bounds of loops, border.c loops cut where windows leave an axis, phases.c
 *             loops whose steps are several elements, short.c, lanes*.c sums
 *   tile/     plan.c whether sums go in tiles and in which, loops.c and facts.h by which loops, choose_*.c, size.c,
 *             cache.c, read.c the rest, copies.c what they fill first, prepack*.c panels in the state; tile.c their
 *             code, one.c of one of them, build.h what it is made of, pack.h copies
 *   lower/    decided: routine_plan.c of each routine, before any kernel: fuse.c which nodes have a kernel,
 *             fuse_worth.c whether it pays, fuse_readers.c how others read them, shared.c those that members of a batch share, conversions.c operands of products that are stored narrow,
 *             prepack_value.c what is made when the state is packed, halo.c pictures that are made with margins
 *             kernel_plan.c and routine_kernels.c plan the nests of all kernels before one is emitted: nest_plan.c
 *             what each is computed as, pack_operand.c, pad*.c operands that are copied first, nest_order.c loops as
 *             asked for; row_block*.c kernels that share rows, a block at a time. Kernels of a loop are its own: across its border only what is free is computed inside others
 *             kernels: kernel.c of one node by its kind, nest.c of nests, scatter*.c, along/, random.c, initial.c,
 *             prepack_value_emit.c, halo_frame.c; routine.c of a routine, lower.c of the program
 *
 * Who decides makes no statement and includes no emit.h; who emits may look at what was decided.
 */
#ifndef TSR_LOWER_LOWERING_H
#define TSR_LOWER_LOWERING_H

#include "lower/along/lines.h"
#include "lower/gen/tables.h"
#include "schedule/schedule.h"

/* Where a fused node is read from: every use goes through operand `arg` of `owner` at the same
 * index. */
typedef struct Frame {
	NodeId owner; /* NODE_NONE: uses differ */
	uint32_t arg;
} Frame;

/* A copy of a parameter in the state: the loops over it, outermost first, and its panels. Copies of
 * one description are one. */
enum { PACKED_LOOPS = 8, PACKED_WIDTHS = 8 };

typedef enum PackedRole { PACKED_OUTER, PACKED_COLUMN, PACKED_STEP } PackedRole;

typedef struct PackedLoop {
	PackedRole role;
	Size extent, stride; /* of the parameter */
} PackedLoop;

typedef struct PackedParam {
	BufferId param, buffer;
	Dtype dtype;
	int64_t group; /* steps of the sum that lie beside each other in a lane */
	Size first;    /* the parameter's element that is the copy's first */
	PackedLoop loops[PACKED_LOOPS];
	uint32_t nloops;
	int64_t widths[PACKED_WIDTHS]; /* of panels, by part of the columns */
	uint32_t nwidths;
} PackedParam;

/* What is decided about one node in the present routine. */
typedef struct NodePlan {
	bool needed, output;
	bool fused;	 /* computed inside other kernels: it has no buffer */
	bool mutated;	 /* the routine assigns to it */
	bool first;	 /* of its name: what a schedule asks of the name */
	bool separate;	 /* a schedule asks for a kernel of its own */
	bool constant;	 /* a function of parameters and constants alone, of known size */
	bool hoisted;	 /* ... which is computed when the state is packed (prepack_value.c) */
	bool summed;	 /* ... behind a sum of many steps */
	bool costly;	 /* ... behind more than cheap operations on each element */
	bool evaluable;	 /* ... of constants alone, small enough to be computed while compiling */
	NodeId param;	 /* ... a parameter that it is a function of; NODE_NONE: of none */
	bool index_only; /* from indices alone, cheaply, wherever it is read */
	bool sinkable; /* may be computed where the one kernel that reads it copies or reads it (inline_producer.c) */
	bool own;      /* its kernel is planned, and makes nothing else */
	bool optional;	/* it has a kernel, and could be computed inside others */
	bool pre_check; /* a gathered index depends on it: computed before anything is written */
	bool own_check; /* ... a scatter into a temporary, whose loop checks its indices itself */
	bool cleared;	/* the routine's own tensor: a kernel sets it to 0 before all else */
	/* a product reads it, through what is fused between; one with a batch */
	bool in_product, in_batch;
	bool reads_row_block; /* that is looked for, through nodes without a kernel (row_block.c) */
	bool follows_row_block; /* ... reads its results, also through nodes behind it */
	bool no_row_block;    /* begins none: more rows have it beside one (row_block_choose.c) */
	/* the kernel that computes it: itself, its only reader's, or NODE_NONE: any */
	NodeId root;
	uint32_t terms;	   /* of a sum over a window that may be written out; 0: it may not */
	bool window;	   /* a sum of few terms, written out where the root reads it */
	uint32_t nwindows; /* of a root: terms of those that are computed inside it */
	NodeId reduction; /* of a root: the reduction that its kernel finishes, or NODE_NONE */
	NodeId inner; /* ... a sum that may be computed in the steps of its own (compute_at.c); NODE_NONE */
	NodeId phases; /* ... the first node that it computes of which every s-th element is written; NODE_NONE */
	Frame frame;
	uint32_t nuses, cost;
	uint32_t panel_cost; /* of it on elements of panels; UINT32_MAX: it reads none, or more */
	uint32_t nfused;     /* of a root: nodes computed inside it */
	uint32_t evaluated;  /* times, for an element of the root, where it is fused */
	uint32_t nevaluated; /* of a root: the same of what is looked at (fuse_readers.c) */
	Size space;	     /* how often its operands are evaluated */
	/* the first assignment, after it, to what it reads: its root must come before; and to what it or its operands,
	 * theirs and so on read: before that a kernel runs that computes it and them, wherever it is moved */
	NodeId last, last_of_all;
	NodeId home; /* the result, a reshape of it, in whose buffer it is computed; 0: none */
	/* how it is computed (kernel_plan.h); NULL: it has no kernel, or one of a row block */
	struct KernelPlan *kernel;
	struct RowBlock *row_block; /* that begins with it; NULL: none */
	BufferId buffer;
	const Margins *halo; /* of the buffer; NULL: it has none */
	BufferId padded;     /* a copy of the buffer with its margins (pad.c); BUFFER_NONE */
} NodePlan;

/* One operand of one node that reads `node`. */
typedef struct Use {
	NodeId user;
	uint32_t arg;
} Use;

/* Kernels that may be a row block, and are none since it does not pay. */
typedef struct RowBlockPassed {
	NodeId first, last;
} RowBlockPassed;

/* What is decided about the nodes that a routine, or what a parameter starts with, needs, ascending;
 * `first_use`: of each, into uses. */
typedef struct RoutinePlan {
	NodeId initial; /* the assignment that a parameter starts with; NODE_NONE: a routine of the graph */
	NodePlan *nodes;
	NodeId *ids;
	uint32_t n;
	uint32_t *first_use;
	Use *uses;
	Sym *names; /* NULL: not taken so far */
} RoutinePlan;

typedef struct Lower {
	Tables tables;
	/* the tables' own, for short */
	const Inference *inference;
	const Graph *graph;
	Program *program;
	Sizes *sizes;
	Arena *arena;	/* lives as long as the program */
	Arena *scratch; /* as long as one routine is planned, or until all kernels are there */
	Diags *diags;
	const LowerOptions *options;
	const Target *target;		/* the options' */
	const Schedule *asked;		/* NULL: nothing is */
	VEC(PackedParam) packed;	/* copies of parameters in the state */
	VEC(PackedParam) packed_consts; /* ... of constants, among the constants */
	bool packing;			/* the kernel at hand makes one of them: it runs once */
	NodeId read_only;		/* prepack_read_only */
	Evaluation evaluation;		/* of all routines that are planned (prepack_value.c) */
	VEC(Kernel) packs; /* that make them; the program's once all routines are there */
	/* of each routine of the graph, then of each parameter that starts with an expression; empty where each
	 * of its elements follows from its own place (initial.c) */
	RoutinePlan *routines;
	uint32_t nroutines;
	/* the routine at hand */
	NodePlan *plan; /* by NodeId */
	NodeId *needed; /* the nodes that it needs, ascending */
	uint32_t nneeded;
	uint32_t *first_use; /* by NodeId, of those: into uses */
	Use *uses;
	VEC(KernelId) kernels;
	uint32_t loop; /* of the program, that the kernel at hand is in; 0: none */
	VEC(RowBlockPassed) passed; /* while kernels are planned */
	struct RowBlock
		*row_block; /* of the kernel at hand (row_block.h); NULL: it is for itself */
} Lower;

/* Is all that is chosen asked for (schedule_complete)? Then nothing is chosen by cost. */
static inline bool lower_replays(const Lower *lower) { return schedule_is_complete(lower->asked); }
static inline const Node *lower_node(const Lower *lower, NodeId id)
{
	return tables_node(&lower->tables, id);
}
static inline const Shape *lower_shape(const Lower *lower, NodeId id)
{
	return tables_shape(&lower->tables, id);
}
static inline const Proj *lower_proj(const Lower *lower, NodeId id)
{
	return tables_proj(&lower->tables, id);
}

/* Of the tables (tables.h). */
static inline BufferId lower_buffer(Lower *lower, Buffer buffer)
{
	return tables_buffer(&lower->tables, buffer);
}
static inline Sym lower_unique(Lower *lower, const char *text)
{
	return tables_unique(&lower->tables, text);
}
static inline Sym lower_identifier(const Lower *lower, const char *text)
{
	return tables_identifier(&lower->tables, text);
}
/* Do the loops of a nest compute the node, if its projection is not linear: is it no place of the
 * greatest, nothing along an axis, no random words? */
static inline bool node_suits_nest(const Node *node)
{
	return node->kind != NODE_ARGMAX && !node->along.letter && node->kind != NODE_RANDOM;
}
/* The node whose loops the kernel of a root has: the reduction that it finishes, or itself. */
static inline NodeId lower_nest_node(const Lower *lower, NodeId root)
{
	NodeId reduction = lower->plan[root].reduction;
	return reduction != NODE_NONE ? reduction : root;
}
/* How often the node evaluates its operand. Requires: it has an index map, and the operand. */
static inline Size node_steps(const Lower *lower, NodeId node, uint32_t arg)
{
	return proj_arg_space(lower->sizes, lower_proj(lower, node), arg,
			      lower_shape(lower, lower_node(lower, node)->args[arg]));
}
static inline Size node_elements(const Lower *lower, NodeId node)
{
	return tables_elements(&lower->tables, node);
}

/* uses.c: what is needed, who uses it, names and assignments. */
void uses_find(Lower *lower);
static inline uint32_t uses_end(const Lower *lower, NodeId id)
{
	return lower->first_use[id] + lower->plan[id].nuses;
}
/* Tables by node, for all routines; what a routine has filled in goes. */
void plans_new(Lower *lower);
void plans_clear(Lower *lower);
/* The routine needs the node. */
void plans_need(Lower *lower, NodeId id);
/* The place among ascending ids, or among lower.needed, of the first node that is not before id. */
uint32_t ids_from(const NodeId *ids, uint32_t n, NodeId id);
uint32_t needed_from(const Lower *lower, NodeId id);
/* gen.c: has the node a kernel of its own in the routine? */
bool lower_has_kernel(const Lower *lower, NodeId node);
/* Where the node can be computed right into a result of its routine: that; else BUFFER_NONE. */
BufferId lower_output_buffer(const Lower *lower, NodeId node);
/* Is it a reshape of what stays in its buffer? */
bool lower_is_alias(const Lower *lower, NodeId node);
/* The name in the source; of a node without one its operation. */
static inline const char *lower_text(const Lower *lower, NodeId node)
{
	Sym name = lower_node(lower, node)->name;
	return name ? name : tables_op_text(&lower->tables, node);
}
/* The node's name as an identifier; the name of the kernel that computes it into its buffer. */
Sym lower_name(Lower *lower, NodeId node);
Sym kernel_name(Lower *lower, NodeId node);
/* margins.c: those that the sums over a tensor's products ask for, as far as they are known for all dims;
 * NULL: none. */
const Margins *margins_known(const Lower *lower, NodeId node);
bool margin_is_none(const Lower *lower, const Margin *margin);
/* A row-major array of the tensor with margins: elements along an axis, between two steps along it,
 * and of all. Requires: an axis of the tensor. */
Size margins_extent(const Lower *lower, NodeId node, const Margins *margins, uint32_t axis);
Size margins_stride(const Lower *lower, NodeId node, const Margins *margins, uint32_t axis);
Size margins_elements(const Lower *lower, NodeId node, const Margins *margins);

#endif
