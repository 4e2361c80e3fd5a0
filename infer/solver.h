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
#include "infer/infer.h"

typedef uint32_t CellId;
typedef uint32_t RowVarId;
typedef uint32_t ConId;
#define NONE UINT32_MAX

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
	bool is_index; /* fixed by a number alone: no inequality gives it a size */
	uint32_t walk; /* the last walk that came here */
	uint32_t slot; /* its place among open sizes that are searched together */
	int refused;   /* the stage in which it was found not to be 1 */
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

typedef struct Solver {
	const Graph *graph;
	Sizes *sizes;
	Arena *arena;
	Diags *diags; /* NULL: count errors silently */
	uint64_t shuffle;
	int nerrors;
	Span blamed; /* the place of the last error */
	/* By NodeId: bit arg + 1, a repair of that operand was offered; bit 0, of the result. */
	uint64_t *mended;
	VEC(Span) mended_at;
	int stage;
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
	uint32_t *first_bind,
		*next_bind; /* by NodeId, by bind: the binds of a node in order; NONE ends */
	/* two queues, equations before inequalities: rings of ids, edges tagged by the high bit */
	VEC(uint32_t) equations, inequalities;
	size_t equations_at, inequalities_at;
} Solver;

/* ---- generate.c, generate_leaf.c, generate_spec.c, generate_size.c ---- */

/* The constraints of a graph, in the order of the program; stops at the first node with an
 * error. */
void generate(Solver *s);
/* An error for a row of more than ROW_LIMIT axes. */
void check_ranks(Solver *s, NodeId node);
/* Of a node without operands: its rows. What only uses say of a row, a parameter's or another's. */
void generate_leaf(Solver *s, NodeId id);
void mark_terminal(Solver *s, const RowTerm *row, bool param);
/* Of a node with a specification: an equation for each row of each operand, the rows of its result,
 * the relations of its affine and concatenated axes, and its binds. */
void generate_spec(Solver *s, NodeId id);
/* A new cell that holds the size, or is tied to the captures that stand in it; broken after an
 * error. */
CellId size_cell(Solver *s, const SizeExpr *expr);
/* The size of an expression without captures; asks for the guards of its quotients. */
Size size_of_expr(Solver *s, const SizeExpr *expr, bool *spelled, bool *captured);
/* The value of one that stands for a number, which may be negative, once captures are known; asks
 * likewise. SIZE_BAD after an error. */
Size size_as_number(Solver *s, const SizeExpr *expr);
/* Adds a constraint and lets its cells wake it; it is not queued. */
ConId con_new(Solver *s, Con con);
/* An open row, with a variable of its own; a closed row of these cells (copied). */
RowTerm row_open(Solver *s, Sym name, Span span);
RowTerm row_cells(Solver *s, const CellId *cells, uint32_t n);
static inline RowTerm row_closed(void)
{
	return (RowTerm){.var = NONE};
}

/* ---- required.c ---- */

void required_add(Solver *s, Size a, Size b, ConId con);
/* The best name for a size of which factors have another by a require, then with *con of that
 * require; else the size. */
Size required_name(Solver *s, Size size, ConId *con);
/* A name for the size that `by` divides, where a require gives one; else the size. */
Size required_multiple(Solver *s, Size size, Size by);

/* ---- dims.c ---- */

/* An unknown size; `name` is for messages, or NULL. */
CellId cell_new(Solver *s, Sym name, Span span);
/* A size in the program; `spelled`: through a dim, so that a 1 does not broadcast. */
CellId cell_written(Solver *s, Size size, bool spelled, Span span);
/* The cell that stands for the class. Pointers to cells hold until the next cell is made. */
CellId cell_root(Solver *s, CellId cell);
static inline Cell *cell_at(Solver *s, CellId cell)
{
	return &s->cells.at[cell_root(s, cell)];
}
static inline bool cell_known(Solver *s, CellId cell)
{
	return !size_is_bad(cell_at(s, cell)->value);
}
static inline Size cell_value(Solver *s, CellId cell)
{
	return cell_at(s, cell)->value;
}
/* Does it close to what its uses have? */
static inline bool cell_is_leaf(const Cell *c) { return c->terminal && !c->made; }
static inline bool rowvar_is_leaf(const RowVar *v) { return v->terminal && !v->made; }
/* Is it the broadcasting 1, as far as is known? */
bool cell_stretches(Solver *s, CellId cell);
/* Gives the class a value (SIZE_BAD: an error, it is too large). Where it has another, both become
 * cells of one class, which is an error if they can never be equal. */
