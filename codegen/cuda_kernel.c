/* Kernels as functions of CUDA C, and their launchers. */
#include "base/size_order.h"
#include "codegen/cuda_text.h"
#include "loops/cluster.h"
#include "loops/group.h"
#include "loops/verify_gpu.h"

/* ---- functions of the GPU ---- */

static void put_args(FILE *out, const ArgTexts *args, const KernelUse *use)
{
	for (size_t i = 0; i < args->n; i++)
		fprintf(out, "%s%s%s", i ? ", " : "", args->at[i].type, args->at[i].name);
	for (size_t i = 0; i < use->copies.n; i++)
		fprintf(out, ", TSR_MAP tsr_m%zu", i);
	if (args->n == 0)
		fprintf(out, "int32_t tsr_none");
}

static Sizes *sizes_of(const KernelText *k) { return k->m->program->sizes; }

/* The loops of a grid from its first one on, outermost first. */
typedef VEC(const Stmt *) GridLoops;

static GridLoops grid_loops(const KernelText *k, const Stmt *s)
{
	GridLoops loops = {0};
	for (; s; s = grid_loop(&s->body))
		PUSH(k->arena, loops, s);
	return loops;
}

/* `rest` is the block's number among those of this loop and the ones outside. It is not divided by the blocks of a loop that
 * has one, or none: then there is no block. */
static void put_iterator(KernelText *k, const Stmt *loop, const char *rest, int64_t inner,
			 bool outermost)
{
	Size blocks = size_ceil(sizes_of(k), loop->hi->size, loop->threads);
	bool one = size_is(sizes_of(k), blocks, 1) || size_is(sizes_of(k), blocks, 0);
	const char *number = arena_printf(k->arena, "(%s)", c_size(k->m, blocks));
	const char *at = outermost ? rest : arena_printf(k->arena, "%s %% %s", rest, number);
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t %s = ", k->iters[loop->iter]);
	if (loop->threads > 1 && !one)
		fprintf(k->out, "%s * %lld + ", at, (long long)loop->threads);
	fprintf(k->out, "%s", loop->threads > 1 ? "TSR_THREAD" : one ? "0" : at);
	if (loop->threads > 1 && inner > 1)
		fprintf(k->out, " / %lld", (long long)inner);
	if (loop->threads > 1 && !outermost)
		fprintf(k->out, " %% %lld", (long long)loop->threads);
	fprintf(k->out, ";\n");
	if (outermost || one)
		return;
	c_kernel_indent(k);
	fprintf(k->out, "%s /= %s;\n", rest, number);
}

/* Of the innermost two loops: so many rows, or as many as are left, for each column. */
static void put_raster(KernelText *k, const Stmt *rows, const Stmt *columns, bool outermost)
{
	const char *down = c_size(k->m, rows->hi->size), *across = c_size(k->m, columns->hi->size);
	const char *all = c_size(k->m, size_mul(sizes_of(k), rows->hi->size, columns->hi->size));
	long long n = (long long)rows->raster;
	c_kernel_indent(k);
	if (outermost)
		fprintf(k->out, "const int64_t tsr_tile = tsr_rest;\n");
	else
		fprintf(k->out, "const int64_t tsr_tile = tsr_rest %% (%s);\n", all);
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t tsr_first = tsr_tile / (%lld * (%s)) * %lld;\n", n, across,
		n);
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t tsr_together = tsr_fewer(%lld, %s - tsr_first);\n", n, down);
	c_kernel_indent(k);
	fprintf(k->out,
		"const int64_t %s = tsr_first + (tsr_tile - tsr_first * (%s)) %% tsr_together;\n",
		k->iters[rows->iter], across);
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t %s = (tsr_tile - tsr_first * (%s)) / tsr_together;\n",
		k->iters[columns->iter], across);
	if (outermost)
		return;
	c_kernel_indent(k);
	fprintf(k->out, "tsr_rest /= %s;\n", all);
}

/* Blocks are whole: may threads lie behind the end of the loop? */
static bool has_end(const KernelText *k, const Stmt *loop)
{
	Size threads = size_const(sizes_of(k), loop->threads);
	return loop->threads > 1 && !size_divides(sizes_of(k), threads, loop->hi->size);
}

