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

typedef struct Element {
	int32_t reader, writer;
	int32_t phase, thread; /* when it was last touched, and by which thread of a block; MANY */
	bool stored;	       /* ... in that phase */
} Element;

struct Race {
	const Program *program;
	const Kernel *kernel;
	int32_t now;	/* the present iteration: how many have begun */
	int32_t phase;	/* how many iterations and barriers there were */
	int32_t thread; /* of a block, from 1; 0: all of them */
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
	race_barrier(race);
}

void race_barrier(Race *race)
{
	if (race)
		race->phase++;
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

static void touch_in_block(const Race *race, Element *element, int64_t at, bool stores)
{
	bool before = element->phase == race->phase,
	     other = before && element->thread != race->thread;
	if (other && (stores || element->stored))
		BUG("kernel %s: threads of a block meet in element %lld of a buffer without a barrier between",
		    race->kernel->name, (long long)at);
	element->thread = other ? MANY : race->thread;
	element->stored = stores || (before && element->stored);
	element->phase = race->phase;
}

void race_touch(Race *race, BufferId buffer, int64_t at, bool stores)
{
	Element *element = race && race->elements[buffer] ? &race->elements[buffer][at] : NULL;
	if (race && race->program->buffers.at[buffer].swizzled) /* ordered by mbarriers */
		return;
	if (!element)
		return;
	touch_in_block(race, element, at, stores);
	if (race->program->buffers.at[buffer].scratch) {
		if (!stores && element->writer != race->now)
			BUG("kernel %s: an iteration of a parallel loop reads what it has not stored",
			    race->kernel->name);
		element->writer = race->now;
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
