/* What threads of one block promise each other (loops.h): nothing between two barriers meets. */
#ifndef TSR_LOOPS_VERIFY_BLOCK_H
#define TSR_LOOPS_VERIFY_BLOCK_H

#include "loops/verify.h"

/* The first statement that touches what other threads of a block have touched since the last barrier, one of
 * them storing; NULL: there is none. */
const Stmt *block_meeting(Program *program, const Kernel *kernel);

/* Are n lanes of the dtype, side by side, one access of a GPU: 8 or 16 bytes? */
bool lanes_are_wide(Dtype dtype, int64_t n);
/* The first loop of lanes that a GPU has no access for: lanes of other than 8 or 16 bytes, that move by more
 * than one element, or that begin at an index not shown to be a multiple of them; NULL: there is none. */
const Stmt *lanes_strided(Program *program, const Kernel *kernel);

#endif
