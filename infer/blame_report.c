/* One message: its code, place and rank, and where the functions are applied that it is in. */
#include "infer/blame.h"

enum { SITES_SHOWN = 8 };

Blame *blame_new(Solver *s, const Inference *inference, Diags *diags)
{
	Blame *b = ARENA_NEW(s->arena, Blame);
	*b = (Blame){.s = s, .inference = inference, .diags = diags};
	b->mended = ARENA_ARRAY(s->arena, uint64_t, s->graph->nodes.n + 1);
	return b;
}

/* File and line of the statement of the program that an error belongs to: where a function is
 * applied, for what stands in the function. */
static uint64_t rank_of(const Blame *b, NodeId node, Span span)
{
	const Graph *graph = b->s->graph;
	uint32_t site = node == NODE_NONE ? 0 : graph->nodes.at[node].site;
	for (; site;
	     site = graph->sites.at[site].parent) /* falls: sites come before those in them */
		span = graph->sites.at[site].span;
	if (span_is_none(span))
		return 0;
	return (uint64_t)span.file << 32 |
	       source_place(b->diags->sources, span.file, span.start).line;
}

static void report(Blame *b, NodeId node, Span span, const char *fmt, va_list args)
{
	b->blamed = span;
	diag(b->diags, conflict_code(b->conflict->kind), span, "%s",
	     arena_vprintf(b->s->arena, fmt, args));
	diag_rank(b->diags, rank_of(b, node, span));
}

void blame(Blame *b, ConId con, const char *fmt, ...)
{
	NodeId node = con == NONE ? NODE_NONE : b->s->cons.at[con].node;
	va_list args;
	va_start(args, fmt);
	report(b, node, con == NONE ? SPAN_NONE : b->s->cons.at[con].span, fmt, args);
	va_end(args);
	blame_sites(b, node);
}

void blame_operand_at(Blame *b, ConId con, Span span, const char *fmt, ...)
{
	NodeId node = b->s->cons.at[con].node;
	va_list args;
	va_start(args, fmt);
	report(b, node, span, fmt, args);
	va_end(args);
	blame_sites(b, node);
}

void blame_at(Blame *b, Span span, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	report(b, NODE_NONE, span, fmt, args);
	va_end(args);
}

void blame_sites(Blame *b, NodeId node)
{
	const Graph *graph = b->s->graph;
	uint32_t site = node == NODE_NONE ? 0 : graph->nodes.at[node].site;
	for (int i = 0; site && i < SITES_SHOWN; i++) {
		const Site *at = &graph->sites.at[site];
		diag_applied(b->diags, at->span, at->name);
		site = at->parent;
	}
}

const char *blame_size(const Blame *b, Size size)
{
	return size_text(b->s->arena, b->s->sizes, size);
}
