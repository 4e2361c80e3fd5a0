/* Parallel loops: a function for the chunks, and a call that shares them out.
 *
 *   struct args { dims, scalars, buffers; uint64_t busy; };   busy: a bit for each taken slot
 *   static void PREFIX__p_NAME_0(void *arg, int32_t chunk) { the loop's body }
 *   void PREFIX__k_NAME(call, dims, scalars, buffers)
 *   {
 *       struct args args = {dims, scalars, buffers, 0};
 *       PREFIX__run_chunks(call, number of chunks, PREFIX__p_NAME_0, &args);
 *   }
 *
 * With and without threads the same function computes a chunk: the same bits.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_kernel.h"
#include "codegen/jit_parts.h"

typedef struct Tasks {
	const KernelUse *use;
	gcc_jit_struct *type;
	gcc_jit_field *
		*fields; /* the kernel's parameters but the first, which is `call`; then busy */
	size_t nfields;	 /* less the last */
	gcc_jit_function **functions; /* by loop in use->chunks */
} Tasks;

static Tasks *tasks_new(Jit *jit, KernelId id)
{
	Tasks *tasks = ARENA_NEW(jit->arena, Tasks);
	JitParam *params;
	tasks->use = jit->module->kernels[id].use;
	tasks->nfields = jit_kernel_params(jit, tasks->use, &params) - 1;
	size_t n = tasks->nfields;
	tasks->fields = ARENA_ARRAY(jit->arena, gcc_jit_field *, n + 1);
	for (size_t i = 0; i < tasks->nfields; i++)
		tasks->fields[i] = gcc_jit_context_new_field(jit->ctxt, NULL, params[i + 1].type,
							     params[i + 1].name);
	tasks->fields[n] = gcc_jit_context_new_field(jit->ctxt, NULL, jit->u64, "busy");
	tasks->type =
		gcc_jit_context_new_struct_type(jit->ctxt, NULL, "args", (int)n + 1, tasks->fields);
	tasks->functions = ARENA_ARRAY(jit->arena, gcc_jit_function *, tasks->use->chunks.n + 1);
	return tasks;
}

static const char *slot_name(Jit *jit, const char *verb)
{
	return arena_printf(jit->arena, "%s__%s_slot", jit->module->prefix, verb);
}

/* verb_slot(&args->busy, number), which is a slot, or how many there are. */
static Rvalue *slot_call(JitFunction *f, const char *verb, Rvalue *busy, Rvalue *number)
{
	Jit *jit = f->jit;
	JitParam params[] = {{jit->pointer, "busy"}, {jit->i64, "number"}};
	Rvalue *args[] = {busy, number};
	return jit_call(f, jit_import(jit, jit->i64, slot_name(jit, verb), params, 2), args, 2);
}

static gcc_jit_function *task_function(Jit *jit, KernelId id, const Tasks *tasks, uint32_t index)
{
	const Stmt *loop = tasks->use->chunks.at[index];
	KernelJit k = jit_kernel_new(jit, id);
	JitParam params[] = {{jit->pointer, "arg"}, {jit->int_, "chunk"}};
	const char *name =
		arena_printf(jit->arena, "%s__p_%s_%u", jit->module->prefix, k.kernel->name, index);
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->void_, name, params, 2);
	Type *pointer = gcc_jit_type_get_pointer(gcc_jit_struct_as_type(tasks->type));
	Rvalue *args = jit_keep(&f, jit_cast(jit, jit_param(&f, 0), pointer));
	Rvalue **values = ARENA_ARRAY(jit->arena, Rvalue *, tasks->nfields + 1);
	for (size_t i = 0; i < tasks->nfields; i++)
		values[i] = jit_keep(&f, gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference_field(
						 args, NULL, tasks->fields[i])));
	jit_kernel_open(&k, f, values);
	jit_set(&k.f, k.iters[loop->iter], jit_cast(jit, jit_param(&k.f, 1), jit->i64));
	Lvalue *busy = gcc_jit_rvalue_dereference_field(args, NULL, tasks->fields[tasks->nfields]);
	Rvalue *slots = jit_cast(jit, gcc_jit_lvalue_get_address(busy, NULL), jit->pointer);
	if (loop->nslots)
		jit_set(&k.f, k.iters[loop->slot],
			slot_call(&k.f, "take", slots, jit_long(jit, jit->i64, loop->nslots)));
	jit_kernel_block(&k, loop->body);
	if (loop->nslots)
		jit_keep(&k.f, slot_call(&k.f, "give", slots,
					 gcc_jit_lvalue_as_rvalue(k.iters[loop->slot])));
	jit_return(&k.f, NULL);
	jit_entry_end(&k.f);
	return k.f.function;
}

