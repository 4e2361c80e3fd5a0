/* `const NAME [: DTYPE SHAPE] = LITERAL | file("x.npy") | EXPR`: data with an exact shape.
 *
 * A declared shape must agree with the literal's axis by axis, or with the file's extents in
 * storage order; a single number fills it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/array_file.h"
#include "base/held.h"
#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/literal.h"
#include "frontend/nodes.h"

/* ---- shapes ---- */

static int64_t axis_extent(const DeclAxis *axis)
{
	int64_t extent = -1;
	return axis->size && size_expr_value(axis->size, &extent) ? extent : -1;
}

/* Axis i in storage order; NULL past the end. */
static DeclAxis *storage_axis(const ShapeDecl *shape, uint32_t i)
{
	for (int k = 0; k < ROW_KINDS; k++) {
		const DeclRow *row = &shape->rows[stored_rows[k]];
		if (i < row->naxes)
			return &row->axes[i];
		i -= row->naxes;
	}
	return NULL;
}

static uint32_t shape_rank(const ShapeDecl *shape)
{
	return shape->rows[ROW_BATCH].naxes + shape->rows[ROW_OUTPUT].naxes +
	       shape->rows[ROW_INPUT].naxes;
}

/* Fills `_` from the extent of the data, and compares what is written with it. */
static bool match_axis(Build *b, DeclAxis *axis, int64_t extent, Span data)
{
	if (!axis->size)
		axis->size = size_expr_number(b, extent, axis->span);
	int64_t declared = axis_extent(axis);
	if (declared == extent)
		return true;
	if (declared < 0)
		diag(b->diags, E0225, axis->span,
		     "the size of a constant must be known when the program "
		     "is compiled");
	else
		diag(b->diags, E0225, axis->span,
		     "this axis is declared as %" PRId64 ", and the data has %" PRId64, declared,
		     extent);
	diag_note(b->diags, data, "the data");
	return false;
}

static bool match_shape(Build *b, const ShapeDecl *declared, const ShapeDecl *found, Span data)
{
	for (RowKind kind = 0; kind < ROW_KINDS; kind++) {
		const DeclRow *want = &declared->rows[kind], *have = &found->rows[kind];
		if (want->naxes != have->naxes) {
			static const char *const names[] = {"batch", "input", "output"};
			diag(b->diags, E0225, declared->span,
			     "%" PRIu32 " %s ax%s declared, and the data has %" PRIu32, want->naxes,
			     names[kind], want->naxes == 1 ? "is is" : "es are", have->naxes);
			diag_note(b->diags, data, "the data");
			return false;
		}
		for (uint32_t i = 0; i < want->naxes; i++) {
			if (!want->axes[i].label)
				want->axes[i].label = have->axes[i].label;
			if (!match_axis(b, &want->axes[i], axis_extent(&have->axes[i]), data))
				return false;
		}
	}
	return true;
}

static bool count_elements(Build *b, const ShapeDecl *shape, int64_t *count)
{
	*count = 1;
	for (uint32_t i = 0; storage_axis(shape, i); i++) {
		int64_t extent = axis_extent(storage_axis(shape, i));
		if (extent < 0) {
			diag(b->diags, E0225, storage_axis(shape, i)->span,
			     "the size of a constant must be known when the program is compiled");
			return false;
		}
		if (__builtin_mul_overflow(*count, extent, count) || *count > (1 << 24)) {
			diag(b->diags, E0236, shape->span,
			     "a constant has at most %d elements here", 1 << 24);
			return false;
		}
	}
	return true;
}

/* ---- expressions ---- */

