/* Parameters that are on their way to the second cache while the kernel in front of theirs ends.
 *
 * Where launches overlap (GpuTarget.next_blocks) a block may be there before the kernels in front of it have ended, and
 * waits for them before it touches memory. Parameters that no routine assigns to none of them stores. So a grid of
 * prefetches stands in front of the kernel's own, which code runs before it waits:
 *
 *   grid rows in 0..192
 *     block line in 0..96
 *       prefetch w[rows*3072 + line*32]
 *   grid rows in 0..192
 *     ...
 *
 * Decided here, for each load of the kernel: which elements a block reads, from the multiples that its index is a sum of;
 * GpuTarget.next_lines of them for each thread at most, for which loops that are no threads begin with fewer iterations,
 * the outermost first. An index of another form, or lines that are more all the same, are left alone. The first kernel of a routine
 * waits for nothing.
 */
#include "base/diag.h"
#include "base/integer.h"
#include "loops/cluster.h"
#include "loops/interval.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "transform/gpu/bind.h"

enum { AXES_MOST = 12, LOADS_MOST = 4 };

/* A loop, or its quotient or remainder, that moves a load: by `coef` elements in each of `extent` steps. */
typedef struct Axis {
	int64_t coef, extent;
	uint32_t loop; /* its number among the kernel's */
	bool thread;   /* all of its steps are made at once */
} Axis;

/* What a block reads by a load: from `base` on, runs of `run` elements in lines. */
typedef struct Footprint {
	const Value *load;
	const Ix *base;
	Axis axes[AXES_MOST];
	uint32_t naxes, nruns; /* those in front, in descending order, are of whole runs */
	int64_t run, lines;
} Footprint;

typedef struct Overlap {
	Program *program;
	const GpuTarget *gpu;
	Arena *scratch;
	Kernel *kernel;
	const Stmt **loops; /* of the kernel, an outer one before what is in it */
	uint32_t nloops;
	Footprint footprints[LOADS_MOST];
	uint32_t nfootprints;
	int64_t threads, most; /* of a block; lines that it asks for */
} Overlap;

/* ---- what a block reads ---- */

/* INT64_MAX where it is more. Requires: a and b are not negative. */
static int64_t product(int64_t a, int64_t b)
{
	int64_t all;
	return __builtin_mul_overflow(a, b, &all) ? INT64_MAX : all;
}

static void see_loop(void *of, const Stmt *stmt)
{
	Overlap *o = of;
	if (stmt->kind == LOOP_FOR)
		o->loops[o->nloops++] = stmt;
}

static void count_loop(void *of, const Stmt *stmt) { *(uint32_t *)of += stmt->kind == LOOP_FOR; }

/* The iterations of a loop; one of a serial loop whose number is not known. 0: it does not count from 0. */
static int64_t iterations(const Overlap *o, const Stmt *loop)
{
	const Sizes *sizes = o->program->sizes;
	int64_t n;
	if (loop->lo->kind != IX_SIZE || !size_is(sizes, loop->lo->size, 0))
		return 0;
	if (loop->hi->kind == IX_SIZE && size_is_const(sizes, loop->hi->size, &n))
		return divide_up(n, loop->step);
	return loop->loop == LOOP_SERIAL ? 1 : 0;
}

/* The loop of an iterator, or a quotient or remainder of one, as an axis; false: it is neither. */
static bool axis_of(const Overlap *o, const Ix *atom, Axis *axis)
{
	const Ix *iter = atom->kind == IX_ITER ? atom : atom->a;
	int64_t by = 1, n;
	bool parts = atom->kind == IX_DIV || atom->kind == IX_MOD;
	if (atom->kind != IX_ITER &&
	    (!parts || atom->a->kind != IX_ITER || atom->b->kind != IX_SIZE ||
	     !size_is_const(o->program->sizes, atom->b->size, &by) || by <= 0))
		return false;
	for (axis->loop = 0; o->loops[axis->loop]->iter != iter->iter; axis->loop++)
		if (axis->loop + 1 == o->nloops)
			return false;
	const Stmt *loop = o->loops[axis->loop];
	n = iterations(o, loop);
	if (parts && loop->step > 1)
		return false;
	axis->coef = product(axis->coef, loop->step);
	axis->thread = loop->loop != LOOP_SERIAL && loop->loop != LOOP_UNROLL;
	axis->extent = atom->kind == IX_DIV		? divide_up(n, by)
		       : atom->kind == IX_MOD && by < n ? by
							: n;
	return n > 0;
}

static bool is_of_grid(const Overlap *o, const Ix *atom)
{
	for (uint32_t i = 0; atom->kind == IX_ITER && i < o->nloops; i++)
		if (o->loops[i]->iter == atom->iter)
			return o->loops[i]->loop == LOOP_GRID;
	return false;
}

static void add_axis(Footprint *r, Axis axis)
{
	uint32_t at = r->naxes++;
	for (; at > 0 && r->axes[at - 1].coef < axis.coef; at--)
		r->axes[at] = r->axes[at - 1];
	r->axes[at] = axis;
}

