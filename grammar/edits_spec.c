/* Edits of a specification: letters that change places, signs for commas, rows and letters that are
 * missing or too many, another mark, at one window or at each. */
#include "grammar/edits.h"

#include <string.h>

enum {
	COST_SIGN = 5,
	COST_LETTER = 6,
	COST_OTHER = 8,
	UNLIKE = 4,
	ITEMS = 24,
	LETTERS = 12,
	SKIPPED = 10,
	STEPS = 4
};

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

/* An axis as written, and where. */
typedef struct Item {
	const AstSpecAxis *axis;
	uint32_t tensor; /* noperands: the result */
	RowKind row;
	uint32_t at;
} Item;

typedef struct SpecEdits {
	Edits *e;
	const AstSpec *spec;
	uint32_t far;
	Item items[ITEMS];
	uint32_t n;
} SpecEdits;

static const AstSpecTensor *tensor_at(const AstSpec *spec, uint32_t i)
{
	return i < spec->noperands ? &spec->operands[i] : &spec->result;
}

static void add(SpecEdits *s, uint32_t cost, Span span, const char *text, const char *why)
{
	edit_add(s->e, cost + s->far, span, text, why);
}

static void collect_items(SpecEdits *s)
{
	for (uint32_t t = 0; t <= s->spec->noperands; t++)
		for (RowKind k = 0; k < ROW_KINDS; k++) {
			const AstSpecRow *row = &tensor_at(s->spec, t)->rows[k];
			for (uint32_t i = 0; i < row->naxes && s->n < ITEMS; i++)
				s->items[s->n++] = (Item){&row->axes[i], t, k, i};
		}
}

static const char *between(const SpecEdits *s)
{
	return s->spec->single_letters ? "" : ", ";
}

/* ---- letters that change places ---- */

static void swaps(SpecEdits *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = i + 1; k < s->n; k++) {
			const Item *a = &s->items[i], *b = &s->items[k];
			Span x = a->axis->span, y = b->axis->span;
			const char *first = edit_text(s->e, x), *last = edit_text(s->e, y);
			if (a->tensor != b->tensor || strcmp(first, last) == 0)
				continue;
			bool unlike = a->row != b->row && a->axis->kind != b->axis->kind;
			uint32_t cost = k == i + 1 ? COST_LETTER : COST_LETTER + 1;
			add(s, unlike ? cost + UNLIKE : cost, span_join(x, y),
			    arena_printf(s->e->arena, "%s%s%s", last,
					 edit_text(s->e, edit_gap(x, y)), first),
			    arena_printf(s->e->arena, "it would fit with '%s' and '%s' swapped",
					 first, last));
		}
}

static const char *other_of(const char *text, Sym a, Sym b)
{
	return strcmp(text, a) == 0 ? b : strcmp(text, b) == 0 ? a : NULL;
}

/* The tensor's text with each of the two letters for the other. */
static const char *exchanged(const SpecEdits *s, Span span, Sym a, Sym b)
{
	const char *from = edit_text(s->e, span), *text = "";
	while (*from) {
		size_t n = strspn(from, WORD), gap = strcspn(from, WORD);
		n = n && s->spec->single_letters ? 1 : n;
		const char *word = arena_strndup(s->e->arena, from, n ? n : gap);
		const char *to = n ? other_of(word, a, b) : NULL;
		text = arena_printf(s->e->arena, "%s%s", text, to ? to : word);
		from += n ? n : gap;
	}
	return text;
}

/* Letters that stand several times in a tensor, or in windows, are exchanged everywhere in it. */
static void exchanges(SpecEdits *s, const Sym *letters, uint32_t n)
{
	for (uint32_t t = 0; t <= s->spec->noperands; t++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = i + 1; k < n; k++) {
				Span span = tensor_at(s->spec, t)->span;
				if (!span_is_none(span))
					add(s, COST_LETTER + 1, span,
					    exchanged(s, span, letters[i], letters[k]),
					    arena_printf(s->e->arena,
							 "it would fit with '%s' and '%s' swapped",
							 letters[i], letters[k]));
			}
}

/* ---- signs ---- */

