/* Unknown sizes: classes of cells, their values, labels and flags, and what a require names them. */
#ifndef TSR_INFER_CELLS_H
#define TSR_INFER_CELLS_H

#include "infer/solver.h"

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
/* The conflict of two classes with different labels. */
void conflict_labels(Solver *s, ConflictKind kind, ConId con, CellId a, CellId b);
/* Merges two classes because of `con`, or reports why they cannot be one. */
void cells_equal(Solver *s, CellId a, CellId b, ConId con);
/* Makes `cell` the root of its tree of merges: only parent links on its path turn round. */
void proof_reroot(Solver *s, CellId cell);
/* A new edge "res refines opnd", queued. Running it merges the two once opnd cannot be the
 * broadcasting 1, and keeps a bound of opnd as long as it is unknown.
 * Requires: of edge_run, an edge of the solver. */
void cell_refines(Solver *s, CellId res, CellId opnd, ConId con);
void edge_run(Solver *s, uint32_t edge);
/* Can the two never be equal? */
bool sizes_differ(const Sizes *sizes, Size a, Size b);
/* Is a the better name for a size that both stand for: a constant, else the shorter, else the
 * earlier. */
bool size_before(Solver *s, Size a, Size b);

/* ---- required.c ---- */

/* Notes that a = b because of `con`, a `require`. Left out: equal sizes, two constants, and all beyond the
 * first 64. */
void required_add(Solver *s, Size a, Size b, ConId con);
/* The best name for a size of which factors have another by a require, then with *con of that
 * require; else the size. */
Size required_name(Solver *s, Size size, ConId *con);
/* A name for the size that `by` divides, where a require gives one; else the size. */
Size required_multiple(Solver *s, Size size, Size by);

#endif
