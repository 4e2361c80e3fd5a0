/* Entry functions as C: the same guards in the same order as jit_guards.c. */
#include "codegen/c_text.h"
#include "base/room.h"
#include "loops/build.h"
#include "runtime/tsr.h"
#include "loops/steps.h"

static const char checked[] =
	"/* Sizes: TSR_NONE where a result does not fit or a quotient leaves a remainder. */\n"
	"#define TSR_NONE INT64_MIN\n\n"
	"static inline int64_t tsr_add_checked(int64_t a, int64_t b)\n{\n"
	"\tif (a == TSR_NONE || b == TSR_NONE || (b > 0 && a > INT64_MAX - b) ||\n"
	"\t    (b < 0 && a < -INT64_MAX - b))\n\t\treturn TSR_NONE;\n\treturn a + b;\n}\n\n"
	"static inline int64_t tsr_sub_checked(int64_t a, int64_t b)\n{\n"
	"\treturn b == TSR_NONE ? TSR_NONE : tsr_add_checked(a, -b);\n}\n\n"
	"static inline int64_t tsr_mul_checked(int64_t a, int64_t b)\n{\n"
	"\tif (a == TSR_NONE || b == TSR_NONE)\n\t\treturn TSR_NONE;\n"
	"\tint64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;\n"
	"\treturn x != 0 && y > INT64_MAX / x ? TSR_NONE : a * b;\n}\n\n"
	"static inline int64_t tsr_div_checked(int64_t a, int64_t b)\n{\n"
	"\tif (a == TSR_NONE || b == TSR_NONE || b == 0 || a % b != 0)\n\t\treturn TSR_NONE;\n"
	"\treturn a / b;\n}\n\n"
	"static inline int64_t tsr_floor_checked(int64_t a, int64_t b)\n{\n"
	"\treturn a == TSR_NONE ? TSR_NONE : tsr_floor_div(a, b);\n}\n\n";

static const char helpers[] =
	"/* Leaves the text for the caller, returns the code. */\n"
	"static inline int tsr_fail(const tsr_call *call, int code, const char *text)\n{\n"
	"\tif (call != NULL && call->message != NULL)\n\t\t*call->message = text;\n\treturn "
	"code;\n}\n\n"
	"static inline int tsr_misaligned(const void *pointer, size_t bytes)\n{\n"
	"\treturn (uintptr_t)pointer % bytes != 0;\n}\n\n";

static const char uniform_fill[] =
	"/* Uniform in +-1/sqrt(fan_in). */\n"
	"static void tsr_uniform_%s(%s *to, int64_t n, uint64_t seed, uint64_t name, "
	"int64_t fan_in)\n{\n"
	"\tconst %s bound = (%s)(1 / sqrt((double)(fan_in > 0 ? fan_in : 1)));\n"
	"\tconst tsr_u4x32 key = {{(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)name,\n"
	"\t\t\t\t(uint32_t)(name >> 32)}};\n"
	"\tfor (int64_t block = 0; block < n / 4; block++) {\n"
	"\t\tconst tsr_u4x32 x = tsr_threefry4x32_u4x32(key, tsr_u4x32_from_i64(block));\n"
	"\t\tfor (int64_t j = 0; j < 4; j++)\n"
	"\t\t\tto[block * 4 + j] = %s;\n\t}\n"
	"\tconst tsr_u4x32 x = tsr_threefry4x32_u4x32(key, tsr_u4x32_from_i64(n / 4));\n"
	"\tfor (int64_t j = 0; j < n %% 4; j++)\n"
	"\t\tto[n / 4 * 4 + j] = %s;\n}\n\n";

/* ---- sizes ---- */

static bool is_constant(const Module *m, Size size)
{
	int64_t value;
	return size_is_const(m->program->sizes, size, &value);
}

static void put_dim_checks(FILE *out, const Module *m, const DimId *dims, uint32_t ndims,
			   const char *bad)
{
	for (uint32_t i = 0; i < ndims; i++) {
		int64_t least = sizes_dim(m->program->sizes, dims[i])->at_least;
		const char *name = m->dims[dims[i]];
		fprintf(out, "\tif (%s < %lld || %s > INT64_C(%lld))\n\t\treturn ", name,
			(long long)(least > 0 ? least : 0), name, (long long)DIM_MOST);
		if (bad)
			fprintf(out, "%s;\n", bad);
		else
			fprintf(out, "tsr_fail(call, TSR_BAD_DIM, %s);\n",
				c_string(m->arena, module_dim_message(m, dims[i])));
	}
}

