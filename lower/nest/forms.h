/* What a nest may be computed as; nest_plan.h has who decides on it. */
#ifndef TSR_LOWER_NEST_FORMS_H
#define TSR_LOWER_NEST_FORMS_H

#include "lower/gen/masked.h"
#include "lower/nest/nest.h"

typedef enum NestForm {
	NEST_STORES,	/* a store for each step of the loops */
	NEST_LOCAL,	/* a sum in a local for each element */
	NEST_ROWS,	/* sums of a row of elements grow in the target */
	NEST_ROW_LOCAL, /* sums of a row of elements in a local, so many lanes at a time */
	NEST_SHORT,	/* each sum is one expression */
	NEST_LANES,	/* each sum in lanes */
	NEST_PARTS,	/* a long sum of few elements, in lanes and parts */
	NEST_TILES,
} NestForm;

/* Iterations of a loop: first <= iterator < end. */
typedef struct LoopPart {
	Size first, end;
} LoopPart;

/* How a loop around a value that reads windows is cut: where no window leaves its axis, one part (two, of which
 * the latter begins at a whole vector), and iterations in front of it and behind it. */
typedef struct LoopCut {
	VEC(LoopPart) parts; /* each begins where the one before it ends */
	size_t inside;	     /* the first one where no window leaves its axis */
} LoopCut;

typedef struct NestPlan {
	NestForm form;
	Op reduce;
	bool sums; /* adds up, in this order: */
	SumOrder order;
	int64_t steps;	   /* NEST_SHORT: of the sum */
	int64_t lanes;	   /* NEST_ROW_LOCAL */
	struct Tile *tile; /* NEST_TILES (tile.h) */
	BufferId parts;	   /* NEST_PARTS: what each part adds up to; BUFFER_NONE: there is one */
	const LoopCut
		*cuts; /* NEST_STORES, NEST_SHORT: of each loop of the result; NULL: none is cut */
	const Masked *
		masked; /* NEST_STORES, NEST_LANES: along the last loop (nest/mask.c); NULL: nothing is */
} NestPlan;

/* nest/border_plan.c: how the loops are cut; NULL: the value reads no windows that may leave an axis. Requires that
 * the loops are final. */
const LoopCut *nest_plan_borders(const Nest *nest);

/* nest/phases.c: of a root that reads tensors of which every s-th element is written, sets how many elements a step is
 * and shortens its loops; the values of all phases, together as one that is looked at. */
void nest_find_phases(Nest *nest);
const Value *nest_phases_value(Nest *nest);
/* Does the kernel of a node that writes every s-th element store those between, too, in the same loops? */
bool nest_stores_between(const Lower *lower, NodeId root);

/* The sum as one expression, with indices that may be outside of their axes in `borders` where no ranges are known.
 * Requires: a window of few terms (fuse_window_terms). */
const Value *nest_written_out(Nest *nest);
/* The nest's values with what they share in line, which may be where it is that few values, or as locals. */
enum { NEST_SHARED_FEW = 2 };
void nest_share_in_line(Nest *nest, bool in_line);

/* May the sum be kept in the target itself while it grows? It must have the type that is summed
 * in. */
bool nest_sums_in_place(const Nest *nest);
/* Does a row of elements that read at indices, along a loop of the result, fit in registers, so many
 * lanes at a time? */
bool nest_row_fits(const Nest *nest, const SumFacts *facts, const Loop *row, int64_t *lanes);

#endif
