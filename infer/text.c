/* How messages call what the solver speaks of: tensors, axes, sizes, rows. */
#include "base/held.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"

#include <string.h>

static const char *const row_names[ROW_KINDS] = {"batch", "input", "output"};

const char *row_kind_text(RowKind row) { return row_names[row]; }

const char *tensor_text(Solver *s, NodeId id, int32_t arg)
{
	if (id == NODE_NONE)
		return "this size";
	const Node *node = &s->graph->nodes.at[id];
	const Node *tensor = arg >= 0 ? &s->graph->nodes.at[node->args[arg]] : node;
	if (tensor->name)
		return arena_printf(s->arena, "'%s'", tensor->name);
	if (node->kind == NODE_RULE && arg >= 0)
		return "what the rule gives";
	if (arg < 0)
		return "the result";
	return node->nargs == 1 ? "the operand" : arena_printf(s->arena, "operand %d", arg + 1);
}

const char *cell_size_text(Solver *s, CellId cell)
{
	const Cell *c = cell_at(s, cell);
	if (!size_is_bad(c->value))
		return size_text(s->arena, s->sizes, c->value);
	Sym name = s->cells.at[cell].name ? s->cells.at[cell].name : c->name;
	return name ? name : "?";
}

Sym letter_of(Solver *s, CellId cell)
{
	const Cell *root = cell_at(s, cell);
	if (s->cells.at[cell].name || root->name)
		return s->cells.at[cell].name ? s->cells.at[cell].name : root->name;
	for (size_t i = 0; i < s->letters.n; i++) {
		if (cell_at(s, s->letters.at[i].cell) == root)
			return s->letters.at[i].letter;
	}
	return NULL;
}

/* The letter that a relation has for the size. */
static Sym letter_in(Solver *s, const Con *con, CellId cell)
{
	for (uint32_t i = 0; i < con->ncells; i++) {
		CellId other = con->cells[i];
		if (other != NONE && s->cells.at[other].name &&
		    cell_root(s, other) == cell_root(s, cell))
			return s->cells.at[other].name;
	}
	return NULL;
}

static bool position_in(Solver *s, const RowTerm *row, CellId cell, uint32_t *at)
{
	FlatRow f;
	row_flatten(s, row, &f);
	for (int exact = 1; exact >= 0; exact--) {
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId c = flat_at(&f, i);
			if (exact ? c == cell : cell_root(s, c) == cell_root(s, cell)) {
				*at = i + 1;
				return true;
			}
		}
	}
	return false;
}

/* The letter that the constraint's own specification has for the axis, whose class may have got
 * another's; NULL: it is no specification, or has none. */
static Sym letter_written(Solver *s, const Con *con, CellId cell)
{
	FlatRow tensor, spec;
	if (con->kind != CON_ROW_EQ || con->node == NODE_NONE ||
	    !s->graph->nodes.at[con->node].spec)
		return NULL;
	row_flatten(s, &con->a, &tensor);
	row_flatten(s, &con->b, &spec);
	for (uint32_t i = 0; i < spec.nlead + spec.ntrail && i < tensor.nlead + tensor.ntrail; i++)
		if (flat_at(&tensor, i) == cell || flat_at(&spec, i) == cell)
			return s->cells.at[flat_at(&spec, i)].name;
	return NULL;
}

const char *axis_text(Solver *s, ConId id, CellId cell)
{
	bool ascribed = id != NONE && s->cons.at[id].written;
	Sym written = id == NONE ? NULL : letter_written(s, &s->cons.at[id], cell);
	Sym name = written ? written : s->cells.at[cell].name;
	if (name && !ascribed)
		return arena_printf(s->arena, "'%s'", name);
	if (id == NONE)
		return "this size";
	const Con *con = &s->cons.at[id];
	uint32_t at;
	if (con->kind > CON_ROW_LE) {
		Sym letter = letter_in(s, con, cell);
		if (letter)
			return arena_printf(s->arena, "'%s'", letter);
		return con->node == NODE_NONE ? "this size" : "this axis";
	}
	RowKind kind = con->row;
	if (ascribed && (position_in(s, &con->b, cell, &at) || position_in(s, &con->a, cell, &at)))
		return arena_printf(s->arena, "%s axis %u of '%s'", row_names[kind], at,
				    con->written->name);
	if (position_in(s, &con->b, cell, &at)) {
		if (con->arg == 1 && kind == ROW_INPUT &&
		    s->graph->nodes.at[con->node].kind == NODE_COMPOSE)
			kind = ROW_OUTPUT;
		return arena_printf(s->arena, "%s axis %u of %s", row_names[kind], at,
				    tensor_text(s, con->node, con->arg));
	}
	if (position_in(s, &con->a, cell, &at))
		return arena_printf(s->arena, "%s axis %u", row_names[con->row], at);
	return "this axis";
}

const char *flat_text(Solver *s, const FlatRow *f)
{
	Text text = text_new();
	FILE *out = text.out;
	uint32_t n = f->nlead + f->ntrail;
	fputc('[', out);
	for (uint32_t i = 0; i <= n; i++) {
		if (f->var != NONE && i == f->nlead) {
			Sym name = s->vars.at[f->var].name;
			fprintf(out, name ? "%s..%s.." : "%s...", i > 0 ? ", " : "", name);
		}
		if (i < n) {
			const Cell *c = cell_at(s, flat_at(f, i));
			fprintf(out, "%s", i > 0 || (f->var != NONE && f->nlead == 0) ? ", " : "");
			if (c->label)
				fprintf(out, "%s:", c->label);
			fputs(cell_size_text(s, flat_at(f, i)), out);
		}
	}
	fputc(']', out);
	return text_take(text, s->arena, NULL);
}

const char *row_name(Solver *s, Sym name)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		if (strcmp(name, row_kind_text((RowKind)k)) == 0)
			return "...";
	}
	return arena_printf(s->arena, "..%s..", name);
}
