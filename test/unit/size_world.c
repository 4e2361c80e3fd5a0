/* One world at a time. The numbers are Marsaglia's xorshift64. */
#include "test/unit/size_world.h"

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
