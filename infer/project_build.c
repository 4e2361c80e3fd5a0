/* The second stratum: classes become iterators, maps become indices.
 *
 * The parts of concatenated axes are alternatives: one class of each group is active in a piece,
 * and a tensor is present where every class that it mentions is active (of a concatenated axis: one
 * of its parts). A piece exists for each choice that gives the result a place and some operand a
 * value, once where choices differ in what it does not mention.
 *
 *   padded   index = stride*o + dilation*k + offset - left,  left = floor(((k - 1)*dilation + 1)/2)
 *
 * Indices hold class ids until all pieces are known; then the iterators that are used get their
 * numbers in the order of mention (result, then operands) and replace them.
 */
#include "base/size_order.h"
#include "infer/project.h"

enum { ACCESS_LIMIT = 1 << 21 }; /* pieces times operands */

typedef VEC(ClassId) ClassVec;

typedef struct Builder {
	Projector *p;
	Proj *proj;
	bool *active;	  /* by class: in no group, or chosen */
	bool *used;	  /* by class: some index mentions it */
	IterId *iters;	  /* by class, once numbered */
	ClassVec *groups; /* the members of each group, in order of mention */
	uint32_t ngroups;
	uint32_t *choice; /* by group: which member is active */
	VEC(Piece) pieces;
	bool failed;
} Builder;

/* ---- indices ---- */

static bool iterates(const Projector *p, ClassId c)
{
	const Class *cls = &p->classes.at[c];
	return !cls->unit &&
	       (cls->keep || cls->group != CLASS_NONE || !size_is(p->sizes, cls->extent, 1));
}

static void index_add(Builder *b, Index *index, ClassId c, int64_t coef)
{
	if (!iterates(b->p, c))
		return;
	for (uint32_t i = 0; i < index->nterms; i++)
		if (index->terms[i].iter == c) {
			index->terms[i].coef += coef;
			return;
		}
	index->terms[index->nterms++] = (IndexTerm){c, coef};
}

/* Is the index within [0, size) wherever the loops run? (false: not known) */
static bool index_is_inside(const Builder *b, const Index *index, Size size)
{
	Sizes *sizes = b->p->sizes;
	Size greatest = index->offset;
	for (uint32_t i = 0; i < index->nterms; i++) {
		Size last = size_plus(sizes, b->p->classes.at[index->terms[i].iter].extent, -1);
		greatest = size_add(sizes, greatest, size_scale(sizes, last, index->terms[i].coef));
	}
	return size_ge(sizes, index->offset, size_const(sizes, 0)) &&
	       size_ge(sizes, size_plus(sizes, size, -1), greatest);
}

static bool view_affine(Builder *b, const AxisMap *axis, Index *index)
{
	Sizes *sizes = b->p->sizes;
	index_add(b, index, axis->cls, axis->stride);
	if (axis->kernel == CLASS_NONE)
		return b->active[axis->cls];
	index_add(b, index, axis->kernel, axis->dilation);
	if (axis->mark == MARK_PADDED || axis->mark == MARK_PADDED_CEIL) {
		Size last = size_plus(sizes, b->p->classes.at[axis->kernel].extent, -1);
		Size span = size_plus(sizes, size_scale(sizes, last, axis->dilation), 1);
		index->offset = size_sub(sizes, index->offset, size_floor(sizes, span, 2));
		index->guarded = !index_is_inside(b, index, axis->size);
	}
	if (axis->padded)
		index->guarded = !index_is_inside(b, index, axis->size);
	return b->active[axis->cls] && b->active[axis->kernel];
}

/* A letter would stand at two places at once. */
static void blame_twice(Builder *b, const AxisMap *axis, ClassId c)
{
	const Class *cls = &b->p->classes.at[c];
	const TensorMap *result = &b->p->result;
	bool written = axis >= result->axes && axis < result->axes + result->naxes;
	const char *instead =
		written ? "parts run one after another, each under a letter of its own: "
			  "'concat(\"i; j => i^j\", x, x)' writes x twice"
			: "equal parts are an axis of a reshape: "
			  "'sum(\"h, i => i\", reshape(x)) with (h = 2)' adds two halves";
	diag(b->p->diags, E0931, cls->span, "'%s' is twice a part of the same axis", cls->name);
	diag_note(b->p->diags, cls->span, "%s", instead);
	b->failed = true;
}

