/* The plan of a model as comment lines in front of its code. */
#include "base/size_program.h"
#include "codegen/cuda_text.h"
#include "loops/cluster.h"
#include "loops/group.h"
#include "loops/steps.h"
#include "loops/verify_gpu.h"
#include "target/gpu.h"

/* An expression, and how tight its last operation binds. */
typedef struct Infix {
	const char *text;
	enum { BINDS_SUM, BINDS_PRODUCT, BINDS_ALL } binds;
} Infix;

static const char *enclosed(Arena *arena, Infix x, int least)
{
	return (int)x.binds < least ? arena_printf(arena, "(%s)", x.text) : x.text;
}

static Infix infix(Arena *arena, SizeCode code, Infix a, Infix b)
{
	static const char *const signs[] = {[SIZE_ADD] = " + ",
					    [SIZE_SUB] = " - ",
					    [SIZE_MUL] = "*",
					    [SIZE_DIV] = "/",
					    [SIZE_FLOOR] = "/"};
	bool adds = code == SIZE_ADD || code == SIZE_SUB,
	     associates = code == SIZE_ADD || code == SIZE_MUL;
	int least = adds ? BINDS_SUM : BINDS_PRODUCT;
	const char *text = arena_printf(arena, "%s%s%s", enclosed(arena, a, least), signs[code],
					enclosed(arena, b, least + !associates));
	if (code == SIZE_FLOOR)
		return (Infix){arena_printf(arena, "floor(%s)", text), BINDS_ALL};
	return (Infix){text, adds ? BINDS_SUM : BINDS_PRODUCT};
}

/* All of the size, however many terms it has. */
static const char *size_words(const Module *m, Size size)
{
	Infix stack[SIZE_STACK];
	SizeOp *ops = NULL;
	size_t n = size_program(m->arena, m->program->sizes, size, &ops), depth = 0;
	for (size_t i = 0; i < n; i++) {
		const char *text = "";
		if (ops[i].code == SIZE_DIM)
			text = sizes_dim(m->program->sizes, (DimId)ops[i].arg)->name;
		else if (ops[i].code == SIZE_CONST)
			text = arena_printf(m->arena, "%lld", (long long)ops[i].arg);
		if (*text) {
			stack[depth++] = (Infix){text, BINDS_ALL};
			continue;
		}
		depth--;
		stack[depth - 1] = infix(m->arena, ops[i].code, stack[depth - 1], stack[depth]);
	}
	return stack[0].text;
}

static const char *place_words(const Module *m, Span span)
{
	return c_comment(m->arena, module_place(m, span));
}

/* ---- the model ---- */

static void put_head(FILE *out, const Module *m)
{
	const Program *p = m->program;
	fprintf(out, "//tsr: plan 2\n//tsr: target %s\n", p->options.gpu->name);
	fprintf(out, "%s//tsr: prefix %s\n", p->options.gpu->next_blocks ? "//tsr: overlap\n" : "",
		m->prefix);
	fprintf(out, "//tsr: source %s\n//tsr: producer tsrc %s\n",
		c_comment(m->arena, module_source(m)), TSR_VERSION);
	for (DimId d = 0; d < sizes_ndims(p->sizes); d++) {
		const Dim *dim = sizes_dim(p->sizes, d);
		if (d < sizes_nargs(p->sizes))
			fprintf(out, "//tsr: dim %s at least %lld\n", dim->name,
				(long long)(dim->at_least > 0 ? dim->at_least : 0));
		else
			fprintf(out, "//tsr: %s %s\n", dim->kind == DIM_STEP ? "step" : "place",
				dim->name);
	}
	fprintf(out, "//tsr: state %s\n", size_words(m, module_host_state(m)));
	for (size_t i = 0; i < p->checks.n; i++)
		fprintf(out, "//tsr: check %d %s: %s\n", module_check_code((CheckId)i),
			place_words(m, p->checks.at[i].span),
			c_comment(m->arena, p->checks.at[i].text));
}

