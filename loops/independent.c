/* Which loops have independent iterations: a proof over the indices of all elements that are stored.
 *
 * For one buffer, every index is a sum over iterators. With respect to a loop over j it is split
 *
 *   index = H + c*j + L      L: terms that stay below c*step; H: the others
 *
 * Let L lie in [least, most] over all accesses, let every coefficient in H be a multiple of U, and
 * let j move by `span` in all. Then most - least < c*step and c*span + most - least < U make H, j
 * and L digits of one number: the same element means the same j. An offset counts in L, less what U
 * divides. An integer that is read may stand in H, whatever it is. A part of a buffer that is read only
 * does not count. What cannot be shown is taken for dependent.
 *
 * Loops of several kernels are looked at as one, whose k-th iteration is that of each: an index over a loop from
 * `first` by `step` has c*step in the place of c, and c*first more.
 */
#include <string.h>

#include "base/diag.h"
#include "base/size_order.h"
#include "loops/dependence.h"
#include "loops/digits.h"
#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

typedef struct Proof {
	Program *program;
	Arena *arena;
	const WholeLoop *parts; /* of several kernels; NULL: of one loop, as it is */
	uint32_t part;		/* that the walk is in */
	const Kernel *kernel;
	const Stmt *loop;
	IterRange range; /* of the loop, or of the one that all are */
	int64_t step;
	IterRange *ranges;     /* by IterVar, in the loops around */
	const IterRange *snapshot; /* a copy of them as they are; NULL: there is none */
	bool *declared;	       /* by LocalId: inside the root */
	VEC(const Cond *) conds; /* that hold where the walk is */
	VEC(ElementAccess) accesses;
	VEC(BufferId) stored;
	bool gpu;     /* may sums below a size be digits, too? A CPU's loops are chosen without */
	bool threads; /* of a block: locals of outside may be read, and scratch buffers count */
	bool cluster; /* of blocks of one: its scratch buffers count */
	bool privates; /* ... and set what each has of its own */
	bool failed;
} Proof;

/* ---- what the statement does ---- */

/* Two loops may share an iterator: the access keeps the ranges of its own. */
static void see_element(Proof *p, BufferId buffer, const Ix *ix, bool stores)
{
	size_t n = p->kernel->niters + 1;
	if (!p->snapshot)
		p->snapshot = memcpy(ARENA_ARRAY(p->arena, IterRange, n), p->ranges,
				     n * sizeof *p->ranges);
	const Cond **conds = ARENA_ARRAY(p->arena, const Cond *, p->conds.n + 1);
	for (size_t i = 0; i < p->conds.n; i++)
		conds[i] = p->conds.at[i];
	PUSH(p->arena, p->accesses,
	     ((ElementAccess){buffer, stores, ix, p->snapshot, conds, (uint32_t)p->conds.n,
			      p->part}));
}

static void see_local(Proof *p, LocalId local, bool sets)
{
	const KernelLocal *own = &p->kernel->locals[local];
	bool private = p->threads && (own->nthreads > 0 || own->role != ROLE_NONE);
	p->privates |= sets && private && !p->declared[local];
	p->failed = p->failed || (!p->declared[local] && !private && (sets || !p->threads));
}

static void see_value(void *of, const Value *value)
{
	Proof *p = of;
	if (value->kind == VALUE_LOAD)
		see_element(p, value->buffer, value->ix, false);
	if (value->kind == VALUE_LOCAL)
		see_local(p, value->local, false);
}

bool ix_bounding_size(const Sizes *sizes, const Ix *ix, IxKind extreme, Size *size)
{
	Size a, b;
	*size = ix->size;
	if (ix->kind != IX_MIN && ix->kind != IX_MAX)
		return ix->kind == IX_SIZE;
	if (ix->kind == extreme)
		return ix_bounding_size(sizes, ix->a, extreme, size) ||
		       ix_bounding_size(sizes, ix->b, extreme, size);
	if (!ix_bounding_size(sizes, ix->a, extreme, &a) ||
	    !ix_bounding_size(sizes, ix->b, extreme, &b))
		return false;
	bool less = size_ge(sizes, b, a);
	*size = less == (extreme == IX_MAX) ? a : b;
	return less || size_ge(sizes, a, b);
}

