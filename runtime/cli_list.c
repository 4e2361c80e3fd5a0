/* NAME=[[1, 2], [3, 4]]: a list of numbers to the bytes of a .npy, as if it were read from standard input.
 *
 * The first number says how deep all stand, the first list of each depth how long all of that depth are.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "runtime/cli.h"

typedef struct List {
	const char *at;
	double *numbers;
	size_t n, room;
	int64_t extents[ARRAY_RANK_MAX];
	int rank; /* 0: no number was seen yet */
	int met;  /* depths that have lists; extents: -1 where none has ended */
	ArrayError *why;
} List;

static char next(List *l)
{
	while (isspace((unsigned char)*l->at))
		l->at++;
	return *l->at;
}

static bool expected(List *l, const char *what)
{
	if (!*l->at)
		return array_fail(l->why, "%s is expected at the end", what);
	return array_fail(l->why, "%s is expected before '%.8s'", what, l->at);
}

static bool number(List *l, int depth)
{
	char *end;
	double value = strtod(l->at, &end);
	if (end == l->at)
		return expected(l, "a number, '[' or ']'");
	if (l->rank && l->rank != depth)
		return array_fail(l->why, "'%.8s' stands %d lists deep, and the first number %d",
				  l->at, depth, l->rank);
	if (l->n == l->room) {
		double *grown = realloc(l->numbers, (l->room = 2 * l->room + 16) * sizeof *grown);
		if (!grown)
			return array_fail(l->why, "out of memory");
		l->numbers = grown;
	}
	l->rank = depth;
	l->numbers[l->n++] = value;
	l->at = end;
	return true;
}

static bool closed(List *l, int depth, int64_t n)
{
	l->at++;
	if (l->extents[depth] >= 0 && l->extents[depth] != n)
		return array_fail(l->why, "a list of %lld stands beside one of %lld", (long long)n,
				  (long long)l->extents[depth]);
	l->extents[depth] = n;
	l->met = depth < l->met ? l->met : depth + 1;
	return true;
}

/* Lists in lists, 32 deep at most. */
static bool list(List *l, int depth)
{
	if (depth == ARRAY_RANK_MAX)
		return array_fail(l->why, "an array has at most %d axes", ARRAY_RANK_MAX);
	l->at++;
	for (int64_t n = 0;; n++) {
		if (next(l) == ']')
			return closed(l, depth, n);
		if (!(*l->at == '[' ? list(l, depth + 1) : number(l, depth + 1)))
			return false;
		if (next(l) == ',')
			l->at++;
		else if (*l->at != ']')
			return expected(l, "',' or ']'");
	}
}

/* Are there as many numbers as the extents say? `[[], 1]` has fewer. */
static bool is_whole(const List *l)
{
	int64_t n = 1;
	for (int i = 0; i < l->met; i++)
		n *= l->extents[i];
	return l->rank == (l->n ? l->met : 0) && n == (int64_t)l->n;
}

static Scalar rounded(Dtype dtype, double number)
{
	double element; /* of any of them */
	Scalar value = {.f = number};
	if (!dtype_is_float(dtype))
		return value;
	scalar_write(dtype, &element, 0, value);
	return scalar_read(dtype, &element, 0);
}

static char *npy(const List *l, Dtype dtype, size_t *len, ArrayError *why)
{
	char *bytes = NULL;
	Array array;
	FILE *out = open_memstream(&bytes, len);
	bool made = array_new(&array, DTYPE_F64, l->met, l->extents, why);
	for (size_t i = 0; made && i < l->n; i++)
		scalar_write(DTYPE_F64, array.data, (int64_t)i, rounded(dtype, l->numbers[i]));
	bool written = made && out && npy_print(out, &array, why);
	if (made)
		array_free(&array);
	if (out && fclose(out) == 0 && written)
		return bytes;
	free(bytes);
	return NULL;
}

char *list_as_npy(const char *text, Dtype dtype, size_t *len, ArrayError *why)
{
	List l = {.at = text, .why = why};
	char *bytes = NULL;
	memset(l.extents, -1, sizeof l.extents);
	bool good = list(&l, 0);
	if (good && next(&l))
		good = array_fail(why, "nothing is expected behind the list, and there is '%.8s'",
				  l.at);
	if (good && !is_whole(&l))
		good = array_fail(why, "its lists are not all as deep");
	if (good)
		bytes = npy(&l, dtype, len, why);
	free(l.numbers);
	return bytes;
}
