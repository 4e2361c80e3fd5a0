/* Comparisons of indices whose failure makes an element 0 (zeros.h): each that is found in the expression of the
 * element is taken to fail, or to hold, and what follows from that is known: constants are folded; 0 times a number is 0 or
 * NaN, -inf and a number is -inf or NaN, the same at each place that the number does not move along, and what is computed
 * from NaN by arithmetic is NaN.
 */
#include "lower/gen/zeros.h"

#include <math.h>

#include "loops/walk.h"

/* ---- the expression, through all that is computed element by element ---- */

typedef struct Deep {
	Gen *gen;
	uint32_t nodes; /* that may still be gone through */
	NodeId at;	/* a node that is `number` whatever it is made of; NODE_NONE: none is */
	const Value *number;
} Deep;

const Value *zeros_opaque(Gen *gen, NodeId id, const Ix *const *axes)
{
	Value *load = ARENA_NEW(gen->arena, Value);
	*load = (Value){.kind = VALUE_LOAD,
			.dtype = lower_node(gen->lower, id)->dtype,
			.buffer = BUFFER_NONE,
			.ix = tables_flatten(gen->program, lower_shape(gen->lower, id), axes)};
	return load;
}

bool zeros_is_expression(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	switch (node->kind) {
	case NODE_NUMBER:
	case NODE_RANGE: return node->dtype != DTYPE_NONE;
	case NODE_CONST: return node->data->count == 1;
	case NODE_POINTWISE:
	case NODE_CAST:
	case NODE_SPEC:
		return proj && proj->npieces == 1 && proj_is_plain(proj) && !proj->linear &&
		       !proj_reduces(proj) && !proj_is_guarded(proj) && node->target == NODE_NONE &&
		       node->nargs <= 3;
	default: return false;
	}
}

static const Value *read_deep(void *of, NodeId id, const Ix *const *axes)
{
	Deep *deep = of;
	if (id == deep->at)
		return deep->number;
	if (deep->nodes == 0 || !zeros_is_expression(deep->gen->lower, id))
		return zeros_opaque(deep->gen, id, axes);
	deep->nodes--;
	NodeReader r = {.tables = &deep->gen->lower->tables,
			.program = deep->gen->program,
			.of = deep,
			.read = read_deep};
	return expression_of_node(&r, id, axes);
}

/* ---- what is known where a comparison fails, or holds ---- */

/* Other than a number that is sure it may be NaN. */
typedef struct Known {
	bool is, sure;
	Scalar number;
} Known;

/* What is known of a number that stands for a sum, or for what is computed of it. */
typedef enum Bound {
	BOUND_NONE,
	BOUND_ADDED, /* it is not finite only where it would not be if the sum were 0 */
	BOUND_FINITE,
} Bound;

typedef struct Assumed {
	const Value *comparison;
	bool holds;
	IterVar along;
	const Value *number; /* on which what is known may not depend; NULL: there is none */
	Bound bound;	     /* of the number */
	uint32_t left;	     /* operations that may still be looked at */
} Assumed;

static Known known_of(Assumed *a, const Value *value);

static bool is_float_of(const Value *value, const Known *known, double number)
{
	return known->is && dtype_is_float(value->dtype) && known->number.f == number;
}

static bool is_false(const Value *value, const Known *known)
{
	return known->is &&
	       (dtype_is_float(value->dtype) ? known->number.f == 0 : known->number.i == 0);
}

typedef struct Mention {
	const Value *of;
	bool found;
} Mention;

static void see_mention(void *of, const Value *value)
{
	Mention *mention = of;
	mention->found |= value == mention->of;
}

static bool depends_on_number(const Assumed *a, const Value *value)
{
	Mention mention = {a->number, false};
	if (a->number)
		value_each(value, see_mention, &mention);
	return mention.found;
}

/* Is a value that is 0, infinite or NaN once it meets this one the same at each place, whatever the number is? */
static bool is_same_everywhere(const Assumed *a, const Value *value)
{
	return !value_uses_iter(value, a->along) && !depends_on_number(a, value);
}

