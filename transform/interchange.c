/* Loop interchange: steps go inside of the loops over elements, where each element has steps of its own. What they carry
 * stays in the first cache, and threads meet once, not in each step. So many elements at a time (strip mining) take
 * each step together, in the loops that back ends make vectors of:
 *
 *   run set_a: for i in 0..n: a[i] = x[i]        for i in 0..n/256
 *   for k in 0..steps                              for i in ..256
 *     run b: for i in 0..n: b[i] = f(a[i])   ->    for k in 0..steps
 *     run a: for i in 0..n: a[i] = b[i]              for i in ..256
 *                                                      local b = f(a[i])
 *                                                      a[i] = b
 *
 * (interchange_find.c says where.) A temporary of a step alone is a local.
 */
#include <string.h>

#include "loops/frame.h"
#include "loops/steps.h"
#include "loops/walk.h"
#include "loops/work.h"
#include "transform/interchange.h"

/* ---- how many elements at a time ---- */

/* Of each loop, the outermost first. */
typedef struct Strips {
	int64_t of[NEST_LOOPS];
	int64_t registers; /* of the innermost: so many have what they carry in registers; 1: none have; 0: and nothing is said */
} Strips;

/* Of a loop, where so many elements are left for it and those around: all of them where these are few. */
static int64_t strip_of(const StepLoop *s, uint32_t i, int64_t *left)
{
	int64_t trips = constant_trips(s->program, s->loops[i]), strip = *left;
	if (trips >= 0 && trips <= strip)
		strip = trips > 1 ? trips : 1;
	*left /= strip;
	return strip;
}

typedef struct StepRows {
	IterVar step;
	bool found;
} StepRows;

static void see_row(void *of, const Value *value)
{
	StepRows *rows = of;
	rows->found |= value->kind == VALUE_LOAD && ix_uses(value->ix, rows->step);
}

/* Does each step touch rows of its own, as those that are stacked? */
static bool has_rows(const StepLoop *s)
{
	StepRows rows = {.step = s->step};
	for (uint32_t i = 0; i < s->body.n; i++) {
		const Stmt *stmt = s->body.stmts[i];
		rows.found |= stmt->kind == LOOP_STORE && ix_uses(stmt->ix, s->step);
		interchange_values(stmt, see_row, &rows);
	}
	return rows.found;
}

/* Rows of a step that are read or stored in short pieces take longer than what is carried: of a loop inside another one the
 * length is known. */
static bool pays(const StepLoop *s)
{
	bool known = true;
	for (uint32_t i = 1; i < s->nloops; i++)
		known = known && constant_trips(s->program, s->loops[i]) >= 0;
	return known || !has_rows(s);
}

/* How many elements of the innermost loop have what they carry in registers: second number of its item. Where each step has rows
 * of its own these are to be touched whole. */
static int64_t choose_registers(const StepLoop *s, const ScheduleClause *asked)
{
	bool asks = asked && s->nloops > 0;
	const ScheduleItem *item =
		asks ? clause_item(asked, s->kernel.iters[s->iters[s->nloops - 1]].name) : NULL;
	if (item && item->n > 1)
		return interchange_has_registers(s) ? item->numbers[1] : 0;
	if (schedule_is_complete(s->t->asked) || s->nloops == 0)
		return 0;
	int64_t n = interchange_registers(s);
	bool whole = s->nloops == 1 && n == constant_trips(s->program, s->loops[0]);
	return whole || !has_rows(s) ? n : 0;
}

static Strips choose(const StepLoop *s, const ScheduleClause *asked)
{
	const Target *target = s->t->options->target;
	Strips strips = {.registers = choose_registers(s, asked)};
	int64_t left = has_rows(s) ? target->interchange_rows : target->interchange_elements;
	for (uint32_t i = s->nloops; i-- > 0;) {
		int64_t number = asks_number(asked, s->kernel.iters[s->iters[i]].name);
		strips.of[i] = strip_of(s, i, &left);
		if (strips.registers > 1 && i + 1 < s->nloops)
			strips.of[i] = 1;
		if (number > 0)
			strips.of[i] = number;
	}
	return strips;
}

/* ---- the loops ---- */

static bool is_whole(const StepLoop *s, uint32_t i, int64_t strip)
{
	int64_t trips = constant_trips(s->program, s->loops[i]);
	return trips >= 0 && trips <= strip;
}

static const Stmt *loop_like(const StepLoop *s, uint32_t i, IterVar iter, const Ix *lo,
			     const Ix *hi, Block body)
{
	Stmt *loop = stmt_for(s->program->arena, iter, lo, hi, body);
	loop->span = s->loops[i]->span;
	return loop;
}

