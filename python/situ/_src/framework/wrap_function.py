# SPDX-License-Identifier: Apache-2.0
"""wrap_function.py: tf.compat.v1.wrap_function: a TensorFlow 1 function, traced once, as a callable
graph that can be pruned to other inputs and outputs."""

from __future__ import annotations

import _situ
from situ._src.framework import nest
from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction, note_compiled
from situ._src.framework.config import function_options
from situ._src.framework.type_spec import TensorSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


class WrappedFunction(ConcreteFunction):
    """A traced graph with `inputs`, `outputs`, `variables` and `prune`."""

    _inlines = False  # its variables are those of the first call

    def prune(self, feeds, fetches, name: str | None = None, input_signature=None):
        """Returns a function of other tensors of the same graph.

        Args:
          feeds: tensors, or their names, that the arguments of the new function feed: one, or a
            structure of them.
          fetches: a structure of tensors, operations and their names, that the new function
            returns; None for operations.
          name: the name of the new function.
          input_signature: has no effect: the tensors determine types and shapes.

        Returns:
          A function of the tensors in `feeds`.

        Raises:
          ValueError: a tensor belongs to another graph.
        """
        del input_signature  # the tensors have types and shapes
        return PrunedFunction(self.graph, feeds, fetches, name or self.name)


class PrunedFunction(WrappedFunction):
    """A part of the graph of a wrapped function."""

    def __init__(self, graph, feeds, fetches, name):
        find = graph.as_graph_element
        self.graph, self.name, self._trace, self._taped = graph, name, None, None
        self._fed = nest.COMPOSITES.map(lambda f: find(f, allow_operation=False), feeds)
        self.inputs = nest.COMPOSITES.flatten(self._fed)
        found = nest.COMPOSITES.map(find, fetches)
        is_operation = lambda f: isinstance(f, _situ.Operation)
        self._targets = [f for f in nest.COMPOSITES.flatten(found) if is_operation(f)]
        self._set_outputs(nest.COMPOSITES.map(lambda f: None if is_operation(f) else f, found))
        self.stateful, self._names = graph.get_operations(), []
        specs = [TensorSpec(t.shape, t.dtype, t.op.name) for t in self.inputs]
        self.structured_input_signature = tuple(specs), {}

    @property
    def trace(self):
        """The compiled part of the graph, created at first use."""
        if self._trace is None:
            graph, fed = self.graph, set(self.inputs)
            captured = [pair for pair in graph.captured.values() if pair[1] not in fed]
            reads = {v: p for v, p in graph.reads.items() if p not in fed}
            self._trace = _situ.Trace(
                graph,
                function_options(),
                self.name,
                self.template,
                tuple(self.inputs),
                tuple(inside for _, inside in captured),
                tuple(tensor for tensor, _ in captured),
                tuple(reads.values()),
                tuple(reads),
                tuple(self.outputs),
                (),
                (),
                tuple(self._targets),
            )
            note_compiled(graph)
        return self._trace


def _as_spec(value):
    """Returns the tf.TensorSpec of a tensor; other values as they are."""
    return TensorSpec.from_tensor(value) if isinstance(value, _situ.Tensor) else value


@export(v1=("wrap_function", "compat.v1.wrap_function"))
def wrap_function(fn: Callable, signature: Any, name: str | None = None) -> WrappedFunction:
    """Traces a function of TensorFlow 1 code once. Variables that it creates exist once and belong
    to the result.

    Args:
      fn: a function of tensors.
      signature: a list of tf.TensorSpec or placeholders, one for each argument of `fn`; other
        values are passed to `fn` as they are.
      name: the name of the function.

    Returns:
      A function of tensors; `prune` selects other inputs and outputs of its graph.
    """
    signature = nest.COMPOSITES.map(_as_spec, list(signature))
    name = name or f"wrapped_{getattr(fn, '__name__', 'function').strip('<>')}"
    return WrappedFunction(name, fn, tuple(signature), {}, lambda value: value)
