/* The points of a projection: all combinations of a piece's iterators, and the elements that its
 * accesses have there.
 *
 *   element = offset + sum over iterators of steps[iterator] * value
 *   + stride * (the integer that another operand has at this point), for each axis so indexed
 *
 * The sum goes along with the iterators.
 *
 * An index that is not guarded stays inside its axis: its ends are looked at before a piece begins.
 */
#include "reference/run.h"

/* A padded index: inside 0 .. size, or nothing happens. */
typedef struct PositionGuard {
	const Index *index;
	int64_t offset, size;
} PositionGuard;

/* An index that operand `ids` holds. */
typedef struct PositionRead {
	uint32_t ids;
	int64_t stride, size;
	IndexMode mode;
} PositionRead;

/* ---- places ---- */

/* The least and the greatest value of an index over the piece. */
static void check_inside(const Walk *walk, const Index *index, int64_t offset, int64_t size)
{
	int64_t least = offset, most = offset;
	for (uint32_t t = 0; t < index->nterms; t++) {
		int64_t by = index->terms[t].coef * (walk->extents[index->terms[t].iter] - 1);
		*(by < 0 ? &least : &most) += by;
	}
	if (least < 0 || most >= size)
		BUG("a projection of %%%u leaves a tensor", walk->id);
}

static void add_axis(const Walk *walk, Position *position, const Index *index, int64_t stride,
		     int64_t size)
{
	if (index->gather >= 0) {
		position->reads[position->nreads++] =
			(PositionRead){(uint32_t)index->gather, stride, size, index->mode};
		return;
	}
	int64_t offset = run_size(walk->run, index->offset);
	if (index->guarded)
		position->guards[position->nguards++] = (PositionGuard){index, offset, size};
	else
		check_inside(walk, index, offset, size);
	position->element += offset * stride;
	for (uint32_t t = 0; t < index->nterms; t++)
		position->steps[index->terms[t].iter] += index->terms[t].coef * stride;
}

static Position position_new(const Walk *walk, NodeId id, const Access *access)
{
	Position position = {.tensor = run_tensor(walk->run, id)};
	const Shape *shape = &walk->run->inference->shapes[id];
	int64_t stride = 1;
	REQUIRE(access->naxes == shape_naxes(shape));
	position.steps = ARENA_ARRAY(walk->arena, int64_t, walk->proj->niters + 1);
	position.guards = ARENA_ARRAY(walk->arena, PositionGuard, access->naxes + 1);
	position.reads = ARENA_ARRAY(walk->arena, PositionRead, access->naxes + 1);
	for (uint32_t axis = access->naxes; axis-- > 0;) {
		int64_t size = run_size(walk->run, shape_axis(shape, axis)->size);
		add_axis(walk, &position, &access->axes[axis], stride, size);
		stride *= size;
	}
	return position;
}

static bool is_inside(const Walk *walk, const PositionGuard *guard)
{
	int64_t at = guard->offset;
	for (uint32_t t = 0; t < guard->index->nterms; t++)
		at += guard->index->terms[t].coef * walk->at[guard->index->terms[t].iter];
	return at >= 0 && at < guard->size;
}

/* The index that is meant; -1: none is. Those that are checked lie inside. */
static int64_t index_read(const Walk *walk, const PositionRead *read)
{
	const Position *ids = &walk->args[read->ids];
	int64_t at = (int64_t)ids->tensor->elements[walk_position(walk, ids)].x, n = read->size;
	switch (read->mode) {
	case INDEX_CLAMPED: return at < 0 ? 0 : at >= n ? n - 1 : at;
	case INDEX_WRAPPED: return (at % n + n) % n;
	default: return at < 0 || at >= n ? -1 : at;
	}
}

int64_t walk_position(const Walk *walk, const Position *position)
{
	for (uint32_t i = 0; i < position->nguards; i++)
		if (!is_inside(walk, &position->guards[i]))
			return -1;
	int64_t element = position->element;
	for (uint32_t i = 0; i < position->nreads; i++) {
		int64_t index = index_read(walk, &position->reads[i]);
		if (index < 0)
			return -1;
		element += position->reads[i].stride * index;
	}
	return element;
}

/* ---- points ---- */

static bool set_up(Walk *walk, const Piece *piece)
{
	walk->piece = piece;
	for (uint32_t i = 0; i < piece->niters; i++) {
		IterId iter = piece->iters[i];
		walk->extents[iter] = run_size(walk->run, walk->proj->iters[iter].extent);
		if (walk->extents[iter] <= 0)
			return false;
	}
	walk->result = position_new(walk, walk->id, &piece->result);
	walk->args = ARENA_ARRAY(walk->arena, Position, walk->node->nargs + 1);
	for (uint32_t i = 0; i < walk->node->nargs; i++)
		if (piece->args[i].present)
			walk->args[i] = position_new(walk, walk->node->args[i], &piece->args[i]);
	return true;
}

