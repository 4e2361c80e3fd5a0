/* Reads a plan line by line. Every table has as much room as the lines could ask for, so that nothing moves
 * while it is filled; the lists of a routine or a tensor are parts of tables that hold those of all. */
#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "runtime/cuda/plan_read.h"

enum { PLAN_BYTES = 1 << 26, PACKED_ALIGNED = 64 };
#define PACKED_MOST (INT64_C(1) << 40)

/* ---- the model ---- */

static void read_dim(Reader *r, bool step)
{
	Plan *plan = r->plan;
	int32_t n = plan->world.ndims;
	if (n == DIMS || (!step && n > plan->module.ndims) || r->tensor || r->routine) {
		text_fault(&r->text, "no dim belongs here");
		return;
	}
	tsr_dim *dim = &r->memory->dims[n];
	dim->name = text_name(&r->text);
	if (!step && text_expect(&r->text, "at least"))
		dim->at_least = (int64_t)text_number(&r->text, INT64_MAX);
	plan->world.ndims++;
	plan->module.ndims += !step;
	r->text.ndims = plan->world.ndims;
}

static void read_check(Reader *r)
{
	tsr_module *module = &r->plan->module;
	tsr_check *check = &r->memory->checks[module->nchecks];
	uint64_t code = text_number(&r->text, INT32_MAX);
	if (code != (uint64_t)TSR_CHECK_FIRST + (uint64_t)module->nchecks)
		text_fault(&r->text, "checks are not in the order of their codes");
	char *place = (char *)text_rest(&r->text), *end = strstr(place, ": ");
	if (!end)
		text_fault(&r->text, "a check has no text");
	else
		*end = '\0';
	check->place = place;
	check->text = end ? end + 2 : "";
	module->nchecks++;
}

PlanBuffer *plan_read_buffer(Reader *r, PlanRole role)
{
	Plan *plan = r->plan;
	PlanBuffer *buffer = &plan->buffers[plan->nbuffers];
	text_expect(&r->text, "%");
	uint64_t id = text_number(&r->text, IDS - 1);
	if (r->memory->by_id[id])
		text_fault(&r->text, "there are two buffers %%%llu", (unsigned long long)id);
	*buffer = (PlanBuffer){.role = role};
	buffer->name = text_name(&r->text);
	buffer->dtype = text_dtype(&r->text);
	if (!*r->text.fault)
		r->memory->by_id[id] = ++plan->nbuffers;
	return buffer;
}

static void read_const(Reader *r)
{
	PlanBuffer *buffer = plan_read_buffer(r, PLAN_CONST);
	buffer->elements = text_size(&r->text);
	if (text_expect(&r->text, "symbol"))
		buffer->symbol = text_name(&r->text);
}

/* The dtype that the text of a tensor's type begins with: the buffer's, or one of which two elements are a byte of
 * that. */
static const char *type_dtype(Reader *r, const char *type, Dtype stored)
{
	Dtype dtype = dtype_from_name(type, strcspn(type, " "));
	bool halves = dtype != DTYPE_NONE && dtype_is_packed(dtype) && stored == DTYPE_U8;
	if (dtype != stored && !halves)
		text_fault(&r->text, "a type is not that of its buffer");
	return dtype_name(halves ? dtype : stored);
}

/* Its axes follow. */
void plan_open_tensor(Reader *r, tsr_tensor *tensor, const PlanBuffer *buffer)
{
	*tensor = (tsr_tensor){.name = buffer->name,
			       .dtype = dtype_name(buffer->dtype),
			       .sizes = r->memory->sizes + r->nsizes,
			       .labels = r->memory->labels + r->nsizes,
			       .offset = buffer->offset};
	if (text_expect(&r->text, "type")) {
		tensor->type = text_rest(&r->text);
		tensor->dtype = type_dtype(r, tensor->type, buffer->dtype);
	}
	r->tensor = tensor;
}

static void read_first(Reader *r, PlanParam *param)
{
	if (text_takes(&r->text, "uniform")) {
		param->first = PLAN_UNIFORM;
		param->key = text_number(&r->text, UINT64_MAX);
		if (text_expect(&r->text, "fan"))
			param->fan = text_size(&r->text);
	} else if (text_takes(&r->text, "value")) {
		param->first = PLAN_VALUE;
		param->value = text_real(&r->text);
	} else if (text_expect(&r->text, "computed")) {
		param->first = PLAN_COMPUTED;
	}
}

static void read_param(Reader *r)
{
	tsr_module *module = &r->plan->module;
	PlanParam *param = &r->plan->params[module->nparams];
	PlanBuffer *buffer = plan_read_buffer(r, PLAN_PARAM);
	if (r->routine)
		text_fault(&r->text, "no parameter belongs here");
	param->buffer = (uint32_t)(buffer - r->plan->buffers);
	buffer->index = (uint32_t)module->nparams;
	buffer->elements = text_size(&r->text);
	if (text_expect(&r->text, "at"))
		buffer->offset = text_size(&r->text);
	read_first(r, param);
	plan_open_tensor(r, &r->memory->params[module->nparams++], buffer);
}

