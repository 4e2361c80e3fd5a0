/* "did you mean": the one of some names that is nearest to a misspelt one, by edit distance. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { NEAR_MAX = 128 };

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Edit distance with transpositions of neighbours; names longer than NEAR_MAX are never near. */
static uint32_t distance(const char *a, const char *b)
{
	uint32_t na = (uint32_t)strlen(a), nb = (uint32_t)strlen(b);
	if (na >= NEAR_MAX || nb >= NEAR_MAX)
		return UINT32_MAX;
	uint32_t rows[3][NEAR_MAX];
	for (uint32_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (uint32_t i = 1; i <= na; i++) {
		uint32_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];
		now[0] = i;
		for (uint32_t j = 1; j <= nb; j++) {
			now[j] = least(least(before[j], now[j - 1]) + 1,
				       before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], two[j - 2] + 1);
		}
	}
	return rows[na % 3][nb];
}

/* Small is near: the same letters in upper or lower case first, then fewer edits, then letters
 * added, then letters left out. UINT32_MAX: not near. In a name of one or two letters another
 * letter is another name, and one letter is near to nothing longer. */
uint32_t name_nearness(const char *name, const char *candidate)
{
	uint32_t n = (uint32_t)strlen(name), m = (uint32_t)strlen(candidate);
	uint32_t d = strcasecmp(name, candidate) == 0 ? 0 : distance(name, candidate);
	bool near = d < n / 3 + 1 || (d == 1 && n != m && n > 1);
	if (!near || d >= m)
		return UINT32_MAX;
	return 3 * d - (m > n ? 2 : m < n);
}

const char *name_nearest(const char *name, const char *const *candidates, size_t n)
{
	uint32_t best = UINT32_MAX;
	const char *found = NULL;
	for (size_t i = 0; i < n; i++) {
		uint32_t score = name_nearness(name, candidates[i]);
		if (score < best) {
			best = score;
			found = candidates[i];
		}
	}
	return found;
}
