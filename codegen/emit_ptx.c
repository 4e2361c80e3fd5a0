/* A module as PTX: the CUDA C of emit_cuda.c through nvrtc, in a child, behind the plan.
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
#include "codegen/nvrtc.h"
#include "codegen/subprocess.h"
#include "target/gpu.h"

enum { STATUS_ABSENT = 10, STATUS_REFUSED, STATUS_WRITE };

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

static NvrtcOutput compiled(const Assembly *a, const Nvrtc *nvrtc, const char *architecture)
{
	return nvrtc_compile(a->arena, nvrtc, a->text, architecture,
			     !a->emit->options->strict_fp);
}

/* Of machine code, which is made for nothing else. */
static void tell_resources(const Assembly *a, const Nvrtc *nvrtc)
{
	const EmitReport *report = a->emit->report;
	if (!report || !report->wants_kernels)
		return;
	NvrtcOutput made = compiled(a, nvrtc, a->emit->program->options.gpu->name);
	CubinKernels kernels = cubin_kernels(a->arena, made.cubin, made.ncubin);
	for (size_t i = 0; i < kernels.n; i++) {
		const CubinKernel *k = &kernels.at[i];
		printf("kernel %s: %u registers, %u bytes of stack, %u instructions on it\n",
		       k->name, k->registers, k->stack, k->local);
	}
}

/* In the child. */
static int assemble(void *of)
{
	const Assembly *a = of;
	const char *why = NULL;
	Nvrtc *nvrtc = nvrtc_open(a->arena, &why);
	if (!nvrtc) {
		printf("%s\n", why);
		return STATUS_ABSENT;
	}
	const char *gpu = a->emit->program->options.gpu->name;
	NvrtcOutput made =
		compiled(a, nvrtc, arena_printf(a->arena, "compute_%s", strchr(gpu, '_') + 1));
	const char *version = nvrtc_version(a->arena, nvrtc);
	if (!made.good) {
		printf("nvrtc %s: %s\n", version, made.log ? made.log : "");
		return STATUS_REFUSED;
	}
	tell_resources(a, nvrtc);
	if (put_ptx(a, version, made.ptx))
		return 0;
	printf("%s\n", strerror(errno));
	return STATUS_WRITE;
}

static void report(const Emit *emit, const ChildResult *result)
{
	const char *ended =
		arena_printf(emit->arena, "its process ended with status %d", result->status);
	const char *text = *result->text ? result->text : ended;
	int n = (int)strcspn(text, "\n");
	if (result->ran && result->status == STATUS_ABSENT) {
		diag(emit->diags, E0522, SPAN_NONE, "PTX is made by nvrtc: %.*s", n, text);
		diag_note(
			emit->diags, SPAN_NONE,
			"-o STEM.cu needs none; TSRC_NVRTC names a libnvrtc.so, './bootstrap gpu' "
			"installs one");
	} else if (result->ran && result->status == STATUS_WRITE) {
		diag(emit->diags, E0602, SPAN_NONE, "cannot write '%s': %.*s", emit_name(emit), n,
		     text);
	} else {
		diag(emit->diags, E0523, SPAN_NONE,
		     "nvrtc makes no code of the kernels for %s: %.*s",
		     emit->program->options.gpu->name, n, text);
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
	ChildResult result = child_fork(emit->arena, assemble, &a);
	if (!result.ran || result.status != 0) {
		report(emit, &result);
		return false;
	}
	if (emit->report)
		emit->report->kernel_lines = result.text;
	return true;
}
