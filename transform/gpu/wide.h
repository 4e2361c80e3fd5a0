/* Loops over elements in wide accesses, of the grid (wide.c) or of the threads of a block (rows.c). */
#ifndef TSR_TRANSFORM_GPU_WIDE_H
#define TSR_TRANSFORM_GPU_WIDE_H

#include "loops/multiple.h"
#include "loops/rewrite.h"
#include "transform/gpu/bind.h"

enum { QUAD = 4 };

/* Where fours begin at multiples of four. */
typedef enum WideBegin { BEGIN_NOWHERE, BEGIN_WHOLE_ROWS, BEGIN_EVERYWHERE } WideBegin;

typedef struct Wide {
	Program *program;
	const GpuTarget *gpu; /* of loops of the grid */
	Kernel *kernel;
	const Stmt *loops[GRID_LOOPS]; /* outermost first */
	uint32_t n;
	int64_t width; /* neighbours that a thread takes at once: the fours that names speak of, or 8, or 16, or 32 */
	/* elements that all threads take at a time: fours end with a multiple of it, or beyond the extent */
	int64_t steps;
	int64_t each; /* elements of a group, of which `group` is the number, a multiple of the width; 0: there are none */
	IterVar group;
	Block body;	/* of an element: locals, what they are set to, stores */
	bool sums;	/* ... and loops around these */
	uint32_t first; /* found: the loops from this one on are one */
	Size extent;	/* ... of that, */
	WideBegin begin;
	Multiples multiples;
} Wide;

/* Finds whether fours of all that the body touches lie side by side. Requires loops that count from 0 to sizes. */
bool wide_fits(Wide *wide);
/* The body for the `width` elements from `first` on, as far as there are any; `lane` is a new iterator. */
Block wide_elements(const Wide *wide, const Ix *first, IterVar lane);
/* The body's terms for the element `at` of those from `first` on, with locals of its own. */
Rewrite wide_element(const Wide *wide, const Ix *first, const Ix *at);

/* wide_sums.c: is the body, of an element, such as may be computed for several, with loops and conditions that are the same
 * for all? After wide_fits: are there enough threads for it? */
bool wide_sums_may(const Wide *wide);
bool wide_sums_pay(const Wide *wide);
/* The body for all lanes, each element `at` of one. Requires: wide_sums_may. */
Block wide_sums(const Wide *wide, const Ix *at, IterVar lane);

#endif
