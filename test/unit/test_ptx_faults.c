/* What the interpreter of PTX tells of kernels that do what they must not, and of text that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/unit/ptx_fixture.h"

/* What kernels begin with: %t their thread, %g memory of 1024 bytes, %s a place of their own in shared memory. */
#define BEGIN                                                                                      \
	".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b32 %t; .reg .b32 %s; .reg .b64 %g<4>;\n"        \
	".shared .align 16 .b8 tile[1024];\nld.param.u64 %g0, [p0]; mov.u32 %t, %tid.x;\n"         \
	"shl.b32 %r0, %t, 2; mov.u32 %s, tile; add.s32 %s, %s, %r0;\n"                             \
	"cvt.u64.u32 %g1, %r0; add.s64 %g1, %g1, %g0;\n"

typedef struct Case {
	const char *text;
	PtxFault fault;
	const char *told;
} Case;

static const Case cases[] = {
	{BEGIN "st.global.u32 [%g0+1024], %t;", FAULT_ADDRESS, "1024 bytes from the start of 1024"},
	{BEGIN "ld.global.u32 %r1, [%g0+-4];", FAULT_ADDRESS, "reads 4 bytes at"},
	{BEGIN "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%g0+1016];", FAULT_MISALIGNED, "not aligned"},
	{BEGIN "ld.global.v2.u32 {%r1, %r2}, [%g0+4];", FAULT_MISALIGNED, "not aligned"},
	{BEGIN "mov.u64 %g2, 16; ld.u32 %r1, [%g2];", FAULT_ADDRESS, "in no memory"},
	{BEGIN "st.shared.u32 [tile+1024], %t;", FAULT_ADDRESS, "1024 of 1024 bytes of shared memory"},
	{BEGIN "st.shared.u32 [%s+-4], %t;", FAULT_ADDRESS, "of shared memory"},
	{BEGIN ".local .b8 own[8]; st.local.u32 [own+64], %t;", FAULT_ADDRESS, "of local memory"},
	{BEGIN "ld.param.u64 %g2, [p3+8];", FAULT_ADDRESS, "of parameters"},
	/* threads that do not wait for each other */
	{BEGIN "st.shared.u32 [%s], %t; xor.b32 %r1, %t, 33; shl.b32 %r1, %r1, 2; mov.u32 %r2, tile;\n"
	       "add.s32 %r2, %r2, %r1; ld.shared.u32 %r3, [%r2];",
	 FAULT_RACE, "with no barrier in between"},
	{BEGIN "st.shared.u32 [tile], %t;", FAULT_RACE, "writes place 0"},
	{BEGIN "ld.shared.u32 %r1, [tile]; setp.eq.u32 %p0, %t, 40; @%p0 st.shared.u32 [tile], %t;",
	 FAULT_RACE, "place 0"},
	{BEGIN "bar.warp.sync -1; st.shared.u32 [tile], %t;", FAULT_RACE, "writes place 0"},
	/* barriers that not all reach */
	{BEGIN "setp.lt.u32 %p0, %t, 40; @%p0 bra over; bar.sync 0; over: ret;", FAULT_SYNC,
	 "waits for what does not come: 24 wait at a barrier (thread 40 at line"},
	{BEGIN "setp.lt.u32 %p0, %t, 40; @%p0 bra over; bar.sync 0; bra end; over: bar.sync 0; end: ret;",
	 FAULT_SYNC, "of its warp"},
	{BEGIN "setp.lt.u32 %p0, %t, 32; @%p0 bra over; bar.sync 0; bra end; over: bar.sync 1; end: ret;",
	 FAULT_SYNC, "waits for what does not come: 64 wait at a barrier"},
	{BEGIN "bar.sync 0, 33;", FAULT_ILLEGAL, "33 threads"},
	{BEGIN "mov.u32 %r1, 16; bar.sync %r1;", FAULT_ILLEGAL, "barrier 16"},
	{BEGIN "setp.lt.u32 %p0, %t, 32; @%p0 bar.sync 0, 32; @!%p0 bar.sync 0;", FAULT_SYNC,
	 "threads, and others one of|waits for"},
	/* warps that part */
	{BEGIN "and.b32 %r1, %t, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra over; shfl.sync.idx.b32 %r2, %t, 0, 31, -1;\n"
	       "over: ret;",
	 FAULT_SYNC, "waits for lane 0 of its warp, which has ended|waits for what does not come"},
	{BEGIN "and.b32 %r1, %t, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra over; shfl.sync.idx.b32 %r2, %t, 0, 31, -1;\n"
	       "over: vote.sync.any.pred %p1, %p0, -1;",
	 FAULT_SYNC, "are at different instructions"},
	{BEGIN "shfl.sync.idx.b32 %r2, %t, 3, 31, 1;", FAULT_SYNC, "leaves it out|reads lane 3"},
	{BEGIN "setp.ne.u32 %p0, %t, 0; @%p0 bra over; shfl.sync.idx.b32 %r2, %t, 3, 31, 1; over: ret;", FAULT_SYNC,
	 "reads lane 3, which takes no part"},
	{BEGIN "again: bra again;", FAULT_TIMEOUT, "has not ended"},
	{BEGIN "trap;", FAULT_TRAP, "traps"},
	{BEGIN "ts: .branchtargets a; brx.idx %t, ts; a: ret;", FAULT_ILLEGAL, "branches to target"},
	{BEGIN "cp.async.ca.shared.global [%s], [%g0+1024], 4;", FAULT_ADDRESS, "in no memory"},
	{BEGIN "cp.async.cg.shared.global [tile+8], [%g0], 16;", FAULT_MISALIGNED, "not aligned"},
	/* what is right: rows of warps, barriers of all, a rest of zeros */
	{BEGIN "st.shared.u32 [%s], %t; bar.sync 0; ld.shared.u32 %r1, [tile]; bar.sync 0;\n"
	       "st.shared.u32 [%s], %r1;",
	 FAULT_NONE, ""},
	{BEGIN "st.shared.u32 [%s], %t; bar.warp.sync -1; xor.b32 %r1, %r0, 4; mov.u32 %r2, tile;\n"
	       "add.s32 %r2, %r2, %r1; ld.shared.u32 %r3, [%r2]; bar.warp.sync -1; st.shared.u32 [%s], %r3;",
	 FAULT_NONE, ""},
	{BEGIN "cp.async.ca.shared.global [%s], [%g1], 4, 0; cp.async.wait_all; ld.shared.u32 %r1, [%s];\n"
	       "setp.ne.u32 %p0, %r1, 0; @%p0 trap;",
	 FAULT_NONE, ""},
	{BEGIN "setp.lt.u32 %p0, %t, 32; @%p0 bra over; bar.sync 1, 32; bra end; over: bar.sync 2, 32; end: bar.sync 0;",
	 FAULT_NONE, ""},
};

