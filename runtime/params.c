/* Parameters from a file of arrays, by dotted name or through a map (params_map.h).
 *
 * Parameters take what the map has for them, then what the file has under their own names. What
 * tsr_set_param has set stays, what an earlier file has set does not. An array keeps its file's
 * axes, or is arranged for the parameter's (arrange.h).
 *
 * Files may hold far more than they have bytes, so what they say of all arrays is compared with the
 * parameters, and through the dims with each other, before the elements of any are read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "runtime/params_map.h"
#include "runtime/session.h"

enum { LONGEST_NAME = MAP_NAME_BYTES + 1024 };

/* What a parameter takes from the file. */
typedef struct Choice {
	bool made, read;
	bool halves; /* the file has bytes, of two elements each */
	size_t index;
	const MapLine *line; /* NULL: none, it has the parameter's name */
	Slot before;	     /* the slot as it was; its array is owned until another is read */
} Choice;

typedef struct Loading {
	tsr_session *s;
	ArrayFile *file;
	const char *path; /* of the map */
	ParamsMap map;
	Choice *choices; /* by parameter */
} Loading;

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

/* The sizes of a parameter's axes, -1 where a dim is not known yet. */
static void wanted_extents(const tsr_session *s, const tsr_tensor *tensor, int64_t *wanted)
{
	for (int i = 0; i < tensor_rank(tensor); i++)
		if (tsr_size_value(&tensor->sizes[i], s->module, s->values, &wanted[i]) != TSR_OK)
			wanted[i] = -1;
}

/* Rank and sizes, where they are known. */
static bool fits(const Array *array, const int64_t *wanted, int rank)
{
	bool same = array->rank == rank;
	for (int i = 0; same && i < rank; i++)
		same = wanted[i] < 0 || wanted[i] == array->extents[i];
	return same;
}

/* The array under the parameter's axes, or why not, with both shapes and what would fit. */
static int arrange(const tsr_session *s, const tsr_tensor *tensor, const MapLine *line,
		   Array *array, tsr_error *error)
{
	int64_t wanted[ARRAY_RANK_MAX];
	char expected[300], came[200], fit[200];
	int rank = tensor_rank(tensor);
	Arrangement how;
	ArrayError why = {""};
	if (rank > ARRAY_RANK_MAX)
		return TSR_OK; /* slot_check_known tells it */
	wanted_extents(s, tensor, wanted);
	if (line->axes ? arrangement_parse(line->axes, &how, &why) &&
				 arrangement_apply(&how, wanted, rank, array, &why)
		       : fits(array, wanted, rank))
		return TSR_OK;
	session_tensor_text(tensor, expected, sizeof expected);
	extents_text(array->extents, array->rank, came, sizeof came);
	arrangement_suggest(array, wanted, rank, fit, sizeof fit);
	return session_fail(error, TSR_FAIL_TYPE, "expected %s, came %s %s%s%s%s%s", expected,
			    dtype_name(array->dtype), came, *why.text ? ": " : "", why.text,
			    *fit ? "; its sizes fit with " : "", fit);
}

static int unreadable(const Slot *slot, const ArrayError *why, tsr_error *error)
{
	char expected[300];
	session_tensor_text(slot->tensor, expected, sizeof expected);
	return session_fail(error, TSR_FAIL_TYPE, "parameter '%s': %s (%s)", slot->tensor->name,
			    why->text, expected);
}

static Dtype dtype_of(const Slot *slot)
{
	return dtype_from_name(slot->tensor->dtype, strlen(slot->tensor->dtype));
}

/* An array of bytes that are two elements of i4 or u4 each: the parameter's shape with half of the last
 * axis. It gets the parameter's. */
