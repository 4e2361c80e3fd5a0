/* Random specifications of small constant sizes: what the projection does is compared with what the
 * specification says, and every claim about writes with a count of them. Then projections are
 * broken at random: the checker may not accept one that computes something else. Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "infer/check.h"
#include "test/unit/proj_run.h"
#include "test/unit/small_graph.h"

enum { LETTERS = 4, RANK = 3, ELEMENTS = 1 << 14, PROGRAMS = 1500, DAMAGES = 12 };

typedef struct Random {
	uint64_t state;
} Random;

static uint32_t next(Random *r, uint32_t n)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33) % n;
}

/* One axis: a fixed index (stride 0), or stride*over [+ dilation*kernel] + offset - left. */
typedef struct RandomAxis {
	int over, kernel; /* letters; -1: none */
	int64_t stride, dilation, offset, size;
	bool padded;
} RandomAxis;

typedef struct RandomTensor {
	RandomAxis axes[RANK];
	uint32_t n;
} RandomTensor;

typedef struct Program {
	int64_t extents[LETTERS];
	bool used[LETTERS];
	RandomTensor args[2], result;
	uint32_t nargs;
	char spec[512], shapes[3][128];
} Program;

static RandomAxis random_axis(Random *r, Program *p)
{
	RandomAxis axis = {.over = (int)next(r, LETTERS), .kernel = -1, .stride = 1};
	uint32_t kind = next(r, 10);
	p->used[axis.over] |= kind > 0;
	int64_t n = p->extents[axis.over];
	axis.size = n;
	if (kind == 0) {
		axis = (RandomAxis){.over = -1, .kernel = -1, .offset = next(r, 2)};
		axis.size = axis.offset + 1 + next(r, 2);
	} else if (kind <= 2) {
		axis.stride = 2 + next(r, 2);
		axis.offset = next(r, 3);
		axis.size = axis.offset < axis.stride ? axis.stride * n
						      : axis.stride * (n - 1) + axis.offset + 1;
	} else if (kind <= 5) {
		axis.kernel = (int)next(r, LETTERS);
		axis.stride = 1 + next(r, 3);
		axis.dilation = 1 + next(r, 4);
		axis.padded = kind == 5;
		p->used[axis.kernel] = true;
		int64_t span = 1 + (p->extents[axis.kernel] - 1) * axis.dilation;
		axis.size = axis.padded ? axis.stride * n : axis.stride * (n - 1) + span;
	}
	return axis;
}

static RandomTensor random_tensor(Random *r, Program *p)
{
	RandomTensor tensor = {.n = next(r, RANK + 1)};
	for (uint32_t i = 0; i < tensor.n; i++)
		tensor.axes[i] = random_axis(r, p);
	return tensor;
}

static void write_tensor(const RandomTensor *tensor, char *spec, char *shape)
{
	for (uint32_t i = 0; i < tensor->n; i++) {
		const RandomAxis *a = &tensor->axes[i];
		spec += strlen(spec);
		shape += strlen(shape);
		sprintf(shape, "%d, ", (int)a->size);
		if (a->over < 0)
			sprintf(spec, "%d, ", (int)a->offset);
		else if (a->kernel >= 0)
			sprintf(spec, "%d*%c%s%d*%c, ", (int)a->stride, 'a' + a->over,
				a->padded ? "=+" : "<+", (int)a->dilation, 'a' + a->kernel);
		else if (a->stride > 1)
			sprintf(spec, "%d*%c+%d, ", (int)a->stride, 'a' + a->over, (int)a->offset);
		else
			sprintf(spec, "%c, ", 'a' + a->over);
	}
}

