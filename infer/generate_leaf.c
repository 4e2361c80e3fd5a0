/* The rows of nodes without operands: axes and row variables as they are declared, open rows where
 * nothing is. What only uses say of an input or a parameter is marked as terminal: it closes to its
 * bound. What a routine's steps set is a result of these.
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/generate.h"
#include "infer/rows.h"

typedef struct RowNames { /* the row variables of one declaration */
	Sym names[ROW_KINDS];
	RowVarId vars[ROW_KINDS];
	uint32_t n;
} RowNames;

static RowVarId declared_var(Solver *s, RowNames *names, Sym name, Span span)
{
	for (uint32_t i = 0; name && i < names->n; i++) {
		if (names->names[i] == name)
			return names->vars[i];
	}
	RowVarId var = rowvar_new(s, name, span);
	if (name) {
		names->names[names->n] = name;
		names->vars[names->n++] = var;
	}
	return var;
}

static CellId declared_axis(Solver *s, const DeclAxis *axis)
{
	CellId cell = axis->size ? size_cell(s, axis->size) : cell_new(s, NULL, axis->span);
	if (axis->label) { /* a cell of its own: the label is this axis's */
		if (axis->size && cell_at(s, cell)->born != cell)
			cell = cell_new(s, NULL, axis->span);
		cell_label(s, cell, axis->label);
	}
	return cell;
}

static RowTerm declared_row(Solver *s, const DeclRow *row, Span span, RowNames *names)
{
	if (row->open)
		return row_open(s, NULL, span);
	uint32_t lead = row->var_at < 0 ? 0 : (uint32_t)row->var_at;
	RowTerm term = {.var = NONE, .nlead = lead, .ntrail = row->naxes - lead};
	term.lead = ARENA_ARRAY(s->arena, CellId, row->naxes + 1);
	term.trail = term.lead + lead;
	for (uint32_t i = 0; i < row->naxes; i++)
		term.lead[i] = declared_axis(s, &row->axes[i]);
	if (row->var_at >= 0) {
		term.var = declared_var(s, names, row->var, span);
		term.pinned = true;
	}
	return term;
}

void declared_rows(Solver *s, const ShapeDecl *shape, RowTerm *rows)
{
	RowNames names = {.n = 0};
	for (int k = 0; k < ROW_KINDS; k++)
		rows[k] = declared_row(s, &shape->rows[k], shape->span, &names);
}

void mark_terminal(Solver *s, const RowTerm *row, bool param)
{
	for (uint32_t i = 0; i < row->nlead + row->ntrail; i++) {
		Cell *c = cell_at(s, i < row->nlead ? row->lead[i] : row->trail[i - row->nlead]);
		c->terminal = true;
		c->param |= param;
	}
	if (row->var != NONE) {
		s->vars.at[row->var].terminal = true;
		s->vars.at[row->var].param |= param;
	}
}

void generate_leaf(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	bool scalar =
		node->kind == NODE_SIZE || node->kind == NODE_SCALAR || node->kind == NODE_RANGE;
	bool terminal = node->kind == NODE_PARAM || node->kind == NODE_OFFSETS ||
			(node->kind == NODE_ZEROS && node->carried) || node->kind == NODE_RANDOM;
	RowTerm declared[ROW_KINDS];
	if (node->shape && !scalar && node->like == NODE_NONE)
		declared_rows(s, node->shape, declared);
	for (int k = 0; k < ROW_KINDS; k++) {
		RowTerm *row = &s->rows[id][k];
		if (node->like != NODE_NONE) {
			*row = s->rows[node->like][k];
			continue;
		}
		if (node->shape && !scalar)
			*row = declared[k];
		else
			*row = scalar ? row_closed() : row_open(s, NULL, node->span);
		if (terminal)
			mark_terminal(s, row, node->kind == NODE_PARAM);
	}
	if (node->kind == NODE_RANGE) {
		CellId cell = size_cell(s, node->size_expr);
		s->rows[id][ROW_OUTPUT] = row_cells(s, &cell, 1);
	}
}
