/* A program is one statement a line. Each form takes tensors that there are, or adds inputs of the
 * sizes that it needs, and knows the rows of its result. What does not fit after all is refused by
 * the compiler, which is as good.
 */
#include "test/fuzz/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STATEMENTS = 9 };

uint32_t choose(Choices *c, uint32_t n)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((c->state >> 33) % n);
}

int chance(Choices *c, uint32_t n) { return choose(c, n) == 0; }

void put(Writer *w, const char *format, ...)
{
	va_list args;
	size_t room = w->most - w->length;
	va_start(args, format);
	int n = vsnprintf(w->out + w->length, room, format, args);
	va_end(args);
	w->length = n >= 0 && (size_t)n < room ? w->length + (size_t)n : w->most - 1;
}

/* ---- sizes, shapes, tensors ---- */

const char *size_of(Writer *w)
{
	static const char *const small[] = {"1", "2", "3", "4", "5", "7", "8"},
				 *const wide[] = {"9", "12", "16", "17", "24", "33"},
				 *const dims[] = {"n", "n", "m", "n + 1", "2*n", "m + 3"};
	switch (choose(w->c, 6)) {
	case 0:
	case 1: return PICK(w, dims);
	case 2: return PICK(w, wide);
	default: return PICK(w, small);
	}
}

void add_axis(Tensor *t, int row, Axis axis)
{
	if (t->n[row] < AXES)
		t->axes[row][t->n[row]++] = axis;
}

int row_of(Writer *w)
{
	static const int rows[] = {BATCH, INPUT, OUTPUT, OUTPUT};
	return PICK(w, rows);
}

static int count_axes(const Tensor *t) { return t->n[0] + t->n[1] + t->n[2]; }

int is_known(const Tensor *t)
{
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < t->n[r]; i++)
			if (!t->axes[r][i].size)
				return 0;
	return 1;
}

void put_rows(Writer *w, const Tensor *t, int letters)
{
	static const int order[] = {BATCH, INPUT, OUTPUT};
	static const char *const behind[] = {" | ", " -> ", ""};
	for (int k = 0; k < ROWS; k++) {
		for (int i = 0; i < t->n[order[k]]; i++) {
			const Axis *a = &t->axes[order[k]][i];
			if (letters)
				put(w, "%s%c", i ? ", " : "", a->letter);
			else
				put(w, "%s%s", i ? ", " : "", a->size);
		}
		put(w, "%s", behind[k]);
	}
}

static const char *type_of(Writer *w)
{
	static const char *const types[] = {"f32",    "f32", "f32", "f32", "f32", "f64",
					    "bf16",   "f16", "i32", "i8",  "u8",  "f8e4m3",
					    "f8e5m2", "i64", "u32", "bool", "i4", "u4"};
	return PICK(w, types);
}

static Tensor *add_tensor(Writer *w, const Tensor *like, const char *stem)
{
	Tensor *t = &w->tensors[w->ntensors < TENSORS ? w->ntensors++ : (int)choose(w->c, TENSORS)];
	*t = *like;
	snprintf(t->name, sizeof t->name, "%s%d", stem, w->nnames++);
	return t;
}

Tensor *declare(Writer *w, const Tensor *like)
{
	int param = chance(w->c, 6) && like->n[BATCH] == 0;
	Tensor *t = add_tensor(w, like, param ? "p" : "x");
	put(w, "%s %s : %s [", param ? "param" : "input", t->name, t->dtype);
	put_rows(w, t, 0);
	put(w, "]%s\n", param && chance(w->c, 2) ? " = 2" : "");
	return t;
}

static Tensor *new_input(Writer *w)
{
	Tensor t = {.dtype = type_of(w)};
	for (int i = (int)choose(w->c, 5); i > 0; i--)
		add_axis(&t, row_of(w), (Axis){.size = size_of(w)});
	return declare(w, &t);
}

Tensor *old_tensor(Writer *w)
{
	int recent = w->ntensors > 4 && !chance(w->c, 3) ? w->ntensors - 4 : 0;
	return &w->tensors[recent + (int)choose(w->c, (uint32_t)(w->ntensors - recent))];
}

Tensor *begin(Writer *w, const Tensor *like)
{
	Tensor *t = add_tensor(w, like, "t");
	put(w, "%s %s = ", chance(w->c, 2) ? "output" : "let", t->name);
	return t;
}

/* ---- elementwise forms ---- */

