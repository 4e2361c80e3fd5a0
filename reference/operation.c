/* Operations: what each point of the product space makes of the operands' elements, and what meets in
 * an element of the result. A step of a routine computes the right side whole before the target takes
 * it in, so that it reads what the target held before.
 */
#include <stdlib.h>
#include <string.h>

#include "base/held.h"
#include "reference/run.h"

/* ---- one point ---- */

typedef struct Filling {
	RefTensor *out;
	Fold *folds; /* by element; NULL: each is written once */
	Op reduce;
	Dtype wide;  /* in which it is computed */
	bool minus;  /* terms are taken away */
	bool narrow; /* at most two operands: their products are exact where the type holds them */
	bool pairs;  /* products of two bf16, which may take subnormal numbers for 0 */
	double product_error; /* of products of f32, relative; 0: none but rounding */
} Filling;

static Op op_of(const Node *node)
{
	switch (node->kind) {
	case NODE_COMPOSE: return OP_MUL;
	case NODE_POINTWISE:
	case NODE_SPEC: return node->op == OP_NONE ? OP_ID : node->op;
	default: return OP_ID;
	}
}

/* Operands of one point: those that it has, but indices. */
typedef struct Operands {
	RefElement elements[OPERANDS_MOST];
	Dtype dtypes[OPERANDS_MOST];
	uint32_t n;
} Operands;

static RefElement apply(const Walk *walk, Op op, Operands *x)
{
	static const RefElement zero;
	Dtype dtype = walk->node->dtype;
	if (op_gives_truth(op)) {
		dtype = DTYPE_NONE;
		for (uint32_t i = 0; i < x->n; i++)
			dtype = dtype_join(dtype, x->dtypes[i]);
	}
	for (uint32_t i = 0; i < x->n; i++)
		if (op == OP_WHERE && i == 0)
			x->elements[i] =
				element_op(&walk->run->rules, OP_NE, dtype_wide(x->dtypes[0]),
					   (const RefElement[]){x->elements[0], zero});
		else if (x->dtypes[i] != dtype)
			x->elements[i] = element_convert(x->elements[i], x->dtypes[i], dtype);
	return element_op(&walk->run->rules, op, dtype, x->elements);
}

static RefElement product_of(const Operands *x, Dtype dtype)
{
	Fold fold;
	fold_start(&fold, OP_MUL, dtype);
	for (uint32_t i = 0; i < x->n; i++) {
		RefElement factor = element_convert(x->elements[i], x->dtypes[i], dtype);
		fold_add(&fold, OP_MUL, dtype, &factor);
	}
	return fold_end(&fold, OP_MUL, dtype);
}

/* Of more operands than the operation takes, the first two, then that and the next; a product of
 * floats in any order. */
static RefElement combined(const Walk *walk, Operands *x)
{
	Op op = op_of(walk->node);
	Dtype dtype = walk->node->dtype;
	uint32_t n = x->n;
	if (op == OP_ID || (n == 1 && op_arity(op) != 1))
		return element_convert(x->elements[0], x->dtypes[0], dtype);
	if ((uint32_t)op_arity(op) == n)
		return apply(walk, op, x);
	REQUIRE(op_arity(op) == 2 && n > 2);
	if (op == OP_MUL && dtype_is_float(dtype))
		return product_of(x, dtype);
	RefElement value = x->elements[0];
	for (uint32_t i = 1; i < n; i++) {
		Operands two = {
			{value, x->elements[i]}, {i > 1 ? dtype : x->dtypes[0], x->dtypes[i]}, 2};
		value = apply(walk, op, &two);
	}
	return value;
}

/* A product of which an operand is a subnormal bf16. */
static void lose_subnormal(const Operands *x, RefElement *product)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (fabsl(x->elements[i].x) < 0x1p-126L)
			product->error += (double)fabsl(product->x);
	product->error += fabsl(product->x) < 0x1p-100L ? 0x1p-126 : 0;
}

static bool is_tf32(const RefElement *x)
{
	int exponent;
	long double digits = ldexpl(frexpl(x->x, &exponent), 11);
	return x->error == 0 && (x->x == 0 || exponent > -126) && digits == truncl(digits);
}

/* A product whose factors are taken for one number of tf32 each, or for the sum of two, of which the
 * second is 0 where the factor is small. The greatest numbers become infinite. */
