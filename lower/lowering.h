/* The private parts of lower/: what is decided about each node of a routine, and a kernel under
 * construction.
 *
 *   uses.c     what a routine needs of the graph, and who uses it
 *   fuse.c     which nodes get a kernel of their own, and which are computed inside another's;
 *              shared.c those that members of a batch share; conversions.c operands of products that are
 *              stored narrow
 *   value.c    a node's value at given indices, through everything that is fused into it
 *   nest.c     loops around a value: where sums are kept; nest_set_up.c which loops, nest_bounds.c
 *              their bounds, nest_order.c the order that is asked for, nest_names.c what can be
 *              asked of
 *   collapse.c neighbouring loops that are one
 *   tile.c     contractions in register tiles; tile_plan.c whether, tile_loops.c which loops,
 *              tile_choose_pack.c which operand is copied, tile_size.c which sizes, tile_parts.c
 *              what is left of extents, tile_cache.c which blocks,
 *              tile_block.c loops over them, tile_edge.c padded rows, tile_window.c rows that overlap,
 *              tile_traversal.c the way down a picture, tile_invariant.c what rows share,
 *              tile_transpose_square.c squares that are turned, tile_dot.c lanes along a sum,
 *              tile_lane_tree.c of several cells added up at a time,
 *              tile_masked.c tiles behind masks, tile_index.c masks in lanes,
 *              tile_read.c operands that are computed as they are read,
 *              tile_pack.c operands copied into panels, tile_panel.c block by block,
 *              tile_groups.c bytes in words of four steps, bf16 of two, tile_transpose.c in squares that
 *              are turned, prepack.c when the state is packed, prepack_const.c while compiling,
 *              prepack_value.c functions of parameters,
 *              tile_describe.c what was chosen
 *   inline_producer.c  operands that are computed where they are copied
 *   pack_operand.c    operands of a contraction copied into the order of a matrix product
 *   pad.c      the picture of a convolution copied with its margins (pad_copy.c); halo.c pictures
 *              that are made with them
 *   lanes.c    long sums side by side in vector lanes; lanes_parts.c those of few cells, in parts
 *   argmax.c   the place of the greatest element
 *   along/     sums up to each place of an axis; elements of an axis in order, or their places
 *   random.c   streams of random numbers, four numbers a hash; initial.c what parameters start with
 *   kernel.c   one node's kernel, by its kind
 *   row_block.c     kernels that share rows, a block at a time; row_block_choose.c of how many rows,
 *              row_block_transpose.c what is copied, row_block_emit.c their code, row_block_copies.c the copies
 *   nest_facts.c   what sums/ decides the order of additions and the innermost loop from
 *   routine.c  one routine: kernels in order, checks first
 *   lower.c    the program
 */
#ifndef TSR_LOWER_LOWERING_H
#define TSR_LOWER_LOWERING_H

#include "lower/along/lines.h"
#include "lower/tables.h"
#include "schedule/schedule.h"
#include "transform/transform.h"

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
	NodeId param;	 /* ... a parameter that it is a function of; NODE_NONE: of none */
	bool index_only; /* from indices alone, cheaply, wherever it is read */
	bool sinkable; /* may be computed where the one kernel that reads it copies or reads it (inline_producer.c) */
	bool own;	/* its kernel is emitted, and makes nothing else */
	bool optional;	/* it has a kernel, and could be computed inside others */
	bool pre_check; /* a gathered index depends on it: computed before anything is written */
	/* a product reads it, through what is fused between; one with a batch */
	bool in_product, in_batch;
	bool reads_row_block; /* that is looked for, through nodes without a kernel (row_block.c) */
	bool no_row_block;    /* begins none: more rows have it beside one (row_block_choose.c) */
	/* the kernel that computes it: itself, its only reader's, or NODE_NONE: any */
	NodeId root;
	NodeId reduction; /* of a root: the reduction that its kernel finishes, or NODE_NONE */
	Frame frame;
	uint32_t nuses, cost;
	uint32_t panel_cost; /* of it on elements of panels; UINT32_MAX: it reads none, or more */
	uint32_t nfused;     /* of a root: nodes computed inside it */
	Size space;	     /* how often its operands are evaluated */
	/* the first assignment to what it reads, after it: its root must come before */
	NodeId last;
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

