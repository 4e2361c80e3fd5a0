/* From names and sizes to the lines of a map.
 *
 * Names that differ in their numbers alone are one group, which becomes one line with `{i}`. Every
 * pair of a parameter's group and an array's whose sizes fit, all with the same arrangement, has a
 * score: words that are alike, sizes that are equal, places in the two orders that are near, sizes
 * that fit nothing else. The best pairs are taken first, and each draws those of the same layers
 * after it. That is done for names that differ in their first number, then in any, then for single
 * names.
 *
 * An array whose axis has equal parts for several parameters is taken by as many. Invariant: every
 * line that is written is one that params_map_read accepts and whose arrangement fits the sizes.
 */
#include "runtime/cli_guess_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HOLES = 4, MOST_WORDS = 24 };
enum { MOST_PAIRS = 1 << 20 };

typedef struct Group {
	char *pattern; /* owned: the name with {i} for numbers, or the name */
	const Named **members; /* owned; sorted by their numbers */
	int (*numbers)[MOST_HOLES]; /* owned */
	size_t n, place; /* in the order of first members */
	int nholes;
	int parts, taken; /* of an array: in how many parts, how many are taken; 0: whole */
	bool done;
} Group;

typedef struct Groups {
	Group *at;
	size_t n;
} Groups;

typedef struct Pair {
	size_t param, array;
	int score;
	bool part; /* of the array */
	bool taken;
} Pair;

/* ---- groups ---- */

/* The name with {i}, {j} ... for its first `most` numbers; NULL when memory is short. With a number
 * that is too long it is the name itself. */
static char *pattern_of(const char *name, int most, int numbers[MOST_HOLES], int *nholes)
{
	char *pattern = malloc(3 * strlen(name) + 1), *to = pattern;
	*nholes = 0;
	for (const char *at = name; pattern && *at;) {
		size_t n = strspn(at, "0123456789");
		if (n == 0 || *nholes == most) {
			*to++ = *at++;
			continue;
		}
		if (n > 9 || (n > 1 && *at == '0')) {
			*nholes = 0;
			strcpy(pattern, name);
			return pattern;
		}
		numbers[*nholes] = atoi(at);
		to += sprintf(to, "{%c}", 'i' + (*nholes)++);
		at += n;
	}
	if (pattern)
		*to = '\0';
	return pattern;
}

static void groups_free(Groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		free(groups->at[i].pattern);
		free(groups->at[i].members);
		free(groups->at[i].numbers);
	}
	free(groups->at);
	*groups = (Groups){0};
}

/* A member before it is in a group. */
typedef struct Loose {
	char *pattern;
	int numbers[MOST_HOLES], nholes;
	const Named *named;
	size_t place;
} Loose;

static int by_pattern(const void *a, const void *b)
{
	const Loose *x = a, *y = b;
	int order = strcmp(x->pattern, y->pattern);
	for (int i = 0; order == 0 && i < x->nholes; i++)
		order = (x->numbers[i] > y->numbers[i]) - (x->numbers[i] < y->numbers[i]);
	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
	const Group *x = a, *y = b;
	return (x->place > y->place) - (x->place < y->place);
}

/* A run of the sorted list that has one pattern; takes the patterns over. */
static bool add_group(Groups *groups, Loose *run, size_t n)
{
	Group g = {.pattern = run->pattern, .n = n, .nholes = run->nholes, .place = run->place};
	g.members = calloc(n, sizeof *g.members);
	g.numbers = calloc(n, sizeof *g.numbers);
	for (size_t i = 0; i < n; i++) {
		if (g.members && g.numbers) {
			g.members[i] = run[i].named;
			memcpy(g.numbers[i], run[i].numbers, sizeof *g.numbers);
		}
		g.place = run[i].place < g.place ? run[i].place : g.place;
		if (i > 0)
			free(run[i].pattern);
	}
	groups->at[groups->n++] = g;
	return g.members && g.numbers;
}

