/* libgccjit compiles several units, entry functions in baseline instructions and kernels for the
 * target, and all come as text; so they can become one file: local labels are renamed (.L to .LE in
 * the entries, to .LK1_ in the second unit of kernels), symbols of units get the module's names,
 * names of temporary files are replaced, internal symbols are made hidden. The entries stand first,
 * before any line information. The same program gives the same bytes in every directory.
 */
#include "codegen/asm_text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/held.h"
#include "codegen/cpu.h"
#include "codegen/table.h"

typedef struct Writer {
	const Module *module;
	const AsmParts *parts;
	FILE *out;
	const char *cwd; /* in quotes */
} Writer;

/* ---- the units ---- */

static bool starts(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

/* Does a local label begin here, and not inside a name? */
static bool label_at(const char *line, const char *p)
{
	if (p[0] != '.' || p[1] != 'L')
		return false;
	return p == line || strchr(" \t,($-+*", p[-1]);
}

/* How a unit's labels and symbols are renamed. */
typedef struct Naming {
	const char *tag;     /* after .L; NULL: nothing is renamed */
	const JitUnit *unit; /* NULL: symbols stay */
	uint32_t index;
} Naming;

static const char unit_prefix[] = UNIT_PREFIX "__";

static bool symbol_at(const char *line, const char *p)
{
	bool inside = p > line && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
	return !inside && starts(p, unit_prefix);
}

/* Writes the module's name for the part of a unit's symbol that is ours; returns what follows
 * it. */
static const char *put_symbol(const Writer *w, const Naming *naming, const char *symbol)
{
	const Module *m = w->module;
	const char *name = symbol + strlen(unit_prefix);
	if (starts(name, "t_")) {
		fprintf(w->out, "%s__t%u_", m->prefix, naming->index);
		return name + 2;
	}
	bool kernel = starts(name, "k_"), task = starts(name, "p_");
	if (!kernel && !task) {
		fprintf(w->out, "%s__", m->prefix);
		return name;
	}
	char *end;
	unsigned long at = strtoul(name + 2, &end, 10);
	REQUIRE(at < naming->unit->kernels.n);
	const ModuleKernel *of = &m->kernels[naming->unit->kernels.at[at]];
	if (kernel)
		fputs(of->function, w->out);
	else
		fprintf(w->out, "%s__p_%s", m->prefix, of->kernel.name);
	return end;
}

/* Texts in quotes are left alone. */
static void put_renamed(const Writer *w, const char *line, const Naming *naming)
{
	bool quoted = false;
	for (const char *p = line; *p;) {
		if (*p == '"' && (p == line || p[-1] != '\\'))
			quoted = !quoted;
		if (!quoted && label_at(line, p)) {
			fprintf(w->out, ".L%s", naming->tag);
			p += 2;
		} else if (!quoted && naming->unit && symbol_at(line, p)) {
			p = put_symbol(w, naming, p);
		} else {
			putc(*p++, w->out);
		}
	}
}

/* The text with every occurrence of `from` replaced. */
static void put_replaced(FILE *out, const char *line, const char *from, const char *to)
{
	size_t n = strlen(from);
	for (const char *hit; n && (hit = strstr(line, from)); line = hit + n) {
		fwrite(line, 1, (size_t)(hit - line), out);
		fputs(to, out);
	}
	fputs(line, out);
}

/* libgccjit compiles a file of that name in a directory of its own inside ours. */
static const char unit_dir[] = "/libgccjit-", unit_name[] = "/fake.c";
enum { UNIT_RANDOM = 6 };

/* The name of the unit in quotes: ours is the source. NULL where the line does not hold it. */
static const char *find_unit(const Writer *w, const char *line, const char **end)
{
	size_t ndir = strlen(w->parts->dir), nunit = strlen(unit_dir);
	for (const char *at = line; (at = strstr(at, w->parts->dir)) != NULL; at += ndir) {
		const char *name = at + ndir + nunit + UNIT_RANDOM;
		if (starts(at + ndir, unit_dir) && strlen(at + ndir) > nunit + UNIT_RANDOM &&
		    starts(name, unit_name)) {
			*end = name + strlen(unit_name);
			return at;
		}
	}
	return NULL;
}

/* Debug information names the unit and the current directory: the source and "." stand for them. */
static void put_debug_line(const Writer *w, const char *line)
{
	for (const char *at, *end; (at = find_unit(w, line, &end)) != NULL; line = end) {
		put_replaced(w->out, arena_strndup(w->module->arena, line, (size_t)(at - line)),
			     w->cwd, "\".\"");
		fputs(w->module->emit->source, w->out);
	}
	put_replaced(w->out, line, w->cwd, "\".\"");
}

/* Strings of debug information, each a label and its text. They come in an order that depends on
 * the hash of the temporary directory's name: we give them back by number. */
typedef struct DebugString {
	unsigned long number;
	const char *label, *text;
} DebugString;

typedef struct DebugStrings {
	VEC(DebugString) list;
	bool open; /* inside a section of them */
} DebugStrings;

static const char debug_label[] = ".LASF";

static int by_number(const void *a, const void *b)
{
	unsigned long x = ((const DebugString *)a)->number, y = ((const DebugString *)b)->number;
	return (x > y) - (x < y);
}

static void flush_strings(Writer *w, DebugStrings *strings)
{
	size_t n = strings->list.n;
	if (n)
		qsort(strings->list.at, n, sizeof *strings->list.at, by_number);
	for (size_t i = 0; i < n; i++) {
		fputs(strings->list.at[i].label, w->out);
		put_debug_line(w, strings->list.at[i].text);
	}
	strings->list.n = 0;
	strings->open = false;
}

/* Takes the lines of such a section; false for any other line. */
static bool take_string(Writer *w, DebugStrings *strings, const char *line)
{
	Arena *arena = w->module->arena;
	if (starts(line, "\t.section\t.debug_str,") ||
	    starts(line, "\t.section\t.debug_line_str,")) {
		flush_strings(w, strings);
		fputs(line, w->out);
		strings->open = true;
		return true;
	}
	if (!strings->open)
		return false;
	size_t n = strings->list.n;
	if (starts(line, debug_label)) {
		unsigned long number = strtoul(line + strlen(debug_label), NULL, 10);
		PUSH(arena, strings->list,
		     ((DebugString){number, arena_printf(arena, "%s", line), ""}));
		return true;
	}
	if (n && starts(line, "\t.string")) {
		strings->list.at[n - 1].text = arena_printf(arena, "%s", line);
		return true;
	}
	flush_strings(w, strings);
	return false;
}

static bool is_dropped(const char *line)
{
	return starts(line, "\t.ident") || starts(line, "\t.file\t\"") ||
	       starts(line, "\t.section\t.note.GNU-stack");
}

static void put_line(Writer *w, const char *line, const Naming *naming)
{
	if (naming->tag)
		put_renamed(w, line, naming);
	else if (w->module->emit->options->debug && strchr(line, '"'))
		put_debug_line(w, line);
	else
		fputs(line, w->out);
}

/* As getline keeps it. */
typedef struct Line {
	char *text;
	size_t cap;
} Line;

static void end_line(void *line) { free(((Line *)line)->text); }

static bool copy_unit(Writer *w, const char *path, const Naming *naming)
{
	FILE *in = held_file(fopen(path, "r"));
	if (!in)
		return false;
	Line *line = held_alloc(1, sizeof *line);
	if (!line)
		arena_out_of_memory("out of memory");
	held_add(end_line, line);
	DebugStrings strings = {0};
	while (getline(&line->text, &line->cap, in) > 0)
		if (!is_dropped(line->text) && !take_string(w, &strings, line->text))
			put_line(w, line->text, naming);
	flush_strings(w, &strings);
	held_drop(end_line, line);
	end_line(line);
	held_free(line);
	held_close(in);
	return true;
}

/* ---- constants ---- */

static void put_words(FILE *out, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = 0;
		memcpy(&word, bytes + i, n - i < 8 ? n - i : 8);
		if (n - i >= 8)
			fprintf(out, "\t.quad\t0x%016llx\n", (unsigned long long)word);
		else
			for (size_t j = i; j < n; j++)
				fprintf(out, "\t.byte\t%u\n", bytes[j]);
	}
}

