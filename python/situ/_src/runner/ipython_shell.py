# SPDX-License-Identifier: Apache-2.0
"""ipython_shell.py: get_ipython() and display() outside of IPython, for notebooks and for notebooks
that were exported as .py files."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import time

_LINE = re.compile(rb"^(\s*)[%!].*$", re.M)
# Commands that install packages: what is installed is the user's decision.
_INSTALLS = re.compile(r"\s*(sudo\s+)?(\S*python\S*\s+-m\s+)?(pip3?|conda|mamba|apt|apt-get|uv)\b")
_VARIABLE = re.compile(r"\{([^{}]+)\}|\$(\w+)")


def _exec(source, namespace, name="<string>"):
    """Runs code of the program, without the __future__ statements of this file."""
    exec(compile(source, name, "exec", dont_inherit=True), namespace)


class Shell:
    """Replaces IPython's shell. Magics that only concern the notebook have no effect; in a notebook
    one line on standard error says so."""

    SHELLS = ("bash", "sh", "script")
    QUIET = ("load_ext", "reload_ext", "autoreload", "config", "tensorflow_version", "pinfo")

    def __init__(self, main, is_notebook=False):
        self.user_ns, self.is_notebook = main, is_notebook
        self.place, self.first_line = "", 0
        self.noted: set = set()
        self.run_code = lambda text, first_line=0: _exec(text, main)

    def _note(self, what, reason="has no effect here"):
        if self.is_notebook and what not in self.noted:
            self.noted.add(what)
            sys.stdout.flush()
            print(f"situ run: {self.place}: {what} {reason}", file=sys.stderr)

    def run_line_magic(self, name, line="", _stack_depth=1):
        if name in ("time", "timeit", "prun"):
            return self._timed(lambda: self._run_line(line), name == "time")
        if name == "run":
            with open(line.split()[0], "rb") as file:
                _exec(file.read(), self.user_ns, line.split()[0])
        elif name == "cd" and self.is_notebook:
            os.chdir(os.path.expanduser(self._expand(line).strip("'\"") or "~"))
        elif name == "pwd":
            return os.getcwd()
        elif name in ("env", "set_env"):
            return self._environment(line)
        elif name in ("sx", "system"):
            return self.getoutput(line)
        elif name in ("pip", "conda"):
            self._note(f"%{name} {line}".strip(), "is not run; install packages before")
        elif name not in self.QUIET or name == "load_ext" and line.strip() != "situ":
            self._note(f"%{name} {line}".strip())
        return None

    def _run_line(self, line):
        try:
            code = compile(line, "<magic>", "eval", dont_inherit=True)
        except SyntaxError:
            return _exec(line, self.user_ns)
        return eval(code, self.user_ns)

    def _timed(self, function, is_printed):
        begin = time.perf_counter()
        value = function()
        if is_printed and self.is_notebook:
            print(f"Wall time: {(time.perf_counter() - begin) * 1e3:.3g} ms")
        return value

    def _environment(self, line):
        """%env, %env NAME, %env NAME=VALUE, %env NAME VALUE."""
        name, separator, value = line.strip().partition("=")
        if not separator:
            name, separator, value = line.strip().partition(" ")
        if not name:
            return dict(os.environ)
        if not separator:
            return os.environ.get(name)
        os.environ[name.strip()] = self._expand(value.strip())
        return None

    def magic(self, text):
        name, _, line = text.partition(" ")
        return self.run_line_magic(name, line)

    def run_cell_magic(self, name, line, cell):
        if name in self.SHELLS:
            self.system(cell, is_cell=True)
        elif name == "capture":
            self._capture(line, cell)
        elif name in ("time", "timeit", "prun"):
            if name == "timeit" and line and not line.startswith("-"):
                _exec(line, self.user_ns)  # the setup
            self._timed(lambda: self.run_code(cell, self.first_line), name == "time")
        elif name == "writefile" or name == "file":
            words = shlex.split(self._expand(line))
            mode = "a" if "-a" in words else "w"
            with open(words[-1], mode, encoding="utf-8") as file:
                file.write(cell)
        else:
            self._note(f"%%{name}", "is not supported; the cell is not run")

    def _capture(self, line, cell):
        """Runs a cell without output, which the variable that the line names gets."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.run_code(cell, self.first_line)
        for name in [word for word in line.split() if not word.startswith("-")][:1]:
            self.user_ns[name] = _Captured(output.getvalue())

    def _expand(self, text):
        """Replaces {expression} and $variable, as IPython does; others stay."""

        def value(match):
            try:
                found = eval(match[1] or match[2], self.user_ns)
            except Exception:
                return match[0]
            return str(found)

        return _VARIABLE.sub(value, text) if self.is_notebook else text

    def _skips(self, command):
        if not self.is_notebook or not _INSTALLS.match(command):
            return False
        self._note(f"!{command.strip()}", "is not run; install packages before")
        return True

    def system(self, command, is_cell=False):
        if not is_cell and self._skips(command):
            return
        sys.stdout.flush()
        text = command if is_cell else self._expand(command)
        subprocess.run(text, shell=True, check=False)

    def getoutput(self, command, split=True, depth=0):
        del depth  # the namespace of the notebook is the only one
        if self._skips(command):
            return [] if split else ""
        command = self._expand(command)
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


class _Rich:
    """Replaces the objects of IPython.display, such as HTML and Image: displayed as text."""

    def __init__(self, data=None, *args, **kwargs):
        del args, kwargs  # the other arguments only change how it is displayed
        self.data = data

    def __repr__(self):
        return f"<IPython.display.{type(self).__name__} object>"


_RICH = "Audio Code HTML IFrame Image JSON Javascript Latex Markdown Math Pretty SVG Video"
# What `import IPython` and `import IPython.display` give in notebooks where IPython is missing.
# get_ipython() is None: libraries that ask IPython for its event loop must not find one.
MODULES = {
    "IPython": {"get_ipython": lambda: None, "version_info": (8, 0, 0, "")},
    "IPython.display": {
        "display": _display,
        "clear_output": lambda wait=False: None,
        "DisplayHandle": _DisplayHandle,
        **{name: type(name, (_Rich,), {}) for name in _RICH.split()},
    },
}


def provide_shell(main: dict, is_notebook: bool = False) -> Shell:
    """Defines get_ipython and display."""
    shell = Shell(main, is_notebook)
    names = vars(builtins)
    names["get_ipython"] = lambda: shell
    names.setdefault("display", _display)
    return shell


def provide(source, main):
    """Defines get_ipython and display if the source uses them. Returns the source without
    magics."""
    if b"get_ipython" in source:
        provide_shell(main)
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