/* Does the text have one of the pieces that stand between bars? */
static bool has_one_of(const char *text, const char *pieces)
{
	char copy[300], *rest = copy;
	snprintf(copy, sizeof copy, "%s", pieces);
	for (char *piece = strsep(&rest, "|"); piece != NULL; piece = strsep(&rest, "|"))
		if (strstr(text, piece) != NULL)
			return true;
	return false;
}

static void test_faults_are_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (PtxOrder order = ORDER_FORWARD; order <= ORDER_RANDOM; order++) {
			char text[1000];
			PtxFault fault = ptx_test_fault(cases[i].text, 64, order, text);
			if (fault != cases[i].fault || !has_one_of(text, cases[i].told))
				print_message("%s\n%d: %s\n", cases[i].text, fault, text);
			assert_int_equal(fault, cases[i].fault);
			assert_true(has_one_of(text, cases[i].told));
		}
}

/* A ring of copies: what a wait that is missing, or a place that is taken too early, does to the numbers. */
#define RING(wait, behind)                                                                         \
	BEGIN "mov.u32 %r1, 0;\nloop: shl.b32 %r2, %r1, 8; cvt.u64.u32 %g2, %r2; add.s64 %g2, %g2, %g1;\n"        \
	      "cp.async.ca.shared.global [%s], [%g2], 4; cp.async.commit_group;\n" wait                \
	      "bar.sync 0; xor.b32 %r3, %r0, 252; mov.u32 %r4, tile; add.s32 %r4, %r4, %r3;\n"         \
	      "ld.shared.u32 %r5, [%r4];\n" behind                                                     \
	      "st.global.u32 [%g2], %r5; add.s32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 4; @%p0 bra loop;"

/* The fault of a ring, or whether each thread had the word of its opposite. */
static const char *ring(const char *text, PtxOrder order)
{
	PtxTest test;
	ptx_test_open(&test, text);
	uint32_t *at = ptx_test_buffer(&test, 1024);
	for (uint32_t i = 0; i < 256; i++)
		at[i] = i;
	bool ran = ptx_test_run(&test, 1, 64, order);
	const char *found = ran ? "right" : test.report.fault == FAULT_RACE ? "race" : "fault";
	for (uint32_t i = 0; ran && i < 256; i++)
		if (at[i] != (i ^ 63))
			found = "wrong";
	ptx_test_close(&test);
	return found;
}

