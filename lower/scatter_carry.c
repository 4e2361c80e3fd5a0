/* The row of the target that a scatter adds to, in registers while the steps' indices are the same: a step of sorted
 * indices reads and stores no row then, and its addition waits for none that was just stored.
 *
 *   local last = -1, row[R'] = 0
 *   for K
 *     local place = of the first element of the row at ids[R, K]
 *     if place != last
 *       local before = last; if 0 <= before and before is a row's: for R': result[before + R'] = row[R']
 *       for R': row[R'] = result[place + R']
 *       last = place
 *     for R': row[R'] ACC= x[R, K, R']
 *   local before = last; if 0 <= before and before is a row's: for R': result[before + R'] = row[R']
 *
 * Where the target is set to the neutral element first, rows are as the steps come to them, unless there are fewer steps than
 * rows: a row that is new is not read, and one that all steps have left behind is written once.
 *
 *   local filled = 0
 *     if place < filled: for R': row[R'] = result[place + R']
 *     if filled <= place
 *       for e in filled..place: result[e] = neutral
 *       for R': row[R'] = neutral
 *       filled = place + row
 *   for e in filled..elements: result[e] = neutral
 *
 * What meets in an element does so in the same order as without. The innermost of R' is a loop of lanes, the others are
 * unrolled, so that the local stays in registers.
 */
#include <string.h>

#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "lower/scatter.h"
#include "lower/tile/values.h"

/* ---- may it stay, and does that pay? ---- */

static const ScatterLoop *lanes_of(const Scatter *s) { return &s->loops[s->nloops - 1]; }

/* Known extents, and the number of elements. */
static bool is_known(const Scatter *s, int64_t extents[LOCAL_AXES], int64_t *elements)
{
	const Sizes *sizes = s->gen->program->sizes;
	uint32_t n = s->nloops - s->behind;
	bool known = n > 0 && n <= LOCAL_AXES && size_is_const(sizes, s->row, elements);
	for (uint32_t i = 0; i < n && known; i++)
		known = size_is_const(sizes, s->loops[s->behind + i].extent, &extents[i]);
	return known && *elements > 0;
}

/* Vectors of the target that the row fills. */
static int64_t vectors_of(const Scatter *s, int64_t extents[LOCAL_AXES])
{
	const Target *target = s->gen->lower->target;
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	uint32_t last = s->nloops - s->behind - 1;
	int64_t lanes = target->vector_bytes / (int64_t)dtype_bytes(to->dtype), n = 1;
	for (uint32_t i = 0; i < last; i++)
		n *= extents[i];
	return n * ((extents[last] + lanes - 1) / lanes);
}

/* More stays in memory, whatever is asked for. */
static bool fits(const Scatter *s)
{
	const Target *target = s->gen->lower->target;
	int64_t extents[LOCAL_AXES], elements, most = target->registers / 2;
	return is_known(s, extents, &elements) && elements <= most * target->vector_bytes &&
	       vectors_of(s, extents) <= most;
}

typedef struct Moves {
	Program *program;
	IterVar lane;
	bool wrong;
} Moves;

static void see_move(void *of, const Value *value)
{
	Moves *m = of;
	if (value->kind == VALUE_LOAD)
		m->wrong |= !ix_moves_by(m->program, value->ix, m->lane, 0) &&
			    !ix_moves_by(m->program, value->ix, m->lane, 1);
}

/* Do vector instructions compute what a step adds, of elements side by side? */
static bool adds_in_lanes(const Scatter *s)
{
	IterVar lane;
	SharedLocals shared = {0};
	ScatterLook *look = scatter_look(s);
	const Value *value = scatter_element(&look->scatter, &shared, &lane);
	Moves moves = {look->gen.program, lane, false};
	value_each(value, see_move, &moves);
	Dtype dtype = s->gen->program->buffers.at[s->to.buffer].dtype;
	return value->dtype == dtype && shared.n == 0 && !moves.wrong && tile_in_vectors(value);
}

static bool may_carry(const Scatter *s)
{
	Dtype dtype = s->gen->program->buffers.at[s->to.buffer].dtype;
	return !s->gen->lower->options->gpu && s->to.acc != OP_NONE && s->first < s->behind &&
	       s->inner == s->behind && s->behind < s->nloops && dtype == dtype_wide(dtype) &&
	       op_has_lanes(s->to.acc, dtype) && fits(s) && adds_in_lanes(s);
}

