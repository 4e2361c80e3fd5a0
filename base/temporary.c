/* A list of what is temporary, which the handler of signals and that of exit walk.
 *
 * The list is changed with the signals held back, so the handler never sees half a change, and a
 * thing is made and listed in one step. The handler calls only what POSIX calls async-signal-safe,
 * and the system call that reads a directory. Children are ended before files are removed, so that
 * none appears afterwards. A fork inherits the list and is not its owner: it removes nothing.
 * Several threads may have things on the list: a lock is held while it changes. Whoever holds the
 * lock holds the signals back too, so a handler that waits for it waits for another thread.
 */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/trap.h"

typedef struct Temporary {
	Held held; /* ends it after a failure */
	struct Temporary *next;
	pid_t child; /* 0: a file or a directory */
	char *name;  /* owned */
} Temporary;

/* The one mutable global: a handler has no argument. */
static struct {
	atomic_flag lock; /* of the list */
	pid_t owner;	  /* 0: nobody */
	sigset_t signals;
	void (*file_size)(int); /* what SIGXFSZ did */
	Temporary *first;
} kept;

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
enum { NENDING = sizeof ending / sizeof *ending };

/* ---- in the handlers ---- */

static void remove_tree(int folder, const char *name);

/* Some of the folder's entries; false when there are no more. */
static bool remove_entries(int folder)
{
	_Alignas(struct dirent64) char buffer[4096];
	ssize_t n = getdents64(folder, buffer, sizeof buffer);
	for (ssize_t at = 0; at < n;) {
		const struct dirent64 *entry = (const void *)(buffer + at);
		at += entry->d_reclen;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		remove_tree(folder, entry->d_name);
	}
	return n > 0;
}

static void remove_tree(int folder, const char *name)
{
	if (unlinkat(folder, name, 0) == 0 || errno != EISDIR)
		return;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	while (remove_entries(fd))
		;
	close(fd);
	unlinkat(folder, name, AT_REMOVEDIR);
}