/* Groups of those that are not done, by `most` numbers. */
static bool group(const Named *named, const bool *done, size_t n, int most, Groups *groups)
{
	size_t m = 0;
	bool good = true;
	Loose *loose = calloc(n + 1, sizeof *loose);
	groups->at = calloc(n + 1, sizeof *groups->at);
	for (size_t i = 0; loose && i < n; i++) {
		if (done[i])
			continue;
		Loose *l = &loose[m++];
		*l = (Loose){.named = &named[i], .place = i};
		l->pattern = pattern_of(named[i].name, most, l->numbers, &l->nholes);
		good &= l->pattern != NULL;
	}
	good &= loose && groups->at;
	if (good)
		qsort(loose, m, sizeof *loose, by_pattern);
	for (size_t i = 0, end; i < m; i = end) {
		for (end = i + 1; good && end < m &&
				  strcmp(loose[end].pattern, loose[i].pattern) == 0;
		     end++)
			;
		if (good)
			good = add_group(groups, loose + i, end - i);
		else
			free(loose[i].pattern);
	}
	free(loose);
	if (good)
		qsort(groups->at, groups->n, sizeof *groups->at, by_place);
	return good;
}

/* ---- names ---- */

/* Words of models that mean one thing. */
static const char *const same_words[][2] = {
	{"gain", "weight"}, {"gain", "gamma"},	    {"gain", "scale"},	{"bias", "beta"},
	{"table", "weight"}, {"table", "embedding"}, {"table", "embeddings"}, {"w", "kernel"}};

typedef struct Words {
	const char *at[MOST_WORDS];
	int len[MOST_WORDS], n;
} Words;

/* The words of a name, without what stands in braces. */
static Words words_of(const char *name)
{
	Words words = {.n = 0};
	while (*name && words.n < MOST_WORDS) {
		if (*name == '{') {
			name += strcspn(name, "}");
			continue;
		}
		bool digits = isdigit((unsigned char)*name);
		const char *start = name;
		while (digits ? isdigit((unsigned char)*name) : isalpha((unsigned char)*name))
			name++;
		if (name == start)
			name++;
		else
			words.len[words.n] = (int)(name - start), words.at[words.n++] = start;
	}
	return words;
}

static bool is_word(const char *word, int len, const char *text)
{
	return strlen(text) == (size_t)len && strncasecmp(word, text, (size_t)len) == 0;
}

static bool are_same_words(const char *a, int na, const char *b, int nb)
{
	for (size_t i = 0; i < sizeof same_words / sizeof same_words[0]; i++)
		if (is_word(a, na, same_words[i][0]) && is_word(b, nb, same_words[i][1]))
			return true;
	return false;
}

/* Do the letters of `a` stand in `b` in their order, the first one first? */
static bool abbreviates(const char *a, int na, const char *b, int nb)
{
	int i = 0;
	if (tolower((unsigned char)a[0]) != tolower((unsigned char)b[0]))
		return false;
	for (int k = 0; k < nb && i < na; k++)
		i += tolower((unsigned char)a[i]) == tolower((unsigned char)b[k]);
	return i == na;
}

static int word_likeness(const char *a, int na, const char *b, int nb)
{
	if (na == nb && strncasecmp(a, b, (size_t)na) == 0)
		return 6;
	if (isdigit((unsigned char)a[0]) || isdigit((unsigned char)b[0]))
		return 0;
	if (are_same_words(a, na, b, nb))
		return 5;
	int n = na < nb ? na : nb;
	if (strncasecmp(a, b, (size_t)n) == 0)
		return 4;
	return abbreviates(a, na, b, nb) || abbreviates(b, nb, a, na) ? 3 : 0;
}

/* Do more than a third of the groups have the word? It says little. */
static bool is_common(const Groups *groups, const char *word, int len)
{
	size_t n = 0;
	for (size_t i = 0; i < groups->n; i++) {
		Words words = words_of(groups->at[i].pattern);
		bool has = false;
		for (int k = 0; k < words.n && !has; k++)
			has = words.len[k] == len && strncmp(words.at[k], word, (size_t)len) == 0;
		n += has;
	}
	return 3 * n > groups->n;
}

/* Ours against theirs: each of our words with the most alike of theirs, twice where it is rare; the
 * last ones, which say what a layer's tensor is, with each other and twice; a word of theirs that is
 * like none counts against. `common`: of our words, by place. */