static Known chosen(Assumed *a, const Value *value)
{
	Known is = known_of(a, value->args[0]);
	if (is.is && is.sure) {
		Known one = known_of(a, value->args[is_false(value->args[0], &is) ? 2 : 1]);
		return one;
	}
	Known yes = known_of(a, value->args[1]), no = known_of(a, value->args[2]);
	bool same = yes.is && no.is && yes.number.i == no.number.i;
	bool one = (yes.sure && no.sure) || is_same_everywhere(a, value->args[0]);
	return same && one ? (Known){true, yes.sure && no.sure, yes.number} : (Known){0};
}

/* Of an operand that is known, and one that is not. */
static Known with_number(Assumed *a, const Value *value, int at, Known known)
{
	const Value *other = value->args[!at];
	bool zero = is_float_of(value->args[at], &known, 0),
	     infinite = is_float_of(value->args[at], &known, INFINITY) ||
			is_float_of(value->args[at], &known, -INFINITY);
	bool absorbs = value->op == OP_MUL || (value->op == OP_DIV && at == 0) ? zero
		       : value->op == OP_ADD || value->op == OP_SUB	       ? infinite
									       : false;
	bool number =
		a->number && other == a->number && value->op != OP_DIV && a->bound != BOUND_NONE;
	if (!known.is || !absorbs || (!number && !is_same_everywhere(a, other)))
		return (Known){0};
	if (value->op == OP_SUB && at == 1)
		known.number.f = -known.number.f;
	known.sure &= number && a->bound == BOUND_FINITE;
	return known;
}

static bool passes_nan(Op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_NEG ||
	       op == OP_EXP || op == OP_EXP2;
}

static Known of_operands(Assumed *a, const Value *value)
{
	Known args[3];
	Scalar numbers[3];
	Known all = {true, true, {0}};
	for (uint32_t i = 0; i < value->nargs; i++) {
		args[i] = known_of(a, value->args[i]);
		numbers[i] = args[i].number;
		all.is &= args[i].is;
		all.sure &= args[i].sure;
	}
	if (all.is && (all.sure || passes_nan(value->op))) {
		all.number = op_eval(value->op, value->dtype, numbers);
		return all;
	}
	for (int at = 0; value->nargs == 2 && at < 2; at++) {
		bool no = is_false(value->args[at], &args[at]);
		if (args[at].sure && ((value->op == OP_AND && no) || (value->op == OP_OR && !no)))
			return (Known){true, true, scalar_of(value->dtype, value->op == OP_OR)};
		Known one = with_number(a, value, at, args[at]);
		if (one.is)
			return one;
	}
	return (Known){0};
}

static Known known_of(Assumed *a, const Value *value)
{
	if (a->left == 0)
		return (Known){0};
	a->left--;
	if (value_same(value, a->comparison))
		return (Known){true, true, scalar_of(value->dtype, a->holds)};
	if (value->kind == VALUE_CONST)
		return (Known){true, true, value->constant};
	if (value->kind == VALUE_CAST) {
		Known known = known_of(a, value->args[0]);
		known.is &= known.sure || dtype_is_float(value->dtype);
		known.number = scalar_convert(known.number, value->args[0]->dtype, value->dtype);
		return known;
	}
	if (value->kind != VALUE_OP)
		return (Known){0};
	return value->op == OP_WHERE ? chosen(a, value) : of_operands(a, value);
}

/* ---- comparisons ---- */

const Ix *value_as_index(Program *program, const Value *value)
{
	if (value->dtype != DTYPE_I32 && value->dtype != DTYPE_I64)
		return NULL;
	if (value->kind == VALUE_CONST)
		return ix_const(program, value->constant.i);
	if (value->kind == VALUE_INDEX)
		return value->ix->reads ? NULL : value->ix;
	if (value->kind != VALUE_OP || (value->op != OP_ADD && value->op != OP_SUB))
		return NULL;
	const Ix *a = value_as_index(program, value->args[0]),
		 *b = value_as_index(program, value->args[1]);
	if (!a || !b)
		return NULL;
	return value->op == OP_SUB ? ix_minus(program, a, b) : ix_add(program, a, b);
}

typedef struct Search {
	Program *program;
	const Value *value;
	IterVar along;
	Zeros *found;
	uint32_t n;
} Search;

