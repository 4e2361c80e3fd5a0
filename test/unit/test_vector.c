/* Transformations of loops: each gives the numbers of the loops that it was made from, passes the
 * verifier, and tells why it leaves a loop alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "loops/vector/vector.h"
#include "test/unit/small_program.h"

enum { MOST = 200 };

static VectorTarget sixteen_lanes(void)
{
	VectorTarget target = {.lanes = 16,
			       .side_by_side = 4,
			       .lanes_trips = 4,
			       .fast_path_strip = 512,
			       .fast_path_trips = 32};
	target.in_lanes[OP_EXP] = true;
	target.fast_path[OP_SIN][DTYPE_F32] = true;
	return target;
}

/* Expects the same outputs of both programs at each n, all elements of x different. */
static void expect_same(SmallProgram *s, const Program *after)
{
	static const int64_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 130, MOST};
	float x[MOST], y[2][MOST];
	for (int i = 0; i < MOST; i++)
		x[i] = (float)(i * 7 % MOST) / 37 - 2;
	loops_verify(after);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		for (int run = 0; run < 2; run++) {
			memcpy(y[run], x, sizeof x);
			InterpArgs args = {.dims = &sizes[k],
					   .inputs = (const void *[]){x},
					   .outputs = (void *[]){y[run]}};
			assert_int_equal(interp_run(run ? after : &s->program, 0, &args), 0);
		}
		assert_memory_equal(y[0], y[1], sizeof y[0]);
	}
}

static const Value *exp_of(SmallProgram *s, const Value *x)
{
	return sp_op(s, OP_EXP, x, NULL, NULL);
}

/* for i in 0..n: y[i] += t*x[i] - exp(t*x[i]), where t = exp(x[i]) */
static void add_math(SmallProgram *s, const Ix *n)
{
	BufferId x = sp_input(s, "x", DTYPE_F32, n->size),
		 y = sp_output(s, "y", DTYPE_F32, n->size);
	sp_begin(s, "math");
	const Ix *i = sp_for(s, "i", n);
	LocalId t = sp_local(s, "t", exp_of(s, sp_load(s, x, i)));
	const Value *product = sp_op(s, OP_MUL, sp_get(s, t), sp_load(s, x, i), NULL);
	sp_store(s, y, i, OP_ADD, sp_op(s, OP_SUB, product, exp_of(s, product), NULL));
	sp_end(s);
}

static bool has_masks(Block block)
{
	bool has = false;
	for (uint32_t i = 0; i < block.n; i++)
		has |= block.stmts[i]->lanes > 0 || has_masks(block.stmts[i]->body);
	return has;
}

static void test_math_lanes(void **state)
{
	static const int64_t trips[] = {-1, 4, 16, 21, 64, 90, 128, 199};
	VectorTarget target = sixteen_lanes();
	for (size_t k = 0; k < sizeof trips / sizeof *trips; k++) {
		sp_teardown(state);
		sp_setup(state);
		SmallProgram *s = *state;
		const Ix *n = ix_size(s->program.arena, sp_dim(s, "n", 0));
		add_math(s, trips[k] < 0 ? n : sp_ix(s, trips[k]));
		const Stmt *plain = s->program.kernels.at[0].body.stmts[0];
		const Program *after = vector_run(VECTOR_LANES, &s->program, &target);
		assert_ptr_equal(s->program.kernels.at[0].body.stmts[0], plain);
		assert_int_equal(has_masks(after->kernels.at[0].body), trips[k] % 16 != 0);
		expect_same(s, after);
	}
}

/* for i in 0..n: local t = x[i] * 2; y[i] = sin(t) * exp(x[i]) */
static void add_angles(SmallProgram *s, Size n)
{
	BufferId x = sp_input(s, "x", DTYPE_F32, n), y = sp_output(s, "y", DTYPE_F32, n);
	sp_begin(s, "angles");
	const Ix *i = sp_for(s, "i", ix_size(s->program.arena, n));
	const Value *two = sp_number(s, DTYPE_F32, 2);
	LocalId t = sp_local(s, "t", sp_op(s, OP_MUL, sp_load(s, x, i), two, NULL));
	const Value *sine = sp_op(s, OP_SIN, sp_get(s, t), NULL, NULL);
	sp_store(s, y, i, OP_NONE, sp_op(s, OP_MUL, sine, exp_of(s, sp_load(s, x, i)), NULL));
	sp_end(s);
}

static void test_fast_path_strips(void **state)
{
	VectorTarget target = sixteen_lanes();
	SmallProgram *s = *state;
	add_angles(s, sp_dim(s, "n", 0));
	const Program *after = vector_run(VECTOR_FAST_PATH, &s->program, &target);
	const Stmt *strips = after->kernels.at[0].body.stmts[0];
	assert_int_equal(strips->step, 512);
	assert_int_equal(strips->body.n, 4);
	assert_int_equal(strips->body.stmts[1]->body.n, 2); /* the local, and what is asked of it */
	const Stmt *fast = strips->body.stmts[2], *store = fast->body.stmts[0]->body.stmts[1];
	assert_true(fast->kind == LOOP_IF && store->value->args[0]->fast_path);
	assert_false(
		strips->body.stmts[3]->body.stmts[0]->body.stmts[1]->value->args[0]->fast_path);
	expect_same(s, after);
}

