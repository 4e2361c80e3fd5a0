/* Where imported files lie: beside the importing file, then along the include path. */
#include <string.h>
#include <unistd.h>

#include "frontend/build.h"

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

bool library_has(Build *b, Sym name)
{
	const char *why, *path = import_find(b, "nn.tsr", strlen("nn.tsr"));
	uint32_t file = path ? source_read(b->sources, path, &why) : 0;
	const char *head = arena_printf(b->arena, "\nfn %s(", name);
	return file && strstr(source_at(b->sources, file)->text, head);
}
