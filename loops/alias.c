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

static void see_block(OneIndex *one, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		const Ix *ixs[] = {stmt->lo, stmt->hi, stmt->ix};
		for (size_t k = 0; k < sizeof ixs / sizeof *ixs; k++)
			if (ixs[k])
				ix_each_value(ixs[k], see_value, one);
		for (uint32_t k = 0; k < stmt->nconds; k++) {
			ix_each_value(stmt->conds[k].a, see_value, one);
			ix_each_value(stmt->conds[k].b, see_value, one);
		}
		if (stmt->value)
			value_each(stmt->value, see_value, one);
		if (stmt->kind == LOOP_STORE && stmt->buffer == one->buffer)
			see_index(one, stmt->ix);
		see_block(one, &stmt->body);
	}
}

bool block_has_one_index(const Block *block, BufferId buffer)
{
	OneIndex one = {.buffer = buffer};
	see_block(&one, block);
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
	see_block(&one, block);
	return !one.differs;
}

/* `met`: the statement, in what was walked already. */
static bool touches_behind(const Block *block, const Stmt *stmt, BufferId buffer, bool *met)
{
	for (uint32_t i = 0; i < block->n; i++) {
		OneIndex one = {.buffer = buffer};
		const Stmt *at = block->stmts[i];
		if (*met)
			see_block(&one, &(Block){&at, 1});
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
