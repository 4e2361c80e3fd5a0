/* mbarriers, and the copies that they are told of: cp.async.bulk and cp.async.mbarrier.arrive.
 *
 * The object's 64 bits: arrivals that are awaited: 20 | of a whole phase: 20 | bytes that are awaited: 22, signed | the
 * phase's parity: 1. A phase ends when neither arrivals nor bytes are awaited. What is asynchronous is done at once, or
 * when somebody waits and would wait in vain.
 */
#include <inttypes.h>
#include <string.h>

#include "test/ptx/run.h"

enum {
	COUNT_BITS = 20,
	BYTES_BITS = 22,
	NO_COUNT = (1 << COUNT_BITS) - 1,
	MOST_BYTES = NO_COUNT,
	BULK = 16
};

typedef struct Mbarrier {
	uint32_t pending, expected;
	int32_t bytes;
	uint32_t phase;
} Mbarrier;

static Mbarrier unpacked(const unsigned char *at)
{
	uint64_t bits;
	memcpy(&bits, at, sizeof bits);
	Mbarrier m = {(uint32_t)bits & NO_COUNT, (uint32_t)(bits >> COUNT_BITS) & NO_COUNT, 0,
		      (uint32_t)(bits >> 62) & 1};
	m.bytes = (int32_t)((int64_t)(bits << 2) >> (64 - BYTES_BITS));
	return m;
}

static void packed(unsigned char *at, Mbarrier m)
{
	if (m.pending == 0 && m.bytes == 0) {
		m.pending = m.expected;
		m.phase ^= 1;
	}
	uint64_t bytes = (uint64_t)(uint32_t)m.bytes & ((1u << BYTES_BITS) - 1);
	uint64_t bits = m.pending | (uint64_t)m.expected << COUNT_BITS | bytes << 2 * COUNT_BITS |
			(uint64_t)m.phase << 62;
	memcpy(at, &bits, sizeof bits);
}

/* The object, or NULL after a fault: it has been initialised. */
static unsigned char *object(PtxThread *t, PtxInstr *in, uint64_t address)
{
	unsigned char *at = ptx_touch(t, in, in->space, address, 8, ACCESS_ATOMIC);
	if (at != NULL && (unpacked(at).expected == 0 || unpacked(at).expected == NO_COUNT)) {
		ptx_fault(t, FAULT_ILLEGAL, "uses an mbarrier that has not been initialised");
		return NULL;
	}
	return at;
}

static void arrive(PtxThread *t, PtxInstr *in, uint64_t address, uint32_t count)
{
	unsigned char *at = object(t, in, address);
	if (at == NULL)
		return;
	Mbarrier m = unpacked(at);
	if (count == 0 || count > m.pending) {
		ptx_fault(t, FAULT_SYNC, "arrives %u times at an mbarrier that awaits %u", count,
			  m.pending);
		return;
	}
	m.pending -= count;
	packed(at, m);
}

/* More bytes are awaited, or, below 0, have come. */
static void expect(PtxThread *t, PtxInstr *in, uint64_t address, int64_t bytes)
{
	unsigned char *at = object(t, in, address);
	if (at == NULL)
		return;
	Mbarrier m = unpacked(at);
	if (m.bytes + bytes > MOST_BYTES || m.bytes + bytes < -MOST_BYTES) {
		ptx_fault(t, FAULT_ILLEGAL, "has an mbarrier await %" PRId64 " bytes",
			  m.bytes + bytes);
		return;
	}
	m.bytes += (int32_t)bytes;
	packed(at, m);
}

static void init(PtxThread *t, PtxInstr *in, uint64_t address, uint64_t count)
{
	unsigned char *at = ptx_touch(t, in, in->space, address, 8, ACCESS_ATOMIC);
	if (at == NULL)
		return;
	if (count == 0 || count >= NO_COUNT) {
		ptx_fault(t, FAULT_ILLEGAL, "has an mbarrier await %" PRIu64 " arrivals", count);
		return;
	}
	t->block->loose = true;
	packed(at, (Mbarrier){(uint32_t)count, (uint32_t)count, 0, 0});
}

/* ---- what is asynchronous ---- */

/* Copies bytes between shared and global memory; both places are checked when it is asked for and when it is done. */
static bool copy(PtxThread *t, PtxInstr *in, const PtxAsync *a)
{
	if (a->map != NULL)
		return ptx_tensor_copy(t, in, a);
	PtxSpace from = a->store ? SPACE_SHARED : SPACE_GLOBAL,
		 to = a->store ? SPACE_GLOBAL : SPACE_SHARED;
	for (uint32_t at = 0; at < a->bytes; at += BULK) {
		unsigned char *source = ptx_touch(t, in, from, a->from + at, BULK, ACCESS_ATOMIC);
		unsigned char *target =
			source ? ptx_touch(t, in, to, a->to + at, BULK, ACCESS_ATOMIC) : NULL;
		if (target == NULL)
			return false;
		if (a->done)
			memcpy(target, source, BULK);
	}
	return true;
}

static void perform(PtxAsync *a)
{
	PtxInstr *in = a->in;
	a->done = true;
	if (a->arrives) {
		ptx_copy_wait(a->thread, in, -1);
		arrive(a->thread, in, a->mbarrier, 1);
		return;
	}
	if (copy(a->thread, in, a) && !a->store)
		expect(a->thread, in, a->mbarrier, -(int64_t)a->bytes);
}

static void submit(PtxThread *t, PtxAsync a)
{
	PtxRun *run = t->block->run;
	if (ptx_late(run))
		PUSH(run->arena, run->asyncs, a);
	else
		perform(&a);
}

