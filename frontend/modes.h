/* Modes: arguments behind the tensors of a function, for two ways to apply one instance.
 *
 *   fn dropout(rate)(x; training = 0) = if training then ... else x
 *   let y = net(x), z = net(x; training = 1)
 *
 * A mode that an application gives or has is known to all that its body applies: a function that declares it takes it
 * from its call, else from the nearest application around it, else from its default.
 */
#ifndef TSR_FRONTEND_MODES_H
#define TSR_FRONTEND_MODES_H

#include "frontend/build.h"

typedef struct Mode Mode;
struct Mode {
	Mode *outer;
	Name name;
	Value value;
	bool taken; /* by a function that declares it */
};

/* Where modes have no place; false after an error where the call gives some. */
bool modes_refuse(Build *b, const AstExpr *call);
/* Puts a mode in front of the others; NULL after an error: it stands between them and `around` already. */
Mode *modes_give(Build *b, Mode *modes, const Mode *around, Name name, Value value);
/* The nearest of the name, which is taken then; NULL: nothing gives it. */
Mode *modes_take(Mode *modes, Sym name);
/* Each mode that the call gave, the first ones, was taken by a function; reports what was not. */
void modes_check_taken(Build *b, const AstStmt *fn, const AstExpr *call, const Mode *modes);

#endif
