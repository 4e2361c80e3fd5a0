/* Statements of forms that programs.c draws among others: loops at run time, indices that are read, what goes along
 * an axis, joined axes, places by name and by scalars, margins with borders,
 * products of many, initialisers.
 */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/writer.h"

static const char *const order_behind[] = {" | ", " -> ", ""};
static const int order[] = {BATCH, INPUT, OUTPUT};

/* Any axis, as its row and place in it. */
static int any_axis(Writer *w, const Tensor *t, int *row, int *at)
{
	int n = t->n[0] + t->n[1] + t->n[2];
	if (n == 0)
		return 0;
	int k = (int)choose(w->c, (uint32_t)n);
	for (*row = 0; k >= t->n[*row]; (*row)++)
		k -= t->n[*row];
	*at = k;
	return 1;
}

/* Rows in which one axis is written by a text of its own; NULL: it is left out. */
static void put_with(Writer *w, const Tensor *t, int row, int at, const char *text)
{
	for (int k = 0; k < ROWS; k++) {
		const char *comma = "";
		for (int i = 0; i < t->n[order[k]]; i++) {
			int own = order[k] == row && i == at;
			if (own && !text)
				continue;
			if (own)
				put(w, "%s%s", comma, text);
			else
				put(w, "%s%c", comma, t->axes[order[k]][i].letter);
			comma = ", ";
		}
		put(w, "%s", order_behind[k]);
	}
}

void form_scan(Writer *w)
{
	static const char *const counts[] = {"n", "m", "3", "2", "1", "0", "n + 1"};
	static const char *const bodies[] = {"0.5 * h", "tanh(h + i)", "h - 0.25 * i", "h + x", "max(h, x)",
					     "x - 0.5 * h"};
	Tensor a = *old_tensor(w), t = a;
	const char *count = PICK(w, counts), *body = PICK(w, bodies);
	t.dtype = "f32";
	if (!is_known(&a) || (strcmp(a.dtype, "f32") && strcmp(a.dtype, "f64")))
		return;
	int number = w->nnames++;
	switch (choose(w->c, 3)) {
	case 0:
		put(w, "let (l%d, s%d) = scan(%s, h = %s, i) { let x = %s in let g = %s in (g, g) }\n", number, number,
		    count, a.name, a.name, body);
		put(w, "output s%d\noutput l%d\n", number, number);
		break;
	case 1:
		put(w, "let (l%d, s%d) = scan(%s, h = %s, i) until (i > 1) { let x = %s in %s }\n", number, number,
		    count, a.name, a.name, body);
		put(w, "output l%d\noutput s%d\n", number, number);
		break;
	default:
		begin(w, &t);
		put(w, "scan(%s, h = %s, i) { let x = %s in %s }\n", count, a.name, a.name, body);
	}
}

static const char *const modes[] = {", mode=clamp", ", mode=wrap", ", mode=skip", ""};

void form_scatter(Writer *w)
{
	static const char *const folds[] = {"", ", reduce=max", ", reduce=min", ", reduce=prod", ", reduce=set"};
	Tensor a = *old_tensor(w), ids = {.dtype = chance(w->c, 3) ? "i64" : "i32"}, t = a;
	char next = 'a';
	int row, at;
	if (!any_axis(w, &a, &row, &at) || !a.axes[row][at].size)
		return;
	name_axes(&a, &next);
	const char *size = size_of(w);
	char letter = a.axes[row][at].letter;
	add_axis(&ids, row, a.axes[row][at]);
	ids = *declare(w, &ids);
	t.axes[row][at].size = size;
	begin(w, &t);
	put(w, "scatter(\"");
	put_rows(w, &a, 1);
	put(w, "; %s%c%s => ", row == BATCH ? "" : "", letter, row == BATCH ? " |" : row == INPUT ? " ->" : "");
	put_with(w, &a, row, at, "[v]");
	put(w, "\", %s, %s%s%s) with (v = %s)\n", a.name, ids.name, PICK(w, folds), PICK(w, modes), size);
}

void form_picked(Writer *w)
{
	Tensor a = *old_tensor(w), ids = {.dtype = chance(w->c, 3) ? "i64" : "i32"}, t = a;
	char next = 'a';
	int row, at;
	if (!any_axis(w, &a, &row, &at))
		return;
	name_axes(&a, &next);
	const char *size = size_of(w);
	add_axis(&ids, row, (Axis){size, 'z'});
	ids = *declare(w, &ids);
	t.axes[row][at].size = size;
	begin(w, &t);
	put(w, "gather(\"");
	put_with(w, &a, row, at, "[v]");
	put(w, "; z%s => ", row == BATCH ? " |" : row == INPUT ? " ->" : "");
	put_with(w, &a, row, at, "z");
	put(w, "\", %s, %s%s)\n", a.name, ids.name, PICK(w, modes));
}

