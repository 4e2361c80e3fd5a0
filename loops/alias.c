/* Where a kernel touches a buffer: what makes it safe to write over an operand, or to assign to a
 * tensor that the right side reads.
 */
#include "loops/dependence.h"
#include "loops/walk.h"

typedef struct OneIndex {
	BufferId buffer;
	const Ix *at; /* NULL: not seen yet */
	bool differs, read;
} OneIndex;

static void see_index(OneIndex *one, const Ix *ix)
{
	if (one->at && !ix_same(one->at, ix))
		one->differs = true;
	one->at = ix;
}

static void see_value(void *of, const Value *value)
{
	OneIndex *one = of;
	if (value->kind != VALUE_LOAD || value->buffer != one->buffer)
		return;
	see_index(one, value->ix);
	one->read = true;
}

static void see_stmt(void *of, const Stmt *stmt)
{
	OneIndex *one = of;
	stmt_each_value(stmt, see_value, one);
	if (stmt->kind == LOOP_STORE && stmt->buffer == one->buffer)
		see_index(one, stmt->ix);
}

bool block_has_one_index(const Block *block, BufferId buffer)
{
	OneIndex one = {.buffer = buffer};
	block_each(*block, see_stmt, &one);
	return !one.differs;
}

ReadPlace value_reads(const Value *value, BufferId buffer, const Ix *at)
{
	OneIndex one = {.buffer = buffer, .at = at};
	value_each(value, see_value, &one);
	ix_each_value(at, see_value, &one);
	return one.differs ? READ_ELSEWHERE : one.read ? READ_AT : READ_NOWHERE;
}

bool block_touches_only_at(const Block *block, BufferId buffer, const Ix *at)
{
	OneIndex one = {.buffer = buffer, .at = at};
	block_each(*block, see_stmt, &one);
	return !one.differs;
}

/* `met`: the statement, in what was walked already. */
static bool touches_behind(const Block *block, const Stmt *stmt, BufferId buffer, bool *met)
{
	for (uint32_t i = 0; i < block->n; i++) {
		OneIndex one = {.buffer = buffer};
		const Stmt *at = block->stmts[i];
		if (*met)
			block_each((Block){&at, 1}, see_stmt, &one);
		if (one.at)
			return true;
		*met = *met || at == stmt;
		if (touches_behind(&at->body, stmt, buffer, met))
			return true;
	}
	return false;
}

bool block_touches_behind(const Block *block, const Stmt *stmt, BufferId buffer)
{
	bool met = false;
	return touches_behind(block, stmt, buffer, &met);
}