static void sign_for_comma(SpecEdits *s, const Item *a, const Item *b)
{
	const AstSpecTensor *tensor = tensor_at(s->spec, a->tensor);
	Span gap = edit_gap(a->axis->span, b->axis->span);
	const char *text = edit_text(s->e, gap);
	if (strstr(text, "..")) /* a row variable stands between them */
		return;
	if (a->row == ROW_OUTPUT && !tensor->rows[ROW_INPUT].written)
		add(s, COST_SIGN + 1, gap, " -> ", "it would fit with '->' between the axes");
	if (a->row == ROW_OUTPUT && !tensor->rows[ROW_BATCH].written)
		add(s, COST_SIGN, gap, " | ", "it would fit with '|' between the axes");
	if (a->row == ROW_INPUT && !tensor->rows[ROW_BATCH].written)
		add(s, COST_SIGN, gap, " | ", "it would fit with '|' between the axes");
	if (a->tensor < s->spec->noperands)
		add(s, COST_SIGN, gap, "; ", "';' stands between operands");
	else if (s->spec->noperands > 1 && !s->spec->single_letters &&
		 a->axis->kind != SPEC_INDEX && b->axis->kind != SPEC_INDEX)
		add(s, COST_LETTER, gap, "^", "'^' joins two axes in one");
}

static bool has_batch(const SpecEdits *s)
{
	bool has = false;
	for (uint32_t t = 0; t <= s->spec->noperands; t++)
		has |= tensor_at(s->spec, t)->rows[ROW_BATCH].written;
	return has;
}

/* A sign between two rows, or operands, is a comma; '|' is '->' and the other way round. */
static void comma_for_sign(SpecEdits *s, const Item *a, const Item *b)
{
	Span gap = edit_gap(a->axis->span, b->axis->span);
	const char *text = edit_text(s->e, gap);
	if (b->tensor == s->spec->noperands && a->tensor != b->tensor) /* '=>' */
		return;
	if (strstr(text, ".."))
		return;
	add(s, COST_SIGN + 1, gap, between(s), "it would fit without that sign");
	if (a->tensor != b->tensor)
		return;
	if (strstr(text, "->") && !tensor_at(s->spec, a->tensor)->rows[ROW_BATCH].written)
		add(s, has_batch(s) ? COST_SIGN - 1 : COST_OTHER, gap, " | ",
		    "it would fit with '|' for '->'");
	if (strstr(text, "|") && !tensor_at(s->spec, a->tensor)->rows[ROW_INPUT].written)
		add(s, COST_OTHER, gap, " -> ", "it would fit with '->' for '|'");
}

/* "s, h | d" for "s | h, d", and the other way round: of the items from `a` on the sign goes from
 * one side of the second to the other. */
static void move_sign(SpecEdits *s, const Item *a)
{
	const Item *moved = a + 1, *b = a + 2;
	Span axis = moved->axis->span, all = span_join(a->axis->span, b->axis->span);
	const char *before = edit_text(s->e, edit_gap(a->axis->span, axis));
	const char *behind = edit_text(s->e, edit_gap(axis, b->axis->span));
	bool one = (a->row == moved->row) != (moved->row == b->row);
	if (!one || a->tensor != b->tensor || strstr(before, "..") || strstr(behind, ".."))
		return;
	add(s, COST_SIGN, all,
	    arena_printf(s->e->arena, "%s%s%s%s%s", edit_text(s->e, a->axis->span), behind,
			 edit_text(s->e, axis), before, edit_text(s->e, b->axis->span)),
	    arena_printf(s->e->arena, "it would fit with '%s' on the other side",
			 edit_text(s->e, axis)));
}

static void signs(SpecEdits *s)
{
	for (uint32_t i = 0; i + 1 < s->n; i++) {
		const Item *a = &s->items[i], *b = &s->items[i + 1];
		if (a->tensor == b->tensor && a->row == b->row)
			sign_for_comma(s, a, b);
		else
			comma_for_sign(s, a, b);
		if (i + 2 < s->n)
			move_sign(s, a);
	}
}

/* ---- rows that are not written ---- */

static Span start_of(const AstSpecTensor *tensor)
{
	return (Span){tensor->span.file, tensor->span.start, tensor->span.start};
}

