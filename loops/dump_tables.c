/* What stands around the kernels of a dump: dims, buffers and what they hold, checks, routines. */
#include <inttypes.h>
#include <string.h>

#include "base/element.h"
#include "loops/dump.h"
#include "loops/steps.h"
#include "loops/walk.h"

enum { CONST_SHOWN = 1024 }; /* elements: of larger constants the text has none */

const char *const buffer_kind_names[] = {"in", "out", "param", "const", "temp", "packed"};

static void put_size(const Dump *d, Size size) { size_print(d->out, d->program->sizes, size); }

static void dump_dims(const Dump *d)
{
	const Sizes *sizes = d->program->sizes;
	uint32_t n = sizes_ndims(sizes);
	for (DimId i = 0; i < n; i++) {
		const Dim *dim = sizes_dim(sizes, i);
		fprintf(d->out, "%s%s", i ? ", " : "dims ", dim->name);
		if (dim->at_least)
			fprintf(d->out, " >= %" PRId64, dim->at_least);
		if (dim->kind != DIM_ARGUMENT)
			fprintf(d->out, " %s", dim->kind == DIM_STEP ? "counts" : "scalar");
	}
	fprintf(d->out, "%s", n ? "\n" : "");
}

/* ---- buffers ---- */

/* "[6 -> 2]" of "f32 [6 -> 2]" */
static const char *axes_of(const TensorType *type)
{
	return type->text + strlen(dtype_name(type->dtype)) + 1;
}

static void dump_param(const Dump *d, const ProgramParam *param)
{
	fprintf(d->out, " at ");
	put_size(d, param->offset);
	fprintf(d->out, " as %s", axes_of(&param->type));
	if (param->init == PARAM_UNIFORM) {
		fprintf(d->out, ", uniform ");
		put_size(d, param->fan_in);
	} else if (param->init == PARAM_CONSTANT) {
		fprintf(d->out, ", constant %.17g", param->value);
	} else {
		fprintf(d->out, ", computed");
	}
	if (param->changes)
		fprintf(d->out, ", assigned");
}

static void dump_elements(const Dump *d, const ProgramConst *of)
{
	fprintf(d->out, " as %s =", axes_of(&of->type));
	if (of->count > CONST_SHOWN || (of->count > 0 && !of->bytes)) {
		fprintf(d->out, " ...");
		return;
	}
	for (int64_t i = 0; i < of->count; i++) {
		fprintf(d->out, "%s", i ? ", " : " ");
		dump_scalar(d, of->type.dtype, scalar_read(of->type.dtype, of->bytes, i));
	}
}

static void dump_owner(const Dump *d, const Buffer *buffer)
{
	if (buffer->kind == BUFFER_PACKED)
		fprintf(d->out, " of %s", d->program->params.at[buffer->arg].name);
	if ((buffer->kind == BUFFER_TEMP || buffer->kind == BUFFER_PACKED) && d->program->placed &&
	    !buffer->shared) {
		fprintf(d->out, " at ");
		put_size(d, buffer->offset);
	}
	if (buffer->kind != BUFFER_PARAM && buffer->kind != BUFFER_CONST &&
	    buffer->kind != BUFFER_PACKED)
		fprintf(d->out, " of %s", program_routine(d->program, buffer->routine)->name);
}

static void dump_buffer(const Dump *d, BufferId id)
{
	const Buffer *buffer = &d->program->buffers.at[id];
	fprintf(d->out, "buffer %s : %s [", buffer_shown(d->program, id), dtype_name(buffer->dtype));
	put_size(d, buffer->elements);
	fprintf(d->out, "] %s", buffer_kind_names[buffer->kind]);
	dump_owner(d, buffer);
	if (buffer->kind == BUFFER_PARAM)
		dump_param(d, &d->program->params.at[buffer->arg]);
	if (buffer->kind == BUFFER_CONST)
		dump_elements(d, &d->program->consts.at[buffer->arg]);
	fprintf(d->out, "%s%s%s%s", buffer->scratch ? " scratch" : "",
		buffer->shared ? " shared" : "", buffer->swizzled ? " swizzled" : "",
		buffer->padded ? " padded" : "");
	if (buffer->panels)
		fprintf(d->out, " panels");
	if (buffer->cluster)
		fprintf(d->out, " cluster %" PRId64, buffer->cluster);
	if (buffer->arrivals)
		fprintf(d->out, " arrivals %" PRId64, buffer->arrivals);
	fputc('\n', d->out);
}

