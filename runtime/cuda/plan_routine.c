/* Routines of a plan: what they take, their memory, what they launch. */
#include <stdio.h>

#include "runtime/cuda/plan_read.h"

static uint32_t read_id(Reader *r)
{
	text_expect(&r->text, "%");
	uint64_t id = text_number(&r->text, IDS - 1);
	uint32_t found = r->memory->by_id[id];
	if (!found)
		text_fault(&r->text, "there is no buffer %%%llu", (unsigned long long)id);
	if (!found)
		return 0;
	const PlanBuffer *buffer = &r->plan->buffers[found - 1];
	bool own = buffer->role == PLAN_PARAM || buffer->role == PLAN_CONST ||
		   buffer->role == PLAN_PACKED ||
		   buffer->routine == (uint32_t)(r->routine - r->plan->routines);
	if (!own)
		text_fault(&r->text, "%%%llu is another routine's", (unsigned long long)id);
	return found - 1;
}

/* What `tsr_module` says of a routine that has been read. */
void plan_close_routine(Reader *r)
{
	PlanRoutine *p = r->routine;
	if (!p || *r->text.fault)
		return;
	p->to = r->nlines;
	p->ninputs = r->ninputs - p->ninputs;
	p->noutputs = r->noutputs - p->noutputs;
	if (r->depth)
		text_fault(&r->text, "a loop does not end");
	if (p->name) {
		tsr_routine *t = &r->memory->table[p - r->plan->routines];
		t->ndims = (int32_t)p->ndims;
		t->nscalars = (int32_t)p->nscalars;
		t->ninputs = (int32_t)p->ninputs;
		t->noutputs = (int32_t)p->noutputs;
		t->dims = p->dims;
		t->scalars = p->scalars;
	}
}

void plan_read_routine(Reader *r, const char *key)
{
	Plan *plan = r->plan;
	bool start = strcmp(key, "start") == 0, pack = strcmp(key, "pack") == 0;
	plan_close_routine(r);
	r->tensor = NULL;
	if (plan->packs || (plan->starts && !pack))
		text_fault(&r->text, "no routine belongs here");
	PlanRoutine *p = r->routine = &plan->routines[plan->module.nroutines + plan->starts];
	*p = (PlanRoutine){.name = start || pack ? NULL : text_name(&r->text),
			   .ninputs = r->ninputs,
			   .noutputs = r->noutputs,
			   .from = r->nlines};
	static const int64_t nothing[] = {TSR_SIZE_CONST, 0};
	plan->starts |= start;
	plan->packs |= pack;
	p->workspace = (tsr_size){nothing, 1, "0"};
	if (!pack && text_expect(&r->text, "workspace"))
		p->workspace = text_size(&r->text);
	if (start || pack || *r->text.fault)
		return;
	r->memory->table[plan->module.nroutines++] =
		(tsr_routine){.name = p->name,
			      .workspace = {nothing, 1, "0"}, /* of the host */
			      .inputs = r->memory->inputs + r->ninputs,
			      .outputs = r->memory->outputs + r->noutputs,
			      .params = r->memory->indices + r->nindices};
}

static void read_dims(Reader *r)
{
	PlanRoutine *p = r->routine;
	p->dims = r->memory->indices + r->nindices;
	do {
		uint32_t dim = text_dim(&r->text, text_name(&r->text));
		if (dim >= (uint32_t)r->plan->module.ndims)
			text_fault(&r->text, "a routine takes dims alone");
		r->memory->indices[r->nindices++] = (int32_t)dim;
		p->ndims++;
	} while (!*r->text.fault && text_takes(&r->text, ","));
	if (p->name) /* the list of parameters stands behind */
		r->memory->table[p - r->plan->routines].params = r->memory->indices + r->nindices;
}

