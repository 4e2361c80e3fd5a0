/* Placeholders count down from the greatest number, sizes that have them are listed in Build.late_sizes
 * (size_expr.c). */
#include "frontend/late_dims.h"
#include "frontend/nodes.h"
#include "frontend/windows.h"

DimId late_dim_new(Build *b, Dim dim)
{
	PUSH(b->arena, b->late_dims, ((LateDim){.dim = dim}));
	return DIM_NONE - (DimId)b->late_dims.n;
}

const SizeExpr *late_dim_of_scalar(Build *b, NodeId id, Span span)
{
	const Node *node = graph_node(b->graph, id);
	if (!b->scalars || node->kind != NODE_SCALAR || !dtype_is_integer(node->dtype))
		return NULL;
	ScalarArg *scalar = &b->scalars[node->scalar_index];
	if (scalar->dim == DIM_NONE) {
		scalar->dim = late_dim_new(b, (Dim){scalar->name, scalar->span, 0, DIM_SCALAR});
		scalar->used = span;
	}
	return size_expr_new(b, (SizeExpr){.kind = SX_DIM,
					   .span = span,
					   .also = scalar->span,
					   .dim = scalar->dim});
}

/* ---- what a late size does not pass ---- */

/* What a size and its negative do not pass, whatever the dims are. NULL: 0; `unbounded`: a scalar is in it. */
typedef struct Bounds {
	const SizeExpr *up, *down;
} Bounds;

static const SizeExpr unbounded;

static const SizeExpr *plus(Build *b, const SizeExpr *x, const SizeExpr *y)
{
	if (!x || !y)
		return x ? x : y;
	return x == &unbounded || y == &unbounded ? &unbounded : size_expr_of(b, SX_ADD, x, y);
}

static const SizeExpr *times(Build *b, const SizeExpr *x, const SizeExpr *y)
{
	if (!x || !y)
		return NULL;
	return x == &unbounded || y == &unbounded ? &unbounded : size_expr_of(b, SX_MUL, x, y);
}

static const SizeExpr *ceil_of(Build *b, const SizeExpr *x, const SizeExpr *number)
{
	return x && x != &unbounded ? size_expr_of(b, SX_CEIL, x, number) : x;
}

static Bounds bounds_of_number(Build *b, int64_t number, Span span)
{
	const SizeExpr *most =
		number ? size_expr_number(b, number < 0 ? -number : number, span) : NULL;
	return number < 0 ? (Bounds){NULL, most} : (Bounds){most, NULL};
}

/* A number of a step is below that of the steps. */
static Bounds bounds_of_late(const Build *b, DimId dim)
{
	for (size_t i = 1; i < b->graph->loops.n; i++) {
		const GraphLoop *loop = &b->graph->loops.at[i];
		if (loop->step == dim)
			return (Bounds){loop->most ? loop->most : &unbounded, NULL};
	}
	return (Bounds){&unbounded, NULL};
}

static Bounds bounds_of(Build *b, const SizeExpr *size)
{
	int64_t number;
	if (size_expr_value(size, &number))
		return bounds_of_number(b, number, size->span);
	if (!size->a)
		return size->kind == SX_DIM && late_dim_is(size->dim) ? bounds_of_late(b, size->dim)
								      : (Bounds){size, NULL};
	Bounds x = bounds_of(b, size->a),
	       y = bounds_of(b, size->b); /* falls: the depth of the size */
	switch (size->kind) {
	case SX_ADD: return (Bounds){plus(b, x.up, y.up), plus(b, x.down, y.down)};
	case SX_SUB: return (Bounds){plus(b, x.up, y.down), plus(b, x.down, y.up)};
	case SX_MUL:
		return (Bounds){plus(b, times(b, x.up, y.up), times(b, x.down, y.down)),
				plus(b, times(b, x.up, y.down), times(b, x.down, y.up))};
	case SX_CEIL: return (Bounds){ceil_of(b, x.up, size->b), x.down};
	default: /* exact quotients */
		return y.down ? (Bounds){plus(b, x.up, x.down), plus(b, x.up, x.down)} : x;
	}
}

const SizeExpr *late_dims_most(Build *b, const SizeExpr *size)
{
	if (!size_is_late(size))
		return size;
	const SizeExpr *most = bounds_of(b, size).up;
	return most == &unbounded ? NULL : most ? most : size_expr_number(b, 0, size->span);
}

/* ---- their dims ---- */

static bool is_taken(const Build *b, Sym name)
{
	for (DimId d = 0; d < sizes_ndims(b->graph->sizes); d++)
		if (sizes_dim(b->graph->sizes, d)->name == name)
			return true;
	return false;
}

static Sym free_name(Build *b, Sym name)
{
	Sym free = name;
	for (uint32_t same = 2; is_taken(b, free); same++) /* falls: names that are taken */
		free = sym_printf(b->symbols, "%s_%u", name, same);
	return free;
}

static void add_all(Build *b, DimKind kind)
{
	for (size_t i = 0; i < b->late_dims.n; i++) {
		LateDim *late = &b->late_dims.at[i];
		if (late->dim.kind != kind)
			continue;
		late->dim.name = free_name(b, late->dim.name);
		late->id = sizes_add_dim(b->graph->sizes, late->dim);
	}
}

static void place(const Build *b, DimId *dim)
{
	if (late_dim_is(*dim))
		*dim = b->late_dims.at[DIM_NONE - *dim - 1].id;
}

void late_dims_add(Build *b)
{
	Graph *graph = b->graph;
	add_all(b, DIM_SCALAR);
	add_all(b, DIM_STEP);
	for (size_t i = 0; i < b->late_sizes.n; i++)
		place(b, &b->late_sizes.at[i]->dim);
	for (size_t i = 1; i < graph->loops.n; i++)
		place(b, &graph->loops.at[i].step);
	for (size_t r = 0; r < graph->routines.n; r++)
		for (uint32_t i = 0; i < graph->routines.at[r].nscalars; i++)
			place(b, &graph->routines.at[r].scalars[i].dim);
}