static bool lacks(const AstSpecTensor *tensor, RowKind row)
{
	return !span_is_none(tensor->span) && !tensor->rows[row].written &&
	       (row == ROW_BATCH || !tensor->rows[ROW_BATCH].written);
}

/* `... | ` at every operand and the result that have no such row. */
static void rest_everywhere(SpecEdits *s, RowKind row, const char *rest)
{
	const AstSpec *spec = s->spec;
	Span whole = spec->span;
	const char *text = "";
	uint32_t done = whole.start, n = 0;
	for (uint32_t t = 0; t <= spec->noperands; t++) {
		if (!lacks(tensor_at(spec, t), row))
			continue;
		Span at = start_of(tensor_at(spec, t));
		text = arena_printf(s->e->arena, "%s%s%s", text,
				    edit_text(s->e, (Span){whole.file, done, at.start}), rest);
		done = at.start;
		n++;
	}
	if (n > 1)
		add(s, COST_LETTER + (row != ROW_BATCH), whole,
		    arena_printf(s->e->arena, "%s%s", text,
				 edit_text(s->e, (Span){whole.file, done, whole.end})),
		    "a row that is not written is empty; '...' stands for any axes");
}

static void rests(SpecEdits *s)
{
	static const char *const rest[] = {"... | ", "... -> "};
	for (RowKind row = ROW_BATCH; row <= ROW_INPUT; row++) {
		rest_everywhere(s, row, rest[row]);
		for (uint32_t t = 0; t <= s->spec->noperands; t++)
			if (lacks(tensor_at(s->spec, t), row))
				add(s, COST_LETTER + 1, start_of(tensor_at(s->spec, t)), rest[row],
				    "a row that is not written is empty; '...' stands for any axes");
	}
}

/* ---- letters that are missing, too many, or others ---- */

static bool axis_has(const AstSpecAxis *axis, Sym letter)
{
	bool has = axis->name.sym == letter || axis->kernel.sym == letter;
	for (uint32_t k = 0; k < axis->nparts; k++)
		has |= axis->parts[k].letter.sym == letter;
	return has;
}

static bool has_letter(const SpecEdits *s, uint32_t tensor, Sym letter)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->items[i].tensor == tensor && axis_has(s->items[i].axis, letter))
			return true;
	return false;
}

static uint32_t add_letter(Sym *letters, uint32_t n, Sym letter)
{
	for (uint32_t i = 0; i < n && letter; i++)
		if (letters[i] == letter)
			return n;
	if (letter && n < LETTERS)
		letters[n++] = letter;
	return n;
}

static uint32_t letters_of(const SpecEdits *s, Sym *letters)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const AstSpecAxis *axis = s->items[i].axis;
		n = add_letter(letters, n, axis->name.sym);
		n = add_letter(letters, n, axis->kernel.sym);
		for (uint32_t k = 0; k < axis->nparts; k++)
			n = add_letter(letters, n, axis->parts[k].letter.sym);
	}
	return n;
}

static void insert(SpecEdits *s, uint32_t cost, uint32_t at, const char *letter, bool before)
{
	Span span = {s->spec->span.file, at, at};
	const char *sep = between(s);
	add(s, cost, span, arena_printf(s->e->arena, before ? "%s%s" : "%2$s%1$s", letter, sep),
	    arena_printf(s->e->arena, "it would fit with '%s' here", letter));
}

/* A letter of row `row` of an operand, into the same row of another tensor. */
static void insert_letter(SpecEdits *s, uint32_t tensor, RowKind row, Sym letter)
{
	const AstSpecTensor *to = tensor_at(s->spec, tensor);
	const AstSpecRow *axes = &to->rows[row];
	uint32_t cost = tensor == s->spec->noperands ? COST_LETTER : COST_OTHER;
	if (span_is_none(to->span))
		return;
	if (!axes->written && row == ROW_BATCH)
		add(s, cost, start_of(to), arena_printf(s->e->arena, "%s | ", letter),
		    arena_printf(s->e->arena, "it would fit with '%s' here", letter));
	if (!axes->written || axes->naxes == 0)
		return;
	for (uint32_t i = 0; i < axes->naxes; i++) {
		Span axis = axes->axes[i].span;
		insert(s, cost, axis.start, letter, true);
		if (tensor == s->spec->noperands && !s->spec->single_letters &&
		    axes->axes[i].kind != SPEC_INDEX)
			add(s, COST_LETTER + 1, (Span){axis.file, axis.end, axis.end},
			    arena_printf(s->e->arena, "^%s", letter), "'^' joins two axes in one");
	}
	insert(s, cost, axes->axes[axes->naxes - 1].span.end, letter, false);
}

