/* A schedule as data: what was chosen for each kernel, and what a .sched file asks for.
 *
 *   file   := { [line] ["#" text] NEWLINE }
 *   line   := NAME ":" [clause { ";" clause }]
 *   clause := WORD | WORD "off" | WORD item { "," item }        WORD: schedule.def
 *   item   := NAME { NUMBER } | NUMBER { NUMBER }
 *   NAME   := letters, digits and _, with one "." between | "@" LINE
 *
 * NAME is a kernel as --dump=loops calls it; its second nest is NAME.2. @LINE stands for the
 * kernels that a line of the source asks for. `fuse` names a tensor, which then has no kernel; as
 * ROUTINE.NAME it does so in one routine only.
 *
 * What is asked restricts the passes: they choose among what is left, by the same rules of legality
 * and cost. What was made is written down in the same form, so the dump of a program is a file that
 * asks for it. At the end the two are compared: what was asked and not made is a diagnostic.
 */
#ifndef TSR_LOWER_SCHEDULE_H
#define TSR_LOWER_SCHEDULE_H

#include "base/diag.h"
#include "loops/loops.h"
#include "sums/sums.h"

typedef enum Choice {
#define CHOICE(id, word, names, example, meaning, needs) CHOICE_##id,
#include "schedule/schedule.def"
#undef CHOICE
	CHOICE_COUNT
} Choice;

enum { ITEM_NUMBERS = 8 };

typedef struct ScheduleItem {
	Sym name; /* NULL: numbers alone */
	int64_t numbers[ITEM_NUMBERS];
	uint32_t n;
} ScheduleItem;

typedef struct ScheduleClause {
	Choice choice;
	Span span; /* in the .sched */
	bool off, implied; /* implied: a complete schedule asks for nothing, which is off */
	VEC(ScheduleItem) items;
	const char *refused; /* asked: why it could not be made, as far as a pass knows */
} ScheduleClause;

typedef struct ScheduleEntry {
	Sym name;
	Span span; /* asked: in the .sched; made: of the operation */
	VEC(ScheduleClause) clauses;
	const char *facts; /* made: what the cost was estimated from; NULL: nothing */
	VEC(SumMade) sums; /* made: in which order its reductions add */
	VEC(Sym) loops, operands; /* made: what clauses can name; empty: not known */
	uint32_t earlier; /* made: the entry of the same name before it, + 1; 0: there is none */
} ScheduleEntry;

typedef struct ScheduleName {
	Sym key;
	uint32_t value; /* of its entry */
} ScheduleName;

/* The entry of the kernel of a node without a name of its own. */
typedef struct ScheduleNode {
	uint64_t key; /* routine, counted from 1, or 0: any; node */
	uint32_t value;
} ScheduleNode;

/* A tensor that is not computed, since it is equal to another one. */
typedef struct ScheduleEqual {
	Sym name, to; /* NULL: it has no name */
	Span span;    /* of the other */
} ScheduleEqual;

struct Schedule {
	Arena *arena;
	VEC(ScheduleEntry) entries;
	VEC(ScheduleEqual) equals; /* made only */
	ScheduleName *index; /* stb_ds table: of each name the last entry */
	uint32_t nindexed;   /* made: the first entries, which the table has */
	uint32_t file;	     /* asked: the program's source, which @LINE means */
	bool complete;	     /* asked: what it does not ask for is off */
	ScheduleClause none; /* ... and this clause */
	ScheduleNode *nodes; /* ... stb_ds table of its `node` clauses */
};

/* Reads a .sched file for the program in source `program`; errors are in diags. Ended by
 * schedule_free. */
Schedule *schedule_parse(Sources *sources, Symbols *symbols, Diags *diags, uint32_t file,
			 uint32_t program, Arena *arena);
/* Frees its tables, not what the arena has; NULL will do. */
void schedule_free(Schedule *schedule);
/* From here on the schedule says all that is chosen, and no policy chooses: what it does not ask for
 * is off. */
void schedule_complete(Schedule *asked);
static inline bool schedule_is_complete(const Schedule *asked) { return asked && asked->complete; }
/* What a complete schedule asks of the kernel of a node, by `node`; NULL: it has none. Routines are
 * counted from 1. */
const ScheduleEntry *schedule_node(const Schedule *asked, uint32_t routine, uint32_t node);
/* What is asked of a kernel by its name, else by its line; NULL: nothing. `asked` may be NULL. */
ScheduleClause *schedule_asked(const Schedule *asked, const Program *program, Sym name, Span span,
			       Choice choice);
/* The last entry of a name among those made; NULL: there is none. */
ScheduleEntry *schedule_entry(Schedule *made, Sym name);
/* NULL: the entry has none of that choice. It may move when one is added. */
ScheduleClause *entry_clause(const ScheduleEntry *entry, Choice choice);
/* Writes down what was made; `off` is worth a word only where it was asked for. */
ScheduleClause *entry_make(Arena *arena, ScheduleEntry *entry, Choice choice, bool off);
/* Appends an item; of more numbers than ITEM_NUMBERS the first ones. */
void clause_add(Arena *arena, ScheduleClause *clause, Sym name, const int64_t *numbers, uint32_t n);
/* Does the clause (NULL: nothing is asked) leave it open, or want it off, or allow the n-th
 * item? */
bool asks_off(const ScheduleClause *asked);
/* Is it off in a clause of its own, which is worth a word where it is made? */
bool says_off(const ScheduleClause *asked);
bool asks_on(const ScheduleClause *asked);
bool asks_name(const ScheduleClause *asked, uint32_t item, Sym name);
bool asks_numbers(const ScheduleClause *asked, uint32_t item, const int64_t *numbers, uint32_t n);
/* The first item of the name; NULL: there is none. */
ScheduleItem *clause_item(const ScheduleClause *clause, Sym name);
/* Does some item have the name? */
bool asks_any(const ScheduleClause *asked, Sym name);
/* The first number asked for with the name; 0: none is. */
int64_t asks_number(const ScheduleClause *asked, Sym name);
/* The clause as a .sched has it. */
const char *schedule_clause_text(Arena *arena, const ScheduleClause *clause);
/* "no kernel of the program is named x; there are a, b" (schedule_why.c). */
const char *schedule_no_kernel(const Program *program, Sym name, Arena *arena);
/* Why the clause is not among what was made of the kernel `near` (schedule_why.c). */
const char *schedule_why(const Program *program, const ScheduleClause *asked,
			 const ScheduleEntry *near, Arena *arena);
/* Has the processor no tiles of matrices? */
bool schedule_lacks_matrix(const Program *program);
/* Compares what was asked with what was made. */
void schedule_compare(const Schedule *asked, const Program *program, Diags *diags);
/* A line for each reduction and order, in that of the nests. */
void schedule_dump_sums(FILE *out, const Program *program);
/* The made schedule as a .sched file. */
void schedule_dump(FILE *out, const Program *program);

#endif
