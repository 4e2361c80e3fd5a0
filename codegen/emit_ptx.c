/* A module as PTX: the CUDA C of emit_cuda.c through nvrtc, behind the plan.
 *
 * Only PTX is asked for: machine code takes as long again, and is made only for -v, which tells what kernels take.
 * nvrtc writes the newest version of PTX that it knows, which only the newest drivers load; nothing here
 * needs more than the GPU itself, so the version is lowered to that, and pragmas that are hints of later
 * versions go. Variables are made visible: a driver finds no others by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/held.h"
#include "codegen/cubin.h"
#include "codegen/cuda_text.h"
#include "codegen/nvrtc_process.h"
#include "target/gpu.h"

typedef struct Assembly {
	const Emit *emit;
	const char *text, *plan; /* CUDA C; in front of what is made of it */
	Arena *arena;
} Assembly;

/* "9.0" as 90. */
static long version_of(const char *text)
{
	char *end;
	long major = strtol(text, &end, 10);
	return *end == '.' ? 10 * major + strtol(end + 1, NULL, 10) : 10 * major;
}

static const char *begins(const char *line, const char *word)
{
	size_t n = strlen(word);
	return strncmp(line, word, n) == 0 ? line + n : NULL;
}

static void put_line(FILE *out, const char *line, size_t n, const GpuTarget *gpu)
{
	const char *version = begins(line, ".version ");
	size_t blanks = strspn(line, " \t");
	if (version && version_of(version) > gpu->ptx)
		fprintf(out, ".version %lld.%lld\n", (long long)gpu->ptx / 10,
			(long long)gpu->ptx % 10);
	else if (begins(line + blanks, ".pragma \"used_bytes_mask"))
		return;
	else
		fprintf(out, "%s%.*s\n", begins(line, ".global ") ? ".visible " : "", (int)n, line);
}

/* The plan and the code behind the line with their digest, which is behind the first. */
static bool put_ptx(const Assembly *a, const char *version, const char *ptx)
{
	const GpuTarget *gpu = a->emit->program->options.gpu;
	const char *rest = strchr(a->plan, '\n') + 1;
	size_t len;
	Text text = text_new();
	fprintf(text.out, "%s//tsr: nvrtc %s\n", rest, version);
	for (size_t n; *ptx; ptx += n + (ptx[n] == '\n')) {
		n = strcspn(ptx, "\n");
		put_line(text.out, ptx, n, gpu);
	}
	const char *behind = text_take(text, a->arena, &len);
	FILE *out = fopen(a->emit->output, "w");
	if (!out)
		return false;
	fprintf(out, "%.*s//tsr: digest %016llx\n%s", (int)(rest - a->plan), a->plan,
		(unsigned long long)text_digest(behind, len), behind);
	bool good = !ferror(out);
	return fclose(out) == 0 && good;
}

static NvrtcAnswer compiled(const Assembly *a, const char *architecture)
{
	const CodeOptions *options = a->emit->options;
	NvrtcJob job = {a->text, architecture, options->opt_level, options->nvrtc_worker};
	return nvrtc_run(a->arena, &job);
}

/* Of machine code, which is made for nothing else. */
static void tell_resources(const Assembly *a)
{
	EmitReport *report = a->emit->report;
	if (!report || !report->wants_kernels)
		return;
	NvrtcOutput made = compiled(a, a->emit->program->options.gpu->name).output;
	CubinKernels kernels = cubin_kernels(a->arena, made.cubin, made.ncubin);
	Text text = text_new();
	for (size_t i = 0; i < kernels.n; i++) {
		const CubinKernel *k = &kernels.at[i];
		fprintf(text.out,
			"kernel %s: %u registers, %u bytes of stack, %u instructions on it\n",
			k->name, k->registers, k->stack, k->local);
	}
	report->kernel_lines = text_take(text, a->emit->arena, NULL);
}

static void report(const Emit *emit, const NvrtcAnswer *answer)
{
	int n = (int)strcspn(answer->why, "\n");
	if (answer->end == NVRTC_ABSENT) {
		diag(emit->diags, E0522, SPAN_NONE, "PTX is made by nvrtc: %.*s", n, answer->why);
		diag_note(
			emit->diags, SPAN_NONE,
			"-o STEM.cu needs none; TSRC_NVRTC names a libnvrtc.so, './bootstrap gpu' "
			"installs one");
	} else {
		diag(emit->diags, E0523, SPAN_NONE,
		     "nvrtc makes no code of the kernels for %s: %.*s",
		     emit->program->options.gpu->name, n, answer->why);
	}
}

bool ptx_emit(const Emit *emit)
{
	Module *m = module_new(emit);
	if (!m)
		return false;
	Text plan = text_new();
	cuda_put_plan(plan.out, m);
	Assembly a = {.emit = emit, .arena = emit->arena};
	a.plan = text_take(plan, emit->arena, NULL);
	a.text = cuda_text(m);
	const char *gpu = emit->program->options.gpu->name;
	NvrtcAnswer made = compiled(&a, arena_printf(a.arena, "compute_%s", strchr(gpu, '_') + 1));
	if (made.end != NVRTC_MADE) {
		report(emit, &made);
		return false;
	}
	if (emit->options->nvrtc_worker && !made.fixed)
		diag(emit->diags, W0501, SPAN_NONE,
		     "nvrtc ran at random addresses: another run may order PTX otherwise");
	tell_resources(&a);
	if (put_ptx(&a, made.version, made.output.ptx))
		return true;
	diag(emit->diags, E0602, SPAN_NONE, "cannot write '%s': %s", emit_name(emit),
	     strerror(errno));
	return false;
}
