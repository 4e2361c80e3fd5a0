/* Programs built by hand, compiled and compared bit for bit with the interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/codegen_fixture.h"

/* ---- every operation on every pair of odd values ---- */

static const double odd[] = {0.0,      -0.0,	  1.0,	-1.0,	      0.5,	     -0.5, 2.0,
			     3.0,      -3.0,	  7.25, -7.75,	      1e-40,	     1e30, -1e30,
			     INFINITY, -INFINITY, NAN,	2147483647.0, -2147483648.0, 0.3};
enum { NODD = sizeof odd / sizeof *odd, PAIRS = NODD * NODD };

static void fill(Dtype dtype, void *to, int which)
{
	for (int i = 0; i < PAIRS; i++) {
		double x = odd[which == 0 ? i / NODD : which == 1 ? i % NODD : (i * 7) % NODD];
		Scalar v = scalar_of(dtype, x);
		if (dtype == DTYPE_F64)
			((double *)to)[i] = v.f;
		else if (dtype == DTYPE_F32)
			((float *)to)[i] = (float)v.f;
		else
			((int32_t *)to)[i] = (int32_t)v.i;
	}
}

enum { NOPS = OP_THREEFRY }; /* those behind are of u4x32 */

static void all_ops(Dtype dtype)
{
	SmallProgram s;
	sp_init(&s);
	Size n = sp_const(&s, PAIRS), total = sp_const(&s, (int64_t)PAIRS * NOPS);
	BufferId a = sp_input(&s, "a", dtype, n), b = sp_input(&s, "b", dtype, n);
	BufferId c = sp_input(&s, "c", dtype, n), y = sp_output(&s, "y", dtype, total);
	for (Op op = 0; op < OP_THREEFRY; op++) {
		sp_begin(&s, arena_printf(s.program.arena, "op_%s", op_name(op)));
		const Ix *i = sp_for(&s, "i", sp_ix(&s, PAIRS));
		const Value *value =
			sp_op(&s, op, sp_load(&s, a, i), sp_load(&s, b, i), sp_load(&s, c, i));
		sp_store(&s, y, sp_add(&s, i, sp_ix(&s, (int64_t)op * PAIRS)), OP_NONE, value);
		sp_end(&s);
	}
	static double arrays[3][PAIRS];
	Run run = {.bytes = {dtype_bytes(dtype) * PAIRS * NOPS}};
	for (int k = 0; k < 3; k++) {
		fill(dtype, arrays[k], k);
		run.inputs[k] = arrays[k];
	}
	compare_run(&s, &run);
	sp_free(&s);
}

static void operations_of_f32(void **state)
{
	(void)state;
	all_ops(DTYPE_F32);
}

static void operations_of_f64(void **state)
{
	(void)state;
	all_ops(DTYPE_F64);
}

static void operations_of_i32(void **state)
{
	(void)state;
	all_ops(DTYPE_I32);
}

static void conversions(void **state)
{
	(void)state;
	static const Dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64,
				      DTYPE_I8,	 DTYPE_U8,  DTYPE_U32};
	enum { NTYPES = sizeof types / sizeof *types };
	SmallProgram s;
	sp_init(&s);
	BufferId x = sp_input(&s, "x", DTYPE_F64, sp_const(&s, PAIRS));
	BufferId y = sp_output(&s, "y", DTYPE_F64, sp_const(&s, (int64_t)PAIRS * NTYPES * NTYPES));
	for (int from = 0; from < NTYPES; from++)
		for (int to = 0; to < NTYPES; to++) {
			sp_begin(&s, arena_printf(s.program.arena, "cast_%d_%d", from, to));
			const Ix *i = sp_for(&s, "i", sp_ix(&s, PAIRS));
			const Value *v =
				value_cast(s.program.arena, types[from], sp_load(&s, x, i));
			v = value_cast(s.program.arena, types[to], v);
			v = value_cast(s.program.arena, DTYPE_F64, v);
			sp_store(&s, y,
				 sp_add(&s, i, sp_ix(&s, (int64_t)(from * NTYPES + to) * PAIRS)),
				 OP_NONE, v);
			sp_end(&s);
		}
	static double array[PAIRS];
	fill(DTYPE_F64, array, 0);
	Run run = {.inputs = {array}, .bytes = {sizeof(double) * PAIRS * NTYPES * NTYPES}};
	compare_run(&s, &run);
	sp_free(&s);
}