/* The loop over the elements of a strip, of which an iterator is the number. */
static const Stmt *in_strip(const StepLoop *s, uint32_t i, int64_t strip, IterVar number,
			    Block body)
{
	Program *program = s->program;
	const Stmt *loop = s->loops[i];
	if (is_whole(s, i, strip))
		return loop_like(s, i, s->iters[i], loop->lo, loop->hi, body);
	const Ix *first = ix_times(program, ix_iter(program->arena, number), strip);
	const Ix *end = ix_plus(program, first, strip);
	int64_t trips = constant_trips(program, loop);
	if (trips < 0 || trips % strip != 0)
		end = ix_binary(program, IX_MIN, loop->hi, end);
	return loop_like(s, i, s->iters[i], first, end, body);
}

/* The loop over strips; of one element each it is that over elements. */
static const Stmt *over_strips(const StepLoop *s, uint32_t i, int64_t strip, IterVar number,
			       Block body)
{
	Program *program = s->program;
	Size n = size_ceil(program->sizes, s->loops[i]->hi->size, strip);
	Stmt *loop = (Stmt *)loop_like(s, i, number, ix_const(program, 0),
				       ix_size(program->arena, n), body);
	loop->independent = true;
	return loop;
}

Stmt *interchange_steps(const StepLoop *s, Block block)
{
	const ProgramLoop *loop = &s->program->loops.at[s->kernels[s->from].loop];
	Stmt *steps = stmt_for(s->program->arena, s->step, ix_const(s->program, 0),
			       ix_size(s->program->arena, loop->count), block);
	steps->span = loop->span;
	return steps;
}

/* The loops over the elements of a strip, the first `n` of them, around a block. */
static Block in_strips(const StepLoop *s, uint32_t n, const Strips *strips, const IterVar *numbers,
		       Block block)
{
	for (uint32_t i = n; i-- > 0;)
		if (strips->of[i] > 1 || is_whole(s, i, 1))
			block = block_one(s->program->arena,
					  in_strip(s, i, strips->of[i], numbers[i], block));
	return block;
}

static Block nest_of(StepLoop *s, const Strips *strips)
{
	Program *program = s->program;
	IterVar numbers[NEST_LOOPS];
	uint32_t left = s->nloops - (strips->registers > 1);
	for (uint32_t i = 0; i < s->nloops; i++) /* a schedule names both loops alike */
		numbers[i] = strips->of[i] == 1
				     ? s->iters[i]
				     : kernel_add_iter(program, &s->kernel,
						       s->kernel.iters[s->iters[i]].name);
	Block block = {0};
	if (s->nloops == 0) {
		block = interchange_in_locals(s);
	} else if (strips->registers > 1) {
		block = interchange_in_registers(s, numbers[left], strips->registers);
		block = in_strips(s, left, strips, numbers, block);
	} else {
		block = in_strips(s, left, strips, numbers, s->body);
		block = block_one(program->arena, interchange_steps(s, block));
	}
	for (uint32_t i = left; i-- > 0;)
		if (!is_whole(s, i, strips->of[i]))
			block = block_one(program->arena,
					  over_strips(s, i, strips->of[i], numbers[i], block));
	return block;
}

/* ---- loops of a routine ---- */

/* The kernel takes the place of the last one. */
static void replace(StepLoop *s)
{
	const Kernel *last = &s->kernels[s->to - 1];
	s->made = true;
	s->kernel.name = last->name;
	s->kernel.span = last->span;
	s->kernel.site = last->site;
	s->kernel.loop = s->program->loops.at[last->loop].parent;
}

static void describe(const StepLoop *s, ScheduleEntry *entry, const Strips *strips)
{
	Arena *arena = s->program->arena;
	ScheduleClause *made = entry_make(arena, entry, CHOICE_INTERCHANGE, false);
	for (uint32_t i = 0; i < s->nloops; i++) {
		bool two = i + 1 == s->nloops && strips->registers > 0;
		clause_add(arena, made, s->kernel.iters[s->iters[i]].name,
			   (int64_t[]){strips->of[i], strips->registers}, two ? 2 : 1);
	}
}

/* Is something asked of a kernel that it needs a loop of its own for? */
static bool asks_kernels(const StepLoop *s)
{
	static const Choice choices[] = {CHOICE_FUSE_ROWS, CHOICE_HORIZONTAL, CHOICE_TRANSPOSE_TILE,
					 CHOICE_PREFETCH,  CHOICE_STREAM,     CHOICE_PARALLEL};
	bool asks = false;
	for (uint32_t k = s->from; k < s->to; k++)
		for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
			asks |= (k + 1 < s->to || choices[i] != CHOICE_PARALLEL) &&
				asks_on(kernel_asked(s->t, &s->kernels[k], choices[i]));
	return asks;
}

