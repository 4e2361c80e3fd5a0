/* Parts of a scatter's steps, each with a target of its own.
 *
 *   length = ceil(steps / parts) + what is worth a target
 *   for part in 0..parts where part*length < steps
 *     for i in 0..elements: private[part, i] = neutral
 *     for t in 0..min(length, steps - part*length)
 *       local at = ids[part*length + t]
 *       for R': private[part, at, R'] ACC= x[part*length + t, R']
 *   for part in 0..parts where part*length < steps: for i in 0..elements: result[i] ACC= private[part, i]
 */
#include "lower/scatter.h"

typedef struct Private {
	Scatter *s;
	BufferId buffer;
	int64_t parts;
	Size elements, length;
} Private;

static Size length_of(const Scatter *s, Size elements, int64_t parts)
{
	Sizes *sizes = s->gen->program->sizes;
	Size spare = size_scale(sizes, elements, 2);
	return size_add(sizes, size_ceil(sizes, s->steps, parts), spare);
}

/* The body where the part has steps. */
static Block where_begun(const Private *p, const Ix *first, Block body)
{
	Scatter *s = p->s;
	Cond begun = {COND_LT, first, ix_size(s->gen->arena, s->steps)};
	return block_of(s->gen, stmt_if_one(s->gen->arena, begun, body));
}

static const Ix *first_step(const Private *p, const Ix *part)
{
	return ix_mul(p->s->gen->program, part, ix_size(p->s->gen->arena, p->length));
}

static void clear(const Private *p, const Ix *offset, Body *body)
{
	Scatter *s = p->s;
	Program *program = s->gen->program;
	Dtype dtype = program->buffers.at[p->buffer].dtype;
	Body one = {0};
	IterVar i = gen_iter(s->gen, "i");
	const Value *neutral = value_const(program->arena, dtype, op_neutral(s->to.acc, dtype));
	PUSH(program->arena, one.stmts,
	     stmt_store(program->arena, p->buffer,
			ix_add(program, offset, ix_iter(s->gen->arena, i)), OP_NONE, neutral));
	PUSH(program->arena, body->stmts,
	     scatter_loop(s, i, ix_size(program->arena, p->elements), &one, false));
}

static void take_steps(const Private *p, const Ix *first, const Ix *offset, Body *body)
{
	Scatter *s = p->s;
	Program *program = s->gen->program;
	ScatterStep step = {0};
	Body one = {0};
	IterVar t = gen_iter(s->gen, "t");
	const Ix *left = ix_minus(program, ix_size(program->arena, s->steps), first);
	const Ix *end = ix_binary(program, IX_MIN, ix_size(program->arena, p->length), left);
	scatter_set_steps(s, ix_add(program, first, ix_iter(s->gen->arena, t)));
	scatter_step(s, &step);
	Block row = scatter_row(s, &step, (StoreTarget){p->buffer, s->to.acc}, offset);
	scatter_end_step(s, &step, row, &one);
	PUSH(program->arena, body->stmts, scatter_loop(s, t, end, &one, false));
}

static void take_parts(const Private *p)
{
	Scatter *s = p->s;
	Program *program = s->gen->program;
	Body body = {0}, all = {0};
	IterVar var = gen_iter(s->gen, "part");
	const Ix *part = ix_iter(s->gen->arena, var), *first = first_step(p, part);
	const Ix *offset = ix_mul(program, part, ix_size(program->arena, p->elements));
	clear(p, offset, &body);
	take_steps(p, first, offset, &body);
	gen_append(s->gen, &all, where_begun(p, first, body_block(&body)));
	PUSH(program->arena, s->gen->top.stmts,
	     scatter_loop(s, var, gen_const(s->gen, p->parts), &all, true));
}

static void add_up(const Private *p)
{
	Scatter *s = p->s;
	Program *program = s->gen->program;
	Body element = {0}, all = {0};
	IterVar var = gen_iter(s->gen, "part"), i = gen_iter(s->gen, "i");
	const Ix *part = ix_iter(s->gen->arena, var), *at = ix_iter(s->gen->arena, i);
	const Ix *from =
		ix_add(program, ix_mul(program, part, ix_size(program->arena, p->elements)), at);
	PUSH(program->arena, element.stmts,
	     gen_store(s->gen, s->to, at, value_load(program, p->buffer, from)));
	Block one = block_of(
		s->gen, scatter_loop(s, i, ix_size(program->arena, p->elements), &element, false));
	gen_append(s->gen, &all, where_begun(p, first_step(p, part), one));
	PUSH(program->arena, s->gen->top.stmts,
	     scatter_loop(s, var, gen_const(s->gen, p->parts), &all, false));
}

void scatter_private(Scatter *s, const ScatterPlan *plan)
{
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	Private p = {
		.s = s, .parts = plan->parts, .buffer = plan->targets, .elements = to->elements};
	p.length = length_of(s, p.elements, plan->parts);
	take_parts(&p);
	add_up(&p);
}
