/* Calls bytes.c, a transpose of 48x48 bytes, on arrays at each place of 16 bytes. */
#include <stdio.h>

#include "bytes.h"

enum { N = 48 };

int main(void)
{
	static int8_t from[N * N + 16], to[N * N + 16];
	for (int at = 0; at < 16; at++) {
		int8_t *x = from + at, *y = to + 15 - at;
		for (int i = 0; i < N * N; i++)
			x[i] = (int8_t)(i * 7);
		if (bytes_forward(NULL, x, y, NULL, NULL) != TSR_OK)
			return 1;
		for (int i = 0; i < N * N; i++)
			if (y[i] != x[i % N * N + i / N])
				return 2;
	}
	puts("transposed");
	return 0;
}