static void put_size_function(FILE *out, const Module *m, const char *signature, Size size,
			      const DimId *dims, uint32_t ndims)
{
	fprintf(out, "%s\n{\n", signature);
	put_dim_checks(out, m, dims, ndims, "SIZE_MAX");
	c_begin_totals(m);
	c_put_totals(out, m, size);
	fprintf(out, "\tconst int64_t tsr_bytes = %s;\n", c_checked_size(m, size));
	fprintf(out, "\treturn tsr_bytes < 0 ? SIZE_MAX : (size_t)tsr_bytes;\n}\n\n");
}

/* ---- guards ---- */

static void put_fail(FILE *out, const Module *m, int code, const char *text)
{
	const char *names[] = {
		[TSR_BAD_DIM] = "TSR_BAD_DIM", [TSR_BAD_POINTER] = "TSR_BAD_POINTER",
		[TSR_NOT_PACKED] = "TSR_NOT_PACKED"};
	fprintf(out, "\t\treturn tsr_fail(call, ");
	if (code < TSR_CHECK_FIRST)
		fprintf(out, "%s", names[code]);
	else
		fprintf(out, "TSR_CHECK_FIRST + %d", code - TSR_CHECK_FIRST);
	fprintf(out, ", %s);\n", c_string(m->arena, text));
}

static void put_guard(FILE *out, const Module *m, CheckId id)
{
	const Check *check = &m->program->checks.at[id];
	const char *a = c_checked_size(m, check->a), *b = c_checked_size(m, check->b);
	if (!is_constant(m, check->a))
		fprintf(out, "\tif (%s == TSR_NONE)\n", a),
			put_fail(out, m, module_check_code(id), check->text);
	if (!is_constant(m, check->b))
		fprintf(out, "\tif (%s == TSR_NONE)\n", b),
			put_fail(out, m, module_check_code(id), check->text);
	if (check->kind == CHECK_EQ)
		fprintf(out, "\tif (%s != %s)\n", a, b);
	else if (check->kind == CHECK_GE)
		fprintf(out, "\tif (%s < %s)\n", a, b);
	else
		fprintf(out, "\tif (%s == 0 || %s %% %s != 0)\n", b, a, b);
	put_fail(out, m, module_check_code(id), check->text);
}

/* A size that does not fit, then NULL where there are bytes. */
static void put_bytes_check(FILE *out, const Module *m, Size bytes, const char *name)
{
	if (is_constant(m, bytes))
		return;
	fprintf(out, "\tif (%s == TSR_NONE)\n", c_checked_size(m, bytes));
	put_fail(out, m, TSR_BAD_DIM,
		 arena_printf(m->arena, "the size of %s is out of range for these dims", name));
}

static void put_pointer_check(FILE *out, const Module *m, Size bytes, const char *pointer,
			      const char *text)
{
	int64_t constant;
	if (size_is_const(m->program->sizes, bytes, &constant))
		fprintf(out, constant > 0 ? "\tif (%s == NULL)\n" : "\tif (0 && %s == NULL)\n",
			pointer);
	else
		fprintf(out, "\tif (%s > 0 && %s == NULL)\n", c_checked_size(m, bytes), pointer);
	put_fail(out, m, TSR_BAD_POINTER, text);
}

static Size buffer_bytes(const Module *m, BufferId id)
{
	const Buffer *buffer = &m->program->buffers.at[id];
	return size_room(m->program->sizes, buffer->elements, buffer->dtype);
}

static void put_elements_aligned(FILE *out, const Module *m, uint32_t index, size_t bytes)
{
	const ProgramRoutine *r = program_routine(m->program, index);
	const ModuleRoutine *names = &m->routines[index];
	ModuleAligned group = module_aligned(m, r, bytes);
	for (size_t i = 0; i < group.args.n; i++) {
		uint32_t arg = group.args.at[i];
		fprintf(out, "%stsr_misaligned(%s, %zu)", i ? " ||\n\t    " : "\tif (",
			arg < r->ninputs ? names->inputs[arg] : names->outputs[arg - r->ninputs],
			bytes);
	}
	if (group.args.n) {
		fprintf(out, ")\n");
		put_fail(out, m, TSR_BAD_POINTER, group.message);
	}
}

