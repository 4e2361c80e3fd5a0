/* A tensor program to kernels: its tables (tables.c), then every routine (routine.c).
 *
 * Constants, copies of parameters and kernels are added while routines are lowered; the routine
 * that packs the state comes last, as it does what they asked for.
 */
#include "lower/lower.h"

#include "lower/kernel.h"
#include "lower/node_plan.h"
#include "lower/routine_plan.h"
#include "transform/transform.h"

/* ---- the program ---- */

static Lower lower_new(const Tables *tables)
{
	return (Lower){.tables = *tables,
		       .inference = tables->inference,
		       .graph = tables->graph,
		       .program = tables->program,
		       .sizes = tables->sizes,
		       .arena = tables->arena,
		       .scratch = tables->scratch,
		       .diags = tables->diags};
}

static void plan_all(Lower *lower)
{
	if (!tables_fill(&lower->tables))
		return;
	lower->read_only = prepack_read_only(lower);
	lower->routines = ARENA_ARRAY(lower->arena, RoutinePlan,
				      lower->graph->routines.n + lower->graph->init.norder + 1);
	for (uint32_t i = 0; i < lower->graph->routines.n; i++)
		lower_decide_routine(lower, i);
	lower_decide_init(lower);
}

static void lower_all(Lower *lower)
{
	for (uint32_t i = 0; i < lower->graph->routines.n; i++)
		lower_routine(lower, i);
	lower_pack(lower);
	program_evaluate(lower->program);
	plans_clear(lower);
	lower_init(lower);
}

/* For messages: a schedule may name what is not computed. */
static void note_equals(Lower *lower, const TensorProgram *tensors)
{
	for (size_t i = 0; i < tensors->equals.n; i++) {
		const TensorEqual *equal = &tensors->equals.at[i];
		ScheduleEqual note = {lower_identifier(lower, equal->name),
				      equal->instead ? lower_identifier(lower, equal->instead)
						     : NULL,
				      equal->span};
		PUSH(lower->arena, lower->program->made->equals, note);
	}
}

/* NULL after errors. */
static LowerPlan *plan_checked(LowerPlan *lower, int errors_before)
{
	if (lower->diags->nerrors == errors_before)
		return lower;
	tables_free(&lower->tables);
	schedule_free(lower->program->made);
	return NULL;
}

LowerPlan *lower_plan(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		      Diags *diags, const LowerOptions *options, const Schedule *asked)
{
	Tables tables = tables_new(tensors, sources, perm, diags, options);
	Lower *lower = ARENA_NEW(perm, Lower);
	int before = diags->nerrors;
	*lower = lower_new(&tables);
	lower->options = options;
	lower->target = options->target;
	lower->asked = asked;
	note_equals(lower, tensors);
	plans_new(lower);
	plan_all(lower);
	return plan_checked(lower, before);
}

void lower_plan_kernels(LowerPlan *lower)
{
	for (uint32_t i = 0; i < lower->graph->routines.n; i++)
		lower_plan_routine(lower, i);
	lower_plan_init(lower);
}

Program *lower_kernels(LowerPlan *lower)
{
	int before = lower->diags->nerrors;
	lower_all(lower);
	if (!plan_checked(lower, before))
		return NULL;
	tables_free(&lower->tables);
	return lower->program;
}

void lower_finish(Program *program, const Schedule *asked, Diags *diags)
{
	schedule_compare(asked, program, diags);
	schedule_free(program->made);
}

Program *lower_program(const TensorProgram *tensors, const Sources *sources, Arena *perm,
		       Diags *diags, const LowerOptions *options, const Schedule *asked)
{
	int before = diags->nerrors;
	LowerPlan *plan = lower_plan(tensors, sources, perm, diags, options, asked);
	if (!plan)
		return NULL;
	lower_plan_kernels(plan);
	Program *program = lower_kernels(plan);
	if (!program)
		return NULL;
	for (uint32_t i = 0; i + 1 < TRANSFORM_PASSES; i++)
		program = transform_run(i, program, asked, diags);
	lower_finish(program, asked, diags);
	if (diags->nerrors == before)
		program = transform_run(TRANSFORM_PASSES - 1, program, asked, diags);
	return diags->nerrors > before ? NULL : program;
}
