/* Loops with independent iterations to threads of a GPU.
 *
 * A statement at the top of a kernel is a kernel of its own, one launch, where it has such loops and
 * shares no local with others; what has none runs in one thread. Of a nest of loops, each the only
 * statement of the one around it, those from 0 to a size whose iterations are independent of each
 * other in the whole nest are bound: they go outermost, in their order, which changes nothing since
 * no two of their iterations meet. What is left of the nest is each thread's.
 *
 * Then kernels of one grid become one where each thread reads what it has stored (join.c).
 *
 * Decided by grid_shape: how many threads of a block lie along each bound loop. The innermost one
 * has a warp at least, so that neighbours read and store neighbours; a loop that is shorter than what
 * is left of the block gives the rest to the next one out.
 */
#include <string.h>

#include "base/diag.h"
#include "loops/dependence.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/tile.h"

/* A loop of a nest. */
typedef struct Link {
	const Stmt *loop;
	bool bound;
	int64_t threads; /* of a block, along a bound one */
} Link;

/* The loops of a nest, outermost first. */
typedef struct Chain {
	VEC(Link) links;
	uint32_t nbound;
} Chain;

typedef struct Bind {
	Program *program;
	const GpuTarget *gpu;
	VEC(Kernel) kernels; /* of all routines, made so far */
} Bind;

/* ---- which loops ---- */

static Chain chain_of(const Bind *b, const Kernel *kernel, const Stmt *root)
{
	Chain c = {0};
	for (const Stmt *s = root; s && s->kind == LOOP_FOR;
	     s = s->body.n == 1 ? s->body.stmts[0] : NULL) {
		bool bound = loop_counts_from_zero(b->program->sizes, s) &&
			     gpu_independent(b->program, kernel, root, s);
		c.nbound += bound;
		PUSH(b->program->arena, c.links, ((Link){s, bound, 1}));
	}
	return c;
}

/* ---- how many threads along each ---- */

static void block_shape(const Bind *b, Chain *c)
{
	uint32_t n = 0;
	Size *extents = ARENA_ARRAY(b->program->arena, Size, c->nbound + 1);
	int64_t *threads = ARENA_ARRAY(b->program->arena, int64_t, c->nbound + 1);
	for (size_t i = 0; i < c->links.n; i++)
		if (c->links.at[i].bound)
			extents[n++] = c->links.at[i].loop->hi->size;
	grid_shape(b->program->sizes, b->gpu, extents, n, threads);
	for (size_t i = c->links.n; i-- > 0;)
		if (c->links.at[i].bound)
			c->links.at[i].threads = threads[--n];
}

/* ---- the kernel ---- */

static const Stmt *bound_nest(Bind *b, const Chain *c)
{
	Block inside = c->links.at[c->links.n - 1].loop->body;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = c->links.n; i-- > 0;) {
			const Link *link = &c->links.at[i];
			if (link->bound != (pass == 1))
				continue;
			Stmt *loop = stmt_with(b->program->arena, link->loop, inside);
			loop->loop = link->bound ? LOOP_GRID : LOOP_SERIAL;
			loop->threads = link->bound ? link->threads : 0;
			inside = block_one(b->program->arena, loop);
		}
	return inside.stmts[0];
}

static bool name_is_taken(const Bind *b, Sym name)
{
	for (size_t i = 0; i < b->program->kernels.n; i++)
		if (b->program->kernels.at[i].name == name)
			return true;
	for (size_t i = 0; i < b->kernels.n; i++)
		if (b->kernels.at[i].name == name)
			return true;
	return false;
}

/* The first part of a kernel keeps its name. */
static void add_part(Bind *b, const Kernel *kernel, Block body, uint32_t *nparts)
{
	Kernel part = *kernel;
	part.body = body;
	for (uint32_t i = ++*nparts; i > 1 && name_is_taken(b, part.name); i++)
		part.name = sym_printf(b->program->symbols, "%s_%u", kernel->name, i);
	PUSH(b->program->arena, b->kernels, part);
}

static bool shares_locals(const Kernel *kernel)
{
	for (uint32_t i = 0; i < kernel->body.n; i++)
		if (kernel->body.stmts[i]->kind == LOOP_LOCAL)
			return true;
	return false;
}

/* Neighbours that are not bound stay one kernel. */
static void bind_kernel(Bind *b, const Kernel *kernel)
{
	Body rest = {0};
	uint32_t nparts = 0;
	bool whole = shares_locals(kernel);
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		const Stmt *stmt = kernel->body.stmts[i];
		Chain c = whole ? (Chain){0} : chain_of(b, kernel, stmt);
		if (c.nbound == 0) {
			PUSH(b->program->arena, rest.stmts, stmt);
			continue;
		}
		if (rest.stmts.n)
			add_part(b, kernel, body_block(&rest), &nparts);
		memset(&rest, 0, sizeof rest);
		block_shape(b, &c);
		add_part(b, kernel, block_one(b->program->arena, bound_nest(b, &c)), &nparts);
	}
	if (rest.stmts.n || nparts == 0)
		add_part(b, kernel, body_block(&rest), &nparts);
}

/* A kernel that is made one of two. */
typedef struct Parted {
	Kernel *kernel, *before;
	uint32_t routine;
	bool parted; /* there is one before */
} Parted;

