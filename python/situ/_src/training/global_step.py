# SPDX-License-Identifier: Apache-2.0
"""global_step.py: tf.train.get_global_step and others: the variable that counts training steps."""

from __future__ import annotations

import _situ
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import device
from situ._src.ops.init_ops import Zeros
from situ._src.variables.variable_scope import get_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _check(tensor):
    if not tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {tensor.dtype}')
    if tensor.get_shape().ndims not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {tensor.get_shape()}')
    return tensor


@export(v1=("train.get_global_step", "contrib.framework.get_global_step"))
def get_global_step(graph: Any = None) -> Any:
    """Returns the global step of a graph, or None.

    Args:
      graph: The graph; the default graph if it is None.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        return _check(found[0])
    if found:
        raise RuntimeError("Multiple items found in collection global_step")
    try:
        return _check(graph.get_tensor_by_name("global_step:0"))
    except KeyError:
        return None


def _create_eagerly(graph):
    with device("cpu:0"):
        result = get_variable(
            "global_step", shape=[], dtype=as_dtype("int64"), initializer=Zeros(), trainable=False
        )
    graph.add_to_collection(GraphKeys.GLOBAL_STEP, result)
    return result


@export(v1=("train.create_global_step", "contrib.framework.create_global_step"))
def create_global_step(graph: Any = None) -> Any:
    """Creates the global step of a graph; ValueError if it has one.

    Args:
      graph: The graph; the default graph if it is None.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    if _situ.executing_eagerly():
        return _create_eagerly(graph)
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            "global_step",
            shape=[],
            dtype=as_dtype("int64"),
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@export(v1=("train.get_or_create_global_step", "contrib.framework.get_or_create_global_step"))
def get_or_create_global_step(graph: Any = None) -> Any:
    """Returns the global step of a graph, creating it if necessary.

    Args:
      graph: The graph; the default graph if it is None.
    """
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return found if found is not None else create_global_step(graph)


@export(v1="train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Raises an error unless a variable can be the global step: an integer scalar.

    Args:
      global_step_tensor: The global step.
    """
    _check(global_step_tensor)


@export(v1="train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> Any:
    """Returns the value of the global step in a session.

    Args:
      sess: The session.
      global_step_tensor: The global step.
    """
    if _situ.executing_eagerly():
        return int(global_step_tensor.numpy())
    return sess.run(global_step_tensor).item()
