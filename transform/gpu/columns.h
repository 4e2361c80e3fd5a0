/* Sums down columns, which more threads than there are columns share, and slices of them. */
#ifndef TSR_TRANSFORM_GPU_COLUMNS_H
#define TSR_TRANSFORM_GPU_COLUMNS_H

#include "transform/gpu/bind.h"

/* columns.c: lets more threads than there are columns share sums down columns; `own`: as a schedule asks of the kernel. */
bool columns_pay(const Transform *t, Kernel *kernel, bool own);
void bind_columns(const Transform *t, Kernel *kernel, uint32_t routine, bool own);
/* ... writes into the schedule what is made of the kernel, which it has not yet become. */
typedef struct ColumnsMade {
	bool columns, slices;
} ColumnsMade;
void columns_note(const Transform *t, Kernel *kernel, ColumnsMade made);
/* ... or that none of it is, where something was asked for. */
void columns_note_none(const Transform *t, const Kernel *kernel);
/* ... makes the kernel add up slices, of which the one before it makes the sums. */
bool slices_pay(const Transform *t, Kernel *kernel);
void bind_slices(const Transform *t, Kernel *kernel, uint32_t routine, Kernel *before);

#endif
