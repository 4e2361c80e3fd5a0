/* Messages of conflicts, made when solving has stopped: what disagrees, both places, where the
 * sizes come from, and what would mend it.
 *
 * Conflicts are told in the order in which they were found, each as things were known then. What a
 * repair that was offered mends is not told again (mended.c). */
#ifndef TSR_INFER_BLAME_H
#define TSR_INFER_BLAME_H

#include "infer/solver.h"

typedef struct Blame {
	Solver *s; /* has stopped; it is read alone */
	const Inference *inference;
	Diags *diags;
	const Conflict *conflict; /* that is told now */
	size_t ntold;
	Span blamed; /* the place of the last message */
	/* By NodeId: bit arg + 1, a repair of that operand was offered; bit 0, of the result. */
	uint64_t *mended;
	VEC(Span) mended_at;
	VEC(Span) ruled; /* what written rules give, of which a message was told */
	VEC(CellId) mended_cells;
	VEC(ConId) told; /* of rows: constraints that cannot hold, as messages say */
} Blame;

/* inference: what the solver has found, maybe not all. */
Blame *blame_new(Solver *s, const Inference *inference, Diags *diags);
/* Tells all conflicts of a solver into `diags`. */
void blame_conflicts(Solver *s, const Inference *inference, Diags *diags);

/* ---- blame_report.c ---- */

/* The message of the conflict that is told now, at the constraint (NONE: nowhere) or a place. */
void blame(Blame *b, ConId con, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void blame_at(Blame *b, Span span, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* At a part of what the constraint is of. */
void blame_operand_at(Blame *b, ConId con, Span span, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Of the constraint of what a written rule gives: which tensor has the same shape; nothing on others. */
void note_rule(Blame *b, ConId con);
/* A note for each function whose application made the node. */
void blame_sites(Blame *b, NodeId node);
/* A size as messages write it. */
const char *blame_size(const Blame *b, Size size);

/* ---- blame_origin.c: notes ---- */

/* A note for each place that the size passed, then for the place where it came from. */
void blame_born(Blame *b, CellId cell);
/* The same of the axes of the rows of a product. */
void blame_axes_born(Blame *b, const Con *con);
/* Where a size that is computed is, and what the sizes that it is computed from passed, beside the
 * message at `span`; false: it is not computed. */
bool blame_computed(Blame *b, CellId cell, Span span);
/* Where the row got its axes, and where the operands of the operation are declared. */
void blame_settled(Blame *b, const RowTerm *row);
/* Notes where all, or one, of the node's operands are declared. Requires: the node has that one. */
void blame_operands(Blame *b, NodeId node);
void blame_operand(Blame *b, NodeId node, uint32_t arg);
/* Where the row of the operand of this constraint comes from, through what passes it on. */
void blame_origin(Blame *b, ConId con);
/* The operations that made the two one size. */
void blame_equal(Blame *b, CellId x, CellId y);

/* ---- blame_*.c: a function for each kind of conflict ---- */

typedef void Tell(Blame *b, const Conflict *c);
Tell tell_sizes, tell_stretched, tell_labels, tell_part_labels, tell_too_large; /* blame_sizes.c */
Tell tell_ranks, tell_more_axes, tell_use_axes, tell_endless, tell_inside_itself, tell_rank_circle,
	tell_many_axes; /* blame_rows.c */
Tell tell_fraction, tell_window, tell_steps, tell_kernel, tell_parts, tell_equal_parts,
	tell_multiple, tell_index, tell_system, tell_totals;	       /* blame_relation.c */
Tell tell_total, tell_root;					       /* blame_total.c */
Tell tell_open_kernel, tell_open_count, tell_open_size, tell_open_row,
	tell_param_size; /* blame_open.c */
Tell tell_by_zero, tell_no_multiple, tell_negative, tell_large, tell_large_guard, tell_integer,
	tell_slice, tell_step_size, tell_scalar_size, tell_step, tell_step_never, tell_never,
	tell_never_all; /* blame_guard.c */

/* ---- mended.c ---- */

/* Remembers that a repair was offered here for operand `arg` of the node; -1: for the whole
 * operation. */
void mend(Blame *b, const Con *con, int32_t arg);
/* Remembers that a repair mends all axes of the row. */
void mend_row(Blame *b, NodeId node, RowKind row);
/* Does a repair that was offered mend this constraint too: one at the same place, of the same
 * operand, of the operation that makes it, or of the use that settled its row? */
bool is_mended(Blame *b, ConId con);
/* Has a message told what this one of rows says: of what has settled one of the rows, or of an operand that
 * another application of its function makes, or that the reader has twice, with as many axes where as many are wanted? Remembers it, if it has not. */
bool is_told_of_rows(Blame *b, ConId con);
/* Is it about a size that such a repair mends, or that follows from one? */
bool is_follow_on(Blame *b, const Conflict *c);

/* ---- repair*.c ---- */

/* The repair of a pointwise operand of this constraint, where one is known; the axes that it
 * mends are not reported again. */
void suggest_operand(Blame *b, ConId con);
/* Is the constraint that of an operand of a pointwise operation? */
bool is_pointwise_operand(const Solver *s, ConId con);
/* The repair of a pointwise operand, or of the other one, that is a sum without the place of the
 * axis that it reduces; `leaf`: a size that counts as it is written, or NULL. False where there is
 * none. */
bool suggest_kept(Blame *b, const Con *con, const Leaf *leaf);
/* What is written there, with its first n axes as batch axes. */
const char *to_batch_text(const Blame *b, Span span, uint32_t n);
enum { BATCH_MEANT = 3 }; /* axes that are taken for batch axes, at most */
/* The repair of `w * reshape(x)` whose batch axes would have to be 1, where the cell is that. */
void suggest_batch(Blame *b, CellId cell);
/* The repairs of `a * b` whose axes do not meet at this constraint. */
void suggest_compose(Blame *b, ConId con);
/* Offers `b * a` for `a * b` where the axes would meet so; false: they would not. */
bool suggest_turned(Blame *b, const Node *node);
/* The repairs of an operand that has n axes, or more, in the row of this constraint, and other axes
 * than its specification, or gather, says. */
void suggest_rows(Blame *b, ConId con, uint32_t n);
/* ... another letter of the specification in the place of the one whose size is not that of the
 * operand's axis `at` (infer/repair_letters.c). */
void suggest_swap(Blame *b, ConId con, uint32_t at);

/* ---- blame_guard.c ---- */

/* Where the other size of the guard comes from, and its repair. */
void explain_meeting(Blame *b, const Guard *g);

#endif
