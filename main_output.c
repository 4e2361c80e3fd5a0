/* Output files of a compilation: temporary names, renamed together; dependency rules for make. */
#include "main_output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_special(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

const char *outputs_add(Outputs *outputs, const char *path)
{
	bool stream = strcmp(path, "-") == 0 ||
		      is_special(path); /* /dev/null and the like cannot be renamed over */
	const char *dir = getenv("TMPDIR");
	char *temp =
		stream ? arena_printf(outputs->arena, "%s/tsrc.XXXXXX", dir && *dir ? dir : "/tmp")
		       : arena_printf(outputs->arena, "%s.XXXXXX", path);
	int fd = mkstemp(temp);
	if (fd < 0) {
		diag(outputs->diags, E0602, SPAN_NONE, "cannot write '%s': %s", path,
		     strerror(errno));
		return NULL;
	}
	mode_t mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	close(fd);
	PUSH(outputs->arena, outputs->files, ((OutputFile){path, temp}));
	return temp;
}

static bool copy_to(const OutputFile *file)
{
	FILE *in = fopen(file->temp, "rb");
	FILE *out = strcmp(file->path, "-") == 0 ? stdout : fopen(file->path, "wb");
	bool good = in && out;
	char buffer[1 << 14];
	for (size_t n; good && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
		good = fwrite(buffer, 1, n, out) == n;
	if (in)
		fclose(in);
	if (out && (out == stdout ? fflush(out) : fclose(out)) != 0)
		good = false;
	unlink(file->temp);
	return good;
}

bool outputs_commit(Outputs *outputs)
{
	while (outputs->files.n) {
		OutputFile file = outputs->files.at[0];
		bool stream = strcmp(file.path, "-") == 0 || is_special(file.path);
		if (!(stream ? copy_to(&file) : rename(file.temp, file.path) == 0)) {
			const char *name =
				strcmp(file.path, "-") == 0 ? "standard output" : file.path;
			diag(outputs->diags, E0602, SPAN_NONE, "cannot write '%s': %s", name,
			     strerror(errno));
			outputs_abandon(outputs);
			return false;
		}
		memmove(outputs->files.at, outputs->files.at + 1, --outputs->files.n * sizeof file);
	}
	return true;
}

void outputs_abandon(Outputs *outputs)
{
	for (size_t i = 0; i < outputs->files.n; i++)
		unlink(outputs->files.at[i].temp);
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
