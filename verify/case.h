/* Calls of a program's routines in the interpreter and in the reference: private to verify/. */
#ifndef TSR_VERIFY_CASE_H
#define TSR_VERIFY_CASE_H

#include "verify/compare.h"
#include "verify/verify.h"

/* One call, with other dims and other numbers than the others of its routine. */
typedef struct VerifyCase {
	const VerifyTask *task;
	const uint32_t *params; /* of the program: by place in graph->params */
	const char *head;	/* "forward(n = 3)" */
	bool first;		/* of the routine */
	VerifyCall *before;
	VerifyCall *expected; /* what the interpreter made of it; NULL: it was left out */
	int code;	      /* ... and returned */
	RefResult *result;    /* of the reference; NULL: it was left out */
	RefResult *fused; /* ... with products that are rounded once in sums; NULL: as `result` */
	VerifyRight right;    /* ... where it has numbers */
	VerifyDifference own; /* of the interpreter and the reference, where both ran */
	bool wrong;	      /* the reference has something against the interpreter's */
} VerifyCase;

/* What else is done with a call that the interpreter or the reference made. */
typedef void (*VerifyJudge)(const VerifyCase *c, void *of);
/* Every call, with a line each. */
void verify_cases(const VerifyTask *task, VerifyJudge judge, void *of);
/* "WHAT: left out, WHY" */
void verify_left_out(const VerifyCase *c, const char *what, const char *why);
/* false, with a line, where the reference has something against what `name` made of the call. */
bool verify_is_right(const VerifyCase *c, const char *name, const VerifyCall *got, int code);

#endif
