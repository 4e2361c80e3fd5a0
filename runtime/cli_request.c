/* From a command line to a prepared session.
 *
 * Order matters: dims and files of arrays first, since they determine sizes; then generated values,
 * which take the sizes they find; then the state.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli.h"
#include "runtime/session.h"

enum { KEY_PARAMS = 256, KEY_MAP, KEY_STATE, KEY_SEED, KEY_THREADS, KEY_NO_GRAPH };
enum { THREADS_MAX = 1024 };

static const struct argp_option options[] = {
	{"params", KEY_PARAMS, "FILE", 0,
	 "parameters from a .safetensors, .npz or .gguf, by dotted name", 0},
	{"params-map", KEY_MAP, "FILE", 0, "lines `ours = theirs [axes]` for --params", 0},
	{"state", KEY_STATE, "FILE", 0, "parameters from a file that --save-state wrote", 0},
	{"seed", KEY_SEED, "N", 0, "of the initialisers (default 0)", 0},
	{"threads", KEY_THREADS, "N", 0,
	 "threads to run on (default: one for each CPU that it may use)", 0},
	{"no-graph", KEY_NO_GRAPH, NULL, 0,
	 "of code for a GPU: launches one by one, not as a graph", 0},
	{0}};

static void add_value(Request *request, char *word, struct argp_state *state)
{
	Assignment *value = assignment_add(&request->values, &request->nvalues, word);
	if (!value)
		argp_failure(state, STATUS_ERROR, 0, "out of memory");
	if (!value->name)
		argp_error(state, "expected NAME=VALUE instead of '%s'", word);
}

static void add_word(Request *request, char *word, struct argp_state *state)
{
	if (!request->module)
		request->module = word;
	else if (strchr(word, '='))
		add_value(request, word, state);
	else if (!request->routine && request->nvalues == 0)
		request->routine = word;
	else
		argp_error(state, "expected NAME=VALUE instead of '%s'", word);
}

uint64_t number_option(const char *name, const char *text, struct argp_state *state)
{
	char *end;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno != 0)
		argp_error(state, "--%s takes a number, not '%s'", name, text);
	return value;
}

static int32_t thread_option(const char *text, struct argp_state *state)
{
	uint64_t threads = number_option("threads", text, state);
	if (threads < 1 || threads > THREADS_MAX)
		argp_error(state, "--threads takes 1 to %d, not %s", THREADS_MAX, text);
	return (int32_t)threads;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	Request *request = state->input;
	switch (key) {
	case KEY_PARAMS: request->params = arg; return 0;
	case KEY_NO_GRAPH: request->no_graph = true; return 0;
	case KEY_MAP: request->params_map = arg; return 0;
	case KEY_STATE: request->state = arg; return 0;
	case KEY_SEED: request->seed = number_option("seed", arg, state); return 0;
	case KEY_THREADS:
		request->threads = thread_option(arg, state);
		return 0;
	case ARGP_KEY_ARG: add_word(request, arg, state); return 0;
	case ARGP_KEY_END:
		if (!request->module)
			argp_error(state, "MODULE is missing");
		if (request->params_map && !request->params)
			argp_error(state, "--params-map needs --params");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp request_argp = {.options = options, .parser = parse};

void request_free(Request *request)
{
	for (size_t i = 0; i < request->nvalues; i++) {
		free(request->values[i].path);
		free(request->values[i].key);
		free(request->values[i].bytes);
		array_file_close(request->values[i].file);
		array_free(&request->values[i].array);
	}
	free(request->values);
	free(request->outputs);
	tsr_pool_free(request->pool);
}

static const tsr_tensor *find_tensor(const tsr_tensor *tensors, int32_t n, const char *name)
{
	for (int32_t i = 0; i < n; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return &tensors[i];
	return NULL;
}

static void find_target(Assignment *a, const tsr_module *m, const tsr_routine *r)
{
	a->target = TARGET_NONE;
	if ((a->tensor = find_tensor(r->inputs, r->ninputs, a->name)) != NULL)
		a->target = TARGET_INPUT;
	else if ((a->tensor = find_tensor(m->params, m->nparams, a->name)) != NULL)
		a->target = TARGET_PARAM;
	for (int32_t i = 0; i < r->nscalars && !a->target; i++)
		if (strcmp(r->scalars[i].name, a->name) == 0)
			a->target = TARGET_SCALAR;
	for (int32_t i = 0; i < m->ndims && !a->target; i++)
		if (strcmp(m->dims[i].name, a->name) == 0)
			a->target = TARGET_DIM;
}

static int unknown_name(const tsr_module *m, const tsr_routine *r, const char *name)
{
	report("routine %s takes nothing named '%s'", r->name, name);
	fputs("  it takes:", stderr);
	for (int32_t i = 0; i < r->ninputs; i++)
		fprintf(stderr, " %s", r->inputs[i].name);
	for (int32_t i = 0; i < r->nscalars; i++)
		fprintf(stderr, " %s", r->scalars[i].name);
	for (int32_t i = 0; i < r->ndims; i++)
		fprintf(stderr, " %s", m->dims[r->dims[i]].name);
	for (int64_t i = 0; i < r->nparams; i++)
		fprintf(stderr, " %s", m->params[r->params[i]].name);
	fputc('\n', stderr);
	return STATUS_ERROR;
}

static tsr_array view(const Array *array)
{
	tsr_array out = {.dtype = dtype_name(array->dtype),
			 .rank = array->rank,
			 .bytes = array->bytes,
			 .data = array->data};
	memcpy(out.extents, array->extents, (size_t)array->rank * sizeof *array->extents);
	return out;
}

static int set_tensor(tsr_session *s, Assignment *a)
{
	tsr_error error;
	tsr_array array = view(&a->array);
	int code = a->target == TARGET_INPUT ? tsr_set_input(s, a->name, &array, &error)
					     : tsr_set_param(s, a->name, &array, &error);
	return code == TSR_OK ? STATUS_OK
			      : report_error(a->kind == VALUE_FILE ? a->text : NULL, &error);
}

static int unreadable(const Assignment *a, const ArrayError *why)
{
	return report("%s: %s '%s': %s (%s wants %s)", a->text,
		      a->target == TARGET_INPUT ? "input" : "parameter", a->name, why->text,
		      a->name, a->tensor->type);
}

static Dtype wanted_dtype(const Assignment *a)
{
	return dtype_from_name(a->tensor->dtype, strlen(a->tensor->dtype));
}

/* Of an array that the file has beside others, and that was not asked for by its key: which one it is. */
static int other_type(const Assignment *a, const tsr_error *error)
{
	char where[256];
	const char *name = array_file_name(a->file, a->index);
	if (a->key || array_file_count(a->file) < 2 || !*name)
		return report_error(a->text, error);
	snprintf(where, sizeof where, "%.120s:%.120s", a->text, name);
	return report_error(where, error);
}

