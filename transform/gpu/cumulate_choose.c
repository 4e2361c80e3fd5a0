/* Whether the threads of a block share lines that are cumulated, how many of them a line has, and whether lines go in slices. */
#include "base/diag.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "loops/verify_gpu.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/gpu/cumulate.h"

/* ---- what the kernel does ---- */

static bool is_local(const Cumulate *s, const Stmt *stmt)
{
	return stmt->kind == LOOP_LOCAL && s->kernel->locals[stmt->local].rank == 0;
}

typedef struct Reads {
	const Cumulate *cumulate;
	bool wrong;
} Reads;

/* A term is made of other things than the sum and the result. */
static void see_read(void *of, const Value *value)
{
	Reads *r = of;
	const Cumulate *s = r->cumulate;
	r->wrong |= value->kind == VALUE_LOCAL && value->local == s->first->local;
	r->wrong |= value->kind == VALUE_LOAD && value->buffer == s->store->buffer;
}

static bool reads_others_alone(const Cumulate *s)
{
	Reads r = {.cumulate = s};
	for (uint32_t i = 0; i < s->loop->body.n; i++)
		if (s->loop->body.stmts[i] != s->store)
			value_each(s->loop->body.stmts[i]->value, see_read, &r);
	return !r.wrong;
}

/* Locals, and behind these the sum's step and the store of it, in one order or the other. */
static bool find_step(Cumulate *s)
{
	const Block *body = &s->loop->body;
	uint32_t n = body->n;
	for (uint32_t i = 0; i + 2 < n; i++)
		if (!is_local(s, body->stmts[i]))
			return false;
	if (n < 2)
		return false;
	s->exclusive = body->stmts[n - 2]->kind == LOOP_STORE;
	s->store = body->stmts[s->exclusive ? n - 2 : n - 1];
	s->set = body->stmts[s->exclusive ? n - 1 : n - 2];
	const Value *stored = s->store->value;
	return s->store->kind == LOOP_STORE && s->store->acc == OP_NONE && is_fold(s->set) &&
	       s->set->local == s->first->local && stored->kind == VALUE_LOCAL &&
	       stored->local == s->first->local && reads_others_alone(s);
}

/* Locals, the last of them the sum's, and the loop over places. */
static bool find_line(Cumulate *s)
{
	uint32_t n = s->body.n;
	if (n < 2 || s->body.stmts[n - 1]->kind != LOOP_FOR ||
	    !loop_counts_from_zero(s->program->sizes, s->body.stmts[n - 1]))
		return false;
	for (uint32_t i = 0; i + 1 < n; i++)
		if (!is_local(s, s->body.stmts[i]) || !s->body.stmts[i]->value)
			return false;
	s->first = s->body.stmts[n - 2];
	s->loop = s->body.stmts[n - 1];
	s->from = s->loop->lo;
	s->end = s->loop->hi;
	s->places = s->loop->hi->size;
	return find_step(s);
}

static bool fits(Cumulate *s)
{
	s->n = grid_loops(s->kernel, s->lines);
	s->body = grid_body(s->kernel);
	if ((grid_loop(&s->kernel->body) && s->n == 0) || !find_line(s))
		return false;
	Dtype dtype = s->set->value->dtype;
	return dtype == dtype_wide(dtype) && dtype != DTYPE_U4X32;
}

/* ---- how ---- */

static int64_t about(const Cumulate *s, const Stmt *loop)
{
	return size_at_dims(s->program, loop->hi->size, s->gpu->unknown);
}

static bool is_known(const Cumulate *s, const Stmt *loop)
{
	int64_t n;
	return size_is_const(s->program->sizes, loop->hi->size, &n);
}

/* Lines, about; INT64_MAX: more than there may be. */
static int64_t lines_of(const Cumulate *s)
{
	int64_t all = 1;
	for (uint32_t i = 0; i < s->n; i++)
		if (__builtin_mul_overflow(all, about(s, s->lines[i]), &all))
			return INT64_MAX;
	return all;
}

/* Does the result move by one element, either way, with the loop? */
static bool moves_by_one(const Cumulate *s, const Stmt *loop)
{
	return ix_moves_by(s->program, s->store->ix, loop->iter, 1) ||
	       ix_moves_by(s->program, s->store->ix, loop->iter, -1);
}

