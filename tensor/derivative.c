/* What the operands of an elementwise operation are given: formulas as data, computed in the shape of the result. */
#include <math.h>
#include <string.h>

#include "tensor/adjoint_rules.h"

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
#define LT(x, y) F2(OP_LT, x, y)
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
#define TAN(x) F1(OP_TAN, x)
#define ROUND(x) F1(OP_ROUND, x)
#define RECIP(x) F1(OP_RECIP, x)
#define FLOOR(x) F1(OP_FLOOR, x)
#define SIGMOID(x) F1(OP_SIGMOID, x)
#define NUM(x) (&(const Formula){.kind = FORMULA_NUMBER, .number = x})
#define A (&(const Formula){.kind = FORMULA_OPERAND, .operand = 0})
#define B (&(const Formula){.kind = FORMULA_OPERAND, .operand = 1})
#define R (&(const Formula){.kind = FORMULA_RESULT})
#define G (&(const Formula){.kind = FORMULA_GIVEN})

/* digamma(x): with w = 1 - x below 1/2, x elsewhere, and z = w + 10,
 *
 *   digamma(w) = log z - 1/(2 z) - sum B(2k) / (2k z^2k) - sum 1/(w + k) over k < 10, two of which are one quotient
 *   digamma(x) = digamma(1 - x) - pi / tan(pi x)
 *
 * The first term left out, 1/(12 z^14), is below 2^-51 of the log. */
#define BELOW_HALF(x) LT(x, NUM(0.5))
#define MIRRORED(x) WHERE(BELOW_HALF(x), SUB(NUM(1), x), x)
#define PAIR(s) DIV(ADD(MUL(NUM(2), s), NUM(1)), MUL(s, ADD(s, NUM(1))))
#define PAIRS(w)                                                          \
	ADD(PAIR(w), ADD(ADD(PAIR(ADD(w, NUM(2))), PAIR(ADD(w, NUM(4)))), \
			 ADD(PAIR(ADD(w, NUM(6))), PAIR(ADD(w, NUM(8))))))
#define TERM(q, c, rest) MUL(q, ADD(NUM(c), rest))
#define SERIES(q)                   \
	TERM(q, 1. / 12,            \
	     TERM(q, -1. / 120,     \
		  TERM(q, 1. / 252, \
		       TERM(q, -1. / 240, TERM(q, 1. / 132, MUL(q, NUM(-691. / 32760)))))))
#define FAR_DIGAMMA(z) SUB(SUB(LOG(z), DIV(NUM(0.5), z)), SERIES(RECIP(MUL(z, z))))
#define UP_DIGAMMA(w) SUB(FAR_DIGAMMA(ADD(w, NUM(10))), PAIRS(w))
#define REFLECTED(x) DIV(NUM(M_PI), TAN(MUL(NUM(M_PI), SUB(x, ROUND(x)))))
#define DIGAMMA(x) SUB(UP_DIGAMMA(MIRRORED(x)), WHERE(BELOW_HALF(x), REFLECTED(x), NUM(0)))

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

/* What a formula is at a point: a number, which is no operation, or what is read. */
typedef struct Value {
	bool is_number;
	double number;
	Read read;
} Value;

static Value number_value(double number) { return (Value){.is_number = true, .number = number}; }

static Value read_value(const Adjoint *a, Read read)
{
	const Node *node = graph_node(a->g->graph, read.node);
	return (Value){node->kind == NODE_NUMBER, node->number, read};
}

static bool is_number(Value value, double number)
{
	return value.is_number && value.number == number;
}

/* The operation on numbers alone; false: it is left to be computed. */
static bool is_known(Op op, const Value *args, uint32_t n, double *number)
{
	for (uint32_t i = 0; i < n; i++)
		if (!args[i].is_number)
			return false;
	double x = args[0].number, y = n > 1 ? args[1].number : 0;
	switch (op) {
	case OP_NEG: *number = -x; return true;
	case OP_ADD: *number = x + y; return true;
	case OP_SUB: *number = x - y; return true;
	case OP_MUL: *number = x * y; return true;
	case OP_DIV: *number = x / y; return y != 0;
	case OP_EQ: *number = x == y; return true;
	default: return false;
	}
}