static int name_likeness(const char *ours, const char *theirs, const bool *common)
{
	Words a = words_of(ours), b = words_of(theirs);
	bool met[MOST_WORDS] = {false};
	int total = 0;
	if (a.n == 0 || b.n == 0)
		return 0;
	total += 2 * word_likeness(a.at[a.n - 1], a.len[a.n - 1], b.at[b.n - 1], b.len[b.n - 1]);
	met[b.n - 1] = true;
	for (int i = 0; i < a.n - 1; i++) {
		int best = 0, which = -1;
		for (int k = 0; k < b.n - 1; k++) {
			int like = word_likeness(a.at[i], a.len[i], b.at[k], b.len[k]);
			if (like > best && !met[k]) {
				best = like;
				which = k;
			}
		}
		if (which >= 0)
			met[which] = true;
		total += common[i] ? best : 2 * best;
	}
	for (int k = 0; k < b.n; k++)
		total -= !met[k];
	return total;
}

/* ---- sizes ---- */

static bool is_equal(const Named *param, const Named *array)
{
	bool same = param->rank == array->rank;
	for (int i = 0; same && i < param->rank; i++)
		same = param->extents[i] < 0 || param->extents[i] == array->extents[i];
	return same;
}

static bool fits(const Named *param, const Named *array, const char *axes)
{
	Arrangement how;
	ArrayError why;
	Array seen = {.rank = array->rank, .dtype = DTYPE_F32, .nelements = 1};
	if (!*axes)
		return is_equal(param, array);
	for (int i = 0; i < array->rank; i++)
		seen.extents[i] = array->extents[i];
	if (!arrangement_parse(axes, &how, &why) ||
	    !arrangement_apply(&how, param->extents, param->rank, &seen, &why))
		return false;
	Named made = {.rank = seen.rank};
	memcpy(made.extents, seen.extents, sizeof made.extents);
	return is_equal(param, &made);
}

static bool all_fit(const Group *param, const Group *array, const char *axes)
{
	for (size_t i = 0; i < param->n; i++)
		if (!fits(param->members[i], array->members[i], axes))
			return false;
	return true;
}

/* The arrangement that all members of the pair have, "" where sizes are equal, and another that fits
 * as well, "" for none. false: nothing fits. */
static bool find_axes(const Group *param, const Group *array, char axes[AXES_BYTES],
		      char other[AXES_BYTES])
{
	const Named *a = param->members[0], *b = array->members[0];
	Array seen = {.rank = b->rank};
	axes[0] = other[0] = '\0';
	if (all_fit(param, array, axes))
		return true;
	for (int i = 0; i < b->rank; i++)
		seen.extents[i] = b->extents[i];
	char text[2 * AXES_BYTES];
	arrangement_suggest(&seen, a->extents, a->rank, text, sizeof text);
	for (char *rest, *one = strtok_r(text, "]", &rest); one; one = strtok_r(NULL, "]", &rest)) {
		char *start = strchr(one, '['), *to = *axes ? other : axes;
		if (!start || snprintf(to, AXES_BYTES, "%s]", start) >= AXES_BYTES ||
		    !all_fit(param, array, to))
			to[0] = '\0';
	}
	return *axes;
}

/* Into how many parts an arrangement cuts the array: the number behind "0/", or 1. */
static int parts_of(const char *axes)
{
	const char *slash = strchr(axes, '/');
	return slash ? atoi(slash + 1) : 1;
}

/* Do the members' numbers differ by the same, nothing or more, in each place? */
static bool numbers_match(const Group *param, const Group *array)
{
	if (param->n != array->n || param->nholes != array->nholes)
		return false;
	for (int h = 0; h < param->nholes; h++) {
		int plus = array->numbers[0][h] - param->numbers[0][h];
		for (size_t i = 0; i < param->n; i++)
			if (plus < 0 || array->numbers[i][h] - param->numbers[i][h] != plus)
				return false;
	}
	return true;
}

/* ---- pairs ---- */

static int score_of(const Groups *params, size_t p, const Groups *arrays, size_t a, const char *axes,
		    const bool *common)
{
	enum { LIKE = 10, EQUAL = 15, TURNED = 5, PART = -25, FAR = 120 };
	double here = (double)p / (double)params->n, there = (double)a / (double)arrays->n;
	double apart = here > there ? here - there : there - here;
	int sizes = !*axes ? EQUAL : parts_of(axes) == 1 ? TURNED : PART;
	return LIKE * name_likeness(params->at[p].pattern, arrays->at[a].pattern, common) + sizes -
	       (int)(FAR * apart);
}

