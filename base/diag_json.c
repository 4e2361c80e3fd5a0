/* Diagnostics for programs: a JSON array of objects, and SARIF 2.1.0. Keys come in the order in
 * which they are set here (jansson keeps it); columns count code points from 1, ends are
 * exclusive. Bytes that are no UTF-8 become U+FFFD. */
#include <jansson.h>
#include <string.h>
#include <utf8proc.h>

#include "base/diag_print.h"

#ifndef TSR_VERSION
#define TSR_VERSION "0"
#endif

/* A JSON string of any bytes. */
static json_t *text_of(const Diags *ds, const char *text)
{
	size_t len = strlen(text), at = 0, n = 0;
	char *clean = arena_alloc(ds->arena, 3 * len + 1);
	while (at < len) {
		utf8proc_int32_t c;
		utf8proc_ssize_t got = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
		                                        (utf8proc_ssize_t)(len - at), &c);
		if (got > 0)
			memcpy(clean + n, text + at, (size_t)got);
		else
			memcpy(clean + n, "\xEF\xBF\xBD", 3);
		n += got > 0 ? (size_t)got : 3;
		at += got > 0 ? (size_t)got : 1;
	}
	return json_stringn(clean, n);
}

/* Sets line, column, endLine, endColumn under the names given in that order. */
static void set_region(const Diags *ds, json_t *object, Span span, const char *const names[4])
{
	Place start = source_place(ds->sources, span.file, span.start);
	Place end =
		source_place(ds->sources, span.file, span.end > span.start ? span.end : span.start);
	bool known = source_at(ds->sources, span.file) != NULL;
	uint32_t values[4] = {start.line, start.column, end.line, end.column};
	for (int i = 0; i < 4; i++)
		json_object_set_new(object, names[i],
				    known ? json_integer(values[i]) : json_null());
}

static void set_place(const Diags *ds, json_t *object, Span span)
{
	static const char *const names[] = {"line", "column", "endLine", "endColumn"};
	const Source *source = source_at(ds->sources, span.file);
	json_object_set_new(object, "file", source ? text_of(ds, source->path) : json_null());
	set_region(ds, object, span, names);
}

/* The notes of a diagnostic, or its repairs. */
static json_t *notes_of(const Diags *ds, const Diag *d, bool repairs)
{
	json_t *list = json_array();
	for (size_t i = 0; i < d->notes.n; i++) {
		const DiagNote *note = &d->notes.at[i];
		if ((note->replacement != NULL) != repairs)
			continue;
		json_t *object = json_object();
		json_object_set_new(object, "message", text_of(ds, note->text));
		if (repairs)
			json_object_set_new(object, "replacement", text_of(ds, note->replacement));
		set_place(ds, object, note->span);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *object_of(const Diags *ds, const Diag *d)
{
	json_t *object = json_object();
	json_object_set_new(object, "code", json_string(diag_code_name(d->code)));
	json_object_set_new(object, "title", json_string(diag_code_title(d->code)));
	json_object_set_new(object, "severity", json_string(severity_name(d->severity)));
	json_object_set_new(object, "message", text_of(ds, d->text));
	set_place(ds, object, d->span);
	json_object_set_new(object, "notes", notes_of(ds, d, false));
	json_object_set_new(object, "fixes", notes_of(ds, d, true));
	return object;
}

/* Writes the document and lets go of it. */
static void write_out(json_t *root, FILE *out)
{
	json_dumpf(root, out, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(root);
}

void diags_print_json(const Diags *ds, FILE *out)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ds->list.n; i++)
		json_array_append_new(list, object_of(ds, &ds->list.at[i]));
	write_out(list, out);
}

/* { "text": ... } */
static json_t *sarif_text(json_t *text)
{
	json_t *object = json_object();
	json_object_set_new(object, "text", text);
	return object;
}

/* A path as a relative URI reference: what a URI may not hold is percent-encoded. */
static json_t *sarif_artifact(const Diags *ds, const Source *source)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._~/+,=@";
	char *uri = arena_alloc(ds->arena, 3 * strlen(source->path) + 1), *end = uri;
	for (const char *p = source->path; *p; p++) {
		if (strchr(allowed, *p))
			*end++ = *p;
		else
			end += sprintf(end, "%%%02X", (unsigned char)*p);
	}
	json_t *object = json_object();
	json_object_set_new(object, "uri", json_string(uri));
	return object;
}

static json_t *sarif_region(const Diags *ds, Span span)
{
	static const char *const names[] = {"startLine", "startColumn", "endLine", "endColumn"};
	json_t *region = json_object();
	set_region(ds, region, span, names);
	return region;
}

static json_t *sarif_location(const Diags *ds, Span span)
{
	json_t *physical = json_object(), *location = json_object();
	json_object_set_new(physical, "artifactLocation",
	                    sarif_artifact(ds, source_at(ds->sources, span.file)));
	json_object_set_new(physical, "region", sarif_region(ds, span));
	json_object_set_new(location, "physicalLocation", physical);
	return location;
}

