/* Values: what an expression of a program is. Numbers, sizes, functions, instances, tuples and imported
 * files exist only here; a tensor is a node of the graph.
 */
#ifndef TSR_FRONTEND_VALUE_H
#define TSR_FRONTEND_VALUE_H

#include "base/symbol.h"
#include "frontend/graph.h"
#include "grammar/ast.h"

typedef enum ValueKind {
	VALUE_ERROR, /* already reported: absorbs */
	VALUE_NUMBER,
	VALUE_SIZE,
	VALUE_TENSOR,
	VALUE_TUPLE,
	VALUE_FN,
	VALUE_STEPS, /* a routine with two lists: `fn` */
	VALUE_INSTANCE,
	VALUE_BUILTIN, /* a function of the language, by name */
	VALUE_WORD,    /* a word of `border =`, which configurations pass on */
	VALUE_MODULE
} ValueKind;

typedef struct Value Value;
typedef struct Function Function;
typedef struct Instance Instance;
typedef struct Module Module;
typedef struct Scope Scope;
typedef struct ParamScope ParamScope;
typedef struct Build Build;

struct Value {
	ValueKind kind;
	bool scales;     /* TENSOR: written with numbers, sizes and scalars alone, so `*` scales by it */
	bool scales_left; /* TENSOR: a const of one number, or what scales and was passed to a function: `*` scales by it on its left */
	bool is_integer; /* NUMBER: `integer` holds it too */
	bool results; /* TUPLE: of a form or a loop, not written in parentheses, which a literal is */
	uint32_t nitems; /* TUPLE */
	Span span;       /* where the value was written */
	Span given;	 /* the argument of a configuration that gave it; SPAN_NONE: none */
	const Value *passed; /* TENSOR: the size or number that was passed as it, or NULL */
	const struct Application *from; /* TENSOR, TUPLE: the application that gives it, or NULL */
	union {
		double number;
		const SizeExpr *size;
		NodeId node;
		const Value *items;
		Function *fn;
		Instance *instance;
		Module *module;
		Sym builtin, word;
	};
	int64_t integer;
};

struct Function {
	const AstStmt *stmt;
	Scope *scope;   /* where it was declared */
	uint32_t limit; /* it sees the first `limit` names of that scope */
	bool applied;
};

/* A function whose configuration has been applied. */
struct Instance {
	Function *fn;
	const AstExpr *call; /* fn(configuration) */
	Scope *configs;
	ParamScope *params;
	bool applied;
};

/* An imported file. */
struct Module {
	Sym name;
	Scope *scope;
	ParamScope *params;
};

/* ---- value.c ---- */

/* Values of these kinds, written at `span`. A node's is the error value where it is NODE_NONE. */
Value value_error(void);
Value value_number(double number, Span span);
Value value_integer(int64_t integer, Span span);
Value value_size(const SizeExpr *size, Span span);
Value value_node(NodeId node, Span span);
/* What a form or a loop gives, of which a name takes each. */
Value value_results(const Value *items, uint32_t n, Span span);
/* "a function", "a number", ... for messages. */
const char *value_describe(const Value *value);
/* An integer known now, from a number or a size; says nothing. */
bool value_get_integer(const Value *value, int64_t *out);
bool value_get_number(const Value *value, double *out);
/* A number or size that is an integer by how it is written, whatever its value. */
bool value_is_whole(const Value *value);
/* Is it folded at compile time (a number, or a size without symbolic parts)? */
bool value_is_known(const Value *value);
/* Numbers and sizes under an operation; false: not foldable, build nodes. */
bool value_fold(Build *b, Op op, const Value *args, uint32_t nargs, Span span, Value *out);
/* The tensor a value stands for: a number's node, a size's, a tuple as a literal of input axes.
 * NODE_NONE after an error. */
NodeId value_to_node(Build *b, Value value);
/* A note of how a function with a configuration is called. */
void function_note_lists(Build *b, const AstStmt *fn);
/* Does `*` scale by it? */
bool value_scales(const Value *value);
/* ... where it stands on the left? As the right side a number is a tensor in the shape that the left one asks for. */
bool value_scales_left(const Value *value);

#endif
