/* Internal to the solver of sizes (infer/ except project*, check*).
 *
 *   cell       := one axis size, known or not; cells that must agree are one class (union-find)
 *   row        := leading cells, a row variable or the broadcast marker, trailing cells
 *   constraint := row = row | row refines row | relation between cells | cell at least k
 *   relation   := in = stride*(out - 1) + span ... | whole = sum of parts | a + b | a * b
 *               | product of rows
 *
 * "res refines opnd" (pointwise and compose forms): opnd has at most the axes of res, and each of
 * its axes equals that of res or is the broadcasting 1. In an equation there is no broadcasting.
 *
 * All propagation is monotone: classes merge, values and flags appear, rows grow. A fixed point
 * does therefore not depend on the order in which constraints are taken; only the stages (close.c),
 * which run on fixed points and go through cells in the order of the program, choose anything.
 *
 * Each merge remembers its constraint and each value what gave it: explanations are read off
 * (trace.c, explain.c).
 */
#ifndef TSR_INFER_SOLVER_H
#define TSR_INFER_SOLVER_H

#include "base/size_system.h"
#include "infer/conflict.h"

enum { ROW_LIMIT = 64, STAGES = 7 };

/* What gave a class its value. */
typedef enum WhyKind {
	WHY_NONE,
	WHY_WRITTEN,  /* a size in the program: span */
	WHY_RELATION, /* the other cells of constraint `con` */
	WHY_SYSTEM,   /* those of `con` and of other constraints together */
	WHY_JOIN, /* two results of different sizes read it: it can only be the broadcasting 1 */
	WHY_RULE  /* chosen by closing rule `rule` */
} WhyKind;

typedef struct Why {
	WhyKind kind;
	ConId con;   /* RELATION; JOIN: one of the two; RULE: the bound's constraint or NONE */
	CellId from; /* JOIN, RULE: the cell whose size was taken, or NONE */
	Span span;   /* WRITTEN */
	const char *rule;
} Why;

/* An entry of an occurrence list: what to look at again when a class or a row variable changes. */
typedef enum OccKind { OCC_CON, OCC_EDGE } OccKind;
typedef struct Occ {
	OccKind kind;
	uint32_t id;
	struct Occ *next;
} Occ;

typedef struct OccList {
	Occ *first, *last;
} OccList;

typedef enum BoundKind { BOUND_NONE, BOUND_ONE, BOUND_MIXED } BoundKind;

typedef struct Cell {
	CellId parent;
	uint32_t rank;
	/* of the cell itself */
	Sym name;     /* a letter, or NULL */
	Span span;    /* where it was written, or SPAN_NONE */
	CellId proof; /* a neighbour in the tree of merges, or NONE at its root */
	ConId proof_con;
	/* of the class, at its root */
	Size value;  /* id 0: not known */
	CellId born; /* the cell that had the value first */
	Why why;
	Sym label;
	CellId label_born;
	Size bound; /* the size of a result that reads it */
	CellId bound_from;
	ConId bound_con;
	BoundKind bound_kind;
	bool spelled;  /* through a dim: its 1 does not broadcast */
	bool follows;  /* from a size that does not broadcast, by a relation: nor does it, unless */
	bool number;   /* it is written as a number, or chosen */
	bool large;    /* not 1, whatever it is */
	bool broken;   /* an error was reported */
	bool terminal; /* an axis of a leaf: closes to its bound, unless it is an axis of a result too */
	bool made;     /* an axis into which operands broadcast */
	bool param;    /* an axis of a parameter: never guessed */
	bool may_be_empty;
	bool factor;   /* a letter of a joined axis that is taken apart: never guessed */
	bool is_index; /* fixed by a number alone: no inequality gives it a size */
	uint32_t walk; /* the last walk that came here */
	uint32_t slot; /* its place among open sizes that are searched together */
	int refused;   /* the stage in which it was found not to be 1 */
	uint32_t kept; /* conflicts that there were when it was put on the trail */
	OccList occs;
} Cell;

typedef struct RowTerm {
	CellId *lead, *trail;
	uint32_t nlead, ntrail;
	RowVarId var; /* NONE: closed */
	bool pinned;  /* the leading cells stand at the left edge also where axes are inserted */
} RowTerm;

typedef struct RowVar {
	RowVarId parent;
	bool solved;
	RowTerm value;
	ConId why; /* the constraint that solved it; NONE: a closing rule */
	const char *rule;
	Sym name;
	Span span;
	bool terminal, param, made; /* as in Cell */
	bool must;   /* of a parameter read by a specification or composed: never guessed empty */
	bool shaped; /* of a reshape: its total is given */
	bool guessed; /* a leaf's that nothing bounds: it is empty, which says nothing of others */
	OccList occs;
} RowVar;

/* A row with its variables resolved: lead cells, var, trail cells (right-aligned in the array). */
typedef struct FlatRow {
	uint32_t nlead, ntrail, npinned;
	RowVarId var;
	CellId lead[ROW_LIMIT + 1];
	CellId back[ROW_LIMIT + 1];
	bool overflow;
} FlatRow;

static inline uint32_t flat_naxes(const FlatRow *f) { return f->nlead + f->ntrail; }

static inline CellId flat_at(const FlatRow *f, uint32_t i) /* i < nlead + ntrail, from the left */
{
	return i < f->nlead ? f->lead[i] : f->back[ROW_LIMIT + 1 - f->ntrail + (i - f->nlead)];
}

