/* The exported table (runtime/tsr.h: tsr_module) as data without a syntax: objects made of words,
 * texts and pointers, each object after those it points to. One printer makes assembly of it, one
 * C. */
#ifndef TSR_CODEGEN_TABLE_H
#define TSR_CODEGEN_TABLE_H

#include "codegen/module.h"

typedef enum CellKind {
	CELL_I32,
	CELL_I64,
	CELL_TEXT, /* a string */
	CELL_NULL,
	CELL_OBJECT, /* the address of an object of the table */
	CELL_SYMBOL, /* the address of a function */
	CELL_OPEN,   /* the braces of a struct */
	CELL_CLOSE
} CellKind;

typedef struct Cell {
	CellKind kind;
	int64_t number;
	const char *text;
} Cell;

typedef struct TableObject {
	const char *type, *name; /* of an array's elements, unless it is the module itself */
	VEC(Cell) cells;
	bool pointers; /* has cells that are addresses */
} TableObject;

typedef struct Table {
	Arena *arena;
	VEC(TableObject *) objects; /* the last is the module */
} Table;

/* features: say which CPU features the code needs; C code needs none that its compiler does not
 * choose. */
Table *table_new(const Module *module, bool features);
void table_asm(FILE *out, const Table *table);
void table_c(FILE *out, const Table *table);

#endif
