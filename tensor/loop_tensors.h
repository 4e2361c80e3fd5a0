/* Tensors that loops set, as passes make them (frontend/graph.h has what they are). All numbers are those of the program
 * under construction. */
#ifndef TSR_TENSOR_LOOP_TENSORS_H
#define TSR_TENSOR_LOOP_TENSORS_H

#include "tensor/rebuild.h"

/* Elements of a shape, one by one; of operands that are `alone` the one number. It belongs to the arena. */
Proj *elementwise_proj(const Rebuild *g, const Shape *shape, Span span, uint32_t nargs,
		       const bool *alone);
/* A loop like another, within `parent`, that goes the other way where `reversed`; it makes all steps, whether or not the other
 * ends early, unless the caller says otherwise. Requires: a loop of the program under
 * construction. */
uint32_t loop_like(Rebuild *g, uint32_t loop, uint32_t parent, bool reversed);
/* A tensor that a loop within `parent` sets: 0 before it, unless `first` says otherwise, or each step sets some of it and all
 * steps all (`whole`). What sets it is the caller's to say. */
NodeId loop_tensor(Rebuild *g, Dtype dtype, const Shape *shape, Span span, uint32_t parent,
		   bool whole);
/* A node ZEROS of the new program is such a tensor. */
void loop_carry(Rebuild *g, NodeId tensor, bool whole);
/* What is assigned to it before the loop, and in each step; NODE_NONE: nothing, as it is until something is said. Requires: a
 * tensor that a loop sets. */
void loop_set_first(Rebuild *g, NodeId tensor, NodeId first);
void loop_set_step(Rebuild *g, NodeId tensor, NodeId step);
/* Counts the steps that the loop makes: an i32 beside it, which each step adds 1 to. Requires: it ends early. */
NodeId loop_count_steps(Rebuild *g, uint32_t loop);
/* The values that a tensor has in all steps of the loop, at this place of a step. Requires: the loop computes it or sets it. */
NodeId loop_store(Rebuild *g, NodeId value, uint32_t loop);
/* Those of the step that the loop is in, of a tensor that loop_store has made. */
NodeId loop_load(Rebuild *g, NodeId stored, uint32_t loop);

#endif