/* Does the oldest that is under way, but for stores. False: there is none. */
static bool advance(PtxRun *run)
{
	for (size_t i = 0; i < run->asyncs.n; i++) {
		PtxAsync a = run->asyncs.at[i];
		if (a.store)
			continue;
		memmove(run->asyncs.at + i, run->asyncs.at + i + 1,
			(run->asyncs.n - i - 1) * sizeof a);
		run->asyncs.n--;
		perform(&a);
		return true;
	}
	return false;
}

void ptx_bulk(PtxThread *t, PtxInstr *in)
{
	const int32_t *more = t->function->operands.at + in->more;
	bool store = in->sub == BULK_STORE;
	PtxAsync a = {.thread = t, .in = in, .store = store, .group = t->bulk_group};
	a.to = ptx_value(t, in->a) + (uint64_t)in->offset;
	if (in->kind == KIND_TENSOR) {
		a.from = a.to;
		if (!store)
			a.mbarrier = ptx_value(t, more[1]) + ptx_value(t, more[2]);
		if (ptx_tensor_begin(t, in, &a) && (!store || ptx_proxy_sees(t, a.from, a.bytes)) &&
		    copy(t, in, &a) && (store || object(t, in, a.mbarrier) != NULL))
			submit(t, a);
		return;
	}
	a.from = ptx_value(t, in->b) + ptx_value(t, more[0]);
	uint64_t bytes = (uint32_t)ptx_value(t, in->c);
	a.bytes = (uint32_t)bytes;
	if (bytes % BULK != 0 || a.to % BULK != 0 || a.from % BULK != 0) {
		ptx_fault(t, FAULT_MISALIGNED,
			  "copies %" PRIu64 " bytes from 0x%" PRIx64 " to 0x%" PRIx64
			  ", which are not all multiples of 16",
			  bytes, a.from, a.to);
		return;
	}
	if (!store)
		a.mbarrier = ptx_value(t, more[1]) + ptx_value(t, more[2]);
	if ((!store || ptx_proxy_sees(t, a.from, a.bytes)) && copy(t, in, &a) &&
	    (store || object(t, in, a.mbarrier) != NULL))
		submit(t, a);
}

void ptx_bulk_wait(PtxThread *t, int64_t under_way)
{
	PtxRun *run = t->block->run;
	size_t kept = 0;
	for (size_t i = 0; i < run->asyncs.n; i++) {
		PtxAsync a = run->asyncs.at[i];
		if (a.thread == t && a.store &&
		    (int64_t)a.group < (int64_t)t->bulk_group - under_way)
			perform(&a);
		else
			run->asyncs.at[kept++] = a;
	}
	run->asyncs.n = kept;
}

bool ptx_bulk_reads(const PtxThread *t)
{
	const PtxRun *run = t->block->run;
	for (size_t i = 0; i < run->asyncs.n; i++)
		if (run->asyncs.at[i].thread == t && run->asyncs.at[i].store)
			return true;
	return false;
}

static void arrive_behind_copies(PtxThread *t, PtxInstr *in, uint64_t address)
{
	unsigned char *at = object(t, in, address);
	if (at == NULL)
		return;
	if (in->sub == MBARRIER_CP_ASYNC) { /* an arrival more than the phase awaits */
		Mbarrier m = unpacked(at);
		m.pending++;
		packed(at, m);
	}
	submit(t, (PtxAsync){.thread = t, .in = in, .mbarrier = address, .arrives = true});
}

/* ---- instructions ---- */

static bool ended(PtxThread *t, PtxInstr *in, uint64_t address, uint64_t phase)
{
	unsigned char *at;
	do {
		at = object(t, in, address);
		if (at == NULL || unpacked(at).phase != (phase & 1))
			return true;
	} while (advance(t->block->run));
	return t->block->run->failed;
}

bool ptx_mbarrier(PtxThread *t, PtxInstr *in)
{
	uint64_t address = ptx_value(t, in->a) + (uint64_t)in->offset, b = ptx_value(t, in->b);
	unsigned char *at = in->sub == MBARRIER_ARRIVE || in->sub == MBARRIER_ARRIVE_EXPECT
				    ? object(t, in, address)
				    : NULL;
	uint64_t phase = at != NULL ? unpacked(at).phase : 0;
	switch ((PtxMbarrier)in->sub) {
	case MBARRIER_INIT: init(t, in, address, (uint32_t)b); break;
	case MBARRIER_INVAL: {
		at = object(t, in, address);
		if (at != NULL)
			memset(at, 0xff, 8);
		break;
	}
	case MBARRIER_ARRIVE: arrive(t, in, address, (uint32_t)b); break;
	case MBARRIER_EXPECT: expect(t, in, address, (uint32_t)b); break;
	case MBARRIER_ARRIVE_EXPECT:
		expect(t, in, address, (uint32_t)b);
		arrive(t, in, address, 1);
		break;
	case MBARRIER_CP_ASYNC:
	case MBARRIER_CP_ASYNC_NOINC: arrive_behind_copies(t, in, address); break;
	case MBARRIER_WAIT: {
		bool is = ended(t, in, address, b);
		t->regs[in->d] = is;
		t->pc++;
		t->wait = is ? WAIT_NONE : WAIT_POLL;
		return is && !t->block->run->failed;
	}
	}
	if (in->sub == MBARRIER_ARRIVE || in->sub == MBARRIER_ARRIVE_EXPECT)
		t->regs[in->d] = phase;
	t->pc++;
	return !t->block->run->failed;
}