void cell_set(Solver *s, CellId cell, Size value, Why why);
/* A dim spells the size, or `follows`: a relation ties it to such a size. */
void cell_spell(Solver *s, CellId cell, bool follows);
/* The size is at least 2, as parts of it are: it does not broadcast. */
void cell_exceeds_one(Solver *s, CellId cell);
/* Does a 1 not broadcast because of a dim, as far as is known? */
bool cell_spelled(Solver *s, CellId cell);
/* The first label stays. */
void cell_label(Solver *s, CellId cell, Sym label);
/* Merges two classes because of `con`, or reports why they cannot be one. */
void cells_equal(Solver *s, CellId a, CellId b, ConId con);
/* Makes `cell` the root of its tree of merges: only parent links on its path turn round. */
void proof_reroot(Solver *s, CellId cell);
/* A new edge "res refines opnd", queued. Running it merges the two once opnd cannot be the
 * broadcasting 1, and keeps a bound of opnd as long as it is unknown. */
void cell_refines(Solver *s, CellId res, CellId opnd, ConId con);
void edge_run(Solver *s, uint32_t edge);
/* Finds all bounds again: sizes have got other names since, and classes have merged. */
void bounds_refresh(Solver *s);
/* Can the two never be equal? */
bool sizes_differ(const Sizes *sizes, Size a, Size b);
/* Is a the better name for a size that both stand for: a constant, else the shorter, else the
 * earlier. */
bool size_before(Solver *s, Size a, Size b);

/* ---- rows.c, rows_refine.c ---- */

RowVarId rowvar_new(Solver *s, Sym name, Span span);
/* Follows variables that are solved to another variable alone. */
RowVarId rowvar_root(Solver *s, RowVarId var);
/* The row with its solved variables put in: the axes before and behind what is still open, if
 * anything is. `overflow` where there are more than ROW_LIMIT. */
void row_flatten(Solver *s, const RowTerm *row, FlatRow *flat);
/* Requires that the variable is open. `rule`: the closing rule that chose, or NULL where `why`
 * forces. */
void rowvar_solve(Solver *s, RowVarId var, RowTerm value, ConId why, const char *rule);
/* Does what the constraint allows now: pairs axes, solves a variable. It is done, or wakes when one
 * of its variables is solved. */
void row_equal_run(Solver *s, ConId con);
void row_refine_run(Solver *s, ConId con);
/* A deferred equation between shifted rows, one of which has `least` axes or more: the variable of
 * the longer gets none. */
bool row_equal_close(Solver *s, ConId con, uint32_t least);
/* The specification that says how many axes the result of a constraint has, if it is a later use of
 * that result; NONE: what says so is the operation itself. */
ConId settling_use(const Solver *s, const Con *con);
/* The constraint wakes when the variable is solved. */
void rowvar_watch(Solver *s, RowVarId var, ConId con);

/* ---- ranks.c ---- */

/* The error for rows that would each have to be longer than the next, if there are such */
void check_circles(Solver *s);
/* The error for a row that has reached ROW_LIMIT at this constraint. */
void blame_endless(Solver *s, ConId con);

/* ---- relate.c, relate_labels.c, relate_total.c ---- */