/* What goes along an axis. */
void form_along(Writer *w)
{
	static const char *const folds[] = {"sum", "prod", "max", "min"};
	static const char *const hows[] = {"", ", exclusive", ", reverse"};
	Tensor a = *old_tensor(w), t = a;
	char next = 'a', marked[] = "[x]", letter[] = "x";
	int row, at, kind = (int)choose(w->c, 4);
	if (!any_axis(w, &a, &row, &at))
		return;
	name_axes(&a, &next);
	marked[1] = letter[0] = a.axes[row][at].letter;
	if (kind == 3) {
		int number = w->nnames++;
		const char *count = chance(w->c, 3) ? "n" : "1";
		put(w, "let (v%d, i%d) = topk(%s, \"", number, number, count);
		put_rows(w, &a, 1);
		put(w, "=> ");
		put_with(w, &a, row, at, "z");
		put(w, "\", %s%s)\noutput v%d\noutput i%d\n", a.name, chance(w->c, 3) ? ", ascending" : "", number, number);
		return;
	}
	if (kind == 2)
		t.dtype = "i32";
	begin(w, &t);
	if (kind == 0)
		put(w, "cumulate(%s, \"", PICK(w, folds));
	else
		put(w, kind == 1 ? "sort(\"" : "argsort(\"");
	put_with(w, &a, row, at, marked);
	put(w, "=> ");
	put_with(w, &a, row, at, letter);
	put(w, "\", %s%s)\n", a.name, kind == 0 ? PICK(w, hows) : chance(w->c, 3) ? ", descending" : "");
}

/* An axis taken apart, or two that are joined. */
void form_joined(Writer *w)
{
	Tensor a = *old_tensor(w), t = a;
	char next = 'a';
	int row, at;
	if (!any_axis(w, &a, &row, &at))
		return;
	name_axes(&a, &next);
	t.axes[row][at].size = NULL;
	int apart = chance(w->c, 2) || a.n[row] < 2 || at == 0;
	char two[] = "(x y)";
	if (!apart) {
		two[1] = a.axes[row][at - 1].letter;
		two[3] = a.axes[row][at].letter;
		memmove(&t.axes[row][at - 1], &t.axes[row][at], sizeof(Axis) * (size_t)(a.n[row] - at));
		t.n[row]--;
	} else if (t.n[row] < AXES) {
		add_axis(&t, row, (Axis){.size = NULL});
	}
	begin(w, &t);
	put(w, "sum(\"");
	put_with(w, &a, row, at, apart ? "(y z)" : (char[]){a.axes[row][at].letter, 0});
	put(w, "=> ");
	if (apart) {
		put_with(w, &a, row, at, "y, z");
	} else {
		Tensor joined = a;
		memmove(&joined.axes[row][at - 1], &joined.axes[row][at], sizeof(Axis) * (size_t)(a.n[row] - at));
		joined.n[row]--;
		put_with(w, &joined, row, at - 1, two);
	}
	put(w, apart ? "\", %s) with (y = %d)\n" : "\", %s)\n", a.name, 1 + (int)choose(w->c, 4));
}

/* Places that names say: what stands behind them, or what is written there. */
void form_placed(Writer *w)
{
	static const char *const names[] = {"n", "m", "2"};
	Tensor a = *old_tensor(w), t = a;
	char next = 'a', text[32];
	int row, at;
	if (!any_axis(w, &a, &row, &at))
		return;
	name_axes(&a, &next);
	t.axes[row][at].size = NULL;
	const char *by = PICK(w, names);
	char letter[] = {a.axes[row][at].letter, 0};
	snprintf(text, sizeof text, chance(w->c, 3) ? "%s^%s" : "%s + %s", chance(w->c, 2) ? letter : by,
		 chance(w->c, 2) ? by : letter);
	begin(w, &t);
	put(w, "sum(\"");
	int writes = chance(w->c, 3);
	put_with(w, &a, row, at, writes ? letter : text);
	put(w, "=> ");
	put_with(w, &a, row, at, writes ? text : letter);
	put(w, "\", %s)\n", a.name);
}

/* Windows with margins of their own. */
void form_margins(Writer *w)
{
	Tensor a = *old_tensor(w), t = a;
	char next = 'a', text[48], letter[] = "x";
	int row, at, kernel = 1 + (int)choose(w->c, 4), stride = 1 + (int)choose(w->c, 2);
	if (!any_axis(w, &a, &row, &at))
		return;
	name_axes(&a, &next);
	letter[0] = a.axes[row][at].letter;
	t.axes[row][at].size = NULL;
	if (chance(w->c, 2))
		snprintf(text, sizeof text, "%d*%s =+%s[%u] z", stride, letter, chance(w->c, 2) ? "?" : "",
			 choose(w->c, 4));
	else
		snprintf(text, sizeof text, "%d*%s =+%s[%u, %u] z", stride, letter, chance(w->c, 2) ? "?" : "",
			 choose(w->c, 3), choose(w->c, 4));
	begin(w, &t);
	put(w, chance(w->c, 2) ? "sum(\"" : "reduce(max, \"");
	put_with(w, &a, row, at, text);
	put(w, "=> ");
	put_with(w, &a, row, at, letter);
	static const char *const borders[] = {"edge", "reflect", "wrap", "0.5", "skip"};
	if (chance(w->c, 2))
		put(w, "\", %s, border = %s) with (z = %d)\n", a.name, PICK(w, borders), kernel);
	else
		put(w, "\", %s) with (z = %d)\n", a.name, kernel);
}

