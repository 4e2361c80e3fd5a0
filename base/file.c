/* Opening files so that nothing but a regular file is read, and nothing that exists is written. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIALS = 100, LETTERS = 6 };

static const char *open_why(int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0)
		return strerror(errno);
	if (S_ISDIR(st.st_mode))
		return "it is a directory";
	return S_ISREG(st.st_mode) ? NULL : "it is not a regular file";
}

/* O_NONBLOCK: without it the open of a pipe waits for a writer. */
FILE *file_open(const char *path, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	*why = open_why(fd);
	FILE *in = *why ? NULL : fdopen(fd, "rb");
	if (!in && !*why)
		*why = strerror(errno);
	if (!in && fd >= 0)
		close(fd);
	return in;
}

/* Letters that a name may have, by chance. */
static bool draw(char *to)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bytes[LETTERS];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return false;
	for (int i = 0; i < LETTERS; i++)
		to[i] = letters[bytes[i] % 32];
	return true;
}

/* Not mkstemp, which leaves others no rights: a thread cannot read the umask without changing it for
 * all. */
int file_new(const char *path, mode_t mode, char **name)
{
	int fd = -1;
	if (asprintf(name, "%s.%*s", path, LETTERS, "") < 0)
		return -1;
	char *letters = *name + strlen(path) + 1;
	for (int i = 0; fd < 0 && i < TRIALS && draw(letters); i++) {
		fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		int error = errno;
		free(*name);
		*name = NULL;
		errno = error;
	}
	return fd;
}

/* What cannot be synchronised, such as a device, is written all the same. */
bool file_close(FILE *out)
{
	bool good = !ferror(out) && fflush(out) == 0 &&
		    (fsync(fileno(out)) == 0 || errno == EINVAL || errno == EROFS);
	int error = good ? 0 : errno;
	good = fclose(out) == 0 && good;
	errno = error ? error : errno;
	return good;
}

bool file_replaceable(const char *path)
{
	struct stat st;
	return stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}
