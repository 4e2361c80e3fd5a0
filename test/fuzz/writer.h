/* Private to test/fuzz/: a program under construction, for the forms that write its statements. */
#ifndef TSR_TEST_FUZZ_WRITER_H
#define TSR_TEST_FUZZ_WRITER_H

#include "test/fuzz/programs.h"

enum { TENSORS = 24, AXES = 5, ROWS = 3, BATCH = 0, INPUT = 1, OUTPUT = 2 };

typedef struct Axis {
	const char *size; /* as a program writes it; NULL: not known */
	char letter;	  /* in the specification at hand */
} Axis;

typedef struct Tensor {
	char name[8];
	const char *dtype;
	Axis axes[ROWS][AXES];
	int n[ROWS];
} Tensor;

typedef struct Writer {
	Choices *c;
	char *out;
	size_t most, length;
	Tensor tensors[TENSORS];
	int ntensors, nnames;
} Writer;

#define PICK(w, list) ((list)[choose((w)->c, sizeof(list) / sizeof *(list))])

void put(Writer *w, const char *format, ...);
const char *size_of(Writer *w);
int row_of(Writer *w);
void add_axis(Tensor *t, int row, Axis axis);
int is_known(const Tensor *t);
/* Rows as a shape; as an operand of a specification where letters are asked for. */
void put_rows(Writer *w, const Tensor *t, int letters);
/* A letter for each axis. */
void name_axes(Tensor *t, char *next);
/* Declares an input, sometimes a parameter. */
Tensor *declare(Writer *w, const Tensor *like);
Tensor *old_tensor(Writer *w);
/* Begins a statement that makes a tensor like this one. */
Tensor *begin(Writer *w, const Tensor *like);

/* forms.c: one statement, or a few. */
void form_scan(Writer *w);
void form_scatter(Writer *w);
void form_picked(Writer *w);
void form_along(Writer *w);
void form_joined(Writer *w);
void form_placed(Writer *w);
void form_margins(Writer *w);
void form_scalar_place(Writer *w);
void form_many(Writer *w);
void form_initial(Writer *w);

#endif