typedef enum ConKind {
	CON_ROW_EQ,   /* rows a, b */
	CON_ROW_LE,   /* row a refines row b */
	CON_CELL_EQ,  /* cells 0, 1 */
	CON_AT_LEAST, /* cell 0 >= number */
	CON_AFFINE,   /* cells: in, over, kernel or NONE; axis */
	CON_CONCAT,   /* cells: whole, parts...; number: elements of skipped parts */
	CON_ADD,      /* cell 0 = cell 1 + cell 2 */
	CON_MUL,      /* cell 0 = cell 1 * cell 2 */
	CON_PRODUCT   /* cell 0 = number * product of all axes of rows; node NODE_NONE: of one row, the
		       * factors of a size as written */
} ConKind;

typedef struct Con {
	ConKind kind;
	NodeId node; /* NODE_NONE: a statement about sizes */
	int32_t arg; /* the operand, or -1 for the result */
	RowKind row;
	Span span; /* the axis, the row or the operation */
	bool queued, done;
	bool stale;	/* has to be looked at together with others */
	uint32_t round; /* in which it was */
	bool derived;	/* a relation that has given a value */
	bool makes;	/* row a is that of what is computed, and follows from its operands */
	const Ascription *written; /* row b is written behind the name of a tensor, or NULL */
	RowTerm a, b;
	uint32_t ndone_lead, ndone_trail;
	CellId *cells;
	uint32_t ncells;
	const SpecAxis *axis;
	int64_t number;
	RowTerm *rows;
	uint32_t nrows;
} Con;

/* Is it the product of a size as it is written, not of the axes of a tensor? */
static inline bool con_is_written_product(const Con *con)
{
	return con->kind == CON_PRODUCT && con->node == NODE_NONE;
}

/* res refines opnd, of one axis. */
typedef struct Edge {
	CellId res, opnd;
	ConId con;
	bool queued, dead;
} Edge;

/* A size that the program writes, and the cell that has it. */
typedef struct Leaf {
	CellId cell;
	Size size;
	Span span;
	Span also; /* as of SizeExpr */
} Leaf;

/* Two sizes of dims that a require says are equal; `name` is the better name. */
typedef struct Required {
	Size size, name;
	ConId con; /* of the require */
} Required;

typedef struct LetterCell {
	NodeId node;
	Sym letter;
	CellId cell;
	bool only_result;
	bool kernel;
	Span span;
} LetterCell;

typedef struct ResultRow { /* a row variable that only the result of a specification has */
	RowVarId var;
	Sym name;
	Span span;
	NodeId node;
} ResultRow;

/* A place in the program's tensors that closing goes through. */
typedef struct Spot {
	NodeId node; /* NODE_NONE: a letter or another size beside tensors */
	RowKind row;
	uint32_t axis; /* from the left, where the row is closed */
	CellId cell;   /* NONE: the open row */
	RowVarId var;
} Spot;

typedef struct Event { /* a closing rule that fired */
	int stage;
	const char *rule;
	Spot spot;
} Event;

typedef VEC(Spot) Spots;

typedef struct TrailEntry { /* trail.c: one of them is NULL */
	uint32_t id;
	Cell *cell;
	RowVar *var;
} TrailEntry;

typedef struct Solver {
	const Graph *graph;
	Sizes *sizes;
	Arena *arena;
	uint64_t shuffle;
	VEC(Conflict) conflicts;
	size_t tolerated;      /* conflicts that do not stop it (solver_complete) */
	VEC(TrailEntry) trail; /* since the first conflict */
	size_t trail_at;       /* where the tables stand in it: at its end while solving */
	int stage;
	NodeId nnodes; /* of which there are constraints */
	bool started;  /* the constraints have been queued */
	uint32_t walks;
	uint64_t eliminated; /* terms of equations between sizes */
	uint32_t tries;	     /* constraints that searches for sizes have looked at */
	VEC(Cell) cells;
	VEC(RowVar) vars;
	VEC(Con) cons;
	VEC(Edge) edges;
	VEC(Leaf) leaves;
	VEC(Required) required;
	VEC(LetterCell) letters;
	VEC(ResultRow) result_rows;
	VEC(ConId) rests; /* sums of which a part is what the others leave of an axis */
	VEC(Event) events;
	VEC(Guard) asked;	    /* guards of written sizes and requires, before reduction */
	RowTerm (*rows)[ROW_KINDS]; /* by NodeId */
	bool rows_closed, cells_closed; /* of all nodes; none opens again */
	uint32_t ngenerated;	    /* cells that generation made: their order is the program's */
	CellId *totals;	  /* by NodeId: of a reshape; one that is reshaped again has the same */
	CellId *captures; /* by CaptureId; NONE: not captured */
	VEC(ConId) stale; /* to be looked at together with others */
	uint32_t rounds;
	VEC(CellId) tied; /* of the relation that is looked at */
	uint32_t *first_ascription, *next_ascription; /* by node, by ascription; NONE */
	uint32_t *first_bind,
		*next_bind; /* by NodeId, by bind: the binds of a node in order; NONE ends */
	/* two queues, equations before inequalities: rings of ids, edges tagged by the high bit */
	VEC(uint32_t) equations, inequalities;
	size_t equations_at, inequalities_at;
} Solver;

/* ---- solve.c ---- */

/* A solver without rows and constraints, in the arena; it borrows the graph, and its table of sizes. */
Solver *solver_new(const Graph *graph, Arena *arena);
/* Propagates, then closes the stages 2 to `last_stage`, until an error. shuffle: as in
 * InferOptions. */
void solver_run(Solver *s, int last_stage, uint64_t shuffle);
/* After conflicts: goes on with what does not depend on them, and guesses nothing. More conflicts
 * are forgotten.
 * Requires: the messages have been made. */
void solver_complete(Solver *s);
/* Until both queues are empty. */
void propagate(Solver *s);
/* Finds all bounds again: sizes have got other names since, and classes have merged. */
void bounds_refresh(Solver *s);

#endif