/* Type and extents of all files are looked at before the elements of any are read. */
static int see_file(tsr_session *s, Assignment *a)
{
	ArrayError why;
	tsr_error error;
	Array array;
	a->file = assignment_open(a, &why);
	ptrdiff_t index = a->file ? assignment_pick(a, a->file, &why) : -1;
	if (index < 0 || !array_file_measure(a->file, (size_t)index, wanted_dtype(a), &array, &why))
		return unreadable(a, &why);
	a->index = (size_t)index;
	tsr_array seen = view(&array);
	return session_see_array(s, a->name, &seen, &error) == TSR_OK ? STATUS_OK
								      : other_type(a, &error);
}

static int read_file(tsr_session *s, Assignment *a)
{
	ArrayError why;
	bool read = array_file_read(a->file, a->index, wanted_dtype(a), &a->array, &why);
	array_file_close(a->file);
	a->file = NULL;
	return read ? set_tensor(s, a) : unreadable(a, &why);
}

static int set_number(tsr_session *s, Assignment *a)
{
	tsr_error error;
	bool dim = a->target == TARGET_DIM;
	if (a->kind != VALUE_NUMBER)
		return report("%s '%s': expected a number, came '%s'", dim ? "dim" : "scalar",
			      a->name, a->text);
	if (dim && a->number > 0x1p62)
		return report("dim '%s': expected at most 2^62, came '%s'", a->name, a->text);
	if (dim && (a->number != floor(a->number) || a->number < 0))
		return report("dim '%s': expected a natural number, came '%s'", a->name, a->text);
	int code = dim ? tsr_set_dim(s, a->name, (int64_t)a->number, &error)
		       : tsr_set_scalar(s, a->name, a->number, &error);
	return code == TSR_OK ? STATUS_OK : report_error(NULL, &error);
}

