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
/* Where there is none yet: a statement of its kernel that breaks a rule. */
static inline void fault_note(LoopsFault *fault, const Stmt *stmt, const char *rule)
{
	if (!fault->rule)
		*fault = (LoopsFault){fault->kernel, stmt, rule};
}

/* Of the grammar: what loops_verify_grammar aborts on. Aborts (BUG) on tables of buffers and routines
 * that contradict each other. */
LoopsFault loops_grammar_fault(const Program *program);
/* ... and of indices: one that is shown to leave its buffer (bounds.h). */
LoopsFault loops_fault(const Program *program);

#endif
