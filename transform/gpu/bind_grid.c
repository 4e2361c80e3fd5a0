/* Loops with independent iterations as loops of a grid.
 *
 * A statement at the top of a kernel is a kernel of its own, one launch, where it has such loops and
 * shares no local with others; what has none runs in one thread. Of a nest of loops, each the only
 * statement of the one around it, those from 0 to a size whose iterations are independent of each
 * other in the whole nest are bound: they go outermost, in their order, which changes nothing since
 * no two of their iterations meet. What is left of the nest is each thread's: of an accumulation that nothing is left of, a plain
 * store.
 *
 * Decided by grid_shape: how many threads of a block lie along each bound loop. The innermost one
 * has a warp at least, so that neighbours read and store neighbours; a loop that is shorter than what
 * is left of the block gives the rest to the next one out.
 */
#include <string.h>

#include "loops/dependence.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "transform/gpu/bind.h"

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

/* ---- which loops ---- */

static Chain chain_of(const Transform *t, const Kernel *kernel, const Stmt *root)
{
	Chain c = {0};
	for (const Stmt *s = root; s && s->kind == LOOP_FOR; s = block_only(s->body)) {
		bool bound = loop_counts_from_zero(t->program->sizes, s) &&
			     gpu_independent(t->program, kernel, root, s);
		c.nbound += bound;
		PUSH(t->program->arena, c.links, ((Link){s, bound, 1}));
	}
	return c;
}

/* ---- how many threads along each ---- */

static void block_shape(const Transform *t, Chain *c)
{
	uint32_t n = 0;
	Size *extents = ARENA_ARRAY(t->program->arena, Size, c->nbound + 1);
	int64_t *threads = ARENA_ARRAY(t->program->arena, int64_t, c->nbound + 1);
	for (size_t i = 0; i < c->links.n; i++)
		if (c->links.at[i].bound)
			extents[n++] = c->links.at[i].loop->hi->size;
	grid_shape(t->program->sizes, t->options->gpu, extents, n, threads);
	for (size_t i = c->links.n; i-- > 0;)
		if (c->links.at[i].bound)
			c->links.at[i].threads = threads[--n];
}

/* ---- the kernel ---- */

/* target op= value, of a thread's own element, as target = target op value: then it may be one of several in a wide access. */
static Block plain_store(const Transform *t, const Chain *c)
{
	Block body = c->links.at[c->links.n - 1].loop->body;
	const Stmt *store = body.stmts[0];
	if (c->nbound < c->links.n || body.n != 1 || store->kind != LOOP_STORE ||
	    store->acc == OP_NONE)
		return body;
	const Value *before = value_load(t->program, store->buffer, store->ix);
	Stmt *plain = stmt_with(t->program->arena, store, store->body);
	plain->value = value_binary(t->program->arena, store->acc, before, store->value);
	plain->acc = OP_NONE;
	return block_one(t->program->arena, plain);
}

static const Stmt *bound_nest(const Transform *t, const Chain *c)
{
	Block inside = plain_store(t, c);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = c->links.n; i-- > 0;) {
			const Link *link = &c->links.at[i];
			if (link->bound != (pass == 1))
				continue;
			Stmt *loop = stmt_with(t->program->arena, link->loop, inside);
			loop->loop = link->bound ? LOOP_GRID : LOOP_SERIAL;
			loop->threads = link->bound ? link->threads : 0;
			inside = block_one(t->program->arena, loop);
		}
	return inside.stmts[0];
}

static bool shares_locals(const Kernel *kernel)
{
	for (uint32_t i = 0; i < kernel->body.n; i++)
		if (kernel->body.stmts[i]->kind == LOOP_LOCAL)
			return true;
	return false;
}

/* Neighbours that are not bound stay one kernel. */
static void grid_kernel(NewKernels *to, const Kernel *kernel)
{
	const Transform *t = to->t;
	Arena *arena = t->program->arena;
	Body rest = {0};
	uint32_t nparts = 0;
	bool whole = shares_locals(kernel);
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		const Stmt *stmt = kernel->body.stmts[i];
		Chain c = whole ? (Chain){0} : chain_of(t, kernel, stmt);
		if (c.nbound == 0) {
			PUSH(arena, rest.stmts, stmt);
			continue;
		}
		if (rest.stmts.n)
			kernels_add_part(to, kernel, body_block(&rest), &nparts);
		memset(&rest, 0, sizeof rest);
		block_shape(t, &c);
		kernels_add_part(to, kernel, block_one(arena, bound_nest(t, &c)), &nparts);
	}
	if (rest.stmts.n || nparts == 0)
		kernels_add_part(to, kernel, body_block(&rest), &nparts);
}

void transform_grid(Transform *t)
{
	t->changed = t->options->gpu && kernels_replace(t, grid_kernel);
}