/* The index without the minima that keep it in its axes. */
static const Ix *unclamped(const Overlap *o, const Ix *ix)
{
	if (ix->kind == IX_MIN && ix->b->kind == IX_SIZE)
		return unclamped(o, ix->a);
	if (ix->kind != IX_ADD && ix->kind != IX_MUL)
		return ix;
	return ix_binary(o->program, ix->kind, unclamped(o, ix->a), unclamped(o, ix->b));
}

/* Reads the index off; false: it is of another form. */
static bool read_index(const Overlap *o, Footprint *r)
{
	Linear sum = ix_linear(o->program, unclamped(o, r->load->ix));
	r->base = ix_size(o->program->arena, sum.offset);
	for (size_t i = 0; i < sum.terms.n; i++) {
		const LinearTerm *term = &sum.terms.at[i];
		Axis axis = {0};
		if (is_of_grid(o, term->atom)) {
			const Ix *by = ix_size(o->program->arena, term->coef);
			r->base = ix_add(o->program, r->base, ix_mul(o->program, term->atom, by));
			continue;
		}
		if (r->naxes == AXES_MOST ||
		    !size_is_const(o->program->sizes, term->coef, &axis.coef) || axis.coef <= 0 ||
		    !axis_of(o, term->atom, &axis))
			return false;
		add_axis(r, axis);
	}
	return true;
}

static int64_t line_elements(const Overlap *o, const Footprint *r)
{
	Dtype dtype = o->program->buffers.at[r->load->buffer].dtype;
	int64_t n = o->gpu->line_bytes / dtype_bytes(dtype);
	return dtype_is_packed(dtype) ? 2 * n : n;
}

/* Finds runs and lines: the innermost axes that leave no gap are a run. */
static void measure(const Overlap *o, Footprint *r)
{
	int64_t line = line_elements(o, r);
	r->run = 1;
	r->nruns = r->naxes;
	while (r->nruns > 0 && r->axes[r->nruns - 1].coef <= r->run) {
		const Axis *axis = &r->axes[--r->nruns];
		if (__builtin_add_overflow(r->run, product(axis->coef, axis->extent - 1), &r->run))
			r->run = INT64_MAX;
	}
	r->lines = divide_up(r->run, line);
	for (uint32_t i = 0; i < r->nruns && r->lines <= o->most; i++)
		r->lines = product(r->lines, r->axes[i].extent);
}

/* The axis of the outermost loop that is no thread's and makes several steps; NULL: there is none. */
static Axis *outermost(Footprint *r)
{
	Axis *found = NULL;
	for (uint32_t i = 0; i < r->naxes; i++)
		if (!r->axes[i].thread && r->axes[i].extent > 1 &&
		    (!found || r->axes[i].loop < found->loop))
			found = &r->axes[i];
	return found;
}

static bool find_footprint(const Overlap *o, Footprint *r)
{
	if (!read_index(o, r))
		return false;
	for (measure(o, r); r->lines > o->most; measure(o, r)) {
		Axis *axis = outermost(r);
		if (!axis)
			return false;
		axis->extent = (axis->extent + 1) / 2;
	}
	return true;
}

static bool is_known(const Overlap *o, const Value *load)
{
	bool known = false;
	for (uint32_t i = 0; i < o->nfootprints && !known; i++)
		known = o->footprints[i].load->buffer == load->buffer &&
			ix_same(o->footprints[i].load->ix, load->ix);
	return known;
}

static void see_value(void *of, const Value *value)
{
	Overlap *o = of;
	if (value->kind != VALUE_LOAD || o->nfootprints == LOADS_MOST || is_known(o, value))
		return;
	const Buffer *from = &o->program->buffers.at[value->buffer];
	Footprint footprint = {.load = value};
	if (buffer_stays(o->program, from) && find_footprint(o, &footprint))
		o->footprints[o->nfootprints++] = footprint;
}

static void see_stmt(void *of, const Stmt *stmt) { stmt_each_value(stmt, see_value, of); }

/* ---- the prefetches ---- */

/* Takes the last digit, below n, off a number. */
static const Ix *digit(const Overlap *o, const Ix **of, int64_t n, bool last)
{
	const Ix *at = *of;
	*of = ix_binary(o->program, IX_DIV, at, ix_const(o->program, n));
	return last ? at : ix_binary(o->program, IX_MOD, at, ix_const(o->program, n));
}

/* Where the line of this number begins; numbers behind the last one are of lines behind. */
static const Ix *line_at(const Overlap *o, const Footprint *r, const Ix *line)
{
	int64_t elements = line_elements(o, r), each = divide_up(r->run, elements);
	const Ix *in_run = digit(o, &line, each, r->nruns == 0);
	const Ix *at = ix_add(o->program, r->base, ix_times(o->program, in_run, elements));
	for (uint32_t i = r->nruns; i-- > 0;) {
		int64_t coef = r->axes[i].coef, extent = r->axes[i].extent;
		for (; i > 0 && r->axes[i - 1].coef == product(coef, extent);
		     i--) /* they are one */
			extent *= r->axes[i - 1].extent;
		const Ix *step = digit(o, &line, extent, i == 0);
		at = ix_add(o->program, at, ix_times(o->program, step, coef));
	}
	return at;
}

