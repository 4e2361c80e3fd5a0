/* Graphs with known shapes, written by hand in a few characters, for the tests of projections.
 *
 *   NodeId x = small_leaf(&s, "n | 28, 1");
 *   NodeId y = small_spec(&s, NODE_SPEC, "b | i => b | 0", "n | 1", 1, (NodeId[]){x});
 *
 * Shapes: batch | input -> output; an axis is NUMBER, [NUMBER*]DIM[+NUMBER], label:SIZE, or ~1 (a
 * broadcasting 1). Specifications are the language's own, with commas and no spaces within an axis.
 */
#ifndef TSR_TEST_SMALL_GRAPH_H
#define TSR_TEST_SMALL_GRAPH_H

#include "infer/infer.h"

enum { SMALL_NODES = 64 };

typedef struct Small {
	Arena *arena;
	Symbols *symbols;
	Sources sources;
	Diags diags;
	Graph graph;
	Inference inference;
	Shape shapes[SMALL_NODES];
	Proj *projs[SMALL_NODES];
	Margins *margins[SMALL_NODES];
	LetterSizes letters[SMALL_NODES];
} Small;

void small_init(Small *s);
void small_free(Small *s);
/* The same as the setup and teardown of a cmocka test, with one Small as its state. */
int small_setup(void **state);
int small_teardown(void **state);
Size small_size(Small *s, const char *text);
Shape small_shape(Small *s, const char *text);
const Spec *small_parse_spec(Small *s, const char *text);
NodeId small_leaf(Small *s, const char *shape);
NodeId small_op(Small *s, NodeKind kind, const char *shape, uint32_t nargs, const NodeId *args);
NodeId small_spec(Small *s, NodeKind kind, const char *spec, const char *shape, uint32_t nargs,
                  const NodeId *args);
void small_letter(Small *s, NodeId id, const char *letter, const char *size);
void small_guard(Small *s, GuardKind kind, const char *a, const char *b);
/* Derives the node's projection and keeps it in the inference; NULL after an error. */
Proj *small_derive(Small *s, NodeId id);
/* The dump of all projections. */
const char *small_dump(Small *s);

#endif
