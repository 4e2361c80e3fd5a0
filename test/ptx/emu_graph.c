/* Graphs: built node by node or captured, instantiated, launched. Nodes run in an order that their edges allow: the first
 * that may, or, with TSR_EMU_SCHEDULE=reverse, the last, so that an edge that is missing shows. */
#include <stdlib.h>
#include <string.h>

#include "test/ptx/emu_entry.h"

enum {
	NODE_KERNEL = 0,
	NODE_MEMCPY = 1,
	NODE_MEMSET = 2,
	NODE_EMPTY = 5,
	NODE_WAIT = 6,
	NODE_RECORD = 7
};

CUgraph emu_graph_new(void)
{
	CUgraph graph = calloc(1, sizeof *graph);
	if (graph != NULL)
		graph->tag = TAG_GRAPH;
	return graph;
}

static void graph_free(CUgraph graph)
{
	for (size_t i = 0; i < graph->n; i++) {
		emu_work_free(&graph->nodes[i]->work);
		free(graph->nodes[i]->after);
		free(graph->nodes[i]);
	}
	free(graph->nodes);
	graph->tag = 0;
	free(graph);
}

static bool is_graph(CUgraph graph) { return graph != NULL && graph->tag == TAG_GRAPH; }

static bool grow(CUgraph graph)
{
	if (graph->n < graph->cap)
		return true;
	size_t cap = graph->cap ? 2 * graph->cap : 16;
	CUgraphNode *nodes = realloc(graph->nodes, cap * sizeof *nodes);
	if (nodes == NULL)
		return false;
	graph->nodes = nodes;
	graph->cap = cap;
	return true;
}

CUresult emu_graph_add(CUgraph graph, CUgraphNode *made, const CUgraphNode *after, size_t n,
		       EmuWork work)
{
	for (size_t i = 0; i < n; i++)
		if (after[i] == NULL || after[i]->graph != graph) {
			emu_work_free(&work);
			return CUDA_ERROR_INVALID_VALUE;
		}
	CUgraphNode node = calloc(1, sizeof *node);
	CUgraphNode *edges = calloc(n + 1, sizeof *edges);
	if (node == NULL || edges == NULL || !grow(graph)) {
		free(node);
		free(edges);
		emu_work_free(&work);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (n > 0)
		memcpy(edges, after, n * sizeof *edges);
	*node = (struct CUgraphNode_st){graph, work, edges, n, graph->n, false};
	graph->nodes[graph->n++] = *made = node;
	return CUDA_SUCCESS;
}

static CUresult create(CUgraph *graph)
{
	*graph = emu_graph_new();
	return *graph == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
	EMU_CALL(true, flags != 0 ? CUDA_ERROR_INVALID_VALUE : create(graph));
}

CUresult cuGraphDestroy(CUgraph graph)
{
	EMU_CALL(true,
		 is_graph(graph) ? (graph_free(graph), CUDA_SUCCESS) : CUDA_ERROR_INVALID_HANDLE);
}

static EmuWork work_of(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (EmuWork){.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
			 .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
			 .dynamic = p->sharedMemBytes};
}

static CUresult add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n,
			   const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	if (!is_graph(graph) || params == NULL || params->extra != NULL)
		return CUDA_ERROR_INVALID_VALUE;
	EmuWork work = work_of(params);
	CUresult result = emu_launch_work(&work, params->func, params->kernelParams);
	return result != CUDA_SUCCESS ? result : emu_graph_add(graph, node, after, n, work);
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	EMU_CALL(true, add_kernel(node, graph, after, n, params));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				 size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	EMU_CALL(true, add_kernel(node, graph, after, n, params ? &params->v1 : NULL));
}

enum { EDGE_PROGRAMMATIC = 1, PORT_PROGRAMMATIC = 1 };

/* An edge from a kernel's start to another kernel, which begins before that one ends. */
static bool is_early(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *edge)
{
	return edge->type == EDGE_PROGRAMMATIC && edge->from_port == PORT_PROGRAMMATIC &&
	       from->work.kind == WORK_LAUNCH && to->work.kind == WORK_LAUNCH;
}

static CUresult add_edge(CUgraph graph, CUgraphNode from, CUgraphNode to,
			 const CUgraphEdgeData *edge)
{
	bool plain = edge == NULL || (edge->type == 0 && edge->from_port == 0);
	if (from == NULL || to == NULL || from->graph != graph || to->graph != graph ||
	    from->number >= to->number || (!plain && !is_early(from, to, edge)))
		return CUDA_ERROR_INVALID_VALUE;
	CUgraphNode *after = realloc(to->after, (to->nafter + 1) * sizeof *after);
	if (after == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	after[to->nafter++] = from;
	to->after = after;
	to->work.early |= !plain;
	return CUDA_SUCCESS;
}

static CUresult add_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			  const CUgraphEdgeData *edges, size_t n)
{
	CUresult result = is_graph(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && result == CUDA_SUCCESS; i++)
		result = add_edge(graph, from[i], to[i], edges == NULL ? NULL : &edges[i]);
	return result;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edges, size_t n)
{
	EMU_CALL(true, add_edges(graph, from, to, edges, n));
}

/* As many as there is room for; nodes NULL: how many there are. */
static CUresult nodes_of(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	if (!is_graph(graph) || n == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; nodes != NULL && i < *n; i++)
		nodes[i] = i < graph->n ? graph->nodes[i] : NULL;
	*n = nodes == NULL || *n > graph->n ? graph->n : *n;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	EMU_CALL(true, nodes_of(graph, nodes, n));
}

