/* The pipeline on one screen: a stage is its functions and a row. */
#include "driver/pipeline.h"

#include <string.h>

#include "driver/state.h"
#include "infer/dump.h"
#include "loops/bounds.h"
#include "loops/parse.h"
#include "loops/verify_gpu.h"
#include "lower/lower.h"
#include "lower/naive/naive.h"

static void run_ast(Session *s) { s->ast = parse_file(&s->parse, s->file); }
static void run_graph(Session *s)
{
	s->graph = frontend_build(&s->parse, &s->sources, s->ast, &s->options.frontend);
}
static void run_infer(Session *s)
{
	s->inference = infer_partial(s->graph, s->perm, &s->diags, &s->options.infer);
}
/* What gradients may compute again: on a GPU, and without a policy, nothing that is not asked for. */
static const TensorProgram *first_tensors(Session *s)
{
	TensorProgram *program = tensor_program(s->inference, s->perm);
	session_find_target(s);
	if (!session_unscheduled(s))
		program->again = (TensorAgain){s->target.recompute_steps, s->target.recompute_row};
	return program;
}
static void rewrite_tensors(Session *s, int pass)
{
	const TensorProgram *before = pass == 0 ? first_tensors(s) : s->tensors[pass - 1];
	s->tensors[pass] = tensor_run(before, pass);
}
#define TENSOR_PASS_DUMPED(name, PASS, DUMP)                                             \
	static void run_##name(Session *s) { rewrite_tensors(s, PASS); }                 \
	static void verify_##name(const Session *s) { tensor_verify(s->tensors[PASS]); } \
	static void dump_##name(FILE *out, Session *s) { DUMP(out, s->tensors[PASS]); }
#define TENSOR_PASS(name, PASS) TENSOR_PASS_DUMPED(name, PASS, tensor_dump)
TENSOR_PASS(bounds, TENSOR_BOUNDS)
TENSOR_PASS_DUMPED(recompute, TENSOR_RECOMPUTE, recompute_dump)
TENSOR_PASS(adjoint, TENSOR_ADJOINT)
TENSOR_PASS(sorted, TENSOR_SORTED)
TENSOR_PASS(reassociate, TENSOR_REASSOCIATE)
TENSOR_PASS(two_stage, TENSOR_TWO_STAGE)
TENSOR_PASS(materialize, TENSOR_MATERIALIZE)
TENSOR_PASS(shifts, TENSOR_SHIFTS)
TENSOR_PASS(gather, TENSOR_GATHER)
TENSOR_PASS(permute, TENSOR_PERMUTE)
TENSOR_PASS(common, TENSOR_COMMON)

/* The interpreter, for what is computed while compiling. */
static bool interpret_pack(const Program *program, const CodeOptions *code)
{
	return interp_run(program, (uint32_t)program->routines.n, &(InterpArgs){.exact = code}) ==
	       0;
}

LowerOptions session_lower_options(const Session *s)
{
	const SessionOptions *o = &s->options;
	int64_t grain = o->grain >= 0 ? o->grain : s->target.grain;
	bool pairs = s->target.bf16_pairs || target_has_matrix(&s->target, true);
	return (LowerOptions){.target = &s->target,
			      .gpu = o->gpu,
			      .grain = o->checked ? 0 : grain,
			      .prepack = !o->no_prepack,
			      .pairs = pairs && !o->code.strict_fp,
			      .tensor_cores = !o->code.strict_fp,
			      .f32_matmul = o->f32_matmul,
			      .promote = o->promote,
			      .interpret_pack =
				      o->code.strict_fp || s->first ? NULL : interpret_pack,
			      .code = &o->code,
			      .max_workspace = o->max_workspace >= 0 ? &o->max_workspace : NULL};
}

/* What is asked of schedules; NULL: nothing, or it cannot be read. */
static Schedule *read_schedule(Session *s)
{
	const char *why = NULL, *path = s->options.schedule, *text = s->options.schedule_text;
	uint32_t file = 0;
	if (text)
		file = source_add(&s->sources, path ? path : "schedule", text, strlen(text));
	else if (path)
		file = source_read(&s->sources, path, &why);
	if (why)
		diag(&s->diags, E0601, SPAN_NONE, "cannot read '%s': %s", path, why);
	return file ? schedule_parse(&s->sources, s->symbols, &s->diags, file, s->file, s->perm)
		    : NULL;
}

