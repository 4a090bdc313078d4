# SPDX-License-Identifier: Apache-2.0
"""test_fuzz_targets.py: the targets of tests/fuzz/fuzz_python.py, on few inputs, the same in each
run. `make fuzz` tries more."""

import os
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), os.pardir, "fuzz", "fuzz_python.py")
LISTED = subprocess.run(
    [sys.executable, PROGRAM, "--list"], capture_output=True, text=True, check=False
)


@pytest.mark.parametrize("name", LISTED.stdout.split())
def test_target(name, tmp_path):
    command = [sys.executable, os.path.abspath(PROGRAM), "--runs", "25", name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_targets_are_found():
    assert len(LISTED.stdout.split()) > 20
