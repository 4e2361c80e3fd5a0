/* Windows that are written, as windows that are read: a transposed convolution, the gradient of a
 * convolution with respect to its picture, is a convolution.
 *
 *   r[y + d*k + first] += g[y] * w[k]                      y in 0..Y, k in 0..K
 * writes element q from one y at most for each k, so with the kernel from its end
 *   r[q] = sum over k of g[q + d*k - first - d*(K - 1)] * w[K - 1 - k]
 *
 * where a step outside of g is skipped: a padded read, which tiles, margins and threads know. Elements
 * that nothing is added to are an empty sum; what was written outside of r is no element. An element adds
 * up from the last step of the kernel to the first.
 *
 * A picture that goes by in steps, r[s*y + d*k + first], is written by s kinds of elements, q*s +
 * phase, each of which meets steps of the kernel of its own: k0 + j*every, where the phase gives k0
 * and every = s / gcd(d, s). Each kind is a piece; elements that meet none are in no piece, and
 * cleared before. So are those outside of the picture where a kind meets a single step.
 *
 * The projection is replaced before lowering. In every piece each axis of the result has
 * an iterator of its own, or nothing is changed. What is a copy, each element from one place, stays as
 * it is.
 */
#include <string.h>

#include "base/integer.h"
#include "base/size_order.h"
#include "tensor/accesses.h"
#include "tensor/passes.h"

enum { KERNEL_MOST = 32, PHASES_MOST = 16, WINDOWS_MOST = 8 };

/* Elements at + q*stride, for the place q in 0..elements, are written by the picture's q + ahead -
 * j*dilation at step k0 + j*every of the kernel, for j in 0..steps. */
typedef struct Phase {
	Size at, elements, steps, ahead;
	int64_t k0, every, dilation;
	IterId place, kernel; /* of the new projection; the kernel's goes backwards */
	bool guarded;	      /* some of the picture's are outside */
} Phase;

/* An axis of the result that windows are written to: place*stride + kernel*dilation + first. */
typedef struct Window {
	uint32_t axis;
	IterId place, kernel; /* of the old projection */
	int64_t stride, dilation;
	Size first;
	Phase phases[PHASES_MOST];
	uint32_t nphases;
	bool covers; /* is every element in one of them? */
} Window;

typedef struct Gather {
	TensorProgram *program;
	const Node *node;
	const Shape *shape;
	const Proj *old;
	Proj *proj;
	Window windows[WINDOWS_MOST];
	uint32_t nwindows;
} Gather;

/* ---- whether ---- */

static uint32_t mentions(const Access *access, IterId iter)
{
	uint32_t n = 0;
	for (uint32_t a = 0; access->present && a < access->naxes; a++)
		for (uint32_t t = 0; t < access->axes[a].nterms; t++)
			n += access->axes[a].terms[t].iter == iter;
	return n;
}

/* Is the iterator, wherever operands mention it, a whole axis, and somewhere? Then its bounds are
 * that axis's. */
static bool is_whole_axis(const Gather *f, IterId iter)
{
	const Piece *piece = &f->old->pieces[0];
	uint32_t whole = 0, all = 0;
	for (uint32_t arg = 0; arg < f->node->nargs; arg++) {
		const Access *access = &piece->args[arg];
		const Shape *shape = tensor_shape(f->program, f->node->args[arg]);
		all += mentions(access, iter);
		for (uint32_t a = 0; access->present && a < access->naxes; a++) {
			const Index *index = &access->axes[a];
			whole += index->nterms == 1 && index->terms[0].iter == iter &&
				 index->terms[0].coef == 1 && !index->guarded &&
				 size_is(f->program->sizes, index->offset, 0) &&
				 size_same(f->old->iters[iter].extent, shape_axis(shape, a)->size);
		}
	}
	return whole > 0 && whole == all;
}

/* Can the phases be told apart where the program is compiled? */
static bool may_have_phases(const Gather *f, const Window *w)
{
	const Sizes *sizes = f->program->sizes;
	int64_t steps, first;
	return size_is_const(sizes, f->old->iters[w->kernel].extent, &steps) && steps > 0 &&
	       steps <= KERNEL_MOST && w->stride <= PHASES_MOST &&
	       (w->stride == 1 || size_is_const(sizes, w->first, &first));
}

