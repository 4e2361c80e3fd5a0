/* Passes from loops to loops: kernels become one, go in tiles, are cut for threads, and get their
 * memory. Each makes a program of the same meaning, and may run by itself.
 *
 *   unread      unread.c       what the state would hold, and constants, that no kernel reads
 *   interchange interchange.c  loops of steps inside of the loops over elements that each have steps of their own
 *                              (interchange_find.c)
 *   exchange    exchange.c     places in memory instead of copies from step to step of a loop
 *   order       order.c        assignments to the state as soon as they may run, so that temporaries end
 *   fusion      fusion.c       sums in the steps of the sums that read them (compute_at.c), then kernels over the same
 *                              rows as one (fusion_touch.c reads off what they
 *                              touch, fusion_choose.c decides, fusion_private.c removes what no
 *                              other kernel sees)
 *   unroll      unroll.c       loops over the few elements of a row, so that lanes go along the rows
 *   transpose   transpose.c    copies that run along other axes than they store, in tiles
 *                              (transpose_emit.c) or line by line (transpose_lines.c)
 *   horizontal  horizontal.c   small kernels as one loop for threads
 *   elide       elide.c        temporaries that are copied whole as parts of what they are copied into
 *   prefetch    prefetch.c     rows that integers choose, fetched some steps before they are read
 *   stream      stream.c       results that no cache holds, stored past the caches
 *   parallel    parallel.c     loops in chunks for threads; scratch.c buffers that each has for itself,
 *                              cut.c kernels of many nests as one for each
 *   hoist       hoist.c        what loops would compute again, computed before them
 *
 * where the target is a GPU (gpu/), and nothing elsewhere:
 *
 *   casts       casts.c        copies, and conversions to a wider type, read from what they are made of
 *   indices     indices.c      what is made of indices alone, or of elements of four bits, computed where it is read
 *   grid        bind_grid.c    loops with independent iterations as loops of a grid
 *   join        join.c         kernels of one grid as one, and those over the same rows (row_join.c)
 *   prepack     prepack.c      functions of parameters, computed when the state is packed
 *   attention   attention_choose.c  attention whose scores are in no memory, that of few rows in
 *                              slices of keys (decode_choose.c)
 *   bind        bind.c         what threads of a block do together: tiles, rows, columns and so on
 *   overlap     overlap.c      parameters fetched while the kernel in front ends
 *
 *   memory      memory.c       places of temporaries; memory_peak.c the most that is alive at a time;
 *                              entry.c what routines take, and check first
 */
#ifndef TSR_TRANSFORM_TRANSFORM_H
#define TSR_TRANSFORM_TRANSFORM_H

#include "base/diag.h"
#include "loops/build.h"
#include "schedule/schedule.h"

typedef struct Transform {
	Program *program;      /* changed in place; what was chosen is written into its schedule */
	const Schedule *asked; /* NULL: nothing is */
	const LowerOptions *options; /* the program's */
	Diags *diags;
	Arena *scratch; /* for what goes when the pass ends */
	bool changed;	/* by the pass: did it do anything? */
} Transform;

typedef struct TransformPass {
	const char *name; /* of its stage, which says what it makes (driver/pipeline.c) */
	void (*run)(Transform *t);
} TransformPass;

/* In the order in which they run. */
enum {
	PASS_UNREAD,
	PASS_INTERCHANGE,
	PASS_EXCHANGE,
	PASS_ORDER,
	PASS_FUSION,
	PASS_UNROLL,
	PASS_TRANSPOSE,
	PASS_HORIZONTAL,
	PASS_ELIDE,
	PASS_PREFETCH,
	PASS_STREAM,
	PASS_PARALLEL,
	PASS_HOIST,
	PASS_CASTS,
	PASS_INDICES,
	PASS_GRID,
	PASS_JOIN,
	PASS_PREPACK,
	PASS_ATTENTION,
	PASS_BIND,
	PASS_OVERLAP,
	PASS_MEMORY,
	TRANSFORM_PASSES
};
extern const TransformPass transform_passes[TRANSFORM_PASSES];

/* The program that a pass makes of another, which stays as it is, but for the schedule of what was
 * chosen, which is one for both; `changed` says whether it differs. Errors are in diags: sizes that pass a bound,
 * memory that passes --max-workspace.
 * Requires: loops_verify_grammar passes, and the passes before it, as far as they run, have run. Ensures:
 * loops_verify passes, if there was no error. */
