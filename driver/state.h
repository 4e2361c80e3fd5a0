/* What a session holds; for driver/ alone. */
#ifndef TSR_DRIVER_STATE_H
#define TSR_DRIVER_STATE_H

#include <sys/types.h>

#include "driver/output.h"
#include "driver/session.h"
#include "loops/vector/vector.h"
#include "transform/transform.h"

struct Session {
	Holder holder; /* of all below */
	Failure failure;
	pid_t thread;		  /* that the last call came from; 0: none */
	const char *stack_lowest; /* of it */
	SessionOptions options;
	int ran;      /* stages that ran without errors */
	int first;    /* the stage that the source is text of; 0: it is a program */
	bool stopped; /* the next one ran, and there were errors */
	Arena *perm;
	Symbols *symbols;
	Sources sources;
	Diags diags;
	Parse parse;
	uint32_t file; /* 0: no program yet */
	const char *input;
	AstFile *ast;
	Graph *graph;
	Inference *inference;
	const TensorProgram *tensors[TENSOR_PASSES]; /* after each pass */
	Program *naive; /* unscheduled loops; NULL: nobody has asked for them */
	Target target;
	Schedule *asked;			     /* NULL: nothing is */
	LowerOptions lower_options;		     /* of the plan, and as long as the program */
	struct Lower *plan;			     /* NULL: no policy chooses */
	Program *loops[1 + TRANSFORM_PASSES];	     /* kernels, then what each pass makes */
	Program *program;			     /* the last of them */
	Program *vectored[VECTOR_PASSES]; /* what each pass over finished loops makes of it */
	Program *vectors;		  /* the last of them: what back ends see */
	struct Module *module;			     /* what back ends share; NULL: none has run */
	Outputs outputs;
};

/* Runs work(arg) under the session's trap, unless the session has failed. */
SessionStatus session_guard(Session *session, void (*work)(void *arg), void *arg);
/* The unscheduled loops, without memory, verified; made where they are asked for first. NULL after errors. Requires:
 * the tensor program is there. */
const Program *session_naive(Session *session);
/* Are the loops those of `naive`: no policy chooses, and no schedule is given? */
bool session_unscheduled(const Session *session);
/* What is asked of loops. Requires: the target is there. */
LowerOptions session_lower_options(const Session *session);
/* Stage `target`, which needs none before. */
void session_find_target(Session *session);
/* Offers repairs of the errors that stop a stage before lowering: each was tried. */
void repairs_offer(Session *session);

#endif
