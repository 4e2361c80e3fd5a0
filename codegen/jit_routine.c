/* Entry functions, in baseline instructions: every guard comes before the first kernel, so nothing
 * is written unless all hold (jit_guards.c); then the kernels, where a failed check of indices ends
 * the routine with its code.
 *
 * The functions of kernels are compiled apart, for the target's CPU, and called only behind the
 * check.
 */
#include "codegen/jit_entry.h"
#include "base/room.h"
#include "codegen/jit_function.h"
#include "codegen/jit_parts.h"
#include "codegen/jit_size.h"
#include "runtime/tsr.h"
#include "loops/steps.h"

static Rvalue *buffer_pointer(Entry *e, BufferId id, Type *type)
{
	Jit *jit = e->f.jit;
	const Program *p = e->program;
	const Buffer *buffer = &p->buffers.at[id];
	JitSizes sizes = {.f = &e->f, .dims = e->dims};
	switch (buffer->kind) {
	case BUFFER_INPUT: return jit_cast(jit, e->inputs[buffer->arg], type);
	case BUFFER_OUTPUT: return jit_cast(jit, e->outputs[buffer->arg], type);
	case BUFFER_PARAM: {
		Rvalue *offset = jit_size(&sizes, p->params.at[buffer->arg].offset);
		return jit_cast(jit, jit_offset(&e->f, e->state, offset, jit->types[buffer->dtype]),
				type);
	}
	case BUFFER_TEMP:
		if (e->places[id])
			return jit_cast(jit, gcc_jit_lvalue_as_rvalue(e->places[id]), type);
	/* fallthrough */
	case BUFFER_PACKED: {
		Rvalue *offset = jit_size(&sizes, buffer->offset);
		Rvalue *start = buffer->kind == BUFFER_TEMP ? e->workspace : e->state;
		return jit_cast(jit, jit_offset(&e->f, start, offset, jit->types[buffer->dtype]),
				type);
	}
	case BUFFER_CONST: break;
	}
	Lvalue *blob =
		gcc_jit_context_new_global(jit->ctxt, NULL, GCC_JIT_GLOBAL_IMPORTED,
					   jit->types[DTYPE_I8], jit->module->consts[buffer->arg]);
	return jit_cast(jit, gcc_jit_lvalue_get_address(blob, NULL), type);
}

/* Where the kernel's indices of the buffer start. */
static Rvalue *based_pointer(Entry *e, const KernelBuffer *buffer, Type *type)
{
	const Program *p = e->program;
	Rvalue *first = buffer_pointer(e, buffer->buffer, type);
	if (size_is(p->sizes, buffer->base, 0))
		return first;
	Dtype dtype = p->buffers.at[buffer->buffer].dtype;
	JitSizes sizes = {.f = &e->f, .dims = e->dims};
	Rvalue *bytes =
		jit_size(&sizes, size_room(p->sizes, buffer->base, dtype));
	Rvalue *at = jit_offset(&e->f, first, bytes, e->f.jit->types[dtype]);
	return jit_cast(e->f.jit, at, type);
}

static void call_kernel(Entry *e, KernelId id)
{
	Jit *jit = e->f.jit;
	const Module *m = jit->module;
	const KernelUse *use = m->kernels[id].use;
	JitParam *params;
	size_t n = jit_kernel_params(jit, use, &params), at = 0;
	Rvalue **args = ARENA_ARRAY(jit->arena, Rvalue *, n);
	if (use->parallel)
		args[at++] = e->call;
	for (size_t i = 0; i < use->dims.n; i++) {
		REQUIRE(e->dims[use->dims.at[i]]);
		args[at++] = e->dims[use->dims.at[i]];
	}
	for (size_t i = 0; i < use->scalars.n; i++)
		args[at++] = e->scalars[use->scalars.at[i].scalar];
	for (size_t i = 0; i < use->buffers.n; i++, at++)
		args[at] = based_pointer(e, &use->buffers.at[i], params[at].type);
	bool checks = use->checks.n > 0;
	gcc_jit_function *function = jit_import(jit, checks ? jit->int_ : jit->void_,
						m->kernels[id].function, params, n);
	Rvalue *result = jit_call(&e->f, function, args, n);
	if (!checks) {
		gcc_jit_block_add_eval(e->f.block, NULL, result);
		return;
	}
	result = jit_keep(&e->f, result);
	for (size_t i = 0; i < use->checks.n; i++) {
		CheckId check = use->checks.at[i];
		int code = module_check_code(check);
		jit_fail_if(e,
			    jit_compare(&e->f, GCC_JIT_COMPARISON_EQ, result,
					jit_long(jit, jit->int_, code)),
			    code, e->program->checks.at[check].text);
	}
}