/* A routine whose scalar says what is read of an axis, and where one is written. */
void form_scalar_place(Writer *w)
{
	static const char *const dtypes[] = {"i32", "i64", "u32"};
	static const char *const reads[] = {"%c + at", "at^%c", "%c^at", "2*%c + at", "at + %c + at"};
	static const char *const right[] = {"", " * at", " + at"};
	Tensor a = *old_tensor(w);
	char next = 'a', text[48], letter[] = "x";
	int row, at, number = w->nnames++;
	if (!any_axis(w, &a, &row, &at) || w->ntensors == TENSORS)
		return;
	name_axes(&a, &next);
	letter[0] = a.axes[row][at].letter;
	put(w, "routine r%d(at : %s) -> p, q {\n\tp =: (", number, PICK(w, dtypes));
	put(w, chance(w->c, 2) ? "sum(\"" : "reduce(max, \"");
	if (chance(w->c, 3)) { /* as much as it says */
		snprintf(text, sizeof text, "%s^_", letter);
		put_with(w, &a, row, at, text);
		put(w, "=> ");
		put_with(w, &a, row, at, NULL);
		put(w, "\", %s) with (%s = at)", a.name, letter);
	} else {
		snprintf(text, sizeof text, PICK(w, reads), letter[0]);
		put_with(w, &a, row, at, text);
		put(w, "=> ");
		put_with(w, &a, row, at, NULL);
		put(w, "\", %s)", a.name);
	}
	put(w, ")%s\n\tq =: id(%s)\n\tq =+ %s via \"", PICK(w, right), a.name, a.name);
	put_with(w, &a, row, at, chance(w->c, 2) ? "0" : letter);
	put(w, "=> ");
	snprintf(text, sizeof text, "%s + at", letter);
	put_with(w, &a, row, at, text);
	put(w, "\"\n}\n");
}

/* A product of up to sixteen: each has some letters of the first, and one of its own. */
void form_many(Writer *w)
{
	Tensor a = *old_tensor(w), parts[15];
	char next = 'a';
	int n = (chance(w->c, 4) ? 8 : 2) + (int)choose(w->c, 7), row, at;
	if (!is_known(&a) || !any_axis(w, &a, &row, &at))
		return;
	name_axes(&a, &next);
	for (int k = 0; k < n; k++) {
		Tensor part = {.dtype = a.dtype};
		any_axis(w, k ? &parts[k - 1] : &a, &row, &at);
		add_axis(&part, row, (k ? &parts[k - 1] : &a)->axes[row][at]);
		if (chance(w->c, 2))
			add_axis(&part, row_of(w), (Axis){size_of(w), next++});
		Tensor *made = declare(w, &part);
		memcpy(part.name, made->name, sizeof part.name);
		parts[k] = part;
	}
	Tensor t = parts[n - 1];
	begin(w, &t);
	put(w, "einsum(\"");
	put_rows(w, &a, 1);
	for (int k = 0; k < n; k++) {
		put(w, "; ");
		put_rows(w, &parts[k], 1);
	}
	put(w, "=> ");
	put_rows(w, &t, 1);
	put(w, "\", %s", a.name);
	for (int k = 0; k < n; k++)
		put(w, ", %s", parts[k].name);
	put(w, ")\n");
}

/* A parameter that starts from others, and one of the same shape beside it. */
void form_initial(Writer *w)
{
	static const char *const firsts[] = {"normal()", "2 * uniform() - 1", "0.1 * offsets()", "0.5"};
	static const char *const later[] = {"0.5 * %s", "%s", "%s / sqrt(1 + sum(%s ** 2))", "%s - sum(%s)",
					    "let r = normal() in r .* %s - sum(r .* %s)", "exp(%s) + uniform()"};
	Tensor a = *old_tensor(w);
	int number = w->nnames++;
	if (!is_known(&a))
		return;
	put(w, "param f%d : [", number);
	put_rows(w, &a, 0);
	put(w, "] = %s\nparam g%d : [", PICK(w, firsts), number);
	put_rows(w, &a, 0);
	char name[16];
	snprintf(name, sizeof name, "f%d", number);
	put(w, "] = ");
	put(w, PICK(w, later), name, name);
	put(w, "\n");
	begin(w, &a);
	put(w, "%s + g%d\n", chance(w->c, 2) ? name : a.name, number);
}
