/* How messages and dumps call what the solver speaks of. The texts stand in the solver's arena. */
#ifndef TSR_INFER_TEXT_H
#define TSR_INFER_TEXT_H

#include "infer/solver.h"

/* arg: operand number, or -1 for the result. */
const char *tensor_text(Solver *s, NodeId node, int32_t arg);
/* The axis that the size of the cell is of, as the constraint (or NONE) has it. */
const char *axis_text(Solver *s, ConId con, CellId cell);
/* A letter that stands for the size, or NULL. */
Sym letter_of(Solver *s, CellId cell);
const char *cell_size_text(Solver *s, CellId cell);
const char *row_kind_text(RowKind row);
/* A row variable as it is written: `...` has the name of its row's kind. */
const char *row_name(Solver *s, Sym name);
/* "[a, 3, ...]" */
const char *flat_text(Solver *s, const FlatRow *flat);
/* The constraint with the sizes that are known (infer/con_text.c). */
const char *con_text(Solver *s, ConId con);

#endif
