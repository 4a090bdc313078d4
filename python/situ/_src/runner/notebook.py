# SPDX-License-Identifier: Apache-2.0
"""notebook.py: runs notebooks (.ipynb): the code cells in order, in one namespace, as IPython does:
magics, shell commands, top-level await, and the last expression of a cell is displayed."""

from __future__ import annotations

import ast
import inspect
import io
import json
import linecache
import os
import re
import sys
import tokenize

from situ._src.runner import ipython_shell

# Cell magics whose cell is Python code of the program.
PYTHON_CELLS = ("time", "timeit", "capture", "prun")

_CELL_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*([^\n]*)\n?")
_ASSIGNED = re.compile(r"^(\s*)([\w.,\[\]'\" ]+?)\s*=\s*([%!])\s*(?!=)(.+)$")
_HELP = re.compile(r"^\s*(\?{1,2}\s*[\w.]+|[\w.]+\s*\?{1,2})\s*$")


def label(path: str, cell: int) -> str:
    """Returns the name of a cell in tracebacks and messages."""
    return f"{path}, code cell {cell}"


class Notebook:
    """A notebook. `source` is its Python code as one text, for static analysis."""

    def __init__(self, path, data):
        self.path = path
        self.cells = _code_cells(data)
        texts, self.starts, line = [], [], 1
        for text, _ in self.cells:
            code = _analyzed(text)
            self.starts.append(line)
            texts.append(code)
            line += code.count("\n")
        self.source = "".join(texts).encode("utf-8", "surrogatepass")

    def locate(self, line):
        """Returns the number of the cell and the line in it, of a line of `source`."""
        cell = sum(start <= line for start in self.starts)
        return cell, line - self.starts[cell - 1] + 1

    def asks_for_graph_style(self):
        """Returns whether the notebook selects TensorFlow 1, as in Colab."""
        magic = re.compile(r"(?m)^\s*%tensorflow_version\s+1")
        return any(magic.search(text) for text, _ in self.cells)


