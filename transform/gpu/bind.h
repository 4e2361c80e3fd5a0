/* The passes to the threads of a GPU, what they share, and the parts of `bind`. */
#ifndef TSR_TRANSFORM_GPU_BIND_H
#define TSR_TRANSFORM_GPU_BIND_H

#include "loops/walk.h"
#include "target/gpu.h"
#include "transform/gpu/kernel_uses.h"
#include "transform/transform.h"

/* grid.c: what each thread of the grid does; the kernel's body where there is no grid. */
Block grid_body(const Kernel *kernel);
enum { GRID_LOOPS = 8 };
/* Its loops, outermost first, GRID_LOOPS at most, and how many; 0: there are none, or more. */
uint32_t grid_loops(const Kernel *kernel, const Stmt **loops);
/* The loops of a grid around another body, with so many threads along each; 0: as they have. */
Block grid_around(Arena *arena, const Block *grid, Block body, int64_t threads);

/* How many threads of a block lie along each of n loops, outermost first, of these extents. */
void grid_shape(const Sizes *sizes, const GpuTarget *gpu, const Size *extents, uint32_t n,
		int64_t *threads);
/* Locals and stores alone, of which at least one stores: what a thread does is one element's. */
bool is_elementwise(const Kernel *kernel, const Block *body);
/* Is it `local op= value`, of which parts may be made apart; and the value that each part begins with. */
bool is_fold(const Stmt *stmt);
const Value *fold_neutral(Arena *arena, const Stmt *fold);

/* Does the loop count from 0 to a size, one iteration after the other? */
bool loop_counts_from_zero(const Sizes *sizes, const Stmt *loop);
bool nest_counts_from_zero(const Sizes *sizes, const LoopNest *nest); /* all of its loops */
/* So many iterations of the loops, of which some may be NULL, read an element at the index; INT64_MAX: as many as may be, where not
 * all sizes are known. */
int64_t loops_readers(const Sizes *sizes, const Stmt *const *loops, uint32_t n, const Ix *ix);
/* The iterations of loops inside each other, from 0 to sizes. */
Size loops_extent(Sizes *sizes, const Stmt *const *loops, uint32_t n);
/* Loops inside each other, outermost first: those from `first` on are gone through as through one, by
 * an index or by all that a value reads. */
typedef struct OneLoop {
	Program *program;
	const Stmt *const *loops;
	uint32_t n, first;
} OneLoop;
void one_loop_ix(OneLoop *one, const Ix *ix);
void one_loop_value(OneLoop *one, const Value *value);

/* The kernels of a routine; what one of them does with a buffer, NULL: nothing.
 * Requires: a kernel of the routine. */
typedef struct RoutineKernels {
	Program *program;
	Arena *scratch;
	Kernel *at;
	uint32_t n;
	KernelUses *uses;
} RoutineKernels;
const BufferUse *routine_use(const RoutineKernels *kernels, uint32_t i, BufferId buffer);

/* tables.c: a new iterator or local of the kernel, its name made unique there. */
IterVar bind_iter(Program *program, Kernel *kernel, const char *name);
LocalId bind_local(Program *program, Kernel *kernel, KernelLocal local);
/* A buffer of a block's threads, of the dtype that is given and so many elements; called KERNEL_NAME. */
BufferId bind_shared(Program *program, const Kernel *kernel, uint32_t routine, Buffer shared,
		     int64_t elements, const char *name);
/* ... of all blocks, of the elements that are given. */
BufferId bind_temp(Program *program, const Kernel *kernel, uint32_t routine, Buffer temp,
		   const char *name);

/* A kernel that splits an operand of a product (high_low.c), before threads have it, and what it stores. */
typedef struct Splitter {
	Kernel kernel; /* without a body: an earlier one stores that */
	size_t at;     /* its number among those that are made */
	uint32_t routine;
	BufferId high, low;
} Splitter;

/* ... The kernels that those of a program become. */
typedef struct NewKernels {
	const Transform *t;
	uint32_t routine; /* of the kernel that is replaced; that many as there are: pack */
	VEC(Kernel) made; /* so far, of all routines */
	VEC(Splitter) splitters; /* ... of these */
} NewKernels;
/* Adds what a kernel becomes. */
typedef void (*KernelReplace)(NewKernels *to, const Kernel *kernel);
/* Replaces each kernel of the routines and of `pack`; what computes parameters stays, since the host makes the state. Is any
 * other? */
bool kernels_replace(const Transform *t, KernelReplace replace);
/* The name, or NAME_number, NAME_number+1 and so on, that no kernel has; of number 1 the name. */
Sym kernels_name(const NewKernels *to, Sym wanted, uint32_t number);
/* Adds a kernel of the body, which is called as `kernel` is or, behind the first of `nparts`, NAME_2 and so on. */
void kernels_add_part(NewKernels *to, const Kernel *kernel, Block body, uint32_t *nparts);
/* Are there others, or do they have other statements? */
bool kernels_differ(const Kernel *before, size_t nbefore, const Kernel *after, size_t n);

/* What follows is chosen by X_pays. Requires: that it pays, of the same kernel.
 * row_warps.c: lets warps of a block have a row each, or several warps one, where the kernel has one sum; writes it into the
 * schedule. */
bool row_warps_pay(const Transform *t, Kernel *kernel);
void bind_row_warps(const Transform *t, Kernel *kernel, uint32_t routine);
/* rows.c: lets the threads of a block share the sums of the kernel, where they read what lies side by
 * side. */
bool rows_pay(const Transform *t, Kernel *kernel);
void bind_rows(const Transform *t, Kernel *kernel, uint32_t routine);
/* ... Does a sum, by its innermost loop and what that does, read what lies side by side, some of it with few others? */
bool rows_are_read(const Transform *t, Kernel *kernel, const Stmt *inner, const Stmt *set);
/* square.c: lets elementwise kernels that read across memory do so through shared memory; writes it into the schedule. */
bool squares_pay(const Transform *t, Kernel *kernel);
void bind_squares(const Transform *t, Kernel *kernel, uint32_t routine);
/* wide.c: lets a thread of an elementwise kernel compute four neighbours, in wide accesses. */
bool wide_pays(const Transform *t, Kernel *kernel);
void bind_wide(const Transform *t, Kernel *kernel);

#endif
