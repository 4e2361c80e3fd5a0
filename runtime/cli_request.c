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

enum { KEY_PARAMS = 256, KEY_MAP, KEY_STATE, KEY_SEED, KEY_THREADS };
enum { THREADS_MAX = 1024 };

static const struct argp_option options[] = {
	{"params", KEY_PARAMS, "FILE", 0, "parameters from a .safetensors or .npz, by dotted name",
	 0},
	{"params-map", KEY_MAP, "FILE", 0, "lines `ours = theirs [axes]` for --params", 0},
	{"state", KEY_STATE, "FILE", 0, "parameters from a file that --save-state wrote", 0},
	{"seed", KEY_SEED, "N", 0, "of the initialisers (default 0)", 0},
	{"threads", KEY_THREADS, "N", 0,
	 "threads to run on (default: one for each CPU that it may use)", 0},
	{0}};

static void add_value(Request *request, char *word, struct argp_state *state)
{
	Assignment *grown = realloc(request->values, (request->nvalues + 1) * sizeof *grown);
	if (!grown)
		argp_failure(state, STATUS_ERROR, 0, "out of memory");
	request->values = grown;
	if (!assignment_split(&grown[request->nvalues], word))
		argp_error(state, "expected NAME=VALUE instead of '%s'", word);
	request->nvalues++;
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

static uint64_t number_option(const char *name, const char *text, struct argp_state *state)
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
		array_free(&request->values[i].array);
	}
	free(request->values);
	free(request->outputs);
	tsr_pool_free(request->pool);
}

typedef enum Target { TARGET_NONE, TARGET_INPUT, TARGET_PARAM, TARGET_DIM, TARGET_SCALAR } Target;

static const tsr_tensor *find_tensor(const tsr_tensor *tensors, int32_t n, const char *name)
{
	for (int32_t i = 0; i < n; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return &tensors[i];
	return NULL;
}

static Target target_of(const tsr_module *m, const tsr_routine *r, const char *name,
			const tsr_tensor **tensor)
{
	if ((*tensor = find_tensor(r->inputs, r->ninputs, name)) != NULL)
		return TARGET_INPUT;
	if ((*tensor = find_tensor(m->params, m->nparams, name)) != NULL)
		return TARGET_PARAM;
	for (int32_t i = 0; i < r->nscalars; i++)
		if (strcmp(r->scalars[i].name, name) == 0)
			return TARGET_SCALAR;
	for (int32_t i = 0; i < m->ndims; i++)
		if (strcmp(m->dims[i].name, name) == 0)
			return TARGET_DIM;
	return TARGET_NONE;
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

static int set_tensor(tsr_session *s, const Assignment *a, bool input)
{
	tsr_error error;
	tsr_array array = view(&a->array);
	int code = input ? tsr_set_input(s, a->name, &array, &error)
			 : tsr_set_param(s, a->name, &array, &error);
	return code == TSR_OK ? STATUS_OK
			      : report_error(a->kind == VALUE_FILE ? a->text : NULL, &error);
}

static int read_file(tsr_session *s, Assignment *a, const tsr_tensor *t, bool input)
{
	ArrayError why;
	if (!assignment_read(a, dtype_from_name(t->dtype, strlen(t->dtype)), &why))
		return report("%s: %s '%s': %s (%s wants %s)", a->text,
			      input ? "input" : "parameter", a->name, why.text, a->name, t->type);
	return set_tensor(s, a, input);
}

static int set_number(tsr_session *s, const Assignment *a, bool dim)
{
	tsr_error error;
	int code;
	if (a->kind != VALUE_NUMBER)
		return report("%s '%s': expected a number, came '%s'", dim ? "dim" : "scalar",
			      a->name, a->text);
	if (dim && (a->number != floor(a->number) || a->number < 0 || a->number > 0x1p62))
		return report("dim '%s': expected a natural number, came '%s'", a->name, a->text);
	code = dim ? tsr_set_dim(s, a->name, (int64_t)a->number, &error)
		   : tsr_set_scalar(s, a->name, a->number, &error);
	return code == TSR_OK ? STATUS_OK : report_error(NULL, &error);
}

/* Dims, scalars and files. */
static int set_given(Request *request, tsr_session *s, const tsr_module *m)
{
	const tsr_routine *r = tsr_session_routine(s);
	for (size_t i = 0; i < request->nvalues; i++) {
		Assignment *a = &request->values[i];
		const tsr_tensor *tensor;
		if (!assignment_value(a))
			return STATUS_ERROR;
		for (size_t k = 0; k < i; k++)
			if (strcmp(request->values[k].name, a->name) == 0)
				return report("'%s' is given twice: %s and %s", a->name,
					      request->values[k].text, a->text);
		Target target = target_of(m, r, a->name, &tensor);
		int status = target == TARGET_NONE ? unknown_name(m, r, a->name)
			     : target == TARGET_DIM || target == TARGET_SCALAR
				     ? set_number(s, a, target == TARGET_DIM)
			     : a->kind == VALUE_FILE
				     ? read_file(s, a, tensor, target == TARGET_INPUT)
				     : STATUS_OK;
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static int generate(tsr_session *s, Assignment *a, bool input)
{
	tsr_error error;
	ArrayError why;
	tsr_array want;
	if (tsr_expected(s, a->name, &want, &error) != TSR_OK)
		return report_error(NULL, &error);
	Dtype dtype = dtype_from_name(want.dtype, strlen(want.dtype));
	if (!array_new(&a->array, dtype, want.rank, want.extents, &why))
		return report("%s=%s: %s", a->name, a->text, why.text);
	return fill_array(&a->array, a, a->name) ? set_tensor(s, a, input) : STATUS_ERROR;
}

static int set_generated(Request *request, tsr_session *s, const tsr_module *m)
{
	for (size_t i = 0; i < request->nvalues; i++) {
		Assignment *a = &request->values[i];
		const tsr_tensor *tensor;
		Target target = target_of(m, tsr_session_routine(s), a->name, &tensor);
		if (a->kind == VALUE_FILE || (target != TARGET_INPUT && target != TARGET_PARAM))
			continue;
		int status = generate(s, a, target == TARGET_INPUT);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
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

static int load_parameters(const Request *request, tsr_session *s, tsr_error *error)
{
	int code = request->params ? tsr_load_params(s, request->params, request->params_map, error)
				   : TSR_OK;
	if (code == TSR_OK && request->state)
		code = tsr_load_state(s, request->state, error);
	return code == TSR_OK ? tsr_resolve(s, error) : code;
}

static int prepare(Request *request, bool fill, tsr_session *s, const tsr_module *m)
{
	tsr_error error;
	int status = fill ? add_missing(request, tsr_session_routine(s)) : STATUS_OK;
	if (status == STATUS_OK)
		status = set_given(request, s, m);
	if (status == STATUS_OK && load_parameters(request, s, &error) != TSR_OK)
		status = report_error(NULL, &error);
	if (status == STATUS_OK)
		status = set_generated(request, s, m);
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

int request_prepare(Request *request, bool fill, tsr_model **model, tsr_session **session)
{
	tsr_error error;
	const char *routine = request->routine ? request->routine : "forward";
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
	return prepare(request, fill, *session, m);
}