typedef struct Lower {
	Tables tables;
	/* the tables' own, for short */
	const Inference *inference;
	const Graph *graph;
	Program *program;
	Sizes *sizes;
	Arena *arena;	/* lives as long as the program */
	Arena *scratch; /* as long as one routine */
	Diags *diags;
	const LowerOptions *options;
	const Target *target;		/* the options' */
	const Schedule *asked;		/* NULL: nothing is */
	VEC(PackedParam) packed;	/* copies of parameters in the state */
	VEC(PackedParam) packed_consts; /* ... of constants, among the constants */
	VEC(BufferId) values;		/* functions of parameters in the state */
	bool packing;			/* the kernel at hand makes one of them: it runs once */
	NodeId kept;			/* prepack_kept */
	VEC(Kernel) packs; /* that make them; the program's once all routines are there */
	/* the routine at hand */
	NodePlan *plan; /* by NodeId */
	NodeId *needed; /* the nodes that it needs, ascending */
	uint32_t nneeded;
	uint32_t *first_use; /* by NodeId, of those: into uses */
	Use *uses;
	VEC(KernelId) kernels;
	VEC(NodeId) produced; /* what copies of the kernel at hand compute */
	VEC(RowBlockPassed) passed;
	struct RowBlock
		*row_block; /* of the kernel at hand (row_block.h); NULL: it is for itself */
} Lower;

