# SPDX-License-Identifier: Apache-2.0
"""test_runner.py: what tools/test.py reads from the output of the test programs."""

import io
import sys
import unittest
import xml.etree.ElementTree as xml
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import test as runner


def case(output, status="run", skipped=None):
    """A test case as CTest writes it."""
    element = xml.Element("testcase", name="t", status=status)
    xml.SubElement(element, "system-out").text = output
    if skipped is not None:
        xml.SubElement(element, "skipped", message=skipped)
    return element


class Results(unittest.TestCase):
    """result_of for each framework."""

    def check(self, expected, *arguments, **named):
        result = runner.result_of(case(*arguments, **named))
        self.assertEqual(expected, (result.passed, result.failed, dict(result.skipped)))

    def test_cmocka(self):
        self.check((3, 0, {}), "[==========] 3 test(s) run.\n[  PASSED  ] 3 test(s).\n")
        self.check(
            (2, 1, {}),
            "[  PASSED  ] 2 test(s).\n[  FAILED  ] tests: 1 test(s), listed\n",
            status="fail",
        )
        self.check(
            (2, 0, {"no GPU": 2}),
            "skipped: no GPU\n[  SKIPPED ] a\nskipped: no GPU\n"
            "[  SKIPPED ] b\n[  PASSED  ] 2 test(s).\n",
        )

    def test_pytest(self):
        self.check((5, 0, {}), ".....\n5 passed in 0.12s\n")
        self.check((4, 1, {}), "1 failed, 4 passed in 2.30s\n", status="fail")
        self.check(
            (4, 0, {"no mpirun": 3}),
            "SKIPPED [3] tests/python/test_a.py:12: no mpirun\n4 passed, 3 skipped in 0.5s\n",
        )
        self.check(
            (0, 0, {"no h5py": 1}),
            "SKIPPED [1] tests/python/test_a.py: no h5py\n1 skipped in 0.5s\n",
        )

    def test_unittest(self):
        self.check((7, 0, {}), "Ran 7 tests in 0.01s\n\nOK\n")
        self.check(
            (6, 0, {"no /dev/full": 1}),
            "test_a (t.T) ... skipped 'no /dev/full'\nRan 7 tests in 0.01s\n\nOK (skipped=1)\n",
        )

    def test_scripts(self):
        self.check((1, 0, {}), "whatever it prints")
        self.check((0, 1, {}), "crashed", status="fail")
        self.check(
            (0, 0, {"../shared is not there": 1}),
            "skipped: ../shared is not there\n",
            status="notrun",
            skipped="SKIP_RETURN_CODE=77",
        )
        self.check((0, 1, {}), "", status="notrun", skipped="Unable to find executable")

    def test_summary_names_program_and_reason(self):
        out = io.StringIO()
        with redirect_stdout(out):
            total = runner.print_skipped(
                [
                    ("b/x", runner.Result(1, 0, {"no GPU": 2, "slow": 1})),
                    ("b/y", runner.Result(1, 0, {})),
                ]
            )
        self.assertEqual(3, total)
        self.assertEqual("\nskipped:\n  b/x: no GPU (2 tests)\n  b/x: slow\n", out.getvalue())


if __name__ == "__main__":
    unittest.main()
