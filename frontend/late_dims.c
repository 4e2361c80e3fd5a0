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

/* The number of steps of the loop that the dim counts; NULL: it counts none. */
static const SizeExpr *most_of_step(const Build *b, DimId dim)
{
	for (size_t i = 1; i < b->graph->loops.n; i++)
		if (b->graph->loops.at[i].step == dim)
			return b->graph->loops.at[i].most;
	return NULL;
}

/* Nothing that is taken off is: so it is never below 0, whatever the dims are. */
static const SizeExpr *most_of(Build *b, const SizeExpr *size)
{
	if (size->kind == SX_DIM && late_dim_is(size->dim))
		return most_of_step(b, size->dim);
	if (size->kind == SX_NUMBER && size->number < 0)
		return size_expr_number(b, 0, size->span);
	if (!size->a)
		return size;
	const SizeExpr *first = most_of(b, size->a); /* falls: the depth of the size */
	const SizeExpr *second = first && size->kind != SX_SUB ? most_of(b, size->b) : first;
	if (!second || size->kind == SX_SUB || size->kind == SX_DIV)
		return second ? first : NULL;
	return size_expr_of(b, size->kind, first, second);
}

const SizeExpr *late_dims_most(Build *b, const SizeExpr *size)
{
	return size_is_late(size) ? most_of(b, size) : size;
}

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