static void test_copies_are_waited_for(void **state)
{
	(void)state;
	for (PtxOrder order = ORDER_FORWARD; order <= ORDER_RANDOM; order++) {
		assert_string_equal(ring(RING("cp.async.wait_group 0;", "bar.sync 0;\n"), order), "right");
		assert_string_equal(ring(RING("cp.async.wait_group 0;", ""), order), "race");
	}
	assert_string_not_equal(ring(RING("", "bar.sync 0;\n"), ORDER_FORWARD), "right");
	assert_string_not_equal(ring(RING("cp.async.wait_group 1;", "bar.sync 0;\n"), ORDER_FORWARD), "right");
}

/* ---- mbarriers ---- */

/* Thread 0 has 256 bytes copied to shared memory, of which each thread gives back a word, 1 more; then they go back.
 * count: arrivals; bytes: that are awaited; wait: how. */
#define COPIED(count, bytes, wait, behind)                                                                      \
	BEGIN ".shared .align 8 .u64 full; .reg .b64 %st; setp.ne.u32 %p0, %t, 0;\n"                            \
	      "@!%p0 mbarrier.init.shared.b64 [full], " count ";\n"                                             \
	      "bar.sync 0; @%p0 bra wait;\n"                                                                    \
	      "mbarrier.arrive.expect_tx.shared.b64 %st, [full], " bytes ";\n"                                  \
	      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%g0], 256, [full];\n" \
	      "wait: " wait                                                                                     \
	      "\nld.shared.u32 %r1, [%s]; add.s32 %r1, %r1, 1; st.shared.u32 [%s], %r1;\n"                      \
	      "fence.proxy.async.shared::cta; bar.sync 0; @%p0 bra end;\n"                                      \
	      "cp.async.bulk.global.shared::cta.bulk_group [%g0], [tile], 256;\n"                               \
	      "cp.async.bulk.commit_group;" behind "\nend: ret;"
#define POLL(parity) \
	"mbarrier.try_wait.parity.shared::cta.b64 %p1, [full], " parity "; @!%p1 bra wait;"
#define BULK_WAIT "cp.async.bulk.wait_group.read 0;"

static const Case mbarriers[] = {
	{COPIED("1", "256", POLL("0"), BULK_WAIT), FAULT_NONE, "1 more"},
	{COPIED("1", "256", "", BULK_WAIT), FAULT_NONE, "other"},
	{COPIED("1", "256", POLL("1"), BULK_WAIT), FAULT_NONE, "other"},
	{COPIED("1", "260", POLL("0"), BULK_WAIT), FAULT_SYNC, "64 ask an mbarrier"},
	{COPIED("2", "256", POLL("0"), BULK_WAIT), FAULT_SYNC, "64 ask an mbarrier"},
	{COPIED("1", "256", POLL("0"), ""), FAULT_SYNC, "ends while its copies read shared memory"},
	{COPIED("1", "256", "mbarrier.arrive.shared.b64 _, [full];", BULK_WAIT), FAULT_SYNC,
	 "times at an mbarrier that awaits"},
	{BEGIN ".shared .align 8 .u64 full; mbarrier.arrive.shared.b64 _, [full];", FAULT_ILLEGAL,
	 "has not been initialised"},
	{BEGIN "cp.async.bulk.global.shared::cta.bulk_group [%g0], [tile], 24;", FAULT_MISALIGNED,
	 "not all multiples of 16"},
};

static const char *copied(const PtxTest *test, const uint32_t *at)
{
	if (test->report.fault != FAULT_NONE)
		return test->report.text;
	for (uint32_t i = 0; i < 64; i++)
		if (at[i] != i + 1)
			return "other";
	return "1 more";
}

/* Copies that land as late as they may: without a wait they are not there. */
static void test_mbarriers_are_waited_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof mbarriers / sizeof *mbarriers; i++) {
		PtxTest test;
		ptx_test_open(&test, mbarriers[i].text);
		uint32_t *at = ptx_test_buffer(&test, 1024);
		for (uint32_t k = 0; k < 256; k++)
			at[k] = k;
		ptx_test_run(&test, 1, 64, ORDER_FORWARD);
		if (strstr(copied(&test, at), mbarriers[i].told) == NULL)
			print_message("%s\n%s\n", mbarriers[i].text, copied(&test, at));
		assert_int_equal(test.report.fault, mbarriers[i].fault);
		assert_non_null(strstr(copied(&test, at), mbarriers[i].told));
		ptx_test_close(&test);
	}
	for (PtxOrder order = ORDER_REVERSE; order <= ORDER_RANDOM; order++) {
		PtxTest test;
		ptx_test_open(&test, mbarriers[0].text);
		uint32_t *at = ptx_test_buffer(&test, 1024);
		for (uint32_t k = 0; k < 256; k++)
			at[k] = k;
		ptx_test_run(&test, 1, 64, order);
		assert_string_equal(copied(&test, at), "1 more");
		ptx_test_close(&test);
	}
}

/* ---- text ---- */

