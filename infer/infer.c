/* Inference from end to end: generate, solve, read off shapes and letters, collect guards, derive
 * projections.
 *
 * A shuffled run comes beside one in the order of the program: both must find the same shapes and
 * guards, or both fail; a size may be named otherwise where the guards say that it is the same.
 * Messages and places are those of the order of the program.
 */
#include "infer/blame.h"
#include "infer/cells.h"
#include "infer/dump.h"
#include "infer/generate.h"
#include "infer/guards.h"
#include "infer/rows.h"
#include "infer/trace.h"
#include "infer/trail.h"
#include "infer/warn.h"

static Solver *solve(const Graph *graph, Arena *perm, uint64_t shuffle)
{
	Solver *s = solver_new(graph, perm);
	generate(s);
	if (!solver_failed(s))
		solver_run(s, STAGES, shuffle);
	return s;
}

/* ---- the result ---- */

/* What is declared keeps its size as written; elsewhere a class has one name. */
static void read_shape_row(Solver *s, const RowTerm *term, const Size *written, Row *row)
{
	FlatRow f;
	row_flatten(s, term, &f);
	if (f.var != NONE && !solver_failed(s))
		BUG("a row is open after the last stage");
	row->gap = f.var != NONE ? f.nlead + 1 : 0;
	row->n = f.nlead + f.ntrail;
	row->lead = f.npinned;
	row->axes = ARENA_ARRAY(s->arena, Axis, row->n + 1);
	for (uint32_t i = 0; i < row->n; i++) {
		const Cell *c = cell_at(s, flat_at(&f, i));
		if (size_is_bad(c->value) && !solver_failed(s))
			BUG("a size is open after the last stage");
		Size as_written = written ? written[flat_at(&f, i)] : SIZE_BAD;
		Size size = size_is_bad(as_written) ? c->value : as_written;
		row->axes[i] = (Axis){size, c->label, cell_stretches(s, flat_at(&f, i))};
	}
}

static void read_shapes(Solver *s, Inference *inference)
{
	Size *written = ARENA_ARRAY(s->arena, Size, s->cells.n + 1);
	for (size_t i = 0; i < s->leaves.n; i++)
		written[s->leaves.at[i].cell] = s->leaves.at[i].size;
	for (NodeId id = 0; id < s->graph->nodes.n; id++) {
		bool leaf = s->graph->nodes.at[id].shape != NULL;
		for (int k = 0; k < ROW_KINDS; k++)
			read_shape_row(s, &s->rows[id][k], leaf ? written : NULL,
				       &inference->shapes[id].rows[k]);
	}
	for (size_t i = 0; i < s->graph->captures.n; i++) {
		if (s->captures[i] != NONE)
			inference->captures[i] = cell_value(s, s->captures[i]);
	}
}

static void read_letters(Solver *s, Inference *inference)
{
	LetterSize *all = ARENA_ARRAY(s->arena, LetterSize, s->letters.n + 1);
	for (size_t i = 0; i < s->letters.n; i++) {
		const LetterCell *l = &s->letters.at[i];
		all[i] = (LetterSize){l->letter, cell_value(s, l->cell)};
		LetterSizes *of = &inference->letters[l->node];
		if (of->n++ == 0)
			of->at = &all[i];
	}
}

/* ---- what is checked of the result ---- */

static bool written_symbolic(const DeclRow *row, uint32_t i, uint32_t n)
{
	if (row->open)
		return false;
	uint32_t lead = row->var_at < 0 ? 0 : (uint32_t)row->var_at, trail = row->naxes - lead;
	const DeclAxis *axis = i < lead		? &row->axes[i]
			       : i >= n - trail ? &row->axes[row->naxes - (n - i)]
						: NULL;
	return axis && axis->size;
}