static bool carry_pays(const Scatter *s)
{
	const Target *target = s->gen->lower->target;
	const Buffer *to = &s->gen->program->buffers.at[s->to.buffer];
	int64_t extents[LOCAL_AXES], elements;
	return is_known(s, extents, &elements) &&
	       elements * (int64_t)dtype_bytes(to->dtype) >= target->scatter_carry &&
	       vectors_of(s, extents) <= target->tile_row_vectors;
}

bool scatter_choose_carry(const Scatter *s)
{
	const ScheduleClause *asked = gen_asked(s->gen, CHOICE_CARRY);
	if (!may_carry(s))
		return false;
	if (says_off(asked))
		gen_make(s->gen, CHOICE_CARRY, true);
	if (asks_off(asked))
		return false;
	Sym name = lanes_of(s)->name;
	if (asks_on(asked) ? !asks_name(asked, 0, name) : !carry_pays(s))
		return false;
	clause_add(s->gen->arena, gen_make(s->gen, CHOICE_CARRY, false), name, NULL, 0);
	return true;
}

/* Elements of the target behind the axes that are indexed. */
static Size row_of_target(const Scatter *s)
{
	const Access *to = &s->piece->result;
	Sizes *sizes = s->gen->program->sizes;
	const Shape *shape = lower_shape(s->gen->lower, s->id);
	Size all = size_const(sizes, 1);
	for (uint32_t i = 0; i < to->naxes; i++)
		if (to->axes[i].gather < 0)
			all = size_mul(sizes, all, shape_axis(shape, i)->size);
	return all;
}

/* Rows are one behind another, and each step has all of one. */
bool scatter_may_fill(const Scatter *s)
{
	const Sizes *sizes = s->gen->program->sizes;
	const Access *to = &s->piece->result;
	int64_t row, elements;
	bool behind = true;
	for (uint32_t i = to->naxes; i-- > 0;) {
		behind &= to->axes[i].gather < 0;
		if (!behind && to->axes[i].gather < 0)
			return false;
	}
	return s->first == 0 && !s->gen->lower->row_block && !size_is_bad(s->steps) &&
	       !size_is_bad(s->rows) && size_is_const(sizes, s->row, &elements) &&
	       size_is_const(sizes, row_of_target(s), &row) && row == elements &&
	       !size_ge(sizes, s->rows, size_plus(s->gen->program->sizes, s->steps, 1));
}

/* ---- its statements ---- */

static const Value *whole(const Scatter *s, const Ix *ix)
{
	return value_index(s->gen->arena, DTYPE_I64, ix);
}

static const Value *neutral_of(const Scatter *s)
{
	Dtype dtype = s->gen->program->buffers.at[s->to.buffer].dtype;
	return value_const(s->gen->arena, dtype, s->filling->neutral);
}

/* The statement that stands in the loops over the row. */
static Block over_row(const Scatter *s, const Stmt *stmt)
{
	Gen *gen = s->gen;
	Block body = block_of(gen, stmt);
	for (uint32_t i = s->nloops; i-- > s->behind;) {
		int64_t extent = 0;
		bool known = size_is_const(gen->program->sizes, s->loops[i].extent, &extent);
		REQUIRE(known);
		body = gen_loop(gen, i + 1 == s->nloops ? LOOP_VECTOR : LOOP_UNROLL,
				s->by_iter[s->loops[i].id]->iter, extent, body);
	}
	return body;
}

/* The element of the local at the row's iterators. */
static const Value *carried_element(const Scatter *s)
{
	const Ix *at[LOCAL_AXES];
	for (uint32_t i = s->behind; i < s->nloops; i++)
		at[i - s->behind] = s->by_iter[s->loops[i].id];
	return frame_value(&s->gen->frame, s->carried.row, at);
}

