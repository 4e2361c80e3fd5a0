/* Random words among operands: they are moved, hashed and made numbers of, and not computed with. */
#include "frontend/build.h"
#include "frontend/random.h"

bool node_is_words(const Build *b, NodeId id)
{
	return graph_node(b->graph, id)->dtype == DTYPE_U4X32;
}

bool refuses_words(Build *b, const NodeId *args, const Span *spans, uint32_t nargs)
{
	for (uint32_t i = 0; i < nargs; i++) {
		if (args[i] == NODE_NONE || !node_is_words(b, args[i]))
			continue;
		diag(b->diags, E0241, spans[i],
		     "these are random words, and numbers are needed: uint4x32_to_uniform(...) makes "
		     "numbers of them");
		return true;
	}
	return false;
}

bool refuses_mixed_words(Build *b, const NodeId *args, const Span *spans, uint32_t nargs)
{
	for (uint32_t i = 0; i < nargs; i++)
		if (!node_is_words(b, args[i]))
			return refuses_words(b, args, spans, nargs);
	return false;
}
