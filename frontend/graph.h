/* The tensor graph: names resolved, functions applied, imports merged, `iterate` and `if` unfolded.
 *
 *   graph    := dims captures nodes binds requires routines listing
 *   node     := kind, dtype, operand nodes, and what its kind needs (op, specification, shape, data)
 *   operands come before their users: node ids are a topological order
 *
 * A node is one tensor and the operation that makes it. A routine's assignment is a node whose
 * result goes into `target` (accumulated by `acc`, cleared first by `clear`), so a tensor may be
 * written more than once; later nodes that read the target read what the steps before them left.
 *
 * No size is known here: declared sizes are SizeExpr trees, everything else is infer's.
 */
#ifndef TSR_FRONTEND_GRAPH_H
#define TSR_FRONTEND_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "base/notation.h"
#include "base/ops.h"
#include "base/size.h"
#include "base/symbol.h"
#include "frontend/size_expr.h"

typedef uint32_t NodeId;
#define NODE_NONE UINT32_MAX

/* ---- declared shapes ---- */

typedef struct DeclAxis {
	Span span;
	Sym label;            /* NULL: none */
	const SizeExpr *size; /* NULL: `_` */
} DeclAxis;

/* axes[0..var_at) VAR axes[var_at..naxes); var_at -1: closed. The same variable name within one
 * declaration is the same row; `...` is a fresh open row (var NULL). */
typedef struct DeclRow {
	DeclAxis *axes;
	uint32_t naxes;
	int32_t var_at;
	Sym var;
	bool open; /* no row was written at all, and the declaration leaves it to inference */
} DeclRow;

/* A written shape is exact: unwritten rows are closed and empty. A parameter without a shape has a
 * closed empty batch row and open input and output rows. */
typedef struct ShapeDecl {
	Span span;
	DeclRow rows[ROW_KINDS];
} ShapeDecl;

/* The rows in the order in which their axes are stored: batch, output, input. Whoever counts axes
 * over rows goes this way. */
extern const RowKind stored_rows[ROW_KINDS];

/* ---- specifications, coefficients resolved ---- */

/* How a letter goes through its part of an axis: to the end, from the end, or not at all, where the
 * part is one element that all of its values read. */
typedef enum PartRun { PART_FORWARD, PART_BACKWARD, PART_STILL } PartRun;

typedef struct SpecPart {
	/* NULL: a skipped part, of `size` elements or of `extent`, or as long as the others leave
	 * it (`rest`) */
	Sym letter;
	PartRun run; /* of an operand; STILL: `size` is 1 */
	int64_t size;
	const SizeExpr *extent;
	bool rest;
	Span span;
} SpecPart;

typedef struct SpecAxis {
	SpecAxisKind kind;
	bool bracketed;          /* LETTER, written `[v]`: the form says what that means */
	Span span;
	Sym letter;              /* LETTER; AFFINE: the letter that is strided over */
	int64_t index;           /* INDEX */
	bool among;		 /* INDEX, also 0 of a result: one place of an axis of several */
	int64_t stride, offset;  /* AFFINE: stride*letter + offset [+ dilation*kernel] [+ shift] */
	const SizeExpr *shift;	 /* AFFINE: of what is added by name; NULL: nothing is */
	bool one; /* AFFINE: a place by names alone; no other axis has its letter, of one element */
	int64_t dilation;
	Sym kernel;              /* AFFINE; NULL: none */
	SpecMark mark;           /* AFFINE with a kernel: never NONE here */
	/* AFFINE: elements that are read as if they stood around the axis, where `padded`; the mark
	 * is then VALID or VALID_FLOOR, of the axis with these around it */
	bool padded;
	int64_t before, after;
	/* AFFINE, until what is computed has them as numbers (frontend/border.h, strides.h): coefficients
	 * and margins that are sizes; NULL: the numbers above */
	const SizeExpr *stride_size, *dilation_size, *before_size, *after_size;
	/* CONCAT; JOIN: letters, the outer first. A strided axis whose stride is a size is joined as well,
	 * until it is taken apart: a part without a letter, of `extent`, stays at its place `size` */
	SpecPart *parts;
	uint32_t nparts;
	const char *border; /* CONCAT: the word for a border that reads these parts, or NULL */
} SpecAxis;

