/* Blocks carry their place in the list before them; for the rest there is a record each. Records
 * are few and short-lived: one is found from the newest on. */
#include "base/held.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trap.h"

/* ---- blocks ---- */

typedef struct Block {
	Held held;
	_Alignas(16) unsigned char bytes[];
} Block;

static void end_block(Held *held) { free(held); }

static Block *block_of(void *bytes) { return (Block *)((unsigned char *)bytes - sizeof(Block)); }

void *held_alloc(size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - sizeof(Block))
		return NULL;
	Block *block = calloc(1, sizeof *block + bytes);
	if (!block)
		return NULL;
	held_list(&block->held, end_block);
	return block->bytes;
}

void *held_malloc(size_t bytes) { return held_alloc(1, bytes); }

void *held_realloc(void *bytes, size_t n)
{
	if (!bytes)
		return held_alloc(n, 1);
	if (n > SIZE_MAX - sizeof(Block))
		return NULL;
	Block *block = realloc(block_of(bytes), sizeof *block + n);
	if (!block)
		return NULL;
	held_moved(&block->held);
	return block->bytes;
}

void held_free(void *bytes)
{
	if (!bytes)
		return;
	held_unlist(&block_of(bytes)->held);
	free(block_of(bytes));
}

/* ---- records ---- */

typedef struct Record {
	Held held;
	void (*end)(void *thing);
	void *thing;
} Record;

static void end_record(Held *held)
{
	Record *record = (Record *)held;
	record->end(record->thing);
	free(record);
}

void held_add(void (*end)(void *thing), void *thing)
{
	if (!trap_holder())
		return;
	Record *record = malloc(sizeof *record);
	if (!record) {
		end(thing);
		trap_fail(FAILURE_MEMORY, "out of memory");
	}
	record->end = end;
	record->thing = thing;
	held_list(&record->held, end_record);
}

void held_drop(void (*end)(void *thing), void *thing)
{
	const Holder *holder = trap_holder();
	for (Held *held = holder ? holder->first : NULL; held; held = held->next) {
		Record *record = (Record *)held;
		if (held->end != end_record || record->end != end || record->thing != thing)
			continue;
		held_unlist(held);
		free(record);
		return;
	}
}

static void end_file(void *file) { fclose(file); }

FILE *held_file(FILE *file)
{
	if (file)
		held_add(end_file, file);
	return file;
}

int held_close(FILE *file)
{
	held_drop(end_file, file);
	return fclose(file);
}

static void end_fd(void *fd) { close((int)(intptr_t)fd); }

int held_fd(int fd)
{
	if (fd >= 0)
		held_add(end_fd, (void *)(intptr_t)fd);
	return fd;
}

int held_fd_close(int fd)
{
	held_drop(end_fd, (void *)(intptr_t)fd);
	return close(fd);
}

/* ---- texts ---- */

/* Apart from the stack: closing the stream writes there. */
struct TextState {
	Held held;
	FILE *out;
	char *at;
	size_t n;
};

static void end_text(Held *held)
{
	struct TextState *state = (struct TextState *)held;
	if (state->out)
		fclose(state->out);
	free(state->at);
	free(state);
}

Text text_new(void)
{
	struct TextState *state = calloc(1, sizeof *state);
	if (state)
		state->out = open_memstream(&state->at, &state->n);
	if (!state || !state->out) {
		free(state);
		trap_fail(FAILURE_MEMORY, "out of memory");
	}
	held_list(&state->held, end_text);
	return (Text){state->out, state};
}

char *text_take(Text text, Arena *arena, size_t *len)
{
	struct TextState *state = text.state;
	bool whole = !ferror(state->out);
	whole = fclose(state->out) == 0 && whole;
	state->out = NULL;
	if (!whole)
		trap_fail(FAILURE_MEMORY, "out of memory");
	char *copy = arena_strndup(arena, state->at, state->n);
	if (len)
		*len = state->n;
	held_unlist(&state->held);
	end_text(&state->held);
	return copy;
}