/* Leaves the elements outside of the picture away, where the phase has one step and they are known. */
static bool narrow(const Gather *f, const Window *w, Phase *phase)
{
	Sizes *sizes = f->program->sizes;
	Size zero = size_const(sizes, 0);
	int64_t ahead, lo;
	if (!size_is_const(sizes, phase->ahead, &ahead) || !size_is(sizes, phase->steps, 1))
		return false;
	lo = ahead < 0 ? -ahead : 0;
	Size hi = size_plus(sizes, f->old->iters[w->place].extent, -ahead);
	if (size_ge(sizes, hi, phase->elements))
		hi = phase->elements;
	Size elements = size_plus(sizes, hi, -lo);
	if (!size_ge(sizes, phase->elements, hi) || !size_ge(sizes, elements, zero))
		return false;
	phase->at = size_plus(sizes, phase->at, lo * w->stride);
	phase->ahead = size_plus(sizes, phase->ahead, lo);
	phase->elements = elements;
	phase->guarded = false;
	return true;
}

/* The first step of the kernel that elements p + q*stride meet; -1: they meet none. */
static int64_t first_step(const Gather *f, const Window *w, int64_t p, int64_t every)
{
	int64_t first = 0, steps = 0;
	size_is_const(f->program->sizes, w->first, &first);
	size_is_const(f->program->sizes, f->old->iters[w->kernel].extent, &steps);
	for (int64_t k = 0; k < every && k < steps; k++)
		if (w->stride == 1 || (p - first - w->dilation * k) % w->stride == 0)
			return k;
	return -1;
}

/* Of the elements p + q*stride; false: they meet no step. */
static bool phase_of(const Gather *f, const Window *w, int64_t p, Phase *phase)
{
	Sizes *sizes = f->program->sizes;
	Size elements = shape_axis(f->shape, w->axis)->size;
	int64_t s = w->stride, common = greatest_divisor(w->dilation, s), steps = 0, first = 0;
	int64_t k0 = first_step(f, w, p, s / common);
	if (k0 < 0)
		return false;
	size_is_const(sizes, f->old->iters[w->kernel].extent, &steps);
	size_is_const(sizes, w->first, &first);
	*phase = (Phase){.k0 = k0, .every = s / common, .dilation = w->dilation / common};
	phase->at = size_const(sizes, p);
	phase->elements = size_ceil(sizes, size_plus(sizes, elements, -p), s);
	phase->steps = size_const(sizes, (steps - k0 + phase->every - 1) / phase->every);
	phase->ahead = s == 1 ? size_scale(sizes, w->first, -1)
			      : size_const(sizes, (p - first - w->dilation * k0) / s);
	return true;
}

/* Of the picture's first and last, counted from an element's place. */
static bool leaves_picture(const Gather *f, const Window *w, const Phase *phase)
{
	Sizes *sizes = f->program->sizes;
	Size reach = size_scale(sizes, size_plus(sizes, phase->steps, -1), phase->dilation);
	Size last = size_add(sizes, phase->ahead, phase->elements);
	return !size_ge(sizes, size_sub(sizes, phase->ahead, reach), size_const(sizes, 0)) ||
	       !size_ge(sizes, f->old->iters[w->place].extent, last);
}

static void find_phases(const Gather *f, Window *w)
{
	w->covers = true;
	for (int64_t p = 0; p < w->stride; p++) {
		Phase *phase = &w->phases[w->nphases];
		if (!phase_of(f, w, p, phase)) {
			w->covers = false;
			continue;
		}
		phase->guarded = leaves_picture(f, w, phase);
		w->covers &= !phase->guarded || !narrow(f, w, phase);
		w->nphases++;
	}
}

