/* One assembly text of a whole module: entry functions, CPU check, kernels, constants, table. */
#ifndef TSR_CODEGEN_ASM_TEXT_H
#define TSR_CODEGEN_ASM_TEXT_H

#include "codegen/module.h"

typedef struct AsmParts {
	const char *dir;       /* the temporary directory */
	const char *entries;   /* libgccjit's text of the entry functions */
	const char *const *kernels; /* and of the kernels, in nkernels units */
	uint32_t nkernels;
	bool inline_constants; /* as words, for a text that stands alone; else from files in dir */
} AsmParts;

/* Writes the text to `path`; false after a diagnostic. */
bool asm_text_write(const Module *module, const AsmParts *parts, const char *path);

#endif
