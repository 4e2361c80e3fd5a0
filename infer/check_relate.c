/* The size relations of an operation: one size and one label a key, the formulas of affine axes,
 * the sum of the parts of a concatenated axis, and the rules of the broadcasting 1. */
#include "infer/check.h"

Size check_extent(const Checker *c, uint32_t key)
{
	const Key *k = &c->keys.at[key];
	if (k->bound && k->iter != UINT32_MAX)
		return c->proj->iters[k->iter].extent;
	return k->bound || size_is_bad(k->size) ? size_const(c->sizes, 1) : k->size;
}

Size check_skipped(Checker *c, const Expect *expect, uint32_t part)
{
	const SpecPart *skipped = &expect->spec->parts[part];
	if (skipped->extent)
		return check_size_expr(c, skipped->extent);
	if (!skipped->rest)
		return size_const(c->sizes, skipped->letter ? 1 : skipped->size);
	Size rest = expect->axis->size;
	for (uint32_t p = 0; p < expect->spec->nparts; p++) {
		if (p != part)
			rest = size_sub(c->sizes, rest, check_part(c, expect, p));
	}
	return rest;
}

Size check_part(Checker *c, const Expect *expect, uint32_t part)
{
	bool own = expect->parts[part] == KEY_NONE || expect->spec->parts[part].run == PART_STILL;
	return own ? check_skipped(c, expect, part) : check_extent(c, expect->parts[part]);
}

/* ---- what is known before iterators are bound ---- */

static void learn_plain(Checker *c, const ExpectTensor *tensor)
{
	for (uint32_t i = 0; i < tensor->n; i++) {
		const Expect *axis = &tensor->axes[i];
		if (axis->kind != EXPECT_KEY)
			continue;
		Key *key = &c->keys.at[axis->key];
		if (size_is_bad(key->size))
			key->size = axis->axis->size;
		if (!key->label)
			key->label = axis->axis->label;
	}
}

static void learn_rest(Checker *c, const ExpectTensor *tensor)
{
	for (uint32_t i = 0; i < tensor->n; i++) {
		const Expect *axis = &tensor->axes[i];
		if (axis->kind != EXPECT_CONCAT)
			continue;
		Key *unknown = NULL;
		uint32_t nunknown = 0;
		Size rest = axis->axis->size;
		for (uint32_t p = 0; p < axis->spec->nparts; p++) {
			bool own = axis->parts[p] == KEY_NONE ||
				   axis->spec->parts[p].run == PART_STILL;
			Key *key = own ? NULL : &c->keys.at[axis->parts[p]];
			if (!key && axis->spec->parts[p].rest) {
				nunknown = 2;
			} else if (!key) {
				rest = size_sub(c->sizes, rest, check_skipped(c, axis, p));
			} else if (!size_is_bad(key->size)) {
				rest = size_sub(c->sizes, rest, key->size);
			} else {
				nunknown++;
				unknown = key;
			}
		}
		if (nunknown == 1)
			unknown->size = rest;
	}
}

void check_learn_sizes(Checker *c)
{
	learn_plain(c, &c->result);
	for (uint32_t i = 0; i < c->node->nargs; i++)
		learn_plain(c, &c->args[i]);
	const LetterSizes *letters = c->inference->letters ? &c->inference->letters[c->id] : NULL;
	for (uint32_t k = 0; letters && k < c->keys.n; k++)
		for (uint32_t i = 0; i < letters->n && size_is_bad(c->keys.at[k].size); i++)
			if (c->keys.at[k].letter == letters->at[i].letter)
				c->keys.at[k].size = letters->at[i].size;
	for (int round = 0; round < 2; round++) {
		learn_rest(c, &c->result);
		for (uint32_t i = 0; i < c->node->nargs; i++)
			learn_rest(c, &c->args[i]);
	}
}

/* ---- relations ---- */

static bool check_key_axis(Checker *c, const Expect *expect)
{
	const Key *key = &c->keys.at[expect->key];
	const char *name = key->letter ? key->letter : "an axis";
	Size extent = check_extent(c, expect->key);
	if (!holds_equal(c, extent, expect->axis->size))
		return check_fail(c, "'%s' runs over %s and is an axis of size %s", name,
				  size_text(c->arena, c->sizes, extent),
				  size_text(c->arena, c->sizes, expect->axis->size));
	if (expect->axis->label && expect->axis->label != key->label)
		return check_fail(c, "'%s' is labelled %s and %s", name, key->label,
				  expect->axis->label);
	return true;
}

