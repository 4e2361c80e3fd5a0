#include "grammar/spec_side.h"

const char *axis_letter(Arena *arena, uint32_t axis)
{
	return arena_printf(arena, "%c", 'a' + (int)(axis % 26));
}

static const char *row_of(Arena *arena, const char *const *axes, uint32_t n)
{
	const char *row = "";
	for (uint32_t i = 0; i < n; i++)
		if (*axes[i])
			row = arena_printf(arena, "%s%s%s", row, *row ? ", " : "", axes[i]);
	return row;
}

const char *spec_side(Arena *arena, const char *const *axes, uint32_t nbatch, uint32_t noutput)
{
	const char *batch = row_of(arena, axes, nbatch);
	return arena_printf(arena, "%s%s%s", batch, *batch ? " | " : "",
			    row_of(arena, axes + nbatch, noutput));
}
