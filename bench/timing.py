"""How peers are timed in their own process: warm, then one sample a call."""
import json
import time


def report(call, version, warm_up=0.1, sampled=0.4, least=10):
    """Prints JSON: the median and the least time of a call in ns."""
    start = time.perf_counter()
    while time.perf_counter() - start < warm_up:
        call()
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < sampled or len(times) < least:
        before = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - before)
    times.sort()
    print(json.dumps({"median_ns": times[len(times) // 2], "min_ns": times[0], "version": version}))
