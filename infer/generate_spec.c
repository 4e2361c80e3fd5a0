/* The constraints of a specification: each operand's rows equal the rows as written; the rows of
 * the result are the written ones themselves. Letters are cells, row variables are row variables,
 * shared by all tensors of the specification; `with` binds or captures them.
 */
#include "infer/cells.h"
#include "infer/cons.h"
#include "infer/generate.h"
#include "infer/rows.h"

#include <stb/stb_ds.h>
#include <string.h>

typedef struct SpecNames {
	struct {
		Sym key;
		uint32_t value;
	} * letters; /* index into solver.letters */
	struct {
		Sym key;
		RowVarId value;
	} * vars;
} SpecNames;

typedef struct Generator {
	Solver *s;
	NodeId id;
	const Spec *spec;
	SpecNames names;
	bool in_result;
	int32_t arg;
	RowKind row;
} Generator;

static CellId letter_cell(Generator *g, Sym letter, Span span)
{
	Solver *s = g->s;
	ptrdiff_t at = hmgeti(g->names.letters, letter);
	if (at >= 0)
		return s->letters.at[g->names.letters[at].value].cell;
	LetterCell entry = {g->id, letter, cell_new(s, letter, span), g->in_result, false, span};
	PUSH(s->arena, s->letters, entry);
	uint32_t index = (uint32_t)(s->letters.n - 1);
	hmput(g->names.letters, letter, index);
	return entry.cell;
}

static RowVarId spec_var(Generator *g, Sym name, Span span)
{
	ptrdiff_t at = hmgeti(g->names.vars, name);
	if (at >= 0)
		return g->names.vars[at].value;
	RowVarId var = rowvar_new(g->s, name, span);
	hmput(g->names.vars, name, var);
	if (g->in_result)
		PUSH(g->s->arena, g->s->result_rows, ((ResultRow){var, name, span, g->id}));
	return var;
}

static void axis_relation(Generator *g, ConKind kind, CellId *cells, uint32_t ncells,
			  const SpecAxis *axis, int64_t number)
{
	con_new(g->s, (Con){.kind = kind,
			    .node = g->id,
			    .arg = g->arg,
			    .row = g->row,
			    .span = axis->span,
			    .cells = cells,
			    .ncells = ncells,
			    .axis = axis,
			    .number = number});
}

static void axis_sum(Generator *g, ConKind kind, CellId whole, const CellId *parts, uint32_t n,
		     const SpecAxis *axis, int64_t number)
{
	CellId *cells = ARENA_ARRAY(g->s->arena, CellId, n + 1);
	cells[0] = whole;
	memcpy(cells + 1, parts, n * sizeof *parts);
	axis_relation(g, kind, cells, n + 1, axis, number);
}

/* What is left of an axis: nothing, where nothing says otherwise. */
static CellId rest_cell(Generator *g, Span span)
{
	CellId rest = cell_new(g->s, NULL, span);
	cell_at(g->s, rest)->may_be_empty = true;
	return rest;
}

/* The axis that has those `reached` elements from its place on, and perhaps more. */
static CellId placed_axis(Generator *g, const SpecAxis *axis, CellId reached)
{
	CellId parts[] = {size_cell(g->s, axis->shift), reached, rest_cell(g, axis->span)};
	CellId whole = cell_new(g->s, NULL, axis->span);
	axis_sum(g, CON_ADD, whole, parts, 3, axis, axis->offset);
	PUSH(g->s->arena, g->s->rests, (ConId)g->s->cons.n - 1);
	return whole;
}

/* A form whose place is given by name, as if it began at 0; without a kernel it ends where its last
 * step does: 2*o <+? 1. */
static const SpecAxis *unplaced(Generator *g, const SpecAxis *axis)
{
	SpecAxis *from = ARENA_NEW(g->s->arena, SpecAxis);
	*from = *axis;
	from->offset = 0;
	from->shift = NULL;
	if (axis->kernel)
		return from;
	from->kernel = sym_cstr(g->s->graph->symbols, "1");
	from->mark = MARK_VALID_FLOOR;
	return from;
}

static CellId window_cell(Generator *g, const SpecAxis *axis)
{
	if (!axis->kernel)
		return NONE;
	CellId cell = letter_cell(g, axis->kernel, axis->span);
	g->s->letters.at[hmget(g->names.letters, axis->kernel)].kernel = true;
	return cell;
}

static CellId affine_axis(Generator *g, const SpecAxis *axis)
{
	bool placed = spec_axis_is_placed(axis);
	if (placed && !axis->kernel && axis->stride == 1)
		return placed_axis(g, axis, letter_cell(g, axis->letter, axis->span));
	CellId *cells = ARENA_ARRAY(g->s->arena, CellId, 3);
	cells[0] = cell_new(g->s, NULL, axis->span);
	cells[1] = letter_cell(g, axis->letter, axis->span);
	cells[2] = window_cell(g, axis);
	if (placed && !axis->kernel)
		cells[2] = cell_written(g->s, size_const(g->s->sizes, 1), true, axis->span);
	axis_relation(g, CON_AFFINE, cells, 3, placed ? unplaced(g, axis) : axis, 0);
	return placed ? placed_axis(g, axis, cells[0]) : cells[0];
}

