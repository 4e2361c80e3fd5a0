/* tsr map: the skeleton of a map from a file's arrays to a module's parameters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli.h"
#include "runtime/cli_guess.h"
#include "runtime/session.h"

enum { MOST_DIMS = 1000 };

typedef struct MapRequest {
	const char *module, *file;
	char *dims[MOST_DIMS]; /* NAME=NUMBER */
	int ndims;
} MapRequest;

static error_t parse(int key, char *arg, struct argp_state *state)
{
	MapRequest *request = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (!request->module)
			request->module = arg;
		else if (!request->file)
			request->file = arg;
		else if (!strchr(arg, '=') || request->ndims == MOST_DIMS)
			argp_error(state, "a dim is NAME=NUMBER, not '%s'", arg);
		else
			request->dims[request->ndims++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!request->file)
			argp_error(state, "%s is missing", request->module ? "FILE" : "MODULE");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&cli_help_argp, 0, NULL, 0}, {0}};
const struct argp cmd_map_argp = {
	.parser = parse,
	.children = children,
	.args_doc = "MODULE FILE [DIM=NUMBER...]",
	.doc = "Print a map for --params-map, guessed: which array of FILE, a .safetensors, .npz or .gguf, is which "
	       "parameter.\vNames that are alike and sizes that fit are paired; a comment marks axes that might be "
	       "meant otherwise, parameters that nothing fits, and arrays that are not taken. DIM is one that sizes "
	       "of parameters need."};

/* "n=3": false with a message. */
static bool set_dim(tsr_session *s, const char *text)
{
	char name[256], *end;
	tsr_error error;
	size_t n = strcspn(text, "=");
	errno = 0;
	long long value = strtoll(text + n + 1, &end, 10);
	if (n >= sizeof name || errno || end == text + n + 1 || *end) {
		report("'%s': a dim is NAME=NUMBER", text);
		return false;
	}
	memcpy(name, text, n);
	name[n] = '\0';
	if (tsr_set_dim(s, name, value, &error) == TSR_OK)
		return true;
	report_error(NULL, &error);
	return false;
}

/* The dims are set; those that are not make sizes -1. */
static void describe_params(const tsr_session *s, Named *named)
{
	for (int32_t i = 0; i < s->module->nparams; i++) {
		const tsr_tensor *t = &s->module->params[i];
		named[i] = (Named){.name = t->name, .dtype = t->dtype, .rank = tensor_rank(t)};
		for (int axis = 0; axis < named[i].rank && axis < ARRAY_RANK_MAX; axis++)
			if (tsr_size_value(&t->sizes[axis], s->module, s->values,
					   &named[i].extents[axis]) != TSR_OK)
				named[i].extents[axis] = -1;
	}
}

/* Arrays that the language has no type for are left out; *n counts those that are there. */
static void describe_arrays(ArrayFile *file, Named *named, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < array_file_count(file); i++) {
		Array seen;
		ArrayError why;
		if (!array_file_measure(file, i, DTYPE_NONE, &seen, &why))
			continue;
		Named *to = &named[(*n)++];
		*to = (Named){array_file_name(file, i), dtype_name(seen.dtype), seen.rank, {0}};
		memcpy(to->extents, seen.extents, (size_t)seen.rank * sizeof *seen.extents);
	}
}

static int guess(const tsr_session *s, ArrayFile *file, const char *path)
{
	size_t narrays = 0, nopen = 0, nparams = (size_t)s->module->nparams;
	Named *params = calloc(nparams + 1, sizeof *params);
	Named *arrays = calloc(array_file_count(file) + 1, sizeof *arrays);
	bool good = params && arrays;
	printf("# From %s: guessed from names and sizes, to be looked through.\n",
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (good) {
		describe_params(s, params);
		describe_arrays(file, arrays, &narrays);
		good = map_guess(stdout, params, nparams, arrays, narrays, &nopen);
	}
	free(params);
	free(arrays);
	if (!good)
		return report("out of memory, or too many names");
	if (nopen)
		return report("%zu of %zu parameters have no array in %s", nopen, nparams, path);
	return STATUS_OK;
}

static int map(const MapRequest *request, tsr_session *s)
{
	ArrayError why;
	tsr_error error;
	for (int i = 0; i < request->ndims; i++)
		if (!set_dim(s, request->dims[i]))
			return STATUS_ERROR;
	if (tsr_resolve(s, &error) != TSR_OK)
		return report_error(NULL, &error);
	ArrayFile *file = array_file_open(request->file, &why);
	if (!file)
		return report("%s: %s", request->file, why.text);
	int status = guess(s, file, request->file);
	array_file_close(file);
	return status;
}

int cmd_map(int argc, char **argv)
{
	MapRequest request = {0};
	tsr_error error;
	cli_check_options(&cmd_map_argp, argc, argv);
	argp_parse(&cmd_map_argp, argc, argv, ARGP_NO_HELP, NULL, &request);
	tsr_model *model = tsr_open(request.module, &error);
	if (!model)
		return report_error(NULL, &error);
	const tsr_module *table = tsr_table(model);
	tsr_session *s = NULL;
	int status = STATUS_OK;
	if (table->nparams == 0)
		status = report("%s has no parameters", request.module);
	else if (!(s = tsr_session_new(model, table->routines[0].name, &error)))
		status = report_error(NULL, &error);
	else
		status = map(&request, s);
	tsr_session_free(s);
	tsr_close(model);
	return status;
}
