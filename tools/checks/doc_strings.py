# SPDX-License-Identifier: Apache-2.0
"""doc_strings.py: exported functions and classes are annotated and explain their arguments.

An exported function or class has a decorator whose name contains "export". A parameter is
explained by a line "name: ..." or "first, second: ..." of the doc string. Methods may inherit doc
strings, so only those of classes without bases must have one.
"""

import ast
import re
from pathlib import Path

FOLDER = Path("python/situ")
IMPLIED = ("self", "cls", "name")


def is_exported(node):
    return any("export" in ast.unparse(d) for d in getattr(node, "decorator_list", ()))


def parameters(function):
    """All parameters of a function but self and cls."""
    arguments = function.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found += [a for a in (arguments.vararg, arguments.kwarg) if a]
    return [p for p in found if p.arg not in ("self", "cls")]


def unannotated(function):
    """The names of the parameters without annotation, and "return"."""
    names = [p.arg for p in parameters(function) if p.annotation is None]
    needs_result = function.name != "__init__" and function.returns is None
    return names + ["return"] * needs_result


def unexplained(function):
    """The parameters that the doc string does not explain."""
    lines = re.findall(r"^\s+([\w*, ]+):", ast.get_docstring(function) or "", re.M)
    known = {word for line in lines for word in re.findall(r"\w+", line)}
    names = [p.arg for p in parameters(function)]
    return [n for n in names if n not in known and n not in IMPLIED and n[0] != "_"]


def problems_of_function(function, must_explain):
    missing = unannotated(function)
    if missing:
        yield f"{function.name}() has no annotation of {', '.join(missing)}"
    if not must_explain:
        return
    if not ast.get_docstring(function):
        yield f"{function.name}() has no doc string"
    elif unexplained(function):
        yield f"{function.name}() does not explain {', '.join(unexplained(function))}"


def has_doc(node):
    return ast.get_docstring(node) or any(
        isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "__doc__"
        for part in node.body
    )


def problems_of_class(node):
    """(line, text) for each problem of an exported class."""
    if not has_doc(node):
        yield node.lineno, f"{node.name} has no doc string"
    for part in node.body:
        if not isinstance(part, ast.FunctionDef) or part.name.startswith("_"):
            continue
        if any("setter" in ast.unparse(d) for d in part.decorator_list):
            continue
        for text in problems_of_function(part, False):
            yield part.lineno, f"{node.name}.{text}"
        if not node.bases and not ast.get_docstring(part):
            yield part.lineno, f"{node.name}.{part.name}() has no doc string"


def explained(files):
    """Exported functions and classes without annotations or explanations."""
    for path in files:
        if path.suffix != ".py" or FOLDER not in path.parents:
            continue
        for node in filter(is_exported, ast.parse(path.read_text()).body):
            if isinstance(node, ast.FunctionDef):
                for text in problems_of_function(node, True):
                    yield path, node.lineno, text
            elif isinstance(node, ast.ClassDef):
                for line, text in problems_of_class(node):
                    yield path, line, text
