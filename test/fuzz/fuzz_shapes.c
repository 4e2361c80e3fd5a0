/* Bytes to shapes: every text is read as a specification, as the string of a call, and as a
 * program, which is built to a graph and inferred in two orders, which must agree; what is found
 * goes through the checker. Every stage is printed. Nothing is read from files. */
#include <stdlib.h>
#include <string.h>

#include "driver/session.h"

/* An order of the constraints that follows from the program alone. */
static uint64_t order_of(const uint8_t *data, size_t size)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	return hash | 1;
}

/* As far as it goes; all that there is then is printed. A fault of the compiler is what is looked
 * for. */
static void run_to(const char *stage, uint64_t order, const char *text, size_t len, FILE *out)
{
	SessionOptions options;
	session_options_init(&options);
	options.frontend.no_files = true;
	options.repairs = false;
	options.memory = 0;
	options.infer.shuffle = order; /* given one, infer_run compares the two results */
	Session *s = session_open(&options);
	REQUIRE(s);
	session_text(s, "program", text, len);
	SessionStatus status = session_run(s, stage);
	for (int i = 0; i < pipeline_length; i++)
		REQUIRE(!session_has(s, pipeline[i].name) ||
			session_dump(s, pipeline[i].name, out));
	session_dump(s, "ast", out);
	session_explain_closed(s, out);
	diags_print(session_diags(s), out);
	if (session_failure(s)->kind) {
		failure_print(stderr, session_failure(s));
		abort();
	}
	REQUIRE(status != SESSION_DONE || session_has(s, stage));
	session_close(s);
}

/* A program with the text as its only string; a '"' would end it. */
static void run_as_spec(const char *text, size_t len, FILE *out)
{
	static const char before[] = "let x = f(\"", after[] = "\")";
	size_t nbefore = sizeof before - 1, nafter = sizeof after - 1;
	char *program = malloc(nbefore + len + nafter);
	REQUIRE(program);
	memcpy(program, before, nbefore);
	for (size_t i = 0; i < len; i++)
		program[nbefore + i] = text[i] == '"' ? ' ' : text[i];
	memcpy(program + nbefore + len, after, nafter);
	run_to("ast", 0, program, nbefore + len + nafter, out);
	free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out; /* a sink: what is printed is read by nobody */
	if (!out)
		out = fopen("/dev/null", "w");
	run_as_spec((const char *)data, size, out);
	run_to("proj", order_of(data, size), (const char *)data, size, out);
	return 0;
}