static CellId part_cell(Generator *g, const SpecPart *part)
{
	if (part->letter)
		return letter_cell(g, part->letter, part->span);
	return part->extent ? size_cell(g->s, part->extent) : rest_cell(g, part->span);
}

static CellId concat_axis(Generator *g, const SpecAxis *axis)
{
	CellId *parts = ARENA_ARRAY(g->s->arena, CellId, axis->nparts);
	bool rest = false;
	CellId whole = cell_new(g->s, NULL, axis->span);
	uint32_t n = 0;
	int64_t skipped = 0;
	for (uint32_t i = 0; i < axis->nparts; i++) {
		const SpecPart *part = &axis->parts[i];
		if (spec_part_is_solved(part))
			parts[n++] = part_cell(g, part);
		else if (__builtin_add_overflow(skipped, part->size, &skipped))
			skipped = INT64_MAX;
		rest |= part->rest;
	}
	axis_sum(g, CON_CONCAT, whole, parts, n, axis, skipped);
	if (rest)
		PUSH(g->s->arena, g->s->rests, (ConId)g->s->cons.n - 1);
	return whole;
}

/* The product of its letters, two at a time. */
static CellId join_axis(Generator *g, const SpecAxis *axis)
{
	CellId whole = letter_cell(g, axis->parts[0].letter, axis->parts[0].span);
	for (uint32_t i = 0; i < axis->nparts; i++) {
		const SpecPart *part = &axis->parts[i];
		CellId cell = letter_cell(g, part->letter, part->span);
		g->s->letters.at[hmget(g->names.letters, part->letter)].kernel = !g->in_result;
		cell_at(g->s, cell)->factor |= !g->in_result;
		if (i == 0)
			continue;
		CellId *cells = ARENA_ARRAY(g->s->arena, CellId, 3);
		cells[0] = cell_new(g->s, NULL, axis->span);
		cells[1] = whole;
		cells[2] = cell;
		axis_relation(g, CON_MUL, cells, 3, axis, 0);
		whole = cells[0];
	}
	return whole;
}

/* `=> 0`: one element, the broadcasting 1. An assignment writes into the axis of its target. */
static bool is_kept_place(const Generator *g, const SpecAxis *axis)
{
	return axis->kind == SPEC_INDEX && axis->index == 0 && !axis->among && g->in_result &&
	       g->s->graph->nodes.at[g->id].target == NODE_NONE;
}

static CellId spec_axis(Generator *g, const SpecAxis *axis)
{
	switch (axis->kind) {
	case SPEC_LETTER: return letter_cell(g, axis->letter, axis->span);
	case SPEC_AFFINE: return affine_axis(g, axis);
	case SPEC_CONCAT: return concat_axis(g, axis);
	case SPEC_JOIN: return join_axis(g, axis);
	default: break;
	}
	if (is_kept_place(g, axis))
		return cell_written(g->s, size_const(g->s->sizes, 1), false, axis->span);
	CellId cell = cell_new(g->s, NULL, axis->span);
	if (axis->kind == SPEC_INDEX) {
		CellId *cells = ARENA_ARRAY(g->s->arena, CellId, 1);
		cells[0] = cell;
		cell_at(g->s, cell)->is_index = true;
		axis_relation(g, CON_AT_LEAST, cells, 1, axis,
			      axis->index < INT64_MAX ? axis->index + 1 : INT64_MAX);
	}
	return cell;
}

static RowTerm spec_row(Generator *g, const SpecRow *row)
{
	uint32_t lead = row->var_at < 0 ? 0 : (uint32_t)row->var_at;
	RowTerm term = {.var = NONE,
			.nlead = lead,
			.ntrail = row->naxes - lead,
			.pinned = row->var_at >= 0};
	term.lead = ARENA_ARRAY(g->s->arena, CellId, row->naxes + 1);
	term.trail = term.lead + lead;
	for (uint32_t i = 0; i < row->naxes; i++)
		term.lead[i] = spec_axis(g, &row->axes[i]);
	if (row->var_at >= 0)
		term.var = spec_var(g, row->var, row->span);
	return term;
}

static void spec_tensor(Generator *g, const SpecTensor *tensor, RowTerm *rows)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		g->row = (RowKind)k;
		rows[k] = spec_row(g, &tensor->rows[k]);
	}
}

/* ---- which parts may be empty ----
 *
 * A part v of a concatenated axis may be empty when on the other side of the arrow every tensor has
 * an axis all of whose letters are among v's neighbours: a^b => a leaves b nothing to say.
 */

static bool beside(const SpecAxis *concat, uint32_t part, Sym letter)
{
	for (uint32_t i = 0; letter && i < concat->nparts; i++) {
		if (i != part && concat->parts[i].letter == letter)
			return true;
	}
	return false;
}

