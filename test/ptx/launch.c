/* A launch: clusters of blocks one after another, the threads of one in turns. */
#include "test/ptx/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xff };

static uint64_t volume(const uint32_t *size) { return (uint64_t)size[0] * size[1] * size[2]; }

static void refuse(PtxReport *report, PtxFault fault, const PtxLaunch *launch, const char *why)
{
	report->fault = fault;
	snprintf(report->text, sizeof report->text, "kernel %.200s: %s", launch->kernel->name, why);
}

/* Memory that is freed with the launch; NULL: there is none. */
typedef struct Memory {
	uint64_t *regs;
	unsigned char *local, *shared;
	PtxTouched *touched;
	PtxThread *threads;
	PtxCall *calls;
	uint32_t *order;
} Memory;

static void memory_free(Memory *m)
{
	free(m->regs);
	free(m->local);
	free(m->shared);
	free(m->touched);
	free(m->threads);
	free(m->calls);
	free(m->order);
}

static bool memory_new(Memory *m, const PtxRun *run)
{
	const PtxFunction *kernel = run->launch->kernel;
	size_t n = (size_t)run->nblocks * run->nthreads,
	       shared = (size_t)run->nblocks * run->shared_bytes;
	m->regs = malloc(n * kernel->stack_regs * sizeof *m->regs);
	m->local = malloc(n * kernel->stack_local + 1);
	m->shared = malloc(shared + 1);
	m->threads = calloc(n, sizeof *m->threads);
	m->calls = malloc(n * kernel->depth * sizeof *m->calls);
	m->order = malloc(n * sizeof *m->order);
	if (run->launch->schedule.races)
		m->touched = calloc(shared + 1, sizeof *m->touched);
	return m->regs && m->local && m->shared && m->threads && m->calls && m->order &&
	       (m->touched || !run->launch->schedule.races);
}

static void tie(PtxRun *run, Memory *m, PtxBlock *blocks)
{
	const PtxFunction *kernel = run->launch->kernel;
	run->blocks = blocks;
	for (uint32_t b = 0; b < run->nblocks; b++) {
		size_t first = (size_t)b * run->nthreads;
		blocks[b] = (PtxBlock){.run = run, .rank = b, .nthreads = run->nthreads};
		blocks[b].threads = m->threads + first;
		blocks[b].shared = m->shared + (size_t)b * run->shared_bytes;
		blocks[b].touched = m->touched ? m->touched + (size_t)b * run->shared_bytes : NULL;
	}
	for (size_t i = 0; i < (size_t)run->nblocks * run->nthreads; i++) {
		m->threads[i].block = &blocks[i / run->nthreads];
		m->threads[i].index = (uint32_t)(i % run->nthreads);
		m->threads[i].regs = m->regs + i * kernel->stack_regs;
		m->threads[i].local = m->local + i * kernel->stack_local;
		m->threads[i].calls = m->calls + i * kernel->depth;
		m->order[i] = (uint32_t)i;
	}
}

static void set_three(uint64_t *regs, int at, uint32_t x, uint32_t y, uint32_t z)
{
	regs[at] = x;
	regs[at + 1] = y;
	regs[at + 2] = z;
}

