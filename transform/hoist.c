/* What a loop would compute again in each iteration is computed before it: loop-invariant code motion.
 *
 *   unroll r in 0..14: vector lane in 0..32: y[..] = acc[r, lane] * scale[c + lane] + (b[c + lane] - m[c + lane])
 * becomes
 *   vector lane in 0..32: invariant[lane] = scale[c + lane]
 *   vector lane in 0..32: invariant1[lane] = b[c + lane] - m[c + lane]
 *   unroll r in 0..14: vector lane in 0..32: y[..] = acc[r, lane] * invariant[lane] + invariant1[lane]
 *
 * and, without lanes,
 *   for j in 0..64: y[i*64 + j] = x[i*64 + j] * (s[i] + 1)
 * becomes
 *   local invariant = s[i] + 1
 *   for j in 0..64: y[i*64 + j] = x[i*64 + j] * invariant
 *
 * A back end does that by itself where nothing is stored to memory: here it would have to know that the stores leave
 * alone what is loaded. Legal are the largest parts of values that no iteration changes: what is loaded, nothing in
 * the loop stores, and locals stand outside. Where there may be no iteration all stands under the condition that
 * there is one. What several values are made of stays one value. A product that enters a sum stays there: both are
 * rounded together (codegen/fused.h), in a loop of one iteration as well.
 *
 * What is computed pays always; what is only loaded, where it stays in registers beside what each iteration has there.
 */
#include "loops/frame.h"
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/transform.h"

/* What is known of a value. */
enum { SEEN = 1, VARIES = 2, MISFITS = 4 };

typedef struct Hoist {
	Program *program;
	Kernel *kernel;
	const Stmt *loop;
	const Stmt *lanes; /* the VECTOR loop that is all that it holds; NULL: none */
	VEC(ValueTwin)
	found; /* parts, and the locals that stand for them; of locals that were there themselves */
	PointerMap facts;      /* by value, what is known of it */
	PointerMap without[2]; /* values with parts as locals; of products that enter sums */
	Body before;
	bool changed;
} Hoist;

/* ---- which loops ---- */

static const Stmt *lanes_of(const Stmt *loop)
{
	const Stmt *only = block_only(loop->body);
	return only && only->kind == LOOP_FOR && only->loop == LOOP_VECTOR ? only : NULL;
}

static bool is_no_store(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind != LOOP_STORE && stmt->kind != LOOP_LOCAL && stmt->kind != LOOP_SET;
}

static bool is_store(const void *of, const Stmt *stmt)
{
	(void)of;
	return stmt->kind == LOOP_STORE;
}

const char *hoist_refused(const Program *program, const Stmt *loop)
{
	if (loop->kind != LOOP_FOR || (loop->loop != LOOP_SERIAL && loop->loop != LOOP_UNROLL))
		return "it is no loop of one thread";
	const Stmt *lanes = lanes_of(loop);
	int64_t trips = constant_trips(program, loop);
	if (trips == 0 || trips == 1 || (trips < 0 && lanes))
		return "it has one iteration, or vectors in an unknown number";
	if (lanes && (lanes->lanes > 0 || lanes->lo->kind != IX_SIZE ||
		      !size_is(program->sizes, lanes->lo->size, 0)))
		return "its lanes are not all from the first on";
	if (block_find(lanes ? lanes->body : loop->body, is_no_store, NULL))
		return "it holds more than values that are stored";
	return block_find(loop->body, is_store, NULL) ? NULL : "it stores nothing to memory";
}

/* ---- which parts ---- */

static bool stores(const void *of, const Stmt *stmt)
{
	return is_store(NULL, stmt) && stmt->buffer == *(const BufferId *)of;
}

/* May an iteration have another value than the one before, though what it is made from stays? */
static bool varies_alone(const Hoist *h, const Value *value)
{
	bool moves = value->ix && (value->ix->reads || ix_uses(value->ix, h->loop->iter));
	moves |= value->kind == VALUE_LOAD && block_find(h->loop->body, stores, &value->buffer);
	moves |= value->kind == VALUE_LOCAL && block_sets_local(h->loop->body, value->local);
	for (uint32_t i = 0; i < value->nixs; i++)
		moves |= value->ixs[i]->reads || ix_uses(value->ixs[i], h->loop->iter);
	return moves;
}

