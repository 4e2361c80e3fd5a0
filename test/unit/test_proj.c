/* Projections of hand-made operations: the dump says what was derived. The checker accepts each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "infer/check.h"
#include "test/unit/small_graph.h"

/* The dump without its first line (the operation itself); the checker must agree. */
static void expect(Small *s, NodeId id, const char *text)
{
	assert_non_null(small_derive(s, id));
	const char *dump = strchr(small_dump(s), '\n') + 1;
	assert_string_equal(dump, text);
	Checker c;
	checker_init(&c, &s->inference, s->arena);
	const char *why = check_node(&c, id);
	if (why)
		fail_msg("the checker says: %s", why);
}

static NodeId unary(Small *s, NodeKind kind, const char *spec, const char *from, const char *to)
{
	return small_spec(s, kind, spec, to, 1, (NodeId[]){small_leaf(s, from)});
}

static void expect_unary(void **state, const char *spec, const char *from, const char *to, const char *text)
{
	expect(*state, unary(*state, NODE_SPEC, spec, from, to), text);
}

static void test_matrix_product(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "5 -> 3"), b = small_leaf(s, "n | 4 -> 5");
	expect(s, small_op(s, NODE_COMPOSE, "n | 4 -> 3", 2, (NodeId[]){a, b}),
	       "  space  i0:n  i1:3  i2:4  i3:5  reduce i3\n"
	       "  result [i0 | i2 -> i1]  cleared first\n"
	       "  arg 0  t0 [i3 -> i1]\n"
	       "  arg 1  t1 [i0 | i2 -> i3]\n");
}

static void test_broadcast(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "2, ~1"), b = small_leaf(s, "3");
	expect(s, small_op(s, NODE_POINTWISE, "2, 3", 2, (NodeId[]){a, b}),
	       "  space  i0:2  i1:3\n"
	       "  result [i0, i1]\n"
	       "  arg 0  t0 [i0, 0]\n"
	       "  arg 1  t1 [i1]\n");
}

static void test_lead(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "3, 5");
	s->shapes[a].rows[ROW_OUTPUT].lead = 1;
	expect(s, small_op(s, NODE_CAST, "3, 4, 5", 1, (NodeId[]){a}),
	       "  space  i0:3  i1:4  i2:5\n"
	       "  result [i0, i1, i2]\n"
	       "  arg 0  t0 [i0, i2]\n");
}

static void test_transpose(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "b | i -> o");
	expect(s, small_op(s, NODE_TRANSPOSE, "b | o -> i", 1, (NodeId[]){a}),
	       "  space  i0:b  i1:i  i2:o\n"
	       "  result [i0 | i2 -> i1]\n"
	       "  arg 0  t0 [i0 | i1 -> i2]\n");
}

static void test_slice(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "3, n | 5"), at = small_leaf(s, "");
	NodeId fixed = small_op(s, NODE_SLICE, "n | 5", 1, (NodeId[]){a});
	graph_node(&s->graph, fixed)->slice_index = 2;
	expect(s, fixed, "  space  i0:n  i1:5\n"
	                 "  result [i0 | i1]\n"
	                 "  arg 0  t0 [2, i0 | i1]\n");
	s->projs[fixed] = NULL;
	expect(s, small_op(s, NODE_SLICE, "n | 5", 2, (NodeId[]){a, at}),
	       "  space  i0:n  i1:5\n"
	       "  result [i0 | i1]\n"
	       "  arg 0  t0 [(arg 1), i0 | i1]\n"
	       "  arg 1  t1 []\n");
}

static void test_gather(void **state)
{
	Small *s = *state;
	NodeId table = small_leaf(s, "v, d"), ids = small_leaf(s, "b, t |");
	expect(s, small_op(s, NODE_GATHER, "b, t | d", 2, (NodeId[]){table, ids}),
	       "  space  i0:b  i1:t  i2:d\n"
	       "  result [i0, i1 | i2]\n"
	       "  arg 0  t0 [(arg 1), i2]\n"
	       "  arg 1  t1 [i0, i1 |]\n");
}

static void test_reshape(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n, 6");
	expect(s, small_op(s, NODE_RESHAPE, "2 | n, 3", 1, (NodeId[]){a}),
	       "  element by element in storage order\n"
	       "  arg 0  t0 [n, 6]\n");
}

static void test_uniforms(void **state)
{
	Small *s = *state;
	NodeId words = small_leaf(s, "n, 3");
	graph_node(&s->graph, words)->dtype = DTYPE_U4X32;
	expect(s, small_op(s, NODE_UNIFORMS, "2 | n, 6", 1, (NodeId[]){words}),
	       "  element by element in storage order, each written as 4 neighbours\n"
	       "  arg 0  t0 [n, 3]\n");
}

