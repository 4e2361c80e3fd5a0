/* The stack that a program needs for whatever nests in its input. */
#ifndef TSR_BASE_STACK_H
#define TSR_BASE_STACK_H

/* To be called by a program that starts, under its name: lets the stack grow to what is usual,
 * where the limit may be raised. Ends the process, with a message and status 1, where the deepest
 * input that is accepted would not fit. */
void stack_require(const char *program);

/* What that input takes of any thread's stack, in bytes: functions that are applied inside each
 * other as deep as they may (LIMIT_DEPTH of frontend/build.h), at 1.6 KiB each, take the most. With
 * sanitizers it is twice that. */
enum { STACK_NEEDED = 1900 << 10 };
/* The lowest address of this thread's stack; NULL: not known. Takes some 30 us for the first
 * thread. */
const char *stack_lowest(void);

#endif
