/* How often loops run, and how many operations that is. */
#ifndef TSR_LOOPS_WORK_H
#define TSR_LOOPS_WORK_H

#include "loops/build.h"

/* A size that the bound of a loop never passes: none is less (IX_MAX, of a beginning), none more
 * (IX_MIN, of an end). Of what is taken with that extreme any operand will do, of the other extreme
 * the farther one. */
bool ix_bounding_size(const Sizes *sizes, const Ix *ix, IxKind extreme, Size *size);

/* A size in a bound, of a minimum or a maximum one of them; false: there is none. The iterations of
 * a loop, by such sizes. */
bool ix_known_size(const Ix *ix, Size *size);
Size loop_trips(Program *program, const Stmt *loop);
/* How often a loop runs; -1: that is not a constant. */
int64_t constant_trips(const Program *program, const Stmt *loop);
/* ... where it counts from 0 to a constant by one, else 0. */
int64_t trips_from_zero(const Program *program, const Stmt *loop);
/* The lanes of a loop, those that are masked too.
 * Requires: a VECTOR loop of constant bounds. */
int64_t vector_lanes(const Program *program, const Stmt *loop);
/* The sizes between which a loop runs, about; false: they are not known. */
bool loop_bounds(Program *program, const Stmt *loop, Size *lo, Size *hi);
/* Is it one round at most, over what is left behind blocks: step*floor(hi/step)..hi? */
bool loop_of_rest(Program *program, const Stmt *loop, Size *lo, Size *hi);
/* The size where every dim has that value, at least 0; the value itself where the size has none then. */
int64_t size_at_dims(Program *program, Size size, int64_t value);
/* The operations of a statement, what it holds not counted. */
int64_t stmt_cost(const Stmt *stmt);
/* min(a, b), where that of a has a bound of its own of both. */
const Ix *ix_least(Program *program, const Ix *a, const Ix *b);
/* The operations of a block, SIZE_BAD where they are too many for a size; as an index, capped where
 * they may be too many. */
Size block_size(Program *program, Block block);
const Ix *block_work(Program *program, Block block);
#define WORK_CAP ((int64_t)1 << 30)
/* The same, about, of few terms (work_rough.c); NULL: it has none. */
const Ix *rough_work(Program *program, Block block);
/* The kernel's operations, every dim taken as 32; are they the same for all? */
int64_t typical_work(Program *program, const Kernel *kernel);
bool work_is_known(Program *program, const Kernel *kernel);

#endif
