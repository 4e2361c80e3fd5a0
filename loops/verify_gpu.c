/* Grids: whether iterations may be threads, and the checker of what is bound. It takes no flag's word
 * for it: the proof is that of loop_is_independent without what was noted on loops before. */
#include "loops/verify_gpu.h"

#include "base/diag.h"
#include "loops/cluster.h"
#include "loops/dependence.h"
#include "loops/group.h"
#include "loops/mbarriers.h"
#include "loops/verify_block.h"
#include "loops/walk.h"
#include "loops/work.h"

/* ---- what a nest does ---- */

typedef struct Seen {
	const Program *program;
	bool stores, locals, checks, scratch;
} Seen;

static void see_stmt(void *of, const Stmt *stmt)
{
	Seen *seen = of;
	seen->stores |= stmt->kind == LOOP_STORE;
	seen->scratch |= stmt->kind == LOOP_STORE &&
			 seen->program->buffers.at[stmt->buffer].scratch &&
			 !seen->program->buffers.at[stmt->buffer].shared;
	seen->locals |= stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET;
	seen->checks |= stmt->kind == LOOP_CHECK;
}

static Seen see(const Program *program, const Stmt *root)
{
	Seen seen = {.program = program};
	block_each((Block){&root, 1}, see_stmt, &seen);
	return seen;
}

bool gpu_independent(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Seen seen = see(program, root);
	if (seen.scratch)
		return false;
	if (!seen.stores && !seen.locals)
		return seen.checks;
	return loop_is_of_grid(program, kernel, root, loop);
}

/* ---- the grid ---- */

static bool is_grid(const Stmt *stmt) { return stmt->kind == LOOP_FOR && stmt->loop == LOOP_GRID; }

const Stmt *grid_loop(const Block *block)
{
	const Stmt *last = block->n ? block->stmts[block->n - 1] : NULL;
	bool alone = block->n == 1 || grid_ahead(block);
	return alone && is_grid(last) ? last : NULL;
}

const Stmt *grid_ahead(const Block *block)
{
	return block->n == 2 && is_grid(block->stmts[0]) ? block->stmts[0] : NULL;
}

static int64_t most_threads(const Sizes *sizes, const Block *block)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		bool warp = is_warp_loop(stmt) || (stmt->kind == LOOP_WAIT && stmt->products);
		int64_t inside = warp ? WARP : most_threads(sizes, &stmt->body), n = 0;
		bool threads = stmt->kind == LOOP_FOR && stmt->loop == LOOP_BLOCK;
		if (threads && size_is_const(sizes, stmt->hi->size, &n))
			inside = inside && n > INT32_MAX / inside ? INT32_MAX
								  : n * (inside ? inside : 1);
		if (threads && stmt->threads) /* in whole warps */
			inside = stmt->threads + (inside + WARP - 1) / WARP * WARP;
		most = inside > most ? inside : most;
	}
	return most;
}

int64_t block_threads(const Sizes *sizes, const Kernel *kernel)
{
	return most_threads(sizes, &kernel->body);
}

int64_t grid_threads(const Sizes *sizes, const Kernel *kernel)
{
	int64_t threads = 1, together = block_threads(sizes, kernel);
	if (together)
		return together;
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		threads *= s->threads;
	return threads;
}

int64_t grid_turns(const Kernel *kernel)
{
	int64_t blocks = 0;
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		blocks = s->nslots;
	return blocks;
}

Size grid_blocks(Sizes *sizes, const Kernel *kernel)
{
	Size blocks = size_const(sizes, 1);
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		blocks = size_mul(sizes, blocks, size_ceil(sizes, s->hi->size, s->threads));
	return blocks;
}

/* ---- the checker ---- */

/* Whether a statement is of no use to a GPU, or to a CPU. */
static bool is_cpu_loop(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_FOR && stmt->loop == LOOP_PARALLEL;
}

static bool is_gpu_stmt(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_BARRIER || stmt->kind == LOOP_COMMIT || stmt->kind == LOOP_WAIT ||
	       stmt->kind == LOOP_COPY || stmt->kind == LOOP_ARRIVE || stmt->kind == LOOP_AWAIT ||
	       (stmt->kind == LOOP_STORE && stmt->async) || is_group_loop(stmt) ||
	       is_box_loop(stmt) ||
	       (stmt->kind == LOOP_FOR && (stmt->loop == LOOP_CLUSTER || stmt->loop == LOOP_BLOCK ||
					   stmt->loop == LOOP_GRID || stmt->loop == LOOP_WARP));
}

