/* Statements of a text of loops, and the kernels that they make; parse.h has the grammar. */
#include <string.h>

#include "loops/build_group.h"
#include "loops/dump.h"
#include "loops/parse_text.h"

enum { LOCAL_MOST = 1 << 20 }; /* elements */

/* A word of the same line. */
static bool take_here(LoopsParser *p, const char *word)
{
	return !lex_first(lex_now(p)) && lex_take(p, word);
}

static Stmt *stmt_empty(LoopsParser *p, LoopStmtKind kind)
{
	Stmt *stmt = ARENA_NEW(p->arena, Stmt);
	stmt->kind = kind;
	stmt->acc = OP_NONE;
	stmt->span = p->line;
	return stmt;
}

/* ---- loops and conditions ---- */

static IterVar new_iter(LoopsParser *p, Sym name)
{
	IterVar iter = (IterVar)p->iters.n;
	PUSH(p->arena, p->iters, ((KernelIter){name}));
	PUSH(p->arena, p->scope, ((ScopeName){name, false, iter}));
	return iter;
}

static int64_t count_of(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	int64_t n = lex_number(p);
	if (!p->failed && n <= 0)
		lex_fail_at(p, lex_span(p, lex), "a number above 0 is expected here");
	return n;
}

static void parse_boxes(LoopsParser *p, Stmt *stmt);
/* Statements further right than `indent`, to the first that is not. */
static Block parse_block(LoopsParser *p, int32_t indent);

static void parse_manner(LoopsParser *p, Stmt *stmt, Sym *slot)
{
	stmt->step = take_here(p, "step") ? count_of(p) : 1;
	bool slots = (stmt->loop == LOOP_PARALLEL || stmt->loop == LOOP_GRID) &&
		     !lex_first(lex_now(p)) && lex_is(p, lex_next(p), "of");
	if (slots) {
		*slot = lex_name(p, "a slot");
		lex_want(p, "of");
		stmt->nslots = count_of(p);
	}
	if (stmt->loop == LOOP_GRID && take_here(p, "raster"))
		stmt->raster = count_of(p);
	stmt->outlined = take_here(p, "outlined");
	int64_t together = take_here(p, "of") ? count_of(p) : 0;
	if (stmt->loop == LOOP_GRID)
		stmt->threads = together ? together : 1;
	else
		stmt->lanes = together;
	if (stmt->loop == LOOP_BLOCK && take_here(p, "behind"))
		stmt->threads = count_of(p);
	stmt->independent = take_here(p, "independent");
	if (stmt->loop == LOOP_UNROLL && take_here(p, "through"))
		parse_boxes(p, stmt);
}

static Stmt *parse_for(LoopsParser *p, LoopKind kind, int32_t indent)
{
	Stmt *stmt = stmt_empty(p, LOOP_FOR);
	Sym slot = NULL;
	size_t seen = p->scope.n;
	p->at++;
	Sym name = lex_name(p, "an iterator");
	lex_want(p, "in");
	stmt->loop = kind;
	stmt->lo = parse_ix(p);
	lex_want(p, "..");
	stmt->hi = parse_ix(p);
	parse_manner(p, stmt, &slot);
	stmt->disjoint = take_here(p, "disjoint");
	stmt->iter = new_iter(p, name);
	if (slot)
		stmt->slot = new_iter(p, slot);
	stmt->body = parse_block(p, indent);
	p->scope.n = seen;
	return stmt;
}

static Cond parse_cond(LoopsParser *p)
{
	Cond cond = {.a = parse_ix(p)};
	if (lex_take(p, "<"))
		cond.kind = COND_LT;
	else if (lex_take(p, "=="))
		cond.kind = COND_EQ;
	else {
		lex_want(p, "<=");
		cond.kind = COND_LE;
	}
	cond.b = parse_ix(p);
	return cond;
}

static void parse_conds(LoopsParser *p, Stmt *stmt)
{
	VEC(Cond) conds = {0};
	do
		PUSH(p->arena, conds, parse_cond(p));
	while (!p->failed && lex_take(p, "&&"));
	stmt->conds = conds.at;
	stmt->nconds = (uint32_t)conds.n;
}

static Stmt *parse_if(LoopsParser *p, int32_t indent)
{
	Stmt *stmt = stmt_empty(p, LOOP_IF);
	p->at++;
	parse_conds(p, stmt);
	stmt->disjoint = take_here(p, "disjoint");
	stmt->body = parse_block(p, indent);
	return stmt;
}

/* ---- the others ---- */

