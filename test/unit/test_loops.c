/* The loop IR: normal forms of indices, folding of values, identities, and a verifier that refuses
 * every kind of broken program (each in a child process, which must end as a compiler bug does). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "loops/linear.h"
#include "loops/walk.h"
#include "test/unit/small_program.h"

static const char *dump(SmallProgram *s)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	loops_dump(out, &s->program);
	fclose(out);
	const char *copy = arena_strndup(s->program.arena, text, n);
	free(text);
	return copy;
}

/* ---- indices ---- */

static void test_sums_have_one_form(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	const Ix *i = ix_iter(p->arena, 0), *j = ix_iter(p->arena, 1);
	const Ix *a = ix_add(p, ix_mul(p, ix_add(p, i, sp_ix(s, 2)), sp_ix(s, 3)), j);
	const Ix *b = ix_add(p, ix_add(p, ix_mul(p, i, sp_ix(s, 3)), sp_ix(s, 6)), j);
	assert_true(ix_same(a, b));
	Linear linear = ix_linear(p, a);
	assert_int_equal(linear.terms.n, 2);
	assert_true(size_is(p->sizes, linear.offset, 6));
	const Ix *gone = ix_add(p, i, ix_mul(p, i, sp_ix(s, -1)));
	assert_true(gone->kind == IX_SIZE && size_is(p->sizes, gone->size, 0));
	assert_true(ix_uses(a, 1) && !ix_uses(i, 1));
}

static void test_quotients_fold(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	const Ix *i = ix_iter(p->arena, 0);
	const Ix *even = ix_add(p, ix_mul(p, i, sp_ix(s, 4)), sp_ix(s, 3));
	assert_true(ix_same(ix_binary(p, IX_DIV, even, sp_ix(s, 2)),
			    ix_add(p, ix_mul(p, i, sp_ix(s, 2)), sp_ix(s, 1))));
	assert_true(ix_binary(p, IX_DIV, i, sp_ix(s, 2))->kind == IX_DIV);
	assert_true(ix_same(ix_binary(p, IX_MOD, sp_ix(s, -1), sp_ix(s, 4)), sp_ix(s, 3)));
	assert_true(ix_same(ix_binary(p, IX_MAX, sp_ix(s, -1), sp_ix(s, 4)), sp_ix(s, 4)));
	assert_true(ix_same(ix_binary(p, IX_MIN, i, i), i));
}

static void test_equal_values_are_the_same(void **state)
{
	SmallProgram *s = *state;
	const Dtype f32 = DTYPE_F32;
	BufferId x = sp_input(s, "x", f32, sp_const(s, 4)), y = sp_input(s, "y", f32, sp_const(s, 4));
	const Value *a = sp_load(s, x, sp_ix(s, 1));
	assert_true(value_same(a, sp_load(s, x, sp_ix(s, 1))));
	assert_false(value_same(a, sp_load(s, x, sp_ix(s, 2))));
	assert_false(value_same(a, sp_load(s, y, sp_ix(s, 1))));
	const Value *two = sp_number(s, f32, 2);
	const Value *product = sp_op(s, OP_MUL, a, two, NULL);
	assert_true(value_same(product, sp_op(s, OP_MUL, sp_load(s, x, sp_ix(s, 1)), sp_number(s, f32, 2), NULL)));
	assert_false(value_same(product, sp_op(s, OP_ADD, a, two, NULL)));
	assert_false(value_same(product, sp_op(s, OP_MUL, a, sp_number(s, f32, 3), NULL)));
	assert_true(ix_same(ix_value(s->program.arena, product), ix_value(s->program.arena, product)));
}

static void test_values_fold(void **state)
{
	SmallProgram *s = *state;
	BufferId x = sp_input(s, "x", DTYPE_F32, sp_const(s, 4));
	const Value *load = sp_load(s, x, sp_ix(s, 0)), *one = sp_number(s, DTYPE_F32, 1);
	assert_ptr_equal(sp_op(s, OP_MUL, load, one, NULL), load);
	assert_ptr_equal(sp_op(s, OP_MUL, one, load, NULL), load);
	const Value *two = sp_op(s, OP_ADD, one, one, NULL);
	assert_true(two->kind == VALUE_CONST && two->constant.f == 2);
	assert_true(sp_op(s, OP_ADD, load, sp_number(s, DTYPE_F32, 0), NULL)->kind == VALUE_OP); /* -0 + 0 is 0 */
	const Value *cast = value_cast(s->program.arena, DTYPE_I32, sp_number(s, DTYPE_F32, 2.9));
	assert_true(cast->kind == VALUE_CONST && cast->constant.i == 2);
}

