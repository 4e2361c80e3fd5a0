/* Projections of specifications: a letter is a class, whatever row it stands in.
 *
 * Rows are ground, so a row variable is the axes between those written before it and behind it;
 * axis i of variable v is the letter (v, i). A letter that is an axis somewhere has that axis' size
 * (the result's first); of the others inference lists the sizes (Inference.letters). The axis that
 * cumulate and sort go along is two: that of the result, and that of the operand, which is reduced.
 */
#include "infer/project.h"

#include <stb/stb_ds.h>
#include <stdlib.h>

/* Of a row variable's axis the key is "v.3", which no letter can be. */
typedef struct LetterEntry {
	char *key;
	ClassId value;
} LetterEntry;

typedef struct SpecReader {
	Projector *p;
	int32_t indices; /* the operand that holds the next index of an axis in brackets */
	LetterEntry *letters; /* stb_ds string map, keys interned */
	Sym along; /* of the operand at hand: the letter that is read from end to end; or NULL */
} SpecReader;

/* ---- first mention of each letter ---- */

static ClassId keyed_class(SpecReader *r, Sym key, Sym name, Span span)
{
	ptrdiff_t at = shgeti(r->letters, key);
	if (at >= 0)
		return r->letters[at].value;
	ClassId c = class_new(r->p, SIZE_BAD, name, span);
	shput(r->letters, (char *)key, c);
	return c;
}

static ClassId letter_class(SpecReader *r, Sym letter, Span span)
{
	/* every element of the result is made of all of that axis */
	Sym key = letter != r->along ? letter
				     : sym_printf(r->p->inference->graph->symbols, "[%s]", letter);
	return keyed_class(r, key, letter, span);
}

static ClassId variable_class(SpecReader *r, Sym var, uint32_t i, Span span)
{
	Symbols *symbols = r->p->inference->graph->symbols;
	return keyed_class(r, sym_printf(symbols, "%s.%u", var, i),
			   sym_printf(symbols, "%s%u", var, i), span);
}

static void class_is_axis(SpecReader *r, AxisMap *axis, ClassId c)
{
	Projector *p = r->p;
	Class *cls = &p->classes.at[c];
	int64_t x, y;
	axis->kind = MAP_CLASS;
	axis->cls = c;
	if (size_is_bad(cls->extent))
		cls->extent = axis->size;
	else if (size_is_const(p->sizes, cls->extent, &x) &&
		 size_is_const(p->sizes, axis->size, &y) && x != y)
		project_bug(p, "one letter stands for axes of different sizes");
}

static void read_affine(SpecReader *r, AxisMap *axis, const SpecAxis *spec)
{
	Projector *p = r->p;
	if (spec->stride < 1 || (spec->kernel && spec->dilation < 1))
		project_bug(p, "an affine axis without a positive coefficient");
	axis->kind = MAP_AFFINE;
	axis->stride = spec->stride;
	axis->offset = size_const(p->sizes, spec->offset);
	if (spec->shift)
		axis->offset = size_add(p->sizes, axis->offset,
					infer_size(p->inference, spec->shift));
	axis->cls = letter_class(r, spec->letter, spec->span);
	if (!spec->kernel)
		return;
	axis->dilation = spec->dilation;
	axis->mark = spec->mark;
	axis->padded = spec->padded;
	axis->offset = size_plus(p->sizes, axis->offset, -spec->before);
	axis->kernel = letter_class(r, spec->kernel, spec->span);
}

/* SIZE_BAD: a letter's, or the rest. */
static Size skipped_size(const Projector *p, const SpecPart *part)
{
	if (part->extent)
		return infer_size(p->inference, part->extent);
	return spec_part_is_solved(part) ? SIZE_BAD : size_const(p->sizes, part->size);
}

static void read_concat(SpecReader *r, AxisMap *axis, const SpecAxis *spec)
{
	Projector *p = r->p;
	axis->kind = MAP_CONCAT;
	axis->nparts = spec->nparts;
	axis->parts = ARENA_ARRAY(p->perm, MapPart, spec->nparts);
	for (uint32_t i = 0; i < spec->nparts; i++) {
		const SpecPart *part = &spec->parts[i];
		axis->parts[i].cls =
			part->letter ? letter_class(r, part->letter, part->span) : CLASS_NONE;
		axis->parts[i].run = part->run;
		axis->parts[i].extent = skipped_size(p, part);
	}
	class_group(p, axis);
}