/* A loop from where another iterator is on runs over no more than from where that begins. */
static IterRange range_of(const Proof *p, const Stmt *loop)
{
	IterRange range = iter_range(p->program, loop);
	const IterRange *from = loop->lo->kind == IX_ITER ? &p->ranges[loop->lo->iter] : NULL;
	Size end;
	if (range.known || !from || !from->known ||
	    !ix_bounding_size(p->program->sizes, loop->hi, IX_MIN, &end))
		return range;
	range.first = from->first;
	range.span =
		size_plus(p->program->sizes, size_sub(p->program->sizes, end, from->first), -1);
	range.known = !size_is_bad(range.span);
	return range;
}

/* May iterations meet in the buffer? */
static bool counts(const Proof *p, const Buffer *buffer)
{
	return p->threads || !buffer->scratch || (p->cluster && buffer->cluster);
}

static void see_block(Proof *p, const Block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const Stmt *stmt = block->stmts[i];
		if (stmt->kind == LOOP_LOCAL)
			p->declared[stmt->local] = true;
		if (stmt->kind == LOOP_SET)
			see_local(p, stmt->local, true);
		if (stmt->kind == LOOP_CHECK)
			p->failed = true;
		if (stmt->kind == LOOP_FOR) {
			p->ranges[stmt->iter] = range_of(p, stmt);
			p->ranges[stmt->iter].open = true;
			p->snapshot = NULL;
		}
		if (stmt->kind == LOOP_STORE) {
			see_element(p, stmt->buffer, stmt->ix, true);
			if (counts(p, &p->program->buffers.at[stmt->buffer]))
				PUSH(p->arena, p->stored, stmt->buffer);
		}
		stmt_each_value(stmt, see_value, p);
		size_t outside = p->conds.n;
		for (uint32_t c = 0; c < stmt->nconds; c++)
			PUSH(p->arena, p->conds, &stmt->conds[c]);
		see_block(p, &stmt->body);
		p->conds.n = outside;
		if (stmt->kind == LOOP_FOR) {
			p->ranges[stmt->iter].open = false;
			p->snapshot = NULL;
		}
	}
}

/* ---- indices ---- */

/* An index as a sum, where the loop's iterator counts from 0 by one in loops of several kernels, and those of other loops that
 * move it backwards from their ends. */
typedef struct Index {
	Linear linear;
	const IterRange *ranges;
	IterVar iter;	/* of the loop */
	IterVar niters; /* of the kernel */
} Index;

static bool at_least(const Proof *p, Size a, Size b)
{
	return !size_is_bad(a) && !size_is_bad(b) && size_ge(p->program->sizes, a, b);
}

/* The term of the loop's own iterator has no part in H and L. */
static bool is_other(const Index *index, const LinearTerm *term)
{
	return term->atom->kind != IX_ITER || term->atom->iter != index->iter;
}

/* coef*i with coef < 0, i from `first` to `first + span`, as -coef*i' and an offset, where i' = 2*first + span - i. */
static void mirror_term(const Proof *p, Index *index, LinearTerm *term)
{
	Sizes *sizes = p->program->sizes;
	const IterRange *range =
		term->atom->kind == IX_ITER ? &index->ranges[term->atom->iter] : NULL;
	if (!range || !range->known || !at_least(p, size_const(sizes, 0), term->coef))
		return;
	Size ends = size_add(sizes, size_scale(sizes, range->first, 2), range->span);
	index->linear.offset =
		size_add(sizes, index->linear.offset, size_mul(sizes, term->coef, ends));
	term->coef = size_scale(sizes, term->coef, -1);
}

