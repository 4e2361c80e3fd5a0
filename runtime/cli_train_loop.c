/* The steps of tsr train: a batch each, lines about them, validation and a checkpoint behind each epoch.
 *
 * A checkpoint has the parameters, what optimisers and layers keep among them, and `train:position`, how many steps there were of
 * which run. The order of an epoch is a function of the seed and its number, so a run that is resumed goes on with the bits that
 * it would have had.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "runtime/session.h"
#include "runtime/cli_train_loop.h"
#include "runtime/cli_train_plot.h"

static const char position_name[] = "train:position";
/* What the array of that name holds. */
typedef enum Part {
	PART_STEPS,
	PART_BATCH,
	PART_ROWS,
	PART_SHUFFLES,
	PART_SEED,
	PART_KEEPS,
	PARTS
} Part;

typedef struct Loop {
	Train *t;
	int64_t per_epoch, steps, first, step; /* step: those that are done */
	FILE *log;			       /* NULL: none */
	Plot plot; /* of --plot: the loss of each step, the mean of each validation */
	bool terminal, stopped;
	double began, shown; /* seconds */
} Loop;

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* ---- checkpoints ---- */

static void fill_position(const Loop *l, int64_t *position)
{
	const Train *t = l->t;
	position[PART_STEPS] = l->step;
	position[PART_BATCH] = t->batch;
	position[PART_ROWS] = t->table.rows;
	position[PART_SHUFFLES] = t->shuffles;
	position[PART_SEED] = (int64_t)t->seed;
	position[PART_KEEPS] = t->keep_last;
}

static int differs(const char *path, const char *what, int64_t was, int64_t is)
{
	return report("--resume=%s: it was saved with %s %" PRId64 ", and this is %" PRId64
		      ": --state=%s begins a new run with its parameters",
		      path, what, was, is, path);
}

static int check_position(Loop *l, const int64_t *was)
{
	static const char *const what[PARTS] = {"steps",     "--batch",	       "examples",
						"--shuffle", "--shuffle=SEED", "--keep-last"};
	int64_t is[PARTS];
	fill_position(l, is);
	for (int i = PART_BATCH; i < PARTS; i++)
		if (was[i] != is[i])
			return differs(l->t->resume, what[i], was[i], is[i]);
	l->first = l->step = was[PART_STEPS];
	return l->step < l->steps ? STATUS_OK
				  : report("--resume=%s: all %" PRId64 " steps of --epochs=%" PRId64
					   " are done",
					   l->t->resume, l->step, l->t->epochs);
}

static int resume(Loop *l)
{
	ArrayError why;
	Array array;
	const char *path = l->t->resume;
	if (!array_read(path, position_name, DTYPE_I64, &array, &why))
		return report(
			"--resume=%s: no run of tsr train saved it: --state=%s takes its parameters",
			path, path);
	const int64_t *was = array.data;
	int status = array.nelements == PARTS && was[PART_STEPS] >= 0
			     ? check_position(l, was)
			     : report("--resume=%s: its %s is damaged", path, position_name);
	array_free(&array);
	return status;
}

/* Not where a parameter is no finite number: what was saved before stays. */
static int check_good(const Loop *l)
{
	int64_t element;
	int32_t param = find_not_finite(l->t->feed.session, &element);
	if (param < 0)
		return STATUS_OK;
	report("step %" PRId64 ": it is not saved", l->step);
	fputs("  ", stderr);
	print_not_finite(l->t->feed.session, param, element);
	return STATUS_ERROR;
}

/* The state, and where the run is. */
static bool print_checkpoint(const void *loop, FILE *out)
{
	const Loop *l = loop;
	int64_t position[PARTS];
	fill_position(l, position);
	return state_write_named(l->t->feed.session,
				 &(NamedArray){position_name,
					       {.dtype = DTYPE_I64,
						.rank = 1,
						.extents = {PARTS},
						.nelements = PARTS,
						.bytes = sizeof position,
						.data = position}},
				 out);
}

static int save(const Loop *l)
{
	tsr_error error;
	const char *path = l->t->save;
	if (session_read_back(l->t->feed.session, &error) != TSR_OK)
		return report_error(NULL, &error);
	if (check_good(l) != STATUS_OK)
		return STATUS_ERROR;
	return temporary_write(path, print_checkpoint, l)
		       ? STATUS_OK
		       : report("%s: %s", path, strerror(errno));
}

/* ---- lines ---- */