/* Of random words times a constant the fast path is right alone. */
static void test_fast_path_alone(void **state)
{
	VectorTarget target = sixteen_lanes();
	SmallProgram *s = *state;
	Arena *arena = s->program.arena;
	BufferId y = sp_output(s, "y", DTYPE_F32, sp_const(s, MOST));
	for (int far = 0; far < 2; far++) {
		sp_begin(s, far ? "far" : "near");
		const Ix *i = sp_for(s, "i", sp_ix(s, MOST));
		const Value *words =
			value_cast(arena, DTYPE_U4X32, value_index(arena, DTYPE_I64, i));
		const Value *args[] = {value_cast(arena, DTYPE_F32, words),
				       sp_number(s, DTYPE_F32, far ? 1e6 : 6)};
		const Value *angle = value_op(arena, OP_MUL, DTYPE_F32, args, 2);
		sp_store(s, y, i, OP_NONE, sp_op(s, OP_SIN, angle, NULL, NULL));
		sp_end(s);
	}
	const Program *after = vector_run(VECTOR_FAST_PATH, &s->program, &target);
	loops_verify(after);
	assert_true(after->kernels.at[0].body.stmts[0]->body.stmts[0]->value->fast_path);
	assert_int_equal(after->kernels.at[1].body.stmts[0]->step, 512);
}

/* ---- functions ---- */

/* for j in 0..4: for k in 0..2: unroll u in 0..times: y[u] += x[j] + t, t a local in front of it. */
static void add_heavy_loop(SmallProgram *s, const BufferId *xy, int64_t times, bool local)
{
	const Value *one = sp_number(s, DTYPE_F32, 1), *t = one;
	if (local)
		t = sp_get(s, sp_local(s, "t", one));
	const Ix *j = sp_for(s, "j", sp_ix(s, 4));
	sp_for(s, "k", sp_ix(s, 2));
	const Ix *u = sp_for(s, "u", sp_ix(s, times));
	sp_store(s, xy[1], u, OP_ADD, sp_op(s, OP_ADD, sp_load(s, xy[0], j), t, NULL));
	sp_close(s);
	Stmt *last = (Stmt *)s->bodies[s->depth].stmts.at[0];
	last->loop = LOOP_UNROLL;
	sp_close(s);
	sp_close(s);
}

static const Stmt *heavy_program(SmallProgram *s, int64_t times, bool local)
{
	const BufferId xy[] = {sp_input(s, "x", DTYPE_F32, sp_const(s, MOST)),
			       sp_output(s, "y", DTYPE_F32, sp_const(s, MOST))};
	sp_begin(s, "heavy");
	sp_for(s, "i", sp_ix(s, 3));
	for (int n = 0; n < 3; n++)
		add_heavy_loop(s, xy, times, local);
	sp_end(s);
	Block body = s->program.kernels.at[0].body.stmts[0]->body;
	return body.stmts[body.n - 1];
}

static void test_outline(void **state)
{
	static const struct {
		int64_t times;
		bool local;
		const char *why;
	} cases[] = {{150, false, NULL},
		     {150, true, "it needs a local from outside"},
		     {20, false, "a call would take as long"},
		     {MOST, false, NULL}};
	VectorTarget target = sixteen_lanes();
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		sp_teardown(state);
		sp_setup(state);
		SmallProgram *s = *state;
		const Stmt *loop = heavy_program(s, cases[k].times, cases[k].local);
		Vectoring t = {.program = &s->program,
			       .kernel = &s->program.kernels.at[0],
			       .target = &target};
		const char *why = outline_refused(&t, loop);
		assert_true(why == cases[k].why || strcmp(why, cases[k].why) == 0);
		const Program *after = vector_run(VECTOR_OUTLINE, &s->program, &target);
		const Block *inside = &after->kernels.at[0].body.stmts[0]->body;
		assert_int_equal(inside->stmts[inside->n - 1]->outlined, !why);
		expect_same(s, after);
	}
	SmallProgram *s = *state;
	Kernel *kernel = &s->program.kernels.at[0];
	Vectoring t = {.program = &s->program, .kernel = kernel, .target = &target};
	assert_string_equal(outline_refused(&t, kernel->body.stmts[0]),
			    "it is too heavy for a function");
}

/* ---- loops that stay ---- */

typedef struct Case {
	SmallProgram *s;
	BufferId x, y;
	const Ix *i;
} Case;

