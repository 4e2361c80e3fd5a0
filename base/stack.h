/* The stack that a program needs for whatever nests in its input. */
#ifndef TSR_BASE_STACK_H
#define TSR_BASE_STACK_H

#include <stdbool.h>

/* To be called by a program that starts, under its name: lets the stack grow to what is usual, where
 * the limit may be raised. Ends the process, with a message and status 1, where the deepest input
 * that is accepted would not fit. */
void stack_require(const char *program);

/* For work on any thread: are so many bytes left of its stack, which is what that input takes? Also where
 * nobody knows. */
enum { STACK_NEEDED = 1 << 20 };
bool stack_enough(void);

#endif