static void lose_digits(const Filling *f, const Operands *x, RefElement *product)
{
	bool exact = true;
	for (uint32_t i = 0; i < x->n; i++) {
		const RefElement *factor = &x->elements[i];
		double size = (double)fabsl(factor->x);
		exact &= is_tf32(factor);
		if (size + factor->error >= 0x1.ffep127)
			*product = element_unknown();
		else if (size > 0 && size < 0x1p-100)
			product->error += (double)fabsl(product->x) + product->error;
	}
	if (!exact && !isnan(product->x))
		product->error += f->product_error * ((double)fabsl(product->x) + product->error);
}

/* A padded read that is skipped may be a 0 that is multiplied, which shows beside what is no
 * finite number. */
static bool shows_padding(const Walk *walk, const Filling *f, const Operands *x)
{
	bool shows = false;
	for (uint32_t i = 0; i < x->n; i++)
		shows |= element_is_unknown(&x->elements[i]) || !isfinite(x->elements[i].x);
	return shows && op_of(walk->node) == OP_MUL && f->reduce == OP_ADD;
}

/* false: a padded read is outside. */
static bool read_operands(const Walk *walk, Operands *x)
{
	const Node *node = walk->node;
	bool inside = true;
	x->n = 0;
	for (uint32_t i = 0; i < node->nargs; i++) {
		bool index = node_kind_indexes(node->kind) && i > 0;
		if (!walk->piece->args[i].present || index)
			continue;
		int64_t at = walk_position(walk, &walk->args[i]);
		inside &= at >= 0;
		if (at < 0)
			continue;
		REQUIRE(x->n < OPERANDS_MOST);
		x->elements[x->n] = walk->args[i].tensor->elements[at];
		x->dtypes[x->n++] = walk->args[i].tensor->dtype;
	}
	return inside;
}

/* Several operands are multiplied and added up in pairs: a pair's sum of infinities may be one, where the sum
 * of all products is no number (docs/language.md, "What the numbers do"). */
static bool depends_on_pairs(const Filling *f, const Operands *x)
{
	bool infinite = false;
	for (uint32_t i = 0; i < x->n; i++)
		infinite |= isinf(x->elements[i].x);
	return infinite && !f->narrow;
}

static void visit(Walk *walk, void *of)
{
	Filling *f = of;
	Operands x;
	int64_t to = walk_position(walk, &walk->result);
	if (to < 0)
		return;
	if (!read_operands(walk, &x)) {
		if (f->folds && shows_padding(walk, f, &x))
			f->folds[to].unknown = true;
		return;
	}
	RefElement value = combined(walk, &x);
	if (f->pairs)
		lose_subnormal(&x, &value);
	if (f->product_error > 0)
		lose_digits(f, &x, &value);
	if (f->folds) {
		f->folds[to].exact &= f->narrow;
		f->folds[to].unknown |= depends_on_pairs(f, &x);
		value.x = f->minus ? -value.x : value.x;
		fold_add(&f->folds[to], f->reduce, f->wide, &value);
	} else {
		f->out->elements[to] = value;
	}
}

/* ---- all of them ---- */

static bool is_bf16(const Run *run, NodeId id)
{
	const Node *node = run_node(run, id);
	return node->dtype == DTYPE_BF16 ||
	       (node->kind == NODE_CAST && run_node(run, node->args[0])->dtype == DTYPE_BF16);
}

static Filling filling_of(const Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	bool spec = node->kind == NODE_SPEC || node->kind == NODE_BLOCK ||
		    node->kind == NODE_SCATTER;
	Filling f = {.out = out,
		     .reduce = spec && node->reduce != OP_NONE ? node->reduce : OP_ADD,
		     .wide = dtype_wide(node->dtype),
		     .narrow = node->nargs < 3};
	f.pairs = run->rules.pairs && op_of(node) == OP_MUL && node->nargs == 2 &&
		  is_bf16(run, node->args[0]) && is_bf16(run, node->args[1]);
	if (op_of(node) == OP_MUL && node->nargs > 1 && node->dtype == DTYPE_F32)
		f.product_error = run->rules.product_error;
	return f;
}

/* What a step's target holds before, with which the terms meet in any order, where it has the type
 * that they are folded in; else NULL. */
static const RefTensor *held_before(Run *run, NodeId id, Op reduce)
{
	const Node *node = run_node(run, id);
	const RefTensor *target = node->target == NODE_NONE ? NULL : run_tensor(run, id);
	Dtype dtype = node->dtype;
	bool same = target && target->dtype == dtype && dtype_wide(dtype) == dtype;
	bool adds = (node->acc == OP_ADD || node->acc == OP_SUB) && reduce == OP_ADD,
	     multiplies = node->acc == OP_MUL && reduce == OP_MUL;
	bool meets = same && !run->inference->projs[id]->linear &&
		     !run->inference->projs[id]->injective && (adds || multiplies);
	return meets ? target : NULL;
}

