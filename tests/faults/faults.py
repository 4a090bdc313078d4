# SPDX-License-Identifier: Apache-2.0
"""faults.py: runs programs again and again; in each run another operation fails (make faults).

Examples in C run in a process per fault, programs in Python (programs.py) in a forked child per
fault. Allocations, file operations and thread creations fail through interpose.c, device calls
through the options of simulated GPUs.

Usage: faults.py BUILD [--short] [--only TEXT] [--kind KIND] [--at N]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

import examples

FOLDER = os.path.dirname(os.path.abspath(__file__))
ALL_UP_TO = 300  # each operation up to this one fails; later ones are sampled


def numbers(count: int, short: bool) -> list[int]:
    """The operations that fail: all at first, then a sample with growing distances."""
    bound = 10 if short else ALL_UP_TO
    chosen = list(range(1, min(count, bound) + 1))
    at = float(bound)
    while (at := at * (1.5 if short else 1.05) + 1) < count:
        chosen.append(int(at))
    return chosen


class Summary:
    """Counts the runs and collects what went wrong."""

    def __init__(self) -> None:
        self.runs = self.errors = self.unaffected = 0
        self.problems: list[str] = []

    def add(self, failed: bool, problem: str | None) -> None:
        """Adds one run."""
        self.runs += 1
        self.errors += failed
        self.unaffected += not failed and not problem
        if problem:
            self.problems.append(problem)
            print(f"  PROBLEM {problem}", flush=True)


def run_example(example: examples.Example, options: argparse.Namespace, summary: Summary) -> None:
    """Lets operations of an example fail, several processes at a time."""
    normal = example.run("")
    if normal.code < 0:
        summary.add(False, f"{example.name}: code {normal.code} without a fault: {normal.err}")
        return
    faults = [
        f"{kind}:{n}{suffix}"
        for index, kind in enumerate(examples.KINDS)
        if options.kind in (None, kind)
        for suffix in ("", "+")
        for n in numbers(normal.counts[index], options.short or bool(suffix))
        if options.at in (None, n)
    ]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for fault, run in zip(faults, pool.map(example.run, faults)):
            problem = example.judge(normal, run)
            text = f"{example.name} SITU_FAULT={fault}: {problem}" if problem else None
            summary.add(run.code != normal.code, text)
    operations = ", ".join(f"{n} {kind}" for n, kind in zip(normal.counts, examples.KINDS))
    seconds = time.monotonic() - begin
    print(f"{example.name}: {len(faults)} faults ({operations}), {seconds:.0f} s", flush=True)


def run_programs(options: argparse.Namespace, summary: Summary) -> None:
    """Lets operations of the Python programs fail: a process per program, one per core."""
    sys.path.insert(0, FOLDER)
    import programs

    def start(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, os.path.join(FOLDER, "programs.py"), options.build, name]
        command += ["--short"] * options.short
        command += ["--kind", options.kind] if options.kind else []
        command += ["--at", str(options.at)] if options.at else []
        env = {k: v for k, v in os.environ.items() if not k.startswith("SITU_")}
        env.update(
            LD_PRELOAD=os.path.join(options.build, "faults", "interpose.so"),
            SITU_CUDA="0",
            SITU_OPENCL_DEVICES="none",
            SITU_SEED="1",
            SITU_THREADS="2",
        )
        return subprocess.run(command, env=env, check=False, stdout=subprocess.PIPE, text=True)

    names = [name for name in programs.PROGRAMS if options.only in f"python {name}"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in zip(names, pool.map(start, names)):
            if done.returncode:
                summary.add(False, f"python {name}: ended with {done.returncode}")
            for line in done.stdout.splitlines():
                word, _, text = line.partition(" ")
                if word == "run":
                    summary.add(text == "error", None)
                elif word == "problem":
                    summary.add(False, f"python {name} {text}")
                else:
                    print(f"python {name}: {line}", flush=True)


def main() -> int:
    """Runs everything and prints a summary; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--short", action="store_true", help="a sample, for make test")
    parser.add_argument("--only", default="", help="programs whose names contain this text")
    parser.add_argument("--kind", help="memory, file, thread, device-memory or device-lost")
    parser.add_argument("--at", type=int, help="this operation only")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    begin, summary = time.monotonic(), Summary()
    chosen = [e for e in examples.all_examples(options.build) if options.only in e.name]
    for example in chosen[:: 4 if options.short else 1]:
        run_example(example, options, summary)
    run_programs(options, summary)
    print(
        f"{summary.runs} faults in {time.monotonic() - begin:.0f} s: {summary.errors} errors, "
        f"{summary.unaffected} without effect, {len(summary.problems)} problems"
    )
    return 1 if summary.problems or not summary.runs else 0


if __name__ == "__main__":
    sys.exit(main())