static Size part_extent(const Builder *b, const MapPart *part)
{
	bool own = part->cls == CLASS_NONE || part->run == PART_STILL;
	return own ? part->extent : b->p->classes.at[part->cls].extent;
}

/* What the other parts leave of the axis. */
static Size rest_extent(const Builder *b, const AxisMap *axis)
{
	Size rest = axis->size;
	for (uint32_t i = 0; i < axis->nparts; i++) {
		Size extent = part_extent(b, &axis->parts[i]);
		if (!size_is_bad(extent))
			rest = size_sub(b->p->sizes, rest, extent);
	}
	return rest;
}

/* A part that begins at `before`: its index grows with its class, falls, or stays. */
static void view_part(Builder *b, const MapPart *part, Size before, Index *index)
{
	Sizes *sizes = b->p->sizes;
	index->offset = before;
	if (part->run == PART_BACKWARD)
		index->offset = size_plus(sizes, size_add(sizes, before, part_extent(b, part)), -1);
	if (part->run != PART_STILL)
		index_add(b, index, part->cls, part->run == PART_BACKWARD ? -1 : 1);
}

static bool view_concat(Builder *b, const AxisMap *axis, Index *index)
{
	Projector *p = b->p;
	Size before = size_const(p->sizes, 0);
	bool found = false;
	for (uint32_t i = 0; i < axis->nparts; i++) {
		ClassId c = axis->parts[i].cls;
		if (c != CLASS_NONE && b->active[c]) {
			if (found) {
				blame_twice(b, axis, c);
				return false;
			}
			found = true;
			view_part(b, &axis->parts[i], before, index);
		}
		Size extent = part_extent(b, &axis->parts[i]);
		extent = size_is_bad(extent) ? rest_extent(b, axis) : extent;
		before = size_add(p->sizes, before, extent);
	}
	return found;
}

/* The index of one axis in the current piece; false: the axis has no place in it. */
static bool view_axis(Builder *b, const AxisMap *axis, Index *index)
{
	*index = (Index){.offset = axis->offset, .gather = -1};
	index->terms = ARENA_ARRAY(b->p->perm, IndexTerm, 2);
	switch (axis->kind) {
	case MAP_FIXED: return true;
	case MAP_GATHER:
		index->gather = axis->gather;
		index->mode = b->p->node->mode;
		index->guarded = index->mode == INDEX_SKIPPED;
		return true;
	case MAP_CLASS: index_add(b, index, axis->cls, 1); return b->active[axis->cls];
	case MAP_AFFINE: return view_affine(b, axis, index);
	case MAP_CONCAT: return view_concat(b, axis, index);
	}
	return false;
}

static Access view_tensor(Builder *b, const TensorMap *map)
{
	if (map->needs != CLASS_NONE && !b->active[map->needs])
		return (Access){0};
	Access access = {.naxes = map->naxes, .axes = ARENA_ARRAY(b->p->perm, Index, map->naxes)};
	for (uint32_t i = 0; i < map->naxes; i++)
		if (!view_axis(b, &map->axes[i], &access.axes[i]))
			return (Access){0};
	access.present = true;
	return access;
}

/* ---- pieces ---- */

static void mark_used(Builder *b, const Access *access)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		for (uint32_t t = 0; t < access->axes[i].nterms; t++)
			b->used[access->axes[i].terms[t].iter] = true;
}

/* Whether that many operands make a piece of this operation. */
static bool piece_is_whole(Builder *b, uint32_t present, uint32_t first, uint32_t last)
{
	const Node *node = b->p->node;
	if (node->kind != NODE_BLOCK && node->kind != NODE_STACK)
		return present == node->nargs;
	if (present > 1) {
		diag(b->p->diags, E0331, node->arg_spans[last],
		     "several operands fit the same block of the result");
		diag_note(b->p->diags, node->arg_spans[first], "this is the first of them");
		diag_note(
			b->p->diags, node->op_span,
			"a result with '^' takes each part from one operand, and nothing for a number: give each "
			"operand its part, or multiply first");
		b->failed = true;
	}
	return present == 1;
}

