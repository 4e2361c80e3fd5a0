/* The checker rejects wrong projections and shapes, each for its own reason, and accepts right
 * ones.
 *
 * Each row of the table makes one operation, derives its projection (accepted), breaks one thing,
 * and says what the checker must answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/wrong_proj.h"

static Axis *axis_of(Small *s, NodeId id, uint32_t i)
{
	return (Axis *)shape_axis(&s->shapes[id], i);
}

static void nothing(Small *s, NodeId id) { (void)s, (void)id; }
static void no_proj(Small *s, NodeId id) { s->projs[id] = NULL; }
static void swap_result(Small *s, NodeId id) { swap_terms(result_index(s, id, 0), result_index(s, id, 1)); }
static void swap_arg(Small *s, NodeId id) { swap_terms(arg_index(s, id, 0, 0), arg_index(s, id, 0, 1)); }
static void arg_stays(Small *s, NodeId id) { arg_index(s, id, 0, 0)->nterms = 0; }
static void arg_doubled(Small *s, NodeId id) { arg_index(s, id, 0, 0)->terms[0].coef = 2; }
static void arg_coef_0(Small *s, NodeId id) { arg_index(s, id, 0, 0)->terms[0].coef = 0; }
static void arg_shifted(Small *s, NodeId id) { arg_index(s, id, 0, 0)->offset = number(s, 1); }
static void arg_below(Small *s, NodeId id) { arg_index(s, id, 0, 0)->offset = number(s, -1); }
static void arg_bad(Small *s, NodeId id) { arg_index(s, id, 0, 0)->offset = SIZE_BAD; }
static void arg_guarded(Small *s, NodeId id) { arg_index(s, id, 0, 0)->guarded = true; }
static void arg_unguarded(Small *s, NodeId id) { arg_index(s, id, 0, 0)->guarded = false; }
static Margin *margin_of(Small *s, NodeId id)
{
	return &s->margins[graph_node(&s->graph, id)->args[0]]->axes[0];
}
static void less_before(Small *s, NodeId id) { margin_of(s, id)->before = number(s, 0); }
static void less_behind(Small *s, NodeId id) { margin_of(s, id)->after = number(s, 0); }
static void more_behind(Small *s, NodeId id) { margin_of(s, id)->after = number(s, 2); }
static void arg_gathers(Small *s, NodeId id)
{
	graph_node(&s->graph, graph_node(&s->graph, id)->args[0])->dtype = DTYPE_I32;
	*arg_index(s, id, 0, 0) = (Index){.offset = number(s, 0), .gather = 0};
}
static void gathers_beyond(Small *s, NodeId id)
{
	*arg_index(s, id, 0, 0) = (Index){.offset = number(s, 0), .gather = 7};
}
static void iter_beyond(Small *s, NodeId id) { arg_index(s, id, 0, 0)->terms[0].iter = 99; }
static void one_more(Small *s, NodeId id)
{
	Size *extent = &s->projs[id]->iters[0].extent;
	*extent = size_plus(s->graph.sizes, *extent, 1);
}
static void one_less(Small *s, NodeId id)
{
	Iter *iters = s->projs[id]->iters;
	Iter *last = &iters[s->projs[id]->niters - 1];
	last->extent = size_plus(s->graph.sizes, last->extent, -1);
}
static void not_reduced(Small *s, NodeId id) { s->projs[id]->iters[s->projs[id]->niters - 1].reduced = false; }
static void all_reduced(Small *s, NodeId id) { s->projs[id]->iters[0].reduced = true; }
static void no_clear(Small *s, NodeId id) { s->projs[id]->clear = false; }
static void needless_clear(Small *s, NodeId id) { s->projs[id]->clear = true; }
static void claims_once(Small *s, NodeId id) { s->projs[id]->injective = true; }
static void claims_all(Small *s, NodeId id) { s->projs[id]->surjective = true; }
static void no_pieces(Small *s, NodeId id) { s->projs[id]->npieces = 0; }
static void first_piece_only(Small *s, NodeId id) { s->projs[id]->npieces = 1; }
static void swap_pieces(Small *s, NodeId id)
{
	Piece *pieces = s->projs[id]->pieces;
	Access result = pieces[0].result;
	pieces[0].result = pieces[1].result;
	pieces[1].result = result;
}
static void piece_twice(Small *s, NodeId id) { s->projs[id]->pieces[1] = s->projs[id]->pieces[0]; }
static void late_block(Small *s, NodeId id)
{
	s->projs[id]->pieces[1].result.axes[0].offset = number(s, 3);
}
static void early_block(Small *s, NodeId id)
{
	s->projs[id]->pieces[1].result.axes[0].offset = number(s, 1);
}
static void both_args(Small *s, NodeId id)
{
	s->projs[id]->pieces[0].args[1] = s->projs[id]->pieces[1].args[1];
}
static void no_arg(Small *s, NodeId id) { s->projs[id]->pieces[0].args[0].present = false; }
static void no_result(Small *s, NodeId id) { s->projs[id]->pieces[0].result.present = false; }
static void short_access(Small *s, NodeId id) { s->projs[id]->pieces[0].args[0].naxes--; }
static void piece_runs_less(Small *s, NodeId id) { s->projs[id]->pieces[0].niters--; }
static void piece_order(Small *s, NodeId id)
{
	Piece *piece = &s->projs[id]->pieces[0];
	IterId first = piece->iters[0];
	piece->iters[0] = piece->iters[piece->niters - 1];
	piece->iters[piece->niters - 1] = first;
}
static void piece_repeats(Small *s, NodeId id)
{
	Piece *piece = &s->projs[id]->pieces[0];
	piece->iters[piece->niters - 1] = piece->iters[0];
}
static void factor_missing(Small *s, NodeId id) { s->projs[id]->nfactors--; }
static void factor_twice(Small *s, NodeId id) { s->projs[id]->factors[1] = s->projs[id]->factors[0]; }
static void one_factor(Small *s, NodeId id)
{
	Factor *factor = &s->projs[id]->factors[0];
	IterId *iters = ARENA_ARRAY(s->arena, IterId, 2);
	iters[0] = 0;
	iters[1] = 1;
	*factor = (Factor){iters, 2};
	s->projs[id]->factors[1] = s->projs[id]->factors[s->projs[id]->nfactors - 1];
	s->projs[id]->nfactors--;
}
static void linear(Small *s, NodeId id) { s->projs[id]->linear = true; }
static void no_words(Small *s, NodeId id)
{
	graph_node(&s->graph, s->graph.nodes.at[id].args[0])->dtype = DTYPE_F32;
}
static void eleven(Small *s, NodeId id) { axis_of(s, id, 0)->size = number(s, 11); }
static void two_a_word(Small *s, NodeId id) { s->projs[id]->width = 2; }
static void words_in_pieces(Small *s, NodeId id) { s->projs[id]->npieces = 1; }
static void words_not_in_order(Small *s, NodeId id) { s->projs[id]->linear = false; }
static void words_cleared(Small *s, NodeId id) { s->projs[id]->clear = true; }
static void a_word_more(Small *s, NodeId id)
{
	axis_of(s, s->graph.nodes.at[id].args[0], 0)->size = number(s, 4);
}
static void fewer_args(Small *s, NodeId id) { s->projs[id]->nargs = 0; }
static void arg_axis_7(Small *s, NodeId id)
{
	axis_of(s, s->graph.nodes.at[id].args[0], 0)->size = number(s, 7);
}
static void result_axis_7(Small *s, NodeId id) { axis_of(s, id, 0)->size = number(s, 7); }
static void result_axis_2(Small *s, NodeId id)
{
	axis_of(s, id, 0)->size = number(s, 2);
	axis_of(s, id, 0)->stretch = false;
}
static void result_axis_bad(Small *s, NodeId id) { axis_of(s, id, 0)->size = SIZE_BAD; }
static void rank_less(Small *s, NodeId id) { s->shapes[s->graph.nodes.at[id].args[0]].rows[ROW_OUTPUT].n--; }
static void stretch_lost(Small *s, NodeId id)
{
	axis_of(s, s->graph.nodes.at[id].args[0], 0)->stretch = false;
}
static void stretch_wide(Small *s, NodeId id)
{
	axis_of(s, s->graph.nodes.at[id].args[0], 0)->stretch = true;
}
static void labels_differ(Small *s, NodeId id)
{
	axis_of(s, id, 0)->label = sym_cstr(s->symbols, "rgb");
	axis_of(s, s->graph.nodes.at[id].args[0], 0)->label = sym_cstr(s->symbols, "hsv");
}
static void slice_5(Small *s, NodeId id)
{
	graph_node(&s->graph, id)->slice_index = 5;
	arg_index(s, id, 0, 0)->offset = number(s, 5);
}
static void slice_elsewhere(Small *s, NodeId id) { arg_index(s, id, 0, 0)->offset = number(s, 1); }
static void other_gather(Small *s, NodeId id)
{
	graph_node(&s->graph, graph_node(&s->graph, id)->args[0])->dtype = DTYPE_I32;
	arg_index(s, id, 0, 0)->gather = 0;
}
static void one_iterator(Small *s, NodeId id)
{
	Proj *proj = s->projs[id];
	result_index(s, id, 1)->terms[0].iter = 0;
	arg_index(s, id, 0, 1)->terms[0].iter = 0;
	proj->pieces[0].niters = proj->niters = proj->nfactors = 1;
}

#define COPY "i, j => i, j", {"3, 3"}, "3, 3"
#define SUM "i, j => i", {"3, 4"}, "3"
#define NSUM "i, j => i", {"n, m"}, "n"
#define CONV "o<+k; k => o", {"6", "3"}, "4"
#define SAME "o=+k; k => o", {"6", "3"}, "6"
#define JOIN "a; b => a^b", {"2", "3"}, "5"

static const Wrong table[] = {
	{"copy", NODE_SPEC, COPY, nothing, NULL},
	{"sum of symbols", NODE_SPEC, NSUM, nothing, NULL},
	{"convolution", NODE_SPEC, CONV, nothing, NULL},
	{"padded", NODE_SPEC, SAME, nothing, NULL},
	{"concatenation", NODE_BLOCK, JOIN, nothing, NULL},
	{"no projection", NODE_SPEC, COPY, no_proj, "has no projection"},
	{"transposed", NODE_SPEC, COPY, swap_arg, "two iterators"},
	{"result transposed", NODE_SPEC, COPY, swap_result, "two iterators"},
	{"one iterator for two letters", NODE_SPEC, COPY, one_iterator, "run on one iterator"},
	{"operand stays at 0", NODE_SPEC, COPY, arg_stays, "stays at 0"},
	{"operand strided", NODE_SPEC, COPY, arg_doubled, "not the index of its own axis"},
	{"coefficient 0", NODE_SPEC, COPY, arg_coef_0, "coefficient 0"},
	{"operand shifted", NODE_SPEC, COPY, arg_shifted, "not the index of its own axis"},
	{"no offset", NODE_SPEC, COPY, arg_bad, "no offset"},
	{"guarded", NODE_SPEC, COPY, arg_guarded, "without padding"},
	{"gathers", NODE_SPEC, COPY, arg_gathers, "read from an operand where it should not be"},
	{"gathers from nowhere", NODE_SPEC, COPY, gathers_beyond, "does not exist"},
	{"iterator out of range", NODE_SPEC, COPY, iter_beyond, "iterator 99 of 2"},
	{"one step too many", NODE_SPEC, COPY, one_more, "runs over 4"},
	{"one step too few", NODE_SPEC, SUM, one_less, "runs over 3"},
	{"symbol, too many", NODE_SPEC, NSUM, one_more, "runs over n + 1"},
	{"reduced, not said", NODE_SPEC, SUM, not_reduced, "out of order"},
	{"reduced, but in the result", NODE_SPEC, COPY, all_reduced, "the result mentions it"},
	{"sum without clearing", NODE_SPEC, SUM, no_clear, "must be cleared"},
	{"symbolic sum without clearing", NODE_SPEC, NSUM, no_clear, "must be cleared"},
	{"needless clearing", NODE_SPEC, COPY, needless_clear, "for nothing"},
	{"sum writes once", NODE_SPEC, SUM, claims_once, "denies it"},
	{"scatter writes once", NODE_SPEC, "i, j => i<+j", {"3, 3"}, "5", claims_once, "two steps"},
	{"symbolic scatter",
	 NODE_SPEC,
	 "i, j => 2*i<+j",
	 {"n, 3"},
	 "2*n+1",
	 claims_once,
	 "two steps"},
	{"coprime scatter",
	 NODE_SPEC,
	 "i, j => 3*i<+4*j",
	 {"5, 4"},
	 "25",
	 claims_once,
	 "two steps"},
	{"diagonal writes all", NODE_SPEC, "i => i, i", {"n"}, "n, n", claims_all, "never written"},
	{"every second writes all",
	 NODE_SPEC,
	 "i => 2*i",
	 {"n"},
	 "2*n",
	 claims_all,
	 "never written"},
	{"coprime writes all",
	 NODE_SPEC,
	 "i, j => 3*i<+4*j",
	 {"3, 2"},
	 "11",
	 claims_all,
	 "never written"},
	{"skipped part written", NODE_BLOCK, "i => 1^i", {"n"}, "n+1", claims_all, "never written"},
	{"no pieces", NODE_SPEC, COPY, no_pieces, "a choice of parts has no piece"},
	{"piece without its last iterator", NODE_SPEC, SUM, piece_runs_less,
	 "runs over 1 iterators"},
	{"0 in the result, longer",
	 NODE_SPEC,
	 "i, j => 0, i",
	 {"3, 4"},
	 "~1, 3",
	 result_axis_2,
	 "a 0 of the result is an axis of size 2"},
	{"reduced first", NODE_SPEC, SUM, piece_order, "out of order"},
	{"iterator twice", NODE_SPEC, SUM, piece_repeats, "twice"},
	{"iterator in no factor", NODE_SPEC, COPY, factor_missing, "in no factor"},
	{"iterator in two factors", NODE_SPEC, COPY, factor_twice, "two factors"},
	{"factors made one", NODE_SPEC, COPY, one_factor, "alternatives of one factor"},
	{"operand missing", NODE_SPEC, CONV, no_arg, "reads 1 of 2"},
	{"result missing", NODE_SPEC, COPY, no_result, "writes nothing"},
	{"index missing", NODE_SPEC, COPY, short_access, "1 indices for 2 axes"},
	{"operands missing", NODE_SPEC, COPY, fewer_args, "0 operands are projected"},
	{"linear", NODE_SPEC, COPY, linear, "only a reshape"},
	{"window shifted", NODE_SPEC, CONV, arg_shifted, "shifted by 1, not 0"},
	{"window before 0", NODE_SPEC, CONV, arg_below, "shifted by -1, not 0"},
	{"window strided", NODE_SPEC, CONV, arg_doubled, "other terms"},
	{"padding not guarded", NODE_SPEC, SAME, arg_unguarded, "falls below 0"},
	{"padding on the other side", NODE_SPEC, SAME, arg_shifted, "shifted by 1, not -1"},
	{"margin in front too small", NODE_SPEC, SAME, less_before, "leaves the margins of operand 0"},
	{"margin behind too small", NODE_SPEC, SAME, less_behind, "leaves the margins of operand 0"},
	{"margin larger", NODE_SPEC, SAME, more_behind, NULL},
	{"block too late", NODE_BLOCK, JOIN, late_block, "starts at 3, not 2"},
	{"block too early", NODE_BLOCK, JOIN, early_block, "starts at 1, not 2"},
	{"block missing", NODE_BLOCK, JOIN, first_piece_only, "no piece writes block 'b'"},
	{"block twice", NODE_BLOCK, JOIN, piece_twice, "no piece writes block 'b'"},
	{"blocks exchanged", NODE_BLOCK, JOIN, swap_pieces, "runs over 1 iterators and mentions 2"},
	{"two operands in one block", NODE_BLOCK, JOIN, both_args, "mentions 2"},
	{"operand of another size", NODE_SPEC, COPY, arg_axis_7, "an axis of size 7"},
	{"result of another size", NODE_SPEC, COPY, result_axis_7, "runs over 3"},
	{"result without a size", NODE_SPEC, COPY, result_axis_bad, "no size"},
	{"axis missing", NODE_SPEC, COPY, rank_less, "does not fit its specification"},
	{"convolved axis of another size", NODE_SPEC, CONV, arg_axis_7, "does not fit extent"},
	{"padded axis of another size", NODE_SPEC, SAME, arg_axis_7, "does not fit extent"},
	{"concatenation of another size", NODE_BLOCK, JOIN, result_axis_7, "its parts have 5"},
	{"labels", NODE_SPEC, COPY, labels_differ, "labelled"},
	{"broadcasting lost",
	 NODE_POINTWISE,
	 NULL,
	 {"~1, 3", "2, 3"},
	 "2, 3",
	 stretch_lost,
	 "two iterators"},
	{"broadcasting into nothing wider",
	 NODE_POINTWISE,
	 NULL,
	 {"~1, 3"},
	 "~1, 3",
	 result_axis_2,
	 "an axis of 2 is made of broadcasting axes alone"},
	{"broadcasting a wide axis",
	 NODE_POINTWISE,
	 NULL,
	 {"2, 3", "2, 3"},
	 "2, 3",
	 stretch_wide,
	 "fixed index 0"},
	{"pointwise transposed", NODE_POINTWISE, NULL, {"3, 3"}, "3, 3", swap_arg, "two iterators"},
	{"more axes than the result",
	 NODE_POINTWISE,
	 NULL,
	 {"3", "3"},
	 "3",
	 arg_axis_7,
	 "an axis of size 7"},
	{"slice", NODE_SLICE, NULL, {"3 | 2"}, "2", nothing, NULL},
	{"slice outside", NODE_SLICE, NULL, {"3 | 2"}, "2", slice_5, "index 5 is outside"},
	{"slice elsewhere", NODE_SLICE, NULL, {"3 | 2"}, "2", slice_elsewhere, "fixed index 0"},
	{"gather", NODE_GATHER, NULL, {"5, 2", "b |"}, "b | 2", nothing, NULL},
	{"gathers from itself",
	 NODE_GATHER,
	 NULL,
	 {"5, 2", "b |"},
	 "b | 2",
	 other_gather,
	 "another operand"},
	{"reshape", NODE_RESHAPE, NULL, {"2, 3"}, "6", nothing, NULL},
	{"uniforms", NODE_UNIFORMS, NULL, {"n, 3"}, "2, n, 6", nothing, NULL},
	{"uniforms of numbers",
	 NODE_UNIFORMS,
	 NULL,
	 {"3"},
	 "12",
	 no_words,
	 "written as 4, not as 1"},
	{"two numbers a word",
	 NODE_UNIFORMS,
	 NULL,
	 {"3"},
	 "12",
	 two_a_word,
	 "written as 2, not as 4"},
	{"uniforms one short", NODE_UNIFORMS, NULL, {"3"}, "12", eleven, "3 elements has 11"},
	{"uniforms that leave some",
	 NODE_UNIFORMS,
	 NULL,
	 {"3"},
	 "12",
	 a_word_more,
	 "4 elements has 12"},
	{"uniforms in pieces", NODE_UNIFORMS, NULL, {"3"}, "12", words_in_pieces, "has pieces"},
	{"uniforms out of order", NODE_UNIFORMS, NULL, {"3"}, "12", words_not_in_order, "in order"},
	{"uniforms cleared",
	 NODE_UNIFORMS,
	 NULL,
	 {"3"},
	 "12",
	 words_cleared,
	 "writes every element once"},
	{"reshape of another size", NODE_RESHAPE, NULL, {"2, 3"}, "6", arg_axis_7, "21 elements"},
	{"stack", NODE_STACK, NULL, {"3", "3"}, "2 | 3", nothing, NULL},
	{"stack in another order",
	 NODE_STACK,
	 NULL,
	 {"3", "3"},
	 "2 | 3",
	 swap_pieces,
	 "another place"},
	{"stack without its last",
	 NODE_STACK,
	 NULL,
	 {"3", "3"},
	 "2 | 3",
	 first_piece_only,
	 "has 1 pieces"},
	{"stack of another size",
	 NODE_STACK,
	 NULL,
	 {"3", "3"},
	 "2 | 3",
	 result_axis_7,
	 "has size 7"},
	{"argmax along two axes", NODE_ARGMAX, "i, j => i", {"2, 3"}, "2", needless_clear, NULL},
};

static void test_table(void **state)
{
	(void)state;
	assert_int_equal(wrong_answers(table, sizeof table / sizeof *table), 0);
}

/* ---- sizes under guards ---- */

