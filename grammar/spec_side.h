/* Specifications that repairs write. */
#ifndef TSR_GRAMMAR_SPEC_SIDE_H
#define TSR_GRAMMAR_SPEC_SIDE_H

#include <stdint.h>

#include "base/arena.h"

/* The letter of an axis by its number, from 'a' on. */
const char *axis_letter(Arena *arena, uint32_t axis);
/* One side with these batch axes and, behind them, output axes, as they are written; an empty text leaves its axis out. */
const char *spec_side(Arena *arena, const char *const *axes, uint32_t nbatch, uint32_t noutput);

#endif
