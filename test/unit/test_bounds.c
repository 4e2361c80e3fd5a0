/* Indices and their buffers: what is shown to stay inside, what is refused as a bug of a pass (in a
 * child process, which must end as one does), and what is listed and checked when it runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/size_eval.h"
#include "loops/bounds.h"
#include "test/unit/codegen_fixture.h"

static int verifies(const Program *program)
{
	loops_verify(program);
	return 0;
}

/* 0 where loops_verify takes the program. */
static int verdict(const Program *program) { return status_in_child(verifies, program); }

static size_t unshown(SmallProgram *s) { return bounds_unshown(s->program.arena, &s->program, NULL).n; }

/* temp of n*m, written at i*stride + j + off for i < n, j < m, and read so */
static void through_temporary(SmallProgram *s, bool swapped, int64_t off)
{
	Arena *arena = s->program.arena;
	Size n = sp_dim(s, "n", 0), m = sp_dim(s, "m", 0), all = size_mul(s->program.sizes, n, m);
	BufferId x = sp_input(s, "x", DTYPE_F32, all), y = sp_output(s, "y", DTYPE_F32, all);
	BufferId t = sp_temp(s, "t", DTYPE_F32, all);
	for (int k = 0; k < 2; k++) {
		sp_begin(s, k ? "reads" : "writes");
		const Ix *i = sp_for(s, "i", ix_size(arena, n)),
			 *j = sp_for(s, "j", ix_size(arena, m));
		const Ix *right = sp_add(s, sp_mul(s, i, ix_size(arena, m)), j);
		const Ix *at = sp_add(s, sp_mul(s, i, ix_size(arena, swapped ? n : m)), j);
		at = sp_add(s, at, sp_ix(s, off));
		sp_store(s, k ? y : t, k ? right : at, OP_NONE,
			 sp_load(s, k ? t : x, k ? at : right));
		sp_end(s);
	}
}

static void test_what_is_inside_is_shown(void **state)
{
	SmallProgram *s = *state;
	through_temporary(s, false, 0);
	assert_int_equal(verdict(&s->program), 0);
	assert_int_equal(unshown(s), 0);
}

static void test_one_behind_the_end_is_refused(void **state)
{
	through_temporary(*state, false, 1);
	assert_int_equal(verdict(&((SmallProgram *)*state)->program), BUG_STATUS);
}

static void test_one_before_the_start_is_refused(void **state)
{
	through_temporary(*state, false, -1);
	assert_int_equal(verdict(&((SmallProgram *)*state)->program), BUG_STATUS);
}

static void test_another_order_of_axes_is_refused(void **state)
{
	through_temporary(*state, true, 0);
	assert_int_equal(verdict(&((SmallProgram *)*state)->program), BUG_STATUS);
}

/* A diagonal of windows: for b in 0..n: for c in max(0, 1 - b)..min(3, n + 1 - b): y[b*3 + c*4 - 3] */
static void test_bounds_that_depend_on_each_other(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Arena *arena = p->arena;
	Size n = sp_dim(s, "n", 0);
	BufferId x = sp_input(s, "x", DTYPE_F32, size_scale(p->sizes, n, 3));
	BufferId y = sp_output(s, "y", DTYPE_F32, n);
	sp_begin(s, "k");
	const Ix *b = sp_for(s, "b", ix_size(arena, n)), *minus = sp_mul(s, b, sp_ix(s, -1));
	const Ix *lo = ix_binary(p, IX_MAX, sp_ix(s, 0), sp_add(s, sp_ix(s, 1), minus));
	const Ix *end = sp_add(s, ix_size(arena, size_plus(p->sizes, n, 1)), minus);
	const Ix *c = sp_for(s, "c", ix_binary(p, IX_MIN, sp_ix(s, 3), end));
	s->loops[s->depth].lo = lo;
	const Ix *at = sp_add(s, sp_mul(s, b, sp_ix(s, 3)), sp_mul(s, c, sp_ix(s, 4)));
	sp_store(s, y, b, OP_ADD, sp_load(s, x, sp_add(s, at, sp_ix(s, -3))));
	sp_end(s);
	assert_int_equal(verdict(p), 0);
	assert_int_equal(unshown(s), 0);
}

/* Parts of a loop: for c in 0..3: for i in c*n/3..(c*n + n)/3: y[i] = x[min(i + 16, n - 1)]; with n - 1
 * shown, since a part that has an element is of a loop that has one. */
