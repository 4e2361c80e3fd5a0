/* What each operation asks of the axes of its result and operands, and that their numbers fit. */
#include "infer/check.h"

#include <stb/stb_ds.h>

static const RowKind storage_order[ROW_KINDS] = {ROW_BATCH, ROW_OUTPUT, ROW_INPUT};

static const Shape *shape_of(const Checker *c, NodeId id) { return &c->inference->shapes[id]; }

static ExpectTensor blank(Checker *c, const Shape *shape)
{
	ExpectTensor tensor = {.n = shape_naxes(shape)};
	tensor.axes = ARENA_ARRAY(c->arena, Expect, tensor.n);
	for (uint32_t i = 0; i < tensor.n; i++)
		tensor.axes[i] = (Expect){.kind = EXPECT_INDEX,
					  .axis = shape_axis(shape, i),
					  .key = KEY_NONE,
					  .kernel = KEY_NONE,
					  .gather = -1};
	return tensor;
}

static Expect *row_of(ExpectTensor *tensor, const Shape *shape, RowKind kind)
{
	uint32_t before = 0;
	for (int k = 0; storage_order[k] != kind; k++)
		before += shape->rows[storage_order[k]].n;
	return tensor->axes + before;
}

static uint32_t new_key(Checker *c, Sym letter)
{
	PUSH(c->arena, c->keys, ((Key){.letter = letter}));
	return (uint32_t)c->keys.n - 1;
}

/* ---- operations without a specification ---- */

typedef struct KeyRow {
	uint32_t first, n;
} KeyRow;

static KeyRow own_row(Checker *c, Expect *axes, uint32_t n)
{
	KeyRow row = {(uint32_t)c->keys.n, n};
	for (uint32_t i = 0; i < n; i++) {
		axes[i].kind = EXPECT_KEY;
		axes[i].key = new_key(c, NULL);
	}
	return row;
}

/* An operand's row meets the keys: `lead` axes at their left end, the others at their right end. */
static bool meet(Checker *c, Expect *axes, const Row *row, uint32_t skip, KeyRow keys)
{
	uint32_t n = row->n - skip;
	if (row->n < skip || n > keys.n)
		return check_fail(c, "an operand's row of %u axes meets one of %u", n, keys.n);
	uint32_t left = row->lead < skip ? 0 : row->lead - skip;
	for (uint32_t i = 0; i < n; i++) {
		Expect *axis = &axes[skip + i];
		uint32_t key = keys.first + (i < left ? i : keys.n - n + i);
		c->keys.at[key].met = true;
		if (row->axes[skip + i].stretch) {
			axis->stretched = true;
			continue;
		}
		c->keys.at[key].wide = true;
		axis->kind = EXPECT_KEY;
		axis->key = key;
	}
	return true;
}

typedef struct OwnRows {
	KeyRow rows[ROW_KINDS];
} OwnRows;

static OwnRows own_rows(Checker *c)
{
	OwnRows own;
	const Shape *shape = shape_of(c, c->id);
	for (int k = 0; k < ROW_KINDS; k++)
		own.rows[k] = own_row(c, row_of(&c->result, shape, (RowKind)k), shape->rows[k].n);
	return own;
}

static bool meet_row(Checker *c, uint32_t arg, RowKind kind, uint32_t skip, KeyRow keys)
{
	const Shape *shape = shape_of(c, c->node->args[arg]);
	return meet(c, row_of(&c->args[arg], shape, kind), &shape->rows[kind], skip, keys);
}

static bool meet_all(Checker *c, uint32_t arg, const OwnRows *own)
{
	for (int k = 0; k < ROW_KINDS; k++)
		if (!meet_row(c, arg, (RowKind)k, 0, own->rows[k]))
			return false;
	return true;
}

/* Nothing but 1 broadcasts into an axis of a result that is 1 itself. An assignment has its
 * target's axes, an initialiser its parameter's. */
static bool check_ones(Checker *c)
{
	bool own = c->node->target == NODE_NONE && c->node->like == NODE_NONE;
	for (uint32_t i = 0; own && i < c->result.n; i++) {
		const Expect *expect = &c->result.axes[i];
		const Key *key = expect->kind == EXPECT_KEY ? &c->keys.at[expect->key] : NULL;
		if (key && key->met && !key->wide &&
		    !holds_equal(c, expect->axis->size, size_const(c->sizes, 1)))
			return check_fail(c, "an axis of %s is made of broadcasting axes alone",
					  size_text(c->arena, c->sizes, expect->axis->size));
	}
	return true;
}

