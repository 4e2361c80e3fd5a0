/* tsr train: carries out a routine on batches of rows of arrays, epoch by epoch; cli_train_loop.c. */
#include <stdlib.h>
#include <string.h>

#include "runtime/session.h"
#include "runtime/cli_train_loop.h"

enum {
	KEY_BATCH = 1024,
	KEY_EPOCHS,
	KEY_SHUFFLE,
	KEY_VALID,
	KEY_EVERY,
	KEY_SAVE,
	KEY_RESUME,
	KEY_LOG,
	KEY_PLOT,
	KEY_KEEP
};
enum { BATCH_DEFAULT = 32 };

static const struct argp_option options[] = {
	{"batch", KEY_BATCH, "N", 0, "examples a step (default: 32, or what the program says)", 0},
	{"epochs", KEY_EPOCHS, "N", 0, "how often each example is taken (default 1)", 0},
	{"shuffle", KEY_SHUFFLE, "SEED", 0, "take examples in another order each epoch", 0},
	{"keep-last", KEY_KEEP, NULL, 0, "take what is left of an epoch as a smaller batch", 0},
	{"valid", KEY_VALID, "ROUTINE", 0,
	 "run this routine behind each epoch, on the files that follow", 0},
	{"every", KEY_EVERY, "N", 0, "print a line every N steps (default: each epoch)", 0},
	{"save", KEY_SAVE, "FILE", 0, "write a checkpoint, a .safetensors, behind each epoch", 0},
	{"resume", KEY_RESUME, "FILE", 0, "go on where the run that saved the checkpoint was", 0},
	{"log", KEY_LOG, "FILE", 0, "write the lines as a table, .csv", 0},
	{"plot", KEY_PLOT, "FILE", 0, "draw loss and validation over steps behind each epoch, .svg",
	 0},
	{0}};

static int64_t count_option(const char *name, const char *text, struct argp_state *state)
{
	uint64_t n = number_option(name, text, state);
	if (n < 1 || n > INT32_MAX)
		argp_error(state, "--%s takes 1 to %d, not %s", name, INT32_MAX, text);
	return (int64_t)n;
}

static const char *file_option(const char *name, const char *suffix, const char *path,
			       struct argp_state *state)
{
	size_t n = strlen(path), end = strlen(suffix);
	if (n <= end || strcmp(path + n - end, suffix) != 0)
		argp_error(state, "--%s takes a %s, not '%s'", name, suffix, path);
	return path;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	Train *t = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &t->request; return 0;
	case KEY_BATCH: t->batch = count_option("batch", arg, state); return 0;
	case KEY_EPOCHS: t->epochs = count_option("epochs", arg, state); return 0;
	case KEY_EVERY: t->every = count_option("every", arg, state); return 0;
	case KEY_SHUFFLE:
		t->seed = number_option("shuffle", arg, state);
		t->shuffles = true;
		return 0;
	case KEY_KEEP: t->keep_last = true; return 0;
	case KEY_SAVE: t->save = file_option("save", ".safetensors", arg, state); return 0;
	case KEY_RESUME: t->resume = file_option("resume", ".safetensors", arg, state); return 0;
	case KEY_LOG: t->log = arg; return 0;
	case KEY_PLOT: t->plot = file_option("plot", ".svg", arg, state); return 0;
	case KEY_VALID:
		if (t->valid_routine)
			argp_error(state, "--valid is given twice");
		t->valid_routine = arg;
		t->nvalues = t->request.nvalues;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (t->resume && (t->request.state || t->request.params))
			argp_error(state, "--resume has all parameters: --%s would be others",
				   t->request.state ? "state" : "params");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&request_argp, 0, NULL, 0}, {&cli_help_argp, 0, NULL, 0}, {0}};
const struct argp cmd_train_argp = {
	options,
	parse,
	"MODULE [ROUTINE] NAME=FILE... [SCALAR=VALUE] [--valid=ROUTINE NAME=FILE...]",
	"Carry out a routine (default: train) on batches of examples, step by step.\v"
	"NAME is an input; the leftmost axis of its array is that of examples. Results of the routine that are one number are "
	"printed as means since the last line; the first of floats is the loss. SIGINT and SIGTERM save and end where there is "
	"--save. Other NAME=VALUE are as those of tsr run.",
	children,
	NULL,
	NULL};

/* ---- what is set up ---- */

static Request valid_request(const Train *t)
{
	Request values = t->request;
	values.values += t->nvalues;
	values.nvalues = t->all_values - t->nvalues;
	return values;
}

/* Values of the routine that trains alone; request_free frees them all. */
static void split_values(Train *t)
{
	t->all_values = t->request.nvalues;
	t->nvalues = t->valid_routine ? t->nvalues : t->all_values;
	t->request.nvalues = t->nvalues;
}

