/* What threads of one block promise each other (loops.h): nothing between two barriers meets. */
#ifndef TSR_LOOPS_VERIFY_BLOCK_H
#define TSR_LOOPS_VERIFY_BLOCK_H

#include "loops/verify.h"

/* The first statement that touches what other threads of a block have touched since the last barrier, one of
 * them storing; NULL: there is none. */
const Stmt *block_meeting(Program *program, const Kernel *kernel);

/* The first statement by which threads of a warp read of each other what some of them set meanwhile, or that not all of
 * them run; NULL: there is none. */
const Stmt *warp_exchange_fault(const Kernel *kernel);

/* Are n lanes of the dtype, side by side, accesses of a GPU, of 16 bytes each, one of 8, or two lanes one of 4? */
bool lanes_are_wide(Dtype dtype, int64_t n);
/* Elements of one of them. */
int64_t lanes_of_access(Dtype dtype, int64_t n);
/* The first loop of lanes that a GPU has no access for: lanes of other bytes, that move by more
 * than one element, or that begin at an index not shown to be a multiple of them; NULL: there is none. */
const Stmt *lanes_strided(Program *program, const Kernel *kernel);

#endif
