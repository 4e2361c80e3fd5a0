/* The functions of test/ptx/eval.def, and those that read more than three registers. */
#include "test/ptx/eval.h"

#include <fenv.h>
#include <math.h>

#include "test/ptx/number.h"

typedef uint16_t c_u16, c_b16;
typedef uint32_t c_u32, c_b32;
typedef uint64_t c_u64, c_b64;
typedef int16_t c_s16;
typedef int32_t c_s32;
typedef int64_t c_s64;
typedef uint8_t c_u8;
typedef bool c_pred; /* true where it is not 0: of immediate ones nvrtc writes -1 */
typedef int8_t c_s8;
typedef float c_f32;
typedef double c_f64, c_f16, c_bf16;

#define INTEGER(type)                                                          \
	static inline c_##type from_##type(uint64_t x) { return (c_##type)x; } \
	static inline uint64_t to_##type(uint64_t x)                           \
	{                                                                      \
		return x & (UINT64_MAX >> (64 - 8 * sizeof(c_##type)));        \
	}
INTEGER(u8)
INTEGER(s8) INTEGER(u16) INTEGER(s16) INTEGER(b16) INTEGER(u32) INTEGER(s32) INTEGER(b32)
	INTEGER(u64) INTEGER(s64) INTEGER(b64)
		INTEGER(pred) static inline float from_f32(uint64_t x)
{
	return ptx_f32(x);
}
static inline double from_f64(uint64_t x) { return ptx_f64(x); }
static inline double from_f16(uint64_t x) { return ptx_number(TYPE_f16, x); }
static inline double from_bf16(uint64_t x) { return ptx_number(TYPE_bf16, x); }
static inline uint64_t to_f32(float x) { return ptx_f32_bits(x); }
static inline uint64_t to_f64(double x) { return ptx_f64_bits(x); }
static inline uint64_t to_f16(double x) { return ptx_number_bits(TYPE_f16, x, 0); }
static inline uint64_t to_bf16(double x) { return ptx_number_bits(TYPE_bf16, x, 0); }

#define U(x) ((uint64_t)(x))

/* Shifts by more than there are bits take them all. The amount has 32 bits. */
static uint64_t shift_left(uint64_t x, uint64_t by, size_t bytes)
{
	return (uint32_t)by >= 8 * bytes ? 0 : x << (uint32_t)by;
}

static uint64_t shift_right(uint64_t x, uint64_t by, size_t bytes)
{
	return (uint32_t)by >= 8 * bytes ? 0 : x >> (uint32_t)by;
}

static uint64_t shift_right_signed(int64_t x, uint64_t by, size_t bytes)
{
	return (uint64_t)(x >> ((uint32_t)by >= 8 * bytes ? 63 : (uint32_t)by));
}

static uint64_t mask_of(uint64_t bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* n bits from `at` on, the last one repeated above them where the type is signed. */
static uint64_t field(uint64_t x, uint64_t at, uint64_t n, unsigned bits, bool is_signed)
{
	at &= 0xff;
	n &= 0xff;
	if (n == 0)
		return 0;
	uint64_t last = at + n - 1 < bits - 1 ? at + n - 1 : bits - 1;
	uint64_t sign = is_signed && (x >> last & 1) ? UINT64_MAX : 0;
	uint64_t value = at >= bits ? sign : (x & mask_of(bits)) >> at;
	uint64_t known = at >= bits ? 0 : bits - at < n ? bits - at : n;
	return (value & mask_of(known)) | (sign & ~mask_of(known));
}

uint64_t ptx_insert(uint64_t a, uint64_t b, uint64_t at, uint64_t n)
{
	at &= 0xff;
	n &= 0xff;
	if (at >= 64)
		return b;
	uint64_t mask = mask_of(n) << at;
	return (b & ~mask) | (a << at & mask);
}

static uint64_t reversed(uint64_t x)
{
	uint64_t y = 0;
	for (int i = 0; i < 64; i++)
		y |= (x >> i & 1) << (63 - i);
	return y;
}

static uint64_t highest(uint64_t x) { return x ? 63 - U(__builtin_clzll(x)) : UINT64_MAX; }

static uint64_t permuted(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t bytes = U(b) << 32 | a, out = 0;
	for (int i = 0; i < 4; i++) {
		unsigned s = selector >> 4 * i & 15;
		uint64_t byte = bytes >> 8 * (s & 7) & 0xff;
		out |= (s & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
	}
	return out;
}

static uint64_t byte_of(uint64_t x, int i, bool is_signed)
{
	uint8_t byte = (uint8_t)(x >> 8 * i);
	return is_signed ? U((int8_t)byte) : byte;
}

static uint64_t dot4(uint64_t x, uint64_t y, bool x_signed, bool y_signed)
{
	uint64_t sum = 0;
	for (int i = 0; i < 4; i++)
		sum += byte_of(x, i, x_signed) * byte_of(y, i, y_signed);
	return sum;
}

static uint64_t dot2(uint64_t x, uint64_t y, bool x_signed, bool y_signed)
{
	uint64_t sum = 0;
	for (int i = 0; i < 2; i++) {
		uint16_t half = (uint16_t)(x >> 16 * i);
		sum += (x_signed ? U((int16_t)half) : half) * byte_of(y, i, y_signed);
	}
	return sum;
}

uint64_t ptx_lop3(uint64_t a, uint64_t b, uint64_t c, uint64_t lut)
{
	uint64_t out = 0;
	for (int i = 0; i < 8; i++)
		if (lut >> i & 1)
			out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return out & 0xffffffff;
}

/* The other one where one is NaN; -0 lies below 0. */
static double least(double a, double b)
{
	if (a != a || b != b)
		return a != a ? b : a;
	return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

#define UNUSED (void)a, (void)b, (void)c, (void)x, (void)y, (void)z
#define OP_AS(name, text, type, result, value)                                       \
	static uint64_t name##_##type(uint64_t x, uint64_t y, uint64_t z)            \
	{                                                                            \
		c_##type a = from_##type(x), b = from_##type(y), c = from_##type(z); \
		UNUSED;                                                              \
		return to_##result(value);                                           \
	}
#define OP(name, text, type, value) OP_AS(name, text, type, type, value)
#define OP_BITS(name, text, type, value)                                  \
	static uint64_t name##_##type(uint64_t x, uint64_t y, uint64_t z) \
	{                                                                 \
		(void)y, (void)z;                                         \
		return (value)&mask_of(8 * (uint64_t)BYTES_##type);       \
	}
#define OP_PAIR(name, text, type, half)                                   \
	static uint64_t name##_##type(uint64_t x, uint64_t y, uint64_t z) \
	{                                                                 \
		return name##_##half(x >> 16, y >> 16, z >> 16) << 16 |   \
		       name##_##half(x & 0xffff, y & 0xffff, z & 0xffff); \
	}
enum {
#define X(name, bytes, class) BYTES_##name = bytes,
#include "test/ptx/types.def"
#undef X
};
/* isspacep asks for a space, not for a type. */
typedef uint64_t c_shared, c_local, c_global;
#define from_shared
#define from_local
#define from_global
#include "test/ptx/eval.def"
#undef OP
#undef OP_AS
#undef OP_BITS
#undef OP_PAIR

/* x + y, and 1 where the thread's carry is read and set; of so many bytes. */
static uint64_t add_carry(uint64_t x, uint64_t y, int bytes, bool reads, bool writes, bool *carry)
{
	unsigned __int128 sum = (unsigned __int128)x + y + (reads && *carry);
	*carry = writes ? sum >> 8 * bytes & 1 : *carry;
	return (uint64_t)sum & mask_of(8 * (uint64_t)bytes);
}

static uint64_t take_carry(uint64_t x, uint64_t y, int bytes, bool reads, bool writes, bool *carry)
{
	unsigned __int128 rest = (unsigned __int128)x - y - (reads && *carry);
	*carry = writes ? rest >> 8 * bytes & 1 : *carry;
	return (uint64_t)rest & mask_of(8 * (uint64_t)bytes);
}

#define CARRY(name, type, reads, writes)                                                     \
	static uint64_t add##name##_##type(uint64_t a, uint64_t b, uint64_t c, bool *carry)  \
	{                                                                                    \
		(void)c;                                                                     \
		return add_carry(a, b, sizeof(c_##type), reads, writes, carry);              \
	}                                                                                    \
	static uint64_t sub##name##_##type(uint64_t a, uint64_t b, uint64_t c, bool *carry)  \
	{                                                                                    \
		(void)c;                                                                     \
		return take_carry(a, b, sizeof(c_##type), reads, writes, carry);             \
	}                                                                                    \
	static uint64_t lo##name##_##type(uint64_t a, uint64_t b, uint64_t c, bool *carry)   \
	{                                                                                    \
		return add_carry(mul_lo_##type(a, b, 0), c, sizeof(c_##type), reads, writes, \
				 carry);                                                     \
	}                                                                                    \
	static uint64_t hi##name##_##type(uint64_t a, uint64_t b, uint64_t c, bool *carry)   \
	{                                                                                    \
		return add_carry(mul_hi_##type(a, b, 0), c, sizeof(c_##type), reads, writes, \
				 carry);                                                     \
	}
#define CARRIES(type) \
	CARRY(_cc, type, false, true) CARRY(c, type, true, false) CARRY(c_cc, type, true, true)
CARRIES(u32)
CARRIES(s32) CARRIES(u64) CARRIES(s64)
#define CARRY_ROWS(type)                                                                          \
	{"add.cc." #type, .carry = add_cc_##type}, {"addc." #type, .carry = addc_##type},         \
		{"addc.cc." #type, .carry = addc_cc_##type},                                      \
		{"sub.cc." #type, .carry = sub_cc_##type}, {"subc." #type, .carry = subc_##type}, \
		{"subc.cc." #type, .carry = subc_cc_##type},                                      \
		{"mad.lo.cc." #type, .carry = lo_cc_##type},                                      \
		{"madc.lo." #type, .carry = loc_##type},                                          \
		{"madc.lo.cc." #type, .carry = loc_cc_##type},                                    \
		{"mad.hi.cc." #type, .carry = hi_cc_##type},                                      \
		{"madc.hi." #type, .carry = hic_##type},                                          \
		{"madc.hi.cc." #type, .carry = hic_cc_##type},

	static const PtxEvalRow rows[] = {
#define OP(name, text, type, value) {text "." #type, .eval = name##_##type},
#define OP_AS(name, text, type, result, value) {text "." #type, .eval = name##_##type},
#define OP_BITS(name, text, type, value) {text "." #type, .eval = name##_##type},
#define OP_PAIR(name, text, type, half) {text "." #type, .eval = name##_##type},
#include "test/ptx/eval.def"
		CARRY_ROWS(u32) CARRY_ROWS(s32) CARRY_ROWS(u64) CARRY_ROWS(s64)};

const PtxEvalRow *ptx_eval_row(int i)
{
	return (size_t)i < sizeof rows / sizeof *rows ? &rows[i] : NULL;
}

static int rounding(unsigned flags)
{
	return flags & FLAG_RZ	 ? FE_TOWARDZERO
	       : flags & FLAG_RM ? FE_DOWNWARD
	       : flags & FLAG_RP ? FE_UPWARD
				 : FE_TONEAREST;
}

uint64_t ptx_eval_float(const PtxInstr *in, uint64_t a, uint64_t b, uint64_t c)
{
	bool flush = in->flags & FLAG_FTZ && in->type == TYPE_f32;
	if (flush) {
		a = ptx_flush(a);
		b = ptx_flush(b);
		c = ptx_flush(c);
	}
	int before = fegetround();
	fesetround(rounding(in->flags));
	uint64_t x = in->eval(a, b, c);
	fesetround(before);
	if (in->flags & (FLAG_SAT | FLAG_RELU)) {
		double value = ptx_number(in->type, x);
		value = value > 0 ? value : 0;
		x = ptx_number_bits(in->type, in->flags & FLAG_SAT ? fmin(value, 1) : value, 0);
	}
	return flush ? ptx_flush(x) : x;
}

static bool below(PtxType type, uint64_t x, uint64_t y)
{
	if (ptx_type_float(type))
		return ptx_number(type, x) < ptx_number(type, y);
	int above = 64 - 8 * ptx_type_bytes(type);
	return ptx_type_signed(type) ? (int64_t)(x << above) < (int64_t)(y << above) : x < y;
}

static uint64_t sum_of(PtxType type, uint64_t x, uint64_t y)
{
	switch (type) {
	case TYPE_f32: return add_f32(x, y, 0);
	case TYPE_f64: return add_f64(x, y, 0);
	case TYPE_f16: return add_f16(x, y, 0);
	case TYPE_bf16: return add_bf16(x, y, 0);
	case TYPE_f16x2: return add_f16x2(x, y, 0);
	case TYPE_bf16x2: return add_bf16x2(x, y, 0);
	default: return (x + y) & mask_of(8 * (uint64_t)ptx_type_bytes(type));
	}
}

uint64_t ptx_eval_atom(PtxAtom op, PtxType type, uint64_t old, uint64_t b, uint64_t c)
{
	switch (op) {
	case ATOM_EXCH: return b;
	case ATOM_CAS: return old == b ? c : old;
	case ATOM_ADD: return sum_of(type, old, b);
	case ATOM_MIN: return below(type, b, old) ? b : old;
	case ATOM_MAX: return below(type, old, b) ? b : old;
	case ATOM_AND: return old & b;
	case ATOM_OR: return old | b;
	case ATOM_XOR: return old ^ b;
	case ATOM_INC: return old >= b ? 0 : old + 1;
	case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
	}
	return old;
}