static void put_aligned_check(FILE *out, const Module *m, const char *pointer)
{
	fprintf(out, "\tif (tsr_misaligned(%s, %d))\n", pointer, STATE_ALIGN);
	put_fail(out, m, TSR_BAD_POINTER,
		 arena_printf(m->arena, "%s is not aligned to %d bytes", pointer, STATE_ALIGN));
}

static void put_array_checks(FILE *out, const Module *m, const TensorArg *args, uint32_t n,
			     const char *const *names)
{
	for (uint32_t i = 0; i < n; i++) {
		Size bytes = buffer_bytes(m, args[i].buffer);
		put_bytes_check(out, m, bytes, args[i].name);
		put_pointer_check(out, m, bytes, names[i],
				  arena_printf(m->arena, "%s is NULL", args[i].name));
	}
}

/* Where temporaries are: those of `init` in the state, but of code for a GPU, which has room for parameters alone
 * there. */
static const char *temps_base(const Module *m, uint32_t routine)
{
	bool init = module_is_init(m, routine) && m->program->options.gpu;
	return routine < m->program->routines.n || init ? "workspace" : "state";
}

static const char *placed(const Module *m, const char *base, Size offset, const char *type)
{
	if (size_is(m->program->sizes, offset, 0))
		return arena_printf(m->arena, "(%s *)%s", type, base);
	return arena_printf(m->arena, "(%s *)((char *)%s + %s)", type, base, c_size(m, offset));
}

static void put_memory_checks(FILE *out, const Module *m, uint32_t index)
{
	const Program *p = m->program;
	const ProgramRoutine *r = program_routine(p, index);
	bool uses_state = false;
	for (size_t i = 0; i < p->params.n; i++) {
		if (!m->routines[index].params[i])
			continue;
		Size bytes = buffer_bytes(m, p->params.at[i].buffer);
		put_bytes_check(out, m, bytes, p->params.at[i].name);
		put_pointer_check(out, m, bytes, "state", "state is NULL");
		put_bytes_check(out, m, p->params.at[i].offset, "the state");
		uses_state = true;
	}
	if (uses_state)
		put_aligned_check(out, m, "state");
	if (index >= p->routines.n)
		return;
	if (m->routines[index].packed) {
		put_bytes_check(out, m, p->stamp, "the state");
		fprintf(out, "\tif (*%s != %d)\n", placed(m, "state", p->stamp, "uint32_t"),
			PACK_STAMP);
		put_fail(out, m, TSR_NOT_PACKED, module_pack_message(m));
	}
	put_bytes_check(out, m, r->workspace, "the workspace");
	if (size_is(p->sizes, r->workspace, 0))
		return;
	put_pointer_check(out, m, r->workspace, "workspace", "workspace is NULL");
	put_aligned_check(out, m, "workspace");
}

/* ---- calls ---- */

/* Does the buffer change its place in a loop? It has a variable for it then. */
static bool exchanges(const Module *m, BufferId id)
{
	for (size_t i = 1; i < m->program->loops.n; i++) {
		const ProgramLoop *loop = &m->program->loops.at[i];
		for (uint32_t k = 0; k < loop->nexchanges; k++)
			if (loop->exchanges[k].a == id || loop->exchanges[k].b == id)
				return true;
	}
	return false;
}

static void put_places(FILE *out, const Module *m, uint32_t index)
{
	const Program *p = m->program;
	for (BufferId id = 0; id < p->buffers.n; id++) {
		const Buffer *buffer = &p->buffers.at[id];
		if (buffer->kind != BUFFER_TEMP || buffer->routine != index || !exchanges(m, id))
			continue;
		const char *type = c_type(buffer->dtype);
		fprintf(out, "\t%s *tsr_place_%u = %s;\n", type, id,
			placed(m, temps_base(m, index), buffer->offset, type));
	}
}