Tasks *jit_parallel_tasks(Jit *jit, KernelId id)
{
	Tasks *tasks = tasks_new(jit, id);
	for (uint32_t i = 0; i < tasks->use->chunks.n; i++)
		tasks->functions[i] = task_function(jit, id, tasks, i);
	return tasks;
}

/* ---- calls ---- */

static Type *task_type(Jit *jit)
{
	Type *params[] = {jit->pointer, jit->int_};
	return gcc_jit_context_new_function_ptr_type(jit->ctxt, NULL, jit->void_, 2, params, 0);
}

static const char *runner_name(Jit *jit)
{
	return arena_printf(jit->arena, "%s__run_chunks", jit->module->prefix);
}

void jit_parallel_loop(KernelJit *k, const Stmt *loop)
{
	Jit *jit = k->f.jit;
	const Tasks *tasks = k->tasks;
	uint32_t index = kernel_use_chunks(tasks->use, loop);
	Lvalue *args = jit_local(&k->f, gcc_jit_struct_as_type(tasks->type), "args");
	for (size_t i = 0; i < tasks->nfields; i++)
		jit_set(&k->f, gcc_jit_lvalue_access_field(args, NULL, tasks->fields[i]),
			jit_param(&k->f, i + 1));
	jit_set(&k->f, gcc_jit_lvalue_access_field(args, NULL, tasks->fields[tasks->nfields]),
		jit_long(jit, jit->u64, 0));
	JitParam params[] = {{jit->pointer, "call"},
			     {jit->i64, "n"},
			     {jit->pointer, "task"},
			     {jit->pointer, "arg"}};
	Rvalue *task = gcc_jit_function_get_address(tasks->functions[index], NULL);
	Rvalue *values[] = {jit_param(&k->f, 0), jit_kernel_ix(k, loop->hi),
			    jit_cast(jit, task, jit->pointer),
			    jit_cast(jit, gcc_jit_lvalue_get_address(args, NULL), jit->pointer)};
	gcc_jit_function *runner = jit_import(jit, jit->void_, runner_name(jit), params, 4);
	gcc_jit_block_add_eval(k->f.block, k->f.location, jit_call(&k->f, runner, values, 4));
}

/* tsr_call as in runtime/tsr.h. */
static Type *call_type(Jit *jit, Type *parallel, gcc_jit_field **fields)
{
	gcc_jit_context *ctxt = jit->ctxt;
	fields[0] = gcc_jit_context_new_field(ctxt, NULL, jit->u32, "abi");
	fields[1] = gcc_jit_context_new_field(ctxt, NULL, jit->u32, "flags");
	fields[2] = gcc_jit_context_new_field(ctxt, NULL, jit->pointer, "message");
	fields[3] = gcc_jit_context_new_field(ctxt, NULL, parallel, "parallel");
	fields[4] = gcc_jit_context_new_field(ctxt, NULL, jit->pointer, "pool");
	return gcc_jit_struct_as_type(
		gcc_jit_context_new_struct_type(ctxt, NULL, "tsr_call_pool", 5, fields));
}

static Rvalue *field(JitFunction *f, Rvalue *of, gcc_jit_field *which)
{
	return jit_keep(
		f, gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference_field(of, NULL, which)));
}

/* if (n > 1 && call && call->parallel) call->parallel(call->pool, n, task, arg), and returns. */
static void run_on_pool(JitFunction *f, Rvalue *task)
{
	Jit *jit = f->jit;
	Type *types[] = {jit->pointer, jit->int_, task_type(jit), jit->pointer};
	Type *parallel =
		gcc_jit_context_new_function_ptr_type(jit->ctxt, NULL, jit->void_, 4, types, 0);
	gcc_jit_field *fields[5];
	Type *calls = gcc_jit_type_get_pointer(call_type(jit, parallel, fields));
	Rvalue *given = jit_param(f, 0), *n = jit_param(f, 1);
	JitBlock *few =
		jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_GT, n, jit_long(jit, jit->i64, 1)));
	JitBlock *none = jit_if(
		f, jit_compare(f, GCC_JIT_COMPARISON_NE, given, jit_null(jit, jit->pointer)));
	Rvalue *call = jit_keep(f, jit_cast(jit, given, calls));
	Rvalue *run = field(f, call, fields[3]);
	JitBlock *serial =
		jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_NE, run, jit_null(jit, parallel)));
	Rvalue *args[] = {field(f, call, fields[4]), jit_cast(jit, n, jit->int_), task,
			  jit_param(f, 3)};
	gcc_jit_block_add_eval(f->block, NULL,
			       gcc_jit_context_new_call_through_ptr(jit->ctxt, NULL, run, 4, args));
	jit_return(f, NULL);
	jit_end_if(f, serial);
	jit_end_if(f, none);
	jit_end_if(f, few);
}

