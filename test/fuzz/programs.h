/* Random programs that mostly compile, for fuzzers of what comes behind inference. */
#ifndef TSR_TEST_PROGRAMS_H
#define TSR_TEST_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

/* Random choices: the same for the same seed. */
typedef struct Choices {
	uint64_t state;
} Choices;

/* Below n > 0. */
uint32_t choose(Choices *c, uint32_t n);
/* Once in n times. */
int chance(Choices *c, uint32_t n);

/* A program in `out`, which has room for `most` bytes: its length. */
size_t program_write(Choices *c, char *out, size_t most);

#endif
