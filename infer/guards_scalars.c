/* Scalars of a routine that are sizes: their values are what a dim may be, which is checked before anything
 * that is computed from them, and no axis has a size that is made of one. So what a routine returns, and how
 * much memory it asks for, depends on dims alone.
 */
#include "infer/generate.h"
#include "infer/guards.h"
#include "infer/trace.h"
#include "infer/trail.h"

static void add(Solver *s, Inference *inference, const ScalarArg *scalar, Guard g)
{
	g.kind = GUARD_GE;
	g.span = scalar->used;
	g.other = SPAN_NONE;
	g.text = guard_text(inference->graph->arena, inference->trace->sources, s->sizes, &g);
	PUSH(inference->graph->arena, inference->guards, g);
}

void guards_of_scalars(Solver *s, Inference *inference)
{
	for (size_t r = 0; r < s->graph->routines.n; r++)
		for (uint32_t i = 0; i < s->graph->routines.at[r].nscalars; i++) {
			const ScalarArg *scalar = &s->graph->routines.at[r].scalars[i];
			if (scalar->dim == DIM_NONE)
				continue;
			Size value = size_dim(s->sizes, scalar->dim);
			if (scalar->dtype != DTYPE_U32)
				add(s, inference, scalar,
				    (Guard){.a = value, .b = size_const(s->sizes, 0)});
			if (scalar->dtype != DTYPE_I32)
				add(s, inference, scalar,
				    (Guard){.a = size_const(s->sizes, DIM_MOST), .b = value});
		}
}

static const ScalarArg *scalar_in(const Solver *s, Size size)
{
	for (size_t r = 0; r < s->graph->routines.n; r++)
		for (uint32_t i = 0; i < s->graph->routines.at[r].nscalars; i++) {
			const ScalarArg *scalar = &s->graph->routines.at[r].scalars[i];
			if (scalar->dim != DIM_NONE && size_uses_dim(s->sizes, size, scalar->dim))
				return scalar;
		}
	return NULL;
}

static bool has_scalars(const Solver *s)
{
	uint32_t nargs = sizes_nargs(s->sizes);
	return nargs < sizes_ndims(s->sizes) && sizes_dim(s->sizes, nargs)->kind == DIM_SCALAR;
}

void check_scalars(Solver *s, const Inference *inference)
{
	if (!has_scalars(s))
		return;
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		const Node *node = &s->graph->nodes.at[id];
		const Shape *shape = &inference->shapes[id];
		for (uint32_t i = 0, n = shape_naxes(shape); node->used && i < n; i++) {
			Size size = shape_axis(shape, i)->size;
			const ScalarArg *scalar = scalar_in(s, size);
			if (!scalar)
				continue;
			Conflict *c = conflict_sizes(s, CONFLICT_SCALAR_SIZE, NONE, size, SIZE_BAD);
			c->span = node->span;
			c->scalar = scalar;
			return;
		}
	}
}