static void put_ends(KernelText *k, const GridLoops *loops)
{
	bool any = false;
	for (size_t i = 0; i < loops->n; i++) {
		const Stmt *loop = loops->at[i];
		if (!has_end(k, loop))
			continue;
		if (!any)
			c_kernel_indent(k);
		fprintf(k->out, "%s%s >= %s", any ? " || " : "if (", k->iters[loop->iter],
			c_size(k->m, loop->hi->size));
		any = true;
	}
	if (!any)
		return;
	fprintf(k->out, ")\n");
	c_kernel_indent(k);
	fprintf(k->out, "\tcontinue;\n");
}

/* Against warnings: an iterator of which no index is made. */
static void put_unused(KernelText *k, const GridLoops *loops)
{
	for (size_t i = 0; i < loops->n; i++) {
		if (has_end(k, loops->at[i]))
			continue;
		c_kernel_indent(k);
		fprintf(k->out, "(void)%s;\n", k->iters[loops->at[i]->iter]);
	}
}

/* The iterators of all loops, of the block at hand. */
static void put_iterators(KernelText *k, const GridLoops *loops)
{
	size_t n = loops->n;
	int64_t inner = 1;
	if (n > 1) {
		c_kernel_indent(k);
		fprintf(k->out, "int64_t tsr_rest = tsr_block;\n");
		c_kernel_indent(k);
		fprintf(k->out, "(void)tsr_rest;\n");
	}
	if (n > 1 && loops->at[n - 2]->raster) {
		put_raster(k, loops->at[n - 2], loops->at[n - 1], n == 2);
		n -= 2;
	}
	for (size_t i = n; i-- > 0;) {
		put_iterator(k, loops->at[i], loops->n > 1 ? "tsr_rest" : "tsr_block", inner,
			     i == 0);
		inner *= loops->at[i]->threads;
	}
	put_ends(k, loops);
	put_unused(k, loops);
}

static const Stmt *innermost(const GridLoops *loops) { return loops->at[loops->n - 1]; }

/* Blocks one after another, with what stands in each. */
static void put_blocks(KernelText *k, const GridLoops *loops)
{
	bool turns = innermost(loops)->nslots > 0;
	const char *turn = turns ? k->iters[innermost(loops)->slot] : "";
	bool mbarriers = !turns && kernel_has_mbarriers(k->m->program, k->kernel);
	if (turns) {
		c_kernel_indent(k);
		fprintf(k->out, "int64_t %s = 0;\n", turn);
		c_kernel_indent(k);
		fprintf(k->out, "(void)%s;\n", turn);
	}
	int64_t cluster = cluster_blocks(sizes_of(k), k->kernel);
	const char *of = cluster ? arena_printf(k->arena, "(%lld)", (long long)cluster) : "";
	c_kernel_indent(k);
	fprintf(k->out,
		"for (int64_t tsr_block = TSR_%s%s; tsr_block < tsr_blocks; tsr_block += "
		"TSR_%sS%s%s%s%s) {\n",
		cluster ? "CLUSTER" : "BLOCK", of, cluster ? "CLUSTER" : "BLOCK", of,
		turns ? ", " : "", turn, turns ? "++" : "");
	k->indent++;
	put_iterators(k, loops);
	if (mbarriers)
		cuda_put_mbarriers(k, false);
	c_kernel_block(k, innermost(loops)->body);
	/* the next one has the same shared memory */
	if (block_threads(sizes_of(k), k->kernel) && !turns && !cluster) {
		c_kernel_indent(k);
		fprintf(k->out, "TSR_BARRIER;\n");
	}
	if (mbarriers)
		cuda_put_mbarriers(k, true);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

/* The first loop of a block of the threads of each role, which go on to their next turn each at its own pace. */
static void find_roles(const KernelText *k, Block block, GridLoops *roles)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool threads = stmt->kind == LOOP_FOR && stmt->loop == LOOP_BLOCK, seen = false;
		for (size_t r = 0; r < roles->n; r++)
			seen |= threads && roles->at[r]->threads == stmt->threads;
		if (threads && !seen)
			PUSH(k->arena, *roles, stmt);
		if (!threads)
			find_roles(k, stmt->body, roles);
	}
}

