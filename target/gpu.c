/* The GPUs that code can be made for: a row each. Limits are those of NVIDIA's programming guide for the
 * compute capability; 256 threads a block leave every multiprocessor several blocks to change between. */
#include "target/gpu.h"

#include <string.h>

#define BLOCKS_MOST INT32_MAX

static const GpuTarget gpus[] = {
	{"sm_80", 1024, 48 << 10, BLOCKS_MOST, 256, 32, 48, 256, 64, 70},
	{"sm_90", 1024, 48 << 10, BLOCKS_MOST, 256, 32, 48, 256, 64, 78},
	{"sm_90a", 1024, 48 << 10, BLOCKS_MOST, 256, 32, 48, 256, 64, 80},
	{"sm_100", 1024, 48 << 10, BLOCKS_MOST, 256, 32, 48, 256, 64, 86},
	{"sm_120", 1024, 48 << 10, BLOCKS_MOST, 256, 32, 48, 256, 64, 87},
};
enum { NGPUS = sizeof gpus / sizeof *gpus };

const GpuTarget *gpu_find(const char *word)
{
	if (!*word)
		return &gpus[0];
	for (int i = 0; *word == ':' && i < NGPUS; i++)
		if (strcmp(gpus[i].name, word + 1) == 0)
			return &gpus[i];
	return NULL;
}

void gpu_list(FILE *out)
{
	for (int i = 0; i < NGPUS; i++)
		fprintf(out, "%s%s", i ? " " : "", gpus[i].name);
}
