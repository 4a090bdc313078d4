# SPDX-License-Identifier: Apache-2.0
"""program.py: the programs that `situ run` accepts: a script, a notebook, -m MODULE, -c CODE, and -
for standard input."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import linecache
import os
import sys

from situ._src.runner import notebook

# Files that pytest and unittest collect in a folder, and how many of them are examined.
_TEST_FILES = ("test_", "conftest.")
_MOST_FILES = 1000


def fail(text: str) -> None:
    """Prints an error of `situ run` and exits."""
    print(f"situ run: {text}", file=sys.stderr)
    sys.exit(1)


class Program:
    """A program: its source, and how Python presents it.

    path: the file, or <string> or <stdin>. name: the module of -m, or None. argv: sys.argv.
    label: how the command line names it. others: (path, source) of files that it runs, such as
    the tests of pytest. notebook: the Notebook, or None.
    """

    def __init__(self, path, source, args, name=None, argv0=None, label=None):
        self.path, self.source, self.name = path, source, name
        self.argv = [argv0 or path, *args]
        self.label = label or path
        self.others: list = []
        self.notebook = None

    @property
    def is_file(self):
        """Whether __file__ is defined: not in notebooks, -c and -, as in Jupyter and Python."""
        return not self.notebook and not self.path.startswith("<")

    def folder(self):
        """Returns the entry that Python adds to sys.path."""
        if self.path.startswith("<"):
            return ""
        return os.getcwd() if self.name else os.path.dirname(os.path.abspath(self.path))

    def where(self, path, line):
        """Returns 'file:line', with the cell of a notebook."""
        if self.notebook and path == self.path:
            cell, line = self.notebook.locate(line)
            return f"{notebook.label(os.path.relpath(path), cell)}:{line}"
        return f"{path if path.startswith('<') else os.path.relpath(path)}:{line}"


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as e:
        fail(f"cannot read {path}: {e.strerror}")


def _from_text(source, path, argv0, args, label):
    lines = source.decode("utf-8", "replace").splitlines(True)
    linecache.cache[path] = (len(source), None, lines, path)  # tracebacks show the lines
    return Program(path, source, args, argv0=argv0, label=label)


def _from_notebook(path, args):
    try:
        opened = notebook.Notebook(path, _read(path))
    except ValueError as e:
        fail(f"{path} is not a notebook: {e}")
    program = Program(path, opened.source, args)
    program.notebook = opened
    return program


def _from_module(name, args):
    whole = name
    sys.path.insert(0, os.getcwd())
    try:
        spec = _find_module(whole)
        if spec is not None and spec.submodule_search_locations is not None:
            whole += ".__main__"
            spec = _find_module(whole)
    except ImportError as e:
        fail(str(e))
    if spec is None or not spec.origin:
        fail(f"there is no module {name}")
    program = Program(spec.origin, _read(spec.origin), args, whole, label=f"-m {name}")
    if is_installed_file(spec.origin):
        program.others = [(f, _read(f)) for f in _argument_files(name, args)]
    return program


def _find_module(name):
    """Returns the spec of a module. Does not import its packages, which may import tensorflow,
    unless only an import hook knows them."""
    spec, path, whole = None, None, ""
    for part in name.split("."):
        whole = f"{whole}.{part}".lstrip(".")
        spec = importlib.machinery.PathFinder.find_spec(whole, path)
        if spec is None:
            return importlib.util.find_spec(name) if path is None else None
        path = spec.submodule_search_locations
        if path is None and whole != name:
            return None  # a module has no modules below it
    return spec


def is_installed_file(path: str) -> bool:
    """Returns whether a module belongs to Python or to an installed package."""
    return (
        path.startswith(os.path.dirname(os.__file__) + os.sep)
        or "site-packages" in path
        or "dist-packages" in path
    )


def _argument_files(name, args):
    """Returns the Python files that a tool such as pytest or cProfile will run."""
    found: list = []
    for word in [a.partition("::")[0] for a in args if not a.startswith("-")]:
        if word.endswith(".py") and os.path.isfile(word):
            found.append(word)
        elif os.path.isdir(word):
            found += _tests_below(word)
        elif name == "unittest" and os.path.isfile(word.replace(".", "/") + ".py"):
            found.append(word.replace(".", "/") + ".py")
    if not found and name in ("pytest", "unittest"):
        found = _tests_below(".")
    return found[:_MOST_FILES]


def _tests_below(folder):
    found: list = []
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__")))
        for file in sorted(files):
            if file.endswith("_test.py") or file.endswith(".py") and file.startswith(_TEST_FILES):
                found.append(os.path.normpath(os.path.join(at, file)))
        if len(found) > _MOST_FILES:
            break
    return found


def find(words: list[str]) -> Program:
    """Returns the program that the words after the options of `situ run` name."""
    first = words[0]
    if first in ("-m", "-c") and len(words) < 2:
        needed = "a program as a string" if first == "-c" else "the name of a module"
        fail(f"{first} needs {needed}")
    if first == "-m":
        return _from_module(words[1], words[2:])
    if first == "-c":
        source = words[1].encode("utf-8", "surrogateescape")
        return _from_text(source, "<string>", "-c", words[2:], "-c CODE")
    if first == "-":
        return _from_text(sys.stdin.buffer.read(), "<stdin>", "-", words[1:], "-")
    if first.endswith(".ipynb"):
        return _from_notebook(first, words[1:])
    return Program(first, _read(first), words[1:])