static int generate(tsr_session *s, Assignment *a)
{
	tsr_error error;
	ArrayError why;
	tsr_array want;
	if (tsr_expected(s, a->name, &want, &error) != TSR_OK)
		return report_error(NULL, &error);
	Dtype dtype = dtype_from_name(want.dtype, strlen(want.dtype));
	if (!array_new(&a->array, dtype, want.rank, want.extents, &why))
		return report("%s=%s: %s", a->name, a->text, why.text);
	return fill_array(&a->array, a, a->name) ? set_tensor(s, a) : STATUS_ERROR;
}

/* What each assignment says and is for, before any file is read. */
static int look_at(const Request *request, size_t i, const tsr_module *m, const tsr_routine *r)
{
	Assignment *a = &request->values[i];
	if (!assignment_value(a))
		return STATUS_ERROR;
	for (size_t k = 0; k < i; k++)
		if (strcmp(request->values[k].name, a->name) == 0)
			return report("'%s' is given twice: %s and %s", a->name,
				      request->values[k].text, a->text);
	find_target(a, m, r);
	return a->target == TARGET_NONE ? unknown_name(m, r, a->name) : STATUS_OK;
}

static bool is_tensor(const Assignment *a)
{
	return a->target == TARGET_INPUT || a->target == TARGET_PARAM;
}

static bool is_number(const Assignment *a) { return !is_tensor(a); }
static bool has_extents(const Assignment *a)
{
	return a->kind == VALUE_FILE || a->kind == VALUE_LIST;
}
static bool is_file(const Assignment *a) { return is_tensor(a) && has_extents(a); }
static bool is_there(const Assignment *a) { return is_tensor(a) && a->kind == VALUE_ARRAY; }
static bool is_generated(const Assignment *a)
{
	return is_tensor(a) && !has_extents(a) && a->kind != VALUE_ARRAY;
}

/* Every input that is not named gets random numbers, or zeros where it holds integers. */
static int add_missing(Request *request, const tsr_routine *r)
{
	for (int32_t i = 0; i < r->ninputs; i++) {
		bool given = false;
		for (size_t k = 0; k < request->nvalues; k++)
			given |= strcmp(request->values[k].name, r->inputs[i].name) == 0;
		if (given)
			continue;
		Assignment *grown =
			realloc(request->values, (request->nvalues + 1) * sizeof *grown);
		if (!grown)
			return report("out of memory");
		request->values = grown;
		const char *dtype = r->inputs[i].dtype;
		bool real = dtype_is_float(dtype_from_name(dtype, strlen(dtype)));
		grown[request->nvalues++] = (Assignment){.name = r->inputs[i].name,
							 .text = real ? "random:0" : "zeros"};
	}
	return STATUS_OK;
}

