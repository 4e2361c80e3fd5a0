/* Sizes are read by descent, as the grammar in codegen/cuda_text.h has them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/plan_text.h"

enum { DEPTH_MOST = 100 };

bool text_fault(PlanText *t, const char *fmt, ...)
{
	va_list args;
	if (*t->fault)
		return false;
	va_start(args, fmt);
	vsnprintf(t->fault, sizeof t->fault, fmt, args);
	va_end(args);
	t->at = t->end;
	return false;
}

void text_skip(PlanText *t)
{
	while (t->at < t->end && *t->at == ' ')
		t->at++;
}

static bool is_sign(char c) { return c && strchr(" ,+-*/()%", c); }

bool text_takes(PlanText *t, const char *word)
{
	size_t n = strlen(word);
	text_skip(t);
	if ((size_t)(t->end - t->at) < n || strncmp(t->at, word, n) != 0)
		return false;
	bool whole = is_sign(word[n - 1]) || t->at + n == t->end || is_sign(t->at[n]);
	t->at += whole ? n : 0;
	return whole;
}

bool text_expect(PlanText *t, const char *word)
{
	return text_takes(t, word) || text_fault(t, "'%s' is missing", word);
}

static const char *keep(PlanText *t, const char *from, const char *end)
{
	char *kept = t->room;
	memcpy(kept, from, (size_t)(end - from));
	kept[end - from] = '\0';
	t->room += end - from + 1;
	return kept;
}

const char *text_name(PlanText *t)
{
	text_skip(t);
	const char *from = t->at;
	while (t->at < t->end && *t->at != ' ' && *t->at != ',')
		t->at++;
	if (t->at == from)
		text_fault(t, "a name is missing");
	return keep(t, from, t->at);
}

const char *text_rest(PlanText *t)
{
	text_skip(t);
	const char *from = t->at;
	t->at = t->end;
	return keep(t, from, t->end);
}

uint64_t text_number(PlanText *t, uint64_t most)
{
	uint64_t value = 0;
	text_skip(t);
	const char *from = t->at;
	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*t->at - '0'), &value) ||
		    value > most) {
			text_fault(t, "a number is above %" PRIu64, most);
			return 0;
		}
	if (t->at == from)
		text_fault(t, "a number is missing");
	return value;
}

double text_real(PlanText *t)
{
	const char *word = text_name(t);
	char *end;
	double value = strtod(word, &end);
	if (*end || end == word)
		text_fault(t, "'%.40s' is no number", word);
	return value;
}

Dtype text_dtype(PlanText *t)
{
	const char *name = text_name(t);
	Dtype dtype = dtype_from_name(name, strlen(name));
	if (dtype >= DTYPE_COUNT)
		text_fault(t, "'%.40s' is no type of elements", name);
	return dtype;
}

uint32_t text_dim(const PlanText *t, const char *name)
{
	for (int32_t d = 0; d < t->ndims; d++)
		if (strcmp(t->dims[d].name, name) == 0)
			return (uint32_t)d;
	return PLAN_NONE;
}

/* ---- sizes ---- */

static void sum(PlanText *t);

static void put(PlanText *t, int64_t code, int64_t arg)
{
	*t->codes++ = code;
	*t->codes++ = arg;
}

static void enclosed(PlanText *t)
{
	if (++t->depth > DEPTH_MOST)
		text_fault(t, "a size has parentheses %d deep", DEPTH_MOST);
	else
		sum(t);
	t->depth--;
	text_expect(t, ")");
}

static void dim(PlanText *t)
{
	const char *from = t->at;
	while (t->at < t->end && !is_sign(*t->at))
		t->at++;
	const char *name = keep(t, from, t->at);
	uint32_t found = text_dim(t, name);
	if (found == PLAN_NONE)
		text_fault(t, "'%.40s' is no dim", name);
	put(t, TSR_SIZE_DIM, found == PLAN_NONE ? 0 : found);
}

static void factor(PlanText *t)
{
	text_skip(t);
	if (text_takes(t, "floor(")) {
		enclosed(t);
		/* the quotient that it is of */
		if (!*t->fault && t->codes[-2] == TSR_SIZE_DIV)
			t->codes[-2] = TSR_SIZE_FLOOR;
		else
			text_fault(t, "floor is of a quotient");
	} else if (text_takes(t, "(")) {
		enclosed(t);
	} else if (text_takes(t, "-")) {
		put(t, TSR_SIZE_CONST, -(int64_t)text_number(t, INT64_MAX));
	} else if (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
		put(t, TSR_SIZE_CONST, (int64_t)text_number(t, INT64_MAX));
	} else if (t->at < t->end && !is_sign(*t->at)) {
		dim(t);
	} else {
		text_fault(t, "a size is missing");
	}
}

static void product(PlanText *t)
{
	factor(t);
	while (!*t->fault) {
		int64_t code = text_takes(t, "*")   ? TSR_SIZE_MUL
			       : text_takes(t, "/") ? TSR_SIZE_DIV
						    : -1;
		if (code < 0)
			return;
		factor(t);
		put(t, code, 0);
	}
}

static void sum(PlanText *t)
{
	product(t);
	while (!*t->fault) {
		int64_t code = text_takes(t, "+")   ? TSR_SIZE_ADD
			       : text_takes(t, "-") ? TSR_SIZE_SUB
						    : -1;
		if (code < 0)
			return;
		product(t);
		put(t, code, 0);
	}
}

tsr_size text_size(PlanText *t)
{
	text_skip(t);
	const char *from = t->at;
	int64_t *codes = t->codes;
	sum(t);
	const char *end = t->at;
	while (end > from && end[-1] == ' ')
		end--;
	if (*t->fault)
		t->codes = codes;
	return (tsr_size){codes, (t->codes - codes) / 2, keep(t, from, end)};
}
