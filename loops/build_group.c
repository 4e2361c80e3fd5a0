/* Makes copies of boxes, arrivals at mbarriers and waits: see build_group.h. */
#include "loops/build_group.h"

static Stmt *at_visit(Arena *arena, LoopStmtKind kind, Visit visit)
{
	Stmt *stmt = stmt_new(arena, kind);
	stmt->mbarrier = visit.mbarrier;
	stmt->visit = visit.number;
	return stmt;
}

Stmt *stmt_copy(Program *program, const Box *box, Visit visit)
{
	Arena *arena = program->arena;
	Stmt *stmt = at_visit(arena, LOOP_COPY, visit);
	TensorAxis *axes = ARENA_ARRAY(arena, TensorAxis, box->naxes + 1);
	const Ix *first = ix_const(program, 0);
	for (uint32_t i = 0; i < box->naxes; i++) {
		axes[i] = box->axes[i];
		first = ix_add(program, first,
			       ix_mul(program, axes[i].at, ix_size(arena, axes[i].stride)));
	}
	stmt->buffer = box->to;
	stmt->ix = box->ix;
	stmt->value = value_load(program, box->from, first);
	stmt->axes = axes;
	stmt->naxes = box->naxes;
	stmt->window = box->window;
	return stmt;
}

Stmt *stmt_arrive(Arena *arena, Visit visit, int64_t bytes)
{
	Stmt *stmt = at_visit(arena, LOOP_ARRIVE, visit);
	stmt->bytes = bytes;
	return stmt;
}

Stmt *stmt_await(Arena *arena, Visit visit) { return at_visit(arena, LOOP_AWAIT, visit); }

Stmt *stmt_wait_products(Arena *arena, int64_t pending)
{
	Stmt *stmt = stmt_new(arena, LOOP_WAIT);
	stmt->pending = pending;
	stmt->products = true;
	return stmt;
}