/* The operation on numbers, or one that changes nothing; false: it has to be computed. */
static bool simplified(Op op, const Value *args, uint32_t n, Value *value)
{
	double number;
	bool product = op == OP_MUL || op == OP_POW || op == OP_DIV;
	if (op == OP_WHERE && args[0].is_number)
		*value = args[args[0].number != 0 ? 1 : 2];
	else if (is_known(op, args, n, &number))
		*value = number_value(number);
	else if (product && is_number(args[1], 1))
		*value = args[0];
	else if (op == OP_MUL && is_number(args[0], 1))
		*value = args[1];
	else
		return false;
	return true;
}

static Read read_of(const Adjoint *a, Value value)
{
	return value.read.access ? value.read
				 : adjoint_number(a, value.number, dtype_wide(a->node->dtype));
}

/* What the letters of a formula stand for. */
typedef struct Letters {
	const Read *operands;
	Read result, given;
} Letters;

static Value evaluate(const Adjoint *a, const Space *space, const Letters *letters,
		      const Formula *formula)
{
	Value args[3], value;
	Read reads[3];
	uint32_t n = 0;
	switch (formula->kind) {
	case FORMULA_NUMBER: return number_value(formula->number);
	case FORMULA_OPERAND: return read_value(a, letters->operands[formula->operand]);
	case FORMULA_RESULT: return read_value(a, letters->result);
	case FORMULA_GIVEN: return read_value(a, letters->given);
	case FORMULA_OP: break;
	}
	for (; n < (uint32_t)op_arity(formula->op); n++) /* falls: the formula is a tree */
		args[n] = evaluate(a, space, letters, formula->args[n]);
	if (simplified(formula->op, args, n, &value))
		return value;
	for (uint32_t i = 0; i < n; i++)
		reads[i] = read_of(a, args[i]);
	return (Value){.read = adjoint_apply(a, space, formula->op, reads, n)};
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
static Read given(const Adjoint *a, const Space *space, const Derivative *of)
{
	Read operands[3];
	for (uint32_t i = 0; i < a->node->nargs; i++)
		operands[i] = adjoint_operand(a, i);
	Letters letters = {operands, adjoint_result(a), adjoint_given(a, of->operand)};
	Read value = read_of(a, evaluate(a, space, &letters, of->formula));
	if (!a->chosen[a->id] || keeps_zero(of->formula))
		return value;
	Read nothing = adjoint_number(a, 0, dtype_wide(a->node->dtype));
	Read none = adjoint_apply(a, space, OP_EQ, (Read[]){letters.given, nothing}, 2);
	return adjoint_apply(a, space, OP_WHERE, (Read[]){none, nothing, value}, 3);
}

Read adjoint_derivative(const Adjoint *a, const Space *space, Op op, uint32_t arg,
			const Read *operands, Read result, Read given)
{
	Letters letters = {operands, result, given};
	return read_of(a, evaluate(a, space, &letters, derivative_of(op, arg)->formula));
}

/* Is it a product of the adjoint with another operand, which is broadcast: a contraction? */
static bool is_contraction(const Adjoint *a, uint32_t arg)
{
	return a->node->op == OP_MUL && !a->forward && !a->chosen[a->id] &&
	       !proj_is_identity(&a->proj->pieces[0], arg);
}

void adjoint_of_elementwise(const Adjoint *a)
{
	Space space = adjoint_result_space(a);
	for (uint32_t arg = 0; arg < a->node->nargs; arg++) {
		if (!adjoint_counts(a, arg))
			continue;
		if (is_contraction(a, arg))
			adjoint_exchange(a, arg, true);
		else
			adjoint_give(a, arg, given(a, &space, derivative_of(a->node->op, arg)));
	}
}
