/* A trap is a place on its thread's stack to return to, and a mark in the holder's list: what was
 * listed after the mark belongs to the work. */
#include "base/trap.h"

#include <setjmp.h>
#include <stdlib.h>

typedef struct Trap {
	jmp_buf back;
	struct Trap *outer;
	Holder *holder;
	Failure *failure;
	Held mark;
} Trap;

/* Failures come from everywhere, and no argument leads there. */
static _Thread_local Trap *innermost;

const Holder *trap_holder(void) { return innermost ? innermost->holder : NULL; }

/* ---- lists ---- */

static void put_first(Holder *holder, Held *held)
{
	held->next = holder->first;
	held->at = &holder->first;
	if (held->next)
		held->next->at = &held->next;
	holder->first = held;
}

void held_list(Held *held, void (*end)(Held *held))
{
	*held = (Held){.end = end};
	if (innermost)
		put_first(innermost->holder, held);
}

void held_unlist(Held *held)
{
	if (!held->at)
		return;
	*held->at = held->next;
	if (held->next)
		held->next->at = held->at;
	held->at = NULL;
}

void held_moved(Held *held)
{
	if (!held->at)
		return;
	*held->at = held;
	if (held->next)
		held->next->at = &held->next;
}

/* Down to the mark; NULL: all. */
static void end_to(Holder *holder, const Held *mark)
{
	while (holder->first && holder->first != mark) {
		Held *held = holder->first;
		held_unlist(held);
		held->end(held);
	}
}

void holder_end(Holder *holder) { end_to(holder, NULL); }

/* ---- traps ---- */

/* Apart from trap_run: what setjmp's caller keeps in variables of its own may be lost. */
static bool run(Trap *trap, void (*work)(void *arg), void *arg)
{
	if (_setjmp(trap->back) != 0)
		return false;
	work(arg);
	return true;
}

bool trap_run(Holder *holder, void (*work)(void *arg), void *arg, Failure *failure)
{
	Trap trap = {.outer = innermost, .holder = holder, .failure = failure};
	put_first(holder, &trap.mark);
	innermost = &trap;
	bool good = run(&trap, work, arg);
	innermost = trap.outer;
	if (!good)
		end_to(holder, &trap.mark);
	held_unlist(&trap.mark);
	return good;
}

void trap_vfail(FailureKind kind, const char *fmt, va_list args)
{
	Failure own, *failure = innermost ? innermost->failure : &own;
	failure->kind = kind;
	vsnprintf(failure->text, sizeof failure->text, fmt, args);
	if (innermost)
		_longjmp(innermost->back, 1);
	fflush(stdout);
	failure_print(stderr, failure);
	exit(failure_status(failure));
}

void trap_fail(FailureKind kind, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	trap_vfail(kind, fmt, args);
}

void failure_print(FILE *out, const Failure *failure)
{
	bool bug = failure->kind == FAILURE_BUG;
	fprintf(out, "tsrc: %s: %s\n", bug ? "bug" : "error", failure->text);
	if (bug)
		fputs("This is a fault of the compiler, not of your program: please report it.\n",
		      out);
}

int failure_status(const Failure *failure) { return failure->kind == FAILURE_BUG ? 3 : 1; }