/* ---- nests ---- */

static void random_floats(float *to, size_t n)
{
	uint32_t x = 1;
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = (float)(x >> 8) * 0x1p-23f - 1;
	}
}

/* y[b, o] = relu(sum over i of x[b, i] * w[i, o] + v[o]), symbolic b, weights in the state */
static void matmul_program(SmallProgram *s)
{
	sp_init(s);
	Size n = sp_dim(s, "n", 1);
	enum { IN = 19, OUT = 37 };
	Sizes *z = s->program.sizes;
	BufferId x = sp_input(s, "x", DTYPE_F32, size_scale(z, n, IN));
	BufferId w = sp_param(s, "w", sp_const(s, IN * OUT), sp_const(s, IN));
	BufferId v = sp_param(s, "v", sp_const(s, OUT), sp_const(s, 0));
	BufferId t = sp_temp(s, "t", DTYPE_F32, size_scale(z, n, OUT));
	BufferId y = sp_output(s, "y", DTYPE_F32, size_scale(z, n, OUT));
	sp_begin(s, "product");
	const Ix *b = sp_for(s, "b", ix_size(s->program.arena, n));
	const Ix *row = sp_mul(s, b, sp_ix(s, OUT));
	const Ix *o = sp_for(s, "o", sp_ix(s, OUT));
	sp_store(s, t, sp_add(s, row, o), OP_NONE, sp_number(s, DTYPE_F32, 0));
	sp_close(s);
	const Ix *i = sp_for(s, "i", sp_ix(s, IN));
	o = sp_for(s, "o2", sp_ix(s, OUT));
	const Value *xv = sp_load(s, x, sp_add(s, sp_mul(s, b, sp_ix(s, IN)), i));
	const Value *wv = sp_load(s, w, sp_add(s, sp_mul(s, i, sp_ix(s, OUT)), o));
	sp_store(s, t, sp_add(s, row, o), OP_ADD, sp_op(s, OP_MUL, xv, wv, NULL));
	sp_end(s);
	sp_begin(s, "activation");
	b = sp_for(s, "b", ix_size(s->program.arena, n));
	o = sp_for(s, "o", sp_ix(s, OUT));
	const Ix *at = sp_add(s, sp_mul(s, b, sp_ix(s, OUT)), o);
	const Value *sum = sp_op(s, OP_ADD, sp_load(s, t, at), sp_load(s, v, o), NULL);
	sp_store(s, y, at, OP_NONE, sp_op(s, OP_RELU, sum, NULL, NULL));
	sp_end(s);
}

static void matmul(void **state)
{
	(void)state;
	SmallProgram s;
	matmul_program(&s);
	static float x[5 * 19];
	random_floats(x, 5 * 19);
	_Alignas(64) static char memory[8192];
	Run run = {.dims = {5}, .inputs = {x}, .bytes = {5 * 37 * 4}, .state = memory};
	assert_int_equal(interp_init(&s.program, run.dims, memory, 42), 0);
	compare_run(&s, &run);
	sp_free(&s);
}

static void check_memory_functions(SmallProgram *s, Loaded l)
{
	_Alignas(64) static char expected[8192], got[8192];
	int64_t dims[] = {5};
	for (uint64_t seed = 0; seed < 3; seed++) {
		assert_int_equal(interp_init(&s->program, dims, expected, seed << 40 | seed), 0);
		assert_int_equal(l.module->init(dims, got, seed << 40 | seed), 0);
		assert_memory_equal(got, expected, sizeof got);
	}
	size_t (*state_size)(void) = (size_t(*)(void))dlsym(l.handle, "small_state_size");
	assert_int_equal(state_size(), (19 * 37 * 4 + 63) / 64 * 64 + (37 * 4 + 63) / 64 * 64);
	size_t (*workspace)(int64_t) =
		(size_t(*)(int64_t))dlsym(l.handle, "small_forward_workspace");
	assert_int_equal(workspace(5), (5 * 37 * 4 + 63) / 64 * 64);
	assert_true(workspace(-1) == SIZE_MAX);
	assert_true(workspace(INT64_MAX) == SIZE_MAX);
	assert_int_equal(l.module->init(dims, got + 4, 0), TSR_BAD_POINTER);
	assert_int_equal(l.module->init(dims, NULL, 0), TSR_BAD_POINTER);
	dlclose(l.handle);
}

