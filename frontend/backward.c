/* `backward y`. */
#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/training.h"

void eval_backward(Build *b, const AstStep *step)
{
	NodeId first = (NodeId)b->graph->nodes.n;
	NodeId y = gradient_operand(b, eval(b, step->expr));
	if (y != NODE_NONE &&
	    !(routine_check_step(b, first, step->span) && routine_evaluate(b, y, step->span)))
		y = NODE_NONE;
	PUSH(b->arena, b->backward, ((Backward){y, step->expr->span}));
}
