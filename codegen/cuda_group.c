/* Copies of boxes, mbarriers and products of a warpgroup as CUDA C over the layer of cuda_group.cuh.
 *
 *   group step in 0..4                     TSR_GROUP_BEGIN;
 *     group q in 0..16                       TSR_UNROLL
 *       ...                                  for (int64_t step = 0; step < 4; step++)
 *                                                    tsr_m64n128k16_bf16_01(&sums[...], &rows[...], &columns[...], 8192);
 *                                            TSR_GROUP_END;
 *
 * A warp writes boxes of a result to shared memory, from where its first lane has TMA store each:
 *
 *   unroll box in 0..2 through y_boxes[...] to y[...]     TSR_UNROLL
 *     ...                                                 for (int64_t box = 0; box < 2; box++) {
 *       y[...] = sums[...]                                        TSR_STORES_WAIT(1);
 *                                                                 ... y_boxes[... + tsr_in_swizzle(...)] = ...
 *                                                                 tsr_store_2(&y_boxes[...], &tsr_m2, ...);
 *                                                         }
 *
 * A copy, or such a loop, takes a map of its tensor, an argument of its own behind those of the kernel.
 */
#include <string.h>

#include "base/diag.h"
#include "codegen/cuda_text.h"
#include "loops/build.h"
#include "loops/group.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"

/* ---- products ---- */

static GroupNest nest_of(const Module *m, const Kernel *kernel, const Stmt *loop)
{
	GroupNest nest;
	const char *rule = group_nest((Program *)m->program, kernel, NULL, loop, &nest);
	if (rule)
		BUG("kernel %s: %s", kernel->name, rule);
	return nest;
}

static const char *function_of(Arena *arena, const GroupNest *g)
{
	const MatrixRow *matrix = matrix_row(g->nest.op);
	return arena_printf(arena, "tsr_m64n%lldk%u_%s_%d%d", (long long)g->columns, matrix->k,
			    matrix->ptx, g->a_transposed, g->b_transposed);
}

void cuda_group_loop(KernelText *k, const Stmt *loop)
{
	GroupNest g = nest_of(k->m, k->kernel, loop);
	const Stmt *set = g.nest.set;
	const char *step = k->iters[g.step->iter], *q = k->iters[g.matrix->iter];
	c_kernel_indent(k);
	fprintf(k->out, "TSR_GROUP_BEGIN;\n");
	c_kernel_indent(k);
	fprintf(k->out, "TSR_UNROLL\n");
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = 0; %s < %lld; %s++) {\n", step, step, (long long)g.steps,
		step);
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t %s = 0;\n", q);
	c_kernel_indent(k);
	fprintf(k->out, "%s(&%s, &%s, &%s, %lld);\n", function_of(k->arena, &g),
		c_fragment_element(k, set->local, set->ixs, "0"),
		c_buffer_element(k, g.a, g.a_from), c_buffer_element(k, g.b, g.b_from),
		(long long)(g.steps * matrix_row(g.nest.op)->k * GROUP_LINE));
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
	c_kernel_indent(k);
	fprintf(k->out, "TSR_GROUP_END;\n");
}

/* The registers of an instruction: "%0, %1, ..." of the sums. */
static void put_registers(FILE *out, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		fprintf(out, "%s%%%lld", i ? ", " : "", (long long)i);
}

/* Instructions of two bytes an element say whether operands are transposed. */
static void put_device_function(FILE *out, const char *name, const GroupNest *g)
{
	const MatrixRow *matrix = matrix_row(g->nest.op);
	const char *type = matrix->ptx, *c = c_type(g->dtype);
	int64_t n = g->columns / 2;
	fprintf(out,
		"TSR_INLINE void %s(float *sums, const %s *a, const %s *b, uint32_t next)\n{\n"
		"\tasm volatile(\"{\\n\\t.reg .pred tsr_p;\\n\\tsetp.ne.b32 tsr_p, %%%lld, 0;\\n\\t\"\n"
		"\t\t     \"wgmma.mma_async.sync.aligned.m64n%lldk%u.f32.%s.%s {",
		name, c, c, (long long)n + 2, (long long)g->columns, matrix->k, type, type);
	put_registers(out, n);
	fprintf(out, "}, %%%lld, %%%lld, tsr_p, 1, 1", (long long)n, (long long)n + 1);
	if (matrix->format != FORMAT_TF32)
		fprintf(out, ", %d, %d", g->a_transposed, g->b_transposed);
	fprintf(out, ";\\n\\t}\"\n\t\t     :");
	for (int64_t i = 0; i < n; i++)
		fprintf(out, "%s \"+f\"(sums[%lld])", i ? "," : "", (long long)i);
	fprintf(out,
		"\n\t\t     : \"l\"(tsr_group_a(a, %d, next)), \"l\"(tsr_group_b(b, next)), \"r\"(1) : \"memory\");\n}\n",
		g->a_transposed);
}

