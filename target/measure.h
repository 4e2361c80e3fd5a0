/* The machine that this runs on. */
#ifndef TSR_TARGET_MEASURE_H
#define TSR_TARGET_MEASURE_H

#include "target/target.h"

/* Sets the sizes of caches, as the system says them, and what a cycle begins and a multiply-add
 * takes, as measured here, in well under a second; the rest of the target stays. A third cache that
 * a virtual machine shares with others counts whole. Requires: the target is native's. */
void target_measure(Target *target);

#endif