static const char *pointer_text(const Module *m, uint32_t routine, BufferId id)
{
	const Buffer *buffer = &m->program->buffers.at[id];
	const char *type = c_type(buffer->dtype);
	switch (buffer->kind) {
	case BUFFER_INPUT: return m->routines[routine].inputs[buffer->arg];
	case BUFFER_OUTPUT: return m->routines[routine].outputs[buffer->arg];
	case BUFFER_PARAM:
		return placed(m, "state", m->program->params.at[buffer->arg].offset, type);
	case BUFFER_TEMP:
		return exchanges(m, id) ? arena_printf(m->arena, "tsr_place_%u", id)
					: placed(m, temps_base(m, routine), buffer->offset, type);
	case BUFFER_PACKED: return placed(m, "state", buffer->offset, type);
	case BUFFER_CONST: return m->consts[buffer->arg];
	}
	BUG("buffer kind %d", buffer->kind);
}

/* Where the kernel's indices of the buffer start. */
static const char *based_text(const Module *m, uint32_t routine, const KernelBuffer *buffer)
{
	const char *first = pointer_text(m, routine, buffer->buffer);
	if (size_is(m->program->sizes, buffer->base, 0))
		return first;
	/* of two elements a byte it is even, and the pointer one of bytes */
	bool halves = dtype_is_packed(m->program->buffers.at[buffer->buffer].dtype);
	Size base = halves ? size_floor(m->program->sizes, buffer->base, 2) : buffer->base;
	return arena_printf(m->arena, "%s + %s", first, c_size(m, base));
}

static void put_call(FILE *out, const Module *m, uint32_t routine, KernelId id)
{
	const KernelUse *use = m->kernels[id].use;
	const char *comma = use->parallel ? ", " : "";
	fprintf(out, "\t%s%s(%s", use->checks.n ? "code = " : "", m->kernels[id].function,
		use->parallel ? "call" : "");
	for (size_t i = 0; i < use->dims.n; i++, comma = ", ")
		fprintf(out, "%s%s", comma, m->dims[use->dims.at[i]]);
	for (size_t i = 0; i < use->scalars.n; i++, comma = ", ")
		fprintf(out, "%s%s", comma,
			m->routines[routine].scalars[use->scalars.at[i].scalar]);
	for (size_t i = 0; i < use->buffers.n; i++) {
		if (m->program->buffers.at[use->buffers.at[i].buffer].shared)
			continue;
		fprintf(out, "%s%s", comma, based_text(m, routine, &use->buffers.at[i]));
		comma = ", ";
	}
	fprintf(out, ");\n");
	for (size_t i = 0; i < use->checks.n; i++) {
		CheckId check = use->checks.at[i];
		fprintf(out, "\tif (code == TSR_CHECK_FIRST + %u)\n", check);
		put_fail(out, m, module_check_code(check), m->program->checks.at[check].text);
	}
}

static bool has_checks(const Module *m, const ProgramRoutine *r)
{
	for (uint32_t k = 0; k < r->nkernels; k++)
		if (m->kernels[r->kernels[k]].use->checks.n)
			return true;
	return false;
}

/* Of all places that the routine has use for. */
static void put_totals(FILE *out, const Module *m, uint32_t index)
{
	const Program *p = m->program;
	const ProgramRoutine *r = program_routine(p, index);
	c_begin_totals(m);
	for (size_t i = 0; i < p->params.n; i++)
		if (m->routines[index].params[i])
			c_put_totals(out, m, p->params.at[i].offset);
	for (uint32_t k = 0; k < r->nkernels; k++) {
		const KernelUse *use = m->kernels[r->kernels[k]].use;
		for (size_t i = 0; i < use->buffers.n; i++) {
			const Buffer *buffer = &p->buffers.at[use->buffers.at[i].buffer];
			if ((buffer->kind == BUFFER_TEMP && !buffer->shared) ||
			    buffer->kind == BUFFER_PACKED)
				c_put_totals(out, m, buffer->offset);
		}
	}
	if (index < p->routines.n)
		c_put_totals(out, m, r->workspace);
	if (module_is_pack(m, index) || m->routines[index].packed)
		c_put_totals(out, m, p->stamp);
}

/* ---- loops ---- */

static void put_calls(FILE *out, const Module *m, uint32_t index, uint32_t from, uint32_t to,
		      uint32_t outer);