static void put_function(FILE *out, const char *name, const GroupNest *g)
{
	const MatrixRow *matrix = matrix_row(g->nest.op);
	const char *c = c_type(g->dtype);
	fprintf(out, "#ifdef __CUDACC__\n");
	put_device_function(out, name, g);
	fprintf(out,
		"#else\nstatic inline void %s(float *sums, const %s *a, const %s *b, uint32_t next)\n{\n"
		"\tconst tsr_operand of_a = {a, next, %zu, %d, tsr_at_%s}, of_b = {b, next, %zu, %d, tsr_at_%s};\n"
		"\ttsr_group(sums, %lld, %u, &of_a, &of_b);\n}\n#endif\n\n",
		name, c, c, dtype_bytes(g->dtype), g->a_transposed, matrix->ptx,
		dtype_bytes(g->dtype), g->b_transposed, matrix->ptx, (long long)g->columns,
		matrix->k);
}

typedef struct Functions {
	FILE *out;
	const Module *m;
	const Kernel *kernel;
	VEC(const char *) names;
} Functions;

static bool is_new(Functions *f, const char *name)
{
	for (size_t i = 0; i < f->names.n; i++)
		if (strcmp(f->names.at[i], name) == 0)
			return false;
	PUSH(f->m->arena, f->names, name);
	return true;
}

static void find_functions(Functions *f, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (!is_group_loop(stmt)) {
			find_functions(f, &stmt->body);
			continue;
		}
		GroupNest g = nest_of(f->m, f->kernel, stmt);
		const char *name = function_of(f->m->arena, &g);
		if (is_new(f, name))
			put_function(f->out, name, &g);
	}
}

void cuda_put_group_functions(FILE *out, const Module *m)
{
	Functions f = {.out = out, .m = m};
	for (KernelId k = 0; k < m->program->kernels.n; k++) {
		f.kernel = &m->program->kernels.at[k];
		find_functions(&f, &f.kernel->body);
	}
}

/* ---- mbarriers ---- */

static bool has_completion(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->visit != NULL;
}

bool cuda_is_rounds(const Stmt *loop)
{
	bool blocks = block_find(loop->body, has_completion, NULL) != NULL;
	for (uint32_t i = 0; i < loop->body.n && blocks; i++)
		blocks = loop->body.stmts[i]->kind == LOOP_FOR &&
			 loop->body.stmts[i]->loop == LOOP_BLOCK;
	return blocks;
}

static const Buffer *mbarrier_of(const KernelText *k, BufferId id)
{
	return &k->m->program->buffers.at[id];
}

/* "full, 4": the ring and its elements */
static const char *ring_of(const KernelText *k, BufferId id)
{
	return arena_printf(k->arena, "%s, %s", k->buffers[kernel_use_buffer(k->use, id)],
			    c_size(k->m, mbarrier_of(k, id)->elements));
}

static uint32_t map_of(const KernelText *k, const Stmt *copy)
{
	for (uint32_t i = 0; i < k->use->copies.n; i++)
		if (k->use->copies.at[i] == copy)
			return i;
	BUG("a copy is not in the kernel's list");
}

/* Where the first window begins along the axis. */
static const Ix *window_begin(const KernelText *k, const Stmt *copy, uint32_t i)
{
	Program *program = (Program *)k->m->program;
	const TensorAxis *axis = &copy->axes[i];
	const Ix *place = ix_times(program, window_place(program, copy, i), axis->step);
	return ix_plus(program, place, axis->low);
}

static void put_copy(KernelText *k, const Stmt *stmt)
{
	fprintf(k->out, "tsr_%s_%u(&%s, &tsr_m%u, %s, %s", stmt->window ? "windows" : "copy",
		stmt->naxes, c_buffer_element(k, stmt->buffer, stmt->ix), map_of(k, stmt),
		ring_of(k, stmt->mbarrier), c_kernel_ix(k, stmt->visit));
	for (uint32_t i = 0; i < stmt->naxes; i++)
		fprintf(k->out, ", %s",
			c_kernel_ix(k, stmt->axes[i].step ? window_begin(k, stmt, i)
							  : stmt->axes[i].at));
	for (uint32_t i = 1; i + 1 < stmt->naxes && stmt->window; i++)
		fprintf(k->out, ", %s", c_kernel_ix(k, stmt->axes[i].at));
	fprintf(k->out, ");\n");
}

void cuda_completion(KernelText *k, const Stmt *stmt)
{
	const char *ring = ring_of(k, stmt->mbarrier), *visit = c_kernel_ix(k, stmt->visit);
	c_kernel_indent(k);
	if (stmt->kind == LOOP_COPY)
		put_copy(k, stmt);
	else if (stmt->kind == LOOP_AWAIT)
		fprintf(k->out, "tsr_await(%s, %lld, %s);\n", ring,
			(long long)mbarrier_of(k, stmt->mbarrier)->arrivals, visit);
	else if (stmt->bytes)
		fprintf(k->out, "tsr_arrive_bytes(%s, %s, %lld);\n", ring, visit,
			(long long)stmt->bytes);
	else
		fprintf(k->out, "%stsr_arrive(%s, %s);\n", k->warps ? "TSR_ONCE_A_WARP " : "", ring,
			visit);
}

