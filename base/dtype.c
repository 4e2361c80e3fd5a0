/* The table of element types. */
#include "base/dtype.h"

#include <string.h>

typedef enum Class { CLASS_F, CLASS_I, CLASS_U, CLASS_X } Class;

typedef struct Row {
	const char *text;
	size_t bits;
	Class class;
} Row;

static const Row rows[] = {
#define DTYPE(name, text, bits, class, descr, tensors)                                  \
	{text, bits, CLASS_##class},
#include "base/dtype.def"
#undef DTYPE
	{"?", 0, CLASS_X},
};

#define DTYPE(...)
#define LOOP_DTYPE(name, ...) || dtype == DTYPE_##name
static bool is_of_loops(Dtype dtype)
{
	return false
#include "base/dtype.def"
		;
}
#undef DTYPE

const char *dtype_name(Dtype dtype)
{
	return rows[dtype].text;
}

size_t dtype_bytes(Dtype dtype)
{
	return (rows[dtype].bits + 7) / 8;
}

bool dtype_is_packed(Dtype dtype) { return rows[dtype].bits == 4; }

Dtype dtype_alone(Dtype dtype)
{
	return !dtype_is_packed(dtype) ? dtype : dtype_is_unsigned(dtype) ? DTYPE_U8 : DTYPE_I8;
}

bool dtype_room(Dtype dtype, size_t elements, size_t *bytes)
{
	if (!dtype_is_packed(dtype))
		return !__builtin_mul_overflow(elements, dtype_bytes(dtype), bytes);
	*bytes = elements / 2 + elements % 2;
	return true;
}

size_t dtype_alignment(Dtype dtype)
{
	return dtype == DTYPE_U4X32 ? 4 : dtype_bytes(dtype);
}

bool dtype_is_float(Dtype dtype)
{
	return rows[dtype].class == CLASS_F;
}

bool dtype_is_unsigned(Dtype dtype) { return rows[dtype].class == CLASS_U; }

bool dtype_is_integer(Dtype dtype)
{
	return rows[dtype].class == CLASS_I || rows[dtype].class == CLASS_U;
}

bool dtype_is_small_float(Dtype dtype)
{
	return dtype_is_float(dtype) && dtype_wide(dtype) != dtype;
}

bool dtype_is_byte(Dtype dtype) { return dtype == DTYPE_I8 || dtype == DTYPE_U8; }

Dtype dtype_wide(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_BF16:
	case DTYPE_F16:
	case DTYPE_F8E4M3:
	case DTYPE_F8E5M2: return DTYPE_F32;
	case DTYPE_I4:
	case DTYPE_U4:
	case DTYPE_I8:
	case DTYPE_U8:
	case DTYPE_BOOL: return DTYPE_I32;
	default: return dtype;
	}
}

Dtype dtype_from_name(const char *text, size_t len)
{
	Dtype dtype = dtype_in_loops(text, len);
	return is_of_loops(dtype) ? DTYPE_NONE : dtype;
}

Dtype dtype_in_loops(const char *text, size_t len)
{
	for (Dtype dtype = 0; dtype < DTYPE_COUNT; dtype++)
		if (strlen(rows[dtype].text) == len && memcmp(rows[dtype].text, text, len) == 0)
			return dtype;
	return DTYPE_NONE;
}

Dtype dtype_elsewhere(const char *text, size_t len)
{
	static const struct {
		const char *text;
		Dtype dtype;
	} names[] = {
		{"float", DTYPE_F32},	    {"float32", DTYPE_F32},
		{"single", DTYPE_F32},	    {"double", DTYPE_F64},
		{"float64", DTYPE_F64},	    {"half", DTYPE_F16},
		{"float16", DTYPE_F16},	    {"bfloat16", DTYPE_BF16},
		{"int", DTYPE_I32},	    {"int32", DTYPE_I32},
		{"int32_t", DTYPE_I32},	    {"int8", DTYPE_I8},
		{"int8_t", DTYPE_I8},	    {"char", DTYPE_I8},
		{"uint8", DTYPE_U8},	    {"uint8_t", DTYPE_U8},
		{"byte", DTYPE_U8},	    {"long", DTYPE_I64},
		{"int64", DTYPE_I64},	    {"int64_t", DTYPE_I64},
		{"uint32", DTYPE_U32},	    {"uint32_t", DTYPE_U32},
		{"unsigned", DTYPE_U32},    {"boolean", DTYPE_BOOL},
		{"f8", DTYPE_F8E4M3},	    {"float8", DTYPE_F8E4M3},
		{"fp8", DTYPE_F8E4M3},	    {"int4", DTYPE_I4},	    {"int4_t", DTYPE_I4},
		{"uint4", DTYPE_U4},	    {"uint4_t", DTYPE_U4},
		{"float8_e4m3fn", DTYPE_F8E4M3},
		{"f8e4m3fn", DTYPE_F8E4M3}, {"float8_e5m2", DTYPE_F8E5M2},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].text) == len && memcmp(names[i].text, text, len) == 0)
			return names[i].dtype;
	return DTYPE_NONE;
}

static Dtype join_floats(Dtype a, Dtype b)
{
	return a == DTYPE_F64 || b == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

static Dtype join_integers(Dtype a, Dtype b)
{
	if (rows[a].bits != rows[b].bits)
		return rows[a].bits > rows[b].bits ? a : b;
	return DTYPE_I64; /* i32 and u32 */
}

Dtype dtype_join(Dtype a, Dtype b)
{
	a = dtype_wide(a);
	b = dtype_wide(b);
	if (a == b || b == DTYPE_NONE)
		return a;
	if (a == DTYPE_NONE)
		return b;
	if (rows[a].class == CLASS_X || rows[b].class == CLASS_X)
		return DTYPE_NONE;
	if (dtype_is_float(a) != dtype_is_float(b))
		return dtype_is_float(a) ? a : b;
	return dtype_is_float(a) ? join_floats(a, b) : join_integers(a, b);
}