/* Has the part a size that is solved for: a letter's, one by name, or the rest? */
static inline bool spec_part_is_solved(const SpecPart *part)
{
	return (part->letter && part->run != PART_STILL) || part->extent || part->rest;
}

/* Is the place of the axis given by name, so that the axis may be longer than what is read or
 * written of it? Padded ones are as long as they say. */
static inline bool spec_axis_is_placed(const SpecAxis *axis)
{
	return axis->shift && (!axis->kernel || axis->mark == MARK_VALID ||
			       axis->mark == MARK_VALID_FLOOR);
}

typedef struct SpecRow {
	SpecAxis *axes;
	uint32_t naxes;
	int32_t var_at; /* -1: closed */
	Sym var;        /* "batch", "input", "output" for `...` */
	bool written;
	Span span;
} SpecRow;

typedef struct SpecTensor {
	SpecRow rows[ROW_KINDS];
	Span span;
} SpecTensor;

typedef struct Spec {
	Span span;
	bool single_letters;
	SpecTensor *operands;
	uint32_t noperands;
	SpecTensor result;
} Spec;

/* ---- nodes ---- */

typedef enum NodeKind {
	/* leaves */
	NODE_INPUT, /* shape */
	NODE_PARAM, /* shape (perhaps open), init */
	NODE_CONST, /* literal or file: data with an exact shape (numbers only); labels by shape */
	NODE_NUMBER, /* one number: number; the shape is whatever its use wants (all rows open, closes to []) */
	NODE_SIZE,    /* the value of size_expr as one number */
	NODE_SCALAR,  /* a routine's scalar argument: scalar_index */
	NODE_RANGE,   /* range(n): i32 [n], size_expr */
	NODE_OFFSETS, /* each element's own linear offset; the shape comes from use */
	NODE_ZEROS, /* a routine's own tensor, all elements 0 until written; the shape comes from use */
	/* operations */
	NODE_POINTWISE, /* op over 1..3 operands, broadcasting */
	NODE_CAST,	/* to dtype, pointwise */
	NODE_COMPOSE,	/* a * b: input axes of a meet output axes of b */
	NODE_TRANSPOSE, /* swaps input and output rows */
	NODE_SLICE, /* a @ i: operand 0 at `slice_index`, at `size_expr`, or at the value of scalar operand 1 */
	NODE_SPEC,  /* einsum, sum, reduce, permute: op combines operands, reduce folds */
	NODE_BLOCK, /* a specification whose operands are copied into a concatenated result */
	NODE_STACK, /* operands stacked along a new leftmost axis of row stack_row */
	NODE_ARGMAX, /* unary specification, one reduced axis, i32 index of the first greatest, or least: reduce */
	NODE_GATHER, /* operand 0 at the indices that the others hold (spec; NULL: gather(table, ids)) */
	NODE_RESHAPE,  /* the same elements in storage order, in axes found by inference */
	NODE_UNIFORMS, /* the numbers of random words: four elements for one, likewise */
	NODE_RANDOM, /* uniform(seed), normal(seed): a stream of `place`; the shape comes from use */
	NODE_SCATTER, /* operand 0 into elements at the indices that the others hold; reduce folds */
	/* Along one axis of the operand of a unary specification, `along.letter`: */
	NODE_CUMULATE, /* at each place, `reduce` of the elements up to it */
	NODE_SORT,   /* in order, or their places; topk: the first of them, along another letter */
	NODE_JOINED, /* the same elements in storage order: spec joins axes on one side, (h d) */
	/* operand 0's gradient with respect to operand 1, in operand 1's shape; operand 2, of operand 0's
	 * shape: the gradient with respect to operand 0, where that is not one number. It has no index map:
	 * tensor/adjoint.c makes operations of it. */
	NODE_GRADIENT,
	/* how operand 0 moves where operand 1 moves along operand 2, of its shape; the same otherwise */
	NODE_TANGENT,
	/* a written rule (frontend/rule.c): results, what stands for the gradients with respect to these, tensors, and
	 * the gradients with respect to these, as many; it computes nothing */
	NODE_RULE
} NodeKind;

/* Is it of operand 0, with respect to operand 1? */
static inline bool node_kind_differentiates(NodeKind kind)
{
	return kind == NODE_GRADIENT || kind == NODE_TANGENT;
}