/* stride*(out - 1) + 1 + (k - 1)*dilation + offset */
static Size reach_of(Checker *c, const Expect *expect, Size out)
{
	const SpecAxis *spec = expect->spec;
	Size reach = size_scale(c->sizes, size_plus(c->sizes, out, -1), spec->stride);
	if (expect->kernel != KEY_NONE) {
		Size steps = size_plus(c->sizes, check_extent(c, expect->kernel), -1);
		reach = size_add(c->sizes, reach, size_scale(c->sizes, steps, spec->dilation));
	}
	if (spec->shift)
		reach = size_add(c->sizes, reach, check_size_expr(c, spec->shift));
	int64_t lead = spec->offset - spec->before - spec->after;
	return size_plus(c->sizes, size_plus(c->sizes, reach, lead), 1);
}

static bool check_affine(Checker *c, const Expect *expect)
{
	const SpecAxis *spec = expect->spec;
	Size in = expect->axis->size, out = check_extent(c, expect->key);
	Size strided = size_scale(c->sizes, out, spec->stride), reach = reach_of(c, expect, out);
	bool fits = false;
	if (spec_axis_is_placed(spec)) /* nothing is read of it where out is 0 */
		return holds_ge(c, size_plus(c->sizes, in, spec->stride - 1), reach) ||
		       check_fail(c, "the affine axis over '%s' of size %s ends before %s",
				  spec->letter, size_text(c->arena, c->sizes, in),
				  size_text(c->arena, c->sizes, reach));
	switch (expect->kernel == KEY_NONE ? MARK_NONE : spec->mark) {
	case MARK_NONE:
		fits = holds_equal(c, in, spec->offset < spec->stride ? strided : reach);
		break;
	case MARK_VALID: fits = holds_equal(c, in, reach); break;
	case MARK_PADDED: fits = holds_equal(c, in, strided); break;
	case MARK_VALID_FLOOR:
		fits = holds_ge(c, in, reach) &&
		       holds_ge(c, size_plus(c->sizes, reach, spec->stride - 1), in);
		break;
	case MARK_PADDED_CEIL:
		fits = holds_ge(c, strided, in) &&
		       holds_ge(c, size_plus(c->sizes, in, spec->stride - 1), strided);
		break;
	}
	return fits ||
	       check_fail(c, "the affine axis over '%s' has size %s, which does not fit extent %s",
			  spec->letter, size_text(c->arena, c->sizes, in),
			  size_text(c->arena, c->sizes, out));
}

static bool check_concat(Checker *c, const Expect *expect)
{
	Size sum = size_const(c->sizes, 0);
	for (uint32_t p = 0; p < expect->spec->nparts; p++)
		sum = size_add(c->sizes, sum, check_part(c, expect, p));
	for (uint32_t p = 0; p < expect->spec->nparts; p++)
		if (expect->parts[p] == KEY_NONE &&
		    !holds_ge(c, check_skipped(c, expect, p), size_const(c->sizes, 0)))
			return check_fail(c, "a skipped part of a concatenated axis is negative");
	return holds_equal(c, sum, expect->axis->size) ||
	       check_fail(c, "a concatenated axis has size %s, its parts have %s",
			  size_text(c->arena, c->sizes, expect->axis->size),
			  size_text(c->arena, c->sizes, sum));
}

/* Is it a 0 alone in a result that is no assignment: one element? */
static bool keeps_a_place(const Checker *c, const Expect *expect)
{
	bool of_result = expect >= c->result.axes && expect < c->result.axes + c->result.n;
	return of_result && expect->spec && expect->index == 0 && !expect->spec->among &&
	       c->node->target == NODE_NONE;
}

static bool check_axis(Checker *c, const Expect *expect)
{
	const Axis *axis = expect->axis;
	if (!holds_size(c, axis->size))
		return check_fail(c, "an axis has no size, or one below 0");
	if (axis->stretch && (axis->label || !size_is(c->sizes, axis->size, 1)))
		return check_fail(c, "a broadcasting axis has a label or a size of its own");
	switch (expect->kind) {
	case EXPECT_KEY: return check_key_axis(c, expect);
	case EXPECT_AFFINE: return check_affine(c, expect);
	case EXPECT_CONCAT: return check_concat(c, expect);
	case EXPECT_STACK:
		return size_is(c->sizes, axis->size, c->node->nargs) ||
		       check_fail(c, "a stack of %u has size %s", c->node->nargs,
				  size_text(c->arena, c->sizes, axis->size));
	case EXPECT_INDEX:
		if (keeps_a_place(c, expect) && !size_is(c->sizes, axis->size, 1))
			return check_fail(c, "a 0 of the result is an axis of size %s",
					  size_text(c->arena, c->sizes, axis->size));
		if (!size_is_bad(expect->place))
			return holds_ge(c, axis->size, size_plus(c->sizes, expect->place, 1)) ||
			       check_fail(c, "a size lies outside the axis that it is an index of");
		return expect->stretched ||
		       (expect->index >= 0 &&
			holds_ge(c, axis->size, size_const(c->sizes, expect->index + 1))) ||
		       check_fail(c, "index %lld is outside an axis of size %s",
				  (long long)expect->index,
				  size_text(c->arena, c->sizes, axis->size));
	case EXPECT_GATHER: /* its letter may stand elsewhere, without brackets */
		return expect->key == KEY_NONE || size_is_bad(c->keys.at[expect->key].size) ||
		       check_key_axis(c, expect);
	}
	return true;
}

