/* A program to what all back ends and the header share of it: C names, signatures, kernels with
 * what they use.
 * Kernels of one identity share a function.
 */
#include "codegen/module.h"

#include <limits.h>
#include <stb/stb_ds.h>
#include <string.h>

#include "codegen/made_object.h"
#include "loops/matrix.h"
#include "runtime/tsr.h"

/* Dims keep the names that the module's table has for them, whatever else the routine has; the
 * others give way. */
static void name_arguments(Module *m, uint32_t index)
{
	const ProgramRoutine *r = program_routine(m->program, index);
	ModuleRoutine *out = &m->routines[index];
	const char *name = module_is_pack(m, index)   ? "pack"
			   : module_is_init(m, index) ? "_first"
						      : name_identifier(m->arena, r->name);
	out->function = arena_printf(m->arena, "%s_%s", m->prefix, name);
	out->workspace = arena_printf(m->arena, "%s_%s_workspace", m->prefix, name);
	out->invoke = arena_printf(m->arena, "%s__routine_%s", m->prefix, name);
	out->device = arena_printf(m->arena, "%s_device", out->function);
	out->device_workspace = arena_printf(m->arena, "%s_workspace", out->device);
	out->dims = ARENA_ARRAY(m->arena, const char *, r->ndims);
	out->scalars = ARENA_ARRAY(m->arena, const char *, r->nscalars);
	out->inputs = ARENA_ARRAY(m->arena, const char *, r->ninputs);
	out->outputs = ARENA_ARRAY(m->arena, const char *, r->noutputs);
	Names taken = {0};
	for (uint32_t i = 0; i < r->ndims; i++) {
		out->dims[i] = m->dims[r->dims[i]];
		PUSH(m->arena, taken, out->dims[i]);
	}
	for (uint32_t i = 0; i < r->nscalars; i++)
		if (r->scalars[i].dim != DIM_NONE)
			PUSH(m->arena, taken, m->dims[r->scalars[i].dim]);
	for (uint32_t i = 0; i < r->nscalars; i++)
		out->scalars[i] = name_unique(m, &taken, r->scalars[i].name);
	for (uint32_t i = 0; i < r->ninputs; i++)
		out->inputs[i] = name_unique(m, &taken, r->inputs[i].name);
	for (uint32_t i = 0; i < r->noutputs; i++)
		out->outputs[i] = name_unique(m, &taken, r->outputs[i].name);
}

/* What the entry checks the state for. A copy belongs to its parameter. */
static void find_params(Module *m, uint32_t index)
{
	const Program *p = m->program;
	const ProgramRoutine *r = program_routine(p, index);
	bool *params = ARENA_ARRAY(m->arena, bool, p->params.n);
	for (uint32_t k = 0; k < r->nkernels; k++) {
		const KernelUse *use = m->kernels[r->kernels[k]].use;
		for (size_t b = 0; b < use->buffers.n; b++) {
			const Buffer *buffer = &p->buffers.at[use->buffers.at[b].buffer];
			if (buffer->kind == BUFFER_PARAM || buffer->kind == BUFFER_PACKED)
				params[buffer->arg] = true;
			m->routines[index].packed |= buffer->kind == BUFFER_PACKED;
		}
	}
	m->routines[index].params = params;
}

typedef struct FirstKernel {
	Digest key;
	KernelId value;
} FirstKernel;

/* Kernels of one identity are one function. */
static KernelId first_of_its_kind(FirstKernel **first, Digest identity, KernelId id)
{
	ptrdiff_t known = hmgeti(*first, identity);
	if (known >= 0)
		return (*first)[known].value;
	hmput(*first, identity, id);
	return id;
}

