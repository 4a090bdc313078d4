# SPDX-License-Identifier: Apache-2.0
"""test.py: runs CTest in the given build folders and closes on one line with the sum of all tests.

A program written with cmocka, unittest or pytest counts with each of its tests, any other as one.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

PASSED = re.compile(r"^\[  PASSED  \] (\d+) test\(s\)", re.M)
PYTEST = re.compile(r"^=*\s*(?:(\d+) failed)?(?:, )?(?:(\d+) passed)?.* in [\d.]+s", re.M)
RAN = re.compile(r"^Ran (\d+) tests? in", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (?:\w+: )?(\d+) test\(s\)", re.M)


def environment():
    """The caller's, without what would change the devices, and with strict sanitizers."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("SITU_") and k != "CUDA_VISIBLE_DEVICES"}
    env["SITU_CUDA"] = "0"  # tests count the GPUs that they simulate
    env["SITU_SEED"] = "1"  # a test that passes today passes tomorrow
    root = os.getcwd()
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("LSAN_OPTIONS", f"suppressions={root}/tests/lsan.supp:print_suppressions=0")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1:"
                   "allocator_may_return_null=1")
    return env


def count(case):
    """(passed, failed) of one program, from what it printed."""
    text = case.findtext("system-out") or ""
    passed = sum(map(int, PASSED.findall(text)))
    failed = sum(map(int, FAILED.findall(text)))
    for bad, good in PYTEST.findall(text):
        passed, failed = passed + int(good or 0), failed + int(bad or 0)
    skipped = case.find("skipped")
    missing = skipped is not None and "SKIP" not in skipped.get("message", "")
    if (case.get("status") == "fail" or missing) and not failed:
        failed = 1  # it crashed, a sanitizer stopped it, or it was not built
    if case.get("status") == "run" and not passed:
        passed = sum(map(int, RAN.findall(text))) or 1
    return passed, failed


def fixed_addresses(folder):
    """The thread sanitizer needs memory at its usual places: setarch -R, where that is allowed."""
    with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8") as cache:
        if "SITU_SANITIZE:STRING=thread" not in cache.read():
            return []
    prefix = ["setarch", os.uname().machine, "-R"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else []


def run(folder, more):
    report = os.path.abspath(os.path.join(folder, "tests.xml"))
    if os.path.exists(report):
        os.remove(report)
    print(f"=== {folder}", flush=True)
    ctest = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error",
             "-j", str(os.cpu_count()), "--test-output-size-passed", "1000000",
             "--test-output-size-failed", "1000000", "--output-junit", report]
    subprocess.run([*fixed_addresses(folder), *ctest, *more], env=environment(), check=False)
    return [count(case) for case in xml.parse(report).getroot().iter("testcase")]


def main(arguments):
    """Folders first; what follows the first option is handed to CTest (-R regex)."""
    cut = next((i for i, a in enumerate(arguments) if a.startswith("-")), len(arguments))
    counts = [c for folder in arguments[:cut] for c in run(folder, arguments[cut:])]
    passed, failed = sum(c[0] for c in counts), sum(c[1] for c in counts)
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
