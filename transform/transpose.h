/* A copy in tiles that are transposed, shared by transpose.c (which tiles) and
 * transpose_emit.c (their loops), and one line by line. */
#ifndef TSR_TRANSFORM_TRANSPOSE_H
#define TSR_TRANSFORM_TRANSPOSE_H

#include "transform/transform.h"

enum { NEST_MAX = 16, LOADS_MAX = 4 };

typedef struct TransposedLoad {
	const Value *load;  /* widened, where it is */
	LocalId tile, wide; /* as it is read; transposed, where that is in memory */
} TransposedLoad;

typedef struct Transpose {
	Program *program;
	Arena *arena;
	Kernel *kernel;
	ScheduleClause *asked;	     /* NULL: nothing */
	bool replays;		     /* what is asked for is all that is chosen */
	const LoopSplit *split; /* of the outermost, which is not made yet; NULL: there is none */
	const Stmt *loops[NEST_MAX]; /* outermost first */
	uint32_t nloops;
	Block body; /* of the innermost: locals, then one store */
	const Stmt *store;
	const Stmt *u, *v;
	TransposedLoad loads[LOADS_MAX];
	uint32_t nloads;
	int64_t least, most; /* sides of squares */
	int64_t nu, nv; /* the tile */
	IterVar us, vs, row, lane;
	bool direct; /* the store reads the registers */
	bool along;  /* vs runs inside us */
	bool named;  /* a clause says so: panels are said by others */
} Transpose;

static inline const Target *transpose_target(const Transpose *t)
{
	return t->program->options.target;
}

/* The load that a value is, or widens; NULL: it is neither. */
static inline const Value *transposed_load(const Value *value)
{
	bool widens = value->kind == VALUE_CAST && value->args[0]->dtype != DTYPE_BOOL &&
		      dtype_wide(value->args[0]->dtype) == value->dtype;
	const Value *load = widens ? value->args[0] : value;
	return load->kind == VALUE_LOAD && load->dtype != DTYPE_U4X32 ? load : NULL;
}

/* The nest in tiles; requires the tile's sides and locals. */
Block transpose_emit(const Transpose *t);
/* transpose_lines.c: the statement, where it is a copy that lines suit: line by line. */
Block transpose_lines(const Transpose *t, const Stmt *stmt);

#endif