bool zeros_of(Program *program, const Value *comparison, bool comes_out, Zeros *zeros)
{
	const Ix *left = value_as_index(program, comparison->args[0]),
		 *right = value_as_index(program, comparison->args[1]);
	bool greater = comparison->op == OP_GT || comparison->op == OP_GE,
	     strict = comparison->op == OP_GT || comparison->op == OP_LT;
	bool exchanged = greater == comes_out;
	if (!left || !right)
		return false;
	*zeros = (Zeros){exchanged ? right : left, exchanged ? left : right, strict == comes_out,
			 true};
	return true;
}

/* The element is 0 where the comparison does not come out so. */
static void add_zeros(Search *s, const Value *comparison, bool comes_out, bool sure)
{
	Zeros zeros;
	if (!zeros_of(s->program, comparison, comes_out, &zeros))
		return;
	zeros.sure = sure;
	for (uint32_t i = 0; i < s->n; i++)
		if (ix_same(s->found[i].less, zeros.less) &&
		    ix_same(s->found[i].more, zeros.more) && s->found[i].strict == zeros.strict)
			return;
	s->found[s->n++] = zeros;
}

/* Where the comparison does not come out so, is the element 0? */
static void try_comparison(Search *s, const Value *comparison, bool comes_out)
{
	Assumed a = {comparison, !comes_out, s->along, NULL, BOUND_NONE, EXPRESSION_MOST};
	Known known = known_of(&a, s->value);
	if (s->n < ZEROS_MOST && is_float_of(s->value, &known, 0))
		add_zeros(s, comparison, comes_out, known.sure);
}

bool zeros_compares(const Value *value)
{
	return value->kind == VALUE_OP && value->args[0]->dtype == DTYPE_I32 &&
	       (value->op == OP_LT || value->op == OP_LE || value->op == OP_GT ||
		value->op == OP_GE);
}

static void see_comparison(void *of, const Value *value)
{
	if (!zeros_compares(value))
		return;
	try_comparison(of, value, true);
	try_comparison(of, value, false);
}

uint32_t zeros_find(Gen *gen, NodeId node, const Ix *const *axes, IterVar along,
		    Zeros zeros[ZEROS_MOST])
{
	Deep deep = {gen, EXPRESSION_MOST / 8, NODE_NONE, NULL};
	Search s = {gen->program, read_deep(&deep, node, axes), along, zeros, 0};
	value_each(s.value, see_comparison, &s);
	return s.n;
}

/* ---- what makes no difference ---- */

enum { COMPARISONS_MOST = 8, NO_ITER = INT32_MAX };

typedef struct Readers {
	Gen *gen;
	Assumed assumed; /* comparison NULL: comparisons are collected */
	const Value *comparisons[COMPARISONS_MOST];
	uint32_t n;
	uint32_t left; /* that may still be looked at */
	IterVar own;   /* the last iterator of a reader's own, none of the kernel's */
} Readers;

/* The reader's iterators, where it reads the operand at these indices; NULL: some are not known. */
static const Ix **iters_of_reader(Readers *r, const Use *use, const Ix *const *axes)
{
	const Proj *proj = lower_proj(r->gen->lower, use->user);
	const Access *access = &proj->pieces[0].args[use->arg];
	const Ix **by_iter = ARENA_ARRAY(r->gen->arena, const Ix *, proj->niters + 1);
	for (IterId i = 0; i < proj->niters; i++)
		by_iter[i] = ix_iter(r->gen->arena, --r->own);
	for (uint32_t axis = 0; axis < access->naxes; axis++) {
		const Index *index = &access->axes[axis];
		bool plain = index->gather < 0 && size_is(r->gen->program->sizes, index->offset, 0);
		if (!plain || index->nterms > 1 ||
		    (index->nterms == 1 && index->terms[0].coef != 1))
			return NULL;
		if (index->nterms == 1)
			by_iter[index->terms[0].iter] = axes[axis];
	}
	return by_iter;
}

static void collect(void *of, const Value *value)
{
	Readers *r = of;
	bool known = !zeros_compares(value) || r->n == COMPARISONS_MOST;
	for (uint32_t i = 0; i < r->n && !known; i++)
		known = value_same(r->comparisons[i], value);
	if (!known)
		r->comparisons[r->n++] = value;
}

