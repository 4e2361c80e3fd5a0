/* tsr run: prepares, executes, then prints or writes the results.
 *
 * Files are written to temporary names and renamed when everything has been written, so that a run
 * that fails leaves what was there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli.h"

enum { KEY_SAVE = 512 };

static const struct argp_option options[] = {
	{"output", 'o', "NAME=FILE.npy", 0, "write a result to a file instead of printing it", 0},
	{"save-state", KEY_SAVE, "FILE", 0, "write the parameters as they are after the run", 0},
	{0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	Request *request = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = request; return 0;
	case KEY_SAVE: request->save_state = arg; return 0;
	case 'o': {
		Assignment *grown =
			realloc(request->outputs, (request->noutputs + 1) * sizeof *grown);
		if (!grown)
			argp_failure(state, STATUS_ERROR, 0, "out of memory");
		request->outputs = grown;
		if (!assignment_split(&grown[request->noutputs], arg))
			argp_error(state, "-o takes NAME=FILE.npy, not '%s'", arg);
		request->noutputs++;
		return 0;
	}
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const Assignment *written(const Request *request, const char *name)
{
	for (size_t i = 0; i < request->noutputs; i++)
		if (strcmp(request->outputs[i].name, name) == 0)
			return &request->outputs[i];
	return NULL;
}

static bool to_stdout(const Assignment *output)
{
	return strcmp(output->text, "-") == 0;
}

static int check_outputs(const Request *request, const tsr_routine *r)
{
	for (size_t i = 0; i < request->noutputs; i++) {
		bool found = false;
		for (int32_t k = 0; k < r->noutputs; k++)
			found |= strcmp(r->outputs[k].name, request->outputs[i].name) == 0;
		if (!found) {
			report("-o %s=%s: routine %s has no result of that name",
			       request->outputs[i].name, request->outputs[i].text, r->name);
			fputs("  it has:", stderr);
			for (int32_t k = 0; k < r->noutputs; k++)
				fprintf(stderr, " %s", r->outputs[k].name);
			fputc('\n', stderr);
			return STATUS_ERROR;
		}
		if (written(request, request->outputs[i].name) != &request->outputs[i])
			return report("-o %s is given twice", request->outputs[i].name);
		if (to_stdout(&request->outputs[i]) && request->noutputs < (size_t)r->noutputs)
			return report("-o %s=-: the other results would be printed there too: "
				      "give each its -o",
				      request->outputs[i].name);
	}
	return STATUS_OK;
}

static Array array_of(const tsr_array *from)
{
	Array array = {.dtype = dtype_from_name(from->dtype, strlen(from->dtype)),
		       .rank = from->rank,
		       .bytes = from->bytes,
		       .data = from->data};
	memcpy(array.extents, from->extents, sizeof array.extents);
	return array;
}

static bool written_last(const Assignment *output)
{
	return to_stdout(output) || !file_replaceable(output->text);
}

/* Every -o that is a file to PATH.PID.tmp; *done counts them. */
static int write_temporaries(Request *request, const tsr_session *s, size_t *done)
{
	for (; *done < request->noutputs; ++*done) {
		Assignment *o = &request->outputs[*done];
		ArrayError why;
		Array array = array_of(tsr_output(s, o->name));
		if (written_last(o))
			continue;
		if (asprintf(&o->path, "%s.%ld.tmp", o->text, (long)getpid()) < 0) {
			o->path = NULL;
			return report("out of memory");
		}
		if (!npy_write(o->path, &array, &why)) {
			unlink(o->path);
			return report("%s: %s", o->text, why.text);
		}
	}
	return STATUS_OK;
}

static int finish_outputs(Request *request, const tsr_session *s)
{
	for (size_t i = 0; i < request->noutputs; i++) {
		Assignment *o = &request->outputs[i];
		ArrayError why;
		Array array = array_of(tsr_output(s, o->name));
		if (to_stdout(o) && !npy_print(stdout, &array, &why))
			return report("standard output: %s", why.text);
		if (!o->path && !to_stdout(o) && !npy_write(o->text, &array, &why))
			return report("%s: %s", o->text, why.text);
		if (o->path && rename(o->path, o->text) != 0)
			return report("%s: %s", o->text, strerror(errno));
	}
	return STATUS_OK;
}

static int write_outputs(Request *request, const tsr_session *s)
{
	size_t done = 0;
	tsr_error error;
	int status = write_temporaries(request, s, &done);
	if (status == STATUS_OK && request->save_state &&
	    tsr_save_state(s, request->save_state, &error) != TSR_OK)
		status = report_error(NULL, &error);
	if (status == STATUS_OK)
		status = finish_outputs(request, s);
	for (size_t i = 0; i < request->noutputs; i++) {
		if (status != STATUS_OK && i < done && request->outputs[i].path)
			unlink(request->outputs[i].path);
		free(request->outputs[i].path);
		request->outputs[i].path = NULL;
	}
	return status;
}

static void print_outputs(const Request *request, const tsr_session *s)
{
	const tsr_routine *r = tsr_session_routine(s);
	for (int32_t i = 0; i < r->noutputs; i++) {
		const tsr_tensor *t = &r->outputs[i];
		const tsr_array *array = tsr_output_at(s, i);
		if (written(request, t->name))
			continue;
		printf("%s : %s ", t->name, t->dtype);
		print_shape(stdout, t, array->extents);
		putchar('\n');
		print_array(stdout, array);
	}
}

static int run(Request *request, tsr_session *s)
{
	tsr_error error;
	int status = check_outputs(request, tsr_session_routine(s));
	if (status != STATUS_OK)
		return status;
	if (tsr_execute(s, &error) != TSR_OK)
		return report_error(NULL, &error);
	status = write_outputs(request, s);
	if (status == STATUS_OK)
		print_outputs(request, s);
	return status;
}

int cmd_run(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&request_argp, 0, NULL, 0}, {&cli_help_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		options,
		parse,
		"MODULE [ROUTINE] [NAME=VALUE...]",
		"Run a routine (default: forward) of a module and print its results.\v"
		"NAME is an input, a parameter (dotted), a dim or a scalar of the routine. VALUE is FILE.npy, "
		"FILE.npz:KEY, FILE.safetensors:KEY, zeros, ones, range, random:SEED or a number; - is standard input. Arrays have "
		"their axes in storage order: batch, output, input.",
		children,
		NULL,
		NULL};
	Request request = {0};
	tsr_model *model = NULL;
	tsr_session *session = NULL;
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &request);
	int status = request_prepare(&request, false, &model, &session);
	if (status == STATUS_OK)
		status = run(&request, session);
	tsr_session_free(session);
	tsr_close(model);
	request_free(&request);
	return status;
}