static bool write_blob(const char *path, const void *bytes, size_t n)
{
	FILE *out = fopen(path, "wb");
	if (!out)
		return false;
	bool good = fwrite(bytes, 1, n, out) == n;
	return fclose(out) == 0 && good;
}

static bool put_constants(Writer *w)
{
	const Module *m = w->module;
	enum { SMALL = 4096 };
	for (size_t i = 0; i < m->program->consts.n; i++) {
		const ProgramConst *c = &m->program->consts.at[i];
		size_t n = 0;
		dtype_room(c->type.dtype, (size_t)c->count, &n);
		fprintf(w->out, "\t.section\t.rodata\n\t.balign\t64\n\t.type\t%s, @object\n%s:\n",
			m->consts[i], m->consts[i]);
		if (w->parts->inline_constants || n <= SMALL) {
			put_words(w->out, c->bytes, n);
		} else {
			const char *path = arena_printf(m->arena, "%s/const_%zu", w->parts->dir, i);
			if (!write_blob(path, c->bytes, n))
				return false;
			fprintf(w->out, "\t.incbin\t\"%s\"\n", path);
		}
		fprintf(w->out, "\t.size\t%s, %zu\n", m->consts[i], n);
	}
	return true;
}

/* ---- symbols ---- */

static void hide_symbols(Writer *w)
{
	const Module *m = w->module;
	for (KernelId k = 0; k < m->program->kernels.n; k++)
		if (m->kernels[k].same == k)
			fprintf(w->out, "\t.hidden\t%s\n", m->kernels[k].function);
	for (size_t i = 0; i <= m->program->routines.n; i++)
		fprintf(w->out, "\t.hidden\t%s\n", m->routines[i].invoke);
	fprintf(w->out, "\t.hidden\t%s__invoke_init\n", m->prefix);
	for (Dtype d = 0; d < DTYPE_COUNT; d++)
		if (module_has_uniform(m, d))
			fprintf(w->out, "\t.hidden\t%s\n", module_uniform_function(m, d));
	if (module_has_chunks(m))
		fprintf(w->out, "\t.hidden\t%s__run_chunks\n", m->prefix);
}