static Index index_of(const Proof *p, const ElementAccess *access)
{
	Sizes *sizes = p->program->sizes;
	const WholeLoop *part = p->parts ? &p->parts[access->part] : NULL;
	Index index = {ix_linear(p->program, access->ix), access->ranges,
		       part ? part->loop->iter : p->loop->iter,
		       part ? part->kernel->niters : p->kernel->niters};
	for (size_t i = 0; part && i < index.linear.terms.n; i++) {
		LinearTerm *term = &index.linear.terms.at[i];
		if (term->atom->kind != IX_ITER || term->atom->iter != index.iter)
			continue;
		Size before = size_mul(sizes, term->coef, part->loop->lo->size);
		index.linear.offset = size_add(sizes, index.linear.offset, before);
		term->coef = size_scale(sizes, term->coef, part->loop->step);
	}
	for (size_t i = 0; i < index.linear.terms.n; i++)
		if (is_other(&index, &index.linear.terms.at[i]))
			mirror_term(p, &index, &index.linear.terms.at[i]);
	return index;
}

/* ---- one buffer ---- */

typedef struct Digits {
	Size coef;		/* of the loop's iterator, in every index; SIZE_BAD: none is seen */
	SizeList leasts, mosts; /* of L, each once */
	Size unit;		/* of H; SIZE_BAD: H is empty */
} Digits;

/* Adds a term of H. */
static bool grow_unit(const Proof *p, Digits *digits, Size coef)
{
	const Sizes *sizes = p->program->sizes;
	if (size_is_bad(digits->unit) || size_divides(sizes, coef, digits->unit))
		digits->unit = coef;
	return size_divides(sizes, digits->unit, coef);
}

static void note(const Proof *p, SizeList *list, Size size)
{
	for (size_t i = 0; i < list->n; i++)
		if (size_same(list->at[i], size))
			return;
	PUSH(p->arena, *list, size);
}

/* The one that is no greater, or no less (`most`), than every other; SIZE_BAD: not known. */
static Size extreme(const Proof *p, const SizeList *list, bool most)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t k = 0;
		while (k < list->n && at_least(p, list->at[most ? i : k], list->at[most ? k : i]))
			k++;
		if (k == list->n)
			return list->at[i];
	}
	return SIZE_BAD;
}

/* The offset, less what U divides. */
static Size low_offset(const Proof *p, const Digits *digits, Size offset)
{
	Sizes *sizes = p->program->sizes;
	int64_t value, unit;
	if (size_is_bad(digits->unit) || size_is_bad(offset))
		return offset;
	if (size_divides(sizes, digits->unit, offset))
		return size_const(sizes, 0);
	if (size_is_const(sizes, digits->unit, &unit) && size_is_const(sizes, offset, &value) &&
	    unit > 0 && value >= 0)
		return size_const(sizes, value % unit);
	return offset;
}

static Size loop_coef(const Index *index)
{
	for (size_t i = 0; i < index->linear.terms.n; i++)
		if (!is_other(index, &index->linear.terms.at[i]))
			return index->linear.terms.at[i].coef;
	return SIZE_BAD;
}

/* Is the coefficient a multiple of all that the loop moves by? */
static bool is_above(const Proof *p, const LinearTerm *term, Size loop_span)
{
	return !size_is_bad(loop_span) && size_divides(p->program->sizes, loop_span, term->coef);
}

/* Is the size no less than 0 wherever the loops around run? */
static bool is_natural(const Proof *p, const Index *index, Size size)
{
	const IterRange *ranges = index->ranges;
	bool natural = at_least(p, size, size_const(p->program->sizes, 0));
	for (IterVar i = 0; i < index->niters && !natural; i++)
		natural = ranges[i].known && ranges[i].open && size_same(ranges[i].span, size);
	return natural;
}

