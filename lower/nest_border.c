/* Loops of elementwise kernels that read windows (window_value.c): inside, no term asks where it is.
 *
 *   for y in 0..h                              a row above, a row below
 *     if y == 0: ...                           without the row above
 *     if 1 <= y && y < h - 1
 *       for x in 0..1: out[y, x] = u[y - 1, x] + u[y + 1, x] + u[y, x + 1]
 *       for x in 1..w - 1: out[y, x] = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]
 *       for x in w - 1..w: ...
 *     if y == h - 1: ...
 *
 * Each loop is cut into single iterations at its ends, as far as windows reach beyond the axis
 * there, and what is between. An outer loop stays one, for threads; the last one becomes several.
 */
#include "loops/linear.h"
#include "lower/nest_emit.h"
#include "lower/node_plan.h"

/* Single iterations at the ends of a loop, at most. */
enum { BORDER_MOST = 8 };

typedef struct Ends {
	int64_t first, last; /* iterations in front and behind */
	bool whole;	     /* each as one part, not one by one */
} Ends;

typedef struct Borders {
	Nest *nest;
	Program *program;
	Arena *arena;
	Ends *ends;	   /* by place of the loop */
	PartRange *ranges; /* by IterVar */
	bool independent;  /* no iteration reads what another stores */
} Borders;

/* The offset of an index that is the loop's iterator and a number; false: it is another. */
static bool is_shifted(Program *program, const Ix *ix, const Loop *loop, Size *by)
{
	Linear sum = ix_linear(program, ix);
	*by = sum.offset;
	return sum.terms.n == 1 && sum.terms.at[0].atom->kind == IX_ITER &&
	       sum.terms.at[0].atom->iter == loop->var &&
	       size_is(program->sizes, sum.terms.at[0].coef, 1);
}

static Ends ends_of(const Borders *b, const Loop *loop)
{
	Sizes *sizes = b->program->sizes;
	Ends ends = {0};
	for (size_t i = 0; i < b->nest->nborders; i++) {
		const Bounded *index = &b->nest->borders[i];
		Size by;
		int64_t before, beyond;
		if (!is_shifted(b->program, index->ix, loop, &by))
			continue;
		Size behind = size_sub(sizes, size_add(sizes, by, loop->extent), index->size);
		if (!size_is_const(sizes, by, &before) || !size_is_const(sizes, behind, &beyond))
			continue;
		ends.first = -before > ends.first ? -before : ends.first;
		ends.last = beyond > ends.last ? beyond : ends.last;
	}
	return ends;
}

/* Ends that leave an inside. Single iterations, if copies of the body are few: else either end is one
 * part. */
static void find_ends(Borders *b)
{
	int64_t copies = 1, n;
	for (uint32_t i = b->nest->nloops; i-- > 0;) {
		const Loop *loop = &b->nest->loops[i];
		Ends ends = ends_of(b, loop);
		int64_t all = ends.first + ends.last;
		bool known = size_is_const(b->program->sizes, loop->extent, &n);
		ends.whole = all > BORDER_MOST || copies * (all + 1) > WINDOW_FEW;
		int64_t parts = ends.whole ? 3 : all + 1;
		bool cut = all > 0 && copies * parts <= WINDOW_FEW && (!known || n > all) &&
			   !b->nest->gen->lower->options->gpu;
		b->ends[i] = cut ? ends : (Ends){0};
		copies *= cut ? parts : 1;
	}
}

static const Ix *at_size(const Borders *b, Size size) { return ix_size(b->arena, size); }

static Block emit_loop(Borders *b, uint32_t place);

/* The loops inside, for a part of the iterations. */
static Block emit_part(Borders *b, uint32_t place, Size first, Size end)
{
	const Loop *loop = &b->nest->loops[place];
	b->ranges[loop->var] = (PartRange){true, first, end, loop->extent};
	return emit_loop(b, place + 1);
}

static const Stmt *loop_over(const Borders *b, uint32_t place, const Ix *lo, const Ix *hi,
			     Block body)
{
	const Loop *loop = &b->nest->loops[place];
	Stmt *stmt = (Stmt *)stmt_for(b->arena, loop->var, lo, hi, body);
	stmt->independent = b->independent;
	return stmt;
}

/* A part of a loop: lo <= iterator < hi, which are as far as is known first and end. */
typedef struct Part {
	const Ix *lo, *hi;
	Size first, end;
} Part;

typedef VEC(Part) Parts;

