/* The pool of threads: every chunk once, whoever calls, however many threads there are. The same
 * under the thread sanitizer, which test/lit/runtime/pool.test runs where the compiler has one. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "runtime/tsr.h"

enum { PIECES = 64, ROUNDS = 300 };

typedef struct Sum {
	int32_t times[PIECES]; /* each element belongs to one chunk */
	tsr_call call;         /* of the nested run */
} Sum;

static void count_piece(void *arg, int32_t i)
{
	((Sum *)arg)->times[i]++;
}

static tsr_pool *new_pool(int32_t threads)
{
	tsr_error error;
	tsr_pool *pool = tsr_pool_new(threads, &error);
	assert_non_null(pool);
	return pool;
}

static void run(const tsr_call *call, int32_t n, void (*task)(void *, int32_t), void *arg)
{
	call->parallel(call->pool, n, task, arg);
}

static void every_piece_runs_once(void **state)
{
	(void)state;
	for (int32_t threads = 1; threads <= 7; threads += 2) {
		tsr_pool *pool = new_pool(threads);
		tsr_call call = {.abi = TSR_ABI};
		tsr_pool_call(pool, &call);
		assert_int_equal(tsr_pool_threads(pool), threads);
		Sum sum = {0};
		int32_t expected[PIECES] = {0};
		for (int32_t round = 0; round < ROUNDS; round++) {
			int32_t n = round % (PIECES + 1);
			run(&call, n, count_piece, &sum);
			for (int32_t i = 0; i < n; i++)
				expected[i]++;
		}
		assert_memory_equal(sum.times, expected, sizeof expected);
		tsr_pool_free(pool);
	}
}

static void sleeping_workers_wake(void **state)
{
	(void)state;
	tsr_pool *pool = new_pool(3);
	tsr_call call;
	tsr_pool_call(pool, &call);
	Sum sum = {0};
	for (int round = 0; round < 5; round++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		run(&call, PIECES, count_piece, &sum);
	}
	for (int32_t i = 0; i < PIECES; i++)
		assert_int_equal(sum.times[i], 5);
	tsr_pool_free(pool);
}

static void nest(void *arg, int32_t i)
{
	Sum *outer = arg, inner = {0};
	run(&outer->call, 5, count_piece, &inner);
	for (int32_t k = 0; k < 5; k++)
		outer->times[i] += inner.times[k];
}

static void a_nested_call_is_serial(void **state)
{
	(void)state;
	tsr_pool *pool = new_pool(4);
	Sum sum = {0};
	tsr_pool_call(pool, &sum.call);
	run(&sum.call, PIECES, nest, &sum);
	for (int32_t i = 0; i < PIECES; i++)
		assert_int_equal(sum.times[i], 5);
	tsr_pool_free(pool);
}

static void *caller(void *arg)
{
	const tsr_call *call = arg;
	Sum *sum = calloc(1, sizeof *sum);
	for (int round = 0; sum && round < ROUNDS; round++)
		run(call, PIECES, count_piece, sum);
	return sum;
}

static void threads_share_a_pool(void **state)
{
	(void)state;
	tsr_pool *pool = new_pool(3);
	tsr_call call;
	tsr_pool_call(pool, &call);
	pthread_t threads[3];
	for (int k = 0; k < 3; k++)
		assert_int_equal(pthread_create(&threads[k], NULL, caller, &call), 0);
	for (int k = 0; k < 3; k++) {
		void *sum;
		pthread_join(threads[k], &sum);
		assert_non_null(sum);
		for (int32_t i = 0; i < PIECES; i++)
			assert_int_equal(((Sum *)sum)->times[i], ROUNDS);
		free(sum);
	}
	tsr_pool_free(pool);
}

static void an_unused_pool_ends(void **state)
{
	(void)state;
	for (int32_t threads = 0; threads < 4; threads++)
		tsr_pool_free(new_pool(threads));
	tsr_pool_free(NULL);
}

static void a_wrong_number_of_threads_fails(void **state)
{
	(void)state;
	tsr_error error;
	assert_null(tsr_pool_new(-1, &error));
	assert_int_equal(error.code, TSR_FAIL_TYPE);
	assert_non_null(strstr(error.text, "1 to 1024"));
	assert_null(tsr_pool_new(1025, NULL));
}

static void no_pool_is_serial(void **state)
{
	(void)state;
	tsr_call call = {.abi = TSR_ABI};
	tsr_pool_call(NULL, &call);
	assert_true(call.parallel == NULL);
}

typedef struct Meeting {
	atomic_int here;
	int cpus[2];
} Meeting;

/* Waits for the other chunk, so that two threads run them. */
static void meet(void *arg, int32_t i)
{
	Meeting *meeting = arg;
	atomic_fetch_add(&meeting->here, 1);
	while (atomic_load(&meeting->here) < 2)
		sched_yield();
	meeting->cpus[i] = sched_getcpu();
}

static void go_to(int cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void a_worker_makes_room_for_the_caller(void **state)
{
	(void)state;
	cpu_set_t before;
	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	if (CPU_COUNT(&before) < 2)
		skip();
	tsr_pool *pool = new_pool(2);
	tsr_call call = {.abi = TSR_ABI};
	tsr_pool_call(pool, &call);
	go_to(sched_getcpu()); /* the system moves the caller no more */
	for (int round = 0; round < 4; round++) {
		Meeting meeting = {0};
		run(&call, 2, meet, &meeting);
		assert_int_not_equal(meeting.cpus[0], meeting.cpus[1]);
		go_to(meeting.cpus[meeting.cpus[0] == sched_getcpu()]);
	}
	tsr_pool_free(pool);
	assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_piece_runs_once),
		cmocka_unit_test(sleeping_workers_wake),
		cmocka_unit_test(a_nested_call_is_serial),
		cmocka_unit_test(threads_share_a_pool),
		cmocka_unit_test(an_unused_pool_ends),
		cmocka_unit_test(a_wrong_number_of_threads_fails),
		cmocka_unit_test(no_pool_is_serial),
		cmocka_unit_test(a_worker_makes_room_for_the_caller),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