static void test_in_a_part_there_is_an_element(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Arena *arena = p->arena;
	Size n = sp_dim(s, "n", 0);
	BufferId x = sp_input(s, "x", DTYPE_F32, n), y = sp_output(s, "y", DTYPE_F32, n);
	sp_begin(s, "parts");
	const Ix *c = sp_for(s, "c", sp_ix(s, 3)), *to = sp_mul(s, c, ix_size(arena, n));
	const Ix *end = ix_binary(p, IX_DIV, sp_add(s, to, ix_size(arena, n)), sp_ix(s, 3));
	const Ix *i = sp_for(s, "i", end), *last = ix_size(arena, size_plus(p->sizes, n, -1));
	s->loops[s->depth].lo = ix_binary(p, IX_DIV, to, sp_ix(s, 3));
	const Ix *at = ix_binary(p, IX_MIN, sp_add(s, i, sp_ix(s, 16)), last);
	sp_store(s, y, i, OP_NONE, sp_load(s, x, at));
	sp_end(s);
	assert_int_equal(verdict(p), 0);
	assert_int_equal(unshown(s), 0);
}

/* Where k is a scalar of the routine: y[i] = x[k + i] behind a condition or in lanes, or y[k + i] = x[i]. */
typedef enum ScalarUse { READ_IF, READ_LANES, WRITE } ScalarUse;

static void at_scalar(SmallProgram *s, ScalarUse use)
{
	Program *p = &s->program;
	Arena *arena = p->arena;
	BufferId x = sp_input(s, "x", DTYPE_F32, sp_const(s, use == WRITE ? 4 : 8));
	BufferId y = sp_output(s, "y", DTYPE_F32, sp_const(s, use == WRITE ? 8 : 4));
	uint32_t scalar = sp_scalar(s, "k", DTYPE_I32);
	const Ix *k = ix_value(arena, value_scalar(arena, DTYPE_I32, scalar));
	sp_begin(s, "picks");
	const Ix *i = sp_for(s, "i", sp_ix(s, 4)), *at = sp_add(s, k, i);
	const Value *value = sp_load(s, x, use == WRITE ? i : at);
	const Stmt *store = stmt_store(arena, y, use == WRITE ? at : i, OP_NONE, value);
	Body body = {0};
	PUSH(arena, body.stmts, store);
	if (use == READ_LANES) {
		sp_close(s);
		sp_stmt(s, stmt_loop(p, LOOP_VECTOR, i->iter, 4, body_block(&body)));
	} else if (use == READ_IF) {
		Cond *conds = ARENA_ARRAY(arena, Cond, 2);
		conds[0] = (Cond){COND_LE, sp_ix(s, 0), k};
		conds[1] = (Cond){COND_LE, i, sp_ix(s, 3)};
		sp_stmt(s, stmt_if(arena, conds, 2, body_block(&body)));
	} else {
		sp_stmt(s, store);
	}
	sp_end(s);
}

/* The code at the scalar, the same of the interpreter, of machine code and of C. */
static int code_at(SmallProgram *s, int32_t k, size_t bytes, const char **message)
{
	const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	Run run = {.inputs = {x}, .bytes = {bytes}, .scalars = {{.i = k}}};
	memcpy(&run.elements[0], &k, sizeof k);
	compare_run(s, &run);
	*message = run.message;
	return run.code;
}

static void listed_and_checked(SmallProgram *s, ScalarUse use)
{
	const char *message;
	char *text = NULL, expected[80], name = use == WRITE ? 'y' : 'x';
	size_t n, bytes = (use == WRITE ? 8 : 4) * sizeof(float);
	at_scalar(s, use);
	assert_int_equal(verdict(&s->program), 0);
	IndexUses uses = bounds_unshown(s->program.arena, &s->program, NULL);
	assert_int_equal(uses.n, 1);
	FILE *out = open_memstream(&text, &n);
	bounds_print(out, &s->program, &uses.at[0]);
	fclose(out);
	snprintf(expected, sizeof expected, "tsrc: kernel picks: %c[int(k) + i] of 8\n", name);
	assert_string_equal(text, expected);
	free(text);
	bounds_insert_checks(&s->program);
	assert_int_equal(verdict(&s->program), 0);
	assert_int_equal(unshown(s), 0);
	assert_int_equal(code_at(s, 4, bytes, &message), 0);
	assert_int_equal(code_at(s, 5, bytes, &message), TSR_CHECK_FIRST);
	snprintf(expected, sizeof expected, "an index of '%c' in kernel 'picks' is outside [0, 8)",
		 name);
	assert_string_equal(message, expected);
	assert_int_equal(code_at(s, -1, bytes, &message), use == READ_IF ? 0 : TSR_CHECK_FIRST);
}

