/* Sizes as C. A short one is an expression over the dims' names. A long sum is a call of a function
 * that runs its postfix program, which is data: expressions of thousands of terms nest too deeply for
 * compilers, and take them minutes. A running total is a variable of the function that it stands in.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/held.h"
#include "base/size_program.h"
#include "codegen/c_text.h"

enum { MANY_OPS = 64 }; /* of one size */

static const char runner[] =
	"/* Runs a size's program: a number or TSR_NONE. */\n"
	"static int64_t tsr_size_of(const int64_t *program, int64_t n, const int64_t *dims)\n{\n"
	"\tint64_t stack[%d];\n\tint top = 0;\n"
	"\tfor (int64_t i = 0; i < n; i += 2) {\n"
	"\t\tif (program[i] <= %d) {\n"
	"\t\t\tstack[top++] = program[i] == %d ? dims[program[i + 1]] : program[i + 1];\n"
	"\t\t\tcontinue;\n\t\t}\n"
	"\t\tint64_t b = stack[--top], *a = &stack[top - 1];\n"
	"\t\tswitch (program[i]) {\n"
	"\t\tcase %d: *a = tsr_add_checked(*a, b); break;\n"
	"\t\tcase %d: *a = tsr_sub_checked(*a, b); break;\n"
	"\t\tcase %d: *a = tsr_mul_checked(*a, b); break;\n"
	"\t\tcase %d: *a = tsr_div_checked(*a, b); break;\n"
	"\t\tdefault: *a = tsr_floor_checked(*a, b);\n"
	"\t\t}\n\t}\n\treturn stack[0];\n}\n\n";

static const char *expression(const Module *m, const SizeOp *ops, size_t n)
{
	static const char *const formats[] = {
		[SIZE_ADD] = "(%s + %s)",
		[SIZE_SUB] = "(%s - %s)",
		[SIZE_MUL] = "%s * %s",
		[SIZE_DIV] = "tsr_floor_div(%s, %s)",
		[SIZE_FLOOR] = "tsr_floor_div(%s, %s)",
	};
	size_t top = 0;
	const char **stack = ARENA_ARRAY(m->arena, const char *, n);
	for (size_t i = 0; i < n; i++) {
		if (ops[i].code == SIZE_CONST) {
			const char *format = ops[i].arg < 0 ? "(%lld)" : "%lld";
			stack[top++] = arena_printf(m->arena, format, (long long)ops[i].arg);
		} else if (ops[i].code == SIZE_DIM) {
			stack[top++] = m->dims[ops[i].arg];
		} else {
			top--;
			stack[top - 1] = arena_printf(m->arena, formats[ops[i].code],
						      stack[top - 1], stack[top]);
		}
	}
	REQUIRE(top == 1);
	return stack[0];
}

static const char *checked_expression(const Module *m, const SizeOp *ops, size_t n)
{
	static const char *const names[] = {[SIZE_ADD] = "add",
					    [SIZE_SUB] = "sub",
					    [SIZE_MUL] = "mul",
					    [SIZE_DIV] = "div",
					    [SIZE_FLOOR] = "floor"};
	size_t top = 0;
	const char **stack = ARENA_ARRAY(m->arena, const char *, n);
	for (size_t i = 0; i < n; i++)
		if (ops[i].code == SIZE_CONST) {
			stack[top++] =
				arena_printf(m->arena, "INT64_C(%lld)", (long long)ops[i].arg);
		} else if (ops[i].code == SIZE_DIM) {
			stack[top++] = m->dims[ops[i].arg];
		} else {
			top--;
			stack[top - 1] =
				arena_printf(m->arena, "tsr_%s_checked(%s, %s)", names[ops[i].code],
					     stack[top - 1], stack[top]);
		}
	REQUIRE(top == 1);
	return stack[0];
}

/* ---- long sums ---- */

/* The number of the size in the list, to which it is added; *is_new: it was not there. */
static size_t number_of(const Module *m, CSizeList *list, Size size, bool *is_new)
{
	size_t at = 0;
	while (at < list->n && !size_same(list->at[at], size))
		at++;
	*is_new = at == list->n;
	if (*is_new)
		PUSH(m->arena, *list, size);
	return at;
}

/* The dims that the size uses, `before` each; their number. */
static uint32_t put_dims(FILE *out, const Module *m, Size size, const char *before)
{
	uint32_t ndims = sizes_ndims(m->program->sizes), n = 0;
	bool *uses = ARENA_ARRAY(m->arena, bool, ndims + 1);
	size_note_dims(m->program->sizes, size, uses);
	for (DimId d = 0; d < ndims; d++)
		if (uses[d])
			fprintf(out, "%s%s%s", n++ ? ", " : "", before, m->dims[d]);
	return n;
}

