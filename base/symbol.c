/* Interning: an open-addressing hash table of pointers into an arena, never more than half full. */
#include "base/symbol.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/held.h"

typedef struct Entry {
	uint64_t hash;
	size_t len;
	Sym text; /* NULL: a free slot */
} Entry;

struct Symbols {
	Arena *arena;
	Entry *slots;
	size_t n, cap; /* cap: a power of two */
};

enum { FIRST_CAP = 256 };

Symbols *symbols_new(void)
{
	Arena *arena = arena_new();
	Symbols *symbols = ARENA_NEW(arena, Symbols);
	symbols->arena = arena;
	symbols->cap = FIRST_CAP;
	symbols->slots = ARENA_ARRAY(arena, Entry, FIRST_CAP);
	return symbols;
}

void symbols_free(Symbols *symbols)
{
	if (symbols)
		arena_free(symbols->arena);
}

/* The slot that holds the text, or the free one where it belongs. */
static Entry *find(const Symbols *symbols, uint64_t hash, const char *text, size_t len)
{
	for (size_t i = hash;; i++) {
		Entry *entry = &symbols->slots[i & (symbols->cap - 1)];
		if (!entry->text)
			return entry;
		if (entry->hash == hash && entry->len == len && memcmp(entry->text, text, len) == 0)
			return entry;
	}
}

static void grow(Symbols *symbols)
{
	Entry *old = symbols->slots;
	size_t cap = symbols->cap;
	symbols->cap = cap * 2;
	symbols->slots = ARENA_ARRAY(symbols->arena, Entry, symbols->cap);
	for (size_t i = 0; i < cap; i++)
		if (old[i].text)
			*find(symbols, old[i].hash, old[i].text, old[i].len) = old[i];
}

Sym sym_intern(Symbols *symbols, const char *text, size_t len)
{
	if (!text)
		text = "", len = 0;
	uint64_t hash = XXH3_64bits(text, len);
	Entry *entry = find(symbols, hash, text, len);
	if (entry->text)
		return entry->text;
	if (2 * (symbols->n + 1) > symbols->cap) {
		grow(symbols);
		entry = find(symbols, hash, text, len);
	}
	*entry = (Entry){hash, len, arena_strndup(symbols->arena, text, len)};
	symbols->n++;
	return entry->text;
}

Sym sym_cstr(Symbols *symbols, const char *text)
{
	return sym_intern(symbols, text, text ? strlen(text) : 0);
}

Sym sym_printf(Symbols *symbols, const char *fmt, ...)
{
	char few[256];
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(few, sizeof few, fmt, args);
	size_t len = n < 0 ? 0 : (size_t)n;
	char *text = len < sizeof few ? few : held_alloc(len + 1, 1);
	if (!text)
		arena_out_of_memory("out of memory");
	if (text != few)
		vsnprintf(text, len + 1, fmt, again);
	va_end(again);
	va_end(args);
	Sym sym = sym_intern(symbols, text, len);
	if (text != few)
		held_free(text);
	return sym;
}

Sym sym_identifier(Symbols *symbols, Arena *scratch, const char *text)
{
	bool digit = text[0] >= '0' && text[0] <= '9';
	char *name = arena_printf(scratch, "%s%s", digit || !text[0] ? "t" : "", text);
	for (char *c = name; *c; c++) {
		bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
		if (!letter && !(*c >= '0' && *c <= '9'))
			*c = '_';
	}
	return sym_cstr(symbols, name);
}