static void test_what_depends_on_a_scalar_is_checked(void **state)
{
	listed_and_checked(*state, READ_IF);
}
static void test_lanes_are_checked_at_both_ends(void **state)
{
	listed_and_checked(*state, READ_LANES);
}
static void test_a_store_outside_is_a_code(void **state) { listed_and_checked(*state, WRITE); }

/* A temporary of integers is filled, checked and read as an index, filled again and read again by the
 * same statement: what the check said of it holds no longer. */
static void test_what_a_check_says_ends_with_a_store(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Arena *arena = p->arena;
	Size n = sp_dim(s, "n", 0), m = sp_dim(s, "m", 0);
	const Ix *rows = ix_size(arena, n), *hi = ix_size(arena, m), *i;
	BufferId ids = sp_input(s, "ids", DTYPE_I32, n), x = sp_input(s, "x", DTYPE_F32, m);
	BufferId y = sp_output(s, "y", DTYPE_F32, n), t = sp_temp(s, "t", DTYPE_I32, n);
	CheckId check = sp_check(s, (Check){CHECK_INDEX, m, m, SPAN_NONE, "an index"}, false);
	for (int k = 0; k < 5; k++) {
		sp_begin(s, (const char *[]){"fill", "check", "read", "again", "unsure"}[k]);
		i = sp_for(s, "i", rows);
		const Ix *at = ix_value(arena, sp_load(s, t, i));
		if (k == 1)
			sp_stmt(s, stmt_check(p, at, hi, check));
		else if (k % 3 == 0)
			sp_store(s, t, i, OP_NONE, sp_load(s, ids, i));
		else
			sp_store(s, y, i, OP_NONE, sp_load(s, x, at));
		sp_end(s);
	}
	assert_int_equal(verdict(p), 0);
	IndexUses uses = bounds_unshown(arena, p, NULL);
	assert_int_equal(uses.n, 1);
	assert_int_equal(uses.at[0].kernel, 4);
}

/* What is read may be anything; what is left of it behind whole times 8 is inside, of either sign, and so
 * is the lesser of it and 7 where it has no sign. */
static void test_a_remainder_of_what_is_read_is_inside(void **state)
{
	SmallProgram *s = *state;
	Program *p = &s->program;
	Size n = sp_dim(s, "n", 0);
	BufferId ids = sp_input(s, "ids", DTYPE_I32, n),
		 counts = sp_input(s, "counts", DTYPE_U32, n);
	BufferId x = sp_input(s, "x", DTYPE_F32, sp_const(s, 8)),
		 y = sp_output(s, "y", DTYPE_F32, n);
	for (int k = 0; k < 4; k++) {
		sp_begin(s, (const char *[]){"rest", "least", "long", "signed"}[k]);
		const Ix *i = sp_for(s, "i", ix_size(p->arena, n));
		const Ix *at = ix_value(p->arena, sp_load(s, k == 1 ? counts : ids, i));
		at = ix_binary(p, k % 2 ? IX_MIN : IX_MOD, at,
			       sp_ix(s, k == 2	? 9
					: k % 2 ? 7
						: 8));
		sp_store(s, y, i, OP_NONE, sp_load(s, x, at));
		sp_end(s);
	}
	assert_int_equal(verdict(p), 0);
	IndexUses uses = bounds_unshown(p->arena, p, NULL);
	assert_int_equal(uses.n, 2);
	assert_int_equal(uses.at[0].kernel, 2);
	assert_int_equal(uses.at[1].kernel, 3);
}

