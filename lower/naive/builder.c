/* A kernel's frame: unique names, loops around a body, stores that convert. */
#include "lower/naive/builder.h"

Builder build_new(Naive *naive, Sym name, Span span)
{
	Tables *t = &naive->tables;
	return (Builder){.naive = naive,
			 .t = t,
			 .program = t->program,
			 .arena = t->arena,
			 .frame = frame_new(t->program),
			 .name = name,
			 .span = span};
}

void build_end(Builder *b)
{
	Kernel kernel = {.name = b->name,
			 .span = b->span,
			 .site = tables_site(b->t, b->name),
			 .loop = b->naive->loop,
			 .body = body_block(&b->top)};
	frame_end(&b->frame, &kernel);
	PUSH(b->arena, b->program->kernels, kernel);
	PUSH(b->t->scratch, b->naive->kernels, (KernelId)b->program->kernels.n - 1);
}

const Ix *build_const(const Builder *b, int64_t value) { return ix_const(b->program, value); }

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

const Ix *build_flat(Builder *b, IterVar *e)
{
	*e = build_iter(b, "e");
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
