/* Tiles that a mask hides, as behind causal attention: y = where(key <= row, sum, -inf).
 *
 *   local acc : f32 [5, 80] = 0
 *   if t <= first + s + 4                        a tile with no element that is seen needs no sum
 *     for d in 0..64: acc[r, lane] += q[..] * k[..]
 *   y[..] = where(.., acc[r, lane], -inf)
 *
 * What is stored is the same: where() takes nothing of a sum that is hidden, be it NaN, and an element
 * that is seen has its whole sum. A comparison of sums of iterators fails in a whole tile where it
 * fails at the corner where it is nearest to holding. Of indices that wrap, as i32, that is true
 * where both fit: the greater side is shown not to be below all i32, and the lesser one, if it is
 * not shown not to be above, counts as less than all where it is.
 */
#include "loops/linear.h"
#include "lower/tile/values.h"

typedef struct Masked {
	const Tile *tile;
	const Value *sum;
	Cond *conds; /* TILE_MASKS at most, each holds where any element is seen */
	uint32_t n;
} Masked;

static bool reads_sum(const Masked *h, const Value *value)
{
	if (value == h->sum)
		return true;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (reads_sum(h, value->args[i]))
			return true;
	return false;
}

/* ---- a comparison ---- */

/* An index at the element of the tile where `more` is greatest; NULL: that is none of its corners. */
static const Ix *at_corner(const Masked *h, const Ix *ix, const Ix *more)
{
	const Tile *tile = h->tile;
	Gen *gen = tile->nest->gen;
	Program *program = gen->program;
	IterVar iters[] = {tile->r, tile->lane};
	int64_t last[] = {tile->now.height - 1, tile->now.width - 1}, slope;
	for (int i = 0; i < 2; i++) {
		Size stride = ix_stride(program, more, iters[i]),
		     own = ix_stride(program, ix, iters[i]);
		if (size_is_bad(stride) || size_is_bad(own) ||
		    !size_is_const(program->sizes, stride, &slope))
			return NULL;
		const Ix *to = ix_minus(program, tile_const(tile, slope > 0 ? last[i] : 0),
					ix_iter(gen->arena, iters[i]));
		ix = ix_add(program, ix, ix_mul(program, to, ix_size(gen->arena, own)));
	}
	return ix;
}

/* `least`, or less than any i32 where the greatest of the tile's indices is above all i32. */
static const Ix *unless_over_read(const Masked *h, const Ix *least, const Ix *greatest)
{
	const Tile *tile = h->tile;
	Program *program = tile->nest->gen->program;
	const int64_t above = (int64_t)1 << 31;
	const Ix *over_read = ix_binary(program, IX_DIV, greatest, tile_const(tile, above));
	over_read = ix_binary(program, IX_MAX, over_read, tile_const(tile, 0));
	over_read = ix_binary(program, IX_MIN, over_read, tile_const(tile, 1));
	const Ix *most = ix_mul(program, over_read, tile_const(tile, -4 * above));
	most = ix_add(program, most, tile_const(tile, above));
	return ix_binary(program, IX_MIN, least, most);
}

/* Elements are seen where less <= more; `strict`: where less < more. */
static void add_condition(Masked *h, const Value *less, const Value *more, bool strict)
{
	const Tile *tile = h->tile;
	Program *program = tile->nest->gen->program;
	const Ix *a = value_as_index(program, less), *b = value_as_index(program, more);
	if (!a || !b || h->n == TILE_MASKS)
		return;
	const Ix *difference = ix_minus(program, b, a);
	const Ix *least = at_corner(h, a, difference), *most = at_corner(h, b, difference);
	if (!least || !most)
		return;
	if (less->dtype == DTYPE_I32) {
		if (!tile_index_fits(tile, b, true))
			return;
		const Ix *greatest = at_corner(h, a, a);
		if (!greatest)
			return;
		if (!tile_index_fits(tile, a, false))
			least = unless_over_read(h, least, greatest);
	}
	h->conds[h->n++] = (Cond){strict ? COND_LT : COND_LE, least, most};
}

/* ---- where the sum is read ---- */

/* The sum is read where the value is true, or is not. */
static void read_if(Masked *h, const Value *value, bool is_true)
{
	const Value *a = value->args[0], *b = value->args[1];
	if (value->kind == VALUE_CAST && dtype_is_integer(a->dtype))
		read_if(h, a, is_true);
	if (value->kind != VALUE_OP)
		return;
	switch (value->op) {
	case OP_LT: is_true ? add_condition(h, a, b, true) : add_condition(h, b, a, false); break;
	case OP_LE: is_true ? add_condition(h, a, b, false) : add_condition(h, b, a, true); break;
	case OP_GT: is_true ? add_condition(h, b, a, true) : add_condition(h, a, b, false); break;
	case OP_GE: is_true ? add_condition(h, b, a, false) : add_condition(h, a, b, true); break;
	case OP_NOT: read_if(h, a, !is_true); break;
	case OP_NE:
		if (value_is_zero(b))
			read_if(h, a, is_true);
		break;
	case OP_AND:
	case OP_OR:
		if (is_true == (value->op == OP_AND)) {
			read_if(h, a, is_true);
			read_if(h, b, is_true);
		}
		break;
	default: break;
	}
}

/* From the value that is stored down to where parts of it read the sum apart. */
static void find_masks(Masked *h, const Value *value)
{
	while (value->nargs > 0) { /* falls: an operand is smaller than what it is in */
		uint32_t n = 0, at = 0;
		for (uint32_t i = 0; i < value->nargs; i++)
			if (reads_sum(h, value->args[i])) {
				n++;
				at = i;
			}
		if (n != 1)
			return;
		if (value->kind == VALUE_OP && value->op == OP_WHERE && at > 0)
			read_if(h, value->args[0], at == 1);
		value = value->args[at];
	}
}

uint32_t tile_masks(const Tile *tile, Cond conds[TILE_MASKS])
{
	const Nest *nest = tile->nest;
	const Value sum = {.kind = VALUE_LOCAL, .dtype = nest_neutral(nest)->dtype};
	Masked h = {.tile = tile, .sum = &sum, .conds = conds};
	SharedLocals shared = {0};
	const Value *value = nest_look_stored(nest, &sum, &shared);
	for (size_t i = 0; i < shared.n; i++)
		if (reads_sum(&h, shared.at[i].value))
			return 0;
	find_masks(&h, value);
	return h.n;
}