/* The first of the loops of a block, which hold each other, whose iterations may meet. */
static const Stmt *meeting_threads(Program *program, const Kernel *kernel, const Stmt *root)
{
	for (const Stmt *s = root; s->kind == LOOP_FOR && s->loop == LOOP_BLOCK;
	     s = s->body.stmts[0]) {
		if (!loop_is_of_threads(program, kernel, root, s))
			return s;
		if (s->body.n != 1)
			break;
	}
	return NULL;
}

/* The first loop of a block whose iterations may meet, or, where there are such loops, statement outside of
 * them that is not for all threads; NULL: there is none. */
static const Stmt *wrong_threads(Program *program, const Kernel *kernel, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i], *inside = NULL;
		if (stmt->kind == LOOP_STORE || stmt->kind == LOOP_CHECK)
			return stmt;
		if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_BLOCK)
			inside = meeting_threads(program, kernel, stmt);
		else
			inside = wrong_threads(program, kernel, &stmt->body);
		if (inside)
			return inside;
	}
	return NULL;
}

int64_t buffer_shared_bytes(const Program *program, const Buffer *buffer)
{
	int64_t n, each = dtype_bytes(buffer->dtype);
	int64_t aligned = buffer->swizzled || buffer->arrivals ? GROUP_SWIZZLE : SHARED_ALIGNED;
	if (!size_is_const(program->sizes, buffer->elements, &n) || n < 0 || n > INT32_MAX)
		return INT64_MAX;
	n = buffer->cluster ? cluster_part(program, buffer) : n;
	return (n * each + aligned - 1) / aligned * aligned;
}

/* Of all that a kernel has. INT64_MAX: not a constant. */
static int64_t shared_bytes(const Program *program, const Kernel *kernel)
{
	Arena *arena = arena_new();
	BufferUses uses = kernel_buffers(arena, kernel);
	int64_t all = 0;
	for (size_t i = 0; i < uses.n; i++) {
		const Buffer *buffer = &program->buffers.at[uses.at[i].buffer];
		int64_t own = buffer->shared ? buffer_shared_bytes(program, buffer) : 0;
		if (__builtin_add_overflow(all, own, &all))
			all = INT64_MAX;
	}
	arena_free(arena);
	return all;
}

bool kernel_has_mbarriers(const Program *program, const Kernel *kernel)
{
	Arena *arena = arena_new();
	BufferUses uses = kernel_buffers(arena, kernel);
	bool any = false;
	for (size_t i = 0; i < uses.n; i++)
		any |= program->buffers.at[uses.at[i].buffer].arrivals > 0;
	arena_free(arena);
	return any;
}

/* What is swizzled begins at a whole number of GROUP_SWIZZLE where all else of the kernel's is so, too. */
static bool is_mixed(const Program *program, const Kernel *kernel)
{
	Arena *arena = arena_new();
	BufferUses uses = kernel_buffers(arena, kernel);
	bool swizzled = grid_turns(kernel) > 0, other = false;
	for (size_t i = 0; i < uses.n; i++) {
		const Buffer *buffer = &program->buffers.at[uses.at[i].buffer];
		swizzled |= buffer->swizzled;
		other |= buffer->shared && !buffer->swizzled && !buffer->arrivals;
	}
	arena_free(arena);
	return swizzled && other;
}

int64_t gpu_shared_asked(const Program *program, const Kernel *kernel)
{
	int64_t bytes = shared_bytes(program, kernel);
	bool asks =
		bytes > program->options.gpu->shared_usual || kernel_has_mbarriers(program, kernel);
	return asks ? bytes : 0;
}

static bool is_no_prefetch(const void *of, const Stmt *stmt)
{
	(void)of;
	bool loop =
		stmt->kind == LOOP_FOR &&
		(stmt->loop == LOOP_GRID || stmt->loop == LOOP_BLOCK || stmt->loop == LOOP_UNROLL);
	return !loop && stmt->kind != LOOP_IF && stmt->kind != LOOP_PREFETCH;
}