/* How many steps there are, from a variable of its own, within a block that it opens, where the program says so as it runs. */
static const char *put_count(FILE *out, const Module *m, uint32_t index, const ProgramLoop *loop)
{
	const char *most = c_size(m, loop->count);
	if (loop->made == BUFFER_NONE)
		return most;
	const char *made = pointer_text(m, index, loop->made);
	fprintf(out, "\t{\n\tconst int64_t tsr_steps_%u = *(%s) < %s ? *(%s) : %s;\n", loop->made, made,
		most, made, most);
	return arena_printf(m->arena, "tsr_steps_%u", loop->made);
}

static void put_loop(FILE *out, const Module *m, uint32_t index, uint32_t from, uint32_t to,
		     uint32_t number)
{
	const ProgramLoop *loop = &m->program->loops.at[number];
	const char *step = m->dims[loop->step];
	const char *count = put_count(out, m, index, loop);
	if (loop->down)
		fprintf(out, "\tfor (int64_t %s = %s; %s-- > 0;) {\n", step, count, step);
	else
		fprintf(out, "\tfor (int64_t %s = 0; %s < %s; %s++) {\n", step, step, count, step);
	put_calls(out, m, index, from, to, number);
	for (uint32_t i = 0; i < loop->nexchanges; i++) {
		BufferId a = loop->exchanges[i].a, b = loop->exchanges[i].b;
		fprintf(out,
			"\t{\n\t\t%s *held = tsr_place_%u;\n\t\ttsr_place_%u"
			" = tsr_place_%u;\n\t\ttsr_place_%u = held;\n\t}\n",
			c_type(m->program->buffers.at[a].dtype), a, a, b, b);
	}
	if (loop->until != BUFFER_NONE)
		fprintf(out, "\tif (*(%s) != 0)\n\t\tbreak;\n",
			pointer_text(m, index, loop->until));
	fputs(loop->made != BUFFER_NONE ? "\t}\n\t}\n" : "\t}\n", out);
}

static void put_calls(FILE *out, const Module *m, uint32_t index, uint32_t from, uint32_t to,
		      uint32_t outer)
{
	const ProgramRoutine *r = program_routine(m->program, index);
	for (uint32_t i = from; i < to; i++) {
		const Kernel *kernel = &m->program->kernels.at[r->kernels[i]];
		uint32_t loop = program_loop_right_in(m->program, kernel->loop, outer);
		if (!loop) {
			put_call(out, m, index, r->kernels[i]);
			continue;
		}
		uint32_t end = program_loop_end(m->program, r, i, loop);
		put_loop(out, m, index, i, end, loop);
		i = end - 1;
	}
}

static void put_routine(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = program_routine(m->program, index);
	const ModuleRoutine *names = &m->routines[index];
	bool packs = module_is_pack(m, index), inside = module_is_init(m, index);
	if (inside)
		fprintf(out, "/* The parameters that start with an expression. */\nstatic ");
	else
		packs ? c_put_pack_comment(out, m) : c_put_routine_comment(out, m, index);
	fprintf(out, "%s\n{\n", module_signature(m, index));
	if (has_checks(m, r))
		fprintf(out, "\tint code;\n");
	fprintf(out, "\t(void)state;\n%s", packs || inside ? "" : "\t(void)workspace;\n");
	for (uint32_t i = 0; i < r->nscalars; i++)
		fprintf(out, "\t(void)%s;\n", names->scalars[i]);
	fprintf(out, "\tif (call != NULL && (call->abi != TSR_ABI || call->flags != 0))\n"
		     "\t\treturn TSR_BAD_CALL;\n");
	put_dim_checks(out, m, r->dims, r->ndims, NULL);
	for (uint32_t i = 0; i < r->nscalars; i++)
		if (r->scalars[i].dim != DIM_NONE)
			fprintf(out, "\tconst int64_t %s = %s;\n", m->dims[r->scalars[i].dim],
				names->scalars[i]);
	for (uint32_t i = 0; i < r->nguards; i++)
		put_guard(out, m, r->guards[i]);
	put_array_checks(out, m, r->inputs, r->ninputs, names->inputs);
	put_array_checks(out, m, r->outputs, r->noutputs, names->outputs);
	for (size_t bytes = 2; bytes <= ALIGNMENT_MOST; bytes *= 2)
		put_elements_aligned(out, m, index, bytes);
	put_totals(out, m, index);
	put_memory_checks(out, m, index);
	if (index < m->program->routines.n)
		put_places(out, m, index);
	bool own =
		inside && m->program->options.gpu && !size_is(m->program->sizes, r->workspace, 0);
	if (own)
		fprintf(out,
			"\tvoid *const workspace = malloc((size_t)%s);\n\tif (workspace == NULL)\n"
			"\t\treturn TSR_BAD_POINTER;\n",
			c_size(m, r->workspace));
	put_calls(out, m, index, 0, r->nkernels, 0);
	if (own)
		fprintf(out, "\tfree(workspace);\n");
	if (packs && r->nkernels)
		fprintf(out, "\t*%s = %d;\n", placed(m, "state", m->program->stamp, "uint32_t"),
			PACK_STAMP);
	fprintf(out, "\treturn TSR_OK;\n}\n\n");
	if (!packs && !inside)
		put_size_function(out, m, module_workspace_signature(m, index), r->workspace,
				  r->dims, r->ndims);
}

