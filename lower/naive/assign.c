/* A step of a routine, `target ACC= right side`: kernels in this order.
 *
 *   value = right side             aside, so that it reads what the target held before
 *   target = neutral of ACC        where the target is cleared
 *   target ACC= value              in the elements that the right side reaches, or in all; where it reaches each once, in its
 *                                  own loops
 *
 * An element that the right side does not reach keeps what it holds. So the value is whole, and the neutral element
 * where nothing reaches it, only where all elements take it in: where every number stays as it is that meets the
 * neutral element, and an element may be reached several times. A step costs what it reaches then, however large the
 * target is.
 */
#include "loops/pack_halves.h"
#include "lower/naive/builder.h"

/* Has each iterator of the result an axis to itself, so that its loops come to an element once? */
static bool meets_once(const Proj *proj)
{
	uint32_t loops = 0, alone = 0;
	if (proj->injective || proj->npieces != 1)
		return proj->injective;
	const Piece *piece = &proj->pieces[0];
	for (uint32_t i = 0; i < piece->niters; i++)
		loops += !proj->iters[piece->iters[i]].reduced;
	for (uint32_t i = 0; i < piece->result.naxes; i++) {
		const Index *index = &piece->result.axes[i];
		if (index->nterms > 1 || index->gather >= 0)
			return false;
		alone += index->nterms;
	}
	return loops == alone;
}

/* Do all elements of the target take the value in? */
static bool takes_all(const Node *node, const Proj *proj)
{
	return !proj || proj->surjective || (op_keeps_numbers(node->acc) && !meets_once(proj));
}

/* -0 + 0 is 0, -0 + -0 is -0. */
static Scalar neutral_of(const Node *node)
{
	bool adds = node->acc == OP_ADD && dtype_is_float(node->dtype) &&
		    node_reduce_op(node) == OP_ADD;
	return adds ? (Scalar){.f = -0.0} : operation_neutral(node);
}

static BufferId emit_aside(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	const Node *node = tables_node(t, id);
	Sym name = tables_unique(t, "value");
	BufferId aside = tables_buffer(t, (Buffer){.kind = BUFFER_TEMP,
						   .name = name,
						   .span = node->span,
						   .site = node->site,
						   .dtype = node->dtype,
						   .elements = tables_elements(t, id)});
	Builder b = build_new(naive, name, node->span);
	if (takes_all(node, tables_proj(t, id)))
		whole_fill(&b, id, aside, neutral_of(node));
	else
		reached_fill(&b, id, aside, neutral_of(node));
	operation_emit(&b, id, aside);
	build_end(&b);
	return aside;
}

static void emit_clear(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	const Node *node = tables_node(t, id);
	BufferId to = naive->buffers[node->target];
	const Buffer *buffer = &t->program->buffers.at[to];
	Sym name = sym_printf(t->program->symbols, "clear_%s", buffer->name);
	Builder b = build_new(naive, tables_unique(t, name), node->span);
	build_fill(&b, to, op_neutral(node->acc, buffer->dtype));
	build_end(&b);
}

/* Does the right side come to every element, and once? */
static bool is_one_to_one(const Proj *proj) { return proj && proj->surjective && meets_once(proj); }

static void emit_all_elements(Builder *b, BufferId from, BufferId to, Op acc)
{
	IterVar e;
	Body body = {0};
	const Ix *at = build_flat(b, &e);
	build_add(b, &body, build_store(b, to, at, acc, value_load(b->program, from, at)));
	build_wrap_flat(b, e, b->program->buffers.at[to].elements, &body);
}

/* In both halves of its bytes. */
static void emit_halves(Builder *b, BufferId from, BufferId to)
{
	Sym name = sym_cstr(b->program->symbols, "byte");
	const IterVar iters[2] = {build_iter(b, name), build_iter(b, name)};
	body_pack_halves(b->program, from, to, NULL, iters, &b->top);
}

void assignment_emit(Naive *naive, NodeId id)
{
	Tables *t = &naive->tables;
	const Node *node = tables_node(t, id);
	const Proj *proj = tables_proj(t, id);
	BufferId to = naive->buffers[node->target], from = emit_aside(naive, id);
	if (node->clear)
		emit_clear(naive, id);
	Builder b = build_new(naive, tables_name(t, id), node->span);
	if (dtype_is_packed(t->program->buffers.at[to].dtype))
		emit_halves(&b, from, to);
	else if (takes_all(node, proj) && !is_one_to_one(proj))
		emit_all_elements(&b, from, to, node->acc);
	else
		reached_emit(&b, id, from, to, node->acc);
	build_end(&b);
}