/* ---- kernels ---- */

/* y[i] = x[i] + 1, or another operation, over other buffers each time. */
static void add_kernel(SmallProgram *s, const char *name, Op op)
{
	Size n = sp_const(s, 4);
	BufferId x = sp_input(s, "x", DTYPE_F32, n), y = sp_output(s, "y", DTYPE_F32, n);
	sp_begin(s, name);
	const Ix *i = sp_for(s, "i", ix_size(s->program.arena, n));
	sp_store(s, y, i, OP_NONE, sp_op(s, op, sp_load(s, x, i), sp_number(s, DTYPE_F32, 3), NULL));
	sp_end(s);
}

static void test_dump(void **state)
{
	SmallProgram *s = *state;
	add_kernel(s, "plus", OP_ADD);
	assert_non_null(strstr(dump(s), "kernel plus(x f32 in -> y f32 out)\n"
					"  for i in 0..4\n"
					"    y[i] = x[i] + 3\n"));
}

/* ---- broken programs ---- */

typedef struct Broken {
	SmallProgram *s;
	BufferId x, y, ids;
	const Ix *i;
} Broken;

static void store_unknown_buffer(Broken *b) { sp_store(b->s, 99, b->i, OP_NONE, sp_number(b->s, DTYPE_F32, 1)); }
static void store_into_input(Broken *b) { sp_store(b->s, b->x, b->i, OP_NONE, sp_number(b->s, DTYPE_F32, 1)); }
static void store_another_type(Broken *b) { sp_store(b->s, b->y, b->i, OP_NONE, sp_number(b->s, DTYPE_I32, 1)); }
static void accumulate_unary(Broken *b) { sp_store(b->s, b->y, b->i, OP_EXP, sp_number(b->s, DTYPE_F32, 1)); }
static void index_by_float(Broken *b)
{
	const Ix *ix = ix_value(b->s->program.arena, sp_load(b->s, b->x, b->i));
	sp_store(b->s, b->y, ix, OP_NONE, sp_number(b->s, DTYPE_F32, 1));
}
static void iterator_outside(Broken *b)
{
	sp_close(b->s);
	sp_store(b->s, b->y, b->i, OP_NONE, sp_number(b->s, DTYPE_F32, 1));
}
static void unknown_iterator(Broken *b)
{
	sp_store(b->s, b->y, ix_iter(b->s->program.arena, 7), OP_NONE, sp_number(b->s, DTYPE_F32, 1));
}
static void loop_in_itself(Broken *b)
{
	Body none = {0};
	sp_stmt(b->s, stmt_for(b->s->program.arena, b->i->iter, sp_ix(b->s, 0), sp_ix(b->s, 2), body_block(&none)));
}
static void mixed_types(Broken *b)
{
	Value *value = (Value *)sp_op(b->s, OP_ADD, sp_load(b->s, b->x, b->i), sp_number(b->s, DTYPE_F32, 2), NULL);
	value->args[1] = sp_number(b->s, DTYPE_I32, 2);
	sp_store(b->s, b->y, b->i, OP_NONE, value);
}
static void bad_size(Broken *b)
{
	sp_store(b->s, b->y, ix_size(b->s->program.arena, SIZE_BAD), OP_NONE, sp_number(b->s, DTYPE_F32, 1));
}
static void missing_value(Broken *b) { sp_stmt(b->s, stmt_store(b->s->program.arena, b->y, b->i, OP_NONE, NULL)); }
static void unknown_check(Broken *b) { sp_stmt(b->s, stmt_check(&b->s->program, b->i, b->i, 5)); }
static void unknown_scalar(Broken *b)
{
	sp_store(b->s, b->y, b->i, OP_NONE, value_scalar(b->s->program.arena, DTYPE_F32, 0));
}
static void local_outside(Broken *b)
{
	LocalId local = sp_local(b->s, "t", sp_number(b->s, DTYPE_F32, 1));
	const Value *value = sp_get(b->s, local);
	sp_close(b->s);
	sp_store(b->s, b->y, sp_ix(b->s, 0), OP_NONE, value);
}
static void local_of_another_type(Broken *b)
{
	LocalId local = sp_local(b->s, "t", sp_number(b->s, DTYPE_F32, 1));
	sp_stmt(b->s, stmt_set(b->s->program.arena, local, OP_NONE, sp_number(b->s, DTYPE_I32, 1)));
}
static void no_step(Broken *b)
{
	Body none = {0};
	Stmt *stmt = (Stmt *)stmt_for(b->s->program.arena, 0, sp_ix(b->s, 0), sp_ix(b->s, 2), body_block(&none));
	stmt->step = 0;
	sp_close(b->s);
	sp_stmt(b->s, stmt);
}
static void no_condition(Broken *b)
{
	Body none = {0};
	sp_stmt(b->s, stmt_if(b->s->program.arena, NULL, 0, body_block(&none)));
}

