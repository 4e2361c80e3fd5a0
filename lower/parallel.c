/* Finished loops to chunks of work that threads may share.
 *
 *   for i in 0..m { for j in 0..n { ... } }
 * becomes, where i and j are independent (independent.c),
 *   parallel chunk in 0..I*J
 *     for i in m*(chunk / J) / I .. m*(chunk / J + 1) / I
 *       for j in n*(chunk % J) / J .. n*(chunk % J + 1) / J { ... }
 *
 * Loops that are nested in each other alone are looked at, and at most two of them are cut; what
 * they contain is as it was, so every cell is computed by the same code in the same order. How
 * many chunks there are follows from the work, an estimate from the extents: never from threads.
 * An even number is wanted, for two threads; work for less than two chunks stays one loop. An
 * innermost loop of constant length is cut at multiples of BLOCK only. A schedule may say into
 * how many parts each loop is cut.
 */
#include "base/diag.h"
#include "lower/parallel.h"

enum {
	DEPTH_MAX = 8,
	CHUNKS_MAX = 64,
	PARTS_MAX = 1024,
	BLOCK = 64,
	TRIPS_GUESS = 8,
	DIM_GUESS = 32
};
#define WORK_CAP ((int64_t)1 << 30)

typedef struct Chunks {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	int64_t grain;
	ScheduleClause *asked; /* NULL: nothing */
	ScheduleClause *made;  /* NULL: nothing was cut yet */
	uint32_t nroots;       /* loops of the kernel that stand in no other */
} Chunks;

/* A loop that is cut. */
typedef struct Cut {
	const Stmt *loop; /* NULL: none */
	int64_t block;
	const Ix *blocks; /* how many there are to share out */
	const Ix *parts, *part;
} Cut;

static const Ix *number(const Chunks *p, int64_t value)
{
	return ix_const(p->arena, p->program->sizes, value);
}

static const Ix *plus(const Chunks *p, const Ix *a, int64_t value)
{
	return ix_add(p->program, a, number(p, value));
}

static const Ix *least(const Chunks *p, const Ix *a, const Ix *b)
{
	bool bounded = a->kind == IX_MIN && a->b->kind == IX_SIZE && b->kind == IX_SIZE;
	if (bounded && size_ge(p->program->sizes, b->size, a->b->size))
		return a;
	return ix_binary(p->program, IX_MIN, a, b);
}

static const Ix *most(const Chunks *p, const Ix *a, const Ix *b)
{
	return ix_binary(p->program, IX_MAX, a, b);
}

/* a * b, not above the cap. */
static const Ix *capped_product(const Chunks *p, const Ix *a, const Ix *b)
{
	if (b->kind == IX_SIZE && size_is(p->program->sizes, b->size, 1))
		return a;
	const Ix *product = ix_mul(p->program, a, least(p, b, number(p, WORK_CAP)));
	return least(p, product, number(p, WORK_CAP));
}

/* ---- the work, in operations ---- */

static int64_t op_cost(Op op, Dtype dtype)
{
	enum { SIMPLE = 1, QUOTIENT = 4, FUNCTION = 16, HASH = 150 };
	if (op == OP_THREEFRY)
		return HASH;
	bool quotient = op == OP_DIV || op == OP_MOD || op == OP_SQRT || op == OP_RSQRT || op == OP_RECIP;
	if (quotient)
		return QUOTIENT;
	bool function = op == OP_POW || (op >= OP_EXP && op <= OP_GELU);
	return function && dtype_is_float(dtype) ? FUNCTION : SIMPLE;
}

static int64_t value_cost(const Value *value)
{
	int64_t cost = value->kind == VALUE_OP ? op_cost(value->op, value->dtype)
					       : value->kind == VALUE_LOAD;
	for (uint32_t i = 0; i < value->nargs && cost < WORK_CAP; i++)
		cost += value_cost(value->args[i]);
	return cost;
}

static bool known_size(const Ix *ix, Size *size)
{
	if (ix->kind == IX_SIZE) {
		*size = ix->size;
		return true;
	}
	return (ix->kind == IX_MIN || ix->kind == IX_MAX) &&
	       (known_size(ix->a, size) || known_size(ix->b, size));
}

static Size trips_size(const Chunks *p, const Stmt *loop)
{
	Sizes *sizes = p->program->sizes;
	Size lo, hi;
	bool bounded = ix_bounding_size(sizes, loop->lo, IX_MAX, &lo) &&
		       ix_bounding_size(sizes, loop->hi, IX_MIN, &hi);
	if (!bounded && (!known_size(loop->lo, &lo) || !known_size(loop->hi, &hi)))
		return size_const(sizes, TRIPS_GUESS);
	Size n = size_ceil(sizes, size_sub(sizes, hi, lo), loop->step);
	return size_is_bad(n) ? size_const(sizes, TRIPS_GUESS) : n;
}

