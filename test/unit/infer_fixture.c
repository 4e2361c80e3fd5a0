#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/cons.h"
#include "infer/trail.h"
#include "test/unit/infer_fixture.h"

Set *set_new(void)
{
	Set *t = calloc(1, sizeof *t);
	t->arena = arena_new();
	t->symbols = symbols_new();
	sources_init(&t->sources, t->arena);
	diags_init(&t->diags, t->arena, &t->sources);
	t->graph.arena = t->arena;
	t->graph.symbols = t->symbols;
	t->graph.sizes = sizes_new(t->arena);
	for (int i = 0; i < TENSORS; i++)
		PUSH(t->arena, t->graph.nodes,
		     ((Node){.kind = NODE_NUMBER,
			     .like = NODE_NONE,
			     .target = NODE_NONE,
			     .packs = NODE_NONE}));
	t->s = solver_new(&t->graph, t->arena);
	for (int i = 0; i < TENSORS; i++) {
		for (int k = 0; k < ROW_KINDS; k++)
			t->s->rows[i][k] = row_closed();
	}
	memset(t->letters, 0xff, sizeof t->letters);
	memset(t->vars, 0xff, sizeof t->vars);
	return t;
}

void set_free(Set *t)
{
	symbols_free(t->symbols);
	arena_free(t->arena);
	free(t);
}

/* A number, or a letter: one size per letter. */
CellId set_cell(Set *t, const char *word)
{
	if (isdigit((unsigned char)*word))
		return cell_written(t->s, size_const(t->s->sizes, atoll(word)), false, SPAN_NONE);
	CellId *c = &t->letters[(int)*word];
	if (*c == NONE)
		*c = cell_new(t->s, sym_intern(t->symbols, word, 1), SPAN_NONE);
	return *c;
}

RowTerm set_row(Set *t, const char *text)
{
	CellId cells[ROW_LIMIT];
	uint32_t n = 0, marker = 0;
	RowTerm term = {.var = NONE};
	char *copy = strdup(text), *save = NULL;
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (*word != '|' && *word != '<') {
			cells[n++] = set_cell(t, word);
			continue;
		}
		marker = n;
		term.pinned = true;
		if (*word == '<') {
			RowVarId *v = &t->vars[(int)word[1]];
			if (*v == NONE)
				*v = rowvar_new(t->s, sym_intern(t->symbols, word + 1, 1),
						SPAN_NONE);
			term.var = *v;
		}
	}
	free(copy);
	RowTerm all = row_cells(t->s, cells, n);
	term.lead = all.trail;
	term.nlead = marker;
	term.trail = all.trail + marker;
	term.ntrail = n - marker;
	return term;
}

void set_tensor(Set *t, const char *text, int kind)
{
	RowTerm r = set_row(t, text);
	t->s->rows[t->ntensors++][ROW_OUTPUT] = r;
	if (kind == RESULT)
		return;
	for (uint32_t i = 0; i < r.nlead + r.ntrail; i++) {
		Cell *c = cell_at(t->s, i < r.nlead ? r.lead[i] : r.trail[i - r.nlead]);
		c->terminal = true;
		c->param |= kind == PARAMETER;
	}
	if (r.var != NONE) {
		t->s->vars.at[r.var].terminal = true;
		t->s->vars.at[r.var].param = kind == PARAMETER;
	}
}

void set_equal(Set *t, const char *a, const char *b)
{
	con_new(t->s, (Con){.kind = CON_ROW_EQ,
			    .node = 0,
			    .arg = -1,
			    .row = ROW_OUTPUT,
			    .a = set_row(t, a),
			    .b = set_row(t, b)});
}

void set_refines(Set *t, const char *res, const char *opnd)
{
	con_new(t->s, (Con){.kind = CON_ROW_LE,
			    .node = 0,
			    .arg = -1,
			    .row = ROW_OUTPUT,
			    .a = set_row(t, res),
			    .b = set_row(t, opnd)});
}

/* A relation of a kind between sizes: "w a b". */
void set_relation(Set *t, ConKind kind, const char *words, const SpecAxis *axis)
{
	RowTerm r = set_row(t, words);
	CellId *cells = ARENA_ARRAY(t->arena, CellId, r.ntrail + 1);
	memcpy(cells, r.trail, r.ntrail * sizeof *cells);
	cells[r.ntrail] = NONE;
	con_new(t->s, (Con){.kind = kind,
			    .node = 0,
			    .arg = -1,
			    .cells = cells,
			    .axis = axis,
			    .ncells = r.ntrail + (kind == CON_AFFINE && r.ntrail == 2)});
}

void set_solve(Set *t)
{
	solver_run(t->s, STAGES, 0);
}

void expect_error(Set *t, DiagCode code)
{
	set_solve(t);
	assert_true(solver_failed(t->s));
	assert_string_equal(diag_code_name(conflict_code(t->s->conflicts.at[0].kind)),
			    diag_code_name(code));
}

void expect_row(Set *t, const char *text, const char *want)
{
	RowTerm r = set_row(t, text);
	FlatRow f;
	row_flatten(t->s, &r, &f);
	assert_string_equal(flat_text(t->s, &f), want);
}

void expect_size(Set *t, const char *letter, const char *want)
{
	assert_string_equal(cell_size_text(t->s, set_cell(t, letter)), want);
}