static void move(Walk *walk, IterId iter, int64_t by)
{
	walk->at[iter] += by;
	walk->result.element += walk->result.steps[iter] * by;
	for (uint32_t i = 0; i < walk->node->nargs; i++)
		if (walk->piece->args[i].present)
			walk->args[i].element += walk->args[i].steps[iter] * by;
}

static void visit_from(Walk *walk, uint32_t depth, Visit visit, void *of)
{
	if (depth == walk->piece->niters) {
		visit(walk, of);
		return;
	}
	IterId iter = walk->piece->iters[depth];
	for (int64_t i = 0; i < walk->extents[iter]; i++) {
		visit_from(walk, depth + 1, visit, of);
		move(walk, iter, 1);
	}
	move(walk, iter, -walk->extents[iter]);
}

static Walk walk_new(Run *run, NodeId id)
{
	Walk walk = {.run = run,
		     .id = id,
		     .node = run_node(run, id),
		     .proj = run->inference->projs[id],
		     .arena = arena_new()};
	walk.extents = ARENA_ARRAY(walk.arena, int64_t, walk.proj->niters + 1);
	walk.at = ARENA_ARRAY(walk.arena, int64_t, walk.proj->niters + 1);
	return walk;
}

void walk_points(Run *run, NodeId id, Visit visit, void *of)
{
	Walk walk = walk_new(run, id);
	for (uint32_t i = 0; i < walk.proj->npieces; i++)
		if (set_up(&walk, &walk.proj->pieces[i]))
			visit_from(&walk, 0, visit, of);
	arena_free(walk.arena);
}

/* The piece without its reduced iterators and its operands. */
static Piece result_alone(const Walk *walk, const Piece *piece)
{
	Piece alone = {.result = piece->result};
	alone.iters = ARENA_ARRAY(walk->arena, IterId, piece->niters + 1);
	alone.args = ARENA_ARRAY(walk->arena, Access, walk->node->nargs + 1);
	for (uint32_t i = 0; i < piece->niters; i++)
		if (!walk->proj->iters[piece->iters[i]].reduced)
			alone.iters[alone.niters++] = piece->iters[i];
	return alone;
}

void walk_elements(Run *run, NodeId id, Visit visit, void *of)
{
	Walk walk = walk_new(run, id);
	for (uint32_t i = 0; i < walk.proj->npieces; i++) {
		Piece alone = result_alone(&walk, &walk.proj->pieces[i]);
		if (set_up(&walk, &alone))
			visit_from(&walk, 0, visit, of);
	}
	arena_free(walk.arena);
}

static bool is_among(const uint32_t *iters, uint32_t n, IterId iter)
{
	for (uint32_t i = 0; i < n; i++)
		if (iters[i] == iter)
			return true;
	return false;
}

void walk_in_order(Run *run, NodeId id, const uint32_t *last, uint32_t n, Visit visit, void *of)
{
	Walk walk = walk_new(run, id);
	Piece piece = walk.proj->pieces[0];
	IterId *iters = ARENA_ARRAY(walk.arena, IterId, piece.niters + 1);
	uint32_t at = 0;
	for (int reduced = 0; reduced < 2; reduced++)
		for (uint32_t i = 0; i < piece.niters; i++)
			if (walk.proj->iters[piece.iters[i]].reduced == reduced &&
			    !is_among(last, n, piece.iters[i]))
				iters[at++] = piece.iters[i];
	for (uint32_t i = 0; i < n; i++)
		iters[at++] = last[i];
	REQUIRE(at == piece.niters);
	piece.iters = iters;
	if (set_up(&walk, &piece))
		visit_from(&walk, 0, visit, of);
	arena_free(walk.arena);
}

void walk_lines(Run *run, NodeId id, Visit visit, void *of)
{
	Walk walk = walk_new(run, id);
	AlongIters along = proj_along(walk.proj);
	Piece piece = walk.proj->pieces[0];
	if (set_up(&walk, &piece)) {
		IterId *iters = ARENA_ARRAY(walk.arena, IterId, piece.niters + 1);
		uint32_t n = 0;
		for (uint32_t i = 0; i < piece.niters; i++)
			if (piece.iters[i] != along.from && piece.iters[i] != along.to)
				iters[n++] = piece.iters[i];
		piece.iters = iters;
		piece.niters = n;
		visit_from(&walk, 0, visit, of);
	}
	arena_free(walk.arena);
}

int64_t walk_count(const Run *run, NodeId id)
{
	if (run_node(run, id)->along.letter)
		return run_elements(run, id);
	const Proj *proj = run->inference->projs[id];
	int64_t count = 0;
	for (uint32_t i = 0; proj && i < proj->npieces; i++) {
		const Piece *piece = &proj->pieces[i];
		int64_t points = 1;
		for (uint32_t k = 0; k < piece->niters; k++) {
			int64_t n = run_size(run, proj->iters[piece->iters[k]].extent);
			if (__builtin_mul_overflow(points, n, &points))
				points = INT64_MAX;
		}
		if (__builtin_add_overflow(count, points, &count))
			return INT64_MAX;
	}
	return count;
}
