/* Element types. base/dtype.def is the list. */
#ifndef TSR_BASE_DTYPE_H
#define TSR_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum Dtype {
#define DTYPE(name, text, bits, class, descr, tensors) DTYPE_##name,
#include "base/dtype.def"
#undef DTYPE
	DTYPE_COUNT,
	DTYPE_NONE = DTYPE_COUNT /* not known yet: a number that takes its neighbour's */
} Dtype;

/* As programs write it: "f32"; "?" of DTYPE_NONE. */
const char *dtype_name(Dtype dtype);
/* Of an element that stands alone. */
size_t dtype_bytes(Dtype dtype);
/* i4 and u4: two elements a byte. Element i is the lower half of byte i / 2 where i is even, else the
 * upper one; behind an odd number of elements the upper half is 0. */
bool dtype_is_packed(Dtype dtype);
enum { PACKED_WORD = 8 }; /* of these are a word of 32 bits */
/* The type of an element that stands alone, in a register or a buffer of its own: i8 of i4, u8 of u4,
 * else itself. */
Dtype dtype_alone(Dtype dtype);
/* Bytes of so many elements, one behind the other; false where they cannot be counted. */
bool dtype_room(Dtype dtype, size_t elements, size_t *bytes);
/* Of the C type of an element: u4x32 is an array of words. */
size_t dtype_alignment(Dtype dtype);
bool dtype_is_float(Dtype dtype);
bool dtype_is_unsigned(Dtype dtype); /* an integer without a sign; bool too */
bool dtype_is_integer(Dtype dtype);
/* bf16, f16, f8e4m3, f8e5m2: floats that are only stored, in bits that integers hold. */
bool dtype_is_small_float(Dtype dtype);
/* i8 or u8: whole numbers of a byte. */
bool dtype_is_byte(Dtype dtype);
/* Of a tensor's elements; DTYPE_NONE where the text names none. */
Dtype dtype_from_name(const char *text, size_t len);
/* That too, or one of values in loops alone: i16, u16. */
Dtype dtype_in_loops(const char *text, size_t len);
/* What other languages call so (`float`, `int8_t`), or DTYPE_NONE. */
Dtype dtype_elsewhere(const char *text, size_t len);
/* The type in which elements of the dtype are computed: f32 of the small floats, i32 of i4, u4, i8, u8 and bool,
 * else itself. It holds every value of the dtype. */
Dtype dtype_wide(Dtype dtype);
/* The type of an operation on both, each widened: f64 wins, then f32; an integer with a float is
 * that float; of two integers the wider, i64 of i32 and u32; DTYPE_NONE yields to the other. */
Dtype dtype_join(Dtype a, Dtype b);

enum { BUFFER_ALIGNMENT = 64 }; /* bytes: the widest vector, for which temporaries are aligned */

#endif
