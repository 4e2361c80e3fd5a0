/* Assignments: a step of a routine to a node with a target.
 *
 *   lhs =ACC rhs                      the right side, copied
 *   lhs =ACC f(a, b) via "a; b => l"  a specification whose result is the left side
 *
 * The node's dtype is that of the right side; what it adds to the left side is computed in the wide
 * type of both, and stored in the left side's. Only a cast makes a number less than it is, so the
 * right side may have to be one. A tensor that the routine itself makes takes its dtype from its
 * first right side, which is made before it and cannot read it.
 */
#include <string.h>

#include "frontend/eval.h"
#include "frontend/joined.h"
#include "frontend/nodes.h"
#include "frontend/random.h"
#include "frontend/scan.h"
#include "frontend/specs.h"
#include "frontend/strides.h"
#include "frontend/training.h"

/* ---- the right side ---- */

static Op whole_operand(AstExpr *const *expr, AstExpr *const **args, uint32_t *nargs)
{
	*args = expr;
	*nargs = 1;
	return OP_ID;
}

/* The operation and the operands of `f(a, b) via "..."`. OP_ID where the right side as a whole is
 * the one operand: a function of one operand is applied to it first. */
static Op split_operation(Build *b, AstExpr *const *expr, AstExpr *const **args, uint32_t *nargs)
{
	const AstExpr *from = *expr;
	Op op = OP_NONE;
	*args = from->args;
	*nargs = from->nargs;
	if (from->kind == AST_BINARY)
		op = from->op;
	else if (from->kind == AST_COMPOSE)
		op = OP_MUL;
	else if (from->kind == AST_CALL && from->args[0]->kind == AST_NAME &&
		 !scope_find(b->at.scope, from->args[0]->name.sym)) {
		const char *name = from->args[0]->name.sym;
		op = op_from_name(name, strlen(name));
		*args = from->args + 1;
		*nargs = from->nargs - 1;
	}
	if (op != OP_NONE && (uint32_t)op_arity(op) == *nargs && (*nargs > 1 || op == OP_ID))
		return op;
	return whole_operand(expr, args, nargs);
}

/* What folds the values that meet in one element, before they meet what the element holds. */
static Op reduce_of(Op acc)
{
	switch (acc) {
	case OP_MUL:
	case OP_DIV:
	case OP_POW: return OP_MUL;
	case OP_MAX:
	case OP_MIN:
	case OP_AND:
	case OP_OR: return acc;
	default: return OP_ADD;
	}
}

/* Each part of a concatenated result comes from one operand: there is nothing to combine. */
static bool check_combines(Build *b, const AstStep *step, const SpecParts *parts)
{
	if (parts->nargs == 1 || !spec_result_concatenates(parts->spec))
		return true;
	diag(b->diags, E0221, parts->span, "concatenated operands are not combined");
	diag_note(b->diags, parts->spec->span,
		  "a part of '^' comes from one operand: a step for each, or %s =: concat(...)",
		  source_text(b->sources, b->arena, step->target->span));
	return false;
}

/* Gives a number the dtype that it is assigned to, which it must be of; what is computed from
 * numbers alone the wide one. DTYPE_NONE: they have no neighbour. */
static void settle_right(Build *b, NodeId value, Dtype dtype)
{
	const Node *node = graph_node(b->graph, value);
	bool plain = node->kind == NODE_NUMBER || node->kind == NODE_CONST;
	node_settle(b, value, plain || dtype == DTYPE_NONE ? dtype : dtype_wide(dtype));
}

/* The right side of a step without `via`. */
static NodeId eval_right(Build *b, const AstStep *step, Dtype dtype)
{
	NodeId value = eval_node(b, step->expr);
	if (value == NODE_NONE || refuses_words(b, &value, &step->expr->span, 1))
		return NODE_NONE;
	settle_right(b, value, dtype);
	return value;
}

/* The letter that places the axis once the joined ones are made; NULL: it is at a fixed index. */
static Sym placed_letter(const SpecAxis *axis)
{
	return axis->kind == SPEC_LETTER || axis->kind == SPEC_AFFINE ? axis->letter : NULL;
}

/* A result with joined axes is made first and then written: its other axes are letters, which stand
 * once, and places. */
