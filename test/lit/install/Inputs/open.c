#include <stdio.h>
#include <tsr.h>

int main(int argc, char **argv)
{
	tsr_error error;
	tsr_model *model = argc > 1 ? tsr_open(argv[1], &error) : NULL;
	if (!model) {
		printf("%s\n", argc > 1 ? error.text : "which module?");
		return 1;
	}
	printf("%s: %s\n", tsr_table(model)->name, tsr_table(model)->routines[0].signature);
	tsr_close(model);
	return 0;
}
