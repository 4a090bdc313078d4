# SPDX-License-Identifier: Apache-2.0
"""create_op.py: tf.Graph.create_op: adds a node by the name of its op, with flat inputs and
AttrValue messages."""

from __future__ import annotations

import contextlib

import _situ
from situ._src.framework import node_def
from situ._src.framework.api import OPS
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.import_graph_def import attr_value, call_op
from situ._src.ops.array_ops import convert_to_tensor


def _attr(value):
    """Returns the Python value of an AttrValue; other values are returned as they are."""
    return attr_value(value) if isinstance(value, node_def.AttrValue) else value


def _check_inputs(graph, op_type, inputs, input_types):
    for index, value in enumerate(inputs):
        if not isinstance(value, _situ.GraphTensor):
            raise TypeError(f"Input #{index} is not a tensor: {value!r}")
        graph.as_graph_element(value, allow_operation=False)
    if input_types is not None:
        types = [t.dtype for t in inputs]
        wanted = [as_dtype(t) for t in input_types]
        if [t.base_dtype for t in types] != [t.base_dtype for t in wanted]:
            raise TypeError(
                f"In op '{op_type}', input types ({types}) are not compatible with expected types "
                f"({wanted})"
            )


def create_op(
    graph,
    op_type: str,
    inputs,
    dtypes=None,
    input_types=None,
    name: str | None = None,
    attrs: dict | None = None,
    op_def=None,
    compute_shapes: bool = True,
    compute_device: bool = True,
):
    """Adds an operation to a graph.

    Args:
      graph: the graph.
      op_type: the name of the op, such as "MatMul".
      inputs: a list of tensors. The inputs of a list argument follow each other.
      dtypes: has no effect: the op determines the types of its outputs.
      input_types: the expected types of the inputs, or None.
      name: the name of the operation; `op_type` if it is None.
      attrs: maps names of attributes to AttrValue messages or Python values. Types that the inputs
        determine may be omitted; counts and lists of types of list arguments may not.
      op_def: has no effect: the op definitions are those of the library.
      compute_shapes: has no effect: shapes are always inferred.
      compute_device: whether device scopes apply.

    Returns:
      The tf.Operation.

    Raises:
      TypeError: an input is not a tensor, or has another type than input_types says.
      ValueError: there is no such op, or the inputs and attributes do not match it.
    """
    del dtypes, op_def  # the op definition determines them
    del compute_shapes  # as in TensorFlow, shapes are always inferred
    inputs = list(inputs)
    _check_inputs(graph, op_type, inputs, input_types)
    if op_type not in OPS:
        raise ValueError(f"No op named {op_type} in defined operations.")
    values = {k: _attr(v) for k, v in (attrs or {}).items() if not k.startswith("_")}
    name = name or op_type
    full = name if name.endswith("/") else graph.unique_name(name) + "/"
    with contextlib.ExitStack() as stack:
        stack.enter_context(graph.as_default())
        if not compute_device:
            stack.enter_context(graph.device(None))
        if op_type == "Const":
            convert_to_tensor(values["value"], values["dtype"], full)
        else:
            try:
                call_op(op_type, inputs, values, full)
            except KeyError as error:
                raise ValueError(f"Op {op_type} needs the attr {error}.") from None
    return graph.get_operation_by_name(full[:-1])
