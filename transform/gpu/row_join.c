/* Kernels over the same rows as one: a block goes through a row again and again, and only the first time through memory.
 *
 *   grid i in 0..n: m[i] = max of x[i, ...]            grid i in 0..n of 1
 *   grid i in 0..n                                       local m = max of x[i, ...]
 *     grid j in 0..c                               ->    local s = sum of exp(x[i, ...] - m)
 *       e[i*c + j] = exp(x[i*c + j] - m[i])              for j in 0..c
 *   grid i in 0..n: s[i] = sum of e[i, ...]                y[i*c + j] = exp(x[i*c + j] - m)/s
 *   grid i in 0..n
 *     grid j in 0..c
 *       y[i*c + j] = e[i*c + j]/s[i]
 *
 * Two kernels are joined whose first loops of the grid have the same extents, with the other loops
 * of each in the thread, where they share what one of them stores, no two rows meet, and threads of
 * a block can share out what is left (rows.c). What a joined kernel need not store of its rows row_values.c finds. So
 * long as rows are fewer than processors they are joined only where they are short. Where one of two kernels
 * has no loop of the grid, both are one row, if the program says that it is short: the norms of a single vector.
 */
#include "loops/rewrite.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/join.h"

/* ---- joined ---- */

static uint32_t grid_rank(const Kernel *kernel)
{
	uint32_t n = 0;
	for (const Stmt *s = grid_loop(&kernel->body); s; s = grid_loop(&s->body))
		n++;
	return n;
}

/* The loops of the grid behind the first n ones as the thread's own. */
static Block rows_block(Arena *arena, const Block *body, uint32_t n)
{
	const Stmt *s = grid_loop(body);
	if (!s)
		return *body;
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = *s;
	loop->loop = n ? LOOP_GRID : LOOP_SERIAL;
	loop->threads = n ? 1 : 0;
	loop->body = rows_block(arena, &s->body, n ? n - 1 : 0);
	return block_one(arena, loop);
}

/* Of the extents of loops inside each other; one that is not known counts as the GPU's row says. */
static int64_t iterations(const Joins *j, const Stmt *loop, bool grid)
{
	int64_t all = 1, unknown = j->t->options->gpu->unknown;
	for (; loop && loop->kind == LOOP_FOR && (loop->loop == LOOP_GRID) == grid;
	     loop = block_only(loop->body)) {
		int64_t n = loop->hi->kind == IX_SIZE
				    ? size_at_dims(j->program, loop->hi->size, unknown)
				    : unknown;
		if (__builtin_mul_overflow(all, n, &all))
			return INT64_MAX;
	}
	return all;
}

/* Are there blocks for all processors, or is there little to do in each? */
static bool enough_rows(const Joins *j, const Kernel *kernel)
{
	const GpuTarget *gpu = j->t->options->gpu;
	Block body = grid_body(kernel);
	bool enough = iterations(j, grid_loop(&kernel->body), true) >= gpu->processors;
	for (uint32_t i = 0; i < body.n && !enough; i++)
		if (iterations(j, body.stmts[i], false) > gpu->row_short)
			return false;
	return true;
}

static bool rows_are_independent(const Joins *j, const Kernel *kernel)
{
	const Stmt *root = grid_loop(&kernel->body);
	bool independent = true;
	for (const Stmt *s = root; s && independent; s = grid_loop(&s->body))
		independent = size_is(j->program->sizes, s->hi->size, 1) ||
			      gpu_independent(j->program, kernel, root, s);
	return independent;
}

/* ---- one element, one thread ---- */

/* The first access to a buffer that the kernel stores, and whether all others are at the same place of the same
 * loops. */
typedef struct Places {
	const Joins *j;
	const Kernel *kernel;
	BufferId buffer;
	LoopNest nest, first_nest;
	const Value *first;
	bool differ;
} Places;

static void see_place(void *of, const Value *value)
{
	Places *p = of;
	if (value->kind != VALUE_LOAD || value->buffer != p->buffer)
		return;
	if (!p->first) {
		p->first = value;
		p->first_nest = p->nest;
		return;
	}
	if (value_same(p->first, value))
		return;
	p->differ = p->differ || !nests_are_same(&p->first_nest, &p->nest) ||
		    !value_same(nest_value(p->j->program, p->kernel, &p->first_nest, &p->nest,
					   p->first),
				value);
}

