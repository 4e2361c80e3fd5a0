/* Where imported files lie: beside the importing file, then along the include path; what the library declares. */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "frontend/build.h"

enum { NAME_TELLS = 4 }; /* letters that make a word of another spelling sure */

static const char *beside(Build *b, const char *path, const char *name, size_t len)
{
	const char *slash = strrchr(path, '/');
	if (!slash || (len && name[0] == '/'))
		return arena_strndup(b->arena, name, len);
	return arena_printf(b->arena, "%.*s/%.*s", (int)(slash - path), path, (int)len, name);
}

const char *import_path(Build *b, const char *name, size_t len)
{
	return beside(b, b->file->path, name, len);
}

const char *import_find(Build *b, const char *name, size_t len)
{
	if (b->options->no_files)
		return NULL;
	const char *path = import_path(b, name, len);
	if (access(path, F_OK) == 0 || (len && name[0] == '/'))
		return path;
	for (uint32_t i = 0; i < b->options->ninclude_dirs; i++) {
		const char *dir = b->options->include_dirs[i];
		const char *candidate = arena_printf(b->arena, "%s/%.*s", dir, (int)len, name);
		if (access(candidate, F_OK) == 0)
			return candidate;
	}
	return NULL;
}

/* "" where it cannot be read. */
static const char *library_text(Build *b)
{
	const char *why, *path = import_find(b, "nn.tsr", strlen("nn.tsr"));
	uint32_t file = path ? source_read(b->sources, path, &why) : 0;
	return file ? source_at(b->sources, file)->text : "";
}

bool library_has(Build *b, Sym name)
{
	return strstr(library_text(b), arena_printf(b->arena, "\nfn %s(", name));
}

bool name_is_spelt(const char *name, const char *meant)
{
	bool all = strlen(meant) >= NAME_TELLS || strlen(name) == strlen(meant);
	for (; all; name++, meant++) {
		name += *name == '_';
		meant += *meant == '_';
		if (!*meant || tolower((unsigned char)*name) != *meant)
			return !*meant;
	}
	return false;
}

Sym library_like(Build *b, Sym name)
{
	static const char declares[] = "\nfn ";
	Sym found = NULL;
	for (const char *at = library_text(b); (at = strstr(at, declares)) != NULL;) {
		at += strlen(declares);
		const char *one = arena_strndup(b->arena, at, strcspn(at, "("));
		if (name_is_spelt(name, one) && (!found || strlen(one) > strlen(found)))
			found = one;
	}
	return found;
}
