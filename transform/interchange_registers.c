/* What the elements of a strip carry from step to step in registers (interchange.c), where a step is a few instructions an
 * element: then loads and stores of it would take longer than the rest.
 *
 *   for i in 0..n/64*64 step 64
 *     local u : f32 [64]
 *     vector lane in 0..64: u[lane] = a[i + lane]
 *     for k in 0..steps
 *       vector lane in 0..64: u[lane] = f(u[lane])
 *     vector lane in 0..64: a[i + lane] = u[lane]
 *   for k in 0..steps                                       what is left
 *     for i in n/64*64..n: a[i] = f(a[i])
 *
 * Legal are steps of one type of floats, of what vectors have instructions for, that lanes read and store at neighbours. In
 * registers are the elements that a step reads first and stores then, wherever it touches their buffer. Steps without loops over
 * elements carry single ones, of any type and with any operations, in locals:
 *
 *   for k in 0..steps                    local u = a[0]
 *     a[0] = f(a[0], x[k])        ->     for k in 0..steps
 *                                          u = f(u, x[k])
 *                                        a[0] = u
 */
#include "loops/dependence.h"
#include "loops/frame.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/interchange.h"

/* A buffer of which a lane has one element in a register. */
typedef struct Carried {
	BufferId buffer;
	const Ix *ix;
	const Value *element; /* of the local, at the lane */
} Carried;

typedef struct Registers {
	const StepLoop *s;
	IterVar iter; /* of the lanes */
	Dtype dtype;
	bool wrong;
	VEC(Carried) carried;
} Registers;

static const Stmt *innermost(const StepLoop *s) { return s->loops[s->nloops - 1]; }

/* ---- which steps ---- */

/* An element each lane has, beside that of its neighbours, or all have. */
static bool is_of_lanes(const Registers *r, const Ix *ix)
{
	return !ix->reads && (!ix_uses(ix, r->iter) || ix_moves_by(r->s->program, ix, r->iter, 1));
}

/* Vectors have no masks here, so a choice is as dear as what it saves. */
static bool is_cheap(Op op) { return op_is_simple(op) && !op_gives_truth(op) && op != OP_WHERE; }

static void see_value(void *of, const Value *value)
{
	Registers *r = of;
	bool lanes = value_uses_iter(value, r->iter) || value->kind == VALUE_LOCAL;
	bool fits = value->kind == VALUE_LOAD || value->kind == VALUE_LOCAL ||
		    (value->kind == VALUE_OP && is_cheap(value->op));
	r->wrong |= value->ix && !is_of_lanes(r, value->ix);
	r->wrong |= lanes && (!fits || value->dtype != r->dtype || value->nixs > 0);
}

static void see_stmt(Registers *r, const Stmt *stmt)
{
	const Program *program = r->s->program;
	interchange_values(stmt, see_value, r);
	r->wrong |= stmt->value->dtype != r->dtype || stmt->nixs > 0 ||
		    (stmt->acc != OP_NONE && !is_cheap(stmt->acc));
	if (stmt->kind == LOOP_STORE)
		r->wrong |= !is_of_lanes(r, stmt->ix) || !ix_uses(stmt->ix, r->iter) ||
			    program->buffers.at[stmt->buffer].dtype != r->dtype;
}

/* Does a step read the element before it stores it? */
static bool is_read_first(const StepLoop *s, BufferId buffer)
{
	for (uint32_t i = 0; i < s->body.n; i++) {
		const Stmt *stmt = s->body.stmts[i];
		if (value_loads(stmt->value, buffer))
			return true;
		if (stmt->kind == LOOP_STORE && stmt->buffer == buffer)
			return stmt->acc != OP_NONE;
	}
	return false;
}

static void find_carried(Registers *r)
{
	const StepLoop *s = r->s;
	for (uint32_t i = 0; i < s->body.n; i++) {
		const Stmt *stmt = s->body.stmts[i];
		bool known = stmt->kind != LOOP_STORE;
		for (size_t k = 0; k < r->carried.n && !known; k++)
			known = r->carried.at[k].buffer == stmt->buffer;
		if (!known && !ix_uses(stmt->ix, s->step) &&
		    block_has_one_index(&s->body, stmt->buffer) && is_read_first(s, stmt->buffer))
			PUSH(s->program->arena, r->carried,
			     ((Carried){.buffer = stmt->buffer, .ix = stmt->ix}));
	}
}

