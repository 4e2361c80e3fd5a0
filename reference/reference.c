/* A routine from its first node to its last: what each needs is held until the last that reads it
 * is done. Parameters and a routine's own tensors change in place, step by step. */
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/held.h"
#include "base/size_eval.h"
#include "reference/run.h"

int64_t run_size(const Run *run, Size size)
{
	int64_t value;
	if (!size_eval(run->inference->sizes, size, run->dims, &value))
		BUG("a size has no value where the guards hold");
	return value;
}

int64_t run_elements(const Run *run, NodeId id)
{
	const Shape *shape = &run->inference->shapes[id];
	int64_t n = 1;
	for (uint32_t i = 0; i < shape_naxes(shape); i++)
		if (__builtin_mul_overflow(n, run_size(run, shape_axis(shape, i)->size), &n))
			n = INT64_MAX;
	return n;
}

static NodeId held_in(const Run *run, NodeId id)
{
	NodeId target = run_node(run, id)->target;
	return target == NODE_NONE ? id : target;
}

RefTensor *run_tensor(Run *run, NodeId id) { return &run->tensors[held_in(run, id)]; }

bool run_reserve(Run *run, RefTensor *tensor, NodeId id)
{
	int64_t n = run_elements(run, id);
	bool fits = n <= run->call->most_elements - run->elements;
	*tensor = (RefTensor){.n = n, .dtype = run_node(run, id)->dtype};
	tensor->elements = fits ? held_alloc((size_t)n + 1, sizeof *tensor->elements) : NULL;
	if (tensor->elements)
		run->elements += n;
	else
		run->result->outcome = REF_TOO_MUCH;
	return tensor->elements != NULL;
}

void run_release(Run *run, RefTensor *tensor)
{
	run->elements -= tensor->elements ? tensor->n : 0;
	held_free(tensor->elements);
	tensor->elements = NULL;
}

/* ---- nodes ---- */

static void forget_errors(const RefTensor *tensor)
{
	for (int64_t i = 0; i < tensor->n; i++) {
		RefElement *element = &tensor->elements[i];
		if (element_is_unknown(element))
			element->x = (long double)NAN;
		element->error = 0;
		element->jumps = false;
	}
}

static bool compute(Run *run, NodeId id)
{
	const Node *node = run_node(run, id);
	RefTensor *out = &run->tensors[id];
	if (node->kind == NODE_INPUT || node->kind == NODE_PARAM)
		return true;
	if (node->target != NODE_NONE)
		return operation_assign(run, id);
	run_release(run, out); /* of the step before */
	if (!run_reserve(run, out, id))
		return false;
	if (run->inference->projs[id]) {
		bool filled = operation_fill(run, id, out);
		if (run->exact && filled && out->dtype != DTYPE_U4X32)
			forget_errors(out);
		return filled;
	}
	leaf_fill(run, id, out);
	return true;
}

static void forget_operands(Run *run, NodeId id)
{
	const Node *node = run_node(run, id);
	for (uint32_t i = 0; i < node->nargs && run->graph->loops.n == 1; i++) {
		NodeId from = held_in(run, node->args[i]);
		if (--run->readers[from] == 0)
			run_release(run, &run->tensors[from]);
	}
}

/* Is it a leaf other than an input, a parameter or a tensor of one routine? Routines may share it. */
static bool is_shared_leaf(const Node *node)
{
	return node->kind >= NODE_CONST && node->kind <= NODE_OFFSETS;
}

/* The routine's operations, and those that passes over the tensor program have put before them. */
void run_add(Run *run, bool *seen, NodeId id)
{
	const Node *node = run_node(run, id);
	if (seen[id])
		return;
	seen[id] = true;
	for (uint32_t i = 0; i < node->nargs; i++)
		if (run->inference->projs[node->args[i]] ||
		    is_shared_leaf(run_node(run, node->args[i])))
			run_add(run, seen, node->args[i]);
	run->order[run->norder++] = id;
}

