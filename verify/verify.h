/* --verify=run: what was made of a program against the reference, which shares nothing with it. */
#ifndef TSR_VERIFY_VERIFY_H
#define TSR_VERIFY_VERIFY_H

#include "codegen/codegen.h"
#include "reference/reference.h"

/* Runs every routine on random inputs through the reference, the interpreter and every back end
 * that this machine can run: one line of report each, and a diagnostic where they disagree. What
 * takes more steps or memory than it may is left out, and the report says so. */
void verify_run(const Emit *emit, const Inference *inference, FILE *report, uint64_t seed);

#endif
