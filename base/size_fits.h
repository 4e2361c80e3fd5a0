/* Sizes that passed a bound, as errors. */
#ifndef TSR_BASE_SIZE_FITS_H
#define TSR_BASE_SIZE_FITS_H

#include "base/diag.h"
#include "base/size.h"

/* Is the size one? Else tells which bound was passed: "WHAT cannot be computed as one size: ..."
 * (E0511). */
bool size_fits(Diags *diags, const Sizes *sizes, Size size, Span span, const char *what);

#endif