/* Does a kind of node have an index map? Leaves, gradients and their rules have none. */
static inline bool node_kind_has_map(NodeKind kind)
{
	return kind >= NODE_POINTWISE && !node_kind_differentiates(kind) && kind != NODE_RULE;
}

/* Does an element of the operand become so many neighbours in storage order, of a shape that is its
 * own? 0: other indices relate them. */
static inline int64_t node_width(NodeKind kind)
{
	return kind == NODE_RESHAPE ? 1 : kind == NODE_UNIFORMS ? 4 : 0;
}

/* May operands from 1 on hold indices of others or of the result? */
static inline bool node_kind_indexes(NodeKind kind)
{
	return kind == NODE_GATHER || kind == NODE_SCATTER || kind == NODE_SLICE;
}

/* EXPRESSION: `graph.init` assigns it. */
typedef enum InitKind { INIT_UNIFORM, INIT_CONSTANT, INIT_EXPRESSION } InitKind;

/* Elements in storage order (batch, output, input), in the node's dtype, native byte order. */
typedef struct ConstData {
	const void *bytes;
	int64_t count;
	const char *path; /* of file(...), or NULL */
} ConstData;

/* CUMULATE, SORT: along which axis, and how. */
typedef struct Along {
	Sym letter;		 /* of the operand */
	bool exclusive, reverse; /* CUMULATE: up to the one before; from the last to the first */
	bool descending, ids;	 /* SORT; ids: the places of the elements, not they themselves */
} Along;

typedef struct Node {
	NodeKind kind;
	Op op;         /* POINTWISE; SPEC: combines the operands (MUL by default; ID for one) */
	Op reduce; /* SPEC, CUMULATE: ADD MAX MIN MUL; ARGMAX: MAX MIN; SCATTER: these, or ID where the last one stays */
	IndexMode mode; /* GATHER, SCATTER */
	/* Settled by the frontend, never NONE in a finished graph. The operands of POINTWISE, SPEC,
	 * COMPOSE, BLOCK and STACK have one dtype (NODE_CASTs see to it): the one to compute in. */
	Dtype dtype;
	NodeId *args;
	uint32_t nargs;
	Sym name;      /* dotted name where it has one; NULL otherwise */
	Span name_span;
	Span span, op_span;
	Span *arg_spans;       /* where each operand was written */
	uint32_t site;         /* index into graph.sites: the function application it comes from; 0 none */
	const Spec *spec;
	const ShapeDecl *shape; /* leaves; NULL: open everywhere */
	RowKind stack_row;
	Sym stack_label;       /* STACK: the label of the new axis, or NULL */
	int64_t slice_index;
	const SizeExpr *size_expr; /* SIZE, RANGE; SLICE: NULL: it is not used */
	double number;
	int64_t integer;
	bool is_integer;
	bool has_sizes;        /* CONST: an element is written as a size */
	uint32_t scalar_index;
	const ConstData *data;
	InitKind init;
	double init_value;     /* INIT_CONSTANT */
	NodeId initial;	       /* INIT_EXPRESSION: the assignment that sets the parameter */
	bool joins;	       /* BLOCK from concat(): operands are only put one after another */
	bool permutes;         /* SPEC from permute(): no letter may be reduced, repeated or dropped */
	Sym place;	       /* RANDOM: the name that keys its stream, with the seed */
	Along along;	       /* CUMULATE, SORT */
	bool normal;	       /* RANDOM: of mean 0 and variance 1; else uniform in [0, 1) */
	/* In an initialiser: RANDOM, OFFSETS, what is made of them element by element, and the assignment
	 * have exactly the shape of the parameter, which is this one; NODE_NONE: others */
	NodeId like;
	NodeId packs; /* of bytes: the tensor of i4 or u4 that a result is; NODE_NONE: it is itself */
	NodeId target;         /* NODE_NONE, or the tensor that this assignment writes */
	/* SPEC with a target: `reduce` folds the axes that the target omits before `acc` meets the
	 * target. That happens in the target's wide type; the dtype above is the right side's. */
	Op acc;                /* OP_NONE: set */
	bool clear;
	uint32_t loop;	       /* among graph.loops: the innermost one that computes it anew */
	uint32_t carried;      /* ZEROS: 1 + its place among graph.carried; 0: it has none */
	bool stops;	       /* SPEC, POINTWISE: no gradient goes through it */
	bool ruled; /* POINTWISE: what a function with a written rule gives, as operand 0 */
	uint32_t recomputes;   /* a number of the recompute(E) that it is of; 0: of none */
	uint32_t again; /* made for a gradient through one: equal to those of this number at most */
	bool exact;	       /* an assignment that does not broadcast its operand */
	/* an initialiser's assignment: each element follows from its own place in numbers, sizes, constants,
	 * parameters and random numbers, so that it is computed without other memory */
	bool elementwise;
	bool used;             /* reached from an output or a routine */
} Node;

