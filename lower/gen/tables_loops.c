/* Loops of a routine: those of the graph that its nodes are in, and the order of kernels.
 */
#include "loops/steps.h"
#include "lower/gen/tables.h"

static uint32_t loop_number(Tables *t, uint32_t loop)
{
	if (!loop || t->loops[loop])
		return t->loops[loop];
	const GraphLoop *from = &t->graph->loops.at[loop];
	ProgramLoop to = {.span = from->span,
			  .parent = loop_number(t, from->parent), /* falls: towards the outermost */
			  .step = from->step,
			  .count = infer_size(t->inference, from->count),
			  .down = from->down,
			  .until = BUFFER_NONE,
			  .made = BUFFER_NONE};
	PUSH(t->arena, t->program->loops, to);
	return t->loops[loop] = (uint32_t)t->program->loops.n - 1;
}

uint32_t tables_loop(Tables *t, NodeId node) { return loop_number(t, tables_node(t, node)->loop); }

void tables_end_loop(Tables *t, uint32_t loop, BufferId until, BufferId made)
{
	ProgramLoop *to = &t->program->loops.at[t->loops[loop]];
	if (!t->loops[loop])
		return;
	to->until = until == BUFFER_NONE ? to->until : until;
	to->made = made == BUFFER_NONE ? to->made : made;
}

static void order(const Tables *t, KernelId *kernels, uint32_t n, uint32_t outer)
{
	const Program *program = t->program;
	KernelId *others = ARENA_ARRAY(t->scratch, KernelId, n + 1);
	KernelId *own = ARENA_ARRAY(t->scratch, KernelId, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t loop = program_loop_right_in(program, program->kernels.at[kernels[i]].loop, outer), end = i + 1;
		for (uint32_t k = i; loop && k < n; k++)
			if (program_loop_in(program, program->kernels.at[kernels[k]].loop, loop))
				end = k + 1;
		uint32_t nothers = 0, nown = 0;
		for (uint32_t k = i; loop && k < end; k++)
			if (program_loop_in(program, program->kernels.at[kernels[k]].loop, loop))
				own[nown++] = kernels[k];
			else
				others[nothers++] = kernels[k];
		if (!loop)
			continue;
		for (uint32_t k = 0; k < nothers + nown; k++)
			kernels[i + k] = k < nothers ? others[k] : own[k - nothers];
		order(t, kernels + i, nothers, outer);
		order(t, kernels + i + nothers, nown, loop);
		i = end - 1;
	}
}

void tables_order_loops(const Tables *t, KernelId *kernels, uint32_t n) { order(t, kernels, n, 0); }
