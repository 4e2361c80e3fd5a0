/* Kernels that are dropped: nothing reads what they make any more, since copies and reads compute it
 * (inline_producer.c).
 */
#include "loops/walk.h"
#include "lower/kernel.h"

/* The kernel of a name, of the routine's, which are the program's last ones. The last of them are
 * asked for. */
static size_t find_kernel(const Lower *lower, Sym name)
{
	size_t i = lower->program->kernels.n - 1;
	while (lower->program->kernels.at[i].name != name)
		i--; /* falls: there is one */
	return i;
}

/* Does the kernel of a number, or one behind it, read the buffer? */
static bool is_read(const Lower *lower, BufferId buffer, size_t from)
{
	for (size_t i = from; i < lower->program->kernels.n; i++) {
		BufferUses uses = kernel_buffers(lower->scratch, &lower->program->kernels.at[i]);
		for (size_t k = 0; k < uses.n; k++)
			if (uses.at[k].buffer == buffer && uses.at[k].loaded)
				return true;
	}
	return false;
}

static void drop_kernel(Lower *lower, size_t at)
{
	Program *program = lower->program;
	program->kernels.n--;
	lower->kernels.n--;
	for (size_t i = at; i < program->kernels.n; i++)
		program->kernels.at[i] = program->kernels.at[i + 1];
}

/* Its line says that copies and reads compute it. */
static void describe(Lower *lower, Sym name)
{
	ScheduleEntry *entry = schedule_entry(lower->program->made, name);
	const ScheduleClause *node = entry_clause(entry, CHOICE_NODE);
	ScheduleClause kept = node ? *node : (ScheduleClause){0};
	entry->clauses.n = 0;
	entry_make(lower->program->arena, entry, CHOICE_PACK, false);
	if (node)
		PUSH(lower->program->arena, entry->clauses, kept);
}

void inline_producer_drop(Lower *lower)
{
	for (size_t i = 0; i < lower->produced.n; i++) {
		NodeId id = lower->produced.at[i];
		if (!lower->plan[id].own)
			continue;
		Sym name = kernel_name(lower, id);
		size_t kernel = find_kernel(lower, name);
		if (is_read(lower, lower->plan[id].buffer, kernel))
			continue;
		lower->plan[id].own = false;
		drop_kernel(lower, kernel);
		describe(lower, name);
		buffer_forget(lower->program, lower->plan[id].buffer);
	}
	lower->produced.n = 0;
}
