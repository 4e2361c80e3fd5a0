/* Loops that GCC's vectoriser does not get, since it would read behind a buffer.
 *
 *   for c in 0..n: acc_0 += y[c*4]; .. acc_7 += y[c*4]
 *     GCC: 8 lanes = y[c*4] .. y[c*4 + 7], of which the first is spread; the last iteration alone
 *
 * Statements that do the same side by side in a loop become the lanes of a vector, and elements
 * with gaps between them (here 3) are read as whole vectors. One iteration is left to scalar code,
 * so that a vector may reach into what that reads; but here it reaches beyond, into what no
 * iteration reads: 3 elements behind y. GCC 12 does so wherever lanes share elements, or a vector
 * has more elements than the iterations it is made for.
 *
 * Without a second accumulator, or a second store to a buffer, each lane is an iteration, and reads
 * stay inside; a loop that holds vectors, or another loop, is left alone anyway.
 */
#include "codegen/gaps.h"
#include "loops/linear.h"
#include "loops/walk.h"

enum { MANY = 2, LEAST_VECTOR = 16 /* bytes */ };

typedef struct Gaps {
	const GapsRule *rule;
	const Stmt *loop;
	bool *own;	  /* by LocalId: declared in the loop */
	uint64_t sets;	  /* statements of one iteration that change another local */
	uint64_t *stores; /* by position of the buffer */
	bool pairs;	  /* are there two of a kind? */
	bool strided;	  /* is there a load that moves by more than one element? */
	bool alone;	  /* it holds vectors, or a loop that stays one */
} Gaps;

static void see_load(void *of, const Value *value)
{
	Gaps *g = of;
	Program *program = g->rule->program;
	int64_t stride;
	if (value->kind == VALUE_LOAD && ix_uses(value->ix, g->loop->iter) &&
	    size_is_const(program->sizes, ix_stride(program, value->ix, g->loop->iter), &stride))
		g->strided |= stride * g->loop->step > 1 || stride * g->loop->step < -1;
}

static void see_block(Gaps *g, Block block, uint64_t copies);

static int lane_bytes(const Stmt *stmt) { return dtype_bytes(dtype_wide(stmt->value->dtype)); }

/* `copies`: how often the block is written out in an iteration, up to MANY. */
static void see_loop(Gaps *g, const Stmt *loop, uint64_t copies)
{
	const GapsRule *rule = g->rule;
	int64_t trips = loop->loop == LOOP_VECTOR ? vector_lanes(rule->program, loop)
						  : constant_trips(rule->program, loop);
	if (!rule->written_out || loop->loop == LOOP_SERIAL)
		g->alone |= trips < 0 || trips > rule->unrolled;
	else if (loop->loop == LOOP_VECTOR)
		for (uint32_t i = 0; i < loop->body.n; i++)
			g->alone |= trips * lane_bytes(loop->body.stmts[i]) >= LEAST_VECTOR;
	see_block(g, loop->body, copies * (trips < MANY ? (uint64_t)(trips > 0) : MANY));
}

static void see_stmt(Gaps *g, const Stmt *stmt, uint64_t copies)
{
	if (stmt->value)
		value_each(stmt->value, see_load, g);
	if (stmt->ix)
		ix_each_value(stmt->ix, see_load, g);
	for (uint32_t i = 0; i < stmt->nconds; i++) {
		ix_each_value(stmt->conds[i].a, see_load, g);
		ix_each_value(stmt->conds[i].b, see_load, g);
	}
	if (stmt->kind == LOOP_LOCAL)
		g->own[stmt->local] = true;
	if (stmt->kind == LOOP_SET && !g->own[stmt->local])
		g->pairs |= (g->sets += copies) >= MANY;
	if (stmt->kind == LOOP_STORE)
		g->pairs |= (g->stores[kernel_use_buffer(g->rule->use, stmt->buffer)] += copies) >=
			    MANY;
	if (stmt->kind == LOOP_FOR)
		see_loop(g, stmt, copies);
	else
		see_block(g, stmt->body, copies);
}

static void see_block(Gaps *g, Block block, uint64_t copies)
{
	for (uint32_t i = 0; i < block.n; i++)
		see_stmt(g, block.stmts[i], copies);
}

bool gaps_are_read(const GapsRule *rule, const Stmt *loop)
{
	Gaps g = {.rule = rule, .loop = loop};
	g.own = ARENA_ARRAY(rule->arena, bool, rule->kernel->nlocals + 1);
	g.stores = ARENA_ARRAY(rule->arena, uint64_t, rule->use->buffers.n + 1);
	see_block(&g, loop->body, 1);
	return g.pairs && g.strided && !g.alone;
}