/* The inside begins at a whole vector where rows do, so that what is stored is in one line. */
static void push_inside(Borders *b, const Loop *loop, Part inside, Parts *parts)
{
	Sizes *sizes = b->program->sizes;
	int64_t n, first, line = CACHE_LINE / (int64_t)dtype_bytes(b->nest->value->dtype);
	bool last = loop == &b->nest->loops[b->nest->nloops - 1];
	bool known = size_is_const(sizes, loop->extent, &n) &&
		     size_is_const(sizes, inside.first, &first);
	if (last && known && first > 0 && first < line && n % line == 0 && n > 2 * line) {
		Size whole = size_const(sizes, line);
		PUSH(b->arena, *parts, ((Part){inside.lo, at_size(b, whole), inside.first, whole}));
		inside.lo = at_size(b, whole);
		inside.first = whole;
	}
	PUSH(b->arena, *parts, inside);
}

static Parts parts_of(Borders *b, uint32_t place)
{
	Program *program = b->program;
	Sizes *sizes = program->sizes;
	const Loop *loop = &b->nest->loops[place];
	const Ends *ends = &b->ends[place];
	const Ix *all = at_size(b, loop->extent);
	Size front = size_const(sizes, ends->first);
	Size back = size_plus(sizes, loop->extent, -ends->last);
	Parts parts = {0};
	for (int64_t i = 0, by = ends->whole ? ends->first : 1; i < ends->first; i += by) {
		Size at = size_const(sizes, i), end = size_const(sizes, i + by);
		const Ix *hi = ix_binary(program, IX_MIN, at_size(b, end), all);
		PUSH(b->arena, parts, ((Part){at_size(b, at), hi, at, end}));
	}
	push_inside(b, loop, (Part){at_size(b, front), at_size(b, back), front, back}, &parts);
	for (int64_t i = 0, by = ends->whole ? ends->last : 1; i < ends->last; i += by) {
		Size at = size_plus(sizes, back, i), end = size_plus(sizes, at, by);
		const Ix *lo = ix_binary(program, IX_MAX, at_size(b, at), at_size(b, front));
		PUSH(b->arena, parts, ((Part){lo, at_size(b, end), at, end}));
	}
	return parts;
}

/* One loop around all parts, each behind a condition. */
static Block emit_conditions(Borders *b, uint32_t place, const Parts *parts)
{
	const Ix *iter = ix_iter(b->arena, b->nest->loops[place].var);
	Body body = {0};
	for (size_t i = 0; i < parts->n; i++) {
		const Part *part = &parts->at[i];
		Cond *conds = ARENA_ARRAY(b->arena, Cond, 2);
		conds[0] = (Cond){COND_LE, part->lo, iter};
		conds[1] = (Cond){COND_LT, iter, part->hi};
		Block inner = emit_part(b, place, part->first, part->end);
		PUSH(b->arena, body.stmts, stmt_if(b->arena, conds, 2, inner));
	}
	const Ix *extent = at_size(b, b->nest->loops[place].extent);
	return block_of(b->nest->gen,
			loop_over(b, place, zero_ix(b->nest->gen), extent, body_block(&body)));
}

static Block emit_loops(Borders *b, uint32_t place, const Parts *parts)
{
	Body body = {0};
	for (size_t i = 0; i < parts->n; i++) {
		const Part *part = &parts->at[i];
		Block inner = emit_part(b, place, part->first, part->end);
		PUSH(b->arena, body.stmts, loop_over(b, place, part->lo, part->hi, inner));
	}
	return body_block(&body);
}

static Block emit_loop(Borders *b, uint32_t place)
{
	Nest *nest = b->nest;
	if (place == nest->nloops) {
		nest_values(nest);
		return nest_step(nest, gen_store(nest->gen, nest->target, nest->at, nest->value));
	}
	Parts parts = parts_of(b, place);
	return parts.n > 1 && place + 1 < nest->nloops ? emit_conditions(b, place, &parts)
						       : emit_loops(b, place, &parts);
}

void nest_emit_borders(Nest *nest)
{
	Gen *gen = nest->gen;
	Borders b = {.nest = nest, .program = gen->program, .arena = gen->arena};
	b.ends = ARENA_ARRAY(gen->lower->scratch, Ends, nest->nloops + 1);
	b.ranges = ARENA_ARRAY(gen->lower->scratch, PartRange, gen->iters.n + 1);
	b.independent = nest_reads_target(nest) != READ_ELSEWHERE;
	find_ends(&b);
	gen->ranges = b.ranges;
	gen_append(gen, &gen->top, emit_loop(&b, 0));
	gen->ranges = NULL;
}