static void initialisers(void **state)
{
	(void)state;
	SmallProgram s;
	matmul_program(&s);
	check_memory_functions(&s, load_so(&s));
	check_memory_functions(&s, load_c(&s));
	sp_free(&s);
}

static void reduction_and_scalars(void **state)
{
	(void)state;
	SmallProgram s;
	sp_init(&s);
	Size n = sp_dim(&s, "n", 0), m = sp_dim(&s, "m", 0);
	Sizes *z = s.program.sizes;
	BufferId x = sp_input(&s, "x", DTYPE_F32, size_mul(z, n, m));
	BufferId y = sp_output(&s, "y", DTYPE_F32, n);
	uint32_t scale = sp_scalar(&s, "scale", DTYPE_F32),
		 shift = sp_scalar(&s, "shift", DTYPE_I32);
	sp_begin(&s, "sum");
	const Ix *i = sp_for(&s, "i", ix_size(s.program.arena, n));
	LocalId sum = sp_local(&s, "acc", sp_number(&s, DTYPE_F32, 0));
	const Ix *j = sp_for(&s, "j", ix_size(s.program.arena, m));
	const Ix *at = sp_add(&s, sp_mul(&s, i, ix_size(s.program.arena, m)), j);
	const Value *v = sp_op(&s, OP_MUL, sp_load(&s, x, at),
			       value_scalar(s.program.arena, DTYPE_F32, scale), NULL);
	sp_stmt(&s, stmt_set(s.program.arena, sum, OP_ADD, v));
	sp_close(&s);
	const Value *more = value_cast(s.program.arena, DTYPE_F32,
				       value_scalar(s.program.arena, DTYPE_I32, shift));
	more = sp_op(&s, OP_ADD, sp_get(&s, sum), more, NULL);
	sp_store(&s, y, i, OP_NONE,
		 sp_op(&s, OP_ADD, more, value_index(s.program.arena, DTYPE_F32, i), NULL));
	sp_end(&s);
	static float values[35];
	random_floats(values, 35);
	Run run = {.dims = {5, 7},
		   .scalars = {{.f = 1.5}, {.i = -3}},
		   .inputs = {values},
		   .bytes = {20}};
	float f = 1.5f;
	int32_t three = -3;
	memcpy(&run.elements[0], &f, sizeof f);
	memcpy(&run.elements[1], &three, sizeof three);
	compare_run(&s, &run);
	run.dims[1] = 0;
	compare_run(&s, &run);
	sp_free(&s);
}

/* y[i] = x[idx[i]] behind a check, with floor division and a condition on the way */
static void gather_program(SmallProgram *s)
{
	sp_init(s);
	Size n = sp_dim(s, "n", 0), v = sp_dim(s, "v", 2);
	BufferId table = sp_input(s, "table", DTYPE_F32, v), ids = sp_input(s, "ids", DTYPE_I32, n);
	BufferId y = sp_output(s, "y", DTYPE_F32, n);
	sp_check(s, (Check){CHECK_DIVIDES, n, sp_const(s, 2), SPAN_NONE, "n must be even"}, true);
	CheckId check = sp_check(
		s, (Check){.kind = CHECK_INDEX, .text = "an index is out of range"}, false);
	Arena *a = s->program.arena;
	sp_begin(s, "check_ids");
	const Ix *i = sp_for(s, "i", ix_size(a, n));
	sp_stmt(s, stmt_check(&s->program, ix_value(a, sp_load(s, ids, i)), ix_size(a, v), check));
	sp_end(s);
	sp_begin(s, "gather");
	i = sp_for(s, "i", ix_size(a, n));
	const Ix *back = sp_add(s, i, sp_ix(s, -3));
	const Ix *half = ix_binary(&s->program, IX_DIV, back, sp_ix(s, 2));
	const Ix *rest = ix_binary(&s->program, IX_MOD, back, ix_size(a, v));
	const Value *value = sp_load(s, table, ix_value(a, sp_load(s, ids, i)));
	value = sp_op(s, OP_ADD, value, value_index(a, DTYPE_F32, half), NULL);
	value = sp_op(s, OP_MUL, value, value_index(a, DTYPE_F32, rest), NULL);
	const Ix *low = ix_binary(&s->program, IX_MIN, i, half),
		 *high = ix_binary(&s->program, IX_MAX, i, half);
	value = sp_op(s, OP_ADD, value, value_index(a, DTYPE_F32, sp_add(s, low, high)), NULL);
	Cond *conds = ARENA_ARRAY(a, Cond, 2);
	conds[0] = (Cond){COND_LT, i, sp_ix(s, 7)};
	conds[1] = (Cond){COND_LE, sp_ix(s, 1), i};
	const Stmt **body = ARENA_ARRAY(a, const Stmt *, 1);
	body[0] = stmt_store(a, y, i, OP_NONE, value);
	sp_stmt(s, stmt_if(a, conds, 2, (Block){body, 1}));
	sp_end(s);
}

