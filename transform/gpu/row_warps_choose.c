/* Whether warps have rows of a sum, how many a row and how many rows a block: what a GPU's row says, or a schedule. */
#include "base/diag.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/row_warps.h"

/* ---- loops ---- */

static const Stmt *sum_loop(const RowWarps *w) { return w->sum.body.stmts[w->sum.at]; }

const Stmt *row_warps_loop(const RowWarps *w) { return w->wide.loops[w->wide.n - 1]; }

/* The loops of the sum, if they count from 0 to sizes. */
static bool find_sum_loops(RowWarps *w)
{
	const Stmt *s = sum_loop(w);
	for (; s->kind == LOOP_FOR; s = s->body.stmts[0]) {
		if (w->wide.n == GRID_LOOPS || !loop_counts_from_zero(w->program->sizes, s))
			return false;
		w->wide.loops[w->wide.n++] = s;
	}
	return true;
}

typedef struct Operands {
	const RowWarps *w;
	IterVar iter;
	bool other;	/* something is read of each row that does not move along the loop */
	int64_t narrow; /* bits of the narrowest element that is read of each row */
} Operands;

static void see_operand(void *of, const Value *value)
{
	Operands *o = of;
	const RowWarps *w = o->w;
	if (value->kind != VALUE_LOAD || !ix_uses(value->ix, row_warps_loop(w)->iter))
		return;
	Dtype dtype = w->program->buffers.at[value->buffer].dtype;
	int64_t bits = dtype_is_packed(dtype) ? 4 : 8 * (int64_t)dtype_bytes(dtype);
	o->other |= !ix_uses(value->ix, o->iter);
	o->narrow = o->narrow && o->narrow < bits ? o->narrow : bits;
}

static Operands operands_of(const RowWarps *w, IterVar iter)
{
	Operands o = {.w = w, .iter = iter};
	value_each(w->sum.set->value, see_operand, &o);
	return o;
}

/* Does the sum stand behind its own local alone? */
static bool is_first(const RowWarps *w)
{
	Body before = {0};
	one_sum_before(w->arena, &w->sum, &before);
	return before.stmts.n == 0;
}

/* Few iterations of a loop, for which something is read again, are a thread's; the innermost of the others has the rows. */
static bool find_loops(RowWarps *w)
{
	uint32_t left = w->n;
	int64_t n;
	w->vectors = 1;
	for (uint32_t i = 0; i < w->n; i++) {
		bool known = size_is_const(w->program->sizes, w->loops[i]->hi->size, &n) && n > 0;
		w->own[i] = left > 1 && known && is_first(w) &&
			    n <= w->gpu->row_vectors / w->vectors &&
			    operands_of(w, w->loops[i]->iter).other;
		w->vectors *= w->own[i] ? n : 1;
		left -= w->own[i];
		w->row = w->own[i] ? w->row : i;
	}
	return left > 0;
}

/* The most neighbours of which the narrowest operand has 16 bytes, and a thread registers for those of all vectors. */
static bool find_wide(RowWarps *w)
{
	Operands o = operands_of(w, 0);
	w->wide.body = row_warps_loop(w)->body;
	for (w->wide.width = 8 * 16 / o.narrow; w->wide.width > 1; w->wide.width /= 2)
		if (w->wide.width * w->vectors <= w->gpu->registers &&
		    w->wide.each % w->wide.width == 0 && wide_fits(&w->wide) &&
		    (!w->wide.each || w->wide.begin == BEGIN_EVERYWHERE)) {
			w->known = size_is_const(w->program->sizes, w->wide.extent, &w->length);
			if (!w->known)
				w->length =
					size_at_dims(w->program, w->wide.extent, w->gpu->unknown);
			return true;
		}
	return false;
}

static bool is_row_sum(RowWarps *w)
{
	w->n = grid_loops(w->kernel, w->loops);
	if (w->n == 0 || !one_sum_of(w->kernel, &w->sum) || !find_sum_loops(w))
		return false;
	row_warps_join_loops(w);
	return rows_are_read(w->t, w->kernel, row_warps_loop(w), w->sum.set) && find_loops(w) &&
	       find_wide(w);
}

/* ---- threads ---- */

static int64_t warps_most(const RowWarps *w) { return w->gpu->threads / w->gpu->warp; }