Program *transform_run(uint32_t pass, const Program *program, const Schedule *asked, Diags *diags);

/* The passes of the table above: each changes t->program in place, sets t->changed where it did, and reports
 * to t->diags. Requires: what transform_run requires; t->changed is false. */
void transform_unread(Transform *t);
void transform_interchange(Transform *t);
void transform_exchange(Transform *t);
void transform_order(Transform *t);
void transform_fusion(Transform *t);
void transform_transpose(Transform *t);
void transform_horizontal(Transform *t);
void transform_elide(Transform *t);
void transform_prefetch(Transform *t);
void transform_stream(Transform *t);
void transform_parallel(Transform *t);
void transform_hoist(Transform *t);
void transform_casts(Transform *t);
void transform_indices(Transform *t);
void transform_grid(Transform *t);
void transform_join(Transform *t);
void transform_prepack(Transform *t);
void transform_attention(Transform *t);
void transform_bind(Transform *t);
void transform_overlap(Transform *t);
void transform_memory(Transform *t);

/* ---- on parts of a program, for those who emit it ---- */

/* Of what is computed while compiling: bytes of one function; bytes that the module holds, and operations, of all. */
enum { EVALUATED_BYTES = 1 << 20, EVALUATED_ALL = 1 << 22, EVALUATED_WORK = 1 << 23 };
/* Is there room for one more? Then it is added. */
bool evaluation_add(Evaluation *evaluation, int64_t work, int64_t bytes);
/* What is packed of PARAM_NONE becomes constants, which the kernels of `pack` that store it compute now; they go. Requires: they
 * read constants and such functions alone, inside their bounds, and options.interpret_pack where there is one. (evaluate.c) */
void program_evaluate(Program *program);

/* Joins neighbours among n kernels over the same rows, in place; how many are left. The first
 * `nshared` iterators of each are bound outside of them. */
uint32_t kernels_fuse(const Transform *t, Kernel *kernels, uint32_t n, uint32_t nshared);
/* A loop that is to become two: these without their bodies, and by IterVar what stands for the iterators
 * then. */
typedef struct LoopSplit {
	const Stmt *outer, *inner; /* `outer` has the iterator of the loop */
	const Ix *const *iters;
} LoopSplit;

/* Would kernel_transpose change it, with an outermost loop split before? NULL: as it is. */
bool kernel_transposes(const Transform *t, const Kernel *kernel, const LoopSplit *split);
/* Copies and elementwise loops whose operands run along other axes than the result, in tiles. Where
 * there are none the kernel keeps its body. */
void kernel_transpose(const Transform *t, Kernel *kernel);
/* Cuts what may run at the same time into chunks of about `options->grain` operations; 0: nothing.
 * Where nothing is cut the kernel keeps its body. */
void kernel_parallel(const Transform *t, Kernel *kernel);
/* Gives each iteration that runs at a time its own part of the kernel's scratch buffers. */
void kernel_scratch(Program *program, Kernel *kernel, Stmt *loop);
/* Makes kernels of many nests one for each nest (cut.c). Did it? */
bool kernels_cut(const Transform *t);
/* Why what the loop computes again in each iteration is not computed before it; NULL: it is, if there is any. */
const char *hoist_refused(const Program *program, const Stmt *loop);
/* How many loops of the statement would be cut, however much work there is? At most two. */
uint32_t loops_to_cut(Program *program, Kernel *kernel, const Stmt *root);

/* What is asked of a kernel; NULL: nothing. */
static inline ScheduleClause *kernel_asked(const Transform *t, const Kernel *kernel, Choice choice)
{
	return schedule_asked(t->asked, t->program, kernel->name, kernel->span, choice);
}

/* Is it a loop in turn, one step at a time, between sizes? */
static inline bool loop_is_plain(const Stmt *stmt)
{
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL && stmt->step == 1 &&
	       stmt->lo->kind == IX_SIZE && stmt->hi->kind == IX_SIZE;
}

/* ---- on each routine ---- */

/* What becomes of a routine's n kernels, in place: how many are left. */
typedef uint32_t (*KernelsChange)(const Transform *t, Kernel *kernels, uint32_t n);
/* Changes the kernels of each routine, those of `pack` and `init` aside; are there fewer? */
bool routines_change(const Transform *t, KernelsChange change);

#endif
