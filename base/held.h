/* What is held beside arenas: blocks that grow, files, texts under construction, descriptors. Each
 * is freed by its own call as usual, and after a failure by the trap under which it was taken
 * (base/trap.h). */
#ifndef TSR_BASE_HELD_H
#define TSR_BASE_HELD_H

#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"

/* As calloc, malloc, realloc and free. NULL: there is no memory. */
void *held_alloc(size_t n, size_t size);
void *held_malloc(size_t bytes);
void *held_realloc(void *block, size_t bytes);
void held_free(void *block);

/* From now on the file is closed after a failure; returns it. NULL stays NULL, with its errno. */
FILE *held_file(FILE *file);
/* As fclose. */
int held_close(FILE *file);

/* After a failure end(thing) is called, until held_drop has taken it back; that of two equal ones
 * which was added last. */
void held_add(void (*end)(void *thing), void *thing);
void held_drop(void (*end)(void *thing), void *thing);
/* The same for a descriptor: held_fd returns it (below 0: nothing happens), held_fd_close is
 * close. */
int held_fd(int fd);
int held_fd_close(int fd);

/* A text that is printed piece by piece. */
typedef struct Text {
	FILE *out;
	struct TextState *state;
} Text;

/* An empty text: print into its `out`; text_take ends it. Without memory it fails as an arena does. */
Text text_new(void);
/* What was printed, with a NUL behind it, in the arena; *len, where not NULL, is its length. The
 * text is gone. */
char *text_take(Text text, Arena *arena, size_t *len);

#endif
