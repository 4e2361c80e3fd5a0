/* Each is a compilation of its own, of the same program with the same options, whose output the back end of the first
 * takes in. Warnings were told of the first. */
#include "driver/variants.h"

#include <errno.h>
#include <string.h>

#include "base/temporary.h"
#include "driver/output.h"
#include "target/gpu.h"

/* NULL after messages. */
static Session *compile(const Options *o, const SessionOptions *with, const char *kind,
			const char *path)
{
	Session *s = session_open(with);
	if (!s)
		return NULL;
	if (session_read(s, o->input) == SESSION_DONE &&
	    session_write(s, kind, path, NULL) == SESSION_DONE &&
	    session_commit(s) == SESSION_DONE)
		return s;
	diags_print(session_diags(s), stderr);
	if (session_failure(s)->kind)
		failure_print(stderr, session_failure(s));
	session_close(s);
	return NULL;
}

static SessionOptions options_of(const Options *o)
{
	SessionOptions with = o->session;
	with.code.parts = NULL;
	with.repairs = false;
	return with;
}

static bool make_gpu(const Options *o, Variants *v, const GpuTarget *gpu)
{
	SessionOptions with = options_of(o);
	const char *path = arena_printf(o->arena, "%s/%s.ptx", v->dir, gpu->name);
	with.gpu = gpu;
	Session *s = compile(o, &with, "ptx", path);
	session_close(s);
	if (s)
		PUSH(o->arena, v->ptx, path);
	return s != NULL;
}

/* A state of one is a state of the other: it has no copies of parameters either. */
static bool make_cpu(const Options *o, Variants *v)
{
	SessionOptions with = options_of(o);
	const char *prefix = with.prefix ? with.prefix : path_identifier(o->arena, o->input);
	with.gpu = NULL;
	with.no_prepack = true;
	with.prefix = v->parts.cpu_prefix = arena_printf(o->arena, "%s__cpu", prefix);
	v->parts.cpu_object = arena_printf(o->arena, "%s/cpu.o", v->dir);
	v->cpu = compile(o, &with, "obj", v->parts.cpu_object);
	if (v->cpu)
		v->parts.cpu = session_program(v->cpu);
	return v->cpu != NULL;
}

bool variants_make(const Options *o, Variants *v)
{
	bool good = true;
	if (!o->gpus.n && !o->with_cpu)
		return true;
	v->dir = temporary_dir();
	if (!v->dir) {
		fprintf(stderr, "tsrc: error: cannot make a temporary directory: %s\n",
			strerror(errno));
		return false;
	}
	for (size_t i = 0; i < o->gpus.n && good; i++)
		good = make_gpu(o, v, o->gpus.at[i]);
	if (good && o->with_cpu)
		good = make_cpu(o, v);
	v->parts.ptx = v->ptx.at;
	v->parts.nptx = v->ptx.n;
	return good;
}

void variants_end(Variants *v)
{
	session_close(v->cpu);
	if (v->dir)
		temporary_remove(v->dir);
}
