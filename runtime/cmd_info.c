/* tsr info: the exported table as text. */
#include <string.h>

#include "runtime/cli.h"
#include "runtime/cuda/gpu.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **module = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (*module)
			argp_error(state, "one MODULE only, not '%s' too", arg);
		*module = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*module)
			argp_error(state, "MODULE is missing");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void print_tensor(const char *role, const tsr_tensor *t)
{
	printf("  %s %s : %s ", role, t->name, t->dtype);
	print_shape(stdout, t, NULL);
	fputs("  (", stdout);
	print_extents(stdout, t);
	fputs(")", stdout);
}

/* The product of the extents, as text: "4 * n * 28". */
static void print_bytes(const tsr_tensor *t)
{
	Dtype dtype = dtype_from_name(t->dtype, strlen(t->dtype));
	const char *unit = dtype_is_packed(dtype) ? "half bytes" : "bytes";
	int64_t constant = dtype_is_packed(dtype) ? 1 : (int64_t)dtype_bytes(dtype), value;
	int32_t rank = t->nbatch + t->noutput + t->ninput;
	bool large = false;
	for (int32_t i = 0; i < rank; i++)
		if (t->sizes[i].n == 1 && t->sizes[i].code[0] == TSR_SIZE_CONST) {
			value = t->sizes[i].code[1];
			large |= __builtin_mul_overflow(constant, value, &constant);
		}
	if (large)
		return;
	printf("  %lld", (long long)constant);
	for (int32_t i = 0; i < rank; i++)
		if (t->sizes[i].n != 1)
			printf(" * (%s)", t->sizes[i].text);
		else if (t->sizes[i].code[0] != TSR_SIZE_CONST)
			printf(" * %s", t->sizes[i].text);
	printf(" %s\n", unit);
}

static void print_param(const tsr_tensor *t)
{
	print_tensor("param", t);
	print_bytes(t);
	printf("    at byte %s of the state\n", t->offset.text);
}

static void print_routine(const tsr_model *model, const tsr_routine *r)
{
	const tsr_module *m = tsr_table(model);
	printf("routine %s\n", r->name);
	if (r->signature)
		printf("  C: %s\n", r->signature);
	for (int32_t i = 0; i < r->ndims; i++)
		printf("  dim %s\n", m->dims[r->dims[i]].name);
	for (int32_t i = 0; i < r->nscalars; i++)
		printf("  scalar %s : %s\n", r->scalars[i].name, r->scalars[i].dtype);
	for (int32_t i = 0; i < r->ninputs; i++) {
		print_tensor("input", &r->inputs[i]);
		print_bytes(&r->inputs[i]);
	}
	for (int32_t i = 0; i < r->noutputs; i++) {
		print_tensor("output", &r->outputs[i]);
		print_bytes(&r->outputs[i]);
	}
	for (int64_t i = 0; i < r->nparams; i++)
		printf("  reads %s\n", m->params[r->params[i]].name);
	printf("  workspace %s bytes\n", r->workspace.text);
	if (model->gpu)
		printf("  workspace of the device %s bytes\n",
		       gpu_workspace(model->gpu, (int32_t)(r - m->routines))->text);
}

/* That of each code, the host's last. */
static void print_target(const tsr_model *model)
{
	const char *target = model->gpu ? gpu_target(model->gpu, 0) : tsr_table(model)->target;
	printf("target %s", target);
	for (uint32_t i = 1; model->gpu && (target = gpu_target(model->gpu, i)); i++)
		printf(" %s", target);
	printf("%s%s\n", model->cpu ? " " : "", model->cpu ? model->cpu->target : "");
}

static void print_module(const tsr_model *model)
{
	const tsr_module *m = tsr_table(model);
	printf("module %s, made from %s by %s\n", m->name, m->source, m->producer);
	print_target(model);
	printf("features %s\n", *m->features ? m->features : "(none)");
	for (int32_t i = 0; i < m->ndims; i++)
		printf("dim %s >= %lld\n", m->dims[i].name, (long long)m->dims[i].at_least);
	printf("state %s bytes, %d parameter%s\n", m->state.text, m->nparams,
	       m->nparams == 1 ? "" : "s");
	for (int32_t i = 0; i < m->nparams; i++)
		print_param(&m->params[i]);
	for (int32_t i = 0; i < m->nroutines; i++)
		print_routine(model, &m->routines[i]);
	for (int32_t i = 0; i < m->nchecks; i++)
		printf("check %d (%s): %s\n", TSR_CHECK_FIRST + i, m->checks[i].place,
		       m->checks[i].text);
}

static const struct argp_child children[] = {{&cli_help_argp, 0, NULL, 0}, {0}};
const struct argp cmd_info_argp = {
	.parser = parse,
	.children = children,
	.args_doc = "MODULE",
	.doc = "Print a module's routines, tensors, shapes, parameters, sizes and target.\v"
	       "Behind a shape stands the array in storage order: batch, output, input."};

int cmd_info(int argc, char **argv)
{
	const char *path = NULL;
	tsr_error error;
	cli_check_options(&cmd_info_argp, argc, argv);
	argp_parse(&cmd_info_argp, argc, argv, ARGP_NO_HELP, NULL, &path);
	tsr_model *model = tsr_open(path, &error);
	if (!model)
		return report_error(NULL, &error);
	print_module(model);
	tsr_close(model);
	return STATUS_OK;
}
