/* What the parts of the main program share: the state of a compilation, its stages by name, its
 * outputs. */
#ifndef TSR_MAIN_H
#define TSR_MAIN_H

#include "grammar/parse.h"
#include "loops/bounds.h"
#include "lower/lower.h"
#include "transform/transform.h"
#include "main_options.h"

typedef struct Compiler {
	double start; /* in ms, of the process */
	Options options;
	Arena *perm;
	Symbols *symbols;
	Sources sources;
	Diags diags;
	Parse parse;
	uint32_t file;
	FrontendOptions frontend;
	AstFile *ast;
	Graph *graph;
	Inference *inference;
	const TensorProgram *tensors[TENSOR_PASSES]; /* after each pass */
	Schedule *asked; /* NULL: nothing is */
	Program *program;
	bool changed[TRANSFORM_PASSES]; /* by each pass */
	struct Module *module; /* what back ends share; NULL: none has run */
} Compiler;

/* The place of a stage, or of shapes:N, in the pipeline; -1: there is none of that name. */
int stage_index(const char *name);
void stage_dump(FILE *out, Compiler *c, const char *name);

/* What the options ask for, as kinds and paths; so, obj and c bring their header. */
typedef struct Job {
	const char *kind, *path;
} Job;
typedef VEC(Job) Jobs;

/* Reports kinds that there are not; ends the process where a word is none. */
Jobs jobs_plan(Compiler *c);
/* Writes all of them, or none after an error. Requires that the stages that they show have run. */
void jobs_run(Compiler *c, const Jobs *jobs);
/* What a back end needs to know of the compilation, without the output. */
Emit jobs_emit(Compiler *c);

/* Offers repairs of the errors that stop a stage before lowering: each was tried. */
void repairs_offer(Compiler *c);

/* Ends the process with status 2: `word` is no such `what`. */
_Noreturn void usage(const char *what, const char *word);
double now_ms(void);

#endif