/* The elements are a number: what is packed is of no dim. */
static void read_packed(Reader *r)
{
	PlanBuffer *buffer = plan_read_buffer(r, PLAN_PACKED);
	uint64_t n = text_number(&r->text, PACKED_MOST);
	buffer->place = text_expect(&r->text, "at") ? text_number(&r->text, PACKED_MOST) : 0;
	uint64_t end = buffer->place + n * dtype_bytes(buffer->dtype);
	if (r->plan->packed < end)
		r->plan->packed = end;
	if (buffer->place % PACKED_ALIGNED)
		text_fault(&r->text, "what is packed has no such place");
}

/* Rows stand in the order of storage. */
static void read_axis(Reader *r)
{
	tsr_tensor *t = r->tensor;
	if (!t) {
		text_fault(&r->text, "no axis belongs here");
		return;
	}
	if (text_takes(&r->text, "batch") && !t->noutput && !t->ninput)
		t->nbatch++;
	else if (text_takes(&r->text, "output") && !t->ninput)
		t->noutput++;
	else if (text_takes(&r->text, "input"))
		t->ninput++;
	else
		text_fault(&r->text, "an axis is of batch, output or input, in this order");
	r->memory->sizes[r->nsizes] = text_size(&r->text);
	if (text_takes(&r->text, "label"))
		r->memory->labels[r->nsizes] = text_name(&r->text);
	r->nsizes++;
}

const char *plan_own_words(const Plan *plan, const PlanRoutine *routine)
{
	bool starts = plan->starts && routine == &plan->routines[plan->module.nroutines];
	return starts ? "the initialisers" : "what is packed";
}

/* ---- lines ---- */

static void read_head(Reader *r, const char *key)
{
	Plan *plan = r->plan;
	PlanText *t = &r->text;
	if (strcmp(key, "overlap") == 0)
		plan->overlaps = true;
	else if (strcmp(key, "target") == 0)
		plan->target = plan->module.target = text_rest(t);
	else if (strcmp(key, "prefix") == 0)
		plan->module.name = text_rest(t);
	else if (strcmp(key, "source") == 0)
		plan->module.source = text_rest(t);
	else if (strcmp(key, "producer") == 0)
		plan->module.producer = text_rest(t);
	else if (strcmp(key, "dim") == 0 || strcmp(key, "step") == 0 || strcmp(key, "place") == 0)
		read_dim(r, *key != 'd');
	else if (strcmp(key, "state") == 0)
		plan->module.state = text_size(t);
	else if (strcmp(key, "check") == 0)
		read_check(r);
	else if (strcmp(key, "const") == 0)
		read_const(r);
	else if (strcmp(key, "param") == 0)
		read_param(r);
	else if (strcmp(key, "packed") == 0)
		read_packed(r);
	else
		text_fault(t, "'%.40s' does not belong here", key);
}

static void read_line(Reader *r)
{
	const char *key = text_name(&r->text);
	if (strcmp(key, "axis") == 0) {
		read_axis(r);
	} else if (strcmp(key, "routine") == 0 || strcmp(key, "start") == 0 ||
		   strcmp(key, "pack") == 0) {
		plan_read_routine(r, key);
	} else if (strcmp(key, "code") == 0) {
		plan_close_routine(r);
		r->done = true;
	} else {
		r->tensor = NULL;
		r->routine ? plan_read_body(r, key) : read_head(r, key);
	}
	if (!*r->text.fault && r->text.at < r->text.end)
		text_fault(&r->text, "'%.40s' is not understood", r->text.at);
}

/* ---- memory ---- */

void plan_free(Plan *plan)
{
	struct PlanMemory *m = plan ? plan->memory : NULL;
	if (m) {
		void *all[] = {m->room,	       m->codes,   m->dims,   m->checks,     m->params,
			       m->inputs,      m->outputs, m->sizes,  m->labels,     m->table,
			       m->scalars,     m->indices, m->places, m->guards,     m->args,
			       m->axes,	       m->pairs,   m->by_id,  plan->buffers, plan->params,
			       plan->routines, plan->lines};
		for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
			free(all[i]);
	}
	free(m);
	free(plan);
}

/* `lines` of so many bytes in all. */
static Plan *plan_new(size_t lines, size_t bytes)
{
	Plan *plan = calloc(1, sizeof *plan);
	struct PlanMemory *m = plan ? calloc(1, sizeof *m) : NULL;
	if (!m) {
		free(plan);
		return NULL;
	}
	plan->memory = m;
	bool all =
		(m->room = malloc(5 * bytes)) && (m->codes = calloc(2 * bytes, sizeof *m->codes)) &&
		(m->dims = calloc(lines, sizeof *m->dims)) &&
		(m->checks = calloc(lines, sizeof *m->checks)) &&
		(m->params = calloc(lines, sizeof *m->params)) &&
		(m->inputs = calloc(lines, sizeof *m->inputs)) &&
		(m->outputs = calloc(lines, sizeof *m->outputs)) &&
		(m->sizes = calloc(lines, sizeof *m->sizes)) &&
		(m->labels = calloc(lines, sizeof *m->labels)) &&
		(m->table = calloc(lines, sizeof *m->table)) &&
		(m->scalars = calloc(lines, sizeof *m->scalars)) &&
		(m->places = calloc(lines, sizeof *m->places)) &&
		(m->indices = calloc(bytes, sizeof *m->indices)) &&
		(m->guards = calloc(lines, sizeof *m->guards)) &&
		(m->args = calloc(bytes, sizeof *m->args)) &&
		(m->axes = calloc(bytes / 8 + 1, sizeof *m->axes)) && /* one takes more letters */
		(m->pairs = calloc(bytes, sizeof *m->pairs)) &&
		(m->by_id = calloc(IDS, sizeof *m->by_id)) &&
		(plan->buffers = calloc(lines, sizeof *plan->buffers)) &&
		(plan->params = calloc(lines, sizeof *plan->params)) &&
		(plan->routines = calloc(lines + 2, sizeof *plan->routines)) &&
		(plan->lines = calloc(lines, sizeof *plan->lines));
	if (all)
		return plan;
	plan_free(plan);
	return NULL;
}

