/* Every index is the one that the operation asks for, and sizes satisfy its relations.
 *
 * A key runs on one iterator, and no two keys share one. Plain axes bind their keys first; affine
 * and concatenated axes then find their keys bound, or bind what is left. A key whose size is the
 * constant 1 may stay at 0 without an iterator. Every part of a concatenated result that an operand
 * has must run in some piece.
 */
#include "infer/check.h"

static const char *key_name(const Checker *c, uint32_t key)
{
	const Key *k = &c->keys.at[key];
	return k->letter ? k->letter : arena_printf(c->arena, "axis %u", key);
}

static uint32_t owner_of(const Checker *c, IterId iter) { return c->owner[iter]; }

/* Binds a key to an iterator (UINT32_MAX: it stays at 0), or finds it bound to that. */
static bool bind(Checker *c, uint32_t key, IterId iter)
{
	Key *k = &c->keys.at[key];
	if (k->bound)
		return k->iter == iter ||
		       check_fail(c, "'%s' runs on two iterators", key_name(c, key));
	if (iter != UINT32_MAX && owner_of(c, iter) != KEY_NONE)
		return check_fail(c, "'%s' and '%s' run on one iterator", key_name(c, key),
				  key_name(c, owner_of(c, iter)));
	k->bound = true;
	k->iter = iter;
	if (iter != UINT32_MAX)
		c->owner[iter] = key;
	return true;
}

static bool is_zero(const Checker *c, const Index *index)
{
	return index->nterms == 0 && size_is(c->sizes, index->offset, 0);
}

/* ---- plain axes ---- */

static bool map_key(Checker *c, const Expect *expect, const Index *index)
{
	if (is_zero(c, index))
		return holds_equal(c, expect->axis->size, size_const(c->sizes, 1))
			       ? bind(c, expect->key, UINT32_MAX)
			       : check_fail(c, "'%s' stays at 0", key_name(c, expect->key));
	if (index->nterms != 1 || index->terms[0].coef != 1 || !size_is(c->sizes, index->offset, 0))
		return check_fail(c, "'%s' is not the index of its own axis",
				  key_name(c, expect->key));
	return bind(c, expect->key, index->terms[0].iter);
}

static bool map_plain(Checker *c, const Expect *expect, const Index *index, uint32_t stacked)
{
	if ((index->gather >= 0) != (expect->kind == EXPECT_GATHER))
		return check_fail(
			c, "an index is read from an operand where it should not be, or is not");
	if (index->guarded && expect->kind != EXPECT_AFFINE && expect->kind != EXPECT_GATHER)
		return check_fail(c, "an axis without padding is guarded");
	switch (expect->kind) {
	case EXPECT_KEY: return map_key(c, expect, index);
	case EXPECT_GATHER:
		if (index->mode != c->node->mode ||
		    index->guarded != (c->node->mode == INDEX_SKIPPED))
			return check_fail(c, "an index outside is met otherwise than asked");
		return index->gather == expect->gather ||
		       check_fail(c, "the index is read from another operand");
	case EXPECT_INDEX:
		if (!size_is_bad(expect->place))
			return (index->nterms == 0 &&
				holds_equal(c, index->offset, expect->place)) ||
			       check_fail(c, "an axis at a size is indexed otherwise");
		return (index->nterms == 0 && size_is(c->sizes, index->offset, expect->index)) ||
		       check_fail(c, "an axis at the fixed index %lld is indexed otherwise",
				  (long long)expect->index);
	case EXPECT_STACK:
		return (index->nterms == 0 && size_is(c->sizes, index->offset, stacked)) ||
		       check_fail(c, "operand %u of a stack is in another place", stacked);
	default: return true;
	}
}

/* ---- affine axes ---- */

/* Could the iterator be this key's: nobody has it, and it runs as far as the key is known to? */
static bool is_candidate(const Checker *c, uint32_t key, IterId iter)
{
	Size size = c->keys.at[key].size;
	return owner_of(c, iter) == KEY_NONE &&
	       (size_is_bad(size) || size_same(size, c->proj->iters[iter].extent));
}

/* The term that is this key's: bound to it, or free and with its coefficient. */
static bool take_term(Checker *c, const Index *index, uint32_t key, int64_t coef, IterId *iter)
{
	Key *k = &c->keys.at[key];
	for (uint32_t t = 0; t < index->nterms && !k->bound; t++)
		if (index->terms[t].coef == coef && is_candidate(c, key, index->terms[t].iter) &&
		    !bind(c, key, index->terms[t].iter))
			return false;
	if (!k->bound && !bind(c, key, UINT32_MAX))
		return false;
	*iter = k->iter;
	return true;
}

