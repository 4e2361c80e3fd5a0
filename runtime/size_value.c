/* Sizes of a table as numbers, and what arrays of these extents take. */
#include <stdio.h>

#include "base/size_program.h"
#include "runtime/session.h"

static bool floor_div(int64_t a, int64_t b, int64_t *out)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	*out = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
	return true;
}

static bool apply(int64_t code, int64_t a, int64_t b, int64_t *out)
{
	switch (code) {
	case TSR_SIZE_ADD: return !__builtin_add_overflow(a, b, out);
	case TSR_SIZE_SUB: return !__builtin_sub_overflow(a, b, out);
	case TSR_SIZE_MUL: return !__builtin_mul_overflow(a, b, out);
	case TSR_SIZE_DIV: return floor_div(a, b, out) && a % b == 0;
	default: return floor_div(a, b, out);
	}
}

int tsr_size_value(const tsr_size *size, const tsr_module *module, const int64_t *dims,
		   int64_t *out)
{
	int64_t stack[SIZE_STACK];
	int depth = 0;
	if (!size || !module || !dims || !out)
		return TSR_FAIL_ARGUMENT;
	for (int64_t i = 0; i < size->n; i++) {
		int64_t code = size->code[2 * i], arg = size->code[2 * i + 1];
		if (code == TSR_SIZE_CONST || code == TSR_SIZE_DIM) {
			bool dim = code == TSR_SIZE_DIM;
			if (depth == SIZE_STACK ||
			    (dim && (arg < 0 || arg >= module->ndims || dims[arg] < 0)))
				return TSR_FAIL_DIM;
			stack[depth++] = dim ? dims[arg] : arg;
		} else if (depth < 2 ||
			   !apply(code, stack[depth - 2], stack[depth - 1], &stack[depth - 2])) {
			return TSR_FAIL_DIM;
		} else {
			depth--;
		}
	}
	if (depth != 1)
		return TSR_FAIL_DIM;
	*out = stack[0];
	return TSR_OK;
}

int tensor_rank(const tsr_tensor *tensor)
{
	return tensor->nbatch + tensor->noutput + tensor->ninput;
}

void extents_text(const int64_t *extents, int rank, char *text, size_t room)
{
	size_t used = 0;
	snprintf(text, room, "one number");
	for (int i = 0; i < rank && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%lld", i ? " x " : "array ",
					 (long long)extents[i]);
}

bool extents_bytes(const char *dtype, const int64_t *extents, int rank, uint64_t *bytes)
{
	bool empty = false, overflow = false;
	size_t n = 1, room = 0;
	for (int i = 0; i < rank; i++) {
		if (extents[i] < 0)
			return false;
		empty |= extents[i] == 0;
		overflow |= __builtin_mul_overflow(n, (size_t)extents[i], &n);
	}
	if (!empty && (overflow || !dtype_room(dtype_from_name(dtype, strlen(dtype)), n, &room)))
		return false;
	*bytes = room;
	return room <= SIZE_MAX / 2;
}
