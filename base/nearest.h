/* Which name may have been meant. */
#ifndef TSR_BASE_NEAREST_H
#define TSR_BASE_NEAREST_H

#include <stddef.h>

/* The candidate nearest to `name` by edit distance, the first of equals, or NULL when none is
 * near. */
const char *name_nearest(const char *name, const char *const *candidates, size_t n);

#endif