static bool folds_new(Run *run, NodeId id, Filling *f)
{
	const RefTensor *before = held_before(run, id, f->reduce);
	f->folds = held_alloc((size_t)f->out->n + 1, sizeof *f->folds);
	f->minus = before && run_node(run, id)->acc == OP_SUB;
	for (int64_t i = 0; f->folds && i < f->out->n; i++) {
		RefElement first = before && !run_node(run, id)->clear ? before->elements[i]
								       : element_exact(0);
		fold_start(&f->folds[i], f->reduce, f->wide);
		if (before && !run_node(run, id)->clear)
			fold_add(&f->folds[i], f->reduce, f->wide, &first);
	}
	return f->folds != NULL;
}

/* Element k of the operand is elements k*width .. of the result. */
static void fill_linear(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	const RefTensor *from = run_tensor(run, node->args[0]);
	int64_t width = run->inference->projs[id]->width;
	for (int64_t i = 0; i < out->n; i++) {
		RefElement element = from->elements[i / width];
		if (width > 1)
			element.w[0] = element.w[i % width];
		out->elements[i] = element_convert(element, from->dtype, out->dtype);
	}
}

static bool fill_points(Run *run, NodeId id, RefTensor *out)
{
	Filling f = filling_of(run, id, out);
	RefElement none = element_neutral(f.reduce, out->dtype);
	if (operation_add_in_order(run, id, out))
		return true;
	bool meet = !run->inference->projs[id]->injective && out->dtype != DTYPE_U4X32 &&
		    f.reduce != OP_ID; /* of those the last one stays */
	if (meet && !folds_new(run, id, &f)) {
		run->result->outcome = REF_TOO_MUCH;
		return false;
	}
	for (int64_t i = 0; i < out->n; i++)
		out->elements[i] = none;
	walk_points(run, id, visit, &f);
	for (int64_t i = 0; f.folds && i < out->n; i++)
		out->elements[i] = element_convert(fold_end(&f.folds[i], f.reduce, f.wide), f.wide,
						   out->dtype);
	held_free(f.folds);
	return true;
}

/* ---- the greatest ---- */

/* Of one element: the index that is found, and the first and the last that might be. */
typedef struct Best {
	long double value, surely; /* the greatest, and what is at least reached */
	int64_t at, first, last;
	bool exact;  /* the greatest has no error */
	bool least;  /* of the elements' negatives */
	bool second; /* walk: now for the candidates */
} Best;

static void find_best(Walk *walk, void *of)
{
	Best *best = &((Best *)of)[walk_position(walk, &walk->result)];
	RefElement negative,
		*element = &walk->args[0].tensor->elements[walk_position(walk, &walk->args[0])];
	int64_t along = 0;
	for (uint32_t i = 0; i < walk->piece->niters; i++)
		if (walk->proj->iters[walk->piece->iters[i]].reduced)
			along = walk->at[walk->piece->iters[i]];
	if (best->least) {
		negative = *element;
		negative.x = -negative.x;
		element = &negative;
	}
	if (best->second) {
		bool equal = best->exact && along > best->at && element->error == 0 &&
			     element->x == best->value;
		bool may = !equal && element->x + element->error >= best->surely;
		best->first = may && along < best->first ? along : best->first;
		best->last = may && along > best->last ? along : best->last;
		return;
	}
	if (element->x > best->value) {
		best->value = element->x;
		best->exact = element->error == 0;
		best->at = along;
	}
	if (element->x - element->error > best->surely)
		best->surely = element->x - element->error;
}

static bool fill_argmax(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	Best *best = held_alloc((size_t)out->n + 1, sizeof *best);
	if (!best) {
		run->result->outcome = REF_TOO_MUCH;
		return false;
	}
	for (int64_t i = 0; i < out->n; i++)
		best[i] = (Best){.value = -(long double)INFINITY,
				 .surely = -(long double)INFINITY,
				 .exact = true,
				 .least = node->reduce == OP_MIN};
	walk_points(run, id, find_best, best);
	for (int64_t i = 0; i < out->n; i++) {
		best[i].first = best[i].last = best[i].at;
		best[i].second = true;
	}
	walk_points(run, id, find_best, best);
	for (int64_t i = 0; i < out->n; i++) {
		int64_t below = best[i].at - best[i].first, above = best[i].last - best[i].at;
		out->elements[i] = (RefElement){.x = best[i].at,
						.error = (double)(below > above ? below : above),
						.jumps = below + above > 0};
	}
	held_free(best);
	return true;
}

/* ---- indices that are read ---- */

