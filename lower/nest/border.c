/* Loops of kernels that write windows out (window_value.c), of elementwise ones, or of one such sum alone: inside,
 * no term asks where it is.
 *
 *   for y in 0..h                              a row above, a row below
 *     if y == 0: ...                           without the row above
 *     if 1 <= y && y < h - 1
 *       for x in 0..1: out[y, x] = u[y - 1, x] + u[y + 1, x] + u[y, x + 1]
 *       for x in 1..w - 1: out[y, x] = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]
 *       for x in w - 1..w: ...
 *     if y == h - 1: ...
 *
 * Loops are cut as it is planned (nest/border_plan.c). An outer loop stays one, for threads; the last one
 * becomes several.
 */
#include "lower/nest/emit.h"

typedef struct Borders {
	Nest *nest;
	Program *program;
	Arena *arena;
	const LoopCut *cuts; /* by place of the loop */
	PartRange *ranges; /* by IterVar */
	bool independent;  /* no iteration reads what another stores */
} Borders;

static const Ix *at_size(const Borders *b, Size size) { return ix_size(b->arena, size); }

static Block emit_loop(Borders *b, uint32_t place);

/* The loops inside, for a part of the iterations. */
static Block emit_part(Borders *b, uint32_t place, LoopPart part)
{
	const Loop *loop = &b->nest->loops[place];
	b->ranges[loop->var] = (PartRange){true, part.first, part.end, loop->extent};
	return emit_loop(b, place + 1);
}

static const Stmt *loop_over(const Borders *b, uint32_t place, const Ix *lo, const Ix *hi,
			     Block body)
{
	const Loop *loop = &b->nest->loops[place];
	Stmt *stmt = stmt_for(b->arena, loop->var, lo, hi, body);
	stmt->independent = b->independent;
	return stmt;
}

/* Where a part begins: behind those in front of it, of which an extent that is not known may not hold all. */
static const Ix *part_lo(const Borders *b, uint32_t place, size_t i)
{
	const LoopCut *cut = &b->cuts[place];
	const Ix *lo = at_size(b, cut->parts.at[i].first);
	const Ix *inside = at_size(b, cut->parts.at[cut->inside].first);
	return i <= cut->inside ? lo : ix_binary(b->program, IX_MAX, lo, inside);
}

static const Ix *part_hi(const Borders *b, uint32_t place, size_t i)
{
	const LoopCut *cut = &b->cuts[place];
	const Ix *hi = at_size(b, cut->parts.at[i].end);
	const Ix *all = at_size(b, b->nest->loops[place].extent);
	return i >= cut->inside ? hi : ix_binary(b->program, IX_MIN, hi, all);
}

/* One loop around all parts, each behind a condition. */
static Block emit_conditions(Borders *b, uint32_t place)
{
	const Ix *iter = ix_iter(b->arena, b->nest->loops[place].var);
	const LoopCut *cut = &b->cuts[place];
	Body body = {0};
	for (size_t i = 0; i < cut->parts.n; i++) {
		Cond *conds = ARENA_ARRAY(b->arena, Cond, 2);
		conds[0] = (Cond){COND_LE, part_lo(b, place, i), iter};
		conds[1] = (Cond){COND_LT, iter, part_hi(b, place, i)};
		Block inner = emit_part(b, place, cut->parts.at[i]);
		PUSH(b->arena, body.stmts, stmt_if(b->arena, conds, 2, inner));
	}
	const Ix *extent = at_size(b, b->nest->loops[place].extent);
	return block_of(b->nest->gen,
			loop_over(b, place, zero_ix(b->nest->gen), extent, body_block(&body)));
}

static Block emit_loops(Borders *b, uint32_t place)
{
	const LoopCut *cut = &b->cuts[place];
	Body body = {0};
	for (size_t i = 0; i < cut->parts.n; i++) {
		Block inner = emit_part(b, place, cut->parts.at[i]);
		PUSH(b->arena, body.stmts,
		     loop_over(b, place, part_lo(b, place, i), part_hi(b, place, i), inner));
	}
	return body_block(&body);
}

static Block emit_element(Nest *nest)
{
	Body body = {0};
	if (nest->nloops == nest->nresult) {
		nest_values(nest);
		return nest_step(nest, gen_store(nest->gen, nest->target, nest->at, nest->value));
	}
	nest_store_finished(nest, nest_written_out(nest), &body);
	return body_block(&body);
}

static Block emit_loop(Borders *b, uint32_t place)
{
	if (place == b->nest->nresult)
		return emit_element(b->nest);
	return b->cuts[place].parts.n > 1 && place + 1 < b->nest->nresult
		       ? emit_conditions(b, place)
		       : emit_loops(b, place);
}

void nest_emit_borders(Nest *nest, const LoopCut *cuts)
{
	Gen *gen = nest->gen;
	Borders b = {.nest = nest, .program = gen->program, .arena = gen->arena, .cuts = cuts};
	b.ranges = ARENA_ARRAY(gen->lower->scratch, PartRange, gen->frame.iters.n + 1);
	b.independent = nest_reads_target(nest) != READ_ELSEWHERE;
	gen->ranges = b.ranges;
	gen_append(gen, &gen->top, emit_loop(&b, 0));
	gen->ranges = NULL;
}