static void share_kernels(Module *m)
{
	const Program *p = m->program;
	FirstKernel *first = NULL;
	for (KernelId k = 0; k < p->kernels.n; k++) {
		ModuleKernel *to = &m->kernels[k];
		to->kernel = p->kernels.at[k];
		KernelBases bases = kernel_move(p, &to->kernel, m->arena);
		to->use = kernel_use(p, &to->kernel, bases, m->arena);
		to->identity = kernel_identity(p, &to->kernel, to->use);
		to->same = first_of_its_kind(&first, to->identity, k);
		to->function = to->same == k
				       ? arena_printf(m->arena, "%s__k_%s", m->prefix,
						      name_identifier(m->arena, to->kernel.name))
				       : m->kernels[to->same].function;
	}
	hmfree(first);
}

/* ---- names that meet ---- */

typedef struct Exported {
	char *key;
	Span value; /* of the routine; none for the module's own */
} Exported;

typedef struct Exports {
	Module *module;
	Exported *taken; /* stb_ds table */
	bool good;
} Exports;

static bool export_name(Exports *e, const char *name, Span span)
{
	ptrdiff_t other = shgeti(e->taken, name);
	if (other < 0) {
		shput(e->taken, name, span);
		return true;
	}
	Diags *diags = e->module->emit->diags;
	diag(diags, E0507, span, "this routine needs the C name '%s', which is taken", name);
	if (span_is_none(e->taken[other].value))
		diag_note(diags, span, "every module exports '%s'; give the routine another name",
			  name);
	else
		diag_note(diags, e->taken[other].value,
			  "by this routine; give one of them another name");
	e->good = false;
	return false;
}

/* One name that is taken is enough to say. */
static void export_routine(Exports *e, const ModuleRoutine *routine, Span span)
{
	const char *const names[] = {routine->function, routine->workspace, routine->invoke,
				     routine->device, routine->device_workspace};
	size_t n = e->module->program->options.gpu ? 5 : 3;
	for (size_t i = 0; i < n; i++)
		if (!export_name(e, names[i], span))
			return;
}

static bool names_are_unique(Module *m)
{
	Exports e = {.module = m, .good = true};
	for (size_t i = 0; i < MODULE_NOWN; i++)
		export_name(&e, arena_printf(m->arena, "%s_%s", m->prefix, module_own[i]),
			    SPAN_NONE);
	if (m->program->options.gpu)
		export_name(&e, arena_printf(m->arena, "%s_wait_device", m->prefix), SPAN_NONE);
	for (size_t i = 0; i < m->program->checks.n; i++)
		export_name(&e, arena_printf(m->arena, "%s_CHECK_%zu", m->prefix, i), SPAN_NONE);
	export_name(&e, arena_printf(m->arena, "%s__invoke_init", m->prefix), SPAN_NONE);
	export_name(&e, m->routines[m->program->routines.n].invoke, SPAN_NONE);
	if (m->program->init.nkernels)
		export_name(&e, m->routines[m->program->routines.n + 1].function, SPAN_NONE);
	for (Dtype d = 0; d < DTYPE_COUNT; d++)
		if (module_has_uniform(m, d))
			export_name(&e, module_uniform_function(m, d), SPAN_NONE);
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].same == k)
			export_name(&e, m->kernels[k].function, SPAN_NONE);
	for (size_t i = 0; i < m->program->routines.n; i++)
		export_routine(&e, &m->routines[i], m->program->routines.at[i].span);
	shfree(e.taken);
	return e.good;
}

