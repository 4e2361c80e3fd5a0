/* Which indices of kernels are shown to stay inside their buffers, for all sizes, which are shown
 * not to, and checks for the others.
 *
 *   bounds.c          walks kernels, with what loops, conditions and checks say in scope
 *   bounds_key.c      hashes of statements: what is like a statement that was shown is passed over
 *   bounds_index.c    indices as sizes in which iterators and what is read are symbols
 *   bounds_facts.c    symbols, and sizes that are known to be at least 0, by scope
 *   bounds_symbols.c  minima, maxima, quotients and remainders as symbols with facts
 *   bounds_prove.c    is a size at least 0, by the facts?
 *   check_nest.c      what a kernel of checks says behind itself
 *   bounds_refute.c   is an index outside at some sizes?
 *   bounds_check.c    checks before the statements whose indices are not shown
 */
#ifndef TSR_LOOPS_BOUNDS_H
#define TSR_LOOPS_BOUNDS_H

#include "loops/loops.h"
#include "loops/verify.h"

#define LOCAL_NONE UINT32_MAX

/* One index of a buffer, or of one axis of a local, in a statement. */
typedef struct IndexUse {
	KernelId kernel;
	const Stmt *stmt;
	uint32_t cond;	 /* which of its conditions; 0 where it has none */
	BufferId buffer; /* where local is LOCAL_NONE */
	LocalId local;
	const Ix *ix;
	Size extent; /* it is to be in [0, extent) */
} IndexUse;

typedef struct IndexUses {
	IndexUse *at;
	size_t n, cap;
	size_t total; /* of all indices, shown or not */
} IndexUses;

/* Those that are not shown to be inside, each once, in the order of routines and kernels. One that is
 * outside at some sizes that the guards let through is told in *fault; NULL: is a BUG. */
IndexUses bounds_unshown(Arena *arena, const Program *program, LoopsFault *fault);
/* One line: tsrc: kernel K: BUFFER[INDEX] of EXTENT. */
void bounds_print(FILE *out, const Program *program, const IndexUse *use);

/* Puts a check before each statement with indices that are not shown to be inside.
 * Requires: no loop of the program is parallel. */
void bounds_insert_checks(Program *program);

/* ---- between the files of bounds*.c ---- */

/* What is known of what a kernel reads as an index. */
typedef struct BoundsReads {
	/* by BufferId: all of its elements are in [0, extent), as a kernel before has checked;
	 * SIZE_BAD: that is not known */
	Size *checked;
	Size *scalars; /* by scalar of the routine: likewise */
	bool *stored;  /* by BufferId: the kernel stores to it */
	bool *set;     /* by LocalId: a statement changes it */
} BoundsReads;

/* key: equal for statements that are inside for the same reasons, where the same is known of their
 * scopes; n: of statements in it, itself among them. */
typedef struct StmtKey {
	uint64_t key;
	uint32_t n;
} StmtKey;
typedef struct StmtKeys {
	StmtKey *at;
	size_t n, cap;
} StmtKeys;
/* Of all statements of a kernel, each before those in it. */
StmtKeys bounds_keys(Arena *arena, const Program *program, const Kernel *kernel,
		     const BoundsReads *reads);

/* The same of a value that an index reads. */
uint64_t bounds_read_key(const Program *program, const Kernel *kernel, const BoundsReads *reads,
			 const Value *value);

/* What a statement at the top of a kernel checks of all elements of a buffer, or of a scalar: value
 * is in [0, hi). Of no value: that the extent is at most hi. */
typedef struct CheckNest {
	const Value *value; /* LOAD, SCALAR; NULL: none */
	Size hi, extent;
} CheckNest;
/* check_nest.c: false: it checks no such thing. */
bool check_nest(const Program *program, const Stmt *nest, CheckNest *found);

/* Tells in *fault where running the kernel at some sizes, each loop at its first and last iterations,
 * puts one of its uses outside. */
void bounds_refute(const Program *program, const ProgramRoutine *routine, const IndexUses *uses,
		   KernelId kernel, LoopsFault *fault);

#endif
