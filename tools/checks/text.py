# SPDX-License-Identifier: Apache-2.0
"""text.py: reading C for the checks: without comments and strings, and its functions by ctags."""

import functools
import re
import subprocess
from pathlib import Path

TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


@functools.cache
def read(path):
    return Path(path).read_text(encoding="utf-8")


def blank(match):
    """The same number of lines, and nothing in them."""
    return re.sub(r"[^\n]", " ", match.group())


@functools.cache
def code(path):
    """The text of a C file in which comments and strings are blanks: lines stay where they are."""
    return TOKEN.sub(blank, read(path))


@functools.cache
def without_comments(path):
    """Strings stay."""
    return TOKEN.sub(lambda m: blank(m) if m.group()[0] == "/" else m.group(), read(path))


def lines_with(pattern, text):
    """(line number, match) of every match."""
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match


def functions(files):
    """(path, name, first line, last line, is static) of every function defined in C files."""
    paths = [str(f) for f in files if f.suffix in (".c", ".h")]
    if not paths:
        return
    done = subprocess.run(
        [
            "ctags",
            "-f",
            "-",
            "--languages=C",
            "--langmap=C:.c.h",
            "--kinds-C=f",
            "--fields=+ne",
            "--excmd=number",
            "-L",
            "-",
        ],
        input="\n".join(paths),
        text=True,
        capture_output=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        name, path, _, *fields = line.split("\t")
        values = dict(f.split(":", 1) for f in fields if ":" in f)
        first = int(values["line"])
        yield Path(path), name, first, int(values.get("end", first)), "file" in values
