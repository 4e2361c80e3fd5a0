/* What the repairs of a message start from. */
#ifndef TSR_MAIN_REPAIR_H
#define TSR_MAIN_REPAIR_H

#include "grammar/edits.h"
#include "main.h"

/* Sets what the message says: places, sizes, names, what a `with` would say. Requires: e->arena, sources
 * and file are set. */
void repair_facts(const Compiler *c, const Diag *d, Edits *e);
/* The statement that the message is about; its own place where there is none. */
Span repair_statement(const Compiler *c, const Diag *d);
bool repair_is_inside(Span span, Span all);

#endif
