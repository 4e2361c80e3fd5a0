/* An nvrtc that refuses every program, or ends its process. */
#include <stdlib.h>
#include <string.h>

int nvrtcVersion(int *major, int *minor)
{
	*major = 12;
	*minor = 2;
	return 0;
}
const char *nvrtcGetErrorString(int code) { return code ? "NVRTC_ERROR_INVALID_OPTION" : ""; }
int nvrtcCreateProgram(void **to) { return *to = malloc(1), 0; }
int nvrtcDestroyProgram(void **program) { return free(*program), 0; }
int nvrtcCompileProgram(void *program)
{
#ifdef CRASH
	abort();
#endif
	return 5;
}
static const char text[] = "invalid value for --gpu-architecture";
int nvrtcGetProgramLogSize(void *program, size_t *n) { return *n = sizeof text, 0; }
int nvrtcGetProgramLog(void *program, char *to) { return strcpy(to, text), 0; }
int nvrtcGetPTXSize(void *program, size_t *n) { return *n = 0, 5; }
int nvrtcGetPTX(void *program, char *to) { return 5; }
int nvrtcGetCUBINSize(void *program, size_t *n) { return *n = 0, 5; }
int nvrtcGetCUBIN(void *program, char *to) { return 5; }