static void insertions(SpecEdits *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const Item *item = &s->items[i];
		Sym letter = item->axis->name.sym;
		for (uint32_t t = 0; letter && t <= s->spec->noperands; t++)
			if (t != item->tensor && !has_letter(s, t, letter))
				insert_letter(s, t, item->row, letter);
	}
}

/* A text in place of a part of the specification. */
typedef struct Cut {
	Span span;
	const char *text;
} Cut;

/* The specification with both, of which `a` stands first. */
static const char *with_both(const SpecEdits *s, Cut a, Cut b)
{
	Span whole = s->spec->span;
	const char *first = edit_text(s->e, (Span){whole.file, whole.start, a.span.start});
	const char *middle = edit_text(s->e, (Span){whole.file, a.span.end, b.span.start});
	const char *last = edit_text(s->e, (Span){whole.file, b.span.end, whole.end});
	return arena_printf(s->e->arena, "%s%s%s%s%s", first, a.text, middle, b.text, last);
}

/* A letter before the row's axes, or behind them. */
static Cut beside(const SpecEdits *s, const AstSpecRow *row, const char *letter, bool before)
{
	Span end = before ? row->axes[0].span : row->axes[row->naxes - 1].span;
	uint32_t at = before ? end.start : end.end;
	return (Cut){{end.file, at, at},
		     arena_printf(s->e->arena, before ? "%s%s" : "%2$s%1$s", letter, between(s))};
}

/* A letter that the specification lacks, in the operand and in the result. */
static void insert_in_both(SpecEdits *s, const Sym *letters, uint32_t n)
{
	char letter[2] = "a";
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(letters[i], letter) == 0 && *letter < 'z') {
			++*letter;
			i = UINT32_MAX; /* from the first again */
		}
	const AstSpec *spec = s->spec;
	for (RowKind row = ROW_BATCH; row < ROW_KINDS && spec->noperands == 1; row++) {
		const AstSpecRow *from = &spec->operands[0].rows[row],
				 *to = &spec->result.rows[row];
		for (int before = 1; before >= 0 && from->naxes && to->naxes; before--)
			add(s, COST_LETTER, spec->span,
			    with_both(s, beside(s, from, letter, before),
				      beside(s, to, letter, before)),
			    arena_printf(s->e->arena, "it would fit with '%s' on both sides",
					 letter));
	}
}

/* The batch row of a tensor with its bar; none: it has none. */
static Span batch_row(const SpecEdits *s, const AstSpecTensor *tensor)
{
	const AstSpecRow *row = &tensor->rows[ROW_BATCH];
	if (row->naxes == 0 || row->var_at >= 0)
		return SPAN_NONE;
	Span span = {tensor->span.file, row->axes[0].span.start,
		     row->axes[row->naxes - 1].span.end};
	const char *text = edit_text(s->e, (Span){span.file, span.end, s->spec->span.end});
	size_t bar = strcspn(text, "|");
	if (text[bar] != '|')
		return SPAN_NONE;
	bar++;
	bar += strspn(text + bar, " ");
	return (Span){span.file, span.start, span.end + (uint32_t)bar};
}

/* Of one operand, which has no batch axes: a specification without them. */
static void without_batch(SpecEdits *s)
{
	const AstSpec *spec = s->spec;
	Span from = spec->noperands == 1 ? batch_row(s, &spec->operands[0]) : SPAN_NONE,
	     to = batch_row(s, &spec->result);
	if (!span_is_none(from) && !span_is_none(to))
		add(s, COST_OTHER + 2, spec->span, with_both(s, (Cut){from, ""}, (Cut){to, ""}),
		    "it would fit without batch axes");
}

