/* What trees of values and indices are made of: every part, equality, the buffers of a kernel. */
#ifndef TSR_LOOPS_WALK_H
#define TSR_LOOPS_WALK_H

#include "loops/loops.h"

/* Equal as trees; two that differ here may still have the same value. */
bool ix_same(const Ix *a, const Ix *b);
bool value_same(const Value *a, const Value *b);
/* Is it a < b ? a : b or its like: the less, `*least`, or the greater one of args[1] and args[2], the second where neither is? */
bool value_is_extreme(const Value *value, bool *least);
/* Is the iterator in it, within what it reads too? */
bool ix_uses(const Ix *ix, IterVar iter);
bool value_uses_iter(const Value *value, IterVar iter);
/* Every value of a tree, of its indices too; a value comes before what it is made from. */
typedef void (*SeeValue)(void *of, const Value *value);
void ix_each_value(const Ix *ix, SeeValue see, void *of);
void value_each(const Value *value, SeeValue see, void *of);
/* Every index of a statement itself, not of its value or body: bounds, conditions, places. */
typedef void (*SeeIx)(void *of, const Ix *ix);
void stmt_each_ix(const Stmt *stmt, SeeIx see, void *of);
/* Every value of a statement itself: of its indices, then of what it sets. */
void stmt_each_value(const Stmt *stmt, SeeValue see, void *of);
/* Every statement of a block, an outer one before what is in it. */
typedef void (*SeeStmt)(void *of, const Stmt *stmt);
void block_each(Block block, SeeStmt see, void *of);
/* The first of these that is such; NULL: none is. */
typedef bool (*IsStmt)(const void *of, const Stmt *stmt);
const Stmt *block_find(Block block, IsStmt is, const void *of);
/* Each an IsStmt. */
bool stmt_is_check(const void *of, const Stmt *stmt);
bool stmt_is_loop(const void *of, const Stmt *stmt);
bool stmt_is_stream(const void *of, const Stmt *stmt);
bool block_sets_local(Block block, LocalId local); /* or declares it */
/* The one statement of the block; NULL: it has none, or several. */
static inline const Stmt *block_only(Block block) { return block.n == 1 ? block.stmts[0] : NULL; }
/* Loops inside each other, outermost first, each the one statement of the block that it is in, and what is in the
 * innermost. */
enum { NEST_LOOPS = 16 };
typedef struct LoopNest {
	const Stmt *loops[NEST_LOOPS];
	uint32_t n;
	Block body;
} LoopNest;
LoopNest block_nest(Block block);
/* Is there a load of the buffer in it, the local? */
bool value_loads(const Value *value, BufferId buffer);
bool value_uses_local(const Value *value, LocalId local);
/* Does the value differ between iterations of a loop: with its iterator, or with locals that the loop declares, `own` by LocalId? */
bool value_varies(const Value *value, IterVar iter, const bool *own);

/* The buffers that a kernel touches, in the order of first use. */
typedef struct BufferUse {
	BufferId buffer;
	bool loaded, stored; /* an accumulating store loads too */
} BufferUse;
typedef struct BufferUses {
	BufferUse *at;
	size_t n, cap;
} BufferUses;
BufferUses kernel_buffers(Arena *arena, const Kernel *kernel);
const BufferUse *buffer_use(const BufferUses *uses, BufferId buffer); /* NULL: there is none */
/* Does one store a buffer that the other touches? */
bool buffer_uses_meet(const BufferUses *a, const BufferUses *b);

#endif
