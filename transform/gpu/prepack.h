/* Functions of parameters, which are computed when the state is packed. */
#ifndef TSR_TRANSFORM_GPU_PREPACK_H
#define TSR_TRANSFORM_GPU_PREPACK_H

#include "transform/gpu/bind.h"

/* prepack.c: takes kernels out of the routines that do the same in all calls, unless the options say otherwise. Is there one? */
bool prepack_routines(const Transform *t);

#endif