bool session_unscheduled(const Session *s)
{
	const SessionOptions *o = &s->options;
	return o->gpu || (o->no_policy && !o->schedule && !o->schedule_text);
}

static void make_naive(Session *s)
{
	LowerOptions options = session_lower_options(s);
	s->naive = naive_kernels(s->tensors[TENSOR_PASSES - 1], &s->sources, s->perm, &s->diags,
				 &options);
}

const Program *session_naive(Session *s)
{
	if (s->naive)
		return s->naive;
	make_naive(s);
	if (s->naive)
		loops_verify_grammar(s->naive);
	return s->naive;
}

/* Else they are made where somebody asks for them. */
static void run_naive(Session *s)
{
	if (session_unscheduled(s))
		make_naive(s);
}

/* For a GPU tiles alone are chosen, where none are asked for. */
static void run_plan(Session *s)
{
	if ((session_unscheduled(s) && !s->options.gpu) || s->first)
		return;
	s->asked = read_schedule(s);
	if (!s->asked && s->options.gpu && s->options.no_policy)
		s->asked = ARENA_NEW(s->perm, Schedule);
	if (s->asked && s->options.no_policy)
		schedule_complete(s->asked);
	if (session_unscheduled(s))
		return;
	s->lower_options = session_lower_options(s);
	if (s->diags.nerrors == 0)
		s->plan = lower_plan(s->tensors[TENSOR_PASSES - 1], &s->sources, s->perm, &s->diags,
				     &s->lower_options, s->asked);
}

static void run_nests(Session *s)
{
	if (s->plan)
		lower_plan_kernels(s->plan);
}

static void run_kernels(Session *s)
{
	s->program = s->loops[0] = s->plan ? lower_kernels(s->plan) : s->naive;
}

/* Without a policy memory is all that is chosen; for a GPU threads are, too, and what nothing reads goes. */
static bool is_chosen(const Session *s, uint32_t pass)
{
	bool gpu = s->options.gpu && (pass == PASS_UNREAD || pass >= PASS_CASTS);
	return !session_unscheduled(s) || gpu || pass == PASS_MEMORY;
}

static void transform(Session *s, uint32_t pass)
{
	if (!is_chosen(s, pass))
		s->loops[1 + pass] = s->program;
	else
		s->program = s->loops[1 + pass] =
			transform_run(pass, s->program, s->asked, &s->diags);
}

static void dump_pass(FILE *out, const Program *program)
{
	if (program->changed)
		loops_dump(out, program);
	else
		fputs("(unchanged)\n", out);
}
#define LOOPS_DUMP(name, PASS) \
	static void dump_##name(FILE *out, Session *s) { dump_pass(out, s->loops[1 + PASS]); }
#define LOOPS_PASS(name, PASS)                                     \
	static void run_##name(Session *s) { transform(s, PASS); } \
	LOOPS_DUMP(name, PASS)
LOOPS_PASS(unread, PASS_UNREAD)
LOOPS_PASS(interchange, PASS_INTERCHANGE)
LOOPS_PASS(exchange, PASS_EXCHANGE)
LOOPS_PASS(order, PASS_ORDER)
LOOPS_PASS(fusion, PASS_FUSION)
LOOPS_PASS(unroll, PASS_UNROLL)
LOOPS_PASS(transpose, PASS_TRANSPOSE)
LOOPS_PASS(horizontal, PASS_HORIZONTAL)
LOOPS_PASS(elide, PASS_ELIDE)
LOOPS_PASS(prefetch, PASS_PREFETCH)
LOOPS_PASS(stream, PASS_STREAM)
LOOPS_PASS(hoist, PASS_HOIST)
LOOPS_PASS(casts, PASS_CASTS)
LOOPS_PASS(indices, PASS_INDICES)
LOOPS_PASS(grid, PASS_GRID)
LOOPS_PASS(join, PASS_JOIN)
LOOPS_PASS(prepack, PASS_PREPACK)
LOOPS_PASS(attention, PASS_ATTENTION)
LOOPS_PASS(overlap, PASS_OVERLAP)
LOOPS_DUMP(parallel, PASS_PARALLEL)
LOOPS_DUMP(bind, PASS_BIND)

static void run_parallel(Session *s)
{
	transform(s, PASS_PARALLEL);
	if (session_unscheduled(s))
		return;
	lower_finish(s->program, s->asked, &s->diags);
	schedule_free(s->asked);
}

