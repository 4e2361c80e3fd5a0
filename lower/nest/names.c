/* What a schedule can name of a nest: its loops as they are now, and the operands that it reads. */
#include "lower/nest/nest.h"

Loop *nest_loop_named(const Nest *nest, Sym name)
{
	for (uint32_t i = 0; i < nest->nloops; i++)
		if (nest->gen->frame.iters.at[nest->loops[i].var].name == name)
			return &nest->loops[i];
	return NULL;
}

static bool is_noted(const ScheduleEntry *made, Sym operand)
{
	for (size_t i = 0; i < made->operands.n; i++)
		if (made->operands.at[i] == operand)
			return true;
	return false;
}

static void note_operands(const Gen *gen, ScheduleEntry *made, const Value *value)
{
	if (value->kind == VALUE_LOAD) {
		Sym name =
			lower_identifier(gen->lower, gen->program->buffers.at[value->buffer].name);
		if (!is_noted(made, name))
			PUSH(gen->arena, made->operands, name);
	}
	for (uint32_t i = 0; i < value->nargs; i++)
		note_operands(gen, made, value->args[i]);
}

void nest_note_names(const Nest *nest)
{
	const Gen *gen = nest->gen;
	ScheduleEntry *made = gen_entry(gen);
	for (uint32_t i = 0; i < nest->nloops; i++)
		PUSH(gen->arena, made->loops, gen->frame.iters.at[nest->loops[i].var].name);
	note_operands(gen, made, nest->value);
}
