/* Parallel loops: which loops are independent, what the verifier refuses, and that the interpreter
 * sees two iterations that meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "loops/dependence.h"
#include "transform/transform.h"
#include "test/unit/small_program.h"

/* for i in 0..ni: for j in 0..nj: y[coef_i*i + coef_j*j + offset] = 1, and where `second` is not
 * below 0 the same at that offset too. */
typedef struct Case {
	int64_t ni, nj, coef_i, coef_j, offset, second;
	bool outer, inner; /* independent? */
} Case;

static const Kernel *build(SmallProgram *s, const Case *c)
{
	sp_init(s);
	BufferId y = sp_output(s, "y", DTYPE_F32, sp_const(s, 1000));
	sp_begin(s, "k");
	const Ix *i = sp_for(s, "i", sp_ix(s, c->ni)), *j = sp_for(s, "j", sp_ix(s, c->nj));
	const Ix *at = sp_add(s, sp_mul(s, i, sp_ix(s, c->coef_i)), sp_mul(s, j, sp_ix(s, c->coef_j)));
	sp_store(s, y, sp_add(s, at, sp_ix(s, c->offset)), OP_NONE, sp_number(s, DTYPE_F32, 1));
	if (c->second >= 0)
		sp_store(s, y, sp_add(s, at, sp_ix(s, c->second)), OP_NONE, sp_number(s, DTYPE_F32, 2));
	sp_end(s);
	return &s->program.kernels.at[0];
}

/* The kernel with its outermost loop marked. */
static void mark(SmallProgram *s, bool inner, LoopKind kind)
{
	Kernel *kernel = &s->program.kernels.at[0];
	Stmt *outer = ARENA_NEW(s->program.arena, Stmt), *within = ARENA_NEW(s->program.arena, Stmt);
	*outer = *kernel->body.stmts[0];
	*within = *outer->body.stmts[0];
	(inner ? within : outer)->loop = kind;
	outer->threads = within->threads = 1;
	const Stmt **stmts = ARENA_ARRAY(s->program.arena, const Stmt *, 2);
	stmts[0] = outer;
	stmts[1] = within;
	outer->body = (Block){stmts + 1, 1};
	kernel->body = (Block){stmts, 1};
}

static void test_independence(void **state)
{
	(void)state;
	static const Case cases[] = {
		{5, 7, 7, 1, 0, -1, true, true},   /* rows of a matrix */
		{5, 7, 1, 5, 0, -1, true, true},   /* columns */
		{5, 7, 8, 1, 3, -1, true, true},   /* a part of longer rows */
		{5, 7, 14, 2, 0, 1, true, true},   /* even and odd elements */
		{5, 7, 16, 2, 0, 2, true, false},  /* each with its neighbour: j meets j + 1 */
		{5, 7, 6, 1, 0, -1, false, false}, /* rows that overlap by one */
		{5, 7, 0, 1, 0, -1, false, true},  /* a sum over i */
		{5, 7, 1, 0, 0, -1, true, false},  /* a sum over j */
		{5, 7, 1, 1, 0, -1, false, false}, /* a convolution's scatter */
		{5, 7, 7, 1, 0, 7, false, true},   /* each row and the next */
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		SmallProgram s;
		const Kernel *kernel = build(&s, &cases[k]);
		const Stmt *outer = kernel->body.stmts[0], *inner = outer->body.stmts[0];
		bool first = loop_is_independent(&s.program, kernel, outer, outer);
		bool second = loop_is_independent(&s.program, kernel, outer, inner);
		if (first != cases[k].outer || second != cases[k].inner)
			fail_msg("case %zu: %d %d", k, first, second);
		sp_free(&s);
	}
}

