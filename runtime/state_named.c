/* A state as a .safetensors: each parameter under its dotted name, what optimisers and layers keep among them. It is read
 * as a file of parameters is (params.c), but must have all of them: what is resumed goes on with the same bits, and of a
 * state that lacks something nothing is taken. Arrays that the module does not have are left: they may be another module's of
 * the same parameters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "runtime/session.h"

bool state_is_named(const char *path)
{
	static const char suffix[] = ".safetensors";
	size_t n = strlen(path);
	return n >= sizeof suffix && strcmp(path + n - (sizeof suffix - 1), suffix) == 0;
}

static bool list(const tsr_session *s, NamedArray *arrays)
{
	for (int32_t i = 0; i < s->module->nparams; i++) {
		const tsr_tensor *t = s->params[i].tensor;
		tsr_array place;
		if (param_place(s, &s->params[i], &place, NULL) != TSR_OK)
			return false;
		Array *array = &arrays[i].array;
		arrays[i].name = t->name;
		*array = (Array){.dtype = dtype_from_name(t->dtype, strlen(t->dtype)),
				 .rank = place.rank,
				 .bytes = place.bytes,
				 .nelements = 1,
				 .data = place.data};
		memcpy(array->extents, place.extents, (size_t)place.rank * sizeof *place.extents);
		for (int k = 0; k < place.rank; k++)
			array->nelements *= (size_t)place.extents[k];
	}
	return true;
}

bool state_write_named(const tsr_session *s, const NamedArray *more, FILE *out)
{
	ArrayError why;
	size_t n = (size_t)s->module->nparams;
	NamedArray *arrays = calloc(n + 1, sizeof *arrays);
	errno = arrays ? EINVAL : ENOMEM;
	bool good = arrays && list(s, arrays);
	if (good && more)
		arrays[n] = *more;
	good = good && safetensors_print(out, arrays, n + (more != NULL), s->module->name, &why);
	int error = errno;
	free(arrays);
	bool closed = file_close(out);
	if (!good)
		errno = error;
	return good && closed;
}

bool state_write(const tsr_session *s, const char *path, FILE *out)
{
	return state_is_named(path) ? state_write_named(s, NULL, out) : image_write(s, out);
}

/* " 'a.w', 'a.b' and 3 more" of n names. */
static void add_names(char *text, size_t room, const char *const *names, size_t n)
{
	enum { SHOWN = 3 };
	size_t used = strlen(text);
	for (size_t i = 0; i < n && i < SHOWN && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s'%.80s'", i ? ", " : " ",
					 names[i]);
	if (n > SHOWN && used < room)
		snprintf(text + used, room - used, " and %zu more", n - SHOWN);
}

/* What the module has and the file lacks, and what the file has beside it. */
static int check_whole(const tsr_session *s, const ArrayFile *file, const char *path,
		       tsr_error *error)
{
	size_t nlacking = 0, nothers = 0, nparams = (size_t)s->module->nparams;
	char lacking[400] = "", others[400] = "";
	const char **names = calloc(nparams + array_file_count(file) + 1, sizeof *names);
	if (!names)
		return session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	for (size_t i = 0; i < nparams; i++)
		if (array_file_find(file, s->params[i].tensor->name) < 0)
			names[nlacking++] = s->params[i].tensor->name;
	add_names(lacking, sizeof lacking, names, nlacking);
	for (size_t i = 0; i < array_file_count(file); i++) {
		bool ours = false;
		for (size_t k = 0; k < nparams && !ours; k++)
			ours = strcmp(array_file_name(file, i), s->params[k].tensor->name) == 0;
		if (!ours)
			names[nothers++] = array_file_name(file, i);
	}
	add_names(others, sizeof others, names, nothers);
	free(names);
	return nlacking == 0
		       ? TSR_OK
		       : session_fail(error, TSR_FAIL_NAME,
				      "%s: it is no state of module '%.80s': it lacks%s%s%s", path,
				      s->module->name, lacking, nothers ? ", and has" : "", others);
}

int state_load_named(tsr_session *s, const char *path, tsr_error *error)
{
	ArrayError why;
	ArrayFile *file = array_file_open(path, &why);
	if (!file)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why.text);
	int code = check_whole(s, file, path, error);
	if (code == TSR_OK)
		code = params_load(s, file, path, NULL, error);
	array_file_close(file);
	return code;
}