/* Is it read, or is there a vector instruction for it? */
static bool fits_lanes(const Value *value)
{
	return dtype_is_float(value->dtype) && dtype_wide(value->dtype) == value->dtype &&
	       value->kind != VALUE_INDEX &&
	       (value->kind == VALUE_OP ? op_is_simple(value->op) : value->nargs == 0);
}

/* Of a value and of all that it is made from, each looked at once: does some of it vary, does some not fit lanes? */
static uint64_t facts_of(Hoist *h, const Value *value)
{
	uint64_t facts = *pointer_map_at(&h->facts, value);
	if (facts)
		return facts;
	facts = SEEN | (varies_alone(h, value) ? VARIES : 0) | (fits_lanes(value) ? 0 : MISFITS);
	for (uint32_t i = 0; i < value->nargs; i++)
		facts |= facts_of(h, value->args[i]);
	*pointer_map_at(&h->facts, value) = facts;
	return facts;
}

static bool varies(Hoist *h, const Value *value) { return facts_of(h, value) & VARIES; }

/* Vectors that so many lanes take, narrow ones and single elements counted. */
static int64_t vectors_of(const Hoist *h, Dtype dtype, int64_t lanes)
{
	int64_t n = 0;
	int64_t whole = h->program->options.target->vector_bytes / (int64_t)dtype_bytes(dtype);
	int64_t least = 16 / (int64_t)dtype_bytes(dtype);
	for (int64_t width = whole; width >= least; width /= 2) {
		n += lanes / width;
		lanes %= width;
	}
	return n + lanes;
}

/* Do registers hold the parts so far, one more, and what each iteration in lanes has? */
static bool fits_registers(const Hoist *h, Dtype dtype)
{
	const Program *program = h->program;
	int64_t parts = (int64_t)h->found.n + 1, vectors = 1;
	if (h->lanes) {
		parts += constant_trips(program, h->loop);
		vectors = vectors_of(h, dtype, vector_lanes(program, h->lanes));
	}
	return parts * vectors + 2 <= program->options.target->registers;
}

/* A scalar in another type is an index in the text, if it is a dim too, and costs as little. */
static bool is_hoisted(Hoist *h, const Value *value)
{
	bool casts = value->kind == VALUE_CAST && value->args[0]->kind != VALUE_SCALAR;
	bool computes = value->kind == VALUE_OP || casts;
	if (!(computes || value->kind == VALUE_LOAD) || varies(h, value))
		return false;
	bool fits = h->lanes ? !(facts_of(h, value) & MISFITS)
			     : dtype_wide(value->dtype) == value->dtype;
	return fits && (computes || fits_registers(h, value->dtype));
}

/* ---- what becomes of them ---- */

/* The loop reads nothing that a statement in front stores if it is disjoint, so neither does what is hoisted. */
static void push_before(Hoist *h, Stmt *stmt)
{
	stmt->disjoint = h->loop->disjoint;
	PUSH(h->program->arena, h->before.stmts, stmt);
}

/* A local that is set to the value before the loop. */
static const Value *set_before(Hoist *h, const Value *value)
{
	Arena *arena = h->program->arena;
	KernelLocal local = {.name = "invariant", .dtype = value->dtype, .rank = h->lanes ? 1 : 0};
	if (h->lanes)
		local.extent[0] = (uint32_t)vector_lanes(h->program, h->lanes);
	LocalId id = kernel_add_local(h->program, h->kernel, local);
	const Ix **at = ARENA_ARRAY(arena, const Ix *, 1);
	at[0] = h->lanes ? ix_iter(arena, h->lanes->iter) : NULL;
	const Value *element = value_local(arena, h->kernel, id, at, local.rank);
	const Value *start = h->lanes ? value_number(arena, value->dtype, 0) : value;
	push_before(h, stmt_local(arena, id, start));
	if (h->lanes)
		push_before(h, stmt_with(arena, h->lanes,
					 block_one(arena,
						   stmt_set_at(arena, element, OP_NONE, value))));
	h->changed = true;
	return element;
}