static void read_scalar(Reader *r)
{
	PlanRoutine *p = r->routine;
	if (!p->nscalars) {
		p->scalars = r->memory->scalars + r->nscalars;
		p->places = r->memory->places + r->nscalars;
	}
	tsr_scalar *scalar = &r->memory->scalars[r->nscalars];
	scalar->name = text_name(&r->text);
	scalar->dtype = dtype_name(text_dtype(&r->text));
	uint32_t *place = &r->memory->places[r->nscalars];
	*place = PLAN_NONE;
	if (text_takes(&r->text, "place")) {
		*place = text_dim(&r->text, text_name(&r->text));
		p->placed = true;
		if (*place == PLAN_NONE || (int32_t)*place < r->plan->module.ndims)
			text_fault(&r->text, "there is no such place");
	}
	if (p->scalars + p->nscalars != scalar)
		text_fault(&r->text, "scalars of a routine stand together");
	r->nscalars++;
	p->nscalars++;
}

static void read_arg_tensor(Reader *r, bool in)
{
	PlanRoutine *p = r->routine;
	PlanBuffer *buffer = plan_read_buffer(r, in ? PLAN_IN : PLAN_OUT);
	uint32_t *n = in ? &r->ninputs : &r->noutputs;
	uint32_t index =
		*n - (in ? p->ninputs : p->noutputs); /* they hold the first until it is closed */
	if (!index)
		*(in ? &p->inputs : &p->outputs) = (uint32_t)(buffer - r->plan->buffers);
	buffer->index = index;
	buffer->routine = (uint32_t)(p - r->plan->routines);
	if ((uint32_t)(buffer - r->plan->buffers) != (in ? p->inputs : p->outputs) + index)
		text_fault(&r->text, "inputs of a routine stand together, and so do results");
	buffer->elements = text_size(&r->text);
	tsr_tensor *tensor = &(in ? r->memory->inputs : r->memory->outputs)[*n];
	int32_t line =
		text_expect(&r->text, "line") ? (int32_t)text_number(&r->text, INT32_MAX) : 0;
	plan_open_tensor(r, tensor, buffer);
	tensor->line = line;
	++*n;
}

static void read_temp(Reader *r)
{
	PlanBuffer *buffer = plan_read_buffer(r, PLAN_TEMP);
	buffer->routine = (uint32_t)(r->routine - r->plan->routines);
	buffer->elements = text_size(&r->text);
	if (text_expect(&r->text, "at"))
		buffer->offset = text_size(&r->text);
}

/* Those that are read, then those of them that are assigned to. */
static void read_used(Reader *r, bool assigns)
{
	PlanRoutine *p = r->routine;
	const PlanBuffer *buffer = &r->plan->buffers[read_id(r)];
	if (*r->text.fault || buffer->role != PLAN_PARAM) {
		text_fault(&r->text, "it is no parameter");
		return;
	}
	int32_t *at = &r->memory->indices[r->nindices++];
	*at = (int32_t)buffer->index;
	p->state = true;
	tsr_routine *t = p->name ? &r->memory->table[p - r->plan->routines] : NULL;
	if (assigns && !p->nassigns)
		p->assigns = at;
	p->nassigns += assigns;
	if (!assigns && p->nassigns)
		text_fault(&r->text, "parameters that are read stand first");
	if (!assigns && t && t->params + t->nparams != at)
		text_fault(&r->text, "parameters of a routine stand together");
	if (!assigns && t)
		t->nparams++;
}

static void read_guard(Reader *r)
{
	PlanRoutine *p = r->routine;
	PlanGuard *guard = &r->memory->guards[r->nguards];
	if (!p->nguards)
		p->guards = guard;
	guard->code = (int)text_number(&r->text, INT32_MAX);
	int64_t check = (int64_t)guard->code - TSR_CHECK_FIRST;
	if (check < 0 || check >= r->plan->module.nchecks)
		text_fault(&r->text, "there is no check %d", guard->code);
	if (text_takes(&r->text, "eq"))
		guard->kind = PLAN_EQ;
	else if (text_takes(&r->text, "ge"))
		guard->kind = PLAN_GE;
	else if (text_expect(&r->text, "divides"))
		guard->kind = PLAN_DIVIDES;
	guard->a = text_size(&r->text);
	if (text_expect(&r->text, ","))
		guard->b = text_size(&r->text);
	r->nguards++;
	p->nguards++;
}

static uint32_t find_scalar(const Reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->routine->nscalars; i++)
		if (strcmp(r->routine->scalars[i].name, name) == 0)
			return i;
	return PLAN_NONE;
}

