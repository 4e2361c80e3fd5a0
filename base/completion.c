/* From argp's tables to completion scripts.
 *
 * One walk gives every option as it is typed, with what its argument is called and its help; each
 * shell is a row of three functions: the head of a command, one option, the end of a command.
 */
#include "base/completion.h"

#include <string.h>

const char completion_shells[] = "bash zsh fish";

/* An option as it is typed: "--dump", "-o", "-march". */
typedef struct Typed {
	const char *text;
	int len;
	bool glued;	 /* its argument follows without a blank or '=': -Wno-NAME */
	bool equals;	 /* its argument follows '=' */
	bool takes;	 /* an argument */
	const char *doc; /* "" for none */
	const char *words; /* that the argument may be, NULL for any text */
} Typed;

typedef struct Printer {
	FILE *out;
	const Completion *c;
	const CompletionCommand *command;
	void (*option)(const struct Printer *p, const Typed *typed);
} Printer;

static bool has_commands(const Completion *c)
{
	return c->commands[0].name[0] != '\0';
}

static const char *choice(const Completion *c, const Typed *typed)
{
	for (size_t i = 0; i < c->nchoices; i++)
		if (strlen(c->choices[i].option) == (size_t)typed->len &&
		    strncmp(c->choices[i].option, typed->text, (size_t)typed->len) == 0)
			return c->choices[i].words;
	return NULL;
}

static void print_option(const Printer *p, Typed typed)
{
	typed.words = choice(p->c, &typed);
	typed.doc = typed.doc ? typed.doc : "";
	p->option(p, &typed);
}

/* The options that a row of OPTION_DOC spells: "-MF FILE" is -MF, "-Wall -WNAME" are -Wall and -W. */
static void spelled_options(const Printer *p, const struct argp_option *row)
{
	for (const char *at = row->name; *at;) {
		size_t all = strcspn(at, " "), n = strcspn(at, " =");
		const char *after = at + all + (at[all] == ' '), *name = strstr(at, "NAME");
		Typed typed = {.text = at, .len = (int)n, .doc = row->doc};
		typed.equals = at[n] == '=';
		typed.glued = name && name < at + n;
		if (typed.glued)
			typed.len = (int)(name - at);
		typed.takes = typed.equals || typed.glued || (*after && *after != '-' && *after != '.');
		if (*at == '-')
			print_option(p, typed);
		at = after;
	}
}

static void table_options(const Printer *p, const struct argp_option *row)
{
	for (; row && (row->name || row->key); row++) {
		if (row->flags & OPTION_HIDDEN)
			continue;
		if (row->flags & OPTION_DOC) {
			spelled_options(p, row);
			continue;
		}
		char text[80];
		Typed typed = {.text = text, .doc = row->doc, .takes = row->arg != NULL};
		if (row->name) {
			typed.equals = row->arg && !(row->flags & OPTION_ARG_OPTIONAL);
			typed.takes = typed.equals;
			typed.len = snprintf(text, sizeof text, "--%s", row->name);
			print_option(p, typed);
		}
		if (row->key > ' ' && row->key < 127 && row->key != '?') {
			typed.equals = false;
			typed.takes = row->arg != NULL;
			typed.len = snprintf(text, sizeof text, "-%c", row->key);
			print_option(p, typed);
		}
	}
}

static void all_options(const Printer *p, const struct argp *argp)
{
	table_options(p, argp->options);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		all_options(p, child->argp);
}

/* The text between quotes of the shell, without what would end them or mean something there. */
static void print_plain(FILE *out, const char *text, const char *without)
{
	for (; *text; text++)
		if (!strchr(without, *text))
			fputc(*text, out);
}

/* ---- bash ---- */

static void bash_option(const Printer *p, const Typed *t)
{
	fprintf(p->out, "%.*s%s ", t->len, t->text, t->equals ? "=" : "");
}

static void bash_choices(FILE *out, const Completion *c)
{
	for (size_t i = 0; i < c->nchoices; i++)
		fprintf(out, "  %s)\n    COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return;;\n",
			c->choices[i].option, c->choices[i].words);
}

