/* An entry point stores its arguments where lists of them are expected, and calls with the lists' addresses:
 *
 *   tsr_arguments | dims | scalars | addresses of scalars | inputs | results        from the frame's low end on
 *
 * Arguments come as the System V ABI for x86-64 has them: integers and pointers in six registers, floats in
 * eight, all others on the stack in order.
 */
#include "codegen/gpu_entry.h"

#include <string.h>

#include "runtime/tsr.h"

/* Offsets in tsr_arguments, and its bytes. */
enum {
	AT_DIMS = 0,
	AT_SCALARS = 8,
	AT_INPUTS = 16,
	AT_OUTPUTS = 24,
	AT_STATE = 32,
	AT_WORKSPACE = 40,
	AT_STREAM = 48,
	LISTS = 56
};

/* Its code for a CPU, which is called where there is no device; NULL: none. */
static const GpuParts *cpu_parts(const Module *m)
{
	const GpuParts *parts = m->emit->options->parts;
	return parts && parts->cpu ? parts : NULL;
}

typedef struct Entry {
	FILE *out;
	const Module *m;
	long frame;		       /* bytes, a multiple of 16 */
	int integers, floats, stacked; /* arguments so far */
} Entry;

static void begin(const Entry *e, const char *name, bool exported)
{
	fprintf(e->out, "\t.text\n%s\t%s\n\t.type\t%s, @function\n%s:\n",
		exported ? "\t.globl" : "\t.local", name, name, name);
	fprintf(e->out, "\tpushq\t%%rbp\n\tmovq\t%%rsp, %%rbp\n\tsubq\t$%ld, %%rsp\n", e->frame);
}

