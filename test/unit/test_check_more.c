/* Wrong projections that are consistent in themselves: each index lies inside its axis, each
 * iterator has an extent, and the numbers would be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/wrong_proj.h"

static Proj *proj_of(Small *s, NodeId id) { return s->projs[id]; }

/* ---- coupled factors ---- */

static void swap_operands(Small *s, NodeId id)
{
	Piece *pieces = proj_of(s, id)->pieces;
	Access *args = pieces[0].args;
	pieces[0].args = pieces[1].args;
	pieces[1].args = args;
}

/* The parts exchanged in all indices of the operand, each of which stays inside. */
static void swap_parts(Small *s, NodeId id)
{
	Piece *pieces = proj_of(s, id)->pieces;
	Index *a = &pieces[0].args[0].axes[0], *b = &pieces[1].args[0].axes[0];
	Size offset = a->offset;
	a->offset = b->offset;
	b->offset = offset;
}

/* The second axis of a piece runs with the part of the other piece. */
static void mix_pieces(Small *s, NodeId id)
{
	Piece *pieces = proj_of(s, id)->pieces;
	Index axis = pieces[0].args[0].axes[1];
	pieces[0].args[0].axes[1] = pieces[1].args[0].axes[1];
	pieces[1].args[0].axes[1] = axis;
}

/* Alternatives made a product: all of one part for each of the other. */
static void split_factor(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	Factor *factors = ARENA_ARRAY(s->arena, Factor, proj->niters + 1);
	for (IterId i = 0; i < proj->niters; i++) {
		IterId *iter = ARENA_ARRAY(s->arena, IterId, 1);
		*iter = i;
		factors[i] = (Factor){iter, 1};
	}
	proj->factors = factors;
	proj->nfactors = proj->niters;
}

static void first_piece_twice(Small *s, NodeId id)
{
	proj_of(s, id)->pieces[1] = proj_of(s, id)->pieces[0];
}

static void last_piece_lost(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	proj->npieces--;
	proj->clear = true;
	proj->surjective = false;
}

static void last_piece_again(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	Piece *pieces = ARENA_ARRAY(s->arena, Piece, proj->npieces + 1);
	memcpy(pieces, proj->pieces, proj->npieces * sizeof *pieces);
	pieces[proj->npieces] = pieces[proj->npieces - 1];
	proj->pieces = pieces;
	proj->npieces++;
}

static void last_part_earlier(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	Index *at = &proj->pieces[proj->npieces - 1].result.axes[0];
	at->offset = size_plus(s->graph.sizes, at->offset, -1);
}

static void last_part_later(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	Index *at = &proj->pieces[proj->npieces - 1].result.axes[0];
	at->offset = size_plus(s->graph.sizes, at->offset, 1);
}

static void reads_1_earlier(Small *s, NodeId id)
{
	Index *at = arg_index(s, id, 0, 0);
	at->offset = size_plus(s->graph.sizes, at->offset, -1);
}

static void reads_1_later(Small *s, NodeId id)
{
	Index *at = arg_index(s, id, 0, 0);
	at->offset = size_plus(s->graph.sizes, at->offset, 1);
}

/* ---- sums and clearing ---- */

/* As if the letter had one value: no loop, no sum, and each element written once. */
static void no_reduction(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	arg_index(s, id, 0, 1)->nterms = 0;
	proj->niters--;
	proj->nfactors--;
	proj->pieces[0].niters--;
	proj->clear = false;
	proj->injective = true;
}

static void no_clear(Small *s, NodeId id) { proj_of(s, id)->clear = false; }

static void no_clear_all_written(Small *s, NodeId id)
{
	proj_of(s, id)->clear = false;
	proj_of(s, id)->surjective = true;
}

/* ---- which axis ---- */

static void swap_axes(Small *s, NodeId id)
{
	swap_terms(arg_index(s, id, 0, 0), arg_index(s, id, 0, 1));
}
static void swap_axes_2(Small *s, NodeId id)
{
	swap_terms(arg_index(s, id, 1, 0), arg_index(s, id, 1, 1));
}
static void swap_written(Small *s, NodeId id)
{
	swap_terms(result_index(s, id, 0), result_index(s, id, 1));
}
static void second_axis_stays(Small *s, NodeId id) { arg_index(s, id, 0, 1)->nterms = 0; }
static void second_arg_stays(Small *s, NodeId id) { arg_index(s, id, 1, 0)->nterms = 0; }
static void other_kernel(Small *s, NodeId id)
{
	arg_index(s, id, 0, 1)->terms[1].iter = arg_index(s, id, 0, 0)->terms[0].iter;
}
static void exchanged_coefs(Small *s, NodeId id)
{
	IndexTerm *terms = result_index(s, id, 0)->terms;
	int64_t coef = terms[0].coef;
	terms[0].coef = terms[1].coef;
	terms[1].coef = coef;
}
static void dilation_lost(Small *s, NodeId id) { arg_index(s, id, 0, 0)->terms[1].coef = 1; }

/* ---- symbolic bounds ---- */