static Program random_program(Random *r)
{
	Program p = {.nargs = 1 + next(r, 2)};
	for (int i = 0; i < LETTERS; i++)
		p.extents[i] = 1 + next(r, 4);
	for (uint32_t i = 0; i < p.nargs; i++) {
		p.args[i] = random_tensor(r, &p);
		write_tensor(&p.args[i], p.spec, p.shapes[i]);
		strcat(p.spec, i + 1 < p.nargs ? "; " : " => ");
	}
	p.result = random_tensor(r, &p);
	for (uint32_t i = 0; i < p.result.n; i++) /* a 0 of a result is one element */
		if (p.result.axes[i].over < 0 && p.result.axes[i].offset == 0)
			p.result.axes[i].size = 1;
	write_tensor(&p.result, p.spec, p.shapes[2]);
	return p;
}

/* ---- what the specification says ---- */

/* The element at these values of the letters; -1: outside. */
static int64_t said_element(const Program *p, const RandomTensor *tensor, const int64_t *letters)
{
	int64_t element = 0;
	for (uint32_t i = 0; i < tensor->n; i++) {
		const RandomAxis *a = &tensor->axes[i];
		int64_t at = a->offset + (a->over < 0 ? 0 : a->stride * letters[a->over]);
		if (a->kernel >= 0)
			at += a->dilation * letters[a->kernel];
		if (a->padded)
			at -= (1 + (p->extents[a->kernel] - 1) * a->dilation) / 2;
		if (at < 0 || at >= a->size)
			return -1;
		element = element * a->size + at;
	}
	return element;
}

static void run_said(const Program *p, int64_t *out)
{
	int64_t letters[LETTERS], points = 1;
	for (int i = 0; i < LETTERS; i++)
		points *= p->used[i] ? p->extents[i] : 1;
	for (int64_t point = 0; point < points; point++) {
		int64_t rest = point, value = 1;
		for (int i = 0; i < LETTERS; i++) {
			int64_t n = p->used[i] ? p->extents[i] : 1;
			letters[i] = rest % n;
			rest /= n;
		}
		int64_t to = said_element(p, &p->result, letters);
		for (uint32_t arg = 0; arg < p->nargs && to >= 0; arg++) {
			int64_t from = said_element(p, &p->args[arg], letters);
			to = from < 0 ? -1 : to;
			value *= from < 0 ? 0 : proj_element(arg, from);
		}
		if (to >= 0)
			out[to] += value;
	}
}

/* ---- what the projection does ---- */

typedef struct Buffers {
	int64_t said[ELEMENTS], out[ELEMENTS];
	uint32_t writes[ELEMENTS];
} Buffers;

static Done fresh(Buffers *b, int64_t nelements)
{
	memset(b->out, 0, (size_t)nelements * sizeof *b->out);
	memset(b->writes, 0, (size_t)nelements * sizeof *b->writes);
	return (Done){.out = b->out, .writes = b->writes, .nelements = nelements};
}

/* ---- breaking ---- */

static Index *random_index(Random *r, Piece *piece, uint32_t nargs)
{
	uint32_t which = next(r, nargs + 1);
	Access *access = which == nargs ? &piece->result : &piece->args[which];
	return access->naxes ? &access->axes[next(r, access->naxes)] : NULL;
}

/* Changes one thing in place. Term arrays have room for two. */
static void damage(Small *s, Random *r, Proj *proj)
{
	Sizes *sizes = s->graph.sizes;
	Piece *piece = &proj->pieces[0];
	Index *index = random_index(r, piece, proj->nargs),
	      *other = random_index(r, piece, proj->nargs);
	switch (next(r, 9)) {
	case 0:
		if (index)
			index->offset = size_plus(sizes, index->offset, next(r, 2) ? 1 : -1);
		break;
	case 1:
		if (index && index->nterms)
			index->terms[0].coef += next(r, 2) ? 1 : -1;
		break;
	case 2:
		if (index && index->nterms)
			index->terms[0].iter = next(r, proj->niters);
		break;
	case 3:
		if (proj->niters) {
			Size *extent = &proj->iters[next(r, proj->niters)].extent;
			if (!size_is(sizes, *extent, 1) || next(r, 2))
				*extent = size_plus(sizes, *extent,
						    next(r, 2) && !size_is(sizes, *extent, 1) ? -1
											      : 1);
		}
		break;
	case 4:
		if (index && other) {
			Index swap = *index;
			*index = *other;
			*other = swap;
		}
		break;
	case 5:
		if (index)
			index->guarded = !index->guarded;
		break;
	case 6:
		proj->injective = !proj->injective;
		break;
	case 7:
		proj->surjective = !proj->surjective;
		break;
	default:
		proj->clear = !proj->clear;
		break;
	}
}

