/* Functions of parameters that are computed when the state is packed: their buffers and kernels. */
#include "lower/kernel.h"
#include "lower/node_plan.h"

/* A parameter that the node is a function of, else any that no routine assigns to; NODE_NONE: there is none. It has
 * elements: guards of the state ask for these. */
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
	NodeId owner = owner_of(lower, id);
	uint32_t param = PARAM_NONE;
	if (owner != NODE_NONE)
		param = program->buffers.at[lower->tables.shared[owner]].arg;
	Buffer buffer = {.kind = BUFFER_PACKED,
			 .name = lower_name(lower, id),
			 .span = lower_node(lower, id)->span,
			 .dtype = dtype_alone(lower_node(lower, id)->dtype),
			 .elements = node_elements(lower, id),
			 .arg = param,
			 .offset = program->state};
	lower->tables.shared[id] = lower_buffer(lower, buffer);
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