/* All but temporaries without elements that no kernel touches: what they held is elsewhere. */
static void dump_buffers(const Dump *d)
{
	const Program *program = d->program;
	bool *touched = ARENA_ARRAY(program->arena, bool, program->buffers.n + 1);
	for (size_t k = 0; k < program->kernels.n; k++) {
		BufferUses uses = kernel_buffers(program->arena, &program->kernels.at[k]);
		for (size_t i = 0; i < uses.n; i++)
			touched[uses.at[i].buffer] = true;
	}
	for (BufferId b = 0; b < program->buffers.n; b++) {
		const Buffer *buffer = &program->buffers.at[b];
		if (buffer->kind != BUFFER_TEMP || touched[b] ||
		    !size_is(program->sizes, buffer->elements, 0))
			dump_buffer(d, b);
	}
}

/* ---- routines ---- */

static void dump_args(const Dump *d, const TensorArg *args, uint32_t n, const char *first)
{
	for (uint32_t i = 0; i < n; i++)
		fprintf(d->out, "%s%s : %s", i ? ", " : first, args[i].name, args[i].type.text);
}

static void dump_runs(const Dump *d, const ProgramRoutine *routine, uint32_t from, uint32_t to,
		      uint32_t outer, int depth)
{
	const Program *program = d->program;
	for (uint32_t i = from; i < to; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		uint32_t number = program_loop_right_in(program, kernel->loop, outer);
		if (!number) {
			fprintf(d->out, "%*srun %s\n", 2 * depth, "", kernel->name);
			continue;
		}
		const ProgramLoop *loop = &program->loops.at[number];
		uint32_t end = program_loop_end(program, routine, i, number);
		fprintf(d->out, "%*sfor %s in 0..", 2 * depth, "",
			sizes_dim(program->sizes, loop->step)->name);
		put_size(d, loop->count);
		if (loop->made != BUFFER_NONE)
			fprintf(d->out, " made %s", buffer_shown(program, loop->made));
		if (loop->down)
			fputs(" down", d->out);
		if (loop->until != BUFFER_NONE)
			fprintf(d->out, " until %s", buffer_shown(program, loop->until));
		for (uint32_t k = 0; k < loop->nexchanges; k++) {
			fprintf(d->out, "%s%s, ", k ? ", " : " exchange ",
				buffer_shown(program, loop->exchanges[k].a));
			fputs(buffer_shown(program, loop->exchanges[k].b), d->out);
		}
		fputc('\n', d->out);
		dump_runs(d, routine, i, end, number, depth + 1);
		i = end - 1;
	}
}

static void dump_routine(const Dump *d, const ProgramRoutine *routine, bool of_state)
{
	const Program *program = d->program;
	fprintf(d->out, "\nroutine %s(", routine->name);
	for (uint32_t i = 0; i < routine->ndims; i++)
		fprintf(d->out, "%s%s", i ? ", " : "",
			sizes_dim(program->sizes, routine->dims[i])->name);
	for (uint32_t i = 0; i < routine->nscalars; i++) {
		const ScalarParam *scalar = &routine->scalars[i];
		fprintf(d->out, "%s%s : %s", i || routine->ndims ? ", " : "", scalar->name,
			dtype_name(scalar->dtype));
		if (scalar->dim != DIM_NONE)
			fprintf(d->out, " as %s", sizes_dim(program->sizes, scalar->dim)->name);
	}
	bool comma = routine->ndims + routine->nscalars > 0;
	dump_args(d, routine->inputs, routine->ninputs, comma ? ", " : "");
	fprintf(d->out, ")");
	dump_args(d, routine->outputs, routine->noutputs, " -> ");
	fprintf(d->out, "%s\n", of_state ? " of state" : "");
	if (program->placed) {
		fprintf(d->out, "  workspace ");
		put_size(d, routine->workspace);
		fprintf(d->out, " bytes\n");
	}
	for (uint32_t i = 0; i < routine->nguards; i++)
		fprintf(d->out, "  guard %" PRIu32 "\n", routine->guards[i]);
	dump_runs(d, routine, 0, routine->nkernels, 0, 1);
}

uint32_t kernel_routine(const Program *program, KernelId kernel)
{
	for (uint32_t r = 0; r < program->routines.n + 2; r++)
		for (uint32_t i = 0; i < program_routine(program, r)->nkernels; i++)
			if (program_routine(program, r)->kernels[i] == kernel)
				return r;
	return 0;
}

void loops_dump(FILE *out, const Program *program)
{
	Dump d = {.out = out, .program = program};
	dump_dims(&d);
	fprintf(out, "state ");
	put_size(&d, program->state);
	fprintf(out, " bytes\n");
	dump_buffers(&d);
	for (size_t i = 0; i < program->checks.n; i++)
		fprintf(out, "check %zu: %s\n", i, program->checks.at[i].text);
	for (size_t i = 0; i < program->kernels.n; i++)
		kernel_dump(out, program, (KernelId)i);
	if (program->pack.nkernels)
		dump_routine(&d, &program->pack, true);
	if (program->init.nkernels)
		dump_routine(&d, &program->init, true);
	for (size_t i = 0; i < program->routines.n; i++)
		dump_routine(&d, &program->routines.at[i], false);
}
