/* The two ways to shared memory: threads write as always, bulk copies to global memory read by another proxy. What a thread
 * has written such a copy sees behind the thread's own fence.proxy.async, and nobody writes there while it reads. */
#include "test/ptx/run.h"

#include <inttypes.h>

enum { THREAD_BITS = 11 }; /* of a stamp: the thread + 1, below the fences that it had made */

static uint32_t stamp_of(const PtxThread *t) { return t->fences << THREAD_BITS | (t->index + 1); }

bool ptx_proxy_write(PtxThread *t, PtxBlock *owner, uint64_t offset, uint32_t bytes)
{
	const PtxRun *run = t->block->run;
	for (size_t i = 0; i < run->asyncs.n; i++) {
		const PtxAsync *a = &run->asyncs.at[i];
		uint64_t from = ptx_shared_place(a->from);
		if (!a->store || a->thread->block != owner || offset + bytes <= from ||
		    offset >= from + a->bytes)
			continue;
		ptx_fault(t, FAULT_RACE,
			  "writes place %" PRIu64
			  " of shared memory, which a copy to global memory still reads",
			  offset);
		return false;
	}
	for (uint64_t at = offset; at < offset + bytes; at++)
		owner->touched[at].proxy = stamp_of(t);
	return true;
}

bool ptx_proxy_sees(PtxThread *t, uint64_t from, uint32_t bytes)
{
	PtxBlock *block = t->block;
	uint64_t first = ptx_shared_place(from);
	for (uint64_t at = first; block->touched && at < first + bytes && at < block->run->shared_bytes; at++) {
		uint32_t stamp = block->touched[at].proxy, writer = stamp & ((1u << THREAD_BITS) - 1);
		if (stamp == 0 || stamp != stamp_of(&block->threads[writer - 1]))
			continue;
		ptx_fault(t, FAULT_SYNC,
			  "copies place %" PRIu64
			  " of shared memory, which thread %u wrote with no fence.proxy.async behind",
			  at, writer - 1);
		return false;
	}
	return true;
}
