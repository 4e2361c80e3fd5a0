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
