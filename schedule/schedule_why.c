/* Why a clause of a schedule could not be made: a name that nothing has, what a pass has found, or
 * else what such a choice needs (schedule.def). */
#include "schedule/schedule.h"

typedef enum Named { NAMED_LOOP, NAMED_OPERAND, NAMED_KERNEL } Named;
typedef VEC(Sym) Names;

enum { SHOWN = 8 };

static const struct {
	Named named;
	const char *needs;
} choices[] = {
#define CHOICE(id, word, names, example, meaning, needs) {NAMED_##names, needs},
#include "schedule/schedule.def"
#undef CHOICE
};

static bool contains(const Names *names, Sym name)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->at[i] == name)
			return true;
	return false;
}

static Names kernels_of(const Program *program, Arena *arena, Sym but)
{
	Names names = {0};
	for (size_t i = 0; i < program->made->entries.n; i++) {
		const ScheduleEntry *entry = &program->made->entries.at[i];
		bool kernel = entry->name != but && !entry_clause(entry, CHOICE_FUSE);
		if (kernel && !contains(&names, entry->name))
			PUSH(arena, names, entry->name);
	}
	return names;
}

static Names names_of(const Program *program, Arena *arena, Choice choice,
		      const ScheduleEntry *near)
{
	Names names = {0};
	if (choices[choice].named == NAMED_KERNEL)
		return kernels_of(program, arena, near->name);
	bool loops = choices[choice].named == NAMED_LOOP;
	for (size_t i = 0; i < (loops ? near->loops.n : near->operands.n); i++)
		PUSH(arena, names, loops ? near->loops.at[i] : near->operands.at[i]);
	return names;
}

static bool has_loop(const Kernel *kernel, Block block, Sym name)
{
	for (uint32_t i = 0; i < block.n; i++) {
		const Stmt *stmt = block.stmts[i];
		bool serial = stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL;
		if (serial && kernel->iters[stmt->iter].name == name)
			return true;
		if (has_loop(kernel, stmt->body, name))
			return true;
	}
	return false;
}

/* Loops over blocks can be cut for threads as well. */
static bool is_in_kernel(const Program *program, Sym name, Sym loop)
{
	for (size_t k = 0; k < program->kernels.n; k++) {
		const Kernel *kernel = &program->kernels.at[k];
		if (kernel->name == name && has_loop(kernel, kernel->body, loop))
			return true;
	}
	return false;
}

/* The text, and the names that there are. */
static const char *with_names(Arena *arena, const char *text, const Names *names)
{
	for (size_t i = 0; i < names->n && i < SHOWN; i++)
		text = arena_printf(arena, "%s%s%s", text,
				    i		   ? ", "
				    : names->n > 1 ? "; there are "
						   : "; there is ",
				    names->at[i]);
	return names->n > SHOWN ? arena_printf(arena, "%s, ...", text) : text;
}

static const char *unknown(Arena *arena, Named named, Sym name, const Names *names)
{
	static const char *const words[] = {"loop", "operand", "kernel"};
	return with_names(arena, arena_printf(arena, "no %s %s", words[named], name), names);
}

const char *schedule_no_kernel(const Program *program, Sym name, Arena *arena)
{
	Names names = kernels_of(program, arena, NULL);
	const char *text = arena_printf(arena, "no kernel of the program is named %s", name);
	return with_names(arena, text, &names);
}

bool schedule_lacks_matrix(const Program *program)
{
	return !program->options.gpu && program->options.target->matrix_tiles == 0;
}

const char *schedule_why(const Program *program, const ScheduleClause *asked,
			 const ScheduleEntry *near, Arena *arena)
{
	Named named = choices[asked->choice].named;
	Names names = names_of(program, arena, asked->choice, near);
	bool known = names.n > 0 || named == NAMED_KERNEL;
	for (size_t i = 0; known && i < asked->items.n; i++) {
		Sym name = asked->items.at[i].name;
		bool there = !name || name == near->name || contains(&names, name) ||
			     (asked->choice == CHOICE_PARALLEL &&
			      is_in_kernel(program, near->name, name));
		if (!there)
			return unknown(arena, named, name, &names);
	}
	if (asked->choice == CHOICE_MATRIX && schedule_lacks_matrix(program))
		return "the schedule is for a processor with tiles of matrices (AMX), which this "
		       "one has not";
	return asked->refused ? asked->refused : choices[asked->choice].needs;
}