static bool add_window(Gather *f, uint32_t axis)
{
	const Access *result = &f->old->pieces[0].result;
	const Index *index = &result->axes[axis];
	if (index->nterms != 2 || index->gather >= 0 || f->nwindows == WINDOWS_MOST)
		return false;
	const IndexTerm *place = &index->terms[0], *kernel = &index->terms[1];
	Window w = {.axis = axis,
		    .place = place->iter,
		    .kernel = kernel->iter,
		    .stride = place->coef,
		    .dilation = kernel->coef,
		    .first = index->offset};
	if (w.stride < 1 || w.dilation < 1 || mentions(result, w.place) > 1 ||
	    mentions(result, w.kernel) > 1 || !is_whole_axis(f, w.place) || !may_have_phases(f, &w))
		return false;
	find_phases(f, &w);
	f->windows[f->nwindows++] = w;
	return true;
}

/* Is it an axis as it is, by an iterator that no other axis has? */
static bool is_own_axis(const Gather *f, uint32_t axis)
{
	const Access *result = &f->old->pieces[0].result;
	const Index *index = &result->axes[axis];
	Size size = shape_axis(f->shape, axis)->size;
	if (index->nterms == 0)
		return !index->guarded && index->gather < 0 && size_is(f->program->sizes, size, 1);
	return index->nterms == 1 && !index->guarded && index->terms[0].coef == 1 &&
	       mentions(result, index->terms[0].iter) == 1 &&
	       size_is(f->program->sizes, index->offset, 0) &&
	       size_same(f->old->iters[index->terms[0].iter].extent, size);
}

static bool finds_windows(Gather *f)
{
	int64_t phases = 1;
	bool plain = f->old && !f->old->linear && f->old->npieces == 1 &&
		     f->node->kind == NODE_SPEC && f->node->target == NODE_NONE &&
		     !f->old->injective;
	for (uint32_t a = 0; plain && a < f->old->pieces[0].result.naxes; a++)
		plain = is_own_axis(f, a) || add_window(f, a);
	for (uint32_t w = 0; plain && w < f->nwindows && phases <= PHASES_MOST; w++)
		phases *= f->windows[w].nphases;
	return plain && f->nwindows > 0 && phases <= PHASES_MOST;
}

/* ---- how ---- */

static const Window *window_of(const Gather *f, IterId iter)
{
	for (uint32_t w = 0; w < f->nwindows; w++)
		if (f->windows[w].place == iter || f->windows[w].kernel == iter)
			return &f->windows[w];
	return NULL;
}

static IterId add_iter(Gather *f, IterId like, Size extent, bool reduced)
{
	Iter iter = f->old->iters[like];
	iter.extent = extent;
	iter.reduced = reduced;
	f->proj->iters[f->proj->niters] = iter;
	return f->proj->niters++;
}

static void add_iters(Gather *f)
{
	for (uint32_t i = 0; i < f->nwindows; i++)
		for (uint32_t p = 0; p < f->windows[i].nphases; p++) {
			Window *w = &f->windows[i];
			Phase *phase = &w->phases[p];
			phase->place = add_iter(f, w->place, phase->elements, false);
			phase->kernel = add_iter(f, w->kernel, phase->steps, true);
		}
}

static void add_factor(const Gather *f, const IterId *iters, uint32_t n)
{
	Factor *factor = &f->proj->factors[f->proj->nfactors++];
	*factor = (Factor){ARENA_ARRAY(f->program->arena, IterId, n), n};
	memcpy(factor->iters, iters, n * sizeof *iters);
}

/* Phases of a window run one after another. */
static void add_factors(const Gather *f)
{
	IterId places[PHASES_MOST], kernels[PHASES_MOST];
	f->proj->factors = ARENA_ARRAY(f->program->arena, Factor, f->proj->niters + 1);
	f->proj->nfactors = 0;
	for (IterId i = 0; i < f->old->niters; i++)
		add_factor(f, &i, 1);
	for (uint32_t i = 0; i < f->nwindows; i++) {
		const Window *w = &f->windows[i];
		for (uint32_t p = 0; p < w->nphases; p++) {
			places[p] = w->phases[p].place;
			kernels[p] = w->phases[p].kernel;
		}
		add_factor(f, places, w->nphases);
		add_factor(f, kernels, w->nphases);
	}
}