static void find_order(Run *run)
{
	const Routine *r = run->routine;
	bool *seen = held_alloc(run->graph->nodes.n + 1, sizeof *seen);
	run->order = held_alloc(run->graph->nodes.n + 1, sizeof *run->order);
	REQUIRE(seen && run->order);
	for (uint32_t i = 0; i < r->norder; i++)
		run_add(run, seen, r->order[i]);
	held_free(seen);
}

static void count_readers(Run *run)
{
	const Routine *r = run->routine;
	for (uint32_t i = 0; i < run->norder; i++) {
		const Node *node = run_node(run, run->order[i]);
		for (uint32_t k = 0; k < node->nargs; k++)
			run->readers[held_in(run, node->args[k])]++;
		if (node->target != NODE_NONE)
			run->readers[node->target]++;
	}
	for (uint32_t i = 0; i < r->noutputs; i++)
		run->readers[held_in(run, r->outputs[i])]++;
	for (size_t i = 0; i < run->graph->params.n; i++)
		run->readers[run->graph->params.at[i]]++;
}

/* ---- loops ---- */

static void compute_nodes(Run *run, NodeId *nodes, uint32_t n, uint32_t outer);

/* The loop right inside `outer` that computes the node; `outer`: none does. */
static uint32_t loop_of(const Run *run, NodeId id, uint32_t outer)
{
	uint32_t loop = run_node(run, id)->loop;
	while (loop != outer && run->graph->loops.at[loop].parent != outer) /* falls: outwards */
		loop = run->graph->loops.at[loop].parent;
	return loop;
}

/* Does it end behind this step? */
static bool ends(Run *run, const GraphLoop *loop)
{
	if (loop->until == NODE_NONE || run->result->outcome != REF_DONE)
		return false;
	const RefElement *element = run_tensor(run, loop->until)->elements;
	if (element->error != 0 || element->jumps)
		run->result->outcome = REF_UNDECIDED;
	return element->x != 0;
}

static int64_t count_steps(Run *run, const GraphLoop *loop)
{
	int64_t most = run_size(run, infer_size(run->inference, loop->count));
	if (loop->made == NODE_NONE)
		return most;
	int64_t made = (int64_t)run_tensor(run, loop->made)->elements->x;
	return made < most ? made : most;
}

static void compute_loop(Run *run, NodeId *nodes, uint32_t n, uint32_t number)
{
	const GraphLoop *loop = &run->graph->loops.at[number];
	int64_t steps = count_steps(run, loop);
	for (int64_t step = 0; step < steps && run->result->outcome == REF_DONE; step++) {
		run->dims[loop->step] = loop->down ? steps - 1 - step : step;
		compute_nodes(run, nodes, n, number);
		if (ends(run, loop))
			return;
	}
}

/* In order; what stands among the nodes of a loop without being one of them comes before. */
static void compute_nodes(Run *run, NodeId *nodes, uint32_t n, uint32_t outer)
{
	for (uint32_t i = 0; i < n && run->result->outcome == REF_DONE; i++) {
		uint32_t loop = loop_of(run, nodes[i], outer), last = i, nown = 0;
		if (loop == outer) {
			if (compute(run, nodes[i]))
				forget_operands(run, nodes[i]);
			continue;
		}
		for (uint32_t k = i; k < n; k++)
			last = loop_of(run, nodes[k], outer) == loop ? k : last;
		NodeId *own = held_alloc(last - i + 2, sizeof *own);
		REQUIRE(own);
		for (uint32_t k = i; k <= last; k++)
			if (loop_of(run, nodes[k], outer) == loop)
				own[nown++] = nodes[k];
			else
				compute_nodes(run, nodes + k, 1, outer);
		compute_loop(run, own, nown, loop);
		held_free(own);
		i = last;
	}
}

void run_compute(Run *run) { compute_nodes(run, run->order, run->norder, 0); }

static void compute_all(Run *run)
{
	const Routine *r = run->routine;
	for (uint32_t i = 0; i < r->ninputs && run->result->outcome == REF_DONE; i++)
		if (run_reserve(run, &run->tensors[r->inputs[i]], r->inputs[i]))
			leaf_fill(run, r->inputs[i], &run->tensors[r->inputs[i]]);
	run_compute(run);
}