/* Does the piece exist already, for another choice among parts that nothing in it has? The result
 * takes the parts of its axes from one operand each: another's parts do not repeat it. */
static bool is_repeated(Builder *b, const Piece *piece)
{
	Projector *p = b->p;
	for (uint32_t g = 0; g < b->ngroups; g++) {
		ClassId group = class_group_root(p, b->groups[g].at[0]);
		bool mentioned = b->choice[g] == 0 || map_mentions_group(p, &p->result, group);
		for (uint32_t i = 0; i < p->node->nargs && !mentioned; i++)
			mentioned =
				piece->args[i].present && map_mentions_group(p, &p->args[i], group);
		if (!mentioned)
			return true;
	}
	return false;
}

static void add_piece(Builder *b)
{
	const Projector *p = b->p;
	uint32_t nargs = p->node->nargs, present = 0, first = 0, last = 0;
	Piece piece = {.result = view_tensor(b, &p->result)};
	if (!piece.result.present)
		return;
	piece.args = ARENA_ARRAY(p->perm, Access, nargs);
	for (uint32_t i = 0; i < nargs; i++) {
		piece.args[i] = view_tensor(b, &p->args[i]);
		if (!piece.args[i].present)
			continue;
		last = i;
		if (present++ == 0)
			first = i;
	}
	if (!piece_is_whole(b, present, first, last) || is_repeated(b, &piece))
		return;
	mark_used(b, &piece.result);
	for (uint32_t i = 0; i < nargs; i++)
		mark_used(b, &piece.args[i]);
	PUSH(p->perm, b->pieces, piece);
}

static void choose(Builder *b, uint32_t group, uint32_t member)
{
	ClassVec *members = &b->groups[group];
	b->active[members->at[b->choice[group]]] = false;
	b->choice[group] = member;
	b->active[members->at[member]] = true;
}

/* Steps to the next choice, the last group fastest; false after the last one. */
static bool next_choice(Builder *b)
{
	for (uint32_t g = b->ngroups; g-- > 0;) {
		if (b->choice[g] + 1 < b->groups[g].n) {
			choose(b, g, b->choice[g] + 1);
			return true;
		}
		choose(b, g, 0);
	}
	return false;
}

static void find_groups(Builder *b)
{
	Projector *p = b->p;
	uint32_t n = (uint32_t)p->classes.n;
	uint32_t *group_of = ARENA_ARRAY(p->perm, uint32_t, n); /* by root class: its group + 1 */
	b->groups = ARENA_ARRAY(p->perm, ClassVec, n);
	for (ClassId c = 0; c < n; c++) {
		ClassId root = class_group_root(p, c);
		b->active[c] = root == CLASS_NONE;
		if (root == CLASS_NONE)
			continue;
		if (group_of[root] == 0)
			group_of[root] = ++b->ngroups;
		PUSH(p->perm, b->groups[group_of[root] - 1], c);
	}
	b->choice = ARENA_ARRAY(p->perm, uint32_t, b->ngroups);
	uint64_t accesses = p->node->nargs;
	for (uint32_t g = 0; g < b->ngroups; g++) {
		choose(b, g, 0);
		accesses *= b->groups[g].n;
		if (accesses > ACCESS_LIMIT)
			accesses = ACCESS_LIMIT + 1;
	}
	if (accesses > ACCESS_LIMIT) {
		diag(p->diags, E0932, p->node->span,
		     "so many blocks in one operation are not supported yet");
		b->failed = true;
	}
}

static bool axis_mentions(const AxisMap *axis, ClassId c)
{
	for (uint32_t part = 0; part < axis->nparts; part++)
		if (axis->parts[part].cls == c)
			return true;
	return axis->cls == c || axis->kernel == c;
}

static bool operand_mentions(const Projector *p, ClassId c)
{
	for (uint32_t arg = 0; arg < p->node->nargs; arg++)
		for (uint32_t i = 0; i < p->args[arg].naxes; i++)
			if (axis_mentions(&p->args[arg].axes[i], c))
				return true;
	return false;
}