static void run_bind(Session *s)
{
	transform(s, PASS_BIND);
	if (!s->options.gpu || s->first)
		return;
	lower_finish(s->program, s->asked, &s->diags);
	schedule_free(s->asked);
}

static void run_memory(Session *s)
{
	transform(s, PASS_MEMORY);
	if (s->options.checked && s->diags.nerrors == 0)
		bounds_insert_checks(s->program);
	if (s->first && s->diags.nerrors == 0)
		loops_tell_fault(&s->diags, s->program);
}

/* For a GPU loops stay as they are. */
static void vectorise(Session *s, uint32_t pass)
{
	const Program *before = pass == VECTOR_OUTLINE ? s->program : s->vectors;
	VectorTarget target = target_vectors(&s->target, &s->options.code);
	s->vectors = s->options.gpu ? s->program : vector_run(pass, before, &target);
	s->vectored[pass] = s->vectors;
}

static void dump_vectorised(FILE *out, const Session *s, uint32_t pass)
{
	vector_dump(out, pass == VECTOR_OUTLINE ? s->program : s->vectored[pass - 1],
		    s->vectored[pass]);
}
#define VECTOR_PASS(name, PASS)                                    \
	static void run_##name(Session *s) { vectorise(s, PASS); } \
	static void dump_##name(FILE *out, Session *s) { dump_vectorised(out, s, PASS); }
VECTOR_PASS(outline, VECTOR_OUTLINE)
VECTOR_PASS(checks, VECTOR_CHECKS)
VECTOR_PASS(fast_path, VECTOR_FAST_PATH)
VECTOR_PASS(row_lanes, VECTOR_ROW_LANES)
VECTOR_PASS(lanes, VECTOR_LANES)
VECTOR_PASS(narrow, VECTOR_NARROW)

static void verify_graph(const Session *s) { graph_verify(s->graph); }
static void verify_infer(const Session *s) { infer_verify(s->inference, NULL); }
static void verify_target(const Session *s) { target_verify(&s->target); }
static void verify_naive(const Session *s)
{
	if (s->naive)
		loops_verify_grammar(s->naive);
}
static void verify_plan(const Session *s)
{
	if (s->plan)
		lower_plan_verify(s->plan);
}
static void verify_nests(const Session *s)
{
	if (s->plan)
		lower_nests_verify(s->plan);
}
/* That indices stay inside is shown once, of the finished loops. */
static void verify_program(const Session *s) { loops_verify_grammar(s->program); }
/* What a pass left as it was is verified already, unless it is what was read. */
static bool is_new(const Session *s) { return s->program->changed || s->first; }
static void verify_new(const Session *s)
{
	if (is_new(s))
		loops_verify_grammar(s->program);
}
static void verify_grids(const Session *s)
{
	verify_new(s);
	if (s->options.gpu && is_new(s))
		loops_verify_gpu(s->program, s->options.gpu);
}
static void verify_loops(const Session *s) { loops_verify(s->program); }
static void verify_vectors(const Session *s)
{
	if (s->vectors->changed)
		loops_verify_grammar(s->vectors);
}
/* ... and once more after the last rewrite. */
static void verify_lanes(const Session *s) { loops_verify(s->vectors); }

static void dump_tokens(FILE *out, Session *s) { tokens_dump(out, &s->parse, s->file); }
static void dump_ast(FILE *out, Session *s) { ast_dump(out, s->ast); }
static void dump_graph(FILE *out, Session *s) { graph_dump(out, s->graph); }
static void dump_constraints(FILE *out, Session *s) { infer_dump_constraints(out, s->inference); }
static void dump_shapes(FILE *out, Session *s) { infer_dump_shapes(out, s->inference); }
static void dump_guards(FILE *out, Session *s) { infer_dump_guards(out, s->inference); }
static void dump_proj(FILE *out, Session *s) { infer_dump_proj(out, s->inference); }
static void dump_target(FILE *out, Session *s) { target_dump(out, &s->target); }
static void dump_naive(FILE *out, Session *s)
{
	const Program *naive = session_naive(s);
	if (naive)
		loops_dump(out, naive);
}
static void dump_plan(FILE *out, Session *s)
{
	if (s->plan)
		lower_plan_dump(out, s->plan);
	else
		fputs("(as in naive)\n", out);
}
static void dump_nests(FILE *out, Session *s)
{
	if (s->plan)
		lower_nests_dump(out, s->plan);
	else
		fputs("(as in naive)\n", out);
}
static void dump_kernels(FILE *out, Session *s) { loops_dump(out, s->loops[0]); }
static void dump_sums(FILE *out, Session *s)
{
	if (session_unscheduled(s))
		fputs("(as in naive)\n", out);
	else
		schedule_dump_sums(out, s->loops[0]);
}
static void dump_schedule(FILE *out, Session *s) { schedule_dump(out, s->program); }
static void dump_loops(FILE *out, Session *s) { loops_dump(out, s->program); }
static void dump_vector(FILE *out, Session *s) { vector_dump(out, s->program, s->vectors); }

