/* The C header of a module: C99 and C++, self-contained, with what a caller must know beside each
 * name. */
#include "base/held.h"
#include "codegen/c_text.h"

#include <errno.h>
#include <string.h>

const char *const tsr_call_text =
#include "gen/tsr_call.inc"
	;

/* "n x 28 x 28 x 1", "1" for a single number. */
static const char *array_shape(const Module *m, const TensorType *type)
{
	const char *text = "";
	for (uint32_t i = 0; i < type->nbatch + type->noutput + type->ninput; i++) {
		const char *size = size_text(m->arena, m->program->sizes, type->sizes[i]);
		bool sum = strpbrk(size, "+- ") != NULL;
		text = arena_printf(m->arena, "%s%s%s%s%s", text, i ? " x " : "", sum ? "(" : "",
				    size, sum ? ")" : "");
	}
	return *text ? text : "1";
}

static void put_array(FILE *out, const Module *m, const TensorArg *arg, const char *name)
{
	bool renamed = strcmp(name, arg->name) != 0;
	fprintf(out, " *   %s: %s%s%s, an array of %s\n", name,
		renamed ? c_comment(m->arena, arg->name) : "", renamed ? ", " : "",
		c_comment(m->arena, arg->type.text), array_shape(m, &arg->type));
}

void c_put_routine_comment(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = &m->program->routines.at[index];
	const ModuleRoutine *names = &m->routines[index];
	fprintf(out, "/* %s: %s\n", r->name, c_comment(m->arena, module_types(m, index)));
	for (uint32_t i = 0; i < r->ninputs; i++)
		put_array(out, m, &r->inputs[i], names->inputs[i]);
	for (uint32_t i = 0; i < r->noutputs; i++)
		put_array(out, m, &r->outputs[i], names->outputs[i]);
	const GpuParts *parts = m->emit->options->parts;
	const Program *p = parts && parts->cpu ? parts->cpu : m->program;
	fprintf(out, " *   workspace: %s(...) = %s bytes%s */\n", names->workspace,
		size_text(m->arena, p->sizes, p->routines.at[index].workspace),
		parts && parts->cpu	  ? ", which are used where there is no device"
		: m->program->options.gpu ? " of a module for a CPU, 0 of one for a GPU"
					  : "");
}

/* Beside those on arrays of the host. */
static void put_device_routine(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = &m->program->routines.at[index];
	fprintf(out,
		"/* On arrays of the device, workspace: NULL, or the device's, %s(...) = %s bytes. */\n",
		m->routines[index].device_workspace,
		size_text(m->arena, m->program->sizes, r->workspace));
	fprintf(out, "%s;\n%s;\n\n", module_device_signature(m, index),
		module_device_workspace_signature(m, index));
}

/* What all of those have in common. */
static void put_device_comment(FILE *out, const Module *m)
{
	fprintf(out,
		"/* ---- arrays of the device: in a module for a GPU alone ----\n"
		" *\n"
		" * Inputs and results of the functions PREFIX_ROUTINE_device are pointers of the device, "
		"aligned to 16 bytes,\n"
		" * or the host's where its memory is pinned; a workspace is aligned to 256. The state is "
		"the host's. They put\n"
		" * their work into `stream` (a CUstream or cudaStream_t; NULL: the default one), in the "
		"context that the\n"
		" * thread has, and do not wait for it: arrays stay there until the stream is past it. Dims, "
		"guards and\n"
		" * pointers are checked at once. An index outside its axis is found on the device; the call "
		"writes nothing\n"
		" * then, and %s_wait_device returns its code, once: it waits for the stream, and has the "
		"first code\n"
		" * since the last wait. What a kernel does wrong is told there too, or by a later call. */\n",
		m->prefix);
	for (uint32_t i = 0; i < m->program->routines.n; i++)
		put_device_routine(out, m, i);
	fprintf(out, "%s;\n\n", module_wait_signature(m));
}

void c_put_init_comment(FILE *out, const Module *m)
{
	const Program *p = m->program;
	fprintf(out, "/* The state: %s bytes.\n",
		size_text(m->arena, p->sizes, module_host_state(m)));
	for (size_t i = 0; i < p->params.n; i++) {
		const ProgramParam *param = &p->params.at[i];
		fprintf(out, " *   byte %s: %s %s, an array of %s\n",
			size_text(m->arena, p->sizes, param->offset),
			c_comment(m->arena, param->name), c_comment(m->arena, param->type.text),
			array_shape(m, &param->type));
	}
	if (p->pack.nkernels && !p->options.gpu)
		fprintf(out,
			" *   byte %s: copies of parameters and of what is computed from them, as the "
			"routines read them\n",
			size_text(m->arena, p->sizes, p->stamp));
	fprintf(out, " * init writes the initial values of all parameters, and packs; the same seed gives the "
		     "same bits. */\n");
}