/* A pair whose sizes fit no other is taken before those that may be meant otherwise. */
static bool prefer_unique(const Groups *params, const Groups *arrays, Pair *pairs, size_t n)
{
	enum { UNIQUE = 30 };
	uint32_t *ofparam = calloc(params->n + 1, sizeof *ofparam);
	uint32_t *ofarray = calloc(arrays->n + 1, sizeof *ofarray);
	bool good = ofparam && ofarray;
	for (size_t i = 0; good && i < n; i++) {
		ofparam[pairs[i].param] += !pairs[i].part;
		ofarray[pairs[i].array] += !pairs[i].part;
	}
	for (size_t i = 0; good && i < n; i++)
		if (!pairs[i].part && ofparam[pairs[i].param] == 1 && ofarray[pairs[i].array] == 1)
			pairs[i].score += UNIQUE;
	free(ofparam);
	free(ofarray);
	return good;
}

/* All pairs that fit; NULL when memory is short. */
static Pair *pairs_of(const Groups *params, const Groups *arrays, size_t *n)
{
	size_t room = params->n * arrays->n;
	Pair *pairs = room <= MOST_PAIRS ? malloc((room + 1) * sizeof *pairs) : NULL;
	char axes[AXES_BYTES], other[AXES_BYTES];
	*n = 0;
	for (size_t p = 0; pairs && p < params->n; p++) {
		Words words = words_of(params->at[p].pattern);
		bool common[MOST_WORDS];
		for (int i = 0; i < words.n; i++)
			common[i] = is_common(params, words.at[i], words.len[i]);
		for (size_t a = 0; a < arrays->n; a++)
			if (numbers_match(&params->at[p], &arrays->at[a]) &&
			    find_axes(&params->at[p], &arrays->at[a], axes, other))
				pairs[(*n)++] =
					(Pair){p, a, score_of(params, p, arrays, a, axes, common),
					       parts_of(axes) > 1, false};
	}
	if (pairs && !prefer_unique(params, arrays, pairs, *n)) {
		free(pairs);
		return NULL;
	}
	return pairs;
}

/* ---- lines ---- */

/* The pattern of theirs, with {i+2} where its numbers are larger than ours. */
static char *shifted(const Group *param, const Group *array)
{
	size_t room = strlen(array->pattern) + 16 * MOST_HOLES + 1, used = 0;
	char *text = malloc(room);
	int hole = 0;
	for (const char *at = array->pattern; text && *at; at++) {
		text[used++] = *at;
		if (*at == '{' && array->nholes > 0) {
			int plus = array->numbers[0][hole] - param->numbers[0][hole];
			text[used++] = *++at;
			if (plus > 0)
				used += (size_t)snprintf(text + used, room - used, "+%d", plus);
			hole++;
		}
	}
	if (text)
		text[used] = '\0';
	return text;
}

/* "(0/3 ...", which is the first part, as part `place`. */
static void copy_axes(char to[AXES_BYTES], const char *axes, int place)
{
	const char *part = strchr(axes, '/');
	if (part)
		snprintf(to, AXES_BYTES, "%.*s%d%s", (int)(part - axes) - 1, axes, place, part);
	else
		memcpy(to, axes, AXES_BYTES);
}

static bool add_guess(Guesses *g, Group *param, Group *array, const char *axes, const char *other)
{
	Guess *guess = &g->at[g->n++];
	*guess = (Guess){.ours = strdup(param->pattern), .theirs = shifted(param, array)};
	guess->param = param->members[0];
	guess->array = array->members[0];
	copy_axes(guess->axes, axes, array->taken);
	copy_axes(guess->other, other, array->taken);
	for (size_t i = 0; i < param->n; i++) {
		g->param_done[param->members[i] - g->params] = true;
		g->array_done[array->members[i] - g->arrays] = true;
	}
	param->done = true;
	array->parts = parts_of(axes);
	array->done = ++array->taken == array->parts;
	return guess->ours && guess->theirs;
}

/* Up to the last point: a layer's name. */
static size_t layer_length(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? (size_t)(dot - name) : 0;
}