static void set_specials(const PtxThread *t)
{
	const PtxBlock *block = t->block;
	const PtxLaunch *l = block->run->launch;
	const uint32_t *size = l->block, *at = block->at, *in = l->cluster, i = t->index;
	uint64_t *regs = t->regs, lane = i % WARP;
	uint32_t grid[3] = {l->grid[0] / in[0], l->grid[1] / in[1], l->grid[2] / in[2]};
	set_three(regs, SPECIAL_TID, i % size[0], i / size[0] % size[1], i / size[0] / size[1]);
	set_three(regs, SPECIAL_NTID, size[0], size[1], size[2]);
	set_three(regs, SPECIAL_CTAID, at[0], at[1], at[2]);
	set_three(regs, SPECIAL_NCTAID, l->grid[0], l->grid[1], l->grid[2]);
	set_three(regs, SPECIAL_CLUSTER_CTAID, at[0] % in[0], at[1] % in[1], at[2] % in[2]);
	set_three(regs, SPECIAL_CLUSTER_NCTAID, in[0], in[1], in[2]);
	set_three(regs, SPECIAL_CLUSTERID, at[0] / in[0], at[1] / in[1], at[2] / in[2]);
	set_three(regs, SPECIAL_NCLUSTERID, grid[0], grid[1], grid[2]);
	regs[SPECIAL_CLUSTER_CTARANK] = block->rank;
	regs[SPECIAL_CLUSTER_NCTARANK] = block->run->nblocks;
	regs[SPECIAL_LANEID] = lane;
	regs[SPECIAL_WARPID] = i / WARP;
	regs[SPECIAL_NWARPID] = (block->nthreads + WARP - 1) / WARP;
	regs[SPECIAL_SMID] = 0;
	regs[SPECIAL_NSMID] = 1;
	regs[SPECIAL_GRIDID] = 1;
	regs[SPECIAL_MASK_EQ] = UINT64_C(1) << lane;
	regs[SPECIAL_MASK_LT] = (UINT64_C(1) << lane) - 1;
	regs[SPECIAL_MASK_LE] = (UINT64_C(2) << lane) - 1;
	regs[SPECIAL_MASK_GT] = ~((UINT64_C(2) << lane) - 1) & UINT32_MAX;
	regs[SPECIAL_MASK_GE] = ~((UINT64_C(1) << lane) - 1) & UINT32_MAX;
	uint32_t fixed = block->run->shared_bytes - l->dynamic;
	regs[SPECIAL_DYNAMIC] = PTX_SHARED_FIRST + fixed;
	regs[SPECIAL_DYNAMIC_SIZE] = l->dynamic;
	regs[SPECIAL_TOTAL_SIZE] = block->run->shared_bytes;
	regs[SPECIAL_STACK] = 0;
}

/* At the kernel's start; what lies in memory of its own is NaN. */
static void thread_begin(PtxThread *t)
{
	const PtxFunction *kernel = t->block->run->launch->kernel;
	PtxThread new = {.block = t->block,
			 .function = kernel,
			 .regs = t->depth > 0 ? t->calls[0].regs
					      : t->regs, /* it may end in a call */
			 .local = t->local,
			 .index = t->index,
			 .follows = !t->block->run->launch->early,
			 .calls = t->calls};
	new.copies.at = t->copies.at;
	new.copies.cap = t->copies.cap;
	*t = new;
	memcpy(t->regs, kernel->image.at, kernel->image.n * sizeof *t->regs);
	memset(t->local, POISON, kernel->stack_local);
	set_specials(t);
}

static void block_begin(PtxBlock *block, uint32_t x, uint32_t y, uint32_t z)
{
	block->at[0] = x;
	block->at[1] = y;
	block->at[2] = z;
	block->epoch = ++block->run->epoch;
	block->loose = false;
	block->away = 0;
	memset(block->barriers, 0, sizeof block->barriers);
	memset(block->synced, 0, sizeof block->synced);
	memset(block->shared, POISON, block->run->shared_bytes);
	for (uint32_t i = 0; i < block->nthreads; i++)
		thread_begin(&block->threads[i]);
}

static void shuffle(PtxRun *run, uint32_t *order, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)(ptx_random(run) % i), kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

/* A turn of every thread. False: none could run. */
static bool turn(PtxRun *run, uint32_t *order)
{
	uint32_t n = run->nblocks * run->nthreads;
	PtxOrder kind = run->launch->schedule.order;
	bool ran = false;
	if (kind == ORDER_RANDOM)
		shuffle(run, order, n);
	for (uint32_t k = 0; k < n && !run->failed; k++) {
		uint32_t i = order[kind == ORDER_REVERSE ? n - 1 - k : k];
		ran |= ptx_thread_run(&run->blocks[i / run->nthreads].threads[i % run->nthreads]);
	}
	return ran;
}

static bool ended(const PtxRun *run)
{
	for (uint32_t i = 0; i < run->nblocks * run->nthreads; i++)
		if (run->blocks[i / run->nthreads].threads[i % run->nthreads].wait != WAIT_ENDED)
			return false;
	return true;
}

