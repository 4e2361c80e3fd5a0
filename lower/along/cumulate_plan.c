/* Whether lines are added up in turn or in runs, and which of them side by side (cumulate.c). */
#include "lower/along/lines_plan.h"

#include "loops/linear.h"

enum { FEW_COLUMNS = 4 };

/* The operand's first element. */
static const Value *first_element(const Lines *l, Body *body)
{
	return l->element(l, lines_const(l, 0), body);
}

/* Is the operand in memory? */
static bool is_load(const Lines *l)
{
	Body unused = {0};
	return first_element(l, &unused)->kind == VALUE_LOAD;
}

/* Do lines lie side by side, in the operand and in the result? */
static bool are_columns(const Lines *l)
{
	Body body = {0};
	IterVar var = l->outer[l->nouter - 1]->iter;
	const Value *value = first_element(l, &body);
	Size stride = ix_stride(l->program, l->result_index(l, lines_const(l, 0)), var);
	return body.stmts.n == 0 && lines_go_on(l, var, value) && size_is(l->sizes, stride, 1);
}

/* Are columns not so few that lines alone are as fast? */
static bool are_many_columns(const Lines *l)
{
	int64_t n;
	return !size_is_const(l->sizes, l->extents[l->nouter - 1], &n) || n >= FEW_COLUMNS;
}

/* Do threads have enough to share among lines, or blocks of columns? */
static bool are_many_lines(const Lines *l, bool columns)
{
	int64_t most = l->program->options.target->thread_parts, units = 1, n;
	for (uint32_t i = 0; i < l->nouter && units < most; i++) {
		if (!size_is_const(l->sizes, l->extents[i], &n))
			return false;
		bool blocks = columns && i == l->nouter - 1;
		units *= blocks ? (n + CUMULATE_COLUMNS - 1) / CUMULATE_COLUMNS : n;
	}
	return units >= most;
}

CumulatePlan cumulate_plan(const Lines *l)
{
	CumulatePlan plan = {.sums = BUFFER_NONE};
	int64_t n;
	plan.columns = l->nouter > 0 && are_columns(l);
	if (l->order.form == SUM_IN_TURN)
		return plan;
	plan.form = size_is_const(l->sizes, l->extent, &n) ? CUMULATE_IN_RUNS : CUMULATE_BY_LENGTH;
	plan.prefetches = is_load(l);
	plan.runs_columns = plan.columns && are_many_columns(l);
	plan.whole = are_many_lines(l, plan.runs_columns);
	plan.sums = l->temporary(l->of, "sums", l->dtype, cumulate_sums_room(l), true);
	return plan;
}
