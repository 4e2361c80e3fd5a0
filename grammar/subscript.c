/* x[0] and x[:, 2] as in other languages, of a tensor whose shape a statement before says: how it is written here.
 *
 *   x[2]        (x @ 2) of [n | 4], sum("2 => ", x) of [5]
 *   x[:, 0]     sum("a, 0 => a", x) of [n, 4], sum("a | 0 => a | ", x) of [n | 4]
 */
#include <string.h>

#include "grammar/parsers.h"
#include "grammar/spec_side.h"
#include "grammar/syntax_fault.h"
#include "grammar/tree.h"

/* What a statement before declares the name as; NULL: none does, or not all of its shape. */
static const AstShape *declared_shape(const Fault *f, Span name)
{
	const Tree *tree = file_parse_tree(f->parser);
	const AstShape *shape = NULL;
	for (size_t i = 0; i < tree->stmts.n; i++) {
		const AstStmt *stmt = &tree->stmts.at[i];
		if (stmt->shape && stmt->name.sym && fault_is(f, name, stmt->name.sym))
			shape = stmt->shape;
	}
	bool open = !shape || shape->rows[ROW_INPUT].naxes > 0;
	for (RowKind row = 0; shape && row < ROW_KINDS; row++)
		open |= shape->rows[row].var_at >= 0;
	return open ? NULL : shape;
}

typedef struct Subscript {
	const char *indices[8]; /* the numbers between commas; NULL: ':', all of the axis */
	uint32_t n;
	size_t length; /* with its brackets */
} Subscript;

static bool read_subscript(const Fault *f, Subscript *s)
{
	const char *at = f->text + 1;
	for (bool more = true; more; at++) {
		at += strspn(at, " ");
		size_t n = strspn(at, "0123456789");
		if (s->n == 8 || n > 9 || (n == 0 && *at != ':'))
			return false;
		s->indices[s->n++] = n ? arena_printf(f->parse->perm, "%.*s", (int)n, at) : NULL;
		at += n ? n : 1;
		at += strspn(at, " ");
		more = *at == ',';
		if (!more && *at != ']')
			return false;
	}
	s->length = (size_t)(at - f->text);
	return true;
}

/* One side of a specification that reads places of axes, in storage order; the result lacks these axes. */
static const char *subscript_side(const Fault *f, const Subscript *s, const AstShape *shape,
				  bool result)
{
	Arena *arena = f->parse->perm;
	uint32_t nbatch = shape->rows[ROW_BATCH].naxes, noutput = shape->rows[ROW_OUTPUT].naxes;
	const char **axes = ARENA_ARRAY(arena, const char *, nbatch + noutput + 1);
	for (uint32_t i = 0; i < nbatch + noutput; i++) {
		const char *index = i < s->n ? s->indices[i] : NULL;
		axes[i] = !index ? axis_letter(arena, i) : result ? "" : index;
	}
	return spec_side(arena, axes, nbatch, noutput);
}

void fault_fix_subscript(const Fault *f, Span name)
{
	Subscript s = {.n = 0};
	const AstShape *shape = declared_shape(f, name);
	if (!shape || !read_subscript(f, &s) ||
	    s.n > shape->rows[ROW_BATCH].naxes + shape->rows[ROW_OUTPUT].naxes)
		return;
	Arena *arena = f->parse->perm;
	Span whole = {name.file, name.start, f->token.span.start + (uint32_t)s.length};
	const char *x = arena_printf(arena, "%.*s", (int)(name.end - name.start),
				     f->text - (name.end - name.start));
	if (s.n == 1 && s.indices[0] && shape->rows[ROW_BATCH].naxes > 0)
		diag_fix(f->parse->diags, whole, arena_printf(arena, "(%s @ %s)", x, s.indices[0]),
			 "the leftmost batch axis at %s", s.indices[0]);
	else
		diag_fix(f->parse->diags, whole,
			 arena_printf(arena, "sum(\"%s => %s\", %s)",
				      subscript_side(f, &s, shape, false),
				      subscript_side(f, &s, shape, true), x),
			 "a number in a specification takes that place of an axis");
}

/* ---- the form in words ---- */

static bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }

/* Does a part between commas start so? */
static bool starts(const char *text, const char *part)
{
	const char *at = text;
	while (at && strncmp(at + strspn(at, " "), part, strlen(part)) != 0) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at != NULL;
}

/* Does a number touch a colon? */
static bool is_slice(const char *text)
{
	const char *at = text;
	bool is = false;
	while ((at = strchr(at, ':')) != NULL) {
		is |= at > text && at[-1] >= '0' && at[-1] <= '9';
		at += 1 + strspn(at + 1, " ");
		is |= *at == '-' || (*at >= '0' && *at <= '9');
	}
	return is;
}

const char *fault_subscript_form(const Fault *f)
{
	const char *text =
		arena_printf(f->parse->perm, "%.*s", (int)strcspn(f->text + 1, "]\n"), f->text + 1);
	if (has(text, "..."))
		return "'...' stands for the other axes of a row: sum(\"..., 0 => ...\", x)";
	if (strpbrk(text, "<>=!"))
		return "what has a size that data decides is not in the language; a mask keeps the shape: "
		       "where(x > 0, x, 0)";
	if (starts(text, "None") || has(text, "newaxis"))
		return "an axis of one element is a 0 of the result: sum(\"i, j => i, 0, j\", x)";
	if (has(text, "::-"))
		return "an axis is turned by its places: gather(\"i, [v]; j => i, j\", x, n - 1 - range(n)), for n "
		       "elements";
	if (has(text, "::"))
		return "each second element is 2*j: sum(\"i, 2*j => i, j\", x)";
	if (is_slice(text))
		return "a part of an axis is x[:, 1:3] as sum(\"i, 1^j^_ => i, j\", x) with (j = 2), where '_' is the "
		       "rest";
	if (starts(text, "-"))
		return "a place from the end is x[:, -1] as sum(\"i, _^j => i\", x) with (j = 1), where '_' is the rest";
	if (*text != ':' && strspn(text, "0123456789:, ") < strlen(text))
		return "'x @ i' takes the leftmost batch axis at i; places that data says are gather(\"[v], d; i => i, "
		       "d\", x, ids)";
	return "'x @ i' takes the leftmost batch axis at i; a number in a specification takes any other: sum(\"i, 0 "
	       "=> i\", x)";
}
