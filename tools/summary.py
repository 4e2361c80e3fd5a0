"""Reads lit's JSON report; prints "N passed, N failed, N skipped" last; exits 1 unless all is well."""
import json
import sys

try:
    with open(sys.argv[1]) as report:
        tests = json.load(report)["tests"]
except (OSError, ValueError, KeyError) as problem:
    print("no test report: %s" % problem)
    print("0 passed, 1 failed, 0 skipped")
    sys.exit(1)

passed = failed = skipped = 0
for test in tests:
    code = test["code"]
    if code in ("PASS", "XFAIL", "FLAKYPASS"):
        passed += 1
    elif code in ("UNSUPPORTED", "EXCLUDED", "SKIPPED"):
        skipped += 1
    else:  # FAIL, XPASS, UNRESOLVED, TIMEOUT
        failed += 1
        print("%s: %s" % (code, test["name"]))
print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
sys.exit(1 if failed or not passed else 0)