/* ---- loops ---- */

static void call_kernels(Entry *e, uint32_t from, uint32_t to, uint32_t outer);

/* What is known of sizes inside a loop is not known behind it, which may have no step; and the array of
 * dims that long sizes are computed from has another step. */
static void forget_sizes(Entry *e, size_t known)
{
	e->f.known.n = known;
	e->f.dims = NULL;
}

/* The i32 that a buffer holds. */
static Rvalue *number_in(Entry *e, BufferId id)
{
	Type *pointer = gcc_jit_type_get_pointer(e->f.jit->types[DTYPE_I32]);
	return gcc_jit_lvalue_as_rvalue(
		gcc_jit_rvalue_dereference(buffer_pointer(e, id, pointer), NULL));
}

/* Behind a step that leaves `until` other than 0. */
static Rvalue *ends(Entry *e, const ProgramLoop *loop)
{
	Jit *jit = e->f.jit;
	return jit_compare(&e->f, GCC_JIT_COMPARISON_NE, number_in(e, loop->until),
			   jit_long(jit, jit->types[DTYPE_I32], 0));
}

static Rvalue *count_steps(Entry *e, const ProgramLoop *loop)
{
	JitSizes sizes = {.f = &e->f, .dims = e->dims};
	Rvalue *most = jit_keep(&e->f, jit_size(&sizes, loop->count));
	if (loop->made == BUFFER_NONE)
		return most;
	Rvalue *made =
		jit_keep(&e->f, gcc_jit_context_new_cast(e->f.jit->ctxt, NULL,
							 number_in(e, loop->made), e->f.jit->i64));
	return jit_keep(&e->f,
			jit_select(&e->f, jit_compare(&e->f, GCC_JIT_COMPARISON_LT, made, most),
				   made, most));
}

/* Variables for the places of what changes them; each once. */
static void open_places(Entry *e)
{
	const Program *p = e->program;
	Jit *jit = e->f.jit;
	e->places = ARENA_ARRAY(jit->arena, Lvalue *, p->buffers.n + 1);
	for (size_t i = 1; i < p->loops.n; i++)
		for (uint32_t k = 0; k < 2 * p->loops.at[i].nexchanges; k++) {
			const BufferPair *pair = &p->loops.at[i].exchanges[k / 2];
			BufferId id = k % 2 ? pair->b : pair->a;
			if (p->buffers.at[id].routine != e->index)
				continue;
			Lvalue *place = jit_local(&e->f, jit->pointer, p->buffers.at[id].name);
			jit_set(&e->f, place, buffer_pointer(e, id, jit->pointer));
			e->places[id] = place;
		}
}

static void exchange(Entry *e, BufferPair pair)
{
	Rvalue *held = jit_keep(&e->f, gcc_jit_lvalue_as_rvalue(e->places[pair.a]));
	jit_set(&e->f, e->places[pair.a], gcc_jit_lvalue_as_rvalue(e->places[pair.b]));
	jit_set(&e->f, e->places[pair.b], held);
}

/* The number of a step, one on. */
static Rvalue *moved(Jit *jit, enum gcc_jit_binary_op op, Rvalue *step)
{
	return gcc_jit_context_new_binary_op(jit->ctxt, NULL, op, jit->i64, step,
					     jit_long(jit, jit->i64, 1));
}

static void call_loop(Entry *e, uint32_t from, uint32_t to, uint32_t number)
{
	Jit *jit = e->f.jit;
	const ProgramLoop *loop = &e->program->loops.at[number];
	Lvalue *step = jit_local(&e->f, jit->i64, jit->module->dims[loop->step]);
	Rvalue *count = count_steps(e, loop), *zero = jit_long(jit, jit->i64, 0);
	jit_set(&e->f, step, loop->down ? moved(jit, GCC_JIT_BINARY_OP_MINUS, count) : zero);
	gcc_jit_block *head = gcc_jit_function_new_block(e->f.function, NULL),
		      *body = gcc_jit_function_new_block(e->f.function, NULL),
		      *after = gcc_jit_function_new_block(e->f.function, NULL);
	gcc_jit_block_end_with_jump(e->f.block, NULL, head);
	e->f.block = head;
	Rvalue *now = gcc_jit_lvalue_as_rvalue(step);
	gcc_jit_block_end_with_conditional(
		head, NULL,
		loop->down ? jit_compare(&e->f, GCC_JIT_COMPARISON_GE, now, zero)
			   : jit_compare(&e->f, GCC_JIT_COMPARISON_LT, now, count),
		body, after);
	size_t known = e->f.known.n;
	forget_sizes(e, known);
	e->f.block = body;
	e->dims[loop->step] = now;
	call_kernels(e, from, to, number);
	forget_sizes(e, known);
	for (uint32_t i = 0; i < loop->nexchanges; i++)
		exchange(e, loop->exchanges[i]);
	if (loop->until != BUFFER_NONE) {
		gcc_jit_block *next = gcc_jit_function_new_block(e->f.function, NULL);
		gcc_jit_block_end_with_conditional(e->f.block, NULL, ends(e, loop), after, next);
		e->f.block = next;
	}
	jit_set(&e->f, step,
		moved(jit, loop->down ? GCC_JIT_BINARY_OP_MINUS : GCC_JIT_BINARY_OP_PLUS, now));
	gcc_jit_block_end_with_jump(e->f.block, NULL, head);
	e->f.block = after;
}

