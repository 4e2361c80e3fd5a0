/* The tensor graph with its shapes as a graphviz digraph: one node a tensor, one edge an
 * operand. */
#include "infer/dump.h"
#include "infer/infer.h"

/* Inside a dot string, quotes and backslashes are escaped; '|', '{' and '<' mean nothing in plain
 * nodes. */
static void print_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static const char *node_shape(NodeKind kind)
{
	switch (kind) {
	case NODE_INPUT: return "invhouse";
	case NODE_PARAM: return "folder";
	case NODE_CONST:
	case NODE_NUMBER: return "note";
	default: return "box";
	}
}

static void print_node(FILE *out, const Inference *inference, NodeId id)
{
	const Node *node = graph_node(inference->graph, id);
	fprintf(out, "  n%u [shape=%s, label=\"", id, node_shape(node->kind));
	if (node->name)
		print_escaped(out, node->name);
	fprintf(out, "%s%s\\n", node->name ? " = " : "",
		node->kind == NODE_POINTWISE ? op_name(node->op) : node_kind_name(node));
	print_escaped(out, dtype_name(node->dtype));
	fputc(' ', out);
	print_escaped(
		out, shape_text(inference->graph->arena, inference->sizes, &inference->shapes[id]));
	fputs("\"];\n", out);
	for (uint32_t i = 0; i < node->nargs; i++)
		fprintf(out, "  n%u -> n%u;\n", node->args[i], id);
	if (node->target != NODE_NONE)
		fprintf(out, "  n%u -> n%u [style=bold];\n", id, node->target);
}

void infer_dump_dot(FILE *out, const Inference *inference)
{
	fputs("digraph program {\n  rankdir=LR;\n  node [fontname=\"monospace\", fontsize=10];\n",
	      out);
	for (size_t i = 0; i < inference->graph->nodes.n; i++)
		if (inference->graph->nodes.at[i].used)
			print_node(out, inference, (NodeId)i);
	fputs("}\n", out);
}