/* What is wrong with a grid in front of the kernel's own: its blocks are those of that, and it has no effect. */
static LoopsFault ahead_fault(const Program *program, const Kernel *kernel)
{
	const Stmt *s = grid_ahead(&kernel->body), *t = grid_loop(&kernel->body);
	if (!s)
		return (LoopsFault){0};
	const Stmt *other = block_find((Block){&s, 1}, is_no_prefetch, NULL);
	if (other)
		return (LoopsFault){kernel, other,
				    "more than prefetches in a grid in front of another"};
	bool same =
		most_threads(program->sizes, &s->body) <= most_threads(program->sizes, &t->body);
	for (; s && t && same; s = grid_loop(&s->body), t = grid_loop(&t->body))
		same = size_same(s->hi->size, t->hi->size) && s->threads == t->threads &&
		       s->threads == 1 && !t->nslots;
	if (same && !s && !t)
		return (LoopsFault){0};
	return (LoopsFault){kernel, grid_ahead(&kernel->body),
			    "a grid in front of another that has other blocks"};
}

static LoopsFault kernel_fault(Program *program, const Kernel *kernel, const GpuTarget *gpu)
{
	const Stmt *root = grid_loop(&kernel->body);
	const Stmt *other = block_find(kernel->body, gpu ? is_cpu_loop : is_gpu_stmt, NULL);
	int64_t together = block_threads(program->sizes, kernel);
	LoopsFault fault = ahead_fault(program, kernel);
	if (fault.rule)
		return fault;
	if (other)
		return (LoopsFault){kernel, other,
				    gpu ? "a loop of a CPU's threads on a GPU"
					: "a loop of a grid without --target=cuda"};
	if (shared_bytes(program, kernel) > (gpu ? gpu->shared_most : 0))
		return (LoopsFault){kernel, root,
				    gpu ? "more shared memory than a block has"
					: "shared memory without --target=cuda"};
	if (gpu && (other = lanes_strided(program, kernel)))
		return (LoopsFault){kernel, other,
				    "lanes that are no 4, 8 or 16 bytes at a multiple of as many"};
	if (gpu && cluster_blocks(program->sizes, kernel) > gpu->cluster_most)
		return (LoopsFault){kernel, root, "more blocks a cluster than the GPU has"};
	if (gpu && (fault = cluster_fault(program, kernel)).rule)
		return fault;
	if (together && (other = wrong_threads(program, kernel, &kernel->body)))
		return (LoopsFault){kernel, other, "threads of a block that may meet"};
	if (gpu && (fault = warp_fault(program, kernel)).rule)
		return fault;
	if (gpu && (other = warp_exchange_fault(kernel)))
		return (LoopsFault){
			kernel, other,
			"threads of a warp that read of each other what some of them set, or where not all of them do"};
	if (gpu && together > gpu->threads_most)
		return (LoopsFault){kernel, root, "more threads a block than the GPU has"};
	if (gpu && (fault = mbarrier_fault(program, kernel)).rule)
		return fault;
	if (gpu && (fault = box_fault(program, kernel)).rule)
		return fault;
	if (gpu && (fault = window_fault(program, kernel)).rule)
		return fault;
	if (is_mixed(program, kernel))
		return (LoopsFault){
			kernel, root,
			"swizzled buffers, or those of blocks that take turns, beside other shared ones"};
	if (together && (other = block_meeting(program, kernel)))
		return (LoopsFault){kernel, other,
				    "threads of a block that may meet without a barrier between"};
	int64_t left = !gpu ? 0 : together ? 1 : gpu->threads_most;
	for (const Stmt *s = root; s; s = grid_loop(&s->body)) {
		if (s->threads > left)
			return (LoopsFault){kernel, s, "more threads a block than the GPU has"};
		left /= s->threads;
		if (!size_is(program->sizes, s->hi->size, 1) && /* one meets no other */
		    !gpu_independent(program, kernel, root, s))
			return (LoopsFault){kernel, s,
					    "iterations of a loop of a grid that may meet"};
	}
	return (LoopsFault){0};
}

LoopsFault loops_gpu_fault(Program *program, const GpuTarget *gpu)
{
	LoopsFault fault = {0};
	for (size_t i = 0; i < program->kernels.n && !fault.rule; i++)
		fault = kernel_fault(program, &program->kernels.at[i], gpu);
	return fault;
}

void loops_verify_gpu(Program *program, const GpuTarget *gpu)
{
	LoopsFault fault = loops_gpu_fault(program, gpu);
	if (fault.rule)
		BUG("kernel %s: %s", fault.kernel->name, fault.rule);
}
