/* Kernels of one sum for each element of a grid. */
#include "transform/gpu/one_sum.h"

#include "loops/rewrite.h"

static const Stmt *innermost(const Stmt *stmt)
{
	while (stmt->kind == LOOP_FOR)
		stmt = stmt->body.stmts[0];
	return stmt;
}

static bool is_sum(const Stmt *stmt)
{
	bool any = stmt->kind == LOOP_FOR;
	for (; stmt->kind == LOOP_FOR; stmt = stmt->body.stmts[0])
		if (stmt->loop != LOOP_SERIAL || stmt->step != 1 || stmt->body.n != 1)
			return false;
	return any && is_fold(stmt);
}

bool one_sum_of(const Kernel *kernel, OneSum *sum)
{
	uint32_t sums = 0;
	sum->body = grid_body(kernel);
	for (uint32_t i = 0; i < sum->body.n; i++) {
		const Stmt *stmt = sum->body.stmts[i];
		bool local = (stmt->kind == LOOP_LOCAL || stmt->kind == LOOP_SET) &&
			     kernel->locals[stmt->local].rank == 0;
		bool store = stmt->kind == LOOP_STORE && stmt->acc == OP_NONE && sums > 0;
		if (is_sum(stmt)) {
			sums++;
			sum->at = i;
			sum->set = innermost(stmt);
		} else if (!store && !(local && (sums > 0 || stmt->kind == LOOP_LOCAL))) {
			return false;
		}
	}
	return sums == 1;
}

void one_sum_before(Arena *arena, const OneSum *sum, Body *body)
{
	for (uint32_t i = 0; i < sum->at; i++)
		if (sum->body.stmts[i]->local != sum->set->local)
			PUSH(arena, body->stmts, sum->body.stmts[i]);
}

Block one_sum_with(Arena *arena, const OneSum *sum, const Stmt *stmt)
{
	Body body = {0};
	for (uint32_t i = 0; i < sum->body.n; i++)
		PUSH(arena, body.stmts, i == sum->at ? stmt : sum->body.stmts[i]);
	return body_block(&body);
}

Block one_sum_own(Program *program, Kernel *kernel, const Ix *const *iters, Block block)
{
	LocalId *locals = ARENA_ARRAY(program->arena, LocalId, kernel->nlocals + 1);
	for (LocalId i = 0; i < kernel->nlocals; i++)
		locals[i] = i;
	for (uint32_t i = 0; i < block.n; i++)
		if (block.stmts[i]->kind == LOOP_LOCAL)
			locals[block.stmts[i]->local] =
				bind_local(program, kernel, kernel->locals[block.stmts[i]->local]);
	Rewrite rewrite = {
		.program = program, .iters = iters, .locals = locals, .span = kernel->span};
	return rewrite_block(&rewrite, block);
}