static bool finds_size(const Access *access, const Shape *shape, uint32_t arg, Size *size)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		if (access->axes[i].gather == (int32_t)arg) {
			*size = shape_axis(shape, i)->size;
			return true;
		}
	return false;
}

/* Elements of the axis that operand `arg` is the index of. */
static int64_t indexed_size(const Run *run, NodeId id, uint32_t arg)
{
	const Piece *piece = &run->inference->projs[id]->pieces[0];
	const Shape *shapes = run->inference->shapes;
	Size size;
	if (!finds_size(&piece->args[0], &shapes[run_node(run, id)->args[0]], arg, &size) &&
	    !finds_size(&piece->result, &shapes[id], arg, &size))
		BUG("nothing is read at an index");
	return run_size(run, size);
}

/* All of them, whether or not something is read there. Indices of other modes must be known, too. */
static bool indices_fit(Run *run, NodeId id, uint32_t arg)
{
	const Node *node = run_node(run, id);
	const RefTensor *ids = run_tensor(run, node->args[arg]);
	int64_t size = indexed_size(run, id, arg);
	for (int64_t i = 0; i < ids->n; i++) {
		RefElement at = ids->elements[i];
		if (!dtype_is_integer(ids->dtype))
			at = element_convert(at, ids->dtype, DTYPE_I32);
		bool inside = node->mode != INDEX_CHECKED || (at.x >= 0 && at.x < size);
		if (at.error == 0 && inside)
			continue;
		run->result->outcome = at.error > 0 ? REF_UNDECIDED : REF_OUTSIDE;
		run->result->span = node->span;
		return false;
	}
	return true;
}

bool operation_fill(Run *run, NodeId id, RefTensor *out)
{
	const Node *node = run_node(run, id);
	const Proj *proj = run->inference->projs[id];
	for (uint32_t arg = 1; node_kind_indexes(node->kind) && arg < node->nargs; arg++)
		if (!indices_fit(run, id, arg))
			return false;
	if (node->kind == NODE_RANDOM)
		stream_fill(run, id, out);
	else if (proj->linear)
		fill_linear(run, id, out);
	else if (node->kind == NODE_ARGMAX)
		return fill_argmax(run, id, out);
	else if (node->along.letter)
		return along_fill(run, id, out);
	else
		return fill_points(run, id, out);
	return true;
}

/* ---- steps ---- */

static void mark(Walk *walk, void *of)
{
	int64_t to = walk_position(walk, &walk->result);
	if (to >= 0)
		((bool *)of)[to] = true;
}

/* All elements that a step writes, whether or not it adds anything up there. */
static bool *written(Run *run, NodeId id, int64_t n)
{
	bool *elements = held_alloc((size_t)n + 1, sizeof *elements);
	if (!elements)
		run->result->outcome = REF_TOO_MUCH;
	else if (run->inference->projs[id]->linear)
		memset(elements, true, (size_t)n);
	else
		walk_elements(run, id, mark, elements);
	return elements;
}

/* In the target's wide type, rounded once. Quotients by many may be taken one after another. */
static RefElement taken(const Run *run, NodeId id, RefElement old, RefElement value)
{
	const Node *node = run_node(run, id);
	Dtype dtype = run_node(run, node->target)->dtype, wide = dtype_wide(dtype);
	if (node->acc == OP_NONE)
		return element_convert(value, node->dtype, dtype);
	const RefElement args[] = {element_convert(old, dtype, wide),
				   element_convert(value, node->dtype, wide)};
	RefElement out = element_op(&run->rules, node->acc, wide, args);
	if (node->acc == OP_DIV && dtype_is_float(wide) && !run->inference->projs[id]->injective)
		out.error +=
			(double)walk_count(run, id) * element_unit(wide) * (double)fabsl(out.x);
	return element_convert(out, wide, dtype);
}

bool operation_assign(Run *run, NodeId id)
{
	const Node *node = run_node(run, id);
	RefTensor *target = run_tensor(run, id), value = {.n = target->n, .dtype = node->dtype};
	RefElement neutral = element_neutral(node->acc, target->dtype);
	bool *writes = NULL;
	bool good = run_reserve(run, &value, id) && operation_fill(run, id, &value) &&
		    (writes = written(run, id, target->n));
	bool met = good && held_before(run, id, filling_of(run, id, &value).reduce);
	for (int64_t i = 0; good && i < target->n; i++) {
		RefElement old = node->clear ? neutral : target->elements[i];
		target->elements[i] =
			!writes[i] ? old
			: met	   ? element_convert(value.elements[i], node->dtype, target->dtype)
				   : taken(run, id, old, value.elements[i]);
	}
	run_release(run, &value);
	held_free(writes);
	return good;
}