/* Warps of rows that a schedule does not want: worth a word there. */
static void note_off(const Transform *t, const Kernel *kernel)
{
	const ScheduleClause *asked =
		schedule_asked(t->asked, t->program, kernel->name, kernel->span, CHOICE_VECTOR);
	ScheduleEntry *entry = schedule_entry(t->program->made, kernel->name);
	if (says_off(asked) && entry)
		entry_make(t->program->arena, entry, CHOICE_VECTOR, true);
}

/* What threads of a block do together, or one does for several elements, where it is no product. */
static void bind_others(const Transform *t, Parted *p)
{
	note_off(t, p->kernel);
	if (slices_pay(t, p->kernel) && !rows_pay(t, p->kernel)) {
		p->parted = true;
		bind_slices(t, p->kernel, p->routine, p->before);
		if (columns_pay(t, p->before))
			bind_columns(t, p->before, p->routine);
	}
	if (row_warps_pay(t, p->kernel))
		bind_row_warps(t, p->kernel, p->routine);
	else if (rows_pay(t, p->kernel))
		bind_rows(t, p->kernel, p->routine);
	else if (columns_pay(t, p->kernel))
		bind_columns(t, p->kernel, p->routine);
	else if (squares_pay(t, p->kernel))
		bind_squares(t, p->kernel, p->routine);
	else if (wide_pays(t, p->kernel))
		bind_wide(t, p->kernel);
}

/* A product in tiles, or one of the others. */
static void bind_threads(const Transform *t, Parted *p)
{
	Kernel *kernel = p->kernel;
	Product product;
	if (block_threads(t->program->sizes, kernel))
		return; /* attention */
	if (!product_of(t->program, kernel, &product)) {
		PUSH(t->program->arena, t->program->made->entries,
		     ((ScheduleEntry){.name = kernel->name, .span = kernel->span}));
		bind_others(t, p);
		return;
	}
	product.tensor = product_tensor(t, &product);
	TileWanted wanted = {.product = &product, .routine = p->routine};
	gpu_tile_choose(t, kernel, &wanted);
	if (wanted.slices > 1) {
		product = bind_split(t, kernel, &wanted, p->before);
		p->parted = true;
		bind_tile(t, p->before, &wanted);
		bind_others(t, p);
	} else if (wanted.tile) {
		bind_tile(t, kernel, &wanted);
	} else {
		bind_others(t, p);
	}
}

static void add_slices(Bind *b, Kernel *before, Sym of)
{
	uint32_t nparts = 1;
	before->name = sym_printf(b->program->symbols, "%s_slices", of);
	add_part(b, before, before->body, &nparts);
}

/* Kernels from `first` on, each with what is made to stand before it. */
static void bind_all_threads(const Transform *t, Bind *b, KernelId first, uint32_t routine)
{
	VEC(Kernel) kernels = {0};
	for (size_t i = first; i < b->kernels.n; i++)
		PUSH(t->scratch, kernels, b->kernels.at[i]);
	b->kernels.n = first;
	for (size_t i = 0; i < kernels.n; i++) {
		Kernel before = {0};
		Parted p = {.kernel = &kernels.at[i], .before = &before, .routine = routine};
		bind_threads(t, &p);
		if (p.parted)
			add_slices(b, &before, kernels.at[i].name);
		PUSH(b->program->arena, b->kernels, kernels.at[i]);
	}
}

static void bind_routine(const Transform *t, Bind *b, ProgramRoutine *routine, uint32_t number)
{
	bool serial = number >= b->program->routines.n;
	const Program *program = b->program;
	KernelId first = (KernelId)b->kernels.n;
	if (!serial) {
		bind_casts(t, routine);
		bind_indices(t, routine);
	}
	for (uint32_t i = 0; i < routine->nkernels; i++) {
		const Kernel *kernel = &program->kernels.at[routine->kernels[i]];
		if (serial)
			PUSH(program->arena, b->kernels, *kernel);
		else
			bind_kernel(b, kernel);
	}
	routine->nkernels = (uint32_t)b->kernels.n - first;
	if (!serial)
		routine->nkernels = bind_join(t, b->kernels.at + first, routine->nkernels);
	if (!serial)
		routine->nkernels =
			bind_attentions(t, b->kernels.at + first, routine->nkernels, number);
	b->kernels.n = first + routine->nkernels;
	if (!serial)
		bind_all_threads(t, b, first, number);
	routine->nkernels = (uint32_t)b->kernels.n - first;
	routine->kernels = ARENA_ARRAY(program->arena, KernelId, routine->nkernels + 1);
	for (uint32_t i = 0; i < routine->nkernels; i++)
		routine->kernels[i] = first + i;
}

/* The state is made by the host: what computes parameters stays as it is. */
static void bind_program(const Transform *t)
{
	Program *program = t->program;
	Bind b = {.program = program, .gpu = t->options->gpu};
	for (size_t r = 0; r < program->routines.n; r++)
		bind_routine(t, &b, &program->routines.at[r], (uint32_t)r);
	bind_routine(t, &b, &program->pack, (uint32_t)program->routines.n);
	bind_routine(t, &b, &program->init, (uint32_t)program->routines.n + 1);
	memset(&program->kernels, 0, sizeof program->kernels);
	for (size_t i = 0; i < b.kernels.n; i++)
		PUSH(program->arena, program->kernels, b.kernels.at[i]);
}

void transform_bind(Transform *t)
{
	if (t->options->gpu) {
		routines_drop_dead(t); /* unscheduled loops come as they are */
		bind_program(t);
	}
	t->changed = t->options->gpu != NULL;
}