static bool check_joined(Build *b, const Spec *spec)
{
	const SpecTensor *result = &spec->result;
	for (RowKind kind = 0; kind < ROW_KINDS && spec_result_joins(spec); kind++)
		for (uint32_t i = 0; i < result->rows[kind].naxes; i++) {
			const SpecAxis *axis = &result->rows[kind].axes[i];
			bool one = axis->kind == SPEC_LETTER ||
				   (axis->kind == SPEC_AFFINE && !axis->kernel &&
				    !spec_axis_is_sized(axis));
			bool good = one ? spec_tensor_count(result, axis->letter) == 1
					: axis->kind == SPEC_INDEX || axis->kind == SPEC_JOIN;
			if (good)
				continue;
			diag(b->diags, E0910, axis->span,
			     "where 'via' joins axes, all others of its result are letters, each once, or places");
			return false;
		}
	return true;
}

/* Does it write at places, so that what it joins is a part of the left side? */
static bool joins_a_part(const Spec *spec)
{
	bool part = false;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		for (uint32_t i = 0; i < spec->result.rows[kind].naxes; i++) {
			SpecAxisKind axis = spec->result.rows[kind].axes[i].kind;
			part |= axis != SPEC_LETTER && axis != SPEC_JOIN;
		}
	return part && spec_result_joins(spec);
}

static SpecAxis letter_at(const SpecAxis *axis, Sym letter)
{
	return (SpecAxis){.kind = SPEC_LETTER,
			  .span = axis->span,
			  .letter = letter,
			  .stride = 1,
			  .dilation = 1};
}

/* Of a result: `made` without fixed places, `read` the same with letters for joined axes, `written`
 * the result with these letters. */
typedef struct JoinedPart {
	SpecTensor made, read, written;
} JoinedPart;

static void part_row(Build *b, JoinedPart *part, RowKind kind, const SpecRow *row, uint32_t *n)
{
	SpecRow *made = &part->made.rows[kind], *read = &part->read.rows[kind];
	SpecRow *written = &part->written.rows[kind];
	*made = *read = *written = *row;
	made->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
	read->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
	written->axes = ARENA_ARRAY(b->arena, SpecAxis, row->naxes);
	made->naxes = 0;
	for (uint32_t i = 0; i < row->naxes; i++) {
		const SpecAxis *axis = &row->axes[i];
		bool join = axis->kind == SPEC_JOIN;
		Sym letter = join ? sym_printf(b->symbols, "_%u", ++*n) : placed_letter(axis);
		if (row->var_at == (int32_t)i)
			made->var_at = (int32_t)made->naxes;
		written->axes[i] = join ? letter_at(axis, letter) : *axis;
		if (!letter)
			continue;
		made->axes[made->naxes] = join ? *axis : letter_at(axis, letter);
		read->axes[made->naxes++] = letter_at(axis, letter);
	}
	if (row->var_at == (int32_t)row->naxes)
		made->var_at = (int32_t)made->naxes;
	read->naxes = made->naxes;
	read->var_at = made->var_at;
}

/* Makes what is joined, as a tensor of its own, and writes it where the result says. */
static NodeId write_joined_part(Build *b, const SpecParts *parts)
{
	Spec *make = ARENA_NEW(b->arena, Spec), *write = ARENA_NEW(b->arena, Spec);
	JoinedPart part = {.made = parts->spec->result,
			   .read = parts->spec->result,
			   .written = parts->spec->result};
	SpecParts first = *parts, second = *parts;
	uint32_t n = 0;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		part_row(b, &part, kind, &parts->spec->result.rows[kind], &n);
	*make = *write = *parts->spec;
	make->result = part.made;
	first.spec = make;
	NodeId made = form_spec_node(b, &first);
	if (made == NODE_NONE)
		return made;
	write->noperands = second.nargs = 1;
	write->operands = ARENA_NEW(b->arena, SpecTensor);
	write->operands[0] = part.read;
	write->result = part.written;
	second.spec = write;
	second.args = &made;
	second.op = OP_ID;
	second.keeps = true;
	return form_spec_node(b, &second);
}

/* How the result of a step with `via` is still to be assigned. */
typedef enum Via {
	VIA_WRITES,  /* it is: the node writes where its specification says */
	VIA_JOINS,   /* it is all of the left side */
	VIA_SCATTERS /* likewise, with what folding begins with where nothing is written */
} Via;

