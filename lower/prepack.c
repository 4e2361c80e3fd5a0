/* Parameters that are copied into panels once, when the state is packed, instead of at every call,
 * and constants that are so while compiling (prepack_const.c).
 *
 *   state := parameters | stamp | packed_w | packed_v | ...      all multiples of 64 bytes
 *
 * A contraction may read such a copy where no routine assigns to the parameter and every size of
 * the copy is known. The panels (tile_pack.c) depend on the columns, the sum and the machine alone,
 * never on how many rows there are: one copy serves all kernels that read the parameter alike,
 * whichever routine they are in. A copy keeps the parameter's type of storage; bytes may be moved
 * by 128 (tile_groups.c). Its kernels are those of Program.pack.
 */
#include <string.h>

#include "base/diag.h"
#include "lower/tile.h"

enum { MOST_ELEMENTS = 1 << 30 };

/* ---- whether ---- */

/* Does the loop move the operand by a number of elements that is known? (*moves: by more than 0) */
static bool is_known(const Planner *p, const Loop *loop, const Ix *at, bool *moves)
{
	Size by = ix_stride(p->program, at, loop->var);
	int64_t n;
	if (size_is_bad(by) || !tile_is_const(p, by, &n))
		return false;
	*moves = n != 0;
	return true;
}

/* Is every part of the index moved by a loop of the nest? */
static bool is_of_loops(const Planner *p, const Ix *at)
{
	const Nest *nest = p->tile->nest;
	Linear linear = ix_linear(p->program, at);
	for (size_t t = 0; t < linear.terms.n; t++) {
		bool found = false;
		for (uint32_t i = 0; i < nest->nloops && !found; i++)
			found = linear.terms.at[t].atom->kind == IX_ITER &&
				linear.terms.at[t].atom->iter == nest->loops[i].var;
		if (!found)
			return false;
	}
	return true;
}

/* Elements of the copy; 0: they are not known, or very many. */
static int64_t elements_of(const Planner *p, const Ix *at)
{
	const Nest *nest = p->tile->nest;
	int64_t elements = 1, extent;
	for (uint32_t i = 0; i < nest->nloops && elements > 0; i++) {
		const Loop *loop = &nest->loops[i];
		bool moves;
		if (!is_known(p, loop, at, &moves))
			return 0;
		if (!moves && !loop->reduced)
			continue;
		if (!tile_is_const(p, loop->extent, &extent) || extent > MOST_ELEMENTS / elements)
			return 0;
		elements *= extent;
	}
	return elements;
}

/* A constant, a function of parameters (prepack_value.c), or a parameter that no routine assigns
 * to? */
static bool stays(const Program *program, const Buffer *buffer)
{
	return buffer->kind == BUFFER_CONST || buffer->kind == BUFFER_PACKED ||
	       (buffer->kind == BUFFER_PARAM && !program->params.at[buffer->arg].changes);
}

static int64_t least_elements(const Planner *p)
{
	return tile_known_steps(p, p->target->prepack_steps) < p->target->prepack_steps
		       ? p->target->prepack_few
		       : p->target->prepack_elements;
}

/* Can there be a copy? Each of its elements is another one of the parameter. */
static bool may_stay(const Planner *p, const Ix *at, const Buffer *buffer)
{
	int64_t elements, all;
	if (!p->program->options.prepack || p->tile->nest->nloops > PACKED_LOOPS ||
	    !is_of_loops(p, at) || !stays(p->program, buffer))
		return false;
	elements = elements_of(p, at);
	return elements > 0 && tile_is_const(p, buffer->elements, &all) && elements <= all &&
	       (elements >= least_elements(p) || asks_on(p->prepacks));
}

bool prepack_suits(const Lower *lower, BufferId id)
{
	const Buffer *buffer = &lower->program->buffers.at[id];
	return stays(lower->program, buffer) && prepack_suits_size(lower, buffer->elements);
}

bool prepack_suits_size(const Lower *lower, Size size)
{
	int64_t elements;
	return lower->options->prepack && size_is_const(lower->sizes, size, &elements) &&
	       elements >= lower->target->prepack_elements && elements <= MOST_ELEMENTS;
}

bool tile_may_prepack(const Planner *p, int load)
{
	const Lower *lower = p->tile->nest->gen->lower;
	const Buffer *buffer = &p->program->buffers.at[p->sum.from.at[load]];
	Sym name = lower_identifier(lower, buffer->name);
	if (lower->packing || asks_off(p->prepacks) || asks_on(p->packs) ||
	    !asks_name(p->prepacks, 0, name))
		return false;
	return may_stay(p, p->sum.at.at[load], buffer);
}

/* ---- which copy ---- */

static PackedParam describe(const Tile *tile, const Value *load, Dtype dtype)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	PackedParam packed = {.param = load->buffer, .dtype = dtype, .group = tile->group};
	packed.first = ix_linear(program, load->ix).offset;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Loop *loop = &nest->loops[i];
		bool column = loop == tile->col;
		if (!column && !loop->reduced && !(tile->movers >> loop->iter & 1))
			continue;
		packed.loops[packed.nloops++] =
			(PackedLoop){column	     ? PACKED_COLUMN
				     : loop->reduced ? PACKED_STEP
						     : PACKED_OUTER,
				     loop->extent, ix_stride(program, load->ix, loop->var)};
	}
	packed.nwidths = tile->cols.n;
	for (uint32_t i = 0; i < tile->cols.n; i++)
		packed.widths[i] = tile->cols.at[i].step;
	return packed;
}

