/* Parameters from a file of arrays, by dotted name or through a map.
 *
 *   map  := line*          # to the end of a line is a comment
 *   line := OURS '=' THEIRS [axes]
 *   axes := integers, separated by blanks or commas, perhaps in brackets
 *
 * Axis i of ours is axis axes[i] of theirs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/session.h"

typedef struct Rename {
	char ours[256], theirs[256];
	int order[ARRAY_RANK_MAX];
	int norder; /* -1: none given */
} Rename;

/* The array as libtsr passes it; `data` stays the Array's. */
static tsr_array view(const Array *array)
{
	tsr_array out = {.dtype = dtype_name(array->dtype),
			 .rank = array->rank,
			 .bytes = array->bytes,
			 .data = array->data};
	memcpy(out.extents, array->extents, (size_t)array->rank * sizeof *array->extents);
	return out;
}

static bool is_permutation(const int *order, int norder, int rank)
{
	uint64_t seen = 0;
	for (int i = 0; i < norder; i++)
		if (order[i] >= 0 && order[i] < rank)
			seen |= (uint64_t)1 << order[i];
	return norder == rank && seen == ((uint64_t)1 << rank) - 1;
}

static int permute(Array *array, const Rename *rename, tsr_error *error)
{
	Array moved;
	ArrayError why;
	if (rename->norder < 0)
		return TSR_OK;
	if (!is_permutation(rename->order, rename->norder, array->rank))
		return session_fail(error, TSR_FAIL_TYPE,
				    "the map's axes of '%s' are no order of the %d axes of '%s'",
				    rename->ours, array->rank, rename->theirs);
	if (!array_permute(array, rename->order, &moved, &why))
		return session_fail(error, TSR_FAIL_MEMORY, "%s: %s", rename->theirs, why.text);
	array_free(array);
	*array = moved;
	return TSR_OK;
}

static int load_one(Slot *slot, ArrayFile *file, size_t index, const Rename *rename,
		    tsr_error *error)
{
	Array array;
	ArrayError why;
	const char *type = slot->tensor->dtype;
	if (!array_file_read(file, index, dtype_from_name(type, strlen(type)), &array, &why)) {
		char expected[300];
		session_tensor_text(slot->tensor, expected, sizeof expected);
		return session_fail(error, TSR_FAIL_TYPE, "parameter '%s': %s (%s)",
				    slot->tensor->name, why.text, expected);
	}
	int code = rename ? permute(&array, rename, error) : TSR_OK;
	tsr_array seen = view(&array);
	if (code == TSR_OK)
		code = slot_check_type(slot, &seen, error);
	if (code != TSR_OK) {
		array_free(&array);
		return code;
	}
	array_free(&slot->loaded);
	slot->loaded = array;
	slot->array = seen;
	slot->set = true;
	return TSR_OK;
}

static bool is_axis_space(char c)
{
	return c != '\0' && strchr(" \t\r\n,[]()", c) != NULL;
}

/* false when something but integers is there. */
static bool parse_axes(const char *text, Rename *rename)
{
	rename->norder = -1;
	for (;;) {
		while (is_axis_space(*text))
			text++;
		if (*text == '\0')
			return true;
		char *end;
		long axis = strtol(text, &end, 10);
		if (end == text || axis < 0 || axis >= ARRAY_RANK_MAX ||
		    rename->norder >= ARRAY_RANK_MAX)
			return false;
		rename->norder = rename->norder < 0 ? 0 : rename->norder;
		rename->order[rename->norder++] = (int)axis;
		text = end;
	}
}

/* 1: a line with a name; 0: an empty one; -1: malformed. */
static int parse_line(char *line, Rename *rename)
{
	char equals[2], rest[512] = "";
	line[strcspn(line, "#\n")] = '\0';
	if (line[strspn(line, " \t\r")] == '\0')
		return 0;
	int n = sscanf(line, "%255[^= \t] %1[=] %255[^ \t\r] %511[^\n]", rename->ours, equals,
		       rename->theirs, rest);
	return n >= 3 && parse_axes(rest, rename) ? 1 : -1;
}

static Slot *find_param(tsr_session *s, const char *name)
{
	for (int32_t i = 0; i < s->module->nparams; i++)
		if (strcmp(s->params[i].tensor->name, name) == 0)
			return &s->params[i];
	return NULL;
}

static int load_renamed(tsr_session *s, ArrayFile *file, const Rename *rename, tsr_error *error)
{
	Slot *slot = find_param(s, rename->ours);
	ptrdiff_t index = array_file_find(file, rename->theirs);
	if (!slot)
		return session_fail(error, TSR_FAIL_NAME,
				    "the map names '%s', which is no parameter of the module",
				    rename->ours);
	if (index < 0)
		return session_fail(error, TSR_FAIL_NAME,
				    "the map takes '%s' from '%s', which the file does not have",
				    rename->ours, rename->theirs);
	return slot->set ? TSR_OK : load_one(slot, file, (size_t)index, rename, error);
}

static int load_map(tsr_session *s, ArrayFile *file, const char *path, tsr_error *error)
{
	char line[1024];
	int code = TSR_OK, number = 0;
	FILE *in = fopen(path, "re");
	if (!in)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, strerror(errno));
	while (code == TSR_OK && fgets(line, sizeof line, in)) {
		Rename rename = {.norder = -1};
		number++;
		int kind = parse_line(line, &rename);
		if (kind < 0)
			code = session_fail(error, TSR_FAIL_FILE,
					    "%s:%d: expected `ours = theirs [axis order]`", path,
					    number);
		else if (kind > 0)
			code = load_renamed(s, file, &rename, error);
	}
	fclose(in);
	return code;
}

static int load_file(tsr_session *s, ArrayFile *file, const char *map, tsr_error *error)
{
	int code = map ? load_map(s, file, map, error) : TSR_OK;
	for (int32_t i = 0; i < s->module->nparams && code == TSR_OK; i++) {
		Slot *slot = &s->params[i];
		ptrdiff_t index = array_file_find(file, slot->tensor->name);
		if (!slot->set && index >= 0)
			code = load_one(slot, file, (size_t)index, NULL, error);
	}
	return code;
}

/* A file of which nothing was taken is another model's, or one array. */
static int check_taken(const tsr_session *s, const ArrayFile *file, tsr_error *error)
{
	bool taken = s->module->nparams == 0;
	for (int32_t i = 0; i < s->module->nparams; i++)
		taken |= s->params[i].set;
	if (taken)
		return TSR_OK;
	if (array_file_find(file, "") == 0)
		return session_fail(error, TSR_FAIL_NAME,
				    "one array without a name; parameters come "
				    "from a .safetensors or .npz file");
	return session_fail(error, TSR_FAIL_NAME,
			    "none of its %zu arrays has the name of a parameter, such as '%s'",
			    array_file_count(file), s->params[0].tensor->name);
}

int tsr_load_params(tsr_session *s, const char *path, const char *map, tsr_error *error)
{
	ArrayError why;
	tsr_error inner;
	if (s->prepared)
		return session_fail(error, TSR_FAIL_ORDER, "the session is prepared already");
	ArrayFile *file = array_file_open(path, &why);
	if (!file)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why.text);
	int code = load_file(s, file, map, &inner);
	if (code == TSR_OK)
		code = check_taken(s, file, &inner);
	array_file_close(file);
	return code == TSR_OK ? code : session_fail(error, code, "%s: %.900s", path, inner.text);
}
