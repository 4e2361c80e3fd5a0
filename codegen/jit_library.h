/* libgccjit, which is loaded where machine code is made: most starts of the compiler need none of
 * it, and its relocations would take most of their time.
 *
 * Its functions are called by their own names; those that jit_library.def does not have are not
 * found by the linker.
 */
#ifndef TSR_CODEGEN_JIT_LIBRARY_H
#define TSR_CODEGEN_JIT_LIBRARY_H

#include <libgccjit.h>

typedef struct JitLibrary {
#define NAME(name) __typeof__(&gcc_jit_##name) name;
#include "codegen/jit_library.def"
#undef NAME
} JitLibrary;

/* Set by jit_library_load, the same for every thread. */
extern JitLibrary jit_library;

#include "gen/jit_library_names.h"

/* Loads the library, once in a process, on any thread. NULL: its functions can be called from now
 * on. Else why not, in words that live as long as the process: there is none, or an old one. */
const char *jit_library_load(void);

#endif