static void call_kernels(Entry *e, uint32_t from, uint32_t to, uint32_t outer)
{
	const ProgramRoutine *r = e->routine;
	for (uint32_t i = from; i < to; i++) {
		const Kernel *kernel = &e->program->kernels.at[r->kernels[i]];
		uint32_t loop = program_loop_right_in(e->program, kernel->loop, outer);
		if (!loop) {
			call_kernel(e, r->kernels[i]);
			continue;
		}
		uint32_t end = program_loop_end(e->program, r, i, loop);
		call_loop(e, i, end, loop);
		i = end - 1;
	}
}

/* ---- functions ---- */

static Rvalue **take_params(Entry *e, uint32_t n, size_t *at)
{
	Rvalue **values = ARENA_ARRAY(e->f.jit->arena, Rvalue *, n);
	for (uint32_t i = 0; i < n; i++)
		values[i] = jit_param(&e->f, (*at)++);
	return values;
}

static size_t routine_params(Jit *jit, uint32_t index, JitParam **params)
{
	const ProgramRoutine *r = program_routine(jit->module->program, index);
	const ModuleRoutine *names = &jit->module->routines[index];
	VEC(JitParam) list = {0};
	PUSH(jit->arena, list, ((JitParam){jit->pointer, "call"}));
	for (uint32_t i = 0; i < r->ndims; i++)
		PUSH(jit->arena, list, ((JitParam){jit->i64, names->dims[i]}));
	for (uint32_t i = 0; i < r->nscalars; i++)
		PUSH(jit->arena, list,
		     ((JitParam){jit->types[r->scalars[i].dtype], names->scalars[i]}));
	for (uint32_t i = 0; i < r->ninputs; i++)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, names->inputs[i]}));
	for (uint32_t i = 0; i < r->noutputs; i++)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, names->outputs[i]}));
	PUSH(jit->arena, list, ((JitParam){jit->pointer, "state"}));
	if (index < jit->module->program->routines.n)
		PUSH(jit->arena, list, ((JitParam){jit->pointer, "workspace"}));
	*params = list.at;
	return list.n;
}

static gcc_jit_function *routine_function(Jit *jit, uint32_t index, gcc_jit_function *failing,
					  bool cpu)
{
	const ProgramRoutine *r = program_routine(jit->module->program, index);
	bool packs = module_is_pack(jit->module, index);
	bool inside = module_is_init(jit->module, index);
	Entry e = {.program = jit->module->program, .routine = r, .index = index, .fail = failing};
	JitParam *params;
	size_t n = routine_params(jit, index, &params), at = 1;
	e.f = jit_function(jit, inside ? GCC_JIT_FUNCTION_INTERNAL : GCC_JIT_FUNCTION_EXPORTED,
			   jit->int_, jit->module->routines[index].function, params, n);
	e.call = jit_param(&e.f, 0);
	e.dims = ARENA_ARRAY(jit->arena, Rvalue *, sizes_ndims(e.program->sizes));
	for (uint32_t i = 0; i < r->ndims; i++)
		e.dims[r->dims[i]] = jit_param(&e.f, at++);
	e.scalars = take_params(&e, r->nscalars, &at);
	for (uint32_t i = 0; i < r->nscalars; i++)
		if (r->scalars[i].dim != DIM_NONE)
			e.dims[r->scalars[i].dim] =
				jit_keep(&e.f, jit_cast(jit, e.scalars[i], jit->i64));
	e.inputs = take_params(&e, r->ninputs, &at);
	e.outputs = take_params(&e, r->noutputs, &at);
	e.state = jit_param(&e.f, at++);
	e.workspace = packs    ? NULL
		      : inside ? e.state
			       : jit_param(&e.f, at); /* init's is in the state */
	jit_guards(&e, cpu);
	open_places(&e);
	call_kernels(&e, 0, r->nkernels, 0);
	if (packs && r->nkernels)
		jit_set(&e.f, jit_stamp_place(&e), jit_long(jit, jit->u32, PACK_STAMP));
	jit_return(&e.f, jit_long(jit, jit->int_, TSR_OK));
	return e.f.function;
}

