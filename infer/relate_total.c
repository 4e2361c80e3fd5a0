/* Total elements: one cell is the product of all axes of some rows.
 *
 * reshape gives two products with one cell, a captured row variable `with (v)` one product; of
 * random words and their numbers the words' product has a factor 4. A product is solved for its
 * cell when all axes are known, or for the one axis that is not.
 */
#include "infer/solver.h"

#include <inttypes.h>
#include <string.h>

typedef struct Total {
	Size known;	/* product of the known axes, and the factor */
	CellId open;	/* an unknown axis, or NONE */
	uint32_t nopen; /* how many, counted with repetition */
	bool several;	/* different ones */
	RowVarId var;	/* an open row, or NONE */
} Total;

static Total total_of(Solver *s, const Con *con, bool watch, ConId id)
{
	Total t = {size_const(s->sizes, con->number), NONE, 0, false, NONE};
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		if (f.var != NONE) {
			t.var = f.var;
			if (watch)
				rowvar_watch(s, f.var, id);
		}
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = cell_root(s, flat_at(&f, i));
			if (cell_known(s, cell)) {
				t.known = size_mul(s->sizes, t.known, cell_value(s, cell));
			} else {
				t.several |= t.open != NONE && t.open != cell;
				t.open = cell;
				t.nopen++;
			}
		}
	}
	return t;
}

Size product_value(Solver *s, const Con *con)
{
	Total t = total_of(s, con, false, NONE);
	return t.nopen > 0 || t.var != NONE ? SIZE_BAD : t.known;
}

static void watch_axes(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			occs_add(s, &cell_at(s, flat_at(&f, i))->occs, OCC_CON, id);
	}
	s->cons.at[id].ndone_lead = 1;
}

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
static bool note_divisors(Solver *s, ConId id, CellId cell, Size total, Size known)
{
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
	diag_note(s->diags, s->cons.at[id].span,
		  "'%s' = %" PRId64 " or '%s' = %" PRId64 " would divide", name, less, name, more);
	return true;
}