static const Value *local_of(Hoist *h, const Value *value)
{
	for (size_t i = 0; i < h->found.n; i++)
		if (value_same(h->found.at[i].value, value))
			return h->found.at[i].twin;
	bool there = value->kind == VALUE_LOCAL;
	ValueTwin part = {value, there ? value : set_before(h, value)};
	PUSH(h->program->arena, h->found, part);
	return part.twin;
}

static const Value *without_parts(Hoist *h, const Value *value, bool in_sum);

static const Value *args_without(Hoist *h, const Value *value)
{
	bool sum = value->kind == VALUE_OP && (value->op == OP_ADD || value->op == OP_SUB);
	Value *copy = NULL;
	for (uint32_t i = 0; i < value->nargs; i++) {
		const Value *arg = without_parts(h, value->args[i], sum);
		if (arg != value->args[i] && !copy)
			copy = value_copy(h->program->arena, value);
		if (copy)
			copy->args[i] = arg;
	}
	return copy ? copy : value;
}

/* The value with parts of it as locals; `in_sum`: it is added to something. */
static const Value *without_parts(Hoist *h, const Value *value, bool in_sum)
{
	bool product = in_sum && value->kind == VALUE_OP && value->op == OP_MUL;
	uint64_t known = *pointer_map_at(&h->without[product], value);
	if (known)
		return (const Value *)(uintptr_t)known;
	bool there = value->kind == VALUE_LOCAL && value->nixs > 0 && !varies(h, value);
	const Value *without = there || (!product && is_hoisted(h, value)) ? local_of(h, value)
									   : args_without(h, value);
	*pointer_map_at(&h->without[product], value) = (uint64_t)(uintptr_t)without;
	return without;
}

static Block block_without(Hoist *h, Block block)
{
	Body body = {0};
	for (uint32_t i = 0; i < block.n; i++) {
		Stmt *stmt = stmt_with(h->program->arena, block.stmts[i], block.stmts[i]->body);
		stmt->value =
			without_parts(h, stmt->value, stmt->acc == OP_ADD || stmt->acc == OP_SUB);
		PUSH(h->program->arena, body.stmts, stmt);
	}
	return body_block(&body);
}

/* What is computed before the loop, and the loop. */
static Block hoist_stmt(Program *program, Kernel *kernel, const Stmt *loop)
{
	Arena *arena = program->arena;
	Hoist h = {.program = program,
		   .kernel = kernel,
		   .loop = loop,
		   .lanes = lanes_of(loop),
		   .facts.arena = arena,
		   .without = {{.arena = arena}, {.arena = arena}}};
	Block body = block_without(&h, h.lanes ? h.lanes->body : loop->body);
	if (!h.changed)
		return block_one(arena, loop);
	if (h.lanes)
		body = block_one(arena, stmt_with(arena, h.lanes, body));
	PUSH(arena, h.before.stmts, stmt_with(arena, loop, body));
	body = body_block(&h.before);
	bool any = constant_trips(program, loop) > 0;
	return any ? body
		   : block_one(arena,
			       stmt_if_one(arena, (Cond){COND_LT, loop->lo, loop->hi}, body));
}

static Block hoist_block(Program *program, Kernel *kernel, Block block)
{
	Body body = {0};
	bool changed = false;
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		Block one = {&stmt, 1}, inner = {0};
		if (!hoist_refused(program, stmt)) {
			one = hoist_stmt(program, kernel, stmt);
		} else {
			inner = hoist_block(program, kernel, stmt->body);
			if (inner.stmts != stmt->body.stmts)
				one = block_one(program->arena,
						stmt_with(program->arena, stmt, inner));
		}
		changed |= one.n != 1 || one.stmts[0] != stmt;
		body_append(program->arena, &body, one);
	}
	return changed ? body_block(&body) : block;
}

void transform_hoist(Transform *t)
{
	for (size_t i = 0; i < t->program->kernels.n; i++) {
		Kernel *kernel = &t->program->kernels.at[i];
		const Stmt *const *before = kernel->body.stmts;
		kernel->body = hoist_block(t->program, kernel, kernel->body);
		t->changed |= kernel->body.stmts != before;
	}
}
