# SPDX-License-Identifier: Apache-2.0
"""test.py: runs CTest in the given build folders, lists what was skipped and why, and sums up.

A program written with cmocka, unittest or pytest counts with each of its tests, any other as one.
Usage: tools/test.py FOLDER... [CTEST OPTION]...; -R REGEX selects tests by name, -L by label.
"""

import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

PASSED = re.compile(r"^\[  PASSED  \] (\d+) test\(s\)", re.M)
PYTEST = re.compile(r"^=*\s*(?:(\d+) failed)?(?:, )?(?:(\d+) passed)?.* in [\d.]+s", re.M)
RAN = re.compile(r"^Ran (\d+) tests? in", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (?:\w+: )?(\d+) test\(s\)", re.M)
# The reason of a skipped test: SKIP of tests/support/skip.h and scripts; pytest -rs; unittest -v.
SKIPPED = re.compile(
    r"^skipped: (?P<one>.+)|"
    r"^SKIPPED \[(?P<count>\d+)\] [^:]+(?::\d+)?: (?P<many>.+)|"
    r"\.\.\. skipped (?P<quote>['\"])(?P<unit>.*)(?P=quote)",
    re.M,
)


def environment():
    """The caller's, without what would change the devices, and with strict sanitizers."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("SITU_") and k != "CUDA_VISIBLE_DEVICES"
    }
    env["SITU_CUDA"] = "0"  # tests count the GPUs that they simulate
    env["SITU_SEED"] = "1"  # a test that passes today passes tomorrow
    root = os.getcwd()
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("LSAN_OPTIONS", f"suppressions={root}/tests/lsan.supp:print_suppressions=0")
    env.setdefault(
        "TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1"
    )
    return env


class Result(collections.namedtuple("Result", "passed failed skipped")):
    """The tests of one program: how many passed and failed, and {reason: tests} of the skipped."""


def skip_reasons(case, text):
    """{reason: number of tests} of the tests that a program skipped."""
    reasons = collections.Counter()
    for match in SKIPPED.finditer(text):
        reason = match["one"] or match["many"] or match["unit"] or "no reason given"
        reasons[reason.strip()] += int(match["count"] or 1)
    if case.find("skipped") is not None and not reasons:
        reasons["no reason given"] = 1
    return reasons


def result_of(case):
    """The Result of one program, from what it printed."""
    text = case.findtext("system-out") or ""
    passed = sum(map(int, PASSED.findall(text)))
    failed = sum(map(int, FAILED.findall(text)))
    for bad, good in PYTEST.findall(text):
        passed, failed = passed + int(good or 0), failed + int(bad or 0)
    skipped = case.find("skipped")
    missing = skipped is not None and "SKIP" not in skipped.get("message", "")
    if (case.get("status") == "fail" or missing) and not failed:
        failed = 1  # it crashed, a sanitizer stopped it, or it was not built
    reasons = {} if missing else skip_reasons(case, text)
    if case.get("status") == "run" and not passed:
        ran = sum(map(int, RAN.findall(text)))
        passed = max(ran - sum(reasons.values()), 0) if ran or reasons else 1
    return Result(passed, failed, reasons)


def print_skipped(results):
    """Lists the skipped tests by program and reason; returns how many there were."""
    lines = [
        (name, reason, number)
        for name, result in results
        for reason, number in result.skipped.items()
    ]
    if lines:
        print("\nskipped:")
    for name, reason, number in sorted(lines):
        print(f"  {name}: {reason}{f' ({number} tests)' if number > 1 else ''}")
    return sum(number for _, _, number in lines)


def fixed_addresses(folder):
    """The thread sanitizer needs memory at its usual places: setarch -R, where that is allowed."""
    with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8") as cache:
        if "SITU_SANITIZE:STRING=thread" not in cache.read():
            return []
    prefix = ["setarch", os.uname().machine, "-R"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return prefix if tried.returncode == 0 else []


def run(folder, more):
    """[(name, Result)] of the test programs of one build folder."""
    report = os.path.abspath(os.path.join(folder, "tests.xml"))
    if os.path.exists(report):
        os.remove(report)
    print(f"=== {folder}", flush=True)
    ctest = [
        "ctest",
        "--test-dir",
        folder,
        "--output-on-failure",
        "--no-tests=error",
        "-j",
        str(os.cpu_count()),
        "--test-output-size-passed",
        "1000000",
        "--test-output-size-failed",
        "1000000",
        "--output-junit",
        report,
    ]
    subprocess.run([*fixed_addresses(folder), *ctest, *more], env=environment(), check=False)
    return [
        (f"{folder}/{case.get('name')}", result_of(case))
        for case in xml.parse(report).getroot().iter("testcase")
    ]


def main(arguments):
    """Folders first; what follows the first option goes to CTest (-R regex)."""
    cut = next((i for i, a in enumerate(arguments) if a.startswith("-")), len(arguments))
    results = [r for folder in arguments[:cut] for r in run(folder, arguments[cut:])]
    passed = sum(result.passed for _, result in results)
    failed = sum(result.failed for _, result in results)
    skipped = print_skipped(results)
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
