/* What inference found and how, as text. */
#ifndef TSR_INFER_DUMP_H
#define TSR_INFER_DUMP_H

#include "infer/infer.h"

/* As docs/ir.md says. */
void infer_dump_shapes(FILE *out, const Inference *inference); /* NAME : DTYPE SHAPE */
void infer_dump_proj(FILE *out, const Inference *inference);
/* A node's name; where it has none its number. */
void infer_dump_name(FILE *out, const Graph *graph, NodeId id);
void infer_dump_guards(FILE *out, const Inference *inference);
/* Constraints as generated; the stage-by-stage solution with the rules that fired. */
void infer_dump_constraints(FILE *out, const Inference *inference);
void infer_dump_stage(FILE *out, const Inference *inference, int stage);

/* The tensor graph with shapes, for graphviz (infer/dump_dot.c). */
void infer_dump_dot(FILE *out, const Inference *inference);
/* --explain-shape: NAME or NAME.AXIS as a tree of steps down to declarations; false: no such
 * thing. */
bool infer_explain_shape(FILE *out, const Inference *inference, const char *query);
/* --explain-closed: every size that was chosen rather than forced. */
void infer_explain_closed(FILE *out, const Inference *inference);

#endif
