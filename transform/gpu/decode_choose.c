/* Whether attention of few rows goes in slices of keys, and of how many keys each: the first that fits into the shared
 * memory of a block, where the program says how many rows there are and wide accesses read the operands.
 *
 * Sums are in another order than those of a softmax, as in attention of many rows, so --fp=strict has none.
 * `row_block row 4; block key 64` asks for it; without rows that share keys `row_block head 1` does.
 */
#include "transform/gpu/decode.h"

typedef struct Choose {
	const Transform *t;
	const Joins *j;
	const Decode *d;
	Sym names[GRID_LOOPS]; /* of `row_block`, and a number for each */
	int64_t numbers[GRID_LOOPS];
	uint32_t nnames;
	ScheduleClause *rows, *keys; /* that are asked for */
} Choose;

static Sym name_of(const Choose *c, IterVar iter) { return c->d->kernel.iters[iter].name; }

static ScheduleClause *asked(const Choose *c, const Kernel *kernel, Choice choice)
{
	return schedule_asked(c->t->asked, c->t->program, kernel->name, kernel->span, choice);
}

/* A block has all rows, or where there is one, one of the innermost batch; or one kernel's all columns. */
static void list_rows(Choose *c)
{
	const Decode *d = c->d;
	for (uint32_t i = 0; i < d->nrows; i++) {
		c->names[c->nnames] = name_of(c, d->rows[i]->iter);
		size_is_const(c->t->program->sizes, d->rows[i]->hi->size, &c->numbers[c->nnames++]);
	}
	if (d->nrows)
		return;
	c->names[0] = name_of(c, d->nbatch ? d->batch[d->nbatch - 1]->iter : d->column->iter);
	c->numbers[0] = d->nbatch ? 1 : d->columns;
	c->nnames = 1;
}

static bool is_asked(const Choose *c, int64_t keys)
{
	bool is = asks_name(c->keys, 0, c->d->segments[0].name) &&
		  asks_numbers(c->keys, 0, &keys, 1);
	for (uint32_t i = 0; i < c->nnames; i++)
		is &= asks_name(c->rows, i, c->names[i]) &&
		      asks_numbers(c->rows, i, &c->numbers[i], 1);
	return is;
}

static bool is_long(const Choose *c, Size size)
{
	int64_t n;
	return !size_is_const(c->t->program->sizes, size, &n) ||
	       n >= c->t->options->gpu->tile_least;
}

/* Few rows, and many keys or no one knows how many. */
static bool pays(const Choose *c)
{
	bool any = false;
	for (uint32_t i = 0; i < c->d->nsegments; i++)
		any |= is_long(c, c->d->segments[i].keys);
	return any && c->d->nqueries <= c->t->options->gpu->decode_rows;
}

static bool others_are_asked(const Choose *c)
{
	for (uint32_t i = 0; i < c->d->nmembers; i++)
		if (asks_on(asked(c, &c->j->made[c->d->members[i]], CHOICE_TILE)))
			return true;
	return asks_on(asked(c, &c->d->kernel, CHOICE_TILE));
}

static Choose choose_of(const Joins *j, const Decode *d)
{
	Choose c = {.t = j->t, .j = j, .d = d};
	c.rows = asked(&c, &d->kernel, CHOICE_ROW_BLOCK);
	c.keys = asked(&c, &d->kernel, CHOICE_BLOCK);
	list_rows(&c);
	return c;
}

/* Keys of a slice; 0: there are none. */
static int64_t choose(const Choose *c)
{
	int64_t most = c->t->options->gpu->decode_keys;
	if (asks_off(c->rows) || !pays(c) || (!asks_on(c->rows) && others_are_asked(c)))
		return 0;
	for (int64_t keys = most; keys >= most / 2; keys /= 2)
		if (is_asked(c, keys) && decode_fits(c->t, c->d, keys))
			return keys;
	return 0;
}

/* Of rows that are asked for where this is such attention; another way of it may be one. */
static void say_refused(const Choose *c)
{
	const GpuTarget *gpu = c->t->options->gpu;
	if (!asks_on(c->rows) || c->d->nqueries > gpu->decode_rows)
		return;
	c->rows->refused = arena_printf(
		c->t->program->arena,
		"slices are of %lld keys, or of %lld, for all rows that share them, up to %lld",
		(long long)gpu->decode_keys, (long long)gpu->decode_keys / 2,
		(long long)gpu->decode_rows);
	if (asks_on(c->keys))
		c->keys->refused = c->rows->refused;
}

static void note(const Choose *c, int64_t keys)
{
	Program *program = c->t->program;
	Arena *arena = program->arena;
	Sym key = c->d->segments[0].name;
	ScheduleEntry entry = {.name = c->d->kernel.name, .span = c->d->kernel.span};
	ScheduleClause *made = entry_make(arena, &entry, CHOICE_ROW_BLOCK, false);
	for (uint32_t i = 0; i < c->nnames; i++) {
		PUSH(arena, entry.loops, c->names[i]);
		clause_add(arena, made, c->names[i], &c->numbers[i], 1);
	}
	PUSH(arena, entry.loops, key);
	clause_add(arena, entry_make(arena, &entry, CHOICE_BLOCK, false), key, &keys, 1);
	PUSH(arena, program->made->entries, entry);
}

/* The kernels of the slices and the last one in the place of all; where the last one is then. */
static uint32_t replace(Joins *j, const Decode *d, uint32_t number, const Kernel *slices)
{
	Kernel last = j->made[number];
	uint32_t n = 0, at = 0;
	for (uint32_t k = 0; k < j->n; k++) {
		for (uint32_t i = 0; k == number && i < d->nsegments; i++)
			j->made[n++] = slices[i];
		at = k == number ? n : at;
		if (!decode_has_member(d, k))
			j->made[n++] = k == number ? last : j->made[k];
	}
	j->n = n;
	for (uint32_t i = 0; i < d->nbuffers; i++)
		buffer_forget(j->program, d->buffers[i]);
	return at;
}

const DecodeChosen *decode_choose(const Joins *j, const DecodeFacts *facts, uint32_t number)
{
	Arena *arena = j->program->arena;
	Decode *d = ARENA_NEW(arena, Decode);
	DecodeChosen *chosen = ARENA_NEW(arena, DecodeChosen);
	*d = (Decode){0};
	if (!j->t->options->tensor_cores || !decode_find(j, facts, number, d))
		return NULL;
	Choose c = choose_of(j, d);
	*chosen = (DecodeChosen){d, choose(&c)};
	if (chosen->keys == 0)
		say_refused(&c);
	return chosen->keys ? chosen : NULL;
}

uint32_t decode_make(Joins *j, const DecodeChosen *chosen, uint32_t number)
{
	const Decode *d = chosen->decode;
	Kernel slices[SEGMENTS_MOST];
	Choose c = choose_of(j, d);
	note(&c, chosen->keys);
	DecodeWanted wanted = {d, chosen->keys, j->program->buffers.at[d->buffers[0]].routine};
	bind_decode(j->t, &j->made[number], &wanted, slices);
	return replace(j, d, number, slices);
}
