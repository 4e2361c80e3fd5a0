/* One file an entry, named by its key in hexadecimal: a header (magic, key, length, digest of the
 * text), then the text.
 *
 * An entry is written to a name of its own and renamed, so a reader sees all of it or nothing, and
 * of several writers one wins. What does not agree with its header is no entry and will be
 * replaced. The directory belongs to the user and is closed to everybody else; another one is not
 * used, because whoever can write there could put code into the user's programs.
 */
#include "codegen/cache.h"

#include "base/diag.h"
#include "base/held.h"
#include "codegen/jit_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MOST = 256 << 20, LOW_WATER = 192 << 20, ENTRY_MAX = 64 << 20, KEY_DIGITS = 32 };

typedef struct Header {
	char magic[16];
	Digest key, text;
	uint64_t length;
} Header;

static const char magic[16] = "tsr unit 1";

Digest digest_of(const void *bytes, size_t n)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, n);
	return (Digest){hash.low64, hash.high64};
}

static bool same(Digest a, Digest b) { return a.low == b.low && a.high == b.high; }

/* ---- files ---- */

/* A whole file, or NULL: missing, not to be read, no plain file, longer than ENTRY_MAX. */
static char *read_file(Arena *arena, const char *path, size_t *n)
{
	int fd = held_fd(open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
	struct stat st;
	if (fd < 0)
		return NULL;
	char *bytes = NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= ENTRY_MAX) {
		bytes = arena_alloc(arena, (size_t)st.st_size + 1);
		*n = 0;
		for (ssize_t got; *n < (size_t)st.st_size; *n += (size_t)got)
			if ((got = read(fd, bytes + *n, (size_t)st.st_size - *n)) <= 0)
				break;
		if (*n < (size_t)st.st_size)
			bytes = NULL;
	}
	held_fd_close(fd);
	return bytes;
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	for (const char *at = bytes; n;) {
		ssize_t put = write(fd, at, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		n -= (size_t)put;
	}
	return true;
}

static const char *entry_path(const Cache *cache, Digest key)
{
	return arena_printf(cache->arena, "%s/%016llx%016llx", cache->dir,
			    (unsigned long long)key.high, (unsigned long long)key.low);
}

/* ---- the directory ---- */

static void make_parents(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
}

/* NULL: it is there, and ours alone to write. */
static const char *why_not(Arena *arena, const char *dir)
{
	struct stat st;
	bool there = mkdir(dir, 0700) == 0 || errno == EEXIST;
	if (!there || stat(dir, &st) != 0)
		return arena_printf(arena, "%s", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return "it is no directory";
	if (st.st_uid != geteuid())
		return "it is another user's";
	return st.st_mode & (S_IWGRP | S_IWOTH) ? "others may write there" : NULL;
}

Cache cache_open(Arena *arena, const char *dir)
{
	Cache cache = {.arena = arena, .most = MOST, .low_water = LOW_WATER};
	if (!dir || !*dir)
		return cache;
	make_parents(arena_printf(arena, "%s", dir));
	cache.refused = why_not(arena, dir);
	cache.dir = cache.refused ? NULL : dir;
	return cache;
}

/* ---- entries ---- */

bool cache_get(const Cache *cache, Digest key, const char *path)
{
	size_t n;
	const char *entry = cache->dir ? entry_path(cache, key) : NULL;
	const char *bytes = entry ? read_file(cache->arena, entry, &n) : NULL;
	Header header;
	if (!bytes || n < sizeof header)
		return false;
	memcpy(&header, bytes, sizeof header);
	const char *text = bytes + sizeof header;
	size_t length = n - sizeof header;
	if (memcmp(header.magic, magic, sizeof magic) != 0 || !same(header.key, key) ||
	    header.length != length || !same(header.text, digest_of(text, length)))
		return false;
	utimensat(AT_FDCWD, entry, NULL, 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write_all(fd, text, length);
	return fd >= 0 && close(fd) == 0 && good;
}

void cache_put(Cache *cache, Digest key, const char *path)
{
	size_t n;
	const char *text = cache->dir ? read_file(cache->arena, path, &n) : NULL;
	if (!text)
		return;
	Header header = {.key = key, .text = digest_of(text, n), .length = n};
	memcpy(header.magic, magic, sizeof magic);
	char *temp = arena_printf(cache->arena, "%s/new-XXXXXX", cache->dir);
	const char *entry = entry_path(cache, key);
	int fd = mkstemp(temp);
	if (fd < 0)
		return;
	bool good = write_all(fd, &header, sizeof header) && write_all(fd, text, n);
	good = close(fd) == 0 && good;
	if (!good || rename(temp, entry) != 0)
		unlink(temp);
	cache->stored = true;
}

/* ---- the bound ---- */

typedef struct Aged {
	const char *path;
	struct timespec used;
	uint64_t bytes;
} Aged;

static int by_age(const void *a, const void *b)
{
	const Aged *x = a, *y = b;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Ours are keys and new-*: other files in the directory are nobody's to remove. */
static bool is_entry(const char *name)
{
	return strncmp(name, "new-", 4) == 0 ||
	       (strlen(name) == KEY_DIGITS && strspn(name, "0123456789abcdef") == KEY_DIGITS);
}

static void end_dir(void *dir) { closedir(dir); }

void cache_close(Cache *cache)
{
	DIR *dir = cache->stored ? opendir(cache->dir) : NULL;
	if (!dir)
		return;
	held_add(end_dir, dir);
	VEC(Aged) list = {0};
	uint64_t total = 0;
	for (const struct dirent *at; (at = readdir(dir)) != NULL;) {
		struct stat st;
		if (!is_entry(at->d_name) ||
		    fstatat(dirfd(dir), at->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		const char *path = arena_printf(cache->arena, "%s/%s", cache->dir, at->d_name);
		PUSH(cache->arena, list, ((Aged){path, st.st_mtim, (uint64_t)st.st_size}));
		total += (uint64_t)st.st_size;
	}
	held_drop(end_dir, dir);
	closedir(dir);
	if (total <= cache->most)
		return;
	qsort(list.at, list.n, sizeof *list.at, by_age);
	for (size_t i = 0; i < list.n && total > cache->low_water; i++) {
		unlink(list.at[i].path);
		total -= list.at[i].bytes;
	}
}

/* ---- versions ---- */

static void hash_file(XXH3_state_t *state, const char *path)
{
	char buffer[1 << 14];
	FILE *in = fopen(path, "rb");
	for (size_t n; in && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
		XXH3_128bits_update(state, buffer, n);
	if (in)
		fclose(in);
}

/* The library is large: its size and time stand for it. */
static void hash_library(XXH3_state_t *state)
{
	Dl_info info;
	struct stat st;
	if (!dladdr((void *)gcc_jit_context_acquire, &info) || stat(info.dli_fname, &st) != 0)
		return;
	int64_t facts[] = {(int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec, gcc_jit_version_major(),
			   gcc_jit_version_minor(), gcc_jit_version_patchlevel()};
	XXH3_128bits_update(state, facts, sizeof facts);
}

Digest cache_version(void)
{
	XXH3_state_t *state = XXH3_createState();
	REQUIRE(state);
	XXH3_128bits_reset(state);
	hash_file(state, "/proc/self/exe");
	hash_library(state);
	XXH128_hash_t hash = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	return (Digest){hash.low64, hash.high64};
}
