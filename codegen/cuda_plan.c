/* The plan of a model as comment lines in front of its code. */
#include "codegen/cuda_text.h"
#include "loops/steps.h"
#include "loops/verify_gpu.h"
#include "target/gpu.h"

static const char *size_words(const Module *m, Size size)
{
	return size_text(m->arena, m->program->sizes, size);
}

static void put_buffer(FILE *out, const Module *m, const char *kind, BufferId id)
{
	const Buffer *b = &m->program->buffers.at[id];
	fprintf(out, "//tsr: %s %s %s %s", kind, c_comment(m->arena, b->name), dtype_name(b->dtype),
		size_words(m, b->elements));
	if (b->kind == BUFFER_TEMP)
		fprintf(out, " at %s", size_words(m, b->offset));
	fputc('\n', out);
}

static void put_memory(FILE *out, const Module *m)
{
	const Program *p = m->program;
	fprintf(out, "//tsr: state %s\n", size_words(m, p->state));
	for (size_t i = 0; i < p->params.n; i++) {
		const ProgramParam *param = &p->params.at[i];
		fprintf(out, "//tsr: param %s %s %s at %s\n", c_comment(m->arena, param->name),
			dtype_name(param->type.dtype),
			size_words(m, p->buffers.at[param->buffer].elements),
			size_words(m, param->offset));
	}
	for (size_t i = 0; i < p->consts.n; i++)
		fprintf(out, "//tsr: const %s %s %lld symbol %s\n",
			c_comment(m->arena, p->consts.at[i].name),
			dtype_name(p->consts.at[i].type.dtype), (long long)p->consts.at[i].count,
			m->consts[i]);
}

static void put_launch(FILE *out, const Module *m, const ProgramRoutine *r, KernelId id)
{
	const KernelUse *use = m->kernels[id].use;
	const Kernel *kernel = &m->kernels[id].kernel;
	const char *comma = "";
	fprintf(out, "//tsr: launch %s blocks %s threads %lld args ", m->kernels[id].function,
		size_words(m, grid_blocks(m->program->sizes, kernel)),
		(long long)grid_threads(m->program->sizes, kernel));
	for (size_t i = 0; i < use->dims.n; i++, comma = ", ")
		fprintf(out, "%s%s", comma, sizes_dim(m->program->sizes, use->dims.at[i])->name);
	for (size_t i = 0; i < use->scalars.n; i++, comma = ", ")
		fprintf(out, "%s%s", comma, r->scalars[use->scalars.at[i].scalar].name);
	for (size_t i = 0; i < use->buffers.n; i++) {
		const KernelBuffer *b = &use->buffers.at[i];
		if (m->program->buffers.at[b->buffer].shared)
			continue;
		fprintf(out, "%s%s", comma,
			c_comment(m->arena, m->program->buffers.at[b->buffer].name));
		if (!size_is(m->program->sizes, b->base, 0))
			fprintf(out, " + %s", size_words(m, b->base));
		comma = ", ";
	}
	fputc('\n', out);
	for (size_t i = 0; i < use->checks.n; i++)
		fprintf(out, "//tsr: check %d %s\n", module_check_code(use->checks.at[i]),
			c_comment(m->arena, m->program->checks.at[use->checks.at[i]].text));
}

/* What runs in steps stands between `for STEP COUNT [until BUFFER]` and `end`. */
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
		const ProgramLoop *loop = &p->loops.at[number];
		uint32_t end = program_loop_end(p, r, i, number);
		fprintf(out, "//tsr: for %s ", sizes_dim(p->sizes, loop->step)->name);
		if (size_is_bad(loop->count))
			fprintf(out, "scalar %s", r->scalars[loop->scalar].name);
		else
			fputs(size_words(m, loop->count), out);
		if (loop->until != BUFFER_NONE)
			fprintf(out, " until %s",
				c_comment(m->arena, p->buffers.at[loop->until].name));
		for (uint32_t k = 0; k < loop->nexchanges; k++)
			fprintf(out, "%s%s, %s", k ? ", " : " exchange ",
				c_comment(m->arena, p->buffers.at[loop->exchanges[k].a].name),
				c_comment(m->arena, p->buffers.at[loop->exchanges[k].b].name));
		fputc('\n', out);
		put_launches(out, m, r, i, end, number);
		fprintf(out, "//tsr: end\n");
		i = end - 1;
	}
}

static void put_routine(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = &m->program->routines.at[index];
	fprintf(out, "//tsr: routine %s workspace %s\n", r->name, size_words(m, r->workspace));
	for (uint32_t i = 0; i < r->ninputs; i++)
		put_buffer(out, m, "in", r->inputs[i].buffer);
	for (uint32_t i = 0; i < r->noutputs; i++)
		put_buffer(out, m, "out", r->outputs[i].buffer);
	for (BufferId b = 0; b < m->program->buffers.n; b++) {
		const Buffer *buffer = &m->program->buffers.at[b];
		if (buffer->kind == BUFFER_TEMP && !buffer->shared && buffer->routine == index &&
		    !size_is(m->program->sizes, buffer->elements, 0))
			put_buffer(out, m, "temp", b);
	}
	put_launches(out, m, r, 0, r->nkernels, 0);
}

void cuda_put_plan(FILE *out, const Module *m)
{
	const Program *p = m->program;
	fprintf(out, "//tsr: plan 1\n//tsr: target %s\n//tsr: dims", p->options.gpu->name);
	for (DimId d = 0; d < sizes_ndims(p->sizes); d++)
		fprintf(out, "%s %s", d ? "," : "", sizes_dim(p->sizes, d)->name);
	fputc('\n', out);
	put_memory(out, m);
	for (uint32_t i = 0; i < p->routines.n; i++)
		put_routine(out, m, i);
}
