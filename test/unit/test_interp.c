/* The interpreter: loops, conditions, locals, accumulations, casts, checks, guards, bounds; and the
 * initialisers of parameters. */
#include <math.h>
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

#include "base/size_eval.h"
#include "base/threefry.h"
#include "test/unit/small_program.h"

static int run(SmallProgram *s, int64_t n, const void *x, void *y)
{
	const Scalar scalars[2] = {{.f = 0.5}, {.i = 7}};
	InterpArgs args = {.dims = (int64_t[]){n, n}, .scalars = scalars, .inputs = (const void *[]){x},
			   .outputs = (void *[]){y}};
	return interp_run(&s->program, 0, &args);
}

static void test_sum_in_a_local(void **state)
{
	SmallProgram *s = *state;
	Size n = sp_dim(s, "n", 0);
	BufferId x = sp_input(s, "x", DTYPE_F32, n), y = sp_output(s, "y", DTYPE_F32, sp_const(s, 1));
	sp_begin(s, "sum");
	LocalId acc = sp_local(s, "acc", sp_number(s, DTYPE_F32, 0));
	const Ix *i = sp_for(s, "i", ix_size(s->program.arena, n));
	sp_stmt(s, stmt_set(s->program.arena, acc, OP_ADD, sp_load(s, x, i)));
	sp_close(s);
	sp_store(s, y, sp_ix(s, 0), OP_NONE, sp_get(s, acc));
	sp_end(s);
	loops_verify(&s->program);
	float values[1000], want = 0, got;
	srand(1);
	for (int k = 0; k < 1000; k++) {
		values[k] = (float)rand() / (float)RAND_MAX - 0.5f;
		want += values[k];
	}
	assert_int_equal(run(s, 1000, values, &got), 0);
	assert_true(got == want); /* f32 after every step, in the order of the loop */
	assert_int_equal(run(s, 0, values, &got), 0);
	assert_true(got == 0);
}

static void test_conditions_and_division(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Size n = sp_const(s, 9);
	BufferId y = sp_output(s, "y", DTYPE_I32, n);
	sp_begin(s, "k");
	const Ix *i = sp_for(s, "i", ix_size(p->arena, n));
	const Ix *centred = ix_add(p, i, sp_ix(s, -4));
	sp_store(s, y, i, OP_NONE, value_index(p->arena, DTYPE_I32, ix_binary(p, IX_DIV, centred, sp_ix(s, 3))));
	Body then = {0};
	PUSH(p->arena, then.stmts,
	     stmt_store(p->arena, y, i, OP_ADD,
			value_index(p->arena, DTYPE_I32, ix_mul(p, ix_binary(p, IX_MOD, centred, sp_ix(s, 3)),
								 sp_ix(s, 10)))));
	Cond conds[2] = {{COND_LE, sp_ix(s, 2), i}, {COND_LT, i, sp_ix(s, 5)}};
	sp_stmt(s, stmt_if(p->arena, conds, 2, body_block(&then)));
	sp_end(s);
	loops_verify(p);
	int32_t got[9], want[9] = {-2, -1, -1 + 10, -1 + 20, 0, 0, 0, 1, 1};
	assert_int_equal(run(s, 0, NULL, got), 0);
	assert_memory_equal(got, want, sizeof got);
}

static void test_casts_and_scalars(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Size n = sp_const(s, 3);
	BufferId x = sp_input(s, "x", DTYPE_F32, n), y = sp_output(s, "y", DTYPE_I32, n);
	uint32_t half = sp_scalar(s, "half", DTYPE_F32), seven = sp_scalar(s, "seven", DTYPE_I32);
	sp_begin(s, "k");
	const Ix *i = sp_for(s, "i", ix_size(p->arena, n));
	const Value *sum = sp_op(s, OP_ADD, sp_load(s, x, i), value_scalar(p->arena, DTYPE_F32, half), NULL);
	const Value *as_int = value_cast(p->arena, DTYPE_I32, sum);
	sp_store(s, y, i, OP_NONE, sp_op(s, OP_MAX, as_int, value_scalar(p->arena, DTYPE_I32, seven), NULL));
	sp_end(s);
	loops_verify(p);
	int32_t got[3];
	assert_int_equal(run(s, 0, (float[]){9.6f, 1e30f, NAN}, got), 0);
	assert_int_equal(got[0], 10);
	assert_int_equal(got[1], INT32_MAX);
	assert_int_equal(got[2], 7);
}