/* Until none is read any more, where the kernel has any. */
static void end_boxes(KernelText *k)
{
	for (size_t i = 0; i < k->use->copies.n; i++)
		if (is_box_loop(k->use->copies.at[i])) {
			c_kernel_indent(k);
			fprintf(k->out, "TSR_STORES_WAIT(0);\n");
			return;
		}
}

/* All of the kernel's, in front of a block's work, with a barrier, or behind it. */
void cuda_put_mbarriers(KernelText *k, bool end)
{
	for (size_t i = 0; i < k->use->buffers.n; i++) {
		BufferId id = k->use->buffers.at[i].buffer;
		int64_t arrivals = mbarrier_of(k, id)->arrivals;
		if (!arrivals)
			continue;
		c_kernel_indent(k);
		if (end)
			fprintf(k->out, "tsr_mbarriers_end(%s);\n", ring_of(k, id));
		else
			fprintf(k->out, "tsr_mbarriers(%s, %lld);\n", ring_of(k, id),
				(long long)arrivals);
	}
	if (end) {
		end_boxes(k);
		return;
	}
	c_kernel_indent(k);
	fprintf(k->out, "TSR_BARRIER;\n");
}

/* ---- boxes of a result ---- */

/* The warp's place of the box at hand. */
static const Ix *first_of(const KernelText *k, const Stmt *loop)
{
	Program *program = (Program *)k->m->program;
	const Ix *turn = ix_binary(program, IX_MOD, ix_iter(k->arena, loop->iter),
				   ix_const(program, GROUP_BOXES));
	return ix_add(program, loop->ix, ix_times(program, turn, box_elements(loop)));
}

const char *cuda_box_element(KernelText *k, const Ix *ix)
{
	const Stmt *loop = k->boxes;
	Program *program = (Program *)k->m->program;
	const Buffer *buffer = &program->buffers.at[loop->buffer];
	return arena_printf(k->arena, "%s[%s + tsr_in_swizzle((int32_t)(%s), %zu)]",
			    k->buffers[kernel_use_buffer(k->use, loop->buffer)],
			    c_kernel_ix(k, first_of(k, loop)),
			    c_kernel_ix(k, box_place(program, loop, ix)),
			    dtype_bytes(buffer->dtype));
}

static void put_store(KernelText *k, const Stmt *loop)
{
	Program *program = (Program *)k->m->program;
	c_kernel_indent(k);
	fprintf(k->out, "tsr_store_%u(&%s, &tsr_m%u", loop->naxes,
		c_buffer_element(k, loop->buffer, first_of(k, loop)), map_of(k, loop));
	for (uint32_t i = 0; i < loop->naxes; i++) {
		const Ix *box =
			ix_times(program, ix_iter(k->arena, loop->iter), i ? 0 : loop->axes[0].box);
		fprintf(k->out, ", %s", c_kernel_ix(k, ix_add(program, loop->axes[i].at, box)));
	}
	fprintf(k->out, ");\n");
}

void cuda_box_loop(KernelText *k, const Stmt *loop)
{
	const char *box = k->iters[loop->iter];
	c_kernel_indent(k);
	fprintf(k->out, "TSR_UNROLL\n");
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t %s = 0; %s < %s; %s++) {\n", box, box,
		c_kernel_ix(k, loop->hi), box);
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "TSR_STORES_WAIT(%d);\n", GROUP_BOXES - 1);
	k->boxes = loop;
	c_kernel_block(k, loop->body);
	k->boxes = NULL;
	put_store(k, loop);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

/* ---- maps ---- */

/* "{extent, stride, box, windows, low, step}, " */
static void put_axis(const KernelText *k, const TensorAxis *axis)
{
	fprintf(k->out, "{%s, %s, %lld, %s, %lld, %lld}, ", c_size(k->m, axis->extent),
		c_size(k->m, axis->stride), (long long)axis->box,
		axis->step ? c_size(k->m, axis->windows) : "0", (long long)axis->low,
		(long long)axis->step);
}

/* The tensor's map on a host: its buffer from the first element on. */
static void put_map(const KernelText *k, const Stmt *copy)
{
	uint32_t use = kernel_use_buffer(k->use, box_tensor(copy));
	fprintf(k->out, "tsr_map_of(%s", k->buffers[use]);
	if (!size_is(k->m->program->sizes, k->use->buffers.at[use].base, 0))
		fprintf(k->out, " - (%s)", c_size(k->m, k->use->buffers.at[use].base));
	fprintf(k->out, ", %u, (const tsr_axis[]){", copy->naxes);
	for (uint32_t i = 0; i < copy->naxes; i++)
		put_axis(k, &copy->axes[i]);
	fprintf(k->out, "}, %zu), ", dtype_bytes(k->m->program->buffers.at[copy->buffer].dtype));
}

void cuda_put_maps(const KernelText *k)
{
	for (uint32_t i = 0; i < k->use->copies.n; i++)
		put_map(k, k->use->copies.at[i]);
}
