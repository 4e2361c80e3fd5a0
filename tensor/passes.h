/* The passes of tensor.c, private to tensor/. Each returns false where it has changed nothing. */
#ifndef TSR_TENSOR_PASSES_H
#define TSR_TENSOR_PASSES_H

#include "tensor/tensor.h"

bool split_nodes(TensorProgram *program);    /* split.c */
bool gather_windows(TensorProgram *program); /* gather_windows.c */
bool common_tensors(TensorProgram *program); /* common.c */

#endif
