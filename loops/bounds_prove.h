/* Is a size never below 0, where loops and conditions say how far its iterators go?
 *
 * Iterators are dims of tables of its own, behind the program's, each at least 0: symbols. What is
 * known of them are facts, sizes that are never below 0 either. Both belong to the scope in which
 * they are made.
 */
#ifndef TSR_LOOPS_BOUNDS_PROVE_H
#define TSR_LOOPS_BOUNDS_PROVE_H

#include "loops/loops.h"

typedef struct Prover Prover;

/* A prover in the arena that knows the program's dims, and no routine yet. prover_free frees the table
 * that it has on the heap. */
Prover *prover_new(Arena *arena, const Program *program);
void prover_free(Prover *prover);
/* Forgets everything but the routine's guards. */
void prover_enter(Prover *prover, const ProgramRoutine *routine);
Sizes *prover_sizes(Prover *prover);
Size prover_number(Prover *prover, int64_t value);
/* A size of the program. */
Size prover_size(Prover *prover, Size size);

/* What was made since prover_open is forgotten. */
typedef struct ProverScope {
	size_t symbols, facts;
	uint64_t state, of_dims;
	uint32_t samples;
	bool empty;
} ProverScope;
ProverScope prover_open(const Prover *prover);
/* Requires: scopes opened inside of it are closed. */
void prover_close(Prover *prover, ProverScope scope);

/* A hash of what is known here: of symbols, facts and what is noted. Where it is equal, equal goals
 * have equal answers. */
uint64_t prover_state(const Prover *prover);
void prover_note(Prover *prover, uint64_t word);

/* A number of which nothing is known but that it is at least 0. */
Size prover_symbol(Prover *prover);
/* The greater of a and b, and the less. */
Size prover_max(Prover *prover, Size a, Size b);
Size prover_min(Prover *prover, Size a, Size b);
/* floor(a / b), and what is left; SIZE_BAD where b may be less than 1, or a less than 0. */
Size prover_floor(Prover *prover, Size a, Size b);
Size prover_rest(Prover *prover, Size a, Size b);
/* a is at least 0 here. */
void prover_assume(Prover *prover, Size a);
/* Likewise, and so is what a never exceeds, of the program's dims alone: of q - 1 >= 0, where n - q >= 0
 * is known of a quotient q, n - 1 >= 0. */
void prover_assume_above(Prover *prover, Size a);
/* Is it shown to be at least 0? */
bool prover_shows(Prover *prover, Size a);

#endif