static const char line_start[] = "//tsr: ";
enum { START = sizeof line_start - 1 };

static bool is_line(const char *text) { return strncmp(text, line_start, START) == 0; }

/* Bytes of the lines in front; how many there are. */
static size_t measure(const char *text, size_t *lines)
{
	const char *at = text;
	for (*lines = 0; is_line(at); ++*lines) {
		const char *end = strchr(at, '\n');
		at = end ? end + 1 : at + strlen(at);
	}
	return (size_t)(at - text);
}

/* A check that no guard speaks of is one of indices, which a kernel makes. */
static bool kernels_check(const Reader *r)
{
	for (int32_t c = 0; c < r->plan->module.nchecks; c++) {
		bool guarded = false;
		for (uint32_t g = 0; g < r->nguards && !guarded; g++)
			guarded = r->memory->guards[g].code == TSR_CHECK_FIRST + c;
		if (!guarded)
			return true;
	}
	return false;
}

static void finish(Reader *r)
{
	Plan *plan = r->plan;
	tsr_module *m = &plan->module;
	if (!r->done)
		text_fault(&r->text, "the plan is cut short");
	else if (!plan->target || !m->name || !m->source || !m->producer || !m->state.n)
		text_fault(&r->text, "target, prefix, source, producer or state is missing");
	plan->nlines = r->nlines;
	m->abi = TSR_ABI;
	m->bytes = sizeof *m;
	m->features = "";
	m->dims = r->memory->dims;
	m->checks = r->memory->checks;
	m->params = r->memory->params;
	m->routines = r->memory->table;
	plan->world = (tsr_module){.ndims = plan->world.ndims, .dims = m->dims};
	plan->checks = !*r->text.fault && kernels_check(r);
}

static const char digest_line[] = "//tsr: digest ";

/* The line behind the digest, if there is one; NULL: what is behind it is not what it was made of. */
static const char *behind_digest(const char *text)
{
	const char *at = strchr(text, '\n') + 1;
	if (strncmp(at, digest_line, sizeof digest_line - 1) != 0)
		return at;
	char *end;
	uint64_t told = strtoull(at + sizeof digest_line - 1, &end, 16);
	return *end == '\n' && told == text_digest(end + 1, strlen(end + 1)) ? end + 1 : NULL;
}

/* Text that begins as a plan of this version does; where its lines begin. NULL with *error. */
static const char *plan_lines(const char *path, const char *text, tsr_error *error)
{
	const char *at =
		strncmp(text, "//tsr: plan 2\n", START + 7) == 0 ? behind_digest(text) : "";
	if (!at)
		session_fail(error, TSR_FAIL_MODULE,
			     "%s: it was cut short or changed since tsrc wrote it", path);
	else if (!*at)
		session_fail(error, TSR_FAIL_MODULE,
			     "%s: its plan is not one that this version reads", path);
	return at && *at ? at : NULL;
}

Plan *plan_read(const char *path, const char *text, tsr_error *error)
{
	size_t lines, bytes = measure(text, &lines), number = 0;
	const char *at = plan_lines(path, text, error);
	Plan *plan = at && bytes <= PLAN_BYTES ? plan_new(lines + 1, bytes + 1) : NULL;
	if (at && !plan)
		session_fail(error, TSR_FAIL_MEMORY, "%s: its plan is too large", path);
	if (!plan)
		return NULL;
	Reader r = {.plan = plan, .memory = plan->memory};
	r.text = (PlanText){.room = plan->memory->room,
			    .codes = plan->memory->codes,
			    .dims = plan->memory->dims};
	for (number = at == strchr(text, '\n') + 1 ? 2 : 3;
	     !r.done && !*r.text.fault && is_line(at); number++) {
		r.text.at = at + START;
		r.text.end = strchrnul(at, '\n');
		read_line(&r);
		at = strchrnul(at, '\n');
		at += *at == '\n';
	}
	finish(&r);
	if (!*r.text.fault)
		return plan;
	session_fail(error, TSR_FAIL_MODULE, "%s:%zu: the plan is damaged: %s", path, number - 1,
		     r.text.fault);
	plan_free(plan);
	return NULL;
}
