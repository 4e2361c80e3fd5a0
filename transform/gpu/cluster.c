/* Products of few tiles, whose sum goes in slices, each a block's of a cluster: blocks leave the sums of the whole tile in
 * shared memory, and each adds up its part of them, in the order of the slices, and does what follows.
 *
 *   grid row, column in tiles
 *     cluster slice in 0..8
 *       sums of x[i, slice*s/8 + k] * w[slice*s/8 + k, j]
 *       block: parts[slice, i, j] = sums
 *     barrier cluster
 *     cluster rank in 0..8
 *       block: y[i, j] = relu(parts[0, i, j] + parts[1, i, j] + ...) of the rows rank*2 and rank*2 + 1 of the tile
 *     barrier cluster
 */
#include "transform/gpu/elements.h"

typedef struct Gather {
	Tiling *g;
	BufferId parts;
	IterVar rank;
} Gather;

/* No multiple of what any iterator inside of a tile moves by. */
static int64_t part_elements(const Tiling *g) { return g->tile->rows * g->tile->columns + QUAD; }

static const Ix *part_at(const Gather *c, const Ix *block, const Ix *row, const Ix *column)
{
	const Ix *line = times(c->g, row, c->g->tile->columns);
	return plus(c->g, plus(c->g, times(c->g, block, part_elements(c->g)), line), column);
}

static Block keep(void *of, const Value *sum, const Ix *row, const Ix *column)
{
	const Gather *c = of;
	const Ix *at = part_at(c, iter(c->g, c->g->slice), row, column);
	return block_one(c->g->arena, stmt_store(c->g->arena, c->parts, at, OP_NONE, sum));
}

/* What all blocks have of an element, the first one first. */
static const Value *sum_of_parts(const Gather *c, const Ix *row, const Ix *column)
{
	const Tiling *g = c->g;
	const Value *sum = NULL;
	for (int64_t i = 0; i < g->cluster; i++) {
		const Value *part =
			value_load(g->program, c->parts, part_at(c, number(g, i), row, column));
		sum = sum ? value_binary(g->arena, OP_ADD, sum, part) : part;
	}
	return sum;
}

/* A block has neighbouring rows of the tile, so many at a time, and a thread four columns. */
static Block finish(const Gather *c)
{
	Tiling *g = c->g;
	const GpuTile *tile = g->tile;
	int64_t threads = tile_threads(tile, g->product->tensor.used);
	int64_t rows = tile->rows / g->cluster, quads = tile->columns / QUAD;
	int64_t together = threads / quads < rows ? threads / quads : rows;
	IterVar row = tiling_iter(g, "row"), lane = tiling_iter(g, "lane"),
		time = tiling_iter(g, "time"), j = tiling_iter(g, "j");
	const Ix *in_tile = plus(g, times(g, iter(g, c->rank), rows),
				 plus(g, times(g, iter(g, time), together), iter(g, row)));
	const Ix *at = tiling_side_at(g, &g->rows, in_tile), *first = times(g, iter(g, lane), QUAD);
	const Ix *quad = tiling_side_at(g, &g->columns, first);
	const Value *sum = sum_of_parts(c, in_tile, plus(g, first, iter(g, j)));
	Block body = tiling_four(g, j, quad, tiling_finish(g, sum, at, plus(g, quad, iter(g, j))));
	body = if_below(g, at, sized(g, g->rows.group->extent), body);
	body = loop_of(g, LOOP_UNROLL, time, rows / together, body);
	return loop_of(g, LOOP_BLOCK, row, together, loop_of(g, LOOP_BLOCK, lane, quads, body));
}

void cluster_add(const Tiling *g, Body *all, IterVar block, int64_t blocks, Block body)
{
	add(g, all, loop_of(g, LOOP_CLUSTER, block, blocks, body));
	PUSH(g->arena, all->stmts, stmt_barrier(g->arena, true));
}

Block cluster_elements(Tiling *g)
{
	Body all = {0};
	Buffer parts = {.dtype = tiling_dtype(g), .cluster = g->cluster};
	int64_t elements = g->cluster * part_elements(g);
	Gather c = {g, bind_shared(g->program, g->kernel, g->routine, parts, elements, "parts"),
		    tiling_iter(g, "rank")};
	ElementVisit visit = {keep, &c, true};
	add(g, &g->body, tiling_each(g, &visit));
	cluster_add(g, &all, g->slice, g->cluster, body_block(&g->body));
	cluster_add(g, &all, c.rank, g->cluster, finish(&c));
	return body_block(&all);
}
