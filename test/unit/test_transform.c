/* The passes from loops to loops: each alone, and any of them together, keep the program's numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lower/lower.h"
#include "test/unit/lower_fixture.h"
#include "transform/transform.h"

/* A program on which each pass has something to do: rows that are normalised, a copy with its axes
 * exchanged, two small products of the same number of rows. */
static Program *small_program(Small *s)
{
	NodeId x = small_leaf(s, "48, 80"), y = small_leaf(s, "48, 8"), w = small_leaf(s, "8, 80");
	NodeId most = small_einsum(s, "i, j => i", "48", 1, (NodeId[]){x});
	NodeId less = small_einsum(s, "i, j; i => i, j", "48, 80", 2, (NodeId[]){x, most});
	NodeId rows = small_einsum(s, "i, j => i", "48", 1, (NodeId[]){less});
	NodeId whole = small_einsum(s, "i, j; i => i, j", "48, 80", 2, (NodeId[]){less, rows});
	NodeId turned = small_einsum(s, "i, j => j, i", "80, 48", 1, (NodeId[]){x});
	NodeId first = small_einsum(s, "i, k; k, j => i, j", "48, 80", 2, (NodeId[]){y, w});
	NodeId second = small_einsum(s, "i, k; k, j => i, j", "48, 80", 2, (NodeId[]){y, w});
	NodeId third = small_pointwise(s, OP_ADD, "48, 80", 2, (NodeId[]){second, x});
	small_routine(s, 4, (NodeId[]){whole, turned, first, third});
	const LowerOptions options = {.target = small_target(s), .grain = 1000};
	LowerPlan *plan = lower_plan(tensor_run_all(&s->inference, s->arena), &s->sources, s->arena,
				     &s->diags, &options, NULL);
	lower_plan_kernels(plan);
	return lower_kernels(plan);
}

/* Each has something to do by itself, on what is emitted, and nothing to do a second time; `unread` where
 * parameters have panels (test/lit/transform/unread.loops), `exchange` in loops of routines (exchange.test), `elide` in
 * concatenations (elide.test), `prefetch` in gathers (prefetch.loops), `stream` of large results (stream.loops),
 * `unroll` of rows of few elements (unroll.test). */
static void each_pass_runs_alone(void **state)
{
	(void)state;
	for (uint32_t pass = PASS_FUSION; pass <= PASS_HOIST; pass++) {
		if (pass == PASS_ELIDE || pass == PASS_PREFETCH || pass == PASS_STREAM ||
		    pass == PASS_UNROLL)
			continue;
		Small s;
		small_init(&s);
		Program *program = small_program(&s);
		assert_non_null(program);
		assert_false(program->placed);
		loops_verify(program);
		program = transform_run(pass, program, NULL, &s.diags);
		if (!program->changed)
			fail_msg("%s changes nothing", transform_passes[pass].name);
		loops_verify(program);
		if (transform_run(pass, program, NULL, &s.diags)->changed)
			fail_msg("%s changes it again", transform_passes[pass].name);
		lower_finish(program, NULL, &s.diags);
		small_free(&s);
	}
}

/* All, or any of those that have something to do here. */
static void any_passes_keep_the_numbers(void **state)
{
	(void)state;
	const uint32_t all = (1u << (PASS_HOIST + 1 - PASS_FUSION)) - 1;
	const uint32_t idle = 1u << (PASS_ELIDE - PASS_FUSION) |
			      1u << (PASS_PREFETCH - PASS_FUSION) |
			      1u << (PASS_STREAM - PASS_FUSION) | 1u << (PASS_UNROLL - PASS_FUSION);
	for (uint32_t some = 0; some <= all; some++) {
		if ((some & idle) && some != all)
			continue;
		Small s;
		small_init(&s);
		Program *program = small_program(&s);
		for (uint32_t pass = PASS_FUSION; pass <= PASS_HOIST; pass++)
			if (some >> (pass - PASS_FUSION) & 1)
				program = transform_run(pass, program, NULL, &s.diags);
		lower_finish(program, NULL, &s.diags);
		program = transform_run(PASS_MEMORY, program, NULL, &s.diags);
		assert_true(program->placed);
		loops_verify(program);
		expect_right(&s, program);
		small_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pass_runs_alone),
		cmocka_unit_test(any_passes_keep_the_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