void c_put_pack_comment(FILE *out, const Module *m)
{
	fprintf(out,
		"/* To be called after parameters were written into the state by other means than init and the\n"
		" * routines, each time, before the next call of a routine: ");
	fprintf(out, m->program->pack.nkernels
			     ? "it brings the copies up to date. Routines return\n"
			       " * TSR_NOT_PACKED on a state that never was packed. */\n"
			     : "here it has nothing to do. */\n");
}

static const char cpu_memory[] =
	" * All memory is the caller's: the functions allocate nothing, keep no pointer and no state of their\n"
	" * own, and may run on several threads at once with different outputs, workspaces and states.\n";
static const char gpu_memory[] =
	" * A module for a GPU, as 'tsrc --target=cuda -o STEM.so' makes it, asks libtsr, which has memory of the\n"
	" * device for what is loaded there, for states, and for the sizes that were last called with; calls run one\n"
	" * at a time. CUDA C that is compiled for a CPU is a module for a CPU: all memory is the caller's.\n";

static void put_preamble(FILE *out, const Module *m)
{
	fprintf(out,
		"/* %s.h: made from %s by tsrc %s. Do not edit.\n"
		" *\n"
		" * Arrays are row-major; a tensor [batch | input -> output] keeps its axes in "
		"storage order: batch,\n"
		" * output, input. An array is aligned for its elements and may be NULL when it "
		"has none; outputs\n"
		" * and the workspace overlap no other array. The state and the workspace are aligned to %d bytes.\n"
		"%s"
		" * A routine returns TSR_OK or a positive code, and then has written nothing. A "
		"size function\n"
		" * returns SIZE_MAX where a dim is out of its range.\n"
		" */\n",
		m->prefix, c_comment(m->arena, module_source(m)), TSR_VERSION, STATE_ALIGN,
		m->program->options.gpu ? gpu_memory : cpu_memory);
}

static void put_checks(FILE *out, const Module *m)
{
	const Program *p = m->program;
	if (!p->checks.n)
		return;
	fprintf(out, "/* What a routine returns beside the codes of tsr_call. */\nenum {\n");
	for (size_t i = 0; i < p->checks.n; i++) {
		fprintf(out, "\t%s_CHECK_%zu = TSR_CHECK_FIRST + %zu%s /* %s */\n", m->prefix, i, i,
			i + 1 < p->checks.n ? "," : "", c_comment(m->arena, p->checks.at[i].text));
	}
	fprintf(out, "};\n\n");
}

static void put_header(FILE *out, const Module *m)
{
	put_preamble(out, m);
	fprintf(out, "#ifndef TSR_MODULE_%s_H\n#define TSR_MODULE_%s_H\n\n", m->prefix, m->prefix);
	fprintf(out, "#include <stddef.h>\n#include <stdint.h>\n\n");
	fprintf(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n%s\n", tsr_call_text);
	put_checks(out, m);
	for (uint32_t i = 0; i < m->program->routines.n; i++) {
		c_put_routine_comment(out, m, i);
		fprintf(out, "%s;\n%s;\n\n", module_signature(m, i),
			module_workspace_signature(m, i));
	}
	c_put_init_comment(out, m);
	fprintf(out, "%s;\n%s;\n\n", module_state_signature(m), module_init_signature(m));
	c_put_pack_comment(out, m);
	fprintf(out, "%s;\n\n", module_signature(m, (uint32_t)m->program->routines.n));
	if (module_has_tiles(m))
		fprintf(out,
			"/* Asks the system for the permission to multiply matrices in tiles of AMX, for this\n"
			" * process from now on, and returns 1 where the routines do so then. Without it, and\n"
			" * where this returns 0, they use vectors; sums of bf16 are rounded otherwise in tiles.\n"
			" * tsr_open asks by itself. */\n"
			"int %s_use_tiles(void);\n\n",
			m->prefix);
	if (m->program->options.gpu)
		put_device_comment(out, m);
	fprintf(out, "/* The table that describes all of this; its type is in tsr.h. */\n");
	fprintf(out, "extern const struct tsr_module %s_module;\n\n", m->prefix);
	fprintf(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

bool c_write(const Module *m, void (*put)(FILE *out, const Module *m))
{
	const Emit *emit = m->emit;
	FILE *out = held_file(fopen(emit->output, "w"));
	if (out)
		put(out, m);
	bool good = out && !ferror(out);
	int error = errno;
	if (out && held_close(out) != 0) {
		good = false;
		error = errno;
	}
	if (!good)
		diag(emit->diags, E0602, SPAN_NONE, "cannot write '%s': %s", emit_name(emit),
		     strerror(error));
	return good;
}

bool header_emit(const Emit *emit)
{
	Module *m = module_new(emit);
	return m && c_write(m, put_header);
}
