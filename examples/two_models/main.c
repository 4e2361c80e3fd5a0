/* Two compiled models in one program: scores = a * b, then their softmax. */
#include <stdio.h>

#include "matmul.h"
#include "softmax.h"

int main(void)
{
	const float a[2 * 3] = {1, 2, 3, 4, 5, 6}, b[3 * 2] = {1, 0, 0, 1, 0.5f, 0.5f};
	float scores[2 * 2], probs[2 * 2];
	const char *why = NULL;
	tsr_call call = {.abi = TSR_ABI, .message = &why};
	if (matmul_forward(&call, 2, 3, 2, a, b, scores, NULL, NULL) || softmax_forward(&call, 2, 2, scores, probs, NULL, NULL))
		return fprintf(stderr, "%s\n", why), 1;
	printf("%g %g\n%g %g\n", (double)probs[0], (double)probs[1], (double)probs[2], (double)probs[3]);
	return 0;
}
