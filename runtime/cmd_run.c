/* tsr run: prepares, executes, then prints or writes the results.
 *
 * Files are written to temporary names and renamed when everything has been written, so that a run
 * that fails leaves what was there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "runtime/cli.h"
#include "runtime/session.h"

enum { KEY_SAVE = 512, KEY_PRINT, KEY_FINITE };

static const struct argp_option options[] = {
	{"output", 'o', "NAME=FILE.npy", 0, "write a result to a file instead of printing it", 0},
	{"print", KEY_PRINT, "NAME[,NAME]", 0,
	 "print these results alone; --keep of tsrc makes more", 0},
	{"check-finite", KEY_FINITE, NULL, 0,
	 "fail where an element is no finite number, and tell the first", 0},
	{"save-state", KEY_SAVE, "FILE", 0,
	 "write the parameters as they are after the run; a .safetensors has them by name", 0},
	{0}};

/* What such a name says is not what is written. */
static bool names_another(const char *file)
{
	static const char *const suffixes[] = {".csv", ".npz", ".safetensors", ".gguf"};
	size_t n = strlen(file);
	bool other = false;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		size_t m = strlen(suffixes[i]);
		other |= n > m && strcasecmp(file + n - m, suffixes[i]) == 0;
	}
	return other;
}

static void add_output(struct argp_state *state, Request *request, char *arg)
{
	Assignment *output = assignment_add(&request->outputs, &request->noutputs, arg);
	if (!output)
		argp_failure(state, STATUS_ERROR, 0, "out of memory");
	if (!output->name)
		argp_error(state, "-o takes NAME=FILE.npy, not '%s'", arg);
	if (names_another(output->text))
		argp_error(state, "-o writes a .npy, which '%s' does not say", output->text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	Request *request = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = request; return 0;
	case KEY_PRINT: request->print = arg; return 0;
	case KEY_FINITE: request->check_finite = true; return 0;
	case KEY_SAVE: request->save_state = arg; return 0;
	case 'o': add_output(state, request, arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static int list_results(const tsr_routine *r)
{
	fputs("  it has:", stderr);
	for (int32_t k = 0; k < r->noutputs; k++)
		fprintf(stderr, " %s", r->outputs[k].name);
	fputc('\n', stderr);
	return STATUS_ERROR;
}

/* Is it the name of a result, which has _ where names of the program have dots? */
static bool names_result(const char *name, size_t n, const char *result)
{
	bool same = strlen(result) == n;
	for (size_t i = 0; i < n && same; i++)
		same = result[i] == name[i] || (name[i] == '.' && result[i] == '_');
	return same;
}

/* The next name of --print; false behind the last. */
static bool next_printed(const char **at, const char **name, size_t *n)
{
	if (!*at)
		return false;
	*name = *at;
	*n = strcspn(*at, ",");
	*at = (*at)[*n] ? *at + *n + 1 : NULL;
	return true;
}

static bool is_printed(const Request *request, const char *result)
{
	const char *at = request->print, *name;
	size_t n;
	while (next_printed(&at, &name, &n))
		if (names_result(name, n, result))
			return true;
	return !request->print;
}

static int check_printed(const Request *request, const tsr_routine *r)
{
	const char *at = request->print, *name;
	size_t n;
	while (next_printed(&at, &name, &n)) {
		bool found = false;
		for (int32_t k = 0; k < r->noutputs && !found; k++)
			found = names_result(name, n, r->outputs[k].name);
		if (found)
			continue;
		report("--print=%.*s: routine %s has no result of that name; tsrc --keep=%.*s makes "
		       "it one",
		       (int)n, name, r->name, (int)n, name);
		return list_results(r);
	}
	return STATUS_OK;
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

/* Of two files of one name the second would replace the first. */
static int check_path(const Request *request, size_t i)
{
	const Assignment *output = &request->outputs[i];
	const char *other = request->save_state && strcmp(request->save_state, output->text) == 0
				    ? "--save-state"
				    : NULL;
	for (size_t k = 0; k < i; k++)
		if (strcmp(request->outputs[k].text, output->text) == 0)
			other = request->outputs[k].name;
	return !other || to_stdout(output)
		       ? STATUS_OK
		       : report("-o %s=%s: %s goes to that file", output->name, output->text, other);
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
			return list_results(r);
		}
		if (written(request, request->outputs[i].name) != &request->outputs[i])
			return report("-o %s is given twice", request->outputs[i].name);
		if (to_stdout(&request->outputs[i]) && request->noutputs < (size_t)r->noutputs)
			return report("-o %s=-: the other results would be printed there too: "
				      "give each its -o",
				      request->outputs[i].name);
		if (check_path(request, i) != STATUS_OK)
			return STATUS_ERROR;
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

/* A file that the run leaves: a result, or the state. */
typedef struct Left {
	const char *path;
	const tsr_array *result; /* NULL: the state */
	const char *temporary;	 /* NULL: standard output, or what cannot be renamed over */
} Left;

static bool print_result(const Left *file, FILE *out, ArrayError *why)
{
	Array array = array_of(file->result);
	return npy_print(out, &array, why);
}

/* Writes the file and closes it. */
static int write_to(const Left *file, const tsr_session *s, FILE *out)
{
	ArrayError why;
	bool good = !file->result || print_result(file, out, &why);
	if (!good)
		fclose(out);
	else if (!(file->result ? file_close(out) : state_write(s, file->path, out)))
		good = array_fail(&why, "%s", strerror(errno));
	return good ? STATUS_OK : report("%s: %s", file->path, why.text);
}

static int write_temporary(Left *file, const tsr_session *s)
{
	int fd;
	file->temporary = temporary_file(file->path, &fd);
	FILE *out = file->temporary ? fdopen(fd, "wb") : NULL;
	if (out)
		return write_to(file, s, out);
	int status = report("%s: %s", file->path, strerror(errno));
	if (file->temporary)
		close(fd);
	return status;
}

static bool is_stdout(const Left *file)
{
	return file->result && strcmp(file->path, "-") == 0;
}

static int write_stream(const Left *file, const tsr_session *s)
{
	ArrayError why;
	if (is_stdout(file))
		return print_result(file, stdout, &why) ? STATUS_OK
							: report("standard output: %s", why.text);
	FILE *out = fopen(file->path, "wbe");
	return out ? write_to(file, s, out) : report("%s: %s", file->path, strerror(errno));
}

static int rename_temporary(Left *file)
{
	if (!temporary_rename(file->temporary, file->path))
		return report("%s: %s", file->path, strerror(errno));
	file->temporary = NULL;
	return STATUS_OK;
}

/* Nothing is renamed before all is written. */
static int write_files(Left *files, size_t n, const tsr_session *s)
{
	int status = STATUS_OK;
	for (size_t i = 0; i < n && status == STATUS_OK; i++)
		if (!is_stdout(&files[i]) && file_replaceable(files[i].path))
			status = write_temporary(&files[i], s);
	for (size_t i = 0; i < n && status == STATUS_OK; i++)
		if (!files[i].temporary)
			status = write_stream(&files[i], s);
	for (size_t i = 0; i < n && status == STATUS_OK; i++)
		if (files[i].temporary)
			status = rename_temporary(&files[i]);
	for (size_t i = 0; i < n; i++)
		if (files[i].temporary)
			temporary_remove(files[i].temporary);
	return status;
}

static int write_outputs(const Request *request, const tsr_session *s)
{
	size_t n = 0;
	Left *files = calloc(request->noutputs + 1, sizeof *files);
	if (!files)
		return report("out of memory");
	if (request->save_state)
		files[n++].path = request->save_state;
	for (size_t i = 0; i < request->noutputs; i++)
		files[n++] = (Left){.path = request->outputs[i].text,
				    .result = tsr_output(s, request->outputs[i].name)};
	int status = write_files(files, n, s);
	free(files);
	return status;
}

static void print_outputs(const Request *request, const tsr_session *s)
{
	const tsr_routine *r = tsr_session_routine(s);
	for (int32_t i = 0; i < r->noutputs; i++) {
		const tsr_tensor *t = &r->outputs[i];
		const tsr_array *array = tsr_output_at(s, i);
		if (written(request, t->name) || !is_printed(request, t->name))
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
	int status = check_printed(request, tsr_session_routine(s));
	if (status == STATUS_OK)
		status = check_outputs(request, tsr_session_routine(s));
	if (status != STATUS_OK)
		return status;
	if (tsr_execute(s, &error) != TSR_OK)
		return report_error(NULL, &error);
	if (request->save_state && session_read_back(s, &error) != TSR_OK)
		return report_error(NULL, &error);
	status = write_outputs(request, s);
	if (status == STATUS_OK)
		print_outputs(request, s);
	if (status == STATUS_OK && request->check_finite)
		status = check_finite(s);
	return status;
}

static const struct argp_child children[] = {
	{&request_argp, 0, NULL, 0}, {&cli_help_argp, 0, NULL, 0}, {0}};
const struct argp cmd_run_argp = {
	options,
	parse,
	"MODULE [ROUTINE] [NAME=VALUE...]",
	"Run a routine (default: forward) of a module and print its results.\v"
	"NAME is an input, a parameter (dotted), a dim or a scalar of the routine. VALUE is FILE.npy, "
	"FILE.npz:KEY, FILE.safetensors:KEY, FILE.gguf:KEY, FILE.csv, FILE.csv:COLUMN,COLUMN, zeros, ones, range, random:SEED, a number or a list such as '[[1, 2], [3, 4]]'; - is standard input. Arrays have "
	"their axes in storage order: batch, output, input.",
	children,
	NULL,
	NULL};

int cmd_run(int argc, char **argv)
{
	Request request = {0};
	tsr_model *model = NULL;
	tsr_session *session = NULL;
	cli_check_options(&cmd_run_argp, argc, argv);
	argp_parse(&cmd_run_argp, argc, argv, ARGP_NO_HELP, NULL, &request);
	int status = request_prepare(&request, false, &model, &session);
	if (status == STATUS_OK)
		status = run(&request, session);
	tsr_session_free(session);
	tsr_close(model);
	request_free(&request);
	return status;
}
