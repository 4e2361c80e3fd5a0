/* `backward y`. */
#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/nodes.h"
#include "frontend/training.h"

void eval_backward(Build *b, const AstStep *step)
{
	Binding *binding = scope_find(b->at.scope, step->name.sym);
	if (!binding) {
		scope_report_unknown(b, step->name);
		return;
	}
	Value value = binding->value;
	value.span = step->name.span;
	NodeId y = gradient_operand(b, value);
	if (y == NODE_NONE || !routine_evaluate(b, y, step->span))
		return;
	PUSH(b->arena, b->backward, ((Backward){y, step->name.span}));
}