static void all_one_longer(Small *s, NodeId id)
{
	Axis *axis = (Axis *)shape_axis(&s->shapes[id], 0);
	Size *extent = &proj_of(s, id)->iters[0].extent;
	axis->size = *extent = size_plus(s->graph.sizes, *extent, 1);
}
static void all_one_shorter(Small *s, NodeId id)
{
	Axis *axis = (Axis *)shape_axis(&s->shapes[id], 0);
	Size *extent = &proj_of(s, id)->iters[0].extent;
	axis->size = *extent = size_plus(s->graph.sizes, *extent, -1);
}
static void kernel_shorter(Small *s, NodeId id)
{
	Proj *proj = proj_of(s, id);
	Size *extent = &proj->iters[proj->niters - 1].extent;
	*extent = size_plus(s->graph.sizes, *extent, -1);
}

#define TURN "a^b => b^a", {"5"}, "5"
#define BLOCKS "a; b => a^b", {"n", "m"}, "n+m"

static const Wrong table[] = {
	{"parts turned, operands exchanged", NODE_SPEC, TURN, swap_operands,
	 "a piece runs over 1 iterators and mentions 2", "a=2 b=3"},
	{"parts turned, read from the other's place", NODE_SPEC, TURN, swap_parts,
	 "block 'b' starts at 0, not 2", "a=2 b=3"},
	{"equal parts, read from the other's place",
	 NODE_SPEC,
	 "a^b => b^a",
	 {"4"},
	 "4",
	 swap_parts,
	 "block 'b' starts at 0, not 2",
	 "a=2 b=2"},
	{"two axes with the same parts",
	 NODE_SPEC,
	 "a^b, a^b => a^b",
	 {"4, 4"},
	 "4",
	 mix_pieces,
	 "a piece runs over 1 iterators and mentions 2",
	 "a=2 b=2"},
	{"a part summed twice, the other never",
	 NODE_SPEC,
	 "a^b => ",
	 {"5"},
	 "",
	 first_piece_twice,
	 "two pieces take the same parts",
	 "a=2 b=3"},
	{"a part never summed",
	 NODE_SPEC,
	 "a^b => ",
	 {"5"},
	 "",
	 last_piece_lost,
	 "a choice of parts has no piece",
	 "a=2 b=3"},
	{"a corner never written",
	 NODE_SPEC,
	 "a^b, c^d => b^a, d^c",
	 {"5, 5"},
	 "5, 5",
	 last_piece_lost,
	 "a choice of parts has no piece",
	 "a=2 b=3 c=1 d=4"},
	{"an operand added twice",
	 NODE_BLOCK,
	 "a^b, c; d => c^d",
	 {"5, 2", "3"},
	 "5",
	 last_piece_again,
	 "two pieces take the same parts",
	 "a=2 b=3"},
	{"alternatives made a product", NODE_SPEC, TURN, split_factor,
	 "one axis runs over two factors in turn", "a=2 b=3"},
	{"last part earlier, symbolic", NODE_BLOCK, BLOCKS, last_part_earlier,
	 "block 'b' starts at n - 1, not n", NULL},
	{"last part later, symbolic", NODE_BLOCK, BLOCKS, last_part_later,
	 "block 'b' starts at n + 1, not n", NULL},
	{"skipped part at the front read",
	 NODE_SPEC,
	 "2^i => i",
	 {"n+2"},
	 "n",
	 reads_1_earlier,
	 "block 'i' starts at 1, not 2",
	 NULL},
	{"skipped part at the end read",
	 NODE_SPEC,
	 "i^2 => i",
	 {"n+2"},
	 "n",
	 reads_1_later,
	 "block 'i' starts at 1, not 0",
	 NULL},
	{"padded window, 1 to the left",
	 NODE_SPEC,
	 "o=+k; k => o",
	 {"n", "3"},
	 "n",
	 reads_1_earlier,
	 "the affine index over 'o' is shifted by -2, not -1",
	 NULL},
	{"padded window, 1 to the right",
	 NODE_SPEC,
	 "o=+2*k; k => o",
	 {"n", "3"},
	 "n",
	 reads_1_later,
	 "the affine index over 'o' is shifted by -1, not -2",
	 NULL},
	{"padded steps, 1 to the left",
	 NODE_SPEC,
	 "2*o=+k; k => o",
	 {"2*n", "3"},
	 "n",
	 reads_1_earlier,
	 "the affine index over 'o' is shifted by -2, not -1",
	 NULL},
	{"strided, another phase",
	 NODE_SPEC,
	 "2*i+1 => i",
	 {"2*n"},
	 "n",
	 reads_1_earlier,
	 "the affine index over 'i' is shifted by 0, not 1",
	 NULL},
	{"shift of an axis lost",
	 NODE_SPEC,
	 "i+1 => i",
	 {"n+1"},
	 "n",
	 reads_1_earlier,
	 "the affine index over 'i' is shifted by 0, not 1",
	 NULL},
	{"reduction missing",
	 NODE_SPEC,
	 "i, j => i",
	 {"n, 4"},
	 "n",
	 no_reduction,
	 "'j' stays at 0",
	 NULL},
	{"diagonal without clearing",
	 NODE_SPEC,
	 "i => i, i",
	 {"n"},
	 "n, n",
	 no_clear,
	 "the result must be cleared first",
	 NULL},
	{"diagonal that claims all elements",
	 NODE_SPEC,
	 "i => i, i",
	 {"n"},
	 "n, n",
	 no_clear_all_written,
	 "an element is never written, and the projection says that all are",
	 NULL},
	{"every second without clearing",
	 NODE_SPEC,
	 "i => 2*i",
	 {"n"},
	 "2*n",
	 no_clear,
	 "the result must be cleared first",
	 NULL},
	{"part without clearing",
	 NODE_SPEC,
	 "i => 1^i",
	 {"n"},
	 "n+1",
	 no_clear,
	 "the result must be cleared first",
	 NULL},
	{"product, transposed square",
	 NODE_SPEC,
	 "i, j; j, k => i, k",
	 {"3, 3", "3, 3"},
	 "3, 3",
	 swap_axes,
	 "'i' runs on two iterators",
	 NULL},
	{"product, second transposed",
	 NODE_SPEC,
	 "i, j; j, k => i, k",
	 {"n, n", "n, n"},
	 "n, n",
	 swap_axes_2,
	 "'j' runs on two iterators",
	 NULL},
	{"product, result transposed",
	 NODE_SPEC,
	 "i, j; j, k => i, k",
	 {"n, n", "n, n"},
	 "n, n",
	 swap_written,
	 "'i' runs on two iterators",
	 NULL},
	{"composed, weight transposed",
	 NODE_COMPOSE,
	 NULL,
	 {"3 -> 3", "3 -> 3"},
	 "3 -> 3",
	 swap_axes,
	 "'axis 1' runs on two iterators",
	 NULL},
	{"transpose that copies",
	 NODE_TRANSPOSE,
	 NULL,
	 {"3 -> 3"},
	 "3 -> 3",
	 swap_axes,
	 "'axis 0' runs on two iterators",
	 NULL},
	{"trace reads a column",
	 NODE_SPEC,
	 "i, i => ",
	 {"n, n"},
	 "",
	 second_axis_stays,
	 "'i' stays at 0",
	 NULL},
	{"operand taken for a 1",
	 NODE_POINTWISE,
	 NULL,
	 {"n", "n"},
	 "n",
	 second_arg_stays,
	 "'axis 0' stays at 0",
	 NULL},
	{"two windows, one with the other's step",
	 NODE_SPEC,
	 "o<+k, p<+k => o, p, k",
	 {"4, 4"},
	 "3, 3, 2",
	 other_kernel,
	 "the affine index over 'p' has other terms",
	 NULL},
	{"written stride and dilation exchanged",
	 NODE_SPEC,
	 "i; k => 2*i<+k",
	 {"3", "3"},
	 "7",
	 exchanged_coefs,
	 "the affine index over 'i' has other terms",
	 NULL},
	{"dilation lost",
	 NODE_SPEC,
	 "o<+2*k; k => o",
	 {"n+4", "3"},
	 "n",
	 dilation_lost,
	 "the affine index over 'o' has other terms",
	 NULL},
	{"symbolic window, one too many",
	 NODE_SPEC,
	 "o<+k; k => o",
	 {"n+2", "3"},
	 "n",
	 all_one_longer,
	 "the affine axis over 'o' has size n + 2, which does not fit extent n + 1",
	 NULL},
	{"symbolic window, one too few",
	 NODE_SPEC,
	 "o<+k; k => o",
	 {"n+2", "3"},
	 "n",
	 all_one_shorter,
	 "an axis has no size, or one below 0",
	 NULL},
	{"kernel not to its end",
	 NODE_SPEC,
	 "o<+k; k => o",
	 {"n+2", "3"},
	 "n",
	 kernel_shorter,
	 "the affine axis over 'o' has size n + 2, which does not fit extent n",
	 NULL},
};

