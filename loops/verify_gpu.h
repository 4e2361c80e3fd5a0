/* What loops of a GPU promise, shown anew from what they touch. */
#ifndef TSR_LOOPS_VERIFY_GPU_H
#define TSR_LOOPS_VERIFY_GPU_H

#include "loops/build.h"
#include "loops/verify.h"
#include "target/gpu.h"

/* May the iterations of `loop`, a loop in the statement `root`, be threads that run in any order? As
 * loop_is_independent (dependence.h) without what was noted on the loop, and where nothing is stored but
 * checked. False: not known. */
bool gpu_independent(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop);

/* The number of threads of a block, and of blocks as a size; 1 without loops of a grid. */
int64_t grid_threads(const Sizes *sizes, const Kernel *kernel);
Size grid_blocks(Sizes *sizes, const Kernel *kernel);
/* Blocks that take turns, at most; 0: each iteration has a block of its own. */
int64_t grid_turns(const Kernel *kernel);
/* Threads that share a block; 0: the kernel has no loop of a block. */
int64_t block_threads(const Sizes *sizes, const Kernel *kernel);
enum { SHARED_ALIGNED = 16 }; /* bytes that shared buffers begin at a multiple of */
/* Bytes of a shared buffer, in whole SHARED_ALIGNED. INT64_MAX: not a constant. */
int64_t buffer_shared_bytes(const Program *program, const Buffer *buffer);
bool kernel_has_mbarriers(const Program *program, const Kernel *kernel);
/* Bytes of all that a kernel has, where a launch has to ask for them, else 0. Requires: the program is for a GPU. */
int64_t gpu_shared_asked(const Program *program, const Kernel *kernel);
/* The next loop of the grid inside of one, or the first of a kernel; NULL: there is none. ... The first loop of the grid of
 * prefetches that stands in front of a kernel's own; NULL: none does. */
const Stmt *grid_loop(const Block *block);
const Stmt *grid_ahead(const Block *block);

/* The first kernel that the GPU cannot run: a block larger than it has them, two iterations of a loop of a
 * grid that are not shown to touch different elements, loops for threads or vectors of a CPU. gpu NULL: one that
 * has a loop of a grid. Requires: the grammar has no fault. */
LoopsFault loops_gpu_fault(Program *program, const GpuTarget *gpu);
/* Aborts (BUG) on one. */
void loops_verify_gpu(Program *program, const GpuTarget *gpu);

#endif
