/* A session whose source is the dump of a stage that makes loops: the stage's result is read. */
#include <string.h>

#include "driver/state.h"
#include "loops/parse.h"

bool session_reads(const char *stage)
{
	int index = stage_step(stage) ? -1 : stage_index(stage);
	return index >= 0 && pipeline[index].read;
}

/* Nothing chosen for each kernel yet: passes write down what they choose. */
static Schedule *schedule_of(Arena *arena, const Program *program)
{
	Schedule *made = ARENA_NEW(arena, Schedule);
	made->arena = arena;
	for (size_t i = 0; i < program->kernels.n; i++) {
		const Kernel *kernel = &program->kernels.at[i];
		PUSH(arena, made->entries,
		     ((ScheduleEntry){.name = kernel->name, .span = kernel->span}));
	}
	return made;
}

static bool is_from(const Session *s, const char *stage)
{
	return strcmp(s->options.from, stage) == 0;
}

/* Memory is given once. */
static void check_placed(Session *s, Program *program)
{
	bool placed = is_from(s, "loops") || is_from(s, "vector");
	Span start = {s->file, 0, 0};
	if (program->routines.n == 0)
		program->placed = placed;
	else if (placed && !program->placed)
		diag(&s->diags, E0610, start,
		     "no routine has a workspace here, as in what --dump=loops prints");
	else if (!placed && program->placed)
		diag(&s->diags, E0610, start,
		     "a routine has its workspace here, as in what --dump=loops prints, not --dump=%s",
		     s->options.from);
}

static void keep(Session *s, const LoopsText *text)
{
	s->program = text->program;
	if (is_from(s, "naive"))
		s->naive = s->program;
	for (int pass = 0; pass <= TRANSFORM_PASSES; pass++)
		s->loops[pass] = s->program;
	if (is_from(s, "vector"))
		s->vectors = text->vectors;
}

void stage_read(Session *s)
{
	LowerOptions options = session_lower_options(s);
	LoopsText text = loops_parse(s->perm, s->symbols, &s->sources, s->file, &s->diags, &options);
	if (!text.program)
		return;
	check_placed(s, text.program);
	text.program->made = schedule_of(s->perm, text.program);
	text.vectors->made = text.program->made;
	keep(s, &text);
}
