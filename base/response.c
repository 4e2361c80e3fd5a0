/* Response files: splitting as GCC does. */
#include "base/response.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { DEPTH_MAX = 10, BYTES_MAX = 1 << 20, WORDS_MAX = 1 << 16 };

typedef struct Words {
	char **at;
	int n, cap;
	ResponseError *error;
} Words;

static bool fail(Words *words, const char *path, const char *why)
{
	snprintf(words->error->text, sizeof words->error->text, "@%.150s: %.80s", path, why);
	return false;
}

static bool push(Words *words, const char *text, size_t len)
{
	if (words->n + 1 >= words->cap) {
		int cap = words->cap ? 2 * words->cap : 16;
		char **at = realloc(words->at, (size_t)cap * sizeof *at);
		if (!at)
			return fail(words, "", "out of memory");
		words->at = at;
		words->cap = cap;
	}
	words->at[words->n] = strndup(text, len);
	if (!words->at[words->n])
		return fail(words, "", "out of memory");
	words->at[++words->n] = NULL;
	return words->n < WORDS_MAX || fail(words, "", "too many words");
}

/* One word from *at into `word`; false at the end of the text. */
static bool next_word(const char **at, char *word, size_t *len)
{
	const char *p = *at;
	char quote = 0;
	while (isspace((unsigned char)*p))
		p++;
	*len = 0;
	if (!*p)
		return false;
	for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
		if (*p == '\\' && p[1])
			word[(*len)++] = *++p;
		else if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? 0 : *p;
		else
			word[(*len)++] = *p;
	}
	*at = p;
	return true;
}

static bool expand(Words *words, const char *word, size_t len, int depth);

static bool expand_file(Words *words, const char *path, int depth)
{
	size_t len;
	char *text = malloc(BYTES_MAX + 1), *word = malloc(BYTES_MAX + 1);
	const char *why;
	FILE *in = file_open(path, &why);
	bool ok = text && word && in;
	const char *at = text;
	if (!ok) {
		fail(words, path, in ? "out of memory" : why);
	} else {
		text[fread(text, 1, BYTES_MAX, in)] = '\0';
		ok = (feof(in) && !ferror(in)) ||
		     fail(words, path, "it cannot be read, or is too long");
	}
	while (ok && next_word(&at, word, &len))
		ok = expand(words, word, len, depth + 1);
	if (in)
		fclose(in);
	free(word);
	free(text);
	return ok;
}

static bool expand(Words *words, const char *word, size_t len, int depth)
{
	if (len < 2 || word[0] != '@')
		return push(words, word, len);
	char *path = strndup(word + 1, len - 1);
	bool ok = path &&
		  (depth < DEPTH_MAX ? expand_file(words, path, depth)
				     : fail(words, path, "response files are nested too deeply"));
	free(path);
	return ok;
}

char **response_expand(int *argc, char *const *argv, ResponseError *error)
{
	Words words = {.error = error};
	error->text[0] = '\0';
	bool ok = true;
	for (int i = 0; i < *argc && ok; i++)
		ok = expand(&words, argv[i], strlen(argv[i]), 0);
	if (ok) {
		*argc = words.n;
		return words.at;
	}
	response_free(words.at);
	return NULL;
}

void response_free(char **argv)
{
	for (char **word = argv; word && *word; word++)
		free(*word);
	free(argv);
}