static json_t *sarif_related(const Diags *ds, const Diag *d)
{
	json_t *list = json_array();
	for (size_t i = 0; i < d->notes.n; i++) {
		const DiagNote *note = &d->notes.at[i];
		if (note->replacement)
			continue;
		bool known = source_at(ds->sources, note->span.file) != NULL;
		json_t *location = known ? sarif_location(ds, note->span) : json_object();
		json_object_set_new(location, "message", sarif_text(text_of(ds, note->text)));
		json_array_append_new(list, location);
	}
	return list;
}

static json_t *sarif_fix(const Diags *ds, const DiagNote *note)
{
	json_t *replacement = json_object(), *change = json_object(), *fix = json_object();
	json_object_set_new(replacement, "deletedRegion", sarif_region(ds, note->span));
	json_object_set_new(replacement, "insertedContent",
			    sarif_text(text_of(ds, note->replacement)));
	json_object_set_new(change, "artifactLocation",
	                    sarif_artifact(ds, source_at(ds->sources, note->span.file)));
	json_object_set_new(change, "replacements", json_pack("[o]", replacement));
	json_object_set_new(fix, "description", sarif_text(text_of(ds, note->text)));
	json_object_set_new(fix, "artifactChanges", json_pack("[o]", change));
	return fix;
}

static json_t *sarif_fixes(const Diags *ds, const Diag *d)
{
	json_t *list = json_array();
	for (size_t i = 0; i < d->notes.n; i++) {
		const DiagNote *note = &d->notes.at[i];
		if (note->replacement && source_at(ds->sources, note->span.file))
			json_array_append_new(list, sarif_fix(ds, note));
	}
	return list;
}

static json_t *sarif_result(const Diags *ds, const Diag *d, int rule)
{
	json_t *result = json_object(), *locations = json_array();
	if (source_at(ds->sources, d->span.file))
		json_array_append_new(locations, sarif_location(ds, d->span));
	json_object_set_new(result, "ruleId", json_string(diag_code_name(d->code)));
	json_object_set_new(result, "ruleIndex", json_integer(rule));
	json_object_set_new(result, "level", json_string(severity_name(d->severity)));
	json_object_set_new(result, "message", sarif_text(text_of(ds, d->text)));
	json_object_set_new(result, "locations", locations);
	json_object_set_new(result, "relatedLocations", sarif_related(ds, d));
	json_t *fixes = sarif_fixes(ds, d);
	if (json_array_size(fixes))
		json_object_set(result, "fixes", fixes);
	json_decref(fixes);
	return result;
}

static json_t *sarif_rule(DiagCode code)
{
	json_t *rule = json_object(), *configuration = json_object();
	json_object_set_new(configuration, "level",
			    json_string(severity_name(diag_code_severity(code))));
	json_object_set_new(rule, "id", json_string(diag_code_name(code)));
	json_object_set_new(rule, "shortDescription",
			    sarif_text(json_string(diag_code_title(code))));
	json_object_set_new(rule, "fullDescription", sarif_text(json_string(diag_code_text(code))));
	json_object_set_new(rule, "defaultConfiguration", configuration);
	return rule;
}

/* The rules that were broken, in the order of the table; index[code] is set to their place. */
static json_t *sarif_rules(const Diags *ds, int *index)
{
	json_t *rules = json_array();
	memset(index, 0, DIAG_COUNT * sizeof *index);
	for (size_t i = 0; i < ds->list.n; i++)
		index[ds->list.at[i].code] = 1;
	for (int code = 0; code < DIAG_COUNT; code++) {
		if (!index[code])
			continue;
		index[code] = (int)json_array_size(rules);
		json_array_append_new(rules, sarif_rule((DiagCode)code));
	}
	return rules;
}

void diags_print_sarif(const Diags *ds, FILE *out)
{
	int index[DIAG_COUNT];
	json_t *driver = json_object(), *run = json_object(), *results = json_array();
	json_object_set_new(driver, "name", json_string("tsrc"));
	json_object_set_new(driver, "version", json_string(TSR_VERSION));
	json_object_set_new(driver, "rules", sarif_rules(ds, index));
	for (size_t i = 0; i < ds->list.n; i++) {
		const Diag *d = &ds->list.at[i];
		json_array_append_new(results, sarif_result(ds, d, index[d->code]));
	}
	json_object_set_new(run, "tool", json_pack("{so}", "driver", driver));
	json_object_set_new(run, "columnKind", json_string("unicodeCodePoints"));
	json_object_set_new(run, "results", results);
	json_t *log = json_object();
	json_object_set_new(log, "$schema",
			    json_string("https://json.schemastore.org/sarif-2.1.0.json"));
	json_object_set_new(log, "version", json_string("2.1.0"));
	json_object_set_new(log, "runs", json_pack("[o]", run));
	write_out(log, out);
}
