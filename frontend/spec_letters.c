/* Which letters a specification has. */
#include "frontend/build.h"
#include "frontend/specs.h"

enum { LETTERS_SHOWN = 24 };

/* PLACE: of `0 + place`, whose letter is written nowhere. */
typedef enum LetterKind { LETTER_AXIS, LETTER_ROW, LETTER_PLACE } LetterKind;

typedef void VisitLetter(void *state, Sym letter, LetterKind kind);

static void visit_axis(const SpecAxis *axis, VisitLetter *visit, void *state)
{
	if (axis->kind == SPEC_LETTER || axis->kind == SPEC_AFFINE)
		visit(state, axis->letter, axis->one ? LETTER_PLACE : LETTER_AXIS);
	if (axis->kind == SPEC_AFFINE && axis->kernel)
		visit(state, axis->kernel, LETTER_AXIS);
	for (uint32_t i = 0; i < axis->nparts; i++) {
		if (axis->parts[i].letter)
			visit(state, axis->parts[i].letter, LETTER_AXIS);
	}
}

static void visit_tensor(const SpecTensor *tensor, VisitLetter *visit, void *state)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const SpecRow *row = &tensor->rows[kind];
		if (row->var_at >= 0)
			visit(state, row->var, LETTER_ROW);
		for (uint32_t i = 0; i < row->naxes; i++)
			visit_axis(&row->axes[i], visit, state);
	}
}

static void visit_spec(const Spec *spec, VisitLetter *visit, void *state)
{
	for (uint32_t i = 0; i < spec->noperands; i++)
		visit_tensor(&spec->operands[i], visit, state);
	visit_tensor(&spec->result, visit, state);
}

typedef struct LetterCount {
	Sym letter;
	uint32_t n;
} LetterCount;

static void count_letter(void *state, Sym letter, LetterKind kind)
{
	LetterCount *count = state;
	(void)kind;
	count->n += letter == count->letter;
}

static void count_written(void *state, Sym letter, LetterKind kind)
{
	if (kind != LETTER_PLACE)
		count_letter(state, letter, kind);
}

bool spec_has_letter(const Spec *spec, Sym letter)
{
	LetterCount count = {.letter = letter};
	visit_spec(spec, count_written, &count);
	return count.n > 0;
}

uint32_t spec_tensor_count(const SpecTensor *tensor, Sym letter)
{
	LetterCount count = {.letter = letter};
	visit_tensor(tensor, count_letter, &count);
	return count.n;
}

static void list_letter(void *state, Sym letter, LetterKind kind)
{
	SpecLetters *list = state;
	if (kind == LETTER_PLACE)
		return;
	for (size_t i = 0; i < list->names.n; i++) {
		if (list->names.at[i] == letter)
			return;
	}
	if (list->names.n == LETTERS_SHOWN)
		return;
	PUSH(list->arena, list->names, letter);
	PUSH(list->arena, list->rows, kind == LETTER_ROW);
}

const char *spec_letters(Build *b, const Spec *spec)
{
	SpecLetters list = {.arena = b->arena};
	const char *text = "";
	visit_spec(spec, list_letter, &list);
	for (size_t i = 0; i < list.names.n; i++) {
		const char *before = i == 0 ? "" : i + 1 == list.names.n ? " and " : ", ";
		text = arena_printf(b->arena, list.rows.at[i] ? "%s%s..%s.." : "%s%s'%s'", text,
				    before, list.names.at[i]);
	}
	return text;
}

Sym spec_nearest_letter(Build *b, const With *with, Sym letter)
{
	SpecLetters list = {.arena = b->arena};
	for (size_t i = 0; i < with->nodes.n && i < 4; i++)
		visit_spec(graph_node(b->graph, with->nodes.at[i])->spec, list_letter, &list);
	return name_nearest(letter, list.names.at, (uint32_t)list.names.n);
}

bool spec_operands_have(const Spec *spec, Sym letter)
{
	LetterCount count = {.letter = letter};
	for (uint32_t i = 0; i < spec->noperands; i++)
		visit_tensor(&spec->operands[i], count_letter, &count);
	return count.n > 0;
}

SpecLetters spec_tensor_letters(Arena *arena, const SpecTensor *tensor)
{
	SpecLetters list = {.arena = arena};
	visit_tensor(tensor, list_letter, &list);
	return list;
}