static void see_places(void *of, const Stmt *stmt)
{
	Places *p = of;
	if (stmt->kind == LOOP_STORE && stmt->buffer == p->buffer)
		see_place(p, value_load(p->j->program, stmt->buffer, stmt->ix));
	if (stmt->value)
		value_each(stmt->value, see_place, p);
}

/* Does one thread of a row touch each element that is stored, in whatever loop? */
static bool elements_are_own(const Joins *j, const Kernel *kernel)
{
	Block body = grid_body(kernel);
	const BufferUses *uses = &kernel_uses(j->uses, kernel)->uses;
	Places p = {.j = j, .kernel = kernel};
	for (size_t u = 0; u < uses->n && !p.differ; u++) {
		p.buffer = uses->at[u].buffer;
		p.first = NULL;
		for (uint32_t i = 0; i < body.n && uses->at[u].stored; i++) {
			p.nest = block_nest((Block){&body.stmts[i], 1});
			block_each((Block){&body.stmts[i], 1}, see_places, &p);
		}
	}
	return !p.differ;
}

/* ---- one row ---- */

static bool is_one_row(const Joins *j, const Kernel *kernel)
{
	const Stmt *loop = grid_loop(&kernel->body);
	return loop && size_is(j->program->sizes, loop->hi->size, 1);
}

/* Are there few iterations in all, as far as the program says? */
static bool is_short(const Joins *j, const Stmt *loop)
{
	int64_t all = 1, n = 1;
	for (; loop && loop->kind == LOOP_FOR; loop = block_only(loop->body))
		if (loop->hi->kind != IX_SIZE ||
		    !size_is_const(j->program->sizes, loop->hi->size, &n) ||
		    __builtin_mul_overflow(all, n, &all))
			return false;
	return all <= j->t->options->gpu->row_short;
}

static bool all_is_short(const Joins *j, const Kernel *kernel)
{
	bool all = true;
	for (uint32_t i = 0; i < kernel->body.n && all; i++)
		all = is_short(j, kernel->body.stmts[i]);
	return all;
}

/* All of the kernel as one row, which a loop of the grid stands for. */
static void put_in_row(const Joins *j, Kernel *kernel)
{
	Arena *arena = j->program->arena;
	if (is_one_row(j, kernel))
		return;
	Stmt *loop = ARENA_NEW(arena, Stmt);
	*loop = (Stmt){.kind = LOOP_FOR,
		       .acc = OP_NONE,
		       .iter = bind_iter(j->program, kernel, "row"),
		       .loop = LOOP_GRID,
		       .lo = ix_const(j->program, 0),
		       .hi = ix_const(j->program, 1),
		       .step = 1,
		       .threads = 1,
		       .body = rows_block(arena, &kernel->body, 0)};
	kernel->body = block_one(arena, loop);
}

static bool join_asked_rows(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made,
			    bool asked)
{
	Arena *arena = j->program->arena;
	Kernel rows[] = {*a, *b};
	bool one = !grid_rank(a) || !grid_rank(b) || is_one_row(j, a) != is_one_row(j, b);
	if (one && (!all_is_short(j, a) || !all_is_short(j, b)))
		return false;
	for (uint32_t i = 0; i < 2 && one; i++)
		put_in_row(j, &rows[i]);
	uint32_t first = grid_rank(&rows[0]), second = grid_rank(&rows[1]),
		 n = first < second ? first : second;
	rows[0].body = rows_block(arena, &rows[0].body, n);
	rows[1].body = rows_block(arena, &rows[1].body, n);
	return join_bodies(j, &rows[0], &rows[1], made) && rows_pay(j->t, made) &&
	       (asked || enough_rows(j, made)) && elements_are_own(j, made) &&
	       rows_are_independent(j, made);
}

/* Writes it into the schedule. */
static void note_joined(const Joins *j, const Kernel *a, const Kernel *b)
{
	Arena *arena = j->program->arena;
	ScheduleEntry entry = {.name = b->name, .span = b->span};
	clause_add(arena, entry_make(arena, &entry, CHOICE_FUSE_ROWS, false), a->name, NULL, 0);
	PUSH(arena, j->program->made->entries, entry);
}

bool join_rows(const Joins *j, const Kernel *a, const Kernel *b, Kernel *made)
{
	ScheduleClause *asked = kernel_asked(j->t, b, CHOICE_FUSE_ROWS);
	if (asks_off(asked) || !asks_any(asked, a->name))
		return false;
	if (!join_asked_rows(j, a, b, made, asks_on(asked)))
		return false;
	note_joined(j, a, b);
	return true;
}
