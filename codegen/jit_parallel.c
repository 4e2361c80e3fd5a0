/* Parallel loops: a function for the pieces, and a call that shares them out.
 *
 *   struct args { dims, scalars, buffers };
 *   static void PREFIX__p_NAME_0(void *arg, int32_t piece) { the loop's body }
 *   void PREFIX__k_NAME(call, dims, scalars, buffers)
 *   {
 *       struct args args = {dims, scalars, buffers};
 *       PREFIX__run_pieces(call, number of pieces, PREFIX__p_NAME_0, &args);
 *   }
 *
 * With and without threads the same function computes a piece: the same bits.
 */
#include "codegen/jit_kernel.h"

typedef struct Tasks {
	const Kernel *kernel;
	gcc_jit_struct *type;
	gcc_jit_field **fields; /* the kernel's parameters but the first, which is `call` */
	size_t nfields;
	gcc_jit_function **functions; /* by statement of the kernel; NULL: not parallel */
} Tasks;

static Tasks *tasks_new(Jit *jit, KernelId id)
{
	Tasks *tasks = ARENA_NEW(jit->arena, Tasks);
	JitParam *params;
	tasks->nfields = jit_kernel_params(jit, id, &params) - 1;
	tasks->kernel = &jit->module->kernels[id].kernel;
	tasks->fields = ARENA_ARRAY(jit->arena, gcc_jit_field *, tasks->nfields + 1);
	for (size_t i = 0; i < tasks->nfields; i++)
		tasks->fields[i] = gcc_jit_context_new_field(jit->ctxt, NULL, params[i + 1].type,
							     params[i + 1].name);
	tasks->type = gcc_jit_context_new_struct_type(jit->ctxt, NULL, "args", (int)tasks->nfields,
						      tasks->fields);
	tasks->functions = ARENA_ARRAY(jit->arena, gcc_jit_function *, tasks->kernel->body.n);
	return tasks;
}

static gcc_jit_function *task_function(Jit *jit, KernelId id, const Tasks *tasks, uint32_t index)
{
	const Stmt *loop = tasks->kernel->body.stmts[index];
	KernelJit k = jit_kernel_new(jit, id);
	JitParam params[] = {{jit->pointer, "arg"}, {jit->int_, "piece"}};
	const char *name = arena_printf(jit->arena, "%s__p_%s_%u", jit->module->prefix,
					k.kernel->name, index);
	JitFunction f = jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->void_, name, params, 2);
	Type *pointer = gcc_jit_type_get_pointer(gcc_jit_struct_as_type(tasks->type));
	Rvalue *args = jit_keep(&f, jit_cast(jit, jit_param(&f, 0), pointer));
	Rvalue **values = ARENA_ARRAY(jit->arena, Rvalue *, tasks->nfields + 1);
	for (size_t i = 0; i < tasks->nfields; i++)
		values[i] = jit_keep(&f, gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference_field(
						 args, NULL, tasks->fields[i])));
	jit_kernel_open(&k, f, values);
	jit_set(&k.f, k.iters[loop->iter], jit_cast(jit, jit_param(&k.f, 1), jit->i64));
	jit_kernel_block(&k, loop->body);
	jit_return(&k.f, NULL);
	return k.f.function;
}

Tasks *jit_parallel_tasks(Jit *jit, KernelId id)
{
	Tasks *tasks = tasks_new(jit, id);
	for (uint32_t i = 0; i < tasks->kernel->body.n; i++) {
		const Stmt *stmt = tasks->kernel->body.stmts[i];
		if (stmt->kind == LOOP_FOR && stmt->loop == LOOP_PARALLEL)
			tasks->functions[i] = task_function(jit, id, tasks, i);
	}
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
	return arena_printf(jit->arena, "%s__run_pieces", jit->module->prefix);
}

void jit_parallel_loop(KernelJit *k, const Stmt *loop)
{
	Jit *jit = k->f.jit;
	const Tasks *tasks = k->tasks;
	uint32_t index = 0;
	while (tasks->kernel->body.stmts[index] != loop)
		index++;
	Lvalue *args = jit_local(&k->f, gcc_jit_struct_as_type(tasks->type), "args");
	for (size_t i = 0; i < tasks->nfields; i++)
		jit_set(&k->f, gcc_jit_lvalue_access_field(args, NULL, tasks->fields[i]),
			jit_param(&k->f, i + 1));
	JitParam params[] = {
		{jit->pointer, "call"}, {jit->i64, "n"}, {jit->pointer, "task"}, {jit->pointer, "arg"}};
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
	return gcc_jit_struct_as_type(gcc_jit_context_new_struct_type(ctxt, NULL, "tsr_call_pool", 5, fields));
}

static Rvalue *field(JitFunction *f, Rvalue *of, gcc_jit_field *which)
{
	return jit_keep(f, gcc_jit_lvalue_as_rvalue(gcc_jit_rvalue_dereference_field(of, NULL, which)));
}

/* if (n > 1 && call && call->parallel) call->parallel(call->pool, n, task, arg), and returns. */
static void run_on_pool(JitFunction *f, Rvalue *task)
{
	Jit *jit = f->jit;
	Type *types[] = {jit->pointer, jit->int_, task_type(jit), jit->pointer};
	Type *parallel = gcc_jit_context_new_function_ptr_type(jit->ctxt, NULL, jit->void_, 4, types, 0);
	gcc_jit_field *fields[5];
	Type *calls = gcc_jit_type_get_pointer(call_type(jit, parallel, fields));
	Rvalue *given = jit_param(f, 0), *n = jit_param(f, 1);
	JitBlock *few = jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_GT, n, jit_long(jit, jit->i64, 1)));
	JitBlock *none =
		jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_NE, given, jit_null(jit, jit->pointer)));
	Rvalue *call = jit_keep(f, jit_cast(jit, given, calls));
	Rvalue *run = field(f, call, fields[3]);
	JitBlock *serial = jit_if(f, jit_compare(f, GCC_JIT_COMPARISON_NE, run, jit_null(jit, parallel)));
	Rvalue *args[] = {field(f, call, fields[4]), jit_cast(jit, n, jit->int_), task, jit_param(f, 3)};
	gcc_jit_block_add_eval(f->block, NULL,
			       gcc_jit_context_new_call_through_ptr(jit->ctxt, NULL, run, 4, args));
	jit_return(f, NULL);
	jit_end_if(f, serial);
	jit_end_if(f, none);
	jit_end_if(f, few);
}

void jit_parallel_runner(Jit *jit)
{
	if (!module_has_pieces(jit->module))
		return;
	JitParam params[] = {
		{jit->pointer, "call"}, {jit->i64, "n"}, {jit->pointer, "task"}, {jit->pointer, "arg"}};
	JitFunction f =
		jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->void_, runner_name(jit), params, 4);
	Rvalue *task = jit_keep(&f, jit_cast(jit, jit_param(&f, 2), task_type(jit)));
	run_on_pool(&f, task);
	Lvalue *i = jit_local(&f, jit->i64, "i");
	JitLoop loop = jit_loop(&f, i, jit_long(jit, jit->i64, 0), jit_param(&f, 1), 1);
	Rvalue *args[] = {jit_param(&f, 3), jit_cast(jit, gcc_jit_lvalue_as_rvalue(i), jit->int_)};
	gcc_jit_block_add_eval(f.block, NULL,
			       gcc_jit_context_new_call_through_ptr(jit->ctxt, NULL, task, 2, args));
	jit_end_loop(&f, &loop);
	jit_return(&f, NULL);
}
