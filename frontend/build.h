/* What the files of frontend/ share: values, scopes and the state of a build.
 *
 * An expression evaluates to a Value. Numbers, sizes, functions, instances, tuples and imported
 * files exist only here; a tensor is a node of the graph. Names resolve through scopes; parameters
 * belong to parameter scopes (the file, an instance, one copy of an `iterate`), which follow the
 * application of functions and not their text.
 */
#ifndef TSR_FRONTEND_BUILD_H
#define TSR_FRONTEND_BUILD_H

#include "base/nearest.h"
#include "frontend/frontend.h"

/* ---- a table from names to numbers ---- */

typedef struct NameIndex {
	struct NameSlot {
		Sym name;
		uint32_t value;
	} *slots;
	uint32_t nslots, n;
} NameIndex;

void name_index_set(Arena *arena, NameIndex *index, Sym name, uint32_t value);
/* UINT32_MAX where there is none. */
uint32_t name_index_get(const NameIndex *index, Sym name);

/* ---- values ---- */

typedef enum ValueKind {
	VALUE_ERROR, /* already reported: absorbs */
	VALUE_NUMBER,
	VALUE_SIZE,
	VALUE_TENSOR,
	VALUE_TUPLE,
	VALUE_FN,
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
typedef struct Activation Activation;

struct Value {
	ValueKind kind;
	bool scales;     /* TENSOR: written with numbers, sizes and scalars alone, so `*` scales by it */
	bool is_integer; /* NUMBER: `integer` holds it too */
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

/* ---- scopes ---- */

typedef enum BindingKind { BINDING_NAME, BINDING_INPUT, BINDING_OWN /* a routine's tensor */ } BindingKind;

typedef struct Binding {
	Sym name;
	Span span;
	BindingKind kind;
	Value value;
} Binding;

struct Scope {
	Scope *parent;
	uint32_t limit; /* how many names of the parent are visible from here */
	VEC(Binding) names;
	NameIndex index;
};

/* ---- parameters ---- */

typedef struct Member { /* what `instance.name` finds */
	Sym name;
	const void *site; /* the expression or statement that made it */
	NodeId param;     /* or NODE_NONE, and then */
	Instance *instance;
	Span span;
} Member;

typedef struct ParamCopies { /* of one `iterate`: the copies' scopes, by number */
	const AstExpr *site;
	VEC(ParamScope *) scopes;
} ParamCopies;

struct ParamScope {
	Sym prefix, suffix;       /* a parameter is called prefix NAME suffix */
	const AstStmt *plain;     /* the plain function that may not declare parameters, or NULL */
	VEC(Member) members;
	NameIndex index;          /* of members */
	NameIndex repeats;        /* how often a function's name was taken */
	VEC(ParamCopies) copies;
};

/* ---- the state of a build ---- */

typedef VEC(NodeId) NodeIds;

/* One `with` around the expression that is evaluated: the specifications in it report here. */
typedef struct With {
	struct With *outer;
	VEC(NodeId) nodes;
	const AstExpr *expr;
	size_t first; /* bind of the graph that was made in it */
	bool partial; /* a branch of an `if` in it was left out */
} With;

/* What changes while a function's body, a file or a copy of an `iterate` is evaluated. */
struct Activation {
	Scope *scope;
	ParamScope *params;
	With *withs;
	const struct Application *in;
	uint32_t site;
	uint32_t loop; /* among graph.loops */
};

typedef struct FileState { /* a file being evaluated: the chain of imports */
	const struct FileState *importer;
	const char *path;      /* as found */
	const char *real_path; /* for comparing */
	Span span;             /* of the import */
	bool imported;
	Sym prefix;            /* "" or "nn." */
	uint32_t depth;
} FileState;

typedef struct ParsedFile {
	const char *real_path;
	const AstFile *ast;
} ParsedFile;

typedef struct RoutineBuild RoutineBuild;

typedef struct Build {
	Parse *parse;
	Arena *arena;
	Symbols *symbols;
	Sources *sources;
	Diags *diags;
	Graph *graph;
	const FrontendOptions *options;
	Activation at;
	const FileState *file;
	RoutineBuild *routine; /* the routine whose steps are evaluated, or NULL */
	const AstExpr *named;  /* the expression that a `let` names, for the names of instances */
	Sym named_as;
	Sym place;	   /* the definition that is evaluated: names of `let`, dotted; or NULL */
	NameIndex places;  /* how many random streams a place has */
	Sym initialises;   /* the parameter whose initialiser is evaluated; NULL: none is */
	NameIndex draws;   /* how many random streams its initialiser has */
	NodeId seed;	   /* what those start from; NODE_NONE before the first */
	NodeIds listed;	   /* by NodeId: see initial.c */
	NameIndex entries; /* inputs, dims, parameters, scalars: one namespace, by full name */
	VEC(Span) entry_spans;
	VEC(ParsedFile) parsed;
	uint32_t main_file;
	VEC(struct Local) locals; /* (inside.h) */
	VEC(NodeId) outputs;
	VEC(Sym) output_names;
	VEC(Span) output_spans;
	bool *define_used;
	VEC(Sym) define_names; /* every dim, for -D */
	VEC(SizeExpr *) steps; /* those that are the number of a step */
	NameIndex routines;    /* places among the graph's */
	uint32_t *reached;     /* by NodeId: the mark of the last Reach that it is in */
	size_t nreached;
	uint32_t nreaches;
	uint32_t nimports;
	int noted_errors;  /* the error that was last told where its function was applied, */
	uint32_t nnotes;   /* and how often */
	uint32_t depth; /* of evaluation */
	uint64_t work;  /* evaluations so far */
	bool stopped;   /* a limit was reached and reported */
	bool wants_size; /* a size is evaluated: only sizes are offered for an unknown name */
} Build;

enum {
	LIMIT_NODES = 250000,
	LIMIT_WORK = 2000000,
	LIMIT_DEPTH = 1100, /* more than a tree may nest; base/stack.h says what it takes */
	LIMIT_ITERATE = 100000,
	LIMIT_IMPORTS = 500,
	LIMIT_IMPORT_DEPTH = 50,
	LIMIT_SITES = 100,
	LIMIT_ARGS = 1000 /* keywords are looked up one by one */
};

/* ---- scope.c ---- */

/* An empty scope inside another; all names of `parent` are visible in it until `limit` is
 * lowered. */
Scope *scope_new(Build *b, Scope *parent);
/* Reports a duplicate at this level; binds all the same only if there was none. */
bool scope_declare(Build *b, Scope *scope, Name name, Value value);
/* The binding at this level, or NULL. */
Binding *scope_here(Scope *scope, Sym name);
/* The innermost visible binding, or NULL. */
Binding *scope_find(Scope *scope, Sym name);
/* Does a statement further down in the same file declare it? */
bool scope_declares_later(const Build *b, Name name);
/* Reports that `name` is unknown, defined only later, or recursive. */
void scope_report_unknown(Build *b, Name name);
/* What the unknown name of the last diagnostic is called here: a word of other languages, or an
 * axis of a specification. False where there is nothing to say (foreign.c). */
bool foreign_explain(Build *b, Name name);
/* Registers an input, dim, parameter or scalar by full name; reports a clash. */
bool entry_declare(Build *b, Sym full, Span span);

/* ---- value.c ---- */

Value value_error(void);
Value value_number(double number, Span span);
Value value_integer(int64_t integer, Span span);
Value value_size(const SizeExpr *size, Span span);
Value value_node(NodeId node, Span span);
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

/* ---- size_expr.c ---- */

const SizeExpr *size_expr_number(Build *b, int64_t number, Span span);
const SizeExpr *size_expr_new(Build *b, SizeExpr expr);
/* Is it known now? Then *out is it. */
bool size_expr_value(const SizeExpr *expr, int64_t *out);

/* ---- sizes.c ---- */

/* Where an unknown name can only be meant for a size, none but sizes are offered. */
Value eval_wanting_size(Build *b, const AstExpr *expr);
/* NULL after an error (E0210). */
const SizeExpr *eval_size(Build *b, const AstExpr *expr);
/* An expression that must be an integer now. */
bool eval_integer(Build *b, const AstExpr *expr, const char *what, int64_t *out);

typedef enum ShapeUse { SHAPE_INPUT, SHAPE_PARAM, SHAPE_CONST, SHAPE_ASCRIBED } ShapeUse;
/* NULL after an error. */
const ShapeDecl *shape_decl(Build *b, const AstShape *shape, ShapeUse use);
/* Of a parameter without a written shape: no batch axes, the other rows open. */
const ShapeDecl *shape_decl_open_param(Build *b, Span span);

/* ---- nodes.c ---- */

/* A node of a kind at the current site; operands are set by the callers. */
NodeId node_new(Build *b, NodeKind kind, Span span, Span op_span);
void node_set_args(Build *b, NodeId id, const NodeId *args, const Span *spans, uint32_t nargs);
/* Gives a node that waits its neighbour's dtype; DTYPE_NONE: i32 where sizes and integers alone are
 * in it, else f32. Nothing on others. */
void node_settle(Build *b, NodeId id, Dtype dtype);
NodeId node_cast(Build *b, NodeId id, Dtype dtype, Span span);
/* Brings operands to one wide dtype; returns it. Those that it is the wide dtype of stay as they
 * are. */
Dtype nodes_join(Build *b, NodeId *args, uint32_t nargs);
/* The same for the operands of an operation, to the dtype that it computes in; DTYPE_NONE where all
 * of them still wait for a neighbour. */
Dtype nodes_join_for(Build *b, Op op, NodeId *args, const Span *spans, uint32_t nargs);
/* Brings the operands to one dtype; NODE_NONE where one of them is, so that an error is told
 * once. */
NodeId node_pointwise(Build *b, Op op, NodeId *args, const Span *spans, uint32_t nargs, Span span,
		      Span op_span);
NodeId node_compose(Build *b, NodeId a, NodeId c, const AstExpr *expr);
NodeId node_stack(Build *b, RowKind row, NodeId *args, const Span *spans, uint32_t nargs, Span span);
/* Casts floats of storage to their wide type: the operands of a product, which lowering may widen
 * once for many uses. */
void nodes_widen(Build *b, NodeId *args, uint32_t nargs);
/* Brings parts of one array to one dtype, which is kept where all have it. */
Dtype nodes_unite(Build *b, NodeId *args, uint32_t nargs);
/* The dtype that is written, f32 where none is; one that is not supported yet is reported. */
Dtype written_dtype(Build *b, Dtype dtype, Span span);
Dtype node_dtype(const Build *b, NodeId id);
/* The same node behind all others, so that its id follows theirs; the old one is left unused. */
NodeId node_move_last(Build *b, NodeId id);
/* The first name stays; a number has none. */
void node_name(Build *b, NodeId id, Sym name, Span span);
/* What --dump=shapes lists, in order. */
void listing_add(Build *b, Sym name, NodeId node, Span span);

/* ---- limits.c ---- */

/* Counts one step of work. False once a limit is passed; the error is reported once. */
bool limits_hold(Build *b, Span span);

/* ---- expr.c ---- */

/* What an expression is: a tensor, a number, a size, a function, an instance, a module or a tuple;
 * an error value after an error, which every user of it passes on in silence. */
Value eval(Build *b, const AstExpr *expr);
/* The same under a name that `let` gives. */
Value eval_named(Build *b, const AstExpr *expr, Sym name);
/* The same as a tensor; NODE_NONE after an error. */
NodeId eval_node(Build *b, const AstExpr *expr);
Value eval_pointwise(Build *b, Op op, const Value *args, uint32_t nargs, const AstExpr *expr);

/* ---- control.c ---- */

Value eval_if(Build *b, const AstExpr *expr);
Value eval_iterate(Build *b, const AstExpr *expr);
Value eval_let_in(Build *b, const AstExpr *expr);
Value eval_with(Build *b, const AstExpr *expr);
/* Binds one name, or takes a tuple apart; each value goes through `each`. */
typedef void BindEach(Build *b, Name name, Value *value);
void bind_names(Build *b, const AstBind *bind, BindEach *each);
/* A name in the current scope for a size that only inference knows. */
CaptureId declare_capture(Build *b, Name name);

/* ---- call.c ---- */

Value eval_call(Build *b, const AstExpr *expr);
Value eval_member(Build *b, const AstExpr *expr);

/* ---- params.c ---- */

/* Parameters that are made in it are called `prefix` NAME `suffix`. */
ParamScope *param_scope_new(Build *b, Sym prefix, Sym suffix);
/* Of copy `number` of the `iterate` at `site`; copies are made in the order of their numbers. */
ParamScope *param_scope_copy(Build *b, const AstExpr *site, uint32_t number);
/* The parameter that stands here, in the current parameter scope: made the first time, found
 * afterwards. NODE_NONE after an error. */
NodeId param_inline(Build *b, const AstExpr *expr);
NodeId param_statement(Build *b, const AstStmt *stmt);
/* NULL: there is none of that name. */
Member *param_member(ParamScope *scope, Sym name);
/* The instance that `site` makes in the current parameter scope: an old one when it is applied
 * again. */
Instance *param_instance(Build *b, const AstExpr *site, Function *fn, bool *fresh);

/* ---- initial.c ---- */

/* Gives the parameter what it starts with. */
void initial_set(Build *b, NodeId param, Sym name, const AstExpr *init);

/* ---- form_names.c ---- */

bool form_exists(const char *name);
/* Candidates for did-you-mean: the i-th name, NULL past the end. */
const char *form_name(uint32_t i);

/* ---- forms.c ---- */

Value eval_form(Build *b, Sym name, const AstExpr *call);
/* A specification's operation from parts (SPEC, or BLOCK where the result concatenates). */
typedef struct SpecParts {
	const Spec *spec;
	Op op, reduce;
	NodeId *args;
	Span *spans;
	uint32_t nargs;
	Span span, op_span;
	bool permutes, joins; /* permute: elements of any dtype; concat */
	bool keeps;	      /* the dtype of the one operand */
	struct Border *border; /* frontend/border.h */
} SpecParts;
/* NODE_NONE after an error. */
NodeId form_spec_node(Build *b, const SpecParts *parts);

/* ---- const.c ---- */

/* A `const` statement: data from a literal, an expression over constants, or a file. */
void eval_const(Build *b, const AstStmt *stmt);

/* ---- constfold.c ---- */

/* The elements and shape of an expression over constants: a NODE_CONST, or NODE_NONE after an
 * error. */
NodeId const_fold(Build *b, NodeId node);

/* ---- resolve.c ---- */

/* Reports unknown names in the body of a function that nothing has applied. */
void resolve_unapplied(Build *b, const Function *fn);

/* ---- unused.c ---- */

/* Warns of dims, constants, lets, parameters and scalars that nothing in the file mentions. */
void warn_unused(Build *b, const AstFile *file);

/* ---- stmt.c ---- */

/* The statements in order, until a limit stops it; then the functions that nothing has applied. */
void eval_file(Build *b, const AstFile *file);

/* ---- library.c ---- */

/* Does the library file nn.tsr declare a function of this name? */
bool library_has(Build *b, Sym name);
/* A file's name as written, beside the file that is evaluated. */
const char *import_path(Build *b, const char *name, size_t len);
/* The path of the file that is imported under a name; NULL: there is none. */
const char *import_find(Build *b, const char *name, size_t len);

/* ---- import.c ---- */

void eval_import(Build *b, const AstStmt *stmt);

/* ---- assign.c ---- */

/* The step of the routine at hand as a node that writes its target; nothing after an error. */
void eval_assign(Build *b, const AstStep *step);

/* ---- routine.c ---- */

/* Do the nodes made since `first` read only what is as it was when the routine began? False after
 * the error. */
bool routine_check_step(Build *b, NodeId first, Span span);
/* Adds a node with a target to what the routine writes. */
void routine_add_write(Build *b, NodeId id, Span span);
void eval_routine(Build *b, const AstStmt *stmt);
/* False after an error: the file has a routine of that name. */
bool routine_name_is_free(Build *b, Name name);

/* ---- reach.c ---- */

/* All that some nodes need, themselves included. */
typedef struct Reach {
	uint32_t mark;
	VEC(NodeId) nodes;
} Reach;
Reach reach_from(Build *b, const NodeId *roots, size_t nroots);
/* Is the node among them? Of the last one found alone. */
bool reach_has(const Build *b, const Reach *reach, NodeId id);
/* Adds a routine with what its roots reach: its nodes in order, its inputs and parameters. */
void routine_add(Build *b, Routine routine, const NodeId *roots, size_t nroots);
/* Adds `forward`, marks what is used, warns of unused inputs. */
void routines_finish(Build *b);

#endif
