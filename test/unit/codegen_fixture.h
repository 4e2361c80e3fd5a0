/* Programs built by hand, compiled and compared bit for bit with the interpreter, for
 * test_codegen.c. */
#ifndef TSR_TEST_CODEGEN_FIXTURE_H
#define TSR_TEST_CODEGEN_FIXTURE_H

#include "runtime/tsr.h"
#include "test/unit/small_program.h"

enum { ARRAYS_MAX = 4 };

typedef struct Run {
	int64_t dims[4];
	Scalar scalars[2]; /* for the interpreter */
	double elements[2]; /* for the module: the value in its own type */
	const void *inputs[ARRAYS_MAX];
	void *expected[ARRAYS_MAX], *got[ARRAYS_MAX];
	size_t bytes[ARRAYS_MAX]; /* of the outputs */
	void *state;
	int code;
	const char *message;
} Run;

typedef struct Loaded {
	void *handle;
	const tsr_module *module;
} Loaded;

/* The program as a shared object in this process, the caller's to dlclose. */
Loaded load_so(SmallProgram *s);
/* The C back end's text, compiled with every warning an error. */
Loaded load_c(SmallProgram *s);
/* The module's routine; its workspace is the interpreter's business elsewhere. */
void run_module(SmallProgram *s, const Loaded *l, Run *run);
/* Expects the outputs and the code of both modules to be the interpreter's. */
void compare_run(SmallProgram *s, Run *run);

#endif
