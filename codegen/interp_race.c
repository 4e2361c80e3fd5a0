/* Who touched which element in a parallel loop: an element that one iteration stores is no other's
 * business, and of a scratch buffer each reads only what it stored. Where threads of a block share an
 * iteration, what one of them stores no other touches before a barrier. The oracle aborts where that
 * does not hold, so that --verify=run tests the claim and not its luck. */
#include "codegen/interp_race.h"

#include <stdlib.h>

#include "base/diag.h"
#include "base/held.h"
#include "loops/walk.h"

enum { NOBODY = 0, MANY = -1 }; /* else: the number of an iteration, from 1 */

/* When an element was last touched, by whom, MANY: by several, and whether it was stored then. */
typedef struct Touched {
	int32_t phase, who;
	bool stored;
} Touched;

typedef struct Element {
	int32_t reader, writer;
	Touched by_thread, by_block;
} Element;

struct Race {
	const Program *program;
	const Kernel *kernel;
	int32_t now;	/* the present iteration: how many have begun */
	int32_t phase;	/* how many iterations, blocks and barriers there were */
	int32_t thread; /* of a block, from 1; 0: all of them */
	int32_t met;	/* how many iterations, and barriers of a cluster */
	int32_t block;	/* of a cluster, from 1; 0: there is none */
	int32_t blocks; /* how many iterations and blocks have begun */
	Element **elements; /* by buffer; NULL: never stored */
	size_t nbuffers;
};

Race *race_start(Interp *in, const Kernel *kernel)
{
	Race *race = held_alloc(1, sizeof *race);
	Element **elements = held_alloc(in->program->buffers.n + 1, sizeof *elements);
	if (!race || !elements) {
		held_free(race);
		held_free(elements);
		return NULL;
	}
	*race = (Race){.program = in->program,
		       .kernel = kernel,
		       .elements = elements,
		       .nbuffers = in->program->buffers.n};
	Arena *arena = arena_new();
	BufferUses uses = kernel_buffers(arena, kernel);
	for (size_t i = 0; i < uses.n; i++) {
		if (!uses.at[i].stored)
			continue;
		size_t n = (size_t)in->buffers[uses.at[i].buffer].elements;
		elements[uses.at[i].buffer] = held_alloc(n + 1, sizeof(Element));
	}
	arena_free(arena);
	return race;
}

void race_iteration(Race *race)
{
	if (race)
		race->now++;
	race_barrier(race, true);
	race_block(race, 0);
}

void race_barrier(Race *race, bool cluster)
{
	if (!race)
		return;
	race->phase++;
	race->met += cluster;
}

void race_block(Race *race, int32_t block)
{
	if (!race)
		return;
	race->phase++;
	race->blocks++;
	race->block = block;
}

int32_t race_thread(Race *race, int32_t thread)
{
	int32_t before = race ? race->thread : 0;
	if (race)
		race->thread = thread;
	return before;
}

void race_end(Race *race)
{
	for (size_t i = 0; race && i < race->nbuffers; i++)
		held_free(race->elements[i]);
	if (race)
		held_free(race->elements);
	held_free(race);
}

/* Has another touched it in this phase, one of them storing? */
static bool meets(Touched *t, int32_t phase, int32_t who, bool stores)
{
	bool before = t->phase == phase, other = before && t->who != who;
	bool meet = other && (stores || t->stored);
	*t = (Touched){phase, other ? MANY : who, stores || (before && t->stored)};
	return meet;
}

static void touch_in_block(const Race *race, Element *element, int64_t at, bool stores, bool own)
{
	if (meets(&element->by_thread, race->phase, race->thread, stores))
		BUG("kernel %s: threads of a block meet in element %lld of a buffer without a barrier between",
		    race->kernel->name, (long long)at);
	if (!own && meets(&element->by_block, race->met, race->block, stores))
		BUG("kernel %s: blocks of a cluster meet in element %lld of a buffer without a barrier between",
		    race->kernel->name, (long long)at);
}

void race_touch(Race *race, BufferId buffer, int64_t at, bool stores)
{
	Element *element = race && race->elements[buffer] ? &race->elements[buffer][at] : NULL;
	if (race && race->program->buffers.at[buffer].swizzled) /* ordered by mbarriers */
		return;
	if (!element)
		return;
	const Buffer *of = &race->program->buffers.at[buffer];
	bool own = of->shared && !of->cluster; /* each block of a cluster has its own */
	touch_in_block(race, element, at, stores, own);
	if (of->scratch) {
		int32_t now = own ? race->blocks : race->now;
		if (!stores && element->writer != now)
			BUG("kernel %s: an iteration of a parallel loop reads what it has not stored",
			    race->kernel->name);
		element->writer = now;
		return;
	}
	bool others = (element->writer && element->writer != race->now) ||
		      (stores && element->reader && element->reader != race->now);
	if (others)
		BUG("kernel %s: two iterations of a parallel loop meet in element %lld of a buffer",
		    race->kernel->name, (long long)at);
	if (stores)
		element->writer = race->now;
	else
		element->reader =
			element->reader && element->reader != race->now ? MANY : race->now;
}
