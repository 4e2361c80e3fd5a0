/* Loops of a heavy kernel as functions of their own.
 *
 *   for first in 0..s step 64                       for first in 0..s step 64
 *     for t in 0..s step 32: scores                   PREFIX__p_NAME_part0(dims, buffers, first)
 *     for row in 0..64: softmax              ->       PREFIX__p_NAME_part1(..)
 *     for s1 in 0..60 step 6: the product             PREFIX__p_NAME_part2(..)
 *
 * GCC's time grows faster than a function does: it shares registers out among all that lives in it,
 * and looks at every pair of addresses. The largest loops that are not too heavy for a function are
 * taken, where they hold loops, so that a call is little beside what it does. A part holds the code
 * that would be in its place: the same operations in the same order.
 */
#include "codegen/jit_kernel.h"
#include "codegen/jit_units.h"

enum { LEAST_WEIGHT = 40, MOST_WEIGHT = 400 };

bool jit_is_parted(const Module *module, const Kernel *kernel)
{
	return jit_block_weight(module, kernel->body) > MOST_WEIGHT;
}

static bool has_serial_loop(Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		if (block.stmts[i]->kind == LOOP_FOR && block.stmts[i]->loop == LOOP_SERIAL)
			return true;
		else if (has_serial_loop(block.stmts[i]->body))
			return true;
	return false;
}

/* What the loop needs of what is around it; NULL: it stays where it is. */
static const KernelUse *part_use(const KernelJit *k, const Kernel *part)
{
	const Module *m = k->f.jit->module;
	const Stmt *loop = part->body.stmts[0];
	uint64_t weight = jit_block_weight(m, part->body);
	if (weight < LEAST_WEIGHT || weight > MOST_WEIGHT || !has_serial_loop(loop->body))
		return NULL;
	const KernelUse *use = kernel_use(m->program, part, (KernelBases){0}, m->arena);
	bool alone = !use->needs_locals && use->checks.n == 0;
	for (size_t i = 0; i < use->iters.n; i++)
		alone = alone && !k->fixed[use->iters.at[i]];
	return alone ? use : NULL;
}

static void call_part(KernelJit *k, const KernelUse *use, gcc_jit_function *function)
{
	VEC(Rvalue *) args = {0};
	Arena *arena = k->f.jit->arena;
	for (size_t i = 0; i < use->dims.n; i++)
		PUSH(arena, args, k->dims[use->dims.at[i]]);
	for (size_t i = 0; i < use->scalars.n; i++)
		PUSH(arena, args, k->scalars[kernel_use_scalar(k->use, use->scalars.at[i].scalar)]);
	for (size_t i = 0; i < use->buffers.n; i++)
		PUSH(arena, args, k->buffers[kernel_use_buffer(k->use, use->buffers.at[i].buffer)]);
	for (size_t i = 0; i < use->iters.n; i++)
		PUSH(arena, args, gcc_jit_lvalue_as_rvalue(k->iters[use->iters.at[i]]));
	gcc_jit_block_add_eval(k->f.block, k->f.location,
			       jit_call(&k->f, function, args.at, args.n));
}

static gcc_jit_function *part_function(const KernelJit *k, const Kernel *kernel,
				       const KernelUse *use)
{
	Jit *jit = k->f.jit;
	KernelJit part = {.program = k->program, .kernel = kernel, .use = use};
	part.values.arena = jit->arena;
	JitParam *own;
	size_t nown = jit_kernel_params(jit, use, &own);
	VEC(JitParam) params = {0};
	for (size_t i = 0; i < nown; i++)
		PUSH(jit->arena, params, own[i]);
	for (size_t i = 0; i < use->iters.n; i++)
		PUSH(jit->arena, params, ((JitParam){jit->i64, "iterator"}));
	const char *name = arena_printf(jit->arena, "%s__p_%s_part%u", jit->module->prefix,
					kernel->name, jit->nparts++);
	JitFunction f =
		jit_function(jit, GCC_JIT_FUNCTION_INTERNAL, jit->void_, name, params.at, params.n);
	Rvalue **values = ARENA_ARRAY(jit->arena, Rvalue *, params.n + 1);
	for (size_t i = 0; i < params.n; i++)
		values[i] = jit_param(&f, i);
	jit_kernel_open(&part, f, values);
	for (size_t i = 0; i < use->iters.n; i++)
		jit_set(&part.f, part.iters[use->iters.at[i]], values[nown + i]);
	jit_kernel_block(&part, kernel->body);
	jit_return(&part.f, NULL);
	jit_entry_end(&part.f);
	return f.function;
}

bool jit_part(KernelJit *k, const Stmt *loop)
{
	Arena *arena = k->f.jit->arena;
	Kernel *part = ARENA_NEW(arena, Kernel);
	const Stmt **body = ARENA_ARRAY(arena, const Stmt *, 1);
	body[0] = loop;
	*part = *k->kernel;
	part->body = (Block){body, 1};
	const KernelUse *use = part_use(k, part);
	if (!use)
		return false;
	call_part(k, use, part_function(k, part, use));
	return true;
}