static Module *module_make(const Emit *emit)
{
	Arena *arena = emit->arena;
	const Program *p = emit->program;
	Module *m = ARENA_NEW(arena, Module);
	*m = (Module){.emit = emit, .program = p, .arena = arena, .prefix = emit->prefix};
	m->object = ARENA_NEW(arena, MadeObject);
	uint32_t ndims = sizes_ndims(p->sizes);
	Names taken = {0};
	m->dims = ARENA_ARRAY(arena, const char *, ndims);
	for (DimId d = 0; d < ndims; d++) { /* a scalar that a dim is made of has its own name */
		const Dim *dim = sizes_dim(p->sizes, d);
		m->dims[d] = name_unique(m, &taken,
					 dim->kind == DIM_SCALAR
						 ? arena_printf(arena, "size_%s", dim->name)
						 : dim->name);
	}
	m->consts = ARENA_ARRAY(arena, const char *, p->consts.n);
	for (size_t i = 0; i < p->consts.n; i++)
		m->consts[i] = arena_printf(arena, "%s__const_%zu", m->prefix, i);
	m->kernels = ARENA_ARRAY(arena, ModuleKernel, p->kernels.n);
	share_kernels(m);
	m->routines = ARENA_ARRAY(arena, ModuleRoutine, p->routines.n + 2);
	for (uint32_t i = 0; i < p->routines.n + 2; i++) {
		name_arguments(m, i);
		find_params(m, i);
	}
	return names_are_unique(m) ? m : NULL;
}

uint16_t half_bits(Dtype dtype, Scalar value)
{
	uint16_t bits = 0; /* of which one of 8 bits has the lower ones */
	scalar_write(dtype, &bits, 0, value);
	return bits;
}

const char *c_type(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_F64: return "double";
	case DTYPE_F32: return "float";
	case DTYPE_BF16: return "tsr_bf16";
	case DTYPE_F16: return "tsr_f16";
	case DTYPE_F8E4M3: return "tsr_f8e4m3";
	case DTYPE_F8E5M2: return "tsr_f8e5m2";
	case DTYPE_I64: return "int64_t";
	case DTYPE_I32: return "int32_t";
	case DTYPE_I8: return "int8_t";
	case DTYPE_I16: return "int16_t";
	case DTYPE_BOOL:
	case DTYPE_I4: /* two a byte */
	case DTYPE_U4:
	case DTYPE_U8: return "uint8_t";
	case DTYPE_U16: return "uint16_t";
	case DTYPE_U32: return "uint32_t";
	case DTYPE_U4X32: return "tsr_u4x32";
	default: BUG("%s has no C type", dtype_name(dtype));
	}
}

bool module_has_uniform(const Module *m, Dtype dtype)
{
	for (size_t i = 0; i < m->program->params.n; i++)
		if (m->program->params.at[i].init == PARAM_UNIFORM &&
		    m->program->params.at[i].type.dtype == dtype)
			return true;
	return false;
}

const char *module_uniform_function(const Module *m, Dtype dtype)
{
	return arena_printf(m->arena, "%s__uniform_%s", m->prefix, dtype_name(dtype));
}

bool module_is_pack(const Module *m, uint32_t routine) { return routine == m->program->routines.n; }

bool module_is_init(const Module *m, uint32_t routine)
{
	return routine == m->program->routines.n + 1;
}

Size module_host_state(const Module *m)
{
	const Program *p = m->program;
	return p->options.gpu && p->pack.nkernels ? p->stamp : p->state;
}

const char *module_pack_message(const Module *m)
{
	return arena_printf(m->arena,
			    "the state is not packed: call %s_pack after writing parameters",
			    m->prefix);
}

static const char *signature(const Module *m, uint32_t routine, const char *function,
			     const char *last)
{
	const ProgramRoutine *r = program_routine(m->program, routine);
	const ModuleRoutine *names = &m->routines[routine];
	const char *text = arena_printf(m->arena, "int %s(const tsr_call *call", function);
	for (uint32_t i = 0; i < r->ndims; i++)
		text = arena_printf(m->arena, "%s, int64_t %s", text, names->dims[i]);
	for (uint32_t i = 0; i < r->nscalars; i++)
		text = arena_printf(m->arena, "%s, %s %s", text, c_type(r->scalars[i].dtype),
				    names->scalars[i]);
	for (uint32_t i = 0; i < r->ninputs; i++)
		text = arena_printf(m->arena, "%s, const %s *%s", text,
				    c_type(r->inputs[i].type.dtype), names->inputs[i]);
	for (uint32_t i = 0; i < r->noutputs; i++)
		text = arena_printf(m->arena, "%s, %s *%s", text, c_type(r->outputs[i].type.dtype),
				    names->outputs[i]);
	return arena_printf(m->arena, "%s, void *state%s)", text, last);
}

