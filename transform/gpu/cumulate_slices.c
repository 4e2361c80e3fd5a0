/* Few long lines that are cumulated, in slices: three kernels, of which two stand in front.
 *
 *   local acc = 0                  grid slice in 0..s            local acc = 0                       grid slice in 0..s
 *   for t in 0..n                    local part = 0              for slice in 0..s                     local acc = offsets[slice]
 *     acc += x[t]            ->      for t in of the slice         offsets[slice] = acc       and      for t in of the slice
 *     y[t] = acc                       part += x[t]                acc += slices[slice]                  acc += x[t]
 *                                    slices[slice] = part                                                y[t] = acc
 *
 * A line is read twice and stored once. Each of the three is bound to threads as any such kernel is.
 */
#include "loops/rewrite.h"
#include "transform/gpu/cumulate.h"

typedef struct Slices {
	const Cumulate *s;
	uint32_t routine;
	Size n; /* of a line */
	BufferId sums, offsets;
} Slices;

static const Ix *number(const Cumulate *s, int64_t n) { return ix_const(s->program, n); }

static const Ix *times_plus(const Cumulate *s, const Ix *at, Size n, IterVar iter)
{
	at = ix_mul(s->program, at, ix_size(s->arena, n));
	return ix_add(s->program, at, ix_iter(s->arena, iter));
}

/* The element of a slice of the line that the grid is at: neighbours are what lanes have. */
static const Ix *element_of(const Slices *c, IterVar slice)
{
	const Cumulate *s = c->s;
	const Ix *at = s->along ? number(s, 0) : ix_iter(s->arena, slice);
	for (uint32_t i = 0; i < s->n; i++)
		at = times_plus(s, at, s->lines[i]->hi->size, s->lines[i]->iter);
	return s->along ? times_plus(s, at, c->n, slice) : at;
}

static BufferId new_temp(const Slices *c, const char *name)
{
	const Cumulate *s = c->s;
	Buffer buffer = {.dtype = s->set->value->dtype, .elements = c->n};
	for (uint32_t i = 0; i < s->n; i++)
		buffer.elements =
			size_mul(s->program->sizes, buffer.elements, s->lines[i]->hi->size);
	return bind_temp(s->program, s->kernel, c->routine, buffer, name);
}

static const Ix *first_place(const Cumulate *s, IterVar slice)
{
	return ix_times(s->program, ix_iter(s->arena, slice), s->slice);
}

static const Ix *end_place(const Cumulate *s, IterVar slice)
{
	return ix_binary(s->program, IX_MIN, ix_plus(s->program, first_place(s, slice), s->slice),
			 s->end);
}

/* What a kernel does in a loop of the grid over slices. */
static Block in_slices(const Slices *c, IterVar slice, Block grid)
{
	const Cumulate *s = c->s;
	Stmt *loop = stmt_for(s->arena, slice, number(s, 0), ix_size(s->arena, c->n), grid);
	loop->loop = LOOP_GRID;
	loop->threads = 1;
	return block_one(s->arena, loop);
}

/* Those in front of the sum, and a local for it. */
static Body locals_of(const Cumulate *s, const Value *first)
{
	Body body = {0};
	body_append(s->arena, &body, (Block){s->body.stmts, s->body.n - 2});
	PUSH(s->arena, body.stmts, stmt_local(s->arena, s->first->local, first));
	return body;
}

static const Value *sum_of(const Cumulate *s)
{
	return value_local(s->arena, s->kernel, s->first->local, NULL, 0);
}

/* slices[slice] = the sum of its places */
static void make_sums(const Slices *c, Kernel *kernel)
{
	const Cumulate *s = c->s;
	IterVar slice = bind_iter(s->program, kernel, "slice");
	Body body = locals_of(s, fold_neutral(s->arena, s->set));
	PUSH(s->arena, body.stmts,
	     stmt_for(s->arena, s->loop->iter, first_place(s, slice), end_place(s, slice),
		      block_one(s->arena, s->set)));
	PUSH(s->arena, body.stmts,
	     stmt_store(s->arena, c->sums, element_of(c, slice), OP_NONE, sum_of(s)));
	kernel->body =
		in_slices(c, slice, grid_around(s->arena, &kernel->body, body_block(&body), 0));
}

/* offsets[slice] = what is before it */
static void make_offsets(const Slices *c, Kernel *kernel)
{
	const Cumulate *s = c->s;
	IterVar slice = bind_iter(s->program, kernel, "slice");
	Body body = locals_of(s, s->first->value), step = {0};
	PUSH(s->arena, step.stmts,
	     stmt_store(s->arena, c->offsets, element_of(c, slice), OP_NONE, sum_of(s)));
	PUSH(s->arena, step.stmts,
	     stmt_set(s->arena, s->first->local, s->set->acc,
		      value_load(s->program, c->sums, element_of(c, slice))));
	PUSH(s->arena, body.stmts,
	     stmt_for(s->arena, slice, number(s, 0), ix_size(s->arena, c->n), body_block(&step)));
	kernel->body = grid_around(s->arena, &kernel->body, body_block(&body), 0);
}

/* The places of a slice, which is whole rounds, as far as there are any. */
static void make_last(const Slices *c)
{
	Cumulate last = *c->s;
	IterVar slice = bind_iter(last.program, last.kernel, "slice");
	Body body = locals_of(&last, value_load(last.program, c->offsets, element_of(c, slice)));
	PUSH(last.arena, body.stmts, last.loop);
	last.from = first_place(&last, slice);
	last.places = size_const(last.program->sizes, last.slice);
	last.body = body_block(&body);
	last.first = body.stmts.at[body.stmts.n - 2];
	bind_cumulate(&last, c->routine);
	last.kernel->body = in_slices(c, slice, last.kernel->body);
}

void bind_cumulate_slices(const Cumulate *s, uint32_t routine, Kernel *sums, Kernel *offsets)
{
	Slices c = {.s = s, .routine = routine};
	c.n = size_ceil(s->program->sizes, s->places, s->slice);
	c.sums = new_temp(&c, "slices");
	c.offsets = new_temp(&c, "offsets");
	*sums = *offsets = *s->kernel;
	make_sums(&c, sums);
	make_offsets(&c, offsets);
	make_last(&c);
}
