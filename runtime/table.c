/* A module's table, before anything is taken from it: counts, ranks, indices and sizes make sense.
 *
 * The table is memory of a loaded module, which is code that may do anything; what can be wrong
 * without malice is a table of another layout or a damaged file. Pointers are taken to point at
 * what they should, and what they point at is looked through, each part once.
 */
#include <string.h>

#include "base/size_program.h"
#include "runtime/session.h"

/* Calls refuse tensors of more than TSR_RANK_MAX axes; other routines of their module run. */
enum { MOST_AXES = 1024 };

/* One value is left in the end; each operator finds two. */
static bool size_fits(const tsr_size *size, int32_t ndims)
{
	int depth = 0;
	bool fits = size->n > 0 && size->code && size->text;
	for (int64_t i = 0; fits && i < size->n; i++) {
		int64_t code = size->code[2 * i], arg = size->code[2 * i + 1];
		bool leaf = code == TSR_SIZE_CONST || code == TSR_SIZE_DIM;
		depth += leaf ? 1 : -1;
		fits = code >= TSR_SIZE_CONST && code <= TSR_SIZE_FLOOR && depth >= 1 &&
		       depth <= SIZE_STACK && (code != TSR_SIZE_DIM || (arg >= 0 && arg < ndims));
	}
	return fits && depth == 1;
}

static bool dtype_fits(const char *dtype)
{
	return dtype && dtype_from_name(dtype, strlen(dtype)) < DTYPE_COUNT;
}

static bool tensors_fit(const tsr_tensor *tensors, int64_t n, int32_t ndims)
{
	bool fits = n >= 0 && (n == 0 || tensors);
	for (int64_t i = 0; fits && i < n; i++) {
		const tsr_tensor *t = &tensors[i];
		int64_t rank = (int64_t)t->nbatch + t->noutput + t->ninput;
		fits = t->name && t->type && dtype_fits(t->dtype) && t->nbatch >= 0 &&
		       t->noutput >= 0 && t->ninput >= 0 && rank <= MOST_AXES &&
		       (rank == 0 || (t->sizes && t->labels));
		for (int64_t axis = 0; fits && axis < rank; axis++)
			fits = size_fits(&t->sizes[axis], ndims);
	}
	return fits;
}

static bool indices_fit(const int32_t *indices, int64_t n, int32_t end)
{
	bool fits = n >= 0 && (n == 0 || indices);
	for (int64_t i = 0; fits && i < n; i++)
		fits = indices[i] >= 0 && indices[i] < end;
	return fits;
}

static bool routine_fits(const tsr_module *m, const tsr_routine *r)
{
	bool fits = r->name && r->invoke && indices_fit(r->dims, r->ndims, m->ndims) &&
		    indices_fit(r->params, r->nparams, m->nparams) &&
		    tensors_fit(r->inputs, r->ninputs, m->ndims) &&
		    tensors_fit(r->outputs, r->noutputs, m->ndims) &&
		    size_fits(&r->workspace, m->ndims) && r->nscalars >= 0 &&
		    (r->nscalars == 0 || r->scalars);
	for (int32_t i = 0; fits && i < r->nscalars; i++)
		fits = r->scalars[i].name && dtype_fits(r->scalars[i].dtype);
	return fits;
}

static bool texts_fit(const tsr_module *m)
{
	bool fits = m->name && m->source && m->producer && m->target && m->features &&
		    m->ndims >= 0 && (m->ndims == 0 || m->dims) && m->nchecks >= 0 &&
		    (m->nchecks == 0 || m->checks);
	for (int32_t i = 0; fits && i < m->ndims; i++)
		fits = m->dims[i].name;
	for (int32_t i = 0; fits && i < m->nchecks; i++)
		fits = m->checks[i].text && m->checks[i].place;
	return fits;
}

const char *table_fault(const tsr_module *m)
{
	if (!texts_fit(m))
		return "its names, dims or checks";
	if (!tensors_fit(m->params, m->nparams, m->ndims) || !size_fits(&m->state, m->ndims))
		return "its parameters or state";
	for (int32_t i = 0; i < m->nparams; i++)
		if (!size_fits(&m->params[i].offset, m->ndims))
			return "its parameters or state";
	if (!m->init || !m->pack)
		return "its functions";
	if (m->nroutines < 0 || (m->nroutines > 0 && !m->routines))
		return "its routines";
	for (int32_t i = 0; i < m->nroutines; i++)
		if (!routine_fits(m, &m->routines[i]))
			return "its routines";
	return NULL;
}
