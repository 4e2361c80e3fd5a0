/* From the text of an arrangement and an array to the array that a parameter takes.
 *
 * Each axis, theirs and the parameter's where its size is known, is an equation: the product of its
 * factors is its extent. Equations with one unknown letter are solved until nothing changes. Then
 * every letter has a stride in their array, and one walk over the letters in the order of ours
 * gathers it. Invariant: every letter stands once on either side, so each element of ours is one of
 * theirs.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arrange.h"

/* ---- the text ---- */

typedef struct Cursor {
	const char *at, *end;
	Arrangement *out;
	ArrayError *why;
} Cursor;

static bool is_between(char c) { return c != '\0' && strchr(" \t\r\n,[]", c) != NULL; }

static void skip(Cursor *c)
{
	while (c->at < c->end && is_between(*c->at))
		c->at++;
}

/* A number of the text, -1 when none that can be counted with stands there. */
static int64_t number(Cursor *c)
{
	int64_t value = c->at < c->end && isdigit((unsigned char)*c->at) ? 0 : -1;
	for (; value >= 0 && c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
		value = value > INT32_MAX ? -1 : 10 * value + (*c->at - '0');
	return value;
}

static bool add_factor(Cursor *c, Axes *axes, Factor factor)
{
	if (axes->n == ARRAY_RANK_MAX || axes->naxes > ARRAY_RANK_MAX)
		return array_fail(c->why, "it has more than %d letters", ARRAY_RANK_MAX);
	axes->factors[axes->n++] = factor;
	return true;
}

static bool parse_place(Cursor *c, Axes *axes)
{
	Factor factor = {.axis = axes->naxes, .letter = -1, .place = number(c), .places = -1};
	if (axes == &c->out->ours)
		return array_fail(c->why, "a number stands right of =>");
	if (factor.place >= 0 && c->at < c->end && *c->at == '/') {
		c->at++;
		factor.places = number(c);
	}
	if (factor.place < 0 || factor.place >= factor.places)
		return array_fail(c->why, "a number is a part as in 0/3: the first of three");
	return add_factor(c, axes, factor);
}

static int find_letter(const Arrangement *how, const char *name, size_t len)
{
	for (int i = 0; i < how->nletters; i++)
		if (strlen(how->letters[i]) == len && memcmp(how->letters[i], name, len) == 0)
			return i;
	return -1;
}

static bool has_letter(const Axes *axes, int letter)
{
	for (int i = 0; i < axes->n; i++)
		if (axes->factors[i].letter == letter)
			return true;
	return false;
}

static bool parse_letter(Cursor *c, Axes *axes)
{
	Arrangement *how = c->out;
	const char *name = c->at;
	while (c->at < c->end && (isalnum((unsigned char)*c->at) || *c->at == '_'))
		c->at++;
	size_t len = (size_t)(c->at - name);
	if (len == 0)
		return array_fail(c->why, "'%c' stands where a letter should", *c->at);
	if (len >= LETTER_BYTES)
		return array_fail(c->why, "a letter has more than %d bytes", LETTER_BYTES - 1);
	int letter = find_letter(how, name, len);
	bool ours = axes == &how->ours;
	if (ours ? letter < 0 : letter >= 0)
		return array_fail(c->why,
				  ours ? "'%.*s' stands right of => alone" : "'%.*s' stands twice",
				  (int)len, name);
	if (ours && has_letter(axes, letter))
		return array_fail(c->why, "'%.*s' stands twice", (int)len, name);
	if (!ours) {
		letter = how->nletters;
		if (letter < ARRAY_RANK_MAX)
			memcpy(how->letters[how->nletters++], name, len);
	}
	return add_factor(c, axes, (Factor){.axis = axes->naxes, .letter = letter});
}

static bool parse_factor(Cursor *c, Axes *axes)
{
	return isdigit((unsigned char)*c->at) ? parse_place(c, axes) : parse_letter(c, axes);
}

static bool parse_group(Cursor *c, Axes *axes)
{
	for (c->at++, skip(c); c->at < c->end && *c->at != ')'; skip(c))
		if (!parse_factor(c, axes))
			return false;
	if (c->at == c->end)
		return array_fail(c->why, "a ) is missing");
	c->at++;
	return true;
}

static bool parse_axes(Cursor *c, Axes *axes)
{
	for (skip(c); c->at < c->end; skip(c), axes->naxes++)
		if (!(*c->at == '(' ? parse_group(c, axes) : parse_factor(c, axes)))
			return false;
	if (axes->naxes > ARRAY_RANK_MAX)
		return array_fail(c->why, "it has more than %d axes", ARRAY_RANK_MAX);
	return true;
}

/* `1 0` is `a0 a1 => a1 a0`; parentheses may stand around it. */
static bool parse_order(Cursor *c)
{
	Arrangement *how = c->out;
	Axes *ours = &how->ours;
	for (;; ours->naxes++) {
		while (c->at < c->end && (is_between(*c->at) || *c->at == '(' || *c->at == ')'))
			c->at++;
		if (c->at == c->end)
			break;
		int64_t axis = number(c);
		if (axis < 0 || axis >= ARRAY_RANK_MAX || has_letter(ours, (int)axis))
			return array_fail(c->why, "it is no order of axes, and has no =>");
		if (!add_factor(c, ours, (Factor){.axis = ours->naxes, .letter = (int)axis}))
			return false;
	}
	how->nletters = how->theirs.n = how->theirs.naxes = ours->naxes;
	for (int i = 0; i < how->nletters; i++) {
		if (ours->factors[i].letter >= how->nletters)
			return array_fail(c->why, "it is no order of %d axes", how->nletters);
		how->theirs.factors[i] = (Factor){.axis = i, .letter = i};
		snprintf(how->letters[i], LETTER_BYTES, "a%d", i);
	}
	return true;
}

bool arrangement_parse(const char *text, Arrangement *out, ArrayError *why)
{
	const char *arrow = strstr(text, "=>"), *end = text + strlen(text);
	Cursor left = {text, arrow ? arrow : end, out, why}, right = {NULL, end, out, why};
	memset(out, 0, sizeof *out);
	if (!arrow)
		return parse_order(&left);
	right.at = arrow + 2;
	if (!parse_axes(&left, &out->theirs) || !parse_axes(&right, &out->ours))
		return false;
	for (int i = 0; i < out->nletters; i++)
		if (!has_letter(&out->ours, i))
			return array_fail(why, "'%s' stands left of => alone", out->letters[i]);
	return true;
}

/* ---- the sizes ---- */

/* The product of what is known of an axis, and its unknown letter: -1 none, -2 several. */
static bool measure(const Axes *axes, int axis, const int64_t *sizes, int64_t *known, int *unknown)
{
	*known = 1;
	*unknown = -1;
	for (int i = 0; i < axes->n; i++) {
		const Factor *f = &axes->factors[i];
		if (f->axis != axis)
			continue;
		int64_t size = f->letter < 0 ? f->places : sizes[f->letter];
		if (size < 0)
			*unknown = *unknown == -1 ? f->letter : -2;
		else if (__builtin_mul_overflow(*known, size, known))
			return false;
	}
	return true;
}

/* Solves or checks one axis; *changed when a letter has its size now. */
static bool solve_axis(const Arrangement *how, const Axes *axes, int axis, int64_t extent,
		       int64_t *sizes, bool *changed, ArrayError *why)
{
	int unknown;
	int64_t known;
	const char *whose = axes == &how->ours ? "the parameter" : "the array";
	if (!measure(axes, axis, sizes, &known, &unknown))
		return array_fail(why, "axis %d of %s would be too long", axis, whose);
	if (unknown == -1 && known != extent)
		return array_fail(why, "axis %d of %s is %lld, and its letters make %lld", axis,
				  whose, (long long)extent, (long long)known);
	if (unknown < 0 || known == 0)
		return true;
	if (extent % known != 0)
		return array_fail(why, "axis %d of %s is %lld, which %lld does not divide", axis,
				  whose, (long long)extent, (long long)known);
	sizes[unknown] = extent / known;
	*changed = true;
	return true;
}

static bool solve(const Arrangement *how, const int64_t *wanted, const int64_t *extents,
		  int64_t *sizes, ArrayError *why)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (int axis = 0; axis < how->ours.naxes; axis++)
			if (wanted[axis] >= 0 &&
			    !solve_axis(how, &how->ours, axis, wanted[axis], sizes, &changed, why))
				return false;
		for (int axis = 0; axis < how->theirs.naxes; axis++)
			if (!solve_axis(how, &how->theirs, axis, extents[axis], sizes, &changed,
					why))
				return false;
	}
	for (int i = 0; i < how->nletters; i++)
		if (sizes[i] < 0)
			return array_fail(why, "nothing says how long '%s' is", how->letters[i]);
	return true;
}

