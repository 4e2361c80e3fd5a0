/* Kernels of a schedule as groups: told apart by what is written of them, with loops and operands by
 * their places. */
#include "tune/groups.h"

#include <ctype.h>
#include <string.h>

#include "base/held.h"
#include "loops/work.h"

enum { OUTER_LOOPS = 2 }; /* in each other: as many as are cut */

bool place_of(const Sym *at, size_t n, const char *name, size_t len, size_t *place)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(at[i]) == len && strncmp(at[i], name, len) == 0) {
			*place = i;
			return true;
		}
	return false;
}

/* The text with the names of the kernel's loops and operands as their places. */
static void print_places(FILE *out, const ScheduleEntry *entry, const char *text)
{
	while (*text) {
		size_t n = strspn(
			       text,
			       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789."),
		       i;
		if (!n || isdigit((unsigned char)*text))
			n += n == 0;
		else if (place_of(entry->loops.at, entry->loops.n, text, n, &i)) {
			fprintf(out, "<%zu>", i);
			text += n;
			continue;
		} else if (place_of(entry->operands.at, entry->operands.n, text, n, &i)) {
			fprintf(out, "[%zu]", i);
			text += n;
			continue;
		}
		fwrite(text, 1, n, out);
		text += n;
	}
}

static const char *key_of(Arena *arena, const ScheduleEntry *entry)
{
	Text text = text_new();
	for (size_t i = 0; i < entry->clauses.n; i++) {
		const ScheduleClause *clause = &entry->clauses.at[i];
		if (clause->choice == CHOICE_NODE)
			continue;
		print_places(text.out, entry, schedule_clause_text(arena, clause));
		fputc(';', text.out);
	}
	print_places(text.out, entry, entry->facts ? entry->facts : entry->name);
	return text_take(text, arena, NULL);
}

static bool is_nest_of(const char *kernel, const char *entry)
{
	size_t n = strlen(entry);
	return strncmp(kernel, entry, n) == 0 && (!kernel[n] || kernel[n] == '.');
}

/* Sizes that its work adds are interned in the program. */
static int64_t work_of(const Program *program, const ScheduleEntry *entry)
{
	int64_t work = 0;
	for (size_t k = 0; k < program->kernels.n; k++)
		if (is_nest_of(program->kernels.at[k].name, entry->name))
			work += typical_work((Program *)program, &program->kernels.at[k]);
	return work;
}

static Group *group_of(Arena *arena, Groups *groups, const char *key)
{
	for (size_t i = 0; i < groups->all.n; i++)
		if (strcmp(groups->all.at[i].key, key) == 0)
			return &groups->all.at[i];
	PUSH(arena, groups->all, ((Group){.key = key}));
	return &groups->all.at[groups->all.n - 1];
}

/* Those with the most work first; others in the order of the program. */
static void sort_groups(Groups *groups)
{
	Group *all = groups->all.at;
	for (size_t i = 1; i < groups->all.n; i++)
		for (size_t k = i; k > 0 && all[k].work > all[k - 1].work; k--) {
			Group moved = all[k];
			all[k] = all[k - 1];
			all[k - 1] = moved;
		}
}

bool entry_is_before(const Program *program, const ScheduleEntry *entry)
{
	const ProgramRoutine *before[] = {&program->pack, &program->init};
	for (size_t r = 0; r < sizeof before / sizeof *before; r++)
		for (uint32_t i = 0; i < before[r]->nkernels; i++)
			if (is_nest_of(program->kernels.at[before[r]->kernels[i]].name,
				       entry->name))
				return true;
	return false;
}

Groups groups_of(Arena *arena, const Program *program)
{
	Groups groups = {0};
	const Schedule *made = program->made;
	for (size_t i = 0; i < made->entries.n; i++) {
		const ScheduleEntry *entry = &made->entries.at[i];
		if (entry_is_before(program, entry))
			continue;
		int64_t work = work_of(program, entry);
		Group *group = group_of(arena, &groups, key_of(arena, entry));
		PUSH(arena, group->members, entry);
		group->work += work;
		groups.work += work;
	}
	sort_groups(&groups);
	return groups;
}

/* ---- loops that threads may share ---- */

static void add_name(Arena *arena, Syms *names, Sym name)
{
	size_t at;
	if (!place_of(names->at, names->n, name, strlen(name), &at))
		PUSH(arena, *names, name);
}

/* The outer loops of a block, down to `depth` in each other; those over chunks, whose names no clause has, do not count. */
static void outer_loops(Arena *arena, const Kernel *kernel, Block block, int depth, Syms *names)
{
	for (uint32_t i = 0; i < block.n && depth > 0; i++) {
		const Stmt *stmt = block.stmts[i];
		bool loop = stmt->kind == LOOP_FOR && stmt->loop == LOOP_SERIAL;
		if (loop)
			add_name(arena, names, kernel->iters[stmt->iter].name);
		if (loop || stmt->kind == LOOP_IF ||
		    (stmt->kind == LOOP_FOR && stmt->loop == LOOP_PARALLEL))
			outer_loops(arena, kernel, stmt->body, depth - loop, names);
	}
}

Syms entry_outer_loops(Arena *arena, const Program *program, const ScheduleEntry *entry)
{
	Syms names = {0};
	for (size_t k = 0; k < program->kernels.n; k++) {
		const Kernel *kernel = &program->kernels.at[k];
		if (is_nest_of(kernel->name, entry->name))
			outer_loops(arena, kernel, kernel->body, OUTER_LOOPS, &names);
	}
	return names;
}