static const char *const refused[][2] = {
	{"", "PTX begins with .version"},
	{".version 7.0", "there is no .target"},
	{".version 7.0 .target sm_80 .address_size 64 .visible .entry k() { add.s32 %r1, %r2, 1; }",
	 "there is no register %r1"},
	{".version 7.0 .target sm_80 .visible .entry k() { .reg .b32 %r<2>; add.s33 %r1, %r1, 1; }",
	 "add.s33 is not interpreted"},
	{".version 7.0 .target sm_80 .visible .entry k() {\n\n.reg .b32 %r<2>; tcgen05.alloc %r1; }",
	 "line 3: the instruction tcgen05.alloc is not interpreted"},
	{".version 7.0 .target sm_80 .visible .entry k() { bra nowhere; }", "there is no label nowhere"},
	{".version 7.0 .target sm_80 .visible .entry k() { x: x: ret; }", "stands twice"},
	{".version 7.0 .target sm_80 .visible .entry k() { ret;", "does not end"},
	{".version 7.0 .target sm_80 .func f() { call f; } .visible .entry k() { call f; }", "calls itself"},
	{".version 7.0 .target sm_80 .func f(); .visible .entry k() { call f; }", "is called and not defined"},
	{".version 7.0 .target sm_80 .visible .entry k() { .reg .b32 %r<70000>; }", "expected a number up to"},
	{".version 7.0 .target sm_80 .visible .entry k() { .shared .b8 x[99999999]; }", "no room"},
	{".version 7.0 .target sm_80 .global .b8 x[4] = {1, 2, 3, 4, 5};", "more values than places"},
	{".version 7.0 .target sm_80 .visible .entry k() { .reg .b32 %r<2>; add.s32 %tid.x, %r1, 1; }",
	 "no register that can be written"},
	{".version 7.0 .target sm_80 .visible .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, %r1; }",
	 "is no address"},
	{".version 7.0 .target sm_80 .shared .u32 x; .visible .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [x]; }",
	 "not in the space"},
	{".version 7.0 .target sm_80 .visible .entry k() { .pragma \"used_bytes_mask 0xf\"; }", "needs PTX 8.3"},
};

static void test_text_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		PtxTest test;
		ptx_test_open_text(&test, refused[i][0], strlen(refused[i][0]));
		if (test.module != NULL || strstr(test.error, refused[i][1]) == NULL)
			print_message("%s: %s\n", refused[i][0], test.error);
		assert_null(test.module);
		assert_non_null(strstr(test.error, refused[i][1]));
		ptx_test_close(&test);
	}
}

static char *kept_program(size_t *n)
{
	FILE *in = fopen("test/lit/emulator/Inputs/gather.ptx", "rb");
	assert_non_null(in);
	char *text = malloc(1 << 16);
	assert_non_null(text);
	*n = fread(text, 1, 1 << 16, in);
	fclose(in);
	assert_true(*n > 4000);
	return text;
}

/* Reads the text, and runs what is a kernel in it: anything may come of it but a crash. */
static void try_text(const char *text, size_t n)
{
	PtxTest test;
	ptx_test_open_text(&test, text, n);
	if (test.module != NULL) {
		const PtxFunction *kernel = ptx_module_kernel(test.module, "rows__k_y");
		unsigned char params[256] = {4};
		PtxLaunch launch = {.module = test.module,
				    .kernel = kernel,
				    .grid = {1, 1, 1},
				    .block = {33, 1, 1},
				    .cluster = {1, 1, 1},
				    .params = params,
				    .schedule = {ORDER_RANDOM, 1, true, 20000}};
		if (kernel != NULL && kernel->param_bytes <= sizeof params)
			ptx_launch(&launch, &test.report);
	}
	ptx_test_close(&test);
}

static void test_nothing_in_text_is_trusted(void **state)
{
	(void)state;
	size_t n;
	char *text = kept_program(&n);
	for (size_t cut = 0; cut < n; cut += 23)
		try_text(text, cut);
	static const char others[] = "\0\"{}[]()<>;:,.@!%_$|+-09afxZ/*\n\\\377";
	uint64_t random = 88172645463325252u;
	for (int i = 0; i < 3000; i++) {
		size_t places[4];
		char before[4];
		for (int k = 0; k < 4; k++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			places[k] = random % n;
			before[k] = text[places[k]];
			text[places[k]] = others[random >> 32 & 31];
			if (k > 0 && random >> 40 & 1)
				text[places[k]] = before[k]; /* one place to four */
		}
		try_text(text, n);
		for (int k = 3; k >= 0; k--)
			text[places[k]] = before[k];
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults_are_told),
		cmocka_unit_test(test_copies_are_waited_for),
		cmocka_unit_test(test_mbarriers_are_waited_for),
		cmocka_unit_test(test_text_is_refused),
		cmocka_unit_test(test_nothing_in_text_is_trusted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
