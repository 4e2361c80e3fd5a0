/* The kernel that sets the margins of a buffer that has some (halo.c). */
#include "lower/kernel.h"

typedef struct Filler {
	Gen *gen;
	NodeId node;
	const Margins *margins;
	const Value *zero;
} Filler;

/* The elements of n steps along the axis from `first` on, which lie beside each other. */
static Block fill_steps(const Filler *f, uint32_t axis, const Ix *first, Size n)
{
	Gen *gen = f->gen;
	Size stride = margins_stride(gen->lower, f->node, f->margins, axis);
	IterVar at = gen_iter(gen, "at");
	const Ix *to = ix_add(gen->program, first, ix_iter(gen->arena, at));
	BufferId buffer = gen->lower->plan[f->node].buffer;
	Block body = block_of(gen, stmt_store(gen->arena, buffer, to, OP_NONE, f->zero));
	return gen_over(gen, at, size_mul(gen->program->sizes, n, stride), body);
}

/* What is outside along this axis or one behind it, in the part of the buffer from `first` on. */
static Block fill_around(const Filler *f, uint32_t axis, const Ix *first)
{
	Gen *gen = f->gen;
	Program *program = gen->program;
	Body body = {0};
	if (axis == shape_naxes(lower_shape(gen->lower, f->node)))
		return (Block){0};
	const Margin *margin = &f->margins->axes[axis];
	Size size = shape_axis(lower_shape(gen->lower, f->node), axis)->size;
	const Ix *stride =
		ix_size(gen->arena, margins_stride(gen->lower, f->node, f->margins, axis));
	const Ix *inside = ix_add(program, first,
				  ix_mul(program, ix_size(gen->arena, margin->before), stride));
	if (!size_is(program->sizes, margin->before, 0))
		gen_append(gen, &body, fill_steps(f, axis, first, margin->before));
	IterVar at = gen_iter(gen, "i");
	const Ix *step = ix_mul(program, ix_iter(gen->arena, at), stride);
	Block inner = fill_around(f, axis + 1, ix_add(program, inside, step));
	if (inner.n > 0)
		gen_append(gen, &body, gen_over(gen, at, size, inner));
	const Ix *behind =
		ix_add(program, inside, ix_mul(program, ix_size(gen->arena, size), stride));
	if (!size_is(program->sizes, margin->after, 0))
		gen_append(gen, &body, fill_steps(f, axis, behind, margin->after));
	return body_block(&body);
}

Kernel halo_frame(Lower *lower, NodeId id)
{
	const Buffer *buffer = &lower->program->buffers.at[lower->plan[id].buffer];
	Sym name =
		lower_unique(lower, sym_printf(lower->program->symbols, "frame_%s", buffer->name));
	Gen gen = gen_new(lower, name, lower_node(lower, id)->span);
	Filler f = {.gen = &gen, .node = id, .margins = lower->plan[id].halo};
	f.zero = value_number(gen.arena, buffer->dtype, 0);
	gen_append(&gen, &gen.top, fill_around(&f, 0, zero_ix(&gen)));
	Kernel kernel = kernel_finish(&gen);
	kernel.alone = true;
	return kernel;
}