static bool takes_halves(const Loading *l, const Slot *slot, size_t index, Array *array)
{
	int64_t wanted[ARRAY_RANK_MAX];
	int rank = tensor_rank(slot->tensor), last = rank - 1;
	Array plain;
	ArrayError why;
	if (!dtype_is_packed(dtype_of(slot)) || rank == 0 || rank > ARRAY_RANK_MAX ||
	    array->rank != rank || array->extents[last] > INT64_MAX / 2)
		return false;
	wanted_extents(l->s, slot->tensor, wanted);
	if (wanted[last] != 2 * array->extents[last] || wanted[last] == 0 ||
	    !array_file_measure(l->file, index, DTYPE_NONE, &plain, &why) || plain.dtype != DTYPE_U8)
		return false;
	array->extents[last] = wanted[last];
	array->nelements *= 2;
	array->bytes = array->nelements / 2;
	array->dtype = dtype_of(slot);
	return true;
}

/* Adds to the error how the array's axes would fit. */
static void add_arrangement(const Loading *l, const Slot *slot, size_t index, const Array *array,
			    tsr_error *error)
{
	int64_t wanted[ARRAY_RANK_MAX];
	char fit[200];
	int rank = tensor_rank(slot->tensor);
	size_t n = strlen(error->text);
	if (rank > ARRAY_RANK_MAX)
		return;
	wanted_extents(l->s, slot->tensor, wanted);
	arrangement_suggest(array, wanted, rank, fit, sizeof fit);
	if (*fit)
		snprintf(error->text + n, sizeof error->text - n,
			 "; its sizes fit with a map's line: %s = %s %s", slot->tensor->name,
			 array_file_name(l->file, index), fit);
}

/* The slot has the array's extents then, without data. `line`: NULL without a map. */
static int choose(Loading *l, Slot *slot, size_t index, const MapLine *line, tsr_error *error)
{
	Array array;
	ArrayError why;
	if (!array_file_measure(l->file, index, dtype_of(slot), &array, &why))
		return unreadable(slot, &why, error);
	bool halves = (!line || !line->axes) && takes_halves(l, slot, index, &array);
	int code = line ? arrange(l->s, slot->tensor, line, &array, error) : TSR_OK;
	tsr_array seen = view(&array);
	if (code == TSR_OK)
		code = slot_check_known(l->s, slot, &seen, error);
	if (code == TSR_FAIL_TYPE && !line)
		add_arrangement(l, slot, index, &array, error);
	if (code != TSR_OK)
		return code;
	l->choices[slot - l->s->params] =
		(Choice){.made = true, .halves = halves, .index = index, .line = line, .before = *slot};
	slot->loaded = (Array){0};
	slot->array = seen;
	slot->set = true;
	slot->load = l->s->nloads;
	return TSR_OK;
}

static int read_elements(Loading *l, Slot *slot, Choice *choice, tsr_error *error)
{
	Array array;
	ArrayError why;
	int code = slot_check_known(l->s, slot, &slot->array, error);
	if (code != TSR_OK)
		return code;
	Dtype want = choice->halves ? DTYPE_U8 : dtype_of(slot);
	if (!array_file_read(l->file, choice->index, want, &array, &why))
		return unreadable(slot, &why, error);
	if (choice->halves)
		takes_halves(l, slot, choice->index, &array);
	code = choice->line ? arrange(l->s, slot->tensor, choice->line, &array, error) : TSR_OK;
	if (code != TSR_OK) {
		array_free(&array);
		return code;
	}
	array_free(&choice->before.loaded);
	slot->loaded = array;
	slot->array = view(&array);
	choice->read = true;
	return TSR_OK;
}

/* Does it keep what it has, from the file at hand or from tsr_set_param? */
static bool keeps(const tsr_session *s, const Slot *slot)
{
	return slot->set && (slot->load == 0 || slot->load == s->nloads);
}

/* ---- through a map ---- */

/* As written, or behind the prefix. */
static ptrdiff_t find_theirs(const ArrayFile *file, const MapLine *line, const char *theirs)
{
	char whole[LONGEST_NAME];
	ptrdiff_t index = array_file_find(file, theirs);
	snprintf(whole, sizeof whole, "%s%s", line->prefix, theirs);
	return index < 0 && *line->prefix ? array_file_find(file, whole) : index;
}

/* Does the name end with `tail`, behind a point? */
static bool ends_with(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);
	return m > 0 && n > m + 1 && name[n - m - 1] == '.' && strcmp(name + n - m, tail) == 0;
}

/* What a file without the array has instead: the name behind a prefix, or the one that is
 * nearest. */