/* The axis with the comma behind it, or before it where it is the last. */
static Span with_comma(const SpecEdits *s, const Item *item)
{
	const AstSpecRow *row = &tensor_at(s->spec, item->tensor)->rows[item->row];
	Span span = item->axis->span;
	if (item->at + 1 < row->naxes)
		span.end = row->axes[item->at + 1].span.start;
	else if (item->at > 0)
		span.start = row->axes[item->at - 1].span.end;
	return span;
}

/* Another letter of the specification, or one that the message names. */
static void renames(SpecEdits *s, Name name, const Sym *letters, uint32_t n)
{
	for (uint32_t i = 0; name.sym && i < n + s->e->nnames; i++) {
		const char *to = i < n ? letters[i] : s->e->names[i - n];
		if (strcmp(to, name.sym) != 0)
			add(s, COST_OTHER, name.span, to,
			    arena_printf(s->e->arena, "it would fit with '%s' for '%s'", to,
					 name.sym));
	}
}

static bool has_parts(const SpecEdits *s)
{
	bool has = false;
	for (uint32_t i = 0; i < s->n; i++)
		has |= s->items[i].axis->kind == SPEC_CONCAT;
	return has;
}

static void skip(SpecEdits *s, Span axis, uint32_t n)
{
	const char *letter = edit_text(s->e, axis);
	add(s, COST_SIGN, axis, arena_printf(s->e->arena, "%s^%u", letter, n),
	    arena_printf(s->e->arena, "it would fit without the last %u of '%s'", n, letter));
	add(s, COST_SIGN, axis, arena_printf(s->e->arena, "%u^%s", n, letter),
	    arena_printf(s->e->arena, "it would fit without the first %u of '%s'", n, letter));
}

/* Elements at an end that are left out, as a size of the message or another axis does. */
static void skips(SpecEdits *s, const Item *item)
{
	if (!s->e->differs || item->axis->kind != SPEC_LETTER || item->tensor == s->spec->noperands)
		return;
	for (uint32_t n = 1; n < SKIPPED; n++)
		if (s->e->differences >> n & 1 || (n == 1 && has_parts(s)))
			skip(s, item->axis->span, n);
}

/* Without this one the letter would be alone there, and mean another thing. */
static bool stands_elsewhere(const SpecEdits *s, const Item *item)
{
	bool found = false;
	for (uint32_t i = 0; i < s->n; i++)
		found |= &s->items[i] != item && item->axis->name.sym &&
			 s->items[i].axis->name.sym == item->axis->name.sym;
	return found;
}

static void others(SpecEdits *s, const Item *item, const Sym *letters, uint32_t n)
{
	Name name = item->axis->name;
	renames(s, name, letters, n);
	renames(s, item->axis->kernel, letters, n);
	for (uint32_t i = 0; i < item->axis->nparts; i++)
		renames(s, item->axis->parts[i].letter, letters, n);
	Span span = with_comma(s, item);
	if (span.end - span.start > item->axis->span.end - item->axis->span.start &&
	    !strstr(edit_text(s->e, span), ".."))
		add(s, COST_OTHER + 1 + stands_elsewhere(s, item), span, "",
		    arena_printf(s->e->arena, "it would fit without '%s'",
				 edit_text(s->e, item->axis->span)));
	if (item->tensor == s->spec->noperands && name.sym)
		add(s, COST_OTHER, item->axis->span, "0",
		    "0 keeps the place of an axis that is reduced");
}

static const char *const mark_text[] = {"+", "<+", "<+?", "=+", "=+?"};
static const SpecMark rounding[] = {MARK_NONE, MARK_VALID_FLOOR, MARK_VALID, MARK_PADDED_CEIL,
				    MARK_PADDED};
static const SpecMark padding[] = {MARK_NONE, MARK_PADDED, MARK_PADDED_CEIL, MARK_VALID,
				   MARK_VALID_FLOOR};

static bool has_mark(const AstSpecAxis *axis)
{
	return axis->kind == SPEC_AFFINE && axis->mark != MARK_NONE;
}

