/* Constraints from short texts, for test_infer_*.c. A test runs its constraints in every order of a
 * handful of seeds; all must agree. */
#ifndef TSR_TEST_INFER_FIXTURE_H
#define TSR_TEST_INFER_FIXTURE_H

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "infer/text.h"

enum { TENSORS = 8, RESULT = 0, LEAF = 1, PARAMETER = 2 };

typedef struct Set {
	Arena *arena;
	Symbols *symbols;
	Sources sources;
	Diags diags;
	Graph graph;
	Solver *s;
	CellId letters[128];
	RowVarId vars[128];
	uint32_t ntensors;
} Set;

Set *set_new(void);
void set_free(Set *t);
/* A number, or a letter: one size per letter. */
CellId set_cell(Set *t, const char *word);
RowTerm set_row(Set *t, const char *text);
void set_tensor(Set *t, const char *text, int kind);
void set_equal(Set *t, const char *a, const char *b);
void set_refines(Set *t, const char *res, const char *opnd);
/* A relation of a kind between sizes: "w a b". */
void set_relation(Set *t, ConKind kind, const char *words, const SpecAxis *axis);
void set_solve(Set *t);
void expect_error(Set *t, DiagCode code);
void expect_row(Set *t, const char *text, const char *want);
void expect_size(Set *t, const char *letter, const char *want);

#endif