/* The bits before __atomic_fetch_OP_8(busy, mask). */
static Rvalue *atomic_update(JitFunction *f, const char *builtin, Rvalue *mask, int order)
{
	Jit *jit = f->jit;
	gcc_jit_function *function = gcc_jit_context_get_builtin_function(jit->ctxt, builtin);
	Rvalue *args[] = {jit_param(f, 0), mask, jit_long(jit, jit->int_, order)};
	for (int i = 0; i < 3; i++) {
		Rvalue *param = gcc_jit_param_as_rvalue(gcc_jit_function_get_param(function, i));
		args[i] = jit_cast(jit, args[i], gcc_jit_rvalue_get_type(param));
	}
	return jit_cast(jit, jit_call(f, function, args, 3), jit->u64);
}

static Rvalue *slot_bit(JitFunction *f, Rvalue *slot)
{
	Jit *jit = f->jit;
	return jit_binary(f, GCC_JIT_BINARY_OP_LSHIFT, jit_long(jit, jit->u64, 1),
			  jit_cast(jit, slot, jit->u64));
}

/* The first slot that is free; while none is, it tries again. */
static void take_slot(Jit *jit)
{
	JitParam params[] = {{jit->pointer, "busy"}, {jit->i64, "n"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->i64,
				     slot_name(jit, "take"), params, 2);
	Lvalue *slot = jit_local(&f, jit->i64, "slot");
	Rvalue *here = gcc_jit_lvalue_as_rvalue(slot), *zero = jit_long(jit, jit->i64, 0);
	JitBlock *again = gcc_jit_function_new_block(f.function, NULL);
	jit_set(&f, slot, zero);
	gcc_jit_block_end_with_jump(f.block, NULL, again);
	f.block = again;
	Rvalue *bit = jit_keep(&f, slot_bit(&f, here));
	Rvalue *before =
		jit_keep(&f, atomic_update(&f, "__atomic_fetch_or_8", bit, __ATOMIC_ACQUIRE));
	Rvalue *taken = jit_binary(&f, GCC_JIT_BINARY_OP_BITWISE_AND, before, bit);
	JitBlock *busy = jit_if(
		&f, jit_compare(&f, GCC_JIT_COMPARISON_EQ, taken, jit_long(jit, jit->u64, 0)));
	jit_return(&f, here);
	jit_end_if(&f, busy);
	Rvalue *next = jit_keep(
		&f, jit_binary(&f, GCC_JIT_BINARY_OP_PLUS, here, jit_long(jit, jit->i64, 1)));
	jit_set(&f, slot,
		jit_select(&f, jit_compare(&f, GCC_JIT_COMPARISON_EQ, next, jit_param(&f, 1)), zero,
			   next));
	gcc_jit_block_end_with_jump(f.block, NULL, again);
}

static void give_slot(Jit *jit)
{
	JitParam params[] = {{jit->pointer, "busy"}, {jit->i64, "slot"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->i64,
				     slot_name(jit, "give"), params, 2);
	Rvalue *others =
		gcc_jit_context_new_unary_op(jit->ctxt, NULL, GCC_JIT_UNARY_OP_BITWISE_NEGATE,
					     jit->u64, slot_bit(&f, jit_param(&f, 1)));
	jit_keep(&f, atomic_update(&f, "__atomic_fetch_and_8", others, __ATOMIC_RELEASE));
	jit_return(&f, jit_param(&f, 1));
}

void jit_parallel_runner(Jit *jit)
{
	if (!module_has_chunks(jit->module))
		return;
	if (module_has_slots(jit->module)) {
		take_slot(jit);
		give_slot(jit);
	}
	JitParam params[] = {{jit->pointer, "call"},
			     {jit->i64, "n"},
			     {jit->pointer, "task"},
			     {jit->pointer, "arg"}};
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->void_, runner_name(jit),
				     params, 4);
	Rvalue *task = jit_keep(&f, jit_cast(jit, jit_param(&f, 2), task_type(jit)));
	run_on_pool(&f, task);
	Lvalue *i = jit_local(&f, jit->i64, "i");
	JitLoop loop = jit_loop(&f, i, jit_long(jit, jit->i64, 0), jit_param(&f, 1), 1);
	Rvalue *args[] = {jit_param(&f, 3), jit_cast(jit, gcc_jit_lvalue_as_rvalue(i), jit->int_)};
	gcc_jit_block_add_eval(
		f.block, NULL,
		gcc_jit_context_new_call_through_ptr(jit->ctxt, NULL, task, 2, args));
	jit_end_loop(&f, &loop);
	jit_return(&f, NULL);
}
