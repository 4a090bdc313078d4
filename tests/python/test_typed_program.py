# SPDX-License-Identifier: Apache-2.0
"""test_typed_program.py: the program that type checkers accept (tools/lint.sh) also runs."""

from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "typing" / "program.py"


def test_the_typed_program_runs(python):
    done = python(PROGRAM.read_text(encoding="utf-8"))
    assert done.code == 0, done.err
    assert "Matrix size-incompatible" in done.out
