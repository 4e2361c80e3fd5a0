/* Locals in registers, as jit_segments.c plans them and jit_segment_values.c reads and sets them: one variable for
 * each row and segment of lanes.
 */
#ifndef TSR_CODEGEN_JIT_SEGMENTS_H
#define TSR_CODEGEN_JIT_SEGMENTS_H

#include "codegen/jit_kernel.h"

/* The lanes of the segment at `at` of `extent` lanes are 1 << log: the largest that fits. Types of
 * storage are cut as what they are widened to. */
int jit_segment_log(const KernelJit *k, Dtype dtype, int64_t at, int64_t extent);
/* The type of 1 << log elements. */
Type *jit_segment_type(const KernelJit *k, Dtype dtype, int log);
/* The number. Requires: an index that is a constant size. */
int64_t jit_constant_ix(const KernelJit *k, const Ix *ix);
/* Do lanes run along the first axis of two? */
bool jit_is_transposed(const Stmt *vector, const Ix *const *ixs, uint32_t nixs);
/* Else, does each lane read at an index of its own: acc[lane/8, lane%8]? */
bool jit_is_gathered(const Stmt *vector, const Ix *const *ixs, uint32_t nixs);
/* Rows of a local: its elements without the last axis. */
uint32_t jit_local_rows(const KernelLocal *local);

typedef struct Segment {
	uint32_t index;
	int64_t at;
	int log;
} Segment;

/* The index of a register, which is known here.
 * Requires: its iterators are unrolled, or are the lane. */
int64_t jit_fixed_ix(const KernelJit *k, const Ix *ix);
/* The segments of a local at all indices but the last. */
Lvalue **jit_row_segments(const KernelJit *k, LocalId local, const Ix *const *ixs, uint32_t nixs);
/* The segment that holds a lane. Requires: 0 <= lane < the local's lanes. */
Segment jit_find_segment(const KernelJit *k, LocalId local, int64_t lane);
/* 1 << log lanes of a local from `lane` on: a variable, or a part of one by way of memory. */
Rvalue *jit_local_lanes(KernelJit *k, const Value *value, int64_t lane, int log);
/* One value in all of 1 << log lanes. */
Rvalue *jit_spread_lanes(KernelJit *k, Rvalue *value, Dtype dtype, int log);

#endif