/* The same rows, some leading axes left out, some axes 1. */
static Tensor *partner(Writer *w, const Tensor *of)
{
	Tensor t = {.dtype = chance(w->c, 4) ? type_of(w) : of->dtype};
	for (int r = 0; r < ROWS; r++)
		for (int i = chance(w->c, 3) ? (int)choose(w->c, (uint32_t)of->n[r] + 1) : 0;
		     i < of->n[r]; i++)
			add_axis(&t, r,
				 (Axis){.size = chance(w->c, 6) ? "1" : of->axes[r][i].size});
	return declare(w, &t);
}

static void form_unary(Writer *w)
{
	static const char *const names[] = {
		"relu", "exp", "tanh",	"sigmoid", "abs",    "floor", "sqrt", "neg",  "id",
		"gelu", "sin", "sign",	"sat01",   "rsqrt",  "f32",   "i32",  "bf16", "f16",
		"u8",	"f64", "round", "f8e4m3",  "f8e5m2", "i64",   "u32",  "bool",
		"i4",	"u4",  "i8"};
	Tensor a = *old_tensor(w);
	begin(w, &a);
	put(w, "%s(%s)\n", PICK(w, names), a.name);
}

static void form_binary(Writer *w)
{
	static const char *const ops[] = {"+", "-", ".*", "/", "**", "%", "<", ">=", "==", "&&"};
	Tensor a = *old_tensor(w), b = a;
	if (is_known(&a))
		b = *partner(w, &a);
	begin(w, &a);
	if (chance(w->c, 4))
		put(w, "%s(%s, %s)\n", chance(w->c, 2) ? "max" : "min", a.name, b.name);
	else if (chance(w->c, 5))
		put(w, "where(%s > 0, %s, %s)\n", a.name, b.name, a.name);
	else
		put(w, "%s %s %s\n", chance(w->c, 2) ? a.name : b.name, PICK(w, ops),
		    chance(w->c, 4) ? "0.5" : b.name);
}

static void form_softmax(Writer *w)
{
	Tensor a = *old_tensor(w);
	if (a.n[OUTPUT] == 0)
		return;
	begin(w, &a);
	put(w, "exp(%s - reduce(max, \"... | ... -> ..o.., v => ... | ... -> ..o.., 0\", %s))\n",
	    a.name, a.name);
}

/* ---- specifications ---- */

void name_axes(Tensor *t, char *next)
{
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < t->n[r]; i++)
			t->axes[r][i].letter = (*next)++;
}

/* Some of the axes, in rows of their own or others, now and then in another order. */
static void keep_some(Writer *w, const Tensor *from, Tensor *to)
{
	int keep = chance(w->c, 2);
	static const int storage[] = {BATCH, OUTPUT, INPUT};
	for (int k = 0; k < ROWS; k++)
		for (int i = 0; i < from->n[storage[k]]; i++) {
			keep = chance(w->c, 4) ? keep : !keep;
			if (keep)
				add_axis(to, chance(w->c, 4) ? row_of(w) : storage[k],
					 from->axes[storage[k]][i]);
		}
	for (int r = 0; r < ROWS; r++)
		if (to->n[r] > 1 && chance(w->c, 4)) {
			Axis first = to->axes[r][0];
			to->axes[r][0] = to->axes[r][1];
			to->axes[r][1] = first;
		}
}

static void form_reduce(Writer *w)
{
	static const char *const folds[] = {"sum", "sum", "max", "min", "prod"};
	char next = 'a';
	Tensor a = *old_tensor(w), t = {.dtype = a.dtype};
	name_axes(&a, &next);
	keep_some(w, &a, &t);
	begin(w, &t);
	put(w, "reduce(%s, \"", PICK(w, folds));
	put_rows(w, &a, 1);
	put(w, "=> ");
	put_rows(w, &t, 1);
	put(w, "\", %s)\n", a.name);
}

