#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/wrong_proj.h"

static NodeId build(Small *s, const Wrong *row)
{
	NodeId args[3];
	uint32_t nargs = 0;
	while (nargs < 3 && row->args[nargs]) {
		args[nargs] = small_leaf(s, row->args[nargs]);
		nargs++;
	}
	if (row->kind == NODE_UNIFORMS)
		graph_node(&s->graph, args[0])->dtype = DTYPE_U4X32;
	return row->spec ? small_spec(s, row->kind, row->spec, row->result, nargs, args)
			 : small_op(s, row->kind, row->result, nargs, args);
}

static void give_letters(Small *s, NodeId id, const char *letters)
{
	char *text = arena_printf(s->arena, "%s", letters ? letters : "");
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		char *size = strchr(word, '=');
		*size = '\0';
		small_letter(s, id, word, size + 1);
	}
}

static bool try_row(const Wrong *row)
{
	Small s;
	Checker c;
	small_init(&s);
	NodeId id = build(&s, row);
	give_letters(&s, id, row->letters);
	bool fine = small_derive(&s, id) != NULL;
	checker_init(&c, &s.inference, s.arena);
	const char *before = fine ? check_node(&c, id) : "nothing derived";
	if (before) {
		print_error("%s: the right one is rejected: %s\n", row->name, before);
		fine = false;
	} else {
		row->damage(&s, id);
		const char *why = check_node(&c, id);
		fine = row->why ? why && strstr(why, row->why) : !why;
		if (!fine)
			print_error("%s: the answer is: %s\n", row->name,
				    why ? why : "it is right");
	}
	small_free(&s);
	return fine;
}

int wrong_answers(const Wrong *rows, size_t n)
{
	int wrong = 0;
	for (size_t i = 0; i < n; i++)
		wrong += !try_row(&rows[i]);
	return wrong;
}

const char *check_guarded(const char *spec, const char *from, const char *to, GuardKind kind,
			  const char *a, const char *b)
{
	static char why[256];
	Small s;
	Checker c;
	small_init(&s);
	NodeId args[2] = {small_leaf(&s, from), small_leaf(&s, "3")};
	NodeId id = small_spec(&s, NODE_SPEC, spec, to, strchr(spec, ';') ? 2 : 1, args);
	if (a)
		small_guard(&s, kind, a, b);
	small_derive(&s, id);
	checker_init(&c, &s.inference, s.arena);
	const char *text = check_node(&c, id);
	snprintf(why, sizeof why, "%s", text ? text : "");
	small_free(&s);
	return why;
}
