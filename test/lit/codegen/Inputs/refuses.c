/* An nvrtc that refuses every program, ends its process, waits for ever, makes PTX of what its process is like, or of the
 * number of its options, where it is so old that it does not know a fast compilation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int nvrtcVersion(int *major, int *minor)
{
	*major = 12;
	*minor = 2;
	return 0;
}
const char *nvrtcGetErrorString(int code) { return code ? "NVRTC_ERROR_INVALID_OPTION" : ""; }
int nvrtcCreateProgram(void **to) { return *to = malloc(1), 0; }
int nvrtcDestroyProgram(void **program) { return free(*program), 0; }
static int noptions;
int nvrtcCompileProgram(void *program, int n, const char *const *options)
{
#ifdef OLD
	for (int i = 0; i < n; i++)
		if (strncmp(options[i], "--Ofast-compile", 15) == 0)
			return 5;
	noptions = n;
	return 0;
#endif
#ifdef CRASH
	abort();
#endif
#ifdef HANG
	pause();
#endif
#ifdef MADE
	return 0;
#endif
	return 5;
}
static const char text[] = "invalid value for --gpu-architecture";
int nvrtcGetProgramLogSize(void *program, size_t *n) { return *n = sizeof text, 0; }
int nvrtcGetProgramLog(void *program, char *to) { return strcpy(to, text), 0; }
#ifdef MADE
/* Where the program, the stack, the heap and this library are, the environment and the folder. */
int nvrtcGetPTXSize(void *program, size_t *n) { return *n = 4096, 0; }
int nvrtcGetPTX(void *program, char *to)
{
	int n = snprintf(to, 4096, "// %p %p %p %p %s\n", program, (void *)&program,
			 (void *)nvrtcGetPTX, (void *)environ, getcwd(NULL, 0));
	for (char **at = environ; *at; at++)
		n += snprintf(to + n, 4096 - (size_t)n, "// %s\n", *at);
	return 0;
}
#elif defined OLD
int nvrtcGetPTXSize(void *program, size_t *n) { return *n = 32, 0; }
int nvrtcGetPTX(void *program, char *to)
{
	return snprintf(to, 32, "// %d options\n", noptions) < 0;
}
#else
int nvrtcGetPTXSize(void *program, size_t *n) { return *n = 0, 5; }
int nvrtcGetPTX(void *program, char *to) { return 5; }
#endif
int nvrtcGetCUBINSize(void *program, size_t *n) { return *n = 0, 5; }
int nvrtcGetCUBIN(void *program, char *to) { return 5; }
