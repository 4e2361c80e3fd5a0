/* Sizes of letters, for what stands between an operand and the specification that reads it: see
 * letter_size.h.
 */
#include "frontend/letter_size.h"

#include "frontend/nodes.h"

static const SizeExpr *bound_by_with(const Build *b, Sym letter)
{
	for (const With *with = b->at.withs; with; with = with->outer)
		for (uint32_t i = 0; i < with->expr->nbinds; i++)
			if (with->binds[i].letter == letter && with->binds[i].size)
				return with->binds[i].size;
	return NULL;
}

static const SizeExpr *new_capture(Build *b, Sym letter, Span span)
{
	CaptureId id = (CaptureId)b->graph->captures.n;
	PUSH(b->arena, b->graph->captures, ((Capture){letter, span, false}));
	return size_expr_new(b, (SizeExpr){.kind = SX_CAPTURE, .span = span, .capture = id});
}

const SizeExpr *letter_size(Build *b, SpecParts *parts, Sym letter, Span span)
{
	const SizeExpr *size = bound_by_with(b, letter);
	if (size)
		return size;
	size = new_capture(b, letter, span);
	PUSH(b->arena, parts->binds, ((Bind){NODE_NONE, letter, span, NULL, size->capture}));
	return size;
}

void letter_size_bind(Build *b, SpecParts *parts, Sym letter, const SizeExpr *size)
{
	PUSH(b->arena, parts->binds, ((Bind){NODE_NONE, letter, size->span, size, CAPTURE_NONE}));
}

void letter_sizes_settle(Build *b, const SpecParts *parts, NodeId id)
{
	for (size_t i = 0; i < parts->binds.n; i++) {
		Bind bind = parts->binds.at[i];
		bind.node = id;
		PUSH(b->arena, b->graph->binds, bind);
	}
}

const SizeExpr *letter_size_of_node(Build *b, NodeId id, Sym letter, Span span)
{
	const SizeExpr *size = new_capture(b, letter, span);
	PUSH(b->arena, b->graph->binds, ((Bind){id, letter, span, NULL, size->capture}));
	return size;
}