/* ---- loops: scan(n, h = x, i) until (c) { E } ----
 *
 *   the nodes of a loop run again in each of its steps: those that read, directly or not, what it
 *   carries or the number of its step; all others are computed before it
 */

typedef struct GraphLoop {
	Span span;
	uint32_t parent;       /* the loop that it is in; 0: none */
	Sym name;	       /* of the number of the step */
	Span name_span;
	DimId step;	       /* stands for the number of the step, in sizes of its nodes */
	const SizeExpr *count; /* of steps */
	const SizeExpr
		*most; /* what the caller knows: `count`, or one that is not less; NULL: neither */
	bool down;	       /* from the last step to the first */
	Span count_span;
	NodeId until; /* an i32 of CARRIED: it ends behind a step that leaves it other than 0; or NODE_NONE */
	/* of loops that passes make: an i32 of CARRIED, so many steps are made, `count` at most; NODE_NONE: all are */
	NodeId made;
} GraphLoop;

/* A tensor (ZEROS) that a loop sets: what is carried from step to step, and results that are put one
 * behind another. */
typedef struct Carried {
	NodeId tensor;
	NodeId first; /* the assignment before the loop; NODE_NONE: none */
	NodeId step;  /* the one at the end of each step */
	bool whole;   /* each element is set by some step, if there is no `first` */
	bool written; /* each step writes it before `step` too: those between the two that have it as their target */
} Carried;

/* ---- what is said about letters: `with (h = S)` and `with (d)` ---- */

typedef struct Bind {
	NodeId node;    /* whose specification has the letter or row variable */
	Sym letter;
	Span span;
	const SizeExpr *size; /* set: letter = size; of a row variable: the product */
	CaptureId capture;    /* or captured as this size; CAPTURE_NONE otherwise */
} Bind;

/* A letter of a specification's result alone that is also the name of a size or a scalar, or of an operand and the name of a step. */
typedef struct Namesake {
	NodeId node;
	Sym letter;
	const SizeExpr *size; /* NULL: a scalar */
	bool place;	      /* may it be added to a letter? */
	Span span;	      /* where that is declared */
} Namesake;

/* A shape that is written for a tensor which is computed: an equation. */
typedef struct Ascription {
	NodeId node;
	const ShapeDecl *shape;
	Sym name; /* what the program calls the tensor there */
} Ascription;

typedef struct Capture {
	Sym name;
	Span span;
	bool counts; /* windows, of which there may be fewer than fit: something says how many */
} Capture;

typedef struct Require {
	RequireOp op;
	const SizeExpr *a, *b;
	Span span;
	bool numbers;	/* either side may be negative: it is no size */
	const char *as; /* GE: what a is in the program, "a stride"; NULL: a size */
} Require;

/* A function application: messages inside a function's body add "in NAME, applied here". */
typedef struct Site {
	Sym name;
	Span span;
	uint32_t parent; /* 0: none. sites.at[0] is the file itself */
} Site;

typedef struct ScalarArg { /* a routine's scalar argument */
	Sym name;
	Span span;
	Dtype dtype;
	Span type_span; /* where that is written */
	DimId dim; /* its value, in sizes; DIM_NONE: no place has it */
	Span used; /* the first place that has */
} ScalarArg;

typedef struct Routine {
	Sym name;
	Span span;
	ScalarArg *scalars;
	uint32_t nscalars;
	NodeId *inputs;  /* in source order, only those that the results reach */
	uint32_t ninputs;
	NodeId *params;  /* likewise */
	uint32_t nparams;
	NodeId *outputs; /* named results */
	Sym *output_names;
	Span *output_spans;
	uint32_t noutputs;
	NodeId *order;   /* the nodes that it computes, in order (ids ascending) */
	uint32_t norder;
} Routine;

