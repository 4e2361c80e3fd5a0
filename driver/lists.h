/* What tsrc prints from its tables. */
#ifndef TSR_DRIVER_LISTS_H
#define TSR_DRIVER_LISTS_H

#include <stdio.h>

#include "base/arena.h"

/* --dump=help */
void list_stages(FILE *out);
/* --completion=SHELL */
void list_completion(FILE *out, Arena *arena, const char *shell);
/* The time of a phase, and the names of what it makes. */
void list_phase(FILE *out, const char *phase, double ms);

#endif
