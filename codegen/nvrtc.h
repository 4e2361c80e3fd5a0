/* NVIDIA's compiler of CUDA C, as a library that may be there: loaded by name, no header of it needed. */
#ifndef TSR_CODEGEN_NVRTC_H
#define TSR_CODEGEN_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

typedef struct NvrtcOutput {
	bool good;
	const char *log; /* what it said, or why there is none */
	char *ptx;	 /* ends with a NUL */
	void *cubin;
	size_t ncubin;
} NvrtcOutput;

typedef struct Nvrtc Nvrtc;

/* The library of the environment's TSRC_NVRTC (empty: there is to be none); else of ld.so, of CUDA_PATH,
 * CUDA_HOME or /usr/local/cuda, or of a wheel beside the program. NULL: `*why` says what was looked for. It
 * stays loaded: call it in a child. */
Nvrtc *nvrtc_open(Arena *arena, const char **why);
/* Files of it, and of the libnvrtc-builtins that lies beside it; NULL: there is none, or ld.so does not tell. */
const char *nvrtc_path(const Nvrtc *nvrtc);
const char *nvrtc_builtins(Arena *arena, const char *path);
/* The library of these files, `builtins` first where it is not NULL. NULL with `*why`, as above. */
Nvrtc *nvrtc_load(Arena *arena, const char *path, const char *builtins, const char **why);
/* "13.0" */
const char *nvrtc_version(Arena *arena, const Nvrtc *nvrtc);
/* Code as PTX and, for a real architecture, "sm_90a", as machine code too, which takes a third of the time or more; a
 * virtual one is "compute_90a". A product and its sum are rounded once where the text says so alone. `opt_level`: as -O0 to
 * -O3; 0 and 1 compile a large text in a fraction of the time, where the library can (12.9 and later). */
NvrtcOutput nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const char *text,
			  const char *architecture, int opt_level);

#endif
