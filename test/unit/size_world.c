/* One world at a time. The numbers are Marsaglia's xorshift64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test/unit/size_world.h"

#include "base/size_program.h"

int world_setup(void **state, const int64_t *at_least, int ndims)
{
	static const char *const names[] = {"n", "m", "k", "w"};
	static World world;
	world = (World){.arena = arena_new(), .seed = 88172645463325252u};
	world.sizes = sizes_new(world.arena);
	for (int i = 0; i < ndims; i++)
		sizes_add_dim(world.sizes, (Dim){.name = names[i], .at_least = at_least[i]});
	world.system = size_system_new(world.sizes, world.arena);
	world.n = size_dim(world.sizes, 0);
	world.m = size_dim(world.sizes, 1);
	world.k = size_dim(world.sizes, 2);
	world.one = size_const(world.sizes, 1);
	*state = &world;
	return 0;
}

int world_teardown(void **state)
{
	World *world = *state;
	arena_free(world->arena);
	return 0;
}

uint64_t world_next(World *world)
{
	world->seed ^= world->seed << 13;
	world->seed ^= world->seed >> 7;
	world->seed ^= world->seed << 17;
	return world->seed;
}

int64_t world_below(World *world, int64_t bound)
{
	return (int64_t)(world_next(world) % (uint64_t)bound);
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t run_program(const SizeOp *ops, size_t n, const int64_t *values)
{
	int64_t stack[SIZE_STACK];
	int top = 0;
	for (size_t i = 0; i < n; i++) {
		assert_true(top < SIZE_STACK);
		if (ops[i].code == SIZE_CONST || ops[i].code == SIZE_DIM) {
			stack[top++] = ops[i].code == SIZE_CONST ? ops[i].arg : values[ops[i].arg];
			continue;
		}
		assert_true(top >= 2);
		int64_t b = stack[--top], a = stack[--top];
		switch (ops[i].code) {
		case SIZE_ADD: a += b; break;
		case SIZE_SUB: a -= b; break;
		case SIZE_MUL: a *= b; break;
		case SIZE_DIV: a /= b; break;
		default: a = floor_quotient(a, b); break;
		}
		stack[top++] = a;
	}
	assert_int_equal(top, 1);
	return stack[0];
}
