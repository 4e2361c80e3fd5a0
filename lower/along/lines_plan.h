/* Who decides how lines are gone through. Temporaries are declared, and nothing is emitted. */
#ifndef TSR_LOWER_ALONG_LINES_PLAN_H
#define TSR_LOWER_ALONG_LINES_PLAN_H

#include "lower/along/lines.h"

/* Whether sums up to each place are made in turn or in runs, and of which lines side by side. */
CumulatePlan cumulate_plan(const Lines *lines);
/* Whether the greatest is looked for in lanes, in parts, or in neighbouring lines side by side. */
ArgmaxPlan argmax_plan(const Lines *lines);
/* The ways in which lines are sorted, each with the sizes that it is for. */
void sort_plan(const Lines *lines, SortWay ways[SORT_WAYS]);

#endif
