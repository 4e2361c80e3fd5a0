/* --verify=run: what was made of a program against the reference, which shares nothing with it. */
#ifndef TSR_VERIFY_VERIFY_H
#define TSR_VERIFY_VERIFY_H

#include "codegen/codegen.h"
#include "reference/reference.h"

/* Runs every routine on random inputs through the reference, the interpreter and every back end
 * that this machine can run: one line of report each, and a diagnostic where they disagree. What
 * takes more steps or memory than it may is left out, and the report says so. `naive`: the
 * unscheduled loops of the same tensor program, of which small calls are interpreted and held
 * against the reference too; one line, and what is wrong. NULL: they are the program, or there are
 * none. */
void verify_run(const Emit *emit, const Program *naive, const Inference *inference, FILE *report,
		uint64_t seed);
/* The same of the tensor program that the loops were made from, and sums whose terms have known
 * bits must have those of the order that was written down when the loops were made: in the
 * interpreter and in C with two roundings for a product and its sum, in machine code as the
 * processor has them. */
void verify_sums(const Emit *emit, const Inference *inference, FILE *report, uint64_t seed);

/* How far numbers of compiled code may be from those of other loops of the program, relative to the
 * greatest of their array. */
double verify_tolerance(const Emit *emit);

/* What a program is held against, and how much may be done for that. */
typedef struct VerifyTask {
	const Program *program;
	const Inference *inference; /* that it was made from */
	Arena *arena;
	FILE *report;
	uint64_t seed;
	bool fast; /* --fp=fast */
	/* by node: the orders in which sums must add; NULL: any. Does machine code round a product
	 * and its sum once? */
	const SumMade *const *sums;
	bool fuses;
	/* points of the reference, and as many statements of the interpreter for each as
	 * case.c says: of the first call of a routine, of others */
	int64_t steps_first, steps_more;
	int64_t bytes, elements; /* of arrays; of the reference, 32 bytes each */
} VerifyTask;

/* What gradients are held against differences with. */
typedef struct GradientTask {
	const Inference *inference; /* that the pass `adjoint` leaves */
	Arena *arena;
	Diags *diags;
	FILE *report;
	uint64_t seed;
	double tolerance; /* relative */
} GradientTask;

/* Each gradient of each routine, with a line of report; E0527 where it disagrees with differences of what it is the
 * gradient of. `program`: loops of it, which say what routines take. */
void verify_gradients(const GradientTask *task, const Program *program);

/* The parameters of a program by place in graph->params, of a graph that they are among. */
uint32_t *verify_param_places(const Program *program, const Inference *inference, Arena *arena);

/* By node of the tensor program that the loops were made from: the one order that they add in,
 * whichever rows they are for, as VerifyTask.sums; NULL entries: there are several, as those of two
 * routines may be. */
const SumMade *const *verify_orders(const Program *program, const Inference *inference,
				    Arena *arena);
/* The interpreter alone; false where it disagrees. */
bool verify_interpreter(const VerifyTask *task);

#endif
