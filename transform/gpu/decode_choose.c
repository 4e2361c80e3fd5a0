/* Whether attention of few rows goes in slices of keys, and of how many keys each: the first that fits into the shared
 * memory of a block, where the program says how many rows there are and wide accesses read the operands.
 *
 * Slices are blocks of the grid, and another kernel puts together what they come to, or a cluster's blocks, which have
 * several in turn. The one that takes less time is chosen, where all clusters run at once:
 *
 *   of the grid      start + launch + ceil(heads*slices / places) * keys*key
 *   of a cluster     start of clusters + ceil(slices / blocks) * keys*key
 *
 * Sums are in another order than those of a softmax, as in attention of many rows, so --fp=strict has none.
 * `row_block row 4; block key 64` asks for it; without rows that share keys `row_block head 1` does. `cluster key 8` asks
 * for clusters.
 */
#include <math.h>

#include "loops/work.h"
#include "transform/gpu/decode.h"

typedef struct Choose {
	const Transform *t;
	const Joins *j;
	const Decode *d;
	Sym names[GRID_LOOPS]; /* of `row_block`, and a number for each */
	int64_t numbers[GRID_LOOPS];
	uint32_t nnames;
	ScheduleClause *rows, *keys, *cluster; /* that are asked for */
} Choose;

static Sym name_of(const Choose *c, IterVar iter) { return c->d->kernel.iters[iter].name; }

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

/* A cluster is the policy's where nothing else is asked for. */
static bool cluster_is_asked(const Choose *c, int64_t blocks)
{
	if (!blocks)
		return !asks_on(c->cluster);
	return !asks_off(c->cluster) && (asks_on(c->cluster) || !asks_on(c->rows)) &&
	       asks_name(c->cluster, 0, c->d->segments[0].name) &&
	       asks_numbers(c->cluster, 0, &blocks, 1);
}

static bool is_asked(const Choose *c, DecodeCut cut)
{
	bool is = cluster_is_asked(c, cut.blocks) &&
		  asks_name(c->keys, 0, c->d->segments[0].name) &&
		  asks_numbers(c->keys, 0, &cut.keys, 1);
	for (uint32_t i = 0; i < c->nnames; i++)
		is &= asks_name(c->rows, i, c->names[i]) &&
		      asks_numbers(c->rows, i, &c->numbers[i], 1);
	return is;
}

/* Few rows, and many keys or no one knows how many. */
static bool pays(const Choose *c)
{
	bool any = false;
	for (uint32_t i = 0; i < c->d->nsegments; i++)
		any |= is_long(c->t, c->d->segments[i].keys);
	return any && c->d->nqueries <= c->t->options->gpu->decode_rows;
}

static bool others_are_asked(const Choose *c)
{
	for (uint32_t i = 0; i < c->d->nmembers; i++)
		if (asks_on(kernel_asked(c->t, &c->j->made[c->d->members[i]], CHOICE_TILE)))
			return true;
	return asks_on(kernel_asked(c->t, &c->d->kernel, CHOICE_TILE));
}

static Choose choose_of(const Joins *j, const Decode *d)
{
	Choose c = {.t = j->t, .j = j, .d = d};
	c.rows = kernel_asked(c.t, &d->kernel, CHOICE_ROW_BLOCK);
	c.keys = kernel_asked(c.t, &d->kernel, CHOICE_BLOCK);
	c.cluster = kernel_asked(c.t, &d->kernel, CHOICE_CLUSTER);
	list_rows(&c);
	return c;
}

/* ---- how long it takes ---- */

/* Heads, with each of which a cluster has to do, or slices of their own. */
static double heads_of(const Choose *c)
{
	double heads = 1;
	for (uint32_t i = 0; i < c->d->nbatch; i++)
		heads *= (double)size_at_dims(c->t->program, c->d->batch[i]->hi->size,
					      c->t->options->gpu->unknown);
	return heads;
}

/* Slices of all segments, or as many as a block of the cluster has of them in turn. */
static double slices_of_head(const Choose *c, DecodeCut cut)
{
	double slices = 0, each = (double)(cut.keys * (cut.blocks ? cut.blocks : 1));
	for (uint32_t i = 0; i < c->d->nsegments; i++)
		slices += ceil((double)size_at_dims(c->t->program, c->d->segments[i].keys,
						    c->t->options->gpu->unknown) /
			       each);
	return slices;
}

static double time_of(const Choose *c, DecodeCut cut)
{
	const GpuTarget *gpu = c->t->options->gpu;
	double slice = (double)cut.keys * gpu->decode_key, slices = slices_of_head(c, cut);
	double places = (double)(gpu->processors * gpu->decode_together);
	if (cut.blocks)
		return gpu->decode_cluster_start + slices * slice;
	return gpu->decode_start + gpu->slices_start + ceil(heads_of(c) * slices / places) * slice;
}

