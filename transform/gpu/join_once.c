/* An element that its thread stores several times, or reads behind a store, stays in the thread up to the last one: what an
 * optimizer does to a parameter in several steps.
 *
 *   w[i] = w[i] * 0.9               local carried = w[i] * 0.9
 *   y[i] = w[i] + 1           ->    y[i] = carried + 1
 *   w[i] = w[i] - d[i]              w[i] = carried - d[i]
 */
#include "loops/rewrite.h"
#include "loops/walk.h"
#include "transform/gpu/join.h"

/* The value that the statement stores to the buffer; NULL: it does not. */
static const Value *stored_value(const Stmt *stmt, BufferId buffer)
{
	return stmt->kind == LOOP_STORE && stmt->buffer == buffer ? stmt->value : NULL;
}

/* Are its accesses plain stores, and loads, of the body's own statements, of a type that is computed with? */
static bool is_plain(const Joins *j, const Block *body, BufferId buffer)
{
	Dtype dtype = j->program->buffers.at[buffer].dtype;
	bool plain = dtype_wide(dtype) == dtype;
	for (uint32_t i = 0; i < body->n && plain; i++) {
		Kernel inside = {.body = body->stmts[i]->body};
		BufferUses uses = kernel_buffers(j->scratch, &inside);
		plain = !buffer_use(&uses, buffer) &&
			(!stored_value(body->stmts[i], buffer) || body->stmts[i]->acc == OP_NONE);
	}
	return plain;
}

static bool is_loaded(const Joins *j, const Stmt *stmt, BufferId buffer)
{
	Kernel alone = {.body = {&stmt, 1}};
	BufferUses uses = kernel_buffers(j->scratch, &alone);
	const BufferUse *use = buffer_use(&uses, buffer);
	return use && use->loaded;
}

/* Is what statement `at` stores read before another one stores to the element? *again: does one? */
static bool is_read_behind(const Joins *j, const Block *body, uint32_t at, const Value *element,
			   bool *again)
{
	bool read = false;
	*again = false;
	for (uint32_t i = at + 1; i < body->n && !*again; i++) {
		read |= is_loaded(j, body->stmts[i], element->buffer);
		*again = stored_value(body->stmts[i], element->buffer) != NULL;
	}
	return read;
}

static bool is_stored_once(const Joins *j, const Block *body, const Value *element)
{
	bool once = true, again;
	for (uint32_t i = 0; i < body->n && once; i++)
		once = !stored_value(body->stmts[i], element->buffer) ||
		       (!is_read_behind(j, body, i, element, &again) && !again);
	return once;
}

/* What is stored and read behind that is a local; the last store is left. */
static Block stored_once(const Joins *j, Kernel *kernel, const Block *body, const Value *element)
{
	Arena *arena = j->program->arena;
	KernelLocal carried = {.name = sym_cstr(j->program->symbols, "carried"),
			       .dtype = element->dtype};
	ValueTwin twin = {element, element};
	Rewrite rewrite = {.program = j->program,
			   .iters = kernel_iters(arena, kernel, 0),
			   .values = &twin,
			   .nvalues = 1,
			   .span = kernel->span};
	Body made = {0};
	for (uint32_t i = 0; i < body->n; i++) {
		const Stmt *stmt = rewrite_block(&rewrite, (Block){&body->stmts[i], 1}).stmts[0];
		bool stores = stored_value(stmt, element->buffer), again = false;
		if (stores && is_read_behind(j, body, i, element, &again)) {
			LocalId local = bind_local(j->program, kernel, carried);
			PUSH(arena, made.stmts, stmt_local(arena, local, stmt->value));
			twin.twin = value_local(arena, kernel, local, NULL, 0);
			stmt = stmt_store(arena, element->buffer, element->ix, OP_NONE, twin.twin);
		}
		if (!again)
			PUSH(arena, made.stmts, stmt);
	}
	return body_block(&made);
}

void join_store_once(const Joins *j, Kernel *kernel)
{
	const BufferUses *uses = &kernel_uses(j->uses, kernel)->uses;
	for (size_t i = 0; i < uses->n; i++) {
		BufferId buffer = uses->at[i].buffer;
		Block body = grid_body(kernel);
		const Ix *at = uses->at[i].stored && is_plain(j, &body, buffer)
				       ? join_own_element(kernel, &body, buffer)
				       : NULL;
		const Value *element = at ? value_load(j->program, buffer, at) : NULL;
		if (element && !is_stored_once(j, &body, element))
			kernel->body = grid_around(j->program->arena, &kernel->body,
						   stored_once(j, kernel, &body, element), 0);
	}
}