/* One number, repeated over the declared shape where there is one. */
static NodeId number_const(Build *b, const AstStmt *stmt, const ShapeDecl *declared,
			   const Value *value)
{
	int64_t count;
	long double number;
	if (!declared) {
		ShapeDecl *empty = ARENA_NEW(b->arena, ShapeDecl);
		*empty = (ShapeDecl){.span = stmt->expr->span};
		for (RowKind kind = 0; kind < ROW_KINDS; kind++)
			empty->rows[kind].var_at = -1;
		declared = empty;
	}
	if (!value_get_exact(value, &number) || !count_elements(b, declared, &count))
		return NODE_NONE;
	long double *elements = ARENA_ARRAY(b->arena, long double, (size_t)count);
	for (int64_t i = 0; i < count; i++)
		elements[i] = number;
	NodeId id = literal_node(b, stmt->expr->span, declared, (ConstData){elements, count, NULL});
	graph_node(b->graph, id)->is_integer = value_is_whole(value);
	graph_node(b->graph, id)->has_sizes = value->kind == VALUE_SIZE;
	return id;
}

/* DTYPE_NONE: none is written, and the data says. */
static Dtype declared_dtype(Build *b, const AstStmt *stmt)
{
	return stmt->dtype == DTYPE_NONE ? DTYPE_NONE
					 : written_dtype(b, stmt->dtype, stmt->span);
}

static NodeId const_from_expr(Build *b, const AstStmt *stmt, const ShapeDecl *declared)
{
	Value value = literal_is(stmt->expr)
			      ? value_node(eval_literal(b, stmt->expr), stmt->expr->span)
			      : eval(b, stmt->expr);
	if (value.kind == VALUE_ERROR)
		return NODE_NONE;
	if (value_is_known(&value))
		return number_const(b, stmt, declared, &value);
	NodeId node = value_to_node(b, value);
	if (node == NODE_NONE)
		return node;
	Dtype dtype = declared_dtype(b, stmt);
	if (dtype != DTYPE_NONE)
		node = node_cast(b, node, dtype, stmt->expr->span);
	node_settle(b, node, DTYPE_NONE);
	node = const_fold(b, node);
	if (node == NODE_NONE || !declared)
		return node;
	if (!match_shape(b, declared, graph_node(b->graph, node)->shape, stmt->expr->span))
		return NODE_NONE;
	graph_node(b->graph, node)->shape = declared;
	return node;
}

/* ---- files ---- */

static const AstExpr *file_argument(const AstExpr *expr)
{
	if (expr->kind == AST_FILE)
		return expr->nargs ? expr->args[0] : expr;
	if (expr->kind == AST_CALL && expr->nargs == 2 && expr->args[0]->kind == AST_NAME &&
	    strcmp(expr->args[0]->name.sym, "file") == 0 && expr->args[1]->kind == AST_STRING)
		return expr->args[1];
	return NULL;
}

static const ShapeDecl *array_shape(Build *b, const Array *array, Span span)
{
	ShapeDecl *shape = ARENA_NEW(b->arena, ShapeDecl);
	shape->span = span;
	for (RowKind kind = 0; kind < ROW_KINDS; kind++)
		shape->rows[kind].var_at = -1;
	DeclRow *row = &shape->rows[ROW_OUTPUT];
	row->axes = ARENA_ARRAY(b->arena, DeclAxis, (size_t)array->rank);
	for (int i = 0; i < array->rank; i++)
		row->axes[row->naxes++] = (DeclAxis){
			.span = span, .size = size_expr_number(b, array->extents[i], span)};
	return shape;
}

static bool match_array(Build *b, const ShapeDecl *declared, const Array *array, Span data)
{
	uint32_t rank = shape_rank(declared);
	if ((int)rank != array->rank) {
		diag(b->diags, E0225, declared->span,
		     "%" PRIu32 " axes are declared, and the file has %d", rank, array->rank);
		diag_note(b->diags, data,
			  "the file; its axes are in the order batch, output, input");
		return false;
	}
	for (uint32_t i = 0; i < rank; i++) {
		if (!match_axis(b, storage_axis(declared, i), array->extents[i], data))
			return false;
	}
	return true;
}

/* An array of a file that is open. */
typedef struct Held {
	const AstExpr *name;
	const char *path, *key, *wanted; /* key: NULL where none is written */
	ArrayFile *file;
	size_t index;
	Array plan; /* without data */
} Held;