/* ---- the comparison ---- */

static const char *ask(Small *s, NodeId id)
{
	Checker c;
	checker_init(&c, &s->inference, s->arena);
	return check_node(&c, id);
}

static NodeId build(Small *s, const Program *p)
{
	NodeId args[2];
	for (uint32_t i = 0; i < p->nargs; i++)
		args[i] = small_leaf(s, p->shapes[i]);
	NodeId id = small_spec(s, NODE_SPEC, p->spec, p->shapes[2], p->nargs, args);
	for (int i = 0; i < LETTERS; i++) {
		char letter[2] = {(char)('a' + i)}, size[8];
		sprintf(size, "%d", (int)p->extents[i]);
		small_letter(s, id, letter, size);
	}
	return id;
}

static int64_t nelements_of(const Program *p)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < p->result.n; i++)
		n *= p->result.axes[i].size;
	return n;
}

static void compare(Small *s, const Program *p, NodeId id, Buffers *b)
{
	const Proj *proj = s->projs[id];
	int64_t n = nelements_of(p);
	bool once, all;
	Done done = fresh(b, n);
	memset(b->said, 0, (size_t)n * sizeof *b->said);
	run_said(p, b->said);
	proj_run(s, id, &done);
	done_count(&done, &once, &all);
	if (done.outside || memcmp(b->said, b->out, (size_t)n * sizeof *b->said) != 0)
		fail_msg("%s computes something else:\n%s", p->spec, small_dump(s));
	if (proj->injective && !once)
		fail_msg("%s is not injective", p->spec);
	if (proj->surjective && !all)
		fail_msg("%s is not surjective", p->spec);
	bool reduces = false;
	for (uint32_t i = 0; i < proj->niters; i++)
		reduces |= proj->iters[i].reduced;
	if (n <= 4096 && (proj->injective != (once && !reduces) || proj->surjective != all))
		fail_msg("%s: injective %d surjective %d", p->spec, once, all);
	if (!proj->clear && (done.skipped || !once || !all))
		fail_msg("%s must be cleared", p->spec);
	const char *why = ask(s, id);
	if (why)
		fail_msg("%s is rejected: %s\n%s", p->spec, why, small_dump(s));
}

static void damage_once(Small *s, const Program *p, NodeId id, Random *r, Buffers *b)
{
	bool once, all;
	Proj *proj = small_derive(s, id);
	if (proj->npieces == 0)
		return;
	damage(s, r, proj);
	if (ask(s, id))
		return;
	Done done = fresh(b, nelements_of(p));
	proj_run(s, id, &done);
	done_count(&done, &once, &all);
	if (done.outside || memcmp(b->said, b->out, (size_t)done.nelements * sizeof *b->said) != 0)
		fail_msg("%s: accepted, but computes something else:\n%s", p->spec, small_dump(s));
	if ((proj->injective && !once) || (proj->surjective && !all))
		fail_msg("%s: a wrong claim is accepted", p->spec);
	if (!proj->clear && (done.skipped || !once || !all))
		fail_msg("%s: accepted without clearing", p->spec);
}

static void test_random(void **state)
{
	(void)state;
	Buffers *b = malloc(sizeof *b);
	assert_non_null(b);
	for (uint32_t seed = 1; seed <= PROGRAMS; seed++) {
		Random r = {seed};
		Small s;
		Program p = random_program(&r);
		if (nelements_of(&p) > ELEMENTS)
			continue;
		small_init(&s);
		NodeId id = build(&s, &p);
		assert_non_null(small_derive(&s, id));
		compare(&s, &p, id, b);
		for (int i = 0; i < DAMAGES; i++)
			damage_once(&s, &p, id, &r, b);
		small_free(&s);
	}
	free(b);
}