static void test_table(void **state)
{
	(void)state;
	assert_int_equal(wrong_answers(table, sizeof table / sizeof *table), 0);
}

/* ---- a guard that is dropped ---- */

static void test_dropped_guards(void **state)
{
	(void)state;
	assert_string_equal(check_guarded("o<+k; k => o", "n", "m", GUARD_EQ, "n", "m+2"), "");
	assert_string_not_equal(check_guarded("o<+k; k => o", "n", "m", GUARD_EQ, NULL, NULL), "");
	assert_string_not_equal(check_guarded("o<+k; k => o", "n", "m", GUARD_EQ, "n", "m+1"), "");
	assert_string_equal(check_guarded("2*i, => i", "n", "m", GUARD_EQ, "n", "2*m"), "");
	assert_string_not_equal(check_guarded("2*i, => i", "n", "m", GUARD_EQ, "n", "2*m+1"), "");
	assert_string_not_equal(check_guarded("2*i, => i", "n", "m", GUARD_GE, "n", "2*m"), "");
	assert_string_not_equal(check_guarded("i, i => i", "n, m", "m", GUARD_GE, "n", "m"), "");
	assert_string_equal(check_guarded("i, i => i", "n, m", "m", GUARD_EQ, "n", "m"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_dropped_guards),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
