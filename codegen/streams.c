/* Where there are streaming stores: what both back ends ask. */
#include "codegen/streams.h"

#include "loops/walk.h"

bool loop_streams(const Stmt *loop)
{
	return loop->kind == LOOP_FOR && loop->body.n == 1 &&
	       stmt_is_stream(NULL, loop->body.stmts[0]);
}

bool block_streams(Block block)
{
	bool found = false;
	for (uint32_t i = 0; i < block.n && !found; i++) {
		const Stmt *stmt = block.stmts[i];
		bool chunks = stmt->kind == LOOP_FOR && stmt->loop == LOOP_PARALLEL;
		found = stmt_is_stream(NULL, stmt) || (!chunks && block_streams(stmt->body));
	}
	return found;
}

bool module_has_streams(const Module *m)
{
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].use->streams)
			return true;
	return false;
}
