/* An entry function under construction, private to jit_routine.c and jit_guards.c. */
#ifndef TSR_CODEGEN_JIT_ENTRY_H
#define TSR_CODEGEN_JIT_ENTRY_H

#include "codegen/jit_context.h"
#include "codegen/jit_function.h"

typedef struct Entry {
	JitFunction f;
	const Program *program;
	const ProgramRoutine *routine;
	uint32_t index;
	gcc_jit_function *fail; /* stores the message, returns the code */
	Rvalue *call, *state, *workspace;
	Rvalue **dims; /* by DimId */
	Rvalue **scalars, **inputs, **outputs;
	Lvalue **places; /* by BufferId: where one that changes its place in loops is; NULL: others */
} Entry;

/* int PREFIX__fail(const tsr_call *call, int code, const char *text) */
gcc_jit_function *jit_fail_function(Jit *jit);
/* Ends the entry with the code and the text where the condition holds. */
void jit_fail_if(Entry *e, Rvalue *cond, int code, const char *text);
/* All guards, in order; `cpu`: the processor's features too. */
void jit_guards(Entry *e, bool cpu);
/* The 4 bytes of the state that say that it is packed. */
Lvalue *jit_stamp_place(Entry *e);

#endif
