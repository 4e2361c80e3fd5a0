/* The two syntaxes of the table. */
#include "codegen/table.h"

/* ---- assembly ---- */

/* A string as gas takes it: octal escapes for all but plain characters. */
static void print_ascii(FILE *out, const char *text)
{
	fputs("\t.string\t\"", out);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
			fprintf(out, "\\%03o", *p);
		else
			putc(*p, out);
	fputs("\"\n", out);
}

static void asm_cell(FILE *out, const Cell *cell, size_t *ntexts)
{
	switch (cell->kind) {
	case CELL_I32: fprintf(out, "\t.long\t%lld\n", (long long)cell->number); return;
	case CELL_I64: fprintf(out, "\t.quad\t%lld\n", (long long)cell->number); return;
	case CELL_TEXT: fprintf(out, "\t.quad\t.LT%zu\n", (*ntexts)++); return;
	case CELL_NULL: fprintf(out, "\t.quad\t0\n"); return;
	case CELL_OBJECT: fprintf(out, "\t.quad\t.L%s\n", cell->text); return;
	case CELL_SYMBOL: fprintf(out, "\t.quad\t%s\n", cell->text); return;
	case CELL_OPEN:
	case CELL_CLOSE: return;
	}
}

static void asm_texts(FILE *out, const Table *table)
{
	size_t n = 0;
	fprintf(out, "\t.section\t.rodata.str1.1,\"aMS\",@progbits,1\n");
	for (size_t i = 0; i < table->objects.n; i++) {
		const TableObject *object = table->objects.at[i];
		for (size_t c = 0; c < object->cells.n; c++)
			if (object->cells.at[c].kind == CELL_TEXT) {
				fprintf(out, ".LT%zu:\n", n++);
				print_ascii(out, object->cells.at[c].text);
			}
	}
}

/* The module's own symbol, and the name by which a loader finds it in any module. */
static void asm_open_module(FILE *out, const char *name)
{
	fprintf(out, "\t.globl\t%s\n\t.weak\ttsr_module_table\n", name);
	fprintf(out, "\t.type\t%s, @object\n\t.type\ttsr_module_table, @object\n", name);
	fprintf(out, "%s:\ntsr_module_table:\n", name);
}

void table_asm(FILE *out, const Table *table)
{
	size_t ntexts = 0;
	asm_texts(out, table);
	for (size_t i = 0; i < table->objects.n; i++) {
		const TableObject *object = table->objects.at[i];
		bool last = i + 1 == table->objects.n;
		const char *section = last		 ? ".data.rel.ro,\"aw\""
				      : object->pointers ? ".data.rel.ro.local,\"aw\""
							 : ".rodata";
		fprintf(out, "\t.section\t%s\n\t.balign\t8\n", section);
		if (last)
			asm_open_module(out, object->name);
		else /* a local label: of no interest outside */
			fprintf(out, ".L%s:\n", object->name);
		for (size_t c = 0; c < object->cells.n; c++)
			asm_cell(out, &object->cells.at[c], &ntexts);
		if (last)
			fprintf(out, "\t.size\t%s, .-%s\n\t.size\ttsr_module_table, .-%s\n",
				object->name, object->name, object->name);
	}
}

/* ---- C ---- */

static void c_cell(FILE *out, const Table *table, const Cell *cell)
{
	switch (cell->kind) {
	case CELL_I32: fprintf(out, "%lld", (long long)cell->number); return;
	case CELL_I64:
		if (cell->number == INT64_MIN)
			fprintf(out, "INT64_MIN");
		else
			fprintf(out, "INT64_C(%lld)", (long long)cell->number);
		return;
	case CELL_TEXT: fputs(c_string(table->arena, cell->text), out); return;
	case CELL_NULL: fprintf(out, "NULL"); return;
	case CELL_OBJECT:
	case CELL_SYMBOL: fputs(cell->text, out); return;
	case CELL_OPEN: putc('{', out); return;
	case CELL_CLOSE: putc('}', out); return;
	}
}

static void c_cells(FILE *out, const Table *table, const TableObject *object)
{
	int depth = 0;
	for (size_t c = 0; c < object->cells.n; c++) {
		const Cell *cell = &object->cells.at[c];
		bool after_open = c && object->cells.at[c - 1].kind == CELL_OPEN;
		if (c && !after_open && cell->kind != CELL_CLOSE)
			fputs(depth ? ", " : ",\n\t", out);
		depth += (cell->kind == CELL_OPEN) - (cell->kind == CELL_CLOSE);
		c_cell(out, table, cell);
	}
}

void table_c(FILE *out, const Table *table)
{
	for (size_t i = 0; i < table->objects.n; i++) {
		const TableObject *object = table->objects.at[i];
		bool last = i + 1 == table->objects.n;
		fprintf(out, "%sconst %s %s%s = {\n\t", last ? "" : "static ", object->type,
			object->name, last ? "" : "[]");
		c_cells(out, table, object);
		fprintf(out, "\n};\n");
		if (last)
			fprintf(out,
				"#ifdef __GNUC__\nextern const tsr_module tsr_module_table "
				"__attribute__((weak, alias(\"%s\")));\n#endif\n",
				object->name);
	}
}