/* ---- guards ---- */

static bool takes_dims_of(const Run *run, Size size)
{
	const RefCall *call = run->call;
	const Routine *r = run->routine;
	const Sizes *sizes = call->inference->sizes;
	for (DimId d = 0; d < sizes_ndims(sizes); d++) {
		bool takes = !size_uses_dim(sizes, size, d);
		for (uint32_t i = 0; i < call->nroutine_dims; i++)
			takes |= call->routine_dims[i] == d;
		for (uint32_t i = 0; i < r->nscalars; i++)
			takes |= r->scalars[i].dim == d;
		if (!takes)
			return false;
	}
	return true;
}

static bool holds(const Run *run, const Guard *guard)
{
	int64_t a, b;
	if (!size_eval(run->inference->sizes, guard->a, run->dims, &a) ||
	    !size_eval(run->inference->sizes, guard->b, run->dims, &b))
		return false;
	switch (guard->kind) {
	case GUARD_EQ: return a == b;
	case GUARD_GE: return a >= b;
	case GUARD_DIVIDES: return b != 0 && a % b == 0;
	}
	BUG("a guard of kind %d", (int)guard->kind);
}

void run_check_guards(Run *run)
{
	for (uint32_t i = 0; i < run->inference->guards.n; i++) {
		const Guard *guard = &run->inference->guards.at[i];
		if (!takes_dims_of(run, guard->a) || !takes_dims_of(run, guard->b) ||
		    holds(run, guard))
			continue;
		run->result->outcome = REF_GUARD;
		run->result->guard = i;
		return;
	}
}

/* ---- calls ---- */

/* Those of the call and, behind them, scalars of the routine that are sizes. */
static int64_t *dims_of(const RefCall *call, const Routine *routine)
{
	const Sizes *sizes = call->inference->sizes;
	int64_t *dims = held_alloc(sizes_ndims(sizes) + 1, sizeof *dims);
	REQUIRE(dims);
	if (sizes_nargs(sizes))
		memcpy(dims, call->dims, sizes_nargs(sizes) * sizeof *dims);
	for (uint32_t i = 0; i < routine->nscalars; i++)
		if (routine->scalars[i].dim != DIM_NONE)
			dims[routine->scalars[i].dim] = call->scalars[i].i;
	return dims;
}

Run *run_new(const RefCall *call, const Routine *routine)
{
	Run *run = held_alloc(1, sizeof *run);
	REQUIRE(run);
	run->call = call;
	run->inference = call->inference;
	run->graph = call->inference->graph;
	run->routine = routine;
	run->rules = (Rules){call->fast, call->pairs, call->product_error};
	run->tensors = held_alloc(run->graph->nodes.n + 1, sizeof *run->tensors);
	run->readers = held_alloc(run->graph->nodes.n + 1, sizeof *run->readers);
	run->result = held_alloc(1, sizeof *run->result);
	run->dims = dims_of(call, routine);
	REQUIRE(run->tensors && run->readers && run->result);
	return run;
}

static Run *run_whole(const RefCall *call, const Routine *routine)
{
	Run *run = run_new(call, routine);
	find_order(run);
	count_readers(run);
	return run;
}

/* How often a node is computed, at most. */
static int64_t times(const Run *run, NodeId id)
{
	int64_t all = 1;
	for (uint32_t loop = run_node(run, id)->loop; loop;
	     loop = run->graph->loops.at[loop].parent) {
		int64_t steps =
			run_size(run, infer_size(run->inference, run->graph->loops.at[loop].count));
		if (__builtin_mul_overflow(all, steps < 0 ? 0 : steps, &all))
			return INT64_MAX;
	}
	return all;
}

