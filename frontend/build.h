/* The state of a build, which all files of frontend/ share: an expression evaluates to a Value (value.h),
 * names resolve through scopes (scope.h), eval.h evaluates, nodes.h makes nodes of the graph.
 */
#ifndef TSR_FRONTEND_BUILD_H
#define TSR_FRONTEND_BUILD_H

#include "base/nearest.h"
#include "frontend/frontend.h"
#include "frontend/scope.h"

typedef VEC(NodeId) NodeIds;

/* One `with` around the expression that is evaluated: the specifications in it report here. */
typedef struct With {
	struct With *outer;
	VEC(NodeId) nodes;
	const AstExpr *expr;
	const struct Bind *binds; /* those of the expression, as many */
	size_t first; /* bind of the graph that was made in it */
	bool partial; /* a branch of an `if` in it was left out */
} With;

/* Steps that are evaluated, and those around them. */
typedef struct StepList {
	const struct StepList *outer;
	const AstStep *steps;
	uint32_t n;
} StepList;

/* What changes while a function's body, a file or a copy of an `iterate` is evaluated. */
typedef struct Activation {
	Scope *scope;
	ParamScope *params;
	With *withs;
	const struct Application *in;
	const StepList *steps; /* of the routine at hand; NULL: there is none */
	struct Mode *modes;    /* what applications around gave (modes.h) */
	const AstStmt *rule; /* the function whose rule of gradients is evaluated; NULL: none is */
	uint32_t site;
	uint32_t loop; /* among graph.loops */
	struct Carrying *carrying; /* of the innermost scan in the text, or NULL */
} Activation;

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

typedef struct Backward { /* a `backward` of the routine at hand */
	NodeId y; /* NODE_NONE after an error: gradients behind it say nothing more */
	Span span;
} Backward;

typedef struct AppliedRule { /* an application of a function with a written rule (rule.h) */
	NodeId rule;   /* its node */
	uint32_t site; /* that the nodes of the body are of, or of one within */
	const AstStmt *fn;
} AppliedRule;

typedef struct LateDim {
	Dim dim;
	DimId id; /* once it is there */
} LateDim;

struct Build {
	Parse *parse;
	Arena *arena;
	Symbols *symbols;
	Sources *sources;
	Diags *diags;
	Graph *graph;
	const FrontendOptions *options;
	/* Makes the step one that writes the target, what a loop carries: its node, NODE_NONE after an error. assign.c, which
	 * evaluates expressions, for a form that is one */
	NodeId (*assign_to)(Build *b, const AstStep *step, NodeId target);
	Activation at;
	const FileState *file;
	struct Anew *anew;     /* what that computes anew, or NULL */
	RoutineBuild *routine; /* the routine whose steps are evaluated, or NULL */
	ScalarArg *scalars;    /* of that routine */
	const AstExpr *named;  /* the expression that a `let` names, for the names of instances */
	Sym named_as;
	Sym place;	   /* the definition that is evaluated: names of `let`, dotted; or NULL */
	NameIndex places;  /* how many random streams a place has */
	const AstExpr *stepped; /* the body of the `scan` whose condition is evaluated; NULL: none is */
	Sym initialises;   /* the parameter whose initialiser is evaluated; NULL: none is */
	NameIndex draws;   /* how many random streams its initialiser has */
	NodeId seed;	   /* what those start from; NODE_NONE before the first */
	NodeIds listed;	   /* by NodeId: see initial.c */
	NameIndex entries; /* inputs, dims, parameters, scalars: one namespace, by full name */
	VEC(Span) entry_spans;
	VEC(ParsedFile) parsed;
	uint32_t main_file;
	VEC(Name) missing_dims;	  /* (missing_dims.c) */
	VEC(struct Local) locals; /* (inside.h) */
	VEC(NodeId) outputs;
	VEC(Sym) output_names;
	VEC(Span) output_spans;
	bool *define_used;
	VEC(Sym) define_names; /* every dim, for -D */
	VEC(LateDim) late_dims;	    /* (late_dims.h) */
	VEC(SizeExpr *) late_sizes; /* those that are one */
	VEC(Backward) backward;
	VEC(struct Update *) updates; /* in the order of evaluation (update.c) */
	VEC(AppliedRule) rules;
	VEC(Function *) ruled; /* the functions of all files that have a rule */
	uint32_t recomputes;  /* the number of the outermost recompute(E) that is evaluated; 0: none is */
	uint32_t nrecomputes; /* how many there are */
	NameIndex slots;       /* nodes, by full name (slots.c) */
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
};

enum {
	LIMIT_NODES = 100000,
	LIMIT_WORK = 800000,
	LIMIT_DEPTH = 1100, /* more than a tree may nest; base/stack.h says what it takes */
	LIMIT_ITERATE = 100000,
	LIMIT_IMPORTS = 500,
	LIMIT_IMPORT_DEPTH = 50,
	LIMIT_SITES = 100,
	LIMIT_STACKED = 1448, /* operands of a stack, whose square infer/project_build.c bounds */
	LIMIT_ARGS = 1000     /* keywords are looked up one by one */
};

/* ---- limits.c ---- */

/* Counts one step of work. False once a limit is passed; the error is reported once. */
bool limits_hold(Build *b, Span span);

/* ---- library.c ---- */

/* Does the library file nn.tsr declare a function of this name? */
bool library_has(Build *b, Sym name);
/* The function of nn.tsr that a name of another library means, which may end in more: 'cross_entropy' of
 * 'CrossEntropyLoss'. NULL: none. */
Sym library_like(Build *b, Sym name);
/* Does a name begin as `meant` does, whatever stands in capitals and whether '_' stands between words? */
bool name_is_spelt(const char *name, const char *meant);
/* A file's name as written, beside the file that is evaluated. */
const char *import_path(Build *b, const char *name, size_t len);
/* The path of the file that is imported under a name; NULL: there is none. */
const char *import_find(Build *b, const char *name, size_t len);

#endif
