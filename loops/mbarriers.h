/* Whether threads that go on each at its own pace meet: copies of boxes, products of a warpgroup, and the mbarriers
 * that keep them from each other. */
#ifndef TSR_LOOPS_MBARRIERS_H
#define TSR_LOOPS_MBARRIERS_H

#include "loops/verify.h"

/* What breaks a rule of them. Requires: the grammar has no fault. */
LoopsFault mbarrier_fault(Program *program, const Kernel *kernel);

/* verify_mbarriers_use.c: likewise, of what each statement touches. `period`: the mbarriers of the longest ring. */
LoopsFault mbarrier_use_fault(Program *program, const Kernel *kernel, int64_t period);

#endif
