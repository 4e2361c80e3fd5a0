/* The `tsr` tool's own parts: what a command line asks for, and how values and arrays are written.
 */
#ifndef TSR_RUNTIME_CLI_H
#define TSR_RUNTIME_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "base/array_file.h"
#include "base/cli_help.h"
#include "runtime/tsr.h"

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2 };

typedef enum ValueKind {
	VALUE_FILE,
	VALUE_LIST,
	VALUE_NUMBER,
	VALUE_ZEROS,
	VALUE_ONES,
	VALUE_RANGE,
	VALUE_RANDOM,
	VALUE_ARRAY /* `array` is there, and stays as it is while the session runs */
} ValueKind;

typedef enum Target { TARGET_NONE, TARGET_INPUT, TARGET_PARAM, TARGET_DIM, TARGET_SCALAR } Target;

/* NAME=VALUE; the texts point into argv. */
typedef struct Assignment {
	const char *name, *text; /* text: VALUE as written */
	Target target;		 /* what the name is in the routine */
	const tsr_tensor *tensor; /* of an input or a parameter */
	ValueKind kind;
	char *path, *key; /* owned; key NULL where none is written */
	double number;
	uint64_t seed;
	Array array; /* owned: what it came to */
	char *bytes; /* owned: standard input, or a list as a .npy */
	ArrayFile *file; /* owned: open from when its header is read until its elements are */
	size_t index;	 /* of the array in it */
} Assignment;

typedef struct Request {
	const char *module, *routine;
	Assignment *values;
	size_t nvalues;
	Assignment *outputs; /* -o: text is the file */
	size_t noutputs;
	char *print; /* --print: names, one behind the other; NULL: all results */
	bool check_finite;
	const char *params, *params_map, *state, *save_state;
	uint64_t seed;
	int32_t threads; /* 0: one for each CPU */
	tsr_pool *pool;
	bool json, no_graph;
} Request;

/* Message on stderr: "tsr: error: ...". Returns STATUS_ERROR. */
int report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same of a library's error; where: what it is of, or NULL. */
int report_error(const char *where, const tsr_error *error);

/* Adds NAME=VALUE, split in place, to a list of n, which is reallocated; NULL: there is no memory. Its name is NULL when the
 * word has no name or no value. */
Assignment *assignment_add(Assignment **list, size_t *n, char *word);
/* Reads the VALUE of a split assignment; false with a message. */
bool assignment_value(Assignment *out);

/* Opens a VALUE that is a file or a list, of an input or a parameter; "-" is a .npy or .safetensors on standard
 * input. NULL, with the reason, when it cannot be. */
ArrayFile *assignment_open(Assignment *a, ArrayError *why);
/* The number of the array in its file: the one of its key, else of its name, else the only one. -1, with the reason. */
ptrdiff_t assignment_pick(const Assignment *a, ArrayFile *file, ArrayError *why);
/* "[[1, 2], [3, 4]]" as a .npy of f64, to be freed, whose numbers are rounded to the dtype where it has floats; NULL,
 * with the reason, where it is no list of that kind. Requires: text begins with '['. */
char *list_as_npy(const char *text, Dtype dtype, size_t *len, ArrayError *why);

/* The options that run and bench share, for argp's `children`. */
extern const struct argp request_argp;
void request_free(Request *request);
/* Opens the module and prepares a session as asked; `fill`: missing inputs are random (bench). A
 * status. */
int request_prepare(Request *request, bool fill, tsr_model **model, tsr_session **session);
/* The same in parts: the module and a session of the routine, or of `otherwise` where none is named; what each assignment says and
 * is for; all that is set and prepared. */
int request_open(Request *request, const char *otherwise, tsr_model **model, tsr_session **session);
int request_look(const Request *request, const tsr_module *module, const tsr_routine *routine);
int request_fill(Request *request, tsr_session *session, const tsr_module *module);
/* The number after `--name=`; ends the process where it is none. */
uint64_t number_option(const char *name, const char *text, struct argp_state *state);
/* Fills array elements: false when the value has no image in the dtype. */
bool fill_array(Array *array, const Assignment *value, const char *name);

/* "[4 | 10]" with extents in storage order, labels as declared; `sizes` instead of extents when
 * NULL. */
void print_shape(FILE *out, const tsr_tensor *tensor, const int64_t *extents);
/* "10 x 4", "one number". */
void print_extents(FILE *out, const tsr_tensor *tensor);
/* Nested brackets on one line, %.9g for f32, %.17g for f64, %d for integers. */
void print_array(FILE *out, const tsr_array *array);

/* Looks at what the routine took and gave: inputs, parameters, then results by the lines that name them. If an element is
 * no finite number, tells the first tensor and element: that is NaN and, where it comes before or there is none, that is
 * infinite; a status. */
int check_finite(const tsr_session *session);
/* The first parameter of the routine, in the order of the state, with an element that is no finite number: its place, and that of the element; -1:
 * there is none. */
int32_t find_not_finite(const tsr_session *session, int64_t *element);
/* "parameter w: element [3, 2] is nan". Requires: a place that find_not_finite gave. */
void print_not_finite(const tsr_session *session, int32_t param, int64_t element);

/* The commands: argv[0] is the command's name; they return a status. A wrong option ends the process. */
int cmd_run(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_train(int argc, char **argv);
extern const struct argp cmd_run_argp, cmd_info_argp, cmd_bench_argp, cmd_map_argp, cmd_train_argp;

#endif
