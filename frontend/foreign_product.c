/* `a @ b`, the product of other languages, as the forms that stand here for it: `*`, or an einsum of the axes that both
 * have where they are declared. The last axis of a meets the one before the last of b, or its only one; what is in front of
 * two axes is common to both.
 *
 *   x : [n, 4] @ w : [4, 5]       einsum("ij; jk => ik", x, w)
 *   x : [n | 4] @ w : [4, 5]      einsum("... | j; jk => ... | k", x, w)
 *   x : [b, n, 4] @ w : [4]       einsum("aij; j => ai", x, w)
 *   x : [n | 4] @ w : [4 -> 5]    w * x
 *   x.T @ x, of x : [n, 4]        einsum("ji; jk => ik", x, x)
 *   x.T @ x, of x : [n | 4]       einsum("n | i; n | j => i, j", x, x)
 *   x @ x.T, of x : [n | 4]       einsum("n | i; m | i => n, m", x, x)
 *
 * Of what is computed nothing is known here: both of the likely forms are offered, and the driver keeps what compiles.
 */
#include "frontend/build.h"
#include "frontend/forms.h"

enum { LEADS = 8, DEEP = 16 };

typedef struct Factor {
	const char *text;
	bool known;
	uint32_t batch, in, out; /* axes of its rows */
	bool turned;		 /* `text` is what stands before a '.T' that changes its two axes */
	bool over;		 /* likewise, of one batch axis and one output axis */
} Factor;

/* As many axes as are declared; of what is made element by element the most that an operand has. */
static Factor rows_of(const Build *b, NodeId id, uint32_t deep)
{
	const Node *node = graph_node(b->graph, id);
	Factor f = {0};
	bool elements = node->kind == NODE_POINTWISE || node->kind == NODE_CAST;
	if (node->kind == NODE_NUMBER || node->kind == NODE_SIZE || node->kind == NODE_SCALAR)
		f.known = true;
	for (uint32_t i = 0; elements && i < node->nargs && deep < DEEP; i++) {
		Factor arg = rows_of(b, node->args[i], deep + 1);
		f.known = arg.known && (i == 0 || f.known);
		f.batch = arg.batch > f.batch ? arg.batch : f.batch;
		f.in = arg.in > f.in ? arg.in : f.in;
		f.out = arg.out > f.out ? arg.out : f.out;
	}
	if (!node->shape ||
	    (node->kind != NODE_INPUT && node->kind != NODE_PARAM && node->kind != NODE_CONST))
		return f;
	const DeclRow *rows = node->shape->rows;
	f.known = true;
	for (RowKind k = 0; k < ROW_KINDS; k++)
		f.known = f.known && rows[k].var_at < 0 && !rows[k].open;
	f.batch = rows[ROW_BATCH].naxes;
	f.in = rows[ROW_INPUT].naxes;
	f.out = rows[ROW_OUTPUT].naxes;
	return f;
}

static Factor factor_of(Build *b, const AstExpr *expr, NodeId id)
{
	const Node *node = graph_node(b->graph, id);
	bool transposes = node->kind == NODE_TRANSPOSE && expr->kind == AST_TRANSPOSE;
	Factor f = rows_of(b, transposes ? node->args[0] : id, 0);
	f.text = source_text(b->sources, b->arena, form_whole(b, expr->span));
	f.turned = transposes && f.known && f.in == 0 && f.out == 2;
	f.over = transposes && f.known && f.in == 0 && f.out == 1 && f.batch == 1;
	if (f.turned || f.over) {
		f.text = source_text(b->sources, b->arena, expr->args[0]->span);
	} else if (transposes) {
		uint32_t in = f.in;
		f.in = f.out;
		f.out = in;
	} else if (!f.known) {
		f.in = f.batch = 0;
		f.out = 2;
	}
	return f;
}

/* "ab" and the axes of the matrix, "ij" say; of a vector the one that is summed. */
static const char *letters_of(const Build *b, const Factor *f, uint32_t leads, const char *matrix,
			      char vector)
{
	static const char lead[] = "abcdefgh";
	if (f->out == 1)
		return arena_printf(b->arena, "%c", vector);
	uint32_t own = f->out - 2;
	if (f->turned)
		return arena_printf(b->arena, "%c%c", matrix[1], matrix[0]);
	return arena_printf(b->arena, "%.*s%s", (int)own, lead + (leads - own), matrix);
}

/* A product whose operand has a '.T' that changes a batch axis and an output axis, of two of one of each. */
static void offer_over(Build *b, Span whole, const Factor *x, const Factor *w)
{
	bool pair = x->batch == 1 && x->out == 1 && x->in == 0 && w->batch == 1 && w->out == 1 &&
		    w->in == 0;
	if (!pair || (x->over && w->over))
		return;
	diag_fix(b->diags, whole,
		 arena_printf(b->arena, "einsum(\"%s\", %s, %s)",
			      x->over ? "n | i; n | j => i, j" : "n | i; m | i => n, m", x->text,
			      w->text),
		 x->over ? "a product that adds up the batch"
			 : "a product of each example with each");
}

static void offer_einsum(Build *b, Span whole, const Factor *x, const Factor *w)
{
	if (x->over || w->over) {
		offer_over(b, whole, x, w);
		return;
	}
	uint32_t most = x->out > w->out ? x->out : w->out, leads = most > 2 ? most - 2 : 0;
	if (x->out == 0 || w->out == 0 || x->in + w->in > 0 || leads > LEADS)
		return;
	const char *rest = "... | ", *left = letters_of(b, x, leads, "ij", 'j'),
		   *right = letters_of(b, w, leads, "jk", 'j');
	const char *result = arena_printf(b->arena, "%.*s%s%s", (int)leads, "abcdefgh",
					  x->out > 1 ? "i" : "", w->out > 1 ? "k" : "");
	const char *batch = x->batch + w->batch > 0 ? rest : "";
	diag_fix(b->diags, whole,
		 arena_printf(b->arena, "einsum(\"%s%s; %s%s => %s%s\", %s, %s)",
			      x->batch ? rest : "", left, w->batch ? rest : "", right, batch,
			      result, x->text, w->text),
		 x->out == 2 && w->out == 2 && !*batch ? "a product of two matrices of output axes"
						       : "a product that says which axes meet");
}

void foreign_product(Build *b, const AstExpr *expr, NodeId left, NodeId right)
{
	Factor x = factor_of(b, expr->args[0], left), w = factor_of(b, expr->args[1], right);
	Span whole = form_whole(b, expr->span);
	diag_note(b->diags, expr->args[1]->span,
		  "a product is a * b, where input axes of a meet output axes "
		  "of b, or einsum(\"ij; jk => ik\", a, b)");
	if (!x.known || x.in > 0)
		diag_fix(b->diags, expr->op_span, "*", "'*' composes");
	if (!w.known || w.in > 0)
		diag_fix(b->diags, whole, arena_printf(b->arena, "%s * %s", w.text, x.text),
			 "'*' composes, and what has the input axes stands first");
	offer_einsum(b, whole, &x, &w);
	if (!x.known) {
		x.batch = x.out = 1;
		offer_einsum(b, whole, &x, &w);
	}
}
