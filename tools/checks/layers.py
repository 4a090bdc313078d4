# SPDX-License-Identifier: Apache-2.0
"""layers.py: a file includes its own folder and lower ones; src/LAYERS gives the ranks."""

import re

from checks import text

INCLUDE = r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]'
OUTSIDE = ("cli", "examples", "python")
MADE_FROM_OPS = "situ/ops.h"


def ranks():
    pairs = (
        line.split()
        for line in text.read("src/LAYERS").splitlines()
        if line.strip() and not line.startswith("#")
    )
    return {folder: int(rank) for rank, folder in pairs}


def library_include(path, name, rank):
    """What is wrong with an include "name" of a file in src/, or None."""
    own, _, rest = name.partition("/")
    here = path.parts[1]
    if name == MADE_FROM_OPS:
        return f"{name} is made from the library"
    if own == "situ":
        return None
    if not rest or own not in rank:
        return f'write "folder/file.h" below src/, not "{name}"'
    if own != here and rank[own] >= rank[here]:
        return f"{here} (rank {rank[here]}) may not include {own} (rank {rank[own]})"
    return None


def includes(files):
    """Library files look down; programs and bindings see <situ/...> only."""
    rank = ranks()
    for path in files:
        if path.suffix not in (".c", ".h", ".cl", ".def"):
            continue
        for line, match in text.lines_with(re.compile(INCLUDE, re.M), text.without_comments(path)):
            quote, name = match.groups()
            problem = None
            if path.parts[0] == "src" and path.parts[1] not in rank:
                problem = f"folder {path.parts[1]} has no rank in src/LAYERS"
            elif path.parts[0] == "src" and quote == '"':
                problem = library_include(path, name, rank)
            elif path.parts[0] in OUTSIDE and quote == '"':
                if not (path.parent / name).is_file():
                    problem = f'include <situ/...>, not "{name}"'
            if problem:
                yield path, line, problem