static void log_metrics(FILE *log, const Metrics *metrics)
{
	for (int32_t i = 0; i < metrics->n; i++)
		if (metrics->weight > 0)
			fprintf(log, ",%.9g", metrics->sums[i] / metrics->weight);
		else
			fputc(',', log);
}

static void log_names(FILE *log, const char *prefix, const Metrics *metrics)
{
	for (int32_t i = 0; i < metrics->n; i++)
		fprintf(log, ",%s%s", prefix, metrics->routine->outputs[metrics->outputs[i]].name);
}

static int open_log(Loop *l)
{
	const Train *t = l->t;
	if (!t->log)
		return STATUS_OK;
	l->log = fopen(t->log, t->resume ? "ae" : "we");
	if (!l->log)
		return report("%s: %s", t->log, strerror(errno));
	if (t->resume)
		return STATUS_OK;
	fputs("step,epoch", l->log);
	log_names(l->log, "", &t->metrics);
	log_names(l->log, "valid_", &t->valid_metrics);
	fputc('\n', l->log);
	return STATUS_OK;
}

/* So that a run does not find at its end that it cannot leave the file. */
static int try_file(const char *path)
{
	int fd;
	if (!path || !file_replaceable(path))
		return STATUS_OK;
	const char *name = temporary_file(path, &fd);
	if (!name)
		return report("%s: %s", path, strerror(errno));
	close(fd);
	temporary_remove(name);
	return STATUS_OK;
}

static int open_files(Loop *l)
{
	int status = try_file(l->t->save);
	if (status == STATUS_OK)
		status = try_file(l->t->plot);
	return status == STATUS_OK ? open_log(l) : status;
}

/* Of a metric, which is the first. */
static const char *metric_name(const Metrics *metrics)
{
	return metrics->n ? metrics->routine->outputs[metrics->outputs[0]].name : NULL;
}

static void open_plot(Loop *l)
{
	const Train *t = l->t;
	l->plot = (Plot){.title = tsr_table(t->model)->name,
			 .lines = {{.name = metric_name(&t->metrics)},
				   {.name = metric_name(&t->valid_metrics)}}};
}

static void clear_progress(const Loop *l)
{
	if (l->terminal)
		fputs("\r\033[K", stdout);
	fflush(stdout);
}

static void print_line(Loop *l)
{
	Train *t = l->t;
	int64_t epoch = (l->step - 1) / l->per_epoch + 1;
	clear_progress(l);
	printf("epoch %" PRId64 ", step %" PRId64 ": ", epoch, l->step);
	metrics_print(stdout, &t->metrics);
	if (t->valid_metrics.weight > 0) {
		printf("; %s: ", t->valid_routine);
		metrics_print(stdout, &t->valid_metrics);
	}
	putchar('\n');
	fflush(stdout);
	if (l->log) {
		fprintf(l->log, "%" PRId64 ",%" PRId64, l->step, epoch);
		log_metrics(l->log, &t->metrics);
		log_metrics(l->log, &t->valid_metrics);
		fputc('\n', l->log);
		fflush(l->log);
	}
	metrics_clear(&t->metrics);
	metrics_clear(&t->valid_metrics);
}

/* On a terminal, ten times a second. */
static void show_progress(Loop *l, double loss)
{
	double at = now();
	if (!l->terminal || at < l->shown + 0.1)
		return;
	double rate = (double)(l->step - l->first) / (at - l->began);
	l->shown = at;
	printf("\r\033[Kstep %" PRId64 " of %" PRId64
	       ": loss %.4g, %.3g steps a second, %.0f s left",
	       l->step, l->steps, loss, rate, (double)(l->steps - l->step) / rate);
	fflush(stdout);
}

/* ---- steps ---- */

static int carry_out(Train *t, int64_t step, int64_t per_epoch, const Feed **ran)
{
	int64_t epoch = step / per_epoch, at = step % per_epoch;
	if (t->ordered != epoch)
		table_order(t->order, t->table.rows, t->shuffles ? &t->seed : NULL,
			    (uint64_t)epoch);
	t->ordered = epoch;
	Feed *feed = at < t->table.rows / t->batch ? &t->feed : &t->rest;
	*ran = feed;
	return feed_run(feed, t->order + at * t->batch);
}

static bool again(void *of, int64_t step)
{
	Loop *l = of;
	const Feed *ran;
	return carry_out(l->t, step - 1, l->per_epoch, &ran) == STATUS_OK;
}

