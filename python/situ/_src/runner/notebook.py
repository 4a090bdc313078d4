# SPDX-License-Identifier: Apache-2.0
"""notebook.py: get_ipython() and display() for notebooks that were exported as .py files."""

from __future__ import annotations

import builtins
import contextlib
import io
import re
import subprocess
import sys

_LINE = re.compile(rb"^(\s*)[%!].*$", re.M)


class Shell:
    """Replaces IPython's shell: magics that only concern the notebook do nothing."""

    SHELLS = ("bash", "sh", "script")

    def __init__(self, main):
        self.user_ns = main

    def run_line_magic(self, name, line="", _stack_depth=1):
        if name == "time" or name == "timeit":
            exec(line, self.user_ns)
        elif name == "run":
            with open(line.split()[0], "rb") as file:
                exec(compile(file.read(), line.split()[0], "exec"), self.user_ns)

    def magic(self, text):
        name, _, line = text.partition(" ")
        self.run_line_magic(name, line)

    def run_cell_magic(self, name, line, cell):
        if name in self.SHELLS:
            self.system(cell)
        elif name == "capture":
            self._capture(line, cell)
        elif name in ("time", "timeit", "prun"):
            if name == "timeit":
                exec(line, self.user_ns)  # the setup
            exec(cell, self.user_ns)

    def _capture(self, line, cell):
        """Runs a cell without output, which the variable that the line names gets."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(cell, self.user_ns)
        for name in [word for word in line.split() if not word.startswith("-")][:1]:
            self.user_ns[name] = _Captured(output.getvalue())

    def system(self, command):
        sys.stdout.flush()
        subprocess.run(command, shell=True, check=False)

    def getoutput(self, command, split=True, depth=0):
        del depth  # variables in commands are not expanded
        done = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
        return done.stdout.splitlines() if split else done.stdout

    def __getattr__(self, name):
        def ignored(*args, **kwargs):
            from situ._src.framework import logs

            logs.info("get_ipython().%s%s has no effect outside IPython.", name, (args, kwargs))

        return ignored


class _Captured:
    """The output of a cell with %%capture."""

    stderr = ""

    def __init__(self, stdout):
        self.stdout = stdout

    def show(self):
        print(self.stdout, end="")

    __call__ = show

    def __str__(self):
        return self.stdout


class _DisplayHandle:
    """Replaces IPython's DisplayHandle: prints the objects that it is updated with."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, obj, **kwargs):
        _display(obj, **kwargs)

    update = display


def _display(
    *objs,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
):
    """Replaces IPython's display: prints the objects."""
    del include, exclude, metadata, transient, clear  # the output is plain text
    print(*[o.get("text/plain", o) if raw else o for o in objs])
    return _DisplayHandle(display_id) if display_id else None


def provide(source, main):
    """Defines get_ipython and display if the source uses them. Returns the source without
    magics."""
    if b"get_ipython" in source:
        shell = Shell(main)
        builtins.get_ipython = lambda: shell
    if b"get_ipython" in source or b"# In[" in source:
        if not hasattr(builtins, "display"):
            builtins.display = _display
    try:
        compile(source, "", "exec")
    except SyntaxError:
        return _LINE.sub(rb"\1pass", source)  # %matplotlib inline, !pip install: not Python
    except ValueError:
        pass
    return source