static void note_would_divide(Solver *s, ConId id, Size total, Size known)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	for (uint32_t r = con->nrows; s->diags && r-- > 0;) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = f.nlead + f.ntrail; i-- > 0;) {
			if (note_divisors(s, id, flat_at(&f, i), total, known))
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

static void note_shapeless(Solver *s, NodeId id)
{
	const Node *node = id == NODE_NONE ? NULL : &s->graph->nodes.at[id];
	if (s->diags && node && node->kind == NODE_RESHAPE && is_shapeless(s->graph, node->args[0]))
		diag_note(s->diags, node->arg_spans[0],
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

static void total_blame(Solver *s, ConId id, Size total, Size known)
{
	Con *con = &s->cons.at[id];
	if (cell_at(s, con->cells[0])->broken)
		return;
	con->done = true;
	cell_at(s, con->cells[0])->broken = true;
	int64_t by, n;
	bool fits = size_is_const(s->sizes, known, &by) && by != 0 &&
		    size_is_const(s->sizes, total, &n) && n % by == 0;
	bool never = size_is_fraction(s->sizes, size_div(s->sizes, total, known));
	const char *letters = letters_text(s, con);
	if (con->number > 1 && size_same(known, total_of(s, con, false, id).known) &&
	    total_of(s, con, false, id).nopen == 0)
		blame(s, E0345, id, "%s elements are not %" PRId64 " for each of %s cells",
		      size_text(s->arena, s->sizes, total), con->number,
		      size_text(s->arena, s->sizes,
				size_div(s->sizes, known, size_const(s->sizes, con->number))));
	else if (never || (!fits && size_is_const(s->sizes, known, &by) && by != 0))
		blame(s, E0345, id, "%s not divide by %s%s",
		      total_text(s, con, total, " do", " does"),
		      size_text(s->arena, s->sizes, known), letters);
	else if (con_is_written_product(con))
		blame(s, E0345, id, "the product is %s, and not %s%s",
		      size_text(s->arena, s->sizes, known), size_text(s->arena, s->sizes, total),
		      letters);
	else
		blame(s, E0345, id, "%s elements do not fit axes of %s together%s",
		      size_text(s->arena, s->sizes, total), size_text(s->arena, s->sizes, known),
		      letters);
	if (never || !fits)
		note_would_divide(s, id, total, known);
	note_shapeless(s, con->node);
	blame_born(s, con->cells[0]);
	FlatRow f;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++)
			blame_born(s, flat_at(&f, i));
	}
}

static Why why_total(const Solver *s, ConId id)
{
	return (Why){.kind = WHY_RELATION, .con = id, .from = NONE, .span = s->cons.at[id].span};
}

static const char *power_text(Solver *s, const char *name, uint32_t power)
{
	const char *text = name;
	for (uint32_t i = 1; i < power; i++)
		text = arena_printf(s->arena, "%s*%s", text, name);
	return text;
}

/* The numbers of elements next to the total that are known * size^power. */
static void note_powers(Solver *s, ConId id, const Total *t, int64_t total, const char *name)
{
	int64_t known = 1, low, less, more;
	if (!size_is_const(s->sizes, t->known, &known))
		return;
	low = integer_root(total / known, t->nopen);
	less = more = known;
	for (uint32_t i = 0; i < t->nopen; i++) {
		less *= low;
		if (__builtin_mul_overflow(more, low + 1, &more))
			return;
	}
	const Con *con = &s->cons.at[id];
	diag_note(s->diags, con->span,
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

static void note_own_dim(Solver *s, ConId id, const Total *t, Size rest)
{
	Sym letter = s->cells.at[t->open].name;
	const char *dim = letter && !is_dim_name(s, letter) ? letter : "side";
	diag_note(s->diags, s->cons.at[id].span,
		  "declare 'dim %s' and say 'with (%s = %s)': it is then asked for that %s = %s",
		  dim, letter ? letter : "n", dim, size_text(s->arena, s->sizes, rest),
		  power_text(s, dim, t->nopen));
}

/* One axis stands there several times, and what is left of the total is no power of it. */
static void blame_root(Solver *s, ConId id, const Total *t, Size total)
{
	Size rest = size_div(s->sizes, total, t->known);
	const char *name = s->cells.at[t->open].name ? s->cells.at[t->open].name : "size";
	const char *power = power_text(s, name, t->nopen);
	CellId of = s->cons.at[id].cells[0];
	int64_t elements;
	if (cell_at(s, of)->broken)
		return;
	s->cons.at[id].done = cell_at(s, of)->broken = cell_at(s, t->open)->broken = true;
	if (!size_is(s->sizes, t->known, 1))
		power = arena_printf(s->arena, "%s*%s", size_text(s->arena, s->sizes, t->known),
				     power);
	bool constant = size_is_const(s->sizes, total, &elements);
	blame(s, E0345, id,
	      constant ? "%s no %s with a whole %s"
		       : "%s %s only for some sizes, and nothing else says %s",
	      total_text(s, &s->cons.at[id], total, " are", " is"), power, name);
	if (s->diags && constant)
		note_powers(s, id, t, elements, name);
	else if (s->diags)
		note_own_dim(s, id, t, rest);
	blame_born(s, of);
}

void product_last(Solver *s, ConId id)
{
	Total t = total_of(s, &s->cons.at[id], false, id);
	Size total = cell_value(s, s->cons.at[id].cells[0]);
	if (t.var == NONE && t.nopen > 1 && !t.several && !size_is_bad(total) &&
	    !size_is(s->sizes, total, 0) && !size_is(s->sizes, t.known, 0))
		blame_root(s, id, &t, total);
}

/* The same axis several times. */
static void solve_root(Solver *s, ConId id, const Total *t, Size total)
{
	int64_t n, by;
	bool constant = size_is_const(s->sizes, t->known, &by);
	if (constant ? by == 0 : size_is(s->sizes, total, 0))
		return;
	if (constant && size_is_const(s->sizes, total, &n) && n % by != 0) {
		total_blame(s, id, total, t->known);
		return;
	}
	Size root = size_root(s->sizes, size_div(s->sizes, total, t->known), t->nopen);
	if (size_is_bad(root)) {
		if (constant && size_is_const(s->sizes, total, &n))
			blame_root(s, id, t, total);
		return;
	}
	cell_set(s, t->open, root, why_total(s, id));
	s->cons.at[id].derived = true;
}

static void solve_axis(Solver *s, ConId id, const Total *t, Size total)
{
	int64_t n, by;
	bool constant = size_is_const(s->sizes, t->known, &by);
	if (constant && by == 0) {
		if (size_is_const(s->sizes, total, &n) && n != 0)
			total_blame(s, id, total, t->known);
		return;
	}
	if ((constant && size_is_const(s->sizes, total, &n) && n % by != 0) ||
	    size_is_fraction(s->sizes, size_div(s->sizes, total, t->known))) {
		total_blame(s, id, total, t->known);
		return;
	}
	cell_set(s, t->open, factor_of(s->sizes, total, t->known), why_total(s, id));
	s->cons.at[id].derived = true;
}

/* Both are known, under names that may be equal: one axis beside constants gets the better one too.
 */
static void solve_known(Solver *s, ConId id, const Total *t, Size total)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	int64_t by, n;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			CellId cell = flat_at(&f, i);
			Size own = cell_value(s, cell);
			if (size_is_const(s->sizes, own, &n))
				continue;
			Size others = size_div(s->sizes, t->known, own);
			if (size_is_const(s->sizes, others, &by) && by > 0 &&
			    (!size_is_const(s->sizes, total, &n) || n % by == 0))
				cell_set(s, cell, size_div(s->sizes, total, others),
					 why_total(s, id));
		}
	}
}

