/* A module written by hand: what tsrc would make of
 *
 *   dim m  dim n >= 1
 *   input x : f32 [n | m]   input y : f32 [2*m + 1]
 *   param w : f32 [m -> 3]  param b : f32 [3]
 *   output z = w * x + b + y[0]        (y's first element)
 *   routine scale(a : f32, k : i32) -> t      t : i32 [n] = k, and b =* a
 *
 * with a check that m is at most 100. The state holds a copy of w behind the parameters, which
 * forward reads. Tests of libtsr link it, and load it as a shared object.
 */
#include <string.h>

#include "fake_module.h"

#define CONST TSR_SIZE_CONST
#define DIM   TSR_SIZE_DIM
#define SIZE(name, text, ...)                                                                      \
	static const int64_t name##_code[] = {__VA_ARGS__};                                        \
	enum { name##_n = sizeof name##_code / sizeof(int64_t) / 2 };
#define USE(name, text) {name##_code, name##_n, text}

SIZE(m, "m", DIM, 0)
SIZE(n, "n", DIM, 1)
SIZE(three, "3", CONST, 3)
SIZE(zero, "0", CONST, 0)
SIZE(odd, "2*m + 1", DIM, 0, CONST, 2, TSR_SIZE_MUL, 0, CONST, 1, TSR_SIZE_ADD, 0)
/* 64 * floor((12*m + 63)/64); twice that, and 64 more */
SIZE(after, "64*floor((12*m + 63)/64)", DIM, 0, CONST, 12, TSR_SIZE_MUL, 0, CONST, 63, TSR_SIZE_ADD, 0, CONST, 64,
     TSR_SIZE_FLOOR, 0, CONST, 64, TSR_SIZE_MUL, 0)
SIZE(state, "128*floor((12*m + 63)/64) + 64", DIM, 0, CONST, 12, TSR_SIZE_MUL, 0, CONST, 63, TSR_SIZE_ADD, 0, CONST, 64,
     TSR_SIZE_FLOOR, 0, CONST, 128, TSR_SIZE_MUL, 0, CONST, 64, TSR_SIZE_ADD, 0)

static const tsr_size x_sizes[] = {USE(n, "n"), USE(m, "m")}, y_sizes[] = {USE(odd, "2*m + 1")};
static const tsr_size z_sizes[] = {USE(n, "n"), USE(three, "3")}, w_sizes[] = {USE(three, "3"), USE(m, "m")};
static const tsr_size b_sizes[] = {USE(three, "3")}, t_sizes[] = {USE(n, "n")};
static const char *const unlabelled[] = {NULL, NULL}, *const rgb[] = {NULL, "rgb"};

static const tsr_dim dims[] = {{"m", 0}, {"n", 1}};
static const tsr_tensor params[] = {
	{"w", "f32", "f32 [m -> 3]", 0, 1, 1, 0, w_sizes, unlabelled, USE(zero, "0")},
	{"b", "f32", "f32 [3]", 0, 1, 0, 0, b_sizes, unlabelled, USE(after, "64*floor((12*m + 63)/64)")},
};
static const tsr_tensor forward_inputs[] = {
	{"x", "f32", "f32 [n | m]", 1, 1, 0, 0, x_sizes, unlabelled, USE(zero, "0")},
	{"y", "f32", "f32 [2*m + 1]", 0, 1, 0, 0, y_sizes, unlabelled, USE(zero, "0")},
};
static const tsr_tensor forward_outputs[] = {
	{"z", "f32", "f32 [n | rgb:3]", 1, 1, 0, 0, z_sizes, rgb, USE(zero, "0")},
};
static const tsr_tensor scale_outputs[] = {
	{"t", "i32", "i32 [n]", 0, 1, 0, 0, t_sizes, unlabelled, USE(zero, "0")},
};
static const tsr_scalar scalars[] = {{"a", "f32"}, {"k", "i32"}};
static const int32_t both_dims[] = {0, 1}, both_params[] = {0, 1}, b_only[] = {1};

static size_t b_offset(int64_t m)
{
	return (size_t)(12 * m + 63) / 64 * 64;
}

static int forward(const tsr_call *call, const int64_t *d, const void *const *s, const void *const *inputs,
		   void *const *outputs, void *state, void *workspace)
{
	int64_t m = d[0], n = d[1];
	const float *x = inputs[0], *y = inputs[1];
	float *z = outputs[0];
	(void)s;
	(void)workspace;
	if (m > 100) {
		if (call && call->message)
			*call->message = "m must be at most 100";
		return TSR_CHECK_FIRST;
	}
	const float *b = (const float *)((const char *)state + b_offset(m)), *w = b + 16;
	if (!z)
		return TSR_BAD_POINTER;
	for (int64_t i = 0; i < n; i++)
		for (int64_t o = 0; o < 3; o++) {
			float sum = 0;
			for (int64_t j = 0; j < m; j++)
				sum += w[o * m + j] * x[i * m + j];
			z[3 * i + o] = sum + b[o] + y[0];
		}
	return TSR_OK;
}

static int scale(const tsr_call *call, const int64_t *d, const void *const *s, const void *const *inputs,
		 void *const *outputs, void *state, void *workspace)
{
	float a;
	int32_t *t = outputs[0], k;
	(void)call;
	(void)inputs;
	(void)workspace;
	if (!t || !state)
		return TSR_BAD_POINTER;
	float *b = (float *)((char *)state + b_offset(d[0]));
	memcpy(&a, s[0], sizeof a);
	memcpy(&k, s[1], sizeof k);
	for (int i = 0; i < 3; i++)
		b[i] *= a;
	for (int64_t i = 0; i < d[1]; i++)
		t[i] = k;
	return TSR_OK;
}

static const tsr_routine routines[] = {
	{"forward", "int fake_forward(...)", forward, 2, 0, 2, 1, both_dims, NULL, forward_inputs, forward_outputs,
	 USE(zero, "0"), both_params, 2},
	{"scale", "int fake_scale(...)", scale, 2, 2, 0, 1, both_dims, scalars, NULL, scale_outputs, USE(zero, "0"), b_only,
	 1},
};
static const tsr_check checks[] = {{"m must be at most 100", "fake.tsr:1:5"}};

static int pack(const tsr_call *call, const int64_t *d, void *state)
{
	(void)call;
	memcpy((char *)state + b_offset(d[0]) + 64, state, sizeof(float) * 3 * (size_t)d[0]);
	return TSR_OK;
}

/* w is seed, seed + 1, ...; b is 1. */
static int init(const int64_t *d, void *state, uint64_t seed)
{
	float *w = state, *b = (float *)((char *)state + b_offset(d[0]));
	for (int64_t i = 0; i < 3 * d[0]; i++)
		w[i] = (float)seed + (float)i;
	for (int i = 0; i < 3; i++)
		b[i] = 1;
	return pack(NULL, d, state);
}

const tsr_module fake_module = {
	TSR_ABI, sizeof(tsr_module), "fake", "fake.tsr", "by hand", "any", "", 2, 2, 2, 1, dims, params, routines,
	checks, USE(state, "128*floor((12*m + 63)/64) + 64"), init, pack};
extern const tsr_module tsr_module_table __attribute__((weak, alias("fake_module")));