/* "[6, 16]", "[256 | 8, 8]", or nothing */
static void parse_extents(LoopsParser *p, KernelLocal *local)
{
	int64_t elements = 1;
	bool more;
	if (!lex_take(p, "["))
		return;
	do {
		int64_t extent = count_of(p);
		if (!p->failed && (local->rank == LOCAL_AXES || extent > LOCAL_MOST / elements))
			lex_fail(p, "a local has %d axes and %d elements at most", LOCAL_AXES,
				 LOCAL_MOST);
		if (p->failed)
			return;
		elements *= extent;
		local->extent[local->rank++] = (uint32_t)extent;
		if (local->nthreads == 0 && lex_take(p, "|")) {
			local->nthreads = local->rank;
			more = !lex_is(p, lex_now(p), "]");
		} else {
			more = lex_take(p, ",");
		}
	} while (more);
	lex_want(p, "]");
}

/* "matrix_a of m16n8k16_bf16", or nothing */
static void parse_role(LoopsParser *p, KernelLocal *local)
{
	for (MatrixRole role = ROLE_A; role < ROLE_COUNT && local->role == ROLE_NONE; role++)
		local->role = take_here(p, matrix_role_name(role)) ? role : ROLE_NONE;
	if (local->role == ROLE_NONE)
		return;
	lex_want(p, "of");
	for (MatrixOp op = 0; op < MATRIX_COUNT; op++)
		if (!p->failed && lex_take(p, matrix_row(op)->text)) {
			local->matrix = op;
			return;
		}
	lex_fail(p, "a matrix instruction is expected here");
}

static Stmt *parse_local(LoopsParser *p)
{
	Stmt *stmt = stmt_empty(p, LOOP_LOCAL);
	p->at++;
	KernelLocal local = {.name = lex_name(p, "a local")};
	lex_want(p, ":");
	local.dtype = lex_value_dtype(p);
	parse_extents(p, &local);
	parse_role(p, &local);
	lex_want(p, "=");
	stmt->value = parse_value(p, local.dtype);
	stmt->local = (LocalId)p->locals.n;
	PUSH(p->arena, p->locals, local);
	p->kernel.locals = p->locals.at;
	p->kernel.nlocals = (uint32_t)p->locals.n;
	PUSH(p->arena, p->scope, ((ScopeName){local.name, true, stmt->local}));
	return stmt;
}

static Stmt *parse_check(LoopsParser *p)
{
	Stmt *stmt = stmt_empty(p, LOOP_CHECK);
	p->at++;
	stmt->lo = parse_ix(p);
	lex_want(p, "<=");
	stmt->ix = parse_ix(p);
	lex_want(p, "<");
	stmt->hi = parse_ix(p);
	lex_want(p, ",");
	lex_want(p, "check");
	int64_t check = lex_number(p);
	stmt->check = check < 0 || check >= UINT32_MAX ? CHECK_NONE : (CheckId)check;
	return stmt;
}

static Stmt *parse_barrier(LoopsParser *p)
{
	p->at++;
	Stmt *stmt = stmt_empty(p, LOOP_BARRIER);
	stmt->cluster = take_here(p, "cluster");
	return stmt;
}

static Stmt *parse_commit(LoopsParser *p)
{
	p->at++;
	return stmt_empty(p, LOOP_COMMIT);
}

static Stmt *parse_wait(LoopsParser *p)
{
	Stmt *stmt = stmt_empty(p, LOOP_WAIT);
	p->at++;
	stmt->products = take_here(p, "products");
	stmt->pending = lex_number(p);
	return stmt;
}

static BufferId buffer_wanted(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a buffer");
	BufferId buffer = p->failed ? BUFFER_NONE : buffer_find(p, name);
	if (buffer == BUFFER_NONE)
		lex_fail_at(p, lex_span(p, lex),
			    arena_printf(p->arena, "no buffer is named '%s' here", name));
	return buffer == BUFFER_NONE ? 0 : buffer;
}

static Visit parse_visit(LoopsParser *p)
{
	Visit visit = {.mbarrier = buffer_wanted(p)};
	lex_want(p, ",");
	visit.number = parse_ix(p);
	return visit;
}

/* "round*64 of 64 in k by 1", or "round%3 from -1 step 2 of 28 in 56 by 64" */
static TensorAxis parse_axis(LoopsParser *p)
{
	TensorAxis axis = {.at = parse_ix(p), .box = 1};
	if (lex_take(p, "from")) {
		axis.low = lex_number(p);
		lex_want(p, "step");
		axis.step = count_of(p);
		lex_want(p, "of");
		axis.windows = parse_size(p);
	} else {
		lex_want(p, "of");
		axis.box = count_of(p);
	}
	lex_want(p, "in");
	axis.extent = parse_size(p);
	lex_want(p, "by");
	axis.stride = parse_size(p);
	return axis;
}