static bool expect_pointwise(Checker *c)
{
	OwnRows own = own_rows(c);
	for (uint32_t i = 0; i < c->node->nargs; i++)
		if (!meet_all(c, i, &own))
			return false;
	return check_ones(c);
}

static bool expect_compose(Checker *c)
{
	OwnRows own = own_rows(c);
	const Shape *a = shape_of(c, c->node->args[0]);
	KeyRow inner = own_row(c, row_of(&c->args[0], a, ROW_INPUT), a->rows[ROW_INPUT].n);
	return meet_row(c, 0, ROW_BATCH, 0, own.rows[ROW_BATCH]) &&
	       meet_row(c, 0, ROW_OUTPUT, 0, own.rows[ROW_OUTPUT]) &&
	       meet_row(c, 1, ROW_BATCH, 0, own.rows[ROW_BATCH]) &&
	       meet_row(c, 1, ROW_INPUT, 0, own.rows[ROW_INPUT]) &&
	       meet_row(c, 1, ROW_OUTPUT, 0, inner) && check_ones(c);
}

static bool expect_transpose(Checker *c)
{
	OwnRows own = own_rows(c);
	return meet_row(c, 0, ROW_BATCH, 0, own.rows[ROW_BATCH]) &&
	       meet_row(c, 0, ROW_OUTPUT, 0, own.rows[ROW_INPUT]) &&
	       meet_row(c, 0, ROW_INPUT, 0, own.rows[ROW_OUTPUT]);
}

/* Operand 0 without the first axis of a row; that one is read at a number or at operand 1. */
static bool expect_pick(Checker *c, RowKind kind, bool at_operand)
{
	OwnRows own = own_rows(c);
	const Shape *from = shape_of(c, c->node->args[0]);
	if (from->rows[kind].n == 0)
		return check_fail(c, "the axis that is indexed does not exist");
	Expect *picked = row_of(&c->args[0], from, kind);
	picked->index = c->node->slice_index;
	if (c->node->kind == NODE_SLICE && c->node->size_expr)
		picked->place = check_size_expr(c, c->node->size_expr);
	if (at_operand) {
		picked->kind = EXPECT_GATHER;
		picked->gather = 1;
	}
	for (int k = 0; k < ROW_KINDS; k++)
		if (!meet_row(c, 0, (RowKind)k, (RowKind)k == kind ? 1 : 0, own.rows[k]))
			return false;
	return c->node->kind != NODE_GATHER || meet_all(c, 1, &own);
}

static bool expect_stack(Checker *c)
{
	OwnRows own = own_rows(c);
	RowKind kind = c->node->stack_row;
	if (own.rows[kind].n == 0)
		return check_fail(c, "the axis of the stack does not exist");
	Expect *axis = row_of(&c->result, shape_of(c, c->id), kind);
	axis->kind = EXPECT_STACK;
	own.rows[kind].first++;
	own.rows[kind].n--;
	for (uint32_t i = 0; i < c->node->nargs; i++)
		if (!meet_all(c, i, &own))
			return false;
	return true;
}

/* ---- specifications ---- */

typedef struct KeyOf {
	char *key;
	uint32_t value;
} KeyOf;

static uint32_t letter_key(Checker *c, KeyOf **keys, const char *name, Sym letter)
{
	ptrdiff_t at = shgeti(*keys, name);
	if (at >= 0)
		return (*keys)[at].value;
	uint32_t key = new_key(c, letter);
	shput(*keys, (char *)name, key);
	return key;
}

/* Is it the axis of the operand that is read from end to end for each element of the result? */
static bool goes_along(const Checker *c, const Expect *expect, const SpecAxis *spec)
{
	const ExpectTensor *from = &c->args[0];
	return spec->letter == c->node->along.letter && expect >= from->axes &&
	       expect < from->axes + from->n;
}

