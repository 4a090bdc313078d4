# SPDX-License-Identifier: Apache-2.0
"""mirror.py: tests/ mirrors src/: every source file has a test at the mirrored path, or stands in
tests/COVERAGE with the tests that cover it."""

from pathlib import Path

from checks import text

LIST = Path("tests/COVERAGE")


def test_of(source):
    """The mirrored path: src/plan/prune.c -> tests/plan/test_prune.c."""
    return Path("tests", *source.parts[1:-1], f"test_{source.name}")


def entries():
    """(line number, source file, its tests) for each line of the list."""
    for number, line in enumerate(text.read(LIST).splitlines(), 1):
        paths = [Path(word) for word in line.partition("#")[0].split()]
        if paths:
            yield number, paths[0], paths[1:]


def problems_of(source, tests, known):
    """What is wrong with a line of the list."""
    if source not in known:
        yield f"{source} does not exist"
    elif test_of(source) in known:
        yield f"{source} has {test_of(source)}: remove this line"
    if not tests:
        yield f"no test is named for {source}"
    for test in tests:
        if test not in known:
            yield f"{test} does not exist"


def mirrored(files):
    """Source files without a test, and stale lines of the list."""
    known, listed = set(files), set()
    for number, source, tests in entries() if LIST.exists() else ():
        listed.add(source)
        for problem in problems_of(source, tests, known):
            yield LIST, number, problem
    for path in files:
        is_source = path.parts[0] == "src" and path.suffix == ".c"
        if is_source and path not in listed and test_of(path) not in known:
            yield path, 1, f"has no {test_of(path)} and is not in {LIST}"