static bool is_term(const Lower *lower, NodeId id)
{
	const Node *node = lower_node(lower, id);
	const Proj *proj = lower_proj(lower, id);
	return zeros_is_expression(lower, id) ||
	       (node->kind == NODE_SPEC && proj && proj->npieces == 1 && proj_is_plain(proj) &&
		!proj->linear && !proj_is_guarded(proj) && node->target == NODE_NONE &&
		node->nargs <= 3);
}

/* Of a number that is computed of one with this bound. What is less than 1e30 (tile/unused.c) is less than half the distance
 * of the greatest numbers: it makes none of them infinite. */
static Bound bound_of(const Value *value, const Value *number, Bound bound)
{
	if (value == number)
		return bound;
	if (value->kind != VALUE_OP ||
	    (value->args[0] != number && value->args[value->nargs - 1] != number))
		return BOUND_NONE;
	if (value->op == OP_NEG)
		return bound;
	bool adds = value->op == OP_ADD || value->op == OP_SUB;
	return adds && bound == BOUND_FINITE ? BOUND_ADDED : BOUND_NONE;
}

static bool make_no_difference(Readers *r, NodeId node, const Ix *const *axes, const Value *number,
			       Bound bound);

/* Does what the reader computes of it, or, where it adds up, what it adds, make no difference? */
static bool makes_no_difference(Readers *r, NodeId node, const Use *use, const Ix *const *axes,
				const Value *number, Bound bound)
{
	Gen *gen = r->gen;
	if (r->left == 0 || !is_term(gen->lower, use->user))
		return false;
	r->left--;
	const Piece *piece = &lower_proj(gen->lower, use->user)->pieces[0];
	const Ix **by_iter = iters_of_reader(r, use, axes);
	if (!by_iter)
		return false;
	Deep deep = {gen, EXPRESSION_MOST / 8, node, number};
	NodeReader reader = {.tables = &gen->lower->tables,
			     .program = gen->program,
			     .of = &deep,
			     .read = read_deep};
	const Value *value = expression_of_piece(&reader, use->user, piece, by_iter);
	if (!r->assumed.comparison)
		value_each(value, collect, r);
	r->assumed.left = EXPRESSION_MOST;
	r->assumed.number = number;
	r->assumed.bound = bound;
	if (r->assumed.comparison && known_of(&r->assumed, value).is)
		return true;
	if (!zeros_is_expression(gen->lower, use->user) || gen->lower->plan[use->user].output)
		return false;
	axes = expression_indices(&reader, use->user, piece, &piece->result, by_iter);
	return make_no_difference(r, use->user, axes, zeros_opaque(gen, use->user, axes),
				  bound_of(value, number, bound));
}

static bool make_no_difference(Readers *r, NodeId node, const Ix *const *axes, const Value *number,
			       Bound bound)
{
	const Lower *lower = r->gen->lower;
	bool none = true;
	for (uint32_t i = lower->first_use[node]; i < uses_end(lower, node); i++) {
		bool one = makes_no_difference(r, node, &lower->uses[i], axes, number, bound);
		none &= one;
		if (!none && r->assumed.comparison)
			break;
	}
	return none;
}

uint32_t zeros_unused(Gen *gen, NodeId node, const Ix *const *axes, Zeros zeros[ZEROS_MOST])
{
	const Value *number = zeros_opaque(gen, node, axes);
	Readers r = {.gen = gen, .left = EXPRESSION_MOST / 8, .own = NO_ITER};
	Search s = {.program = gen->program, .found = zeros};
	if (gen->lower->plan[node].output)
		return 0;
	make_no_difference(&r, node, axes, number, BOUND_FINITE);
	for (uint32_t i = 0; i < 2 * r.n && s.n < ZEROS_MOST; i++) {
		r.assumed = (Assumed){
			.comparison = r.comparisons[i / 2], .holds = i % 2, .along = NO_ITER};
		r.left = EXPRESSION_MOST / 8;
		r.own = NO_ITER;
		if (make_no_difference(&r, node, axes, number, BOUND_FINITE))
			add_zeros(&s, r.comparisons[i / 2], !(i % 2), true);
	}
	return s.n;
}