static void test_stack(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "n"), b = small_leaf(s, "~1");
	NodeId stack = small_op(s, NODE_STACK, "2 | n", 2, (NodeId[]){a, b});
	graph_node(&s->graph, stack)->stack_row = ROW_BATCH;
	expect(s, stack, "  space  i0:n\n"
	                 "  result [0 | i0]\n"
	                 "  arg 0  t0 [i0]\n"
	                 "  result [1 | i0]\n"
	                 "  arg 1  t1 [0]\n");
}

static void test_permutation(void **state)
{
	expect_unary(state, "a, b | c, d -> e, f => c, f | a, e -> d, b", "2, 3 | 4, 5 -> 6, 7",
	             "4, 7 | 2, 6 -> 5, 3",
	             "  space  c:4  f:7  d:5  b:3  a:2  e:6\n"
	             "  result [c, f | a, e -> d, b]\n"
	             "  arg 0  t0 [a, b | c, d -> e, f]\n");
}

static void test_row_variables(void **state)
{
	expect_unary(state, "... | ..v.., k => ... | k, ..v..", "n, 2 | 3, 4, 5", "n, 2 | 5, 3, 4",
	             "  space  batch0:n  batch1:2  k:5  v0:3  v1:4\n"
	             "  result [batch0, batch1 | k, v0, v1]\n"
	             "  arg 0  t0 [batch0, batch1 | v0, v1, k]\n");
}

static void test_diagonals(void **state)
{
	Small *s = *state;
	NodeId extract = unary(s, NODE_SPEC, "i, i => i", "3, 3", "3");
	expect(s, extract, "  space  i:3\n  result [i]\n  arg 0  t0 [i, i]\n");
	s->projs[extract] = NULL;
	NodeId embed = unary(s, NODE_SPEC, "i => i, i", "n", "n, n");
	expect(s, embed, "  space  i:n\n  result [i, i]  cleared first\n  arg 0  t2 [i]\n");
	assert_true(s->projs[embed]->injective);
	assert_false(s->projs[embed]->surjective);
}

static void test_fixed_indices(void **state)
{
	Small *s = *state;
	NodeId one = unary(s, NODE_SPEC, "i => i, 0", "n", "n, 1");
	expect(s, one, "  space  i:n\n  result [i, 0]\n  arg 0  t0 [i]\n");
	s->projs[one] = NULL;
	expect_unary(state, "i, j => i, 1, j", "3, 4", "3, 2, 4",
	             "  space  i:3  j:4\n  result [i, 1, j]  cleared first\n  arg 0  t2 [i, j]\n");
}

static void test_placeholders(void **state)
{
	expect_unary(state, "_, i, _ => i", "2, 3, n", "3",
	             "  space  i:3  i0:2  i1:n  reduce i0, i1\n"
	             "  result [i]  cleared first\n"
	             "  arg 0  t0 [i0, i, i1]\n");
}

static void test_only_in_result(void **state)
{
	expect_unary(state, "i => j, i", "3", "n, 3",
	             "  space  j:n  i:3\n  result [j, i]\n  arg 0  t0 [i]\n");
}

static void test_size_one(void **state)
{
	expect_unary(state, "i, j, k => k, i", "1, 1, 3", "3, 1",
	             "  space  k:3\n  result [k, 0]\n  arg 0  t0 [0, 0, k]\n");
}

static void test_scalar(void **state)
{
	expect_unary(state, "=> ", "", "", "  space  one step\n  result []\n  arg 0  t0 []\n");
}

static void test_valid_convolution(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n | 9, 9, 1"), w = small_leaf(s, "3, 3, 1 -> 8");
	expect(s, small_spec(s, NODE_SPEC,
	                     "... | 2*oh<+kh, 2*ow<+kw, ..ic..; kh, kw, ..ic.. -> oc => ... | oh, ow, oc",
	                     "n | 4, 4, 8", 2, (NodeId[]){x, w}),
	       "  space  batch0:n  oh:4  ow:4  oc:8  kh:3  kw:3  reduce kh, kw\n"
	       "  result [batch0 | oh, ow, oc]  cleared first\n"
	       "  arg 0  t0 [batch0 | 2*oh + kh, 2*ow + kw, 0]\n"
	       "  arg 1  t1 [kh, kw, 0 -> oc]\n");
}