/* In a child: 0 where all is well, 3 after a bug. */
static int verdict(SmallProgram *s, bool runs)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		static float y[1000];
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		loops_verify(&s->program);
		InterpArgs args = {.outputs = (void *[]){y}};
		_exit(runs ? interp_run(&s->program, 0, &args) : 0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void test_the_interpreter_watches(void **state)
{
	(void)state;
	const Case apart = {5, 7, 7, 1, 0, -1, true, true}, meeting = {5, 7, 6, 1, 0, -1, false, false};
	for (int k = 0; k < 4; k++) {
		SmallProgram s;
		build(&s, k % 2 ? &meeting : &apart);
		mark(&s, false, k < 2 ? LOOP_PARALLEL : LOOP_GRID);
		assert_int_equal(verdict(&s, true), k % 2 ? 3 : 0);
		sp_free(&s);
	}
}

static const Ix *new_iter(SmallProgram *s, const char *name)
{
	IterVar iter = s->kernel.niters++;
	s->kernel.iters[iter].name = sym_cstr(s->program.symbols, name);
	return ix_iter(s->program.arena, iter);
}

static void in_threads(SmallProgram *s, int64_t n, const Stmt *stmt)
{
	IterVar thread = s->kernel.niters - 1;
	sp_stmt(s,
		stmt_loop(&s->program, LOOP_BLOCK, thread, n, block_one(s->program.arena, stmt)));
}

/* shared[i] = 1 by `n` threads of 8, then y[i] = shared[7 - i], with a barrier between or without. */
static void build_block(SmallProgram *s, int64_t n, bool barrier)
{
	sp_init(s);
	Arena *arena = s->program.arena;
	BufferId y = sp_output(s, "y", DTYPE_F32, sp_const(s, 8));
	BufferId shared = sp_temp(s, "shared", DTYPE_F32, sp_const(s, 8));
	s->program.buffers.at[shared].shared = s->program.buffers.at[shared].scratch = true;
	sp_begin(s, "k");
	const Ix *i = new_iter(s, "i");
	in_threads(s, n, stmt_store(arena, shared, i, OP_NONE, sp_number(s, DTYPE_F32, 1)));
	if (barrier)
		sp_stmt(s, stmt_barrier(arena, false));
	const Ix *j = new_iter(s, "j");
	const Ix *other = sp_add(s, sp_ix(s, 7), sp_mul(s, j, sp_ix(s, -1)));
	in_threads(s, 8, stmt_store(arena, y, j, OP_NONE, sp_load(s, shared, other)));
	sp_end(s);
}

static void test_the_interpreter_watches_threads_of_a_block(void **state)
{
	(void)state;
	const struct {
		int64_t stored;
		bool barrier;
		int verdict;
	} cases[] = {{8, true, 0}, {8, false, 3}, {7, true, 3}};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		SmallProgram s;
		build_block(&s, cases[k].stored, cases[k].barrier);
		assert_int_equal(verdict(&s, true), cases[k].verdict);
		sp_free(&s);
	}
}

static void test_the_verifier_refuses(void **state)
{
	(void)state;
	const Case apart = {5, 7, 7, 1, 0, -1, true, true};
	SmallProgram s;
	build(&s, &apart);
	mark(&s, true, LOOP_PARALLEL);
	assert_int_equal(verdict(&s, false), 3);
	sp_free(&s);
}

static void test_work_decides(void **state)
{
	(void)state;
	const Case apart = {5, 7, 7, 1, 0, -1, true, true};
	for (int64_t grain = 0; grain < 3; grain++) {
		SmallProgram s;
		build(&s, &apart);
		Kernel *kernel = &s.program.kernels.at[0];
		Schedule made = {.arena = s.program.arena};
		PUSH(made.arena, made.entries, ((ScheduleEntry){.name = kernel->name}));
		s.program.made = &made;
		const LowerOptions options = {.target = s.program.options.target,
					      .grain = grain == 2 ? 1 << 20 : grain};
		const Transform t = {.program = &s.program, .options = &options};
		const Stmt *const *before = kernel->body.stmts;
		kernel_parallel(&t, kernel);
		assert_int_equal(kernel->body.stmts != before, grain == 1);
		assert_int_equal(kernel->body.stmts[0]->loop, grain == 1 ? LOOP_PARALLEL : LOOP_SERIAL);
		assert_int_equal(verdict(&s, true), 0);
		schedule_free(&made);
		sp_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_independence),
		cmocka_unit_test(test_the_interpreter_watches),
		cmocka_unit_test(test_the_interpreter_watches_threads_of_a_block),
		cmocka_unit_test(test_the_verifier_refuses),
		cmocka_unit_test(test_work_decides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
