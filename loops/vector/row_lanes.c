/* Lanes along rows of a few elements: neighbouring rows are loaded as whole vectors, of which each column is
 * taken, and stored so again (here 16 lanes):
 *
 *   for i in lo..hi                        for i in lo..hi - 15 step 16
 *     y[i*2] = x[i*2] - x[i*2 + 1]           vector lane in 0..32: rows[lane] = x[i*2 + lane]
 *     y[i*2 + 1] = x[i*2 + 1] * s[i]   ->    vector lane in 0..16
 *                                              columns[0, lane] = rows[lane*2] - rows[lane*2 + 1]
 *                                              columns[1, lane] = rows[lane*2 + 1] * s[i + lane]
 *                                            vector lane in 0..32: y[i*2 + lane] = columns[lane%2, lane/2]
 *                                          for i in lo + ((hi - lo)/16)*16..hi
 *                                            y[i*2] = x[i*2] - x[i*2 + 1]
 *                                            y[i*2 + 1] = x[i*2 + 1] * s[i]
 *
 * What is cast to another type is stored element by element behind its lanes. Legal where iterations are
 * independent, every column of a row is stored once, and nothing is loaded that is stored. All that is loaded
 * stands between elements that the iterations load.
 */
#include "loops/linear.h"
#include "loops/vector/row_lanes.h"
#include "loops/walk.h"

/* ---- legal? ---- */

int64_t row_lanes_stride(const RowLanes *r, const Ix *ix)
{
	int64_t stride;
	Program *program = r->t->program;
	if (!ix_uses(ix, r->loop->iter))
		return 0;
	return size_is_const(program->sizes, ix_stride(program, ix, r->loop->iter), &stride)
		       ? stride
		       : -1;
}

Columns *row_lanes_columns(RowLanes *r, BufferId buffer, const Ix *ix, int64_t stride, int64_t *at)
{
	Program *program = r->t->program;
	for (uint32_t i = 0; i < r->n; i++) {
		const Ix *distance = ix_minus(program, ix, r->groups[i].first);
		if (r->groups[i].buffer == buffer && r->groups[i].stride == stride &&
		    distance->kind == IX_SIZE && size_is_const(program->sizes, distance->size, at) &&
		    *at > -stride && *at < stride)
			return &r->groups[i];
	}
	return NULL;
}

bool row_lanes_note(RowLanes *r, BufferId buffer, const Ix *ix, int64_t stride, Dtype dtype,
		    bool stored)
{
	int64_t at = 0;
	Columns *c = row_lanes_columns(r, buffer, ix, stride, &at);
	if (!c && r->n == GROUPS_MOST)
		return false;
	if (!c) {
		c = &r->groups[r->n++];
		*c = (Columns){.buffer = buffer, .first = ix, .stride = stride, .dtype = dtype};
	}
	if (at < 0) { /* the first column that was met is a later one */
		c->first = ix;
		c->loaded <<= -at;
		c->stored <<= -at;
		at = 0;
	}
	uint32_t bit = 1u << at;
	bool twice = c->stored & bit;
	*(stored ? &c->stored : &c->loaded) |= bit;
	return !twice && ((c->loaded | c->stored) >> stride) == 0 && c->dtype == dtype;
}

const Value *row_lanes_load(const Value *value)
{
	const Value *from = value->kind == VALUE_CAST ? value->args[0] : value;
	return from->kind == VALUE_LOAD ? from : NULL;
}

static const char *load_refused(RowLanes *r, const Value *value)
{
	const Value *load = row_lanes_load(value);
	int64_t stride = row_lanes_stride(r, load->ix);
	if (load->ix->reads)
		return "an index is read from memory";
	if (stride < 1 || stride > COLUMNS_MOST)
		return "a load is no column of a short row";
	return stride == 1 || row_lanes_note(r, load->buffer, load->ix, stride, value->dtype, false)
		       ? NULL
		       : "a row is loaded in several ways";
}

static const char *value_refused(RowLanes *r, const Value *value)
{
	if (!value_varies(value, r->loop->iter, r->own))
		return NULL;
	if (value->dtype != DTYPE_F32)
		return "a value is no f32";
	if (row_lanes_load(value))
		return load_refused(r, value);
	bool call = value->kind == VALUE_OP && r->t->target->in_lanes[value->op];
	r->pays |= call;
	if (value->kind == VALUE_OP ? !call && !op_is_simple(value->op)
				    : value->kind != VALUE_LOCAL || value->nixs > 0)
		return "a value has no vectors";
	for (uint32_t i = 0; i < value->nargs; i++) {
		const char *why = value_refused(r, value->args[i]);
		if (why)
			return why;
	}
	return NULL;
}