/* k is set in a loop: what it was before says nothing of it there. */
static void test_a_local_that_changes_is_not_known(void **state)
{
	SmallProgram *s = *state;
	Arena *arena = s->program.arena;
	BufferId y = sp_output(s, "y", DTYPE_F32, sp_const(s, 4));
	sp_begin(s, "k");
	LocalId k = sp_local(s, "k", value_index(arena, DTYPE_I64, sp_ix(s, 7)));
	const Ix *i = sp_for(s, "i", sp_ix(s, 4));
	sp_stmt(s, stmt_set(arena, k, OP_NONE, value_index(arena, DTYPE_I64, i)));
	sp_close(s);
	sp_for(s, "j", sp_ix(s, 4));
	sp_store(s, y, ix_value(arena, sp_get(s, k)), OP_NONE, sp_number(s, DTYPE_F32, 1));
	sp_end(s);
	assert_int_equal(verdict(&s->program), 0);
	assert_int_equal(unshown(s), 1);
}

/* ---- random nests against a run of all iterations: NESTS of them, or as many as TSR_NESTS says ---- */

enum { NESTS = 400, FEW_VALUES = 9, MANY_VALUES = 40, NEST_DEPTH = 3 };

typedef struct Nest {
	SmallProgram *s;
	uint64_t seed;
	int64_t dims[2], iters[NEST_DEPTH + 1];
	Size n, m;
	const Stmt *store;
	bool outside;
} Nest;

static int64_t below(Nest *nest, int64_t bound)
{
	nest->seed = nest->seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((nest->seed >> 33) % (uint64_t)bound);
}

static Size random_extent(Nest *nest)
{
	Sizes *sizes = nest->s->program.sizes;
	Size dim = below(nest, 2) ? nest->n : nest->m;
	switch (below(nest, 6)) {
	case 0: return size_const(sizes, 1 + below(nest, 6));
	case 1: return size_plus(sizes, dim, below(nest, 3));
	case 2: return size_scale(sizes, size_floor(sizes, dim, 2), 2);
	case 3: return size_ceil(sizes, size_plus(sizes, dim, below(nest, 3)), 2 + below(nest, 3));
	case 4: return size_scale(sizes, dim, 2);
	default: return dim;
	}
}

/* Opens loops over [0, extent): one; or blocks of rows; or one whose ends depend on a loop around it.
 * Returns the index. */
static const Ix *random_loops(Nest *nest, Size extent, const Ix *around)
{
	SmallProgram *s = nest->s;
	Program *p = &s->program;
	const Ix *end = ix_size(p->arena, extent), *ix;
	int64_t kind = s->depth < NEST_DEPTH - 1 ? below(nest, 5) : 4, by = 2 + below(nest, 3);
	if (kind == 0) { /* whole blocks, perhaps one more */
		Size blocks = below(nest, 4) ? size_floor(p->sizes, extent, by)
					     : size_ceil(p->sizes, extent, by);
		ix = sp_mul(s, sp_for(s, "b", ix_size(p->arena, blocks)), sp_ix(s, by));
		return sp_add(s, ix, sp_for(s, "r", sp_ix(s, by)));
	}
	if (kind == 1) { /* a block that ends at the end */
		const Ix *last = ix_size(p->arena, size_ceil(p->sizes, extent, by));
		ix = sp_mul(s, sp_for(s, "b", last), sp_ix(s, by));
		const Ix *left = sp_add(s, end, sp_mul(s, ix, sp_ix(s, -1)));
		return sp_add(s, ix, sp_for(s, "r", ix_binary(p, IX_MIN, sp_ix(s, by), left)));
	}
	if (kind == 2 && around) {
		const Ix *least = sp_add(s, sp_mul(s, around, sp_ix(s, -1)), sp_ix(s, by));
		ix = sp_for(s, "i", end);
		s->loops[s->depth].lo =
			ix_binary(p, IX_MAX, sp_ix(s, below(nest, 4) ? 0 : -1), least);
		return ix;
	}
	return sp_for(s, "i", end);
}

/* x[i*columns + j + off] of rows*columns elements, where mostly all fits. */
static void random_nest(Nest *nest)
{
	SmallProgram *s = nest->s;
	Program *p = &s->program;
	Sizes *sizes = p->sizes;
	nest->n = sp_dim(s, "n", 0);
	nest->m = sp_dim(s, "m", below(nest, 2));
	Size rows = random_extent(nest), columns = random_extent(nest);
	Size elements = size_plus(sizes, size_mul(sizes, rows, columns), below(nest, 8) ? 0 : -1);
	BufferId y = sp_output(s, "y", DTYPE_F32, elements);
	sp_begin(s, "k");
	const Ix *i = random_loops(nest, below(nest, 8) ? rows : size_plus(sizes, rows, 1), NULL);
	const Ix *j = random_loops(nest, columns, i);
	Size stride = below(nest, 8) ? columns : rows;
	const Ix *at = sp_add(s, sp_mul(s, i, ix_size(p->arena, stride)), j);
	if (below(nest, 8) == 0)
		at = sp_add(s, at, sp_ix(s, below(nest, 3) - 1));
	if (below(nest, 8) == 0)
		at = ix_binary(p, IX_MOD, at, ix_size(p->arena, size_plus(sizes, elements, 1)));
	nest->store = stmt_store(p->arena, y, at, OP_NONE, sp_number(s, DTYPE_F32, 1));
	sp_stmt(s, nest->store);
	sp_end(s);
}

