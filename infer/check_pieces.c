/* Which pieces there are: one for each choice among the parts of concatenated axes that has a place
 * in the result and in an operand, and each once.
 *
 * The choices are counted from the graph: keys that stand in one concatenated axis are
 * alternatives, and a choice takes one key of each group. Choices that differ only in a group which
 * neither the result nor an operand that takes part mentions are one.
 */
#include "infer/check.h"

enum { CHOICE_LIMIT = 1 << 21 };

typedef struct Choices {
	Checker *c;
	uint32_t *first;  /* by key: the least key of its group, or KEY_NONE */
	uint32_t *place;  /* by key: how many lesser ones its group has */
	uint32_t *taken;  /* by first key: the key that is taken */
	uint64_t *weight; /* by first key: what a place in its group counts */
	uint64_t n;
} Choices;

/* ---- groups ---- */

static void join_factors(Choices *h, uint32_t a, uint32_t b)
{
	uint32_t to = h->first[a] < h->first[b] ? h->first[a] : h->first[b];
	uint32_t from = h->first[a] < h->first[b] ? h->first[b] : h->first[a];
	for (uint32_t k = 0; k < h->c->keys.n && to != from; k++)
		if (h->first[k] == from)
			h->first[k] = to;
}

static void join_parts(Choices *h, const ExpectTensor *tensor)
{
	for (uint32_t i = 0; i < tensor->n; i++) {
		const Expect *axis = &tensor->axes[i];
		uint32_t one = KEY_NONE;
		for (uint32_t p = 0; axis->parts && p < axis->spec->nparts; p++) {
			uint32_t key = axis->parts[p];
			if (key == KEY_NONE)
				continue;
			if (h->first[key] == KEY_NONE)
				h->first[key] = key;
			if (one != KEY_NONE)
				join_factors(h, one, key);
			one = key;
		}
	}
}

static void number_choices(Choices *h)
{
	uint32_t nkeys = (uint32_t)h->c->keys.n;
	uint32_t *size = ARENA_ARRAY(h->c->arena, uint32_t, nkeys);
	for (uint32_t k = 0; k < nkeys; k++)
		if (h->first[k] != KEY_NONE)
			h->place[k] = size[h->first[k]]++;
	h->n = 1;
	for (uint32_t k = 0; k < nkeys; k++) {
		if (h->first[k] != k)
			continue;
		h->taken[k] = k;
		h->weight[k] = h->n;
		h->n = h->n > CHOICE_LIMIT ? h->n : h->n * size[k];
	}
}

static void choices_init(Choices *h, Checker *c)
{
	size_t nkeys = c->keys.n;
	*h = (Choices){.c = c};
	h->first = ARENA_ARRAY(c->arena, uint32_t, nkeys);
	h->place = ARENA_ARRAY(c->arena, uint32_t, nkeys);
	h->taken = ARENA_ARRAY(c->arena, uint32_t, nkeys);
	h->weight = ARENA_ARRAY(c->arena, uint64_t, nkeys);
	for (uint32_t k = 0; k < nkeys; k++)
		h->first[k] = KEY_NONE;
	join_parts(h, &c->result);
	for (uint32_t arg = 0; arg < c->node->nargs; arg++)
		join_parts(h, &c->args[arg]);
	number_choices(h);
}

/* Takes the next choice; false after the last one. */
static bool next_choice(Choices *h)
{
	uint32_t nkeys = (uint32_t)h->c->keys.n;
	for (uint32_t g = 0; g < nkeys; g++) {
		if (h->first[g] != g)
			continue;
		uint32_t key = h->taken[g] + 1;
		while (key < nkeys && h->first[key] != g)
			key++; /* falls: keys */
		h->taken[g] = key < nkeys ? key : g;
		if (key < nkeys)
			return true;
	}
	return false;
}

/* ---- what takes part ---- */

static bool is_taken(const Choices *h, uint32_t key)
{
	return key == KEY_NONE || h->first[key] == KEY_NONE || h->taken[h->first[key]] == key;
}