static void put_buffer(FILE *out, const Module *m, const char *kind, BufferId id)
{
	const Buffer *b = &m->program->buffers.at[id];
	fprintf(out, "//tsr: %s %%%u %s %s %s", kind, id, c_comment(m->arena, b->name),
		dtype_name(b->dtype), size_words(m, b->elements));
}

static void put_axes(FILE *out, const Module *m, const TensorType *type)
{
	for (uint32_t i = 0; i < type->nbatch + type->noutput + type->ninput; i++) {
		const char *row = i < type->nbatch		     ? "batch"
				  : i < type->nbatch + type->noutput ? "output"
								     : "input";
		fprintf(out, "//tsr: axis %s %s", row, size_words(m, type->sizes[i]));
		if (type->labels && type->labels[i])
			fprintf(out, " label %s", type->labels[i]);
		fputc('\n', out);
	}
}

static void put_param(FILE *out, const Module *m, const ProgramParam *param)
{
	put_buffer(out, m, "param", param->buffer);
	fprintf(out, " at %s ", size_words(m, param->offset));
	switch (param->init) {
	case PARAM_UNIFORM:
		fprintf(out, "uniform %llu fan %s", (unsigned long long)param->key,
			size_words(m, param->fan_in));
		break;
	case PARAM_CONSTANT: fprintf(out, "value %.17g", param->value); break;
	case PARAM_COMPUTED: fputs("computed", out); break;
	}
	fprintf(out, " type %s\n", c_comment(m->arena, param->type.text));
	put_axes(out, m, &param->type);
}

/* In the order of their places, from 0 on. */
static void put_packed(FILE *out, const Module *m)
{
	Sizes *sizes = m->program->sizes;
	int64_t at = 0, bytes;
	for (BufferId b = 0; b < m->program->buffers.n; b++) {
		const Buffer *buffer = &m->program->buffers.at[b];
		if (buffer->kind != BUFFER_PACKED)
			continue;
		put_buffer(out, m, "packed", b);
		fprintf(out, " at %lld\n", (long long)at);
		REQUIRE(size_is_const(sizes, bytes_aligned(sizes, buffer->elements, buffer->dtype),
				      &bytes));
		at += bytes;
	}
}

static void put_memory(FILE *out, const Module *m)
{
	const Program *p = m->program;
	for (BufferId b = 0; b < p->buffers.n; b++) {
		const Buffer *buffer = &p->buffers.at[b];
		if (buffer->kind != BUFFER_CONST)
			continue;
		fprintf(out, "//tsr: const %%%u %s %s %lld symbol %s\n", b,
			c_comment(m->arena, buffer->name), dtype_name(buffer->dtype),
			(long long)p->consts.at[buffer->arg].count, m->consts[buffer->arg]);
	}
	for (size_t i = 0; i < p->params.n; i++)
		put_param(out, m, &p->params.at[i]);
	put_packed(out, m);
}

/* ---- a routine ---- */

static void put_axis(FILE *out, const Module *m, const TensorAxis *axis)
{
	if (axis->step)
		fprintf(out, " windows %s low %lld step %lld", size_words(m, axis->windows),
			(long long)axis->low, (long long)axis->step);
	fprintf(out, " of %lld in %s", (long long)axis->box, size_words(m, axis->extent));
	fprintf(out, " by %s", size_words(m, axis->stride));
}

