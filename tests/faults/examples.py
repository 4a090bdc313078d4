# SPDX-License-Identifier: Apache-2.0
"""examples.py: the examples in C while an allocation, a file operation or a thread fails.

Each run must give the output of a run without faults, or an exit code above 0 and a message.
"""

from __future__ import annotations

import glob
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from run_example import Case  # noqa: E402

KINDS = ("memory", "file", "thread")
PATIENCE = 120  # seconds


def mask(text: str) -> str:
    """Removes what may differ: an allocator that cannot grow by much grows by less, and an error
    message may lack the description of its node."""
    text = re.sub(r"\t \[\[Node: .*\n", "", text)
    return re.sub(r"[0-9.]+ ?[KMG]?i?B\b|\d+ bytes|\b(yes|no)\b", "#", text)


class Run(NamedTuple):
    """How a program ended, and the operations that it made."""

    code: int
    out: str
    err: str
    fired: bool
    counts: tuple[int, ...]


class Example:
    """One example in C with the arguments and the environment of one of its cases."""

    def __init__(self, build: str, path: str) -> None:
        self.case = Case(path)
        self.name = "example " + os.path.basename(path).removesuffix(".txt")
        self.build = build

    def run(self, fault: str) -> Run:
        """Runs the example with SITU_FAULT set; empty: only counts."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report")
            env = {k: v for k, v in os.environ.items() if not k.startswith("SITU_")}
            env.update(self.case.env, SITU_CUDA="0", SITU_OPENCL_DEVICES="none", SITU_SEED="1")
            env.update(
                LD_PRELOAD=os.path.join(self.build, "faults", "interpose.so"),
                SITU_FAULT=fault,
                SITU_FAULT_REPORT=report,
            )
            command = self.case.program(os.path.join(self.build, "examples"), "") + self.case.args
            try:
                done = subprocess.run(
                    command,
                    env=env,
                    cwd=folder,
                    capture_output=True,
                    check=False,
                    text=True,
                    timeout=PATIENCE,
                )
            except subprocess.TimeoutExpired:
                return Run(-14, "", "hangs", True, (0, 0, 0))
            if not os.path.exists(report):  # a signal ended it
                return Run(done.returncode, done.stdout, done.stderr, True, (0, 0, 0))
            with open(report, encoding="ascii") as file:
                fired, *counts = map(int, file.read().split())
        return Run(done.returncode, done.stdout, done.stderr, bool(fired), tuple(counts))

    def judge(self, normal: Run, run: Run) -> str | None:
        """Returns what is wrong with a run in which a fault was injected; None: nothing."""
        if run.code < 0:
            return "hangs" if run.code == -14 else f"killed by signal {-run.code}"
        if (run.code, mask(run.out)) == (normal.code, mask(normal.out)):
            return None
        if run.code == 0 and "ResourceExhaustedError: " not in run.out:  # some examples print it
            return "ends with 0, but the output differs"
        return None if run.err.strip() or run.out.strip() else "fails without a message"


def all_examples(build: str) -> list[Example]:
    """One case of each example, the one with the most devices."""
    cases: dict[str, Example] = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "expect", "*.txt"))):
        example = Example(build, path)
        if not example.case.is_python and not example.case.exit:
            cases.setdefault(example.case.name, example)
            if "SITU_SIM_GPUS" in example.case.env:
                cases[example.case.name] = example
    return list(cases.values())
