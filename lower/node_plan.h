/* What is decided about each node of a routine before its kernels: which have one, which are computed
 * inside others or when the state is packed, which operands are stored narrow, which have margins.
 */
#ifndef TSR_LOWER_NODE_PLAN_H
#define TSR_LOWER_NODE_PLAN_H

#include "lower/gen/node_facts.h"

/* Decides for every node of the routine. */
void fuse_plan(Lower *lower);
/* shared.c: does a root reduce, or finish a reduction? Do members of a batch share a node, while
 * numbers depend on whether it is computed inside the root? */
bool fuse_root_reduces(const Lower *lower, NodeId root);
bool fuse_is_shared(const Lower *lower, NodeId id, NodeId root);
/* prepack_value.c: the first parameter of known size, not 0, that no routine assigns to; NODE_NONE:
 * there is none. */
NodeId prepack_read_only(const Lower *lower);
/* Fills in which nodes are functions of parameters. May the state hold one? Does it, once what
 * reads it is decided? Does a kernel that computes such a function read the node? */
void prepack_find(Lower *lower);
bool prepack_may_compute(const Lower *lower, NodeId id);
bool prepack_computes(const Lower *lower, NodeId id);
bool prepack_is_read(const Lower *lower, NodeId id);
/* Is it a function that the state holds, first bound by the routine at hand? */
bool prepack_is_new(const Lower *lower, NodeId id);
/* Packing has no workspace: temporaries from `first` on, which its kernel stores on its way to the
 * function `value`, are in the state as well. */
void prepack_keep_temporaries(Lower *lower, BufferId first, BufferId value);
/* conversions.c: fills in what the plan has of products and panels: of all nodes, and of one whose
 * users are decided. */
void conversion_find_panels(Lower *lower);
void conversion_find_products(Lower *lower, NodeId id);
/* Is a node a cast of which uses, if they are many, have a copy, and few read what is cast? */
bool conversion_as_used(const Lower *lower, NodeId id);
/* Is a node of some elements, if it widens what it reads, a copy of its own where reductions use
 * it? */
bool conversion_first(const Lower *lower, NodeId id, Size elements, Size uses);
/* Is a node that is gathered, or a cast that no lanes convert, a copy of its own where products use
 * it? */
bool conversion_gathered(const Lower *lower, NodeId id, Size elements, Size uses);
/* Is it one or two cheap operations on a parameter's panels, for a product that reads these? */
bool conversion_from_panels(const Lower *lower, NodeId id);
/* Does a schedule call the node by its name? */
bool fuse_has_name(const Lower *lower, NodeId id);
/* What is asked of a tensor with a name, the first of that name in the routine; NULL: nothing. */
ScheduleClause *fuse_asked(const Lower *lower, NodeId id, Choice choice);
/* Writes down which named tensors are computed inside which kernels, after those have names. */
void fuse_describe(Lower *lower);
/* Gives margins to the buffers of the routine whose readers would copy them, once buffers are
 * bound. */
void halo_plan(Lower *lower);
/* scatter_plan.c: does the loop of a scatter check its indices itself? It adds up in a temporary then, since
 * nothing that the caller sees is written before all checks have passed. */
bool scatter_checks(const Lower *lower, NodeId node);
/* Must the target be filled with the neutral element first? */
bool nest_needs_fill(const Lower *lower, NodeId node);
/* Can the node be accumulated into a target element by element, each once? */
bool nest_is_direct(const Lower *lower, NodeId node);

#endif
