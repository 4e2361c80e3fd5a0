/* Are two plans of one program? Then states, arguments and codes of one are those of the other. */
#include "runtime/cuda/plan.h"

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool same_tensors(const tsr_tensor *a, const tsr_tensor *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!same_text(a[i].name, b[i].name) || !same_text(a[i].type, b[i].type) ||
		    !same_text(a[i].dtype, b[i].dtype))
			return false;
	return true;
}

static bool same_places(const tsr_tensor *a, const tsr_tensor *b, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (!same_text(a[i].offset.text, b[i].offset.text))
			return false;
	return true;
}

static bool same_routine(const tsr_routine *a, const tsr_routine *b)
{
	if (!same_text(a->name, b->name) || a->ndims != b->ndims || a->nscalars != b->nscalars ||
	    a->ninputs != b->ninputs || a->noutputs != b->noutputs)
		return false;
	for (int32_t i = 0; i < a->ndims; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	for (int32_t i = 0; i < a->nscalars; i++)
		if (!same_text(a->scalars[i].name, b->scalars[i].name) ||
		    !same_text(a->scalars[i].dtype, b->scalars[i].dtype))
			return false;
	return same_tensors(a->inputs, b->inputs, a->ninputs) &&
	       same_tensors(a->outputs, b->outputs, a->noutputs);
}

bool tables_agree(const tsr_module *a, const tsr_module *b)
{
	bool same = a->ndims == b->ndims && a->nparams == b->nparams &&
		    a->nroutines == b->nroutines && a->nchecks == b->nchecks &&
		    same_text(a->state.text, b->state.text);
	for (int32_t i = 0; same && i < a->ndims; i++)
		same = same_text(a->dims[i].name, b->dims[i].name);
	same = same && same_tensors(a->params, b->params, a->nparams) &&
	       same_places(a->params, b->params, a->nparams);
	for (int32_t i = 0; same && i < a->nroutines; i++)
		same = same_routine(&a->routines[i], &b->routines[i]);
	for (int32_t i = 0; same && i < a->nchecks; i++)
		same = same_text(a->checks[i].text, b->checks[i].text);
	return same;
}
