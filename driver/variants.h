/* What a shared object of code for a GPU has beside it: code for other GPUs, and for a CPU. */
#ifndef TSR_DRIVER_VARIANTS_H
#define TSR_DRIVER_VARIANTS_H

#include "driver/options.h"

typedef struct Variants {
	GpuParts parts; /* the options of the first session point to it */
	VEC(const char *) ptx;
	const char *dir;
	Session *cpu; /* whose program the parts have */
} Variants;

/* Compiles the program anew for each. False after messages. */
bool variants_make(const Options *options, Variants *variants);
/* Closes the session and removes the temporary files, after a failure of variants_make too. */
void variants_end(Variants *variants);

#endif
