#include "net.h"
#include "twice.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	float x[4] = {0, 1, 2, 3}, y[4], picture[64] = {1}, out[256];
	twice_forward(NULL, 4, x, y, NULL, NULL);
	printf("%g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
	static union {
		char bytes[1 << 16];
	} memory;
	char *start = memory.bytes + (64 - (uintptr_t)memory.bytes % 64) % 64;
	size_t state = net_state_size(), workspace = net_forward_workspace(1);
	printf("state %d, workspace %d\n", (int)state, (int)workspace);
	net_init(start, 7);
	const char *message = NULL;
	tsr_call call = {TSR_ABI, 0, &message, NULL, NULL};
	printf("code %d\n", net_forward(&call, 1, picture, out, start, start + state));
	int code = net_forward(&call, -1, picture, out, start, start + state);
	printf("code %d: %s\n", code, message);
	return 0;
}