/* ---- concatenations ---- */

enum { PARTS = 4, BLOCKS = 400 };

/* Parts of one axis, skipped or copied from an operand; a second axis of one size for all. */
typedef struct Blocks {
	uint32_t nparts, nargs;
	int64_t sizes[PARTS], width, total;
	int arg[PARTS]; /* -1: skipped */
	char spec[256], shapes[PARTS + 1][32];
} Blocks;

static Blocks random_blocks(Random *r)
{
	Blocks b = {.nparts = 2 + next(r, PARTS - 1), .width = 1 + next(r, 3)};
	char result[128] = "";
	for (uint32_t i = 0; i < b.nparts; i++) {
		bool skipped = next(r, 4) == 0 && !(i + 1 == b.nparts && b.nargs == 0);
		b.sizes[i] = next(r, 4);
		b.total += b.sizes[i];
		b.arg[i] = skipped ? -1 : (int)b.nargs;
		if (i > 0)
			strcat(result, "^");
		if (skipped) {
			sprintf(result + strlen(result), "%d", (int)b.sizes[i]);
			continue;
		}
		sprintf(result + strlen(result), "p%u", b.nargs);
		sprintf(b.spec + strlen(b.spec), "%sp%u, c", b.nargs ? "; " : "", b.nargs);
		sprintf(b.shapes[b.nargs++], "%d, %d", (int)b.sizes[i], (int)b.width);
	}
	sprintf(b.spec + strlen(b.spec), " => c, %s", result);
	sprintf(b.shapes[PARTS], "%d, %d", (int)b.width, (int)b.total);
	return b;
}

static void run_blocks(const Blocks *b, int64_t *out)
{
	int64_t start = 0;
	for (uint32_t i = 0; i < b->nparts; i++) {
		for (int64_t at = 0; at < b->sizes[i] && b->arg[i] >= 0; at++)
			for (int64_t c = 0; c < b->width; c++)
				out[c * b->total + start + at] =
					proj_element((uint32_t)b->arg[i], at * b->width + c);
		start += b->sizes[i];
	}
}

static void compare_blocks(const Blocks *blocks, Buffers *b)
{
	Small s;
	NodeId args[PARTS];
	size_t n = (size_t)(blocks->total * blocks->width);
	small_init(&s);
	for (uint32_t i = 0; i < blocks->nargs; i++)
		args[i] = small_leaf(&s, blocks->shapes[i]);
	NodeId id = small_spec(&s, NODE_BLOCK, blocks->spec, blocks->shapes[PARTS], blocks->nargs,
			       args);
	assert_non_null(small_derive(&s, id));
	Done done = fresh(b, (int64_t)n);
	memset(b->said, 0, n * sizeof *b->said);
	run_blocks(blocks, b->said);
	proj_run(&s, id, &done);
	bool once, all;
	done_count(&done, &once, &all);
	if (done.outside || memcmp(b->said, b->out, n * sizeof *b->said) != 0)
		fail_msg("%s computes something else:\n%s", blocks->spec, small_dump(&s));
	if (s.projs[id]->injective != once || s.projs[id]->surjective != all ||
	    s.projs[id]->clear == (once && all))
		fail_msg("%s: a wrong claim:\n%s", blocks->spec, small_dump(&s));
	const char *why = ask(&s, id);
	if (why)
		fail_msg("%s is rejected: %s\n%s", blocks->spec, why, small_dump(&s));
	small_free(&s);
}

static void test_blocks(void **state)
{
	(void)state;
	Buffers *b = malloc(sizeof *b);
	assert_non_null(b);
	for (uint32_t seed = 1; seed <= BLOCKS; seed++) {
		Random r = {seed};
		Blocks blocks = random_blocks(&r);
		compare_blocks(&blocks, b);
	}
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
					   cmocka_unit_test(test_blocks)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