/* How far the element at the row's iterators, or the last one of the row, is behind the first. */
static const Ix *in_row(Scatter *s, bool last)
{
	Gen *gen = s->gen;
	const Access *access = &s->piece->result;
	const Ix **axes = ARENA_ARRAY(gen->arena, const Ix *, access->naxes + 1);
	const Ix **by_iter = ARENA_ARRAY(gen->arena, const Ix *, s->proj->niters + 1);
	for (uint32_t i = 0; i < s->proj->niters; i++)
		by_iter[i] = zero_ix(gen);
	for (uint32_t i = 0; i < access->naxes; i++)
		axes[i] = access->axes[i].gather >= 0
				  ? zero_ix(gen)
				  : access_index(gen, s->id, s->piece, &access->axes[i], by_iter);
	const Ix *first = flat_index(gen, s->id, axes);
	for (uint32_t i = s->behind; i < s->nloops; i++) {
		const ScatterLoop *loop = &s->loops[i];
		const Ix *end =
			ix_size(gen->arena, size_plus(gen->program->sizes, loop->extent, -1));
		by_iter[loop->id] = last ? end : s->by_iter[loop->id];
	}
	for (uint32_t i = 0; i < access->naxes; i++)
		if (access->axes[i].gather < 0)
			axes[i] = access_index(gen, s->id, s->piece, &access->axes[i], by_iter);
	return ix_minus(gen->program, flat_index(gen, s->id, axes), first);
}

/* The row that was carried, where there is one, into the target. */
static void store_carried(Scatter *s, Body *body)
{
	Gen *gen = s->gen;
	Program *program = gen->program;
	const Buffer *to = &program->buffers.at[s->to.buffer];
	const Ix *before = ix_value(gen->arena, gen_let(gen, body, "before", s->carried.last));
	const Ix *end = ix_size(gen->arena, to->elements);
	Cond *is_row = ARENA_ARRAY(gen->arena, Cond, 2);
	is_row[0] = (Cond){COND_LE, zero_ix(gen), before};
	is_row[1] = (Cond){COND_LT, ix_add(program, before, in_row(s, true)), end};
	scatter_open_row(s);
	const Stmt *store =
		stmt_store(gen->arena, s->to.buffer, ix_add(program, before, in_row(s, false)),
			   OP_NONE, carried_element(s));
	Block row = over_row(s, store);
	PUSH(gen->arena, body->stmts, stmt_if(gen->arena, is_row, 2, row));
}

/* Sets the elements of the target from `from` on. */
static void fill_by(Scatter *s, IterVar e, const Ix *from, const Ix *end, Body *body)
{
	Gen *gen = s->gen;
	Body one = {0};
	PUSH(gen->arena, one.stmts,
	     stmt_store(gen->arena, s->to.buffer, ix_iter(s->gen->arena, e), OP_NONE,
			neutral_of(s)));
	PUSH(gen->arena, body->stmts, stmt_for(gen->arena, e, from, end, body_block(&one)));
}

static void fill_up_to(Scatter *s, const Ix *end, Body *body)
{
	Gen *gen = s->gen;
	const Ix *from = ix_value(gen->arena, s->carried.filled);
	from = ix_binary(gen->program, IX_MAX, from, zero_ix(gen));
	fill_by(s, gen_iter(s->gen, "e"), from, end, body);
}

/* The whole target, where there are fewer steps than rows. */
static void begin_filling(Scatter *s, Body *body)
{
	Gen *gen = s->gen;
	const Sizes *sizes = gen->program->sizes;
	const Ix *end = ix_size(gen->arena, gen->program->buffers.at[s->to.buffer].elements);
	Cond few = {COND_LT, ix_size(gen->arena, s->steps), ix_size(gen->arena, s->rows)};
	Body all = {0};
	if (!s->filling)
		return;
	s->carried.filled = gen_let(gen, body, "filled", whole(s, zero_ix(gen)));
	if (size_ge(sizes, s->steps, s->rows))
		return;
	fill_by(s, s->filling->fill, zero_ix(gen), end, &all);
	PUSH(gen->arena, all.stmts,
	     stmt_set_at(gen->arena, s->carried.filled, OP_NONE, whole(s, end)));
	PUSH(gen->arena, body->stmts, stmt_if_one(gen->arena, few, body_block(&all)));
}

