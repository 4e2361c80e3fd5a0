/* Bytes to loops: every text is read as what a stage prints, one that has workspaces as --dump=loops.
 * What is read prints itself, and that is read as the same. */
#include <stdlib.h>
#include <string.h>

#include "driver/session.h"

/* What the stage prints of the text, an allocated string; NULL: it cannot be read. */
static char *read_and_print(const char *stage, const char *text, size_t len, FILE *sink)
{
	SessionOptions options;
	session_options_init(&options);
	options.march = "x86-64-v3";
	options.memory = 0;
	options.from = stage;
	Session *s = session_open(&options);
	REQUIRE(s);
	session_text(s, "text", text, len);
	SessionStatus status = session_run(s, stage);
	const char *printed = session_dump_text(s, stage, NULL);
	char *copy = printed ? strdup(printed) : NULL;
	diags_print(session_diags(s), sink);
	if (session_failure(s)->kind) {
		failure_print(stderr, session_failure(s));
		abort();
	}
	REQUIRE((status == SESSION_DONE) == (printed != NULL));
	session_close(s);
	return copy;
}

static void read_back(const char *stage, const char *text, size_t len, FILE *sink)
{
	char *first = read_and_print(stage, text, len, sink);
	char *second = first ? read_and_print(stage, first, strlen(first), stderr) : NULL;
	if (first && (!second || strcmp(first, second) != 0)) {
		fprintf(stderr, "%s\nis read as\n%s\n", first, second ? second : "nothing");
		abort();
	}
	free(first);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *sink; /* what is printed is read by nobody */
	const char *text = (const char *)data;
	if (!sink)
		sink = fopen("/dev/null", "w");
	read_back(size && memmem(text, size, "workspace", 9) ? "loops" : "kernels", text, size, sink);
	return 0;
}