static void test_padded_convolution(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n"), w = small_leaf(s, "3");
	expect(s, small_spec(s, NODE_SPEC, "o=+2*k; k => o", "n", 2, (NodeId[]){x, w}),
	       "  space  o:n  k:3  reduce k\n"
	       "  result [o]  cleared first\n"
	       "  arg 0  t0 [o + 2*k - 2?]\n"
	       "  arg 1  t1 [k]\n"
	       "margins of 0  t0 [2 + 2]\n");
}

static void test_padding_of_one(void **state)
{
	Small *s = *state;
	NodeId x = small_leaf(s, "n"), w = small_leaf(s, "1");
	expect(s, small_spec(s, NODE_SPEC, "o=+k; k => o", "n", 2, (NodeId[]){x, w}),
	       "  space  o:n\n  result [o]\n  arg 0  t0 [o]\n  arg 1  t1 [0]\n");
}

static void test_pool(void **state)
{
	Small *s = *state;
	NodeId pool = unary(s, NODE_SPEC, "2*o<+w, c => o, c", "2*n, c", "n, c");
	small_letter(s, pool, "w", "2");
	expect(s, pool, "  space  o:n  c:c  w:2  reduce w\n"
	                "  result [o, c]  cleared first\n"
	                "  arg 0  t0 [2*o + w, c]\n");
}

static void test_pool_gradient(void **state)
{
	expect_unary(state, "o, w => 2*o<+w", "3, 2", "6",
	             "  space  o:3  w:2\n  result [2*o + w]\n  arg 0  t0 [o, w]\n");
}

static void test_scatter(void **state)
{
	Small *s = *state;
	NodeId add = unary(s, NODE_SPEC, "i, j => i<+j", "3, 3", "5");
	expect(s, add, "  space  i:3  j:3\n  result [i + j]  cleared first\n  arg 0  t0 [i, j]\n");
	assert_false(s->projs[add]->injective);
	assert_true(s->projs[add]->surjective);
}

static void test_coprime(void **state)
{
	Small *s = *state;
	NodeId add = unary(s, NODE_SPEC, "a, b => 3*a<+4*b", "3, 2", "11");
	expect(s, add, "  space  a:3  b:2\n  result [3*a + 4*b]  cleared first\n  arg 0  t0 [a, b]\n");
	assert_true(s->projs[add]->injective);
	assert_false(s->projs[add]->surjective);
}

static void test_interleave(void **state)
{
	expect_unary(state, "i => 2*i+1", "n", "2*n",
	             "  space  i:n\n  result [2*i + 1]  cleared first\n  arg 0  t0 [i]\n");
}

static void test_concat(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "2, m"), b = small_leaf(s, "n, m");
	expect(s, small_spec(s, NODE_BLOCK, "x, ...; y, ... => x^y, ...", "n+2, m", 2, (NodeId[]){a, b}),
	       "  space  x:2 ^ y:n  output0:m\n"
	       "  result [x, output0]\n"
	       "  arg 0  t0 [x, output0]\n"
	       "  result [y + 2, output0]\n"
	       "  arg 1  t1 [y, output0]\n");
}

static void test_concat_in_rows(void **state)
{
	Small *s = *state;
	NodeId args[4] = {small_leaf(s, "2, 4"), small_leaf(s, "2, 5"), small_leaf(s, "3, 4"), small_leaf(s, "3, 5")};
	NodeId block = small_spec(s, NODE_BLOCK, "a, c; a, d; b, c; b, d => a^b, c^d", "5, 9", 4, args);
	expect(s, block, "  space  a:2 ^ b:3  c:4 ^ d:5\n"
	                 "  result [a, c]\n  arg 0  t0 [a, c]\n"
	                 "  result [a, d + 4]\n  arg 1  t1 [a, d]\n"
	                 "  result [b + 2, c]\n  arg 2  t2 [b, c]\n"
	                 "  result [b + 2, d + 4]\n  arg 3  t3 [b, d]\n");
}

static void test_skipped_parts(void **state)
{
	Small *s = *state;
	NodeId drop = unary(s, NODE_BLOCK, "3^a => a", "n+3", "n");
	expect(s, drop, "  space  a:n\n  result [a]\n  arg 0  t0 [a + 3]\n");
	s->projs[drop] = NULL;
	NodeId split = unary(s, NODE_BLOCK, "b^a => a", "7", "3");
	small_letter(s, split, "b", "4");
	expect(s, split, "  space  a:3\n  result [a]\n  arg 0  t2 [a + 4]\n");
	s->projs[split] = NULL;
	expect_unary(state, "i => 1^i", "n", "n+1",
	             "  space  i:n\n  result [i + 1]  cleared first\n  arg 0  t4 [i]\n");
}


