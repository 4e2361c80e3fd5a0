/* Options that one run cannot have at once. */
#include <string.h>

#include "driver/options.h"
#include "driver/pipeline.h"

/* What a text of loops has no answer to: what stages before it make, and what is asked of lowering. */
static const char *needs_program(const Options *o)
{
	const struct {
		bool asked;
		const char *option;
	} rows[] = {{o->verify_run, "--verify=run"},
		    {o->check_grad > 0, "--check-grad"},
		    {o->verify, "--verify"},
		    {o->syntax_only, "-fsyntax-only"},
		    {o->explain_shapes.n > 0, "--explain-shape"},
		    {o->explain_closed, "--explain-closed"},
		    {o->session.schedule, "--schedule"},
		    {o->session.checked, "--checked"},
		    {o->defines.n > 0, "-D"},
		    {o->kept.n > 0, "--keep"},
		    {o->deps, "-MD"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].asked)
			return rows[i].option;
	return NULL;
}

/* The stages whose dumps are read back. */
static const char *stages_read(Arena *arena)
{
	const char *all = "";
	for (int i = 0; i < pipeline_length; i++) {
		const char *before = !*all ? "" : i + 1 == pipeline_length ? " and " : ", ";
		if (pipeline[i].read)
			all = arena_printf(arena, "%s%s%s", all, before, pipeline[i].name);
	}
	return all;
}

static void check_from(const Options *o, struct argp_state *state)
{
	const char *from = o->session.from, *option = needs_program(o);
	if (!session_reads(from))
		argp_error(state, "--from reads %s, not '%s'", stages_read(o->arena), from);
	if (option)
		argp_error(state, "%s needs a program, and --from=%s reads loops", option, from);
	for (size_t i = 0; i < o->dump.n + o->emit.n; i++) {
		const char *stage = i < o->dump.n ? o->dump.at[i] : o->emit.at[i - o->dump.n];
		int index = strcmp(stage, "dot") == 0 ? 0 : stage_index(stage);
		if (index >= 0 && index < stage_index(from))
			argp_error(state, "%s comes before what --from=%s reads", stage, from);
	}
	if (o->stop && stage_index(o->stop) >= 0 && stage_index(o->stop) < stage_index(from))
		argp_error(state, "--stop=%s comes before what --from=%s reads", o->stop, from);
}

/* What measures code, or makes another one than what is measured. */
static void check_tune(const Options *o, struct argp_state *state)
{
	const struct {
		bool asked;
		const char *option;
	} rows[] = {{o->session.schedule, "--schedule"},
		    {o->session.no_policy, "--policy=none"},
		    {o->session.from, "--from"},
		    {o->session.checked, "--checked"},
		    {o->session.gpu, "--target=cuda"},
		    {o->session.triple, "--target=aarch64-linux-gnu"},
		    {o->measure_target, "--measure-target"},
		    {o->stop, "--stop"},
		    {o->syntax_only, "-fsyntax-only"},
		    {o->dry_run, "-###"},
		    {o->input && strcmp(o->input, "-") == 0, "a program from standard input"}};
	if (o->tune_with.n && !o->tunes)
		argp_error(state, "--tune-with is for --tune");
	if (o->threads && !o->tunes)
		argp_error(state, "--threads is for --tune; 'tsr run' and 'tsr bench' have it too");
	for (size_t i = 0; o->tunes && i < sizeof rows / sizeof *rows; i++)
		if (rows[i].asked)
			argp_error(state, "--tune and %s exclude each other", rows[i].option);
}

/* What only loops of a GPU are made by; --f32-matmul=ieee is what a CPU does. */
static void check_products(const Options *o, struct argp_state *state)
{
	if (o->session.gpu)
		return;
	if (o->session.f32_matmul != F32_IEEE)
		argp_error(state, "--f32-matmul is for a GPU: --target=cuda has it");
	if (o->session.promote >= 0)
		argp_error(state, "--gpu-promote is for a GPU: --target=cuda has it");
}

void options_check(const Options *o, struct argp_state *state)
{
	const char *target = o->session.target_file;
	if (o->measure_target && (o->input || o->output))
		argp_error(state,
			   "--measure-target prints a target: it takes no program, and no -o");
	if (target && o->input && strcmp(target, "-") == 0 && strcmp(o->input, "-") == 0)
		argp_error(state, "the program and the target file cannot both be standard input");
	check_tune(o, state);
	check_products(o, state);
	if (o->session.from)
		check_from(o, state);
	if (o->session.gpu && o->session.checked)
		argp_error(state, "--checked is for a CPU: --target=cuda has it not yet");
	if ((o->gpus.n || o->with_cpu) && o->input && strcmp(o->input, "-") == 0)
		argp_error(state, "a program from standard input is compiled for one target");
	int stop = o->stop ? stage_index(o->stop) : -1;
	if (o->verify_run && stop >= 0 && stop < pipeline_length - 1)
		argp_error(state, "--verify=run needs all stages, and --stop=%s ends before them",
			   o->stop);
}
