# SPDX-License-Identifier: Apache-2.0
"""keywords.py: no function of the Python API may ignore an argument that it accepts.

A parameter `**name` must be passed on, stored or checked as a whole. A function that only reads
some of its keys (`name.get("x")`, `name.pop("x")`, `name["x"]`, `"x" in name`), or none, would
accept a misspelt argument without effect. To pass it to a private function of the module as one
argument (`_helper(name)`) is to read what that function reads. `*name` must be read, unless its
name begins with an underscore (a callback that is passed more than it needs) or the function is an
`__exit__`.

A named parameter must be read, too. An argument that cannot change a result (a hint for speed,
say) is deleted, with the reason behind it: `del swap_memory  # tensors stay where they are`.
Methods whose parameters are set by their caller (`on_epoch_end`, `before_run`) need not read them.
"""

import ast
import re
from pathlib import Path

_READS_ONE_KEY = ("get", "pop", "setdefault", "update")

# Methods that a framework calls, with more than each of them needs.
_CALLBACKS = re.compile(
    r"on_\w+|begin|before_run|after_run|end|after_create_session|before_save|after_save"
    r"|__\w+__|find_spec|build|compute_mask|compute_output_shape|_situ_value_"
)
_SIGNATURES_OF_CALLERS = ("__init__", "__new__", "__call__")


def _parents(tree):
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _reads_one_key(use, parents, helpers):
    """Whether a use of the dictionary looks at one of its keys, or only writes to it: here, or in a
    private helper of the module that it is passed to."""
    above = parents[use]
    if isinstance(above, ast.Call) and use in above.args and isinstance(above.func, ast.Name):
        return _helper_reads_keys(
            helpers.get(above.func.id), above.args.index(use), parents, helpers
        )
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


def _helper_reads_keys(helper, position, parents, helpers):
    """Whether a helper only looks at single keys of the dictionary that it gets at a position."""
    if helper is None or position >= len(helper.args.args):
        return False
    rest = {name: node for name, node in helpers.items() if node is not helper}
    uses = _uses(helper, helper.args.args[position].arg)
    return all(_reads_one_key(use, parents, rest) for use in uses)


def _private_functions(tree):
    """The private functions of a module by name."""
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_")
    }


def _swallows_keywords(function, parents, helpers):
    name = function.args.kwarg and function.args.kwarg.arg
    return name is not None and all(
        _reads_one_key(use, parents, helpers) for use in _uses(function, name)
    )


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


def _is_interface(function):
    """Whether a function has no code but its doc string, `pass` or `...`."""
    return all(
        isinstance(part, ast.Pass)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in function.body
    )


def _is_callback(function):
    return function.name not in _SIGNATURES_OF_CALLERS and bool(_CALLBACKS.fullmatch(function.name))


def _functions_and_methods(tree):
    """The functions of a module and the methods of its classes, without those inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        else:
            yield from _functions_and_methods(node)


def _read_names(function, lines):
    """The names that a function reads, or deletes with a comment that says why."""
    for part in function.body:
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                yield "locals()" if node.id == "locals" else node.id
            elif isinstance(node, ast.Delete) and "# " in lines[node.end_lineno - 1]:
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _unread_parameters(function, lines):
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    read = {"self", "cls", *_read_names(function, lines)}
    if "locals()" in read:
        return []
    return [p.arg for p in named if p.arg not in read and not p.arg.startswith("_")]


def unread_of(path, text):
    """The parameters of one file that no code reads, as (path, line, text)."""
    lines = text.splitlines()
    for function in _functions_and_methods(ast.parse(text)):
        if _is_interface(function) or _only_raises(function) or _is_callback(function):
            continue
        for name in _unread_parameters(function, lines):
            yield (
                path,
                function.lineno,
                f"{function.name}() ignores {name}: obey it, raise (keywords.unsupported), "
                f"or `del {name}  # why it cannot change a result`",
            )


def problems_of(path, text):
    """The problems of one file, as (path, line, text)."""
    tree = ast.parse(text)
    parents, helpers = _parents(tree), _private_functions(tree)
    for node in ast.walk(tree):
        if not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        ) or _only_raises(node):
            continue
        name = getattr(node, "name", "lambda")
        if _swallows_keywords(node, parents, helpers):
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
            text = path.read_text()
            yield from problems_of(path, text)
            yield from unread_of(path, text)
