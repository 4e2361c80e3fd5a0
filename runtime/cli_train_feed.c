/* Sessions of tsr train: one for whole batches, others for what is left over and for validation, all with one state. And what
 * they give: results that are one number, of which the first of floats is the loss.
 */
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "runtime/session.h"
#include "runtime/cli_train.h"

/* ---- sessions ---- */

static const Column *column_of(const Table *table, const Assignment *a)
{
	for (size_t i = 0; i < table->ncolumns; i++)
		if (table->columns[i].of == a)
			return &table->columns[i];
	return NULL;
}

/* Of a column the value is an array of a batch; what others come to is the feed's. */
static int copy_value(Feed *feed, const Assignment *from)
{
	ArrayError why;
	const Column *column = column_of(feed->table, from);
	Assignment *a = &feed->request.values[feed->request.nvalues++];
	*a = *from;
	a->array = (Array){0};
	a->bytes = NULL;
	if (!column)
		return STATUS_OK;
	a->kind = VALUE_ARRAY;
	if (!table_batch(column, feed->rows, &a->array, &why))
		return report("%s", why.text);
	feed->batches[column - feed->table->columns] = a->array.data;
	return STATUS_OK;
}

/* Parameters are set once: in the session whose state the others share. */
static int copy_values(Feed *feed, const Request *request, bool shares)
{
	int status = STATUS_OK;
	feed->request = *request;
	feed->request.nvalues = 0;
	feed->request.values = calloc(request->nvalues + 1, sizeof *request->values);
	feed->batches = calloc(feed->table->ncolumns + 1, sizeof *feed->batches);
	if (!feed->request.values || !feed->batches)
		return report("out of memory");
	if (shares)
		feed->request.params = feed->request.state = NULL;
	for (size_t i = 0; i < request->nvalues && status == STATUS_OK; i++)
		if (!shares || request->values[i].target != TARGET_PARAM)
			status = copy_value(feed, &request->values[i]);
	return status;
}

int feed_prepare(Feed *feed, const Request *request)
{
	int status = copy_values(feed, request, feed->session->lender != NULL);
	return status == STATUS_OK
		       ? request_fill(&feed->request, feed->session, feed->session->module)
		       : status;
}

int feed_share(Feed *feed, const Feed *like, const char *routine, const Request *request)
{
	tsr_error error;
	feed->session = tsr_session_new(like->session->model, routine, &error);
	if (!feed->session || tsr_share_state(feed->session, like->session, &error) != TSR_OK)
		return report_error(NULL, &error);
	tsr_set_pool(feed->session, request->pool);
	tsr_set_graph(feed->session, !request->no_graph);
	return feed_prepare(feed, request);
}

void feed_close(Feed *feed)
{
	for (size_t i = 0; i < feed->request.nvalues; i++) {
		free(feed->request.values[i].bytes);
		array_file_close(feed->request.values[i].file);
		array_free(&feed->request.values[i].array);
	}
	free(feed->request.values);
	free(feed->batches);
	tsr_session_free(feed->session);
}

int feed_run(Feed *feed, const int64_t *order)
{
	tsr_error error;
	for (size_t i = 0; i < feed->table->ncolumns; i++)
		if (feed->table->columns[i].has_rows &&
		    table_gather(&feed->table->columns[i], order, feed->rows, feed->batches[i]) !=
			    STATUS_OK)
			return STATUS_ERROR;
	return tsr_execute(feed->session, &error) == TSR_OK ? STATUS_OK
							    : report_error(NULL, &error);
}

/* ---- metrics ---- */

static Dtype dtype_of(const tsr_tensor *tensor)
{
	return dtype_from_name(tensor->dtype, strlen(tensor->dtype));
}

int metrics_open(Metrics *metrics, const tsr_routine *routine)
{
	size_t n = (size_t)routine->noutputs + 1;
	*metrics = (Metrics){.routine = routine,
			     .outputs = calloc(n, sizeof *metrics->outputs),
			     .sums = calloc(n, sizeof *metrics->sums)};
	if (!metrics->outputs || !metrics->sums)
		return report("out of memory");
	for (int pass = 0; pass < 2; pass++)
		for (int32_t i = 0; i < routine->noutputs; i++) {
			const tsr_tensor *t = &routine->outputs[i];
			if (tensor_rank(t) == 0 && dtype_is_float(dtype_of(t)) == (pass == 0))
				metrics->outputs[metrics->n++] = i;
		}
	return metrics->n > 0
		       ? STATUS_OK
		       : report("routine %s has no result that is one number, such as a loss",
				routine->name);
}

void metrics_close(Metrics *metrics)
{
	free(metrics->outputs);
	free(metrics->sums);
}

double metrics_add(Metrics *metrics, const tsr_session *session, double weight)
{
	double loss = 0;
	for (int32_t i = 0; i < metrics->n; i++) {
		const tsr_tensor *t = &metrics->routine->outputs[metrics->outputs[i]];
		Scalar value = scalar_read(dtype_of(t),
					   tsr_output_at(session, metrics->outputs[i])->data, 0);
		double x = dtype_is_float(dtype_of(t)) ? value.f : (double)value.i;
		metrics->sums[i] += weight * x;
		loss = i == 0 ? x : loss;
	}
	metrics->weight += weight;
	return loss;
}

void metrics_clear(Metrics *metrics)
{
	metrics->weight = 0;
	for (int32_t i = 0; i < metrics->n; i++)
		metrics->sums[i] = 0;
}

void metrics_print(FILE *out, const Metrics *metrics)
{
	for (int32_t i = 0; i < metrics->n; i++)
		fprintf(out, "%s%s %.6g", i ? ", " : "",
			metrics->routine->outputs[metrics->outputs[i]].name,
			metrics->sums[i] / metrics->weight);
}