static void run_cluster(PtxRun *run, uint64_t which, uint32_t *order)
{
	const PtxLaunch *l = run->launch;
	const uint32_t *in = l->cluster;
	uint32_t nx = l->grid[0] / in[0], ny = l->grid[1] / in[1];
	uint32_t x = (uint32_t)(which % nx) * in[0], y = (uint32_t)(which / nx % ny) * in[1],
		 z = (uint32_t)(which / nx / ny) * in[2];
	run->arrived = 0;
	run->phase = 0;
	run->met = ++run->epoch;
	run->asyncs.n = 0;
	run->products.n = 0;
	for (uint32_t b = 0; b < run->nblocks; b++)
		block_begin(&run->blocks[b], x + b % in[0], y + b / in[0] % in[1],
			    z + b / in[0] / in[1]);
	while (!run->failed && !ended(run))
		if (!turn(run, order))
			ptx_deadlock(run);
}

/* Clusters in the order of the schedule: by chance, from one on in steps that reach all. */
static void run_grid(PtxRun *run, uint32_t *order)
{
	uint64_t n = volume(run->launch->grid) / run->nblocks, first = 0, step = 1;
	if (run->launch->schedule.order == ORDER_REVERSE) {
		first = n - 1;
		step = n - 1;
	} else if (run->launch->schedule.order == ORDER_RANDOM) {
		first = ptx_random(run) % n;
		uint64_t a, b;
		do {
			step = 1 + ptx_random(run) % n;
			for (a = step, b = n; b != 0;) {
				uint64_t rest = a % b;
				a = b;
				b = rest;
			}
		} while (a != 1);
	}
	for (uint64_t i = 0; i < n && !run->failed;
	     i++, first = (uint64_t)(((unsigned __int128)first + step) % n))
		run_cluster(run, first, order);
}

const char *ptx_launch_refused(const PtxLaunch *l)
{
	const PtxFunction *kernel = l->kernel;
	uint64_t most = kernel->maxntid[0] ? volume(kernel->maxntid) : MOST_THREADS;
	uint64_t blocks = volume(l->cluster);
	for (int i = 0; i < 3; i++) {
		if (l->grid[i] == 0 || l->block[i] == 0 || l->cluster[i] == 0 ||
		    l->block[i] > MOST_THREADS)
			return "a size of the grid, of a block or of a cluster is 0 or too large";
		if (l->grid[i] % l->cluster[i] != 0)
			return "the grid is not divided by its clusters";
		if (kernel->reqntid[0] && l->block[i] != kernel->reqntid[i])
			return "it requires other sizes of blocks";
		if (kernel->cluster[0] && l->cluster[i] != kernel->cluster[i])
			return "it requires other sizes of clusters";
	}
	if (l->grid[1] > UINT16_MAX || l->grid[2] > UINT16_MAX || l->grid[0] > INT32_MAX)
		return "the grid is too large";
	if (volume(l->block) > (most < MOST_THREADS ? most : MOST_THREADS) || blocks > 16)
		return "it has no room for so many threads of a block, or blocks of a cluster";
	return NULL;
}

bool ptx_launch(const PtxLaunch *launch, PtxReport *report)
{
	*report = (PtxReport){0};
	const char *why = ptx_launch_refused(launch);
	if (why != NULL) {
		refuse(report, FAULT_ILLEGAL, launch, why);
		return false;
	}
	const PtxFunction *kernel = launch->kernel;
	uint32_t fixed = kernel->shared_bytes > launch->module->shared_bytes
				 ? kernel->shared_bytes
				 : launch->module->shared_bytes;
	fixed = (fixed + 15) & ~15u;
	PtxRun run = {.launch = launch,
		      .report = report,
		      .memory = launch->module->memory,
		      .nblocks = (uint32_t)volume(launch->cluster),
		      .nthreads = (uint32_t)volume(launch->block),
		      .shared_bytes = fixed + launch->dynamic,
		      .random = launch->schedule.seed * 2 + 1,
		      .fuel = launch->schedule.fuel};
	run.arena = arena_new();
	Memory memory = {0};
	PtxBlock *blocks = calloc(run.nblocks, sizeof *blocks);
	if (blocks != NULL && memory_new(&memory, &run)) {
		tie(&run, &memory, blocks);
		run_grid(&run, memory.order);
	} else {
		refuse(report, FAULT_MEMORY, launch, "there is not enough memory for its threads");
	}
	memory_free(&memory);
	free(blocks);
	arena_free(run.arena);
	return report->fault == FAULT_NONE;
}
