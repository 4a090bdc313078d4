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


class Recipe:
    """What a dataset of the extension is created of.

    Args:
      kind: the kind of dataset.
      inputs: the recipes of the datasets that it transforms.
      params: tensors, and the indices of arguments.
      options: the further arguments; `inner` is a recipe.
      function: graph, inputs and outputs of its function, or None.
      transform: the compiled function; by default it is made of `function`.
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
            given["inner"] = given["inner"].made
        if function is not None:
            given["transform"] = transform or _situ.Transform(*function)
        made = tuple(i.made for i in inputs)
        self.made = _situ.Dataset(kind, made, tuple(params), **given)
        self.data: bytes | None = None  # the GraphDef, once it was written


def create(dataset: Any, arguments: list) -> Recipe:
    """Returns the recipe of a Dataset.

    Args:
      dataset: a Dataset.
      arguments: graph tensors and variables among its parameters are appended to this list.
    """
    inputs = [i._recipe(arguments) for i in dataset._from]
    options, traced = dict(dataset._options), dataset._traced
    outputs: list = []
    if dataset._inner is not None:
        options["inner"] = dataset._inner._recipe(outputs)
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
    return Recipe(dataset._kind, inputs, parameters, options, function, transform)


def handle(dataset: Any) -> Any:
    """Returns the handle of a dataset as a parameter of another one."""
    arguments: list = []
    made = dataset._build(arguments)
    return bind(dataset) if arguments else made.handle()


def bind(dataset: Any) -> Any:
    """Converts a dataset that a function returns to a tensor."""
    constant, arguments = handle_in_graph(dataset)
    return op("DatasetBind", constant, arguments)


def handle_in_graph(dataset: Any) -> tuple:
    """Returns (handle node of a dataset, the tensors it needs as arguments)."""
    arguments: list = []
    result = dataset._recipe(arguments)
    arguments = [convert_to_tensor(a) for a in arguments]
    return constant(result), arguments


def constant(recipe: Recipe, name: str | None = None) -> Any:
    """Returns the handle of the dataset of a recipe: in graphs a node, of which they know it."""
    result = op("DatasetConstant", value=recipe.made.handle(), name=name)
    if isinstance(result, GraphTensor):
        result.graph.__dict__.setdefault("_datasets", {})[result.op.name] = recipe
    return result
