/* One thread, instruction after instruction. */
#include "test/ptx/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "test/ptx/eval.h"
#include "test/ptx/number.h"

enum { TURN = 1 << 16 }; /* instructions */

const PtxInstr *ptx_thread_at(const PtxThread *t) { return &t->function->code.at[t->pc]; }

void ptx_fault(PtxThread *t, PtxFault fault, const char *fmt, ...)
{
	PtxRun *run = t->block->run;
	if (run->failed)
		return;
	run->failed = true;
	run->report->fault = fault;
	const uint32_t *block = t->block->at, *size = run->launch->block, i = t->index;
	int n = snprintf(run->report->text, sizeof run->report->text,
			 "kernel %.200s, block %u,%u,%u, thread %u,%u,%u, line %u: ",
			 run->launch->kernel->name, block[0], block[1], block[2], i % size[0],
			 i / size[0] % size[1], i / size[0] / size[1], ptx_thread_at(t)->line);
	va_list args;
	va_start(args, fmt);
	vsnprintf(run->report->text + n, sizeof run->report->text - (size_t)n, fmt, args);
	va_end(args);
}

uint64_t ptx_random(PtxRun *run)
{
	run->random ^= run->random << 13;
	run->random ^= run->random >> 7;
	return run->random ^= run->random << 17;
}

static uint64_t extended(const PtxInstr *in, const unsigned char *at)
{
	uint64_t value = 0;
	int bytes = ptx_type_bytes(in->type);
	memcpy(&value, at, (size_t)bytes);
	if (!ptx_type_signed(in->type) || in->width <= bytes)
		return value;
	int above = 64 - 8 * bytes;
	return (uint64_t)((int64_t)(value << above) >> above) &
	       (UINT64_MAX >> (64 - 8 * in->width));
}

static bool load(PtxThread *t, PtxInstr *in)
{
	uint32_t bytes = (uint32_t)ptx_type_bytes(in->type);
	const unsigned char *at =
		ptx_touch(t, in, in->space, ptx_value(t, in->a) + (uint64_t)in->offset,
			  bytes * in->n, ACCESS_READ);
	if (at == NULL)
		return false;
	if (in->n == 1) {
		t->regs[in->d] = extended(in, at);
		return true;
	}
	const int32_t *d = t->function->operands.at + in->more;
	for (uint32_t i = 0; i < in->n; i++)
		t->regs[d[i]] = extended(in, at + i * bytes);
	return true;
}

static bool store(PtxThread *t, PtxInstr *in)
{
	uint32_t bytes = (uint32_t)ptx_type_bytes(in->type);
	unsigned char *at = ptx_touch(t, in, in->space, ptx_value(t, in->a) + (uint64_t)in->offset,
				      bytes * in->n, ACCESS_WRITE);
	if (at == NULL)
		return false;
	const int32_t *d = t->function->operands.at + in->more;
	for (uint32_t i = 0; i < in->n; i++) {
		uint64_t value = ptx_value(t, d[i]);
		memcpy(at + i * bytes, &value, bytes);
	}
	return true;
}

static bool atomic(PtxThread *t, PtxInstr *in)
{
	uint32_t bytes = (uint32_t)ptx_type_bytes(in->type);
	unsigned char *at = ptx_touch(t, in, in->space, ptx_value(t, in->a) + (uint64_t)in->offset,
				      bytes, ACCESS_ATOMIC);
	if (at == NULL)
		return false;
	uint64_t old = 0, mask = UINT64_MAX >> (64 - 8 * bytes);
	memcpy(&old, at, bytes);
	uint64_t new = ptx_eval_atom(in->sub, in->type, old, ptx_value(t, in->b) & mask,
				     ptx_value(t, in->c) & mask);
	memcpy(at, &new, bytes);
	t->regs[in->d] = old;
	return true;
}

static void compare(PtxThread *t, const PtxInstr *in)
{
	uint64_t a = ptx_value(t, in->a), b = ptx_value(t, in->b);
	if (in->flags & FLAG_FTZ && in->type == TYPE_f32) {
		a = ptx_flush(a);
		b = ptx_flush(b);
	}
	bool is = in->eval(a, b, 0) != 0, not = !is;
	bool c = (ptx_value(t, in->c) != 0) != ((in->flags & FLAG_NEGATED) != 0);
	if (in->sub == COMBINE_AND) {
		is = is && c;
		not = not &&c;
	} else if (in->sub == COMBINE_OR) {
		is = is || c;
		not = not || c;
	} else if (in->sub == COMBINE_XOR) {
		is = is != c;
		not = not != c;
	}
	t->regs[in->d] = is;
	if (in->n)
		t->regs[t->function->operands.at[in->more]] = not ;
}

static uint64_t set(const PtxThread *t, const PtxInstr *in)
{
	bool is = in->eval(ptx_value(t, in->a), ptx_value(t, in->b), 0) != 0;
	if (ptx_type_float(in->type))
		return is ? ptx_number_bits(in->type, 1, 0) : 0;
	return is ? UINT64_MAX >> (64 - 8 * ptx_type_bytes(in->type)) : 0;
}

