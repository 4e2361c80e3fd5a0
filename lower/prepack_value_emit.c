/* Functions of parameters that are computed when the state is packed: their buffers and kernels. */
#include "loops/walk.h"
#include "lower/kernel.h"
#include "lower/node_plan.h"

/* A parameter that the node is a function of, else any that no routine assigns to. It has elements:
 * guards of the state ask for these. */
static NodeId owner_of(const Lower *lower, NodeId id)
{
	NodeId param = lower->plan[id].param;
	bool none = param == NODE_NONE || size_is(lower->sizes, node_elements(lower, param), 0);
	return none ? lower->read_only : param;
}

BufferId prepack_value_buffer(Lower *lower, NodeId id)
{
	Program *program = lower->program;
	if (lower->tables.shared[id] != BUFFER_NONE)
		return lower->tables.shared[id];
	const Buffer *param = &program->buffers.at[lower->tables.shared[owner_of(lower, id)]];
	Buffer buffer = {.kind = BUFFER_PACKED,
			 .name = lower_name(lower, id),
			 .span = lower_node(lower, id)->span,
			 .dtype = dtype_alone(lower_node(lower, id)->dtype),
			 .elements = node_elements(lower, id),
			 .arg = param->arg,
			 .offset = program->state};
	lower->tables.shared[id] = lower_buffer(lower, buffer);
	PUSH(lower->arena, lower->values, lower->tables.shared[id]);
	return lower->tables.shared[id];
}

void prepack_emit_values(Lower *lower)
{
	Program *program = lower->program;
	for (uint32_t k = 0; k < lower->nneeded; k++) {
		NodeId id = lower->needed[k];
		if (!prepack_is_new(lower, id))
			continue;
		Kernel kernel = kernel_of_tensor(lower, lower->plan[id].kernel);
		ScheduleEntry *made = schedule_entry(program->made, kernel.name);
		entry_make(program->arena, made, CHOICE_PREPACK, false);
		PUSH(lower->arena, lower->packs, kernel);
	}
}

/* Buffers that are no function, functions that nothing reads so far, and others. */
typedef enum { OTHER, UNREAD, READ } Reading;

/* Does the kernel make a function that nothing reads? Else what it reads is read. */
static bool is_unread(Lower *lower, const Kernel *kernel, Reading *of)
{
	BufferUses uses = kernel_buffers(lower->scratch, kernel);
	for (size_t i = 0; i < uses.n; i++)
		if (uses.at[i].stored && of[uses.at[i].buffer] == UNREAD)
			return true;
	for (size_t i = 0; i < uses.n; i++)
		if (uses.at[i].loaded && of[uses.at[i].buffer] == UNREAD)
			of[uses.at[i].buffer] = READ;
	return false;
}

void prepack_drop_unread(Lower *lower)
{
	Program *program = lower->program;
	Reading *of = ARENA_ARRAY(lower->scratch, Reading, program->buffers.n + 1);
	size_t n = lower->packs.n;
	for (size_t i = 0; i < program->buffers.n; i++)
		of[i] = OTHER;
	for (size_t v = 0; v < lower->values.n; v++)
		of[lower->values.at[v]] = UNREAD;
	for (size_t i = 0; i < program->kernels.n; i++)
		is_unread(lower, &program->kernels.at[i], of);
	for (size_t i = n; i-- > 0;) /* what reads a function stands behind it */
		if (!is_unread(lower, &lower->packs.at[i], of))
			lower->packs.at[--n] = lower->packs.at[i];
	lower->packs.n -= n;
	for (size_t i = 0; i < lower->packs.n; i++)
		lower->packs.at[i] = lower->packs.at[i + n];
	for (size_t v = 0; v < lower->values.n; v++) {
		BufferId buffer = lower->values.at[v];
		if (of[buffer] != UNREAD)
			continue;
		program->buffers.at[buffer].kind = BUFFER_TEMP;
		buffer_forget(lower->program, buffer);
	}
}