/* A parameter depends on a symbolic size only where its declaration says so. */
static void check_param(Solver *s, const Inference *inference, NodeId id)
{
	const Node *node = &s->graph->nodes.at[id];
	int64_t value;
	for (int k = 0; k < ROW_KINDS; k++) {
		const Row *row = &inference->shapes[id].rows[k];
		for (uint32_t i = 0; i < row->n; i++) {
			if (size_is_const(s->sizes, row->axes[i].size, &value) ||
			    written_symbolic(&node->shape->rows[k], i, row->n))
				continue;
			FlatRow f;
			row_flatten(s, &s->rows[id][k], &f);
			Conflict *c = conflict_sizes(s, CONFLICT_PARAM_SIZE, NONE,
						     row->axes[i].size, SIZE_BAD);
			c->node = id;
			c->row = (RowKind)k;
			c->number = i + 1;
			c->cells[0] = flat_at(&f, i);
		}
	}
}

/* A gradient is taken of one number, unless it has a direction. */
static void check_gradients(const Inference *inference, Diags *diags)
{
	const Graph *graph = inference->graph;
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		const Node *node = graph_node(graph, id);
		if (node->kind != NODE_GRADIENT || !node->used || node->nargs > 2 ||
		    shape_naxes(&inference->shapes[node->args[0]]) == 0)
			continue;
		const char *shape = shape_text(graph->arena, inference->sizes,
					       &inference->shapes[node->args[0]]);
		Span span = node->arg_spans[0];
		const char *y = source_text(diags->sources, graph->arena, span);
		diag(diags, E0352, span, "a gradient is of one number, and this is %s", shape);
		diag_fix(diags, span, arena_printf(graph->arena, "sum(%s)", y),
			 "of the sum of its elements there is one");
	}
}

/* After conflicts: what can be known without them. */
static void solve_rest(Solver *s)
{
	size_t found = s->conflicts.n;
	s->tolerated = SIZE_MAX;
	if (s->nnodes < s->graph->nodes.n)
		generate(s);
	s->conflicts.n = found;
	solver_complete(s);
}

/* Everything but projections; no shapes after errors, unless `partial`. diags NULL: nothing is
 * told. */
static Inference *infer_sizes(const Graph *graph, Arena *perm, Diags *diags, const Sources *sources,
			      uint64_t shuffle, bool partial)
{
	Solver *s = solve(graph, perm, shuffle);
	bool solved = !solver_failed(s);
	size_t n = graph->nodes.n;
	Inference *inference = ARENA_NEW(perm, Inference);
	inference->graph = graph;
	inference->sizes = graph->sizes;
	inference->trace = ARENA_NEW(perm, Trace);
	*inference->trace = (Trace){s, sources};
	if (!solved && diags)
		blame_conflicts(s, inference, diags);
	if (!solved && !partial)
		return inference;
	if (!solved)
		solve_rest(s);
	inference->shapes = ARENA_ARRAY(perm, Shape, n + 1);
	inference->projs = ARENA_ARRAY(perm, Proj *, n + 1);
	inference->margins = ARENA_ARRAY(perm, Margins *, n + 1);
	inference->letters = ARENA_ARRAY(perm, LetterSizes, n + 1);
	inference->captures = ARENA_ARRAY(perm, Size, graph->captures.n + 1);
	read_shapes(s, inference);
	read_letters(s, inference);
	for (NodeId id = 0; id < n && solved; id++) {
		if (graph->nodes.at[id].kind == NODE_PARAM)
			check_param(s, inference, id);
	}
	if (solved)
{
		check_steps(s, inference);
		check_scalars(s, inference);
		guards_collect(s, inference);
	}
	inference->complete = !solver_failed(s);
	if (solved && diags)
		blame_conflicts(s, inference, diags);
	return inference;
}

typedef struct Guarded {
	SizeSystem *system;
	SizeFact *facts; /* the guards */
	size_t nfacts;
} Guarded;

/* Equal wherever the guards hold: what is derived from two names of one size depends on which came
 * first. */
