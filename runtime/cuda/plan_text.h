/* Words, numbers and sizes of a line of the plan. Everything fails quietly once a fault was found. */
#ifndef TSR_RUNTIME_CUDA_PLAN_TEXT_H
#define TSR_RUNTIME_CUDA_PLAN_TEXT_H

#include "runtime/cuda/plan.h"

typedef struct PlanText {
	const char *at;	     /* in the line */
	const char *end;     /* of the line */
	char fault[200];     /* "": none */
	char *room;	     /* for texts that are kept */
	int64_t *codes;	     /* for programs of sizes */
	const tsr_dim *dims; /* that sizes are of */
	int32_t ndims;
	int depth; /* of parentheses */
} PlanText;

/* Notes the first fault; false. */
bool text_fault(PlanText *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Blanks. */
void text_skip(PlanText *text);
/* Takes the word, if it comes next. */
bool text_takes(PlanText *text, const char *word);
/* ... or else it is a fault. */
bool text_expect(PlanText *text, const char *word);
/* What stands up to a blank, a comma or the end; "" with a fault. */
const char *text_name(PlanText *text);
/* All up to the end of the line. */
const char *text_rest(PlanText *text);
/* A number up to `most`. */
uint64_t text_number(PlanText *text, uint64_t most);
/* A decimal fraction. */
double text_real(PlanText *text);
/* A name among those of a table; PLAN_NONE: it is none of them, without a fault. */
uint32_t text_dim(const PlanText *text, const char *name);
/* An expression over the dims. */
tsr_size text_size(PlanText *text);
Dtype text_dtype(PlanText *text);

#endif