/* Of an iterator, or of an index that is clamped to [0, size]; not known of others. */
static IterRange atom_range(const Proof *p, const Index *index, const Ix *atom)
{
	const IterRange *ranges = index->ranges;
	const Sizes *sizes = p->program->sizes;
	IterRange none = {.first = SIZE_BAD, .span = SIZE_BAD};
	if (atom->kind == IX_ITER)
		return ranges[atom->iter].known ? ranges[atom->iter] : none;
	Size most;
	if (!ix_is_clamped(sizes, atom, &most) || !is_natural(p, index, most))
		return none;
	return (IterRange){.known = true, .first = size_const(p->program->sizes, 0), .span = most};
}

/* What the terms but the loop's, and those above, move by in all; SIZE_BAD: not known. */
static Size whole_span(const Proof *p, const Index *index, Size above)
{
	Sizes *sizes = p->program->sizes;
	Size all = size_const(sizes, 0);
	for (size_t i = 0; i < index->linear.terms.n; i++) {
		const LinearTerm *term = &index->linear.terms.at[i];
		if (is_above(p, term, above) || !is_other(index, term))
			continue;
		IterRange range = atom_range(p, index, term->atom);
		if (!range.known || !at_least(p, term->coef, size_const(sizes, 0)))
			return SIZE_BAD;
		all = size_add(sizes, all, size_mul(sizes, term->coef, range.span));
	}
	return all;
}

/* What the loop moves an index by in all, its step included; SIZE_BAD: not known. */
static Size loop_span(const Proof *p, Size coef)
{
	Sizes *sizes = p->program->sizes;
	if (!p->range.known)
		return SIZE_BAD;
	return size_mul(sizes, coef, size_plus(sizes, p->range.span, p->step));
}

/* First the units of all accesses (`units`), then their digits. Terms that fit into L together do
 * so where one of them alone may not: 64 lanes of a loop that does not run for fewer, columns of rows
 * that may be none. */
static bool add_access(const Proof *p, Digits *digits, const ElementAccess *access, bool units)
{
	Sizes *sizes = p->program->sizes;
	Index index = index_of(p, access);
	Size coef = loop_coef(&index), least = low_offset(p, digits, index.linear.offset),
	     most = least, whole = whole_span(p, &index, SIZE_BAD);
	if (size_is_bad(coef) || !at_least(p, coef, size_const(sizes, 0)) ||
	    (!size_is_bad(digits->coef) && !size_same(coef, digits->coef)))
		return false;
	digits->coef = coef;
	Size step = size_scale(sizes, coef, p->step);
	bool fits = at_least(p, step, size_plus(sizes, whole, 1));
	Size above = loop_span(p, coef), below = whole_span(p, &index, above);
	if (size_is_bad(whole) && size_is_bad(below))
		return false;
	bool rest_fits = at_least(p, step, size_plus(sizes, below, 1));
	for (size_t i = 0; i < index.linear.terms.n; i++) {
		const LinearTerm *term = &index.linear.terms.at[i];
		if (!is_other(&index, term))
			continue;
		IterRange range = atom_range(p, &index, term->atom);
		Size first = size_mul(sizes, term->coef, range.first);
		Size span = size_mul(sizes, term->coef, range.span);
		if (fits || (rest_fits && !is_above(p, term, above)) ||
		    at_least(p, step, size_plus(sizes, span, 1))) {
			least = size_add(sizes, least, first);
			most = size_add(sizes, most, size_add(sizes, first, span));
		} else if (!grow_unit(p, digits, term->coef)) {
			return false;
		}
	}
	if (!units) {
		note(p, &digits->leasts, least);
		note(p, &digits->mosts, most);
	}
	return true;
}

/* The indices that the access reaches in all iterations; `least` is SIZE_BAD where it is not known. */
static Size reach(const Proof *p, const ElementAccess *access, Size *most)
{
	Sizes *sizes = p->program->sizes;
	Index index = index_of(p, access);
	Size least = index.linear.offset;
	*most = least;
	for (size_t i = 0; i < index.linear.terms.n; i++) {
		const LinearTerm *term = &index.linear.terms.at[i];
		IterRange range = atom_range(p, &index, term->atom);
		if (!range.known || !at_least(p, term->coef, size_const(sizes, 0)))
			return SIZE_BAD;
		least = size_add(sizes, least, size_mul(sizes, term->coef, range.first));
		*most = size_add(
			sizes, *most,
			size_mul(sizes, term->coef, size_add(sizes, range.first, range.span)));
	}
	return size_is_bad(*most) ? SIZE_BAD : least;
}

