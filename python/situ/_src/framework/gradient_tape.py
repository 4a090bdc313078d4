# SPDX-License-Identifier: Apache-2.0
"""gradient_tape.py: tf.GradientTape and tf.autodiff.ForwardAccumulator. The C extension
(_situ.Tape) records eager operations; inside of graphs a tape uses symbolic gradients."""

from __future__ import annotations

import contextlib

import _situ
from situ._src.framework import nest, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.gradients import (
    UnconnectedGradients,
    expand_sources,
    flat,
    graph_gradients,
    is_zero,
    join_gradients,
    values_of,
)
from situ._src.framework.indexed_slices import IndexedSlices, add
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.variables.eager_variable import EagerVariable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


@export("GradientTape", "autodiff.GradientTape")
class GradientTape(_situ.Tape):
    """Records operations for automatic differentiation.

    Trainable variables are watched when they are read, tensors and other variables by `watch`.

    Args:
      persistent: whether `gradient` may be called more than once, and recording continues after
        it is called within the block.
      watch_accessed_variables: whether to watch every trainable variable that is read.
    """

    def _watch_others(self, tensor):
        """Handles the arguments of `watch` that are not eager tensors: lists, variables, graph
        tensors."""
        for item in expand_sources(flat(tensor)):
            if isinstance(item, EagerVariable):
                self._watch_variable(item._local_copy(), item._value)
            elif isinstance(item, EagerTensor):
                self._watch(item)
            elif hasattr(item, "handle"):
                self._watched = [*getattr(self, "_watched", []), item]
            elif not isinstance(item, GraphTensor) and not hasattr(item, "_situ_tensor_"):
                raise ValueError(
                    f"Passed in object of type {type(item)}, not tf.Tensor or tf.Variable"
                )

    def watched_variables(self) -> tuple:
        """Returns the watched variables in the order in which they were first watched; in a
        function that is being traced, all trainable variables that it has read."""
        graph = _situ.current_graph()
        if graph is not None and hasattr(graph, "reads"):
            return tuple(v._owner or v for v in graph.reads if v.trainable)
        if graph is not None:
            from situ._src.framework import custom_gradient

            given = getattr(self, "_watched", [])
            read = custom_gradient.read_since(graph, self._first_operation) if self._watches else []
            return tuple(dict.fromkeys([*given, *read]))
        return tuple(v._owner or v for v in self._variables)

    def reset(self) -> None:
        """Clears everything that the tape has recorded."""
        self._forget()

    @contextlib.contextmanager
    def stop_recording(self) -> Any:
        """Returns a context manager in which nothing is recorded.

        Raises:
          ValueError: the tape is not recording.
        """
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._pop()
        try:
            yield
        finally:
            self._push()

    def _gradient(
        self,
        target,
        sources,
        output_gradients=None,
        unconnected_gradients=UnconnectedGradients.NONE,
    ):
        """Handles calls of `gradient` with nested structures, variables, graph tensors or output
        gradients."""
        if sources is None:
            raise TypeError("Argument `sources` to GradientTape.gradient cannot be None.")
        zero = is_zero(unconnected_gradients)
        targets, flat_sources = flat(target), flat(sources)
        targets = [t if isinstance(t, IndexedSlices) else values_of(t) for t in targets]
        wanted = expand_sources(flat_sources, IndexedSlices)
        for read in targets:  # reading it makes its gradient for itself 1
            if isinstance(read, EagerVariable) and read.trainable and _situ.current_graph() is None:
                self._watch_variable(read._local_copy(), read._value)
        given = None if output_gradients is None else [values_of(g) for g in flat(output_gradients)]
        if given is not None:  # IndexedSlices: the gradient of the slices
            given = [
                op("GatherV2", g, t.indices, 0)
                if isinstance(t, IndexedSlices) and g is not None
                else g
                for g, t in zip(given, targets)
            ]
        targets = [t.values if isinstance(t, IndexedSlices) else t for t in targets]
        targets = [t._situ_tensor_() if hasattr(t, "_situ_tensor_") else t for t in targets]
        inside = [t for t in targets if isinstance(t, GraphTensor)]
        if inside:
            self._begin()
            found = graph_gradients(
                inside[0].graph, targets, wanted, given, "gradient_tape/", zero=zero
            )
        else:
            found = self._eager(targets, wanted, given, zero)
        return nest.pack_sequence_as(sources, join_gradients(flat_sources, found, IndexedSlices))

    def _eager(self, targets, sources, given, zero):
        flat_sources, counts = [], []
        for source in sources:
            behind = (
                self._variables.get(source._local_copy(), [source._value])
                if isinstance(source, EagerVariable)
                else [source]
            )
            if not isinstance(behind[0], EagerTensor):
                raise ValueError(f"{source!r} is not a tensor or a variable.")
            flat_sources += behind
            counts.append(len(behind))
        if given is not None:
            given = [
                None if g is None else convert_to_tensor(g, t.dtype) for g, t in zip(given, targets)
            ]
        made = iter(self._compute([convert_to_tensor(t) for t in targets], flat_sources, given))
        found = []
        for source, count in zip(sources, counts):
            parts = [g for g in [next(made) for _ in range(count)] if g is not None]
            total = add(parts) if parts else None
            found.append(
                op("ZerosLike", convert_to_tensor(source)) if total is None and zero else total
            )
        return found

    @staticmethod
    def _slices(values, indices, source):
        """Creates the IndexedSlices of a sparse gradient."""
        return IndexedSlices(values, indices, convert_to_tensor(source.shape.as_list(), "int32"))

    def _check_used(self):
        """Raises RuntimeError if the tape was used before and is not persistent."""
        if self._used and not self._persistent:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians)"
            )

    def _check_loop(self, method, pfor):
        """Raises RuntimeError if a method needs the tape several times, and it is not
        persistent."""
        self._check_used()
        if not pfor and not self._persistent and _situ.current_graph() is None:
            raise RuntimeError(
                f"GradientTape must be created with persistent=True to compute the {method} with "
                "eager execution enabled and with experimental_use_pfor set to False."
            )

    @contextlib.contextmanager
    def _as_persistent(self):
        """Makes the tape persistent within the block."""
        before = self._persistent
        self._begin()
        self._persistent = True
        try:
            yield
        finally:
            self._persistent = before

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Computes the Jacobian of a target.

        Args:
          target: a tensor.
          sources: a tensor or variable, or a nested structure of them.
          unconnected_gradients: a tf.UnconnectedGradients.
          parallel_iterations: has no effect: a hint for speed.
          experimental_use_pfor: has no effect: each element of the target takes a backward pass.

        Returns:
          Tensors of shape `target.shape + source.shape` in the structure of `sources`; None where
          the target does not depend on a source, unless `unconnected_gradients` is ZERO.

        Raises:
          RuntimeError: the tape was used before, or is not persistent although
            `experimental_use_pfor` is False.
        """
        del parallel_iterations  # a hint for speed
        self._check_loop("jacobian", experimental_use_pfor)
        target = convert_to_tensor(target)
        shape = [int(d) for d in target.shape]
        count = 1
        for size in shape:
            count *= size
        wanted = flat(sources)
        with self._as_persistent():
            rows = [
                self._gradient(
                    target,
                    wanted,
                    op("Reshape", _unit(i, count, target), shape),
                    unconnected_gradients,
                )
                for i in range(count)
            ]
        found = []
        for k, source in enumerate(wanted):
            parts = [None if row[k] is None else convert_to_tensor(row[k]) for row in rows]
            inner = [int(d) for d in source.shape]
            if not parts:
                found.append(op("Fill", shape + inner, convert_to_tensor(0, target.dtype)))
            elif any(p is None for p in parts):
                found.append(None)
            else:
                found.append(op("Reshape", op("Pack", parts), shape + inner))
        return nest.pack_sequence_as(sources, found)

    def batch_jacobian(
        self,
        target: Any,
        source: TensorLike,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """Computes the Jacobian of each example of a batch.

        Args:
          target: a tensor of shape [batch, ...], whose examples depend only on the same example of
            `source`.
          source: a tensor of shape [batch, ...].
          unconnected_gradients: a tf.UnconnectedGradients.
          parallel_iterations: has no effect: a hint for speed.
          experimental_use_pfor: has no effect: each element of an example takes a backward pass.

        Returns:
          A tensor of shape [batch, *target.shape[1:], *source.shape[1:]]; zeros if the target does
          not depend on the source.

        Raises:
          RuntimeError: the tape was used before, or is not persistent although that is required.
          ValueError: the ranks are less than 2, or the first dimensions differ.
        """
        self._check_used()
        wide, deep = tensor_shape.as_shape(target.shape), tensor_shape.as_shape(source.shape)
        first: list = [
            None if s.rank is None else s.with_rank_at_least(2).dims[0] for s in (wide, deep)
        ]
        if None not in first and not first[0].is_compatible_with(first[1]):
            raise ValueError(
                f"Need first dimension of target shape ({wide}) and source shape ({deep}) to match."
            )
        self._check_loop("batch_jacobian", experimental_use_pfor)
        if parallel_iterations is not None and not self._persistent:
            raise RuntimeError(
                "GradientTape must be created with persistent=True to compute the batch_jacobian "
                "with parallel_iterations."
            )
        shape = [int(d) for d in target.shape]
        count = 1
        for size in shape[1:]:
            count *= size
        rows = []
        with self._as_persistent():
            for i in range(count):
                ones = op("BroadcastTo", _unit(i, count, target), [shape[0], count])
                rows.append(
                    self._gradient(
                        target, source, op("Reshape", ones, shape), unconnected_gradients
                    )
                )
        inner = [int(d) for d in source.shape][1:]
        if not rows or any(r is None for r in rows):
            return op("Fill", shape + inner, convert_to_tensor(0, target.dtype))
        rows = [convert_to_tensor(row) for row in rows]
        return op("Reshape", op("Pack", rows, axis=1), shape + inner)


def _unit(i, count, target):
    """Returns a unit vector with a 1 at index i."""
    return op(
        "OneHot", i, count, convert_to_tensor(1, target.dtype), convert_to_tensor(0, target.dtype)
    )


@export("autodiff.ForwardAccumulator")
class ForwardAccumulator:
    """Computes Jacobian-vector products in forward mode.

    Implemented with two reverse passes: the gradient of a gradient, which is linear in its output
    gradient.

    Args:
      primals: tensors or variables to differentiate with respect to.
      tangents: the directions, of the shapes of `primals`.

    Raises:
      ValueError: a tangent does not have the shape of its primal.
    """

    def __init__(self, primals: Any, tangents: Any):
        self._primals, directions = flat(primals), flat(tangents)
        self._tangents = [
            convert_to_tensor(t, convert_to_tensor(p).dtype)
            for p, t in zip(self._primals, directions)
        ]
        for p, t in zip(self._primals, self._tangents):
            if not tensor_shape.as_shape(p.shape).is_compatible_with(t.shape):
                raise ValueError(
                    f"Dimensions of tangent {t.shape} do not match the shape "
                    f"{p.shape} of its primal."
                )
        self._tape = GradientTape(persistent=True)

    def __enter__(self):
        self._tape.__enter__()
        self._tape.watch(self._primals)
        return self

    def __exit__(self, *exception):
        self._tape.__exit__(*exception)

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """Returns the Jacobian-vector products of tensors that were computed in the block.

        Args:
          primals: a tensor, or a nested structure of tensors.
          unconnected_gradients: a tf.UnconnectedGradients.
        """
        return nest.pack_sequence_as(
            primals, [self._along(p, is_zero(unconnected_gradients)) for p in flat(primals)]
        )

    def _along(self, target, zero):
        target = convert_to_tensor(target)
        arriving = op("OnesLike", target)
        with GradientTape() as outer:
            outer.watch(arriving)
            found = self._tape.gradient(target, self._primals, output_gradients=[arriving])
            parts = [
                op("Sum", convert_to_tensor(g) * t, list(range(t.shape.rank)))
                for g, t in zip(found, self._tangents)
                if g is not None
            ]
            total = add(parts) if parts else None
        made = None if total is None else outer.gradient(total, arriving)
        return op("ZerosLike", target) if made is None and zero else made