/* Elements that the threads of a row read at a time. */
int64_t row_warps_steps(const RowWarps *w) { return w->wide.width * w->gpu->warp * w->warps; }

/* ... and how often. */
static int64_t rounds(const RowWarps *w)
{
	return (w->length + row_warps_steps(w) - 1) / row_warps_steps(w);
}

int64_t row_warps_extent(const RowWarps *w, uint32_t loop)
{
	return size_at_dims(w->program, w->loops[loop]->hi->size, w->gpu->unknown);
}

/* Blocks of so many rows, for each processor. */
static double blocks_each(const RowWarps *w)
{
	double blocks = (double)((row_warps_extent(w, w->row) + w->rows - 1) / w->rows);
	for (uint32_t i = 0; i < w->n; i++)
		if (i != w->row && !w->own[i])
			blocks *= (double)row_warps_extent(w, i);
	return blocks / (double)w->gpu->processors;
}

/* As many warps as leave each lane few enough reads, and so few rows that every processor has a block; of an unknown length, as
 * many warps as rows leave. */
static void choose_threads(RowWarps *w)
{
	for (w->warps = 1; w->warps < warps_most(w) && rounds(w) > w->gpu->row_loads;)
		w->warps *= 2;
	w->rows = w->gpu->threads / (w->gpu->warp * w->warps);
	while (w->rows > 1 && blocks_each(w) < 1)
		w->rows /= 2;
	if (!w->known) /* it may be long */
		w->warps = warps_most(w) / w->rows;
}

typedef struct Asked {
	ScheduleClause *lanes, *block;
} Asked;

static Asked asked(const RowWarps *w)
{
	const Transform *t = w->t;
	const Kernel *k = w->kernel;
	return (Asked){kernel_asked(t, k, CHOICE_VECTOR), kernel_asked(t, k, CHOICE_BLOCK)};
}

static Sym name_of(const RowWarps *w, const Stmt *loop)
{
	return w->kernel->iters[loop->iter].name;
}

static bool is_asked(const RowWarps *w, const Asked *a)
{
	int64_t threads = w->gpu->warp * w->warps;
	return asks_name(a->lanes, 0, name_of(w, row_warps_loop(w))) &&
	       asks_numbers(a->lanes, 0, &threads, 1) &&
	       (!asks_on(a->lanes) || !asks_on(a->block) ||
		(asks_name(a->block, 0, name_of(w, w->loops[w->row])) &&
		 asks_numbers(a->block, 0, &w->rows, 1)));
}

/* What is chosen, or other numbers where those are asked for. */
static bool take_asked(RowWarps *w, const Asked *a)
{
	choose_threads(w);
	if (is_asked(w, a))
		return true;
	for (w->warps = 1; w->warps <= warps_most(w); w->warps *= 2)
		for (w->rows = 1; w->rows * w->warps <= warps_most(w); w->rows *= 2)
			if (is_asked(w, a))
				return true;
	return false;
}

bool row_warps_decide(const Transform *t, Kernel *kernel, RowWarps *w)
{
	*w = (RowWarps){.t = t,
			.program = t->program,
			.arena = t->program->arena,
			.gpu = t->options->gpu,
			.kernel = kernel,
			.wide = {.program = t->program, .kernel = kernel}};
	Asked a = asked(w);
	bool made = !asks_off(a.lanes) && is_row_sum(w) && take_asked(w, &a);
	if (!made && asks_on(a.lanes))
		a.lanes->refused =
			"a GPU has 32, 64, 128 or 256 threads for a row, and 8 warps in a "
			"block: `vector k 64; block j 4`";
	w->wide.steps = !made ? 0 : w->wide.each ? w->wide.width : row_warps_steps(w);
	return made;
}

void row_warps_note(const RowWarps *w)
{
	ScheduleEntry *entry = schedule_entry(w->program->made, w->kernel->name);
	Sym lanes = name_of(w, row_warps_loop(w)), rows = name_of(w, w->loops[w->row]);
	int64_t threads = w->gpu->warp * w->warps;
	PUSH(w->arena, entry->loops, lanes);
	PUSH(w->arena, entry->loops, rows);
	clause_add(w->arena, entry_make(w->arena, entry, CHOICE_VECTOR, false), lanes, &threads, 1);
	clause_add(w->arena, entry_make(w->arena, entry, CHOICE_BLOCK, false), rows, &w->rows, 1);
}