def _code_cells(data):
    """Returns (source, may raise) of each code cell. Raises ValueError for other files."""
    content = json.loads(data.decode("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("it has no cells")
    cells = content.get("cells")
    if cells is None:  # format 3
        cells = [c for sheet in content.get("worksheets", []) for c in sheet.get("cells", [])]
    if not cells and "nbformat" not in content:
        raise ValueError("it has no cells")
    found = []
    for cell in cells:
        if cell.get("cell_type") != "code":
            continue
        text = cell.get("source", cell.get("input", ""))
        tags = cell.get("metadata", {}).get("tags", [])
        found.append(("".join(text), "raises-exception" in tags))
    return found


def _analyzed(text):
    """Returns the Python code of a cell with the same lines, or blank lines if it has none."""
    magic = _CELL_MAGIC.match(text)
    lines = text.count("\n") + 1
    if magic:
        if magic[1] not in PYTHON_CELLS:
            return "\n" * lines
        text = "\n" * text.count("\n", 0, magic.end()) + text[magic.end() :]
    code = transform(text)
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return "\n" * lines  # running it reports the error
    return code + "\n" * (lines - code.count("\n"))


def _is_inside(text):
    """Returns whether a text ends inside brackets or a string."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text).readline):
            pass
    except tokenize.TokenError as e:
        return "multi-line" in str(e) or "unterminated triple-quoted" in str(e)
    except SyntaxError:  # such as indentation
        pass
    return False


def _call(line):
    """Returns the Python code of one line of IPython's syntax, or None if it is Python."""
    text = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if text.startswith("!"):
        function = "getoutput" if text.startswith("!!") else "system"
        return f"{indent}get_ipython().{function}({text.lstrip('!').strip()!r})"
    if text.startswith("%"):
        name, _, rest = text[1:].strip().partition(" ")
        return f"{indent}get_ipython().run_line_magic({name!r}, {rest.strip()!r})"
    if _HELP.match(text):
        return f"{indent}get_ipython().run_line_magic('pinfo', {text.strip('? ')!r})"
    found = _ASSIGNED.match(line)
    if found and found[3] == "!":
        return f"{indent}{found[2].strip()} = get_ipython().getoutput({found[4].strip()!r})"
    if found:
        name, _, rest = found[4].partition(" ")
        return f"{indent}{found[2].strip()} = get_ipython().run_line_magic({name!r}, {rest!r})"
    return None


def _dedent(text):
    """Removes the indentation of the first line of code from all lines, as IPython does."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent:
        return text
    return "\n".join(line.removeprefix(indent) for line in text.split("\n"))


def transform(text: str) -> str:
    """Returns a cell without cell magic as Python code: magics and commands become calls."""
    text = _dedent(text)
    try:
        compile(text, "", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return text
    except (SyntaxError, ValueError):
        pass
    done: list = []
    logical = ""  # the lines of the statement so far
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if logical and _is_inside(logical):
            done.append(line)
            logical += line + "\n"
            continue
        whole, extra = line, 0
        while whole.endswith("\\") and lines and line.lstrip()[:1] in ("%", "!"):
            whole, extra = whole[:-1].rstrip() + " " + lines.pop(0).strip(), extra + 1
        call = _call(whole)
        done += [line if call is None else call] + [""] * extra
        logical = "" if call is not None else line + "\n"
    return "\n".join(done)


class Runner:
    """Runs cells in a namespace."""

    def __init__(self, path, namespace, shell):
        self.path, self.namespace, self.shell = path, namespace, shell
        self.cell, self.loop = 0, None
        shell.run_code = self.run_code

    def run_cell(self, number, text):
        """Runs a cell and displays its last expression."""
        self.cell = number
        self.shell.place = label(self.path, number)
        magic = _CELL_MAGIC.match(text)
        if magic:
            head = text.count("\n", 0, magic.end())
            self.shell.first_line = head
            self.shell.run_cell_magic(magic[1], magic[2].strip(), text[magic.end() :])
        else:
            self.run_code(text)

    def run_code(self, text, first_line=0):
        """Runs Python code; `first_line` lines of the cell precede it."""
        name = label(self.path, self.cell)
        shown = "\n" * first_line + text
        linecache.cache[name] = (len(shown), None, shown.splitlines(True), name)
        tree = compile(
            "\n" * first_line + transform(text),
            name,
            "exec",
            ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not _is_quiet(text):
            last = ast.Expression(tree.body.pop().value)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._execute(compile(tree, name, "exec", flags, dont_inherit=True))
        if last is not None:
            value = self._execute(compile(last, name, "eval", flags, dont_inherit=True))
            if value is not None:
                self.namespace["_"] = value
                print(repr(value))

    def _execute(self, code):
        value = eval(code, self.namespace)
        if not code.co_flags & inspect.CO_COROUTINE:
            return value
        import asyncio

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)


def _is_quiet(text):
    """Returns whether a cell ends with a semicolon, which displays nothing."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(transform(text)).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    blank = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.DEDENT)
    words = [t.string for t in tokens if t.type not in blank]
    return words[-1:] == [";"]


def run(notebook: Notebook, namespace: dict, show) -> int:
    """Runs a notebook. `show` prints an exception. Returns the exit code."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # plt.show() must not wait for a window
    shell = ipython_shell.provide_shell(namespace, is_notebook=True)
    runner = Runner(notebook.path, namespace, shell)
    for number, (text, may_raise) in enumerate(notebook.cells, 1):
        try:
            runner.run_cell(number, text)
        except SystemExit:
            raise
        except BaseException as error:
            sys.stdout.flush()
            show(error)
            if may_raise and isinstance(error, Exception):
                continue
            left = len(notebook.cells) - number
            rest = f"; {left} more not run" if left else ""
            print(f"situ run: {label(notebook.path, number)} failed{rest}", file=sys.stderr)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
        sys.stdout.flush()
    return 0
