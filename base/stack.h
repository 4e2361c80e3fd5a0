/* The stack that a program needs for whatever nests in its input. */
#ifndef TSR_BASE_STACK_H
#define TSR_BASE_STACK_H

/* To be called by a program that starts, under its name: lets the stack grow to what is usual,
 * where the limit may be raised. Ends the process, with a message and status 1, where the deepest
 * input that is accepted would not fit. */
void stack_require(const char *program);

/* What that input takes of any thread's stack, in bytes. */
enum { STACK_NEEDED = 1 << 20 };
/* The lowest address of this thread's stack; NULL: not known. Takes some 30 us for the first
 * thread. */
const char *stack_lowest(void);

#endif