static TensorAxis *parse_axes(LoopsParser *p, uint32_t *n)
{
	VEC(TensorAxis) axes = {0};
	lex_want(p, "[");
	do
		PUSH(p->arena, axes, parse_axis(p));
	while (!p->failed && axes.n < TENSOR_AXES_MOST && lex_take(p, ","));
	lex_want(p, "]");
	*n = (uint32_t)axes.n;
	return axes.at;
}

static void parse_boxes(LoopsParser *p, Stmt *stmt)
{
	stmt->buffer = buffer_wanted(p);
	stmt->ix = parse_ixs(p, 1)[0];
	lex_want(p, "to");
	stmt->tensor = buffer_wanted(p);
	stmt->axes = parse_axes(p, &stmt->naxes);
}

static Stmt *parse_copy(LoopsParser *p)
{
	p->at++;
	Box box = {.to = buffer_wanted(p)};
	box.ix = parse_ixs(p, 1)[0];
	lex_want(p, "=");
	box.from = buffer_wanted(p);
	TensorAxis *axes = parse_axes(p, &box.naxes);
	if (lex_take(p, "windows")) {
		box.window = parse_ix(p);
		lex_want(p, "of");
		axes[box.naxes > 1].box = count_of(p);
	}
	box.axes = axes;
	lex_want(p, "at");
	Visit visit = parse_visit(p);
	Stmt *stmt = p->failed ? stmt_empty(p, LOOP_COPY) : stmt_copy(p->program, &box, visit);
	stmt->span = p->line;
	return stmt;
}

static Stmt *parse_arrive(LoopsParser *p)
{
	p->at++;
	Visit visit = parse_visit(p);
	int64_t bytes = take_here(p, "bytes") ? count_of(p) : 0;
	Stmt *stmt = stmt_arrive(p->arena, visit, bytes);
	stmt->span = p->line;
	return stmt;
}

static Stmt *parse_await(LoopsParser *p)
{
	p->at++;
	Stmt *stmt = stmt_await(p->arena, parse_visit(p));
	stmt->span = p->line;
	return stmt;
}

static Stmt *parse_prefetch(LoopsParser *p)
{
	Stmt *stmt = stmt_empty(p, LOOP_PREFETCH);
	p->at++;
	stmt->near = !lex_is(p, lex_next(p), "[") && lex_take(p, "near");
	stmt->buffer = buffer_wanted(p);
	stmt->ix = parse_ixs(p, 1)[0];
	return stmt;
}

/* "=", "+=", "max=" */
static Op parse_acc(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	Op acc = OP_NONE;
	if (lex_is(p, lex, "=")) {
		p->at++;
		return OP_NONE;
	}
	for (int op = 0; op < OP_COUNT && lex->kind == LEX_NAME; op++)
		if (op_arity((Op)op) == 2 && lex_is(p, lex, op_name((Op)op)))
			acc = (Op)op;
	p->at += acc != OP_NONE;
	acc = acc == OP_NONE ? parse_infix(p) : acc;
	lex_want(p, "=");
	return acc;
}

/* A local, or an element of a buffer. */
static Stmt *parse_set(LoopsParser *p)
{
	const Lex *next = lex_next(p);
	const Lex *lex = lex_now(p);
	Sym name = lex_name(p, "a statement");
	const ScopeName *scope = p->failed ? NULL : parse_scope(p, name);
	bool axes = lex_is(p, next, "[");
	if (scope && scope->local && axes == (p->kernel.locals[scope->id].rank > 0)) {
		Stmt *stmt = stmt_empty(p, LOOP_SET);
		stmt->local = scope->id;
		stmt->nixs = p->kernel.locals[scope->id].rank;
		stmt->ixs = parse_ixs(p, stmt->nixs);
		stmt->acc = parse_acc(p);
		stmt->value = parse_value(p, p->kernel.locals[stmt->local].dtype);
		return stmt;
	}
	Stmt *stmt = stmt_empty(p, LOOP_STORE);
	if (!p->failed && !axes)
		lex_fail_at(p, lex_span(p, lex),
			    arena_printf(p->arena, "no local is named '%s' here", name));
	p->at -= !p->failed;
	stmt->buffer = buffer_wanted(p);
	stmt->ix = parse_ixs(p, 1)[0];
	stmt->acc = parse_acc(p);
	stmt->value = parse_value(
		p, p->failed ? DTYPE_F32 : buffer_stored(&p->program->buffers.at[stmt->buffer]));
	return stmt;
}

static Stmt *parse_async(LoopsParser *p)
{
	p->at++;
	Stmt *stmt = parse_set(p);
	stmt->async = true;
	if (!p->failed && !lex_first(lex_now(p)) && lex_take(p, "if"))
		parse_conds(p, stmt);
	return stmt;
}

static Stmt *parse_stream(LoopsParser *p)
{
	p->at++;
	Stmt *stmt = parse_set(p);
	stmt->stream = true;
	return stmt;
}

