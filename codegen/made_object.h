/* The object that machine code was assembled to, for several outputs of one session: what --verify=run has called is
 * what is written. */
#ifndef TSR_CODEGEN_MADE_OBJECT_H
#define TSR_CODEGEN_MADE_OBJECT_H

#include "codegen/module.h"

typedef struct MadeObject {
	char *bytes; /* NULL: none was made, or it is too large to stay in memory */
	size_t n;
	EmitReport report;
} MadeObject;

/* Reads the object in the file at `path` into memory, where Emit.again asks for that. */
void made_object_load(const Module *module, const char *path, const EmitReport *report);
/* The object as a file at `path`, and what the report of making it says of code and its times; false: there is none, or
 * it cannot be written. */
bool made_object_write(const Module *module, const char *path, EmitReport *report);

#endif
