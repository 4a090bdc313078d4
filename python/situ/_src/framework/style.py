# SPDX-License-Identifier: Apache-2.0
"""style.py: graph style (TensorFlow 1) or eager style (TensorFlow 2) of the process.

The first import of situ chooses: `import situ` eager style, `import situ.compat.v1` graph style.
Later imports change nothing; functions such as tf.compat.v1.disable_eager_execution do. Under
`situ run` the runner chooses (runner/style_detection.py) before the program imports anything.
"""

from __future__ import annotations

import sys

import _situ

VERSIONS = {"v1": "1.15.5", "v2": "2.15.0"}
# style: of operations now; program: of the program, even while Keras runs eagerly for it.
_state: dict = {
    "style": "v2",
    "program": "v2",
    "root": "situ",
    "is_open": False,
    "is_graph_used": False,
    "has_resource_variables": None,  # None: in eager style
}
# Modules whose import leaves the choice to a later import of situ.compat.v1.
_NEUTRAL = ("situ.compat", "situ.testing", "situ.mpi", "situ.__main__", "situ._src")


def is_graph() -> bool:
    """Returns whether operations are added to graphs (graph style)."""
    return _state["style"] == "v1"


def is_graph_program() -> bool:
    """Returns whether the program is in graph style, whatever runs at the moment."""
    return _state["program"] == "v1"


def has_resource_variables() -> bool:
    """Returns whether variables of graphs are resource variables by default: in programs of
    TensorFlow 2, also in those that only disable eager execution."""
    chosen = _state["has_resource_variables"]
    return not is_graph_program() if chosen is None else chosen


def use(style: str) -> None:
    """Sets the style of operations outside of graphs: 'v1' adds them to the default graph, 'v2'
    runs them."""
    _state["style"] = style
    _situ.set_eager(style == "v2")


class eagerly:
    """A context manager in which operations of this thread run, outside of all graphs."""

    # A class, because contextlib and what it imports would take a third of the import of situ.
    def __enter__(self) -> None:
        self._graph, self._before = _situ.swap_graph(None), _situ.swap_eager(True)

    def __exit__(self, *error: object) -> None:
        _situ.swap_eager(self._before)
        _situ.swap_graph(self._graph)


def choose(style: str) -> None:
    """Sets the style of the program."""
    _state.update(program=style, is_open=False)
    use(style)


def _imported_name():
    """Returns the module that the current import statement names; importlib loads `situ` before
    `situ.compat.v1`."""
    frame, name = sys._getframe(2), "situ"
    while (frame := frame.f_back) is not None and frame.f_globals.get("__name__", "").startswith(
        "importlib"
    ):
        if frame.f_code.co_name == "_find_and_load":
            name = frame.f_locals.get("name", name)
    return name


def note_import():
    """Called when situ is loaded. Leaves the choice open if the import chooses no style."""
    name = _imported_name()
    _state["is_open"] = any(name == n or name.startswith(n + ".") for n in _NEUTRAL)


def note_use():
    """Called when a name of `situ` is used: such a program is in eager style."""
    _state["is_open"] = False


def import_v1():
    """Called when situ.compat.v1 is loaded. Chooses graph style if the choice is open."""
    if _state["is_open"] and not _situ.is_started():
        choose("v1")


def note_default_graph():
    """Called when a program gets the global default graph."""
    if is_graph() and not _state["is_graph_used"]:
        entered = _situ.swap_graph(None)
        _situ.swap_graph(entered)
        _state["is_graph_used"] = entered is None


def forget_default_graph():
    """Called when the default graph is replaced."""
    _state["is_graph_used"] = False


def _is_graph_used():
    graph = _situ.swap_graph(None)
    try:
        default = _situ.get_default_graph()
        return _state["is_graph_used"] or default is not None and default.version > 0
    finally:
        _situ.swap_graph(graph)


def enable_eager() -> None:
    """Enables eager execution.

    Raises:
      ValueError: the default graph has been used.
    """
    if is_graph() and _is_graph_used():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    choose("v2")


def disable_eager_execution() -> None:
    """Disables eager execution: operations are added to the default graph. Variables stay resource
    variables."""
    if _state["has_resource_variables"] is None:
        _state["has_resource_variables"] = True
    choose("v1")


def enable_v2_behavior() -> None:
    """Enables eager execution.

    Raises:
      ValueError: the default graph has been used.
    """
    enable_eager()
    _state["has_resource_variables"] = True


def disable_v2_behavior() -> None:
    """Disables eager execution and resource variables: operations are added to the default
    graph."""
    choose("v1")
    _state["has_resource_variables"] = False


def root() -> str:
    """Returns the name of the package in messages: 'tensorflow' under `situ run`."""
    return _state["root"]


def set_root(name: str) -> None:
    """Sets the name of the package in messages and tracebacks."""
    _state["root"] = name
    if name == "tensorflow":  # what a traceback shows
        from situ._src.framework import errors

        for item in errors.PUBLIC.values():
            if isinstance(item, type):
                item.__module__ = "tensorflow.python.framework.errors_impl"
