/* Repairs of `a * b` whose axes do not meet: what would fit if one thing were written otherwise.
 *
 * A repair is offered only where the rows that would meet are closed and every size in them is
 * known, so that the axes meet afterwards. In the order in which they are offered: `->` in a
 * declaration that has none, `.T` at an operand, the operands the other way round; and `.*`.
 */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"

#include <string.h>

typedef struct Compose {
	const Con *con;
	const Node *node;
	FlatRow rows[2][ROW_KINDS];
} Compose;

static bool axes_meet(Solver *s, CellId a, CellId b)
{
	Size x = cell_value(s, a), y = cell_value(s, b);
	return !size_is_bad(x) && !size_is_bad(y) &&
	       (size_same(x, y) || cell_stretches(s, a) || cell_stretches(s, b));
}

/* Do both broadcast to one row? */
static bool rows_meet(Solver *s, const FlatRow *a, const FlatRow *b)
{
	uint32_t na = flat_naxes(a), nb = flat_naxes(b);
	bool meet = a->var == NONE && b->var == NONE;
	for (uint32_t i = 1; meet && i <= na && i <= nb; i++)
		meet = axes_meet(s, flat_at(a, na - i), flat_at(b, nb - i));
	return meet;
}

/* Are the axes of `a` from axis `at` on those of `b`, which has some? */
static bool part_equals(Solver *s, const FlatRow *a, uint32_t at, const FlatRow *b)
{
	bool same = a->var == NONE && b->var == NONE && flat_naxes(b) > 0 &&
		    at + flat_naxes(b) <= flat_naxes(a);
	for (uint32_t i = 0; same && i < flat_naxes(b); i++) {
		Size want = cell_value(s, flat_at(b, i));
		same = !size_is_bad(want) && size_same(want, cell_value(s, flat_at(a, at + i)));
	}
	return same;
}

static bool sizes_equal(Solver *s, const FlatRow *a, const FlatRow *b)
{
	return flat_naxes(a) == flat_naxes(b) && part_equals(s, a, 0, b);
}

static const char *text_of(Blame *b, Span span)
{
	Solver *s = b->s;
	return source_text(b->diags->sources, s->arena, span);
}

/* The operand's name where nothing but the name is written there, else NULL. */
static const char *plain_name(Blame *b, const Compose *c, int arg)
{
	Solver *s = b->s;
	Span span = c->node->arg_spans[arg];
	Sym name = s->graph->nodes.at[c->node->args[arg]].name;
	const char *written = span_is_none(span) || !name ? NULL : text_of(b, span);
	return written && strcmp(written, name) == 0 ? written : NULL;
}

/* "[784, 10]" or "[10, 784]" for "[784 -> 10]": the axes that b has go before a '->'. */
static bool suggest_arrow(Blame *b, const Compose *c)
{
	Solver *s = b->s;
	const Node *a = &s->graph->nodes.at[c->node->args[0]];
	const FlatRow *out = &c->rows[0][ROW_OUTPUT], *met = &c->rows[1][ROW_OUTPUT];
	const DeclRow *row = a->shape ? &a->shape->rows[ROW_OUTPUT] : NULL;
	uint32_t m = flat_naxes(met), n = flat_naxes(out);
	if ((a->kind != NODE_PARAM && a->kind != NODE_INPUT) || !row || row->var_at >= 0 ||
	    m >= n || row->naxes != n || strstr(text_of(b, a->shape->span), "->"))
		return false;
	const DeclAxis *axes = row->axes;
	Span all = {axes[0].span.file, axes[0].span.start, axes[n - 1].span.end};
	uint32_t cut = part_equals(s, out, 0, met) ? m : n - m;
	if (cut != m && !part_equals(s, out, cut, met))
		return false;
	const char *head = text_of(b, (Span){all.file, all.start, axes[cut - 1].span.end});
	const char *tail = text_of(b, (Span){all.file, axes[cut].span.start, all.end});
	bool leads = part_equals(s, out, 0, met);
	diag_fix(b->diags, all,
		 arena_printf(s->arena, "%s -> %s", leads ? head : tail, leads ? tail : head),
		 "the axes would meet with '->' behind those that '%s' takes in", a->name);
	return true;
}

static bool suggest_pointwise(Blame *b, const Compose *c)
{
	Solver *s = b->s;
	for (int k = 0; k < ROW_KINDS; k++) {
		if (!rows_meet(s, &c->rows[0][k], &c->rows[1][k]))
			return false;
	}
	diag_fix(b->diags, c->node->op_span, ".*",
		 "'*' composes; write '.*' to multiply pointwise");
	return true;
}

