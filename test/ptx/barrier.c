/* Barriers of a block and of a cluster, and what is told where nobody can go on. */
#include "test/ptx/run.h"

#include <stdio.h>
#include <string.h>

/* Threads of a warp meet an aligned barrier at one instruction. */
static bool same_place(const PtxBlock *block, uint32_t which)
{
	for (uint32_t i = 0; i < block->nthreads; i++) {
		PtxThread *t = &block->threads[i], *first = &block->threads[i / WARP * WARP];
		for (; first < t; first++)
			if (first->wait == WAIT_BARRIER && first->barrier == which)
				break;
		if (t->wait != WAIT_BARRIER || t->barrier != which || first == t)
			continue;
		if (ptx_thread_at(t)->flags & FLAG_ALIGNED &&
		    ptx_thread_at(t) != ptx_thread_at(first)) {
			ptx_fault(
				t, FAULT_SYNC,
				"meets barrier %u at another line than thread %u of its warp, at line %u",
				which, first->index, ptx_thread_at(first)->line);
			return false;
		}
	}
	return true;
}

static void release(PtxBlock *block, uint32_t which)
{
	PtxBarrier *barrier = &block->barriers[which];
	if (!same_place(block, which))
		return;
	for (uint32_t i = 0; i < block->nthreads; i++) {
		PtxThread *t = &block->threads[i];
		if (t->wait != WAIT_BARRIER || t->barrier != which)
			continue;
		const PtxInstr *in = ptx_thread_at(t);
		if (in->sub != BAR_SYNC)
			t->regs[in->d] = in->sub == BAR_RED_POPC  ? barrier->sum
					 : in->sub == BAR_RED_AND ? barrier->all
								  : barrier->any;
		t->wait = WAIT_NONE;
		t->pc++;
	}
	if (barrier->expected == block->nthreads)
		block->epoch = ++block->run->epoch;
	else
		block->loose = true;
	*barrier = (PtxBarrier){0};
}

static void arrive(PtxThread *t, const PtxInstr *in, uint32_t which, uint32_t count, uint64_t value)
{
	PtxBlock *block = t->block;
	PtxBarrier *barrier = &block->barriers[which];
	count = count == 0 ? block->nthreads : count;
	if (barrier->arrived == 0)
		*barrier = (PtxBarrier){.expected = count, .all = 1};
	if (barrier->expected != count) {
		ptx_fault(t, FAULT_SYNC, "meets barrier %u of %u threads, and others one of %u",
			  which, count, barrier->expected);
		return;
	}
	barrier->arrived++;
	barrier->sum += value != 0;
	barrier->all &= value != 0;
	barrier->any |= value != 0;
	if (in->sub == BAR_ARRIVE) {
		t->pc++;
	} else {
		t->wait = WAIT_BARRIER;
		t->barrier = which;
	}
	if (barrier->arrived == barrier->expected)
		release(block, which);
}

/* The last of all threads to arrive lets those go on that wait. */
static void arrive_in_cluster(PtxThread *t)
{
	PtxRun *run = t->block->run;
	t->phase = run->phase + 1;
	t->pc++;
	if (++run->arrived < run->nblocks * run->nthreads)
		return;
	run->arrived = 0;
	run->phase++;
	run->met = ++run->epoch;
	for (uint32_t b = 0; b < run->nblocks; b++) {
		run->blocks[b].epoch = ++run->epoch;
		for (uint32_t i = 0; i < run->nthreads; i++) {
			PtxThread *one = &run->blocks[b].threads[i];
			if (one->wait != WAIT_CLUSTER)
				continue;
			one->wait = WAIT_NONE;
			one->pc++;
		}
	}
}

static void wait_for_cluster(PtxThread *t)
{
	if (t->phase <= t->block->run->phase)
		t->pc++;
	else
		t->wait = WAIT_CLUSTER;
}

void ptx_barrier(PtxThread *t, const PtxInstr *in, uint32_t which, uint32_t count, uint64_t value)
{
	if (in->sub == BAR_CLUSTER_ARRIVE) {
		arrive_in_cluster(t);
	} else if (in->sub == BAR_CLUSTER_WAIT) {
		wait_for_cluster(t);
	} else if (which >= BARRIERS || count > t->block->nthreads || count % WARP != 0) {
		ptx_fault(t, FAULT_ILLEGAL, "meets barrier %u of %u threads, which there cannot be",
			  which, count);
	} else {
		arrive(t, in, which, count, value);
	}
}

static const char *what(PtxWait wait)
{
	switch (wait) {
	case WAIT_BARRIER: return "wait at a barrier";
	case WAIT_CLUSTER: return "wait for the cluster";
	case WAIT_COLLECTIVE: return "wait for their warp";
	case WAIT_POLL: return "ask an mbarrier";
	default: return "have ended";
	}
}

/* One line for each place where threads of the block are. */
void ptx_deadlock(PtxRun *run)
{
	static const PtxWait waits[] = {WAIT_BARRIER, WAIT_CLUSTER, WAIT_COLLECTIVE, WAIT_POLL,
					WAIT_ENDED};
	char text[400] = "";
	PtxThread *stuck = NULL;
	for (size_t w = 0; w < sizeof waits / sizeof *waits; w++) {
		uint32_t n = 0;
		PtxThread *first = NULL;
		for (uint32_t i = 0; i < run->nblocks * run->nthreads; i++) {
			PtxThread *t = &run->blocks[i / run->nthreads].threads[i % run->nthreads];
			first = t->wait == waits[w] && first == NULL ? t : first;
			n += t->wait == waits[w];
		}
		if (n == 0)
			continue;
		stuck = stuck == NULL ? first : stuck;
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%s%u %s (thread %u at line %u)",
			 used ? ", " : "", n, what(waits[w]), first->index,
			 ptx_thread_at(first)->line);
	}
	ptx_fault(stuck, FAULT_SYNC, "waits for what does not come: %s", text);
}