/* ---- the elements ---- */

/* Where the first element stands, and how far a letter's neighbours are from each other. */
static int64_t letter_strides(const Arrangement *how, const Array *array, const int64_t *sizes,
			      int64_t *strides)
{
	int64_t axes[ARRAY_RANK_MAX], first = 0;
	array_strides(array, axes);
	for (int i = how->theirs.n - 1; i >= 0; i--) {
		const Factor *f = &how->theirs.factors[i];
		if (f->letter < 0)
			first += f->place * axes[f->axis];
		else
			strides[f->letter] = axes[f->axis];
		axes[f->axis] *= f->letter < 0 ? f->places : sizes[f->letter];
	}
	return first;
}

/* Is ours theirs under other axes? */
static bool keeps_order(const Arrangement *how)
{
	bool same = how->theirs.n == how->ours.n;
	for (int i = 0; same && i < how->ours.n; i++)
		same = how->theirs.factors[i].letter == how->ours.factors[i].letter;
	return same;
}

static bool gather(const Arrangement *how, const int64_t *sizes, Array *array, ArrayError *why)
{
	int64_t of_letter[ARRAY_RANK_MAX], strides[ARRAY_RANK_MAX], extents[ARRAY_RANK_MAX];
	int64_t first = letter_strides(how, array, sizes, of_letter);
	Array moved;
	if (keeps_order(how))
		return true;
	for (int i = 0; i < how->ours.n; i++) {
		extents[i] = sizes[how->ours.factors[i].letter];
		strides[i] = of_letter[how->ours.factors[i].letter];
	}
	if (!array_gather(array, first, how->ours.n, extents, strides, &moved, why))
		return false;
	array_free(array);
	*array = moved;
	return true;
}

bool arrangement_apply(const Arrangement *how, const int64_t *wanted, int rank, Array *array,
		       ArrayError *why)
{
	int64_t sizes[ARRAY_RANK_MAX], extents[ARRAY_RANK_MAX];
	int unknown;
	for (int i = 0; i < ARRAY_RANK_MAX; i++)
		sizes[i] = -1;
	if (how->theirs.naxes != array->rank)
		return array_fail(why, "the array has %d axes, and %d are arranged", array->rank,
				  how->theirs.naxes);
	if (how->ours.naxes != rank)
		return array_fail(why, "the parameter has %d axes, and %d are made", rank,
				  how->ours.naxes);
	if (!solve(how, wanted, array->extents, sizes, why))
		return false;
	for (int axis = 0; axis < rank; axis++)
		if (!measure(&how->ours, axis, sizes, &extents[axis], &unknown))
			return array_fail(why, "axis %d of the parameter would be too long", axis);
	if (array->data && !gather(how, sizes, array, why))
		return false;
	array->rank = rank;
	memcpy(array->extents, extents, (size_t)rank * sizeof *extents);
	return true;
}