/* For passes that run on a part of what is emitted. */
static inline Transform lower_transform(const Lower *lower)
{
	return (Transform){lower->program, lower->asked, lower->options, lower->diags,
			   lower->scratch};
}
/* Is all that is chosen asked for (schedule_complete)? Then nothing is chosen by cost. */
static inline bool lower_replays(const Lower *lower) { return schedule_is_complete(lower->asked); }
static inline const Node *lower_node(const Lower *lower, NodeId id)
{
	return &lower->graph->nodes.at[id];
}
static inline const Shape *lower_shape(const Lower *lower, NodeId id)
{
	return &lower->inference->shapes[id];
}
static inline const Proj *lower_proj(const Lower *lower, NodeId id)
{
	return lower->inference->projs[id];
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
/* The place among lower.needed of the first node that is not before id. */
uint32_t needed_from(const Lower *lower, NodeId id);
/* ... at most, where one cell may be computed several times. */
enum { COST_CHEAP = 2 };
/* Decides for every node of the routine. */
void fuse_plan(Lower *lower);
/* shared.c: does a root reduce, or finish a reduction? Do members of a batch share a node, while
 * numbers depend on whether it is computed inside the root? */
bool fuse_root_reduces(const Lower *lower, NodeId root);
bool fuse_is_shared(const Lower *lower, NodeId id, NodeId root);
/* prepack.c: is it a parameter or a constant that contractions as a rule read from panels that are
 * made before the call? May one of some elements be? */
bool prepack_suits(const Lower *lower, BufferId buffer);
bool prepack_suits_size(const Lower *lower, Size elements);
/* prepack_value.c: the first parameter of known size, not 0, that no routine assigns to; NODE_NONE:
 * there is none. */
NodeId prepack_kept(const Lower *lower);
/* Fills in which nodes are functions of parameters. May the state hold one? Does it, once what
 * reads it is decided? Does a kernel that computes such a function read the node? */
void prepack_find(Lower *lower);
bool prepack_may_compute(const Lower *lower, NodeId id);
bool prepack_computes(const Lower *lower, NodeId id);
bool prepack_is_read(const Lower *lower, NodeId id);
/* Its buffer in the state; the kernels of those that are new in the routine. Once all routines are
 * there: functions that are read in panels alone go, the last first, which may read others; the
 * places of all copies in the state. */
BufferId prepack_value_buffer(Lower *lower, NodeId id);
void prepack_emit_values(Lower *lower);
void prepack_drop_unread(Lower *lower);
/* inline_producer.c: drops the kernels of what copies of the kernel at hand computed, and nothing
 * reads. */
void inline_producer_drop(Lower *lower);
/* conversions.c: fills in what the plan has of products and panels: of all nodes, and of one whose
 * users are decided. */
void widen_find_panels(Lower *lower);
void widen_find_products(Lower *lower, NodeId id);
/* Do lanes convert what they load of one type to the other? */
bool widen_in_lanes(Dtype from, Dtype to);
/* Is a node a cast of which uses, if they are many, have a copy, and few read what is cast? */
bool widen_as_used(const Lower *lower, NodeId id);
/* Is a node of some elements, if it widens what it reads, a copy of its own where reductions use
 * it? */
bool widen_first(const Lower *lower, NodeId id, Size elements, Size uses);
/* Is a node that is gathered, or a cast that no lanes convert, a copy of its own where products use
 * it? */
bool widen_gathered(const Lower *lower, NodeId id, Size elements, Size uses);
/* Is it one or two cheap operations on a parameter's panels, for a product that reads these? */
bool widen_from_panels(const Lower *lower, NodeId id);
/* What is asked of a tensor with a name, the first of that name in the routine; NULL: nothing. */
ScheduleClause *fuse_asked(const Lower *lower, NodeId id, Choice choice);
/* Writes down which node the kernel computes, where its name does not say so and it could be computed
 * inside others. */
struct Gen;
void fuse_describe_node(struct Gen *gen, NodeId id);
/* Writes down which named tensors are computed inside which kernels, after those have names. */
void fuse_describe(Lower *lower);

/* ---- kernels ---- */

/* A value that others read several times: a local, and what it is set to once a statement is made
 * of it. */
typedef struct SharedLocal {
	LocalId local;
	const Value *value;
	Span span; /* of the operation */
} SharedLocal;

typedef VEC(SharedLocal) SharedLocals;

typedef struct SharedValue {
	NodeId node;
	const Ix *const *axes;
	const Value *value;
} SharedValue;

typedef struct Gen {
	Lower *lower;
	Program *program;
	Arena *arena;
	VEC(KernelIter) iters;
	VEC(KernelLocal) locals;
	Body top;
	SharedLocals *locals_of; /* the present body: values used more than once are its locals */
	VEC(SharedValue) shared; /* what these are */
	bool in_line;		 /* they are no locals */
	bool looks;		 /* nothing of it stays (NestLook): no tensor gets its name */
	const Schedule *asked;	 /* the lower's; NULL: nothing is */
	Sym name;		 /* the kernel's */
	Span span;
	VEC(ScheduleEntry) made; /* what was chosen, a nest each; the last is at hand */
	NodeId bound;		 /* a reduction whose value is at hand */
	const Value *bound_value;
	NodeId inside; /* is computed where the nest reads it, not loaded (inline_producer.c) */
	const Ix *row; /* of the present cell, counted from the row block's block on */
	struct SeenList *seen; /* collects what is read; NULL: nothing does */
} Gen;

typedef struct StoreTarget {
	BufferId buffer;
	Op acc; /* OP_NONE: set */
} StoreTarget;

/* to[at] (acc)= value, converted to the buffer's dtype; to a type of storage the wide type adds. */
const Stmt *gen_store(Gen *gen, StoreTarget to, const Ix *at, const Value *value);

/* What is asked of the nest at hand; NULL: nothing. */
ScheduleClause *gen_asked(const Gen *gen, Choice choice);
/* Writes down what was chosen for it. */
ScheduleClause *gen_make(Gen *gen, Choice choice, bool off);
/* Adds an operand to what was chosen for it, once. */
void gen_make_operand(Gen *gen, Choice choice, BufferId operand);
/* Is the operand among those that are asked for, or are all? */
bool gen_asks_operand(const Gen *gen, Choice choice, BufferId operand);
/* Begins the next nest of the kernel. */
void gen_nest(Gen *gen);
/* A kernel's beginning and end; the beginning in the memory of `program`, which is the lower's
 * or a copy of it. */
Gen gen_new(Lower *lower, Sym name, Span span);
Gen gen_new_in(Lower *lower, Program *program, Sym name, Span span);
void kernel_finish(Gen *gen);
/* The name of the kernel that computes a node into its buffer. */
Sym kernel_name(Lower *lower, NodeId node);
IterVar gen_iter(Gen *gen, Sym name);
LocalId gen_local(Gen *gen, const char *name, Dtype dtype);
const Value *gen_local_value(Gen *gen, LocalId local);
/* Starts a body whose shared values are its own, and appends the statements that set them. */
void gen_enter(Gen *gen, SharedLocals *shared);
void gen_set_shared(Gen *gen, Body *body, const SharedLocals *shared);
/* The value at an index an axis: a load, or what computes it. */
const Value *node_value(Gen *gen, NodeId node, const Ix *const *axes);
/* The same, computed even where the node has a buffer. */
const Value *node_compute(Gen *gen, NodeId node, const Ix *const *axes);
/* The operands combined in one piece, iterators replaced by `by_iter`. */
const Value *piece_value(Gen *gen, NodeId node, const Piece *piece, const Ix *const *by_iter);
const Ix **access_indices(Gen *gen, NodeId node, const Piece *piece, const Access *access,
			  const Ix *const *by_iter);
/* One index; of one that is read the integer as it is, wherever that lies. */
const Ix *access_index(Gen *gen, NodeId node, const Piece *piece, const Index *index,
		       const Ix *const *by_iter);
/* scatter.c: the loops of a scatter, to cells that were set to the neutral element. */
void scatter_emit(Gen *gen, NodeId node, BufferId to);
/* The index into the row-major array of a tensor. */
const Ix *flat_index(Gen *gen, NodeId node, const Ix *const *axes);
const Ix *zero_ix(Gen *gen);

/* ---- margins (halo.c) ---- */

/* Those that the sums over a tensor's products ask for, as far as they are known for all dims;
 * NULL: none. */
const Margins *margins_known(const Lower *lower, NodeId node);
bool margin_is_none(const Lower *lower, const Margin *margin);
/* A row-major array of the tensor with margins: elements along an axis, between two steps along it,
 * and of all. */
Size margins_extent(const Lower *lower, NodeId node, const Margins *margins, uint32_t axis);
Size margins_stride(const Lower *lower, NodeId node, const Margins *margins, uint32_t axis);
Size margins_elements(const Lower *lower, NodeId node, const Margins *margins);
/* Gives margins to the buffers of the routine whose readers would copy them, once buffers are
 * bound. */
void halo_plan(Lower *lower);
/* Appends the kernel that sets the margins of the node's buffer, where it has any. */
void halo_emit_frame(Lower *lower, NodeId node);
/* Writes down that the node's kernel stores between margins. */
void halo_describe(Gen *gen, NodeId node);
/* pad.c: do all cells of a channel as one loop take a third fewer vectors than row by row? */
bool pad_joins_rows(const Lower *lower, Dtype dtype, int64_t rows, int64_t cols);

/* Appends the loops that compute `root` (finishing plan.reduction) into the target. */
void nest_emit(Gen *gen, NodeId root, StoreTarget target);
/* buffer[i] = constant for every element. */
void nest_fill(Gen *gen, BufferId buffer, Scalar value);
/* to[i] (acc)= from[i] at the cells that the node's projection reaches, perhaps more than once. */
void nest_emit_reached(Gen *gen, NodeId node, BufferId from, StoreTarget to);
/* Must the target be filled with the neutral element first? */
bool nest_needs_fill(const Lower *lower, NodeId node);
/* Can the node be accumulated into a target cell by cell, each once? */
bool nest_is_direct(const Lower *lower, NodeId node);

typedef struct Loop {
	IterVar var;
	IterId iter;
	Size extent;
	Size own; /* the part of the extent that is of no batch axis of the result */
	bool reduced;
} Loop;

/* random.c: to[i] (acc)= element i of a random stream; four numbers of each cell of random
 * words. */
void random_emit(Gen *gen, NodeId node, StoreTarget to);
void random_emit_numbers(Gen *gen, NodeId node, StoreTarget to);
/* Numbers 4*block to 4*block + 3 of a stream, and locals that they read. */
void random_numbers(Gen *gen, NodeId stream, const Ix *block, SharedLocals *shared,
		    const Value *numbers[4]);
/* A number of the stream for itself, by a hash of its own. */
const Value *random_value(Gen *gen, NodeId stream, const Ix *at);
/* The statement where ix < n. */
const Stmt *stmt_below(Gen *gen, const Ix *ix, Size n, Body *body);
/* Loops over the axes of a shape; returns the index an axis. Axes of size 1 have no loop. */
const Ix **shape_indices(Gen *gen, const Shape *shape, IterVar *vars);
/* The body in these loops, at the kernel's end. */
void wrap_shape(Gen *gen, const Shape *shape, const IterVar *vars, Body *body);

/* argmax.c: to[i] (acc)= the index of the greatest element along the reduced axis. */
void argmax_emit(Gen *gen, NodeId node, StoreTarget to);
/* value.c: the lines of what goes along an axis. Requires that nothing is added to the target, and that
 * nothing in it is read. */
Lines along_lines(Gen *gen, NodeId node, StoreTarget to);
/* Kernels of one node, appended to the routine. */
void kernel_emit(Lower *lower, NodeId node);
bool lower_has_kernel(const Lower *lower, NodeId node);
/* ... where it has one. */
void lower_emit_node(Lower *lower, NodeId node);
void kernel_emit_copy(Lower *lower, NodeId node, BufferId to, Sym name);
void kernel_emit_check(Lower *lower, NodeId node, uint32_t arg);
void kernel_emit_fill(Lower *lower, BufferId buffer, Scalar value, Span span);
/* Nothing touches the temporary; ... nor those from `first` on, as the kernels that would fill them
 * are dropped. */
void lower_forget_from(Lower *lower, BufferId first);
Sym lower_name(Lower *lower, NodeId node);

void lower_routine(Lower *lower, uint32_t routine);
/* The routine that sets the parameters that start with an expression. */
void lower_init(Lower *lower);
/* initial.c: its kernels. */
void initial_emit(Lower *lower);
/* The routine that packs the state, from the kernels that the others asked for. */
void lower_pack(Lower *lower);

#endif
