/* What the repairs of a message start from. */
#ifndef TSR_DRIVER_REPAIR_H
#define TSR_DRIVER_REPAIR_H

#include "grammar/edits.h"
#include "driver/state.h"

/* Sets what the message says: places, sizes, names, what a `with` would say. Requires: e->arena,
 * sources and file are set. */
void repair_facts(const Session *s, const Diag *d, Edits *e);
/* The statement that the message is about; its own place where there is none. */
Span repair_statement(const Session *s, const Diag *d);
bool repair_is_inside(Span span, Span all);

#endif