/* Nothing is left of the total: all open axes are 1, also those of a row that may get more. */
static bool solve_ones(Solver *s, ConId id, const Total *t, Size total)
{
	const Con *con = &s->cons.at[id];
	FlatRow f;
	int64_t n;
	if (t->nopen == 0 || !size_is_const(s->sizes, total, &n) || n == 0 ||
	    !size_same(total, t->known) || (t->var != NONE && n != con->number))
		return false;
	for (uint32_t r = 0; r < con->nrows; r++) {
		row_flatten(s, &con->rows[r], &f);
		for (uint32_t i = 0; i < f.nlead + f.ntrail; i++) {
			if (!cell_known(s, flat_at(&f, i)))
				cell_set(s, flat_at(&f, i), size_const(s->sizes, 1),
					 why_total(s, id));
		}
	}
	s->cons.at[id].derived = true;
	return true;
}

/* The total, and its better name where a require gives one. */
static void set_total(Solver *s, ConId id, Size total)
{
	ConId con = NONE;
	CellId cell = s->cons.at[id].cells[0];
	cell_set(s, cell, total, why_total(s, id));
	Size name = required_name(s, total, &con);
	if (con != NONE)
		cell_set(s, cell, name, why_total(s, con));
}

void product_run(Solver *s, ConId id)
{
	const Con *con = &s->cons.at[id];
	Total t = total_of(s, con, true, id);
	Size total = required_multiple(s, cell_value(s, con->cells[0]), t.known);
	if (t.var == NONE && !con->ndone_lead)
		watch_axes(s, id);
	if (solve_ones(s, id, &t, total) || t.var != NONE)
		return;
	con = &s->cons.at[id];
	if (t.nopen == 0) {
		if (size_is_bad(total) || !size_same(total, t.known)) {
			if (!size_is_bad(total) && !size_is_bad(t.known) &&
			    sizes_differ(s->sizes, total, t.known))
				total_blame(s, id, total, t.known);
			else {
				if (!size_is_bad(total))
					solve_known(s, id, &t, total);
				set_total(s, id, t.known);
			}
		}
	} else if (t.nopen == 1 && !size_is_bad(total)) {
		solve_axis(s, id, &t, total);
	} else if (!t.several && !size_is_bad(total)) {
		solve_root(s, id, &t, total);
	}
}