static uint64_t four(const PtxThread *t, const PtxInstr *in)
{
	uint64_t a = ptx_value(t, in->a), b = ptx_value(t, in->b), c = ptx_value(t, in->c);
	uint64_t last = ptx_value(t, t->function->operands.at[in->more]);
	uint64_t bits = in->sub ? ptx_lop3(a, b, c, last) : ptx_insert(a, b, c, last);
	return bits & (UINT64_MAX >> (64 - 8 * ptx_type_bytes(in->type)));
}

static void pack(PtxThread *t, const PtxInstr *in)
{
	const int32_t *list = t->function->operands.at + in->more;
	uint64_t mask = UINT64_MAX >> (64 - 8 * in->width), value = 0;
	for (int i = 0; i < in->n; i++)
		value |= (ptx_value(t, list[i]) & mask) << 8 * in->width * i;
	t->regs[in->d] = value;
}

static void unpack(PtxThread *t, const PtxInstr *in)
{
	const int32_t *list = t->function->operands.at + in->more;
	uint64_t mask = UINT64_MAX >> (64 - 8 * in->width), value = ptx_value(t, in->a);
	for (int i = 0; i < in->n; i++)
		t->regs[list[i]] = value >> 8 * in->width * i & mask;
}

/* A frame behind the caller's, with its special registers; arguments are copied into it. */
static void call(PtxThread *t, const PtxInstr *in)
{
	const PtxFunction *from = t->function;
	const PtxFunction *to = t->block->run->launch->module->functions.at[in->target];
	t->calls[t->depth++] = (PtxCall){from, t->regs, t->pc, t->stack};
	uint64_t *regs = t->regs + from->image.n;
	uint32_t stack = t->stack + from->local_bytes;
	memcpy(regs, to->image.at, to->image.n * sizeof *regs);
	memcpy(regs, t->regs, SPECIAL_COUNT * sizeof *regs);
	memset(t->local + stack, 0xff, to->local_bytes);
	const int32_t *at = from->operands.at + in->more + in->n;
	for (size_t i = 0; i < to->params.n; i++)
		memcpy(t->local + stack + to->params.at[i].at, t->local + t->stack + at[i],
		       to->params.at[i].bytes);
	regs[SPECIAL_STACK] = stack;
	t->function = to;
	t->regs = regs;
	t->stack = stack;
	t->pc = 0;
}

static void leave(PtxThread *t)
{
	const PtxFunction *from = t->function;
	uint32_t stack = t->stack;
	const PtxCall *caller = &t->calls[--t->depth];
	t->function = caller->function;
	t->regs = caller->regs;
	t->stack = caller->stack;
	t->pc = caller->pc;
	const int32_t *at = t->function->operands.at + ptx_thread_at(t)->more;
	for (size_t i = 0; i < from->results.n; i++)
		memcpy(t->local + t->stack + at[i], t->local + stack + from->results.at[i].at,
		       from->results.at[i].bytes);
	t->pc++;
}

static void cluster_address(PtxThread *t, const PtxInstr *in)
{
	uint64_t a = ptx_value(t, in->a), window = in->space == SPACE_GENERIC ? PTX_SHARED_BASE : 0;
	uint64_t rank = (a - window) >> 24;
	if (in->kind == KIND_RANK)
		t->regs[in->d] = rank == 0 ? t->block->rank : rank - 1;
	else
		t->regs[in->d] = window + ((a - window) & 0xffffff) +
				 ((uint64_t)((uint32_t)ptx_value(t, in->b) + 1) << 24);
}