const Value *row_lanes_computed(const Stmt *stmt)
{
	const Value *value = stmt->value;
	bool cast = stmt->kind == LOOP_STORE && value->kind == VALUE_CAST &&
		    dtype_bytes(value->dtype) <= dtype_bytes(DTYPE_F32) &&
		    !dtype_is_packed(value->dtype);
	return cast ? value->args[0] : value;
}

bool row_lanes_direct(const RowLanes *r, const Stmt *store)
{
	return row_lanes_stride(r, store->ix) == 1 && row_lanes_computed(store) == store->value;
}

static bool is_stored_again(const RowLanes *r, const Stmt *store)
{
	bool again = false;
	for (uint32_t i = 0; i < r->loop->body.n; i++) {
		const Stmt *other = r->loop->body.stmts[i];
		again |= other != store && other->kind == LOOP_STORE &&
			 other->buffer == store->buffer;
	}
	return again;
}

static const char *stmt_refused(RowLanes *r, const Stmt *stmt)
{
	if (stmt->kind != LOOP_LOCAL && stmt->kind != LOOP_STORE)
		return "the body is more than locals and stores";
	if (stmt->kind == LOOP_LOCAL && r->t->kernel->locals[stmt->local].rank > 0)
		return "a local has axes";
	const Value *value = row_lanes_computed(stmt);
	const char *why = value->dtype == DTYPE_F32 ? value_refused(r, value) : "a value is no f32";
	if (why || stmt->kind == LOOP_LOCAL) {
		r->own[stmt->local] |= stmt->kind == LOOP_LOCAL;
		return why;
	}
	int64_t stride = row_lanes_stride(r, stmt->ix);
	if (stmt->ix->reads || stmt->acc != OP_NONE || stride < 1 || stride > COLUMNS_MOST)
		return "a store is no column of a short row";
	r->pays |= stride > 1;
	bool once = row_lanes_direct(r, stmt)
			    ? !is_stored_again(r, stmt)
			    : row_lanes_note(r, stmt->buffer, stmt->ix, stride, DTYPE_F32, true);
	return once ? NULL : "a row is stored in several ways";
}

bool row_lanes_ends(const Columns *c)
{
	uint32_t ends = 1u | 1u << (c->stride - 1);
	return (c->loaded & ends) == ends;
}

/* Is a buffer that is stored touched in one way, and each row as a whole? */
static const char *groups_refused(const RowLanes *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const Columns *c = &r->groups[i];
		uint32_t all = (1u << c->stride) - 1;
		if ((c->loaded && !row_lanes_ends(c)) || (c->stored && c->stored != all))
			return "columns of a row are left out";
		for (uint32_t k = 0; k < i; k++)
			if (r->groups[k].buffer == c->buffer && (r->groups[k].stored || c->stored))
				return "a row is stored in several ways";
	}
	return NULL;
}

/* Does the body load what it stores? Then vectors would see other iterations' elements, or old ones. */
static bool loads_stored(const Stmt *loop)
{
	bool loads = false;
	for (uint32_t i = 0; i < loop->body.n; i++)
		for (uint32_t k = 0; k < loop->body.n && loop->body.stmts[i]->kind == LOOP_STORE;
		     k++)
			loads |= value_loads(loop->body.stmts[k]->value,
					     loop->body.stmts[i]->buffer);
	return loads;
}

const char *row_lanes_find(RowLanes *r)
{
	const Vectoring *t = r->t;
	int64_t trips = constant_trips(t->program, r->loop);
	if (t->target->row_lanes == 0)
		return "the target does not permute lanes";
	if (r->loop->loop != LOOP_SERIAL || r->loop->step != 1)
		return "the loop is no plain one";
	if (trips >= 0 && trips < t->target->row_lanes)
		return "there are few iterations";
	r->own = ARENA_ARRAY(t->program->arena, bool, t->kernel->nlocals + 1);
	for (uint32_t i = 0; i < r->loop->body.n; i++) {
		const char *why = stmt_refused(r, r->loop->body.stmts[i]);
		if (why)
			return why;
	}
	if (r->n == 0 || !r->pays)
		return "no row of a few elements is stored";
	return loads_stored(r->loop) ? "an element is loaded that is stored" : groups_refused(r);
}

const char *row_lanes_refused(const Vectoring *t, const Stmt *loop)
{
	RowLanes r = {.t = t, .loop = loop};
	return row_lanes_find(&r);
}

