/* Values that a mask hides (masked.h): what computes an element is gone through as far as it moves along the loop, also
 * what other kernels store, down to comparisons of indices. Each is taken to fail, or to hold, and constants are folded; where
 * nothing that moves along the loop is left, that is the value.
 */
#include "lower/gen/masked.h"

#include "loops/walk.h"

/* ---- the expression ---- */

typedef struct AlongReader {
	Gen *gen;
	IterVar iter;
	uint32_t left; /* nodes that may still be gone through */
} AlongReader;

static bool move(const Lower *lower, NodeId id, const Ix *const *axes, IterVar along)
{
	bool moves = false;
	for (uint32_t i = 0; i < shape_naxes(lower_shape(lower, id)); i++)
		moves |= ix_uses(axes[i], along);
	return moves;
}

static const Value *read_along(void *of, NodeId id, const Ix *const *axes)
{
	AlongReader *along = of;
	Gen *gen = along->gen;
	bool moves = move(gen->lower, id, axes, along->iter);
	if (!moves || along->left == 0 || !zeros_is_expression(gen->lower, id))
		return moves ? zeros_opaque(gen, id, axes) : node_value(gen, id, axes);
	along->left--;
	NodeReader r = {.tables = &gen->lower->tables,
			.program = gen->program,
			.of = along,
			.read = read_along};
	return expression_of_node(&r, id, axes);
}

/* ---- with a comparison that is known ---- */

typedef struct Fold {
	Arena *arena;
	const Value *comparison;
	bool holds;
	uint32_t left; /* operations that may still be looked at */
} Fold;

static bool is_constant(const Value *value, bool zero)
{
	return value->kind == VALUE_CONST && value_is_zero(value) == zero;
}

/* What the operands that are constants leave of it; NULL: all of it. */
static const Value *decided(const Value *value, const Value *const *args)
{
	if (value->op == OP_WHERE && args[0]->kind == VALUE_CONST)
		return args[value_is_zero(args[0]) ? 2 : 1];
	bool is_and = value->op == OP_AND, is_or = value->op == OP_OR;
	for (int i = 0; i < 2 && (is_and || is_or); i++)
		if (is_constant(args[i], is_and))
			return args[i];
	return NULL;
}

static const Value *simplified(Fold *fold, const Value *value)
{
	if (value_same(value, fold->comparison))
		return value_const(fold->arena, value->dtype, scalar_of(value->dtype, fold->holds));
	if (fold->left == 0 || (value->kind != VALUE_OP && value->kind != VALUE_CAST))
		return value;
	fold->left--;
	if (value->kind == VALUE_CAST)
		return value_cast(fold->arena, value->dtype, simplified(fold, value->args[0]));
	const Value *args[3];
	for (uint32_t i = 0; i < value->nargs; i++)
		args[i] = simplified(fold, value->args[i]);
	const Value *one = decided(value, args);
	return one ? one : value_op(fold->arena, value->op, value->dtype, args, value->nargs);
}

/* ---- comparisons ---- */

typedef struct Search {
	Gen *gen;
	const Value *value;
	IterVar along;
	Masked found;
} Search;

static void count(void *of, const Value *value)
{
	uint32_t *n = of;
	*n += value->kind == VALUE_OP;
}

static bool is_short(const Value *value)
{
	uint32_t n = 0;
	value_each(value, count, &n);
	return n <= EXPRESSION_MOST / 32;
}

static void try_comparison(Search *s, const Value *comparison, bool holds)
{
	Fold fold = {s->gen->arena, comparison, holds, EXPRESSION_MOST};
	Masked *found = &s->found;
	const Value *value = simplified(&fold, s->value);
	if (found->n == ZEROS_MOST || value_uses_iter(value, s->along) || !is_short(value) ||
	    (found->n > 0 && !value_same(found->value, value)) ||
	    !zeros_of(s->gen->program, comparison, !holds, &found->at[found->n]))
		return;
	found->value = value;
	found->n++;
}

static void see_comparison(void *of, const Value *value)
{
	Search *s = of;
	if (!zeros_compares(value) || !value_uses_iter(value, s->along))
		return;
	try_comparison(s, value, true);
	try_comparison(s, value, false);
}

Masked masked_find(Gen *gen, NodeId node, const Piece *piece, const Ix *const *by_iter,
		   IterVar along)
{
	Gen look = gen_look(gen);
	SharedLocals shared = {0};
	gen_enter(&look, &shared);
	AlongReader reads = {&look, along, EXPRESSION_MOST / 8};
	NodeReader r = {.tables = &gen->lower->tables,
			.program = gen->program,
			.of = &reads,
			.read = read_along};
	Search s = {
		.gen = gen, .value = expression_of_piece(&r, node, piece, by_iter), .along = along};
	if (value_uses_iter(s.value, along))
		value_each(s.value, see_comparison, &s);
	return shared.n > 0 ? (Masked){.n = 0} : s.found;
}