/* vector i in 0..extent: y[i*step] = x[i*stride] */
static void lanes(Broken *b, int64_t extent, int64_t step, int64_t stride)
{
	Program *program = &b->s->program;
	Body body = {0};
	const Ix *to = ix_mul(program, b->i, sp_ix(b->s, step));
	const Ix *from = ix_mul(program, b->i, sp_ix(b->s, stride));
	PUSH(program->arena, body.stmts,
	     stmt_store(program->arena, b->y, to, OP_NONE, value_load(program, b->x, from)));
	sp_close(b->s);
	sp_stmt(b->s, stmt_loop(program, LOOP_VECTOR, b->i->iter, extent, body_block(&body)));
}
static void lanes_spread(Broken *b) { lanes(b, 2, 1, 1); }
static void lanes_alike(Broken *b) { lanes(b, 4, 1, 0); }
static void lanes_strided(Broken *b) { lanes(b, 2, 3, 2); }
static void lanes_far_apart(Broken *b) { lanes(b, 2, 1, 17); }
static void lanes_into_one_element(Broken *b) { lanes(b, 4, 0, 1); }
static void too_many_lanes(Broken *b) { lanes(b, 1 << 20, 1, 1); }
static void loop_in_lanes(Broken *b)
{
	Program *program = &b->s->program;
	Body none = {0}, body = {0};
	IterVar outer = b->i->iter;
	sp_close(b->s);
	PUSH(program->arena, body.stmts, stmt_loop(program, LOOP_UNROLL, outer + 1, 2, body_block(&none)));
	sp_for(b->s, "j", sp_ix(b->s, 2));
	sp_close(b->s);
	sp_stmt(b->s, stmt_loop(program, LOOP_VECTOR, outer, 2, body_block(&body)));
}

/* vector i in 0..i of n: y[i] = x[i], or another body */
static void masked(Broken *b, const Stmt *inner, int64_t n)
{
	Program *program = &b->s->program;
	Body body = {0};
	const Ix *lane = ix_iter(program->arena, b->i->iter + 1);
	if (!inner)
		inner = stmt_store(program->arena, b->y, lane, OP_NONE,
				   value_load(program, b->x, lane));
	PUSH(program->arena, body.stmts, inner);
	sp_for(b->s, "lane", sp_ix(b->s, 1));
	sp_close(b->s);
	Stmt *loop = ARENA_NEW(program->arena, Stmt);
	*loop = *stmt_for(program->arena, b->i->iter + 1, sp_ix(b->s, 0), b->i, body_block(&body));
	loop->loop = LOOP_VECTOR;
	loop->lanes = n;
	sp_stmt(b->s, loop);
}
static void some_lanes(Broken *b) { masked(b, NULL, 4); }
static void many_masks(Broken *b) { masked(b, NULL, 1 << 10); }
static void masked_prefetch(Broken *b)
{
	masked(b, stmt_prefetch(b->s->program.arena, b->x, b->i, true), 4);
}
static void masked_loop_of_one(Broken *b)
{
	some_lanes(b);
	((Stmt *)b->s->bodies[b->s->depth].stmts.at[1])->loop = LOOP_SERIAL;
}

