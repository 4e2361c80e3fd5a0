/* Which statements and loops are products of neighbours: see matrix.h. */
#include "loops/matrix.h"

#include "loops/build.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

enum { QUAD = 4, WORDS_MOST = 64, ROWS_MOST = 64 };

/* At most `most`, or one more than that. */
static uint32_t list_products(const Value *value, const Value **out, uint32_t n, uint32_t most)
{
	if (n <= most && value->kind == VALUE_OP && value->op == OP_ADD)
		return list_products(value->args[1], out,
				     list_products(value->args[0], out, n, most), most);
	if (n < most)
		out[n] = value;
	return n + 1;
}

static bool is_packed(const Program *program, const Value *load)
{
	return dtype_is_packed(program->buffers.at[load->buffer].dtype);
}

/* The load that the factor of a product is, as its wide type; NULL: it is none. */
static const Value *widened_load(const Value *product, uint32_t arg)
{
	if (product->kind != VALUE_OP || product->op != OP_MUL)
		return NULL;
	const Value *cast = product->args[arg];
	bool widens = cast->kind == VALUE_CAST && cast->args[0]->kind == VALUE_LOAD &&
		      cast->dtype == dtype_wide(cast->args[0]->dtype);
	return widens ? cast->args[0] : NULL;
}

static const Value *narrow_load(const Program *program, const Value *product, uint32_t arg)
{
	const Value *load = widened_load(product, arg);
	bool narrow = load && (dtype_is_byte(load->dtype) || load->dtype == DTYPE_BF16);
	return narrow && !is_packed(program, load) ? load : NULL;
}

/* Does `load` read element q of the words that `first` begins? */
static bool is_element(Program *program, const Value *first, const Value *load, uint32_t q)
{
	if (!load || first->buffer != load->buffer)
		return false;
	const Ix *moved = ix_plus(program, first->ix, q);
	return ix_same(moved, load->ix);
}

/* Is factor `at` of all products a word for each lane, or one that they share? */
static bool is_word(Program *program, const Value *const *products, LaneProducts *p, uint32_t at,
		    IterVar lane)
{
	const Value *first = p->factors[at];
	p->shared[at] = ix_moves_by(program, first->ix, lane, 0);
	if (!p->shared[at] && !ix_moves_by(program, first->ix, lane, p->all))
		return false;
	for (uint32_t q = 0; q < p->n; q++)
		if (!is_element(program, first, narrow_load(program, products[q], at), q))
			return false;
	return true;
}

bool lane_products(Program *program, const Stmt *stmt, IterVar lane, LaneProducts *p)
{
	const Value *products[QUAD];
	p->n = list_products(stmt->value, products, 0, QUAD);
	if (p->n > QUAD)
		return false;
	const Value *a = narrow_load(program, products[0], 0),
		    *b = narrow_load(program, products[0], 1);
	if (!a || !b || dtype_bytes(a->dtype) != dtype_bytes(b->dtype))
		return false;
	p->factors[0] = a;
	p->factors[1] = b;
	p->all = QUAD / (uint32_t)dtype_bytes(a->dtype);
	if (!is_word(program, products, p, 0, lane) || !is_word(program, products, p, 1, lane))
		return false;
	int shared = p->shared[0] + p->shared[1];
	return p->n == p->all ? shared < 2 : p->n < p->all && shared == 1;
}

bool word_products(Program *program, const Stmt *stmt, IterVar lane, WordProducts *p)
{
	const Value *products[PACKED_WORD];
	if (list_products(stmt->value, products, 0, PACKED_WORD) != PACKED_WORD)
		return false;
	uint32_t bytes = narrow_load(program, products[0], 0) ? 0 : 1;
	p->bytes = narrow_load(program, products[0], bytes);
	p->elements = widened_load(products[0], !bytes);
	if (!p->bytes || !p->elements || !dtype_is_byte(p->bytes->dtype) ||
	    p->bytes->dtype == DTYPE_BOOL || !is_packed(program, p->elements) ||
	    !ix_moves_by(program, p->bytes->ix, lane, 0) ||
	    !ix_moves_by(program, p->elements->ix, lane, PACKED_WORD))
		return false;
	bool fits = true;
	for (uint32_t q = 0; q < PACKED_WORD && fits; q++)
		fits = is_element(program, p->bytes, widened_load(products[q], bytes), q) &&
		       is_element(program, p->elements, widened_load(products[q], !bytes), q);
	return fits;
}

/* ---- products of matrices ---- */

/* The only statement of a loop from 0 to a constant; NULL: it is another loop. */
static const Stmt *inside(const Program *program, const Stmt *loop, LoopKind kind, int64_t *n)
{
	bool fits = loop->kind == LOOP_FOR && loop->loop == kind && loop->lanes == 0 &&
		    loop->body.n == 1 && (*n = trips_from_zero(program, loop)) > 0;
	return fits ? loop->body.stmts[0] : NULL;
}

