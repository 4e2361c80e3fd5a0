/* Files by name: regular ones that are read, and new ones that are whole before they have their
 * name. */
#ifndef TSR_BASE_FILE_H
#define TSR_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens a regular file for reading. NULL, with the reason in *why, for what cannot be opened and for
 * a pipe, a device or a directory, none of which is waited for or read. *why is valid until the
 * thread's next call of the C library. */
FILE *file_open(const char *path, const char **why);

/* Makes an empty file of a new name, PATH.XXXXXX, and opens it for writing. It was not there before:
 * no link is followed, and no two callers have the same. Its mode is what the umask leaves of
 * `mode`. *name is the caller's to free. -1, with errno, leaves nothing. */
int file_new(const char *path, mode_t mode, char **name);
/* Closes the file when all that was written has reached the disk. False, with the errno of what
 * failed first, also where an earlier write failed. */
bool file_close(FILE *out);
/* May a file be renamed over this path? Not where a device, a pipe or a socket is. */
bool file_replaceable(const char *path);

#endif