static const char *check_copy(const char *from, const char *to, const char *a, const char *b)
{
	return check_guarded("i => i", from, to, GUARD_EQ, a, b);
}

static void test_guards(void **state)
{
	(void)state;
	assert_string_equal(check_copy("n", "m", "n", "m"), "");
	assert_string_equal(check_copy("n", "2*m", "n", "2*m"), "");
	assert_string_equal(check_copy("n", "m", NULL, NULL), "'i' runs over m and is an axis of size n");
	assert_string_equal(check_copy("n", "m", "n", "2*m"), "'i' runs over m and is an axis of size n");
}

/* A fixed index into a symbolic axis needs its guard. */
static void test_index_guard(void **state)
{
	(void)state;
	for (int guarded = 0; guarded < 2; guarded++) {
		Small s;
		Checker c;
		small_init(&s);
		NodeId arg = small_leaf(&s, "n");
		NodeId id = small_spec(&s, NODE_SPEC, "3 => ", "", 1, &arg);
		if (guarded)
			small_guard(&s, GUARD_GE, "n", "4");
		assert_non_null(small_derive(&s, id));
		checker_init(&c, &s.inference, s.arena);
		const char *why = check_node(&c, id);
		if (guarded)
			assert_null(why);
		else
			assert_string_equal(why, "index 3 is outside an axis of size n");
		small_free(&s);
	}
}

