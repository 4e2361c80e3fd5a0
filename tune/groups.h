/* Kernels of a schedule that are made alike, as equal layers are. */
#ifndef TSR_TUNE_GROUPS_H
#define TSR_TUNE_GROUPS_H

#include "schedule/schedule.h"

typedef VEC(Sym) Syms;

typedef struct Group {
	const char *key;
	VEC(const ScheduleEntry *) members;
	int64_t work; /* of all, every dim taken as 32 */
} Group;

typedef struct Groups {
	VEC(Group) all; /* those with the most work first; others in the order of the program */
	int64_t work;
} Groups;

/* Of what was made for the program, but for what runs when the state is packed. */
Groups groups_of(Arena *arena, const Program *program);
/* Does it run when the state is packed or filled, which is not timed? */
bool entry_is_before(const Program *program, const ScheduleEntry *entry);
/* Names of the loops of its kernels that stand outermost, or right inside such a one: `parallel` may
 * cut these. */
Syms entry_outer_loops(Arena *arena, const Program *program, const ScheduleEntry *entry);
/* The place of the name of `len` letters; false: it is none of them. */
bool place_of(const Sym *at, size_t n, const char *name, size_t len, size_t *place);

#endif
