/* Kernels as they are planned: of each kind of node, and of whole routines. */
#ifndef TSR_LOWER_KERNEL_H
#define TSR_LOWER_KERNEL_H

#include "lower/along/lines.h"
#include "lower/gen/gen.h"
#include "lower/kernel_plan.h"

/* Writes down which node the kernel computes, where its name does not say so and it could be computed
 * inside others. */
void fuse_describe_node(Gen *gen, NodeId id);
/* The kernel that sets the margins of the node's buffer. Requires: it has some. */
Kernel halo_frame(Lower *lower, NodeId node);
/* Writes down that the node's kernel stores between margins. */
void halo_describe(Gen *gen, NodeId node);

/* Appends the loops of a kernel that is nests. */
void nests_emit(Gen *gen, const KernelPlan *plan);
/* nest_join.c: may neighbouring nests of pieces be in the same loops? Appends the block of such a nest, in the loops of
 * the one before where they go alike. */
bool nests_may_join(const PlannedNest *a, const PlannedNest *b);
void nests_append(Gen *gen, Body *body, Block later);
/* The kernel that copies a parameter into the state, where the nest is the first to read that copy.
 * Requires: it is. */
Kernel nest_packing(const KernelPlan *plan, const PlannedNest *nest);
/* buffer[i] = constant for every element; by an iterator of its own. */
void nest_fill(Gen *gen, BufferId buffer, Scalar value);
void nest_fill_over(Gen *gen, IterVar iter, BufferId buffer, Scalar value);
/* to[i] (acc)= from[i] at the elements that the node's projection reaches, perhaps more than once. */
void nest_emit_reached(Gen *gen, NodeId node, BufferId from, StoreTarget to);

/* halves.c: to = from, where two elements of `to` are a byte, and of `from` one is; and the way back. Of a step those
 * that it reaches and what shares their bytes, of NODE_NONE all. */
void halves_pack(Gen *gen, NodeId step, BufferId from, BufferId to);
void halves_unpack(Gen *gen, NodeId step, BufferId from, BufferId to);

/* random.c: to[i] (acc)= element i of a random stream; four numbers of each element of random
 * words. */
void random_emit(Gen *gen, NodeId node, StoreTarget to);
void random_emit_numbers(Gen *gen, NodeId node, StoreTarget to);

/* scatter.c: the loops of a scatter, to elements that were set to the neutral element. */
void scatter_emit(Gen *gen, const KernelPlan *plan);
/* along_lines.c: the loops of what goes along an axis. */
void along_emit(Gen *gen, NodeId node, const Lines *plan);
/* Appends a kernel to the program and to the routine. */
void lower_add_kernel(Lower *lower, Kernel kernel);
/* The kernel of a node. Requires: it is no assignment. */
Kernel kernel_of_tensor(Lower *lower, const KernelPlan *plan);
/* to[i] (acc)= the node's value, as node_value or node_compute make it, over its own shape. */
typedef const Value *NodeValue(Gen *gen, NodeId node, const Ix *const *axes);
void kernel_over_shape(Gen *gen, NodeId node, NodeValue *value_at, StoreTarget to);
/* Kernels of one node, appended to the routine, once, where it has one; the margins of its buffer, where it has any.
 * Requires: of kernel_emit_check, an operand of the node. */
void lower_emit_node(Lower *lower, NodeId node);
void kernel_emit_frame(Lower *lower, NodeId node);
void kernel_emit_copy(Lower *lower, NodeId node, BufferId to, Sym name);
void kernel_emit_check(Lower *lower, NodeId node, uint32_t arg);

/* Of a routine of the graph, in this order: which nodes have kernels, as its plan; buffers, and how each kernel
 * is computed, which goes into that plan; its kernels. Requires: a routine of the graph. */
void lower_decide_routine(Lower *lower, uint32_t routine);
void lower_plan_routine(Lower *lower, uint32_t routine);
void lower_routine(Lower *lower, uint32_t routine);
/* The same of the routine that sets the parameters that start with an expression: a plan for each. */
void lower_decide_init(Lower *lower);
void lower_plan_init(Lower *lower);
void lower_init(Lower *lower);
/* initial.c: the kernel of an assignment of `init` whose elements follow from their own places; the routine
 * at hand is of what that needs. */
void initial_emit(Lower *lower, NodeId id);
/* The routine that packs the state, from the kernels that the others asked for. */
void lower_pack(Lower *lower);
/* prepack_value_emit.c: a function of parameters' buffer in the state; the kernels of those that are
 * new in the routine. Those of which panels are computed at once are left out later (transform/unread.c). */
BufferId prepack_value_buffer(Lower *lower, NodeId id);
void prepack_emit_values(Lower *lower);

#endif
