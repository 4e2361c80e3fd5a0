/* The plan that stands in front of code for a GPU, read: codegen/cuda_text.h has its grammar.
 *
 * It is untrusted text. What is read is whole: ids, names and codes exist, loops end, sizes are programs over
 * dims that there are. Whether buffers lie inside of what they are places in depends on the dims, and is
 * looked at for each run.
 */
#ifndef TSR_RUNTIME_CUDA_PLAN_H
#define TSR_RUNTIME_CUDA_PLAN_H

#include "base/dtype.h"
#include "runtime/session.h"

typedef enum PlanRole {
	PLAN_IN,
	PLAN_OUT,
	PLAN_TEMP,
	PLAN_PARAM,
	PLAN_CONST,
	PLAN_PACKED
} PlanRole;

typedef struct PlanBuffer {
	PlanRole role;
	const char *name;
	Dtype dtype;
	uint32_t index;	  /* of an input or result of its routine, a parameter of the module */
	uint32_t routine; /* IN, OUT, TEMP: whose it is */
	tsr_size elements;
	tsr_size offset;    /* TEMP, PARAM: bytes from the start of workspace or state */
	const char *symbol; /* CONST */
	uint64_t place;	    /* PACKED: bytes from where what is packed begins */
} PlanBuffer;

typedef enum PlanFirst { PLAN_UNIFORM, PLAN_VALUE, PLAN_COMPUTED } PlanFirst;

/* Of the parameter at the same place in the module's table. */
typedef struct PlanParam {
	uint32_t buffer;
	PlanFirst first;
	uint64_t key; /* UNIFORM: of random numbers */
	tsr_size fan;
	double value;
} PlanParam;

typedef enum PlanGuardKind { PLAN_EQ, PLAN_GE, PLAN_DIVIDES } PlanGuardKind;
typedef struct PlanGuard {
	PlanGuardKind kind;
	int code;
	tsr_size a, b;
} PlanGuard;

typedef enum PlanArgKind { ARG_DIM, ARG_SCALAR, ARG_BUFFER, ARG_TENSOR } PlanArgKind;
enum { PLAN_AXES = 5 };
/* Of a tensor that boxes are copied of. */
typedef struct PlanAxis {
	uint32_t box;
	tsr_size extent, stride; /* elements */
	tsr_size windows;	 /* of the axis, `step` apart from `low` on; step 0: none */
	int low;
	uint32_t step;
} PlanAxis;
typedef struct PlanArg {
	PlanArgKind kind;
	uint32_t
		index; /* of the module's dims and steps, the routine's scalars, the plan's buffers */
	tsr_size base; /* elements; n is 0: none */
	const PlanAxis *axes; /* TENSOR: the innermost first */
	uint32_t naxes;
	bool windows; /* TENSOR: all axes but the first have some */
	bool stored; /* TENSOR: boxes are stored to it, not read of it */
} PlanArg;

#define PLAN_NONE UINT32_MAX

typedef struct PlanPair {
	uint32_t a, b;
} PlanPair;

typedef struct PlanLine {
	bool loop, down;
	const char *place; /* of a launch: in the program; "" */
	const char *function;
	tsr_size blocks, count;	  /* of a launch; of a loop */
	uint32_t
		most; /* of a launch: blocks, which take turns where there are fewer than `blocks`; 0: any */
	uint32_t threads, shared; /* ... bytes of shared memory that are asked for */
	const PlanArg *args;
	uint32_t nargs;
	/* of a loop: */
	uint32_t end;		      /* the line behind its last one */
	uint32_t step, made, until;   /* the last two: an i32 that is read, or PLAN_NONE */
	const PlanPair *pairs;
	uint32_t npairs;
} PlanLine;

typedef struct PlanRoutine {
	const char *name;
	tsr_size workspace;
	const int32_t *dims;
	const tsr_scalar *scalars;
	const uint32_t *
		places; /* of each scalar: the one among the dims of `world` that has its value; PLAN_NONE */
	bool placed; /* has any? */
	uint32_t ndims, nscalars;
	uint32_t inputs, ninputs, outputs, noutputs; /* buffers: the first, and how many */
	const int32_t *assigns;			     /* parameters of the module */
	uint32_t nassigns;
	bool state; /* it touches parameters */
	const PlanGuard *guards;
	uint32_t nguards;
	uint32_t from, to; /* lines */
} PlanRoutine;

typedef struct Plan {
	const char *target; /* "sm_90a" */
	tsr_module module;  /* without functions; its routines ask for no workspace of the host's */
	tsr_module
		world; /* the same with places and steps behind its dims: what sizes of lines are of */
	PlanBuffer *buffers;
	uint32_t nbuffers;
	PlanParam *params;
	PlanRoutine *routines; /* module.nroutines, the start's, that of pack */
	bool starts, packs;    /* is there a start, a pack? */
	uint64_t packed;       /* bytes of all that is packed */
	bool checks;	       /* may a kernel find an index outside? */
	bool overlaps;	       /* does each kernel wait for the launch in front itself? */
	PlanLine *lines;
	uint32_t nlines, most_args;
	struct PlanMemory *memory;
} Plan;

/* The lines in front of the text, which ends with a NUL. NULL: error says in which line what is wrong. */
Plan *plan_read(const char *path, const char *text, tsr_error *error);
/* What messages call a routine without a name: the start's, that of pack. */
const char *plan_own_words(const Plan *plan, const PlanRoutine *routine);
/* NULL will do. */
void plan_free(Plan *plan);
/* plan_same.c: are both of one program? States, arguments and codes of one are then those of the other. */
bool tables_agree(const tsr_module *a, const tsr_module *b);

#endif