static int type_of(EmuWorkKind kind)
{
	switch (kind) {
	case WORK_LAUNCH: return NODE_KERNEL;
	case WORK_SET: return NODE_MEMSET;
	case WORK_RECORD: return NODE_RECORD;
	case WORK_WAIT: return NODE_WAIT;
	case WORK_NONE: return NODE_EMPTY;
	default: return NODE_MEMCPY;
	}
}

CUresult cuGraphNodeGetType(CUgraphNode node, int *type)
{
	EMU_CALL(true, node == NULL ? CUDA_ERROR_INVALID_VALUE
				    : (*type = type_of(node->work.kind), CUDA_SUCCESS));
}

static CUresult params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	if (node == NULL || node->work.kind != WORK_LAUNCH)
		return CUDA_ERROR_INVALID_VALUE;
	const EmuWork *w = &node->work;
	*params = (CUDA_KERNEL_NODE_PARAMS_v2){.v1 = {w->function, w->grid[0], w->grid[1],
						      w->grid[2], w->block[0], w->block[1],
						      w->block[2], w->dynamic, w->places, NULL},
					       .ctx = &emu.context};
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	EMU_CALL(true, params_of(node, params));
}

/* A copy of a graph: edges go to nodes of the same number. */
static CUresult copy_nodes(CUgraph to, CUgraph from)
{
	for (size_t i = 0; i < from->n; i++) {
		const CUgraphNode node = from->nodes[i];
		EmuWork work;
		if (!emu_work_copy(&work, &node->work))
			return CUDA_ERROR_OUT_OF_MEMORY;
		CUgraphNode made;
		CUresult result = emu_graph_add(to, &made, NULL, 0, work);
		if (result != CUDA_SUCCESS)
			return result;
		free(made->after);
		made->nafter = 0;
		made->after = calloc(node->nafter + 1, sizeof *made->after);
		if (made->after == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
		for (; made->nafter < node->nafter; made->nafter++)
			made->after[made->nafter] = to->nodes[node->after[made->nafter]->number];
	}
	return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *made, CUgraph graph)
{
	if (!is_graph(graph) || emu_fails(FAIL_GRAPH))
		return is_graph(graph) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	CUgraphExec exec = calloc(1, sizeof *exec);
	CUgraph copy = emu_graph_new();
	CUresult result =
		exec != NULL && copy != NULL ? copy_nodes(copy, graph) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result != CUDA_SUCCESS) {
		if (copy != NULL)
			graph_free(copy);
		free(exec);
		return result;
	}
	*exec = (struct CUgraphExec_st){TAG_EXEC, copy, graph};
	*made = exec;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)flags;
	EMU_CALL(true, instantiate(exec, graph));
}

static bool is_exec(CUgraphExec exec) { return exec != NULL && exec->tag == TAG_EXEC; }

/* The kernel stays, as the driver asks for; its parameters and sizes change. */
static CUresult set_params(CUgraphExec exec, CUgraphNode node,
			   const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	if (!is_exec(exec) || node == NULL || params == NULL || node->number >= exec->graph->n ||
	    node->graph != exec->origin)
		return CUDA_ERROR_INVALID_VALUE;
	EmuWork *old = &exec->graph->nodes[node->number]->work, work = work_of(params);
	if (old->kind != WORK_LAUNCH || old->function != params->func)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = emu_launch_work(&work, params->func, params->kernelParams);
	if (result != CUDA_SUCCESS)
		return result;
	work.early = old->early;
	emu_work_free(old);
	*old = work;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	EMU_CALL(true, set_params(exec, node, params));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	EMU_CALL(true, set_params(exec, node, params ? &params->v1 : NULL));
}

static CUresult exec_destroy(CUgraphExec exec)
{
	if (!is_exec(exec))
		return CUDA_ERROR_INVALID_HANDLE;
	graph_free(exec->graph);
	exec->tag = 0;
	free(exec);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) { EMU_CALL(true, exec_destroy(exec)); }

static bool may_run(const CUgraphNode node)
{
	if (node->done)
		return false;
	for (size_t i = 0; i < node->nafter; i++)
		if (!node->after[i]->done)
			return false;
	return true;
}

/* Edges go backwards, so there always is one. */
static CUgraphNode next_node(CUgraph graph)
{
	bool last = emu.schedule.order == ORDER_REVERSE;
	for (size_t i = 0; i < graph->n; i++) {
		CUgraphNode node = graph->nodes[last ? graph->n - 1 - i : i];
		if (may_run(node))
			return node;
	}
	return NULL;
}

/* The works as they are now: later changes of the graph are for later launches. */
static CUresult launch(CUgraphExec exec, CUstream stream)
{
	if (!is_exec(exec) || !emu_is_stream(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < exec->graph->n; i++)
		exec->graph->nodes[i]->done = false;
	for (size_t i = 0; i < exec->graph->n; i++) {
		CUgraphNode node = next_node(exec->graph);
		EmuWork work;
		node->done = true;
		if (!emu_work_copy(&work, &node->work))
			return CUDA_ERROR_OUT_OF_MEMORY;
		CUresult result = emu_submit(stream, work);
		if (result != CUDA_SUCCESS)
			return result;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { EMU_CALL(true, launch(exec, stream)); }

static CUresult begin(CUstream stream, int mode)
{
	if (stream == NULL || !emu_is_stream(stream) || stream->capturing != NULL)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream->last = NULL;
	stream->mode = mode;
	return create(&stream->capturing);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) { EMU_CALL(true, begin(stream, mode)); }

static CUresult end(CUstream stream, CUgraph *graph)
{
	if (stream == NULL || !emu_is_stream(stream) || stream->capturing == NULL)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	*graph = stream->capturing;
	stream->capturing = NULL;
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) { EMU_CALL(true, end(stream, graph)); }