static Block row_from(Scatter *s, const Ix *place)
{
	Gen *gen = s->gen;
	scatter_open_row(s);
	const Ix *at = ix_add(gen->program, place, in_row(s, false));
	const Value *load = value_load(gen->program, s->to.buffer, at);
	return over_row(s, stmt_set_at(gen->arena, carried_element(s), OP_NONE, load));
}

/* A row that no step has come to, nor to one behind it. */
static Block new_row(Scatter *s, const Ix *place)
{
	Gen *gen = s->gen;
	Body body = {0};
	fill_up_to(s, place, &body);
	scatter_open_row(s);
	gen_append(
		gen, &body,
		over_row(s, stmt_set_at(gen->arena, carried_element(s), OP_NONE, neutral_of(s))));
	const Ix *end = ix_add(gen->program, place, ix_size(gen->arena, s->row));
	PUSH(gen->arena, body.stmts,
	     stmt_set_at(gen->arena, s->carried.filled, OP_NONE, whole(s, end)));
	return body_block(&body);
}

/* The row at `place`, which begins there, instead of the one that was carried. */
static Block exchange(Scatter *s, const Ix *place)
{
	Gen *gen = s->gen;
	Body body = {0};
	store_carried(s, &body);
	if (s->filling) {
		const Ix *end = ix_value(gen->arena, s->carried.filled);
		Cond is_set = {COND_LT, place, end}, is_new = {COND_LE, end, place};
		PUSH(gen->arena, body.stmts, stmt_if_one(gen->arena, is_set, row_from(s, place)));
		PUSH(gen->arena, body.stmts, stmt_if_one(gen->arena, is_new, new_row(s, place)));
	} else {
		gen_append(gen, &body, row_from(s, place));
	}
	PUSH(gen->arena, body.stmts,
	     stmt_set_at(gen->arena, s->carried.last, OP_NONE, whole(s, place)));
	return body_block(&body);
}

void scatter_begin_carried(Scatter *s, Body *body)
{
	Gen *gen = s->gen;
	Dtype dtype = gen->program->buffers.at[s->to.buffer].dtype;
	int64_t extents[LOCAL_AXES], elements;
	if (!s->carries)
		return;
	bool known = is_known(s, extents, &elements);
	REQUIRE(known);
	begin_filling(s, body);
	s->carried.last = gen_let(gen, body, "last", whole(s, gen_const(s->gen, -1)));
	s->carried.row = gen_declare(gen, body, "row", value_number(gen->arena, dtype, 0), extents,
				     s->nloops - s->behind);
}

void scatter_end_carried(Scatter *s, Body *body)
{
	Gen *gen = s->gen;
	const Ix *end = ix_size(gen->arena, gen->program->buffers.at[s->to.buffer].elements);
	if (s->carries)
		store_carried(s, body);
	if (s->filling)
		fill_up_to(s, end, body);
}

/* The first element of the row of a step. */
static const Ix *place_of(Scatter *s, ScatterStep *step)
{
	Gen *gen = s->gen;
	const Access *access = &s->piece->result;
	for (uint32_t i = s->behind; i < s->nloops; i++)
		s->by_iter[s->loops[i].id] = zero_ix(gen);
	for (uint32_t i = 0; i < access->naxes; i++)
		if (access->axes[i].gather < 0)
			step->axes[i] =
				access_index(gen, s->id, s->piece, &access->axes[i], s->by_iter);
	return flat_index(gen, s->id, step->axes);
}

Block scatter_carry_row(Scatter *s, ScatterStep *step)
{
	Gen *gen = s->gen;
	SharedLocals shared = {0};
	Body body = {0};
	IterVar lane;
	const Ix *place = place_of(s, step);
	const Value *differs = value_binary(gen->arena, OP_NE, whole(s, place), s->carried.last);
	Cond other = {COND_LT, zero_ix(gen), ix_value(gen->arena, differs)};
	PUSH(gen->arena, body.stmts, stmt_if_one(gen->arena, other, exchange(s, place)));
	const Value *value = scatter_element(s, &shared, &lane);
	REQUIRE(shared.n == 0);
	gen_append(gen, &body,
		   over_row(s, stmt_set_at(gen->arena, carried_element(s), s->to.acc, value)));
	return body_block(&body);
}