static bool takes_part(const Choices *h, const ExpectTensor *tensor)
{
	for (uint32_t i = 0; i < tensor->n; i++) {
		const Expect *axis = &tensor->axes[i];
		bool found = axis->kind != EXPECT_CONCAT;
		for (uint32_t p = 0; !found && p < axis->spec->nparts; p++)
			found = axis->parts[p] != KEY_NONE && is_taken(h, axis->parts[p]);
		bool keyed = axis->kind == EXPECT_KEY || axis->kind == EXPECT_AFFINE;
		if (!found || (keyed && !is_taken(h, axis->key)) ||
		    (axis->kind == EXPECT_AFFINE && !is_taken(h, axis->kernel)))
			return false;
	}
	return true;
}

static bool mentions(const Choices *h, const ExpectTensor *tensor, uint32_t group)
{
	for (uint32_t i = 0; i < tensor->n; i++) {
		const Expect *axis = &tensor->axes[i];
		bool affine = axis->kind == EXPECT_AFFINE;
		if ((axis->kind == EXPECT_KEY || affine) && h->first[axis->key] == group)
			return true;
		if (affine && axis->kernel != KEY_NONE && h->first[axis->kernel] == group)
			return true;
		for (uint32_t p = 0; axis->parts && p < axis->spec->nparts; p++)
			if (axis->parts[p] != KEY_NONE && h->first[axis->parts[p]] == group)
				return true;
	}
	return false;
}

/* Is it the first of those that differ in groups which nothing in it mentions? */
static bool is_first(const Choices *h)
{
	const Checker *c = h->c;
	for (uint32_t g = 0; g < c->keys.n; g++) {
		if (h->first[g] != g || h->taken[g] == g)
			continue;
		bool mentioned = mentions(h, &c->result, g);
		for (uint32_t arg = 0; arg < c->node->nargs && !mentioned; arg++)
			mentioned = takes_part(h, &c->args[arg]) && mentions(h, &c->args[arg], g);
		if (!mentioned)
			return false;
	}
	return true;
}

/* ---- pieces by their choice ---- */

static uint64_t choice_number(const Choices *h)
{
	uint64_t number = 0;
	for (uint32_t g = 0; g < h->c->keys.n; g++)
		if (h->first[g] == g)
			number += h->weight[g] * h->place[h->taken[g]];
	return number;
}

static uint64_t piece_number(const Choices *h, const Piece *piece)
{
	uint64_t number = 0;
	for (uint32_t i = 0; i < piece->niters; i++) {
		uint32_t key = h->c->owner[piece->iters[i]];
		if (key != KEY_NONE && h->first[key] != KEY_NONE)
			number += h->weight[h->first[key]] * h->place[key];
	}
	return number;
}

/* The piece of the choice reads what takes part; there is none where nothing has a place. */
static bool check_choice(const Choices *h, const Piece *piece)
{
	Checker *c = h->c;
	uint32_t present = 0;
	bool wanted = takes_part(h, &c->result);
	for (uint32_t arg = 0; wanted && arg < c->node->nargs; arg++)
		present += takes_part(h, &c->args[arg]);
	wanted = wanted && present == (c->node->kind == NODE_BLOCK ? 1 : c->node->nargs) &&
		 is_first(h);
	if (wanted != (piece != NULL))
		return check_fail(c, wanted ? "a choice of parts has no piece"
					    : "a piece takes parts that have no place together");
	for (uint32_t arg = 0; piece && arg < c->node->nargs; arg++)
		if (piece->args[arg].present != takes_part(h, &c->args[arg]))
			return check_fail(c, "a piece reads operand %u, which has other parts",
					  arg);
	return true;
}

bool check_pieces(Checker *c)
{
	Choices h;
	if (c->node->kind == NODE_STACK)
		return c->proj->npieces == c->node->nargs ||
		       check_fail(c, "a stack of %u has %u pieces", c->node->nargs,
				  c->proj->npieces);
	choices_init(&h, c);
	if (h.n > CHOICE_LIMIT)
		return check_fail(c, "more choices of parts than there may be");
	const Piece **pieces = ARENA_ARRAY(c->arena, const Piece *, (size_t)h.n);
	for (uint32_t i = 0; i < c->proj->npieces; i++) {
		uint64_t number = piece_number(&h, &c->proj->pieces[i]);
		if (number >= h.n)
			return check_fail(c, "a piece takes two parts of one axis");
		if (pieces[number])
			return check_fail(c, "two pieces take the same parts");
		pieces[number] = &c->proj->pieces[i];
	}
	do
		if (!check_choice(&h, pieces[choice_number(&h)]))
			return false;
	while (next_choice(&h)); /* falls: choices to come */
	return true;
}
