/* Who touched which cell in a parallel loop: a cell that one iteration stores is no other's
 * business, and of a scratch buffer each reads only what it stored. The oracle aborts where that
 * does not hold, so that --verify=run tests the claim and not its luck. */
#include "codegen/interp_race.h"

#include <stdlib.h>

#include "base/diag.h"
#include "base/held.h"
#include "loops/walk.h"

enum { NOBODY = 0, MANY = -1 }; /* else: the number of an iteration, from 1 */

typedef struct Cell {
	int32_t reader, writer;
} Cell;

struct Race {
	const Program *program;
	const Kernel *kernel;
	int32_t now;	/* the present iteration: how many have begun */
	Cell **cells;   /* by buffer; NULL: never stored */
	size_t nbuffers;
};

Race *race_start(Interp *in, const Kernel *kernel)
{
	Race *race = held_alloc(1, sizeof *race);
	Cell **cells = held_alloc(in->program->buffers.n + 1, sizeof *cells);
	if (!race || !cells) {
		held_free(race);
		held_free(cells);
		return NULL;
	}
	*race = (Race){in->program, kernel, 0, cells, in->program->buffers.n};
	Arena *arena = arena_new();
	BufferUses uses = kernel_buffers(arena, kernel);
	for (size_t i = 0; i < uses.n; i++) {
		if (!uses.at[i].stored)
			continue;
		size_t n = (size_t)in->buffers[uses.at[i].buffer].elements;
		cells[uses.at[i].buffer] = held_alloc(n + 1, sizeof(Cell));
	}
	arena_free(arena);
	return race;
}

void race_iteration(Race *race)
{
	if (race)
		race->now++;
}

void race_end(Race *race)
{
	for (size_t i = 0; race && i < race->nbuffers; i++)
		held_free(race->cells[i]);
	if (race)
		held_free(race->cells);
	held_free(race);
}

void race_touch(Race *race, BufferId buffer, int64_t at, bool stores)
{
	Cell *cell = race && race->cells[buffer] ? &race->cells[buffer][at] : NULL;
	if (!cell)
		return;
	if (race->program->buffers.at[buffer].scratch) {
		if (!stores && cell->writer != race->now)
			BUG("kernel %s: an iteration of a parallel loop reads what it has not stored",
			    race->kernel->name);
		cell->writer = race->now;
		return;
	}
	bool others = (cell->writer && cell->writer != race->now) ||
		      (stores && cell->reader && cell->reader != race->now);
	if (others)
		BUG("kernel %s: two iterations of a parallel loop meet in cell %lld of a buffer",
		    race->kernel->name, (long long)at);
	if (stores)
		cell->writer = race->now;
	else
		cell->reader = cell->reader && cell->reader != race->now ? MANY : race->now;
}
