/* The printers of diagnostics, private to base: one file each. */
#ifndef TSR_BASE_DIAG_PRINT_H
#define TSR_BASE_DIAG_PRINT_H

#include "base/diag.h"

/* All of the list, in its order: with excerpts of the sources, as a JSON array of objects, and as
 * one log of SARIF 2.1.0. */
void diags_print_text(const Diags *ds, FILE *out);
void diags_print_json(const Diags *ds, FILE *out);
void diags_print_sarif(const Diags *ds, FILE *out);

/* "error", "warning"; the long text of a code, of base/diag.def. Both are static. */
const char *severity_name(Severity severity);
const char *diag_code_text(DiagCode code);
/* The SARIF level a code has by default: "error" or "warning". */
Severity diag_code_severity(DiagCode code);

#endif
