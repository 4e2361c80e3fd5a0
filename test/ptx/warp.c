/* What the threads of a warp do at once: the last one to come does it for all. */
#include "test/ptx/run.h"

#include "test/ptx/eval.h"

typedef struct Lanes {
	PtxThread *at[WARP]; /* NULL: it takes no part */
	uint32_t mask;
} Lanes;

static uint32_t existing(const PtxBlock *block, uint32_t warp)
{
	uint32_t n = block->nthreads - warp * WARP;
	return n >= WARP ? UINT32_MAX : (1u << n) - 1;
}

static uint64_t value(const PtxThread *t, const PtxInstr *in, int32_t at)
{
	bool negated = (in->flags & FLAG_NEGATED) != 0;
	return negated ? ptx_value(t, at) == 0 : ptx_value(t, at);
}

/* The lane that a lane reads: its own where there is none, and then the predicate is false. */
static int source(const PtxInstr *in, int lane, uint32_t b, uint32_t c, bool *there)
{
	int clamp = (int)(c & 31), segment = (int)(c >> 8 & 31), by = (int)(b & 31);
	int most = (lane & segment) | (clamp & ~segment), least = lane & segment, from = lane;
	switch ((PtxCollective)in->sub) {
	case COLLECTIVE_SHFL_UP:
		from = lane - by;
		*there = from >= most;
		break;
	case COLLECTIVE_SHFL_DOWN:
		from = lane + by;
		*there = from <= most;
		break;
	case COLLECTIVE_SHFL_BFLY:
		from = lane ^ by;
		*there = from <= most;
		break;
	default: from = least | (by & ~segment); *there = from <= most;
	}
	return *there ? from : lane;
}

static bool shuffle(const Lanes *lanes, const PtxInstr *in)
{
	uint64_t results[WARP], found[WARP];
	for (int lane = 0; lane < WARP; lane++) {
		PtxThread *t = lanes->at[lane];
		if (t == NULL)
			continue;
		bool there;
		int32_t c = t->function->operands.at[in->more];
		int from = source(in, lane, (uint32_t)ptx_value(t, in->b),
				  (uint32_t)ptx_value(t, c), &there);
		if (lanes->at[from] == NULL) {
			ptx_fault(t, FAULT_SYNC, "reads lane %d, which takes no part", from);
			return false;
		}
		results[lane] = ptx_value(lanes->at[from], in->a) & UINT32_MAX;
		found[lane] = there;
	}
	for (int lane = 0; lane < WARP; lane++) {
		PtxThread *t = lanes->at[lane];
		if (t == NULL)
			continue;
		t->regs[in->d] = results[lane];
		if (in->n)
			t->regs[t->function->operands.at[in->more + 1]] = found[lane];
	}
	return true;
}

/* Bits of the lanes whose value is not 0. */
static uint32_t ballot(const Lanes *lanes, const PtxInstr *in)
{
	uint32_t bits = 0;
	for (int lane = 0; lane < WARP; lane++)
		if (lanes->at[lane] != NULL && value(lanes->at[lane], in, in->a) != 0)
			bits |= 1u << lane;
	return bits;
}

static void give(const Lanes *lanes, const PtxInstr *in, uint64_t result)
{
	for (int lane = 0; lane < WARP; lane++)
		if (lanes->at[lane] != NULL)
			lanes->at[lane]->regs[in->d] = result;
}

static void vote(const Lanes *lanes, const PtxInstr *in)
{
	uint32_t bits = ballot(lanes, in);
	uint64_t result = bits;
	if (in->sub == COLLECTIVE_VOTE_ALL)
		result = bits == lanes->mask;
	else if (in->sub == COLLECTIVE_VOTE_ANY)
		result = bits != 0;
	else if (in->sub == COLLECTIVE_VOTE_UNI)
		result = bits == 0 || bits == lanes->mask;
	give(lanes, in, result);
}

static void match(const Lanes *lanes, const PtxInstr *in)
{
	uint32_t masks[WARP] = {0};
	for (int i = 0; i < WARP; i++)
		for (int j = 0; j < WARP; j++)
			if (lanes->at[i] != NULL && lanes->at[j] != NULL &&
			    ptx_value(lanes->at[i], in->a) == ptx_value(lanes->at[j], in->a))
				masks[i] |= 1u << j;
	for (int i = 0; i < WARP; i++) {
		PtxThread *t = lanes->at[i];
		if (t == NULL)
			continue;
		bool all = masks[i] == lanes->mask;
		t->regs[in->d] = in->sub == COLLECTIVE_MATCH_ANY || all ? masks[i] : 0;
		if (in->n)
			t->regs[t->function->operands.at[in->more]] = all;
	}
}

