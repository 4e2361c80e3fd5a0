/* Which name may have been meant. */
#ifndef TSR_BASE_NEAREST_H
#define TSR_BASE_NEAREST_H

#include <stddef.h>
#include <stdint.h>

/* The candidate nearest to `name` by edit distance, the first of equals, or NULL when none is
 * near. */
const char *name_nearest(const char *name, const char *const *candidates, size_t n);
/* How near a candidate is, 0 the nearest; UINT32_MAX where it is not near. */
uint32_t name_nearness(const char *name, const char *candidate);

#endif
