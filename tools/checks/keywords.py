# SPDX-License-Identifier: Apache-2.0
"""keywords.py: no function of the Python API may ignore a keyword argument that it accepts.

A parameter `**name` must be passed on, stored or checked as a whole. A function that only reads
some of its keys (`name.get("x")`, `name.pop("x")`, `name["x"]`, `"x" in name`), or none, would
accept a misspelt argument without effect. `*name` must be read, unless its name begins with an
underscore (a callback that is passed more than it needs) or the function is an `__exit__`.
"""

import ast
from pathlib import Path

_READS_ONE_KEY = ("get", "pop", "setdefault", "update")


def _parents(tree):
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _reads_one_key(use, parents):
    """Whether a use of the dictionary looks at one of its keys, or only writes to it."""
    above = parents[use]
    if isinstance(above, ast.Attribute):
        return above.attr in _READS_ONE_KEY
    if isinstance(above, ast.Subscript):
        return above.value is use
    return isinstance(above, ast.Compare) and use in above.comparators


def _uses(function, name):
    body = function.body if isinstance(function.body, list) else [function.body]
    return [
        node
        for part in body
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and node.id == name
    ]


def _swallows_keywords(function, parents):
    name = function.args.kwarg and function.args.kwarg.arg
    return name is not None and all(_reads_one_key(use, parents) for use in _uses(function, name))


def _swallows_positions(function):
    name = function.args.vararg and function.args.vararg.arg
    if name is None or name.startswith("_") or getattr(function, "name", "") == "__exit__":
        return False
    return not _uses(function, name)


def _only_raises(function):
    """Whether a function does nothing but raise an error, whatever it is given."""
    body = function.body if isinstance(function.body, list) else []
    return bool(body) and all(
        isinstance(part, ast.Raise)
        or isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Constant)
        for part in body
    )


def problems_of(path, text):
    """The problems of one file, as (path, line, text)."""
    tree = ast.parse(text)
    parents = _parents(tree)
    for node in ast.walk(tree):
        if not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        ) or _only_raises(node):
            continue
        name = getattr(node, "name", "lambda")
        if _swallows_keywords(node, parents):
            yield (
                path,
                node.lineno,
                f"{name}() ignores unknown keywords of "
                f"**{node.args.kwarg.arg}: name them, or reject them",
            )
        if _swallows_positions(node):
            yield path, node.lineno, f"{name}() ignores *{node.args.vararg.arg}"


def swallowed(files):
    """Functions in python/ that accept arguments and ignore them."""
    for path in files:
        if path.suffix == ".py" and Path("python") in path.parents:
            yield from problems_of(path, path.read_text())
