/* Shapes and arrays as text. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/element.h"
#include "runtime/cli.h"

int report(const char *fmt, ...)
{
	va_list args;
	fflush(stdout);
	fputs("tsr: error: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return STATUS_ERROR;
}

int report_error(const char *where, const tsr_error *error)
{
	return where ? report("%s: %s", where, error->text) : report("%s", error->text);
}

static void print_row(FILE *out, const tsr_tensor *t, const int64_t *extents, int32_t first,
		      int32_t n)
{
	for (int32_t i = first; i < first + n; i++) {
		fputs(i > first ? ", " : "", out);
		if (t->labels && t->labels[i])
			fprintf(out, "%s:", t->labels[i]);
		if (extents)
			fprintf(out, "%lld", (long long)extents[i]);
		else
			fputs(t->sizes[i].text, out);
	}
}

void print_shape(FILE *out, const tsr_tensor *t, const int64_t *extents)
{
	fputc('[', out);
	print_row(out, t, extents, 0, t->nbatch);
	fputs(t->nbatch ? t->ninput || t->noutput ? " | " : " |" : "", out);
	print_row(out, t, extents, t->nbatch + t->noutput, t->ninput);
	fputs(t->ninput ? t->noutput ? " -> " : " ->" : "", out);
	print_row(out, t, extents, t->nbatch, t->noutput);
	fputc(']', out);
}

void print_extents(FILE *out, const tsr_tensor *t)
{
	int32_t rank = t->nbatch + t->noutput + t->ninput;
	if (rank == 0)
		fputs("one number", out);
	for (int32_t i = 0; i < rank; i++)
		fprintf(out, "%s%s", i ? " x " : "array ", t->sizes[i].text);
}

/* NaN without its sign, which no program can rely on. */
static void print_float(FILE *out, double x, int digits)
{
	if (isnan(x))
		fputs("nan", out);
	else
		fprintf(out, "%.*g", digits, x);
}

static void print_element(FILE *out, Dtype dtype, const void *data, int64_t i)
{
	if (dtype_is_packed(dtype)) {
		fprintf(out, "%d", (int)scalar_read(dtype, data, i).i);
		return;
	}
	const char *at = (const char *)data + (size_t)i * dtype_bytes(dtype);
	switch (dtype) {
	case DTYPE_F64: print_float(out, *(const double *)at, 17); break;
	case DTYPE_F32: print_float(out, (double)*(const float *)at, 9); break;
	case DTYPE_BF16:
	case DTYPE_F16:
	case DTYPE_F8E4M3:
	case DTYPE_F8E5M2: print_float(out, scalar_read(dtype, at, 0).f, 9); break;
	case DTYPE_I64: fprintf(out, "%lld", (long long)*(const int64_t *)at); break;
	case DTYPE_I32: fprintf(out, "%d", *(const int32_t *)at); break;
	case DTYPE_U32: fprintf(out, "%u", *(const uint32_t *)at); break;
	case DTYPE_I8: fprintf(out, "%d", *(const int8_t *)at); break;
	case DTYPE_U8: fprintf(out, "%u", *(const uint8_t *)at); break;
	case DTYPE_BOOL: fprintf(out, "%d", *(const uint8_t *)at != 0); break;
	default: fputc('?', out); break;
	}
}

/* Prints the sub-array that starts at element *at, and moves it on. */
static void print_axis(FILE *out, const tsr_array *array, int axis, int64_t *at)
{
	Dtype dtype = dtype_from_name(array->dtype, strlen(array->dtype));
	if (axis == array->rank) {
		print_element(out, dtype, array->data, (*at)++);
		return;
	}
	fputc('[', out);
	for (int64_t i = 0; i < array->extents[axis]; i++) {
		fputs(i ? ", " : "", out);
		print_axis(out, array, axis + 1, at);
	}
	fputc(']', out);
}

void print_array(FILE *out, const tsr_array *array)
{
	int64_t at = 0;
	print_axis(out, array, 0, &at);
	fputc('\n', out);
}
