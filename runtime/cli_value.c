/* NAME=VALUE: reading values, and filling arrays with generated ones. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/element.h"
#include "base/threefry.h"
#include "runtime/cli.h"

enum { STDIN_MAX = 1 << 30 };

Assignment *assignment_add(Assignment **list, size_t *n, char *word)
{
	char *equals = strchr(word, '=');
	Assignment *grown = realloc(*list, (*n + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	*list = grown;
	grown += (*n)++;
	*grown = (Assignment){0};
	if (equals && equals != word && equals[1] != '\0') {
		*equals = '\0';
		grown->name = word;
		grown->text = equals + 1;
	}
	return grown;
}

static bool is_number(const char *text, double *number)
{
	char *end;
	*number = strtod(text, &end);
	return end != text && *end == '\0' && !isspace((unsigned char)*text);
}

static bool is_seed(const char *text, uint64_t *seed)
{
	char *end;
	errno = 0;
	*seed = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && *end == '\0' && errno == 0;
}

/* FILE.npz:KEY: the colon after the suffix; a .npy has no key. */
static bool split_file(Assignment *out)
{
	const char *colon = array_file_key(out->text);
	out->kind = VALUE_FILE;
	out->path = colon ? strndup(out->text, (size_t)(colon - out->text)) : strdup(out->text);
	out->key = colon ? strdup(colon + 1) : NULL;
	return out->path && (!colon || out->key);
}

static bool looks_like_file(const char *text)
{
	return strchr(text, '/') || strstr(text, ".np") || strstr(text, ".safetensors") ||
	       strstr(text, ".gguf") || strstr(text, ".csv");
}

bool assignment_value(Assignment *out)
{
	static const struct {
		const char *word;
		ValueKind kind;
	} words[] = {{"zeros", VALUE_ZEROS}, {"ones", VALUE_ONES}, {"range", VALUE_RANGE}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(out->text, words[i].word) == 0) {
			out->kind = words[i].kind;
			return true;
		}
	bool random = strcmp(out->text, "random") == 0; /* of the seed 0 */
	if (random ||
	    (strncmp(out->text, "random:", 7) == 0 && is_seed(out->text + 7, &out->seed))) {
		out->kind = VALUE_RANDOM;
		return true;
	}
	out->kind = *out->text == '[' ? VALUE_LIST : VALUE_NUMBER;
	if (out->kind == VALUE_LIST || is_number(out->text, &out->number))
		return true;
	if (looks_like_file(out->text) || strcmp(out->text, "-") == 0)
		return split_file(out);
	report("%s=%s: expected FILE.npy, FILE.npz:KEY, FILE.safetensors:KEY, FILE.gguf:KEY, FILE.csv, "
	       "FILE.csv:COLUMNS, zeros, ones, range, random:SEED, a number or a list such as [[1, 2], [3, 4]]",
	       out->name, out->text);
	return false;
}

/* All of standard input; NULL when it cannot be read or is too long. */
static char *read_all(FILE *in, size_t *len)
{
	size_t cap = 1 << 16;
	char *bytes = malloc(cap);
	*len = 0;
	while (bytes) {
		*len += fread(bytes + *len, 1, cap - *len, in);
		if (*len < cap)
			break;
		char *grown = cap >= STDIN_MAX ? NULL : realloc(bytes, cap *= 2);
		if (!grown)
			free(bytes);
		bytes = grown;
	}
	if (bytes && !ferror(in))
		return bytes;
	free(bytes);
	return NULL;
}

ArrayFile *assignment_open(Assignment *a, ArrayError *why)
{
	size_t len;
	if (a->kind == VALUE_LIST) {
		Dtype dtype = dtype_from_name(a->tensor->dtype, strlen(a->tensor->dtype));
		a->bytes = list_as_npy(a->text, dtype, &len, why);
		return a->bytes ? array_file_memory(a->bytes, len, why) : NULL;
	}
	if (strcmp(a->path, "-") != 0)
		return array_file_open(a->path, why);
	a->bytes = read_all(stdin, &len);
	if (a->bytes)
		return array_file_memory(a->bytes, len, why);
	array_fail(why, "standard input cannot be read, or has more than 1 GiB");
	return NULL;
}

ptrdiff_t assignment_pick(const Assignment *a, ArrayFile *file, ArrayError *why)
{
	ptrdiff_t index = array_file_pick(file, a->key, a->name, why);
	if (index >= 0 || a->key)
		return index;
	size_t used = strlen(why->text);
	snprintf(why->text + used, sizeof why->text - used, "; %.60s=FILE:KEY takes another",
		 a->name);
	return index;
}

static bool fits(Dtype dtype, double value)
{
	if (dtype == DTYPE_I64)
		return value >= -0x1p63 && value < 0x1p63;
	return dtype_is_integer(dtype) && value >= (double)op_neutral(OP_MAX, dtype).i &&
	       value <= (double)op_neutral(OP_MIN, dtype).i;
}

static bool store(Dtype dtype, void *data, int64_t at, double value)
{
	if (dtype_is_float(dtype))
		scalar_write(dtype, data, at, (Scalar){.f = value});
	else if (fits(dtype, value) && value == floor(value))
		scalar_write(dtype, data, at, (Scalar){.i = (int64_t)value});
	else
		return false;
	return true;
}

bool fill_array(Array *array, const Assignment *value, const char *name)
{
	uint64_t key = XXH64(name, strlen(name), 0);
	for (size_t i = 0; i < array->nelements; i++) {
		double x = value->kind == VALUE_NUMBER  ? value->number
			   : value->kind == VALUE_ONES  ? 1
			   : value->kind == VALUE_RANGE ? (double)i
			   : value->kind == VALUE_RANDOM
				   ? (double)threefry_uniform(threefry_word(value->seed, key, i))
				   : 0;
		if (!store(array->dtype, array->data, (int64_t)i, x)) {
			report("%s=%s: element %zu would be %.9g, which %s does not hold", name,
			       value->text, i, x, dtype_name(array->dtype));
			return false;
		}
	}
	return true;
}
