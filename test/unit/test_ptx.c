/* What instructions of PTX compute in the interpreter of test/ptx, against numbers of PTX's definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "test/ptx/matrix.h"
#include "test/unit/ptx_fixture.h"

#define ONE	0x3f800000u
#define NAN_F32 0x7fffffffu
#define SMALL	0x00000001u /* the least number above 0 */

/* An instruction over registers d, a, b, c of 16, 32 or 64 bits (%h, %r, %d) or predicates, and what d is then. */
static const struct {
	const char *text;
	uint64_t a, b, c, want;
} rows[] = {
	{"add.s32 %r0, %r1, %r2;", 0xffffffff, 2, 0, 1},
	{"sub.u32 %r0, %r1, %r2;", 1, 2, 0, 0xffffffff},
	{"add.s16 %h0, %h1, %h2;", 0xffff, 3, 0, 2},
	{"mul.wide.s32 %d0, %r1, %r2;", 0xffffffff, 3, 0, (uint64_t)-3},
	{"mul.wide.u16 %r0, %h1, %h2;", 0xffff, 0xffff, 0, 0xfffe0001},
	{"mul.hi.u64 %d0, %d1, %d2;", UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
	{"mul.hi.s32 %r0, %r1, %r2;", 0x80000000, 0x80000000, 0, 0x40000000},
	{"mad.lo.s32 %r0, %r1, %r2, %r3;", 7, 0xffffffff, 10, 3},
	{"div.s32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0xfffffffd},
	{"rem.s32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0xffffffff},
	{"div.s64 %d0, %d1, %d2;", (uint64_t)INT64_MIN, UINT64_MAX, 0, (uint64_t)INT64_MIN},
	{"div.u32 %r0, %r1, %r2;", 5, 0, 0, 0xffffffff},
	{"min.s32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
	{"max.u32 %r0, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
	{"abs.s32 %r0, %r1;", 0x80000000, 0, 0, 0x80000000},
	{"sad.u32 %r0, %r1, %r2, %r3;", 3, 10, 100, 107},
	{"shl.b32 %r0, %r1, %r2;", 3, 32, 0, 0},
	{"shr.s32 %r0, %r1, %r2;", 0x80000000, 40, 0, 0xffffffff},
	{"shr.u64 %d0, %d1, %r2;", UINT64_C(1) << 63, 63, 0, 1},
	{"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 1, 33, 3},
	{"shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 5, 9, 40, 9},
	{"prmt.b32 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665584, 0x7c40, 0x77ff8400},
	{"bfe.s32 %r0, %r1, %r2, %r3;", 0x0f0, 4, 4, 0xffffffff},
	{"bfe.u32 %r0, %r1, %r2, %r3;", 0xf0, 4, 40, 0xf},
	{"bfi.b32 %r0, %r1, %r2, %r3, 4;", 0x5, 0xffffffff, 8, 0xfffff5ff},
	{"lop3.b32 %r0, %r1, %r2, %r3, 0xca;", 0xff00ff00, 0x12345678, 0x9abcdef0, 0x12bc56f0},
	{"popc.b64 %r0, %d1;", UINT64_MAX, 0, 0, 64},
	{"clz.b32 %r0, %r1;", 1, 0, 0, 31},
	{"brev.b32 %r0, %r1;", 1, 0, 0, 0x80000000},
	{"bfind.s32 %r0, %r1;", 0xfffffffe, 0, 0, 0},
	{"dp4a.s32.s32 %r0, %r1, %r2, %r3;", 0xff010203, 0x01020304, 10, 10 - 1 + 2 + 6 + 12},
	{"cnot.b32 %r0, %r1;", 0, 0, 0, 1},
	{"selp.f32 %r0, %r1, %r2, %p3;", 5, 6, 0, 6},
	{"slct.f32.s32 %r0, %r1, %r2, %r3;", 5, 6, 0xffffffff, 6},
	{"set.lt.u32.s32 %r0, %r1, %r2;", 0xffffffff, 0, 0, 0xffffffff},
	{"mov.b32 %r0, -1;", 0, 0, 0, 0xffffffff},
	{"xor.pred %p0, %p1, -1;", 1, 0, 0, 0},
	{"xor.pred %p0, %p1, -1;", 0, 0, 0, 1},
	{"mov.pred %p0, -1; xor.pred %p0, %p0, %p1;", 1, 0, 0, 0},
	{"mov.b64 {%r0, _}, %d1;", 0x1122334455667788, 0, 0, 0x55667788},
	{"mov.b64 %d0, {%r1, %r2};", 1, 2, 0, 0x200000001},
	{"mov.b32 %r0, {%h1, %h2};", 1, 2, 0, 0x20001},
	{"add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, 0;", 0xffffffff, 1, 5, 6},
	{"sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, 0;", 0, 1, 5, 4},
	{"mad.lo.cc.u32 %r0, %r1, %r1, %r2; madc.hi.u32 %r0, %r1, %r1, %r3;", 0xffffffff, 0xffffffff, 0,
	 0xffffffff},
	{"setp.lt.s32 %p0, %r1, %r2;", 0xffffffff, 0, 0, 1},
	{"setp.lo.u32 %p0, %r1, %r2;", 0xffffffff, 0, 0, 0},
	{"setp.ne.f32 %p0, %r1, %r2;", NAN_F32, ONE, 0, 0},
	{"setp.neu.f32 %p0, %r1, %r2;", NAN_F32, ONE, 0, 1},
	{"setp.num.f32 %p0, %r1, %r2;", NAN_F32, ONE, 0, 0},
	{"setp.lt.or.f32 %p0|%p4, %r1, %r2, !%p3;", ONE, 0, 0, 1},
	{"setp.eq.ftz.f32 %p0, %r1, %r2;", SMALL, 0, 0, 1},
	{"add.f32 %r0, %r1, %r2;", ONE, 0x33800000, 0, ONE},
	{"add.rp.f32 %r0, %r1, %r2;", ONE, 0x33800000, 0, ONE + 1},
	{"add.ftz.f32 %r0, %r1, %r2;", SMALL, SMALL, 0, 0},
	{"add.f32 %r0, %r1, %r2;", SMALL, SMALL, 0, 2},
	{"sub.f32 %r0, %r1, %r2;", 0x7f800000, 0x7f800000, 0, NAN_F32},
	{"mul.rz.f32 %r0, %r1, %r2;", 0x3f800001, 0x3f800001, 0, 0x3f800002},
	{"fma.rn.f32 %r0, %r1, %r2, %r3;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
	{"add.sat.f32 %r0, %r1, %r2;", ONE, ONE, 0, ONE},
	{"max.f32 %r0, %r1, %r2;", 0x80000000, 0, 0, 0},
	{"min.f32 %r0, %r1, %r2;", NAN_F32, ONE, 0, ONE},
	{"max.NaN.f32 %r0, %r1, %r2;", NAN_F32, ONE, 0, NAN_F32},
	{"copysign.f32 %r0, %r1, %r2;", 0x80000000, ONE, 0, 0xbf800000},
	{"ex2.approx.ftz.f32 %r0, %r1;", 0x40000000, 0, 0, 0x40800000},
	{"lg2.approx.f32 %r0, %r1;", 0x40800000, 0, 0, 0x40000000},
	{"rcp.rn.f32 %r0, %r1;", 0x40000000, 0, 0, 0x3f000000},
	{"div.rn.f32 %r0, %r1, %r2;", ONE, 0x40400000, 0, 0x3eaaaaab},
	{"sqrt.rn.f64 %d0, %d1;", 0x4010000000000000, 0, 0, 0x4000000000000000},
	{"testp.notanumber.f32 %p0, %r1;", NAN_F32, 0, 0, 1},
	{"cvt.s64.s32 %d0, %r1;", 0xffffffff, 0, 0, UINT64_MAX},
	{"cvt.u32.u8 %r0, %r1;", 0x1ff, 0, 0, 0xff},
	{"cvt.s32.s8 %r0, %r1;", 0x80, 0, 0, 0xffffff80},
	{"cvt.sat.u8.s32 %r0, %r1;", 0xffffffff, 0, 0, 0},
	{"cvt.rzi.s32.f32 %r0, %r1;", 0xc0200000, 0, 0, 0xfffffffe},
	{"cvt.rni.s32.f32 %r0, %r1;", 0x40200000, 0, 0, 2},
	{"cvt.rmi.s32.f32 %r0, %r1;", 0xc0200000, 0, 0, 0xfffffffd},
	{"cvt.rzi.u32.f32 %r0, %r1;", 0xbf800000, 0, 0, 0},
	{"cvt.rzi.s32.f32 %r0, %r1;", NAN_F32, 0, 0, 0},
	{"cvt.rzi.s64.f32 %d0, %r1;", NAN_F32, 0, 0, UINT64_C(1) << 63},
	{"cvt.rzi.s32.f32 %r0, %r1;", 0x7f800000, 0, 0, 0x7fffffff},
	{"cvt.rni.f32.f32 %r0, %r1;", 0x40600000, 0, 0, 0x40800000},
	{"cvt.rn.f32.u64 %r0, %d1;", (UINT64_C(1) << 25) + 3, 0, 0, 0x4c000001},
	{"cvt.rz.f32.u32 %r0, %r1;", 0xffffffff, 0, 0, 0x4f7fffff},
	{"cvt.rn.f32.f64 %r0, %d1;", 0x3ff0000010000000, 0, 0, ONE},
	{"cvt.rn.f16.f32 %h0, %r1;", 0x477ff000, 0, 0, 0x7c00},
	{"cvt.rz.f16.f32 %h0, %r1;", 0x477ff000, 0, 0, 0x7bff},
	{"cvt.f32.f16 %r0, %h1;", 1, 0, 0, 0x33800000},
	{"cvt.rn.bf16.f32 %h0, %r1;", 0x3f808000, 0, 0, 0x3f80},
	{"cvt.rn.bf16.f32 %h0, %r1;", 0x3f818000, 0, 0, 0x3f82},
	{"cvt.rn.bf16x2.f32 %r0, %r1, %r2;", ONE, 0x40000000, 0, 0x3f804000},
	{"cvt.rn.relu.f16x2.f32 %r0, %r1, %r2;", 0xbf800000, 0x40000000, 0, 0x4000},
	{"cvt.rna.tf32.f32 %r0, %r1;", 0x3f801000, 0, 0, 0x3f802000},
	{"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", 0x44800000, ONE, 0, 0x7e38},
	{"cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x3801, 0, 0, 0x3c001800},
	{"add.f16 %h0, %h1, %h2;", 0x3c00, 0x1000, 0, 0x3c00},
	{"fma.rn.bf16x2 %r0, %r1, %r2, %r3;", 0x3f804000, 0x40004000, 0x3f803f80, 0x404040a0},
};

static const char frame[] =
	".reg .pred %%p<5>; .reg .b16 %%h<4>; .reg .b32 %%r<4>; .reg .b64 %%d<4>; .reg .b64 %%at;\n"
	"ld.param.u64 %%at, [p0];\n"
	"ld.global.b64 %%d1, [%%at]; ld.global.b64 %%d2, [%%at+8]; ld.global.b64 %%d3, [%%at+16];\n"
	"cvt.u32.u64 %%r1, %%d1; cvt.u32.u64 %%r2, %%d2; cvt.u32.u64 %%r3, %%d3;\n"
	"cvt.u16.u64 %%h1, %%d1; cvt.u16.u64 %%h2, %%d2; cvt.u16.u64 %%h3, %%d3;\n"
	"setp.ne.u64 %%p1, %%d1, 0; setp.ne.u64 %%p2, %%d2, 0; setp.ne.u64 %%p3, %%d3, 0;\n"
	"%s\n%s\nst.global.b64 [%%at], %%d0;\n";

/* How the result becomes %d0, by the register that is written first. */
static const char *widened(const char *text)
{
	if (strstr(text, "%p0"))
		return "selp.b64 %d0, 1, 0, %p0;";
	if (strstr(text, "%h0"))
		return "cvt.u64.u16 %d0, %h0;";
	return strstr(text, "%r0") ? "cvt.u64.u32 %d0, %r0;" : "";
}

static void test_instructions_compute(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char body[2000];
		snprintf(body, sizeof body, frame, rows[i].text, widened(rows[i].text));
		PtxTest test;
		ptx_test_open(&test, body);
		uint64_t *at = ptx_test_buffer(&test, 24);
		memcpy(at, (uint64_t[]){rows[i].a, rows[i].b, rows[i].c}, 24);
		assert_true(ptx_test_run(&test, 1, 1, ORDER_FORWARD));
		if (at[0] != rows[i].want)
			print_message("%s: %llx, not %llx\n", rows[i].text, (unsigned long long)at[0],
				      (unsigned long long)rows[i].want);
		assert_true(at[0] == rows[i].want);
		ptx_test_close(&test);
	}
}

/* ---- functions, branches, spaces ---- */

static const char calls[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".const .align 4 .u32 table[3] = {10, 20, 30};\n"
	".global .align 8 .u64 where[2] = {table, table+4};\n"
	".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %x;\nld.param.u32 %x, [a];\n"
	"add.s32 %x, %x, %x;\nst.param.u32 [r], %x;\nret;\n}\n"
	".visible .entry k(.param .u64 p0)\n{\n.reg .b32 %x<4>; .reg .b64 %a<4>; .reg .pred %p;\n"
	".local .align 4 .b8 stack[16];\n"
	"ld.param.u64 %a0, [p0]; mov.u32 %x0, %tid.x; mul.wide.u32 %a1, %x0, 4; add.s64 %a0, %a0, %a1;\n"
	"{\n.param .b32 in; .param .b32 out;\nst.param.b32 [in], %x0;\n"
	"call.uni (out), twice, (in);\nld.param.b32 %x1, [out];\n}\n"
	"mov.u64 %a2, stack; cvta.local.u64 %a2, %a2; add.s64 %a2, %a2, %a1; st.u32 [%a2], %x1;\n"
	"ld.local.u32 %x2, [stack+4]; ld.u32 %x1, [%a2];\n"
	"ts: .branchtargets zero, one, two;\nbrx.idx %x0, ts;\n"
	"zero: ld.const.u32 %x3, [table]; bra done;\n"
	"one: ld.global.u64 %a3, [where+8]; ld.global.u32 %x3, [%a3]; bra done;\n"
	"two: ld.const.u32 %x3, [table+8];\n"
	"done: add.s32 %x1, %x1, %x3; st.global.u32 [%a0], %x1; ret;\n}\n";

static void test_functions_are_called(void **state)
{
	(void)state;
	PtxTest test;
	ptx_test_open_text(&test, calls, strlen(calls));
	assert_non_null(test.module);
	uint32_t *at = ptx_test_buffer(&test, 12);
	assert_true(ptx_test_run(&test, 1, 3, ORDER_REVERSE));
	assert_int_equal(at[0], 10);
	assert_int_equal(at[1], 22);
	assert_int_equal(at[2], 34);
	ptx_test_close(&test);
}

/* ---- warps ---- */

/* A value of each lane, from its number %r1; %at: where the result goes. */
static void of_lanes(const char *text, uint32_t threads, uint32_t *got)
{
	char body[1000];
	snprintf(body, sizeof body,
		 ".reg .pred %%p<4>; .reg .b32 %%r<6>; .reg .b64 %%at<3>;\nld.param.u64 %%at0, [p0];\n"
		 "mov.u32 %%r1, %%laneid; mul.wide.u32 %%at1, %%r1, 4; add.s64 %%at0, %%at0, %%at1;\n"
		 "%s\nst.global.u32 [%%at0], %%r0;\n",
		 text);
	PtxTest test;
	ptx_test_open(&test, body);
	uint32_t *at = ptx_test_buffer(&test, threads * sizeof *at);
	assert_true(ptx_test_run(&test, 1, threads, ORDER_RANDOM));
	memcpy(got, at, threads * sizeof *at);
	ptx_test_close(&test);
}

static void test_warps_exchange(void **state)
{
	(void)state;
	uint32_t got[32];
	of_lanes("shfl.sync.bfly.b32 %r0, %r1, 5, 31, -1;", 32, got);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[i], i ^ 5);
	of_lanes("shfl.sync.down.b32 %r0|%p0, %r1, 3, 0x181f, -1; @!%p0 mov.u32 %r0, 77;", 32, got);
	for (uint32_t i = 0; i < 32; i++) /* in segments of 8 */
		assert_int_equal(got[i], i % 8 < 5 ? i + 3 : 77);
	of_lanes("shfl.sync.up.b32 %r0, %r1, 1, 0, -1;", 32, got);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[i], i ? i - 1 : 0);
	of_lanes("setp.gt.u32 %p0, %r1, 2; vote.sync.ballot.b32 %r0, !%p0, -1;", 5, got);
	assert_int_equal(got[4], 7);
	of_lanes("redux.sync.add.u32 %r0, %r1, -1;", 32, got);
	assert_int_equal(got[9], 496);
	of_lanes("shr.u32 %r2, %r1, 4; match.any.sync.b32 %r0, %r2, -1;", 32, got);
	assert_int_equal(got[20], 0xffff0000);
}

/* ---- clusters ---- */

/* Each thread gets the word of the same thread of the next block. */
static const char neighbours[] =
	".reg .b32 %r<9>; .reg .b64 %d<3>; .shared .align 4 .b8 own[128];\n"
	"mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; mad.lo.s32 %r2, %r1, 100, %r0; shl.b32 %r3, %r0, 2;\n"
	"mov.u32 %r4, own; add.s32 %r4, %r4, %r3; st.shared.u32 [%r4], %r2;\n"
	"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
	"add.s32 %r5, %r1, 1; and.b32 %r5, %r5, 3; mapa.shared::cluster.u32 %r6, %r4, %r5;\n"
	"ld.shared::cluster.u32 %r7, [%r6]; getctarank.shared::cluster.u32 %r8, %r6; mad.lo.s32 %r7, %r8, 10000, %r7;\n"
	"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
	"ld.param.u64 %d0, [p0]; mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 7; add.s32 %r5, %r5, %r3;\n"
	"cvt.u64.u32 %d1, %r5; add.s64 %d0, %d0, %d1; st.global.u32 [%d0], %r7;\n";

static void test_blocks_of_a_cluster_share(void **state)
{
	(void)state;
	for (PtxOrder order = ORDER_FORWARD; order <= ORDER_RANDOM; order++) {
		PtxTest test;
		ptx_test_open(&test, neighbours);
		test.cluster = 4;
		uint32_t *at = ptx_test_buffer(&test, 8 * 128);
		assert_true(ptx_test_run(&test, 8, 32, order));
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t next = (i / 32 + 1) % 4;
			assert_int_equal(at[i], next * 10000 + next * 100 + i % 32);
		}
		ptx_test_close(&test);
	}
}

/* ---- tensor cores ---- */

static float sum_of(float c, int n, float product)
{
	double products[32];
	for (int i = 0; i < n; i++)
		products[i] = product;
	return ptx_tensor_sum(products, n, c);
}

static void test_tensor_cores_add_as_measured(void **state)
{
	(void)state;
	assert_true(sum_of(1, 16, 0x1p-25f) == 1 + 0x1p-21f);
	assert_true(sum_of(1, 16, 0x1p-26f) == 1);
	assert_true(sum_of(1, 1, 1.75f * 0x1p-23f) == 1 + 0x1p-23f);
	assert_true(sum_of(1, 1, -0x1p-25f) == 1 - 0x1p-24f);
	assert_true(sum_of(-1, 1, -1.75f * 0x1p-23f) == -1 - 0x1p-23f);
	assert_true(sum_of(0, 0, 0) == 0);
	assert_true(isnan(sum_of(INFINITY, 1, -INFINITY)));
	assert_true(isinf(sum_of(1, 2, INFINITY)));
}

/* c[16][8] = a[16][16] b[16][8] + 1 of small whole numbers, which bf16 has: exact. b is read transposed. */
static const char product[] =
	".reg .b32 %r<20>; .reg .f32 %f<8>; .reg .b64 %d<8>;\n.shared .align 16 .b8 a[512]; .shared .align 16 .b8 b[256];\n"
	"ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1]; ld.param.u64 %d2, [p2];\n"
	"mov.u32 %r0, %tid.x; mul.lo.s32 %r1, %r0, 16; cvt.u64.u32 %d3, %r1;\n"
	"add.s64 %d0, %d0, %d3; add.s64 %d1, %d1, %d3; mov.u32 %r2, a; add.s32 %r2, %r2, %r1;\n"
	"mov.u32 %r3, b; add.s32 %r3, %r3, %r1;\n"
	"cp.async.cg.shared.global [%r2], [%d0], 16;\n"
	".reg .pred %p<2>; setp.lt.u32 %p0, %r0, 16;\n"
	"@%p0 cp.async.ca.shared.global [%r3], [%d1], 16;\ncp.async.commit_group;\n"
	"cp.async.wait_group 0;\nbar.sync 0;\n"
	"and.b32 %r4, %r0, 15; shl.b32 %r4, %r4, 5; shr.u32 %r5, %r0, 4; shl.b32 %r5, %r5, 4; add.s32 %r4, %r4, %r5;\n"
	"mov.u32 %r6, a; add.s32 %r4, %r4, %r6;\n"
	"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8, %r9, %r10, %r11}, [%r4];\n"
	"and.b32 %r5, %r0, 15; shl.b32 %r5, %r5, 4; mov.u32 %r6, b; add.s32 %r5, %r5, %r6;\n"
	"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r12, %r13}, [%r5];\n"
	"mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r8, %r9, %r10, %r11}, "
	"{%r12, %r13}, {%f0, %f1, %f2, %f3};\n"
	"shr.u32 %r14, %r0, 2; shl.b32 %r14, %r14, 5; and.b32 %r15, %r0, 3; shl.b32 %r15, %r15, 3;\n"
	"add.s32 %r14, %r14, %r15; cvt.u64.u32 %d4, %r14; add.s64 %d2, %d2, %d4;\n"
	"st.global.v2.f32 [%d2], {%f0, %f1}; st.global.v2.f32 [%d2+256], {%f2, %f3};\n";

static uint16_t bf16_of(int x)
{
	float f = (float)x;
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	return (uint16_t)(bits >> 16);
}

static void test_a_warp_multiplies(void **state)
{
	(void)state;
	for (PtxOrder order = ORDER_FORWARD; order <= ORDER_RANDOM; order++) {
		PtxTest test;
		ptx_test_open(&test, product);
		uint16_t *a = ptx_test_buffer(&test, 512), *b = ptx_test_buffer(&test, 256);
		float *c = ptx_test_buffer(&test, 512);
		int x[16][16], y[16][8];
		for (int i = 0; i < 256; i++)
			a[i] = bf16_of(x[i / 16][i % 16] = (i * 37 + 5) % 23 - 11);
		for (int i = 0; i < 128; i++)
			b[i] = bf16_of(y[i / 8][i % 8] = (i * 29 + 3) % 19 - 9);
		assert_true(ptx_test_run(&test, 1, 32, order));
		for (int i = 0; i < 128; i++) {
			int want = 1;
			for (int k = 0; k < 16; k++)
				want += x[i / 8][k] * y[k][i % 8];
			assert_true(c[i] == (float)want);
		}
		ptx_test_close(&test);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions_compute),
		cmocka_unit_test(test_functions_are_called),
		cmocka_unit_test(test_warps_exchange),
		cmocka_unit_test(test_blocks_of_a_cluster_share),
		cmocka_unit_test(test_tensor_cores_add_as_measured),
		cmocka_unit_test(test_a_warp_multiplies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