/* Is it to be made? */
static bool is_wanted(const StepLoop *s)
{
	const ScheduleClause *asked =
		kernel_asked(s->t, &s->kernels[s->to - 1], CHOICE_INTERCHANGE);
	return !asks_off(asked) && (asks_on(asked) || !asks_kernels(s));
}

/* The kernels of a loop become the last one of them. */
static void interchange(StepLoop *s, ScheduleEntry *entry)
{
	const Kernel *last = &s->kernels[s->to - 1];
	interchange_locals(s);
	Strips strips = choose(s, kernel_asked(s->t, last, CHOICE_INTERCHANGE));
	describe(s, entry, &strips);
	s->kernel.body = nest_of(s, &strips);
	replace(s);
}

/* How many lines at a time the steps are to go inside of the loop over them; 0: not at all. */
static int64_t choose_lines(StepLoop *s, Lines *lines)
{
	const ScheduleClause *asked =
		kernel_asked(s->t, &s->kernels[s->to - 1], CHOICE_INTERCHANGE);
	interchange_find_lines(s, lines);
	if (!s->independent)
		return 0;
	int64_t number = asks_number(asked, lines->name);
	int64_t n = number > 0 ? number : interchange_lines(s, lines);
	return n == 0 && asks_on(asked) ? lines->unit : n;
}

/* The same for lines: of the loop `s`, put together as `of_lines`. */
static void interchange_with_lines(StepLoop *s, StepLoop *of_lines, Lines *lines, int64_t n)
{
	Arena *arena = s->program->arena;
	ScheduleEntry *entry = schedule_entry(s->program->made, s->kernels[s->to - 1].name);
	interchange_in_lines(of_lines, lines, n);
	clause_add(arena, entry_make(arena, entry, CHOICE_INTERCHANGE, false), lines->name, &n, 1);
	s->kernel = of_lines->kernel;
	replace(s);
}

static void try_loop(StepLoop *s)
{
	const Kernel *last = &s->kernels[s->to - 1];
	ScheduleEntry *entry = schedule_entry(s->program->made, last->name);
	StepLoop of_lines = *s;
	Lines lines = {0};
	if (!entry)
		return;
	if (is_wanted(s))
		interchange_find(s);
	const ScheduleClause *asked = kernel_asked(s->t, last, CHOICE_INTERCHANGE);
	bool elements = s->independent && (asks_on(asked) || pays(s));
	int64_t n = is_wanted(s) && !s->independent ? choose_lines(&of_lines, &lines) : 0;
	if (elements)
		interchange(s, entry);
	else if (n > 0)
		interchange_with_lines(s, &of_lines, &lines, n);
	else if (says_off(asked))
		entry_make(s->program->arena, entry, CHOICE_INTERCHANGE, true);
}

/* Where the kernels from `from` on end that are in the loop of the first of them. */
static uint32_t loop_end(const Program *program, const Kernel *kernels, uint32_t n, uint32_t from)
{
	uint32_t to = from;
	while (to < n && program_loop_in(program, kernels[to].loop, kernels[from].loop))
		to++;
	return to;
}

static bool is_whole_loop(const StepLoop *s)
{
	return s->from == 0 ||
	       !program_loop_in(s->program, s->kernels[s->from - 1].loop, s->kernels[s->from].loop);
}

static uint32_t interchange_routine(const Transform *t, Kernel *kernels, uint32_t n)
{
	Kernel *made = ARENA_ARRAY(t->scratch, Kernel, n + 1);
	uint32_t left = 0;
	for (uint32_t k = 0; k < n;) {
		StepLoop s = {.t = t, .program = t->program, .kernels = kernels, .n = n, .from = k};
		s.to = kernels[k].loop ? loop_end(t->program, kernels, n, k) : k + 1;
		if (kernels[k].loop && is_whole_loop(&s))
			try_loop(&s);
		made[left++] = s.made ? s.kernel : kernels[k];
		k = s.made ? s.to : k + 1;
	}
	memcpy(kernels, made, left * sizeof *made);
	return left;
}

/* Falls where a kernel leaves a loop. */
static uint64_t sum_of_loops(const Program *program)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < program->kernels.n; i++)
		sum += program->kernels.at[i].loop;
	return sum;
}

void transform_interchange(Transform *t)
{
	uint64_t before = sum_of_loops(t->program);
	if (t->options->gpu)
		return;
	routines_change(t, interchange_routine);
	t->changed = sum_of_loops(t->program) < before;
}