static const Ix *trips(const Chunks *p, const Stmt *loop)
{
	return ix_size(p->arena, trips_size(p, loop));
}

/* SIZE_BAD: too large for a size. */
static Size block_size(const Chunks *p, Block block)
{
	Sizes *sizes = p->program->sizes;
	Size work = size_const(sizes, 0);
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		Size inside = size_const(sizes, stmt->value ? 1 + value_cost(stmt->value) : 0);
		if (stmt->body.n)
			inside = block_size(p, stmt->body);
		if (stmt->kind == LOOP_FOR)
			inside = size_mul(sizes, inside, trips_size(p, stmt));
		work = size_add(sizes, work, inside);
	}
	return work;
}

int64_t typical_work(Program *program, const Kernel *kernel)
{
	Chunks p = {.program = program, .arena = program->arena};
	uint32_t n = sizes_ndims(program->sizes);
	int64_t *dims = ARENA_ARRAY(p.arena, int64_t, n + 1), work;
	for (uint32_t i = 0; i < n; i++)
		dims[i] = DIM_GUESS;
	Size size = block_size(&p, kernel->body);
	bool known = !size_is_bad(size) && size_eval(program->sizes, size, dims, &work);
	return known && work < WORK_CAP ? work : WORK_CAP;
}

bool work_is_known(Program *program, const Kernel *kernel)
{
	Chunks p = {.program = program, .arena = program->arena};
	int64_t work;
	return size_is_const(program->sizes, block_size(&p, kernel->body), &work);
}

/* Does the size fit whatever the dims are? */
static bool always_fits(const Chunks *p, Size size)
{
	static const int64_t dim_most = (int64_t)1 << 31;
	uint32_t n = sizes_ndims(p->program->sizes);
	int64_t *dims = ARENA_ARRAY(p->arena, int64_t, n + 1), value;
	for (uint32_t i = 0; i < n; i++)
		dims[i] = dim_most;
	return !size_is_bad(size) && size_eval(p->program->sizes, size, dims, &value);
}

static const Ix *block_work(const Chunks *p, Block block)
{
	const Ix *work = number(p, 0);
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		const Ix *inside = number(p, stmt->value ? 1 + value_cost(stmt->value) : 0);
		if (stmt->body.n)
			inside = block_work(p, stmt->body);
		if (stmt->kind == LOOP_FOR)
			inside = capped_product(p, inside, trips(p, stmt));
		work = ix_add(p->program, work, inside);
	}
	return least(p, work, number(p, WORK_CAP));
}

/* ---- which loops ---- */

static bool depends(const Stmt *loop, const Stmt *const *outer, uint32_t n)
{
	Size size;
	if (loop->lo->kind != IX_SIZE || !known_size(loop->hi, &size))
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (ix_uses(loop->hi, outer[i]->iter))
			return true;
	return false;
}

/* The loops that hold nothing but the next one. */
static uint32_t nested_loops(const Stmt *stmt, const Stmt **loops)
{
	uint32_t n = 0;
	while (n < DEPTH_MAX && stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL &&
	       !depends(stmt, loops, n)) {
		loops[n++] = stmt;
		if (stmt->body.n != 1)
			break;
		stmt = stmt->body.stmts[0];
	}
	return n;
}

static bool holds_loops(const Stmt *loop)
{
	for (uint32_t i = 0; i < loop->body.n; i++)
		if (loop->body.stmts[i]->kind == LOOP_FOR || loop->body.stmts[i]->kind == LOOP_IF)
			return true;
	return false;
}

static Cut cut_of(const Chunks *p, const Stmt *loop)
{
	int64_t constant;
	const Ix *n = trips(p, loop);
	bool fixed = size_is_const(p->program->sizes, n->size, &constant);
	Cut cut = {.loop = loop,
		   .block = fixed && loop->step == 1 && !holds_loops(loop) ? BLOCK : 1};
	cut.blocks = ix_binary(p->program, IX_DIV, plus(p, n, cut.block - 1), number(p, cut.block));
	return cut;
}

static bool is_long(const Chunks *p, const Cut *cut)
{
	int64_t n;
	return cut->blocks->kind == IX_SIZE &&
	       size_is_const(p->program->sizes, cut->blocks->size, &n) && n >= CHUNKS_MAX;
}

static bool is_short(const Chunks *p, const Cut *cut)
{
	return cut->blocks->kind == IX_SIZE &&
	       size_ge(p->program->sizes, size_const(p->program->sizes, 1), cut->blocks->size);
}

