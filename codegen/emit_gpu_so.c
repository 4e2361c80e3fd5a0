/* A shared object of code for a GPU: PTX with its plan, the table, and entry points that hand over to libtsr.
 *
 * It depends on libc alone: libtsr is looked up when an entry point is called, and the driver by libtsr.
 */
#include <errno.h>
#include <string.h>

#include "base/digest.h"
#include "base/held.h"
#include "base/temporary.h"
#include "codegen/gpu_entry.h"
#include "codegen/table.h"
#include "codegen/tools.h"

/* The module as the host sees it: temporaries are the device's. */
static const Module *host_module(const Module *m)
{
	Program *program = ARENA_NEW(m->arena, Program);
	Module *host = ARENA_NEW(m->arena, Module);
	size_t n = m->program->routines.n;
	*program = *m->program;
	program->routines.at = ARENA_ARRAY(m->arena, ProgramRoutine, n + 1);
	memcpy(program->routines.at, m->program->routines.at, n * sizeof *program->routines.at);
	for (size_t i = 0; i < n; i++)
		program->routines.at[i].workspace = size_const(program->sizes, 0);
	program->state = module_host_state(m);
	*host = *m;
	host->program = program;
	return host;
}

/* With code for a CPU, what that has: its workspaces, and the CPU that it needs. NULL after a diagnostic. */
static const Module *table_module(const Module *m)
{
	const GpuParts *parts = m->emit->options->parts;
	Emit *emit = ARENA_NEW(m->arena, Emit);
	if (!parts || !parts->cpu)
		return host_module(m);
	*emit = *m->emit;
	emit->program = parts->cpu;
	emit->shared = NULL;
	return module_new(emit);
}

static bool write_assembly(const Module *m, const char *ptx, const char *path)
{
	const Module *host = table_module(m);
	FILE *out = host ? held_file(fopen(path, "w")) : NULL;
	if (!out)
		return false;
	gpu_entries_asm(out, m, ptx);
	table_asm(out, table_new(host, true));
	fprintf(out, "\t.section\t.note.GNU-stack,\"\",@progbits\n");
	return held_close(out) == 0;
}

/* The loader of shared objects follows what it finds: one that was changed might end the process. */
static bool put_digest(const Emit *emit)
{
	if (digest_append(emit->output))
		return true;
	diag(emit->diags, E0501, SPAN_NONE, "cannot write %s: %s", emit->output, strerror(errno));
	return false;
}

static bool emit_in(const Emit *emit, const char *dir)
{
	const GpuParts *parts = emit->options->parts;
	const Tools tools = {emit, dir, parts ? parts->cpu_object : NULL};
	Emit ptx = *emit;
	ptx.output = arena_printf(emit->arena, "%s/module.ptx", dir);
	const Module *m = ptx_emit(&ptx) ? module_new(emit) : NULL;
	const char *text = arena_printf(emit->arena, "%s/module.s", dir),
		   *object = arena_printf(emit->arena, "%s/module.o", dir);
	if (!m)
		return false;
	if (!write_assembly(m, ptx.output, text)) {
		diag(emit->diags, E0501, SPAN_NONE, "cannot write the assembly: %s",
		     strerror(errno));
		return false;
	}
	return tools_assemble(&tools, text, object) && tools_link(&tools, object) &&
	       put_digest(emit);
}

bool gpu_so_emit(const Emit *emit)
{
	const char *dir = temporary_dir();
	if (!dir) {
		diag(emit->diags, E0501, SPAN_NONE, "cannot make a temporary directory: %s",
		     strerror(errno));
		return false;
	}
	bool good = emit_in(emit, dir);
	temporary_remove(dir);
	return good;
}