static void reduce(const Lanes *lanes, const PtxInstr *in)
{
	uint64_t result = 0;
	bool first = true;
	for (int lane = 0; lane < WARP; lane++) {
		if (lanes->at[lane] == NULL)
			continue;
		uint64_t one = ptx_value(lanes->at[lane], in->a);
		result = first ? one : ptx_eval_atom(in->n, in->type, result, one, 0);
		first = false;
	}
	give(lanes, in, result);
}

static void elect(const Lanes *lanes, const PtxInstr *in)
{
	int leader = __builtin_ctz(lanes->mask);
	give(lanes, in, (uint64_t)leader);
	for (int lane = 0; lane < WARP; lane++) {
		PtxThread *t = lanes->at[lane];
		if (t != NULL)
			t->regs[t->function->operands.at[in->more]] = lane == leader;
	}
}

static bool perform(const Lanes *lanes, PtxInstr *in)
{
	switch ((PtxCollective)in->sub) {
	case COLLECTIVE_SYNC: return true;
	case COLLECTIVE_SHFL_UP:
	case COLLECTIVE_SHFL_DOWN:
	case COLLECTIVE_SHFL_BFLY:
	case COLLECTIVE_SHFL_IDX: return shuffle(lanes, in);
	case COLLECTIVE_MATCH_ANY:
	case COLLECTIVE_MATCH_ALL: match(lanes, in); return true;
	case COLLECTIVE_REDUX: reduce(lanes, in); return true;
	case COLLECTIVE_ELECT: elect(lanes, in); return true;
	case COLLECTIVE_LDMATRIX:
	case COLLECTIVE_STMATRIX:
	case COLLECTIVE_MMA: return ptx_matrix(lanes->at, in);
	default: vote(lanes, in); return true;
	}
}

/* The threads of the mask, where all wait at this instruction; false: some do not. */
static bool gather(PtxThread *t, const PtxInstr *in, uint32_t mask, Lanes *lanes)
{
	PtxBlock *block = t->block;
	*lanes = (Lanes){.mask = mask};
	for (uint32_t lane = 0; lane < WARP; lane++) {
		if (!(mask >> lane & 1))
			continue;
		PtxThread *one = &block->threads[t->index / WARP * WARP + lane];
		if (one->wait == WAIT_ENDED) {
			ptx_fault(t, FAULT_SYNC, "waits for lane %u of its warp, which has ended",
				  lane);
			return false;
		}
		const PtxInstr *there = ptx_thread_at(one);
		if (one->wait != WAIT_COLLECTIVE)
			return false;
		if (there != in && !(there->kind == KIND_COLLECTIVE &&
				     there->sub == COLLECTIVE_SYNC && in->sub == COLLECTIVE_SYNC)) {
			ptx_fault(
				t, FAULT_SYNC,
				"and thread %u of its warp are at different instructions: line %u",
				one->index, there->line);
			return false;
		}
		lanes->at[lane] = one;
	}
	return true;
}

void ptx_collective(PtxThread *t, PtxInstr *in)
{
	PtxBlock *block = t->block;
	uint32_t lane = t->index % WARP, mask = UINT32_MAX;
	if (in->sub != COLLECTIVE_LDMATRIX && in->sub != COLLECTIVE_STMATRIX &&
	    in->sub != COLLECTIVE_MMA)
		mask = (uint32_t)ptx_value(t, in->c);
	mask &= existing(block, t->index / WARP);
	if (!(mask >> lane & 1)) {
		ptx_fault(t, FAULT_SYNC, "takes part in what its mask 0x%x leaves it out of", mask);
		return;
	}
	t->wait = WAIT_COLLECTIVE;
	Lanes lanes;
	if (!gather(t, in, mask, &lanes) || !perform(&lanes, in))
		return;
	for (uint32_t i = 0; i < WARP; i++)
		if (lanes.at[i] != NULL) {
			lanes.at[i]->wait = WAIT_NONE;
			lanes.at[i]->pc++;
		}
	if (mask == existing(block, t->index / WARP))
		block->synced[t->index / WARP]++;
}