static NodeId eval_via(Build *b, const AstStep *step, Dtype dtype, bool fresh, Via *via)
{
	AstExpr *const *args;
	uint32_t nargs;
	NodeId nodes[3];
	Span spans[3];
	const Spec *spec = step->via->kind == AST_STRING ? spec_resolve(b, step->via) : NULL;
	Op op = split_operation(b, (AstExpr *const *)&step->expr, &args, &nargs);
	if (spec && spec->noperands == 1 && nargs > 1)
		op = whole_operand(&step->expr, &args, &nargs);
	SpecParts parts = {.op = op, .reduce = reduce_of(step->acc), .args = nodes, .spans = spans,
			   .nargs = nargs, .span = step->span, .op_span = step->op_span};
	bool good = true;
	for (uint32_t i = 0; i < nargs; i++) {
		nodes[i] = eval_node(b, args[i]);
		spans[i] = args[i]->span;
		good = good && nodes[i] != NODE_NONE;
	}
	parts.spec = spec ? spec_strides_as_windows(b, spec) : NULL;
	parts.into = !fresh;
	if (!good || !parts.spec || !spec_check_count(b, parts.spec, nargs, step->expr->span) ||
	    !check_combines(b, step, &parts) || refuses_words(b, nodes, spans, nargs))
		return NODE_NONE;
	if (nargs == 1)
		settle_right(b, nodes[0], dtype);
	if (!check_joined(b, parts.spec))
		return NODE_NONE;
	bool part = joins_a_part(parts.spec);
	*via = spec_find_sized(&parts.spec->result)	? VIA_SCATTERS
	       : !part && spec_result_joins(parts.spec) ? VIA_JOINS
							: VIA_WRITES;
	parts.keeps = nargs == 1 && spec_only_moves(spec_apart(b, parts.spec));
	NodeId id = part ? write_joined_part(b, &parts) : form_spec_node(b, &parts);
	if (id == NODE_NONE)
		return id;
	node_settle(b, id, DTYPE_NONE);
	return id;
}

/* ---- the left side ---- */

static NodeId own_tensor(Build *b, const AstStep *step, Dtype dtype)
{
	Name name = step->target->name;
	name.span = step->target->span;
	NodeId id = node_new(b, NODE_ZEROS, name.span, name.span);
	graph_node(b->graph, id)->dtype = dtype;
	node_name(b, id, name.sym, name.span);
	if (!scope_declare(b, b->at.scope, name, value_node(id, name.span)))
		return NODE_NONE;
	scope_here(b->at.scope, name.sym)->kind = BINDING_OWN;
	return id;
}

/* The parameter in front of the last dot; NODE_NONE: something else stands there. */
static NodeId param_of_slot(Build *b, const AstExpr *target)
{
	const AstExpr *of = target->args[0];
	const Binding *binding = of->kind == AST_NAME ? scope_find(b->at.scope, of->name.sym) : NULL;
	if (of->kind == AST_NAME && (!binding || binding->value.kind != VALUE_TENSOR))
		return NODE_NONE;
	Value value = eval(b, of);
	bool param = value.kind == VALUE_TENSOR && graph_node(b->graph, value.node)->kind == NODE_PARAM;
	return param ? value.node : NODE_NONE;
}

/* The tensor on the left: a parameter, or the routine's own. Made on its first assignment. */
static NodeId find_target(Build *b, const AstStep *step, bool *fresh)
{
	const AstExpr *target = step->target;
	bool known = target->kind != AST_NAME || scope_find(b->at.scope, target->name.sym);
	*fresh = !known && !scope_declares_later(b, target->name);
	if (*fresh)
		return NODE_NONE;
	bool named = target->kind == AST_NAME || target->kind == AST_MEMBER;
	NodeId param = target->kind == AST_MEMBER ? param_of_slot(b, target) : NODE_NONE;
	if (param != NODE_NONE)
		return slot_make(b, param, target);
	Value value = named ? eval(b, target) : value_error();
	NodeId id = value_to_node(b, value);
	const Node *node = id == NODE_NONE ? NULL : graph_node(b->graph, id);
	if (node && (node->kind == NODE_PARAM || node_is_own(node)))
		return id;
	if (!node && named)
		return NODE_NONE;
	diag(b->diags, E0234, target->span,
	     "only parameters and a routine's own tensors can be assigned");
	const Binding *named_here =
		target->kind == AST_NAME ? scope_find(b->at.scope, target->name.sym) : NULL;
	if (named_here)
		diag_note(b->diags, named_here->span, "'%s' is declared here%s", target->name.sym,
			  named_here->kind == BINDING_NAME
				  ? "; a result of this name has that value without a step"
				  : "");
	else if (node && node->name)
		diag_note(b->diags, node->name_span, "'%s' is declared here", node->name);
	return NODE_NONE;
}

/* ---- types ---- */

/* The dtype that a step computes in: its target's, widened where it adds to what that holds. */
static Dtype step_dtype(const AstStep *step, Dtype target)
{
	return step->acc == OP_NONE ? target : dtype_wide(target);
}

