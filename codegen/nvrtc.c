/* nvrtc by dlopen. It opens its libnvrtc-builtins by bare name when it compiles, and finds it only where
 * that is loaded already or ld.so knows its folder; so one that lies beside it is loaded first. */
#include "codegen/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct NvrtcProgramOf *NvrtcProgram;
typedef const char *const *Words;

/* NAME(result, field, parameters, symbol): all of them are there since nvrtc 11.1. */
#define NVRTC_FUNCTIONS(NAME)                                                                   \
	NAME(int, version, (int *major, int *minor), "nvrtcVersion")                            \
	NAME(const char *, error, (int code), "nvrtcGetErrorString")                            \
	NAME(int, create,                                                                       \
	     (NvrtcProgram * to, const char *text, const char *name, int n, Words headers,      \
	      Words names),                                                                     \
	     "nvrtcCreateProgram")                                                              \
	NAME(int, destroy, (NvrtcProgram * program), "nvrtcDestroyProgram")                     \
	NAME(int, compile, (NvrtcProgram program, int n, Words options), "nvrtcCompileProgram") \
	NAME(int, log_size, (NvrtcProgram program, size_t * n), "nvrtcGetProgramLogSize")       \
	NAME(int, log, (NvrtcProgram program, char *to), "nvrtcGetProgramLog")                  \
	NAME(int, ptx_size, (NvrtcProgram program, size_t * n), "nvrtcGetPTXSize")              \
	NAME(int, ptx, (NvrtcProgram program, char *to), "nvrtcGetPTX")                         \
	NAME(int, cubin_size, (NvrtcProgram program, size_t * n), "nvrtcGetCUBINSize")          \
	NAME(int, cubin, (NvrtcProgram program, char *to), "nvrtcGetCUBIN")

struct Nvrtc {
	void *library;
#define NAME(result, field, parameters, symbol) result(*field) parameters;
	NVRTC_FUNCTIONS(NAME)
#undef NAME
};

/* NULL where the library lacks a function, or is NULL. */
static Nvrtc *fill(Arena *arena, void *library, const char **why)
{
	Nvrtc *nvrtc = ARENA_NEW(arena, Nvrtc);
	const char *lacks = NULL;
	nvrtc->library = library;
#define NAME(result, field, parameters, symbol)                  \
	*(void **)&nvrtc->field = dlsym(nvrtc->library, symbol); \
	if (!nvrtc->field && !lacks)                             \
		lacks = symbol;
	NVRTC_FUNCTIONS(NAME)
#undef NAME
	if (lacks)
		*why = arena_printf(arena, "this nvrtc is too old, or none: it has no %s", lacks);
	return lacks ? NULL : nvrtc;
}

/* ---- where it is ---- */

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
				      "libnvrtc.so"};
enum { NSONAMES = sizeof sonames / sizeof *sonames };

/* What the pattern of a path says, the last of several. */
static const char *found(Arena *arena, const char *pattern)
{
	glob_t files = {0};
	const char *path = NULL;
	if (glob(pattern, 0, NULL, &files) == 0 && files.gl_pathc > 0)
		path = arena_printf(arena, "%s", files.gl_pathv[files.gl_pathc - 1]);
	globfree(&files);
	return path;
}

const char *nvrtc_builtins(Arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? found(arena, arena_printf(arena, "%.*s/libnvrtc-builtins.so.*",
						 (int)(slash - path), path))
		     : NULL;
}

/* `builtins` NULL: ld.so finds them, or there are none. */
static void *load(const char *path, const char *builtins)
{
	if (builtins)
		dlopen(builtins, RTLD_NOW | RTLD_GLOBAL);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *load_from(Arena *arena, const char *folder)
{
	void *library = NULL;
	for (int i = 0; i < NSONAMES && !library; i++) {
		const char *path = found(arena, arena_printf(arena, "%s/%s", folder, sonames[i]));
		library = path ? load(path, nvrtc_builtins(arena, path)) : NULL;
	}
	return library;
}

/* "/usr/bin" of this program. */
static const char *own_folder(Arena *arena)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	char *slash = strrchr(exe, '/');
	return arena_printf(arena, "%.*s", slash ? (int)(slash - exe) : 0, exe);
}