/* Requires: COMP_WORDBREAKS has '=', as is usual: a word that ends in it is three. */
static void bash(FILE *out, const Completion *c)
{
	Printer p = {out, c, NULL, bash_option};
	fprintf(out, "_%s() {\n  local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}\n"
		     "  if [ \"$cur\" = = ]; then cur=\n"
		     "  elif [ \"$option\" = = ]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
		     "  case $option in\n",
		c->tool);
	bash_choices(out, c);
	fputs("  esac\n", out);
	if (has_commands(c)) {
		fputs("  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W \"", out);
		for (size_t i = 0; i < c->ncommands; i++)
			fprintf(out, "%s ", c->commands[i].name);
		fputs("--help --version\" -- \"$cur\")); return\n  fi\n", out);
	}
	fprintf(out, "  case %s$cur in\n", has_commands(c) ? "${COMP_WORDS[1]}:" : "");
	for (size_t i = 0; i < c->ncommands; i++) {
		const CompletionCommand *command = &c->commands[i];
		fprintf(out, "  %s%s-*)\n    COMPREPLY=($(compgen -W \"", command->name,
			*command->name ? ":" : "");
		all_options(&p, command->argp);
		fputs("\" -- \"$cur\"));;\n", out);
	}
	fprintf(out, "  *) COMPREPLY=($(compgen -f -X '!*.%s' -- \"$cur\") $(compgen -d -- \"$cur\"));;\n"
		     "  esac\n  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n}\n"
		     "complete -o filenames -F _%s %s\n",
		c->suffix, c->tool, c->tool);
}

/* ---- zsh ---- */

static void zsh_option(const Printer *p, const Typed *t)
{
	fprintf(p->out, "    '%.*s%s[", t->len, t->text, t->equals ? "=" : t->glued ? "-" : "");
	print_plain(p->out, t->doc, "'[]:\\");
	fputc(']', p->out);
	if (t->words)
		fprintf(p->out, ":word:(%s)", t->words);
	else if (t->takes)
		fputs(":argument:_files", p->out);
	fputs("' \\\n", p->out);
}

static void zsh_arguments(const Printer *p)
{
	fputs("  _arguments \\\n", p->out);
	all_options(p, p->command->argp);
	fprintf(p->out, "    '*:file:_files -g \"*.%s(-.)\"'\n", p->c->suffix);
}

static void zsh(FILE *out, const Completion *c)
{
	Printer p = {out, c, &c->commands[0], zsh_option};
	fprintf(out, "#compdef %s\n_%s() {\n", c->tool, c->tool);
	if (!has_commands(c)) {
		zsh_arguments(&p);
	} else {
		fputs("  if (( CURRENT == 2 )); then\n    local -a commands=(", out);
		for (size_t i = 0; i < c->ncommands; i++) {
			fprintf(out, " '%s:", c->commands[i].name);
			print_plain(out, c->commands[i].help, "':\\");
			fputc('\'', out);
		}
		fputs(")\n    _describe command commands\n    return\n  fi\n"
		      "  shift words; (( CURRENT-- ))\n  case $words[1] in\n",
		      out);
		for (size_t i = 0; i < c->ncommands; i++) {
			p.command = &c->commands[i];
			fprintf(out, "  %s)\n", p.command->name);
			zsh_arguments(&p);
			fputs("  ;;\n", out);
		}
		fputs("  esac\n", out);
	}
	fprintf(out, "}\n_%s \"$@\"\n", c->tool);
}

/* ---- fish ---- */

static void fish_option(const Printer *p, const Typed *t)
{
	int dashes = t->len > 1 && t->text[1] == '-' ? 2 : 1;
	const char *kind = dashes == 2 ? "-l" : t->len == 2 ? "-s" : "-o";
	fprintf(p->out, "complete -c %s", p->c->tool);
	if (*p->command->name)
		fprintf(p->out, " -n '__fish_seen_subcommand_from %s'", p->command->name);
	fprintf(p->out, " %s '%.*s' -d '", kind, t->len - dashes, t->text + dashes);
	print_plain(p->out, t->doc, "'\\");
	fputc('\'', p->out);
	if (t->words)
		fprintf(p->out, " -x -a '%s'", t->words);
	else if (t->takes)
		fputs(" -r", p->out);
	fputc('\n', p->out);
}

static void fish(FILE *out, const Completion *c)
{
	Printer p = {out, c, NULL, fish_option};
	for (size_t i = 0; i < c->ncommands; i++) {
		p.command = &c->commands[i];
		if (has_commands(c)) {
			fprintf(out, "complete -c %s -n __fish_use_subcommand -x -a %s -d '", c->tool,
				p.command->name);
			print_plain(out, p.command->help, "'\\");
			fputs("'\n", out);
		}
		all_options(&p, p.command->argp);
	}
	fprintf(out, "complete -c %s -k -x -a '(__fish_complete_suffix .%s)'%s\n", c->tool, c->suffix,
		has_commands(c) ? " -n 'not __fish_use_subcommand'" : "");
}

bool completion_print(FILE *out, const Completion *completion, const char *shell)
{
	static const struct {
		const char *name;
		void (*print)(FILE *out, const Completion *c);
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].print(out, completion);
			return true;
		}
	return false;
}