static uint32_t choose(const Chunks *p, const Stmt *root, Cut *cuts)
{
	const Stmt *loops[DEPTH_MAX];
	uint32_t nloops = nested_loops(root, loops), n = 0;
	for (uint32_t i = 0; i < nloops && n < 2 && !(n == 1 && is_long(p, &cuts[0])); i++) {
		Cut cut = cut_of(p, loops[i]);
		if (!is_short(p, &cut) &&
		    asks_any(p->asked, p->kernel->iters[loops[i]->iter].name) &&
		    loop_is_independent(p->program, p->kernel, root, loops[i]))
			cuts[n++] = cut;
	}
	return n;
}

uint32_t loops_to_cut(Program *program, Kernel *kernel, const Stmt *root)
{
	Chunks p = {.program = program, .arena = program->arena, .kernel = kernel};
	Cut cuts[2];
	return choose(&p, root, cuts);
}

/* ---- cutting ---- */

/* The iterator's value at the start of a part. */
static const Ix *start_of(const Chunks *p, const Cut *cut, const Ix *part)
{
	Program *program = p->program;
	const Ix *block =
		ix_binary(program, IX_DIV, ix_mul(program, part, cut->blocks), cut->parts);
	return ix_add(program, cut->loop->lo,
		      ix_mul(program, block, number(p, cut->block * cut->loop->step)));
}

static const Stmt *cut_loops(const Chunks *p, const Stmt *stmt, const Cut *cuts, uint32_t ncuts)
{
	if (ncuts == 0)
		return stmt;
	Stmt *copy = ARENA_NEW(p->arena, Stmt);
	*copy = *stmt;
	bool cut = stmt == cuts->loop;
	if (cut) {
		const Ix *end = start_of(p, cuts, plus(p, cuts->part, 1));
		copy->lo = start_of(p, cuts, cuts->part);
		copy->hi = cuts->block > 1 || stmt->hi->kind != IX_SIZE ? least(p, stmt->hi, end)
									: end;
	}
	if (ncuts > (uint32_t)cut) {
		const Stmt **inner = ARENA_ARRAY(p->arena, const Stmt *, 1);
		inner[0] = cut_loops(p, stmt->body.stmts[0], cuts + cut, ncuts - cut);
		copy->body = (Block){inner, 1};
	}
	return copy;
}

static IterVar new_iter(Chunks *p)
{
	Kernel *kernel = p->kernel;
	KernelIter *iters = ARENA_ARRAY(p->arena, KernelIter, kernel->niters + 1);
	for (uint32_t i = 0; i < kernel->niters; i++)
		iters[i] = kernel->iters[i];
	iters[kernel->niters].name = sym_cstr(p->program->symbols, "chunk");
	kernel->iters = iters;
	return kernel->niters++;
}

/* An index that is no constant as a local of the body. */
static const Ix *named(Chunks *p, const char *name, const Ix *ix, Body *body)
{
	Kernel *kernel = p->kernel;
	if (ix->kind == IX_SIZE)
		return ix;
	KernelLocal *locals = ARENA_ARRAY(p->arena, KernelLocal, kernel->nlocals + 1);
	for (uint32_t i = 0; i < kernel->nlocals; i++)
		locals[i] = kernel->locals[i];
	locals[kernel->nlocals] =
		(KernelLocal){.name = sym_cstr(p->program->symbols, name), .dtype = DTYPE_I64};
	kernel->locals = locals;
	LocalId local = kernel->nlocals++;
	PUSH(p->arena, body->stmts,
	     stmt_local(p->arena, local, value_index(p->arena, DTYPE_I64, ix)));
	return ix_value(p->arena, value_local(p->arena, kernel, local, NULL, 0));
}

/* The part of each loop that a chunk is. */
static void name_parts(Chunks *p, Cut *cuts, uint32_t n, const Ix *chunk, Body *body)
{
	cuts[0].parts = named(p, "parts", cuts[0].parts, body);
	cuts[0].part = chunk;
	if (n == 1)
		return;
	cuts[1].parts = named(p, "inner_parts", cuts[1].parts, body);
	cuts[0].part = ix_binary(p->program, IX_DIV, chunk, cuts[1].parts);
	cuts[1].part = ix_binary(p->program, IX_MOD, chunk, cuts[1].parts);
}

/* The number of parts asked for; 0: none is, or more than PARTS_MAX. */
static int64_t asked_parts(const Chunks *p, const Stmt *loop)
{
	int64_t parts = asks_number(p->asked, p->kernel->iters[loop->iter].name);
	return parts <= PARTS_MAX ? parts : 0;
}

/* min(blocks, wanted, or what is asked for), at least 1 */
static const Ix *parts_of(const Chunks *p, const Cut *cut, const Ix *wanted)
{
	int64_t asked = asked_parts(p, cut->loop);
	return most(p, number(p, 1), least(p, cut->blocks, asked ? number(p, asked) : wanted));
}