/* What is written of it in the end are the rows of backends[] (codegen/backends.c): so, obj, asm,
 * c, header, cu. */
const Stage pipeline[] = {
	{"tokens", "grammar", "tokens", NULL, NULL, dump_tokens, false},
	{"ast", "grammar", "syntax tree", run_ast, NULL, dump_ast, false},
	{"graph", "frontend", "tensor graph, names resolved", run_graph, verify_graph, dump_graph,
	 false},
	{"constraints", "infer", "what the operations say about sizes", run_infer, verify_infer,
	 dump_constraints, false},
	{"shapes", "infer", "a size for every axis", NULL, NULL, dump_shapes, false},
	{"guards", "infer", "what is checked when it runs", NULL, NULL, dump_guards, false},
	{"proj", "infer", "an index map for every operand", NULL, NULL, dump_proj, false},
	{"bounds", "tensor", "indices that are inside whatever the data is, unchecked", run_bounds,
	 verify_bounds, dump_bounds, false},
	{"recompute", "tensor", "what gradients compute again rather than keep", run_recompute,
	 verify_recompute, dump_recompute, false},
	{"adjoint", "tensor", "gradients as operations", run_adjoint, verify_adjoint, dump_adjoint,
	 false},
	{"sorted", "tensor", "sorted elements read at the places of a sort that is there",
	 run_sorted, verify_sorted, dump_sorted, false},
	{"reassociate", "tensor", "products of several operands in pairs", run_reassociate,
	 verify_reassociate, dump_reassociate, false},
	{"two_stage", "tensor", "reductions in two stages", run_two_stage, verify_two_stage,
	 dump_two_stage, false},
	{"materialize", "tensor", "operands along a short last axis written out", run_materialize,
	 verify_materialize, dump_materialize, false},
	{"shifts", "tensor", "shifted tensors read at a distance", run_shifts, verify_shifts,
	 dump_shifts, false},
	{"gather", "tensor", "windows that are written as windows that are read", run_gather,
	 verify_gather, dump_gather, false},
	{"permute", "tensor", "what is put together, in the order that it is put in behind",
	 run_permute, verify_permute, dump_permute, false},
	{"common", "tensor", "equal tensors as one", run_common, verify_common, dump_common, false},
	{"target", "lower", "the processor that code is made for", session_find_target,
	 verify_target, dump_target, false},
	{"naive", "lower", "unscheduled loops of each operation", run_naive, verify_naive,
	 dump_naive, true},
	/* rewrites nothing: it decides of each operation of a routine, from the results back, as what reads
	 * it has to be decided before: where it is computed and converted (lower/fuse.c) */
	{"plan", "lower", "which operations have kernels, and which go inside others", run_plan,
	 verify_plan, dump_plan, false},
	{"nests", "lower", "how each kernel is computed: tiles, copies, blocks of rows", run_nests,
	 verify_nests, dump_nests, false},
	{"kernels", "lower", "loops for each operation, or for several", run_kernels,
	 verify_program, dump_kernels, true},
	{"sums", "lower", "in which order each reduction adds", NULL, NULL, dump_sums, false},
	{"unread", "transform",
	 "what nothing reads, functions of parameters, constants, temporaries, left out",
	 run_unread, verify_program, dump_unread, true},
	{"interchange", "transform", "steps of loops inside of loops over elements",
	 run_interchange, verify_program, dump_interchange, true},
	{"exchange", "transform", "places of what loops carry instead of copies", run_exchange,
	 verify_program, dump_exchange, true},
	{"order", "transform", "assignments to the state as soon as they may run", run_order,
	 verify_program, dump_order, true},
	{"fusion", "transform", "kernels over the same rows as one", run_fusion, verify_program,
	 dump_fusion, true},
	{"unroll", "transform", "the few elements of a row, unrolled, so that lanes go along rows",
	 run_unroll, verify_program, dump_unroll, true},
	{"transpose", "transform", "copies across memory in tiles", run_transpose, verify_program,
	 dump_transpose, true},
	{"horizontal", "transform", "small kernels as one loop for threads", run_horizontal,
	 verify_program, dump_horizontal, true},
	{"elide", "transform", "temporaries stored straight where they are copied to", run_elide,
	 verify_program, dump_elide, true},
	{"prefetch", "transform", "rows that integers choose fetched ahead", run_prefetch,
	 verify_program, dump_prefetch, true},
	{"stream", "transform", "results that no cache holds stored past the caches", run_stream,
	 verify_program, dump_stream, true},
	{"parallel", "transform", "loops cut for threads", run_parallel, verify_program,
	 dump_parallel, true},
	{"hoist", "transform", "what loops would compute again computed before them", run_hoist,
	 verify_new, dump_hoist, true},
	{"casts", "transform", "for a GPU: copies and conversions read from what they are made of",
	 run_casts, verify_new, dump_casts, true},
	{"indices", "transform",
	 "for a GPU: tensors made of indices alone, or of elements of four bits, computed where they are read",
	 run_indices, verify_new, dump_indices, true},
	{"grid", "transform", "for a GPU: independent iterations as loops of a grid", run_grid,
	 verify_grids, dump_grid, true},
	{"join", "transform", "for a GPU: kernels of one grid, or over the same rows, as one",
	 run_join, verify_grids, dump_join, true},
	{"prepack", "transform", "for a GPU: functions of parameters, computed once", run_prepack,
	 verify_grids, dump_prepack, true},
	{"attention", "transform", "for a GPU: attention whose scores are in no memory",
	 run_attention, verify_grids, dump_attention, true},
	/* one choice for each kernel: a kernel gets the first that pays of tiles, slices, warps of rows, rows,
	 * columns, squares and wide accesses, and slices of a product leave a sum that gets another of them */
	{"bind", "transform",
	 "for a GPU: what threads of a block do together, or one for several elements", run_bind,
	 verify_grids, dump_bind, true},
	{"overlap", "transform", "for a GPU: parameters fetched while the kernel in front ends",
	 run_overlap, verify_grids, dump_overlap, true},
	{"schedule", "transform", "how each operation is computed", NULL, NULL, dump_schedule,
	 false},
	{"loops", "transform", "temporaries placed: loop nests, buffers and routines", run_memory,
	 verify_loops, dump_loops, true},
	{"outline", "loops", "loops of a heavy kernel as functions of their own", run_outline,
	 verify_vectors, dump_outline, false},
	{"checks", "loops", "checks of what is read, whole vectors at a time", run_checks,
	 verify_vectors, dump_checks, false},
	{"fast_path", "loops", "functions with a fast path in strips, by their arguments",
	 run_fast_path, verify_vectors, dump_fast_path, false},
	{"row_lanes", "loops", "rows of a few elements in lanes", run_row_lanes, verify_lanes,
	 dump_row_lanes, false},
	{"lanes", "loops", "loops of functions such as exp in lanes", run_lanes, verify_lanes,
	 dump_lanes, false},
	{"narrow", "loops", "integer arithmetic in the narrowest type that holds it", run_narrow,
	 verify_lanes, dump_narrow, false},
	{"vector", "loops", "kernels that back ends see, where they differ from loops", NULL,
	 verify_lanes, dump_vector, true},
};
const int pipeline_length = sizeof pipeline / sizeof pipeline[0];

int stage_step(const char *name)
{
	if (strncmp(name, "shapes:", 7) != 0 || name[7] < '1' || name[7] > '7' || name[8])
		return 0;
	return name[7] - '0';
}

int stage_index(const char *name)
{
	for (int i = 0; i < pipeline_length; i++)
		if (strcmp(pipeline[i].name, name) == 0)
			return i;
	return stage_step(name) ? stage_index("shapes") : -1;
}

void stage_dump(FILE *out, Session *s, const char *name)
{
	if (stage_step(name))
		infer_dump_stage(out, s->inference, stage_step(name));
	else
		pipeline[stage_index(name)].dump(out, s);
}
