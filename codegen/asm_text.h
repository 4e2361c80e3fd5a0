/* One assembly text of a whole module: entry functions, CPU check, kernels, constants, table. */
#ifndef TSR_CODEGEN_ASM_TEXT_H
#define TSR_CODEGEN_ASM_TEXT_H

#include "codegen/jit_units.h"

typedef struct AsmParts {
	const char *dir;       /* the temporary directory */
	const char *entries;   /* libgccjit's text of the entry functions */
	const char *const *kernels; /* and of the kernels, by unit */
	const JitUnits *units;
	bool inline_constants; /* as words, for a text that stands alone; else from files in dir */
} AsmParts;

/* A unit's text does not depend on the module's names: its symbols are UNIT_PREFIX__ and k_ or p_
 * with the number of the kernel in the unit, t_ with a table's name, or a name of the module's.
 * With debug information, names are the module's. */
#define UNIT_PREFIX "tsr_unit"

/* Writes the text to `path`; false after a diagnostic. */
bool asm_text_write(const Module *module, const AsmParts *parts, const char *path);

#endif