static void explain_lacking(const ArrayFile *file, const char *theirs, char *text, size_t room)
{
	size_t n = array_file_count(file);
	const char **names = malloc((n + 1) * sizeof *names);
	text[0] = '\0';
	for (size_t i = 0; names && i < n; i++) {
		names[i] = array_file_name(file, i);
		if (!*text && ends_with(names[i], theirs))
			snprintf(text, room,
				 ": it has '%.200s', which 'prefix %.*s' in a line above finds",
				 names[i], (int)(strlen(names[i]) - strlen(theirs)), names[i]);
	}
	const char *near = names && !*text ? name_nearest(theirs, names, n) : NULL;
	if (near)
		snprintf(text, room, ": did you mean '%s'?", near);
	else if (names && !*text && n > 0 && *names[0])
		snprintf(text, room, ": it has %zu array%s, such as '%.200s'", n, n == 1 ? "" : "s",
			 names[0]);
	free(names);
}

static int lacks(const ArrayFile *file, const char *path, int line, const char *ours,
		 const char *theirs, tsr_error *error)
{
	char instead[600];
	explain_lacking(file, theirs, instead, sizeof instead);
	return session_fail(error, TSR_FAIL_NAME,
			    "%s:%d: the map takes '%s' from '%s', which the file does not have%s",
			    path, line, ours, theirs, instead);
}

static int at_line(const Loading *l, const Slot *slot, const MapLine *line, const tsr_error *why,
		   tsr_error *error)
{
	char theirs[MAP_NAME_BYTES];
	map_line_matches(line, slot->tensor->name, theirs);
	return session_fail(error, why->code, "%s:%d: '%s' from '%s': %.600s", l->path,
			    line->number, slot->tensor->name, theirs, why->text);
}

/* The first line for the parameter whose array the file has; a parameter with lines has such a
 * one. */
static int choose_mapped(Loading *l, Slot *slot, tsr_error *error)
{
	const char *ours = slot->tensor->name;
	char theirs[MAP_NAME_BYTES], first[MAP_NAME_BYTES];
	int lacking = 0;
	tsr_error why;
	for (int i = 0; i < l->map.n; i++) {
		const MapLine *line = &l->map.lines[i];
		if (!line->ours || !map_line_matches(line, ours, theirs))
			continue;
		ptrdiff_t index = find_theirs(l->file, line, theirs);
		if (index >= 0)
			return choose(l, slot, (size_t)index, line, &why) == TSR_OK
				       ? TSR_OK
				       : at_line(l, slot, line, &why, error);
		if (lacking == 0) {
			lacking = line->number;
			memcpy(first, theirs, sizeof first);
		}
	}
	return lacking == 0 ? TSR_OK : lacks(l->file, l->path, lacking, ours, first, error);
}

static int no_parameter(const tsr_session *s, const char *path, const MapLine *line,
			tsr_error *error)
{
	size_t n = (size_t)s->module->nparams;
	const char **names = malloc((n + 1) * sizeof *names);
	for (size_t k = 0; names && k < n; k++)
		names[k] = s->params[k].tensor->name;
	const char *near = names ? name_nearest(line->ours, names, n) : NULL;
	near = !near && names && n > 0 ? names[0] : near;
	free(names);
	return session_fail(error, TSR_FAIL_NAME,
			    "%s:%d: the map names '%s', which is no parameter of the module%s%s%s",
			    path, line->number, line->ours, near ? ": '" : "", near ? near : "",
			    near ? "' is one" : "");
}

/* A line for no parameter is a slip. */
static int check_ours(const tsr_session *s, const char *path, const ParamsMap *map,
		      tsr_error *error)
{
	char theirs[MAP_NAME_BYTES];
	for (int i = 0; i < map->n; i++) {
		const MapLine *line = &map->lines[i];
		bool found = !line->ours;
		for (int32_t k = 0; k < s->module->nparams && !found; k++)
			found = map_line_matches(line, s->params[k].tensor->name, theirs);
		if (!found)
			return no_parameter(s, path, line, error);
	}
	return TSR_OK;
}