static void gather(void **state)
{
	(void)state;
	SmallProgram s;
	gather_program(&s);
	static float table[] = {1, 2, 3, 4, 5};
	static int32_t ids[] = {0, 1, 4, 3, 2, 1, 0, 4}, bad[] = {0, 1, 2, 5};
	Run run = {.dims = {8, 5}, .inputs = {table, ids}, .bytes = {32}};
	compare_run(&s, &run);
	assert_int_equal(run.code, TSR_OK);
	run = (Run){.dims = {4, 5}, .inputs = {table, bad}, .bytes = {16}};
	compare_run(&s, &run);
	assert_int_equal(run.code, TSR_CHECK_FIRST + 1);
	assert_string_equal(run.message, "an index is out of range");
	run.dims[0] = 3;
	compare_run(&s, &run);
	assert_int_equal(run.code, TSR_CHECK_FIRST);
	assert_string_equal(run.message, "n must be even");
	run.dims[0] = -2;
	compare_run(&s, &run);
	assert_int_equal(run.code, TSR_BAD_DIM);
	assert_string_equal(run.message, "dim n must be at least 0 and at most 2147483648");
	sp_free(&s);
}

/* Arrays that are not aligned for their elements are refused, and workspaces and states where kernels
 * could not load whole vectors from. */
static void check_pointers(Loaded l)
{
	static float x[19], y[37];
	_Alignas(64) static char memory[8192], workspace[256];
	int (*forward)(const tsr_call *, int64_t, const float *, float *, void *, void *) =
		(int (*)(const tsr_call *, int64_t, const float *, float *, void *, void *))dlsym(
			l.handle, "small_forward");
	const char *message = NULL;
	tsr_call call = {.abi = TSR_ABI, .message = &message};
	assert_int_equal(forward(&call, 1, x, y, memory, workspace), 0);
	assert_int_equal(forward(NULL, 1, x, y, memory, workspace), 0);
	assert_int_equal(forward(&call, 1, NULL, y, memory, workspace), TSR_BAD_POINTER);
	assert_string_equal(message, "x is NULL");
	assert_int_equal(forward(NULL, 1, x, NULL, memory, workspace), TSR_BAD_POINTER);
	assert_int_equal(forward(&call, 1, x, y, NULL, workspace), TSR_BAD_POINTER);
	assert_string_equal(message, "state is NULL");
	assert_int_equal(forward(&call, 1, x, y, memory, NULL), TSR_BAD_POINTER);
	assert_string_equal(message, "workspace is NULL");
	assert_int_equal(forward(&call, 1, x, y, memory + 4, workspace), TSR_BAD_POINTER);
	assert_string_equal(message, "state is not aligned to 64 bytes");
	assert_int_equal(forward(&call, 1, x, y, memory, workspace + 4), TSR_BAD_POINTER);
	assert_string_equal(message, "workspace is not aligned to 64 bytes");
	for (int off = 1; off < 4; off++) {
		float *misaligned = (float *)(void *)((char *)y + off);
		assert_int_equal(forward(&call, 1, misaligned, y, memory, workspace),
				 TSR_BAD_POINTER);
		assert_string_equal(message, "x or y is not aligned to 4 bytes");
		assert_int_equal(forward(&call, 1, x, misaligned, memory, workspace),
				 TSR_BAD_POINTER);
		assert_string_equal(message, "x or y is not aligned to 4 bytes");
	}
	assert_int_equal(forward(&call, 1, x + 1, y + 1, memory, workspace), 0);
	assert_int_equal(forward(&call, 0, x, y, memory, workspace), TSR_BAD_DIM);
	message = NULL;
	call.abi = TSR_ABI + 1;
	assert_int_equal(forward(&call, 0, x, y, memory, workspace), TSR_BAD_CALL);
	call = (tsr_call){.abi = TSR_ABI, .flags = 1, .message = &message};
	assert_int_equal(forward(&call, 1, x, y, memory, workspace), TSR_BAD_CALL);
	assert_null(message);
	dlclose(l.handle);
}

