/* Names of a program to names of C. What is no C identifier, a keyword of C or C++, a macro of the
 * headers that written C includes, or taken already gets underscores behind it, in the order of
 * the parameter list; what belongs to compilers or to the module itself gets an 'x' before it. The
 * result depends on the program and the prefix alone.
 */
#include <ctype.h>
#include <string.h>

#include "codegen/module.h"

const char *const module_own[MODULE_NOWN] = {"init", "pack", "state_size", "module", "use_tiles"};

/* clang-format off */
static const char *const reserved[] = {
	"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
	"enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
	"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
	"union", "unsigned", "void", "volatile", "while", "asm", "bool", "catch", "class",
	"const_cast", "delete", "dynamic_cast", "explicit", "export", "false", "friend", "mutable",
	"namespace", "new", "operator", "private", "protected", "public", "reinterpret_cast",
	"static_cast", "template", "this", "throw", "true", "try", "typeid", "typename", "using",
	"virtual", "nullptr", "constexpr", "decltype", "noexcept", "static_assert", "thread_local",
	"alignas", "alignof", "and", "and_eq", "bitand", "bitor", "compl", "not", "not_eq", "or",
	"or_eq", "xor", "xor_eq", "typeof", "linux", "unix", "NULL", "INFINITY", "NAN", "call",
	"state", "workspace", "seed", "code", "errno", "EOF", "I", "complex", "imaginary",
	"concept", "requires", "co_await", "co_yield", "co_return", "consteval", "constinit",
	"math_errhandling", "i386", "BUFSIZ", "CHAR_BIT", "EXIT_FAILURE", "EXIT_SUCCESS",
	"CLOCKS_PER_SEC",
};
/* clang-format on */

static bool starts(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), k = strlen(with);
	return n > k && strcmp(name + n - k, with) == 0;
}

/* INT64_MAX and its like, of the headers that a caller may have included before too */
static bool is_limit(const char *name)
{
	static const char *const types[] = {
		"INT",	 "UINT",   "PTRDIFF_", "SIG_ATOMIC_", "SIZE_",	"WCHAR_", "WINT_",
		"CHAR_", "SCHAR_", "UCHAR_",   "SHRT_",	      "USHRT_", "LONG_",  "ULONG_",
		"LLONG", "ULLONG", "SSIZE_",   "RAND_",	      "FLT_",	"DBL_",	  "LDBL_"};
	if (!ends(name, "_MAX") && !ends(name, "_MIN") && !ends(name, "_WIDTH"))
		return false;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (starts(name, types[i]))
			return true;
	return false;
}

static bool is_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strcmp(reserved[i], name) == 0)
			return true;
	/* macros; helpers of written C, and functions of the processor's header that it calls */
	static const char *const first[] = {"TSR_",	"tsr_",	    "M_",  "FP_",
					    "HUGE_VAL", "MATH_ERR", "_mm", "_cvt"};
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (starts(name, first[i]) && !ends(name, "_"))
			return true;
	return is_limit(name) || ends(name, "_t"); /* int64_t and its like */
}

static bool is_own(const Module *m, const char *name)
{
	if (!starts(name, m->prefix) || name[strlen(m->prefix)] != '_')
		return false;
	const char *rest = name + strlen(m->prefix) + 1;
	for (size_t i = 0; i < MODULE_NOWN; i++)
		if (strcmp(rest, module_own[i]) == 0)
			return true;
	return *rest == '_';
}

static bool is_taken(const Names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->at[i], name) == 0)
			return true;
	return false;
}

char *name_identifier(Arena *arena, const char *name)
{
	bool compilers = name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
	const char *before = compilers ? "x" : isdigit((unsigned char)*name) || !*name ? "_" : "";
	char *id = arena_printf(arena, "%s%s", before, name);
	for (char *p = id; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	return id;
}

const char *name_unique(const Module *m, Names *taken, const char *name)
{
	const char *id = name_identifier(m->arena, name);
	if (is_own(m, id))
		id = arena_printf(m->arena, "x%s", id);
	while (is_reserved(id) || is_taken(taken, id))
		id = arena_printf(m->arena, "%s_", id);
	PUSH(m->arena, *taken, id);
	return id;
}
