#include "test/unit/proj_run.h"

int64_t proj_element(uint32_t arg, int64_t element)
{
	return 1 + (element * 7919 + arg * 104729 + element * element * 31) % 1009;
}

static int64_t constant(const Small *s, Size size)
{
	int64_t value = -1000;
	size_is_const(s->graph.sizes, size, &value);
	return value;
}

static int64_t done_element(const Small *s, const Access *access, NodeId id, const int64_t *values,
			    Done *done)
{
	int64_t element = 0;
	for (uint32_t i = 0; i < access->naxes; i++) {
		const Index *index = &access->axes[i];
		int64_t at = constant(s, index->offset),
			size = constant(s, shape_axis(&s->shapes[id], i)->size);
		for (uint32_t t = 0; t < index->nterms; t++)
			at += index->terms[t].coef * values[index->terms[t].iter];
		if (at < 0 || at >= size) {
			done->outside |= !index->guarded;
			return -1;
		}
		element = element * size + at;
	}
	return element;
}

static void done_point(const Small *s, NodeId id, const Piece *piece, const int64_t *values,
		       Done *done)
{
	const Node *node = &s->graph.nodes.at[id];
	int64_t to = done_element(s, &piece->result, id, values, done), value = 1;
	bool skip = false;
	for (uint32_t arg = 0; arg < node->nargs; arg++) {
		if (!piece->args[arg].present)
			continue;
		int64_t from = done_element(s, &piece->args[arg], node->args[arg], values, done);
		skip |= from < 0;
		value *= proj_element(arg, from);
	}
	done->skipped |= skip;
	if (to < 0)
		return;
	done->writes[to]++;
	done->out[to] += skip ? 0 : value;
}

void proj_run(const Small *s, NodeId id, Done *done)
{
	const Proj *proj = s->projs[id];
	int64_t values[16] = {0};
	for (uint32_t i = 0; i < proj->npieces; i++) {
		const Piece *piece = &proj->pieces[i];
		int64_t points = 1;
		for (uint32_t k = 0; k < piece->niters; k++)
			points *= constant(s, proj->iters[piece->iters[k]].extent);
		for (int64_t point = 0; point < points; point++) {
			int64_t rest = point;
			for (uint32_t k = 0; k < piece->niters; k++) {
				int64_t n = constant(s, proj->iters[piece->iters[k]].extent);
				values[piece->iters[k]] = rest % n;
				rest /= n;
			}
			done_point(s, id, piece, values, done);
		}
	}
}

void done_count(const Done *done, bool *once, bool *all)
{
	*once = *all = true;
	for (int64_t i = 0; i < done->nelements; i++) {
		*once &= done->writes[i] < 2;
		*all &= done->writes[i] > 0;
	}
}