static bool axis_covered(const SpecAxis *axis, const SpecAxis *concat, uint32_t part)
{
	switch (axis->kind) {
	case SPEC_LETTER: return beside(concat, part, axis->letter);
	case SPEC_AFFINE:
		return beside(concat, part, axis->letter) || beside(concat, part, axis->kernel);
	case SPEC_CONCAT:
		for (uint32_t i = 0; i < axis->nparts; i++) {
			if (!beside(concat, part, axis->parts[i].letter))
				return false;
		}
		return true;
	default: return false;
	}
}

static bool tensor_covered(const SpecTensor *tensor, const SpecAxis *concat, uint32_t part)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		for (uint32_t i = 0; i < tensor->rows[k].naxes; i++) {
			if (axis_covered(&tensor->rows[k].axes[i], concat, part))
				return true;
		}
	}
	return false;
}

static bool part_may_be_empty(const Spec *spec, const SpecAxis *concat, uint32_t part,
			      bool in_result)
{
	if (!in_result)
		return tensor_covered(&spec->result, concat, part);
	for (uint32_t i = 0; i < spec->noperands; i++) {
		if (!tensor_covered(&spec->operands[i], concat, part))
			return false;
	}
	return true;
}

static void mark_empty_parts(Generator *g, const SpecTensor *tensor, bool in_result)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		for (uint32_t i = 0; i < tensor->rows[k].naxes; i++) {
			const SpecAxis *axis = &tensor->rows[k].axes[i];
			for (uint32_t p = 0; axis->kind == SPEC_CONCAT && p < axis->nparts &&
					     axis->nparts <= ROW_LIMIT;
			     p++) {
				Sym letter = axis->parts[p].letter;
				if (letter && part_may_be_empty(g->spec, axis, p, in_result))
					cell_at(g->s, letter_cell(g, letter, axis->span))
						->may_be_empty = true;
			}
		}
	}
}

/* ---- with ---- */

static CellId bound_cell(Generator *g, const Bind *bind)
{
	Solver *s = g->s;
	if (hmgeti(g->names.letters, bind->letter) >= 0)
		return letter_cell(g, bind->letter, bind->span);
	ptrdiff_t at = hmgeti(g->names.vars, bind->letter);
	if (at < 0)
		BUG("'%s' is no letter of the specification", bind->letter);
	Con con = {.kind = CON_PRODUCT,
		   .node = g->id,
		   .arg = -1,
		   .span = bind->span,
		   .ncells = 1,
		   .number = 1,
		   .nrows = 1};
	con.cells = ARENA_ARRAY(s->arena, CellId, 1);
	con.rows = ARENA_ARRAY(s->arena, RowTerm, 1);
	con.cells[0] = cell_new(s, bind->letter, bind->span);
	con.rows[0] = (RowTerm){.var = g->names.vars[at].value};
	con_new(s, con);
	return con.cells[0];
}

static void generate_bind(Generator *g, const Bind *bind)
{
	Solver *s = g->s;
	CellId *cells = ARENA_ARRAY(s->arena, CellId, 2);
	cells[0] = bound_cell(g, bind);
	if (bind->size) {
		cells[1] = size_cell(s, bind->size);
	} else if (s->captures[bind->capture] == NONE) {
		s->captures[bind->capture] = cells[0];
		return;
	} else {
		cells[1] = s->captures[bind->capture];
	}
	con_new(s, (Con){.kind = CON_CELL_EQ,
			 .node = g->id,
			 .arg = -1,
			 .span = bind->span,
			 .cells = cells,
			 .ncells = 2});
}

void generate_spec(Solver *s, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	Generator g = {.s = s, .id = id, .spec = node->spec};
	for (uint32_t i = 0; i < node->nargs; i++) {
		RowTerm rows[ROW_KINDS];
		g.arg = (int32_t)i;
		spec_tensor(&g, &node->spec->operands[i], rows);
		for (int k = 0; k < ROW_KINDS; k++) {
			const SpecRow *row = &node->spec->operands[i].rows[k];
			con_new(s, (Con){.kind = CON_ROW_EQ,
					 .node = id,
					 .arg = (int32_t)i,
					 .row = (RowKind)k,
					 .span = row->written ? row->span
							      : node->spec->operands[i].span,
					 .a = s->rows[node->args[i]][k],
					 .b = rows[k]});
		}
	}
	g.arg = -1;
	g.in_result = true;
	spec_tensor(&g, &node->spec->result, s->rows[id]);
	for (uint32_t i = 0; i < node->nargs; i++)
		mark_empty_parts(&g, &node->spec->operands[i], false);
	mark_empty_parts(&g, &node->spec->result, true);
	for (uint32_t b = s->first_bind[id]; b != NONE; b = s->next_bind[b])
		generate_bind(&g, &s->graph->binds.at[b]);
	hmfree(g.names.letters);
	hmfree(g.names.vars);
}
