# SPDX-License-Identifier: Apache-2.0
"""source.py: sizes, first lines, and words that a source file may not hold."""

import re

from checks import text

LINES = {".c": 600, ".h": 300, ".cl": 400, ".py": 800}
FUNCTION_LINES = 60
COLUMNS = 100
WIDE = (".c", ".h", ".cl", ".def", ".py", ".cpp")
OPENED = {
    ".c": "/*",
    ".h": "/*",
    ".cl": "/*",
    ".def": "/*",
    ".map": "/*",
    ".cpp": "//",
    ".py": "#",
    ".sh": "#",
    ".cmake": "#",
}
SPDX = "SPDX-License-Identifier: Apache-2.0"
# The library never ends its caller's process and never jumps.
BANNED = r"\b(goto\b|abort\s*\(|_?exit\s*\(|quick_exit\s*\(|assert\s*\()"
# The few ops that the engine itself makes or cuts, not only runs.
ENGINE_OPS = {"Const", "Placeholder", "Identity", "NoOp"}


def is_library(path):
    return path.parts[0] == "src"


def sizes(files):
    """Files have few lines, and lines few columns."""
    for path in files:
        if path.suffix not in WIDE:
            continue
        lines = text.read(path).splitlines()
        cap = LINES.get(path.suffix)
        if cap and len(lines) > cap:
            yield path, cap + 1, f"{len(lines)} lines, at most {cap}: split it by noun"
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                yield path, number, f"{len(line)} columns, at most {COLUMNS}"


def functions(files):
    """Functions are short."""
    for path, name, first, last, _ in text.functions(files):
        if last - first + 1 > FUNCTION_LINES:
            yield path, first, f"{name} has {last - first + 1} lines, at most {FUNCTION_LINES}"


def first_lines(files):
    """A file opens with its licence and with what it is for."""
    for path in files:
        if path.suffix not in OPENED and path.name not in ("Makefile", "CMakeLists.txt"):
            continue
        lines = text.read(path).splitlines()
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        mark = OPENED.get(path.suffix, "#")
        if not lines or lines[0] != f"{mark} {SPDX}":
            yield path, 1, f"must open with '{mark} {SPDX}'"
        elif len(lines) < 2 or not re.match(rf"(\W*){re.escape(path.name)}: \S", lines[1]):
            yield path, 2, f"must say on its second line '{path.name}: what it is for'"


def words(files):
    """No goto, no abort, no exit in the library."""
    for path in filter(is_library, files):
        if path.suffix in (".c", ".h", ".def"):
            for number, match in text.lines_with(BANNED, text.code(path)):
                yield path, number, f"the library may not use {match.group(1).rstrip('( ')}"


def decimals(files):
    """In kernels a decimal constant has a type: (T)0.5, for a bare one is f64 on a GPU."""
    number = r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
    for path in files:
        if path.suffix not in (".cl", ".def"):
            continue
        code = text.code(path)
        for line, match in text.lines_with(number, code):
            if not re.search(r"\(\w+\)\s*-?\s*$", code[: match.start()]):
                yield path, line, f"bare constant {match.group()}: write (T){match.group()}"


def defined_ops(files):
    """Returns the names of the ops in the op definitions of src/ops."""
    found = set()
    for path in files:
        if path.parts[:2] == ("src", "ops"):
            found |= set(re.findall(r"\.name\s*=\s*\"(\w+)\"", text.without_comments(path)))
            if path.suffix == ".def":
                found |= set(re.findall(r"^[A-Z_]+\((\w+),", text.code(path), re.M))
    return found


DATASET_KINDS = {"Batch", "Unbatch"}  # kinds of datasets with the name of an op


def op_names(files):
    """Only src/ops refers to ops by name."""
    names = defined_ops(files) - ENGINE_OPS
    for path in files:
        if path.suffix not in (".c", ".h") or path.parts[0] not in ("src", "cli"):
            continue
        if path.parts[:2] == ("src", "ops"):
            continue
        for line, match in text.lines_with(r'"(\w+)"', text.without_comments(path)):
            is_kind = path.parts[:2] == ("src", "data") and match.group(1) in DATASET_KINDS
            if match.group(1) in names and not is_kind:
                yield path, line, f"the op {match.group(1)} is named outside src/ops"


def flags(files):
    """Flags of one enum have bits of their own."""
    for path in filter(is_library, files):
        if path.suffix != ".h":
            continue
        code = text.code(path)
        for body in re.finditer(r"\benum\s+\w*flags\s*\{([^}]*)\}", code):
            seen = {}
            for flag in re.finditer(r"(\w+)\s*=\s*(\d+)", body.group(1)):
                name, number = flag.groups()
                other = seen.setdefault(int(number), name)
                if other != name:
                    line = code.count("\n", 0, body.start(1) + flag.start()) + 1
                    yield path, line, f"{name} is {number}, as {other} is"
