/* Interned names: two names are equal exactly when their pointers are. They live as long as their
 * table. */
#ifndef TSR_BASE_SYMBOL_H
#define TSR_BASE_SYMBOL_H

#include <stddef.h>

#include "base/arena.h"

typedef const char *Sym; /* NUL-terminated, owned by its table; NULL means no name */
typedef struct Symbols Symbols;

/* An empty table, never NULL. symbols_free ends it and all its names; NULL: nothing happens. */
Symbols *symbols_new(void);
void symbols_free(Symbols *symbols);
/* The name with these bytes, which hold no NUL; never NULL. */
Sym sym_intern(Symbols *symbols, const char *text, size_t len);
/* The same of a string (NULL: ""), ... */
Sym sym_cstr(Symbols *symbols, const char *text);
/* The text as letters, digits and _: _ for any other, t in front of a digit or of nothing. `scratch` is written to. */
Sym sym_identifier(Symbols *symbols, Arena *scratch, const char *text);
/* ... and of what printf makes. */
Sym sym_printf(Symbols *symbols, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