/* The places of the picture that an element of the phase is written from. */
static Index picture_index(const Gather *f, const Phase *phase)
{
	Sizes *sizes = f->program->sizes;
	Size reach = size_scale(sizes, size_plus(sizes, phase->steps, -1), phase->dilation);
	Index index = {.gather = -1,
		       .terms = ARENA_ARRAY(f->program->arena, IndexTerm, 2),
		       .nterms = 2,
		       .offset = size_sub(sizes, phase->ahead, reach),
		       .guarded = phase->guarded};
	index.terms[0] = (IndexTerm){phase->place, 1};
	index.terms[1] = (IndexTerm){phase->kernel, phase->dilation};
	return index;
}

/* Reverses a term of the kernel: its steps of the phase from the last to the first. */
static void reverse_term(const Gather *f, const Phase *phase, Index *index, uint32_t t)
{
	Sizes *sizes = f->program->sizes;
	int64_t coef = index->terms[t].coef;
	Size more = size_scale(sizes, size_plus(sizes, phase->steps, -1), phase->every);
	Size last = size_plus(sizes, more, phase->k0);
	index->offset = size_add(sizes, index->offset, size_scale(sizes, last, coef));
	index->terms[t] = (IndexTerm){phase->kernel, -coef * phase->every};
}

/* The index of an operand's axis in the piece of these phases, one a window. */
static Index gathered_index(const Gather *f, const Index *old, const uint32_t *phases)
{
	Index index = *old;
	index.terms = ARENA_ARRAY(f->program->arena, IndexTerm, old->nterms + 1);
	for (uint32_t t = 0; t < old->nterms; t++) {
		const Window *w = window_of(f, old->terms[t].iter);
		const Phase *phase = w ? &w->phases[phases[w - f->windows]] : NULL;
		index.terms[t] = old->terms[t];
		if (w && old->terms[t].iter == w->place)
			return picture_index(f, phase);
		if (w)
			reverse_term(f, phase, &index, t);
	}
	return index;
}

static Access gathered_access(const Gather *f, const Access *old, const uint32_t *phases)
{
	Access access = *old;
	access.axes = ARENA_ARRAY(f->program->arena, Index, old->naxes + 1);
	for (uint32_t a = 0; old->present && a < old->naxes; a++)
		access.axes[a] = gathered_index(f, &old->axes[a], phases);
	return access;
}

static Access written(const Gather *f, const uint32_t *phases)
{
	const Access *old = &f->old->pieces[0].result;
	Access access = *old;
	access.axes = ARENA_ARRAY(f->program->arena, Index, old->naxes + 1);
	for (uint32_t a = 0; a < old->naxes; a++)
		access.axes[a] = old->axes[a];
	for (uint32_t i = 0; i < f->nwindows; i++) {
		const Window *w = &f->windows[i];
		const Phase *phase = &w->phases[phases[i]];
		Index *index = &access.axes[w->axis];
		*index = (Index){.gather = -1,
				 .nterms = 1,
				 .terms = ARENA_ARRAY(f->program->arena, IndexTerm, 1),
				 .offset = phase->at};
		index->terms[0] = (IndexTerm){phase->place, w->stride};
	}
	return access;
}

static void list_iters_of(const Gather *f, Piece *piece, const Access *access, bool reduced)
{
	for (uint32_t a = 0; access->present && a < access->naxes; a++)
		for (uint32_t t = 0; t < access->axes[a].nterms; t++) {
			IterId iter = access->axes[a].terms[t].iter;
			if (f->proj->iters[iter].reduced == reduced)
				piece_list_iter(piece, iter);
		}
}

/* The result's, as its axes are; then the sum's, as those of the picture are, with the kernel where
 * the picture goes by. */
static void list_iters(const Gather *f, Piece *piece)
{
	piece->iters = ARENA_ARRAY(f->program->arena, IterId, f->proj->niters + 1);
	list_iters_of(f, piece, &piece->result, false);
	for (int pictures = 1; pictures >= 0; pictures--)
		for (uint32_t arg = 0; arg < f->node->nargs; arg++)
			if (!pictures ||
			    mentions(&f->old->pieces[0].args[arg], f->windows[0].place))
				list_iters_of(f, piece, &piece->args[arg], true);
}

