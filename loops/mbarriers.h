/* Whether threads that go on each at its own pace meet: copies of boxes, products of a warpgroup, and the mbarriers
 * that keep them from each other. */
#ifndef TSR_LOOPS_MBARRIERS_H
#define TSR_LOOPS_MBARRIERS_H

#include "loops/loops.h"

/* The first statement that breaks a rule of them, and the rule; NULL: there is none. Requires: the grammar has no
 * fault. */
const Stmt *mbarrier_fault(Program *program, const Kernel *kernel, const char **rule);

/* verify_mbarriers_use.c: likewise, of what each statement touches. `period`: the mbarriers of the longest ring. */
const Stmt *mbarrier_use_fault(Program *program, const Kernel *kernel, int64_t period,
			       const char **rule);

#endif