/* for j in 0..2 outlined: y[j] = t, a local in front of it */
static Stmt *outlined(Broken *b)
{
	LocalId t = sp_local(b->s, "t", sp_number(b->s, DTYPE_F32, 1));
	const Ix *j = sp_for(b->s, "j", sp_ix(b->s, 2));
	sp_store(b->s, b->y, j, OP_NONE, sp_get(b->s, t));
	sp_close(b->s);
	Body *body = &b->s->bodies[b->s->depth];
	Stmt *loop = (Stmt *)body->stmts.at[body->stmts.n - 1];
	loop->outlined = true;
	return loop;
}
static void outlined_takes_local(Broken *b) { outlined(b); }
static void outlined_unrolls(Broken *b)
{
	Stmt *loop = outlined(b);
	const Value *one = sp_number(b->s, DTYPE_F32, 1);
	((Stmt *)loop->body.stmts[0])->value = one;
	loop->loop = LOOP_UNROLL;
}

/* Verifies in a child: 0 where the program is accepted, 3 where it is refused as a bug. */
static int verdict(const Program *program)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		loops_verify(program);
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void test_verifier_refuses(void **state)
{
	static void (*const breaks[])(Broken *) = {
		store_unknown_buffer,  store_into_input,
		store_another_type,    accumulate_unary,
		index_by_float,	       iterator_outside,
		unknown_iterator,      loop_in_itself,
		mixed_types,	       bad_size,
		missing_value,	       unknown_check,
		unknown_scalar,	       local_outside,
		local_of_another_type, no_step,
		no_condition,	       outlined_takes_local,
		outlined_unrolls,
	};
	for (size_t k = 0; k <= sizeof breaks / sizeof breaks[0]; k++) {
		sp_teardown(state);
		sp_setup(state);
		SmallProgram *s = *state;
		Size n = sp_const(s, 4);
		Broken b = {.s = s, .x = sp_input(s, "x", DTYPE_F32, n), .y = sp_output(s, "y", DTYPE_F32, n)};
		sp_begin(s, "broken");
		b.i = sp_for(s, "i", ix_size(s->program.arena, n));
		bool broken = k < sizeof breaks / sizeof breaks[0];
		if (broken)
			breaks[k](&b);
		sp_end(s);
		if (verdict(&s->program) != (broken ? 3 : 0))
			fail_msg("broken program %zu", k);
	}
}

static void test_verifier_knows_lanes(void **state)
{
	static void (*const makes[])(Broken *) = {
		lanes_spread,		lanes_alike,	lanes_strided, some_lanes, lanes_far_apart,
		lanes_into_one_element, too_many_lanes, loop_in_lanes, many_masks, masked_prefetch,
		masked_loop_of_one};
	for (size_t k = 0; k < sizeof makes / sizeof makes[0]; k++) {
		sp_teardown(state);
		sp_setup(state);
		SmallProgram *s = *state;
		Size n = sp_const(s, 4);
		Broken b = {.s = s, .x = sp_input(s, "x", DTYPE_F32, n), .y = sp_output(s, "y", DTYPE_F32, n)};
		sp_begin(s, "lanes");
		b.i = sp_for(s, "i", ix_size(s->program.arena, n));
		makes[k](&b);
		sp_end(s);
		if (verdict(&s->program) != (k < 4 ? 0 : 3))
			fail_msg("lanes %zu", k);
	}
}

static void test_verifier_refuses_two_names(void **state)
{
	add_kernel(*state, "same", OP_ADD);
	add_kernel(*state, "same", OP_SUB);
	assert_int_equal(verdict(&((SmallProgram *)*state)->program), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sums_have_one_form, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_quotients_fold, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_equal_values_are_the_same, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_values_fold, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_dump, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_verifier_refuses, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_verifier_knows_lanes, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_verifier_refuses_two_names, sp_setup, sp_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
