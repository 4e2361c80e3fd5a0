/* Loops that move elements to the ends of lists (codegen/compaction.h), in C. */
#ifndef TSR_CODEGEN_C_COMPACTION_H
#define TSR_CODEGEN_C_COMPACTION_H

#include "codegen/c_kernel.h"

/* Writes whole vectors of such a loop, in front of it: the name of how many iterations they were. NULL, and nothing
 * written: the loop is another one. */
const char *c_compact_vectors(KernelText *k, const Stmt *loop);
/* What a module needs for them, where it has any. */
void c_put_compaction(FILE *out, const Module *module);

#endif
