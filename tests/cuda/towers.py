# SPDX-License-Identifier: Apache-2.0
"""towers.py: steps of training on two CUDA devices give what two simulated GPUs give.

Usage: towers.py BUILD EXAMPLE [TOLERANCE]. CUDA is what the environment shows: the stand-in.
"""

import os
import re
import subprocess
import sys

NUMBER = re.compile(r"-?\d+\.\d+")


def run(build, example, env, *options):
    """What the program prints."""
    done = subprocess.run(
        [f"{build}/situ", "run", *options, example],
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{example} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    build, example = sys.argv[1:3]
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 2e-4  # of numbers with four digits
    simulated = run(build, example, {**os.environ, "SITU_CUDA": "0"}, "--gpus", "2")
    cuda = run(build, example, os.environ, "--log-placement")
    placed = {f"GPU:{i}": cuda.count(f"device:GPU:{i}") for i in range(2)}
    if "CUDA stand-in" not in cuda or not all(placed.values()):
        sys.exit(f"{example} did not run on two devices of the stand-in:\n{cuda}")
    steps = [line for line in cuda.splitlines() if line.startswith(("step", "hidden"))]
    want, have = (list(map(float, NUMBER.findall(text))) for text in (simulated, "\n".join(steps)))
    if len(want) != len(have) or any(abs(a - b) > tolerance for a, b in zip(want, have)):
        sys.exit(f"The devices do not agree:\n{simulated}\n{cuda}")
    print(f"{len(have)} numbers agree within {tolerance}; nodes: {placed}")


main()
