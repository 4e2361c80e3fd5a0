/* Orders of additions in words: docs/ir.md has the list. */
#include "sums/sums.h"

typedef struct Text {
	Arena *arena;
	const char *text;
	bool known; /* is the extent of the last loop a number? */
	int64_t extent;
} Text;

static void add(Text *t, const char *more)
{
	t->text = arena_printf(t->arena, "%s%s", t->text, more);
}

static void add_number(Text *t, const char *before, int64_t n, const char *behind)
{
	add(t, arena_printf(t->arena, "%s%lld%s", before, (long long)n, behind));
}

/* The loops but for the last one, then that: iterators that are one loop in parentheses. */
static void add_loops(Text *t, const SumMade *sum)
{
	uint32_t outer = sum->niters - sum->last;
	bool turn = sum->order.form == SUM_IN_TURN;
	for (uint32_t i = 0; i < sum->niters; i++) {
		if (i > 0)
			add(t, i == outer && !turn ? ", then " : ", ");
		if (i == outer && sum->last > 1 && !turn)
			add(t, "(");
		add(t, sum->names[i]);
	}
	if (sum->last > 1 && !turn)
		add(t, ")");
}

/* Steps behind those in lanes. */
static void add_rest(Text *t, int64_t left)
{
	if (!t->known)
		add(t, ", then the last in turn");
	else if (left > 0)
		add_number(t, ", then the last ", left, left == 1 ? "" : " in turn");
}

/* Lanes that there are steps for. */
static void add_lanes(Text *t, const SumOrder *o)
{
	const char *before = " in lanes of ";
	int64_t at = 0;
	for (int64_t lanes = o->wide ? o->wide : o->lanes; lanes >= o->least; lanes /= 2) {
		bool whole = lanes == o->wide || lanes == o->lanes;
		int64_t steps = whole ? (t->extent - at) / lanes * lanes : (t->extent - at) & lanes;
		if (whole ? t->known && steps == 0 : !o->halves || !t->known || steps == 0)
			continue;
		add_number(t, before, lanes, "");
		before = " and ";
		at += steps;
	}
	add(t, ", in halves");
	add_rest(t, t->extent - at);
}

static void add_parts(Text *t, const SumOrder *o)
{
	if (!size_is_bad(o->nparts))
		add_number(t, " in parts of ", o->part_rows, " and");
	if (o->rows > 1)
		add_number(t, " in lanes of ", o->rows, ", in pairs");
	else
		add(t, " in turn");
	add_rest(t, t->extent % o->rows);
}

static void add_runs(Text *t, const SumOrder *o)
{
	if (!t->known)
		add_number(t, " in turn up to ", o->turn_most, ", beyond");
	add_number(t, " in runs of ", o->run, "");
}

const char *sum_text(Arena *arena, const Sizes *sizes, const SumMade *sum)
{
	const SumOrder *o = &sum->order;
	Text t = {.arena = arena, .text = ""};
	t.known = size_is_const(sizes, sum->extent, &t.extent);
	add_loops(&t, sum);
	switch (o->form) {
	case SUM_IN_LANES: add_lanes(&t, o); break;
	case SUM_IN_PARTS: add_parts(&t, o); break;
	case SUM_IN_RUNS: add_runs(&t, o); break;
	default: add(&t, " in turn"); break;
	}
	if (o->group > 1)
		add_number(&t, ", ", o->group, " at a time");
	if (o->matrix)
		add_number(&t, ", ", o->matrix, " in a matrix");
	if (o->from_first)
		add(&t, ", in one expression");
	if (o->scattered)
		add(&t, ", as elements are met");
	return t.text;
}
