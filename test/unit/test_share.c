/* Which kernels are one function, and where their buffers start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/module.h"
#include "test/unit/small_program.h"

/* y[i + 2*at] = OP(x[i + at], 3) for i < n, over other buffers each time. */
static void add_kernel(SmallProgram *s, const char *name, Op op, Size n, Size at)
{
	Sizes *sizes = s->program.sizes;
	Arena *arena = s->program.arena;
	BufferId x = sp_input(s, name, DTYPE_F32, size_add(sizes, n, at));
	BufferId y = sp_output(s, "y", DTYPE_F32, size_add(sizes, n, size_scale(sizes, at, 2)));
	sp_begin(s, name);
	const Ix *i = sp_for(s, "i", ix_size(arena, n));
	const Ix *from = sp_add(s, i, ix_size(arena, at));
	const Ix *to = sp_add(s, i, ix_size(arena, size_scale(sizes, at, 2)));
	sp_store(s, y, to, OP_NONE,
		 sp_op(s, op, sp_load(s, x, from), sp_number(s, DTYPE_F32, 3), NULL));
	sp_end(s);
}

static bool shared(const Module *m, KernelId a, KernelId b)
{
	return m->kernels[a].same == m->kernels[b].same &&
	       strcmp(m->kernels[a].function, m->kernels[b].function) == 0;
}

static void constant_places(void **state)
{
	SmallProgram *s = *state;
	Size four = sp_const(s, 4), five = sp_const(s, 5), zero = sp_const(s, 0);
	add_kernel(s, "a", OP_ADD, four, zero);
	add_kernel(s, "b", OP_ADD, four, zero);
	add_kernel(s, "c", OP_SUB, four, zero);
	add_kernel(s, "d", OP_ADD, five, zero);
	add_kernel(s, "e", OP_ADD, four, sp_const(s, 7));
	add_kernel(s, "f", OP_ADD, four, sp_const(s, -3));
	Emit emit = sp_emit(s, "unused.so");
	const Module *m = module_new(&emit);
	assert_non_null(m);
	assert_true(shared(m, 0, 1));
	assert_false(shared(m, 0, 2));
	assert_false(shared(m, 0, 3));
	assert_true(shared(m, 0, 4));
	assert_false(shared(m, 0, 5)); /* its arrays start before what it touches */
	Sizes *sizes = s->program.sizes;
	assert_true(size_is(sizes, m->kernels[0].use->buffers.at[0].base, 0));
	assert_true(size_is(sizes, m->kernels[4].use->buffers.at[0].base, 7));
	assert_true(size_is(sizes, m->kernels[4].use->buffers.at[1].base, 14));
}

static void symbolic_places(void **state)
{
	SmallProgram *s = *state;
	Size n = sp_dim(s, "n", 0), m = sp_dim(s, "m", 0);
	add_kernel(s, "a", OP_ADD, n, sp_const(s, 0));
	add_kernel(s, "b", OP_ADD, n, n);
	add_kernel(s, "c", OP_ADD, m, n);
	Emit emit = sp_emit(s, "unused.so");
	const Module *module = module_new(&emit);
	assert_non_null(module);
	assert_true(shared(module, 0, 1));
	assert_true(shared(module, 0, 2));
	assert_int_equal(module->kernels[2].use->dims.n, 1);
	assert_int_equal(module->kernels[2].use->dims.at[0], 1); /* m: n is in the bases alone */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(constant_places, sp_setup, sp_teardown),
		cmocka_unit_test_setup_teardown(symbolic_places, sp_setup, sp_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
