/* A kernel's frame: unique names, loops around a body, stores that convert. */
#include "lower/naive/builder.h"
#include "loops/rewrite.h"

Builder build_new(Naive *naive, Sym name, Span span)
{
	Tables *t = &naive->tables;
	return (Builder){.naive = naive,
			 .t = t,
			 .program = t->program,
			 .arena = t->arena,
			 .names = {.arena = t->arena},
			 .name = name,
			 .span = span};
}

void build_end(Builder *b)
{
	Kernel kernel = {.name = b->name,
			 .span = b->span,
			 .iters = b->iters.at,
			 .niters = (uint32_t)b->iters.n,
			 .locals = b->locals.at,
			 .nlocals = (uint32_t)b->locals.n,
			 .site = tables_site(b->t, b->name),
			 .loop = b->naive->loop,
			 .body = body_block(&b->top)};
	PUSH(b->arena, b->program->kernels, kernel);
	PUSH(b->t->scratch, b->naive->kernels, (KernelId)b->program->kernels.n - 1);
}

IterVar build_iter(Builder *b, Sym name)
{
	Sym unique = iter_unique(b->program, b->iters.at, b->iters.n, name,
				 pointer_map_at(&b->names, name));
	PUSH(b->arena, b->iters, ((KernelIter){unique}));
	return (IterVar)b->iters.n - 1;
}

LocalId build_local(Builder *b, const char *name, Dtype dtype)
{
	Sym unique = local_unique(b->program, b->locals.at, b->locals.n, name);
	PUSH(b->arena, b->locals, ((KernelLocal){.name = unique, .dtype = dtype}));
	return (LocalId)b->locals.n - 1;
}

const Value *build_read(const Builder *b, LocalId local)
{
	Kernel view = {.locals = b->locals.at, .nlocals = (uint32_t)b->locals.n};
	return value_local(b->arena, &view, local, NULL, 0);
}

const Ix *build_const(const Builder *b, int64_t value)
{
	return ix_const(b->arena, b->program->sizes, value);
}

void build_add(const Builder *b, Body *body, const Stmt *stmt)
{
	PUSH(b->arena, body->stmts, stmt);
}

void build_wrap(const Builder *b, Body *body, IterVar iter, Size extent)
{
	Block inner = body_block(body);
	*body = (Body){0};
	build_add(b, body,
		  stmt_for(b->arena, iter, build_const(b, 0), ix_size(b->arena, extent), inner));
}

const Stmt *build_store(const Builder *b, BufferId to, const Ix *at, Op acc, const Value *value)
{
	Dtype dtype = b->program->buffers.at[to].dtype, wide = dtype_wide(dtype);
	if (acc != OP_NONE && dtype != wide) {
		const Value *old = value_load(b->program, to, at);
		const Value *args[] = {value_cast(b->arena, wide, old),
				       value_cast(b->arena, wide, value)};
		value = value_op(b->arena, acc, wide, args, 2);
		acc = OP_NONE;
	}
	return stmt_store(b->arena, to, at, acc, value_cast(b->arena, dtype, value));
}

const Ix *build_flat(Builder *b, IterVar *e)
{
	*e = build_iter(b, sym_cstr(b->program->symbols, "e"));
	return ix_iter(b->arena, *e);
}

void build_wrap_flat(Builder *b, IterVar e, Size n, Body *body)
{
	build_wrap(b, body, e, n);
	build_add(b, &b->top, body->stmts.at[0]);
}

void build_fill(Builder *b, BufferId to, Scalar constant)
{
	IterVar e;
	Body body = {0};
	const Ix *at = build_flat(b, &e);
	const Buffer *buffer = &b->program->buffers.at[to];
	const Value *value = value_const(b->arena, buffer->dtype, constant);
	build_add(b, &body, build_store(b, to, at, OP_NONE, value));
	build_wrap_flat(b, e, buffer->elements, &body);
}