static int64_t coef_of(const Index *index, IterId iter)
{
	for (uint32_t t = 0; t < index->nterms; t++)
		if (index->terms[t].iter == iter)
			return index->terms[t].coef;
	return 0;
}

/* Is the key a part of a concatenated axis, and so runs on an iterator also where its size is 1? */
static bool is_part(const Checker *c, uint32_t key)
{
	for (int64_t arg = -1; arg < c->node->nargs; arg++) {
		const ExpectTensor *tensor = arg < 0 ? &c->result : &c->args[arg];
		for (uint32_t i = 0; i < tensor->n; i++) {
			const Expect *axis = &tensor->axes[i];
			for (uint32_t p = 0; axis->parts && p < axis->spec->nparts; p++)
				if (axis->parts[p] == key)
					return true;
		}
	}
	return false;
}

/* Over `o` and `k` of one coefficient, both of size 1, is the only term that of k? */
static bool kernel_alone(const Checker *c, const Expect *expect, const Index *index)
{
	return index->nterms == 1 && expect->spec->stride == expect->spec->dilation &&
	       is_part(c, expect->kernel) && !is_part(c, expect->key);
}

static bool is_padded(SpecMark mark) { return mark == MARK_PADDED || mark == MARK_PADDED_CEIL; }

/* 1 + (k - 1)*dilation; 1 without a kernel. */
static Size window(const Checker *c, const Expect *expect)
{
	if (expect->kernel == KEY_NONE)
		return size_const(c->sizes, 1);
	Size steps = size_plus(c->sizes, check_extent(c, expect->kernel), -1);
	return size_plus(c->sizes, size_scale(c->sizes, steps, expect->spec->dilation), 1);
}

static bool map_affine(Checker *c, const Expect *expect, const Index *index)
{
	const SpecAxis *spec = expect->spec;
	IterId over, kernel = UINT32_MAX;
	bool padded = expect->kernel != KEY_NONE && is_padded(spec->mark);
	int64_t coef = spec->stride + (expect->key == expect->kernel ? spec->dilation : 0);
	if (expect->kernel != KEY_NONE && kernel_alone(c, expect, index) &&
	    !take_term(c, index, expect->kernel, spec->dilation, &kernel))
		return false;
	if (!take_term(c, index, expect->key, coef, &over))
		return false;
	if (expect->kernel != KEY_NONE &&
	    !take_term(c, index, expect->kernel, spec->dilation, &kernel))
		return false;
	uint32_t nterms = (over != UINT32_MAX) + (kernel != UINT32_MAX && kernel != over);
	if (index->nterms != nterms || (over != UINT32_MAX && coef_of(index, over) != coef) ||
	    (kernel != UINT32_MAX && kernel != over && coef_of(index, kernel) != spec->dilation))
		return check_fail(c, "the affine index over '%s' has other terms",
				  key_name(c, expect->key));
	Size offset = size_const(c->sizes, spec->offset - spec->before);
	if (spec->shift)
		offset = size_add(c->sizes, offset, check_size_expr(c, spec->shift));
	if (padded)
		offset = size_sub(c->sizes, offset, size_floor(c->sizes, window(c, expect), 2));
	if (!holds_equal(c, index->offset, offset))
		return check_fail(c, "the affine index over '%s' is shifted by %s, not %s",
				  key_name(c, expect->key),
				  size_text(c->arena, c->sizes, index->offset),
				  size_text(c->arena, c->sizes, offset));
	return !index->guarded || padded || spec->padded ||
	       check_fail(c, "an axis without padding is guarded");
}

/* ---- concatenated axes ---- */

/* Where does the part, which begins at `before`, have its index for the first value of its key? */
static Size part_first(Checker *c, const Expect *expect, uint32_t part, Size before)
{
	if (expect->spec->parts[part].run != PART_BACKWARD)
		return before;
	return size_plus(c->sizes, size_add(c->sizes, before, check_part(c, expect, part)), -1);
}

/* A part of one element, which every value of its key reads. */
static bool map_still(Checker *c, const Expect *expect, const Index *index)
{
	Size before = size_const(c->sizes, 0);
	for (uint32_t i = 0; i < expect->spec->nparts; i++) {
		if (expect->spec->parts[i].run == PART_STILL)
			return holds_equal(c, before, index->offset) ||
			       check_fail(c, "an element at a border is read at %s, not %s",
					  size_text(c->arena, c->sizes, index->offset),
					  size_text(c->arena, c->sizes, before));
		before = size_add(c->sizes, before, check_part(c, expect, i));
	}
	return check_fail(c, "a block of a concatenated axis is not indexed by its iterator");
}

