/* The passes of tensor.c, private to tensor/. Each returns false where it has changed nothing. */
#ifndef TSR_TENSOR_PASSES_H
#define TSR_TENSOR_PASSES_H

#include "tensor/tensor.h"

bool unchecked_indices(TensorProgram *program);	   /* bounds.c */
bool recompute_tables(TensorProgram *program);	   /* recompute.c */
bool adjoint_gradients(TensorProgram *program);	   /* adjoint.c, functionalize.c */
bool sorted_elements(TensorProgram *program);	   /* split.c, sorted.c */
bool reassociate_products(TensorProgram *program); /* split.c, reassociate_split.c, many.c */
bool two_stage_reductions(TensorProgram *program); /* split.c, two_stage.c */
bool materialize_operands(TensorProgram *program); /* split.c, materialize.c */
bool read_shifts(TensorProgram *program);	   /* shifts.c */
bool gather_windows(TensorProgram *program); /* gather_windows.c */
bool permute_concatenations(TensorProgram *program); /* permute.c */
bool common_tensors(TensorProgram *program); /* common.c */

/* Gives the program nodes and index maps of its own, which a pass may change: with the same numbers as before. */
void tensor_own_tables(TensorProgram *program, Graph **graph, Inference **inference);

#endif
