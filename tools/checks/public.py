# SPDX-License-Identifier: Apache-2.0
"""public.py: what users see: comments in the headers, symbols, and the programs in the texts."""

import re
import subprocess
from pathlib import Path

from checks import text

DECLARED = re.compile(r"^SITU_API\b[^;{]*?\b(situ_\w+)\s*\(", re.M)
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-Ibuild/include"]


def headers(files):
    return [f for f in files if f.parts[:2] == ("include", "situ")]


def comments(files):
    """A comment stands directly above every public function, or above its group."""
    for path in headers(files):
        lines = text.read(path).splitlines()
        for number, match in text.lines_with(DECLARED, text.code(path)):
            above = number - 2
            while above >= 0 and lines[above].strip() and not lines[above].rstrip().endswith("*/"):
                above -= 1
            if above < 0 or not lines[above].strip():
                yield path, number, f"{match.group(1)} has no comment above it"


def symbols(files):
    """libsitu.so shows exactly the functions that the headers declare."""
    library = Path("build/libsitu.so")
    if not library.exists():
        yield library, 1, "is not built: run make"
        return
    done = subprocess.run(
        ["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True
    )
    shown = {line.split()[-1] for line in done.stdout.splitlines()}
    declared = {}
    for path in [*headers(files), *Path("build/include/situ").glob("*.h")]:
        for number, match in text.lines_with(DECLARED, text.code(path)):
            declared.setdefault(match.group(1), (path, number))
    for name in sorted(shown - set(declared)):
        yield library, 1, f"shows {name}, which no header declares with SITU_API"
    for name in sorted(set(declared) - shown):
        yield *declared[name], f"{name} is declared and not defined"


def blocks(files):
    """The C programs in README and docs compile."""
    for path in files:
        if path.name != "README.md" and path.parts[0] != "docs" or path.suffix != ".md":
            continue
        for number, match in text.lines_with(r"(?sm)^```c\n(.*?)^```", text.read(path)):
            done = subprocess.run(
                ["cc", *FLAGS, "-x", "c", "-"],
                input=match.group(1),
                text=True,
                capture_output=True,
                check=False,
            )
            if done.returncode:
                error = next((e for e in done.stderr.splitlines() if "error" in e), "")
                yield path, number, f"this program does not compile: {error}"