/* Without `carried`, where the steps are not such. */
static Registers find(const StepLoop *s)
{
	Registers r = {.s = s};
	if (s->nloops == 0 || s->body.n == 0)
		return r;
	r.iter = s->iters[s->nloops - 1];
	r.dtype = s->body.stmts[0]->value->dtype;
	r.wrong = !dtype_is_float(r.dtype) || dtype_wide(r.dtype) != r.dtype;
	for (uint32_t i = 0; i < s->body.n && !r.wrong; i++)
		see_stmt(&r, s->body.stmts[i]);
	if (!r.wrong)
		find_carried(&r);
	return r;
}

/* ---- how many elements ---- */

/* Of so many vectors at most the number that leaves the fewest elements of a row, if its length is known. */
static int64_t fitting(const Registers *r, int64_t vectors, int64_t lanes)
{
	int64_t trips = constant_trips(r->s->program, innermost(r->s)), best = 0, left = trips;
	if (trips < 0)
		return vectors * lanes;
	for (int64_t n = vectors; n > 0 && n * 2 >= vectors; n--)
		if (n * lanes <= trips && trips % (n * lanes) < left) {
			best = n * lanes;
			left = trips % best;
		}
	return best;
}

static int64_t cost_of_step(const StepLoop *s)
{
	int64_t cost = 0;
	for (uint32_t i = 0; i < s->body.n; i++)
		cost += stmt_cost(s->body.stmts[i]);
	return cost;
}

bool interchange_has_registers(const StepLoop *s) { return find(s).carried.n > 0; }

int64_t interchange_registers(const StepLoop *s)
{
	const Target *target = s->t->options->target;
	Registers r = find(s);
	int64_t carried = (int64_t)r.carried.n;
	if (carried == 0 || cost_of_step(s) > target->interchange_register_cost * carried)
		return 0;
	int64_t chains = target->fma_ports * target->fma_latency;
	int64_t vectors = 2 * chains / carried,
		lanes = target->vector_bytes / (int64_t)dtype_bytes(r.dtype);
	return vectors < 2 ? 0 : fitting(&r, vectors, lanes);
}

/* ---- the loops ---- */

static Stmt *lanes_of(const StepLoop *s, IterVar lane, int64_t n, Block block)
{
	return stmt_loop(s->program, LOOP_VECTOR, lane, n, block);
}

/* What the iterators of the body stand for, where that of elements is the first one of these and the lane. */
static const Ix *const *iters_at(const StepLoop *s, IterVar first, IterVar lane)
{
	Arena *arena = s->program->arena;
	const Ix **iters = kernel_iters(arena, &s->kernel, 0);
	iters[s->iters[s->nloops - 1]] =
		ix_add(s->program, ix_iter(arena, first), ix_iter(arena, lane));
	return iters;
}

static void add_local(StepLoop *s, Carried *c, Dtype dtype, int64_t n, IterVar lane)
{
	Program *program = s->program;
	KernelLocal local = {
		.name = program->buffers.at[c->buffer].name, .dtype = dtype, .rank = 1};
	local.extent[0] = (uint32_t)n;
	LocalId id = kernel_add_local(program, &s->kernel, local);
	const Ix **at = ARENA_ARRAY(program->arena, const Ix *, 1);
	at[0] = ix_iter(program->arena, lane);
	c->element = value_local(program->arena, &s->kernel, id, at, 1);
}

/* The body with locals of its own, and what is carried in registers. */
static Block body_in_lanes(StepLoop *s, const Registers *r, Rewrite *rewrite)
{
	Arena *arena = s->program->arena;
	ValueTwin *values = ARENA_ARRAY(arena, ValueTwin, r->carried.n + 1);
	Kernel locals = {.locals = s->kernel.locals,
			 .nlocals = s->kernel.nlocals - (uint32_t)r->carried.n};
	for (size_t i = 0; i < r->carried.n; i++) {
		const Carried *c = &r->carried.at[i];
		values[i] = (ValueTwin){value_load(s->program, c->buffer, c->ix), c->element};
	}
	rewrite->first_local = s->kernel.nlocals;
	rewrite->values = values;
	rewrite->nvalues = (uint32_t)r->carried.n;
	kernel_append_tables(arena, &s->kernel, &locals);
	Block block = rewrite_block(rewrite, s->body);
	Body body = {0};
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		for (size_t k = 0; k < r->carried.n; k++)
			if (stmt->kind == LOOP_STORE && stmt->buffer == r->carried.at[k].buffer)
				stmt = stmt_set_at(arena, r->carried.at[k].element, stmt->acc,
						   stmt->value);
		PUSH(arena, body.stmts, stmt);
	}
	return body_block(&body);
}

