/* Calls a model that is linked, and opens the same one as a module. */
#include <stdio.h>
#include <tsr.h>

#include "twice.h"

int main(void)
{
	const float x[3] = {1, 2, 3};
	float y[3];
	int code = two_forward(NULL, x, y, NULL, NULL);
	tsr_error error = {0};
	tsr_model *model = tsr_open(MODULE, &error);
	printf("%d %g, module %s\n", code, (double)y[2], model ? tsr_table(model)->name : error.text);
	tsr_close(model);
	return code;
}
