/* Functions of many instructions behind a tile's sums, in passes over its elements: copies of a
 * function for every vector would be most of a kernel's text.
 *
 *   gelu(acc + b)    done = acc + b in vectors, done1 = gelu(done) in loops over the elements, y = done1 in vectors
 *
 * Where rows are no whole vectors, as of few channels, one loop goes over all elements.
 */
#include "loops/walk.h"
#include "lower/tile/emit.h"

typedef struct Part {
	const Value *value;
	LocalId done;
} Part;

typedef struct Fission {
	Tile *tile;
	Body *body;
	VEC(Part) parts;
	bool flat; /* one loop over the elements, whose rows are no whole vectors */
	/* from own to before end: locals of one element, in the loop over the elements */
	LocalId own, end;
} Fission;

static LocalId declare_done(Fission *p, Dtype dtype)
{
	const Tile *tile = p->tile;
	Gen *gen = tile->nest->gen;
	int64_t flat[] = {tile->now.height * tile->now.width},
		rows[] = {tile->now.height, tile->now.width};
	return gen_declare(gen, p->body, "done", value_number(gen->arena, dtype, 0),
			   p->flat ? flat : rows, p->flat ? 1 : 2);
}

/* The element at hand: of the loops over rows and lanes, or of the one loop over elements. */
static const Value *done_at(const Fission *p, LocalId id, bool by_elements)
{
	const Tile *tile = p->tile;
	Gen *gen = tile->nest->gen;
	const Ix *row = ix_iter(gen->arena, tile->r), *lane = ix_iter(gen->arena, tile->lane);
	if (!p->flat)
		return tile_local(tile, id, (const Ix *[]){row, lane}, 2);
	const Ix *first = ix_times(gen->program, row, tile->now.width);
	const Ix *at = by_elements ? lane : ix_add(gen->program, first, lane);
	return tile_local(tile, id, &at, 1);
}

/* A local for every element of the tile, set to the value in vectors. */
static const Value *done_part(Fission *p, const Value *value)
{
	Gen *gen = p->tile->nest->gen;
	for (size_t i = 0; i < p->parts.n; i++)
		if (value_same(p->parts.at[i].value, value))
			return done_at(p, p->parts.at[i].done, true);
	LocalId id = declare_done(p, value->dtype);
	const Stmt *set = stmt_set_at(gen->arena, done_at(p, id, false), OP_NONE, value);
	gen_append(gen, p->body,
		   tile_over(p->tile, tile_rows_kind(p->tile), LOOP_VECTOR, block_of(gen, set)));
	PUSH(gen->arena, p->parts, ((Part){value, id}));
	return done_at(p, id, true);
}

static bool reads_own(const Fission *p, const Value *value)
{
	if (value->kind == VALUE_LOCAL)
		return value->local >= p->own && value->local < p->end;
	for (uint32_t i = 0; i < value->nargs; i++)
		if (reads_own(p, value->args[i]))
			return true;
	return false;
}

/* The value with its largest simple parts replaced by locals. */
static const Value *with_parts(Fission *p, const Value *value)
{
	if (value->kind == VALUE_CONST)
		return value;
	if (tile_in_vectors(value) && !reads_own(p, value))
		return done_part(p, value);
	Value *copy = value_copy(p->tile->nest->gen->arena, value);
	for (uint32_t i = 0; i < value->nargs; i++)
		copy->args[i] = with_parts(p, value->args[i]);
	return copy;
}

static Block over_elements_of(const Fission *p, Block body)
{
	const Tile *tile = p->tile;
	if (p->flat)
		return gen_loop(tile->nest->gen, LOOP_SERIAL, tile->lane,
				tile->now.height * tile->now.width, body);
	return tile_over(tile, LOOP_SERIAL, LOOP_SERIAL, body);
}

/* A local of every element, set in one loop over them; its value in loops over rows and lanes. */
static const Value *done_elements(Fission *p, const SharedLocals *element, const Value *value)
{
	Gen *gen = p->tile->nest->gen;
	Body each = {0};
	p->flat = p->tile->finish.flat && p->tile->now.width % p->tile->lanes != 0;
	for (size_t i = 0; i < element->n; i++)
		PUSH(gen->arena, each.stmts,
		     stmt_local(gen->arena, element->at[i].local,
				with_parts(p, element->at[i].value)));
	value = with_parts(p, value);
	LocalId id = declare_done(p, value->dtype);
	PUSH(gen->arena, each.stmts, stmt_set_at(gen->arena, done_at(p, id, true), OP_NONE, value));
	gen_append(gen, p->body, over_elements_of(p, body_block(&each)));
	return done_at(p, id, false);
}

static Block tile_finish_in_fission(Tile *tile, const Value *sum)
{
	Nest *nest = tile->nest;
	Gen *gen = nest->gen;
	SharedLocals element = {0};
	Body body = {0}, store = {0};
	Fission passes = {.tile = tile, .body = &body, .own = (LocalId)gen->frame.locals.n};
	nest_values(nest);
	const Value *value = tile_numbers(tile, nest_finished(nest, sum, &element));
	passes.end = (LocalId)gen->frame.locals.n;
	const Value *done = done_elements(&passes, &element, value);
	nest_store(nest, done, &store);
	gen_append(gen, &body,
		   tile_over(tile, tile_rows_kind(tile), LOOP_VECTOR, body_block(&store)));
	return body_block(&body);
}

Block tile_store(Tile *tile, const Value *sum)
{
	Nest *nest = tile->nest;
	Body element = {0};
	nest_values(nest);
	const Value *value = tile_numbers(tile, nest_finish(nest, sum, &element));
	nest_store(nest, value, &element);
	return body_block(&element);
}

Block tile_finish(Tile *tile, const Value *element)
{
	if (tile->finish.fission)
		return tile_finish_in_fission(tile, element);
	return tile_over(tile, tile_rows_kind(tile), LOOP_VECTOR, tile_store(tile, element));
}