static bool measure(Held *held, Dtype want, ArrayError *error)
{
	ptrdiff_t index = array_file_pick(held->file, held->key, held->wanted, error);
	held->index = (size_t)index;
	return index >= 0 && array_file_measure(held->file, held->index, want, &held->plan, error);
}

/* The elements in the arena, NULL with an error. */
static char *read_elements(Build *b, const Held *held, ArrayError *error)
{
	Array array;
	char *bytes = arena_alloc(b->arena, held->plan.bytes + 1);
	if (!array_file_read(held->file, held->index, held->plan.dtype, &array, error))
		return NULL;
	memcpy(bytes, array.data, array.bytes);
	array_free(&array);
	return bytes;
}

static NodeId const_from_held(Build *b, const AstStmt *stmt, const ShapeDecl *declared, Held *held)
{
	ArrayError error;
	Span place = held->name->span;
	bool good = measure(held, declared_dtype(b, stmt), &error);
	if (good && !declared)
		declared = array_shape(b, &held->plan, place);
	if (good && !match_array(b, declared, &held->plan, place))
		return NODE_NONE;
	char *bytes = good ? read_elements(b, held, &error) : NULL;
	if (!bytes) {
		diag(b->diags, E0240, place, "%s: %s", held->path, error.text);
		if (array_file_count(held->file) > 1 && !held->key)
			diag_note(
				b->diags, stmt->name.span,
				"of several arrays in a file a constant is that of its name, or of the one that is written: file(\"FILE:NAME\")");
		return NODE_NONE;
	}
	NodeId id = literal_node(b, stmt->expr->span, declared,
				 (ConstData){bytes, (int64_t)held->plan.nelements, held->path});
	graph_node(b->graph, id)->dtype = held->plan.dtype;
	return id;
}

static void end_file(void *file) { array_file_close(file); }

static NodeId const_from_file(Build *b, const AstStmt *stmt, const ShapeDecl *declared,
			      const AstExpr *name)
{
	const char *text = sym_intern(b->symbols, name->text, name->len);
	const char *colon = array_file_key(text);
	Held held = {.name = name,
		     .path = import_path(b, text, colon ? (size_t)(colon - text) : name->len),
		     .key = colon ? colon + 1 : NULL,
		     .wanted = stmt->name.sym};
	ArrayError error;
	if (b->options->no_files) {
		diag(b->diags, E0240, name->span, "%s: files are not read here", held.path);
		return NODE_NONE;
	}
	PUSH(b->arena, b->graph->files, held.path);
	held.file = array_file_open(held.path, &error);
	if (!held.file) {
		diag(b->diags, E0240, name->span, "%s: %s", held.path, error.text);
		return NODE_NONE;
	}
	held_add(end_file, held.file);
	NodeId id = const_from_held(b, stmt, declared, &held);
	held_drop(end_file, held.file);
	array_file_close(held.file);
	return id;
}

/* ---- the statement ---- */

/* One number, by which `*` scales as it does by one that is written in its place. */
static bool has_no_axes(const Node *node) { return node->shape && shape_rank(node->shape) == 0; }

void eval_const(Build *b, const AstStmt *stmt)
{
	const ShapeDecl *declared = NULL;
	bool good = !stmt->shape || (declared = shape_decl(b, stmt->shape, SHAPE_CONST)) != NULL;
	const AstExpr *file = file_argument(stmt->expr);
	NodeId id = NODE_NONE;
	if (good)
		id = file ? const_from_file(b, stmt, declared, file)
			  : const_from_expr(b, stmt, declared);
	if (id != NODE_NONE) {
		Sym full = sym_printf(b->symbols, "%s%s", b->file->prefix, stmt->name.sym);
		node_settle(b, id, declared_dtype(b, stmt));
		node_name(b, id, full, stmt->name.span);
		listing_add(b, full, id, stmt->name.span);
	}
	Value value = value_node(id, stmt->name.span);
	value.scales_left = id != NODE_NONE && has_no_axes(graph_node(b->graph, id));
	scope_declare(b, b->at.scope, stmt->name, value);
}
