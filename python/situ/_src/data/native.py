# SPDX-License-Identifier: Apache-2.0
"""native.py: datasets of the extension, and the nodes of graphs that hold them."""

from __future__ import annotations

import _situ
from situ._src.data import structure
from situ._src.framework.nest import PARTS
from situ._src.framework.tensor import GraphTensor
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


class Definition:
    """The arguments from which a dataset of the extension was created, and that dataset.

    Args:
      kind: the kind of dataset.
      inputs: the definitions of the datasets that it transforms.
      params: tensors, and the indices of arguments.
      options: the other arguments; `inner` is a definition.
      function: graph, inputs and outputs of its function, or None.
      transform: the compiled function; by default it is created from `function`.
    """

    def __init__(
        self,
        kind: str,
        inputs: list,
        params: list,
        options: dict,
        function: tuple | None = None,
        transform: Any = None,
    ) -> None:
        self.kind, self.inputs, self.params = kind, inputs, params
        self.options, self.function = options, function
        given = dict(options)
        if "inner" in given:
            given["inner"] = given["inner"].native
        if function is not None:
            given["transform"] = transform or _situ.Transform(*function)
        natives = tuple(i.native for i in inputs)
        self.native = _situ.Dataset(kind, natives, tuple(params), **given)
        self.data: bytes | None = None  # the serialized GraphDef, once it was written


def create(dataset: Any, arguments: list) -> Definition:
    """Returns the definition of a Dataset.

    Args:
      dataset: a Dataset.
      arguments: graph tensors and variables among its parameters are appended to this list.
    """
    inputs = [i._definition(arguments) for i in dataset._from]
    options, traced = dict(dataset._options), dataset._traced
    outputs: list = []
    if dataset._inner is not None:
        options["inner"] = dataset._inner._definition(outputs)
    elif traced is not None:
        outputs = PARTS.flatten(traced.result)
    params, function, transform = dataset._params, None, None
    if traced is not None and outputs:
        function = traced.interface(outputs)
        transform = traced.native(function)
        params += tuple(traced.captured)
    parameters = []
    for value in params:
        if isinstance(value, GraphTensor) or structure.is_variable(value):
            arguments.append(value)
            parameters.append(len(arguments) - 1)
        else:
            parameters.append(value)
    return Definition(dataset._kind, inputs, parameters, options, function, transform)


def handle(dataset: Any) -> Any:
    """Returns the handle of a dataset as a parameter of another one."""
    arguments: list = []
    native = dataset._build(arguments)
    return bind(dataset) if arguments else native.handle()


def bind(dataset: Any) -> Any:
    """Converts a dataset that a function returns to a tensor."""
    constant, arguments = handle_in_graph(dataset)
    return op("DatasetBind", constant, arguments)


def handle_in_graph(dataset: Any) -> tuple:
    """Returns (handle node of a dataset, the tensors it needs as arguments)."""
    arguments: list = []
    result = dataset._definition(arguments)
    arguments = [convert_to_tensor(a) for a in arguments]
    return constant(result), arguments


def constant(definition: Definition, name: str | None = None) -> Any:
    """Returns the handle of a dataset: in graphs a node, which the graph maps to the definition."""
    result = op("DatasetConstant", value=definition.native.handle(), name=name)
    if isinstance(result, GraphTensor):
        result.graph.__dict__.setdefault("_datasets", {})[result.op.name] = definition
    return result