/* Do all clusters run at once, each block alone on its processor? */
static bool run_at_once(const Choose *c, DecodeCut cut)
{
	return heads_of(c) * (double)cut.blocks <= (double)c->t->options->gpu->processors;
}

/* Of those that are asked for, or of the most blocks if these run at once; the first of those that take the least time. */
static void try_clusters(const Choose *c, DecodeCut *best)
{
	const GpuTarget *gpu = c->t->options->gpu;
	int64_t least = asks_on(c->cluster) ? 2 : gpu->cluster_most;
	DecodeCut cut;
	for (cut.blocks = gpu->cluster_most; cut.blocks >= 2 && cut.blocks >= least; cut.blocks /= 2)
		for (cut.keys = gpu->decode_keys; cut.keys >= gpu->decode_keys / 4; cut.keys /= 2)
			if (is_asked(c, cut) && (asks_on(c->cluster) || run_at_once(c, cut)) &&
			    decode_fits(c->t, c->d, cut) &&
			    (!best->keys || time_of(c, cut) < time_of(c, *best)))
				*best = cut;
}

/* Keys 0: there are no slices. */
static DecodeCut choose(const Choose *c)
{
	int64_t most = c->t->options->gpu->decode_keys;
	DecodeCut best = {0}, cut = {0};
	if (asks_off(c->rows) || !pays(c) || (!asks_on(c->rows) && others_are_asked(c)))
		return best;
	for (cut.keys = most; cut.keys >= most / 2 && !best.keys; cut.keys /= 2)
		if (is_asked(c, cut) && decode_fits(c->t, c->d, cut))
			best = cut;
	try_clusters(c, &best);
	return best;
}

static void refuse(ScheduleClause *asked, const char *why)
{
	if (asks_on(asked))
		asked->refused = why;
}

/* Of rows or clusters that are asked for where this is such attention; another way of it may be one. */
static void say_refused(const Choose *c)
{
	const GpuTarget *gpu = c->t->options->gpu;
	Arena *arena = c->t->program->arena;
	long long keys = gpu->decode_keys;
	if (c->d->nqueries > gpu->decode_rows)
		return;
	const char *why = arena_printf(
		arena, "slices are of %lld keys, or of %lld, for all rows that share them, up to %lld",
		keys, keys / 2, (long long)gpu->decode_rows);
	if (asks_on(c->cluster))
		why = gpu->cluster_most
			      ? arena_printf(arena, "2, 4 or 8 blocks of a cluster have slices of %lld, %lld or %lld keys in turn, for all "
						    "rows that share them, up to %lld",
					     keys, keys / 2, keys / 4, (long long)gpu->decode_rows)
			      : "a GPU has clusters from sm_90 on";
	refuse(c->rows, why);
	refuse(c->cluster, why);
	if (asks_on(c->rows))
		refuse(c->keys, why);
}

static void note(const Choose *c, DecodeCut cut)
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
	clause_add(arena, entry_make(arena, &entry, CHOICE_BLOCK, false), key, &cut.keys, 1);
	if (cut.blocks)
		clause_add(arena, entry_make(arena, &entry, CHOICE_CLUSTER, false), key, &cut.blocks, 1);
	if (says_off(c->cluster))
		entry_make(arena, &entry, CHOICE_CLUSTER, true);
	PUSH(arena, program->made->entries, entry);
}

/* The kernels of the slices, if there are any, and the last one in the place of all; where the last one is then. */
static uint32_t replace(Joins *j, const DecodeChosen *chosen, uint32_t number, const Kernel *slices)
{
	const Decode *d = chosen->decode;
	uint32_t nslices = chosen->cut.blocks ? 0 : d->nsegments;
	Kernel last = j->made[number];
	uint32_t n = 0, at = 0;
	for (uint32_t k = 0; k < j->n; k++) {
		for (uint32_t i = 0; k == number && i < nslices; i++)
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
	if (!chosen->cut.keys)
		say_refused(&c);
	return chosen->cut.keys ? chosen : NULL;
}

uint32_t decode_make(Joins *j, const DecodeChosen *chosen, uint32_t number)
{
	const Decode *d = chosen->decode;
	Kernel slices[SEGMENTS_MOST];
	Choose c = choose_of(j, d);
	note(&c, chosen->cut);
	DecodeWanted wanted = {d, chosen->cut, j->program->buffers.at[d->buffers[0]].routine};
	bind_decode(j->t, &j->made[number], &wanted, slices);
	return replace(j, chosen, number, slices);
}