int64_t run_steps(const Run *run, const NodeId *order, uint32_t n)
{
	int64_t steps = 0, once;
	for (uint32_t i = 0; i < n; i++)
		if (__builtin_add_overflow(walk_count(run, order[i]), run_elements(run, order[i]),
					   &once) ||
		    __builtin_mul_overflow(once, times(run, order[i]), &once) ||
		    __builtin_add_overflow(steps, once, &steps))
			return INT64_MAX;
	return steps;
}

int64_t reference_steps(const RefCall *call, uint32_t routine)
{
	const Graph *graph = call->inference->graph;
	const Routine *r = routine < graph->routines.n ? &graph->routines.at[routine] : &graph->init;
	Run run = {.call = call, .inference = call->inference, .graph = graph};
	run.dims = dims_of(call, r);
	int64_t steps = run_steps(&run, r->order, r->norder);
	held_free(run.dims);
	return steps;
}

static RefTensor copied(const RefTensor *from)
{
	RefTensor to = *from;
	to.elements = held_alloc((size_t)from->n + 1, sizeof *to.elements);
	REQUIRE(to.elements);
	if (from->n)
		memcpy(to.elements, from->elements, (size_t)from->n * sizeof *to.elements);
	return to;
}

/* A tensor may be several results, and a parameter one. */
static void take_results(Run *run)
{
	const Routine *r = run->routine;
	RefResult *result = run->result;
	size_t nparams = run->graph->params.n;
	result->noutputs = r->noutputs;
	result->nparams = (uint32_t)nparams;
	result->outputs = held_alloc(r->noutputs + 1, sizeof *result->outputs);
	result->params = held_alloc(nparams + 1, sizeof *result->params);
	REQUIRE(result->outputs && result->params);
	for (uint32_t i = 0; i < r->noutputs && result->outcome == REF_DONE; i++)
		result->outputs[i] = copied(run_tensor(run, r->outputs[i]));
	for (size_t i = 0; i < nparams && result->outcome == REF_DONE; i++)
		if (run->tensors[run->graph->params.at[i]].elements)
			result->params[i] = copied(&run->tensors[run->graph->params.at[i]]);
}

void run_end(Run *run)
{
	for (size_t i = 0; i < run->graph->nodes.n; i++)
		held_free(run->tensors[i].elements);
	held_free(run->tensors);
	held_free(run->readers);
	held_free(run->order);
	held_free(run->dims);
	held_free(run);
}

static RefResult *run_done(Run *run)
{
	RefResult *result = run->result;
	take_results(run);
	run_end(run);
	return result;
}

RefResult *reference_run(const RefCall *call, uint32_t routine)
{
	const Graph *graph = call->inference->graph;
	Run *run = run_whole(call, &graph->routines.at[routine]);
	run_check_guards(run);
	for (size_t i = 0; i < graph->params.n && run->result->outcome == REF_DONE; i++) {
		NodeId id = graph->params.at[i];
		if (call->params[i] && run_reserve(run, &run->tensors[id], id))
			leaf_fill(run, id, &run->tensors[id]);
	}
	if (run->result->outcome == REF_DONE)
		compute_all(run);
	return run_done(run);
}

RefResult *reference_init(const RefCall *call, uint64_t seed)
{
	const Graph *graph = call->inference->graph;
	Run *run = run_whole(call, &graph->init);
	run->seed = seed;
	for (size_t i = 0; i < graph->params.n && run->result->outcome == REF_DONE; i++) {
		NodeId id = graph->params.at[i];
		if (run_node(run, id)->used && run_reserve(run, &run->tensors[id], id))
			param_fill(run, id, &run->tensors[id]);
	}
	if (run->result->outcome == REF_DONE)
		compute_all(run);
	return run_done(run);
}

static void free_tensors(RefTensor *tensors, uint32_t n)
{
	for (uint32_t i = 0; tensors && i < n; i++)
		held_free(tensors[i].elements);
	held_free(tensors);
}

void reference_free(RefResult *result)
{
	if (!result)
		return;
	free_tensors(result->outputs, result->noutputs);
	free_tensors(result->params, result->nparams);
	free_tensors(result->nodes, result->nnodes);
	held_free(result);
}
