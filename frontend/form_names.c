/* The names of the language's own functions. */
#include <string.h>

#include "frontend/build.h"
#include "frontend/eval.h"
#include "frontend/forms.h"

static const char *const names[] = {
#define FORM(name, least, most, run, usage) #name,
#include "frontend/forms.def"
#undef FORM
};

static const char *const usages[] = {
#define FORM(name, least, most, run, usage) usage,
#include "frontend/forms.def"
#undef FORM
};

const char *form_usage(const char *name)
{
	const char *usage = NULL;
	for (uint32_t i = 0; form_name(i) && !usage; i++)
		usage = strcmp(form_name(i), name) == 0 ? usages[i] : NULL;
	return usage;
}

const char *form_name(uint32_t i)
{
	return i < sizeof names / sizeof *names ? names[i] : NULL;
}

bool form_exists(const char *name)
{
	size_t len = strlen(name);
	bool form = false;
	for (uint32_t i = 0; form_name(i) && !form; i++)
		form = strcmp(form_name(i), name) == 0;
	return form || op_from_name(name, len) != OP_NONE ||
	       dtype_from_name(name, len) != DTYPE_NONE;
}
