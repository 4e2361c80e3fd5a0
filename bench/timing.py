"""How peers are timed in their own process, as `tsr bench` and peer_timing.h do: warm; a sample is as many calls as
take a millisecond, so that the clock's grain does not matter."""
import json
import time

WARM_UP, SAMPLE, LEAST, LONGEST = 1e8, 1e6, 2e8, 2e9  # nanoseconds


def timed(call, calls):
    before = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - before) / calls


def report(call, warm_up=WARM_UP):
    """Prints JSON: the median and the least time of a call in ns."""
    start, calls = time.perf_counter_ns(), 0
    while calls < 2 or time.perf_counter_ns() - start < warm_up:
        call()
        calls += 1
    one = (time.perf_counter_ns() - start) / calls
    calls, times = max(1, int(SAMPLE / one) + 1 if one < SAMPLE else 1), []
    start = time.perf_counter_ns()
    while True:
        times.append(timed(call, calls))
        passed = time.perf_counter_ns() - start
        if passed > LEAST and len(times) >= 10 or passed > LONGEST and len(times) >= 3:
            break
    times.sort()
    print(json.dumps({"median_ns": times[len(times) // 2], "min_ns": times[0]}))
