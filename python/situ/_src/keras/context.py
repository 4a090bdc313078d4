# SPDX-License-Identifier: Apache-2.0
"""context.py: what calls of layers know of the calls around them: names, training, masks."""

import collections
import contextlib
import functools
import threading

import _situ
from situ._src.framework import style
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.tensor import EagerTensor, GraphTensor, _extend
from situ._src.keras.registry import keras_export, reset_names

_MAX_EAGER_MASKS = 64
_state = {
    "graph": None,
    "float": "float32",
    "epsilon": 1e-7,
    "format": "channels_last",
    "phase": None,
}


class KerasGraph(FuncGraph):
    """Where functional models are built: its tensors stand for those of a run."""

    def __init__(self):
        super().__init__("keras_graph")


def keras_graph():
    if _state["graph"] is None:
        _state["graph"] = KerasGraph()
    return _state["graph"]


def is_symbolic(value):
    """Whether a tensor stands for what a model will be given."""
    return isinstance(value, GraphTensor) and isinstance(value.graph, KerasGraph)


def setting(name):
    return _state[name]


def set_setting(name, value):
    _state[name] = value


@keras_export("backend.clear_session")
def clear_session():
    """Forgets names of layers and symbolic tensors."""
    _state["graph"] = _state["phase"] = None
    reset_names()


class Call(threading.local):
    """The calls that this thread is in."""

    def __init__(self):
        self.names, self.training, self.depth = [], None, 0
        self.share = None  # of the examples of a batch that this replica has
        self.masks = collections.OrderedDict()


call = Call()


@contextlib.contextmanager
def layer_call(layer, training):
    """The call of a layer: its name stands before those of its variables."""
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
    """Variables made here have these names in front, and no others."""
    before, call.names = call.names, list(names)
    try:
        yield
    finally:
        call.names = before


def full_name(name):
    return "/".join([*call.names, name])


# Masks: of tensors of graphs as their attributes, of eager ones for a while.


def set_mask(tensor, mask):
    if isinstance(tensor, GraphTensor):
        tensor._keras_mask = mask
    elif isinstance(tensor, EagerTensor) and mask is not None:
        call.masks[id(tensor)] = tensor, mask
        while len(call.masks) > _MAX_EAGER_MASKS:
            call.masks.popitem(last=False)


def get_mask(tensor):
    if isinstance(tensor, GraphTensor):
        return getattr(tensor, "_keras_mask", None)
    result = call.masks.get(id(tensor))
    return result[1] if result is not None and result[0] is tensor else None


@contextlib.contextmanager
def eager():
    """What happens inside happens at once, in graph style, too: models have values of their own."""
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
    """A function of the program as it is called here: in a graph, Python's if, while and for over
    tensors become operations."""
    if _situ.current_graph() is None:
        return python
    from situ._src.autograph.conversion import convert

    return convert(python)


def autograph_method(method):
    """A method that a program gives a class, called as `graphed` does it."""

    @functools.wraps(method)
    def called(self, *args, **kwargs):
        return autograph(method)(self, *args, **kwargs)

    return called


_extend(EagerTensor, _keras_mask=property(get_mask, set_mask))