/* I = min(blocks, wanted), J = min(blocks, ceil(wanted / I)), unless numbers are asked for. */
static const Ix *share_out(Chunks *p, Cut *cuts, uint32_t n, const Ix *wanted)
{
	Program *program = p->program;
	cuts[0].parts = parts_of(p, &cuts[0], wanted);
	if (n == 1)
		return cuts[0].parts;
	const Ix *rest = ix_add(program, wanted, plus(p, cuts[0].parts, -1));
	rest = ix_binary(program, IX_DIV, rest, cuts[0].parts);
	cuts[1].parts = parts_of(p, &cuts[1], rest);
	return ix_mul(program, cuts[0].parts, cuts[1].parts);
}

/* The number of a loop's parts as a schedule asks for it; 0: sizes decide. */
static int64_t told_parts(const Chunks *p, const Cut *cut)
{
	int64_t parts = 0;
	bool constant = cut->parts->kind == IX_SIZE &&
			size_is_const(p->program->sizes, cut->parts->size, &parts);
	return constant ? parts : asked_parts(p, cut->loop);
}

/* Loops of one name that have different numbers of parts are told without. */
static void describe(Chunks *p, const Cut *cuts, uint32_t n)
{
	ScheduleEntry *entry = schedule_entry(p->program->made, p->kernel->name);
	if (!p->made)
		p->made = entry_make(p->arena, entry, CHOICE_PARALLEL, false);
	for (uint32_t i = 0; i < n; i++) {
		Sym name = p->kernel->iters[cuts[i].loop->iter].name;
		int64_t parts = told_parts(p, &cuts[i]);
		ScheduleItem *item = clause_item(p->made, name);
		if (!item)
			clause_add(p->arena, p->made, name, &parts, parts > 0);
		else if (item->numbers[0] != parts)
			item->n = 0;
	}
}

/* Does the schedule ask for a number of parts of some loop? */
static bool asks_parts(const Chunks *p)
{
	for (size_t i = 0; p->asked && i < p->asked->items.n; i++)
		if (p->asked->items.at[i].n)
			return true;
	return false;
}

static const Stmt *in_chunks(Chunks *p, const Stmt *stmt)
{
	Cut cuts[2];
	Block root = {&stmt, 1};
	Size size = block_size(p, root);
	const Ix *work = always_fits(p, size) ? ix_size(p->arena, size) : block_work(p, root);
	const Ix *wanted = ix_binary(p->program, IX_DIV, work, number(p, p->grain));
	wanted = ix_mul(p->program, ix_binary(p->program, IX_DIV, wanted, number(p, 2)),
			number(p, 2));
	wanted = least(p, wanted, number(p, CHUNKS_MAX));
	bool sure = p->nroots == 1 && asks_parts(p); /* of several, those that are worth it */
	if (!sure && wanted->kind == IX_SIZE &&
	    size_ge(p->program->sizes, size_const(p->program->sizes, 1), wanted->size))
		return stmt;
	uint32_t n = choose(p, stmt, cuts);
	if (n == 0)
		return stmt;
	IterVar iter = new_iter(p);
	const Ix *count = share_out(p, cuts, n, wanted);
	describe(p, cuts, n);
	Body body = {0};
	name_parts(p, cuts, n, ix_iter(p->arena, iter), &body);
	PUSH(p->arena, body.stmts, cut_loops(p, stmt, cuts, n));
	Stmt *loop = ARENA_NEW(p->arena, Stmt);
	*loop = *stmt_for(p->arena, iter, number(p, 0), count, body_block(&body));
	loop->span = stmt->span;
	loop->loop = LOOP_PARALLEL;
	kernel_scratch(p->program, p->kernel, loop);
	return loop;
}

void kernel_parallel(Program *program, Kernel *kernel, const Schedule *asked, int64_t grain)
{
	Chunks p = {.program = program, .arena = program->arena, .kernel = kernel, .grain = grain};
	p.asked = schedule_asked(asked, program, kernel->name, kernel->span, CHOICE_PARALLEL);
	if (asks_off(p.asked)) {
		entry_make(p.arena, schedule_entry(program->made, kernel->name), CHOICE_PARALLEL,
			   true);
		return;
	}
	const Stmt **stmts = ARENA_ARRAY(program->arena, const Stmt *, kernel->body.n + 1);
	for (uint32_t i = 0; i < kernel->body.n; i++)
		p.nroots += kernel->body.stmts[i]->kind == LOOP_FOR;
	for (uint32_t i = 0; i < kernel->body.n; i++) {
		const Stmt *stmt = kernel->body.stmts[i];
		stmts[i] = stmt->kind == LOOP_FOR && grain > 0 ? in_chunks(&p, stmt) : stmt;
	}
	kernel->body.stmts = stmts;
}
