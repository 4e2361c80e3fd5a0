/* What of a kernel touches what: where it touches a buffer (alias.c), which iterations of a loop may
 * run at the same time (independent.c), and which sizes it mentions (walk.c). */
#ifndef TSR_LOOPS_DEPENDENCE_H
#define TSR_LOOPS_DEPENDENCE_H

#include "loops/build.h"

/* Do different iterations of `loop`, a loop in the statement `root`, never touch the same element of a
 * buffer that `root` stores into, and share no local? (false: not known) */
bool loop_is_independent(Program *program, const Kernel *kernel, const Stmt *root,
			 const Stmt *loop);

/* A loop that is its kernel's only statement, from one size to another. */
typedef struct WholeLoop {
	const Kernel *kernel;
	const Stmt *loop;
} WholeLoop;

/* Do different iterations of loops that make equally many never touch the same element of a buffer that one of them
 * stores into, where the k-th ones of all run one after another? (false: not known) */
bool loops_are_independent(Program *program, const WholeLoop *loops, uint32_t n);

/* The same of a loop of a GPU's grid, with nothing taken from what was noted on it. */
bool loop_is_of_grid(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop);

/* The same of threads of a block, `root` the outermost of its loops around, with nothing taken from what was noted
 * on it: locals of outside may be read, and scratch buffers count too. */
bool loop_is_of_threads(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop);

/* The same of a loop of a cluster's blocks, of which each has its own shared buffers, but those of the cluster. */
bool loop_is_of_cluster(Program *program, const Kernel *kernel, const Stmt *loop);

/* Does every access of the block to the buffer have the same index? ... the index `at`? */
bool block_has_one_index(const Block *block, BufferId buffer);
bool block_touches_only_at(const Block *block, BufferId buffer, const Ix *at);
/* Is each element of the buffer read where the store is at the same one, or in a loop before it that runs over the
 * same, and never behind it? Whatever the numbers of iterators are. Requires: a store of the kernel. */
bool kernel_reads_at_store(Program *program, const Kernel *kernel, const Stmt *store,
			   BufferId buffer);

/* Where a value, or one of the indices in it or in `at`, reads the buffer: nowhere, at the index `at`
 * alone, or at others. */
typedef enum ReadPlace { READ_NOWHERE, READ_AT, READ_ELSEWHERE } ReadPlace;
ReadPlace value_reads(const Value *value, BufferId buffer, const Ix *at);

/* Every size that the kernel mentions, each once, in the order of first use. */
typedef struct SizeList {
	Size *at;
	size_t n, cap;
} SizeList;
SizeList kernel_sizes(Arena *arena, const Kernel *kernel);

#endif