/* The loader's way in. */
static void put_invoke(FILE *out, const Module *m, uint32_t index)
{
	const ProgramRoutine *r = &m->program->routines.at[index];
	const ModuleRoutine *names = &m->routines[index];
	fprintf(out,
		"static int %s(const tsr_call *call, const int64_t *dims, const void *const "
		"*scalars,\n"
		"\t\tconst void *const *inputs, void *const *outputs, void *state, void "
		"*workspace)\n{\n",
		names->invoke);
	fprintf(out, "\t(void)dims;\n\t(void)scalars;\n\t(void)inputs;\n\t(void)outputs;\n");
	fprintf(out, "\treturn %s(call", names->function);
	for (uint32_t i = 0; i < r->ndims; i++)
		fprintf(out, ", dims[%u]", i);
	for (uint32_t i = 0; i < r->nscalars; i++)
		fprintf(out, ", *(const %s *)scalars[%u]", c_type(r->scalars[i].dtype), i);
	for (uint32_t i = 0; i < r->ninputs; i++)
		fprintf(out, ", (const %s *)inputs[%u]", c_type(r->inputs[i].type.dtype), i);
	for (uint32_t i = 0; i < r->noutputs; i++)
		fprintf(out, ", (%s *)outputs[%u]", c_type(r->outputs[i].type.dtype), i);
	fprintf(out, ", state, workspace);\n}\n\n");
}

/* ---- the state ---- */

static void put_fill(FILE *out, const Module *m, const ProgramParam *param)
{
	if (param->init == PARAM_COMPUTED)
		return;
	Dtype dtype = param->type.dtype;
	const char *type = c_type(dtype), *name = dtype_name(dtype);
	const char *n = c_size(m, m->program->buffers.at[param->buffer].elements);
	const char *to = placed(m, "state", param->offset, type);
	fprintf(out, "\t/* %s */\n", c_comment(m->arena, param->name));
	if (param->init == PARAM_UNIFORM) {
		fprintf(out, "\ttsr_uniform_%s(%s, %s, seed, UINT64_C(%llu), %s);\n", name, to, n,
			(unsigned long long)param->key, c_size(m, param->fan_in));
		return;
	}
	Scalar value = scalar_of(dtype, param->value);
	if (dtype_is_packed(dtype)) {
		unsigned half = (unsigned)value.i & 15;
		fprintf(out,
			"\tfor (int64_t tsr_i = 0; tsr_i < %s; tsr_i++)\n"
			"\t\t(%s)[tsr_i / 2] = tsr_i %% 2 ? %u : %u;\n",
			n, to, half * 17, half);
		return;
	}
	fprintf(out, "\tfor (int64_t tsr_i = 0; tsr_i < %s; tsr_i++)\n\t\t(%s)[tsr_i] = %s;\n", n,
		to, c_constant(m->arena, dtype, value));
}

