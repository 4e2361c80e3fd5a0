/* Loop programs written by hand in a few calls, for the tests of back ends: one routine, `forward`,
 * unless more are begun; tensors of one axis. */
#ifndef TSR_TEST_SMALL_PROGRAM_H
#define TSR_TEST_SMALL_PROGRAM_H

#include "codegen/codegen.h"
#include "loops/build.h"

enum { LOOPS_MAX = 8 };

typedef struct SmallProgram {
	Program program;
	Sources sources;
	Diags diags;
	CodeOptions options;
	Kernel kernel; /* under construction */
	Body bodies[LOOPS_MAX];
	struct {
		IterVar iter;
		const Ix *lo, *hi;
	} loops[LOOPS_MAX];
	int depth;
} SmallProgram;

void sp_init(SmallProgram *s);
void sp_free(SmallProgram *s);
/* For the processor that -march names; sp_init says native. */
void sp_target(SmallProgram *s, const char *march);
/* The same as the setup and teardown of a cmocka test, with one SmallProgram as its state. */
int sp_setup(void **state);
int sp_teardown(void **state);
Size sp_dim(SmallProgram *s, const char *name, int64_t at_least);
Size sp_const(SmallProgram *s, int64_t value);
const Ix *sp_ix(SmallProgram *s, int64_t value);

BufferId sp_input(SmallProgram *s, const char *name, Dtype dtype, Size n);
BufferId sp_output(SmallProgram *s, const char *name, Dtype dtype, Size n);
BufferId sp_temp(SmallProgram *s, const char *name, Dtype dtype, Size n);
BufferId sp_param(SmallProgram *s, const char *name, Size n, Size fan_in);
BufferId sp_blob(SmallProgram *s, const char *name, Dtype dtype, const void *bytes, int64_t n);
uint32_t sp_scalar(SmallProgram *s, const char *name, Dtype dtype);
CheckId sp_check(SmallProgram *s, Check check, bool guard);

/* A kernel: sp_begin, loops and statements, sp_end. */
void sp_begin(SmallProgram *s, const char *name);
const Ix *sp_for(SmallProgram *s, const char *name, const Ix *hi); /* opens; returns its iterator */
void sp_close(SmallProgram *s);					   /* closes the innermost loop */
void sp_stmt(SmallProgram *s, const Stmt *stmt);
LocalId sp_local(SmallProgram *s, const char *name, const Value *value);
void sp_end(SmallProgram *s); /* closes what is open, adds the kernel to the routine */

const Ix *sp_add(SmallProgram *s, const Ix *a, const Ix *b);
const Ix *sp_mul(SmallProgram *s, const Ix *a, const Ix *b);
const Value *sp_load(SmallProgram *s, BufferId buffer, const Ix *ix);
const Value *sp_get(SmallProgram *s, LocalId local);
const Value *sp_op(SmallProgram *s, Op op, const Value *a, const Value *b, const Value *c);
const Value *sp_number(SmallProgram *s, Dtype dtype, double value);
void sp_store(SmallProgram *s, BufferId buffer, const Ix *ix, Op acc, const Value *value);

/* What the function returns, from a child process without messages; the status of a child that ended
 * otherwise: 3 at a BUG. */
int status_in_child(int (*check)(const Program *program), const Program *program);
enum { BUG_STATUS = 3 };

/* What main.c would pass; output is the path to write. */
Emit sp_emit(SmallProgram *s, const char *output);

#endif
