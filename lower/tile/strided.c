/* Tiles whose lanes store strided elements, as those of one kind of a transposed
 * convolution are with the channels first (tensor/gather_windows.c):
 *
 *   vector lane in 0..32: y[o*4096 + 2*(x + lane)] = relu(acc[r, lane] + b[o])
 *
 * Lanes run along the picture, or across the channels in sums that are transposed (tile/result.c).
 * Along the picture rows read weights one by one where they are: of what each kind of elements needs
 * of a kernel's steps there is little in a line, and lines come from the second cache.
 */
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/nest/forms.h"
#include "lower/tile/plan.h"

/* Eighths of cycles for a line; steps among which a line costs nothing. */
enum { STEPS_ENOUGH = 1 << 16 };

/* Elements that lanes of a tile are apart at most: those of a line. */
static int64_t most_stride(const Target *target)
{
	return target->line_bytes / (int64_t)dtype_bytes(DTYPE_F32);
}

int64_t tile_near_stride(const Planner *p, const Ix *at, const Loop *loop)
{
	Size by = ix_stride(p->program, at, loop->var);
	int64_t n;
	return tile_is_const(p, by, &n) && n >= 0 && n <= most_stride(p->target) ? n : -1;
}

/* What its own axis of the result multiplies the loop's iterator by; 0: it has none. */
static int64_t own_step(const Nest *nest, const Loop *loop)
{
	const Access *result = &nest->piece->result;
	const IndexTerm *term = access_term(result, result->naxes, loop->iter);
	return term ? term->coef : 0;
}

bool nest_stores_strided(const Nest *nest, const Loop *loop)
{
	Size by = ix_stride(nest->gen->program, nest->at, loop->var);
	int64_t step;
	return nest->target.acc == OP_NONE && size_is_const(nest->gen->program->sizes, by, &step) &&
	       step > 1 && step <= most_stride(nest->gen->program->options.target) &&
	       step == own_step(nest, loop);
}

bool tile_stores_along(const Planner *p, const Loop *loop)
{
	if (!nest_stores_strided(p->tile->nest, loop))
		return tile_stride(p, p->tile->nest->at, loop) == 1 && tile_moves_by_one(p, loop);
	for (size_t i = 0; i < p->store.at.n; i++)
		if (tile_near_stride(p, p->store.at.at[i], loop) < 0)
			return false;
	return true;
}

/* Bytes that the loop moves an operand by, up to a line. */
static int64_t bytes_by(const Planner *p, size_t load, const Loop *loop)
{
	Size by = ix_stride(p->program, p->sum.at.at[load], loop->var);
	int64_t bytes = dtype_bytes(p->program->buffers.at[p->sum.from.at[load]].dtype), n;
	if (!tile_is_const(p, by, &n) || n > p->target->line_bytes || n < -p->target->line_bytes)
		return p->target->line_bytes;
	bytes *= n < 0 ? -n : n;
	return bytes < p->target->line_bytes ? bytes : p->target->line_bytes;
}

/* Steps of the sum that read of one line. */
static int64_t steps_of_line(const Planner *p, size_t load)
{
	const Nest *nest = p->tile->nest;
	int64_t steps = 1;
	for (uint32_t i = nest->nresult; i < nest->nloops && steps < STEPS_ENOUGH; i++) {
		int64_t bytes = bytes_by(p, load, &nest->loops[i]),
			extent = tile_extent(p, &nest->loops[i], p->target->line_bytes);
		int64_t near = bytes ? p->target->line_bytes / bytes : extent;
		steps *= near < extent ? near : extent;
	}
	return steps > 0 ? steps : 1;
}

uint64_t tile_strided_cycles(const Planner *p, int64_t rows)
{
	const Tile *tile = p->tile;
	uint64_t cycles = 0;
	if (tile->form != TILE_ACROSS || tile->stores_rows || !tile->row ||
	    tile_stride(p, tile->nest->at, tile->col) == 1)
		return 0;
	for (size_t i = 0; i < p->sum.at.n; i++)
		if (!ix_uses(p->sum.at.at[i], tile->col->var))
			cycles += (uint64_t)(p->target->line_cost_row * rows *
					     bytes_by(p, i, tile->row) / p->target->line_bytes /
					     steps_of_line(p, i));
	return cycles;
}

/* Of a row of a square. */
static uint64_t store_cycles(const Planner *p, int64_t rows)
{
	int64_t step = tile_near_stride(p, p->tile->nest->at, p->tile->row);
	if (step <= 1)
		return p->target->row_store_cost;
	return p->target->row_store_cost +
	       (uint64_t)(step <= LANES_MASKED ? p->target->row_store_masked * (step - 1)
					       : p->target->row_store_element *
							 (rows < p->native ? rows : p->native));
}

uint64_t tile_transposed_cycles(const Planner *p, int64_t rows, int64_t cols)
{
	uint64_t side = (uint64_t)p->native, collapsed = (uint64_t)__builtin_ctzll(side);
	uint64_t down = ((uint64_t)rows + side - 1) / side,
		 across = ((uint64_t)cols + side - 1) / side;
	return down * across * side * collapsed * p->target->shuffle_cost +
	       down * (uint64_t)cols * store_cycles(p, rows);
}

int64_t tile_last_steps(int64_t more, int64_t stride) { return (more + stride - 1) / stride; }

bool tile_asks_over_read(const Planner *p, int load)
{
	const Gen *gen = p->tile->nest->gen;
	BufferId operand = p->sum.from.at[load];
	return gen_asks_operand(gen, CHOICE_OVER_READ, operand) ||
	       (gen_asked(gen, CHOICE_OVER_READ) &&
		gen_asks_operand(gen, CHOICE_OVER_READ, tile_read_buffer(p->tile, operand)));
}

int64_t tile_step_strided(const Planner *p, int load)
{
	const Nest *nest = p->tile->nest;
	int64_t steps, step;
	if (nest->nloops == nest->nresult || nest->guards.n > 0 || p->sum.from.n > 2 ||
	    p->program->buffers.at[p->sum.from.at[load]].dtype != nest->value->dtype)
		return 0;
	if (p->tile->row && ix_uses(p->sum.at.at[load], p->tile->row->var))
		return 0;
	for (size_t i = 0; i < p->sum.from.n; i++)
		if ((int)i != load && p->sum.from.at[i] == p->sum.from.at[load])
			return 0;
	Size stride = ix_stride(p->program, p->sum.at.at[load], tile_last_sum(nest)->var);
	if (size_is_bad(stride) || !tile_is_const(p, stride, &step) || step < 1 ||
	    !tile_is_const(p, tile_last_sum(nest)->extent, &steps))
		return 0;
	int64_t least = tile_asks_over_read(p, load) ? 1 : p->target->tile_over_read;
	return steps / least >= tile_last_steps(p->native - 1, step) ? step : 0;
}