/* Blocks that take turns: of each role a loop over the block's. A host has one loop for all. */
static void put_turns(KernelText *k, const GridLoops *loops)
{
	GridLoops roles = {0};
	find_roles(k, innermost(loops)->body, &roles);
	cuda_put_mbarriers(k, false);
	k->turns = true;
	fprintf(k->out, "#ifdef __CUDACC__\n");
	for (size_t i = 0; i < roles.n; i++) {
		c_kernel_if_role(k, roles.at[i]);
		k->role = roles.at[i]->threads;
		put_blocks(k, loops);
		k->indent--;
		c_kernel_indent(k);
		fprintf(k->out, "}\n");
	}
	fprintf(k->out, "#else\n");
	k->role = ROLE_ALL;
	put_blocks(k, loops);
	fprintf(k->out, "#endif\n");
	k->turns = false;
	fprintf(k->out, "\tTSR_BARRIER;\n");
	cuda_put_mbarriers(k, true);
}

static void put_grid(KernelText *k, const GridLoops *loops)
{
	const char *all = c_size(k->m, grid_blocks(sizes_of(k), k->kernel));
	fprintf(k->out, "\tconst int64_t tsr_blocks = %s;\n", all);
	k->indent = 1;
	if (innermost(loops)->nslots)
		put_turns(k, loops);
	else
		put_blocks(k, loops);
}

/* What a block does before it waits for the kernels in front: of its first iteration of the grid alone. */
static void put_ahead(KernelText *k, const GridLoops *loops)
{
	fprintf(k->out, "\t{\n\t\tconst int64_t tsr_block = TSR_BLOCK;\n\t\t(void)tsr_block;\n");
	k->indent = 2;
	put_iterators(k, loops);
	c_kernel_block(k, innermost(loops)->body);
	fprintf(k->out, "\t}\n");
	k->indent = 1;
}

/* One after another in what the launch asks for, or each for itself. */
static void put_shared(const KernelText *k)
{
	const Program *program = k->m->program;
	bool asked = gpu_shared_asked(program, k->kernel) > 0;
	int64_t at = 0;
	for (size_t i = 0; i < k->use->buffers.n; i++) {
		const Buffer *buffer = &program->buffers.at[k->use->buffers.at[i].buffer];
		if (!buffer->shared)
			continue;
		const char *type = c_type(buffer->dtype), *n = c_size(k->m, buffer->elements);
		if (buffer->cluster)
			n = arena_printf(k->arena, "TSR_CLUSTER_PARTS(%lld, %lld)",
					 (long long)buffer->cluster,
					 (long long)cluster_part(program, buffer));
		if (asked)
			fprintf(k->out, "\tTSR_SHARED_AT(%s, %s, %s, %lld);\n", type, k->buffers[i],
				n, (long long)at);
		else
			fprintf(k->out, "\tTSR_SHARED %s %s[%s];\n", type, k->buffers[i], n);
		at += buffer_shared_bytes(program, buffer);
	}
}

static void put_kernel(FILE *out, const Module *m, KernelId id)
{
	KernelText k = c_kernel_text(out, m, id);
	ArgTexts args = c_kernel_args(&k);
	GridLoops loops = grid_loops(&k, grid_loop(&k.kernel->body)),
		  ahead = grid_loops(&k, grid_ahead(&k.kernel->body));
	k.device = true;
	const char *place = module_place(m, k.kernel->span);
	if (*place)
		fprintf(out, "/* %s */\n", c_comment(m->arena, place));
	int64_t cluster = cluster_blocks(m->program->sizes, k.kernel);
	fprintf(out, "TSR_%sKERNEL(%lld", cluster ? "CLUSTER_" : "",
		(long long)grid_threads(m->program->sizes, k.kernel));
	if (cluster)
		fprintf(out, ", %lld", (long long)cluster);
	fprintf(out, ")\n%s(", m->kernels[id].function);
	put_args(out, &args, k.use);
	fprintf(out, " TSR_PLACE)\n{\n");
	if (ahead.n)
		put_ahead(&k, &ahead);
	fprintf(out, "\tTSR_ENTER;\n");
	put_shared(&k);
	if (args.n == 0)
		fprintf(out, "\t(void)tsr_none;\n");
	for (size_t i = 0; i < k.use->copies.n; i++) /* it may be read by its map alone */
		fprintf(out, "\t(void)%s;\n",
			k.buffers[kernel_use_buffer(k.use, box_tensor(k.use->copies.at[i]))]);
	if (loops.n)
		put_grid(&k, &loops);
	else
		c_kernel_block(&k, k.kernel->body);
	fprintf(out, "}\n\n");
}

void cuda_put_kernels(FILE *out, const Module *m)
{
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].same == k)
			put_kernel(out, m, k);
}

