# SPDX-License-Identifier: Apache-2.0
"""style.py: graph style (TensorFlow 1) or eager style (TensorFlow 2) of the process.

The first import of situ chooses: `import situ` eager style, `import situ.compat.v1` graph style.
Later imports change nothing; tf.compat.v1.disable_eager_execution and its like do. Under `situ run`
the runner chooses (usage.style_of), before the program imports anything.
"""

from __future__ import annotations

import sys

import _situ

VERSIONS = {"v1": "1.15.5", "v2": "2.15.0"}
# style: of ops now; program: of the program, also while Keras runs something eagerly for it.
_state = {"style": "v2", "program": "v2", "root": "situ", "is_open": False, "is_graph_used": False}
# Imports that choose no style: that of situ.compat.v1 after them does.
_NEUTRAL = ("situ.compat", "situ.testing", "situ.mpi", "situ.__main__", "situ._src")


def is_graph():
    return _state["style"] == "v1"


def is_graph_program():
    """Whether the program is in graph style, whatever runs at the moment."""
    return _state["program"] == "v1"


def use(style):
    """Ops that no graph was entered for: 'v1' adds them to the default graph, 'v2' runs them."""
    _state["style"] = style
    _situ.set_eager(style == "v2")


def choose(style):
    """The style of the program from here on."""
    _state.update(program=style, is_open=False)
    use(style)


def _imported_name():
    """The module that the import statement names which loads situ: importlib loads `situ` before
    `situ.compat.v1`."""
    frame, name = sys._getframe(2), "situ"
    while (frame := frame.f_back) is not None and frame.f_globals.get("__name__", "").startswith(
        "importlib"
    ):
        if frame.f_code.co_name == "_find_and_load":
            name = frame.f_locals.get("name", name)
    return name


def note_import():
    """Called by situ when it is loaded: leaves the choice open if the import chooses no style."""
    name = _imported_name()
    _state["is_open"] = any(name == n or name.startswith(n + ".") for n in _NEUTRAL)


def note_use():
    """Called when a name of `situ` itself is used: a program that does so is in eager style."""
    _state["is_open"] = False


def import_v1():
    """Called by situ.compat.v1 when it is loaded: chooses graph style if nothing was chosen."""
    if _state["is_open"] and not _situ.is_started():
        choose("v1")


def note_default_graph():
    """Called when somebody is given the default graph: of the process, where no other was
    entered."""
    if is_graph() and not _state["is_graph_used"]:
        entered = _situ.swap_graph(None)
        _situ.swap_graph(entered)
        _state["is_graph_used"] = entered is None


def forget_default_graph():
    """Called when the default graph is a new one."""
    _state["is_graph_used"] = False


def _is_graph_used():
    graph = _situ.swap_graph(None)
    try:
        default = _situ.get_default_graph()
        return _state["is_graph_used"] or default is not None and default.version > 0
    finally:
        _situ.swap_graph(graph)


def enable_eager():
    """Eager execution from here on; a ValueError where the default graph is in use already."""
    if is_graph() and _is_graph_used():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    choose("v2")


def disable_eager_execution() -> None:
    """Adds operations to the default graph from here on."""
    choose("v1")


def enable_v2_behavior() -> None:
    """Runs operations eagerly from here on.

    Raises:
      ValueError: the program has used the default graph already.
    """
    enable_eager()


def disable_v2_behavior() -> None:
    """Adds operations to the default graph from here on."""
    choose("v1")


def root():
    """The name of the module in messages: 'tensorflow' under `situ run`."""
    return _state["root"]


def set_root(name):
    _state["root"] = name
    if name == "tensorflow":  # what a traceback shows
        from situ._src.framework import errors

        for thing in errors.PUBLIC.values():
            if isinstance(thing, type):
                thing.__module__ = "tensorflow.python.framework.errors_impl"