static bool has_stride(Program *program, const Ix *ix, IterVar iter)
{
	return !ix->reads && !size_is_bad(ix_stride(program, ix, iter));
}

/* acc[r, lane], with something added to r */
static bool adds_to_elements(Program *program, const MatrixProduct *m)
{
	const Stmt *set = m->set;
	IterVar r = m->rows->iter, q = m->words->iter, lane = m->lanes->iter;
	return set->kind == LOOP_SET && set->acc == OP_ADD && set->nixs == 2 &&
	       ix_moves_by(program, set->ixs[0], r, 1) && !ix_uses(set->ixs[0], q) &&
	       !ix_uses(set->ixs[0], lane) && !set->ixs[0]->reads && set->ixs[1]->kind == IX_ITER &&
	       set->ixs[1]->iter == lane;
}

/* Rows share no word of the columns, columns none of the rows. */
static bool has_matrices(Program *program, const MatrixProduct *m, uint32_t all)
{
	IterVar r = m->rows->iter, q = m->words->iter, lane = m->lanes->iter;
	return ix_moves_by(program, m->a->ix, lane, 0) && ix_moves_by(program, m->a->ix, q, all) &&
	       has_stride(program, m->a->ix, r) && ix_moves_by(program, m->b->ix, lane, all) &&
	       ix_moves_by(program, m->b->ix, r, 0) && has_stride(program, m->b->ix, q);
}

bool matrix_product(Program *program, const Stmt *loop, MatrixProduct *m)
{
	LaneProducts products;
	*m = (MatrixProduct){.rows = loop};
	m->words = inside(program, loop, LOOP_MATRIX, &m->nrows);
	m->lanes = m->words ? inside(program, m->words, LOOP_UNROLL, &m->nwords) : NULL;
	m->set = m->lanes ? inside(program, m->lanes, LOOP_VECTOR, &m->ncolumns) : NULL;
	if (!m->set || m->nrows > ROWS_MOST || m->nwords > WORDS_MOST ||
	    !adds_to_elements(program, m) ||
	    !lane_products(program, m->set, m->lanes->iter, &products) ||
	    products.n != products.all)
		return false;
	bool first = products.shared[0];
	m->a = products.factors[!first];
	m->b = products.factors[first];
	return has_matrices(program, m, products.all);
}

/* ---- statements of nothing else ---- */

typedef struct Sight {
	Program *program;
	MatrixFits fits;
	MatrixProduct *first;
	bool any, wrong;
} Sight;

static bool same_sums(const MatrixProduct *x, const MatrixProduct *y)
{
	return x->set->local == y->set->local && x->nrows == y->nrows &&
	       x->ncolumns == y->ncolumns && x->rows->iter == y->rows->iter &&
	       ix_same(x->set->ixs[0], y->set->ixs[0]);
}

static void see_product(Sight *sight, const Stmt *loop)
{
	MatrixProduct m;
	if (!matrix_product(sight->program, loop, &m) ||
	    !sight->fits(sight->program->options.target, &m) ||
	    (sight->any && !same_sums(sight->first, &m))) {
		sight->wrong = true;
		return;
	}
	if (!sight->any)
		*sight->first = m;
	sight->any = true;
}

static void see_stmt(Sight *sight, const Stmt *stmt)
{
	bool loop = stmt->kind == LOOP_FOR;
	if (loop && stmt->loop == LOOP_MATRIX)
		see_product(sight, stmt);
	else if (stmt->kind == LOOP_IF || (loop && stmt->loop == LOOP_SERIAL && !stmt->outlined))
		for (uint32_t i = 0; i < stmt->body.n && !sight->wrong; i++)
			see_stmt(sight, stmt->body.stmts[i]);
	else
		sight->wrong |= stmt->kind != LOOP_PREFETCH;
}

bool matrix_only(Program *program, const Stmt *stmt, MatrixFits fits, MatrixProduct *first)
{
	Sight sight = {.program = program, .fits = fits, .first = first};
	if (stmt->kind == LOOP_FOR || stmt->kind == LOOP_IF)
		see_stmt(&sight, stmt);
	return sight.any && !sight.wrong;
}

bool block_has_matrix(Block block, bool chunks)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool loop = stmt->kind == LOOP_FOR;
		if (loop && stmt->loop == LOOP_MATRIX)
			return true;
		bool other = loop && stmt->loop == LOOP_PARALLEL && !chunks;
		if (!other && block_has_matrix(stmt->body, chunks))
			return true;
	}
	return false;
}