static int64_t floored(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int64_t value_of(const Nest *nest, const Ix *ix)
{
	int64_t value;
	if (ix->kind == IX_ITER)
		return nest->iters[ix->iter];
	if (ix->kind == IX_SIZE) {
		assert_true(size_eval(nest->s->program.sizes, ix->size, nest->dims, &value));
		return value;
	}
	int64_t a = value_of(nest, ix->a), b = value_of(nest, ix->b);
	switch (ix->kind) {
	case IX_ADD: return a + b;
	case IX_MUL: return a * b;
	case IX_MIN: return a < b ? a : b;
	case IX_MAX: return a > b ? a : b;
	default: break;
	}
	int64_t quotient = b > 0 ? floored(a, b) : 0;
	return ix->kind == IX_DIV ? quotient : a - b * quotient;
}

static void run_all(Nest *nest, Block block)
{
	for (uint32_t k = 0; k < block.n; k++) {
		const Stmt *stmt = block.stmts[k];
		if (stmt->kind != LOOP_FOR) {
			const Buffer *buffer = &nest->s->program.buffers.at[stmt->buffer];
			int64_t at = value_of(nest, stmt->ix), elements;
			size_eval(nest->s->program.sizes, buffer->elements, nest->dims, &elements);
			nest->outside |= at < 0 || at >= elements;
			continue;
		}
		int64_t hi = value_of(nest, stmt->hi);
		for (int64_t i = value_of(nest, stmt->lo); i < hi && !nest->outside;
		     i += stmt->step) {
			nest->iters[stmt->iter] = i;
			run_all(nest, stmt->body);
		}
	}
}

static void run_at_all(Nest *nest, int64_t values)
{
	int64_t least = sizes_dim(nest->s->program.sizes, 1)->at_least;
	for (int64_t i = 0; i < values * values && !nest->outside; i++) {
		nest->dims[0] = i / values;
		nest->dims[1] = least + i % values;
		run_all(nest, nest->s->program.kernels.at[0].body);
	}
}

/* 0: shown; 1: not shown; BUG_STATUS: refused. */
static int opinion(const Program *program) { return bounds_unshown(program->arena, program, NULL).n > 0; }

static void test_random_nests_are_judged_rightly(void **state)
{
	int shown = 0, refused = 0, nests = getenv("TSR_NESTS") ? atoi(getenv("TSR_NESTS")) : NESTS;
	(void)state;
	for (int k = 0; k < nests; k++) {
		SmallProgram s;
		sp_init(&s);
		Nest nest = {.s = &s, .seed = (uint64_t)k};
		random_nest(&nest);
		int told = status_in_child(opinion, &s.program);
		run_at_all(&nest, told == BUG_STATUS ? MANY_VALUES : FEW_VALUES);
		if (told != 1)
			assert_int_equal(told, nest.outside ? BUG_STATUS : 0);
		shown += told == 0;
		refused += told == BUG_STATUS;
		sp_free(&s);
	}
	assert_true(shown > nests / 2 && refused > nests / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_inside_is_shown, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_one_behind_the_end_is_refused, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_one_before_the_start_is_refused, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_another_order_of_axes_is_refused, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_bounds_that_depend_on_each_other, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_in_a_part_there_is_an_element, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_what_depends_on_a_scalar_is_checked, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_lanes_are_checked_at_both_ends, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_a_store_outside_is_a_code, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_what_a_check_says_ends_with_a_store, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_a_local_that_changes_is_not_known, sp_setup,
						sp_teardown),
		cmocka_unit_test_setup_teardown(test_a_remainder_of_what_is_read_is_inside,
						sp_setup, sp_teardown),
		cmocka_unit_test(test_random_nests_are_judged_rightly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