/* The second operand has some of the axes of the first, and some of its own. */
static void form_einsum(Writer *w)
{
	char next = 'a';
	Tensor a = *old_tensor(w), b = {.dtype = chance(w->c, 4) ? type_of(w) : a.dtype}, t = b;
	name_axes(&a, &next);
	keep_some(w, &a, &b);
	if (!is_known(&b))
		return;
	for (int i = (int)choose(w->c, 3); i > 0; i--)
		add_axis(&b, row_of(w), (Axis){size_of(w), next++});
	Tensor *d = declare(w, &b);
	memcpy(b.name, d->name, sizeof b.name);
	Tensor all = a;
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < b.n[r]; i++)
			if (b.axes[r][i].letter >= next - 2)
				add_axis(&all, r, b.axes[r][i]);
	t.n[0] = t.n[1] = t.n[2] = 0;
	keep_some(w, &all, &t);
	begin(w, &t);
	put(w, "einsum(\"");
	put_rows(w, &a, 1);
	put(w, "; ");
	put_rows(w, &b, 1);
	put(w, "=> ");
	put_rows(w, &t, 1);
	put(w, "\", %s, %s%s)\n", a.name, b.name, chance(w->c, 6) ? ", reduce=max" : "");
}

/* a * b, where b has the inputs of a as outputs. */
static void form_compose(Writer *w)
{
	Tensor b = *old_tensor(w), a = {.dtype = b.dtype}, t = {.dtype = b.dtype};
	if (!is_known(&b))
		return;
	for (int i = 0; i < b.n[OUTPUT]; i++)
		add_axis(&a, INPUT, b.axes[OUTPUT][i]);
	add_axis(&a, OUTPUT, (Axis){.size = size_of(w)});
	a = *declare(w, &a);
	for (int i = 0; i < b.n[BATCH]; i++)
		add_axis(&t, BATCH, b.axes[BATCH][i]);
	for (int i = 0; i < b.n[INPUT]; i++)
		add_axis(&t, INPUT, b.axes[INPUT][i]);
	add_axis(&t, OUTPUT, a.axes[OUTPUT][0]);
	begin(w, &t);
	put(w, "%s * %s\n", a.name, b.name);
}

/* A window over the last output axis, with weights or without. */
static void form_window(Writer *w)
{
	static const char *const marks[] = {"=+", "=+", "=+?", "<+?", "<+"};
	char next = 'a';
	Tensor a = *old_tensor(w), t = a;
	if (a.n[OUTPUT] == 0)
		return;
	name_axes(&a, &next);
	int kernel = 1 + (int)choose(w->c, 4), stride = 1 + (int)choose(w->c, 3);
	Axis *last = &a.axes[OUTPUT][a.n[OUTPUT] - 1];
	t.axes[OUTPUT][t.n[OUTPUT] - 1] = (Axis){.size = NULL};
	int weights = chance(w->c, 2);
	if (weights)
		put(w, "input k%d : [%d]\n", w->nnames, kernel);
	int name = w->nnames++;
	begin(w, &t);
	put(w, weights ? "einsum(\"" : "reduce(max, \"");
	for (int side = 0; side < 2; side++) {
		static const int order[] = {BATCH, INPUT, OUTPUT};
		static const char *const behind[] = {" | ", " -> ", ""};
		for (int k = 0; k < ROWS; k++) {
			for (int i = 0; i < a.n[order[k]]; i++) {
				const Axis *axis = &a.axes[order[k]][i];
				if (axis == last && side == 0)
					put(w, "%s%d*%c %s z", i ? ", " : "", stride, axis->letter,
					    PICK(w, marks));
				else
					put(w, "%s%c", i ? ", " : "", axis->letter);
			}
			put(w, "%s", behind[k]);
		}
		put(w, side ? "" : weights ? "; z => " : " => ");
	}
	put(w, "\", %s", a.name);
	put(w, weights ? ", k%d) with (z = %d)\n" : ") with (z = %d)\n", weights ? name : kernel,
	    kernel);
}

static void form_argmax(Writer *w)
{
	char next = 'a';
	Tensor a = *old_tensor(w), t = {.dtype = "i32"};
	int n = count_axes(&a), without = n ? (int)choose(w->c, (uint32_t)n) : 0, at = 0;
	if (n == 0)
		return;
	name_axes(&a, &next);
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < a.n[r]; i++)
			if (at++ != without)
				add_axis(&t, r, a.axes[r][i]);
	begin(w, &t);
	put(w, "argmax(\"");
	put_rows(w, &a, 1);
	put(w, "=> ");
	put_rows(w, &t, 1);
	put(w, "\", %s)\n", a.name);
}

/* ---- what moves elements ---- */