const char *module_signature(const Module *m, uint32_t routine)
{
	return signature(m, routine, m->routines[routine].function,
			 routine >= m->program->routines.n ? "" : ", void *workspace");
}

const char *module_device_signature(const Module *m, uint32_t routine)
{
	return signature(m, routine, m->routines[routine].device,
			 ", void *workspace, void *stream");
}

const char *module_wait_signature(const Module *m)
{
	return arena_printf(m->arena, "int %s_wait_device(const tsr_call *call, void *stream)",
			    m->prefix);
}

static const char *dim_list(const Module *m, const DimId *dims, uint32_t ndims)
{
	const char *text = "";
	for (uint32_t i = 0; i < ndims; i++)
		text = arena_printf(m->arena, "%s%sint64_t %s", text, i ? ", " : "",
				    m->dims[dims[i]]);
	return text;
}

static const char *size_signature(const Module *m, uint32_t routine, const char *function)
{
	const ProgramRoutine *r = &m->program->routines.at[routine];
	return arena_printf(m->arena, "size_t %s(%s)", function,
			    r->ndims ? dim_list(m, r->dims, r->ndims) : "void");
}

const char *module_workspace_signature(const Module *m, uint32_t routine)
{
	return size_signature(m, routine, m->routines[routine].workspace);
}

const char *module_device_workspace_signature(const Module *m, uint32_t routine)
{
	return size_signature(m, routine, m->routines[routine].device_workspace);
}

const char *module_state_signature(const Module *m)
{
	const Program *p = m->program;
	return arena_printf(m->arena, "size_t %s_state_size(%s)", m->prefix,
			    p->nstate_dims ? dim_list(m, p->state_dims, p->nstate_dims) : "void");
}

const char *module_init_signature(const Module *m)
{
	const Program *p = m->program;
	return arena_printf(m->arena, "int %s_init(%s%svoid *state, uint64_t seed)", m->prefix,
			    dim_list(m, p->state_dims, p->nstate_dims), p->nstate_dims ? ", " : "");
}

static const char *tensor_list(const Module *m, const TensorArg *args, uint32_t n)
{
	const char *text = "";
	for (uint32_t i = 0; i < n; i++)
		text = arena_printf(m->arena, "%s%s%s %s", text, i ? ", " : "", args[i].name,
				    args[i].type.text);
	return text;
}

const char *module_types(const Module *m, uint32_t routine)
{
	const ProgramRoutine *r = &m->program->routines.at[routine];
	const char *text = "";
	for (uint32_t i = 0; i < r->nscalars; i++)
		text = arena_printf(m->arena, "%s%s %s%s", text, r->scalars[i].name,
				    dtype_name(r->scalars[i].dtype),
				    i + 1 < r->nscalars || r->ninputs ? ", "
				    : r->noutputs		      ? " "
								      : "");
	text = arena_printf(m->arena, "%s%s%s", text, tensor_list(m, r->inputs, r->ninputs),
			    r->ninputs && r->noutputs ? " " : "");
	return !r->noutputs ? text
			    : arena_printf(m->arena, "%s-> %s", text,
					   tensor_list(m, r->outputs, r->noutputs));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *module_source(const Module *m) { return base_name(m->emit->source); }

const char *module_place(const Module *m, Span span)
{
	if (span_is_none(span) || !m->program->sources)
		return "";
	Place place = source_place(m->program->sources, span.file, span.start);
	return arena_printf(m->arena, "%s:%u:%u", base_name(place.path), place.line, place.column);
}

uint32_t module_line(const Module *m, Span span)
{
	if (span_is_none(span) || !m->program->sources)
		return 0;
	return source_place(m->program->sources, span.file, span.start).line;
}

const char *c_string(Arena *arena, const char *text)
{
	size_t n = strlen(text);
	char *out = arena_alloc_n(arena, n + 1, 4), *p = out;
	*p++ = '"';
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\' || (c == '?' && i && text[i - 1] == '?'))
			*p++ = '\\';
		if (c >= ' ' && c != 127) {
			*p++ = (char)c;
			continue;
		}
		*p++ = '\\';
		*p++ = (char)('0' + (c >> 6));
		*p++ = (char)('0' + (c >> 3 & 7));
		*p++ = (char)('0' + (c & 7));
	}
	*p++ = '"';
	*p = 0;
	return out;
}

