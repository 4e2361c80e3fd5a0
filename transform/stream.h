/* Results that are stored past the caches: what stream_find.c finds and stream.c makes. */
#ifndef TSR_TRANSFORM_STREAM_H
#define TSR_TRANSFORM_STREAM_H

#include "transform/transform.h"

/* Loops inside of a loop, and results of a block, at most. */
enum { STREAM_LOOPS_MOST = 16, STREAM_RESULTS_MOST = 8 };

/* Neighbours that a statement stores in a step. */
typedef struct StoredPart {
	const Ix *start;  /* of the first */
	int64_t first, n; /* from where on, behind that of the first part */
} StoredPart;

/* What a loop stores of a result. */
typedef struct StreamedResult {
	BufferId buffer;
	VEC(StoredPart) parts; /* of a step */
	bool wrong;
	const Ix *start; /* of what the step stores */
	int64_t n;	 /* elements of it */
	BufferId block;	 /* what it is computed in */
} StreamedResult;

typedef struct Stream {
	Program *program;
	Arena *arena;
	const Target *target;
	uint32_t routine;
	const bool *read; /* by buffer: by a kernel of the routine */
	Kernel *kernel;
	const Stmt *root;	     /* the statement of the kernel at hand */
	bool disjoint;		     /* it is disjoint from the one before or behind it */
	BufferId unknown;	     /* a result that may be large; NONE: all are */
	const ScheduleClause *asked; /* NULL: nothing */
	ScheduleEntry *entry;
	bool changed;
} Stream;

/* A loop, and what is inside of it. */
typedef struct StreamLoop {
	const Stream *s;
	const Stmt *loop;
	const Stmt *
		inner[STREAM_LOOPS_MOST]; /* loops around the statement at hand, inside of `loop` */
	uint32_t ninner;
	uint32_t nconds; /* conditions around it, and loops of other kinds */
	StreamedResult results[STREAM_RESULTS_MOST];
	uint32_t nresults;
	bool wrong;
} StreamLoop;

/* Finds what the loop, whose results are empty, stores: `results` are those that can be streamed from a block of its steps. False: the
 * loop stores nothing that may be, or something in it forbids it, and so for the loops inside. */
bool stream_find(StreamLoop *loop);
int64_t stream_element_bytes(const Stream *s, BufferId buffer);
/* A result of that many elements no cache holds. */
int64_t stream_large_elements(const Stream *s, BufferId buffer);
/* Has the buffer n elements, whatever the call? */
bool stream_is_known(const Stream *s, BufferId buffer, int64_t *n);

#endif