static void add_piece(Gather *f, const uint32_t *phases)
{
	Piece *piece = &f->proj->pieces[f->proj->npieces++];
	*piece = (Piece){.result = written(f, phases),
			 .args = ARENA_ARRAY(f->program->arena, Access, f->node->nargs + 1)};
	for (uint32_t arg = 0; arg < f->node->nargs; arg++)
		piece->args[arg] = gathered_access(f, &f->old->pieces[0].args[arg], phases);
	list_iters(f, piece);
}

/* The pieces of all combinations of phases, the last window's fastest. */
static void add_pieces(Gather *f)
{
	uint32_t phases[WINDOWS_MOST] = {0};
	uint32_t w = 0;
	do {
		add_piece(f, phases);
		for (w = f->nwindows; w > 0 && ++phases[w - 1] == f->windows[w - 1].nphases; w--)
			phases[w - 1] = 0;
	} while (w > 0);
}

static Proj *gathered(Gather *f)
{
	Arena *arena = f->program->arena;
	uint32_t niters = f->old->niters, npieces = 1;
	for (uint32_t w = 0; w < f->nwindows; w++) {
		niters += 2 * f->windows[w].nphases;
		npieces *= f->windows[w].nphases;
	}
	Proj *proj = f->proj = ARENA_NEW(arena, Proj);
	*proj = *f->old;
	proj->iters = ARENA_ARRAY(arena, Iter, niters);
	memcpy(proj->iters, f->old->iters, f->old->niters * sizeof *proj->iters);
	proj->pieces = ARENA_ARRAY(arena, Piece, npieces);
	proj->npieces = 0;
	proj->injective = false;
	proj->surjective = proj->disjoint = true;
	for (uint32_t w = 0; w < f->nwindows; w++)
		proj->surjective &= f->windows[w].covers;
	add_iters(f);
	add_factors(f);
	add_pieces(f);
	return proj;
}

/* ---- the program ---- */

/* A list of its own, which margins_add makes longer. */
static Margins *margins_copied(const TensorProgram *program, NodeId node)
{
	uint32_t n = shape_naxes(tensor_shape(program, node));
	Margins *copies = NULL, **end = &copies;
	for (const Margins *m = program->inference->margins[node]; m; m = m->next) {
		Margins *copy = *end = ARENA_NEW(program->arena, Margins);
		*copy = (Margins){.reduce = m->reduce,
				  .axes = ARENA_ARRAY(program->arena, Margin, n + 1)};
		memcpy(copy->axes, m->axes, n * sizeof *copy->axes);
		end = &copy->next;
	}
	return copies;
}

static Inference *copied(const TensorProgram *program)
{
	uint32_t n = (uint32_t)program->graph->nodes.n;
	Inference *copy = ARENA_NEW(program->arena, Inference);
	*copy = *program->inference;
	copy->projs = ARENA_ARRAY(program->arena, Proj *, n + 1);
	copy->margins = ARENA_ARRAY(program->arena, Margins *, n + 1);
	for (NodeId id = 0; id < n; id++) {
		copy->projs[id] = program->inference->projs[id];
		copy->margins[id] = margins_copied(program, id);
	}
	return copy;
}

bool gather_windows(TensorProgram *program)
{
	Inference *inference = NULL;
	for (NodeId id = 0; id < program->graph->nodes.n; id++) {
		Gather f = {.program = program,
			    .node = tensor_node(program, id),
			    .shape = tensor_shape(program, id),
			    .old = tensor_proj(program, id)};
		if (!finds_windows(&f))
			continue;
		inference = inference ? inference : copied(program);
		inference->projs[id] = gathered(&f);
		margins_add(inference, id, program->arena);
		PUSH(program->arena, program->made, id);
	}
	if (inference)
		program->inference = inference;
	return inference != NULL;
}
