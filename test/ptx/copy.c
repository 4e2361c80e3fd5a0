/* cp.async: copies from global to shared memory that land at once, or as late as they may. */
#include "test/ptx/run.h"

#include <string.h>

static void land(PtxThread *t, PtxInstr *in, const PtxCopy *copy)
{
	unsigned char *to = ptx_touch(t, in, SPACE_SHARED, copy->to, copy->bytes, ACCESS_WRITE);
	if (to == NULL)
		return;
	memset(to, 0, copy->bytes);
	if (copy->read == 0)
		return;
	const unsigned char *from = ptx_memory_at(t->block->run->memory, copy->from, copy->read);
	if (from == NULL)
		ptx_fault(t, FAULT_ADDRESS, "copies %u bytes that are in no memory", copy->read);
	else
		memcpy(to, from, copy->read);
}

bool ptx_late(PtxRun *run)
{
	PtxOrder order = run->launch->schedule.order;
	return order == ORDER_FORWARD || (order == ORDER_RANDOM && ptx_random(run) & 1);
}

void ptx_copy_begin(PtxThread *t, PtxInstr *in, uint64_t to, uint64_t from, uint64_t read)
{
	PtxRun *run = t->block->run;
	PtxCopy copy = {to, from, t->group, in->n, (uint32_t)(read < in->n ? read : in->n)};
	if (from & (in->n - 1u) && read != 0) {
		ptx_fault(t, FAULT_MISALIGNED,
			  "copies %u bytes from 0x%llx, which is not aligned to them", in->n,
			  (unsigned long long)from);
		return;
	}
	/* The place is taken from now on, and what is read is there, whenever the copy lands. */
	if (ptx_touch(t, in, SPACE_SHARED, to, copy.bytes, ACCESS_WRITE) == NULL)
		return;
	if (copy.read != 0 && ptx_memory_at(run->memory, from, copy.read) == NULL) {
		ptx_fault(t, FAULT_ADDRESS, "copies %u bytes from 0x%llx, which are in no memory",
			  copy.read, (unsigned long long)from);
		return;
	}
	if (ptx_late(run))
		PUSH(run->arena, t->copies, copy);
	else
		land(t, in, &copy);
}

void ptx_copy_commit(PtxThread *t) { t->group++; }

void ptx_copy_wait(PtxThread *t, PtxInstr *in, int64_t under_way)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->copies.n; i++) {
		PtxCopy copy = t->copies.at[i];
		if (under_way < 0 || (int64_t)copy.group < (int64_t)t->group - under_way)
			land(t, in, &copy);
		else
			t->copies.at[kept++] = copy;
	}
	t->copies.n = kept;
}
