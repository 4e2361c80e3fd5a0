/* The launches of a routine as one graph, a chain of kernels. It is made node by node, so that those that take
 * scalars of the routine, or arrays of the caller's, are set anew where these change, and made anew where the state or
 * the workspace has moved. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/launch.h"

enum { NODES_MOST = 1 << 14 };

struct DeviceGraph {
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNode *nodes;
	uint32_t n;
	bool resets; /* is the first node no launch, but sets what kernels note failed checks in? */
	CUdeviceptr state, workspace; /* that its nodes point into */
	int64_t *scalars;	      /* that they have */
	CUdeviceptr *arrays;	      /* likewise, lent: inputs, then results */
};

void graph_free(Gpu *gpu, const DeviceContext *in, struct DeviceGraph *graph)
{
	if (!graph)
		return;
	if (in->handle && graph->exec)
		gpu->driver.cuGraphExecDestroy(graph->exec);
	if (in->handle && graph->graph)
		gpu->driver.cuGraphDestroy(graph->graph);
	free(graph->nodes);
	free(graph->scalars);
	free(graph->arrays);
	free(graph);
}

static bool has_functions(const Driver *d)
{
	return d->cuGraphCreate && d->cuGraphAddKernelNode_v2 && d->cuGraphInstantiateWithFlags &&
	       d->cuGraphExecKernelNodeSetParams_v2 && d->cuGraphLaunch && d->cuGraphExecDestroy &&
	       d->cuGraphDestroy;
}

/* Does the size differ from call to call, with scalars of the routine? */
static bool is_placed(const Runner *r, const tsr_size *size)
{
	bool placed = false;
	for (uint32_t i = 0; i < r->routine->nscalars && r->routine->placed; i++)
		for (int32_t at = 0; at < size->n && !placed; at++)
			placed = size->code[2 * at] == TSR_SIZE_DIM &&
				 size->code[2 * at + 1] == r->routine->places[i];
	return placed;
}

/* Launches of these lines, NODES_MOST + 1 where they are more, or no graph: one has the same nodes in each call. */
static int64_t count_nodes(const Runner *r, uint32_t from, uint32_t to)
{
	const Plan *plan = r->gpu->in->code->plan;
	const int64_t none = NODES_MOST + 1;
	int64_t n = 0, steps;
	for (uint32_t i = from; i < to && n < none; i++) {
		const PlanLine *line = &plan->lines[i];
		if (is_placed(r, line->loop ? &line->count : &line->blocks))
			return none;
		if (!line->loop) {
			n++;
			continue;
		}
		if (line->until != PLAN_NONE || line->made != PLAN_NONE ||
		    tsr_size_value(&line->count, &plan->world, r->run->values, &steps) != TSR_OK)
			return none;
		int64_t each = count_nodes(r, i + 1, line->end);
		n += steps <= 0 || each == 0 ? 0 : steps > none / each ? none : steps * each;
		i = line->end - 1;
	}
	return n < none ? n : none;
}

bool graph_wanted(const Runner *r)
{
	if (r->with->no_graph || !r->run->called || !has_functions(&r->gpu->driver))
		return false;
	int64_t n = r->run->graph ? 2 : count_nodes(r, r->routine->from, r->routine->to);
	return n >= 2 && n <= NODES_MOST;
}

CUresult graph_add(Runner *r, const CUlaunch *launch, bool early)
{
	const Driver *d = &r->gpu->driver;
	struct DeviceGraph *g = r->run->graph;
	CUgraphNode *node = &g->nodes[g->n], *before = g->n ? node - 1 : NULL;
	const CUedge edge = {.from_port = CU_PORT_EARLY, .type = CU_EDGE_EARLY};
	early = early && d->cuGraphAddDependencies_v2;
	g->n++;
	CUresult result = d->cuGraphAddKernelNode_v2(node, g->graph, early ? NULL : before,
						     before && !early, launch);
	if (result == CUDA_SUCCESS && early)
		result = d->cuGraphAddDependencies_v2(g->graph, before, node, &edge, 1);
	return result;
}

CUresult graph_set(Runner *r, const CUlaunch *launch)
{
	const struct DeviceGraph *g = r->run->graph;
	return r->gpu->driver.cuGraphExecKernelNodeSetParams_v2(
		g->exec, g->nodes[r->node + g->resets], launch);
}