static bool map_concat(Checker *c, const Expect *expect, const Index *index)
{
	if (index->nterms == 0)
		return map_still(c, expect, index);
	int64_t coef = index->terms[0].coef;
	if (index->nterms != 1 || (coef != 1 && coef != -1))
		return check_fail(c,
				  "a block of a concatenated axis is not indexed by its iterator");
	IterId iter = index->terms[0].iter;
	uint32_t owner = owner_of(c, iter);
	Size before = size_const(c->sizes, 0);
	for (uint32_t i = 0; i < expect->spec->nparts; i++) {
		uint32_t key = expect->parts[i];
		bool fits = coef == (expect->spec->parts[i].run == PART_BACKWARD ? -1 : 1);
		Size first = part_first(c, expect, i, before);
		bool empty = size_is(c->sizes, check_part(c, expect, i), 0) &&
			     !size_is(c->sizes, c->proj->iters[iter].extent, 0);
		bool free =
			key != KEY_NONE && owner == KEY_NONE && !empty && !c->keys.at[key].bound;
		if (key != KEY_NONE && fits &&
		    (key == owner || (free && size_same(first, index->offset)))) {
			if (!holds_equal(c, first, index->offset))
				return check_fail(c, "block '%s' starts at %s, not %s",
						  key_name(c, key),
						  size_text(c->arena, c->sizes, index->offset),
						  size_text(c->arena, c->sizes, first));
			return bind(c, key, iter);
		}
		before = size_add(c->sizes, before, check_part(c, expect, i));
	}
	return check_fail(c, "an iterator is no part of the concatenated axis that it indexes");
}

/* ---- all axes of all pieces ---- */

static bool map_tensor(Checker *c, const ExpectTensor *expect, const Access *access,
		       uint32_t stacked, ExpectKind pass)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++) {
		const Expect *axis = &expect->axes[i];
		bool fine = true;
		if (pass == EXPECT_KEY)
			fine = map_plain(c, axis, &access->axes[i], stacked);
		else if (axis->kind == pass)
			fine = pass == EXPECT_AFFINE ? map_affine(c, axis, &access->axes[i])
						     : map_concat(c, axis, &access->axes[i]);
		if (!fine)
			return false;
	}
	return true;
}

static bool map_piece(Checker *c, const Piece *piece, ExpectKind pass)
{
	uint32_t stacked = 0;
	/* falls: operands to come */
	while (stacked + 1 < c->proj->nargs && !piece->args[stacked].present)
		stacked++;
	if (!map_tensor(c, &c->result, &piece->result, stacked, pass))
		return false;
	for (uint32_t arg = 0; arg < c->proj->nargs; arg++)
		if (!map_tensor(c, &c->args[arg], &piece->args[arg], stacked, pass))
			return false;
	return true;
}

static bool reads_key(const Checker *c, uint32_t key)
{
	for (uint32_t arg = 0; arg < c->node->nargs; arg++)
		for (uint32_t i = 0; i < c->args[arg].n; i++) {
			const Expect *axis = &c->args[arg].axes[i];
			if (axis->key == key || axis->kernel == key)
				return true;
			for (uint32_t part = 0; axis->parts && part < axis->spec->nparts; part++)
				if (axis->parts[part] == key)
					return true;
		}
	return false;
}

/* A part of the result that an operand has runs somewhere. */
static bool check_blocks(Checker *c)
{
	for (uint32_t i = 0; i < c->result.n; i++) {
		const Expect *axis = &c->result.axes[i];
		for (uint32_t part = 0; axis->parts && part < axis->spec->nparts; part++) {
			uint32_t key = axis->parts[part];
			if (key != KEY_NONE && !c->keys.at[key].bound && reads_key(c, key))
				return check_fail(c, "no piece writes block '%s'",
						  key_name(c, key));
		}
	}
	return true;
}

bool check_maps(Checker *c)
{
	static const ExpectKind passes[] = {EXPECT_KEY, EXPECT_AFFINE, EXPECT_CONCAT};
	c->owner = ARENA_ARRAY(c->arena, uint32_t, c->proj->niters);
	for (uint32_t i = 0; i < c->proj->niters; i++)
		c->owner[i] = KEY_NONE;
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t i = 0; i < c->proj->npieces; i++)
			if (!map_piece(c, &c->proj->pieces[i], passes[pass]))
				return false;
	return check_blocks(c);
}