/* Without `via` the operation's default applies, and its result is copied. */
static NodeId copy_node(Build *b, const AstStep *step, NodeId value)
{
	return node_pointwise(b, OP_ID, &value, &step->expr->span, 1, step->span, step->op_span);
}

/* Is the dtype made from the other without a cast? Not integers from floats, nor narrow from
 * wide. */
static bool is_implied(Dtype dtype, Dtype from)
{
	return from == dtype || (dtype_wide(dtype) == dtype && dtype_join(dtype, from) == dtype);
}

static void suggest_cast(Build *b, const AstStep *step, NodeId id, Dtype dtype)
{
	const Node *node = graph_node(b->graph, id);
	bool narrow = dtype_wide(dtype) != dtype;
	bool inside = step->via && node->nargs == 1 && (!narrow || spec_only_moves(node->spec));
	Span span = inside ? node->arg_spans[0] : step->expr->span;
	if (step->via && !inside)
		diag_note(b->diags, step->via->span,
			  "set a tensor of the routine by this step, then this one from %s(...) of it",
			  dtype_name(dtype));
	else if (step->expr->kind != AST_NUMBER) /* i32(0.5) is 0 */
		diag_fix(b->diags, span,
			 arena_printf(b->arena, "%s(%s)", dtype_name(dtype),
				      source_text(b->sources, b->arena, span)),
			 "%s(...) says so", dtype_name(dtype));
}

/* Is it a number that is written in the step, and so read there alone? */
static bool is_number_of(const Node *number, const Node *step)
{
	return number->kind == NODE_NUMBER && number->span.file == step->span.file &&
	       number->span.start >= step->span.start && number->span.end <= step->span.end;
}

/* Have steps set it to numbers that are written alone, and nothing has read it? */
static bool holds_numbers(const Build *b, NodeId target)
{
	bool numbers = graph_node(b->graph, target)->kind == NODE_ZEROS;
	for (NodeId id = target + 1; id < b->graph->nodes.n && numbers; id++) {
		const Node *node = graph_node(b->graph, id);
		for (uint32_t i = 0; i < node->nargs; i++)
			numbers &= node->args[i] != target;
		numbers &= node->target != target ||
			   is_number_of(graph_node(b->graph, node->args[0]), node);
	}
	return numbers;
}

/* Numbers that are written have the type of what comes to them: where that is a wider one, so does the tensor. */
static Dtype widened(Build *b, NodeId target, NodeId right)
{
	Dtype left = node_dtype(b, target), dtype = node_dtype(b, right);
	if (!dtype_is_float(left) || !dtype_is_float(dtype) || dtype_join(left, dtype) == left ||
	    !holds_numbers(b, target))
		return left;
	graph_node(b->graph, target)->dtype = dtype;
	for (NodeId id = target + 1; id < b->graph->nodes.n; id++) {
		Node *node = graph_node(b->graph, id);
		if (node->target == target)
			node->dtype = graph_node(b->graph, node->args[0])->dtype = dtype;
	}
	return dtype;
}

/* Nothing but a cast makes a number less than it is. */
static bool check_target_dtype(Build *b, const AstStep *step, NodeId id, NodeId target, Dtype left)
{
	Dtype right = node_dtype(b, id);
	Dtype dtype = step_dtype(step, left);
	if (is_implied(dtype, right))
		return true;
	diag(b->diags, E0231, step->span,
	     "the left side is %s and the right side %s: write a cast %s(...)", dtype_name(left),
	     dtype_name(right), dtype_name(dtype));
	diag_note(b->diags, graph_node(b->graph, target)->name_span,
		  "the left side is declared here");
	suggest_cast(b, step, id, dtype);
	return false;
}

/* ---- parameters of which two elements share a byte ---- */

static void write_all(Build *b, const AstStep *step, NodeId target, NodeId value)
{
	NodeId id = copy_node(b, step, value);
	graph_node(b->graph, id)->target = target;
	routine_add_write(b, id, step->span);
}

/* Does clearing fill in the least or the greatest number, which that of a byte is not? */
static bool clears_to_end(const AstStep *step)
{
	return step->clear && (step->acc == OP_MAX || step->acc == OP_MIN);
}

static NodeId end_of(Build *b, const AstStep *step, Dtype half)
{
	bool greatest = step->acc == OP_MIN;
	int64_t end = dtype_is_unsigned(half) ? greatest ? 15 : 0 : greatest ? 7 : -8;
	return value_to_node(b, value_integer(end, step->target->span));
}

/* A tensor with a byte for each element, which the step writes; it begins with what they are where the
 * step reads that, or leaves some. */