/* So many elements from `first` on: what they carry in registers, their steps, and back to memory. */
static Block strip_in_registers(StepLoop *s, Registers *r, IterVar first, int64_t n)
{
	Program *program = s->program;
	Arena *arena = program->arena;
	IterVar lane = kernel_add_iter(program, &s->kernel, "lane");
	Rewrite rewrite = {.program = program, .iters = iters_at(s, first, lane)};
	Body strip = {0}, loads = {0}, stores = {0};
	for (size_t i = 0; i < r->carried.n; i++) {
		Carried *c = &r->carried.at[i];
		const Ix *ix = rewrite_ix(&rewrite, c->ix);
		add_local(s, c, r->dtype, n, lane);
		PUSH(arena, strip.stmts,
		     stmt_local(arena, c->element->local, value_number(arena, r->dtype, 0)));
		PUSH(arena, loads.stmts,
		     stmt_set_at(arena, c->element, OP_NONE, value_load(program, c->buffer, ix)));
		PUSH(arena, stores.stmts, stmt_store(arena, c->buffer, ix, OP_NONE, c->element));
	}
	Block body = body_in_lanes(s, r, &rewrite);
	PUSH(arena, strip.stmts, lanes_of(s, lane, n, body_block(&loads)));
	PUSH(arena, strip.stmts,
	     interchange_steps(s, block_one(arena, lanes_of(s, lane, n, body))));
	PUSH(arena, strip.stmts, lanes_of(s, lane, n, body_block(&stores)));
	return body_block(&strip);
}

/* The single elements that steps without loops over elements carry. */
static Registers find_single(const StepLoop *s)
{
	Registers all = {.s = s}, r = all;
	find_carried(&all);
	for (size_t i = 0; i < all.carried.n; i++) {
		const Carried *c = &all.carried.at[i];
		Dtype dtype = s->program->buffers.at[c->buffer].dtype;
		if (!c->ix->reads && dtype_wide(dtype) == dtype)
			PUSH(s->program->arena, r.carried, *c);
	}
	return r;
}

Block interchange_in_locals(StepLoop *s)
{
	Program *program = s->program;
	Arena *arena = program->arena;
	Registers r = find_single(s);
	Rewrite rewrite = {.program = program, .iters = kernel_iters(arena, &s->kernel, 0)};
	Body all = {0}, stores = {0};
	for (size_t i = 0; i < r.carried.n; i++) {
		Carried *c = &r.carried.at[i];
		const Buffer *buffer = &program->buffers.at[c->buffer];
		LocalId id = kernel_add_local(
			program, &s->kernel,
			(KernelLocal){.name = buffer->name, .dtype = buffer->dtype});
		c->element = value_local(arena, &s->kernel, id, NULL, 0);
		PUSH(arena, all.stmts,
		     stmt_local(arena, id, value_load(program, c->buffer, c->ix)));
		PUSH(arena, stores.stmts, stmt_store(arena, c->buffer, c->ix, OP_NONE, c->element));
	}
	Block body = r.carried.n ? body_in_lanes(s, &r, &rewrite) : s->body;
	PUSH(arena, all.stmts, interchange_steps(s, body));
	body_append(arena, &all, body_block(&stores));
	return body_block(&all);
}

Block interchange_in_registers(StepLoop *s, IterVar first, int64_t n)
{
	Program *program = s->program;
	Arena *arena = program->arena;
	const Stmt *loop = innermost(s);
	Registers r = find(s);
	Size whole = size_scale(program->sizes, size_floor(program->sizes, loop->hi->size, n), n);
	Stmt *strips = stmt_for(arena, first, ix_const(program, 0), ix_size(arena, whole),
				strip_in_registers(s, &r, first, n));
	strips->step = n;
	strips->independent = true;
	strips->span = loop->span;
	Body all = {0};
	PUSH(arena, all.stmts, strips);
	if (!size_same(whole, loop->hi->size)) {
		Stmt *rest = stmt_for(arena, loop->iter, ix_size(arena, whole), loop->hi, s->body);
		rest->span = loop->span;
		Stmt *steps = interchange_steps(s, block_one(arena, rest));
		steps->disjoint = true;
		PUSH(arena, all.stmts, steps);
	}
	return body_block(&all);
}