static int64_t warps_most(const Cumulate *s) { return s->gpu->threads / s->gpu->warp; }

int64_t cumulate_round(const Cumulate *s)
{
	return s->warps * s->each * (s->along ? s->gpu->warp : 1);
}

/* The fewest warps that have a line in one round, all of them where none have; one, where lines side by side are many. */
static void choose_threads(Cumulate *s)
{
	int64_t places = is_known(s, s->loop) ? about(s, s->loop) : INT64_MAX, most = warps_most(s);
	s->along = s->n == 0 || moves_by_one(s, s->loop) || !moves_by_one(s, s->lines[s->n - 1]);
	for (s->each = 1;
	     s->each < s->gpu->row_loads && s->each * (s->along ? s->gpu->warp : 1) < places;)
		s->each *= 2;
	bool many = !s->along && lines_of(s) >= s->gpu->processors * s->gpu->threads;
	for (s->warps = 1; !many && s->warps < most && cumulate_round(s) < places;)
		s->warps *= 2;
	s->rows = s->n ? most / s->warps : 1;
}

/* Lines of a known number, fewer than the processors have blocks for, that are long. */
static bool goes_in_slices(const Cumulate *s)
{
	int64_t lines = lines_of(s), slice = s->gpu->cumulate_rounds * cumulate_round(s);
	for (uint32_t i = 0; i < s->n; i++)
		if (!is_known(s, s->lines[i]))
			return false;
	int64_t side = s->rows * (s->along ? 1 : s->gpu->warp);
	return (lines + side - 1) / side < s->gpu->processors && s->warps == warps_most(s) &&
	       s->loop->body.n == 2 && (!is_known(s, s->loop) || about(s, s->loop) >= 2 * slice);
}

static Sym name_of(const Cumulate *s) { return s->kernel->iters[s->loop->iter].name; }

static int64_t threads_of_line(const Cumulate *s)
{
	return s->warps * (s->along ? s->gpu->warp : 1);
}

/* Other threads of a line, and slices of so many places, where these are asked for. */
static bool take_asked(Cumulate *s)
{
	const ScheduleItem *item = s->asked->items.n ? &s->asked->items.at[0] : NULL;
	if (!asks_name(s->asked, 0, name_of(s)) || !item || item->n == 0)
		return asks_name(s->asked, 0, name_of(s));
	for (s->warps = 1; s->warps < warps_most(s) && threads_of_line(s) < item->numbers[0];)
		s->warps *= 2;
	s->rows = s->n ? warps_most(s) / s->warps : 1;
	s->slice = item->n > 1 ? item->numbers[1] : 0;
	return threads_of_line(s) == item->numbers[0] && item->n <= 2 &&
	       (item->n == 1 || (s->slice > 0 && s->slice % cumulate_round(s) == 0));
}

bool cumulate_decide(const Transform *t, Kernel *kernel, bool own, Cumulate *s)
{
	*s = (Cumulate){.t = t,
			.program = t->program,
			.arena = t->program->arena,
			.gpu = t->options->gpu,
			.kernel = kernel};
	if (own)
		s->asked = schedule_asked(t->asked, t->program, kernel->name, kernel->span,
					  CHOICE_BLOCK);
	if (asks_off(s->asked) || !fits(s))
		return false;
	choose_threads(s);
	if (!asks_on(s->asked)) {
		s->slice =
			own && goes_in_slices(s) ? s->gpu->cumulate_rounds * cumulate_round(s) : 0;
		return !is_known(s, s->loop) || about(s, s->loop) >= s->gpu->cumulate_least;
	}
	bool made = take_asked(s);
	if (!made)
		s->asked->refused =
			"on a GPU a line that is cumulated has 32, 64, 128 or 256 threads, or, beside others, 1, 2, 4 or 8, and "
			"slices of so many of their rounds, of 8 places each: `block t 256 8192`";
	return made;
}

void cumulate_note(const Cumulate *s)
{
	ScheduleEntry *entry = schedule_entry(s->program->made, s->kernel->name);
	const int64_t numbers[] = {threads_of_line(s), s->slice};
	PUSH(s->arena, entry->loops, name_of(s));
	clause_add(s->arena, entry_make(s->arena, entry, CHOICE_BLOCK, false), name_of(s), numbers,
		   s->slice ? 2 : 1);
}