/* "28 low -1 step 2" */
static void read_windows(Reader *r, PlanAxis *axis)
{
	axis->windows = text_size(&r->text);
	text_expect(&r->text, "low");
	bool minus = text_takes(&r->text, "-");
	axis->low = (int)text_number(&r->text, WINDOWS_LOW_MOST);
	axis->low = minus ? -axis->low : axis->low;
	if (text_expect(&r->text, "step"))
		axis->step = (uint32_t)text_number(&r->text, WINDOWS_STEP_MOST);
	if (axis->step == 0)
		text_fault(&r->text, "windows of an axis that are all one");
	text_expect(&r->text, "of");
}

/* "64 in k by 1", or, where it has windows, "28 low -1 step 2 of 128 in 56 by 64" */
static void read_axis(Reader *r, bool windows)
{
	PlanAxis *axis = &r->memory->axes[r->naxes++];
	*axis = (PlanAxis){0};
	if (windows)
		read_windows(r, axis);
	axis->box = (uint32_t)text_number(&r->text, BOX_MOST);
	if (text_expect(&r->text, "in"))
		axis->extent = text_size(&r->text);
	if (text_expect(&r->text, "by"))
		axis->stride = text_size(&r->text);
}

static void read_tensor(Reader *r, PlanArg *arg)
{
	*arg = (PlanArg){.kind = ARG_TENSOR, .axes = r->memory->axes + r->naxes};
	arg->index = read_id(r);
	bool windows = false;
	while (!*r->text.fault &&
	       ((windows = text_takes(&r->text, "windows")) || text_takes(&r->text, "of"))) {
		read_axis(r, windows);
		if (windows && !arg->naxes)
			text_fault(&r->text, "the first axis of a tensor has windows");
		else if (arg->naxes > 1 && windows != arg->windows)
			text_fault(&r->text,
				   "all axes of a tensor but the first have windows, or none");
		arg->windows = windows;
		if (++arg->naxes > PLAN_AXES)
			text_fault(&r->text, "a tensor has more than %d axes", PLAN_AXES);
	}
	if (!arg->naxes)
		text_fault(&r->text, "a tensor has no axes");
	if (arg->windows && arg->naxes < WINDOWS_AXES)
		text_fault(&r->text, "a tensor with windows has fewer than %d axes", WINDOWS_AXES);
	Dtype dtype = *r->text.fault ? DTYPE_F16 : r->plan->buffers[arg->index].dtype;
	if (dtype != DTYPE_F16 && dtype != DTYPE_BF16 && dtype != DTYPE_F32)
		text_fault(&r->text, "a tensor is of f16, bf16 or f32");
}

static bool begins(const Reader *r, const char *text)
{
	size_t n = strlen(text);
	return (size_t)(r->text.end - r->text.at) > n && memcmp(r->text.at, text, n) == 0;
}

static void read_arg(Reader *r)
{
	PlanArg *arg = &r->memory->args[r->nargs++];
	bool result = begins(r, "result %");
	if (result || begins(r, "tensor %")) {
		text_takes(&r->text, result ? "result" : "tensor");
		read_tensor(r, arg);
		arg->stored = result;
		if (result && arg->windows)
			text_fault(&r->text, "a result has no windows");
		return;
	}
	if (r->text.at < r->text.end && *r->text.at == '%') {
		*arg = (PlanArg){.kind = ARG_BUFFER, .index = read_id(r)};
		if (text_takes(&r->text, "+"))
			arg->base = text_size(&r->text);
		return;
	}
	bool scalar = r->text.at < r->text.end && *r->text.at == '$';
	r->text.at += scalar;
	const char *name = text_name(&r->text);
	if (scalar)
		*arg = (PlanArg){.kind = ARG_SCALAR, .index = find_scalar(r, name)};
	else
		*arg = (PlanArg){.kind = ARG_DIM, .index = text_dim(&r->text, name)};
	if (arg->index == PLAN_NONE)
		text_fault(&r->text, "'%.40s' is no %s", name, scalar ? "scalar" : "dim");
}