/* Does the access only read, and nowhere that an iteration stores to? */
static bool is_away(const Proof *p, const ElementAccess *access)
{
	Size most, other_most, least = access->stores ? SIZE_BAD : reach(p, access, &most);
	bool away = !size_is_bad(least);
	for (size_t i = 0; away && i < p->accesses.n; i++) {
		const ElementAccess *other = &p->accesses.at[i];
		if (other->buffer != access->buffer || !other->stores)
			continue;
		Size other_least = reach(p, other, &other_most);
		away = !size_is_bad(other_least) &&
		       (at_least(p, least, size_plus(p->program->sizes, other_most, 1)) ||
			at_least(p, other_least, size_plus(p->program->sizes, most, 1)));
	}
	return away;
}

static bool accesses_are_independent(const Proof *p, BufferId buffer, const bool *away)
{
	Sizes *sizes = p->program->sizes;
	Digits digits = {.coef = SIZE_BAD, .unit = SIZE_BAD};
	for (size_t i = 0; i < 2 * p->accesses.n; i++) {
		const ElementAccess *access = &p->accesses.at[i % p->accesses.n];
		if (access->buffer == buffer && !(away && away[i % p->accesses.n]) &&
		    !add_access(p, &digits, access, i < p->accesses.n))
			return false;
	}
	Size least = extreme(p, &digits.leasts, false), most = extreme(p, &digits.mosts, true);
	Size width = size_plus(sizes, size_sub(sizes, most, least), 1);
	if (!at_least(p, size_scale(sizes, digits.coef, p->step), width))
		return false;
	if (size_is_bad(digits.unit))
		return true;
	Size all = size_add(sizes, size_mul(sizes, digits.coef, p->range.span), width);
	return p->range.known && at_least(p, digits.unit, all);
}

/* Do all accesses have one index, which says the iteration? */
static bool index_says_iteration(const Proof *p, BufferId buffer)
{
	const ElementAccess *first = NULL;
	for (size_t i = 0; i < p->accesses.n; i++) {
		const ElementAccess *access = &p->accesses.at[i];
		if (access->buffer != buffer)
			continue;
		if (!ix_has_term(p->program, access->ix, p->loop->iter) ||
		    (first && !digits_are_alike(p->program, p->kernel, first, access)))
			return false;
		first = first ? first : access;
	}
	return first && digits_say_iter(p->program, p->kernel, first, p->loop->iter);
}

/* Does a condition hold in one iteration of the loop alone: the first, or that of a constant? */
static bool is_of_one_iteration(const Proof *p, const ElementAccess *access, int64_t *which)
{
	const Sizes *sizes = p->program->sizes;
	for (uint32_t i = 0; i < access->nconds; i++) {
		const Cond *cond = access->conds[i];
		if (cond->a->kind != IX_ITER || cond->a->iter != p->loop->iter ||
		    cond->b->kind != IX_SIZE || !size_is_const(sizes, cond->b->size, which))
			continue;
		*which -= cond->kind == COND_LT;
		if (cond->kind == COND_EQ || *which == 0)
			return true;
	}
	return false;
}

/* Do all accesses stand in the same iteration? */
static bool one_iteration_touches(const Proof *p, BufferId buffer)
{
	int64_t which = 0, first = -1;
	bool one = size_is(p->program->sizes, p->range.first, 0);
	for (size_t i = 0; one && i < p->accesses.n; i++) {
		const ElementAccess *access = &p->accesses.at[i];
		if (access->buffer != buffer)
			continue;
		one = is_of_one_iteration(p, access, &which) && (first < 0 || which == first);
		first = which;
	}
	return one && first >= 0;
}

