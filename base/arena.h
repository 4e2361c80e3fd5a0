/* Memory by lifetime: bump allocation, freed all at once.
 *
 * The compiler holds two arenas: `perm` lives as long as the compilation, `scratch` as long as one
 * pass. Nothing is freed singly. Running out of memory is a failure (base/trap.h): of the work of the
 * thread's trap, else of the process, with a message and status 1 (the runtime library does not use
 * arenas: it returns codes).
 */
#ifndef TSR_BASE_ARENA_H
#define TSR_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct Arena Arena;

/* An empty arena without a limit, never NULL. arena_free ends it and all that it holds; so does a
 * failure, by the trap under which it was made. NULL: nothing happens. */
Arena *arena_new(void);
void arena_free(Arena *arena);
/* Frees everything that was allocated, keeps the arena. */
void arena_reset(Arena *arena);
/* Fails once more than `bytes` are held (0: no limit). */
void arena_limit(Arena *arena, size_t bytes);
/* Bytes that it has taken from the system. */
size_t arena_held(const Arena *arena);

/* Fails as an arena does that cannot grow. */
_Noreturn void arena_out_of_memory(const char *what);

/* Zeroed, aligned to 16 bytes, never NULL. */
void *arena_alloc(Arena *arena, size_t bytes);
/* The same for n items of `size` bytes, checked for overflow. */
void *arena_alloc_n(Arena *arena, size_t n, size_t size);
/* A copy of `len` bytes, and what printf makes, with a NUL behind it. */
char *arena_strndup(Arena *arena, const char *text, size_t len);
char *arena_printf(Arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Room for one more item in an array of n: returns the (possibly moved) array. */
void *arena_grow(Arena *arena, void *items, size_t n, size_t *cap, size_t size);

#define ARENA_NEW(arena, T)      ((T *)arena_alloc((arena), sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_alloc_n((arena), (n), sizeof(T)))

/* A growing array in an arena: `VEC(int) xs = {0}; PUSH(arena, xs, 3); xs.at[0]; xs.n`. */
#define VEC(T)                                                                                     \
	struct {                                                                                   \
		T *at;                                                                             \
		size_t n, cap;                                                                     \
	}
#define PUSH(arena, xs, item)                                                                      \
	((xs).at = arena_grow((arena), (xs).at, (xs).n, &(xs).cap, sizeof *(xs).at),               \
	 (xs).at[(xs).n++] = (item))

#endif