static int choose_by_map(Loading *l, tsr_error *error)
{
	tsr_session *s = l->s;
	int code = check_ours(s, l->path, &l->map, error);
	for (int32_t i = 0; i < s->module->nparams && code == TSR_OK; i++)
		if (!keeps(s, &s->params[i]))
			code = choose_mapped(l, &s->params[i], error);
	return code;
}

static int choose_all(Loading *l, tsr_error *error)
{
	tsr_session *s = l->s;
	int code = l->path ? choose_by_map(l, error) : TSR_OK;
	for (int32_t i = 0; i < s->module->nparams && code == TSR_OK; i++) {
		Slot *slot = &s->params[i];
		ptrdiff_t index = array_file_find(l->file, slot->tensor->name);
		if (!keeps(s, slot) && index >= 0)
			code = choose(l, slot, (size_t)index, NULL, error);
	}
	return code;
}

static int read_all(Loading *l, tsr_error *error)
{
	tsr_error why;
	int code = TSR_OK;
	for (int32_t i = 0; i < l->s->module->nparams && code == TSR_OK; i++) {
		Choice *choice = &l->choices[i];
		Slot *slot = &l->s->params[i];
		code = choice->made ? read_elements(l, slot, choice, &why) : TSR_OK;
		if (code != TSR_OK && choice->line)
			at_line(l, slot, choice->line, &why, error);
		else if (code != TSR_OK)
			session_fail(error, code, "%s", why.text);
	}
	return code;
}

/* What was not read is as it was before. */
static void give_up(Loading *l)
{
	for (int32_t i = 0; i < l->s->module->nparams; i++)
		if (l->choices[i].made && !l->choices[i].read)
			l->s->params[i] = l->choices[i].before;
}

static int load_file(tsr_session *s, ArrayFile *file, const char *map, tsr_error *error)
{
	Loading l = {.s = s, .file = file, .path = map};
	l.choices = calloc((size_t)s->module->nparams + 1, sizeof *l.choices);
	if (!l.choices)
		return session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	int code = map ? params_map_read(map, &l.map, error) : TSR_OK;
	if (code == TSR_OK)
		code = choose_all(&l, error);
	if (code == TSR_OK)
		code = session_resolve_file(s, error);
	if (code == TSR_OK)
		code = read_all(&l, error);
	give_up(&l);
	free(l.choices);
	params_map_free(&l.map);
	return code;
}

/* A file of which nothing was taken is another model's, or one array. */
static int check_taken(const tsr_session *s, const ArrayFile *file, tsr_error *error)
{
	bool taken = s->module->nparams == 0;
	for (int32_t i = 0; i < s->module->nparams; i++)
		taken |= keeps(s, &s->params[i]);
	if (taken)
		return TSR_OK;
	if (array_file_find(file, "") == 0)
		return session_fail(error, TSR_FAIL_NAME,
				    "one array without a name; parameters come "
				    "from a .safetensors, .npz or .gguf file");
	return session_fail(
		error, TSR_FAIL_NAME,
		"none of its %zu arrays, such as '%s', has the name of a parameter, such as '%s': a map "
		"says what is whose",
		array_file_count(file), array_file_count(file) ? array_file_name(file, 0) : "",
		s->params[0].tensor->name);
}

int params_load(tsr_session *s, ArrayFile *file, const char *path, const char *map,
		tsr_error *error)
{
	tsr_error inner;
	s->nloads++;
	int code = session_resolve_file(s, error);
	if (code != TSR_OK)
		return code;
	code = load_file(s, file, map, &inner);
	if (code == TSR_OK)
		code = check_taken(s, file, &inner);
	return code == TSR_OK ? code : session_fail(error, code, "%s: %.900s", path, inner.text);
}

int tsr_load_params(tsr_session *s, const char *path, const char *map, tsr_error *error)
{
	ArrayError why;
	int code = session_check_stateless(s, error);
	if (code == TSR_OK)
		code = session_check_pointer(path, "path", error);
	if (code != TSR_OK)
		return code;
	ArrayFile *file = array_file_open(path, &why);
	if (!file)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why.text);
	code = params_load(s, file, path, map, error);
	array_file_close(file);
	return code;
}
