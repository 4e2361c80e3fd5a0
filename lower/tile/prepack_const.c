/* Constants that are copied into panels while compiling: the module holds the panels, and the
 * constant itself only where something else reads it.
 *
 * The copy is the one that tile/pack.c would make of a parameter:
 *
 *   packed[((o*columns + panel's first column)*steps + s)*width + lane*group + q]
 *
 * for the loops o that move the operand, the steps s of the sum, `group` of them in a lane, and the
 * panel's lanes, the last ones filled up. Bytes of groups may be moved by 128.
 */
#include <string.h>

#include "base/diag.h"
#include "lower/tile/copies.h"

typedef struct Panels {
	const Tile *tile;
	const PackedParam *packed;
	const uint8_t *from;
	uint8_t *to;
	int64_t bytes;		/* of an element */
	int64_t columns, steps; /* of the copy, filled up */
	int64_t column;		/* how far one moves the constant */
	uint8_t moved;
} Panels;

static int64_t constant(const Panels *p, Size size)
{
	int64_t n;
	REQUIRE(size_is_const(p->tile->nest->gen->program->sizes, size, &n));
	return n;
}

/* The loops of a role counted through; the innermost sum goes by groups. */
static int64_t count(const Panels *p, PackedRole role)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < p->packed->nloops; i++) {
		const PackedLoop *loop = &p->packed->loops[i];
		int64_t group = i + 1 == p->packed->nloops ? p->packed->group : 1;
		if (loop->role == role)
			n *= (constant(p, loop->extent) + group - 1) / group * group;
	}
	return n;
}

/* How far iteration n of a role's loops moves the constant; -1: it is behind a loop's end. */
static int64_t offset(const Panels *p, PackedRole role, int64_t n)
{
	int64_t at = 0;
	for (uint32_t i = p->packed->nloops; i-- > 0;) {
		const PackedLoop *loop = &p->packed->loops[i];
		int64_t group = i + 1 == p->packed->nloops ? p->packed->group : 1;
		int64_t extent = constant(p, loop->extent);
		int64_t all = (extent + group - 1) / group * group;
		if (loop->role != role)
			continue;
		if (n % all >= extent)
			return -1;
		at += n % all * constant(p, loop->stride);
		n /= all;
	}
	return at;
}

/* The steps of one panel, `lanes` of `width` columns; `from`: of the first. */
static void fill_panel(const Panels *p, int64_t from, int64_t to, int64_t lanes, int64_t width)
{
	int64_t group = p->packed->group;
	for (int64_t s = 0; s < p->steps; s++) {
		int64_t step = offset(p, PACKED_STEP, s);
		uint8_t *first = p->to + (to + (s - s % group) * width + s % group) * p->bytes;
		for (int64_t lane = 0; lane < lanes && step >= 0; lane++) {
			uint8_t *element = first + lane * group * p->bytes;
			memcpy(element, p->from + (from + step + lane * p->column) * p->bytes,
			       (size_t)p->bytes);
			*element ^= p->moved;
		}
	}
}

static void fill_part(const Panels *p, int64_t outer, const TilePart *part)
{
	int64_t first = constant(p, p->packed->first) + offset(p, PACKED_OUTER, outer);
	for (int64_t at = constant(p, part->lo); at < constant(p, part->hi); at += part->step)
		fill_panel(p, first + at * p->column, (outer * p->columns + at) * p->steps,
			   part->step, tile_width(p->tile, part->step));
}

void prepack_constant(const Tile *tile, const PackedParam *packed, const ProgramConst *from,
		      void *to)
{
	const Buffer *buffer = &tile->nest->gen->program->buffers.at[packed->param];
	const TilePart *last = &tile->cols.at[tile->cols.n - 1];
	Panels p = {.tile = tile,
		    .packed = packed,
		    .from = from->bytes,
		    .to = to,
		    .bytes = (int64_t)dtype_bytes(buffer->dtype),
		    .moved = packed->dtype == buffer->dtype ? 0 : 0x80};
	p.columns = constant(&p, last->hi) + tile_width(tile, last->step) - last->step;
	p.steps = count(&p, PACKED_STEP);
	for (uint32_t i = 0; i < packed->nloops; i++)
		if (packed->loops[i].role == PACKED_COLUMN)
			p.column = constant(&p, packed->loops[i].stride);
	for (int64_t outer = 0; outer < count(&p, PACKED_OUTER); outer++)
		for (uint32_t i = 0; i < tile->cols.n; i++)
			fill_part(&p, outer, &tile->cols.at[i]);
}
