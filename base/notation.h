/* What the syntax tree and the tensor graph both call by name: rows, axes, requirements. */
#ifndef TSR_BASE_NOTATION_H
#define TSR_BASE_NOTATION_H

typedef enum RowKind { ROW_BATCH, ROW_INPUT, ROW_OUTPUT, ROW_KINDS } RowKind;

/* How a window meets the edges: none is written, `<+`, `<+?`, `=+`, `=+?`. */
typedef enum SpecMark { MARK_NONE, MARK_VALID, MARK_VALID_FLOOR, MARK_PADDED, MARK_PADDED_CEIL } SpecMark;

typedef enum SpecAxisKind {
	SPEC_LETTER,	  /* i               name = letter */
	SPEC_INDEX,	  /* 3               number */
	SPEC_PLACEHOLDER, /* _ */
	SPEC_AFFINE,	  /* stride*over MARK offset + dilation*kernel */
	SPEC_CONCAT,	  /* a^b^3           parts */
	SPEC_JOIN	  /* (a b), a&b      parts: letters; row-major */
} SpecAxisKind;

typedef enum RequireOp { REQUIRE_EQ, REQUIRE_GE, REQUIRE_DIVIDES } RequireOp;

/* What becomes of an index that is read and lies outside its axis: a check refuses it before anything is
 * written, the nearest one is taken, the step is left out, or the index goes round. */
typedef enum IndexMode { INDEX_CHECKED, INDEX_CLAMPED, INDEX_SKIPPED, INDEX_WRAPPED } IndexMode;

#endif