static void form_move(Writer *w)
{
	Tensor a = *old_tensor(w), t = a;
	if (chance(w->c, 2)) {
		memcpy(t.axes[INPUT], a.axes[OUTPUT], sizeof a.axes[OUTPUT]);
		memcpy(t.axes[OUTPUT], a.axes[INPUT], sizeof a.axes[INPUT]);
		t.n[INPUT] = a.n[OUTPUT];
		t.n[OUTPUT] = a.n[INPUT];
		begin(w, &t);
		put(w, "%s.T\n", a.name);
	} else if (a.n[BATCH] > 0) {
		memmove(t.axes[BATCH], a.axes[BATCH] + 1, sizeof a.axes[BATCH] - sizeof(Axis));
		t.n[BATCH]--;
		begin(w, &t);
		put(w, "%s @ %d\n", a.name, (int)choose(w->c, 2));
	} else {
		int row = row_of(w);
		if (a.n[row] == AXES)
			return;
		memmove(t.axes[row] + 1, a.axes[row], sizeof a.axes[row] - sizeof(Axis));
		t.axes[row][0] = (Axis){.size = "2"};
		t.n[row]++;
		begin(w, &t);
		put(w, "stack(%s, %s, %s)\n",
		    row == BATCH   ? "batch"
		    : row == INPUT ? "input"
				   : "output",
		    a.name, a.name);
	}
}

static void form_concat(Writer *w)
{
	Tensor a = *old_tensor(w), b = a, t = a;
	if (a.n[OUTPUT] == 0 || !is_known(&a))
		return;
	b.axes[OUTPUT][0].size = size_of(w);
	b = *declare(w, &b);
	t.axes[OUTPUT][0].size = NULL;
	begin(w, &t);
	put(w,
	    "concat(\"... | ... -> x, ...; ... | ... -> y, ... => ... | ... -> x^y, ...\", %s, %s)\n",
	    a.name, b.name);
}

static void form_gather(Writer *w)
{
	Tensor a = *old_tensor(w), ids = {.dtype = "i32"}, t = {.dtype = a.dtype};
	if (a.n[BATCH] || a.n[OUTPUT] == 0)
		return;
	add_axis(&ids, BATCH, (Axis){.size = size_of(w)});
	ids = *declare(w, &ids);
	add_axis(&t, BATCH, ids.axes[BATCH][0]);
	for (int i = 0; i < a.n[INPUT]; i++)
		add_axis(&t, INPUT, a.axes[INPUT][i]);
	for (int i = 1; i < a.n[OUTPUT]; i++)
		add_axis(&t, OUTPUT, a.axes[OUTPUT][i]);
	begin(w, &t);
	put(w, "gather(%s, %s)\n", a.name, ids.name);
}

/* Steps on a tensor of the routine, and on parameters. */
static void form_routine(Writer *w)
{
	static const char *const accs[] = {":",	  ":+",	 "+",	 "-",  "*",
					   "max", "min", ":max", "**", "/"};
	const Tensor *a = old_tensor(w), *b = old_tensor(w);
	int number = w->nnames++;
	put(w, "routine r%d(s : f32) -> q {\n\tq =: %s\n", number, a->name);
	for (int i = (int)choose(w->c, 4); i > 0; i--)
		put(w, "\tq =%s %s\n", PICK(w, accs),
		    chance(w->c, 3)   ? "s"
		    : chance(w->c, 3) ? "q + q"
				      : a->name);
	if (b->name[0] == 'p')
		put(w, "\t%s =%s %s + %s\n", b->name, PICK(w, accs), b->name, b->name);
	put(w, "}\n");
}

size_t program_write(Choices *c, char *out, size_t most)
{
	static void (*const forms[])(Writer *) = {
		form_unary,   form_unary,  form_binary,	 form_binary, form_softmax, form_reduce,
		form_reduce,  form_reduce, form_einsum,	 form_einsum, form_einsum,  form_compose,
		form_compose, form_window, form_window,	 form_argmax, form_move,    form_move,
		form_concat,  form_gather, form_routine, form_scan,   form_scan,    form_scatter,
		form_picked,  form_along,  form_along,	 form_joined, form_placed,  form_margins,
		form_many,    form_initial, form_scalar_place, form_margins};
	Writer w = {.c = c, .out = out, .most = most};
	if (most < 64)
		return 0;
	put(&w, "dim n\ndim m\n");
	new_input(&w);
	for (int i = 1 + (int)choose(c, STATEMENTS); i > 0; i--)
		chance(c, 8) ? (void)new_input(&w) : PICK(&w, forms)(&w);
	put(&w, "output z = %s\n", w.tensors[w.ntensors - 1].name);
	return w.length;
}