static int choose_batch(Train *t)
{
	const Table *table = &t->table;
	if (table->fixed && t->batch && t->batch != table->fixed)
		return report("--batch=%lld: the program says %lld", (long long)t->batch,
			      (long long)table->fixed);
	if (!t->batch)
		t->batch = table->fixed			 ? table->fixed
			   : table->rows < BATCH_DEFAULT ? table->rows
							 : BATCH_DEFAULT;
	if (table->rows == 0)
		return report("there are no examples");
	if (t->batch > table->rows)
		return report("--batch=%lld: there are %lld examples", (long long)t->batch,
			      (long long)table->rows);
	t->order = calloc((size_t)table->rows + 1, sizeof *t->order);
	return t->order ? STATUS_OK : report("out of memory");
}

static int open_rest(const Train *t, Feed *feed, const Table *table, const char *routine,
		     const Request *values)
{
	int64_t rest = table->rows % t->batch;
	if (rest == 0)
		return STATUS_OK;
	if (table->fixed)
		return report(
			"%lld examples are left over of batches of %lld, which the program says",
			(long long)rest, (long long)table->fixed);
	*feed = (Feed){.table = table, .rows = rest};
	return feed_share(feed, &t->feed, routine, values);
}

/* There are examples, and no parameters, which are one set. */
static int check_valid(const Train *t, const Request *values)
{
	for (size_t i = 0; i < values->nvalues; i++)
		if (values->values[i].target == TARGET_PARAM)
			return report("--valid=%s: parameter '%s' is set in front of it",
				      t->valid_routine, values->values[i].name);
	return t->valid_table.rows > 0
		       ? STATUS_OK
		       : report("--valid=%s: there are no examples", t->valid_routine);
}

static int open_valid(Train *t)
{
	Request values = valid_request(t);
	const tsr_routine *routine = tsr_find_routine(tsr_table(t->model), t->valid_routine);
	if (!routine)
		return report("--valid=%s: the module has no routine of that name",
			      t->valid_routine);
	int status = request_look(&values, tsr_table(t->model), routine);
	if (status == STATUS_OK)
		status = table_read(&t->valid_table, routine, values.values, values.nvalues);
	if (status == STATUS_OK)
		status = check_valid(t, &values);
	if (status == STATUS_OK)
		status = metrics_open(&t->valid_metrics, routine);
	t->valid = (Feed){.table = &t->valid_table, .rows = t->batch};
	if (status == STATUS_OK && t->valid_table.rows >= t->batch)
		status = feed_share(&t->valid, &t->feed, t->valid_routine, &values);
	return status == STATUS_OK
		       ? open_rest(t, &t->valid_rest, &t->valid_table, t->valid_routine, &values)
		       : status;
}

static int set_up(Train *t)
{
	if (t->resume)
		t->request.state = t->resume;
	int status = request_open(&t->request, "train", &t->model, &t->feed.session);
	if (status != STATUS_OK)
		return status;
	const tsr_routine *routine = tsr_session_routine(t->feed.session);
	status = request_look(&t->request, tsr_table(t->model), routine);
	if (status == STATUS_OK)
		status = table_read(&t->table, routine, t->request.values, t->request.nvalues);
	if (status == STATUS_OK)
		status = choose_batch(t);
	t->feed.table = &t->table;
	t->feed.rows = t->batch;
	if (status == STATUS_OK)
		status = feed_prepare(&t->feed, &t->request);
	if (status == STATUS_OK)
		status = metrics_open(&t->metrics, routine);
	if (status == STATUS_OK && t->keep_last)
		status = open_rest(t, &t->rest, &t->table, routine->name, &t->request);
	if (status == STATUS_OK && t->valid_routine)
		status = open_valid(t);
	return status;
}

static void tear_down(Train *t)
{
	feed_close(&t->valid_rest);
	feed_close(&t->valid);
	feed_close(&t->rest);
	feed_close(&t->feed);
	metrics_close(&t->metrics);
	metrics_close(&t->valid_metrics);
	table_free(&t->table);
	table_free(&t->valid_table);
	free(t->order);
	free(t->replay.state);
	tsr_close(t->model);
	t->request.nvalues = t->all_values;
	request_free(&t->request);
}

int cmd_train(int argc, char **argv)
{
	Train t = {.epochs = 1, .ordered = -1};
	cli_check_options(&cmd_train_argp, argc, argv);
	argp_parse(&cmd_train_argp, argc, argv, ARGP_NO_HELP | ARGP_IN_ORDER, NULL, &t);
	split_values(&t);
	int status = set_up(&t);
	if (status == STATUS_OK)
		status = train_loop(&t);
	tear_down(&t);
	return status;
}