static bool check_tensor(Checker *c, const ExpectTensor *tensor)
{
	for (uint32_t i = 0; i < tensor->n; i++)
		if (!check_axis(c, &tensor->axes[i]))
			return false;
	return true;
}

/* Element k makes `width` elements from k*width on: together they are the result's, each once. */
static bool check_elements(Checker *c)
{
	const Shape *shapes = c->inference->shapes;
	Size a = shape_elements(c->sizes, &shapes[c->id]);
	Size b = shape_elements(c->sizes, &shapes[c->node->args[0]]);
	return holds_equal(c, a, size_scale(c->sizes, b, c->proj->width)) ||
	       check_fail(c, "a reshape of %s elements has %s", size_text(c->arena, c->sizes, b),
			  size_text(c->arena, c->sizes, a));
}

/* Of what goes along an axis, is that axis of the operand the one that is reduced, and has the
 * result as many elements along it, or as many others that are there? */
static bool check_along(Checker *c)
{
	Size from = SIZE_BAD, to = SIZE_BAD;
	uint32_t nreduced = 0, nto = 0;
	for (uint32_t i = 0; i < c->proj->niters; i++) {
		bool read = false;
		for (uint32_t k = 0; k < c->args[0].n; k++)
			read |= c->args[0].axes[k].kind == EXPECT_KEY &&
				c->keys.at[c->args[0].axes[k].key].iter == i;
		if (c->proj->iters[i].reduced) {
			from = c->proj->iters[i].extent;
			nreduced++;
		} else if (!read) {
			to = c->proj->iters[i].extent;
			nto++;
		}
	}
	if (nreduced != 1 || nto != 1)
		return check_fail(c, "what goes along an axis goes along %u, and %u of the result",
				  nreduced, nto);
	bool all = false;
	for (uint32_t i = 0; i < c->result.n; i++)
		all |= c->result.axes[i].spec &&
		       c->result.axes[i].spec->letter == c->node->along.letter;
	return (all ? holds_equal(c, from, to) : holds_ge(c, from, to)) ||
	       check_fail(c, "%s elements are made along an axis of %s",
			  size_text(c->arena, c->sizes, to), size_text(c->arena, c->sizes, from));
}

static bool check_form(Checker *c)
{
	if (c->node->along.letter)
		return check_along(c);
	uint32_t nreduced = 0;
	for (uint32_t i = 0; i < c->proj->niters; i++)
		nreduced += c->proj->iters[i].reduced;
	if (c->node->kind == NODE_ARGMAX && nreduced != 1)
		return check_fail(c, "an argmax along %u axes", nreduced);
	if (c->node->permutes && nreduced > 0)
		return check_fail(c, "a permutation reduces");
	return true;
}

/* Every iterator runs as far as is known of its key. */
static bool check_extents(Checker *c)
{
	for (uint32_t k = 0; k < c->keys.n; k++) {
		const Key *key = &c->keys.at[k];
		if (!size_is_bad(key->size) && !holds_equal(c, key->size, check_extent(c, k)))
			return check_fail(c, "'%s' runs over %s, not %s",
					  key->letter ? key->letter : "an axis",
					  size_text(c->arena, c->sizes, check_extent(c, k)),
					  size_text(c->arena, c->sizes, key->size));
	}
	return true;
}

bool check_sizes(Checker *c)
{
	if (c->proj->linear)
		return check_elements(c);
	if (!check_tensor(c, &c->result))
		return false;
	for (uint32_t i = 0; i < c->node->nargs; i++)
		if (!check_tensor(c, &c->args[i]))
			return false;
	return check_extents(c) && check_form(c);
}