static void say_alternatives(const Builder *b)
{
	if (b->ngroups > 0)
		diag_note(
			b->p->diags, b->p->node->spec->span,
			"the parts of an axis run one after another, and here two are needed at once");
}

/* A part of the result that some operand has, and that no piece writes: the operand needs another
 * part too. */
static bool check_parts(const Builder *b)
{
	const Projector *p = b->p;
	for (uint32_t i = 0; i < p->result.naxes; i++)
		for (uint32_t part = 0; part < p->result.axes[i].nparts; part++) {
			ClassId c = p->result.axes[i].parts[part].cls;
			if (c == CLASS_NONE || b->used[c] || p->classes.at[c].unit ||
			    !operand_mentions(p, c))
				continue;
			diag(p->diags, E0334, p->classes.at[c].span,
			     "nothing can be written to block '%s'", p->classes.at[c].name);
			say_alternatives(b);
			return false;
		}
	return true;
}

/* Operands that are in no piece: nothing of them reaches the result. */
static void warn_unread(const Builder *b)
{
	const Projector *p = b->p;
	for (uint32_t arg = 0; arg < p->node->nargs; arg++) {
		bool present = false;
		for (uint32_t i = 0; i < b->pieces.n && !present; i++)
			present = b->pieces.at[i].args[arg].present;
		if (present)
			continue;
		diag(p->diags, W0303, p->node->arg_spans[arg],
		     b->pieces.n > 0
			     ? "nothing of this operand is read"
			     : "nothing of this operand is read: the result is cleared only");
		say_alternatives(b);
		return;
	}
}

/* ---- iterators ---- */

static void number_class(Builder *b, ClassId c)
{
	if (c == CLASS_NONE || !b->used[c] || b->iters[c] != UINT32_MAX)
		return;
	b->iters[c] = b->proj->niters;
	b->proj->iters[b->proj->niters++] = (Iter){.name = b->p->classes.at[c].name,
						   .extent = b->p->classes.at[c].extent,
						   .span = b->p->classes.at[c].span};
}

static void number_tensor(Builder *b, const TensorMap *map)
{
	for (uint32_t i = 0; i < map->naxes; i++) {
		number_class(b, map->axes[i].cls);
		number_class(b, map->axes[i].kernel);
		for (uint32_t part = 0; part < map->axes[i].nparts; part++)
			number_class(b, map->axes[i].parts[part].cls);
	}
}

static void number_iters(Builder *b)
{
	Projector *p = b->p;
	b->proj->iters = ARENA_ARRAY(p->perm, Iter, p->classes.n);
	b->iters = ARENA_ARRAY(p->perm, IterId, p->classes.n);
	for (ClassId c = 0; c < p->classes.n; c++)
		b->iters[c] = UINT32_MAX;
	number_tensor(b, &p->result);
	uint32_t nresult = b->proj->niters;
	for (uint32_t i = 0; i < p->node->nargs; i++)
		number_tensor(b, &p->args[i]);
	for (uint32_t i = nresult; i < b->proj->niters; i++)
		b->proj->iters[i].reduced = true;
	project_name_iters(p, b->proj);
}

/* From classes to iterators, listing those not seen yet in this piece. */
static void renumber(Builder *b, Access *access, Piece *piece, IterId *seen_in, uint32_t piece_id)
{
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		for (uint32_t t = 0; t < access->axes[i].nterms; t++) {
			IndexTerm *term = &access->axes[i].terms[t];
			term->iter = b->iters[term->iter];
			if (seen_in[term->iter] != piece_id)
				piece->iters[piece->niters++] = term->iter;
			seen_in[term->iter] = piece_id;
		}
}

static uint32_t count_terms(const Access *access)
{
	uint32_t n = 0;
	for (uint32_t i = 0; access->present && i < access->naxes; i++)
		n += access->axes[i].nterms;
	return n;
}