/* Drawn in f64 for f64, else in f32. */
static void put_uniform(FILE *out, const Module *m, Dtype dtype)
{
	Dtype wide = dtype_wide(dtype);
	const char *real = c_type(wide), *suffix = wide == DTYPE_F32 ? "f" : "";
	const char *number = arena_printf(
		m->arena, "((%s)(int32_t)(x.w[j] >> 8) * 0x1p-23%s - 1) * bound", real, suffix);
	const char *element = c_cast(m->arena, wide, dtype, number);
	fprintf(out, uniform_fill, dtype_name(dtype), c_type(dtype), real, real, element, element);
}

static void put_compute(FILE *out, const Module *m)
{
	const Program *p = m->program;
	fprintf(out, "\tconst int code = %s(NULL, ", m->routines[p->routines.n + 1].function);
	for (uint32_t i = 0; i < p->init.ndims; i++)
		fprintf(out, "%s, ", m->dims[p->init.dims[i]]);
	fprintf(out, "(int64_t)seed, state);\n\tif (code != TSR_OK)\n\t\treturn code;\n");
}

static void put_init(FILE *out, const Module *m)
{
	const Program *p = m->program;
	for (Dtype d = 0; d < DTYPE_COUNT; d++)
		if (module_has_uniform(m, d))
			put_uniform(out, m, d);
	put_size_function(out, m, module_state_signature(m), p->state, p->state_dims,
			  p->nstate_dims);
	c_put_init_comment(out, m);
	fprintf(out, "%s\n{\n", module_init_signature(m));
	fprintf(out, "\t(void)seed;\n");
	put_dim_checks(out, m, p->state_dims, p->nstate_dims, "TSR_BAD_DIM");
	c_begin_totals(m);
	c_put_totals(out, m, p->state);
	fprintf(out, "\tconst int64_t tsr_bytes = %s;\n", c_checked_size(m, p->state));
	fprintf(out, "\tif (tsr_bytes == TSR_NONE)\n\t\treturn TSR_BAD_DIM;\n");
	fprintf(out,
		"\tif (tsr_bytes > 0 && (state == NULL || tsr_misaligned(state, %d)))\n\t\treturn "
		"TSR_BAD_POINTER;\n",
		STATE_ALIGN);
	for (size_t i = 0; i < p->params.n; i++)
		put_fill(out, m, &p->params.at[i]);
	if (p->init.nkernels)
		put_compute(out, m);
	if (p->pack.nkernels) {
		fprintf(out, "\treturn %s_pack(NULL, ", m->prefix);
		for (uint32_t i = 0; i < p->pack.ndims; i++)
			fprintf(out, "%s, ", m->dims[p->pack.dims[i]]);
		fprintf(out, "state);\n}\n\n");
	} else {
		fprintf(out, "\treturn TSR_OK;\n}\n\n");
	}
	fprintf(out,
		"static int %s__invoke_init(const int64_t *dims, void *state, uint64_t seed)\n{\n",
		m->prefix);
	fprintf(out, "\t(void)dims;\n\treturn %s_init(", m->prefix);
	for (uint32_t i = 0; i < p->nstate_dims; i++)
		fprintf(out, "dims[%u], ", p->state_dims[i]);
	fprintf(out, "state, seed);\n}\n\n");
}

static void put_invoke_pack(FILE *out, const Module *m)
{
	const ProgramRoutine *r = &m->program->pack;
	fprintf(out, "static int %s(const tsr_call *call, const int64_t *dims, void *state)\n{\n",
		m->routines[m->program->routines.n].invoke);
	fprintf(out, "\t(void)dims;\n\treturn %s_pack(call, ", m->prefix);
	for (uint32_t i = 0; i < r->ndims; i++)
		fprintf(out, "dims[%u], ", r->dims[i]);
	fprintf(out, "state);\n}\n\n");
}

void c_put_checked(FILE *out) { fputs(checked, out); }

void c_put_routines(FILE *out, const Module *m)
{
	fputs(helpers, out);
	for (uint32_t i = 0; i < m->program->routines.n; i++) {
		put_routine(out, m, i);
		put_invoke(out, m, i);
	}
	put_routine(out, m, (uint32_t)m->program->routines.n);
	put_invoke_pack(out, m);
	if (m->program->init.nkernels)
		put_routine(out, m, (uint32_t)m->program->routines.n + 1);
	put_init(out, m);
}
