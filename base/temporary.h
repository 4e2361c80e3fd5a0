/* What a program makes for a while, files, directories and child processes, is gone when it ends,
 * whatever ends it: an exit, or a signal that it does not ignore (SIGINT, SIGTERM, SIGHUP, SIGQUIT,
 * SIGPIPE, SIGXCPU), by which it then dies. Only SIGKILL leaves files.
 *
 * temporary_guard is for the main thread of a program. A library has no business with signals: without
 * the guard nothing is removed at the end of the process, and all else is the same. What is made under
 * a trap is gone too after a failure (base/trap.h).
 */
#ifndef TSR_BASE_TEMPORARY_H
#define TSR_BASE_TEMPORARY_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* To be called once, before anything below and before there are threads, which must block the
 * signals above. A write beyond the limit of a file's size fails from now on instead of ending the
 * process. */
void temporary_guard(void);

/* Makes a file beside `path`, as file_new does, or in the directory for temporary files where `path`
 * is NULL; *fd is open for writing and the caller's to close. Returns its name, which is valid until
 * the file is removed or renamed; NULL with errno. */
const char *temporary_file(const char *path, int *fd);
/* Makes a directory that nobody else may use, among the temporary files: TMPDIR, else /tmp. */
const char *temporary_dir(void);
/* Removes the file, or the directory with all that it holds. */
void temporary_remove(const char *name);
/* The file gets its own name. False with errno: it is still temporary. */
bool temporary_rename(const char *name, const char *path);

/* Prints what it is given and closes the file; false with errno. */
typedef bool FilePrinter(const void *what, FILE *out);
/* Makes the file anew: whole, or it stays as it was, and false with errno. What a file cannot be renamed over, a device or a
 * pipe, is written to. */
bool temporary_write(const char *path, FilePrinter *print, const void *what);

/* fork. The child leads a process group of its own and dies with this process; it has the signals
 * that this process had before temporary_guard. -1 with errno. */
pid_t temporary_fork(void);
/* Waits for the child, and returns its status as waitpid does; -1 with errno. */
int temporary_wait(pid_t child);

#endif
