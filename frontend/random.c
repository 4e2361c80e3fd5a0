/* Counter-based random numbers: the forms that make random words and numbers of them.
 *
 *   u4x32(i)                  the words of an integer's 64 bits, low ones first, and two zeros
 *   u4x32(a, b, c, d)         word by word; those that are left out are 0
 *   threefry4x32(k, c)        the hash of a counter under a key
 *   uint4x32_to_uniform(x)    one number in [0, 1) an element
 *   uint4x32_to_uniforms(x)   four, neighbours in storage order, in axes found by inference
 *   self_id()                 an integer that names its place
 *   uniform(k), normal(k)     numbers of a stream of their place, in axes found by inference
 *
 * A place is the definition that something stands in: the names of `let` and of instances that lead
 * there, dotted, as for parameters; the second stream of a place has _2 behind its name.
 *
 * An element of u4x32 is four words and no number: it is hashed, moved, and made numbers of.
 */
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/nodes.h"
#include "frontend/random.h"

/* The operand as words; NODE_NONE after an error. */
static NodeId words_node(Build *b, const AstExpr *arg, bool *scales)
{
	Value value = eval(b, arg);
	*scales = *scales && value_scales(&value);
	NodeId id = value_to_node(b, value);
	if (id == NODE_NONE)
		return id;
	const Node *node = graph_node(b->graph, id);
	bool number = node->kind == NODE_NUMBER && node->is_integer;
	node_settle(b, id, number ? DTYPE_U4X32 : DTYPE_I32);
	Dtype dtype = node_dtype(b, id);
	if (dtype_is_integer(dtype) || dtype == DTYPE_U4X32)
		return node_cast(b, id, DTYPE_U4X32, arg->span);
	diag(b->diags, E0231, arg->span, "random words are made of integers, and this is %s",
	     dtype_name(dtype));
	if (node->kind == NODE_NUMBER) {
		diag_note(b->diags, arg->span, RANDOM_SCALED);
		return NODE_NONE;
	}
	diag_fix(b->diags, arg->span,
		 arena_printf(b->arena, "i32(%s)", source_text(b->sources, b->arena, arg->span)),
		 "i32(...) makes integers of it");
	return NODE_NONE;
}

static NodeId words_op(Build *b, Op op, NodeId x, NodeId y, const AstExpr *call)
{
	NodeId args[2] = {x, y};
	Span spans[2] = {call->args[1]->span, call->args[call->nargs - 1]->span};
	return node_pointwise(b, op, args, spans, 2, call->span, call->args[0]->span);
}

static Value result(NodeId id, const AstExpr *call, bool scales)
{
	Value value = value_node(id, call->span);
	value.scales = scales;
	return value;
}

static NodeId zero_words(Build *b, Span span)
{
	NodeId id = node_new(b, NODE_NUMBER, span, span);
	graph_node(b->graph, id)->is_integer = true;
	graph_node(b->graph, id)->dtype = DTYPE_U4X32;
	return id;
}

Value random_words(Build *b, const AstExpr *call)
{
	NodeId words[4];
	bool scales = true, good = true;
	for (uint32_t i = 0; i < 4; i++) {
		words[i] = i + 1 < call->nargs ? words_node(b, call->args[i + 1], &scales)
					       : zero_words(b, call->span);
		good = good && words[i] != NODE_NONE;
	}
	if (!good)
		return value_error();
	if (call->nargs == 2)
		return result(words[0], call, scales);
	NodeId even = words_op(b, OP_ZIP, words[0], words[2], call);
	NodeId odd = words_op(b, OP_ZIP, words[1], words[3], call);
	return result(words_op(b, OP_ZIP, even, odd, call), call, scales);
}

Value random_threefry(Build *b, const AstExpr *call)
{
	bool scales = true;
	NodeId key = words_node(b, call->args[1], &scales);
	NodeId counter = words_node(b, call->args[2], &scales);
	return result(words_op(b, OP_THREEFRY, key, counter, call), call, scales);
}

Value random_to_uniform(Build *b, const AstExpr *call)
{
	bool scales = true;
	NodeId words = words_node(b, call->args[1], &scales);
	return result(node_cast(b, words, DTYPE_F32, call->span), call, scales);
}

Value random_to_uniforms(Build *b, const AstExpr *call)
{
	bool scales = true;
	NodeId words = words_node(b, call->args[1], &scales);
	if (words == NODE_NONE)
		return value_error();
	NodeId id = node_new(b, NODE_UNIFORMS, call->span, call->args[0]->span);
	node_set_args(b, id, &words, &call->args[1]->span, 1);
	graph_node(b->graph, id)->dtype = DTYPE_F32;
	return value_node(id, call->span);
}

/* ---- places ---- */

/* What an initialiser draws has the parameter for its place, whichever functions it applies, and
 * does not count among the streams of a `let` of that name. */
static Sym next_place(Build *b)
{
	const ParamScope *scope = b->at.params;
	Sym place = b->initialises;
	NameIndex *counts = place ? &b->draws : &b->places;
	if (!place)
		place = sym_printf(b->symbols, "%s%s%s", scope->prefix, b->place ? b->place : "",
				   scope->suffix);
	uint32_t taken = name_index_get(counts, place);
	taken = taken == UINT32_MAX ? 1 : taken + 1;
	name_index_set(b->arena, counts, place, taken);
	return taken == 1 ? place : sym_printf(b->symbols, "%s_%" PRIu32, place, taken);
}

Value random_self_id(Build *b, const AstExpr *call)
{
	Sym place = next_place(b);
	return value_integer((int32_t)(uint32_t)XXH64(place, strlen(place), 0), call->span);
}

/* The seed that the caller of `init` gives, as words. */
static NodeId seed_of_init(Build *b, Span span)
{
	if (b->seed != NODE_NONE)
		return b->seed;
	b->seed = node_new(b, NODE_SCALAR, span, span);
	graph_node(b->graph, b->seed)->dtype = DTYPE_U4X32;
	node_name(b, b->seed, sym_cstr(b->symbols, "seed"), span);
	return b->seed;
}

static Value random_stream(Build *b, const AstExpr *call, bool normal)
{
	bool scales = true;
	NodeId seed = call->nargs > 1  ? words_node(b, call->args[1], &scales)
		      : b->initialises ? seed_of_init(b, call->span)
				       : zero_words(b, call->span);
	if (seed == NODE_NONE)
		return value_error();
	NodeId id = node_new(b, NODE_RANDOM, call->span, call->args[0]->span);
	node_set_args(b, id, &seed, &call->args[call->nargs - 1]->span, 1);
	Node *node = graph_node(b->graph, id);
	node->dtype = DTYPE_F32;
	node->normal = normal;
	node->place = next_place(b);
	return value_node(id, call->span);
}

Value random_uniform(Build *b, const AstExpr *call) { return random_stream(b, call, false); }

Value random_normal(Build *b, const AstExpr *call) { return random_stream(b, call, true); }
