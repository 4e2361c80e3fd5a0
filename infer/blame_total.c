/* Messages of totals: as many elements as axes can never have together. */
#include "base/size_root.h"
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/rows.h"
#include "infer/text.h"

#include <inttypes.h>
#include <string.h>

/* ": 'h' is 7, 'b' is 32": the known axes that have a name, each once. */
static const char *letters_text(Solver *s, const Con *con)
{
	const char *text = "";
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = flat_at(&f, i);
			Sym name = letter_of(s, cell);
			if (!name || !cell_known(s, cell) || !strcmp(name, cell_size_text(s, cell)))
				continue;
			const char *one = arena_printf(s->arena, " '%s' is %s", name,
						       cell_size_text(s, cell));
			if (!strstr(text, one))
				text = arena_printf(s->arena, "%s%s%s", text, *text ? "," : ":",
						    one);
		}
	}
	return text;
}

/* Sizes of one axis next to its own that would divide, where it has a letter. */
static bool note_divisors(Blame *b, ConId id, CellId cell, Size total, Size known)
{
	Solver *s = b->s;
	int64_t rest, size;
	Sym name = letter_of(s, cell);
	if (!name || !cell_known(s, cell) || size_is(s->sizes, cell_value(s, cell), 0))
		return false;
	Size others = size_div(s->sizes, known, cell_value(s, cell));
	if (!size_is_const(s->sizes, cell_value(s, cell), &size) || size_is(s->sizes, others, 0) ||
	    !size_is_const(s->sizes, size_div(s->sizes, total, others), &rest) || rest <= 0 ||
	    rest > 1 << 20 || size > rest)
		return false;
	int64_t less = size, more = size;
	while (rest % less != 0) /* falls: less, and 1 divides */
		less--;
	while (rest % more != 0) /* falls: rest - more, and rest divides */
		more++;
	diag_note(b->diags, s->cons.at[id].span,
		  "'%s' = %" PRId64 " or '%s' = %" PRId64 " would divide", name, less, name, more);
	return true;
}

static void note_would_divide(Blame *b, ConId id, Size total, Size known)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[id];
	FlatRow f;
	for (uint32_t r = con->nrows; r-- > 0;) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = f.nlead + f.ntrail; i-- > 0;) {
			if (note_divisors(b, id, flat_at(&f, i), total, known))
				return;
		}
	}
}

/* Has the tensor its axes from its use alone? */
static bool is_shapeless(const Graph *graph, NodeId id)
{
	const Node *node = &graph->nodes.at[id];
	while ((node->kind == NODE_POINTWISE || node->kind == NODE_CAST) && node->nargs > 0) {
		NodeId next = node->args[0]; /* falls: node ids */
		for (uint32_t i = 1; i < node->nargs; i++)
			if (graph->nodes.at[next].kind == NODE_NUMBER)
				next = node->args[i];
			else if (graph->nodes.at[node->args[i]].kind != NODE_NUMBER)
				return false;
		node = &graph->nodes.at[next];
	}
	return node->kind == NODE_OFFSETS || node->kind == NODE_RANDOM;
}

static void note_shapeless(Blame *b, NodeId id)
{
	Solver *s = b->s;
	const Node *node = id == NODE_NONE ? NULL : &s->graph->nodes.at[id];
	if (node && node->kind == NODE_RESHAPE && is_shapeless(s->graph, node->args[0]))
		diag_note(b->diags, node->arg_spans[0],
			  "this has its axes from its use, and 'reshape' asks for none: it is one "
			  "element");
}

/* "12 elements do", "1 element does", "12 does" of a product as written */
static const char *total_text(Solver *s, const Con *con, Size total, const char *they,
			      const char *it)
{
	bool one = con_is_written_product(con) || size_is(s->sizes, total, 1);
	const char *what = con_is_written_product(con) ? "" : one ? " element" : " elements";
	return arena_printf(s->arena, "%s%s%s", size_text(s->arena, s->sizes, total), what,
			    one ? it : they);
}

/* The operand whose elements they are, where the program writes it as one. */
static Span counted_span(const Solver *s, const Con *con)
{
	const Node *node = con->node == NODE_NONE ? NULL : &s->graph->nodes.at[con->node];
	return node && node->kind == NODE_RESHAPE && !con_is_written_product(con)
		       ? node->arg_spans[0]
		       : con->span;
}