/* ---- launchers ---- */

const char *cuda_launcher(const Module *m, KernelId kernel)
{
	return arena_printf(m->arena, "%s__l_%s", m->prefix,
			    m->kernels[m->kernels[kernel].same].kernel.name);
}

/* `what` with the kernel's name behind it. */
static const char *own_name(const KernelText *k, const char *what)
{
	return arena_printf(k->arena, "%s__%s_%s", k->m->prefix, what, k->kernel->name);
}

static void put_args_type(const KernelText *k, const ArgTexts *args)
{
	fprintf(k->out, "struct %s {\n", own_name(k, "a"));
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "\t%s%s;\n", args->at[i].type, args->at[i].name);
	for (size_t i = 0; i < k->use->copies.n; i++)
		fprintf(k->out, "\ttsr_map tsr_m%zu;\n", i);
	fprintf(k->out, "\tint64_t tsr_blocks;\n\tint32_t tsr_status;\n};\n\n");
}

/* The threads of every other block are run from the last to the first; those of a loop of a block run there. */
static void put_block(const KernelText *k, const ArgTexts *args, const char *function)
{
	const Sizes *sizes = k->m->program->sizes;
	long long threads = block_threads(sizes, k->kernel) ? 1 : grid_threads(sizes, k->kernel);
	fprintf(k->out, "static void %s(void *tsr_arg, int32_t tsr_block)\n{\n", own_name(k, "b"));
	fprintf(k->out, "\tstruct %s *tsr_args = tsr_arg;\n", own_name(k, "a"));
	fprintf(k->out,
		"\tfor (int32_t tsr_i = 0; tsr_i < %lld; tsr_i++) {\n"
		"\t\tconst tsr_place tsr_at = {tsr_block, tsr_args->tsr_blocks,\n"
		"\t\t\t\t\t  tsr_block %% 2 ? %lld - tsr_i : tsr_i, "
		"&tsr_args->tsr_status};\n",
		threads, threads - 1);
	fprintf(k->out, "\t\t%s(", function);
	for (size_t i = 0; i < args->n; i++)
		fprintf(k->out, "tsr_args->%s, ", args->at[i].name);
	for (size_t i = 0; i < k->use->copies.n; i++)
		fprintf(k->out, "tsr_args->tsr_m%zu, ", i);
	fprintf(k->out, "%s&tsr_at);\n\t}\n}\n\n", args->n ? "" : "0, ");
}

/* Blocks that are launched. */
static void put_launched(const KernelText *k)
{
	const char *blocks = c_size(k->m, grid_blocks(sizes_of(k), k->kernel));
	int64_t most = grid_turns(k->kernel);
	if (most)
		fprintf(k->out, "tsr_fewer(%lld, %s), 0};\n", (long long)most, blocks);
	else
		fprintf(k->out, "tsr_grid(%s), 0};\n", blocks);
}

static void put_launcher(FILE *out, const Module *m, KernelId id)
{
	KernelText k = c_kernel_text(out, m, id);
	ArgTexts args = c_kernel_args(&k);
	bool checks = k.use->checks.n > 0, grid = k.use->parallel;
	put_args_type(&k, &args);
	put_block(&k, &args, m->kernels[id].function);
	fprintf(out, "static %s %s(%s", checks ? "int" : "void", cuda_launcher(m, id),
		grid ? "const tsr_call *call" : "");
	for (size_t i = 0; i < args.n; i++)
		fprintf(out, "%s%s%s", i || grid ? ", " : "", args.at[i].type, args.at[i].name);
	fprintf(out, "%s)\n{\n\tstruct %s tsr_args = {", args.n || grid ? "" : "void",
		own_name(&k, "a"));
	for (size_t i = 0; i < args.n; i++)
		fprintf(out, "%s, ", args.at[i].name);
	cuda_put_maps(&k);
	put_launched(&k);
	fprintf(out, "\ttsr_launch(%s, tsr_args.tsr_blocks, %s, &tsr_args);\n",
		grid ? "call" : "NULL", own_name(&k, "b"));
	if (checks)
		fprintf(out,
			"\treturn tsr_args.tsr_status ? INT32_MAX - tsr_args.tsr_status : TSR_OK;\n");
	fprintf(out, "}\n\n");
}

void cuda_put_launchers(FILE *out, const Module *m)
{
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].same == k)
			put_launcher(out, m, k);
}
