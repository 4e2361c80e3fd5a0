/* Which loops of a routine its kernels are in. */
#include "loops/steps.h"

bool program_loop_in(const Program *program, uint32_t inner, uint32_t outer)
{
	while (inner > outer) /* falls: a loop has a greater number than the one that it is in */
		inner = program->loops.at[inner].parent;
	return inner == outer;
}

uint32_t program_loop_right_in(const Program *program, uint32_t inner, uint32_t outer)
{
	uint32_t inside = 0;
	for (; inner != outer; inner = program->loops.at[inner].parent)
		inside = inner;
	return inside;
}

uint32_t program_loop_end(const Program *program, const ProgramRoutine *routine, uint32_t from,
			  uint32_t loop)
{
	while (from < routine->nkernels &&
	       program_loop_in(program, program->kernels.at[routine->kernels[from]].loop, loop))
		from++;
	return from;
}

bool program_loops_use(const Program *program, BufferId buffer)
{
	for (size_t i = 1; i < program->loops.n; i++) {
		const ProgramLoop *loop = &program->loops.at[i];
		bool is = loop->until == buffer || loop->made == buffer;
		for (uint32_t k = 0; k < loop->nexchanges; k++)
			is |= loop->exchanges[k].a == buffer || loop->exchanges[k].b == buffer;
		if (is)
			return true;
	}
	return false;
}
