/* The text of a map: a line a guess in columns, without what all names begin with, and a remark where
 * the sizes allow another arrangement. */
#include "runtime/cli_guess_text.h"

#include <string.h>

static void print_extents_of(FILE *out, const Named *named)
{
	fprintf(out, "%s", named->dtype);
	for (int i = 0; i < named->rank; i++)
		if (named->extents[i] < 0)
			fprintf(out, "%s?", i ? " x " : " ");
		else
			fprintf(out, "%s%lld", i ? " x " : " ", (long long)named->extents[i]);
}

/* How many bytes, up to a point, all of theirs begin with. */
static size_t common_prefix(const Guesses *g)
{
	size_t n = g->n > 1 ? strcspn(g->at[0].theirs, "{") : 0;
	for (size_t i = 1; i < g->n; i++)
		for (size_t k = 0; k < n; k++)
			if (g->at[i].theirs[k] != g->at[0].theirs[k])
				n = k;
	while (n > 0 && g->at[0].theirs[n - 1] != '.')
		n--;
	return n;
}

/* A square fits both ways; several arrangements may fit. */
static bool is_uncertain(const Guess *guess)
{
	const Named *p = guess->param;
	if (*guess->axes)
		return true;
	for (int i = 0; i < p->rank; i++)
		for (int k = i + 1; k < p->rank; k++)
			if (p->extents[i] == p->extents[k] && p->extents[i] > 1)
				return true;
	return false;
}

static void print_line(FILE *out, const Guess *guess, size_t prefix, int widths[2])
{
	fprintf(out, "%-*s = %-*s", widths[0], guess->ours, *guess->axes ? widths[1] : 0,
		guess->theirs + prefix);
	if (*guess->axes)
		fprintf(out, " %s", guess->axes);
	if (is_uncertain(guess)) {
		fprintf(out, "  # axes? %s%s%s", *guess->other ? "or " : "", guess->other,
			*guess->other ? "; " : "");
		print_extents_of(out, guess->param);
		fputs(" from ", out);
		print_extents_of(out, guess->array);
	}
	fputc('\n', out);
}

static void print_lines(FILE *out, const Guesses *g)
{
	size_t prefix = common_prefix(g);
	int widths[2] = {0, 0};
	if (prefix)
		fprintf(out, "prefix %.*s\n", (int)prefix, g->at[0].theirs);
	for (size_t i = 0; i < g->n; i++) {
		int ours = (int)strlen(g->at[i].ours), theirs = (int)strlen(g->at[i].theirs + prefix);
		widths[0] = ours > widths[0] ? ours : widths[0];
		widths[1] = theirs > widths[1] ? theirs : widths[1];
	}
	for (size_t i = 0; i < g->n; i++)
		print_line(out, &g->at[i], prefix, widths);
}

static size_t print_rest(FILE *out, const char *what, const Named *named, const bool *done, size_t n)
{
	size_t open = 0;
	for (size_t i = 0; i < n; i++)
		if (!done[i]) {
			fprintf(out, "# %s %s, ", what, named[i].name);
			print_extents_of(out, &named[i]);
			fputc('\n', out);
			open++;
		}
	return open;
}

size_t guesses_print(FILE *out, const Guesses *g, size_t nparams, size_t narrays)
{
	print_lines(out, g);
	size_t open = print_rest(out, "nothing fits", g->params, g->param_done, nparams);
	print_rest(out, "not taken:", g->arrays, g->array_done, narrays);
	return open;
}