/* Where do the iterators of lines stand? */
typedef struct Lines {
	IterVar line, round;
	int64_t threads, rounds;
} Lines;

/* Is the index inside of the buffer in all blocks? False: not known, as where a size is known at run time only. */
static bool stays_inside(const Overlap *o, const Footprint *r, const Ix *at, const Lines *lines)
{
	const Sizes *sizes = o->program->sizes;
	Interval *iters = ARENA_ARRAY(o->scratch, Interval, o->kernel->niters), all;
	int64_t n, elements;
	for (uint32_t i = 0; i < o->nloops; i++) {
		const Stmt *loop = o->loops[i];
		if (loop->loop != LOOP_GRID || !ix_uses(at, loop->iter))
			continue;
		if (!size_is_const(sizes, loop->hi->size, &n))
			return false;
		iters[loop->iter] = (Interval){0, n - 1};
	}
	iters[lines->round] = (Interval){0, lines->rounds - 1};
	iters[lines->line] = (Interval){0, lines->threads - 1};
	return size_is_const(sizes, o->program->buffers.at[r->load->buffer].elements, &elements) &&
	       ix_interval(o->program, at, iters, &all) && all.hi < elements;
}

static Block prefetch_line(const Overlap *o, const Footprint *r, const Ix *line, const Lines *lines)
{
	Arena *arena = o->program->arena;
	const Ix *at = line_at(o, r, line);
	Size elements = o->program->buffers.at[r->load->buffer].elements;
	Cond inside = {COND_LT, at, ix_size(arena, elements)};
	Block prefetch = block_one(arena, stmt_prefetch(arena, r->load->buffer, at, false));
	return stays_inside(o, r, at, lines)
		       ? prefetch
		       : block_one(arena, stmt_if_one(arena, inside, prefetch));
}

/* The lines of a footprint, each thread one, or several in rounds. */
static const Stmt *prefetch_of(const Overlap *o, const Footprint *r)
{
	Program *program = o->program;
	Arena *arena = program->arena;
	Lines l = {.threads = r->lines < o->threads ? r->lines : o->threads};
	l.rounds = divide_up(r->lines, l.threads);
	l.line = l.round = bind_iter(program, o->kernel, "line");
	const Ix *at = ix_iter(arena, l.line);
	if (l.rounds > 1) {
		l.round = bind_iter(program, o->kernel, "round");
		at = ix_add(program, at, ix_times(program, ix_iter(arena, l.round), l.threads));
	}
	Block body = prefetch_line(o, r, at, &l);
	if (l.rounds > 1)
		body = block_one(arena, stmt_loop(program, LOOP_UNROLL, l.round, l.rounds, body));
	return stmt_loop(program, LOOP_BLOCK, l.line, l.threads, body);
}

/* Another kernel of the routine is in front of it, and its threads, which copy nothing by mbarriers, share a block that is
 * in no cluster. */
static bool may_overlap(const NewKernels *to, const Kernel *kernel)
{
	const Program *program = to->t->program;
	if (to->routine == program->routines.n)
		return false; /* pack */
	KernelId first = program->routines.at[to->routine].kernels[0];
	return kernel != &program->kernels.at[first] && grid_loop(&kernel->body) &&
	       block_threads(program->sizes, kernel) && !kernel_has_mbarriers(program, kernel) &&
	       !cluster_blocks(program->sizes, kernel);
}

/* Finds what a block of the kernel reads of parameters. */
static void find_footprints(Overlap *o)
{
	uint32_t nloops = 0;
	block_each(o->kernel->body, count_loop, &nloops);
	o->loops = ARENA_ARRAY(o->scratch, const Stmt *, nloops + 1);
	block_each(o->kernel->body, see_loop, o);
	block_each(o->kernel->body, see_stmt, o);
}

static void overlap_kernel(NewKernels *to, const Kernel *given)
{
	Program *program = to->t->program;
	Arena *arena = program->arena;
	Kernel kernel = *given;
	Overlap o = {.program = program,
		     .gpu = to->t->options->gpu,
		     .scratch = to->t->scratch,
		     .kernel = &kernel,
		     .threads = block_threads(program->sizes, given)};
	o.most = o.threads * o.gpu->next_lines;
	Body body = {0}, prefetches = {0};
	if (may_overlap(to, given))
		find_footprints(&o);
	for (uint32_t i = 0; i < o.nfootprints; i++)
		PUSH(arena, prefetches.stmts, prefetch_of(&o, &o.footprints[i]));
	if (o.nfootprints) {
		body_append(arena, &body,
			    grid_around(arena, &given->body, body_block(&prefetches), 0));
		body_append(arena, &body, given->body);
		kernel.body = body_block(&body);
	}
	PUSH(arena, to->made, kernel);
}

void transform_overlap(Transform *t)
{
	t->changed = t->options->gpu && t->options->gpu->next_blocks &&
		     kernels_replace(t, overlap_kernel);
}