static void read_launch(Reader *r)
{
	PlanLine *line = &r->plan->lines[r->nlines++];
	*line = (PlanLine){.function = text_name(&r->text), .place = ""};
	if (text_expect(&r->text, "blocks"))
		line->blocks = text_size(&r->text);
	if (text_takes(&r->text, "most"))
		line->most = (uint32_t)text_number(&r->text, INT32_MAX);
	if (text_expect(&r->text, "threads"))
		line->threads = (uint32_t)text_number(&r->text, 1024);
	if (text_takes(&r->text, "shared"))
		line->shared = (uint32_t)text_number(&r->text, SHARED_MOST);
	text_expect(&r->text, "args");
	line->args = r->memory->args + r->nargs;
	text_skip(&r->text);
	while (!*r->text.fault && r->text.at < r->text.end && !text_takes(&r->text, "from")) {
		if (line->nargs && !text_expect(&r->text, ","))
			return;
		text_skip(&r->text);
		read_arg(r);
		if (++line->nargs > LINE_ARGS)
			text_fault(&r->text, "a launch has more than %d arguments", LINE_ARGS);
	}
	line->place = text_rest(&r->text);
	if (r->plan->most_args < line->nargs)
		r->plan->most_args = line->nargs;
}

static void read_pairs(Reader *r, PlanLine *line)
{
	line->pairs = r->memory->pairs + r->npairs;
	do {
		uint32_t a = read_id(r), b = read_id(r);
		if (r->plan->buffers[a].role != PLAN_TEMP || r->plan->buffers[b].role != PLAN_TEMP)
			text_fault(&r->text, "temporaries alone are exchanged");
		r->memory->pairs[r->npairs++] = (PlanPair){a, b};
		line->npairs++;
	} while (!*r->text.fault && text_takes(&r->text, ","));
}

/* What stands behind the word; PLAN_NONE: the word does not stand there. */
static uint32_t read_number(Reader *r, const char *word)
{
	if (!text_takes(&r->text, word))
		return PLAN_NONE;
	uint32_t id = read_id(r);
	if (r->plan->buffers[id].dtype != DTYPE_I32)
		text_fault(&r->text, "a loop reads an i32");
	return id;
}

static void read_loop(Reader *r)
{
	uint32_t number = r->nlines++;
	PlanLine *line = &r->plan->lines[number];
	*line = (PlanLine){.loop = true, .place = "", .made = PLAN_NONE, .until = PLAN_NONE};
	line->step = text_dim(&r->text, text_name(&r->text));
	if (line->step == PLAN_NONE || (int32_t)line->step < r->plan->module.ndims)
		text_fault(&r->text, "a loop counts no step");
	if (text_expect(&r->text, "count"))
		line->count = text_size(&r->text);
	if (!line->count.n)
		text_fault(&r->text, "a loop has no number of steps");
	line->made = read_number(r, "made");
	line->down = text_takes(&r->text, "down");
	line->until = read_number(r, "until");
	if (text_takes(&r->text, "exchange"))
		read_pairs(r, line);
	if (r->depth == NEST)
		text_fault(&r->text, "loops nest %d deep", NEST);
	else
		r->open[r->depth++] = number;
}

static void read_end(Reader *r)
{
	if (!r->depth) {
		text_fault(&r->text, "no loop ends here");
		return;
	}
	r->plan->lines[r->open[--r->depth]].end = r->nlines;
}

void plan_read_body(Reader *r, const char *key)
{
	if (strcmp(key, "dims") == 0)
		read_dims(r);
	else if (strcmp(key, "scalar") == 0)
		read_scalar(r);
	else if (strcmp(key, "in") == 0 || strcmp(key, "out") == 0)
		read_arg_tensor(r, *key == 'i');
	else if (strcmp(key, "temp") == 0)
		read_temp(r);
	else if (strcmp(key, "reads") == 0 || strcmp(key, "assigns") == 0)
		read_used(r, *key == 'a');
	else if (strcmp(key, "guard") == 0)
		read_guard(r);
	else if (strcmp(key, "launch") == 0)
		read_launch(r);
	else if (strcmp(key, "for") == 0)
		read_loop(r);
	else if (strcmp(key, "end") == 0)
		read_end(r);
	else
		text_fault(&r->text, "'%.40s' does not belong here", key);
}