/* What is read where nothing is stored does not matter; it is looked for where the rest does not do. */
static bool buffer_is_independent(const Proof *p, BufferId buffer)
{
	bool *away, any = false;
	if (accesses_are_independent(p, buffer, NULL) ||
	    (p->gpu && index_says_iteration(p, buffer)) ||
	    (p->threads && one_iteration_touches(p, buffer)))
		return true;
	away = ARENA_ARRAY(p->arena, bool, p->accesses.n + 1);
	for (size_t i = 0; i < p->accesses.n; i++) {
		away[i] = p->accesses.at[i].buffer == buffer && is_away(p, &p->accesses.at[i]);
		any |= away[i];
	}
	return any && accesses_are_independent(p, buffer, away);
}

/* Threads of a block run with all iterators of the loops around at one value: any of their ranges. */
static void range_around(void *of, const Stmt *stmt)
{
	Proof *p = of;
	if (stmt->kind == LOOP_FOR)
		p->ranges[stmt->iter] = iter_range(p->program, stmt);
}

static void begin_kernel(Proof *p, const Kernel *kernel)
{
	p->kernel = kernel;
	p->ranges = ARENA_ARRAY(p->arena, IterRange, kernel->niters + 1);
	p->declared = ARENA_ARRAY(p->arena, bool, kernel->nlocals + 1);
	p->snapshot = NULL;
}

static bool all_are_independent(const Proof *p)
{
	/* threads of a block may only wait */
	bool good = !p->failed && (p->stored.n > 0 || p->privates || p->threads);
	for (size_t i = 0; good && i < p->stored.n; i++)
		good = buffer_is_independent(p, p->stored.at[i]);
	return good;
}

static bool prove(Proof *p, const Stmt *root)
{
	p->arena = arena_new();
	p->step = p->loop->step;
	begin_kernel(p, p->kernel);
	if (p->threads || p->cluster)
		block_each(p->kernel->body, range_around, p);
	see_block(p, &(Block){&root, 1});
	p->range = p->ranges[p->loop->iter];
	bool good = all_are_independent(p);
	arena_free(p->arena);
	return good;
}

bool loop_is_independent(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Proof p = {.program = program, .kernel = kernel, .loop = loop};
	return loop->independent || prove(&p, root);
}

/* All loops go from 0 to `last` as one. */
static void see_part(Proof *p, uint32_t part)
{
	const Stmt *loop = p->parts[part].loop;
	p->part = part;
	begin_kernel(p, p->parts[part].kernel);
	p->ranges[loop->iter] = p->range;
	see_block(p, &loop->body);
}

bool loops_are_independent(Program *program, const WholeLoop *loops, uint32_t n)
{
	Sizes *sizes = program->sizes;
	const Stmt *loop = loops[0].loop;
	Size span = size_sub(sizes, loop->hi->size, loop->lo->size);
	Size last = size_plus(sizes, size_ceil(sizes, span, loop->step), -1);
	Proof p = {.program = program,
		   .arena = arena_new(),
		   .parts = loops,
		   .range = {!size_is_bad(last), true, size_const(sizes, 0), last},
		   .step = 1};
	for (uint32_t part = 0; part < n; part++)
		see_part(&p, part);
	bool good = all_are_independent(&p);
	arena_free(p.arena);
	return good;
}

bool loop_is_of_grid(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Proof p = {.program = program, .kernel = kernel, .loop = loop, .gpu = true};
	return prove(&p, root);
}

bool loop_is_of_threads(Program *program, const Kernel *kernel, const Stmt *root, const Stmt *loop)
{
	Proof p = {
		.program = program, .kernel = kernel, .loop = loop, .gpu = true, .threads = true};
	return constant_trips(program, loop) == 1 || prove(&p, root);
}

bool loop_is_of_cluster(Program *program, const Kernel *kernel, const Stmt *loop)
{
	Proof p = {
		.program = program, .kernel = kernel, .loop = loop, .gpu = true, .cluster = true};
	return prove(&p, loop);
}
