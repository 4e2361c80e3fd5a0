/* Programs that make objects of assembly. */
#ifndef TSR_CODEGEN_TOOLS_H
#define TSR_CODEGEN_TOOLS_H

#include "codegen/codegen.h"
#include "codegen/subprocess.h"

typedef struct Tools {
	const Emit *emit;
	const char *dir; /* for temporary files */
	const char *with; /* an object that is linked too; NULL: none */
} Tools;

/* false after a diagnostic. */
bool tools_assemble(const Tools *tools, const char *from, const char *to);
/* To the emit's output. */
bool tools_link(const Tools *tools, const char *from);
/* A note where there is no room for temporary files: not every program says so. */
void tools_note_room(const Tools *tools);
/* What a child said; else the signal that ended it, such as that of a limit of the shell. */
const char *child_last_words(const ChildResult *result);

#endif