/* `.T` at operand `arg`, whose other row has what the other operand wants. */
static bool suggest_turn(Blame *b, const Compose *c, int arg)
{
	Solver *s = b->s;
	const FlatRow *turned = &c->rows[arg][arg ? ROW_INPUT : ROW_OUTPUT];
	const FlatRow *wanted = &c->rows[!arg][arg ? ROW_INPUT : ROW_OUTPUT];
	const char *name = plain_name(b, c, arg);
	if (!name || !sizes_equal(s, turned, wanted))
		return false;
	diag_fix(b->diags, c->node->arg_spans[arg], arena_printf(s->arena, "%s.T", name),
		 "the axes would meet with the rows of '%s' changing places", name);
	return true;
}

static bool suggest_other_order(Blame *b, const Compose *c)
{
	Solver *s = b->s;
	const char *first = plain_name(b, c, 0), *last = plain_name(b, c, 1);
	Span x = c->node->arg_spans[0], y = c->node->arg_spans[1];
	if (!first || !last || x.file != y.file || x.end > y.start ||
	    !sizes_equal(s, &c->rows[1][ROW_INPUT], &c->rows[0][ROW_OUTPUT]))
		return false;
	diag_fix(b->diags, span_join(x, y), arena_printf(s->arena, "%s * %s", last, first),
		 "the axes would meet with the operands the other way round");
	return true;
}

/* Is it a name, or in one pair of parentheses? */
static bool is_one_operand(const char *text, size_t n)
{
	static const char name[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	uint32_t depth = 0;
	if (n > 0 && text[0] != '(')
		return strspn(text, name) >= n;
	for (size_t i = 0; i < n; i++) {
		depth += text[i] == '(';
		depth -= text[i] == ')';
		if (depth == 0)
			return i + 1 == n;
	}
	return false;
}

/* What is written between the places, in parentheses where it is more than that. */
static const char *operand_between(Blame *b, uint32_t file, uint32_t start, uint32_t end)
{
	const char *text = text_of(b, (Span){file, start, end});
	while (*text == ' ')
		text++;
	size_t n = strlen(text);
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return arena_printf(b->s->arena, is_one_operand(text, n) ? "%.*s" : "(%.*s)", (int)n, text);
}

bool suggest_turned(Blame *b, const Node *node)
{
	Solver *s = b->s;
	FlatRow out, in;
	row_flatten(s, &s->rows[node->args[0]][ROW_OUTPUT], &out);
	row_flatten(s, &s->rows[node->args[1]][ROW_INPUT], &in);
	Span at = node->span, op = node->op_span;
	if (!sizes_equal(s, &in, &out) || op.start < at.start || op.end > at.end)
		return false;
	diag_fix(b->diags, at,
		 arena_printf(s->arena, "%s * %s", operand_between(b, at.file, op.end, at.end),
			      operand_between(b, at.file, at.start, op.start)),
		 "the axes would meet with the operands the other way round");
	return true;
}

/* A layer goes over the last axes: those before them are as good as batch axes. Of a tensor that is declared
 * nothing is mended by that, as another '|' there may be what is meant. */
static bool note_to_batch(Blame *b, const Compose *c)
{
	const FlatRow *met = &c->rows[1][ROW_OUTPUT], *in = &c->rows[0][ROW_INPUT];
	uint32_t n = flat_naxes(met), m = flat_naxes(in);
	Span span = c->node->arg_spans[1];
	if (n <= m || n > m + BATCH_MEANT || m == 0 || !part_equals(b->s, met, n - m, in) ||
	    span_is_none(span))
		return false;
	NodeKind kind = b->s->graph->nodes.at[c->node->args[1]].kind;
	const char *moved = to_batch_text(b, span, n - m);
	if (kind == NODE_INPUT || kind == NODE_PARAM)
		diag_note(
			b->diags, span,
			"axes that pass through are batch axes: declared before the '|', or by %s",
			moved);
	else
		diag_fix(b->diags, span, moved, "axes that pass through are batch axes");
	return true;
}

void suggest_compose(Blame *b, ConId id)
{
	Solver *s = b->s;
	Compose c = {.con = id == NONE ? NULL : &s->cons.at[id]};
	if (!c.con || c.con->kind != CON_ROW_LE || c.con->row != ROW_INPUT || c.con->arg != 1 ||
	    s->graph->nodes.at[c.con->node].kind != NODE_COMPOSE)
		return;
	c.node = &s->graph->nodes.at[c.con->node];
	for (int arg = 0; arg < 2; arg++) {
		for (int k = 0; k < ROW_KINDS; k++)
			row_flatten(s, &s->rows[c.node->args[arg]][k], &c.rows[arg][k]);
	}
	bool found = suggest_arrow(b, &c) || suggest_turn(b, &c, 0) || suggest_turn(b, &c, 1) ||
		     suggest_other_order(b, &c);
	if (!found && note_to_batch(b, &c))
		return;
	if (suggest_pointwise(b, &c) || found)
		mend(b, c.con, -1);
}