static bool same_size(const Guarded *g, Size a, Size b)
{
	return size_same(a, b) ||
	       size_system_implies(g->system, g->facts, g->nfacts, (SizeFact){FACT_EQ, a, b});
}

static bool same_row(const Guarded *g, const Row *a, const Row *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		if (a->axes[i].label != b->axes[i].label ||
		    a->axes[i].stretch != b->axes[i].stretch ||
		    !same_size(g, a->axes[i].size, b->axes[i].size))
			return false;
	}
	return a->n == b->n;
}

static bool same_guards(const Inference *a, const Inference *b)
{
	for (size_t i = 0; i < a->guards.n && i < b->guards.n; i++) {
		const Guard *x = &a->guards.at[i], *y = &b->guards.at[i];
		if (x->kind != y->kind || !size_same(x->a, y->a) || !size_same(x->b, y->b))
			return false;
	}
	return a->guards.n == b->guards.n;
}

/* The same guards, and the same shapes where these hold. */
static bool same_result(const Inference *a, const Inference *b, Arena *arena)
{
	Guarded g = {.system = size_system_new(a->sizes, arena), .nfacts = a->guards.n};
	g.facts = ARENA_ARRAY(arena, SizeFact, a->guards.n + 1);
	for (size_t i = 0; i < a->guards.n; i++)
		g.facts[i] = guard_fact(&a->guards.at[i]);
	for (NodeId id = 0; id < a->graph->nodes.n; id++) {
		for (int k = 0; k < ROW_KINDS; k++) {
			if (!same_row(&g, &a->shapes[id].rows[k], &b->shapes[id].rows[k]))
				return false;
		}
	}
	return same_guards(a, b);
}

/* Another order of the constraints finds the same. */
static void check_order(const Inference *inference, Arena *perm, const Sources *sources,
			uint64_t shuffle)
{
	const Inference *other = infer_sizes(inference->graph, perm, NULL, sources, shuffle, false);
	if (inference->complete != other->complete ||
	    (inference->complete && !same_result(inference, other, perm)))
		BUG("the result of inference depends on the order of the constraints");
}

static Inference *infer(const Graph *graph, Arena *perm, Diags *diags, const InferOptions *options,
			bool partial)
{
	int errors = diags->nerrors;
	size_t first = diags->list.n;
	Inference *inference = infer_sizes(graph, perm, diags, diags->sources, 0, partial);
	diags_sort(diags, first);
	if (options && options->shuffle)
		check_order(inference, perm, diags->sources, options->shuffle);
	if (!inference->complete)
		return inference;
	check_gradients(inference, diags);
	warn_chosen(inference, diags);
	for (NodeId id = 0; id < graph->nodes.n; id++) {
		if (!graph->nodes.at[id].used || !node_kind_has_map(graph->nodes.at[id].kind))
			continue;
		inference->projs[id] = proj_derive(inference, id, perm, diags);
		margins_add(inference, id, perm);
	}
	inference->complete = diags->nerrors == errors;
	if (inference->complete) {
		warn_pairs(inference, diags);
		warn_layout(inference, diags);
	}
	return inference;
}

Inference *infer_partial(const Graph *graph, Arena *perm, Diags *diags, const InferOptions *options)
{
	return infer(graph, perm, diags, options, true);
}

Inference *infer_run(const Graph *graph, Arena *perm, Diags *diags, const InferOptions *options)
{
	Inference *inference = infer(graph, perm, diags, options, false);
	return inference->complete ? inference : NULL;
}

void infer_dump_shapes(FILE *out, const Inference *inference)
{
	for (size_t i = 0; i < inference->graph->listing.n; i++) {
		const Listing *l = &inference->graph->listing.at[i];
		fprintf(out, "%s : %s ", l->name,
			dtype_name(inference->graph->nodes.at[l->node].dtype));
		shape_print(out, inference->sizes, &inference->shapes[l->node]);
		fputc('\n', out);
	}
}