static void test_argmax(void **state)
{
	Small *s = *state;
	NodeId max = unary(s, NODE_ARGMAX, "i, j => i", "3, 1", "3");
	expect(s, max, "  space  i:3  j:1  reduce j\n  result [i]  cleared first\n  arg 0  t0 [i, j]\n");
}

static void test_three_operands(void **state)
{
	Small *s = *state;
	NodeId args[3] = {small_leaf(s, "2, 3"), small_leaf(s, "2, 3"), small_leaf(s, "2, 3")};
	NodeId where = small_spec(s, NODE_SPEC, "i, j; i, j; i, j => i", "2", 3, args);
	expect(s, where, "  space  i:2  j:3  reduce j\n"
	                 "  result [i]  cleared first\n"
	                 "  arg 0  t0 [i, j]\n  arg 1  t1 [i, j]\n  arg 2  t2 [i, j]\n");
}

static void test_names_are_unique(void **state)
{
	expect_unary(state, "v0, ..v.., i0, _ => v0, ..v.., i0", "2, 3, 4, 5", "2, 3, 4",
	             "  space  v0:2  v0_:3  i0:4  i1:5  reduce i1\n"
	             "  result [v0, v0_, i0]  cleared first\n"
	             "  arg 0  t0 [v0, v0_, i0, i1]\n");
}

/* Errors of the program, not of the compiler. */
static void expect_error(Small *s, NodeId id, DiagCode code)
{
	assert_null(small_derive(s, id));
	assert_int_equal(s->diags.list.n, 1);
	assert_int_equal(s->diags.list.at[0].code, code);
}

static void test_ambiguous_block(void **state)
{
	Small *s = *state;
	NodeId a = small_leaf(s, "2"), b = small_leaf(s, "2");
	expect_error(s, small_spec(s, NODE_BLOCK, "i; i => i^2", "4", 2, (NodeId[]){a, b}), E0331);
}

static void test_argmax_needs_one_axis(void **state)
{
	expect_error(*state, unary(*state, NODE_ARGMAX, "i, j, k => i", "2, 3, 4", "2"), E0332);
}

static void test_no_permutation(void **state)
{
	Small *s = *state;
	NodeId id = unary(s, NODE_SPEC, "i, j => i", "2, 3", "2");
	graph_node(&s->graph, id)->permutes = true;
	expect_error(s, id, E0333);
}

static void test_repeated_part(void **state)
{
	expect_error(*state, unary(*state, NODE_BLOCK, "i => i^i", "2", "4"), E0931);
}

static void test_too_many_blocks(void **state)
{
	char spec[4096] = "0 => ", part[32];
	Shape result = {0};
	Small *s = *state;
	NodeId id = small_spec(s, NODE_BLOCK, "0 => 0", "1", 1, (NodeId[]){small_leaf(s, "1")});
	result.rows[ROW_OUTPUT] = (Row){ARENA_ARRAY(s->arena, Axis, 24), 24, 0, 0};
	for (uint32_t i = 0; i < 24; i++) {
		snprintf(part, sizeof part, "x%u^y%u, ", i, i);
		strcat(spec, part);
		result.rows[ROW_OUTPUT].axes[i].size = size_const(s->graph.sizes, 2);
		snprintf(part, sizeof part, "x%u", i);
		small_letter(s, id, part, "1");
		snprintf(part, sizeof part, "y%u", i);
		small_letter(s, id, part, "1");
	}
	s->shapes[id] = result;
	graph_node(&s->graph, id)->spec = small_parse_spec(s, spec);
	expect_error(s, id, E0932);
}

#define T(name) cmocka_unit_test_setup_teardown(name, small_setup, small_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_matrix_product),
		T(test_broadcast),
		T(test_lead),
		T(test_transpose),
		T(test_slice),
		T(test_gather),
		T(test_reshape),
		T(test_uniforms),
		T(test_stack),
		T(test_permutation),
		T(test_row_variables),
		T(test_diagonals),
		T(test_fixed_indices),
		T(test_placeholders),
		T(test_only_in_result),
		T(test_size_one),
		T(test_scalar),
		T(test_valid_convolution),
		T(test_padded_convolution),
		T(test_padding_of_one),
		T(test_pool),
		T(test_pool_gradient),
		T(test_scatter),
		T(test_coprime),
		T(test_interleave),
		T(test_concat),
		T(test_concat_in_rows),
		T(test_skipped_parts),
		T(test_argmax),
		T(test_three_operands),
		T(test_names_are_unique),
		T(test_ambiguous_block),
		T(test_argmax_needs_one_axis),
		T(test_no_permutation),
		T(test_repeated_part),
		T(test_too_many_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