static void put_args(FILE *out, const Module *m, const ProgramRoutine *r, const KernelUse *use)
{
	const char *comma = "";
	for (size_t i = 0; i < use->dims.n; i++, comma = ", ")
		fprintf(out, "%s%s", comma, sizes_dim(m->program->sizes, use->dims.at[i])->name);
	for (size_t i = 0; i < use->scalars.n; i++, comma = ", ")
		fprintf(out, "%s$%s", comma, r->scalars[use->scalars.at[i].scalar].name);
	for (size_t i = 0; i < use->buffers.n; i++) {
		const KernelBuffer *b = &use->buffers.at[i];
		if (m->program->buffers.at[b->buffer].shared)
			continue;
		fprintf(out, "%s%%%u", comma, b->buffer);
		if (!size_is(m->program->sizes, b->base, 0))
			fprintf(out, " + %s", size_words(m, b->base));
		comma = ", ";
	}
	for (size_t i = 0; i < use->copies.n; i++) {
		const Stmt *copy = use->copies.at[i];
		fprintf(out, "%s%s %%%u", comma, is_box_loop(copy) ? "result" : "tensor",
			box_tensor(copy));
		for (uint32_t k = 0; k < copy->naxes; k++)
			put_axis(out, m, &copy->axes[k]);
		comma = ", ";
	}
}

static void put_launch(FILE *out, const Module *m, const ProgramRoutine *r, KernelId id)
{
	const Kernel *kernel = &m->kernels[id].kernel;
	const char *place = place_words(m, kernel->span);
	int64_t shared = gpu_shared_asked(m->program, kernel), most = grid_turns(kernel),
		cluster = cluster_blocks(m->program->sizes, kernel);
	Size blocks = grid_blocks(m->program->sizes, kernel);
	if (cluster) {
		blocks = size_scale(m->program->sizes, blocks, cluster);
		most = INT32_MAX / cluster * cluster; /* whole clusters */
	}
	fprintf(out, "//tsr: launch %s blocks %s ", m->kernels[id].function, size_words(m, blocks));
	if (most)
		fprintf(out, "most %lld ", (long long)most);
	fprintf(out, "threads %lld ", (long long)grid_threads(m->program->sizes, kernel));
	if (shared)
		fprintf(out, "shared %lld ", (long long)shared);
	fputs("args ", out);
	put_args(out, m, r, m->kernels[id].use);
	fprintf(out, "%s%s\n", *place ? " from " : "", place);
}

static void put_loop(FILE *out, const Module *m, const ProgramLoop *loop)
{
	fprintf(out, "//tsr: for %s count %s", sizes_dim(m->program->sizes, loop->step)->name,
		size_words(m, loop->count));
	if (loop->made != BUFFER_NONE)
		fprintf(out, " made %%%u", loop->made);
	if (loop->down)
		fputs(" down", out);
	if (loop->until != BUFFER_NONE)
		fprintf(out, " until %%%u", loop->until);
	for (uint32_t k = 0; k < loop->nexchanges; k++)
		fprintf(out, "%s %%%u %%%u", k ? "," : " exchange", loop->exchanges[k].a,
			loop->exchanges[k].b);
	fputc('\n', out);
}

/* What runs in steps stands between the line of its loop and `end`. */
static void put_launches(FILE *out, const Module *m, const ProgramRoutine *r, uint32_t from,
			 uint32_t to, uint32_t outer)
{
	const Program *p = m->program;
	for (uint32_t i = from; i < to; i++) {
		uint32_t number =
			program_loop_right_in(p, p->kernels.at[r->kernels[i]].loop, outer);
		if (!number) {
			put_launch(out, m, r, r->kernels[i]);
			continue;
		}
		uint32_t end = program_loop_end(p, r, i, number);
		put_loop(out, m, &p->loops.at[number]);
		put_launches(out, m, r, i, end, number);
		fprintf(out, "//tsr: end\n");
		i = end - 1;
	}
}

static void put_tensors(FILE *out, const Module *m, const char *kind, const TensorArg *args,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		put_buffer(out, m, kind, args[i].buffer);
		fprintf(out, " line %u type %s\n", module_line(m, args[i].span),
			c_comment(m->arena, args[i].type.text));
		put_axes(out, m, &args[i].type);
	}
}

