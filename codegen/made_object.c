/* An object between two outputs of one session. */
#include "codegen/made_object.h"

#include <sys/stat.h>

#include "base/held.h"

enum { OBJECT_MOST = 64 << 20 };

static bool load(Arena *arena, FILE *in, MadeObject *to)
{
	struct stat st;
	if (fstat(fileno(in), &st) != 0 || st.st_size <= 0 || st.st_size > OBJECT_MOST)
		return false;
	to->n = (size_t)st.st_size;
	to->bytes = arena_alloc(arena, to->n);
	return fread(to->bytes, 1, to->n, in) == to->n;
}

void made_object_load(const Module *module, const char *path, const EmitReport *report)
{
	const Emit *emit = module->emit;
	FILE *in = emit->again ? held_file(fopen(path, "rb")) : NULL;
	if (!in)
		return;
	module->object->report = *report;
	if (!load(emit->arena, in, module->object))
		*module->object = (MadeObject){0};
	held_close(in);
}

bool made_object_write(const Module *module, const char *path, EmitReport *report)
{
	const MadeObject *object = module->object;
	FILE *out = object->bytes ? held_file(fopen(path, "wb")) : NULL;
	if (!out)
		return false;
	bool good = fwrite(object->bytes, 1, object->n, out) == object->n;
	good = held_close(out) == 0 && good;
	report->kernels = object->report.kernels;
	report->functions = object->report.functions;
	report->units = object->report.units;
	report->cached = object->report.cached;
	report->compile_ms = object->report.compile_ms;
	report->assemble_ms = object->report.assemble_ms;
	return good;
}
