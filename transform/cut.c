/* Kernels of many nests as one for each: nests that do the same are then one function, and what a compiler
 * takes for a function of n nests, more than n times that of one, is spared.
 *
 *   for i in 0..n: z[i] = h[i]                 kernel z        for i in 0..n: z[i] = h[i]
 *   for i in 0..n: z[i + n] = h_2[i]     ->    kernel z_part_2 for i in 0..n: z[i + n] = h_2[i]
 *   ...                                        ...
 *
 * Iterators and locals of each are numbered anew, in the order of their use.
 */
#include <stb/stb_ds.h>
#include <string.h>

#include "loops/rewrite.h"
#include "transform/transform.h"

enum { NESTS_MOST = 32 };

typedef struct Taken {
	Sym key;
	bool value;
} Taken;

typedef struct Cut {
	const Transform *transform;
	Program *program;
	Arena *arena;
	const Kernel *kernel;
	Kernel part;
	const Ix **iters; /* by IterVar of the kernel: what stands for it */
	LocalId *locals;  /* likewise */
} Cut;

/* A block's own: loops bind iterators, LOCAL statements locals, before all uses. */
static void number_block(Cut *c, Block block)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		if (stmt->kind == LOOP_FOR) {
			IterVar bound[] = {stmt->iter, stmt->slot};
			for (int k = 0; k < (stmt->nslots ? 2 : 1); k++) {
				c->part.iters[c->part.niters] = c->kernel->iters[bound[k]];
				c->iters[bound[k]] = ix_iter(c->arena, c->part.niters++);
			}
		}
		if (stmt->kind == LOOP_LOCAL) {
			c->part.locals[c->part.nlocals] = c->kernel->locals[stmt->local];
			c->locals[stmt->local] = c->part.nlocals++;
		}
		number_block(c, stmt->body);
	}
}

static Kernel part_of(Cut *c, uint32_t i, Sym name)
{
	const Kernel *kernel = c->kernel;
	const Stmt **stmts = ARENA_ARRAY(c->arena, const Stmt *, 1);
	c->part = *kernel;
	c->part.name = name;
	c->part.niters = c->part.nlocals = 0;
	c->part.iters = ARENA_ARRAY(c->arena, KernelIter, kernel->niters + 1);
	c->part.locals = ARENA_ARRAY(c->arena, KernelLocal, kernel->nlocals + 1);
	stmts[0] = kernel->body.stmts[i];
	number_block(c, (Block){stmts, 1});
	Rewrite rewrite = {.program = c->program,
			   .iters = c->iters,
			   .renames = true,
			   .locals = c->locals,
			   .span = kernel->span};
	c->part.body = rewrite_block(&rewrite, (Block){stmts, 1});
	return c->part;
}

/* Does the kernel only go through nests, each for itself? */
static bool has_many_nests(const Kernel *kernel)
{
	if (kernel->body.n <= NESTS_MOST)
		return false;
	for (uint32_t i = 0; i < kernel->body.n; i++)
		if (kernel->body.stmts[i]->kind != LOOP_FOR)
			return false;
	return true;
}

/* NAME_part_2, NAME_part_3, ...: with no name that there is. */
static Sym free_name(const Cut *c, Taken **taken, uint32_t number)
{
	Symbols *symbols = c->program->symbols;
	Sym name = sym_printf(symbols, "%s_part_%u", c->kernel->name, number);
	while (hmgeti(*taken, name) >= 0) /* falls: names that are taken */
		name = sym_printf(symbols, "%s_", name);
	hmput(*taken, name, true);
	return name;
}

typedef VEC(Kernel) Kernels;

static void cut_kernel(const Transform *t, const Kernel *kernel, Taken **taken, Kernels *made)
{
	Arena *arena = t->program->arena;
	Cut c = {.transform = t, .program = t->program, .arena = arena, .kernel = kernel};
	c.iters = ARENA_ARRAY(t->scratch, const Ix *, kernel->niters + 1);
	c.locals = ARENA_ARRAY(t->scratch, LocalId, kernel->nlocals + 1);
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		Sym name = i == 0 ? kernel->name : free_name(&c, taken, i + 1);
		PUSH(arena, *made, part_of(&c, i, name));
	}
}

static void cut_routine(const Transform *t, ProgramRoutine *routine, Taken **taken, Kernels *made)
{
	Arena *arena = t->program->arena;
	KernelId first = (KernelId)made->n;
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &t->program->kernels.at[routine->kernels[i]];
		if (has_many_nests(kernel))
			cut_kernel(t, kernel, taken, made);
		else
			PUSH(arena, *made, *kernel);
	}
	routine->nkernels = (uint32_t)made->n - first;
	routine->kernels = ARENA_ARRAY(arena, KernelId, routine->nkernels + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		routine->kernels[i] = first + i;
}

bool kernels_cut(const Transform *t)
{
	Program *program = t->program;
	Taken *taken = NULL;
	Kernels made = {0};
	bool any = false;
	for (size_t i = 0; i < program->kernels.n; i++) {
		hmput(taken, program->kernels.at[i].name, true);
		any |= has_many_nests(&program->kernels.at[i]);
	}
	for (uint32_t r = 0; r < program->routines.n && any; r++)
		cut_routine(t, &program->routines.at[r], &taken, &made);
	if (any) {
		cut_routine(t, &program->pack, &taken, &made);
		cut_routine(t, &program->init, &taken, &made);
		program->kernels.at = made.at;
		program->kernels.n = made.n;
		program->kernels.cap = made.cap;
	}
	hmfree(taken);
	return any;
}
