/* Copies of parameters in the state, and of constants: which there are. */
#include <string.h>

#include "base/diag.h"
#include "loops/linear.h"
#include "lower/tile/copies.h"

static PackedParam describe(const Tile *tile, const Value *load, Dtype dtype)
{
	const Nest *nest = tile->nest;
	Program *program = nest->gen->program;
	PackedParam packed = {
		.param = load->buffer, .dtype = dtype, .group = tile_lane_steps(tile)};
	packed.first = ix_linear(program, load->ix).offset;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		const Loop *loop = &nest->loops[i];
		bool column = loop == tile->col;
		if (!column && !loop->reduced && !(tile->movers >> loop->iter & 1))
			continue;
		packed.loops[packed.nloops++] = (PackedLoop){
			column						 ? PACKED_COLUMN
			: loop->reduced || tile_has_steps_of(tile, loop) ? PACKED_STEP
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
						      .offset = program->state,
						      .panels = true});
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
	if (!same)
		gen_owns(tile->nest->gen, tile->packed);
	return param && !same;
}