static void finish_pieces(Builder *b)
{
	Proj *proj = b->proj;
	IterId *seen_in = ARENA_ARRAY(b->p->perm, IterId, proj->niters);
	for (uint32_t i = 0; i < b->pieces.n; i++) {
		Piece *piece = &b->pieces.at[i];
		uint32_t n = count_terms(&piece->result);
		for (uint32_t arg = 0; arg < proj->nargs; arg++)
			n += count_terms(&piece->args[arg]);
		piece->iters = ARENA_ARRAY(b->p->perm, IterId, n);
		renumber(b, &piece->result, piece, seen_in, i + 1);
		for (uint32_t arg = 0; arg < proj->nargs; arg++)
			renumber(b, &piece->args[arg], piece, seen_in, i + 1);
	}
	proj->pieces = b->pieces.at;
	proj->npieces = (uint32_t)b->pieces.n;
}

/* One factor an iterator, except that those of one group share theirs. */
static void make_factors(Builder *b)
{
	Projector *p = b->p;
	Proj *proj = b->proj;
	ClassId *class_of = ARENA_ARRAY(p->perm, ClassId, proj->niters);
	uint32_t *factor_of =
		ARENA_ARRAY(p->perm, uint32_t, p->classes.n); /* by group root: factor + 1 */
	proj->factors = ARENA_ARRAY(p->perm, Factor, proj->niters);
	for (ClassId c = 0; c < p->classes.n; c++)
		if (b->iters[c] != UINT32_MAX)
			class_of[b->iters[c]] = c;
	for (IterId i = 0; i < proj->niters; i++) {
		ClassId root = class_group_root(p, class_of[i]);
		if (root != CLASS_NONE && factor_of[root] > 0) {
			Factor *factor = &proj->factors[factor_of[root] - 1];
			factor->iters[factor->niters++] = i;
			continue;
		}
		Factor *factor = &proj->factors[proj->nfactors++];
		factor->iters =
			ARENA_ARRAY(p->perm, IterId, root == CLASS_NONE ? 1 : proj->niters - i);
		factor->iters[factor->niters++] = i;
		if (root != CLASS_NONE)
			factor_of[root] = proj->nfactors;
	}
}

/* ---- what the form of the operation asks for ---- */

static bool check_form(const Projector *p, const Proj *proj)
{
	uint32_t nreduced = 0;
	for (uint32_t i = 0; i < proj->niters; i++)
		nreduced += proj->iters[i].reduced;
	if (p->node->kind == NODE_ARGMAX && nreduced != 1) {
		diag(p->diags, E0332, p->node->spec->span,
		     "arg%s reduces exactly one axis, and this specification reduces %u",
		     op_name(p->node->reduce), nreduced);
		return false;
	}
	if (p->node->permutes && (nreduced > 0 || !proj->injective || !proj->surjective)) {
		diag(p->diags, E0333, p->node->spec->span,
		     "permute must move every element to one place of its own");
		diag_note(p->diags, p->node->op_span,
			  "reduce and einsum may drop, repeat and add up axes");
		return false;
	}
	return true;
}

static void resolve_tensor(Projector *p, TensorMap *map)
{
	for (uint32_t i = 0; i < map->naxes; i++)
		if (map->axes[i].cls != CLASS_NONE)
			map->axes[i].cls = class_root(p, map->axes[i].cls);
}

Proj *project_build(Projector *p)
{
	Builder b = {.p = p, .proj = ARENA_NEW(p->perm, Proj)};
	b.proj->nargs = p->node->nargs;
	b.active = ARENA_ARRAY(p->perm, bool, p->classes.n);
	b.used = ARENA_ARRAY(p->perm, bool, p->classes.n);
	resolve_tensor(p, &p->result);
	for (uint32_t i = 0; i < p->node->nargs; i++)
		resolve_tensor(p, &p->args[i]);
	find_groups(&b);
	if (b.failed)
		return NULL;
	do
		add_piece(&b);
	while (!b.failed && next_choice(&b)); /* falls: choices to come, in their order */
	if (b.failed || !check_parts(&b))
		return NULL;
	warn_unread(&b);
	number_iters(&b);
	finish_pieces(&b);
	make_factors(&b);
	project_facts(p->sizes, result_shape(p), b.proj);
	return check_form(p, b.proj) ? b.proj : NULL;
}