static int validate(Train *t)
{
	int status = STATUS_OK;
	int64_t rows = t->valid_table.rows, at = 0,
		*order = calloc((size_t)rows + 1, sizeof *order);
	if (!order)
		return report("out of memory");
	table_order(order, rows, NULL, 0);
	for (; at + t->batch <= rows && status == STATUS_OK; at += t->batch) {
		status = feed_run(&t->valid, order + at);
		if (status == STATUS_OK)
			metrics_add(&t->valid_metrics, t->valid.session, (double)t->batch);
	}
	if (at < rows && status == STATUS_OK)
		status = feed_run(&t->valid_rest, order + at);
	if (at < rows && status == STATUS_OK)
		metrics_add(&t->valid_metrics, t->valid_rest.session, (double)(rows - at));
	free(order);
	return status;
}

static void hold_signals(sigset_t *held)
{
	sigemptyset(held);
	sigaddset(held, SIGINT);
	sigaddset(held, SIGTERM);
}

/* Has one come? It is taken then. */
static bool take_signal(const Train *t)
{
	sigset_t held;
	struct timespec none = {0};
	hold_signals(&held);
	return t->save && sigtimedwait(&held, NULL, &none) > 0;
}

static int end_epoch(Loop *l)
{
	const Train *t = l->t;
	const Metrics *valid = &t->valid_metrics;
	int status = t->valid_routine ? validate(l->t) : STATUS_OK;
	if (status == STATUS_OK && t->plot && valid->weight > 0)
		plot_add(&l->plot.lines[1], (double)l->step, valid->sums[0] / valid->weight);
	if (status == STATUS_OK)
		print_line(l);
	if (status == STATUS_OK && t->plot)
		status = plot_write(&l->plot, t->plot);
	return status == STATUS_OK && t->save ? save(l) : status;
}

static int do_step(Loop *l)
{
	Train *t = l->t;
	const Feed *ran;
	int64_t every = t->every ? t->every : l->per_epoch;
	if ((l->step - l->first) % every == 0)
		replay_keep(&t->replay, t->feed.session, l->step + 1);
	int status = carry_out(t, l->step, l->per_epoch, &ran);
	if (status != STATUS_OK)
		return status;
	l->step++;
	double loss = metrics_add(&t->metrics, ran->session, (double)ran->rows);
	if (!isfinite(loss)) {
		clear_progress(l);
		return replay_tell(&t->replay, t->feed.session, l->step, metric_name(&t->metrics),
				   again, l);
	}
	show_progress(l, loss);
	if (t->plot)
		plot_add(&l->plot.lines[0], (double)l->step, loss);
	if (l->step % l->per_epoch == 0)
		status = end_epoch(l);
	else if (l->step % every == 0)
		print_line(l);
	l->stopped = take_signal(t) && l->step < l->steps;
	return status;
}

static int all_steps(Loop *l)
{
	int status = STATUS_OK;
	l->began = now();
	while (l->step < l->steps && status == STATUS_OK && !l->stopped)
		status = do_step(l);
	if (status != STATUS_OK || !l->stopped)
		return status;
	clear_progress(l);
	status = l->t->plot ? plot_write(&l->plot, l->t->plot) : STATUS_OK;
	if (status == STATUS_OK)
		status = save(l);
	if (status == STATUS_OK)
		fprintf(stderr,
			"tsr: stopped behind step %" PRId64 " of %" PRId64
			": --resume=%s goes on\n",
			l->step, l->steps, l->t->save);
	return status;
}

int train_loop(Train *t)
{
	sigset_t held, before;
	int64_t rest = t->keep_last && t->table.rows % t->batch ? 1 : 0;
	Loop l = {.t = t,
		  .per_epoch = t->table.rows / t->batch + rest,
		  .terminal = isatty(STDOUT_FILENO)};
	l.steps = l.per_epoch * t->epochs;
	open_plot(&l);
	int status = t->resume ? resume(&l) : STATUS_OK;
	if (status == STATUS_OK)
		status = open_files(&l);
	hold_signals(&held);
	if (t->save)
		sigprocmask(SIG_BLOCK, &held, &before);
	if (status == STATUS_OK)
		status = all_steps(&l);
	if (t->save)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (l.log && !file_close(l.log) && status == STATUS_OK)
		status = report("%s: %s", t->log, strerror(errno));
	plot_free(&l.plot);
	return status;
}
