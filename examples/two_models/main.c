/* Two compiled models in one program: scores = a * b, then the softmax of each row. */
#include <stdio.h>
#include <stdlib.h>

#include "matmul.h"
#include "softmax.h"

int main(void)
{
	const float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 0.5f, 0.5f};
	float scores[2 * 2], probs[2 * 2];
	const char *why = "no memory";
	const tsr_call call = {.abi = TSR_ABI, .message = &why};
	void *first = aligned_alloc(64, matmul_forward_workspace(2, 3, 2) + 64);
	void *second = aligned_alloc(64, softmax_forward_workspace(2, 2) + 64);
	int bad = !first || !second || matmul_forward(&call, 2, 3, 2, a, b, scores, NULL, first) ||
		  softmax_forward(&call, 2, 2, scores, probs, NULL, second);
	if (bad)
		fprintf(stderr, "two_models: %s\n", why);
	else
		printf("%g %g\n%g %g\n", (double)probs[0], (double)probs[1], (double)probs[2],
		       (double)probs[3]);
	free(second);
	free(first);
	return bad;
}