/* Parameters that the file of parameters lacks keep other values: worth a word. */
static void warn_lacking(const Request *request, const tsr_session *s, const tsr_module *m)
{
	const tsr_routine *r = tsr_session_routine(s);
	for (int64_t i = 0; i < r->nparams; i++) {
		const char *name = m->params[r->params[i]].name;
		if (!tsr_has_param(s, name))
			fprintf(stderr, "tsr: warning: %s has no '%s': it is taken from %s\n",
				request->params, name,
				request->state ? request->state : "the initialisers");
	}
}

static int load_parameters(const Request *request, tsr_session *s)
{
	tsr_error error;
	int code = request->state ? tsr_load_state(s, request->state, &error) : TSR_OK;
	if (code == TSR_OK && request->params)
		code = tsr_load_params(s, request->params, request->params_map, &error);
	if (code == TSR_OK)
		code = tsr_resolve(s, &error);
	return code == TSR_OK ? STATUS_OK : report_error(NULL, &error);
}

static int set_all(const Request *request, tsr_session *s, bool (*which)(const Assignment *a),
		   int (*set)(tsr_session *s, Assignment *a))
{
	int status = STATUS_OK;
	for (size_t i = 0; i < request->nvalues && status == STATUS_OK; i++)
		if (which(&request->values[i]))
			status = set(s, &request->values[i]);
	return status;
}

int request_look(const Request *request, const tsr_module *m, const tsr_routine *r)
{
	int status = STATUS_OK;
	for (size_t i = 0; i < request->nvalues && status == STATUS_OK; i++)
		status = look_at(request, i, m, r);
	return status;
}

int request_fill(Request *request, tsr_session *s, const tsr_module *m)
{
	tsr_error error;
	int status = set_all(request, s, is_number, set_number);
	if (status == STATUS_OK)
		status = set_all(request, s, is_there, set_tensor);
	if (status == STATUS_OK)
		status = set_all(request, s, is_file, see_file);
	if (status == STATUS_OK)
		status = load_parameters(request, s);
	if (status == STATUS_OK)
		status = set_all(request, s, is_file, read_file);
	if (status == STATUS_OK)
		status = set_all(request, s, is_generated, generate);
	if (status != STATUS_OK)
		return status;
	if (request->params)
		warn_lacking(request, s, m);
	tsr_set_seed(s, request->seed);
	return tsr_prepare(s, &error) == TSR_OK ? STATUS_OK : report_error(NULL, &error);
}

static int no_routine(const tsr_module *m, const char *name)
{
	report("the module has no routine '%s'", name);
	fputs("  it has:", stderr);
	for (int32_t i = 0; i < m->nroutines; i++)
		fprintf(stderr, " %s", m->routines[i].name);
	fputc('\n', stderr);
	return STATUS_ERROR;
}

int request_open(Request *request, const char *otherwise, tsr_model **model, tsr_session **session)
{
	tsr_error error;
	const char *routine = request->routine ? request->routine : otherwise;
	*session = NULL;
	*model = tsr_open(request->module, &error);
	if (!*model)
		return report_error(NULL, &error);
	const tsr_module *m = tsr_table(*model);
	if (!tsr_find_routine(m, routine))
		return no_routine(m, routine);
	*session = tsr_session_new(*model, routine, &error);
	request->pool = *session ? tsr_pool_new(request->threads, &error) : NULL;
	if (!request->pool)
		return report_error(NULL, &error);
	tsr_set_pool(*session, request->pool);
	tsr_set_graph(*session, !request->no_graph);
	return STATUS_OK;
}

int request_prepare(Request *request, bool fill, tsr_model **model, tsr_session **session)
{
	int status = request_open(request, "forward", model, session);
	if (status != STATUS_OK)
		return status;
	const tsr_routine *r = tsr_session_routine(*session);
	status = fill ? add_missing(request, r) : STATUS_OK;
	if (status == STATUS_OK)
		status = request_look(request, tsr_table(*model), r);
	return status == STATUS_OK ? request_fill(request, *session, tsr_table(*model)) : status;
}