/* The values of the routine's scalars, each in a cell; do they differ from those that are there? */
static bool take_scalars(const Runner *r, int64_t *cells)
{
	bool changed = false;
	for (uint32_t i = 0; i < r->routine->nscalars; i++) {
		int64_t cell = scalar_bits(&r->routine->scalars[i], r->with->scalars[i]);
		changed |= cell != cells[i];
		cells[i] = cell;
	}
	return changed;
}

/* Notes in the runner which of the caller's arrays lie elsewhere than those that are there; any? */
static bool take_arrays(Runner *r, CUdeviceptr *arrays)
{
	bool any = false;
	for (uint32_t i = 0; r->run->lent && i < r->routine->ninputs + r->routine->noutputs; i++) {
		r->moved[i] = arrays[i] != r->run->arrays[i];
		arrays[i] = r->run->arrays[i];
		any |= r->moved[i];
	}
	return any;
}

/* What launch_reset does, as the first node; an older driver has none. */
static int add_reset(Runner *r, struct DeviceGraph *g)
{
	const DeviceContext *in = r->gpu->in;
	const Driver *d = &r->gpu->driver;
	const CUmemset set = {
		.at = in->status, .element_bytes = sizeof r->status, .width = 1, .height = 1};
	if (!in->code->plan->checks || !d->cuGraphAddMemsetNode)
		return TSR_OK;
	g->resets = true;
	return device_check(
		r->gpu,
		d->cuGraphAddMemsetNode(&g->nodes[g->n++], g->graph, NULL, 0, &set, in->handle),
		"a graph");
}

static int fill(Runner *r, struct DeviceGraph *g)
{
	const Driver *d = &r->gpu->driver;
	int64_t room = count_nodes(r, r->routine->from, r->routine->to);
	g->nodes = calloc((size_t)room + 2, sizeof *g->nodes);
	g->scalars = calloc((size_t)r->routine->nscalars + 1, sizeof *g->scalars);
	g->arrays =
		calloc((size_t)r->routine->ninputs + r->routine->noutputs + 1, sizeof *g->arrays);
	if (!g->nodes || !g->scalars || !g->arrays)
		return device_fail(r->gpu, TSR_BAD_DEVICE, "out of memory");
	g->state = r->with->state ? r->with->state->at : 0;
	g->workspace = r->workspace;
	take_scalars(r, g->scalars);
	take_arrays(r, g->arrays);
	r->to = TO_GRAPH;
	int code = device_check(r->gpu, d->cuGraphCreate(&g->graph, 0), "a graph");
	if (code == TSR_OK)
		code = add_reset(r, g);
	if (code == TSR_OK)
		code = launch_lines(r, r->routine->from, r->routine->to);
	if (code == TSR_OK)
		code = device_check(r->gpu, d->cuGraphInstantiateWithFlags(&g->exec, g->graph, 0),
				    "a graph");
	return code;
}

static int make(Runner *r)
{
	graph_free(r->gpu, r->gpu->in, r->run->graph);
	r->run->graph = calloc(1, sizeof *r->run->graph);
	return r->run->graph ? fill(r, r->run->graph)
			     : device_fail(r->gpu, TSR_BAD_DEVICE, "out of memory");
}

/* Does it point to where the state and the workspace are? */
static bool stays(const Runner *r, const struct DeviceGraph *g)
{
	return g->state == (r->with->state ? r->with->state->at : 0) &&
	       g->workspace == r->workspace;
}

int graph_run(Runner *r)
{
	struct DeviceGraph *g = r->run->graph;
	int code = TSR_OK;
	if (!g || !stays(r, g)) {
		code = make(r);
	} else {
		r->rescaled = take_scalars(r, g->scalars);
		if (take_arrays(r, g->arrays) || r->rescaled) {
			r->to = TO_NODE;
			code = launch_lines(r, r->routine->from, r->routine->to);
		}
	}
	if (code != TSR_OK) { /* some of its nodes may have the scalars, and others not */
		graph_free(r->gpu, r->gpu->in, r->run->graph);
		r->run->graph = NULL;
		return code;
	}
	if (!r->run->graph->resets)
		code = launch_reset(r);
	if (code != TSR_OK)
		return code;
	char what[200];
	snprintf(what, sizeof what, "the graph of routine %.100s",
		 r->routine->name ? r->routine->name : "");
	return device_check(r->gpu, r->gpu->driver.cuGraphLaunch(r->run->graph->exec, r->stream),
			    what);
}
