/* Sessions of tsr train: one for whole batches, others for what is left over and for validation, all with one state. And what
 * they give: results that are one number, of which the first of floats is the loss.
 */
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "runtime/session.h"
#include "runtime/cli_train.h"

/* ---- sessions ---- */

static int set_number(tsr_session *s, const Assignment *a)
{
	tsr_error error;
	int code = a->target == TARGET_SCALAR ? tsr_set_scalar(s, a->name, a->number, &error)
		   : a->kind == VALUE_NUMBER && a->target == TARGET_DIM
			   ? tsr_set_dim(s, a->name, (int64_t)a->number, &error)
			   : TSR_OK;
	return code == TSR_OK ? STATUS_OK : report_error(NULL, &error);
}

static int set_inputs(Feed *feed)
{
	tsr_error error;
	for (size_t i = 0; i < feed->table->ncolumns; i++) {
		const Array *batch = &feed->batches[i];
		tsr_array array = {.dtype = dtype_name(batch->dtype),
				   .rank = batch->rank,
				   .bytes = batch->bytes,
				   .data = batch->data};
		memcpy(array.extents, batch->extents, (size_t)batch->rank * sizeof *batch->extents);
		if (tsr_set_input(feed->session, feed->table->columns[i].of->name, &array, &error) !=
		    TSR_OK)
			return report_error(feed->table->columns[i].of->text, &error);
	}
	return STATUS_OK;
}

static int make_batches(Feed *feed)
{
	ArrayError why;
	feed->batches = calloc(feed->table->ncolumns + 1, sizeof *feed->batches);
	bool good = feed->batches || array_fail(&why, "out of memory");
	for (size_t i = 0; i < feed->table->ncolumns && good; i++)
		good = table_batch(&feed->table->columns[i], feed->rows, &feed->batches[i], &why);
	return good ? STATUS_OK : report("%s", why.text);
}

int feed_open(Feed *feed, const Table *table, int64_t rows, tsr_session *like, const char *routine,
	      const Assignment *values, size_t nvalues, tsr_model *model, tsr_pool *pool)
{
	tsr_error error;
	*feed = (Feed){.table = table, .rows = rows};
	feed->session = tsr_session_new(model, routine, &error);
	if (!feed->session || tsr_share_state(feed->session, like, &error) != TSR_OK)
		return report_error(NULL, &error);
	tsr_set_pool(feed->session, pool);
	int status = make_batches(feed);
	for (size_t i = 0; i < nvalues && status == STATUS_OK; i++)
		status = set_number(feed->session, &values[i]);
	if (status == STATUS_OK)
		status = set_inputs(feed);
	if (status == STATUS_OK && tsr_prepare(feed->session, &error) != TSR_OK)
		status = report_error(NULL, &error);
	return status;
}

void feed_close(Feed *feed)
{
	for (size_t i = 0; !feed->lent && feed->batches && i < feed->table->ncolumns; i++)
		array_free(&feed->batches[i]);
	free(feed->batches);
	if (!feed->lent)
		tsr_session_free(feed->session);
}

int feed_run(Feed *feed, const int64_t *order)
{
	tsr_error error;
	for (size_t i = 0; i < feed->table->ncolumns; i++)
		if (feed->table->columns[i].has_rows)
			table_gather(&feed->table->columns[i], order, feed->rows, feed->batches[i].data);
	return tsr_execute(feed->session, &error) == TSR_OK ? STATUS_OK : report_error(NULL, &error);
}

/* ---- figures ---- */

static Dtype dtype_of(const tsr_tensor *tensor)
{
	return dtype_from_name(tensor->dtype, strlen(tensor->dtype));
}

int figures_open(Figures *figures, const tsr_routine *routine)
{
	size_t n = (size_t)routine->noutputs + 1;
	*figures = (Figures){.routine = routine,
			     .outputs = calloc(n, sizeof *figures->outputs),
			     .sums = calloc(n, sizeof *figures->sums)};
	if (!figures->outputs || !figures->sums)
		return report("out of memory");
	for (int pass = 0; pass < 2; pass++)
		for (int32_t i = 0; i < routine->noutputs; i++) {
			const tsr_tensor *t = &routine->outputs[i];
			if (tensor_rank(t) == 0 && dtype_is_float(dtype_of(t)) == (pass == 0))
				figures->outputs[figures->n++] = i;
		}
	return figures->n > 0 ? STATUS_OK
			      : report("routine %s has no result that is one number, such as a loss",
				       routine->name);
}

void figures_close(Figures *figures)
{
	free(figures->outputs);
	free(figures->sums);
}

double figures_add(Figures *figures, const tsr_session *session, double weight)
{
	double loss = 0;
	for (int32_t i = 0; i < figures->n; i++) {
		const tsr_tensor *t = &figures->routine->outputs[figures->outputs[i]];
		Scalar value =
			scalar_read(dtype_of(t), tsr_output_at(session, figures->outputs[i])->data, 0);
		double x = dtype_is_float(dtype_of(t)) ? value.f : (double)value.i;
		figures->sums[i] += weight * x;
		loss = i == 0 ? x : loss;
	}
	figures->weight += weight;
	return loss;
}

void figures_clear(Figures *figures)
{
	figures->weight = 0;
	for (int32_t i = 0; i < figures->n; i++)
		figures->sums[i] = 0;
}

void figures_print(FILE *out, const Figures *figures)
{
	for (int32_t i = 0; i < figures->n; i++)
		fprintf(out, "%s%s %.6g", i ? ", " : "",
			figures->routine->outputs[figures->outputs[i]].name,
			figures->sums[i] / figures->weight);
}
