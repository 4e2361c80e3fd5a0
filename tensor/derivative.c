/* What the operands of an elementwise operation are given: formulas as data, computed in the shape of the result. */
#include <math.h>
#include <string.h>

#include "tensor/adjoint.h"

typedef enum FormulaKind {
	FORMULA_OP,
	FORMULA_NUMBER,
	FORMULA_OPERAND,
	FORMULA_RESULT,
	FORMULA_GIVEN
} FormulaKind;

typedef struct Formula Formula;
struct Formula {
	FormulaKind kind;
	Op op;			/* OP */
	const Formula *args[3]; /* OP; NULL: no more */
	double number;		/* NUMBER */
	uint32_t operand;	/* OPERAND */
};

#define F1(OP, x) (&(const Formula){.op = OP, .args = {x}})
#define F2(OP, x, y) (&(const Formula){.op = OP, .args = {x, y}})
#define ADD(x, y) F2(OP_ADD, x, y)
#define SUB(x, y) F2(OP_SUB, x, y)
#define MUL(x, y) F2(OP_MUL, x, y)
#define DIV(x, y) F2(OP_DIV, x, y)
#define POW(x, y) F2(OP_POW, x, y)
#define EQ(x, y) F2(OP_EQ, x, y)
#define GE(x, y) F2(OP_GE, x, y)
#define LE(x, y) F2(OP_LE, x, y)
#define RELU_GATE(x, y) F2(OP_RELU_GATE, x, y)
#define SAT01_GATE(x, y) F2(OP_SAT01_GATE, x, y)
#define HYPOT(x, y) F2(OP_HYPOT, x, y)
#define COPYSIGN(x, y) F2(OP_COPYSIGN, x, y)
#define WHERE(c, x, y) (&(const Formula){.op = OP_WHERE, .args = {c, x, y}})
#define NEG(x) F1(OP_NEG, x)
#define EXP(x) F1(OP_EXP, x)
#define LOG(x) F1(OP_LOG, x)
#define SIN(x) F1(OP_SIN, x)
#define COS(x) F1(OP_COS, x)
#define SINH(x) F1(OP_SINH, x)
#define COSH(x) F1(OP_COSH, x)
#define ERFC(x) F1(OP_ERFC, x)
#define SIGN(x) F1(OP_SIGN, x)
#define SQRT(x) F1(OP_SQRT, x)
#define RSQRT(x) F1(OP_RSQRT, x)
#define FLOOR(x) F1(OP_FLOOR, x)
#define SIGMOID(x) F1(OP_SIGMOID, x)
#define NUM(x) (&(const Formula){.kind = FORMULA_NUMBER, .number = x})
#define A (&(const Formula){.kind = FORMULA_OPERAND, .operand = 0})
#define B (&(const Formula){.kind = FORMULA_OPERAND, .operand = 1})
#define R (&(const Formula){.kind = FORMULA_RESULT})
#define G (&(const Formula){.kind = FORMULA_GIVEN})

typedef struct Derivative {
	Op op;
	uint32_t operand;
	const Formula *formula;
} Derivative;

static const Derivative derivatives[] = {
#define DERIVATIVE(op, operand, formula) {OP_##op, operand, formula},
#include "tensor/derivative.def"
#undef DERIVATIVE
};

static const Derivative *derivative_of(Op op, uint32_t operand)
{
	for (size_t i = 0; i < sizeof derivatives / sizeof *derivatives; i++)
		if (derivatives[i].op == op && derivatives[i].operand == operand)
			return &derivatives[i];
	BUG("no derivative of %s with respect to operand %u", op_name(op), operand);
}

/* ---- evaluation ---- */

static bool number_of(const Adjoint *a, Read read, double *number)
{
	const Node *node = graph_node(a->g->graph, read.node);
	*number = node->number;
	return node->kind == NODE_NUMBER;
}

/* The operation on numbers, or on one that changes nothing; false: it has to be computed. */
static bool simplified(const Adjoint *a, Op op, const Read *args, Read *value)
{
	double x, y = 0;
	bool left = number_of(a, args[0], &x),
	     right = op_arity(op) > 1 && number_of(a, args[1], &y);
	Dtype dtype = dtype_wide(a->node->dtype);
	if (op == OP_WHERE && left)
		*value = args[x != 0 ? 1 : 2];
	else if (op == OP_EQ && left && right)
		*value = adjoint_number(a, x == y, dtype);
	else if (op == OP_SUB && left && right)
		*value = adjoint_number(a, x - y, dtype);
	else if ((op == OP_MUL || op == OP_POW || op == OP_DIV) && right && y == 1)
		*value = args[0];
	else if (op == OP_MUL && left && x == 1)
		*value = args[1];
	else
		return false;
	return true;
}

static Read evaluate(const Adjoint *a, const Space *space, const Formula *formula)
{
	Read args[3], value;
	uint32_t n = 0;
	switch (formula->kind) {
	case FORMULA_NUMBER: return adjoint_number(a, formula->number, dtype_wide(a->node->dtype));
	case FORMULA_OPERAND: return adjoint_operand(a, formula->operand);
	case FORMULA_RESULT: return adjoint_result(a);
	case FORMULA_GIVEN: return adjoint_given(a);
	case FORMULA_OP: break;
	}
	for (; n < (uint32_t)op_arity(formula->op); n++) /* falls: the formula is a tree */
		args[n] = evaluate(a, space, formula->args[n]);
	return simplified(a, formula->op, args, &value)
		       ? value
		       : adjoint_apply(a, space, formula->op, args, n);
}

/* Is it 0 wherever the adjoint is, whatever the operands are? */
static bool keeps_zero(const Formula *formula)
{
	if (formula->kind != FORMULA_OP)
		return formula->kind == FORMULA_GIVEN ||
		       (formula->kind == FORMULA_NUMBER && formula->number == 0);
	switch (formula->op) {
	case OP_NEG: return keeps_zero(formula->args[0]);
	case OP_RELU_GATE:
	case OP_SAT01_GATE: return keeps_zero(formula->args[1]);
	case OP_WHERE: return keeps_zero(formula->args[1]) && keeps_zero(formula->args[2]);
	default: return false;
	}
}

/* What the operand is given: exactly 0 where `where` takes another side. */
static Read given(const Adjoint *a, const Space *space, const Formula *formula)
{
	Read value = evaluate(a, space, formula);
	if (!a->chosen[a->id] || keeps_zero(formula))
		return value;
	Read nothing = adjoint_number(a, 0, dtype_wide(a->node->dtype));
	Read none = adjoint_apply(a, space, OP_EQ, (Read[]){adjoint_given(a), nothing}, 2);
	return adjoint_apply(a, space, OP_WHERE, (Read[]){none, nothing, value}, 3);
}

/* Is it a product of the adjoint with another operand, which is broadcast: a contraction? */
static bool is_contraction(const Adjoint *a, uint32_t arg)
{
	return a->node->op == OP_MUL && !a->chosen[a->id] &&
	       !proj_is_identity(&a->proj->pieces[0], arg);
}

void adjoint_of_elementwise(const Adjoint *a)
{
	Space space = adjoint_result_space(a);
	for (uint32_t arg = 0; arg < a->node->nargs; arg++) {
		if (!a->path[a->node->args[arg]] ||
		    !node_passes_gradient(a->g->program->graph, a->id, arg))
			continue;
		if (is_contraction(a, arg))
			adjoint_exchange(a, arg, true);
		else
			adjoint_give(a, arg,
				     given(a, &space, derivative_of(a->node->op, arg)->formula));
	}
}