/* One line of --dump=shapes. */
typedef struct Listing {
	Sym name;
	NodeId node;
	Span span;
} Listing;

/* What has become of a gradient, and of those on its way: that of y in the direction c (NODE_NONE: y is one number) with
 * respect to x. Its shape is x's, or it is one number for all elements. Of a tangent: that of y where x moves along c, in y's
 * shape. `gives`: what a written rule gives x, of y, a result of its function; others, with their directions, are in as many
 * behind it. */
typedef struct GradientMade {
	NodeId y, c, x, gradient;
	bool forward; /* a tangent */
	Span span; /* SPAN_NONE: it is on the way */
	bool gives;
	uint32_t others;
	bool ruled, ruled_unseen; /* it goes by written rules; by some that stand nowhere here */
} GradientMade;

typedef struct Graph {
	Arena *arena;
	Symbols *symbols;
	Sizes *sizes; /* holds the symbolic dims in the order of declaration */
	VEC(Node) nodes;
	VEC(Capture) captures;
	VEC(Bind) binds;
	VEC(Namesake) namesakes;
	VEC(Ascription) ascriptions;
	VEC(Require) requires;
	VEC(Site) sites;
	VEC(GraphLoop) loops; /* at[0]: none; a loop stands behind the one that it is in */
	VEC(Carried) carried;
	VEC(Routine) routines; /* `forward` first where there is one */
	/* Assigns to the parameters that start with an expression, under one scalar, the seed; no
	 * nodes: there are none. Not among the routines, and what it assigns to changes by no
	 * routine. */
	Routine init;
	VEC(Listing) listing;
	VEC(NodeId) params;  /* all parameters, in the order in which the state holds them */
	VEC(GradientMade) gradients; /* that `adjoint` made, in its program's numbers alone */
	VEC(const char *) files; /* every file that was read, for -MD: sources, imports, data */
} Graph;

typedef struct Define { /* -D NAME=N */
	const char *name;
	int64_t value;
} Define;

enum { OPERANDS_MOST = 16 }; /* of an einsum */

typedef struct FrontendOptions {
	const char *const *include_dirs; /* -I, in order; the library's directory comes last */
	uint32_t ninclude_dirs;
	const Define *defines;
	uint32_t ndefines;
	const char *const *kept; /* --keep: names of tensors, or `all` */
	uint32_t nkept;
	bool no_files; /* nothing is read: imports are not found and file("...") is an error */
} FrontendOptions;

/* Is the tensor one of its operands? */
static inline bool node_reads(const Node *node, NodeId tensor)
{
	bool reads = false;
	for (uint32_t i = 0; i < node->nargs; i++)
		reads |= node->args[i] == tensor;
	return reads;
}
/* What its kind is called; an ARGMAX of the least, argmin. Requires: a kind that is one of the enumerators. */
const char *node_kind_name(const Node *node);
static inline Node *graph_node(const Graph *graph, NodeId id) { return &graph->nodes.at[id]; }
/* Is it a tensor of a routine's own, which its steps write? */
static inline bool node_is_own(const Node *node)
{
	return node->kind == NODE_ZEROS && !node->carried;
}
/* Is the loop `inner` in `outer`, or the same? All are in 0. */
bool graph_loop_in(const Graph *graph, uint32_t inner, uint32_t outer);
/* What sets the tensor where a loop does; NULL: none does. */
Carried *graph_carried(const Graph *graph, NodeId tensor);
/* The loop whose steps set it; 0: none does yet. */
uint32_t graph_set_in(const Graph *graph, const Carried *carried);
/* Is it a tensor of a loop whose steps set all of its elements? */
bool graph_sets_whole(const Graph *graph, NodeId tensor);
/* Is it what a loop carries from step to step? */
bool graph_is_carried(const Graph *graph, NodeId tensor);
/* Requires: the invariants above hold; else it aborts (BUG). */
void graph_verify(const Graph *graph);
/* One line a node: `%ID = KIND ... : DTYPE  # name`. */
void graph_dump(FILE *out, const Graph *graph);

#endif