static void *search(Arena *arena)
{
	const char *const roots[] = {getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda"};
	void *library = NULL;
	for (int i = 0; i < NSONAMES && !library; i++)
		library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
	for (int i = 0; i < 3 && !library; i++)
		if (roots[i] && *roots[i])
			library = load_from(arena, arena_printf(arena, "%s/lib64", roots[i]));
	if (!library)
		library = load_from(
			arena, arena_printf(arena, "%s/nvrtc/nvidia/*/lib", own_folder(arena)));
	return library;
}

Nvrtc *nvrtc_open(Arena *arena, const char **why)
{
	const char *asked = getenv("TSRC_NVRTC");
	void *library = !asked	 ? search(arena)
			: *asked ? load(asked, nvrtc_builtins(arena, asked))
				 : NULL;
	if (!library) {
		const char *error = asked && *asked ? dlerror() : NULL;
		*why = !asked	 ? "there is no libnvrtc"
		       : !*asked ? "TSRC_NVRTC is empty"
				 : arena_printf(arena, "TSRC_NVRTC: %s", error ? error : asked);
		return NULL;
	}
	return fill(arena, library, why);
}

const char *nvrtc_path(const Nvrtc *nvrtc)
{
	struct link_map *map = NULL;
	bool told = dlinfo(nvrtc->library, RTLD_DI_LINKMAP, &map) == 0;
	return told && map->l_name && *map->l_name ? map->l_name : NULL;
}

Nvrtc *nvrtc_load(Arena *arena, const char *path, const char *builtins, const char **why)
{
	void *library = load(path, builtins);
	if (!library)
		*why = arena_printf(arena, "%s", dlerror());
	return library ? fill(arena, library, why) : NULL;
}

/* ---- what it does ---- */

const char *nvrtc_version(Arena *arena, const Nvrtc *nvrtc)
{
	int major = 0, minor = 0;
	nvrtc->version(&major, &minor);
	return arena_printf(arena, "%d.%d", major, minor);
}

/* A text or bytes of the program, a NUL behind; NULL where there are none. */
static char *take_output(Arena *arena, NvrtcProgram program, int (*size_of)(NvrtcProgram, size_t *),
		  int (*text_of)(NvrtcProgram, char *), size_t *n)
{
	*n = 0;
	if (size_of(program, n) != 0 || *n == 0)
		return NULL;
	char *text = ARENA_ARRAY(arena, char, *n + 1);
	return text_of(program, text) == 0 ? text : NULL;
}

/* What nvrtc answers where it does not know an option. */
enum { INVALID_OPTION = 5 };

/* `options` has place for one more. */
static int compile(const Nvrtc *nvrtc, NvrtcProgram program, const char **options, int n,
		   int opt_level)
{
	static const char *const fast[] = {"--Ofast-compile=max", "--Ofast-compile=mid"};
	if (opt_level < 2) {
		options[n] = fast[opt_level];
		int code = nvrtc->compile(program, n + 1, options);
		if (code != INVALID_OPTION)
			return code;
	}
	return nvrtc->compile(program, n, options);
}

NvrtcOutput nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const char *text,
			  const char *architecture, int opt_level)
{
	/* 177: a helper that no kernel calls */
	const char *options[4] = {arena_printf(arena, "--gpu-architecture=%s", architecture),
				  "--fmad=false", "--diag-suppress=177"};
	NvrtcOutput out = {0};
	NvrtcProgram program = NULL;
	size_t n;
	int code = nvrtc->create(&program, text, "kernels.cu", 0, NULL, NULL);
	if (code == 0) {
		code = compile(nvrtc, program, options, 3, opt_level);
		out.log = take_output(arena, program, nvrtc->log_size, nvrtc->log, &n);
		out.ptx = take_output(arena, program, nvrtc->ptx_size, nvrtc->ptx, &n);
		out.cubin = take_output(arena, program, nvrtc->cubin_size, nvrtc->cubin, &out.ncubin);
		nvrtc->destroy(&program);
	}
	out.good = code == 0 && out.ptx;
	if (code != 0 && (!out.log || !*out.log))
		out.log = nvrtc->error(code);
	return out;
}