/* Solves a relation between cells for those that follow from the others. */
void relation_run(Solver *s, ConId con);
/* A label goes from an axis to its letters and back. */
void relation_labels(Solver *s, ConId con);
/* linear.c: a relation that has changed and has several unknowns is solved by linear_run
 * together with others. True where that gave a size. */
void linear_touch(Solver *s, ConId con);
bool linear_run(Solver *s);
/* Sizes that a relation ties to one that a dim spells. */
void relation_spells(Solver *s, ConId con);
/* A reshape: the total of one side is that of the other. */
void product_run(Solver *s, ConId con);
/* The product of all axes, and the number; SIZE_BAD where one is open. */
Size product_value(Solver *s, const Con *con);
/* When all else is known: the error for a total that is a power of one axis only for some dims. */
void product_last(Solver *s, ConId con);
/* The factor of a total beside the other; 1 where that is a multiple of the total, and can only be
 * the total itself: never 1/n. */
Size factor_of(Sizes *sizes, Size total, Size other);
/* The formulas of an affine axis; SIZE_BAD where the mark leaves the answer open. k is SIZE_BAD
 * without a kernel letter. */
Size affine_in(Sizes *sizes, const SpecAxis *axis, Size over, Size k);
Size affine_over(Sizes *sizes, const SpecAxis *axis, Size in, Size k);
Size affine_kernel(Sizes *sizes, const SpecAxis *axis, Size in, Size over);
/* What affine_over divides (SIZE_BAD: nothing), and the window that `in` must hold (SIZE_BAD:
 * none). */
Size affine_dividend(Sizes *sizes, const SpecAxis *axis, Size in, Size k);
Size affine_window(Sizes *sizes, const SpecAxis *axis, Size k);
/* After the last stage: does an axis that is a number hold its window? False after the error. */
bool affine_fits(Solver *s, ConId con);

/* ---- solve.c ---- */

Solver *solver_new(const Graph *graph, Arena *arena, Diags *diags);
/* Propagates, then closes the stages 2 to `last_stage`, until an error. shuffle: as in
 * InferOptions. */
void solver_run(Solver *s, int last_stage, uint64_t shuffle);
/* Into its queue, unless it is there or done. */
void con_wake(Solver *s, ConId con);
void edge_wake(Solver *s, uint32_t edge);
/* Who mentions a class or a variable: all of them are woken when it changes. */
void occs_wake(Solver *s, const OccList *list);
void occs_add(Solver *s, OccList *list, OccKind kind, uint32_t id);
void occs_append(OccList *to, const OccList *from); /* `from` must not be used again */
/* Until both queues are empty. */
void propagate(Solver *s);

/* ---- guards.c, guards_reduce.c ---- */

typedef VEC(Guard) Guards;
/* Where the size of a cell meets one that is written otherwise: on its way to the cell that gives
 * the class its name (the root of the tree of merges), the first operation of which it passes two
 * operands; else its first merge. That is the operand, or the axis, on its side; NONE: nowhere. */
ConId meeting_of(const Solver *s, CellId cell);
/* Asks that sizes, and indices below sizes, fit the dtypes of integers (integers.c). */
void ask_integers(Solver *s);
/* The guards of the solution into inference->guards; errors for those that can never hold. */
void guards_collect(Solver *s, Inference *inference);
/* Does it hold by itself, whatever the dims are? (false: not known) */
bool guard_holds(const Sizes *sizes, const Guard *g);
SizeFact guard_fact(const Guard *g);
/* Those of `found` that do not follow from others, each with its text. */
void guards_reduce(Solver *s, Inference *inference, const Guards *found);

/* ---- warn.c ---- */

/* A row variable as it is written: `...` has the name of its row's kind. */
const char *row_name(Solver *s, Sym name);
/* Warns of specifications (warn_spec.c). */
void warn_specs(Solver *s, Diags *diags);
/* Does the letter stand in the tensor, alone or as a part of an axis? */
bool spec_tensor_has(const SpecTensor *tensor, Sym letter);
/* Warns of a letter that only a result has; `chosen`: nothing gives it a size. False: that is still
 * to be told. */