/* The loader's way in: arguments from arrays, scalars each at the start of its element. */
static void invoke_function(Jit *jit, uint32_t index, gcc_jit_function *routine)
{
	const ProgramRoutine *r = &jit->module->program->routines.at[index];
	Type *pointers = gcc_jit_type_get_pointer(jit->pointer);
	JitParam params[] = {
		{jit->pointer, "call"},	    {gcc_jit_type_get_pointer(jit->i64), "dims"},
		{pointers, "scalars"},	    {pointers, "inputs"},
		{pointers, "outputs"},	    {jit->pointer, "state"},
		{jit->pointer, "workspace"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->int_,
				     jit->module->routines[index].invoke, params, 7);
	VEC(Rvalue *) args = {0};
	PUSH(jit->arena, args, jit_param(&f, 0));
	for (uint32_t i = 0; i < r->ndims; i++)
		PUSH(jit->arena, args, jit_at(&f, jit_param(&f, 1), jit_long(jit, jit->i64, i)));
	for (uint32_t i = 0; i < r->nscalars; i++) {
		Type *element = gcc_jit_type_get_pointer(jit->types[r->scalars[i].dtype]);
		Rvalue *at = jit_at(&f, jit_param(&f, 2), jit_long(jit, jit->i64, i));
		PUSH(jit->arena, args,
		     gcc_jit_lvalue_as_rvalue(
			     gcc_jit_rvalue_dereference(jit_cast(jit, at, element), NULL)));
	}
	for (uint32_t i = 0; i < r->ninputs; i++)
		PUSH(jit->arena, args, jit_at(&f, jit_param(&f, 3), jit_long(jit, jit->i64, i)));
	for (uint32_t i = 0; i < r->noutputs; i++)
		PUSH(jit->arena, args, jit_at(&f, jit_param(&f, 4), jit_long(jit, jit->i64, i)));
	PUSH(jit->arena, args, jit_param(&f, 5));
	PUSH(jit->arena, args, jit_param(&f, 6));
	jit_return(&f, jit_call(&f, routine, args.at, args.n));
}

/* The loader's way to pack: dims from an array of all the module's. */
static void invoke_pack_function(Jit *jit)
{
	uint32_t index = (uint32_t)jit->module->program->routines.n;
	const ProgramRoutine *r = program_routine(jit->module->program, index);
	JitParam params[] = {{jit->pointer, "call"},
			     {gcc_jit_type_get_pointer(jit->i64), "dims"},
			     {jit->pointer, "state"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->int_,
				     jit->module->routines[index].invoke, params, 3);
	VEC(Rvalue *) args = {0};
	PUSH(jit->arena, args, jit_param(&f, 0));
	for (uint32_t i = 0; i < r->ndims; i++)
		PUSH(jit->arena, args,
		     jit_at(&f, jit_param(&f, 1), jit_long(jit, jit->i64, r->dims[i])));
	PUSH(jit->arena, args, jit_param(&f, 2));
	jit_return(&f, jit_call(&f, jit->pack, args.at, args.n));
}

void jit_routines(Jit *jit, bool check_cpu_features)
{
	const Program *p = jit->module->program;
	jit_parallel_runner(jit);
	jit_stream_function(jit);
	gcc_jit_function *failing = jit_fail_function(jit);
	jit->pack = routine_function(jit, (uint32_t)p->routines.n, failing,
				     check_cpu_features && p->pack.nkernels);
	invoke_pack_function(jit);
	if (p->init.nkernels)
		jit->first = routine_function(jit, (uint32_t)p->routines.n + 1, failing,
					      check_cpu_features);
	for (uint32_t i = 0; i < p->routines.n; i++) {
		gcc_jit_function *routine = routine_function(jit, i, failing, check_cpu_features);
		invoke_function(jit, i, routine);
		jit_size_function(jit, jit->module->routines[i].workspace,
				  &(JitSizeFunction){p->routines.at[i].dims,
						     p->routines.at[i].ndims,
						     p->routines.at[i].workspace});
	}
}