/* ---- leaves and the program's clauses ---- */

static void test_leaf(void **state)
{
	(void)state;
	Small s;
	Checker c;
	small_init(&s);
	NodeId id = small_leaf(&s, "n | 3");
	SizeExpr three = {.kind = SX_NUMBER, .number = 3}, n = {.kind = SX_DIM};
	DeclAxis batch = {.size = &n}, output = {.size = &three};
	ShapeDecl decl = {.rows = {{&batch, 1, -1, NULL, false}, {NULL, 0, -1, NULL, false},
	                           {&output, 1, -1, NULL, false}}};
	graph_node(&s.graph, id)->shape = &decl;
	checker_init(&c, &s.inference, s.arena);
	assert_null(check_node(&c, id));
	three.number = 4;
	assert_string_equal(check_node(&c, id), "the output row declares 4 and has 3");
	three.number = 3;
	output.label = sym_cstr(s.symbols, "rgb");
	assert_string_equal(check_node(&c, id), "an axis declared rgb is labelled not at all");
	decl.rows[ROW_INPUT] = decl.rows[ROW_OUTPUT];
	assert_string_equal(check_node(&c, id), "the input row declares 1 axes and has 0");
	small_free(&s);
}

static void test_program(void **state)
{
	(void)state;
	Small s;
	Checker c;
	small_init(&s);
	NodeId arg = small_leaf(&s, "2, 3, n");
	NodeId id = small_spec(&s, NODE_SPEC, "..v.., k => k", "n", 1, &arg);
	SizeExpr six = {.kind = SX_NUMBER, .number = 6}, n = {.kind = SX_DIM};
	Size captures[1] = {small_size(&s, "6")};
	s.inference.captures = captures;
	PUSH(s.arena, s.graph.binds, ((Bind){.node = id, .letter = sym_cstr(s.symbols, "v"), .size = &six}));
	assert_non_null(small_derive(&s, id));
	checker_init(&c, &s.inference, s.arena);
	assert_null(check_program(&c));
	six.number = 5;
	assert_string_equal(check_program(&c), "'v' was set to 5 and is 6");
	six.number = 6;
	s.graph.binds.at[0].letter = sym_cstr(s.symbols, "k");
	assert_string_equal(check_program(&c), "'k' was set to 6 and is n");
	s.graph.binds.n = 0;
	PUSH(s.arena, s.graph.requires, ((Require){.op = REQUIRE_GE, .a = &n, .b = &six}));
	assert_string_equal(check_program(&c), "requirement 1 is neither met nor guarded");
	small_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_guards),
		cmocka_unit_test(test_index_guard), cmocka_unit_test(test_leaf),
		cmocka_unit_test(test_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