static void say_total(Blame *b, const Conflict *c, bool never, bool fits)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[c->con];
	const char *total = size_text(s->arena, s->sizes, c->sizes[0]);
	const char *known = size_text(s->arena, s->sizes, c->sizes[1]);
	const char *letters = letters_text(s, con);
	Span at = counted_span(s, con);
	int64_t by;
	if (c->kind == CONFLICT_WORDS)
		blame_operand_at(b, c->con, at,
				 "%s elements are not %" PRId64 " for each of %s cells", total,
				 c->number,
				 size_text(s->arena, s->sizes,
					   size_div(s->sizes, c->sizes[1],
						    size_const(s->sizes, c->number))));
	else if (never || (!fits && size_is_const(s->sizes, c->sizes[1], &by) && by != 0))
		blame_operand_at(b, c->con, at, "%s not divide by %s%s",
				 total_text(s, con, c->sizes[0], " do", " does"), known, letters);
	else if (con_is_written_product(con))
		blame_operand_at(b, c->con, at, "the product is %s, and not %s%s", known, total,
				 letters);
	else
		blame_operand_at(b, c->con, at, "%s elements do not fit axes of %s together%s",
				 total, known, letters);
}

void tell_total(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[c->con];
	Size total = c->sizes[0], known = c->sizes[1];
	int64_t by, n;
	bool fits = size_is_const(s->sizes, known, &by) && by != 0 &&
		    size_is_const(s->sizes, total, &n) && n % by == 0;
	bool never = size_is_fraction(s->sizes, size_div(s->sizes, total, known));
	say_total(b, c, never, fits);
	if (never || !fits)
		note_would_divide(b, c->con, total, known);
	note_shapeless(b, con->node);
	blame_born(b, con->cells[0]);
	blame_axes_born(b, con);
}

static const char *power_text(Solver *s, const char *name, uint32_t power)
{
	const char *text = name;
	for (uint32_t i = 1; i < power; i++)
		text = arena_printf(s->arena, "%s*%s", text, name);
	return text;
}

/* The numbers of elements next to the total that are known * size^power. */
static void note_powers(Blame *b, const Conflict *c, int64_t total, const char *name)
{
	Solver *s = b->s;
	int64_t known = 1, low, less, more;
	if (!size_is_const(s->sizes, c->sizes[1], &known))
		return;
	low = integer_root(total / known, (uint32_t)c->number);
	less = more = known;
	for (uint32_t i = 0; i < c->number; i++) {
		less *= low;
		if (__builtin_mul_overflow(more, low + 1, &more))
			return;
	}
	const Con *con = &s->cons.at[c->con];
	diag_note(b->diags, con->span,
		  "%s would be, with %s = %" PRId64 ", or %" PRId64 ", with %s = %" PRId64,
		  total_text(s, con, size_const(s->sizes, less), "", ""), name, low, more, name,
		  low + 1);
}

static bool is_dim_name(Solver *s, Sym name)
{
	for (uint32_t i = 0; i < sizes_ndims(s->sizes); i++) {
		if (sizes_dim(s->sizes, i)->name == name)
			return true;
	}
	return false;
}

static void note_own_dim(Blame *b, const Conflict *c, Size rest)
{
	Solver *s = b->s;
	Sym letter = s->cells.at[c->cells[0]].name;
	const char *dim = letter && !is_dim_name(s, letter) ? letter : "side";
	diag_note(b->diags, s->cons.at[c->con].span,
		  "declare 'dim %s' and say 'with (%s = %s)': it is then asked for that %s = %s",
		  dim, letter ? letter : "n", dim, size_text(s->arena, s->sizes, rest),
		  power_text(s, dim, (uint32_t)c->number));
}

/* One axis stands there several times, and what is left of the total is no power of it. */
void tell_root(Blame *b, const Conflict *c)
{
	Solver *s = b->s;
	const Con *con = &s->cons.at[c->con];
	Size total = c->sizes[0], known = c->sizes[1];
	Sym letter = s->cells.at[c->cells[0]].name;
	const char *name = letter ? letter : "size";
	const char *power = power_text(s, name, (uint32_t)c->number);
	int64_t elements;
	if (!size_is(s->sizes, known, 1))
		power = arena_printf(s->arena, "%s*%s", size_text(s->arena, s->sizes, known),
				     power);
	bool constant = size_is_const(s->sizes, total, &elements);
	blame_operand_at(b, c->con, counted_span(s, con),
			 constant ? "%s no %s with a whole %s"
				  : "%s %s only for some sizes, and nothing else says %s",
			 total_text(s, con, total, " are", " is"), power, name);
	if (constant)
		note_powers(b, c, elements, name);
	else
		note_own_dim(b, c, size_div(s->sizes, total, known));
	blame_born(b, con->cells[0]);
}
