/* Up to two arrangements that fit, for messages: the axes of the side with more of them are dealt
 * out to those of the other, each to the first that its extent still divides, with backtracking.
 * What is left of one axis of the array may be a number of parts. Invariant: what is offered is
 * accepted by arrangement_apply.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/arrange.h"

enum { MOST_FITTED = 8, MOST_STEPS = 10000 };

typedef struct Fit {
	const int64_t *fine; /* the extents that are dealt out */
	int nfine, ncoarse;
	bool split; /* fine is the parameter's side: the array's axes are split */
	int64_t rest[MOST_FITTED];
	int owner[MOST_FITTED], steps;
	int skipped; /* dealings that were offered before */
} Fit;

/* Nothing is left, or of an array that is split one axis has parts. */
static bool is_full(const Fit *fit)
{
	int parts = 0;
	for (int i = 0; i < fit->ncoarse; i++)
		parts += fit->rest[i] != 1;
	return parts == 0 || (fit->split && parts == 1);
}

static bool deal(Fit *fit, int i)
{
	if (i == fit->nfine)
		return is_full(fit) && fit->skipped-- == 0;
	for (int k = 0; k < fit->ncoarse && fit->steps++ < MOST_STEPS; k++) {
		if (fit->rest[k] % fit->fine[i] != 0)
			continue;
		fit->rest[k] /= fit->fine[i];
		fit->owner[i] = k;
		if (deal(fit, i + 1))
			return true;
		fit->rest[k] *= fit->fine[i];
	}
	return false;
}

static void print_fine(const Fit *fit, FILE *out)
{
	for (int i = 0; i < fit->nfine; i++)
		fprintf(out, "%s%c", i ? " " : "", 'a' + i);
}

static void print_coarse(const Fit *fit, FILE *out)
{
	for (int k = 0; k < fit->ncoarse; k++) {
		int n = fit->rest[k] != 1;
		for (int i = 0; i < fit->nfine; i++)
			n += fit->owner[i] == k;
		fputs(k ? " " : "", out);
		fputs(n == 1 ? "" : "(", out);
		bool first = fit->rest[k] == 1;
		if (!first)
			fprintf(out, "0/%lld", (long long)fit->rest[k]);
		for (int i = 0; i < fit->nfine; i++)
			if (fit->owner[i] == k) {
				fprintf(out, "%s%c", first ? "" : " ", 'a' + i);
				first = false;
			}
		fputs(n == 1 ? "" : ")", out);
	}
}

static bool are_positive(const int64_t *extents, int n)
{
	for (int i = 0; i < n; i++)
		if (extents[i] < 1)
			return false;
	return true;
}

static void print(const Fit *fit, FILE *out)
{
	fputc('[', out);
	(fit->split ? print_coarse : print_fine)(fit, out);
	fputs(" => ", out);
	(fit->split ? print_fine : print_coarse)(fit, out);
	fputc(']', out);
}

void arrangement_suggest(const Array *array, const int64_t *wanted, int rank, char *text,
			 size_t room)
{
	bool split = rank >= array->rank;
	int nfine = split ? rank : array->rank, ncoarse = split ? array->rank : rank;
	text[0] = '\0';
	FILE *out = nfine <= MOST_FITTED && are_positive(wanted, rank) &&
				    are_positive(array->extents, array->rank)
			    ? fmemopen(text, room, "w")
			    : NULL;
	for (int i = 0; out && i < 2; i++) {
		Fit fit = {.fine = split ? wanted : array->extents,
			   .nfine = nfine,
			   .ncoarse = ncoarse,
			   .split = split,
			   .skipped = i};
		memcpy(fit.rest, split ? array->extents : wanted,
		       (size_t)ncoarse * sizeof *fit.rest);
		if (!deal(&fit, 0))
			break;
		fputs(i ? " or " : "", out);
		print(&fit, out);
	}
	if (out)
		fclose(out);
}
