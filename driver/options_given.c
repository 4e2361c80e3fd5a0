/* What the command line and the environment give: words, and the folders of the cache and of the library. */
#include "driver/options_given.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/response.h"

/* An option that is spelled with one dash and several letters, and was given two, without the first. */
static const char *without_dash(const char *word)
{
	static const char *const begins[] = {
		"march", "fsyntax-only", "fdiagnostics-", "ferror-limit", "O", "W"};
	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
		if (strncmp(word, "--", 2) == 0 &&
		    strncmp(word + 2, begins[i], strlen(begins[i])) == 0)
			return word + 1;
	return word;
}

/* The options with one dash and several letters, as argp reads them. */
static const char *as_argp_reads(const char *word)
{
	static const char *const spelled[][2] = {{"-MD", "--MD"}, {"-MMD", "--MMD"},
						 {"-MF", "--MF"}, {"-MT", "--MT"},
						 {"-MP", "--MP"}, {"-###", "--dry-run"}};
	for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++)
		if (strcmp(word, spelled[i][0]) == 0)
			return spelled[i][1];
	return without_dash(word);
}

Words options_words(Arena *arena, int argc, char **argv)
{
	Words words = {0};
	ResponseError why;
	char **expanded = response_expand(&argc, argv, &why);
	if (!expanded) {
		fprintf(stderr, "tsrc: %s\n", why.text);
		exit(2);
	}
	for (int i = 0; i < argc; i++)
		PUSH(arena, words,
		     as_argp_reads(arena_strndup(arena, expanded[i], strlen(expanded[i]))));
	response_free(expanded);
	PUSH(arena, words, NULL);
	return words;
}

const char *options_cache_dir(Arena *arena)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && cache[0] == '/')
		return arena_printf(arena, "%s/tsr", cache);
	return home && home[0] == '/' ? arena_printf(arena, "%s/.cache/tsr", home) : NULL;
}

const char *options_library_dir(Arena *arena)
{
	static const char *const places[] = {"../share/tsr/lib", "../lib", "../../lib"};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		char path[PATH_MAX];
		if (!realpath(arena_printf(arena, "%s/%s", exe, places[i]), path))
			continue;
		if (access(arena_printf(arena, "%s/nn.tsr", path), R_OK) == 0)
			return arena_strndup(arena, path, strlen(path));
	}
	return "/usr/share/tsr/lib";
}