/* The next argument, to an offset from the frame's low end. */
static void store(Entry *e, bool is_float, long at)
{
	static const char *const registers[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
	if (is_float && e->floats < 8) {
		fprintf(e->out, "\tmovq\t%%xmm%d, %ld(%%rsp)\n", e->floats++, at);
	} else if (!is_float && e->integers < 6) {
		fprintf(e->out, "\tmovq\t%%%s, %ld(%%rsp)\n", registers[e->integers++], at);
	} else {
		fprintf(e->out, "\tmovq\t%d(%%rbp), %%rax\n\tmovq\t%%rax, %ld(%%rsp)\n",
			16 + 8 * e->stacked++, at);
	}
}

static void store_address(const Entry *e, long of, long at)
{
	fprintf(e->out, "\tleaq\t%ld(%%rsp), %%rax\n\tmovq\t%%rax, %ld(%%rsp)\n", of, at);
}

static void store_number(const Entry *e, long long number, long at)
{
	fprintf(e->out, "\tmovq\t$%lld, %ld(%%rsp)\n", number, at);
}

/* Calls with what is at the frame's low end; `call` is in rsi. */
static void enter(const Entry *e, int what)
{
	fprintf(e->out, "\tmovl\t$%d, %%edi\n\tmovq\t%%rsp, %%rdx\n\tcall\t%s__enter\n", what,
		e->m->prefix);
}

/* Jumps over what is put until end_absent unless there is no device; the address of the CPU's table is in rax then. */
static bool begin_absent(const Entry *e)
{
	const GpuParts *parts = cpu_parts(e->m);
	if (parts)
		fprintf(e->out,
			"\tcmpl\t$%d, %%eax\n\tjne\t1f\n\tmovq\t%s_module@GOTPCREL(%%rip), %%rax\n",
			TSR_NO_DEVICE, parts->cpu_prefix);
	return parts != NULL;
}

static void end_absent(const Entry *e) { fprintf(e->out, "1:\n"); }

/* The CPU's function of a routine on the same lists; the call's place in the frame. */
static void put_cpu_routine(const Entry *e, uint32_t index, long call)
{
	if (!begin_absent(e))
		return;
	fprintf(e->out,
		"\tmovq\t%zu(%%rax), %%r10\n\tmovq\t%ld(%%rsp), %%rdi\n\tmovq\t%d(%%rsp), %%rsi\n"
		"\tmovq\t%d(%%rsp), %%rdx\n\tmovq\t%d(%%rsp), %%rcx\n\tmovq\t%d(%%rsp), %%r8\n"
		"\tmovq\t%d(%%rsp), %%r9\n\tmovq\t%d(%%rsp), %%rax\n\tsubq\t$16, %%rsp\n"
		"\tmovq\t%%rax, (%%rsp)\n\tcall\t*%zu(%%r10)\n\taddq\t$16, %%rsp\n",
		offsetof(tsr_module, routines), call, AT_DIMS, AT_SCALARS, AT_INPUTS, AT_OUTPUTS,
		AT_STATE, AT_WORKSPACE,
		index * sizeof(tsr_routine) + offsetof(tsr_routine, invoke));
	end_absent(e);
}

/* The whole of a function that is the CPU's; `name` is the GPU's. False: there is no code for a CPU. */
static bool put_cpu_function(FILE *out, const Module *m, const char *name)
{
	const GpuParts *parts = cpu_parts(m);
	if (parts)
		fprintf(out,
			"\t.text\n\t.globl\t%s\n\t.type\t%s, @function\n%s:\n\tjmp\t%s%s@PLT\n",
			name, name, name, parts->cpu_prefix, name + strlen(m->prefix));
	return parts != NULL;
}

static void end(const Entry *e) { fprintf(e->out, "\tleave\n\tret\n"); }

static Entry entry_new(FILE *out, const Module *m, long words)
{
	return (Entry){.out = out, .m = m, .frame = (LISTS + 8 * words + 15) / 16 * 16};
}

/* ---- routines ---- */

/* On arrays of the host, or of the device. */
static void put_routine(FILE *out, const Module *m, uint32_t index, bool device)
{
	const ProgramRoutine *r = &m->program->routines.at[index];
	long dims = LISTS, scalars = dims + 8L * r->ndims, elements = scalars + 8L * r->nscalars;
	long inputs = elements + 8L * r->nscalars, outputs = inputs + 8L * r->ninputs,
	     call = outputs + 8L * r->noutputs;
	Entry e = entry_new(out, m, (call - LISTS) / 8 + 1);
	begin(&e, device ? m->routines[index].device : m->routines[index].function, true);
	store(&e, false, call);
	for (uint32_t i = 0; i < r->ndims; i++)
		store(&e, false, dims + 8L * i);
	for (uint32_t i = 0; i < r->nscalars; i++) {
		Dtype dtype = r->scalars[i].dtype;
		store(&e, dtype == DTYPE_F32 || dtype == DTYPE_F64, elements + 8L * i);
	}
	for (uint32_t i = 0; i < r->ninputs; i++)
		store(&e, false, inputs + 8L * i);
	for (uint32_t i = 0; i < r->noutputs; i++)
		store(&e, false, outputs + 8L * i);
	store(&e, false, AT_STATE);
	store(&e, false, AT_WORKSPACE);
	if (device)
		store(&e, false, AT_STREAM);
	for (uint32_t i = 0; i < r->nscalars; i++)
		store_address(&e, elements + 8L * i, scalars + 8L * i);
	store_address(&e, dims, AT_DIMS);
	store_address(&e, scalars, AT_SCALARS);
	store_address(&e, inputs, AT_INPUTS);
	store_address(&e, outputs, AT_OUTPUTS);
	fprintf(out, "\tmovq\t%ld(%%rsp), %%rsi\n", call);
	enter(&e, (int)index + (device ? TSR_GPU_DEVICE : 0));
	if (!device)
		put_cpu_routine(&e, index, call);
	end(&e);
}

/* The loader's way in: the lists are there. */
static void put_invoke(FILE *out, const Module *m, uint32_t index)
{
	Entry e = entry_new(out, m, 1);
	begin(&e, m->routines[index].invoke, false);
	store(&e, false, LISTS);
	for (long at = AT_DIMS; at <= AT_WORKSPACE; at += 8)
		store(&e, false, at);
	fprintf(out, "\tmovq\t%d(%%rsp), %%rsi\n", LISTS);
	enter(&e, (int)index);
	put_cpu_routine(&e, index, LISTS);
	end(&e);
}

/* Temporaries are the device's. */
static void put_workspace(FILE *out, const Module *m, uint32_t index)
{
	const char *name = m->routines[index].workspace;
	if (put_cpu_function(out, m, name))
		return;
	fprintf(out, "\t.globl\t%s\n\t.type\t%s, @function\n%s:\n\txorl\t%%eax, %%eax\n\tret\n",
		name, name, name);
}

/* SIZE_MAX stays where it is not known. */
static void put_device_workspace(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = &m->program->routines.at[index];
	long size = LISTS + 8L * r->ndims;
	Entry e = entry_new(out, m, (long)r->ndims + 1);
	begin(&e, m->routines[index].device_workspace, true);
	for (uint32_t i = 0; i < r->ndims; i++)
		store(&e, false, LISTS + 8L * i);
	store_number(&e, -1, size);
	store_address(&e, size, AT_STATE);
	store_address(&e, LISTS, AT_DIMS);
	fprintf(out, "\txorl\t%%esi, %%esi\n");
	enter(&e, (int)index + TSR_GPU_WORKSPACE);
	fprintf(out, "\tmovq\t%ld(%%rsp), %%rax\n", size);
	end(&e);
}

static void put_wait(FILE *out, const Module *m)
{
	Entry e = entry_new(out, m, 1);
	begin(&e, arena_printf(m->arena, "%s_wait_device", m->prefix), true);
	store(&e, false, LISTS);
	store(&e, false, AT_STREAM);
	fprintf(out, "\tmovq\t%d(%%rsp), %%rsi\n", LISTS);
	enter(&e, TSR_GPU_WAIT);
	end(&e);
}

/* ---- the state ---- */

/* The dims that a function takes, in a list of all of the module's; the others are unknown. */
static void store_dims(Entry *e, const DimId *dims, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		store(e, false, LISTS + 8L * dims[i]);
	for (DimId d = 0; d < sizes_nargs(e->m->program->sizes); d++) {
		bool taken = false;
		for (uint32_t i = 0; i < n; i++)
			taken |= dims[i] == d;
		if (!taken)
			store_number(e, -1, LISTS + 8L * d);
	}
}

static void finish(const Entry *e) { store_address(e, LISTS, AT_DIMS); }

static void put_cpu_init(const Entry *e)
{
	if (!begin_absent(e))
		return;
	fprintf(e->out,
		"\tmovq\t%zu(%%rax), %%r10\n\tmovq\t%d(%%rsp), %%rax\n\tmovq\t(%%rax), %%rax\n"
		"\tmovq\t(%%rax), %%rdx\n\tmovq\t%d(%%rsp), %%rsi\n\tmovq\t%d(%%rsp), %%rdi\n"
		"\tcall\t*%%r10\n",
		offsetof(tsr_module, init), AT_SCALARS, AT_STATE, AT_DIMS);
	end_absent(e);
}

static void put_cpu_pack(const Entry *e, long call)
{
	if (!begin_absent(e))
		return;
	fprintf(e->out,
		"\tmovq\t%zu(%%rax), %%r10\n\tmovq\t%ld(%%rsp), %%rdi\n\tmovq\t%d(%%rsp), %%rsi\n"
		"\tmovq\t%d(%%rsp), %%rdx\n\tcall\t*%%r10\n",
		offsetof(tsr_module, pack), call, AT_DIMS, AT_STATE);
	end_absent(e);
}

static void put_init(FILE *out, const Module *m)
{
	const Program *p = m->program;
	long seed = LISTS + 8L * sizes_nargs(p->sizes), scalars = seed + 8;
	Entry e = entry_new(out, m, sizes_nargs(p->sizes) + 2);
	begin(&e, arena_printf(m->arena, "%s_init", m->prefix), true);
	store_dims(&e, p->state_dims, p->nstate_dims);
	store(&e, false, AT_STATE);
	store(&e, false, seed);
	store_address(&e, seed, scalars);
	store_address(&e, scalars, AT_SCALARS);
	finish(&e);
	fprintf(out, "\txorl\t%%esi, %%esi\n");
	enter(&e, TSR_GPU_INIT);
	put_cpu_init(&e);
	end(&e);
	e = entry_new(out, m, 2);
	begin(&e, arena_printf(m->arena, "%s__invoke_init", m->prefix), false);
	store(&e, false, AT_DIMS);
	store(&e, false, AT_STATE);
	store(&e, false, LISTS);
	store_address(&e, LISTS, LISTS + 8);
	store_address(&e, LISTS + 8, AT_SCALARS);
	fprintf(out, "\txorl\t%%esi, %%esi\n");
	enter(&e, TSR_GPU_INIT);
	put_cpu_init(&e);
	end(&e);
}

static void put_pack(FILE *out, const Module *m)
{
	const Program *p = m->program;
	long call = LISTS + 8L * sizes_nargs(p->sizes);
	Entry e = entry_new(out, m, sizes_nargs(p->sizes) + 1);
	begin(&e, m->routines[p->routines.n].function, true);
	store(&e, false, call);
	store_dims(&e, p->pack.dims, p->pack.ndims);
	store(&e, false, AT_STATE);
	finish(&e);
	fprintf(out, "\tmovq\t%ld(%%rsp), %%rsi\n", call);
	enter(&e, TSR_GPU_PACK);
	put_cpu_pack(&e, call);
	end(&e);
	e = entry_new(out, m, 1);
	begin(&e, m->routines[p->routines.n].invoke, false);
	store(&e, false, LISTS);
	store(&e, false, AT_DIMS);
	store(&e, false, AT_STATE);
	fprintf(out, "\tmovq\t%d(%%rsp), %%rsi\n", LISTS);
	enter(&e, TSR_GPU_PACK);
	put_cpu_pack(&e, LISTS);
	end(&e);
}

/* SIZE_MAX stays where it is not known. */
static void put_state_size(FILE *out, const Module *m)
{
	const Program *p = m->program;
	long size = LISTS + 8L * sizes_nargs(p->sizes);
	const char *name = arena_printf(m->arena, "%s_state_size", m->prefix);
	if (put_cpu_function(out, m, name))
		return;
	Entry e = entry_new(out, m, sizes_nargs(p->sizes) + 1);
	begin(&e, name, true);
	store_dims(&e, p->state_dims, p->nstate_dims);
	store_number(&e, -1, size);
	store_address(&e, size, AT_STATE);
	finish(&e);
	fprintf(out, "\txorl\t%%esi, %%esi\n");
	enter(&e, TSR_GPU_STATE_SIZE);
	fprintf(out, "\tmovq\t%ld(%%rsp), %%rax\n", size);
	end(&e);
}

/* ---- the way to libtsr ---- */

static const char absent_text[] =
	"libtsr.so.0 is not found, which runs code for a GPU: link the program with it, or let LD_LIBRARY_PATH name it";

/* int PREFIX__enter(int what, const tsr_call *call, const tsr_arguments *arguments) */
static void put_enter(FILE *out, const Module *m)
{
	const char *prefix = m->prefix;
	fprintf(out,
		"\t.text\n%s__enter:\n"
		"\tpushq\t%%rbx\n\tpushq\t%%r12\n\tpushq\t%%r13\n"
		"\tmovl\t%%edi, %%ebx\n\tmovq\t%%rsi, %%r12\n\tmovq\t%%rdx, %%r13\n"
		"\txorl\t%%edi, %%edi\n\tleaq\t.Lenter_name(%%rip), %%rsi\n\tcall\tdlsym@PLT\n"
		"\ttestq\t%%rax, %%rax\n\tjne\t.Lenter\n"
		"\tleaq\t.Lenter_library(%%rip), %%rdi\n\tmovl\t$2, %%esi\n\tcall\tdlopen@PLT\n"
		"\ttestq\t%%rax, %%rax\n\tje\t.Labsent\n"
		"\tmovq\t%%rax, %%rdi\n\tleaq\t.Lenter_name(%%rip), %%rsi\n\tcall\tdlsym@PLT\n"
		"\ttestq\t%%rax, %%rax\n\tje\t.Labsent\n"
		".Lenter:\n\tleaq\t%s__gpu(%%rip), %%rdi\n\tmovl\t%%ebx, %%esi\n\tmovq\t%%r12, %%rdx\n"
		"\tmovq\t%%r13, %%rcx\n\tpopq\t%%r13\n\tpopq\t%%r12\n\tpopq\t%%rbx\n\tjmp\t*%%rax\n"
		".Labsent:\n\ttestq\t%%r12, %%r12\n\tje\t.Lsilent\n\tmovq\t%zu(%%r12), %%rax\n"
		"\ttestq\t%%rax, %%rax\n\tje\t.Lsilent\n\tleaq\t.Labsent_text(%%rip), %%rcx\n"
		"\tmovq\t%%rcx, (%%rax)\n"
		".Lsilent:\n\tmovl\t$%d, %%eax\n\tpopq\t%%r13\n\tpopq\t%%r12\n\tpopq\t%%rbx\n\tret\n",
		prefix, prefix, offsetof(tsr_call, message), TSR_NO_DEVICE);
	fprintf(out,
		"\t.section\t.rodata\n.Lenter_name:\n\t.string\t\"tsr_enter_gpu\"\n"
		".Lenter_library:\n\t.string\t\"libtsr.so.0\"\n.Labsent_text:\n\t.string\t\"%s\"\n",
		absent_text);
}

static void put_text(FILE *out, const char *label, const char *ptx)
{
	fprintf(out, "\t.section\t.rodata\n%s:\n\t.incbin\t\"%s\"\n\t.byte\t0\n", label, ptx);
}

/* A tsr_gpu_code, and the name by which a loader finds it. */
static void put_code(FILE *out, const Module *m, const char *ptx)
{
	const GpuParts *parts = m->emit->options->parts;
	size_t n = parts ? parts->nptx : 0;
	put_text(out, ".Lptx", ptx);
	for (size_t i = 0; i < n; i++)
		put_text(out, arena_printf(m->arena, ".Lptx%zu", i), parts->ptx[i]);
	fprintf(out, "\t.section\t.data.rel.ro,\"aw\"\n\t.balign\t8\n.Lmore:\n");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "\t.quad\t.Lptx%zu\n", i);
	fprintf(out,
		"\t.quad\t0\n\t.weak\ttsr_gpu_code_table\n"
		"\t.type\ttsr_gpu_code_table, @object\n%s__gpu:\ntsr_gpu_code_table:\n"
		"\t.long\t%d\n\t.long\t%zu\n\t.quad\t%s_module\n\t.quad\t.Lptx\n\t.quad\t.Lmore\n"
		"\t.quad\t%s%s\n\t.size\ttsr_gpu_code_table, .-tsr_gpu_code_table\n",
		m->prefix, TSR_ABI, sizeof(tsr_gpu_code), m->prefix,
		cpu_parts(m) ? parts->cpu_prefix : "0", cpu_parts(m) ? "_module" : "");
}

void gpu_entries_asm(FILE *out, const Module *m, const char *ptx)
{
	for (uint32_t i = 0; i < m->program->routines.n; i++) {
		put_routine(out, m, i, false);
		put_routine(out, m, i, true);
		put_invoke(out, m, i);
		put_workspace(out, m, i);
		put_device_workspace(out, m, i);
	}
	put_wait(out, m);
	put_init(out, m);
	put_pack(out, m);
	put_state_size(out, m);
	put_enter(out, m);
	put_code(out, m, ptx);
}