static void read_axis(SpecReader *r, AxisMap *axis, const SpecAxis *spec)
{
	if (spec->bracketed && !r->p->node->along.letter) {
		axis->kind = MAP_GATHER;
		axis->gather = r->indices++;
		return;
	}
	switch (spec->kind) {
	case SPEC_LETTER: class_is_axis(r, axis, letter_class(r, spec->letter, spec->span)); break;
	case SPEC_PLACEHOLDER:
		class_is_axis(r, axis, class_new(r->p, axis->size, NULL, spec->span));
		break;
	case SPEC_INDEX: axis->offset = size_const(r->p->sizes, spec->index); break;
	case SPEC_AFFINE: read_affine(r, axis, spec); break;
	case SPEC_CONCAT: read_concat(r, axis, spec); break;
	case SPEC_JOIN: BUG("a joined axis in an operation that computes");
	}
}

static void read_row(SpecReader *r, AxisMap *axes, uint32_t n, const SpecRow *spec)
{
	uint32_t lead = spec->var_at < 0 ? spec->naxes : (uint32_t)spec->var_at;
	if (n < spec->naxes || (spec->var_at < 0 && n != spec->naxes))
		project_bug(r->p, "a row and its specification have different numbers of axes");
	uint32_t middle = n - spec->naxes;
	for (uint32_t i = 0; i < n; i++) {
		if (i < lead)
			read_axis(r, &axes[i], &spec->axes[i]);
		else if (i < lead + middle)
			class_is_axis(r, &axes[i],
				      variable_class(r, spec->var, i - lead, spec->span));
		else
			read_axis(r, &axes[i], &spec->axes[i - middle]);
	}
}

/* Those of the rows that are written before; the operands of indices are in the order written. */
static int32_t brackets_before(const SpecTensor *spec, RowKind kind)
{
	int32_t n = 0;
	for (RowKind k = 0; k < kind; k++)
		for (uint32_t i = 0; i < spec->rows[k].naxes; i++)
			n += spec->rows[k].axes[i].bracketed;
	return n;
}

static void read_tensor(SpecReader *r, TensorMap *map, const Shape *shape, const SpecTensor *spec)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		RowKind kind = stored_rows[k];
		r->indices = 1 + brackets_before(spec, kind);
		read_row(r, map->axes + storage_slot(shape, kind, 0), shape->rows[kind].n,
			 &spec->rows[kind]);
	}
}

/* ---- the extents of the letters that are no axis of their own ---- */

static void find_extents(SpecReader *r)
{
	Projector *p = r->p;
	const Inference *inference = p->inference;
	const LetterSizes *solved = inference->letters ? &inference->letters[p->id] : NULL;
	for (uint32_t i = 0; solved && i < solved->n; i++) {
		ptrdiff_t at = shgeti(r->letters, solved->at[i].letter);
		Size *extent = at >= 0 ? &p->classes.at[r->letters[at].value].extent : NULL;
		if (extent && size_is_bad(*extent))
			*extent = solved->at[i].size;
	}
	for (ClassId c = 0; c < p->classes.n; c++)
		if (size_is_bad(p->classes.at[c].extent))
			project_bug(p, "a letter has no size");
}

void project_spec(Projector *p)
{
	const Spec *spec = p->node->spec;
	SpecReader r = {.p = p};
	if (spec->noperands != p->node->nargs)
		project_bug(p, "the specification has another number of operands");
	read_tensor(&r, &p->result, result_shape(p), &spec->result);
	r.along = p->node->along.letter;
	for (uint32_t i = 0; i < spec->noperands; i++)
		read_tensor(&r, &p->args[i], arg_shape(p, i), &spec->operands[i]);
	find_extents(&r);
	/* the index that it finds is an iterator's value, or it goes along two */
	if (p->node->kind == NODE_ARGMAX || p->node->along.letter)
		for (ClassId c = 0; c < p->classes.n; c++)
			p->classes.at[c].keep = true;
	shfree(r.letters);
}