static void test_arrays_of_locals(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	BufferId y = sp_output(s, "y", DTYPE_F32, sp_const(s, 6));
	sp_begin(s, "k");
	LocalId t = sp_local(s, "t", sp_number(s, DTYPE_F32, 2));
	s->kernel.locals[t].rank = 2;
	s->kernel.locals[t].extent[0] = 2;
	s->kernel.locals[t].extent[1] = 3;
	const Ix *i = sp_for(s, "i", sp_ix(s, 2)), *j = sp_for(s, "j", sp_ix(s, 3));
	const Ix **at = ARENA_ARRAY(p->arena, const Ix *, 2);
	at[0] = i;
	at[1] = j;
	const Ix *flat = sp_add(s, sp_mul(s, i, sp_ix(s, 3)), j);
	Stmt *set = (Stmt *)stmt_set(p->arena, t, OP_ADD, value_index(p->arena, DTYPE_F32, flat));
	set->ixs = at;
	set->nixs = 2;
	sp_stmt(s, set);
	Value *value = ARENA_NEW(p->arena, Value);
	*value = (Value){.kind = VALUE_LOCAL, .dtype = DTYPE_F32, .local = t, .ixs = at, .nixs = 2};
	sp_store(s, y, flat, OP_NONE, value);
	sp_end(s);
	loops_verify(p);
	float got[6];
	assert_int_equal(run(s, 0, NULL, got), 0);
	for (int k = 0; k < 6; k++)
		assert_true(got[k] == 2 + (float)k);
}

static void test_checks_and_guards(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Size n = sp_dim(s, "n", 2);
	BufferId x = sp_input(s, "x", DTYPE_I32, n);
	sp_check(s, (Check){.kind = CHECK_DIVIDES, .a = n, .b = sp_const(s, 2), .text = "even"}, true);
	CheckId range = sp_check(s, (Check){.kind = CHECK_INDEX, .text = "range"}, false);
	sp_begin(s, "k");
	const Ix *i = sp_for(s, "i", ix_size(p->arena, n));
	sp_stmt(s, stmt_check(p, ix_value(p->arena, sp_load(s, x, i)), sp_ix(s, 5), range));
	sp_end(s);
	loops_verify(p);
	assert_int_equal(run(s, 4, (int32_t[]){0, 4, 1, 2}, NULL), 0);
	assert_int_equal(run(s, 4, (int32_t[]){0, 4, 5, 2}, NULL), 17);
	assert_int_equal(run(s, 2, (int32_t[]){0, -1}, NULL), 17);
	assert_int_equal(run(s, 3, (int32_t[]){0, 1, 2}, NULL), 16);
	assert_int_equal(run(s, 0, NULL, NULL), 2); /* below its declared minimum */
}

static void test_leaving_a_buffer_is_a_bug(void **state)
{
	SmallProgram *s = *state;
	Size n = sp_const(s, 3);
	BufferId y = sp_output(s, "y", DTYPE_F32, n);
	sp_begin(s, "k");
	const Ix *i = sp_for(s, "i", sp_ix(s, 4));
	sp_store(s, y, i, OP_NONE, sp_number(s, DTYPE_F32, 1));
	sp_end(s);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		float got[4];
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		run(s, 0, NULL, got);
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_initialisers(void **state)
{
	SmallProgram *s = *state;
	sp_param(s, "w", sp_const(s, 10), sp_const(s, 4));
	sp_param(s, "b", sp_const(s, 3), sp_const(s, 0));
	ProgramParam *w = &s->program.params.at[0], *b = &s->program.params.at[1];
	w->init = PARAM_UNIFORM;
	w->key = 0x123456789abcdef0u;
	b->init = PARAM_CONSTANT;
	b->value = 0.25;
	int64_t bytes, at;
	assert_true(size_eval(s->program.sizes, s->program.state, NULL, &bytes));
	char *memory = calloc(1, (size_t)bytes);
	assert_int_equal(interp_init(&s->program, NULL, memory, 42), 0);
	for (int i = 0; i < 10; i++) {
		float u = (float)(threefry_word(42, w->key, (uint64_t)i) >> 8) * 0x1p-24f;
		assert_true(((float *)memory)[i] == (2 * u - 1) * 0.5f);
	}
	assert_true(size_eval(s->program.sizes, b->offset, NULL, &at));
	assert_true(((float *)(memory + at))[2] == 0.25f);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sum_in_a_local, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_conditions_and_division, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_casts_and_scalars, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_arrays_of_locals, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_checks_and_guards, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_leaving_a_buffer_is_a_bug, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_initialisers, sp_setup, sp_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
