/* nvrtc in a process of its own: what ends or hangs there is a message here, and the same text makes the same bytes.
 *
 * What a process of several threads forks may not load libraries: another thread may have held the loader's lock. So a
 * program that begins anew looks for the library.
 *
 * nvrtc orders a few things by their addresses. So the process begins anew from a program, with addresses that are not
 * random, and its arguments, environment, working directory and stack do not depend on who asks: the library and the
 * text come by descriptors of fixed numbers, so that no name of a file lies in its memory.
 */
#ifndef TSR_CODEGEN_NVRTC_PROCESS_H
#define TSR_CODEGEN_NVRTC_PROCESS_H

#include "codegen/nvrtc.h"

/* The names, argv[0], by which a program is asked to be nvrtc_finder, and nvrtc_worker. */
#define NVRTC_FINDER "tsrc-nvrtc-find"
#define NVRTC_WORKER "tsrc-nvrtc"

typedef struct NvrtcJob {
	const char *text; /* CUDA C */
	const char *architecture;
	int opt_level;
	const char *
		program; /* that is both by their names; NULL: a fork of this one does it, which has one thread */
} NvrtcJob;

typedef enum NvrtcEnd { NVRTC_MADE, NVRTC_ABSENT, NVRTC_REFUSED } NvrtcEnd;

typedef struct NvrtcAnswer {
	NvrtcEnd end;
	const char *why; /* not made */
	const char *version;
	bool fixed; /* addresses were not random */
	NvrtcOutput output;
} NvrtcAnswer;

/* Takes at most TSRC_NVRTC_SECONDS of the environment, else half an hour. */
NvrtcAnswer nvrtc_run(Arena *arena, const NvrtcJob *job);
/* The whole work of a program that was called NVRTC_FINDER: looks for the library, and is the worker then, by the file that it was
 * begun from. */
_Noreturn void nvrtc_finder(void);
/* ... NVRTC_WORKER. */
_Noreturn void nvrtc_worker(void);

#endif
