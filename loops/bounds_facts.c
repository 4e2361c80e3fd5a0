/* What is known where bounds.c stands: sizes of the program as sizes of the prover, symbols, facts
 * and their scopes, the guards of a routine.
 *
 * A hash goes with it, so that what is asked again of the same is answered at once; and so do
 * values of dims at which the facts hold: a goal that is below 0 at one of them is given up.
 */
#include "base/size_dims.h"
#include "loops/bounds_facts.h"

#include <stb/stb_ds.h>

#include "base/hash.h"
#include "base/size_eval.h"
#include "base/size_order.h"
#include "base/size_program.h"

/* Of dims, where goals are tried first. */
static const int64_t numbers[] = {1, 33, 7, 130, 64, 2, 17, 1000, 5, 31, 3, 65, 8, 100, 0, 16};
enum { NSAMPLES = sizeof numbers / sizeof numbers[0] };

Size prover_number(Prover *p, int64_t value) { return size_const(p->sizes, value); }

bool prover_at_least_0(Prover *p, Size a) { return size_ge(p->sizes, a, prover_number(p, 0)); }

/* ---- sizes of the program ---- */

static void run_op(Prover *p, SizeOp op, Size *stack, size_t *n)
{
	int64_t divisor = 0;
	if (op.code == SIZE_CONST || op.code == SIZE_DIM) {
		stack[(*n)++] = op.code == SIZE_CONST ? prover_number(p, op.arg) : p->dims[op.arg];
		return;
	}
	Size b = stack[--*n], *a = &stack[*n - 1];
	switch (op.code) {
	case SIZE_ADD: *a = size_add(p->sizes, *a, b); break;
	case SIZE_SUB: *a = size_sub(p->sizes, *a, b); break;
	case SIZE_MUL: *a = size_mul(p->sizes, *a, b); break;
	case SIZE_DIV: *a = size_div(p->sizes, *a, b); break;
	default: size_is_const(p->sizes, b, &divisor); *a = size_floor(p->sizes, *a, divisor);
	}
}

Size prover_size(Prover *p, Size size)
{
	int64_t constant;
	if (size_is_const(p->program->sizes, size, &constant))
		return prover_number(p, constant);
	while (p->known.n <= size.id)
		PUSH(p->arena, p->known, SIZE_BAD);
	if (!size_is_bad(p->known.at[size.id]))
		return p->known.at[size.id];
	SizeOp *ops;
	size_t n = size_program(p->arena, p->program->sizes, size, &ops), depth = 0;
	Size *stack = ARENA_ARRAY(p->arena, Size, n + 1);
	for (size_t i = 0; i < n; i++)
		run_op(p, ops[i], stack, &depth);
	return p->known.at[size.id] = depth ? stack[0] : SIZE_BAD;
}

/* ---- scopes ---- */

Sizes *prover_sizes(Prover *p) { return p->sizes; }

ProverScope prover_open(const Prover *p)
{
	return (ProverScope){p->symbols.n, p->facts.n, p->state, p->of_dims, p->samples, p->empty};
}

void prover_close(Prover *p, ProverScope scope)
{
	p->symbols.n = scope.symbols;
	p->facts.n = scope.facts;
	p->state = scope.state;
	p->of_dims = scope.of_dims;
	p->samples = scope.samples;
	p->empty = scope.empty;
}

uint64_t prover_state(const Prover *p) { return p->state; }
void prover_note(Prover *p, uint64_t word) { p->state = hash_mix(p->state, word); }

Size prover_new_symbol(Prover *p, Symbol symbol)
{
	DimId dim = p->first + (DimId)p->symbols.n;
	PUSH(p->arena, p->symbols, symbol);
	prover_note(p, (uint64_t)symbol.kind);
	prover_note(p, (uint64_t)symbol.a.id << 32 | symbol.b.id);
	if (dim == sizes_ndims(p->sizes))
		sizes_add_dim(p->sizes, (Dim){.name = "i"});
	return size_dim(p->sizes, dim);
}

Size prover_symbol(Prover *p) { return prover_new_symbol(p, (Symbol){0}); }

Size prover_same_symbol(Prover *p, Symbol symbol)
{
	for (size_t i = 0; i < p->symbols.n; i++) {
		const Symbol *s = &p->symbols.at[i];
		if (s->kind == symbol.kind && size_same(s->a, symbol.a) &&
		    size_same(s->b, symbol.b))
			return size_dim(p->sizes, p->first + (DimId)i);
	}
	return SIZE_BAD;
}

bool prover_sum(Prover *p, Size a, Size atom, Sum *sum)
{
	sum->atom = atom;
	return size_split(p->sizes, a, atom, &sum->coef, &sum->rest);
}

bool prover_is_fact(const Prover *p, Size a)
{
	for (size_t i = 0; i < p->facts.n; i++)
		if (size_same(p->facts.at[i].size, a))
			return true;
	return false;
}