static NodeId elements_of(Build *b, const AstStep *step, NodeId param)
{
	const Node *node = graph_node(b->graph, param);
	Sym name = node->name;
	Span span = node->name_span;
	Dtype half = node->dtype, dtype = dtype_alone(half);
	NodeId all = node_new(b, NODE_ZEROS, step->target->span, step->target->span);
	graph_node(b->graph, all)->dtype = dtype;
	graph_node(b->graph, all)->like = param;
	node_name(b, all, name, span);
	bool end = clears_to_end(step);
	if ((step->clear && !end) || (step->acc == OP_NONE && !step->via))
		return all;
	NodeId old = end ? end_of(b, step, half) : param;
	write_all(b, step, all, node_cast(b, old, dtype, step->target->span));
	return all;
}

/* `=&&` and `=||` where places are computed: the left side and what was folded are combined here, as what
 * nothing reaches keeps its number, and no number of each type is neutral. */
static NodeId combined_where_written(Build *b, const AstStep *step, NodeId scattered, NodeId value,
				     NodeId old)
{
	Span span = step->span, spans[2] = {span, span};
	Dtype dtype = node_dtype(b, value);
	old = old == NODE_NONE
		      ? value_to_node(b, value_integer(step->clear && step->acc == OP_AND, span))
		      : node_cast(b, old, dtype, span);
	NodeId args[2] = {old, value};
	NodeId both = node_pointwise(b, step->acc, args, spans, 2, span, span);
	return strides_keep(b, scattered, node_cast(b, both, dtype, span), old);
}

/* The step's node, which writes the target; a fresh one is made. NODE_NONE after an error. */
static NodeId assign(Build *b, const AstStep *step, NodeId target, bool fresh)
{
	NodeId first = (NodeId)b->graph->nodes.n;
	bool carried = !fresh && graph_is_carried(b->graph, target);
	NodeId param = target;
	Dtype left = fresh ? DTYPE_NONE : node_dtype(b, target);
	bool halves =
		!fresh && dtype_is_packed(left) && graph_node(b->graph, target)->kind == NODE_PARAM;
	target = halves ? elements_of(b, step, param) : target;
	Dtype dtype = fresh ? DTYPE_NONE : step_dtype(step, left);
	Via kind = VIA_JOINS;
	NodeId id = step->via ? eval_via(b, step, dtype, fresh, &kind) : eval_right(b, step, dtype);
	bool writes = kind == VIA_WRITES;
	NodeId scattered = id;
	if (id == NODE_NONE)
		return NODE_NONE;
	if (fresh) {
		dtype = step_dtype(step, node_dtype(b, id));
		target = own_tensor(b, step, dtype);
		if (target == NODE_NONE)
			return NODE_NONE;
		left = dtype;
		if (writes)
			id = node_move_last(b, id);
	}
	if (!fresh && !halves && !carried)
		left = widened(b, target, id);
	dtype = fresh ? dtype : step_dtype(step, left);
	if (!check_target_dtype(b, step, id, target, left))
		return NODE_NONE;
	if (!writes)
		id = node_cast(b, id, dtype, step->expr->span);
	if (!writes && halves && step->acc == OP_NONE)
		id = node_cast(b, id, dtype_alone(dtype), step->expr->span);
	bool logic = step->acc == OP_AND || step->acc == OP_OR;
	bool combines = kind == VIA_SCATTERS && logic;
	if (combines)
		id = node_cast(b,
			       combined_where_written(b, step, scattered, id,
						      fresh || step->clear ? NODE_NONE : target),
			       dtype_alone(left), step->span);
	else if (kind == VIA_SCATTERS && step->acc == OP_NONE && !fresh)
		id = strides_keep(b, scattered, id, target);
	if (!writes)
		id = copy_node(b, step, id);
	if (!carried && !routine_check_step(b, first, step->span))
		return NODE_NONE;
	Node *node = graph_node(b->graph, id);
	node->target = target;
	node->acc = combines ? OP_NONE : step->acc;
	node->clear = step->clear && !combines && !(halves && clears_to_end(step));
	if (!carried)
		routine_add_write(b, id, step->span);
	if (halves)
		write_all(b, step, param, target);
	return id;
}

void eval_assign(Build *b, const AstStep *step)
{
	bool fresh;
	NodeId target = find_target(b, step, &fresh);
	if (target != NODE_NONE || fresh)
		assign(b, step, target, fresh);
}

NodeId eval_assign_to(Build *b, const AstStep *step, NodeId target)
{
	return assign(b, step, target, false);
}