/* Does a kernel of the routine use the buffer, or write it? */
static bool uses(const Module *m, const ProgramRoutine *r, BufferId id, bool writes)
{
	for (uint32_t k = 0; k < r->nkernels; k++) {
		const KernelUse *use = m->kernels[r->kernels[k]].use;
		for (size_t i = 0; i < use->buffers.n; i++)
			if (use->buffers.at[i].buffer == id &&
			    (use->buffers.at[i].written || !writes))
				return true;
	}
	return false;
}

static void put_temps(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = program_routine(m->program, index);
	for (BufferId b = 0; b < m->program->buffers.n; b++) {
		const Buffer *buffer = &m->program->buffers.at[b];
		if (buffer->kind != BUFFER_TEMP || buffer->shared || buffer->routine != index ||
		    !uses(m, r, b, false))
			continue;
		bool empty = size_is(m->program->sizes, buffer->elements, 0);
		put_buffer(out, m, "temp", b);
		fprintf(out, " at %s\n", empty ? "0" : size_words(m, buffer->offset));
	}
}

static void put_params_used(FILE *out, const Module *m, uint32_t index)
{
	const Program *p = m->program;
	const ProgramRoutine *r = program_routine(p, index);
	for (size_t i = 0; i < p->params.n; i++)
		if (m->routines[index].params[i])
			fprintf(out, "//tsr: reads %%%u\n", p->params.at[i].buffer);
	for (size_t i = 0; i < p->params.n; i++)
		if (uses(m, r, p->params.at[i].buffer, true))
			fprintf(out, "//tsr: assigns %%%u\n", p->params.at[i].buffer);
}

static void put_guards(FILE *out, const Module *m, const ProgramRoutine *r)
{
	static const char *const words[] = {
		[CHECK_EQ] = "eq", [CHECK_GE] = "ge", [CHECK_DIVIDES] = "divides"};
	for (uint32_t i = 0; i < r->nguards; i++) {
		const Check *check = &m->program->checks.at[r->guards[i]];
		fprintf(out, "//tsr: guard %d %s %s, ", module_check_code(r->guards[i]),
			words[check->kind], size_words(m, check->a));
		fprintf(out, "%s\n", size_words(m, check->b));
	}
}

static void put_body(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = program_routine(m->program, index);
	for (uint32_t i = 0; i < r->ndims; i++)
		fprintf(out, "%s%s%s", i ? ", " : "//tsr: dims ",
			sizes_dim(m->program->sizes, r->dims[i])->name,
			i + 1 == r->ndims ? "\n" : "");
	for (uint32_t i = 0; i < r->nscalars; i++) {
		fprintf(out, "//tsr: scalar %s %s", r->scalars[i].name,
			dtype_name(r->scalars[i].dtype));
		if (r->scalars[i].dim != DIM_NONE)
			fprintf(out, " place %s",
				sizes_dim(m->program->sizes, r->scalars[i].dim)->name);
		fputc('\n', out);
	}
	put_tensors(out, m, "in", r->inputs, r->ninputs);
	put_tensors(out, m, "out", r->outputs, r->noutputs);
	put_temps(out, m, index);
	put_params_used(out, m, index);
	put_guards(out, m, r);
	put_launches(out, m, r, 0, r->nkernels, 0);
}

void cuda_put_plan(FILE *out, const Module *m)
{
	const Program *p = m->program;
	uint32_t n = (uint32_t)p->routines.n;
	put_head(out, m);
	put_memory(out, m);
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, "//tsr: routine %s workspace %s\n", p->routines.at[i].name,
			size_words(m, p->routines.at[i].workspace));
		put_body(out, m, i);
	}
	if (p->init.nkernels) {
		fprintf(out, "//tsr: start workspace %s\n", size_words(m, p->init.workspace));
		put_body(out, m, n + 1);
	}
	if (p->pack.nkernels) {
		fputs("//tsr: pack\n", out);
		put_params_used(out, m, n);
		put_launches(out, m, &p->pack, 0, p->pack.nkernels, 0);
	}
	fputs("//tsr: code\n", out);
}
