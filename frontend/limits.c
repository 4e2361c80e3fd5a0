/* Evaluation is bounded in depth, in work and in nodes, because functions and `iterate` unfold: a
 * short program may ask for any amount. The first limit that is passed is reported, then all is an
 * error.
 */
#include "frontend/build.h"

static void report_chain(Build *b)
{
	uint32_t shown = 0;
	for (uint32_t site = b->at.site; site && shown < 8; shown++) {
		const Site *at = &b->graph->sites.at[site];
		diag_applied(b->diags, at->span, at->name);
		site = at->parent;
	}
}

bool limits_hold(Build *b, Span span)
{
	b->work++;
	if (b->stopped)
		return false;
	if (b->depth <= LIMIT_DEPTH && b->work <= LIMIT_WORK && b->graph->nodes.n <= LIMIT_NODES)
		return true;
	b->stopped = true;
	if (b->depth > LIMIT_DEPTH)
		diag(b->diags, E0237, span,
		     "functions and expressions are nested more than %d deep here", LIMIT_DEPTH);
	else
		diag(b->diags, E0236, span, "this program unfolds to more than %d operations",
		     LIMIT_NODES);
	report_chain(b);
	return false;
}