static bool is_same(const PackedParam *a, const PackedParam *b)
{
	bool same = a->param == b->param && a->dtype == b->dtype && a->group == b->group &&
		    size_same(a->first, b->first) && a->nloops == b->nloops &&
		    a->nwidths == b->nwidths;
	for (uint32_t i = 0; same && i < a->nloops; i++)
		same = a->loops[i].role == b->loops[i].role &&
		       size_same(a->loops[i].extent, b->loops[i].extent) &&
		       size_same(a->loops[i].stride, b->loops[i].stride);
	for (uint32_t i = 0; same && i < a->nwidths; i++)
		same = a->widths[i] == b->widths[i];
	return same;
}

/* ---- how ---- */

/* A copy of a constant is another constant, made at once (prepack_const.c). */
static BufferId add_constant(Tile *tile, PackedParam *packed, Size elements)
{
	Lower *lower = tile->nest->gen->lower;
	Program *program = lower->program;
	uint32_t arg = (uint32_t)program->consts.n;
	const Buffer *from = &program->buffers.at[packed->param];
	ProgramConst copy = program->consts.at[from->arg];
	REQUIRE(size_is_const(lower->sizes, elements, &copy.count));
	size_t bytes = (size_t)copy.count * dtype_bytes(packed->dtype);
	copy.name = lower_unique(lower, sym_printf(program->symbols, "packed_%s", from->name));
	copy.type.dtype = packed->dtype;
	copy.type.text = arena_printf(lower->arena, "%s, packed", copy.type.text);
	copy.bytes = memset(arena_alloc(lower->arena, bytes), 0, bytes);
	prepack_constant(tile, packed, &program->consts.at[from->arg], (void *)copy.bytes);
	packed->buffer = copy.buffer = lower_buffer(lower, (Buffer){.kind = BUFFER_CONST,
								    .name = copy.name,
								    .dtype = packed->dtype,
								    .elements = elements,
								    .arg = arg});
	PUSH(lower->arena, program->consts, copy);
	PUSH(lower->arena, lower->packed_consts, *packed);
	return packed->buffer;
}

static BufferId add_buffer(Lower *lower, PackedParam *packed, Size elements)
{
	Program *program = lower->program;
	const Buffer *param = &program->buffers.at[packed->param];
	Sym name = lower_unique(lower, sym_printf(program->symbols, "packed_%s", param->name));
	packed->buffer = lower_buffer(lower, (Buffer){.kind = BUFFER_PACKED,
						      .name = name,
						      .dtype = packed->dtype,
						      .elements = elements,
						      .arg = param->arg,
						      .offset = program->state});
	PUSH(lower->arena, lower->packed, *packed);
	return packed->buffer;
}

static const PackedParam *found(const PackedParam *list, size_t n, const PackedParam *packed)
{
	for (size_t i = 0; i < n; i++)
		if (is_same(&list[i], packed))
			return &list[i];
	return NULL;
}

bool prepack_declare(Tile *tile, const Value *load, Dtype dtype, Size elements)
{
	Lower *lower = tile->nest->gen->lower;
	PackedParam packed = describe(tile, load, dtype);
	bool param = lower->program->buffers.at[load->buffer].kind != BUFFER_CONST;
	const PackedParam *same =
		param ? found(lower->packed.at, lower->packed.n, &packed)
		      : found(lower->packed_consts.at, lower->packed_consts.n, &packed);
	tile->packed = same    ? same->buffer
		       : param ? add_buffer(lower, &packed, elements)
			       : add_constant(tile, &packed, elements);
	return param && !same;
}

void prepack_emit(const Nest *nest, Block body)
{
	const Gen *gen = nest->gen;
	Lower *lower = gen->lower;
	Program *program = gen->program;
	const PackedParam *packed = &lower->packed.at[lower->packed.n - 1];
	const Buffer *from = &program->buffers.at[packed->param];
	Kernel kernel = {
		.name = lower_unique(lower, sym_printf(program->symbols, "pack_%s", from->name)),
		.span = SPAN_NONE,
		.niters = (uint32_t)gen->iters.n,
		.nlocals = (uint32_t)gen->locals.n,
		.body = body};
	kernel.iters = ARENA_ARRAY(gen->arena, KernelIter, kernel.niters + 1);
	memcpy(kernel.iters, gen->iters.at, kernel.niters * sizeof *kernel.iters);
	kernel.locals = ARENA_ARRAY(gen->arena, KernelLocal, kernel.nlocals + 1);
	if (kernel.nlocals)
		memcpy(kernel.locals, gen->locals.at, kernel.nlocals * sizeof *kernel.locals);
	PUSH(gen->arena, lower->packs, kernel);
}
