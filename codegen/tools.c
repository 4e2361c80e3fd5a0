/* `as` and `ld`: assembly to an object, an object to a shared object. Running them ourselves leaves no path and no
 * clock in the output. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "codegen/tools.h"

/* What a child said; else the signal that ended it, such as that of a limit of the shell. */
const char *child_last_words(const ChildResult *result)
{
	if (*result->text)
		return result->text;
	return result->status > 128 ? strsignal(result->status - 128) : "it said nothing";
}

/* Not every program says that it has no room for temporary files. */
void tools_note_room(const Tools *t)
{
	enum { ROOM = 64 << 10 };
	Arena *arena = t->emit->arena;
	const char *zeros = ARENA_ARRAY(arena, char, ROOM);
	int fd = open(arena_printf(arena, "%s/room", t->dir),
		      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t put = fd < 0 ? -1 : write(fd, zeros, ROOM);
	if (put >= 0 && put < ROOM) /* the next one says why */
		put = write(fd, zeros, ROOM);
	if (put < 0)
		diag_note(t->emit->diags, SPAN_NONE,
			  "temporary files cannot be written below TMPDIR (else /tmp): %s",
			  strerror(errno));
	if (fd >= 0)
		close(fd);
}

static bool is_object(const char *path)
{
	char head[SELFMAG];
	FILE *in = fopen(path, "rb");
	bool good =
		in && fread(head, 1, SELFMAG, in) == SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
	if (in)
		fclose(in);
	return good;
}

/* Runs `as` or `ld`, which makes the object `to`. */
static bool run_tool(const Tools *t, const char *const *argv, const char *to)
{
	ChildResult result = child_run(t->emit->arena, argv, t->dir);
	bool good = result.ran && result.status == 0;
	if (good && is_object(to))
		return true;
	if (good)
		diag(t->emit->diags, E0503, SPAN_NONE, "'%s' ended well and made no object file",
		     argv[0]);
	else if (!result.ran)
		diag(t->emit->diags, E0502, SPAN_NONE, "cannot run '%s': %s", argv[0], result.text);
	else
		diag(t->emit->diags, E0503, SPAN_NONE, "'%s' failed with status %d: %s", argv[0],
		     result.status, child_last_words(&result));
	tools_note_room(t);
	return false;
}

bool tools_assemble(const Tools *t, const char *from, const char *to)
{
	const char *const argv[] = {"as", "--64", "-o", to, from, NULL};
	return run_tool(t, argv, to);
}

bool tools_link(const Tools *t, const char *from)
{
	const char *name = emit_name(t->emit), *slash = strrchr(name, '/');
	const char *const argv[] = {"ld",
				    "-shared",
				    "-soname",
				    slash ? slash + 1 : name,
				    "-z",
				    "relro",
				    "-z",
				    "now",
				    "-z",
				    "noexecstack",
				    "-z",
				    "defs",
				    "-z",
				    "noseparate-code",
				    "--hash-style=gnu",
				    "--build-id=sha1",
				    "-o",
				    t->emit->output,
				    from,
				    t->with ? t->with : "--as-needed",
				    "--as-needed",
				    "-lm",
				    "-lc",
				    NULL};
	return run_tool(t, argv, t->emit->output);
}