bool warn_result_letter(Solver *s, const LetterCell *l, bool chosen, Diags *diags);
void warn_chosen(const Inference *inference, Diags *diags);

/* ---- blame*.c, repair*.c, dump_solver.c: nothing is said where s->diags is NULL ---- */

/* Reports an error of this constraint; false (and counted) when the solver is silent. */
bool blame(Solver *s, DiagCode code, ConId con, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void blame_at(Solver *s, DiagCode code, Span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A note for each place that the size passed, then for the place where it came from. */
void blame_born(Solver *s, CellId cell);
/* Where a size that is computed is, and what the sizes that it is computed from passed, beside the
 * message at `span`; false: it is not computed. */
bool blame_computed(Solver *s, CellId cell, Span span);
/* Where the row got its axes, and where the operands of the operation are declared. */
void blame_settled(Solver *s, const RowTerm *row);
void blame_operands(Solver *s, NodeId node);
/* Where the row of the operand of this constraint comes from, through what passes it on. */
void blame_origin(Solver *s, ConId con);
/* What leaves the size open: letters that stand in a result alone, totals of which it is one of
 * several factors, and other ways to write an axis of which it is a part. */
void blame_open(Solver *s, CellId cell);
/* The operations that made the two one size. */
void blame_equal(Solver *s, CellId a, CellId b);
/* The error for two sizes that meet at `con` and can never be equal, with the origin of both. */
void blame_sizes(Solver *s, CellId a, CellId b, ConId con);
/* The error for the axis of a result that a use has made longer, while all operands, opnd of
 * constraint `con` among them, have the broadcasting 1 there. */
void blame_stretched(Solver *s, CellId res, CellId opnd, ConId con);
/* A note for each function whose application made the node. */
void blame_sites(Solver *s, NodeId node);
/* The repair of a pointwise operand of this constraint, where one is known; the axes that it
 * mends are not reported again. */
void suggest_operand(Solver *s, ConId con);
/* Is the constraint that of an operand of a pointwise operation? */
bool is_pointwise_operand(const Solver *s, ConId con);
/* The repair of a pointwise operand, or of the other one, that is a sum without the place of the
 * axis that it reduces; `leaf`: a size that counts as it is written, or NULL. False where there is
 * none. */
bool suggest_kept(Solver *s, const Con *con, const Leaf *leaf);
/* Where the other size of the guard comes from, and that repair. */
void explain_meeting(Solver *s, const Guard *g);
/* The repairs of `a * b` whose axes do not meet at this constraint. */
void suggest_compose(Solver *s, ConId con);
/* The repairs of an operand that has n axes, or more, in the row of this constraint, and other axes
 * than its specification, or gather, says. */
void suggest_rows(Solver *s, ConId con, uint32_t n);
/* ... another letter of the specification in the place of the one whose size is not that of the
 * operand's axis `at` (infer/repair_letters.c). */
void suggest_swap(Solver *s, ConId con, uint32_t at);
/* Remembers that a repair was offered here for operand `arg` of the node; -1: for the whole
 * operation. */
void mend(Solver *s, const Con *con, int32_t arg);
/* Does a repair that was offered mend this constraint too: one at the same place, of the same
 * operand, of the operation that makes it, or of the use that settled its row? Such an error
 * counts, and nothing is said. */
bool is_mended(Solver *s, ConId con);
/* Names for messages, in the solver's arena. arg: operand number, or -1 for the result. */
const char *axis_text(Solver *s, ConId con, CellId cell);
/* A letter that stands for the size, or NULL. */
Sym letter_of(Solver *s, CellId cell);
const char *tensor_text(Solver *s, NodeId node, int32_t arg);
const char *cell_size_text(Solver *s, CellId cell);
const char *row_kind_text(RowKind row);
const char *con_text(Solver *s, ConId con);
const char *flat_text(Solver *s, const FlatRow *flat);

#endif