/* A window without a mark has that of the others. */
static void mark_as_others(SpecEdits *s, const AstSpecAxis *axis)
{
	for (uint32_t i = 0; i < s->n && axis->kernel.sym; i++)
		if (has_mark(s->items[i].axis)) {
			const char *mark = mark_text[s->items[i].axis->mark];
			add(s, COST_SIGN - 1, axis->mark_span, mark,
			    arena_printf(s->e->arena, "it would fit with '%s', as the others",
					 mark));
		}
}

static void marks(SpecEdits *s, const AstSpecAxis *axis)
{
	if (axis->kind == SPEC_AFFINE && axis->mark == MARK_NONE)
		mark_as_others(s, axis);
	if (!has_mark(axis))
		return;
	add(s, COST_SIGN, axis->mark_span, mark_text[rounding[axis->mark]],
	    arena_printf(s->e->arena, "it would fit with '%s'", mark_text[rounding[axis->mark]]));
	add(s, COST_OTHER, axis->mark_span, mark_text[padding[axis->mark]],
	    arena_printf(s->e->arena, "it would fit with '%s'", mark_text[padding[axis->mark]]));
}

/* ---- strides ---- */

static void stride(SpecEdits *s, const AstSpecAxis *axis, uint32_t cost, const char *text)
{
	bool written = axis->stride.written;
	Span at = written ? axis->stride.span
			  : (Span){axis->span.file, axis->span.start, axis->span.start};
	add(s, cost, at, written ? text : arena_printf(s->e->arena, "%s*", text),
	    arena_printf(s->e->arena, "it would fit with steps of %s", text));
}

/* Steps as those along other axes, of another number, and none. */
static void strides(SpecEdits *s, const Item *item)
{
	const AstSpecAxis *axis = item->axis;
	if (axis->kind != SPEC_AFFINE && axis->kind != SPEC_LETTER)
		return;
	uint32_t cost = axis->stride.written ? COST_SIGN : COST_LETTER;
	for (uint32_t i = 0; i < s->n; i++) {
		const AstSpecAxis *other = s->items[i].axis;
		if (other != axis && other->stride.written)
			stride(s, axis, cost - 1, edit_text(s->e, other->stride.span));
	}
	for (int n = 2; n <= STEPS; n++)
		if (axis->kind == SPEC_AFFINE)
			stride(s, axis, cost + 1, arena_printf(s->e->arena, "%d", n));
	if (axis->stride.written)
		add(s, COST_LETTER + 1,
		    (Span){axis->span.file, axis->stride.span.start, axis->name.span.start}, "",
		    "it would fit with steps of 1");
}

/* Windows along several axes have one mark as a rule. */
static void marks_everywhere(SpecEdits *s, const SpecMark *to)
{
	Span whole = s->spec->span;
	const char *text = "", *mark = "";
	uint32_t done = whole.start, n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const AstSpecAxis *axis = s->items[i].axis;
		if (!has_mark(axis) || axis->mark_span.start < done)
			continue;
		mark = mark_text[to[axis->mark]];
		text = arena_printf(
			s->e->arena, "%s%s%s", text,
			edit_text(s->e, (Span){whole.file, done, axis->mark_span.start}), mark);
		done = axis->mark_span.end;
		n++;
	}
	if (n > 1)
		add(s, COST_SIGN + 1, whole,
		    arena_printf(s->e->arena, "%s%s", text,
				 edit_text(s->e, (Span){whole.file, done, whole.end})),
		    arena_printf(s->e->arena, "it would fit with '%s' at each window", mark));
}

void edits_of_spec(Edits *e, const AstSpec *spec, uint32_t far)
{
	SpecEdits s = {.e = e, .spec = spec, .far = far};
	Sym letters[LETTERS];
	if (spec->broken)
		return;
	collect_items(&s);
	uint32_t n = letters_of(&s, letters);
	swaps(&s);
	exchanges(&s, letters, n);
	signs(&s);
	rests(&s);
	insertions(&s);
	insert_in_both(&s, letters, n);
	without_batch(&s);
	edits_of_letters(e, spec, far);
	marks_everywhere(&s, rounding);
	marks_everywhere(&s, padding);
	for (uint32_t i = 0; i < s.n; i++) {
		others(&s, &s.items[i], letters, n);
		marks(&s, s.items[i].axis);
		strides(&s, &s.items[i]);
		skips(&s, &s.items[i]);
	}
}
