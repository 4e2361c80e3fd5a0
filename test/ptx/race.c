/* Accesses of two threads to a byte of shared memory, one of them a store, without a barrier between them.
 *
 * A stamp says who touched a byte last, and when: the block's epoch, which every barrier of all its threads ends, and how
 * often the thread's warp has synchronised in it. Two accesses are in order when their epochs differ, or when both are of
 * one warp that has synchronised in between. A byte keeps the last store, and of the loads since the last epoch one, with
 * whether there were others in its warp or elsewhere. Where a block waits by other means (barriers of some of its threads,
 * mbarriers), nothing is reported.
 *
 * Blocks of a cluster are in order when all of them have met since: when the epoch of a store is one before that. Loads by
 * other blocks, of which a byte keeps the last, a block may neither store behind nor end behind before all meet again.
 */
#include "test/ptx/run.h"

#include <inttypes.h>

/* epoch: 37 bits | warp's count: 14 | thread: 10 | others in the warp: 1 | others elsewhere: 1, and never 0. */
enum { COUNT_BITS = 14, THREAD_BITS = 10, IN_WARP = 2, ELSEWHERE = 1 };

static uint64_t stamp_of(const PtxThread *t, const PtxBlock *owner)
{
	uint64_t count = owner->synced[t->index / WARP] & ((1u << COUNT_BITS) - 1);
	return ((owner->epoch << COUNT_BITS | count) << THREAD_BITS | t->index) << 2;
}

static uint64_t epoch_of(uint64_t stamp) { return stamp >> (2 + THREAD_BITS + COUNT_BITS); }
static uint32_t thread_of(uint64_t stamp) { return stamp >> 2 & ((1u << THREAD_BITS) - 1); }
static uint64_t count_of(uint64_t stamp)
{
	return stamp >> (2 + THREAD_BITS) & ((1u << COUNT_BITS) - 1);
}

/* Is an earlier access, with others of its kind, not in order with one that happens now? */
static bool meets(uint64_t before, uint64_t now)
{
	if (epoch_of(before) != epoch_of(now))
		return false;
	if (before & ELSEWHERE)
		return true;
	if (thread_of(before) / WARP != thread_of(now) / WARP)
		return true;
	return count_of(before) == count_of(now) &&
	       (thread_of(before) != thread_of(now) || before & IN_WARP);
}

static uint64_t also_read(uint64_t before, uint64_t now)
{
	if (epoch_of(before) != epoch_of(now))
		return now;
	uint64_t others = before & (IN_WARP | ELSEWHERE);
	if (thread_of(before) / WARP != thread_of(now) / WARP)
		others |= ELSEWHERE;
	else if (count_of(before) == count_of(now) && thread_of(before) != thread_of(now))
		others |= IN_WARP;
	else if (count_of(before) != count_of(now))
		others &= ~(uint64_t)IN_WARP;
	return now | others;
}

static bool report(PtxThread *t, uint64_t offset, uint64_t other, const char *does, const char *did)
{
	ptx_fault(t, FAULT_RACE,
		  "%s place %" PRIu64
		  " of shared memory, which thread %u %s with no barrier in between",
		  does, offset, thread_of(other), did);
	return false;
}

static bool told(PtxThread *t, uint64_t offset, const char *does, const char *did)
{
	ptx_fault(
		t, FAULT_RACE,
		"%s place %" PRIu64
		" of shared memory, which another block of the cluster %s with no barrier in between",
		does, offset, did);
	return false;
}

/* Have all blocks met since another one touched it, if one of both stores? */
static bool is_in_order_of_cluster(PtxThread *t, PtxBlock *owner, uint64_t offset, uint32_t bytes,
				   PtxAccess access)
{
	uint64_t met = t->block->run->met;
	bool away = owner != t->block, stores = access != ACCESS_READ;
	for (uint64_t at = offset; t->block->run->nblocks > 1 && at < offset + bytes; at++) {
		PtxTouched *byte = &owner->touched[at];
		bool read = byte->away == met || (away && epoch_of(byte->read) > met);
		if (away && epoch_of(byte->write) > met)
			return told(t, at, stores ? "writes" : "reads", "wrote");
		if (stores && read)
			return told(t, at, "writes", "read");
		if (away)
			byte->away = owner->away = met;
	}
	return true;
}

bool ptx_race(PtxThread *t, PtxBlock *owner, uint64_t offset, uint32_t bytes, PtxAccess access)
{
	if (!is_in_order_of_cluster(t, owner, offset, bytes, access))
		return false;
	if (owner->loose || owner != t->block || access == ACCESS_ATOMIC)
		return true;
	uint64_t now = stamp_of(t, owner);
	for (uint64_t at = offset; at < offset + bytes; at++) {
		PtxTouched *byte = &owner->touched[at];
		if (meets(byte->write, now))
			return report(t, at, byte->write,
				      access == ACCESS_READ ? "reads" : "writes", "wrote");
		if (access == ACCESS_READ) {
			byte->read = also_read(byte->read, now);
		} else {
			if (meets(byte->read, now))
				return report(t, at, byte->read, "writes", "read");
			byte->write = now;
		}
	}
	return true;
}

void ptx_race_end(PtxThread *t)
{
	if (t->block->run->nblocks > 1 && t->block->away == t->block->run->met)
		ptx_fault(t, FAULT_RACE,
			  "ends though another block of the cluster reads its shared memory");
}
