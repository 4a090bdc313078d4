# SPDX-License-Identifier: Apache-2.0
"""style.py: graph style (TensorFlow 1) or eager style (TensorFlow 2) of the process."""
import _situ

VERSIONS = {"v1": "1.15.5", "v2": "2.15.0"}
_state = {"style": "v2", "root": "situ"}


def is_graph():
    return _state["style"] == "v1"


def use(style):
    """Ops that no graph was entered for: 'v1' adds them to the default graph, 'v2' runs them."""
    _state["style"] = style
    _situ.set_eager(style == "v2")


def root():
    """The name of the module in messages: 'tensorflow' under `situ run`."""
    return _state["root"]


def set_root(name):
    _state["root"] = name
    if name == "tensorflow":  # what a traceback shows
        from situ._lib import errors
        for thing in errors.PUBLIC.values():
            if isinstance(thing, type):
                thing.__module__ = "tensorflow.python.framework.errors_impl"
