/* What the files of parse*.c share: where in the list of tokens they are, and what names mean there. */
#ifndef TSR_LOOPS_PARSE_TEXT_H
#define TSR_LOOPS_PARSE_TEXT_H

#include "loops/build.h"
#include "loops/parse.h"
#include "loops/parse_lex.h"

/* What a name means in a kernel; the last one counts. */
typedef struct ScopeName {
	Sym name;
	bool local;
	uint32_t id; /* IterVar or LocalId */
} ScopeName;

/* Things of one name, in order: `next` is 1 + the number of the next one. */
typedef struct NameIndex {
	Sym key;
	uint32_t value;
} NameIndex;

/* A kernel in a loop of its routine. */
typedef struct KernelLoop {
	uint32_t kernel, loop;
} KernelLoop;

struct LoopsParser {
	Arena *arena;
	Diags *diags;
	const Source *source;
	uint32_t file;
	LexList tokens; /* LEX_END last */
	uint32_t at;
	bool failed; /* after the first error `at` is the end */
	int depth;
	Program *program;
	NameIndex *dims, *buffers, *kernels; /* stb_ds tables */
	VEC(uint32_t) next_buffer;	     /* by BufferId: 1 + the next one of its name */
	VEC(KernelLoop) loop_of;
	VEC(uint32_t) routine_of; /* by KernelId: a routine that runs it; ROUTINE_NONE */
	/* the kernel at hand */
	Kernel kernel;
	uint32_t routine; /* ROUTINE_NONE: no routine runs it */
	VEC(KernelIter) iters;
	VEC(KernelLocal) locals;
	VEC(ScopeName) scope;
	Span line; /* of the statement */
};

enum { ROUTINE_NONE = UINT32_MAX, NEST_MOST = 900 };

/* ---- parse_buffer.c: behind the first word of a line ---- */

/* "NAME : DTYPE [ELEMENTS] KIND ...", appended to the program's buffers. */
void parse_buffer(LoopsParser *p);
/* "[axes]" of elements of a type. */
TensorType parse_type(LoopsParser *p, Dtype dtype);
/* Fails at the span where the type has not as many elements as the buffer. */
void fit_type(LoopsParser *p, const Buffer *buffer, const TensorType *type, Span span);

/* ---- parse_routine.c: likewise ---- */

/* "NUMBER : CLAIM", appended to the program's checks. */
void parse_check_line(LoopsParser *p);
/* The routine of a number; those of the state have the numbers behind the others. */
void parse_routine(LoopsParser *p, ProgramRoutine *routine, uint32_t r);

/* ---- parse_value.c ---- */

/* An index, a sum of terms; a size, an index of dims and numbers alone; a value of the type. Not NULL and
 * not SIZE_BAD after an error. */
const Ix *parse_ix(LoopsParser *p);
Size parse_size(LoopsParser *p);
const Value *parse_value(LoopsParser *p, Dtype dtype);
/* A number of the type. */
Scalar parse_scalar(LoopsParser *p, Dtype dtype);
/* Of two arguments, by its symbol or name: OP_NONE, and nothing is taken. */
Op parse_infix(LoopsParser *p);
const ScopeName *parse_scope(const LoopsParser *p, Sym name);
/* The buffer that the kernel's routine sees; BUFFER_NONE: there is none. */
BufferId buffer_find(const LoopsParser *p, Sym name);
/* "[ix, ...]" of a local of so many axes. */
const Ix **parse_ixs(LoopsParser *p, uint32_t rank);

/* ---- parse_kernel.c ---- */

/* The kernel whose name is at hand. */
Kernel parse_kernel(LoopsParser *p, uint32_t routine);

#endif
