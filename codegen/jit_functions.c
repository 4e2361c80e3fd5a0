/* The functions of a kernel: one for each loop that is outlined or parallel, then the kernel's own,
 * which calls them.
 *
 *   static void PREFIX__p_NAME_part0(dims, buffers, iterators around it) { the loop }
 */
#include "codegen/jit_function.h"
#include "codegen/jit_kernel.h"
#include "codegen/jit_parts.h"

/* ---- loops that are outlined ---- */

/* The kernel is of that loop alone. */
static gcc_jit_function *outlined_function(const KernelJit *whole, Jit *jit, const Kernel *kernel,
					   const KernelUse *use)
{
	KernelJit part = {.program = whole->program, .kernel = kernel, .use = use};
	part.values.arena = jit->arena;
	part.multiples = whole->multiples;
	JitParam *own;
	size_t nown = jit_kernel_params(jit, use, &own);
	VEC(JitParam) params = {0};
	for (size_t i = 0; i < nown; i++)
		PUSH(jit->arena, params, own[i]);
	for (size_t i = 0; i < use->iters.n; i++)
		PUSH(jit->arena, params, ((JitParam){jit->i64, "iterator"}));
	bool tiles = jit_needs_tiles(jit, kernel->body);
	if (tiles)
		PUSH(jit->arena, params, ((JitParam){jit->int_, "tiles_ok"}));
	const char *name = arena_printf(jit->arena, "%s__p_%s_part%zu", jit->module->prefix,
					kernel->name, jit->outlined.n);
	JitFunction f =
		jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->void_, name, params.at, params.n);
	Rvalue **values = ARENA_ARRAY(jit->arena, Rvalue *, params.n + 1);
	for (size_t i = 0; i < params.n; i++)
		values[i] = jit_param(&f, i);
	jit_kernel_open(&part, f, values);
	for (size_t i = 0; i < use->iters.n; i++)
		jit_set(&part.f, part.iters[use->iters.at[i]], values[nown + i]);
	part.tiles.given = tiles ? values[params.n - 1] : NULL;
	jit_kernel_block(&part, kernel->body);
	jit_return(&part.f, NULL);
	jit_entry_end(&part.f);
	return f.function;
}

/* Inside it the loop is what it is: its function is known once it is made. */
static void outline(const KernelJit *whole, Jit *jit, const Stmt *loop)
{
	Kernel *part = ARENA_NEW(jit->arena, Kernel);
	const Stmt **body = ARENA_ARRAY(jit->arena, const Stmt *, 1);
	body[0] = loop;
	*part = *whole->kernel;
	part->body = (Block){body, 1};
	const KernelUse *use =
		kernel_use(jit->module->program, part, (KernelBases){0}, jit->module->arena);
	REQUIRE(!use->needs_locals && use->checks.n == 0);
	gcc_jit_function *function = outlined_function(whole, jit, part, use);
	PUSH(jit->arena, jit->outlined,
	     ((JitOutlined){loop, use, function, jit_needs_tiles(jit, part->body)}));
}

static void outline_block(const KernelJit *whole, Jit *jit, Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		if (block.stmts[i]->outlined)
			outline(whole, jit, block.stmts[i]);
		else
			outline_block(whole, jit, block.stmts[i]->body);
}

/* ---- kernels ---- */

static void kernel_code(Jit *jit, KernelId id)
{
	KernelJit k = jit_kernel_new(jit, id);
	JitParam *params;
	/* the call is for the runner of chunks; everything else is bound */
	size_t n = jit_kernel_params(jit, k.use, &params), first = k.use->parallel;
	bool checks = k.use->checks.n > 0;
	outline_block(&k, jit, k.kernel->body);
	k.tasks = k.use->parallel ? jit_parallel_tasks(jit, id) : NULL;
	JitFunction f =
		jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, checks ? jit->int_ : jit->void_,
			     jit->module->kernels[id].function, params, n);
	Rvalue **values = ARENA_ARRAY(jit->arena, Rvalue *, n + 1);
	for (size_t i = first; i < n; i++)
		values[i - first] = jit_param(&f, i);
	jit_kernel_open(&k, f, values);
	jit_kernel_block(&k, k.kernel->body);
	jit_return(&k.f, checks ? jit_long(jit, jit->int_, 0) : NULL);
	jit_entry_end(&k.f);
}

void jit_kernels(Jit *jit, const KernelId *kernels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kernel_code(jit, kernels[i]);
}
