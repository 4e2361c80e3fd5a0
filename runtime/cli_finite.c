/* tsr run --check-finite: the first tensor with an element that is no finite number.
 *
 * Results are looked at in the order of the lines that name them, so that with --keep=all the first
 * one found is where it began.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "runtime/cli.h"
#include "runtime/session.h"

typedef struct Seen {
	const char *kind;
	const tsr_tensor *tensor;
	tsr_array array;
	int32_t line, at; /* of results: the line, and the place among them */
} Seen;

typedef enum Fault { FAULT_NAN, FAULT_INFINITE } Fault;

/* The place of the first such element; -1: none. */
static int64_t find_fault(const tsr_array *array, Fault fault)
{
	Dtype dtype = dtype_from_name(array->dtype, strlen(array->dtype));
	if (!dtype_is_float(dtype))
		return -1;
	int64_t n = (int64_t)(array->bytes / dtype_bytes(dtype));
	for (int64_t i = 0; i < n; i++) {
		double x = scalar_read(dtype, array->data, i).f;
		if (fault == FAULT_NAN ? isnan(x) : isinf(x))
			return i;
	}
	return -1;
}

static void print_element(const Seen *seen, int64_t element, Fault fault)
{
	int64_t index[TSR_RANK_MAX];
	for (int32_t i = seen->array.rank; i-- > 0; element /= seen->array.extents[i])
		index[i] = element % seen->array.extents[i];
	fprintf(stderr, "%s %s: ", seen->kind, seen->tensor->name);
	for (int32_t i = 0; i < seen->array.rank; i++)
		fprintf(stderr, "%s%lld", i ? ", " : "element [", (long long)index[i]);
	fprintf(stderr, "%s is %s\n", seen->array.rank > 0 ? "]" : "it",
		fault == FAULT_NAN ? "nan" : "infinite");
}

static void print_fault(const tsr_session *s, const Seen *seen, int64_t element, Fault fault)
{
	if (seen->line > 0)
		fprintf(stderr, "%s:%d: ", s->module->source, seen->line);
	print_element(seen, element, fault);
}

static int by_line(const void *a, const void *b)
{
	const Seen *x = a, *y = b;
	int order = (x->line > y->line) - (x->line < y->line);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static size_t gather(const tsr_session *s, Seen *seen)
{
	const tsr_routine *r = s->routine;
	size_t n = 0;
	for (int32_t i = 0; i < r->ninputs; i++)
		seen[n++] = (Seen){.kind = "input", .tensor = &r->inputs[i], .array = s->inputs[i].array};
	for (int64_t i = 0; i < r->nparams; i++) {
		const tsr_tensor *param = &s->module->params[r->params[i]];
		Seen one = {.kind = "parameter", .tensor = param};
		if (tsr_param(s, param->name, &one.array, NULL) == TSR_OK)
			seen[n++] = one;
	}
	size_t first = n;
	for (int32_t i = 0; i < r->noutputs; i++)
		seen[n++] = (Seen){.kind = "result",
				   .tensor = &r->outputs[i],
				   .array = *tsr_output_at(s, i),
				   .line = r->outputs[i].line,
				   .at = i};
	qsort(seen + first, n - first, sizeof *seen, by_line);
	return n;
}

/* The first tensor with such an element; `n`: there is none. */
static size_t find_first(const Seen *seen, size_t n, Fault fault, int64_t *element)
{
	size_t i = 0;
	while (i < n && (*element = find_fault(&seen[i].array, fault)) < 0)
		i++;
	return i;
}

int check_finite(const tsr_session *s)
{
	const tsr_routine *r = s->routine;
	size_t most = (size_t)r->ninputs + (size_t)r->nparams + (size_t)r->noutputs;
	Seen *seen = calloc(most + 1, sizeof *seen);
	if (!seen)
		return report("out of memory");
	size_t n = gather(s, seen);
	int64_t nan_at, infinite_at;
	size_t nan = find_first(seen, n, FAULT_NAN, &nan_at);
	size_t infinite = find_first(seen, n, FAULT_INFINITE, &infinite_at);
	fflush(stdout);
	if (nan < n || infinite < n)
		fputs("tsr: error: ", stderr);
	if (nan < n)
		print_fault(s, &seen[nan], nan_at, FAULT_NAN);
	if (nan < n && infinite < nan)
		fputs("  and before it ", stderr);
	if (infinite < nan)
		print_fault(s, &seen[infinite], infinite_at, FAULT_INFINITE);
	free(seen);
	return nan < n || infinite < n ? STATUS_ERROR : STATUS_OK;
}

/* ---- parameters alone ---- */

int32_t find_not_finite(const tsr_session *s, int64_t *element)
{
	for (int64_t i = 0; i < s->routine->nparams; i++) {
		tsr_array array;
		int32_t param = s->routine->params[i];
		if (tsr_param(s, s->module->params[param].name, &array, NULL) != TSR_OK)
			continue;
		*element = find_fault(&array, FAULT_NAN);
		*element = *element < 0 ? find_fault(&array, FAULT_INFINITE) : *element;
		if (*element >= 0)
			return param;
	}
	return -1;
}

void print_not_finite(const tsr_session *s, int32_t param, int64_t element)
{
	Seen seen = {.kind = "parameter", .tensor = &s->module->params[param]};
	if (tsr_param(s, seen.tensor->name, &seen.array, NULL) == TSR_OK)
		print_element(&seen, element,
			      find_fault(&seen.array, FAULT_NAN) == element ? FAULT_NAN
									    : FAULT_INFINITE);
}