static bool same_layer(const char *a, const char *b)
{
	size_t n = layer_length(a);
	return n > 0 && n == layer_length(b) && strncmp(a, b, n) == 0;
}

/* Tensors of a layer that is paired are looked for in the layer that it is paired with. */
static void draw_layer(const Groups *params, const Groups *arrays, const Pair *taken, Pair *pairs,
		       size_t n)
{
	enum { SAME_LAYER = 40, OTHER_LAYER = -20 };
	for (size_t i = 0; i < n; i++) {
		bool ours = same_layer(params->at[pairs[i].param].pattern,
				       params->at[taken->param].pattern);
		bool theirs = same_layer(arrays->at[pairs[i].array].pattern,
					 arrays->at[taken->array].pattern);
		pairs[i].score += ours && theirs ? SAME_LAYER : ours || theirs ? OTHER_LAYER : 0;
	}
}

/* The best pair that is still to be had; n: there is none. */
static size_t best_pair(const Groups *params, const Groups *arrays, const Pair *pairs, size_t n)
{
	size_t best = n;
	for (size_t i = 0; i < n; i++)
		if (!pairs[i].taken && !params->at[pairs[i].param].done &&
		    !arrays->at[pairs[i].array].done &&
		    (best == n || pairs[i].score > pairs[best].score))
			best = i;
	return best;
}

static bool take_pairs(Guesses *g, Groups *params, Groups *arrays, Pair *pairs, size_t n)
{
	char axes[AXES_BYTES], other[AXES_BYTES];
	for (size_t i; (i = best_pair(params, arrays, pairs, n)) < n;) {
		Group *param = &params->at[pairs[i].param], *array = &arrays->at[pairs[i].array];
		pairs[i].taken = true;
		find_axes(param, array, axes, other);
		if (array->taken && array->parts != parts_of(axes))
			continue;
		if (!add_guess(g, param, array, axes, other))
			return false;
		draw_layer(params, arrays, &pairs[i], pairs, n);
	}
	return true;
}

static bool guess_round(Guesses *g, size_t nparams, size_t narrays, int most)
{
	Groups params = {0}, arrays = {0};
	size_t n = 0;
	Pair *pairs = NULL;
	bool good = group(g->params, g->param_done, nparams, most, &params) &&
		    group(g->arrays, g->array_done, narrays, most, &arrays);
	if (good)
		pairs = pairs_of(&params, &arrays, &n);
	good = pairs && take_pairs(g, &params, &arrays, pairs, n);
	free(pairs);
	groups_free(&params);
	groups_free(&arrays);
	return good;
}

/* The parts of one array go to its parameters in their order. */
static void order_parts(Guesses *g)
{
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = i + 1; k < g->n; k++) {
			Guess *a = &g->at[i], *b = &g->at[k];
			if (a->array == b->array && (a->param < b->param) !=
							    (strcmp(a->axes, b->axes) < 0)) {
				Guess was = *a;
				memcpy(a->axes, b->axes, AXES_BYTES);
				memcpy(a->other, b->other, AXES_BYTES);
				memcpy(b->axes, was.axes, AXES_BYTES);
				memcpy(b->other, was.other, AXES_BYTES);
			}
		}
}

static int by_param(const void *a, const void *b)
{
	const Guess *x = a, *y = b;
	return (x->param > y->param) - (x->param < y->param);
}

bool map_guess(FILE *out, const Named *params, size_t nparams, const Named *arrays, size_t narrays,
	       size_t *nopen)
{
	Guesses g = {calloc(nparams + 1, sizeof *g.at), 0, params, arrays,
		     calloc(nparams + 1, sizeof(bool)), calloc(narrays + 1, sizeof(bool))};
	bool good = g.at && g.param_done && g.array_done && guess_round(&g, nparams, narrays, 1) &&
		    guess_round(&g, nparams, narrays, MOST_HOLES) &&
		    guess_round(&g, nparams, narrays, 0);
	if (good) {
		qsort(g.at, g.n, sizeof *g.at, by_param);
		order_parts(&g);
		*nopen = guesses_print(out, &g, nparams, narrays);
	}
	for (size_t i = 0; g.at && i < g.n; i++) {
		free(g.at[i].ours);
		free(g.at[i].theirs);
	}
	free(g.at);
	free(g.param_done);
	free(g.array_done);
	return good;
}