static void expect_axis(Checker *c, KeyOf **keys, Expect *expect, const SpecAxis *spec)
{
	expect->spec = spec;
	if (spec->bracketed && !c->node->along.letter) {
		expect->kind = EXPECT_GATHER;
		expect->gather = (int32_t)++c->nbrackets;
		expect->key = letter_key(c, keys, spec->letter, spec->letter);
		return;
	}
	switch (spec->kind) {
	case SPEC_LETTER:
		expect->kind = EXPECT_KEY;
		expect->key = goes_along(c, expect, spec)
				      ? letter_key(c, keys, "[along]", spec->letter)
				      : letter_key(c, keys, spec->letter, spec->letter);
		break;
	case SPEC_PLACEHOLDER:
		expect->kind = EXPECT_KEY;
		expect->key = new_key(c, NULL);
		break;
	case SPEC_INDEX: expect->index = spec->index; break;
	case SPEC_JOIN: break; /* of a NODE_JOINED: check_joined.c */
	case SPEC_AFFINE:
		expect->kind = EXPECT_AFFINE;
		expect->key = letter_key(c, keys, spec->letter, spec->letter);
		if (spec->kernel)
			expect->kernel = letter_key(c, keys, spec->kernel, spec->kernel);
		break;
	case SPEC_CONCAT:
		expect->kind = EXPECT_CONCAT;
		expect->parts = ARENA_ARRAY(c->arena, uint32_t, spec->nparts);
		for (uint32_t i = 0; i < spec->nparts; i++) {
			Sym letter = spec->parts[i].letter;
			expect->parts[i] = letter ? letter_key(c, keys, letter, letter) : KEY_NONE;
		}
		break;
	}
}

static bool expect_row(Checker *c, KeyOf **keys, Expect *axes, uint32_t n, const SpecRow *spec)
{
	bool closed = spec->var_at < 0;
	if (closed ? n != spec->naxes : n < spec->naxes)
		return check_fail(c, "a row of %u axes does not fit its specification of %u", n,
				  spec->naxes);
	uint32_t behind = closed ? 0 : spec->naxes - (uint32_t)spec->var_at;
	for (uint32_t i = 0; i < n; i++) {
		if (closed || i < (uint32_t)spec->var_at) {
			expect_axis(c, keys, &axes[i], &spec->axes[i]);
		} else if (n - i <= behind) {
			expect_axis(c, keys, &axes[i], &spec->axes[spec->naxes - (n - i)]);
		} else {
			const char *name = arena_printf(c->arena, "..%s..%u", spec->var,
							i - (uint32_t)spec->var_at);
			axes[i].kind = EXPECT_KEY;
			axes[i].key = letter_key(c, keys, name, NULL);
		}
	}
	return true;
}

static bool expect_tensor(Checker *c, KeyOf **keys, ExpectTensor *tensor, NodeId id,
			  const SpecTensor *spec)
{
	const Shape *shape = shape_of(c, id);
	for (int k = 0; k < ROW_KINDS; k++)
		if (!expect_row(c, keys, row_of(tensor, shape, (RowKind)k), shape->rows[k].n,
				&spec->rows[k]))
			return false;
	return true;
}

static bool expect_spec(Checker *c)
{
	const Spec *spec = c->node->spec;
	KeyOf *keys = NULL;
	c->nbrackets = 0;
	bool fine = expect_tensor(c, &keys, &c->result, c->id, &spec->result);
	for (uint32_t i = 0; i < spec->noperands && fine; i++)
		fine = expect_tensor(c, &keys, &c->args[i], c->node->args[i], &spec->operands[i]);
	shfree(keys);
	return fine;
}

bool check_expect(Checker *c)
{
	const Node *node = c->node;
	c->keys.n = 0;
	c->result = blank(c, shape_of(c, c->id));
	c->args = ARENA_ARRAY(c->arena, ExpectTensor, node->nargs);
	for (uint32_t i = 0; i < node->nargs; i++)
		c->args[i] = blank(c, shape_of(c, node->args[i]));
	switch (node->kind) {
	case NODE_POINTWISE:
	case NODE_CAST: return expect_pointwise(c);
	case NODE_RANDOM:
		return c->args[0].n == 0 ? expect_pointwise(c) : check_fail(c, "a seed with axes");
	case NODE_COMPOSE: return expect_compose(c);
	case NODE_TRANSPOSE: return expect_transpose(c);
	case NODE_SLICE: return expect_pick(c, ROW_BATCH, node->nargs > 1);
	case NODE_GATHER:
		return node->spec ? expect_spec(c) : expect_pick(c, ROW_OUTPUT, true);
	case NODE_STACK: return expect_stack(c);
	case NODE_SPEC:
	case NODE_BLOCK:
	case NODE_SCATTER:
	case NODE_CUMULATE:
	case NODE_SORT:
	case NODE_ARGMAX: return expect_spec(c);
	default: return true;
	}
}
