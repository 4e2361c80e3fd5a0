/* The loops over lines, as they are planned, and what they are built of. Who emits may look at what was decided; who
 * decides does not include this. */
#ifndef TSR_LOWER_ALONG_LINES_EMIT_H
#define TSR_LOWER_ALONG_LINES_EMIT_H

#include "lower/along/lines.h"

/* Append the loops that store the whole result. */
void cumulate_lines(const Lines *lines);
void sort_lines(const Lines *lines);
void argmax_lines(const Lines *lines);

/* ---- lines.c: statements ---- */

/* A new single local that begins with a value; the value of one. */
LocalId lines_local(const Lines *lines, Body *body, const char *name, const Value *start);
const Value *lines_read(const Lines *lines, LocalId local);
void lines_set(const Lines *lines, Body *body, LocalId local, Op acc, const Value *value);
/* The same of a local that is an index. */
LocalId lines_local_ix(const Lines *lines, Body *body, const char *name, const Ix *start);
const Ix *lines_read_ix(const Lines *lines, LocalId local);
void lines_set_ix(const Lines *lines, Body *body, LocalId local, Op acc, const Ix *value);
void lines_push(const Lines *lines, Body *body, const Stmt *stmt);
/* The body as a loop over lo, lo + step, ... below hi. */
Stmt *lines_loop(const Lines *lines, IterVar var, const Ix *lo, const Ix *hi, int64_t step,
		 const Body *body);
/* The loop, of which no iteration stores an element that another touches. */
const Stmt *lines_independent(Stmt *loop);
/* Appends that loop; the body for each of [0, n), and of [0, extent). */
void lines_for(const Lines *lines, Body *into, IterVar var, const Ix *lo, const Ix *hi,
	       int64_t step, const Body *body);
void lines_times(const Lines *lines, Body *into, IterVar var, const Ix *n, const Body *body);
void lines_each(const Lines *lines, Body *into, IterVar var, Size extent, const Body *body);
/* Appends the body where the condition holds. */
void lines_if(const Lines *lines, Body *into, CondKind kind, const Ix *a, const Ix *b,
	      const Body *body);
/* Appends buffer[at] = value. */
void lines_put(const Lines *lines, Body *body, BufferId buffer, const Ix *at, const Value *value);
/* to[element] = value, in the result's type. */
const Stmt *lines_store(const Lines *lines, const Ix *at, const Value *value);
/* The body for blocks of n lines along the last outer axis, which is at hand at the first of them;
 * where that block ends. */
const Stmt *lines_blocks(const Lines *lines, int64_t n, const Body *body);
const Ix *lines_block_end(const Lines *lines, int64_t n);
/* As lines_blocks, for whole blocks alone; appends the body for each line behind these. */
const Stmt *lines_whole_blocks(const Lines *lines, int64_t n, const Body *body);
void lines_behind(const Lines *lines, int64_t n, const Body *body, Body *into);
/* The body in the loops of the first n outer axes. */
void lines_wrap(const Lines *lines, uint32_t n, Body *body);
/* Appends the body to the loops. */
void lines_finish(const Lines *lines, const Body *body);

#endif
