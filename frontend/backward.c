/* `backward y`. */
#include "frontend/anew.h"
#include "frontend/eval.h"
#include "frontend/gradient.h"
#include "frontend/training.h"

void eval_backward(Build *b, const AstStep *step)
{
	NodeId first = (NodeId)b->graph->nodes.n;
	bool named = step->expr->kind == AST_NAME || step->expr->kind == AST_MEMBER;
	b->anew->reads = named ? READS_FILE : READS_EVALUATED; /* not as it was evaluated before */
	NodeId y = gradient_operand(b, eval(b, step->expr));
	b->anew->reads = READS_EVALUATED;
	if (y != NODE_NONE) {
		updates_note_backward(b, y, step->expr);
		y = routine_evaluate(b, y, first);
	}
	PUSH(b->arena, b->backward, ((Backward){y, step->expr->span}));
}
