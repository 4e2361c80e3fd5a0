/* Names inside functions: members of what an application gives and of instances, and --keep. */
#ifndef TSR_FRONTEND_INSIDE_H
#define TSR_FRONTEND_INSIDE_H

#include "frontend/build.h"

typedef struct Application Application;
typedef struct Local Local;

/* A function that is applied to tensors. */
struct Application {
	const Function *fn;
	const Instance *instance; /* NULL: a plain function */
	Span call;
	const Application *outer; /* the one whose body has the call, or NULL */
};

/* A tensor that a `let` inside an expression names. */
struct Local {
	Sym name, place; /* the definition that it stands in, as Build.place */
	const ParamScope *params;
	const Application *in; /* the application whose body has it, or NULL */
	Value value;
	Span span;
	bool of_routine; /* a step names it */
};

typedef VEC(Sym) Names;

/* Notes what a `let` inside an expression names. */
void inside_note(Build *b, Name name, const Value *value);
/* The member of what an application gives or, without one, of an instance that is applied once; false: it has none of
 * the name. `*value` is an error after one was reported; the names that there are go behind `names`. */
bool inside_find(Build *b, const Application *in, const Instance *instance, const AstExpr *expr,
		 Value *value, Names *names);
/* Gives out the tensors of --keep as results of `forward`, behind those that are declared. */
void inside_keep(Build *b);

#endif