static const char *call_text(const Module *m, Size size)
{
	bool is_new;
	size_t number = number_of(m, &m->c_sizes->functions, size, &is_new);
	Text text = text_new();
	fprintf(text.out, "tsr_size_%zu(", number);
	put_dims(text.out, m, size, "");
	fputc(')', text.out);
	return text_take(text, m->arena, NULL);
}

void c_put_size_declarations(FILE *out, const Module *m)
{
	const CSizeList *functions = &m->c_sizes->functions;
	for (size_t i = 0; i < functions->n; i++) {
		fprintf(out, "static int64_t tsr_size_%zu(", i);
		put_dims(out, m, functions->at[i], "int64_t ");
		fprintf(out, ");\n%s", i + 1 == functions->n ? "\n" : "");
	}
}

static void put_function(FILE *out, const Module *m, size_t number)
{
	Size size = m->c_sizes->functions.at[number];
	SizeOp *ops = NULL;
	size_t n = size_program(m->arena, m->program->sizes, size, &ops);
	uint32_t ndims = sizes_ndims(m->program->sizes), at = 0;
	uint32_t *place = ARENA_ARRAY(m->arena, uint32_t, ndims + 1);
	bool *uses = ARENA_ARRAY(m->arena, bool, ndims + 1);
	size_note_dims(m->program->sizes, size, uses);
	for (DimId d = 0; d < ndims; d++)
		place[d] = uses[d] ? at++ : 0;
	fprintf(out, "static int64_t tsr_size_%zu(", number);
	put_dims(out, m, size, "int64_t ");
	fprintf(out, ")\n{\n\tstatic const int64_t program[] = {");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%d, %" PRId64 ",", i % 8 ? " " : "\n\t\t", (int)ops[i].code,
			ops[i].code == SIZE_DIM ? place[ops[i].arg] : ops[i].arg);
	fprintf(out, "\n\t};\n\tconst int64_t dims[] = {");
	put_dims(out, m, size, "");
	fprintf(out, "};\n\treturn tsr_size_of(program, %zu, dims);\n}\n\n", 2 * n);
}

void c_put_sizes(FILE *out, const Module *m)
{
	if (m->c_sizes->functions.n)
		fprintf(out, runner, SIZE_STACK, SIZE_DIM, SIZE_DIM, SIZE_ADD, SIZE_SUB, SIZE_MUL,
			SIZE_DIV);
	for (size_t i = 0; i < m->c_sizes->functions.n; i++)
		put_function(out, m, i);
}

/* ---- running totals ---- */

void c_begin_totals(const Module *m)
{
	m->c_sizes->totals.n = 0;
}

/* From the first that is not declared on. */
void c_put_totals(FILE *out, const Module *m, Size size)
{
	const Sizes *sizes = m->program->sizes;
	Size before, added;
	CSizeList *declared = &m->c_sizes->totals, missing = {0};
	bool is_new = true;
	while (is_new && size_is_total(sizes, size, &before, &added)) {
		size_t at = 0;
		while (at < declared->n && !size_same(declared->at[at], size))
			at++;
		is_new = at == declared->n;
		if (is_new)
			PUSH(m->arena, missing, size);
		size = before;
	}
	for (size_t i = missing.n; i-- > 0;) {
		size_is_total(sizes, missing.at[i], &before, &added);
		const char *from = c_checked_size(m, before), *more = c_checked_size(m, added);
		fprintf(out, "\tconst int64_t tsr_total_%zu = tsr_add_checked(%s, %s);\n",
			number_of(m, declared, missing.at[i], &is_new), from, more);
	}
}

/* ---- one size ---- */

static const char *size_words(const Module *m, Size size, bool checked)
{
	Size before, added;
	SizeOp *ops = NULL;
	bool is_new = false;
	if (size_is_total(m->program->sizes, size, &before, &added)) {
		size_t number = number_of(m, &m->c_sizes->totals, size, &is_new);
		REQUIRE(!is_new);
		return arena_printf(m->arena, "tsr_total_%zu", number);
	}
	size_t n = size_program(m->arena, m->program->sizes, size, &ops);
	if (n >= MANY_OPS)
		return call_text(m, size);
	return checked ? checked_expression(m, ops, n) : expression(m, ops, n);
}

const char *c_size(const Module *m, Size size)
{
	return size_words(m, size, false);
}

const char *c_checked_size(const Module *m, Size size)
{
	return size_words(m, size, true);
}