static void bad_pointers(void **state)
{
	(void)state;
	SmallProgram s;
	matmul_program(&s);
	check_pointers(load_so(&s));
	check_pointers(load_c(&s));
	sp_free(&s);
}

static void constants_and_sharing(void **state)
{
	(void)state;
	SmallProgram s;
	sp_init(&s);
	enum { N = 3000 };
	float *big = arena_alloc(s.program.arena, N * sizeof *big);
	random_floats(big, N);
	static const float small[] = {1, -2, INFINITY};
	BufferId c = sp_blob(&s, "c", DTYPE_F32, big, N), d = sp_blob(&s, "d", DTYPE_F32, small, 3);
	BufferId t = sp_temp(&s, "t", DTYPE_F32, sp_const(&s, N));
	BufferId y = sp_output(&s, "y", DTYPE_F32, sp_const(&s, N));
	const BufferId from[] = {c, t}, to[] = {t, y};
	for (int k = 0; k < 2; k++) {
		sp_begin(&s, k ? "second" : "first");
		const Ix *i = sp_for(&s, "i", sp_ix(&s, N));
		const Value *scale = sp_load(&s, d, sp_ix(&s, 1));
		sp_store(&s, to[k], i, OP_NONE,
			 sp_op(&s, OP_MUL, sp_load(&s, from[k], i), scale, NULL));
		sp_end(&s);
	}
	Run run = {.bytes = {N * sizeof(float)}};
	compare_run(&s, &run);
	sp_free(&s);
}

/* A feature that this machine has or has not; tiles, without which there is another way, are asked of none. */
static void foreign_cpu(void **state)
{
	(void)state;
	static const char *const foreign[] = {"x86-64-v3+avx512fp16", "sapphirerapids"};
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		SmallProgram s;
		matmul_program(&s);
		sp_target(&s, foreign[i]);
		Loaded l = load_so(&s);
		static float x[19], y[37];
		_Alignas(64) static char memory[8192];
		Run run = {.dims = {1}, .inputs = {x}, .got = {y}, .state = memory};
		run_module(&s, &l, &run);
		if (run.code != 0) {
			assert_int_equal(run.code, TSR_BAD_CPU);
			assert_non_null(strstr(run.message, "processor"));
		}
		assert_non_null(strstr(l.module->features, "avx512fp16"));
		assert_null(strstr(l.module->features, "amx"));
		dlclose(l.handle);
		sp_free(&s);
	}
}

static void levels(void **state)
{
	(void)state;
	static const char *const marches[] = {"x86-64", "x86-64-v2", "native", "native"};
	static float x[5 * 19];
	random_floats(x, 5 * 19);
	_Alignas(64) static char memory[8192];
	for (int level = 0; level <= 3; level++) {
		SmallProgram s;
		matmul_program(&s);
		s.options.opt_level = level;
		sp_target(&s, marches[level]);
		Run run = {.dims = {5}, .inputs = {x}, .bytes = {5 * 37 * 4}, .state = memory};
		assert_int_equal(interp_init(&s.program, run.dims, memory, 1), 0);
		compare_run(&s, &run);
		sp_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_of_f32),
		cmocka_unit_test(operations_of_f64),
		cmocka_unit_test(operations_of_i32),
		cmocka_unit_test(conversions),
		cmocka_unit_test(matmul),
		cmocka_unit_test(initialisers),
		cmocka_unit_test(reduction_and_scalars),
		cmocka_unit_test(gather),
		cmocka_unit_test(bad_pointers),
		cmocka_unit_test(constants_and_sharing),
		cmocka_unit_test(foreign_cpu),
		cmocka_unit_test(levels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