uint32_t prover_below_0(const Prover *p, Size a, uint32_t set, bool first)
{
	uint32_t below = 0;
	int64_t value;
	for (uint32_t i = 0; i < NSAMPLES && !(first && below); i++)
		if (set >> i & 1 && size_eval(p->sizes, a, p->values + i * p->first, &value) &&
		    value < 0)
			below |= 1u << i;
	return below;
}

void prover_assume(Prover *p, Size a)
{
	Fact fact = {.size = a};
	int64_t value;
	if (size_is_bad(a))
		return;
	prover_note(p, a.id);
	p->empty |= size_is_const(p->sizes, a, &value) && value < 0;
	if (prover_is_fact(p, a) || !size_last_dim(p->sizes, a, &fact.last))
		return;
	if (!prover_sum(p, a, size_dim(p->sizes, fact.last), &fact.sum))
		fact.sum.atom = SIZE_BAD;
	if (fact.last < p->first) {
		p->of_dims = hash_mix(p->of_dims, a.id);
		p->samples &= ~prover_below_0(p, a, p->samples, false);
	}
	PUSH(p->arena, p->facts, fact);
}

Size prover_replaced(Prover *p, Size a, DimId dim, Size by)
{
	Size coef, rest;
	if (!size_split(p->sizes, a, size_dim(p->sizes, dim), &coef, &rest))
		return SIZE_BAD;
	return size_add(p->sizes, size_mul(p->sizes, coef, by), rest);
}

/* ---- a routine ---- */

/* n for m of `n must equal m`, where one of them is a dim that stands for itself. */
static bool replaces_dim(Prover *p, Size dim, Size by)
{
	DimId id;
	if (!size_is_dim(p->sizes, dim, &id) || id >= p->first || size_uses_dim(p->sizes, by, id))
		return false;
	for (DimId d = 0; d < p->first; d++)
		if (size_uses_dim(p->sizes, p->dims[d], id))
			p->dims[d] = prover_replaced(p, p->dims[d], id, by);
	p->known.n = 0;
	prover_assume(p, size_plus(p->sizes, by, -sizes_dim(p->sizes, id)->at_least));
	return true;
}

static void assume_check(Prover *p, const Check *check)
{
	Size a = prover_size(p, check->a), b = prover_size(p, check->b);
	if (check->kind == CHECK_GE)
		prover_assume(p, size_sub(p->sizes, a, b));
	if (check->kind != CHECK_EQ || replaces_dim(p, a, b) || replaces_dim(p, b, a))
		return;
	prover_assume(p, size_sub(p->sizes, a, b));
	prover_assume(p, size_sub(p->sizes, b, a));
}

static void choose_samples(Prover *p)
{
	for (uint32_t i = 0; i < NSAMPLES; i++)
		for (DimId d = 0; d < p->first; d++) {
			int64_t value = numbers[(i + 7 * d) % NSAMPLES];
			int64_t least = sizes_dim(p->sizes, d)->at_least;
			p->values[i * p->first + d] = value < least ? least : value;
		}
}

Prover *prover_new(Arena *arena, const Program *program)
{
	Prover *p = ARENA_NEW(arena, Prover);
	*p = (Prover){.arena = arena, .program = program, .sizes = sizes_new(arena)};
	p->first = sizes_ndims(program->sizes);
	p->dims = ARENA_ARRAY(arena, Size, p->first + 1);
	p->values = ARENA_ARRAY(arena, int64_t, NSAMPLES * (size_t)p->first + 1);
	for (DimId d = 0; d < p->first; d++)
		sizes_add_dim(p->sizes, *sizes_dim(program->sizes, d));
	choose_samples(p);
	return p;
}

void prover_free(Prover *p) { hmfree(p->answers); }

static void assume_guards(Prover *p, const ProgramRoutine *routine, CheckKind kind)
{
	for (uint32_t i = 0; i < routine->nguards; i++)
		if (p->program->checks.at[routine->guards[i]].kind == kind)
			assume_check(p, &p->program->checks.at[routine->guards[i]]);
}

/* The number of a step is below the number of steps. */
static void assume_loops(Prover *p)
{
	for (size_t i = 1; i < p->program->loops.n; i++) {
		const ProgramLoop *loop = &p->program->loops.at[i];
		Size step = prover_size(p, size_dim(p->program->sizes, loop->step));
		Size last = size_plus(p->sizes, prover_size(p, loop->count), -1);
		prover_assume(p, size_sub(p->sizes, last, step));
	}
}

void prover_enter(Prover *p, const ProgramRoutine *routine)
{
	p->facts.n = p->symbols.n = p->known.n = 0;
	p->state = p->of_dims = 0;
	p->samples = (1u << NSAMPLES) - 1;
	p->empty = false;
	for (DimId d = 0; d < p->first; d++)
		p->dims[d] = size_dim(p->sizes, d);
	assume_guards(p, routine, CHECK_EQ);
	for (DimId d = 0; d < p->first; d++)
		prover_note(p, p->dims[d].id);
	assume_guards(p, routine, CHECK_GE);
	assume_loops(p);
}