static void end_child(pid_t child)
{
	if (kill(-child, SIGKILL) != 0)
		kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void lock(void)
{
	while (atomic_flag_test_and_set(&kept.lock))
		sched_yield();
}

static void remove_all(void)
{
	if (getpid() != kept.owner)
		return;
	lock();
	for (const Temporary *t = kept.first; t; t = t->next)
		if (t->child)
			end_child(t->child);
	for (const Temporary *t = kept.first; t; t = t->next)
		if (!t->child)
			remove_tree(AT_FDCWD, t->name);
	atomic_flag_clear(&kept.lock);
}

/* The signal is blocked here, and ends the process as soon as this returns. */
static void on_signal(int number)
{
	remove_all();
	signal(number, SIG_DFL);
	raise(number);
}

/* ---- the list ---- */

static void hold(sigset_t *before)
{
	pthread_sigmask(SIG_BLOCK, &kept.signals, before);
	lock();
}

static void release(const sigset_t *before)
{
	int error = errno;
	atomic_flag_clear(&kept.lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
	errno = error;
}

static void drop(const char *name, pid_t child)
{
	for (Temporary **at = &kept.first; *at; at = &(*at)->next) {
		Temporary *t = *at;
		if (t->name != name || t->child != child)
			continue;
		*at = t->next;
		held_unlist(&t->held);
		free(t->name);
		free(t);
		return;
	}
}

static void end(Held *held)
{
	const Temporary *t = (const Temporary *)held;
	sigset_t before;
	hold(&before);
	if (t->child)
		end_child(t->child);
	else
		remove_tree(AT_FDCWD, t->name);
	drop(t->name, t->child);
	release(&before);
}

static Temporary *add(char *name, pid_t child)
{
	Temporary *t = malloc(sizeof *t);
	if (t) {
		*t = (Temporary){.next = kept.first, .child = child, .name = name};
		kept.first = t;
		held_list(&t->held, end);
	}
	return t;
}

void temporary_guard(void)
{
	sigemptyset(&kept.signals);
	for (int i = 0; i < NENDING; i++)
		sigaddset(&kept.signals, ending[i]);
	kept.owner = getpid();
	for (int i = 0; i < NENDING; i++) {
		struct sigaction action = {.sa_handler = on_signal, .sa_mask = kept.signals}, was;
		if (sigaction(ending[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	}
	kept.file_size = signal(SIGXFSZ, SIG_IGN);
	atexit(remove_all);
}

/* ---- files ---- */

/* Something named in the directory for temporary files; the caller's to free. */
static char *among_temporary(const char *name)
{
	const char *dir = getenv("TMPDIR");
	char *path = NULL;
	return asprintf(&path, "%s/%s", dir && *dir ? dir : "/tmp", name) < 0 ? NULL : path;
}

const char *temporary_file(const char *path, int *fd)
{
	sigset_t before;
	char *name = NULL, *among = path ? NULL : among_temporary("tsr");
	*fd = -1;
	hold(&before);
	if (path || among)
		*fd = file_new(path ? path : among, path ? 0666 : 0600, &name);
	if (*fd >= 0 && !add(name, 0)) {
		close(*fd);
		*fd = -1;
		unlink(name);
		free(name);
		name = NULL;
	}
	release(&before);
	free(among);
	return name;
}

const char *temporary_dir(void)
{
	sigset_t before;
	char *name = among_temporary("tsr-XXXXXX");
	bool made = false;
	hold(&before);
	if (name && mkdtemp(name)) {
		made = add(name, 0);
		if (!made)
			rmdir(name);
	}
	release(&before);
	if (!made)
		free(name);
	return made ? name : NULL;
}

void temporary_remove(const char *name)
{
	sigset_t before;
	remove_tree(AT_FDCWD, name);
	hold(&before);
	drop(name, 0);
	release(&before);
}

bool temporary_rename(const char *name, const char *path)
{
	sigset_t before;
	hold(&before);
	bool good = rename(name, path) == 0;
	if (good)
		drop(name, 0);
	release(&before);
	return good;
}

static bool replace(const char *path, FilePrinter *print, const void *what)
{
	int fd;
	const char *name = temporary_file(path, &fd);
	if (!name)
		return false;
	FILE *out = fdopen(fd, "wb");
	bool good = out && print(what, out) && temporary_rename(name, path);
	int error = errno;
	if (!out)
		close(fd);
	if (!good)
		temporary_remove(name);
	errno = error;
	return good;
}

bool temporary_write(const char *path, FilePrinter *print, const void *what)
{
	if (file_replaceable(path))
		return replace(path, print, what);
	FILE *out = fopen(path, "wbe");
	return out && print(what, out);
}

/* ---- children ---- */

/* The parent may have died before the child could ask to die with it. */
static void begin_child(pid_t parent, const sigset_t *before)
{
	for (int i = 0; i < NENDING; i++) {
		struct sigaction was;
		if (sigaction(ending[i], NULL, &was) == 0 && was.sa_handler == on_signal)
			signal(ending[i], SIG_DFL);
	}
	if (kept.owner)
		signal(SIGXFSZ, kept.file_size);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	atomic_flag_clear(&kept.lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

pid_t temporary_fork(void)
{
	sigset_t before;
	hold(&before);
	pid_t parent = getpid(), child = fork();
	if (child == 0) {
		begin_child(parent, &before);
		return 0;
	}
	if (child > 0) {
		setpgid(child, child);
		if (!add(NULL, child)) {
			end_child(child);
			child = -1;
			errno = ENOMEM;
		}
	}
	release(&before);
	return child;
}

/* Its number is free for others once it was waited for: the child is off the list by then. */
int temporary_wait(pid_t child)
{
	sigset_t before;
	siginfo_t info;
	int status;
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0)
		if (errno != EINTR)
			return -1;
	hold(&before);
	if (waitpid(child, &status, 0) < 0)
		status = -1;
	drop(NULL, child);
	release(&before);
	return status;
}
