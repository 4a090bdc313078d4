# SPDX-License-Identifier: Apache-2.0
"""context.py: state shared by nested layer calls of a thread: name prefixes, the training phase and
masks; and the settings of tf.keras.backend."""

from __future__ import annotations

import collections
import contextlib
import functools
import threading
from typing import Any

import _situ
from situ._src.autograph.conversion import convert
from situ._src.framework import style
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.tensor import EagerTensor, GraphTensor, _extend
from situ._src.keras.registry import keras_export, reset_names

_MAX_EAGER_MASKS = 64
_state = {
    "float": "float32",
    "epsilon": 1e-7,
    "format": "channels_last",
    "phase": None,
}


class KerasGraph(FuncGraph):
    """Graph of symbolic tensors: functional models are built in it, it never runs.

    Each tf.keras.Input has its own, so that memory of a model is released with the model. Where
    tensors of several graphs meet, one of the graphs has placeholders for those of the others;
    their attribute `_keras_original` is the tensor that they stand for."""

    def __init__(self):
        super().__init__("keras_graph")
        self._captures = True  # tensors of other graphs, too

    def _capture(self, tensor, _name=None):
        if not isinstance(tensor, GraphTensor):
            return super()._capture(tensor, _name)
        if not is_symbolic(tensor):
            return tensor  # of a graph of the program: an error says so
        inside = super()._capture(tensor, _name)
        inside._keras_original = tensor
        return inside

    def inside(self, tensor):
        """Returns the tensor of this graph for a tensor, which may be of another graph."""
        return tensor if getattr(tensor, "graph", None) is self else self._capture(tensor)


def is_symbolic(value):
    """Whether a value is a symbolic tensor of Keras, or a composite tensor of such tensors."""
    if isinstance(value, GraphTensor):
        return isinstance(value.graph, KerasGraph)
    return hasattr(value, "_situ_tensors_") and any(map(is_symbolic, value._situ_tensors_))


def graph_of(value):
    """Returns the graph of a symbolic tensor or composite tensor."""
    if isinstance(value, GraphTensor):
        return value.graph
    return next(part.graph for part in value._situ_tensors_ if is_symbolic(part))


def setting(name):
    return _state[name]


def set_setting(name, value):
    _state[name] = value


@keras_export("backend.clear_session")
def clear_session() -> None:
    """Resets the names of layers and the learning phase."""
    _state["phase"] = None
    reset_names()


class Call(threading.local):
    """State of the layer calls of a thread."""

    def __init__(self):
        self.names, self.training, self.depth = [], None, 0
        self.share = None  # of the examples of a batch that this replica has
        self.masks = collections.OrderedDict()


call = Call()


@contextlib.contextmanager
def layer_call(layer: Any, training: bool | None):
    """Context of a call of a layer: its name prefixes those of its variables."""
    before = call.training
    call.names.append(layer.name)
    call.depth += 1
    call.training = training
    try:
        yield
    finally:
        call.training = before
        call.depth -= 1
        call.names.pop()


@contextlib.contextmanager
def named(*names):
    """Context that replaces the prefixes of variable names."""
    before, call.names = call.names, list(names)
    try:
        yield
    finally:
        call.names = before


def full_name(name):
    return "/".join([*call.names, name])


# Masks: of tensors of graphs as their attributes, of eager ones for a while.


def set_mask(tensor, mask):
    """Sets the mask of a tensor."""
    if isinstance(tensor, GraphTensor) or hasattr(tensor, "_situ_tensors_"):
        tensor._keras_mask = mask
    elif isinstance(tensor, EagerTensor) and mask is not None:
        call.masks[id(tensor)] = tensor, mask
        while len(call.masks) > _MAX_EAGER_MASKS:
            call.masks.popitem(last=False)


def get_mask(tensor):
    """Returns the mask of a tensor, or None."""
    if isinstance(tensor, GraphTensor) or hasattr(tensor, "_situ_tensors_"):
        return getattr(tensor, "_keras_mask", None)
    result = call.masks.get(id(tensor))
    return result[1] if result is not None and result[0] is tensor else None


@contextlib.contextmanager
def eager():
    """Context in which ops run eagerly, in graph mode too: Keras models own their values."""
    graph = _situ.swap_graph(None)
    was_graph = style.is_graph()
    if was_graph:
        style.use("v2")
    try:
        yield
    finally:
        if was_graph:
            style.use("v1")
        _situ.swap_graph(graph)


def autograph(python):
    """Converts a function with AutoGraph if a graph is being built."""
    if _situ.current_graph() is None:
        return python
    return convert(python)


def autograph_method(method):
    """Decorator: converts a method with AutoGraph if a graph is being built."""

    @functools.wraps(method)
    def called(self, *args, **kwargs):
        return autograph(method)(self, *args, **kwargs)

    return called


_extend(EagerTensor, _keras_mask=property(get_mask, set_mask))
