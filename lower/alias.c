/* Where a kernel touches a buffer: what makes it safe to write over an operand, or to assign to a tensor
 * that the right side reads.
 */
#include "lower/lowering.h"

typedef struct OneIndex {
	BufferId buffer;
	const Ix *at; /* NULL: not seen yet */
	bool differs;
} OneIndex;

static void see_index(OneIndex *one, const Ix *ix)
{
	if (one->at && !ix_same(one->at, ix))
		one->differs = true;
	one->at = ix;
}

static void see_ix(OneIndex *one, const Ix *ix);

static void see_value(OneIndex *one, const Value *value)
{
	if (value->kind == VALUE_LOAD && value->buffer == one->buffer)
		see_index(one, value->ix);
	if (value->ix)
		see_ix(one, value->ix);
	for (uint32_t i = 0; i < value->nargs; i++)
		see_value(one, value->args[i]);
}

static void see_ix(OneIndex *one, const Ix *ix)
{
	if (ix->kind == IX_VALUE)
		see_value(one, ix->value);
	if (ix->a)
		see_ix(one, ix->a);
	if (ix->b)
		see_ix(one, ix->b);
}

static void see_block(OneIndex *one, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (stmt->value)
			see_value(one, stmt->value);
		if (stmt->ix)
			see_ix(one, stmt->ix);
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

bool block_touches_only_at(const Block *block, BufferId buffer, const Ix *at)
{
	OneIndex one = {.buffer = buffer, .at = at};
	see_block(&one, block);
	return !one.differs;
}
