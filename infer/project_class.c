/* Classes of axes that run together: union-find, with the extent and the name that each class has.
 *
 * A second union-find over the same classes says which are alternatives of each other: the parts of
 * the concatenated axes that share a letter.
 */
#include "infer/project.h"

#include <inttypes.h>

void project_bug(const Projector *p, const char *what)
{
	BUG("projection of %%%" PRIu32 " (%s): %s", p->id, node_kind_name(p->node), what);
}

ClassId class_new(Projector *p, Size extent, Sym name, Span span)
{
	ClassId id = (ClassId)p->classes.n;
	Class c = {.parent = id, .group = CLASS_NONE, .extent = extent, .name = name, .span = span};
	PUSH(p->perm, p->classes, c);
	return id;
}

ClassId class_root(Projector *p, ClassId c)
{
	Class *classes = p->classes.at;
	while (classes[c].parent != c) { /* falls: distance to the root */
		classes[c].parent = classes[classes[c].parent].parent;
		c = classes[c].parent;
	}
	return c;
}

void class_join(Projector *p, ClassId a, ClassId b)
{
	a = class_root(p, a);
	b = class_root(p, b);
	if (a == b)
		return;
	Class *to = &p->classes.at[a], *from = &p->classes.at[b];
	int64_t x, y;
	if (size_is_const(p->sizes, to->extent, &x) && size_is_const(p->sizes, from->extent, &y) &&
	    x != y)
		project_bug(p, "axes of different sizes run together");
	if (size_is_bad(to->extent))
		to->extent = from->extent;
	if (!to->name)
		to->name = from->name;
	from->parent = a;
}

ClassId class_group_root(Projector *p, ClassId c)
{
	Class *classes = p->classes.at;
	if (classes[c].group == CLASS_NONE)
		return CLASS_NONE;
	while (classes[c].group != c) { /* falls: distance to the root */
		classes[c].group = classes[classes[c].group].group;
		c = classes[c].group;
	}
	return c;
}

void class_group(Projector *p, const AxisMap *concat)
{
	ClassId first = CLASS_NONE;
	for (uint32_t i = 0; i < concat->nparts; i++) {
		ClassId c = concat->parts[i].cls;
		if (c == CLASS_NONE)
			continue;
		if (p->classes.at[c].group == CLASS_NONE)
			p->classes.at[c].group = c;
		c = class_group_root(p, c);
		if (first == CLASS_NONE)
			first = c;
		else if (c < first) /* the root is the first class of the group */
			first = p->classes.at[first].group = c;
		else
			p->classes.at[c].group = first;
	}
}

static bool is_of_group(Projector *p, ClassId c, ClassId group)
{
	return c != CLASS_NONE && class_group_root(p, c) == group;
}

bool map_mentions_group(Projector *p, const TensorMap *map, ClassId group)
{
	bool found = is_of_group(p, map->needs, group);
	for (uint32_t i = 0; i < map->naxes && !found; i++) {
		const AxisMap *axis = &map->axes[i];
		found = is_of_group(p, axis->cls, group) || is_of_group(p, axis->kernel, group);
		for (uint32_t part = 0; part < axis->nparts && !found; part++)
			found = is_of_group(p, axis->parts[part].cls, group);
	}
	return found;
}

TensorMap map_new(Projector *p, const Shape *shape)
{
	TensorMap map = {.naxes = shape_naxes(shape), .needs = CLASS_NONE};
	map.axes = ARENA_ARRAY(p->perm, AxisMap, map.naxes);
	uint32_t slot = 0;
	for (int k = 0; k < ROW_KINDS; k++) {
		const Row *row = &shape->rows[stored_rows[k]];
		for (uint32_t i = 0; i < row->n; i++)
			map.axes[slot++] = (AxisMap){.kind = MAP_FIXED,
						     .size = row->axes[i].size,
						     .offset = size_const(p->sizes, 0),
						     .cls = CLASS_NONE,
						     .kernel = CLASS_NONE,
						     .gather = -1};
	}
	return map;
}

uint32_t storage_slot(const Shape *shape, RowKind kind, uint32_t i)
{
	if (kind == ROW_OUTPUT)
		i += shape->rows[ROW_BATCH].n;
	if (kind == ROW_INPUT)
		i += shape->rows[ROW_BATCH].n + shape->rows[ROW_OUTPUT].n;
	return i;
}

/* ---- names ---- */

/* Do any of the first n iterators have the name? */
static bool name_is_taken(const Proj *proj, uint32_t n, Sym name)
{
	for (uint32_t i = 0; i < n; i++)
		if (proj->iters[i].name == name)
			return true;
	return false;
}

void project_name_iters(const Projector *p, Proj *proj)
{
	Symbols *symbols = p->inference->graph->symbols;
	uint32_t next = 0;
	for (uint32_t i = 0; i < proj->niters; i++) {
		Sym name = proj->iters[i].name;
		while (name && name_is_taken(proj, i, name)) /* falls: names not longer than this */
			name = sym_printf(symbols, "%s_", name);
		proj->iters[i].name = name;
	}
	for (uint32_t i = 0; i < proj->niters; i++)
		while (!proj->iters[i].name) { /* falls: names taken from `next` on */
			Sym name = sym_printf(symbols, "i%u", next++);
			proj->iters[i].name = name_is_taken(proj, proj->niters, name) ? NULL : name;
		}
}