static void no_function(Case *c) { sp_store(c->s, c->y, c->i, OP_NONE, sp_load(c->s, c->x, c->i)); }
static void strided_load(Case *c)
{
	const Ix *twice = sp_mul(c->s, c->i, sp_ix(c->s, 2));
	sp_store(c->s, c->y, c->i, OP_NONE, exp_of(c->s, sp_load(c->s, c->x, twice)));
}
static void strided_store(Case *c)
{
	const Ix *twice = sp_mul(c->s, c->i, sp_ix(c->s, 2));
	sp_store(c->s, c->y, twice, OP_NONE, exp_of(c->s, sp_load(c->s, c->x, c->i)));
}
static void chain(Case *c)
{
	const Ix *next = sp_add(c->s, c->i, sp_ix(c->s, 1));
	sp_store(c->s, c->y, next, OP_NONE, exp_of(c->s, sp_load(c->s, c->y, c->i)));
}
static void other_function(Case *c)
{
	sp_store(c->s, c->y, c->i, OP_NONE,
		 exp_of(c->s, sp_op(c->s, OP_SIN, sp_load(c->s, c->x, c->i), NULL, NULL)));
}
static void loop_inside(Case *c)
{
	const Ix *j = sp_for(c->s, "j", sp_ix(c->s, 2));
	sp_store(c->s, c->y, sp_add(c->s, c->i, j), OP_NONE,
		 exp_of(c->s, sp_load(c->s, c->x, c->i)));
	sp_close(c->s);
}

/* A new program of one loop. */
static SmallProgram *begin_case(void **state, void (*make)(Case *), int64_t trips)
{
	sp_teardown(state);
	sp_setup(state);
	SmallProgram *s = *state;
	Case c = {.s = s};
	c.x = sp_input(s, "x", DTYPE_F32, sp_const(s, MOST));
	c.y = sp_output(s, "y", DTYPE_F32, sp_const(s, MOST));
	sp_begin(s, "stays");
	c.i = sp_for(s, "i", sp_ix(s, trips));
	make(&c);
	sp_end(s);
	return s;
}

static void sine_of_sine(Case *c)
{
	const Value *sine = sp_op(c->s, OP_SIN, sp_load(c->s, c->x, c->i), NULL, NULL);
	sp_store(c->s, c->y, c->i, OP_NONE, sp_op(c->s, OP_SIN, sine, NULL, NULL));
}
static void sine_of_local(Case *c)
{
	const Value *sine = sp_op(c->s, OP_SIN, sp_load(c->s, c->x, c->i), NULL, NULL);
	LocalId t = sp_local(c->s, "t", sine);
	sp_store(c->s, c->y, c->i, OP_NONE, sp_op(c->s, OP_SIN, sp_get(c->s, t), NULL, NULL));
}
static void sine_of_stored(Case *c)
{
	const Ix *next = sp_add(c->s, c->i, sp_ix(c->s, 1));
	const Value *sine = sp_op(c->s, OP_SIN, sp_load(c->s, c->y, c->i), NULL, NULL);
	sp_store(c->s, c->y, next, OP_NONE, sine);
}

static void test_fast_path_strips_refused(void **state)
{
	static const struct {
		void (*make)(Case *);
		const char *why;
		int64_t trips;
	} cases[] = {
		{no_function, "there is no function with a fast path", 40},
		{other_function, "there are few iterations", 31},
		{sine_of_sine, "an argument is made of such a function", 40},
		{sine_of_local, "an argument is made of such a function", 40},
		{sine_of_stored, "an argument is what another iteration may store", 40},
		{loop_inside, "the body does not end with a store", 40},
	};
	VectorTarget target = sixteen_lanes();
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		SmallProgram *s = begin_case(state, cases[k].make, cases[k].trips);
		Kernel *kernel = &s->program.kernels.at[0];
		Vectoring t = {.program = &s->program, .kernel = kernel, .target = &target};
		assert_string_equal(fast_path_strips_refused(&t, kernel->body.stmts[0]),
				    cases[k].why);
	}
}

static void test_math_lanes_refused(void **state)
{
	static const struct {
		void (*make)(Case *);
		const char *why;
		int64_t trips;
	} cases[] = {
		{no_function, "there is no function", 40},
		{no_function, "there are few iterations", 3},
		{strided_load, "a load is not contiguous", 40},
		{strided_store, "a store is not contiguous", 40},
		{chain, "an element is read that another iteration stores", 40},
		{other_function, "an operation has no vectors", 40},
		{loop_inside, "the body is more than locals and stores", 40},
	};
	VectorTarget target = sixteen_lanes(), none = {0};
	target.fast_path[OP_SIN][DTYPE_F32] = false;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		SmallProgram *s = begin_case(state, cases[k].make, cases[k].trips);
		Kernel *kernel = &s->program.kernels.at[0];
		Vectoring t = {.program = &s->program, .kernel = kernel, .target = &target};
		assert_string_equal(math_lanes_refused(&t, kernel->body.stmts[0]), cases[k].why);
		t.target = &none;
		assert_string_equal(math_lanes_refused(&t, kernel->body.stmts[0]),
				    "the target has no masks");
		const Program *after = vector_run(VECTOR_LANES, &s->program, &target);
		assert_ptr_equal(after->kernels.at[0].body.stmts, kernel->body.stmts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_math_lanes, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_math_lanes_refused, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_outline, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_fast_path_strips, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_fast_path_alone, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(test_fast_path_strips_refused, sp_setup,
						sp_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