const char *c_comment(Arena *arena, const char *text)
{
	char *out = arena_strndup(arena, text, strlen(text));
	for (char *p = out; *p; p++)
		if ((p[0] == '*' && p[1] == '/') || (p[0] == '/' && p[1] == '*') || *p == '\n')
			*p = ' ';
	return out;
}

bool module_has_chunks(const Module *m)
{
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].use->parallel)
			return true;
	return false;
}

bool module_has_slots(const Module *m)
{
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].use->slots)
			return true;
	return false;
}

bool module_has_tiles(const Module *m)
{
	const Program *p = m->program;
	bool found = false;
	for (KernelId k = 0; k < p->kernels.n && !found; k++)
		found = block_has_matrix(p->kernels.at[k].body, true);
	return found && !p->options.gpu && p->options.target->matrix_tiles > 0;
}

bool module_has_prefetches(const Module *m)
{
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].use->prefetches)
			return true;
	return false;
}

int module_check_code(CheckId check)
{
	REQUIRE(check <= INT_MAX - TSR_CHECK_FIRST);
	return TSR_CHECK_FIRST + (int)check;
}

const char *module_dim_message(const Module *m, DimId dim)
{
	const Dim *d = sizes_dim(m->program->sizes, dim);
	return arena_printf(m->arena, "dim %s must be at least %lld and at most %lld", d->name,
			    (long long)(d->at_least > 0 ? d->at_least : 0), (long long)DIM_MOST);
}

/* "x, z or y", where they are few. */
static const char *list_names(const Module *m, const ProgramRoutine *r, const ModuleAligned *group)
{
	enum { FEW = 8 };
	const char *text = "";
	if (group->args.n > FEW)
		return "an input or a result";
	for (size_t i = 0; i < group->args.n; i++) {
		uint32_t arg = group->args.at[i];
		const char *name = arg < r->ninputs ? r->inputs[arg].name
						    : r->outputs[arg - r->ninputs].name;
		const char *before = i == 0 ? "" : i + 1 < group->args.n ? ", " : " or ";
		text = arena_printf(m->arena, "%s%s%s", text, before, name);
	}
	return text;
}

ModuleAligned module_aligned(const Module *m, const ProgramRoutine *r, size_t bytes)
{
	ModuleAligned group = {.message = ""};
	for (uint32_t arg = 0; arg < r->ninputs + r->noutputs; arg++) {
		const TensorArg *tensor =
			arg < r->ninputs ? &r->inputs[arg] : &r->outputs[arg - r->ninputs];
		if (dtype_alignment(m->program->buffers.at[tensor->buffer].dtype) == bytes)
			PUSH(m->arena, group.args, arg);
	}
	group.message = arena_printf(m->arena, "%s is not aligned to %zu bytes",
				     list_names(m, r, &group), bytes);
	return group;
}

Module *module_new(const Emit *emit)
{
	Module *made = emit->shared ? *emit->shared : NULL;
	if (!made)
		made = module_make(emit);
	if (emit->shared)
		*emit->shared = made;
	if (!made)
		return NULL;
	Module *m = ARENA_NEW(emit->arena, Module);
	*m = *made;
	m->emit = emit;
	return m;
}