static void put_tiles(Writer *w)
{
	const Module *m = w->module;
	const char *ok = arena_printf(m->arena, "%s__tiles_ok", m->prefix);
	cpu_tiles_asm(w->out, m->program->options.target, ok);
	cpu_ask_tiles_asm(w->out, arena_printf(m->arena, "%s_use_tiles", m->prefix), ok);
}

static bool put_all(Writer *w)
{
	const Module *m = w->module;
	hide_symbols(w);
	if (!copy_unit(w, w->parts->entries, &(Naming){.tag = "E"}))
		return false;
	const Target *target = m->program->options.target;
	if (target->features)
		cpu_check_asm(w->out, target, arena_printf(m->arena, "%s__cpu_ok", m->prefix));
	if (module_has_tiles(m))
		put_tiles(w);
	for (uint32_t i = 0; i < w->parts->units->n; i++) {
		Naming naming = {.index = i};
		if (!m->emit->options->debug) {
			naming.tag = arena_printf(m->arena, "K%u_", i);
			naming.unit = &w->parts->units->at[i];
		}
		if (!copy_unit(w, w->parts->kernels[i], &naming))
			return false;
	}
	if (!put_constants(w))
		return false;
	table_asm(w->out, table_new(m, true));
	fprintf(w->out, "\t.section\t.note.GNU-stack,\"\",@progbits\n");
	return true;
}

bool asm_text_write(const Module *module, const AsmParts *parts, const char *path)
{
	char room[PATH_MAX], *cwd = realpath(".", room);
	const char *quoted = arena_printf(module->arena, "\"%s\"", cwd ? cwd : ".");
	Writer w = {module, parts, held_file(fopen(path, "w")), quoted};
	bool good = w.out && put_all(&w);
	int error = errno;
	if (w.out && held_close(w.out) != 0) {
		error = errno;
		good = false;
	}
	if (!good)
		diag(module->emit->diags, E0501, SPAN_NONE, "cannot write the assembly: %s",
		     strerror(error));
	return good;
}