/* What all but the most frequent instructions do. False: the thread waits, has ended, or has failed. */
static bool other(PtxThread *t, PtxInstr *in)
{
	const int32_t *list = t->function->operands.at + in->more;
	switch ((PtxKind)in->kind) {
	case KIND_FLOAT:
		t->regs[in->d] = ptx_eval_float(in, ptx_value(t, in->a), ptx_value(t, in->b),
						ptx_value(t, in->c));
		break;
	case KIND_CARRY:
		t->regs[in->d] = in->carry(ptx_value(t, in->a), ptx_value(t, in->b),
					   ptx_value(t, in->c), &t->carry);
		break;
	case KIND_SETP: compare(t, in); break;
	case KIND_SET: t->regs[in->d] = set(t, in); break;
	case KIND_FOUR: t->regs[in->d] = four(t, in); break;
	case KIND_CVT:
		t->regs[in->d] = ptx_convert(in, ptx_value(t, in->a), ptx_value(t, in->b));
		break;
	case KIND_PACK: pack(t, in); break;
	case KIND_UNPACK: unpack(t, in); break;
	case KIND_ADDRESS: t->regs[in->d] = ptx_value(t, in->a) + (uint64_t)in->offset; break;
	case KIND_ATOM:
		if (!atomic(t, in))
			return false;
		break;
	case KIND_BRX: {
		uint64_t at = (uint32_t)ptx_value(t, in->a);
		const int32_t *targets = t->function->operands.at + in->target;
		if (at >= (uint64_t)targets[0]) {
			ptx_fault(t, FAULT_ILLEGAL, "branches to target %llu of %d",
				  (unsigned long long)at, targets[0]);
			return false;
		}
		t->pc = (uint32_t)targets[1 + at];
		return true;
	}
	case KIND_CALL: call(t, in); return true;
	case KIND_RET: leave(t); return true;
	case KIND_EXIT:
		if (ptx_group_works(t))
			ptx_fault(t, FAULT_SYNC, "ends while its warpgroup multiplies");
		if (!t->follows)
			ptx_fault(t, FAULT_SYNC, "ends without waiting for the launch in front");
		if (ptx_bulk_reads(t))
			ptx_fault(t, FAULT_SYNC, "ends while its copies read shared memory");
		ptx_race_end(t);
		t->wait = WAIT_ENDED;
		return false;
	case KIND_TRAP: ptx_fault(t, FAULT_TRAP, "traps"); return false;
	case KIND_BAR:
		ptx_barrier(t, in, (uint32_t)ptx_value(t, in->a), (uint32_t)ptx_value(t, in->b),
			    (ptx_value(t, in->c) != 0) != ((in->flags & FLAG_NEGATED) != 0));
		return t->wait == WAIT_NONE;
	case KIND_COLLECTIVE: ptx_collective(t, in); return t->wait == WAIT_NONE;
	case KIND_CP_ASYNC:
		ptx_copy_begin(t, in, ptx_value(t, in->a) + (uint64_t)in->offset,
			       ptx_value(t, in->b) + ptx_value(t, list[0]), ptx_value(t, in->c));
		break;
	case KIND_CP_COMMIT: ptx_copy_commit(t); break;
	case KIND_CP_WAIT: ptx_copy_wait(t, in, in->offset); break;
	case KIND_MBARRIER: return ptx_mbarrier(t, in);
	case KIND_BULK:
	case KIND_TENSOR: ptx_bulk(t, in); break;
	case KIND_GROUP_MULTIPLY: ptx_group_multiply(t, in); return t->wait == WAIT_NONE;
	case KIND_GROUP_COMMIT: t->products++; break;
	case KIND_GROUP_WAIT: ptx_group_wait(t, in->offset); break;
	case KIND_BULK_COMMIT: t->bulk_group++; break;
	case KIND_BULK_WAIT: ptx_bulk_wait(t, in->offset); break;
	case KIND_ACTIVEMASK: t->regs[in->d] = UINT64_C(1) << t->index % WARP; break;
	case KIND_CLUSTER:
	case KIND_RANK: cluster_address(t, in); break;
	case KIND_PROXY_FENCE: t->fences++; break;
	case KIND_GRID_WAIT: t->follows = true; break;
	case KIND_NANOSLEEP:
		t->wait = WAIT_TURN;
		t->pc++;
		return false;
	default: break;
	}
	t->pc++;
	return true;
}

/* Instructions until the thread stops or `left` of them are done; how many are left. */
static uint32_t steps(PtxThread *t, uint32_t left)
{
	PtxRun *run = t->block->run;
	for (; left > 0; left--) {
		PtxInstr *in = &t->function->code.at[t->pc];
		uint64_t *regs = t->regs;
		if (in->guard >= 0 && (regs[in->guard >> 1] != 0) == (in->guard & 1)) {
			t->pc++;
			continue;
		}
		switch ((PtxKind)in->kind) {
		case KIND_EVAL:
			regs[in->d] = in->eval(ptx_value(t, in->a), ptx_value(t, in->b),
					       ptx_value(t, in->c));
			t->pc++;
			break;
		case KIND_BRA: t->pc = in->target; break;
		case KIND_LD:
			if (!load(t, in))
				return left;
			t->pc++;
			break;
		case KIND_ST:
			if (!store(t, in))
				return left;
			t->pc++;
			break;
		default:
			if (!other(t, in) || run->failed)
				return left - 1;
		}
	}
	t->wait = WAIT_TURN;
	return 0;
}

bool ptx_thread_run(PtxThread *t)
{
	PtxRun *run = t->block->run;
	if (t->wait == WAIT_TURN || t->wait == WAIT_POLL)
		t->wait = WAIT_NONE;
	if (t->wait != WAIT_NONE)
		return false;
	uint32_t turn = run->fuel < TURN ? (uint32_t)run->fuel : TURN;
	uint32_t used = turn - steps(t, turn);
	run->fuel -= used;
	run->report->instructions += used;
	if (run->fuel == 0)
		ptx_fault(t, FAULT_TIMEOUT,
			  "has not ended after all the instructions that a launch may take");
	return t->wait != WAIT_POLL;
}
