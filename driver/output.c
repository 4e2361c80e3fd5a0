/* Output files of a compilation: temporary names, renamed together; dependency rules for make. */
#include "driver/output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"

static void cannot_write(Outputs *outputs, const char *path)
{
	const char *why = errno == ENXIO ? "nobody reads from it" : strerror(errno);
	diag(outputs->diags, E0602, SPAN_NONE, "cannot write '%s': %s",
	     strcmp(path, "-") == 0 ? "standard output" : path, why);
}

const char *outputs_add(Outputs *outputs, const char *path)
{
	int fd;
	bool stream = strcmp(path, "-") == 0 || !file_replaceable(path);
	const char *temp = temporary_file(stream ? NULL : path, &fd);
	if (!temp) {
		cannot_write(outputs, path);
		return NULL;
	}
	close(fd);
	PUSH(outputs->arena, outputs->files, ((OutputFile){path, temp, stream}));
	return temp;
}

/* A device, or a pipe or socket that somebody reads from, else ENXIO: a compiler waits for nobody.
 * What is written waits as usual. */
static FILE *open_stream(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	FILE *out = fd >= 0 && fcntl(fd, F_SETFL, O_WRONLY) == 0 ? fdopen(fd, "wb") : NULL;
	if (!out && fd >= 0)
		close(fd);
	return out;
}

static bool copy_to(const OutputFile *file)
{
	FILE *in = fopen(file->temp, "rb");
	FILE *out = strcmp(file->path, "-") == 0 ? stdout : open_stream(file->path);
	bool good = in && out;
	char buffer[1 << 14];
	for (size_t n; good && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
		good = fwrite(buffer, 1, n, out) == n;
	if (in)
		fclose(in);
	if (out && (out == stdout ? fflush(out) : fclose(out)) != 0)
		good = false;
	return good;
}

static bool commit(OutputFile *file)
{
	if (file->stream)
		return copy_to(file);
	if (!temporary_rename(file->temp, file->path))
		return false;
	file->temp = NULL;
	return true;
}

void outputs_commit(Outputs *outputs)
{
	for (int streams = 1; streams >= 0; streams--)
		for (size_t i = 0; i < outputs->files.n; i++) {
			OutputFile *file = &outputs->files.at[i];
			if (file->stream != streams || commit(file))
				continue;
			cannot_write(outputs, file->path);
			return;
		}
}

void outputs_end(Outputs *outputs)
{
	for (size_t i = 0; i < outputs->files.n; i++)
		if (outputs->files.at[i].temp)
			temporary_remove(outputs->files.at[i].temp);
	outputs->files.n = 0;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *path_with_suffix(Arena *arena, const char *path, const char *suffix)
{
	const char *base = path_base(path);
	const char *dot = strrchr(base, '.');
	size_t n = dot && dot != base ? (size_t)(dot - path) : strlen(path);
	return arena_printf(arena, "%.*s%s", (int)n, path, suffix);
}

const char *path_identifier(Arena *arena, const char *path)
{
	const char *stem = path_with_suffix(arena, path_base(path), "");
	bool digit = isdigit((unsigned char)stem[0]);
	char *name = arena_printf(arena, "%s%s", digit || !*stem ? "_" : "", stem);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return strcmp(name, "tsr") == 0 ? "tsr_" : name;
}

/* Make wants a backslash before a space and '#', and '$' doubled. */
static void print_escaped(FILE *out, const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '#' || *name == '\\')
			fputc('\\', out);
		if (*name == '$')
			fputc('$', out);
		fputc(*name, out);
	}
}

void deps_print(FILE *out, const DepRule *rule)
{
	for (size_t i = 0; i < rule->ntargets; i++) {
		fputs(i ? " " : "", out);
		print_escaped(out, rule->targets[i]);
	}
	fputc(':', out);
	for (size_t i = 0; i < rule->nfiles; i++) {
		fputs(i ? " \\\n " : " ", out);
		print_escaped(out, rule->files[i]);
	}
	fputc('\n', out);
	for (size_t i = 1; rule->phony && i < rule->nfiles; i++) {
		print_escaped(out, rule->files[i]);
		fputs(":\n", out);
	}
}
