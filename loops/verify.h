/* What breaks the rules of loops.h, as data. */
#ifndef TSR_LOOPS_VERIFY_H
#define TSR_LOOPS_VERIFY_H

#include "loops/loops.h"

/* The first rule that a program breaks: where, and how, "an unknown iterator". */
typedef struct LoopsFault {
	const Kernel *kernel;
	const Stmt *stmt; /* NULL: the kernel as a whole */
	const char *rule; /* NULL: there is none */
} LoopsFault;

/* Of the grammar: what loops_verify_grammar aborts on. Aborts (BUG) on tables of buffers and routines
 * that contradict each other. */
LoopsFault loops_grammar_fault(const Program *program);
/* ... and of indices: one that is shown to leave its buffer (bounds.h). */
LoopsFault loops_fault(const Program *program);

#endif
