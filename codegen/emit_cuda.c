/* A module as CUDA C: kernels for nvrtc, nvcc or, on a CPU, cc -x c, of which the last has entry points
 * and the table of written C, so that whatever loads a module runs the kernels without a GPU. */
#include <string.h>

#include "base/held.h"
#include "codegen/cuda_text.h"
#include "codegen/table.h"
#include "loops/cluster.h"
#include "loops/verify_gpu.h"

static const char *const table_text =
#include "gen/tsr_table.inc"
	;

static const char *const matrix_text =
#include "gen/cuda_matrix.inc"
	;

static const char *const group_text =
#include "gen/cuda_group.inc"
	;

/* Has a kernel boxes, mbarriers or products of a warpgroup? */
static bool has_mbarriers(const Module *m)
{
	bool any = false;
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		any |= kernel_has_mbarriers(m->program, &m->program->kernels.at[k]);
	return any;
}

/* Does a kernel run in clusters of blocks? */
static bool has_clusters(const Module *m)
{
	bool any = false;
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		any |= cluster_blocks(m->program->sizes, &m->program->kernels.at[k]) > 0;
	return any;
}

static bool has_packed(const Module *m)
{
	bool any = false;
	for (size_t i = 0; i < m->program->buffers.n; i++)
		any |= dtype_is_packed(m->program->buffers.at[i].dtype);
	return any;
}

/* Does a kernel have matrices that warps hold? */
static bool has_matrices(const Module *m)
{
	bool any = false;
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		for (uint32_t i = 0; i < m->program->kernels.at[k].nlocals; i++)
			any |= m->program->kernels.at[k].locals[i].role != ROLE_NONE;
	return any;
}

/* Written C whose functions and tables are the device's too. */
static void put_for_device(FILE *out, const char *text)
{
	static const char *const words[][2] = {{"\nstatic inline ", "\nTSR_DEVICE "},
					       {"\nstatic const ", "\nTSR_TABLE "},
					       {"\nstatic ", "\nTSR_DEVICE "}};
	while (*text) {
		size_t i = 0;
		while (i < 3 && strncmp(text, words[i][0], strlen(words[i][0])) != 0)
			i++;
		if (i < 3)
			fputs(words[i][1], out);
		else
			fputc(*text, out);
		text += i < 3 ? strlen(words[i][0]) : 1;
	}
}

/* Kernels call sizes and helpers, which are written once it is known which. */
static void put_device(FILE *out, const Module *m, const char *kernels)
{
	Text helpers = text_new();
	if (has_matrices(m))
		fputs(matrix_text, out);
	if (has_mbarriers(m)) {
		fputs(group_text, out);
		cuda_put_group_functions(out, m);
	}
	if (has_clusters(m))
		fputs(cuda_cluster_text, out);
	if (has_packed(m))
		fputs(cuda_packed_text, out);
	fputc('\n', helpers.out);
	c_put_helpers(helpers.out, m);
	c_put_checked(helpers.out);
	c_put_size_declarations(helpers.out, m);
	c_put_sizes(helpers.out, m);
	put_for_device(out, text_take(helpers, m->arena, NULL));
	for (size_t i = 0; i < m->program->consts.n; i++)
		c_put_constant(out, m, i, "TSR_CONSTANT");
	fputs(kernels, out);
}

static void put_host(FILE *out, const Module *m)
{
	fprintf(out, "%s\n%s\n", table_text, cuda_host_text);
	fprintf(out, "extern const tsr_module %s_module;\n\n", m->prefix);
	for (uint32_t i = 0; i < m->program->routines.n; i++)
		fprintf(out, "%s;\n%s;\n", module_signature(m, i),
			module_workspace_signature(m, i));
	fprintf(out, "%s;\n%s;\n%s;\n\n", module_state_signature(m), module_init_signature(m),
		module_signature(m, (uint32_t)m->program->routines.n));
	cuda_put_launchers(out, m);
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		m->kernels[k].function = cuda_launcher(m, k);
	c_put_routines(out, m);
	table_c(out, table_new(m, false));
}

/* The plan is read, and the helpers are listed, before the launchers take the kernels' names. */
static void put_module(FILE *out, const Module *m)
{
	Text kernels = text_new(), host = text_new();
	cuda_put_plan(out, m);
	fprintf(out, "/* %s: made from %s by tsrc %s. Do not edit. */\n", m->prefix,
		c_comment(m->arena, module_source(m)), TSR_VERSION);
	fprintf(out, "#ifndef __CUDACC__\n#include <stdint.h>\n%s#endif\n", tsr_call_text);
	if (m->program->options.gpu->next_blocks)
		fprintf(out, "#define TSR_NEXT_BLOCKS %lld\n",
			(long long)m->program->options.gpu->next_blocks);
	fputs(cuda_layer_text, out);
	c_put_gpu_fused(out, m);
	cuda_put_kernels(kernels.out, m);
	put_host(host.out, m);
	put_device(out, m, text_take(kernels, m->arena, NULL));
	fprintf(out, "#ifndef __CUDACC__\n%s#endif\n", text_take(host, m->arena, NULL));
}

const char *cuda_text(Module *m)
{
	size_t n = m->program->kernels.n;
	ModuleKernel *kernels = ARENA_ARRAY(m->arena, ModuleKernel, n + 1);
	memcpy(kernels, m->kernels, n * sizeof *kernels);
	m->kernels = kernels; /* `function` is changed */
	m->c_sizes = ARENA_NEW(m->arena, struct CSizes);
	m->c_vectors = ARENA_NEW(m->arena, struct CVectors);
	Text text = text_new();
	put_module(text.out, m);
	return text_take(text, m->arena, NULL);
}

static void put_text(FILE *out, const Module *m) { fputs(cuda_text((Module *)m), out); }

bool cuda_emit(const Emit *emit)
{
	Module *m = module_new(emit);
	return m && c_write(m, put_text);
}