/* Is the name at hand a word of the grammar, and not of what is stored to? */
static bool is_word(const LoopsParser *p)
{
	const Lex *next = lex_next(p);
	const Lex *third = next + (next->kind != LEX_END);
	return !lex_is(p, next, "[") && !lex_is(p, next, "=") && !lex_is(p, third, "=");
}

static Stmt *stmt_of(LoopsParser *p, int32_t indent)
{
	static const char *const loops[] = {"for",     "unroll", "vector", "parallel", "grid",
					    "cluster", "block",	 "warp",   "matrix",   "group"};
	const Lex *lex = lex_now(p), *next = lex_next(p);
	if (lex_is(p, lex, "barrier") &&
	    (lex_first(next) || next->kind == LEX_END || lex_is(p, next, "cluster")))
		return parse_barrier(p);
	if (lex_is(p, lex, "commit") && (lex_first(next) || next->kind == LEX_END))
		return parse_commit(p);
	if (!is_word(p))
		return parse_set(p);
	for (int kind = LOOP_SERIAL; kind <= LOOP_GROUP; kind++)
		if (lex_is(p, lex, loops[kind]))
			return parse_for(p, (LoopKind)kind, indent);
	return lex_is(p, lex, "if")	    ? parse_if(p, indent)
	       : lex_is(p, lex, "local")    ? parse_local(p)
	       : lex_is(p, lex, "check")    ? parse_check(p)
	       : lex_is(p, lex, "prefetch") ? parse_prefetch(p)
	       : lex_is(p, lex, "wait")	    ? parse_wait(p)
	       : lex_is(p, lex, "async")    ? parse_async(p)
	       : lex_is(p, lex, "stream")   ? parse_stream(p)
	       : lex_is(p, lex, "copy")	    ? parse_copy(p)
	       : lex_is(p, lex, "arrive")   ? parse_arrive(p)
	       : lex_is(p, lex, "await")    ? parse_await(p)
					    : parse_set(p);
}

static Block parse_block(LoopsParser *p, int32_t indent)
{
	Body body = {0};
	size_t seen = p->scope.n;
	int32_t own = lex_now(p)->indent;
	while (lex_inside(p, indent) && lex_deeper(p)) {
		if (lex_now(p)->indent != own)
			lex_fail(
				p,
				"a line that begins neither where the one before does nor in a loop");
		p->line = lex_line(p);
		Stmt *stmt = stmt_of(p, own);
		stmt->disjoint = stmt->disjoint || take_here(p, "disjoint");
		if (!p->failed && !lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END)
			lex_fail(p, "the end of the line is expected here");
		PUSH(p->arena, body.stmts, stmt);
		p->depth--;
	}
	p->scope.n = seen;
	return body_block(&body);
}

/* ---- kernels ---- */

static void parse_use(LoopsParser *p)
{
	const Lex *lex = lex_now(p);
	BufferId id = buffer_wanted(p);
	Dtype dtype = lex_dtype(p);
	Sym kind = lex_name(p, "a kind of buffer");
	if (p->failed)
		return;
	const Buffer *buffer = &p->program->buffers.at[id];
	if (buffer->dtype != dtype || strcmp(kind, buffer_kind_names[buffer->kind]) != 0)
		lex_fail_at(p, lex_span(p, lex),
			    arena_printf(p->arena, "the buffer '%s' is %s %s", buffer->name,
					 dtype_name(buffer->dtype),
					 buffer_kind_names[buffer->kind]));
}

static void parse_uses(LoopsParser *p)
{
	lex_want(p, "(");
	for (int stored = 0; stored < 2; stored++) {
		if (stored && !lex_take(p, "->"))
			break;
		while (!p->failed && !lex_is(p, lex_now(p), "->") && !lex_is(p, lex_now(p), ")")) {
			parse_use(p);
			if (!lex_take(p, ","))
				break;
		}
	}
	lex_want(p, ")");
}

Kernel parse_kernel(LoopsParser *p, uint32_t routine)
{
	p->iters.at = NULL;
	p->locals.at = NULL;
	p->iters.n = p->iters.cap = p->locals.n = p->locals.cap = p->scope.n = 0;
	p->kernel = (Kernel){.span = lex_span(p, lex_now(p))};
	p->routine = routine;
	p->kernel.name = lex_name(p, "a kernel");
	parse_uses(p);
	p->kernel.alone = take_here(p, "alone");
	if (!p->failed && !lex_first(lex_now(p)) && lex_now(p)->kind != LEX_END)
		lex_fail(p, "the end of the line is expected here");
	p->kernel.body = parse_block(p, 0);
	p->kernel.iters = p->iters.at;
	p->kernel.niters = (uint32_t)p->iters.n;
	return p->kernel;
}
