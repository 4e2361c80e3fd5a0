/* A 5-point stencil over a grid of 512 x 512 whose rim is 0, 1000 steps between two grids. Prints the
 * median and the least time of all steps in nanoseconds, as JSON. */
#include <string.h>

#include "peer_timing.h"

enum { SIDE = 512, STEPS = 1000, WIDTH = SIDE + 2 };

static float start[SIDE][SIDE], grids[2][WIDTH][WIDTH];

static void step(float (*restrict to)[WIDTH], float (*restrict from)[WIDTH])
{
#pragma omp parallel for schedule(static)
	for (int y = 1; y <= SIDE; y++)
		for (int x = 1; x <= SIDE; x++)
			to[y][x] = from[y][x] + 0.2F * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] +
							from[y][x + 1] - 4 * from[y][x]);
}

static int run(void *unused)
{
	(void)unused;
	for (int y = 0; y < SIDE; y++)
		memcpy(&grids[0][y + 1][1], start[y], sizeof start[y]);
	for (int i = 0; i < STEPS; i++)
		step(grids[(i + 1) % 2], grids[i % 2]);
	return 0;
}

int main(void)
{
	for (int i = 0; i < SIDE * SIDE; i++)
		start[i / SIDE][i % SIDE] = (float)(i % 101) / 101;
	return time_calls(run, NULL);
}
